"""The best proven epsilon or delta of a tuned algorithm, over all known bounds."""

import math
from typing import NamedTuple

from jaxsel.accounting.single_run.conversions import LEAST_DELTA
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError, check_interval
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.attained_epsilon import attained_delta, attained_epsilon
from jaxsel.tuning.bounds.needed import Needed, needed
from jaxsel.tuning.proofs import proofs, statement

# Relative and absolute errors of the sums behind an epsilon.
ROUNDING = 1e-9


class ProvenEpsilon(NamedTuple):
    """An upper bound: the tuned algorithm is (epsilon, delta)-DP by that theorem."""

    epsilon: float
    theorem: str
    statement: str


class Account(NamedTuple):
    """The privacy cost of tuning.

    Attributes:
      bounds: every bound that applies, best first; epsilon is inf if a bound gives nothing
        at this delta.
      single: epsilon of one run at the same delta, released without tuning; inf if not
        known.
      attained: exact epsilon of one base with this guarantee, ranked adversarially: no
        bound that covers every such base and every ranking is smaller. NaN at delta = 0, if
        no such base is known, or if not requested.
      attained_from: what that base satisfies: the "guarantee"; or only its "privacy
        profile", if the Renyi curve is tighter (DP-SGD).
      needed: conditions under which an epsilon is provable, if none is; else None.
    """

    bounds: tuple[ProvenEpsilon, ...]
    single: float
    attained: float
    attained_from: str = "guarantee"
    needed: Needed | None = None

    @property
    def best(self) -> ProvenEpsilon:
        """The smallest proven epsilon."""
        return self.bounds[0]


def account(
    base: BaseGuarantee, repetitions: Repetitions, delta: float, *, attain: bool = True
) -> Account:
    """What is proved about the best of K runs of a base algorithm.

    Args:
      base: guarantee of one run.
      repetitions: law of K; the runs and the best of them are independent given K, and
        K itself is not released.
      delta: in [0, 1).
      attain: whether to search for a worst-case ranking; otherwise ``attained`` is NaN.

    Returns:
      All bounds, best first. Each is an upper bound on the same epsilon, so the least one
      is valid.

    Raises:
      InputError: if delta is out of range, or K is always 0.
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    _check_law(repetitions)
    bounds = [
        ProvenEpsilon(max(proof.epsilon(delta), 0.0), name, statement(name))
        for name, proof in proofs(base, repetitions).items()
        if delta >= proof.least_delta
    ]
    # The sort is stable: among equal bounds the theorem that is simplest to state is first.
    ranked = tuple(sorted(bounds, key=lambda bound: bound.epsilon))
    best = ranked[0].epsilon
    attained = math.nan
    if attain and delta > 0.0 and math.isfinite(best):
        found = attained_epsilon(base, repetitions, delta)
        attained = _credible(found, best, ROUNDING)
    lacking = None if math.isfinite(best) else needed(base, repetitions, delta)
    return Account(ranked, base.epsilon(delta), attained, _known(base), lacking)


class ProvenDelta(NamedTuple):
    """An upper bound: the tuned algorithm is (epsilon, delta)-DP by that theorem."""

    delta: float
    theorem: str
    statement: str


class AccountOfDelta(NamedTuple):
    """The delta of tuning at a given epsilon.

    Attributes:
      bounds: every bound that applies, best first; delta is 1 if a bound gives nothing.
      single: delta of one run at the same epsilon, released without tuning.
      attained, attained_from: as in Account, for delta.
    """

    bounds: tuple[ProvenDelta, ...]
    single: float
    attained: float
    attained_from: str = "guarantee"

    @property
    def best(self) -> ProvenDelta:
        """The smallest proven delta."""
        return self.bounds[0]


def _check_law(repetitions: Repetitions) -> None:
    if not repetitions.mean > 0.0:
        raise InputError("K is always 0: nothing is ever run, and there is no best run")


def _credible(attained: float, best: float, slack: float = 0.0) -> float:
    """The attained value; NaN if the best bound is smaller, since it uses more of the guarantee."""
    return math.nan if attained > best * (1.0 + ROUNDING) + slack else attained


def _known(base: BaseGuarantee) -> str:
    """The value of ``Account.attained_from``."""
    return "privacy profile" if base.more_than_pairs else "guarantee"


def account_delta(
    base: BaseGuarantee, repetitions: Repetitions, epsilon: float, *, attain: bool = True
) -> AccountOfDelta:
    """What is proved about delta of the best of K runs at an epsilon.

    Args:
      base, repetitions, attain: as of account.
      epsilon: >= 0, finite.

    Raises:
      InputError: if epsilon is out of range, or K is always 0.
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    _check_law(repetitions)
    bounds = [
        ProvenDelta(
            _not_underflowed(
                proof.delta(epsilon),
                epsilon,
                proof.epsilon(0.0) if proof.least_delta <= 0.0 else math.inf,
            ),
            name,
            statement(name),
        )
        for name, proof in proofs(base, repetitions).items()
    ]
    ranked = tuple(sorted(bounds, key=lambda bound: bound.delta))
    best = ranked[0].delta
    attained = math.nan
    if attain and best > 0.0:
        found = attained_delta(base, repetitions, epsilon)
        attained = _credible(found, best)
    single = _not_underflowed(base.delta(epsilon), epsilon, base.epsilon(0.0))
    return AccountOfDelta(ranked, single, attained, _known(base))


def _not_underflowed(delta: float, epsilon: float, pure: float) -> float:
    """A delta in [0, 1]; 0 only where ``pure``, proved at delta 0, is at most epsilon.

    A share of the epsilon of several releases is rounded, and may be a digit below.
    """
    least = 0.0 if pure <= epsilon * (1.0 + ROUNDING) else LEAST_DELTA
    return min(max(float(delta), least), 1.0)
