"""Guarantees of base algorithms from dp-accounting: any composed or subsampled DpEvent.

The privacy loss distributions of dp-accounting are pessimistic, so everything computed from
them is an upper bound.
"""

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve, renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee, from_renyi, gaussian
from jaxsel.accounting.single_run.loss_distributions import (
    INTERVAL,
    from_loss_distribution,
    many_times,
)
from jaxsel.accounting.single_run.parameters import (
    MOST_STEPS,
    SamplingProbability,
    Steps,
    TrainingNoise,
)
from jaxsel.host.errors import InputError, check_interval
from jaxsel.language.domains import positive, whole
from jaxsel.language.relations import ADD_OR_REMOVE_ONE, relation_name
from jaxsel.language.signature import validated

if TYPE_CHECKING:
    import dp_accounting
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["dp_sgd", "dp_sgd_phases", "from_event", "renyi_from_orders"]

# Largest estimated sizes of the discretised losses of one step and of all: seconds, 2 GiB.
_MOST_OF_ONE, _MOST_OF_ALL = 2**20, 2**23
_FEW_ORDERS = (2.0, 4.0, 8.0, 16.0)
_NEGLIGIBLE = 1e-15  # the delta at which dp-accounting truncates losses
_BEYOND, _TELLS_ALL = 1e300, 1.0 - 1e-9  # an epsilon above all losses; its largest delta


def renyi_from_orders(orders: Sequence[float], values: Sequence[float]) -> RenyiCurve:
    """A Renyi curve for every order from bounds at some.

    (a - 1) D_a is convex in the order a and 0 at a = 1 (van Erven & Harremoes 2014,
    Corollary 2), so that chords bound it between orders; beyond the largest, inf.

    Args:
      orders: Float["orders"], > 1, strictly increasing.
      values: Float["orders"], bounds on the divergence there.
    """
    knots = np.concatenate([[0.0], np.asarray(orders, dtype=np.float64) - 1.0])
    heights = knots[1:] * np.asarray(values, dtype=np.float64)
    known = np.isfinite(heights)
    knots, heights = knots[np.append(True, known)], np.append(0.0, heights[known])
    least = heights[1] / knots[1] if knots.size > 1 else math.inf

    def curve(order: np.ndarray) -> np.ndarray:
        excess = np.asarray(order, dtype=np.float64) - 1.0
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.interp(excess, knots, heights) / excess
        value = np.where(excess <= knots[min(1, knots.size - 1)], least, value)
        return np.where(excess > knots[-1], math.inf, value)[()]

    return curve


def from_event(
    event: "dp_accounting.DpEvent",
    *,
    relation: "dp_accounting.NeighboringRelation | str | None" = None,
    name: str = "",
) -> BaseGuarantee:
    """The guarantee of a DpEvent, by its privacy loss distribution and its Renyi curve.

    Args:
      event: any event that dp-accounting's PLDAccountant composes.
      relation: which data sets are neighbours; dp-accounting's default adds or removes
        one record.
      name: for messages; the event's own text if not given.

    Returns:
      profile, trade-off and dominating pairs of both directions from the PLD, an upper
      estimate; ``renyi`` from RdpAccountant, or from the PLD if that does not know the
      event (then inf if the PLD has mass at infinite loss).

    Raises:
      InputError: if dp-accounting has no privacy loss distribution for the event, the
        event is not private, or there is no such relation.
    """
    import dp_accounting
    from dp_accounting import pld, rdp

    neighbours = _relation(relation)
    accountant = pld.PLDAccountant(neighbours, INTERVAL)
    try:
        accountant.compose(event)
    except dp_accounting.UnsupportedEventError as error:
        raise InputError(
            f"dp-accounting has no privacy loss distribution for {event}: {error}"
        ) from None
    if accountant.get_delta(_BEYOND) >= _TELLS_ALL:
        raise InputError(f"{event} is not private: it has a step without noise")
    knows = rdp.RdpAccountant(neighboring_relation=neighbours).supports(event)
    renyi = _moments_when_asked(event, neighbours) if knows else None
    return from_loss_distribution(
        accountant._pld, relation=neighbours, name=name or str(event), renyi=renyi
    )


def _relation(relation: object) -> Any:
    """The relation as dp-accounting's enum; by default adding or removing a record."""
    import dp_accounting

    name = relation_name(relation) or ADD_OR_REMOVE_ONE
    return dp_accounting.NeighboringRelation[name.upper()]


def _moments(event: Any, relation: Any, orders: Sequence[float] | None = None) -> RenyiCurve:
    """The Renyi curve of an event by dp-accounting's RdpAccountant, at its orders or at these."""
    from absl import logging
    from dp_accounting import rdp

    # The accountant skips orders that it cannot compute, with a warning for each.
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        moments = rdp.RdpAccountant(orders, relation).compose(event)
    finally:
        logging.set_verbosity(verbosity)
    return renyi_from_orders(moments.orders.tolist(), moments.rdp.tolist())


def _moments_when_asked(event: Any, relation: Any) -> RenyiCurve:
    """As ``_moments``; the orders take as long as the privacy loss distribution, and most
    questions ask for no Renyi divergence."""
    known = functools.cache(lambda: _moments(event, relation))
    return lambda order: known()(order)


def _too_large(noise_multiplier: float, renyi: RenyiCurve) -> bool:
    """Whether the discretised loss of DP-SGD would have too many points."""
    one = 0.5 / noise_multiplier**2 + 10.0 / noise_multiplier
    all_steps = 2.0 * renyi_to_epsilon(renyi, _NEGLIGIBLE).epsilon
    return one > _MOST_OF_ONE * INTERVAL or all_steps > _MOST_OF_ALL * INTERVAL


def _schedule(
    sampling_probability: float | None,
    steps: int | None,
    dataset_size: int | None,
    batch_size: float | None,
    epochs: float | None,
) -> tuple[float, int, str]:
    """Sampling probability, steps, and the given parameters as text."""
    if (batch_size is None) != (dataset_size is None) or (
        (batch_size is None) == (sampling_probability is None)
        or (steps is None) == (epochs is None)
    ):
        raise InputError(
            "DP-SGD takes noise_multiplier, then sampling_probability or dataset_size and "
            "batch_size, and steps or epochs"
        )
    if dataset_size is not None and batch_size is not None:
        batch = check_interval("batch_size", batch_size, 0.0, dataset_size, high_open=False)
        inverse, text = dataset_size / batch, f"dataset_size={dataset_size},batch_size={batch:g}"
        rate = batch / dataset_size
    else:
        assert sampling_probability is not None
        rate = sampling_probability
        inverse, text = 1.0 / rate, f"sampling_probability={rate!r}"
    if steps is not None:
        return rate, steps, f"{text},steps={steps}"
    assert epochs is not None
    check_interval("the number of steps", epochs * inverse, 0.0, 1e300)
    number = math.ceil(epochs * inverse * (1.0 - 1e-12))
    return rate, number, f"{text},epochs={epochs:g}"


@functools.lru_cache(maxsize=16)
def dp_sgd_phases(phases: tuple[tuple[float, float, int], ...], *, name: str = "") -> BaseGuarantee:
    """DP-SGD whose noise or sampling changes between phases; neighbours as in dp_sgd.

    Args:
      phases: noise multiplier, sampling probability and steps of each phase, in order;
        already validated.
      name: for messages.
    """
    import dp_accounting

    name = name or "dp_sgd in phases: " + "; ".join(
        f"noise_multiplier={noise!r},sampling_probability={rate!r},steps={steps}"
        for noise, rate, steps in phases
    )
    if all(rate == 1.0 for _, rate, _ in phases):
        precision = sum(steps / noise**2 for noise, _, steps in phases)
        whole = gaussian(1.0 / math.sqrt(precision))
        return whole._replace(name=name, relation=ADD_OR_REMOVE_ONE)
    from dp_accounting.pld import privacy_loss_distribution

    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    event = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)),
                steps,
            )
            for noise, rate, steps in phases
        ]
    )
    renyi = _moments_when_asked(event, relation)
    least = min(noise for noise, _, _ in phases)
    # What some orders say is enough, unless it is too large: all orders never say more.
    if sum(steps for _, _, steps in phases) > MOST_STEPS or (
        _too_large(least, _moments(event, relation, _FEW_ORDERS)) and _too_large(least, renyi)
    ):
        return from_renyi(name, renyi)._replace(relation=ADD_OR_REMOVE_ONE)
    # As dp-accounting's accountant composes them, which cuts tails off.
    found = privacy_loss_distribution.identity(INTERVAL)
    for noise, rate, steps in phases:
        found = found.compose(many_times(sampled_gaussian(noise, rate), steps))
    if found.get_delta_for_epsilon(_BEYOND) >= _TELLS_ALL:
        raise InputError(f"{name} is not private: it has hardly any noise")
    return from_loss_distribution(found, relation=relation, name=name, renyi=renyi)._replace(
        # n runs compose to one with n times the steps, in any order.
        composed=lambda count: dp_sgd_phases(
            tuple((noise, rate, steps * count) for noise, rate, steps in phases)
        )
    )


def sampled_gaussian(
    noise_multiplier: float, rate: float, interval: float = INTERVAL
) -> "PrivacyLossDistribution":
    """The privacy loss distribution of one step of DP-SGD.

    Identical to dp-accounting's ``from_gaussian_mechanism``, which computes the noise at
    each loss in a Python loop and takes seconds if there are many losses.

    Args:
      noise_multiplier: standard deviation of the noise over the clipping norm.
      rate: the sampling probability.
      interval: of the discretised privacy loss.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    def one(adjacency: AdjacencyType) -> pld_pmf.PLDPmf:
        loss = GaussianPrivacyLoss(noise_multiplier, sampling_prob=rate, adjacency_type=adjacency)
        ends = loss.connect_dots_bounds()
        assert ends.epsilon_lower is not None
        assert ends.epsilon_upper is not None
        low = math.floor(ends.epsilon_lower / interval)
        high = math.ceil(ends.epsilon_upper / interval)
        deltas = _sampled_gaussian_deltas(
            loss, np.arange(low, high + 1) * interval, adjacency is AdjacencyType.REMOVE
        )
        if deltas.size <= pld_pmf._MAX_PMF_SPARSE_SIZE:
            return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
                interval, low, high, deltas
            )
        # The same masses as an array, not by way of a dictionary.
        assert np.all(np.diff(deltas) <= pld_pmf._DELTA_DIFF_TOLERANCE)
        deltas = np.minimum.accumulate(deltas)
        masses = _masses_of_dots(deltas, interval)
        return pld_pmf.DensePLDPmf(interval, low, masses, float(deltas[-1]), True)

    if rate == 1.0:
        return PrivacyLossDistribution(one(AdjacencyType.REMOVE))
    return PrivacyLossDistribution(one(AdjacencyType.REMOVE), one(AdjacencyType.ADD))


def _masses_of_dots(deltas: np.ndarray, interval: float) -> np.ndarray:
    """Masses at losses an interval apart that connect the dots of a profile, but for infinity.

    Doroshenko et al. 2022, Algorithm 1.

    Args:
      deltas: Float["losses"], at these losses, not increasing.
      interval: between two losses.
    """
    rise, step = np.diff(deltas), math.expm1(interval)
    first = 1.0 - deltas[0] + rise[0] / step
    between = (rise[1:] - rise[:-1] * math.exp(interval)) / step
    last = rise[-1] / math.expm1(-interval)
    return np.maximum(0.0, np.concatenate([[first], between, [last]]))


def _sampled_gaussian_deltas(loss: Any, epsilon: np.ndarray, removes: bool) -> np.ndarray:
    """delta at each epsilon of one step, from the probabilities of losses above epsilon."""
    rate, variance = loss.sampling_prob, loss._standard_deviation**2
    sign = 1.0 if removes else -1.0
    # The loss without sampling, log(1 + (e^(+-epsilon) - 1)/rate), undefined beyond one
    # end.
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        whole = np.where(
            sign * epsilon > 0.0,
            sign * epsilon - math.log(rate) + np.log1p((rate - 1.0) * np.exp(-sign * epsilon)),
            np.log1p(np.expm1(sign * epsilon) / rate),
        )
    within = np.isfinite(whole)
    cutoff = -0.5 - sign * whole[within] * variance + (0.0 if removes else 1.0)
    deltas = -np.expm1(epsilon) if removes else np.zeros_like(epsilon)
    deltas[within] = loss.mu_upper_cdf(cutoff) - np.exp(
        epsilon[within] + loss.mu_lower_log_cdf(cutoff)
    )
    return np.clip(deltas, 0.0, 1.0)


@validated
@functools.lru_cache(maxsize=16)
def dp_sgd(
    *,
    noise_multiplier: TrainingNoise,
    sampling_probability: SamplingProbability = None,
    steps: Steps = None,
    dataset_size: Annotated[int | None, whole("of the training set", at_least=1)] = None,
    batch_size: float | None = None,
    epochs: Annotated[float | None, positive("passes over the training set")] = None,
) -> BaseGuarantee:
    """DP-SGD with Poisson subsampling, neighbours that add or remove one record.

    Accounted as ``from_event``; where its privacy loss distribution would be too large
    (little noise, an epsilon in the hundreds, or more than 2^20 steps), by the Renyi
    curve alone. Without subsampling it is a Gaussian mechanism, and accounted as that.

    Args:
      noise_multiplier: standard deviation of the noise over the clipping norm.
      sampling_probability: of each step; or
      dataset_size, batch_size: its ratio batch_size/dataset_size.
      steps: the number of steps; or
      epochs: steps are epochs divided by the sampling probability, rounded up.

    Raises:
      InputError: if values are missing or given both ways, or a batch is larger than the set.
    """
    rate, number, text = _schedule(sampling_probability, steps, dataset_size, batch_size, epochs)
    name = f"dp_sgd:noise_multiplier={noise_multiplier!r},{text}"
    return dp_sgd_phases(((noise_multiplier, rate, number),), name=name)
