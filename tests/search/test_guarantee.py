"""What a search guarantees to each kind of record, in Gaussian noise that adds up by hand."""

import math

import pytest

import jaxsel
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.accounting.single_run.curves import gaussian
from jaxsel.search.guarantee import SearchGuarantee, described_law, looked_at, parts
from jaxsel.search.ledger import Total

DELTA = 1e-5


def _sigma(*sigmas):
    """Of one Gaussian mechanism that is as private as all of these together."""
    return 1.0 / math.sqrt(sum(1.0 / sigma**2 for sigma in sigmas))


def _is(found, *sigmas):
    exact = gaussian_epsilon(DELTA, _sigma(*sigmas))
    assert exact * (1 - 1e-9) <= found <= exact * 1.02


@pytest.mark.parametrize("times", [1, 2, 9])
def test_every_look_at_a_score_is_paid_for(times):
    _is(looked_at(gaussian(6.0), times).epsilon(DELTA), *[6.0] * times)


@pytest.mark.parametrize("refit", [None, 5.0])
@pytest.mark.parametrize("runs", [1, 4])
def test_records_that_train_and_are_scored_pay_for_all_of_it(runs, refit):
    again = [] if refit is None else [refit]
    given = (None, runs, None if refit is None else gaussian(refit))
    (only,) = parts(gaussian(4.0), [gaussian(3.0)], "training", *given)
    assert only.whose == "records"
    _is(only.released.epsilon(DELTA), *[4.0, 3.0] * runs, *again)
    training, validation = parts(gaussian(4.0), [gaussian(3.0)], "validation", *given)
    assert (training.whose, validation.whose) == ("training records", "validation records")
    _is(training.released.epsilon(DELTA), *[4.0] * runs, *again)
    _is(validation.released.epsilon(DELTA), *[3.0] * runs, *again)
    (only,) = parts(gaussian(4.0), [], "validation", *given)
    assert only.whose == "training records"
    _is(only.released.epsilon(DELTA), *[4.0] * runs, *again)


def test_the_best_of_k_runs_is_a_search_of_each_kind_of_record():
    law = jaxsel.repetitions.as_law("geometric:mean=3")
    training, validation = parts(gaussian(8.0), [gaussian(20.0)], "validation", law, 1)
    for part, sigma in ((training, 8.0), (validation, 20.0)):
        expected = jaxsel.search_cost(f"gaussian:noise_multiplier={sigma:g}", "geometric:mean=3")
        assert part.released.epsilon(DELTA) == pytest.approx(expected.epsilon(DELTA))


@pytest.mark.parametrize("swapped", [False, True])
def test_a_guarantee_is_that_of_the_record_that_pays_most(swapped):
    training, validation = parts(gaussian(4.0), [gaussian(3.0)], "validation", None, 1)
    costs = [(part.whose, part.released.cost(DELTA)) for part in (training, validation)]
    found = SearchGuarantee(tuple(costs[::-1] if swapped else costs), ("said",), "Nobody watches.")
    _is(found.epsilon, 3.0)
    assert found.epsilon == found.worst.epsilon == max(cost.epsilon for _, cost in costs)
    assert found.delta == DELTA
    assert found.theorem == found.worst.best.theorem
    said = found.sentences()
    up = {whose: math.ceil(cost.epsilon * 1e4) / 1e4 for whose, cost in costs}
    assert said[0].startswith(f"What is released is ({max(up.values()):g}, 1e-05)-differentially")
    for whose, epsilon in up.items():
        assert sum(f"{whose}: ({epsilon:g}, 1e-05)" in one for one in said) == 1
    assert "Declared: said." in said
    assert "Nobody watches." in said
    assert not any("ledger" in one for one in said)
    record = found.as_record()
    assert record["epsilon"] == found.epsilon
    assert [(part["for"], part["epsilon"]) for part in record["parts"]] == [
        (whose, cost.epsilon) for whose, cost in found.costs
    ]
    assert record["epsilon_of_all_searches"] is None
    together = tuple(Total(7.00001, DELTA, "survey", None).sentences())
    entered = found._replace(data="survey", total=7.00001, together=together)
    assert any("survey" in one and "(7.0001, 1e-05)" in one for one in entered.sentences())
    assert entered.as_record()["epsilon_of_all_searches"] == 7.00001


def test_how_many_runs_are_made_is_said():
    assert described_law(None, 7) == "7 runs, all released"
    law = jaxsel.repetitions.as_law("geometric:mean=3")
    assert jaxsel.repetitions.as_law(described_law(law, 1)).parameters == law.parameters


def test_everything_that_is_released_of_a_record_is_said():
    given = (None, 3, gaussian(5.0))
    training, validation = parts(gaussian(4.0), [gaussian(3.0)], "validation", *given)
    costs = [(part.whose, part.released.cost(DELTA)) for part in (training, validation)]
    found = SearchGuarantee(tuple(costs), ("said",), "Nobody watches.")
    for (whose, cost), row, part in zip(
        costs, found.summary().rows, found.as_record()["parts"], strict=True
    ):
        said = [each.describe() for each in cost.releases]
        assert len(said) == 2
        assert row == [whose, cost.epsilon, cost.best.theorem, "; ".join(said)]
        assert part["released"] == "; ".join(said)
