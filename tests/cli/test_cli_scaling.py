"""Shards, joined processes and schedulers on the command line."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import xarray as xr
from typer.testing import CliRunner

from jaxsel.cli import main
from jaxsel.cli.arguments import hear_interrupts
from jaxsel.host.errors import InputError
from tests.cli.test_cli import keep_no_programs, run
from tests.cli.test_cli import no_compilation_cache as no_compilation_cache

SIMULATE = ("simulate", "noisy_max", "--trials", "20001")
AUDIT = ("audit", "fixed_repetitions", "count=5", "--trials", "4000")


def without_seconds(text: str) -> dict:
    document = json.loads(text)
    document.pop("seconds", None)
    return document


@pytest.mark.parametrize("command", [SIMULATE, AUDIT])
def test_merge_prints_what_the_command_prints(capsys, tmp_path, command):
    """With the exit status: this audit refutes its claim."""
    for index in range(3):
        place = ("--shard", f"{index}/3", "--record", f"{tmp_path}/{{shard}}.nc")
        code, out, _ = run(capsys, *command, *place)
        assert code == 0
        assert f"Shard {index}/3 is kept in {tmp_path}/{index}.nc" in out
    files = [f"{tmp_path}/{index}.nc" for index in (2, 0, 1)]
    merged, alone = (run(capsys, *each, "--json") for each in (("merge", *files), command))
    assert merged[0] == alone[0]
    assert without_seconds(merged[1]) == without_seconds(alone[1])
    # For people, too: the table, without the line that tells the time.
    merged, alone = (run(capsys, *each)[1] for each in (("merge", *files), command))
    assert merged.splitlines()[:-1] == alone.splitlines()[:-1]


def test_what_a_shard_kept_as_json(capsys, tmp_path):
    place = ("--shard", "1/4", "--record", f"{tmp_path}/a.nc", "--json")
    _, out, _ = run(capsys, *SIMULATE, *place)
    document = json.loads(out)
    assert document["shard"] == "1/4"
    assert document["runs"][0]["trials"] == 5000


def test_the_shard_of_an_array_job(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "2")
    monkeypatch.setenv("JAXSEL_SHARDS", "4")
    place = ("--shard", "auto", "--record", f"{tmp_path}/{{shard}}.nc")
    _, out, _ = run(capsys, *SIMULATE, *place)
    assert f"Shard 2/4 is kept in {tmp_path}/2.nc" in out


def test_an_audit_with_a_record_prints_and_goes_on(capsys, tmp_path, monkeypatch):
    alone = run(capsys, *AUDIT)
    command = (*AUDIT, "--record", str(tmp_path / "audit.nc"))
    assert run(capsys, *command) == alone
    monkeypatch.setattr("jaxsel.kernel.engine.count_here", None)  # nothing is left to count
    assert run(capsys, *command) == alone


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "0/2"], "give --record FILE"),
        (["--shard", "2/2", "--record", "x"], "shard is '2/2'"),
        (["--shard", "0/2", "--scheduler", "tcp://x:1"], "exclude each other"),
        (["--coordinator", "x:1", "--scheduler", "tcp://x:1"], "exclude each other"),
        (["--coordinator", "x:1"], "give HOST:PORT with the number"),
        (["--processes", "2"], "need --coordinator"),
        (["--process", "0"], "need --coordinator"),
        (["--scheduler", "tcp://127.0.0.1:1"], "no Dask scheduler answers"),
    ],
)
@pytest.mark.parametrize("command", [SIMULATE, AUDIT])
def test_bad_options_are_one_sentence(capsys, tmp_path, monkeypatch, command, options, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *command, *options)
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_kind_are_refused(capsys, tmp_path):
    from jaxsel.shards import Shard, keeping

    with keeping(Shard(0, 1), tmp_path / "a.nc"):
        pass
    for name, message in {"a.nc": "written from Python", "b.nc": "no record"}.items():
        code, out, err = run(capsys, "merge", str(tmp_path / name))
        assert (code, out) == (2, "")
        assert message in err
    run(capsys, *SIMULATE, "--shard", "0/1", "--record", str(tmp_path / "c.nc"))
    code, _, err = run(capsys, "merge", str(tmp_path / "c.nc"), "--out", "x")
    assert code == 2
    assert "--out is for simulations" in err


@pytest.fixture(name="alone", scope="module")
def _alone(tmp_path_factory):
    """Records of ps22-6 by one process, of 500 trials with seed 2."""
    from sims.__main__ import app as sims

    folder = tmp_path_factory.mktemp("alone")
    command = ["ps22-6", "--trials", "500", "--seed", "2", "--out", str(folder / "here")]
    with pytest.MonkeyPatch.context() as patch:
        keep_no_programs(patch, folder)
        done = CliRunner().invoke(sims, command)
    assert done.exit_code == 0, done.output
    return folder / "here"


def test_simulations_in_shards_are_stored_as_those_of_one_process(tmp_path, alone):
    from sims.__main__ import main as sims
    from sims.registry import load

    names, settings = ["ps22-6"], {"trials": "500", "seed": 2}
    file = str(tmp_path / "part{shard}.nc")
    for index in range(2):
        sims(names, False, **settings, out=tmp_path, shard=f"{index}/2", record=file)
    with pytest.raises(InputError, match="was not simulated yet"):
        load(names[0], tmp_path)
    files = [str(path) for path in sorted(tmp_path.glob("part*.nc"))]
    assert len(files) == 4  # of two grids
    main_exit(["merge", *files, "--out", str(tmp_path / "merged")])
    sims(names, False, **settings, out=tmp_path / "merged", shard=None, record=None)
    merged, one = (load(names[0], where) for where in (tmp_path / "merged", alone))
    for grid, found in one.items():
        xr.testing.assert_identical(merged[grid], found)


def test_shards_of_a_simulation_that_are_not_all_there_are_refused(capsys, tmp_path):
    from sims.__main__ import main as sims

    file = str(tmp_path / "part{shard}.nc")
    sims(["ps22-6"], False, trials="500", out=tmp_path, shard="0/2", record=file)
    part = str(tmp_path / "part0.ps22-6.tuned.nc")
    code, _, err = run(capsys, "merge", part, "--out", str(tmp_path / "merged"))
    assert code == 2
    assert "of 2 shards, these are missing: 1" in err


class Counting(ThreadPoolExecutor):
    """Stands for the workers of a scheduler."""

    submitted = 0

    def submit(self, *arguments):
        Counting.submitted += 1
        return super().submit(*arguments)


@pytest.mark.parametrize("module", ["sims", "figures", "other numbers"])
def test_simulations_by_a_scheduler_are_those_of_one_process(monkeypatch, tmp_path, alone, module):
    from figures.__main__ import app as figures
    from jaxsel.shards import executors
    from jaxsel.sweeps import files
    from sims.__main__ import app as sims

    asked = []

    @contextlib.contextmanager
    def pool(address):
        asked.append(address)
        with Counting(1) as client:
            yield client

    monkeypatch.setattr(executors, "dask", pool)
    monkeypatch.setattr(Counting, "submitted", 0)
    name, runner = "ps22-6", CliRunner()
    there, here = tmp_path / "there", alone
    command = [name, "--trials", "500", "--seed", "2"]
    if module == "other numbers":
        here = tmp_path / "here"
        command += ["--set", "delta=1e-5", "--records", str(here)]
        done = runner.invoke(figures, [*command, "--out", str(tmp_path)])
        assert (done.exit_code, Counting.submitted) == (0, 0), done.output
    command += ["--scheduler", "tcp://host:1"]
    if module == "sims":
        done = runner.invoke(sims, [*command, "--out", str(there)])
    else:
        command += ["--records", str(there), "--out", str(tmp_path)]
        done = runner.invoke(figures, command)
    assert done.exit_code == 0, done.output
    assert asked == ["tcp://host:1"]
    assert Counting.submitted > 0
    expected, found = (sorted(folder.glob("**/*.nc")) for folder in (here, there))
    assert [path.name for path in expected] == [path.name for path in found] != []
    for one, other in zip(expected, found, strict=True):
        xr.testing.assert_identical(files.dataset_of(one), files.dataset_of(other))


def main_exit(arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert not stop.value.code


def test_a_simulation_without_the_engine_has_no_shards(tmp_path):
    from sims.__main__ import app as sims

    words = ["ps22-1", "--shard", "0/2", "--record", str(tmp_path / "x.nc")]
    ended = CliRunner().invoke(sims, words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("jaxsel: ps22-1 has no grid of cells")
    assert len(ended.stderr.splitlines()) == 1


def test_joined_processes_print_once(capsys, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "jaxsel", *SIMULATE, "--json"]
    one = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=1"
    environment = os.environ | {"XLA_FLAGS": one}
    record = tmp_path / "run.nc"
    running = [
        subprocess.Popen(
            [
                *command,
                "--coordinator",
                address,
                "--processes",
                "2",
                "--process",
                str(index),
                "--record",
                str(record),
            ],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    first, second = (each.communicate(timeout=120)[0] for each in running)
    assert second == ""
    _, alone, _ = run(capsys, *SIMULATE, "--json")
    assert without_seconds(first) == without_seconds(alone)
    assert record.exists()


LONG = ("noisy_max", "--trials", "4e9")
COMMANDS = {
    "simulate": (("simulate", *LONG), "{record}"),
    "audit": (("audit", *LONG), "{record}"),
    "a shard": (("simulate", *LONG, "--shard", "1/2"), "{record}-{{shard}}"),
    "sweep": (("sweep", "noisy_max", "epsilon=0.5,1", "--trials", "4e9"), "{record}.nc"),
    "a shard of a sweep": (
        ("sweep", "noisy_max", "--trials", "4e9", "--shard", "1/2"),
        "{record}-{{shard}}.nc",
    ),
}


def begun(file: str) -> bool:
    """Waits until a record is begun; whether it is."""
    until = time.monotonic() + 100
    while not os.path.exists(file) and time.monotonic() < until:
        time.sleep(0.05)
    return os.path.exists(file)


def as_process(words: tuple[str, ...], file: str) -> tuple[int, str]:
    """Exit status and errors of a command that is interrupted once its record is begun."""
    hurried = (
        "import jaxsel.kernel.engine, jaxsel.sweeps.files, signal, sys;"
        # Tests that run in the background hand on that the signal is ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from jaxsel.cli.arguments import hear_interrupts; hear_interrupts();"
        "jaxsel.kernel.engine._SAVE_SECONDS = jaxsel.sweeps.files._SAVE_SECONDS = 0.0;"
        "from jaxsel.cli import main; main(sys.argv[1:])"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", hurried, *words], stderr=subprocess.PIPE, text=True
    )
    begun(file)
    running.send_signal(signal.SIGINT)
    try:
        _, err = running.communicate(timeout=60)
    finally:
        running.kill()
    return running.returncode, err


@pytest.fixture(name="here")
def _here(capsys, monkeypatch):
    """The same in this process, whose compiler and libraries are there already."""
    for module in ("jaxsel.kernel.engine", "jaxsel.sweeps.files"):
        monkeypatch.setattr(f"{module}._SAVE_SECONDS", 0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hear_interrupts()

    def interrupted(words: tuple[str, ...], file: str) -> tuple[int, str]:
        def interrupt() -> None:
            if begun(file):  # else the command has ended, and the tests would be interrupted
                os.kill(os.getpid(), signal.SIGINT)

        keyboard = threading.Thread(target=interrupt)
        keyboard.start()
        status, _, err = run(capsys, *words)
        keyboard.join()
        return status, err

    yield interrupted
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("which", list(COMMANDS))
def test_an_interrupted_command_says_where_it_goes_on(tmp_path, here, which):
    """Interrupted once something is counted; what the sentence says is so."""
    words, pattern = COMMANDS[which]
    record = pattern.format(record=tmp_path / "run")
    file = record.replace("{shard}", "1")
    interrupted = as_process if which in ("simulate", "sweep") else here
    status, err = interrupted((*words, "--record", record), file)
    assert status == 130, err
    assert err.strip().splitlines()[-1] == (
        f"jaxsel: interrupted; what was counted is saved in {file}; the same command goes on"
    )
    assert os.path.exists(file)


@pytest.mark.parametrize("place", ["a callback of the collector", "a finalizer"])
def test_an_interrupt_arrives_where_python_swallows_what_is_raised(place):
    """Without hear_interrupts the command says "Exception ignored" and goes on."""
    code = f"""
import gc, signal, time
from jaxsel.cli.arguments import hear_interrupts, interrupts_say

signal.signal(signal.SIGINT, signal.default_int_handler)
hear_interrupts()

def interrupt(*given):
    signal.raise_signal(signal.SIGINT)

class Finalized:
    def __del__(self):
        interrupt()

with interrupts_say(None):
    if {place!r} == "a finalizer":
        Finalized()
    else:
        gc.callbacks.append(interrupt)
        gc.collect()
        gc.callbacks.remove(interrupt)
    for _ in range(1000):
        time.sleep(0.01)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 130, run.stderr
    assert "Exception ignored" not in run.stderr


@pytest.mark.parametrize("words", [("simulate", *LONG), ("sweep", *LONG)])
def test_an_interrupted_command_without_a_record_says_so(capsys, monkeypatch, words):
    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxsel.kernel.engine.count_here", interrupted)
    code, out, err = run(capsys, *words)
    assert (code, out) == (130, "")
    assert err.strip() == (
        "jaxsel: interrupted; nothing is saved; with --record FILE it could go on"
    )


def test_a_record_that_is_not_begun_is_not_said_to_be(capsys, monkeypatch, tmp_path):
    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxsel.kernel.engine.count_here", interrupted)
    path = tmp_path / "run.nc"
    code, _, err = run(capsys, *SIMULATE, "--record", str(path))
    assert code == 130
    assert f"nothing was counted yet, so {path} is not written" in err
    assert not path.exists()
