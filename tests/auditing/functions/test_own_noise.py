"""Audits of functions whose noise is not the seed's: they fall no more often than is said."""

import numpy as np
import pytest

import jaxsel
from benchmarks.audit_tables import calibration
from jaxsel.auditing.event_limits import event_epsilon
from jaxsel.auditing.functions import audit_function as auditing
from jaxsel.auditing.functions.events import Claim
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import binomial_p_value
from tests.conftest import ALPHA


def test_a_right_function_with_noise_of_its_own_is_refuted_as_often_as_is_said():
    """With what is thinned made from (seed, counts), about 40 in 100 of these audits refute it."""
    share, runs, rate = 1.5 / 1150, 100, 0.05
    refuted = sum(
        jaxsel.audit_function(
            lambda rng, data, n: (np.random.default_rng().random(n) < share * data).astype(int),
            0,
            1,
            relation="replace_one",
            claim=0.0,
            delta=share,
            trials=2300,
            confidence=1.0 - rate,
        ).refuted
        for _ in range(runs)
    )
    assert binomial_p_value(refuted, runs, rate, "greater") >= ALPHA


@pytest.mark.parametrize("name", [one for one in calibration.OWN_NOISE if one.startswith("few")])
def test_few_counts_refute_no_more_often_than_is_said(name):
    """A small instance of ``jaxsel audit --calibration``."""
    runs = 20
    refuted = calibration.audits_of_own_noise(name, 2000, runs)
    assert binomial_p_value(refuted, runs, calibration.ALPHA, "greater") >= ALPHA


@pytest.mark.rare
@pytest.mark.parametrize("name", calibration.OWN_NOISE)
def test_the_twelve_functions_are_refuted_no_more_often_than_is_said(name):
    runs = 60
    refuted = calibration.audits_of_own_noise(name, 5000, runs)
    assert binomial_p_value(refuted, runs, calibration.ALPHA, "greater") >= ALPHA


def test_the_randomness_of_an_audit_is_made_from_the_order_of_trials_and_not_from_counts(
    monkeypatch,
):
    seen = []

    def noted(used, delta, error, generator):
        seen.append((used.tolist(), generator.random()))
        return 0.0

    def three_ones(rng, data, n):
        return np.random.default_rng().permutation(np.arange(n) < 3).astype(int) + 0 * data

    monkeypatch.setattr(auditing, "event_epsilon", noted)
    for _ in range(20):
        auditing.search_and_bound(
            three_ones,
            0,
            1,
            relation="local",
            claims=[Claim(0.5)],
            said="",
            trials=400,
            false_alarm=0.05,
        )
    counts, drawn = zip(*seen, strict=True)
    few = [one for one, two in zip(drawn, counts, strict=True) if min(two[0]) > 0]
    # The event is one of three, and at equal counts another order is another thinning.
    assert len(set(map(str, counts))) <= 3 < len(few)
    assert len(set(few)) == len(few)


def test_a_certain_event_on_both_sides_shows_nothing_whatever_is_thinned():
    used = np.array([[0, 500], [0, 500]])
    for seed in range(300):
        assert event_epsilon(used, 0.0, 0.3, np.random.default_rng(seed)) == 0.0
        assert event_epsilon(used, 0.1, 0.3, np.random.default_rng(seed)) == 0.0


def test_equal_seeds_have_equal_bounds_where_the_noise_is_the_seeds():
    def audited(seed):
        found = jaxsel.audit_function(
            lambda rng, data, n: data + rng.laplace(size=n),
            0.0,
            1.0,
            relation="general",
            claim=0.5,
            trials=3000,
            seed=seed,
        )
        return found.lower, found.counts

    assert audited(1) == audited(1) != audited(2)


def test_one_value_is_one_record_of_a_pair_and_no_example():
    """As in ``jaxsel.audit_function(f, 0, 1, relation="replace_one")``."""

    def coin(rng, data, n):
        return rng.integers(0, 2, n) + 0 * data

    options = {"relation": "replace_one", "claim": 1.0, "trials": 200}
    assert jaxsel.audit_function(coin, 0, 1, **options).verdict == "not refuted"
    with pytest.raises(InputError, match="the example is 3, one record; give a list of records"):
        jaxsel.audit_function(coin, 3, **options)
