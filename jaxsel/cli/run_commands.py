"""jaxsel law and jaxsel simulate: a mechanism's output law and its tallies."""

from jaxsel.cli.arguments import (
    Effort,
    JsonOption,
    MechanismArgument,
    SettingsArgument,
    UnusedSeedOption,
    bad_input_exits,
    read_settings,
    read_trials,
    records_of_options,
)
from jaxsel.cli.output import print_json, print_table, say
from jaxsel.cli.scaling import Scaling, say_kept, scaled
from jaxsel.host.errors import check_interval
from jaxsel.kernel.compiled import compilation_cache


def law_command(
    mechanism: MechanismArgument,
    settings: SettingsArgument = None,
    seed: UnusedSeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Print the exact output law, where one is known.

    \b
    jaxsel law noisy_max scores=3,2,1 epsilon=1
    jaxsel law private_tuning repetitions=poisson:mean=5
    jaxsel law private_tuning repetitions=geometric:mean=10 --json
    """
    del seed
    from jaxsel.questions import by_name

    with bad_input_exits():
        built = by_name.mechanism(mechanism, **read_settings(settings))
        law = by_name.law(built)
    pairs = list(zip(law.labels, law.probabilities.tolist(), strict=True))
    if json:
        print_json({"mechanism": built.mechanism.name, "law": dict(pairs)})
    else:
        print_table(built.mechanism.name, ["outcome", "probability"], pairs)


@records_of_options
def simulate_command(
    mechanism: MechanismArgument,
    settings: SettingsArgument = None,
    effort: Effort = Effort(),
    scaling: Scaling = Scaling(),
    json: JsonOption = False,
) -> None:
    """Simulate a mechanism.

    \b
    jaxsel simulate noisy_max scores=3,2,1 epsilon=1
    jaxsel simulate private_tuning repetitions=geometric:mean=10 --trials 1e5
    jaxsel simulate noisy_max noise=laplace --trials 1e7 --record run.nc

    Prints how often each outcome happened, with exact (Clopper-Pearson) intervals, and
    its exact probability where known. With --shard it keeps a share of the trials for
    `jaxsel merge`; docs/scaling.md says more.
    """
    from jaxsel.catalogue import find_mechanism
    from jaxsel.host.intervals import clopper_pearson
    from jaxsel.kernel import engine

    trials, confidence, seed = effort
    record = scaling.record if scaling.shard is None else None
    with bad_input_exits():
        check_interval("confidence", confidence, 0, 1)
        number = read_trials(trials)
        compilation_cache()
        options = {
            "mechanism": mechanism,
            "settings": settings,
            "confidence": confidence,
            "seed": seed,
        }
        with scaled(scaling, "simulate", options, trials) as role:
            built = find_mechanism(mechanism).build(read_settings(settings))
            tallies = engine.simulate(built, trials=number, seed=seed, record=record)
        if role.part is not None:
            say_kept(role.part, json)
            return
        if not role.prints:
            return
        counts = tallies.values[0]
        low, high = clopper_pearson(counts, number, confidence)
        law = built.mechanism.known_law(built.data, built.params)
        exact = None if law is None else law.probabilities
    rows = [
        {
            "outcome": label,
            "count": int(counts[i]),
            "frequency": counts[i] / number,
            "low": low[i],
            "high": high[i],
            "exact": None if exact is None else exact[i],
        }
        for i, label in enumerate(tallies.labels)
    ]
    if json:
        print_json(
            {
                "mechanism": built.mechanism.name,
                "trials": number,
                "seed": seed,
                "confidence": confidence,
                "seconds": tallies.seconds,
                "outcomes": rows,
            }
        )
        return
    columns = ["outcome", "count", "frequency", "low", "high", "exact"]
    name = built.mechanism.name
    title = f"{name}: {number} trials, seed {seed}, {confidence:g} intervals"
    print_table(title, columns, [[row[c] for c in columns] for row in rows])
    say(f"{tallies.seconds:.3g} s, {number / max(tallies.seconds, 1e-9):.3g} trials/s")
