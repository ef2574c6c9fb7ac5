"""``tune``: a private hyperparameter search of the CNN, from images to the release."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel.data.images import load_images
from jaxsel.host.errors import check_choice
from jaxsel.host.progress import progress_bar
from jaxsel.language.printing import Summary, plain, printed, rounded_up
from jaxsel.repetitions import Repetitions, as_law, describe
from jaxsel.training import defaults, draws
from jaxsel.training.checkpoints import save_release, stored_seed
from jaxsel.training.network import STRIDES, network
from jaxsel.training.plan import SearchPlan, plan_search, read_numbers, read_rates, run_base
from jaxsel.training.search import Winner, correct_on_test, search


@printed
class Tuned(NamedTuple):
    """The release of a private hyperparameter search, and its guarantee.

    Attributes:
      data: name of the image set.
      plan: the plan of the search.
      winner: the release; its ``runs`` must stay secret.
      correct: number of test images that the winner labels correctly; test images are
        assumed to be public.
      tested: number of test images.
    """

    data: str
    plan: SearchPlan
    winner: Winner
    correct: int
    tested: int

    def sentences(self) -> tuple[str, ...]:
        """The winner, its accuracy, the guarantee, and the epsilon of a single run."""
        plan, winner = self.plan, self.winner
        proved = plan.guarantee
        told = (
            f"The release is ({rounded_up(proved.epsilon):g}, {proved.delta:g})-differentially "
            f"private for each training image, by {proved.theorem}: {proved.statement}.",
            f"One run without a search: ({rounded_up(proved.single_epsilon):g}, {proved.delta:g}).",
        )
        if winner.candidate is None:
            return "K was 0: nothing was trained, and nothing is released.", *told
        chosen, size = winner.candidate, plan.validation_size
        return (
            f"Winner: learning rate {chosen.learning_rate:.4g}, noise multiplier "
            f"{chosen.noise_multiplier:g}, clipping norm {chosen.clip_norm:g}, batch size "
            f"{chosen.batch_size:g}, {chosen.steps} steps.",
            f"Accuracy: {winner.score / size:.4f} on the {size} validation images, with "
            f"noise of {plan.score_noise / size:.2g} (private); "
            f"{self.correct / self.tested:.4f} on the {self.tested} test "
            "images (taken to be public).",
            *told,
        )

    def summary(self) -> Summary:
        """The sentences; never the other runs."""
        return Summary("\n".join(self.sentences()))

    def as_record(self) -> dict[str, Any]:
        """The release of the search and its guarantee, by name."""
        plan, winner = self.plan, self.winner
        proved, base = plan.guarantee, run_base(plan)
        return {
            "data": self.data,
            "base": None if base is None else base.name,
            "repetitions": describe(plan.repetitions),
            "candidates": len(plan.candidates),
            "winner": winner.candidate,
            "noisy_validation_accuracy": winner.score / plan.validation_size,
            "validation_size": plan.validation_size,
            "score_noise": plan.score_noise,
            "test_accuracy": self.correct / self.tested,
            "epsilon": proved.epsilon,
            "delta": proved.delta,
            "theorem": proved.theorem,
            "statement": proved.statement,
            "single_run_epsilon": proved.single_epsilon,
        }

    def save(self, path: str | Path) -> None:
        """Saves the winner's parameters to a new .npz file, if a network was trained."""
        if self.winner.params is not None:
            np.savez(path, **_named(self.winner.params))  # type: ignore[arg-type]


def _named(params: Any) -> dict[str, np.ndarray]:
    """Parameters by name, such as Conv_0/kernel."""
    return {
        f"{layer}/{part}": np.asarray(value)
        for layer, parts in params.items()
        for part, value in parts.items()
    }


def tune(
    data: str = defaults.DATA,
    *,
    data_folder: str | Path | None = None,
    repetitions: Repetitions | str = defaults.REPETITIONS,
    learning_rates: str = defaults.LEARNING_RATES,
    noise_multipliers: str = defaults.NOISE_MULTIPLIERS,
    clip_norms: str = defaults.CLIP_NORMS,
    batch_sizes: str = defaults.BATCH_SIZES,
    epochs: float = defaults.EPOCHS,
    delta: float = defaults.DELTA,
    strides: str = "strided",
    together: int = 1,
    folder: str | Path | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> Tuned:
    """Searches hyperparameters privately: trains K models, releases the best one.

    Args:
      data: "digits", "mnist" or "fashion_mnist".
      data_folder: of the IDX files; see docs/training.md.
      repetitions: law of K, or its text.
      learning_rates: "low:high:count" or a list, as text.
      noise_multipliers, clip_norms, batch_sizes: lists of numbers above 0, as text; each
        run draws from the grid of these and the learning rates.
      epochs: of the first candidate.
      delta: of the guarantee, in (0, 1).
      strides: "strided", or "dense", which takes nine times as long.
      together: number of runs trained at once.
      folder: where to save, so that the same call resumes after a kill; it contains
        secrets.
      seed: whoever knows it has no guarantee; by default the operating system draws it.
      progress: as for ``jaxsel.simulate``.

    Raises:
      InputError: for bad input, or a folder that others can read or that holds another
        search.
    """
    check_choice("strides", strides, STRIDES)
    if seed is not None:
        draws.check_seed(seed)
    kept = None if folder is None else Path(folder)
    images = load_images(data, None if data_folder is None else Path(data_folder))
    model = network(strides, images.classes)
    plan = plan_search(
        examples=len(images.labels),
        rates=read_rates(learning_rates),
        noise_multipliers=read_numbers("noise-multipliers", noise_multipliers),
        clip_norms=read_numbers("clip-norms", clip_norms),
        batch_sizes=read_numbers("batch-sizes", batch_sizes),
        epochs=epochs,
        repetitions=as_law(repetitions),
        delta=delta,
    )
    if seed is None:
        seed = draws.fresh_seed() if kept is None else stored_seed(kept)
    (runs,) = draws.draw_secrets(plan, [seed])
    total = sum(plan.candidates[choice].steps for choice in runs.choices)
    with progress_bar(total, 0, progress, unit="training steps") as advance:
        winner = search(
            plan, images, model, seed=seed, together=together, folder=kept, progress=advance
        )
    correct = correct_on_test(winner, images, model)
    found = Tuned(data, plan, winner, correct, len(images.test_labels))
    if kept is not None:
        save_release(kept, plain(found.as_record()))
    return found
