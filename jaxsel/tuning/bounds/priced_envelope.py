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
import math
from collections.abc import Callable
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
    base_envelopes,
    envelope_epsilon,
    envelope_log_delta,
    log_envelope,
)
from jaxsel.tuning.bounds.path_certificate import ROUNDING, certified
from jaxsel.tuning.bounds.path_mesh import PathMesh, path_mesh
from jaxsel.tuning.bounds.path_program import proposal, proposed_delta, ratio_knots
from jaxsel.tuning.parameters import TunedDelta, TunedEpsilon

_WORKERS = 2  # programs solved at a time; more would be limited by memory bandwidth
_TRIES, _FINER_TRIES = 8, 6  # epsilons tried for one delta
_MOST_EPSILON = 600.0  # e^epsilon is a coefficient of the program; float64 ends at e^709
_CHORDS = 2  # epsilons tried at the end
_PROBE = 2.0  # times delta: the largest envelope for which a second proof is tried
_NEAR = 5e-4  # relative tolerance of delta at which an epsilon is accepted
_CLOSE = 1e-4  # relative distance of epsilons at which the search stops
_HALVINGS = 40  # bisection steps on the curve of the envelope
# A finer mesh is used if the proven bound exceeds the program's value by this factor.
_EXCESS = 1.1
# Empirically no price is below (1 + _PRICED log10(1 / delta)^2) times a ranking's delta.
_PRICED = 0.01
_KEPT = 4  # searches whose prices are cached, with their pairs and envelopes


class Resolution(NamedTuple):
    """The resolution of the program; the bound is valid for any.

    Attributes:
      columns, rows: of the mesh.
      knots: of the price.
      parts: of the edges of triangles, for the certificate.
    """

    columns: int
    rows: int
    knots: int
    parts: int


FINE = Resolution(columns=24, rows=6, knots=30, parts=16)
"""About a fifth of a second for each epsilon and direction."""


def _finer(size: Resolution) -> Resolution:
    """A finer resolution, for proofs far above the program's value: two seconds, from FINE.

    It has the same rows: half as many again change little and take twice as long.
    """
    return Resolution(3 * size.columns // 2, size.rows, 3 * size.knots // 2, 2 * size.parts)


class _Solved(NamedTuple):
    """The value of a program at its own points, and the bound that is proved from it."""

    proposed: float
    certified: float


class PricedDirection:
    """The bound in one direction, with a cache of computed values.

    Args:
      pair: a pair that dominates the base's laws in that direction.
      repetitions: law of K, with a finite mean.
      envelope: the envelope of these two.
      resolution: of the program.
    """

    def __init__(
        self,
        pair: DominatingPair,
        repetitions: Repetitions,
        envelope: Envelope,
        resolution: Resolution,
    ) -> None:
        self.envelope = envelope
        self._pair, self._law, self._resolution = pair, repetitions, resolution
        self._meshes: dict[Resolution, tuple[PathMesh, np.ndarray]] = {}
        self._attacked: dict[float, float] = {}
        self._found: dict[tuple[float, Resolution], _Solved] = {}

    @functools.cached_property
    def _attack(self) -> TwoEnded:
        return TwoEnded(self._pair.first, self._pair.second, self._law)

    def enveloped(self, epsilon: float) -> float:
        """The envelope's bound on delta(epsilon), at most 1."""
        return _enveloped((self.envelope,), epsilon)

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
        return self.attacked(epsilon) * least < enveloped

    def priced(self, epsilon: float) -> float:
        """The price's own bound on delta(epsilon), epsilon >= 0; it may exceed 1."""
        return self._solved(epsilon, self._resolution).certified

    def _solved(self, epsilon: float, size: Resolution) -> _Solved:
        if (epsilon, size) not in self._found:
            self._found[epsilon, size] = self._solve(epsilon, size)
        return self._found[epsilon, size]

    def _solve(self, epsilon: float, size: Resolution) -> _Solved:
        if epsilon > _MOST_EPSILON:
            return _Solved(math.inf, math.inf)  # the envelope remains
        if size not in self._meshes:
            mesh = path_mesh(self._pair, self._law, columns=size.columns, rows=size.rows)
            self._meshes[size] = mesh, ratio_knots(self._pair, size.knots)
        mesh, knots = self._meshes[size]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            price, values = proposal(self._pair, self._law, mesh, knots, epsilon)
            if not (np.all(np.isfinite(price.values)) and np.all(np.isfinite(values))):
                return _Solved(math.inf, math.inf)  # # not solved: the envelope remains
            proposed = proposed_delta(self._pair, mesh, price, values)
            found = certified(self._pair, self._law, mesh, epsilon, price, values, parts=size.parts)
        return _Solved(proposed, found if math.isfinite(found) else math.inf)

    def delta(self, epsilon: float) -> float:
        """The least of the price's bound, of the envelope and of 1."""
        least = min(1.0, self.enveloped(epsilon))
        if self.can_help(epsilon):
            least = min(least, self.priced(epsilon))
        return max(0.0, least)

    def wants_finer(self, epsilon: float) -> bool:
        """Whether the proof loses much of the program's value, so that a finer mesh may help."""
        if not self.can_help(epsilon):
            return False
        found, known = self._solved(epsilon, self._resolution), self.delta(epsilon)
        return found.certified > _EXCESS * found.proposed and found.proposed < known

    def finer(self, epsilon: float) -> float:
        """As ``delta``, on the finer mesh only."""
        least = min(1.0, self.enveloped(epsilon))
        if self.can_help(epsilon):
            found = self._solved(epsilon, _finer(self._resolution))
            least = min(least, found.certified)
        return max(0.0, least)

    def refined(self, epsilon: float) -> float:
        """``delta``, also on a finer mesh where that may help."""
        found = self.delta(epsilon)
        if self.wants_finer(epsilon):
            found = min(found, self.finer(epsilon))
        return found


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
    the same ones, which take ten seconds.

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
    base, law = search.base, search.law
    envelopes = base_envelopes(base, law)
    return tuple(
        PricedDirection(pair, law, envelope, resolution)
        for pair, envelope in zip(base.pairs(), envelopes, strict=True)
    )


@validated
@one_blas_thread()
def priced_delta(directions: tuple[PricedDirection, ...], epsilon: TunedEpsilon) -> float:
    """A proven bound on delta(epsilon) in both directions, never above the envelope.

    Args:
      directions: from priced_directions.
      epsilon: of the search.
    """
    # A price only lowers the envelope, and a finer mesh the price, so they are computed
    # only for the direction whose bound is the largest so far.
    found = [each.enveloped(epsilon) for each in directions]
    steps = [iter((each.delta, each.refined)) for each in directions]
    while True:
        worst = int(np.argmax(found))
        step = next(steps[worst], None)
        if step is None:
            return max(0.0, min(1.0, found[worst]))
        found[worst] = min(found[worst], step(epsilon))


def _coarse_delta(directions: tuple[PricedDirection, ...], epsilon: float) -> float:
    """priced_delta on the first mesh only."""
    return max(each.delta(epsilon) for each in directions)


def _enveloped(bounds: tuple[Envelope, ...], epsilon: float) -> float:
    """The envelope's bound on delta(epsilon), at most 1."""
    return float(np.exp(envelope_log_delta(bounds, epsilon)))


class _Point(NamedTuple):
    epsilon: float
    delta: float


def _crossing(left: _Point, right: _Point, delta: float) -> float:
    """The point at which the chord equals delta: delta(epsilon) is convex in e^epsilon."""
    part = (left.delta - delta) / (left.delta - right.delta)
    return left.epsilon + math.log1p(part * math.expm1(right.epsilon - left.epsilon))


def _guess(bounds: tuple[Envelope, ...], near: list[_Point], delta: float) -> float:
    """A guess of the epsilon at delta: the envelope's curve, scaled as at nearby prices."""
    near = sorted(near)  # by epsilon
    saved = [log_envelope(bounds, e) - math.log(found) for e, found in near]
    slope = 0.0
    if len(near) > 1 and near[1].epsilon > near[0].epsilon:
        slope = (saved[1] - saved[0]) / (near[1].epsilon - near[0].epsilon)
    low, high = 0.0, 2.0 * near[-1].epsilon
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        saves = saved[0] + slope * (middle - near[0].epsilon)
        above = log_envelope(bounds, middle) - max(saves, 0.0) > math.log(delta)
        low, high = (middle, high) if above else (low, middle)
    return high


def _bracket(
    at: Callable[[float], _Point],
    bounds: tuple[Envelope, ...],
    left: _Point,
    right: _Point,
    known: list[_Point],
    delta: float,
    tries: int,
) -> tuple[_Point, _Point]:
    """Narrows a bracket of delta, until the point below is close to delta."""
    known = [point for point in known if point.delta > 0.0]
    aim = delta * (1.0 - 0.5 * _NEAR)
    for _ in range(tries):
        width = right.epsilon - left.epsilon
        if right.delta >= delta * (1.0 - _NEAR) or width <= _CLOSE * right.epsilon:
            break
        # Uses the two points nearest to delta, or the ends if these lead out of the
        # bracket.
        nearest = sorted(known, key=lambda point: abs(math.log(point.delta / aim)))[:2]
        guesses = [_guess(bounds, nearest, aim)] if known else []
        if left in known and right in known:
            guesses.append(_guess(bounds, [left, right], aim))
        guesses.append(0.5 * (left.epsilon + right.epsilon))
        edge = _CLOSE * width  # the next point stays away from both ends
        low, high = left.epsilon + edge, right.epsilon - edge
        middle = at(next(guess for guess in guesses if low < guess < high))
        if middle.delta > 0.0:
            known.append(middle)
        left, right = (middle, right) if middle.delta > delta else (left, middle)
    return left, right


def _settled(at: Callable[[float], _Point], left: _Point, right: _Point, delta: float) -> float:
    """An epsilon at which delta is proved by a price there, not only by a chord."""
    for _ in range(_CHORDS):
        if right.delta >= delta * (1.0 - _NEAR):
            break
        crossing = at(min(_crossing(left, right, delta), right.epsilon))
        if crossing.delta <= delta:
            return crossing.epsilon
        left = crossing  # rounding of the solver may violate convexity
    return right.epsilon


@validated
@one_blas_thread()
def priced_epsilon(directions: tuple[PricedDirection, ...], delta: TunedDelta) -> float:
    """The least epsilon found at which delta is proved.

    delta(epsilon) of the tuned algorithm is convex in e^epsilon, so that between two
    proven values the chord is proved, too.

    Args:
      directions: from priced_directions.
      delta: of the search.

    Returns:
      That epsilon, at most the envelope's; priced_delta there is at most delta. If some
      ranking is close to the envelope, it is the envelope's, and no program is solved.
    """
    bounds = tuple(each.envelope for each in directions)
    enveloped = envelope_epsilon(bounds, delta)
    if delta == 0.0 or not 0.0 < enveloped < math.inf:
        return enveloped
    helped = [each.can_help(enveloped) for each in directions]
    stays = [
        each.enveloped(enveloped)
        for each, helps in zip(directions, helped, strict=True)
        if not helps
    ]
    if not any(helped) or max(stays, default=0.0) > delta * (1.0 - _NEAR):
        return enveloped

    def coarse(epsilon: float) -> _Point:
        return _Point(epsilon, _coarse_delta(directions, epsilon))

    def fine(epsilon: float) -> _Point:
        return _Point(epsilon, priced_delta(directions, epsilon))

    # If some ranking has more than delta at epsilon 0, no price is needed there.
    costly = any(each.attacked(0.0) > delta for each in directions)
    start = _Point(0.0, 1.0)
    left, right, at = start if costly else coarse(0.0), coarse(enveloped), coarse
    if left.delta <= delta:
        return 0.0
    # The bound at the envelope's epsilon shows how far below it one can get.
    lost = right.delta > delta * (1.0 - _NEAR)
    if not lost:
        known = [right] if costly else [left, right]
        left, right = _bracket(coarse, bounds, left, right, known, delta, _TRIES)
    # Used only near the result of the first mesh: far from there its proofs may lose much
    # more.
    wants = [each.wants_finer(right.epsilon) for each in directions]
    if lost or any(wants):
        at, left, right = fine, start if costly else fine(0.0), fine(right.epsilon)
        if left.delta <= delta:
            return 0.0
        if right.delta > delta * (1.0 - _NEAR):
            # A proof may fail here although it succeeds at a smaller epsilon.
            probe = fine(envelope_epsilon(bounds, min(_PROBE * delta, 0.99)))
            right = probe if probe.delta <= delta else right
        if right.delta <= delta * (1.0 - _NEAR):
            # The first mesh is not used again, except for the result.
            def finer(epsilon: float) -> _Point:
                found = [
                    each.finer(epsilon) if wish else each.delta(epsilon)
                    for each, wish in zip(directions, wants, strict=True)
                ]
                return _Point(epsilon, max(found))

            known = [right] if costly else [left, right]
            left, near = _bracket(finer, bounds, left, right, known, delta, _FINER_TRIES)
            near = fine(near.epsilon)
            left, right = (left, near) if near.delta <= delta else (near, right)
    if right.epsilon == enveloped and right.delta > delta * (1.0 - _NEAR):
        return enveloped
    return _settled(at, left, right, delta)


_POINTS = 12  # points of a curve, besides epsilon = 0
_LAST_DELTA = 1e-3  # the envelope's delta at the last of them


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
    tasks = []
    for each in directions:
        last = envelope_epsilon((each.envelope,), _LAST_DELTA)
        if 0.0 < last < math.inf:
            tasks += [(each, e) for e in np.linspace(0.0, last, count + 1).tolist()]
    with ThreadPoolExecutor(_WORKERS) as pool:
        list(pool.map(lambda task: task[0].delta(task[1]), tasks))
    points = {id(each): [] for each in directions}
    for each, epsilon in tasks:
        points[id(each)].append(epsilon)
    return tuple(_profile(each, np.array(points[id(each)])) for each in directions)


def _profile(direction: PricedDirection, epsilons: np.ndarray) -> Profile:
    """The chords between the bounds at some epsilons, and the envelope."""
    deltas = np.array([direction.delta(epsilon) for epsilon in epsilons.tolist()])
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
