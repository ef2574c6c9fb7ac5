"""The privacy axis of Figure 7 of Papernot & Steinke 2022, as computed by its released code.

The code (tensorflow/privacy, research/hyperparameters_2022, at commit 03035d5d4a27) takes
the least of the tuned Renyi bounds over a list of orders and calls that the privacy
budget. It is no epsilon of (epsilon, delta)-DP at a small delta (R-PS-4); the functions
here give both the plotted number and a proven epsilon.

Its bounds are Theorem 2 for the geometric law, Theorem 6 as printed for Poisson (also for
means below 1, where that is false: E-PS-1), and for the other two laws Theorem 2 with
log(1/gamma - 1) in place of log(1/gamma). The proof of Theorem 2 does not give that, and
for large gamma it is false (E-PS-5). What is true: with better outcomes of masses u and u'
on the two sides, kappa = 1/gamma - 1, and E = exp(e) for the second order b,

  (1 + kappa u') / (1 + kappa u) <= sup_x (1 + T x^(1 - 1/b)) / (1 + x),
  T = kappa^(1/b) E^(1 - 1/b),

since u' <= (u E)^(1 - 1/b); and that is at most T as soon as
T (1 - (1/b)(1 - 1/b)^(b - 1)) >= 1, the bracket being the least of 1 + x - x^(1 - 1/b).
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.numerics.optimise import minimise_over_orders
from jaxsel.accounting.single_run.conversions import RenyiCurve, log_delta_at_order
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.events import dp_sgd, renyi_from_orders
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions, truncated_negative_binomial
from jaxsel.repetitions.parameters import Eta, Gamma
from jaxsel.tuning.bounds.poisson import poisson_epsilon
from jaxsel.tuning.bounds.renyi import renyi_curves, tuned_epsilon
from jaxsel.tuning.parameters import SamplingProbability, Steps, TrainingNoise, TunedDelta

RELEASED_ORDERS = np.array(
    [1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0, 4.5, *range(5, 64), 128, 256, 512]
)
"""The Renyi orders of the released code, Float64["72"]."""


class ReleasedBudget(NamedTuple):
    """The number on the axis.

    Attributes:
      budget: least of the tuned Renyi bounds over RELEASED_ORDERS.
      order: the order a of that bound.
      delta: by Lemma 14 the bound implies (budget, delta)-DP with delta = (1/a)(1 - 1/a)^(a
        - 1).
    """

    budget: float
    order: float
    delta: float


@validated
def subsampled_gaussian_renyi(
    order: npt.ArrayLike, sampling_probability: SamplingProbability, noise_multiplier: TrainingNoise
) -> np.ndarray:
    """Renyi divergence of one step of DP-SGD with Poisson sampling, the larger direction.

    Between N(0, s^2) and (1 - q) N(0, s^2) + q N(1, s^2), which dominate the step; by the
    trapezoidal rule, which converges exponentially here.

    Args:
      order: > 1, finite, any shape.
      sampling_probability: q.
      noise_multiplier: s.

    Raises:
      InputError: if an order is out of range.
    """
    order = np.asarray(order, dtype=np.float64)
    if not np.all((order > 1.0) & np.isfinite(order)):
        raise InputError(f"the order is {order}; it must be above 1 and finite")
    q, s = sampling_probability, noise_multiplier

    def largest(a: float) -> float:
        # The integrand of the moment of order a is concentrated between 0 and a.
        step = 0.02 * min(s, s * s)
        x = np.arange(-25.0 * s, a + 25.0 * s + step, step)
        base = -0.5 * (x / s) ** 2 + math.log(step / s / math.sqrt(2.0 * math.pi))
        with np.errstate(divide="ignore"):
            ratio = np.logaddexp(np.log1p(-q), math.log(q) + (x - 0.5) / s**2)
        moments = [float(np.asarray(special.logsumexp(base + p * ratio))) for p in (a, 1.0 - a)]
        return max(moments) / (a - 1.0)

    return np.array([largest(a) for a in order.ravel().tolist()]).reshape(order.shape)[()]


@validated
@functools.lru_cache(maxsize=16)
def training_renyi(
    sampling_probability: SamplingProbability, noise_multiplier: TrainingNoise, steps: Steps
) -> RenyiCurve:
    """Renyi curve of DP-SGD: exact at RELEASED_ORDERS and at some orders in between.

    Between these orders it is bounded by chords; beyond 512 it is infinite.

    Args:
      sampling_probability, noise_multiplier: of each step.
      steps: number of steps.
    """
    between = [1.0 + np.geomspace(1e-3, 0.2, 24), np.arange(1.25, 8.0, 1.0 / 16.0)]
    orders = np.unique(np.concatenate([*between, RELEASED_ORDERS]))
    one = subsampled_gaussian_renyi(orders, sampling_probability, noise_multiplier)
    return renyi_from_orders(orders.tolist(), (steps * one).tolist())


@functools.lru_cache(maxsize=16)
def training_base(
    sampling_probability: float, noise_multiplier: float, steps: int
) -> BaseGuarantee:
    """DP-SGD with the curve of ``training_renyi`` and the profile of ``events.dp_sgd``."""
    base = dp_sgd(
        sampling_probability=sampling_probability, noise_multiplier=noise_multiplier, steps=steps
    )
    return base._replace(renyi=training_renyi(sampling_probability, noise_multiplier, steps))


@validated
def released_negative_binomial(
    order: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    second_order: npt.ArrayLike,
    second_epsilon: npt.ArrayLike,
    eta: Eta,
    gamma: Gamma,
    *,
    corrected: bool = False,
) -> np.ndarray:
    """Renyi bound of the released code for truncated negative binomial K, at one pair of orders.

    epsilon + (1+eta) ((1-1/b) e + log(1/gamma - 1)/b) + log E[K]/(order - 1), b and e being the
    second order and its bound. This is Theorem 2 with log(1/gamma - 1) in
    place of log(1/gamma).

    Args:
      order, epsilon: the base's Renyi bound at the order of interest, in (1, inf).
      second_order, second_epsilon: another one, at any order in (1, inf).
      eta, gamma: of K ~ D(eta, gamma).
      corrected: take the bracket to be at least -log(1 - (1/b)(1 - 1/b)^(b - 1)); the
        bound then holds for all bases, eta and gamma.

    Returns:
      The bound at ``order``; arguments broadcast.
    """
    mean = truncated_negative_binomial(eta, gamma).mean
    b = np.asarray(second_order, dtype=np.float64)
    middle = (1.0 - 1.0 / b) * np.asarray(second_epsilon, dtype=np.float64)
    middle = middle + (math.log1p(-gamma) - math.log(gamma)) / b
    if corrected:
        least = np.exp((b - 1.0) * np.log1p(-1.0 / b)) / b
        middle = np.maximum(middle, -np.log1p(-least))
    excess = np.asarray(order, dtype=np.float64) - 1.0
    return (np.asarray(epsilon) + (1.0 + eta) * middle + math.log(mean) / excess)[()]


def _deltas(divergences: np.ndarray) -> np.ndarray:
    """delta of the base at log(1 + 1/(order - 1)) from its own list of orders."""
    level = np.log1p(1.0 / (RELEASED_ORDERS - 1.0))
    one = log_delta_at_order(RELEASED_ORDERS, divergences, level[:, None])
    # Bretagnolle-Huber: the least Renyi bound is at least the Kullback-Leibler divergence
    least = 0.5 * np.log(-np.expm1(-np.maximum(divergences, 0.0)))
    return np.exp(np.minimum(np.minimum(one, least).min(axis=1), 0.0))


def released_renyi(
    divergences: npt.ArrayLike, repetitions: Repetitions, *, corrected: bool = False
) -> np.ndarray:
    """The tuned Renyi bounds of the released code.

    Args:
      divergences: Float["72"], of the base, at RELEASED_ORDERS.
      repetitions: a truncated negative binomial law with eta >= 0, or a Poisson law.
      corrected: bounds that hold: see E-PS-5 and E-PS-1.

    Returns:
      Float64["72"].

    Raises:
      InputError: for another law of K, or another number of divergences.
    """
    found = np.asarray(divergences, dtype=np.float64)
    orders = RELEASED_ORDERS
    if found.shape != orders.shape:
        raise InputError(
            f"there are {found.size} divergences; there must be one for each of the "
            f"{orders.size} orders"
        )
    parameters = repetitions.parameters
    if repetitions.family == "poisson":
        return poisson_epsilon(
            orders, found, _deltas(found), parameters["mean"], corrected=corrected
        )
    if repetitions.family != "truncated_negative_binomial" or parameters["eta"] < 0.0:
        raise InputError(
            f"the released code has no bound for {repetitions.family} with "
            f"{dict(parameters)}; take eta >= 0, or Poisson"
        )
    eta, gamma = parameters["eta"], parameters["gamma"]
    pairs = (orders[:, None], found[:, None], orders, found)
    least = released_negative_binomial(*pairs, eta, gamma, corrected=corrected)
    least = least.min(axis=1)
    if eta == 1.0:
        # For the geometric law the code uses Theorem 2 itself.
        middle = (1.0 - 1.0 / orders) * found - math.log(gamma) / orders
        least = found + 2.0 * middle.min() - math.log(gamma) / (orders - 1.0)
    elif eta > 0.0:
        # The code uses E[K] in place of E[K]/(1 - gamma).
        least = least - math.log1p(-gamma) / (orders - 1.0)
    return least


def released_budget(
    renyi: RenyiCurve, repetitions: Repetitions, *, corrected: bool = False
) -> ReleasedBudget:
    """The number that the released code plots for a search.

    Args:
      renyi: the curve of one training run, such as ``training_renyi``.
      repetitions, corrected: as for ``released_renyi``.
    """
    found = released_renyi(renyi(RELEASED_ORDERS), repetitions, corrected=corrected)
    best = int(np.argmin(found))
    order = float(RELEASED_ORDERS[best])
    delta = math.exp((order - 1.0) * math.log1p(-1.0 / order)) / order
    return ReleasedBudget(float(found[best]), order, delta)


def _theorem(repetitions: Repetitions) -> str:
    return "PS-Thm6" if repetitions.family == "poisson" else "PS-Thm2"


def least_renyi(base: BaseGuarantee, repetitions: Repetitions) -> float:
    """Least tuned Renyi bound over all orders, by Theorem 2 or the corrected Theorem 6.

    The number that the released code means to compute, from the theorems as proved.
    """
    curve = renyi_curves(base, repetitions)[_theorem(repetitions)]()
    return float(minimise_over_orders(curve)[1])


@validated
def theorem_epsilon(base: BaseGuarantee, repetitions: Repetitions, delta: TunedDelta) -> float:
    """Epsilon of a search at delta by Theorem 2 or the corrected Theorem 6.

    Args:
      base: of one training run.
      repetitions: a truncated negative binomial or a Poisson law of K.
      delta: where epsilon is taken.
    """
    chosen = [_theorem(repetitions)]
    return tuned_epsilon(base, repetitions, delta, theorems=chosen).epsilon
