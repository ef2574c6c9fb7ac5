"""The priced envelope: a bound on tuning at large delta, for every ranking and every K.

A result of this project, novelty against later literature not established; the proof is
in docs/priced.md. The envelope allows a different worst ranking for each output; this bound
fixes one. A convex price lambda is charged for the likelihood ratio s = q'/q that a ranking
uses, and the potential W(u, u') bounds the remaining gain of a path of ranks:

  delta(epsilon) <= E_P[lambda(p'/p)] + W(0, 0) - W(1, 1) + what the inequality
  W_u + s W_u' + [a(u) - e^epsilon s a(u')]_+ <= lambda(s) is violated by, integrated over u,

with a(u) = f'(1 - u) and f the generating function of K. The least of this and of the
envelope is taken, so that it is never above the envelope.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.conversions import Profile
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.two_ended import TwoEnded
from jaxsel.tuning.bounds.envelope import (
    Envelope,
    envelope_epsilon,
    envelope_log_delta,
    log_envelope,
    pair_envelope,
)
from jaxsel.tuning.bounds.path_certificate import ROUNDING, Certificate, Pieces, certifier, cut
from jaxsel.tuning.bounds.path_mesh import first_columns, path_mesh, split_columns
from jaxsel.tuning.bounds.path_program import PathProgram, Proposal, proposal, ratio_knots
from jaxsel.tuning.parameters import TunedDelta, TunedEpsilon, check_finite_mean

_WORKERS = 2  # programs solved at a time; more would be limited by memory bandwidth
_MOST_EPSILON = 600.0  # e^epsilon is a coefficient of the program; float64 ends at e^709
_CLOSE = 1e-4  # relative distance of epsilons at which the search stops
_START = 0.5  # the first epsilon tried, between a ranking's and the envelope's
_ENOUGH = 0.03  # relative distance below delta of a proof that is not sought nearer by programs
_ATTACKS = 6  # epsilons at which a ranking's delta is asked for
_MORE = 3  # programs solved on the last mesh, once more after the first
_STUCK = 0.9  # a proof that falls by less, where the envelope falls to delta, will not reach it
_SLOPE = 1e-2  # relative distance by which the slope of the envelope is taken
_LEAST_SLOPE = 1e-2  # of log delta, by which a search takes steps
_TRIES = 7  # epsilons at which one price is certified, to find where it proves delta
# Each mesh has so many of the first one's columns more than the one before.
_ADDED = 0.5
_OF_CURVES = 1.5  # times the first columns: the mesh of all programs of a curve
_KNOTS = 1.2  # times the first knots: the price of the last program
# A column that is thought to lose less than this part of the program's value is not split.
_LITTLE = 1e-3
# No further mesh is tried where the proof exceeds the program's value by less than this part.
_LOST = 0.08
# No further one, either, where some ranking's delta is nearer than this part to what is proved.
_ABOVE_RANKING = 0.05
# A program whose value exceeds a known bound by this factor is not made finer.
_HOPELESS = 4.0
# Empirically no price is below (1 + _PRICED log10(1 / delta)^2) times a ranking's delta.
_PRICED = 0.01
_QUICK = 2048  # points of an envelope that tells where it is far above 1
_FAR_ABOVE = 0.05  # of its logarithm
_FEW_CELLS, _SMALL_DELTA = 100, 1e-3  # of a ranking that is asked first, and where
_KEPT = 4  # searches whose prices are cached, with their pairs and envelopes


class Resolution(NamedTuple):
    """The resolution of the programs; the bound is valid for any.

    Attributes:
      columns: of the first mesh.
      rows: of every mesh.
      knots: of the price.
      parts: of the edges of triangles, for the certificate.
      meshes: how many are tried, each finer where the proof on the one before lost most.
    """

    columns: int
    rows: int
    knots: int
    parts: int
    meshes: int


FINE = Resolution(columns=16, rows=6, knots=30, parts=16, meshes=3)
"""About half a second for each epsilon and direction."""


class Grid(NamedTuple):
    """Where a program is solved.

    Attributes:
      ends: Float["columns + 1"], of the columns of the mesh.
      knots: of the price.
    """

    ends: np.ndarray
    knots: int


class _Point(NamedTuple):
    epsilon: float
    delta: float


def _between(left: _Point, right: _Point, delta: float) -> float:
    """Where the logarithms of two deltas, one on either side, say that delta lies."""
    if not (0.0 < right.delta and left.delta < math.inf):
        return 0.5 * (left.epsilon + right.epsilon)
    part = math.log(left.delta / delta) / math.log(left.delta / right.delta)
    # Not at an end, which is known already.
    part = min(max(part, 0.05), 0.95)
    return left.epsilon + part * (right.epsilon - left.epsilon)


class _Solution:
    """The solution of a program, and what it proves.

    Args:
      epsilon: of the program.
      found: the solution.
      proved: epsilon -> what it proves there.
    """

    def __init__(
        self, epsilon: float, found: Proposal, proved: Callable[[float], Certificate]
    ) -> None:
        self.epsilon, self.value, self._slope = epsilon, found.delta, found.slope
        self.proposal = found
        self._proved = proved
        self.proof = self.proved(epsilon)

    def proved(self, epsilon: float) -> Certificate:
        """What the solution proves at an epsilon, which need not be its own."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._proved(epsilon)

    def forget(self) -> None:
        """Leaves what it proves at its own epsilon, hence at larger ones, and frees the rest."""
        proof, nothing = self.proof, self.proof._replace(delta=math.inf)
        self._proved = lambda epsilon: proof if epsilon >= self.epsilon else nothing

    @property
    def known(self) -> _Point:
        """What it proves at its own epsilon."""
        return _Point(self.epsilon, self.proof.delta)

    def where(self, known: _Point, delta: float) -> float:
        """About where programs have the value delta, from one value and the slope of this one's."""
        if not (0.0 < known.delta < math.inf and self.value > 0.0):
            return known.epsilon
        slope = min(self._slope / self.value, -_LEAST_SLOPE)
        return known.epsilon + math.log(delta / known.delta) / slope

    def reached(self, known: _Point, delta: float) -> float:
        """About where the solution proves delta, which proves ``known``."""
        if known.delta == math.inf:
            return math.inf
        at = self.where(known, delta)
        # It proves less and less below its own epsilon: half a step.
        return at if at >= known.epsilon else 0.5 * (at + known.epsilon)

    def crossing(self, delta: float, low: float, high: float) -> float:
        """The least epsilon seen in [low, high] at which the solution proves delta, or high."""
        left, right, point = None, None, self.known
        for _ in range(_TRIES):
            if point.delta <= delta:
                right = point
            elif point.epsilon >= high or (left and point.delta > _STUCK * left.delta):
                break  # it proves no less, however large epsilon is
            else:
                left = point
            guess = _between(left, right, delta) if left and right else self.reached(point, delta)
            guess = min(max(guess, low), high)
            if right and right.epsilon - guess <= _CLOSE * right.epsilon:
                break
            point = _Point(guess, self.proved(guess).delta)
        return min(high, right.epsilon) if right else high


class Refined(NamedTuple):
    """A bound on delta, and the grid of the last program that was solved for it."""

    delta: float
    grid: Grid


class PricedDirection:
    """The bound in one direction, with a cache of computed values.

    Args:
      pair: a pair that dominates the base's laws in that direction.
      repetitions: law of K, with a finite mean.
      resolution: of the programs.
    """

    def __init__(
        self, pair: DominatingPair, repetitions: Repetitions, resolution: Resolution
    ) -> None:
        self._pair, self._law, self._resolution = pair, repetitions, resolution
        self._attacked: dict[float, float] = {}
        self._found: dict[tuple[float, bytes, int], Refined] = {}
        self._last: Pieces | None = None
        self._at_zero: _Solution | None = None  # of a curve; attackers ask for it, too

    @functools.cached_property
    def envelope(self) -> Envelope:
        """The envelope of the pair and the law of K."""
        return pair_envelope(self._pair, self._law)

    @functools.cached_property
    def _quick_envelope(self) -> Envelope:
        return pair_envelope(self._pair, self._law, count=_QUICK)

    @functools.cached_property
    def _attack(self) -> TwoEnded:
        return TwoEnded(self._pair.first, self._pair.second, self._law)

    @functools.cached_property
    def _rough_attack(self) -> TwoEnded:
        return TwoEnded(self._pair.first, self._pair.second, self._law, _FEW_CELLS)

    def _grid(self, more: float = 1.0) -> Grid:
        """The first grid of the resolution, with ``more`` times its columns."""
        size = self._resolution
        return Grid(first_columns(self._law, round(more * size.columns)), size.knots)

    def enveloped(self, epsilon: float) -> float:
        """The envelope's bound on delta(epsilon), at most 1."""
        if log_envelope((self._quick_envelope,), epsilon) > _FAR_ABOVE:
            return 1.0  # so is the envelope of more points
        return float(np.exp(envelope_log_delta((self.envelope,), epsilon)))

    def attacked(self, epsilon: float) -> float:
        """The exact delta of the worst two-ended ranking, below every bound."""
        if epsilon not in self._attacked:
            self._attacked[epsilon] = self._attack.delta(epsilon)
        return self._attacked[epsilon]

    def can_help(self, epsilon: float) -> bool:
        """Whether a price may be below the envelope, since no ranking comes close to that.

        The exact delta of any ranking of the pair's outcomes is below every price.
        """
        enveloped = self.enveloped(epsilon)
        if not enveloped > ROUNDING * self._law.mean:
            return False  # rounding errors have this size
        least = 1.0 + _PRICED * math.log10(enveloped) ** 2
        # A ranking of few cells is found in a third of the time, and at small delta is near enough.
        if enveloped < _SMALL_DELTA and self._rough_attack.delta(epsilon) * least >= enveloped:
            return False
        return any(delta * least < enveloped for delta in self._not_below_rankings(epsilon))

    def _not_below_rankings(self, epsilon: float) -> Iterator[float]:
        """Deltas that no ranking found exceeds at epsilon: those of smaller ones, then its own."""
        yield from [delta for at, delta in self._attacked.items() if at < epsilon]
        yield self.attacked(epsilon)

    def _pieces(self, ends: np.ndarray) -> Pieces:
        """The mesh of these columns, cut for the certificate."""
        # A search solves its last programs on one mesh.
        if self._last is None or not np.array_equal(self._last.mesh.edges, ends):
            mesh = path_mesh(self._pair, ends, rows=self._resolution.rows)
            self._last = cut(self._law, mesh, self._resolution.parts)
        return self._last

    @functools.cached_property
    def _programs_of_curve(self) -> tuple[PathProgram, Pieces]:
        pieces = self._pieces(self._grid(_OF_CURVES).ends)
        knots = ratio_knots(self._pair, self._resolution.knots)
        return PathProgram(self._pair, self._law, pieces.mesh, knots), pieces

    def of_curve(self, epsilon: float, near: Sequence[Proposal] = ()) -> _Solution | None:
        """The solution of one program, on a mesh that is the same at every epsilon.

        Args:
          epsilon: >= 0.
          near: solutions at other epsilons, the first of which is smaller.
        """
        if epsilon > _MOST_EPSILON:
            return None  # the envelope remains
        if epsilon == 0.0 and self._at_zero is not None:
            return self._at_zero
        programs, pieces = self._programs_of_curve
        gap = _GAP_OF_CURVES if near else None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = self._solution(epsilon, pieces, programs.proposal(epsilon, near, gap=gap))
        if found is not None:
            found.forget()
        if epsilon == 0.0:
            self._at_zero = found
        return found

    def _solution(self, epsilon: float, pieces: Pieces, found: Proposal) -> _Solution | None:
        """The solution of a program and what it proves; None if it is not of numbers."""
        if not (np.all(np.isfinite(found.price.values)) and np.all(np.isfinite(found.values))):
            return None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            proved = certifier(self._pair, pieces, found.price, found.values)
        return _Solution(epsilon, found, proved)

    def _solved(self, epsilon: float, grid: Grid) -> _Solution | None:
        """The solution of the program on a grid; None if none is found."""
        if epsilon > _MOST_EPSILON:
            return None  # the envelope remains
        knots = ratio_knots(self._pair, grid.knots)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            pieces = self._pieces(grid.ends)
            found = proposal(self._pair, self._law, pieces.mesh, knots, epsilon)
        return self._solution(epsilon, pieces, found)

    def _finer(self, grid: Grid, found: _Solution) -> Grid | None:
        """The grid of the next program; None if none is needed, or this one was the last."""
        proof = found.proof
        if proof.delta <= (1.0 + _ABOVE_RANKING) * self.attacked(found.epsilon):
            return None  # some ranking is near, so that no proof is much better
        size, columns = self._resolution, grid.ends.size - 1
        added = round(_ADDED * size.columns)
        lost = np.where(np.isfinite(proof.lost), proof.lost, np.finfo(float).max)
        if float(np.sum(np.maximum(lost, 0.0))) > _LOST * abs(found.value):
            added = min(added, size.columns + added * size.meshes - columns)
            ends = split_columns(grid.ends, lost, _LITTLE * abs(found.value), added)
            return Grid(ends, grid.knots) if ends.size > grid.ends.size else None
        if grid.knots > size.knots:
            return None
        # Little is lost, so that only a better program helps, once: more knots, and where no column
        # was split before, each in two.
        if columns <= size.columns:
            lost, added = np.ones(columns), columns
        return Grid(split_columns(grid.ends, lost, 0.0, added), round(_KNOTS * size.knots))

    def delta(self, epsilon: float) -> float:
        """The least of the price's bound, of the envelope and of 1, at epsilon >= 0."""
        return self.refined(epsilon).delta

    def refined(self, epsilon: float, grid: Grid | None = None) -> Refined:
        """As ``delta``, with the grid of the last program.

        Args:
          epsilon: >= 0.
          grid: of the first program; of `resolution` if not given.
        """
        grid = grid or self._grid()
        key = epsilon, grid.ends.tobytes(), grid.knots
        if key not in self._found:
            self._found[key] = self._refined(epsilon, grid)
        return self._found[key]

    def _refined(self, epsilon: float, grid: Grid) -> Refined:
        least = min(1.0, self.enveloped(epsilon))
        if self.can_help(epsilon):
            found = None
            if epsilon == 0.0:
                # What a curve starts with, so that neither proves less than the other.
                grid = self._grid(_OF_CURVES)
                found = self.of_curve(epsilon)
            while True:
                found = found or self._solved(epsilon, grid)
                if found is None or found.value > _HOPELESS * least:
                    break
                least = min(least, found.proof.delta)
                finer = self._finer(grid, found)
                if finer is None:
                    break
                grid, found = finer, None
        return Refined(max(0.0, least), grid)

    def least_epsilon(
        self, delta: float, floor: float = 0.0, grid: Grid | None = None
    ) -> tuple[float, Grid]:
        """The least epsilon found at which delta is proved, at most the envelope's.

        Args:
          delta: > 0.
          floor: smaller epsilons are of no use.
          grid: as in ``refined``.

        Returns:
          That epsilon, and the grid of the last program.
        """
        grid = grid or self._grid()
        best = envelope_epsilon((self.envelope,), delta)
        if not floor < best < math.inf or not self.can_help(best):
            return best, grid
        low = self._attacked_epsilon(delta, best)
        # Where a ranking has more than delta at 0, no program needs to be asked.
        if floor == 0.0 and self.attacked(0.0) <= delta and self.delta(0.0) <= delta:
            return 0.0, grid
        at = floor if floor > low else low + _START * (best - low)
        low = max(floor, low)
        solutions: list[_Solution] = []
        for _ in range(self._resolution.meshes + _MORE):
            found = self._solved(at, grid)
            if found is None or found.value > _HOPELESS * self.enveloped(at):
                break
            if found.proof.delta <= delta:
                best = min(best, at)
            if best <= low * (1.0 + _CLOSE):
                break
            solutions.append(found)
            finer = self._finer(grid, found)
            if finer is None:
                # The same mesh at another epsilon proves delta if the certificate says so, and
                # a little more than delta is lost.
                if delta * (1.0 - _ENOUGH) <= found.proof.delta <= delta:
                    break
                guess = found.where(found.known, delta * (1.0 - 0.5 * _ENOUGH))
            else:
                # A finer mesh proves about what the program says.
                expected = min(found.proof.delta, (1.0 + 0.5 * _LOST) * found.value)
                grid, guess = finer, found.where(_Point(at, expected), delta)
            guess = min(max(guess, low), best)
            if finer is None and abs(guess - at) <= _CLOSE * at:
                break
            at = guess
        for found in sorted(solutions, key=lambda each: each.reached(each.known, delta)):
            if found.reached(found.known, delta) < best:
                best = found.crossing(delta, low, best)
        return best, grid

    def _slope(self, epsilon: float) -> float:
        """The slope of the envelope's log delta, below 0."""
        near = max(_SLOPE * epsilon, _SLOPE)
        here, there = (log_envelope((self.envelope,), e) for e in (epsilon, epsilon + near))
        return min((there - here) / near, -_LEAST_SLOPE)

    def _attacked_epsilon(self, delta: float, highest: float) -> float:
        """An epsilon below ``highest`` at which some ranking has more than delta, or 0."""
        low, high = _Point(0.0, self.attacked(0.0)), _Point(highest, self.attacked(highest))
        if low.delta <= delta:
            return 0.0
        # The curve of the ranking resembles that of the envelope, whose slope it starts with.
        guess = highest + math.log(delta / high.delta) / self._slope(highest) if high.delta else 0.0
        for _ in range(_ATTACKS):
            if not low.epsilon < guess < high.epsilon:
                guess = 0.5 * (low.epsilon + high.epsilon)
            point = _Point(guess, self.attacked(guess))
            if point.delta > delta:
                low = point
                if point.delta < (1.0 + _PRICED) * delta:
                    break
            else:
                high = point
            guess = _between(low, high, delta)
        return low.epsilon


class _Search:
    """A cache key: a base and a law of K, compared by identity.

    They contain functions, which cannot be compared, and a law has no hash.
    """

    def __init__(self, base: BaseGuarantee, law: Repetitions) -> None:
        self.base, self.law = base, law

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Search) and self.base is other.base and self.law is other.law

    def __hash__(self) -> int:
        return hash((id(self.base), id(self.law)))


def priced_directions(
    base: BaseGuarantee, repetitions: Repetitions, resolution: Resolution | None = None
) -> tuple[PricedDirection, ...]:
    """The priced envelopes of both directions (one, if the base's pair is symmetric).

    The results for the last few searches are cached, since an account and its report need
    the same ones, which take seconds.

    Args:
      base: guarantee of one run.
      repetitions: law of K, which stays secret.
      resolution: of the programs; FINE if not given.

    Raises:
      InputError: if E[K] is 0 or infinite.
    """
    return _directions(_Search(base, repetitions), resolution or FINE)


@functools.lru_cache(maxsize=_KEPT)
def _directions(search: _Search, resolution: Resolution) -> tuple[PricedDirection, ...]:
    check_finite_mean(search.law)
    return tuple(PricedDirection(pair, search.law, resolution) for pair in search.base.pairs())


@validated
@one_blas_thread()
def priced_delta(directions: tuple[PricedDirection, ...], epsilon: TunedEpsilon) -> float:
    """A proven bound on delta(epsilon) in both directions, never above the envelope.

    Args:
      directions: from priced_directions.
      epsilon: of the search.
    """
    # A price only lowers the envelope, so that it is computed only for the direction whose bound is
    # the largest so far.
    found = [each.enveloped(epsilon) for each in directions]
    if epsilon == 0.0:
        # The total variation, which is the same in both directions.
        return max(0.0, min(1.0, *found, directions[0].delta(0.0)))
    priced: set[int] = set()
    grid = None
    while (worst := int(np.argmax(found))) not in priced:
        priced.add(worst)
        # Where one direction's proof lost most, the other's loses most, too.
        found[worst], grid = directions[worst].refined(epsilon, grid)
    return max(0.0, min(1.0, found[worst]))


@validated
@one_blas_thread()
def priced_epsilon(directions: tuple[PricedDirection, ...], delta: TunedDelta) -> float:
    """The least epsilon found at which delta is proved in both directions.

    Args:
      directions: from priced_directions.
      delta: of the search.

    Returns:
      That epsilon, at most the envelope's. If some ranking is close to the envelope, it is the
      envelope's, and no program is solved.
    """
    enveloped = [envelope_epsilon((each.envelope,), delta) for each in directions]
    if delta == 0.0:
        return max(enveloped)
    found, grid = 0.0, None
    # What the direction of the larger envelope needs, the other has to prove, too, and no less.
    for place in np.argsort(enveloped)[::-1].tolist():
        needed, grid = directions[place].least_epsilon(delta, found, grid)
        found = max(found, needed)
    return min(found, envelope_epsilon(tuple(each.envelope for each in directions), delta))


_POINTS = 12  # points of a curve, besides epsilon = 0
_LAST_DELTA = 1e-3  # the envelope's delta at the last of them
# Certificates prove the same at a gap twice as large, once a program starts near its solution.
_GAP_OF_CURVES = 1.5e-2


class _Curve:
    """Bounds of one direction at some epsilons, from programs on one mesh.

    Args:
      direction: whose bounds they are.
      epsilons: Float["points"], >= 0, increasing.
      first: number of the first of them at which a program may be solved.
    """

    def __init__(self, direction: PricedDirection, epsilons: np.ndarray, first: int) -> None:
        self._direction, self._epsilons = direction, epsilons
        levels = epsilons.tolist()
        self.deltas = np.array([min(1.0, direction.enveloped(e)) for e in levels])
        self._found: dict[int, Proposal] = {}
        places = range(first, len(levels))
        self.rounds = _rounds([place for place in places if direction.can_help(levels[place])])

    def solve(self, place: int) -> None:
        """Solves the program at one of the epsilons, from those on either side that are solved."""
        below = [each for each in self._found if each < place]
        above = [each for each in self._found if each > place]
        # What solves one solves those of larger epsilons, and mixtures what lies between.
        near = [max(below), *([min(above)] if above else [])] if below else []
        epsilon = float(self._epsilons[place])
        found = self._direction.of_curve(epsilon, [self._found[each] for each in near])
        if found is not None:
            self._found[place] = found.proposal
            self.deltas[place] = max(0.0, min(self.deltas[place], found.proof.delta))

    def profile(self) -> Profile:
        """epsilon >= 0 -> the least of the envelope and of the chords; not increasing."""
        return _profile(self._direction, self._epsilons, self.deltas)


def _rounds(places: list[int]) -> list[list[int]]:
    """Places in rounds, such that each has some of earlier rounds on either side.

    The first one is alone, then the last one; then those half-way between neighbours.
    """
    if not places:
        return []
    found = [[places[0]]]
    gaps = [(0, len(places) - 1)]
    if len(places) > 1:
        found.append([places[-1]])
    while gaps := [(low, high) for low, high in gaps if high - low > 1]:
        middles = [(low + high) // 2 for low, high in gaps]
        found.append([places[middle] for middle in middles])
        gaps = [
            half
            for (low, high), middle in zip(gaps, middles, strict=True)
            for half in ((low, middle), (middle, high))
        ]
    return found


@one_blas_thread()
def priced_profiles(
    directions: tuple[PricedDirection, ...], count: int = _POINTS
) -> tuple[Profile, ...]:
    """Bounds on delta(epsilon), one per direction, from prices at ``count`` epsilons.

    Args:
      directions: from priced_directions.
      count: number of epsilons at which prices are computed, evenly from 0 to where the
        envelope is 1e-3.

    Returns:
      epsilon >= 0 -> the least of the envelope and of the chords, in e^epsilon, between the
      bounds at those epsilons; not increasing.
    """
    curves = []
    for each in directions:
        last = envelope_epsilon((each.envelope,), _LAST_DELTA)
        points = count + 1 if 0.0 < last < math.inf else 0
        epsilons = np.linspace(0.0, last, points) if points else np.zeros(0)
        curves.append(_Curve(each, epsilons, first=1 if curves else 0))
    with ThreadPoolExecutor(_WORKERS) as pool:
        for rounds in itertools.zip_longest(*(each.rounds for each in curves), fillvalue=[]):
            tasks = [
                functools.partial(each.solve, place)
                for each, places in zip(curves, rounds, strict=True)
                for place in places
            ]
            list(pool.map(lambda task: task(), tasks))
    # The total variation, which is the same in both directions.
    total = min((float(each.deltas[0]) for each in curves if each.deltas.size), default=1.0)
    for each in curves:
        each.deltas[:1] = np.minimum(each.deltas[:1], total)
    return tuple(each.profile() for each in curves)


def _profile(direction: PricedDirection, epsilons: np.ndarray, deltas: np.ndarray) -> Profile:
    """The chords between bounds at some epsilons, and the envelope."""
    # A bound at an epsilon holds at every larger one.
    deltas = np.minimum.accumulate(deltas)

    def profile(epsilon: npt.ArrayLike) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        found = np.exp(envelope_log_delta((direction.envelope,), epsilon))
        if epsilons.size:
            chord = np.interp(np.exp(np.minimum(epsilon, epsilons[-1])), np.exp(epsilons), deltas)
            found = np.minimum(found, chord)
        return np.clip(found, 0.0, 1.0)[()]

    return profile
