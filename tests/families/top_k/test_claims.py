"""Claims on private top-k sets: numbers, refusals, power."""

import math

import numpy as np
import pytest

from jaxsel.catalogue import find_claim, published_claims
from jaxsel.families.top_k.claims import experiments, instances, stable_top_k
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.language.checking import Judged
from tests.families.power import judged_with

BUDGET = Budget(cases=20)


@pytest.mark.parametrize(
    ("claim_id", "bad"),
    [
        ("ZW-Def5", {"delta": 1.0}),
        ("ZW-Lem3", {"first": -1.0}),
        ("ZW-Lem4", {"order": 1.0}),
        ("ZW-Lem10-printed", {"gap": -1}),
        ("ZW-Lem10", {"k": 0}),
        ("ZW-Lem18-hypothesis", {"delta_t": 1.0}),
        ("ZW-Lem18", {"noise_scale": -1.0}),
        ("ZW-Thm8-gaps", {"candidates": 1}),
        ("ZW-Thm20", {"beta": 1.0}),
        ("ZW-EXP3-practical", {"practical": 0.0}),
        ("ZW-Lem17-best-order", {"delta_t": 1e-3}),
        ("ZW-Cor9-unknown-domain", {"max_size": 1}),
        ("ZW-Thm12-utility", {"k": 5}),
        ("ZW-Thm12-utility", {"counts": "3,1", "k": 2}),
        ("ZW-Alg1", {"regulariser": "0,0,0"}),
        ("BASE-EM-one-shot", {"k": 3}),
        ("ZW-EXP2b", {"k": 15_000}),
        ("ZW-EXP3", {"delta_t": 1e-3}),
        ("CL-Thm6-corrected", {"epsilon": 1e3}),
        ("CL-Thm6-settings", {"beta": 1e-320}),
        ("BASE-LD", {"slack": 1.0}),
    ],
)
def test_bad_input_is_refused(claim_id, bad):
    with pytest.raises(InputError):
        find_claim(claim_id).evaluate(**bad)


def test_classical_results_stand_under_their_own_papers():
    sources = {
        claim.id: claim.source for claim in published_claims() if claim.id.startswith("BASE-")
    }
    assert "BASE-PATE-tau" in sources
    for name, source in sources.items():
        assert source.startswith("Zhu & Wang") == (name == "BASE-PATE-tau")


def test_verdicts_depend_on_the_seed_and_the_number_of_cases():
    claim = find_claim("ZW-Prop7-pure")
    assert claim.check(Budget(cases=10, seed=1)) == claim.check(Budget(cases=10, seed=1))
    assert claim.check(Budget(cases=10)) != claim.check(Budget(cases=10, seed=1))
    assert find_claim("ZW-Lem4").check(Budget(cases=30)).cases == 30


# --- Power: a slightly smaller bound is refuted ---------------------------------------


@pytest.mark.parametrize(
    ("claim_id", "factor"),
    [
        ("ZW-Prop7-pure", 0.99),
        ("ZW-Prop7-range", 0.99),
        ("ZW-Prop7-zCDP", 0.99),
        ("ZW-Prop7-sharp", 0.999),
        ("ZW-Alg1-gaps", 0.99),
        ("BASE-PATE-tau", 0.99),
        ("ZW-Lem3", 0.99),
        ("ZW-Def5", 0.5),
        ("BASE-EM-CDP", 0.98),
        ("BASE-EM-CDP-general", 0.98),
        ("BASE-EM-pure", 0.98),
        ("BASE-LD", 0.95),
        ("BASE-TS", 0.8),
        ("ZW-Cor19-Laplace", 0.49),
        ("ZW-Cor19-Laplace-half", 0.999),
        ("ZW-Lem18-threshold", 0.98),
        ("ZW-Thm12-utility", 2.0),  # a lower bound: twice the recall of peeling
    ],
)
def test_checks_have_power(claim_id, factor):
    assert judged_with(claim_id, factor, BUDGET) == "refuted"


def test_stable_top_k_attains_a_large_part_of_its_renyi_bound():
    """Given the events, the exact divergence comes within a factor of 3 of rho a."""
    cases = [c for c in stable_top_k.given_events(BUDGET) if not isinstance(c, Judged)]
    ratios = [seen / stable_top_k.concentrated(**point) for point, seen, _ in cases]
    assert 1 / 3 < max(ratios) <= 1.0


# --- Numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim_id", "parameters", "value", "accuracy"),
    [
        ("ZW-EXP1-calibration", {"epsilon": 0.4}, 0.004635, 5e-7),
        ("ZW-EXP1-calibration", {"epsilon": 1.0}, 0.028015, 5e-7),
        ("ZW-EXP2a-calibration-EM", {}, 322.5, 0.05),
        ("ZW-EXP2a-calibration-StableTopK", {}, 241.3, 0.05),
        ("ZW-EXP2b-printed", {}, 0.984, 5e-4),
        ("ZW-EXP2b", {"k": 1500}, 0.984, 5e-4),
        ("ZW-EXP2b-noise", {}, 0.243, 5e-4),
        ("ZW-Thm11", {"rho": 0.25, "delta": math.exp(-4.0)}, 2.25, 1e-12),
        ("ZW-Thm11-utility", {"rho": 8.0, "delta_t": math.exp(-4.0)}, 3.0, 1e-12),
        ("ZW-Ex13", {"order": 3.0, "noise_scale": 2.0}, 0.75, 1e-12),
        ("BASE-EM-CDP", {"order": 2.0, "noise_scale": 1.0, "k": 4}, 1.0, 1e-12),
        ("ZW-Alg1", {"further": "1", "regulariser": "0,2,2"}, 1 / 3, 1e-12),
        ("BASE-EM-one-shot", {"gap": 0.0, "further": "0", "k": 2}, 1 / 3, 1e-12),
        ("ZW-Thm12-utility", {"counts": "2,2,2", "k": 1}, 1 / 3, 1e-12),
    ],
)
def test_numbers(claim_id, parameters, value, accuracy):
    assert find_claim(claim_id).evaluate(**parameters) == pytest.approx(value, abs=accuracy)


def test_peeling_nearly_attains_its_gap():
    verdict = find_claim("CL-Sec1.4.2-peeling").check(BUDGET)
    assert verdict.observed > 0.9 * verdict.claimed


def test_top_stable_does_not_degrade_on_the_synthetic_histogram():
    recalls = [experiments.top_stable_recall(k=k) for k in (10, 1500)]
    assert min(recalls) > 0.9999
    assert experiments.peeled_recall(k=10) == pytest.approx(0.986, abs=5e-4)


def test_random_pairs_are_neighbours():
    for first, second in instances.pools(Budget(cases=50)):
        moved = second - first
        assert np.all(np.abs(moved) <= 1)
        assert np.all(np.ptp(np.sign(moved), axis=1) <= 1)
