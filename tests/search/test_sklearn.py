"""PrivatelyTuned: what it refuses, what it releases, and that scikit-learn can use it."""

import math
import pickle
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, GridSearchCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.search import sklearn as module
from jaxsel.search.declarations import Declared
from jaxsel.search.sklearn import PrivatelyTuned, Scoring
from jaxsel.training.estimators import PrivateLinearRegression, PrivateLogisticRegression
from tests.search.asked import asked

ROOT = Path(__file__).parent.parent.parent
ONE = PrivateLogisticRegression(noise_multiplier=4.0, classes=(0, 1))
CANDIDATES = [{"regularisation": 1.0}, {"regularisation": 4.0}]


def _clouds(records=600):
    generator = np.random.default_rng(2)
    labels = generator.integers(0, 2, records)
    return generator.normal(size=(records, 3)) * 0.3 + 0.5 * (2 * labels[:, None] - 1), labels


ROWS, LABELS = _clouds()


def _tuned(estimator=ONE, candidates=CANDIDATES, repetitions="geometric:mean=3", **given):
    parts = {"noise": 6.0} | {n: given.pop(n) for n in Scoring._fields if n in given}
    return PrivatelyTuned(
        estimator, candidates, repetitions, scoring=Scoring(**parts), **asked(**given)
    )


@pytest.fixture
def unpriced(monkeypatch):
    """Many fits, of which nothing is asked that a proof would take a second for."""
    guarantee = jaxsel.PrivateSearch(
        [1],
        base="gaussian:noise_multiplier=4",
        repetitions="geometric:mean=3",
        score=jaxsel.scores.count(6.0),
        declared="scored=validation",
    ).guarantee
    monkeypatch.setattr(
        jaxsel.PrivateSearch, "_proved", lambda self: guarantee._replace(declared=self._declared())
    )


# --- What is proved ---------------------------------------------------------------------


def test_the_guarantee_is_that_of_the_search_of_the_worst_candidate():
    found = _tuned(noise=None).fit(ROWS, LABELS)
    worst = PrivateLogisticRegression(noise_multiplier=4.0, regularisation=1.0).base
    other = PrivateLogisticRegression(noise_multiplier=4.0, regularisation=4.0).base
    alone = jaxsel.search_cost(worst, "geometric:mean=3").epsilon(1e-6)
    assert found.guarantee_.epsilon == pytest.approx(alone, rel=1e-3)
    # one model alone costs less, and so do several of the candidate that is more private
    assert alone > 1.1 * worst.epsilon(1e-6)
    assert alone > jaxsel.search_cost(other, "geometric:mean=3").epsilon(1e-6)
    text = str(found.guarantee_)
    assert "records that are scored train in no run" in text
    assert "nothing was fitted on these records before, such as a scaler" in text
    assert "labels, features' names and candidates are public" in text
    assert "candidates and settings were chosen without these records" in text
    assert "whether rounding refuses a fit does not depend on one of the records" in text
    assert "noise is made of 53-bit floats" in text


def test_scored_records_pay_no_more_than_those_that_train():
    search = _tuned(noise=None)._search(None, True)
    (_, train), (_, scored) = search.guarantee.costs
    assert scored.epsilon <= train.epsilon
    assert scored.epsilon > 0.9 * train.epsilon


def test_a_base_that_nobody_states():
    with pytest.raises(InputError, match="LogisticRegression does not say what it guarantees"):
        _tuned(LogisticRegression(), [{"C": 1.0}]).fit(ROWS, LABELS)
    stated = _tuned(LogisticRegression(), [{"C": 1.0}], base="gaussian:noise_multiplier=4")
    stated.fit(ROWS, LABELS)
    assert "one fit guarantees the base" in str(stated.guarantee_)
    with pytest.raises(InputError, match="knows what it guarantees; leave base out"):
        _tuned(base="pure:epsilon=1").fit(ROWS, LABELS)


def test_drawn_candidates_need_a_base():
    def drawn(draw):
        return {"C": draw.log_uniform(0.1, 10.0)}

    with pytest.raises(InputError, match="say what each fit guarantees as base"):
        _tuned(candidates=drawn).fit(ROWS, LABELS)
    found = _tuned(LogisticRegression(), drawn, base="gaussian:noise_multiplier=4")
    assert 0.1 <= found.fit(ROWS, LABELS).best_params_["C"] <= 10.0


def test_candidates_whose_guarantees_cannot_be_joined(monkeypatch):
    def other_relation(self):
        relation = "replace_one" if self.regularisation > 2.0 else "add_or_remove_one"
        return jaxsel.guarantee_of("gaussian:noise_multiplier=4", relation)

    monkeypatch.setattr(PrivateLogisticRegression, "base", property(other_relation))
    with pytest.raises(InputError, match="replace_one"):
        _tuned().fit(ROWS, LABELS)


# --- What is refused --------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        SelectKBest(k=2),
        SimpleImputer(),
        PCA(2),
        FunctionTransformer(),
        make_pipeline(StandardScaler()),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_step_that_is_fitted_is_refused_by_name(step):
    line = Pipeline([("before", step), ("model", ONE)])
    said = f"the step 'before', a {type(step).__name__}, is fitted on the records"
    with pytest.raises(InputError, match=said):
        _tuned(line, [{"model__regularisation": 1.0}]).fit(ROWS, LABELS)
    # so it is where a candidate brings it, or a pipeline holds a pipeline
    empty = Pipeline([("before", "passthrough"), ("model", ONE)])
    with pytest.raises(InputError, match=said):
        _tuned(empty, [{}, {"before": step}]).fit(ROWS, LABELS)
    with pytest.raises(InputError, match=said):
        _tuned(make_pipeline(line), [{}]).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "wrapped", [GridSearchCV(ONE, {"regularisation": [1.0, 2.0]}), BaggingClassifier(ONE)]
)
def test_what_fits_several_times_guarantees_nothing(wrapped):
    with pytest.raises(InputError, match=f"{type(wrapped).__name__} does not say"):
        _tuned(wrapped, [{}]).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"candidates": []}, "a list of parameters"),
        ({"candidates": "grid"}, "a list of parameters"),
        ({"estimator": StandardScaler(), "candidates": [{}]}, "neither a classifier nor"),
        ({"validation": 0.0}, "validation"),
        ({"validation": 1.0}, "validation"),
        ({"random_state": 1}, "say simulation=True"),
        ({"estimator": clone(ONE).set_params(random_state=1)}, "say simulation=True"),
        ({"candidates": [{}, {"random_state": 1}]}, "say simulation=True"),
        ({"candidates": [{"random_state": 1}], "simulation": True}, "the seed of every run"),
        # What no fit could use is refused once, and is not a search of which every fit fails.
        ({"candidates": [{}, {"intercept": 1.0}]}, "below feature_norm"),
        ({"candidates": [{}, {"intercept": "much"}]}, "intercept is 'much'"),
        # A seed inside a candidate that is an estimator.
        (
            {
                "estimator": make_pipeline(Normalizer(), ONE),
                "candidates": [
                    {"privatelogisticregression": clone(ONE).set_params(random_state=3)}
                ],
            },
            "with privatelogisticregression__random_state the fit is not private",
        ),
        # Its base says what one of its own fits costs, and not what its search does.
        (
            {
                "estimator": PrivatelyTuned(ONE, [{}], "geometric:mean=100", base="pure:epsilon=1"),
                "candidates": [{}],
            },
            "PrivatelyTuned does not say what it guarantees",
        ),
        (
            {"estimator": Pipeline([("model", ONE)], memory="cache"), "candidates": [{}]},
            "a pipeline with a memory keeps records",
        ),
    ],
)
def test_bad_input(given, said):
    with pytest.raises(InputError, match=said):
        _tuned(**given).fit(ROWS, LABELS)


def test_nothing_of_the_losers_is_kept_though_candidates_are_estimators(unpriced):
    """What is fitted is a copy: of the candidates nobody can tell which were drawn."""
    ones = [clone(ONE).set_params(regularisation=value) for value in (1.0, 2.0, 3.0)]
    line = make_pipeline(Normalizer(), ONE)
    search = _tuned(line, [{"privatelogisticregression": one} for one in ones])
    search.fit(ROWS, LABELS)
    loaded = pickle.loads(pickle.dumps(search))
    for each in (*ones, *(one["privatelogisticregression"] for one in loaded.candidates)):
        assert not hasattr(each, "coef_")
    assert hasattr(loaded.best_estimator_[-1], "coef_")


def test_a_seed_that_a_function_of_candidates_brings_is_not_used(unpriced):
    drawn = _tuned(LogisticRegression(), lambda draw: {"random_state": 3}, base="pure:epsilon=1")
    found = drawn.fit(ROWS, LABELS)
    assert found.best_params_ == {"random_state": 3}
    assert found.best_estimator_.random_state is None
    assert "SIMULATION" not in str(found.guarantee_)


def test_a_fit_that_fails_leaves_nothing_of_the_one_before(unpriced):
    search = _tuned().fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="NaN"):
        search.fit(np.full_like(ROWS, math.nan), LABELS)
    with pytest.raises(NotFittedError):
        search.predict(ROWS)
    assert not hasattr(search, "guarantee_")


def test_a_seed_is_for_simulations(unpriced):
    options = {"simulation": True, "random_state": 5}
    first, second = (_tuned(**options).fit(ROWS, LABELS) for _ in range(2))
    np.testing.assert_array_equal(first.best_estimator_.coef_, second.best_estimator_.coef_)
    assert "SIMULATION" in str(first.guarantee_)
    third = _tuned().fit(ROWS, LABELS)
    assert not np.array_equal(first.best_estimator_.coef_, third.best_estimator_.coef_)


def test_no_fit_that_succeeds(unpriced):
    """Every fit fails, which is an outcome like others."""
    hopeless = clone(ONE).set_params(tolerance=1e-300)
    with pytest.raises(InputError, match="that rounding refuses one is not covered"):
        _tuned(hopeless).fit(ROWS, LABELS)


# --- What runs --------------------------------------------------------------------------


def test_a_record_is_set_aside_by_a_coin_of_its_own(unpriced, monkeypatch):
    """No record that is scored trains, and the number of either is random."""
    parts = []
    true_fit, true_predict = PrivateLogisticRegression.fit, PrivateLogisticRegression.predict

    def fit(self, X, y):
        parts.append([set(X[:, 0])])
        return true_fit(self, X, y)

    def predict(self, X):
        parts[-1].append(set(X[:, 0]))
        return true_predict(self, X)

    monkeypatch.setattr(PrivateLogisticRegression, "fit", fit)
    monkeypatch.setattr(PrivateLogisticRegression, "predict", predict)
    fits = 60
    for _ in range(fits):
        _tuned(repetitions="point_mass:count=1").fit(ROWS, LABELS)
    everyone = set(ROWS[:, 0])
    for trained, scored in parts:
        assert not trained & scored
        assert trained | scored == everyone
    sizes = [len(scored) for _, scored in parts]
    law = scipy.stats.binom(fits * len(everyone), 0.2)
    assert law.ppf(5e-7) <= sum(sizes) <= law.isf(5e-7)
    assert len(set(sizes)) > 1
    assert parts[0][1] != parts[1][1]


def test_a_pickle_holds_the_winner_alone(unpriced, monkeypatch):
    """Nor do losers' coefficients and scores, K, or the records stand in its bytes."""
    made = []
    true_fit = PrivateLogisticRegression.fit

    def fit(self, X, y):
        found = true_fit(self, X, y)
        made.append(found.coef_.copy())
        return found

    monkeypatch.setattr(PrivateLogisticRegression, "fit", fit)
    found = _tuned(repetitions="point_mass:count=7").fit(ROWS, LABELS)
    content = pickle.dumps(found)
    assert len(made) == 7
    held = [coefficients.tobytes() in content for coefficients in made]
    assert held.count(True) == 1
    winner = made[held.index(True)]
    np.testing.assert_array_equal(found.best_estimator_.coef_, winner)
    for number in ROWS.ravel()[:50]:
        assert struct.pack("<d", number) not in content
    assert b"_storage" not in content
    assert b"secrets" not in content
    assert {name for name in vars(found) if name.endswith("_")} == {
        "best_params_",
        "best_score_",
        "best_estimator_",
        "guarantee_",
        "classes_",
        "n_features_in_",
    }
    kept = pickle.loads(content)
    np.testing.assert_array_equal(kept.predict(ROWS), found.predict(ROWS))
    assert str(kept.guarantee_) == str(found.guarantee_)


def test_the_score_is_that_of_records_with_noise(unpriced):
    found = _tuned(noise=0.35, repetitions="point_mass:count=1").fit(ROWS, LABELS)
    assert 0.0 <= found.best_score_ <= 600 * 0.4
    assert found.best_score_ == int(found.best_score_)
    assert found.score(ROWS, LABELS) > 0.8


def test_a_regressor_is_ranked_by_errors_that_are_cut(unpriced):
    targets = ROWS @ [0.5, 0.2, 0.0]
    model = PrivateLinearRegression(noise_multiplier=0.5, target_bound=3.0)
    candidates = {"regularisation": [0.1, 1e4]}
    options = {"noise": 0.5, "repetitions": "point_mass:count=24", "largest_error": 0.5}
    found = _tuned(model, candidates, **options).fit(ROWS, targets)
    assert found.best_params_ == {"regularisation": 0.1}  # but once in 2^24
    # what each error is below the largest, summed
    assert 40 * 0.5 * 0.5 < found.best_score_ < 200 * 0.5
    assert not hasattr(found, "predict_proba")


def test_a_label_that_the_training_part_lacks(unpriced):
    """The classes of all records are handed on: a single record of one does no harm."""
    labels = np.zeros(600, dtype=int)
    labels[0] = 1
    for _ in range(8):
        found = _tuned(clone(ONE).set_params(classes=None)).fit(ROWS, labels)
        assert found.classes_.tolist() == [0, 1]


def test_a_pipeline_of_steps_that_look_at_each_record(unpriced):
    line = make_pipeline(Normalizer(), clone(ONE))
    found = _tuned(line, {"privatelogisticregression__regularisation": [1.0, 2.0]})
    assert found.fit(ROWS, LABELS).score(ROWS, LABELS) > 0.8
    assert isinstance(found.best_estimator_, Pipeline)
    outer = make_pipeline(Normalizer(), _tuned()).fit(ROWS, LABELS)
    assert outer.score(ROWS, LABELS) > 0.8


def test_it_is_no_cross_validation():
    assert not issubclass(PrivatelyTuned, BaseSearchCV)
    assert not issubclass(PrivatelyTuned, BaseCrossValidator)
    assert not hasattr(_tuned(), "cv_results_")


def test_a_ledger_adds_up_fits(tmp_path):
    options = {"ledger": tmp_path / "ledger", "data": "clouds"}
    options["repetitions"] = "point_mass:count=1"
    first = _tuned(**options).fit(ROWS, LABELS)
    assert "All searches of clouds" in str(first.guarantee_)
    with pytest.raises(InputError, match="what earlier searches spent is spent"):
        _tuned(**options, budget=1.1 * first.guarantee_.epsilon).fit(ROWS, LABELS)


def test_clone_and_parameters():
    first = _tuned(validation=0.3)
    second = clone(first)
    assert second.get_params()["scoring"] == Scoring(0.3, 6.0)
    assert second.get_params()["estimator__noise_multiplier"] == 4.0
    assert second.estimator is not first.estimator


# Skipped by scikit-learn itself: one because the estimator says that it is not deterministic, one
# unless an environment variable is set.
_SKIPPED = {"check_pipeline_consistency", "check_array_api_input"}


@pytest.mark.parametrize("model", [ONE, PrivateLinearRegression(noise_multiplier=4.0)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_finds_nothing_wrong(model, unpriced):
    checked = clone(model)
    if "classes" in checked.get_params():
        checked.set_params(classes=None)
    found = check_estimator(_tuned(checked, simulation=True), on_fail=None, on_skip=None)
    failed = {row["check_name"]: row["exception"] for row in found if row["status"] == "failed"}
    assert failed == {}
    assert {row["check_name"] for row in found if row["status"] == "skipped"} <= _SKIPPED
    assert len(found) > 30


def test_the_core_does_not_import_it():
    code = (
        "import sys, jaxsel; jaxsel.PrivateSearch; import jaxsel.training.objective_perturbation; "
        "import jaxsel.training.objective_privacy; sys.exit('sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_every_option_reaches_the_search(monkeypatch):
    given = {}
    monkeypatch.setattr(module, "PrivateSearch", lambda *first, **named: given.update(named))
    ledger = {"data": "d", "budget": 3.0, "chosen": "on the way"}
    law = "geometric:mean=3,capped=9"
    _tuned(delta=1e-5, pad=True, ledger="l", **ledger, repetitions=law)._search(7, True)
    assert (given["delta"], given["ledger"], given["seed"]) == (1e-5, {"path": "l", **ledger}, 7)
    assert given["declared"] == Declared("validation", relation="add_or_remove_one", watched=True)
    assert given["repetitions"].maximum == 9
    assert given["score"].words == jaxsel.scores.count(6.0).words
    _tuned(largest_error=2.5)._search(None, False)
    assert given["score"].words == jaxsel.scores.clipped_mean(0.0, 2.5, 1, 6.0).words
    assert given["delta"] == 1e-6
    assert given["ledger"] is given["seed"] is None


def test_noise_on_scores_that_no_noise_makes_cheap_enough_is_refused(monkeypatch):
    tried = []

    class Dear:
        def __init__(self, base, law):
            tried.append(base.name)

        def epsilon(self, delta):
            return math.inf

    monkeypatch.setattr(module, "search_cost", Dear)
    with pytest.raises(InputError, match="no noise on the scores keeps them as private"):
        module._score_noise(1.0, "geometric:mean=3", 1e-7)
    assert len(tried) == 10  # 0.3 times 4^9 is the last below 100,000


def test_the_least_noise_on_scores_is_within_5_percent():
    law, epsilon = "geometric:mean=3", 1.0
    noise = module._score_noise(epsilon, law, 1e-6)
    costs = [
        jaxsel.search_cost(jaxsel.scores.count(sigma).guarantee(), law).epsilon(1e-6)
        for sigma in (noise, noise / 1.06)
    ]
    assert costs[0] <= epsilon < costs[1]


@pytest.mark.parametrize("classifies", [True, False])
def test_errors_are_cut_and_labels_compared(classifies):
    class Model:
        def predict(self, rows):
            return np.array([1.0, 2.0, 3.0])

    found = _tuned(largest_error=5.0)._scored(
        Model(), ROWS[:3], np.array([1.0, 4.0, 2.5]), classifies
    )
    assert found.tolist() == ([True, False, False] if classifies else [5.0, 3.0, 4.5])
    assert found.dtype == (bool if classifies else float)


def test_coins_and_runs_of_a_simulation_have_other_numbers(monkeypatch, unpriced):
    seeds = []
    drawn = module.source
    monkeypatch.setattr(module, "source", lambda seed: seeds.append(seed) or drawn(seed))
    search = _tuned(simulation=True, random_state=5, repetitions="point_mass:count=1")
    seed = search._seed()
    assert 0 <= seed < 2**31
    assert _tuned(candidates=[{"random_state": None}])._seed() is None
    search.fit(ROWS, LABELS)
    _tuned(repetitions="point_mass:count=1").fit(ROWS, LABELS)
    assert seeds == [seed + 1, None]


def test_a_step_that_is_left_out_is_none():
    line = Pipeline([("none", None), ("over", "passthrough"), ("model", ONE)])
    assert module._private_step(line) == ("model__", ONE)


@pytest.mark.parametrize("classifies", [True, False])
def test_where_nobody_is_set_aside_every_run_has_the_score_of_nobody(classifies):
    score = jaxsel.scores.count(1.0) if classifies else jaxsel.scores.clipped_mean(0, 1, 1, 1.0)
    assert score.units(_tuned()._scored(None, ROWS[:0], LABELS[:0], classifies)) == 0


def test_the_winner_answers_for_the_search(unpriced):
    found = _tuned().fit(ROWS, LABELS)
    winner = found.best_estimator_
    for name in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(found, name)(ROWS), getattr(winner, name)(ROWS))
    assert found.score(ROWS, LABELS) == winner.score(ROWS, LABELS)
    assert winner.regularisation == found.best_params_["regularisation"]
    assert found.guarantee_.summary().rows == [
        ["epsilon", found.guarantee_.epsilon],
        ["delta", 1e-6],
    ]


def test_a_run_of_a_simulation_has_its_seed_and_of_a_release_none():
    free = clone(ONE).set_params(classes=None)
    for options, seed in (
        ({"simulation": True, "random_state": 5}, 3),
        ({"simulation": True}, None),
        ({}, None),
    ):
        search = _tuned(free, **options)
        search.classes_ = np.array(["a", "b"])
        ready = search._ready(clone(free), 3 + 2**31).get_params()
        assert ready["random_state"] == seed
        assert ready["simulation"] == (seed is not None)
        assert ready["classes"] == ["a", "b"]


def test_labels_that_no_model_could_tell_apart_are_refused():
    with pytest.raises(InputError, match="there is one class alone"):
        _tuned(clone(ONE).set_params(classes=None))._check_labels(np.zeros(5))
    with pytest.raises(InputError, match="Only binary classification"):
        _tuned(clone(ONE).set_params(classes=None))._check_labels(np.arange(3))
    # The classes that are stated count, and not those of the labels.
    search = _tuned(clone(ONE).set_params(classes=(0, 1)))
    search._check_labels(np.zeros(5, dtype=int))
    assert search.classes_.tolist() == [0, 1]


# --- From the README alone --------------------------------------------------------------


def test_a_walk_of_a_scikit_learn_user(coarse_prices):
    """The README's block runs as it stands, in at most 20 lines, and states a guarantee."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "PrivatelyTuned" in b]
    assert len(block.strip().splitlines()) <= 20
    said = []
    exec(compile(block, "README.md", "exec"), {"print": lambda *args: said.extend(map(str, args))})
    assert any("differentially private" in each for each in said)
