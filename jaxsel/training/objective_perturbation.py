"""Objective perturbation of generalised linear models, with approximate minima.

Kifer, Smith & Thakurta, "Private Convex Empirical Risk Minimization" (COLT 2012), as Redberg,
Koskela & Wang, "Improving the Privacy and Practicality of Objective Perturbation" (NeurIPS 2023),
let it stop: a normal vector b is drawn once, a point is found at which the gradient of

    sum of the records' losses + lambda/2 |theta|^2 + b theta

is no longer than a tolerance, and the point is released with normal noise. The tolerance is part
of the theorem, and is checked, rounding included, before anything is released. What is guaranteed
stands in ``objective_privacy``.
"""

import math
import random
from typing import Annotated, NamedTuple

import numpy as np
from scipy import special

from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.language.signature import validated
from jaxsel.training.objective_privacy import FeatureNorm, Settings, checked

Intercept = Annotated[float, number("of the intercept's feature", at_least=0.0)]

_UNIT = 2.0**-53
_MOST_STEPS = 1000
_MOST_HALVINGS = 60
# Clipped norms stay below the limit whatever their rounding.
_SAFE = 1.0 - 2.0**-30


class NotReached(InputError):
    """The minimum is not known to the tolerance, so that nothing is released.

    In exact arithmetic this has probability 0, since the solver ends with every data set and every
    noise; rounding alone can make it so, and that it did is not covered by the guarantee.
    """


class Minimum(NamedTuple):
    """A point near the minimum of a perturbed objective.

    Attributes:
      parameters: Float64["features"].
      gradient: an upper bound of the norm of the objective's gradient there, rounding included.
      steps: that the solver made.
    """

    parameters: np.ndarray
    gradient: float
    steps: int


def clipped_rows(features: np.ndarray, norm: float) -> np.ndarray:
    """The records, each scaled down to at most a norm; never up.

    Args:
      features: Float["records features"].
      norm: > 0.
    """
    features = np.asarray(features, dtype=np.float64)
    # The largest entry first: squares neither overflow nor vanish.
    largest = np.max(np.abs(features), axis=1, initial=0.0, keepdims=True)
    largest = np.where(largest > 0.0, largest, 1.0)
    scaled = features / largest
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    most = norm * _SAFE / np.where(length > 0.0, length, 1.0)
    return np.where(largest > most, scaled * most, features)


@validated
def check_intercept(feature_norm: FeatureNorm, intercept: Intercept) -> None:
    """Raises InputError unless the intercept's feature leaves the others room in the norm."""
    if intercept >= feature_norm:
        raise InputError(
            f"the intercept's feature is {intercept:g}; it must be at least 0 and below "
            f"feature_norm = {feature_norm:g}, which holds both"
        )


@validated
def with_intercept(features: np.ndarray, norm: FeatureNorm, intercept: Intercept) -> np.ndarray:
    """The records, clipped, and one more feature of the same value for all.

    Args:
      features: Float["records features"].
      norm: of each record, the intercept's feature included.
      intercept: the value of that feature, below the norm; 0 for a model without it.

    Raises:
      InputError: for a value that leaves the features no room.
    """
    check_intercept(norm, intercept)
    kept = clipped_rows(features, math.sqrt((norm - intercept) * (norm + intercept)))
    if intercept == 0.0:
        return kept
    return np.hstack([kept, np.full((kept.shape[0], 1), intercept * _SAFE)])


class _Objective:
    """The sum of losses with its regularisation and its linear noise."""

    def __init__(
        self, features: np.ndarray, targets: np.ndarray, settings: Settings, noise: np.ndarray
    ) -> None:
        self.features, self.targets = features, targets
        self.settings, self.noise = settings, noise
        self._columns = np.ascontiguousarray(features.T)
        self._norms = np.linalg.norm(features, axis=1)

    def _slopes(self, theta: np.ndarray) -> np.ndarray:
        predicted = self.features @ theta
        if self.settings.loss == "logistic":
            return -self.targets * special.expit(-self.targets * predicted)
        return np.clip(predicted - self.targets, -self.settings.slope, self.settings.slope)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        # numpy sums each contiguous row in pairs: see ``rounding``.
        sums = np.sum(self._columns * self._slopes(theta), axis=1)
        return sums + self.settings.regularisation * theta + self.noise

    def _curvatures(self, slopes: np.ndarray) -> np.ndarray:
        sizes = np.abs(slopes)
        if self.settings.loss == "logistic":
            return sizes * (1.0 - sizes)
        return (sizes < self.settings.slope).astype(np.float64)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        found = (self._columns * self._curvatures(self._slopes(theta))) @ self.features
        return found + self.settings.regularisation * np.eye(theta.size)

    def rounding(self, theta: np.ndarray) -> float:
        """A bound of the norm of the rounding error of ``gradient``.

        Each product and the loss's slope are wrong by a few units in the last place, a sum in
        pairs of n terms by at most 20 + log2 n of them, relative to the sum of sizes; an error of
        the prediction moves the slope by the curvature times that (at a kink by at most itself).
        A large target costs no digits: a residual beyond the slope is clipped to the slope itself,
        and one below it is the slope, and rounded by a unit of it.
        """
        records, features = self.features.shape
        length, slopes = float(np.linalg.norm(theta)), self._slopes(theta)
        logistic = self.settings.loss == "logistic"
        steep = 1.001 * self._curvatures(slopes) if logistic else np.ones(records)
        sizes = float(self._norms @ np.abs(slopes))
        predicted = float((self._norms * steep) @ self._norms) * length * (features + 2)
        added = self.settings.regularisation * length + float(np.linalg.norm(self.noise))
        units = (40.0 + math.log2(records + 1.0)) * sizes + 2.0 * predicted + 4.0 * added
        return 2.0 * _UNIT * units


def _step(
    objective: _Objective, theta: np.ndarray, gradient: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """A Newton step that lowers the objective, or halves the least gradient so far.

    The objective is convex: where its slope along the step is not positive, it has fallen. Only
    gradients are compared, since near the minimum the objective's own digits are used up.

    Returns:
      The point and its gradient; None if rounding leaves nothing to gain.
    """
    direction = -np.linalg.solve(objective.hessian(theta), gradient)
    size = 1.0
    for _ in range(_MOST_HALVINGS):
        point = theta + size * direction
        found = objective.gradient(point)
        length = float(np.linalg.norm(found))
        if length <= 0.5 * least or (direction @ found <= 0.0 and not np.array_equal(point, theta)):
            return point, found
        size *= 0.5
    return None


def minimise(
    features: np.ndarray, targets: np.ndarray, settings: Settings, noise: np.ndarray
) -> Minimum:
    """Newton's method until the gradient is below the tolerance, or rounding stops it.

    It starts at 0, and ends on every data set: steps that halve the least gradient so far are
    finitely many, and after the last of them every step lowers a strongly convex function.

    Args:
      features: Float["records features"], clipped.
      targets: Float["records"]: labels -1 and 1 of the logistic loss, clipped targets else.
      settings: of the mechanism; a tolerance of 0 goes as far as rounding lets it.
      noise: Float["features"], the linear term.
    """
    objective = _Objective(features, targets, settings, noise)
    theta = np.zeros(features.shape[1])
    gradient = objective.gradient(theta)
    least = float(np.linalg.norm(gradient))
    steps = 0
    while steps < _MOST_STEPS:
        length, lost = float(np.linalg.norm(gradient)), objective.rounding(theta)
        # A gradient that is far below its rounding error cannot be told from 0.
        if length + lost <= settings.tolerance or length <= 0.01 * lost:
            break
        moved = _step(objective, theta, gradient, least)
        if moved is None:
            break
        theta, gradient = moved
        least = min(least, float(np.linalg.norm(gradient)))
        steps += 1
    known = float(np.linalg.norm(gradient)) + objective.rounding(theta)
    return Minimum(theta, known, steps)


def release(
    features: np.ndarray, targets: np.ndarray, settings: Settings, source: random.Random
) -> np.ndarray:
    """The parameters, as they may be released.

    Args:
      features: Float["records features"], as ``with_intercept`` makes them.
      targets: Float["records"], as in ``minimise``.
      settings: of the mechanism, which must have a tolerance and output noise.
      source: of randomness; ``random.SystemRandom()`` for what is released.
      NotReached: if rounding keeps the gradient above the tolerance; nothing is released.
    """
    settings = checked(settings)
    size = features.shape[1]
    noise = np.array([source.gauss(0.0, settings.noise) for _ in range(size)])
    found = minimise(features, targets, settings, noise)
    if not found.gradient <= settings.tolerance:
        raise NotReached(
            f"the minimum is not known to the tolerance {settings.tolerance:g}, so that nothing is "
            "released: rounding in so many records needs a larger tolerance"
        )
    hidden = np.array([source.gauss(0.0, settings.output_noise) for _ in range(size)])
    return found.parameters + hidden
