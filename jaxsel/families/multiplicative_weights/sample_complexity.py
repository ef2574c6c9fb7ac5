"""Sample sizes as Cohen et al. 2022 display them, with constant 1.

Theorems 10 and 12 on adaptive data analysis; with the constants spelled out they are in
``settings``. Where the paper writes log(1/beta) for log(1/delta), delta is alpha beta
(CL-E21), which changes nothing of order for beta <= alpha.
"""

import math
from typing import NamedTuple


def theorem_10(cells: int, queries: float, alpha: float, beta: float) -> float:
    """n of Theorem 10: sqrt(log|X| log(1/(alpha beta))) log(m/beta)/alpha^3."""
    return sample_sizes(cells, queries, alpha, math.log(beta)).theorem_10


def theorem_12(
    cells: int, queries: float, alpha: float, beta: float, *, noiseless_threshold: bool = False
) -> float:
    """n of Theorem 12: min(sqrt(log|X| log(1/(alpha beta)))/alpha^3, log|X|/alpha^4) log m
    + log(1/beta)/alpha^2.

    Args:
      noiseless_threshold: of the weaker form that Section 1.5.2 describes, without noise
        on the threshold: the last term is log(1/beta) log(m)/alpha^2 (CL-E16).
    """
    found = sample_sizes(cells, queries, alpha, math.log(beta))
    return found.noiseless_threshold if noiseless_threshold else found.theorem_12


def first_bound(
    cells: int, queries: float, alpha: float, beta: float, *, printed: bool = False
) -> float:
    """n of Theorem 12 by the first of its two bounds, which Theorem 11 gives.

    Args:
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
    """All of them, at log beta, so that beta may be below the least float."""
    low_beta, size, many = -log_beta, math.log(cells), math.log(queries)
    root = math.sqrt(size * (low_beta - math.log(alpha))) / alpha**3
    least = min(root, size / alpha**4) * many
    last = low_beta / alpha**2
    return SampleSizes(
        root * (many + low_beta), least + last, least + last * many, many / alpha**2 + last
    )
