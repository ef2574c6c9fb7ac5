"""Accuracies of objective perturbation, untuned and privately tuned, at the same total epsilon.

``python -m sims.data.objective_accuracies`` makes the table of docs/objective-perturbation.md, a
record beside this file. For each data set and seed a quarter of the records is held out; the rest
is the private data. Features are scaled by public constants. Four ways are compared on the records
held out:

* untuned: one fit that spends all of epsilon, with settings that were fixed beforehand;
* tuned: ``PrivatelyTuned`` over ``GRID``, each run with the epsilon at which the whole search,
  whose K is geometric with mean 5, spends the total;
* wrongly set: the same with the setting of ``GRID`` whose median accuracy is lowest, what a
  search guards against;
* not private: scikit-learn's logistic regression, the same clipping, the best of a grid in five
  folds.

Of a setting the share is fixed of epsilon that the Hessian's determinant may cost: it gives lambda.
"""

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split

from jaxsel.search.sklearn import PrivatelyTuned
from jaxsel.training.estimators import PrivateLogisticRegression
from jaxsel.training.objective_perturbation import clipped_rows

DELTA, REPETITIONS, SEEDS = 1e-5, "geometric:mean=5", 20
EPSILONS = (0.1, 1.0, 8.0)
NORMS, SHARES = (1.0, 4.0), (1 / 32, 1 / 8, 1 / 2)
GRID = tuple((norm, share) for norm in NORMS for share in SHARES)
UNTUNED = (1.0, 1 / 4)
_FILE = Path(__file__).with_suffix(".json")

# The largest values of each feature, as an expert would state them, whatever the data.
_LARGEST_OF_TUMOURS = (
    *(30, 40, 200, 2500, 0.2, 0.4, 0.5, 0.2, 0.4, 0.1),
    *(3, 5, 22, 550, 0.03, 0.2, 0.4, 0.06, 0.1, 0.03),
    *(40, 50, 260, 4500, 0.3, 1.2, 1.4, 0.3, 0.7, 0.3),
)


class Problem(NamedTuple):
    """Two classes to be told apart.

    Attributes:
      features: Float64["records features"], within about [-1, 1] by public constants.
      labels: Bool["records"].
    """

    features: np.ndarray
    labels: np.ndarray


def problems() -> dict[str, Problem]:
    """Handwritten digits, even against odd, and breast tumours."""
    images, digits = map(np.asarray, load_digits(return_X_y=True))
    rows, benign = map(np.asarray, load_breast_cancer(return_X_y=True))
    scaled = 2.0 * rows / np.array(_LARGEST_OF_TUMOURS) - 1.0
    return {
        "digits": Problem(images / 8.0 - 1.0, digits % 2 == 0),
        "breast cancer": Problem(scaled, benign == 1),
    }


def settings(epsilon: float, norm: float, share: float) -> dict[str, float]:
    """Parameters of a fit whose determinant costs at most that share of epsilon."""
    return {
        "epsilon": epsilon,
        "feature_norm": norm,
        "intercept": norm / 4.0,
        "regularisation": norm**2 / (4.0 * math.expm1(share * epsilon)),
    }


def _model(**given: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(delta=DELTA, classes=(False, True), **given)


def _search(epsilon_of_one: float, **given: Any) -> PrivatelyTuned:
    grid = [settings(epsilon_of_one, *each) for each in GRID]
    return PrivatelyTuned(_model(), grid, REPETITIONS, delta=DELTA, **given)


@functools.cache
def epsilon_of_one(total: float) -> tuple[float, float]:
    """The epsilon of each run of a search that costs at most ``total``, and its noise on scores.

    By bisection to 2 %; found without the data.
    """
    low, high, noise = 0.0, total, math.nan
    while high - low > 0.02 * total:
        middle = (low + high) / 2.0
        proved = _search(middle)._search(None, True)
        if proved.guarantee.epsilon <= total:
            low, noise = middle, proved._score.sigma
        else:
            high = middle
    return low, noise


def _split(problem: Problem, seed: int) -> list[Any]:
    return train_test_split(*problem, test_size=0.25, random_state=seed)


def untuned(problem: Problem, seed: int, total: float, norm: float, share: float) -> float:
    """The accuracy, on records held out, of one fit."""
    rows, held, labels, held_labels = _split(problem, seed)
    model = _model(**settings(total, norm, share), simulation=True, random_state=seed)
    return float(model.fit(rows, labels).score(held, held_labels))


def tuned(problem: Problem, seed: int, total: float) -> float:
    """The accuracy, on records held out, of a private search."""
    rows, held, labels, held_labels = _split(problem, seed)
    one, noise = epsilon_of_one(total)
    search = _search(one, scoring={"noise": noise}, simulation=True, random_state=seed)
    return search.fit(rows, labels).score(held, held_labels)


def best(problem: Problem, seed: int) -> float:
    """The accuracy of the best logistic regression that is not private."""
    rows, held, labels, held_labels = _split(problem, seed)
    grid = {"C": np.geomspace(1e-2, 1e4, 7)}
    found: Any = GridSearchCV(LogisticRegression(max_iter=5000), grid)
    found.fit(clipped_rows(rows, NORMS[-1]), labels)
    return float(found.score(clipped_rows(held, NORMS[-1]), held_labels))


def main() -> None:
    """Makes the record."""
    found: list[dict[str, Any]] = []
    for name, problem in problems().items():
        ceiling = [best(problem, seed) for seed in range(SEEDS)]
        found.append({"data": name, "way": "not private", "accuracies": ceiling})
        for total in EPSILONS:
            ways = {
                "untuned": [untuned(problem, seed, total, *UNTUNED) for seed in range(SEEDS)],
                "tuned": [tuned(problem, seed, total) for seed in range(SEEDS)],
            }
            others = [
                [untuned(problem, seed, total, *each) for seed in range(SEEDS)] for each in GRID
            ]
            ways["wrongly set"] = min(others, key=lambda values: float(np.median(values)))
            for way, values in ways.items():
                found.append({"data": name, "epsilon": total, "way": way, "accuracies": values})
            print(name, total, file=sys.stderr, flush=True)
    record = {
        "made_by": "python -m sims.data.objective_accuracies",
        "delta": DELTA,
        "repetitions": REPETITIONS,
        "of_one": {str(total): epsilon_of_one(total) for total in EPSILONS},
        "rows": found,
    }
    _FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def table() -> str:
    """The table of the documentation, from the record: quantiles over the seeds."""
    lines = ["| data | epsilon | way | 10 % | median | 90 % |", "|---|---|---|---|---|---|"]
    for row in json.loads(_FILE.read_text(encoding="utf-8"))["rows"]:
        low, middle, high = np.quantile(row["accuracies"], [0.1, 0.5, 0.9])
        total = f"{row['epsilon']:g}" if "epsilon" in row else ""
        cells = (row["data"], total, row["way"], *(f"{x:.3f}" for x in (low, middle, high)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
