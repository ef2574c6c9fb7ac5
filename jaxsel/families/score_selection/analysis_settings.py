"""Noise of private k-means and private principal components of a size that is tuned.

Liu & Talwar 2019, Section 5.2, pose the problem without an algorithm. Here one run draws a
random size, performs an analysis and scores it, and splits its epsilon between the two:

  k-means: Lloyd's iterations on noisy counts and sums (Blum, Dwork, McSherry & Nissim
    2005), from centres that do not depend on the data.
  principal components: the eigenvectors of a covariance matrix with Laplace noise (Dwork,
    McSherry, Nissim & Smith 2006; Blum et al. 2005).
  score: the mean over the points of a loss in [0, 1], with Laplace noise; a public price
    for each cluster or component makes sizes comparable.

Neighbours have one point replaced by another; the number n of points is public.
"""

import math
from typing import NamedTuple

from jaxsel.host.errors import check_positive
from jaxsel.language.domains import number, positive, whole

RUN_EPSILON = positive("epsilon_1 of one run", default=1)
ANALYSIS_SHARE = number("of epsilon_1, for the analysis", above=0.0, below=1.0, default=0.8)
ITERATIONS = whole("of Lloyd's algorithm", at_least=1, at_most=100, default=3)


class AnalysisNoise(NamedTuple):
    """Laplace scales of one run.

    Attributes:
      analysis: of each released statistic.
      score: of the mean score.
    """

    analysis: float
    score: float


def clustering_sensitivity(dimension: int) -> float:
    """2 (1 + d): largest L1 change of all counts and sums of one iteration.

    Points lie in [-1, 1]^d. The old point leaves one cluster, a change of at most 1 in
    its count and d in its sum; the new one joins one.
    """
    return 2.0 * (1.0 + dimension)


def covariance_sensitivity(dimension: int) -> float:
    """d + 1: largest L1 change of the sum of x x^T on and above the diagonal.

    Points have length at most 1, so that sum_(i <= j) |x_i x_j| = (|x|_1^2 + |x|_2^2)/2
    is at most (d + 1)/2, for the old point and for the new one.
    """
    return dimension + 1.0


def _noise(sensitivity: float, points: int, run_epsilon: float, share: float) -> AnalysisNoise:
    epsilon = RUN_EPSILON.read("run_epsilon", run_epsilon)
    share = ANALYSIS_SHARE.read("analysis_share", share)
    points = int(check_positive("points", points))
    # The score is a mean of numbers in [0, 1].
    return AnalysisNoise(sensitivity / (share * epsilon), 1.0 / (points * (1.0 - share) * epsilon))


def clustering_noise(
    points: int, dimension: int, run_epsilon: float, *, iterations: int = 3, share: float = 0.8
) -> AnalysisNoise:
    """Scales of a run of private k-means that is epsilon_1-DP by composition.

    The iterations get equal parts of share * epsilon_1; the score gets the rest.

    Raises:
      InputError: for numbers out of range.
    """
    iterations = ITERATIONS.read("iterations", iterations)
    sensitivity = iterations * clustering_sensitivity(dimension)
    return _noise(sensitivity, points, run_epsilon, share)


def component_noise(
    points: int, dimension: int, run_epsilon: float, *, share: float = 0.8
) -> AnalysisNoise:
    """Scales of a run of private principal components that is epsilon_1-DP.

    Raises:
      InputError: for numbers out of range.
    """
    return _noise(covariance_sensitivity(dimension), points, run_epsilon, share)


def composed_epsilon(run_epsilon: float, runs: int) -> float:
    """Epsilon of a fixed number of runs, whether all or only the best are released."""
    return runs * run_epsilon


def selected_epsilon(run_epsilon: float) -> float:
    """3 epsilon_1: the best of a geometric number of runs (Theorem 3.2)."""
    return 3.0 * run_epsilon


def runs_for(sizes: int, beta: float) -> int:
    """The mean number of runs, ceil(2 K/beta), that beats the best median except with beta.

    A run draws the best size with probability 1/K and is better than its median half of the
    time, p = 1/(2 K); the failure probability of Theorem 3.3 is gamma/p.
    """
    return math.ceil(2.0 * sizes / beta)
