"""Theorem 6 of Cohen et al. 2022: laws against independent routes, sampler against laws."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from jaxsel.families.top_k import entries
from jaxsel.families.top_k.baselines import advanced_composition
from jaxsel.families.top_k.confident_laws import (
    confident_gap_bound,
    confident_lead,
    confident_settings,
    confident_settings_printed,
    confident_top_k_law,
    peeling_gap_bound,
    peeling_lead,
    set_gaps,
    smallest_gap_law,
    subsets,
)
from jaxsel.families.top_k.confident_top_k import confident_top_k
from jaxsel.families.top_k.laws import top_k_set_law
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import counts
from tests.conftest import ALPHA
from tests.families.exact_fit import check_fit

TRIALS = 100_000
TOP_K = {"epsilon": 3.0, "delta": 1e-6, "beta": 0.9, "k": 2}


def test_settings_of_theorem_6():
    made = confident_settings(1.0, 1e-6, 0.5, 2)
    assert (made.k, made.gap_scale, made.most_runs, made.pure) == (2, 12.0, 8, True)
    assert made.round_epsilon == pytest.approx(1.0 / 12.0)
    assert made.offset == pytest.approx(12.0 * math.log(32.0))
    many = confident_settings(1.0, 1e-2, 0.5, 500)
    spent = advanced_composition(many.round_epsilon, 500, 1e-2 / 8.0)
    assert spent == pytest.approx(1.0 / 6.0, rel=1e-9)
    assert not many.pure
    printed = confident_settings_printed(1.0, 1e-2, 0.5, 4)
    assert printed.round_epsilon == pytest.approx(1 / (80 * math.sqrt(math.log(100))))
    assert printed.most_runs == 2000
    assert printed.offset == pytest.approx(13.0 * math.log(2.0))


def test_sets_and_gaps():
    assert subsets(4, 2).tolist() == [0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100]
    gaps = set_gaps([3.0, 2.0, 1.0, 0.0], 2)
    assert gaps.tolist() == [-1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_smallest_gap_law_against_sums_over_the_number_of_draws():
    """P[the winner has gap g] by F^n differences on a fine grid of noisy gaps."""
    settings = confident_settings(2.0, 1e-6, 0.9, 1)
    gaps, weights = np.array([-3.0, 5.0]), np.array([0.7, 0.3])
    law = smallest_gap_law(gaps, weights, settings)
    scale = settings.gap_scale
    expected = np.zeros(3)
    numbers = range(settings.most_runs + 1)
    expected[-1] = 1.0 / len(numbers)
    for i, n in itertools.product(range(2), numbers):
        if n == 0:
            continue

        def density(y, i=i, n=n):
            above = stats.laplace.sf(y, gaps, scale) @ weights
            return n * stats.laplace.pdf(y, gaps[i], scale) * above ** (n - 1)

        mass = sum(
            integrate.quad(density, low, high)[0]
            for low, high in itertools.pairwise([-300.0, -30.0, -3.0, 5.0, 40.0, 300.0])
        )
        expected[i] += weights[i] * mass / len(numbers)
    assert law == pytest.approx(expected, abs=1e-8)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)


def test_confident_law_limits():
    scores = [5.0, 3.0, 2.0, 0.0]
    settings = confident_settings(1.0, 1e-6, 0.9, 2)
    # One draw at most: the law of peeling, half the time.
    single = settings._replace(most_runs=1)
    levels = np.array(scores) * single.round_epsilon / 2.0
    peeled = top_k_set_law(levels, 2)[subsets(4, 2)]
    law = confident_top_k_law(scores, single)
    assert law == pytest.approx([*(0.5 * peeled), 0.5], abs=1e-12)
    # No noise on the gap, many draws: almost surely the true top k.
    sharp = settings._replace(most_runs=10**9, gap_scale=1e-3)
    assert confident_top_k_law(scores, sharp)[0] == pytest.approx(1.0, abs=1e-6)


def test_leads_of_theorem_6():
    for beta in (0.3, 1e-3, 1e-9):
        lead = peeling_lead(50, 4, 0.1, beta)
        left = np.arange(4, 0, -1)
        hit = np.prod(left / (left + 46 * math.exp(-0.05 * lead)))
        assert 1.0 - hit == pytest.approx(beta, rel=1e-4)
        assert lead <= peeling_gap_bound(50, 4, 0.1, beta)
        settings = confident_settings(1.0, 1e-6, beta, 4)
        assert confident_lead(50, settings, beta) <= confident_gap_bound(50, settings)
    scores = np.append(np.full(2, 60.0), np.zeros(4))
    settings = confident_settings(1.0, 1e-6, 0.5, 2)
    failing = 1.0 - confident_top_k_law(scores, settings)[0]
    assert confident_lead(6, settings, failing) == pytest.approx(60.0, rel=1e-6)
    assert confident_lead(6, settings, 1e-3) == math.inf  # nothing, 1 time in 9


def test_boosting_wins_for_small_beta_alone():
    """20 candidates, k = 5: peeling's lead grows by 10 for each unit of log(1/beta)."""
    peeled = [peeling_lead(20, 5, 0.2, beta) for beta in (1e-3, 1e-9)]
    boosted = [
        confident_lead(20, confident_settings(1.0, 1e-6, beta, 5), beta) for beta in (1e-3, 1e-9)
    ]
    slope = (peeled[1] - peeled[0]) / math.log(1e6)
    assert slope == pytest.approx(10.0, rel=1e-3)
    assert peeled[0] < boosted[0]
    assert peeled[1] > boosted[1]
    assert boosted[1] - boosted[0] < 1.0


def test_laws_of_more_runs_than_can_be_drawn():
    """beta = 1e-9 is beyond the sampler, but not beyond the law."""
    law = confident_top_k().law([300.0, 0.0, 0.0], TOP_K | {"beta": 1e-9, "k": 1})
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-9)


def test_law_where_scores_are_far_apart():
    """Gaps beyond any noise cost no panels, and change nothing."""
    settings = confident_settings(1.0, 1e-6, 0.9, 1)
    near = confident_top_k_law([0.0, 0.0, 1e4], settings)
    far = confident_top_k_law([0.0, 0.0, 1e14], settings)
    assert far == pytest.approx(near, abs=1e-12)


# --- The sampler ----------------------------------------------------------------------


@pytest.mark.parametrize("events", ["sets", "hits"])
def test_confident_top_k_has_its_law(events, seed):
    scores = [30.0, 10.0, 20.0, 10.0]
    cells = [(scores, TOP_K), (scores, TOP_K | {"k": 2, "beta": 0.6})]
    check_fit(confident_top_k(events=events), cells, seed)


def _bad(outcome):
    return (outcome.gap > 0.0).astype(jnp.int32) + jnp.isinf(outcome.gap).astype(jnp.int32)


def test_gap_is_that_of_the_set(seed):
    mechanism = confident_top_k()
    scores = [30.0, 10.0, 20.0, 0.0]
    found = simulate_grid(
        mechanism,
        [(scores, TOP_K)],
        trials=TRIALS,
        seed=seed,
        statistic=counts(_bad, 3),
        progress=False,
    ).values[0]
    law = mechanism.law(scores, TOP_K)
    best = law.probabilities[law.labels.index("{0,2}")]
    exact = np.array([best, 1.0 - best - law.probabilities[-1], law.probabilities[-1]])
    assert goodness_of_fit(found, exact) > ALPHA


# --- The entry, and bad input ---------------------------------------------------------


def test_pairs_and_promises():
    entry = entries.confident_top_k
    pair = entry.pairs({})[0]
    assert (list(pair.data), list(pair.neighbour)) == ([3, 2, 1, 0], [2, 1, 2, 1])
    proven = entry.guarantee({}, pair)
    assert proven is not None
    assert proven.epsilon == 1.0
    # With many rounds and the printed constants nothing pure is promised.
    given = {"scores": ",".join("0" * 12), "k": "11", "delta": "0.9"}
    assert entry.guarantee(given, pair) is None
    assert entry.guarantee({"settings": "printed"}, pair) is None


@pytest.mark.parametrize(
    ("data", "params", "message"),
    [
        ([[1.0]], TOP_K, "one list"),
        ([1.0, 2.0], TOP_K, "k is 2"),
        ([1.0, 2.0, 3.0], {"k": 2}, "epsilon is missing"),
        (np.zeros(13), TOP_K, "use events=hits"),
        (np.zeros(3), TOP_K | {"beta": 1e-9}, "larger beta"),
        ([1e16, 0.0, 0.0], TOP_K, "scores must lie in"),
        ([1.0, 2.0, 3.0], TOP_K | {"groups": 3}, "groups is no parameter"),
    ],
)
def test_bad_data(data, params, message):
    with pytest.raises(InputError, match=message):
        confident_top_k().prepare(data, params)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confident_settings(0.0, 0.1, 0.1, 1), "epsilon is 0"),
        (lambda: set_gaps([1.0, 2.0], 2), "k is 2"),
        (lambda: confident_top_k(events="all"), "events is 'all'"),
        (lambda: confident_top_k(settings="old"), "settings is 'old'"),
    ],
)
def test_bad_settings(call, message):
    with pytest.raises(InputError, match=message):
        call()
