"""The BLAS threads of a process are one within calls, and what they were afterwards."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import jaxsel
from jaxsel.host import blas_threads
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError
from jaxsel.tuning import accountant
from jaxsel.tuning.bounds import priced_envelope

ROOT = Path(__file__).parents[2]
BASE, LAW = "gaussian:noise_multiplier=4", "geometric:mean=10"
NEVER = "poisson:mean=1,conditioned=0"  # K is always 0, which is refused within the door


def pools() -> list[int]:
    found = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    assert found, "no BLAS library is known to threadpoolctl"
    return found


@pytest.fixture
def before():
    """As in a notebook: pools of three threads, whatever the machine has."""
    with threadpool_limits(3, user_api="blas"):
        blas_threads._release_setting()  # calls in other threads are under test
        kept = pools()
        assert set(kept) == {3}
        yield kept
        assert pools() == kept


def all_one() -> bool:
    return set(pools()) == {1}


def test_it_is_one_within_and_nested_calls_look_no_further(before, monkeypatch):
    with one_blas_thread():
        assert all_one()
        import threadpoolctl

        def never(**settings):
            raise AssertionError("a nested call looks for libraries again")

        monkeypatch.setattr(threadpoolctl, "threadpool_limits", never)
        with one_blas_thread():
            assert all_one()
        assert all_one()  # the inner one has not let go for the outer one
    assert pools() == before


def test_a_call_that_fails_restores(before):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert pools() == before
    with pytest.raises(InputError):
        jaxsel.account(BASE, LAW, delta=2.0)
    assert pools() == before


@pytest.mark.parametrize("lives", [False, True])
def test_the_last_of_several_threads_restores(before, lives):
    """The first to begin is not the last to end, and may live on afterwards."""
    begun, leave = threading.Event(), threading.Event()
    left, end = threading.Event(), threading.Event()
    seen = []

    def first():
        with one_blas_thread():
            begun.set()
            leave.wait(10)
        left.set()
        if lives:
            end.wait(10)

    def second():
        with one_blas_thread():
            leave.set()
            left.wait(10)
            if not lives:
                one.join(10)
            seen.append(all_one())  # the first has ended by now

    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    assert begun.wait(10)
    other.start()
    other.join(10)
    assert seen == [True]
    now = pools()
    end.set()
    one.join(10)
    assert now == before


def test_many_threads_that_account_and_fail_restore(before):
    base = jaxsel.guarantee_of(BASE)

    def call(number: int) -> bool:
        law = NEVER if number % 3 == 0 else LAW
        try:
            jaxsel.account(base, law, delta=1e-6, attain=False)
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(call, range(24)))
    assert done == [number % 3 != 0 for number in range(24)]
    assert pools() == before


@pytest.fixture(scope="module")
def doors():
    # What is asked for is how often threads are limited: quick answers will do.
    search = jaxsel.release("pure:epsilon=1", "geometric:mean=2")
    base = jaxsel.guarantee_of(BASE)
    law = jaxsel.repetitions.parse(LAW)
    priced = priced_envelope.priced_directions(base, law)
    found = {
        "account": lambda: jaxsel.account(base, law),
        "account at an epsilon": lambda: jaxsel.account(base, law, epsilon=1.0),
        "account_grid": lambda: jaxsel.account_grid(BASE, 2),
        "compose": lambda: jaxsel.compose([search, search]),
        "privacy_loss_distribution": lambda: jaxsel.privacy_loss_distribution(search),
        "report": lambda: jaxsel.report(jaxsel.account(base, law)),
        "plan": lambda: jaxsel.plan(BASE, runs=4),
        "optimal": lambda: jaxsel.optimal(BASE, runs=2, most=20),
        "plan_releases": lambda: jaxsel.plan_releases("noisy_max", epsilon=1, releases=2),
        "attained": lambda: accountant.attained_epsilon(base, law, 1e-6),
        "priced_epsilon": lambda: priced_envelope.priced_epsilon(priced, 0.05),
        "priced_delta": lambda: priced_envelope.priced_delta(priced, 0.3),
    }
    assert tuple(found) == DOORS
    return found


DOORS = (
    "account",
    "account at an epsilon",
    "account_grid",
    "compose",
    "privacy_loss_distribution",
    "report",
    "plan",
    "optimal",
    "plan_releases",
    "attained",
    "priced_epsilon",
    "priced_delta",
)


@pytest.mark.parametrize("name", DOORS)
def test_every_door_limits_once(name, doors, before, coarse_prices, monkeypatch):
    """Once each: what is called within is nested, and the door itself is not forgotten."""
    call = doors[name]
    begun = []
    import threadpoolctl

    real = threadpoolctl.threadpool_limits

    def counted(**settings):
        begun.append(settings)
        return real(**settings)

    monkeypatch.setattr(threadpoolctl, "threadpool_limits", counted)
    call()
    # A report is made of an account, which ended before it.
    assert len(begun) == (2 if name == "report" else 1)
    assert blas_threads._inside == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: jaxsel.account(BASE, NEVER, delta=1e-6),
        lambda: jaxsel.account(BASE, NEVER, epsilon=1.0),
        lambda: jaxsel.account_grid(BASE, -1),
        lambda: jaxsel.compose([], 2.0),
        lambda: jaxsel.privacy_loss_distribution([]),
        lambda: jaxsel.report(3),
        lambda: jaxsel.plan(BASE, delta=2.0),
        lambda: jaxsel.optimal(BASE, delta=2.0),
        lambda: jaxsel.plan_releases("nothing", epsilon=1),
    ],
)
def test_every_door_limits_from_its_beginning(call, before, monkeypatch):
    """Before anything is computed: these calls compute nothing."""
    import threadpoolctl

    begun = []
    real = threadpoolctl.threadpool_limits

    def counted(**settings):
        begun.append(settings)
        return real(**settings)

    monkeypatch.setattr(threadpoolctl, "threadpool_limits", counted)
    with pytest.raises(InputError):
        call()
    assert begun == [{"limits": 1, "user_api": "blas"}]


def test_the_work_is_done_with_one_thread(before, monkeypatch):
    seen = []

    def watched(self, epsilon, grid):
        seen.append(all_one())

    monkeypatch.setattr(priced_envelope.PricedDirection, "_solved", watched)
    jaxsel.account(BASE, LAW, delta=0.05, attain=False)
    assert seen
    assert all(seen)


def _fresh(code: str, **variables: str) -> str:
    """What a fresh process without settings of threads prints."""
    environment = {k: v for k, v in os.environ.items() if k not in blas_threads._ANY}
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.split("\n")[-2]


_SHOW = (
    "import numpy, scipy.linalg, threadpoolctl as t;"
    "print(sorted({p['num_threads'] for p in t.threadpool_info()"
    " if p['user_api'] == 'blas'}))"
)


def test_an_import_changes_nothing():
    code = (
        "import os; before = dict(os.environ); import jaxsel, jaxsel.questions.released;"
        "import jaxsel.shards.executors; jaxsel.cli = __import__('jaxsel.cli'); "
        "print(before == dict(os.environ))"
    )
    assert _fresh(code) == "True"


def test_a_program_sets_it_once_for_itself_and_what_it_starts():
    begin = "from jaxsel.host.blas_threads import one_for_this_process as one; one();"
    assert _fresh(begin + _SHOW) == "[1]"
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    started = f"{begin}import sys; sys.argv = ['', {_SHOW!r}]; {child}"
    assert _fresh(started) == "[1]"
    # Somebody's own setting decides, whatever it is.
    kept = "import os; before = dict(os.environ);"
    same = f"{kept}{begin}print(before == dict(os.environ))"
    assert _fresh(same, OMP_NUM_THREADS="2") == "True"


def test_the_command_line_is_such_a_program():
    code = (
        "import sys; sys.argv = ['jaxsel', 'list', 'bases']; from jaxsel.cli import main\n"
        f"try: main()\nexcept SystemExit: pass\n{_SHOW}"
    )
    assert _fresh(code) == "[1]"


def test_workers_count_with_one_thread(before):
    from jaxsel.shards import executors

    assert executors._counted.__wrapped__ is not None
    seen = []
    unpacked = executors._unpacked

    class Stop(Exception):
        pass

    def watched(sent):
        seen.append(all_one())
        raise Stop

    executors._unpacked = watched
    try:
        with pytest.raises(Stop):
            executors._counted(b"", 0, 1)
    finally:
        executors._unpacked = unpacked
    assert seen == [True]
