"""The DP-SGD bases of Figures 6 to 8 of Koskela, Redberg & Wang 2024: the best of K runs.

No network is trained. A run is one draw from a dominating pair: two laws on finitely many
values of the privacy loss, from the accountant's privacy loss distribution of a whole run of
DP-SGD. With several candidates a run first draws one of them uniformly and releases which one
it is.

Runs are ranked by the privacy loss itself (largest or smallest first, whichever is worse), or
in the order found worst for the privacy of the best of K runs at one delta. One trial
releases the best of K runs. All laws are float64 arrays, computed in NumPy.
"""

import functools
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.repetitions import Repetitions, parse
from jaxsel.tuning.attained.finite_adversary import finite_adversarial

SIDES = ("data", "neighbour")
# The natural order, or the worst one found at a delta that so many trials can see (the
# paper's is 1e-6).
RANKINGS = over("natural", "0.1", "0.01", "0.001", "0.0001")
_NATURAL_DELTA = 1e-2  # the delta at which the worse of the two natural rankings is chosen
_EVENTS, _CONFIDENCE = 300, 0.95

Sides = tuple[np.ndarray, np.ndarray]


class DpSgd(NamedTuple):
    """One setting of DP-SGD with Poisson sampling; fields as in ``dp_sgd``."""

    sampling_probability: float
    noise_multiplier: float
    steps: int


@functools.cache
def sides(candidates: tuple[DpSgd, ...]) -> Sides:
    """Laws of one run on both sides, with outcomes in order of the privacy loss.

    A candidate is drawn uniformly and is part of the outcome. Float64["outcomes"] each.
    """
    pairs = []
    for each in candidates:
        rate, noise, steps = each
        base = dp_sgd(sampling_probability=rate, noise_multiplier=noise, steps=steps)
        assert base.pairs is not None
        pairs.append(base.pairs()[0])
    order = np.argsort(np.concatenate([pair.loss for pair in pairs]), kind="stable")
    first = np.concatenate([pair.first for pair in pairs])[order]
    second = np.concatenate([pair.second for pair in pairs])[order]
    return first / first.sum(), second / second.sum()


def tuned_masses(law: np.ndarray, ranking: np.ndarray, repetitions: Repetitions) -> np.ndarray:
    """Law of the outcome of the best of K runs, accurate to 1e-12 in total.

    Args:
      law: Float64["outcomes"], law of one run's outcome.
      ranking: Int["outcomes"], the outcomes, best first.
      repetitions: law of K.

    Returns:
      Float64["outcomes+1"]; the last entry is the probability that K = 0.
    """
    edges = np.minimum(np.concatenate([[0.0], np.cumsum(law[ranking])]), 1.0)
    found = np.empty(law.size + 1)
    # Differences of rounded numbers may fall below 0.
    found[ranking] = np.maximum(np.diff(repetitions.pgf_gap(edges)), 0.0)
    found[-1] = repetitions.probability_zero
    return found / found.sum()


def tuned_pair(laws: Sides, ranking: np.ndarray, repetitions: Repetitions) -> Sides:
    """Laws of the release on either side: ``tuned_masses`` of both."""
    first, second = (tuned_masses(law, ranking, repetitions) for law in laws)
    return first, second


@functools.cache
def ranked(candidates: tuple[DpSgd, ...], text: str, ranking: str) -> np.ndarray:
    """A ranking of the outcomes of ``sides``, best first: Int["outcomes"].

    Args:
      candidates: the settings from which one run draws.
      text: the law of K as text.
      ranking: one of RANKINGS.
    """
    laws, repetitions = sides(candidates), parse(text)
    if ranking != "natural":
        return finite_adversarial(*laws, repetitions, float(ranking)).ranking
    rising = np.arange(laws[0].size)

    def cost(order: np.ndarray) -> float:
        return epsilon_at_delta(*tuned_pair(laws, order, repetitions), _NATURAL_DELTA)

    return max(rising, rising[::-1], key=cost)


def tuned_trial(candidates: tuple[DpSgd, ...], text: str, ranking: str, side: str) -> Trial:
    """The simulation of the released outcome of the best of K runs, with its exact law."""
    law, repetitions = sides(candidates)[SIDES.index(side)], parse(text)
    order = ranked(candidates, text, ranking)
    return Trial(
        private_tuning(finite(), repetitions.family),
        {"probabilities": law, "scores": -1.0 * np.argsort(order)},
        {"repetitions": repetitions},
        beside={"masses": tuned_masses(law, order, repetitions)},
    )


def event(tuned: Sides, delta: float, trials: int) -> np.ndarray:
    """The event of large loss that is expected to prove the largest epsilon at delta.

    It depends only on the exact laws and the number of trials, so it is fixed before any
    tally.

    Args:
      tuned: Float64["releases"] each, laws of the release on either side.
      delta: the delta at which epsilon is bounded.
      trials: number of trials on each side.

    Returns:
      Bool["releases"], in the more promising direction.
    """
    error = (1.0 - _CONFIDENCE) / 4.0
    found = []
    for p, q in (tuned, tuned[::-1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(p > 0.0, np.log(p) - np.log(q), -np.inf)
        order = np.argsort(-loss, kind="stable")
        sums = [np.cumsum(law[order]) for law in (p, q)]
        # Nested events, from one expected in a single trial to one of probability 0.9.
        last = np.searchsorted(sums[0], np.geomspace(1.0 / trials, 0.9, _EVENTS))
        last = np.unique(np.minimum(last, p.size - 1))
        seen = [np.minimum(np.round(trials * each[last]), trials) for each in sums]
        low = clopper_pearson_lower(seen[0], trials, error=error)
        high = clopper_pearson_upper(seen[1], trials, error=error)
        gain = np.maximum(low - delta, 0.0) / high
        best = int(np.argmax(gain))
        found.append((gain[best], np.isin(np.arange(p.size), order[: last[best] + 1])))
    return max(found, key=lambda each: each[0])[1]
