"""Zhu & Wang 2022, Lemmas 10 and 18: top sets of large gap, and Algorithm 4, which tests the gap.

Every claim is judged over all pairs of neighbours with few small counts.
"""

import functools
import math
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
from jaxsel.families.top_k.gaps import pass_probability, threshold_factor
from jaxsel.families.top_k.parameters import Delta, Deviation, FailureOfTest, K
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid, listed
from jaxsel.language.domains import whole
from jaxsel.language.papers import ZW

Gap = Annotated[int, whole("q_k of the data", at_least=0)]


@ZW.privacy("ZW-Lem10-printed", "Lemma 10", Relation.MONOTONE)
def gap_sensitivity(*, gap: Gap = 5) -> float:
    """The local sensitivity of the gap q_k, count number k minus the next, is 0 if q_k > 1."""
    return 0.0 if gap > 1 else 1.0


@ZW.privacy("ZW-Lem10", "Lemma 10 as its proof shows", Relation.MONOTONE)
def set_sensitivity(*, gap: Gap = 5, k: K = 1) -> float:
    """The local l2 sensitivity of the indicator of the top-k set is 0 if q_k > 1, and at most
    sqrt(2 k) always."""
    return 0.0 if gap > 1 else math.sqrt(2.0 * k)


def _gaps_apart(data, other, k):
    return np.abs(gaps_of(data) - gaps_of(other))[:, k - 1]


def _sets_apart(data, other, k):
    return np.linalg.norm(indicator(data, k) - indicator(other, k), axis=1)


@gap_sensitivity.bounds(names=("gap",), distance=_gaps_apart)
@set_sensitivity.bounds(names=("gap", "k"), distance=_sets_apart)
def sensitivities(budget, names, distance):
    """The largest distance between neighbours, for each gap of the data.

    The pairs are the counterexample, (9, 4) with one user less for the first; and all small pairs,
    where each histogram is the data in turn.
    """
    for pair in (np.array([[[9, 4]], [[8, 4]]]), *map(np.array, small_pairs())):
        for data, other in (pair, pair[::-1]):
            for k in range(1, data.shape[1]):
                gaps, far = gaps_of(data)[:, k - 1], distance(data, other, k)
                for gap in np.unique(gaps).tolist():
                    worst = int(np.argmax(np.where(gaps == gap, far, -1.0)))
                    where = f"{k=}, {data[worst].tolist()} -> {other[worst].tolist()}"
                    point = {"gap": gap, "k": k}
                    yield {name: point[name] for name in names}, float(far[worst]), where


E_ZW_1 = ZW.misprint(
    "E-ZW-1",
    "Lemma 10",
    "statement",
    printed="The local l2 sensitivity of q_k is 0 if q_k(D) > 1.",
    correct="The gap itself moves by up to 1: with counts (9, 4), one voter less "
    "for the first leaves (8, 4), and q_1 falls from 5 to 4. What cannot move, and "
    "what the proof shows, is the top-k set, hence its indicator.",
    refuted=[gap_sensitivity],
    corrected=[set_sensitivity],
)


@ZW.privacy("ZW-Lem18-hypothesis-printed", "Lemma 18 for Algorithm 4", Relation.MONOTONE)
def hypothesis_printed(*, delta_t: FailureOfTest = 0.1) -> float:
    """The noisy gap q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 log(1/delta_t)) of the Gaussian test
    (Algorithm 4) has P[q-hat >= q_k] <= delta_t."""
    return delta_t


@hypothesis_printed.bounds(
    grid(delta_t=(0.1, 0.5, 1e-3, 1e-6), noise_scale=(1.0, 0.3, 5.0), gap=(0, 1, 2, 7))
)
def chance_above_gap(delta_t, noise_scale, gap):
    above = (max(1, gap) - gap) / noise_scale
    return float(special.ndtr(above - threshold_factor(delta_t)))


@ZW.privacy(
    "ZW-Lem18-hypothesis", "Lemma 18 for Algorithm 4, hypothesis corrected", Relation.MONOTONE
)
def hypothesis(*, delta_t: FailureOfTest = 0.1) -> float:
    """The noisy gap q-hat = max{1, q_k} + N(0, s^2) - s sqrt(2 log(1/delta_t)) of the Gaussian test
    (Algorithm 4) has P[q-hat > max{1, q_k}] <= delta_t/2."""
    return delta_t / 2.0


@hypothesis.bounds(listed("delta_t", 0.1, 0.5, 0.9, 0.99, 1e-3, 1e-6), tolerance=1e-12)
def chance_above_centre(delta_t):
    return float(special.ndtr(-threshold_factor(delta_t))), "any noise scale, any q_k"


@ZW.privacy("ZW-Lem18", "Lemma 18 and Corollary 19 for Algorithm 4", Relation.MONOTONE)
def epsilon_of_test(
    *, noise_scale: Deviation = 1.0, delta: Delta = 0.01, delta_t: FailureOfTest = 0.1
) -> float:
    """Releasing the top-k set if its gap passes a test with noise N(0, s^2) (Algorithm 4) is (rho +
    2 sqrt(rho log(1/delta)), delta + delta_t)-DP with rho = 1/(2 s^2), as delta_t-approximate
    rho-zCDP implies."""
    return zcdp_to_epsilon(0.5 / noise_scale**2, delta)


_TESTS = grid(noise_scale=(0.5, 1.0, 4.0), delta=(0.01, 1e-6), delta_t=(0.1, 0.4, 1e-3, 1e-6))


@epsilon_of_test.bounds(_TESTS, tolerance=1e-12)
def printed_threshold(noise_scale, delta, delta_t):
    for gap, other, same in gap_pairs():
        passed, there = pass_probability([gap, other], noise_scale, delta_t).tolist()
        exact = functools.partial(release_delta, passed=passed, other=there, same_set=same)
        where = f"gaps {gap} -> {other}, same set: {same}"
        yield lambda epsilon, exact=exact: (delta + delta_t, exact(epsilon)), where


@ZW.privacy("ZW-Lem18-threshold", "Algorithm 4 with the smallest threshold", Relation.MONOTONE)
def threshold(*, noise_scale: Deviation = 1.0, delta_t: FailureOfTest = 0.1) -> float:
    """The guarantee of the Gaussian test (Algorithm 4) also holds with the threshold s Phi^-1(1 -
    delta_t) in place of s sqrt(2 log(1/delta_t)), which is larger.

    Returns the former.
    """
    return noise_scale * threshold_factor(delta_t, quantile=True)


@threshold.bounds(_TESTS, tolerance=1e-12)
def smallest_threshold(noise_scale, delta, delta_t):
    printed = noise_scale * threshold_factor(delta_t)
    yield lambda claimed: (printed, claimed), "against the printed threshold"
    epsilon = epsilon_of_test(noise_scale=noise_scale, delta=delta, delta_t=delta_t)
    for gap, other, same in gap_pairs():

        def released(claimed, gap=gap, other=other, same=same):
            leads = (max(1, gap) - 1.0, max(1, other) - 1.0)
            passed, there = (float(special.ndtr((lead - claimed) / noise_scale)) for lead in leads)
            return delta + delta_t, release_delta(epsilon, passed, there, same)

        yield released, f"gaps {gap} -> {other}, same set: {same}, {delta=:g}"


E_ZW_2 = ZW.misprint(
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
    refuted=[hypothesis_printed],
    corrected=[hypothesis, epsilon_of_test, threshold],
)
