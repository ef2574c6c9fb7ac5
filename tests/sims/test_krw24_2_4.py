"""Rankings of a Gaussian pair, and tallies of what tuning releases under them."""

import numpy as np
import pytest

from figures.krw24_2 import natural, ranked
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.score_pairs import reversed_pair
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.repetitions import binomial, from_mean, poisson
from jaxsel.tuning.attained.adversarial_orders import adversarial_delta
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.exact_profile import tuned_profile
from jaxsel.tuning.bounds.envelope import envelope_profile
from sims.common.gaussian_orders import natural_law
from sims.common.worst_rankings import TARGETS, GaussianBase, planned_ranking
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import check_laws

BASE = GaussianBase()
LAWS = {
    "geometric": from_mean("truncated_negative_binomial", 300, eta=1.0),
    "binomial": binomial(12, 10 / 12),
    "poisson": poisson(10),
}
TRIALS = 100_000


@pytest.fixture(scope="module")
def tallied():
    return [
        compute(grid, {"means": 300}, trials=TRIALS, seed=seed(), progress=False)
        for grid in (ranked, natural)
    ]


# --- rankings -------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_rankings_are_exact_and_nearly_worst(name):
    law, epsilons = LAWS[name], np.array([0.2, 1.0, 2.0])
    above = envelope_profile(curves.gaussian(BASE.noise_multiplier), law)(epsilons)
    found = map(BASE.worst_ranking(law), epsilons)
    for each, bound in zip(found, above, strict=True):
        exact = tuned_profile(BASE.pair, law, each.order).delta(each.epsilon)
        assert each.delta == pytest.approx(float(exact), rel=1e-12)
        assert each.delta <= bound
        worst = adversarial_delta(BASE.pair, law, each.epsilon).delta
        assert 0.97 * worst < each.delta < 1.01 * worst


def test_a_mirrored_ranking_does_the_same_in_the_other_direction():
    law = LAWS["geometric"]
    found = BASE.worst_ranking(law)(1.5)
    shift = 1.0 / BASE.noise_multiplier
    # Read backwards and moved by the shift, N(0, 1) is N(shift, 1).
    moved = found.order._replace(
        good=tuple(g - shift for g in found.order.good),
        bad=tuple(b - shift for b in found.order.bad),
        mirrored=True,
    )
    other = tuned_profile(reversed_pair(BASE.pair), law, moved).delta(1.5)
    assert float(other) == pytest.approx(found.delta, rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_intervals_of_a_ranking_lose_little(name):
    law = LAWS[name]
    for each in map(BASE.worst_ranking(law), (0.5, 1.5)):
        runs = BASE.ranked_laws(each.order)
        assert runs.sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-12)
        first, second = (tuned_law(run, law) for run in runs)
        factor = np.exp(each.epsilon)
        binned = np.sum(np.maximum(first - factor * second, 0.0))
        # Post-processing cannot gain; an interval has one sign of the loss, nearly.
        assert 0.999 * each.delta < binned < (1.0 + 1e-9) * each.delta


@pytest.mark.parametrize("name", LAWS)
def test_planned_rankings_stand_just_below_their_targets(name):
    for target in TARGETS:
        found = planned_ranking(BASE, LAWS[name].name, target)
        assert 0.5 * target < found.delta <= target


def test_natural_bins_hold_nearly_everything():
    for law in LAWS.values():
        edges = BASE.natural_edges(law)
        for side in BASE.means:
            bins = natural_law(law, edges, side)
            assert bins.sum() == pytest.approx(1.0, abs=1e-12)
            assert max(bins[0], bins[-2]) < 1e-5


# --- tallies --------------------------------------------------------------------------


def test_tallies_follow_their_exact_laws(tallied):
    for found in tallied:
        assert np.all(found.counts.sum("outcome") == TRIALS)
        check_laws(found, ALPHA)
    # Quadrature of the released number's law, apart from the mechanism's own.
    law, (_, natural) = LAWS["geometric"], tallied
    for side, mean in zip(natural["side"], BASE.means, strict=True):
        exact = natural_law(law, BASE.natural_edges(law), mean)
        seen = natural.frequency_exact.sel(means=300, side=side)
        assert seen.values == pytest.approx(exact, rel=1e-6, abs=1e-15)


def test_a_slightly_wrong_law_is_noticed(tallied):
    # The mean of K 10 % too small.
    wrong = from_mean("truncated_negative_binomial", 270, eta=1.0)
    ranked, natural = (found.sel(means=300) for found in tallied)
    exact = natural_law(wrong, BASE.natural_edges(LAWS["geometric"]), 0.0)
    assert goodness_of_fit(natural.counts.sel(side="data"), exact) < ALPHA
    cell = ranked.sel(target=0.01)
    planned = planned_ranking(BASE, LAWS["geometric"].name, 0.01)
    law = tuned_law(BASE.ranked_laws(planned.order)[0], wrong)
    assert goodness_of_fit(cell.counts.sel(side="data"), law) < ALPHA
    # The two sides taken for each other.
    law = cell.frequency_exact.sel(side="neighbour")
    assert goodness_of_fit(cell.counts.sel(side="data"), law) < ALPHA


def test_epsilons_and_deltas_belong_to_the_laws(tallied):
    for target in TARGETS:
        cell = tallied[0].sel(means=300, target=target)
        first, second = cell.frequency_exact.values
        for epsilon, delta in zip(cell.epsilon.values, cell.delta.values, strict=True):
            binned = np.sum(np.maximum(first - np.exp(epsilon) * second, 0.0))
            assert 0.999 * delta < binned < (1.0 + 1e-9) * delta
