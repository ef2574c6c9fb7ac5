"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorems 1 and 3: the delta of selection.

CL-E2 and CL-E19, each as printed and as corrected.
"""

from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.bounds.random_stopping import (
    hard_stop_approximate,
    stopping_law,
)

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- Theorem 1, delta (CL-E2) ---------------------------------------------------------


def _one_call(*, rounds: int = 5, delta: float = 0.01) -> float:
    """Printed delta of c calls to Selection with one candidate each: tau delta.

    Args:
      rounds: tau, at least 1.
      delta: of the candidate, in [0, 1).
    """
    rounds = check_integer("rounds", rounds, 1)
    return rounds * check_interval("delta", delta, 0.0, 1.0, low_open=False)


def _all_calls(*, calls: int = 10, rounds: int = 5, delta: float = 0.01) -> float:
    """Delta of c calls to Selection with one candidate each: c tau delta.

    Args:
      calls: c, at least 1.
      rounds: tau, at least 1.
      delta: of the candidate, in [0, 1).
    """
    return check_integer("calls", calls, 1) * _one_call(rounds=rounds, delta=delta)


def _ever_private(calls: int, rounds: int, delta: float, gamma: float) -> float:
    """Chance that one of the calls returns an outcome that only one side has.

    The candidate has a private best outcome of probability delta; p is drawn once, so
    c calls of tau rounds meet it as one call of c tau rounds.
    """
    return float(laws.beta_binomial(calls * rounds, gamma).pgf_gap(delta))


def _one_call_cases(budget: Budget) -> Iterator[Case]:
    for calls in (10, 100):
        seen = _ever_private(calls, 5, 0.01, 1.0)
        where = f"private outcomes of probability 0.01, tau=5, {calls} calls, gamma=1"
        yield _one_call(), seen, where


def _all_calls_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(10, 5, 0.01, 1.0)]
    for _ in range(min(budget.cases, 200)):
        calls, rounds = generator.integers(1, 50, 2).tolist()
        delta = float(10.0 ** generator.uniform(-6.0, -1.0))
        settings.append((calls, rounds, delta, float(generator.uniform(0.1, 20.0))))
    for calls, rounds, delta, gamma in settings:
        claimed = _all_calls(calls=calls, rounds=rounds, delta=delta)
        where = f"c={calls}, tau={rounds}, {delta=!r}, {gamma=!r}"
        yield claimed, _ever_private(calls, rounds, delta, gamma), f"epsilon=0, {where}"
        if calls == 1:
            continue
        pair = pairs.approximate_three_outcome(0.5, 0.1, 1e-3, delta)
        law = laws.beta_binomial(rounds, gamma)
        tuned = tuned_law(pair.first, law), tuned_law(pair.second, law)
        exact = float(profile_delta(*tuned, (2.0 + gamma) * 0.5))
        claimed = _all_calls(calls=1, rounds=rounds, delta=delta)
        yield claimed, exact, f"one call, epsilon=0.5, {where}"


# --- Theorem 3 (CL-E19) ---------------------------------------------------------------


def _order_delta(
    *, beta: float = 0.01, delta: float = 1e-12, constant: float = 10.0
) -> float:
    """Delta C delta/beta that "O(delta/beta)" stands for.

    Args:
      beta, delta: in (0, 1).
      constant: C, > 0.
    """
    constant = check_positive("constant", constant)
    return constant * probability("delta", delta) / probability("beta", beta)


def _hard_stop_deltas(budget: Budget) -> Iterator[Case]:
    for constant, delta in ((10.0, 1e-8), (100.0, 1e-10), (1000.0, 1e-12)):
        known = hard_stop_approximate(0.5, delta, 0.005, delta).delta
        claimed = _order_delta(delta=delta, constant=constant)
        where = f"beta=0.01, gamma=beta/2, {delta=}, delta_2=delta, C={constant:g}"
        yield claimed, known, where


def _twice_delta(*, beta: float = 0.01, delta: float = 1e-3) -> float:
    """Delta 2 delta/beta of random stopping at gamma = beta/2, at 3 epsilon.

    Args:
      beta, delta: in (0, 1).
    """
    return _order_delta(beta=beta, delta=delta, constant=2.0)


def _stopping_deltas(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.01, 1e-3, 0.5)]
    for _ in range(min(budget.cases, 200)):
        epsilon = float(generator.uniform(0.05, 1.0))
        logs = generator.uniform([-3.0, -6.0], [-0.05, -1.0])
        settings.append((*(10.0**logs).tolist(), epsilon))
    for beta, delta, epsilon in settings:
        pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-3, delta)
        tuned = [stopping_law(side, beta / 2.0) for side in pair]
        exact = float(profile_delta(tuned[0], tuned[1], 3.0 * epsilon))
        where = (
            f"{beta=!r}, {delta=!r}, {epsilon=!r}, three blocks and a private outcome"
        )
        yield _twice_delta(beta=beta, delta=delta), exact, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm1-delta-printed",
        source=f"{_PAPER}, Theorem 1",
        statement="c calls to Selection are ((2 c + gamma) epsilon, tau sum_i "
        "delta_i)-DP, the sum being over the candidates of one call (here one, and "
        "epsilon = 0).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_one_call,
        check=at_most(_one_call_cases),
        holds=False,
        erratum="CL-E2",
        correction="The sum is over the candidates of all calls: CL-Thm1-delta.",
    ),
    Claim(
        id="CL-Thm1-delta",
        source=f"{_PAPER}, Theorem 1, corrected",
        statement="c calls to Selection with one (epsilon, delta)-DP candidate each "
        "are ((2 c + gamma) epsilon, c tau delta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_all_calls,
        check=at_most(_all_calls_cases, tolerance=1e-12),
        erratum="CL-E2",
    ),
    Claim(
        id="CL-Thm3-attribution-printed",
        source=f"{_PAPER}, Theorem 3",
        statement="Liu & Talwar 2019 (Theorem 3.4) give (3 epsilon, O(delta/beta))-DP "
        "for a better-than-median algorithm.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_order_delta,
        check=at_most(_hard_stop_deltas, tolerance=1e-12),
        holds=False,
        erratum="CL-E19",
        correction="Their delta is of order sqrt(delta)/beta; the statement is true "
        "all the same: CL-Thm3.",
    ),
    Claim(
        id="CL-Thm3",
        source=f"{_PAPER}, Theorem 3",
        statement="Random stopping at gamma = beta/2 over an (epsilon, delta)-DP base "
        "is (3 epsilon, 2 delta/beta)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_twice_delta,
        check=at_most(_stopping_deltas, tolerance=1e-12),
        erratum="CL-E19",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E2",
        source=f"{_PAPER}, Theorem 1",
        kind="statement",
        printed="c calls to Selection satisfy ((2 c + gamma) epsilon, tau sum_i "
        "delta_i)-DP.",
        correct="The delta term must be summed over the candidates of all c calls.",
        refuted=("CL-Thm1-delta-printed",),
        corrected=("CL-Thm1-delta",),
    ),
    Erratum(
        id="CL-E19",
        source=f"{_PAPER}, Theorem 3",
        kind="proof",
        printed="(3 epsilon, O(delta/beta))-DP is attributed to Liu & Talwar 2019.",
        correct="Their Theorem 3.4 has sqrt(2 delta) T + delta_2, and its proof rests "
        "on false lemmas (LT-E11, LT-E12). With the decomposition of Kairouz, Oh & "
        "Viswanath (2015), random stopping is (3 epsilon, delta/(gamma + delta (1 - "
        "gamma)))-DP, at most 2 delta/beta for gamma = beta/2.",
        refuted=("CL-Thm3-attribution-printed",),
        corrected=("CL-Thm3",),
    ),
)
