"""jaxsel plan: what to run for a privacy budget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jaxsel.cli.arguments import (
    JsonOption,
    bad_input_exits,
    complete_mechanisms,
    read_settings,
    read_trials,
)
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.cli.search_options import (
    NoneOption,
    RankOfOption,
    RankOption,
    Runs95Option,
    RunsOption,
    SearchDeltaOption,
)
from jaxsel.host.errors import InputError, check_positive
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note

if TYPE_CHECKING:
    from jaxsel.families.tuning.planning.planned import Plan
    from jaxsel.questions.plan_checks import PlanCheck

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
more. Keep K, the other runs and their scores secret.

jaxsel plan --mechanism stable_top_k --epsilon 3 --delta 1e-6 --releases 100

With --mechanism, a name of jaxsel list mechanisms, the noise is found with which so many
releases of it keep the budget: its epsilon, rho or noise scale, the theorem, the neighbours
that it is for, and the commands that simulate and audit one release."""

_Number = float | None


def plan_command(
    base: Annotated[
        str | None, typer.Option("--base", metavar="TEXT", help="One run, its noise given or not.")
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="NAME",
            help="In place of --base: what is released.",
            autocompletion=complete_mechanisms,
        ),
    ] = None,
    releases: Annotated[
        int | None, typer.Option("--releases", help="Of --mechanism; 1 by default.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of --mechanism; repeatable."),
    ] = None,
    epsilon: Annotated[_Number, typer.Option("--epsilon", help="Of the search.")] = None,
    delta: SearchDeltaOption = None,
    runs: RunsOption = None,
    runs_95: Runs95Option = None,
    good: Annotated[
        _Number, typer.Option("--good", help="Share of the candidates that is good, e.g. 0.05.")
    ] = None,
    chance: Annotated[
        _Number, typer.Option("--chance", help="To hit a good one, at least.")
    ] = None,
    rank: RankOption = None,
    rank_of: RankOfOption = None,
    none: NoneOption = None,
    optimal: Annotated[
        bool, typer.Option("--optimal", help="Try the law of K that costs least, too: 10 s longer.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Simulate the search, and audit it.")
    ] = False,
    trials: Annotated[str, typer.Option("--trials", help="Of --check.")] = "1e5",
    seed: Annotated[int, typer.Option("--seed", help="Of --check.")] = 0,
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
    compute: Annotated[
        _Number,
        typer.Option(
            "--compute", help="What all runs may cost on average, in any unit: hours, say."
        ),
    ] = None,
    price: Annotated[
        float, typer.Option("--price", help="Of one run, in the unit of --compute.")
    ] = 1.0,
    json: JsonOption = False,
) -> None:
    """What can I run for my privacy budget? Noise, law of K, how good the winner is."""
    if base is None:
        search = {
            "--runs": runs,
            "--runs-95": runs_95,
            "--good": good,
            "--chance": chance,
            "--rank": rank,
            "--rank-of": rank_of,
            "--none": none,
            "--plot": plot,
            "--save": save,
            "--compute": compute,
            "--check": check or None,
            "--optimal": optimal or None,
        }
        given = [name for name, value in search.items() if value is not None]
        _plan_releases(mechanism, epsilon, delta, releases, set_, given, json)
        return
    from jaxsel.families.tuning.planning.planned import plan

    checked, chosen = None, DELTA if delta is None else delta
    with bad_input_exits():
        for name, value in (("--mechanism", mechanism), ("--releases", releases), ("--set", set_)):
            if value is not None:
                raise InputError(f"{name} is for a plan without --base; give one of both")
        runs = _affordable_runs(runs, compute, price)
        with spinner("looking for what the budget buys"):
            found = plan(
                base,
                delta=chosen,
                epsilon=epsilon,
                runs=runs,
                runs_95=runs_95,
                rank=rank,
                rank_of=rank_of,
                good=good,
                chance=chance,
                none=none,
                optimal=optimal,
            )
        if check:
            from jaxsel.questions.plan_checks import check_plan

            checked = check_plan(found, trials=read_trials(trials), seed=seed)
        if plot is not None:
            _plot(found, plot)
        if save is not None:
            from jaxsel.repetitions import save as save_law

            save_law(found.chosen.law, save)
    if json:
        document = found.as_record()
        if compute is not None:
            document["compute"] = price * found.chosen.law.mean
        print_json(document | ({"check": checked} if checked else {}))
    else:
        _say(found, checked)
        if compute is not None:
            say(
                f"Compute: {price * found.chosen.law.mean:.4g} of {compute:g} on average, "
                f"at {price:g} a run."
            )
        if save is not None:
            say(f"The law of K is kept: --repetitions file:{save} reads it.")
        if delta is None:
            say(note())
    if checked is not None and not checked.passed:
        raise typer.Exit(1)


def _affordable_runs(runs: float | None, compute: float | None, price: float) -> float | None:
    """E[K] at most: what is asked for, and what the compute pays for."""
    check_positive("price", price)
    if compute is None:
        return runs
    paid = check_positive("compute", compute) / price
    return paid if runs is None else min(runs, paid)


def _plan_releases(
    mechanism: str | None,
    epsilon: float | None,
    delta: float | None,
    releases: int | None,
    settings: list[str] | None,
    of_a_search: list[str],
    json: bool,
) -> None:
    from jaxsel.questions.plan_releases import plan_releases

    with bad_input_exits():
        if mechanism is None:
            raise InputError("nothing says what is run; give --base for a search, or --mechanism")
        if of_a_search:
            raise InputError(f"{of_a_search[0]} is for a search: a plan with --mechanism has none")
        if epsilon is None:
            raise InputError("--mechanism needs --epsilon: the budget of all releases")
        found = plan_releases(
            mechanism,
            epsilon=epsilon,
            delta=DELTA if delta is None else delta,
            releases=1 if releases is None else releases,
            settings=read_settings(settings),
        )
    if json:
        print_json(found.as_record())
        return
    for sentence in found.sentences():
        say(sentence)
    if delta is None and found.delta > 0.0:
        say(note())


def _plot(found: "Plan", path: Path) -> None:
    from jaxsel.families.tuning.planning.frontier import frontiers, limit
    from jaxsel.families.tuning.planning.planned import single_run
    from jaxsel.pictures.plan import Planned, highest_epsilon, write

    delta, expected = found.budget.delta, found.chosen.utility
    planned = Planned(
        found.chosen.base,
        delta,
        found.epsilon,
        expected.expected_quantile,
        single_run(found).epsilon(delta),
        found.budget.wishes.good,
        1.0 - expected.hit,
    )
    write(planned, frontiers(found), path, limit(found, highest_epsilon(planned)))


def _say(found: "Plan", checked: "PlanCheck | None") -> None:
    from jaxsel.families.tuning.planning.planned import COLUMNS, row

    for sentence in found.sentences():
        say(sentence)
    print_table("What meets the wishes, best first", COLUMNS, [*map(row, found.choices)])
    print_table("What else could be had", COLUMNS, [*map(row, found.alternatives)])
    if checked is not None:
        say(
            f"Simulated: of {checked.trials} searches {checked.hits:.4g} hit the best "
            f"{checked.good:g} (exact {checked.exact:.4g}). Audited: epsilon is at least "
            f"{checked.audited:.4g}, and {checked.epsilon:.4g} is proved. "
            + ("Both are as they should be." if checked.passed else "THAT IS WRONG.")
        )
