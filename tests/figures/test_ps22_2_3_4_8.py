"""Figures 2, 3, 4 and 8 of Papernot & Steinke 2022: claims, exact laws, points, looks."""

import math

import numpy as np
import pytest
from scipy import special, stats

from figures import FIGURES, ps22_2, ps22_3, ps22_4, ps22_8
from figures.common import renyi_overlay
from figures.common.figure import records_in, render
from figures.common.renyi_overlay import overlays
from figures.common.renyi_points import renyi_interval
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, renyi_divergence
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper, goodness_of_fit
from jaxsel.repetitions import from_mean, parse
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.generic import generic_renyi
from jaxsel.tuning.bounds.renyi import tuned_epsilon
from sims import registry
from sims.common import gaussian_orders as orders
from sims.common.gaussian_orders import GaussianPair, law_of
from sims.common.renyi_tallies import natural_trial, two_block_trial
from sims.common.tuned_laws import Price
from tests.conftest import ALPHA, seed
from tests.figures.sharing import WHOLE, whole

MEANS = (10, 100, 1000, 10_000, 100_000, 1_000_000)
PAIR, PRICE = GaussianPair(), Price()
LAWS = ("logarithmic:mean=10", "logarithmic:mean=1e6", "tnb:eta=5,mean=10", "poisson:mean=10")


@pytest.fixture(scope="module")
def records():
    return whole("ps22-2", "ps22-3", "ps22-4", "ps22-8")


# --- the paper's values ---------------------------------------------------------------


def test_figure_2_has_the_values_of_the_paper():
    plateaus = (2.162, 2.967, 3.572, 4.080, 4.526, 4.930)
    kinks = (5.80, 7.79, 9.31, 10.60, 11.73, 12.75)
    for mean, plateau, kink in zip(MEANS, plateaus, kinks, strict=True):
        before, after = ps22_2.claim(mean, np.array([1.5, kink - 0.01]))
        assert before == after == pytest.approx(plateau, abs=5e-4)
        # Flat up to the kink; the slope that follows it is visible 5 % later.
        assert ps22_2.claim(mean, np.array([kink * 1.05]))[0] > before + 1e-4
    ends = [float(ps22_2.claim(mean, np.array([30.0]))[0]) for mean in (10, 1_000_000)]
    assert ends == pytest.approx([4.18, 5.96], abs=5e-3)


def test_figure_3_has_the_values_of_the_paper():
    at = np.array([5.0, 50.0])
    golden = {
        "eta=0": (2.162, 6.15),
        "eta=1": (2.779, 6.77),
        "eta=5": (4.432, 8.42),
        "poisson": (2.763, 7.62),
    }
    for name, (low, high) in golden.items():
        assert ps22_3.claim(name, at)[0] == pytest.approx(low, abs=5e-4)
        assert ps22_3.claim(name, at)[1] == pytest.approx(high, abs=5e-3)
    fine = ps22_3.claim("poisson", np.linspace(1.02, 50.0, 400))
    assert np.all(np.diff(fine) >= 0.0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("eta=-0.5", {10: 3.066, 1e3: 3.898, 1e6: 4.842}),
        ("eta=0", {10: 3.451, 1e3: 4.525, 1e6: 5.668}),
        ("eta=1", {10: 4.068, 1e3: 5.840, 1e6: 7.690}),
        ("eta=5", {10: 5.721, 1e3: 10.854, 1e6: 15.85}),
        ("poisson", {10: 4.607}),
        ("naive", {1: 2.142, 10: 7.77}),
    ],
)
def test_figure_4_has_the_values_of_the_paper(name, values):
    for mean, epsilon in values.items():
        digits = 5e-4 if round(epsilon, 2) != epsilon else 5e-3
        assert PRICE.epsilon(law_of(name, mean)) == pytest.approx(epsilon, abs=digits)


@pytest.mark.parametrize(
    ("order", "lower", "upper"),
    [(2, 0.765, 3.182), (5, 1.122, 1.561), (10, 1.750, 2.210), (20, 3.539, 4.091)],
)
def test_figure_8_has_the_values_of_the_paper(order, lower, upper):
    found = ps22_8.theory(order)
    assert found.lower == pytest.approx(lower, abs=5e-4)
    assert found.upper == pytest.approx(upper, abs=5e-4)
    if order == 10:
        # E-PS-3: the plotted pair is not 0.1-zCDP at order 9.
        assert found.upper_true == pytest.approx(2.282, abs=5e-4)
    assert found.upper_true >= found.lower


# --- exact laws of the Gaussian pair --------------------------------------------------


def fine_pair(law, cut):
    """Both sides of the tuned pair on bins of width 0.02, by differences of f."""
    # Farther down f(x) - f(0) has no digits left; nothing there matters below order 9.
    edges = np.arange(-6.5, 9.0, 0.02)
    if cut is None:
        return [orders.natural_law(law, edges, s) for s in PAIR.sides]
    edges = np.unique(np.append(edges, cut))
    edges = edges[(np.abs(edges - cut) > 1e-6) | (edges == cut)]
    sides = [orders.two_block_law(edges, cut, s) for s in PAIR.sides]
    return [tuned_law(side, law) for side in sides]


@pytest.mark.parametrize("text", LAWS)
@pytest.mark.parametrize("blocks", [False, True])
def test_divergences_by_quadrature_are_those_of_fine_bins(text, blocks):
    law = parse(text)
    cut = PAIR.two_block_cut(law) if blocks else None
    at = np.array([1.5, 3.0, 8.0])
    first, second = fine_pair(law, cut)
    binned = [renyi_divergence(first, second, at), renyi_divergence(second, first, at)]
    exact = PAIR.tuned_renyi(at, law, cut)
    # Bins only lose, and little: the loss hardly varies within 0.02.
    assert np.all(binned <= exact * (1 + 1e-9))
    np.testing.assert_allclose(binned, exact, rtol=2e-3)


def test_a_single_run_and_the_mirrored_order():
    at = np.array([2.0, 9.0])
    one = parse("point_mass:count=1")
    np.testing.assert_allclose(PAIR.tuned_renyi(at, one)[0], 0.1 * at, rtol=1e-9)
    # Smaller is better: data against neighbour is neighbour against data mirrored.
    law = parse("tnb:eta=2,mean=30")
    mirrored = PAIR.tuned_renyi(at, law, 39.0)
    np.testing.assert_allclose(mirrored[0], PAIR.tuned_renyi(at, law)[1], rtol=1e-9)


def test_a_fixed_number_of_runs_nears_composition():
    law = parse("point_mass:count=10")
    exact = PAIR.tuned_renyi(np.array([3.0, 10.0]), law)[0]
    # The best of ten is post-processing of ten runs; no theorem does better.
    assert np.all(exact < 0.1 * 10 * np.array([3.0, 10.0]))
    assert exact[1] > 0.85 * 10.0
    first, second = fine_pair(law, None)
    assert renyi_divergence(first, second, 3.0) == pytest.approx(exact[0], rel=2e-3)


@pytest.mark.parametrize("text", LAWS)
def test_the_two_block_order_meets_lemma_7_and_stays_below_the_claims(text):
    law = parse(text)
    base = curves.gaussian(1.0 / PAIR.shift)
    at = np.array([10.0, 15.0, 20.0])
    exact = PAIR.tuned_renyi(at, law, PAIR.two_block_cut(law))[0]
    bound = generic_renyi(base, law, corrected=False)(at)
    assert np.all(exact <= bound)
    assert exact[-1] > 0.99 * bound[-1]
    if text == "logarithmic:mean=1e6":
        assert np.all(exact < ps22_2.claim(1e6, at))


@pytest.mark.parametrize("text", [*LAWS, "point_mass:count=6"])
def test_exact_epsilons_are_those_of_fine_bins(text):
    law, delta = parse(text), 1e-6

    def value(first, second):
        # Not a number where the event is impossible on both sides.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(first - delta, 0.0)) - np.log(second)

    epsilon, cut, end = PAIR.best_block(law, value)
    assert end <= cut
    first, second = fine_pair(law, cut)
    assert PAIR.two_block_epsilon(law, delta) == pytest.approx(epsilon)
    assert epsilon_at_delta(first, second, delta) == pytest.approx(epsilon, abs=2e-3)
    best = tuned_epsilon(curves.gaussian(1.0 / PAIR.shift), law, delta).epsilon
    assert epsilon < best


def test_one_run_has_the_epsilon_of_the_gaussian_mechanism():
    exact = gaussian_epsilon(1e-6, 1.0 / PAIR.shift)
    one = PAIR.two_block_epsilon(law_of("naive", 1), PRICE.delta)
    assert one == pytest.approx(exact, abs=1e-4)
    assert exact == pytest.approx(1.9945, abs=5e-5)


@pytest.mark.parametrize("text", [*LAWS, "point_mass:count=10"])
def test_bins_have_the_laws_of_the_mechanisms(text):
    law = parse(text)
    edges = PAIR.natural_edges(law, 10_000)
    cut = PAIR.two_block_cut(law)
    grids = [(natural_trial, lambda s: orders.natural_law(law, edges, s))]
    if law.family != "point_mass":
        blocks = PAIR.two_block_edges(law, cut, 10_000)
        grids.append(
            (two_block_trial, lambda s: tuned_law(orders.two_block_law(blocks, cut, s), law))
        )
    for trial, host in grids:
        for side, shift in enumerate(PAIR.sides):
            exact = trial(law, side, 10_000, PAIR).beside["exact"]
            np.testing.assert_allclose(exact, host(shift), atol=1e-13)
    with pytest.raises(InputError, match="contain the cut"):
        orders.two_block_law([0.0, 1.0], 0.5, 0.0)


# --- intervals ------------------------------------------------------------------------


def test_renyi_interval_of_two_outcomes_by_hand():
    at = 3.0
    found = renyi_interval([600, 400], [300, 700], [at], 0.9)
    error = 0.1 / 8
    limits = [
        [f(np.array(k), 1000, error=error) for k in ([600, 400], [300, 700])]
        for f in (clopper_pearson_lower, clopper_pearson_upper)
    ]

    def divergence(p, q):
        return math.log(np.sum(p**at * q ** (1 - at))) / (at - 1)

    assert found.low[0] == pytest.approx(divergence(limits[0][0], limits[1][1]))
    assert found.high[0] == pytest.approx(divergence(limits[1][0], limits[0][1]))
    exact = renyi_divergence([0.6, 0.4], [0.3, 0.7], at)
    assert found.estimate[0] == pytest.approx(float(exact))


def test_renyi_interval_contains_every_law_within_its_limits():
    generator = np.random.default_rng(seed())
    n, at = 4000, np.array([1.2, 2.0, 7.0])
    for _ in range(50):
        p, q = generator.dirichlet(np.full(6, 2.0), 2)
        # Quantiles instead of samples: counts within half a deviation of the means.
        first, second = np.round(n * p).astype(int), np.round(n * q).astype(int)
        found = renyi_interval(first, second, at)
        exact = renyi_divergence(p, q, at)
        assert np.all((found.low <= exact) & (exact <= found.high))


def test_renyi_interval_of_an_unseen_outcome_and_bad_input():
    found = renyi_interval([5, 5, 0], [0, 10, 0], [2.0])
    assert found.high[0] == np.inf
    assert found.estimate[0] == np.inf
    assert 0.0 <= found.low[0] < np.inf
    with pytest.raises(InputError, match="must be > 1"):
        renyi_interval([1, 1], [1, 1], [1.0])
    with pytest.raises(InputError, match="same outcomes"):
        renyi_interval([1, 1], [1, 1, 1], [2.0])
    with pytest.raises(InputError, match="needs a trial"):
        renyi_interval([0, 0], [1, 1], [2.0])


# --- simulated points -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["ps22-2", "ps22-3"])
@pytest.mark.parametrize("order", ["natural", "two_block"])
def test_simulated_divergences_agree_with_the_exact_laws(records, name, order, monkeypatch):
    # Every order, also those at which the figure finds the bins too coarse.
    monkeypatch.setattr(renyi_overlay, "RESOLVED", 0.0)
    record = registry.load(name, records)[order]
    at = np.array([1.5, 2.0, 3.0, 4.0, 6.0])
    if name == "ps22-2":
        laws = [law_of("eta=0", mean) for mean in record["mean"].values]
    else:
        laws = [law_of(law, ps22_3.MEAN) for law in record["law"].values]
    assert len(laws) >= 4
    # Limits of one law hold together for all orders; the laws share the error.
    confidence = 1.0 - ALPHA / len(laws)
    for each in overlays(record, laws, at, [at] * len(laws), PAIR, confidence):
        assert each.point_order.size == at.size
        assert np.all(each.points.low <= each.binned)
        assert np.all(each.binned <= each.points.high)
        assert np.all(each.binned <= np.interp(each.point_order, at, each.exact) + 1e-9)


def test_tallies_follow_their_laws_and_no_other(records):
    record = registry.load("ps22-2", records)["two_block"]
    per_test = ALPHA / (2 * len(MEANS))
    for mean in MEANS:
        for side, shift in zip(record["side"].values, PAIR.sides, strict=True):
            row = record.sel(mean=mean, side=side)
            run = orders.two_block_law(row["edges"], float(row["cut"]), shift)
            p_values = []
            for factor in (1.0, 1.3):
                law = from_mean("logarithmic", factor * mean)
                tallies = row["tally"].values[:-1]
                p_values.append(goodness_of_fit(tallies, tuned_law(run, law)[:-1]))
            assert p_values[0] > per_test
            assert p_values[1] < per_test


def test_simulated_divergence_shows_that_tuning_costs_privacy(records):
    record = registry.load("ps22-2", records)["two_block"]
    data, neighbour = record["tally"].sel(mean=1_000_000).values[:, :-1]
    found = renyi_interval(data, neighbour, [4.0], 1.0 - ALPHA)
    # A single run has 0.1 times the order; the exact value here is 3.2.
    assert found.low[0] > 0.4


def test_audited_epsilons_are_lower_bounds_as_large_as_planned(records):
    record = registry.load("ps22-4", records)["audits"]
    trials, error = WHOLE["ps22-4"], ALPHA / (3 * record.sizes["law"])
    usual = ps22_4.audited(record)
    careful = ps22_4.audited(record, 1.0 - error)
    least = {}
    for text, (name, mean) in ps22_4.LAWS.items():
        row = record.sel(law=text, side="data")
        assert careful[text] <= float(row["exact"])
        # Power: the bound at the worst counts that chance allows.
        cut, end = float(row["cut"]), float(row["end"])
        first, second = (
            float(orders.two_block_masses(law_of(name, mean), cut, end, s)) for s in PAIR.sides
        )
        seen = stats.binom.isf(1.0 - error, trials, first)
        other = stats.binom.isf(error, trials, second)
        low = clopper_pearson_lower(seen, trials, error=0.05 / 4) - 1e-6
        high = clopper_pearson_upper(other, trials, error=0.05 / 4)
        least[text] = math.log(max(float(low), 1e-300) / float(high))
        assert usual[text] >= max(least[text], 0.0) - 1e-9
    # The audit tells a million runs on average from a single one.
    single = float(record["exact"].sel(law="naive of mean 1", side="data"))
    many = "eta=0 of mean 1000000"
    assert usual[many] >= least[many] > single


def test_audits_name_their_laws_and_events(records):
    record = registry.load("ps22-4", records)["audits"]
    assert record["law"].values.tolist() == list(ps22_4.LAWS)
    for text, (name, mean) in ps22_4.LAWS.items():
        assert law_of(name, mean).mean == pytest.approx(mean, rel=1e-9)
        assert text == f"{name} of mean {mean}"
        row = record.sel(law=text)
        # Both sides by one plan.
        assert np.ptp(row["cut"].values) == np.ptp(row["end"].values) == 0.0
        plan = ps22_4.Plan(float(row["cut"][0]), float(row["end"][0]))
        run = plan.run_law(PAIR.shift)
        assert run.sum() == pytest.approx(1.0, abs=1e-12)
        assert run[int(ps22_4.EVENT)] == special.ndtr(plan.end - PAIR.shift)


def test_simulated_conditional_sampling_agrees_with_the_exact_divergence(records):
    record = registry.load("ps22-8", records)["searched"]
    assert np.all(record.counts.sel(outcome=["0", "1"]).sum("outcome") == WHOLE["ps22-8"])
    at = record["order"].values
    _, low, high = ps22_8.simulated(record, 1.0 - ALPHA / at.size)
    exact = np.array([ps22_8.theory(order).lower for order in at])
    assert np.all((low <= exact) & (exact <= high))
    # Power: the divergence of an order one higher lies outside.
    shifted = np.array([ps22_8.theory(order + 1.0).lower for order in at[2:]])
    assert np.all((shifted < low[2:]) | (shifted > high[2:]))


def test_claims_agree_with_the_accountant():
    base = curves.zcdp(PRICE.rho)
    for name, mean, theorem in (("eta=5", 30, "PS-Thm2"), ("poisson", 20, "PS-Thm6")):
        law = law_of(name, mean)
        other = tuned_epsilon(base, law, PRICE.delta, theorems=[theorem]).epsilon
        assert PRICE.epsilon(law) == pytest.approx(other, abs=1e-5)
