"""Regression sets: sources, checksums, what is normalised and how."""

import gzip
import hashlib
import os
import sys

import numpy as np
import pytest

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from sims.data import regression
from sims.data.regression import REGRESSION_SETS, load_regression

BIKE_ROWS = (
    "1,2011,01,01,1,0,1,0,0,6,0,1,0.24,0.2879,0.81,0,3,13,16",
    "2,2011,01,02,1,0,1,1,0,6,0,1,0.22,0.2727,0.8,0,8,32,40",
    "3,2012,07,02,3,1,7,2,0,1,1,2,0.62,0.5727,0.5,0.2,5,27,32",
)
UCI_HEADER = (
    "instant,dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,"
    "atemp,hum,windspeed,casual,registered,cnt"
)
ELEVATOR_ROWS = (
    "118, -55, -0.28, -0.08, -0.2, -11, 11, 0.005, -0.2, -0.0010, -0.0010, -0.0010, "
    "-0.0010, 0.0000, 0.0000, 0.0000, 0.0000, -0.0010, 0.031",
    "390, -45, -0.06, -0.07, -0.6, -12, 11, 0.010, -0.2, -0.0008, -0.0008, -0.0008, "
    "-0.0008, 0.0000, 0.0000, 0.0000, 0.0000, -0.0008, 0.034",
)


def _bytes(rows, end="\n"):
    return "".join(row + end for row in rows).encode()


def _uci(row):
    parts = row.split(",")
    return ",".join([parts[0], "-".join(parts[1:4]), *parts[4:]])


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def small(monkeypatch):
    """The two files, three and two rows long, as if that were what is published."""
    for name, rows, end in (("BIKE", BIKE_ROWS, "\r\n"), ("ELEVATORS", ELEVATOR_ROWS, "\n")):
        source = getattr(regression, name)
        digest = hashlib.sha256(_bytes(rows, end)).hexdigest()
        monkeypatch.setattr(regression, name, source._replace(sha256=digest))


@pytest.fixture
def folder(tmp_path, small):
    (tmp_path / "hour.csv").write_bytes(_bytes(BIKE_ROWS, "\r\n"))
    (tmp_path / "elevators.data").write_bytes(_bytes(ELEVATOR_ROWS))
    return tmp_path


@pytest.mark.parametrize("normalise", ["row", "maximum"])
@pytest.mark.parametrize("name", REGRESSION_SETS)
def test_records_lie_in_the_unit_ball(name, normalise, folder):
    path = folder if name in ("bike", "elevators") else None
    found = load_regression(name, path, normalise=normalise)
    n, d = found.features.shape
    assert found.name == name
    assert found.targets.shape == (n,)
    assert len(found.feature_names) == d
    norms = np.linalg.norm(found.features, axis=1)
    assert norms.max() == pytest.approx(1.0, abs=1e-12)
    if normalise == "row":
        np.testing.assert_allclose(norms, 1.0, atol=1e-12)
    assert np.abs(found.targets).max() == pytest.approx(1.0, abs=1e-12)
    assert found.targets.mean() == pytest.approx(0.0, abs=1e-12)


def test_sizes_and_columns():
    assert load_regression("synthetic").features.shape == (5000, 10)
    assert load_regression("diabetes").features.shape == (442, 10)


def test_bike_columns_and_target(folder):
    found = load_regression("bike", folder, normalise="maximum")
    assert found.features.shape == (3, 17)
    assert "instant" not in found.feature_names
    assert {"casual", "registered"} <= set(found.feature_names)
    counts = np.log([16.0, 40.0, 32.0])
    centred = counts - counts.mean()
    np.testing.assert_allclose(found.targets, centred / np.abs(centred).max())
    # The standardised column, up to the common factor.
    temperature = np.array([0.24, 0.22, 0.62])
    column = found.features[:, found.feature_names.index("temp")]
    expected = (temperature - temperature.mean()) / temperature.std()
    np.testing.assert_allclose(column * expected[0], expected * column[0], atol=1e-12)
    # A constant column says nothing.
    assert not found.features[:, found.feature_names.index("holiday")].any()
    fewer = load_regression("bike", folder, drop_leaking=True)
    assert fewer.features.shape == (3, 15)
    assert not {"casual", "registered"} & set(fewer.feature_names)


def test_elevators_columns(folder):
    found = load_regression("elevators", folder / "elevators.data")
    assert found.features.shape == (2, 18)
    assert found.feature_names[0] == "climbRate"
    np.testing.assert_allclose(found.targets, [-1.0, 1.0])


@pytest.mark.parametrize(
    "content",
    [
        _bytes(BIKE_ROWS),
        gzip.compress(_bytes(BIKE_ROWS, "\r\n")),
        _bytes([UCI_HEADER, *map(_uci, BIKE_ROWS)]),
        _bytes([UCI_HEADER, *map(_uci, BIKE_ROWS)], "\r\n"),
    ],
    ids=["plain-lines", "gzip", "uci", "uci-crlf"],
)
def test_variants_of_the_file_are_one(content, folder, tmp_path):
    expected = load_regression("bike", folder)
    other = tmp_path / "other.csv"
    other.write_bytes(content)
    found = load_regression("bike", other)
    np.testing.assert_array_equal(found.features, expected.features)
    np.testing.assert_array_equal(found.targets, expected.targets)


def test_folder_of_the_environment(folder, monkeypatch):
    assert load_regression("default").name == "diabetes"
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert load_regression("default").name == "bike"
    assert load_regression("elevators").features.shape == (2, 18)
    (folder / "hour.csv").rename(folder / "elsewhere")
    assert load_regression("default").name == "diabetes"
    (folder / "hour.csv.gz").write_bytes(gzip.compress(_bytes(BIKE_ROWS, "\r\n")))
    assert load_regression("bike").features.shape == (3, 17)


def _complaint(error):
    """One sentence that says where to get the file, the variable and the checksum."""
    text = str(error.value)
    assert "\n" not in text
    assert regression.BIKE.url in text
    assert FOLDER_VARIABLE in text
    assert regression.BIKE.sha256 in text
    return text


def test_an_altered_file_is_refused(folder):
    (folder / "hour.csv").write_bytes(_bytes(BIKE_ROWS[:2], "\r\n"))
    with pytest.raises(InputError) as error:
        load_regression("bike", folder)
    assert "has sha256" in _complaint(error)
    (folder / "hour.csv").write_bytes(gzip.compress(b"x")[:-4])
    with pytest.raises(InputError, match="whole gzip"):
        load_regression("bike", folder)


def test_a_missing_file_is_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="does not exist") as error:
        load_regression("bike", tmp_path / "nothing.csv")
    _complaint(error)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="does not exist") as error:
        load_regression("bike")
    _complaint(error)


def test_download_is_kept_and_checked(folder, monkeypatch):
    pooch = pytest.importorskip("pooch")
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash, fname))
        return str(folder / "hour.csv")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert load_regression("bike").features.shape == (3, 17)
    source = regression.BIKE
    assert asked == [(source.url, f"sha256:{source.sha256}", "hour.csv")]


def test_no_network_and_no_pooch(monkeypatch):
    pooch = pytest.importorskip("pooch")

    def retrieve(*args, **kwargs):
        raise ConnectionError("down")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(InputError, match="could not be downloaded") as error:
        load_regression("bike")
    _complaint(error)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match="to download it run pip install") as error:
        load_regression("bike")
    _complaint(error)


def test_bad_choices():
    with pytest.raises(InputError, match="must be one of: bike"):
        load_regression("boston")
    with pytest.raises(InputError, match="must be one of: row"):
        load_regression("synthetic", normalise="no")
    with pytest.raises(InputError, match="drop_leaking is for bike"):
        load_regression("synthetic", drop_leaking=True)


REAL = os.environ.get(FOLDER_VARIABLE)


@pytest.mark.skipif(not REAL, reason="the UCI files are not at hand")
def test_the_published_files():
    bike = load_regression("bike", REAL)
    assert bike.features.shape == (17379, 17)
    assert load_regression("elevators", REAL).features.shape == (8752, 18)
    # casual + registered is the count, so that the target leaks.
    table = regression._table(regression.read_source(regression.BIKE, REAL), 19, regression.BIKE)
    np.testing.assert_array_equal(table[:, 16] + table[:, 17], table[:, 18])
