"""A small real table on a finite universe: breast tumours, discretised.

Scikit-learn's copy of the Wisconsin diagnostic set (Wolberg, Street & Mangasarian 1995,
569 tumours, CC BY 4.0), four measurements cut at round numbers into four levels each: a
universe of 256 cells. `run` makes the record (scikit-learn needed);
`load` reads the one stored here, made by
``python -m sims.data.tumour_table > sims/data/tumour_table.json``.
"""

import json
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from jaxsel.host.errors import InputError, check_integer
from sims.data.categorical_table import CategoricalTable, discretise, tabulate

NAME = "tumour-table"
STORED = Path(__file__).parent / "tumour_table.json"
CUTS = {
    "mean radius": (12.0, 14.0, 16.0),
    "mean texture": (16.0, 19.0, 22.0),
    "mean smoothness": (0.085, 0.095, 0.105),
    "mean concavity": (0.03, 0.06, 0.12),
}
_LEVELS = tuple(len(cuts) + 1 for cuts in CUTS.values())
_SOURCE = "569 breast tumours (Wolberg et al. 1995), discretised"


def run() -> dict:
    """Makes the record that `load` reads, with the counts of all occupied cells by number."""
    if util.find_spec("sklearn") is None:
        raise InputError("scikit-learn is not installed; pip install scikit-learn")
    from sklearn.datasets import load_breast_cancer

    found: Any = load_breast_cancer()
    names = list(found.feature_names)
    codes = [discretise(found.data[:, names.index(n)], c) for n, c in CUTS.items()]
    counts = tabulate(np.column_stack(codes), _LEVELS)
    occupied = np.flatnonzero(counts)
    return {
        "name": NAME,
        "made_by": "python -m sims.data.tumour_table: scikit-learn's load_breast_cancer",
        "versions": {n: metadata.version(n) for n in ("scikit-learn", "numpy")},
        "columns": list(CUTS),
        "cuts": {name: list(cuts) for name, cuts in CUTS.items()},
        "levels": list(_LEVELS),
        "rows": int(counts.sum()),
        "counts": {str(cell): int(counts[cell]) for cell in occupied},
    }


def load(path: str | Path = STORED) -> CategoricalTable:
    """Reads a stored record; scikit-learn is not needed.

    Raises:
      InputError: if the file is missing, is not JSON, or does not hold such a record.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        levels = tuple(check_integer("levels", n, 2) for n in record["levels"])
        counts = np.zeros(int(np.prod(levels)), np.int64)
        for cell, count in record["counts"].items():
            counts[int(cell)] = check_integer("counts", count, 1)
        columns, rows = tuple(record["columns"]), record["rows"]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"{path} is not a record of tumour_table.run: {error!r}") from None
    if counts.sum() != rows:
        raise InputError(f"{path} says {rows} rows and counts {counts.sum()}")
    return CategoricalTable(columns, levels, counts, _SOURCE, False)


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
