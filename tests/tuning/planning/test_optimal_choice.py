"""A plan with the law of K that costs least beside the named families."""

import pytest

import jaxsel
from jaxsel import account
from jaxsel.tuning.planning.planned import single_run


def test_the_least_epsilon_of_a_given_run():
    found = jaxsel.plan("gaussian:noise_multiplier=4", runs=10, optimal=True)
    best, second = found.choices[:2]
    assert best.name == "optimal"
    assert best.epsilon < 0.97 * second.epsilon
    assert found.epsilon == account(single_run(found), best.law, 1e-6).best.epsilon
    # As good as the geometric law that a plan asks for, and not more runs.
    assert best.utility.expected_quantile >= second.utility.expected_quantile - 1e-4
    assert best.utility.mean_runs <= 10.0


def test_the_least_noise_for_an_epsilon():
    found = jaxsel.plan("gaussian", epsilon=1.5, runs=10, optimal=True)
    best, second = found.choices[:2]
    assert best.name == "optimal"
    assert best.noise < 0.97 * second.noise
    assert account(single_run(found), best.law, 1e-6).best.epsilon <= 1.5


# Without a wish of its own, best is the best expected rank: what the two tests above ask.
@pytest.mark.parametrize("good", [pytest.param(None, marks=pytest.mark.rare), 0.1])
def test_the_best_winner_for_an_epsilon(good):
    run = "gaussian:noise_multiplier=4"
    found = jaxsel.plan(run, epsilon=1.5, runs=15, winner={"good": good}, optimal=True)
    best, second = found.choices[:2]
    assert best.name == "optimal"
    assert best.epsilon <= 1.5
    assert best.utility.mean_runs <= 15.0
    name = "expected_quantile" if good is None else "hit"
    assert getattr(best.utility, name) > getattr(second.utility, name)


def test_a_base_without_a_proof_keeps_the_named_families():
    found = jaxsel.plan("pure", epsilon=2.0, delta=0.0, runs=20, optimal=True)
    assert all(choice.name != "optimal" for choice in found.choices)
