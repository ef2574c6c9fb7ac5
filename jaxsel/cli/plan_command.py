"""jaxsel plan: what to run for a privacy budget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits, read_trials
from jaxsel.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from jaxsel.families.tuning.planning.planned import Plan
    from jaxsel.plan_checks import PlanCheck

HELP = """What can I run for my privacy budget? Noise, law of K, and how good the winner is.

jaxsel plan --epsilon 3 --delta 1e-6 --runs 50 --good 0.05
--base dp_sgd:dataset_size=60000,batch_size=600,epochs=60

Of three things - epsilon, the noise of one run, how many runs - give two; the third is
found. Above, --base leaves its noise_multiplier out, and the least one is found. With the
noise in --base and --runs, the least epsilon is found; with the noise and --epsilon (and
--runs or not), the law of K with the best winner. --base takes the forms of jaxsel account.

Where nothing is said of the winner (--rank, --rank-of, or --good with --chance) it has to
be as good, in expected rank, as that of a geometric K with the runs that are allowed.

Prints the plan, the best law of each family, and what else the budget could have bought:
one run without a search, every run released, fewer runs with less noise, more runs with
more. Keep K, the other runs and their scores secret."""

_Number = float | None


def plan_command(
    base: Annotated[
        str,
        typer.Option("--base", metavar="TEXT", help="One run, its noise given or not."),
    ],
    epsilon: Annotated[
        _Number, typer.Option("--epsilon", help="Of the search.")
    ] = None,
    delta: Annotated[float, typer.Option("--delta", help="Of the search.")] = 1e-6,
    runs: Annotated[
        _Number, typer.Option("--runs", help="Runs on average, at most.")
    ] = None,
    runs_95: Annotated[
        int | None,
        typer.Option("--runs-95", help="Runs that 95 searches of 100 do not exceed."),
    ] = None,
    good: Annotated[
        _Number,
        typer.Option("--good", help="Share of the candidates that is good, e.g. 0.05."),
    ] = None,
    chance: Annotated[
        _Number, typer.Option("--chance", help="To hit a good one, at least.")
    ] = None,
    rank: Annotated[
        _Number,
        typer.Option(
            "--rank", help="Expected rank of the winner at most, 0.1: top 10 %."
        ),
    ] = None,
    rank_of: Annotated[
        str | None,
        typer.Option("--rank-of", metavar="LAW", help="As good as this law of K."),
    ] = None,
    none: Annotated[
        _Number, typer.Option("--none", help="Chance of no release, at most.")
    ] = None,
    optimal: Annotated[
        bool,
        typer.Option(
            "--optimal", help="Try the law of K that costs least, too: 10 s longer."
        ),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the law of K: file:FILE."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Simulate the search, and audit it.")
    ] = False,
    trials: Annotated[str, typer.Option("--trials", help="Of --check.")] = "1e5",
    seed: Annotated[int, typer.Option("--seed", help="Of --check.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Epsilon against the winner's rank."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """What can I run for my privacy budget? Noise, law of K, how good the winner is."""
    from jaxsel.families.tuning.planning.planned import plan

    checked = None
    with bad_input_exits():
        found = plan(
            base, delta=delta, epsilon=epsilon, runs=runs, runs_95=runs_95, rank=rank,
            rank_of=rank_of, good=good, chance=chance, none=none, optimal=optimal,
        )  # fmt: skip
        if save is not None:
            from jaxsel import repetitions

            repetitions.save(found.chosen.law, save)
        if check:
            from jaxsel.plan_checks import check_plan

            checked = check_plan(found, trials=read_trials(trials), seed=seed)
        if plot is not None:
            _plot(found, plot)
    if json:
        document = found.as_record()
        print_json(document | ({"check": checked} if checked else {}))
    else:
        _say(found, checked)
    if checked is not None and not checked.passed:
        raise typer.Exit(1)


def _plot(found: "Plan", path: Path) -> None:
    from jaxsel.families.tuning.accountant import base_epsilon
    from jaxsel.families.tuning.planning.frontier import frontiers
    from jaxsel.families.tuning.planning.planned import single_run
    from jaxsel.pictures.plan import Planned, write

    delta = found.budget.delta
    planned = Planned(
        found.chosen.base, delta, found.epsilon,
        found.chosen.utility.expected_quantile, base_epsilon(single_run(found), delta),
    )  # fmt: skip
    write(planned, frontiers(found), path)


def _say(found: "Plan", checked: "PlanCheck | None") -> None:
    from jaxsel.families.tuning.planning.planned import COLUMNS, row

    for sentence in found.sentences():
        say(sentence)
    print_table(
        "What meets the wishes, best first", COLUMNS, [*map(row, found.choices)]
    )
    print_table("What else could be had", COLUMNS, [*map(row, found.alternatives)])
    if checked is not None:
        say(
            f"Simulated: of {checked.trials} searches {checked.hits:.4g} hit the best "
            f"{checked.good:g} (exact {checked.exact:.4g}). Audited: epsilon is at least "
            f"{checked.audited:.4g}, and {checked.epsilon:.4g} is proved. "
            + ("Both are as they should be." if checked.passed else "THAT IS WRONG.")
        )
