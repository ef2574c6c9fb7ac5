"""The sample sizes of Cohen et al. 2022, Theorems 10 and 12, as displayed, with constants 1.

They are numbers of rows for adaptive data analysis; ``settings`` has them with all constants. The
paper writes log(1/beta) for log(1/delta), but delta must be alpha beta (CL-E21), which is used
here. For beta <= alpha the order is the same.
"""

import math
from typing import NamedTuple


def theorem_10(cells: int, queries: float, alpha: float, beta: float) -> float:
    """The sample size n of Theorem 10: sqrt(log|X| log(1/(alpha beta))) log(m/beta)/alpha^3.

    Args:
      cells: |X|, cells of the universe.
      queries: m.
      alpha: error of the answers for the population.
      beta: probability of a larger error.
    """
    return sample_sizes(cells, queries, alpha, math.log(beta)).theorem_10


def theorem_12(
    cells: int, queries: float, alpha: float, beta: float, *, noiseless_threshold: bool = False
) -> float:
    """The sample size n of Theorem 12.

    It is log(m) min(sqrt(log|X| log(1/(alpha beta)))/alpha^3, log|X|/alpha^4) +
    log(1/beta)/alpha^2.

    Args:
      cells, queries, alpha, beta: as of ``theorem_10``.
      noiseless_threshold: take the weaker form of Section 1.5.2, for a sparse vector without
        noise on the threshold; its last term is log(1/beta) log(m)/alpha^2 (CL-E16).
    """
    found = sample_sizes(cells, queries, alpha, math.log(beta))
    return found.noiseless_threshold if noiseless_threshold else found.theorem_12


def first_bound(
    cells: int, queries: float, alpha: float, beta: float, *, printed: bool = False
) -> float:
    """The sample size n of Theorem 12 by the first of its two bounds, that of Theorem 11.

    It is log(m) sqrt(log|X| log(1/(alpha beta)))/alpha^3 + log(1/beta)/alpha^2.

    Args:
      cells, queries, alpha, beta: as of ``theorem_10``.
      printed: take log(1/beta) for log(1/(alpha beta)), as the paper prints it (CL-E21).
    """
    low_beta = -math.log(beta)
    low_delta = low_beta if printed else low_beta - math.log(alpha)
    root = math.sqrt(math.log(cells) * low_delta) / alpha**3
    return root * math.log(queries) + low_beta / alpha**2


class SampleSizes(NamedTuple):
    """Sample sizes by each displayed formula, with all constants 1.

    Attributes:
      theorem_10, theorem_12: n of the theorems.
      noiseless_threshold: n of the weaker form of Theorem 12 in Section 1.5.2, corrected (CL-E16).
      not_adaptive: log(m/beta)/alpha^2, for queries fixed in advance.
    """

    theorem_10: float
    theorem_12: float
    noiseless_threshold: float
    not_adaptive: float


def sample_sizes(cells: int, queries: float, alpha: float, log_beta: float) -> SampleSizes:
    """The sample size by each formula, for a beta that may be below the least positive float.

    Args:
      cells, queries, alpha: as of ``theorem_10``.
      log_beta: natural logarithm of beta, below 0.
    """
    low_beta, size, many = -log_beta, math.log(cells), math.log(queries)
    root = math.sqrt(size * (low_beta - math.log(alpha))) / alpha**3
    least = min(root, size / alpha**4) * many
    last = low_beta / alpha**2
    return SampleSizes(
        root * (many + low_beta), least + last, least + last * many, many / alpha**2 + last
    )
