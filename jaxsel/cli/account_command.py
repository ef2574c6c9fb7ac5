"""jaxsel account: what tuning costs in privacy."""

import math
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from jaxsel.cli.arguments import JsonOption, UnusedSeedOption, bad_input_exits
from jaxsel.cli.output import print_json, print_table, say

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
be part of what that run's guarantee covers, or be computed from public data.

--base is one of:

{bases}

--repetitions is one of `jaxsel list repetitions`, e.g. geometric:mean=100, poisson:mean=20,
tnb:eta=0.5,mean=50, binomial:count=30,mean=20, beta_binomial:count=300,gamma=1. A fixed
number of runs is point_mass:count=10, and costs far more."""


class AccountCommand(TyperCommand):
    """Lists the forms of --base in its help, which alone needs to know them."""

    def get_help(self, ctx: Any) -> str:
        """The help text."""
        from jaxsel.accounting.single_run.base_text import FORMS

        forms = "\n\n".join(f"  {form}: {meaning}." for form, meaning in FORMS.items())
        self.help = HELP.format(bases=forms)
        return super().get_help(ctx)


def account_command(
    base: Annotated[
        str, typer.Option("--base", metavar="TEXT", help="One run; forms above.")
    ],
    repetitions: Annotated[
        str, typer.Option("--repetitions", metavar="TEXT", help="How K is drawn.")
    ],
    delta: Annotated[
        float, typer.Option("--delta", help="In [0, 1); 0 asks for pure privacy.")
    ] = 1e-6,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """What does tuning cost? The best proven (epsilon, delta) of the best of K runs."""
    del seed
    from jaxsel.public import account
    from jaxsel.repetitions import describe

    with bad_input_exits():
        found = account(base, repetitions, delta)
    proved = math.isfinite(found.best.epsilon)
    if json:
        print_json(
            {
                "base": found.base,
                "repetitions": describe(found.law),
                "mean_repetitions": found.law.mean,
                "probability_of_no_run": found.law.probability_zero,
                "delta": delta,
                "epsilon": found.best.epsilon,
                "theorem": found.best.theorem,
                "single_run_epsilon": found.single,
                "attained_epsilon": found.attained,
                "needed": found.needed,
                "bounds": found.bounds,
            }
        )
    else:
        for sentence in found.sentences():
            say(sentence)
        if proved:
            columns = ["epsilon", "theorem", "by"]
            print_table("Every bound that applies", columns, found.bounds)
    if not proved:
        raise typer.Exit(1)
