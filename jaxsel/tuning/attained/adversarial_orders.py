"""The worst ranking of a pair's outputs: exact lower bounds on the cost of tuning.

A bound that does not mention the score holds for every ranking of the outputs, so the exact
epsilon under any one ranking is a lower bound on it. The rankings searched are mergers of
the line from above with the line from below, which rank outputs that the second law favours
before those that the first law favours.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.score_orders import NATURAL, REVERSED, BlockOrder, MergedOrder
from jaxsel.accounting.single_run.score_pairs import (
    LineLaw,
    ScorePair,
    mirrored_pair,
    reversed_pair,
)
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_profile import AttainedDelta, tuned_profile
from jaxsel.tuning.attained.merging import Merger, best_block, best_merger, merging_grid
from jaxsel.tuning.parameters import TunedEpsilon

_CELLS = 300
_STAGES = 3
_ROUNDS = 8
_GAIN = 1e-7  # relative gain below which the search stops


class Adversary(NamedTuple):
    """A ranking and its exact privacy loss.

    Attributes:
      epsilon, delta: one was given, the other is exact under the ranking.
      order: the ranking.
      direction: "forward" for H(A || A'), "reverse" for H(A' || A).
    """

    epsilon: float
    delta: float
    order: BlockOrder | MergedOrder
    direction: str


class _Goal(NamedTuple):
    """The objective of a search: the exact epsilon or delta of a profile.

    Attributes:
      value: (pair, order) -> the exact value.
      level: value -> the epsilon at which better rankings are searched.
      stake: (stage, value) -> the order of magnitude of delta there.
    """

    value: Callable[[ScorePair, BlockOrder | MergedOrder], float]
    level: Callable[[float], float]
    stake: Callable[[int, float], float]


def _quantile(law: LineLaw, mass: float, reach: tuple[float, float], upper: bool) -> float:
    """The point beyond which the law has the given mass."""
    low, high = reach
    # Bisection to the last bit of float64: tails are monotone, whatever else they are.
    for _ in range(60):
        middle = (low + high) / 2.0
        tail = (law.log_upper if upper else law.log_lower)(np.asarray(middle))
        if (float(tail) > math.log(mass)) == upper:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _range(pair: ScorePair, mass: float) -> tuple[float, float]:
    """Interval outside of which both laws have at most this mass at either end."""
    laws = (pair.first, pair.second)
    return (
        min(_quantile(law, mass, pair.reach, upper=False) for law in laws),
        max(_quantile(law, mass, pair.reach, upper=True) for law in laws),
    )


def _masses(law: LineLaw, edges: np.ndarray) -> np.ndarray:
    """Masses of cells between falling edges, each computed from the smaller tail."""
    above, below = np.exp(law.log_upper(edges)), np.exp(law.log_lower(edges))
    # A difference of two numbers near 1 would have no digits of a cell of mass 1e-20.
    return np.where(above[1:] < 0.5, np.diff(above), -np.diff(below))


def _between(inner: np.ndarray) -> np.ndarray:
    """Falling edges of cells that cover the line."""
    return np.concatenate([[math.inf], inner, [-math.inf]])


def _first_edges(
    pair: ScorePair, repetitions: Repetitions, span: tuple[float, float], least: float
) -> np.ndarray:
    """Falling edges: two thirds evenly over the span, the others by the slope of f.

    If all outputs above (or below) are better, the slope decreases along the line by many
    factors of e; a sixth of the edges each divides that decrease of its logarithm evenly.
    """
    z = np.linspace(*span, 32 * _CELLS)
    sixth = _CELLS // 6
    inner = [np.linspace(*span, _CELLS - 2 * sixth)]
    # The slope is E[K] at most; where it is lower by more than this factor, what a cell adds is
    # below `least`.
    depth = math.log(repetitions.mean) - math.log(least)
    for upper in (True, False):
        fall = np.zeros(len(z))
        for law in (pair.first, pair.second):
            tail = np.exp((law.log_upper if upper else law.log_lower)(z))
            slope = repetitions.log_pgf_derivative_tail(np.minimum(tail, 1.0))
            # Cut there, or edges would go to where nothing is at stake.
            slope = np.maximum(slope, np.max(slope) - depth)
            fall[1:] += np.cumsum(np.abs(np.diff(slope)))
        if fall[-1] > 0.0:
            inner.append(np.interp(np.linspace(0.0, fall[-1], sixth), fall, z))
    return _between(np.unique(np.concatenate(inner))[::-1])


def _dense_edges(edges: np.ndarray, path: Merger, span: tuple[float, float]) -> np.ndarray:
    """Falling edges: a third over the span, the others where the path turns."""
    share = np.cumsum(path.gains) / max(float(np.sum(path.gains)), 1e-300)
    final = len(share) - 1
    # From where the path begins to gain to where it has nearly all: there its turns matter.
    first, last = (min(int(np.searchsorted(share, part)), final) for part in (1e-4, 1.0 - 1e-6))
    front = path.front[[first, last]] + np.array([-1, 1])
    begun = int(path.back[first - 1]) if first else 0
    back = len(edges) - 1 - np.array([begun - 1, path.back[last] + 1])
    end, third = len(edges) - 2, _CELLS // 3
    inner = [np.linspace(*span, _CELLS - 2 * third)]
    for ends in (front, back):
        start, stop = edges[np.clip(ends, 1, end)].tolist()
        inner.append(np.linspace(start, stop, third))
    return _between(np.unique(np.concatenate(inner))[::-1])


def _climb(
    pair: ScorePair,
    repetitions: Repetitions,
    goal: _Goal,
    blocks: bool,
    start: tuple[float, BlockOrder | MergedOrder | None],
) -> tuple[float, BlockOrder | MergedOrder | None]:
    """Improves a ranking in one direction of a pair, from a start.

    At the current epsilon, the best path over cells is a ranking that is at least as good,
    up to the width of cells; its exact value gives the next epsilon. Then the cells are
    refined where the path turns.
    """
    value, best = start
    ends = pair.loss(np.array(pair.reach))
    # A merger begins from above: the line is laid so that the second law favours large z.
    mirrored = bool(ends[0] < ends[1])  # otherwise the second law favours large z
    laid = mirrored_pair(pair) if mirrored else pair
    # The merger begins from the value of the best block, which is one of its kind.
    finders = (best_block,) if blocks else (best_block, best_merger)
    for finder in finders:
        edges, path = np.zeros(0), None
        for stage in range(_STAGES):
            stake = min(max(goal.stake(stage, value), 1e-200), 1e-3)
            # Best of K has at most E[K] times the mass of one run: what is left out at the ends
            # costs 1e-4 of delta at most.
            least = 1e-4 * stake / (1.0 + min(repetitions.mean, 1e12))
            span = _range(laid, least)
            if path is None or not len(path.gains):
                edges = _first_edges(laid, repetitions, span, least)
            else:
                edges = _dense_edges(edges, path, span)
            sides = [_masses(law, edges) for law in (laid.first, laid.second)]
            grid = merging_grid(sides[0], sides[1], repetitions)
            for _ in range(_ROUNDS):
                path = finder(grid, goal.level(value))
                good, bad = edges[path.front], edges[len(edges) - 1 - path.back]
                order = MergedOrder(tuple(good.tolist()), tuple(bad.tolist()), mirrored)
                reached = goal.value(pair, order)
                gain = reached - value
                if gain > 0.0:
                    value, best = reached, order
                # Cells are too wide for more: the next stage refines them.
                if not gain > _GAIN * value:
                    break
    return value, best


def _worst(
    pair: ScorePair, repetitions: Repetitions, goal: _Goal, blocks: bool
) -> tuple[float, BlockOrder | MergedOrder, str]:
    """The largest value over rankings and directions."""
    sides = {"forward": pair, "reverse": reversed_pair(pair)}
    value, order, direction = max(
        (
            (goal.value(side, order), order, name)
            for name, side in sides.items()
            # The two rankings by the line itself, on which a search can only improve.
            for order in (NATURAL, REVERSED)
        ),
        key=lambda found: found[0],
    )
    for name, side in sides.items():
        # starts from the value of the other direction, which this one must exceed
        reached, better = _climb(side, repetitions, goal, blocks, (value, None))
        if better is not None:
            value, order, direction = reached, better, name
    return value, order, direction


@validated
def adversarial_epsilon(
    pair: ScorePair, repetitions: Repetitions, delta: AttainedDelta, *, blocks: bool = False
) -> Adversary:
    """Searches for the ranking of the outputs with the largest exact epsilon at delta.

    Its epsilon is an exact lower bound on every bound that holds for all rankings of these
    outputs. The search comes within about 1e-4 of the best merger's epsilon.

    Args:
      pair: the laws of one run's output.
      repetitions: law of K.
      delta: where epsilon is taken.
      blocks: search only rankings with one block from above, one from below, and the
        rest.
    """
    goal = _Goal(
        value=lambda side, order: tuned_profile(side, repetitions, order).epsilon(delta),
        level=lambda value: value,
        stake=lambda stage, value: delta,
    )
    epsilon, order, direction = _worst(pair, repetitions, goal, blocks)
    return Adversary(epsilon, delta, order, direction)


@validated
def adversarial_delta(
    pair: ScorePair, repetitions: Repetitions, epsilon: TunedEpsilon, *, blocks: bool = False
) -> Adversary:
    """Searches for the ranking of the outputs with the largest exact delta at epsilon.

    Args:
      pair: the laws of one run's output.
      repetitions: law of K.
      epsilon: where delta is taken.
      blocks: as in :func:`adversarial_epsilon`.
    """
    goal = _Goal(
        value=lambda side, order: float(tuned_profile(side, repetitions, order).delta(epsilon)),
        level=lambda value: epsilon,
        # the largest delta may be far above that of the first rankings
        stake=lambda stage, value: value if stage else max(value, 1e-9),
    )
    delta, order, direction = _worst(pair, repetitions, goal, blocks)
    return Adversary(epsilon, delta, order, direction)
