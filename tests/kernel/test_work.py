"""A piece of work: its parts, who runs it, and when it is done."""

import contextlib

import numpy as np
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.kernel import work
from jaxsel.kernel.work import Counted

CELLS = [(np.eye(3)[i], {"epsilon": 1.0}) for i in range(3)]


@pytest.fixture
def whole():
    """The work of a call, which a runner is given instead of its being run."""
    given = []

    def runner(one, record):
        given.append((one, record))
        return "what the runner returns"

    with work.run_by(runner):
        found = jaxsel.simulate_grid(
            jaxsel.noisy_max(), CELLS, trials=50, first_trial=20, seed=4, record="run.nc"
        )
    assert found == "what the runner returns"
    ((one, record),) = given
    assert record == "run.nc"
    return one


def test_a_runner_is_given_the_call(whole):
    assert (whole.first, whole.last, whole.seed, whole.numbers) == (20, 70, 4, [0, 1, 2])
    assert whole.labels == ("0", "1", "2")
    assert len(whole.prepared) == 3
    assert work.chosen_runner() is None


def test_a_part_keeps_its_random_streams(whole):
    part = whole.part(slice(1, 3), 30, 40)
    assert (part.first, part.last, part.seed, part.numbers) == (30, 40, 4, [1, 2])
    assert part.prepared == whole.prepared[1:]
    assert part.configuration == whole.configuration


def test_runners_do_not_nest_and_end_with_their_block():
    def runner(one, record):
        raise AssertionError

    with work.run_by(runner):
        with pytest.raises(InputError, match="already shared out"), work.run_by(runner):
            raise AssertionError
        assert work.chosen_runner() is runner
    assert work.chosen_runner() is None
    with contextlib.suppress(KeyboardInterrupt), work.run_by(runner):
        raise KeyboardInterrupt
    assert work.chosen_runner() is None


def test_work_is_done_when_all_its_trials_are_counted(whole):
    values = np.array([[50, 0, 0], [0, 50, 0], [10, 20, 20]])
    found = work.as_tallies(whole, Counted(50, values, 1.5))
    assert found.values is values
    assert found.ranges == ((20, 70),)
    assert (found.labels, found.seconds) == (whole.labels, 1.5)
    assert found.configuration == whole.configuration
    with pytest.raises(InputError, match=r"the run counts 49 trials where there are 50, \[20, 70"):
        work.as_tallies(whole, Counted(50, values - np.eye(3, dtype=int), 1.5))
    less = np.array([[49, 0, 0], [0, 49, 0], [10, 20, 19]])
    work.check_counted(whole, Counted(49, less, 1.5), "it")
    with pytest.raises(InputError, match=r"49 of 50 trials of .* are counted; run it again"):
        work.as_tallies(whole, Counted(49, less, 1.5))
