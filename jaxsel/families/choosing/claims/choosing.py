"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 7: the choosing mechanism."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_support
from jaxsel.families.choosing import laws
from jaxsel.families.choosing.parameters import Beta, Bound, Delta, Epsilon
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import drawn, listed
from jaxsel.language.domains import numbers
from jaxsel.language.papers import CL

Moves = Annotated[
    Any, numbers("by which the scores move; default k of them by 1", at_least=-1.0, at_most=1.0)
]


class Instance(NamedTuple):
    """Two neighbouring lists of scores, and the parameters of Theorem 7 or 8."""

    scores: np.ndarray
    moved: np.ndarray  # the neighbour's scores
    counts: np.ndarray  # candidates with each score
    number: int  # k of the theorem
    epsilon: float
    delta: float
    beta: float

    def __str__(self) -> str:
        return (
            f"scores {self.scores.tolist()} to {self.moved.tolist()}, counts "
            f"{self.counts.tolist()}, k={self.number}, epsilon={self.epsilon!r}, "
            f"delta={self.delta!r}, beta={self.beta!r}"
        )


def instances(budget: Budget) -> Iterator[Instance]:
    """Neighbours for Theorem 7: three that were constructed to be costly, then random ones."""
    three, crowd = np.array([5.0, 3.0, 0.0]), np.array([1.0, 1e15])
    yield Instance(three, np.array([4.0, 4.0, 0.0]), np.ones(3), 2, 1.0, 0.1, 0.5)
    # The best has a lead only in the last unit of its noise; then none.
    yield Instance(np.array([1.0, 0.0]), np.zeros(2), crowd, 1, 1.0, 0.1, 0.5)
    # Two that lose their leads, of which the second is the larger.
    two = np.array([0.5, 1.0, 0.0])
    yield Instance(two, np.zeros(3), np.append(1.0, crowd), 2, 1.0, 0.1, 0.5)
    for case, generator in enumerate(budget.draws(60)):
        size = int(generator.integers(2, 6))
        scores = generator.integers(0, 9, size) * generator.choice([1.0, 4.0])
        steps = generator.uniform(-1.0, 1.0, size)
        steps = np.sign(steps) if case % 2 else steps
        counts = np.ones(size)
        if case % 3 == 0:
            # many more that stay, behind
            scores, steps = np.append(scores + 20.0, 0.0), np.append(steps, 0.0)
            counts = np.append(counts, 10.0 ** generator.integers(1, 9))
        yield Instance(
            scores,
            scores + steps,
            counts,
            max(math.ceil(np.abs(steps).sum() - 1e-9), 1),
            generator.uniform(0.1, 1.0),
            float(generator.choice([0.5, 0.1, 1e-3])),
            float(generator.choice([0.9, 0.5, 0.3])),
        )


# --- Privacy --------------------------------------------------------------------------


@CL.privacy(
    "CL-Thm7",
    "Theorem 7",
    Relation.GENERAL,
    loose="The noise's exact delta at epsilon/3 is at most (e^(1/3) - 1)/2 < 0.2 of "
    "its parameter, and p halves it on average: at most 0.08 delta is spent "
    "(CL-Thm7-sharp, attained).",
)
def stated(*, delta: Delta = 0.1) -> float:
    """For k-bounded families and epsilon <= 1, the choosing mechanism is (epsilon, delta)-DP with
    noise TLap(epsilon/3, delta beta/(5 k)), tau = ceil(4/beta) and gamma = 1."""
    return delta


def losses(budget: Budget) -> Iterator[tuple[Instance, float]]:
    """Neighbouring inputs of the choosing mechanism, each with its exact delta at its epsilon.

    The delta is the larger one of both directions.
    """
    for case in instances(budget):
        made = laws.choosing_settings(case.epsilon, case.delta, case.beta, case.number)
        first = laws.group_law(case.scores, case.counts, made)
        second = laws.group_law(case.moved, case.counts, made)
        yield case, float(profile_delta(first, second, case.epsilon))


@stated.bounds()
def exact_deltas(budget):
    for case, exact in losses(budget):
        yield {"delta": case.delta}, exact, str(case)


@CL.privacy("CL-Thm7-sharp", "Theorem 7, sharpened", Relation.GENERAL)
def spent(
    *,
    epsilon: Epsilon = 1.0,
    delta: Delta = 0.1,
    beta: Beta = 0.5,
    bound: Bound = 2,
    moves: Moves = None,
) -> float:
    """At epsilon, the choosing mechanism spends a delta of at most 1 - E_p prod_i (1 - p
    delta_i)^tau, delta_i being candidate i's exact delta at epsilon/3; this is attained in the
    limit of many other candidates.

    Returns this delta for scores that move by ``moves``; without them, k scores move by 1 and it
    is 1 - E_p (1 - p delta_1)^(tau k).

    Raises:
      InputError: for scores that move by more than k together.
    """
    settings = laws.choosing_settings(epsilon, delta, beta, bound)
    if moves is None:
        return laws.spent_delta([1.0], epsilon, settings, counts=[bound])
    if np.abs(moves).sum() > bound * (1.0 + 1e-9):
        raise InputError(f"moves add up to {np.abs(moves).sum():g}; it must be at most k={bound}")
    return laws.spent_delta(moves, epsilon, settings)


@spent.bounds()
def spent_on_instances(budget):
    for case, exact in losses(budget):
        point = {"epsilon": case.epsilon, "delta": case.delta, "beta": case.beta}
        moves = case.moved - case.scores
        yield point | {"bound": case.number, "moves": moves}, exact, str(case)


@CL.privacy(
    "CL-Thm7-half",
    "Theorem 7, sharpened",
    Relation.GENERAL,
    loose="It bounds the noise's exact delta at epsilon/3 by its parameter, of which that is at "
    "most (e^(1/3) - 1)/2 < 0.2.",
)
def half(*, delta: Delta = 0.1) -> float:
    """If k scores move by 1, the choosing mechanism spends at most delta/2 at epsilon."""
    return delta / 2.0


def _draw(generator: np.random.Generator) -> tuple[int, float, float, float]:
    """Random bound, delta, beta and epsilon."""
    bound, (delta, beta) = (
        int(generator.integers(1, 200)),
        generator.uniform(1e-6, 0.999, 2).tolist(),
    )
    return bound, delta, beta, generator.uniform(0.01, 1.0)


@half.bounds(drawn("bound delta beta epsilon", _draw, 100))
def random_settings(epsilon, delta, beta, bound):
    return spent(epsilon=epsilon, delta=delta, beta=beta, bound=bound)


# --- Utility --------------------------------------------------------------------------


def certain_failure(runs: int) -> float:
    """The probability that no run of the best candidate reaches its score: E(1 - p/2)^tau.

    Here p is uniform on (0, 1), and ``runs`` is tau.
    """
    return (2.0 - 2.0**-runs) / (runs + 1.0)


def crowds(settings: laws.NoisySelection) -> Iterator[tuple[float, str]]:
    """The exact probability of failure, with a text, where one candidate leads a crowd.

    A selection fails if its loss exceeds the noise's support, or if nothing is released. The best
    candidate leads the crowd by a little more than the support; a few others may lie between.
    """
    lead = settings.support * (1.0 + 1e-9)
    for others in (1e3, 1e15):
        for middle in ((), (0.5, 3.0), (1e-9, 1.0)):
            # where those between lie, as a share of the lead, and how many they are
            levels, counts = [lead, 0.0], [1.0, others]
            if middle:
                levels.append(lead * middle[0])
                counts.append(middle[1])
            law = laws.group_law(levels, counts, settings)
            far = lead - np.array(levels) > settings.support
            yield float(law[-1] + law[:-1][far].sum()), f"{levels=}, {counts=}"


def _draw_failure(generator: np.random.Generator) -> tuple[float, float, int]:
    """Random beta, delta and k."""
    beta, delta = generator.uniform(0.02, 0.999), 10.0 ** generator.uniform(-6.0, -0.1)
    return beta, delta, int(generator.integers(1, 50))


FAILURES = drawn("beta delta k", _draw_failure, 3, (0.1, 1e-6, 1))


@CL.utility(
    "CL-Thm7-utility",
    "Theorem 7",
    loose="It fails with (2 - 2^-tau)/(tau + 1) < beta/2 at most, which is attained "
    "(CL-Thm7-utility-sharp).",
)
def failing(*, beta: Beta = 0.1) -> float:
    """With probability 1 - beta the loss is at most (3/epsilon) log(5 k/(beta delta)), whatever the
    number of candidates."""
    return beta


@CL.utility("CL-Thm7-utility-sharp", "Theorem 7, sharpened")
def failing_sharp(*, beta: Beta = 0.1) -> float:
    """The loss exceeds Theorem 7's bound with probability at most (2 - 2^-tau)/(tau + 1) < beta/2,
    attained in the limit of many candidates.

    Returns (2 - 2^-tau)/(tau + 1), with tau = ceil(4/beta).
    """
    return certain_failure(math.ceil(4.0 / beta))


@failing.bounds(FAILURES)
@failing_sharp.bounds(FAILURES)
def failures(beta, delta, k):
    return crowds(laws.choosing_settings(1.0, delta, beta, k))


# --- A step of the proof --------------------------------------------------------------


@CL.utility("CL-Thm7-step-support-printed", "proof of Theorem 7")
def support_printed(*, bound: Bound = 1, beta: Beta = 0.9, delta: Delta = 0.9) -> float:
    """The noise TLap(epsilon, delta beta/(5 k)) is at most (5/epsilon) log(k/(beta delta)).

    Returns the printed bound times epsilon, 5 log(k/(beta delta)).
    """
    return 5.0 * math.log(bound / beta / delta)


@CL.utility("CL-Thm7-step-support", "proof of Theorem 7, corrected")
def support_corrected(*, bound: Bound = 1, beta: Beta = 0.1, delta: Delta = 0.1) -> float:
    """For k/(beta delta) >= 5^(1/4), the noise TLap(epsilon, delta beta/(5 k)) is at most
    (5/epsilon) log(k/(beta delta)).

    Returns the bound times epsilon, 5 log(k/(beta delta)).
    """
    ratio = bound / beta / delta
    if ratio < 5.0**0.25:
        raise InputError(f"bound/(beta delta) is {ratio:g}; it must be at least 5^(1/4) = 1.495")
    return 5.0 * math.log(ratio)


def _draw_support(generator: np.random.Generator) -> tuple[float, float, int]:
    """Random beta, delta and bound."""
    return *generator.uniform(0.001, 0.8, 2).tolist(), int(generator.integers(1, 1000))


_EDGE = 1.0 / 5.0**0.125, 1.0 / 5.0**0.125 * (1.0 - 1e-12), 1


@support_printed.bounds(listed("beta delta bound", (0.9, 0.9, 1), (0.85, 0.8, 1)))
@support_corrected.bounds(drawn("beta delta bound", _draw_support, 200, _EDGE, (0.9, 0.9, 2)))
def support(beta, delta, bound):
    return truncated_laplace_support(1.0, delta * beta / (5.0 * bound))


CL_E12 = CL.misprint(
    "CL-E12",
    "proof of Theorem 7",
    "misprint",
    printed="f_j >= s' - (5/epsilon) log(k/(beta delta)) >= s - (5/epsilon) log(k "
    "beta/delta); tau = 4/beta.",
    correct="log(k/(beta delta)) throughout, the first step for k/(beta delta) >= "
    "5^(1/4); tau = ceil(4/beta).",
    refuted=[support_printed],
    corrected=[support_corrected],
)
