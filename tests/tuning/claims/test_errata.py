"""Numbers behind the errata on tuning: Koskela et al. 2024, Liu & Talwar 2019."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.divergences import hockey_stick, profile_delta, renyi_divergence
from jaxsel.accounting.single_run.score_orders import BlockOrder
from jaxsel.accounting.single_run.score_pairs import gaussian_pair
from jaxsel.catalogue import find_claim
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.base import Budget
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.exact_profile import tuned_profile
from jaxsel.tuning.bounds.envelope import envelope_profile
from jaxsel.tuning.claims.profile import general as profile_general
from jaxsel.tuning.claims.profile.cases import (
    block_order_delta,
    coin_laws,
    stopping_ratio,
    tuned_gaussian_epsilon,
    worst_block_order,
)
from jaxsel.tuning.claims.stopping import closeness
from tests.conftest import ALPHA

# --- Corollary 5.4 (E-KRW-1) ----------------------------------------------------------


def test_printed_proof_of_corollary_5_4_at_one_point():
    eta, gamma, epsilon, delta = 5.0, 0.1, 0.1, 0.01
    shift = (eta + 1) * math.log(math.exp(epsilon) + (1 / gamma - 1) * delta)
    assert shift > find_claim("KRW-Cor5.4-proof-printed").evaluate()
    assert shift <= find_claim("KRW-Cor5.4-proof").evaluate()


# --- Corollary 5.5 (E-KRW-2) ----------------------------------------------------------

MEAN, DELTA = 10**7, mp.mpf(10) ** -3
BLOCKS = worst_block_order(float(MEAN), 2.04, 0.316)


def best_within(mass):
    """P[the best of K lies in the best outcomes of that mass], K geometric."""
    gamma = mp.mpf(1) / MEAN
    return mass / (gamma + (1 - gamma) * mass)


def test_corollary_5_5_counterexample_in_closed_form():
    """The loss falls along the block z < bad, so that its level set is an interval."""
    with mp.workdps(40):
        printed = 2 * (mp.mpf(1) / 2 + mp.sqrt(2 * mp.log(MEAN / DELTA))) + 2 * DELTA
        assert float(printed) == pytest.approx(
            find_claim("KRW-Cor5.5-printed").evaluate(), rel=1e-14
        )
        good, bad = mp.mpf(BLOCKS.good), mp.mpf(BLOCKS.bad)
        gamma = mp.mpf(1) / MEAN

        def better(z, centre):
            return mp.ncdf(centre - good) + mp.ncdf(z - centre)

        def loss(z):
            ratio = (gamma + (1 - gamma) * better(z, 1)) / (gamma + (1 - gamma) * better(z, 0))
            return mp.mpf(1) / 2 - z + 2 * mp.log(ratio)

        levels = [loss(bad - step) for step in (0, 0.1, 0.3, 1, 3)]
        assert levels == sorted(levels)
        end = bad
        if loss(bad) < printed:
            end = mp.findroot(lambda z: loss(z) - printed, (bad - 1, bad), solver="ridder")
        inside = [
            best_within(better(end, centre)) - best_within(mp.ncdf(centre - good))
            for centre in (0, 1)
        ]
        exact = float(inside[0] - mp.e**printed * inside[1])
    assert exact > 4 * float(DELTA)
    computed = block_order_delta(float(printed), 1.0, laws.geometric(1.0 / MEAN), BLOCKS)
    assert computed == pytest.approx(exact, rel=1e-8)
    corrected = find_claim("KRW-Cor5.5").evaluate()
    assert block_order_delta(corrected, 1.0, laws.geometric(1.0 / MEAN), BLOCKS) < float(DELTA)


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
    epsilon = find_claim("KRW-Cor5.5-printed").evaluate()
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
    order = BlockOrder(1.0, -1.0)
    pair = discretised(shift, 8000, order=order)
    tuned = [tuned_law(side, law) for side in pair]
    for epsilon in (0.2, 0.8):
        exact = block_order_delta(epsilon, shift, law, order)
        binned = float(hockey_stick(tuned[0], tuned[1], epsilon))
        assert binned <= exact + 1e-9
        assert binned == pytest.approx(exact, rel=2e-3)


def test_block_order_delta_refuses_overlapping_blocks():
    with pytest.raises(InputError, match="bad must not exceed good"):
        block_order_delta(1.0, 1.0, laws.poisson(3.0), BlockOrder(0.0, 1.0))


# --- No run (E-KRW-6) -----------------------------------------------------------------


def test_no_run_counterexample_by_hand():
    """Equal laws have divergence 0, whatever K: the moment is 1."""
    assert find_claim("KRW-B-no-run-printed").evaluate() == pytest.approx(
        -math.expm1(-0.5), rel=1e-12
    )
    assert find_claim("KRW-B-no-run").evaluate() == pytest.approx(1.0, rel=1e-12)


def test_no_run_against_fine_ties():
    """Ties split into equal parts, each an outcome of a finite law with no run last."""
    parts, order, mean, base_epsilon = 4000, 3.0, 1.5, 0.7
    pair = coin_laws(base_epsilon)
    split = [np.repeat(side / parts, parts) for side in pair]
    tuned = [tuned_law(side, laws.poisson(mean)) for side in split]
    finite = math.exp((order - 1) * float(renyi_divergence(*tuned, order)))
    claimed = find_claim("KRW-B-no-run").evaluate(order=order, mean=mean, base_epsilon=base_epsilon)
    assert claimed == pytest.approx(finite, rel=1e-6)


def test_the_check_of_no_run_has_power(monkeypatch):
    direct = profile_general._direct_divergence
    monkeypatch.setattr(profile_general, "_direct_divergence", lambda *at: (1 + 1e-6) * direct(*at))
    assert find_claim("KRW-B-no-run").check(Budget()).outcome == "refuted"


# --- How tight (R-KRW-8) --------------------------------------------------------------


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
    ratios = (find_claim("KRW-Sec4-uniform").evaluate(), stopping_ratio(4.0, 1.0, 1.0 / 300.0))
    uniform, printed = (tuned_gaussian_epsilon(1e-6, 4.0, law, ratio) for ratio in ratios)
    envelope = find_claim("KRW-Sec7-tight").evaluate()
    blocks = worst_block_order(300.0, 2.78, 0.198)
    exact = tuned_profile(gaussian_pair(4.0), law, blocks).epsilon(1e-6)
    assert exact < envelope < uniform < printed
    assert envelope < 1.005 * exact  # the envelope is nearly attained
    assert envelope < 0.81 * printed


# --- Closeness (LT-E11) ---------------------------------------------------------------


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
