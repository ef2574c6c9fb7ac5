"""How statements are written down: a paper's claims, and its misprints.

A file of claims names its paper and lists its statements:

    STATEMENTS = (
        PS.privacy("PS-Cor3", "Corollary 3", "The best of K ...", BASE, _pure, check),
        PS.misprint(
            "E-PS-1", "Theorem 6", "statement", printed="...", correct="...",
            refuted=(PS.privacy("PS-Thm6-printed", ...),),
            corrected=(PS.privacy("PS-Thm6", ...),),
        ),
        PS.remark("R-PS-1", "Theorem 6", "What the paper leaves open is ..."),
    )

A misprint is what the paper says and is false; what it does not say is a remark.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxsel.language.base import Budget, Claim, Erratum, Relation, Remark, Verdict

Evaluate = Callable[..., float]
Check = Callable[[Budget], Verdict]


class Misprint(NamedTuple):
    """A wrong statement, with the claims that are refuted and those that hold instead."""

    erratum: Erratum
    claims: tuple[Claim, ...]


class Note(NamedTuple):
    """A remark, with the readings that fail and the claims that hold instead."""

    remark: Remark
    claims: tuple[Claim, ...]


Statement = Claim | Misprint | Note


def _id(claim: Claim | str) -> str:
    return claim if isinstance(claim, str) else claim.id


def _linked(
    link: dict[str, Any], truth: str, wrong: Sequence[Claim | str], right: Sequence[Claim | str]
) -> tuple[Claim, ...]:
    """The claims given as such, each with the link; the wrong ones with what is true."""
    names = ", ".join(_id(claim) for claim in right)
    correction = f"{truth} ({names})" if names else truth
    false = [
        dataclasses.replace(claim, holds=False, correction=claim.correction or correction, **link)
        for claim in wrong
        if isinstance(claim, Claim)
    ]
    true = [dataclasses.replace(claim, **link) for claim in right if isinstance(claim, Claim)]
    return (*false, *true)


class Paper(NamedTuple):
    """Makes the statements of one paper.

    Attributes:
      key: short name, as ids begin and as the command line asks for it.
      citation: authors and year, as ``source`` begins.
    """

    key: str
    citation: str

    def _claim(
        self,
        id: str,
        place: str,
        statement: str,
        kind: str,
        relation: Relation | None,
        evaluate: Evaluate,
        check: Check,
        more: dict[str, Any],
    ) -> Claim:
        source = f"{self.citation}, {place}" if place else self.citation
        return Claim(id, source, statement, kind, relation, evaluate, check, **more)

    def privacy(
        self,
        id: str,
        place: str,
        statement: str,
        relation: Relation,
        evaluate: Evaluate,
        check: Check,
        **more: Any,
    ) -> Claim:
        """A claim about privacy, proved for ``relation``; ``more`` as in ``Claim``."""
        return self._claim(id, place, statement, "privacy", relation, evaluate, check, more)

    def utility(
        self, id: str, place: str, statement: str, evaluate: Evaluate, check: Check, **more: Any
    ) -> Claim:
        """A claim about utility; ``more`` as in ``Claim``."""
        return self._claim(id, place, statement, "utility", None, evaluate, check, more)

    def identity(
        self,
        id: str,
        place: str,
        statement: str,
        evaluate: Evaluate,
        check: Check,
        relation: Relation | None = None,
        **more: Any,
    ) -> Claim:
        """A formula that equals something; ``more`` as in ``Claim``."""
        return self._claim(id, place, statement, "identity", relation, evaluate, check, more)

    def misprint(
        self,
        id: str,
        place: str,
        kind: str,
        *,
        printed: str,
        correct: str,
        refuted: Sequence[Claim | str] = (),
        corrected: Sequence[Claim | str] = (),
    ) -> Misprint:
        """An erratum with its claims; those listed by id alone stand elsewhere.

        Args:
          id: of the erratum.
          place: in the paper.
          kind: "statement" (false as printed), "proof" (true, but not by the printed
            proof) or "misprint".
          printed: what the paper says.
          correct: what is true, and why the printed form is not.
          refuted: claims that ``validate`` refutes; they need not say so themselves.
          corrected: claims that state what is true.
        """
        claims = _linked({"erratum": id}, correct, refuted, corrected)
        erratum = Erratum(
            id,
            f"{self.citation}, {place}",
            kind,
            printed,
            correct,
            tuple(_id(claim) for claim in refuted),
            tuple(_id(claim) for claim in corrected),
        )
        return Misprint(erratum, claims)

    def remark(
        self,
        id: str,
        place: str,
        text: str,
        *,
        readings: Sequence[Claim | str] = (),
        holds: Sequence[Claim | str] = (),
    ) -> Note:
        """What one should know of a statement that is no error of the paper.

        Args:
          id: of the remark, "R-PS-1".
          place: in the paper.
          text: what the paper says, how it can be misread or where its edge is, and what
            holds.
          readings: claims that one might read into the paper and that ``validate``
            refutes; those listed by id alone stand elsewhere.
          holds: claims that state what is true.
        """
        claims = _linked({"remark": id}, text, readings, holds)
        remark = Remark(
            id,
            f"{self.citation}, {place}",
            text,
            tuple(_id(claim) for claim in readings),
            tuple(_id(claim) for claim in holds),
        )
        return Note(remark, claims)
