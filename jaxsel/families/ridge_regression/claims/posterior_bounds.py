"""Koskela, Redberg & Wang 2024, Section 6.1: the test of OPS-PTR.

The test is made of released bounds on an eigenvalue and on a norm. "Printed" constants are those of
the released code of AdaOPS (Wang 2018), some of which are wrong (E-OPS-1, E-OPS-2).
"""

import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.closed_forms import gaussian_delta, gaussian_noise_multiplier
from jaxsel.families.ridge_regression import parameters
from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression.claims.ridge_cases import ridge_pairs
from jaxsel.families.ridge_regression.settings import calibrate_run
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, drawn, grid, in_units, listed
from jaxsel.language.domains import number, positive, probability
from jaxsel.language.papers import BW, KRW, WANG

_RELEASED = "AdaOPS (released code), used by OPS-PTR"


@KRW.utility("OPS-margin", "Section 6.1 (the test, as corrected)", erratum="E-OPS-1")
def margin(*, epsilon: parameters.RunEpsilon = 1.0, delta: parameters.RunDelta = 1e-6) -> float:
    """A run moves each of its two Gaussian bounds to the safe side by so many standard deviations
    that the bound is wrong with probability at most delta/6.

    Returns the number of standard deviations. The check is in units of delta/6.
    """
    return calibrate_run(epsilon, delta).margin


@margin.bounds(grid(epsilon=[1.0], delta=[1e-12, 1e-6, 1e-3, 0.1]))
def margin_cases(delta):
    return lambda margin: (1.0, 0.5 * math.erfc(margin / math.sqrt(2.0)) / (delta / 6.0))


@WANG.utility(
    "OPS-margin-printed",
    _RELEASED,
    holds=False,
    erratum="E-OPS-1",
    correction="Its probability is Phi(-sqrt(log(6/delta))), near sqrt(delta): move it "
    "by Phi^-1(1 - delta/3) deviations: OPS-margin.",
)
def margin_printed(*, delta: parameters.Delta = 1e-6) -> float:
    """The released eigenvalue, which is the true one plus noise of deviation s sqrt(log(6/delta))
    minus s log(6/delta), exceeds the true one with probability delta/3 at most.

    Returns delta/3. The check is in units of it.
    """
    return delta / 3.0


@margin_printed.bounds(listed("delta", 1e-2, 1e-4, 1e-6))
def margin_printed_cases(delta):
    # noise of deviation s sqrt(log(6/delta)), moved by s log(6/delta)
    return in_units(float(special.ndtr(-math.sqrt(math.log(6.0 / delta)))))


@WANG.privacy(
    "OPS-noise-printed",
    _RELEASED,
    Relation.BASE,
    holds=False,
    erratum="E-OPS-1",
    correction="At epsilon = 2 delta is exceeded already; calibrate exactly: OPS-noise.",
)
def noise_printed(*, epsilon: parameters.Epsilon = 4.0, delta: parameters.Delta = 1e-6) -> float:
    """An eigenvalue with Gaussian noise of deviation sqrt(log(6/delta)) / (epsilon/4) is
    (epsilon/4, delta/3)-DP.

    Returns delta/3. The check is in units of it.
    """
    del epsilon
    return delta / 3.0


@noise_printed.bounds(grid(epsilon=[0.4, 2.0, 4.0, 8.0], delta=[1e-4, 1e-6]))
def noise_printed_cases(epsilon, delta):
    scale = math.sqrt(math.log(6.0 / delta)) / (0.25 * epsilon)
    return in_units(float(gaussian_delta(0.25 * epsilon, scale)))


@BW.privacy(
    "OPS-noise",
    "as used in Section 6.1 of Koskela, Redberg & Wang 2024",
    Relation.BASE,
    erratum="E-OPS-1",
)
def noise(
    *,
    epsilon: Annotated[float, number("of that release", at_least=1e-9, at_most=1e6)] = 1.0,
    delta: Annotated[float, probability("of that release")] = 1e-6,
) -> float:
    """A Gaussian release of noise multiplier gaussian_noise_multiplier(epsilon, delta) has exactly
    this delta at epsilon.

    Returns the noise multiplier. The check is in units of delta.
    """
    return gaussian_noise_multiplier(epsilon, delta)


def _draw(generator: np.random.Generator) -> tuple[float, float]:
    return 10.0 ** generator.uniform(-2.0, 1.0), 10.0 ** generator.uniform(-12.0, -1.0)


@noise.bounds(drawn("epsilon delta", _draw, 20))
def noise_cases(epsilon, delta):
    """To judge a multiplier: the function that returns 1 and its exact delta, in units of delta.

    The delta is found by quadrature of the two densities, where the loss exceeds epsilon.
    """

    def exact(multiplier):
        shift = 1.0 / multiplier
        point = epsilon / shift - 0.5 * shift
        z, weights = panels([point, point + 30.0], 0.5)
        excess = np.exp(-0.5 * z**2) - math.exp(epsilon) * np.exp(-0.5 * (z + shift) ** 2)
        return 1.0, float(weights @ excess) / math.sqrt(2.0 * math.pi) / delta

    return exact


@KRW.privacy("OPS-eigenvalue", "Section 6.1 (the test)", Relation.BASE)
def eigenvalue(*, records: parameters.Records = 10) -> float:
    """Adding a record of norm at most 1 raises the least eigenvalue of X'X by something in [0,
    1]."""
    del records
    return 1.0


@eigenvalue.bounds()
def eigenvalue_cases(budget):
    for pair in ridge_pairs(budget):
        seen = pair.larger.least - pair.smaller.least
        yield Judged(0.0, -seen, f"not below 0, {pair.where}")
        yield {"records": pair.records}, seen, pair.where


@KRW.privacy("OPS-norm", "Section 6.1 (the test, as corrected)", Relation.BASE)
def norm(
    *, regularisation: parameters.Regularisation = 1.0, eigenvalue: parameters.Eigenvalue = 3.0
) -> float:
    """One record moves log(1 + |theta|) by at most log(1 + 1/(lambda + max(lambda_min - 1, 0))),
    lambda_min of either data set."""
    bound = ridge.leverage_bound(regularisation, eigenvalue)
    return float(ridge.log_norm_sensitivity(bound))


@WANG.privacy("OPS-norm-printed", _RELEASED, Relation.BASE)
def norm_printed(
    *,
    regularisation: parameters.Regularisation = 1.0,
    eigenvalue: Annotated[
        float, positive("e, the least of X'X on either side of the record")
    ] = 3.0,
) -> float:
    """One record moves log(1 + |theta|) by at most log(1 + 1/(lambda + lambda_min)), lambda_min of
    either data set."""
    return math.log1p(1.0 / (regularisation + eigenvalue))


@norm.bounds(sets=("smaller", "larger"), singular=True)
@norm_printed.bounds(sets=("larger",), singular=False)
def norm_cases(budget, sets, singular):
    for pair in ridge_pairs(budget):
        gap = abs(math.log1p(pair.larger.norm) - math.log1p(pair.smaller.norm))
        for data in (getattr(pair, name) for name in sets):
            if singular or data.least > 0.0:
                point = {"regularisation": pair.regularisation, "eigenvalue": data.least}
                yield point, gap, f"from a set, {pair.where}"


E_OPS_2 = WANG.misprint(
    "E-OPS-2",
    _RELEASED,
    "statement",
    printed="The sensitivity of log(1 + |theta|) on a data set is log(1 + 1/(lambda + "
    "lambda_min)), lambda_min being the least eigenvalue of its own matrix.",
    correct="If a record leaves, |H^-1 x| of the remaining set counts, whose least "
    "eigenvalue may be 1 less. On the line with lambda + lambda_min = h the ratio "
    "(1 + |theta|)/(1 + |theta'|) reaches h/(h - 1) = 1 + 1/(h - 1).",
    refuted=[norm_printed],
    corrected=[norm],
)
