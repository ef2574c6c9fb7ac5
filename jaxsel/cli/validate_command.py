"""jaxsel validate and jaxsel bench: checks of claims, and measurements of speed."""

from pathlib import Path
from typing import Annotated

import typer

from jaxsel.cli.arguments import (
    JsonOption,
    SeedOption,
    UnusedSeedOption,
    bad_input_exits,
    complete_claims,
    complete_mechanisms,
    former_names_said,
    read_trials,
    whole_number,
    whole_option,
)
from jaxsel.cli.output import print_drawing, print_json, print_table, say
from jaxsel.host.errors import InputError, check_integer
from jaxsel.host.outputs import check_output
from jaxsel.host.progress import spinner
from jaxsel.kernel.compiled import compilation_cache
from jaxsel.language.domains import whole
from jaxsel.questions.checkout import beside

_CASES = whole(at_least=1, at_most=1e7)
_BENCH = beside("benchmarks")
_GOALS = "\n".join(f"{goal}: {what}" for goal, what in (_BENCH.GOALS if _BENCH else {}).items())
BENCH_HELP = f"""Measure speed side by side with numpy, plain JAX and peers, as ratios.

\b
jaxsel bench 4 11
jaxsel bench --mechanism noisy_max
jaxsel bench --all --record speed.json

Everything runs interleaved in one process; a goal compares the fastest repeats. Peers
that are not installed are not measured. Exit status 1 if a measured goal is missed. The
goals, of which 14 takes up to an hour:

\b
{_GOALS}

With --all, or --mechanism NAME, every mechanism with every method, at its default
settings, on one thread: trials a second, the share of what a bare program of the same
random words, logarithms, exponentials and float64 operations reaches, and how many
times faster than vectorised NumPy. All of them take half an hour."""


def validate_command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Claims to check.", autocompletion=complete_claims),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Check every statement, and the software.")
    ] = False,
    trials: Annotated[
        str, typer.Option("--trials", help="A side, where a check simulates.")
    ] = "1e6",
    cases: Annotated[int, whole_option("--cases", "Random cases, where a check searches.")] = 300,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Put claims to the test against exact laws or simulation.

    \b
    jaxsel validate PS-Cor3 LT-Thm3.5
    jaxsel validate CL-Thm1 --trials 1e5 --cases 50
    jaxsel validate --all --json

    Each is found to hold, refuted, or inconclusive, with the numbers of its worst case.
    Statements known to be false as printed are expected to be refuted. Published
    statements and self-checks of the software are counted apart. Exit status 1 if any
    verdict is not the expected one. Tightness is the power of the check of a bound: the
    largest observed / claimed over its cases. Evaluated is in how many cases the statement
    itself gave the number; notices, whether these would refute a wrong one: half of an
    upper bound, twice a lower one, 1.01 times what an identity states. A true statement
    whose check would not says why.
    """
    from jaxsel.catalogue import all_claims, find_claim, is_self_check
    from jaxsel.catalogue.validation import Validations, validate
    from jaxsel.language.base import Budget

    with bad_input_exits():
        check_integer("seed", seed, 0)
        if bool(ids) == everything:
            raise InputError("name the claims to validate, or give --all, and not both")
        with former_names_said():
            claims = all_claims() if everything else [find_claim(name) for name in ids or []]
        budget = Budget(read_trials(trials), _CASES.read("cases", cases), seed)
        compilation_cache()
        done = []

        def seen(result) -> None:
            done.append(result)
            tell(words())
            if not json:
                mark = "ok " if result.as_expected else "NOT AS EXPECTED"
                say(
                    f"{len(done):3d}/{len(claims)} {mark} {result.claim.id}: "
                    f"{result.verdict.outcome} ({result.seconds:.1f} s)"
                )

        def words() -> str:
            left = [claim.id for claim in claims[len(done) :]]
            return f"{len(done)} of {len(claims)} done; now {left[0]}" if left else "counting"

        with spinner(words()) as tell:
            results = validate(claims, budget, seen=seen)
    apart = {
        "published statements": Validations(r for r in results if not is_self_check(r.claim.id)),
        "self-checks": Validations(r for r in results if is_self_check(r.claim.id)),
    }
    wrong = not all(result.as_expected for result in results)
    if json:
        rows = [
            {
                "id": r.claim.id,
                "self_check": is_self_check(r.claim.id),
                "expected": "holds" if r.claim.holds else "refuted",
                "verdict": r.verdict,
                "tightness": r.verdict.tightness,
                "evaluated": r.verdict.evaluated,
                "notices": r.verdict.notices,
                "loose": r.claim.loose if r.loose else None,
                "as_expected": r.as_expected,
                "seconds": r.seconds,
            }
            for r in results
        ]
        counted = {
            name.replace(" ", "_").replace("-", "_"): {
                "checked": len(found),
                "as_expected": sum(r.as_expected for r in found),
            }
            for name, found in apart.items()
        }
        print_json({"results": rows, "counted": counted, "as_expected": not wrong})
    else:
        found = results.summary()
        print_table("Verdicts", found.columns, found.rows)
        for name, part in apart.items():
            if part:
                say(f"{name.capitalize()}: {part.counted()}. {part.power()}".strip())
    raise typer.Exit(1 if wrong else 0)


def bench_command(
    goals: Annotated[
        list[int] | None,
        typer.Argument(
            metavar="[GOAL]...", help="Numbers from above; default: all.", parser=whole_number
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every mechanism instead of the goals.")
    ] = False,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            help="This mechanism instead of the goals; may be repeated.",
            autocompletion=complete_mechanisms,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="File to write as it goes, and to go on from; of these, and of goal 14."),
    ] = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Measures the goals, or mechanisms; see ``BENCH_HELP``."""
    del seed
    with bad_input_exits():
        if _BENCH is None:
            raise InputError("the benchmarks lie in a checkout of jaxsel; run them there")
        check_output("--record", record)
        if everything or mechanism:
            if goals:
                raise InputError("give goals, or --all, or --mechanism, and not both")
            found = _BENCH.run_mechanisms(mechanism or (), record=record, progress=not json)
        elif record is not None and goals != [14]:
            raise InputError("--record goes with --all, --mechanism or goal 14")
        else:
            found = _BENCH.run(goals or None, record=record, progress=not json)
    if json:
        print_json(found)
    elif isinstance(found, dict):
        from benchmarks.table import COLUMNS, lines

        print_table("Mechanisms", COLUMNS, lines(found["rows"]))
    else:
        from benchmarks.__main__ import table

        print_drawing(table(found))
    missed = not isinstance(found, dict) and any(
        r.measured is not None and not r.met for r in found
    )
    raise typer.Exit(int(missed))
