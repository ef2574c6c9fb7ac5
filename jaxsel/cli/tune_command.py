"""jaxsel tune: a private hyperparameter search, from training to guarantee."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from jaxsel.cli.arguments import JsonOption, bad_input_exits, whole_option
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, say
from jaxsel.cli.search_options import DrawnOption
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import check_output
from jaxsel.language.default_delta import note
from jaxsel.training import defaults
from jaxsel.tuning.drawn import INDEPENDENTLY

_HELP = """Searches hyperparameters privately: trains K models, releases the best one.

K is drawn from --repetitions, and every run draws its hyperparameters uniformly from the
grid. A fifth of the training images validates; scores are counts of correct labels with
discrete Gaussian noise, so that the guarantee covers every training image, whichever part it is
in. Prints the winner, its accuracy, and the (epsilon, delta) that is proved, with its theorem.

Only the winner leaves the search (jaxsel.PrivateSearch, which searches your own training, too).
K, the choices and the noise on scores come from the operating system's generator; a --seed is
for simulations, and breaks the guarantee.

Time and the progress bar tell K to whoever watches them. Compiled programs, which tell
the settings that were tried, are kept only where JAX_COMPILATION_CACHE_DIR says.

The default finishes in a few minutes on two cores, on the digits that come with
scikit-learn. The setting of Papernot & Steinke 2022, Figure 7, is

jaxsel tune --data mnist --batch-sizes 256 --epochs 60 --noise-multipliers 1.1
--repetitions poisson:mean=10 --delta 1e-5

Several noise multipliers or batch sizes need a truncated negative binomial K, such as
geometric:mean=5: then every candidate trains for as long as its privacy allows."""


class _Images(NamedTuple):
    """The images, and where their files are."""

    data: Annotated[str, typer.Option("--data", help="digits, mnist or fashion_mnist.")] = (
        defaults.DATA
    )
    data_folder: Annotated[
        Path | None, typer.Option("--data-folder", help="Of the IDX files; see docs/training.md.")
    ] = None


class _Grid(NamedTuple):
    """The options of ``jaxsel.search.tune.Grid``, which a help need not load."""

    learning_rates: Annotated[
        str, typer.Option("--learning-rates", metavar="TEXT", help="low:high:count, or a list.")
    ] = defaults.LEARNING_RATES
    noise_multipliers: Annotated[
        str, typer.Option("--noise-multipliers", metavar="LIST", help="Above 0.")
    ] = defaults.NOISE_MULTIPLIERS
    clip_norms: Annotated[str, typer.Option("--clip-norms", metavar="LIST", help="In l2.")] = (
        defaults.CLIP_NORMS
    )
    batch_sizes: Annotated[
        str, typer.Option("--batch-sizes", metavar="LIST", help="Expected sizes.")
    ] = defaults.BATCH_SIZES


class _Training(NamedTuple):
    """The options of ``jaxsel.search.tune.Training``."""

    epochs: Annotated[float, typer.Option("--epochs", help="Of the first candidate.")] = (
        defaults.EPOCHS
    )
    strides: Annotated[
        str,
        typer.Option("--strides", help="strided (1, 2, 1, 2, 1) or dense (1): 9 times the cost."),
    ] = "strided"
    together: Annotated[
        int, whole_option("--together", "Runs trained side by side; to fill a GPU, not a CPU.")
    ] = 1


class _Kept(NamedTuple):
    """What is kept of the search."""

    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Where to save, so that the same command goes on after a kill. Holds secrets: "
            "made for its owner alone, and refused if it is there and open to others. At the end "
            "release.json in it holds what is released, for jaxsel report.",
        ),
    ] = None
    ledger: Annotated[
        str | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="A file that adds up all private searches of this data set. FILE:budget=3 is the "
            "largest epsilon of all together; FILE:budget=3,chosen=on the way if this search may "
            "depend on what earlier ones released (a new ledger is chosen=beforehand).",
        ),
    ] = None
    save: Annotated[
        Path | None, typer.Option("--save", help="A new .npz file for the winner's parameters.")
    ] = None


@as_command({"--budget": "--ledger.budget"})
def tune_command(
    images: _Images = _Images(),
    repetitions: Annotated[
        str, typer.Option("--repetitions", metavar="TEXT", help="How K is drawn.")
    ] = defaults.REPETITIONS,
    drawn: DrawnOption = INDEPENDENTLY,
    grid: _Grid = _Grid(),
    training: _Training = _Training(),
    delta: Annotated[
        float | None, typer.Option("--delta", help=f"In (0, 1).  [default: {defaults.DELTA:g}]")
    ] = None,
    kept: _Kept = _Kept(),
    seed: Annotated[
        int | None,
        whole_option("--seed", "For simulations: the same search again, without privacy."),
    ] = None,
    json: JsonOption = False,
) -> None:
    from jaxsel.search.tune import tune

    folder, save = kept.folder, kept.save
    with bad_input_exits():
        check_output("--save", save, (".npz",), new=True)
        check_output("--folder", folder, folder=True, makes_folders=True)
        _check_private(folder)
        _check_ledger(kept.ledger, images.data)
        found = tune(
            {"name": images.data, "folder": images.data_folder},
            grid=grid._asdict(),
            training=training._asdict(),
            repetitions=repetitions,
            drawn=drawn,
            delta=defaults.DELTA if delta is None else delta,
            folder=folder,
            ledger=kept.ledger,
            seed=seed,
        )
        if save is not None:
            found.save(save)
    if json:
        print_json(found.as_record())
        return
    for sentence in found.sentences():
        say(sentence)
    if save is not None and found.winner.outcome is not None:
        say(f"Parameters: {save}")
    if delta is None:
        say(note(defaults.DELTA))


tune_command.__doc__ = _HELP


def _check_private(folder: Path | None) -> None:
    """Refuses a folder that others can read or that is in use, before any training."""
    if folder is not None and folder.exists():
        from jaxsel.host import records
        from jaxsel.search.storage import RECORD

        with records.writer(folder / RECORD, private=True):
            pass


def _check_ledger(ledger: str | None, data: str) -> None:
    """Refuses a file that is no ledger of the data set, before any training."""
    from jaxsel.search.declarations import read_ledger

    use = read_ledger(ledger)
    if use is None:
        return
    check_output("--ledger", use.path)
    from jaxsel.search.ledger import read

    try:
        read(use.path, data)
    except InputError as error:
        raise InputError(f"--ledger: {error}") from None
