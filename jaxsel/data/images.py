"""Small labelled images: scikit-learn's digits, MNIST, and Fashion-MNIST."""

import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.data.download import Source, read_source
from jaxsel.host.errors import InputError, check_choice

IMAGE_SETS = ("digits", "mnist", "fashion_mnist")
_DIGITS_TRAINING = 1437  # four fifths of 1797
_MNIST_MIRROR = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"


def _mnist(file: str, sha256: str, archive: str) -> Source:
    return Source(
        file, f"{_MNIST_MIRROR}{file}.gz", sha256, archive=f"sha256:{archive}", folder="mnist"
    )


def _fashion(file: str, md5: str) -> Source:
    return Source(file, f"{_FASHION}{file}.gz", archive=f"md5:{md5}", folder="fashion_mnist")


_SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": (
        _mnist(
            "train-images-idx3-ubyte",
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        _mnist(
            "train-labels-idx1-ubyte",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        _mnist(
            "t10k-images-idx3-ubyte",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        _mnist(
            "t10k-labels-idx1-ubyte",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    "fashion_mnist": (
        _fashion("train-images-idx3-ubyte", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        _fashion("train-labels-idx1-ubyte", "25c81989df183df01b3e8a0aad5dffbe"),
        _fashion("t10k-images-idx3-ubyte", "bef4ecab320f06d8554ea6380940ec79"),
        _fashion("t10k-labels-idx1-ubyte", "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
}


class ImageSet(NamedTuple):
    """Images and labels, split as published.

    Attributes:
      name: one of IMAGE_SETS.
      images: Float32["n height width 1"], for training, in [0, 1].
      labels: Int32["n"], from 0.
      test_images, test_labels: the same, held out.
    """

    name: str
    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    @property
    def classes(self) -> int:
        """The number of labels."""
        return int(max(self.labels.max(), self.test_labels.max())) + 1


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """The array of an IDX file of unsigned bytes.

    Args:
      content: of the file, decompressed.
      name: of the file, for errors.

    Raises:
      InputError: if it is not such a file, or its length differs from its header.
    """
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise InputError(f"{name} is not an IDX file of unsigned bytes")
    axes = content[3]
    if len(content) < 4 + 4 * axes:
        raise InputError(f"{name} ends inside its header")
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if values.size != math.prod(shape):
        raise InputError(f"{name} holds {values.size} values; its header says {math.prod(shape)}")
    return values.reshape(shape)


def _pixels(values: np.ndarray, highest: float) -> np.ndarray:
    return (values / highest).astype(np.float32)[..., None]


def _digits() -> ImageSet:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise InputError(
            'the digits come with scikit-learn; run pip install "jaxsel[data]"'
        ) from None

    found = load_digits()
    images = _pixels(np.asarray(found["images"]), 16.0)  # type: ignore[index]
    labels = np.asarray(found["target"], dtype=np.int32)  # type: ignore[index]
    # The file is ordered by writer; a fixed shuffle splits writers evenly.
    order = np.random.default_rng(0).permutation(labels.size)
    first, last = order[:_DIGITS_TRAINING], order[_DIGITS_TRAINING:]
    return ImageSet("digits", images[first], labels[first], images[last], labels[last])


def load_images(name: str = "digits", path: str | Path | None = None) -> ImageSet:
    """Labelled images by name.

    Args:
      name: "digits" (1,437 + 360 images of 8 x 8 pixels, bundled with scikit-learn),
        "mnist" or "fashion_mnist" (60,000 + 10,000 of 28 x 28).
      path: folder of the IDX files, plain or gzipped, under their published names, or
        of a folder "mnist" or "fashion_mnist" with them; default: the folder in the
        variable JAXSEL_DATA, else a download. Not for digits.

    Raises:
      InputError: for an unknown name, a missing file, or another checksum or shape.
    """
    check_choice("data set", name, IMAGE_SETS)
    if name == "digits":
        if path is not None:
            raise InputError("digits come with scikit-learn; leave the data folder out")
        return _digits()
    arrays = [parse_idx(read_source(source, path), source.file) for source in _SOURCES[name]]
    for images, labels in (arrays[:2], arrays[2:]):
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise InputError(
                f"{name} has images of shape {images.shape} and labels of shape "
                f"{labels.shape}; they must be n x height x width and n"
            )
    return ImageSet(
        name,
        _pixels(arrays[0], 255.0),
        arrays[1].astype(np.int32),
        _pixels(arrays[2], 255.0),
        arrays[3].astype(np.int32),
    )
