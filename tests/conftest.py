"""Shared settings: strict JAX, four CPU devices, and one false-alarm rate.

Most of the time goes into compilation, so compiled programs are kept in ``.jax_cache`` of the
checkout. Tests that compile the same program share it, also between workers, and the next run
starts warm. Remove the folder for a cold start.
"""

import copy
import gc
import inspect
import io
import os
import re
import types
import zlib
from importlib import metadata
from pathlib import Path

# Set before JAX is imported, so that sharding is tested on four devices everywhere.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = (
        os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    )
# Nearly all programs run once, so that optimising them costs more than it saves.
# The tests of the newest versions, before a release, optimise as users do.
if "xla_backend_optimization_level" not in os.environ["XLA_FLAGS"]:
    os.environ["XLA_FLAGS"] += " --xla_backend_optimization_level=0"
    # The older emitters of fused loops compile in half the time, and their code is a little
    # slower. XLA ends a process that gives it a flag it does not know.
    # A program that is compiled in parts, in parallel, is copied and linked: a tenth of the
    # processor time of small programs, and other workers take the other cores anyway.
    if metadata.version("jaxlib").startswith("0.10."):
        os.environ["XLA_FLAGS"] += " --xla_cpu_use_fusion_emitters=false"
        os.environ["XLA_FLAGS"] += " --xla_cpu_parallel_codegen_split_count=1"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import cloudpickle
import jax
import pytest
from jaxtyping import install_import_hook
from xdist.scheduler import LoadScopeScheduling

from jaxsel.host.blas_threads import one_for_this_process
from jaxsel.kernel import compiled
from tests import selecting

# Each worker is one process of many, whose BLAS threads would slow one another down.
one_for_this_process()

# Every statistical assertion accepts a false alarm with this probability.
ALPHA = 1e-6

# Needs other libraries: only `make test-adapters`, which names these files, collects them.
collect_ignore = ["adapters"]

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

_ROOT = Path(__file__).parent.parent
_CHANGED = pytest.StashKey[selecting.Selection | None]()
# While tests run, declared shapes and types are checked in the packages that run on devices.
CHECKED_ROOMS = tuple(
    f"jaxsel.kernel.{name}"
    for name in ("stream", "noise", "logarithm", "rows", "tables", "repetition_sampling", "look_up")
)


def samplers() -> tuple[str, ...]:
    """The modules of the families that draw, which are those that import JAX at the top."""
    found = []
    for path in sorted((_ROOT / "jaxsel" / "families").rglob("*.py")):
        if re.search(r"^(import|from) jax\b", path.read_text("utf-8"), re.M):
            found.append(".".join(path.relative_to(_ROOT).with_suffix("").parts))
    return tuple(found)


# The hook must be installed before any of these modules is imported.
install_import_hook([*CHECKED_ROOMS, *samplers()], "beartype.beartype")


class _WithoutChecks(cloudpickle.CloudPickler):
    """Pickles functions without the wrappers that check types, which cannot be pickled."""

    def reducer_override(self, obj):
        if (
            isinstance(obj, types.FunctionType)
            and obj.__globals__.get("__name__", "").startswith("jaxtyping.")
            and "<locals>" in obj.__qualname__  # others are pickled by name
        ):
            # copy.copy of a function returns the function itself.
            return copy.copy, (inspect.unwrap(obj),)
        return super().reducer_override(obj)


def _dumps(obj, *args, **settings) -> bytes:
    sent = io.BytesIO()
    _WithoutChecks(sent, *args, **settings).dump(obj)
    return sent.getvalue()


cloudpickle.dumps = _dumps


def pytest_report_header(config):
    return f"JAXSEL_TEST_SEED={seed()} jax={jax.__version__}"


# Files whose tests share little and take a quarter of the time; several workers share them.
_SHARED_OUT, _PARTS = ("tests/catalogue/test_every_claim.py",), 8
_LONG = ("tests/training/", *_SHARED_OUT)


class _Scheduling(LoadScopeScheduling):
    """Runs the tests of one file in one worker, except for the longest files."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        if scope not in _SHARED_OUT or "[" not in nodeid:
            return scope
        # Tests of a claim go to one worker, as do claims of one name and several endings, which
        # share what is cached: JX-Search-draws and JX-Search-training look at the same searches.
        case = nodeid.partition("[")[2].removesuffix("]").split("-")
        return f"{scope}::{zlib.crc32('-'.join(case[:2]).encode()) % _PARTS}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") == "loadscope":
        return _Scheduling(config, log)
    return None


def pytest_addoption(parser):
    parser.addoption(
        "--changed",
        metavar="COMMIT",
        help="only the tests that what differs from this commit can reach",
    )


def pytest_configure(config):
    commit = config.getoption("--changed")
    config.stash[_CHANGED] = None if commit is None else selecting.since(commit)


def pytest_ignore_collect(collection_path, config):
    """Skips files of which no test is selected; they are not even imported."""
    asked = config.stash[_CHANGED]
    if asked is None or not collection_path.name.startswith("test_"):
        return None
    file = collection_path.relative_to(_ROOT).as_posix()
    return None if asked.everything or file in asked.files | asked.parts else True


def pytest_collection_modifyitems(config, items):
    """Runs the few long tests first, since at the end other workers would wait for them."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))
    asked = config.stash[_CHANGED]
    if asked is not None:
        parts: dict[bool, list] = {True: [], False: []}
        for item in items:
            parts[asked.holds(*_file_and_words(item))].append(item)
        config.hook.pytest_deselected(items=parts[False])
        items[:] = parts[True]


def pytest_collection_finish(session):
    """Exempts what was imported and collected from garbage collection, which saves time."""
    gc.collect()
    gc.freeze()


# Programs that were compiled or read from the cache since programs were last dropped.
_programs = 0
_MOST_PROGRAMS = 64
# At the end of a file fewer are kept, since files have few programs in common and read those
# from the cache. Tests without JAX that follow need not keep them in memory.
_MOST_AT_THE_END = 16


def _count_program(event: str, *_, **__) -> None:
    global _programs
    _programs += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(_count_program)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Drops compiled programs after so many tests of a worker, to save memory.

    A program takes megabytes and is never dropped otherwise, which amounts to gigabytes.
    """
    global _programs
    ends = nextitem is None or nextitem.path != item.path
    if _programs > (_MOST_AT_THE_END if ends else _MOST_PROGRAMS):
        compiled.forget()
        _programs = 0


def _file_and_words(item) -> tuple[str, set[str]]:
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return item.nodeid.partition("::")[0], selecting.of_parameters(parameters)


def seed() -> int:
    """The seed of the tests: fixed in CI; set JAXSEL_TEST_SEED to the date in nightly runs."""
    return int(os.environ.get("JAXSEL_TEST_SEED", "20260101"))


def _coarse_prices():
    """Makes programs of the priced envelope quick: at any resolution it is a bound."""
    from jaxsel.tuning.bounds import priced_envelope

    coarse = priced_envelope.Resolution(columns=6, rows=2, knots=8, parts=4, meshes=0)
    fine = priced_envelope.FINE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priced_envelope, "FINE", coarse)
        yield fine


coarse_prices = pytest.fixture(_coarse_prices)
# For a file whose module-scoped fixtures do accounting, too: they run before those of a test.
coarse_prices_of_file = pytest.fixture(_coarse_prices, scope="module")


@pytest.fixture
def fine_prices(request, monkeypatch):
    """For a test of a file of coarse prices that compares a curve with one price."""
    from jaxsel.tuning.bounds import priced_envelope

    of_file = {"coarse_prices", "coarse_prices_of_file"} & set(request.fixturenames)
    monkeypatch.setattr(priced_envelope, "FINE", request.getfixturevalue(of_file.pop()))


@pytest.fixture(name="seed")
def _seed() -> int:
    return seed()
