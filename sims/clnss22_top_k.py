"""How often the true top k is released: Cohen et al. 2022, Theorem 6, against peeling.

The k best of m candidates lead all others by the same amount, the exact lead at which a
release is right with probability 1 - beta. Each trial is one release; what is stored is
how often the released set was not the true one (or no set was released).
"""

import functools

import numpy as np

from jaxsel.families.top_k.baselines import advanced_composition_share
from jaxsel.families.top_k.confident_laws import (
    confident_lead,
    confident_settings,
    peeling_lead,
)
from jaxsel.families.top_k.confident_top_k import confident_top_k
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import positive, probability, whole

TRIALS = 20_000

EPSILON, DELTA = 1.0, 1e-6
CANDIDATES, K = 20, 5
SETTABLE = {
    "EPSILON": positive("epsilon in all"),
    "DELTA": probability("delta in all"),
    "CANDIDATES": whole("m of the left panel", at_least=3),
    "K": whole("k of the left panel", at_least=1),
}
PEELING_BETAS = (0.5, 0.2, 0.05, 0.01, 1e-3, 1e-4)
CONFIDENT_BETAS = (0.8, 0.4, 0.2, 0.1)  # T = 4/beta sets are drawn at most


@functools.cache
def peeled(beta: float, candidates: int = CANDIDATES, k: int = K) -> float:
    """Exact lead at which peeling, (EPSILON, DELTA)-DP in all, picks the k best."""
    each = advanced_composition_share(EPSILON, k, DELTA)
    return peeling_lead(candidates, k, each, beta)


@functools.cache
def confident(beta: float, candidates: int = CANDIDATES, k: int = K) -> float:
    """The same of Theorem 6, set up for this beta."""
    settings = confident_settings(EPSILON, DELTA, beta, k)
    return confident_lead(candidates, settings, beta)


def _scores(lead: float) -> np.ndarray:
    return np.append(np.full(K, lead), np.zeros(CANDIDATES - K))


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Failures, Int64["betas"], of both; 16 times as many trials for peeling."""
    each = advanced_composition_share(EPSILON, K, DELTA)
    peeling = simulate_grid(
        exponential_top_k(method="one_shot", relation="general"),
        [
            (_scores(peeled(beta)), {"k": K, "noise_scale": 2.0 / each})
            for beta in PEELING_BETAS
        ],
        trials=16 * trials, seed=seed, progress=progress,
    )  # fmt: skip
    grid = [
        (
            _scores(confident(beta)),
            {"epsilon": EPSILON, "delta": DELTA, "beta": beta, "k": K},
        )
        for beta in CONFIDENT_BETAS
    ]
    boosted = simulate_grid(
        confident_top_k(events="hits"), grid, trials=trials, seed=seed + 1,
        progress=progress,
    )  # fmt: skip
    return {
        "peeling": 16 * trials - peeling.values[:, K],
        "confident": trials - boosted.values[:, K],
        "trials": trials,
        "peeling_trials": 16 * trials,
    }
