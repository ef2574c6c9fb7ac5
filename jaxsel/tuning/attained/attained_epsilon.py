"""Lower bounds on every bound that holds for all rankings."""

import math
from collections.abc import Callable

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair, reversed_pair
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.finite_adversary import finite_adversarial
from jaxsel.tuning.attained.two_ended import family_delta
from jaxsel.tuning.bounds.envelope import envelope_log_delta, pair_envelope
from jaxsel.tuning.parameters import ProperDelta, TunedEpsilon, check_some_run

_QUICK = 2048  # points of the envelope that says which rankings matter
_LARGE = 2e-3  # atoms above this mass are split
# Fractions of a split atom: small ones first, since a ranking may use a small piece.
_SHARES = np.diff(np.concatenate([[0.0], np.geomspace(1e-13, 1.0, 400)]))


def _split(pair: DominatingPair) -> tuple[np.ndarray, np.ndarray]:
    """Splits large atoms into pieces of equal loss: a ranking may use independent noise."""
    large = np.maximum(pair.first, pair.second) > _LARGE
    return tuple(
        np.concatenate([masses[~large], np.outer(masses[large], _SHARES).ravel()])
        for masses in (pair.first, pair.second)
    )  # type: ignore[return-value]


def _symmetric(pair: DominatingPair, other: DominatingPair) -> bool:
    """Whether a pair is the other one with its laws exchanged."""
    return pair.first.size == other.first.size and bool(
        np.allclose(pair.first, other.second[::-1], rtol=1e-9, atol=0.0)
        and np.allclose(pair.second, other.first[::-1], rtol=1e-9, atol=0.0)
    )


def _every_ranking(pair: DominatingPair, repetitions: Repetitions) -> Callable[[float], float]:
    """epsilon -> an upper bound on the delta of every ranking of a pair, in both directions."""
    if not math.isfinite(repetitions.mean):
        return lambda epsilon: 1.0
    envelopes = tuple(
        pair_envelope(each, repetitions, count=_QUICK) for each in (pair, reversed_pair(pair))
    )
    return lambda epsilon: float(np.exp(envelope_log_delta(envelopes, epsilon)))


@validated
@one_blas_thread()
def attained_epsilon(base: BaseGuarantee, repetitions: Repetitions, delta: ProperDelta) -> float:
    """Exact epsilon of one base with this guarantee, under a ranking found by a search.

    A bound that is proved from the guarantee and holds for every ranking cannot be smaller.
    (For DP-SGD the base has its privacy profile only; a bound that also uses the Renyi
    curve may be smaller.)

    Args:
      base: the guarantee of one run.
      repetitions: law of K.
      delta: where epsilon is taken.

    Returns:
      The epsilon; NaN if no pair of laws is known to have the guarantee.
    """
    pairs = base.attaining()
    if pairs is None:
        return math.nan
    # If a mass equals delta, rounding must not count it as exceeding delta.
    above = min(delta * (1.0 + 1e-10), 1.0 - 2.0**-53)
    return max(finite_adversarial(*_split(pair), repetitions, above).epsilon for pair in pairs)


@validated
@one_blas_thread()
def attained_delta(base: BaseGuarantee, repetitions: Repetitions, epsilon: TunedEpsilon) -> float:
    """Exact delta at epsilon of one base with this guarantee, under a ranking found.

    The maximum over a family of two-ended rankings that does not depend on epsilon, so that
    it does not increase in epsilon.

    Args:
      base, repetitions: as for attained_epsilon.
      epsilon: where delta is taken.

    Returns:
      The delta; NaN if no pair of laws is known to have the guarantee.

    Raises:
      InputError: if K is always 0.
    """
    pairs = base.attaining()
    if pairs is None:
        return math.nan
    check_some_run(repetitions)
    return max(
        family_delta(
            *_split(pair),
            repetitions,
            epsilon,
            symmetric=_symmetric(pair, pair),
            bound=_every_ranking(pair, repetitions),
        )
        # Both directions are tried, so that one of a pair and its reverse is enough.
        for place, pair in enumerate(pairs)
        if not any(_symmetric(other, pair) for other in pairs[:place])
    )
