"""Exact tuned laws, against sums over K in high precision and direct quadrature."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_index_law, tuned_law

BOUNDED = [
    laws.point_mass(1),
    laws.point_mass(60),
    laws.binomial(12, 0.3),
    laws.binomial(200, 0.01),
    laws.conditioned(laws.geometric(0.05), 40),
    laws.capped(laws.logarithmic(0.02), 30),
]
SMALL = np.array([1e-13, 0.2, 1e-15, 1e-6, 0.3, 0.5 - 1e-6 - 1.01e-13, 0.0])


def direct_sum(q, law):
    """P[best is i] = sum_k P[K = k] (cdf_i^k - cdf_(i-1)^k), in 60 digits."""
    with mpmath.workdps(60):
        q = [mpmath.mpf(float(x)) for x in q]
        rest = [sum(q[i:]) for i in range(len(q) + 1)]
        total = rest[0]
        rest = [x / total for x in rest]
        counts = range(0, law.maximum + 1)
        mass = [mpmath.mpf(float(law.pmf(k))) for k in counts]
        mass = [x / sum(mass) for x in mass]
        f = [sum(w * x**k for k, w in zip(counts, mass, strict=True)) for x in rest]
        return np.array([float(f[i] - f[i + 1]) for i in range(len(q))] + [mass[0]])


@pytest.mark.parametrize("law", BOUNDED, ids=lambda law: law.name)
@pytest.mark.parametrize("base", [SMALL, SMALL[::-1]], ids=["rare best", "rare worst"])
def test_matches_the_sum_over_k(law, base):
    want = direct_sum(base, law)
    got = tuned_law(base, law)
    assert got.sum() == pytest.approx(1.0, abs=1e-12)
    # the largest relative error is that of pmf itself, about 1e-14 a term
    np.testing.assert_allclose(got, want.astype(float), rtol=1e-11, atol=0)


@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 0.5, 0.99])
def test_geometric_has_a_closed_form(gamma):
    q = SMALL / SMALL.sum()
    edges = np.concatenate([[0.0], np.cumsum(q)]) * (1 - gamma) + gamma
    want = gamma * q / (edges[:-1] * edges[1:])
    got = tuned_law(q, laws.geometric(gamma))
    np.testing.assert_allclose(got[:-1], want, rtol=1e-12)
    assert got[-1] == 0.0


@pytest.mark.parametrize(
    "law",
    [
        laws.poisson(300.0),
        laws.poisson(0.2),
        laws.truncated_negative_binomial(-0.7, 1e-8),
        laws.truncated_negative_binomial(5.0, 1e-4),
        laws.logarithmic(1e-9),
    ],
    ids=lambda law: law.name,
)
def test_rare_outcomes_keep_their_digits(law):
    q = np.array([1e-3, 1e-17, 0.4, 1e-25, 0.599, 1e-12])
    q = q / q.sum()
    got = tuned_law(q, law)
    better = np.concatenate([[0.0], np.cumsum(q)])
    # where q is tiny beside what f' varies over, the law is q f'
    for i in (1, 3):
        slope = law.pgf_derivative_tail(better[i])
        assert got[i] == pytest.approx(q[i] * slope, rel=1e-9)
    assert got.sum() == pytest.approx(1.0, abs=1e-12)


def test_one_run_is_the_base_and_no_run_is_last():
    np.testing.assert_allclose(tuned_law([0.2, 0.3, 0.5], laws.point_mass(1)), [0.2, 0.3, 0.5, 0.0])
    law = tuned_law([0.2, 0.8], laws.poisson(1.5))
    assert law[-1] == pytest.approx(math.exp(-1.5))
    assert law[0] == pytest.approx(-math.expm1(-0.3))


SCORES = [0.0, 2.0, 2.0, -1.5, 3.1]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("gamma", [0.3, 1e-3, 1e-9])
def test_index_law_of_the_geometric_law(noise, gamma):
    family = {"laplace": stats.laplace, "gaussian": stats.norm}[noise]
    scale = 0.7
    got = tuned_index_law(SCORES, scale, laws.geometric(gamma), noise=noise)
    assert got.sum() == pytest.approx(1.0, abs=1e-10)
    assert got[1] == pytest.approx(got[2], rel=1e-12)
    for j in (0, 1, 4):

        def integrand(y, j=j):
            tail = np.mean([family.sf(y, s, scale) for s in SCORES])
            density = family.pdf(y, SCORES[j], scale) / len(SCORES)
            return gamma * density / (gamma + (1 - gamma) * tail) ** 2

        want, _ = integrate.quad(
            integrand, -30, 60, points=[*SCORES, 6, 9, 13, 17], epsabs=1e-12, limit=900
        )
        assert got[j] == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [laws.point_mass(1), laws.poisson(7.0), laws.logarithmic(1e-6), laws.binomial(5, 1.0)],
    ids=lambda law: law.name,
)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_index_law_sums_to_one_and_follows_the_scores(law, noise):
    got = tuned_index_law(SCORES, 1.0, law, noise=noise)
    assert got.sum() == pytest.approx(1.0, abs=1e-10)
    assert got[-1] == law.probability_zero
    if law.mean == 1.0:
        np.testing.assert_allclose(got[:-1], 0.2, atol=1e-10)
    else:
        assert got[4] > got[1] > got[0] > got[3]
    shifted = tuned_index_law(np.array(SCORES) + 1e3, 1.0, law, noise=noise)
    np.testing.assert_allclose(got, shifted, atol=1e-10)


def test_index_law_by_ordering_two_draws():
    # K = 2 and two candidates: the best is candidate 0 with probability
    # 1/4 + 1/2 P[noisy score 0 > noisy score 1]
    got = tuned_index_law([0.0, 1.0], 1.0, laws.point_mass(2), noise="gaussian")
    wins = stats.norm.sf(1.0, 0.0, math.sqrt(2.0))
    assert got[0] == pytest.approx(0.25 + 0.5 * wins, abs=1e-11)


def test_index_law_with_one_candidate_and_with_far_ones():
    one = tuned_index_law([3.0], 0.1, laws.geometric(0.01))
    np.testing.assert_allclose(one, [1.0, 0.0], atol=1e-10)
    far = tuned_index_law([0.0, 500.0], 1.0, laws.point_mass(3))
    # the far one wins unless it is never drawn
    np.testing.assert_allclose(far, [1 / 8, 7 / 8, 0.0], atol=1e-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tuned_law([0.5, 0.6], laws.poisson(1.0)),
        lambda: tuned_law([], laws.poisson(1.0)),
        lambda: tuned_index_law([], 1.0, laws.poisson(1.0)),
        lambda: tuned_index_law([0.0, math.nan], 1.0, laws.poisson(1.0)),
        lambda: tuned_index_law([[0.0]], 1.0, laws.poisson(1.0)),
        lambda: tuned_index_law([0.0], 0.0, laws.poisson(1.0)),
        lambda: tuned_index_law([0.0], 1.0, laws.poisson(1.0), noise="cauchy"),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
