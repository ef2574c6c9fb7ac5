"""Errata of the stability lemmas 10 and 18 of Zhu & Wang 2022: E-ZW-1 and E-ZW-2.

Each as printed and as corrected, over every pair of neighbours with few small counts.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.conversions import zcdp_to_epsilon
from jaxsel.base import Claim, Erratum, Relation
from jaxsel.checking import bound_verdict
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.top_k.claims.neighbours import (
    gap_pairs,
    gaps_of,
    indicator,
    release_delta,
    small_pairs,
    threshold_factor,
)

_PAPER = "Zhu & Wang 2022"
Case = tuple[float, float, str]


# --- Lemma 10 (E-ZW-1) ----------------------------------------------------------------


def _gap_sensitivity_printed(*, gap: int = 5) -> float:
    """Printed bound on how far q_k moves between neighbours: 0 if q_k > 1, else 1.

    Args:
      gap: q_k of the data, >= 0.
    """
    return 0.0 if check_integer("gap", gap, 0) > 1 else 1.0


def _set_sensitivity(*, gap: int = 5, k: int = 1) -> float:
    """Bound on the l2 distance of top-k indicators: 0 if q_k > 1, else sqrt(2 k).

    Args:
      gap: q_k of the data, >= 0.
      k: size of the set, >= 1.
    """
    k = check_integer("k", k, 1)
    return 0.0 if check_integer("gap", gap, 0) > 1 else math.sqrt(2.0 * k)


def _sensitivity_cases(of_set: bool) -> Iterator[Case]:
    """The counterexample, one user less for the first of (9, 4); then all small pairs,
    each histogram in turn being the data."""
    for pair in (np.array([[[9, 4]], [[8, 4]]]), *map(np.array, small_pairs())):
        for data, other in (pair, pair[::-1]):
            gaps, moved = gaps_of(data), np.abs(gaps_of(data) - gaps_of(other))
            for k in range(1, data.shape[1]):
                apart = indicator(data, k) - indicator(other, k)
                distance = np.linalg.norm(apart, axis=1)
                for gap in np.unique(gaps[:, k - 1]):
                    here = gaps[:, k - 1] == gap
                    seen = distance[here] if of_set else moved[here, k - 1]
                    worst = int(np.argmax(seen))
                    claimed = (
                        _set_sensitivity(gap=int(gap), k=k)
                        if of_set
                        else _gap_sensitivity_printed(gap=int(gap))
                    )
                    first, second = data[here][worst], other[here][worst]
                    where = f"k={k}, {first.tolist()} -> {second.tolist()}"
                    yield claimed, float(seen[worst]), where


# --- Lemma 18 and Corollary 19 (E-ZW-2) -----------------------------------------------


def _exceeds(level: float, gap: int, scale: float, threshold: float) -> float:
    """P[q-hat > level] of Algorithm 4, threshold in units of the noise scale."""
    return float(special.ndtr((max(1, gap) - level) / scale - threshold))


def _hypothesis_printed(*, delta_t: float = 0.1) -> float:
    """Bound on P[q-hat >= q_k], as Lemma 18 asks of Algorithm 4: delta_t.

    Args:
      delta_t: failure probability of the test, in (0, 1).
    """
    return check_interval("delta_t", delta_t, 0.0, 1.0)


def _hypothesis(*, delta_t: float = 0.1) -> float:
    """Bound on P[q-hat > max{1, q_k}] of Algorithm 4: delta_t / 2.

    Args:
      delta_t: failure probability of the test, in (0, 1).
    """
    return check_interval("delta_t", delta_t, 0.0, 1.0) / 2.0


def _hypothesis_cases(printed: bool) -> Iterator[Case]:
    for delta_t in (0.1, 0.5, 1e-3, 1e-6):
        for scale in (1.0, 0.3, 5.0):
            for gap in (0, 1, 2, 7):
                level = float(gap if printed else max(1, gap))
                bound = _hypothesis_printed if printed else _hypothesis
                exact = _exceeds(level, gap, scale, threshold_factor(delta_t))
                where = f"q_k={gap}, noise scale {scale:g}, delta_t={delta_t:g}"
                yield bound(delta_t=delta_t), exact, where


def _test_epsilon(
    *, noise_scale: float = 1.0, delta: float = 0.01, delta_t: float = 0.1
) -> float:
    """Epsilon of Algorithm 4 at delta + delta_t.

    rho + 2 sqrt(rho log(1/delta)), with rho = 1/(2 noise_scale^2).

    Args:
      noise_scale: standard deviation of the noise on the gap, > 0.
      delta: in (0, 1), spent on the conversion from zCDP.
      delta_t: failure probability of the test, in (0, 1).
    """
    scale = check_positive("noise_scale", noise_scale)
    check_interval("delta_t", delta_t, 0.0, 1.0)
    return zcdp_to_epsilon(0.5 / scale**2, delta)


def _threshold(*, noise_scale: float = 1.0, delta_t: float = 0.1) -> float:
    """Threshold that suffices in Algorithm 4: the upper delta_t quantile of the noise.

    Args:
      noise_scale: standard deviation of the noise on the gap, > 0.
      delta_t: failure probability of the test, in (0, 1).
    """
    scale = check_positive("noise_scale", noise_scale)
    delta_t = check_interval("delta_t", delta_t, 0.0, 1.0)
    return -scale * float(special.ndtri(delta_t))


def _test_cases(quantile: bool) -> Iterator[Case]:
    """Exact delta of Algorithm 4 over all small pairs, at the claimed epsilon."""
    for scale, delta, delta_t in itertools.product(
        (0.5, 1.0, 4.0), (0.01, 1e-6), (0.1, 0.4, 1e-3, 1e-6)
    ):
        setting = {"noise_scale": scale, "delta": delta, "delta_t": delta_t}
        level = _test_epsilon(**setting)
        threshold = threshold_factor(delta_t)
        if quantile:
            used = _threshold(noise_scale=scale, delta_t=delta_t)
            yield scale * threshold, used, f"against the printed threshold, {setting}"
            threshold = used / scale
        for gap, other, same_set in gap_pairs():
            chances = [_exceeds(1.0, q, scale, threshold) for q in (gap, other)]
            exact = release_delta(level, chances[0], chances[1], same_set)
            where = f"gaps {gap} -> {other}, same set: {same_set}, {setting}"
            yield delta + delta_t, exact, where


CLAIMS = (
    Claim(
        id="ZW-Lem10-printed",
        source=f"{_PAPER}, Lemma 10",
        statement="The local sensitivity of the gap q_k is 0 if q_k > 1.",
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_gap_sensitivity_printed,
        check=lambda budget: bound_verdict(_sensitivity_cases(of_set=False)),
        holds=False,
        erratum="E-ZW-1",
        correction="That of the indicator of the top-k set is 0: ZW-Lem10.",
    ),
    Claim(
        id="ZW-Lem10",
        source=f"{_PAPER}, Lemma 10 as its proof shows",
        statement=(
            "The local l2 sensitivity of the indicator of the top-k set is 0 if q_k > "
            "1, and at most sqrt(2 k) always."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_set_sensitivity,
        check=lambda budget: bound_verdict(_sensitivity_cases(of_set=True)),
        erratum="E-ZW-1",
    ),
    Claim(
        id="ZW-Lem18-hypothesis-printed",
        source=f"{_PAPER}, Lemma 18 for Algorithm 4",
        statement=(
            "Algorithm 4's q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 log(1/delta_t)) "
            "has P[q-hat >= q_k] <= delta_t."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_hypothesis_printed,
        check=lambda budget: bound_verdict(_hypothesis_cases(printed=True)),
        holds=False,
        erratum="E-ZW-2",
        correction=(
            "At q_k = 0 it can exceed delta_t; P[q-hat > max{1, q_k}] cannot, and is "
            "all that the proof needs: ZW-Lem18-hypothesis, ZW-Lem18."
        ),
    ),
    Claim(
        id="ZW-Lem18-hypothesis",
        source=f"{_PAPER}, Lemma 18 for Algorithm 4, hypothesis corrected",
        statement=(
            "Algorithm 4's q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 log(1/delta_t)) "
            "has P[q-hat > max{1, q_k}] <= delta_t/2."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_hypothesis,
        check=lambda budget: bound_verdict(
            _hypothesis_cases(printed=False), tolerance=1e-12
        ),
        erratum="E-ZW-2",
    ),
    Claim(
        id="ZW-Lem18",
        source=f"{_PAPER}, Lemma 18 and Corollary 19 for Algorithm 4",
        statement=(
            "Algorithm 4 is (rho + 2 sqrt(rho log(1/delta)), delta + delta_t)-DP with "
            "rho = 1/(2 s^2), s being the noise scale, as delta_t-approximate rho-zCDP "
            "implies."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_test_epsilon,
        check=lambda budget: bound_verdict(
            _test_cases(quantile=False), tolerance=1e-12
        ),
        erratum="E-ZW-2",
    ),
    Claim(
        id="ZW-Lem18-threshold",
        source=f"{_PAPER}, Algorithm 4 with the smallest threshold",
        statement=(
            "The guarantee of Algorithm 4 also holds with the threshold s "
            "Phi^-1(1 - delta_t) in place of s sqrt(2 log(1/delta_t)), which is larger."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_threshold,
        check=lambda budget: bound_verdict(_test_cases(quantile=True), tolerance=1e-12),
        erratum="E-ZW-2",
    ),
)

ERRATA = (
    Erratum(
        id="E-ZW-1",
        source=f"{_PAPER}, Lemma 10",
        kind="statement",
        printed="The local l2 sensitivity of q_k is 0 if q_k(D) > 1.",
        correct=(
            "The gap itself moves by up to 1: with counts (9, 4), one voter less for "
            "the first leaves (8, 4), and q_1 falls from 5 to 4. What cannot move, and "
            "what the proof shows, is the top-k set, hence its indicator."
        ),
        refuted=("ZW-Lem10-printed",),
        corrected=("ZW-Lem10",),
    ),
    Erratum(
        id="E-ZW-2",
        source=f"{_PAPER}, Lemmas 18 and 23 with Algorithm 4",
        kind="proof",
        printed=(
            "Lemma 18 asks that P[q-hat >= q_k] <= delta_t and is applied to Algorithm "
            "4, whose q-hat is centred at max{1, q_k}."
        ),
        correct=(
            "At q_k = 0, noise scale 1 and delta_t = 0.1 that probability is 0.126. "
            "The hypothesis needed is P[q-hat > max{1, q_k}] <= delta_t, and Algorithm "
            "4 meets it with delta_t/2 to spare: when the sets differ both gaps are at "
            "most 1 and both sides release nothing with probability at least 1 - "
            "delta_t/2. The conclusion stands."
        ),
        refuted=("ZW-Lem18-hypothesis-printed",),
        corrected=("ZW-Lem18-hypothesis", "ZW-Lem18", "ZW-Lem18-threshold"),
    ),
)
