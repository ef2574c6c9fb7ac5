"""Checkpoints of a search in a folder, which must stay private since it holds secrets."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.repetitions import describe
from jaxsel.training import draws
from jaxsel.training.dp_sgd import State
from jaxsel.training.plan import SearchPlan

RELEASE = "release.json"
"""File name of the release of a finished search."""
RECORD = "search.nc"
"""File name of the record from which a search resumes."""
_SEED = "seed"
# Left by earlier versions, which saved with orbax-checkpoint.
_EARLIER = ("search.json", "checkpoints")


class Saved(NamedTuple):
    """The progress of a search.

    Attributes:
      state: of the current runs, one per row; None if they have not begun.
      scores: of the complete runs.
      best: parameters of the best complete run; None if there is none.
    """

    state: State | None
    scores: tuple[float, ...]
    best: Any


def _place(folder: str | Path) -> Path:
    path = Path(folder).expanduser().absolute()
    if any(os.path.exists(path / name) for name in _EARLIER):
        raise InputError(
            f"{path} is the folder of a search by an earlier jaxsel, which only that one "
            "can go on with; finish it there, or name another folder to search anew"
        )
    return path


def stored_seed(folder: str | Path) -> int:
    """The seed of a search's folder, drawn and stored there on the first call.

    It is as secret as the scores and networks in the folder.

    Args:
      folder: of the search, created if necessary.

    Raises:
      InputError: if the folder cannot be written, is open to others, or belongs to a
        search whose seed was given.
    """
    path = _place(folder)
    kept = path / _SEED
    with records.exclusive(kept, private=True) as replace:
        if kept.exists():
            try:
                return draws.check_seed(int(kept.read_text()))
            except ValueError:  # its context would repeat the content of the file
                raise InputError(f"{kept} holds no seed; name another folder") from None
        if (path / RECORD).exists():
            raise InputError(
                f"{path} holds a search whose seed was given; give it again, or another folder"
            )
        seed = draws.fresh_seed()
        replace(f"{seed}\n".encode())
    return seed


def save_release(folder: str | Path, record: dict[str, Any]) -> None:
    """Writes the release of a finished search to its folder, as ``RELEASE``.

    Args:
      folder: of the search; created as private if no run was made.
      record: JSON-serialisable; nothing secret.

    Raises:
      InputError: if the folder cannot be written, or is open to others.
    """
    with records.exclusive(_place(folder) / RELEASE, private=True) as replace:
        replace((json.dumps(record, indent=2) + "\n").encode())


@contextlib.contextmanager
def resumed(
    folder: str | Path | None, plan: SearchPlan, seed: int, model: str, example: State
) -> Iterator[tuple[Saved, Callable[[Saved], None]]]:
    """Resumes a search: yields its progress and a function that saves it, and locks the folder.

    Args:
      folder: of the search, created if necessary; with None nothing is saved.
      plan, seed, model: identify the search, the network by its name; the folder of another
        search is refused.
      example: an example of the state of one run, for its structure, shapes and types.

    Raises:
      InputError: if the folder belongs to another search or an earlier jaxsel, cannot be
        written, is being written by another process, or exists and is not private.
    """
    fresh = Saved(None, (), None)
    if folder is None:
        yield fresh, lambda saved: None
        return
    path = _place(folder)
    # Only a digest of the seed is written, although the folder is secret anyway.
    text = repr((plan._replace(repetitions=None), describe(plan.repetitions)))  # type: ignore
    name = hashlib.sha256(f"{text},{seed},{model}".encode()).hexdigest()
    record = path / RECORD
    with records.writer(record, private=True) as write:

        def save(saved: Saved) -> None:
            write(
                arrays={
                    "scores": np.asarray(saved.scores, np.float64),
                    **_named("state", saved.state),
                    **_named("best", saved.best),
                },
                configuration={"search": name},
            )

        if record.exists():
            yield _read(path, name, example), save
        else:
            save(fresh)
            yield fresh, save


def _read(path: Path, name: str, example: State) -> Saved:
    stored = records.read(path / RECORD, private=True)
    if stored.configuration != {"search": name}:
        raise InputError(
            f"{path} holds another search; give its seed and settings to go on with it, "
            "or another folder"
        )
    state = _restored(stored, "state", example, rows=True)
    best = _restored(stored, "best", example.params, rows=False)
    return Saved(state, tuple(map(float, stored.arrays["scores"])), best)


def _named(name: str, tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a pytree as arrays that a file can hold, named by their path."""
    return {
        f"{name}.{jax.tree_util.keystr(place, simple=True, separator='.')}": _plain(leaf)
        for place, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _plain(leaf: Any) -> np.ndarray:
    """Converts keys to their words, and types that NetCDF lacks, such as bfloat16, to bytes."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    array = np.asarray(leaf)
    if array.dtype.kind in "biu" or array.dtype in (np.float32, np.float64):
        return array
    return np.ascontiguousarray(array)[..., None].view(np.uint8)


def _restored(stored: records.Record, name: str, like: Any, *, rows: bool) -> Any:
    """Reads a pytree with the structure and types of another one; None if None was saved.

    Args:
      stored: the record.
      name: of the pytree.
      like: a pytree of the same structure.
      rows: whether each array has an additional first axis.

    Raises:
      InputError: if an array is missing, or has another shape or type.
    """
    wanted = _named(name, like)
    if not any(each in stored.arrays for each in wanted):
        return None
    leaves = []
    for (each, plain), leaf in zip(wanted.items(), jax.tree.leaves(like), strict=True):
        array = stored.arrays.get(each)
        if array is None or array.dtype != plain.dtype or array.shape[rows:] != plain.shape:
            raise InputError(
                f"{stored.path} holds no {each} of the network that is trained now; name "
                "another folder"
            )
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            impl = jax.random.key_impl(leaf)
            array = jax.random.wrap_key_data(jnp.asarray(array), impl=impl)
        elif array.dtype != leaf.dtype:
            array = array.view(leaf.dtype)[..., 0]
        leaves.append(array)
    return jax.tree.unflatten(jax.tree.structure(like), leaves)
