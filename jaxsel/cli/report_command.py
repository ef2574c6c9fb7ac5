"""jaxsel report: a statement for a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, say, write
from jaxsel.cli.search_options import Accounted, one_search
from jaxsel.host import progress
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

Of what: the options of jaxsel account (--drawn, and --times, --search, --beside for several);
or --plan FILE, with what jaxsel plan --json printed; or --folder FOLDER, of a finished
jaxsel tune, or a file with what jaxsel tune --json printed. What a file promises is proved
again. It takes some seconds."""


@as_command()
def report_command(
    asked: Accounted = Accounted(),
    delta: Annotated[
        float | None, typer.Option("--delta", help=f"In [0, 1).  [default: {DELTA:g}]")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE.json", help="What jaxsel plan printed.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Of a finished search, or its JSON.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Where to write the three files.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """A privacy statement for your paper: what is proved, and what an attack can do."""
    with bad_input_exits(), spinner("proving what the report states"):
        check_output("--out", out, folder=True)
        accounted = asked != Accounted()
        if (plan, folder).count(None) + (not accounted) != 2:
            raise InputError(
                "give one of: --base with --repetitions, --plan, --folder; see jaxsel report --help"
            )
        if not accounted and delta is not None:
            raise InputError("delta is that of the plan or search; leave --delta out")
        if accounted:
            found = _accounted(asked, DELTA if delta is None else delta)
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
        write(found.markdown())
    if accounted and delta is None and not json:
        progress.note(note())  # standard output is the report itself


def _accounted(asked: Accounted, delta: float) -> "Report":
    from jaxsel.questions.released import account, compose
    from jaxsel.questions.report import report
    from jaxsel.tuning.drawn import read_drawn

    if asked.is_several or read_drawn(asked.drawn).released_runs is not None:
        if asked.score_noise is not None:
            raise InputError(
                "--score-noise is for one search: not with --times, --search, --beside, or a "
                "--drawn whose runs are all released"
            )
        from jaxsel.cli.composition_answer import gather

        return report(compose(gather(asked), delta))
    one = one_search("report", asked.base, asked.repetitions)
    return report(account(*one, delta, attain=False, score_noise=asked.score_noise))


def _read(plan: Path | None, folder: Path | None) -> "Report":
    from jaxsel.questions.report import report
    from jaxsel.reports.reading import read_plan, read_search

    if folder is not None:
        return report(read_search(folder))
    assert plan is not None
    return report(read_plan(plan))
