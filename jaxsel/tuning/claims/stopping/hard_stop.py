"""Liu & Talwar 2019, Theorems 3.4 and 3.5: random stopping with a hard stop."""

import itertools
import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, exact_epsilon, profile_delta
from jaxsel.language.base import Relation
from jaxsel.language.checking import in_units
from jaxsel.language.papers import LT
from jaxsel.repetitions.parameters import Gamma
from jaxsel.tuning import parameters
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.random_stopping import (
    hard_stop_approximate,
    hard_stop_excess,
    hard_stop_steps,
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
    stopping_failure,
)
from jaxsel.tuning.claims.base_pairs import ApproximatePair, approximate_pairs, pure_pairs


def hard_stop_law(q_best_first: npt.ArrayLike, gamma: float, steps: int) -> np.ndarray:
    """Exact output law of Algorithm 2 with at most ``steps`` draws; gamma in (0, 1)."""
    return tuned_law(q_best_first, laws.capped(laws.geometric(gamma), steps))[:-1]


def _stopped(pair, gamma: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """On both sides."""
    return hard_stop_law(pair.first, gamma, steps), hard_stop_law(pair.second, gamma, steps)


@LT.privacy("LT-Thm3.4", "Theorem 3.4", Relation.BASE)
def approximate(*, epsilon: parameters.Epsilon = 1.0, delta: parameters.Delta = 1e-6):
    """For an (epsilon, d)-DP base, Algorithm 2 with at most T = ceil((1/gamma) log(1/d_2)) draws is
    (3 epsilon + 3 sqrt(2 d), sqrt(2 d) T + d_2)-DP (compared: epsilon, with the exact one at
    delta)."""
    # gamma and d_2 set delta alone.
    return hard_stop_approximate(epsilon, delta, 0.1, 1e-6).epsilon


def _random_gamma(generator: np.random.Generator) -> float:
    return 10.0 ** generator.uniform(-3.0, -0.01)


@approximate.bounds()
def stopped_early(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = _random_gamma(generator)
        stop_delta = 10.0 ** generator.uniform(-8.0, -0.3)
        steps = hard_stop_steps(gamma, stop_delta)
        # Failures so rare that the theorem says something.
        pair = _rarely_failing(pair, 10.0 ** generator.uniform(-6.0, -0.7) / steps)
        bound = hard_stop_approximate(pair.epsilon, pair.delta, gamma, stop_delta)
        seen = epsilon_at_delta(*_stopped(pair, gamma, steps), bound.delta)
        where = f"{gamma=}, delta_2={stop_delta!r}, T={steps}, {pair.where}"
        yield {"epsilon": pair.epsilon, "delta": pair.delta}, seen, where
    # no failures at all: only the hard stop costs something
    for stopped, stop_delta, where in _overshooting(
        itertools.product((0.003, 0.03), (0.9, 0.5, 0.1, 1e-6))
    ):
        yield {"epsilon": 0.3, "delta": 0.0}, epsilon_at_delta(*stopped, stop_delta), where


def _rarely_failing(pair: ApproximatePair, root: float) -> ApproximatePair:
    """The same core with failures so rare that sqrt(2 d) is ``root``."""
    delta = root**2 / 2.0
    # What was added to the core is its failures.
    first, second = (
        core + (law - (1.0 - pair.delta) * core) * (delta / pair.delta) - delta * core
        for core, law in zip(pair.core[:2], (pair.first, pair.second), strict=True)
    )
    where = f"{pair.where}, failures diluted to delta={delta!r}"
    return pair._replace(first=first, second=second, delta=delta, where=where)


def _overshooting(settings: Iterable[tuple[float, float]]):
    """Laws with a hard stop too early for 3 epsilon, delta_2, and how they are made."""
    for middle, (gamma, stop_delta) in itertools.product((1e-3, 1e-5), settings):
        steps = hard_stop_steps(gamma, stop_delta)
        stopped = _stopped(pairs.three_outcome(0.3, 0.064, middle), gamma, steps)
        where = f"{gamma=}, delta_2={stop_delta:g}, T={steps}, "
        yield stopped, stop_delta, f"{where}pairs.three_outcome(0.3, 0.064, {middle:g})"


@LT.privacy("LT-Thm3.4-pure-reading", "Theorem 3.4, read for d = 0 as pure privacy", Relation.BASE)
def pure_reading(*, epsilon: parameters.Epsilon = 0.3):
    """For an epsilon-DP base, Algorithm 2 with the T of Theorem 3.4 is 3 epsilon-DP, as it is
    without a hard stop."""
    return 3.0 * epsilon


@pure_reading.bounds()
def overshooting(budget):
    for stopped, _, where in _overshooting(((0.003, 0.9), (0.003, 0.7), (0.03, 0.9))):
        yield {"epsilon": 0.3}, exact_epsilon(*stopped), where


def hard_stop_approximate_sharp(
    epsilon: float, delta: float, gamma: float, steps: int
) -> ApproximateGuarantee:
    """Of LT-Alg2-hardstop-sharp.

    With probability (1 - delta)^T none of the first T draws fails, whatever the data;
    given that, the capped and the uncapped algorithm differ by at most (1 - gamma)^T on
    each side. Taking the uncapped algorithm first replaces that by its own failures.
    """
    total = 3.0 * epsilon
    log_late = steps * math.log1p(-gamma) if gamma < 1.0 else -math.inf
    late = math.exp(log_late) + math.exp(total + log_late)
    failing = min(-math.expm1(steps * math.log1p(-delta)), stopping_failure(delta, gamma))
    return ApproximateGuarantee(total, min(1.0, failing + late))


@LT.privacy("LT-Alg2-hardstop-sharp", "Theorem 3.4, proved otherwise", Relation.BASE)
def sharp(
    *,
    epsilon: parameters.ModerateEpsilon = 1.0,
    delta: parameters.Delta = 1e-6,
    gamma: parameters.Stop = 0.1,
    steps: parameters.MostDraws = 139,
):
    """For an (epsilon, d)-DP base, Algorithm 2 with at most T draws is (3 epsilon, min(1 - (1-d)^T,
    d/(gamma + d (1-gamma))) + (1 + e^(3 epsilon))(1-gamma)^T)-DP.

    delta at 3 epsilon of Algorithm 2 with at most T draws.
    """
    return hard_stop_approximate_sharp(epsilon, delta, gamma, steps).delta


@sharp.bounds()
def failures(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in approximate_pairs(budget):
        gamma = _random_gamma(generator)
        steps = max(1, math.ceil(10.0 ** generator.uniform(-1.0, 1.3) / gamma))
        seen = profile_delta(*_stopped(pair, gamma, steps), 3.0 * pair.epsilon)
        point = {"epsilon": pair.epsilon, "delta": pair.delta, "gamma": gamma, "steps": steps}
        yield point, in_units(seen), f"share of delta, {pair.where}"


@LT.utility("LT-Thm3.4-stop", "Theorem 3.4, T rounded up")
def reached(*, gamma: parameters.Stop = 0.3, stop_delta: parameters.StopDelta = 0.75):
    """Random stopping makes more than T = ceil((1/gamma) log(1/d_2)) draws with probability at most
    d_2."""
    del gamma
    return stop_delta


@reached.bounds()
def late(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        gamma = 10.0 ** generator.uniform(-4.0, -0.001)
        stop_delta = 10.0 ** generator.uniform(-6.0, -0.01)
        steps = hard_stop_steps(gamma, stop_delta)
        late = in_units(math.exp(steps * math.log1p(-gamma)))
        yield {"gamma": gamma, "stop_delta": stop_delta}, late, f"T={steps}"


@LT.privacy("LT-Thm3.5", "Theorem 3.5", Relation.BASE)
def pure(*, epsilon: parameters.Epsilon = 1.0, slack: parameters.Slack = 0.1):
    """With X = 2 (1+gamma)^2/(epsilon_0 gamma^2), Algorithm 2 with at most T = ceil((log X + log
    log X)/gamma) draws from an epsilon-DP base is (3 epsilon + 3 epsilon_0)-DP."""
    return 3.0 * epsilon + 3.0 * slack


@pure.bounds()
def stopped_late(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        gamma = _random_gamma(generator)
        settings = [(gamma, 10.0 ** generator.uniform(-3.0, -0.31))]
        if pair.where.startswith("pairs"):
            settings += [(1e-3, 0.4999), (0.003, 0.1), (0.9, 0.4999)]
        point = {"epsilon": exact_epsilon(pair.first, pair.second)}
        for gamma, slack in settings:
            steps = hard_stop_steps_pure(gamma, slack)
            seen = exact_epsilon(*_stopped(pair, gamma, steps))
            yield point | {"slack": slack}, seen, f"{gamma=}, T={steps}, {pair.where}"


@LT.privacy("LT-Thm3.5-sharp", "Theorem 3.5, proved with an earlier hard stop", Relation.BASE)
def earlier(
    *, epsilon: parameters.Epsilon = 1.0, gamma: Gamma = 0.01, steps: parameters.MostDraws = 300
):
    """Algorithm 2 with at most T >= 2/gamma - 1 draws from an epsilon-DP base is (3 epsilon + log(1
    + T gamma (1-gamma)^(T-1)) - log(1 - (1-gamma)^T))-DP: T of order log(1/epsilon_0)/gamma is
    enough for 3 epsilon + 3 epsilon_0."""
    return 3.0 * epsilon + hard_stop_excess(gamma, steps)


@earlier.bounds()
def worst_bases(budget):
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, 60)):
        gamma = 10.0 ** generator.uniform(-4.0, -0.2)
        slack = 10.0 ** generator.uniform(-4.0, -0.31)
        steps = hard_stop_steps_sharp(gamma, slack)
        epsilon = (0.01, 0.1, 0.5, 1.0, 3.0)[case % 5]
        point = {"epsilon": epsilon, "gamma": gamma, "steps": steps}
        yield point, hard_stop_worst(epsilon, gamma, steps)


@LT.privacy("LT-Alg2-hardstop-worst", "Algorithm 2 with a hard stop", Relation.BASE)
def worst(
    *,
    epsilon: parameters.ModerateEpsilon = 0.3,
    gamma: Gamma = 0.003,
    steps: parameters.MostDraws = 36,
):
    """On any epsilon-DP base, Algorithm 2 with at most T draws has pure epsilon at most epsilon +
    max log(f'(1-g)/f'(1-g')) over epsilon-close probabilities g and g', f being the generating
    function of the number of draws."""
    return hard_stop_worst(epsilon, gamma, steps)


@worst.bounds()
def any_bases(budget):
    generator = np.random.default_rng(budget.seed)
    for pair in pure_pairs(budget._replace(cases=min(budget.cases, 60))):
        gamma = 10.0 ** generator.uniform(-3.0, -0.1)
        steps = int(generator.choice([1, 2, 5, 36, 300]))
        seen = exact_epsilon(*_stopped(pair, gamma, steps))
        epsilon = exact_epsilon(pair.first, pair.second)
        point = {"epsilon": epsilon, "gamma": gamma, "steps": steps}
        # The maximum is found on a grid: to five digits.
        yield point, lambda bound, seen=seen: (bound * (1.0 + 1e-5), seen), pair.where


LT_E13 = LT.misprint(
    "LT-E13",
    "Theorem 3.4",
    "proof",
    printed="(3 epsilon + 3 sqrt(2 d), sqrt(2 d) T + d_2)-DP with T = (1/gamma) log(1/d_2), by "
    "Lemmas E.2 and E.3.",
    correct="Both lemmas are false (LT-E11, LT-E12), and the proof mixes sqrt(d) with sqrt(2 d). "
    "The statement is not refuted, T being rounded up; splitting the base into an epsilon-DP part "
    "and failures gives a bound that is proved.",
    corrected=[approximate, reached, sharp, "LT-Thm3.5"],
)

R_LT_24 = LT.remark(
    "R-LT-24",
    "Theorem 3.4",
    "For d = 0 the theorem leaves delta = d_2: its 3 epsilon is no bound on the pure ratio "
    "(epsilon = 0.3, gamma = 0.003 and T = 36 can cost 1.07). A short hard stop is close to a "
    "fixed number of runs; the larger T of Theorem 3.5 keeps pure privacy, at 3 epsilon + 3 "
    "epsilon_0.",
    readings=[pure_reading],
    holds=["LT-Thm3.5"],
)
