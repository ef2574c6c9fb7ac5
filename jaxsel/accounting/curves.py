"""What is known about a base algorithm: its Renyi curve, profile and trade-off."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel.accounting import closed_forms
from jaxsel.accounting.conversions import RenyiCurve
from jaxsel.errors import InputError, check_interval, check_positive

__all__ = [
    "BaseGuarantee",
    "approximate",
    "gaussian",
    "laplace",
    "parse",
    "pure",
    "randomised_response",
    "zcdp",
]


class BaseGuarantee(NamedTuple):
    """A two-sided privacy guarantee of one run of a base algorithm.

    Attributes:
      name: what the command line calls it, with its parameter.
      renyi: order in [1, inf] -> bound on both Renyi divergences, element by element.
      profile: real epsilon -> bound on delta(epsilon) in both directions, element by
        element; None where nothing better than ``renyi`` is known.
      tradeoff: x -> bound on Q'(S) over events with Q(S) <= x, in both directions; None
        where nothing better than ``renyi`` is known.
      core, failure: if core is given, both laws are mixtures of a pair that satisfies
        ``core``, with weight 1 - failure, and of anything, with weight failure.
    """

    name: str
    renyi: RenyiCurve
    profile: Callable[[np.ndarray], np.ndarray] | None = None
    tradeoff: Callable[[np.ndarray], np.ndarray] | None = None
    core: "BaseGuarantee | None" = None
    failure: float = 0.0


def randomised_response(epsilon: float) -> BaseGuarantee:
    """Binary randomised response that tells the truth with odds e^epsilon."""
    epsilon = check_positive("epsilon", epsilon)
    return BaseGuarantee(
        name=f"randomised_response:epsilon={epsilon!r}",
        renyi=lambda order: closed_forms.randomised_response_renyi(order, epsilon),
        profile=lambda level: closed_forms.randomised_response_delta(level, epsilon),
        tradeoff=lambda x: closed_forms.randomised_response_tradeoff(x, epsilon),
    )


def pure(epsilon: float) -> BaseGuarantee:
    """Pure epsilon-DP, with the curves of randomised response, which are the worst.

    Every f-divergence of an epsilon-DP pair is E_Q[f(P/Q)] with f convex, P/Q inside
    [e^-epsilon, e^epsilon] and E_Q[P/Q] = 1; f lies below its chord between the ends of
    that interval, and a law on the two ends has mean 1 only for randomised response.
    """
    epsilon = check_positive("epsilon", epsilon)
    return randomised_response(epsilon)._replace(name=f"pure:epsilon={epsilon!r}")


def zcdp(rho: float) -> BaseGuarantee:
    """rho-zCDP: Renyi divergence at most rho * order (Bun & Steinke 2016)."""
    rho = check_positive("rho", rho)
    return BaseGuarantee(
        name=f"zcdp:rho={rho!r}",
        renyi=lambda order: np.asarray(order, dtype=np.float64) * rho,
    )


def gaussian(noise_multiplier: float) -> BaseGuarantee:
    """Gaussian noise of standard deviation noise_multiplier times the sensitivity."""
    scale = check_positive("noise_multiplier", noise_multiplier)
    return BaseGuarantee(
        name=f"gaussian:noise_multiplier={scale!r}",
        renyi=lambda order: closed_forms.gaussian_renyi(order, scale),
        profile=lambda level: closed_forms.gaussian_delta(level, scale),
        tradeoff=lambda x: closed_forms.gaussian_tradeoff(x, scale),
    )


def laplace(noise_scale: float) -> BaseGuarantee:
    """Laplace noise of scale noise_scale on a query of sensitivity 1."""
    scale = check_positive("noise_scale", noise_scale)
    return BaseGuarantee(
        name=f"laplace:noise_scale={scale!r}",
        renyi=lambda order: closed_forms.laplace_renyi(order, scale),
        profile=lambda level: closed_forms.laplace_delta(level, scale),
        tradeoff=lambda x: closed_forms.laplace_tradeoff(x, scale),
    )


def approximate(epsilon: float, delta: float) -> BaseGuarantee:
    """(epsilon, delta)-DP, decomposed as by Kairouz, Oh & Viswanath (2015).

    No Renyi divergence is bounded, so ``renyi`` is inf; ``core`` is the pure part.
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, 1.0)
    return BaseGuarantee(
        name=f"approximate:epsilon={epsilon!r},delta={delta!r}",
        renyi=lambda order: np.full(np.shape(order), math.inf)[()],
        profile=lambda level: closed_forms.approximate_profile(level, epsilon, delta),
        tradeoff=lambda x: closed_forms.approximate_tradeoff(x, epsilon, delta),
        core=pure(epsilon),
        failure=delta,
    )


_FACTORIES: dict[str, tuple[Callable[..., BaseGuarantee], tuple[str, ...]]] = {
    "pure": (pure, ("epsilon",)),
    "zcdp": (zcdp, ("rho",)),
    "gaussian": (gaussian, ("noise_multiplier",)),
    "laplace": (laplace, ("noise_scale",)),
    "approximate": (approximate, ("epsilon", "delta")),
    "randomised_response": (randomised_response, ("epsilon",)),
}


def parse(text: str) -> BaseGuarantee:
    """Reads a base guarantee from the command line.

    Args:
      text: for example "zcdp:rho=0.1", "pure:epsilon=1", "gaussian:noise_multiplier=4",
        "laplace:noise_scale=2", "approximate:epsilon=1,delta=1e-6" or
        "randomised_response:epsilon=1".

    Raises:
      InputError: if the text has another form or a value is out of range.
    """
    forms = [
        f"{family}:" + ",".join(f"{name}=..." for name in names)
        for family, (_, names) in _FACTORIES.items()
    ]
    wrong = f"base is {text!r}; it must look like one of: {' '.join(forms)}"
    family, _, rest = str(text).strip().partition(":")
    if family not in _FACTORIES:
        raise InputError(wrong)
    factory, names = _FACTORIES[family]
    values: dict[str, float] = {}
    for item in rest.split(","):
        name, equals, number = item.partition("=")
        name = name.strip()
        if not equals or name not in names or name in values:
            raise InputError(wrong)
        try:
            values[name] = float(number)
        except ValueError:
            raise InputError(wrong) from None
    if len(values) != len(names):
        raise InputError(wrong)
    return factory(**values)
