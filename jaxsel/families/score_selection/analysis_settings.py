"""Noise of private k-means and private principal components of a size that is tuned.

Liu & Talwar 2019, Section 5.2, pose the problem without an algorithm. Here one run draws a
random size, performs an analysis and scores it; its epsilon is split between analysis and score:

  k-means: Lloyd's iterations on noisy counts and sums (Blum, Dwork, McSherry & Nissim
    2005), from centres that do not depend on the data.
  principal components: the eigenvectors of a covariance matrix with Laplace noise (Dwork,
    McSherry, Nissim & Smith 2006; Blum et al. 2005).
  score: the mean over the points of a loss in [0, 1], with Laplace noise; a public price
    for each cluster or component makes sizes comparable.

Neighbours have one point replaced by another; the number n of points is public.
"""

import math
from typing import Annotated, NamedTuple

from jaxsel.families.score_selection.parameters import Beta, Iterations, RunEpsilon, Sizes
from jaxsel.language.domains import number, whole
from jaxsel.language.signature import validated

_Points = Annotated[int, whole(at_least=1, at_most=1e15)]
_Dimension = Annotated[int, whole(at_least=1, at_most=1e15)]
_Share = Annotated[float, number("of epsilon_1, for the analysis", at_least=1e-100, below=1.0)]


class AnalysisNoise(NamedTuple):
    """The scales of the Laplace noise in one run.

    Attributes:
      analysis: of each released statistic.
      score: of the mean score.
    """

    analysis: float
    score: float


@validated
def _clustering_sensitivity(dimension: _Dimension) -> float:
    """The largest L1 change of all counts and sums of one iteration of k-means: 2 (1 + d).

    Points lie in [-1, 1]^d. When a point is replaced, the old one leaves a cluster, which changes
    the count by 1 and the sum by at most d, and the new one joins a cluster.
    """
    return 2.0 * (1.0 + dimension)


@validated
def _covariance_sensitivity(dimension: _Dimension) -> float:
    """The largest L1 change of the sum of x x^T on and above the diagonal: d + 1.

    Points have length at most 1, so that a point adds sum_(i <= j) |x_i x_j| = (|x|_1^2 +
    |x|_2^2)/2 <= (d + 1)/2 in L1; the old point is removed and the new one added.
    """
    return dimension + 1.0


def _noise(sensitivity: float, points: int, epsilon: float, share: float) -> AnalysisNoise:
    """The scales where the analysis, of this L1 sensitivity, gets a share of epsilon."""
    # The score is a mean of numbers in [0, 1].
    return AnalysisNoise(sensitivity / (share * epsilon), 1.0 / (points * (1.0 - share) * epsilon))


@validated
def clustering_noise(
    points: _Points,
    dimension: _Dimension,
    run_epsilon: RunEpsilon,
    *,
    iterations: Iterations = 3,
    share: _Share = 0.8,
) -> AnalysisNoise:
    """The Laplace scales of a run of private k-means that is epsilon_1-DP by composition.

    Args:
      points: how many there are.
      dimension: of the points.
      run_epsilon: epsilon_1.
      iterations: of Lloyd's algorithm, which get equal parts of share * epsilon_1.
      share: of epsilon_1 that the analysis gets; the score gets the rest.
    """
    sensitivity = iterations * _clustering_sensitivity(dimension)
    return _noise(sensitivity, points, run_epsilon, share)


@validated
def component_noise(
    points: _Points, dimension: _Dimension, run_epsilon: RunEpsilon, *, share: _Share = 0.8
) -> AnalysisNoise:
    """The Laplace scales of a run of private principal components that is epsilon_1-DP.

    Args:
      points, dimension, run_epsilon, share: as in ``clustering_noise``.
    """
    return _noise(_covariance_sensitivity(dimension), points, run_epsilon, share)


@validated
def composed_epsilon(run_epsilon: RunEpsilon, runs: Annotated[int, whole(at_least=1)]) -> float:
    """The epsilon of a fixed number of runs by composition, whether all or the best is released."""
    return runs * run_epsilon


@validated
def selected_epsilon(run_epsilon: RunEpsilon) -> float:
    """The epsilon of the best of a geometric number of runs: 3 epsilon_1 (Theorem 3.2)."""
    return 3.0 * run_epsilon


@validated
def runs_for(sizes: Sizes, beta: Beta) -> int:
    """The mean number of runs whose best is above the median score of the best size.

    It is ceil(2 K/beta), and fails with probability at most beta. A run draws the best of K sizes
    with probability 1/K, and scores above its median half of the time, so p = 1/(2 K); the failure
    probability of Theorem 3.3 is gamma/p.
    """
    return math.ceil(2.0 * sizes / beta)
