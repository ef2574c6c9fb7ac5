"""The findings of ``docs/sweeps.md``, computed from the library: exact values and bounds."""

import math
from collections.abc import Callable, Sequence

from scipy.optimize import brentq

from jaxsel import catalogue, repetitions
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.bounds.renyi import renyi_curves

DELTA = 1e-6
POISSON = math.inf  # the limit of eta


def law(eta: float, mean: float) -> Repetitions:
    """A truncated negative binomial law, or the Poisson law for infinite eta."""
    if eta == POISSON:
        return repetitions.from_mean("poisson", mean)
    return repetitions.parse(f"tnb:eta={eta!r},mean={mean!r}")


def _mean_where(eta: float, excess: Callable[[Repetitions], float]) -> float:
    def at(log_mean: float) -> float:
        return excess(law(eta, math.exp(log_mean)))

    lowest = -3.0 if eta == POISSON else 1e-3
    log_mean = brentq(at, lowest, math.log(1e6), xtol=1e-12)
    return math.exp(log_mean)  # type: ignore[arg-type]


def mean_for_quantile(eta: float, quantile: float) -> float:
    """E[K] at which the best of K runs has this expected quantile."""
    return _mean_where(eta, lambda k: repetitions.expected_quantile(k) - quantile)


def mean_for_best(eta: float, candidates: int, chance: float) -> float:
    """E[K] at which K draws among candidates contain the best one with this probability."""
    return _mean_where(
        eta, lambda k: float(repetitions.success_probability(k, 1 / candidates)) - chance
    )


def envelope(noise: float, found: Repetitions) -> float:
    """Epsilon of a search over a Gaussian base by the envelope bound."""
    base = curves.gaussian(noise_multiplier=noise)
    return envelope_epsilon(base_envelopes(base, found), DELTA)


def renyi(noise: float, found: Repetitions) -> float:
    """Epsilon of the same search by Papernot & Steinke 2022: Theorem 2, or 6 for Poisson."""
    known = renyi_curves(curves.gaussian(noise_multiplier=noise), found)
    build = known["PS-Thm2"] if "PS-Thm2" in known else known["PS-Thm6"]
    return renyi_to_epsilon(build(), DELTA).epsilon


def at_quantile(
    bound: Callable[[float, Repetitions], float], noise: float, eta: float, quantile: float
) -> float:
    """Epsilon by a bound at an expected quantile."""
    return bound(noise, law(eta, mean_for_quantile(eta, quantile)))


def every_candidate_once(noise: float, candidates: int) -> float:
    """Epsilon of releasing all runs of a fixed grid of Gaussian candidates."""
    composed = curves.gaussian(noise_multiplier=noise / math.sqrt(candidates))
    return composed.epsilon(DELTA)


def random_draws(noise: float, candidates: int, chance: float, etas: Sequence[float]) -> float:
    """The least epsilon of a random search that finds the best with this probability."""
    return min(envelope(noise, law(eta, mean_for_best(eta, candidates, chance))) for eta in etas)


def success(mechanism: str, **settings: object) -> float:
    """Exact probability that the best candidate is released."""
    built = catalogue.find_mechanism(mechanism).build(settings)
    assert built.mechanism.law is not None
    exact = built.mechanism.law(built.data, built.params).probabilities
    return float(exact @ built.utility()["success"])
