"""What objective perturbation guarantees: privacy losses of one number, and their profiles.

The proofs stand in docs/objective-perturbation.md. A generalised linear model's gradient moves
along the record's features alone, so neighbours differ in one coordinate of the noise, w, which is
normal; below are upper bounds of the privacy loss as functions of w, and their exact profiles.
"""

import functools
import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run.curves import BaseGuarantee, from_profile
from jaxsel.host.errors import InputError
from jaxsel.language.domains import choice, number, positive
from jaxsel.language.relations import ADD_OR_REMOVE_ONE
from jaxsel.language.signature import read_arguments, validated
from jaxsel.tuning.parameters import PositiveEpsilon, ProperDelta

_LOSSES = ("logistic", "huber")
"""Losses of one record: log(1 + e^-yu), and squared residuals that are linear beyond a slope."""

FLOATS = "the guarantee is that of real numbers, and noise is made of 53-bit floats"
REFUSALS = "whether rounding refuses a fit does not depend on one of the records"
"""What every fit by objective perturbation takes from its user, as sentences say it."""

_LEAST_NOISE, _MOST_NOISE = 0.05, 1e4
# Where the loss bound of the logistic model is tabulated; it is convex, so chords lie above it.
_LOW, _HIGH, _KNOTS = -14.0, 20.0, 6801
_ROUNDING = 1e-12  # of a tabulated loss
_FEWER = 34  # pieces that are made one for Renyi divergences, of which many are asked
# How far the output's noise is looked at, and the largest step of its loss.
_REACH, _SPACING = 12.0, 0.01
_FEWEST_ATOMS, _MOST_ATOMS = 33, 1025  # of that look; any number gives an upper bound


FeatureNorm = Annotated[float, positive("to which each record is clipped")]


class Settings(NamedTuple):
    """What the guarantee depends on.

    Attributes:
      loss: one of ``_LOSSES``.
      noise_multiplier: standard deviation of each coordinate of the objective's linear noise,
        over ``slope * feature_norm``.
      regularisation: lambda; the objective has lambda/2 times the squared norm.
      feature_norm: to which each record's features, the intercept's included, are clipped.
      slope: the largest slope of the loss: 1 for the logistic one.
      tolerance: the norm of the objective's gradient at what is released, before noise.
      output_noise: standard deviation of the noise added to it; > 0 if tolerance is.
    """

    loss: Annotated[str, choice(_LOSSES)]
    noise_multiplier: Annotated[
        float, number("of the linear term", at_least=_LEAST_NOISE, below=_MOST_NOISE)
    ]
    regularisation: Annotated[float, positive("lambda")] = 1.0
    feature_norm: FeatureNorm = 1.0
    slope: Annotated[float, positive("largest of the loss")] = 1.0
    tolerance: Annotated[float, number("of the gradient's norm", at_least=0.0)] = 0.0
    output_noise: Annotated[float, number("that hides the tolerance", at_least=0.0)] = 0.0

    @property
    def noise(self) -> float:
        """Standard deviation of each coordinate of the linear noise."""
        return self.noise_multiplier * self.slope * self.feature_norm

    @property
    def stiffness(self) -> float:
        """By how much one record of unit curvature may raise the Hessian, relative to lambda."""
        return self.feature_norm**2 / self.regularisation

    @property
    def gap(self) -> float:
        """How far approximate minima of neighbours may lie apart, in output noises."""
        if self.tolerance == 0.0:
            return 0.0
        return 2.0 * self.tolerance / (self.regularisation * self.output_noise)


def checked(settings: Settings) -> Settings:
    """The settings, read.

    Raises:
      InputError: for one that is out of range, or two that do not go together.
    """
    settings = Settings(**read_arguments(Settings, settings._asdict()))
    if settings.loss == "logistic" and settings.slope != 1.0:
        raise InputError("the logistic loss has slope 1; leave slope out")
    if settings.tolerance > 0.0 and settings.output_noise == 0.0:
        raise InputError(
            f"a minimum that is known to a tolerance of {settings.tolerance:g} is private only "
            "with output_noise above 0"
        )
    return settings


# --- Exact minima -----------------------------------------------------------------------


class LossBound(NamedTuple):
    """A bound of the privacy loss that is piecewise linear in w and does not decrease, w normal.

    Attributes:
      start: Float["pieces"], where each piece begins, ascending; the first may be -inf, and must
        then be constant.
      begin: Float["pieces"], the loss there.
      slope: Float["pieces"], >= 0; the last piece goes on to infinity.
      weight: 1; or 2 if the first piece begins at 0 and w is the size of a normal number.
    """

    start: np.ndarray
    begin: np.ndarray
    slope: np.ndarray
    weight: float = 1.0

    def _end(self) -> np.ndarray:
        return np.append(self.start[1:], np.inf)

    def _level(self) -> np.ndarray:
        """The loss at w = 0, if the piece went on to there."""
        return self.begin - self.slope * np.where(np.isfinite(self.start), self.start, 0.0)

    def _moments(
        self, power: float | np.ndarray, start: np.ndarray, place: np.ndarray | slice
    ) -> np.ndarray:
        """log E[e^(power loss)] over the rest of pieces, each from ``start``."""
        moved = power * self.slope[place]
        low, high = start - moved, self._end()[place] - moved
        swapped = low + high < 0.0  # both in the nearer tail, where digits are kept
        far = special.log_ndtr(np.where(swapped, high, -low))
        near = special.log_ndtr(np.where(swapped, low, -high))
        with np.errstate(divide="ignore", invalid="ignore"):
            mass = far + np.log1p(-np.exp(np.minimum(near - far, 0.0)))
        mass = np.where(far == -np.inf, -np.inf, mass)
        return power * self._level()[place] + moved**2 / 2.0 + mass + math.log(self.weight)

    def profile(self) -> Callable[[npt.ArrayLike], np.ndarray]:
        """Real epsilon -> E[(1 - e^(epsilon - loss))_+], element by element."""
        whole = self._moments(-1.0, self.start, slice(None))
        tails = np.append(np.logaddexp.accumulate(whole[::-1])[::-1], -np.inf)

        def found(epsilon: npt.ArrayLike) -> np.ndarray:
            epsilon = np.asarray(epsilon, dtype=np.float64)
            place = np.maximum(np.searchsorted(self.begin, epsilon, side="right") - 1, 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                start = (epsilon - self._level()[place]) / self.slope[place]
            # A constant piece is left out if epsilon is not below it.
            passed = np.where(epsilon < self.begin[place], -np.inf, np.inf)
            start = np.where(self.slope[place] > 0.0, start, passed)
            start = np.clip(start, self.start[place], self._end()[place])
            lost = np.logaddexp(self._moments(-1.0, start, place), tails[place + 1])
            kept = self.weight * special.ndtr(-start) - np.exp(np.minimum(epsilon + lost, 0.0))
            return np.clip(kept, 0.0, 1.0)[()]

        return found

    def fewer(self) -> "LossBound":
        """A bound of a convex one with a fraction of its pieces: longer chords lie above."""
        kept = np.unique(np.append(np.arange(0, self.start.size, _FEWER), [1, self.start.size - 1]))
        start, begin = self.start[kept], self.begin[kept]
        slope = np.append(np.diff(begin) / np.diff(start), self.slope[-1])
        slope[0] = self.slope[0]
        return LossBound(start, begin, slope, self.weight)

    def renyi(self) -> Callable[[np.ndarray], np.ndarray]:
        """Order > 1 -> log E[e^((order - 1) loss)] / (order - 1); at 1 the limit from above."""
        known = self if self.start.size <= _FEWER else self.fewer()

        def found(order: np.ndarray) -> np.ndarray:
            power = np.maximum(np.asarray(order, dtype=np.float64), 1.0 + 1e-6) - 1.0
            finite = np.where(np.isfinite(power), power, 1.0)
            moments = known._moments(finite[..., None], known.start, slice(None))
            value = np.logaddexp.reduce(moments, axis=-1) / finite
            return np.where(np.isfinite(power), value, np.inf)[()]

        return found


def loss_bounds(
    loss: str, noise_multiplier: float, stiffness: float
) -> tuple[LossBound, LossBound]:
    """The bounds of removing a record and of adding one, of an exact minimum.

    Args:
      loss: one of ``_LOSSES``.
      noise_multiplier: the noise over the sensitivity of the gradient.
      stiffness: squared feature norm over lambda.
    """
    mu = 1.0 / noise_multiplier
    gaussian_tail = _rising(mu, 0.0)
    if loss == "logistic":
        return _tabulated(noise_multiplier, stiffness), gaussian_tail
    tails = LossBound(np.zeros(1), np.array([mu**2 / 2.0]), np.array([mu]), 2.0)
    return _rising(mu, math.log1p(stiffness)), tails


def _rising(mu: float, shift: float) -> LossBound:
    """max(0, mu w + mu^2/2) + shift."""
    return LossBound(np.array([-np.inf, -mu / 2.0]), np.array([shift, shift]), np.array([0.0, mu]))


def largest_loss(w: np.ndarray, noise_multiplier: float, stiffness: float) -> np.ndarray:
    """The largest privacy loss of removing a record, at a coordinate w of the noise.

    The largest p mu w + p^2 mu^2 / 2 + log(1 + p (1 - p) s) over slopes p in [0, 1] of the logistic
    loss, p (1 - p) being its curvature and mu = 1/noise. Candidates are both ends and the roots of
    the derivative, a cubic.

    Args:
      w: any shape.
      noise_multiplier: the noise over the sensitivity of the gradient.
      stiffness: s, squared feature norm over lambda.
    """
    w = np.asarray(w, dtype=np.float64)
    mu = 1.0 / noise_multiplier
    constant = mu * w + stiffness
    linear = mu * w * stiffness + mu**2 - 2.0 * stiffness
    square = stiffness * (mu**2 - mu * w)
    companion = np.zeros((*w.shape, 3, 3))
    companion[..., 0, :] = np.stack([square, linear, constant], axis=-1) / (stiffness * mu**2)
    companion[..., 1, 0] = companion[..., 2, 1] = 1.0
    roots = np.clip(np.linalg.eigvals(companion).real, 0.0, 1.0)
    p = np.concatenate([roots, np.broadcast_to([0.0, 1.0], (*w.shape, 2))], axis=-1)
    losses = p * mu * w[..., None] + (p * mu) ** 2 / 2.0 + np.log1p(p * (1.0 - p) * stiffness)
    return np.max(losses, axis=-1)


@functools.lru_cache(maxsize=64)
def _tabulated(noise_multiplier: float, stiffness: float) -> LossBound:
    """``largest_loss`` at knots.

    Between knots the loss is replaced by its chord, beyond the last by a line of slope mu, before
    the first by a constant: all lie above it, since it is convex, of slopes in [0, mu].
    """
    knots = np.linspace(_LOW, _HIGH, _KNOTS)
    loss = np.maximum.accumulate(largest_loss(knots, noise_multiplier, stiffness)) + _ROUNDING
    slope = np.append(np.diff(loss) / np.diff(knots), 1.0 / noise_multiplier)
    return LossBound(np.append(-np.inf, knots), np.append(loss[0], loss), np.append(0.0, slope))


# --- Approximate minima -----------------------------------------------------------------


def _gaussian_atoms(gap: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses, and their masses, of finitely many outcomes that dominate a shift by ``gap``.

    Between neighbouring points of the normal law, mass moves to both of them so that both laws'
    masses are kept (connecting the dots, Doroshenko et al. 2022); beyond the ends to larger losses.
    """
    count = int(min(max(2.0 * _REACH * gap / _SPACING, _FEWEST_ATOMS), _MOST_ATOMS))
    points = np.linspace(-_REACH, _REACH, count)
    losses = gap * points + gap**2 / 2.0
    masses, others = (
        special.ndtr(points[1:] + shift) - special.ndtr(points[:-1] + shift) for shift in (0.0, gap)
    )
    step = -np.expm1(losses[:-1] - losses[1:])
    upper = np.clip((masses - others * np.exp(losses[:-1])) / step, 0.0, masses)
    found = np.zeros(count + 1)
    found[:-2] += masses - upper
    found[1:-1] += upper
    found[0] += special.ndtr(-_REACH)
    found[-1] = special.ndtr(-_REACH)
    return np.append(losses, np.inf), found


def _hidden(
    profile: Callable[[npt.ArrayLike], np.ndarray], gap: float
) -> Callable[[npt.ArrayLike], np.ndarray]:
    """The profile of an outcome of that profile and a Gaussian release that may depend on it."""
    losses, masses = _gaussian_atoms(gap)

    def found(epsilon: npt.ArrayLike) -> np.ndarray:
        left = np.asarray(epsilon, dtype=np.float64)[..., None] - losses[:-1]
        return np.minimum(profile(left) @ masses[:-1] + masses[-1], 1.0)[()]

    return found


def _profiles(settings: Settings) -> list[Callable[[npt.ArrayLike], np.ndarray]]:
    """delta at any real epsilon of removing a record and of adding one."""
    bounds = loss_bounds(settings.loss, settings.noise_multiplier, settings.stiffness)
    exact = [bound.profile() for bound in bounds]
    return [_hidden(each, settings.gap) for each in exact] if settings.gap else exact


def guarantee(settings: Settings) -> BaseGuarantee:
    """What objective perturbation guarantees, of a record that is added or removed.

    The approximate minimum is the exact one, and a step of at most tolerance/lambda that is
    hidden in the output's noise: two releases, one after the other.
    """
    return _guarantee(checked(settings))


@functools.lru_cache(maxsize=256)
def _guarantee(settings: Settings) -> BaseGuarantee:
    bounds = loss_bounds(settings.loss, settings.noise_multiplier, settings.stiffness)
    removed, added = (bound.renyi() for bound in bounds)

    def renyi(order: np.ndarray) -> np.ndarray:
        hidden = settings.gap**2 / 2.0 * np.asarray(order, dtype=np.float64) if settings.gap else 0
        return np.maximum(removed(order), added(order)) + hidden

    name = "objective_perturbation:" + ",".join(
        f"{key}={value if isinstance(value, str) else repr(float(value))}"
        for key, value in settings._asdict().items()
    )
    known = from_profile(name, *_profiles(settings), renyi=renyi)
    return known._replace(relation=ADD_OR_REMOVE_ONE)


@validated
def noise_for(epsilon: PositiveEpsilon, delta: ProperDelta, settings: Settings) -> float:
    """The least noise multiplier with which the settings are (epsilon, delta)-private, to 0.1 %.

    Raises:
      InputError: if none in range is enough, for the stiffness or the gap alone costs more.
    """
    at = np.asarray(epsilon)

    def enough(noise: float) -> bool:
        known = checked(settings._replace(noise_multiplier=noise))
        return all(float(each(at)) <= delta for each in _profiles(known))

    low, high = _LEAST_NOISE, 0.999 * _MOST_NOISE
    if not enough(high):
        curvature = 0.25 if settings.loss == "logistic" else 1.0
        least_lambda = curvature * settings.feature_norm**2 / math.expm1(epsilon)
        raise InputError(
            f"no noise gives epsilon = {epsilon:g} at delta = {delta:g} with regularisation "
            f"{settings.regularisation:g}: take more, above {least_lambda:.3g} in any case"
        )
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
