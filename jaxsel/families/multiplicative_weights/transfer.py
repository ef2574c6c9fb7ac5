"""Transfers the accuracy of private answers from the rows to the population.

Cohen et al. 2022, Section 4.3.2, with the constants of Jung, Ligett, Neel, Roth,
Sharifi-Malvajerdi & Shenfeld 2020 ("A new analysis of differential privacy's
generalization guarantees").
"""

from typing import Annotated, NamedTuple

from jaxsel.families.multiplicative_weights.parameters import Delta, Epsilon
from jaxsel.host import floats
from jaxsel.language.domains import positive
from jaxsel.language.signature import validated


class Accuracy(NamedTuple):
    """All errors are at most ``error``, except with probability ``failure``."""

    error: float
    failure: float


@validated
def transferred(
    rows: Accuracy,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    *,
    posterior: Annotated[float, positive("c")] = 0.01,
    slack: Annotated[float, positive("d")] = 1e-3,
) -> Accuracy:
    """How near the population's values (epsilon, delta)-DP answers in [0, 1] are.

    From alpha and beta for the rows to alpha + c + (e^epsilon - 1) + 2 d and beta/c + delta/d:
    given the transcript, an answer is within alpha + c of the posterior mean of the rows' answer,
    except with probability beta/c (Markov's inequality for the conditional probability of a
    bad answer); and by privacy that mean is within e^epsilon - 1 + 2 d of the population's
    answer for all queries, except with probability delta/d.

    Args:
      rows: alpha and beta for the rows.
      epsilon, delta: of the whole interaction, with respect to the rows.
      posterior: c, distance to the posterior mean.
      slack: d; not used if delta is 0.
    """
    c, d = posterior, slack if delta > 0.0 else 0.0
    lost = delta / d if delta > 0.0 else 0.0
    error = rows.error + c + floats.expm1(epsilon) + 2.0 * d
    return Accuracy(error, min(1.0, rows.failure / c + lost))
