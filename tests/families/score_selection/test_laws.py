"""Noisy candidates, Theorem 5.2's settings, classical laws, by independent routes."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import laplace_delta
from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_delta
from jaxsel.families.score_selection.candidate_laws import (
    index_law,
    largest_loss,
    noisy_candidates,
    released_delta,
)
from jaxsel.families.score_selection.classical_laws import (
    exponential_law,
    exponential_loss,
    generalised_exponential_law,
    generalised_exponential_loss,
    margin_law,
    margin_needed,
)
from jaxsel.families.score_selection.settings import (
    exponential_selection,
    generalised_selection,
    generalised_selection_loss,
    margin_selection,
    margin_selection_needed,
    smooth_selection,
    smooth_selection_loss,
    smooth_selection_smoothness,
    validation_runs,
)
from jaxsel.families.score_selection.smooth_sensitivity import (
    median,
    median_smooth_sensitivity,
    smooth_laplace_scale,
    smooth_laplace_smoothness,
)
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_index_law

GEOMETRIC = laws.geometric(0.02)
FAMILIES = (GEOMETRIC, laws.poisson(7.0), laws.beta_binomial(40, 1.0))


# --- exact laws -----------------------------------------------------------------------


@pytest.mark.parametrize("law", FAMILIES, ids=lambda law: law.family)
def test_index_law_of_one_scale_is_the_adaptive_quadrature(law):
    scores = np.random.default_rng(1).normal(0.0, 4.0, 12)
    found = index_law(noisy_candidates(scores, 1.5), law)
    np.testing.assert_allclose(found, tuned_index_law(scores, 1.5, law), atol=1e-11)


def by_quad(candidates, law) -> np.ndarray:
    """The index law from densities written out again, by adaptive quadrature."""
    q, b, w, bound = candidates
    kept = 1.0 - math.exp(-bound)

    def density(i, y):
        z = abs(y - q[i]) / b[i]
        return w[i] * math.exp(-z) / (2 * b[i] * kept) if z <= bound else 0.0

    def above(y):
        total = 0.0
        for i in range(q.size):
            z = min(max((y - q[i]) / b[i], -bound), bound)
            tail = (math.exp(-abs(z)) - math.exp(-bound)) / (2 * kept)
            total += w[i] * (tail if z > 0 else 1.0 - tail)
        return total

    reach = b * min(bound, 60.0)
    points = sorted({*q, *(q - reach), *(q + reach)})
    result = []
    for i in range(q.size):
        pieces = [
            integrate.quad(
                lambda y, i=i: density(i, y) * float(law.pgf_derivative_tail(above(y))),
                low,
                high,
                epsabs=1e-13,
                epsrel=1e-11,
                limit=400,
            )[0]
            for low, high in itertools.pairwise(points)
        ]
        result.append(math.fsum(pieces))
    return np.array(result)


@pytest.mark.parametrize("bound", [0.5, 9.0, math.inf])
def test_index_law_of_different_scales_weights_and_bounds(bound):
    candidates = noisy_candidates(
        [0.0, 3.0, -20.0], [1.0, 0.2, 15.0], weights=[0.5, 0.3, 0.2], noise_bound=bound
    )
    for law in (GEOMETRIC, laws.geometric(1e-4)):
        found = index_law(candidates, law)
        np.testing.assert_allclose(found[:-1], by_quad(candidates, law), rtol=1e-8)
        assert found.sum() == pytest.approx(1.0, abs=1e-11)


def test_index_law_sums_to_one_everywhere():
    generator = np.random.default_rng(2)
    for _ in range(30):
        count = int(generator.integers(1, 60))
        candidates = noisy_candidates(
            generator.normal(0.0, 10.0 ** generator.uniform(-1, 1.5), count),
            10.0 ** generator.uniform(-1.0, 2.0, count),
            weights=generator.dirichlet(np.ones(count)),
            noise_bound=float(generator.choice([0.1, 2.0, 30.0, math.inf])),
        )
        law = laws.geometric(float(10.0 ** generator.uniform(-6.0, -0.1)))
        assert index_law(candidates, law).sum() == pytest.approx(1.0, abs=1e-11)


def test_equal_candidates_share_by_weight():
    candidates = noisy_candidates([1.0, 1.0, 0.0], 1.0, weights=[0.1, 0.3, 0.6])
    law = index_law(candidates, GEOMETRIC)
    assert law[1] == pytest.approx(3.0 * law[0], rel=1e-14)
    merged = noisy_candidates([1.0, 0.0], 1.0, weights=[0.4, 0.6])
    assert index_law(merged, GEOMETRIC)[0] == pytest.approx(law[0] + law[1], rel=1e-13)


def test_one_run_of_one_candidate_has_the_loss_of_its_noise():
    once = laws.point_mass(1)
    for shift, scale in ((1.0, 2.0), (0.3, 0.1)):
        first, second = (noisy_candidates([q], scale) for q in (0.0, shift))
        assert largest_loss(first, second, once) == pytest.approx(shift / scale)
        for epsilon in (0.0, 0.2):
            delta = released_delta(first, second, once, epsilon)
            exact = laplace_delta(epsilon, scale / shift)
            assert delta == pytest.approx(exact, abs=2e-4)
    first, second = (noisy_candidates([q], 2.0, noise_bound=3.0) for q in (0.0, 1.0))
    exact = truncated_laplace_delta(0.5, math.exp(-3.0))
    assert released_delta(first, second, once, 0.5) == pytest.approx(exact, rel=1e-6)


def test_released_pair_loses_more_than_the_index():
    first = noisy_candidates([1.0, 0.0], 3.0)
    second = noisy_candidates([0.0, 1.0], 3.0)
    chosen = [index_law(side, GEOMETRIC)[:-1] for side in (first, second)]
    index_loss = float(np.max(np.abs(np.log(chosen[0] / chosen[1]))))
    assert index_loss < largest_loss(first, second, GEOMETRIC) <= 1.0


# --- settings -------------------------------------------------------------------------


def test_settings_are_those_of_the_theorem():
    scores, s, epsilon, beta = np.array([3.0, 1.0]), np.array([1.0, 4.0]), 0.6, 0.1
    plain = exponential_selection(scores, 2.0, epsilon, beta)
    assert plain.gamma == pytest.approx(beta / 4.0)
    np.testing.assert_allclose(plain.candidates.noise_scales, 10.0)
    shifted = generalised_selection(scores, s, epsilon, beta)
    np.testing.assert_allclose(shifted.candidates.noise_scales, 5.0 * s)
    lowered = scores - shifted.candidates.scores
    np.testing.assert_allclose(lowered, 10.0 * s * math.log(20.0))
    assert generalised_selection_loss(scores, s, epsilon, beta) == pytest.approx(
        10.0 * math.log(20.0)
    )
    sharp = generalised_selection(scores, s, epsilon, beta, sharp=True)
    assert sharp.gamma == pytest.approx(beta / 8.0)
    lowered = scores - sharp.candidates.scores
    np.testing.assert_allclose(lowered, 5.0 * s * math.log(8.0 / beta**2))
    margin = margin_selection(scores, 1.0, epsilon, 1e-3, beta)
    half = margin.candidates.noise_bound * margin.candidates.noise_scales[0]
    assert half == pytest.approx(margin_selection_needed(2, 1.0, epsilon, 1e-3, beta))
    smooth = smooth_selection(scores, s, epsilon, beta)
    np.testing.assert_allclose(smooth.candidates.noise_scales, 20.0 * s)
    assert smooth_selection_loss(scores, s, epsilon, beta) == pytest.approx(40.0 * math.log(20.0))


def test_the_sharp_loss_is_smaller_from_four_candidates_on():
    for count in (2, 3, 4, 100):
        losses = [
            generalised_selection_loss(np.zeros(count), 1.0, 1.0, 0.1, sharp=sharp)
            for sharp in (False, True)
        ]
        assert (losses[1] <= losses[0] * (1 + 1e-12)) == (count >= 4)


def test_smoothness_keeps_the_shifted_score_smooth():
    for count, epsilon, delta, beta in ((10, 1.0, 1e-6, 0.1), (1000, 0.1, 0.3, 0.5)):
        eta = smooth_selection_smoothness(count, epsilon, delta, beta)
        selection = smooth_selection([0.0] * count, 1.0, epsilon, beta)
        lowered = -float(selection.candidates.scores[0])
        # Bounds 1 and e^eta: the shift moves by no more than the bound.
        assert lowered * math.expm1(eta) <= 1.0 + 1e-12
        gamma = beta / (2.0 * count)
        one_run = smooth_laplace_smoothness(epsilon / 3.0, gamma * delta)
        assert eta <= one_run
    assert smooth_laplace_scale(2.0, 0.5) == 8.0


def test_validation_runs_are_learners_and_models():
    runs = validation_runs([[0.25, 0.75], [1.0, 0.0]], [3.0, 1.0], 0.5)
    np.testing.assert_allclose(runs.weights, [0.125, 0.375, 0.5, 0.0])
    np.testing.assert_allclose(runs.scores, [3.0, 1.0, 3.0, 1.0])


# --- classical mechanisms -------------------------------------------------------------


def test_exponential_law_and_loss():
    law = exponential_law([0.0, 2.0], 0.5, 0.7)
    assert law[1] / law[0] == pytest.approx(math.exp(0.7 * 2.0 / (2 * 0.5)))
    # At the loss itself one bad candidate has weight beta/K.
    loss = exponential_loss(10, 0.5, 0.7, 0.2)
    assert math.exp(-0.7 * loss / (2 * 0.5)) == pytest.approx(0.02)


def test_generalised_exponential_law_written_out():
    q, s, epsilon, beta = [3.0, 1.0, 7.0], [1.0, 0.5, 9.0], 0.8, 0.3
    t = 2.0 / epsilon * math.log(3 / beta)
    best = [
        min(((q[i] - t * s[i]) - (q[j] - t * s[j])) / (s[i] + s[j]) for j in range(3))
        for i in range(3)
    ]
    weights = [math.exp(epsilon * value / 2.0) for value in best]
    expected = np.array(weights) / sum(weights)
    found = generalised_exponential_law(q, s, epsilon, beta)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    loss = generalised_exponential_loss(q, s, epsilon, beta)
    assert loss == pytest.approx(min(7.0 - a + 2 * t * b for a, b in zip(q, s, strict=True)))


def test_margin_law_and_what_it_needs():
    law = margin_law([4.0, 0.0, 1.0], 0.5, 1.0, 1e-2)
    z = -math.log(0.02) - (3.0 - 1.0)  # lead 3, twice s is 1
    assert law[0] == pytest.approx(0.5 * math.exp(-z))
    assert law[1] == law[2] == 0.0
    assert law.sum() == pytest.approx(1.0, abs=1e-15)
    lead = margin_needed(0.5, 1.0, 1e-2, 0.05)
    assert margin_law([lead, 0.0], 0.5, 1.0, 1e-2)[0] == pytest.approx(0.95)
    # A lead of at most 2 s is released with chance at most delta.
    assert margin_law([1.0, 0.0], 0.5, 1.0, 1e-2)[0] == pytest.approx(1e-2)


# --- smooth sensitivity ---------------------------------------------------------------


def median_local_sensitivity(values, high, distance):
    """How far the median moves when one value is replaced, k others replaced before.

    max over t = 0..k+1 of x_(m+t) - x_(m+t-k-1), x sorted, 0 below and ``high`` above.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    k = min(distance, ordered.size)
    padded = np.concatenate([np.zeros(k + 1), ordered, np.full(k + 1, high)])
    m = k + 1 + (ordered.size - 1) // 2
    return float(np.max(padded[m : m + k + 2] - padded[m - k - 1 : m + 1]))


def test_local_sensitivity_at_a_distance_by_enumeration():
    high, size = 3, 4
    lists = list(itertools.product(range(high + 1), repeat=size))

    def apart(a, b):
        return sum(x != y for x, y in zip(a, b, strict=True))

    local = {a: max(abs(median(a) - median(b)) for b in lists if apart(a, b) <= 1) for a in lists}
    for a in lists[::7]:
        for k in range(size + 1):
            expected = max(local[b] for b in lists if apart(a, b) <= k)
            assert median_local_sensitivity(a, high, k) == expected


def test_smooth_sensitivity_is_smooth_and_covers_the_local_one():
    generator = np.random.default_rng(3)
    for _ in range(50):
        size, eta = int(generator.integers(1, 60)), float(generator.uniform(0.01, 1.0))
        values = generator.integers(0, 51, size)
        other = values.copy()
        other[0] = generator.integers(0, 51)
        found = [median_smooth_sensitivity(v, 50, eta) for v in (values, other)]
        assert abs(math.log(found[0] / found[1])) <= eta + 1e-12
        assert found[0] >= abs(median(values) - median(other))
        plain = max(
            math.exp(-eta * k) * median_local_sensitivity(values, 50, k) for k in range(size + 1)
        )
        assert found[0] == pytest.approx(plain, rel=1e-13)


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: noisy_candidates([[1.0]], 1.0), "one list"),
        (lambda: noisy_candidates([1.0], 0.0), "must be positive"),
        (lambda: noisy_candidates([1.0, 2.0], [1.0] * 3), "there are 2 scores"),
        (lambda: noisy_candidates([1.0], 1.0, weights=[0.5]), "sum to 1"),
        (lambda: noisy_candidates([1.0], 1.0, noise_bound=0.0), "noise_bound is 0"),
        (lambda: generalised_selection([1.0], [-1.0], 1.0, 0.1), "1 positive numbers"),
        (lambda: exponential_selection([1.0], 1.0, 1.0, 1.0), "beta is 1"),
        (lambda: margin_selection([1.0], 1.0, 5.0, 0.1, 0.1), "epsilon is 5"),
        (lambda: margin_law([1.0], 1.0, 1.0, 0.1), "at least two"),
        (lambda: validation_runs([[0.5, 0.6]], [1.0, 0.0], 1.0), "probability vector"),
        (lambda: validation_runs([[0.5, 0.5]], [1.0], 1.0), "one number a model"),
        (lambda: median_smooth_sensitivity([3.0], 2.0, 0.1), r"lie in \[0, 2\]"),
        (lambda: median_smooth_sensitivity([1.0], 2.0, 0.0), "smoothness is 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
