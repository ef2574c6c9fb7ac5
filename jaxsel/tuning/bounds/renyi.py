"""The best (epsilon, delta) guarantee of a tuned algorithm through its Renyi bounds."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve, renyi_to_epsilon, repeated
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError, check_interval
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.approximate import thinned
from jaxsel.tuning.bounds.generic import generic_renyi
from jaxsel.tuning.bounds.negative_binomial import negative_binomial_renyi
from jaxsel.tuning.bounds.poisson import poisson_renyi


class TunedEpsilon(NamedTuple):
    """An epsilon of the tuned algorithm, with the theorem and the Renyi order that give it."""

    epsilon: float
    theorem: str
    order: float


def tuned_curves(
    base: BaseGuarantee, repetitions: Repetitions
) -> dict[str, Callable[[], RenyiCurve]]:
    """Every Renyi bound that applies: theorem -> function that builds its curve.

    Ids: "PS-Thm2" as printed and "PS-Thm2-tight", the line of its proof before the last
    inequality (truncated negative binomial); "PS-Thm6" with delta from the Renyi curve
    and "PS-Thm6-profile" with the exact one (Poisson); "composition-renyi" (point mass);
    and "PS-Lem7", the generic bound over the base's trade-off (any law). All are
    corrected for K = 0.
    """
    curves: dict[str, Callable[[], RenyiCurve]] = {}
    parameters = repetitions.parameters
    match repetitions.family:
        case "truncated_negative_binomial":
            eta, gamma = parameters["eta"], parameters["gamma"]
            for name, tight in (("PS-Thm2", False), ("PS-Thm2-tight", True)):
                curves[name] = lambda tight=tight: negative_binomial_renyi(
                    base.renyi, eta, gamma, tight=tight, monotonised=False
                )
        case "poisson":
            mean = parameters["mean"]
            curves["PS-Thm6"] = lambda: poisson_renyi(
                base, mean, delta_from="renyi", monotonised=False
            )
            if base.profile is not None:
                curves["PS-Thm6-profile"] = lambda: poisson_renyi(
                    base, mean, delta_from="profile", monotonised=False
                )
        case "point_mass":
            count = parameters["count"]
            curves["composition-renyi"] = lambda: repeated(base.renyi, count)
    curves["PS-Lem7"] = lambda: generic_renyi(base, repetitions)
    return curves


def proven_curves(
    base: BaseGuarantee, repetitions: Repetitions
) -> dict[str, Callable[[], RenyiCurve]]:
    """The tuned_curves whose computation is rigorous, without a numerical search."""
    found = tuned_curves(base, repetitions)
    if base.tradeoff is None:
        del found["PS-Lem7"]
    return found


def tuned_epsilon(
    base: BaseGuarantee,
    repetitions: Repetitions,
    delta: float,
    *,
    theorems: Sequence[str] | None = None,
) -> TunedEpsilon:
    """Best epsilon at delta of running ``base`` K times and keeping the best output.

    Args:
      base: guarantee of one run; one with a core and a failure probability is treated
        by Lemma 20, and the ids then begin with "PS-Lem20+".
      repetitions: law of K.
      delta: in [0, 1).
      theorems: restrict the bounds to these ids of tuned_curves; all by default.

    Returns:
      The least epsilon over the bounds and over orders; inf if none applies at delta.

    Raises:
      InputError: if delta is out of range or no named theorem applies.
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    prefix = ""
    if base.core is not None:
        thin = thinned(repetitions, base.failure)
        prefix = "PS-Lem20+"
        if delta < thin.delta:
            return TunedEpsilon(np.inf, "PS-Lem20", np.inf)
        # delta = thin.delta + (1 - thin.delta) times the delta of the good part
        delta = (delta - thin.delta) / (1.0 - thin.delta)
        base, repetitions = base.core, thin.repetitions
    curves = tuned_curves(base, repetitions)
    wanted = list(curves) if theorems is None else list(theorems)
    for name in wanted:
        if name not in curves:
            raise InputError(
                f"theorem {name!r} does not apply to {base.name} with "
                f"{repetitions.family} repetitions; choose among {', '.join(curves)}"
            )
    best = TunedEpsilon(np.inf, prefix + wanted[0], np.inf)
    for name in wanted:
        conversion = renyi_to_epsilon(curves[name](), delta)
        if conversion.epsilon < best.epsilon:
            best = TunedEpsilon(conversion.epsilon, prefix + name, conversion.order)
    return best
