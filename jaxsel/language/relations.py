"""Neighbouring relations, which pairs, claims and accounts carry so that they never mix.

A guarantee for adding or removing a record and one for replacing a record bound different
pairs of laws, and so do general and monotone scores; they cannot be combined.
"""

import enum
from collections.abc import Iterable

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Named, named, nearest


class Relation(enum.Enum):
    """How two neighbouring inputs may differ; ``words`` says it in a sentence.

    Of relations between scores a wider one comes first.

    Example:
        >>> import jaxsel
        >>> relation = jaxsel.Relation.MONOTONE
        >>> print(relation.words)
        every score moves by at most 1, all in the same direction
    """

    GENERAL = "general"
    MONOTONE = "monotone"
    L1 = "l1"
    BASE = "base"
    LOCAL = "local"
    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"
    REPLACE_SPECIAL = "replace_special"

    @property
    def words(self) -> str:
        """What may differ between neighbours."""
        return _WORDS[self]


_WORDS = {
    Relation.GENERAL: "every score moves by at most 1, in any direction",
    Relation.MONOTONE: "every score moves by at most 1, all in the same direction",
    Relation.L1: "the scores move by at most 1 in all",
    Relation.BASE: "the two data sets that one run is private for",
    Relation.LOCAL: "any two inputs of one person's randomiser",
    Relation.ADD_OR_REMOVE_ONE: "one record is added or removed",
    Relation.REPLACE_ONE: "one record is replaced by another",
    Relation.REPLACE_SPECIAL: "one record is replaced by one that says nothing",
}

ADD_OR_REMOVE_ONE = Relation.ADD_OR_REMOVE_ONE.value
_OF_RECORDS = (Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE, Relation.REPLACE_SPECIAL)

RELATIONS = {relation.value: relation.words for relation in _OF_RECORDS}
"""Neighbouring relations of data sets by name, as dp-accounting has them."""


def among(*relations: Relation, help: str = "between the neighbours") -> Named:
    """The domain of a parameter that takes some of the relations, by name or as they are."""
    return named({relation.value: relation for relation in relations}, help)


def neighbours(relation: str | None) -> str:
    """The sentence of a guarantee that says between which data sets it holds."""
    if relation is None:
        return "Neighbours: those that the sensitivity of the base is meant for."
    return f"Neighbours: {RELATIONS[relation]}."


def relation_name(relation: object) -> str | None:
    """The name of a relation, given as text in any case or as dp-accounting's enum.

    None stays None: the guarantee holds for the relation that its sensitivity refers to.

    Raises:
      InputError: if there is no such relation.
    """
    if relation is None:
        return None
    name = relation.name if isinstance(relation, enum.Enum) else str(relation)
    if name.lower() not in RELATIONS:
        raise InputError(
            f"relation is {name!r}{nearest(name, RELATIONS)}; it must be one of: "
            f"{', '.join(RELATIONS)}"
        )
    return name.lower()


def common_relation(named: Iterable[tuple[str, str | None]]) -> str | None:
    """The relation that several guarantees have in common.

    Args:
      named: name and relation of each; None is compatible with any.

    Raises:
      InputError: if two have different relations.
    """
    first: tuple[str, str] | None = None
    for name, relation in named:
        if relation is None:
            continue
        if first is not None and relation != first[1]:
            raise InputError(
                f"{first[0]} is for neighbours by {first[1]} and {name} for neighbours by "
                f"{relation}; what is composed must have one relation"
            )
        first = first or (name, relation)
    return None if first is None else first[1]


def relation_of(given: object) -> Relation:
    """A relation by its name, in any case, or as it is.

    Raises:
      InputError: if there is no such relation.
    """
    if isinstance(given, Relation):
        return given
    names = [relation.value for relation in Relation]
    if not isinstance(given, str) or given.lower() not in names:
        raise InputError(
            f"relation is {given!r}{nearest(str(given), names)}; it must be one of: "
            f"{', '.join(names)}"
        )
    return Relation(given.lower())
