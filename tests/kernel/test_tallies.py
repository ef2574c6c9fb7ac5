"""Tallies as frequencies, as a labelled data set, as a table."""

import itertools
import json
import re

import numpy as np
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel import statistics
from jaxsel.kernel.tallies import check_totals, joined, read_ranges, total


@pytest.fixture(scope="module")
def tallies():
    built = jaxsel.mechanism("noisy_max")
    cells = [(built.data, {"epsilon": e}) for e in (0.5, 2.0)]
    return jaxsel.simulate_grid(built.mechanism, cells, trials=5_000)


def test_frequencies_and_their_intervals(tallies):
    found = tallies.frequencies(0.9)
    assert found.value == pytest.approx(tallies.values / 5_000)
    low, high = clopper_pearson(int(tallies.values[1, 2]), 5_000, 0.9)
    assert (found.low[1, 2], found.high[1, 2]) == (low, high)
    assert ((found.low < found.value) & (found.value < found.high)).all()


def test_a_data_set_with_names(tallies):
    found = tallies.to_xarray()
    assert found["count"].dims == ("cell", "outcome")
    assert found["outcome"].values.tolist() == ["0", "1", "2"]
    assert (found["count"].sum("outcome") == 5_000).all()
    assert found.attrs["trials"] == 5_000
    assert json.loads(found.attrs["configuration"])["seed"] == 0
    np.testing.assert_array_equal(found["count"], tallies.values)


def test_a_table(tallies):
    found = tallies.to_dataframe()
    assert len(found) == 6
    row = found[(found["cell"] == 1) & (found["outcome"] == "2")].iloc[0]
    assert row["count"] == tallies.values[1, 2]
    assert row["frequency_low"] < row["frequency"] < row["frequency_high"]


def test_sums_of_something_else_have_no_frequencies():
    built = jaxsel.mechanism("noisy_max")
    other = statistics.sums(lambda outcome: outcome)
    found = jaxsel.simulate(built, trials=100, statistic=other)
    for form in (found.frequencies, found.to_xarray, found.to_dataframe):
        with pytest.raises(InputError, match="not counts"):
            form()


def test_a_summary_shows_every_count(tallies):
    found = tallies.summary()
    assert found.sentence.startswith(
        f"5000 trials of {tallies.configuration['mechanism']} in each of 2 cells, seed 0, "
    )
    assert found.columns == ("cell", "0", "1", "2")
    assert found.rows == [[cell, *row] for cell, row in enumerate(tallies.values.tolist())]
    single = jaxsel.simulate(jaxsel.mechanism("noisy_max"), trials=500, seed=4)
    found = single.summary()
    assert "cells" not in found.sentence
    assert "seed 4" in found.sentence
    assert found.rows == [
        [label, count, count / 500]
        for label, count in zip("012", single.values[0].tolist(), strict=True)
    ]
    other = jaxsel.simulate(
        jaxsel.mechanism("noisy_max"),
        trials=100,
        statistic=statistics.sums(lambda outcome: outcome),
    )
    assert other.summary().sentence.endswith("Sums of sums.")
    assert not other.summary().rows


def test_a_picture_shows_the_shares(tallies):
    (axes,) = tallies.plot().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "2"]
    assert axes.get_ylabel() == "share of 5,000 trials"
    heights = [line.get_ydata().tolist() for line in axes.get_lines() if len(line.get_ydata()) == 3]
    for row in tallies.values / 5000:
        assert any(height == pytest.approx(row.tolist()) for height in heights)


def test_tallies_of_two_runs_are_added():
    noisy_max = jaxsel.mechanism("noisy_max")
    whole = jaxsel.simulate(noisy_max, trials=900)
    first, last = (
        jaxsel.simulate(noisy_max, trials=trials, first_trial=start)
        for start, trials in ((0, 400), (400, 500))
    )
    for found in (first + last, last + first):
        assert found.ranges == ((0, 900),)
        assert found.trials == 900
        np.testing.assert_array_equal(found.values, whole.values)
        assert found.seconds == first.seconds + last.seconds
    apart = first + jaxsel.simulate(noisy_max, trials=100, first_trial=700)
    assert apart.ranges == ((0, 400), (700, 800))
    for wrong in (first, jaxsel.simulate(noisy_max, trials=10, first_trial=399)):
        with pytest.raises(InputError, match="both tallies count"):
            first + wrong
    with pytest.raises(InputError, match="they differ in seed"):
        first + jaxsel.simulate(noisy_max, trials=10, first_trial=400, seed=1)
    lost = last._replace(values=last.values - np.array([[1, 0, 0]]))
    for pair in ((first, lost), (lost, first)):
        with pytest.raises(InputError, match="some were lost"):
            pair[0] + pair[1]


def test_a_data_set_says_of_what_its_intervals_are(tallies):
    found = tallies._replace(ranges=((0, 2_000), (4_000, 7_000))).to_xarray(0.8)
    assert found["count"].attrs == {"units": "trials"}
    assert found["frequency"].attrs == {"units": "1"}
    for name in ("frequency_low", "frequency_high"):
        assert found[name].attrs == {"units": "1", "confidence": 0.8}
    low, high = clopper_pearson(int(tallies.values[0, 1]), 5_000, 0.8)
    assert float(found["frequency_low"][0, 1]) == low
    assert float(found["frequency_high"][0, 1]) == high
    assert found["cell"].values.tolist() == [0, 1]
    assert list(found.data_vars) == ["count", "frequency", "frequency_low", "frequency_high"]
    assert found.attrs["ranges"] == "trials [0, 2000) and [4000, 7000)"
    keys = list(json.loads(found.attrs["configuration"]))
    assert keys == sorted(tallies.configuration)


def test_ranges_are_read_in_order_and_apart():
    assert read_ranges([]) == ()
    assert read_ranges([[0, 5]]) == ((0, 5),)
    assert read_ranges([[2, 5], [5, 7], [9, 10]]) == ((2, 5), (5, 7), (9, 10))
    for wrong in (
        [[-1, 2]],
        [[3, 3]],
        [[3, 2]],
        [[0, 5], [4, 7]],
        [[0, 5], [9, 12], [7, 8]],
        [[0, 3], [5, 9], [6, 12]],
        [[0.0, 5]],
        [[0, 5.0]],
        [[False, True]],
        [[0, 5, 6]],
        [3],
        None,
    ):
        with pytest.raises(InputError, match="are not ranges of trials"):
            read_ranges(wrong)


def test_ranges_are_joined_as_sets_are():
    """Against sets of numbers."""
    random = np.random.default_rng(0)
    joins = overlaps = 0
    for _ in range(300):
        one, other = (
            tuple((int(a), int(b)) for a, b in np.sort(random.choice(14, 4, False)).reshape(2, 2))
            for _ in range(2)
        )
        sets = [{n for a, b in ranges for n in range(a, b)} for ranges in (one, other)]
        if sets[0] & sets[1]:
            overlaps += 1
            with pytest.raises(InputError) as caught:
                joined(one, other)
            told = re.findall(r"\[(\d+), (\d+)\)", str(caught.value))
            assert {n for a, b in told for n in range(int(a), int(b))} == sets[0] & sets[1]
            continue
        joins += 1
        found = joined(one, other)
        assert {n for a, b in found for n in range(a, b)} == sets[0] | sets[1]
        assert total(found) == len(sets[0] | sets[1])
        assert all(b < c for (_, b), (c, _) in itertools.pairwise(found))
    assert min(joins, overlaps) > 10


def test_totals_are_those_of_the_range():
    check_totals([], 3, 8, "it")
    check_totals([np.array([5, 5]), np.int64(5)], 3, 8, "it")
    for totals in ([np.array([5, 6])], [np.int64(5), np.array([6])]):
        with pytest.raises(InputError, match=r"^it counts 6 trials where there are 5, \[3, 8\): "):
            check_totals(totals, 3, 8, "it")


def test_a_key_that_one_configuration_lacks_tells_them_apart(tallies):
    more = {**tallies.configuration, "cell_numbers": [1, 0]}
    numbered = tallies._replace(ranges=((5_000, 10_000),), configuration=more)
    for one, other in ((tallies, numbered), (numbered, tallies)):
        with pytest.raises(InputError, match=r"\(they differ in cell_numbers\)"):
            one + other


def test_what_a_shard_returns_is_not_counted(tallies):
    """Placeholders do not sum to the trials; without the key they would be refused."""
    nothing = tallies._replace(values=np.zeros_like(tallies.values))
    with pytest.raises(InputError, match="these tallies counts 0 trials where there are 5000"):
        nothing.frequencies()
    placeholders = nothing._replace(configuration={**tallies.configuration, "shard": "1/2"})
    assert not placeholders.frequencies().value.any()


def test_the_seconds_of_a_summary_have_three_digits(tallies):
    assert tallies._replace(seconds=12.3456).summary().sentence.endswith(", seed 0, 12.3 s.")


def _both_events(outcome):
    return {"event": outcome, "twice": 2 * outcome}


def test_sums_of_something_else_are_added_leaf_by_leaf():
    noisy_max = jaxsel.mechanism("noisy_max")
    other = statistics.sums(_both_events)
    first, last, whole = (
        jaxsel.simulate(noisy_max, trials=trials, first_trial=start, statistic=other)
        for start, trials in ((0, 40), (40, 60), (0, 100))
    )
    added = first + last
    assert added.trials == 100
    assert added.values["event"].tolist() == whole.values["event"].tolist()
    assert added.values["twice"].tolist() == [2 * int(whole.values["event"][0])]
