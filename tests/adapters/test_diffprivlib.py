"""diffprivlib's mechanisms are audited as they are, and stand in the table of libraries."""

import pytest
from diffprivlib import mechanisms, models

import jaxsel
from jaxsel.auditing.functions.audited_function import load
from jaxsel.host.errors import InputError
from tests.adapters.tables import check, rows_of
from tests.conftest import ALPHA


def audited(mechanism, claim, data):
    """At the false-alarm rate of the tests, and from so many trials that a half is refuted."""
    return jaxsel.audit_function(
        mechanism, data, relation="general", claim=claim, trials=10_000, confidence=1 - ALPHA
    )


def test_all_of_it_is_imported():
    # The extra holds the version of scikit-learn that its models need.
    assert models.GaussianNB is not None


def test_a_mechanism_runs_in_this_process_by_its_randomise():
    found = load(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0))
    assert (found.kind, found.path, found.name) == ("own", None, "Laplace.randomise")


@pytest.mark.parametrize(
    ("mechanism", "data"),
    [
        (mechanisms.Laplace(epsilon=1.0, sensitivity=1.0), 0.0),
        (mechanisms.Snapping(epsilon=1.0, sensitivity=1.0, lower=-2.0, upper=3.0), 0.0),
        (mechanisms.Geometric(epsilon=1.0), 0),
    ],
    ids=["Laplace", "Snapping", "Geometric"],
)
def test_a_mechanism_keeps_its_epsilon_and_no_smaller_one(mechanism, data):
    assert not audited(mechanism, 1.0, data).refuted
    assert audited(mechanism, 0.5, data).refuted


def test_a_mechanism_that_is_made_for_its_data_is_no_function_of_data():
    mechanism = mechanisms.Exponential(epsilon=1.0, sensitivity=1.0, utility=[1.0, 0.0])
    with pytest.raises(InputError, match=r"Exponential\.randomise takes nothing"):
        audited(mechanism, 1.0, [1.0, 0.0])


def test_what_is_known_of_it_is_found_again():
    check(rows_of("diffprivlib"))
