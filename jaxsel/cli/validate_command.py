"""jaxsel validate, jaxsel bench."""

from typing import Annotated

import typer

from jaxsel.base import Budget
from jaxsel.catalogue import find_claim
from jaxsel.cli.arguments import (
    JsonOption,
    SeedOption,
    UnusedSeedOption,
    bad_input_exits,
    compilation_cache,
    read_trials,
)
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.errors import InputError, check_integer
from jaxsel.validation import validate


def validate_command(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Claims to check.")
    ] = None,
    all_claims: Annotated[
        bool, typer.Option("--all", help="Check every claim.")
    ] = False,
    trials: Annotated[
        str, typer.Option("--trials", help="A side, where a check simulates.")
    ] = "1e6",
    cases: Annotated[
        int, typer.Option("--cases", help="Random cases, where a check searches.")
    ] = 300,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Put claims to the test against exact laws or simulation.

    Each is found to hold, refuted, or inconclusive, with the numbers of its worst case.
    Statements known to be false as printed are expected to be refuted. Exit status 1 if
    any verdict is not the expected one.
    """
    with bad_input_exits():
        if bool(ids) == all_claims:
            raise InputError("name the claims to validate, or give --all, and not both")
        claims = (
            list(all_claims())
            if all_claims
            else [find_claim(name) for name in ids or []]
        )
        budget = Budget(read_trials(trials), check_integer("cases", cases, 1), seed)
        compilation_cache()
        done = []

        def seen(result) -> None:
            done.append(result)
            if not json:
                mark = "ok " if result.as_expected else "NOT AS EXPECTED"
                say(
                    f"{len(done):3d}/{len(claims)} {mark} {result.claim.id}: "
                    f"{result.verdict.outcome} ({result.seconds:.1f} s)"
                )

        results = validate(claims, budget, seen=seen)
    wrong = [r for r in results if not r.as_expected]
    rows = [
        {
            "id": r.claim.id,
            "expected": "holds" if r.claim.holds else "refuted",
            "verdict": r.verdict,
            "as_expected": r.as_expected,
            "seconds": r.seconds,
        }
        for r in results
    ]
    if json:
        print_json({"results": rows, "as_expected": not wrong})
    else:
        table = [
            [
                r.claim.id,
                r.verdict.outcome,
                r.verdict.claimed,
                r.verdict.observed,
                r.verdict.margin,
                r.verdict.cases,
                r.verdict.detail,
            ]
            for r in results
        ]
        columns = [
            "id",
            "verdict",
            "claimed",
            "observed",
            "margin",
            "cases",
            "worst case",
        ]
        print_table("Verdicts", columns, table)
        refuted = sum(r.verdict.outcome == "refuted" for r in results)
        say(
            f"{len(results)} claims: {len(results) - len(wrong)} as expected "
            f"({refuted} refuted), {len(wrong)} not."
        )
    raise typer.Exit(1 if wrong else 0)


def bench_command(
    goals: Annotated[
        list[int] | None, typer.Argument(metavar="[GOAL]...", help="Default: all.")
    ] = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Measure speed side by side with numpy, plain JAX and peers, as ratios.

    Everything runs interleaved in one process; a goal compares the fastest repeats. Peers
    that are not installed are not measured. Exit status 1 if a measured goal is missed.
    """
    del seed
    from rich.console import Console

    from jaxsel import bench
    from jaxsel.bench.__main__ import table

    with bad_input_exits():
        results = bench.run(goals or None, progress=not json)
    if json:
        print_json(results)
    else:
        Console().print(table(results))
    raise typer.Exit(int(any(r.measured is not None and not r.met for r in results)))
