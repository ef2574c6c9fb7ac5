"""jaxsel tune: a private hyperparameter search, from training to guarantee."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits
from jaxsel.cli.output import plain, print_json, print_table, say
from jaxsel.host.errors import InputError, check_choice
from jaxsel.host.progress import progress_bar
from jaxsel.language.default_delta import note
from jaxsel.language.printing import rounded_up
from jaxsel.training import defaults

if TYPE_CHECKING:
    from jaxsel.data.images import ImageSet
    from jaxsel.training.plan import SearchPlan

HELP = """Searches hyperparameters privately: trains K models, releases the best one.

K is drawn from --repetitions, and every run draws its hyperparameters uniformly from the
grid. A fifth of the training images validates; scores are counts of correct labels with
Gaussian noise, so that the guarantee covers every training image, whichever part it is in.
Prints the winner, its accuracy, and the (epsilon, delta) that is proved, with its theorem.

Only the winner leaves the search. --reveal prints all runs: publishing them, or K, breaks
the guarantee. So does a --seed that others know; without one the operating system draws it.

Time and the progress bar tell K to whoever watches them. Compiled programs, which tell
the settings that were tried, are kept only where JAX_COMPILATION_CACHE_DIR says.

The default finishes in a few minutes on two cores, on the digits that come with
scikit-learn. The setting of Papernot & Steinke 2022, Figure 7, is

jaxsel tune --data mnist --batch-sizes 256 --epochs 60 --noise-multipliers 1.1
--repetitions poisson:mean=10 --delta 1e-5

Several noise multipliers or batch sizes need a truncated negative binomial K, such as
geometric:mean=5: then every candidate trains for as long as its privacy allows."""


def _named(params: Any) -> dict[str, np.ndarray]:
    """Parameters by name, such as Conv_0/kernel."""
    return {
        f"{layer}/{part}": np.asarray(value)
        for layer, parts in params.items()
        for part, value in parts.items()
    }


def _say_guarantee(plan: "SearchPlan") -> None:
    found = plan.guarantee
    say(
        f"The release is ({rounded_up(found.epsilon):g}, {found.delta:g})-differentially "
        f"private for each training image, by {found.theorem}: {found.statement}."
    )
    single = rounded_up(found.single_epsilon)
    say(f"One run without a search: ({single:g}, {found.delta:g}).")


def _say_winner(plan: "SearchPlan", images: "ImageSet", winner: Any, correct: int) -> None:
    chosen = winner.candidate
    say(
        f"Winner: learning rate {chosen.learning_rate:.4g}, noise multiplier "
        f"{chosen.noise_multiplier:g}, clipping norm {chosen.clip_norm:g}, batch size "
        f"{chosen.batch_size:g}, {chosen.steps} steps."
    )
    share = winner.score / plan.validation_size
    say(
        f"Accuracy: {share:.4f} on the {plan.validation_size} validation images, with "
        f"noise of {plan.score_noise / plan.validation_size:.2g} (private); "
        f"{correct / len(images.test_labels):.4f} on the {len(images.test_labels)} test "
        "images (taken to be public)."
    )


def _document(
    data: str, plan: "SearchPlan", images: "ImageSet", winner: Any, correct: int
) -> dict[str, Any]:
    """What the search releases, and what is proved of it."""
    from jaxsel import repetitions as laws
    from jaxsel.training.plan import run_base

    found, base = plan.guarantee, run_base(plan)
    return {
        "data": data,
        "base": None if base is None else base.name,
        "repetitions": laws.describe(plan.repetitions),
        "candidates": len(plan.candidates),
        "winner": winner.candidate,
        "noisy_validation_accuracy": winner.score / plan.validation_size,
        "validation_size": plan.validation_size,
        "score_noise": plan.score_noise,
        "test_accuracy": correct / len(images.test_labels),
        "epsilon": found.epsilon,
        "delta": found.delta,
        "theorem": found.theorem,
        "statement": found.statement,
        "single_run_epsilon": found.single_epsilon,
    }


def tune_command(
    data: Annotated[
        str, typer.Option("--data", help="digits, mnist or fashion_mnist.")
    ] = defaults.DATA,
    data_folder: Annotated[
        Path | None, typer.Option("--data-folder", help="Of the IDX files; see docs/training.md.")
    ] = None,
    repetitions: Annotated[
        str, typer.Option("--repetitions", metavar="TEXT", help="How K is drawn.")
    ] = defaults.REPETITIONS,
    rates: Annotated[
        str, typer.Option("--learning-rates", metavar="TEXT", help="low:high:count, or a list.")
    ] = defaults.LEARNING_RATES,
    noise_multipliers: Annotated[
        str, typer.Option("--noise-multipliers", metavar="LIST", help="Above 0.")
    ] = defaults.NOISE_MULTIPLIERS,
    clip_norms: Annotated[
        str, typer.Option("--clip-norms", metavar="LIST", help="In l2.")
    ] = defaults.CLIP_NORMS,
    batch_sizes: Annotated[
        str, typer.Option("--batch-sizes", metavar="LIST", help="Expected sizes.")
    ] = defaults.BATCH_SIZES,
    epochs: Annotated[
        float, typer.Option("--epochs", help="Of the first candidate.")
    ] = defaults.EPOCHS,
    delta: Annotated[
        float | None, typer.Option("--delta", help=f"In (0, 1).  [default: {defaults.DELTA:g}]")
    ] = None,
    strides: Annotated[
        str,
        typer.Option("--strides", help="strided (1, 2, 1, 2, 1) or dense (1): 9 times the cost."),
    ] = "strided",
    together: Annotated[
        int, typer.Option("--together", help="Runs trained side by side; to fill a GPU, not a CPU.")
    ] = 1,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Where to save, so that the same command goes on after a kill; a seed "
            "that was drawn is kept in it. Holds secrets: made for its owner alone, and "
            "refused if it is there and open to others. At the end release.json in it "
            "holds what is released, for jaxsel report.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="A new .npz file for the winner's parameters.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            envvar="JAXSEL_SEED",
            help="Whoever knows it gets no privacy guarantee; the variable, unlike the "
            "option, is not shown to others who list processes.",
        ),
    ] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Print all runs; for debugging only.")
    ] = False,
    json: JsonOption = False,
) -> None:
    from jaxsel import repetitions as laws
    from jaxsel.data.images import load_images
    from jaxsel.training import draws
    from jaxsel.training import search as searching
    from jaxsel.training.checkpoints import kept_seed, save_release
    from jaxsel.training.network import STRIDES, network
    from jaxsel.training.plan import plan_search, read_numbers, read_rates

    with bad_input_exits():
        if save is not None and (save.suffix != ".npz" or save.exists()):
            raise InputError(f"{save} must be a new file ending in .npz")
        check_choice("strides", strides, STRIDES)
        if seed is not None:
            draws.check_seed(seed)
        images = load_images(data, data_folder)
        model = network(strides, images.classes)
        plan = plan_search(
            examples=len(images.labels),
            rates=read_rates(rates),
            noise_multipliers=read_numbers("noise-multipliers", noise_multipliers),
            clip_norms=read_numbers("clip-norms", clip_norms),
            batch_sizes=read_numbers("batch-sizes", batch_sizes),
            epochs=epochs,
            repetitions=laws.parse(repetitions),
            delta=defaults.DELTA if delta is None else delta,
        )
        if seed is not None:
            chosen = seed
        elif folder is not None:
            chosen = kept_seed(folder)
        else:
            chosen = draws.fresh_seed()
        (runs,) = draws.draw_secrets(plan, [chosen])
        total = sum(plan.candidates[choice].steps for choice in runs.choices)
        with progress_bar(total, 0, None, unit="training steps") as advance:
            winner = searching.search(
                plan, images, model, seed=chosen, together=together, folder=folder, progress=advance
            )
        correct = searching.correct_on_test(winner, images, model)
        if save is not None and winner.params is not None:
            np.savez(save, **_named(winner.params))  # type: ignore[arg-type]
        document = _document(data, plan, images, winner, correct)
        if folder is not None:
            save_release(folder, plain(document))
    if json:
        if reveal:
            document["revealed_runs"] = winner.runs
        print_json(document)
    elif winner.candidate is None:
        say("K was 0: nothing was trained, and nothing is released.")
        _say_guarantee(plan)
    else:
        _say_winner(plan, images, winner, correct)
        _say_guarantee(plan)
        if save is not None:
            say(f"Parameters: {save}")
        if reveal:
            rows = [[*run.candidate, run.score] for run in winner.runs]
            columns = [*plan.candidates[0]._fields, "noisy score"]
            print_table(f"All {len(rows)} runs", columns, rows)
    if delta is None and not json:
        say(note(defaults.DELTA))
    if reveal:
        sys.stderr.write(
            "jaxsel: the guarantee covers the winner only: whoever sees K, the other runs "
            "or their scores is not covered by it\n"
        )


tune_command.__doc__ = HELP
