"""The commands, by name."""

import contextlib
import os
import select
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jaxsel.cli import (
    account_command,
    audit_command,
    claim_command,
    former_lines,
    function_commands,
    ledger_command,
    list_command,
    merge_command,
    optimal_command,
    plan_command,
    plan_releases_command,
    report_command,
    run_commands,
    show_command,
    sweep_command,
    tune_command,
    validate_command,
)
from jaxsel.cli.arguments import bad_input_exits, hear_interrupts
from jaxsel.cli.options import Command
from jaxsel.cli.output import begin, discard, print_refusal, refuse
from jaxsel.host.blas_threads import one_for_this_process
from jaxsel.host.errors import CouldNotError, InputError
from jaxsel.host.progress import signs_of_life

# Typer brings a copy of click in its newer versions, and needs click in its older ones.
_UsageError: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "UsageError")

_RELEASES_NOTHING = (
    "jaxsel releases nothing of your data but the winner of a search (jaxsel tune, "
    "jaxsel.PrivateSearch); for a private median, mean or count see OpenDP, https://opendp.org"
)
# What somebody types who looks for a private statistic.
_STATISTICS = ("release", "median", "mean", "sum", "count", "histogram", "quantile", "query")


class _Commands(TyperGroup):
    """The commands; every refusal is a sentence, and with ``--json`` a document, too."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None if there is none."""
        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in _STATISTICS:
            raise InputError(f"there is no command {cmd_name!r}: {_RELEASES_NOTHING}")
        return found

    def main(self, args: Sequence[str] | None = None, *rest: Any, **settings: Any) -> Any:
        """Runs a command line, and ends the process with the status of its command."""
        words = list(sys.argv[1:] if args is None else args)
        begin(json="--json" in words)
        settings["standalone_mode"] = False
        streams = sys.stdout, sys.stderr
        doing = next((DOING[word] for word in words if word in DOING), "at work")
        with bad_input_exits(), signs_of_life(doing):
            try:
                today = former_lines.read(words)
                status = super().main(today, *rest, **settings)
            except SystemExit:
                if sys.stdout is not streams[0]:  # Typer makes status 1 of a broken pipe
                    sys.stdout, sys.stderr = streams
                    raise BrokenPipeError from None
                raise
            except _UsageError as error:
                print_refusal(error.format_message(), error.exit_code)
                try:
                    error.show()
                    sys.stderr.flush()
                except OSError:
                    discard(sys.stderr)
                raise SystemExit(error.exit_code) from None
            except (typer.Abort, KeyboardInterrupt):
                raise SystemExit(130) from None
        raise SystemExit(status or 0)


app = typer.Typer(
    name="jaxsel",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        import jaxsel

        sys.stdout.write(f"jaxsel {jaxsel.__version__}\n")
        raise typer.Exit()


@app.callback()
def jaxsel_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it and exit.")
    ] = False,
) -> None:
    """Simulate and audit differentially private selection: picking the best of many
    candidates without leaking the data. Nothing of your data is released but the winner
    of a search; for a private median, mean or count see OpenDP (https://opendp.org).

    `jaxsel plan` says what to run for a budget, `jaxsel account` what private tuning
    costs, `jaxsel optimal` which random number of runs costs least, `jaxsel tune` does it,
    and `jaxsel report` states it for a paper. To explore, start with `jaxsel list
    mechanisms`, then `jaxsel simulate private_tuning` or `jaxsel audit fixed_repetitions`;
    `jaxsel audit-function` is for a function of your own. Ids such as PS-Thm2 name
    statements of papers; `jaxsel list claims` lists them and `jaxsel show PS-Thm2`
    explains one.

    Exit status: 0 fine, 1 a claim fell, a goal was missed, or no epsilon is proved, 2 bad
    usage, 3 it could not be judged or done, 4 not supported, 130 interrupted, 141 the reader
    of the answer closed it. With --json, 2, 3 and 4 print {"error": ..., "exit": ...}.
    """


DOING: dict[str, str] = {}
"""What each command does, for who waits for it."""


def _command(name: str, doing: str, cls: type[Command] = Command, **settings: Any) -> Any:
    DOING[name] = doing
    return app.command(name, cls=cls, **settings)


_command("account", "proving what the search costs", cls=account_command.AccountCommand)(
    account_command.account_command
)
_command("plan", "looking for what the budget buys", help=plan_command.HELP)(
    plan_command.plan_command
)
_command("plan-releases", "looking for what the budget buys", help=plan_releases_command.HELP)(
    plan_releases_command.plan_releases_command
)
_command("report", "proving what the report states", help=report_command.HELP)(
    report_command.report_command
)
_command("optimal", "looking for the law of K", help=optimal_command.HELP)(
    optimal_command.optimal_command
)
_command("tune", "preparing the search")(tune_command.tune_command)
_command("ledger", "reading the ledger")(ledger_command.ledger_command)
_command("list", "collecting what there is")(list_command.list_command)
_command("show", "collecting what is known")(show_command.show_command)
_command("claim", "evaluating the claim")(claim_command.claim_command)
_command("law", "computing the exact law")(run_commands.law_command)
_command("simulate", "compiling the mechanism, and simulating it")(run_commands.simulate_command)
_command("audit", "compiling the mechanism, and simulating both sides")(audit_command.audit_command)
_command("audit-function", "calling the function on neighbouring inputs")(
    function_commands.audit_function_command
)
_command("replay", "comparing the draws on two neighbours")(function_commands.replay_command)
_command("check-law", "calling the function, and comparing its outcomes with the law")(
    function_commands.check_law_command
)
_command("sweep", "preparing the cells", help=sweep_command.HELP)(sweep_command.sweep_command)
_command("merge", "merging the shards")(merge_command.merge_command)
_command("validate", "putting claims to the test")(validate_command.validate_command)
_command("bench", "measuring", help=validate_command.BENCH_HELP)(validate_command.bench_command)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; exits with a status that ``jaxsel --help`` lists."""
    if arguments is None:  # called as a program, not from Python
        one_for_this_process()
        hear_interrupts()
    if sys.stdout is None:  # the shell closed it
        sys.stdout = open(os.devnull, "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")
    try:
        try:
            app(arguments, prog_name="jaxsel")
        finally:
            sys.stdout.flush()
    except MemoryError:
        with bad_input_exits():
            raise CouldNotError("the memory does not suffice for this") from None
    except OSError as error:
        _not_written(error)
    except Exception:  # never status 1, which says that a claim fell
        traceback.print_exc()
        refuse("this is a fault of jaxsel; please report it, with the lines above", 3)


def _not_written(error: OSError) -> None:
    """Ends a command whose answer, or one of whose files, could not be written."""
    closed = isinstance(error, BrokenPipeError) and any(map(_closed, (sys.stdout, sys.stderr)))
    if not closed:
        where = "the answer" if error.filename is None else error.filename
        with contextlib.suppress(OSError):
            sys.stderr.write(f"jaxsel: cannot write {where}: {error.strerror}\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
        if closed or error.filename is None:
            discard(stream)
    raise SystemExit(141 if closed else 3)


def _closed(stream: Any) -> bool:
    """Whether a stream is a pipe that nobody reads any more."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # no poll on this system, or no file
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))
