"""Processes joined by jax.distributed: each returns what one process returns."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import types

import jax
import numpy as np
import pytest

import jaxsel
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel import hosts
from jaxsel.kernel.engine import simulate, simulate_grid
from tests.kernel.joined_run import CELLS, GRID

JOINED = """
    import json, os, signal, sys
    import numpy as np
    from jaxsel.kernel import hosts
    from jaxsel.host.errors import InputError
    hosts.join(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    import jaxsel, jaxsel.kernel.engine
    from jaxsel.kernel.engine import Performance, simulate, simulate_grid
    from tests.kernel.joined_run import CELLS, GRID
"""


def ended(processes: int, code: str, devices: int | list[int] = 1, *arguments: str):
    """Exit statuses and outputs of joined processes, in order; devices of each or all."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{free.getsockname()[1]}"
    each = [devices] * processes if isinstance(devices, int) else devices
    flag = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count"
    environments = [os.environ | {"XLA_FLAGS": f"{flag}={number}"} for number in each]
    program = textwrap.dedent(JOINED) + textwrap.dedent(code)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, coordinator, str(processes), str(index), *arguments],
            env=environments[index],
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(processes)
    ]
    outputs = [each.communicate(timeout=120)[0] for each in running]
    return [each.returncode for each in running], outputs


COUNTING = """
    print(json.dumps(simulate_grid(jaxsel.noisy_max(), CELLS, **GRID).values.tolist()))
"""
AUDITING = """
    audited = jaxsel.audit(jaxsel.mechanism("fixed_repetitions"), trials=4000)
    print(json.dumps(audited.bound.lower))
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """What two processes of two devices each print in one run, by what they did.

    To start and join takes seconds: they are asked for everything that ends neither.
    """
    folder = tmp_path_factory.mktemp("pair")
    (folder / "notes.txt").write_text("mine")
    counting = COUNTING + AUDITING
    parts = {"counting": counting, "refusing": REFUSING, "unequal": UNEQUAL, "losing": LOSING}
    program = "".join(
        f'print("PART {name}"){textwrap.dedent(code)}' for name, code in parts.items()
    )
    statuses, outputs = ended(2, program, 2, str(folder / "notes.txt"), f"{folder}/")
    assert statuses == [0, 0]
    found: dict[str, list[list[str]]] = {name: [] for name in parts}
    for output in outputs:
        for part in output.split("PART ")[1:]:
            name, *lines = part.splitlines()
            found[name].append(lines)
    assert all(len(each) == 2 for each in found.values())
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert (folder / "notes.txt").read_text() == "mine"
    return found


def test_every_process_returns_what_one_returns(pair):
    """Two processes, that have audited, too; and three."""
    grid = simulate_grid(jaxsel.noisy_max(), CELLS, **GRID).values.tolist()
    audited = jaxsel.audit(jaxsel.mechanism("fixed_repetitions"), trials=4000).bound.lower
    statuses, outputs = ended(3, COUNTING)
    assert statuses == [0] * 3
    found = [[json.loads(line) for line in lines] for lines in pair["counting"]]
    assert found == [[grid, audited]] * 2
    assert [*map(json.loads, outputs)] == [grid] * 3


REFUSING = """
    path = sys.argv[4]
    for settings in ({"trials": 10 + hosts.number()}, {"trials": 10, "record": path}):
        try:
            simulate(jaxsel.noisy_max(), *CELLS[0], **settings)
        except InputError as error:
            print(error)
"""


def test_what_one_refuses_all_refuse(pair):
    """Another number of trials in one of them; a file that is no record."""
    for first, second in pair["refusing"]:
        assert first.startswith("1 of 2 processes were given another run")
        assert "notes.txt is not a jaxsel record" in second


UNEQUAL = """
    import jax
    for performance in (
        Performance(block_size=1024 << hosts.number()),
        Performance(blocks_per_call=1 + hosts.number()),
        Performance(devices=tuple(jax.local_devices()[: 1 + hosts.number()])),
    ):
        try:
            simulate(jaxsel.noisy_max(), *CELLS[0], trials=100_000,
                     performance=performance)
        except InputError as error:
            print(error)
"""


def test_processes_that_would_cut_other_ranges_are_refused(pair):
    """Some trials would be counted twice, some never."""
    for lines in pair["unequal"]:
        assert len(lines) == 3
        for line in lines:
            assert line.startswith("1 of 2 processes were given another run")


def test_processes_with_different_devices_do_not_join(capfd):
    statuses, _ = ended(3, "", [1, 3, 2])
    assert statuses == [1] * 3
    sentence = "the processes of this run have 1, 3, 2 devices; give all of them as many"
    assert capfd.readouterr().err.count(sentence) == 3


LOSING = """
    real = jaxsel.kernel.engine._ranges
    def short(*given):
        first, last = real(*given)
        return first, last - (hosts.number() == 1)
    for amiss in ("process", "sum"):
        try:
            if amiss == "process":
                jaxsel.kernel.engine._ranges = short
            else:
                jaxsel.kernel.engine._ranges = real
                added = hosts.sum_over_processes
                def losing(tree):
                    sums, about = added(tree)
                    return sums - 1, about
                hosts.sum_over_processes = lambda tree: (
                    losing(tree) if isinstance(tree, tuple) else added(tree))
            simulate(jaxsel.noisy_max(), *CELLS[0], trials=100_000,
                     record=sys.argv[5] + amiss)
        except InputError as error:
            print(error)
"""


def test_sums_that_lost_trials_are_refused_by_all(pair):
    """In the ranges of a process; in the sum over processes. Nothing is kept of them."""
    for lines in pair["losing"]:
        assert len(lines) == 2
        for line in lines:
            assert "one call of the run counts" in line


KILLING = """
    jaxsel.kernel.engine._SAVE_SECONDS = 0.0
    save, saved = jaxsel.kernel.engine._save, []
    def save_or_die(*arguments):
        saved.append(1)
        if len(saved) == 3:  # what was counted since the second save is lost
            os.kill(os.getpid(), signal.SIGKILL)
        save(*arguments)
    jaxsel.kernel.engine._save = save_or_die
    simulate(jaxsel.noisy_max(), *CELLS[0], trials=2**22, record=sys.argv[4],
             performance=Performance(8192, 2))
"""
RESUMING = """
    found = simulate(jaxsel.noisy_max(), *CELLS[0], trials=300_000, record=sys.argv[4])
    print(json.dumps(found.values.tolist()))
"""


def test_a_killed_run_is_resumed_together(tmp_path):
    record = tmp_path / "run.nc"
    statuses, _ = ended(2, KILLING, 1, str(record))
    assert statuses[0] == -signal.SIGKILL
    ((_, done),) = records.read(record).attributes["ranges"]
    assert 0 < done < 300_000, "the run was to be killed midway"
    statuses, outputs = ended(2, RESUMING, 1, str(record))
    assert statuses == [0, 0]
    expected = simulate(jaxsel.noisy_max(), *CELLS[0], trials=300_000)
    for output in outputs:
        assert json.loads(output) == expected.values.tolist()
    ((_, done),) = records.read(record).attributes["ranges"]
    assert done == 300_000


@pytest.mark.parametrize(
    ("said", "reason"),
    [("", "RuntimeError"), ("nobody\n  answers", "nobody answers"), ("x" * 999, "x" * 200)],
)
def test_why_nobody_joins_is_one_line(monkeypatch, said, reason):
    def refuse(*arguments, **settings):
        raise RuntimeError(said)

    monkeypatch.setattr(jax.distributed, "initialize", refuse)
    monkeypatch.setattr(jax.config, "update", lambda *arguments: None)
    with pytest.raises(InputError) as caught:
        hosts.join("localhost:1", 2, 1)
    assert str(caught.value) == f"cannot join the run at localhost:1: {reason}"


def test_what_libraries_print_is_no_result(capfd):
    with hosts.output_to_errors():
        os.write(1, b"met\n")
        os.write(2, b"warned\n")
    os.write(1, b"counts\n")
    os.write(2, b"done\n")
    assert capfd.readouterr() == ("counts\n", "met\nwarned\ndone\n")


def test_alone_nothing_is_communicated():
    tree = {"a": np.arange(3)}
    assert hosts.sum_over_processes(tree) is tree
    assert hosts.from_first(lambda: 7) == 7
    assert (hosts.count(), hosts.number()) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("auto", 2, 0), '"auto" alone'),
        (("auto", 2), '"auto" alone'),
        (("127.0.0.1:1",), "give HOST:PORT with the number"),
        (("127.0.0.1:1", 2, 2), "process is 2; it must be one of 0, ..., 1"),
        (("127.0.0.1:1", 2, -1), "process is -1"),
    ],
)
def test_bad_places(arguments, message):
    with pytest.raises(InputError, match=message):
        hosts.join(*arguments)


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (("auto",), (None, None, None)),
        (("127.0.0.1:1", 3, 2), ("127.0.0.1:1", 3, 2)),
        (("127.0.0.1:1", 1, 0), ("127.0.0.1:1", 1, 0)),
    ],
)
def test_what_jax_is_told_of_the_others(monkeypatch, capfd, arguments, passed):
    told, settings = [], []
    monkeypatch.setattr(
        jax.distributed, "initialize", lambda *given, **more: told.append((given, more))
    )
    monkeypatch.setattr(jax.config, "update", lambda *given: settings.append(given))
    met = []
    monkeypatch.setattr(hosts, "from_first", lambda make: (os.write(1, b"met\n"), met.append(1)))
    monkeypatch.setattr(hosts, "sum_over_processes", lambda tree: met.append(tree.tolist()))
    hosts.join(*arguments)
    assert told == [(passed, {"initialization_timeout": 60})]
    assert settings == [("jax_cpu_collectives_implementation", "gloo")]
    # They meet at once, and what the library says of it is no result.
    assert met == [1, [0]]
    assert capfd.readouterr() == ("", "met\n")


def test_devices_are_counted_by_process(monkeypatch):
    def have(*indices):
        devices = [types.SimpleNamespace(process_index=index) for index in indices]
        monkeypatch.setattr(jax, "devices", lambda: devices)

    have(0, 1, 1, 0)
    hosts._check_devices()
    have(2, 0, 0, 1, 2, 2)
    with pytest.raises(InputError, match="the processes of this run have 2, 1, 3 devices; give"):
        hosts._check_devices()


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 50])
def test_what_the_first_has_made_is_sent_whole(monkeypatch, number, length):
    """Of any length; only the first makes it, and only its words are sent."""
    made, first = "x" * length, []

    def broadcast(value):
        # What the first process sends reaches all of them.
        if number == 0:
            first.append(np.array(value))
            return value
        sent = pickle.dumps((made, None))
        words = -(-len(sent) // 4)
        if np.ndim(value) == 0:
            return np.int64(len(sent))
        assert value.tolist() == [0] * words
        return np.frombuffer(sent.ljust(4 * words, b"\0"), np.uint32)

    def make():
        assert number == 0
        return made

    monkeypatch.setattr(hosts, "count", lambda: 2)
    monkeypatch.setattr(hosts, "number", lambda: number)
    monkeypatch.setattr(hosts.multihost_utils, "broadcast_one_to_all", broadcast)
    assert hosts.from_first(make) == made
    if number == 0:
        assert first[1].dtype == np.uint32
        assert first[1].nbytes >= int(first[0]) > first[1].nbytes - 4


def test_the_first_keeps_the_error_that_it_raised(monkeypatch):
    class Own(InputError):
        """Says more than its sentence."""

    def make():
        raise Own("no")

    monkeypatch.setattr(hosts, "count", lambda: 2)
    monkeypatch.setattr(hosts.multihost_utils, "broadcast_one_to_all", lambda value: value)
    with pytest.raises(Own, match=r"^no$"):
        hosts.from_first(make)


def test_how_many_were_given_another_run(monkeypatch):
    monkeypatch.setattr(hosts, "count", lambda: 3)
    monkeypatch.setattr(hosts, "from_first", lambda make: "first")
    for text, own in (("first", 0), ("other", 1)):
        asked = []

        def add(values, asked=asked):
            asked.append(values.tolist())
            return values + 1

        monkeypatch.setattr(hosts, "sum_over_processes", add)
        with pytest.raises(InputError, match=f"^{own + 1} of 3 processes were given another run"):
            hosts.check_same(text)
        assert asked == [[own]]
    monkeypatch.setattr(hosts, "sum_over_processes", lambda values: values)
    hosts.check_same("first")


def test_trees_are_summed_leaf_by_leaf(monkeypatch):
    """As one vector: each leaf gets its own part of the sum back, in its own shape."""
    monkeypatch.setattr(hosts, "count", lambda: 2)
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:1]), ("processes",))
    monkeypatch.setattr(hosts, "_mesh", lambda: mesh)
    tree = {"a": np.arange(6).reshape(2, 3), "b": (np.array([2**40]), np.arange(4) - 9)}
    found = hosts.sum_over_processes(tree)
    assert jax.tree.map(np.shape, found) == jax.tree.map(np.shape, tree)
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(tree), strict=True):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, theirs)
