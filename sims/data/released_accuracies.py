"""The accuracies that Papernot & Steinke released for their Figure 7.

One network for each of 1,012 learning rates, trained by DP-SGD on MNIST (60 epochs, batch
size 256, clipping norm 1, noise multiplier 1.1), with its accuracy on the test set; one
number each, no seeds. The file is theirs (tensorflow/privacy, Apache 2.0) and is not part
of this package.

Its keys are learning rates as text. The figure's 400 rates are the last of a thousand in a
logarithmic grid from 1e-4 to 1, and are found here by value, up to rounding. The released
code compares texts, and counts a rate that it does not find as accuracy 0: NumPy's powers
on processors with AVX-512 end in another digit for 21 of the 400 (its own without AVX-512,
and the C library's, agree with the file).
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.data.download import Source, available, read_source
from jaxsel.host.errors import InputError

_COMMIT = "03035d5d4a271ac795dab80f5bc1cef82fc3d462"
SOURCE = Source(
    "lr_acc.json",
    f"https://raw.githubusercontent.com/tensorflow/privacy/{_COMMIT}/research/"
    "hyperparameters_2022/lr_acc.json",
    "c7fe6c219a1208a0a5a09d11755ae804f614c128e3ec4b61f188771e10c50e72",
    folder="ps22_released",
)
_RELATIVE = 1e-9  # rates are 0.9 % apart, roundings 2e-16


class ReleasedAccuracies(NamedTuple):
    """Learning rates and accuracies.

    Attributes:
      rates: Float64["400"], learning rates of the figure, ascending, as in the file.
      accuracies: Float64["400"], on the test set, rounded to four decimals.
      all_rates, all_accuracies: Float64["1012"], everything in the file, ascending.
    """

    rates: np.ndarray
    accuracies: np.ndarray
    all_rates: np.ndarray
    all_accuracies: np.ndarray


def figure_rates() -> np.ndarray:
    """The learning rates that Figure 7 draws from, Float64["400"]: 0.02526 to 1."""
    return np.logspace(-4.0, 0.0, 1000)[-400:]


def released_available(path: str | Path | None = None) -> bool:
    """Whether the file lies at the path or in the folder of the environment."""
    return available(SOURCE, path)


def load_released_accuracies(path: str | Path | None = None) -> ReleasedAccuracies:
    """Loads the released table.

    Args:
      path: of lr_acc.json, or its folder; by default the folder in the variable JAXSEL_DATA,
        or the folder ps22_released in it, else a download.

    Raises:
      InputError: if the file is missing, has another checksum, or lacks a rate.
    """
    entries = json.loads(read_source(SOURCE, path))
    rates = np.array([float(text) for text in entries])
    ranked = np.argsort(rates)
    rates, accuracies = rates[ranked], np.array(list(entries.values()))[ranked]
    wanted = figure_rates()
    place = np.minimum(np.searchsorted(rates, wanted * (1 - _RELATIVE)), rates.size - 1)
    if not np.allclose(rates[place], wanted, rtol=_RELATIVE, atol=0.0):
        raise InputError(f"{SOURCE.file} lacks some of the {wanted.size} learning rates")
    return ReleasedAccuracies(
        rates=rates[place], accuracies=accuracies[place], all_rates=rates, all_accuracies=accuracies
    )
