"""Where percentile sparse vectors halt, and what a private median costs.

Liu & Talwar 2019, Section 4. One trial is one run of an algorithm: on a ladder of
rising shares, on a stream of equal shares, or (Theorem 4.7 and Cohen et al. 2022,
Theorem 4) on a base whose median one wants to reach.
"""

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.percentile.extended_above_threshold import extended_above_threshold
from jaxsel.families.percentile.find_threshold import find_percentile_threshold
from jaxsel.families.percentile.median_laws import median_rounds
from jaxsel.families.percentile.percentile_above_threshold import (
    percentile_above_threshold,
)
from jaxsel.families.percentile.pipeline import percentile_pipeline
from jaxsel.families.percentile.pipeline_laws import (
    Pipeline,
    pipeline,
    pipeline_params,
)
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.families.tuning import bases
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import positive, probability, whole

TRIALS = 200_000

BASE, SLACK, DELTA, BETA = 0.1, 0.1, 1e-6, 0.1  # epsilon_1, epsilon_0, delta, beta
QUERIES = 10
SETTABLE = {
    "BASE": positive("epsilon_1, of one run"),
    "SLACK": positive("epsilon_0"),
    "DELTA": probability("delta in all"),
    "BETA": probability("of a failure"),
    "QUERIES": whole("of a stream of equal shares", at_least=1),
}
ORACLE = {"target": 0.5, "base_epsilon": BASE, "final_epsilon": 1.0}
LADDER = np.linspace(-8.0, 5.0, 27)  # log-odds of the shares, one query each
EQUAL = np.linspace(-10.0, 6.0, 9)  # log-odds of the streams of equal shares
MECHANISMS = {
    "Algorithm 3": percentile_above_threshold(),
    "Algorithm 4": extended_above_threshold(),
    "Algorithm 5": find_percentile_threshold(),
}
BETAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
ALPHA = 1.0 / BASE  # epsilon_0/epsilon_1 at epsilon_0 = 1


def settings(name: str, queries: int) -> PercentileTest:
    """The corrected settings of Algorithm 4 or 5 at epsilon_3 = 1."""
    shared = {
        "beta": BETA,
        "slack": SLACK,
        "base_epsilon": BASE,
        "delta": DELTA,
        "corrected": True,
    }
    if name == "Algorithm 4":
        return algorithm_4(queries=queries, **shared)
    return algorithm_5(thresholds=queries, **shared)


def _params(name: str, queries: int) -> dict:
    return ORACLE if name == "Algorithm 3" else settings(name, queries)._asdict()


def median_base() -> dict[str, list[float]]:
    """Scores 0, 0.05, ..., 1, equally likely: the median is 1/2."""
    return {
        "scores": np.linspace(0.0, 1.0, 21).tolist(),
        "probabilities": np.full(21, 1.0 / 21.0).tolist(),
    }


def median_search(beta: float) -> Pipeline:
    """Theorem 4.7 for K = 1 and R = 5 at epsilon_0 = 1."""
    return pipeline(
        base_epsilon=BASE, slack=1.0, beta=beta, delta=DELTA, reading="sharp"
    )


def boosting_law(beta: float) -> laws.Repetitions:
    """Number of runs of Cohen et al. 2022, Theorem 4, at the same total epsilon."""
    return laws.beta_binomial(median_rounds(beta, ALPHA), ALPHA)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Int64 counts: of each query (none last), and of each released outcome."""
    found: dict = {"trials": trials}

    def tally(name, mechanism, cells, number):
        tallies = simulate_grid(
            mechanism, cells, trials=trials, seed=seed + number, progress=progress
        )
        found[name] = tallies.values

    for number, (name, mechanism) in enumerate(MECHANISMS.items()):
        short = name.replace("Algorithm ", "algorithm_")
        shares = 1.0 / (1.0 + np.exp(-LADDER))
        params = _params(name, LADDER.size)
        tally(f"ladder_{short}", mechanism, [(shares, params)], 2 * number)
        params = _params(name, QUERIES)
        cells = [(np.full(QUERIES, 1.0 / (1.0 + np.exp(-x))), params) for x in EQUAL]
        tally(f"equal_{short}", mechanism, cells, 2 * number + 1)
    base = median_base()
    cells = [(base, pipeline_params(median_search(beta))) for beta in BETAS]
    tally("search", percentile_pipeline(), cells, 6)
    # A run beats the median with probability 1/2: outcomes "better" and "worse".
    family = boosting_law(BETAS[0]).family
    cells = [([0.5, 0.5], {"repetitions": boosting_law(beta)}) for beta in BETAS]
    tally("boosting", private_tuning(bases.finite(), family), cells, 7)
    return found
