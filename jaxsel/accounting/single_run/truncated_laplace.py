"""Truncated Laplace noise: its law, and its privacy profile under a shift.

TLap(epsilon, truncation) has density proportional to exp(-epsilon |x|) on
|x| <= log(1/truncation)/epsilon.
"""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.parameters import Epsilon
from jaxsel.host import floats
from jaxsel.language.domains import probability
from jaxsel.language.signature import validated

Truncation = Annotated[float, probability("least density, relative to the largest")]


@validated
def truncated_laplace_support(epsilon: Epsilon, truncation: Truncation) -> float:
    """The largest value log(1/truncation)/epsilon of truncated Laplace noise."""
    return -math.log(truncation) / epsilon


@validated
def truncated_laplace_cdf(x: npt.ArrayLike, epsilon: Epsilon, truncation: Truncation) -> np.ndarray:
    """Probability that truncated Laplace noise is at most x.

    Args:
      x: any shape, which the result has.
      epsilon: inverse scale of the noise.
      truncation: density at the ends of the support, relative to that at 0.
    """
    end = truncated_laplace_support(epsilon, truncation)
    x = np.clip(np.asarray(x, dtype=np.float64), -end, end)
    tail = (np.exp(-epsilon * np.abs(x)) - truncation) / (2.0 * (1.0 - truncation))
    return np.where(x < 0.0, tail, 1.0 - tail)[()]


@validated
def truncated_laplace_delta(
    epsilon: Epsilon, truncation: Truncation, shift: float = 1.0, at_epsilon: float | None = None
) -> float:
    """The exact delta between truncated Laplace noise and itself, moved by ``shift``.

    The privacy loss is monotone, so the worst event is a half-line: the outcomes that are
    possible on one side only, and those with a loss above ``at_epsilon``.

    Args:
      epsilon, truncation: as of ``truncated_laplace_cdf``.
      shift: sensitivity of what the noise is added to.
      at_epsilon: at which delta is asked for; ``epsilon`` by default.
    """
    level = epsilon if at_epsilon is None else at_epsilon
    end = truncated_laplace_support(epsilon, truncation)
    cut = shift - end
    if level < epsilon * shift:
        cut = max(cut, min((shift - level / epsilon) / 2.0, end))
    kept = truncated_laplace_cdf(np.array([cut, cut - shift]), epsilon, truncation)
    if level > 20.0 and cut - shift <= -end:
        # Nothing lies below the support; e^level would make much of what rounding leaves there.
        return float(kept[0])
    return float(kept[0] - floats.exp(level) * kept[1])
