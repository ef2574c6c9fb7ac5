"""The bar keeps quiet when nobody watches; records survive and say what is wrong."""

import time
import types

import numpy as np
import pytest

from jaxsel.host import progress, records
from jaxsel.host.errors import InputError


def test_no_bar_when_not_a_terminal(capsys):
    with progress.progress_bar(100, 0, None) as advance:
        advance(100)
    assert capsys.readouterr() == ("", "")


def test_a_bar_after_two_seconds_shows_rate_and_time_left(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 3.0, 4.0])
    fake = types.SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr(progress, "time", fake)
    with progress.progress_bar(100, 10, True) as advance:
        advance(20)
        assert capsys.readouterr().err == ""  # patience
        advance(30)
        advance(30)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "trials/s" in shown.err
    assert "90%" in shown.err


@pytest.mark.parametrize(
    ("times", "units", "said"),
    [
        # The first call, which compiles, is not judged.
        ([0.0, 15.0, 16.0], [1, 99], "1e+18 trials will take about 3.2e+08 years, at 99 a second"),
        ([0.0, 0.5, 1.0, 3.0], [1, 1, 999], "will take about 7.92e+07 years, at 400 a second"),
        ([0.0, 30.0], [60], "will take about 1.58e+10 years, at 2 a second"),
        ([0.0, 15.0], [60], ""),
    ],
)
def test_elsewhere_a_line_says_how_long_it_will_take(capsys, monkeypatch, times, units, said):
    clock = iter(times)
    monkeypatch.setattr(progress, "time", types.SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.progress_bar(10**18, 0, None) as advance:
        for each in units:
            advance(each)
        err = capsys.readouterr().err
        assert said in err
        assert err.count("\n") == bool(said)
        if said:
            advance(1)  # it is said once
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("given", [{"wanted": False}, {"limited": True}, {"total": None}])
def test_no_line_is_written_where_none_is_wanted(capsys, given):
    with progress.progress_bar(**({"total": 10**18, "done": 0, "wanted": None} | given)) as advance:
        for _ in range(3):
            advance(1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(61.0, "61 seconds"), (180.0, "3 minutes"), (7200.0, "2 hours"), (1e10, "317 years")],
)
def test_a_length_of_time_in_words(seconds, said):
    assert progress.duration(seconds) == said


def test_records_round_trip(tmp_path):
    path = tmp_path / "folder" / "a.nc"
    arrays = {"counts": np.arange(6).reshape(2, 3), "scalar": np.float64(0.5)}
    records.write(path, arrays=arrays, configuration={"seed": 1}, attributes={"x": [1]})
    found = records.read(path, {"seed": 1})
    np.testing.assert_array_equal(found.arrays["counts"], arrays["counts"])
    assert found.arrays["counts"].dtype == np.int64
    assert found.arrays["scalar"] == 0.5
    assert found.attributes["x"] == [1]
    assert "jax" in found.attributes["versions"]
    assert [p.name for p in path.parent.iterdir()] == ["a.nc"]


def test_records_refuse_what_they_should(tmp_path):
    path = tmp_path / "a.nc"
    with pytest.raises(InputError, match="there is no record"):
        records.read(path)
    records.write(path, arrays={}, configuration={"seed": 1})
    with pytest.raises(InputError, match=r"differs in seed"):
        records.read(path, {"seed": 2})
    with pytest.raises(InputError, match="cannot write"):
        records.write("/proc/none/a.nc", arrays={}, configuration={})


def test_digest_sees_structure_type_and_value():
    trees = [
        {"a": np.arange(3)},
        {"b": np.arange(3)},
        {"a": np.arange(3).astype(np.float64)},
        {"a": np.array([0, 1, 3])},
        {"a": (np.arange(2), np.arange(1))},
        {"a": np.arange(3).reshape(3, 1)},
    ]
    assert len({records.digest(tree) for tree in trees}) == len(trees)
    assert records.digest(trees[0]) == records.digest({"a": np.arange(3)})


def test_what_takes_long_says_so_and_what_is_quick_does_not(monkeypatch, capfd):
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.2)
    with progress.spinner("quick work", True):
        pass
    assert capfd.readouterr().err == ""
    with progress.spinner("long work", True):
        time.sleep(0.6)
    assert "long work" in capfd.readouterr().err
    with pytest.raises(ZeroDivisionError), progress.spinner("work that fails", True):
        raise ZeroDivisionError
    with progress.spinner("long work", None):  # no terminal
        time.sleep(0.4)
    assert capfd.readouterr().err == ""
