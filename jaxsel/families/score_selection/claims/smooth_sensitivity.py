"""Liu & Talwar 2019, Theorem 5.2, fourth part: scores of small smooth sensitivity.

The scores here are medians. Laplace noise scaled to smooth sensitivity is that of Nissim,
Raskhodnikova & Smith 2007.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.families.score_selection import settings, smooth_sensitivity
from jaxsel.families.score_selection.candidate_laws import (
    noisy_candidates,
    released_delta,
    released_epsilon,
)
from jaxsel.families.score_selection.claims import instances, stated
from jaxsel.families.score_selection.parameters import Smoothness
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Judged, drawn, in_units, listed
from jaxsel.language.domains import positive, whole
from jaxsel.language.papers import LT, NRS
from jaxsel.repetitions import geometric, point_mass

# --- Smooth sensitivity of the median -------------------------------------------------


Value = Annotated[int, whole("one of the three, in any order", at_least=0, at_most=4)]


@NRS.identity("NRS-median", "Section 3.1")
def smooth(
    *, low: Value = 1, middle: Value = 1, high: Value = 4, smoothness: Smoothness = 0.3
) -> float:
    """The smooth sensitivity of the median is the largest e^(-eta k) (x_(m+t) - x_(m+t-k-1)) over
    k >= 0 and t = 0..k+1.

    Here x are the sorted values, x_m is the median, and values beyond the list's ends are the ends
    of the range. Returns the number for three whole numbers in [0, 4].
    """
    return smooth_sensitivity.median_smooth_sensitivity([low, middle, high], 4, smoothness)


def _by_definition(high: int, size: int, eta: float) -> dict[tuple[int, ...], float]:
    """The smooth sensitivity of the median of every list of whole numbers, by its definition.

    It is the largest of e^(-eta distance) times the local sensitivity at y, over all lists y.
    """
    lists = np.array(list(itertools.product(range(high + 1), repeat=size)))
    medians = np.array([smooth_sensitivity.median(row) for row in lists])
    # values replaced between each two lists
    distance = (lists[:, None, :] != lists).sum(axis=2)
    moved = np.abs(medians[:, None] - medians)
    local = np.where(distance <= 1, moved, 0.0).max(axis=1)
    smooth = (np.exp(-eta * distance) * local).max(axis=1)
    return {tuple(row): value for row, value in zip(lists.tolist(), smooth.tolist(), strict=True)}


@smooth.equals(tolerance=1e-12)
def smooth_cases(budget):
    for high, size in ((4, 3), (3, 4), (2, 5)):
        for eta in (0.05, 0.3, 1.5):
            for values, exact in _by_definition(high, size, eta).items():
                if (high, size) == (4, 3):
                    named = dict(zip(("low", "middle", "high"), values, strict=True))
                    yield named | {"smoothness": eta}, exact
                else:
                    found = smooth_sensitivity.median_smooth_sensitivity(values, high, eta)
                    yield Judged(found, exact, f"median of {values} in [0, {high}], {eta=}")


# --- Laplace noise scaled to it -------------------------------------------------------


noise = NRS.privacy(
    "NRS-Cor2.4",
    "Corollary 2.4",
    Relation.GENERAL,
    statement="With S an eta-smooth bound, eta <= epsilon/(2 log(2/delta)), a value with Laplace "
    "noise of scale 2 S/epsilon is (epsilon, delta)-DP (checked for epsilon <= 4).",
)(stated.approximate)


def _draw(generator: np.random.Generator) -> tuple[float, ...]:
    privacy = generator.uniform(0.05, 4.0), 10.0 ** generator.uniform(-9.0, -0.1)
    return *privacy, *generator.uniform(-1.0, 1.0, 2).tolist()


_FARTHEST = [(e, d, 1.0, 1.0) for e in (0.1, 1.0, 4.0) for d in (1e-6, 1e-2, 0.5, 0.999)]


@noise.bounds(drawn("epsilon delta grown moved", _draw, 20, *_FARTHEST))
def noise_cases(epsilon, delta, grown, moved):
    # Smooth sensitivities 1 and e^(grown eta); the value moves by the smaller.
    other = math.exp(grown * smooth_sensitivity.smooth_laplace_smoothness(epsilon, delta))
    first, second = (
        noisy_candidates([score], smooth_sensitivity.smooth_laplace_scale(bound, epsilon))
        for score, bound in ((0.0, 1.0), (moved * min(1.0, other), other))
    )
    return in_units(released_delta(first, second, point_mass(1), epsilon))


# --- The shifted score (LT-E18) -------------------------------------------------------


@LT.privacy(
    "LT-Thm5.2-smooth-printed",
    "proof of Theorem 5.2, fourth part",
    Relation.GENERAL,
    correction="eta must be small, not large: LT-Thm5.2-smooth.",
    holds=False,
    erratum="LT-E18",
)
def twice_printed(
    *, smooth_bound: Annotated[float, positive("s_i, on the sensitivity of q_i")] = 1.0
) -> float:
    """For eta > epsilon/log(K/beta), 2 s_i bounds how much q_i - 2 s_i log(K/beta)/epsilon may
    move, s_i being eta-smooth."""
    return 2.0 * smooth_bound


twice = LT.privacy(
    "LT-Thm5.2-smooth",
    "proof of Theorem 5.2, corrected",
    Relation.GENERAL,
    statement="For (e^eta - 1) 2 log(K/beta)/epsilon <= 1, 2 s_i bounds how much q_i - 2 s_i "
    "log(K/beta)/epsilon may move, s_i being eta-smooth.",
    erratum="LT-E18",
)(twice_printed.evaluate)


def _draw_shift(generator: np.random.Generator) -> tuple[float, int, float]:
    epsilon, candidates = generator.uniform(0.01, 1.0), int(generator.integers(1, 10**6))
    return epsilon, candidates, generator.uniform(0.001, 0.999)


_NAMES = "epsilon candidates beta"


@twice_printed.bounds(listed(_NAMES, (1.0, 100, 0.1)), printed=True)
@twice.bounds(drawn(_NAMES, _draw_shift, 100, (1.0, 100, 0.1)), printed=False)
def shifted_sensitivities(smooth_bound, epsilon, candidates, beta, printed):
    spread = 2.0 * math.log(candidates / beta) / epsilon
    # eta at the edge of what is allowed, from above as printed.
    eta = 2.0 / spread * 1.001 if printed else math.log1p(1.0 / spread)
    # q_i falls by s_i while s_i grows by e^eta.
    return smooth_bound * (1.0 + math.expm1(eta) * spread), f"eta={eta!r}"


# --- Selection ------------------------------------------------------------------------


# epsilon, delta, beta, scores and bounds on either side, where
Selections = tuple[float, float, float, Any, Any, str]


def _opposed() -> Iterator[Selections]:
    """Selections in which one of many candidates rises while its bound shrinks, and others oppose.

    With so many candidates the shift limits eta, and changes as much as it may, too.
    """
    plans = ((30, 1.0, 1e-6, 0.1), (100, 0.3, 1e-6, 0.01), (1000, 0.1, 4e-15, 0.01))
    for count, epsilon, delta, beta in plans:
        eta = settings.smooth_selection_smoothness(count, epsilon, delta, beta)
        sign = np.where(np.arange(count) == 0, 1.0, -1.0)
        bounds, others = np.ones(count), np.exp(-eta * sign)
        sides = (np.zeros(count), bounds), (sign * np.minimum(bounds, others), others)
        yield epsilon, delta, beta, *sides, f"one of K={count} rises"


def _extremes(budget: Budget) -> Iterator[Selections]:
    """Random selections whose scores and bounds change as much as smoothness allows."""
    for number, generator in enumerate(budget.draws(8)):
        count = int(generator.integers(2, 8))
        epsilon = generator.uniform(0.2, 3.0)
        delta = 10.0 ** generator.uniform(-6.0, -0.5)
        beta = 10.0 ** generator.uniform(-2.0, -0.1)
        eta = settings.smooth_selection_smoothness(count, epsilon, delta, beta)
        bounds = 10.0 ** generator.uniform(-0.7, 0.7, count)
        signs = generator.choice([-1.0, 1.0], (2, count))
        if number % 3 == 0:
            signs = np.where(np.arange(count) == 0, 1.0, -1.0) * np.ones((2, 1))
        others = bounds * np.exp(eta * signs[0])
        scores = 3.0 * generator.uniform(-1.0, 1.0, count)
        moved = scores + signs[1] * np.minimum(bounds, others)
        sides = (scores, bounds), (moved, others)
        yield epsilon, delta, beta, *sides, f"instance {number}: K={count}"


def _tables(budget: Budget) -> Iterator[Selections]:
    """Selections from tables of whole numbers, one list a candidate, with one column replaced."""
    generator = np.random.default_rng(budget.seed + 1)
    for number in range(min(budget.cases, 4)):
        count, size, high = 3, int(generator.integers(20, 200)), 20
        epsilon, delta, beta = 2.0, 0.05, 0.3
        table = generator.binomial(high, generator.uniform(0.2, 0.8, (count, 1)), (count, size))
        other = table.copy()
        other[:, 0] = generator.choice([0, high], count)
        eta = settings.smooth_selection_smoothness(count, epsilon, delta, beta)
        first, second = (
            (
                [smooth_sensitivity.median(row) for row in side],
                [smooth_sensitivity.median_smooth_sensitivity(row, high, eta) for row in side],
            )
            for side in (table, other)
        )
        where = f"table {number}: {count} lists of {size} in [0, {high}]"
        yield epsilon, delta, beta, first, second, where


private = LT.privacy(
    "LT-Thm5.2-smooth-privacy",
    "Theorem 5.2, smooth sensitivity, corrected",
    Relation.GENERAL,
    statement="Random stopping with gamma = beta/(2 K) over q_i - 2 b_i log(K/beta) + Lap(b_i), "
    "b_i = 12 S_i/epsilon, is (epsilon, delta)-DP, the noisy score of the chosen candidate "
    "released as well, if S_i is eta-smooth with, for e = epsilon/3, eta <= e/(2 log(2/(gamma "
    "delta))) and eta <= log(1 + e/(8 log(K/beta))).",
    erratum="LT-E18",
)(stated.pure)


@private.bounds()
def privacy_cases(budget):
    found = itertools.chain(_opposed(), _extremes(budget), _tables(budget))
    for epsilon, delta, beta, here, there, where in found:
        first, second = (settings.smooth_selection(q, s, epsilon, beta) for q, s in (here, there))
        seen = released_epsilon(first.candidates, second.candidates, geometric(first.gamma), delta)
        yield {"epsilon": epsilon}, seen, f"{where}, {delta=!r}, {beta=!r}"


accurate = LT.utility(
    "LT-Thm5.2-smooth-utility",
    "Theorem 5.2, smooth sensitivity, corrected",
    statement="The score of the candidate that is chosen as in LT-Thm5.2-smooth-privacy is at "
    "least q_j - (24 S_j/epsilon) log(K/beta) for every j, except with probability beta (1 + 1/K).",
    erratum="LT-E18",
)(stated.failure_given_candidates)


def _landscapes(budget: Budget, loss, limit: int) -> Iterator[instances.Landscape]:
    yield instances.quiet_and_noisy(loss)
    for number, generator in enumerate(budget.draws(limit)):
        count = int(generator.integers(2, 20))
        epsilon = generator.uniform(0.2, 3.0)
        beta = 10.0 ** generator.uniform(-3.0, -0.05)
        bounds = 10.0 ** generator.uniform(-2.0, 1.0, count)
        claimed = loss(np.zeros(count), bounds, epsilon, beta)
        scores = -1.2 * claimed * generator.choice([0.0, 1.0, 2.0], count)
        where = f"instance {number}, {epsilon=!r}"
        yield instances.Landscape(scores, bounds, epsilon, beta, where)


accurate.bounds(
    landscapes=_landscapes,
    select=settings.smooth_selection,
    loss=settings.smooth_selection_loss,
    names=("beta", "candidates"),
)(instances.failures)
