"""Gaps that private top-k selection needs (Zhu & Wang 2022, Theorems 8 and 20).

Two quantities are computed, each at a total (epsilon, delta): the least gap at which the test
of Algorithm 4 or 5 releases its set with a given probability; and the least lead of one gap
over all others, which are 0, at which report noisy max selects it with that probability.
"""

import dataclasses
import functools
import math
from typing import Annotated

import numpy as np
from scipy import optimize, special

from jaxsel.accounting.single_run.closed_forms import laplace_renyi
from jaxsel.families.noisy_max.bounds import noisy_max_guarantee
from jaxsel.families.noisy_max.composition_bounds import dominated_composition_epsilon
from jaxsel.families.top_k.calibration import calibrate
from jaxsel.families.top_k.curves import ApproximateRenyiCurve, gap_test_curve, noisy_gap_renyi
from jaxsel.families.top_k.gaps import gap_for_success
from jaxsel.language.domains import positive, probability


@dataclasses.dataclass(frozen=True)
class Needs:
    """The privacy budget of all releases together, and the failure probability of one."""

    epsilon: Annotated[float, positive("epsilon of all releases")] = 1.0
    delta: Annotated[float, probability("delta of a test, or of all releases")] = 1e-6
    failure: Annotated[float, probability("of a test or a selection")] = 0.05


# Report noisy max by its noise, and how it is accounted for.
SELECTIONS = {
    "gumbel": "gumbel",
    "exponential": "exponential",
    "laplace": "laplace",
    "laplace-Thm8": "laplace",
    "gaussian-Cor9": "gaussian",
    "gaussian-profile": "gaussian",
}


# --- Tests ----------------------------------------------------------------------------


def one_release_scale(kind: str, epsilon: float, needs: Needs = Needs()) -> float:
    """Noise scale of one test: Theorem 20's, or one "aligned" with the zCDP of Laplace noise."""
    if kind == "gaussian":
        return math.sqrt(2.0 * math.log(1.25 / needs.delta)) / epsilon
    return 1.0 / epsilon


def one_release_gap(kind: str, epsilon: float, needs: Needs = Needs()) -> float:
    """The exact least gap that passes one test except with probability needs.failure."""
    noise = "laplace" if kind == "laplace" else "gaussian"
    scale = one_release_scale(kind, epsilon, needs)
    return gap_for_success(scale, needs.delta, needs.failure, noise)


@functools.cache
def scale_of_test(noise: str, releases: int, needs: Needs = Needs()) -> float:
    """The least noise scale of each of many tests, by the Renyi curve of their composition.

    Half of needs.delta is spent on the delta of the tests themselves, split evenly between
    them.
    """
    delta_t = needs.delta / 2.0 / releases
    return calibrate(
        lambda scale: gap_test_curve(scale, delta_t, noise=noise),
        needs.epsilon,
        needs.delta,
        releases=releases,
    )


def gap_of_test(noise: str, releases: int, needs: Needs = Needs()) -> float:
    """The least gap that passes each of many tests except with probability needs.failure."""
    scale = scale_of_test(noise, releases, needs)
    delta_t = needs.delta / 2.0 / releases
    return gap_for_success(scale, delta_t, needs.failure, noise)


# --- Selections -----------------------------------------------------------------------


def _log_below(z: np.ndarray, noise: str) -> np.ndarray:
    """log P[Z <= z]."""
    if noise == "gaussian":
        return special.log_ndtr(z)
    if noise == "exponential":
        return np.log(-np.expm1(-z))
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z > 0.0, np.log1p(-half), np.log(half))


@functools.cache
def lead_for_success(noise: str, rivals: int, failure: float = 0.05) -> float:
    """The lead of one score over ``rivals`` equal ones with which it wins except with ``failure``.

    The lead is in units of the noise scale. It has a closed form for Gumbel noise and is
    found by quadrature otherwise.
    """
    if noise == "gumbel":
        return math.log(rivals * (1.0 - failure) / failure)
    low, high = {"gaussian": (-9.0, 9.0), "laplace": (-40.0, 40.0)}.get(noise, (0.0, 40.0))
    node, weight = np.polynomial.legendre.leggauss(64)
    edges = np.linspace(low, high, 161)
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    z = (middle[:, None] + half[:, None] * node).ravel()
    weights = (half[:, None] * weight).ravel()
    density = {
        "gaussian": np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi),
        "laplace": 0.5 * np.exp(-np.abs(z)),
        "exponential": np.exp(-z),
    }[noise]

    def missing(lead: float) -> float:
        lost = -np.expm1(rivals * _log_below(z + lead, noise))
        return float(np.sum(weights * density * lost)) - failure

    return float(optimize.brentq(missing, 1e-9, 60.0, xtol=1e-12))  # type: ignore


@functools.cache
def selection_scale(name: str, candidates: int, releases: int, needs: Needs = Needs()) -> float:
    """Noise scale of each of many selections among ``candidates`` - 1 gaps.

    "laplace-Thm8" is accounted for by Theorem 8 alone, "gaussian-Cor9" by Corollary 9,
    "gaussian-profile" by the composed profile of Theorem 3.2 of Koskela, Redberg & Wang 2024
    as sharpened here; the others by the best bound known (``top_k.noisy_gap_renyi``).
    """
    if name == "gaussian-profile":

        def excess(log_scale: float) -> float:
            one = noisy_max_guarantee("gaussian", math.exp(log_scale), candidates - 1)
            # Some orders by which dp_accounting bounds a tail overflow.
            with np.errstate(over="ignore"):
                total = dominated_composition_epsilon(needs.delta, one, releases)
            return total - needs.epsilon

        high = 0.5 * math.log(releases) + 1.0  # one less is too little noise
        while excess(high) > 0.0:
            high += 1.0
        root = float(optimize.brentq(excess, high - 1.0, high, xtol=1e-4))  # type: ignore
        return math.exp(root)
    noise = SELECTIONS[name]

    def curve(scale: float) -> ApproximateRenyiCurve:
        def renyi(order: np.ndarray) -> np.ndarray:
            if name == "laplace-Thm8":
                pole = math.log(candidates - 1) / (np.asarray(order) - 1.0)
                return laplace_renyi(order, scale / 2.0) + pole
            return noisy_gap_renyi(order, noise, scale, candidates, sharp=True)

        return ApproximateRenyiCurve(renyi)

    return calibrate(curve, needs.epsilon, needs.delta, releases=releases)


def selection_lead(name: str, candidates: int, releases: int, needs: Needs = Needs()) -> float:
    """The least lead over gaps of 0 that wins except with probability needs.failure."""
    scale = selection_scale(name, candidates, releases, needs)
    return scale * lead_for_success(SELECTIONS[name], candidates - 2, needs.failure)
