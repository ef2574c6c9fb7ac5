"""Exact profiles of tuned pairs: quadrature, closed forms, enumeration, simulation."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import gaussian_delta, laplace_delta
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.score_orders import (
    INDEPENDENT,
    NATURAL,
    REVERSED,
    BlockOrder,
    MergedOrder,
    order_pieces,
)
from jaxsel.accounting.single_run.score_pairs import (
    gaussian_pair,
    laplace_pair,
    mirrored_pair,
    reversed_pair,
    subsampled_gaussian_pair,
)
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.exact_profile import exact_tuned_epsilon, tuned_delta, tuned_profile
from tests.conftest import ALPHA
from tests.tuning import profile_oracle as oracle

GAUSSIAN = (gaussian_pair(4.0), (oracle.normal(0), oracle.normal(0.25)), (), (-14, 14.25))
LAPLACE = (laplace_pair(2.0), (oracle.laplace(0), oracle.laplace(0.5)), (0.0, 0.5), (-60, 60))
MIXED = oracle.mixture(mp.mpf(0.125), oracle.normal(0), oracle.normal(1.25))
SUBSAMPLED = (subsampled_gaussian_pair(0.8, 0.125), (MIXED, oracle.normal(0)), (), (-14, 15))
ADDED = (reversed_pair(SUBSAMPLED[0]), (oracle.normal(0), MIXED), (), (-14, 15))
LAWS = (
    laws.truncated_negative_binomial(-0.5, 0.01),
    laws.logarithmic(0.01),
    laws.geometric(1.0 / 300.0),
    laws.truncated_negative_binomial(5.0, 0.02),
    laws.poisson(3.0),
    laws.binomial(20, 0.5),
    laws.beta_binomial(30, 0.5),
    laws.point_mass(7),
    laws.capped(laws.geometric(0.05), 12),
    laws.conditioned(laws.poisson(9.0), 14),
)


def by_family(law):
    return f"{law.family}-{law.parameters}" if hasattr(law, "family") else None


# --- Against high-precision quadrature ------------------------------------------------


@pytest.mark.parametrize(
    ("case", "law", "slope", "order", "epsilon"),
    [
        (
            GAUSSIAN,
            laws.geometric(0.125),
            oracle.negative_binomial(1, 0.125),
            BlockOrder(1.5, -1.25),
            0.75,
        ),
        (
            GAUSSIAN,
            laws.geometric(2.0**-40),
            oracle.negative_binomial(1, 2.0**-40),
            BlockOrder(7.0, -6.0),
            5.0,
        ),
        (
            GAUSSIAN,
            laws.truncated_negative_binomial(-0.5, 0.0625),
            oracle.negative_binomial(-0.5, 0.0625),
            NATURAL,
            0.25,
        ),
        (
            GAUSSIAN,
            laws.beta_binomial(20, 0.5),
            oracle.beta_binomial(20, 0.5),
            BlockOrder(1.5, -0.5),
            0.5,
        ),
        (GAUSSIAN, laws.point_mass(6), oracle.point_mass(6), BlockOrder(0.5, -0.25), 1.0),
        (GAUSSIAN, laws.point_mass(3), oracle.point_mass(3), NATURAL, 3.0),
        (
            LAPLACE,
            laws.logarithmic(0.0625),
            oracle.negative_binomial(0, 0.0625),
            BlockOrder(2.0, -0.75),
            0.5,
        ),
        (LAPLACE, laws.poisson(3.0), oracle.poisson(3), NATURAL, 0.125),
        (
            LAPLACE,
            laws.truncated_negative_binomial(5.0, 0.25),
            oracle.negative_binomial(5, 0.25),
            BlockOrder(1.0, 0.25),
            1.0,
        ),
        (SUBSAMPLED, laws.binomial(20, 0.5), oracle.binomial(20, 0.5), NATURAL, 0.75),
        (ADDED, laws.poisson(3.0), oracle.poisson(3), BlockOrder(1.5, -0.5), 0.125),
    ],
)
def test_against_quadrature(case, law, slope, order, epsilon):
    pair, sides, kinks, reach = case
    with mp.workdps(24):
        curve = oracle.excess(sides, slope, order.good, order.bad, mp.mpf(epsilon))
        wanted = oracle.positive_part(curve, [*order, *kinks], *reach)
    assert 0 < wanted < 1
    found = float(tuned_delta(pair, law, epsilon, order))
    assert found == pytest.approx(float(wanted), rel=1e-10)


def test_tiny_delta_against_quadrature():
    """Anti-aligned, 24 standard deviations out: delta far below rounding of masses."""
    law = laws.point_mass(3)
    with mp.workdps(30):
        first, second = oracle.normal(0), oracle.normal(0.25)

        def curve(z):
            return sum(
                sign * density(z) * 3 * lower(z) ** 2
                for sign, (density, lower, _) in ((1, first), (-mp.exp(9), second))
            )

        # the loss rises as z falls; start where it crosses
        high, low = mp.mpf(-8), mp.mpf(-20)
        assert curve(high) < 0 < curve(low)
        for _ in range(90):
            middle = (high + low) / 2
            low, high = (middle, high) if curve(middle) > 0 else (low, middle)
        points = [low - 4, low - 1, low - 0.25, low]
        wanted = mp.quad(curve, points)
    found = float(tuned_delta(gaussian_pair(4.0), law, 9.0))
    assert found < 1e-60
    assert found == pytest.approx(float(wanted), rel=1e-10)


# --- Against closed forms -------------------------------------------------------------


EPSILONS = np.array([0.0, 1e-3, 0.1, 0.5, 1.0, 1.9, 3.0, 7.0])


@pytest.mark.parametrize("noise", [0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("order", [NATURAL, REVERSED, BlockOrder(1.0, -0.5)])
def test_one_run_is_the_base(noise, order):
    once = laws.point_mass(1)
    pair = gaussian_pair(noise)
    for side in (pair, reversed_pair(pair)):
        found = tuned_delta(side, once, EPSILONS, order)
        wanted = gaussian_delta(EPSILONS, noise)
        seen = wanted > 1e-280
        np.testing.assert_allclose(found[seen], wanted[seen], rtol=1e-10)
        found = tuned_delta(laplace_pair(noise), once, EPSILONS, order)
        wanted = laplace_delta(EPSILONS, noise)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-17)


def test_one_subsampled_run_is_the_base():
    """Amplification is exact for a mixture with its own component."""
    q, noise, once = 0.05, 0.7, laws.point_mass(1)
    pair = subsampled_gaussian_pair(noise, q)
    level = np.log1p(np.expm1(EPSILONS) / q)
    removed = tuned_delta(pair, once, EPSILONS)
    np.testing.assert_allclose(removed, q * gaussian_delta(level, noise), rtol=1e-10)
    # the loss of the other direction stays below -log(1 - q)
    small = np.array([0.0, 0.01, 0.03, 0.05])
    share = 1.0 - (1.0 - q) * np.exp(small)
    level = small + np.log(q / share)
    added = tuned_delta(reversed_pair(pair), once, [*small, 0.06])
    np.testing.assert_allclose(added[:-1], share * gaussian_delta(level, noise), 1e-9)
    assert added[-1] == 0.0


@pytest.mark.parametrize("law", LAWS, ids=by_family)
def test_independent_score_keeps_the_base(law):
    found = tuned_delta(gaussian_pair(1.0), law, EPSILONS, INDEPENDENT)
    wanted = float(law.pgf_gap(1.0)) * gaussian_delta(EPSILONS, 1.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.parametrize("law", LAWS, ids=by_family)
@pytest.mark.parametrize("order", [NATURAL, REVERSED])
def test_differences_of_the_generating_function(law, order):
    """The level sets' ends on a fine grid, then differences of f and no quadrature."""
    pair = gaussian_pair(2.0)
    z = np.linspace(-8.0, 8.0, 40_001)
    sign = 1.0 if order == NATURAL else -1.0
    loss = pair.loss(z)
    for mean, side in ((0.0, 1.0), (0.5, -1.0)):
        slope = law.log_pgf_derivative_tail(special.ndtr(sign * (mean - z)))
        with np.errstate(invalid="ignore"):
            loss = loss + side * slope
    loss = np.nan_to_num(loss, nan=-np.inf)
    found = tuned_delta(pair, law, EPSILONS, order)
    for epsilon, delta in zip(EPSILONS, found, strict=True):
        above = loss > epsilon
        at = np.flatnonzero(above[1:] != above[:-1])
        share = (epsilon - loss[at]) / (loss[at + 1] - loss[at])
        ends = z[at] + share * (z[1] - z[0])
        ends = [*([z[0]] if above[0] else []), *ends, *([z[-1]] if above[-1] else [])]
        ends = np.array(ends).reshape(-1, 2)
        masses = [
            np.sum(np.abs(np.diff(law.pgf_gap(special.ndtr(sign * (mean - ends))))))
            for mean in (0.0, 0.5)
        ]
        wanted = masses[0] - math.exp(epsilon) * masses[1]
        assert delta == pytest.approx(wanted, rel=1e-6, abs=1e-11)


# --- Against enumeration --------------------------------------------------------------


def bins(pair, count, order):
    """The pair on bins in the order's ranking; the cuts are edges of bins."""
    reach = np.linspace(-9.0, 9.0, count)
    cuts = [c for c in (*np.ravel(order.good), *np.ravel(order.bad)) if np.isfinite(c)]
    edges = np.unique([*reach, *cuts, *pair.kinks])
    middle = np.concatenate([[edges[0] - 1], (edges[1:] + edges[:-1]) / 2])
    middle = np.append(middle, edges[-1] + 1)
    ranking, found = [], np.zeros(len(middle), dtype=bool)
    for piece in order_pieces(order):
        inside = (middle > piece.left) & (middle < piece.right)
        assert not np.any(found & inside)
        found |= inside
        at = np.flatnonzero(inside)
        ranking.extend(at[::-1] if piece.upward else at)
    assert np.all(found)
    sides = []
    for law in (pair.first, pair.second):
        above = np.concatenate([[1.0], np.exp(law.log_upper(edges)), [0.0]])
        below = np.concatenate([[0.0], np.exp(law.log_lower(edges)), [1.0]])
        mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
        sides.append((mass / mass.sum())[np.array(ranking)])
    return sides


MERGED = MergedOrder((1.5, 1.0, 0.5), (-2.0, -1.0, -0.5))


@pytest.mark.parametrize("order", [NATURAL, REVERSED, BlockOrder(1.0, -1.0), MERGED])
@pytest.mark.parametrize("law", LAWS[::3], ids=by_family)
def test_fine_bins_bracket_from_below(order, law):
    """Merging outcomes can only lower a divergence, and fine bins lose little."""
    for pair in (gaussian_pair(1.0), subsampled_gaussian_pair(0.8, 0.125)):
        levels = np.array([0.0, 0.3, 1.0])
        exact = tuned_delta(pair, law, levels, order)
        binned = []
        for count in (251, 2501):
            tuned = [tuned_law(side, law) for side in bins(pair, count, order)]
            binned.append(hockey_stick(tuned[0], tuned[1], levels))
        assert np.all(binned[0] <= binned[1] * (1.0 + 1e-9))
        assert np.all(binned[1] <= exact * (1.0 + 1e-9))
        np.testing.assert_allclose(binned[1], exact, rtol=1e-3, atol=1e-9)


# --- Against simulation ---------------------------------------------------------------


def best_of(generator, runs, mean, order):
    """Literal runs: the best z of each trial under a ranking of two blocks."""
    trial = np.repeat(np.arange(len(runs)), runs)
    z = generator.standard_normal(len(trial)) + mean
    block = np.where(z > order.good, 0, np.where(z < order.bad, 1, 2))
    within = np.where(block == 1, z, -z)
    first = np.lexsort((within, block, trial))
    starts = np.concatenate([[0], np.cumsum(runs)[:-1]])[runs > 0]
    return z[first][starts]


@pytest.mark.parametrize("law", [laws.geometric(0.125), laws.poisson(2.0)])
def test_simulated_runs(law):
    """Where the exact loss exceeds epsilon is the best event: its two masses."""
    order, trials, epsilon, noise = BlockOrder(1.0, -0.5), 100_000, 0.5, 1.0
    generator = np.random.default_rng(20260301)
    if law.family == "poisson":
        runs = generator.poisson(2.0, (2, trials))
    else:
        runs = generator.geometric(0.125, (2, trials))

    def better(z, mean):
        good, bad = stats.norm.sf(order.good - mean), stats.norm.cdf(order.bad - mean)
        rest = np.where(z < order.bad, good + special.ndtr(z - mean), bad + special.ndtr(mean - z))
        return np.where(z > order.good, special.ndtr(mean - z), rest)

    def chosen(z):
        slopes = [law.log_pgf_derivative_tail(better(z, mean)) for mean in (0.0, 1.0)]
        return 0.5 - z + slopes[0] - slopes[1] > epsilon

    limits = []
    for row, mean in zip(runs, (0.0, 1.0), strict=True):
        hits = int(np.sum(chosen(best_of(generator, row, mean, order))))
        limits.append(clopper_pearson(hits, trials, 1.0 - ALPHA))
    factor = math.exp(epsilon)
    low = limits[0][0] - factor * limits[1][1]
    high = limits[0][1] - factor * limits[1][0]
    exact = float(tuned_delta(gaussian_pair(noise), law, epsilon, order))
    assert low <= exact <= high
    for wrong in (NATURAL, REVERSED):  # power: another ranking is told apart
        assert not low <= tuned_delta(gaussian_pair(noise), law, epsilon, wrong) <= high


# --- Published numbers and inverses ---------------------------------------------------


@pytest.mark.parametrize(("mean", "epsilon"), [(30, 1.2358), (300, 1.3427), (3000, 1.4423)])
def test_natural_pair_of_the_gaussian_base(mean, epsilon):
    law, pair = laws.geometric(1.0 / mean), gaussian_pair(4.0)
    assert exact_tuned_epsilon(pair, law, 1e-6) == pytest.approx(epsilon, abs=5e-5)
    sides = (pair, reversed_pair(pair))
    found = [tuned_profile(side, law).epsilon(1e-6) for side in sides]
    assert max(found) == exact_tuned_epsilon(pair, law, 1e-6)
    # the Gaussian pair's sides are mirror images
    assert exact_tuned_epsilon(pair, law, 1e-6, REVERSED) == pytest.approx(max(found), rel=1e-10)


def test_two_blocks_cost_far_more_than_the_base():
    found = tuned_delta(
        gaussian_pair(4.0), laws.geometric(1 / 300), 1.0, BlockOrder(2.7291, -1.45075)
    )
    assert found == pytest.approx(0.05198, abs=5e-6)
    assert gaussian_delta(1.0, 4.0) < 3e-6


@pytest.mark.parametrize("law", LAWS, ids=by_family)
def test_epsilon_inverts_delta(law):
    for pair in (gaussian_pair(1.0), laplace_pair(1.0), subsampled_gaussian_pair(1, 0.1)):
        profile = tuned_profile(pair, law, BlockOrder(1.0, -0.75))
        assert profile.epsilon(0.999) == 0.0
        for delta in (0.01, 1e-6, 1e-200):
            epsilon = profile.epsilon(delta)
            assert epsilon > 0
            # a Laplace loss may jump there: bracketed instead of met
            below, above = profile.delta([epsilon * (1 - 1e-9), epsilon * (1 + 1e-9)])
            assert below >= delta * (1 - 1e-9)
            assert above <= delta * (1 + 1e-9)


def test_arrays_of_epsilon():
    profile = tuned_profile(gaussian_pair(2.0), laws.poisson(5.0))
    grid = np.linspace(0.0, 5.0, 60).reshape(4, 3, 5)
    together = profile.delta(grid)
    assert together.shape == (4, 3, 5)
    alone = np.array([float(profile.delta(e)) for e in grid.ravel()])
    np.testing.assert_allclose(together.ravel(), alone, rtol=1e-13)
    assert np.all(np.diff(alone) < 0)
    assert profile.delta(np.inf) == 0.0
    assert profile.delta([]).shape == (0,)


def test_ties_of_the_loss_with_epsilon():
    """A loss that equals epsilon on a whole interval adds nothing."""
    found = tuned_delta(laplace_pair(2.0), laws.point_mass(1), [0.5, 0.5 - 1e-9])
    assert 0.0 <= found[0] < 1e-16
    assert found[1] == pytest.approx(float(laplace_delta(0.5 - 1e-9, 2.0)), rel=1e-6)


# --- Pairs and orders -----------------------------------------------------------------


PAIRS = (
    gaussian_pair(0.5),
    laplace_pair(0.8),
    subsampled_gaussian_pair(0.5, 0.01),
    reversed_pair(subsampled_gaussian_pair(2.0, 0.9)),
    mirrored_pair(subsampled_gaussian_pair(0.5, 0.01)),
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_parts_of_a_pair_agree(pair):
    z = np.concatenate([np.linspace(-9.0, 9.0, 73) + 0.01, [-30.0, 30.0]])
    loss = pair.first.log_density(z) - pair.second.log_density(z)
    np.testing.assert_allclose(pair.loss(z), loss, rtol=1e-9, atol=1e-10)
    for law in (pair.first, pair.second):
        total = np.logaddexp(law.log_lower(z), law.log_upper(z))
        np.testing.assert_allclose(total, 0.0, atol=1e-14)
        step, inner = 1e-5, z[:-2]
        for tail, sign in ((law.log_lower, 1.0), (law.log_upper, -1.0)):
            slope = (tail(inner + step) - tail(inner - step)) / (2 * step)
            density = sign * np.exp(law.log_density(inner) - tail(inner))
            np.testing.assert_allclose(slope, density, rtol=1e-6, atol=1e-9)
        low, high = pair.reach
        assert law.log_lower(np.array(low)) < math.log(1e-290)
        assert law.log_upper(np.array(high)) < math.log(1e-290)


def test_mirrors_and_merged_blocks():
    law, levels = laws.geometric(0.01), np.array([0.1, 1.0, 2.0])
    pair = subsampled_gaussian_pair(0.8, 0.1)
    mirror = mirrored_pair(pair)
    blocks = MergedOrder((1.5,), (-1.0,))
    for order, other in (
        (NATURAL, REVERSED),
        (REVERSED, NATURAL),
        (blocks._replace(mirrored=True), blocks),
    ):
        np.testing.assert_allclose(
            tuned_delta(pair, law, levels, order),
            tuned_delta(mirror, law, levels, other),
            rtol=1e-11,
        )
    np.testing.assert_allclose(
        tuned_delta(pair, law, levels, BlockOrder(1.5, -1.0)),
        tuned_delta(pair, law, levels, MergedOrder((1.5, 1.5), (-1.0, -1.0))),
        rtol=1e-11,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_pair(0.0), "noise_multiplier"),
        (lambda: laplace_pair(math.nan), "noise_scale"),
        (lambda: subsampled_gaussian_pair(1.0, 1.0), "sampling_probability"),
        (lambda: tuned_delta(PAIRS[0], laws.poisson(1.0), -0.1), "epsilon"),
        (lambda: tuned_delta(PAIRS[0], laws.poisson(1.0), math.nan), "epsilon"),
        (lambda: tuned_profile(PAIRS[0], laws.poisson(1.0)).epsilon(0.0), "delta"),
        (lambda: exact_tuned_epsilon(PAIRS[0], laws.poisson(1.0), 1.0), "delta"),
        (lambda: tuned_profile(PAIRS[0], LAWS[0], BlockOrder(0.0, 1.0)), "exceed"),
        (lambda: order_pieces(MergedOrder((1.0,), ())), "as many"),
        (lambda: order_pieces(MergedOrder((1.0, 2.0), (0.0, 0.5))), "non-increasing"),
        (lambda: order_pieces(BlockOrder(math.nan, 0.0)), "exceed"),
        (lambda: tuned_profile(PAIRS[0], laws.conditioned(laws.poisson(1.0), 0)), "always 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
