"""Attributes of faces: which files are known, what is read, what stands in for them."""

import gzip
import hashlib
import io
import os

import numpy as np
import pytest

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError
from sims.data import celeba
from sims.data.celeba import celeba_available, generated_attributes, load_celeba, pick_queries

NAMES = [f"Name_{number}" for number in range(40)]
PRESENT = np.random.default_rng(0).random((7, 40)) < 0.3


def _text(present=PRESENT) -> bytes:
    """As published: the count, the names, padded numbers, two letters a line end."""
    lines = [str(len(present)), " ".join(NAMES) + " "]
    for number, row in enumerate(present, start=1):
        cells = " ".join(" 1" if value else "-1" for value in row)
        lines.append(f"{number:06}.jpg {cells}")
    return ("\r\n".join(lines) + "\r\n").encode()


def _npz(present=PRESENT) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, attr_packed=np.packbits(present, axis=1), attr_names=NAMES)
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder without files; those of PRESENT pass for the published ones."""
    digest = hashlib.md5(_text(), usedforsecurity=False).hexdigest()
    monkeypatch.setattr(celeba, "_TEXT_MD5", digest)
    packed = np.packbits(PRESENT, axis=1).tobytes()
    digest = hashlib.sha256(packed).hexdigest()
    monkeypatch.setattr(celeba, "_BITS_SHA256", digest)
    return tmp_path


FORMS = {
    "list_attr_celeba.txt": _text(),
    "list_attr_celeba.txt.gz": gzip.compress(_text()),
    "celeba_attr.npz": _npz(),
}


@pytest.mark.parametrize("inside", ["", "celeba"])
@pytest.mark.parametrize("name", FORMS)
def test_all_forms_hold_the_same(folder, monkeypatch, name, inside):
    (folder / inside).mkdir(exist_ok=True)
    assert not celeba_available(folder)
    (folder / inside / name).write_bytes(FORMS[name])
    assert celeba_available(folder)
    assert not celeba_available()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert celeba_available()
    for found in (load_celeba(), load_celeba(folder / inside / name)):
        np.testing.assert_array_equal(found.present, PRESENT)
        assert found.present.dtype == bool
        assert found.names == tuple(NAMES)
        assert not found.generated
        assert "CelebA" in found.source
        assert (found.training, found.test) == (162_770, 182_637)


def test_absent_and_altered_files_are_refused(folder, monkeypatch):
    def complaint(*arguments) -> str:
        with pytest.raises(InputError) as error:
            load_celeba(*arguments)
        text = str(error.value)
        assert "\n" not in text
        for part in (celeba._PAGE, celeba._TEXT, celeba._TEXT_MD5, FOLDER_VARIABLE):
            assert part in text
        return text

    assert "CelebA is not at hand" in complaint()
    assert "does not exist" in complaint(folder / "nothing")
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert "does not exist" in complaint()
    other = PRESENT.copy()
    other[3, 5] ^= True
    buffer = io.BytesIO()
    np.savez(buffer, something=PRESENT)
    altered = {
        "a": _text(other),
        "b": gzip.compress(_text(other)),
        "c": gzip.compress(_text())[:-20],
        "d": _npz(other),
        "e": _npz()[:-20],
        "f": buffer.getvalue(),
        "g": b"",
    }
    for name, content in altered.items():
        (folder / name).write_bytes(content)
        assert "is not the published file" in complaint(folder / name), name


def test_published_checksum():
    # The one that torchvision.datasets.CelebA checks.
    assert celeba._TEXT_MD5 == "75e246fa4810816ffd6ee81facbd244c"


def test_generated_attributes():
    found = generated_attributes()
    assert found.generated
    assert "generated" in found.source
    assert found.present.shape == (20_000, 40)
    assert (found.training, len(found.present) - found.test) == (16_000, 2000)
    law = np.geomspace(0.85, 0.02, 40)
    assert law.sum() == pytest.approx(9.1, abs=0.05)
    # Six standard deviations of a frequency in 16,000 images.
    assert np.all(np.abs(found.frequencies - law) < 6.0 * 0.5 / np.sqrt(16_000))
    np.testing.assert_array_equal(generated_attributes().present, found.present)
    assert np.any(generated_attributes(seed=1).present != found.present)


def test_queries_are_different_test_images():
    faces = generated_attributes()
    number = np.arange(20_000)[:, None] // 2 ** np.arange(40) % 2 == 1
    found = pick_queries(faces._replace(present=number), 2000, seed=3)
    images = (found * 2 ** np.arange(40)).sum(axis=1)
    np.testing.assert_array_equal(np.sort(images), np.arange(18_000, 20_000))
    few = pick_queries(faces, 5, seed=3)
    assert few.shape == (5, 40)
    np.testing.assert_array_equal(few, pick_queries(faces, 5, seed=3))
    with pytest.raises(InputError, match="queries is 2001; the test set has only 2000"):
        pick_queries(faces, 2001)
    with pytest.raises(InputError, match="whole number >= 1"):
        pick_queries(faces, 0)


REAL = os.environ.get(FOLDER_VARIABLE)


@pytest.mark.skipif(not (REAL and celeba_available(REAL)), reason="CelebA is not at hand")
def test_the_real_attributes():
    found = load_celeba(REAL)
    assert found.present.shape == (202_599, 40)
    parts = np.split(found.present, [found.training, found.test])
    assert [len(part) for part in parts] == [162_770, 19_867, 19_962]
    means = [round(float(part.sum(axis=1).mean()), 3) for part in parts]
    assert means == [9.027, 8.871, 9.250]
    assert found.names[20] == "Male"
    # The first image shows a smiling young woman with a pointed nose.
    first = {n for n, seen in zip(found.names, found.present[0], strict=True) if seen}
    assert {"Smiling", "Young", "Pointy_Nose", "No_Beard"} <= first
    assert "Male" not in first
