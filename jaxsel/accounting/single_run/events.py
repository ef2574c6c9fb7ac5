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
from jaxsel.accounting.single_run.loss_distributions import INTERVAL, from_loss_distribution
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

__all__ = ["dp_sgd", "dp_sgd_phases", "from_event", "renyi_from_orders"]

# Largest estimated sizes of the discretised losses of one step and of all: seconds, 2 GiB.
_MOST_OF_ONE, _MOST_OF_ALL = 2**20, 2**23
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
    from dp_accounting import pld

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
    try:
        renyi = _moments(event, neighbours)
    except dp_accounting.UnsupportedEventError:
        renyi = None
    return from_loss_distribution(
        accountant._pld, relation=neighbours, name=name or str(event), renyi=renyi
    )


def _relation(relation: object) -> Any:
    """The relation as dp-accounting's enum; by default adding or removing a record."""
    import dp_accounting

    name = relation_name(relation) or ADD_OR_REMOVE_ONE
    return dp_accounting.NeighboringRelation[name.upper()]


def _moments(event: Any, relation: Any) -> RenyiCurve:
    """The Renyi curve of an event by dp-accounting's RdpAccountant."""
    from absl import logging
    from dp_accounting import rdp

    # The accountant skips orders that it cannot compute, with a warning for each.
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        moments = rdp.RdpAccountant(neighboring_relation=relation).compose(event)
    finally:
        logging.set_verbosity(verbosity)
    return renyi_from_orders(moments.orders.tolist(), moments.rdp.tolist())


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
    renyi = _moments(
        dp_accounting.ComposedDpEvent(
            [
                dp_accounting.SelfComposedDpEvent(
                    dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)),
                    steps,
                )
                for noise, rate, steps in phases
            ]
        ),
        relation,
    )
    least = min(noise for noise, _, _ in phases)
    if sum(steps for _, _, steps in phases) > MOST_STEPS or _too_large(least, renyi):
        return from_renyi(name, renyi)._replace(relation=ADD_OR_REMOVE_ONE)
    # As dp-accounting's accountant composes them, which cuts tails off.
    found = privacy_loss_distribution.identity(INTERVAL)
    for noise, rate, steps in phases:
        found = found.compose(_sampled_gaussian(noise, rate).self_compose(steps))
    if found.get_delta_for_epsilon(_BEYOND) >= _TELLS_ALL:
        raise InputError(f"{name} is not private: it has hardly any noise")
    return from_loss_distribution(found, relation=relation, name=name, renyi=renyi)._replace(
        # n runs compose to one with n times the steps, in any order.
        composed=lambda count: dp_sgd_phases(
            tuple((noise, rate, steps * count) for noise, rate, steps in phases)
        )
    )


def _sampled_gaussian(noise_multiplier: float, rate: float) -> Any:
    """The privacy loss distribution of one step of DP-SGD.

    Identical to dp-accounting's ``from_gaussian_mechanism``, which computes the noise at
    each loss in a Python loop and takes seconds if there are many losses.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    def one(adjacency: AdjacencyType) -> pld_pmf.PLDPmf:
        loss = GaussianPrivacyLoss(noise_multiplier, sampling_prob=rate, adjacency_type=adjacency)
        ends = loss.connect_dots_bounds()
        assert ends.epsilon_lower is not None
        assert ends.epsilon_upper is not None
        low = math.floor(ends.epsilon_lower / INTERVAL)
        high = math.ceil(ends.epsilon_upper / INTERVAL)
        deltas = _sampled_gaussian_deltas(
            loss, np.arange(low, high + 1) * INTERVAL, adjacency is AdjacencyType.REMOVE
        )
        return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(INTERVAL, low, high, deltas)

    if rate == 1.0:
        return PrivacyLossDistribution(one(AdjacencyType.REMOVE))
    return PrivacyLossDistribution(one(AdjacencyType.REMOVE), one(AdjacencyType.ADD))


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
