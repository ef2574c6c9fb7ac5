"""Numbers behind the errata of Liu & Talwar 2019, Section 4, and of CL-E1."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from jaxsel.catalogue import find_claim
from jaxsel.families.percentile.claims.single_tests import always_level, level
from jaxsel.families.percentile.settings import algorithm_4, algorithm_5
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.language.base import Budget
from tests.conftest import ALPHA


def _mp_laplace_cdf(x):
    return mp.e**x / 2 if x < 0 else 1 - mp.e ** (-x) / 2


@pytest.mark.parametrize(("earlier", "shown"), [(0, None), (5, 0.73), (20, 0.913), (200, 0.990)])
@mp.workdps(30)
def test_far_query_fails_given_earlier_failures(earlier, shown):
    height = 3 * mp.log(10)

    def all_fail(count):
        def density(z):
            return mp.e ** (-abs(z)) / 2 * _mp_laplace_cdf((z - height) / 2) ** count

        return mp.quad(density, [-60, -20, 0, height, 2 * height, 4 * height, 80])

    joint = all_fail(earlier + 1)
    law = halting_law([level(10.0)] * (earlier + 1), 2.0, 1.0)
    np.testing.assert_allclose(law[-1], float(joint), rtol=1e-9)
    np.testing.assert_allclose(law.sum(), 1.0, rtol=1e-12)
    if shown is None:
        np.testing.assert_allclose(law[0], 0.9790848155988775, rtol=1e-12)
    else:
        assert float(joint / all_fail(earlier)) == pytest.approx(shown, abs=6e-4)


@mp.workdps(30)
def test_halting_query_with_every_sample_passing():
    test = algorithm_4()
    shown = 1 - (4 * mp.e ** (-mp.mpf(always_level(test)) / (2 * test.threshold_scale)))
    law = halting_law([always_level(test)], test.query_scale, test.threshold_scale)
    assert law[0] == pytest.approx(0.99955, abs=1e-5)
    # The second term of the tail is 1e-7 of the first.
    tail = 1 - (1 - shown) / 6
    assert law[0] == pytest.approx(float(tail), abs=1e-6)


def test_late_halt_by_running_algorithm_4():
    setting = {"slack": 0.1, "base_epsilon": 0.01, "final_epsilon": 100.0}
    test = algorithm_4(target=0.9, **setting)
    grown = math.exp(0.1) * (3 / 0.1) ** test.exponent
    shares = np.array([1 - 1 / (1 + grown / (2 * 0.1)), 1.0])
    generator = np.random.default_rng(3)
    n = 20_000
    counts = generator.binomial(test.samples, shares, (n, 2))
    value = np.log((counts + test.shift) / (test.samples - counts + test.shift))
    goal = (0.9 * test.samples + test.shift) / (0.1 * test.samples + test.shift)
    noise = generator.laplace(0.0, test.query_scale, (n, 2))
    threshold = math.log(goal) + generator.laplace(0.0, test.threshold_scale, (n, 1))
    passed = value + noise >= threshold
    late = int(np.sum(~passed[:, 0] & passed[:, 1]))
    verdict = find_claim("LT-Thm4.4(c)-constant-printed").check(Budget())
    assert late > n * verdict.claimed
    assert stats.binomtest(late, n, min(verdict.observed, 1.0)).pvalue > ALPHA


def test_small_shift_by_running_algorithm_5():
    verdict = find_claim("LT-Thm4.6(c)-shift-printed").check(Budget())
    test = algorithm_5(
        target=0.01,
        beta=1e-4,
        slack=0.05,
        base_epsilon=0.99,
        final_epsilon=1e4,
        delta=1e-6,
        thresholds=3,
    )
    generator = np.random.default_rng(4)
    n = 400_000
    reached = generator.binomial(test.samples, 0.01, n)
    # thresholds 1, 1/2, 0 are reached by 0, reached and all samples
    counts = np.stack([np.zeros(n), reached, np.full(n, test.samples)], axis=1)
    noise = generator.laplace(0.0, test.query_scale, (n, 3))
    nu = generator.laplace(0.0, test.threshold_scale, (n, 1))
    goal = math.log(test.samples * 0.01 + test.shift) - test.offset
    passed = np.log(counts + test.shift) + noise >= nu + goal
    last = int(np.sum(passed.argmax(axis=1) == 2))
    assert stats.binomtest(last, n, verdict.observed).pvalue > ALPHA
    assert stats.binomtest(last, n, verdict.claimed, "greater").pvalue < ALPHA


@mp.workdps(30)
def test_poisson_tail_behind_the_shift():
    # epsilon_0 = 0.05, epsilon_1 = 1, T = 10, delta = 1e-6
    constant = 2 * (mp.e ** mp.mpf("1.05") + 1 + mp.e ** mp.mpf("0.025"))
    shift = constant * mp.log(8e7) / (mp.mpf("0.05") * (mp.e ** mp.mpf("1.05") - 1))
    assert float(shift) == pytest.approx(1913, abs=0.5)
    mean = shift
    least = mp.floor(mp.e ** mp.mpf("0.025") * (mean + shift) - shift) + 1
    tail = mp.gammainc(least, 0, mean, regularized=True)
    assert 1e-2 < float(tail) < 2e-2
    verdict = find_claim("LT-Thm4.4-step-F3-printed").check(Budget())
    assert verdict.observed >= float(tail)


@mp.workdps(30)
def test_three_blocks_under_selection_by_quadrature():
    # best 0.05 against 0.05 e^0.5, middle 0.001 e^0.5 against 0.001; T = 200, p uniform
    grown = mp.e ** mp.mpf("0.5")

    def middle(best, own):
        def chance(p):
            return (1 - p * best) ** 200 - (1 - p * (best + own)) ** 200

        return mp.quad(chance, [0, 0.01, 0.1, 1])

    tiny = mp.mpf("0.001")
    loss = mp.log(middle(mp.mpf("0.05"), tiny * grown))
    loss -= mp.log(middle(mp.mpf("0.05") * grown, tiny))
    assert float(loss) == pytest.approx(1.479, abs=1e-3)
    verdict = find_claim("CL-Thm4-furthermore-printed").check(Budget())
    assert verdict.observed > 10 * verdict.claimed
