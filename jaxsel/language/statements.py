"""How statements are written down: a paper's claims, and its misprints.

A statement is its formula, decorated; the first paragraph of the docstring is the statement,
the rest says what number is returned. What puts it to the test stands beside it
(``checking``). The catalogue collects what the modules of claims hold.

    @PS.privacy("PS-Cor3", "Corollary 3", Relation.BASE)
    def pure(*, epsilon: Epsilon = 1.0):
        '''The best of K ...'''
        return ...

    @pure.bounds(listed("epsilon", 0.1, 1.0))
    def exact(epsilon):
        return ...

    E_PS_1 = PS.misprint("E-PS-1", "Theorem 6", "statement", printed="...", correct="...",
                         refuted=[printed], corrected=[pure])

Files that are not yet written so list their statements:

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
import functools
import inspect
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


def _stated(function: Callable[..., float]) -> tuple[str, str]:
    """The two parts of a formula's docstring: the statement, and what number is returned."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n", 1)
    if not paragraphs[0]:
        code = function.__code__
        raise TypeError(f"{code.co_filename}:{code.co_firstlineno}: the formula states nothing")
    return " ".join(paragraphs[0].split()), "\n\n".join(paragraphs[1:])


def _link(claim: Claim | str, **link: Any) -> None:
    """Writes into a claim what an erratum or a remark says of it."""
    if isinstance(claim, Claim):
        for name, value in link.items():
            object.__setattr__(claim, name, value)


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


def _noted(
    kind: Callable[[Any, tuple[Claim, ...]], Misprint | Note],
    found: Erratum | Remark,
    link: dict[str, Any],
    truth: str,
    wrong: Sequence[Claim | str],
    right: Sequence[Claim | str],
) -> Any:
    """The erratum or remark itself, if its claims were declared by decorators."""
    claims = [claim for claim in (*wrong, *right) if isinstance(claim, Claim)]
    if not all(claim.declared for claim in claims):
        return kind(found, _linked(link, truth, wrong, right))
    names = ", ".join(_id(claim) for claim in right)
    for claim in wrong:
        if isinstance(claim, Claim):
            correction = claim.correction or (f"{truth} ({names})" if names else truth)
            _link(claim, holds=False, correction=correction, **link)
    for claim in right:
        _link(claim, **link)
    return found


class Paper(NamedTuple):
    """Makes the statements of one paper.

    Attributes:
      key: short name, as ids begin and as the command line asks for it.
      citation: authors and year, as ``source`` begins.
    """

    key: str
    citation: str

    def _declared(
        self, id: str, place: str, kind: str, relation: Relation | None, more: dict[str, Any]
    ) -> Callable[[Evaluate], Claim]:
        """Decorates a formula; ``more`` may hold the statement, else its docstring is it."""
        source = f"{self.citation}, {place}" if place else self.citation

        def claim(formula: Evaluate) -> Claim:
            plain = inspect.unwrap(formula)
            statement, number = more.get("statement"), inspect.getdoc(formula) or ""
            if statement is None:
                statement, number = _stated(plain)
            evaluate = functools.wraps(plain)(lambda **given: plain(**given))
            evaluate.__doc__ = number
            others = {name: value for name, value in more.items() if name != "statement"}
            return Claim(id, source, statement, kind, relation, evaluate, declared=True, **others)

        return claim

    def _claim(
        self,
        id: str,
        place: str,
        kind: str,
        relation: Relation | None,
        given: Sequence[Any],
        more: dict[str, Any],
    ) -> Any:
        """A decorator; or a claim, where statement, formula and check are given."""
        if not given:
            return self._declared(id, place, kind, relation, more)
        statement, evaluate, check = given
        source = f"{self.citation}, {place}" if place else self.citation
        return Claim(id, source, statement, kind, relation, evaluate, check, **more)

    def privacy(self, id: str, place: str, *given: Any, **more: Any) -> Any:
        """Decorates the formula of a claim about privacy.

        Args:
          id: of the claim.
          place: in the paper.
          *given: the relation for which it is proved. (Older files: statement, relation,
            formula, check; then the claim itself is returned.)
          **more: as in ``Claim``; ``statement``, where the docstring is not it.
        """
        if len(given) == 1:
            return self._claim(id, place, "privacy", given[0], (), more)
        statement, relation, evaluate, check = given
        return self._claim(id, place, "privacy", relation, (statement, evaluate, check), more)

    def utility(self, id: str, place: str, *given: Any, **more: Any) -> Any:
        """Decorates the formula of a claim about utility; as ``privacy``, of no relation."""
        return self._claim(id, place, "utility", None, given, more)

    def identity(
        self, id: str, place: str, *given: Any, relation: Relation | None = None, **more: Any
    ) -> Any:
        """Decorates a formula that equals something; as ``privacy``."""
        if len(given) == 4:
            relation, given = given[3], given[:3]
        return self._claim(id, place, "identity", relation, given, more)

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
    ) -> Any:
        """An erratum with its claims; those listed by id alone stand elsewhere.

        Claims that were declared by decorators are told what it says of them.

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
        erratum = Erratum(
            id,
            f"{self.citation}, {place}",
            kind,
            printed,
            correct,
            tuple(_id(claim) for claim in refuted),
            tuple(_id(claim) for claim in corrected),
        )
        return _noted(Misprint, erratum, {"erratum": id}, correct, refuted, corrected)

    def remark(
        self,
        id: str,
        place: str,
        text: str,
        *,
        readings: Sequence[Claim | str] = (),
        holds: Sequence[Claim | str] = (),
    ) -> Any:
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
        remark = Remark(
            id,
            f"{self.citation}, {place}",
            text,
            tuple(_id(claim) for claim in readings),
            tuple(_id(claim) for claim in holds),
        )
        return _noted(Note, remark, {"remark": id}, text, readings, holds)
