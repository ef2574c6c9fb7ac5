"""jaxsel audit: the privacy loss of a mechanism of the catalogue, from below."""

from typing import Annotated

import typer

from jaxsel.cli.arguments import (
    Effort,
    JsonOption,
    MechanismArgument,
    SettingsArgument,
    bad_input_exits,
    read_settings,
    read_trials,
    records_of_options,
)
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.cli.scaling import Scaling, say_kept, scaled
from jaxsel.host.errors import check_interval
from jaxsel.kernel.compiled import compilation_cache


@records_of_options
def audit_command(
    mechanism: MechanismArgument,
    settings: SettingsArgument = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="Name of one pair; by default all are audited.")
    ] = None,
    delta: Annotated[float, typer.Option("--delta", help="Of (epsilon, delta)-DP.")] = 0.0,
    effort: Effort = Effort(),
    scaling: Scaling = Scaling(),
    json: JsonOption = False,
) -> None:
    """Is a mechanism of the catalogue private? Its privacy loss from below, by simulation.

    \b
    jaxsel audit noisy_max epsilon=2
    jaxsel audit dp_sgd --delta 1e-2 --trials 1e5

    Simulates both sides of each constructed neighbouring pair. Prints the audited lower
    bound on epsilon (of all pairs together at the stated confidence), the exact epsilon
    on the pair, and the claim. For a function of your own: `jaxsel audit-function`.

    Exit status: 0 not refuted, 1 refuted, 2 bad usage, 3 cannot be done, 4 not supported.
    """
    from jaxsel.auditing.audit import audit
    from jaxsel.catalogue import find_mechanism

    trials, confidence, seed = effort
    with bad_input_exits():
        check_interval("confidence", confidence, 0, 1)
        number = read_trials(trials)
        compilation_cache()
        options = {
            "mechanism": mechanism,
            "settings": settings,
            "pair": pair,
            "delta": delta,
            "confidence": confidence,
            "seed": seed,
        }
        with scaled(scaling, "audit", options, trials) as role:
            built = find_mechanism(mechanism).build(read_settings(settings))
            pairs = built.pairs() if pair is None else (built.pair(pair),)
            # The error probability is shared by the pairs.
            each_confidence = 1.0 - (1.0 - confidence) / len(pairs)
            audits = [
                audit(
                    built, each, trials=number, delta=delta, seed=seed, confidence=each_confidence
                )
                for each in pairs
            ]
    if role.part is not None:
        say_kept(role.part, json)
        return
    rows = []
    for each, found in zip(pairs, audits, strict=True):
        claim, epsilon = found.guarantee or (None, None)
        rows.append(
            {
                "pair": each.name,
                "relation": each.relation,
                "why": each.why,
                "lower_bound": found.bound.lower,
                "exact": found.exact,
                "claim": epsilon,
                "claim_id": claim,
                "event": list(found.event_labels),
                "direction": found.bound.direction,
                "refuted": found.refuted,
            }
        )
    refuted = any(row["refuted"] for row in rows)
    if not role.prints:
        raise typer.Exit(1 if refuted else 0)
    if json:
        print_json(
            {
                "mechanism": built.mechanism.name,
                "trials": number,
                "delta": delta,
                "confidence": confidence,
                "seed": seed,
                "pairs": rows,
                "refuted": refuted,
            }
        )
    else:
        columns = ["pair", "relation", "lower_bound", "exact", "claim", "claim_id", "event"]
        name = built.mechanism.name
        title = f"{name}: epsilon at delta = {delta:g}, {number} trials a side"
        table = []
        for row in rows:
            shown = dict(row, relation=row["relation"].value, event=" or ".join(row["event"]))
            table.append([shown[c] for c in columns])
        print_table(title, columns, table)
        say(f"lower_bound: audited, confidence {confidence:g} for all pairs together.")
        if refuted:
            say("REFUTED: a lower bound exceeds the claim.")
    raise typer.Exit(1 if refuted else 0)
