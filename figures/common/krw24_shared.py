"""What Figures 2 to 4 of Koskela, Redberg & Wang 2024 share: base, looks, exact values.

The base is the Gaussian mechanism of sensitivity 1 with noise multiplier 4.
"""

import functools
from typing import Any

import numpy as np

from jaxsel.accounting.numerics.optimise import minimise_over_orders
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import RenyiCurve, log_delta_at_order
from jaxsel.accounting.single_run.score_pairs import reversed_pair
from jaxsel.families.tuning.attained.adversarial_orders import adversarial_epsilon
from jaxsel.families.tuning.attained.exact_profile import (
    exact_tuned_epsilon,
    tuned_profile,
)
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.language.domains import probability
from jaxsel.repetitions import Repetitions, parse
from sims.common.worst_rankings import NOISE_MULTIPLIER, PAIR, worst_rankings

BASE = curves.gaussian(NOISE_MULTIPLIER)
DELTA = 1e-6
SETTABLE = {
    "DELTA": probability("delta at which epsilons are compared"),
}

_CURVE_POINTS = 61
assert BASE.profile is not None
assert BASE.tradeoff is not None
profile, tradeoff = BASE.profile, BASE.tradeoff

_DOTTED = (0, (1, 1.2))
KINDS: dict[str, dict[str, Any]] = {
    "RDP": {"color": "#7f7f7f", "linestyle": "--", "linewidth": 1.5},
    "profile": {"color": "#d55e00", "linestyle": "-", "linewidth": 1.6},
    "envelope": {"color": "#0072b2", "linestyle": "-", "linewidth": 2.4, "alpha": 0.5},
    "adversarial": {"color": "#000000", "linestyle": _DOTTED, "linewidth": 1.4},
    "natural": {"color": "#009e73", "linestyle": "-.", "linewidth": 1.3},
}
"""Appearance of each kind of curve where one law of K has a panel to itself."""

_LABELS = {
    "envelope": "envelope bound (this project)",
    "adversarial": "exact, adversarial order",
    "natural": "exact, natural order",
}


def kind(name: str, label: str | None = None) -> dict[str, Any]:
    """Keywords for ``Axes.plot``: look and label of a kind of curve."""
    return KINDS[name] | {"label": label or _LABELS[name]}


# --- Exact laws -----------------------------------------------------------------------


def natural_delta(law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """Exact delta(epsilon) when larger outputs are better, the worse direction."""
    sides = (PAIR, reversed_pair(PAIR))
    return np.max([tuned_profile(side, law).delta(epsilon) for side in sides], axis=0)


@functools.cache
def natural_epsilon(text: str, delta: float) -> float:
    """Exact epsilon at delta in the natural order, for a law of K given as text."""
    return exact_tuned_epsilon(PAIR, parse(text), delta)


@functools.cache
def adversarial(text: str, delta: float) -> float:
    """Exact epsilon at delta under the worst ranking found, for a law given as text."""
    return adversarial_epsilon(PAIR, parse(text), delta).epsilon


def renyi_delta(renyi: RenyiCurve, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) of a Renyi bound by Lemma 14 of Papernot & Steinke, best order.

    As in the paper: neither Remark 5 nor the Bretagnolle-Huber inequality is used.
    """
    _, log_delta = minimise_over_orders(
        lambda order: log_delta_at_order(order, renyi(order), epsilon)
    )
    return np.exp(np.minimum(log_delta, 0.0))


@functools.cache
def envelope_at(text: str, delta: float) -> float:
    """Epsilon at delta of the envelope bound, for a law given as text."""
    return envelope_epsilon(base_envelopes(BASE, parse(text)), delta)


@functools.cache
def adversarial_curve(text: str, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Epsilons up to ``high``, and the exact delta of a nearly worst ranking."""
    epsilons = np.linspace(0.0, high, _CURVE_POINTS)
    found = list(worst_rankings(parse(text), epsilons))
    return np.array([e.epsilon for e in found]), np.array([e.delta for e in found])
