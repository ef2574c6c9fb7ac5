"""Theorem 5 of Cohen et al. 2022: settings and exact laws by independent routes."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.families.query_release import laws as release
from jaxsel.families.query_release.parameters import LEAST_EPSILON
from jaxsel.families.query_release.repaired_answers import (
    calibrated_median,
    repaired_answers,
    repaired_error,
)
from jaxsel.host.errors import InputError
from tests.conftest import ALPHA, seed


def _simulated(settings, trials: int, generator) -> tuple[np.ndarray, np.ndarray]:
    """Errors and corrections of the algorithm as the paper writes it."""
    rate = settings.inner_epsilon / 2.0
    floor = math.exp(-rate * settings.offset)
    errors, corrected = np.zeros(trials), np.ones(trials, bool)
    for trial in range(trials):
        count = generator.binomial(settings.runs, generator.random())
        if count == 0:
            continue
        noise = generator.normal(size=(count, settings.queries)) * settings.noise_scale
        largest = np.abs(noise).max(axis=1)
        size = -np.log(floor + generator.random(count) * (1.0 - floor)) / rate
        bound = largest + settings.offset + size * generator.choice([-1.0, 1.0], count)
        assert np.all(bound >= largest)
        best = int(np.argmin(bound))
        if bound[best] <= settings.cap:
            errors[trial], corrected[trial] = largest[best], False
    return errors, corrected


@pytest.mark.parametrize("sharp", [False, True])
def test_exact_law_of_the_error_agrees_with_the_algorithm(sharp):
    settings = release.query_release(4, 0.8, 0.3, sharp=sharp)._replace(runs=9)
    trials = 20_000
    errors, corrected = _simulated(settings, trials, np.random.default_rng(seed()))
    levels = settings.cap * np.array([0.1, 0.3, 0.5, 0.8])
    above, chance = release.released_error(settings, levels)
    for exact, seen in zip(
        [*above, chance],
        [*(int(np.sum(errors > x)) for x in levels), int(corrected.sum())],
        strict=True,
    ):
        assert stats.binomtest(seen, trials, exact).pvalue > ALPHA
        # power: a fifth less is seen where the event is common
        if 0.05 < exact < 0.9:
            assert stats.binomtest(seen, trials, 0.8 * exact).pvalue < ALPHA


@pytest.mark.parametrize(("queries", "epsilon", "delta"), [(1, 1, 0.5), (300, 0.1, 1e-4)])
def test_law_is_whole_and_never_beyond_the_cap(queries, epsilon, delta):
    settings = release.query_release(queries, epsilon, delta)
    above, chance = release.released_error(settings, [0.0, settings.cap])
    assert above[0] + chance == pytest.approx(1.0, abs=1e-6)
    assert above[1] == 0.0
    assert chance <= delta / 10.0
    half = release.gaussian_largest_error(settings.half_error, queries, settings.noise_scale)
    assert half == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("runs", [1, 7, 400])
def test_selection_factor_against_the_sum(runs):
    x = np.array([0.0, 1e-12, 1e-5, 1e-3, 0.3, 1.0])
    counts = np.arange(runs + 1)[:, None]
    slope = np.mean(counts * (1.0 - x) ** np.maximum(counts - 1, 0), axis=0)
    assert release.selection_factor(x, runs) == pytest.approx(slope, rel=1e-6)


def test_budget_adds_up_and_the_printed_one_does_not():
    for delta in (0.5, 0.01, 1e-6):
        for sharp in (False, True):
            settings = release.query_release(3, 1.0, delta, sharp=sharp)
            spent = release.spent_delta(settings, 1.0, delta / 10.0, sharp=sharp)
            assert spent <= delta
        printed = release.query_release(3, 1.0, delta, divisor=10.0)
        assert release.spent_delta(printed, 1.0, 0.0) >= 2.0 * delta


def test_gaussian_quantiles_invert_tails():
    tail = np.array([1e-300, 1e-6, 0.5, 0.999])
    x = release.gaussian_largest_quantile(tail, 50, 2.0)
    assert release.gaussian_largest_error(x, 50, 2.0) == pytest.approx(tail, rel=1e-9)


def test_calibrated_median_is_above_the_median():
    settings = repaired_answers(30, 0.5, 1e-3)
    fresh = repaired_error(settings, np.random.default_rng(seed()), 20_000)
    below = int(np.sum(fresh <= calibrated_median(settings)))
    # at least half of fresh vectors are below, or the calibration was unlucky (1 %)
    assert stats.binom.cdf(below, fresh.size, 0.5) > ALPHA
    assert stats.binom.cdf(below, fresh.size, 0.6) < ALPHA
    assert settings.repairs == math.ceil(30 / math.log(30) ** 2)
    assert settings.repair_scale < settings.noise_scale


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"queries": 0}, "queries"),
        ({"epsilon": 1.5}, "epsilon"),
        ({"epsilon": 1e-9}, "epsilon is 1e-09"),
        ({"delta": 0.6}, "delta"),
        ({"inner": "laplace"}, "inner"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(changed, message):
    given = {"queries": 3, "epsilon": 1.0, "delta": 0.1} | changed
    with pytest.raises(InputError, match=message):
        release.query_release(**given)


@pytest.mark.parametrize("inner", ["gaussian", "repaired"])
@pytest.mark.parametrize("sharp", [False, True])
def test_least_epsilon_is_served(inner, sharp):
    found = release.query_release(1, LEAST_EPSILON, 0.1, inner=inner, sharp=sharp)
    assert math.isfinite(found.cap)


def test_repaired_mechanism_has_no_exact_error_law():
    settings = release.query_release(10, 1.0, 0.1, inner="repaired")
    with pytest.raises(InputError, match="exact"):
        release.released_error(settings)
