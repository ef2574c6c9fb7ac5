"""Inputs, budgets, exact and simulated losses of figure lt19-generalisations."""

import dataclasses
import functools
import math
from typing import Annotated, Any

import numpy as np
import xarray as xr
from scipy import special

from jaxsel.families.score_selection.candidate_laws import noisy_candidates
from jaxsel.families.score_selection.classical_laws import margin_needed
from jaxsel.families.score_selection.settings import (
    ScoreSelection,
    margin_selection_needed,
    stopping_for,
)
from jaxsel.families.score_selection.stopping import candidate_stopping
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.domains import positive, probability
from jaxsel.language.trial import Trial

LADDER = -np.arange(60.0)
DECOY_SCORES = -10.0 * np.arange(20.0)
HIGH = 1000  # values of the lists lie in [0, HIGH]
_CENTRES = 500.0 - 25.0 * np.arange(10)
_SPREAD = 60.0


@dataclasses.dataclass(frozen=True)
class Budget:
    """Privacy budget and failure probability of every selector."""

    epsilon: Annotated[float, positive("epsilon in all")] = 1.0
    delta: Annotated[float, probability("delta in all, where there is one")] = 1e-6
    beta: Annotated[float, probability("of a failure")] = 0.1

    @property
    def pure(self) -> dict[str, Any]:
        """Parameters of random stopping for pure DP."""
        return {"epsilon": self.epsilon, "beta": self.beta}

    @property
    def release(self) -> float:
        """The lead at which A_dist misses the best candidate with probability beta."""
        return margin_needed(1.0, self.epsilon, self.delta, self.beta)

    def margin(self, candidates: int, lead: float) -> Trial:
        """Margin-based selection where the best leads all others, which are equal.

        See ``best_or_other``.
        """
        data = {"count": candidates, "lead": lead}
        return Trial(best_or_other(), data, self.pure | {"delta": self.delta})

    @functools.cache  # noqa: B019  (a few budgets)
    def lead_needed(self, candidates: int) -> float:
        """Exact lead at which margin-based selection misses the best with probability beta."""
        low, high = 0.0, self.lead_proved(candidates)
        for _ in range(50):
            middle = 0.5 * (low + high)
            missed = law_of(self.margin(candidates, middle))[1]
            low, high = (middle, high) if missed > self.beta else (low, middle)
        return high

    def lead_proved(self, candidates: int) -> float:
        """The lead that is proved to suffice."""
        return margin_selection_needed(candidates, 1.0, self.epsilon, self.delta, self.beta)


def own_sensitivities(decoy: float) -> np.ndarray:
    """Sensitivities of the candidates with ``DECOY_SCORES``; the last one is the decoy."""
    sensitivities = np.ones(DECOY_SCORES.size)
    sensitivities[-1] = decoy
    return sensitivities


def lists(length: int) -> np.ndarray:
    """Ten lists of whole numbers, shaped like normal laws around 500, 475, ...

    Returns:
      Float[np.ndarray, "10 length"].
    """
    ranks = (np.arange(length) + 0.5) / length
    values = np.round(_CENTRES[:, None] + _SPREAD * special.ndtri(ranks))
    return np.clip(values, 0.0, HIGH)


@factory
def best_or_other() -> Mechanism:
    """Margin-based selection, seen as the best candidate against all others together.

    Data: {"count": K, "lead": by which the best leads K - 1 equal candidates}.
    Params: {"epsilon", "delta", "beta"}.
    Event: 0 if the best is chosen, 1 if another.
    """

    def setting(data, params) -> ScoreSelection:
        count, gamma = data["count"], stopping_for(data["count"], params["beta"])
        candidates = noisy_candidates(
            [data["lead"], 0.0],
            3.0 / params["epsilon"],
            weights=[1.0 / count, 1.0 - 1.0 / count],
            noise_bound=-math.log(gamma * params["delta"]),
        )
        return ScoreSelection(candidates, gamma)

    return candidate_stopping(setting, lambda data, params: ("best", "other"), "jump")


def law_of(trial: Trial) -> np.ndarray:
    """Exact law of the outcome of a trial."""
    law = trial.mechanism.law
    assert law is not None
    return law(trial.data, trial.params).probabilities


def exact_loss(trial: Trial, scores: np.ndarray) -> float:
    """Exact expected loss of a trial that selects among candidates with these scores."""
    return float(law_of(trial)[: scores.size] @ (scores.max() - scores))


def ladder_tails(law: np.ndarray) -> np.ndarray:
    """P[loss > 0], P[loss > 1], ... on the ladder, from probabilities or counts."""
    return np.cumsum(law[::-1])[::-1][1:]


def mean_loss(scores: np.ndarray, counts: xr.DataArray, confidence: float = 0.95):
    """(mean, low, high) of a whole-number loss, from how often each was chosen."""
    lost = np.round(scores.max() - scores).astype(np.int64)
    chosen = counts.sel(outcome=[str(each) for each in range(lost.size)]).values
    trials, total = int(chosen.sum()), int(chosen @ lost)
    low, high = mean_interval(
        trials, total, int(chosen @ lost**2), confidence, 0.0, float(lost.max())
    )
    return total / trials, float(low), float(high)


def leads_seen(
    missed: xr.DataArray, leads: xr.DataArray, trials: int, beta: float, confidence: float = 0.95
) -> tuple[float, float, float]:
    """(lead, low, high) where the best is missed with probability beta, by interpolation.

    Args:
      missed: how often the best was missed at each lead.
      leads: increasing leads.
      trials: number of trials at each lead.
      beta: failure probability.
      confidence: confidence level of the interval at each lead.
    """
    low, high = clopper_pearson(missed.values, trials, confidence)
    found = []
    for chance in (missed.values / trials, low, high):
        # The probability falls with the lead.
        found.append(float(np.interp(-np.log(beta), -np.log(chance), leads.values)))
    return found[0], found[1], found[2]
