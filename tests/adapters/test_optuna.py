"""An objective of Optuna in a private search: candidates, refusals, and no score anywhere."""

import logging
import struct
from collections import Counter

import optuna
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.search.optuna import PrivateSampler, optimise, suggested
from jaxsel.training.objective_perturbation import NotReached
from tests.search.asked import asked

# A score whose digits are found wherever they stand, as text or as a float's bytes.
SCORE = 0.7234567890123457


class KilledError(BaseException):
    """What no handler of Exception sees."""


def _search(**given):
    options = {
        "base": "pure:epsilon=0.5",
        "repetitions": "point_mass:count=6",
        "score": jaxsel.scores.public(),
    }
    return jaxsel.PrivateSearch(suggested, **asked(**options | given))


def _study(**given):
    options = {"sampler": PrivateSampler(), "pruner": optuna.pruners.NopPruner()}
    return optuna.create_study(**options | given)


def _objective(trial):
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    if trial.suggest_categorical("optimiser", ["sgd", "adam"]) == "adam":
        trial.suggest_float("momentum", 0.0, 0.9, step=0.3)
    trial.suggest_int("width", 2, 8, step=2)
    trial.suggest_int("depth", 1, 64, log=True)
    return -abs(rate - 0.1), {"weights": rate}


def test_a_user_of_optuna_has_a_stated_guarantee():
    winner = optimise(_objective, _search())
    assert set(winner.candidate) >= {"rate", "optimiser", "width", "depth"}
    assert winner.outcome == {"weights": winner.candidate["rate"]}
    assert "differentially private" in str(winner)


def test_candidates_are_drawn_uniformly_in_their_distributions():
    seen = Counter()

    def objective(trial):
        seen[trial.suggest_int("width", 2, 8, step=2)] += 1
        seen[trial.suggest_float("momentum", 0.0, 0.9, step=0.3)] += 1
        seen[trial.suggest_int("depth", 1, 3, log=True) + 100] += 1
        return 0.0

    optimise(objective, _search(repetitions="point_mass:count=600"))
    assert set(seen) == {2, 4, 6, 8, 0.0, 0.3, 0.6, 0.9, 101, 102, 103}
    # Of 600 draws of one in four 150 are expected, and 53 to 257 but for 1e-18.
    assert all(53 < seen[value] < 257 for value in (2, 4, 6, 8, 0.0, 0.3, 0.6, 0.9))


def test_the_same_winner_after_a_stop(tmp_path):
    made = []

    def killed(trial):
        found = _objective(trial)
        made.append(trial.params)
        if len(made) == 3:
            raise KeyboardInterrupt
        return found

    options = {"storage": tmp_path / "s"}
    with _search(**options) as search, pytest.raises(KeyboardInterrupt):
        optimise(killed, search)
    with _search(**options) as search:
        winner = optimise(killed, search)
    assert made[2] == made[3]  # the run that was stopped, with the same candidate
    assert winner.candidate == min(made, key=lambda each: abs(each["rate"] - 0.1))
    with _search(**options) as search:
        assert optimise(killed, search)[:3] == winner[:3]


def test_no_score_stands_in_a_database_a_journal_or_the_log(tmp_path, caplog):
    def objective(trial):
        trial.suggest_float("rate", 0.0, 1.0)
        return SCORE

    journal = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
    )
    optuna.logging.enable_propagation()
    with caplog.at_level(logging.DEBUG):
        for storage in (f"sqlite:///{tmp_path / 'study.db'}", journal):
            winner = optimise(objective, _search(), _study(storage=storage))
            assert winner.score == SCORE
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"rate" in content
    for form in (b"0.72345678", struct.pack("<d", SCORE), struct.pack(">d", SCORE)):
        assert form not in content
    assert "0.7234" not in caplog.text


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda trial: trial.report(0.5, 1), "stand in the study's storage"),
        (lambda trial: trial.should_prune(), "compares runs"),
        (lambda trial: trial.set_user_attr("score", 0.5), "return it as the outcome"),
        (lambda trial: trial.number, "tells of K"),
        (lambda trial: trial.study, "only suggest_"),
    ],
)
def test_what_would_leak_is_refused_in_an_objective(use, match):
    search = _search()
    with pytest.raises(InputError, match=match):
        optimise(use, search)
    assert search._state["status"] == ["failed"]  # it is not made again
    optimise(_objective, search)


@pytest.mark.parametrize(
    "problem", [NotReached("4711 is above"), InputError("4711"), SystemExit(4711), KilledError()]
)
def test_what_an_objective_raises_does_not_leave(problem):
    def objective(trial):
        trial.suggest_float("rate", 0.0, 1.0)
        raise problem

    search = _search()
    assert optimise(objective, search).candidate is None
    assert len(search.problems) == 6
    assert type(problem).__name__ in search.problems[0]


def test_an_objective_whose_score_is_none_fails():
    search = _search()
    assert (
        optimise(lambda trial: trial.suggest_float("rate", 0.0, 1.0) and None, search).candidate
        is None
    )
    assert len(search.problems) == 6


def test_a_seed_is_asked_for_before_anything_is_made():
    made = []
    with pytest.raises(InputError, match="say simulation=True"):
        optimise(made.append, _search(seed=1))
    assert made == []


def test_other_samplers_pruners_and_trials_are_refused():
    enqueued = _study()
    enqueued.enqueue_trial({"rate": 0.1})
    for study, match in (
        (_study(sampler=optuna.samplers.TPESampler()), "TPESampler"),
        (_study(sampler=optuna.samplers.RandomSampler(seed=1)), "seed of its own"),
        (_study(pruner=optuna.pruners.MedianPruner()), "MedianPruner"),
        (enqueued, "enqueued"),
    ):
        with pytest.raises(InputError, match=match):
            optimise(_objective, _search(), study)


def test_a_trial_that_others_make_is_refused():
    study = _study()
    with pytest.raises(InputError, match="not handed out"):
        study.optimize(lambda trial: trial.suggest_float("rate", 0.0, 1.0), n_trials=1)


def test_a_pruned_trial_ranks_below_all_others():
    search = _search(stopping="own trajectory")

    def objective(trial):
        if trial.suggest_float("rate", 0.0, 1.0) > 0.3:
            raise optuna.TrialPruned
        return -1e9

    winner = optimise(objective, search)
    assert winner.candidate is None or winner.candidate["rate"] <= 0.3
