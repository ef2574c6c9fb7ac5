"""Koskela, Redberg & Wang 2024, Figure 5: private linear regression, tuned and not.

Test error of ridge regression with the regularisation of OPS-PTR tuned by geometrically
many runs, under four proofs of what that costs, beside two mechanisms that fix everything
beforehand. The two UCI sets are used where their files are at hand (in the folder of the
variable JAXSEL_DATA), else scikit-learn's diabetes set and a synthetic one.

Each set is split once, at random: 60 % for training, 20 % for validation, 20 % for the
test. Tuning trains on the first part and scores on the second, the others train on both.
One trial is one private fit. Its error is the mean squared error on the test part,
counted as twice that of predicting the mean, 0, where it is larger.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxsel.data import load_regression
from jaxsel.data.download import available
from jaxsel.data.regression import BIKE, ELEVATORS
from jaxsel.families.ridge_regression.baselines import (
    balanced_posterior_sampling,
    expected_error,
    output_perturbation,
)
from jaxsel.families.ridge_regression.linear_regression import ridge
from jaxsel.families.ridge_regression.posterior import tuned_posterior_sampling
from jaxsel.families.ridge_regression.tuned import (
    TUNING_THEOREMS,
    TunedCalibration,
    calibrate_tuned,
)
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import combine, counts, moments
from jaxsel.language.base import Mechanism
from jaxsel.repetitions import geometric

TRIALS = 2000
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
DELTA = 1e-6
MEAN_RUNS = 30
GRID = tuple(float(x) for x in np.geomspace(10.0, 100_000.0, 17))
REFERENCE = 1.0  # regularisation without privacy
BASELINES: Mapping[str, Mechanism] = {
    "output perturbation": output_perturbation(),
    "OPS-Balanced": balanced_posterior_sampling(),
}
METHODS = (*TUNING_THEOREMS, *BASELINES)
_SPLIT_SEED = 20240229
CAP = 2.0  # of an error, in units of the error of predicting 0
_FAST = Performance(block_size=1024)


class Split(NamedTuple):
    """A data set cut for the two kinds of mechanism, as their ``data``."""

    tuned: dict[str, np.ndarray]
    whole: dict[str, np.ndarray]

    @property
    def zero_error(self) -> float:
        """Test error of predicting 0."""
        return float(np.mean(self.whole["test_targets"] ** 2))


def data_sets() -> tuple[str, ...]:
    """The two UCI sets if both are at hand without a download, else the bundled ones."""
    if available(BIKE) and available(ELEVATORS):
        return ("bike", "elevators")
    return ("diabetes", "synthetic")


def split(name: str) -> Split:
    """Training, validation and test records of a set."""
    found = load_regression(name)
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(found.targets))
    ends = (np.array([0.6, 0.8]) * len(order)).astype(int)
    train, validation, test = np.split(order, ends)

    def part(prefix: str, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {
            f"{prefix}features": found.features[rows],
            f"{prefix}targets": found.targets[rows],
        }

    return Split(
        part("", train) | part("validation_", validation) | part("test_", test),
        part("", np.concatenate([train, validation])) | part("test_", test),
    )


@functools.cache
def calibration(theorem: str, epsilon: float) -> TunedCalibration:
    """The runs of a tuned method; costs a second for the envelope bound."""
    return calibrate_tuned(epsilon, DELTA, geometric(1.0 / MEAN_RUNS), theorem)


def _label(release):
    return release.label


def _error(release):
    return release.error.clip(0.0, CAP)


def _cells(method: str, cut: Split) -> tuple[Mechanism, list[tuple[Any, Any]]]:
    """The mechanism of a method and its cells, one an epsilon."""
    unit = {"error_unit": cut.zero_error}
    if method in BASELINES:
        budgets = [{"epsilon": e, "delta": DELTA} for e in EPSILONS]
        return BASELINES[method], [(cut.whole, unit | budget) for budget in budgets]
    found = [calibration(method, epsilon) for epsilon in EPSILONS]
    mechanism = tuned_posterior_sampling(found[0].repetitions.family)
    params = [{"calibration": each, "regularisation": GRID} for each in found]
    return mechanism, [(cut.tuned, unit | each) for each in params]


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Exact sums of test errors, and how often each regularisation was kept.

    Returns:
      Arrays by method, data set and epsilon ("error_...": exact sums for read_moments,
      in units of "zero_errors", the error of predicting 0; "label_counts", nothing
      last), numbers of each data set, and the settings.
    """
    names = data_sets()
    splits = [split(name) for name in names]
    parts = {"error": moments(_error, 0.0, CAP), "label": counts(_label, len(GRID) + 1)}
    found = []
    for number, method in enumerate(METHODS):
        for place, cut in enumerate(splits):
            mechanism, cells = _cells(method, cut)
            tallies = simulate_grid(
                mechanism, cells, trials=trials, seed=seed + number * len(names) + place,
                statistic=combine(parts),
                progress=progress, performance=_FAST,
            )  # fmt: skip
            found.append(tallies.values)
    shape = (len(METHODS), len(names), len(EPSILONS))

    def stacked(values: list) -> np.ndarray:
        return np.stack(values).reshape(*shape, *np.shape(values[0])[1:])

    errors = {
        f"error_{key}": stacked([each["error"][key] for each in found])
        for key in found[0]["error"]
    }
    return errors | {
        "label_counts": stacked([each["label"] for each in found]),
        "zero_errors": np.array([cut.zero_error for cut in splits]),
        "plain_errors": np.array(
            [
                expected_error(ridge(), cut.whole, {"regularisation": REFERENCE})
                for cut in splits
            ]
        ),
        "expected_errors": np.array(
            [
                [[cut.zero_error * expected_error(mechanism, *cell) for cell in cells]
                 for cut in splits for mechanism, cells in [_cells(name, cut)]]
                for name in BASELINES
            ]
        ),
        "sizes": np.array(
            [
                [len(cut.tuned[f"{part}targets"]) for part in ("", "validation_", "test_")]
                + [cut.tuned["features"].shape[1]]
                for cut in splits
            ]
        ),
        "methods": list(METHODS),
        "data_sets": list(names),
        "epsilons": list(EPSILONS),
        "delta": DELTA,
        "mean_runs": MEAN_RUNS,
        "regularisations": list(GRID),
        "trials": trials,
    }  # fmt: skip
