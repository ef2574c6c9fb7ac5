"""Case counts: differences, what is negative, which files are known."""

import csv
import gzip
import hashlib
import io
import os

import numpy as np
import pytest

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from sims.data import covid
from sims.data.covid import DAYS, KINDS, covid_available, generated_covid, load_covid

ALL_DAYS = ("2020-03-11", *DAYS)


def _published() -> bytes:
    """us-states.csv: two states; Idaho's total falls by 2 once, Guam starts late."""
    lines = ["date,state,fips,cases,deaths", "2020-01-21,Idaho,16,1,0"]
    for number, day in enumerate(ALL_DAYS):
        lines.append(f"{day},Idaho,16,{10 * number - (12 if number > 40 else 0)},0")
        if number > 20:
            lines.append(f"{day},Guam,66,{7},1")
    lines.append("2020-05-13,Idaho,16,9999,3")
    return ("\n".join(lines) + "\n").encode()


def _tables() -> dict[str, bytes]:
    return {kind: covid._window(_published(), kind) for kind in KINDS}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "us-states.csv").write_bytes(_published())
    for kind, table in _tables().items():
        name = kind.upper()
        source = getattr(covid, name)
        digest = hashlib.sha256(table).hexdigest()
        monkeypatch.setattr(covid, name, source._replace(sha256=digest))
    return tmp_path


def test_days():
    assert (len(DAYS), DAYS[0], DAYS[-1]) == (62, "2020-03-12", "2020-05-12")


def test_totals_and_their_differences(folder):
    all_cases = load_covid("cumulative", folder)
    daily = load_covid("daily", folder)
    assert all_cases.states == daily.states == ("Guam", "Idaho")
    assert all_cases.dates == daily.dates == DAYS
    idaho = [10 * n - (12 if n > 40 else 0) for n in range(63)]
    np.testing.assert_array_equal(all_cases.counts[:, 1], idaho[1:])
    # The first day's is the difference to the day before; a negative one is taken as 0.
    expected = np.maximum(np.diff(idaho), 0)
    np.testing.assert_array_equal(daily.counts[:, 1], expected)
    assert daily.counts[40, 1] == 0
    assert _tables()["daily"].splitlines()[41] == b"2020-04-21,0,-2"
    np.testing.assert_array_equal(all_cases.counts[:, 0], [0] * 20 + [7] * 42)
    assert daily.counts.sum(axis=0)[0] == 7
    assert not daily.generated


def test_other_line_ends_and_other_days_do_not_matter(folder):
    expected = load_covid("daily", folder)
    rows = list(csv.reader(io.StringIO(_published().decode())))
    text = "\r\n".join(",".join(r) for r in rows if r[0] != "2020-05-13")
    other = folder / "other.csv.gz"
    other.write_bytes(gzip.compress(text.encode()))
    np.testing.assert_array_equal(load_covid("daily", other).counts, expected.counts)


def test_tables_of_the_window(folder, monkeypatch):
    expected = load_covid("daily", folder)
    (folder / "us-states.csv").unlink()
    assert not covid_available(folder)
    inside = folder / "covid19_us"
    inside.mkdir()
    for kind, table in _tables().items():
        assert not covid_available(folder)
        (inside / f"nyt_final_2023-03-23_{kind}.csv").write_bytes(table)
    assert covid_available(folder)
    assert not covid_available()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert covid_available()
    np.testing.assert_array_equal(load_covid("daily").counts, expected.counts)


def test_absent_and_altered_files_are_refused(folder, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="not at hand") as error:
        load_covid()
    text = str(error.value)
    assert "\n" not in text
    assert covid._URL in text
    assert covid.DAILY.sha256 in text
    assert FOLDER_VARIABLE in text
    with pytest.raises(InputError, match="does not exist or has no us-states"):
        load_covid("daily", tmp_path / "nothing")
    altered = folder / "us-states.csv"
    altered.write_bytes(_published().replace(b"Idaho,16,100,", b"Idaho,16,101,"))
    with pytest.raises(InputError, match="has sha256"):
        load_covid("daily", folder)
    with pytest.raises(InputError, match="kind is 'weekly'; it must be one of: daily"):
        load_covid("weekly")


def test_the_invented_epidemic():
    daily, total = generated_covid("daily"), generated_covid("cumulative")
    assert daily.generated
    assert "generated" in daily.source
    assert daily.counts.shape == (62, 55) == (len(daily.dates), len(daily.states))
    np.testing.assert_array_equal(np.cumsum(daily.counts, axis=0), total.counts)
    assert daily.counts.min() >= 0
    # A hundredfold in the first 25 days.
    growth = daily.counts[25:].sum(axis=1).mean() / 300.0
    assert growth == pytest.approx(100.0, rel=0.02)
    np.testing.assert_array_equal(generated_covid("daily").counts, daily.counts)
    with pytest.raises(InputError, match="must be one of: daily, cumulative"):
        generated_covid("weekly")


REAL = os.environ.get(FOLDER_VARIABLE)


@pytest.mark.skipif(not (REAL and covid_available(REAL)), reason="the case counts are not at hand")
def test_the_real_counts():
    daily, total = load_covid("daily", REAL), load_covid("cumulative", REAL)
    assert len(daily.states) == 55
    assert total.counts[0].sum() == 1668
    assert total.counts[-1].sum() == 1_376_749
    assert total.counts[-1, total.states.index("New York")] == 343_705
    change = np.diff(total.counts, axis=0)
    differs = np.argwhere(change != daily.counts[1:])
    found = {(DAYS[day + 1], daily.states[state]) for day, state in differs}
    assert found == {
        ("2020-04-12", "Georgia"),
        ("2020-04-21", "Puerto Rico"),
        ("2020-05-03", "Idaho"),
    }
