"""The claim that private tuning draws the best of K runs (Papernot & Steinke 2022, Section 3)."""

import functools
from typing import Annotated, NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.private_tuning.base_settings import Runs
from jaxsel.host.errors import InputError
from jaxsel.language.checking import CONFIDENCE
from jaxsel.language.domains import whole
from jaxsel.language.papers import PS

_TRIALS = 20_000  # at most
# Settings of all bases, away from special values.
_VALUES = {
    "epsilon": 0.7,
    "bit": 0,
    "probabilities": np.array([0.05, 0.4, 0.25, 0.3]),
    "scores": np.array([0.4, 1.3, 1.3, -0.6]),
    "noise_scale": 0.6,
    "edges": np.array([-0.5, 0.3, 0.6, 1.4]),
}


class _Run(NamedTuple):
    """A base, a law of K, and a way to draw the best of K runs."""

    base: str
    repetitions: str
    method: str


# Every base with a law of K and a method. The finite base is missing, as the self-check
# SIM-private_tuning tries all methods on it.
_RUNS = (
    _Run("randomised_response", "binomial:count=5,probability=0.4", "literal"),
    _Run("score_table", "logarithmic:gamma=0.15", "count"),
    _Run("random_candidate_laplace", "tnb:eta=0.5,gamma=0.3", "rank"),
    _Run("random_candidate_gaussian", "poisson:mean=2.5", "literal"),
    _Run("noised_score_laplace", "geometric:gamma=0.3,capped=6", "count"),
    _Run("noised_score_gaussian", "tnb:eta=-0.4,gamma=0.2", "rank"),
)


def _built(run: _Run):
    """The mechanism of a ``_Run``, its data and its parameters."""
    from jaxsel.families.private_tuning.private_tuning import private_tuning

    runs = Runs(run.base, **_VALUES)
    law = laws.parse(run.repetitions)
    data, params = runs.input()
    mechanism = private_tuning(runs.make(), law.family, method=run.method)
    return mechanism, data, params | {"repetitions": law}


@functools.cache
def _law(run: _Run) -> np.ndarray:
    """The exact law of the label of the best of K, Float64["labels + 1"], "none" last."""
    mechanism, data, params = _built(run)
    assert mechanism.law is not None
    return mechanism.law(data, params).probabilities


@PS.utility("PS-Alg0", "Section 3 (the algorithm)")
def best_of_runs(
    *,
    run: Annotated[int, whole("which run, from 0", at_least=0, at_most=len(_RUNS) - 1)] = 0,
    label: Annotated[int, whole("which label, from 0", at_least=0)] = 0,
):
    """For every base here, and K truncated negative binomial, Poisson, binomial or capped, each
    label of the best of K runs is as frequent as its exact law says, whether the runs are made, or
    the rank of the best is drawn.

    Returns the exact probability that the best of K runs has the label; "none" comes last.
    """
    law = _law(_RUNS[run])
    if label >= law.size:
        raise InputError(f"label is {label}; there are {law.size} labels, from 0")
    return law[label]


@best_of_runs.bounds(tolerance=0.0)
def frequencies(budget):
    from jaxsel.host.intervals import clopper_pearson
    from jaxsel.kernel.engine import simulate

    trials = max(1, min(budget.trials, _TRIALS))
    for index, run in enumerate(_RUNS):
        mechanism, data, params = _built(run)
        tallies = simulate(mechanism, data, params, trials=trials, seed=budget.seed, progress=False)
        counts = np.asarray(tallies.values[0])
        error = (1.0 - CONFIDENCE) / (len(_RUNS) * counts.size)
        low, high = clopper_pearson(counts, trials, 1.0 - error)
        for place, label in enumerate(tallies.labels):
            if _law(run)[place] == 0.0 and counts[place] == 0:
                continue
            point = {"run": index, "label": place}
            where = f"label {label}, {counts[place]} of {trials} trials, {run}"
            upper = float(high[place])
            yield point, lambda exact, upper=upper: (upper, exact), f"upper limit, {where}"
            yield point, low[place], f"lower limit, {where}"
