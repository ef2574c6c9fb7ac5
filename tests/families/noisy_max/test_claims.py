"""Claims about report noisy max: verdicts, numbers of the paper, and checks with power."""

import pytest

from jaxsel.base import Budget, Relation
from jaxsel.checking import at_most
from jaxsel.errors import InputError
from jaxsel.families.noisy_max.bounds import noisy_max_delta, noisy_max_noise
from jaxsel.families.noisy_max.claims.gaussian import CLAIMS
from jaxsel.families.noisy_max.claims.instances import instances, profile_cases

BY_ID = {claim.id: claim for claim in CLAIMS}
BUDGET = Budget(cases=40, seed=1)


def test_ids():
    assert len(BY_ID) == len(CLAIMS)
    wanted = ("KRW-Thm3.1", "KRW-Thm3.2", "KRW-Thm3.2-monotone", "KRW-Cor3.4")
    assert set(wanted) <= set(BY_ID)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claims_hold_and_name_their_neighbours(claim):
    assert claim.holds
    assert claim.evaluate() > 0.0
    monotone = claim.id.endswith("-monotone")
    assert claim.relation is (Relation.MONOTONE if monotone else Relation.GENERAL)


def test_default_budget_tries_three_hundred_random_neighbours():
    for name in ("KRW-Thm3.1", "KRW-Thm3.2", "KRW-Thm3.2-monotone"):
        assert BY_ID[name].check(Budget()).cases > 300


def test_numbers_of_the_paper():
    # sigma = 4, m = 10
    assert BY_ID["KRW-Cor3.4"].evaluate() == pytest.approx(2.964, abs=5e-4)
    assert BY_ID["KRW-Thm3.2"].evaluate() == pytest.approx(0.068, abs=5e-4)
    assert BY_ID["KRW-Thm3.2-single"].evaluate() == pytest.approx(
        0.068296 / 0.0029785, rel=1e-4
    )


def test_a_bound_without_the_factor_m_is_refuted():
    """Power: m is needed, as many groups show; so is the shift of 2."""

    def without_factor(each, relation, levels):
        noise = noisy_max_noise(each.noise, each.scale, relation)
        return noisy_max_delta(levels, noise, 1)

    def with_half_the_shift(each, relation, levels):
        noise = noisy_max_noise(each.noise, each.scale, Relation.MONOTONE)
        return noisy_max_delta(levels, noise, each.candidates)

    for bound in (without_factor, with_half_the_shift):
        check = at_most(profile_cases(bound, Relation.GENERAL), 1e-11)
        assert check(BUDGET).outcome == "refuted"


def test_instances_are_neighbours_with_laws():
    for relation in (Relation.GENERAL, Relation.MONOTONE):
        for each in instances(relation, 0, 20):
            for law in (each.first, each.second):
                assert law.sum() == pytest.approx(1.0, abs=1e-12)
            assert each.noise in ("gaussian", "laplace")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("KRW-Thm3.1", {"order": 1.0}, "order is 1"),
        ("KRW-Thm3.1", {"noise": "cauchy"}, "noise is 'cauchy'"),
        ("KRW-Thm3.2", {"candidates": 0}, "candidates is 0"),
        ("KRW-Thm3.2", {"noise_scale": -1.0}, "noise_scale is -1"),
        ("KRW-Thm3.2-sharp", {"epsilon": -1.0}, "epsilon is -1"),
        ("KRW-Thm3.2-sharp", {"candidates": 1}, "candidates is 1"),
        ("KRW-Thm3.2-single", {"candidates": 1}, "candidates is 1"),
        ("KRW-Thm3.2-groups", {"delta": 0.0}, "delta is 0"),
        ("KRW-Thm3.3-monotone", {"compositions": 0}, "compositions is 0"),
        ("KRW-Thm3.3-dominated", {"noise_scale": 0.0}, "noise_scale is 0"),
        ("KRW-Cor3.4", {"delta": 1.0}, "delta is 1"),
    ],
)
def test_bad_parameters(name, settings, message):
    with pytest.raises(InputError, match=message):
        BY_ID[name].evaluate(**settings)
