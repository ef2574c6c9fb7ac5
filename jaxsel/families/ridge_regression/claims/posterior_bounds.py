"""Koskela, Redberg & Wang 2024, Section 6.1: the test of OPS-PTR.

Released bounds on an eigenvalue and a norm, with E-OPS-2.
The released code of AdaOPS (Wang 2018) is the source of the printed constants.
"""

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.closed_forms import gaussian_delta, gaussian_noise_multiplier
from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression.claims.ridge_cases import RidgePair, ridge_pairs
from jaxsel.families.ridge_regression.settings import LARGEST_RUN_DELTA, calibrate_run
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.papers import BW, KRW, WANG

_RELEASED = "AdaOPS (released code), used by OPS-PTR"

Epsilon = Annotated[float, positive("of the whole algorithm")]
Delta = Annotated[float, probability("of the whole algorithm")]
# What a run can be calibrated to.
RunEpsilon = Annotated[float, number("of a run", at_least=1e-6, below=1e4)]
RunDelta = Annotated[float, number("of a run", above=0.0, at_most=LARGEST_RUN_DELTA)]
Regularisation = Annotated[float, positive("lambda")]


def _margin(*, epsilon: RunEpsilon = 1.0, delta: RunDelta = 1e-6) -> float:
    """Standard deviations by which a run moves each of its bounds to the safe side."""
    return calibrate_run(epsilon, delta).margin


def _margin_cases(budget: Budget) -> Iterator[Case]:
    for delta in (1e-12, 1e-6, 1e-3, 0.1):
        seen = 0.5 * math.erfc(_margin(delta=delta) / math.sqrt(2.0))
        yield 1.0, seen / (delta / 6.0), f"delta={delta:g}"


def _margin_printed(*, delta: Delta = 1e-6) -> float:
    """delta/3, the printed probability that a bound on the eigenvalue is wrong."""
    return delta / 3.0


def _margin_printed_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for delta in (1e-2, 1e-4, 1e-6):
        # noise of deviation s sqrt(log(6/delta)), moved by s log(6/delta)
        seen = float(special.ndtr(-math.sqrt(math.log(6.0 / delta))))
        yield 1.0, seen / _margin_printed(delta=delta), f"delta={delta:g}"


def _noise_printed(*, epsilon: Epsilon = 4.0, delta: Delta = 1e-6) -> float:
    """delta/3, the printed delta of the released eigenvalue at epsilon/4."""
    del epsilon
    return delta / 3.0


def _noise_printed_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in (0.4, 2.0, 4.0, 8.0):
        for delta in (1e-4, 1e-6):
            scale = math.sqrt(math.log(6.0 / delta)) / (0.25 * epsilon)
            seen = float(gaussian_delta(0.25 * epsilon, scale))
            claimed = _noise_printed(epsilon=epsilon, delta=delta)
            yield 1.0, seen / claimed, f"epsilon={epsilon:g}, delta={delta:g}"


def _noise(
    *,
    epsilon: Annotated[float, number("of that release", at_least=1e-9, at_most=1e6)] = 1.0,
    delta: Annotated[float, probability("of that release")] = 1e-6,
) -> float:
    """Noise multiplier of an (epsilon, delta)-DP Gaussian release."""
    return gaussian_noise_multiplier(epsilon, delta)


def _noise_cases(budget: Budget) -> Iterator[Case]:
    """delta by quadrature of the two densities beyond the point of loss epsilon."""
    generator = np.random.default_rng(budget.seed)
    for _ in range(20):
        epsilon = float(10.0 ** generator.uniform(-2.0, 1.0))
        delta = float(10.0 ** generator.uniform(-12.0, -1.0))
        shift = 1.0 / _noise(epsilon=epsilon, delta=delta)
        point = epsilon / shift - 0.5 * shift
        z, weights = panels([point, point + 30.0], 0.5)
        excess = np.exp(-0.5 * z**2) - math.exp(epsilon) * np.exp(-0.5 * (z + shift) ** 2)
        seen = float(weights @ excess) / math.sqrt(2.0 * math.pi)
        yield 1.0, seen / delta, f"epsilon={epsilon!r}, delta={delta!r}"


def _eigenvalue(
    *, records: Annotated[int, whole("of the data set; it does not matter", at_least=1)] = 10
) -> float:
    """1: how far one record moves the least eigenvalue of X'X."""
    del records
    return 1.0


def _eigenvalue_cases(budget: Budget) -> Iterator[Case]:
    for pair in ridge_pairs(budget):
        seen = pair.larger.least - pair.smaller.least
        yield 0.0, -seen, f"not below 0, {pair.where}"
        yield _eigenvalue(), seen, pair.where


def _norm(
    *,
    regularisation: Regularisation = 1.0,
    eigenvalue: Annotated[
        float, number("e, the least of X'X on either side of the record", at_least=0.0)
    ] = 3.0,
) -> float:
    """How far one record moves log(1 + |theta|): log(1 + 1/(lambda + max(e - 1, 0)))."""
    bound = ridge.leverage_bound(regularisation, eigenvalue)
    return float(ridge.log_norm_sensitivity(bound))


def _norm_printed(
    *,
    regularisation: Regularisation = 1.0,
    eigenvalue: Annotated[
        float, positive("e, the least of X'X on either side of the record")
    ] = 3.0,
) -> float:
    """log(1 + 1/(lambda + e)): how far a record is said to move log(1 + |theta|)."""
    return math.log1p(1.0 / (regularisation + eigenvalue))


def _norm_gap(pair: RidgePair) -> float:
    return abs(math.log1p(pair.larger.norm) - math.log1p(pair.smaller.norm))


def _norm_cases(budget: Budget) -> Iterator[Case]:
    for pair in ridge_pairs(budget):
        for data in (pair.smaller, pair.larger):
            claimed = _norm(regularisation=pair.regularisation, eigenvalue=data.least)
            yield claimed, _norm_gap(pair), pair.where


def _norm_printed_cases(budget: Budget) -> Iterator[Case]:
    for pair in ridge_pairs(budget):
        if pair.larger.least > 0.0:
            claimed = _norm_printed(
                regularisation=pair.regularisation, eigenvalue=pair.larger.least
            )
            yield claimed, _norm_gap(pair), f"from the larger set, {pair.where}"


STATEMENTS = (
    KRW.utility(
        "OPS-margin",
        "Section 6.1 (the test, as corrected)",
        "A run moves each of its two Gaussian bounds by so many deviations that it is "
        "wrong with probability delta/6 at most (checked in units of delta/6).",
        _margin,
        at_most(_margin_cases),
        erratum="E-OPS-1",
    ),
    WANG.utility(
        "OPS-margin-printed",
        _RELEASED,
        "The released eigenvalue, noise of deviation s sqrt(log(6/delta)) less "
        "s log(6/delta), exceeds the true one with probability delta/3 at most (checked "
        "in units of delta/3).",
        _margin_printed,
        at_most(_margin_printed_cases),
        holds=False,
        erratum="E-OPS-1",
        correction="Its probability is Phi(-sqrt(log(6/delta))), near sqrt(delta): move it "
        "by Phi^-1(1 - delta/3) deviations: OPS-margin.",
    ),
    BW.privacy(
        "OPS-noise",
        "as used in Section 6.1 of Koskela, Redberg & Wang 2024",
        "At gaussian_noise_multiplier(epsilon, delta) a Gaussian release has "
        "exactly this delta at epsilon (checked in units of delta).",
        Relation.BASE,
        _noise,
        at_most(_noise_cases),
        erratum="E-OPS-1",
    ),
    WANG.privacy(
        "OPS-noise-printed",
        _RELEASED,
        "An eigenvalue with Gaussian noise of deviation sqrt(log(6/delta)) / "
        "(epsilon/4) is (epsilon/4, delta/3)-DP (checked in units of delta/3).",
        Relation.BASE,
        _noise_printed,
        at_most(_noise_printed_cases),
        holds=False,
        erratum="E-OPS-1",
        correction="At epsilon = 2 delta is exceeded already; calibrate exactly: OPS-noise.",
    ),
    KRW.privacy(
        "OPS-eigenvalue",
        "Section 6.1 (the test)",
        "Adding a record of norm at most 1 raises the least eigenvalue of X'X by "
        "something in [0, 1].",
        Relation.BASE,
        _eigenvalue,
        at_most(_eigenvalue_cases),
    ),
    WANG.misprint(
        "E-OPS-2",
        _RELEASED,
        "statement",
        printed="The sensitivity of log(1 + |theta|) on a data set is log(1 + 1/(lambda + "
        "lambda_min)), lambda_min being the least eigenvalue of its own matrix.",
        correct="If a record leaves, |H^-1 x| of the remaining set counts, whose least "
        "eigenvalue may be 1 less. On the line with lambda + lambda_min = h the ratio "
        "(1 + |theta|)/(1 + |theta'|) reaches h/(h - 1) = 1 + 1/(h - 1).",
        refuted=(
            WANG.privacy(
                "OPS-norm-printed",
                _RELEASED,
                "One record moves log(1 + |theta|) by at most log(1 + 1/(lambda + "
                "lambda_min)), lambda_min of either data set.",
                Relation.BASE,
                _norm_printed,
                at_most(_norm_printed_cases),
            ),
        ),
        corrected=(
            KRW.privacy(
                "OPS-norm",
                "Section 6.1 (the test, as corrected)",
                "One record moves log(1 + |theta|) by at most log(1 + 1/(lambda + "
                "max(lambda_min - 1, 0))), lambda_min of either data set.",
                Relation.BASE,
                _norm,
                at_most(_norm_cases),
            ),
        ),
    ),
)
