"""Every bound on the best of K runs that applies to a base and a law of K.

Each is an upper bound on the same profile, asked for either way round: epsilon at a delta,
or delta at an epsilon.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run import composing
from jaxsel.accounting.single_run.conversions import (
    LEAST_DELTA,
    RenyiCurve,
    epsilon_at,
    renyi_to_delta,
    renyi_to_epsilon,
)
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair, pair_delta
from jaxsel.families.tuning.bounds import priced_envelope
from jaxsel.families.tuning.bounds.approximate import thinned
from jaxsel.families.tuning.bounds.envelope import (
    Envelope,
    envelope_epsilon,
    envelope_log_delta,
)
from jaxsel.families.tuning.bounds.profiles import profile_bounds
from jaxsel.families.tuning.bounds.renyi import tuned_curves
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions

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
"""Every bound by id: whose it is and what it starts from. A prefix "PS-Lem20+" means
that failures of the base are set aside first (Papernot & Steinke 2022, Lemma 20)."""

SET_ASIDE = "PS-Lem20+"
"""Prefix of a bound that sets failures of the base aside first."""


def statement(theorem: str) -> str:
    """What is said of a bound by its id, prefix or not."""
    return STATEMENTS[theorem.removeprefix(SET_ASIDE)]


def releases_all(theorem: str) -> bool:
    """Whether the bound covers the release of every run, and of K."""
    return theorem.removeprefix(SET_ASIDE) in ("composition", "composition-renyi")


class Proof(NamedTuple):
    """One bound, asked for either way round.

    Attributes:
      epsilon: delta -> smallest epsilon >= 0 that is proved; inf if none is.
      delta: epsilon >= 0 -> smallest delta that is proved.
      least_delta: below it nothing is said, or nothing that others do not say.
      never_below: epsilon >= 0 -> what delta cannot be below, where that is told sooner.
    """

    epsilon: Callable[[float], float]
    delta: Callable[[float], float]
    least_delta: float = 0.0
    never_below: Callable[[float], float] = lambda epsilon: 0.0


def _one_run(base: BaseGuarantee) -> Proof:
    return Proof(base.epsilon, base.delta)


def composition(base: BaseGuarantee, law: Repetitions) -> Proof | None:
    """Releasing as many runs as K can be; None if they are too many.

    K does not depend on the data, and the best of fewer runs is computed from all.
    """
    count = law.maximum
    if count is None or count == 0:
        return None
    if count == 1:
        return _one_run(base)
    if base.composed is not None:
        return _one_run(base.composed(count))
    if base.pairs is None or count > composing.MOST:
        return None
    build = base.pairs

    @functools.cache
    def many() -> list[DominatingPair]:
        return [composing.composed_pair(pair, count) for pair in build()]

    return Proof(
        lambda delta: max(
            epsilon_at(functools.partial(pair_delta, pair), delta) for pair in many()
        ),
        lambda epsilon: max(float(pair_delta(pair, epsilon)) for pair in many()),
        LEAST_DELTA,
    )


def _constant(pure: float) -> Proof:
    return Proof(lambda delta: pure, lambda epsilon: 0.0 if epsilon >= pure else 1.0)


def _of_renyi(build: Callable[[], RenyiCurve]) -> Proof:
    build = functools.cache(build)
    return Proof(
        lambda delta: renyi_to_epsilon(build(), delta).epsilon,
        lambda epsilon: float(renyi_to_delta(build(), epsilon)),
    )


def _envelope(base: BaseGuarantee, law: Repetitions) -> Proof:
    @functools.cache
    def bounds() -> tuple[Envelope, ...]:
        kept = priced_envelope.priced_directions(base, law)
        return tuple(each.envelope for each in kept)

    return Proof(
        lambda delta: envelope_epsilon(bounds(), delta),
        lambda epsilon: float(np.exp(envelope_log_delta(bounds(), epsilon))),
    )


def _priced(base: BaseGuarantee, law: Repetitions) -> Proof:
    @functools.cache
    def directions() -> tuple[priced_envelope.PricedDirection, ...]:
        return priced_envelope.priced_directions(base, law)

    return Proof(
        lambda delta: priced_envelope.priced_epsilon(directions(), delta),
        lambda epsilon: priced_envelope.priced_delta(directions(), epsilon),
        never_below=lambda epsilon: max(
            each.attacked(epsilon) for each in directions()
        ),
    )


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
    """Bounds that start from the profile of one run."""
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


def _of_whole(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Every bound that does not set failures of the base aside."""
    found = _pure(base, law)
    released = composition(base, law)
    if released is not None:
        found["composition"] = released
    if base.pairs is not None and math.isfinite(law.mean):
        found["JX-Envelope"] = _envelope(base, law)
        found["JX-Priced"] = _priced(base, law)
    if base.profile is not None:
        found |= _from_profile(base, law)
    for name, build in tuned_curves(base, law).items():
        if name == "PS-Lem7" and base.tradeoff is None:
            continue  # its supremum would be a search, not a bound
        found[name] = _of_renyi(build)
    return found


def _failing(good: Proof, failure: float) -> Proof:
    """If runs may fail: delta = failure + (1 - failure) times the delta of the rest."""
    kept = 1.0 - failure
    return Proof(
        lambda delta: good.epsilon((delta - failure) / kept),
        lambda epsilon: failure + kept * good.delta(epsilon),
        failure + kept * good.least_delta,
        lambda epsilon: failure + kept * good.never_below(epsilon),
    )


def proofs(base: BaseGuarantee, law: Repetitions) -> dict[str, Proof]:
    """Every bound by its id; of those that tie, the simplest to state comes first.

    Args:
      base: guarantee of one run.
      law: of K, which is not always 0.
    """
    found = _of_whole(base, law)
    if base.core is None:
        return found
    try:
        thin = thinned(law, base.failure)
    except InputError:
        return found  # this law of K is not covered by Lemma 20 in closed form
    good = _of_whole(base.core, thin.repetitions)
    return found | {
        f"{SET_ASIDE}{name}": _failing(each, thin.delta) for name, each in good.items()
    }
