"""PrivateSearch: its laws, what it proves, and what a caller cannot do wrong."""

import math
import random
import signal
import stat
import subprocess
import sys
from collections import Counter
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import jaxsel
from jaxsel.host.errors import CouldNotError, InputError
from jaxsel.search import draws, ledger
from jaxsel.search.declarations import read_ledger
from jaxsel.search.guarantee import as_text
from jaxsel.search.storage import Storage
from jaxsel.tuning.base_forms import dominating
from tests.search.asked import asked

BASE, LAW = "gaussian:noise_multiplier=4", "geometric:mean=4"
PURE = "pure:epsilon=0.5"
SEEDED = {"randomness": "run.seed"}
RATES = [0.1, 0.2, 0.4, 0.8]


def _of(runs):
    """A fixed number of runs, of a base whose price is found quickly."""
    return {"base": PURE, "repetitions": f"point_mass:count={runs}"}


def _search(candidates=RATES, **given):
    options = {"base": BASE, "repetitions": LAW, "score": jaxsel.scores.public()}
    return jaxsel.PrivateSearch(candidates, **asked(**options | given))


@pytest.fixture
def unpriced(monkeypatch):
    """Hundreds of searches, of which nothing is asked that a proof would take a second for."""
    guarantee = _search().guarantee
    monkeypatch.setattr(jaxsel.PrivateSearch, "_proved", lambda self: guarantee)


def _all(search, score=lambda candidate: -abs(candidate - 0.2)):
    """Makes every run; the candidates in their order."""
    made = []
    for run in search:
        search.tell(run, score(run.candidate), outcome={"weights": run.candidate})
        made.append(run)
    return made


def _p_value(counts, law):
    """Of a chi-square test of counts of 0, 1, ... against a law of K."""
    total = sum(counts.values())
    expected = total * law.pmf(np.arange(200))
    expected[-1] += total - expected.sum()
    observed = np.array([counts[k] for k in range(200)])
    often = expected >= 10.0
    return scipy.stats.chisquare(
        np.append(observed[often], observed[~often].sum()),
        np.append(expected[often], expected[~often].sum()),
    ).pvalue


# --- Laws ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["geometric:mean=4", "poisson:mean=3", "binomial:mean=2,count=9"])
def test_k_has_its_law(text):
    law, source = jaxsel.repetitions.parse(text), random.Random(3)
    counts = Counter(draws.draw_count(law, source) for _ in range(20_000))
    assert _p_value(counts, law) > 1e-6
    for shift in (-1, 1):
        moved = Counter({k + shift: count for k, count in counts.items() if k + shift >= 0})
        assert _p_value(moved, law) < 1e-6


@pytest.mark.usefixtures("unpriced")
def test_a_search_makes_k_runs_of_candidates_with_replacement():
    searches = [_search(seed=seed, repetitions="poisson:mean=3") for seed in range(300)]
    drawn = [[run.candidate for run in _all(search)] for search in searches]
    assert any(len(set(each)) < len(each) for each in drawn)
    assert max(map(len, drawn)) > len(RATES)  # K is not cut at the size of the grid
    assert min(map(len, drawn)) == 0
    counts = Counter(rate for each in drawn for rate in each)
    assert scipy.stats.chisquare([counts[rate] for rate in RATES]).pvalue > 1e-6
    assert _p_value(Counter(map(len, drawn)), jaxsel.repetitions.parse("poisson:mean=3")) > 1e-6


def test_runs_have_seeds_of_their_own():
    made = _all(_search(repetitions="geometric:mean=500"))
    assert len({run.seed for run in made}) == len({run.name for run in made}) == len(made) > 1


@pytest.mark.usefixtures("unpriced")
def test_ties_are_broken_by_chance():
    first = 0
    for seed in range(400):
        search = _search(seed=seed, **_of(2))
        names = []
        for run in search:
            names.append(run.name)
            search.tell(run, 1.0, outcome=run.name)
        first += search.release(simulation=True).outcome == names[0]
    assert scipy.stats.binomtest(first, 400).pvalue > 1e-6
    assert 0 < first < 400


def test_conditional_candidates():
    def candidates(draw):
        if draw.choice(["sgd", "adam"]) == "sgd":
            return {"rate": draw.log_uniform(1e-3, 1.0)}
        return {"rate": draw.uniform(0.0, 0.1), "steps": draw.integer(1, 3)}

    made = [run.candidate for run in _all(_search(candidates, **_of(300)), len)]
    assert {len(each) for each in made} == {1, 2}
    assert {each["steps"] for each in made if "steps" in each} == {1, 2, 3}
    logs = [math.log10(each["rate"]) for each in made if len(each) == 1]
    assert scipy.stats.kstest(logs, scipy.stats.uniform(-3, 3).cdf).pvalue > 1e-6


def test_the_best_run_is_released_and_no_other(tmp_path):
    search = _search(storage=tmp_path / "s", **_of(20))
    best = max((run.candidate for run in _all(search)), key=lambda rate: -abs(rate - 0.2))
    winner = search.release()
    assert winner.candidate == best
    assert winner.outcome == {"weights": best}
    assert winner == search.release()
    kept = [path.name for path in (tmp_path / "s").iterdir()]
    assert sum(name.endswith(".outcome") for name in kept) == 1


def test_no_run_has_a_stated_answer():
    search = _search(repetitions="poisson:mean=1e-9")
    winner = search.release()
    assert winner.candidate is None
    assert math.isnan(winner.score)
    assert "nothing else is released" in str(winner)


@pytest.mark.usefixtures("unpriced")
def test_padding_makes_as_many_runs_as_k_can_have_and_ranks_k_of_them():
    law = "geometric:mean=2,capped=6"
    winners = Counter()
    for seed in range(300):
        search = _search(range(10**6), seed=seed, repetitions=law, watched=True)
        made = _all(search, score=float)
        assert len(made) == 6
        wins = search.release(simulation=True).candidate
        ranked = made[: search._state["count"]]
        assert wins == max((run.candidate for run in ranked), default=None)
        winners[wins == max(run.candidate for run in made)] += 1
    # The best of all six is released only if it is among the first K.
    assert winners[False] > 100


# --- What is proved -----------------------------------------------------------------------


def test_the_guarantee_is_that_of_the_account():
    count = jaxsel.scores.count(noise=3.0)
    search = _search(score=count, scored="validation", delta=1e-6)
    training = jaxsel.account(BASE, LAW, 1e-6, attain=False).epsilon
    validation = jaxsel.account("discrete_gaussian:sigma=3,sensitivity=1", LAW, 1e-6).epsilon
    found = {whose: cost.epsilon for whose, cost in search.guarantee.costs}
    assert found == {"training records": training, "validation records": validation}
    assert search.guarantee.epsilon == max(training, validation)
    assert _search().guarantee.epsilon == training
    assert (
        jaxsel.report(search.guarantee).statement.subject.proof.epsilon == search.guarantee.epsilon
    )


def test_a_pure_base_is_proved_without_delta():
    found = _search(delta=0.0, **_of(1)).guarantee
    assert (found.delta, found.epsilon) == (0.0, pytest.approx(0.5, rel=1e-4))


def test_records_that_train_and_are_scored_pay_for_both():
    count = jaxsel.scores.count(noise=4.0)
    found = _search(score=count, scored="training").guarantee
    # Gaussian noise 4 twice is noise 4 / sqrt 2; the discrete one is close to it.
    joint = jaxsel.account(f"gaussian:noise_multiplier={4 / math.sqrt(2)!r}", LAW, attain=False)
    assert found.epsilon == pytest.approx(joint.epsilon, rel=0.02)
    assert found.epsilon > 1.3 * _search(score=count, scored="validation").guarantee.epsilon


def test_looks_of_a_rule_are_accounted_for():
    count = jaxsel.scores.count(noise=6.0)
    options = {"score": count, "scored": "validation", "stopping": "own trajectory"}
    once, four = (_search(looks=looks, **options).guarantee for looks in (0, 3))
    as_one = jaxsel.account("gaussian:noise_multiplier=3", LAW, attain=False).epsilon
    assert dict(four.costs)["validation records"].epsilon == pytest.approx(as_one, rel=0.02)
    assert dict(once.costs)["validation records"].epsilon < as_one / 1.5
    search = _search(looks=2, **_of(1), **options)
    run = search.ask()
    looked = [search.look(run, 50) for _ in range(2)]
    assert looked[0] != 50 or looked[1] != 50
    with pytest.raises(InputError, match="not covered"):
        search.look(run, 50)


def test_an_adaptive_search_pays_for_every_run():
    count = jaxsel.scores.count(noise=4.0)
    options = {"score": count, "scored": "validation", "repetitions": None}
    search = _search(drawn="adaptively:n=40", delta=1e-6, **options)
    assert search.guarantee.epsilon == pytest.approx(8.31, abs=0.02)
    run = search.ask(0.3)
    assert run.candidate == 0.3
    assert search.tell(run, 70) is not None
    alone = _search()
    for each in alone:
        assert alone.tell(each, 1.0) is None


def test_candidates_of_unlike_privacy_have_the_dominating_guarantee():
    bases = ["gaussian:noise_multiplier=2", "laplace:noise_scale=1.5"]
    found = dominating(bases)
    each = [jaxsel.guarantee_of(base) for base in bases]
    for epsilon in (0.0, 0.2, 0.6, 1.0, 3.0):
        largest = max(one.delta(epsilon) for one in each)
        assert largest <= found.delta(epsilon) <= 1.001 * largest
    assert _search(base=found).guarantee.epsilon >= max(
        _search(base=base).guarantee.epsilon for base in bases
    )


def test_a_saved_law_is_a_law_of_k(tmp_path):
    law = jaxsel.repetitions.geometric(0.25)
    jaxsel.repetitions.save(law, tmp_path / "law.txt")
    found = _search(repetitions=f"file:{tmp_path / 'law.txt'}").guarantee
    assert found.epsilon == jaxsel.account(BASE, law, attain=False).epsilon


def test_declarations_and_watchers_are_printed():
    said = str(_search().guarantee)
    assert "declares public" in said
    assert "learns about K" in said
    padded = _search(repetitions="geometric:mean=2,capped=6", watched=True)
    assert "does not learn K" in str(padded.guarantee)


# --- Misuse that is refused -----------------------------------------------------------------


def _refused(match, act):
    with pytest.raises(InputError, match=match):
        act()


@pytest.mark.parametrize("text", ["data=census", ":data=census", "data=census,budget=3"])
def test_a_ledger_in_a_text_has_a_file(text):
    with pytest.raises(InputError, match="is kept by a ledger of the data set; give its file"):
        read_ledger(text)


def test_what_is_refused_in_a_run():
    search = _search(**_of(2))
    first = search.ask()
    _refused("tell the score of every run", search.release)
    search.tell(first, 0.5)
    _refused("told already", lambda: search.tell(first, 0.9))
    second = search.ask()
    _refused("handed out", search.ask)
    _refused("tell the score of every run", search.release)
    for name in ("0", None, [], 0):
        other = first._replace(name=name)
        _refused("not handed out by this search", lambda other=other: search.tell(other, 1.0))
    _refused("not handed out by this search", lambda: search.tell(_search().ask, 1.0))
    search.tell(second, failed=True)
    _refused("is not made again", lambda: search.tell(second, 0.7))
    _refused("draws its candidates itself", lambda: search.ask(0.3))
    search.release()
    _refused("released", search.ask)


def test_a_failed_run_ranks_below_all_others():
    search = _search(**_of(2))
    search.tell(search.ask(), failed=True)
    second = search.ask()
    search.tell(second, -1e300)
    assert search.release().candidate == second.candidate


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"score": 0.9}, "how far one record moves it"),
        ({"score": jaxsel.scores.count(noise=3.0)}, "scored="),
        ({"score": jaxsel.scores.count(noise=3.0), "scored": "public"}, "others need noise"),
        ({"scored": "validation"}, "others need noise"),
        ({"repetitions": None}, "the law of K"),
        ({"drawn": "adaptively:n=3"}, "neither K nor runs beyond it"),
        ({"drawn": "adaptively", "repetitions": None}, "write adaptively:n="),
        ({"drawn": "grid:n=3", "repetitions": None}, "a private search does not cover"),
        ({"budget": 1.0}, "kept by a ledger"),
        ({"ledger": "l.json"}, "its name as data"),
        ({"ledger": "", "data": "d"}, "path is ''; it must be the name of a file"),
        ({"chosen": "on the way"}, "kept by a ledger"),
        ({"ledger": "l.json", "data": "d", "chosen": "later"}, "beforehand"),
        ({"watched": True}, "capped="),
        ({"stopping": "median of runs"}, "own trajectory"),
        ({"looks": 1}, "own trajectory"),
        ({"base": "approximate:epsilon=1,delta=0.01"}, "nothing is proved"),
        ({"candidates": []}, "at least one"),
        ({"candidates": "rates"}, "at least one"),
        ({"candidates": {0.1, 0.2}}, "at least one"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": 0.0}, "nothing is proved"),
        ({"looks": 1, "stopping": "own trajectory"}, "a score of public data needs none"),
        ({"looks": -1, "stopping": "own trajectory"}, "looks"),
        (
            {"drawn": "adaptively:n=2", "repetitions": None, "watched": True},
            "neither K nor runs beyond it",
        ),
        ({"drawn": "adaptively:n=0", "repetitions": None}, "n is 0"),
        ({"ledger": "l.json", "data": "d", "budget": 0.0}, "budget"),
        ({"score": jaxsel.scores.count(noise=3.0), "scored": "twice"}, "must be one of"),
    ],
)
def test_what_is_refused_at_the_start(given, match):
    _refused(match, lambda: _search(**given))


def test_a_seed_is_for_simulations_alone():
    search = _search(seed=1)
    _all(search)
    _refused("simulation=True", search.release)
    search.release(simulation=True)


def test_equal_seeds_give_equal_searches():
    one, other, third = (_search(seed=seed, **_of(9)) for seed in (5, 5, 6))
    seen = [[(run.candidate, run.seed) for run in _all(each)] for each in (one, other, third)]
    assert seen[0] == seen[1] != seen[2]


# --- Kills, processes, files ----------------------------------------------------------------


def test_files_are_their_owners_alone(tmp_path):
    search = _search(
        storage=tmp_path / "s", ledger=tmp_path / "l" / "ledger", data="d", budget=50.0
    )
    _all(search)
    search.release()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in files)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_a_second_process_is_refused(tmp_path):
    with _search(storage=tmp_path / "s"), pytest.raises(InputError, match="another process"):
        _search(storage=tmp_path / "s")
    _search(storage=tmp_path / "s").close()


@pytest.mark.parametrize(
    "other",
    [
        {"base": "gaussian:noise_multiplier=5"},
        {"repetitions": "geometric:mean=5"},
        {"candidates": [0.1, 0.2]},
        {"delta": 1e-7},
    ],
)
def test_another_search_is_refused_the_folder(tmp_path, other):
    _search(storage=tmp_path / "s").close()
    _refused("another configuration", lambda: _search(storage=tmp_path / "s", **other))


class _KilledError(BaseException):
    """Ends everything, as a kill does."""


def _killed_after(monkeypatch, steps):
    """The process of a search dies after so many writes; the lock of a dead one is free."""
    left = steps
    for name in ("save", "keep", "drop"):

        def counted(self, *given, plain=getattr(Storage, name), **options):
            nonlocal left
            plain(self, *given, **options)
            left -= 1
            if left == 0:
                self.close()
                raise _KilledError

        monkeypatch.setattr(Storage, name, counted)


@pytest.mark.parametrize("place", range(1, 28))
@pytest.mark.usefixtures("unpriced")
def test_killed_at_any_place_there_is_one_winner(tmp_path, monkeypatch, place):
    def tell_all(search):
        for run in search:
            search.tell(run, run.candidate, outcome=run.candidate)
        return search.release()

    options = {"candidates": list(range(1000)), **_of(6), "storage": tmp_path / "s", **SEEDED}
    with monkeypatch.context() as patched:
        _killed_after(patched, place)
        with pytest.raises(_KilledError):
            tell_all(_search(**options))
    with _search(**options) as search:
        # What the secrets, which were written first, say of the six runs.
        drawn = [search._run(number).candidate for number in range(6)]
        winner = tell_all(search)
    assert winner.candidate == winner.outcome == max(drawn)
    with _search(**options) as search:
        assert search.release() == winner


_KILLED = """
import os, signal, sys
import jaxsel

search = jaxsel.PrivateSearch(
    list(range(1000)), base="pure:epsilon=0.5", repetitions="point_mass:count=6",
    score=jaxsel.scores.public(), storage=sys.argv[1], declared="randomness=run.seed",
    delta=1e-12)  # at which its cost is quick to prove
for number, run in enumerate(search):
    if number == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    search.tell(run, run.candidate, outcome=run.candidate)
print(search.release().candidate)
"""


def test_a_process_that_is_killed_goes_on(tmp_path):
    def process(place):
        command = [sys.executable, "-c", _KILLED, str(tmp_path / "s"), str(place)]
        return subprocess.run(command, capture_output=True, text=True)

    assert process(2).returncode == -signal.SIGKILL
    first, second = process(-1), process(-1)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout != ""


def _trained(candidate, seed):
    if candidate == 0.8:
        raise FloatingPointError("diverged")
    return -abs(candidate - 0.2), {"weights": candidate}


def test_runs_side_by_side_have_the_same_winner():
    alone = _search(seed=4, **_of(30)).run(_trained, simulation=True)
    with ThreadPoolExecutor(3) as pool:
        search = _search(seed=4, **SEEDED, **_of(30))
        together = search.run(_trained, pool, together=3, simulation=True)
    assert alone[:3] == together[:3]
    assert alone.candidate == 0.2
    assert any("FloatingPointError" in problem for problem in search.problems)


def test_a_broken_executor_loses_no_run_that_it_did_not_begin():
    class Broken(ThreadPoolExecutor):
        def submit(self, *given, **named):
            raise BrokenExecutor("it is broken")

    search = _search(seed=4, **SEEDED, **_of(5))
    for _ in range(3):
        with Broken(1) as pool, pytest.raises(CouldNotError, match="with another executor"):
            search.run(_trained, pool, simulation=True)
    assert search._state["lost"] == []
    alone = _search(seed=4, **_of(5)).run(_trained, simulation=True)
    with ThreadPoolExecutor(2) as pool:
        assert search.run(_trained, pool, simulation=True)[:3] == alone[:3]


def test_runs_on_a_dask_cluster_have_the_same_winner():
    import distributed

    alone = _search(seed=4, **_of(12)).run(_trained, simulation=True)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        search = _search(seed=4, **SEEDED, **_of(12))
        together = search.run(_trained, client.get_executor(), together=3, simulation=True)
    assert alone[:3] == together[:3]


# --- The ledger -----------------------------------------------------------------------------


def test_a_second_search_adds_up_and_is_refused_past_the_budget(tmp_path):
    options = {"ledger": tmp_path / "l", "data": "wards", "delta": 1e-6, "relation": "replace_one"}
    one = jaxsel.account(BASE, LAW, 1e-6, attain=False).epsilon
    two = jaxsel.compose(jaxsel.search_cost(BASE, LAW) * 2, 1e-6).epsilon
    first = _search(budget=two, **options)
    assert first.guarantee.total == one
    _all(first)
    # Thrown away, it is spent all the same.
    second = _search(budget=two, **options)
    assert second.guarantee.total == pytest.approx(two)
    _refused("what earlier searches spent is spent", lambda: _search(budget=two, **options))
    assert len(ledger.read(tmp_path / "l", "wards").entries) == 2
    _refused("is the ledger of wards", lambda: ledger.read(tmp_path / "l", "other"))


def test_going_on_with_a_search_enters_it_once(tmp_path):
    options = {"ledger": tmp_path / "l", "data": "d", "budget": 2.0, "storage": tmp_path / "s"}
    for _ in range(3):
        _search(**options).close()
    assert len(ledger.read(tmp_path / "l", "d").entries) == 1


def test_a_record_may_train_in_one_search_and_be_scored_in_the_next(tmp_path):
    def entry(name, roles):
        parts = tuple(({"base": role},) for role in roles)
        return ledger.Entry(name, "2026-11-26", parts, "replace_one")

    heavy, light = "gaussian:noise_multiplier=2", "gaussian:noise_multiplier=20"
    entries = (entry("a", [heavy, light]), entry("b", [light, heavy]))
    total = ledger.Ledger(Path("l"), "d", entries).total(1e-6)
    assert total == pytest.approx(jaxsel.compose(jaxsel.release(heavy, times=2), 1e-6).epsilon)


def test_a_base_without_a_text_is_kept_by_its_profile():
    import dp_accounting

    base = jaxsel.guarantee_of(dp_accounting.GaussianDpEvent(3.0))
    kept = jaxsel.guarantee_of(as_text(base))
    for epsilon in (0.0, 0.03, 0.5, 1.0, 1.7, 2.5):
        assert base.delta(epsilon) <= kept.delta(epsilon) <= 1.05 * base.delta(epsilon) + 1e-12
    assert as_text(jaxsel.guarantee_of(BASE)) == jaxsel.guarantee_of(BASE).name


# --- One more training of the winner --------------------------------------------------------


def test_a_refit_is_one_more_release_for_every_record(tmp_path):
    score = jaxsel.scores.count(noise=8)
    guarantee = _search(score=score, scored="validation", refit=True, **_of(3)).guarantee
    law = _of(3)["repetitions"]
    for (whose, cost), one in zip(guarantee.costs, (PURE, score.guarantee()), strict=True):
        expected = jaxsel.search_cost(one, law) + jaxsel.release(PURE)
        assert cost.epsilon == pytest.approx(expected.cost(guarantee.delta, attain=False).epsilon)
        assert cost.epsilon > jaxsel.account(one, law, guarantee.delta, attain=False).epsilon, whose
    assert "trained once more" in " ".join(guarantee.sentences())
    assert jaxsel.report(guarantee).markdown().count("and one run of a purely") == 2
    without, other = (_search(refit=refit).guarantee for refit in (False, "gaussian:sigma=9"))
    assert without.epsilon < other.epsilon
    assert "trained once more" not in " ".join(without.sentences())
    # It is in the ledger, and another refit is another search.
    options = {"ledger": tmp_path / "l", "data": "d", "storage": tmp_path / "s"}
    search = _search(refit=True, **options)
    assert search.guarantee.total == pytest.approx(search.guarantee.epsilon)
    search.close()
    _refused("it differs in refit", lambda: _search(refit=False, **options))
    _refused("refit is True, False, or what it guarantees", lambda: _search(refit=3))
