"""Laws of one run of the bases, and pairs of them, in float64 on the host."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.single_run import pairs
from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.language.signature import validated
from jaxsel.tuning.parameters import Response


class OrderedLaw(NamedTuple):
    """A finite law ordered best first.

    Attributes:
      probabilities: Float64["n"], best outcome first.
      scores: Float64["n"], non-increasing.
      labels: Int["n"], a permutation of range(n).
    """

    probabilities: np.ndarray
    scores: np.ndarray
    labels: np.ndarray


def ordered_law(probabilities, scores=None) -> OrderedLaw:
    """A law with its outcomes sorted by score, ties by label; without scores as it is given."""
    law = check_probability_vector("probabilities", probabilities)
    if scores is None:
        scores = np.arange(law.size, 0, -1) - 1.0
    scores = check_finite("scores", scores)
    if scores.shape != law.shape:
        raise InputError(
            f"there are {law.size} probabilities and {scores.size} scores; "
            "they must be equally many"
        )
    labels = np.argsort(-scores, kind="stable")
    return OrderedLaw(law[labels], scores[labels], labels.astype(np.int32))


@validated
def randomised_response_law(bit: int, epsilon: Response) -> np.ndarray:
    """Probabilities of the answers 0 and 1: Float64["2"].

    The answer equals the bit with probability e^epsilon / (1 + e^epsilon).
    """
    if bit not in (0, 1):
        raise InputError(f"the bit is {bit}; it must be 0 or 1")
    lie = np.exp(-np.logaddexp(0.0, epsilon))
    truth = np.exp(-np.logaddexp(0.0, -epsilon))
    return np.array([truth, lie] if bit == 0 else [lie, truth])


def survival(noise: str, z: npt.ArrayLike) -> np.ndarray:
    """P(Z > z) of the standard variate, "laplace" or "gaussian"."""
    z = np.asarray(z, dtype=np.float64)
    if noise == "gaussian":
        return special.ndtr(-z)
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z > 0, tail, 1.0 - tail)


class NamedPair(NamedTuple):
    """Laws of one run on two neighbouring inputs.

    Attributes:
      name: short name, used on the command line.
      laws: best outcome first.
      why: one sentence: the property of bounds that this pair tests.
    """

    name: str
    laws: pairs.LawPair
    why: str


def finite_pairs(epsilon: float) -> Iterator[NamedPair]:
    """Pairs of finite laws that are epsilon-close, each of which is hard for some bound."""
    ratio = np.exp(epsilon)
    # The best block may not be more likely than 1/(1 + e^epsilon).
    top = min(0.2, 0.9 / (1.0 + ratio))
    yield NamedPair(
        "three-outcome",
        pairs.three_outcome(epsilon, top, middle=1e-3 / (1.0 + ratio)),
        "best block likelier, rare middle block rarer: random stopping loses most",
    )
    likeliest = pairs.extreme_neighbours(0.3, epsilon)[1]
    # 1 - likeliest is inaccurate below e^-36.
    failing = max(1.0 - likeliest, 0.7 * np.exp(-epsilon))
    yield NamedPair(
        "bernoulli",
        pairs.LawPair(np.array([0.3, 0.7]), np.array([likeliest, failing])),
        "success probabilities as far apart as epsilon-DP allows",
    )
