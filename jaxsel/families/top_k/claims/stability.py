"""Zhu & Wang 2022, Lemmas 10 and 18: sets of stable gap, and Algorithm 4 that tests it.

Every claim is judged over all pairs of neighbours with few small counts.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.conversions import zcdp_to_epsilon
from jaxsel.families.top_k.claims.neighbours import (
    gap_pairs,
    gaps_of,
    indicator,
    release_delta,
    small_pairs,
)
from jaxsel.families.top_k.claims.parameters import Delta, Deviation, FailureOfTest
from jaxsel.families.top_k.gaps import pass_probability, threshold_factor
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import whole
from jaxsel.language.papers import ZW

Gap = Annotated[int, whole("q_k of the data", at_least=0)]


# --- Lemma 10 -------------------------------------------------------------------------


def _gap_sensitivity_printed(*, gap: Gap = 5) -> float:
    """Printed bound on how far q_k moves between neighbours: 0 if q_k > 1, else 1."""
    return 0.0 if gap > 1 else 1.0


def _set_sensitivity(
    *, gap: Gap = 5, k: Annotated[int, whole("size of the set", at_least=1)] = 1
) -> float:
    """Bound on the l2 distance of top-k indicators: 0 if q_k > 1, else sqrt(2 k)."""
    return 0.0 if gap > 1 else math.sqrt(2.0 * k)


def _sensitivity_cases(of_set: bool) -> Callable[[Budget], Iterator[Case]]:
    """The counterexample, one user less for the first of (9, 4); then all small pairs,
    each histogram in turn being the data."""

    def cases(budget: Budget) -> Iterator[Case]:
        del budget
        for pair in (np.array([[[9, 4]], [[8, 4]]]), *map(np.array, small_pairs())):
            for data, other in (pair, pair[::-1]):
                gaps, moved = gaps_of(data), np.abs(gaps_of(data) - gaps_of(other))
                for k in range(1, data.shape[1]):
                    apart = indicator(data, k) - indicator(other, k)
                    distance = np.linalg.norm(apart, axis=1)
                    for gap in np.unique(gaps[:, k - 1]).tolist():
                        here = gaps[:, k - 1] == gap
                        seen = distance[here] if of_set else moved[here, k - 1]
                        worst = int(np.argmax(seen))
                        claimed = (
                            _set_sensitivity(gap=gap, k=k)
                            if of_set
                            else _gap_sensitivity_printed(gap=gap)
                        )
                        first, second = data[here][worst], other[here][worst]
                        where = f"{k=}, {first.tolist()} -> {second.tolist()}"
                        yield claimed, float(seen[worst]), where

    return cases


# --- Lemma 18 -------------------------------------------------------------------------


def _hypothesis_printed(*, delta_t: FailureOfTest = 0.1) -> float:
    """Bound on P[q-hat >= q_k], as Lemma 18 asks of Algorithm 4: delta_t."""
    return delta_t


def _hypothesis(*, delta_t: FailureOfTest = 0.1) -> float:
    """Bound on P[q-hat > max{1, q_k}] of Algorithm 4: delta_t / 2."""
    return delta_t / 2.0


def _hypothesis_cases(printed: bool) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        del budget
        for delta_t, scale, gap in itertools.product(
            (0.1, 0.5, 1e-3, 1e-6), (1.0, 0.3, 5.0), (0, 1, 2, 7)
        ):
            centre = max(1, gap)
            level = gap if printed else centre
            claimed = (_hypothesis_printed if printed else _hypothesis)(delta_t=delta_t)
            # P[q-hat > level]
            above = (centre - level) / scale
            seen = float(special.ndtr(above - threshold_factor(delta_t)))
            where = f"q_k={gap}, noise scale {scale:g}, delta_t={delta_t:g}"
            yield claimed, seen, where

    return cases


def _test_epsilon(
    *, noise_scale: Deviation = 1.0, delta: Delta = 0.01, delta_t: FailureOfTest = 0.1
) -> float:
    """Epsilon of Algorithm 4 at delta + delta_t.

    rho + 2 sqrt(rho log(1/delta)), with rho = 1/(2 noise_scale^2).
    """
    del delta_t
    return zcdp_to_epsilon(0.5 / noise_scale**2, delta)


def _threshold(*, noise_scale: Deviation = 1.0, delta_t: FailureOfTest = 0.1) -> float:
    """Threshold that suffices in Algorithm 4: the upper delta_t quantile of the noise."""
    return noise_scale * threshold_factor(delta_t, quantile=True)


def _test_cases(quantile: bool) -> Callable[[Budget], Iterator[Case]]:
    """Exact delta of Algorithm 4 over all small pairs, at the claimed epsilon."""

    def cases(budget: Budget) -> Iterator[Case]:
        del budget
        for scale, delta, delta_t in itertools.product(
            (0.5, 1.0, 4.0), (0.01, 1e-6), (0.1, 0.4, 1e-3, 1e-6)
        ):
            setting = {"noise_scale": scale, "delta": delta, "delta_t": delta_t}
            level = _test_epsilon(**setting)
            if quantile:
                used = _threshold(noise_scale=scale, delta_t=delta_t)
                printed = scale * threshold_factor(delta_t)
                yield printed, used, f"against the printed threshold, {setting}"
            for gap, other, same_set in gap_pairs():
                chances = pass_probability([gap, other], scale, delta_t, quantile=quantile)
                passed, passed_there = chances.tolist()
                exact = release_delta(level, passed, passed_there, same_set)
                where = f"gaps {gap} -> {other}, same set: {same_set}, {setting}"
                yield delta + delta_t, exact, where

    return cases


STATEMENTS = (
    ZW.misprint(
        "E-ZW-1",
        "Lemma 10",
        "statement",
        printed="The local l2 sensitivity of q_k is 0 if q_k(D) > 1.",
        correct="The gap itself moves by up to 1: with counts (9, 4), one voter less "
        "for the first leaves (8, 4), and q_1 falls from 5 to 4. What cannot move, and "
        "what the proof shows, is the top-k set, hence its indicator.",
        refuted=(
            ZW.privacy(
                "ZW-Lem10-printed",
                "Lemma 10",
                "The local sensitivity of the gap q_k is 0 if q_k > 1.",
                Relation.MONOTONE,
                _gap_sensitivity_printed,
                at_most(_sensitivity_cases(of_set=False)),
            ),
        ),
        corrected=(
            ZW.privacy(
                "ZW-Lem10",
                "Lemma 10 as its proof shows",
                "The local l2 sensitivity of the indicator of the top-k set is 0 if "
                "q_k > 1, and at most sqrt(2 k) always.",
                Relation.MONOTONE,
                _set_sensitivity,
                at_most(_sensitivity_cases(of_set=True)),
            ),
        ),
    ),
    ZW.misprint(
        "E-ZW-2",
        "Lemmas 18 and 23 with Algorithm 4",
        "proof",
        printed="Lemma 18 asks that P[q-hat >= q_k] <= delta_t and is applied to "
        "Algorithm 4, whose q-hat is centred at max{1, q_k}.",
        correct="At q_k = 0, noise scale 1 and delta_t = 0.1 that probability is "
        "0.126. The hypothesis needed is P[q-hat > max{1, q_k}] <= delta_t, and "
        "Algorithm 4 meets it with delta_t/2 to spare: when the sets differ both gaps "
        "are at most 1 and both sides release nothing with probability at least 1 - "
        "delta_t/2. The conclusion stands.",
        refuted=(
            ZW.privacy(
                "ZW-Lem18-hypothesis-printed",
                "Lemma 18 for Algorithm 4",
                "Algorithm 4's q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 "
                "log(1/delta_t)) has P[q-hat >= q_k] <= delta_t.",
                Relation.MONOTONE,
                _hypothesis_printed,
                at_most(_hypothesis_cases(printed=True)),
            ),
        ),
        corrected=(
            ZW.privacy(
                "ZW-Lem18-hypothesis",
                "Lemma 18 for Algorithm 4, hypothesis corrected",
                "Algorithm 4's q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 "
                "log(1/delta_t)) has P[q-hat > max{1, q_k}] <= delta_t/2.",
                Relation.MONOTONE,
                _hypothesis,
                at_most(_hypothesis_cases(printed=False), tolerance=1e-12),
            ),
            ZW.privacy(
                "ZW-Lem18",
                "Lemma 18 and Corollary 19 for Algorithm 4",
                "Algorithm 4 is (rho + 2 sqrt(rho log(1/delta)), delta + delta_t)-DP "
                "with rho = 1/(2 s^2), s being the noise scale, as delta_t-approximate "
                "rho-zCDP implies.",
                Relation.MONOTONE,
                _test_epsilon,
                at_most(_test_cases(quantile=False), tolerance=1e-12),
            ),
            ZW.privacy(
                "ZW-Lem18-threshold",
                "Algorithm 4 with the smallest threshold",
                "The guarantee of Algorithm 4 also holds with the threshold s Phi^-1(1 "
                "- delta_t) in place of s sqrt(2 log(1/delta_t)), which is larger.",
                Relation.MONOTONE,
                _threshold,
                at_most(_test_cases(quantile=True), tolerance=1e-12),
            ),
        ),
    ),
)
