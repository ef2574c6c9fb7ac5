"""Categorical tables as counts on a finite universe, for linear queries.

A row of a table with c columns of s_1, ..., s_c levels falls into one of s_1 * ... * s_c
cells, numbered with the last column varying fastest.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import InputError, check_choice, check_finite, check_integer
from sims.data.celeba import FaceAttributes

_MOST_CELLS = 2**20


class CategoricalTable(NamedTuple):
    """The number of rows in each cell.

    Attributes:
      columns: names of the columns.
      levels: number of levels of each column.
      counts: Int64[np.ndarray, "cells"].
      source: description of where the rows come from, for a caption.
      generated: whether the rows are generated in place of real ones.
    """

    columns: tuple[str, ...]
    levels: tuple[int, ...]
    counts: np.ndarray
    source: str
    generated: bool

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())


def discretise(values: npt.ArrayLike, cuts: npt.ArrayLike) -> np.ndarray:
    """Levels 0 to len(cuts): how many of the increasing cut points are <= each value.

    For private rows the cut points must be public: chosen without looking at the rows.
    """
    points = check_finite("cuts", cuts)
    if points.ndim != 1 or np.any(np.diff(points) <= 0):
        raise InputError("cuts must be one increasing list of numbers")
    return np.searchsorted(points, check_finite("values", values), side="right")


def tabulate(codes: npt.ArrayLike, levels: Sequence[int]) -> np.ndarray:
    """Counts the rows in each cell: Int64["cells"].

    Args:
      codes: Int["rows columns"], the level of each row in each column, from 0.
      levels: number of levels of each column.

    Raises:
      InputError: for codes that are not levels, or above 2**20 cells.
    """
    table = np.asarray(codes)
    sizes = tuple(check_integer("levels", size, 1) for size in levels)
    cells = int(np.prod(sizes, dtype=np.float64))
    if cells > _MOST_CELLS:
        raise InputError(f"the universe has {cells} cells; at most 2**20 are kept")
    if table.ndim != 2 or table.shape[1] != len(sizes) or table.dtype.kind not in "iub":
        raise InputError(f"codes must be whole numbers in {len(sizes)} columns")
    table = table.astype(np.int64)
    if np.any((table < 0) | (table >= np.array(sizes))):
        raise InputError("codes must lie between 0 and the number of levels minus 1")
    return np.bincount(np.ravel_multi_index(tuple(table.T), sizes), minlength=cells)


def face_table(faces: FaceAttributes, columns: Sequence[str]) -> CategoricalTable:
    """The table of images by some of their attributes, each of which has two levels."""
    for name in columns:
        check_choice("attribute", name, faces.names)
    chosen = [faces.names.index(name) for name in columns]
    levels = (2,) * len(chosen)
    counts = tabulate(faces.present[:, chosen], levels)
    return CategoricalTable(tuple(columns), levels, counts, faces.source, faces.generated)


def resampled(table: CategoricalTable, rows: int, *, seed: int = 0) -> CategoricalTable:
    """Draws ``rows`` independent rows, with the table as the population."""
    rows = check_integer("rows", rows, 1)
    generator = np.random.default_rng(check_integer("seed", seed, 0))
    counts = generator.multinomial(rows, table.counts / table.rows)
    source = f"{rows:,} rows drawn from {table.source}"
    return table._replace(counts=counts, source=source)
