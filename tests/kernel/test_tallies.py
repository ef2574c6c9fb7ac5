"""Tallies as frequencies, as a labelled data set, as a table."""

import json

import numpy as np
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel import statistics


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
