"""The commands: account, tune, list, claim, law, simulate, audit, validate, bench."""

import sys

import typer

from jaxsel.cli import (
    account_command,
    catalogue_commands,
    run_commands,
    tune_command,
    validate_command,
)
from jaxsel.cli.arguments import bad_input_exits

app = typer.Typer(
    name="jaxsel",
    help=(
        "Simulate and audit differentially private selection: picking the best of many "
        "candidates without leaking the data.\n\n`jaxsel account` states what private "
        "tuning costs, and `jaxsel tune` does it. To explore, start with `jaxsel list "
        "mechanisms`, "
        "then `jaxsel simulate private_tuning` or `jaxsel audit fixed_repetitions`. Ids "
        "such as PS-Thm2 name statements of the five papers; `jaxsel list claims` "
        "explains each.\n\nExit status: 0 fine, 1 a claim fell, 2 bad usage."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("account")(account_command.account_command)
app.command("tune")(tune_command.tune_command)
app.command("list")(catalogue_commands.list_command)
app.command("claim")(catalogue_commands.claim_command)
app.command("law")(run_commands.law_command)
app.command("simulate")(run_commands.simulate_command)
app.command("audit")(run_commands.audit_command)
app.command("validate")(validate_command.validate_command)
app.command("bench")(validate_command.bench_command)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; exits with status 0, 1 or 2."""
    with bad_input_exits():
        try:
            app(arguments)
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(0) from None
