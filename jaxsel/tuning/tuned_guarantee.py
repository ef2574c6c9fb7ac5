"""The guarantee of a whole search, in the form of a base guarantee.

The best of K runs is a release like any other: it has a profile in each direction, hence
dominating pairs, and a Renyi curve. So it can be composed with others, be the base of
another search, or be passed to dp-accounting as a privacy loss distribution. Every number
is an upper bound, for one direction each; docs/composition.md has the proof.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.composing import MOST
from jaxsel.accounting.single_run.conversions import Profile, RenyiCurve
from jaxsel.accounting.single_run.curves import BaseGuarantee, from_pairs
from jaxsel.accounting.single_run.dominating import (
    DominatingPair,
    pair_delta,
    pair_from_profile,
    reversed_pair,
)
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.approximate import good_part
from jaxsel.tuning.bounds.priced_envelope import Resolution, priced_directions, priced_profiles
from jaxsel.tuning.bounds.renyi import renyi_curves

_KNOTS = 2048  # points of a tuned profile, in each direction


class TunedRenyi(NamedTuple):
    """A bound on the Renyi divergences of the good part of a search, and its failure.

    Attributes:
      curve: order -> bound in both directions; inf where none is known.
      failure: weight of the other part, for which there is no bound.
      theorem: order -> id of the least bound at that order.
    """

    curve: RenyiCurve
    failure: float
    theorem: Callable[[float], str]


def _least(
    builders: dict[str, Callable[[], RenyiCurve]], failure: float, prefix: str
) -> TunedRenyi:
    curves = {name: build() for name, build in builders.items()}

    def curve(order: np.ndarray) -> np.ndarray:
        order = np.asarray(order, dtype=np.float64)
        found = np.full(order.shape, math.inf)
        for each in curves.values():
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                value = np.asarray(each(order), dtype=np.float64)
            found = np.minimum(found, np.where(np.isnan(value), math.inf, value))
        return found[()]

    def theorem(order: float) -> str:
        at = {name: float(each(np.asarray(order))) for name, each in curves.items()}
        known = {name: value for name, value in at.items() if not math.isnan(value)}
        return prefix + min(known, key=lambda name: known[name]) if known else "none"

    return TunedRenyi(curve, failure, theorem)


def tuned_renyi(base: BaseGuarantee, repetitions: Repetitions) -> TunedRenyi:
    """The least of all Renyi bounds on the best of K runs, order by order.

    A base that may fail is treated by Lemma 20 of Papernot & Steinke (2022), if that
    covers the law of K.
    """
    good = good_part(base, repetitions)
    if good is None:
        return _least(renyi_curves(base, repetitions), 0.0, "")
    curves = renyi_curves(good.base, good.repetitions)
    return _least(curves, good.failure, "PS-Lem20+")


def tuned_profiles(
    base: BaseGuarantee, repetitions: Repetitions, resolution: Resolution | None = None
) -> tuple[Profile, ...]:
    """Bounds on delta(epsilon) of the best of K runs, one per direction.

    Args:
      base: guarantee of one run.
      repetitions: law of K, which stays secret.
      resolution: of the priced envelope, which takes seconds unless it is coarse.

    Returns:
      epsilon >= 0 -> the least of the known bounds on the hockey-stick divergence, not
      increasing: for removing a record, then for adding one; or one function for both.

    Raises:
      InputError: if K is always 0, or its mean is infinite.
    """
    if not 0.0 < repetitions.mean < math.inf:
        raise InputError(f"E[K] is {repetitions.mean:g}; a search needs a mean above 0 and finite")
    pairs = base.pairs()
    priced = priced_profiles(priced_directions(base, repetitions, resolution))
    count = repetitions.maximum
    released = () if count is None or count > MOST else base.released(count)
    if len(released) == len(pairs):
        each = tuple((pair,) for pair in released)
    else:  # these bounds hold in both directions
        each = (released,) * len(pairs)

    def profile(one: Profile, all_runs: tuple[DominatingPair, ...]) -> Profile:
        def delta(epsilon: np.ndarray) -> np.ndarray:
            epsilon = np.asarray(epsilon, dtype=np.float64)
            found = one(epsilon)
            if all_runs:
                worst = np.max([pair_delta(pair, epsilon) for pair in all_runs], axis=0)
                found = np.minimum(found, worst)
            return np.clip(found, 0.0, 1.0)[()]

        return delta

    return tuple(map(profile, priced, each))


def tuned_pairs(base: BaseGuarantee, repetitions: Repetitions) -> tuple[DominatingPair, ...]:
    """Dominating pairs of the best of K runs, one per direction (a single one if symmetric).

    The dots are connected for both directions together: H_r(A || A') at r >= 1 is bounded
    by one profile, and at r < 1 by the other, since it is 1 - r + r H_(1/r)(A' || A).
    """
    profiles = tuned_profiles(base, repetitions)
    pair = pair_from_profile(*profiles, count=_KNOTS)
    return (pair,) if len(profiles) == 1 else (pair, reversed_pair(pair))


def tuned_guarantee(base: BaseGuarantee, repetitions: Repetitions) -> BaseGuarantee:
    """The guarantee of the best of K runs, in the form of a base guarantee."""
    renyi = tuned_renyi(base, repetitions)
    build = functools.cache(lambda: tuned_pairs(base, repetitions))
    name = f"{repetitions.name} runs of {base.name}"
    known = from_pairs(name, build, renyi=renyi.curve if renyi.failure == 0.0 else None)
    # These pairs only dominate; no pair of laws is known to attain this profile.
    return known._replace(attaining=lambda: None, relation=base.relation)
