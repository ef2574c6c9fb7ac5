"""A private search as a scikit-learn estimator: fit, predict, and the winner's parameters.

It is no ``BaseSearchCV``: no record is used twice, nothing of the losers is kept, and no scorer
sees private records without noise. Whoever imports this imports scikit-learn.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, Normalizer, PolynomialFeatures
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.host.former_names import former_arguments
from jaxsel.language.default_delta import DELTA
from jaxsel.language.domains import number, probability
from jaxsel.language.parts import read_parts
from jaxsel.language.printing import Summary, printed
from jaxsel.language.relations import ADD_OR_REMOVE_ONE
from jaxsel.questions.released import search_cost
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.search import scores
from jaxsel.search.declarations import Declared, LedgerUse
from jaxsel.search.draws import source
from jaxsel.search.guarantee import SearchGuarantee
from jaxsel.search.private_search import PrivateSearch, Winner
from jaxsel.training.objective_privacy import FLOATS, REFUSALS
from jaxsel.tuning.base_forms import dominating, guarantee_of

__all__ = ["PrivatelyTuned", "TunedGuarantee"]

Candidates = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | Callable[..., Any]

_ROW_BY_ROW = (Binarizer, Normalizer, PolynomialFeatures)
"""Steps of a pipeline that look at each record by itself, and learn nothing of the records."""
_FITTED = ("best_params_", "best_score_", "best_estimator_", "guarantee_", "classes_")


@printed
class TunedGuarantee(NamedTuple):
    """What a fit of ``PrivatelyTuned`` guarantees; it can be pickled.

    Attributes:
      epsilon, delta: proved for every record.
      theorem: the id of the claim that proves it.
      sentences: the guarantee, what it rests on, and what it does not cover.
    """

    epsilon: float
    delta: float
    theorem: str
    sentences: tuple[str, ...]

    def summary(self) -> Summary:
        """The sentences."""
        rows = [["epsilon", self.epsilon], ["delta", self.delta]]
        return Summary("\n".join(self.sentences), ("guarantee", "value"), rows)


class Scoring(NamedTuple):
    """How fits are scored.

    Attributes:
      validation: the chance with which a record is set aside for it.
      noise: standard deviation of the noise on scores, in records; None takes the least with
        which a record that is scored pays no more than one that trains.
      largest_error: at which a record's absolute error is cut; of regressors alone.
    """

    validation: float = 0.2
    noise: float | None = None
    largest_error: float = 1.0


_SCORING = {
    "validation": probability("with which a record is set aside"),
    "noise": number("in records"),
    "largest_error": number("of a record"),
}


# --- What may be searched ---------------------------------------------------------------


def _private_step(estimator: Any) -> tuple[str, Any]:
    """The prefix of its parameters, and the step that guarantees something: the last one.

    Raises:
      InputError: naming a step before it that is fitted on the records.
    """
    prefix = ""
    while isinstance(estimator, Pipeline):
        if estimator.memory is not None:
            raise InputError(
                "a pipeline with a memory keeps records and what losers tried in files; leave "
                "memory out"
            )
        *before, (name, last) = estimator.steps
        for other, step in before:
            if step is None or step == "passthrough" or type(step) in _ROW_BY_ROW:
                continue
            raise InputError(
                f"the step {other!r}, a {type(step).__name__}, is fitted on the records or may mix "
                "them, and guarantees nothing; use public constants in its place, or one of "
                f"{', '.join(each.__name__ for each in _ROW_BY_ROW)}"
            )
        prefix, estimator = f"{prefix}{name}__", last
    return prefix, estimator


def _base_of(estimator: Any, given: object) -> BaseGuarantee:
    """What one fit of a candidate guarantees.

    Raises:
      InputError: if nobody says.
    """
    _, step = _private_step(estimator)
    # A setting of that name is what was told to the step, and not what one fit of it guarantees.
    known = None if "base" in step.get_params(deep=False) else getattr(step, "base", None)
    if known is None and given is None:
        raise InputError(
            f"{type(step).__name__} does not say what it guarantees; give a private estimator "
            "with a base, such as those of jaxsel.training.estimators, or say as base what one fit "
            "guarantees"
        )
    if known is not None and given is not None:
        raise InputError(f"{type(step).__name__} knows what it guarantees; leave base out")
    return guarantee_of(given if known is None else known)


def _seeds(parameters: Mapping[str, Any]) -> list[str]:
    """Names of the parameters from which random numbers would be known."""
    return [
        name
        for name, value in parameters.items()
        if name.endswith("random_state") and value is not None
    ]


def _listed(candidates: Candidates) -> Sequence[Mapping[str, Any]] | None:
    """The candidates as a list; None if a function draws them."""
    if callable(candidates):
        return None
    found = list(ParameterGrid(candidates)) if isinstance(candidates, Mapping) else [*candidates]
    if not found or not all(isinstance(each, Mapping) for each in found):
        raise InputError(
            "candidates is a list of parameters such as {'regularisation': 1.0}, a dictionary of "
            "lists, or a function that draws parameters from a Draw"
        )
    return found


@functools.lru_cache(maxsize=64)
def _score_noise(epsilon: float, text: str, delta: float) -> float:
    """Noise with which a scored record pays no more than one that trains, to 5 %."""
    law = as_law(text)
    low, high = 0.3, 0.3
    while search_cost(curves.discrete_gaussian(high), law).epsilon(delta) > epsilon:
        low, high = high, 4.0 * high
        if high > 1e5:
            raise InputError("no noise on the scores keeps them as private as the runs")
    while high > 1.05 * low:
        middle = math.sqrt(low * high)
        costly = search_cost(curves.discrete_gaussian(middle), law).epsilon(delta) > epsilon
        low, high = (middle, high) if costly else (low, middle)
    return high


# --- The estimator ----------------------------------------------------------------------


def _has(name: str) -> Callable[[Any], bool]:
    def there(self: Any) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return there


class PrivatelyTuned(MetaEstimatorMixin, BaseEstimator):
    """The best of K private fits, K random, and nothing else of them.

    Each record is set aside for validation by a coin of its own; no record that is scored trains.
    ``jaxsel.PrivateSearch`` draws K and the candidates, adds noise to the number of validation
    records that are labelled correctly (for a regressor to the sum of what each absolute error is
    below ``largest_error``), and releases the best fit. A fit that fails ranks below all others.

    Args:
      estimator: a private one with a ``base``, or a Pipeline whose other steps look at each record
        by itself; others with ``base``.
      candidates: a list of parameters, a dictionary of lists (their grid), or a function of a
        ``Draw``; each run draws one, with replacement.
      repetitions: law of K, or its text.
      delta: of the guarantee.
      base: what one fit guarantees whatever its candidate, if the estimator does not say.
      scoring: how fits are scored, as a ``Scoring``, or text such as "validation=0.3,noise=8".
      pad: as ``watched``, which is declared to ``PrivateSearch``.
      ledger: as for ``PrivateSearch``.
      simulation: whether a seed may be given; the fit is then not private.
      random_state: a seed, of simulations alone.

    Attributes:
      best_params_, best_score_, best_estimator_: of the winner; the score with its noise.
      guarantee_: what is proved of all of this.

    Example:
        >>> import numpy as np
        >>> from jaxsel.search.sklearn import PrivatelyTuned
        >>> from jaxsel.training.estimators import PrivateLogisticRegression
        >>> features = np.random.default_rng(0).normal(size=(2000, 2))
        >>> labels = features[:, 0] > 0
        >>> one = PrivateLogisticRegression(noise_multiplier=8.0, classes=(False, True))
        >>> search = PrivatelyTuned(one, {"feature_norm": [1.0, 3.0]}, "geometric:mean=3")
        >>> search.fit(features, labels).score(features, labels) > 0.7
        True
    """

    estimator: Any

    @former_arguments(
        {
            "validation": "scoring.validation",
            "score_noise": "scoring.noise",
            "largest_error": "scoring.largest_error",
            **{name: f"ledger.{name}" for name in ("data", "budget")},
        },
        first={"ledger": "path"},
    )
    def __init__(
        self,
        estimator: Any,
        candidates: Any,
        repetitions: Repetitions | str = "geometric:mean=10",
        *,
        delta: float = DELTA,
        base: object = None,
        scoring: str | Scoring | Mapping[str, float] = "validation=0.2",
        pad: bool = False,
        ledger: str | Path | LedgerUse | Mapping[str, Any] | None = None,
        simulation: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.repetitions = repetitions
        self.delta = delta
        self.base = base
        self.scoring = scoring
        self.pad = pad
        self.ledger = ledger
        self.simulation = simulation
        self.random_state = random_state

    # --- What is proved ------------------------------------------------------------------

    def _with(self, parameters: Mapping[str, Any]) -> Any:
        """An estimator of its own: what is fitted is no part of the candidates, nor of another."""
        fresh: Any = clone(self.estimator)
        own = {name: clone(value, safe=False) for name, value in parameters.items()}
        return fresh.set_params(**own)

    def _guarantee_of_one(self) -> BaseGuarantee:
        """What one fit guarantees, whichever its candidate."""
        listed = _listed(self.candidates)
        if listed is None:
            if self.base is None:
                raise InputError(
                    "candidates is a function, whose draws may be of any privacy: say what each "
                    "fit guarantees as base, or list the candidates"
                )
            return _base_of(self.estimator, self.base)
        return dominating([_base_of(self._with(each), self.base) for each in listed])

    def _scoring(self) -> Scoring:
        return Scoring(**read_parts("scoring", self.scoring, _SCORING))

    def _search(self, seed: int | None, classifies: bool) -> PrivateSearch:
        base, law = self._guarantee_of_one(), as_law(self.repetitions)
        scoring = self._scoring()
        noise = scoring.noise
        if noise is None:
            noise = _score_noise(search_cost(base, law).epsilon(self.delta), law.name, self.delta)
        # The sum, not the mean, of what errors are below the largest: how many is private.
        kind = (
            scores.count(noise)
            if classifies
            else scores.clipped_mean(0.0, scoring.largest_error, 1, noise)
        )
        listed = _listed(self.candidates)
        return PrivateSearch(
            self.candidates if listed is None else [dict(each) for each in listed],
            base=base,
            score=kind,
            repetitions=law,
            delta=self.delta,
            ledger=self.ledger,
            declared=Declared(
                scored="validation",
                relation=ADD_OR_REMOVE_ONE,  # as is declared
                watched=self.pad,
            ),
            seed=seed,
        )

    def _stated(self, proved: SearchGuarantee) -> TunedGuarantee:
        said = [*proved.sentences()]
        said.append(
            "Declared: neighbours differ by one record more or less; labels, features' names and "
            "candidates are public; nothing was fitted on these records before, such as a scaler; "
            f"{REFUSALS}; {FLOATS}."
        )
        if self.base is not None:
            said.append("Declared: one fit guarantees the base, whichever its candidate.")
        return TunedGuarantee(proved.epsilon, proved.delta, proved.theorem, tuple(said))

    # --- Fitting -------------------------------------------------------------------------

    def _seed(self) -> int | None:
        listed = _listed(self.candidates) or []
        inner = [name for each in [{}, *listed] for name in _seeds(self._with(each).get_params())]
        if (self.random_state is not None or inner) and not self.simulation:
            raise InputError(
                f"with {(inner or ['random_state'])[0]} the fit is not private; say "
                "simulation=True, or leave it out"
            )
        if self.random_state is None:
            if inner:
                raise InputError(
                    f"{inner[0]} would be the seed of every run; give random_state to the search"
                )
            return None
        return int(check_random_state(self.random_state).randint(2**31))

    def fit(self, X: Any, y: Any) -> "PrivatelyTuned":
        """Makes all fits, and keeps the best.

        Args:
          X: Float["records features"], finite.
          y: Shaped["records"], labels or targets.

        Raises:
          InputError: for a parameter out of range; a step that is fitted on the records without a
            guarantee; a seed without ``simulation``; or if no fit was made, which the guarantee
            covers, or none succeeded, which it covers as far as that of one fit does.
        """
        for name in _FITTED:  # what an earlier fit found is not that of this one
            vars(self).pop(name, None)
        classifies = self._kind()
        seed = self._seed()
        validation = self._scoring().validation
        search = self._search(seed, classifies)
        rows: Any
        targets: Any
        rows, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=not classifies, ensure_min_samples=2
        )
        if classifies:
            self._check_labels(targets)
        coins = source(None if seed is None else seed + 1)
        aside = np.array([coins.random() < validation for _ in range(rows.shape[0])])
        parts = (rows[~aside], targets[~aside], rows[aside], targets[aside])

        def train(candidate: Mapping[str, Any], run_seed: int) -> tuple[Any, Any]:
            model = self._ready(self._with(candidate), run_seed)
            model.fit(*parts[:2])
            return self._scored(model, *parts[2:], classifies), model

        found = search.run(train, simulation=self.simulation)
        self._take(found)
        return self

    def _kind(self) -> bool:
        if is_classifier(self.estimator):
            return True
        if not is_regressor(self.estimator):
            raise InputError(
                f"{type(self.estimator).__name__} is neither a classifier nor a regressor, so that "
                "there is nothing to score"
            )
        return False

    def _check_labels(self, labels: np.ndarray) -> None:
        check_classification_targets(labels)
        prefix, _ = _private_step(self.estimator)
        stated = self.estimator.get_params().get(f"{prefix}classes")
        self.classes_ = np.unique(labels if stated is None else np.asarray(stated))
        if self.classes_.size < 2:
            raise InputError("there is one class alone in the labels, and nothing to tell apart")
        tags: Any = get_tags(self.estimator).classifier_tags
        if self.classes_.size > 2 and not tags.multi_class:
            raise InputError(
                "Only binary classification is supported. The type of the target is multiclass."
            )

    def _ready(self, model: Any, run_seed: int) -> Any:
        """A candidate with what a run of its own needs: all labels, and in simulations a seed."""
        prefix, _ = _private_step(model)
        known, wanted = model.get_params(), {}
        # The training part may lack a label.
        if f"{prefix}classes" in known:
            wanted[f"{prefix}classes"] = self.classes_.tolist()
        if not self.simulation:
            # A function of candidates may bring a seed that nobody listed.
            wanted |= dict.fromkeys(_seeds(known))
        elif self.random_state is not None:
            wanted |= {f"{prefix}random_state": run_seed % 2**31, f"{prefix}simulation": True}
        return model.set_params(**{name: wanted[name] for name in wanted if name in known})

    def _scored(self, model: Any, rows: np.ndarray, targets: np.ndarray, classifies: bool) -> Any:
        if not rows.shape[0]:
            return 0 if classifies else np.zeros(0)
        predicted = model.predict(rows)
        if classifies:
            return np.asarray(predicted == targets, dtype=bool)
        return self._scoring().largest_error - np.abs(predicted - targets)

    def _take(self, found: Winner) -> None:
        if found.candidate is None:
            raise InputError(
                "no fit was made, since K was 0, or none succeeded, so that nothing is released; "
                "the guarantee covers the first; that a fit fails it covers as far as that of one "
                "fit does, and that rounding refuses one is not covered"
            )
        self.best_params_ = dict(found.candidate)
        self.best_score_ = found.score
        self.best_estimator_ = found.outcome
        self.guarantee_ = self._stated(found.guarantee)

    # --- The winner ----------------------------------------------------------------------

    def _asked(self, X: Any) -> tuple[Any, Any]:
        """The winner, and the records as it takes them."""
        check_is_fitted(self)
        return self.best_estimator_, validate_data(self, X, reset=False, dtype=np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """What the winner predicts."""
        winner, rows = self._asked(X)
        return winner.predict(rows)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The winner's probabilities."""
        winner, rows = self._asked(X)
        return winner.predict_proba(rows)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """The winner's decision function."""
        winner, rows = self._asked(X)
        return winner.decision_function(rows)

    def score(self, X: Any, y: Any) -> float:
        """The winner's score on records that were not given to ``fit``, without noise."""
        winner, rows = self._asked(X)
        return winner.score(rows, y)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.non_deterministic = self.random_state is None
        return tags
