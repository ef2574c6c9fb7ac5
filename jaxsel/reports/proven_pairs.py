"""The least that is proved about a release at every epsilon, as dominating pairs.

Pairs come from the tuned profile of each search, or from composed privacy loss
distributions; what other theorems prove, at a grid of deltas, is put into them. Every
pair dominates: what is computed from it is an upper bound.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

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
from jaxsel.families.tuning.accountant import account, base_epsilon, releases_all
from jaxsel.families.tuning.composing_searches import (
    Release,
    composed_renyi_epsilon,
    release_part,
)

Pairs = tuple[DominatingPair, ...]
Point = tuple[float, float]

# Where every theorem is asked: closer where attacks are read off.
_DELTAS = np.concatenate([np.geomspace(1e-12, 3e-5, 6), np.geomspace(2e-4, 0.3, 10)])


def proven_pairs(
    releases: Sequence[Release], points: Iterable[Point] = (), *, all_runs: bool = False
) -> Pairs:
    """Dominating pairs of some releases from the same data, one a direction.

    Args:
      releases: searches, and what stands beside them.
      points: (epsilon, delta) that are proved besides.
      all_runs: of a single search: every run is released, and K.

    Returns:
      One pair for each direction, or one for both.
    """
    if all_runs:
        ((base, law, _),) = releases
        assert law is not None
        assert law.maximum is not None
        wide: Sequence[Release] = [Release(base, None, law.maximum)]
    else:
        wide = releases
    found = _known(wide)
    known = [*points, *_points(releases, all_runs)]
    return found if not known else _with_points(found, known)


def _known(releases: Sequence[Release]) -> Pairs:
    """What the profiles say; everything may be lost where none is known."""
    parts = [release_part(release) for release in releases]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return (pair_from_points([0.0], [1.0]),)
    if len(known) == 1 and known[0][1] == 1:
        return known[0][0]
    pairs = from_loss_distribution(composed_distribution(known)).pairs
    assert pairs is not None
    return pairs()


def _points(releases: Sequence[Release], all_runs: bool) -> list[Point]:
    """What each theorem proves at a few deltas."""
    found = []
    for delta in _DELTAS.tolist():
        if len(releases) > 1 or releases[0].times > 1:
            found.append((composed_renyi_epsilon(releases, delta)[0], delta))
            continue
        (base, law, _) = releases[0]
        if law is None:
            found.append((base_epsilon(base, delta), delta))
            continue
        bounds = account(base, law, delta, attain=False).bounds
        found += [
            (bound.epsilon, delta)
            for bound in bounds
            if not all_runs or releases_all(bound.theorem)
        ]
    return found


def _with_points(pairs: Pairs, points: Iterable[Point]) -> Pairs:
    """The pairs, made smaller where a point lies below their profile.

    A point holds for both directions.
    """
    listed = np.array(
        [each for each in points if each[0] <= LARGEST_EPSILON], dtype=np.float64
    ).reshape(-1, 2)
    worst = np.max([pair_delta(pair, listed[:, 0]) for pair in pairs], axis=0)
    lower = listed[worst > listed[:, 1]]
    if lower.size == 0:
        return pairs
    losses = np.concatenate([np.abs(pair.loss) for pair in pairs])
    losses = losses[np.isfinite(losses) & (losses <= LARGEST_EPSILON)]
    knots = np.unique(np.concatenate([[0.0], losses, lower[:, 0]]))
    order = np.argsort(lower[:, 0])
    ranked, least = lower[order, 0], np.minimum.accumulate(lower[order, 1])
    place = np.searchsorted(ranked, knots, side="right")
    proved = np.append(1.0, least)[place]
    profiles = [np.minimum(pair_delta(pair, knots), proved) for pair in pairs]
    # Sums may break the order by a few units in the last place: round upwards.
    profiles = [
        np.clip(np.maximum.accumulate(each[::-1])[::-1], 0.0, 1.0) for each in profiles
    ]
    pair = pair_from_points(knots, *profiles)
    return (pair,) if len(pairs) == 1 else (pair, reversed_pair(pair))


def infinite_mass(pairs: Pairs) -> float:
    """The largest mass at infinite loss of any direction."""
    return max(float(np.sum(pair.first[pair.loss == math.inf])) for pair in pairs)
