"""Private linear regression: samplers against exact laws, closed forms and plain code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.families.ridge_regression import posterior
from jaxsel.families.ridge_regression import posterior_privacy as privacy
from jaxsel.families.ridge_regression.baseline_settings import (
    balanced_precision,
    balanced_regularisation,
    output_perturbation_regularisation,
)
from jaxsel.families.ridge_regression.baselines import (
    balanced_posterior_sampling,
    expected_error,
    output_perturbation,
)
from jaxsel.families.ridge_regression.laws import pass_probability
from jaxsel.families.ridge_regression.linear_regression import ridge, ridge_of
from jaxsel.families.ridge_regression.settings import calibrate_run
from jaxsel.families.ridge_regression.tuned import calibrate_tuned
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import binomial_p_value, goodness_of_fit, mean_interval
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import moments, read_moments
from tests.conftest import ALPHA

DELTA = 1e-5
TRIALS = 20_000
BLIND = {"epsilon": 1.0, "delta": DELTA}


def _part(prefix, n, seed, d=3):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, d)) * np.array([1.0, 0.7, 0.3])[:d]
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    targets = np.clip(
        rows @ np.array([0.6, -0.4, 0.5])[:d] + 0.1 * generator.standard_normal(n), -1, 1
    )
    return {f"{prefix}features": rows, f"{prefix}targets": targets}


DATA = _part("", 600, 1) | _part("validation_", 300, 2) | _part("test_", 200, 3)
GRID = np.array([3.0, 30.0, 300.0])


def draw(mechanism, data, params, trials=TRIALS, seed=7):
    """Outcomes of many trials, as NumPy arrays."""
    with jax.enable_x64(True):
        prepared, numbers = mechanism.prepare(data, params)
        first, second, _ = stream.make_key(seed)
        lanes = jnp.arange(trials, dtype=jnp.uint32)
        sample = jax.jit(
            jax.vmap(
                lambda lane: mechanism.sample(stream.Key(first, second, lane), prepared, numbers)
            )
        )
        return jax.tree.map(np.asarray, sample(lanes))


def solve(data, lam):
    rows, targets = data["features"], data["targets"]
    return np.linalg.solve(rows.T @ rows + lam * np.eye(rows.shape[1]), rows.T @ targets)


def mean_squared_error(coefficients):
    rows, targets = DATA["test_features"], DATA["test_targets"]
    return np.mean((targets - rows @ coefficients) ** 2)


# --- Without privacy, and without a test ----------------------------------------------


def test_ridge_is_ridge():
    found = draw(ridge(), DATA, {"regularisation": 2.0}, trials=2)
    expected = solve(DATA, 2.0)
    np.testing.assert_allclose(found.coefficients, [expected, expected], rtol=1e-9)
    np.testing.assert_allclose(found.error, mean_squared_error(expected), rtol=1e-9)
    assert expected_error(ridge(), DATA, {"regularisation": 2.0}) == pytest.approx(
        mean_squared_error(expected)
    )
    unit = {"regularisation": 2.0, "error_unit": 0.5}
    assert expected_error(ridge(), DATA, unit) == pytest.approx(2.0 * mean_squared_error(expected))
    training = {k: v for k, v in DATA.items() if not k.startswith("test_")}
    assert np.isnan(draw(ridge(), training, {"regularisation": 2.0}, 1).error).all()


def _scaled_squares(found, params, deviations):
    """Squared distances from the solution, in units of what they should be on average."""
    away = found.coefficients - solve(DATA, params["regularisation"])
    return float(np.sum((away @ np.linalg.inv(deviations)) ** 2)), away.size


def _accepts_only(total, size):
    """The sum of squares of standard normals; a deviation 5 % wrong is rejected."""
    assert min(stats.chi2.sf(total, size), stats.chi2.cdf(total, size)) > ALPHA / 2
    for wrong in (0.95, 1.05):
        scaled = total / wrong**2
        assert min(stats.chi2.sf(scaled, size), stats.chi2.cdf(scaled, size)) < ALPHA / 2


def test_output_perturbation_has_the_calibrated_noise():
    params = BLIND | {"regularisation": 20.0}
    found = draw(output_perturbation(), DATA, params)
    scale = gaussian_noise_multiplier(1.0, DELTA) * privacy.ridge_sensitivity(20.0, 600)
    _accepts_only(*_scaled_squares(found, params, scale * np.eye(3)))
    assert not found.label.any()


def test_balanced_sampling_has_the_calibrated_noise():
    params = BLIND | {"regularisation": 80.0}
    found = draw(balanced_posterior_sampling(), DATA, params)
    precision = balanced_precision(80.0, 600, 1.0, DELTA)
    rows = DATA["features"]
    covariance = np.linalg.inv(precision * (rows.T @ rows + 80.0 * np.eye(3)))
    root = np.linalg.cholesky(covariance).T
    _accepts_only(*_scaled_squares(found, params, root))
    # On the worst data the privacy is used up: the tail bound is met with equality.
    shift = np.sqrt(precision / 80.0) * (1.0 + privacy.ridge_norm_bound(80.0, 600))
    tail = privacy.tail_of(DELTA)
    assert privacy.posterior_epsilon(tail, 1 / 80.0, shift) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "mechanism",
    [output_perturbation(), balanced_posterior_sampling()],
    ids=lambda mechanism: mechanism.name,
)
def test_expected_error_is_the_mean(mechanism):
    expected = expected_error(mechanism, DATA, BLIND)
    low, high = 0.0, 25.0 * expected
    sums = simulate_grid(
        mechanism,
        [(DATA, BLIND)],
        trials=TRIALS,
        seed=1,
        progress=False,
        statistic=moments(_error, low, high),
    ).values
    cell = {key: value[0] for key, value in sums.items()}
    assert read_moments(cell, low, high).outside == 0
    squares = (int(cell["square_high"]) << 30) + int(cell["square_low"])
    limits = mean_interval(TRIALS, int(cell["sum"]), squares, 1 - ALPHA, 0.0, 2.0**30)
    lower, upper = (x * high / 2**30 for x in limits)
    assert lower <= expected <= upper
    assert not lower <= 1.3 * expected <= upper  # power


def _error(release):
    return release.error


def test_regularisations_are_public_numbers_that_balance():
    for epsilon in (0.1, 1.0, 5.0):
        lam = output_perturbation_regularisation(5000, epsilon, 1e-6)
        scale = gaussian_noise_multiplier(epsilon, 1e-6)

        def cost(value, scale=scale):
            return 5000 * (scale * privacy.ridge_sensitivity(value, 5000)) ** 2 + value

        assert cost(lam) <= min(cost(0.9 * lam), cost(1.1 * lam))
        balanced = balanced_regularisation(5000, 10, epsilon, 1e-6)
        assert balanced_precision(balanced, 5000, epsilon, 1e-6) > 0.0


# --- Behind a test --------------------------------------------------------------------


def test_precision_on_the_device_is_that_of_the_host():
    run = calibrate_run(1.0, 1e-4)
    with jax.enable_x64(True):
        data = {"tail": jnp.float64(run.tail), "sample_epsilon": jnp.float64(0.5)}
        leverage = jnp.geomspace(1e-6, 0.2, 60)
        residual = jnp.linspace(1.0, 9.0, 60)
        found, passed = posterior._precision(data, leverage, residual)
    expected = privacy.posterior_precision(
        0.5, run.tail, np.asarray(leverage), np.asarray(residual)
    )
    passed = np.asarray(passed)
    assert 0 < passed.sum() < 60
    np.testing.assert_allclose(np.asarray(found)[passed], expected[passed], rtol=1e-12)
    # Passing means that half of epsilon is left.
    mu = np.asarray(leverage)
    paid = 0.5 * mu * run.tail**2 - 0.5 * np.log1p(mu)
    np.testing.assert_array_equal(passed, paid <= 0.25)


@pytest.mark.parametrize(("epsilon", "lam"), [(0.3, 10.0), (0.4, 5.0), (1.0, 300.0), (0.5, 1.0)])
def test_nothing_is_released_as_often_as_it_should(epsilon, lam):
    mechanism = posterior.posterior_sampling_ptr()
    params = {"epsilon": epsilon, "delta": 0.05, "regularisation": lam}
    law = mechanism.law(DATA, params).probabilities
    found = draw(mechanism, DATA, params)
    nothing = found.label == 1
    number = int(nothing.sum())
    if law[1] in (0.0, 1.0):
        assert number == law[1] * TRIALS
    else:
        assert goodness_of_fit([TRIALS - number, number], law) > ALPHA
        wrong = np.array([law[0] - 0.05, law[1] + 0.05])
        if wrong.min() > 0.0:
            assert goodness_of_fit([TRIALS - number, number], wrong) < ALPHA
    assert not found.coefficients[nothing].any()
    zero = np.mean(DATA["test_targets"] ** 2)
    np.testing.assert_allclose(found.error[nothing], zero, rtol=1e-9)
    assert mechanism.labels(DATA, params)[1] == "nothing"


def test_some_laws_of_that_test_are_not_degenerate():
    chances = [
        pass_probability(calibrate_run(e, 0.05), least, lam)
        for e, lam in ((0.3, 10.0), (0.4, 5.0), (0.5, 1.0))
        for least in (ridge_of(DATA, {}).eigenvalues.min(),)
    ]
    assert all(0.01 < chance < 0.99 for chance in chances), chances


def test_a_run_is_the_plain_algorithm():
    """The device against NumPy on the same noise."""
    params = {"epsilon": 2.0, "delta": 0.01, "regularisation": 20.0}
    run = calibrate_run(2.0, 0.01)
    rows = DATA["features"]
    gram = rows.T @ rows
    values, basis = np.linalg.eigh(gram)
    solution = solve(DATA, 20.0)
    found = draw(posterior.posterior_sampling_ptr(), DATA, params, trials=50)
    from jaxsel.families.ridge_regression.linear_regression import normals

    first, second, _ = stream.make_key(7)
    for lane in range(50):
        with jax.enable_x64(True):
            key = stream.Key(first, second, jnp.uint32(lane))
            z = np.asarray(normals(key, 0, 5))
        least = max(values[0] + run.noise_multiplier * (z[0] - run.margin), 0.0)
        leverage = privacy.leverage_bound(20.0, least)
        spread = run.noise_multiplier * privacy.log_norm_sensitivity(leverage)
        log_norm = np.log1p(np.linalg.norm(solution)) + spread * (z[1] + run.margin)
        size = min(np.exp(log_norm), 1 + privacy.ridge_norm_bound(20.0, 600))
        precision = privacy.posterior_precision(
            run.sample_epsilon, run.tail, leverage, max(size, 1.0)
        )
        spent = privacy.posterior_epsilon(run.tail, leverage, 0.0)
        if spent > 0.5 * run.sample_epsilon:
            assert found.label[lane] == 1
            continue
        noise = basis @ (z[2:] / np.sqrt(precision * (values + 20.0)))
        np.testing.assert_allclose(found.coefficients[lane], solution + noise, atol=1e-6)
        np.testing.assert_allclose(
            found.error[lane], mean_squared_error(found.coefficients[lane]), rtol=1e-9
        )


# --- Tuned ----------------------------------------------------------------------------

LAW = laws.geometric(0.2)


@pytest.fixture(scope="module")
def tuned():
    params = {"calibration": calibrate_tuned(3.0, 1e-3, LAW, "KRW-Cor6.2"), "regularisation": GRID}
    return params, draw(posterior.tuned_posterior_sampling(), DATA, params)


def test_the_number_of_runs_is_geometric(tuned):
    number = np.bincount(np.minimum(tuned[1].count, 30), minlength=31)[1:]
    law = LAW.pmf(np.arange(1, 31))
    law[-1] = LAW.survival(29)
    assert goodness_of_fit(number, law) > ALPHA
    wrong = laws.geometric(0.22)
    law = wrong.pmf(np.arange(1, 31))
    law[-1] = wrong.survival(29)
    assert goodness_of_fit(number, law) < ALPHA


def test_nothing_is_kept_if_no_run_passes(tuned):
    params, found = tuned
    run = params["calibration"].run
    least = ridge_of(DATA, {}).eigenvalues.min()
    chances = [pass_probability(run, least, lam) for lam in GRID]
    expected = float(LAW.pgf(1.0 - np.mean(chances)))
    assert 0.01 < expected < 0.99
    number = int(np.sum(found.label == len(GRID)))
    assert binomial_p_value(number, TRIALS, expected) > ALPHA
    assert binomial_p_value(number, TRIALS, 1.3 * expected) < ALPHA  # power
    # A regularisation that never passes is never kept.
    assert not np.any(found.label[:, None] == np.flatnonzero(np.array(chances) == 0.0))


def test_with_an_ample_budget_the_best_regularisation_wins():
    law = laws.geometric(0.02)
    params = {
        "calibration": calibrate_tuned(900.0, 1e-2, law, "KRW-Cor5.4-sharp"),
        "regularisation": GRID,
    }
    found = draw(posterior.tuned_posterior_sampling(), DATA, params, trials=400)
    rows, targets = DATA["validation_features"], DATA["validation_targets"]
    losses = [np.sum((targets - rows @ solve(DATA, lam)) ** 2) for lam in GRID]
    best = int(np.argmin(losses))
    enough = found.count >= 40
    assert enough.sum() > 50
    assert np.all(found.label[enough] == best)
    near = found.coefficients[enough] - solve(DATA, GRID[best])
    assert np.abs(near).max() < 0.1


def test_validation_moments_get_isotropic_noise():
    deviation, d, trials = 3.0, 3, 20_000
    validation = {
        "square": np.diag([5.0, 6.0, 7.0]),
        "cross": np.array([1.0, 2.0, 3.0]),
        "deviation": np.float64(deviation),
    }
    with jax.enable_x64(True):
        first, second, _ = stream.make_key(11)
        square, cross = jax.vmap(
            lambda lane: posterior._noisy_moments(stream.Key(first, second, lane), validation)
        )(jnp.arange(trials, dtype=jnp.uint32))
    square, cross = np.asarray(square), np.asarray(cross)
    np.testing.assert_array_equal(square, np.swapaxes(square, 1, 2))
    guard = deviation * np.sqrt(2.0 * d) * np.eye(d)
    noise = (square - validation["square"] - guard) / deviation
    # In the norm |A|^2 + 2 |b|^2 the squared length is chi-square with d(d + 3)/2.
    moved = (cross - validation["cross"]) / deviation
    total = np.sum(noise**2) + 2.0 * np.sum(moved**2)
    _accepts_only(float(total), trials * d * (d + 3) // 2)
    for part, variance in (
        (noise[:, 0, 0], 1.0),
        (noise[:, 0, 1], 0.5),
        (noise[:, 1, 2], 0.5),
        (moved[:, 0], 0.5),
    ):
        _accepts_only(float(np.sum(part**2) / variance), trials)


def test_moment_sensitivity_is_attained():
    """|x x'|^2 + 2 |x y|^2 of one record is at most 3."""
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((1000, 4))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    targets = generator.uniform(-1, 1, 1000)
    squares = np.sum(rows**2, axis=1) ** 2 + 2 * np.sum((rows.T * targets) ** 2, axis=0)
    limit = posterior._MOMENT_SENSITIVITY**2
    assert squares.max() <= limit
    x, y = np.eye(4)[0], 1.0
    assert np.sum(np.outer(x, x) ** 2) + 2 * np.sum((x * y) ** 2) == pytest.approx(limit)


def test_capped_runs():
    tuned = calibrate_tuned(3.0, 1e-3, LAW, "LT-Thm3.4")
    mechanism = posterior.tuned_posterior_sampling("capped")
    params = {"calibration": tuned, "regularisation": GRID}
    found = draw(mechanism, DATA, params, trials=2000)
    assert found.count.max() <= tuned.repetitions.parameters["maximum"]
    assert mechanism.labels(DATA, params) == ("lambda=3", "lambda=30", "lambda=300", "nothing")


# --- Bad input ------------------------------------------------------------------------


def _without(*names):
    return {key: value for key, value in DATA.items() if key not in names}


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (ridge(), _without("targets"), {"regularisation": 1.0}, '"targets"'),
        (ridge(), DATA | {"features": 2.0 * DATA["features"]}, {"regularisation": 1.0}, "norm > 1"),
        (ridge(), DATA | {"targets": 3.0 * DATA["targets"]}, {"regularisation": 1.0}, "leaves"),
        (
            ridge(),
            DATA | {"targets": DATA["targets"][1:]},
            {"regularisation": 1.0},
            "one number for each",
        ),
        (
            ridge(),
            DATA | {"test_features": np.eye(2), "test_targets": np.ones(2)},
            {"regularisation": 1.0},
            "columns",
        ),
        (ridge(), DATA, {"regularisation": 0.0}, "regularisation"),
        (ridge(), DATA, {"regularization": 1.0}, "regularisation is missing"),
        (ridge(), DATA, {"regularisation": 1.0, "epsilon": 1.0}, "no parameter here"),
        (output_perturbation(), DATA, BLIND | {"lambda": 1.0}, "lambda is no parameter"),
        (balanced_posterior_sampling(), DATA, {"epsilon": 1.0}, "delta is missing"),
        (posterior.posterior_sampling_ptr(), DATA, BLIND, "regularisation is missing"),
        (
            posterior.tuned_posterior_sampling(),
            DATA,
            {"regularisation": GRID},
            "calibration is missing",
        ),
        (ridge(), DATA, {"regularisation": 1.0, "records": 10}, "records"),
        (output_perturbation(), DATA, {"epsilon": -1.0, "delta": DELTA}, "epsilon"),
        (output_perturbation(), DATA, {"epsilon": 1.0, "delta": 1.0}, "delta"),
        (balanced_posterior_sampling(), DATA, {"epsilon": 1.0, "delta": 0.5}, "delta"),
        (balanced_posterior_sampling(), DATA, BLIND | {"regularisation": 1.0}, "regularisation"),
        (posterior.posterior_sampling_ptr(), DATA, BLIND | {"regularisation": GRID}, "one number"),
        (posterior.posterior_sampling_ptr(), DATA, BLIND | {"regularisation": -1.0}, "positive"),
        (
            posterior.tuned_posterior_sampling(),
            DATA,
            {"calibration": None, "regularisation": GRID},
            "calibrate_tuned",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(mechanism, data, params, message):
    with pytest.raises(InputError, match=message) as error:
        mechanism.prepare(data, params)
    assert "\n" not in str(error.value)


def test_bad_families_are_refused():
    with pytest.raises(InputError, match="family"):
        posterior.tuned_posterior_sampling("poisson")
    tuned = calibrate_tuned(1.0, 1e-3, LAW, "KRW-Cor5.4-sharp")
    params = {"calibration": tuned, "regularisation": GRID}
    with pytest.raises(InputError, match="made for capped"):
        posterior.tuned_posterior_sampling("capped").prepare(DATA, params)
    with pytest.raises(InputError, match='"validation_features"'):
        posterior.tuned_posterior_sampling().prepare(_without("validation_features"), params)
