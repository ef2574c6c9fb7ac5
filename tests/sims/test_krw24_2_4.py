"""Rankings of a Gaussian pair, and tallies of what tuning releases under them."""

import numpy as np
import pytest

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.score_pairs import reversed_pair
from jaxsel.families.tuning.attained.adversarial_orders import adversarial_delta
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.attained.exact_profile import tuned_profile
from jaxsel.families.tuning.bounds.envelope import envelope_profile
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.repetitions import binomial, from_mean, parse, poisson
from sims import krw24_2 as profile
from sims import krw24_4 as counts
from sims.common.gaussian_orders import natural_law
from sims.common.worst_rankings import (
    NOISE_MULTIPLIER,
    PAIR,
    ranked_laws,
    worst_rankings,
)
from tests.conftest import ALPHA, seed

LAWS = {
    "geometric": from_mean("truncated_negative_binomial", 300, eta=1.0),
    "binomial": binomial(12, 10 / 12),
    "poisson": poisson(10),
}
TRIALS = 100_000


@pytest.fixture(scope="module")
def tallied():
    laws = [LAWS["geometric"], LAWS["binomial"]]
    return profile.profile_tallies(laws, trials=TRIALS, seed=seed(), progress=False)


# --- rankings -------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_rankings_are_exact_and_nearly_worst(name):
    law, epsilons = LAWS[name], np.array([0.2, 1.0, 2.0])
    above = envelope_profile(curves.gaussian(NOISE_MULTIPLIER), law)(epsilons)
    found = list(worst_rankings(law, epsilons))
    for each, bound in zip(found, above, strict=True):
        exact = tuned_profile(PAIR, law, each.order).delta(each.epsilon)
        assert each.delta == pytest.approx(float(exact), rel=1e-12)
        assert each.delta <= bound
        worst = adversarial_delta(PAIR, law, each.epsilon).delta
        assert 0.97 * worst < each.delta < 1.01 * worst


def test_a_mirrored_ranking_does_the_same_in_the_other_direction():
    law = LAWS["geometric"]
    (found,) = worst_rankings(law, [1.5])
    shift = 1.0 / NOISE_MULTIPLIER
    # Read backwards and moved by the shift, N(0, 1) is N(shift, 1).
    moved = found.order._replace(
        good=tuple(g - shift for g in found.order.good),
        bad=tuple(b - shift for b in found.order.bad),
        mirrored=True,
    )
    other = tuned_profile(reversed_pair(PAIR), law, moved).delta(1.5)
    assert float(other) == pytest.approx(found.delta, rel=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_intervals_of_a_ranking_lose_little(name):
    law = LAWS[name]
    for each in worst_rankings(law, (0.5, 1.5)):
        runs = ranked_laws(each.order)
        assert runs.sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-12)
        first, second = (tuned_law(run, law) for run in runs)
        factor = np.exp(each.epsilon)
        binned = np.sum(np.maximum(first - factor * second, 0.0))
        # Post-processing cannot gain; an interval has one sign of the loss, nearly.
        assert 0.999 * each.delta < binned < (1.0 + 1e-9) * each.delta


@pytest.mark.parametrize("name", LAWS)
def test_planned_rankings_stand_just_below_their_targets(name):
    found = profile.planned_rankings(LAWS[name])
    for each, target in zip(found, profile.TARGETS, strict=True):
        assert 0.5 * target < each.delta <= target


def test_natural_bins_hold_nearly_everything():
    for law in LAWS.values():
        edges = profile.natural_edges(law)
        for side in profile.SIDES:
            bins = natural_law(law, edges, side)
            assert bins.sum() == pytest.approx(1.0, abs=1e-12)
            assert max(bins[0], bins[-2]) < 1e-5


# --- tallies --------------------------------------------------------------------------


def test_tallies_follow_their_exact_laws(tallied):
    for row, text in enumerate(tallied["laws"]):
        law = parse(text)
        edges = tallied["natural_edges"][row]
        for side, mean in enumerate(profile.SIDES):
            natural = tallied["natural_counts"][row, side]
            assert goodness_of_fit(natural, natural_law(law, edges, mean)) > ALPHA
            for cell, run in enumerate(tallied["run_laws"][row, :, side]):
                seen = tallied["counts"][row, cell, side]
                assert seen.sum() == TRIALS
                assert goodness_of_fit(seen, tuned_law(run, law)) > ALPHA


def test_a_slightly_wrong_law_is_noticed(tallied):
    # The mean of K 10 % too small.
    wrong = from_mean("truncated_negative_binomial", 270, eta=1.0)
    edges = tallied["natural_edges"][0]
    exact = natural_law(wrong, edges, 0.0)
    assert goodness_of_fit(tallied["natural_counts"][0, 0], exact) < ALPHA
    run = tallied["run_laws"][0, 2, 0]
    law = tuned_law(run, wrong)
    assert goodness_of_fit(tallied["counts"][0, 2, 0], law) < ALPHA
    # The two sides taken for each other.
    sides = tallied["run_laws"][0, 2]
    law = tuned_law(sides[1], LAWS["geometric"])
    assert goodness_of_fit(tallied["counts"][0, 2, 0], law) < ALPHA


def test_epsilons_and_deltas_belong_to_the_stored_laws(tallied):
    for row, text in enumerate(tallied["laws"]):
        law = parse(text)
        for cell, (epsilon, delta) in enumerate(
            zip(tallied["epsilons"][row], tallied["deltas"][row], strict=True)
        ):
            first, second = (tuned_law(p, law) for p in tallied["run_laws"][row, cell])
            binned = np.sum(np.maximum(first - np.exp(epsilon) * second, 0.0))
            assert 0.999 * delta < binned < (1.0 + 1e-9) * delta


def test_numbers_of_runs_have_their_laws(monkeypatch):
    monkeypatch.setattr(counts, "profile_tallies", lambda laws, **settings: {})
    law_of = counts.NUMBER_OF_RUNS.law
    assert law_of is not None
    found = counts.run(trials=TRIALS, seed=seed(), progress=False)
    for text, tallies in zip(
        found["number_laws"], found["numbers_of_runs"], strict=True
    ):
        law = parse(text)
        assert law.mean == pytest.approx(counts.MEAN, rel=1e-12)
        exact = law_of(law, ()).probabilities
        assert goodness_of_fit(tallies, exact) > ALPHA
        # Power: a law of K whose mean is 5 % larger is rejected.
        wrong = from_mean(law.family, 1.05 * counts.MEAN, **_fixed(law))
        exact = law_of(wrong, ()).probabilities
        assert goodness_of_fit(tallies, exact) < ALPHA


def _fixed(law):
    return {k: v for k, v in law.parameters.items() if k == "count"}
