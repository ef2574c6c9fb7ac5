"""Records survive kills, full disks and second writers, and notice what was changed."""

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import h5py
import numpy as np
import pytest

from jaxsel.cli.main import main
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import simulate

ARRAYS = {"values_0": np.arange(6).reshape(2, 3), "part": np.array([0.5, np.nan])}
CONFIGURATION = {"seed": 1, "mechanism": "m"}
TEXTS = ("format", "configuration", "attributes", "versions", "digest")
RUN = {"trials": 1000, "seed": 3}


@pytest.fixture(name="path")
def _path(tmp_path):
    path = tmp_path / "a.nc"
    records.write(path, arrays=ARRAYS, configuration=CONFIGURATION, attributes={"x": 1})
    return path


def files(path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def refused(path) -> str:
    with pytest.raises(InputError) as caught:
        records.read(path)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    return sentence


def run(path, **settings):
    return simulate(noisy_max(), [1.0, 0.0], {"epsilon": 1.0}, record=path, **(RUN | settings))


def test_every_kind_of_array_comes_back(tmp_path):
    arrays = {
        "whole": np.arange(4, dtype=np.int32),
        "bools": np.array([True, False]),
        "words": np.array(["a", "bcd"]),
        "none": np.zeros((0, 2)),
        "one": np.float64(2),
        "short": np.float32([1.5]),
        "large": np.uint64([2**63]),
    }
    records.write(tmp_path / "b.nc", arrays=arrays, configuration={})
    found = records.read(tmp_path / "b.nc", {}).arrays
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.asarray(array).dtype


@pytest.mark.parametrize("name", TEXTS)
def test_a_record_without_one_of_its_texts_is_refused(path, name):
    for value in (None, 7, np.arange(3), "", "[1]", "{", b"\xff"):
        with h5py.File(path, "a") as file:
            file.attrs.pop(name, None)
            if value is not None:
                file.attrs[name] = value
        refused(path)


def test_a_count_edited_by_hand_is_refused(path):
    with h5py.File(path, "a") as file:
        file["values_0"][1, 1] += 1
    assert "changed after it was written" in refused(path)


@pytest.mark.parametrize("name", ["configuration", "attributes", "versions"])
def test_a_text_edited_by_hand_is_refused(path, name):
    with h5py.File(path, "a") as file:
        values = json.loads(file.attrs[name])
        file.attrs[name] = json.dumps(values | {"seed": 2})
    assert "changed after it was written" in refused(path)


def test_an_array_removed_or_added_is_refused(path):
    with h5py.File(path, "a") as file:
        del file["part"]
    refused(path)
    with h5py.File(path, "a") as file:
        file["more"] = np.arange(2)
    refused(path)


def test_a_file_cut_short_is_refused(path):
    whole = path.read_bytes()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refused(path)


def test_a_file_scribbled_in_is_refused_or_as_it_was(path, seed, monkeypatch):
    # h5netcdf complains again when a file that it could not open is thrown away.
    monkeypatch.setattr(sys, "unraisablehook", lambda trouble: None)
    whole = path.read_bytes()
    generator = np.random.default_rng(seed)
    for _ in range(20):
        broken = bytearray(whole)
        for place in generator.integers(0, len(whole), 30):
            broken[place] ^= 0xFF
        path.write_bytes(bytes(broken))
        try:
            found = records.read(path)  # what was hit may be padding
        except InputError:
            refused(path)
        else:
            np.testing.assert_array_equal(found.arrays["values_0"], ARRAYS["values_0"])
    gc.collect()


def test_a_record_of_an_older_version_is_refused_in_one_sentence(path):
    with h5py.File(path, "a") as file:
        file.attrs["format"] = "jaxsel-record-1"
    assert "its format is jaxsel-record-1" in refused(path)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"ranges": [[0, 5]]},
        {"ranges": 5, "seconds": 1.0},
        {"ranges": [[5, 0]], "seconds": 1.0},
        {"ranges": [[0, 2.5]], "seconds": 1.0},
        {"ranges": [[0, 5]], "seconds": "1"},
        {"ranges": ["a"], "seconds": 1.0},
        {"ranges": [[0, 5], [9, 12]], "seconds": 1.0},
        {"ranges": [[3, 5]], "seconds": 1.0},
        {"ranges": [[0, 5]], "seconds": 1.0},
    ],
)
def test_what_a_run_cannot_go_on_from_is_refused(tmp_path, attributes):
    """The last: ranges and time as they should be, but no tallies."""
    configuration = dict(run(tmp_path / "other.nc").configuration)
    path = tmp_path / "a.nc"
    records.write(path, arrays={}, configuration=configuration, attributes=attributes)
    before = path.read_bytes()
    with pytest.raises(InputError) as caught:
        run(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert files(path) == ["a.nc", "other.nc"]


# One process imports what writes a record, which takes long, and a copy of it makes each attempt.
ATTEMPTS = """
    import json, os, resource, signal, sys, tempfile, traceback
    import numpy as np
    from jaxsel.host import records
    from jaxsel.host.errors import InputError

    def allow(room):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    def full_disk(path, room):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        allow(room)
        try:
            records.write(path, arrays={"a": np.arange(100_000)}, configuration={})
        except InputError as error:
            sentence = str(error)
            assert sentence.startswith("cannot write the record") and "\\n" not in sentence
        else:
            raise AssertionError("it was written")

    def private(path, room):
        "Killed by the system at a byte of the file, or where it is moved into place."
        os.umask(0)
        with records.writer(path, private=True) as save:
            os.replace, moved = lambda *names: os.kill(os.getpid(), signal.SIGKILL), os.replace
            if room >= 0:
                os.replace = moved
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                allow(room)
            save(arrays={"a": np.arange(100_000)}, configuration={})

    with tempfile.TemporaryDirectory() as folder:  # what is imported on the way is, too
        records.write(os.path.join(folder, "a.nc"), arrays={"a": np.arange(3)}, configuration={})
    for line in sys.stdin:
        name, path, room = json.loads(line)
        copy = os.fork()
        if not copy:
            try:
                signal.alarm(60)
                {"full_disk": full_disk, "private": private}[name](path, room)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        _, status = os.waitpid(copy, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.fixture(name="attempt", scope="module")
def _attempt():
    """``attempt(name, path, room)``: the exit code of a process that writes a record."""
    command = [sys.executable, "-c", textwrap.dedent(ATTEMPTS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        given, taken = process.stdin, process.stdout
        assert given is not None
        assert taken is not None

        def attempted(*words: object) -> int:
            print(json.dumps(words, default=str), file=given, flush=True)
            return int(taken.readline())

        yield attempted
        given.close()


@pytest.mark.parametrize("room", [0, 5000, 300_000])
def test_a_full_disk_is_one_sentence_and_keeps_the_old_record(path, room, attempt):
    before = path.read_bytes()
    assert attempt("full_disk", path, room) == 0
    assert path.read_bytes() == before
    assert files(path) == ["a.nc"]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the record") as caught:
        records.write(tmp_path / "file" / "a.nc", arrays={}, configuration={})
    assert "\n" not in str(caught.value)


HOLDING = """
    import sys, time
    from jaxsel.host import records
    with records.writer(sys.argv[1]) as save:
        open(sys.argv[1].replace("a.nc", ".a.nc.partial"), "w").close()
        print("held", flush=True)
        time.sleep(60)
"""


def test_two_writers_exclude_each_other_and_a_killed_one_holds_nothing(path):
    arguments = [sys.executable, "-c", textwrap.dedent(HOLDING), path]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="another process is writing the record"):
            run(path)
        assert records.read(path, CONFIGURATION).arrays["values_0"][1, 2] == 5
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert files(path) == [".a.nc.lock", ".a.nc.partial", "a.nc"]
    records.write(path, arrays={}, configuration={})
    assert files(path) == ["a.nc"]


def test_a_second_writer_of_a_moment_waits(path):
    with records.writer(path):
        started = time.monotonic()
        with pytest.raises(InputError), records.writer(path, 0.1):
            pass
        assert time.monotonic() - started >= 0.1
    with records.writer(path) as save:
        save(arrays={}, configuration={"a": 1})
        save(arrays={}, configuration={"a": 2})
    assert records.read(path).configuration == {"a": 2}
    assert files(path) == ["a.nc"]


def test_an_interrupt_while_a_record_is_written_does_not_stop_the_next_write(path, monkeypatch):
    def interrupted(file) -> None:
        raise KeyboardInterrupt

    before = path.read_bytes()
    with records.exclusive(path) as replace:
        with monkeypatch.context() as patch:
            patch.setattr(records.os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                replace(b"half")
        assert path.read_bytes() == before
        replace(b"whole")
    assert path.read_bytes() == b"whole"
    assert files(path) == ["a.nc"]


def test_an_interrupt_waits_until_the_record_is_whole(path, monkeypatch):
    real = records.os.fsync

    def interrupted(file) -> None:
        signal.raise_signal(signal.SIGINT)
        real(file)

    monkeypatch.setattr(records.os, "fsync", interrupted)
    # Tests that run in the background hand on that the signal is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with records.writer(path) as save, pytest.raises(KeyboardInterrupt):
            save(arrays={}, configuration={"whole": 1})
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert records.read(path).configuration == {"whole": 1}


def modes(folder) -> dict[str, int]:
    """The permissions of all that lies in a folder, at any depth."""
    return {
        str(each.relative_to(folder)): each.stat().st_mode & 0o777 for each in folder.rglob("*")
    }


@pytest.mark.parametrize("room", [0, 1, 300_000, -1])
def test_a_private_record_is_its_owners_alone_from_its_first_byte(tmp_path, room, attempt):
    path = tmp_path / "deep" / "own" / "a.nc"
    assert -attempt("private", path, room) == (signal.SIGKILL if room < 0 else signal.SIGXFSZ)
    closed = {"deep": 0o700, "deep/own": 0o700}
    assert modes(tmp_path) == closed | {
        "deep/own/.a.nc.lock": 0o600,
        "deep/own/.a.nc.partial": 0o600,
    }
    written = (path.parent / ".a.nc.partial").stat().st_size
    assert written > 800_000 if room < 0 else written == room
    before = os.umask(0)
    try:
        with records.writer(path, private=True) as save:
            save(arrays=ARRAYS, configuration=CONFIGURATION)
    finally:
        os.umask(before)
    assert modes(tmp_path) == closed | {"deep/own/a.nc": 0o600}
    found = records.read(path, CONFIGURATION, private=True)
    np.testing.assert_array_equal(found.arrays["part"], ARRAYS["part"])


@pytest.fixture(name="secret")
def _secret(tmp_path):
    path = tmp_path / "own" / "a.nc"
    with records.writer(path, private=True) as save:
        save(arrays=ARRAYS, configuration=CONFIGURATION, attributes={"runs": [31337]})
    return path


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o610, 0o602])
def test_a_private_record_open_to_others_is_refused(secret, mode):
    def refuses(what, mode) -> None:
        with pytest.raises(InputError, match=f"chmod {mode} {what}") as caught:
            with records.writer(secret, private=True):
                pass
        assert "\n" not in str(caught.value)

    before = secret.read_bytes()
    secret.chmod(mode)
    refuses(secret, 600)
    with pytest.raises(InputError, match="open to others"):
        records.read(secret, private=True)
    secret.chmod(0o600)
    secret.parent.chmod(mode | 0o100)
    refuses(secret.parent, 700)
    assert secret.parent.stat().st_mode & 0o777 == mode | 0o100
    secret.parent.chmod(0o700)
    records.read(secret, private=True)
    assert (secret.read_bytes(), files(secret)) == (before, ["a.nc"])


def test_a_symbolic_link_to_a_record_stands_for_its_file(tmp_path):
    file, link = tmp_path / "a.nc", tmp_path / "link.nc"
    link.symlink_to(file)
    for value in (1, 2):
        records.write(link, arrays=ARRAYS, configuration=CONFIGURATION, attributes={"n": value})
        assert link.is_symlink()
        assert records.read(file).attribute("n", int) == value
    # Who writes the one holds the lock of the other.
    with records.writer(link), pytest.raises(InputError, match="another process is writing"):
        with records.writer(file):
            pass


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_nobody_is_told_to_close_a_folder_that_others_use(tmp_path, mode):
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(mode)
    with pytest.raises(InputError, match="a folder that does not exist yet") as caught:
        with records.writer(team / "a.nc", private=True):
            pass
    assert "chmod" not in str(caught.value)
    assert files(team / "a.nc") == []


def test_nothing_reads_a_private_record_unasked(secret, path, capsys):
    before = secret.read_bytes()
    commands = (
        ["merge", secret],
        ["merge", secret, secret],
        ["report", "--folder", secret],
        ["simulate", "noisy_max", "--trials", "10", "--record", secret],
        ["audit", "noisy_max", "--trials", "10", "--record", secret],
        ["sweep", "noisy_max", "epsilon=1", "--trials", "10", "--record", secret],
        ["simulate", "noisy_max", "--shard", "0/1", "--trials", "10", "--record", secret],
    )
    for words in commands:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        assert stop.value.code == 2
        out, error = capsys.readouterr()
        assert out == ""
        assert error.count("\n") == 1
        assert "holds the secrets of a private search" in error or words[0] == "report"
        assert "31337" not in error
    assert (secret.read_bytes(), files(secret)) == (before, ["a.nc"])
    assert "holds the secrets" in refused(secret)
    # Nor is another record taken for one.
    path.chmod(0o600)
    with pytest.raises(InputError, match="not a jaxsel record of this version"):
        records.read(path, private=True)
