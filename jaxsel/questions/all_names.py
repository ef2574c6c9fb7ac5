"""Finds what has a given public name, whatever its kind: for ``jaxsel show``."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.language.base import Claim, Erratum, Remark
from jaxsel.language.declared import find_published
from jaxsel.language.domains import nearest
from jaxsel.language.printing import Summary, printed


@printed
class Found(NamedTuple):
    """A thing that has a name.

    Attributes:
      kind: "claim", "erratum", "remark", "mechanism", "law of K", "base", "figure" or
        "sim".
      names: its id, and its further names.
      thing: the object itself; the text form of a law or a base; or what is listed of it.
    """

    kind: str
    names: tuple[str, ...]
    thing: Any

    def value(self, name: str) -> Any:
        """The object that the name stands for, with the parameters that the name may have."""
        if ":" in name and self.kind == "law of K":
            from jaxsel.repetitions import as_law

            return as_law(name)
        if ":" in name and self.kind == "base":
            from jaxsel.tuning.base_forms import guarantee_of

            return guarantee_of(name)
        return self if isinstance(self.thing, str | dict) else self.thing

    def summary(self) -> Summary:
        """Its name and kind, and its listed properties."""
        if isinstance(self.thing, str):
            return Summary(f"{self.names[0]}: a {self.kind}; its parameters follow a colon.")
        more = "; ".join(f"{key} {value}" for key, value in self.thing.items() if key != "id")
        return Summary(f"{self.names[0]}: a {self.kind}; {more}.")


def _everything() -> Iterator[Found]:
    """Everything that has a name."""
    from jaxsel import catalogue
    from jaxsel.questions.checkout import found_in

    for folder in ("figures", "sims"):
        for row in found_in(folder):
            yield Found(folder.removesuffix("s"), (row["id"],), row)
    yield from _bases_and_laws()
    for entry in catalogue.mechanisms():
        yield Found("mechanism", (entry.name, *entry.ids), entry)
    for noted in (*catalogue.all_claims(), *catalogue.errata(), *catalogue.remarks()):
        yield _stated(noted)


def _stated(one: Claim | Erratum | Remark) -> Found:
    if isinstance(one, Claim):
        return Found("claim", (one.id, *one.aliases), one)
    return Found("erratum" if isinstance(one, Erratum) else "remark", (one.id,), one)


def _bases_and_laws() -> Iterator[Found]:
    from jaxsel.accounting.single_run.base_text import FORMS
    from jaxsel.repetitions import FAMILIES

    for form in FORMS:
        yield Found("base", (form.partition(":")[0],), form)
    for family in FAMILIES:
        yield Found("law of K", (family,), family)


def _called(name: str) -> Iterator[Found]:
    """What of everything has that name, in lower case, without loading the rest."""
    from jaxsel import catalogue
    from jaxsel.language.declared import held_called
    from jaxsel.language.subject import mechanisms_called
    from jaxsel.questions.checkout import found_in

    for folder in ("figures", "sims"):
        for row in found_in(folder, name):
            yield Found(folder.removesuffix("s"), (row["id"],), row)
    yield from (found for found in _bases_and_laws() if name in found.names)
    for entry in mechanisms_called(name):
        yield Found("mechanism", (entry.name, *entry.ids), entry)
    checks = catalogue.self_checks() if catalogue.is_self_check(name) else ()
    same = [check for check in checks if check.id.lower() == name]
    yield from map(_stated, (*held_called(name), *same))


def names() -> Iterator[str]:
    """Every name."""
    for found in _everything():
        yield from found.names


def find(name: str) -> list[Found]:
    """All things of that name, upper or lower case; also a law or a base with parameters,
    such as "geometric:mean=10".

    Raises:
      InputError: if there is none; the message suggests the nearest name.
    """
    wanted = name.partition(":")[0].lower().replace("tnb", "truncated_negative_binomial")
    found = [
        thing for thing in _called(wanted) if ":" not in name or thing.kind in ("base", "law of K")
    ]
    if not found and (claim := find_published(name)) is not None:  # by an id of 0.2.0
        found = [Found("claim", (claim.id, *claim.aliases), claim)]
    if not found:
        raise InputError(
            f"nothing is called {name!r}{nearest(name, names())} (jaxsel list says what "
            "there is, and --search finds words)"
        )
    return found[:1] if ":" in name else found
