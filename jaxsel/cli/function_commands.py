"""jaxsel audit-function, replay and check-law: what a function of one's own does."""

import ast
import itertools
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from jaxsel.auditing.functions.audited_function import check_named, load
from jaxsel.cli.arguments import (
    Effort,
    JsonOption,
    SeedOption,
    SettingsArgument,
    bad_input_exits,
    read_settings,
    read_trials,
    records_of_options,
)
from jaxsel.cli.former_lines import todays
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.host.errors import InputError, check_interval
from jaxsel.host.outputs import check_output
from jaxsel.questions.function_audit import audit_function

if TYPE_CHECKING:
    from jaxsel.auditing.functions.audit_function import FunctionAudit

FunctionArgument = Annotated[
    str, typer.Argument(metavar="FILE.py:FUNCTION", help="A function of your own.")
]
InputsOption = Annotated[
    str | None,
    typer.Option(
        "--data", help="Two neighbours, '[0];[1]', or an example of the input, '[0, 1, 1]'."
    ),
]
RelationOption = Annotated[
    str | None,
    typer.Option(
        "--relation",
        help="Which inputs are neighbours: add_or_remove_one, replace_one (records), general, "
        "monotone, l1 (scores), local.",
    ),
]


class Claimed(NamedTuple):
    """What a function promises: options of ``audit-function``."""

    relation: RelationOption = None
    claim: Annotated[
        str | None,
        typer.Option(
            "--claim", help="Epsilon, a setting that is epsilon, or a guarantee as zcdp:rho=1."
        ),
    ] = None
    delta: Annotated[float, typer.Option("--delta", help="At which epsilon is claimed.")] = 0.0


@records_of_options
def audit_function_command(
    function: FunctionArgument,
    settings: SettingsArgument = None,
    claimed: Claimed = Claimed(),
    data: InputsOption = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="A setting at several values: epsilon=.3,1,3; repeatable."),
    ] = None,
    how: Annotated[
        list[str] | None,
        typer.Option(
            "--how",
            help="Repeatable: bits, curve, sequential, seconds=10, call_seconds=1, "
            "repetitions=LAW and others, as above.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also write a report: FILE.html, .md or .json."),
    ] = None,
    effort: Effort = Effort(),
    json: JsonOption = False,
) -> None:
    """Is a function of your own private? Looks for a pair and an event that refute its claim.

    \b
    jaxsel audit-function mine.py:my_mean --relation replace_one --claim 1.0
    jaxsel audit-function mine.py:my_mean --relation replace_one --claim epsilon --at epsilon=.3,1,3
    jaxsel audit-function mine.py:my_mean --relation replace_one --claim 1.0 --how bits

    The function takes (rng, data, n) and returns n outcomes, or (rng, data), (data), or a key
    of jax.random and data. Pairs are proposed for its relation, and what it does instead of
    answering (an exception, no answer within the limit) is an outcome, too.

    \b
    --how bits                judge released bits, not real numbers: floating-point
                              noise without care fails
    --how curve               bound the whole privacy profile, too
    --how sequential          stop when the claim falls on the two inputs of --data
    --how largest             look for the largest bound, not for a refutation
    --how seconds=10          a limit of time for each audit
    --how call_seconds=1      a limit of time for each call
    --how kind=generator      how it is called: vectorised, generator, jax or own
    --how workers=2           processes that call it
    --how search_trials=1e4   trials a side that look for pair and event
    --how repetitions=LAW     audit the best of K runs, such as geometric:mean=10,
                              beside its account; --claim is that of one run

    Exit status: 0 not refuted, 1 refuted, 2 bad usage, 3 cannot be judged, 4 not supported.
    """
    with bad_input_exits():
        check_named(function)
        check_interval("confidence", effort.confidence, 0, 1)
        if claimed.relation is None or claimed.claim is None:
            raise InputError(
                "a function is audited for a relation and a claim; give both, for example "
                "--relation replace_one --claim 1.0"
            )
        trials, inputs, cells = read_trials(effort.trials), _inputs(data), _cells(at)
        fixed = _settings(settings)
        for name in cells[0].keys() & fixed.keys():
            raise InputError(f"{name} is given as a setting and by --at; give it once")
        check_output("--report", report, (".html", ".md", ".json"))
        if report is not None and len(cells) > 1:
            raise InputError("a report is of one setting; give one value to each --at")
        audits = []
        # Loaded once: what is compiled at one value of a setting serves the others, too.
        subject = load(function)
        for cell in cells:
            found = audit_function(
                subject,
                *inputs,
                **claimed._asdict(),
                trials=trials,
                # The error probability is shared by the settings.
                confidence=1.0 - (1.0 - effort.confidence) / len(cells),
                seed=effort.seed,
                settings=fixed | cell,
                how=_how(how),
            )
            audits.append((cell, found))
            if not json:
                if cell:
                    say(", ".join(f"{name} = {value}" for name, value in cell.items()))
                _print(found)
            if found.ended_by == "an interrupt":
                break
        if json:
            print_json([{"at": cell, **found._asdict()} for cell, found in audits])
        if report is not None:
            from jaxsel.reports.audit_report import AuditReport

            command = shlex.join(["jaxsel", *todays(sys.argv[1:])])
            AuditReport(audits[0][1], command).write(report)
    raise typer.Exit(max((_status(found) for _, found in audits), key=_worst))


def replay_command(
    function: FunctionArgument,
    settings: SettingsArgument = None,
    relation: RelationOption = None,
    claim: Annotated[
        float | None, typer.Option("--claim", help="Epsilon: by so many scales a centre may move.")
    ] = None,
    data: InputsOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """What does one draw show? Runs a function on two neighbours at equal noise.

    \b
    jaxsel replay mine.py:my_mean --relation replace_one --claim 1.0

    Compares the draws of a function of rng, or of a key of jax.random: how many, of which law
    and scale, and what they are added to. One pair of runs shows what sampling needs millions
    of trials for. A finding asks for a reason; it is no verdict, and the exit status is 0.
    """
    from jaxsel.auditing.functions.replay import replay

    with bad_input_exits():
        if relation is None or claim is None:
            raise InputError("a replay needs --relation and, as a number, --claim; give both")
        found = replay(
            function,
            *_inputs(data),
            relation=relation,
            claim=claim,
            settings=_settings(settings),
            seed=seed,
        )
        if json:
            print_json(found._asdict())
        else:
            _print(found)


@records_of_options
def check_law_command(
    function: FunctionArgument,
    settings: SettingsArgument = None,
    law: Annotated[
        str, typer.Option("--law", help="A distribution of scipy.stats: laplace:loc=3,scale=2.")
    ] = "",
    data: Annotated[
        str | None, typer.Option("--data", help="The input on which outcomes have that law.")
    ] = None,
    how: Annotated[
        list[str] | None,
        typer.Option(
            "--how", help="Repeatable: seconds=10, call_seconds=1, kind=generator, workers=2."
        ),
    ] = None,
    effort: Effort = Effort(),
    json: JsonOption = False,
) -> None:
    """Do a function's outcomes on one input have the law that its documentation says?

    \b
    jaxsel check-law mine.py:my_mean --law laplace:loc=.667,scale=.333 --data "[0, 1, 1]"

    A test of goodness of fit, which says nothing of privacy: for that two inputs are compared.

    Exit status: 0 not refuted, 1 refuted, 2 bad usage, 3 cannot be judged, 4 not supported.
    """
    from jaxsel.auditing.functions.law import check_law

    with bad_input_exits():
        if not law or data is None:
            raise InputError(
                "a law is checked on an input; give --law and --data, the input on which the "
                "outcomes have that law"
            )
        found = check_law(
            function,
            _literal("--data", data),
            law=law,
            trials=read_trials(effort.trials),
            confidence=effort.confidence,
            seed=effort.seed,
            settings=_settings(settings),
            how=_how(how),
        )
        if json:
            print_json({"refuted": found.refuted, **found._asdict()})
        else:
            _print(found)
    raise typer.Exit(1 if found.refuted else 0)


def _print(found: Any) -> None:
    table = found.summary()
    print_table(table.sentence, table.columns, table.rows)


def _literal(name: str, text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise InputError(f"{name} is {text!r}; it must be a Python literal") from None


def _inputs(text: str | None) -> tuple[Any, ...]:
    """No input, one, or two that a semicolon divides."""
    if text is None:
        return ()
    try:
        return (ast.literal_eval(text),)
    except (ValueError, SyntaxError):
        sides = text.split(";")
    if len(sides) > 2:
        raise InputError(f"--data is {text!r}; it is one input, or two as '[0];[1]'")
    return tuple(_literal("--data", side) for side in sides)


def _settings(texts: list[str] | None) -> dict[str, Any]:
    return {name: _number(text) for name, text in read_settings(texts).items()}


def _how(words: list[str] | None) -> str:
    return ",".join(words or ())


def _cells(texts: list[str] | None) -> list[dict[str, Any]]:
    """Every combination of the values of ``--at``; of .5,1,2 all are floats."""
    said = {name: values.split(",") for name, values in read_settings(texts).items()}
    for name, values in said.items():
        if not all(value.strip() for value in values):
            raise InputError(f"--at {name}={','.join(values)} has an empty value")
    axes = {name: [_number(value) for value in values] for name, values in said.items()}
    for name, values in axes.items():
        if any(isinstance(value, float) for value in values):
            axes[name] = [float(one) if type(one) is int else one for one in values]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _number(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word


def _status(found: "FunctionAudit") -> int:
    known = {"refuted": 1, "failed": 3, "cannot be judged": 3}.get(found.verdict, 0)
    stopped = found.ended_by == "an interrupt" and found.verdict != "failed"
    return 130 if known != 1 and stopped else known


def _worst(status: int) -> int:
    # A refutation is said even where another setting could not be judged.
    return {0: 0, 130: 1, 3: 2, 1: 3}[status]
