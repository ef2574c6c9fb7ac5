"""jaxsel report: a statement for a paper."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxsel.cli.arguments import JsonOption, UnusedSeedOption, bad_input_exits
from jaxsel.cli.output import print_json, say
from jaxsel.cli.search_options import RepetitionsOption, ScoreNoiseOption, TimesOption, one_search
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import check_output
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note

if TYPE_CHECKING:
    from jaxsel.reports.report import Report

HELP = """A privacy statement for your paper: what is proved, and what an attack can do.

jaxsel report --delta 1e-6 --repetitions geometric:mean=100 --out statement
--base dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60

writes report.md, report.tex (a paragraph and a table, to paste into any document) and
report.html (one page with pictures, that loads nothing) to the folder; without --out it
prints the Markdown. It says (epsilon, delta), the theorem with its reference, which data
sets are neighbours, what is released and what stays secret; the largest true positive rate
of any test at false positive rates of 0.1 % and 1 %, the largest advantage, and the nearest
Gaussian. All numbers are upper bounds, rounded upwards.

Of what: the options of jaxsel account (--times, --search, --beside for several releases);
or --plan FILE, with what jaxsel plan --json printed; or --folder FOLDER, of a finished
jaxsel tune, or a file with what jaxsel tune --json printed. What a file promises is proved
again. It takes some ten seconds, with DP-SGD up to half a minute."""


def report_command(
    base: Annotated[
        str | None, typer.Option("--base", metavar="TEXT", help="As in account.")
    ] = None,
    repetitions: RepetitionsOption = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help=f"In [0, 1); {DELTA:g} if it is not given.")
    ] = None,
    times: TimesOption = 1,
    search: Annotated[
        list[Path] | None,
        typer.Option("--search", metavar="FILE.toml", help="More, e.g. later.toml."),
    ] = None,
    beside: Annotated[
        list[str] | None, typer.Option("--beside", metavar="BASE", help="Released as it is, too.")
    ] = None,
    score_noise: ScoreNoiseOption = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE.json", help="What jaxsel plan printed.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Of a finished search, or its JSON.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Where to write the three files.")
    ] = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """A privacy statement for your paper: what is proved, and what an attack can do."""
    del seed
    with bad_input_exits(), spinner("proving what the report states"):
        check_output("--out", out, folder=True)
        given = (base, repetitions, search, beside, score_noise)
        accounted = given != (None,) * len(given) or times != 1
        if (plan, folder).count(None) + (not accounted) != 2:
            raise InputError(
                "give one of: --base with --repetitions, --plan, --folder; see jaxsel report --help"
            )
        if not accounted and delta is not None:
            raise InputError("delta is that of the plan or search; leave --delta out")
        if accounted:
            chosen = DELTA if delta is None else delta
            found = _accounted(base, repetitions, times, search, beside, score_noise, chosen)
        else:
            found = _read(plan, folder)
        written = () if out is None else found.write(out)
    if json:
        files = {"files": [str(path) for path in written]} if written else {}
        print_json(found.statement.as_record() | files)
    elif written:
        say(found.contents.headline)
        say("Written: " + ", ".join(str(path) for path in written))
    else:
        sys.stdout.write(found.markdown())
    if accounted and delta is None and not json:
        sys.stderr.write(f"jaxsel: {note()}\n")  # standard output is the report itself


def _accounted(
    base: str | None,
    repetitions: str | None,
    times: int,
    search: list[Path] | None,
    beside: list[str] | None,
    score_noise: float | None,
    delta: float,
) -> "Report":
    from jaxsel.questions.released import account, compose
    from jaxsel.questions.report import report

    if times != 1 or search or beside:
        if score_noise is not None:
            raise InputError(
                "--score-noise is for one search: not with --times, --search or --beside"
            )
        from jaxsel.cli.composition_answer import gather

        releases = gather(base, repetitions, times, search, beside)
        return report(compose(releases, delta))
    asked = one_search("report", base, repetitions)
    return report(account(*asked, delta, attain=False, score_noise=score_noise))


def _read(plan: Path | None, folder: Path | None) -> "Report":
    from jaxsel.questions.report import report
    from jaxsel.reports.reading import read_plan, read_search

    if folder is not None:
        return report(read_search(folder))
    assert plan is not None
    return report(read_plan(plan))
