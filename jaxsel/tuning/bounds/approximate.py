"""Tuning base algorithms that are private only up to a failure probability.

Papernot & Steinke 2022, Appendix E: if Q is a mixture of a good part, with weight 1 -
failure, and an arbitrary law, then so is the tuned algorithm, and its good part is the good
part tuned with a smaller number of runs.
"""

from typing import NamedTuple

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.parameters import Delta


class Thinned(NamedTuple):
    """The law of the number of runs given that none fails, and the probability of a failure."""

    repetitions: Repetitions
    delta: float


class GoodPart(NamedTuple):
    """A search whose runs may fail, conditioned on no failure.

    Attributes:
      base: guarantee of one run that does not fail.
      repetitions: law of the number of runs, given that none fails.
      failure: probability that some run fails.
    """

    base: BaseGuarantee
    repetitions: Repetitions
    failure: float


def good_part(base: BaseGuarantee, repetitions: Repetitions) -> GoodPart | None:
    """Conditions a search on no failure; None without failures, or if Lemma 20 does not apply.

    Args:
      base: guarantee of one run.
      repetitions: law of K; the lemma in closed form covers some families.
    """
    if base.core is None:
        return None
    try:
        law, failure = thinned(repetitions, base.failure)
    except InputError:
        return None
    return GoodPart(base.core, law, failure)


@validated
def thinned(repetitions: Repetitions, failure: Delta) -> Thinned:
    """Law of K given that none of K runs fails, and the probability that one does (Lemma 20).

    The former is proportional to P[K = k] (1 - failure)^k, the latter is 1 - f(1 - failure), f
    being the generating function of K.

    Args:
      repetitions: a Poisson, truncated negative binomial, binomial or point-mass law.
      failure: probability that one run fails.

    Raises:
      InputError: for other laws.
    """
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
            law = laws.binomial(int(parameters["count"]), chance * good / (1.0 - chance * failure))
        case "point_mass":
            law = repetitions
        case other:
            raise InputError(
                f"repetitions are {other}; approximate guarantees are implemented for "
                "poisson, truncated_negative_binomial, binomial and point_mass"
            )
    return Thinned(law, float(repetitions.pgf_gap(failure)))
