"""jaxsel account: what tuning costs in privacy."""

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits
from jaxsel.cli.options import Command, as_command
from jaxsel.cli.output import print_cost, say
from jaxsel.cli.search_options import Accounted, one_search
from jaxsel.host.errors import InputError
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note

_HELP = """What does tuning cost? The best proven (epsilon, delta) of the best of K runs.

You train K models, each with differential privacy and with candidates drawn at random,
and release the best one. Say what one run is (--base), how K is drawn (--repetitions) and
the delta you promise (--delta):

jaxsel account --delta 1e-6 --repetitions geometric:mean=100
--base dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60

Prints the smallest epsilon that a known theorem proves, which theorem it is, what one
run alone would cost, and the runners-up. Exit status 1 if nothing is proved; then it says
what is needed. The guarantee covers the released run and nothing else: K, the other runs
and their scores stay secret (unless the theorem is "composition"). The score of a run must
be part of what that run's guarantee covers, or be computed from public data; or it is the
number of validation examples that the run gets right with Gaussian noise, and --score-noise
says how much: then the account covers those examples, too.

--epsilon asks the other way round: the smallest delta that is proved at that epsilon, of
one search or of several.

Several searches on the same data: --times 16 for equal ones, --search FILE.toml (repeated,
or one file with tables [[search]] of base, repetitions and times, and [[beside]] of base
and times) for others, --beside BASE for anything else that is released. With these lines
in later.toml, --search later.toml adds three searches:

\b
[[search]]
base = "gaussian:noise_multiplier=4"
repetitions = "geometric:mean=10"
times = 3

--drawn says how candidates are drawn, and is one of:

{drawn}

Of the last two, all runs are released with their scores, and there is no --repetitions; a grid
is set beside a random search, by default a geometric one with as many runs on average.

--base is one of:

{bases}

--repetitions is one of `jaxsel list repetitions`, e.g. geometric:mean=100, poisson:mean=20,
tnb:eta=0.5,mean=50, binomial:count=30,mean=20, beta_binomial:count=300,gamma=1. A fixed
number of runs is point_mass:count=10, and costs far more."""


class AccountCommand(Command):
    """Computes the help text, which lists forms of --base and --drawn, only when it is shown."""

    def get_help(self, ctx: Any) -> str:
        """The help text."""
        from jaxsel.accounting.single_run.base_text import FORMS
        from jaxsel.tuning.drawn import WAYS, written

        forms = "\n\n".join(f"  {form}: {meaning}." for form, meaning in FORMS.items())
        ways = "\n\n".join(f"  {written(way)}: {each.meaning}." for way, each in WAYS.items())
        self.help = _HELP.format(bases=forms, drawn=ways)
        return super().get_help(ctx)


@contextlib.contextmanager
def _saying_the_default(default: bool) -> Iterator[None]:
    """Adds below the answer that its delta is the default, if it is, proved or not."""
    proved = True
    try:
        yield
    except typer.Exit:
        proved = False
    if default:
        say(note())
    if not proved:
        raise typer.Exit(1)


def _answer_grid(asked: Accounted, n: int, delta: float, json: bool) -> None:
    from jaxsel.cli.composition_answer import answer_grid

    if asked.is_several:
        raise InputError("--drawn grid goes with --base and --repetitions alone")
    answer_grid(asked.base, asked.repetitions, n, delta, json)


@as_command(former={"--grid": lambda n: ("--drawn", f"grid:n={n}")})
def account_command(
    asked: Accounted = Accounted(),
    delta: Annotated[
        float | None,
        typer.Option("--delta", help=f"In [0, 1); 0 asks for pure privacy.  [default: {DELTA:g}]"),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Asks for delta there, instead.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what each other bound would need.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """What does tuning cost? The best proven (epsilon, delta) of the best of K runs."""
    with bad_input_exits():
        from jaxsel.tuning.drawn import GRID, read_drawn

        if epsilon is not None and delta is not None:
            raise InputError("give --delta or --epsilon, not both")
        drawn = read_drawn(asked.drawn)
        runs = drawn.released_runs
        several = asked.is_several or runs is not None
        if everything and several:
            raise InputError(
                "--all is for one search: not with --times, --search, --beside, or a --drawn whose "
                "runs are all released"
            )
        if asked.score_noise is not None and (epsilon is not None or several):
            raise InputError(
                "--score-noise is for one search at one delta: not with --epsilon, --times, "
                "--search, --beside, or a --drawn whose runs are all released"
            )
        if drawn.way == GRID and epsilon is not None:
            raise InputError("--epsilon does not go with --drawn grid; give --delta")
        with _saying_the_default(delta is None and epsilon is None and not json):
            if drawn.way == GRID and runs is not None:
                _answer_grid(asked, runs, DELTA if delta is None else delta, json)
            elif several:
                from jaxsel.cli.composition_answer import answer_composition, gather

                answer_composition(gather(asked), delta, epsilon, json)
            else:
                from jaxsel.questions.released import account

                one = one_search("account", asked.base, asked.repetitions)
                with spinner(f"looking for the least {'epsilon' if epsilon is None else 'delta'}"):
                    found = account(*one, delta, epsilon=epsilon, score_noise=asked.score_noise)
                print_cost(found, json, found.others() if everything else None)
