"""Truncated Laplace noise: its law, and its privacy profile under a shift.

TLap(epsilon, truncation) has density proportional to exp(-epsilon |x|) on
|x| <= log(1/truncation)/epsilon.
"""

import math

import numpy as np
import numpy.typing as npt

from jaxsel.host.errors import check_interval, check_positive


def truncated_laplace_support(epsilon: float, truncation: float) -> float:
    """Half-width log(1/truncation)/epsilon of TLap(epsilon, truncation)."""
    epsilon = check_positive("epsilon", epsilon)
    return -math.log(check_interval("truncation", truncation, 0.0, 1.0)) / epsilon


def truncated_laplace_cdf(x: npt.ArrayLike, epsilon: float, truncation: float) -> np.ndarray:
    """P[X <= x], X of density proportional to exp(-epsilon |x|) on its support."""
    end = truncated_laplace_support(epsilon, truncation)
    x = np.clip(np.asarray(x, dtype=np.float64), -end, end)
    tail = (np.exp(-epsilon * np.abs(x)) - truncation) / (2.0 * (1.0 - truncation))
    return np.where(x < 0.0, tail, 1.0 - tail)[()]


def truncated_laplace_delta(
    epsilon: float, truncation: float, shift: float = 1.0, at_epsilon: float | None = None
) -> float:
    """Exact delta between TLap(epsilon, truncation) and itself, moved by ``shift``.

    The privacy loss is monotone, so the worst event is a half-line: the outcomes that are
    possible on one side only, and those with a loss above ``at_epsilon`` (default:
    ``epsilon``).
    """
    level = epsilon if at_epsilon is None else at_epsilon
    end = truncated_laplace_support(epsilon, truncation)
    cut = shift - end
    if level < epsilon * shift:
        cut = max(cut, min((shift - level / epsilon) / 2.0, end))
    kept = truncated_laplace_cdf(np.array([cut, cut - shift]), epsilon, truncation)
    return float(kept[0] - math.exp(level) * kept[1])
