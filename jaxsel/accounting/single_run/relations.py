"""Neighbouring relations of data sets, which every guarantee carries so that they never mix.

A guarantee for adding or removing a record and one for replacing a record bound different
pairs of laws; they cannot be combined.
"""

import enum
from collections.abc import Iterable

from jaxsel.host.errors import InputError
from jaxsel.language.domains import nearest

ADD_OR_REMOVE_ONE = "add_or_remove_one"

RELATIONS = {
    ADD_OR_REMOVE_ONE: "one record is added or removed",
    "replace_one": "one record is replaced by another",
    "replace_special": "one record is replaced by one that says nothing",
}
"""Neighbouring relations by name, as dp-accounting has them."""


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
