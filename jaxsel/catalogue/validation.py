"""validate: checks claims and compares the verdicts with what is expected.

A second question is asked of each published statement that is true: would its check refute
it if its number were wrong (``Verdict.notices``)? One whose check would not says in
``Claim.loose`` why nothing nearer is known. Self-checks judge mechanisms, not formulas.
"""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jaxsel.catalogue.collect import find_claim, is_self_check
from jaxsel.kernel import compiled
from jaxsel.language.base import Budget, Claim, Verdict
from jaxsel.language.printing import Summary, printed

_COLUMNS = (
    "id",
    "verdict",
    "claimed",
    "observed",
    "margin",
    "tightness",
    "cases",
    "evaluated",
    "notices",
    "worst case",
)
_CLAIMS_KEPT = 16  # claims after which compiled programs are dropped


def _asked(claim: Claim, verdict: Verdict) -> bool:
    """Whether the check evaluated the statement; self-checks need not."""
    return verdict.evaluated > 0 or is_self_check(claim.id)


@printed
class Validation(NamedTuple):
    """The verdict on one claim.

    Attributes:
      claim: the claim that was checked.
      verdict: the result of the check.
      as_expected: whether a claim that should hold holds, or a statement known to be false
        is refuted. An inconclusive check is never as expected, and neither is one that
        never evaluates the statement that it judges.
      seconds: wall time of the check.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.validate("PS-Thm6-printed", jaxsel.Budget(cases=20))[0]
        >>> print(found.verdict.outcome)  # this statement is false as the paper prints it,
        refuted
        >>> found.as_expected  # which is known
        True
    """

    claim: Claim
    verdict: Verdict
    as_expected: bool
    seconds: float

    def row(self) -> tuple:
        """The verdict as a row of a table."""
        found = self.verdict
        return (
            self.claim.id,
            found.outcome,
            found.claimed,
            found.observed,
            found.margin,
            found.tightness,
            found.cases,
            found.evaluated,
            found.notices,
            found.detail,
        )

    @property
    def loose(self) -> bool:
        """Whether this is a true statement whose check would not notice a wrong number."""
        published = self.claim.holds and not is_self_check(self.claim.id)
        return published and not self.verdict.notices

    def summary(self) -> Summary:
        """The verdict as text."""
        expected = "as expected" if self.as_expected else "NOT AS EXPECTED"
        sentence = f"{self.claim.id}: {self.verdict.outcome}, {expected}."
        if not _asked(self.claim, self.verdict):
            sentence += " Its check never evaluates it."
        if self.loose:
            sentence += f" A wrong number would go unnoticed: {self.claim.loose or 'UNEXPLAINED'}"
        return Summary(sentence, _COLUMNS, [self.row()])


@printed
class Validations(tuple[Validation, ...]):
    """The verdicts on several claims."""

    def counted(self) -> str:
        """The number of claims that are as expected, as text."""
        wrong = sum(not found.as_expected for found in self)
        refuted = sum(found.verdict.outcome == "refuted" for found in self)
        return f"{len(self) - wrong} of {len(self)} as expected ({refuted} refuted), {wrong} not"

    def power(self) -> str:
        """The number of true statements whose check notices no wrong number, as text."""
        loose = [found for found in self if found.loose]
        unexplained = sum(found.claim.loose is None for found in loose)
        if not loose:
            return ""
        return (
            "True statements whose check would hold with half of their number, too (a lower bound "
            f"with twice, an identity with 1.01 times it): {len(loose)}, without a reason "
            f"{unexplained}."
        )

    def summary(self) -> Summary:
        """The number of claims that are as expected, and every verdict."""
        sentence = f"{self.counted()}. {self.power()}".strip()
        return Summary(sentence, _COLUMNS, [found.row() for found in self])


def validate(
    claims: Claim | str | Iterable[Claim | str],
    budget: Budget = Budget(),
    *,
    seen: Callable[[Validation], None] = lambda validation: None,
) -> Validations:
    """Checks claims.

    Args:
      claims: one or several, each a record or an id: ``validate("PS-Thm2")``.
      budget: how much work a check may do.
      seen: called after each one, for progress.

    Raises:
      InputError: for an id that names no claim.

    Example:
        >>> import jaxsel
        >>> print(jaxsel.validate(["PS-Cor3", "PS-Thm6-printed"]).summary().sentence)
        2 of 2 as expected (1 refuted), 0 not.
    """
    if isinstance(claims, Claim | str):
        claims = (claims,)
    done = []
    for claim in claims:
        done.append(_check(claim, budget, seen))
        if len(done) % _CLAIMS_KEPT == 0:
            compiled.forget()
    return Validations(done)


def _check(claim: Claim | str, budget: Budget, seen: Callable[[Validation], None]) -> Validation:
    if isinstance(claim, str):
        claim = find_claim(claim)
    started = time.monotonic()
    verdict = claim.check(budget)
    expected = "holds" if claim.holds else "refuted"
    seconds = time.monotonic() - started
    asked = _asked(claim, verdict)
    result = Validation(claim, verdict, asked and verdict.outcome == expected, seconds)
    seen(result)
    return result
