"""Check-ins: what is counted, which files are known, and what stands in for them."""

import gzip
import hashlib
import io
import os
import zipfile

import numpy as np
import pytest

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from sims.data import histograms
from sims.data.histograms import (
    CHECK_INS,
    PUBLISHED,
    check_ins_available,
    load_check_ins,
    two_level_histogram,
    zipf_histogram,
)

# User and place of each check-in; some users come again.
NYC = [(1, "a"), (1, "a"), (2, "a"), (3, "b"), (3, "b"), (3, "b"), (4, "a")]
TKY = [(1, "c"), (2, "c"), (2, "d"), (1, "c")]


def _city(rows) -> bytes:
    lines = (f"{u}\t{v * 6}\tx\tCafé #1\t40.7\t-74.0\t540\tTue" for u, v in rows)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n"


def _archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for city, rows in (("NYC", NYC), ("TKY", TKY)):
            archive.writestr(f"dataset_tsmc2014/dataset_TSMC2014_{city}.txt", _city(rows))
    return buffer.getvalue()


def _snap() -> bytes:
    rows = [(0, 22847), (0, 22847), (1, 22847), (7, 420315), (7, 21714), (8, 21714)]
    rows += [(9, 21714)]
    text = "".join(f"{u}\t2010-10-19T23:55:27Z\t30.2\t-97.7\t{p}\n" for u, p in rows)
    return gzip.compress(text.encode(), mtime=0)


def _npz(counts) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, histogram_sorted=np.asarray(counts, np.int32))
    return buffer.getvalue()


CONTENTS = {
    "foursquare": (_archive(), _npz([9, 4, 4, 1])),
    "gowalla": (_snap(), _npz([30, 12, 10])),
}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The published and the prepared files, as if these few rows were all there is."""
    changed = {}
    for name, contents in CONTENTS.items():
        files = []
        for file, content in zip(histograms._FILES[name], contents, strict=True):
            digest = histograms._checksum(file.kind, content)
            files.append(file._replace(digest=digest))
            (tmp_path / file.names[0]).write_bytes(content)
        changed[name] = tuple(files)
    monkeypatch.setattr(histograms, "_FILES", changed)
    return tmp_path


def test_distinct_users_are_counted(folder):
    # a: users 1, 2, 4; c: 1, 2; b and d: one each.
    found = load_check_ins("foursquare", folder)
    np.testing.assert_array_equal(found.head, [3, 2, 1, 1])
    assert found.candidates == PUBLISHED["foursquare"].candidates == 100_191
    assert found.users == 2293
    assert not found.generated
    assert "inferred" not in found.source
    assert found.data == {"head": found.head, "candidates": 100_191}
    found = load_check_ins("gowalla", folder)
    np.testing.assert_array_equal(found.head, [3, 2, 1])
    assert (found.candidates, found.users) == (1_280_968, 107_092)


def test_prepared_histograms_are_known_and_told_apart(folder):
    found = load_check_ins("foursquare", folder / "foursquare_tsmc2014.npz")
    np.testing.assert_array_equal(found.head, [9, 4, 4, 1])
    assert "inferred" in found.source
    (folder / "loc-gowalla_totalCheckins.txt.gz").unlink()
    inside = folder / "gowalla_10core"
    inside.mkdir()
    (folder / "gowalla_10core.npz").rename(inside / "gowalla_10core.npz")
    found = load_check_ins("gowalla", folder)
    np.testing.assert_array_equal(found.head, [30, 12, 10])
    assert "10 or more" in found.source


def test_folder_of_the_environment(folder, monkeypatch):
    assert not any(check_ins_available(name) for name in CHECK_INS)
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert all(check_ins_available(name) for name in CHECK_INS)
    assert load_check_ins("gowalla").head.size == 3


def test_git_names_a_file_by_this_checksum():
    # git hash-object of an empty file, and of "hello\n".
    assert histograms._checksum("git", b"").startswith("e69de29bb2d1d6434b8b29ae775a")
    assert histograms._checksum("git", b"hello\n").startswith("ce013625030ba8dba906f7")
    assert histograms._checksum("md5", b"x") == hashlib.md5(b"x").hexdigest()


@pytest.mark.parametrize("name", CHECK_INS)
def test_absent_and_altered_files_are_refused(name, tmp_path, monkeypatch):
    def complaint(*arguments):
        with pytest.raises(InputError) as error:
            load_check_ins(*arguments)
        text = str(error.value)
        assert "\n" not in text
        assert FOLDER_VARIABLE in text
        for file in histograms._FILES[name]:
            assert file.digest in text
        assert "https://" in text
        return text

    assert "is not at hand" in complaint(name)
    assert "does not exist" in complaint(name, tmp_path / "nothing")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert "does not exist" in complaint(name)
    other = tmp_path / "other.npz"
    other.write_bytes(_npz([3, 2]))
    assert "none of the known checksums" in complaint(name, other)


def test_unknown_names_are_refused():
    for call in (load_check_ins, check_ins_available, zipf_histogram):
        with pytest.raises(InputError, match="must be one of: foursquare, gowalla"):
            call("brightkite")


@pytest.mark.parametrize("name", CHECK_INS)
def test_the_power_law_has_the_published_sizes(name):
    found, sizes = zipf_histogram(name), PUBLISHED[name]
    assert found.generated
    assert "generated" in found.source
    assert found.head.size == found.candidates == sizes.candidates
    assert found.head[0] == sizes.largest
    assert np.all(np.diff(found.head) <= 0)
    assert found.head[-1] >= 1
    quantile = np.quantile(found.head, 0.99)
    assert quantile == pytest.approx(sizes.rare, abs=0.5)
    few = zipf_histogram(name, candidates=1000)
    np.testing.assert_array_equal(few.head, found.head[:1000])
    assert few.candidates == 1000
    with pytest.raises(InputError, match="whole number >= 100"):
        zipf_histogram(name, candidates=10)


def test_two_levels():
    found = two_level_histogram(10)
    np.testing.assert_array_equal(found.head, np.full(10, 700))
    assert found.candidates == 15_000
    assert found.generated
    for arguments, sentence in (
        ({"k": 0}, "whole number >= 1"),
        ({"k": 15_000}, "must be below the 15000 bins"),
        ({"k": 3, "count": 0}, "count is 0"),
        ({"k": 3, "count": 1.5}, "whole number"),
    ):
        with pytest.raises(InputError, match=sentence):
            two_level_histogram(**arguments)


REAL = os.environ.get(FOLDER_VARIABLE)


@pytest.mark.skipif(not REAL, reason="the check-ins are not at hand")
@pytest.mark.parametrize("name", CHECK_INS)
def test_the_real_files(name):
    if not check_ins_available(name, REAL):
        pytest.skip("this set is not at hand")
    found, sizes = load_check_ins(name, REAL), PUBLISHED[name]
    assert found.candidates == sizes.candidates
    # The prepared histograms are low by what their source says.
    low = 0.97 if name == "foursquare" else 0.78
    assert low * sizes.largest <= found.head[0] <= sizes.largest
    if name == "foursquare":
        assert np.mean(found.head == 1) == pytest.approx(0.60, abs=0.01)
        assert np.quantile(found.head, 0.99) == sizes.rare
