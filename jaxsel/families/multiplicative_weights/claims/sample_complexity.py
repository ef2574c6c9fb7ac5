"""Claims of Cohen et al. 2022, Theorems 9 to 12: their displayed errors and sample sizes.

The n of Theorems 10 and 12 is compared with the number of rows that the settings of the mechanisms
need. The displays are compared with each other: at the n of Theorem 10 or 12, Theorem 9 or 11
must give the error alpha. Errata: CL-E16 (misprinted displays) and CL-E21 (the delta of
adaptive data analysis).
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.families.multiplicative_weights import sample_complexity as sizes
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.parameters import Beta
from jaxsel.language.checking import drawn, in_units, listed
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.papers import CL

Cells = Annotated[int, whole("|X|", at_least=3)]
Queries = Annotated[float, number("m", above=1.0)]
Alpha = Annotated[float, number("error", at_least=1e-50, below=1.0)]
Constant = Annotated[float, positive("C")]


# --- Displays (CL-E16) ----------------------------------------------------------------


def _theorem_9(cells, rows, queries, epsilon, delta, beta, *, printed: bool = False) -> float:
    """The error alpha of Theorem 9, with all constants 1.

    It solves alpha^2 = sqrt(log|X| log(1/delta)) log(m/beta)/(n epsilon).

    Args:
      cells: |X|, cells of the universe.
      rows: n.
      queries: m.
      epsilon, delta: of the whole interaction.
      beta: the probability of a larger error.
      printed: with log(m/beta) under the root, as Section 1.5.1 prints it (CL-E16).
    """
    outside = math.log(queries / beta)
    root = math.sqrt(-math.log(cells) * math.log(delta))
    return math.sqrt(root * (math.sqrt(outside) if printed else outside) / (rows * epsilon))


def _theorem_11(cells, rows, queries, epsilon, delta, beta, *, printed: bool = False) -> float:
    """The error alpha of Theorem 11, with all constants 1.

    It solves alpha = sqrt(log|X| log(1/delta)) log(m)/(n epsilon alpha) + log(1/beta)/(n
    epsilon). As Section 4.3.1 prints it, log(m) stands under the root (``printed``; CL-E16).
    Arguments as of ``_theorem_9``.
    """
    outside = math.log(queries)
    root = math.sqrt(-math.log(cells) * math.log(delta))
    first = root * (math.sqrt(outside) if printed else outside) / (rows * epsilon)
    second = -math.log(beta) / (rows * epsilon)
    return second / 2.0 + math.sqrt(second**2 / 4.0 + first)


@CL.identity("CL-Thm9-display-printed", "Theorem 9 (Section 1.5.1)")
def nine_printed(*, alpha: Alpha = 0.1) -> float:
    """At the n of Theorem 10, epsilon = alpha and delta = alpha beta, the equation of Theorem 9,
    alpha^2 = sqrt(log|X| log(1/delta) log(m/beta))/(n epsilon), gives the error alpha."""
    return alpha


eleven_printed = CL.identity(
    "CL-Thm11-display-printed",
    "Theorem 11 (Section 4.3.1)",
    statement="At the first n of Theorem 12, epsilon = alpha and delta = alpha beta, the equation "
    "of Theorem 11, alpha = sqrt(log|X| log(1/delta) log(m))/(n epsilon alpha) + log(1/beta)/(n "
    "epsilon), gives the error alpha.",
)(nine_printed.evaluate)


degraded_printed = CL.utility(
    "CL-Sec1.5.2-degraded-printed",
    "Section 1.5.2",
    statement="Without noise on the threshold the n of Theorem 12 still gives error alpha, since "
    "what the sample complexity 'degrades to' is printed as Theorem 12 itself.",
)(nine_printed.evaluate)


degraded = CL.utility(
    "CL-Sec1.5.2-degraded",
    "Section 1.5.2, corrected",
    statement="Without noise on the threshold, n with the last term log(1/beta) log(m)/alpha^2 "
    "gives error alpha.",
)(nine_printed.evaluate)


def _draw(generator: np.random.Generator) -> tuple[float, ...]:
    """Random cells, queries, alpha and beta."""
    size = int(10 ** generator.uniform(0.5, 6.0)), 10 ** generator.uniform(1.0, 9.0)
    return *size, *(10 ** generator.uniform(-3.0, -0.1, 2)).tolist()


# Alpha is compared with the error that one display gives at the n of another.
_DISPLAYS = drawn("cells queries alpha beta", _draw, 100)


@nine_printed.equals(_DISPLAYS, printed=True)
def nine(cells, queries, alpha, beta, printed):
    """Theorem 9's error at the n of Theorem 10."""
    rows = sizes.theorem_10(cells, queries, alpha, beta)
    return _theorem_9(cells, rows, queries, alpha, alpha * beta, beta, printed=printed)


@eleven_printed.equals(_DISPLAYS, printed=True)
def eleven(cells, queries, alpha, beta, printed):
    """Theorem 11's error at the first n of Theorem 12."""
    rows = sizes.first_bound(cells, queries, alpha, beta)
    return _theorem_11(cells, rows, queries, alpha, alpha * beta, beta, printed=printed)


@degraded_printed.bounds(_DISPLAYS, noiseless=False)
@degraded.bounds(_DISPLAYS, noiseless=True)
def weaker(cells, queries, alpha, beta, noiseless):
    """The error of Theorem 11 without noise on the threshold, at the n of Theorem 12 without it.

    ``noiseless`` takes the corrected n, otherwise it is that of Theorem 12 itself.
    """
    rows = sizes.theorem_12(cells, queries, alpha, beta, noiseless_threshold=noiseless)
    # The pure bound of the minimum: k log(m)/(n epsilon), epsilon = alpha.
    size, low_beta = math.log(queries), -math.log(beta)
    low_delta = low_beta - math.log(alpha)
    first = min(math.sqrt(math.log(cells) * low_delta) / alpha, math.log(cells) / alpha**2)
    return (first + low_beta) * size / (rows * alpha)


# --- From privacy to adaptive data analysis (CL-E21) ----------------------------------


@CL.utility("CL-Thm12-step-delta-printed", "proof of Theorem 12")
def transfer_printed(*, alpha: Alpha = 1e-9, constant: Constant = 2.0) -> float:
    """With epsilon = alpha and delta = alpha beta, n of Theorem 12's first bound (with log(1/beta)
    for log(1/delta)) gives error 2 alpha (shown in units of the claimed error).

    Returns C alpha, the claimed error; C is ``constant``.
    """
    return constant * alpha


transfer = CL.utility(
    "CL-Thm12-step-delta",
    "proof of Theorem 12, corrected",
    statement="With epsilon = alpha and delta = alpha beta, n = sqrt(log|X| log(1/(alpha beta))) "
    "log(m)/alpha^3 + log(1/beta)/alpha^2 gives error 2 alpha (shown in units of the claimed "
    "error).",
)(transfer_printed.evaluate)


_TRANSFERS = listed("alpha beta constant", (1e-9, 0.5, 2.0), (1e-6, 0.5, 2.0), (0.1, 0.01, 2.0))


@transfer_printed.bounds(_TRANSFERS, printed=True)
# At C = 1, too: the corrected n gives alpha itself.
@transfer.bounds(_TRANSFERS, listed("alpha beta constant", (0.1, 0.01, 1.0)), printed=False)
def transfers(alpha, beta, printed):
    """Theorem 11's error at the first n of Theorem 12, printed or corrected."""
    rows = sizes.first_bound(512, 1e4, alpha, beta, printed=printed)
    # beta' = O(beta + delta/epsilon) asks for delta = alpha beta.
    seen = _theorem_11(512, rows, 1e4, alpha, alpha * beta, beta)
    # Errors of 1e-9 would vanish in a tolerance made for numbers near 1.
    return in_units(seen), "|X|=512, m=1e4, epsilon=alpha, delta=alpha beta"


# --- Rows that the settings need ------------------------------------------------------


@CL.utility("CL-Thm10", "Theorem 10, with delta = alpha beta")
def enough_10(
    *,
    cells: Cells = 512,
    queries: Queries = 1e4,
    alpha: Alpha = 0.1,
    beta: Beta = 0.01,
    constant: Constant = 128.0,
) -> float:
    """128 sqrt(log|X| log(1/(alpha beta))) log(m/beta)/alpha^3 rows are enough for the mechanism of
    Theorem 9, with its settings for (alpha, alpha beta)-DP, to err by at most alpha on the rows,
    for beta <= 0.3 (shown as a share)."""
    return constant * sizes.theorem_10(cells, queries, alpha, beta)


@CL.utility("CL-Thm12", "Theorem 12, with delta = alpha beta")
def enough_12(
    *,
    cells: Cells = 512,
    queries: Queries = 1e4,
    alpha: Alpha = 0.1,
    beta: Beta = 0.01,
    constant: Constant = 512.0,
) -> float:
    """512 times n of Theorem 12 is enough for the mechanism of Theorem 11, with its settings for
    (alpha, alpha beta)-DP or for alpha-DP, to err by at most alpha on the rows, for beta <= 0.3
    (shown as a share)."""
    return constant * sizes.theorem_12(cells, queries, alpha, beta)


def _draw_size(generator: np.random.Generator) -> tuple[int, int, float, float]:
    """Random cells, queries, alpha and beta with which Lemma 4 holds."""
    cells, queries = (10 ** generator.uniform([0.5, 1.0], [9.0, 12.0])).tolist()
    alpha = 10 ** generator.uniform(-3.0, -0.3)
    return int(cells), int(queries), alpha, 10 ** -generator.uniform(0.5, min(200, 0.3 * queries))


_EDGES = (305, 7_032_871, 0.487, 1e-160), (427_705, 7082, 0.27, 0.146)
_SIZES = drawn("cells queries alpha beta", _draw_size, 100, *_EDGES)


@enough_10.bounds(_SIZES, rows=weights.hardt_rothblum_rows, pure=False)
@enough_12.bounds(_SIZES, rows=weights.repetitive_rows, pure=True)
def needed(cells, queries, alpha, beta, constant, rows, pure):
    """The rows that the settings need for error alpha, at epsilon = alpha and delta = alpha beta.

    Args:
      cells, queries, alpha, beta: as of ``sample_complexity.theorem_10``.
      constant: of the claim; the rows do not depend on it.
      rows: ``settings.hardt_rothblum_rows`` or ``settings.repetitive_rows``.
      pure: whether delta = 0 is tried, too, and the smaller number taken.
    """
    del constant
    deltas = (alpha * beta, 0.0) if pure else (alpha * beta,)
    found = (rows(cells, queries, alpha, alpha, delta, beta, sharp=True) for delta in deltas)
    # Numbers of rows are large: as a share, so that rounding is relative.
    return in_units(min(found))


# --- Comparisons ----------------------------------------------------------------------


@CL.utility("CL-Thm12-high-confidence", "after Theorem 12")
def twice(*, queries: Queries = 1e4, alpha: Alpha = 0.1, beta: Beta = 1e-300) -> float:
    """For log(1/beta) > log|X| log(m)/alpha^2, n of Theorem 12 is at most twice the non-adaptive
    log(m/beta)/alpha^2."""
    return 2.0 * math.log(queries / beta) / alpha**2


@twice.bounds()
def high_confidence(budget):
    for generator in budget.draws(200):
        cells = int(10 ** generator.uniform(0.31, 3.0))
        queries = 10 ** generator.uniform(0.4, 3.0)
        alpha = generator.uniform(0.45, 0.95)
        edge = math.log(cells) * math.log(queries) / alpha**2
        beta = math.exp(-min(edge * generator.uniform(1.0, 3.0), 700.0))
        if -math.log(beta) >= edge:
            seen = sizes.theorem_12(cells, queries, alpha, beta)
            yield {"queries": queries, "alpha": alpha, "beta": beta}, seen, f"{cells=}"


@CL.utility("CL-Thm12-improves", "Theorems 10 and 12")
def ten(
    *, cells: Cells = 512, queries: Queries = 1e4, alpha: Alpha = 0.1, beta: Beta = 0.01
) -> float:
    """For |X| >= 3 and beta <= 1/e, n of Theorem 12 is at most that of Theorem 10 (all constants
    1); shown as a ratio."""
    return sizes.theorem_10(cells, queries, alpha, beta)


def _draw_small(generator: np.random.Generator) -> tuple[int, float, float, float]:
    """Random cells, queries, alpha and beta, with beta at most 1/e."""
    cells, queries = int(10 ** generator.uniform(0.5, 6.0)), 10 ** generator.uniform(0.5, 9.0)
    # sqrt(log|X| log(1/beta)) >= alpha is all that is needed.
    alpha, low_beta = 10 ** generator.uniform(-3.0, 0.0), 10 ** generator.uniform(0.0, 2.8)
    return cells, queries, alpha, math.exp(-low_beta)


@ten.bounds(drawn("cells queries alpha beta", _draw_small, 300))
def improved(cells, queries, alpha, beta):
    return in_units(sizes.theorem_12(cells, queries, alpha, beta))


CL_E16 = CL.misprint(
    "CL-E16",
    "Theorems 9 and 11, Sections 1.5.2 and 4.3.1",
    "misprint",
    printed="log(m/beta) (Theorem 9) and log(m) (Theorem 11 in Section 4.3.1) under "
    "the square root; 'the sample complexity degrades to' Theorem 12 itself.",
    correct="Both logarithms stand outside the root, as in the derivation of Section "
    "4.3.1 and in Theorem 10. The degraded complexity ends in log(1/beta) "
    "log(m)/alpha^2.",
    refuted=[nine_printed, eleven_printed, degraded_printed],
    corrected=[enough_10, enough_12, degraded],
)


CL_E21 = CL.misprint(
    "CL-E21",
    "Theorems 10 and 12",
    "proof",
    printed="With beta' = O(beta + delta/epsilon) and epsilon of order alpha, "
    "log(1/delta) becomes log(1/beta).",
    correct="delta must be alpha beta, so it becomes log(1/(alpha beta)): for fixed "
    "beta and small alpha no constant makes up for it. Nothing is lost for beta <= "
    "alpha.",
    refuted=[transfer_printed],
    corrected=[transfer],
)
