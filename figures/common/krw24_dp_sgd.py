"""What Figures 6 to 8 of Koskela, Redberg & Wang 2024 share: theorems on a DP-SGD base.

The base is known by its privacy loss distribution (dp-accounting, rounded upwards), and for
the Renyi bounds by the Renyi curve of the same accountant. "Exact" values are those of the
best of K runs of the dominating pair that this distribution describes.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import brentq

from jaxsel.accounting.single_run.conversions import epsilon_at, renyi_to_delta, renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.repetitions import Repetitions, from_mean
from jaxsel.tuning.attained.finite_adversary import finite_adversarial
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon, envelope_log_delta
from jaxsel.tuning.bounds.profiles import ProfileBound, negative_binomial_profile, poisson_profile
from jaxsel.tuning.bounds.renyi import renyi_curves
from sims.common.dp_sgd_runs import DpSgd, event, sides

DELTA = 1e-6
_COUNT = 4096  # grid points of an envelope, whose epsilon is then 1e-4 of it too large
_RENYI = {
    "renyi": {"truncated_negative_binomial": "PS-Thm2", "poisson": "PS-Thm6"},
    "renyi-profile": {"poisson": "PS-Thm6-profile"},
}


def base(run: DpSgd) -> BaseGuarantee:
    """The guarantee of one run of DP-SGD."""
    rate, noise, steps = run
    return dp_sgd(sampling_probability=rate, noise_multiplier=noise, steps=steps)


def single_epsilon(guarantee: BaseGuarantee, delta: float = DELTA) -> float:
    """Epsilon at delta of one run, without tuning."""
    assert guarantee.profile is not None
    return epsilon_at(guarantee.profile, delta)


# --- the statements -------------------------------------------------------------------


def statements(repetitions: Repetitions) -> tuple[str, ...]:
    """Names of the statements about a law of K.

    "renyi": Theorem 5.1, or 5.6 for a Poisson law; "profile": Theorem 5.2 or Corollary
    5.8; "renyi-profile" (Poisson only): Theorem 5.6 with delta from the profile;
    "envelope".
    """
    extra = ("renyi-profile",) if repetitions.family == "poisson" else ()
    return ("renyi", "profile", *extra, "envelope")


def _profile_bound(guarantee: BaseGuarantee, repetitions: Repetitions) -> ProfileBound:
    assert guarantee.profile is not None
    if repetitions.family == "poisson":
        return poisson_profile(guarantee.profile, repetitions.mean)
    numbers = repetitions.parameters
    return negative_binomial_profile(guarantee.profile, numbers["eta"], numbers["gamma"])


def epsilon(
    name: str, guarantee: BaseGuarantee, repetitions: Repetitions, delta: float = DELTA
) -> float:
    """Epsilon at delta of the best of K runs, by a statement.

    Args:
      name: one of ``statements(repetitions)``.
      guarantee: the guarantee of one run.
      repetitions: law of K.
      delta: in (0, 1).
    """
    match name:
        case "profile":
            return _profile_bound(guarantee, repetitions).epsilon(delta)
        case "envelope":
            bounds = base_envelopes(guarantee, repetitions, count=_COUNT)
            return envelope_epsilon(bounds, delta)
    theorem = _RENYI[name][repetitions.family]
    return renyi_to_epsilon(renyi_curves(guarantee, repetitions)[theorem](), delta).epsilon


def profile(
    name: str, guarantee: BaseGuarantee, repetitions: Repetitions, at: np.ndarray
) -> np.ndarray:
    """Delta of the best of K runs at each epsilon; the statement "single" is that of one run.

    Other arguments as for ``epsilon``.
    """
    match name:
        case "single":
            assert guarantee.profile is not None
            return guarantee.profile(at)
        case "profile":
            return _profile_bound(guarantee, repetitions).delta(at)
        case "envelope":
            bounds = base_envelopes(guarantee, repetitions, count=_COUNT)
            return np.exp(envelope_log_delta(bounds, at))
    theorem = _RENYI[name][repetitions.family]
    return renyi_to_delta(renyi_curves(guarantee, repetitions)[theorem](), at)


def mean_at(name: str, guarantee: BaseGuarantee, family: str, target: float) -> float:
    """The mean of K, from 1.5 to 10^6, at which a statement has this epsilon at DELTA.

    Args:
      name, guarantee: as for ``epsilon``.
      family: family of laws of K.
      target: epsilon.
    """

    def excess(log_mean: float) -> float:
        law = from_mean(family, math.exp(log_mean))
        return epsilon(name, guarantee, law) - target

    root = brentq(excess, math.log(1.5), math.log(1e6), xtol=1e-6)
    return math.exp(float(root))  # type: ignore[arg-type]


# --- exact values, and what was simulated ---------------------------------------------


@functools.cache
def adversarial_epsilon(runs: tuple[DpSgd, ...], family: str, mean: float) -> float:
    """Exact epsilon at DELTA of the best of K runs, ranked in the worst order found."""
    law = from_mean(family, mean)
    return finite_adversarial(*sides(runs), law, DELTA).epsilon


def natural_profile(tuned: xr.Dataset, at: np.ndarray) -> np.ndarray:
    """Exact delta at each epsilon in the natural order.

    Args:
      tuned: cells of one base and law of K, with the laws of what is released.
      at: epsilons.
    """
    p, q = tuned.masses.sel(ranking="natural").values
    gaps = [
        [np.sum(np.maximum(a - math.exp(e) * b, 0.0)) for a, b in ((p, q), (q, p))]
        for e in at.tolist()
    ]
    return np.max(gaps, axis=1)


class Audited(NamedTuple):
    """Audited lower bounds on epsilon at each delta, and the exact epsilon there.

    Attributes:
      delta: Float[np.ndarray, "deltas"].
      lower, exact: Float[np.ndarray, "orders deltas"], natural order first.
    """

    delta: np.ndarray
    lower: np.ndarray
    exact: np.ndarray


def audited(tuned: xr.Dataset, confidence: float = 0.95) -> Audited:
    """Audited lower bounds of one base and law of K.

    Args:
      tuned: counts and laws of what is released.
      confidence: confidence level of each bound.
    """
    trials = tuned.attrs["trials"]

    def both(ranking: str, delta: float) -> tuple[float, float]:
        """The audited bound and the exact epsilon."""
        seen = tuned.sel(ranking=ranking)
        p, q = seen.masses.values
        inside = event((p, q), delta, trials)
        hits = seen.counts.values[:, inside].sum(axis=1).tolist()
        first, second = ([each, trials - each] for each in hits)
        found = epsilon_lower_bound(first, second, delta=delta, confidence=confidence)
        return found.lower, epsilon_at_delta(p, q, delta)

    worst = [name for name in tuned["ranking"].values.tolist() if name != "natural"]
    deltas = [float(name) for name in worst]
    natural = [both("natural", delta) for delta in deltas]
    found = np.array([natural, [both(*each) for each in zip(worst, deltas, strict=True)]])
    return Audited(np.array(deltas), found[..., 0], found[..., 1])
