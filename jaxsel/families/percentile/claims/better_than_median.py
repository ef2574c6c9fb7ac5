"""Claims of Cohen et al. 2022, Theorems 3 and 4, on a run that is better than the median."""

import math
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.percentile.claims.formulas import beta_itself
from jaxsel.families.percentile.median_laws import (
    median_failure,
    median_rounds,
    percentile_boosting,
)
from jaxsel.families.percentile.parameters import Alpha, BaseDelta, Beta, Epsilon, Rounds
from jaxsel.families.selection_and_test.laws import prior
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, listed, uniform
from jaxsel.language.domains import number
from jaxsel.language.papers import CL
from jaxsel.tuning.attained.exact_laws import tuned_law


def _betas(**ends: tuple[float, float]):
    """Random points: beta, and other parameters that are uniform between the given ends."""

    def draw(generator):
        beta = float(10.0 ** generator.uniform(-4.0, -0.05))
        more = [float(generator.uniform(*pair)) for pair in ends.values()]
        return (beta, *more) if more else beta

    return drawn(" ".join(("beta", *ends)), draw, 100)


@CL.utility("CL-Thm3-failure", "Theorem 3 (of Liu & Talwar 2019)")
def stopping_failure(*, beta: Beta = 0.01) -> float:
    """The probability that random stopping at gamma = beta/2 makes no run better than the median is
    at most beta/(2 + beta)."""
    return beta / (2.0 + beta)


@stopping_failure.equals(_betas())
def half(beta):
    return float(laws.geometric(beta / 2.0).pgf(0.5))


@CL.utility("CL-Thm3-calls", "Theorem 3 (of Liu & Talwar 2019)")
def stopping_calls(*, beta: Beta = 0.01) -> float:
    """Random stopping at gamma = beta/2 makes 2/beta runs on average."""
    return 2.0 / beta


@stopping_calls.equals(_betas())
def stopping_runs(beta):
    law = laws.geometric(beta / 2.0)
    steps = np.arange(0, math.ceil(60.0 / beta))
    yield float(law.mean), "mean of the law of K"
    # E[K] = sum of P[K > k]
    if steps.size < 200_000:
        yield float(np.sum(law.survival(steps))), "sum of its tails"


@CL.utility("CL-Thm4-calls", "Theorem 4")
def mean_calls(*, beta: Beta = 0.01, alpha: Alpha = 1.0) -> float:
    """The better-than-median algorithm makes at most T runs, and T alpha/(1 + alpha) on average.

    Returns the mean number of runs, T alpha/(1 + alpha), with the T of Theorem 4.
    """
    return median_rounds(beta, alpha) * (alpha / (1.0 + alpha))


@mean_calls.equals(_betas(alpha=(0.25, 5.0)))
def mean_runs(beta, alpha):
    rounds, nodes = median_rounds(beta, alpha), prior(alpha)
    return rounds * float(nodes.weights @ nodes.p), f"T={rounds}"


@CL.identity("CL-Thm4-failure-exact", "Theorem 4, exact")
def exact_failure(*, rounds: Rounds = 200, alpha: Alpha = 1.0) -> float:
    """If each run is better than the median with probability 1/2, none of Bin(T, p) runs is with
    probability alpha 2^alpha B(alpha, T+1) I_(1/2)(alpha, T+1)."""
    return median_failure(rounds, alpha)


def _rounds(generator):
    """Random alpha and T."""
    alpha = float(generator.choice([0.3, 0.5, 1.0, 2.0, 9.0]))
    return alpha, int(10.0 ** generator.uniform(0.0, 4.0))


@exact_failure.equals(drawn("alpha rounds", _rounds, 100))
def summed(rounds, alpha):
    counts, law = np.arange(rounds + 1), laws.beta_binomial(rounds, alpha)
    yield float(np.sum(law.pmf(counts) * 0.5**counts)), "sum of P[N = n] 2^-n"
    if alpha == 1.0:
        yield (2.0 - 0.5**rounds) / (rounds + 1.0), "N uniform"


@CL.privacy("CL-Thm4-delta", "Theorem 4", Relation.BASE)
def approximate(*, beta: Beta = 0.1, alpha: Alpha = 1.0, delta: BaseDelta = 1e-4) -> float:
    """Over an (epsilon, delta)-DP base the better-than-median algorithm is ((2 + alpha) epsilon, T
    delta)-DP."""
    return min(1.0, median_rounds(beta, alpha) * delta)


@approximate.bounds(tolerance=1e-12)
def failing_bases(budget):
    for generator in budget.draws(100):
        beta = float(10.0 ** generator.uniform(-4.0, -0.05))
        alpha = float(generator.uniform(0.5, 5.0))
        epsilon = float(generator.uniform(0.05, 1.0))
        rounds = median_rounds(beta, alpha)
        delta = float(10.0 ** generator.uniform(-3.0, 0.0)) / (10.0 * rounds)
        pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-4, delta)
        law = laws.beta_binomial(rounds, alpha)
        found = [tuned_law(side, law) for side in pair]
        seen = float(profile_delta(found[0], found[1], (2.0 + alpha) * epsilon))
        where = f"pairs.approximate_three_outcome({epsilon!r}, 0.1, 1e-4, delta), T={rounds}"
        yield {"beta": beta, "alpha": alpha, "delta": delta}, seen, where


@CL.utility(
    "CL-Thm4-fewer-calls",
    "Section 1.3",
    loose="Logarithms of numbers of runs: that of Theorem 4.7 has 6 + 12/alpha times "
    "log(R/beta^2), T has log(2/beta)/alpha, so the ratio is about 1/30.",
)
def searched_calls(
    *,
    beta: Beta = 0.01,
    alpha: Annotated[float, number("privacy is (2 + alpha) epsilon", above=0.0, below=1.0)] = 0.5,
    epsilon: Annotated[float, number("of the base", above=0.0, at_most=1.0)] = 0.5,
) -> float:
    """For alpha in (0, 1), T is below the number of runs of Liu & Talwar 2019, Theorem 4.7, at the
    same (2 + alpha) epsilon, whatever its delta.

    Returns the natural logarithm of the number of runs of Liu & Talwar's Theorem 4.7 (corrected),
    with R = 2 thresholds.
    """
    found = percentile_boosting(beta, alpha, epsilon, 0.5, thresholds=2)
    return found.log_max_calls


@searched_calls.bounds(_betas(alpha=(0.25, 1.0), epsilon=(0.05, 1.0)))
def log_rounds(beta, alpha, epsilon):
    return math.log(median_rounds(beta, alpha)), "final delta 1/2"


@CL.utility("CL-Thm4-step-prior-printed", "proof of Theorem 4")
def small_prior_printed(*, beta: Beta = 0.1) -> float:
    """p < (2 beta)^(1/alpha) with probability at most beta/2."""
    return beta / 2.0


@CL.utility("CL-Thm4-step-prior", "proof of Theorem 4, corrected", formula=small_prior_printed)
def small_prior():
    """p < (beta/2)^(1/alpha) with probability at most beta/2."""


_PRIORS = listed("beta alpha", (0.1, 0.5), (0.4, 2.0))


@small_prior_printed.bounds(_PRIORS, factor=2.0)
@small_prior.bounds(_PRIORS, uniform(100, beta=(0.01, 0.49), alpha=(0.01, 5.0)), factor=0.5)
def prior_below(beta, alpha, factor):
    """P[p < (factor beta)^(1/alpha)]."""
    level = (factor * beta) ** (1.0 / alpha)
    # P[p <= x] = x^alpha
    return level**alpha, f"level {level:.6g}"


@CL.utility("CL-Thm4-step-median-printed", "proof of Theorem 4")
def all_worse_printed(*, beta: Beta = 0.1) -> float:
    """All of t >= log(4/beta) (natural) runs are worse than the median with probability at most
    beta/4."""
    return beta / 4.0


@CL.utility("CL-Thm4-step-median", "proof of Theorem 4, corrected", formula=all_worse_printed)
def all_worse():
    """All of t >= log_2(4/beta) runs are worse than the median with probability at most beta/4."""


@all_worse_printed.bounds(listed("beta", 0.1, 0.01), base=math.e)
@all_worse.bounds(listed("beta", 0.1, 0.01), uniform(100, beta=(0.001, 0.99)), base=2.0)
def worse_runs(beta, base):
    runs = math.ceil(math.log(4.0 / beta) / math.log(base))
    return 2.0**-runs, f"t={runs} runs"


@CL.privacy("CL-Thm4-furthermore-printed", "Theorem 4 as restated in Section 3.1", Relation.BASE)
def furthermore(*, runs: Rounds = 200, delta: BaseDelta = 1e-6) -> float:
    """Furthermore, if the base is (epsilon, delta)-DP with delta > 0, the better-than-median
    algorithm is (epsilon, T delta)-DP."""
    return runs * delta


@furthermore.bounds(listed("top middle", (0.05, 1e-3), (0.05, 0.01)))
def three_outcomes(runs, delta, top, middle):
    """The exact delta at epsilon, not at (2 + alpha) epsilon, of the best of Bin(T, p) runs."""
    law = laws.beta_binomial(runs, 1.0)
    pair = pairs.three_outcome(0.5, top, middle)
    tuned = tuned_law(pair.first, law), tuned_law(pair.second, law)
    where = f"epsilon=0.5, alpha=1; exact privacy parameter {exact_epsilon(*tuned):.4g}"
    return float(profile_delta(*tuned, 0.5)), where


@CL.privacy("CL-Thm4-privacy", "Theorem 4", Relation.BASE)
def pure(*, epsilon: Epsilon = 0.5, alpha: Alpha = 1.0) -> float:
    """Over an epsilon-DP base, the better-than-median algorithm is (2 + alpha) epsilon-DP."""
    return (2.0 + alpha) * epsilon


@pure.bounds()
def losses(budget):
    settings = [(0.5, 1.0, 200, pairs.three_outcome(0.5, 0.05, 1e-3))]
    for generator in budget.draws(100):
        epsilon, alpha = generator.uniform(0.05, [1.0, 4.0]).tolist()
        runs = int(10 ** generator.uniform(0.0, 4.0))
        pair = pairs.random_pure_pair(generator, int(generator.integers(2, 7)), epsilon)
        settings.append((epsilon, alpha, runs, pair))
        settings.append((epsilon, alpha, runs, pairs.three_outcome(epsilon, 0.1, 1e-9)))
    for epsilon, alpha, runs, pair in settings:
        law = laws.beta_binomial(runs, alpha)
        loss = exact_epsilon(tuned_law(pair.first, law), tuned_law(pair.second, law))
        where = f"T={runs}, base {pair.first.tolist()}, {pair.second.tolist()}"
        yield {"epsilon": epsilon, "alpha": alpha}, loss, where


@CL.utility("CL-Thm4-failure", "Theorem 4", formula=beta_itself)
def failure():
    """With T = ceil(2/beta) for alpha = 1, else ceil(5 (2/beta)^(1/alpha) log(1/beta)), the
    probability that no run is better than the median is at most beta."""


def _failing(generator):
    """Random beta and alpha."""
    beta = float(10.0 ** generator.uniform(-4.0, -0.01))
    return beta, float(np.exp(generator.uniform(-1.5, 6.0)))


@failure.bounds(
    listed("beta alpha", (0.1, 1.0), (0.1, 0.5), (0.99, 500.0)), drawn("beta alpha", _failing, 150)
)
def failures(beta, alpha):
    runs = median_rounds(beta, alpha)
    # Each run is at least as good as the median with probability 1/2, at worst.
    return float(laws.beta_binomial(runs, alpha).pgf_tail(0.5)), f"T={runs}"


CL_E1 = CL.misprint(
    "CL-E1",
    "Theorem 4 and its proof",
    "statement",
    printed="Furthermore, for delta > 0 the algorithm is (epsilon, T delta)-DP. Proof: p >= (2 "
    "beta)^(1/alpha) with probability 1 - beta/2; t >= log(4/beta); the runs fail with probability "
    "at most 1 - beta/4, and the algorithm with 1 - beta.",
    correct="((2 + alpha) epsilon, T delta)-DP. p >= (beta/2)^(1/alpha); t >= log_2(4/beta); the "
    "runs fail with probability at most beta/4, the algorithm with beta. The T of the theorem is "
    "enough nevertheless.",
    refuted=[furthermore, small_prior_printed, all_worse_printed],
    corrected=[pure, failure, small_prior, all_worse],
)
