"""The best proven epsilon or delta of a tuned algorithm, over all known bounds."""

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from jaxsel.accounting.single_run.conversions import LEAST_DELTA
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.former_names import former_names
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.attained_epsilon import attained_delta, attained_epsilon
from jaxsel.tuning.parameters import TunedDelta, TunedEpsilon, check_some_run
from jaxsel.tuning.proofs import proofs, statement

# Relative and absolute errors of the sums behind an epsilon.
ROUNDING = 1e-9


class ProvenEpsilon(NamedTuple):
    """At the delta that was asked for, the tuned algorithm is (epsilon, delta)-DP by that theorem.

    Attributes:
      epsilon: the number that is proved; inf if none is.
      theorem: the name by which accounts show the bound.
      statement: the bound in a few words.
    """

    epsilon: float
    theorem: str
    statement: str


class ProvenDelta(NamedTuple):
    """As ``ProvenEpsilon``, where epsilon was given and delta is the number that is proved."""

    delta: float
    theorem: str
    statement: str


@validated
def proven_epsilons(
    base: BaseGuarantee, repetitions: Repetitions, delta: TunedDelta
) -> tuple[ProvenEpsilon, ...]:
    """Every bound on epsilon of the best of K runs of a base algorithm, best first.

    Args:
      base: guarantee of one run.
      repetitions: law of K; the runs and the best of them are independent given K, and
        K itself is not released.
      delta: of the search.

    Returns:
      All bounds; epsilon is inf if one gives nothing at this delta. Each is an upper bound on
      the same epsilon, so the least one is valid.

    Raises:
      InputError: if K is always 0.
    """
    check_some_run(repetitions)
    bounds = []
    for name, proof in proofs(base, repetitions).items():
        if delta >= proof.least_delta:
            bounds.append(ProvenEpsilon(_said(proof.epsilon(delta)), name, statement(name)))
    # The sort is stable: among equal bounds the theorem that is simplest to state is first.
    return tuple(sorted(bounds, key=lambda bound: bound.epsilon))


def _said(epsilon: float) -> float:
    """The epsilon that a bound states, at least 0; what is no number proves nothing."""
    return max(epsilon, 0.0) if epsilon > -math.inf else math.inf


@validated
def proven_deltas(
    base: BaseGuarantee,
    repetitions: Repetitions,
    epsilon: TunedEpsilon,
    *,
    only: Collection[str] = (),
) -> tuple[ProvenDelta, ...]:
    """Every bound on delta of the best of K runs at an epsilon, best first.

    Args:
      base, repetitions: as of ``proven_epsilons``.
      epsilon: of the search.
      only: ids of bounds, if no others are wanted.

    Returns:
      All bounds; delta is 1 if one gives nothing.

    Raises:
      InputError: if K is always 0.
    """
    check_some_run(repetitions)
    bounds = []
    for name, proof in proofs(base, repetitions, only=only).items():
        # The pure epsilon takes longer than delta itself, and matters where that underflows.
        delta, pure = proof.delta(epsilon), math.inf
        if proof.least_delta <= 0.0 and not delta >= LEAST_DELTA:
            pure = proof.epsilon(0.0)
        delta = _not_underflowed(delta, epsilon, pure)
        bounds.append(ProvenDelta(delta, name, statement(name)))
    return tuple(sorted(bounds, key=lambda bound: bound.delta))


def single_delta(base: BaseGuarantee, epsilon: float) -> float:
    """Delta of one run at an epsilon, released without tuning."""
    return _not_underflowed(base.delta(epsilon), epsilon, base.epsilon(0.0))


def attained(
    base: BaseGuarantee, repetitions: Repetitions, best: ProvenEpsilon | ProvenDelta, at: float
) -> float:
    """Exact epsilon (or delta) of one base with this guarantee, ranked adversarially.

    Args:
      base, repetitions: as of ``proven_epsilons``.
      best: the least of the bounds on the same epsilon, or delta.
      at: the delta, or epsilon, of these bounds.

    Returns:
      A value that no bound can be below which covers every such base and every ranking: at
      most ``best``. NaN at delta = 0, where nothing is proved, or if no such base is known.
    """
    if isinstance(best, ProvenDelta):
        found, slack = math.nan, 0.0
        if best.delta > 0.0:
            found = attained_delta(base, repetitions, at)
    else:
        found, slack = math.nan, ROUNDING
        if at > 0.0 and math.isfinite(best.epsilon):
            found = attained_epsilon(base, repetitions, at)
    # Where the best bound is smaller, it uses more of the guarantee.
    return math.nan if found > best[0] * (1.0 + ROUNDING) + slack else found


def _not_underflowed(delta: float, epsilon: float, pure: float) -> float:
    """A delta in [0, 1]; 0 only where ``pure``, proved at delta 0, is at most epsilon.

    A share of the epsilon of several releases is rounded, and may be a digit below.
    """
    if math.isnan(delta):
        return 1.0  # what is no number proves nothing
    least = 0.0 if pure <= epsilon * (1.0 + ROUNDING) else LEAST_DELTA
    return min(max(float(delta), least), 1.0)


if not TYPE_CHECKING:  # names of 0.2.0, whose answers were part of a ``Cost``
    __getattr__ = former_names(
        __name__, {"account": "jaxsel.account", "account_delta": "jaxsel.account(epsilon=)"}
    )
