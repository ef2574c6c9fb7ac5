"""The commands, by name."""

import sys
from typing import Annotated

import typer

from jaxsel.cli import (
    account_command,
    audit_command,
    claim_command,
    ledger_command,
    list_command,
    merge_command,
    optimal_command,
    plan_command,
    report_command,
    run_commands,
    show_command,
    sweep_command,
    tune_command,
    validate_command,
)
from jaxsel.cli.arguments import bad_input_exits, hear_interrupts
from jaxsel.host.blas_threads import one_for_this_process

app = typer.Typer(
    name="jaxsel", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
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
    candidates without leaking the data.

    `jaxsel plan` says what to run for a budget, `jaxsel account` what private tuning
    costs, `jaxsel optimal` which random number of runs costs least, `jaxsel tune` does it,
    and `jaxsel report` states it for a paper. To explore, start with `jaxsel list
    mechanisms`, then `jaxsel simulate private_tuning` or `jaxsel audit
    fixed_repetitions`. Ids such as PS-Thm2 name statements of papers; `jaxsel list
    claims` lists them and `jaxsel show PS-Thm2` explains one.

    Exit status: 0 fine, 1 a claim fell or no epsilon is proved, 2 bad usage.
    """


app.command("account", cls=account_command.AccountCommand)(account_command.account_command)
app.command("plan", help=plan_command.HELP)(plan_command.plan_command)
app.command("report", help=report_command.HELP)(report_command.report_command)
app.command("optimal", help=optimal_command.HELP)(optimal_command.optimal_command)
app.command("tune")(tune_command.tune_command)
app.command("ledger")(ledger_command.ledger_command)
app.command("list")(list_command.list_command)
app.command("show")(show_command.show_command)
app.command("claim")(claim_command.claim_command)
app.command("law")(run_commands.law_command)
app.command("simulate")(run_commands.simulate_command)
app.command("audit")(audit_command.audit_command)
app.command("sweep", help=sweep_command.HELP)(sweep_command.sweep_command)
app.command("merge")(merge_command.merge_command)
app.command("validate")(validate_command.validate_command)
app.command("bench", help=validate_command.BENCH_HELP)(validate_command.bench_command)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; exits with status 0, 1 or 2."""
    if arguments is None:  # called as a program, not from Python
        one_for_this_process()
        hear_interrupts()
    with bad_input_exits():
        try:
            app(arguments, prog_name="jaxsel")
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(0) from None
