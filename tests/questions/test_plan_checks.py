"""A plan that is simulated and audited; a wrong one is seen."""

import math

import numpy as np
import pytest

import jaxsel
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.host.errors import InputError
from jaxsel.questions.plan_checks import _coarse, check_plan
from jaxsel.repetitions import parse

# At any resolution a price is a bound; the fine ones take most of the time.
pytestmark = pytest.mark.usefixtures("coarse_prices_of_file")


@pytest.fixture(scope="module")
def planned():
    return jaxsel.plan("gaussian", epsilon=1.0, runs=10, winner="good=0.05")


def test_a_right_plan_passes(planned, seed):
    found = check_plan(planned, trials=20_000, seed=seed)
    assert found.passed
    assert found.low <= found.exact <= found.high
    assert 0.2 < found.audited <= found.epsilon == planned.epsilon


def test_a_promise_that_is_too_low_is_refuted(planned, seed):
    cheap = planned._replace(epsilon=0.2)
    assert not check_plan(cheap, trials=20_000, seed=seed).passed


def test_a_fixed_number_of_runs_is_caught(planned, seed):
    chosen = planned.chosen._replace(law=parse("point_mass:count=200"))
    found = check_plan(planned._replace(chosen=chosen), trials=20_000, seed=seed)
    assert found.audited > planned.epsilon
    assert not found.passed


def test_a_base_without_a_pair_is_refused(seed):
    points = "points:0.05=1e-3,0.2=1e-7"
    planned = jaxsel.plan(points, runs=2, delta=1e-4)
    bare = planned.budget.base._replace(attaining=lambda: None)  # type: ignore[union-attr]
    planned = planned._replace(budget=planned.budget._replace(base=bare))
    with pytest.raises(InputError, match="no pair of laws is known"):
        check_plan(planned, trials=1000, seed=seed)


def test_the_laws_that_are_audited_have_the_largest_losses_first():
    """Randomised response, of which a little of either law was cut off."""
    right = math.e / (1.0 + math.e)
    loss = np.array([-1.0, 1.0])
    for lost in (0.0, 1e-3):
        first = np.array([1.0 - right - lost, right])
        second = np.array([right - lost, 1.0 - right])
        found = _coarse(DominatingPair(loss, first, second))
        for masses, law in zip(found, (first, second), strict=True):
            assert masses.shape == (24,)
            left = [lost] if lost else []
            np.testing.assert_allclose(masses[masses > 0.0], [law[1], law[0], *left], rtol=1e-9)
