"""Regression data for private linear regression: rows of norm <= 1, targets in [-1, 1].

"bike" (n = 17379, d = 17) and "elevators" (n = 8752, d = 18) are two sets of the UCI and
LIAAD repositories, in the files, and with the target log(y), that Wang (2018,
"Revisiting differentially private linear regression") published with his code.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.data.download import Source, available, read_source
from jaxsel.host.errors import InputError, check_choice

REGRESSION_SETS = ("bike", "elevators", "diabetes", "synthetic")
NORMALISATIONS = ("row", "maximum")

_WANG = (
    "https://raw.githubusercontent.com/yuxiangw/optimal_dp_linear_regression/"
    "a14dbe53d18281b52a1f4d75ef90d5105f304af9/data"
)
_BIKE_NAMES = (
    "instant",
    "year",
    "month",
    "day",
    "season",
    "yr",
    "mnth",
    "hr",
    "holiday",
    "weekday",
    "workingday",
    "weathersit",
    "temp",
    "atemp",
    "hum",
    "windspeed",
    "casual",
    "registered",
    "cnt",
)
_ELEVATORS_NAMES = (
    "climbRate",
    "Sgz",
    "p",
    "q",
    "curRoll",
    "absRoll",
    "diffClb",
    "diffRollRate",
    "diffDiffClb",
    "SaTime1",
    "SaTime2",
    "SaTime3",
    "SaTime4",
    "diffSaTime1",
    "diffSaTime2",
    "diffSaTime3",
    "diffSaTime4",
    "Sa",
    "Goal",
)
_SYNTHETIC_SHAPE = (5000, 10)


def _bike_lines(content: bytes) -> bytes:
    """Converts hour.csv of the UCI archive to the lines of Wang's file.

    The archive's file has a header, dates such as 2011-01-01, and other line ends.
    """
    if content.startswith(b"instant,"):
        content = content.partition(b"\n")[2].replace(b"-", b",")
    return content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


BIKE = Source(
    file="hour.csv",
    url=f"{_WANG}/bike/hour.csv",
    sha256="d3268aa10e83fe008c3dc03dfd33748a2a33adbef232eb0a40e5be38edf083a7",
    canonical=_bike_lines,
)
ELEVATORS = Source(
    file="elevators.data",
    url=f"{_WANG}/elevators/elevators.data",
    sha256="ab28e7c2819810f30fbc9715e8fa0c4630aa41eeb161846f0934edef728bca66",
    canonical=lambda content: content.replace(b"\r\n", b"\n"),
)


class RegressionData(NamedTuple):
    """A normalised regression set.

    Attributes:
      name: one of REGRESSION_SETS.
      features: Float64["n d"], every row of Euclidean norm <= 1.
      targets: Float64["n"], in [-1, 1].
      feature_names: tuple of d names.
    """

    name: str
    features: np.ndarray
    targets: np.ndarray
    feature_names: tuple[str, ...]


def _table(content: bytes, columns: int, source: Source) -> np.ndarray:
    lines = content.decode("ascii").split()
    # "a, b" of elevators splits at blanks too; commas end every number but the last.
    numbers = ",".join(line.strip(",") for line in lines).split(",")
    table = np.array(numbers, dtype=np.float64)
    if table.size % columns:
        raise InputError(f"{source.file} does not hold rows of {columns} numbers")
    return table.reshape(-1, columns)


def _bike(path, drop_leaking: bool):
    table = _table(read_source(BIKE, path), len(_BIKE_NAMES), BIKE)
    leaking = ("casual", "registered") if drop_leaking else ()
    kept = [i for i, n in enumerate(_BIKE_NAMES[:-1]) if n not in ("instant", *leaking)]
    return table[:, kept], np.log(table[:, -1]), [_BIKE_NAMES[i] for i in kept]


def _elevators(path):
    content = read_source(ELEVATORS, path)
    table = _table(content, len(_ELEVATORS_NAMES), ELEVATORS)
    return table[:, :-1], np.log(table[:, -1]), _ELEVATORS_NAMES[:-1]


def _diabetes():
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise InputError(
            "diabetes comes with scikit-learn, which is not installed; run "
            "pip install scikit-learn, or ask for synthetic"
        ) from None
    bunch = load_diabetes()
    return bunch.data, bunch.target, tuple(bunch.feature_names)  # type: ignore


def _synthetic():
    """Rows uniform on the sphere and a linear target with noise of variance 0.01."""
    generator = np.random.default_rng(2024)
    n, d = _SYNTHETIC_SHAPE
    rows = generator.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    weights = generator.standard_normal(d)
    weights /= np.linalg.norm(weights)
    targets = rows @ weights + 0.1 * generator.standard_normal(n)
    return rows, targets, tuple(f"x{i}" for i in range(d))


def _normalised(features: np.ndarray, targets: np.ndarray, normalise: str):
    spread = features.std(axis=0)
    spread = np.where(spread > 1e-12 * np.abs(features).max(axis=0), spread, math.inf)
    standard = (features - features.mean(axis=0)) / spread
    norms = np.linalg.norm(standard, axis=1, keepdims=True)
    if normalise == "row":
        norms = np.where(norms > 0.0, norms, 1.0)
    else:
        norms = norms.max()
    centred = targets - targets.mean()
    return standard / norms, centred / np.abs(centred).max()


def load_regression(
    name: str = "default",
    path: str | Path | None = None,
    *,
    normalise: str = "row",
    drop_leaking: bool = False,
) -> RegressionData:
    """Loads and normalises a regression set.

    Features are centred and divided by their standard deviation (a constant one becomes
    0), then every row by its own norm ("row", as Wang 2018 does) or all rows by the
    largest norm ("maximum"). Targets, logarithms for bike and elevators, are centred and
    divided by the largest magnitude. These means, deviations and maxima are treated as
    public, as in the papers: a guarantee for the normalised records does not cover them.

    Args:
      name: "bike", "elevators", "diabetes" (scikit-learn's own), "synthetic", or
        "default": bike where its file is at hand, else diabetes.
      path: of the file of bike or elevators, plain or gzip, or its folder; by default
        the folder in the variable JAXSEL_DATA, or else a download. Whatever the source,
        the sha256 of the content is checked.
      normalise: "row" or "maximum".
      drop_leaking: bike only: leaves out the columns casual and registered, whose sum
        is the count that is predicted. By default they stay in, as in the papers.

    Raises:
      InputError: if a choice is unknown, or a file is missing or altered.
    """
    check_choice("data set", name, (*REGRESSION_SETS, "default"))
    check_choice("normalise", normalise, NORMALISATIONS)
    if name == "default":
        name = "bike" if available(BIKE, path) else "diabetes"
    if drop_leaking and name != "bike":
        raise InputError(f"drop_leaking is for bike; {name} has no such columns")
    match name:
        case "bike":
            features, targets, names = _bike(path, drop_leaking)
        case "elevators":
            features, targets, names = _elevators(path)
        case "diabetes":
            features, targets, names = _diabetes()
        case _:
            features, targets, names = _synthetic()
    features, targets = _normalised(features, targets, normalise)
    return RegressionData(name, features, targets, tuple(names))
