"""What figure lt19-generalisations draws: exact losses, and simulated ones."""

import numpy as np

from jaxsel.families.score_selection.classical_laws import (
    exponential_law,
    generalised_exponential_law,
)
from jaxsel.families.score_selection.selections import (
    selection_generalised_exponential,
    selection_smooth_sensitivity,
)
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.language.base import Mechanism
from sims.lt19_generalisations import BETA, DELTA, EPSILON, HIGH, decoy, medians

BOTH = {"epsilon": EPSILON, "beta": BETA}


def stopping_law(mechanism: Mechanism, data, params) -> np.ndarray:
    """Exact law of a mechanism that has one."""
    assert mechanism.law is not None
    return mechanism.law(data, params).probabilities


def ladder_tails(law: np.ndarray) -> np.ndarray:
    """P[loss > 0], P[loss > 1], ... on the ladder, from chances or numbers."""
    return np.cumsum(law[::-1])[::-1][1:]


def decoy_losses(sensitivity: float) -> tuple[float, float, float]:
    """Expected losses: exponential, generalised exponential, random stopping."""
    scores, own = decoy(sensitivity)
    laws = (
        exponential_law(scores, own.max(), EPSILON),
        generalised_exponential_law(scores, own, EPSILON, BETA),
        stopping_law(
            selection_generalised_exponential(), scores, BOTH | {"sensitivities": own}
        ),
    )
    return tuple(float(law @ (scores.max() - scores)) for law in laws)  # type: ignore


def median_losses(size: int) -> tuple[float, float]:
    """Expected losses: exponential with global sensitivity, random stopping."""
    table = medians(size)
    middle = np.median(table, axis=1)
    smooth = BOTH | {"delta": DELTA, "high": HIGH}
    laws = (
        exponential_law(middle, HIGH, EPSILON),
        stopping_law(selection_smooth_sensitivity(), table, smooth),
    )
    return tuple(float(law @ (middle.max() - middle)) for law in laws)  # type: ignore


def mean_loss(scores: np.ndarray, counts: np.ndarray, confidence: float = 0.95):
    """(mean, low, high) of a whole-number loss, from how often each was chosen."""
    lost = np.round(scores.max() - scores).astype(np.int64)
    counts = counts[: lost.size]
    trials, total = int(counts.sum()), int(counts @ lost)
    low, high = mean_interval(
        trials, total, int(counts @ lost**2), confidence, 0.0, float(lost.max())
    )
    return total / trials, float(low), float(high)


def leads_seen(
    missed: np.ndarray, trials: int, leads: np.ndarray, confidence: float = 0.95
) -> tuple[float, float, float]:
    """(lead, low, high) at which BETA is missed, from chances at several leads."""
    low, high = clopper_pearson(missed, trials, confidence)
    found = []
    for chance in (missed / trials, low, high):
        # Chances fall with the lead.
        found.append(float(np.interp(-np.log(BETA), -np.log(chance), leads)))
    return found[0], found[1], found[2]
