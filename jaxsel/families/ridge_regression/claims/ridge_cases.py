"""Neighbouring regression data sets, and exact numbers of ridge regression on them."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression.settings import RunCalibration
from jaxsel.language.base import Budget


class RidgeSet(NamedTuple):
    """What the test of OPS-PTR depends on: the least eigenvalue of X'X, and |theta|."""

    least: float
    norm: float


class RidgePair(NamedTuple):
    """A data set and the same with one more record."""

    smaller: RidgeSet
    larger: RidgeSet
    leverage: float  # of the record, on the smaller set
    residual: float  # |y - x'theta| of the record, on the smaller set
    distance: float  # between the two solutions
    regularisation: float  # lambda
    records: int  # of the larger set
    where: str


def ridge_pair(
    features: np.ndarray, targets: np.ndarray, regularisation: float, where: str
) -> RidgePair:
    """The pair of all records but the last, and all records."""
    x, y = features[-1], targets[-1]
    eye = np.eye(features.shape[1])
    sets, solutions = [], []
    for rows, values in ((features[:-1], targets[:-1]), (features, targets)):
        square = rows.T @ rows
        solutions.append(np.linalg.solve(square + regularisation * eye, rows.T @ values))
        least = max(float(np.linalg.eigvalsh(square)[0]), 0.0)
        sets.append(RidgeSet(least, float(np.linalg.norm(solutions[-1]))))
    rest = features[:-1].T @ features[:-1] + regularisation * eye
    return RidgePair(
        smaller=sets[0],
        larger=sets[1],
        leverage=float(x @ np.linalg.solve(rest, x)),
        residual=float(abs(y - x @ solutions[0])),
        distance=float(np.linalg.norm(solutions[1] - solutions[0])),
        regularisation=regularisation,
        records=len(targets),
        where=where,
    )


def _worst_line(count: int, height: float, regularisation: float) -> RidgePair:
    """The pair of ``count`` records (height, 1) on the line, and these with (1, -1)."""
    features = np.append(np.full(count, height), 1.0)[:, None]
    targets = np.append(np.ones(count), -1.0)
    where = f"{count} records ({height!r}, 1), then (1, -1), lambda={regularisation!r}"
    return ridge_pair(features, targets, regularisation, where)


def ridge_pairs(budget: Budget) -> Iterator[RidgePair]:
    """Constructed pairs, then random ones in up to four dimensions."""
    for regularisation in (0.1, 1.0, 10.0, 100.0):
        for count in (1, 10, 1000):
            yield _worst_line(count, 1.0, regularisation)
            # the height of largest |theta|: X'X = lambda
            height = min(1.0, math.sqrt(regularisation / count))
            yield _worst_line(count, height, regularisation)
    for number, generator in enumerate(budget.draws()):
        count, dimension = generator.integers(1, 12), int(generator.integers(1, 5))
        features = generator.standard_normal((count + 1, dimension))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        if number % 2:
            features *= generator.uniform(0.0, 1.0, (count + 1, 1))
        signs = np.sign(features @ generator.standard_normal(dimension))
        targets = generator.uniform(-1.0, 1.0, count + 1) if number % 3 else signs
        regularisation = 10.0 ** generator.uniform(-1.5, 2.5)
        if number % 4 == 0:
            # The record that the others determine least, and contradict.
            gram, moment = features[:-1].T @ features[:-1], features[:-1].T @ targets[:-1]
            features[-1] = np.linalg.eigh(gram)[1][:, 0]
            solution = np.linalg.solve(gram + regularisation * np.eye(dimension), moment)
            targets[-1] = -1.0 if features[-1] @ solution > 0.0 else 1.0
        where = f"random pair {number} of seed {budget.seed}"
        yield ridge_pair(features, targets, regularisation, where)


_NODES, _STEP = np.linspace(-7.0, 7.0, 99, retstep=True)


class Line(NamedTuple):
    """A one-dimensional data set and the record that joins it."""

    square: float  # sum of x^2
    cross: float  # sum of x y
    x: float
    y: float
    regularisation: float


def run_delta_exact(run: RunCalibration, line: Line, epsilon: float) -> float:
    """The exact delta, at any real epsilon, of all that one run of OPS-PTR releases on the line.

    It is the larger hockey-stick divergence of the two directions, found by quadrature over the
    noise of the two bounds.

    Args:
      run: the settings of the run.
      line: the data set, and the record that joins it.
      epsilon: at which delta is taken.
    """
    square, cross, x, y, regularisation = line
    squares = np.array([square, square + x * x])
    norms = np.log1p(np.abs(np.array([cross, cross + x * y]) / (squares + regularisation)))
    leverage = x * x / (square + regularisation)
    residual = abs(y - x * cross / (square + regularisation))
    scale, margin = run.noise_multiplier, run.margin
    weights = np.exp(-0.5 * _NODES**2) * _STEP / math.sqrt(2.0 * math.pi)
    first, second = _NODES[:, None], _NODES[None, :]
    found = []
    for here, there in ((0, 1), (1, 0)):
        least = squares[here] + scale * (first - margin)
        moved = (squares[here] - squares[there]) / scale
        loss = 0.5 * moved**2 + moved * first
        bound = ridge.leverage_bound(regularisation, np.maximum(least, 0.0))
        spread = scale * ridge.log_norm_sensitivity(bound)
        log_norm = norms[here] + spread * (second + margin)
        moved = (norms[here] - norms[there]) / spread
        loss = loss + 0.5 * moved**2 + moved * second
        size = np.exp(np.clip(log_norm, 0.0, 50.0))
        precision = ridge.posterior_precision(run.sample_epsilon, run.tail, bound, size)
        shift = np.sqrt(precision * leverage) * residual
        rest = epsilon - loss
        sampled = ridge.posterior_delta(rest, leverage, shift)[here]
        # Nothing is released where no precision is private.
        nothing = -np.expm1(np.minimum(rest, 0.0))
        value = np.where(precision > 0.0, sampled, nothing)
        found.append(float(np.sum(weights[:, None] * weights[None, :] * value)))
    return max(found)
