"""Who does what: every trial of every cell once, and the shard that an array job means."""

import itertools

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.shards import Shard, assignment, from_environment, read_shard, share
from jaxsel.shards.assignment import cover

GRIDS = [(1, 0, 1), (1, 5, 5 + 2**19 + 3), (2, 7, 20), (10, 0, 1000), (3, 9, 10)]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_the_shares_of_all_shards_are_the_whole_once(grid, count, monkeypatch):
    cells, first, last = grid
    # Both ways of sharing, at numbers that can be counted.
    monkeypatch.setattr(assignment, "_TRIALS_OF_ALL", 100 if last < 2**16 else 2**17)
    marked = np.zeros((cells, last - first), np.int8)
    sizes = []
    for index in range(count):
        parts = share(Shard(index, count), cells, first, last)
        assert len(parts) <= 3
        for part in parts:
            assert first <= part.first < part.last <= last
            marked[part.cells, part.first - first : part.last - first] += 1
        sizes.append(sum((p.cells.stop - p.cells.start) * (p.last - p.first) for p in parts))
    assert (marked == 1).all()
    # Equal to a trial of each cell.
    assert max(sizes) - min(sizes) <= cells


def test_every_small_grid_is_shared_once_wherever_it_is_cut():
    for cells, trials, count in itertools.product((1, 2, 3, 5), range(1, 8), range(1, 12)):
        marked = np.zeros((cells, trials), np.int8)
        for index in range(count):
            for part in share(Shard(index, count), cells, 4, 4 + trials):
                assert 4 <= part.first < part.last <= 4 + trials
                assert 0 <= part.cells.start < part.cells.stop <= cells
                marked[part.cells, part.first - 4 : part.last - 4] += 1
        assert (marked == 1).all(), (cells, trials, count)


def test_many_trials_are_shared_in_every_cell_and_few_along_the_cells():
    many, few = 64 * 2**17, 64 * 2**17 - 1
    (part,) = share(Shard(3, 64), 1000, 0, many)
    assert part == (slice(0, 1000), 3 * 2**17, 4 * 2**17)
    cells = {c for p in share(Shard(3, 64), 1000, 0, few) for c in range(*p.cells.indices(1000))}
    assert len(cells) <= 1000 // 64 + 2


@pytest.mark.parametrize(
    ("ranges", "chain"),
    [
        ([], [(0, 10)]),
        ([(0, 10)], [(0, 10)]),
        ([(0, 4), (4, 7)], [(0, 4), (4, 7), (7, 10)]),
        ([(2, 5)], [(0, 2), (2, 5), (5, 10)]),
        # What goes beyond, or begins inside another, is not used.
        ([(0, 4), (2, 6), (5, 12)], [(0, 4), (4, 10)]),
        ([(0, 4), (0, 6), (6, 10)], [(0, 6), (6, 10)]),
    ],
)
def test_a_range_is_covered_by_what_is_there(ranges, chain):
    assert cover(0, 10, ranges) == tuple(chain)


@pytest.mark.parametrize(
    ("environment", "shard"),
    [
        ({"JAXSEL_SHARD": "3/64", "SLURM_ARRAY_TASK_ID": "9"}, (3, 64)),
        (
            {
                "SLURM_ARRAY_TASK_ID": "7",
                "SLURM_ARRAY_TASK_MIN": "1",
                "SLURM_ARRAY_TASK_MAX": "10",
                "SLURM_ARRAY_TASK_STEP": "3",
                "SLURM_ARRAY_TASK_COUNT": "4",
            },
            (2, 4),
        ),
        # Tasks 3 and 17 of 64, run again.
        (
            {
                "SLURM_ARRAY_TASK_ID": "17",
                "SLURM_ARRAY_TASK_MIN": "3",
                "SLURM_ARRAY_TASK_MAX": "17",
                "SLURM_ARRAY_TASK_COUNT": "2",
                "JAXSEL_SHARDS": "64",
            },
            (17, 64),
        ),
        ({"JOB_COMPLETION_INDEX": "0", "JAXSEL_SHARDS": "8"}, (0, 8)),
        ({"PBS_ARRAY_INDEX": "5", "JAXSEL_SHARDS": "8"}, (5, 8)),
        (
            {
                "SGE_TASK_ID": "4",
                "SGE_TASK_FIRST": "2",
                "SGE_TASK_LAST": "8",
                "SGE_TASK_STEPSIZE": "2",
            },
            (1, 4),
        ),
    ],
)
def test_array_jobs_say_which_shard(environment, shard):
    assert from_environment(environment) == shard
    assert read_shard("auto", environment) == shard


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "no array job here"),
        ({"SGE_TASK_ID": "undefined"}, "no array job here"),
        ({"JOB_COMPLETION_INDEX": "0"}, "not of how many; set JAXSEL_SHARDS"),
        ({"JOB_COMPLETION_INDEX": "8", "JAXSEL_SHARDS": "8"}, "0 <= I < N"),
        ({"JAXSEL_SHARD": "auto"}, "shard is 'auto'"),
        # A list of tasks: its ends say nothing of their number.
        (
            {
                "SLURM_ARRAY_TASK_ID": "17",
                "SLURM_ARRAY_TASK_MIN": "3",
                "SLURM_ARRAY_TASK_MAX": "17",
                "SLURM_ARRAY_TASK_COUNT": "2",
            },
            "no regular array",
        ),
        ({"SLURM_ARRAY_TASK_ID": "17"}, "no regular array"),
    ],
)
def test_an_environment_that_says_too_little_is_refused(environment, message):
    with pytest.raises(InputError, match=message):
        from_environment(environment)


@pytest.mark.parametrize("text", ["", "3", "3/", "/3", "3/3", "-1/3", "0/0", "a/b", "1/2/3"])
def test_bad_shards(text):
    with pytest.raises(InputError, match="it must be I/N"):
        read_shard(text)
