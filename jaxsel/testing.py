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
from jaxsel.auditing.functions.verdicts import FAILED, REFUTED, UNDECIDED
from jaxsel.host.errors import CouldNotError, InputError, check_positive
from jaxsel.questions.audits import function_audit

__all__ = ["NoPowerError", "assert_private"]


class NoPowerError(CouldNotError):
    """So few trials were made that a gross violation, or none at all, would have been seen."""


def assert_private(
    subject: Any,
    data: Any = None,
    neighbour: Any = None,
    *,
    relation: str,
    epsilon: Any,
    delta: float = 0.0,
    false_alarm: float = 1e-6,
    trials: int = 100_000,
    seconds: float | None = 10.0,
    seed: int = 0,
    detects: float | None = 2.0,
    settings: Mapping[str, Any] | None = None,
    kind: str | None = None,
    call_seconds: float | None = None,
    repetitions: Any = None,
    bits: bool = False,
) -> FunctionAudit:
    """Fails where what a function returns refutes its claim of (epsilon, delta)-DP.

    Args:
      subject: the function: ``f(rng, data, n)`` with NumPy's Generator, which returns n
        outcomes; ``f(rng, data)``; ``f(data)``; ``f(key, data)`` in JAX; or
        "path/to/file.py:name".
      data, neighbour: two neighbours. With data alone, or neither, pairs are proposed for
        inputs like it, and the worst is searched.
      relation: "add_or_remove_one", "replace_one", "general", "monotone", "l1" or "local".
      epsilon, delta: the claim; epsilon may be a guarantee, as for ``audit_function``.
      false_alarm: the largest probability that this test fails for a function that keeps its
        claim: the unit in which a suite adds up.
      trials: on each input, the search included. They fix the verdict: equal seeds, equal
        verdicts.
      seconds: caps the time, not the error; None waits for all trials.
      seed: of the randomness that is handed to the function.
      detects: an epsilon that so many trials must be able to refute, relative to the claim's
        scale as it is: a run that could not have seen it has no power, and is no pass. None
        asks for nothing. Finite and above 0.
      settings: parameters of the function that have defaults, by name.
      kind, call_seconds: as for ``audit_function``.
      repetitions: as for ``jaxsel.audit``: a law of K, for a whole private search.
      bits: judges what is released as bits, and not as real numbers: see ``audit_function``.

    Returns:
      What was seen, which prints.

    Raises:
      AssertionError: if the claim is refuted.
      NoPowerError: if an epsilon of ``detects`` would not have been refuted, or no outcome of
        so few trials could have refuted the claim.
      CouldNotError: if no call answered, or trials are not independent.
      InputError: for bad input.
    """
    if detects is not None:
        check_positive("detects", detects)
    if data is None and neighbour is not None:
        raise InputError("neighbour is given without data; give both, or data alone")
    found = function_audit(
        subject,
        relation=relation,
        claim=epsilon,
        delta=delta,
        data=data,
        pair=None if neighbour is None else (data, neighbour),
        trials=trials,
        seconds=seconds,
        false_alarm=false_alarm,
        seed=seed,
        settings=settings,
        kind=kind,
        call_seconds=call_seconds,
        repetitions=repetitions,
        bits=bits,
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
