"""assert_private: a function's privacy claim as an ordinary test, for pytest and others::

    from jaxsel.testing import assert_private

    def test_my_mean_is_private():
        assert_private(
            my_mean, [0.0] * 9, [0.0] * 8 + [1.0], relation="replace_one", epsilon=1.0
        )

The test fails if the claim is refuted, and if a gross violation would not have been seen.
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxsel.auditing.functions.audit_function import FunctionAudit
from jaxsel.auditing.functions.how import How, read, reads_former
from jaxsel.auditing.functions.verdicts import FAILED, REFUTED, UNDECIDED
from jaxsel.host.errors import CouldNotError, check_positive
from jaxsel.questions.function_audit import function_audit

__all__ = ["NoPowerError", "assert_private"]


class NoPowerError(CouldNotError):
    """So few trials were made that a gross violation, or none at all, would have been seen."""


@reads_former("data", "neighbour", "seconds", "kind", "call_seconds", "repetitions", "bits")
def assert_private(
    subject: Any,
    *data: Any,
    relation: str,
    epsilon: Any,
    delta: float = 0.0,
    false_alarm: float = 1e-6,
    trials: int = 100_000,
    seed: int = 0,
    detects: float | None = 2.0,
    settings: Mapping[str, Any] | None = None,
    how: Any = None,
) -> FunctionAudit:
    """Fails where what a function returns refutes its claim of (epsilon, delta)-DP.

    Args:
      subject, data, relation, settings: as for ``jaxsel.audit_function``: two neighbours are
        compared; with one input, or none, pairs are proposed for inputs like it, and the worst is
        searched.
      epsilon, delta: the claim; epsilon may be a guarantee, as for ``jaxsel.audit_function``.
      false_alarm: the largest probability that this test fails for a function that keeps its
        claim: the unit in which a suite adds up.
      trials: on each input, the search included. They fix the verdict: equal seeds, equal
        verdicts.
      seed: of the randomness that is handed to the function.
      detects: an epsilon that so many trials must be able to refute, relative to the claim's
        scale as it is: a run that could not have seen it has no power, and is no pass. None
        asks for nothing. Finite and above 0.
      how: as for ``jaxsel.audit_function``, such as "bits,seconds=60". Unless it says
        otherwise ("seconds=none"), ten seconds cap the time, not the error.

    Returns:
      What was seen, which prints.

    Raises:
      AssertionError: if the claim is refuted.
      NoPowerError: if an epsilon of ``detects`` would not have been refuted, or no outcome of
        so few trials could have refuted the claim.
      CouldNotError: if no call answered, or trials are not independent.
      InputError: for bad input.

    Example:
        >>> from jaxsel.testing import assert_private
        >>> def noisy(rng, data, n):
        ...     return data + rng.laplace(size=n)
        >>> assert_private(noisy, 0.0, 1.0, relation="general", epsilon=1.0, trials=10_000).verdict
        'not refuted'
    """
    if detects is not None:
        check_positive("detects", detects)
    found = function_audit(
        subject,
        *data,
        relation=relation,
        claim=epsilon,
        delta=delta,
        trials=trials,
        false_alarm=false_alarm,
        seed=seed,
        settings=settings,
        how=read(How, how, seconds=10.0),
    )
    if found.verdict == REFUTED:
        raise AssertionError(f"\n{found}")
    if found.verdict == FAILED:
        raise CouldNotError(f"{found}")
    if found.verdict == UNDECIDED:
        raise NoPowerError(f"no power: {found.summary().sentence}")
    if detects is not None and found.detectable > max(detects, found.epsilon):
        seen = f"epsilon {found.detectable:.3g} and more"
        seen = seen if found.detectable < math.inf else "no epsilon"
        raise NoPowerError(
            f"no power: {found.trials} trials a side would have refuted {seen}, not {detects:g}; "
            f"the audit was ended by {found.ended_by}"
        )
    return found
