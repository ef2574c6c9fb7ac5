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
    whole_option,
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
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import PICTURES, check_output
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note

if TYPE_CHECKING:
    from jaxsel.questions.plan_checks import PlanCheck
    from jaxsel.tuning.planning.planned import Plan

HELP = """What can I run for my privacy budget? Noise, law of K, and how good the winner is.

jaxsel plan --epsilon 3 --delta 1e-6 --runs 50 --good 0.05
--base dp_sgd:dataset_size=60000,batch_size=600,epochs=60

Of three things - epsilon, the noise of one run, how many runs - give two; the third is
found. Above, --base leaves its noise_multiplier out, and the least one is found. With the
noise in --base and --runs, the least epsilon is found; with the noise and --epsilon (and
--runs or not), the law of K with the best winner. --base takes the forms of jaxsel account.

In place of --epsilon, say what an attacker may gain who guesses whether a record is in:
--advantage 0.1, the largest true less false positive rate of any attack, or
--true-positive-rate 0.1 --at-false-positive-rate 0.01. That takes one or two minutes.

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

# What is run, and what it may cost.
_Base = Annotated[
    str | None, typer.Option("--base", metavar="TEXT", help="One run, its noise given or not.")
]
_Epsilon = Annotated[_Number, typer.Option("--epsilon", help="Of the search.")]
_Advantage = Annotated[
    _Number,
    typer.Option(
        "--advantage",
        help="In place of --epsilon: true less false positive rate of any attack, at most.",
    ),
]
_TruePositiveRate = Annotated[
    _Number,
    typer.Option("--true-positive-rate", help="In place of --epsilon: of any attack, at most."),
]
_AtFalsePositiveRate = Annotated[
    _Number,
    typer.Option("--at-false-positive-rate", help="Of an attack with --true-positive-rate."),
]
_Compute = Annotated[
    _Number,
    typer.Option("--compute", help="What all runs may cost on average, in any unit: hours, say."),
]
_Price = Annotated[float, typer.Option("--price", help="Of one run, in the unit of --compute.")]

# The winner, and the law of K.
_Good = Annotated[
    _Number, typer.Option("--good", help="Share of the candidates that is good, e.g. 0.05.")
]
_Chance = Annotated[_Number, typer.Option("--chance", help="To hit a good one, at least.")]
_Optimal = Annotated[
    bool, typer.Option("--optimal", help="Try the law of K that costs least, too: 10 s longer.")
]

# What is done with the plan.
_Check = Annotated[bool, typer.Option("--check", help="Simulate the search, and audit it.")]
_Trials = Annotated[str, typer.Option("--trials", help="Of --check.")]
_CheckSeed = Annotated[int, whole_option("--seed", "Of --check.")]
_Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Epsilon against the winner's rank.")
]
_Save = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        help="The law of K to a file, which --repetitions file:FILE reads.",
    ),
]

# In place of a search: releases of a mechanism.
_Mechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="In place of --base: what is released.",
        autocompletion=complete_mechanisms,
    ),
]
_Releases = Annotated[int | None, whole_option("--releases", "Of --mechanism; 1 by default.")]
_Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of --mechanism; repeatable."),
]


def plan_command(
    base: _Base = None,
    mechanism: _Mechanism = None,
    releases: _Releases = None,
    set_: _Settings = None,
    epsilon: _Epsilon = None,
    advantage: _Advantage = None,
    true_positive_rate: _TruePositiveRate = None,
    at_false_positive_rate: _AtFalsePositiveRate = None,
    delta: SearchDeltaOption = None,
    runs: RunsOption = None,
    runs_95: Runs95Option = None,
    good: _Good = None,
    chance: _Chance = None,
    rank: RankOption = None,
    rank_of: RankOfOption = None,
    none: NoneOption = None,
    optimal: _Optimal = False,
    check: _Check = False,
    trials: _Trials = "1e5",
    seed: _CheckSeed = 0,
    plot: _Plot = None,
    save: _Save = None,
    compute: _Compute = None,
    price: _Price = 1.0,
    json: JsonOption = False,
) -> None:
    """What can I run for my privacy budget? Noise, law of K, how good the winner is."""
    wishes = {
        "advantage": advantage,
        "true_positive_rate": true_positive_rate,
        "false_positive_rate": at_false_positive_rate,
        "runs": runs,
        "runs_95": runs_95,
        "good": good,
        "chance": chance,
        "rank": rank,
        "rank_of": rank_of,
        "none": none,
        "compute": compute,
        "optimal": optimal,
    }
    with bad_input_exits():
        if base is None:
            given = [name for name, wish in wishes.items() if wish not in (None, False)]
            given += [name for name, use in (("plot", plot), ("save", save)) if use is not None]
            given += ["check"] if check else []
            _plan_releases(mechanism, epsilon, delta, releases, set_, given, json)
            return
        for name, value in (("--mechanism", mechanism), ("--releases", releases), ("--set", set_)):
            if value is not None:
                raise InputError(f"{name} is for a plan without --base; give one of both")
        check_output("--plot", plot, PICTURES)
        check_output("--save", save)
        number = read_trials(trials) if check else None
        from jaxsel.questions.plan import plan

        chosen = DELTA if delta is None else delta
        with spinner("looking for what the budget buys"):
            found = plan(base, delta=chosen, epsilon=epsilon, price=price, **wishes)
        checked = _used(found, number, seed, plot, save)
    if json:
        print_json(found.as_record() | ({"check": checked} if checked else {}))
    else:
        _say(found, checked)
        if save is not None:
            say(f"The law of K is kept: --repetitions file:{save} reads it.")
        if delta is None:
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

    if mechanism is None:
        raise InputError("nothing says what is run; give --base for a search, or --mechanism")
    if of_a_search:
        name = of_a_search[0].replace("_", "-")
        option = "at-false-positive-rate" if name == "false-positive-rate" else name
        raise InputError(f"--{option} is for a search: a plan with --mechanism has none")
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


def _say(found: "Plan", checked: "PlanCheck | None") -> None:
    for sentence in found.sentences():
        say(sentence)
    columns = found.columns()
    print_table("What meets the wishes, best first", columns, found.rows(found.choices))
    print_table("What else could be had", columns, found.rows(found.alternatives))
    if checked is not None:
        say(checked.sentence())
