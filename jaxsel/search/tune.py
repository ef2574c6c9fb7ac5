"""``tune``: a private search of the CNN's settings, from images to the release."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.data.images import ImageSet, load_images
from jaxsel.host import records
from jaxsel.host.errors import InputError, check_integer
from jaxsel.host.former_names import former_arguments
from jaxsel.host.progress import progress_bar
from jaxsel.language.domains import choice, parsed, positive, whole
from jaxsel.language.parts import read_parts
from jaxsel.language.printing import Summary, plain, printed, rounded_up
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.reports.reading import RELEASE
from jaxsel.search import scores
from jaxsel.search.declarations import Declared, LedgerUse, read_ledger
from jaxsel.search.private_search import PrivateSearch, Run, Winner
from jaxsel.training import defaults, dp_sgd, runs
from jaxsel.training.extras import nn
from jaxsel.training.network import STRIDES, network
from jaxsel.training.search_plan import (
    Candidate,
    SearchPlan,
    plan_search,
    read_numbers,
    read_rates,
    split,
)
from jaxsel.tuning.drawn import INDEPENDENTLY, Drawn, read_drawn

_SAVE_SECONDS = 20.0
_CHUNK_SECONDS = 1.0


@printed
class TuneResult(NamedTuple):
    """The release of a private search of the CNN's settings, and its guarantee.

    Attributes:
      data: name of the image set.
      plan: the plan of the search.
      winner: the release.
      correct: number of test images that the winner labels correctly; test images are
        assumed to be public.
      tested: number of test images.
      simulated: whether the search was given a seed, and so is not private.

    Example:
        >>> import jaxsel
        >>> asked = {"repetitions": "point_mass:count=1", "training": "epochs=0.2"}
        >>> found = jaxsel.tune("digits", **asked, seed=0)
        >>> print(f"{found.winner.guarantee.epsilon:.2f}", found.tested)
        0.25 360
    """

    data: str
    plan: SearchPlan
    winner: Winner
    correct: int
    tested: int
    simulated: bool

    def sentences(self) -> tuple[str, ...]:
        """The winner, its accuracy, the guarantee, and the epsilon of a single run."""
        plan, winner = self.plan, self.winner
        single = plan.base.epsilon(plan.delta)
        told = (
            *winner.guarantee.sentences(),
            f"One run without a search: ({rounded_up(single):g}, {plan.delta:g}).",
            "The noise of the training is Threefry's, in float32: for experiments, and the "
            "guarantee is that of real numbers.",
        )
        if winner.candidate is None:
            return "K was 0, or no run succeeded: nothing is released.", *told
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
        proved = winner.guarantee.as_record()
        return {
            **proved,
            "data": self.data,
            "base": plan.single_base,
            "repetitions": plan.repetitions.name,
            "candidates": len(plan.candidates),
            "winner": winner.candidate,
            "noisy_validation_accuracy": winner.score / plan.validation_size,
            "validation_size": plan.validation_size,
            "score_noise": plan.score_noise,
            "scores": score_of(plan).guarantee().name,
            "test_accuracy": self.correct / self.tested,
            "single_run_epsilon": plan.base.epsilon(plan.delta),
            "simulated": self.simulated,
        }

    def save(self, path: str | Path) -> None:
        """Saves the winner's parameters to a new .npz file, if a network was trained."""
        if self.winner.outcome is not None:
            np.savez(path, **_named(self.winner.outcome))  # type: ignore[arg-type]


def _named(params: Any) -> dict[str, np.ndarray]:
    """Parameters by name, such as Conv_0/kernel."""
    return {
        f"{layer}/{part}": np.asarray(value)
        for layer, parts in params.items()
        for part, value in parts.items()
    }


# --- The search ------------------------------------------------------------------------


def score_of(plan: SearchPlan) -> scores.Score:
    """What ranks the runs of a plan."""
    return scores.count(noise=plan.score_noise)


def private_search(plan: SearchPlan, **options: Any) -> PrivateSearch:
    """The search that a plan describes.

    All that a run draws, its first parameters, batches and noise, has an address made of its seed
    (``training.runs``), so that it is repeated as it was.

    Args:
      plan: from ``plan_search``.
      options: ``storage``, ``ledger`` and ``seed`` of ``PrivateSearch``.
    """
    return PrivateSearch(
        list(plan.candidates),
        base=plan.base,
        repetitions=plan.repetitions,
        score=score_of(plan),
        delta=plan.delta,
        declared=Declared(scored="validation", randomness="run.seed"),
        **options,
    )


def train_runs(
    search: PrivateSearch,
    plan: SearchPlan,
    images: ImageSet,
    model: nn.Module,
    *,
    clipping: str = "microbatch",
    together: int = 1,
    progress: Callable[[int], None] = lambda steps: None,
) -> None:
    """Makes every run of a search and tells how many validation images it labels correctly.

    Args:
      search: from ``private_search``.
      plan: of the search.
      images: the private images are its training images; its test images are not used.
      model: the network, for example ``network("strided", images.classes)``.
      clipping: the method of clipping; see ``dp_sgd.Recipe``.
      together: the number of runs trained at once in one program, if they differ in the
        learning rate only. Faster on a GPU; on CPU one by one is faster.
      progress: called with the number of training steps done.

    A run in which a batch exceeded the capacity (probability below 1e-18 per step) has failed.

    Raises:
      InputError: if the plan is for another number of images.
    """
    together = check_integer("together", together, 1)
    parts = split(images, plan)
    data, held_out = (tuple(map(jnp.asarray, part)) for part in parts)
    while not search.over:
        asked = []
        while search.ready and len(asked) < together:
            run = search.ask()
            if run.progress is None:
                begun = runs.begin(model, data[0][0], runs.addresses([run.seed]))
                run = run._replace(progress=jax.tree.map(lambda leaf: leaf[0], begun))
            asked.append(run)
        for group in _side_by_side(asked):
            state = _trained(search, group, plan, model, data, clipping, progress)
            right = np.asarray(runs.right_labels(model, state.params, held_out))
            params, void = _on_host(state.params), np.asarray(state.overflow)
            for row, run in enumerate(group):
                if void[row]:
                    search.tell(run, failed=True)
                    continue
                own = jax.tree.map(lambda leaf, row=row: leaf[row], params)
                search.tell(run, int(right[row]), own)


def _on_host(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def _side_by_side(asked: Sequence[Run]) -> list[list[Run]]:
    """Groups of runs that differ in the learning rate only and have made as many steps."""
    groups: dict[tuple[Candidate, int], list[Run]] = {}
    for run in asked:
        kind = run.candidate._replace(learning_rate=0.0), int(run.progress.step)
        groups.setdefault(kind, []).append(run)
    return list(groups.values())


def _trained(
    search: PrivateSearch,
    group: Sequence[Run],
    plan: SearchPlan,
    model: nn.Module,
    data: Any,
    clipping: str,
    progress: Callable[[int], None],
) -> dp_sgd.State:
    """The final states of runs of one group, one per row, saved on the way."""
    setting = group[0].candidate
    how = runs.recipe(plan, setting, clipping)
    own = runs.addresses([run.seed for run in group])
    rates = jnp.asarray([run.candidate.learning_rate for run in group], jnp.float32)
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(run.progress for run in group))
    piece, saved = 1, time.monotonic()
    while (left := setting.steps - int(state.step[0])) > 0:
        # Pieces of about a second, to show progress and to save in between.
        before = time.monotonic()
        take = min(piece, left)
        advanced = runs.advance(model, how, data, state, own, rates, jnp.int32(take))
        state = jax.block_until_ready(advanced)
        now = time.monotonic()
        piece = max(1, min(2 * piece, int(take * _CHUNK_SECONDS / max(now - before, 1e-6))))
        progress(take * len(group))
        if now - saved > _SAVE_SECONDS:
            for row, run in enumerate(group):
                one = _on_host(jax.tree.map(lambda leaf, row=row: leaf[row], state))
                search.save(run, one, step=int(one.step))
            saved = time.monotonic()
    return state


def correct_on_test(params: Any, images: ImageSet, model: nn.Module) -> int:
    """The number of test images that a network labels correctly; 0 if there is none."""
    if params is None:
        return 0
    held_out = (jnp.asarray(images.test_images), jnp.asarray(images.test_labels))
    return int(dp_sgd.accuracy(model, params, held_out))


class Grid(NamedTuple):
    """What each run draws from: all combinations of these.

    Attributes:
      learning_rates: "low:high:count" or a list, as text.
      noise_multipliers, clip_norms, batch_sizes: lists of numbers above 0, as text.
    """

    learning_rates: str = defaults.LEARNING_RATES
    noise_multipliers: str = defaults.NOISE_MULTIPLIERS
    clip_norms: str = defaults.CLIP_NORMS
    batch_sizes: str = defaults.BATCH_SIZES


class Training(NamedTuple):
    """How each run trains.

    Attributes:
      epochs: of the first candidate.
      strides: "strided", or "dense", which takes nine times as long.
      together: number of runs trained at once.
    """

    epochs: float = defaults.EPOCHS
    strides: str = "strided"
    together: int = 1


_GRID = {
    name: parsed(str, "a list of numbers", default=default)
    for name, default in Grid._field_defaults.items()
}
_TRAINING = {
    "epochs": positive("of the first candidate", default=defaults.EPOCHS),
    "strides": choice(STRIDES, default="strided"),
    "together": whole("runs trained at once", at_least=1, default=1),
}
_DATA = {"name": parsed(str, "the name of an image set"), "folder": parsed(str, "a folder")}


@former_arguments(
    {
        **{name: f"grid.{name}" for name in Grid._fields},
        **{name: f"training.{name}" for name in Training._fields},
        "data_folder": "data.folder",
        "budget": "ledger.budget",
    },
    first={"data": "name", "ledger": "path"},
)
def tune(
    data: str | Mapping[str, Any] = defaults.DATA,
    *,
    grid: str | Grid | Mapping[str, str] = Grid(),
    training: str | Training | Mapping[str, Any] = Training(),
    repetitions: Repetitions | str = defaults.REPETITIONS,
    drawn: str | Drawn = INDEPENDENTLY,
    delta: float = defaults.DELTA,
    folder: str | Path | None = None,
    ledger: str | Path | LedgerUse | Mapping[str, Any] | None = None,
    seed: int | None = None,
    progress: bool | None = None,
) -> TuneResult:
    """Searches hyperparameters privately: trains K models, releases the best one.

    ``PrivateSearch`` draws K, the candidates and the noise on scores from the operating system's
    generator; the noise of the training is Threefry's, for experiments.

    Args:
      data: "digits", "mnist" or "fashion_mnist"; "mnist:folder=PATH" reads its IDX files there
        (docs/training.md).
      grid: from what each run draws its settings; as text
        "learning_rates=0.1:1:9,clip_norms=0.5,1", or a ``Grid``.
      training: how each run trains; as text "epochs=3,strides=dense", or a ``Training``.
      repetitions: law of K, or its text.
      drawn: how candidates are drawn; only "independently", from the grid.
      delta: of the guarantee, in (0, 1).
      folder: where to save, so that the same call resumes after a kill; it contains
        secrets.
      ledger: a file with all private searches of this data set, as for ``PrivateSearch``, which
        are those of the image set: "census.json:budget=3".
      seed: makes this a simulation, which has no privacy.
      progress: as for ``jaxsel.simulate``.

    Raises:
      InputError: for bad input, or a folder that others can read or that holds another
        search, or a budget that is spent.

    Example:
        >>> import jaxsel
        >>> asked = {"repetitions": "point_mass:count=1", "training": "epochs=0.2"}
        >>> found = jaxsel.tune("digits", **asked, seed=0)
        >>> print(found.sentences()[-1])
        The noise of the training is Threefry's, in float32: for experiments, and the guarantee
        is that of real numbers.
    """
    read_drawn(drawn).one_of("jaxsel.tune", INDEPENDENTLY)
    texts = Grid(**read_parts("grid", grid, _GRID))
    how = Training(**read_parts("training", training, _TRAINING))
    if seed is not None:
        check_integer("seed", seed, 0)
    use = read_ledger(ledger)
    if use is not None and use.data is not None:
        raise InputError("the ledger of jaxsel.tune is that of its images; leave its data out")
    name, idx = _image_set(data)
    images = load_images(name, idx)
    model = network(how.strides, images.classes)
    plan = plan_search(
        examples=len(images.labels),
        rates=read_rates(texts.learning_rates),
        noise_multipliers=read_numbers("noise-multipliers", texts.noise_multipliers),
        clip_norms=read_numbers("clip-norms", texts.clip_norms),
        batch_sizes=read_numbers("batch-sizes", texts.batch_sizes),
        epochs=how.epochs,
        repetitions=as_law(repetitions),
        delta=delta,
    )
    within = None if use is None else use._replace(data=name)
    with (
        private_search(plan, storage=folder, ledger=within, seed=seed) as search,
        progress_bar(None, 0, progress, unit="training steps") as advance,
    ):
        train_runs(search, plan, images, model, together=how.together, progress=advance)
        winner = search.release(simulation=seed is not None)
    correct = correct_on_test(winner.outcome, images, model)
    found = TuneResult(name, plan, winner, correct, len(images.test_labels), seed is not None)
    if folder is not None:
        place = Path(folder).expanduser().absolute() / RELEASE
        with records.exclusive(place, private=True) as replace:
            replace((json.dumps(plain(found.as_record()), indent=2) + "\n").encode())
    return found


def _image_set(data: object) -> tuple[str, Path | None]:
    """The name of the images, and the folder of their files if it is given."""
    read = read_parts("data", data, _DATA, first="name")
    folder = read.get("folder")
    return read.get("name", defaults.DATA), None if folder is None else Path(folder)
