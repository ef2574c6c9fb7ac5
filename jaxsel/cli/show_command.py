"""jaxsel show: all that is known of one thing."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxsel.cli.arguments import (
    JsonOption,
    UnusedSeedOption,
    bad_input_exits,
    complete_everything,
    former_names_said,
)
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.host.errors import InputError, check_integer


def _domains(domains: Mapping[str, Any]) -> list[dict[str, Any]]:
    from jaxsel.language.entry import shown

    return [
        {
            "name": name,
            "default": shown(domain.default),
            "domain": domain.describe(),
            "help": domain.help,
        }
        for name, domain in domains.items()
    ]


def _claim(claim: Any) -> dict[str, Any]:
    from jaxsel.catalogue import find_erratum, find_remark
    from jaxsel.catalogue.measured import measured

    erratum = None if claim.erratum is None else find_erratum(claim.erratum)
    remark = None if claim.remark is None else find_remark(claim.remark)
    return {
        "id": claim.id,
        "aliases": claim.aliases,
        "source": claim.source,
        "about": claim.kind,
        "relation": claim.relation,
        "holds": claim.holds,
        "status": claim.status,
        "statement": claim.statement,
        "correction": claim.correction,
        "attained": claim.attained,
        "formula": inspect.getdoc(claim.evaluate),
        "parameters": _domains(claim.parameters),
        "value": claim.evaluate(),
        "tightness": measured().get(claim.id),
        "loose": claim.loose,
        "place": claim.place,
        "erratum": erratum,
        "remark": remark,
    }


def _with_claims(thing: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """An erratum or a remark, with its claims."""
    from jaxsel.catalogue import find_claim

    return thing._asdict() | {
        "claims": [
            {
                "id": claim.id,
                "holds": claim.holds,
                "status": claim.status,
                "statement": claim.statement,
            }
            for claim in map(find_claim, names)
        ]
    }


def _mechanism(entry: Any) -> dict[str, Any]:
    rows, trial = [], entry()
    for pair in trial.pairs():
        proven = trial.guarantee(pair)
        rows.append(
            {
                "name": pair.name,
                "relation": pair.relation,
                "why": pair.why,
                "claim": None if proven is None else proven.claim,
                "epsilon": None if proven is None else proven.epsilon,
            }
        )
    return {
        "name": entry.name,
        "ids": entry.ids,
        "summary": entry.summary,
        "broken": entry.broken,
        "place": entry.place,
        "settings": _domains(entry.settings),
        "pairs": rows,
    }


def _law(text: str) -> dict[str, Any]:
    from jaxsel import repetitions
    from jaxsel.repetitions import choose

    if ":" not in text:
        restriction = text in ("conditioned", "capped")
        known = choose.family_parameters("poisson" if restriction else text)
        domains = {text: known[text]} if restriction else known
        return {
            "family": text,
            "meaning": inspect.getdoc(getattr(repetitions, text)),
            "parameters": _domains(domains),
        }
    law = repetitions.parse(text)
    return {
        "family": law.family,
        "text": law.name,
        "mean": law.mean,
        "variance": law.variance,
        "probability_zero": law.probability_zero,
        "minimum": law.minimum,
        "maximum": law.maximum,
        "expected_quantile": repetitions.expected_quantile(law),
    }


def _base(form: str, text: str) -> dict[str, Any]:
    from jaxsel.accounting.single_run.base_text import FORMS

    if ":" not in text:
        return {"form": form, "meaning": FORMS[form]}
    from jaxsel.tuning.base_forms import guarantee_of

    base = guarantee_of(text)
    deltas = (0.0, 1e-9, 1e-6, 1e-3)
    epsilons = {f"{delta:g}": base.epsilon(delta) for delta in deltas}
    return {"name": base.name, "epsilon_at_delta": epsilons}


_COLUMNS = ("name", "default", "domain", "help")


def _print_domains(title: str, rows: list[dict[str, Any]]) -> None:
    columns = [c for c in _COLUMNS if any(row[c] for row in rows)]
    if rows:
        print_table(f"\n{title}", columns, [[row[c] for c in columns] for row in rows])


def _near(place: str) -> str:
    """A file and its line, from the working directory if it lies below that."""
    try:
        return str(Path(place).relative_to(Path.cwd()))
    except ValueError:
        return place


def _print_claim(row: dict[str, Any]) -> None:
    about = (
        row["about"]
        if row["relation"] is None
        else (f"{row['about']}, {row['relation'].value} neighbours")
    )
    names = " = ".join((row["id"], *row["aliases"]))
    say(f"{names}  ({row['source']}; {about})")
    say(row["statement"])
    if row["attained"] is not None:
        say(f"Attained: {row['attained']}.")
    say(f"Stated in {_near(row['place'])}")
    if not row["holds"]:
        say(f"{row['status']}. {row['correction'] or ''}")
    if row["formula"]:
        say(f"\n{row['formula']}")
    _print_domains("Parameters", row["parameters"])
    say(f"At the defaults: {row['value']:.10g}")
    if row["tightness"] is not None:
        say(f"Largest observed/claimed when last measured: {row['tightness']:g}")
    if row["loose"] is not None:
        say(f"Its check would not notice a wrong number: {row['loose']}")
    if row["erratum"] is not None:
        say(f"\nErratum {row['erratum'].id} ({row['erratum'].source}).")
        say(f"Printed: {row['erratum'].printed}")
        say(f"True: {row['erratum'].correct}")
    if row["remark"] is not None:
        say(f"\nRemark {row['remark'].id} ({row['remark'].source}).")
        say(row["remark"].text)


def _print_claims(row: dict[str, Any]) -> None:
    for claim in row["claims"]:
        say(f"\n{claim['id']}  {claim['status']}\n{claim['statement']}")


def _print_remark(row: dict[str, Any]) -> None:
    say(f"{row['id']}  ({row['source']})")
    say(row["text"])
    _print_claims(row)


def _print_erratum(row: dict[str, Any]) -> None:
    say(f"{row['id']}  ({row['source']}; {row['kind']})")
    say(f"Printed: {row['printed']}")
    say(f"True: {row['correct']}")
    _print_claims(row)


def _print_mechanism(row: dict[str, Any]) -> None:
    say(f"{row['name']}  ({', '.join(row['ids'])})")
    say(row["summary"])
    say(f"Declared in {_near(row['place'])}")
    _print_domains("Settings", row["settings"])
    columns = ["name", "relation", "claim", "epsilon", "why"]
    pairs = [
        [{**item, "relation": item["relation"].value}[c] for c in columns] for item in row["pairs"]
    ]
    print_table("\nPairs, and what is guaranteed at the defaults", columns, pairs)
    if row["broken"]:
        say("BROKEN: it does not keep what one might hope for; the audit shows it.")


def _print_law(row: dict[str, Any]) -> None:
    domains = row.get("parameters", [])
    _print_plain({name: row[name] for name in row if name != "parameters"})
    _print_domains("Parameters, after the colon", domains)


def _print_plain(row: dict[str, Any]) -> None:
    for name, value in row.items():
        if isinstance(value, dict):
            value = ", ".join(f"{v:.6g} at {k}" for k, v in value.items())
        elif isinstance(value, float):
            value = f"{value:.6g}"
        say(f"{name.replace('_', ' ')}: {'none' if value is None else value}")


_PRINT = {
    "claim": _print_claim,
    "erratum": _print_erratum,
    "remark": _print_remark,
    "mechanism": _print_mechanism,
    "law of K": _print_law,
}


def show_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="An id or a name; geometric:mean=10, too.",
            autocompletion=complete_everything,
        ),
    ],
    verdict: Annotated[
        bool, typer.Option("--verdict", help="Put a claim to the test, too.")
    ] = False,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Show all that is known of one thing: jaxsel show PS-Thm2.

    A claim with its formula, parameters and erratum; an erratum or a remark with its
    claims; a mechanism with its settings and pairs; a law of K, a base, a figure or
    a simulation. Claims and mechanisms come with the file and line that state them.
    With --verdict, exit status 1 if the claim is not found as expected.
    """
    from jaxsel.questions.all_names import find

    rows, wrong = [], False
    with bad_input_exits():
        check_integer("seed", seed, 0)
        with former_names_said():
            things = find(name)
        if verdict and all(thing.kind != "claim" for thing in things):
            raise InputError(f"{name} is no claim; only claims are put to the test")
        for kind, _, thing in things:
            if kind == "claim":
                row = _claim(thing)
            elif kind == "erratum":
                row = _with_claims(thing, (*thing.refuted, *thing.corrected))
            elif kind == "remark":
                row = _with_claims(thing, (*thing.readings, *thing.holds))
            elif kind == "mechanism":
                row = _mechanism(thing)
            elif kind == "law of K":
                row = _law(name if ":" in name else thing)
            elif kind == "base":
                row = _base(thing, name)
            else:
                row = dict(thing)
                row["run"] = f"python -m {kind}s {thing['id']}"
            if verdict and kind == "claim":
                from jaxsel.catalogue.validation import validate
                from jaxsel.language.base import Budget

                result = validate(thing, Budget(seed=seed))[0]
                row["verdict"] = result.verdict
                row["as_expected"] = result.as_expected
                wrong = wrong or not result.as_expected
            rows.append(row)
    if json:
        print_json([{"what": t.kind, **r} for t, r in zip(things, rows, strict=True)])
    else:
        for number, (thing, row) in enumerate(zip(things, rows, strict=True)):
            if number:
                say("")
            _PRINT.get(thing.kind, _print_plain)(row)
            if "verdict" in row:
                found = row["verdict"]
                say(
                    f"Verdict: {found.outcome}; claimed {found.claimed:.10g}, observed "
                    f"{found.observed:.10g} in the worst of {found.cases} cases: "
                    f"{found.detail}"
                )
                if found.tightness is not None:
                    say(f"Largest observed/claimed of all cases: {found.tightness:.3g}")
    raise typer.Exit(1 if wrong else 0)
