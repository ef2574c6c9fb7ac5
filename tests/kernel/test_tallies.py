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
