"""Several searches in each of which a record may have another role: the worst combination.

A record may train in one search and be scored in the next, so that n searches of two roles have
2^n combinations. Each has an upper bound by its Renyi curves that takes no time. The costliest by
that bound are composed; a combination whose bound is at most what another one costs cannot be the
worst, and is left out. Where that leaves too many, the largest profile of each search's roles is
composed instead, which dominates every combination.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.numerics.optimise import LOG_ORDER_RANGE
from jaxsel.accounting.single_run.conversions import optimal_epsilon_at_order
from jaxsel.accounting.single_run.dominating import DominatingPair, pair_from_profile, reversed_pair
from jaxsel.accounting.single_run.loss_distributions import composed_distribution, tail_sums
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.tuning.accountant import proven_epsilons
from jaxsel.tuning.composing_searches import Release, compose_searches, composed_renyi, release_part

_ORDERS = np.append(1.0 + np.exp(np.linspace(*LOG_ORDER_RANGE, 161)), math.inf)
# Combinations whose quick bounds are compared, and of these how many are composed.
_MOST_LISTED, _MOST_COMPOSED = 2**14, 16
_KNOTS = 2048  # points of the largest profile, in each direction

_Role = tuple[Release, ...]


class Searched(NamedTuple):
    """Equal searches of one data set.

    Attributes:
      roles: for each role that a record may have in one, what is released of such a record.
      times: how many such searches there are; a record may have another role in each.
    """

    roles: tuple[_Role, ...]
    times: int = 1


class Worst(NamedTuple):
    """The epsilon of several searches together, for a record of whatever role in each.

    Attributes:
      epsilon: of the costliest combination of roles; an upper bound on it if not ``exact``.
      combinations: the number of combinations.
      exact: whether epsilon is computed for one combination, and does not bound all at once.
    """

    epsilon: float
    combinations: int
    exact: bool


class _Quick(NamedTuple):
    """Renyi bounds at ``_ORDERS``, and the logarithm of the chance that nothing fails."""

    renyi: np.ndarray
    kept: np.ndarray

    def epsilon(self, delta: float) -> np.ndarray:
        lost = -np.expm1(self.kept)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = np.where(lost < delta, (delta - lost) / (1.0 - lost), 0.0)
            found = optimal_epsilon_at_order(_ORDERS, self.renyi, left[..., None])  # type: ignore[arg-type]
        found = np.min(np.where(np.isnan(found), math.inf, found), axis=-1)
        return np.where(lost <= delta, np.maximum(found, 0.0), math.inf)


def _quick(role: _Role) -> _Quick:
    total, lost, _ = composed_renyi(role)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        renyi = np.asarray(total(_ORDERS), dtype=np.float64)
    kept = math.log1p(-lost) if lost < 1.0 else -math.inf
    return _Quick(np.where(np.isnan(renyi), math.inf, renyi), np.asarray(kept))


def _count(searches: Sequence[Searched]) -> int:
    return math.prod(math.comb(len(each.roles) + each.times - 1, each.times) for each in searches)


@one_blas_thread()
def worst_epsilon(searches: Sequence[Searched], delta: float) -> Worst:
    """The epsilon of several non-adaptive searches of one data set, composed.

    A record has a role in each search, such as to be trained on or to be scored with; epsilon
    covers the costliest combination of roles.

    Args:
      searches: equal searches are one item with their number; epsilon is 0 if there are none.
      delta: of all searches together.

    Raises:
      InputError: as ``compose_searches``, for example if relations differ.
    """
    if not searches:
        return Worst(0.0, 1, True)
    quick = [[_quick(role) for role in each.roles] for each in searches]
    count = _count(searches)
    if count > _MOST_LISTED:
        return Worst(
            min(_largest_epsilon(searches, delta), _most(searches, quick, delta)), count, False
        )
    ways = list(
        itertools.product(
            *(
                itertools.combinations_with_replacement(range(len(each.roles)), each.times)
                for each in searches
            )
        )
    )
    total = _Quick(np.zeros((len(ways), _ORDERS.size)), np.zeros(len(ways)))
    for place, found in enumerate(quick):
        renyi, kept = np.array([one.renyi for one in found]), np.array([one.kept for one in found])
        chosen = np.array([way[place] for way in ways])
        total = _Quick(
            total.renyi + renyi[chosen].sum(axis=1), total.kept + kept[chosen].sum(axis=1)
        )
    bounds = total.epsilon(delta)
    worst = -math.inf
    ranked = np.argsort(-bounds, kind="stable")
    for composed, place in enumerate(ranked):
        if bounds[place] <= worst:
            return Worst(worst, count, True)
        if composed == _MOST_COMPOSED:
            others = min(_largest_epsilon(searches, delta), float(bounds[place]))
            return Worst(max(worst, others), count, False)
        worst = max(worst, _epsilon(searches, ways[place], delta))
    return Worst(worst, count, True)


def _epsilon(searches: Sequence[Searched], way: tuple[tuple[int, ...], ...], delta: float) -> float:
    """What a record costs whose role in each search is the one of that number."""
    found: dict[tuple[int, int], Release] = {}
    for each, roles in zip(searches, way, strict=True):
        for part in (part for role in roles for part in each.roles[role]):
            same = id(part.base), id(part.repetitions)
            times = part.times + (found[same].times if same in found else 0)
            found[same] = part._replace(times=times)
    releases = list(found.values())
    base, law, times = releases[0]
    if len(releases) == 1 and times == 1 and law is not None:
        return proven_epsilons(base, law, delta)[0].epsilon
    return compose_searches(releases, delta)[0].epsilon


def _most(searches: Sequence[Searched], quick: Sequence[Sequence[_Quick]], delta: float) -> float:
    """The quick bound with the largest of each search's roles, order by order."""
    renyi, kept = np.zeros(_ORDERS.size), np.zeros(())
    for each, roles in zip(searches, quick, strict=True):
        renyi = renyi + each.times * np.max([role.renyi for role in roles], axis=0)
        kept = kept + each.times * np.min([role.kept for role in roles], axis=0)
    return float(_Quick(renyi, kept).epsilon(delta))


def _largest_epsilon(searches: Sequence[Searched], delta: float) -> float:
    """The epsilon of pairs that dominate each search, whatever the role; inf if none are known."""
    if delta == 0.0:
        return math.inf
    parts = []
    for each in searches:
        pairs = _largest_pairs(each.roles)
        if pairs is None:
            return math.inf
        parts.append((pairs, each.times))
    return float(composed_distribution(parts).get_epsilon_for_delta(delta))


def _largest_pairs(roles: Sequence[_Role]) -> tuple[DominatingPair, ...] | None:
    """Pairs that dominate every role: of the largest profile, in each direction."""
    known = []
    for role in roles:
        parts = [release_part(release) for release in role]
        if any(part is None for part in parts):
            return None
        known.append(composed_distribution([part for part in parts if part is not None]))
    ahead = [tail_sums(each._pmf_remove) for each in known]
    back = [tail_sums(each._pmf_add) for each in known]
    pair = pair_from_profile(
        lambda epsilon: np.max([one(epsilon) for one in ahead], axis=0),
        lambda epsilon: np.max([one(epsilon) for one in back], axis=0),
        count=_KNOTS,
    )
    return pair, reversed_pair(pair)
