"""Every bound on the best of K runs that applies to a base and a law of K.

Each is an upper bound on the same profile, and gives epsilon at a delta as well as delta at
an epsilon.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.composing import MOST
from jaxsel.accounting.single_run.conversions import (
    LEAST_DELTA,
    RenyiCurve,
    epsilon_at,
    renyi_to_delta,
    renyi_to_epsilon,
)
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import pair_delta
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds import priced_envelope
from jaxsel.tuning.bounds.approximate import good_part
from jaxsel.tuning.bounds.envelope import Envelope, envelope_epsilon, envelope_log_delta
from jaxsel.tuning.bounds.profiles import profile_bounds
from jaxsel.tuning.bounds.renyi import proven_curves

STATEMENTS: Mapping[str, str] = {
    "JX-Envelope": "envelope bound of this project, from the whole profile",
    "JX-Priced": "priced envelope of this project, from the whole profile",
    "KRW-N2": "E[K] times the profile, shifted by the least uniform ratio; this project",
    "KRW-Thm5.2": "Koskela, Redberg & Wang 2024: profile, truncated negative binomial",
    "KRW-Thm5.7": "Koskela, Redberg & Wang 2024: profile, binomial",
    "KRW-Cor5.8": "Koskela, Redberg & Wang 2024: profile, Poisson",
    "KRW-Cor5.3": "(eta + 2) epsilon for a pure base; Papernot & Steinke 2022, too",
    "PS-Thm2": "Papernot & Steinke 2022: Renyi, truncated negative binomial",
    "PS-Thm2-tight": "Papernot & Steinke 2022: Theorem 2 before its last inequality",
    "PS-Thm6": "Papernot & Steinke 2022: Renyi, Poisson, delta from Renyi",
    "PS-Thm6-profile": "Papernot & Steinke 2022: Renyi, Poisson, delta from the profile",
    "PS-Lem7": "Papernot & Steinke 2022: Renyi, any K, with the trade-off",
    "CL-Thm1": "Cohen et al. 2022: (2 + gamma) epsilon for a pure base, beta-binomial",
    "CL-Thm1-approximate": "Cohen et al. 2022: (2 + gamma) epsilon at delta/tau",
    "composition": "all runs released: as many as K can be, composed",
    "composition-renyi": "all runs released: K times the Renyi bound",
}
"""Every bound by id: its source and what it uses.

A prefix "PS-Lem20+" means that failures of the base are excluded first (Papernot & Steinke
2022, Lemma 20)."""

SET_ASIDE = "PS-Lem20+"
"""Prefix of a bound that excludes failures of the base first."""


def statement(theorem: str) -> str:
    """The statement of a bound, given its id with or without prefix."""
    return STATEMENTS[theorem.removeprefix(SET_ASIDE)]


def releases_all(theorem: str) -> bool:
    """Whether the bound covers the release of every run, and of K."""
    return theorem.removeprefix(SET_ASIDE) in ("composition", "composition-renyi")


class Proof(NamedTuple):
    """One bound, as a function of delta and as a function of epsilon.

    Attributes:
      epsilon: delta -> smallest epsilon >= 0 that is proved; inf if none is.
      delta: epsilon >= 0 -> smallest delta that is proved.
      least_delta: below it the bound is trivial, or implied by other bounds.
      lower_bound: epsilon >= 0 -> a lower bound on ``delta`` that is fast to compute.
    """

    epsilon: Callable[[float], float]
    delta: Callable[[float], float]
    least_delta: float = 0.0
    lower_bound: Callable[[float], float] = lambda epsilon: 0.0


def composition(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Composition of the largest possible number of runs; None if there are too many.

    K does not depend on the data, and the best of K runs is a function of all of them.
    """
    count = law.maximum
    if count is None or count == 0:
        return {}
    whole = base if count == 1 else base.composed and base.composed(count)
    if whole is not None:
        return {"composition": Proof(whole.epsilon, whole.delta)}
    if count > MOST:
        return {}
    many = functools.cache(functools.partial(base.released, count))
    return {
        "composition": Proof(
            lambda delta: max(
                epsilon_at(functools.partial(pair_delta, pair), delta) for pair in many()
            ),
            lambda epsilon: max(float(pair_delta(pair, epsilon)) for pair in many()),
            LEAST_DELTA,
        )
    }


def _constant(pure: float) -> Proof:
    return Proof(lambda delta: pure, lambda epsilon: 0.0 if epsilon >= pure else 1.0)


def _envelopes(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """The envelope bounds, which start from the dominating pairs."""
    if not math.isfinite(law.mean):
        return {}

    @functools.cache
    def directions() -> tuple[priced_envelope.PricedDirection, ...]:
        return priced_envelope.priced_directions(base, law)

    @functools.cache
    def bounds() -> tuple[Envelope, ...]:
        return tuple(each.envelope for each in directions())

    return {
        "JX-Envelope": Proof(
            lambda delta: envelope_epsilon(bounds(), delta),
            lambda epsilon: float(np.exp(envelope_log_delta(bounds(), epsilon))),
        ),
        "JX-Priced": Proof(
            lambda delta: priced_envelope.priced_epsilon(directions(), delta),
            lambda epsilon: priced_envelope.priced_delta(directions(), epsilon),
            lower_bound=lambda epsilon: max(each.attacked(epsilon) for each in directions()),
        ),
    }


def _pure(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Bounds that hold at delta = 0."""
    pure = float(base.renyi(np.asarray(math.inf)))
    match law.family:
        case "truncated_negative_binomial" if math.isfinite(pure):
            return {"KRW-Cor5.3": _constant((law.parameters["eta"] + 2.0) * pure)}
        case "beta_binomial" if math.isfinite(pure):
            return {"CL-Thm1": _constant((2.0 + law.parameters["gamma"]) * pure)}
    return {}


def _from_profile(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Bounds from the profile of one run, if it is known."""
    if base.profile is None:
        return {}
    found = {
        bound.theorem: Proof(
            bound.epsilon,
            lambda epsilon, bound=bound: float(bound.delta(np.asarray(epsilon))),
            LEAST_DELTA,
        )
        for bound in profile_bounds(base, law)
    }
    if law.family == "beta_binomial":
        count, factor = law.parameters["count"], 2.0 + law.parameters["gamma"]
        found["CL-Thm1-approximate"] = Proof(
            lambda delta: factor * base.epsilon(delta / count),
            lambda epsilon: min(1.0, count * base.delta(epsilon / factor)),
            LEAST_DELTA,
        )
    return found


def _from_renyi(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Bounds on Renyi divergences, converted."""

    def proof(build: Callable[[], RenyiCurve]) -> Proof:
        build = functools.cache(build)
        return Proof(
            lambda delta: renyi_to_epsilon(build(), delta).epsilon,
            lambda epsilon: float(renyi_to_delta(build(), epsilon)),
        )

    return {name: proof(build) for name, build in proven_curves(base, law).items()}


_BOUNDS = (_pure, composition, _envelopes, _from_profile, _from_renyi)
"""Functions that return their applicable bounds by id; the simplest to state come first."""


def _of_whole(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Every bound that does not exclude failures of the base."""
    return dict(bound for bounds in _BOUNDS for bound in bounds(base, law).items())


def _failing(good: Proof, failure: float) -> Proof:
    """A bound with failures: delta = failure + (1 - failure) times delta given no failure."""
    kept = 1.0 - failure
    return Proof(
        lambda delta: good.epsilon((delta - failure) / kept),
        lambda epsilon: failure + kept * good.delta(epsilon),
        failure + kept * good.least_delta,
        lambda epsilon: failure + kept * good.lower_bound(epsilon),
    )


def proofs(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Every bound by its id; among equal bounds the simplest to state comes first.

    Args:
      base: guarantee of one run.
      law: the law of K, which is not always 0.
    """
    found = _of_whole(base, law)
    good = good_part(base, law)
    if good is None:
        return found
    return found | {
        f"{SET_ASIDE}{name}": _failing(proof, good.failure)
        for name, proof in _of_whole(good.base, good.repetitions).items()
    }
