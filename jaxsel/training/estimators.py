"""scikit-learn estimators of objective perturbation that know what they guarantee.

Whoever imports this imports scikit-learn.
"""

import functools
import math
import random
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.default_delta import DELTA
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.training.objective_perturbation import check_intercept, release, with_intercept
from jaxsel.training.objective_privacy import (
    FLOATS,
    REFUSALS,
    Settings,
    checked,
    guarantee,
    noise_for,
)

__all__ = ["FitGuarantee", "PrivateLinearRegression", "PrivateLogisticRegression"]

_GAP = 0.001
"""How far approximate minima may lie apart, in output noises, unless a tolerance is given."""


@printed
class FitGuarantee(NamedTuple):
    """What a fit guarantees of a record that is added or removed.

    Attributes:
      epsilon, delta: proved.
      theorem: the id of the claim that proves it.
      declared: what it takes from the user, in sentences.
      settings: of the mechanism.
    """

    epsilon: float
    delta: float
    theorem: str
    declared: tuple[str, ...]
    settings: Settings

    @property
    def base(self) -> BaseGuarantee:
        """The whole profile, to be composed or tuned."""
        return guarantee(self.settings)

    def summary(self) -> Summary:
        """The guarantee, and what it rests on."""
        said = (
            f"The fitted parameters are ({rounded_up(self.epsilon):g}, {self.delta:g})-"
            f"differentially private, by {self.theorem}.\nDeclared: {'; '.join(self.declared)}."
        )
        rows = [["epsilon", self.epsilon], ["delta", self.delta]]
        return Summary(said, ("guarantee", "value"), rows)


_DECLARED = (
    "neighbours differ by one record more or less",
    "the number of features and their names are public",
    "nothing was fitted on these records before, such as a scaler",
    "its settings were chosen without these records",
    REFUSALS,
    FLOATS,
)


@functools.lru_cache(maxsize=256)
def _least_noise(epsilon: float, delta: float, settings: Settings) -> float:
    return noise_for(epsilon, delta, settings)


@functools.lru_cache(maxsize=256)
def _epsilon(settings: Settings, delta: float) -> float:
    return guarantee(settings).epsilon(delta)


class _Private(BaseEstimator):
    """What both models have in common: the base class declares no parameters."""

    _loss: str
    _theorem = "JX-ObjPert-gap"
    epsilon: float
    delta: float
    noise_multiplier: float | None
    regularisation: float
    feature_norm: float
    intercept: float
    tolerance: float | None
    output_noise: float
    simulation: bool
    random_state: Any
    coef_: Any
    intercept_: Any
    n_features_in_: int

    @property
    def _slope(self) -> float:
        return 1.0

    @property
    def settings(self) -> Settings:
        """What the guarantee depends on, from the parameters alone."""
        check_intercept(self.feature_norm, self.intercept)
        tolerance = self.tolerance
        if tolerance is None:
            tolerance = _GAP * self.regularisation * self.output_noise / 2.0
        found = checked(
            Settings(
                self._loss,
                1.0 if self.noise_multiplier is None else self.noise_multiplier,
                self.regularisation,
                self.feature_norm,
                self._slope,
                tolerance,
                self.output_noise,
            )
        )
        if self.noise_multiplier is not None:
            return found
        return found._replace(noise_multiplier=_least_noise(self.epsilon, self.delta, found))

    @property
    def base(self) -> BaseGuarantee:
        """What one fit guarantees, whatever the data."""
        return guarantee(self.settings)

    def _fitted(self, features: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """The released parameters; sets the guarantee."""
        seeded = self.random_state is not None
        if seeded and not self.simulation:
            raise InputError(
                "with a random_state the fit is not private; say simulation=True, or leave it out"
            )
        settings = self.settings
        source = random.SystemRandom()
        if seeded:
            source = random.Random(int(check_random_state(self.random_state).randint(2**31)))
        rows = with_intercept(features, self.feature_norm, self.intercept)
        found = release(rows, targets, settings, source)
        declared = (*_DECLARED, *self._declared())
        if seeded:
            declared = (*declared, "SIMULATION: who knows the random_state has no privacy")
        self.guarantee_ = FitGuarantee(
            _epsilon(settings, self.delta), self.delta, self._theorem, declared, settings
        )
        return found

    def _declared(self) -> tuple[str, ...]:
        return ()

    def _predicted(self, features: Any) -> np.ndarray:
        check_is_fitted(self)
        given: Any = validate_data(self, features, reset=False, dtype=np.float64)
        # As trained, but for the intercept, which is a parameter of its own here.
        room = math.sqrt(self.feature_norm**2 - self.intercept**2)
        rows = with_intercept(given, room, 0.0)
        return rows @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]

    def _parts(self, parameters: np.ndarray) -> tuple[np.ndarray, float]:
        if self.intercept == 0.0:
            return parameters, 0.0
        return parameters[:-1], float(parameters[-1] * self.intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags


class PrivateLogisticRegression(ClassifierMixin, _Private):
    """Logistic regression of two classes by objective perturbation.

    The sum of the records' logistic losses, lambda/2 times the squared norm of all coefficients,
    the intercept's included, and a normal linear term is minimised. The guarantee is that of
    JX-ObjPert-gap.

    Args:
      epsilon, delta: what one fit is to guarantee; the noise follows from them.
      noise_multiplier: the noise over the sensitivity, in place of that found from epsilon.
      regularisation: lambda, of the sum (not the mean) of losses.
      feature_norm: to which each record, the intercept's feature included, is clipped.
      intercept: the value of that feature, below ``feature_norm``; 0 for none.
      classes: the two labels, as public knowledge; None takes them from the labels, and the
        guarantee then declares that they are public. A record with another label is refused.
      tolerance: of the gradient's norm; None takes lambda times output_noise over 2000.
      output_noise: standard deviation of the noise on each coefficient that hides the tolerance.
      simulation: whether a seed may be given; the fit is then not private.
      random_state: a seed, of simulations alone.

    Example:
        >>> import numpy as np
        >>> from jaxsel.training.estimators import PrivateLogisticRegression
        >>> features = np.random.default_rng(0).normal(size=(2000, 2))
        >>> model = PrivateLogisticRegression(epsilon=1.0, classes=(False, True))
        >>> model.fit(features, features[:, 0] > 0).score(features, features[:, 0] > 0) > 0.8
        True
        >>> round(model.guarantee_.epsilon, 1)
        1.0
    """

    _loss = "logistic"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DELTA,
        *,
        noise_multiplier: float | None = None,
        regularisation: float = 1.0,
        feature_norm: float = 1.0,
        intercept: float = 0.5,
        classes: Any = None,
        tolerance: float | None = None,
        output_noise: float = 1e-3,
        simulation: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise_multiplier = noise_multiplier
        self.regularisation = regularisation
        self.feature_norm = feature_norm
        self.intercept = intercept
        self.classes = classes
        self.tolerance = tolerance
        self.output_noise = output_noise
        self.simulation = simulation
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "PrivateLogisticRegression":
        """Fits the model.

        Args:
          X: Float["records features"], finite.
          y: the labels, two.

        Raises:
          InputError: for a seed without ``simulation``.
          NotReached: if rounding keeps the minimum from being known; nothing is released, and
            that it is so is not covered.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=1)
        check_classification_targets(y)
        if type_of_target(y) == "multiclass" and self.classes is None:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass."
            )
        classes = np.unique(y) if self.classes is None else np.unique(np.asarray(self.classes))
        if classes.size != 2:
            raise ValueError(
                f"two classes are told apart, and there is {classes.size} class; give both as "
                "classes"
            )
        if not np.all(np.isin(y, classes)):
            raise ValueError(f"a label is none of the classes {classes.tolist()}")
        parameters = self._fitted(X, np.where(y == classes[1], 1.0, -1.0))
        self.classes_ = classes
        weights, intercept = self._parts(parameters)
        self.coef_, self.intercept_ = weights[None, :], np.array([intercept])
        return self

    def _declared(self) -> tuple[str, ...]:
        return () if self.classes is not None else ("the two labels are public",)

    def decision_function(self, X: Any) -> np.ndarray:
        """The log-odds of the second class, of records that are clipped as in training."""
        return self._predicted(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of both classes, Float["records 2"]."""
        odds = self._predicted(X)
        return np.stack([special.expit(-odds), special.expit(odds)], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The likelier class of each record."""
        odds = self._predicted(X)
        return self.classes_[(odds > 0.0).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


class PrivateLinearRegression(RegressorMixin, _Private):
    """Linear regression by objective perturbation, with residuals that are clipped.

    The loss of a record is half its squared residual, and linear beyond ``slope`` (Huber's), which
    is the same as clipping the slope of the squared loss. See ``PrivateLogisticRegression`` for
    what is minimised, and for the parameters that are not named here.

    Args:
      slope: the largest slope of a record's loss, in units of the target.
      target_bound: to which targets are clipped on both sides of 0.
    """

    _loss = "huber"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DELTA,
        *,
        noise_multiplier: float | None = None,
        regularisation: float = 1.0,
        feature_norm: float = 1.0,
        intercept: float = 0.5,
        slope: float = 1.0,
        target_bound: float = 1.0,
        tolerance: float | None = None,
        output_noise: float = 1e-3,
        simulation: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.noise_multiplier = noise_multiplier
        self.regularisation = regularisation
        self.feature_norm = feature_norm
        self.intercept = intercept
        self.slope = slope
        self.target_bound = target_bound
        self.tolerance = tolerance
        self.output_noise = output_noise
        self.simulation = simulation
        self.random_state = random_state

    @property
    def _slope(self) -> float:
        return self.slope

    def fit(self, X: Any, y: Any) -> "PrivateLinearRegression":
        """Fits the model.

        Args:
          X: Float["records features"], finite.
          y: Float["records"], finite.

        Raises:
          InputError: for a seed without ``simulation``.
          NotReached: if rounding keeps the minimum from being known; nothing is released, and
            that it is so is not covered.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=1, y_numeric=True)
        if not self.target_bound > 0.0 or math.isinf(self.target_bound):
            raise InputError(f"target_bound is {self.target_bound}; it must be finite and above 0")
        clipped = np.clip(np.asarray(y, dtype=np.float64), -self.target_bound, self.target_bound)
        self.coef_, self.intercept_ = self._parts(self._fitted(X, clipped))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The targets that are expected of records, which are clipped as in training."""
        return self._predicted(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
