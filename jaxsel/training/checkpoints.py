"""The folder of a search: where a killed one goes on. It holds secrets; keep it so."""

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
"""Name of the file of what a finished search releases."""
RECORD = "search.nc"
"""Name of the record that a search goes on from."""
_SEED = "seed"
# Left by earlier versions, which saved with orbax-checkpoint.
_EARLIER = ("search.json", "checkpoints")


class Saved(NamedTuple):
    """Where a search stands.

    Attributes:
      state: of the runs under way, one a row; None if they have not begun.
      scores: of the complete runs.
      best: parameters of the best of them, None if there is none.
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


def kept_seed(folder: str | Path) -> int:
    """The seed of a folder: drawn and kept there at first, the same ever after.

    It is as secret as the folder, whose scores and networks tell as much.

    Args:
      folder: of the search, made if need be.

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
            except ValueError:  # which repeats what it is about
                raise InputError(f"{kept} holds no seed; name another folder") from None
        if (path / RECORD).exists():
            raise InputError(
                f"{path} holds a search whose seed was given; give it again, or another folder"
            )
        seed = draws.fresh_seed()
        replace(f"{seed}\n".encode())
    return seed


def save_release(folder: str | Path, record: dict[str, Any]) -> None:
    """Leaves what a finished search releases in its folder, as ``RELEASE``.

    Args:
      folder: of the search; made, for its owner alone, where no run was made.
      record: ready for JSON; nothing secret.

    Raises:
      InputError: if the folder cannot be written, or is open to others.
    """
    with records.exclusive(_place(folder) / RELEASE, private=True) as replace:
        replace((json.dumps(record, indent=2) + "\n").encode())


@contextlib.contextmanager
def going_on(
    folder: str | Path | None, plan: SearchPlan, seed: int, model: str, example: State
) -> Iterator[tuple[Saved, Callable[[Saved], None]]]:
    """Yields where a search stands, and what saves where it stands; no other saves there.

    Args:
      folder: of the search, made if need be; with None nothing is saved.
      plan, seed, model: what the search is, the network by its name; another search's
        folder is refused.
      example: of the state of one run, for its structure, shapes and types.

    Raises:
      InputError: if the folder belongs to another search or an earlier jaxsel, cannot be
        written, is written by another process, or was there before and is not its
        owner's alone.
    """
    fresh = Saved(None, (), None)
    if folder is None:
        yield fresh, lambda saved: None
        return
    path = _place(folder)
    # The seed is not written in clear, though the folder is secret anyway.
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
    """The leaves of a tree as arrays that a file can hold, named after their place."""
    return {
        f"{name}.{jax.tree_util.keystr(place, simple=True, separator='.')}": _plain(leaf)
        for place, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _plain(leaf: Any) -> np.ndarray:
    """Keys as their words; what NetCDF has no type for, such as bfloat16, as bytes."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    array = np.asarray(leaf)
    if array.dtype.kind in "biu" or array.dtype in (np.float32, np.float64):
        return array
    return np.ascontiguousarray(array)[..., None].view(np.uint8)


def _restored(stored: records.Record, name: str, like: Any, *, rows: bool) -> Any:
    """A tree as it was, of the structure and types of another; None if it was None.

    Args:
      stored: the record.
      name: of the tree.
      like: the other tree.
      rows: whether each array has one more axis, the first, than those of ``like``.

    Raises:
      InputError: if some array is missing, or of another shape or type.
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
