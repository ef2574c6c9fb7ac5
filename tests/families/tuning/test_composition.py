"""Composed searches where closed forms or dp-accounting know the answer."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy import stats

import jaxsel
from jaxsel import repetitions
from jaxsel.accounting.single_run.curves import from_pairs
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import (
    pair_delta,
    pair_from_laws,
    reversed_pair,
)
from jaxsel.errors import InputError
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.bounds import priced_envelope
from jaxsel.families.tuning.tuned_guarantee import tuned_pairs, tuned_profiles


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Balle & Wang 2018, Theorem 8."""
    normal = stats.norm.cdf
    return float(
        normal(mu / 2 - epsilon / mu)
        - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
    )


@pytest.fixture(autouse=True)
def _coarse(monkeypatch):
    """Programs of the priced envelope that take less time: larger bounds."""
    coarse = priced_envelope.Resolution(columns=4, rows=2, knots=4, parts=2)
    monkeypatch.setattr(priced_envelope, "FINE", coarse)


def test_a_search_has_a_pair_in_each_direction():
    """A base that favours one direction: the other is bounded, too."""
    first, second = np.array([0.3, 0.7]), np.array([0.02, 0.98])
    one = pair_from_laws(first, second)
    base = from_pairs("a pair", lambda: (one, reversed_pair(one)))
    law = repetitions.geometric(0.3)
    pairs = tuned_pairs(base, law)
    assert len(pairs) == 2
    sides = tuned_law(first, law), tuned_law(second, law)
    levels = np.array([0.0, 0.3, 1.0, 2.0])
    orders = (sides, (sides[1], sides[0]))
    for pair, (one_side, other) in zip(pairs, orders, strict=True):
        exact = hockey_stick(one_side, other, levels)
        assert np.all(pair_delta(pair, levels) >= exact - 1e-12)
    # Each direction is bounded by itself: together they are not symmetric.
    assert not np.allclose(pair_delta(pairs[0], levels), pair_delta(pairs[1], levels))


def _by(cost, theorem: str) -> float:
    return next(b.epsilon for b in cost.bounds if b.theorem == theorem)


def test_searches_of_one_run_are_gaussian_releases():
    """K = 1: sixteen of them are one Gaussian with four times the mu."""
    one = jaxsel.release("gaussian:noise_multiplier=8", "pmf:1=1", 16)
    found = _by(jaxsel.compose(one, 1e-6), "JX-Composition")
    assert _gaussian_delta(4.0 / 8.0, found) <= 1e-6
    assert _gaussian_delta(4.0 / 8.0, 0.999 * found) > 1e-6 * (1 - 1e-2)


def test_one_search_is_its_profile():
    release = jaxsel.release("gaussian:noise_multiplier=4", "geometric:mean=10")
    assert release.repetitions is not None
    (profile,) = tuned_profiles(release.base, release.repetitions)
    found = _by(jaxsel.compose(release, 1e-6), "JX-Composition")
    assert float(profile(np.asarray(found))) <= 1e-6 * (1 + 1e-6)
    assert float(profile(np.asarray(0.999 * found))) > 1e-6


def test_several_bounds_stand_beside_each_other():
    """The best of many searches is by no bound worse than the sum of all."""
    search = jaxsel.release("gaussian:noise_multiplier=8", "geometric:mean=30", 16)
    beside = jaxsel.release("gdp:mu=0.05")
    found = jaxsel.compose([search, beside], 1e-6)
    assert {b.theorem for b in found.bounds} == {
        "JX-Composition", "composed-renyi", "composed-sum",
    }  # fmt: skip
    assert found.best.epsilon == min(b.epsilon for b in found.bounds)
    alone = jaxsel.compose([search], 1e-6)
    for bound in alone.bounds:
        assert bound.epsilon < _by(found, bound.theorem)
    assert _by(alone, "JX-Composition") < 0.7 * _by(alone, "composed-sum")


def test_distributions_compose_elsewhere_as_here():
    search = jaxsel.release("gaussian:noise_multiplier=8", "geometric:mean=3")
    one = jaxsel.privacy_loss_distribution(search)
    there = one.self_compose(4).get_epsilon_for_delta(1e-6)
    here = _by(jaxsel.compose(search._replace(times=4), 1e-6), "JX-Composition")
    assert there == pytest.approx(here, rel=1e-6)


def test_events_of_dp_accounting_are_releases():
    event = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(8.0), 9.0, 1.0)
    composed = dp_event.SelfComposedDpEvent(event, 3)
    found = jaxsel.compose(composed, 1e-6)
    search = jaxsel.release("gaussian:noise_multiplier=8", "geometric:mean=9", 3)
    assert found.best.epsilon == pytest.approx(
        jaxsel.compose(search, 1e-6).best.epsilon, rel=1e-5
    )


@pytest.mark.parametrize(
    ("releases", "message"),
    [
        ([], "nothing is released"),
        ([{"base": "gdp:mu=1", "times": 0}], "times is 0"),
        ([{"base": "gdp:mu=1", "repetition": "x"}], "did you mean repetitions"),
        ([{"base": "gdp:mu=1", "repetitions": "poisson:mean=0"}], r"mean|always 0"),
        (
            [
                {"base": "gdp:mu=1", "relation": "replace_one"},
                {"base": "gdp:mu=1", "relation": "add_or_remove_one"},
            ],
            "replace_one",
        ),
    ],
)
def test_what_cannot_be_composed_is_one_sentence(releases, message):
    with pytest.raises(InputError, match=message):
        jaxsel.compose(releases, 1e-6)
