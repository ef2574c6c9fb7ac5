"""jaxsel audit: the privacy loss of a mechanism, or of a function of one's own, from below."""

import ast
import importlib
import itertools
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxsel.auditing.functions.subject import load
from jaxsel.cli.arguments import (
    JsonOption,
    SeedOption,
    SettingsArgument,
    bad_input_exits,
    complete_mechanisms,
    read_settings,
    read_trials,
    whole_option,
)
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.cli.run_commands import ConfidenceOption
from jaxsel.cli.scaling import (
    CoordinatorOption,
    ProcessesOption,
    ProcessOption,
    RecordOption,
    Scaling,
    SchedulerOption,
    ShardOption,
    say_kept,
    scaled,
)
from jaxsel.host.errors import InputError, check_integer, check_interval
from jaxsel.host.outputs import check_output
from jaxsel.kernel.compiled import compilation_cache
from jaxsel.language import printing
from jaxsel.questions.audits import function_audit, is_function
from jaxsel.questions.checkout import beside

if TYPE_CHECKING:
    from jaxsel.auditing.functions.audit_function import FunctionAudit

SubjectArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MECHANISM|FILE.py:FUNCTION",
        help="A name or id of `jaxsel list mechanisms`, or a function of your own.",
        autocompletion=complete_mechanisms,
    ),
]


def audit_command(
    mechanism: SubjectArgument = None,
    settings: SettingsArgument = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", help="Name of one pair; default: all. Of a function: two inputs, 'A;B'."
        ),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(
            "--relation",
            help="Of a function: add_or_remove_one, replace_one, general, monotone, l1, local.",
        ),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            "--claim",
            help="Of a function: epsilon, a setting that is epsilon, or a guarantee as zcdp:rho=1.",
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="Of a function: a setting at several values, epsilon=.3,1,3."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", help="Of a function: an example of its input, '[0, 1, 1]'."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Of a function: a time limit for each audit.")
    ] = None,
    repetitions: Annotated[
        str | None,
        typer.Option(
            help="Of a function: audit the best of K runs, K by this law, beside its account."
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Of a function: also write a report: FILE.html, .md or .json."
        ),
    ] = None,
    sequential: Annotated[
        bool,
        typer.Option("--sequential", help="Of a function: stop when the claim falls on --pair."),
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Of a function: compare its draws at equal noise.")
    ] = False,
    curve: Annotated[
        bool, typer.Option("--curve", help="Of a function: bound its whole privacy profile, too.")
    ] = False,
    bits: Annotated[
        bool, typer.Option("--bits", help="Of a function: judge released bits, not real numbers.")
    ] = False,
    law: Annotated[
        str | None,
        typer.Option(
            "--law", help="Of a function: the law of its outcomes on --data, laplace:loc=3,scale=2."
        ),
    ] = None,
    bugs: Annotated[
        bool, typer.Option("--bugs", help="Audit small programs, wrong and right ones.")
    ] = False,
    zoo: Annotated[
        bool, typer.Option("--zoo", help="Audit the mechanisms of a published evaluation.")
    ] = False,
    libraries: Annotated[
        bool, typer.Option("--libraries", help="Audit the installed ones of five libraries.")
    ] = False,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="How often a claim falls that is kept exactly.")
    ] = False,
    runs: Annotated[
        int | None, whole_option("--runs", "Of a table but --zoo: audits of each.")
    ] = None,
    trials: Annotated[
        str | None, typer.Option("--trials", help="How many, by default 1e6.")
    ] = None,
    delta: Annotated[float, typer.Option("--delta", help="Of (epsilon, delta)-DP.")] = 0.0,
    confidence: ConfidenceOption = 0.95,
    record: RecordOption = None,
    shard: ShardOption = None,
    coordinator: CoordinatorOption = None,
    processes: ProcessesOption = None,
    process: ProcessOption = None,
    scheduler: SchedulerOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Bound the privacy loss from below, by simulation.

    \b
    jaxsel audit noisy_max epsilon=2
    jaxsel audit dp_sgd --delta 1e-2 --trials 1e5
    jaxsel audit mine.py:my_mean --relation replace_one --claim epsilon --at epsilon=.3,1,3

    Simulates both sides of each constructed neighbouring pair. Prints the audited lower
    bound on epsilon (of all pairs together at the stated confidence), the exact epsilon
    on the pair, and the claim.

    A function takes (rng, data, n) and returns n outcomes, or (rng, data), (data), or a key of
    jax.random and data; pairs are proposed for its relation, and what it does instead of
    answering (an exception, no answer within the limit) is an outcome, too.

    --replay runs a function of rng or key twice, at equal noise, and compares its draws: their
    number, law, scale, and what they are added to. It takes no time, and is no verdict.

    --bits judges what is released as bits: floating-point noise without care fails. --law tests
    the outcomes on one input against a distribution of scipy.stats, and says nothing of privacy.

    In a checkout, --bugs, --zoo and --calibration judge the auditor itself, a table each;
    --libraries holds mechanisms, accountants and auditors of others to what they promise.

    Exit status: 0 not refuted, 1 refuted, 2 bad usage, 3 cannot be judged, 4 not supported.
    """
    with bad_input_exits():
        check_interval("confidence", confidence, 0, 1)
        tables = {"bugs": bugs, "zoo": zoo, "libraries": libraries, "calibration": calibration}
        asked = [name for name, wanted in tables.items() if wanted]
        if asked or mechanism is None:
            if len(asked) != 1 or mechanism is not None:
                one = ", ".join(f"--{name}" for name in tables)
                raise InputError(f"name a mechanism or a function, or give one of {one}")
            _audit_table(asked[0], trials, seconds, runs, seed, json)
            return
        if runs is not None:
            raise InputError("--runs goes with --bugs, --libraries or --calibration")
        trials = trials or "1e6"
        number = read_trials(trials)
        scaling = Scaling(shard, record, coordinator, processes, process, scheduler)
        of_functions = {
            "--relation": relation,
            "--claim": claim,
            "--at": at,
            "--data": data,
            "--seconds": seconds,
            "--repetitions": repetitions,
            "--report": report,
            "--sequential": sequential or None,
            "--replay": replay or None,
            "--bits": bits or None,
            "--curve": curve or None,
            "--law": law,
        }
        if is_function(mechanism):
            if any(option is not None for option in scaling):
                raise InputError("a function is audited in one call; leave out --record and shards")
            given = {
                "pair": None if pair is None else _pair(pair),
                "data": None if data is None else _literal("--data", data),
                "relation": relation,
                "claim": claim,
                "delta": delta,
                "trials": number,
                "seconds": seconds,
                "sequential": sequential,
                "repetitions": repetitions,
                "seed": seed,
                "bits": bits,
                "curve": curve,
            }
            if law is not None:
                of_pairs = of_functions | {"--pair": pair, "--delta": delta or None}
                of_law = ("--law", "--data", "--seconds")
                named = [k for k, v in of_pairs.items() if v is not None and k not in of_law]
                if named:
                    raise InputError(f"{', '.join(named)} cannot be given with --law")
                _check_law(mechanism, settings, law, given, confidence, json)
                return
            if replay:
                _replay_function(mechanism, settings, given, json)
                return
            _audit_function(mechanism, settings, at, given, confidence, json, report)
            return
        named = [name for name, value in of_functions.items() if value is not None]
        if named:
            raise InputError(f"{', '.join(named)} cannot be given for a mechanism")
        compilation_cache()
        options = {
            "mechanism": mechanism,
            "settings": settings,
            "pair": pair,
            "delta": delta,
            "confidence": confidence,
            "seed": seed,
        }
        refuted = _audit_mechanism(scaling, options, trials, number, json)
    raise typer.Exit(1 if refuted else 0)


def _audit_table(
    name: str, trials: str | None, seconds: float | None, runs: int | None, seed: int, json: bool
) -> None:
    """Makes a table of ``benchmarks.audit_tables``; exit status 1 if its bar is missed."""
    if beside("benchmarks") is None:
        raise InputError("the tables of audits are made in a checkout of jaxsel; run them there")
    table = importlib.import_module(f"benchmarks.audit_tables.{name}")
    number = table.TRIALS if trials is None else read_trials(trials)
    repeats = table.RUNS if runs is None else check_integer("runs", runs, 1)
    rows = []
    for row in table.rows(number, seed, table.SECONDS if seconds is None else seconds, repeats):
        rows.append(row)
        if not json:
            say("; ".join(f"{what} {printing.cell(found)}" for what, found in row.items()))
    said, reached = table.judged(rows)
    if json:
        print_json({"table": name, "trials": number, "seed": seed, "rows": rows, "found": said})
    else:
        columns = list(rows[0]) if rows else []
        print_table(said, columns, [[row[column] for column in columns] for row in rows])
    raise typer.Exit(0 if reached else 1)


def _literal(name: str, text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise InputError(f"{name} is {text!r}; it must be a Python literal") from None


def _pair(text: str) -> tuple[Any, Any]:
    sides = text.split(";")
    if len(sides) != 2:
        raise InputError(f"--pair is {text!r}; for a function it is two inputs, as '[0];[1]'")
    return _literal("--pair", sides[0]), _literal("--pair", sides[1])


def _values(texts: list[str] | None) -> list[dict[str, Any]]:
    """Every combination of the values of ``--at``; of .5,1,2 all are floats."""
    axes = {
        name: [_number(value) for value in values.split(",")]
        for name, values in read_settings(texts).items()
    }
    for name, values in axes.items():
        if any(isinstance(value, float) for value in values):
            axes[name] = [float(one) if type(one) is int else one for one in values]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _number(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word


def _audit_function(
    subject: str,
    settings: list[str] | None,
    at: list[str] | None,
    given: dict[str, Any],
    confidence: float,
    json: bool,
    report: str | None,
) -> None:
    """Audits a function at each setting; the error probability is shared by the settings."""
    if given["relation"] is None or given["claim"] is None:
        raise InputError(
            "a function is audited for a relation and a claim; give both, for example "
            "--relation replace_one --claim 1.0"
        )
    fixed = {name: _number(text) for name, text in read_settings(settings).items()}
    cells = _values(at)
    check_output("--report", report, (".html", ".md", ".json"))
    if report is not None and len(cells) > 1:
        raise InputError("a report is of one setting; give one value to each --at")
    audits = []
    # Loaded once: what is compiled at one value of a setting serves the others, too.
    function = load(subject)
    for cell in cells:
        false_alarm = (1.0 - confidence) / len(cells)
        found = function_audit(function, settings=fixed | cell, false_alarm=false_alarm, **given)
        audits.append((cell, found))
        if not json:
            if cell:
                say(", ".join(f"{name} = {value}" for name, value in cell.items()))
            table = found.summary()
            print_table(table.sentence, table.columns, table.rows)
        if found.ended_by == "an interrupt":
            break
    if json:
        print_json([{"at": cell, **found._asdict()} for cell, found in audits])
    if report is not None:
        from jaxsel.reports.audits import AuditReport

        command = shlex.join(["jaxsel", *sys.argv[1:]])
        AuditReport(audits[0][1], command).write(report)
    raise typer.Exit(max((_status(found) for _, found in audits), key=_worst))


def _replay_function(
    subject: str, settings: list[str] | None, given: dict[str, Any], json: bool
) -> None:
    """Compares the draws of a function at equal noise; a finding is no refutation."""
    from jaxsel.auditing.functions.replay import replay

    claim = _number(str(given["claim"]))
    if given["relation"] is None or not isinstance(claim, int | float):
        raise InputError("--replay needs --relation and, as a number, --claim")
    found = replay(
        subject,
        claim=float(claim),
        settings={name: _number(text) for name, text in read_settings(settings).items()},
        **{name: given[name] for name in ("relation", "pair", "data", "seed")},
    )
    if json:
        print_json(found._asdict())
    else:
        table = found.summary()
        print_table(table.sentence, table.columns, table.rows)


def _status(found: "FunctionAudit") -> int:
    known = {"refuted": 1, "failed": 3, "cannot be judged": 3}.get(found.verdict, 0)
    stopped = found.ended_by == "an interrupt" and found.verdict != "failed"
    return 130 if known != 1 and stopped else known


def _check_law(
    subject: str,
    settings: list[str] | None,
    law: str,
    given: dict[str, Any],
    confidence: float,
    json: bool,
) -> None:
    """Tests the outcomes of a function on one input; exit status 1 if they have another law."""
    from jaxsel.auditing.functions.law import check_law

    if given["data"] is None:
        raise InputError("--law needs --data, the input on which the outcomes have that law")
    found = check_law(
        subject,
        law=law,
        false_alarm=1.0 - confidence,
        settings={name: _number(text) for name, text in read_settings(settings).items()},
        **{name: given[name] for name in ("data", "trials", "seconds", "seed")},
    )
    if json:
        print_json({"refuted": found.refuted, **found._asdict()})
    else:
        table = found.summary()
        print_table(table.sentence, table.columns, table.rows)
    raise typer.Exit(1 if found.refuted else 0)


def _worst(status: int) -> int:
    # A refutation is said even where another setting could not be judged.
    return {0: 0, 130: 1, 3: 2, 1: 3}[status]


def _audit_mechanism(
    scaling: Scaling, options: dict[str, Any], trials: str, number: int, json: bool
) -> bool:
    """Audits a mechanism on its pairs and prints what was found; whether a claim fell."""
    from jaxsel.auditing.audit import audit
    from jaxsel.catalogue import find_mechanism

    names = ("pair", "delta", "confidence", "seed")
    pair, delta, confidence, seed = (options[name] for name in names)
    with scaled(scaling, "audit", options, trials) as role:
        built = find_mechanism(options["mechanism"]).build(read_settings(options["settings"]))
        pairs = built.pairs() if pair is None else (built.pair(pair),)
        # The error probability is shared by the pairs.
        each_confidence = 1.0 - (1.0 - confidence) / len(pairs)
        audits = [
            audit(built, each, trials=number, delta=delta, seed=seed, confidence=each_confidence)
            for each in pairs
        ]
    if role.part is not None:
        say_kept(role.part, json)
        return False
    rows = []
    for each, found in zip(pairs, audits, strict=True):
        claim, epsilon = found.guarantee or (None, None)
        rows.append(
            {
                "pair": each.name,
                "relation": each.relation,
                "why": each.why,
                "lower_bound": found.bound.lower,
                "exact": found.exact,
                "claim": epsilon,
                "claim_id": claim,
                "event": list(found.event_labels),
                "direction": found.bound.direction,
                "refuted": found.refuted,
            }
        )
    refuted = any(row["refuted"] for row in rows)
    if not role.prints:
        return refuted
    if json:
        print_json(
            {
                "mechanism": built.mechanism.name,
                "trials": number,
                "delta": delta,
                "confidence": confidence,
                "seed": seed,
                "pairs": rows,
                "refuted": refuted,
            }
        )
    else:
        columns = ["pair", "relation", "lower_bound", "exact", "claim", "claim_id", "event"]
        name = built.mechanism.name
        title = f"{name}: epsilon at delta = {delta:g}, {number} trials a side"
        table = []
        for row in rows:
            shown = dict(row, relation=row["relation"].value, event=" or ".join(row["event"]))
            table.append([shown[c] for c in columns])
        print_table(title, columns, table)
        say(f"lower_bound: audited, confidence {confidence:g} for all pairs together.")
        if refuted:
            say("REFUTED: a lower bound exceeds the claim.")
    return refuted
