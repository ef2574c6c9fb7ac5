"""Errata of Liu & Talwar 2019 and of Cohen et al. 2022, and the numbers behind them."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_delta
from jaxsel.base import Budget
from jaxsel.catalogue import all_claims, published_claims
from jaxsel.catalogue import errata as all_errata
from jaxsel.families.percentile.claims.errata_cases import level
from jaxsel.families.percentile.settings import algorithm_4, algorithm_5, always_level
from jaxsel.families.score_selection.claims import margin_errata as margin
from jaxsel.families.selection_and_test.claims import coin_cases as coin_games
from jaxsel.families.selection_and_test.claims import many_tests_errata as cohen_answers
from jaxsel.families.sparse_vector.claims import sparse_vector_errata as sparse_vector
from jaxsel.families.sparse_vector.halting_law import (
    binomial_counts,
    halting_law,
    laplace_difference_tail,
)
from jaxsel.families.tuning.claims import closeness_errata as closeness

# False-alarm rate of each statistical assertion.
ALPHA = 1e-6

ERRATA = tuple(e for e in all_errata() if e.id.startswith(("LT-E", "CL-E")))
_IDS = {i for e in ERRATA for i in (*e.refuted, *e.corrected)}
CLAIMS = tuple(c for c in published_claims() if c.id in _IDS)
BY_ID = {claim.id: claim for claim in all_claims()}

mp.mp.dps = 30


def _named(record) -> str:
    return record.id


# --- The records ----------------------------------------------------------------------


def test_ids_are_unique_and_complete():
    assert len(BY_ID) == len(all_claims())
    numbers = {erratum.id for erratum in ERRATA}
    elsewhere = {"LT-E13", "LT-E14", "LT-E19"}
    assert numbers == (
        {f"LT-E{i}" for i in range(1, 23)} - elsewhere
        | {f"CL-E{i}" for i in range(1, 20)}
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=_named)
def test_claim_names_its_erratum_and_correction(claim):
    assert claim.erratum in {erratum.id for erratum in ERRATA}
    assert claim.id.endswith("-printed") != claim.holds


@pytest.mark.parametrize("erratum", ERRATA, ids=_named)
def test_erratum_names_its_claims(erratum):
    assert erratum.kind in {"statement", "proof", "misprint"}
    if erratum.kind in {"statement", "proof"}:
        assert erratum.refuted
        assert erratum.corrected
    listed = {claim.id for claim in all_claims() if claim.erratum == erratum.id}
    mentioned = {
        i
        for other in ERRATA
        for i in (*other.refuted, *other.corrected)
        if BY_ID[i].erratum == erratum.id
    }
    assert listed == mentioned


# --- Sparse vectors: LT-E1, LT-E3, LT-E5, LT-E6, LT-E8, CL-E18 ------------------------


def _mp_laplace_cdf(x):
    return mp.e**x / 2 if x < 0 else 1 - mp.e ** (-x) / 2


@pytest.mark.parametrize(
    ("earlier", "shown"), [(0, None), (5, 0.73), (20, 0.913), (200, 0.990)]
)
def test_far_query_fails_given_earlier_failures(earlier, shown):
    height = 3 * mp.log(10)

    def all_fail(count):
        def density(z):
            return mp.e ** (-abs(z)) / 2 * _mp_laplace_cdf((z - height) / 2) ** count

        return mp.quad(density, [-60, -20, 0, height, 2 * height, 4 * height, 80])

    joint = all_fail(earlier + 1)
    law = halting_law([level(10.0)] * (earlier + 1), 2.0, 1.0)
    np.testing.assert_allclose(law[-1], float(joint), rtol=1e-9)
    np.testing.assert_allclose(law.sum(), 1.0, rtol=1e-12)
    if shown is None:
        np.testing.assert_allclose(law[0], 0.9790848155988775, rtol=1e-12)
    else:
        assert float(joint / all_fail(earlier)) == pytest.approx(shown, abs=6e-4)


def test_halting_query_with_every_sample_passing():
    test = algorithm_4()
    shown = 1 - (4 * mp.e ** (-mp.mpf(always_level(test)) / (2 * test.threshold_scale)))
    law = halting_law([always_level(test)], test.query_scale, test.threshold_scale)
    assert law[0] == pytest.approx(0.99955, abs=1e-5)
    # The second term of the tail is 1e-7 of the first.
    tail = 1 - (1 - shown) / 6
    assert law[0] == pytest.approx(float(tail), abs=1e-6)


def test_difference_of_laplace_noises_by_sampling():
    generator = np.random.default_rng(1)
    draws = generator.laplace(0, 3.0, 10**6) - generator.laplace(0, 1.5, 10**6)
    for t in (-4.0, 0.5, 6.0):
        exact = float(laplace_difference_tail(t, 3.0, 1.5))
        hits = int(np.sum(draws > t))
        assert stats.binomtest(hits, 10**6, exact).pvalue > ALPHA
        assert stats.binomtest(hits, 10**6, exact * 0.97).pvalue < ALPHA


def test_halting_law_by_running_the_algorithm():
    generator = np.random.default_rng(2)
    levels = [-1.0, 0.7, -2.5, 1.2]
    exact = halting_law(levels, 2.0, 0.8)
    n = 400_000
    threshold = generator.laplace(0.0, 0.8, (n, 1))
    passed = np.array(levels) + generator.laplace(0.0, 2.0, (n, 4)) > threshold
    halts = np.where(passed.any(axis=1), passed.argmax(axis=1), 4)
    counts = np.bincount(halts, minlength=5)
    assert stats.chisquare(counts, exact * n).pvalue > ALPHA
    wrong = halting_law(levels, 2.1, 0.8)
    assert stats.chisquare(counts, wrong / wrong.sum() * n).pvalue < ALPHA


def test_late_halt_by_running_algorithm_4():
    setting = {"slack": 0.1, "base_epsilon": 0.01, "final_epsilon": 100.0}
    test = algorithm_4(target=0.9, **setting)
    grown = math.exp(0.1) * (3 / 0.1) ** test.exponent
    shares = np.array([1 - 1 / (1 + grown / (2 * 0.1)), 1.0])
    generator = np.random.default_rng(3)
    n = 20_000
    counts = generator.binomial(test.samples, shares, (n, 2))
    value = np.log((counts + test.shift) / (test.samples - counts + test.shift))
    goal = (0.9 * test.samples + test.shift) / (0.1 * test.samples + test.shift)
    noise = generator.laplace(0.0, test.query_scale, (n, 2))
    threshold = math.log(goal) + generator.laplace(0.0, test.threshold_scale, (n, 1))
    passed = value + noise >= threshold
    late = int(np.sum(~passed[:, 0] & passed[:, 1]))
    verdict = BY_ID["LT-Thm4.4(c)-constant-printed"].check(Budget())
    assert late > n * verdict.claimed
    assert stats.binomtest(late, n, min(verdict.observed, 1.0)).pvalue > ALPHA


def test_small_shift_by_running_algorithm_5():
    verdict = BY_ID["LT-Thm4.6(c)-shift-printed"].check(Budget())
    test = algorithm_5(
        target=0.01,
        beta=1e-4,
        slack=0.05,
        base_epsilon=0.99,
        final_epsilon=1e4,
        delta=1e-6,
        thresholds=3,
    )
    generator = np.random.default_rng(4)
    n = 400_000
    reached = generator.binomial(test.samples, 0.01, n)
    # thresholds 1, 1/2, 0 are reached by 0, reached and all samples
    counts = np.stack([np.zeros(n), reached, np.full(n, test.samples)], axis=1)
    noise = generator.laplace(0.0, test.query_scale, (n, 3))
    nu = generator.laplace(0.0, test.threshold_scale, (n, 1))
    goal = math.log(test.samples * 0.01 + test.shift) - test.offset
    passed = np.log(counts + test.shift) + noise >= nu + goal
    last = int(np.sum(passed.argmax(axis=1) == 2))
    assert stats.binomtest(last, n, verdict.observed).pvalue > ALPHA
    assert stats.binomtest(last, n, verdict.claimed, "greater").pvalue < ALPHA


def test_poisson_tail_behind_the_shift():
    # epsilon_0 = 0.05, epsilon_1 = 1, T = 10, delta = 1e-6
    constant = 2 * (mp.e ** mp.mpf("1.05") + 1 + mp.e ** mp.mpf("0.025"))
    shift = constant * mp.log(8e7) / (mp.mpf("0.05") * (mp.e ** mp.mpf("1.05") - 1))
    assert float(shift) == pytest.approx(1913, abs=0.5)
    mean = shift
    least = mp.floor(mp.e ** mp.mpf("0.025") * (mean + shift) - shift) + 1
    tail = mp.gammainc(least, 0, mean, regularized=True)
    assert 1e-2 < float(tail) < 2e-2
    verdict = BY_ID["LT-Thm4.4-step-F3-printed"].check(Budget())
    assert verdict.observed >= float(tail)


def test_binomial_counts_far_beyond_exact_integers():
    samples, share = 10**17, 9.8e-14
    counts = binomial_counts(samples, share)
    assert counts.weights.sum() == pytest.approx(1.0, abs=1e-9)
    place = int(np.flatnonzero(counts.values == 9800)[0])
    exact = (
        mp.loggamma(mp.mpf(samples) + 1)
        - mp.loggamma(9801)
        - mp.loggamma(mp.mpf(samples) - 9799)
    )
    exact += 9800 * mp.log(share) + (mp.mpf(samples) - 9800) * mp.log1p(-share)
    assert counts.weights[place] == pytest.approx(float(mp.exp(exact)), rel=1e-7)
    mirrored = binomial_counts(1000, 0.75)
    np.testing.assert_allclose(
        mirrored.weights, stats.binom.pmf(mirrored.values, 1000, 0.75), rtol=1e-10
    )
    assert np.all(mirrored.values + mirrored.failures == 1000)


def test_sketched_sparse_vector_is_three_epsilon():
    def chance(first, last):
        def density(z):
            below = _mp_laplace_cdf(z - first) ** 60
            return mp.e ** (-abs(z)) / 2 * below * (1 - _mp_laplace_cdf(z - last))

        return mp.quad(density, [-60, -10, 0, 1, 3, 6, 10, 20, 60, 120])

    loss = abs(mp.log(chance(0, 1) / chance(1, 0)))
    verdict = BY_ID["CL-Sec1.5.2-svt-printed"].check(Budget())
    assert verdict.observed == pytest.approx(float(loss), rel=1e-9)
    assert 2.99 < float(loss) <= 3.0


# --- Closeness and truncated Laplace noise: LT-E11, LT-E17, CL-E11 --------------------


def test_least_event_by_trying_many():
    p, q = closeness._opposed_atoms(1e-3, math.sqrt(2e-3))
    wider = math.sqrt(2e-3)
    least = closeness._least_event(p, q, wider)
    grid = np.concatenate([np.linspace(0.0, 0.999, 60), [1.0]])
    removed = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
    removed = removed[removed.min(axis=1) < 1.0]
    left, other = p * (1.0 - removed), q * (1.0 - removed)
    total = left.sum(axis=1), other.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(left / total[0][:, None]) - np.log(other / total[1][:, None])
    close = np.nanmax(np.abs(loss), axis=1) <= wider
    tried = (removed @ p)[close]
    # The best of the grid removes both opposed atoms.
    assert tried.min() == pytest.approx(least, rel=1e-9)
    assert least == pytest.approx(p[0] + p[1], rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "truncation", "shift", "at"),
    [
        (0.99, 0.24, 1.0, 0.99),
        (1.0, 0.5, 1.0, 1.0),
        (1.0, 0.5, 1.0, 0.2),
        (1 / 3, 1e-3, 2.0, 1 / 3),
        (0.5, 0.9, 1.0, 0.5),
    ],
)
def test_truncated_laplace_delta_by_quadrature(epsilon, truncation, shift, at):
    end = -mp.log(truncation) / epsilon
    scale = mp.mpf(epsilon) / (2 * (1 - mp.mpf(truncation)))

    def density(x):
        return scale * mp.e ** (-epsilon * abs(x)) if abs(x) < end else mp.mpf(0)

    def excess(x):
        return max(density(x) - mp.e**at * density(x - shift), mp.mpf(0))

    crossing = (shift - mp.mpf(at) / epsilon) / 2
    points = sorted({-end, mp.mpf(0), shift - end, min(crossing, end), end})
    exact = mp.quad(excess, [x for x in points if -end <= x <= end])
    found = truncated_laplace_delta(epsilon, truncation, shift, at)
    # At epsilon itself the excess is 0 but for rounding beyond one point.
    assert found == pytest.approx(float(exact), abs=1e-10)


def test_stated_values_of_truncated_laplace_noise():
    assert truncated_laplace_delta(0.99, 0.24) == pytest.approx(0.2670, abs=1e-4)
    assert truncated_laplace_delta(1.0, 0.5) == pytest.approx(0.7642, abs=1e-4)
    edge = (3 - math.e) / 2  # delta at which epsilon = 1 is just enough
    assert truncated_laplace_delta(1.0, edge) == pytest.approx(edge, rel=1e-12)


@pytest.mark.parametrize(("candidates", "shown"), [(10**3, 0.1006), (10**5, 0.001424)])
def test_margin_mechanism_leaks_the_half(candidates, shown):
    gamma, rate, cut = 0.1 / candidates, mp.mpf(1) / 3, mp.mpf("0.001")
    end = -mp.log(cut) / rate
    scale = rate / (2 * (1 - cut))

    def density(x):
        return scale * mp.e ** (-rate * abs(x)) if abs(x) < end else mp.mpf(0)

    def above(x):
        x = min(max(x, -end), end)
        tail = (mp.e ** (-rate * abs(x)) - cut) / (2 * (1 - cut))
        return tail if x >= 0 else 1 - tail

    def chosen(x):
        better = (above(x - 1) + above(x + 1)) / 2
        return gamma * density(x + 1) / 2 / (gamma + (1 - gamma) * better) ** 2

    near = [end - 1 - mp.mpf(10) ** -k for k in range(8)]
    exact = mp.quad(chosen, [-end - 1, -1 - end / 2, 1 - end, -1, 0, *near, end - 1])
    down, up = margin._down_half(gamma, 1 / 3, 1e-3)
    assert down == pytest.approx(float(exact), rel=1e-9)
    assert down == pytest.approx(shown, rel=1e-3)
    assert down + up == pytest.approx(1.0, rel=1e-10)


def test_margin_mechanism_by_running_it():
    # Half of the candidates 1 higher, half 1 lower; gamma = 0.1/20, K = 20.
    generator = np.random.default_rng(5)
    gamma, trials, rate, cut = 0.005, 40_000, 1 / 3, 1e-3
    down, _ = margin._down_half(gamma, rate, cut)
    runs = generator.geometric(gamma, trials)
    owner = np.repeat(np.arange(trials), runs)
    size = owner.size
    magnitude = -np.log1p(-generator.random(size) * (1 - cut)) / rate
    sign = generator.choice([-1.0, 1.0], size)
    half = generator.choice([-1.0, 1.0], size)
    order = np.lexsort((sign * magnitude + half, owner))
    best = order[np.cumsum(runs) - 1]
    hits = int(np.sum(half[best] < 0))
    assert stats.binomtest(hits, trials, down).pvalue > ALPHA
    assert stats.binomtest(hits, trials, down * 1.1).pvalue < ALPHA


# --- Selection: CL-E1, CL-E2 ----------------------------------------------------------


def test_three_blocks_under_selection_by_quadrature():
    # best 0.05 against 0.05 e^0.5, middle 0.001 e^0.5 against 0.001; T = 200, p uniform
    grown = mp.e ** mp.mpf("0.5")

    def middle(best, own):
        def chance(p):
            return (1 - p * best) ** 200 - (1 - p * (best + own)) ** 200

        return mp.quad(chance, [0, 0.01, 0.1, 1])

    tiny = mp.mpf("0.001")
    loss = mp.log(middle(mp.mpf("0.05"), tiny * grown))
    loss -= mp.log(middle(mp.mpf("0.05") * grown, tiny))
    assert float(loss) == pytest.approx(1.479, abs=1e-3)
    verdict = BY_ID["CL-Thm4-furthermore-printed"].check(Budget())
    assert verdict.observed > 10 * verdict.claimed


def test_private_outcome_in_ten_calls():
    exact = 1 - mp.quad(lambda p: (1 - p / 100) ** 50, [0, 1])
    assert float(exact) == pytest.approx(0.2136, abs=1e-4)
    generator = np.random.default_rng(6)
    trials = 200_000
    p = generator.random((trials, 1))
    met = generator.binomial(5, p * 0.01, (trials, 10)).any(axis=1)
    assert stats.binomtest(int(met.sum()), trials, float(exact)).pvalue > ALPHA


# --- Test: CL-E3 to CL-E5, CL-E14 -----------------------------------------------------


def test_learning_adversary_by_playing_the_game():
    # 100 answers "top" of tests with chance 1e-3 p, then 100 more with e^-0.5 of it on
    # the second side; the event is that the second wait is short for the first.
    generator = np.random.default_rng(7)
    trials, half, epsilon = 200_000, 100, 0.5
    p = generator.random(trials)
    first = generator.negative_binomial(half, 1e-3 * p)
    waits = {
        share: generator.negative_binomial(half, 1e-3 * share * p)
        for share in (1.0, math.exp(-epsilon))
    }
    # loss > 6: (1 + w)/(1 + w e^-0.5) < exp((half epsilon - 6)/(2 half))
    grown = math.exp((half * epsilon - 6.0) / (2 * half))
    cut = (grown - 1.0) / (1.0 - grown * math.exp(-epsilon))
    chances = {}
    for share, wait in waits.items():
        exact = float(stats.betaprime.cdf(cut * share, half, half))
        hits = int(np.sum(wait <= cut * first))
        # Waiting times are whole numbers: the law is exact up to order 1e-3.
        low, high = stats.binomtest(hits, trials).proportion_ci(1 - ALPHA)
        assert low - 2e-3 < exact < high + 2e-3
        chances[share] = exact
    found = cohen_answers._ratio_delta(epsilon, half, 6.0)
    shown = chances[1.0] - math.exp(6.0) * chances[math.exp(-epsilon)]
    assert found == pytest.approx(shown, rel=1e-9)
    # No other event of the ratio is better.
    grid = np.geomspace(0.01, 10.0, 2000)
    other = stats.betaprime.cdf(grid, half, half)
    other -= math.exp(6.0) * stats.betaprime.cdf(grid * math.exp(-epsilon), half, half)
    assert other.max() <= found + 1e-12


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 0.3])
def test_renyi_rate_covers_close_coins(epsilon):
    bias, low, high = coin_games.close_coins(epsilon)
    for order in (1.001, 1.5, 2.0, 1 / (3 * epsilon)):
        if order * epsilon > 1 / 3 + 1e-12:
            continue
        rate = float(cohen_answers._renyi_rate(np.array(order), epsilon))
        for other in (low, high):
            exact = coin_games.coin_renyi(other, bias, order) * (order - 1.0)
            assert np.all(exact <= rate * (1 + 1e-9) + 1e-15)
            assert np.all(exact <= 1.54 * order * (order - 1.0) * epsilon**2 + 1e-14)


def test_coin_renyi_by_summing_the_game():
    p, q, order = 0.3, 0.25, 3.0
    rounds = np.arange(400)
    first, second = p * (1 - p) ** rounds, q * (1 - q) ** rounds
    exact = math.log(np.sum(first**order * second ** (1 - order))) / (order - 1)
    assert float(coin_games.coin_renyi(p, q, order)) == pytest.approx(exact, rel=1e-12)
    long = coin_games.sequence_renyi(np.full(400, p), np.full(400, q), order)
    assert long == pytest.approx(exact, rel=1e-12)


def _fewest_by_enumeration(failures: int, mistakes: int, unanswered: int) -> int:
    best = failures + 1
    for parts in range(1, failures + 1):
        for cuts in itertools.combinations(range(1, failures), parts - 1):
            sizes = np.diff([0, *cuts, failures])
            if np.sum(sizes // 2) <= mistakes:
                odd = sizes % 2
                best = min(best, int(odd.sum() - unanswered * odd[-1]))
    return best


@pytest.mark.parametrize("unanswered", [0, 1])
@pytest.mark.parametrize(("failures", "mistakes"), [(1, 0), (4, 1), (7, 2), (9, 4)])
def test_fewest_answers_by_enumeration(failures, mistakes, unanswered):
    exact = _fewest_by_enumeration(failures, mistakes, unanswered)
    found = sparse_vector._fewest_answers(failures, mistakes, unanswered=unanswered)
    assert found == exact
