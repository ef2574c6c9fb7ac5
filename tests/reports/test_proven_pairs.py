"""The pairs of a release: never above what the accountant proves, nor below the truth."""

import numpy as np
import pytest

from jaxsel import account
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.dominating import pair_delta
from jaxsel.questions.released import compose
from jaxsel.repetitions import parse
from jaxsel.reports import attacks
from jaxsel.reports.proven_pairs import proven_pairs, renyi_profile
from jaxsel.tuning.attained.attained_epsilon import attained_epsilon
from jaxsel.tuning.composing_searches import composed_renyi, composed_renyi_epsilon
from tests.releases import one_release as release

SEARCHES = [
    ("gaussian:noise_multiplier=4", "geometric:mean=10"),
    ("zcdp:rho=0.02", "poisson:mean=10"),
    ("pure:epsilon=0.1", "geometric:mean=10"),
    ("approximate:epsilon=0.1,delta=1e-8", "logarithmic:mean=10"),
    ("dp_sgd:sampling_probability=0.01,noise_multiplier=1,steps=200", "poisson:mean=5"),
]


@pytest.mark.parametrize(("base", "law"), SEARCHES)
def test_they_prove_what_the_account_proves(base, law, fine_prices):
    # An account refines its mesh, and a curve of many points does not: coarse ones differ.
    proved = account(curves_of(base), parse(law), 1e-6, attain=False).best
    found = proven_pairs([release(base, law)], [(proved.epsilon, 1e-6)])
    assert attacks.profile(found, proved.epsilon) <= 1e-6 * (1 + 1e-9)
    # At other deltas too, where nothing was said.
    at = account(curves_of(base), parse(law), 5e-3, attain=False).best.epsilon
    assert attacks.profile(found, at) <= 5e-3 * 1.1


def curves_of(base):
    return release(base).base


@pytest.mark.parametrize(("base", "law"), SEARCHES[:1] + SEARCHES[2:])
def test_they_are_not_below_what_is_attained(base, law):
    found = proven_pairs([release(base, law)])
    for delta in (1e-6, 1e-3):
        epsilon = attained_epsilon(curves_of(base), parse(law), delta)
        assert attacks.profile(found, epsilon) >= delta * (1 - 1e-6)


def test_a_point_makes_the_pairs_smaller_and_is_met():
    search = release("gaussian:noise_multiplier=4", "geometric:mean=10")
    before = proven_pairs([search])
    after = proven_pairs([search], [(1.0, 1e-4)])
    assert attacks.profile(before, 1.0) > 1e-3
    np.testing.assert_allclose(attacks.profile(after, 1.0), 1e-4)
    levels = np.linspace(0.0, 3.0, 50)
    assert np.all(attacks.profile(after, levels) <= attacks.profile(before, levels) * (1 + 1e-9))


def test_several_searches_are_what_their_composition_is():
    searches = [release("gaussian:noise_multiplier=8", "geometric:mean=3", 4)]
    found = proven_pairs([*searches, release("gdp:mu=0.1")])
    best = compose([*searches, release("gdp:mu=0.1")], 1e-5).best
    np.testing.assert_allclose(attacks.profile(found, best.epsilon), 1e-5, rtol=1e-2)


def test_all_runs_are_the_composition_of_as_many_as_there_can_be():
    search = release("gaussian:noise_multiplier=4", "point_mass:count=9")
    found = proven_pairs([search], all_runs=True)
    (nine,) = curves.gaussian(4.0 / 3.0).pairs()  # type: ignore[misc]
    levels = np.linspace(0.0, 4.0, 30)
    np.testing.assert_allclose(attacks.profile(found, levels), pair_delta(nine, levels), rtol=1e-6)
    # More is learnt from nine runs than from the best of them.
    assert attacks.advantage(proven_pairs([search])) <= attacks.advantage(found)


def test_a_search_whose_runs_may_fail_fails_as_often_as_one_of_them_does():
    """Ranked first, a failure that gives the record away is released whenever it is met."""
    search = release("approximate:epsilon=0.1,delta=1e-3", "geometric:mean=10")
    met = float(parse("geometric:mean=10").pgf_gap(1e-3))
    for delta in (
        attacks.profile(proven_pairs([search]), 20.0),
        renyi_profile(composed_renyi([search]))(np.array(20.0)),
    ):
        assert met * (1 - 1e-9) <= delta <= 10.0 * 1e-3 * (1 + 1e-9)


def test_renyi_bounds_at_many_orders_are_those_at_the_best_one():
    searches = [release("gaussian:noise_multiplier=8", "poisson:mean=10", 4)]
    profile = renyi_profile(composed_renyi(searches))
    for delta in (1e-8, 1e-4):
        epsilon, _ = composed_renyi_epsilon(searches, delta)
        assert delta * (1 - 1e-6) <= profile(np.array(epsilon)) <= 1.05 * delta
