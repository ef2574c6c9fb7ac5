"""Errata of Koskela, Redberg & Wang 2024 and Zhu & Wang 2022: verdicts and numbers."""

import itertools
import math
import operator

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.divergences import (
    hockey_stick,
    profile_delta,
    renyi_divergence,
)
from jaxsel.base import Budget, Claim
from jaxsel.catalogue import errata as all_errata
from jaxsel.catalogue import published_claims
from jaxsel.checking import bound_verdict
from jaxsel.errors import InputError
from jaxsel.families.noisy_max.claims import composition_errata as lemmas
from jaxsel.families.top_k.claims import (
    constants_errata as constants,
)
from jaxsel.families.top_k.claims import (
    neighbours,
)
from jaxsel.families.top_k.claims import (
    stability_errata as stability,
)
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.bounds.envelope import envelope_profile
from jaxsel.families.tuning.claims import (
    errata_cases as numbers,
)
from jaxsel.families.tuning.claims import (
    no_run_errata as no_run,
)
from jaxsel.families.tuning.claims import (
    profile_corollaries_errata as corollaries,
)
from jaxsel.intervals import clopper_pearson
from tests.conftest import ALPHA

ERRATA = tuple(e for e in all_errata() if e.id.startswith(("E-KRW-", "E-ZW-")))
_IDS = {i for e in ERRATA for i in (*e.refuted, *e.corrected)}
CLAIMS = tuple(c for c in published_claims() if c.id in _IDS)
BY_ID = {claim.id: claim for claim in CLAIMS}

# One parameter that each claim must refuse.
BAD = {
    "KRW-Cor5.4": {"delta": 1.0},
    "KRW-Cor5.4-sharp": {"gamma": 0.0},
    "KRW-Cor5.4-proof-printed": {"eta": -1.0},
    "KRW-Cor5.4-proof": {"epsilon": -0.1},
    "KRW-Cor5.5-printed": {"eta": 0.5},
    "KRW-Cor5.5": {"mean": 1.0},
    "KRW-Thm3.3-printed": {"candidates": 0},
    "KRW-Thm3.3": {"compositions": 1.5},
    "KRW-LemD.1-printed": {"order": 1.0},
    "KRW-LemD.1": {"renyi_epsilon": -1.0},
    "KRW-Sec5-Poisson-printed": {"mean": 0.5},
    "KRW-Sec5-Poisson": {"noise_scale": 0.0},
    "KRW-B-no-run-printed": {"mean": 0.0},
    "KRW-B-no-run": {"order": math.nan},
    "KRW-RemC.8-printed": {"epsilon": -1.0},
    "KRW-RemC.8": {"base_epsilon": 0.0},
    "KRW-C.5-display-printed": {"mean": 100.0},
    "KRW-C.5-display": {"epsilon": -1.0},
    "KRW-B.2-weight-printed": {"order": 1.0},
    "KRW-B.2-weight": {"base_epsilon": -1.0},
    "KRW-Sec3-growth-printed": {"share": 0.0},
    "KRW-Sec3-growth": {"delta": 0.0},
    "KRW-Sec7-tight-printed": {"slack": 1.0},
    "KRW-Sec7-tight": {"delta": 0.0},
    "KRW-Sec4-uniform-printed": {"noise_scale": 0.1},
    "KRW-Sec4-uniform": {"mean": 0.5},
    "ZW-Lem10-printed": {"gap": -1},
    "ZW-Lem10": {"k": 0},
    "ZW-Lem18-hypothesis-printed": {"delta_t": 0.0},
    "ZW-Lem18-hypothesis": {"delta_t": 1.0},
    "ZW-Lem18": {"noise_scale": -1.0},
    "ZW-Lem18-threshold": {"delta_t": "much"},
    "ZW-Cor19-Laplace-half": {"epsilon": 0.0},
    "ZW-Thm8-gaps": {"candidates": 1},
    "ZW-Thm20": {"beta": 1.0},
    "ZW-EXP3-printed": {"practical": 0.0},
    "ZW-EXP3": {"delta_t": 1e-6},
}


def by_id(claim: Claim) -> str:
    return claim.id


# --- Every claim and every erratum ----------------------------------------------------


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
    expected = {f"E-KRW-{i}" for i in range(1, 9)} | {f"E-ZW-{i}" for i in range(1, 5)}
    assert set(errata) == expected
    assert len(ERRATA) == len(expected)
    for claim in CLAIMS:
        assert claim.erratum in errata
        erratum = errata[claim.erratum]
        listed = erratum.corrected if claim.holds else erratum.refuted
        assert claim.id in listed
        assert claim.id.endswith("-printed") == (not claim.holds)
        assert (claim.correction is None) == claim.holds
        if claim.correction is not None:
            assert any(name in claim.correction for name in erratum.corrected)
    for erratum in ERRATA:
        for name in (*erratum.refuted, *erratum.corrected):
            assert BY_ID[name].erratum == erratum.id
        assert erratum.kind in ("statement", "proof", "misprint")
        if erratum.kind == "statement":
            assert erratum.refuted
        assert erratum.corrected


# --- Checks have power: a claim stronger by a little is refuted ----------------------


def scaled(cases, factor):
    return [(factor * claimed, seen, detail) for claimed, seen, detail in cases]


@pytest.mark.parametrize(
    ("cases", "factor"),
    [
        (lambda: corollaries._point_cases(Budget(), sharp=True), 0.999),
        (lambda: constants._laplace_cases(), 0.999),
        (lambda: stability._test_cases(quantile=True), 0.98),
        (lambda: no_run._no_run_cases(1.0), 0.999999),
        (lambda: lemmas._conversion_cases(lemmas._lemma_d1, Budget()), 0.5),
    ],
)
def test_checks_have_power(cases, factor):
    assert bound_verdict(cases()).outcome == "holds"
    assert bound_verdict(scaled(cases(), factor)).outcome == "refuted"


# --- E-KRW-1 --------------------------------------------------------------------------


def test_printed_proof_of_corollary_5_4_at_one_point():
    eta, gamma, epsilon, delta = 5.0, 0.1, 0.1, 0.01
    shift = (eta + 1) * math.log(math.exp(epsilon) + (1 / gamma - 1) * delta)
    assert shift > BY_ID["KRW-Cor5.4-proof-printed"].evaluate()
    assert shift <= BY_ID["KRW-Cor5.4-proof"].evaluate()


# --- E-KRW-2 --------------------------------------------------------------------------

MEAN, DELTA = 10**7, mp.mpf(10) ** -3
BLOCKS = numbers.worst_block_order(float(MEAN), 2.04, 0.316)


def best_within(mass):
    """P[the best of K lies in the best outcomes of that mass], K geometric."""
    gamma = mp.mpf(1) / MEAN
    return mass / (gamma + (1 - gamma) * mass)


def test_corollary_5_5_counterexample_in_closed_form():
    """The loss falls along the block z < bad, so that its level set is an interval."""
    with mp.workdps(40):
        printed = 2 * (mp.mpf(1) / 2 + mp.sqrt(2 * mp.log(MEAN / DELTA))) + 2 * DELTA
        assert float(printed) == pytest.approx(
            BY_ID["KRW-Cor5.5-printed"].evaluate(), rel=1e-14
        )
        good, bad = mp.mpf(BLOCKS.good), mp.mpf(BLOCKS.bad)
        gamma = mp.mpf(1) / MEAN

        def better(z, centre):
            return mp.ncdf(centre - good) + mp.ncdf(z - centre)

        def loss(z):
            ratio = (gamma + (1 - gamma) * better(z, 1)) / (
                gamma + (1 - gamma) * better(z, 0)
            )
            return mp.mpf(1) / 2 - z + 2 * mp.log(ratio)

        levels = [loss(bad - step) for step in (0, 0.1, 0.3, 1, 3)]
        assert levels == sorted(levels)
        end = bad
        if loss(bad) < printed:
            end = mp.findroot(
                lambda z: loss(z) - printed, (bad - 1, bad), solver="ridder"
            )
        inside = [
            best_within(better(end, centre)) - best_within(mp.ncdf(centre - good))
            for centre in (0, 1)
        ]
        exact = float(inside[0] - mp.e**printed * inside[1])
    assert exact > 4 * float(DELTA)
    computed = numbers.block_order_delta(
        float(printed), 1.0, laws.geometric(1.0 / MEAN), BLOCKS
    )
    assert computed == pytest.approx(exact, rel=1e-8)
    corrected = BY_ID["KRW-Cor5.5"].evaluate()
    assert numbers.block_order_delta(
        corrected, 1.0, laws.geometric(1.0 / MEAN), BLOCKS
    ) < float(DELTA)


def test_corollary_5_5_counterexample_by_simulation():
    """Literal runs: only those in the two blocks matter, and few are."""
    generator, trials = np.random.default_rng(20240501), 10**6
    good, bad = 2.04 / MEAN, 0.316 / MEAN
    runs = generator.geometric(1.0 / MEAN, trials)
    in_good = generator.binomial(runs, good)
    in_bad = generator.binomial(runs - in_good, bad / (1.0 - good))
    hits = int(np.sum((in_good == 0) & (in_bad > 0)))
    low, high = clopper_pearson(hits, trials, 1.0 - ALPHA)
    first = [float(best_within(mp.mpf(mass))) for mass in (good + bad, good)]
    assert low <= first[0] - first[1] <= high
    # The other side of the same event is too rare to simulate: exact.
    masses = [
        mp.ncdf(1 - mp.mpf(BLOCKS.good)),
        mp.ncdf(1 - mp.mpf(BLOCKS.good)) + mp.ncdf(mp.mpf(BLOCKS.bad) - 1),
    ]
    other = float(best_within(masses[1]) - best_within(masses[0]))
    epsilon = BY_ID["KRW-Cor5.5-printed"].evaluate()
    assert low - math.exp(epsilon) * other > float(DELTA)
    # with K twice as large on average the law is visibly another
    wrong = stats.geom.rvs(0.5 / MEAN, size=trials, random_state=generator)
    in_good = generator.binomial(wrong, good)
    in_bad = generator.binomial(wrong - in_good, bad / (1.0 - good))
    hits = int(np.sum((in_good == 0) & (in_bad > 0)))
    low, high = clopper_pearson(hits, trials, 1.0 - ALPHA)
    assert not low <= first[0] - first[1] <= high


def discretised(shift, bins, generator=None, order=None):
    """The Gaussian pair on bins of equal mass, in block or random order.

    The ends of the blocks are edges of bins too, so that no bin lies in two blocks.
    """
    edges = special.ndtri(np.arange(1, bins) / bins)
    if order is not None:
        edges = np.unique([*edges, *order])
    cdf = [np.concatenate([[0.0], special.ndtr(edges - c), [1.0]]) for c in (0, shift)]
    first, second = (np.diff(values) for values in cdf)
    if order is None:
        ranking = generator.permutation(bins)
    else:
        middle = np.concatenate([[edges[0] - 1.0], (edges[1:] + edges[:-1]) / 2])
        middle = np.append(middle, edges[-1] + 1.0)
        block = np.where(middle > order.good, 0, np.where(middle < order.bad, 1, 2))
        ranking = np.lexsort((np.where(block == 1, middle, -middle), block))
    return first[ranking], second[ranking]


@pytest.mark.parametrize("shift", [0.25, -0.25, 1.0])
@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_block_order_delta_against_fine_bins(shift, eta):
    """Merging outcomes can only lower a divergence, and fine bins lose little."""
    law = laws.from_mean("truncated_negative_binomial", 10.0, eta=eta)
    order = numbers.BlockOrder(1.0, -1.0)
    pair = discretised(shift, 8000, order=order)
    tuned = [tuned_law(side, law) for side in pair]
    for epsilon in (0.2, 0.8):
        exact = numbers.block_order_delta(epsilon, shift, law, order)
        binned = float(hockey_stick(tuned[0], tuned[1], epsilon))
        assert binned <= exact + 1e-9
        assert binned == pytest.approx(exact, rel=2e-3)


def test_block_order_delta_refuses_overlapping_blocks():
    with pytest.raises(InputError, match="bad must not exceed good"):
        numbers.block_order_delta(
            1.0, 1.0, laws.poisson(3.0), numbers.BlockOrder(0.0, 1.0)
        )


# --- E-KRW-3 --------------------------------------------------------------------------


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
        profile = mp.ncdf(near) - mp.e**epsilon * mp.ncdf(far)
        printed = 2**releases * profile
        assert float(printed) == pytest.approx(
            BY_ID["KRW-Thm3.3-printed"].evaluate(), rel=1e-9
        )
    assert lemmas._two_candidates_delta(100.0, 200, 0.0, 1.0) == pytest.approx(
        float(exact), rel=1e-9
    )
    assert 0.9 < exact <= BY_ID["KRW-Thm3.3"].evaluate()


def test_theorem_3_3_counterexample_by_simulation():
    """200 literal noisy maxima a trial; the first of two scores leads by 1."""
    generator, trials, releases = np.random.default_rng(20240502), 20_000, 200
    gaps = np.zeros(trials, dtype=np.int64)
    for _ in range(releases):
        noisy = generator.standard_normal((2, trials)) + np.array([[0.5], [-0.5]])
        gaps += noisy[0] > noisy[1]
    chance = float(special.ndtr(1.0 / math.sqrt(2.0)))
    # wins at which the privacy loss exceeds 100
    loss = (2 * np.arange(releases + 1) - releases) * special.logit(chance)
    threshold = int(np.argmax(loss > 100.0))
    low, high = clopper_pearson(int(np.sum(gaps >= threshold)), trials, 1.0 - ALPHA)
    exact = stats.binom.sf(threshold - 1, releases, chance)
    assert low <= exact <= high
    other = stats.binom.sf(threshold - 1, releases, 1.0 - chance)
    assert low - math.exp(100.0) * other > 0.85
    slightly_wrong = stats.binom.sf(threshold - 1, releases, chance - 0.02)
    assert not low <= slightly_wrong <= high


@pytest.mark.parametrize("releases", [1, 2, 3])
def test_composition_enumerated(releases):
    """The number of wins loses nothing: all outcomes of all releases, one by one."""
    first, second = (
        float(special.ndtr((gap + side) / math.sqrt(2.0)))
        for gap, side in ((-1.0, 1.0), (-1.0, -1.0))
    )
    laws_of = [
        [math.prod(p if x else 1 - p for x in outcome) for outcome in outcomes]
        for p, outcomes in (
            (p, list(itertools.product((0, 1), repeat=releases)))
            for p in (first, second)
        )
    ]
    for epsilon in (0.1, 1.0):
        assert lemmas._two_candidates_delta(
            epsilon, releases, -1.0, 1.0
        ) == pytest.approx(float(hockey_stick(*laws_of, epsilon)), rel=1e-12)


# --- E-KRW-4 and E-KRW-6 --------------------------------------------------------------


def test_lemma_d1_counterexample_by_hand():
    truth = math.tanh(0.5)  # total variation of randomised response with epsilon 1
    p = math.e / (1.0 + math.e)
    moment = p**2 / (1 - p) + (1 - p) ** 2 / p  # exp of the order 2 divergence
    assert BY_ID["KRW-LemD.1-printed"].evaluate() == pytest.approx(
        math.sqrt(moment) / 4.0, rel=1e-12
    )
    assert BY_ID["KRW-LemD.1"].evaluate() == pytest.approx(moment / 4.0, rel=1e-12)
    assert math.sqrt(moment) / 4.0 < truth <= moment / 4.0


def test_no_run_counterexample_by_hand():
    """Equal laws have divergence 0, whatever K: the moment is 1."""
    assert BY_ID["KRW-B-no-run-printed"].evaluate() == pytest.approx(
        -math.expm1(-0.5), rel=1e-12
    )
    assert BY_ID["KRW-B-no-run"].evaluate() == pytest.approx(1.0, rel=1e-12)


def test_no_run_against_fine_ties():
    """Ties split into equal parts, each an outcome of a finite law with no run last."""
    parts, order, mean, base_epsilon = 4000, 3.0, 1.5, 0.7
    pair = numbers.coin_laws(base_epsilon)
    split = [np.repeat(side / parts, parts) for side in pair]
    tuned = [tuned_law(side, laws.poisson(mean)) for side in split]
    finite = math.exp((order - 1) * float(renyi_divergence(*tuned, order)))
    claimed = BY_ID["KRW-B-no-run"].evaluate(
        order=order, mean=mean, base_epsilon=base_epsilon
    )
    assert claimed == pytest.approx(finite, rel=1e-6)


# --- E-KRW-8 --------------------------------------------------------------------------


@pytest.mark.parametrize("eta", [-0.5, 0.0, 1.0, 3.0])
def test_envelope_covers_random_orders(eta):
    """Bins of a Gaussian pair in random orders, both directions."""
    generator = np.random.default_rng(7)
    law = laws.from_mean("truncated_negative_binomial", 30.0, eta=eta)
    for noise_scale, levels in (
        (4.0, np.array([0.2, 0.5, 1.0, 2.5])),
        (1.0, np.array([1.0, 3.0, 6.0, 15.0])),
    ):
        bounds = envelope_profile(curves.gaussian(noise_scale), law)(levels)
        for _ in range(40):
            pair = discretised(1.0 / noise_scale, 40, generator)
            tuned = [tuned_law(side, law) for side in pair]
            assert np.all(profile_delta(*tuned, levels) <= bounds * (1 + 1e-9))
        assert bounds[-1] < 0.5  # not vacuous


def test_tightened_bounds_are_ordered():
    """Exact worst order <= envelope < trade-off ratio < Theorem 5.2, mean 300."""
    law = laws.geometric(1.0 / 300.0)
    ratios = (
        BY_ID["KRW-Sec4-uniform"].evaluate(),
        numbers.stopping_ratio(4.0, 1.0, 1.0 / 300.0),
    )
    uniform, printed = (
        numbers.tuned_gaussian_epsilon(1e-6, 4.0, law, ratio) for ratio in ratios
    )
    envelope = BY_ID["KRW-Sec7-tight"].evaluate()
    blocks = numbers.worst_block_order(300.0, 2.78, 0.198)
    exact = numbers.epsilon_of(
        lambda at: numbers.block_order_delta(at, 0.25, law, blocks), 1e-6, 5.0
    )
    assert exact < envelope < uniform < printed
    assert envelope < 1.005 * exact  # the envelope is nearly attained
    assert envelope < 0.81 * printed


def test_epsilon_of_is_infinite_beyond_its_bracket():
    assert numbers.epsilon_of(lambda at: 0.5, 1e-6, 3.0) == math.inf
    assert numbers.epsilon_of(lambda at: 1e-9, 1e-6, 3.0) == 0.0


# --- E-ZW-1 ---------------------------------------------------------------------------


def test_neighbours_by_brute_force():
    """Three candidates, counts up to 2: votes enumerated in plain Python."""
    first, second = neighbours.neighbours(3, 2)
    rows = zip(first.tolist(), second.tolist(), strict=True)
    found = {(tuple(a), tuple(b)) for a, b in rows}
    wanted = set()
    for counts in itertools.product(range(3), repeat=3):
        for vote in itertools.product((0, 1), repeat=3):
            if any(vote):
                wanted.add((counts, tuple(map(operator.add, counts, vote))))
    assert found == wanted
    assert len(first) == 27 * 7


def test_gap_and_set_of_the_counterexample():
    data = np.array([[9, 4], [8, 4]])
    assert neighbours.gaps_of(data).ravel().tolist() == [5, 4]
    assert neighbours.indicator(data, 1).tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_sets_differ_only_if_both_gaps_are_at_most_one():
    pairs = neighbours.gap_pairs()
    differ = {(gap, other) for gap, other, same in pairs if not same}
    assert differ == {(0, 0), (0, 1), (1, 0)}  # (0, 0) by breaking ties
    assert any(same and gap > 1 for gap, _, same in pairs)


# --- E-ZW-2 ---------------------------------------------------------------------------


def test_hypothesis_of_lemma_18_in_high_precision():
    with mp.workdps(30):
        margin = mp.sqrt(2 * mp.log(10))
        printed = float(mp.ncdf(1 - margin))
        corrected = float(mp.ncdf(-margin))
    claimed = BY_ID["ZW-Lem18-hypothesis-printed"].evaluate()
    assert printed > 1.2 * claimed
    assert corrected <= BY_ID["ZW-Lem18-hypothesis"].evaluate()
    factor = neighbours.threshold_factor(0.1)
    assert stability._exceeds(0.0, 0, 1.0, factor) == pytest.approx(printed, rel=1e-12)
    assert stability._exceeds(1.0, 0, 1.0, factor) == pytest.approx(
        corrected, rel=1e-12
    )


def test_hypothesis_of_lemma_18_by_simulation():
    generator, trials, delta_t = np.random.default_rng(20240503), 10**6, 0.1
    noise = generator.standard_normal(trials)
    noisy_gap = max(1, 0) + noise - math.sqrt(2.0 * math.log(1.0 / delta_t))
    low, high = clopper_pearson(int(np.sum(noisy_gap >= 0)), trials, 1.0 - ALPHA)
    exact = float(special.ndtr(1.0 - math.sqrt(2.0 * math.log(10.0))))
    assert low > delta_t
    assert low <= exact <= high
    assert not low <= 1.02 * exact <= high  # power: 2 % off is seen
    _, high = clopper_pearson(int(np.sum(noisy_gap > 1)), trials, 1.0 - ALPHA)
    assert high < delta_t / 2


def test_release_delta_by_simulation():
    """The released set or nothing, on gaps 2 -> 1 with equal sets."""
    generator, trials = np.random.default_rng(20240504), 10**6
    factor, scale = neighbours.threshold_factor(0.3), 1.0
    passed = []
    for gap in (2, 1):
        noisy = max(1, gap) + scale * generator.standard_normal(trials)
        passed.append(int(np.sum(noisy - scale * factor > 1.0)))
    for count, gap in zip(passed, (2, 1), strict=True):
        low, high = clopper_pearson(count, trials, 1.0 - ALPHA)
        exact = stability._exceeds(1.0, gap, scale, factor)
        assert low <= exact <= high
        assert not low <= exact + 0.01 <= high
    chances = [stability._exceeds(1.0, gap, scale, factor) for gap in (2, 1)]
    pair = [[p, 1.0 - p] for p in chances]
    for epsilon in (0.0, 0.3):
        assert neighbours.release_delta(
            epsilon, chances[0], chances[1], True
        ) == pytest.approx(float(hockey_stick(*pair, epsilon)), rel=1e-12)


# --- E-ZW-3 and E-ZW-4 ----------------------------------------------------------------


def test_first_gap_wins_by_quadrature():
    """The Gaussian maximum of two gaps, integrated over the first one's noise."""
    histograms, scale = np.array([[5, 3, 0], [2, 2, 1]]), 1.5
    computed = constants._first_gap_wins(histograms, scale)
    for value, (g1, g2) in zip(
        computed, neighbours.gaps_of(histograms).tolist(), strict=True
    ):
        with mp.workdps(20):
            exact = mp.quad(
                lambda r, g1=g1, g2=g2: mp.npdf(r) * mp.ncdf(r + (g1 - g2) / scale),
                [-12, -4, 0, 4, 12],
            )
        assert value == pytest.approx(float(exact), rel=1e-10)


def test_experiment_on_a_grid_of_orders():
    """The multi-label setting, its parts spelled out at many orders."""
    orders = 1.0 + np.exp(np.linspace(-3.0, 8.0, 200_001))
    left = -math.log(1e-6 - 600 * 1e-9) / (orders - 1.0)
    test = 600 * orders / (2.0 * 60.0**2)
    gaussian = 600 * (2.0 * orders / 50.0**2 + math.log(40.0) / (orders - 1.0))
    gumbel = 600 * (4.0 / 50.0) ** 2 * orders / 8.0
    assert np.min(gaussian + test + left) == pytest.approx(
        BY_ID["ZW-EXP3"].evaluate(), rel=1e-8
    )
    assert np.min(gumbel + test + left) < 0.1 * np.min(gaussian + test + left)
