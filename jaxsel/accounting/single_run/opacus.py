"""DP-SGD as Opacus recorded it: the history of its accountants.

An accountant of Opacus keeps ``history``, a list of (noise_multiplier, sample_rate,
steps), whichever way it accounts; ``accountant.state_dict()`` holds it, and a file keeps
it as JSON:

    json.dump(privacy_engine.accountant.state_dict(), open("history.json", "w"))

Opacus samples batches as Poisson subsampling does, and its neighbours differ by one record
that is added or removed.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.events import check_noise, dp_sgd_phases
from jaxsel.host.errors import InputError, check_integer, check_interval

_ITEM = "each item must be [noise_multiplier, sample_rate, steps]"


def _items(history: object) -> Sequence[Any]:
    """The list itself, of an accountant, of its state, or as it is."""
    found = getattr(history, "history", history)
    if isinstance(found, Mapping):
        if "history" not in found:
            raise InputError(
                "the Opacus history has no key 'history'; give a list of "
                "[noise_multiplier, sample_rate, steps], or an accountant's state_dict()"
            )
        found = found["history"]
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise InputError(
            f"the Opacus history is {found!r}; it must be a list, and {_ITEM}"
        )
    if not found:
        raise InputError("the Opacus history is empty; no step was taken")
    return found


def _phase(number: int, item: object) -> tuple[float, float, int]:
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 3:
        raise InputError(f"item {number} of the Opacus history is {item!r}; {_ITEM}")
    where = f"of item {number} of the Opacus history"
    return (
        check_noise(f"noise_multiplier {where}", item[0]),
        check_interval(f"sample_rate {where}", item[1], 0.0, 1.0, high_open=False),
        check_integer(f"steps {where}", item[2], 1),
    )


def from_opacus(history: object, *, name: str = "") -> BaseGuarantee:
    """The guarantee of one training run from what Opacus recorded of it.

    Args:
      history: an Opacus accountant, its ``state_dict()``, or its ``history``: a list of
        (noise_multiplier, sample_rate, steps).
      name: for messages.

    Returns:
      The guarantee of DP-SGD with those phases one after another.

    Raises:
      InputError: if it is no such history, or a value is out of range.
    """
    phases: list[tuple[float, float, int]] = []
    for number, item in enumerate(_items(history), 1):
        noise, rate, steps = _phase(number, item)
        if phases and phases[-1][:2] == (noise, rate):
            steps += phases.pop()[2]
        phases.append((noise, rate, steps))
    return dp_sgd_phases(tuple(phases), name=name)


def read_opacus(path: Path) -> BaseGuarantee:
    """The same from a JSON file.

    Raises:
      InputError: if the file cannot be read, is no JSON, or as from_opacus.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file; it must be JSON") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    try:
        return from_opacus(found, name=f"opacus:{path}")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
