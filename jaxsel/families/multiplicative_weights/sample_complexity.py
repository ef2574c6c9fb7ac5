"""Errors and sample sizes as Cohen et al. 2022 display them, with constant 1.

Theorems 9 and 11 on private multiplicative weights, Theorems 10 and 12 on adaptive data
analysis; with the constants spelled out they are in ``multiplicative_weights``.
"""

import math
from typing import NamedTuple


def theorem_9(
    cells: int,
    rows: float,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    printed: bool = False,
) -> float:
    """alpha of Theorem 9, all of O(.) with constant 1.

    alpha^2 = sqrt(log|X| log(1/delta)) log(m/beta)/(n epsilon); as printed in Section
    1.5.1 log(m/beta) stands under the root (CL-E16).
    """
    outside = math.log(queries / beta)
    root = math.sqrt(-math.log(cells) * math.log(delta))
    return math.sqrt(
        root * (math.sqrt(outside) if printed else outside) / (rows * epsilon)
    )


def theorem_11(
    cells: int,
    rows: float,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    printed: bool = False,
) -> float:
    """alpha of Theorem 11, the solution of its equation with constant 1.

    alpha = sqrt(log|X| log(1/delta)) log(m)/(n epsilon alpha) + log(1/beta)/(n epsilon);
    as printed in Section 4.3.1 log(m) stands under the root (CL-E16).
    """
    outside = math.log(queries)
    root = math.sqrt(-math.log(cells) * math.log(delta))
    first = root * (math.sqrt(outside) if printed else outside) / (rows * epsilon)
    second = -math.log(beta) / (rows * epsilon)
    return second / 2.0 + math.sqrt(second**2 / 4.0 + first)


def theorem_10(cells: int, queries: float, alpha: float, beta: float) -> float:
    """n of Theorem 10: sqrt(log|X| log(1/beta)) log(m/beta)/alpha^3."""
    return sample_sizes(cells, queries, alpha, math.log(beta)).theorem_10


def theorem_12(
    cells: int,
    queries: float,
    alpha: float,
    beta: float,
    *,
    noiseless_threshold: bool = False,
) -> float:
    """n of Theorem 12: min(sqrt(log|X| log(1/beta))/alpha^3, log|X|/alpha^4) log m +
    log(1/beta)/alpha^2.

    Args:
      noiseless_threshold: of the weaker form that Section 1.5.2 describes, without noise
        on the threshold: the last term is log(1/beta) log(m)/alpha^2 (CL-E16).
    """
    found = sample_sizes(cells, queries, alpha, math.log(beta))
    return found.noiseless_threshold if noiseless_threshold else found.theorem_12


class SampleSizes(NamedTuple):
    """Rows by each display, all constants 1.

    Attributes:
      theorem_10, theorem_12: of the theorems.
      noiseless_threshold: of Theorem 12 weakened as in Section 1.5.2, corrected (CL-E16).
      not_adaptive: log(m/beta)/alpha^2, for queries fixed in advance.
    """

    theorem_10: float
    theorem_12: float
    noiseless_threshold: float
    not_adaptive: float


def sample_sizes(
    cells: int, queries: float, alpha: float, log_beta: float
) -> SampleSizes:
    """All of them, at log beta, so that beta may be below the least float."""
    low_beta, size, many = -log_beta, math.log(cells), math.log(queries)
    root = math.sqrt(size * low_beta) / alpha**3
    least = min(root, size / alpha**4) * many
    last = low_beta / alpha**2
    return SampleSizes(
        root * (many + low_beta),
        least + last,
        least + last * many,
        many / alpha**2 + last,
    )
