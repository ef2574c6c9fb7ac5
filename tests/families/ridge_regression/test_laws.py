"""Exact laws of private regression on the line, against quadrature and plain code."""

import math

import numpy as np
import pytest
from scipy import integrate

from jaxsel import repetitions as laws
from jaxsel.families.ridge_regression import laws as exact
from jaxsel.families.ridge_regression.entries import posterior_sampling_ptr
from jaxsel.families.ridge_regression.line import binned_coefficient
from jaxsel.families.ridge_regression.settings import calibrate_run
from jaxsel.host.errors import InputError
from tests.families.ridge_regression.test_mechanisms import DATA

LINE = exact.Line(square=18.0, cross=11.0, records=40)
RUN = calibrate_run(1.5, 0.02)
EDGES = np.array([0.2, 0.5, 0.8])


def test_finer_quadrature_gives_the_same_law(monkeypatch):
    found = exact.run_law(RUN, LINE, 3.0, EDGES)
    assert 0.05 < found[-1] < 0.95
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert found[-1] == pytest.approx(
        1.0 - exact.pass_probability(RUN, LINE.square, 3.0), abs=1e-10
    )
    monkeypatch.setattr(exact, "_WIDTH", 1.0)
    exact._run_bins.cache_clear()
    finer = exact.run_law(RUN, LINE, 3.0, EDGES)
    np.testing.assert_allclose(found, finer, atol=1e-9)


def test_bins_of_a_gaussian():
    found = exact.gaussian_bins(np.array([-1.0, 6.0, 9.0]), 0.5, 0.8)

    def density(x):
        return math.exp(-0.5 * ((x - 0.5) / 0.8) ** 2) / 0.8 / math.sqrt(2.0 * math.pi)

    for place, (low, high) in enumerate(((-9.0, -1.0), (-1.0, 6.0), (6.0, 9.0))):
        expected = integrate.quad(density, low, high, epsabs=0.0, epsrel=1e-10)[0]
        assert found[place] == pytest.approx(expected, rel=1e-8)


def test_one_run_of_the_tuned_algorithm_is_a_run():
    """K = 1: scores do not matter, and the regularisation is uniform."""
    law = laws.point_mass(1)
    grid = np.array([3.0, 9.0])
    found = exact.tuned_run_law(RUN, LINE, grid, law, (LINE, 2.0), EDGES)
    expected = np.mean([exact.run_law(RUN, LINE, each, EDGES) for each in grid], axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_scores_without_noise_choose_the_nearest():
    """Many runs, exact scores: the coefficient is near C/S, if any run passes."""
    law, near = laws.point_mass(200), exact.Line(10.0, 6.5, 10)
    found = exact.tuned_run_law(RUN, LINE, np.array([3.0]), law, (near, 1e-9), EDGES)
    assert found[2] > 0.999  # 0.65 lies in [0.5, 0.8)


@pytest.mark.parametrize(
    ("data", "edges", "message"), [(DATA, [0.0, 1.0], "columns"), (None, [1.0, 0.0], "increasing")]
)
def test_bad_input_is_refused(data, edges, message):
    built = posterior_sampling_ptr()
    params = dict(built.params) | {"edges": np.array(edges)}
    if data is not None:
        params["records"] = 10_000
    with pytest.raises(InputError, match=message):
        binned_coefficient("posterior_sampling_ptr").prepare(
            built.data if data is None else data, params
        )
