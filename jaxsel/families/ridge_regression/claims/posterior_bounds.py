"""The test of OPS-PTR: released bounds on an eigenvalue and a norm, Section 6.1.

The released code of AdaOPS (Wang 2018) is the source of the printed constants.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.closed_forms import (
    gaussian_delta,
    gaussian_noise_multiplier,
)
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression.claims.ridge_cases import RidgePair, ridge_pairs

_KRW = "Koskela, Redberg & Wang 2024"
_WANG = "Wang 2018, AdaOPS (released code), used by OPS-PTR"


def _margin(*, failure: float = 1e-6) -> float:
    """Standard deviations by which a bound must be moved: Phi^-1(1 - failure).

    Args:
      failure: probability that the bound is wrong.
    """
    return -float(special.ndtri(check_interval("failure", failure, 0.0, 0.5)))


def _margin_cases(budget: Budget) -> Iterator[Case]:
    for failure in (1e-12, 1e-6, 1e-3, 0.1, 0.4):
        seen = float(special.ndtr(-_margin(failure=failure)))
        yield 1.0, seen / failure, f"failure={failure:g}"


def _margin_printed(*, delta: float = 1e-6) -> float:
    """delta/3, the printed probability that a bound on the eigenvalue is wrong.

    Args:
      delta: of the whole algorithm.
    """
    return check_interval("delta", delta, 0.0, 1.0) / 3.0


def _margin_printed_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for delta in (1e-2, 1e-4, 1e-6):
        # noise of deviation s sqrt(log(6/delta)), moved by s log(6/delta)
        seen = float(special.ndtr(-math.sqrt(math.log(6.0 / delta))))
        yield 1.0, seen / _margin_printed(delta=delta), f"delta={delta:g}"


def _noise_printed(*, epsilon: float = 4.0, delta: float = 1e-6) -> float:
    """delta/3, the printed delta of the released eigenvalue at epsilon/4.

    Args:
      epsilon, delta: of the whole algorithm.
    """
    check_positive("epsilon", epsilon)
    return check_interval("delta", delta, 0.0, 1.0) / 3.0


def _noise_printed_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in (0.4, 2.0, 4.0, 8.0):
        for delta in (1e-4, 1e-6):
            scale = math.sqrt(math.log(6.0 / delta)) / (0.25 * epsilon)
            seen = float(gaussian_delta(0.25 * epsilon, scale))
            claimed = _noise_printed(epsilon=epsilon, delta=delta)
            yield 1.0, seen / claimed, f"epsilon={epsilon:g}, delta={delta:g}"


def _noise(*, epsilon: float = 1.0, delta: float = 1e-6) -> float:
    """Noise multiplier of an (epsilon, delta)-DP Gaussian release.

    Args:
      epsilon, delta: of that release.
    """
    return gaussian_noise_multiplier(epsilon, delta)


def _noise_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(20):
        epsilon = float(10.0 ** generator.uniform(-2.0, 1.0))
        delta = float(10.0 ** generator.uniform(-12.0, -1.0))
        seen = float(gaussian_delta(epsilon, _noise(epsilon=epsilon, delta=delta)))
        yield 1.0, seen / delta, f"epsilon={epsilon!r}, delta={delta!r}"


def _eigenvalue(*, records: int = 10) -> float:
    """1: how far one record moves the least eigenvalue of X'X.

    Args:
      records: of the data set; it does not matter.
    """
    check_positive("records", records)
    return 1.0


def _eigenvalue_cases(budget: Budget) -> Iterator[Case]:
    for pair in ridge_pairs(budget):
        seen = pair.larger.least - pair.smaller.least
        yield 0.0, -seen, f"not below 0, {pair.where}"
        yield _eigenvalue(), seen, pair.where


def _norm(*, regularisation: float = 1.0, eigenvalue: float = 3.0) -> float:
    """How far one record moves log(1 + |theta|).

    log(1 + 1/(lambda + max(e - 1, 0))).

    Args:
      regularisation: lambda > 0.
      eigenvalue: e, least eigenvalue of X'X of the data set that the record joins or
        leaves.
    """
    bound = ridge.leverage_bound(regularisation, eigenvalue)
    return float(ridge.log_norm_sensitivity(bound))


def _norm_printed(*, regularisation: float = 1.0, eigenvalue: float = 3.0) -> float:
    """log(1 + 1/(lambda + e)): how far a record is said to move log(1 + |theta|).

    Args:
      regularisation: lambda > 0.
      eigenvalue: e > 0, of the data set that the record joins or leaves.
    """
    lam = check_positive("regularisation", regularisation)
    return math.log1p(1.0 / (lam + check_positive("eigenvalue", eigenvalue)))


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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="OPS-margin",
        source=f"{_KRW}, Section 6.1 (the test, as corrected)",
        statement="A Gaussian release less Phi^-1(1 - d) of its deviations exceeds the "
        "true value with probability d at most (checked in units of d).",
        kind="utility",
        relation=None,
        evaluate=_margin,
        check=at_most(_margin_cases),
        erratum="E-OPS-1",
    ),
    Claim(
        id="OPS-margin-printed",
        source=_WANG,
        statement="The released eigenvalue, noise of deviation s sqrt(log(6/delta)) less "
        "s log(6/delta), exceeds the true one with probability delta/3 at most (checked "
        "in units of delta/3).",
        kind="utility",
        relation=None,
        evaluate=_margin_printed,
        check=at_most(_margin_printed_cases),
        holds=False,
        erratum="E-OPS-1",
        correction="Its probability is Phi(-sqrt(log(6/delta))), near sqrt(delta): move it "
        "by Phi^-1(1 - delta/3) deviations: OPS-margin.",
    ),
    Claim(
        id="OPS-noise",
        source="Balle & Wang 2018, as used in Section 6.1",
        statement="At gaussian_noise_multiplier(epsilon, delta) a Gaussian release has "
        "exactly this delta at epsilon (checked in units of delta).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_noise,
        check=at_most(_noise_cases),
        erratum="E-OPS-1",
    ),
    Claim(
        id="OPS-noise-printed",
        source=_WANG,
        statement="An eigenvalue with Gaussian noise of deviation sqrt(log(6/delta)) / "
        "(epsilon/4) is (epsilon/4, delta/3)-DP (checked in units of delta/3).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_noise_printed,
        check=at_most(_noise_printed_cases),
        holds=False,
        erratum="E-OPS-1",
        correction="At epsilon = 2 delta is exceeded already; calibrate exactly: "
        "OPS-noise.",
    ),
    Claim(
        id="OPS-eigenvalue",
        source=f"{_KRW}, Section 6.1 (the test)",
        statement="Adding a record of norm at most 1 raises the least eigenvalue of X'X by "
        "something in [0, 1].",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_eigenvalue,
        check=at_most(_eigenvalue_cases),
    ),
    Claim(
        id="OPS-norm",
        source=f"{_KRW}, Section 6.1 (the test, as corrected)",
        statement="One record moves log(1 + |theta|) by at most log(1 + 1/(lambda + "
        "max(lambda_min - 1, 0))), lambda_min of either data set.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_norm,
        check=at_most(_norm_cases),
        erratum="E-OPS-2",
    ),
    Claim(
        id="OPS-norm-printed",
        source=_WANG,
        statement="One record moves log(1 + |theta|) by at most log(1 + 1/(lambda + "
        "lambda_min)), lambda_min of either data set.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_norm_printed,
        check=at_most(_norm_printed_cases),
        holds=False,
        erratum="E-OPS-2",
        correction="Without the record the least eigenvalue may be 1 less: OPS-norm.",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="E-OPS-2",
        source=_WANG,
        kind="statement",
        printed="The sensitivity of log(1 + |theta|) on a data set is log(1 + 1/(lambda + "
        "lambda_min)), lambda_min being the least eigenvalue of its own matrix.",
        correct="If a record leaves, |H^-1 x| of the remaining set counts, whose least "
        "eigenvalue may be 1 less. On the line with lambda + lambda_min = h the ratio "
        "(1 + |theta|)/(1 + |theta'|) reaches h/(h - 1) = 1 + 1/(h - 1).",
        refuted=("OPS-norm-printed",),
        corrected=("OPS-norm",),
    ),
)
