"""Cohen et al. 2022, Theorems 3 and 4: what a better-than-median run costs.

Errata of the same theorems: ``better_than_median_errata`` beside this.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.percentile import median_laws as boosting
from jaxsel.families.selection_and_test.laws import prior
from jaxsel.families.tuning.attained.exact_laws import tuned_law

_PAPER = "Cohen et al. 2022"


def _betas(budget: Budget, cases: int = 100):
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, cases)):
        yield generator, float(10.0 ** generator.uniform(-4.0, -0.05))


# --- Theorem 3: Liu & Talwar ----------------------------------------------------------


def _failure(*, beta: float = 0.01) -> float:
    """beta/(2 + beta): the failure of random stopping at gamma = beta/2, at worst.

    Args:
      beta: in (0, 1).
    """
    beta = probability("beta", beta)
    return beta / (2.0 + beta)


def _failure_cases(budget: Budget) -> Iterator[Case]:
    for _, beta in _betas(budget):
        law = laws.geometric(beta / 2.0)
        seen = float(law.pgf(0.5))
        yield _failure(beta=beta), seen, f"gamma=beta/2, {beta=!r}"


def _calls(*, beta: float = 0.01) -> float:
    """2/beta: mean number of runs of random stopping at gamma = beta/2.

    Args:
      beta: in (0, 1).
    """
    return 2.0 / probability("beta", beta)


def _calls_cases(budget: Budget) -> Iterator[Case]:
    for _, beta in _betas(budget):
        law = laws.geometric(beta / 2.0)
        steps = np.arange(0, math.ceil(60.0 / beta))
        yield _calls(beta=beta), float(law.mean), f"mean of the law of K, {beta=!r}"
        # E[K] = sum of P[K > k]
        if steps.size < 200_000:
            total = float(np.sum(law.survival(steps)))
            yield _calls(beta=beta), total, f"sum of its tails, {beta=!r}"


# --- Theorem 4 ------------------------------------------------------------------------


def _mean(*, beta: float = 0.01, alpha: float = 1.0) -> float:
    """T alpha/(1 + alpha): mean number of runs, at most T, of Theorem 4.

    Args:
      beta: in (0, 1).
      alpha: exponent of the law of p, > 0.
    """
    return boosting.median_rounds(beta, alpha) * (alpha / (1.0 + alpha))


def _mean_cases(budget: Budget) -> Iterator[Case]:
    for generator, beta in _betas(budget):
        alpha = float(generator.uniform(0.25, 5.0))
        rounds = boosting.median_rounds(beta, alpha)
        nodes = prior(alpha)
        seen = rounds * float(nodes.weights @ nodes.p)
        yield _mean(beta=beta, alpha=alpha), seen, f"{beta=!r}, {alpha=!r}, T={rounds}"


def _exact(*, rounds: int = 200, alpha: float = 1.0) -> float:
    """alpha 2^alpha B(alpha, T+1) I_(1/2)(alpha, T+1): no run above the median.

    Args:
      rounds: T, at least 1.
      alpha: exponent of the law of p, > 0.
    """
    rounds = check_integer("rounds", rounds, 1)
    return boosting.median_failure(rounds, check_positive("alpha", alpha))


def _exact_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        alpha = float(generator.choice([0.3, 0.5, 1.0, 2.0, 9.0]))
        rounds = int(10.0 ** generator.uniform(0.0, 4.0))
        claimed = _exact(rounds=rounds, alpha=alpha)
        counts = np.arange(rounds + 1)
        law = laws.beta_binomial(rounds, alpha)
        where = f"{alpha=:g}, T={rounds}"
        direct = float(np.sum(law.pmf(counts) * 0.5**counts))
        yield claimed, direct, f"sum of P[N = n] 2^-n, {where}"
        if alpha == 1.0:
            uniform = (2.0 - 0.5**rounds) / (rounds + 1.0)
            yield claimed, uniform, f"N uniform, {where}"


def _delta(*, beta: float = 0.1, alpha: float = 1.0, delta: float = 1e-4) -> float:
    """T delta, at (2 + alpha) epsilon.

    Args:
      beta: in (0, 1).
      alpha: exponent of the law of p, > 0.
      delta: of the base, in [0, 1).
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    return min(1.0, boosting.median_rounds(beta, alpha) * delta)


def _delta_cases(budget: Budget) -> Iterator[Case]:
    for generator, beta in _betas(budget):
        alpha = float(generator.uniform(0.5, 5.0))
        epsilon = float(generator.uniform(0.05, 1.0))
        rounds = boosting.median_rounds(beta, alpha)
        delta = float(10.0 ** generator.uniform(-3.0, 0.0)) / (10.0 * rounds)
        pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-4, delta)
        law = laws.beta_binomial(rounds, alpha)
        found = [tuned_law(side, law) for side in pair]
        seen = float(profile_delta(found[0], found[1], (2.0 + alpha) * epsilon))
        where = (
            f"pairs.approximate_three_outcome({epsilon!r}, 0.1, 1e-4, {delta!r}), "
            f"{alpha=!r}, {beta=!r}, T={rounds}"
        )
        yield _delta(beta=beta, alpha=alpha, delta=delta), seen, where


def _log_searched(
    *, beta: float = 0.01, alpha: float = 0.5, epsilon: float = 0.5
) -> float:
    """log of the number of runs of Liu & Talwar's Theorem 4.7 (corrected), R = 2.

    Args:
      beta: in (0, 1).
      alpha: final privacy is (2 + alpha) epsilon; in (0, 1).
      epsilon: of the base, in (0, 1].
    """
    found = boosting.percentile_boosting(beta, alpha, epsilon, 0.5, thresholds=2)
    return found.log_max_calls


def _searched_cases(budget: Budget) -> Iterator[Case]:
    for generator, beta in _betas(budget):
        alpha = float(generator.uniform(0.25, 1.0))
        epsilon = float(generator.uniform(0.05, 1.0))
        claimed = _log_searched(beta=beta, alpha=alpha, epsilon=epsilon)
        seen = math.log(boosting.median_rounds(beta, alpha))
        yield claimed, seen, f"{beta=!r}, {alpha=!r}, {epsilon=!r}, final delta 1/2"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm3-failure",
        source=f"{_PAPER}, Theorem 3 (of Liu & Talwar 2019)",
        statement="Random stopping at gamma = beta/2 makes no run better than the "
        "median with probability at most beta/(2 + beta).",
        kind="utility",
        relation=None,
        evaluate=_failure,
        check=equal(_failure_cases),
    ),
    Claim(
        id="CL-Thm3-calls",
        source=f"{_PAPER}, Theorem 3 (of Liu & Talwar 2019)",
        statement="Random stopping at gamma = beta/2 makes 2/beta runs on average.",
        kind="utility",
        relation=None,
        evaluate=_calls,
        check=equal(_calls_cases),
    ),
    Claim(
        id="CL-Thm4-calls",
        source=f"{_PAPER}, Theorem 4",
        statement="The better-than-median algorithm makes at most T runs, and T "
        "alpha/(1 + alpha) on average.",
        kind="utility",
        relation=None,
        evaluate=_mean,
        check=equal(_mean_cases),
    ),
    Claim(
        id="CL-Thm4-failure-exact",
        source=f"{_PAPER}, Theorem 4, exact",
        statement="Where each run is better than the median with probability 1/2, none "
        "is with probability alpha 2^alpha B(alpha, T+1) I_(1/2)(alpha, T+1).",
        kind="identity",
        relation=None,
        evaluate=_exact,
        check=equal(_exact_cases),
    ),
    Claim(
        id="CL-Thm4-delta",
        source=f"{_PAPER}, Theorem 4",
        statement="Over an (epsilon, delta)-DP base the better-than-median algorithm "
        "is ((2 + alpha) epsilon, T delta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_delta,
        check=at_most(_delta_cases, tolerance=1e-12),
    ),
    Claim(
        id="CL-Thm4-fewer-calls",
        source=f"{_PAPER}, Section 1.3",
        statement="For alpha in (0, 1), T is below the number of runs of Liu & Talwar "
        "2019, Theorem 4.7, at the same (2 + alpha) epsilon, whatever its delta.",
        kind="utility",
        relation=None,
        evaluate=_log_searched,
        check=at_most(_searched_cases),
    ),
)
