"""jaxsel plan: what to run for a privacy budget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits, read_trials, whole_option
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.cli.search_options import WINNER_FORMER, DrawnOption, SearchDeltaOption, Size
from jaxsel.host.outputs import PICTURES, check_output
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note
from jaxsel.tuning.drawn import INDEPENDENTLY

if TYPE_CHECKING:
    from jaxsel.questions.plan_checks import PlanCheck
    from jaxsel.tuning.planning.planned import Plan

HELP = """What can I run for my privacy budget? Noise, law of K, and how good the winner is.

jaxsel plan --epsilon 3 --delta 1e-6 --runs 50 --winner good=0.05
--base dp_sgd:dataset_size=60000,batch_size=600,epochs=60

Of three things - epsilon, the noise of one run, how many runs - give two; the third is
found. Above, --base leaves its noise_multiplier out, and the least one is found. With the
noise in --base and --runs, the least epsilon is found; with the noise and --epsilon (and
--runs or not), the law of K with the best winner. --base takes the forms of jaxsel account.

In place of --epsilon, say what an attacker may gain who guesses whether a record is in:
--attack advantage=0.1, the largest true less false positive rate of any attack, or
--attack true_positive_rate=0.1,false_positive_rate=0.01. The first takes some ten seconds,
the second up to a minute.

Where nothing is said of the --winner it has to be as good, in expected rank, as that of a
geometric K with the runs that are allowed.

Prints the plan, the best law of each family, and what else the budget could have bought:
one run without a search, every run released, fewer runs with less noise, more runs with
more. Keep K, the other runs and their scores secret.

jaxsel plan-releases finds the noise of a mechanism of the catalogue, released so often."""


class _Budget(NamedTuple):
    """What the search may cost in privacy."""

    epsilon: Annotated[float | None, typer.Option("--epsilon", help="Of the search.")] = None
    delta: SearchDeltaOption = None
    attack: Annotated[
        str | None,
        typer.Option(
            "--attack",
            metavar="TEXT",
            help="In place of --epsilon, what any attack may reach: advantage=0.1, or "
            "true_positive_rate=0.1,false_positive_rate=0.01.",
        ),
    ] = None


class _Check(NamedTuple):
    """Whether the plan is simulated, and how."""

    check: Annotated[bool, typer.Option("--check", help="Simulate the search, and audit it.")] = (
        False
    )
    trials: Annotated[str, typer.Option("--trials", help="Of --check.")] = "1e5"
    seed: Annotated[int, whole_option("--seed", "Of --check.")] = 0


_FORMER = {
    **WINNER_FORMER,
    "--advantage": "--attack.advantage",
    "--true-positive-rate": "--attack.true_positive_rate",
    "--at-false-positive-rate": "--attack.false_positive_rate",
    "--price": "--compute.price",
}


@as_command(_FORMER)
def plan_command(
    base: Annotated[
        str, typer.Option("--base", metavar="TEXT", help="One run, its noise given or not.")
    ],
    budget: _Budget = _Budget(),
    size: Size = Size(),
    check: _Check = _Check(),
    drawn: DrawnOption = INDEPENDENTLY,
    compute: Annotated[
        str | None,
        typer.Option(
            "--compute",
            metavar="TEXT",
            help="What all runs may cost on average, in any unit; 100:price=4 where one costs 4.",
        ),
    ] = None,
    optimal: Annotated[
        bool, typer.Option("--optimal", help="Try the law of K that costs least, too: 10 s longer.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Epsilon against the winner's rank."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="The law of K to a file, which --repetitions file:FILE reads.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """What can I run for my privacy budget? Noise, law of K, how good the winner is."""
    with bad_input_exits():
        check_output("--plot", plot, PICTURES)
        check_output("--save", save)
        trials = read_trials(check.trials) if check.check else None
        from jaxsel.questions.plan import plan

        with spinner("looking for what the budget buys"):
            found = plan(
                base,
                epsilon=budget.epsilon,
                delta=DELTA if budget.delta is None else budget.delta,
                attack=budget.attack,
                **size._asdict(),
                drawn=drawn,
                compute=compute,
                optimal=optimal,
            )
        checked = _used(found, trials, check.seed, plot, save)
    if json:
        print_json(found.as_record() | ({"check": checked} if checked else {}))
    else:
        _say(found, checked)
        if save is not None:
            say(f"The law of K is kept: --repetitions file:{save} reads it.")
        if budget.delta is None:
            say(note())
    if checked is not None and not checked.passed:
        raise typer.Exit(1)


def _used(
    found: "Plan", trials: int | None, seed: int, plot: Path | None, save: Path | None
) -> "PlanCheck | None":
    """Checks, plots and saves a plan, each if it is asked for."""
    checked = None
    if trials is not None:
        from jaxsel.questions.plan_checks import check_plan

        checked = check_plan(found, trials=trials, seed=seed)
    if plot is not None:
        from jaxsel.reports.plan_picture import write_plan

        write_plan(found, plot)
    if save is not None:
        from jaxsel.repetitions import save as save_law

        save_law(found.chosen.law, save)
    return checked


def _say(found: "Plan", checked: "PlanCheck | None") -> None:
    for sentence in found.sentences():
        say(sentence)
    columns = found.columns()
    print_table("What meets the wishes, best first", columns, found.rows(found.choices))
    print_table("What else could be had", columns, found.rows(found.alternatives))
    if checked is not None:
        say(checked.sentence())
