"""Tables of a sweep: what stands in each row and column, from a data set made by hand."""

import csv
import importlib
import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxsel.host.errors import InputError
from jaxsel.sweeps import tables

NAN = math.nan


def _dataset() -> xr.Dataset:
    axes = ("epsilon", "noise")
    value = np.array([[0.123456789, 0.2], [0.3, NAN]])
    return xr.Dataset(
        {
            "success": (axes, value),
            "success_low": (axes, value - 0.01234567),
            "success_high": (axes, value + 0.1),
            "success_exact": (axes, [[0.15, NAN], [0.25, 0.5]]),
            "bound": (axes, [[1.0, 2.0], [NAN, 1234567.0]], {"missing": "none proven"}),
            "bound_theorem": (axes, np.array([["T1", "T2"], ["", ""]], dtype=object)),
            "counts": ((*axes, "outcome"), np.arange(8).reshape(2, 2, 2)),
            "share": ((*axes, "outcome"), np.arange(8).reshape(2, 2, 2) / 7),
            "share_low": ((*axes, "outcome"), np.arange(8).reshape(2, 2, 2) / 8),
            "share_high": ((*axes, "outcome"), np.arange(8).reshape(2, 2, 2) / 6),
            "bounds": (
                (*axes, "theorem"),
                np.arange(4.0).reshape(2, 2, 1),
                {"missing": "not by this theorem"},
            ),
        },
        {
            "epsilon": [0.5, 1.0],
            "noise": ["gumbel", "laplace"],
            "outcome": ["a", "b"],
            "theorem": ["T1"],
        },
    )


def test_a_row_is_a_cell_and_a_column_a_variable_at_each_further_place():
    dataset = _dataset()
    rows = tables.rows(dataset)
    assert [(row["epsilon"], row["noise"]) for row in rows] == [
        (0.5, "gumbel"), (0.5, "laplace"), (1.0, "gumbel"), (1.0, "laplace"),
    ]  # fmt: skip
    assert [row["counts[a]"] for row in rows] == [0, 2, 4, 6]
    assert [row["counts[b]"] for row in rows] == [1, 3, 5, 7]
    assert [row["bounds[T1]"] for row in rows] == [0.0, 1.0, 2.0, 3.0]
    assert [row["bound_theorem"] for row in rows] == ["T1", "T2", "", ""]
    assert list(rows[0])[:3] == ["epsilon", "noise", "success"]
    assert not {"outcome", "theorem", "index", "counts", "bounds"} & set(rows[0])


def test_one_cell_without_axes_is_one_row():
    alone = _dataset().isel(epsilon=1, noise=0, drop=True)
    (row,) = tables.rows(alone)
    assert row["success"] == 0.3
    assert (row["counts[a]"], row["counts[b]"]) == (4, 5)
    assert not {"epsilon", "noise", "index"} & set(row)
    # A single axis makes rows, too.
    assert len(tables.rows(_dataset().isel(noise=0, drop=True))) == 2


def test_a_printed_row_says_the_interval_the_exact_value_and_the_theorem():
    first, second, third, fourth = tables.short_rows(_dataset())
    assert first == {
        "epsilon": "0.5",
        "noise": "gumbel",
        "success": "0.1235 (0.1111 to 0.2235), exact 0.15",
        "bound": "1 by T1",
        "counts[a]": "0",
        "counts[b]": "1",
        "share[a]": "0 (0 to 0)",
        "share[b]": "0.1429 (0.125 to 0.1667)",
        "bounds[T1]": "0",
    }
    assert second["success"] == "0.2 (0.1877 to 0.3)"  # its exact value is not known
    assert second["bound"] == "2 by T2"
    assert third["bound"] == "none proven"
    assert fourth["success"] == "not known"
    assert fourth["bound"] == "1.23457e+06"
    missing = _dataset()
    missing["bounds"][1, 0, 0] = NAN
    assert tables.short_rows(missing)[2]["bounds[T1]"] == "not by this theorem"


def test_a_table_that_cannot_be_written_is_one_sentence(tmp_path):
    """A folder is not made: the command has refused one that is missing before the work."""
    path = tmp_path / "missing" / "table"
    with pytest.raises(InputError, match=r"cannot write .*missing/table: .*non-existent directory"):
        tables.write_csv(_dataset(), path)
    assert not path.parent.exists()
    (tmp_path / "table").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*table: Is a directory$"):
        tables.write_csv(_dataset(), tmp_path / "table")


def test_files_hold_the_rows_and_no_number_of_a_row(tmp_path, monkeypatch):
    wanted = tables.to_table(_dataset())
    tables.write_csv(_dataset(), tmp_path / "a.csv")
    found = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert list(found[0]) == list(wanted.columns)
    assert [float(row["success"] or NAN) for row in found] == pytest.approx(
        list(wanted["success"]), nan_ok=True
    )
    with monkeypatch.context() as patched:
        # The library that writes Parquet need not be there.
        patched.setattr(importlib, "import_module", lambda name: None)
        written = []
        patched.setattr(
            pd.DataFrame, "to_parquet", lambda *given, **more: written.append((given, more))
        )
        tables.write_parquet(_dataset(), tmp_path / "a.parquet")
    (((frame, path), more),) = written
    pd.testing.assert_frame_equal(frame, wanted)
    assert (path, more) == (tmp_path / "a.parquet", {"index": False})
