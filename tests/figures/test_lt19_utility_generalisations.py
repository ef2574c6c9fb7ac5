"""Liu & Talwar 2019: utility at equal epsilon, and the four generalisations."""

import numpy as np
import pytest

from figures import FIGURES, lt19_generalisations, lt19_utility
from figures.common import generalisation_losses
from figures.common.figure import records_in, render
from figures.common.generalisation_losses import Budget
from figures.lt19_utility import SELECTORS, Landscape
from jaxsel.families.score_selection.candidate_laws import index_law
from jaxsel.families.score_selection.classical_laws import exponential_law
from jaxsel.families.score_selection.settings import margin_selection
from jaxsel.repetitions import geometric
from sims import registry
from tests.conftest import ALPHA
from tests.figures.sharing import check_laws, records_of, whole

TRIALS = {"lt19-generalisations": 20_000}
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@pytest.fixture(scope="module")
def records():
    return {
        "lt19-utility": registry.load("lt19-utility", whole("lt19-utility")),
        "lt19-generalisations": registry.load("lt19-generalisations", records_of(TRIALS)),
    }


# --- theory ---------------------------------------------------------------------------


def losses_at(name: str, epsilon: float) -> float:
    return float(lt19_utility.lines(SELECTORS[name], np.array([epsilon]))[0][0])


def test_the_exponential_mechanism_is_best_and_publishing_all_worst():
    for epsilon in EPSILONS:
        losses = {name: losses_at(name, epsilon) for name in SELECTORS}
        assert min(losses, key=lambda name: losses[name]) == "exponential mechanism"
        if epsilon < 5.0:
            assert max(losses, key=lambda name: losses[name]) == "publish all"
    # A known threshold helps while epsilon is small; its failures cost later.
    first, second = "Algorithm 1, best - 10", "Algorithm 2, beta/2K"
    assert losses_at(first, 0.2) < losses_at(second, 0.2)
    assert losses_at(first, 1.0) > losses_at(second, 1.0)


def test_every_selector_spends_the_same_epsilon():
    """Laplace noise of scale 1/epsilon_1; random stopping 3, a threshold 2 of them."""
    spent = {"Algorithm 1": 2.0, "Algorithm 2": 3.0, "publish all": 100.0}
    for name, selector in SELECTORS.items():
        params = selector.params(Landscape(), 0.7)
        if name == "exponential mechanism":
            assert params == {"epsilon": 0.7}
        else:
            runs = spent[name.split(",")[0]]
            assert runs / params["noise_scale"] == pytest.approx(0.7)


def test_expected_loss_of_the_exponential_mechanism_written_out():
    scores = Landscape().scores
    law = exponential_law(scores, 1.0, 0.5)
    expected = float(law @ (scores.max() - scores))
    assert losses_at("exponential mechanism", 0.5) == pytest.approx(expected, rel=1e-6)
    assert expected == pytest.approx(2.88, abs=0.01)


def decoy_losses(sensitivity: float) -> list[float]:
    """Exponential, generalised exponential, random stopping."""
    scores = generalisation_losses.DECOY_SCORES
    return [
        generalisation_losses.exact_loss(lt19_generalisations.decoys(name, sensitivity), scores)
        for name in ("exponential", "generalised", "stopping")
    ]


def test_the_decoy_hurts_the_exponential_mechanism_alone():
    small, large = (decoy_losses(s) for s in (1.0, 256.0))
    assert small[0] < 0.1
    assert large[0] > 80.0
    for before, after in zip(small[1:], large[1:], strict=True):
        assert before <= after < 2.0


def test_the_exact_lead_grows_with_log_k_and_the_classical_one_does_not():
    exact = [Budget().lead_needed(k) for k in (10**4, 10**5, 10**6)]
    # 3/epsilon for each factor e of K
    steps = np.diff(exact) / np.log(10.0)
    np.testing.assert_allclose(steps, 3.0, rtol=0.01)
    proved = Budget().lead_proved(10**6)
    assert exact[-1] < proved == pytest.approx(91.88, abs=0.01)
    assert Budget().release == pytest.approx(31.46, abs=0.01)


def test_best_or_other_is_margin_selection():
    scores = np.zeros(50)
    scores[0] = 12.0
    chosen = margin_selection(scores, 1.0, 1.0, 1e-6, 0.1)
    best = index_law(chosen.candidates, geometric(chosen.gamma))[0]
    found = generalisation_losses.law_of(Budget().margin(50, 12.0))
    assert found[0] == pytest.approx(best, rel=1e-10)


def test_longer_lists_help_smooth_sensitivity_alone():
    short, long = (
        [
            generalisation_losses.exact_loss(
                lt19_generalisations.medians(name, length),
                np.median(generalisation_losses.lists(length), axis=1),
            )
            for name in ("exponential", "stopping")
        ]
        for length in (101, 10_001)
    )
    assert short[0] == pytest.approx(long[0], rel=0.02)
    assert short[1] > 90.0
    assert long[1] < 8.0


# --- simulated points -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["lt19-utility", "lt19-generalisations"])
def test_selections_follow_their_exact_laws(name, records):
    for found in records[name].values():
        check_laws(found, ALPHA)


def test_points_hold_the_exact_values(records):
    found = records["lt19-utility"]["selected"]
    number = 2 * found["selector"].size * len(EPSILONS)
    for name, selector in SELECTORS.items():
        exact = lt19_utility.lines(selector, np.array(EPSILONS))
        row = found.sel(selector=name)
        limits = lt19_utility.points(row, confidence=1.0 - ALPHA / number)
        for values, (mean, low, high) in zip(exact, limits, strict=True):
            assert np.all((low <= values) & (values <= high)), name
            assert np.all((low <= mean) & (mean <= high))


def test_points_of_generalisations_hold_the_exact_values(records):
    found = records["lt19-generalisations"]
    confidence = 1.0 - ALPHA / 100
    decoys, medians = found["decoys"].counts, found["medians"].counts
    scores = generalisation_losses.DECOY_SCORES
    for s in decoys["sensitivity"].values:
        for name, exact in zip(decoys["selection"].values, decoy_losses(s), strict=True):
            counts = decoys.sel(selection=name, sensitivity=s)
            _, low, high = generalisation_losses.mean_loss(scores, counts, confidence)
            assert low <= exact <= high, (name, s)
    for length in medians["length"].values.tolist():
        middle = np.median(generalisation_losses.lists(length), axis=1)
        for name in medians["selection"].values:
            trial = lt19_generalisations.medians(name, length)
            exact = generalisation_losses.exact_loss(trial, middle)
            counts = medians.sel(selection=name, length=length)
            _, low, high = generalisation_losses.mean_loss(middle, counts, confidence)
            assert low <= exact <= high, (name, length)
    margin = found["margin"]
    for count in margin["candidates"].values.tolist():
        of_it = margin.sel(candidates=count)
        _, low, high = generalisation_losses.leads_seen(
            of_it.counts.sel(outcome="other"),
            of_it.lead,
            TRIALS["lt19-generalisations"],
            0.1,
            confidence,
        )
        assert low <= Budget().lead_needed(count) <= high
