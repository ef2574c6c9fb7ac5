"""Liu & Talwar 2019, Theorem 5.2: four selections, each beside its classical mechanism.

ladder: scores 0, -1, -2, ...: the exponential mechanism.
decoy: one bad candidate of large sensitivity: the generalised exponential mechanism.
margin: K - 1 equal candidates behind the best one: A_dist.
median: which list has the largest median: smooth against global sensitivity.
One trial is one selection; its total privacy is EPSILON, with DELTA where there is one.
"""

import math

import numpy as np
from scipy import special

from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.score_selection.candidate_laws import noisy_candidates
from jaxsel.families.score_selection.classical import (
    generalised_exponential_mechanism,
    margin_mechanism,
)
from jaxsel.families.score_selection.classical_laws import margin_needed
from jaxsel.families.score_selection.selections import (
    selection_exponential,
    selection_generalised_exponential,
    selection_smooth_sensitivity,
)
from jaxsel.families.score_selection.settings import (
    ScoreSelection,
    margin_selection_needed,
    stopping_for,
)
from jaxsel.families.score_selection.stopping import candidate_stopping
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.domains import positive, probability

TRIALS = 300_000

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.1
SETTABLE = {
    "EPSILON": positive("epsilon in all"),
    "DELTA": probability("delta in all, where there is one"),
    "BETA": probability("of a failure"),
}
LADDER = -np.arange(60.0)
DECOYS = (1.0, 4.0, 16.0, 64.0, 256.0)  # sensitivity of the decoy
MARGIN_COUNTS = (10, 100, 1000, 10**4, 10**5, 10**6)
LEADS = (0.9, 1.0, 1.1)  # simulated leads, as shares of the exact one
HIGH = 1000  # values of the lists lie in [0, HIGH]
SIZES = (101, 1001, 10_001, 100_001)
_CENTRES = 500.0 - 25.0 * np.arange(10)
_SPREAD = 60.0


def decoy(sensitivity: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores and sensitivities of 20 candidates; the last is the decoy."""
    scores = -10.0 * np.arange(20.0)
    sensitivities = np.ones(20)
    sensitivities[-1] = sensitivity
    return scores, sensitivities


def medians(size: int) -> np.ndarray:
    """Ten lists of whole numbers, shaped like normal laws around 500, 475, ...

    Returns:
      Float[np.ndarray, "10 size"].
    """
    ranks = (np.arange(size) + 0.5) / size
    values = np.round(_CENTRES[:, None] + _SPREAD * special.ndtri(ranks))
    return np.clip(values, 0.0, HIGH)


@factory
def best_or_other() -> Mechanism:
    """Margin-based selection, seen as the best candidate against all others together.

    Data: {"count": K, "lead": by which the best leads K - 1 equal candidates}.
    Event: 0 if the best is chosen, 1 if another.
    """

    def setting(data, params) -> ScoreSelection:
        del params
        count, gamma = data["count"], stopping_for(data["count"], BETA)
        candidates = noisy_candidates(
            [data["lead"], 0.0],
            3.0 / EPSILON,
            weights=[1.0 / count, 1.0 - 1.0 / count],
            noise_bound=-math.log(gamma * DELTA),
        )
        return ScoreSelection(candidates, gamma)

    return candidate_stopping(setting, lambda data, params: ("best", "other"), "jump")


def margin_data(count: int, lead: float) -> dict[str, float]:
    """Input of ``best_or_other``."""
    return {"count": count, "lead": lead}


def lead_needed(count: int) -> float:
    """Exact lead at which margin-based selection misses the best with chance BETA."""
    law = best_or_other().law
    assert law is not None
    low, high = 0.0, margin_selection_needed(count, 1.0, EPSILON, DELTA, BETA)
    for _ in range(50):
        middle = 0.5 * (low + high)
        missed = law(margin_data(count, middle), {}).probabilities[1]
        low, high = (middle, high) if missed > BETA else (low, middle)
    return high


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """How often each candidate was chosen, Int64["cells candidates"] a mechanism."""
    both = {"epsilon": EPSILON, "beta": BETA}

    def exponential(sensitivity: float) -> dict[str, float]:
        return {"noise_scale": 2.0 * sensitivity / EPSILON}

    race = noisy_max("gumbel", method="race")
    decoys = [decoy(s) for s in DECOYS]
    own = [(q, both | {"sensitivities": s}) for q, s in decoys]
    needed = np.array([lead_needed(count) for count in MARGIN_COUNTS])
    leads = needed[:, None] * np.array(LEADS)
    tables = [medians(size) for size in SIZES]
    smooth = both | {"delta": DELTA, "high": HIGH}
    release = margin_needed(1.0, EPSILON, DELTA, BETA)
    private = {"epsilon": EPSILON, "delta": DELTA}
    grids = {
        "ladder_exponential": (race, [(LADDER, exponential(1.0))]),
        "ladder_stopping": (selection_exponential(), [(LADDER, both)]),
        "decoy_exponential": (
            race, [(q, exponential(float(s.max()))) for q, s in decoys],
        ),
        "decoy_generalised": (generalised_exponential_mechanism(), own),
        "decoy_stopping": (selection_generalised_exponential(), own),
        "margin_stopping": (
            best_or_other(),
            [
                (margin_data(count, lead), {})
                for count, row in zip(MARGIN_COUNTS, leads.tolist(), strict=True)
                for lead in row
            ],
        ),
        "margin_classical": (
            margin_mechanism(), [([share * release, 0.0], private) for share in LEADS],
        ),
        "median_exponential": (
            race, [(np.median(t, axis=1), exponential(HIGH)) for t in tables],
        ),
    }  # fmt: skip
    found: dict = {
        name: simulate_grid(
            mechanism, cells, trials=trials, seed=seed + number, progress=progress
        ).values
        for number, (name, (mechanism, cells)) in enumerate(grids.items())
    }
    found["median_stopping"] = simulate_grid(
        selection_smooth_sensitivity(), [(table, smooth) for table in tables],
        trials=trials, seed=seed + len(grids), progress=progress,
    ).values  # fmt: skip
    return found | {
        "trials": trials,
        "leads": leads,
        "classical_leads": release * np.array(LEADS),
    }
