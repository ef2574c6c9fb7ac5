"""Rankings of the line, and tallies of the tuned algorithm under them."""

import itertools

import numpy as np
import pytest

from jaxsel.accounting.single_run.score_orders import order_pieces
from jaxsel.accounting.single_run.score_pairs import mirrored_pair, reversed_pair
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.attained.exact_profile import tuned_profile
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.repetitions import beta_binomial, parse
from sims import (
    krw24_beta_binomial as beta_binomial_profiles,
)
from sims import (
    krw24_profile as tuned_profiles,
)
from sims.common.line_rankings import CELLS, natural_ranking, worst_rankings
from sims.krw24_profile import BASES, LAWS
from tests.conftest import ALPHA, seed

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
        float(tuned_profile(side, law).delta(0.3))
        for side in (pair, reversed_pair(pair))
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


@pytest.mark.parametrize("base", ["laplace", "dp-sgd"])
def test_tallies_follow_the_exact_laws(base, monkeypatch):
    monkeypatch.setattr(tuned_profiles, "BASES", {base: BASES[base]})
    monkeypatch.setattr(tuned_profiles, "LAWS", (LAWS[0], LAWS[2], LAWS[5]))
    monkeypatch.setattr(tuned_profiles, "_POINTS", 9)
    record = tuned_profiles.run(trials=TRIALS, seed=seed(), progress=False)
    counts, runs = record["counts"][0], record["run_laws"][0]
    assert record["bases"] == [base]
    assert counts.shape == (*runs.shape[:-1], CELLS + 1)
    assert np.all(counts.sum(axis=-1) == TRIALS)
    cells = counts[..., 0].size
    for text, tallies, rows in zip(record["laws"], counts, runs, strict=True):
        law = parse(text)
        for ranking, (sides, laws) in enumerate(zip(tallies, rows, strict=True)):
            exact = [tuned_law(side, law) for side in laws]
            for tally, own in zip(sides, exact, strict=True):
                assert goodness_of_fit(tally, own / own.sum()) > ALPHA / cells
            # Power: the sides of the natural ranking differ.
            if ranking == 0:
                other = exact[1] / exact[1].sum()
                assert goodness_of_fit(sides[0], other) < ALPHA


def test_planned_deltas_are_near_the_targets():
    law = parse("poisson:mean=10")
    found = tuned_profiles.planned(BASES["gaussian"], law)
    assert len(found) == 1 + len(tuned_profiles.TARGETS)
    for each, target in zip(found[1:], tuned_profiles.TARGETS, strict=True):
        assert 0.4 * target < each.delta < 2.5 * target


@pytest.mark.parametrize("gamma", beta_binomial_profiles.GAMMAS)
def test_the_pure_base_is_pure_and_its_selection_costs_more(gamma):
    law = beta_binomial(300, gamma)
    sides = beta_binomial_profiles._planned_outcomes(law, 10**6)
    np.testing.assert_allclose(sides.sum(axis=1), 1.0, rtol=1e-12)
    losses = np.abs(np.log(sides[0] / sides[1]))
    assert np.max(losses) == pytest.approx(beta_binomial_profiles.PURE, rel=1e-12)
    first, second = (tuned_law(side, law) for side in sides)
    loss = np.log(first[1] / second[1])
    assert 0.9 * (2.0 + gamma) < loss < (2.0 + gamma) * beta_binomial_profiles.PURE
