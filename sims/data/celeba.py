"""The 40 attributes of the 202,599 face images of CelebA (Zhu & Wang 2022, EXP3).

CelebA (Liu, Luo, Wang & Tang 2015) is for non-commercial research only, so the
attributes are read from the user's own copy and nothing of them is kept in the package.
No images are needed.
"""

import gzip
import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError, check_integer

ATTRIBUTES = 40
TRAINING = 162_770  # images 1 to 162,770
TEST = 182_637  # the test set follows this many images
_GENERATED = (20_000, 16_000, 18_000)
_PAGE = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
_TEXT = "list_attr_celeba.txt"
_NPZ = "celeba_attr.npz"
_NAMES = (_NPZ, _TEXT, f"{_TEXT}.gz")  # fastest format first
_TEXT_MD5 = "75e246fa4810816ffd6ee81facbd244c"  # as torchvision checks it
_BITS_SHA256 = (  # of attr_packed in the .npz
    "68b200e274781dddb55b2e16e91b454ba2e3e9cd4a86149fa675f4cafc4bc90e"
)


class FaceAttributes(NamedTuple):
    """The attributes of each image.

    Attributes:
      names: names of the 40 attributes.
      present: Bool[np.ndarray, "images 40"].
      training: number of images in the training set; they are the first ones.
      test: number of images before the test set; all later ones belong to it.
      source: description of where the attributes come from, for a caption.
      generated: whether they are generated in place of real data.
    """

    names: tuple[str, ...]
    present: np.ndarray
    training: int
    test: int
    source: str
    generated: bool

    @property
    def frequencies(self) -> np.ndarray:
        """Share of the training images that show each attribute: Float["40"]."""
        return self.present[: self.training].mean(axis=0)


def _wanted() -> str:
    return (
        f"get {_TEXT} from {_PAGE} (for non-commercial research) and name the file, "
        f"its folder, or the folder in the variable {FOLDER_VARIABLE}; md5 of the file "
        f"decompressed: {_TEXT_MD5}"
    )


def _candidates(path: str | Path | None) -> list[Path]:
    """Files that may hold the attributes: at the path if given, else in JAXSEL_DATA."""
    folder = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return []
    folder = Path(folder).expanduser()
    if path is not None and not folder.is_dir():
        return [folder]
    return [place / name for place in (folder, folder / "celeba") for name in _NAMES]


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:
        return False


def celeba_available(path: str | Path | None = None) -> bool:
    """Whether a file of the attributes lies at the path or in JAXSEL_DATA."""
    return any(map(_is_file, _candidates(path)))


def _from_text(content: bytes) -> tuple[tuple[str, ...], np.ndarray]:
    """Parses the published text: the count, the names, then one line per image.

    A line has the image's file name, and 1 or -1 for each of the 40 attributes.
    """
    _, names, table = content.split(b"\n", 2)
    letters = np.frombuffer(table, dtype=np.uint8)
    # A number begins after a blank; the file's name begins a line.
    begins = np.flatnonzero((letters[1:] > 32) & (letters[:-1] == 32)) + 1
    present = letters[begins] != ord("-")
    return tuple(names.decode("ascii").split()), present.reshape(-1, ATTRIBUTES)


def _from_npz(arrays) -> tuple[tuple[str, ...], np.ndarray]:
    """Reads the arrays attr_names and attr_packed; the latter has eight attributes per byte."""
    present = np.unpackbits(arrays["attr_packed"], axis=1)[:, :ATTRIBUTES]
    return tuple(str(name) for name in arrays["attr_names"]), present.astype(bool)


def _read(place: Path) -> tuple[tuple[str, ...], np.ndarray]:
    content = place.read_bytes()
    altered = InputError(f"{place} is not the published file; {_wanted()}")
    if content[:2] == b"PK":
        try:
            with np.load(io.BytesIO(content)) as arrays:
                packed = arrays["attr_packed"].tobytes()
                if hashlib.sha256(packed).hexdigest() != _BITS_SHA256:
                    raise altered
                return _from_npz(arrays)
        except (KeyError, ValueError, zipfile.BadZipFile):
            raise altered from None
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError):
            raise altered from None
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != _TEXT_MD5:
        raise altered
    return _from_text(content)


def load_celeba(path: str | Path | None = None) -> FaceAttributes:
    """Loads the published attributes.

    Args:
      path: of list_attr_celeba.txt (plain or .gz), of an .npz with attr_packed (eight
        attributes per byte) and attr_names, or of the folder of one of them; by default the
        folder in the variable JAXSEL_DATA, or its folder celeba.

    Raises:
      InputError: if there is no such file, or an altered one.
    """
    places = _candidates(path)
    found = next(filter(_is_file, places), None)
    if found is None:
        where = f"{places[0]} does not exist" if places else "CelebA is not at hand"
        raise InputError(f"{where}; {_wanted()}")
    names, present = _read(found)
    return FaceAttributes(
        names, present, TRAINING, TEST, "CelebA attributes (Liu et al. 2015)", False
    )


def generated_attributes(*, seed: int = 0) -> FaceAttributes:
    """Generated attributes of 20,000 images, which replace the real ones.

    The attributes are independent, with frequencies that fall geometrically from 0.85 to
    0.02, so an image has 9.1 of the 40 on average (CelebA: 9.0). The first 16,000 images are
    the training set, the last 2,000 the test set.

    Args:
      seed: seed of the draws.
    """
    generator = np.random.default_rng(check_integer("seed", seed, 0))
    images, training, test = _GENERATED
    frequencies = np.geomspace(0.85, 0.02, ATTRIBUTES)
    present = generator.random((images, ATTRIBUTES)) < frequencies
    names = tuple(f"attribute {number}" for number in range(1, ATTRIBUTES + 1))
    source = "generated attributes, independent, frequencies 0.85 to 0.02"
    return FaceAttributes(names, present, training, test, source, True)


def pick_queries(faces: FaceAttributes, queries: int, *, seed: int = 0) -> np.ndarray:
    """Attributes of randomly picked test images: Bool["queries 40"].

    Args:
      faces: the attributes of the images.
      queries: number of different images.
      seed: seed of the choice.

    Raises:
      InputError: if the test set is smaller.
    """
    queries = check_integer("queries", queries, 1)
    pool = faces.present[faces.test :]
    if queries > len(pool):
        raise InputError(f"queries is {queries}; the test set has only {len(pool)} images")
    generator = np.random.default_rng(check_integer("seed", seed, 0))
    return pool[generator.choice(len(pool), queries, replace=False)]
