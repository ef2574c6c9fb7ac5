"""An objective of Optuna, with a stand-in for Optuna, which ``make test-adapters`` has itself."""

import importlib
import sys
import types
from collections import Counter

import pytest

import jaxsel
from jaxsel.host.errors import InputError
from tests.search.asked import asked


class _Distribution:
    def __init__(self, **given):
        self.__dict__.update({"step": None, "log": False} | given)


class _Trial:
    def __init__(self, study, number):
        self.study, self.number, self.params, self.distributions = study, number, {}, {}

    def suggest(self, name, distribution):
        drawn = self.study.sampler.sample_independent(self.study, self, name, distribution)
        self.params[name], self.distributions[name] = drawn, distribution
        return drawn


class _Study:
    def __init__(self, sampler, pruner=None, direction=None):
        self.sampler, self.pruner, self.direction = sampler, pruner, direction
        self.trials, self.told = [], []

    def ask(self):
        self.trials.append(_Trial(self, len(self.trials)))
        return self.trials[-1]

    def tell(self, trial, value):
        self.told.append((trial.number, value))

    def get_trials(self, deepcopy):
        return self.trials


def _stand_in():
    """As much of Optuna's interface as the adapter takes: names, and who calls whom."""
    kinds = ("CategoricalDistribution", "FloatDistribution", "IntDistribution")
    parts = {
        "distributions": {"BaseDistribution": _Distribution}
        | {name: type(name, (_Distribution,), {}) for name in kinds},
        "pruners": {"NopPruner": type("NopPruner", (), {})},
        "samplers": {"BaseSampler": type("BaseSampler", (), {})},
        "study": {"Study": _Study},
        "trial": {"FrozenTrial": _Trial, "Trial": _Trial},
    }
    optuna = types.ModuleType("optuna")
    for part, names in parts.items():
        module = types.ModuleType(f"optuna.{part}")
        module.__dict__.update(names)
        setattr(optuna, part, module)
    floats, whole, words = (
        optuna.distributions.FloatDistribution,
        optuna.distributions.IntDistribution,
        optuna.distributions.CategoricalDistribution,
    )
    _Trial.suggest_float = lambda self, name, low, high, **given: self.suggest(
        name, floats(low=low, high=high, **given)
    )
    _Trial.suggest_int = lambda self, name, low, high, **given: self.suggest(
        name, whole(low=low, high=high, **{"step": 1} | given)
    )
    _Trial.suggest_categorical = lambda self, name, choices: self.suggest(
        name, words(choices=choices)
    )
    optuna.made = []
    optuna.create_study = lambda **given: optuna.made.append(_Study(**given)) or optuna.made[-1]
    return optuna


@pytest.fixture(name="priced", scope="module")
def _priced():
    options = {"base": "pure:epsilon=0.5", "repetitions": "point_mass:count=2"}
    return jaxsel.PrivateSearch([1], score=jaxsel.scores.public(), **options).guarantee


@pytest.fixture(name="adapter")
def _adapter(monkeypatch, priced):
    """The module of the adapter, on the stand-in; what is imported here is forgotten again."""
    monkeypatch.setattr(jaxsel.PrivateSearch, "_proved", lambda self: priced)
    optuna = _stand_in()
    monkeypatch.setitem(sys.modules, "optuna", optuna)
    for part in ("distributions", "pruners", "samplers", "study", "trial"):
        monkeypatch.setitem(sys.modules, f"optuna.{part}", getattr(optuna, part))
    monkeypatch.delitem(sys.modules, "jaxsel.search.optuna", raising=False)
    adapter = importlib.import_module("jaxsel.search.optuna")
    yield adapter
    sys.modules.pop("jaxsel.search.optuna", None)


def _search(adapter, count=6, **given):
    options = {"base": "pure:epsilon=0.5", "score": jaxsel.scores.public()}
    options["repetitions"] = f"point_mass:count={count}"
    return jaxsel.PrivateSearch(adapter.suggested, **asked(**options | given))


def test_the_best_run_is_released_and_the_study_is_told_no_score(adapter):
    seen = []

    def objective(trial):
        rate = trial.suggest_float("rate", 0.0, 1.0)
        assert trial.params == {"rate": rate}
        assert set(trial.distributions) == {"rate"}
        seen.append(rate)
        return -rate, {"weights": rate}

    found = adapter.optimise(objective, _search(adapter))
    assert len(set(seen)) == 6
    assert found[:3] == ({"rate": min(seen)}, -min(seen), {"weights": min(seen)})
    (study,) = adapter.optuna.made
    assert study.told == [(number, 0.0) for number in range(6)]
    assert isinstance(study.pruner, adapter.NopPruner)
    assert study.sampler.infer_relative_search_space(study, None) == {}
    assert study.sampler.sample_relative(study, None, {}) == {}
    # A study that is given is the one that is asked.
    given = _Study(adapter.PrivateSampler(), adapter.NopPruner())
    adapter.optimise(objective, _search(adapter, 2), given)
    assert len(given.told) == 2
    assert len(adapter.optuna.made) == 1


def test_parameters_are_drawn_uniformly_in_their_distributions(adapter):
    seen, rates = Counter(), []

    def objective(trial):
        seen[trial.suggest_int("width", 2, 9, step=2)] += 1
        seen[trial.suggest_float("momentum", 0.0, 0.95, step=0.3)] += 1
        seen[trial.suggest_categorical("optimiser", ["sgd", "adam"])] += 1
        seen[100 + trial.suggest_int("depth", 1, 3, log=True)] += 1
        rates.append(trial.suggest_float("rate", 1e-4, 1.0, log=True))
        return 0.0

    adapter.optimise(objective, _search(adapter, 600))
    four = (2, 4, 6, 8, 0.0, 0.3, 0.6, 0.9)  # as decimals: 0.6 and not 0.6000000000000001
    assert set(seen) == {*four, "sgd", "adam", 101, 102, 103}
    # Of 600 draws of one in four 150 are expected, and 53 to 257 but for 1e-18.
    assert all(53 < seen[value] < 257 for value in four)
    assert 200 < seen["sgd"] < 400
    # log 3, log 5/3 and log 7/5 over log 7: 339, 157 and 104 of 600, within 6 deviations.
    assert abs(seen[101] - 339) < 74
    assert abs(seen[102] - 157) < 65
    assert abs(seen[103] - 104) < 56
    assert abs(sum(rate < 1e-2 for rate in rates) - 300) < 74


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda trial: trial.report(0.5, 1), "trial.report .* stand in the study's storage"),
        (lambda trial: trial.should_prune(), "compares runs"),
        (lambda trial: trial.set_user_attr("score", 0.5), "return it as the outcome"),
        (lambda trial: trial.number, "tells of K"),
        (lambda trial: trial.study, "only suggest_"),
        (lambda trial: trial.suggest_float("x", 0.0, 1.0) and trial._nothing, "only suggest_"),
    ],
)
def test_what_would_leak_is_refused_in_an_objective(adapter, use, match):
    search = _search(adapter)
    with pytest.raises(InputError, match=match):
        adapter.optimise(use, search)
    assert search._state["status"] == ["failed"]
    adapter.optimise(lambda trial: 0.0, search)
    assert search._state["status"] == ["failed"] + ["told"] * 5


def test_what_an_objective_raises_does_not_leave(adapter):
    def objective(trial):
        raise InputError("4711")

    search = _search(adapter, 2)
    assert adapter.optimise(objective, search).candidate is None
    assert ["4711" in problem for problem in search.problems] == [True, True]


def test_ctrl_c_stops_and_the_run_is_made_again(adapter):
    seen = []

    def objective(trial):
        seen.append(trial.suggest_float("rate", 0.0, 1.0))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return 0.0

    search = _search(adapter, 3)
    with pytest.raises(KeyboardInterrupt):
        adapter.optimise(objective, search)
    assert adapter.optimise(objective, search).candidate["rate"] in seen
    assert seen[1] == seen[2]
    assert len(seen) == 4


def test_a_seed_is_asked_for_before_anything_is_made(adapter):
    made = []
    with pytest.raises(InputError, match="say simulation=True"):
        adapter.optimise(made.append, _search(adapter, seed=1))
    assert made == adapter.optuna.made == []
    adapter.optimise(lambda trial: 0.0, _search(adapter, seed=1), simulation=True)


def test_studies_that_choose_are_refused(adapter):
    right = adapter.PrivateSampler(), adapter.NopPruner()
    with_trials = _Study(*right)
    with_trials.ask()

    class Other:
        pass

    for study, match in (
        (_Study(Other(), right[1]), "the study's sampler is Other"),
        (_Study(right[0], Other()), "the study's pruner is Other"),
        (with_trials, "the study has trials already"),
    ):
        with pytest.raises(InputError, match=match):
            adapter.optimise(lambda trial: 0.0, _search(adapter), study)
    with pytest.raises(InputError, match="not handed out by the private search"):
        _Study(*right).ask().suggest_float("rate", 0.0, 1.0)
    with pytest.raises(InputError, match="draws no _Distribution"):
        adapter._drawn(None, _Distribution())


@pytest.mark.parametrize("low", [1, 2, 3])
def test_no_logarithmic_number_is_rounded_beyond_its_ends(adapter, low):
    class End:
        def __init__(self, place):
            self.place = place

        def log_uniform(self, *ends):
            return ends[self.place]

    whole = adapter.IntDistribution(low=low, high=low + 61, step=1, log=True)
    assert [adapter._drawn(End(place), whole) for place in (0, 1)] == [low, low + 61]
