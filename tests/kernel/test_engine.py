"""The promises of simulate: addresses, exact sums, constant memory, resume."""

import pickle
import signal
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host.errors import InputError
from jaxsel.kernel import statistics
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
    with pytest.raises(RuntimeError, match="outside the range"):
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
    from jaxsel.host import records

    ((_, done),) = records.read(record).attributes["ranges"]
    assert 0 < done < 2**26, "the run was to be killed midway"
    settings = {"trials": done + 100_000, "seed": 5}
    resumed = simulate(noisy_max(), SCORES, PARAMS, record=record, **settings)
    straight = simulate(noisy_max(), SCORES, PARAMS, **settings)
    np.testing.assert_array_equal(resumed.values, straight.values)


def test_an_interrupted_run_keeps_what_is_done(tmp_path, monkeypatch):
    import contextlib

    import jaxsel.kernel.engine
    from jaxsel.host import records

    @contextlib.contextmanager
    def impatient(total, done, wanted):
        def advance(trials):
            raise KeyboardInterrupt

        yield advance

    record = tmp_path / "run.nc"
    settings = {"trials": 50_000, "performance": Performance(1024, 3)}
    with monkeypatch.context() as patch:
        patch.setattr(jaxsel.kernel.engine, "progress_bar", impatient)
        with pytest.raises(KeyboardInterrupt):
            tallies(record=record, **settings)
    ((_, done),) = records.read(record).attributes["ranges"]
    assert 0 < done < 50_000
    np.testing.assert_array_equal(tallies(record=record, **settings).values, tallies().values)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_record_that_lost_trials_is_refused_and_kept(tmp_path, more):
    """Its digest is right: it was written so."""
    from jaxsel.host import records

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
    with pytest.raises(RuntimeError, match="outside the range"):
        simulate(
            mechanism,
            0.0,
            (),
            trials=4096,
            record=record,
            performance=Performance(1024, 1, tuple(jax.devices()[:1])),
        )
    from jaxsel.host import records

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
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "below"),
        ({"performance": Performance(block_size=1000)}, "power of two"),
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
