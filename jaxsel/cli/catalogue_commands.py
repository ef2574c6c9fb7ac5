"""jaxsel list, jaxsel claim."""

import enum
import inspect
from typing import Annotated

import typer

from jaxsel import repetitions
from jaxsel.catalogue import all_claims, errata, find_claim, mechanisms
from jaxsel.cli.arguments import (
    JsonOption,
    SettingsArgument,
    UnusedSeedOption,
    bad_input_exits,
    call_with_settings,
    read_settings,
)
from jaxsel.cli.output import print_json, print_table, say


class Kind(enum.StrEnum):
    """What can be listed."""

    mechanisms = "mechanisms"
    claims = "claims"
    repetitions = "repetitions"
    figures = "figures"
    errata = "errata"


def _mechanisms() -> list[dict]:
    return [
        {
            "name": entry.name,
            "ids": list(entry.ids),
            "broken": entry.broken,
            "summary": entry.summary,
            "settings": {
                name: {"default": option.default, "help": option.help}
                for name, option in entry.settings.items()
            },
        }
        for entry in mechanisms()
    ]


def _claims() -> list[dict]:
    return [
        {
            "id": claim.id,
            "holds": claim.holds,
            "kind": claim.kind,
            "relation": claim.relation,
            "statement": claim.statement,
            "source": claim.source,
            "erratum": claim.erratum,
            "correction": claim.correction,
            "parameters": {
                name: parameter.default
                for name, parameter in inspect.signature(
                    claim.evaluate
                ).parameters.items()
            },
        }
        for claim in all_claims()
    ]


def _repetitions() -> list[dict]:
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


def _figures() -> list[dict]:
    try:
        from figures import FIGURES  # type: ignore[import-not-found]
    except ImportError:
        return []
    return [{"id": figure.id, "title": figure.title} for figure in FIGURES.values()]


def _errata() -> list[dict]:
    return [erratum._asdict() for erratum in errata()]


_LISTS = {
    Kind.mechanisms: _mechanisms,
    Kind.claims: _claims,
    Kind.repetitions: _repetitions,
    Kind.figures: _figures,
    Kind.errata: _errata,
}


def list_command(
    kind: Annotated[Kind | None, typer.Argument(help="What to list.")] = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """List mechanisms, claims, repetition laws, figures or errata.

    Without an argument: how many there are of each.
    """
    del seed
    if kind is None:
        sizes = {k.value: len(rows()) for k, rows in _LISTS.items()}
        if json:
            print_json(sizes)
        else:
            print_table("jaxsel list KIND", ["kind", "how many"], list(sizes.items()))
        return
    rows = _LISTS[kind]()
    if json:
        print_json(rows)
        return
    if kind is Kind.mechanisms:
        _print_mechanisms(rows)
    elif kind is Kind.claims:
        table = [
            [
                row["id"],
                "true" if row["holds"] else "FALSE as printed",
                row["statement"],
            ]
            for row in rows
        ]
        print_table("Claims (jaxsel claim ID)", ["id", "status", "statement"], table)
    elif kind is Kind.errata:
        table = [[r["id"], r["kind"], r["printed"], r["correct"]] for r in rows]
        print_table("Errata", ["id", "kind", "printed", "what is true"], table)
    elif kind is Kind.figures and not rows:
        say("Figures are drawn from a checkout: run python -m figures --list there.")
    else:
        columns = list(rows[0])
        print_table(
            kind.value.capitalize(),
            columns,
            [[row[c] for c in columns] for row in rows],
        )


def _print_mechanisms(rows: list[dict]) -> None:
    table = [[row["name"], ", ".join(row["ids"]), row["summary"]] for row in rows]
    print_table("Mechanisms", ["name", "ids", "what it does"], table)
    for row in rows:
        settings = [
            [name, option["default"], option["help"]]
            for name, option in row["settings"].items()
        ]
        print_table(f"Settings of {row['name']}", ["name", "default", "help"], settings)


def claim_command(
    identity: Annotated[str, typer.Argument(metavar="ID", help="For example PS-Thm2.")],
    settings: SettingsArgument = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Evaluate a bound: jaxsel claim PS-Cor3 epsilon=1 eta=0.

    Prints the statement, the parameters used, and the number that it gives.
    """
    del seed
    with bad_input_exits():
        claim = find_claim(identity)
        value, arguments = call_with_settings(
            claim.evaluate, read_settings(settings), claim.id
        )
    if json:
        print_json(
            {
                "id": claim.id,
                "statement": claim.statement,
                "source": claim.source,
                "holds": claim.holds,
                "correction": claim.correction,
                "arguments": arguments,
                "value": value,
            }
        )
        return
    say(f"{claim.id}  ({claim.source})")
    say(claim.statement)
    if not claim.holds:
        say(f"FALSE AS PRINTED. {claim.correction or ''}")
    meaning = inspect.getdoc(claim.evaluate)
    if meaning:
        say(f"\n{meaning}\n")
    for name, argument in arguments.items():
        say(f"  {name} = {argument}")
    say(f"value: {value:.10g}")
