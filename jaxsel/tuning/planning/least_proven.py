"""Chooses among laws of K that meet the same wishes the one with the least proven epsilon.

The law with the least envelope does not always have the least proven epsilon: at a large
delta the priced envelope may be smaller for a law whose envelope is larger.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.tuning.accountant import proven_epsilons
from jaxsel.tuning.planning.named_laws import FAMILIES, fitted
from jaxsel.tuning.planning.optimal_law import Found
from jaxsel.tuning.proofs import proofs

NAME = "optimal"
# Relative distance of the least envelope from the bound on every law's, which is not worth a look
# at the envelopes of others.
_GAP = 1e-4


class Proven(NamedTuple):
    """A law of K and its least proven epsilon.

    Attributes:
      name: "optimal" for the law of least envelope, else its family.
      law: the law of K.
      epsilon: the least proven epsilon at the given delta.
      theorem: the theorem that proves it.
    """

    name: str
    law: Repetitions
    epsilon: float
    theorem: str


def _accounted(base: BaseGuarantee, name: str, law: Repetitions, delta: float) -> Proven:
    best = proven_epsilons(base, law, delta)[0]
    return Proven(name, law, best.epsilon, best.theorem)


def _improves(base: BaseGuarantee, law: Repetitions, found: Found, epsilon: float):
    """Whether some bound proves less than epsilon at delta; needs a single price."""
    delta = found.delta
    # No law that meets the wishes has an envelope below ``lower``.
    enveloped = epsilon <= found.lower * (1.0 + _GAP)
    return any(
        proof.lower_bound(epsilon) < delta and proof.delta(epsilon) < delta
        for name, proof in proofs(base, law).items()
        if delta >= proof.least_delta and not (enveloped and name == "JX-Envelope")
    )


def _others(
    found: Found, rank_of: str | Repetitions | None
) -> Iterator[tuple[str, Repetitions | None]]:
    """The laws of named families that meet the wishes, and the law given as ``rank_of``."""
    law = None if rank_of is None else as_law(rank_of)
    meets = law is not None and found.wishes.afforded(law) and found.wishes.good_enough(law)
    yield ("", None) if law is None or not meets else (law.family, law)
    for family in FAMILIES:
        try:
            named = fitted(family, found.wishes)
        except InputError:  # the wishes do not limit the family
            named = None
        yield family, None if named is None else named.law


def least_proven(
    base: BaseGuarantee,
    found: Found,
    rank_of: str | Repetitions | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Proven:
    """The least proven epsilon over the law found and the named ones.

    Args:
      base: guarantee of one run.
      found: the law of least envelope; all laws must meet its wishes.
      rank_of: a further law to try.
      advance: called after each law with 1: the named families and two more.
    """
    best = _accounted(base, NAME, found.law, found.delta)
    advance(1)
    for name, law in _others(found, rank_of):
        if law is not None and _improves(base, law, found, best.epsilon):
            tried = _accounted(base, name, law, found.delta)
            best = min(best, tried, key=lambda each: each.epsilon)
        advance(1)
    return best
