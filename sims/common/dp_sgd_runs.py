"""The DP-SGD bases of Figures 6 to 8 of Koskela, Redberg & Wang 2024, and their events.

A run is an outcome of a dominating pair: two laws on finitely many values of the
privacy loss that are at least as far apart as those of a whole run of DP-SGD on
neighbours, from the accountant's privacy loss distribution. Float64 on the host.
"""

import functools
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.families.tuning.bounds.heterogeneous import (
    CandidateThresholds,
    candidate_thresholds,
    largest_steps,
)
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper
from jaxsel.repetitions import Repetitions, geometric

# Figure 8: the noise multipliers to choose from, and the largest mean of K.
RATE = 0.01
CANDIDATE_NOISE = (2.0, 3.0, 4.0)
LARGEST_MEAN = 300.0
_RUN_EPSILON, _RUN_DELTA = 1.5, 1e-6

_EVENTS, _CONFIDENCE = 300, 0.95


class DpSgd(NamedTuple):
    """One setting of DP-SGD with Poisson sampling; fields as in ``dp_sgd``."""

    sampling_probability: float
    noise_multiplier: float
    steps: int


def thresholds(mean: float) -> CandidateThresholds:
    """What the candidates of Figure 8 must meet if K is geometric with this mean."""
    return candidate_thresholds(_RUN_EPSILON, _RUN_DELTA, geometric(1.0 / mean))


@functools.cache
def runs(name: str) -> tuple[DpSgd, ...]:
    """The candidates of a figure: one for "krw24-6" and "krw24-7", three for "krw24-8".

    Those of Figure 8 make the most steps that the thresholds at LARGEST_MEAN allow, and
    meet those of every smaller mean, too.
    """
    match name:
        case "krw24-6":
            rate = 256 / 60_000
            return (DpSgd(rate, 1.1, int(60 / rate)),)
        case "krw24-7":
            return (DpSgd(16_384 / 50_000, 21.1, 250),)
        case _:
            limits = thresholds(LARGEST_MEAN)
            return tuple(
                DpSgd(RATE, noise, largest_steps(limits, RATE, noise))
                for noise in CANDIDATE_NOISE
            )


def sides(candidates: tuple[DpSgd, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Laws of one run on either side, outcomes in the order of the privacy loss.

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


def tuned_masses(
    law: np.ndarray, ranking: np.ndarray, repetitions: Repetitions
) -> np.ndarray:
    """Law of the best of K runs by outcome, no run last; within 1e-12 in total.

    Args:
      law: Float64["outcomes"], of one run.
      ranking: Int["outcomes"], outcomes, best first.
      repetitions: law of K.

    Returns:
      Float64["outcomes+1"].
    """
    edges = np.minimum(np.concatenate([[0.0], np.cumsum(law[ranking])]), 1.0)
    found = np.empty(law.size + 1)
    # Differences of rounded numbers may fall below 0.
    found[ranking] = np.maximum(np.diff(repetitions.pgf_gap(edges)), 0.0)
    found[-1] = repetitions.probability_zero
    return found / found.sum()


def event(
    tuned: tuple[np.ndarray, np.ndarray], delta: float, trials: int
) -> np.ndarray:
    """The releases of large loss that should prove the largest epsilon at delta.

    From the exact laws and the number of trials alone, hence fixed before any tally.

    Args:
      tuned: Float64["releases"] each, laws of the release on either side.
      delta: at which epsilon is to be bounded.
      trials: of each side.

    Returns:
      Bool["releases"], in the direction that promises more.
    """
    error = (1.0 - _CONFIDENCE) / 4.0
    found = []
    for p, q in (tuned, tuned[::-1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(p > 0.0, np.log(p) - np.log(q), -np.inf)
        order = np.argsort(-loss, kind="stable")
        sums = [np.cumsum(law[order]) for law in (p, q)]
        # Nested events, from one that is seen once up to nearly all.
        last = np.searchsorted(sums[0], np.geomspace(1.0 / trials, 0.9, _EVENTS))
        last = np.unique(np.minimum(last, p.size - 1))
        seen = [np.minimum(np.round(trials * each[last]), trials) for each in sums]
        low = clopper_pearson_lower(seen[0], trials, error=error)
        high = clopper_pearson_upper(seen[1], trials, error=error)
        gain = np.maximum(low - delta, 0.0) / high
        best = int(np.argmax(gain))
        found.append((gain[best], np.isin(np.arange(p.size), order[: last[best] + 1])))
    return max(found, key=lambda each: each[0])[1]
