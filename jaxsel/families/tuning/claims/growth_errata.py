"""Erratum of Koskela, Redberg & Wang 2024 on growth with E[K]: E-KRW-8, first part.

The paper says that Renyi bounds grow as log m, against sqrt(log m) for its own; for a
Gaussian base, at a fixed delta, both grow as sqrt(log m).
"""

import math
from collections.abc import Iterator

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.base import Budget, Claim, Relation, Verdict
from jaxsel.checking import bound_verdict
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.tuning.bounds.negative_binomial import negative_binomial_renyi

_PAPER = "Koskela, Redberg & Wang 2024"
Case = tuple[float, float, str]


def _renyi_epsilon(mean: float, delta: float, eta: float, noise_scale: float) -> float:
    """Epsilon at delta that Theorem 5.1 (Papernot & Steinke 2022, Theorem 2) gives."""
    base = curves.gaussian(noise_scale)
    if mean == 1.0:
        return renyi_to_epsilon(base.renyi, delta).epsilon
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    gamma = float(law.parameters["gamma"])
    curve = negative_binomial_renyi(base.renyi, eta, gamma, monotonised=False)
    return renyi_to_epsilon(curve, delta).epsilon


def _growth_arguments(mean: float, delta: float, eta: float, noise_scale: float):
    mean = check_interval("mean", mean, 1.0, 1e250)
    delta = check_interval("delta", delta, 0.0, 1.0)
    eta = check_interval("eta", eta, -1.0, math.inf)
    return mean, delta, eta, check_positive("noise_scale", noise_scale)


def _log_growth(
    *,
    mean: float = 1e200,
    delta: float = 1e-6,
    eta: float = 1.0,
    noise_scale: float = 4.0,
    reference: float = 1e3,
    share: float = 0.5,
) -> float:
    """Epsilon at delta that growth in proportion to log m predicts for Theorem 5.1.

    The epsilon of one run, plus ``share`` of the growth up to the reference mean, in
    proportion to log m.

    Args:
      mean: m = E[K], in (1, 1e250).
      delta: in (0, 1).
      eta: shape of the law of K, > -1.
      noise_scale: standard deviation of the base's noise over its sensitivity.
      reference: mean at which the rate of growth is taken, > 1.
      share: how much of that rate must persist for growth to be "essentially log m", in
        (0, 1].
    """
    mean, delta, eta, noise_scale = _growth_arguments(mean, delta, eta, noise_scale)
    reference = check_interval("reference", reference, 1.0, 1e250)
    share = check_interval("share", share, 0.0, 1.0, high_open=False)
    once = _renyi_epsilon(1.0, delta, eta, noise_scale)
    grown = _renyi_epsilon(reference, delta, eta, noise_scale) - once
    return once + share * grown * math.log(mean) / math.log(reference)


def _root_growth(
    *,
    mean: float = 1e200,
    delta: float = 1e-6,
    eta: float = 1.0,
    noise_scale: float = 4.0,
) -> float:
    """Upper bound, of order sqrt(log m), on the epsilon at delta of Theorem 5.1.

    rho + 2 sqrt(rho log(m/delta)) + (1 + eta)(2 sqrt(rho log(1/gamma)) - rho), with rho
    = 1/(2 noise_scale^2): Corollary 4 of Papernot & Steinke 2022 at the order
    1 + sqrt(log(m/delta)/rho). The last bracket is log(1/gamma) where rho exceeds that.

    Args:
      mean: m = E[K], in (1, 1e250).
      delta: in (0, 1).
      eta: shape of the law of K, > -1.
      noise_scale: standard deviation of the base's noise over its sensitivity.
    """
    mean, delta, eta, noise_scale = _growth_arguments(mean, delta, eta, noise_scale)
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    rho, inverse = 0.5 / noise_scale**2, -math.log(law.parameters["gamma"])
    middle = 2.0 * math.sqrt(rho * inverse) - rho if rho <= inverse else inverse
    return rho + 2.0 * math.sqrt(rho * math.log(mean / delta)) + (1.0 + eta) * middle


def _check_log_growth(budget: Budget) -> Verdict:
    """The claim is a lower bound on what Theorem 5.1 gives."""

    def cases() -> Iterator[Case]:
        for mean in (1e200, 1e100):
            actual = _renyi_epsilon(mean, 1e-6, 1.0, 4.0)
            yield actual, _log_growth(mean=mean), f"Theorem 5.1 at mean {mean:g}"

    return bound_verdict(cases())


def _check_root_growth(budget: Budget) -> Verdict:
    def cases() -> Iterator[Case]:
        for eta in (0.0, 1.0, 3.0):
            for noise_scale in (1.0, 4.0):
                for mean in (1.5, 10.0, 1e3, 1e12, 1e200):
                    setting = (mean, 1e-6, eta, noise_scale)
                    claimed = _root_growth(
                        mean=mean, delta=1e-6, eta=eta, noise_scale=noise_scale
                    )
                    where = "mean, delta, eta, noise_scale"
                    yield claimed, _renyi_epsilon(*setting), f"{where} = {setting}"

    return bound_verdict(cases())


CLAIMS = (
    Claim(
        id="KRW-Sec3-growth-printed",
        source=f"{_PAPER}, Section 3, after Theorem 3.3",
        statement=(
            "The Renyi bounds of Papernot & Steinke 2022 essentially grow as log m, "
            "m = E[K]: from mean 1000 on, epsilon at a fixed delta keeps at least half "
            "of its rate of growth per unit of log m."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_log_growth,
        check=_check_log_growth,
        holds=False,
        erratum="E-KRW-8",
        correction=(
            "With the orders optimised, they grow as sqrt(log m): KRW-Sec3-growth."
        ),
    ),
    Claim(
        id="KRW-Sec3-growth",
        source="Papernot & Steinke 2022, Corollary 4, at a fixed delta",
        statement=(
            "For a Gaussian base with rho = 1/(2 s^2), Theorem 5.1 gives at delta an "
            "epsilon of at most rho + 2 sqrt(rho log(m/delta)) + (1 + eta)(2 sqrt(rho "
            "log(1/gamma)) - rho), if rho <= log(1/gamma)."
        ),
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_root_growth,
        check=_check_root_growth,
        erratum="E-KRW-8",
    ),
)
