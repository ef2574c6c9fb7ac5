"""How statements are written down: a paper's claims, and its misprints.

A statement is its formula, decorated by a method of its ``Paper``. The first paragraph of the
docstring is the statement, the rest says what that leaves open, such as which number is
returned. Its check, a function decorated by the claim, stands beside it (``checking``). The
catalogue finds what modules of claims assign to names (``declared``).

    @PS.privacy("PS-Cor3", "Corollary 3", Relation.BASE)
    def pure(*, epsilon: Epsilon = 1.0):
        '''The best of K ...'''
        return ...

    @pure.bounds(listed("epsilon", 0.1, 1.0))
    def exact(epsilon):
        return ...

    @PS.privacy("PS-Cor3-again", "Section 4", Relation.BASE, formula=pure)
    def again():
        '''Another statement whose number is the same.'''

    E_PS_1 = PS.misprint("E-PS-1", "Theorem 6", "statement", printed="...", correct="...",
                         refuted=[printed], corrected=[pure])

A misprint is what the paper says and is false; what it does not say is a remark.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, SupportsFloat

from jaxsel.language.base import Claim, Erratum, Relation, Remark
from jaxsel.language.printing import source_place

# A formula; or, where the formula is another's, a function that has only a docstring.
_Stating = Callable[..., SupportsFloat | None]


def _id(claim: Claim | str) -> str:
    return claim if isinstance(claim, str) else claim.id


def _stated(function: _Stating) -> tuple[str, str]:
    """The two parts of a formula's docstring: the statement, and what number is returned."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n", 1)
    if not paragraphs[0]:
        raise TypeError(f"{source_place(function)}: the formula states nothing")
    return " ".join(paragraphs[0].split()), "\n\n".join(paragraphs[1:])


def _link(claim: Claim | str, **link: Any) -> None:
    """Sets fields of a claim to what an erratum or a remark says of it."""
    if isinstance(claim, Claim):
        for name, value in link.items():
            object.__setattr__(claim, name, value)


def _tell(
    link: dict[str, Any], truth: str, wrong: Sequence[Claim | str], right: Sequence[Claim | str]
) -> None:
    """Links claims to their erratum or remark; the wrong ones are marked false and corrected."""
    names = ", ".join(_id(claim) for claim in right)
    for claim in wrong:
        if isinstance(claim, Claim):
            correction = claim.correction or (f"{truth} ({names})" if names else truth)
            _link(claim, holds=False, correction=correction, **link)
    for claim in right:
        _link(claim, **link)


class Paper(NamedTuple):
    """Makes the statements of one paper.

    Attributes:
      key: short name, with which ids begin and which ``--paper`` takes.
      citation: authors and year, with which ``source`` begins.
    """

    key: str
    citation: str

    def _declared(
        self, id: str, place: str, kind: str, relation: Relation | None, more: dict[str, Any]
    ) -> Callable[[_Stating], Claim]:
        """Decorates a formula. Its docstring is the statement, unless ``more`` holds one.

        The claim's number is a float, whatever the formula returns.
        """
        source = f"{self.citation}, {place}" if place else self.citation
        caller = sys._getframe(2)
        call = f"{caller.f_code.co_filename}:{caller.f_lineno}"

        def claim(stating: _Stating) -> Claim:
            shared = more.get("formula", stating)
            formula = shared.evaluate if isinstance(shared, Claim) else shared
            plain = inspect.unwrap(formula)
            statement, number = more.get("statement"), inspect.getdoc(formula) or ""
            if statement is None:
                statement, own = _stated(inspect.unwrap(stating))
                number = own if shared is stating else number
            evaluate = functools.wraps(plain)(lambda **given: float(plain(**given)))
            evaluate.__doc__ = number
            # The claim of a ``bound`` is made of a function that evaluates the formula, not of it.
            docstring = source_place(getattr(stating, "stating", stating))
            evaluate.place = call if "statement" in more else docstring  # type: ignore[attr-defined]
            ours = ("statement", "formula", "record")
            others = {name: value for name, value in more.items() if name not in ours}
            record = more.get("record", Claim)
            return record(id, source, statement, kind, relation, evaluate, **others)

        return claim

    def privacy(
        self, id: str, place: str, relation: Relation, **more: Any
    ) -> Callable[[_Stating], Claim]:
        """Decorates the formula of a claim about privacy.

        Args:
          id: the claim's id.
          place: where it stands in the paper, for example "Theorem 2".
          relation: the neighbouring relation for which it is proved.
          **more: fields of ``Claim``; ``formula``, a claim or a function whose number it
            shares, where the decorated function has only a docstring; ``statement``, in
            place of the docstring; ``record``, which makes the claim of its fields.
        """
        return self._declared(id, place, "privacy", relation, more)

    def utility(self, id: str, place: str, **more: Any) -> Callable[[_Stating], Claim]:
        """Decorates the formula of a claim about utility; as ``privacy``, without a relation."""
        return self._declared(id, place, "utility", None, more)

    def identity(
        self, id: str, place: str, *, relation: Relation | None = None, **more: Any
    ) -> Callable[[_Stating], Claim]:
        """Decorates a formula that equals something; as ``privacy``."""
        return self._declared(id, place, "identity", relation, more)

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
    ) -> Erratum:
        """An erratum. It is noted in its claims, except those that are given by id alone.

        Args:
          id: the erratum's id.
          place: where it stands in the paper.
          kind: "statement" (false as printed), "proof" (true, but not by the printed
            proof) or "misprint".
          printed: what the paper says.
          correct: what is true, and why the printed form is not.
          refuted: claims that ``validate`` refutes; they are marked ``holds=False`` here.
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
        _tell({"erratum": id}, correct, refuted, corrected)
        return erratum

    def remark(
        self,
        id: str,
        place: str,
        text: str,
        *,
        readings: Sequence[Claim | str] = (),
        holds: Sequence[Claim | str] = (),
    ) -> Remark:
        """A remark on a printed statement that is easily misread, but no error.

        It is noted in its claims, except those that are given by id alone.

        Args:
          id: the remark's id, for example "R-PS-1".
          place: where the statement stands in the paper.
          text: what the paper says, how it can be misread or where its edge is, and what
            holds.
          readings: claims that one might read into the paper and that ``validate``
            refutes.
          holds: claims that state what is true.
        """
        remark = Remark(
            id,
            f"{self.citation}, {place}",
            text,
            tuple(_id(claim) for claim in readings),
            tuple(_id(claim) for claim in holds),
        )
        _tell({"remark": id}, text, readings, holds)
        return remark
