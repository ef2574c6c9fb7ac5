"""Converts dominating pairs to dp-accounting's privacy loss distributions and back.

A dominating pair is discretised to multiples of an interval by connecting the dots
(Doroshenko et al. 2022): every atom is split between its two neighbours so that both its
masses are preserved, and the result dominates. Truncated mass is moved to larger losses, at
the upper end to infinity. So the divergences of the result are never below those of the
pair at any real epsilon, nor are those of its compositions (docs/composition.md).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsel.accounting.single_run.composing import on_lattice, self_composed
from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.curves import BaseGuarantee, from_profile
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.host.errors import InputError, check_positive
from jaxsel.language.relations import relation_name

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

INTERVAL = 1e-4
"""The discretisation interval of the privacy loss: the default of dp-accounting."""

_NEGLIGIBLE = 1e-20  # mass of P that is truncated at either end and moved to larger losses
_REACH = 700.0  # e^loss must stay finite; larger losses count as infinite
_MOST_POINTS = 2**22  # points of a composed distribution: a second and half a gigabyte
_UNIT = 2.0**-53
# If all losses of the composition are finite with at most this probability, truncation
# errors could exceed it: it then counts as 0, and delta is 1.
_HARDLY = 1e-14


def _trimmed(pair: DominatingPair) -> tuple[np.ndarray, np.ndarray, float]:
    """Finite losses, their masses under P, and the mass at infinite loss."""
    finite = (pair.loss <= _REACH) & (pair.first > 0.0)
    loss, mass = np.maximum(pair.loss[finite], -_REACH), pair.first[finite]
    beyond = float(np.sum(pair.first[pair.loss > _REACH]))
    if loss.size == 0:
        return np.zeros(1), np.zeros(1), 1.0
    top = np.searchsorted(np.cumsum(mass[::-1]), _NEGLIGIBLE, side="right")
    top = min(int(top), loss.size - 1)
    beyond += float(np.sum(mass[loss.size - top :]))
    loss, mass = loss[: loss.size - top], mass[: loss.size - top].copy()
    bottom = int(np.searchsorted(np.cumsum(mass), _NEGLIGIBLE, side="right"))
    bottom = min(bottom, loss.size - 1)
    mass[bottom] += np.sum(mass[:bottom])
    return loss[bottom:], mass[bottom:], min(beyond, 1.0)


def _width(pair: DominatingPair) -> float:
    loss, _, _ = _trimmed(pair)
    return float(loss[-1] - loss[0])


def interval_for(parts: Sequence[tuple[tuple[DominatingPair, ...], int]]) -> float:
    """The least interval, at least INTERVAL, at which a composition fits in memory.

    Args:
      parts: the pairs of each release, one per direction, and the number of such releases.
    """
    widths = [max(_width(pair) for pair in pairs) * times for pairs, times in parts]
    return max(INTERVAL, sum(widths) / _MOST_POINTS)


def _probabilities(pair: DominatingPair, interval: float) -> Any:
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    loss, mass, beyond = _trimmed(pair)
    low, masses = on_lattice(loss, mass, interval)
    return DensePLDPmf(interval, low, masses, beyond, True)


def _loss_distribution(
    pairs: tuple[DominatingPair, ...], interval: float = INTERVAL
) -> "PrivacyLossDistribution":
    """The privacy loss distribution of a release, pessimistic in every direction.

    Args:
      pairs: dominating pairs: of removing a record, then of adding one; or a single one
        that serves both directions.
      interval: the discretisation interval of the loss; > 0.

    Returns:
      dp-accounting's own type, ready to be composed with others of the same interval.

    Raises:
      InputError: if the interval is not positive, or needs too many points.
    """
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    interval = check_positive("interval", interval)
    if max(_width(pair) for pair in pairs) > interval * 4 * _MOST_POINTS:
        raise InputError(
            f"interval is {interval:g}; losses spread too far for it, so take one of at "
            f"least {interval_for([(pairs, 1)]):.2g}"
        )
    return PrivacyLossDistribution(*(_probabilities(pair, interval) for pair in pairs))


def many_times(one: "PrivacyLossDistribution", times: int) -> "PrivacyLossDistribution":
    """A privacy loss distribution, composed ``times`` times with itself; its tails are cut off."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    sides = (one._pmf_remove,) if one._symmetric else (one._pmf_remove, one._pmf_add)
    return PrivacyLossDistribution(*(self_composed(side, times) for side in sides))


def _rounded_up(pmf: Any, releases: int, size: float) -> Any:
    """Adds a bound on the error of Fourier transforms to the mass at infinite loss.

    Its error is at most about u log2(n) of the Euclidean norm of what is transformed,
    and at most sqrt(n) times that in sum; a power multiplies it by the exponent, since
    no coefficient exceeds 1. Negative masses, which are such errors, become 0.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    dense = pmf.to_dense_pmf()
    masses = np.maximum(np.asarray(dense._probs, dtype=np.float64), 0.0)
    points = max(masses.size, 2)
    lost = 4.0 * _UNIT * releases * math.log2(points) * math.sqrt(points) * size
    beyond = min(float(dense._infinity_mass) + lost, 1.0)
    return DensePLDPmf(dense._discretization, dense._lower_loss, masses, beyond, True)


def _hardly_finite(parts: Sequence[tuple[tuple[DominatingPair, ...], int]]) -> bool:
    """Whether in some direction the total loss is almost surely infinite."""
    log_finite = [
        times * math.log(max(float(np.sum(_trimmed(pair)[1])), 1e-300))
        for pairs, times in parts
        for pair in (pairs[0], pairs[-1])
    ]
    return min(sum(log_finite[::2]), sum(log_finite[1::2])) <= math.log(_HARDLY)


def composed_distribution(
    parts: Sequence[tuple[tuple[DominatingPair, ...], int]], interval: float | None = None
) -> "PrivacyLossDistribution":
    """The privacy loss distribution of releases on the same data, one after another.

    Args:
      parts: the pairs of each release, as in loss_distribution, and the number of such
        releases; a later release may depend on the outcomes of earlier ones.
      interval: as in loss_distribution; ``interval_for`` by default.

    Returns:
      A pessimistic distribution, its directions in the same order.

    Raises:
      InputError: as loss_distribution.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    interval = interval_for(parts) if interval is None else interval
    ones = [_loss_distribution(pairs, interval) for pairs, _ in parts]
    if _hardly_finite(parts):
        return PrivacyLossDistribution(DensePLDPmf(interval, 0, np.zeros(1), 1.0, True))
    found = None
    for one, (_, times) in zip(ones, parts, strict=True):
        many = one if times == 1 else many_times(one, times)
        found = many if found is None else found.compose(many)
    if found is None:
        raise InputError("nothing is released; give at least one release")
    releases = sum(times for _, times in parts)
    if releases == 1:
        return found
    size = max(
        float(np.linalg.norm(pmf.to_dense_pmf()._probs))
        for one in ones
        for pmf in (one._pmf_remove, one._pmf_add)
    )
    both = [found._pmf_remove] if found._symmetric else [found._pmf_remove, found._pmf_add]
    return PrivacyLossDistribution(*(_rounded_up(pmf, releases, size) for pmf in both))


def from_loss_distribution(
    distribution: "PrivacyLossDistribution",
    *,
    relation: object = None,
    name: str = "",
    renyi: RenyiCurve | None = None,
) -> BaseGuarantee:
    """The guarantee of a privacy loss distribution of dp-accounting.

    Args:
      distribution: a pessimistic estimate; its "remove" direction comes first.
      relation: its neighbouring relation, by name or as dp-accounting's enum; None if it is
        not known.
      name: for messages.
      renyi: bound on both Renyi divergences; by default that of the distribution.

    Raises:
      InputError: if it is an optimistic estimate, which is no upper bound, if it is not a
        privacy loss distribution, or if there is no such relation.
    """
    for pmf in (
        getattr(distribution, "_pmf_remove", None),
        getattr(distribution, "_pmf_add", None),
    ):
        if pmf is None:
            raise InputError(
                f"{type(distribution).__name__} is no privacy loss distribution of "
                "dp-accounting; give a PrivacyLossDistribution"
            )
        if not pmf._pessimistic_estimate:
            raise InputError(
                "the privacy loss distribution is an optimistic estimate; make it with "
                "pessimistic_estimate=True"
            )
    forward = tail_sums(distribution._pmf_remove)
    backward = None if distribution._symmetric else tail_sums(distribution._pmf_add)
    known = from_profile(name or "a privacy loss distribution", forward, backward, renyi=renyi)
    return known._replace(relation=relation_name(relation))


def tail_sums(pmf: Any) -> Any:
    """delta(epsilon), for epsilon >= 0, of one direction of a distribution."""
    dense = pmf.to_dense_pmf()
    masses = np.asarray(dense._probs, dtype=np.float64)
    losses = (dense._lower_loss + np.arange(masses.size)) * dense._discretization
    # Losses below 0 do not enter at epsilon >= 0, and e^-loss might overflow there.
    masses, losses = masses[losses > 0.0], losses[losses > 0.0]
    above = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    others = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)
    singular = float(dense._infinity_mass)

    def profile(epsilon: np.ndarray) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=np.float64)
        place = np.searchsorted(losses, epsilon, side="right")
        with np.errstate(over="ignore", invalid="ignore"):
            gap = above[place] - np.exp(epsilon) * others[place]
        gap = np.where(place < losses.size, gap, 0.0)
        return np.clip(gap + singular, 0.0, 1.0)[()]

    return profile
