"""Histograms for private top-k selection: numbers of users who visited each of many places.

There are two sets of check-ins of Carvalho, Wang, Gondara & Miao (2020), Foursquare and
Gowalla (the sizes that Zhu & Wang 2022 give for BrightKite are Gowalla's), and generated
ones. A user counts once for each place. The files are not downloaded; an error message says
where they can be found.
"""

import gzip
import hashlib
import io
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.data.download import FOLDER_VARIABLE
from jaxsel.host.errors import InputError, check_choice, check_integer, check_positive

CHECK_INS = ("foursquare", "gowalla")


class Sizes(NamedTuple):
    """The sizes of a set in Carvalho et al. 2020, Table 1.

    Attributes:
      users: number of users; 1/users is delta in their experiments.
      candidates: number of places.
      largest: number of users of the most visited place.
      rare: the 0.99 quantile, over places, of the number of users.
    """

    users: int
    candidates: int
    largest: int
    rare: int


PUBLISHED: Mapping[str, Sizes] = {
    "foursquare": Sizes(2293, 100_191, 1274, 28),
    "gowalla": Sizes(107_092, 1_280_968, 2931, 24),
}


class Histogram(NamedTuple):
    """Counts of users.

    Attributes:
      name: name of the set.
      head: Int64["head"], the largest counts in descending order; all others are 0.
      candidates: total number of candidates, at least the size of the head.
      users: number of users.
      source: description of where the counts come from, for a caption.
      generated: whether they are generated in place of real data.
    """

    name: str
    head: np.ndarray
    candidates: int
    users: int
    source: str
    generated: bool

    @property
    def data(self) -> dict[str, object]:
        """The input of top-k mechanisms."""
        return {"head": self.head, "candidates": self.candidates}


class _File(NamedTuple):
    """A file that contains a set.

    Attributes:
      names: its possible names in a folder.
      kind, digest: checksum of the file as it is, "sha256", "md5" or "git" (blob id).
      read: content -> Int64["places"], number of users of each place, in any order.
      source: description of the file.
    """

    names: tuple[str, ...]
    kind: str
    digest: str
    read: Callable[[bytes], np.ndarray]
    source: str


def _checksum(kind: str, content: bytes) -> str:
    if kind == "git":
        content = b"blob %d\0" % len(content) + content
    name = "sha1" if kind == "git" else kind
    return hashlib.new(name, content, usedforsecurity=False).hexdigest()


# --- Contents -------------------------------------------------------------------------


def _users_of_each(users: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Number of distinct users of each place, given user and place of every check-in."""
    _, place = np.unique(places, return_inverse=True)
    _, user = np.unique(users, return_inverse=True)
    pairs = np.unique(place.astype(np.int64) * (user.max() + 1) + user)
    return np.bincount(pairs // (user.max() + 1))


def _foursquare_archive(content: bytes) -> np.ndarray:
    """Reads dataset_tsmc2014.zip: one file per city, whose first columns are user and venue."""
    found = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for city in ("NYC", "TKY"):
            name = f"dataset_tsmc2014/dataset_TSMC2014_{city}.txt"
            table = np.loadtxt(
                io.BytesIO(archive.read(name)),
                dtype="U24",
                delimiter="\t",
                usecols=(0, 1),
                encoding="latin-1",
                comments=None,
            )
            found.append(_users_of_each(table[:, 0], table[:, 1]))
    return np.concatenate(found)


def _gowalla_check_ins(content: bytes) -> np.ndarray:
    """Reads loc-gowalla_totalCheckins.txt.gz, whose first and last columns are user and place."""
    table = np.loadtxt(
        io.BytesIO(gzip.decompress(content)),
        dtype=np.int64,
        delimiter="\t",
        usecols=(0, 4),
        comments=None,
    )
    return _users_of_each(table[:, 0], table[:, 1])


def _prepared(content: bytes) -> np.ndarray:
    with np.load(io.BytesIO(content)) as arrays:
        return arrays["histogram_sorted"].astype(np.int64)


_FOURSQUARE = "Foursquare check-ins in New York and Tokyo (Yang et al. 2015)"
_GOWALLA = "Gowalla check-ins (Cho et al. 2011)"
_FILES: dict[str, tuple[_File, ...]] = {
    "foursquare": (
        _File(
            ("dataset_tsmc2014.zip",),
            "git",
            "22423f781b012521a73937aaeefc9d99dcc256c3",
            _foursquare_archive,
            _FOURSQUARE,
        ),
        _File(
            ("foursquare_tsmc2014.npz", "foursquare_tsmc2014/foursquare_tsmc2014.npz"),
            "sha256",
            "53d342ce2e3d7bec087ecd42dc36f5a1254b8205c9d57633b9a25911adc7c55d",
            _prepared,
            f"{_FOURSQUARE}, Tokyo's users inferred: largest counts 2 % low",
        ),
    ),
    "gowalla": (
        _File(
            ("loc-gowalla_totalCheckins.txt.gz",),
            "md5",
            "8ebd5ed2dd376d8982987c49429cb9f9",
            _gowalla_check_ins,
            _GOWALLA,
        ),
        _File(
            ("gowalla_10core.npz", "gowalla_10core/gowalla_10core.npz"),
            "sha256",
            "af6c7a657b1b1d27084b41ed07d3bba22b8e08ebff1b7adcdcba11b36c483a66",
            _prepared,
            f"{_GOWALLA}, only users and places with 10 or more, hence largest counts "
            "20 % low; all other places count 0",
        ),
    ),
}
_PAGES = {
    "foursquare": "dataset_tsmc2014.zip from "
    "https://sites.google.com/site/yangdingqi/home/foursquare-dataset",
    "gowalla": "https://snap.stanford.edu/data/loc-gowalla_totalCheckins.txt.gz",
}


# --- Finding them ---------------------------------------------------------------------


def _wanted(name: str) -> str:
    known = ", ".join(f"{f.names[0]} ({f.kind} {f.digest})" for f in _FILES[name])
    return (
        f"get {_PAGES[name]} and name the file, its folder, or the folder in the "
        f"variable {FOLDER_VARIABLE}; known are {known}"
    )


def _candidates(name: str, path: str | Path | None) -> list[Path]:
    """Files that may hold a set: at the path if given, else in the folder JAXSEL_DATA."""
    folder = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return []
    folder = Path(folder).expanduser()
    if path is not None and not folder.is_dir():
        return [folder]
    return [folder / place for file in _FILES[name] for place in file.names]


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:
        return False


def check_ins_available(name: str, path: str | Path | None = None) -> bool:
    """Whether a file of the set lies at the path or in the folder JAXSEL_DATA."""
    check_choice("data set", name, CHECK_INS)
    return any(map(_is_file, _candidates(name, path)))


def load_check_ins(name: str, path: str | Path | None = None) -> Histogram:
    """Loads the number of users of each place, as Carvalho et al. 2020 count them.

    The number of users, and therefore delta, is the published one whatever the file holds. So
    is the number of candidates: places that the file lacks have the count 0.

    Args:
      name: one of CHECK_INS.
      path: of the published file, or of the histogram prepared from it, or the folder; by
        default the folder in the variable JAXSEL_DATA.

    Raises:
      InputError: if the name is unknown, or no file or an altered one is found.
    """
    check_choice("data set", name, CHECK_INS)
    places = _candidates(name, path)
    found = next(filter(_is_file, places), None)
    if found is None:
        where = f"{places[0]} does not exist" if places else f"{name} is not at hand"
        raise InputError(f"{where}; {_wanted(name)}")
    content = found.read_bytes()
    for file in _FILES[name]:
        if _checksum(file.kind, content) == file.digest:
            break
    else:
        raise InputError(f"{found} has none of the known checksums; {_wanted(name)}")
    counts = -np.sort(-file.read(content))
    head = counts[counts > 0]
    sizes = PUBLISHED[name]
    return Histogram(name, head, max(sizes.candidates, head.size), sizes.users, file.source, False)


# --- Generated ------------------------------------------------------------------------


def zipf_histogram(name: str, *, candidates: int | None = None) -> Histogram:
    """A power law with the published sizes of a set, which replaces it.

    The place of rank r has largest / r^s users, rounded; s is such that 99 % of the published
    number of places do not exceed the published quantile.

    Args:
      name: one of CHECK_INS.
      candidates: number of places, at least 100; by default the published number.

    Raises:
      InputError: for an unknown name or a bad number.
    """
    check_choice("data set", name, CHECK_INS)
    sizes = PUBLISHED[name]
    count = sizes.candidates
    if candidates is not None:
        count = check_integer("candidates", candidates, 100)
    exponent = math.log(sizes.largest / sizes.rare) / math.log(sizes.candidates / 100)
    rank = np.arange(1, count + 1)
    head = np.rint(sizes.largest * rank**-exponent).astype(np.int64)
    source = f"generated power law with exponent {exponent:.2f}, in the size of {name}"
    return Histogram(f"generated {name}", head, count, sizes.users, source, True)


def two_level_histogram(k: int, *, bins: int = 15_000, count: float = 700.0) -> Histogram:
    """k bins of equal counts and none elsewhere (Zhu & Wang 2022, Figure 1(b)).

    Args:
      k: number of bins that are not empty, in [1, bins).
      bins: number of bins, which are the candidates.
      count: count of each of the k bins, a whole number of votes > 0.

    Raises:
      InputError: for parameters out of range.
    """
    k, bins = check_integer("k", k, 1), check_integer("bins", bins, 2)
    if k >= bins:
        raise InputError(f"k is {k}; it must be below the {bins} bins")
    votes = check_integer("count", check_positive("count", count), 1)
    head = np.full(k, votes, dtype=np.int64)
    return Histogram("two levels", head, bins, votes, f"{k} of {bins:,} bins count {votes}", True)
