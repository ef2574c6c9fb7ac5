"""Candidates for the private choice of hyperparameters.

For the selection of section 5.1 of Liu & Talwar 2019, for the privacy of D2.
Scikit-learn's 1797 handwritten digits are split once into a training set (D1), a
validation set (D2, the private one) and a test set. A candidate is one learner with one
setting of its hyperparameters, trained on D1 (not privately, so only D2 is protected);
its score is the number of examples of D2 that it labels correctly. Replacing one
example of D2, with D1 and the models fixed, moves that count by at most 1 and
validation accuracy by at most 1 / n_validation.

`run` trains the candidates (scikit-learn needed); `load` reads those stored here, made
by ``python -m sims.data.digits_candidates > sims/data/digits_candidates.json``.
"""

import datetime
import json
import platform
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata, util
from pathlib import Path
from typing import Any

from jaxsel.host.errors import InputError, check_integer
from jaxsel.host.progress import progress_bar

NAME = "digits-candidates"
STORED = Path(__file__).parent / "digits_candidates.json"
SIZES = {"n_train": 800, "n_validation": 500, "n_test": 497}


def settings() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (family, hyperparameters) of every candidate, poor ones included."""
    for strength in (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0):
        yield "logistic_regression", {"C": strength}
    for strength in (0.1, 1.0, 10.0, 100.0):
        for gamma in (1e-3, 1e-2, 0.1, 1.0):
            yield "support_vector_machine", {"C": strength, "gamma": gamma}
    for neighbours in (1, 3, 9, 27, 81, 243, 600):
        yield "nearest_neighbours", {"n_neighbors": neighbours}
    for depth in (1, 2, 3, 4, 6, 8, 12):
        yield "decision_tree", {"max_depth": depth}
    for trees in (3, 30):
        for depth in (1, 3, 9):
            yield "random_forest", {"n_estimators": trees, "max_depth": depth}
    for width in (2, 4, 8, 32):
        for rate in (3e-4, 1e-3, 1e-2):
            yield ("neural_network", {"hidden_layer_sizes": width, "learning_rate_init": rate})


def _learner(family: str, hyperparameters: Mapping[str, Any], seed: int):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    constructor, fixed = {
        "logistic_regression": (LogisticRegression, {"max_iter": 2000}),
        "support_vector_machine": (SVC, {"kernel": "rbf"}),
        "nearest_neighbours": (KNeighborsClassifier, {}),
        "decision_tree": (DecisionTreeClassifier, {"random_state": seed}),
        "random_forest": (RandomForestClassifier, {"random_state": seed}),
        "neural_network": (MLPClassifier, {"max_iter": 60, "random_state": seed}),
    }[family]
    return constructor(**fixed, **hyperparameters)


def train(family: str, hyperparameters: Mapping[str, Any], seed: int = 0) -> dict:
    """Trains one candidate on D1; returns its numbers of correct labels on D2 and the test set."""
    if util.find_spec("sklearn") is None:
        raise InputError("scikit-learn is not installed; pip install scikit-learn")
    from sklearn.datasets import load_digits
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    pixels = pixels / 16.0  # to [0, 1]
    x, x_rest, y, y_rest = train_test_split(
        pixels, digits, train_size=SIZES["n_train"], stratify=digits, random_state=seed
    )
    x_validation, x_test, y_validation, y_test = train_test_split(
        x_rest, y_rest, train_size=SIZES["n_validation"], stratify=y_rest, random_state=seed
    )
    model = _learner(family, hyperparameters, seed)
    with warnings.catch_warnings():
        # The neural networks stop after a fixed number of epochs on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    return {
        "validation_correct": int((model.predict(x_validation) == y_validation).sum()),
        "test_correct": int((model.predict(x_test) == y_test).sum()),
    }


def run(*, seed: int = 0, progress: bool = True) -> dict:
    """Trains every candidate, which takes seconds, and returns a record that `load` accepts."""
    seed = check_integer("seed", seed, 0)
    grid = list(settings())
    candidates = []
    with progress_bar(len(grid), 0, progress) as advance:
        for family, hyperparameters in grid:
            given = ",".join(f"{key}={value:g}" for key, value in hyperparameters.items())
            correct = train(family, hyperparameters, seed)
            candidates.append(
                {
                    "name": f"{family}({given})",
                    "family": family,
                    "hyperparameters": hyperparameters,
                    "validation_correct": correct["validation_correct"],
                    "validation_accuracy": correct["validation_correct"] / SIZES["n_validation"],
                    "test_accuracy": correct["test_correct"] / SIZES["n_test"],
                }
            )
            advance(1)
    packages = ("scikit-learn", "numpy", "scipy")
    return {
        "name": NAME,
        "made_by": "python -m sims.data.digits_candidates: scikit-learn's load_digits, "
        "pixels / 16, stratified split, each candidate trained once on the training "
        "set",
        "date": datetime.date.today().isoformat(),
        "versions": {name: metadata.version(name) for name in packages}
        | {"python": platform.python_version()},
        "split_seed": seed,
        **SIZES,
        "sensitivity": 1.0 / SIZES["n_validation"],
        "sensitivity_of": "validation_accuracy, when one validation example is "
        "replaced and the training set and the trained models are fixed",
        "candidates": candidates,
    }


def load(path: str | Path = STORED) -> dict:
    """Reads a stored record and checks it; scikit-learn is not needed.

    Raises:
      InputError: if the file is missing, is not JSON, or does not hold such a record.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from None
    try:
        _check(record)
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not a record of digits_candidates.run: {error!r}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return record


def _check(record: Mapping[str, Any]) -> None:
    count = check_integer("n_validation", record["n_validation"], 1)
    _check_equal("sensitivity", record["sensitivity"], 1.0 / count)
    names = [candidate["name"] for candidate in record["candidates"]]
    if not names or len(set(names)) < len(names):
        raise InputError("there must be at least one candidate, and names must differ")
    for name, candidate in zip(names, record["candidates"], strict=True):
        if not isinstance(candidate["hyperparameters"], dict):
            raise InputError(f"hyperparameters of {name} must map names to values")
        if not isinstance(candidate["family"], str):
            raise InputError(f"family of {name} must be a string")
        correct = candidate["validation_correct"]
        check_integer(f"validation_correct of {name}", correct, 0)
        if correct > count:
            raise InputError(
                f"validation_correct of {name} is {correct}; it must be at most {count}"
            )
        accuracy = candidate["validation_accuracy"]
        _check_equal(f"validation_accuracy of {name}", accuracy, correct / count)
        accuracy = candidate["test_accuracy"]
        if not 0.0 <= accuracy <= 1.0:
            raise InputError(f"test_accuracy of {name} is {accuracy}; it must lie in [0, 1]")


def _check_equal(name: str, value: float, expected: float) -> None:
    if not abs(value - expected) <= 1e-9:  # refuses NaN too
        raise InputError(f"{name} is {value}; its counts make it {expected:g}")


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
