"""Truncated Laplace noise: its exact delta, as LT-E17 and CL-E11 use it."""

import math

import mpmath as mp
import pytest

from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_delta


@pytest.mark.parametrize(
    ("epsilon", "truncation", "shift", "at"),
    [
        (0.99, 0.24, 1.0, 0.99),
        (1.0, 0.5, 1.0, 1.0),
        (1.0, 0.5, 1.0, 0.2),
        (1 / 3, 1e-3, 2.0, 1 / 3),
        (0.5, 0.9, 1.0, 0.5),
    ],
)
@mp.workdps(30)
def test_truncated_laplace_delta_by_quadrature(epsilon, truncation, shift, at):
    end = -mp.log(truncation) / epsilon
    scale = mp.mpf(epsilon) / (2 * (1 - mp.mpf(truncation)))

    def density(x):
        return scale * mp.e ** (-epsilon * abs(x)) if abs(x) < end else mp.mpf(0)

    def excess(x):
        return max(density(x) - mp.e**at * density(x - shift), mp.mpf(0))

    crossing = (shift - mp.mpf(at) / epsilon) / 2
    points = sorted({-end, mp.mpf(0), shift - end, min(crossing, end), end})
    exact = mp.quad(excess, [x for x in points if -end <= x <= end])
    found = truncated_laplace_delta(epsilon, truncation, shift, at)
    # At epsilon itself the excess is 0 but for rounding beyond one point.
    assert found == pytest.approx(float(exact), abs=1e-10)


def test_stated_values_of_truncated_laplace_noise():
    assert truncated_laplace_delta(0.99, 0.24) == pytest.approx(0.2670, abs=1e-4)
    assert truncated_laplace_delta(1.0, 0.5) == pytest.approx(0.7642, abs=1e-4)
    edge = (3 - math.e) / 2  # delta at which epsilon = 1 is just enough
    assert truncated_laplace_delta(1.0, edge) == pytest.approx(edge, rel=1e-12)
