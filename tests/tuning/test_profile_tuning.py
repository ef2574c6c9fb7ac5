"""Profiles of tuned algorithms: Koskela, Redberg & Wang 2024, Sections 4 and 5."""

import math

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, pairs
from jaxsel.accounting.single_run.closed_forms import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_total_variation,
)
from jaxsel.accounting.single_run.conversions import LEAST_DELTA, epsilon_at
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import pair_from_laws, pair_tradeoff, reversed_pair
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.general_profile import (
    general_hockey_stick,
    general_renyi,
    refined_hockey_stick,
)
from jaxsel.tuning.bounds.generic import generic_pair_epsilon
from jaxsel.tuning.bounds.heterogeneous import subsampled_gaussian_profile
from jaxsel.tuning.bounds.profile_ratios import (
    binomial_ratio,
    negative_binomial_ratio,
    poisson_ratio,
)
from jaxsel.tuning.bounds.profiles import (
    binomial_profile,
    gaussian_negative_binomial_epsilon,
    negative_binomial_profile,
    point_negative_binomial,
    point_negative_binomial_sharp,
    poisson_profile,
    profile_bounds,
    tradeoff_profile,
    two_point_epsilon,
)
from jaxsel.tuning.bounds.renyi import tuned_epsilon
from jaxsel.tuning.bounds.tradeoff_ratio import tradeoff_ratio

GAUSSIAN = curves.gaussian(4.0)


def gaussian_profile(level):
    return gaussian_delta(level, 4.0)


def steps_profile(level):
    """An upper bound with steps at 0.3, 0.7 and 1.2, above nothing smooth."""
    return np.select(
        [np.asarray(level) < 0.3, np.asarray(level) < 0.7, np.asarray(level) < 1.2],
        [0.5, 0.05, 1e-3],
        default=1e-9,
    )


# --- The paper's figures --------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "deltas", "renyi_deltas"),
    [
        (30, (2.13e-4, 8.85e-9, 8.2e-15), (1.3e-2, 3.2e-6, 1.7e-11)),
        (300, (0.485, 3.7e-4, 7.2e-9), (1.0, 2.6e-2, 2.7e-6)),
        (3000, (1.0, 0.55, 1.2e-4), (1.0, 1.0, 1.3e-2)),
    ],
)
def test_figure_2(mean, deltas, renyi_deltas):
    bound = negative_binomial_profile(gaussian_profile, 1.0, 1.0 / mean)
    seen = bound.delta(np.array([2.0, 2.5, 3.0]))
    np.testing.assert_allclose(seen, deltas, rtol=0.05)
    for epsilon, delta in zip((2.0, 2.5, 3.0), renyi_deltas, strict=True):
        if delta < 1.0:  # the epsilon at that delta is the one plotted
            found = tuned_epsilon(GAUSSIAN, laws.geometric(1 / mean), delta, theorems=["PS-Thm2"])
            assert found.epsilon == pytest.approx(epsilon, abs=0.01)


@pytest.mark.parametrize(
    ("mean", "ours", "renyi", "corollary", "level", "curve"),
    [
        (30, 2.2883, 2.5551, 2.9965, 0.423, 1.8868),
        (300, 2.7938, 3.0442, 3.1866, 0.647, 2.3773),
        (3000, 3.2136, 3.4536, 3.3657, 0.819, 2.8111),
    ],
)
def test_figure_3_and_the_trade_off_bound(mean, ours, renyi, corollary, level, curve):
    law = laws.geometric(1.0 / mean)
    bound = negative_binomial_profile(gaussian_profile, 1.0, 1.0 / mean)
    assert bound.epsilon(1e-6) == pytest.approx(ours, abs=6e-5)
    assert bound.level == pytest.approx(level, abs=6e-4)
    found = tuned_epsilon(GAUSSIAN, law, 1e-6, theorems=["PS-Thm2"]).epsilon
    assert found == pytest.approx(renyi, abs=6e-5)
    printed = gaussian_negative_binomial_epsilon(1e-6, 4.0, mean, 1.0, corrected=False)
    assert printed == pytest.approx(corollary, abs=6e-5)
    assert gaussian_negative_binomial_epsilon(1e-6, 4.0, mean, 1.0) > printed
    sharper = tradeoff_profile(gaussian_profile, GAUSSIAN.tradeoff, law)
    assert sharper.epsilon(1e-6) == pytest.approx(curve, abs=6e-5)


def test_figure_4():
    expected = {12: 3.120, 15: 2.705, 20: 2.489, 50: 2.269, 1000: 2.181}
    for count, epsilon in expected.items():
        bound = binomial_profile(gaussian_profile, count, 10.0 / count)
        assert bound.epsilon(1e-6) == pytest.approx(epsilon, abs=6e-4)
    poisson = poisson_profile(gaussian_profile, 10.0)
    assert poisson.epsilon(1e-6) == pytest.approx(2.1765, abs=6e-5)
    assert poisson.level == 0.0
    for theorem, epsilon in (("PS-Thm6", 2.5009), ("PS-Thm6-profile", 2.0394)):
        found = tuned_epsilon(GAUSSIAN, laws.poisson(10.0), 1e-6, theorems=[theorem])
        assert found.epsilon == pytest.approx(epsilon, abs=6e-5)
    assert laws.binomial(20, 0.5).cdf(3) == pytest.approx(0.0013, abs=5e-5)
    assert laws.binomial(50, 0.2).cdf(3) == pytest.approx(0.0057, abs=5e-5)
    assert laws.poisson(10.0).cdf(3) == pytest.approx(0.0103, abs=5e-5)


FIGURE_6 = (256 / 60000, 1.1, 14062)
FIGURE_7 = (16384 / 50000, 21.1, 250)


@pytest.mark.parametrize(
    ("setting", "eta", "expected"),
    [
        (FIGURE_6, 1.0, (4.676, 5.379, 6.030, 6.562)),
        (FIGURE_6, 0.0, (4.166, 4.584, 4.979, 5.305)),
        (FIGURE_7, 1.0, (1.954, 2.256, 2.531, 2.755)),
        (FIGURE_7, 0.0, (1.705, 1.881, 2.047, 2.182)),
    ],
)
def test_figures_6_and_7(setting, eta, expected):
    profile = subsampled_gaussian_profile(*setting)
    for mean, epsilon in zip((10, 30, 100, 300), expected, strict=True):
        law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
        bound = negative_binomial_profile(profile, eta, law.parameters["gamma"])
        assert bound.epsilon(1e-6) == pytest.approx(epsilon, abs=1e-3)


def test_figures_6_and_7_base_and_poisson():
    profile = subsampled_gaussian_profile(*FIGURE_6)
    assert epsilon_at(profile, 1e-5) == pytest.approx(2.3817, abs=1e-4)
    assert epsilon_at(profile, 1e-6) == pytest.approx(2.6968, abs=1e-4)
    assert float(profile(np.asarray(0.0))) == pytest.approx(0.22447, abs=1e-5)
    assert poisson_profile(profile, 10.0).epsilon(1e-6) == pytest.approx(5.229, abs=1e-3)
    profile = subsampled_gaussian_profile(*FIGURE_7)
    assert epsilon_at(profile, 1e-6) == pytest.approx(1.0453, abs=1e-4)


@pytest.mark.parametrize(
    ("setting", "mean", "epsilon"),
    [(FIGURE_6, 10, 5.330), (FIGURE_6, 100, 6.635), (FIGURE_7, 10, 2.240)],
)
def test_theorem_5_2_beats_the_moments_accountant(setting, mean, epsilon):
    rate, noise, steps = setting
    step = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise))
    run = dp_event.SelfComposedDpEvent(step, steps)
    accountant = RdpAccountant((1.0 + np.exp(np.linspace(-1, 4.5, 200))).tolist())
    accountant.compose(dp_event.RepeatAndSelectDpEvent(run, mean, 1.0))
    renyi = accountant.get_epsilon(1e-6)
    assert renyi == pytest.approx(epsilon, abs=2e-3)
    profile = subsampled_gaussian_profile(*setting)
    bound = negative_binomial_profile(profile, 1.0, 1.0 / mean)
    assert bound.epsilon(1e-6) < renyi


# --- The best level -------------------------------------------------------------------

BASES = {
    "gaussian": gaussian_profile,
    "laplace": curves.laplace(2.0).profile,
    "pure": curves.pure(1.0).profile,
    "approximate": curves.approximate(0.5, 1e-3).profile,
    "steps": steps_profile,
}


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("gamma", [0.9, 0.1, 1e-3, 1e-6, 1e-9])
def test_negative_binomial_level_is_the_best_on_a_fine_grid(name, gamma):
    profile = BASES[name]
    ratio = negative_binomial_ratio(profile, 2.0, gamma)
    # the levels where a profile jumps or has a kink, and a fine grid
    levels = np.concatenate([np.linspace(0, 22, 440_001), [0.3, 0.5, 0.7, 1.0, 1.2]])
    values = np.log(np.exp(levels) + (1 - gamma) / gamma * profile(levels))
    assert ratio.shift <= 3.0 * values.min() + 1e-12
    # and it is what its own level gives, no less
    at = profile(np.asarray(ratio.level))
    own = 3.0 * math.log(math.exp(ratio.level) + (1 - gamma) / gamma * at)
    assert ratio.shift == pytest.approx(own, rel=1e-12)
    assert ratio.level >= 0.0


def test_negative_binomial_ratio_in_high_precision():
    gamma = mp.mpf("1e-9")

    def objective(level):
        near, far = level * 4 - mp.mpf(1) / 8, level * 4 + mp.mpf(1) / 8
        delta = mp.ncdf(-near) - mp.exp(level) * mp.ncdf(-far)
        return mp.exp(level) + (1 - gamma) / gamma * delta

    with mp.workdps(40):
        # where the slope e^level (1 - odds Phi(-far)) vanishes
        best = (-mp.mpf(special.ndtri(1e-9 / (1 - 1e-9))) - mp.mpf(1) / 8) / 4
        exact = 2 * mp.log(objective(best))
    ratio = negative_binomial_ratio(gaussian_profile, 1.0, 1e-9)
    assert ratio.shift == pytest.approx(float(exact), rel=1e-12)
    assert ratio.level == pytest.approx(float(best), abs=1e-6)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(("count", "probability"), [(1, 0.3), (5, 0.95), (40, 0.1)])
def test_binomial_level_is_feasible_and_the_best(name, count, probability):
    profile, odds = BASES[name], probability / (1 - probability)
    ratio = binomial_ratio(profile, count, probability)

    def feasible(level):
        return level >= np.log1p(odds * profile(level))

    assert feasible(np.asarray(ratio.level))
    levels = np.concatenate([np.linspace(0, 4, 400_001), [0.3, 0.5, 0.7, 1.0, 1.2]])
    values = np.log1p(probability * (np.expm1(levels) + profile(levels)))
    least = np.where(feasible(levels), values, np.inf).min()
    assert ratio.shift <= (count - 1) * least + 1e-12
    at = float(profile(np.asarray(ratio.level)))
    own = np.log1p(probability * (math.expm1(ratio.level) + at))
    assert ratio.shift == pytest.approx((count - 1) * own, rel=1e-10)
    if name != "steps":  # two laws: the least feasible level is the best
        assert not feasible(np.asarray(ratio.level - 1e-6))


def test_a_profile_with_steps_has_a_better_level_than_the_least_feasible():
    ratio = binomial_ratio(steps_profile, 10, 0.2)
    assert ratio.level == pytest.approx(0.3, abs=1e-9)
    feasible = np.log1p(0.25 * 0.5)
    worse = 9 * np.log1p(0.2 * (math.expm1(feasible) + 0.5))
    assert ratio.shift < worse - 0.1


def test_poisson_level():
    for name in ("gaussian", "laplace", "pure", "approximate"):
        ratio = poisson_ratio(BASES[name], 7.0)
        assert ratio.level == pytest.approx(0.0, abs=1e-12)
        variation = float(BASES[name](np.asarray(0.0)))
        assert ratio.shift == pytest.approx(7.0 * variation, rel=1e-12)
    assert poisson_ratio(steps_profile, 7.0).level == pytest.approx(0.3, abs=1e-9)


def test_binomial_tends_to_poisson():
    poisson = poisson_ratio(gaussian_profile, 10.0).shift
    near = binomial_ratio(gaussian_profile, 10**7, 1e-6).shift
    assert near == pytest.approx(poisson, rel=1e-5)
    far = binomial_ratio(gaussian_profile, 20, 0.5).shift
    assert far > 1.2 * poisson


# --- The trade-off curve --------------------------------------------------------------


def brute_ratio(tradeoff, law):
    x = 1.0 / (1.0 + np.exp(-np.linspace(-60.0, 30.0, 900_001)))
    # the kink of approximate(1, 1e-4): e x + delta = 1 - (1 - x - delta)/e
    x = np.append(x, (1 - 1e-4 - (1 - 1e-4) / math.e) / (math.e - 1 / math.e))
    values = law.log_pgf_derivative_tail(x) - law.log_pgf_derivative_tail(tradeoff(x))
    return float(values.max())


@pytest.mark.parametrize(
    "base",
    [GAUSSIAN, curves.gaussian(0.5), curves.laplace(1.0), curves.approximate(1.0, 1e-4)],
    ids=lambda base: base.name,
)
@pytest.mark.parametrize(
    "text",
    [
        "geometric:mean=1e7",
        "tnb:eta=0,mean=30",
        "tnb:eta=-0.5,gamma=0.01",
        "tnb:eta=5,mean=10",
        "poisson:mean=0.3",
        "binomial:count=20,mean=10",
        "beta_binomial:count=20,gamma=1",
        "geometric:gamma=0.05,capped=12",
    ],
)
def test_tradeoff_ratio_is_the_supremum(base, text):
    law = laws.parse(text)
    seen = tradeoff_ratio(base.tradeoff, law).shift
    grid = brute_ratio(base.tradeoff, law)
    assert grid - 1e-12 <= seen <= grid + 3e-7


def test_tradeoff_ratio_closed_forms():
    # Poisson: mean (T(x) - x), whose supremum is the total variation distance
    seen = tradeoff_ratio(GAUSSIAN.tradeoff, laws.poisson(10.0)).shift
    assert seen == pytest.approx(10 * gaussian_total_variation(4.0), abs=2e-8)
    # randomised response, truncated negative binomial: the kink x = 1/(1 + e^epsilon)
    base, gamma = curves.pure(1.0), 0.01
    kink = 1.0 / (1.0 + math.e)
    exact = 3.0 * math.log((gamma + (1 - gamma) * math.e * kink) / (gamma + (1 - gamma) * kink))
    law = laws.truncated_negative_binomial(2.0, gamma)
    assert tradeoff_ratio(base.tradeoff, law).shift == pytest.approx(exact, abs=2e-8)
    # one run costs nothing; at least two have no uniform bound here
    assert tradeoff_ratio(base.tradeoff, laws.point_mass(1)).shift == 0.0
    assert tradeoff_ratio(base.tradeoff, laws.point_mass(2)).shift == math.inf
    endless = law._replace(log_pgf_derivative_tail=lambda u: -np.log(np.asarray(u)))
    with np.errstate(divide="ignore"):
        assert tradeoff_ratio(base.tradeoff, endless).shift == math.inf


def test_tradeoff_ratio_where_knots_cannot_be_told_apart():
    """Poisson: log f'(q) - log f'(q') is the mean times T(x) - x, largest by hand."""
    for mean in (1e8, 1e17):
        exact = mean * math.tanh(0.5)
        seen = tradeoff_ratio(curves.pure(1.0).tradeoff, laws.poisson(mean)).shift
        assert exact * (1.0 - 1e-15) <= seen <= exact * (1.0 + 1e-12) + 1e-7


def test_tradeoff_ratio_of_the_larger_of_two_curves():
    generator = np.random.default_rng(5)
    for _ in range(25):
        first, second = pairs.random_pair(generator, 5, 0.7)
        pair = pair_from_laws(first, second)
        one, two = pair_tradeoff(pair), pair_tradeoff(reversed_pair(pair))
        law = laws.geometric(float(10.0 ** generator.uniform(-4, -0.3)))
        both = tradeoff_ratio(lambda x, f=one, g=two: np.maximum(f(x), g(x)), law).shift
        each = max(tradeoff_ratio(one, law).shift, tradeoff_ratio(two, law).shift)
        assert both == pytest.approx(each, abs=1e-6)
        # the knots of the trade-off are where a supremum can be
        mass = [np.append(0.0, np.cumsum(part)) for part in (pair.first, pair.second)]
        slope = law.log_pgf_derivative_tail
        knots = slope(np.minimum(mass[0], 1)) - slope(np.minimum(mass[1], 1))
        assert tradeoff_ratio(one, law).shift >= knots.max() - 1e-9


@pytest.mark.parametrize("base", [GAUSSIAN, curves.laplace(0.7), curves.pure(2.0)])
def test_the_curve_is_never_worse_than_the_papers_levels(base):
    for eta, gamma in ((-0.5, 0.01), (0.0, 1e-4), (1.0, 0.03), (5.0, 1e-6)):
        law = laws.truncated_negative_binomial(eta, gamma)
        theirs = negative_binomial_ratio(base.profile, eta, gamma).shift
        assert tradeoff_ratio(base.tradeoff, law).shift <= theirs + 3e-7
    law = laws.binomial(30, 0.2)
    theirs = binomial_ratio(base.profile, 30, 0.2).shift
    assert tradeoff_ratio(base.tradeoff, law).shift <= theirs + 2e-8


# --- epsilon at delta -----------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-9, 1e-40, LEAST_DELTA])
@pytest.mark.parametrize("scale", [0.3, 4.0, 50.0])
def test_epsilon_at_inverts_the_gaussian_profile(delta, scale):
    def profile(level):
        return gaussian_delta(level, scale)

    found = epsilon_at(profile, delta)
    assert found == pytest.approx(gaussian_epsilon(delta, scale), rel=1e-9, abs=1e-12)
    assert float(profile(np.asarray(found))) <= delta


def test_epsilon_at_of_steps_and_of_what_is_never_reached():
    assert epsilon_at(steps_profile, 0.6) == 0.0
    assert epsilon_at(steps_profile, 0.05) == pytest.approx(0.3, rel=1e-14)
    assert epsilon_at(steps_profile, 1e-5) == pytest.approx(1.2, rel=1e-14)
    assert epsilon_at(steps_profile, 1e-12) == math.inf
    assert epsilon_at(curves.approximate(1.0, 1e-3).profile, 1e-4) == math.inf
    far = epsilon_at(lambda level: np.where(np.asarray(level) < 12345.0, 1.0, 0.0), 0.5)
    assert far == pytest.approx(12345.0, rel=1e-14)


# --- Bounds as functions --------------------------------------------------------------


def test_no_run_adds_its_probability_below_zero():
    """For equal base laws the tuned laws are equal, and so is the bound."""
    same = np.array([0.3, 0.7])
    for law in (laws.poisson(0.4), laws.binomial(3, 0.2)):
        tuned = tuned_law(same, law)
        levels = np.array([-3.0, -0.5, 0.0, 1.0])
        exact = hockey_stick(tuned, tuned, levels)

        def zero(level):
            return np.maximum(0.0, -np.expm1(np.minimum(np.asarray(level), 0.0)))

        bound = (
            poisson_profile(zero, law.mean)
            if law.family == "poisson"
            else binomial_profile(zero, 3, 0.2)
        )
        assert bound.shift == 0.0
        assert np.all(bound.delta(levels) >= exact - 1e-15)
        run = law.mean * zero(levels)
        none = law.probability_zero * zero(levels)
        np.testing.assert_allclose(bound.delta(levels), np.minimum(run + none, 1.0))


def test_profile_bounds_gives_what_applies():
    def ids(base, law):
        return [bound.theorem for bound in profile_bounds(base, law)]

    assert ids(GAUSSIAN, laws.geometric(0.1)) == ["KRW-Thm5.2", "KRW-N2"]
    assert ids(GAUSSIAN, laws.binomial(20, 0.5)) == ["KRW-Thm5.7", "KRW-N2"]
    assert ids(GAUSSIAN, laws.poisson(3.0)) == ["KRW-Cor5.8", "KRW-N2"]
    assert ids(GAUSSIAN, laws.beta_binomial(9, 1.0)) == ["KRW-N2"]
    assert ids(GAUSSIAN._replace(tradeoff=None), laws.point_mass(2)) == []
    bounds = profile_bounds(GAUSSIAN, laws.geometric(1 / 30))
    assert [b.epsilon(1e-6) for b in bounds] == pytest.approx([2.2883, 1.8868], abs=1e-4)
    with pytest.raises(InputError, match="no profile"):
        profile_bounds(curves.zcdp(0.1), laws.geometric(0.1))
    (nothing,) = profile_bounds(GAUSSIAN, laws.point_mass(2))
    assert nothing.shift == math.inf
    assert nothing.epsilon(0.5) == math.inf
    assert float(nothing.delta(np.asarray(100.0))) == 1.0


def test_corollaries():
    law = laws.truncated_negative_binomial(1.0, 0.1)
    assert law.mean == pytest.approx(10.0)
    printed = point_negative_binomial(0.5, 1e-4, 1.0, 0.1)
    assert printed == pytest.approx((1.5 + 1e-3, 1e-3))
    sharp = point_negative_binomial_sharp(0.5, 1e-4, 1.0, 0.1)
    assert sharp.epsilon == 1.5
    assert sharp.delta == pytest.approx(1 - (1 - 1e-4) * 0.1 / (1 - 0.9 * (1 - 1e-4)))
    assert sharp.delta < printed.delta
    # Corollary 5.5 is Theorem 5.2 with Chernoff's bound
    for mean, scale, eta in ((300.0, 4.0, 1.0), (1e4, 1.0, 3.0)):
        law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
        bound = negative_binomial_profile(
            lambda level, s=scale: gaussian_delta(level, s), eta, law.parameters["gamma"]
        )
        closed = gaussian_negative_binomial_epsilon(1e-6, scale, mean, eta)
        assert bound.epsilon(1e-6) < closed
    # Corollary 6.2 at the points of the profile is Theorem 5.2
    bound = negative_binomial_profile(gaussian_profile, 1.0, 0.01)
    first = float(gaussian_profile(bound.level))
    whole = two_point_epsilon(gaussian_epsilon(1e-8, 4.0), bound.level, first, 1.0, 0.01)
    assert whole == pytest.approx(bound.epsilon(1e-6), rel=1e-12)
    assert two_point_epsilon(900.0, 800.0, 1.0, 1.0, 1e-9) == pytest.approx(2500.0)


def test_bad_input():
    def rising(level):
        return np.clip(0.1 + 0.1 * np.asarray(level), 0.0, 1.0)

    for call, message in (
        (lambda: negative_binomial_profile(rising, 1.0, 0.1), "increases"),
        (lambda: binomial_profile(rising, 9, 0.5), "increases"),
        (lambda: negative_binomial_profile(lambda x: x * 0 + 2.0, 1.0, 0.1), "profile"),
        (lambda: poisson_profile(lambda x: x * math.nan, 2.0), "profile"),
        (lambda: negative_binomial_profile(gaussian_profile, -1.0, 0.1), "eta"),
        (lambda: negative_binomial_profile(gaussian_profile, 1.0, 0.0), "gamma"),
        (lambda: binomial_profile(gaussian_profile, 0, 0.1), "count"),
        (lambda: binomial_profile(gaussian_profile, 3, 1.0), "probability"),
        (lambda: poisson_profile(gaussian_profile, 0.0), "mean"),
        (lambda: epsilon_at(gaussian_profile, 0.0), "delta"),
        (lambda: epsilon_at(gaussian_profile, 1.0), "delta"),
        (lambda: two_point_epsilon(-1.0, 0.0, 0.0, 1.0, 0.1), "epsilon"),
        (lambda: two_point_epsilon(1.0, 0.0, 2.0, 1.0, 0.1), "first_delta"),
        (lambda: point_negative_binomial(1.0, 1.0, 1.0, 0.1), "delta"),
        (lambda: gaussian_negative_binomial_epsilon(1e-6, 1.0, 10.0, 0.5), "eta"),
    ):
        with pytest.raises(InputError, match=message):
            call()


# --- Theorems 4.1 and B.2 for finite pairs --------------------------------------------


@pytest.mark.parametrize(
    "text", ["geometric:gamma=1e-3", "poisson:mean=0.5", "binomial:count=6,mean=2"]
)
def test_splitting_ties_rises_to_theorem_b2_and_stays_below_theorem_4_1(text):
    law, generator = laws.parse(text), np.random.default_rng(1)
    levels = np.array([-0.5, 0.0, 0.7])
    for _ in range(4):
        first, second = pairs.random_pair(generator, 4)
        whole = hockey_stick(tuned_law(first, law), tuned_law(second, law), levels)
        exact = refined_hockey_stick(first, second, levels, law)
        bound = general_hockey_stick(first, second, levels, law)
        # parts of outcomes that halve towards the better end, as the law of K does
        share = np.append(np.exp2(-np.arange(1.0, 40.0)), 2.0**-39)[::-1]
        share = np.repeat(share / 16, 16)
        parts = [np.outer(side, share).ravel() for side in (first, second)]
        split = hockey_stick(*(tuned_law(part, law) for part in parts), levels)
        assert np.all(whole <= split + 1e-12)
        assert np.all(split <= exact + 1e-12)
        np.testing.assert_allclose(split, exact, atol=2e-3)
        assert np.all(exact <= bound + 1e-12)


def test_theorem_b2_for_one_run_is_the_base():
    first, second = pairs.random_pair(np.random.default_rng(2), 5)
    levels = np.linspace(-2, 2, 9)
    exact = hockey_stick(first, second, levels)
    law = laws.point_mass(1)
    seen = refined_hockey_stick(first, second, levels, law)
    np.testing.assert_allclose(seen, exact, atol=1e-12)
    seen = general_hockey_stick(first, second, levels, law)
    np.testing.assert_allclose(seen, exact, atol=1e-12)


def test_outcomes_that_only_one_side_gives():
    first, second = np.array([0.0, 0.4, 0.6]), np.array([0.3, 0.7, 0.0])
    law = laws.geometric(0.2)
    exact = hockey_stick(tuned_law(first, law), tuned_law(second, law), [0.0, 1.0])
    seen = refined_hockey_stick(first, second, [0.0, 1.0], law)
    assert np.all(exact <= seen + 1e-12)
    assert np.all(seen <= general_hockey_stick(first, second, [0.0, 1.0], law) + 1e-12)
    assert np.all(seen <= 1.0)


def test_general_renyi_is_lemma_7_with_no_run():
    first, second = pairs.tight_generic()
    geometric, poisson = laws.geometric(0.1), laws.poisson(0.5)
    plain = generic_pair_epsilon(3.0, first, second, geometric)
    assert general_renyi(first, second, 3.0, geometric) == pytest.approx(float(plain))
    with_none = general_renyi(first, second, 3.0, poisson)
    assert with_none > generic_pair_epsilon(3.0, first, second, poisson, corrected=False)
    with pytest.raises(InputError, match="outcomes"):
        general_hockey_stick([0.5, 0.5], [1.0], 0.0, geometric)
    with pytest.raises(InputError, match="second"):
        refined_hockey_stick([0.5, 0.5], [0.4, 0.5], 0.0, geometric)
