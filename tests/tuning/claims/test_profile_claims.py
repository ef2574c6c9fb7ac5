"""Claims of Koskela, Redberg & Wang 2024 on profiles: verdicts, numbers, power."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import exact_epsilon, hockey_stick, profile_delta
from jaxsel.accounting.single_run.dominating import pair_delta, pair_from_laws
from jaxsel.catalogue import errata, find_claim, published_claims
from jaxsel.host.errors import InputError
from jaxsel.language import checking
from jaxsel.language.base import Budget
from jaxsel.language.checking import bound_verdict
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds import profiles
from jaxsel.tuning.claims.base_pairs import BasePair
from jaxsel.tuning.claims.profile import (
    general,
    heterogeneous,
    negative_binomial,
    poisson,
    preliminaries,
)
from jaxsel.tuning.claims.profile.cases import (
    law_profile,
    law_tradeoff,
    random_law,
    sharp_instances,
)
from jaxsel.tuning.claims.searches import guarantee, profile_cases
from jaxsel.tuning.search_bounds import Search

HERE = Path(general.__file__).parent
CLAIMS = [claim for claim in published_claims() if Path(claim.place).parent == HERE]
BY_ID = {claim.id: claim for claim in CLAIMS}
ERRATA = [erratum for erratum in errata() if {*erratum.refuted, *erratum.corrected} & set(BY_ID)]

# One parameter that each claim must refuse.
BAD = {
    "KRW-Def2.1": {"mass": 1.5},
    "KRW-Lem2.2": {"base_epsilon": 0.0},
    "KRW-Lem2.3": {"second": 0.0},
    "KRW-Def2.4": {"z": 2.0},
    "KRW-Thm4.1": {"base_epsilon": -1.0},
    "KRW-Rem4.2": {"order": 1.0},
    "KRW-ThmB.2": {"epsilon": math.nan},
    "KRW-LemC.5": {"d": 0.0},
    "KRW-Thm5.6-printed": {"mean": 0.0},
    "KRW-Thm5.6": {"mean": 0.5},
    "KRW-Thm5.7-no-condition": {"count": 0},
    "KRW-Sec5-binomial-same-profile": {"mean": 30.0},
    "KRW-Sec5-binomial": {"delta": 0.0},
    "KRW-Cor5.4": {"delta": 1.0},
    "KRW-Cor5.4-sharp": {"epsilon": -0.1},
    "KRW-Cor5.4-proof": {"gamma": 0.0},
    "KRW-Cor5.4-proof-printed": {"eta": -1.0},
    "KRW-Cor5.5": {"mean": 0.5},
    "KRW-Cor5.5-printed": {"eta": 0.5},
    "KRW-Sec5-Poisson": {"mean": 0.5},
    "KRW-Sec5-Poisson-printed": {"delta": 1.0},
    "KRW-Sec5-Poisson-same-profile": {"mean": 0.0},
    "KRW-RemC.8": {"level": 51.0},
    "KRW-RemC.8-printed": {"base_epsilon": 0.0},
    "KRW-C.5-display": {"mean": 20.0},
    "KRW-C.5-display-printed": {"epsilon": math.inf},
    "KRW-B.2-weight": {"order": 1.0},
    "KRW-B.2-weight-printed": {"base_epsilon": 5.0},
    "KRW-B-no-run": {"order": 20.0},
    "KRW-B-no-run-printed": {"mean": 0.0},
    "KRW-Sec3-growth": {"mean": 1e251},
    "KRW-Sec3-growth-log": {"share": 0.0},
    "KRW-Sec4-uniform": {"noise_scale": 0.1},
    "KRW-Sec4-uniform-one-level": {"mean": 1e9},
    "KRW-Sec7-tight": {"delta": 1e-13},
    "KRW-Sec7-tight-tenth": {"slack": 1.0},
    "KRW-Cor6.2": {"first_delta": 2.0},
    "KRW-Proc6.2": {"mean": 0.5},
    "KRW-Proc6.2-both": {"mean": 0.5},
    "KRW-Sec1-three-times": {"steps": 0},
}


def by_id(claim):
    return claim.id


@pytest.mark.parametrize("claim", CLAIMS, ids=by_id)
def test_bad_input_is_refused(claim):
    with pytest.raises(InputError) as caught:
        claim.evaluate(**BAD[claim.id])
    (name,) = BAD[claim.id]
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ids_and_cross_references():
    assert len(BY_ID) == len(CLAIMS)
    assert set(BAD) == set(BY_ID)
    errata = {erratum.id: erratum for erratum in ERRATA}
    for claim in CLAIMS:
        if claim.erratum is not None:
            erratum = errata[claim.erratum]
            listed = erratum.corrected if claim.holds else erratum.refuted
            assert claim.id in listed
        if claim.correction is not None:
            assert any(each.id in claim.correction for each in published_claims())
    for erratum in ERRATA:
        for name in (*erratum.refuted, *erratum.corrected):
            assert BY_ID[name].erratum == erratum.id


# --- Power: a slightly stronger claim is refuted --------------------------------------


def scaled(verdict, factor):
    """The verdict, were the claims that many times what they are."""
    return lambda cases, *rest: verdict([(factor * one, *more) for one, *more in cases], *rest)


def less_shift(stated, share):
    """The delta of a bound whose shift is smaller by that share."""
    return lambda epsilon: stated.delta(np.asarray(epsilon) + share * stated.shift)


def less_mean(stated, share):
    """The delta of a bound whose factor E[K] is smaller by that share."""
    return lambda epsilon: (1 - share) * stated.delta(np.asarray(epsilon))


@pytest.mark.parametrize(
    ("family", "bound", "weaken", "share"),
    [
        ("truncated_negative_binomial", profiles.theorem_5_2, less_shift, 0.1),
        ("truncated_negative_binomial", profiles.least_shift, less_shift, 0.02),
        ("binomial", profiles.theorem_5_7, less_shift, 0.2),
        ("binomial", profiles.least_shift, less_shift, 0.2),
        ("binomial", profiles.theorem_5_7, less_mean, 0.001),
        ("poisson", profiles.corollary_5_8, less_shift, 0.02),
        ("poisson", profiles.least_shift, less_shift, 0.02),
    ],
)
def test_less_is_refuted(family, bound, weaken, share):
    # The points of a search follow one another, and are judged by one formula.
    searches = [
        (bound.formula(Search(base, law)), list(points))
        for (base, law), points in itertools.groupby(
            profile_cases(bound, Budget(cases=40), family),
            lambda case: (case[0]["base"], case[0]["law"]),
        )
    ]

    def cases(claimed):
        for stated, points in searches:
            for point, seen in points:
                yield float(claimed(stated)(point["epsilon"])), seen, ""

    assert bound_verdict(cases(lambda stated: stated.delta), 1e-12).outcome == "holds"
    less = cases(lambda stated: weaken(stated, share))
    assert bound_verdict(less, 1e-12).outcome == "refuted"


@pytest.mark.parametrize(
    ("claim", "factor"),
    [
        (preliminaries.largest_of_tests, 0.9999),
        (preliminaries.mean_of_two_points, 0.999),
        (general.sum_of_suprema, 0.9999),
        (general.product, 0.9999),
        (negative_binomial.without_delta, 0.999),
        (poisson.renyi, 0.99),
        (heterogeneous.procedure, 0.97),
        (heterogeneous.gain, 0.8),
    ],
)
def test_smaller_bounds_are_refuted(claim, factor, monkeypatch):
    assert claim.check(Budget(cases=40)).outcome == "holds"
    judge = scaled(checking.bound_verdict, factor)
    monkeypatch.setattr(checking, "bound_verdict", judge)
    assert claim.check(Budget(cases=40)).outcome == "refuted"


@pytest.mark.parametrize(
    ("claim", "factor"),
    [
        (preliminaries.smallest_delta, 1 + 1e-8),
        (preliminaries.generating_function, 1 + 1e-8),
        (general.continuous_score, 1.001),
    ],
)
def test_other_identities_are_refuted(claim, factor, monkeypatch):
    assert claim.check(Budget(cases=40)).outcome == "holds"
    judge = scaled(checking.identity_verdict, factor)
    monkeypatch.setattr(checking, "identity_verdict", judge)
    assert claim.check(Budget(cases=40)).outcome == "refuted"


def test_corollaries_5_3_and_6_2_need_their_constants():
    """Ten per cent less of eta + 2, and five of Corollary 6.2, are too little."""
    pair, law = sharp_instances()["negative_binomial"]
    tuned = [tuned_law(side, law) for side in (pair.first, pair.second)]
    sharper = profile_delta(tuned[0], tuned[1], 0.95 * 3.0)
    assert float(sharper) > 1e-6
    assert float(profile_delta(tuned[0], tuned[1], 3.0)) == 0.0
    tuned = exact_epsilon(*tuned)
    assert 0.9 * find_claim("KRW-Cor5.3").evaluate(law="geometric:mean=10") < tuned <= 3.0


def test_two_laws_stand_in_place_of_randomised_response():
    """Given as text, too; one alone is refused, as are laws that are none."""
    second = 1.0 / (1.0 + math.e)
    for name in (
        *("KRW-Def2.1", "KRW-Lem2.2", "KRW-Thm4.1", "KRW-Rem4.2", "KRW-ThmB.2"),
        *("KRW-RemC.8", "KRW-RemC.8-printed", "KRW-Thm5.7-no-condition"),
    ):
        claim = BY_ID[name].evaluate
        laws_of_coin = {
            "first": f"{second!r},{1.0 - second!r}",
            "second": f"{1.0 - second!r},{second!r}",
        }
        found = claim(base_epsilon=3.0, **laws_of_coin)
        assert found == pytest.approx(claim(base_epsilon=1.0), rel=1e-12)
        for bad in (
            {"first": "0.5,0.5"},
            {"first": "0.5,0.5", "second": "1"},
            {"first": "0.5,0.4", "second": "0.5,0.5"},
        ):
            with pytest.raises(InputError):
                claim(**bad)


def test_theorem_5_6_takes_any_base():
    claim = BY_ID["KRW-Thm5.6"].evaluate
    of_gaussian = claim(order=5.0, mean=3.0, base="gaussian:noise_multiplier=2")
    assert of_gaussian == claim(order=5.0, mean=3.0, noise_scale=2.0)
    # randomised response by hand: epsilon + m delta + log(m)/(a - 1) at order 2
    p, q = 0.25, 0.75
    divergence = math.log(p**2 / q + q**2 / p)
    delta = q - 2.0 * p  # at log(1 + 1/(a - 1)) = log 2
    base = guarantee(BasePair(np.array([p, q]), np.array([q, p]), "a coin"))
    expected = divergence + 3.0 * delta + math.log(3.0)
    assert claim(order=2.0, mean=3.0, base=base) == pytest.approx(expected, rel=1e-12)


# --- Numbers --------------------------------------------------------------------------


def test_the_condition_of_theorem_5_7_matters_by_hand():
    """Bin(6, 0.8) runs of a coin: worse side 0.95 against 0.05."""
    epsilon, mean = 5.0, 4.8
    # f(q) - f(0) of the worse side, f(x) = (0.2 + 0.8 x)^6
    exact = (0.96**6 - 0.2**6) - math.exp(epsilon) * (0.24**6 - 0.2**6)
    law = laws.binomial(6, 0.8)
    first, second = np.array([0.05, 0.95]), np.array([0.95, 0.05])
    both = hockey_stick(tuned_law(first, law), tuned_law(second, law), epsilon)
    assert both == pytest.approx(exact, rel=1e-12)
    claim = BY_ID["KRW-Thm5.7-no-condition"].evaluate
    shift = 5 * math.log(1 + 0.8 * 0.9)
    base = 0.95 - math.exp(epsilon - shift) * 0.05
    assert claim(epsilon=epsilon) == pytest.approx(min(1.0, mean * base))
    assert claim(epsilon=5.6) < exact
    assert find_claim("KRW-Thm5.7").evaluate(
        base=f"randomised_response:epsilon={math.log(19.0)!r}",
        law="binomial:count=6,probability=0.8",
        epsilon=5.6,
    ) > float(hockey_stick(tuned_law(first, law), tuned_law(second, law), 5.6))


def test_headline_numbers():
    gain = BY_ID["KRW-Sec1-three-times"].evaluate
    assert gain() == pytest.approx(2.8, abs=0.05)
    assert gain(mean=100.0) == pytest.approx(3.55, abs=0.05)
    free = BY_ID["KRW-Sec5-binomial"].evaluate
    assert free() == pytest.approx(2.489, abs=6e-4)
    assert free(count=12) == pytest.approx(3.120, abs=6e-4)
    assert BY_ID["KRW-Cor6.2"].evaluate() == pytest.approx(3.160, abs=1e-3)
    steps = BY_ID["KRW-Proc6.2"].evaluate
    assert steps(noise_multiplier=3.0) == pytest.approx(9925, rel=0.005)


def test_evaluations_by_hand():
    law = laws.geometric(0.1)
    first = np.array([1.0, math.e]) / (1.0 + math.e)
    tuned = [tuned_law(side, law) for side in (first, first[::-1])]
    exact = float(hockey_stick(tuned[0], tuned[1], 2.0))
    refined = BY_ID["KRW-ThmB.2"].evaluate()
    bound = BY_ID["KRW-Thm4.1"].evaluate()
    assert exact <= refined <= bound
    coin = first[1] - math.exp(0.5) * first[0]
    assert BY_ID["KRW-Lem2.2"].evaluate() == pytest.approx(coin)
    assert BY_ID["KRW-Def2.1"].evaluate() == pytest.approx(0.1 * math.exp(0.5) + coin)
    assert BY_ID["KRW-Def2.4"].evaluate() == pytest.approx(0.05 / 0.55)
    assert BY_ID["KRW-Lem2.3"].evaluate() == pytest.approx((8.1 + 0.04 / 0.6) / 2)
    assert BY_ID["KRW-LemC.5"].evaluate() == pytest.approx(5 / 16)
    assert BY_ID["KRW-Thm5.6-printed"].evaluate() < 0.0


# --- The instances --------------------------------------------------------------------


def test_law_profile_and_tradeoff_are_exact():
    generator = np.random.default_rng(3)
    levels = np.linspace(-3.0, 3.0, 25)
    for _ in range(20):
        first, second = generator.dirichlet(np.ones(4), 2)
        first, second = np.append(first, 0.0), np.append(0.0, second)
        profile = law_profile(first, second)
        np.testing.assert_allclose(
            profile(levels), profile_delta(first, second, levels), atol=1e-14
        )
        forward = pair_delta(pair_from_laws(first, second), levels)
        assert np.all(profile(levels) >= forward - 1e-14)
        # T(x) = min over epsilon of e^epsilon x + delta(epsilon), one direction at a time
        x = np.linspace(0.0, 1.0, 11)
        fine = np.linspace(-12.0, 12.0, 20001)
        least = [
            (np.exp(fine) * x[:, None] + hockey_stick(*pair, fine)).min(axis=1)
            for pair in ((first, second), (second, first))
        ]
        seen = law_tradeoff(first, second)(x)
        np.testing.assert_allclose(seen, np.minimum(np.maximum(*least), 1), atol=2e-3)


def test_random_laws_cover_their_families():
    generator = np.random.default_rng(0)
    seen = [random_law(generator, "negative_binomial") for _ in range(60)]
    assert {law.parameters["eta"] for law in seen} == {-0.5, 0.0, 1.0, 5.0}
    means = [random_law(generator, "poisson").mean for _ in range(60)]
    assert min(means) < 1.0 < max(means)
    assert random_law(generator, "binomial").family == "binomial"
