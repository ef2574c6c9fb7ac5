"""Tuning with a Poisson number of runs (Papernot & Steinke 2022, Theorem 6)."""

import math
from typing import Annotated

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.conversions import RenyiCurve, monotone, renyi_to_delta
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.domains import choice
from jaxsel.language.papers import PS
from jaxsel.language.signature import validated
from jaxsel.repetitions.parameters import Mean
from jaxsel.tuning.search_bounds import RENYI, Former, Needs, Search, bound


@validated
def poisson_epsilon(
    order: npt.ArrayLike,
    epsilon: npt.ArrayLike,
    delta: npt.ArrayLike,
    mean: Mean,
    *,
    corrected: bool = True,
) -> np.ndarray:
    """Renyi bound of the tuned algorithm, from the base's Renyi bound and delta (Theorem 6).

    epsilon + mean delta + log(mean)/(order - 1), for a base whose profile at
    log(1 + 1/(order - 1)) is at most delta.

    The theorem's proof ignores P[K = 0], but with K = 0 both sides give the same output,
    which increases the bound when mean < 1 (E-PS-1). The corrected bound then is
    log(e^-mean + e^((order - 1) bound))/(order - 1); for mean >= 1 the printed one
    holds.

    Args:
      order: in (1, inf].
      epsilon: Renyi bound of the base at that order.
      delta: delta of the base at log(1 + 1/(order - 1)).
      mean: E[K].
      corrected: False gives the bound as printed, for every mean.

    Returns:
      The Renyi bound; arguments broadcast.
    """
    excess = np.asarray(order, dtype=np.float64) - 1.0
    per_order = np.asarray(epsilon, dtype=np.float64) + mean * np.asarray(delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = per_order + math.log(mean) / excess
        if corrected and mean < 1.0:
            moment = np.logaddexp(-mean, excess * per_order + math.log(mean))
            bound = np.where(np.isinf(excess), np.maximum(per_order, 0.0), moment / excess)
    return bound[()]


@validated
def poisson_renyi(
    base: BaseGuarantee,
    mean: Mean,
    *,
    delta_from: Annotated[str, choice(("profile", "renyi"))] = "profile",
    corrected: bool = True,
    monotonised: bool = True,
) -> RenyiCurve:
    """Renyi curve of the tuned algorithm (Theorem 6).

    Args:
      base: guarantee of the base algorithm.
      mean: E[K].
      delta_from: "profile" takes delta from the exact profile of the base, "renyi" from
        its Renyi curve at the best order (as in the paper's figures).
      corrected: as in poisson_epsilon.
      monotonised: take the least bound over larger orders too (Remark 5).

    Raises:
      InputError: if the base has no profile to take.
    """
    profile = base.profile
    if delta_from == "profile" and profile is None:
        raise InputError(
            f"base {base.name} has no exact profile; use delta_from='renyi' or a base "
            "such as gaussian, laplace or pure"
        )

    def curve(order: np.ndarray) -> np.ndarray:
        order = np.asarray(order, dtype=np.float64)
        with np.errstate(divide="ignore"):
            level = np.log1p(1.0 / (order - 1.0))
        if delta_from == "profile" and profile is not None:
            delta = profile(level)
        else:
            delta = renyi_to_delta(base.renyi, level)
        return poisson_epsilon(order, base.renyi(order), delta, mean, corrected=corrected)

    return monotone(curve) if monotonised else curve


# --- what is stated of a search ----------------------------------------------------------

_AT = ("gaussian:noise_multiplier=4", "poisson:mean=10")


@bound(
    PS,
    "PS-Thm6",
    "Theorem 6, corrected",
    RENYI,
    needs=Needs(law="poisson"),
    words="Papernot & Steinke 2022: Renyi, Poisson, delta from Renyi",
    label="RDP, PS Thm 6, δ̂ by Lemma 14",
    at=Former(
        {"rho": "0.1", "mean": "10"}, "zcdp:rho={rho}", "poisson:mean={mean}", {"order": 5.0}
    ),
    erratum="E-PS-1",
)
def theorem_6(search: Search) -> RenyiCurve:
    """With B = e + mean d + log(mean)/(a-1), the best of K ~ Poisson(mean) runs has D_a <= B if
    mean >= 1, and D_a <= log(e^-mean + e^((a-1)B))/(a-1) for every mean > 0.

    delta comes from Lemma 14 at its best order, as in Figure 3 of the paper; below mean 1 the
    outcome "no run" is added (E-PS-1).
    """
    return poisson_renyi(
        search.base, search.law.parameters["mean"], delta_from="renyi", monotonised=False
    )


@bound(
    PS,
    "PS-Thm6-profile",
    "Theorem 6, corrected, with the exact profile",
    RENYI,
    needs=Needs(law="poisson", uses=("profile",)),
    words="Papernot & Steinke 2022: Renyi, Poisson, delta from the profile",
    label="RDP, PS Thm 6",
    at=_AT,
)
def theorem_6_of_profiles(search: Search) -> RenyiCurve:
    """Theorem 6 holds with d the delta of the base's exact profile at log(1 + 1/(a-1))."""
    return poisson_renyi(search.base, search.law.parameters["mean"], monotonised=False)


def _cases(budget):
    from jaxsel.tuning.claims.searches import equal_laws_cases, gaussian_renyi_cases, renyi_cases

    yield from equal_laws_cases("poisson:mean=0.5", "poisson:mean=1", "poisson:mean=4")
    yield from gaussian_renyi_cases("poisson")
    yield from renyi_cases(budget, "poisson")


theorem_6.bounds()(_cases)
theorem_6_of_profiles.bounds()(_cases)
