"""Transfers the accuracy of private answers from the rows to the population.

Cohen et al. 2022, Section 4.3.2, with the constants of Jung, Ligett, Neel, Roth,
Sharifi-Malvajerdi & Shenfeld 2020 ("A new analysis of differential privacy's
generalization guarantees").
"""

import math
from typing import NamedTuple

from jaxsel.host.errors import check_interval, check_positive


class Accuracy(NamedTuple):
    """All errors are at most ``error``, except with probability ``failure``."""

    error: float
    failure: float


def transferred(
    rows: Accuracy,
    epsilon: float,
    delta: float = 0.0,
    *,
    posterior: float = 0.01,
    slack: float = 1e-3,
) -> Accuracy:
    """Accuracy for the population of (epsilon, delta)-DP answers in [0, 1].

    alpha' = alpha + c + (e^epsilon - 1) + 2 d and beta' = beta/c + delta/d. Given the
    transcript, an answer is within alpha + c of the posterior mean of the rows' answer,
    except with probability beta/c (Markov's inequality for the conditional probability of a
    bad answer); and by privacy that mean is within e^epsilon - 1 + 2 d of the population's
    answer for all queries, except with probability delta/d.

    Args:
      rows: alpha and beta for the rows.
      epsilon, delta: of the whole interaction, with respect to the rows.
      posterior: c.
      slack: d; not used if delta is 0.
    """
    c = check_positive("posterior", posterior)
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    d = check_positive("slack", slack) if delta > 0.0 else 0.0
    lost = delta / d if delta > 0.0 else 0.0
    error = rows.error + c + math.expm1(epsilon) + 2.0 * d
    return Accuracy(error, min(1.0, rows.failure / c + lost))
