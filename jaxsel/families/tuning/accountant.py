"""The best proven epsilon of a tuned algorithm, over every bound that applies."""

import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run import composing
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import pair_delta
from jaxsel.errors import InputError, check_interval
from jaxsel.families.tuning.attained.attained_epsilon import attained_epsilon
from jaxsel.families.tuning.bounds.approximate import thinned
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.families.tuning.bounds.needed import Needed, needed
from jaxsel.families.tuning.bounds.profiles import (
    LEAST_DELTA,
    epsilon_at,
    profile_bounds,
)
from jaxsel.families.tuning.bounds.renyi import tuned_curves
from jaxsel.repetitions import Repetitions

# Relative and absolute: what the sums behind an epsilon may be off by.
ROUNDING = 1e-9

STATEMENTS: Mapping[str, str] = {
    "JX-Envelope": "envelope bound of this project, from the whole profile",
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


def releases_all(theorem: str) -> bool:
    """Whether the bound covers the release of every run, and of K."""
    return theorem.removeprefix("PS-Lem20+") in ("composition", "composition-renyi")


class ProvenEpsilon(NamedTuple):
    """An upper bound: the tuned algorithm is (epsilon, delta)-DP by that theorem."""

    epsilon: float
    theorem: str
    statement: str


class Account(NamedTuple):
    """What tuning costs.

    Attributes:
      bounds: every bound that applies, best first; those that say nothing at this delta
        have epsilon inf.
      single: epsilon of one run at the same delta, released without tuning; inf if not
        known.
      attained: exact epsilon of one base with this guarantee, ranked adversarially: no
        bound that covers every such base and every ranking is smaller. NaN at delta = 0,
        if no such base is known, or if not asked for.
      attained_from: what that base has: "guarantee"; or only its "privacy profile", where
        the Renyi curve says more (of DP-SGD).
      needed: what would make an epsilon provable, where none is; None elsewhere.
    """

    bounds: tuple[ProvenEpsilon, ...]
    single: float
    attained: float
    attained_from: str = "guarantee"
    needed: Needed | None = None

    @property
    def best(self) -> ProvenEpsilon:
        """The smallest proven epsilon."""
        return self.bounds[0]


def base_epsilon(base: BaseGuarantee, delta: float) -> float:
    """Smallest known epsilon of one run at delta, in [0, 1)."""
    found = renyi_to_epsilon(base.renyi, delta).epsilon
    if base.profile is not None and delta >= LEAST_DELTA:
        found = min(found, epsilon_at(base.profile, delta))
    return found


def composition(
    base: BaseGuarantee, law: Repetitions, delta: float
) -> Callable[[], float] | None:
    """Epsilon of releasing as many runs as K can be; None if they are too many.

    K does not depend on the data, and the best of fewer runs is computed from all.
    """
    count = law.maximum
    if count is None or count == 0:
        return None
    if count == 1:
        return lambda: base_epsilon(base, delta)
    composed, pairs = base.composed, base.pairs
    if composed is not None:
        return lambda: base_epsilon(composed(count), delta)
    if pairs is None or delta < LEAST_DELTA or count > composing.MOST:
        return None

    def solve() -> float:
        many = [composing.composed_pair(pair, count) for pair in pairs()]
        return max(epsilon_at(functools.partial(pair_delta, p), delta) for p in many)

    return solve


def _pure(base: BaseGuarantee, law: Repetitions) -> dict[str, Callable[[], float]]:
    """Bounds that hold at delta = 0."""
    pure = float(base.renyi(np.asarray(math.inf)))
    match law.family:
        case "truncated_negative_binomial" if math.isfinite(pure):
            return {"KRW-Cor5.3": lambda: (law.parameters["eta"] + 2.0) * pure}
        case "beta_binomial" if math.isfinite(pure):
            return {"CL-Thm1": lambda: (2.0 + law.parameters["gamma"]) * pure}
    return {}


def _candidates(
    base: BaseGuarantee, law: Repetitions, delta: float
) -> dict[str, Callable[[], float]]:
    """Every bound on the tuned epsilon at delta, by theorem; failures not set aside."""
    found = _pure(base, law)
    released = composition(base, law, delta)
    if released is not None:
        found["composition"] = released
    if base.pairs is not None and math.isfinite(law.mean):
        found["JX-Envelope"] = lambda: envelope_epsilon(
            base_envelopes(base, law), delta
        )
    if base.profile is not None and delta >= LEAST_DELTA:
        for bound in profile_bounds(base, law):
            found[bound.theorem] = lambda bound=bound: bound.epsilon(delta)
        if law.family == "beta_binomial":
            count, gamma = law.parameters["count"], law.parameters["gamma"]
            found["CL-Thm1-approximate"] = lambda: (
                (2.0 + gamma) * base_epsilon(base, delta / count)
            )
    for name, build in tuned_curves(base, law).items():
        if name == "PS-Lem7" and base.tradeoff is None:
            continue  # its supremum would be a search, not a bound
        found[name] = lambda build=build: renyi_to_epsilon(build(), delta).epsilon
    return found


def account(
    base: BaseGuarantee, repetitions: Repetitions, delta: float, *, attain: bool = True
) -> Account:
    """What is proved about the best of K runs of a base algorithm.

    Args:
      base: guarantee of one run.
      repetitions: law of K; the runs and the best of them are independent given K, and
        K itself is not released.
      delta: in [0, 1).
      attain: search for a costly ranking, too; without, ``attained`` is NaN.

    Returns:
      All bounds, best first. Each is an upper bound on the same epsilon, so that the
      least is proved too.

    Raises:
      InputError: if delta is out of range, or K is always 0.
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    if not repetitions.mean > 0.0:
        raise InputError("K is always 0: nothing is ever run, and there is no best run")
    found = _candidates(base, repetitions, delta)
    if base.core is not None:
        try:
            thin = thinned(repetitions, base.failure)
        except InputError:
            thin = None  # this law of K is not covered by Lemma 20 in closed form
        if thin is not None and thin.delta <= delta:
            # delta = thin.delta + (1 - thin.delta) times the delta of the good part
            rest = (delta - thin.delta) / (1.0 - thin.delta)
            good = _candidates(base.core, thin.repetitions, rest)
            found |= {f"PS-Lem20+{name}": solve for name, solve in good.items()}
    bounds = [
        ProvenEpsilon(
            max(solve(), 0.0), name, STATEMENTS[name.removeprefix("PS-Lem20+")]
        )
        for name, solve in found.items()
    ]
    # Ties go to the theorem that is simpler to state, which comes first.
    ranked = tuple(sorted(bounds, key=lambda bound: bound.epsilon))
    best = ranked[0].epsilon
    attained = math.nan
    if attain and delta > 0.0 and math.isfinite(best):
        attained = attained_epsilon(base, repetitions, delta)
        if attained > best * (1.0 + ROUNDING) + ROUNDING:
            attained = math.nan  # the best bound knows more than what was ranked
    lacking = None if math.isfinite(best) else needed(base, repetitions, delta)
    known = "privacy profile" if base.more_than_pairs else "guarantee"
    return Account(ranked, base_epsilon(base, delta), attained, known, lacking)
