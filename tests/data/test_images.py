"""Image loaders: real digits, IDX files of known content, and refusals."""

import gzip
import hashlib
import struct

import numpy as np
import pytest

from jaxsel.data import images
from jaxsel.data.download import FOLDER_VARIABLE, Source
from jaxsel.host.errors import InputError


def idx(array: np.ndarray) -> bytes:
    header = b"\x00\x00\x08" + bytes([array.ndim])
    return header + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def small_set(monkeypatch, tmp_path):
    """A data set of three images whose checksums are known to the loader."""
    generator = np.random.default_rng(0)
    arrays = [
        generator.integers(0, 256, (2, 5, 4), dtype=np.uint8),
        np.array([3, 1], dtype=np.uint8),
        generator.integers(0, 256, (1, 5, 4), dtype=np.uint8),
        np.array([0], dtype=np.uint8),
    ]
    sources = []
    for number, array in enumerate(arrays):
        content = idx(array)
        packed = gzip.compress(content, mtime=0)
        folder = tmp_path / "mnist"
        folder.mkdir(exist_ok=True)
        if number % 2:
            (folder / f"file-{number}.gz").write_bytes(packed)
        else:
            (folder / f"file-{number}").write_bytes(content)
        sources.append(
            Source(f"file-{number}", "nowhere", hashlib.sha256(content).hexdigest(), folder="mnist")
        )
    monkeypatch.setitem(images._SOURCES, "mnist", tuple(sources))
    return tmp_path, arrays


def test_digits_are_whole_and_split_once():
    found = images.load_images()
    assert found.images.shape == (1437, 8, 8, 1)
    assert found.test_images.shape == (360, 8, 8, 1)
    assert found.images.dtype == np.float32
    assert found.labels.dtype == np.int32
    assert found.images.min() == 0.0
    assert found.images.max() == 1.0
    assert found.classes == 10
    rows = np.concatenate([found.images, found.test_images]).reshape(1797, -1)
    assert len(np.unique(rows, axis=0)) == len(rows)


@pytest.mark.parametrize("way", ["path", "variable", "inner folder"])
def test_idx_files_are_read_from_where_they_lie(small_set, monkeypatch, way):
    folder, arrays = small_set
    if way == "variable":
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
        found = images.load_images("mnist")
    else:
        found = images.load_images("mnist", folder if way == "path" else folder / "mnist")
    assert np.array_equal(found.images[..., 0] * np.float32(255), arrays[0])
    assert found.labels.tolist() == [3, 1]
    assert found.test_images.shape == (1, 5, 4, 1)
    assert found.test_labels.tolist() == [0]


def test_another_checksum_is_refused(small_set):
    folder, arrays = small_set
    (folder / "mnist" / "file-0").write_bytes(idx(arrays[0][::-1]))
    with pytest.raises(InputError, match="sha256"):
        images.load_images("mnist", folder)


def test_checksum_of_the_archive_where_only_that_is_published(small_set, monkeypatch):
    folder, _ = small_set
    packed = (folder / "mnist" / "file-1.gz").read_bytes()
    md5 = hashlib.md5(packed, usedforsecurity=False).hexdigest()
    good = Source("file-1", "nowhere", archive=f"md5:{md5}", folder="mnist")
    assert images.read_source(good, folder) == gzip.decompress(packed)
    bad = good._replace(archive="md5:" + "0" * 32)
    with pytest.raises(InputError, match="md5"):
        images.read_source(bad, folder)


def test_wrong_shapes_are_refused(small_set, monkeypatch):
    folder, _ = small_set
    sources = images._SOURCES["mnist"]
    monkeypatch.setitem(images._SOURCES, "mnist", (sources[0], sources[3], sources[2], sources[1]))
    with pytest.raises(InputError, match="shape"):
        images.load_images("mnist", folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"GIF89a..", "not an IDX file"),
        (b"\x00\x00\x08\x03\x00", "header"),
        (idx(np.zeros((2, 3), np.uint8))[:-1], "5 values; its header says 6"),
    ],
)
def test_broken_idx_files_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        images.parse_idx(content, "broken")


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("cifar", None, "data set"),
        ("digits", "somewhere", "scikit-learn"),
        ("fashion_mnist", "/nowhere", "does not exist"),
    ],
)
def test_unknown_names_and_places_are_refused(name, path, message):
    with pytest.raises(InputError, match=message):
        images.load_images(name, path)
