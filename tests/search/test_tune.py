"""A private search of the CNN's settings: its result, what it keeps, going on after a kill."""

import contextlib
import json
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.data.images import ImageSet, load_images
from jaxsel.host.errors import InputError
from jaxsel.language.printing import plain
from jaxsel.reports.reading import RELEASE
from jaxsel.search import tune as tuning
from jaxsel.search.declarations import LedgerUse
from jaxsel.search.private_search import Winner
from jaxsel.search.tune import correct_on_test, private_search, train_runs
from jaxsel.training.canaries import Linear
from jaxsel.training.runs import addresses, begin
from jaxsel.training.search_plan import plan_search

SETTINGS = {
    "rates": [0.1, 0.5],
    "noise_multipliers": [2.0],
    "clip_norms": [1.0],
    "batch_sizes": [16.0],
    "epochs": 1.0,
    "delta": 1e-3,
}
# What a search keeps and releases is the same for every network; the true one is trained
# in ``test_tune_command``.
MODEL = Linear(10)


@pytest.fixture(scope="module")
def images() -> ImageSet:
    found = load_images()
    return found._replace(images=found.images[:60], labels=found.labels[:60])


@pytest.fixture(scope="module")
def plan():
    return plan_search(examples=60, repetitions=laws.parse("poisson:mean=3"), **SETTINGS)


def searched(plan, images, seed, storage=None, told=None, **options):
    """The winner; what is told of each run is kept in ``told``, by the seed of the run."""
    with private_search(plan, seed=seed, storage=storage) as search:
        tell = search.tell

        def kept(run, right=None, params=None, **failed):
            if told is not None:
                told[run.seed] = right, leaves(params)
            tell(run, right, params, **failed)

        search.tell = kept
        train_runs(search, plan, images, MODEL, **options)
        return search.release(simulation=True)


def seed_of(plan, runs):
    """A seed whose search makes that many runs."""
    for seed in range(200):
        with private_search(plan, seed=seed) as search:
            if search._state["count"] == runs:
                return seed
    raise AssertionError


def leaves(params):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(params)]


class _Killed(Exception):
    pass


@pytest.fixture
def saved_at_every_step(monkeypatch):
    monkeypatch.setattr(tuning, "_SAVE_SECONDS", 0.0)
    # One step at a time, however fast the machine is.
    monkeypatch.setattr(tuning, "_CHUNK_SECONDS", 0.0)


def test_a_killed_search_goes_on_to_the_same_winner(plan, images, tmp_path, saved_at_every_step):
    chosen = seed_of(plan, 3)
    whole = searched(plan, images, chosen)
    steps = sum(3 * [plan.candidates[0].steps])
    told, lost = [], []

    def kill(done):
        told.append(done)
        if len(told) in (2, 4, 6, 8):  # with a step that is saved in between
            lost.append(done)
            raise _Killed

    for _ in range(4):  # more often than a run that saves nothing may be lost
        with pytest.raises(_Killed):
            searched(plan, images, chosen, tmp_path, progress=kill)
    resumed = searched(plan, images, chosen, tmp_path, progress=kill)
    # Only what was under way when it was killed is trained again.
    assert sum(told) == steps + sum(lost)
    assert resumed.candidate == whole.candidate
    assert resumed.score == whole.score
    for ours, theirs in zip(leaves(whole.outcome), leaves(resumed.outcome), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    # A finished search costs nothing, another one is refused, and no loser is left.
    assert searched(plan, images, chosen, tmp_path).score == whole.score
    with pytest.raises(InputError, match="another"):
        searched(plan._replace(delta=2e-3), images, chosen, tmp_path)
    assert tmp_path.stat().st_mode & 0o077 == 0
    assert {path.suffix for path in tmp_path.iterdir()} <= {".nc", ".outcome"}
    assert len(list(tmp_path.glob("*.outcome"))) == 1


def test_a_run_that_is_lost_at_every_step_is_not_handed_out_for_ever(
    plan, images, tmp_path, saved_at_every_step
):
    chosen = seed_of(plan, 2)

    def kill(done):
        raise _Killed

    for _ in range(4):
        with pytest.raises(_Killed):
            searched(plan, images, chosen, tmp_path, progress=kill)
    found = searched(plan, images, chosen, tmp_path, progress=kill)
    assert found.candidate is None
    assert "repeated as it was" in str(found.guarantee)


def test_a_run_whose_batch_did_not_fit_has_failed(plan, images, monkeypatch):
    trained = tuning._trained

    def full(*given):
        state = trained(*given)
        return state._replace(overflow=~state.overflow)

    monkeypatch.setattr(tuning, "_trained", full)
    with private_search(plan, seed=seed_of(plan, 2)) as search:
        train_runs(search, plan, images, MODEL)
        assert search.release(simulation=True).candidate is None
        assert search._state["status"] == ["failed"] * 2
        assert search.problems == ()  # it is told as a failure, and not as a score that is none


def test_nothing_is_released_when_nothing_is_run(plan, images):
    found = searched(plan, images, seed_of(plan, 0))
    assert found.candidate is None
    assert correct_on_test(found.outcome, images, MODEL) == 0


def test_every_bit_of_a_seed_counts(images):
    state = begin(MODEL, images.images[0], addresses([5, 5 + 2**32, 6]))
    kernels = np.asarray(state.params["Dense_0"]["kernel"]).reshape(3, -1)
    assert len(np.unique(kernels, axis=0)) == 3


def test_without_a_seed_no_two_searches_are_alike(plan):
    first, second = (private_search(plan)._state["secrets"] for _ in range(2))
    assert not set(first) & set(second)


def test_runs_side_by_side_are_the_same_runs(plan, images, tmp_path, saved_at_every_step):
    chosen = seed_of(plan, 3)
    by_one, by_two = {}, {}
    alone = searched(plan, images, chosen, told=by_one)
    calls = []

    def kill(steps):
        calls.append(steps)
        if len(calls) == 2:
            raise _Killed

    with pytest.raises(_Killed):
        searched(plan, images, chosen, tmp_path, together=2, progress=kill, told=by_two)
    assert calls == [2, 2]
    # It goes on with two side by side, then one.
    resumed = searched(plan, images, chosen, tmp_path, together=2, progress=kill, told=by_two)
    assert calls[-1] == 1
    assert resumed.candidate == alone.candidate
    # Products of other shapes round differently; a label may flip.
    assert abs(resumed.score - alone.score) <= 1.0
    # Without a kill they end side by side, too.
    by_three, sizes = {}, []
    searched(plan, images, chosen, together=3, progress=sizes.append, told=by_three)
    assert sizes[-1] > 1
    assert len(by_one) == 3
    for others in (by_two, by_three):
        assert set(by_one) == set(others)
        for run, (right, params) in by_one.items():
            assert abs(others[run][0] - right) <= 1
            for ours, theirs in zip(params, others[run][1], strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-5)
    with pytest.raises(InputError, match="together"):
        searched(plan, images, chosen, together=0)


def test_only_learning_rates_may_differ_side_by_side(images):
    grid = SETTINGS | {"noise_multipliers": [2.0, 4.0], "epochs": 10.0}
    plan = plan_search(examples=60, repetitions=laws.geometric(0.05), **grid)
    search = private_search(plan, seed=4)
    asked = []
    for _ in range(8):
        assert search.ready
        run = search.ask()
        state = begin(MODEL, images.images[0], addresses([run.seed]))
        asked.append(run._replace(progress=jax.tree.map(lambda leaf: leaf[0], state)))
    further = asked[0].progress._replace(step=np.int32(2))
    asked[0] = asked[0]._replace(progress=further)
    groups = tuning._side_by_side(asked)
    assert sum(map(len, groups)) == 8
    assert groups[0] == asked[:1]
    for group in groups[1:]:
        assert len({run.candidate.noise_multiplier for run in group}) == 1
    assert len(groups) == 3


# --- What is said of a search, by hand --------------------------------------------------------


@pytest.fixture(name="said", scope="module")
def _said(plan):
    """A release whose numbers are given: 9 of 12 right with noise, 80 of 100 on the test images."""
    search = private_search(plan, seed=1)
    chosen = plan.candidates[1]
    winner = Winner(chosen, 9.0, {"Dense_0": {"kernel": np.ones((2, 3))}}, search.guarantee)
    return tuning.TuneResult("digits", plan, winner, 80, 100, True)


def test_a_release_says_its_numbers(plan, said):
    assert plan.validation_size == 12
    first, accuracy, *others = said.sentences()
    assert first == (
        "Winner: learning rate 0.5, noise multiplier 2, clipping norm 1, batch size 16, "
        f"{plan.candidates[1].steps} steps."
    )
    noise = f"{plan.score_noise / 12:.2g}"
    assert f"Accuracy: 0.7500 on the 12 validation images, with noise of {noise}" in accuracy
    assert "0.8000 on the 100 test images (taken to be public)" in accuracy
    assert [*said.winner.guarantee.sentences()] == others[:-2]
    single = plan.base.epsilon(1e-3)
    assert others[-2].startswith("One run without a search: (")
    assert single <= float(others[-2].split("(")[1].split(",")[0]) <= single + 1e-3
    assert "Threefry's, in float32: for experiments" in others[-1]
    nothing = said._replace(winner=said.winner._replace(candidate=None, outcome=None))
    assert nothing.sentences()[0] == "K was 0, or no run succeeded: nothing is released."
    assert list(nothing.sentences()[1:]) == others
    assert str(said) == said.summary().sentence == "\n".join(said.sentences())
    record = said.as_record()
    assert record["epsilon"] == said.winner.guarantee.epsilon
    assert record["base"] == plan.single_base
    assert record["candidates"] == 2
    assert record["winner"] == plan.candidates[1]
    assert record["noisy_validation_accuracy"] == 0.75
    assert (record["validation_size"], record["test_accuracy"]) == (12, 0.8)
    assert record["score_noise"] == plan.score_noise
    assert f"sigma={plan.score_noise!r}" in record["scores"]
    assert record["single_run_epsilon"] == single
    assert record["simulated"] is True


def test_a_winner_is_saved_by_the_names_of_its_layers(said, tmp_path):
    said.save(tmp_path / "w.npz")
    with np.load(tmp_path / "w.npz") as saved:
        assert {name: saved[name].tolist() for name in saved} == {
            "Dense_0/kernel": np.ones((2, 3)).tolist()
        }
    said._replace(winner=said.winner._replace(outcome=None)).save(tmp_path / "none.npz")
    assert not (tmp_path / "none.npz").exists()


def test_tune_hands_on_what_it_is_told(plan, images, tmp_path, monkeypatch):
    """Every argument reaches the search, its training and its release; nothing is trained."""
    seen = {}

    def began(plan, **options):
        seen.update(plan=plan, **options)
        return private_search(plan, seed=options["seed"])

    def trained(search, plan, images, model, **options):
        seen.update(trained=options)
        options["progress"](3)
        for run in search:
            search.tell(run, 9, None)

    @contextlib.contextmanager
    def bar(*given, **named):
        seen.update(bar=(given, named))
        yield lambda steps: seen.update(steps=steps)

    def loaded(*given):
        seen.update(loaded=given)
        return images._replace(
            test_images=images.test_images[:9], test_labels=images.test_labels[:9]
        )

    def planned(**given):
        seen.update(planned=given)
        return plan

    monkeypatch.setattr(tuning, "load_images", loaded)
    monkeypatch.setattr(tuning, "plan_search", planned)
    monkeypatch.setattr(tuning, "private_search", began)
    monkeypatch.setattr(tuning, "train_runs", trained)
    monkeypatch.setattr(tuning, "progress_bar", bar)
    monkeypatch.setattr(tuning, "correct_on_test", lambda params, images, model: 7)
    within = LedgerUse(tmp_path / "l", "digits", 9.0, "on the way")
    texts = {"learning_rates": "0.1,0.5", "noise_multipliers": "2,3", "clip_norms": "1.5"}
    found = tuning.tune(
        "digits:folder=images",
        grid={**texts, "batch_sizes": "16"},
        training="epochs=2,together=4",
        repetitions="geometric:mean=3",
        delta=1e-3,
        folder=tmp_path / "s",
        ledger={"path": tmp_path / "l", "budget": 9.0, "chosen": "on the way"},
        seed=0,
        progress=True,
    )
    made = seen.pop("plan")
    assert made is plan
    law = seen["planned"].pop("repetitions")
    assert law.name == laws.parse("geometric:mean=3").name
    assert seen.pop("planned") == {
        "examples": 60,
        "rates": (0.1, 0.5),
        "noise_multipliers": [2.0, 3.0],
        "clip_norms": [1.5],
        "batch_sizes": [16.0],
        "epochs": 2.0,
        "delta": 1e-3,
    }
    assert seen.pop("loaded") == ("digits", Path("images"))
    assert seen.pop("steps") == 3
    assert seen.pop("bar") == ((None, 0, True), {"unit": "training steps"})
    assert seen.pop("trained")["together"] == 4
    assert seen == {"storage": tmp_path / "s", "ledger": within, "seed": 0}
    assert (found.data, found.correct, found.tested, found.simulated) == ("digits", 7, 9, True)
    kept = tmp_path / "s" / RELEASE
    assert json.loads(kept.read_text()) == json.loads(json.dumps(plain(found.as_record())))
    assert kept.stat().st_mode & 0o077 == 0
    # What is not said is left out: no ledger, no folder, and no simulation.
    seen.clear()
    found = tuning.tune(
        repetitions="geometric:mean=1.5", grid={**texts, "batch_sizes": "16"}, delta=1e-3
    )
    assert seen.pop("loaded") == ("digits", None)
    assert seen["storage"] is seen["ledger"] is seen["seed"] is None
    assert not found.simulated


@pytest.mark.parametrize(
    ("given", "match"), [({"seed": -1}, "seed"), ({"training": "strides=wide"}, "strides")]
)
def test_what_tune_refuses_is_refused_before_images_are_read(given, match, monkeypatch):
    monkeypatch.setattr(tuning, "load_images", None)
    with pytest.raises(InputError, match=match):
        tuning.tune(**given)
