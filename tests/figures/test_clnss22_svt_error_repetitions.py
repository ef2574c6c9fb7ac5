"""The figures on the repetitive sparse vector of Cohen et al. 2022."""

import math

import numpy as np
import pytest
from scipy import special, stats

from figures import FIGURES, clnss22_repetitions, clnss22_svt_error
from figures.common.figure import load, records_in, render
from jaxsel.families.repetitive_sparse_vector.error_laws import failure_bound
from jaxsel.families.repetitive_sparse_vector.settings import privacy_epsilon
from jaxsel.families.sparse_vector.bounds import sparse_vector_epsilon
from jaxsel.families.sparse_vector.stopping_laws import right_probability
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.base import Relation
from sims import (
    clnss22_repetitions as repetitive_sparse_vector,
)
from sims import (
    clnss22_svt_error as sparse_vector_error,
)
from tests.conftest import ALPHA
from tests.figures.sharing import records_of

TRIALS = {"clnss22-svt-error": 1500, "clnss22-repetitions": 20_000}
# Their records take as long as all else of this file; that the sparse vectors follow their
# exact laws is what SIM-sparse_vector, SIM-sparse and SIM-repetitive_sparse_vector say.
SIMULATED = pytest.mark.rare


@pytest.fixture(scope="module")
def records():
    return records_of(TRIALS)


@pytest.fixture(scope="module")
def loaded(records):
    with records_in(records):
        return {name: load(name) for name in TRIALS}


@SIMULATED
def test_both_figures_draw_their_curves_and_points(records):
    with records_in(records):
        errors = render(FIGURES["clnss22-svt-error"])
        queries = render(FIGURES["clnss22-repetitions"])
    assert len(errors.axes) == len(queries.axes) == 2
    for axes, (delta, names) in zip(
        errors.axes, clnss22_svt_error._PANELS, strict=True
    ):
        drawn = [line for line in axes.get_lines() if len(line.get_xdata()) == 9]
        assert len(drawn) == len(names)
        for line, name in zip(drawn, names, strict=True):
            values = clnss22_svt_error.curve(name, delta)
            assert np.array_equal(line.get_ydata(), values)


def test_all_algorithms_have_the_same_privacy():
    for name, delta in (
        *sparse_vector_error.REPETITIVE,
        ("paper", 1e-6),
        ("paper", 0.0),
    ):
        settings = sparse_vector_error.settings_of(name, delta, 0.03)
        spent = privacy_epsilon(settings, delta)
        assert spent == pytest.approx(1.0, rel=1e-6)
        bound = failure_bound(settings, 50, 2000)
        assert bound <= 0.03 * (1 + 1e-6)
        if name == "least":
            assert bound == pytest.approx(0.03, rel=1e-5)
    for name in ("standard", "once"):
        noise = sparse_vector_error.noise_of(name, 0.0)
        assert sparse_vector_epsilon(noise, Relation.GENERAL) == pytest.approx(1.0)
    noise = sparse_vector_error.noise_of("standard", 1e-6)
    # Each run is epsilon_r-DP; the exact delta of 50 randomised responses at epsilon 1.
    one = 2.0 / noise.threshold_scale
    agree = np.arange(51)
    loss = (2.0 * agree - 50.0) * one
    chance = stats.binom.pmf(agree, 50, special.expit(one))
    delta = np.sum(chance * np.maximum(-np.expm1(1.0 - loss), 0.0))
    assert 1e-8 < delta <= 1e-6


def test_error_of_the_standard_sparse_vectors_is_their_exact_law():
    levels = np.tile(np.append(np.full(39, -1.0), 1.0), 50)
    # "standard" with delta = 0 is the same law at another scale.
    for name, delta in (("standard", 1e-6), ("once", 0.0)):
        noise = sparse_vector_error.noise_of(name, delta)
        alpha = sparse_vector_error.needed_error(noise, 0.03)
        wrong = sparse_vector_error.spike_failure(noise, alpha)
        assert wrong == pytest.approx(0.03, rel=1e-6)
        # Just outside +-alpha' for a slightly smaller alpha'.
        right = right_probability(alpha * levels, noise, alpha * (1.0 - 1e-12))
        assert 1.0 - right == pytest.approx(wrong, rel=1e-6)


def test_slopes_are_those_of_the_paper():
    """Standard: of order sqrt(k)/epsilon; repetitive: far smaller; the paper's own d at
    its own epsilon' has slope 10/epsilon (5 for the error d/2)."""
    x = np.array(clnss22_svt_error.CONFIDENCES)

    def slope(name, delta):
        curve = clnss22_svt_error.curve(name, delta)
        return (curve[-1] - curve[-3]) / (x[-1] - x[-3])

    standard = sparse_vector_error.noise_of("standard", 1e-6)
    assert slope("standard", 1e-6) == pytest.approx(standard.query_scale, rel=0.05)
    for name in ("paper", "least", "tuned"):
        assert slope(name, 1e-6) < 0.15 * slope("standard", 1e-6)
        assert slope(name, 0.0) < 0.5 * slope("standard", 0.0)
    assert slope("tuned", 0.0) < 0.25 * slope("once", 0.0)
    # Where the printed margin becomes better than the standard algorithm.
    printed = clnss22_svt_error.curve("paper", 1e-6)
    usual = clnss22_svt_error.curve("standard", 1e-6)
    assert printed[4] > usual[4]
    assert printed[5] < usual[5]
    for delta in (1e-6, 0.0):
        tuned = clnss22_svt_error.curve("tuned", delta)
        assert np.all(tuned < clnss22_svt_error.curve("standard", delta))


@SIMULATED
def test_simulated_failures_keep_to_the_bounds(loaded):
    record = loaded["clnss22-svt-error"]
    betas = np.asarray(record.values["betas"])
    shares = 1.0 - ALPHA / record.arrays["failures"].size
    for row, (name, _) in enumerate(record.values["algorithms"]):
        runs = record.values["runs"][row]
        low, high = clopper_pearson(record.arrays["failures"][row], runs, shares)
        assert np.all(low <= betas), name
        if name in ("standard", "once"):
            assert np.all(betas <= high), name
    found = clnss22_svt_error.points(record.arrays, record.values, "least", 1e-6)
    assert np.all(found["low"] < found["confidence"])
    assert np.all(found["confidence"] < found["high"])


@SIMULATED
def test_simulated_queries_follow_the_exact_law(loaded):
    record = loaded["clnss22-repetitions"]
    trials = int(record.values["trials"])
    answers = record.arrays["answers"]
    assert np.all(answers.sum(axis=-1) == trials)
    shares = 1.0 - ALPHA / answers.size
    low, high = clopper_pearson(answers, trials, shares)
    levels = np.asarray(record.values["levels"])
    for number, margin in enumerate(record.values["margins"]):
        law = clnss22_repetitions.query_law(
            levels, repetitive_sparse_vector.settings(margin)
        )
        exact = np.stack([law.halted, law.bottom, law.top], axis=-1)
        assert np.all(low[number] <= exact + 1e-12)
        assert np.all(exact <= high[number] + 1e-12)


def test_margins_are_the_printed_one_and_smaller_ones():
    margins = repetitive_sparse_vector.margins()
    assert margins[0] == pytest.approx(10.0 * math.log(2000.0))
    assert margins[1] == pytest.approx(40.15, abs=0.01)
    levels, law = clnss22_repetitions.curves(margins[3])
    settings = repetitive_sparse_vector.settings()
    # At half of the least margin a query in the middle wastes all the batches.
    middle = np.argmin(np.abs(levels + margins[3] / 2.0))
    assert law.failures[middle] == pytest.approx(settings.failures, rel=0.02)
