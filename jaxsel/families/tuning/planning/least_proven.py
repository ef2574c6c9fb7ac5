"""Of some laws of K that meet the same wishes, the one of least proven epsilon.

The law of least envelope is not always the one of which least is proved: at a large delta
the priced envelope proves less for laws whose envelope is larger.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.families.tuning import accountant
from jaxsel.families.tuning.planning.named_laws import FAMILIES, fitted
from jaxsel.families.tuning.planning.optimal_law import Found
from jaxsel.families.tuning.proofs import proofs
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions, as_law

NAME = "optimal"


class Proven(NamedTuple):
    """A law of K and the least epsilon that is proved with it.

    Attributes:
      name: "optimal" for the law of least envelope, else its family.
      law: of K.
      epsilon: proved, at the delta asked for.
      theorem: that proves it.
    """

    name: str
    law: Repetitions
    epsilon: float
    theorem: str


def _accounted(base: BaseGuarantee, name: str, law: Repetitions, delta: float) -> Proven:
    best = accountant.account(base, law, delta, attain=False).best
    return Proven(name, law, best.epsilon, best.theorem)


def _improves(base: BaseGuarantee, law: Repetitions, delta: float, epsilon: float):
    """Whether some bound is at delta below epsilon: one price, not a search for one."""
    return any(
        proof.never_below(epsilon) < delta and proof.delta(epsilon) < delta
        for proof in proofs(base, law).values()
        if delta >= proof.least_delta
    )


def _others(
    found: Found, rank_of: str | Repetitions | None
) -> Iterator[tuple[str, Repetitions | None]]:
    """The laws with a name that meet the wishes, and the one that was named in them."""
    law = None if rank_of is None else as_law(rank_of)
    meets = law is not None and found.wishes.afforded(law) and found.wishes.good_enough(law)
    yield ("", None) if law is None or not meets else (law.family, law)
    for family in FAMILIES:
        try:
            named = fitted(family, found.wishes)
        except InputError:  # nothing in the wishes limits a family
            named = None
        yield family, None if named is None else named.law


def least_proven(
    base: BaseGuarantee,
    found: Found,
    rank_of: str | Repetitions | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Proven:
    """The least epsilon that is proved of the law found, or of a named one.

    Args:
      base: one run.
      found: the law of least envelope; its wishes are what all have to meet.
      rank_of: a law that is tried as well.
      advance: called after each law with 1: the named families and two more.
    """
    best = _accounted(base, NAME, found.law, found.delta)
    advance(1)
    for name, law in _others(found, rank_of):
        if law is not None and _improves(base, law, found.delta, best.epsilon):
            tried = _accounted(base, name, law, found.delta)
            best = min(best, tried, key=lambda each: each.epsilon)
        advance(1)
    return best
