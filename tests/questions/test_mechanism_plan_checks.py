"""Plans put to the test against exact laws: a wrong formula is noticed."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.catalogue import find_claim, find_mechanism, mechanisms
from jaxsel.families.top_k.curves import peeled_curve
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.questions import release_curves, releases
from jaxsel.questions.mechanism_plan_checks import _composed, _drawn, _merged
from jaxsel.questions.plan_releases import plan_releases
from jaxsel.questions.releases import OPEN_SETTINGS, may_be_planned

BUDGET = Budget(trials=1000, cases=20)


def test_everything_that_can_be_planned_is_checked():
    for entry in mechanisms():
        if may_be_planned(entry):
            assert find_claim(f"PLAN-{entry.name}").evaluate(epsilon=6.0) <= 6.0
            continue
        with pytest.raises(InputError):
            plan_releases(entry.name, epsilon=6.0, delta=1e-3)


def test_settings_are_drawn_away_from_special_values():
    generator = np.random.default_rng(0)
    entry = find_mechanism("exponential_top_k")
    drawn = [_drawn(entry, generator, OPEN_SETTINGS) for _ in range(30)]
    assert {given["k"] for given in drawn} == {2, 3, 4}
    assert {given.get("relation") for given in drawn} >= {"general", "monotone"}
    assert not any(OPEN_SETTINGS & set(given) for given in drawn)


def test_releases_together_are_binomial():
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.35, 0.6, 0.05])
    one = _merged(first, second)
    assert sorted(one[0]) == pytest.approx([0.2, 0.8])  # two outcomes of one loss
    together = _composed(first, second, 6)
    wins = np.arange(7)
    for laws, share in zip(together, (0.8, 0.4), strict=True):
        assert np.sort(laws) == pytest.approx(np.sort(stats.binom.pmf(wins, 6, share)))


def test_a_curve_that_forgets_how_often_it_is_picked_is_refuted(monkeypatch):
    claim = find_claim("PLAN-exponential_top_k")
    assert claim.check(BUDGET).outcome == "holds"

    def once(scale, k, relation):
        del k
        return peeled_curve(scale, 1, relation)

    monkeypatch.setattr(release_curves, "peeled_curve", once)
    assert claim.check(BUDGET).outcome == "refuted"


def test_half_of_the_noise_is_refuted(monkeypatch):
    claim = find_claim("PLAN-noisy_labels")
    right = release_curves._CURVES["noisy_labels"]

    def louder(values):
        return right({**values, "noise_scale": 2.0 * values["noise_scale"]})

    curves = dict(release_curves._CURVES) | {"noisy_labels": louder}
    monkeypatch.setattr(release_curves, "_CURVES", curves)
    assert claim.check(BUDGET).outcome == "refuted"


def test_a_plan_of_less_than_the_guarantee_is_refuted(monkeypatch):
    """Of a mechanism without an exact law what is planned is set against its guarantee alone."""
    claim, right = find_claim("PLAN-adaptive_analysis"), releases.one_release
    assert claim.check(BUDGET).outcome == "holds"

    def cheaper(entry, values):
        one = right(entry, values)
        return one._replace(pure=0.9 * one.pure)

    monkeypatch.setattr(releases, "one_release", cheaper)
    assert claim.check(BUDGET).outcome == "refuted"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("percentile_above_threshold", "final_epsilon"),
        ("extended_above_threshold", "final_epsilon"),
        ("find_percentile_threshold", "final_epsilon"),
        ("better_than_median", "epsilon"),
    ],
)
def test_what_is_found_is_what_costs(name, found):
    """Not what one run of a base keeps where the noise of the answers can be chosen."""
    plan = plan_releases(name, epsilon=2.0, delta=1e-2)
    assert list(plan.found) == [found]
    less = plan_releases(name, epsilon=1.0, delta=1e-2)
    assert less.found[found] < 0.8 * plan.found[found]
    assert math.isclose(plan.epsilon, 2.0, rel_tol=1e-4)
