"""Liu & Talwar 2019: utility at equal epsilon, and the four generalisations."""

import numpy as np
import pytest

from figures import FIGURES, lt19_utility
from figures.common import generalisation_losses
from figures.common.figure import records_in, render
from jaxsel.families.score_selection.candidate_laws import index_law
from jaxsel.families.score_selection.classical_laws import (
    exponential_law,
    margin_needed,
)
from jaxsel.families.score_selection.settings import (
    margin_selection,
    margin_selection_needed,
)
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.pictures import style
from jaxsel.repetitions import geometric
from sims import (
    lt19_generalisations as generalisations,
)
from sims import (
    lt19_utility as equal_epsilon,
)
from sims import (
    registry,
)
from tests.conftest import ALPHA
from tests.figures.sharing import records_of

TRIALS = {"lt19-utility": 20_000, "lt19-generalisations": 20_000}


@pytest.fixture(scope="module")
def records():
    return records_of(TRIALS)


@pytest.fixture(scope="module")
def drawn(records):
    with records_in(records):
        return {name: render(FIGURES[name]) for name in TRIALS}


# --- theory ---------------------------------------------------------------------------


def losses_at(name: str, epsilon: float) -> float:
    selector = equal_epsilon.SELECTORS[name]
    return float(lt19_utility.lines(selector, np.array([epsilon]))[0][0])


def test_the_exponential_mechanism_is_best_and_publishing_all_worst():
    for epsilon in equal_epsilon.EPSILONS:
        losses = {name: losses_at(name, epsilon) for name in equal_epsilon.SELECTORS}
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
    for name, selector in equal_epsilon.SELECTORS.items():
        params = selector.params(0.7)
        if name == "exponential mechanism":
            assert params == {"epsilon": 0.7}
        else:
            runs = spent[name.split(",")[0]]
            assert runs / params["noise_scale"] == pytest.approx(0.7)


def test_expected_loss_of_the_exponential_mechanism_written_out():
    scores = equal_epsilon.SCORES
    law = exponential_law(scores, 1.0, 0.5)
    expected = float(law @ (scores.max() - scores))
    assert losses_at("exponential mechanism", 0.5) == pytest.approx(expected, rel=1e-6)
    assert expected == pytest.approx(2.88, abs=0.01)


def test_the_decoy_hurts_the_exponential_mechanism_alone():
    small, large = (generalisation_losses.decoy_losses(s) for s in (1.0, 256.0))
    assert small[0] < 0.1
    assert large[0] > 80.0
    for before, after in zip(small[1:], large[1:], strict=True):
        assert before <= after < 2.0


def test_the_exact_lead_grows_with_log_k_and_the_classical_one_does_not():
    exact = [generalisations.lead_needed(k) for k in (10**4, 10**5, 10**6)]
    # 3/epsilon for each factor e of K
    steps = np.diff(exact) / np.log(10.0)
    np.testing.assert_allclose(steps, 3.0, rtol=0.01)
    proved = margin_selection_needed(
        10**6, 1.0, generalisations.EPSILON, generalisations.DELTA, generalisations.BETA
    )
    assert exact[-1] < proved == pytest.approx(91.88, abs=0.01)
    assert margin_needed(1.0, 1.0, 1e-6, 0.1) == pytest.approx(31.46, abs=0.01)


def test_best_or_other_is_margin_selection():
    scores = np.zeros(50)
    scores[0] = 12.0
    chosen = margin_selection(scores, 1.0, 1.0, 1e-6, 0.1)
    best = index_law(chosen.candidates, geometric(chosen.gamma))[0]
    law = generalisations.best_or_other().law
    found = law(generalisations.margin_data(50, 12.0), {}).probabilities
    assert found[0] == pytest.approx(best, rel=1e-10)


def test_longer_lists_help_smooth_sensitivity_alone():
    short, long = (generalisation_losses.median_losses(n) for n in (101, 10_001))
    assert short[0] == pytest.approx(long[0], rel=0.02)
    assert short[1] > 90.0
    assert long[1] < 8.0


# --- simulated points -----------------------------------------------------------------


def test_selections_follow_their_exact_laws(records):
    record = registry.load("lt19-utility", records)
    for row, name in enumerate(record.values["selectors"]):
        selector = equal_epsilon.SELECTORS[name]
        for counts, epsilon in zip(
            record.arrays["counts"][row], equal_epsilon.EPSILONS, strict=True
        ):
            params = selector.params(epsilon)
            law = selector.mechanism.law(equal_epsilon.SCORES, params).probabilities
            law = np.append(law, np.zeros(counts.size - law.size))
            assert goodness_of_fit(counts, law) > ALPHA, (name, epsilon)


def test_points_hold_the_exact_values(records):
    record = registry.load("lt19-utility", records)
    number = 2 * record.arrays["counts"].shape[0] * len(equal_epsilon.EPSILONS)
    for row, name in enumerate(record.values["selectors"]):
        selector = equal_epsilon.SELECTORS[name]
        exact = lt19_utility.lines(selector, np.array(equal_epsilon.EPSILONS))
        found = lt19_utility.points(record.arrays["counts"][row], 1.0 - ALPHA / number)
        for values, (mean, low, high) in zip(exact, found, strict=True):
            assert np.all((low <= values) & (values <= high)), name
            assert np.all((low <= mean) & (mean <= high))


def test_generalisations_follow_their_exact_laws(records):
    record = registry.load("lt19-generalisations", records)
    confidence = 1.0 - ALPHA / 100
    for column, name in enumerate(("exponential", "generalised", "stopping")):
        for s, counts in zip(
            generalisations.DECOYS, record.arrays[f"decoy_{name}"], strict=True
        ):
            exact = generalisation_losses.decoy_losses(s)[column]
            scores = generalisations.decoy(s)[0]
            _, low, high = generalisation_losses.mean_loss(scores, counts, confidence)
            assert low <= exact <= high, (name, s)
    for column, name in enumerate(("exponential", "stopping")):
        for size, counts in zip(
            generalisations.SIZES, record.arrays[f"median_{name}"], strict=True
        ):
            exact = generalisation_losses.median_losses(size)[column]
            scores = np.median(generalisations.medians(size), axis=1)
            _, low, high = generalisation_losses.mean_loss(scores, counts, confidence)
            assert low <= exact <= high, (name, size)
    trials = int(record.values["trials"])
    missed = record.arrays["margin_stopping"][:, 1].reshape(-1, 3)
    for number, count in enumerate(generalisations.MARGIN_COUNTS):
        leads = record.arrays["leads"][number]
        _, low, high = generalisation_losses.leads_seen(
            missed[number], trials, leads, confidence
        )
        assert low <= generalisations.lead_needed(count) <= high


# --- drawing --------------------------------------------------------------------------


def test_axes(drawn):
    loss, failure = drawn["lt19-utility"].axes
    assert loss.get_ylabel() == "Expected loss q* − q of the selected candidate"
    assert failure.get_ylabel() == "Chance of a loss above 15"
    assert len(loss.containers) == len(equal_epsilon.SELECTORS)
    labels = [axes.get_xlabel() for axes in drawn["lt19-generalisations"].axes]
    assert labels == [
        "Loss x, in units of the sensitivity (scores 0, −1, …, −59)",
        "Sensitivity of the decoy, the worst of 20 candidates",
        "Number of candidates K",
        "Length of each list",
    ]


@pytest.mark.parametrize("name", TRIALS)
def test_files_are_written_and_texts_stay_inside(drawn, name, tmp_path):
    figure = drawn[name]
    png, pdf = style.save(figure, tmp_path / name)
    assert min(png.stat().st_size, pdf.stat().st_size) > 10_000
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    texts = [figure._supxlabel]
    texts += [label for a in figure.axes for label in (a.xaxis.label, a.yaxis.label)]
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= 0.0
        assert box.y0 >= 0.0
        assert box.x1 <= width, text.get_text()
        assert box.y1 <= height
