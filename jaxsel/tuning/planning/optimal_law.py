"""The law of K with the least privacy cost that meets given wishes, with a certificate.

Derived in docs/optimal-law.md. The law is computed on few cells of loss; its epsilon is
that of the certified envelope, and ``lower`` is a lower bound for every law of K that meets
the wishes.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize

from jaxsel.accounting.numerics.digits import to_digits
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions, table_law
from jaxsel.tuning.bounds.envelope import envelope_epsilon
from jaxsel.tuning.bounds.priced_envelope import priced_directions
from jaxsel.tuning.parameters import ProperDelta
from jaxsel.tuning.planning.linear_wishes import (
    Price,
    feasible_counts,
    least_runs,
    meeting,
    refuse_infeasible,
    rows,
)
from jaxsel.tuning.planning.optimal_certificate import Functional, lower_epsilon, searched_counts
from jaxsel.tuning.planning.optimal_program import Program, Solved
from jaxsel.tuning.planning.optimal_sides import BestPoints, Side, powers, side
from jaxsel.tuning.planning.wishes import Wishes

MOST = 10_000  # largest K if nothing limits the runs
_DENSE, _SPARSE, _FARTHEST = 13, 28, 1500  # initial counts
FINDING_STEPS = 3  # coarse cells, fine cells, the certificate
_STEPS = 40
_SHORT = (3e-6, 3e-5, 3e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.6)  # below epsilon
_NEAR, _SOME = 0.9, 0.1  # fraction of epsilon, and the weight of contributions there
_LOOSE = 0.3  # accuracy of delta while epsilon is far from the solution
_CLOSE = 1e-8  # relative tolerance of epsilon before rounding
_POLISHES = 3
_EXACT = 1e-9  # accuracy of delta for the law that is printed
_GIVEN = 1e-5  # largest relative increase of epsilon for a law that is the same on every machine
_TIE = 1e-6  # weight of E[log(1 + K)^2] relative to delta, to break ties between laws
_SEEN = 1e-6  # smaller probabilities are ignored when cells are refined
_FAINT = 1e-12  # the solver's tolerance for zero; P[K = 1] may matter at 1e-8
_ENOUGH = 700.0  # an epsilon at which only infinite losses are left


class Effort(NamedTuple):
    """The resolution of the program; the result is certified for any.

    Attributes:
      coarse, fine: number of cells of loss during the search, and at the end.
      points: number of points x.
    """

    coarse: int = 80
    fine: int = 250
    points: int = 3000


class Found(NamedTuple):
    """The law of K with the least envelope, and a lower bound for every other law.

    Attributes:
      law: the law of K.
      epsilon: of the search with it, proved by the envelope.
      lower: no law of K that meets the wishes has an envelope with a smaller epsilon.
      delta: of the search.
      wishes: the wishes that are met; with a largest K if nothing limited the runs.
      functional: proves ``lower`` by optimal_certificate.lower_epsilon.
    """

    law: Repetitions
    epsilon: float
    lower: float
    delta: float
    wishes: Wishes
    functional: Functional


def _counts(most: int | None, wishes: Wishes) -> np.ndarray:
    """Initial counts: all small ones, then nearly geometric."""
    far = max(_FARTHEST, 20.0 * (wishes.runs or 0.0))
    found = np.append(np.arange(_DENSE), np.geomspace(_DENSE, far, _SPARSE).round())
    found = np.append(found, [1e4, 1e5, 1e6, 1e7])
    if wishes.runs is not None:
        found = np.append(found, [math.floor(wishes.runs), math.ceil(wishes.runs)])
    if wishes.runs_95 is not None:
        found = np.append(found, [wishes.runs_95, wishes.runs_95 + 1])
    if most is not None:
        found = np.append(found[found <= most], most)
    return np.unique(found)


def _root(program: Program, counts: np.ndarray, weights: np.ndarray, near: float) -> float:
    """epsilon at which a law has delta over the program's cells."""

    def excess(epsilon: float) -> float:
        value = program.value(epsilon, counts, weights)
        return math.log(max(value, 1e-300) / program.delta)

    if excess(0.0) <= 0.0:
        return 0.0
    low, high = 0.0, max(near, 1e-3)
    while excess(high) > 0.0:
        low, high = high, 2.0 * high
        if high > _ENOUGH:
            return math.inf
    found = optimize.root_scalar(excess, bracket=(low, high), method="brentq", xtol=1e-11)
    return float(found.root)


def _least(program: Program, epsilon: float, accuracy: float) -> tuple[Solved, float]:
    """The law of least epsilon over the program's cells, searched from a given epsilon.

    Each step goes from the best law at one epsilon to the epsilon at which that law has
    delta, which is Newton's method, since the law is optimal to first order. Where the
    least delta jumps, as for bases with few outcomes, the search is between the epsilon
    that the multipliers exclude and the one that was reached.

    Returns:
      The solution at the last epsilon, with the best law; and that law's epsilon.
    """
    low, high, best = 0.0, math.inf, None
    aim, share = epsilon, 1.0
    for _ in range(_STEPS):
        solved = program.solve(aim, max(accuracy, min(_LOOSE, share)))
        reached = _root(program, solved.counts, solved.weights, aim)
        if reached < high or best is None:
            high, best = reached, solved
        if math.isinf(high):  # with this law the mass at infinite loss exceeds delta
            aim, share = 1.5 * aim, 1.0
            continue
        if solved.value > program.delta:
            excluded = solved.functional.root(program.delta, searched_counts(program.most))
            low = min(max(low, aim, excluded), high)
        share = abs(reached - aim) / max(reached, 1e-9)
        telling = abs(solved.value / program.delta - 1.0) < 0.5
        if high - low <= accuracy * high or (share <= accuracy and telling):
            break
        newton = solved.value > 0.5 * program.delta and low < reached < high * 1.01
        aim = reached if newton and reached != aim else 0.5 * (low + high)
    if best is None or math.isinf(high):
        raise InputError(
            f"no law of K was found that costs delta = {program.delta:g} at any epsilon; "
            "take a larger delta or fewer runs"
        )
    return best, high


def _chosen(
    program: Program, best: Solved, reached: float, digits: int, tie: float, given: float
) -> Solved:
    """The law that is printed, the same on every machine.

    It is the best law at a rounded epsilon, with ties broken, so that it depends neither on
    the path of the search nor on rounding errors.

    Args:
      program, best, reached: after ``_least``.
      digits: of the epsilon.
      tie: as for Program.solve.
      given: largest relative increase of epsilon.
    """
    if reached <= 0.0:
        return best
    try:
        for _ in range(_POLISHES):  # Newton's method, from a nearby start
            found = program.solve(reached, _EXACT)
            again = _root(program, found.counts, found.weights, reached)
            near = abs(again - reached) <= _CLOSE * reached
            if again < reached:
                best, reached = found, again
            if near or again > reached:
                break
        epsilon = to_digits(reached, digits, up=True)
        found = program.solve(epsilon, _EXACT, tie=tie)
    except InputError:
        return best
    again = _root(program, found.counts, found.weights, epsilon)
    return found if again <= reached * (1.0 + given) else best


def _importance(found: Side, epsilon: float, counts: np.ndarray, weights: np.ndarray):
    """losses -> their contribution to delta per unit of mass, under a law.

    It includes a small part of the contribution at a smaller epsilon: the best law over
    coarse cells exploits the gaps between them, and the next law contributes elsewhere.
    """
    best = BestPoints(powers(found.x, counts) @ weights, powers(found.other, counts) @ weights)

    def gain(loss: np.ndarray) -> np.ndarray:
        total = np.zeros(loss.size)
        for level, weight in ((epsilon, 1.0), (_NEAR * epsilon, _SOME)):
            total += weight * np.maximum(best.at(np.exp(level - loss))[1], 0.0)
        return total

    return gain


def _sides(
    pairs: Sequence[DominatingPair], effort: Effort, start: tuple[Side, ...], solved
) -> tuple[Side, ...]:
    """Finer cells, narrow where the law found contributes to delta."""
    # Rounded to few digits, so that the cells are the same on every machine.
    weights = np.array([float(f"{weight:.1e}") for weight in solved.weights])
    law = solved.epsilon, solved.counts, np.where(weights >= _SEEN, weights, 0.0)
    return tuple(
        side(pair, effort.fine, effort.points, _importance(each, *law))
        for pair, each in zip(pairs, start, strict=True)
    )


@validated
def optimal_law(
    base: BaseGuarantee,
    delta: ProperDelta,
    wishes: Wishes,
    *,
    prices: Sequence[Price] = (),
    effort: Effort | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Found:
    """The law of K whose envelope has the least epsilon at delta.

    Args:
      base: guarantee of one run.
      delta: of the search.
      wishes: requirements on the search, which some law must meet. If neither runs nor most
        is given, K is at most ``MOST``.
      prices: further expectations that are bounded.
      effort: the resolution.
      advance: called with 1 after each of ``FINDING_STEPS`` steps.

    Raises:
      InputError: if there is no wish about the winner, or no law meets the wishes; then with
        the nearest feasible ones.
    """
    effort = effort or Effort()
    if not wishes.asks_for_quality and wishes.none is None:
        raise InputError(
            "nothing is asked of the winner, and to run nothing costs nothing; give rank, "
            "or good with a chance"
        )
    if wishes.runs is None and wishes.most is None and not prices:
        wishes = wishes._replace(most=MOST)
    asked = rows(wishes, prices)
    refuse_infeasible(wishes, asked)
    pairs = base.pairs()
    _refuse_infinite(pairs, delta, least_runs(wishes, asked))
    counts = _counts(wishes.most, wishes)
    sides = tuple(side(pair, effort.coarse, effort.points) for pair in pairs)
    positive = counts[(counts > 0.0) & (counts <= _FARTHEST)]
    start = positive, (1.0 / positive) / np.sum(1.0 / positive)
    program = Program(sides, asked, delta, wishes.most, counts, start)
    first = _root(program, *start, 1.0)
    if math.isinf(first):
        first = max(0.0, *(float(each.loss[-1]) for each in sides)) + 1.0
    solved = _chosen(program, *_least(program, first, 1e-4), 3, 100.0 * _TIE, 0.1)
    advance(1)
    sides = _sides(pairs, effort, sides, solved)
    fine = Program(
        sides,
        asked,
        delta,
        wishes.most,
        np.union1d(counts, program.counts),
        (solved.counts, solved.weights),
    )
    solved, reached = _least(fine, solved.epsilon, 1e-5)
    advance(1)
    law = _cleaned(fine, _chosen(fine, solved, reached, 5, _TIE, _GIVEN), wishes)
    found, lower = _certified(fine, solved, reached)
    advance(1)
    # Those of the priced envelope of the same search, which an account needs next.
    envelopes = tuple(each.envelope for each in priced_directions(base, law))
    return Found(law, envelope_epsilon(envelopes, delta), lower, delta, wishes, found)


def _refuse_infinite(pairs: Sequence[DominatingPair], delta: float, runs: float) -> None:
    """Refuses a delta that the mass at infinite loss exceeds even with the fewest runs.

    Its contribution to the envelope's delta is E[K] times the mass, at every epsilon.
    """
    mass = max(float(np.sum(pair.first[pair.loss == np.inf])) for pair in pairs)
    if mass * runs >= delta:
        raise InputError(
            f"what is asked takes {runs:.4g} runs on average, which makes delta "
            f"{mass * runs:.3g} for outcomes of infinite loss alone; delta = {delta:g} "
            "must be larger"
        )


def _certified(program: Program, solved: Solved, reached: float) -> tuple[Functional, float]:
    """The best bound for every law, from multipliers slightly below the epsilon reached.

    There the least delta exceeds delta slightly, by more than the gap of the bound.
    """
    best = solved.functional, 0.0
    for short in _SHORT:
        again = program.solve(reached * (1.0 - short), 1e-6)
        lower = lower_epsilon(again.functional, program.delta, program.most)
        if lower > best[1]:
            best = again.functional, lower
        if lower >= again.epsilon:
            break
    return best


def _cleaned(program: Program, solved: Solved, wishes: Wishes) -> Repetitions:
    """The law without probabilities too small to matter, which still meets the wishes."""
    kept = solved.counts[solved.weights > _FAINT]
    try:
        again = program.restricted(kept).solve(solved.epsilon, _EXACT, columns=False, tie=_TIE)
    except InputError:  # the omitted probabilities were needed to meet a wish
        again = solved
    seen = again.weights > 0.0
    return table_law(
        *meeting(again.counts[seen], again.weights[seen], program.wishes, feasible_counts(wishes))
    )
