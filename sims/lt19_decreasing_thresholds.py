"""The negative examples B.2 and B.3 of Liu & Talwar 2019, simulated on both sides.

Algorithm 6 against Algorithm 1 on randomised response with epsilon = 1, whose score is
the answer; and the median of N runs, or a random rank up to it, of two models with
probabilities (1 +- e)/2. What is tallied is the output. A trial is one release.
"""

from jaxsel.accounting.single_run.pairs import bernoulli, randomised_response
from jaxsel.families.percentile.score_percentile import score_percentile
from jaxsel.families.thresholds.decreasing_thresholds import decreasing_thresholds
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning.bases import finite
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import positive, probability

TRIALS = 1_000_000
EPSILON = 1.0
GAMMAS = (0.3, 1.0)  # chance to lower the threshold
LEVELS = (0, 1, 2, 3, 4, 6, 8)  # R
SHIFT = 0.1  # e: one run is log((1 + e)/(1 - e))-DP
SETTABLE = {
    "EPSILON": positive("epsilon of one run"),
    "SHIFT": probability("by which a run tells two models apart"),
}
RANKS = ("median", "random")
COUNTS = (1, 11, 51, 101, 201, 401, 801)  # N


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by setting, side and outcome; "nothing" last where it can happen.

    Returns:
      "thresholds" Int64["gammas levels 2 3"] of Algorithm 6, "algorithm_1"
      Int64["gammas 2 3"] and "percentiles" Int64["ranks counts 2 2"].
    """
    answers = [
        {"probabilities": side, "scores": [1.0, 0.0]}
        for side in randomised_response(EPSILON)
    ]
    models = bernoulli((1.0 + SHIFT) / 2.0, (1.0 - SHIFT) / 2.0)
    jobs = {
        "thresholds": (
            decreasing_thresholds(finite()),
            [
                (side, {"levels": levels, "gamma": gamma})
                for gamma in GAMMAS
                for levels in LEVELS
                for side in answers
            ],
            (len(GAMMAS), len(LEVELS), 2, 3),
        ),
        "algorithm_1": (
            threshold_selection(finite()),
            [
                (side, {"threshold": 1.0, "stop_probability": gamma})
                for gamma in GAMMAS
                for side in answers
            ],
            (len(GAMMAS), 2, 3),
        ),
        "percentiles": (
            score_percentile(),
            [
                (side, {"count": count, "rank": rank})
                for rank in RANKS
                for count in COUNTS
                for side in models
            ],
            (len(RANKS), len(COUNTS), 2, 2),
        ),
    }
    found: dict = {}
    for number, (name, (mechanism, cells, shape)) in enumerate(jobs.items()):
        # The runs behind a percentile are many: a tenth of the trials.
        each = max(1, trials // 10) if name == "percentiles" else trials
        tallies = simulate_grid(
            mechanism, cells, trials=each, seed=seed + number, progress=progress
        )
        found[name] = tallies.values.reshape(shape)
    return found | {
        "epsilon": EPSILON,
        "gammas": list(GAMMAS),
        "levels": list(LEVELS),
        "shift": SHIFT,
        "ranks": list(RANKS),
        "counts": list(COUNTS),
        "trials": trials,
    }
