"""The filter of releases that are chosen on the way; its theorem is JX-Compose-filter."""

import math

import pytest

import jaxsel
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.host.errors import InputError
from jaxsel.tuning.claims.renyi_filter import by_first_answer, grown, response
from jaxsel.tuning.composing_searches import Release, composed_renyi
from jaxsel.tuning.renyi_filter import renyi_filter, together


def _role(base, law=None, times=1):
    return [jaxsel.release(base, law, times).releases[0]]


def _delta(tree, epsilon):
    ways = ((tree.first, tree.second), (tree.second, tree.first))
    return max(float(hockey_stick(*way, epsilon)) for way in ways)


def test_composition_does_not_cover_what_is_chosen_on_the_way():
    """Both paths are composed within the budget, and the whole is not."""
    first = jaxsel.release("randomised_response:epsilon=1")
    for second in ("randomised_response:epsilon=1.0956", "approximate:epsilon=1e-9,delta=0.05"):
        assert jaxsel.compose([first, jaxsel.release(second)], 0.05).epsilon <= 2.0
    assert _delta(grown(by_first_answer, 2.0), 2.0) == pytest.approx(0.0634, abs=5e-5)


def test_the_filter_refuses_what_exceeds_it():
    first = _role("randomised_response:epsilon=1")
    budget = renyi_filter(2.0, 0.05, [first])
    spent = budget.spent(first)
    for second in ("randomised_response:epsilon=1.0956", "approximate:epsilon=1e-9,delta=0.05"):
        assert not budget.covers([spent, budget.spent(_role(second))])
    # The worst that it lets through, on each path, is within the budget.
    low, high = 0.5, 1.1
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        fits = budget.covers([spent, budget.spent(_role(f"randomised_response:epsilon={middle}"))])
        low, high = (middle, high) if fits else (low, middle)
    assert low > 0.7

    def choose(seen):
        if not seen:
            return response(1.0)
        return (response(low) if seen[0] == 0 else response(0.2)) if len(seen) == 1 else None

    assert _delta(grown(choose, budget.order), 2.0) <= 0.05


def test_its_guarantee_is_the_budget():
    for epsilon, delta, base in (
        (2.0, 0.05, "randomised_response:epsilon=1"),
        (5.0, 1e-6, "gaussian:noise_multiplier=4"),
        (1.0, 1e-6, "approximate:epsilon=0.1,delta=1e-7"),
        (1.0, 0.0, "pure:epsilon=0.1"),
    ):
        found = renyi_filter(epsilon, delta, [_role(base)])
        assert found.guaranteed() == pytest.approx(delta, rel=1e-9)
        assert found.epsilon_at(delta) == epsilon
        if 0.0 < delta < 0.01:
            assert found.epsilon_at(10 * delta) < epsilon < found.epsilon_at(0.9 * delta)
    assert math.isinf(found.order)  # at delta = 0 epsilons add up
    assert found.covers([found.spent(_role("pure:epsilon=0.1"))] * 9)
    assert not found.covers([found.spent(_role("pure:epsilon=0.1"))] * 11)


def test_the_order_is_that_of_the_most_gaussian_noise():
    found = renyi_filter(3.0, 1e-6, [_role("pure:epsilon=0.01")])
    # By a scan of its own.
    best = max(
        (3.0 + math.log(1e-6 * a) / (a - 1.0) - math.log1p(-1.0 / a)) / a
        for a in (1.0 + k / 100.0 for k in range(1, 10_000))
    )
    assert found.renyi / found.order == pytest.approx(best, rel=1e-3)


def test_a_first_release_that_fits_elsewhere_decides_the_order():
    first = _role("pure:epsilon=0.9")
    found = renyi_filter(1.0, 1e-9, [first])
    assert found.order > 100.0
    assert found.covers([found.spent(first)])


def test_the_least_over_orders_is_no_filter():
    """Two releases that fit at another order, but not at the one that was fixed."""
    first, second = _role("pure:epsilon=0.05"), _role("pure:epsilon=0.9")
    budget = renyi_filter(1.0, 1e-9, [first])
    other = renyi_filter(1.0, 1e-9, [second])
    assert budget.order < 0.1 * other.order
    assert other.covers([other.spent(first), other.spent(second)])
    assert not budget.covers([budget.spent(first), budget.spent(second)])


def test_failures_are_kept_apart_from_the_first_on():
    first = _role("approximate:epsilon=0.1,delta=1e-7")
    budget = renyi_filter(1.0, 1e-6, [first])
    assert budget.failure == 5e-7
    one = budget.spent(first)
    assert one.failure == pytest.approx(1e-7)
    assert budget.covers([one] * 4)
    assert not budget.covers([one] * 6)
    assert together([one] * 6).failure == pytest.approx(6e-7)
    # A first release that needs more gets it; one that needs all of delta has no order left.
    assert renyi_filter(1.0, 1e-6, [_role("approximate:epsilon=0.1,delta=8e-7")]).failure > 8e-7
    with pytest.raises(InputError, match="no Renyi order proves"):
        renyi_filter(1.0, 1e-6, [_role("approximate:epsilon=0.1,delta=2e-6")])
    without = renyi_filter(1.0, 1e-6, [_role("pure:epsilon=0.1")])
    assert without.failure == 0.0
    assert not without.covers([without.spent(first)])


def test_a_first_search_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="no Renyi order proves"):
        renyi_filter(0.5, 1e-6, [_role("gaussian:noise_multiplier=2")])


def test_a_search_spends_its_renyi_bound():
    release = Release(
        jaxsel.guarantee_of("gaussian:noise_multiplier=8"),
        jaxsel.repetitions.parse("geometric:mean=3"),
        2,
    )
    budget = renyi_filter(5.0, 1e-6, [[release]])
    assert budget.spent([release]).renyi == float(composed_renyi([release]).curve(budget.order))
