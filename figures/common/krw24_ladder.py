"""From what a simulation proves to what a theorem claims: the ladder of one tuned base.

A ladder has one curve, its rung, for each kind of statement on a base and a law of K: exact
profiles under natural rankings of the base's outputs, the exact profile under the worst
rankings that a search found, and bounds for every ranking. All deltas are the larger of both
directions of the divergence.
"""

import functools
from typing import NamedTuple

import numpy as np
from scipy import special

from figures.common import krw24_shared as shared
from figures.common.krw24_shared import KINDS, renyi_delta
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.closed_forms import gaussian_delta
from jaxsel.accounting.single_run.conversions import RenyiCurve, renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.events import renyi_from_orders
from jaxsel.accounting.single_run.score_orders import INDEPENDENT, NATURAL, REVERSED
from jaxsel.accounting.single_run.score_pairs import ScorePair, reversed_pair
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, parse
from jaxsel.tuning.attained.adversarial_orders import adversarial_epsilon
from jaxsel.tuning.attained.exact_profile import TunedProfile, tuned_profile
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon, envelope_log_delta
from jaxsel.tuning.bounds.profiles import ProfileBound, profile_bounds
from jaxsel.tuning.bounds.renyi import renyi_curves
from sims.common.line_rankings import LaplaceBase, LineBase, StepBase, worst_rankings
from sims.common.worst_rankings import GaussianBase

_POINTS = 65  # number of epsilons of a curve
_EVERY = 2  # a worst ranking is searched at every second one of them

LOOKS = {
    "RDP": KINDS["RDP"],
    "profile": KINDS["profile"],
    "envelope": KINDS["envelope"],
    "adversarial": KINDS["adversarial"],
    "aligned": style.own(style.GREEN, "-", linewidth=1.0),
    "anti-aligned": style.own(style.GREEN, "--", linewidth=1.2),
    "independent": style.own(style.GREEN, (0, (1, 1.6)), linewidth=1.2),
}
"""Appearance of each rung, from the weakest claim downwards."""


class Ladder(NamedTuple):
    """Curves of delta over epsilon, and their epsilons at one delta, by rung.

    Attributes:
      epsilons: Float64["epsilons"].
      deltas: rung -> Float64["epsilons"]; rungs as in LOOKS.
      at: rung -> epsilon at that delta.
      theorems: "profile" and "RDP" -> id of the claim that is drawn.
    """

    epsilons: np.ndarray
    deltas: dict[str, np.ndarray]
    at: dict[str, float]
    theorems: dict[str, str]


# --- The bases as guarantees ----------------------------------------------------------


def _pair_renyi(pair: ScorePair) -> RenyiCurve:
    """Renyi divergences of a smooth pair, the larger direction, by the trapezoid rule.

    Between orders the chord of (order - 1) D is used, which is an upper bound.
    """
    orders = 1.0 + np.geomspace(1e-3, 40.0, 600)
    z = np.linspace(-50.0, 90.0, 1401)
    logs = [law.log_density(z) for law in (pair.first, pair.second)]
    excess = (orders - 1.0)[:, None]
    found = [
        special.logsumexp(p + excess * (p - q), axis=1) + np.log(z[1] - z[0])
        for p, q in (logs, logs[::-1])
    ]
    return renyi_from_orders(orders.tolist(), (np.max(found, axis=0) / (orders - 1.0)).tolist())


def _subsampled(noise_multiplier: float, q: float, pair: ScorePair) -> BaseGuarantee:
    """One step of DP-SGD with Poisson sampling, from its profile in closed form."""

    def removed(epsilon: np.ndarray) -> np.ndarray:
        # ((1 - q) P + q P' - e^epsilon P)_+ = q (P' - (1 + (e^epsilon - 1)/q) P)_+
        return q * gaussian_delta(np.log1p(np.expm1(epsilon) / q), noise_multiplier)

    def added(epsilon: np.ndarray) -> np.ndarray:
        # (P - e^epsilon ((1 - q) P + q P'))_+ = (rest P - e^epsilon q P')_+
        rest = -np.expm1(np.asarray(epsilon) + np.log1p(-q))
        level = epsilon + np.log(q) - np.log(np.maximum(rest, 1e-300))
        return np.maximum(rest, 0.0) * gaussian_delta(level, noise_multiplier)

    return curves.from_profile(pair.name, removed, added, renyi=_pair_renyi(pair))


@functools.cache
def guarantee(base: LineBase) -> BaseGuarantee:
    """The guarantee of one run from which the bounds are computed."""
    match base:
        case GaussianBase():
            return shared.guarantee(base)
        case LaplaceBase(scale):
            return curves.laplace(scale)
        case StepBase(noise, rate):
            return _subsampled(noise, rate, base.pair)


_REACH = {GaussianBase: 3.6, LaplaceBase: 1.8, StepBase: 7.2}

# --- Exact profiles -------------------------------------------------------------------


def natural_profiles(pair: ScorePair, law: Repetitions) -> dict[str, list[TunedProfile]]:
    """Exact profiles under rankings that do not depend on epsilon, in both directions.

    "aligned" ranks by the privacy loss of that direction, and "anti-aligned" by its negative;
    "independent" ranks by noise that is independent of the output.
    """
    rising = bool(np.diff(pair.loss(np.array(pair.reach)))[0] > 0.0)
    up, down = (NATURAL, REVERSED) if rising else (REVERSED, NATURAL)
    sides = (pair, reversed_pair(pair))
    ranked = {
        "aligned": (up, down),
        "anti-aligned": (down, up),
        "independent": (INDEPENDENT, INDEPENDENT),
    }
    return {
        name: [tuned_profile(side, law, order) for side, order in zip(sides, orders, strict=True)]
        for name, orders in ranked.items()
    }


def _worst(
    base: LineBase, law: Repetitions, epsilons: np.ndarray, sought: np.ndarray
) -> np.ndarray:
    """Exact delta at each epsilon, under the worst of the rankings found at nearby epsilons."""
    pair = base.pair
    sides = (pair, reversed_pair(pair))
    found = worst_rankings(pair, law, sought, base.directions)
    deltas, reach = np.zeros(len(epsilons)), _EVERY * (epsilons[1] - epsilons[0])
    for index in range(len(sought)):
        worst = max(found[index :: len(sought)], key=lambda each: each.delta)
        near = np.abs(epsilons - worst.epsilon) <= reach
        exact = tuned_profile(sides[worst.direction], law, worst.order)
        deltas[near] = np.maximum(deltas[near], exact.delta(epsilons[near]))
    return deltas


# --- Claims ---------------------------------------------------------------------------


def _profile_claim(base: BaseGuarantee, law: Repetitions) -> ProfileBound:
    """The theorem of Koskela, Redberg & Wang, or KRW-N2 of this project where they have none."""
    return profile_bounds(base, law)[0]


def _renyi_claim(base: BaseGuarantee, law: Repetitions) -> tuple[str, RenyiCurve]:
    """The theorem of Papernot & Steinke for this law of K, or else their Lemma 7."""
    built = renyi_curves(base, law)
    name = next(name for name in ("PS-Thm2", "PS-Thm6-profile", "PS-Lem7") if name in built)
    return name, built[name]()


@functools.cache
def ladder(base: LineBase, text: str, delta: float = shared.DELTA) -> Ladder:
    """Computes all rungs for a base and a law of K, which is given as text."""
    law, known = parse(text), guarantee(base)
    epsilons = np.linspace(0.0, _REACH[type(base)], _POINTS)
    natural = natural_profiles(base.pair, law)
    deltas = {
        name: np.max([side.delta(epsilons) for side in sides], axis=0)
        for name, sides in natural.items()
    }
    at = {name: max(side.epsilon(delta) for side in sides) for name, sides in natural.items()}
    bounds = base_envelopes(known, law)
    envelope = envelope_epsilon(bounds, delta)
    worst = _worst(base, law, epsilons, np.append(epsilons[::_EVERY], envelope))
    # the natural rankings are among those that an adversary may choose
    deltas["adversarial"] = np.max([worst, *deltas.values()], axis=0)
    at["adversarial"] = adversarial_epsilon(base.pair, law, delta).epsilon
    deltas["envelope"] = np.exp(envelope_log_delta(bounds, epsilons))
    at["envelope"] = envelope
    profile = _profile_claim(known, law)
    deltas["profile"], at["profile"] = profile.delta(epsilons), profile.epsilon(delta)
    theorem, renyi = _renyi_claim(known, law)
    deltas["RDP"] = renyi_delta(renyi, epsilons)
    at["RDP"] = renyi_to_epsilon(renyi, delta).epsilon
    return Ladder(
        epsilons,
        {name: deltas[name] for name in LOOKS},
        {name: at[name] for name in LOOKS},
        {"profile": profile.theorem, "RDP": theorem},
    )
