"""A sweep as a table with one row per cell, for CSV, Parquet, JSON and printing."""

import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxsel.host.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Dimensions that a data set may have beside its axes.
DIMENSIONS = {"outcome", "theorem"}
SUFFIXES = {
    "_low": "lower end of the interval",
    "_high": "upper end of the interval",
    "_exact": "exact value",
    "_theorem": "theorem",
}


def to_table(dataset: "xr.Dataset") -> "pd.DataFrame":
    """One row per cell, one column per setting and variable.

    A variable with a further dimension has one column per coordinate: "frequency[none]".
    """
    import pandas as pd

    plain = dataset.drop_dims(_further(dataset))
    frame = plain.to_dataframe() if plain.sizes else _one_row(plain)
    columns = {
        f"{name}[{place}]": variable.sel({extra: place}).values.ravel()
        for name, variable in dataset.items()
        for extra in _further(dataset) & set(map(str, variable.dims))
        for place in dataset[extra].values
    }
    # Added together: inserting hundreds of columns one by one is slow.
    frame = pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1)
    return frame.reset_index() if plain.sizes else frame


def _further(dataset: "xr.Dataset") -> set[str]:
    """Dimensions that are not axes of the sweep."""
    return DIMENSIONS & set(map(str, dataset.dims))


def _one_row(dataset: "xr.Dataset") -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([{name: var.item() for name, var in dataset.items()}])


def rows(dataset: "xr.Dataset") -> list[dict[str, Any]]:
    """The table as a list of objects."""
    records = to_table(dataset).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in records]


def short_rows(dataset: "xr.Dataset") -> list[dict[str, str]]:
    """Rows for printing: each value with its interval, exact value and theorem.

    A missing value is replaced by its variable's text for it, such as "none proven".
    """
    missing = {
        str(name): str(variable.attrs.get("missing", "not known"))
        for name, variable in dataset.items()
    }
    return [_short(row, missing) for row in rows(dataset)]


def _short(row: Mapping[str, Any], missing: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for name, value in row.items():
        stem, bracket, place = name.partition("[")
        place = bracket + place
        if stem.endswith(tuple(SUFFIXES)):
            continue
        if isinstance(value, float) and math.isnan(value):
            found[name] = missing.get(stem, "not known")
            continue
        text = value if isinstance(value, str) else f"{value:.6g}"
        low, high, exact, theorem = (row.get(f"{stem}{s}{place}") for s in SUFFIXES)
        if low is not None and high is not None:
            text = f"{value:.4g} ({low:.4g} to {high:.4g})"
        if exact is not None and not math.isnan(exact):
            text += f", exact {exact:.4g}"
        if theorem:
            text += f" by {theorem}"
        found[name] = text
    return found


def write_csv(dataset: "xr.Dataset", path: str | Path) -> None:
    """Writes the table as CSV; raises InputError if the file cannot be written."""
    _written(path, lambda: to_table(dataset).to_csv(path, index=False))


def write_parquet(dataset: "xr.Dataset", path: str | Path) -> None:
    """Writes the table as Parquet; raises InputError if it cannot, or if no library can."""
    check_parquet()
    _written(path, lambda: to_table(dataset).to_parquet(path, index=False))


def check_parquet() -> None:
    """Raises InputError if no library writes Parquet."""
    try:
        importlib.import_module("pyarrow")
    except ImportError:
        raise InputError(
            "Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from None


def _written(path: str | Path, write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:
        # The errors that pandas raises itself have text alone.
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
