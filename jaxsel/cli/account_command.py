"""jaxsel account: what tuning costs in privacy."""

import math
from typing import Annotated

import typer

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.base_text import FORMS, parse_base
from jaxsel.cli.arguments import JsonOption, UnusedSeedOption, bad_input_exits
from jaxsel.cli.output import print_json, print_table, rounded_up, say
from jaxsel.families.tuning.accountant import account

_BASES = "\n\n".join(f"  {form}: {meaning}." for form, meaning in FORMS.items())
HELP = f"""What does tuning cost? The best proven (epsilon, delta) of the best of K runs.

You train K models, each with differential privacy and with candidates drawn at random,
and release the best one. Say what one run is (--base), how K is drawn (--repetitions) and
the delta you promise (--delta):

jaxsel account --delta 1e-6 --repetitions geometric:mean=100
--base dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60

Prints the smallest epsilon that a known theorem proves, which theorem it is, what one
run alone would cost, and the runners-up. The guarantee covers the released run and
nothing else: K, the other runs and their scores stay secret. The score of a run must be
part of what that run's guarantee covers, or be computed from public data.

--base is one of:

{_BASES}

--repetitions is one of `jaxsel list repetitions`, e.g. geometric:mean=100, poisson:mean=20,
tnb:eta=0.5,mean=50, binomial:count=30,mean=20, beta_binomial:count=300,gamma=1. A fixed
number of runs is point_mass:count=10, and costs far more."""


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
    del seed
    with bad_input_exits():
        guarantee, law = parse_base(base), laws.parse(repetitions)
        found = account(guarantee, law, delta)
    if json:
        print_json(
            {
                "base": guarantee.name,
                "repetitions": laws.describe(law),
                "mean_repetitions": law.mean,
                "probability_of_no_run": law.probability_zero,
                "delta": delta,
                "epsilon": found.best.epsilon,
                "theorem": found.best.theorem,
                "single_run_epsilon": found.single,
                "attained_epsilon": found.attained,
                "bounds": found.bounds,
            }
        )
        return
    best = found.best
    if math.isfinite(best.epsilon):
        say(
            f"The best of K runs is ({rounded_up(best.epsilon):g}, {delta:g})-"
            f"differentially private, by {best.theorem}: {best.statement}."
        )
    else:
        say(
            f"No known theorem bounds epsilon at delta = {delta:g} for this base and K."
        )
    single = rounded_up(found.single)
    say(f"One run without tuning: ({single:g}, {delta:g}). E[K] = {law.mean:.6g}.")
    if law.probability_zero > 0.0:
        say(f"With probability {law.probability_zero:.3g} nothing is run or released.")
    rows = [[bound.epsilon, bound.theorem, bound.statement] for bound in found.bounds]
    print_table("Every bound that applies", ["epsilon", "theorem", "by"], rows)
    if math.isfinite(found.attained):
        low = math.floor(found.attained * 1e4) / 1e4
        say(
            f"Some base with this guarantee and some ranking of its runs cost {low:g} "
            "exactly: no bound that covers them all is smaller."
        )
    say("Keep K, the other runs and their scores secret: no bound covers them.")


account_command.__doc__ = HELP
