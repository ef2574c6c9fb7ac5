"""Rankings of the line, and tallies of the tuned algorithm under them."""

import itertools

import numpy as np
import pytest

from figures import krw24_beta_binomial, krw24_profile_dp_sgd, krw24_profile_laplace
from jaxsel.accounting.single_run.score_orders import order_pieces
from jaxsel.accounting.single_run.score_pairs import mirrored_pair, reversed_pair
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.repetitions import beta_binomial, parse
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.exact_profile import tuned_profile
from sims.common.line_rankings import (
    CELLS,
    LAWS,
    RANKINGS,
    LaplaceBase,
    StepBase,
    natural_ranking,
    planned,
    worst_rankings,
)
from sims.common.worst_rankings import TARGETS, GaussianBase
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import check_laws, counts_of

BASES = {"gaussian": GaussianBase(), "laplace": LaplaceBase(), "dp-sgd": StepBase()}
TRIALS = 50_000


@pytest.mark.parametrize("base", BASES)
def test_cells_are_laws_of_one_run_in_the_ranking_of_the_line(base):
    pair, law = BASES[base].pair, parse("geometric:mean=10")
    for found in [natural_ranking(pair, law), *worst_rankings(pair, law, [0.2, 0.6])]:
        assert found.run_laws.shape == (2, CELLS)
        assert np.all(found.run_laws >= 0.0)
        np.testing.assert_allclose(found.run_laws.sum(axis=1), 1.0, rtol=1e-12)
        laid = mirrored_pair(pair) if getattr(found.order, "mirrored", False) else pair
        # the masses of the line's own pieces, one after the other
        for side, row in zip((laid.first, laid.second), found.run_laws, strict=True):
            ends = np.cumsum(row)
            reached = 0.0
            for piece in order_pieces(found.order)[:-1]:
                reached += float(
                    np.exp(side.log_lower(np.array(piece.right)))
                    - np.exp(side.log_lower(np.array(piece.left)))
                )
                assert np.min(np.abs(ends - reached)) < 1e-12


@pytest.mark.parametrize(("base", "text"), list(itertools.product(BASES, LAWS[::3])))
def test_the_exact_profile_of_a_ranking_is_at_least_that_of_its_cells(base, text):
    pair, law = BASES[base].pair, parse(text)
    natural = max(
        float(tuned_profile(side, law).delta(0.3)) for side in (pair, reversed_pair(pair))
    )
    found = worst_rankings(pair, law, [0.3])
    assert [each.direction for each in found] == [0, 1]
    for each in found:
        tuned = [tuned_law(side, law) for side in each.run_laws]
        first, second = tuned[::-1] if each.direction else tuned
        cells = float(np.sum(np.maximum(first - np.exp(0.3) * second, 0.0)))
        assert cells == pytest.approx(each.delta, rel=1e-2)
        side = reversed_pair(pair) if each.direction else pair
        exact = float(tuned_profile(side, law, each.order).delta(0.3))
        assert cells <= exact * (1.0 + 1e-9)
        assert cells >= 0.9 * exact
    # worse than natural
    assert max(each.delta for each in found) > natural


@pytest.mark.parametrize("figure", [krw24_profile_laplace, krw24_profile_dp_sgd])
def test_tallies_follow_the_exact_laws(figure):
    few = {"law": (LAWS[0], LAWS[2], LAWS[5])}
    found = compute(figure.released, few, trials=TRIALS, seed=seed(), progress=False)
    assert found.sizes["outcome"] == CELLS + 1
    assert np.all(counts_of(found).sum(axis=-1) == TRIALS)
    check_laws(found, ALPHA / found["counts"][..., 0].size)
    # Power: the sides of the natural ranking differ.
    natural = found.sel(ranking="natural")
    for law in found["law"]:
        data, neighbour = (natural.sel(law=law, side=side) for side in ("data", "neighbour"))
        exact = neighbour.frequency_exact.values
        assert goodness_of_fit(counts_of(data), exact / exact.sum()) < ALPHA


def test_planned_deltas_are_near_the_targets():
    for ranking, target in zip(RANKINGS[1:], TARGETS, strict=True):
        found = planned(BASES["gaussian"], "poisson:mean=10", ranking)
        assert 0.4 * target < found.delta < 2.5 * target


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_the_pure_base_is_pure_and_its_selection_costs_more(gamma):
    law = beta_binomial(300, gamma)
    sides = krw24_beta_binomial.planned_outcomes(law, 10**6)
    np.testing.assert_allclose(sides.sum(axis=1), 1.0, rtol=1e-12)
    losses = np.abs(np.log(sides[0] / sides[1]))
    assert np.max(losses) == pytest.approx(krw24_beta_binomial.PURE, rel=1e-12)
    first, second = (tuned_law(side, law) for side in sides)
    loss = np.log(first[1] / second[1])
    assert 0.9 * (2.0 + gamma) < loss < (2.0 + gamma) * krw24_beta_binomial.PURE
