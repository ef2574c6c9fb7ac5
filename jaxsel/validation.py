"""validate: puts claims to the test and compares with what is expected of them."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from jaxsel.base import Budget, Claim, Verdict


class Validation(NamedTuple):
    """The verdict on one claim.

    Attributes:
      claim: what was tested.
      verdict: what was seen.
      as_expected: True if a claim that should hold holds, or a statement known to be
        false is refuted. An inconclusive check is never as expected.
      seconds: wall time of the check.
    """

    claim: Claim
    verdict: Verdict
    as_expected: bool
    seconds: float


def validate(
    claims: Iterable[Claim],
    budget: Budget = Budget(),
    *,
    seen: Callable[[Validation], None] = lambda validation: None,
) -> Sequence[Validation]:
    """Checks each claim; ``seen`` is called after each one (for progress)."""
    results = []
    for claim in claims:
        started = time.monotonic()
        verdict = claim.check(budget)
        expected = "holds" if claim.holds else "refuted"
        result = Validation(
            claim, verdict, verdict.outcome == expected, time.monotonic() - started
        )
        results.append(result)
        seen(result)
    return results
