"""The promises of simulate: addresses, exact sums, constant memory, resume."""

import contextlib
import pickle
import signal
import subprocess
import sys
import textwrap
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsel
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine, hosts, statistics
from jaxsel.kernel.engine import Performance, simulate, simulate_grid
from jaxsel.language.base import Mechanism

SCORES = np.array([0.0, 1.0, 2.0, 1.5, -0.5])
PARAMS = {"epsilon": 1.0}


def tallies(trials=50_000, **settings):
    return simulate(noisy_max(), SCORES, PARAMS, trials=trials, seed=3, **settings)


def test_every_trial_is_counted_once():
    assert tallies(trials=12_345).values.sum() == 12_345


@pytest.mark.parametrize("num_devices", [1, 2, 4])
@pytest.mark.parametrize("blocks", [1, 3, 17])
def test_identical_for_any_blocks_a_call_and_any_devices(num_devices, blocks):
    performance = Performance(1024, blocks, tuple(jax.devices()[:num_devices]))
    np.testing.assert_array_equal(tallies(performance=performance).values, tallies().values)


@pytest.mark.parametrize("block_size", [1, 256, 65536])
def test_identical_for_any_block_size(block_size):
    performance = Performance(block_size, 64)
    found = tallies(trials=3000, performance=performance).values
    np.testing.assert_array_equal(found, tallies(trials=3000).values)


def test_seeds_and_cells_differ():
    grid = simulate_grid(noisy_max(), [(SCORES, PARAMS)] * 2, trials=50_000, seed=3)
    np.testing.assert_array_equal(grid.values[0], tallies().values[0])
    assert not np.array_equal(grid.values[0], grid.values[1])
    for other in (4, 3 + 2**32):
        found = simulate(noisy_max(), SCORES, PARAMS, trials=50_000, seed=other)
        assert not np.array_equal(found.values, tallies().values)


def test_cells_run_apart_under_their_numbers_count_what_they_count_in_the_grid():
    """Each has its own law, so that no other cell's tallies could pass for its."""
    cells = [(SCORES + shift, PARAMS) for shift in np.eye(4, 5)]
    whole = simulate_grid(noisy_max(), cells, trials=20_000, seed=3)
    apart = simulate_grid(
        noisy_max(), [cells[3], cells[1]], trials=20_000, seed=3, cell_numbers=(3, 1)
    )
    np.testing.assert_array_equal(apart.values, whole.values[[3, 1]])
    last = simulate(noisy_max(), *cells[3], trials=20_000, seed=3)
    assert not np.array_equal(apart.values[0], last.values[0])


def test_cell_numbers_are_part_of_the_configuration_only_when_given():
    cells = [(SCORES, PARAMS)] * 2
    plain, numbered = (
        simulate_grid(noisy_max(), cells, trials=10, **given)
        for given in ({}, {"cell_numbers": (7, 2**32 - 1)})
    )
    assert "cell_numbers" not in plain.configuration
    assert numbered.configuration["cell_numbers"] == [7, 2**32 - 1]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((1,), "must be 2 different numbers, one a cell"),
        ((1, 1), "must be 2 different numbers"),
        ((-1, 0), "cell_numbers is -1"),
        ((0, 2**32), r"cell_numbers reach 4294967296; they must be below 2\*\*32"),
    ],
)
def test_bad_cell_numbers(numbers, message):
    cells = [(SCORES, PARAMS)] * 2
    with pytest.raises(InputError, match=message):
        simulate_grid(noisy_max(), cells, trials=10, cell_numbers=numbers)


def test_ranges_of_trials_add_up_across_processes():
    """Two processes, each with its own range of trials, make the run of one."""
    code = textwrap.dedent(
        """
        import pickle, sys
        from tests.kernel.test_engine import tallies
        first, trials = int(sys.argv[1]), int(sys.argv[2])
        found = tallies(trials=trials, first_trial=first)
        sys.stdout.buffer.write(pickle.dumps(found))
        """
    )
    arguments = [sys.executable, "-c", code, "0", "20001"]
    result = subprocess.run(arguments, capture_output=True, check=True)
    theirs = pickle.loads(result.stdout)
    ours = tallies(first_trial=20_001, trials=29_999)
    whole = tallies()
    for both in (theirs + ours, ours + theirs):
        np.testing.assert_array_equal(both.values, whole.values)
        assert both.values.dtype == whole.values.dtype
        assert both.ranges == whole.ranges == ((0, 50_000),)
        assert both.trials == whole.trials == 50_000
        assert both.configuration == whole.configuration
        assert both.seconds == theirs.seconds + ours.seconds


def test_tallies_of_ranges_with_a_gap_keep_their_ranges():
    parts = [tallies(trials=100, first_trial=first) for first in (300, 0, 200)]
    both = parts[0] + parts[1]
    assert both.ranges == ((0, 100), (300, 400))
    assert both.trials == 200
    assert (both + parts[2]).ranges == ((0, 100), (200, 400))


def test_tallies_that_count_a_trial_twice_are_not_added():
    first, second = (tallies(trials=100, first_trial=n) for n in (0, 60))
    with pytest.raises(InputError, match=r"both tallies count trials \[60, 100\);"):
        first + second
    with pytest.raises(InputError, match=r"both tallies count trials \[0, 100\);"):
        first + first
    apart = tallies(trials=10, first_trial=200) + tallies(trials=10, first_trial=90)
    with pytest.raises(InputError, match=r"trials \[90, 100\) and \[200, 210\);"):
        tallies(trials=300) + apart


def test_tallies_of_different_configurations_are_not_added():
    other = simulate(noisy_max(), SCORES, {"epsilon": 2.0}, trials=10, first_trial=100)
    with pytest.raises(InputError, match=r"differ in input_digest, seed\)"):
        tallies(trials=100) + other


def test_a_record_of_other_trials_is_refused_and_kept(tmp_path):
    record = tmp_path / "run.nc"
    tallies(trials=1000, first_trial=500, record=record)
    before = record.read_bytes()
    for first in (0, 501, 1500):
        with pytest.raises(InputError, match=r"holds trials \[500, 1500\)"):
            tallies(trials=2000, first_trial=first, record=record)
    assert record.read_bytes() == before
    more = tallies(trials=2000, first_trial=500, record=record)
    assert more.ranges == ((500, 2500),)
    straight = tallies(trials=2000, first_trial=500)
    np.testing.assert_array_equal(more.values, straight.values)


def test_trials_beyond_2_to_the_32():
    """A range that crosses 2**32 counts on, and its streams do not repeat."""
    settings = {"trials": 4096, "performance": Performance(1024, 1)}
    across = tallies(first_trial=2**32 - 2048, **settings)
    before = tallies(first_trial=2**32 - 2048, trials=2048)
    after = tallies(first_trial=2**32, trials=2048)
    np.testing.assert_array_equal(across.values, before.values + after.values)
    assert not np.array_equal(after.values, tallies(trials=2048).values)


def counter_mechanism(event):
    """Outcome: the trial's lane number; no randomness at all."""
    return Mechanism(
        name="lane",
        prepare=lambda data, params: ((np.float64(data)), ()),
        sample=lambda key, data, params: key.lane,
        event=event,
        labels=lambda data, params: ("a", "b", "c"),
        law=None,
        resolution=1.0,
    )


def test_sums_moments_and_histograms_are_exact():
    mechanism = counter_mechanism(lambda lane: (lane % 3).astype(jnp.int32))
    low, high = 0.0, 1024.0  # squares reach the highest bits
    statistic = statistics.combine(
        {
            "moments": statistics.moments(_as_float, low, high),
            "bins": statistics.histogram(_as_float, [10.0, 20.5]),
            "sums": statistics.sums(_parities),
        }
    )
    result = simulate(mechanism, 0.0, (), trials=1000, statistic=statistic).values
    cell = jax.tree.map(lambda x: x[0], result)
    moments = statistics.read_moments(cell["moments"], low, high)
    numbers = np.arange(1000)
    assert moments == (1000, numbers.mean(), numbers.var(), 0)
    np.testing.assert_array_equal(cell["bins"], [10, 11, 979])
    assert cell["sums"] == {"odd": 500, "total": numbers.sum()}


def _as_float(lane):
    return lane.astype(jnp.float32)


def _parities(lane):
    return {"odd": lane % 2 == 1, "total": lane.astype(jnp.int32)}


def test_values_outside_the_range_are_counted_apart():
    mechanism = counter_mechanism(lambda lane: jnp.int32(0))
    statistic = statistics.moments(_as_float, 0.0, 99.0)
    cell = simulate(mechanism, 0.0, (), trials=1000, statistic=statistic).values
    cell = jax.tree.map(lambda x: x[0], cell)
    moments = statistics.read_moments(cell, 0.0, 99.0)
    assert (moments.count, moments.outside) == (100, 900)
    assert moments.mean == pytest.approx(49.5, abs=99 * 2.0**-31)


def test_real_sums_and_events_out_of_range_are_refused():
    mechanism = counter_mechanism(lambda lane: jnp.int32(7))
    with pytest.raises(InputError, match="outside the range"):
        simulate(mechanism, 0.0, (), trials=10)
    statistic = statistics.sums(_as_float)
    with pytest.raises(InputError, match="moments or histogram"):
        simulate(mechanism, 0.0, (), trials=10, statistic=statistic)


def test_one_program_for_a_grid_and_for_any_number_of_trials():
    traces = []

    def sample(key, data, params):
        traces.append(1)
        return (key.lane % jnp.uint32(3)).astype(jnp.int32)

    mechanism = counter_mechanism(_identity)._replace(sample=sample)
    simulate_grid(mechanism, [(float(c), ()) for c in range(5)], trials=100)
    after_first = len(traces)
    simulate_grid(mechanism, [(float(c), ()) for c in range(5)], trials=70_000, seed=9)
    assert len(traces) == after_first


def _identity(outcome):
    return outcome


KILLED_RUN = """
import os, signal, sys
from jaxsel.kernel.engine import Performance, simulate
import jaxsel.kernel.engine
from tests.kernel.test_engine import PARAMS, SCORES
from jaxsel.families.noisy_max.noisy_max import noisy_max
jaxsel.kernel.engine._SAVE_SECONDS = 0.0
save, states = jaxsel.kernel.engine._save, []
def save_or_die(*arguments):
    states.append(arguments)
    if len(states) == 3:  # what was computed since the second save is lost
        os.kill(os.getpid(), signal.SIGKILL)
    save(*arguments)
jaxsel.kernel.engine._save = save_or_die
simulate(noisy_max(), SCORES, PARAMS, trials=2**26, seed=5, record=sys.argv[1],
         performance=Performance(8192, 4))
"""


def test_a_killed_run_resumes_to_the_same_tallies(tmp_path):
    record = tmp_path / "run.nc"
    killed = subprocess.run([sys.executable, "-c", KILLED_RUN, str(record)])
    assert killed.returncode == -signal.SIGKILL
    ((_, done),) = records.read(record).attributes["ranges"]
    assert 0 < done < 2**26, "the run was to be killed midway"
    settings = {"trials": done + 100_000, "seed": 5}
    resumed = simulate(noisy_max(), SCORES, PARAMS, record=record, **settings)
    straight = simulate(noisy_max(), SCORES, PARAMS, **settings)
    np.testing.assert_array_equal(resumed.values, straight.values)


def test_an_interrupted_run_keeps_what_is_done(tmp_path, monkeypatch):
    @contextlib.contextmanager
    def impatient(total, done, wanted):
        def advance(trials):
            raise KeyboardInterrupt

        yield advance

    record = tmp_path / "run.nc"
    settings = {"trials": 50_000, "performance": Performance(1024, 3)}
    with monkeypatch.context() as patch:
        patch.setattr(engine, "progress_bar", impatient)
        with pytest.raises(KeyboardInterrupt):
            tallies(record=record, **settings)
    ((_, done),) = records.read(record).attributes["ranges"]
    assert 0 < done < 50_000
    np.testing.assert_array_equal(tallies(record=record, **settings).values, tallies().values)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_record_that_lost_trials_is_refused_and_kept(tmp_path, more):
    """Its digest is right: it was written so."""
    record = tmp_path / "run.nc"
    tallies(trials=1000, record=record)
    kept = records.read(record)
    arrays = {name: array.copy() for name, array in kept.arrays.items()}
    arrays["values_0"][0, 0] += more
    attributes = {k: v for k, v in kept.attributes.items() if k != "versions"}
    records.write(record, arrays=arrays, configuration=kept.configuration, attributes=attributes)
    before = record.read_bytes()
    with pytest.raises(InputError, match=rf"run.nc counts {1000 + more} trials where"):
        tallies(trials=2000, record=record)
    assert record.read_bytes() == before


def test_outcomes_outside_the_range_are_never_kept(tmp_path):
    """Refused before the record is written, not after."""
    mechanism = counter_mechanism(lambda lane: jnp.where(lane < 1500, 1, 7).astype(jnp.int32))
    record = tmp_path / "run.nc"
    with pytest.raises(InputError, match="outside the range"):
        simulate(
            mechanism,
            0.0,
            (),
            trials=4096,
            record=record,
            performance=Performance(1024, 1, tuple(jax.devices()[:1])),
        )
    kept = records.read(record)
    assert kept.attributes["ranges"] == [[0, 1024]]
    assert kept.arrays["values_0"].sum() == 1024


def test_tallies_that_lost_trials_are_not_added_and_not_shown():
    whole, more = tallies(trials=100), tallies(trials=100, first_trial=100)
    less = whole._replace(values=whole.values - np.eye(1, 5, dtype=np.int64))
    for refused in (lambda: less + more, lambda: more + less, less.frequencies):
        with pytest.raises(InputError, match="counts 99 trials where there are 100"):
            refused()


@pytest.mark.parametrize("block_size", [1, 1024])
@pytest.mark.parametrize("start", [0, 5, 2**32 - 7, 2**53 - 3, 2**61 + 1])
@pytest.mark.parametrize("parts", [1, 3, 4, 64])
def test_the_ranges_of_devices_are_a_partition(block_size, start, parts):
    """At numbers that floats do not have, too."""
    from jaxsel.kernel.engine import _ranges

    for length in (1, 2, 63, 5000):
        first, last = (
            [int(edge) for edge in edges]
            for edges in _ranges(start, start + length, parts, block_size)
        )
        assert first[0] == start
        assert last[-1] == start + length
        assert first[1:] == last[:-1]
        assert all(a <= b for a, b in zip(first, last, strict=True))
        # Each begins a block, but for the first.
        assert all(edge % block_size == 0 for edge in first if start < edge < last[-1])


def test_trials_beyond_2_to_the_53_are_counted_once():
    performance = Performance(1, 8, tuple(jax.devices()[:4]))
    found = tallies(trials=21, first_trial=2**53 + 1, performance=performance)
    assert found.values.sum() == 21
    one = tallies(trials=21, first_trial=2**53 + 1)
    np.testing.assert_array_equal(found.values, one.values)


def test_a_record_of_another_configuration_is_refused_and_kept(tmp_path):
    record = tmp_path / "run.nc"
    tallies(trials=1000, record=record)
    before = record.read_bytes()
    with pytest.raises(InputError, match=r"another configuration.*input_digest"):
        simulate(noisy_max(), SCORES + 1, {"epsilon": 2.0}, trials=1000, seed=3, record=record)
    with pytest.raises(InputError, match="already holds 1000 trials"):
        tallies(trials=10, record=record)
    assert record.read_bytes() == before
    np.testing.assert_array_equal(
        tallies(trials=5000, record=record).values, tallies(trials=5000).values
    )


def test_a_file_that_is_no_record_is_refused_and_kept(tmp_path):
    record = tmp_path / "notes.txt"
    record.write_text("mine")
    with pytest.raises(InputError, match="not a jaxsel record"):
        tallies(record=record)
    assert record.read_text() == "mine"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": 0}, "trials is 0"),
        ({"trials": -5}, "trials is -5"),
        ({"trials": 2.5}, "trials is 2.5"),
        ({"trials": 2**63}, "at most"),
        ({"trials": 2**62 + 1}, "at most"),
        ({"first_trial": 2**62 - 9}, r"at most 2\*\*62"),
        ({"first_trial": -1}, "first_trial is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "below"),
        ({"performance": Performance(block_size=1000)}, "power of two"),
        ({"performance": Performance(block_size=2**32)}, "power of two"),
        ({"performance": Performance(block_size=0)}, "block_size is 0"),
        ({"performance": Performance(blocks_per_call=0)}, "blocks_per_call is 0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        simulate(noisy_max(), SCORES, PARAMS, **({"trials": 10} | settings))


def test_cells_of_different_shape_are_refused():
    cells = [(SCORES, PARAMS), (SCORES[:-1], PARAMS)]
    with pytest.raises(InputError, match="equal shapes"):
        simulate_grid(noisy_max(), cells, trials=10)
    with pytest.raises(InputError, match="grid is empty"):
        simulate_grid(noisy_max(), [], trials=10)


def test_trials_and_seeds_may_be_the_last_there_are():
    found = tallies(trials=3, first_trial=2**62 - 3)
    assert found.ranges == ((2**62 - 3, 2**62),)
    assert found.values.sum() == 3
    highest, lower = (
        simulate(noisy_max(), SCORES, PARAMS, trials=5000, seed=seed).values
        for seed in (2**64 - 1, 2**63 - 1)
    )
    assert not np.array_equal(highest, lower)
    assert engine.block_size(Performance(2**31)) == 2**31


@pytest.mark.parametrize("given", [{"data": SCORES}, {"params": PARAMS}])
def test_a_mechanism_with_its_input_takes_no_other(given):
    with pytest.raises(InputError, match="give no data and no params"):
        simulate(jaxsel.mechanism("noisy_max"), trials=10, **given)


def _tenths(outcome):
    return jnp.round(outcome * 10).astype(jnp.int32)


def _own_input(prepare):
    mechanism = counter_mechanism(lambda outcome: jnp.int32(0))
    return mechanism._replace(prepare=prepare, sample=lambda key, data, params: data)


def test_a_whole_number_in_one_cell_may_be_a_fraction_in_another():
    mechanism = _own_input(lambda data, params: (data, params))
    for cells in ([(1, ()), (0.5, ())], [(0.5, ()), (1, ())]):
        found = simulate_grid(mechanism, cells, trials=7, statistic=statistics.sums(_tenths))
        assert found.values.tolist() == [7 * int(10 * data) for data, _ in cells]


@pytest.mark.parametrize("other", [{"b": 1.0}, [1.0], {"a": 1.0, "b": 2.0}, {"a": [1.0]}])
def test_cells_of_different_structure_are_refused(other):
    mechanism = _own_input(lambda data, params: (data, ()))
    with pytest.raises(InputError, match="must have data and parameters of equal shapes"):
        simulate_grid(mechanism, [({"a": 1.0}, ()), (other, ())], trials=10)


def test_the_configuration_names_what_determines_a_trial():
    found = simulate_grid(noisy_max(), [(SCORES, PARAMS)] * 3, trials=10, seed=7).configuration
    assert found["cells"] == 3
    assert found["seed"] == 7
    assert found["statistic"] == "counts(5)"
    assert found["mechanism"] == noisy_max().name
    assert found["stream"] == "threefry2x32-20/v1"
    assert found["backend"] == "cpu"
    assert found["jax"] == jax.__version__
    other = simulate_grid(
        noisy_max(), [(SCORES, PARAMS)] * 2 + [(SCORES**2, PARAMS)], trials=10, seed=7
    ).configuration
    assert [key for key in found if found[key] != other[key]] == ["input_digest"]


class Watched:
    """A run by a clock that ticks whenever it is looked at, and what it did."""

    def __init__(self, monkeypatch, tick: float):
        self.now, self.steps, self.shown, self.saves = 0.0, [], [], []

        def monotonic():
            self.now += tick
            return self.now

        @contextlib.contextmanager
        def bar(*given):
            self.shown.append(given)
            yield self.steps.append

        save = engine._save

        def saving(write, work, counted):
            self.saves.append(counted.done)
            save(write, work, counted)

        monkeypatch.setattr(engine, "time", types.SimpleNamespace(monotonic=monotonic))
        monkeypatch.setattr(engine, "progress_bar", bar)
        monkeypatch.setattr(engine, "_save", saving)


@pytest.mark.parametrize(
    ("tick", "blocks"),
    # Half a second a call, at most eight times as many as before; the first compiles.
    [(0.25, [1, 1, 2, 4, 8]), (0.02, [1, 1, 8, 64]), (1.0, [1, 1, 1]), (0.3, [1, 1, 1, 1])],
)
def test_calls_grow_to_half_a_second(monkeypatch, tick, blocks):
    watched = Watched(monkeypatch, tick)
    performance = Performance(64, None, tuple(jax.devices()[:2]))
    found = tallies(trials=128 * sum(blocks), performance=performance, progress=True)
    assert watched.steps == [128 * each for each in blocks]
    assert found.seconds == pytest.approx(tick * len(blocks))
    assert watched.shown == [(128 * sum(blocks), 0, True)]


def test_later_calls_begin_blocks_wherever_the_first_trial_lies(monkeypatch):
    watched = Watched(monkeypatch, 0.25)
    performance = Performance(64, 3, tuple(jax.devices()[:2]))
    tallies(trials=1000, first_trial=130, performance=performance)
    assert watched.steps == [3 * 128 - 2, 3 * 128, 1000 - 6 * 128 + 2]


def test_a_run_is_saved_every_ten_seconds_and_at_its_end(monkeypatch, tmp_path):
    """Three looks at the clock a call, and one more after saving."""
    watched = Watched(monkeypatch, 2.0)
    performance = Performance(64, 1, tuple(jax.devices()[:1]))
    record = tmp_path / "run.nc"
    tallies(trials=640, record=record, performance=performance)
    # 6 s after the start, 12 s: saved; then again after 6 and 12 s.
    assert watched.saves == [128, 256, 384, 512, 640, 640]
    kept = records.read(record).attributes
    assert kept["ranges"] == [[0, 640]]
    assert kept["labels"] == ["0", "1", "2", "3", "4"]
    assert kept["seconds"] == pytest.approx(10 * 2.0)
    watched = Watched(monkeypatch, 1.0)
    more = tallies(trials=700, record=record, performance=performance)
    assert watched.shown == [(700, 640, None)]
    assert watched.steps == [60]
    assert more.seconds == pytest.approx(10 * 2.0 + 1.0)


def test_over_processes_times_are_averaged_and_one_failure_is_everybodys(monkeypatch):
    asked, added = [], []

    def sum_over_processes(tree):
        asked.append(tree)
        return added[-1]

    monkeypatch.setattr(hosts, "count", lambda: 4)
    monkeypatch.setattr(hosts, "sum_over_processes", sum_over_processes)
    for failed in (0, 1, 3):
        added.append((np.arange(3), np.array([10_000_000, failed])))
        sums, spent, outside = engine._summed_over_processes(np.ones(3), 1.5, True)
        assert asked[-1][1].tolist() == [1_500_000, 1]
        assert sums.tolist() == [0, 1, 2]
        assert spent == pytest.approx(2.5)
        assert outside is (failed > 0)


def _written(record, values, ranges):
    """A record of 1000 trials with other values and ranges, its digest right."""
    tallies(trials=1000, record=record)
    kept = records.read(record)
    attributes = {k: v for k, v in kept.attributes.items() if k != "versions"}
    records.write(
        record,
        arrays=values(kept.arrays["values_0"].copy()),
        configuration=kept.configuration,
        attributes=attributes | {"ranges": ranges},
    )


@pytest.mark.parametrize(
    "values",
    [
        lambda array: {"values_1": array},
        lambda array: {"values_0": array[:, :-1]},
        lambda array: {"values_0": array.astype(np.int32)},
    ],
)
def test_a_record_of_other_sums_is_refused(tmp_path, values):
    record = tmp_path / "run.nc"
    _written(record, values, [[0, 1000]])
    with pytest.raises(InputError, match="holds no tallies of this statistic"):
        tallies(trials=2000, record=record)


def test_a_record_of_several_ranges_is_not_continued(tmp_path):
    record = tmp_path / "run.nc"
    _written(record, lambda array: {"values_0": array}, [[0, 600], [700, 1100]])
    with pytest.raises(InputError, match=r"holds trials \[0, 600\) and \[700, 1100\), and this"):
        tallies(trials=2000, record=record)


def test_a_record_of_all_trials_is_the_run(tmp_path, monkeypatch):
    record = tmp_path / "run.nc"
    whole = tallies(trials=1000, record=record, first_trial=20)
    watched = Watched(monkeypatch, 1.0)
    again = tallies(trials=1000, record=record, first_trial=20)
    assert watched.steps == []
    assert again.seconds == whole.seconds
    np.testing.assert_array_equal(again.values, whole.values)
    with pytest.raises(InputError, match="already holds 1000 trials; ask for at least as many"):
        tallies(trials=999, record=record, first_trial=20)


@pytest.mark.parametrize("wanted", [None, True, False])
def test_only_the_first_process_shows_progress(monkeypatch, wanted):
    watched = Watched(monkeypatch, 1.0)
    one = (jax.devices()[0],)
    tallies(trials=64, progress=wanted, performance=Performance(64, 1, one))
    monkeypatch.setattr(hosts, "number", lambda: 1)
    monkeypatch.setattr(
        engine, "_ranges", lambda start, stop, *_: np.array([[start] * 2, [stop] * 2])
    )
    tallies(trials=64, progress=wanted, performance=Performance(64, 1, one))
    assert [shown for _, _, shown in watched.shown] == [wanted, False]
