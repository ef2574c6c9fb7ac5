"""From answers that are accurate for the rows to answers that are accurate for the population.

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
    """The accuracy for the population of (epsilon, delta)-DP answers in [0, 1] to linear queries.

    If all errors for the rows are at most alpha, except with probability beta, then all errors for
    the population are at most alpha + c + (e^epsilon - 1) + 2 d, except with probability beta/c +
    delta/d. For, given the transcript, an answer is within alpha + c of the posterior mean of the
    rows' answer, except with probability beta/c (Markov's inequality for the conditional
    probability of a bad answer). By privacy, for all queries this mean is within e^epsilon - 1 +
    2 d of the population's answer, except with probability delta/d.

    Args:
      rows: alpha and beta for the rows.
      epsilon, delta: of the whole interaction, with respect to the rows.
      posterior: c; a larger one costs error, and makes failure rarer.
      slack: d; likewise, and not used if delta is 0.
    """
    c, d = posterior, slack if delta > 0.0 else 0.0
    lost = delta / d if delta > 0.0 else 0.0
    error = rows.error + c + floats.expm1(epsilon) + 2.0 * d
    return Accuracy(error, min(1.0, rows.failure / c + lost))
