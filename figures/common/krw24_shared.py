"""What Figures 2 to 4 of Koskela, Redberg & Wang 2024 share: base, looks, exact values.

The base is the Gaussian mechanism of sensitivity 1 with noise multiplier 4.
"""

import functools
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from matplotlib.axes import Axes

from figures.common import words
from jaxsel.accounting.numerics.optimise import minimise_over_orders
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import RenyiCurve, log_delta_at_order
from jaxsel.accounting.single_run.score_pairs import reversed_pair
from jaxsel.language.domains import probability
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions, parse
from jaxsel.tuning.attained.adversarial_orders import adversarial_epsilon
from jaxsel.tuning.attained.exact_profile import exact_tuned_epsilon, tuned_profile
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon, envelope_profile
from sims.common.worst_rankings import GaussianBase

DELTA = 1e-6
Delta = Annotated[float, probability("delta at which epsilons are compared")]

_CURVE_POINTS = 61

KINDS = {
    "RDP": style.own(style.GREY, "--", linewidth=1.5),
    "profile": style.own(style.ORANGE, "-", linewidth=1.6),
    "envelope": style.own(style.BLUE, "-", linewidth=2.4, alpha=0.5),
    "adversarial": style.own(style.BLACK, style.DOTS, linewidth=1.4),
    "natural": style.own(style.GREEN, "-.", linewidth=1.3),
}
"""Appearance of each kind of curve where one law of K has a panel to itself."""

LABELS = {
    "RDP": "RDP, Theorem 5.1 (claim)",
    "profile": "Theorem 5.2 (claim)",
    "envelope": "envelope bound (this project)",
    "adversarial": "exact, adversarial order",
    "natural": "exact, natural order",
}


def kind(name: str, label: str | None = None) -> dict[str, Any]:
    """Keyword arguments of ``Axes.plot``: the look and label of a kind of curve."""
    return KINDS[name] | {"label": label or LABELS[name]}


def told(base: GaussianBase, law: str) -> str:
    """The beginning of a caption: the base, the law of K in words, and the pair."""
    return (
        f"Base: Gaussian mechanism, sensitivity 1, σ = {base.noise_multiplier:g}; "
        f"K {law} Exact and audited: N(0, 1) against "
        f"N({words.fraction(base.means[1])}, 1), the worse direction"
    )


# --- Exact laws -----------------------------------------------------------------------


@functools.cache
def guarantee(base: GaussianBase) -> curves.BaseGuarantee:
    """The guarantee of one run from which the bounds are computed."""
    return curves.gaussian(base.noise_multiplier)


def profile(base: GaussianBase) -> Callable[[np.ndarray], np.ndarray]:
    """Exact delta(epsilon) of one run."""
    found = guarantee(base).profile
    assert found is not None
    return found


def natural_delta(base: GaussianBase, law: Repetitions, epsilon: np.ndarray) -> np.ndarray:
    """Exact delta(epsilon) if larger outputs are better, in the worse direction."""
    sides = (base.pair, reversed_pair(base.pair))
    return np.max([tuned_profile(side, law).delta(epsilon) for side in sides], axis=0)


@functools.cache
def natural_epsilon(base: GaussianBase, text: str, delta: float) -> float:
    """Exact epsilon at delta in the natural order, for a law of K given as text."""
    return exact_tuned_epsilon(base.pair, parse(text), delta)


@functools.cache
def adversarial(base: GaussianBase, text: str, delta: float) -> float:
    """Exact epsilon at delta under the worst ranking found, for a law given as text."""
    return adversarial_epsilon(base.pair, parse(text), delta).epsilon


def renyi_delta(renyi: RenyiCurve, epsilon: np.ndarray) -> np.ndarray:
    """delta(epsilon) of a Renyi bound by Lemma 14 of Papernot & Steinke, at the best order.

    As in the paper, neither Remark 5 nor the Bretagnolle-Huber inequality is used.
    """
    _, log_delta = minimise_over_orders(
        lambda order: log_delta_at_order(order, renyi(order), epsilon)
    )
    return np.exp(np.minimum(log_delta, 0.0))


@functools.cache
def envelope_at(base: GaussianBase, text: str, delta: float) -> float:
    """Epsilon at delta of the envelope bound, for a law given as text."""
    return envelope_epsilon(base_envelopes(guarantee(base), parse(text)), delta)


def exact_curves(axes: Axes, base: GaussianBase, law: Repetitions, epsilon: np.ndarray) -> None:
    """Draws the envelope bound, and the exact delta(epsilon) in both orders."""
    envelope = envelope_profile(guarantee(base), law)
    axes.plot(epsilon, envelope(epsilon), **kind("envelope"))
    few = np.linspace(0.0, epsilon[-1], _CURVE_POINTS)
    worst = [each.delta for each in map(base.worst_ranking(law), few)]
    axes.plot(few, worst, **kind("adversarial"))
    axes.plot(epsilon, natural_delta(base, law, epsilon), **kind("natural"))
