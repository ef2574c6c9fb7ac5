"""Tuning base algorithms that are private only up to a failure probability.

Papernot & Steinke 2022, Appendix E: if Q is a mixture of a good part, with weight
1 - failure, and of anything, then the tuned algorithm is one too, and its good part is
the tuned good part with a smaller number of runs.
"""

import math
from typing import NamedTuple

from jaxsel import repetitions as laws
from jaxsel.errors import InputError, check_interval, check_positive
from jaxsel.families.tuning.bounds.generic import correct_for_no_runs
from jaxsel.repetitions import Repetitions


class Thinned(NamedTuple):
    """The number of runs given that all are good, and the chance that one is not."""

    repetitions: Repetitions
    delta: float


class ApproximateRenyi(NamedTuple):
    """delta-approximate Renyi DP: the bound epsilon at every order up to max_order."""

    epsilon: float
    delta: float
    max_order: float


def thinned(repetitions: Repetitions, failure: float) -> Thinned:
    """Law of K given that none of K runs fails, and delta (Lemma 20).

    P[K~ = k] is proportional to P[K = k] (1 - failure)^k and
    delta = 1 - f(1 - failure), f being the generating function of K.

    Args:
      repetitions: a Poisson, truncated negative binomial, binomial or point-mass law.
      failure: probability that one run fails, in [0, 1).

    Raises:
      InputError: for other laws, or a failure outside [0, 1).
    """
    failure = check_interval("failure", failure, 0.0, 1.0, low_open=False)
    good = 1.0 - failure
    parameters = repetitions.parameters
    match repetitions.family:
        case "poisson":
            law = laws.poisson(parameters["mean"] * good)
        case "truncated_negative_binomial":
            gamma = parameters["gamma"]
            law = laws.truncated_negative_binomial(
                parameters["eta"], gamma + failure * (1.0 - gamma)
            )
        case "binomial":
            chance = parameters["probability"]
            law = laws.binomial(
                int(parameters["count"]), chance * good / (1.0 - chance * failure)
            )
        case "point_mass":
            law = repetitions
        case other:
            raise InputError(
                f"repetitions are {other}; approximate guarantees are implemented for "
                "poisson, truncated_negative_binomial, binomial and point_mass"
            )
    return Thinned(law, float(repetitions.pgf_gap(failure)))


def pure_core_delta(repetitions: Repetitions, delta: float) -> float:
    """1 - f(1 - delta): delta of the tuned algorithm for an (epsilon, delta)-DP base.

    Its epsilon is that of tuning an epsilon-DP base with the thinned law: for the
    truncated negative binomial, (2 + eta) epsilon.
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    return float(repetitions.pgf_gap(delta))


def approximate_poisson_renyi(
    epsilon: float, delta: float, mean: float, *, corrected: bool = True
) -> ApproximateRenyi:
    """Poisson tuning of an (epsilon, delta)-DP base (Corollary 21).

    epsilon + (e^epsilon - 1) log(mean) at all orders up to 1 + 1/(e^epsilon - 1), with
    delta' = 1 - e^(-mean delta). Through Lemma 20 and Theorem 6 at mean (1 - delta), so
    that it needs mean (1 - delta) >= 1 (E-PS-1); below that the corrected bound adds
    the outcome "no run".

    Args:
      epsilon, delta: guarantee of the base, epsilon > 0, delta in [0, 1).
      mean: > 0, mean number of runs.
      corrected: False gives the bound as printed, for every mean.

    Raises:
      InputError: for a parameter out of range.
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    mean = check_positive("mean", mean)
    odds = math.expm1(epsilon)
    bound = epsilon + odds * math.log(mean)
    if corrected and mean * (1.0 - delta) < 1.0:
        kept = mean * (1.0 - delta)
        raw = epsilon + odds * math.log(kept)
        bound = float(correct_for_no_runs(1.0 + 1.0 / odds, raw, math.exp(-kept)))
    return ApproximateRenyi(bound, -math.expm1(-mean * delta), 1.0 + 1.0 / odds)
