"""jaxsel account: what tuning costs in privacy."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from jaxsel.cli.arguments import JsonOption, UnusedSeedOption, bad_input_exits, whole_option
from jaxsel.cli.output import print_cost, say
from jaxsel.cli.search_options import RepetitionsOption, ScoreNoiseOption, TimesOption, one_search
from jaxsel.host.errors import InputError
from jaxsel.host.progress import spinner
from jaxsel.language.default_delta import DELTA, note

HELP = """What does tuning cost? The best proven (epsilon, delta) of the best of K runs.

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

--grid 12 sets a fixed grid, every candidate once, beside a random search of the same mean.

--base is one of:

{bases}

--repetitions is one of `jaxsel list repetitions`, e.g. geometric:mean=100, poisson:mean=20,
tnb:eta=0.5,mean=50, binomial:count=30,mean=20, beta_binomial:count=300,gamma=1. A fixed
number of runs is point_mass:count=10, and costs far more."""


class AccountCommand(TyperCommand):
    """Computes the help text, which lists the forms of --base, only when it is shown."""

    def get_help(self, ctx: Any) -> str:
        """The help text."""
        from jaxsel.accounting.single_run.base_text import FORMS

        forms = "\n\n".join(f"  {form}: {meaning}." for form, meaning in FORMS.items())
        self.help = HELP.format(bases=forms)
        return super().get_help(ctx)


def _composed(
    base: str | None,
    repetitions: str | None,
    delta: float | None,
    epsilon: float | None,
    times: int,
    search: list[Path] | None,
    beside: list[str] | None,
    grid: int | None,
    json: bool,
) -> bool:
    """Answers for several releases or for a grid; False if the options ask for neither."""
    if grid is None and times == 1 and not search and not beside:
        return False
    from jaxsel.cli import composition_answer as answers

    if grid is not None:
        if epsilon is not None:
            raise InputError("--epsilon does not go with --grid; give --delta")
        if times != 1 or search or beside:
            raise InputError("--grid goes with --base and --repetitions alone")
        answers.answer_grid(base, repetitions, grid, DELTA if delta is None else delta, json)
    else:
        releases = answers.gather(base, repetitions, times, search, beside)
        answers.answer_composition(releases, delta, epsilon, json)
    return True


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


def account_command(
    base: Annotated[
        str | None, typer.Option("--base", metavar="TEXT", help="One run; forms above.")
    ] = None,
    repetitions: RepetitionsOption = None,
    delta: Annotated[
        float | None,
        typer.Option("--delta", help=f"In [0, 1); 0 asks for pure privacy.  [default: {DELTA:g}]"),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Asks for delta there, instead.")
    ] = None,
    times: TimesOption = 1,
    search: Annotated[
        list[Path] | None,
        typer.Option(
            "--search", metavar="FILE.toml", help="More searches, e.g. later.toml; repeatable."
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", metavar="BASE", help="Released as it is, too; repeatable."),
    ] = None,
    grid: Annotated[
        int | None, whole_option("--grid", "So many candidates once each, compared.")
    ] = None,
    score_noise: ScoreNoiseOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also what each other bound would need.")
    ] = False,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """What does tuning cost? The best proven (epsilon, delta) of the best of K runs."""
    del seed
    with bad_input_exits():
        if epsilon is not None and delta is not None:
            raise InputError("give --delta or --epsilon, not both")
        several = times != 1 or search or beside
        if everything and (several or grid is not None):
            raise InputError(
                "--all is for one search: not with --times, --search, --beside, --grid"
            )
        if score_noise is not None and (epsilon is not None or several or grid):
            raise InputError(
                "--score-noise is for one search at one delta: not with --epsilon, "
                "--times, --search, --beside or --grid"
            )
        with _saying_the_default(delta is None and epsilon is None and not json):
            if _composed(base, repetitions, delta, epsilon, times, search, beside, grid, json):
                return
            from jaxsel.questions.released import account

            asked = one_search("account", base, repetitions)
            with spinner(f"looking for the least {'epsilon' if epsilon is None else 'delta'}"):
                found = account(*asked, delta, epsilon=epsilon, score_noise=score_noise)
            print_cost(found, json, found.others() if everything else None)
