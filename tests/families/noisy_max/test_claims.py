"""Claims about report noisy max: verdicts, numbers of the papers, checks with power."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.catalogue import find_claim
from jaxsel.families.noisy_max.bounds import noisy_max_delta, noisy_max_noise
from jaxsel.families.noisy_max.claims import (
    composition,
    gaussian,
    gaussian_sharp,
    pure_noises,
    renyi_conversion,
)
from jaxsel.families.noisy_max.claims.instances import instances
from jaxsel.families.noisy_max.entries import noisy_max
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel.noise import LAWS, PRECISIONS
from jaxsel.language.base import Budget, Relation
from jaxsel.language.declared import _claims_in
from tests.conftest import ALPHA

CLAIMS = (
    *(
        claim
        for module in (pure_noises, gaussian, gaussian_sharp, composition)
        for claim in _claims_in(module)
    ),
    renyi_conversion.printed,
)
BY_ID = {claim.id: claim for claim in CLAIMS}
BUDGET = Budget(cases=40, seed=1)


def test_ids():
    assert len(BY_ID) == len(CLAIMS) == 23


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claims_name_their_neighbours(claim):
    assert claim.holds is not claim.id.endswith("-printed")
    assert claim.evaluate() > 0.0
    if claim.id.startswith("KRW-LemD.1"):
        assert claim.relation is Relation.BASE
    else:
        monotone = "-monotone" in claim.id
        assert claim.relation is (Relation.MONOTONE if monotone else Relation.GENERAL)


def test_default_budget_tries_three_hundred_random_neighbours():
    for name in ("KRW-Thm3.1", "KRW-Thm3.2", "KRW-Thm3.2-monotone"):
        assert BY_ID[name].check(Budget()).cases > 300


def test_numbers_of_the_paper():
    # sigma = 4, m = 10
    assert BY_ID["KRW-Cor3.4"].evaluate() == pytest.approx(2.964, abs=5e-4)
    assert BY_ID["KRW-Thm3.2"].evaluate() == pytest.approx(0.068, abs=5e-4)
    assert BY_ID["KRW-Thm3.2-single"].evaluate() == pytest.approx(0.068296 / 0.0029785, rel=1e-4)


def test_a_bound_without_the_factor_m_is_refuted(monkeypatch):
    """Power: m is needed, as many groups show; so is the shift of 2."""
    theorem = BY_ID["KRW-Thm3.2"]

    def without_factor(epsilon, noise_scale, candidates, noise):
        return noisy_max_delta(epsilon, noisy_max_noise(noise, noise_scale), 1)

    def with_half_the_shift(epsilon, noise_scale, candidates, noise):
        half = noisy_max_noise(noise, noise_scale, Relation.MONOTONE)
        return noisy_max_delta(epsilon, half, candidates)

    for bound in (without_factor, with_half_the_shift):
        monkeypatch.setitem(vars(theorem), "evaluate", bound)
        assert theorem.check(BUDGET).outcome == "refuted"


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
        ("KRW-LemD.1-printed", {"order": math.inf}, "order is inf"),
        ("NM-gumbel-general", {"noise_scale": math.nan}, "noise_scale is nan"),
        ("NM-gumbel-zCDP", {"order": 1.0}, "order is 1"),
    ],
)
def test_bad_parameters(name, settings, message):
    with pytest.raises(InputError, match=message):
        BY_ID[name].evaluate(**settings)


# --- Pure noises ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if claim.id.startswith("NM-")], ids=lambda claim: claim.id
)
def test_a_factor_off_is_refuted(monkeypatch, claim):
    """Ten percent too small; 2 percent too large, where the bound is attained."""
    shift, scale = pure_noises.noisy_max_shift, pure_noises.noisy_max_scale
    for factor in (0.9, 1.02) if claim.attained else (0.9,):
        with monkeypatch.context() as patched:
            patched.setattr(pure_noises, "noisy_max_shift", lambda r, by=factor: by * shift(r))
            assert claim.check(BUDGET).outcome == "refuted"
        if claim.attained:  # the number at epsilon, by itself
            with monkeypatch.context() as patched:
                wrong = {key: factor * value for key, value in pure_noises._BOUGHT.items()}
                patched.setattr(pure_noises, "_BOUGHT", wrong)
                assert claim.check(BUDGET).outcome == "refuted"
                patched.undo()
                patched.setattr(
                    pure_noises, "noisy_max_scale", lambda *of, by=factor: by * scale(*of)
                )
                assert claim.check(BUDGET).outcome == "refuted"


def test_noise_is_set_by_one_of_two():
    bound = BY_ID["NM-gumbel-general"]
    assert (bound(), bound(noise_scale=4.0), bound(epsilon=0.3)) == (2.0, 0.5, 0.3)
    with pytest.raises(InputError, match="noise_scale and epsilon are given"):
        bound(noise_scale=1.0, epsilon=1.0)


def test_the_entry_promises_what_its_setting_buys():
    for given, expected in (
        ({"epsilon": 0.3}, {"general": 0.3, "monotone": 0.15}),
        ({"epsilon": 0.3, "relation": "monotone"}, {"monotone": 0.3}),
        ({"noise_scale": 4, "noise": "laplace"}, {"general": 0.5, "monotone": 0.25}),
    ):
        for pair in noisy_max.pairs(given):
            found = noisy_max.guarantee(given, pair)
            assert found.epsilon == pytest.approx(expected[pair.relation.value], rel=1e-12)
    assert noisy_max.guarantee({"noise": "gaussian"}, pair) is None


def test_settings_are_those_of_the_sampler():
    assert noisy_max.settings["noise"].options == tuple(LAWS)
    assert noisy_max.settings["precision"].options == PRECISIONS


# --- Theorem 3.3 (E-KRW-3) ------------------------------------------------------------


def test_theorem_3_3_counterexample_in_high_precision():
    epsilon, releases = mp.mpf(100), 200
    with mp.workdps(60):
        chance = mp.ncdf(1 / mp.sqrt(2))
        exact = mp.mpf(0)
        for wins in range(releases + 1):
            ways = mp.binomial(releases, wins)
            first = ways * chance**wins * (1 - chance) ** (releases - wins)
            second = ways * (1 - chance) ** wins * chance ** (releases - wins)
            exact += max(mp.mpf(0), first - mp.e**epsilon * second)
        shift = 2 * mp.sqrt(2)  # two compositions with sensitivity 2
        near, far = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
        printed = 2**releases * (mp.ncdf(near) - mp.e**epsilon * mp.ncdf(far))
    assert BY_ID["KRW-Thm3.3-printed"].evaluate() == pytest.approx(float(printed), rel=1e-9)
    assert composition._two_candidates_delta(100.0, 200, 0.0, 1.0) == pytest.approx(
        float(exact), rel=1e-9
    )
    assert 0.9 < exact <= BY_ID["KRW-Thm3.3"].evaluate()


def test_theorem_3_3_counterexample_by_simulation():
    """200 literal noisy maxima a trial; the first of two scores leads by 1."""
    generator, trials, releases = np.random.default_rng(20240502), 20_000, 200
    wins = np.zeros(trials, dtype=np.int64)
    for _ in range(releases):
        noisy = generator.standard_normal((2, trials)) + np.array([[0.5], [-0.5]])
        wins += noisy[0] > noisy[1]
    chance = float(special.ndtr(1.0 / math.sqrt(2.0)))
    # wins at which the privacy loss exceeds 100
    loss = (2 * np.arange(releases + 1) - releases) * special.logit(chance)
    threshold = int(np.argmax(loss > 100.0))
    low, high = clopper_pearson(int(np.sum(wins >= threshold)), trials, 1.0 - ALPHA)
    assert low <= stats.binom.sf(threshold - 1, releases, chance) <= high
    other = stats.binom.sf(threshold - 1, releases, 1.0 - chance)
    assert low - math.exp(100.0) * other > 0.85
    slightly_wrong = stats.binom.sf(threshold - 1, releases, chance - 0.02)
    assert not low <= slightly_wrong <= high


@pytest.mark.parametrize("releases", [1, 2, 3])
def test_the_number_of_wins_loses_nothing(releases):
    """All outcomes of all releases, one by one."""
    sides = []
    for move in (1.0, -1.0):
        chance = float(special.ndtr((-1.0 + move) / math.sqrt(2.0)))
        outcomes = itertools.product((chance, 1.0 - chance), repeat=releases)
        sides.append([math.prod(outcome) for outcome in outcomes])
    for epsilon in (0.1, 1.0):
        found = composition._two_candidates_delta(epsilon, releases, -1.0, 1.0)
        assert found == pytest.approx(float(hockey_stick(*sides, epsilon)), rel=1e-12)


# --- Lemma D.1 (E-KRW-4) --------------------------------------------------------------


def test_lemma_d1_counterexample_by_hand():
    truth = math.tanh(0.5)  # total variation of randomised response with epsilon 1
    p = math.e / (1.0 + math.e)
    moment = p**2 / (1 - p) + (1 - p) ** 2 / p  # exp of the order 2 divergence
    printed, correct = math.sqrt(moment) / 4.0, moment / 4.0
    assert BY_ID["KRW-LemD.1-printed"].evaluate() == pytest.approx(printed, rel=1e-12)
    correct_at = {"order": 2.0, "renyi_epsilon": math.log(moment), "epsilon": 0.0}
    assert find_claim("KRW-LemD.1") is find_claim("PS-Lem14")
    assert find_claim("KRW-LemD.1").evaluate(**correct_at) == pytest.approx(correct, rel=1e-12)
    assert printed < truth <= correct
