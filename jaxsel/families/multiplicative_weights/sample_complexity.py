"""Sample sizes as Cohen et al. 2022 display them, with constant 1.

Theorems 10 and 12 on adaptive data analysis; with the constants spelled out they are in
``settings``. Where the paper writes log(1/beta) for log(1/delta), delta is alpha beta
(CL-E21), which changes nothing of order for beta <= alpha.
"""

import math
from typing import NamedTuple


def theorem_10(cells: int, queries: float, alpha: float, beta: float) -> float:
    """The sample size n of Theorem 10: sqrt(log|X| log(1/(alpha beta))) log(m/beta)/alpha^3.

    Args:
      cells: |X|, cells of the universe.
      queries: m.
      alpha: error for the population.
      beta: chance of a larger one.
    """
    return sample_sizes(cells, queries, alpha, math.log(beta)).theorem_10


def theorem_12(
    cells: int, queries: float, alpha: float, beta: float, *, noiseless_threshold: bool = False
) -> float:
    """The sample size n of Theorem 12: log(1/beta)/alpha^2 and, times log m, the less of
    sqrt(log|X| log(1/(alpha beta)))/alpha^3 and log|X|/alpha^4.

    Args:
      cells, queries, alpha, beta: as of ``theorem_10``.
      noiseless_threshold: of the weaker form that Section 1.5.2 describes, without noise
        on the threshold: the last term is log(1/beta) log(m)/alpha^2 (CL-E16).
    """
    found = sample_sizes(cells, queries, alpha, math.log(beta))
    return found.noiseless_threshold if noiseless_threshold else found.theorem_12


def first_bound(
    cells: int, queries: float, alpha: float, beta: float, *, printed: bool = False
) -> float:
    """The sample size n of Theorem 12 by the first of its two bounds, which Theorem 11 gives.

    Args:
      cells, queries, alpha, beta: as of ``theorem_10``.
      printed: with log(1/beta) for log(1/(alpha beta)) (CL-E21).
    """
    low_beta = -math.log(beta)
    low_delta = low_beta if printed else low_beta - math.log(alpha)
    root = math.sqrt(math.log(cells) * low_delta) / alpha**3
    return root * math.log(queries) + low_beta / alpha**2


class SampleSizes(NamedTuple):
    """Sample sizes by each displayed formula, with all constants 1.

    Attributes:
      theorem_10, theorem_12: of the theorems.
      noiseless_threshold: of Theorem 12 weakened as in Section 1.5.2, corrected (CL-E16).
      not_adaptive: log(m/beta)/alpha^2, for queries fixed in advance.
    """

    theorem_10: float
    theorem_12: float
    noiseless_threshold: float
    not_adaptive: float


def sample_sizes(cells: int, queries: float, alpha: float, log_beta: float) -> SampleSizes:
    """The sample size by each formula; beta, as a logarithm, may be below the least float.

    Args:
      cells, queries, alpha: as of ``theorem_10``.
      log_beta: natural logarithm of beta.
    """
    low_beta, size, many = -log_beta, math.log(cells), math.log(queries)
    root = math.sqrt(size * (low_beta - math.log(alpha))) / alpha**3
    least = min(root, size / alpha**4) * many
    last = low_beta / alpha**2
    return SampleSizes(
        root * (many + low_beta), least + last, least + last * many, many / alpha**2 + last
    )
