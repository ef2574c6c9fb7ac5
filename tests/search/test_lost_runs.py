"""Runs that end their process have failed, or are repeated as they were, and fail no other."""

import multiprocessing
import os
import random
import threading
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)

import pytest
import scipy.stats

import jaxsel
from jaxsel.host.errors import CouldNotError, InputError
from jaxsel.search import private_search
from jaxsel.search.storage import Progress, Storage
from tests.conftest import ALPHA
from tests.search import killing
from tests.search.asked import asked

SEEDED = {"randomness": "run.seed"}
COUNT = {"score": jaxsel.scores.count(noise=2.0), "scored": "validation"}


def _search(count=2, candidates=(0.1, 0.2, 0.4, 0.8), **given):
    options = {
        "base": "pure:epsilon=0.5",
        "repetitions": f"point_mass:count={count}",
        "score": jaxsel.scores.public(),
    }
    return jaxsel.PrivateSearch(list(candidates), **asked(**options | given))


def _adaptive(**given):
    return _search(**{"repetitions": None, "drawn": "adaptively:n=3"} | COUNT | given)


@pytest.fixture(name="priced", scope="module")
def _priced():
    return _search().guarantee


@pytest.fixture(autouse=True)
def _unpriced(priced, monkeypatch):
    """Many searches, of which nothing is asked that a proof would take a second for."""
    monkeypatch.setattr(
        jaxsel.PrivateSearch, "_proved", lambda self: priced._replace(declared=self._declared())
    )


class Kill(BaseException):
    """A run ends its process."""


class Pool(ThreadPoolExecutor):
    """Makes what was submitted when it is waited for, and is broken by a run that ends it."""

    def __init__(self, problem=BrokenExecutor):
        super().__init__(1)
        self.problem, self.pending, self.broken, self.beside = problem, [], False, []

    def submit(self, attempt, train, candidate, seed):
        if self.broken:
            raise BrokenExecutor("a worker ended")
        self.pending.append((Future(), train, candidate, seed))
        self.beside.append(len(self.pending))
        return self.pending[-1][0]

    def work(self):
        pending, self.pending, found = self.pending, [], []
        for _, train, candidate, seed in pending:
            try:
                found.append((train(candidate, seed), None))
            except Kill:
                for future, *_ in pending:
                    future.set_exception(self.problem("a worker ended"))
                self.broken = self.problem is BrokenExecutor
                return
        for (future, *_), one in zip(pending, found, strict=True):
            future.set_result(one)


class KilledWorker(Exception):
    """As Dask says it, which then goes on."""


def _run(monkeypatch, search, train, together, problem=BrokenExecutor, simulation=True):
    """The winner, and the pools that it took."""
    pools = []
    while True:
        pool = Pool(problem)
        pools.append(pool)

        def worked(futures, return_when, pool=pool):
            pool.work()
            return wait(futures, return_when=return_when)

        monkeypatch.setattr(private_search, "wait", worked)
        try:
            return search.run(train, pool, together=together, simulation=simulation), pools
        except CouldNotError:
            continue


# --- With noise of its own: a lost run has failed --------------------------------------------


def _binomial(trials, chance):
    law = scipy.stats.binom(trials, chance)
    return law.ppf(ALPHA / 2), law.isf(ALPHA / 2)


def test_a_run_that_ends_its_process_is_not_drawn_again(monkeypatch):
    """Made again, a kill of chance .5 would turn "good" of chance .23 into one of .345."""
    source, trials, good = random.Random(5), 2000, 0

    def train(candidate, seed):
        drawn = source.random()  # noise from the system, as far as the search can tell
        if drawn < 0.5:
            raise Kill
        return 0.0, "good" if drawn < 0.73 else "bad"

    for _ in range(trials):
        found, _ = _run(monkeypatch, _search(1), train, 1, simulation=False)
        good += found.outcome == "good"
    low, high = _binomial(trials, 0.23)
    assert low <= good <= high
    assert not low <= trials * 0.345 <= high  # power: what rejection sampling makes of it


def test_a_lost_run_has_failed_at_once(tmp_path):
    options = {"storage": tmp_path / "s"}
    with _search(**options) as search:
        lost = search.ask()
        search.save(lost, {"step": 1}, step=1)
    with _search(**options) as search:
        other = search.ask()
        assert other.name != lost.name
        assert list((tmp_path / "s").glob("*.progress")) == []
        search.tell(other, -1e300)
        assert search.over
        assert search.release().candidate == other.candidate
        assert search.problems == ("its process ended",)
        assert "a run that is lost has failed" in str(search.guarantee)


def _trained(candidate, seed):
    return 0.0


def test_a_run_is_made_alone_unless_it_can_be_repeated():
    search = _search(3)
    first = search.ask()
    assert not search.ready
    with pytest.raises(InputError, match="would fail those beside it"):
        search.ask()
    search.tell(first, 0.0)
    assert search.ready
    with ThreadPoolExecutor(2) as pool, pytest.raises(InputError, match="say together=1, or"):
        search.run(lambda candidate, seed: 0.0, pool)
    with pytest.raises(InputError, match="executor is 3; it must submit calls"):
        search.run(_trained, 3, together=1)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as ended:
        pass
    with pytest.raises(InputError, match="takes no more runs: cannot schedule new futures"):
        search.run(_trained, ended, together=1)
    with ProcessPoolExecutor(1) as pool:
        with pytest.raises(InputError, match="cannot be sent to other processes"):
            search.run(lambda candidate, seed: 0.0, pool, together=1)
    assert search.ready  # none of them has cost a run
    with pytest.raises(InputError, match="Executor may begin a lost run again by itself"):
        search.run(lambda candidate, seed: 0.0, Executor(), together=1)
    with ThreadPoolExecutor(1) as pool:
        assert search.run(lambda candidate, seed: 1.0, pool, together=1).score == 1.0


def test_an_adaptive_search_pays_for_every_run_and_repeats_none(tmp_path):
    with pytest.raises(InputError, match="leave randomness out"):
        _adaptive(**SEEDED)
    with pytest.raises(InputError, match="Executor may begin a lost run again by itself"):
        _adaptive().run(lambda candidate, seed: 0, Executor())
    with _adaptive(storage=tmp_path / "s") as search:
        first, second = search.ask(0.3), search.ask(0.4)  # all is released: side by side
        search.tell(first, 5)
    with _adaptive(storage=tmp_path / "s") as search:
        (third,) = list(search)
        assert third.name != second.name
        search.tell(third, 6)
        assert search.over


# --- With all noise from the seed: it is repeated as it was -------------------------------------


def test_a_run_is_repeated_with_its_seed_and_fails_when_it_is_lost_again(tmp_path):
    options = {"storage": tmp_path / "s", **SEEDED}
    with _search(**options) as search:
        lost = search.ask()
        assert "repeated as it was" in str(search.guarantee)
    with _search(**options) as search:
        again = search.ask()
        assert again[:3] == lost[:3]
    with _search(**options) as search:
        other = search.ask()
        assert other.name != lost.name
        search.tell(other, 1.0)
        assert search.over
        assert search.release().candidate == other.candidate


@pytest.mark.parametrize(
    ("saved", "times"),
    [
        (lambda time: (time, time), [5]),
        (lambda time: (time, None), [5]),
        # What is saved at every beginning is no step, nor is a number that does not grow.
        (lambda time: ("the first parameters", 0), [2, 2]),
        (lambda time: ("the first parameters", None), [3, 2]),
    ],
)
def test_a_save_without_a_step_does_not_count(tmp_path, saved, times):
    names = []
    for time in range(1, 6):
        with _search(storage=tmp_path / "search", **SEEDED) as search:
            if search.over:
                break
            run = search.ask()
            names.append(run.name)
            if time > 1:  # it is killed before it saves anything, the first time
                progress, step = saved(time)
                search.save(run, progress, step=step)
    assert [names.count(name) for name in dict.fromkeys(names)] == times


@pytest.mark.parametrize(
    ("step", "content", "ahead"),
    [(4, b"a", True), (3, b"b", False), (2, b"b", False), (None, b"b", True), (None, b"a", False)],
)
def test_what_counts_as_a_step(step, content, ahead):
    assert Progress(step, 0, content).is_ahead_of(Progress(3, 0, b"a")) == ahead
    assert Progress(step, 0, content).is_ahead_of(None) == (step != 0)
    assert not Progress(0, 0, content).is_ahead_of(None)


def test_a_run_goes_on_from_what_it_saved_last(tmp_path):
    options = {"storage": tmp_path / "search", **SEEDED}
    search = _search(**options)
    run = search.ask()
    search.save(run, {"step": 1}, step=1)
    search.close()
    search = _search(**options)
    assert search.ask().progress == {"step": 1}
    search.close()
    search = _search(**options)
    other = search.ask()
    assert list((tmp_path / "search").glob("*.progress")) == []
    with pytest.raises(InputError, match="not handed out"):
        search.save(run, {})
    search.save(other, {})
    search.tell(other, 0.5)
    assert list((tmp_path / "search").glob("*.progress")) == []
    with pytest.raises(InputError, match="told already"):
        search.save(other, {})
    assert search.release().candidate == other.candidate


def test_a_run_that_is_repeated_sees_the_looks_that_it_saw(tmp_path):
    options = {**COUNT, "stopping": "own trajectory", "looks": 3, "storage": tmp_path / "s"}

    def opened():
        return _search(1, **options, **SEEDED)

    with opened() as search:
        run = search.ask()
        seen = [search.look(run, 50)]
        search.save(run, "after one", step=1)
        seen.append(search.look(run, 50))
    with opened() as search:
        run = search.ask()
        assert run.progress == "after one"
        assert search.look(run, 10**6) == seen[1]  # drawn once, whatever it is told
        search.look(run, 50)
        with pytest.raises(InputError, match="not covered"):
            search.look(run, 50)


# --- Beside others ------------------------------------------------------------------------


@pytest.mark.parametrize("killer", range(4))
@pytest.mark.parametrize("problem", [BrokenExecutor, KilledWorker, CancelledError])
def test_a_run_that_kills_a_pool_of_four_fails_alone(monkeypatch, killer, problem):
    """The law of the other three is what it is beside a run that merely fails."""
    seeds = [
        private_search.training_seed(bytes.fromhex(s)) for s in _search(4, seed=9)._state["secrets"]
    ]
    made, told = [], {}

    def train(candidate, seed):
        made.append(seed)
        if seed == seeds[killer]:
            raise Kill
        return seed % 1009, seed

    search = _search(4, seed=9, **SEEDED)
    tell = search.tell
    search.tell = lambda run, score, *rest, **named: (
        told.setdefault(run.seed, []).append(score),
        tell(run, score, *rest, **named),
    )
    found, pools = _run(monkeypatch, search, train, 4, problem)
    others = [seed for seed in seeds if seed != seeds[killer]]
    assert told == {seed: [seed % 1009] for seed in others}
    assert found.outcome == max(others, key=lambda seed: seed % 1009)
    assert [status == "failed" for status in search._state["status"]] == [
        place == killer for place in range(4)
    ]
    # Once with the others, and twice alone, where it is charged.
    assert made.count(seeds[killer]) == 3
    assert pools[0].beside[:4] == [1, 2, 3, 4]
    assert {beside for pool in pools[1:] for beside in pool.beside} <= {1}
    if problem is not BrokenExecutor:
        assert set(pools[0].beside[4:]) == {1}


def test_a_lost_run_waits_until_it_is_alone(tmp_path):
    options = {"storage": tmp_path / "s", **SEEDED}
    with _search(4, **options) as search:
        lost = {search.ask().name for _ in range(2)}
        search.tell(search.ask(), 0.0)
    with _search(4, **options) as search:
        assert search._state["charged"] == []  # nobody knows which of them it was
        first = search.ask()
        assert first.name in lost
        assert not search.ready
        with pytest.raises(InputError, match="is repeated alone"):
            search.ask()
        search.tell(first, 0.0)
        second = search.ask()
        assert {first.name, second.name} == lost


def test_workers_that_a_run_kills(tmp_path, monkeypatch):
    """Processes: 0.8 ends its worker always, and 0.4 the first time, beside it."""
    monkeypatch.setenv(killing.FOLDER, str(tmp_path))
    search = _search(6, [0.8, 0.1, 0.4, 0.2], seed=8, **SEEDED)
    asked, ask = [], search.ask
    monkeypatch.setattr(search, "ask", lambda: asked.append(ask()) or asked[-1])
    broken, found = 0, None
    while found is None:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                found = search.run(killing.train, pool, simulation=True)
            except CouldNotError:
                broken += 1
    assert found.candidate == 0.4
    fatal = {run.seed for run in asked if run.candidate == 0.8}
    begun = list(map(int, (tmp_path / "0.8").read_text().split()))
    assert broken >= 2
    # Alone twice, and at most once beside another.
    assert set(begun) == fatal
    assert all(2 <= begun.count(seed) <= 3 for seed in fatal)
    status = search._state["status"]
    assert status.count("failed") == len(fatal)
    assert status.count("told") == 6 - len(fatal)


# --- What is no loss, and what is a failure --------------------------------------------------


@pytest.mark.parametrize("raised", [SystemExit(3), Kill(), GeneratorExit()])
@pytest.mark.parametrize("pooled", [False, True])
def test_whatever_a_run_raises_is_a_failure(raised, pooled):
    def train(candidate, seed):
        raise raised

    search = _search(2)
    with ThreadPoolExecutor(1) as pool:
        found = search.run(train, pool if pooled else None, together=1)
    assert found.candidate is None
    assert len(search.problems) == 2
    assert type(raised).__name__ in search.problems[0]


@pytest.mark.parametrize("given", [{}, SEEDED])
def test_ctrl_c_is_charged_to_nobody(tmp_path, given):
    seen = []

    def train(candidate, seed):
        seen.append(seed)
        if len(seen) < 5:
            raise KeyboardInterrupt
        return 0.0, seed

    options = {"storage": tmp_path / "s", **given}

    def by_hand():
        with _search(1, **options) as search:
            for run in search:
                search.tell(run, *train(run.candidate, run.seed))

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            _search(1, **options).run(train)
        with pytest.raises(KeyboardInterrupt):
            by_hand()
    assert _search(1, **options).run(train).outcome == seen[0]
    assert len(set(seen)) == 1


def test_ctrl_c_in_a_pool_takes_all_back(monkeypatch):
    search = _search(4, **SEEDED)
    pool = Pool()

    def interrupted(futures, return_when):
        raise KeyboardInterrupt

    monkeypatch.setattr(private_search, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search.run(lambda candidate, seed: 0.0, pool, together=3)
    assert sorted(search._state["again"]) == [0, 1, 2]
    assert search._state["lost"] == []
    found, pools = _run(monkeypatch, search, lambda candidate, seed: (0.0, seed), 3)
    assert pools[0].beside[:3] == [1, 2, 3]
    assert found.outcome is not None


def test_a_run_of_an_adaptive_search_that_is_taken_back_has_other_noise():
    """It may be asked for with another candidate, and would show the difference alone."""
    search = _adaptive()
    first = search.ask(0.3)
    with pytest.raises(KeyboardInterrupt), search:
        raise KeyboardInterrupt
    second = search.ask(0.4)
    assert second.seed != first.seed
    assert second.name != first.name
    with pytest.raises(InputError, match="not handed out"):
        search.tell(first, 3)


def test_a_process_that_was_forked_is_no_search(monkeypatch, tmp_path):
    search = _search(storage=tmp_path / "s", **SEEDED)
    run = search.ask()
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    acts = [
        search.ask,
        search.release,
        lambda: search.tell(run, 0.0),
        lambda: search.save(run, 0),
        lambda: search.look(run, 0),
    ]
    for act in acts:
        with pytest.raises(InputError, match="would be another release"):
            act()
    # What it closes does not open the folder to a third process.
    assert (tmp_path / "s" / ".search.nc.lock").exists()
    search.close()
    assert (tmp_path / "s" / ".search.nc.lock").exists()


# --- Executors that fail, and threads -------------------------------------------------------


def test_what_is_taken_back_is_handed_out_next():
    search = _search(4, **SEEDED)
    first, second = search.ask(), search.ask()
    with pytest.raises(KeyboardInterrupt), search.interruptible():
        raise KeyboardInterrupt
    assert {search.ask().name, search.ask().name} == {first.name, second.name}
    search._take_back([0])
    search._take_back([1])
    assert search._state["again"] == [1, 0]


def test_a_simulation_of_an_adaptive_search_is_run_as_such():
    search = _adaptive(seed=4)
    assert search.run(lambda candidate, seed: 7, simulation=True).candidate is not None
    assert search._state["status"] == ["told"] * 3


def test_what_is_finished_is_taken_before_a_broken_executor_is_reported(monkeypatch):
    search, made = _search(2, seed=3, **SEEDED), []

    def train(candidate, seed):
        made.append(seed)
        return 1.0, seed

    class Half(Pool):
        """Ends with its second run; the first has ended before."""

        def work(self):
            (first, action, *given), (second, *_) = self.pending
            first.set_result((action(*given), None))
            second.set_exception(BrokenExecutor("a worker ended"))

    pool = Half()

    def worked(futures, return_when):
        pool.work()
        return list(futures)[::-1], []

    monkeypatch.setattr(private_search, "wait", worked)
    with pytest.raises(CouldNotError, match="with another executor"):
        search.run(train, pool, together=2, simulation=True)
    assert search._state["status"] == ["told", "handed out"]
    assert search._state["again"] == search._state["lost"] == [1]
    search.run(train, simulation=True)
    assert len(set(made)) == len(made) == 2


def test_an_executor_that_takes_nothing_costs_no_run():
    class Shut(ThreadPoolExecutor):
        def submit(self, *given, **named):
            raise RuntimeError("it is shut down")

    search = _search(2)
    for _ in range(3):
        with (
            Shut(1) as pool,
            pytest.raises(InputError, match="takes no more runs: it is shut down"),
        ):
            search.run(lambda candidate, seed: 0.0, pool, together=1)
    assert search._state["again"] == [0]
    assert search.run(lambda candidate, seed: (0.0, "kept")).outcome == "kept"
    assert search.problems == ()


def test_an_outcome_that_no_worker_could_send_back_is_a_failed_run(monkeypatch):
    class Unsent(Pool):
        def work(self):
            (first, *_) = self.pending.pop(0)
            first.set_exception(TypeError("cannot pickle 4711"))

    search, pool = _search(1), Unsent()

    def worked(futures, return_when):
        pool.work()
        return wait(futures, return_when=return_when)

    monkeypatch.setattr(private_search, "wait", worked)
    assert search.run(lambda candidate, seed: 0.0, pool, together=1).candidate is None
    assert search.problems == ("TypeError('cannot pickle 4711')",)


def test_nothing_is_read_or_written_but_under_the_lock(monkeypatch, tmp_path):
    """Two threads that tell one run would both be let through; two that ask would have one run."""
    search = _adaptive(
        storage=tmp_path / "s", stopping="own trajectory", looks=1, drawn="adaptively:n=7"
    )
    seen = set()

    def owned(owner, name):
        plain = getattr(owner, name)

        def watched(self, *given, **named):
            assert search._lock._is_owned(), name
            seen.add(name)
            return plain(self, *given, **named)

        monkeypatch.setattr(owner, name, watched)

    for name in ("save", "keep", "kept", "keep_progress", "drop"):
        owned(Storage, name)
    for name in ("_place", "_check_process", "_out", "_forget", "_lose"):
        owned(jaxsel.PrivateSearch, name)
    run = search.ask()
    search.look(run, 3)
    search.save(run, 0, step=1)
    search.tell(run, 4)
    search.tell(search.ask(), failed=True)
    search.take(search.ask(), 5, None)
    search.take(search.ask(), None, "it failed")
    with pytest.raises(CouldNotError):
        search._broken([search.ask()], BrokenExecutor())
    lost = Future()
    lost.set_exception(CancelledError())
    search._take_from(lost, {lost: search.ask()})
    last = search.ask()
    search._take_back([search._here[last.name]])
    search.tell(search.ask(), 5)
    search.release()
    assert len(seen) == 10


@pytest.mark.parametrize(
    "act",
    [
        lambda search, run: search.over,
        lambda search, run: search.ready,
        lambda search, run: search.ask(),
        lambda search, run: search.tell(run, 3),
        lambda search, run: search.take(run, None, "it failed"),
        lambda search, run: search.look(run, 3),
        lambda search, run: search.save(run, 0),
        lambda search, run: search._take_back([0]),
        lambda search, run: search.release(),
    ],
)
def test_a_thread_waits_for_the_one_before_it(act):
    search = _adaptive(stopping="own trajectory", looks=1, drawn="adaptively:n=2")
    run, done = search.ask(), []

    def second():
        try:
            act(search, run)
        except InputError as refused:
            done.append(refused)
        done.append(True)

    thread = threading.Thread(target=second, daemon=True)
    with search._lock:
        thread.start()
        thread.join(0.05)
        assert not done
    thread.join()
    assert done
