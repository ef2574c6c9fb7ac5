"""The tightest proven privacy profile of a release, as dominating pairs.

Pairs come from the tuned profile of each search, or from composed privacy loss
distributions; they are tightened by the Renyi bounds, profiles and single points that other
theorems prove. Every result dominates, so what is computed from it is an upper bound.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from jaxsel.accounting.single_run.conversions import Profile, log_delta_at_order
from jaxsel.accounting.single_run.dominating import (
    LARGEST_EPSILON,
    DominatingPair,
    pair_delta,
    pair_from_points,
    reversed_pair,
)
from jaxsel.accounting.single_run.loss_distributions import (
    composed_distribution,
    from_loss_distribution,
)
from jaxsel.tuning.bounds.profiles import profile_bounds
from jaxsel.tuning.composing_searches import ComposedRenyi, Release, composed_renyi, release_part
from jaxsel.tuning.proofs import SET_ASIDE, proofs, releases_all

Pairs = tuple[DominatingPair, ...]
_Point = tuple[float, float]

_DELTAS = (1e-9, 1e-6, 1e-3, 0.03)  # deltas at which every theorem is evaluated
_ORDERS = 1.0 + np.exp(np.linspace(-5.0, 8.0, 105))
_KNOTS = 512  # epsilons at which other bounds are evaluated, besides the losses of the pairs


def proven_pairs(
    releases: Sequence[Release], points: Iterable[_Point] = (), *, all_runs: bool = False
) -> Pairs:
    """Dominating pairs of several releases from the same data, one per direction.

    Args:
      releases: searches and other releases.
      points: further (epsilon, delta) guarantees that are proved.
      all_runs: for a single search with a bounded K: whether every run and K are released.

    Returns:
      One pair for each direction, or one for both.
    """
    known = [*points]
    if all_runs:
        ((base, law, _),) = releases
        assert law is not None
        assert law.maximum is not None
        known += _points(releases[0], all_runs)
        releases = [Release(base, None, law.maximum)]
        profiles = []
    elif len(releases) == 1 and releases[0].times == 1:
        known += _points(releases[0], all_runs)
        profiles = _profiles(releases[0])
    else:
        profiles = []
    profiles.append(renyi_profile(composed_renyi(releases)))
    return _least(_known(releases), known, profiles)


def _known(releases: Sequence[Release]) -> Pairs:
    """The pairs implied by the profiles; pairs without any privacy if no profile is known."""
    parts = [release_part(release) for release in releases]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return (pair_from_points([0.0], [1.0]),)
    if len(known) == 1 and known[0][1] == 1:
        return known[0][0]
    return from_loss_distribution(composed_distribution(known)).pairs()


def _points(release: Release, all_runs: bool) -> list[_Point]:
    """The epsilons that the theorems about a search prove at a few deltas."""
    base, law, _ = release
    if law is None:
        return []
    found = []
    for name, proof in proofs(base, law).items():
        if all_runs and not releases_all(name):
            continue
        if name.removeprefix(SET_ASIDE) == "JX-Priced":
            # The pairs have its curve, which starts with the same program; but they price runs that
            # may fail, and not what is left of them.
            found.append((0.0, proof.delta(0.0)))
        else:
            found += [
                (proof.epsilon(delta), delta) for delta in _DELTAS if delta >= proof.least_delta
            ]
    return found


def _profiles(release: Release) -> list[Profile]:
    """Bounds on the profile of a search in both directions, by the theorems that give one."""
    base, law, _ = release
    if law is None or base.profile is None:
        return []
    return [bound.delta for bound in profile_bounds(base, law)]


def renyi_profile(known: ComposedRenyi) -> Profile:
    """epsilon >= 0 -> the least delta that the Renyi bounds give over a grid of orders."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        bounds = np.asarray(known.curve(_ORDERS), dtype=np.float64)
        largest = float(known.curve(np.asarray(math.inf)))
    bounds = np.where(np.isnan(bounds), math.inf, bounds)

    def profile(epsilon: np.ndarray) -> np.ndarray:
        levels = np.asarray(epsilon, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            logs = log_delta_at_order(_ORDERS, bounds, levels[..., None])
            good = np.exp(np.minimum(np.min(logs, axis=-1), 0.0))
        good = np.where(levels >= largest, 0.0, good)
        return known.lost + (1.0 - known.lost) * good

    return profile


def _least(pairs: Pairs, points: Iterable[_Point], profiles: Iterable[Profile]) -> Pairs:
    """Tightens pairs where a point or a profile lies below theirs.

    Points and profiles hold in both directions.
    """
    listed = np.array(
        [each for each in points if each[0] <= LARGEST_EPSILON], dtype=np.float64
    ).reshape(-1, 2)
    listed = listed[np.argsort(listed[:, 0])]
    losses = np.abs(np.concatenate([pair.loss for pair in pairs]))
    losses = losses[np.isfinite(losses) & (losses <= LARGEST_EPSILON)]
    last = max(losses.max(initial=0.0), 2.0 * listed[:, 0].max(initial=1.0))
    grid = np.linspace(0.0, min(last, LARGEST_EPSILON), _KNOTS)
    knots = np.unique(np.concatenate([grid, losses, listed[:, 0]]))
    place = np.searchsorted(listed[:, 0], knots, side="right")
    proved = np.append(1.0, np.minimum.accumulate(listed[:, 1]))[place]
    for each in profiles:
        proved = np.minimum(proved, each(knots))
    before = [pair_delta(pair, knots) for pair in pairs]
    if np.all(np.max(before, axis=0) <= proved):
        return pairs
    # Deltas must not increase in epsilon.
    after = [np.minimum.accumulate(np.minimum(each, proved)) for each in before]
    pair = pair_from_points(knots, *(np.clip(each, 0.0, 1.0) for each in after))
    return (pair,) if len(pairs) == 1 else (pair, reversed_pair(pair))
