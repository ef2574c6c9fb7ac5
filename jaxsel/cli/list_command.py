"""jaxsel list: everything that has a name, by kind."""

import enum
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from jaxsel.cli.arguments import JsonOption, UnusedSeedOption, bad_input_exits
from jaxsel.cli.output import print_json, print_listing, say
from jaxsel.host.errors import InputError
from jaxsel.host.progress import note

_Row = dict[str, Any]


def _mechanisms() -> list[_Row]:
    from jaxsel.catalogue import mechanisms

    return [
        {
            "name": entry.name,
            "ids": list(entry.ids),
            "broken": entry.broken,
            "summary": entry.summary,
            "settings": {
                name: {"default": domain.default, "help": domain.help, "domain": domain.describe()}
                for name, domain in entry.settings.items()
            },
        }
        for entry in mechanisms()
    ]


def _claim_rows(claims: Any) -> list[_Row]:
    from jaxsel.language.papers import paper_of

    return [
        {
            "id": claim.id,
            "aliases": claim.aliases,
            "holds": claim.holds,
            "status": claim.status,
            "kind": claim.kind,
            "relation": claim.relation,
            "statement": claim.statement,
            "source": claim.source,
            "paper": getattr(paper_of(claim.source), "key", None),
            "erratum": claim.erratum,
            "remark": claim.remark,
            "loose": claim.loose,
            "attained": claim.attained,
            "correction": claim.correction,
            "parameters": {name: domain.default for name, domain in claim.parameters.items()},
        }
        for claim in claims
    ]


def _claims() -> list[_Row]:
    from jaxsel.catalogue import published_claims

    return _claim_rows(published_claims())


def _checks() -> list[_Row]:
    from jaxsel.catalogue import self_checks

    return _claim_rows(self_checks())


def _with_papers(things: Any) -> list[_Row]:
    from jaxsel.language.papers import paper_of

    return [
        thing._asdict() | {"paper": getattr(paper_of(thing.source), "key", None)}
        for thing in things
    ]


def _errata() -> list[_Row]:
    from jaxsel.catalogue import errata

    return _with_papers(errata())


def _remarks() -> list[_Row]:
    from jaxsel.catalogue import remarks

    return _with_papers(remarks())


def _repetitions() -> list[_Row]:
    from jaxsel import repetitions

    examples = (
        "point_mass:count=10",
        "geometric:gamma=0.1",
        "geometric:mean=10",
        "logarithmic:mean=10",
        "tnb:eta=0.5,gamma=0.01",
        "tnb:eta=-0.5,mean=10",
        "poisson:mean=10",
        "binomial:count=20,mean=10",
        "beta_binomial:count=20,gamma=1",
        "pmf:1=0.2,3=0.5,11=0.3",
        "poisson:mean=10,conditioned=30",
        "geometric:gamma=0.1,capped=50",
    )
    found = []
    for text in examples:
        law = repetitions.parse(text)
        found.append(
            {
                "example": text,
                "family": law.family,
                "mean": law.mean,
                "probability_zero": law.probability_zero,
                "expected_quantile": repetitions.expected_quantile(law),
            }
        )
    return found


def _bases() -> list[_Row]:
    from jaxsel.accounting.single_run.base_text import FORMS

    return [{"form": form, "meaning": meaning} for form, meaning in FORMS.items()]


def _found_in(folder: str) -> Callable[[], list[_Row]]:
    def rows() -> list[_Row]:
        from jaxsel.questions.checkout import found_in

        return [*found_in(folder)]

    return rows


class Kind(enum.StrEnum):
    """The kinds of things that can be listed."""

    mechanisms = "mechanisms"
    claims = "claims"
    checks = "checks"
    errata = "errata"
    remarks = "remarks"
    repetitions = "repetitions"
    bases = "bases"
    figures = "figures"
    sims = "sims"


class _Listing(NamedTuple):
    """One list: its rows, the columns that people see, how many of the last are prose."""

    rows: Callable[[], list[_Row]]
    columns: tuple[str, ...]
    prose: int = 1


_STATEMENT = ("id", "status", "statement")
_LISTS = {
    Kind.mechanisms: _Listing(_mechanisms, ("name", "ids", "summary")),
    Kind.claims: _Listing(_claims, _STATEMENT),
    Kind.checks: _Listing(_checks, _STATEMENT),
    Kind.errata: _Listing(_errata, ("id", "kind", "printed", "correct"), 2),
    Kind.remarks: _Listing(_remarks, ("id", "source", "text")),
    Kind.repetitions: _Listing(
        _repetitions, ("example", "family", "mean", "probability_zero", "expected_quantile")
    ),
    Kind.bases: _Listing(_bases, ("form", "meaning")),
    Kind.figures: _Listing(_found_in("figures"), ("id", "title")),
    Kind.sims: _Listing(_found_in("sims"), ("id", "title")),
}


_NO_CHECKOUT = "Figures and simulations are found in a checkout of jaxsel, not in a wheel."


class _Nature(enum.StrEnum):
    """What a claim is about."""

    privacy = "privacy"
    utility = "utility"
    identity = "identity"


def _keep(kind: Kind, option: str, rows: list[_Row], test: Callable[[_Row], bool]):
    """The rows that pass the test; InputError where the option does not apply to the kind."""
    try:
        return [row for row in rows if test(row)]
    except KeyError:
        raise InputError(f"{option} does not apply to {kind}") from None


def _of_paper(key: str) -> Callable[[_Row], bool]:
    def test(row: _Row) -> bool:
        if "ids" in row:
            return any(name.partition("-")[0] == key for name in row["ids"])
        return row["paper"] == key

    return test


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(value)


def _shown(row: _Row, column: str) -> Any:
    return ", ".join(row["ids"]) if column == "ids" else row[column]


def list_command(
    what: Annotated[Kind | None, typer.Argument(metavar="[KIND]", help="One of the above.")] = None,
    paper: Annotated[
        str | None,
        typer.Option("--paper", metavar="KEY", help="Of one paper: LT, PS, CL, KRW, ..."),
    ] = None,
    kind: Annotated[_Nature | None, typer.Option("--kind", help="Claims about that alone.")] = None,
    false: Annotated[
        bool, typer.Option("--false", help="Statements that are false as printed.")
    ] = False,
    search: Annotated[
        str | None, typer.Option("--search", metavar="WORDS", help="What holds all these words.")
    ] = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """List things by name: mechanisms; claims, the published statements; checks, what
    the software says of itself; errata of the papers; remarks, what is to be known of
    them and is no error; repetitions, the laws of K; bases,
    what one run may be; figures; sims.

    \b
    jaxsel list mechanisms --search percentile
    jaxsel list claims --paper PS --false
    jaxsel list repetitions

    Without an argument: how many there are of each. jaxsel show NAME says more of one.
    On a terminal long lists go through a pager; elsewhere each thing is one line, its
    columns separated by tabs.
    """
    del seed
    if what is None:
        sizes = {k.value: len(listing.rows()) for k, listing in _LISTS.items()}
        if json:
            print_json(sizes)
        else:
            print_listing(("kind", "how many"), list(sizes.items()))
            if not sizes[Kind.figures]:
                note(_NO_CHECKOUT)
        return
    with bad_input_exits():
        rows = _LISTS[what].rows()
        if paper is not None:
            from jaxsel.language.papers import find_paper

            rows = _keep(what, "--paper", rows, _of_paper(find_paper(paper).key))
        if kind is not None:
            rows = _keep(what, "--kind", rows, lambda r: (r["holds"], r["kind"])[1] == kind)
        if false:
            rows = _keep(what, "--false", rows, lambda row: row["status"] == "FALSE as printed")
        words = (search or "").lower().split()
        rows = [r for r in rows if all(word in _text(r).lower() for word in words)]
    if json:
        print_json(rows)
    elif not rows and what in (Kind.figures, Kind.sims) and not words:
        say(_NO_CHECKOUT)
    else:
        columns = _LISTS[what].columns
        cells = [[_shown(row, column) for column in columns] for row in rows]
        print_listing(columns, cells, prose=_LISTS[what].prose)
