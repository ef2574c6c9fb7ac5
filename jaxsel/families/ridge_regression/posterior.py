"""OPS-PTR: a posterior sample of ridge regression after a private test, and its tuning.

Koskela, Redberg & Wang (2024), Section 6.1, after Redberg, Zhu & Wang (2023). The run that
``jaxsel.families.ridge_regression.settings`` describes is made once; or it is made K times, each
with a random regularisation from a grid, and the best sample is released. Records and neighbours
are those of ``linear_regression``.

The papers do not say how a sample is scored privately. Here scores are computed from one noisy
release of the second moments of a separate validation set. This release is (epsilon, delta)-DP, and
scores are post-processing of it. As every record is either a training or a validation record, the
whole is (epsilon, delta)-DP for both.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.families.ridge_regression import posterior_privacy as privacy
from jaxsel.families.ridge_regression.laws import LEAST_SHARE, pass_probability
from jaxsel.families.ridge_regression.linear_regression import (
    SHARED_PARAMS,
    Ridge,
    normals,
    prepare_error,
    records_of,
    released,
    ridge_of,
    selected,
)
from jaxsel.families.ridge_regression.settings import RunCalibration, calibrate_run
from jaxsel.families.ridge_regression.tuned import TunedCalibration
from jaxsel.host.errors import InputError, check_finite, check_params
from jaxsel.kernel import lanes, look_up, stream
from jaxsel.kernel import repetition_sampling as sampling
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.domains import choice

_COUNT_TAG, _SCORE_TAG = 0xC0, 0xC1
# One record adds x x' and x y to the moments; |x x'|^2 + 2 |x y|^2 <= 3 for |x|, |y| <= 1.
_MOMENT_SENSITIVITY = math.sqrt(3.0)


def _regularisations(values: Any) -> np.ndarray:
    """The regularisations as Float64["grid"]; raises InputError unless all are positive."""
    grid = np.atleast_1d(check_finite("regularisation", values))
    if grid.ndim != 1 or np.any(grid <= 0.0):
        raise InputError("regularisation must be positive, one number or a list")
    return grid


def _prepare_runs(problem: Ridge, grid: np.ndarray, run: RunCalibration) -> dict:
    """What a run needs, as arrays whose sizes do not depend on the number of records."""
    norms = [np.linalg.norm(problem.solution(lam)) for lam in grid]
    return {
        "basis": problem.basis,
        "eigenvalues": problem.eigenvalues,
        "moment": problem.moment,
        "grid": grid,
        "log_norm": np.log1p(norms),
        "largest": 1.0 + np.asarray(privacy.ridge_norm_bound(grid, problem.records)),
        "noise_multiplier": np.float64(run.noise_multiplier),
        "margin": np.float64(run.margin),
        "sample_epsilon": np.float64(run.sample_epsilon),
        "tail": np.float64(run.tail),
    }


def _precision(data, leverage: Array, residual: Array) -> tuple[Array, Array]:
    """``posterior_precision`` on the device, and whether the test passes.

    It passes if the leverage leaves at least ``LEAST_SHARE`` of the sample's epsilon.
    """
    t, mu, epsilon = data["tail"], leverage, data["sample_epsilon"]
    room = epsilon - 0.5 * mu * t**2 + 0.5 * jnp.log1p(mu)
    passed = room >= LEAST_SHARE * epsilon
    room = jnp.where(passed, room, 1.0)
    u = 2.0 * room / (t + jnp.sqrt(t**2 + 2.0 * room / (1.0 + mu)))
    return (u / ((1.0 + mu) * residual)) ** 2 / mu, passed


def _run(key: stream.Key, index: Array, data) -> tuple[Array, Array]:
    """One run at one regularisation: coefficients in the eigenbasis, and whether it passed."""
    eigenvalues = jnp.asarray(data["eigenvalues"])
    lam = look_up.pick(data["grid"], index)
    z = normals(key, 0, eigenvalues.shape[-1] + 2)
    scale, margin = data["noise_multiplier"], data["margin"]
    # 1. A noisy lower bound on the least eigenvalue.
    least = jnp.maximum(eigenvalues.min() + scale * (z[0] - margin), 0.0)
    leverage = 1.0 / (lam + jnp.maximum(least - 1.0, 0.0))
    # 2. A noisy upper bound on the solution's norm, at most the bound for all data.
    spread = scale * jnp.log1p(leverage)
    log_norm = look_up.pick(data["log_norm"], index) + spread * (z[1] + margin)
    largest = look_up.pick(data["largest"], index)
    residual = jnp.minimum(jnp.exp(jnp.minimum(log_norm, jnp.log(largest))), largest)
    # At least 1, as 1 + |theta| is; with noise the bound may be smaller.
    residual = jnp.maximum(residual, 1.0)
    # 3. The sample, if the test passes.
    precision, passed = _precision(data, leverage, residual)
    curvature = eigenvalues + lam
    mean = jnp.asarray(data["moment"]) / curvature
    return mean + z[2:] / jnp.sqrt(precision * curvature), passed


@factory
def posterior_sampling_ptr() -> Mechanism:
    """One run of OPS-PTR at a given regularisation.

    Data: as for ridge.
    Params: "epsilon", "delta" and "regularisation".
    Outcome: RegressionRelease. Event: 0 if a sample is released, 1 if nothing is.

    Formal guarantees: (epsilon, delta)-DP (claims KRW-Thm6.1, OPS-run).
    """

    def prepare(data, params):
        check_params(params, ("epsilon", "delta", "regularisation"), SHARED_PARAMS)
        problem = ridge_of(data, params)
        grid = _regularisations(params["regularisation"])
        if grid.size != 1:
            raise InputError("regularisation must be one number; tune over several")
        run = calibrate_run(params["epsilon"], params["delta"])
        prepared = _prepare_runs(problem, grid, run)
        prepared["error"] = prepare_error(data, params, problem.basis)
        return prepared, ()

    def sample(key, data, params):
        del params
        w, passed = _run(key, jnp.int32(0), data)
        return released(w, data, label=jnp.where(passed, 0, 1), none=~passed)

    def labels(data, params):
        del data
        return (f"lambda={params['regularisation']:g}", "nothing")

    def law(data, params) -> FiniteLaw:
        run = calibrate_run(params["epsilon"], params["delta"])
        chance = pass_probability(
            run, ridge_of(data, params).eigenvalues.min(), params["regularisation"]
        )
        return FiniteLaw(np.array([chance, 1.0 - chance]), labels(data, params))

    return Mechanism(prepare, sample, selected, labels, law, 2.0**-65)


def _validation(data: Mapping[str, Any], basis: np.ndarray, tuned: TunedCalibration):
    """The second moments of the validation records, in the basis, and the deviation of their noise.

    Raises:
      InputError: for bad records, or other numbers of features than in training.
    """
    features, targets = records_of(data, "validation_")
    if features.shape[1] != basis.shape[0]:
        raise InputError(
            f"validation_features has {features.shape[1]} columns, not {basis.shape[0]}"
        )
    rotated = features @ basis
    multiplier = gaussian_noise_multiplier(tuned.epsilon, tuned.delta)
    return {
        "square": rotated.T @ rotated,
        "cross": rotated.T @ targets,
        "deviation": np.float64(multiplier * _MOMENT_SENSITIVITY),
    }


def _noisy_moments(key: stream.Key, validation) -> tuple[Array, Array]:
    """The released second moments: the matrix A of squares, and the vector b of cross moments.

    The noise is isotropic in the norm of |A|^2 + 2 |b|^2, and hence has the same law in every
    basis. The diagonal of the matrix is raised by sqrt(2 d) deviations, which is about the largest
    eigenvalue of the noise: else noise could make the matrix indefinite, and large coefficients
    would win for it.
    """
    deviation = validation["deviation"]
    d = validation["cross"].shape[-1]
    z = normals(key, 0, d * d + d)
    square = z[: d * d].reshape(d, d)
    noise_matrix = 0.5 * (square + square.T)  # diagonal 1, off-diagonal 1/sqrt(2)
    guard = jnp.sqrt(2.0 * d) * jnp.eye(d)
    return (
        jnp.asarray(validation["square"]) + deviation * (noise_matrix + guard),
        jnp.asarray(validation["cross"]) + deviation * math.sqrt(0.5) * z[d * d :],
    )


@factory
def tuned_posterior_sampling(
    family: Annotated[
        str, choice(("truncated_negative_binomial", "capped"))
    ] = "truncated_negative_binomial",
) -> Mechanism:
    """Runs OPS-PTR K times, each with a uniformly random regularisation, and releases the best.

    The best sample is the one of least squared error, as computed from the released validation
    moments. A run without a sample is worse than any other.

    Args:
      family: name of the family of K's law: "truncated_negative_binomial", to which geometric laws
        belong, or "capped", for Liu & Talwar's hard stop.

    Data: as for ridge, and "validation_features" and "validation_targets".
    Params: "calibration", a TunedCalibration, and "regularisation", the grid.
    Outcome: RegressionRelease. Event: index of the regularisation, "nothing" last.

    Formal guarantees: (epsilon, delta)-DP at the calibration's epsilon and delta, for training and
      for validation records. One run is private by the claim OPS-run, and the best of K by the
      claim that the calibration names, one of ``tuned.TUNING_THEOREMS``.
    """

    def prepare(data, params):
        check_params(params, ("calibration", "regularisation"), SHARED_PARAMS)
        tuned = params["calibration"]
        if not isinstance(tuned, TunedCalibration):
            raise InputError(
                'params["calibration"] must come from calibrate_tuned of '
                "jaxsel.families.ridge_regression.tuned"
            )
        if tuned.repetitions.family != family:
            raise InputError(
                f"the law of K is {tuned.repetitions.family}; this mechanism was made for {family}"
            )
        problem = ridge_of(data, params)
        prepared = _prepare_runs(problem, _regularisations(params["regularisation"]), tuned.run)
        prepared["error"] = prepare_error(data, params, problem.basis)
        prepared["validation"] = _validation(data, problem.basis, tuned)
        return prepared, {"repetitions": sampling.prepare_count(tuned.repetitions)}

    def sample(key, data, params):
        count = sampling.sample_count(stream.fold(key, _COUNT_TAG), params["repetitions"])
        square, cross = _noisy_moments(stream.fold(key, _SCORE_TAG), data["validation"])
        choices = jnp.asarray(data["grid"]).shape[-1]
        d = cross.shape[-1]

        def one(k, best):
            run = stream.at_round(key, k)
            # 32 bits choose the index: each probability is accurate to choices * 2**-32.
            word, _ = stream.words(run, 1 << 20)
            index = (word.astype(jnp.uint64) * jnp.uint64(choices)) >> jnp.uint64(32)
            index = index.astype(jnp.int32)
            w, passed = _run(run, index, data)
            loss = w @ (square @ w) - 2.0 * (cross @ w)
            better = passed & (loss < best[0])
            fresh = (loss, index, w)
            return tuple(jnp.where(better, a, b) for a, b in zip(fresh, best, strict=True))

        start = (jnp.float64(jnp.inf), jnp.int32(choices), jnp.zeros(d))
        _, label, w = lanes.repeat(count, one, start)
        return released(w, data, label=label, none=label == choices, count=count)

    def labels(data, params):
        del data
        grid = _regularisations(params["regularisation"])
        return (*(f"lambda={lam:g}" for lam in grid), "nothing")

    return Mechanism(prepare, sample, selected, labels, None, 2.0**-32)
