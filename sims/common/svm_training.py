r"""Papernot & Steinke 2022, Figure 1: a tuned hyperparameter reveals eight outliers.

A linear support vector machine with per-example objective
:math:`\|w\|_2^2 + \alpha \max(0, 1 - y (w \cdot x + b))` is trained by stochastic
gradient descent; training accuracy against the hinge weight alpha, with and without
eight copies of (7.9, -8.0) in the negative class.

The paper states the objective, the law of the 40 points and the outliers; not the
learning rate, mini-batch, epochs, start or range of alpha. Ours: mini-batches of 8
(they divide 40 and 48), reshuffled each epoch, 100 epochs, w and b started from
N(0, 1), constant learning rates 0.001, 0.003 and 0.01, all stored.

What comes out, beside the exact minimiser (`optimum`):
  - The minimiser is right on all 40 points at *every* alpha here, so the fall that the
    paper shows without outliers is made by the steps, whose noise grows with alpha: it
    begins near alpha = 10 at rate 0.003, near 2 at 0.01, and is hardly there at 0.001.
  - With outliers the minimiser jumps from 39 to 47 of 48 right near alpha = 6.3 and
    stays there. Noisy steps turn the jump into a peak: near 12 at rate 0.001, near 7 at
    0.003 (6 to 12 within two standard errors; the paper: about 8). At 0.01 the noise
    hides it and the smallest alpha is best: there b has not yet settled.
  - The *mean* of the hinge agrees with the paper; the sum would jump at 6.3/48 = 0.13.
"""

import numpy as np
from scipy.optimize import minimize

ALPHAS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
ALPHAS += (10.0, 12.0, 14.0, 16.0, 20.0, 24.0, 32.0, 48.0, 64.0)


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Points, shape (n, 2), and labels -1 or +1: "without_outliers", "with_outliers".

    The 40 points are those of scikit-learn's
    ``make_blobs(40, centers=2, random_state=6)``: its centres are the two that the
    paper prints. The same draws are made here, so scikit-learn is not needed.
    """
    draws = np.random.RandomState(6)
    centres = draws.uniform(-10.0, 10.0, (2, 2))
    points = np.concatenate([draws.normal(centre, 1.0, (20, 2)) for centre in centres])
    labels = np.repeat([-1.0, 1.0], 20)
    order = np.arange(40)
    draws.shuffle(order)
    points, labels = points[order], labels[order]
    outliers = np.tile([7.9, -8.0], (8, 1))
    return {
        "without_outliers": (points, labels),
        "with_outliers": (
            np.concatenate([points, outliers]),
            np.concatenate([labels, -np.ones(8)]),
        ),
    }


def train(
    points, labels, alphas, rates, runs: int, seed: int, batch: int = 8, epochs: int = 100
) -> np.ndarray:
    """Training accuracy of the last iterate, shape (runs, rates, alphas).

    Every rate and alpha of one run shares the start and the shuffles, so differences
    between them are paired.
    """
    generator = np.random.default_rng(seed)
    count = len(labels)
    signed = np.column_stack([points, np.ones(count)]) * labels[:, None]  # y (x, 1)
    alphas = np.asarray(alphas, dtype=np.float64)[:, None]
    rates = np.asarray(rates, dtype=np.float64)[:, None, None]
    start = generator.standard_normal((runs, 1, 1, 3))
    weights = np.tile(start, (1, len(rates), len(alphas), 1))  # (w, b)
    shrink = 1.0 - 2.0 * rates * np.array([1.0, 1.0, 0.0])  # b is not penalised
    for _ in range(epochs):
        order = generator.permuted(np.tile(np.arange(count), (runs, 1)), axis=1)
        for first in range(0, count, batch):
            drawn = signed[order[:, first : first + batch]][:, None]
            violated = weights @ np.swapaxes(drawn, -1, -2) < 1.0
            weights = shrink * weights
            weights += rates * alphas * (violated @ drawn) / drawn.shape[-2]
    return np.mean(weights @ signed.T > 0.0, axis=-1)


def optimum(points, labels, alpha: float) -> np.ndarray:
    """The exact minimiser (w, b) of ||w||^2 + alpha * mean hinge, shape (3,).

    The quadratic programme with one slack an example, by sequential least squares. At
    some alpha a whole interval of b is optimal; one of its points is returned.
    """
    count = len(labels)
    signed = np.column_stack([points, np.ones(count)]) * labels[:, None]
    margins = np.hstack([signed, np.eye(count)])
    penalised = np.concatenate([[2.0, 2.0, 0.0], np.zeros(count)])
    linear = np.concatenate([np.zeros(3), np.full(count, alpha / count)])
    result = minimize(
        lambda z: 0.5 * penalised @ z**2 + linear @ z,
        np.concatenate([np.zeros(3), np.ones(count)]),
        jac=lambda z: penalised * z + linear,
        method="SLSQP",
        bounds=[(None, None)] * 3 + [(0.0, None)] * count,
        constraints={"type": "ineq", "fun": lambda z: margins @ z - 1.0, "jac": lambda z: margins},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    if not result.success:
        raise RuntimeError(f"the quadratic programme failed at alpha = {alpha}")
    return result.x[:3]


def near_best(accuracy: np.ndarray) -> np.ndarray:
    """Which alphas may have the largest mean accuracy at each rate: Bool["rates alphas"].

    Runs are paired across alphas. An alpha may be best if its mean difference from the
    leading one is at most two standard errors.

    Args:
      accuracy: Float["runs rates alphas"], training accuracies.
    """
    best = accuracy.mean(axis=0).argmax(axis=-1)
    leading = np.take_along_axis(accuracy, best[None, :, None], axis=-1)
    gap = leading - accuracy
    return gap.mean(axis=0) <= 2.0 * gap.std(axis=0) / np.sqrt(len(accuracy))
