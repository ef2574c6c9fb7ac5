"""Random stopping with a hard stop: Theorems 3.4 and 3.5."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval
from jaxsel.families.tuning.bounds.liu_talwar import (
    hard_stop_approximate,
    hard_stop_approximate_sharp,
    hard_stop_law,
    hard_stop_pure,
    hard_stop_steps,
    hard_stop_steps_pure,
    stopping_pure,
)
from jaxsel.families.tuning.claims.base_pairs import (
    BasePair,
    approximate_pairs,
    pure_pairs,
)

_PAPER = "Liu & Talwar 2019"


def _stopped(pair, gamma: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact laws of Algorithm 2 with at most ``steps`` draws on both sides."""
    return (
        hard_stop_law(pair.first, gamma, steps),
        hard_stop_law(pair.second, gamma, steps),
    )


def _approximate(
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    gamma: float = 0.1,
    stop_delta: float = 1e-6,
) -> float:
    """delta at 3 epsilon + 3 sqrt(2 d): sqrt(2 d) T + d_2, T = ceil(log(1/d_2)/gamma).

    Args:
      epsilon, delta: guarantee of the base; delta is d, in [0, 1].
      gamma: stopping probability, in (0, 1].
      stop_delta: d_2 in (0, 1).
    """
    return hard_stop_approximate(epsilon, delta, gamma, stop_delta).delta


def _random_gamma(generator: np.random.Generator) -> float:
    return float(10.0 ** generator.uniform(-3.0, -0.01))


def _approximate_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = _random_gamma(generator)
        stop_delta = float(10.0 ** generator.uniform(-8.0, -0.02))
        steps = hard_stop_steps(gamma, stop_delta)
        bound = hard_stop_approximate(pair.epsilon, pair.delta, gamma, stop_delta)
        seen = float(profile_delta(*_stopped(pair, gamma, steps), bound.epsilon))
        # relative: both parts of delta may be tiny
        yield (
            1.0,
            seen / bound.delta,
            f"share of delta, gamma={gamma!r}, delta_2={stop_delta!r}, T={steps}, "
            f"{pair.where}",
        )
    for pair in _overshooting():
        # no failures at all: only the hard stop costs something
        for stop_delta in (0.9, 0.5, 0.1):
            steps = hard_stop_steps(0.003, stop_delta)
            seen = profile_delta(*_stopped(pair, 0.003, steps), 3.0 * 0.3)
            where = (
                f"gamma=0.003, delta=0, delta_2={stop_delta:g}, T={steps}, {pair.where}"
            )
            yield stop_delta, float(seen), where


def _overshooting() -> Iterator[BasePair]:
    for middle in (1e-3, 1e-5):
        where = f"pairs.three_outcome(0.3, 0.064, {middle:g})"
        yield BasePair(*pairs.three_outcome(0.3, 0.064, middle), where)


def _pure_reading(*, epsilon: float = 0.3) -> float:
    """Pure epsilon 3 epsilon that one might expect of Theorem 3.4 as well.

    Args:
      epsilon: of the base, >= 0.
    """
    return stopping_pure(epsilon)


def _pure_reading_cases(budget: Budget) -> Iterator[Case]:
    for pair in _overshooting():
        for gamma, stop_delta in ((0.003, 0.9), (0.003, 0.7), (0.03, 0.9)):
            steps = hard_stop_steps(gamma, stop_delta)
            where = f"gamma={gamma:g}, delta_2={stop_delta:g}, T={steps}, {pair.where}"
            seen = exact_epsilon(*_stopped(pair, gamma, steps))
            yield _pure_reading(epsilon=0.3), seen, where


def _pure(*, epsilon: float = 1.0, slack: float = 0.1) -> float:
    """Pure epsilon 3 epsilon + 3 epsilon_0 with the hard stop of Theorem 3.5.

    Args:
      epsilon: of the base, >= 0.
      slack: epsilon_0 in (0, 1/2).
    """
    return hard_stop_pure(epsilon, slack)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        gamma = _random_gamma(generator)
        settings = [(gamma, float(10.0 ** generator.uniform(-3.0, -0.31)))]
        if pair.where.startswith("pairs"):
            settings += [(1e-3, 0.4999), (0.003, 0.1), (0.9, 0.4999)]
        for gamma, slack in settings:
            steps = hard_stop_steps_pure(gamma, slack)
            epsilon = exact_epsilon(pair.first, pair.second)
            where = f"gamma={gamma!r}, epsilon_0={slack!r}, T={steps}, {pair.where}"
            seen = exact_epsilon(*_stopped(pair, gamma, steps))
            yield hard_stop_pure(epsilon, slack), seen, where


def _sharp(
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    gamma: float = 0.1,
    steps: int = 139,
) -> float:
    """delta at 3 epsilon of Algorithm 2 with at most T draws.

    min(1 - (1-d)^T, d/(gamma + d (1-gamma))) + (1 + e^(3 epsilon))(1-gamma)^T.

    Args:
      epsilon, delta: guarantee of the base; delta is d, in [0, 1].
      gamma: stopping probability, in (0, 1].
      steps: T >= 1.
    """
    return hard_stop_approximate_sharp(epsilon, delta, gamma, steps).delta


def _sharp_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = _random_gamma(generator)
        steps = max(1, math.ceil(float(10.0 ** generator.uniform(-1.0, 1.3)) / gamma))
        bound = hard_stop_approximate_sharp(pair.epsilon, pair.delta, gamma, steps)
        seen = float(profile_delta(*_stopped(pair, gamma, steps), bound.epsilon))
        where = f"share of delta, gamma={gamma!r}, T={steps}, {pair.where}"
        yield 1.0, seen / bound.delta, where


def _reached(*, gamma: float = 0.3, stop_delta: float = 0.75) -> float:
    """Probability delta_2, at most, of making more than T draws by random stopping.

    Args:
      gamma: stopping probability, in (0, 1].
      stop_delta: delta_2 in (0, 1); T = ceil(log(1/delta_2)/gamma).
    """
    check_interval("gamma", gamma, 0.0, 1.0, high_open=False)
    return check_interval("stop_delta", stop_delta, 0.0, 1.0)


def _reached_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        gamma = float(10.0 ** generator.uniform(-4.0, -0.001))
        stop_delta = float(10.0 ** generator.uniform(-6.0, -0.01))
        steps = hard_stop_steps(gamma, stop_delta)
        late = math.exp(steps * math.log1p(-gamma))
        where = f"gamma={gamma!r}, delta_2={stop_delta!r}, T={steps}"
        yield 1.0, late / _reached(gamma=gamma, stop_delta=stop_delta), where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm3.4",
        source=f"{_PAPER}, Theorem 3.4",
        statement="For an (epsilon, d)-DP base, Algorithm 2 with at most "
        "T = ceil((1/gamma) log(1/d_2)) draws is (3 epsilon + 3 sqrt(2 d), "
        "sqrt(2 d) T + d_2)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_approximate,
        check=at_most(_approximate_cases),
        erratum="LT-E13",
    ),
    Claim(
        id="LT-Thm3.4-stop",
        source=f"{_PAPER}, Theorem 3.4, T rounded up",
        statement="Random stopping makes more than T = ceil((1/gamma) log(1/d_2)) draws "
        "with probability at most d_2.",
        kind="utility",
        relation=None,
        evaluate=_reached,
        check=at_most(_reached_cases),
        erratum="LT-E13",
    ),
    Claim(
        id="LT-Thm3.4-pure-reading",
        source=f"{_PAPER}, Theorem 3.4, read for d = 0 as pure privacy",
        statement="For an epsilon-DP base, Algorithm 2 with the T of Theorem 3.4 is "
        "3 epsilon-DP, as it is without a hard stop.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure_reading,
        check=at_most(_pure_reading_cases),
        holds=False,
        erratum="LT-E13",
        correction="A short hard stop is close to a fixed number of runs; the larger T of "
        "LT-Thm3.5 keeps pure privacy, at 3 epsilon + 3 epsilon_0.",
    ),
    Claim(
        id="LT-Thm3.5",
        source=f"{_PAPER}, Theorem 3.5",
        statement="With X = 2 (1+gamma)^2/(epsilon_0 gamma^2), Algorithm 2 with at most "
        "T = ceil((log X + log log X)/gamma) draws from an epsilon-DP base is "
        "(3 epsilon + 3 epsilon_0)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="LT-Alg2-hardstop-sharp",
        source=f"{_PAPER}, Theorem 3.4, proved otherwise",
        statement="For an (epsilon, d)-DP base, Algorithm 2 with at most T draws is "
        "(3 epsilon, min(1 - (1-d)^T, d/(gamma + d (1-gamma))) + "
        "(1 + e^(3 epsilon))(1-gamma)^T)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_sharp,
        check=at_most(_sharp_cases),
        erratum="LT-E13",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E13",
        source=f"{_PAPER}, Theorem 3.4",
        kind="proof",
        printed="(3 epsilon + 3 sqrt(2 d), sqrt(2 d) T + d_2)-DP with "
        "T = (1/gamma) log(1/d_2), by Lemmas E.2 and E.3.",
        correct="Both lemmas are false (LT-E11, LT-E12), and the proof mixes sqrt(d) with "
        "sqrt(2 d). The statement is not refuted, T being rounded up; splitting the base "
        "into an epsilon-DP part and failures gives a bound that is proved. The 3 epsilon "
        "is no bound on the pure ratio: for epsilon = 0.3, gamma = 0.003 and T = 36 the "
        "pure epsilon can be 1.07.",
        refuted=("LT-Thm3.4-pure-reading",),
        corrected=(
            "LT-Thm3.4",
            "LT-Thm3.4-stop",
            "LT-Alg2-hardstop-sharp",
            "LT-Thm3.5",
        ),
    ),
)
