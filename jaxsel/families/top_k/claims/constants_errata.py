"""Loose constants of Zhu & Wang 2022: E-ZW-3.

Theorems 8 and 20 and Corollary 19 are true; what holds with better constants is checked
here.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.base import Claim, Erratum, Relation
from jaxsel.checking import bound_verdict
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.top_k.claims.neighbours import (
    gap_pairs,
    gaps_of,
    neighbours,
    release_delta,
    threshold_factor,
)

_PAPER = "Zhu & Wang 2022"
Case = tuple[float, float, str]


# --- Corollary 19, Laplace noise ------------------------------------------------------


def _laplace_delta(*, epsilon: float = 1.0, delta_t: float = 0.1) -> float:
    """Delta of Algorithm 5 (Laplace noise) at its epsilon: delta_t / 2.

    Args:
      epsilon: > 0; the noise on the gap has scale 1/epsilon.
      delta_t: failure probability of the test, in (0, 1).
    """
    check_positive("epsilon", epsilon)
    return check_interval("delta_t", delta_t, 0.0, 1.0) / 2.0


def _laplace_cases() -> Iterator[Case]:
    for epsilon, delta_t in itertools.product((0.1, 1.0, 3.0), (0.1, 1e-3, 1e-6)):
        for gap, other, same_set in gap_pairs():
            chances = []
            for q in (gap, other):
                # the noise must exceed this many scales
                needed = epsilon * (1.0 - q) + math.log(1.0 / delta_t)
                tail = 0.5 * math.exp(-abs(needed))
                chances.append(tail if needed > 0 else 1.0 - tail)
            exact = release_delta(epsilon, chances[0], chances[1], same_set)
            claimed = _laplace_delta(epsilon=epsilon, delta_t=delta_t)
            yield claimed, exact, f"{gap} -> {other}, {epsilon=:g}, {delta_t=:g}"


# --- Theorems 8 and 20 ----------------------------------------------------------------


def _noisy_gap_renyi(
    *, order: float = 2.0, noise_scale: float = 4.0, candidates: int = 3
) -> float:
    """Renyi bound on the k of Algorithm 1 with Gaussian noise.

    2 order/noise_scale^2 + log(candidates - 1)/(order - 1).

    Args:
      order: > 1.
      noise_scale: standard deviation of the noise on each gap.
      candidates: m, >= 2; only m - 1 gaps compete.
    """
    order = check_interval("order", order, 1.0, math.inf)
    scale = check_positive("noise_scale", noise_scale)
    gaps = check_integer("candidates", candidates, 2) - 1
    return 2.0 * order / scale**2 + math.log(gaps) / (order - 1.0)


def _first_gap_wins(histograms: np.ndarray, scale: float) -> np.ndarray:
    """P[the first of two noisy gaps is the larger], for three candidates."""
    gaps = gaps_of(histograms)
    return special.ndtr((gaps[:, 0] - gaps[:, 1]) / (scale * math.sqrt(2.0)))


def _noisy_gap_cases() -> Iterator[Case]:
    first, second = neighbours(3, 5)
    for scale in (1.0, 4.0):
        chances = (_first_gap_wins(first, scale), _first_gap_wins(second, scale))
        pairs = np.unique(np.stack(chances, axis=1), axis=0)
        for p, q in (*pairs.tolist(), *pairs[:, ::-1].tolist()):
            for order in (1.5, 2.0, 8.0, 32.0):
                exact = float(renyi_divergence([p, 1 - p], [q, 1 - q], order))
                claimed = _noisy_gap_renyi(order=order, noise_scale=scale)
                yield claimed, exact, f"chances {p!r} -> {q!r}, {order=:g}, {scale=:g}"


def _enough_gap(
    *, epsilon: float = 1.0, delta: float = 1e-6, beta: float = 0.1
) -> float:
    """Gap at which Algorithm 4 returns the set with probability at least 1 - beta.

    1 + 4 (log(1/delta) + log(1/beta))/epsilon, with noise scale sqrt(2
    log(1.25/delta))/epsilon.

    Args:
      epsilon: > 0.
      delta: in (0, 1), both the test's failure probability and the noise's delta.
      beta: in (0, 1).
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0)
    beta = check_interval("beta", beta, 0.0, 1.0)
    return 1.0 - 4.0 * (math.log(delta) + math.log(beta)) / epsilon


def _enough_gap_cases() -> Iterator[Case]:
    levels = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.99)
    for epsilon, delta, beta in itertools.product((0.1, 1.0), levels, levels):
        scale = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
        above = _enough_gap(epsilon=epsilon, delta=delta, beta=beta) - 1.0
        failure = float(special.ndtr(threshold_factor(delta) - above / scale))
        yield beta, failure, f"epsilon={epsilon:g}, delta={delta:g}, beta={beta:g}"


CLAIMS = (
    Claim(
        id="ZW-Cor19-Laplace-half",
        source=f"{_PAPER}, Corollary 19 for Algorithm 5, with half the delta",
        statement="Algorithm 5 (PTR with Laplace noise) is (epsilon, delta_t/2)-DP.",
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_laplace_delta,
        check=lambda budget: bound_verdict(_laplace_cases(), tolerance=1e-12),
        erratum="E-ZW-3",
    ),
    Claim(
        id="ZW-Thm8-gaps",
        source=f"{_PAPER}, Theorem 8 and Corollary 9 for the gaps of Algorithm 1",
        statement=(
            "The k that Algorithm 1 selects with Gaussian noise N(0, s^2) on the m - 1 "
            "gaps has Renyi divergence at most 2 a/s^2 + log(m - 1)/(a - 1) at order a."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_noisy_gap_renyi,
        check=lambda budget: bound_verdict(_noisy_gap_cases()),
        erratum="E-ZW-3",
    ),
    Claim(
        id="ZW-Thm20",
        source=f"{_PAPER}, Theorem 20 for PTR with Gaussian noise",
        statement=(
            "With noise scale sqrt(2 log(1.25/delta))/epsilon, a gap of 1 + "
            "4 (log(1/delta) + log(1/beta))/epsilon is released with probability at "
            "least 1 - beta."
        ),
        kind="utility",
        relation=None,
        evaluate=_enough_gap,
        check=lambda budget: bound_verdict(_enough_gap_cases(), tolerance=1e-12),
        erratum="E-ZW-3",
    ),
)

ERRATA = (
    Erratum(
        id="E-ZW-3",
        source=f"{_PAPER}, Theorems 8, 11 and 20, Corollary 19",
        kind="misprint",
        printed=(
            "log m in Theorem 8 as applied to Algorithm 1; delta_t for PTR with "
            "Laplace noise in Corollary 19; delta >= 0 in Theorem 11; the constant 4 "
            "in Theorem 20."
        ),
        correct=(
            "Loose, not wrong: only m - 1 gaps compete, so that log(m - 1) suffices; "
            "Laplace noise passes the test at q_k <= 1 with probability delta_t/2; "
            "Theorem 11 needs delta > 0, its epsilon being infinite at 0; Theorem 20 "
            "for Gaussian noise holds with slack, the exact requirement being 1 + s "
            "(sqrt(2 log(1/delta)) + Phi^-1(1 - beta)), s the noise scale."
        ),
        corrected=("ZW-Cor19-Laplace-half", "ZW-Thm8-gaps", "ZW-Thm20"),
    ),
)
