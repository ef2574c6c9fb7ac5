"""The folder of a search: where a killed one goes on. It holds secrets; keep it so."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.repetitions import describe
from jaxsel.training import draws
from jaxsel.training.dp_sgd import State
from jaxsel.training.plan import SearchPlan

RELEASE = "release.json"
"""Name of the file of what a finished search releases."""
_SEARCH, _SEED = "search.json", "seed"


class Saved(NamedTuple):
    """Where a search stands.

    Attributes:
      number: runs that are complete.
      state: of the runs under way, one a row; None if they have not begun.
      scores: of the complete runs.
      best: parameters of the best of them, None if there is none.
    """

    number: int
    state: State | None
    scores: tuple[float, ...]
    best: Any


def _make_private(path: Path) -> None:
    """Makes the folder, for its owner alone; one that is there is left as it is."""
    try:
        path.mkdir(mode=0o700, parents=True)
        return
    except FileExistsError:
        if not path.is_dir() or os.name != "posix":
            return
    found = path.stat()
    if found.st_mode & 0o077 or found.st_uid != os.geteuid():
        raise InputError(
            f"{path} is open to others (mode {found.st_mode & 0o777:o}), and the folder of "
            "a search holds secrets; give a folder that does not exist yet, or chmod 700"
        )


def kept_seed(folder: str | Path) -> int:
    """The seed of a folder: drawn and kept there at first, the same ever after.

    It is as secret as the folder, whose scores and networks tell as much.

    Args:
      folder: of the search, made if need be.

    Raises:
      InputError: if the folder cannot be written, is open to others, or belongs to a
        search whose seed was given.
    """
    path = Path(folder).expanduser().absolute()
    try:
        _make_private(path)
        kept = path / _SEED
        if kept.exists():
            return draws.check_seed(int(kept.read_text()))
        if (path / _SEARCH).exists():
            raise InputError(
                f"{path} holds a search whose seed was given; give it again, or another "
                "folder"
            )
        seed = draws.fresh_seed()
        with open(
            kept, "x", opener=lambda name, flags: os.open(name, flags, 0o600)
        ) as f:
            f.write(f"{seed}\n")
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be used as a folder: {error}") from None
    return seed


def save_release(folder: str | Path, record: dict[str, Any]) -> None:
    """Leaves what a finished search releases in its folder, as ``RELEASE``.

    Args:
      folder: of the search; made, for its owner alone, where no run was made.
      record: ready for JSON; nothing secret.

    Raises:
      InputError: if the folder cannot be written, or is open to others.
    """
    path = Path(folder).expanduser().absolute()
    try:
        _make_private(path)
        (path / RELEASE).write_text(json.dumps(record, indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{path} cannot be used as a folder: {error}") from None


class Checkpoints:
    """Saves and loads; with folder None it does neither.

    Args:
      folder: of the search, made if need be.
      plan, seed, model: what the search is, the network by its name; another search's
        folder is refused.
      example: a state, for shapes.

    Raises:
      InputError: if the folder belongs to another search, cannot be written, or was
        there before and is not its owner's alone.
    """

    def __init__(
        self,
        folder: str | Path | None,
        plan: SearchPlan,
        seed: int,
        model: str,
        example: State,
    ) -> None:
        self._example = example
        self._manager = None
        if folder is None:
            return
        import orbax.checkpoint as ocp

        path = Path(folder).expanduser().absolute()
        # The seed is not written in clear, though the folder is secret anyway.
        text = repr((plan._replace(repetitions=None), describe(plan.repetitions)))  # type: ignore
        name = hashlib.sha256(f"{text},{seed},{model}".encode()).hexdigest()
        label = path / _SEARCH
        try:
            _make_private(path)
            if label.exists():
                if json.loads(label.read_text())["search"] != name:
                    raise InputError(
                        f"{path} holds another search; give its seed and settings to go "
                        "on with it, or another folder"
                    )
            else:
                label.write_text(json.dumps({"search": name}))
        except (OSError, ValueError, KeyError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} cannot be used as a folder: {error}") from None
        self._ocp = ocp
        self._manager = ocp.CheckpointManager(
            path / "checkpoints",
            options=ocp.CheckpointManagerOptions(max_to_keep=2),
        )

    def _tree(self, state: State | None, best, rows: int) -> dict[str, Any]:
        blank = jax.tree.map(np.zeros_like, self._example)
        if state is None:
            state = jax.tree.map(lambda leaf: np.stack([leaf] * rows), blank)
        return {"state": state, "best": blank.params if best is None else best}

    def save(self, number: int, state: State | None, scores, best) -> None:
        """Stores where the search stands, after the last store."""
        if self._manager is None:
            return
        flags = {
            "number": number,
            "begun": state is not None,
            "best": best is not None,
            "scores": list(scores),
            "rows": 1 if state is None else int(state.step.shape[0]),
        }
        step = (self._manager.latest_step() or 0) + 1
        self._manager.save(
            step,
            args=self._ocp.args.Composite(
                tree=self._ocp.args.StandardSave(
                    self._tree(state, best, flags["rows"])
                ),
                flags=self._ocp.args.JsonSave(flags),
            ),
        )
        self._manager.wait_until_finished()

    def load(self) -> Saved:
        """The last store, or a fresh start."""
        if self._manager is None or self._manager.latest_step() is None:
            return Saved(0, None, (), None)
        step = self._manager.latest_step()
        args = self._ocp.args
        flags = self._manager.restore(
            step, args=args.Composite(flags=args.JsonRestore())
        )["flags"]
        wanted = self._tree(None, None, flags["rows"])
        tree = self._manager.restore(
            step, args=args.Composite(tree=args.StandardRestore(wanted))
        )["tree"]
        return Saved(
            number=flags["number"],
            state=State(*tree["state"]) if flags["begun"] else None,
            scores=tuple(float(score) for score in flags["scores"]),
            best=tree["best"] if flags["best"] else None,
        )
