"""The cells of a sweep: their settings, keys, and the trials that are simulated for them."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxsel.language.base import Pair
from jaxsel.language.domains import Domain, Named
from jaxsel.language.trial import Trial
from jaxsel.repetitions import Repetitions
from jaxsel.sweeps.axes import Value
from jaxsel.sweeps.swept_subject import SEED, Subject
from jaxsel.sweeps.tallying import Item, Store, kept_of


class Cell(NamedTuple):
    """One point of a sweep.

    Attributes:
      settings_key: canonical text of all settings except the seed, including defaults,
        which does not depend on the grid, the order or the spelling.
      values: all settings, typed; without the seed.
      seed: of its trials.
      built: the mechanism with its input; None in an account.
    """

    settings_key: str
    values: Mapping[str, Any]
    seed: int
    built: Trial | None

    @property
    def key(self) -> str:
        """Identifies the cell, including its seed."""
        return f"{self.settings_key} seed {self.seed}"


def make_cell(subject: Subject, point: Mapping[str, Value], seed: int) -> Cell:
    """The cell of a point; a seed among its settings takes precedence.

    Args:
      subject: the subject of the sweep.
      point: its settings.
      seed: of the sweep.

    Raises:
      InputError: for incompatible settings.
    """
    given = subject.given(point)
    values = subject.values(given)
    words = {
        name: _address(value, given.get(name), subject.settings[name])
        for name, value in values.items()
    }
    key = json.dumps([subject.name, words], sort_keys=True)
    built = None if subject.build is None else subject.build(values)
    return Cell(key, values, int(point.get(SEED, seed)), built)


def _address(value: Any, given: Any, setting: Domain) -> Any:
    """What stands for a value in the key of its cell."""
    canonical = _canonical(value, setting.default if given is None else given)
    options = setting.options if isinstance(setting, Named) else {}
    # Cells with equal keys have the same random numbers, so that of two objects that are equal
    # the words must be told apart; a word alone could be the text of another object.
    alike = [word for word, other in options.items() if _canonical(other, word) == canonical]
    return {"named": given} if len(alike) > 1 and given in alike else canonical


def _canonical(value: Any, text: Any) -> Any:
    """Canonical text of a value: equal values have equal texts."""
    if isinstance(value, Repetitions):
        return value.name
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, int | float | str):
        return value
    return str(text)


def own_item(cell: Cell, trials: int) -> Item:
    """The trials of the cell's own input."""
    assert cell.built is not None
    mechanism, data, params = cell.built[:3]
    key, statistic = f"own {cell.key}", cell.built.statistic
    return Item(key, mechanism, data, params, cell.seed, 0, trials, statistic)


class PairItems(NamedTuple):
    """The trials that the audit of one pair needs.

    Attributes:
      pair: the pair.
      selection: trials on both inputs for choosing the event.
      used: further trials, for the bound.
    """

    pair: Pair
    selection: tuple[Item, Item]
    used: tuple[Item, Item]

    def tallies(self, store: Store) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The arguments ``used`` and ``selection`` of ``auditing.audit_tallies``."""

        def both(items: tuple[Item, Item]) -> tuple[np.ndarray, np.ndarray]:
            one, other = (kept_of(item, store).counts for item in items)
            return one, other

        return {"used": both(self.used), "selection": both(self.selection)}


def pair_items(cell: Cell, trials: int) -> list[PairItems]:
    """For each constructed pair of the cell: half the trials for selection, half for the bound."""
    built = cell.built
    assert built is not None
    half = trials // 2

    def items(pair: Pair, first: int, last: int) -> tuple[Item, Item]:
        sides = {"data": pair.data, "neighbour": pair.neighbour}
        one, other = (
            Item(
                f"{pair.name} {side} {cell.key}",
                built.mechanism,
                data,
                pair.params,
                cell.seed,
                first,
                last,
            )
            for side, data in sides.items()
        )
        return one, other

    return [
        PairItems(pair, items(pair, 0, half), items(pair, half, trials)) for pair in built.pairs()
    ]
