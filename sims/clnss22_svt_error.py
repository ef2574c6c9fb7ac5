"""How far from the threshold sparse vectors err: failures at given errors.

m queries of which k, evenly spaced, lie above the threshold and are to be found. The
error of an algorithm is half the width of the zone around the threshold in which it may
answer as it likes. Standard sparse vectors (Dwork & Roth 2014: AboveThreshold, k times)
and the one of Lyu, Su & Li 2017 have the zone t +- alpha; queries lie just outside it.
The repetitive sparse vector (Cohen et al. 2022, Algorithm 3) has the zone from t - d to
t, with error d/2; the k queries lie just above it, all others in its middle, where it
wastes most. One trial is one run of the repetitive sparse vector, and an eighth as many
runs of the others are made; it fails if an answer is wrong or if it halts before k
queries were found. All have the same privacy, (1, DELTA)-DP or 1-DP.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run import closed_forms
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.families.repetitive_sparse_vector.error_laws import (
    needed_margin,
    tuned_settings,
)
from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
    guarantee,
    repetitive_sparse_vector,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    calibrated,
    repetitive_settings,
)
from jaxsel.families.sparse_vector.bounds import good_share, lyu_su_li_noise
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.sparse import sparse_vector
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import counts
from jaxsel.language.domains import numbers, positive, probability, whole

TRIALS = 30_000

QUERIES, WANTED = 2000, 50
EPSILON, DELTA = 1.0, 1e-6
BETAS = (0.3, 0.03, 0.003)
SETTABLE = {
    "QUERIES": whole("how many", at_least=2),
    "WANTED": whole("to be found", at_least=1),
    "EPSILON": positive("epsilon in all"),
    "DELTA": probability("delta of the left panel"),
    "BETAS": numbers("failure probabilities of the points", above=0.0, below=1.0),
}
SPARSE = (("standard", DELTA), ("standard", 0.0), ("once", 0.0))
REPETITIVE = (("least", DELTA), ("tuned", DELTA), ("least", 0.0), ("tuned", 0.0))


# --- Threshold plus Laplace noise -----------------------------------------------------


@functools.cache
def noise_of(name: str, delta: float) -> SparseNoise:
    """Noise of the standard sparse vector, or of the one that is noised once.

    The standard one runs AboveThreshold k times, epsilon_r-DP each: Laplace noise of
    scale 2/epsilon_r on the threshold and 4/epsilon_r on queries. epsilon_r is
    epsilon/k, or for delta > 0 the largest whose composition is (epsilon, delta)-DP by
    the Renyi divergences of randomised response, the worst epsilon_r-DP mechanism.
    """
    if name == "once":
        return lyu_su_li_noise(EPSILON, WANTED, share=good_share(WANTED))
    low = EPSILON / WANTED
    if delta > 0.0:
        high = EPSILON
        for _ in range(40):
            middle = (low + high) / 2.0
            if _composed(middle, delta) <= EPSILON:
                low = middle
            else:
                high = middle
    return SparseNoise(2.0 / low, 4.0 / low, WANTED, redrawn=True)


def _composed(epsilon: float, delta: float) -> float:
    def curve(order):
        one = closed_forms.randomised_response_renyi(order, epsilon)
        return WANTED * np.asarray(one)

    return renyi_to_epsilon(curve, delta).epsilon


def _log_tail(gap: np.ndarray) -> np.ndarray:
    """log P[Lap(1) > gap]."""
    half = 0.5 * np.exp(-np.abs(gap))
    return np.where(gap > 0.0, -math.log(2.0) - gap, np.log1p(-half))


def spike_failure(noise: SparseNoise, alpha: float) -> float:
    """Exact chance of a wrong answer: k spikes at alpha, all other levels -alpha."""
    wide, narrow = noise.threshold_scale, noise.query_scale
    end = 60.0 * wide  # beyond it the threshold's noise has chance e^-60
    kink = min(alpha, end)
    nodes, steps = panels([-end, -kink, 0.0, kink, end], min(wide, narrow))
    weights = steps * np.exp(-np.abs(nodes) / wide) / (2.0 * wide)
    # log P[-alpha + xi < nu] and log P[alpha + xi > nu]
    below = _log_tail(-(nodes + alpha) / narrow)
    above = _log_tail((nodes - alpha) / narrow)
    quiet, spikes = QUERIES // WANTED - 1, 1
    if not noise.redrawn:
        quiet, spikes = quiet * WANTED, WANTED
    wrong = -np.expm1(quiet * below + spikes * above) @ weights
    if not noise.redrawn:
        return float(wrong)
    return float(-np.expm1(WANTED * np.log1p(-min(wrong, 1.0))))


def needed_error(noise: SparseNoise, beta: float) -> float:
    """Least alpha at which ``spike_failure`` is at most beta."""
    low, high = 0.0, noise.query_scale
    while spike_failure(noise, high) > beta:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        wrong = spike_failure(noise, middle) > beta
        low, high = (middle, high) if wrong else (low, middle)
    return high


# --- The repetitive sparse vector -----------------------------------------------------


@functools.cache
def settings_of(name: str, delta: float, beta: float) -> RepetitiveSettings:
    """Settings of the repetitive sparse vector that are proven (1, delta)-DP.

    "paper": Section 4.2 or Remark 2 (k' corrected), epsilon' calibrated; "least": the
    same with the least d that its exact law allows; "tuned": all settings chosen.
    """
    if name == "tuned":
        return tuned_settings(WANTED, QUERIES, beta, EPSILON, delta)
    if name == "paper":
        printed = repetitive_settings(WANTED, QUERIES, beta, EPSILON, delta)
        return calibrated(printed, EPSILON, delta)
    found = settings_of("paper", delta, beta)
    return found._replace(margin=needed_margin(found, WANTED, QUERIES, beta))


# --- Simulation -----------------------------------------------------------------------


@functools.cache
def _missed(quiet: int) -> Callable[[Any], Any]:
    places = ((np.arange(WANTED) + 1) * (quiet + 1) - 1).astype(np.int32)

    def missed(outcome):
        return jnp.any(outcome.above != places).astype(jnp.int32)

    return missed


def _failures(mechanism, cells, statistic, *, trials: int, **settings) -> np.ndarray:
    # A few trials in a full block would cost as much as the whole block.
    small = Performance(block_size=1024) if trials < 8192 else Performance()
    tallies = simulate_grid(
        mechanism,
        cells,
        statistic=statistic,
        trials=trials,
        performance=small,
        **settings,
    )
    return np.asarray(tallies.values)[:, 1:].sum(axis=1)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Numbers of failed runs, Int64["algorithms betas"], at the errors needed."""
    quiet = QUERIES // WANTED - 1
    lengths = [quiet, 1] * WANTED
    sparse_trials = max(trials // 4, 1)
    failures, errors = [], []
    for number, (name, delta) in enumerate(SPARSE):
        noise = noise_of(name, delta)
        alphas = [needed_error(noise, beta) for beta in BETAS]
        params = noise._asdict()
        redrawn = params.pop("redrawn")
        failures.append(
            _failures(
                sparse_vector(redrawn=redrawn, event="stop"),
                [
                    ({"answers": [-a, a] * WANTED, "lengths": lengths}, params)
                    for a in alphas
                ],
                counts(_missed(quiet), 2),
                trials=sparse_trials,
                seed=seed + number,
                progress=progress,
            )
        )
        errors.append(alphas)
    cells = [settings_of(*which, beta) for which in REPETITIVE for beta in BETAS]
    levels = [[-s.margin / 2.0, math.ulp(1.0)] * WANTED for s in cells]
    found = _failures(
        repetitive_sparse_vector(event="tops"),
        [
            ({"answers": row, "lengths": lengths}, s._asdict())
            for row, s in zip(levels, cells, strict=True)
        ],
        counts(guarantee(WANTED), 3),
        trials=trials,
        seed=seed + len(SPARSE),
        progress=progress,
    )
    shape = (len(REPETITIVE), len(BETAS))
    return {
        "failures": np.concatenate([np.stack(failures), found.reshape(shape)]),
        "errors": np.concatenate(
            [errors, np.reshape([s.margin / 2.0 for s in cells], shape)]
        ),
        "runs": [sparse_trials] * len(SPARSE) + [trials] * len(REPETITIVE),
        "trials": trials,
        "algorithms": [list(each) for each in (*SPARSE, *REPETITIVE)],
        "betas": list(BETAS),
        "queries": QUERIES,
        "wanted": WANTED,
        "epsilon": EPSILON,
        "delta": DELTA,
    }
