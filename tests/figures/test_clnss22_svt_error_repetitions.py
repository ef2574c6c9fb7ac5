"""The figures on the repetitive sparse vector of Cohen et al. 2022."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from figures import FIGURES, clnss22_repetitions, clnss22_svt_error
from figures.common.figure import records_in, render
from jaxsel.families.repetitive_sparse_vector.error_laws import failure_bound
from jaxsel.families.repetitive_sparse_vector.settings import privacy_epsilon
from jaxsel.families.sparse_vector.bounds import sparse_vector_epsilon
from jaxsel.families.sparse_vector.stopping_laws import right_probability
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.base import Relation
from sims import registry
from tests.conftest import ALPHA
from tests.figures.sharing import records_of

SEARCH = clnss22_svt_error.Search()
TRIALS = {"clnss22-svt-error": 1500, "clnss22-repetitions": 20_000}
# Their records take as long as all else of this file; that the sparse vectors follow their
# exact laws is what SIM-sparse_vector, SIM-sparse and SIM-repetitive_sparse_vector say.
SIMULATED = pytest.mark.rare


@pytest.fixture(scope="module")
def records():
    return records_of(TRIALS)


@pytest.fixture(scope="module")
def loaded(records):
    return {name: registry.load(name, records) for name in TRIALS}


def test_all_algorithms_have_the_same_privacy():
    for name, search in itertools.product(("least", "tuned", "paper"), (SEARCH, SEARCH.pure())):
        settings = clnss22_svt_error.settings_of(name, 0.03, search)
        spent = privacy_epsilon(settings, search.delta)
        assert spent == pytest.approx(1.0, rel=1e-6)
        bound = failure_bound(settings, 50, 2000)
        assert bound <= 0.03 * (1 + 1e-6)
        if name == "least":
            assert bound == pytest.approx(0.03, rel=1e-5)
    for name in ("standard", "once"):
        noise = clnss22_svt_error.noise_of(name, SEARCH.pure())
        assert sparse_vector_epsilon(noise, Relation.GENERAL) == pytest.approx(1.0)
    noise = clnss22_svt_error.noise_of("standard")
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
    for name, search in (("standard", SEARCH), ("once", SEARCH.pure())):
        noise = clnss22_svt_error.noise_of(name, search)
        alpha = clnss22_svt_error.needed_error(noise, 0.03)
        wrong = clnss22_svt_error.spike_failure(noise, alpha)
        assert wrong == pytest.approx(0.03, rel=1e-6)
        # Just outside +-alpha' for a slightly smaller alpha'.
        right = right_probability(alpha * levels, noise, alpha * (1.0 - 1e-12))
        assert 1.0 - right == pytest.approx(wrong, rel=1e-6)


def test_slopes_are_those_of_the_paper():
    """Standard: of order sqrt(k)/epsilon; repetitive: far smaller; the paper's own d at
    its own epsilon' has slope 10/epsilon (5 for the error d/2)."""
    x, pure = np.array(clnss22_svt_error.CONFIDENCES), SEARCH.pure()

    def slope(name, search=SEARCH):
        curve = clnss22_svt_error.curve(name, search)
        return (curve[-1] - curve[-3]) / (x[-1] - x[-3])

    standard = clnss22_svt_error.noise_of("standard")
    assert slope("standard") == pytest.approx(standard.query_scale, rel=0.05)
    for name in ("paper", "least", "tuned"):
        assert slope(name) < 0.15 * slope("standard")
        assert slope(name, pure) < 0.5 * slope("standard", pure)
    assert slope("tuned", pure) < 0.25 * slope("once", pure)
    # Where the printed margin becomes better than the standard algorithm.
    printed = clnss22_svt_error.curve("paper")
    usual = clnss22_svt_error.curve("standard")
    assert printed[4] > usual[4]
    assert printed[5] < usual[5]
    for search in (SEARCH, pure):
        tuned = clnss22_svt_error.curve("tuned", search)
        assert np.all(tuned < clnss22_svt_error.curve("standard", search))


@SIMULATED
def test_simulated_failures_keep_to_the_bounds(loaded):
    record = loaded["clnss22-svt-error"]
    shares = 1.0 - ALPHA / sum(found.error.size for found in record.values())
    for name, found in record.items():
        failed = clnss22_svt_error.failures(found)
        low, high = clopper_pearson(failed, found.attrs["trials"], shares)
        betas = found["beta"].values
        assert np.all(low <= betas), name
        if name == "sparse":
            assert np.all(betas <= high)
    found = clnss22_svt_error.points(record["repetitive"].sel(algorithm="least"))
    assert np.all(found["low"] < found["confidence"])
    assert np.all(found["confidence"] < found["high"])


@SIMULATED
def test_simulated_queries_follow_the_exact_law(loaded):
    found = loaded["clnss22-repetitions"]["answered"]
    trials, answers = found.attrs["trials"], found.answers
    assert np.all(answers.sum("answers_0") == trials)
    shares = 1.0 - ALPHA / answers.size
    required = clnss22_repetitions.Requirement()
    for name, margin in clnss22_repetitions.margins().items():
        low, high = clopper_pearson(answers.sel(margin=name).values, trials, shares)
        law = clnss22_repetitions.query_law(found["level"].values, required.settings(margin))
        exact = np.stack([law.halted, law.bottom, law.top], axis=-1)
        assert np.all(low <= exact + 1e-12)
        assert np.all(exact <= high + 1e-12)


def test_margins_are_the_printed_one_and_smaller_ones():
    printed, least, _, half = clnss22_repetitions.margins().values()
    assert printed == pytest.approx(10.0 * math.log(2000.0))
    assert least == pytest.approx(40.15, abs=0.01)
    levels, law = clnss22_repetitions.curves(half)
    settings = clnss22_repetitions.Requirement().settings()
    # At half of the least margin a query in the middle wastes all the batches.
    middle = np.argmin(np.abs(levels + half / 2.0))
    assert law.failures[middle] == pytest.approx(settings.failures, rel=0.02)
