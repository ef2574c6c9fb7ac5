"""What the data decide leaves a search by no exception; folders that are gone on with, or not."""

import json
import math
import random
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

import jaxsel
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.search import draws, ledger, private_search
from jaxsel.search.guarantee import RANDOMNESS
from jaxsel.search.storage import RECORD, Storage
from tests.search.asked import asked

SCORES = [
    jaxsel.scores.count(noise=2.0),
    jaxsel.scores.clipped_mean(0.0, 1.0, size=10, noise=1.0),
    jaxsel.scores.stated(sensitivity=0.1, noise=1.0),
    jaxsel.scores.public(),
]
COUNT = {"score": SCORES[0], "scored": "validation"}


def _search(count=2, **given):
    options = {
        "base": "pure:epsilon=0.5",
        "repetitions": f"point_mass:count={count}",
        "score": jaxsel.scores.public(),
    }
    return jaxsel.PrivateSearch([0.1, 0.2, 0.4], **asked(**options | given))


@pytest.fixture(name="priced", scope="module")
def _priced():
    return _search().guarantee


@pytest.fixture
def unpriced(priced, monkeypatch):
    """Many searches, of which nothing is asked that a proof would take a second for."""
    monkeypatch.setattr(
        jaxsel.PrivateSearch, "_proved", lambda self: priced._replace(declared=self._declared())
    )


@pytest.fixture
def summed(monkeypatch):
    """The searches of a ledger cost 1 each."""
    monkeypatch.setattr(ledger.Ledger, "total", lambda self, delta: float(len(self.entries)))


class Unkind:
    """What cannot be pickled, nor turned into a number or into words."""

    def __reduce__(self):
        raise RecursionError("4711")

    def __float__(self):
        raise SystemExit("4711")

    __repr__ = __float__


def _nested():
    found = []
    for _ in range(100_000):
        found = [found]
    return found


# --- Failures that the data decide --------------------------------------------------------


@pytest.mark.parametrize("score", SCORES, ids=["count", "mean", "stated", "public"])
@pytest.mark.parametrize(
    "told",
    [math.nan, -math.inf, 10**400, None, "0.7", 1j, {}, Unkind(), [[1], [1, 2]], np.zeros((2, 2))],
    ids=["nan", "inf", "large", "none", "text", "complex", "dict", "unkind", "ragged", "table"],
)
@pytest.mark.usefixtures("unpriced")
def test_a_score_that_is_no_number_is_a_failed_run(score, told):
    options = {"score": score} | ({} if score.is_public else {"scored": "validation"})
    search = _search(3, **options)
    assert search.tell(search.ask(), told, "lost") is None
    right = np.array([1.0]) if "one value a record" in score.words else 1
    search.tell(search.ask(), right, "kept")
    found = search.run(lambda candidate, seed: told)
    assert found.outcome == "kept"
    assert len(search.problems) == 2
    assert search._state["status"] == ["failed", "told", "failed"]


@pytest.mark.usefixtures("unpriced")
def test_a_stated_score_beyond_its_unit_is_a_failed_run():
    search = _search(1, score=SCORES[2], scored="validation")
    search.tell(search.ask(), 0.1 * 2.0**45)
    assert search.release().candidate is None
    assert "where floats are coarser" in search.problems[0]


@pytest.mark.parametrize(
    "outcome", [Unkind(), _nested(), lambda: 4711], ids=["recursion", "nested", "function"]
)
@pytest.mark.usefixtures("unpriced")
def test_an_outcome_that_cannot_be_kept_is_a_failed_run(outcome, tmp_path):
    with _search(storage=tmp_path / "s") as search:
        search.tell(search.ask(), 9.0, outcome)
        search.tell(search.ask(), 1.0, "kept")
        assert search.release().outcome == "kept"
        assert len(search.problems) == 1
        assert not list((tmp_path / "s").glob("*.partial"))


@pytest.mark.usefixtures("unpriced")
def test_why_runs_failed_stands_in_the_folder_and_in_nothing_that_is_released(tmp_path):
    def train(candidate, seed):
        raise ValueError("the sum of the records is 4711")

    with _search(storage=tmp_path / "s") as search:
        found = search.run(train)
        assert "4711" not in f"{found} {found!r} {search!r}"
        assert "4711" not in json.dumps(found.guarantee.as_record())
    with _search(storage=tmp_path / "s") as search:
        assert len(search.problems) == 2
        assert "the sum of the records is 4711" in search.problems[0]
    assert stat.S_IMODE((tmp_path / "s" / RECORD).stat().st_mode) == 0o600


@pytest.mark.parametrize("found", [(1.0, "a", "b"), (1.0,), ()])
@pytest.mark.usefixtures("unpriced")
def test_what_training_returns_is_a_score_or_a_pair(found):
    search = _search(1)
    assert search.run(lambda candidate, seed: found).candidate is None
    assert len(search.problems) == 1


@pytest.mark.usefixtures("unpriced")
def test_progress_that_cannot_be_kept_fails_its_run(tmp_path):
    with _search(1, storage=tmp_path / "s") as search:
        run = search.ask()
        search.save(run, Unkind())
        search.tell(run, 5.0, "kept")
        assert search.release().candidate is None
        assert "RecursionError" in search.problems[0]


@pytest.mark.usefixtures("unpriced")
def test_a_look_at_no_number_fails_its_run():
    search = _search(1, **COUNT, stopping="own trajectory", looks=2)
    run = search.ask()
    assert math.isnan(search.look(run, None))
    assert not math.isnan(search.look(run, 3))
    search.tell(run, 5, "kept")
    assert search.release().candidate is None
    with pytest.raises(InputError, match="failed"):
        search.tell(run, 5)


@pytest.mark.usefixtures("unpriced")
def test_a_failed_run_of_an_adaptive_search_has_no_score():
    search = _search(repetitions=None, drawn="adaptively:n=2", **COUNT)
    assert math.isnan(search.tell(search.ask(), "text"))
    assert math.isnan(search.tell(search.ask(), failed=True))


@pytest.mark.usefixtures("unpriced")
def test_what_the_caller_does_wrong_is_said():
    search = _search()
    run = search.ask()
    with pytest.raises(InputError, match="a failed run has no score"):
        search.tell(run, 1.0, failed=True)
    with pytest.raises(InputError, match="step"):
        search.save(run, 0, step=-1)
    search.tell(run, 1.0)
    one = jaxsel.PrivateSearch(
        [lambda: 0], base="pure:epsilon=1", repetitions="point_mass:count=1", score=SCORES[3]
    )
    with pytest.raises(InputError, match="a candidate is a function that cannot be pickled"):
        one.ask()


@pytest.mark.usefixtures("unpriced")
def test_the_guarantee_says_what_it_takes_of_failures_and_of_settings():
    said = str(_search(**COUNT).guarantee)
    assert "this is a number, does not depend on one of the scored records" in said
    assert "whether one fails is covered by what it guarantees" in said
    assert "candidates and settings were chosen without these records" in said
    assert "SIMULATION" not in said
    assert "one of the scored records" not in str(_search().guarantee)


@pytest.mark.usefixtures("unpriced")
def test_of_a_long_problem_the_end_is_kept():
    def train(candidate, seed):
        raise ValueError("a" * 30_000 + "z")

    search = _search(1)
    search.run(train)
    (problem,) = search.problems
    assert len(problem) == 20_000
    assert problem.endswith("az\n")


@pytest.mark.usefixtures("unpriced")
def test_a_search_of_too_many_runs_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(private_search, "_MOST_RUNS", 3)
    with _search(3, storage=tmp_path / "s") as search:
        assert len(search._state["secrets"]) == 3
    with pytest.raises(InputError, match="K was drawn above 3"):
        _search(4, storage=tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.usefixtures("unpriced")
def test_what_watchers_learn_is_said_of_each_search():
    assert "K is fixed; who watches learns how long the runs take" in _search()._watchers()
    adaptive = _search(repetitions=None, drawn="adaptively:n=2", **COUNT)
    assert adaptive._watchers().startswith("Every run and every noisy score is released")
    random_law = _search(repetitions="geometric:mean=3")
    assert "learns about K, which is not covered" in random_law._watchers()
    padded = _search(repetitions="geometric:mean=2,capped=6", watched=True)
    assert "Every search makes 6 runs" in padded._watchers()


# --- Simulations ------------------------------------------------------------------------


@pytest.mark.usefixtures("unpriced")
def test_what_releases_asks_for_the_word_simulation():
    adaptive = _search(repetitions=None, drawn="adaptively:n=2", seed=1, **COUNT)
    assert "SIMULATION" in str(adaptive.guarantee)
    run = adaptive.ask()
    with pytest.raises(InputError, match="say simulation=True"):
        adaptive.tell(run, 3)
    assert adaptive.tell(run, 3, simulation=True) is not None
    looked = _search(1, seed=1, stopping="own trajectory", looks=1, **COUNT)
    run = looked.ask()
    with pytest.raises(InputError, match="say simulation=True"):
        looked.look(run, 3)
    looked.look(run, 3, simulation=True)
    looked.tell(run, 3)  # it returns nothing
    made = []
    with pytest.raises(InputError, match="say simulation=True"):
        _search(seed=1).run(lambda candidate, seed: made.append(seed))
    assert made == []


@pytest.mark.usefixtures("unpriced")
def test_every_score_of_a_simulated_run_has_noise_of_its_own_and_comes_out_as_a_value():
    score = jaxsel.scores.clipped_mean(2.0, 3.0, 10, noise=1.0)
    told, units = np.full(5, 2.5), 5 * 128
    options = {"score": score, "scored": "validation", "stopping": "own trajectory"}

    def noisy(secret, look):
        noise = score.noisy(told, draws.simulated_noise(secret, look)) - units
        return score.value(units + noise)

    search = _search(1, seed=2, looks=2, **options)
    run = search.ask()
    secret = bytes.fromhex(search._state["secrets"][0])
    seen = [search.look(run, told, simulation=True) for _ in range(2)]
    search.tell(run, told)
    seen.append(search.release(simulation=True).score)
    assert seen == [noisy(secret, look) for look in range(3)]
    assert len(set(seen)) == 3
    given = options | {"repetitions": None, "drawn": "adaptively:n=1"}
    adaptive = _search(seed=2, **given)
    secret = bytes.fromhex(adaptive._state["secrets"][0])
    assert adaptive.tell(adaptive.ask(), told, simulation=True) == noisy(secret, 0)
    # Of what is no simulation no secret tells the noise.
    assert isinstance(_search(1, **options)._noise(0, 0), random.SystemRandom)


# --- Going on with a folder ---------------------------------------------------------------


def _mean(size=10, noise=8.0):
    return {"score": jaxsel.scores.clipped_mean(0.5, 1.0, size, noise), "scored": "validation"}


@pytest.mark.parametrize(
    ("first", "other", "differs"),
    [
        (_mean(), _mean(size=11), "score"),
        (_mean(), _mean(noise=8.0000001), "score"),
        ({}, {"base": "pure:epsilon=0.5000000001"}, "base"),
        ({}, {"repetitions": "geometric:mean=2.0000000001"}, "law"),
        ({}, {"delta": 1.00000000001e-6}, "delta"),
        ({}, {"randomness": "run.seed"}, "randomness"),
        ({}, {"seed": 3}, "simulated"),
        ({}, {"stopping": "own trajectory"}, "stopping"),
        (
            {**COUNT, "stopping": "own trajectory", "looks": 1},
            {**COUNT, "stopping": "own trajectory", "looks": 2},
            "stopping",
        ),
        ({**COUNT}, {"scored": "training"}, "score"),
        ({"repetitions": "point_mass:count=2"}, {"watched": True}, "pad"),
        ({}, {"relation": "replace_one"}, "relation"),
        (
            {**COUNT, "base": None, "relation": "add_or_remove_one"},
            {"relation": "replace_one"},
            "relation",
        ),
    ],
)
@pytest.mark.usefixtures("unpriced")
def test_a_folder_holds_every_number_of_its_search(tmp_path, first, other, differs):
    _search(storage=tmp_path / "s", **first).close()
    with pytest.raises(InputError, match=f"differs in {differs}"):
        _search(storage=tmp_path / "s", **first | other)
    _search(storage=tmp_path / "s", **first).close()


@pytest.mark.usefixtures("unpriced")
def test_a_base_whose_name_says_no_numbers_is_told_by_its_profile(tmp_path):
    one, other = (privacy_loss_distribution.from_gaussian_mechanism(s) for s in (4.0, 4.01))
    _search(storage=tmp_path / "s", base=one).close()
    with pytest.raises(InputError, match="differs in profile"):
        _search(storage=tmp_path / "s", base=other)
    _search(storage=tmp_path / "s", base=one).close()


def _atoms(*losses):
    """A loss distribution with a mass of 1e-3 above 0, and the same sum of p exp(-loss)."""
    mass = 1e-3
    if len(losses) == 1:
        up = {0: mass}
    else:
        low, high = (math.exp(-loss) for loss in losses)
        up = {0: mass * (math.exp(-6.0) - high) / (low - high)}
        up[2] = mass - up[0]
    down = {place: up[place] * math.exp(-loss) for place, loss in zip(up, losses, strict=True)}
    laws = [{1: 1.0 - sum(each.values()), **each} for each in (down, up)]
    return privacy_loss_distribution.from_two_probability_mass_functions(
        *({place: math.log(p) for place, p in law.items()} for law in laws)
    )


@pytest.mark.usefixtures("unpriced", "summed")
def test_bases_that_differ_beyond_the_usual_epsilons_alone_are_not_one(tmp_path):
    """Their deltas are equal up to epsilon 4 to nine digits, and differ by a half at 5.5."""
    small, large = _atoms(6.0), _atoms(5.0, 7.0)
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        found = [one.get_delta_for_epsilon(epsilon) for one in (small, large)]
        assert found[0] == pytest.approx(found[1], rel=1e-8)
    assert large.get_delta_for_epsilon(5.5) > 1.3 * small.get_delta_for_epsilon(5.5)
    for first, second in ((small, large), (large, small)):
        _search(storage=tmp_path / "s", base=first).close()
        with pytest.raises(InputError, match="differs in profile"):
            _search(storage=tmp_path / "s", base=second)
        _search(storage=tmp_path / "s", base=first).close()
        shutil.rmtree(tmp_path / "s")


@pytest.mark.usefixtures("unpriced", "summed")
def test_a_refusal_leaves_no_folder(tmp_path):
    """Those above the folder of the search are made for it, too."""
    kept = {"ledger": tmp_path / "own" / "l", "data": "d"}
    with pytest.raises(InputError, match="the budget is"):
        _search(storage=tmp_path / "a" / "b" / "s", budget=0.1, **kept)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").mkdir(mode=0o700)
    with pytest.raises(InputError, match="the budget is"):
        _search(storage=tmp_path / "a" / "b" / "s", budget=0.1, **kept)
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"storage": 5}, "storage is '5'; name a folder"),
        ({"storage": "a\0b"}, "name a folder"),
        ({"ledger": 5, "data": "d"}, "path is 5; it must be the name of a file"),
        ({"ledger": "", "data": "d"}, "path is ''; it must be the name of a file"),
        ({"ledger": "l", "data": 5}, "data is 5; it must be the name of a data set"),
        ({"ledger": "l", "data": "d", "budget": 10**400}, "budget is 1000"),
        ({"delta": 10**400}, "delta is 1000"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": -1}, "seed is -1"),
    ],
)
@pytest.mark.usefixtures("unpriced", "summed")
def test_bad_input_is_refused_in_a_sentence(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        _search(**given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "score",
    [
        lambda most: jaxsel.scores.count(noise=most),
        lambda most: jaxsel.scores.stated(most, 8.0),
        lambda most: jaxsel.scores.clipped_mean(0, most, 10, 8),
    ],
)
def test_a_number_beyond_all_floats_is_refused(score):
    with pytest.raises(InputError, match=r"must (lie in|be)"):
        score(10**400)


@pytest.mark.usefixtures("unpriced")
def test_a_base_that_a_file_says_is_told_by_what_it_says(tmp_path):
    file = tmp_path / "history.json"
    options = {"storage": tmp_path / "s", "base": f"opacus:{file}"}
    file.write_text('{"history": [[4.0, 0.01, 10]]}')
    _search(**options).close()
    file.write_text('{"history": [[4.0, 0.01, 11]]}')
    with pytest.raises(InputError, match="differs in profile"):
        _search(**options)
    file.write_text('{"history": [[4.0, 0.01, 10]]}')
    _search(**options).close()


@pytest.mark.usefixtures("unpriced", "summed")
def test_a_search_that_its_budget_refused_cannot_go_on_without_a_ledger(tmp_path):
    folder = tmp_path / "s"
    kept = {"ledger": tmp_path / "l", "data": "d"}
    with pytest.raises(InputError, match="the budget is"):
        _search(storage=folder, budget=0.1, **kept)
    assert not folder.exists()
    # Nor one that was killed before its budget was asked, nor one that is entered.
    _search(storage=folder, **kept).close()
    with pytest.raises(InputError, match="in the ledger of d, and goes on so"):
        _search(storage=folder)
    with pytest.raises(InputError, match="in the ledger of d, and goes on so"):
        _search(storage=folder, ledger=tmp_path / "l", data="e")
    with pytest.raises(InputError, match="give the ledger that does"):
        _search(storage=folder, ledger=tmp_path / "other", data="d")
    _search(storage=folder, **kept).close()
    assert len(ledger.read(tmp_path / "l", "d").entries) == 1
    _search(storage=tmp_path / "t").close()
    with pytest.raises(InputError, match="without a ledger, and goes on so"):
        _search(storage=tmp_path / "t", **kept)


@pytest.mark.usefixtures("unpriced")
def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    with _search(storage=tmp_path / "s") as search:
        run = search.ask()
        for left in (".outcome.partial", ".outcome.lock", ".progress.partial", ".progress.lock"):
            (tmp_path / "s" / f".{run.name}{left}").write_bytes(b"a loser")
    with _search(storage=tmp_path / "s") as search:
        left = {path.name for path in (tmp_path / "s").iterdir()}
        assert left == {RECORD, f".{RECORD}.lock"}
        search.tell(search.ask(), 0.5)


@pytest.mark.usefixtures("unpriced")
def test_a_copy_of_a_folder_is_said_to_be_another_release(tmp_path):
    with _search(storage=tmp_path / "s") as search:
        assert "a copy of the search's folder that goes on is another release" in str(
            search.guarantee
        )
    assert "another release" not in str(_search().guarantee)


@pytest.mark.usefixtures("unpriced", "summed")
def test_a_refusal_leaves_a_folder_that_was_there(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    options = {"ledger": tmp_path / "l", "data": "d", "budget": 0.1}
    with pytest.raises(InputError, match="the budget is"):
        _search(storage=folder, **options)
    assert RECORD not in [path.name for path in folder.iterdir()]


@pytest.mark.usefixtures("unpriced")
def test_a_folder_is_where_it_was_named(tmp_path, monkeypatch):
    for name in ("home", "here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    for name, place in (("~/s", "home"), ("s", "here")):
        with _search(1, storage=name) as search:
            run = search.ask()
            monkeypatch.chdir(tmp_path / "there")
            search.tell(run, 1.0, "kept")
            assert search.release().outcome == "kept"
            monkeypatch.chdir(tmp_path / "here")
        assert (tmp_path / place / "s" / RECORD).exists()
    assert not list((tmp_path / "there").iterdir())


@pytest.mark.usefixtures("unpriced")
def test_that_the_winner_was_released_is_kept(tmp_path):
    with _search(1, storage=tmp_path / "s") as search:
        search.tell(search.ask(), 1.0, "kept")
        with pytest.raises(InputError, match="every one of its runs has been handed out"):
            search.ask()
        search.release()
    with _search(1, storage=tmp_path / "s") as search:
        with pytest.raises(InputError, match="its winner has been released"):
            search.ask()
        assert search.release().outcome == "kept"


def test_a_file_that_somebody_else_removes_is_gone(tmp_path, monkeypatch):
    storage = Storage(tmp_path / "s", {}, {})
    storage.keep("loser", b"0")
    there = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda self: [self / "gone.outcome", *there(self)])
    storage.drop(None, ())
    assert not list((tmp_path / "s").glob("*.outcome"))
    storage.close()


def test_in_memory_the_best_outcome_alone_is_kept():
    storage = Storage(None, {}, {})
    for name in ("best", "loser"):
        storage.keep(name, b"0")
    storage.drop("best", ())
    assert set(storage._outcomes) == {"best"}


# --- Folders of jaxsel 0.2.0 --------------------------------------------------------------

_NEW_STATE = ("charged", "beside", "void", "problems", "entered", "begun")


def _as_0_2_0(folder, **changed):
    """Makes of a folder what jaxsel 0.2.0 would have written."""
    with records.writer(folder / RECORD, private=True) as save:
        kept = records.read(folder / RECORD, private=True)
        configuration = {
            name: value
            for name, value in kept.configuration.items()
            if name not in ("profile", "randomness", "ledger")
        }
        state = kept.attribute("search", dict)
        state = {name: value for name, value in state.items() if name not in _NEW_STATE}
        state["looks"] = [len(looks) for looks in state["looks"]]
        for name, value in changed.items():
            state[name] = value
        json.dumps(state)
        save(arrays={}, configuration=configuration, attributes={"search": state})


@pytest.mark.usefixtures("unpriced")
def test_a_folder_of_0_2_0_goes_on(tmp_path):
    options = {"storage": tmp_path / "s", "repetitions": "point_mass:count=3"}
    with _search(**options) as search:
        search.tell(search.ask(), 5.0, "first")
    _as_0_2_0(tmp_path / "s")
    for _ in range(2):  # and then as any other
        with _search(**options) as search:
            assert "jaxsel 0.2.0 began the search" in str(search.guarantee)
            search.tell(search.ask(), 4.0)
    with _search(**options) as search:
        assert search.release().outcome == "first"
    with pytest.raises(InputError, match="differs in randomness"):
        _search(**options, randomness="run.seed")


@pytest.mark.parametrize(
    ("changed", "system", "seeded"),
    [
        # Lost, and not made again yet: it has failed, or is repeated.
        ({"status": ["handed out"], "lost": [0], "again": [0]}, ["failed"], ["handed out"]),
        # Made again, with noise that nobody knows of.
        ({"status": ["told"], "lost": [0], "again": []}, None, ["told"]),
        ({"status": ["handed out"], "lost": [0], "again": []}, None, ["handed out"]),
        # Several at a time: one may have killed the other.
        ({"status": ["handed out"] * 2}, None, ["handed out"] * 2),
        ({"status": ["handed out"]}, ["failed"], ["handed out"]),
    ],
)
@pytest.mark.usefixtures("unpriced")
def test_lost_runs_of_a_folder_of_0_2_0(tmp_path, changed, system, seeded):
    for randomness, status in zip(RANDOMNESS, (system, seeded), strict=True):
        options = {"storage": tmp_path / randomness, "repetitions": "point_mass:count=3"}
        _search(**options, randomness=randomness).close()
        _as_0_2_0(tmp_path / randomness, **changed)
        if status is None:
            with pytest.raises(InputError, match="or begin another search in another folder"):
                _search(**options, randomness=randomness)
            continue
        with _search(**options, randomness=randomness) as search:
            assert search._state["status"] == status
            assert (search._state["again"] == []) == ("handed out" not in status)


@pytest.mark.usefixtures("unpriced")
def test_a_folder_of_0_2_0_that_did_not_keep_its_size_is_refused(tmp_path):
    _search(storage=tmp_path / "s", **_mean()).close()
    _as_0_2_0(tmp_path / "s")
    with records.writer(tmp_path / "s" / RECORD, private=True) as save:
        kept = records.read(tmp_path / "s" / RECORD, private=True)
        words, scored = kept.configuration["score"]
        configuration = kept.configuration | {
            "score": [words.replace(" of 10 records,", ""), scored]
        }
        save(
            arrays={},
            configuration=configuration,
            attributes={"search": kept.attribute("search", dict)},
        )
    with pytest.raises(InputError, match="did not keep every number of its score"):
        _search(storage=tmp_path / "s", **_mean())


@pytest.mark.usefixtures("unpriced", "summed")
def test_a_folder_of_0_2_0_is_entered_in_a_ledger(tmp_path):
    _search(storage=tmp_path / "s").close()
    _as_0_2_0(tmp_path / "s")
    options = {"storage": tmp_path / "s", "ledger": tmp_path / "l", "data": "d"}
    for _ in range(2):
        with _search(**options) as search:
            name = search._state["name"]
    assert [each.search for each in ledger.read(tmp_path / "l").entries] == [name]


@pytest.mark.usefixtures("unpriced")
def test_what_a_rule_saw_in_a_folder_of_0_2_0_cannot_be_repeated(tmp_path):
    options = {"storage": tmp_path / "s", "randomness": "run.seed", **COUNT}
    options |= {"stopping": "own trajectory", "looks": 2}
    _search(**options).close()
    _as_0_2_0(tmp_path / "s", status=["handed out"] * 2, looks=[1, 0])
    with _search(**options) as search:
        assert search._state["looks"] == [[None], []]
        assert search._state["charged"] == []  # two were under way: nobody knows which was lost
        for run in search:
            search.tell(run, 5, run.name)
        assert search._state["looks"] == [[], []]
        assert search._state["status"] == ["failed", "told"]
    _search(**options | {"storage": tmp_path / "t"}).close()
    _as_0_2_0(tmp_path / "t", status=["handed out"])
    with _search(**options | {"storage": tmp_path / "t"}) as search:
        assert search._state["charged"] == [0]


# --- No private records are trained on ----------------------------------------------------


def test_a_search_whose_scores_alone_are_private():
    law = "geometric:mean=4"
    search = _search(base=None, repetitions=law, score=SCORES[0])
    alone = jaxsel.account("discrete_gaussian:sigma=2,sensitivity=1", law, 1e-6, attain=False)
    assert search.guarantee.epsilon == alone.epsilon
    ((whose, _),) = search.guarantee.costs
    assert whose == "scored records"
    said = str(search.guarantee)
    assert "no private records are trained on" in said
    assert "scores" in repr(search)
    assert "scored records" in said
    assert jaxsel.report(search.guarantee).markdown()
    assert search.run(lambda candidate, seed: 3).candidate is None or search._state["best"]


@pytest.mark.usefixtures("unpriced", "summed")
def test_a_search_without_training_is_kept_and_entered(tmp_path):
    options = {"base": None, "score": SCORES[0], "storage": tmp_path / "s"}
    options |= {"ledger": tmp_path / "l", "data": "d"}
    _search(**options).close()
    _search(**options).close()
    (entry,) = ledger.read(tmp_path / "l", "d").entries
    assert [[part["base"] for part in role] for role in entry.roles] == [
        ["discrete_gaussian:sigma=2.0,sensitivity=1"]
    ]
    with pytest.raises(InputError, match="differs in base"):
        _search(**options | {"base": "pure:epsilon=1e-9", "scored": "validation"})


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"score": SCORES[3]}, "nothing here is private"),
        ({"scored": "training"}, "with base=None no record trains"),
        ({"refit": True}, "leave refit out"),
        ({"refit": "pure:epsilon=1"}, "leave refit out"),
    ],
)
def test_what_does_not_go_with_no_training(given, match):
    with pytest.raises(InputError, match=match):
        _search(**{"base": None, "score": SCORES[0]} | given)
