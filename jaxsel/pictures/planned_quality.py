"""The figure of a plan: quality against epsilon, one curve per family of laws of K."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes

from jaxsel.pictures import style

_LOOKS = {
    "logarithmic": "Logarithmic η = 0",
    "tnb:eta=0.5": "η = 0.5",
    "geometric": "Geometric η = 1",
    "tnb:eta=2": "η = 2",
    "tnb:eta=5": "η = 5",
    "poisson": "Poisson",
}
_LEAST_MISS = 1e-6  # range of the probabilities that are drawn


class Curve(Protocol):
    """The laws of a family, in order of increasing mean."""

    @property
    def family(self) -> str:
        """Its name, one of those with a style."""
        ...

    @property
    def epsilon(self) -> np.ndarray:
        """Epsilon of the search, along the curve."""
        ...

    @property
    def quantile(self) -> np.ndarray:
        """Expected quantile of the winner, along the curve."""
        ...

    @property
    def miss(self) -> np.ndarray:
        """Probability that no good candidate wins, along the curve; NaN if none is good."""
        ...


class Bound(Protocol):
    """A lower bound for all laws of K with so many expected runs."""

    @property
    def runs(self) -> float:
        """The largest E[K]."""
        ...

    @property
    def epsilon(self) -> np.ndarray:
        """Epsilons of a search."""
        ...

    @property
    def rank(self) -> np.ndarray:
        """The least expected rank of its winner."""
        ...

    @property
    def miss(self) -> np.ndarray:
        """The least probability that no good candidate wins."""
        ...


class Planned(NamedTuple):
    """The numbers of a plan, for its figure.

    Attributes:
      base: description of one run.
      delta, epsilon: of the search.
      quantile: expected quantile of the winner.
      one_run: epsilon of a run without search.
      good: fraction of the candidates that are good; None if unspecified.
      miss: probability that no good candidate wins.
    """

    base: str
    delta: float
    epsilon: float
    quantile: float
    one_run: float
    good: float | None = None
    miss: float = math.nan


def _panel(
    axes: Axes,
    planned: Planned,
    curves: Sequence[tuple[str, np.ndarray, np.ndarray]],
    bound: tuple[np.ndarray, np.ndarray, float] | None,
    star: float,
) -> None:
    """One panel: epsilon along x, a loss along an inverted y."""
    for name, epsilon, value in curves:
        style.line(axes, epsilon, value, name)
    if bound is not None:
        epsilon, least, runs = bound
        axes.plot(
            epsilon,
            least,
            label=f"Limit, E[K] ≤ {runs:.4g}",
            color=style.BLACK,
            linestyle="-.",
            linewidth=1.2,
        )
    axes.axvline(planned.one_run, label="One run, no search", color=style.DARK, linestyle=":")
    axes.plot(
        [planned.epsilon],
        [star],
        label="The plan",
        zorder=4,
        marker="*",
        markersize=11,
        color=style.BLACK,
        linestyle="none",
    )
    axes.set_yscale("log")
    axes.invert_yaxis()
    # Laws far more expensive than the plan would compress the rest.
    ends = planned.one_run, planned.epsilon
    axes.set_xlim(0.8 * min(ends), highest_epsilon(planned))
    axes.set_xlabel(f"ε of the search at δ = {planned.delta:g}")


def highest_epsilon(planned: Planned) -> float:
    """The right end of the epsilon axis."""
    return 2.5 * max(planned.one_run, planned.epsilon)


def draw(planned: Planned, curves: Sequence[Curve], bound: Bound | None = None):
    """A figure: epsilon along x, the rank of the winner from the top along y, inverted.

    If the plan specifies the fraction of good candidates, a second panel shows the
    probability that none of them wins.
    """
    two = planned.good is not None
    with style.applied():
        figure, axes = style.panels(2 if two else 1, width=10.6 if two else 6.4, height=4.6)
        _panel(
            axes[0],
            planned,
            [(_LOOKS[c.family], c.epsilon, 1.0 - c.quantile) for c in curves],
            None if bound is None else (bound.epsilon, bound.rank, bound.runs),
            1.0 - planned.quantile,
        )
        axes[0].set_ylabel("expected rank of the winner, 1 − quantile")
        axes[0].set_title("What a better winner costs")
        if two:
            _panel(
                axes[1],
                planned,
                [(_LOOKS[c.family], c.epsilon, c.miss) for c in curves],
                None if bound is None else (bound.epsilon, bound.miss, bound.runs),
                planned.miss,
            )
            axes[1].set_ylim(1.3, max(_LEAST_MISS, _least(curves, bound, planned)))
            axes[1].set_ylabel(f"chance to miss the best {planned.good:g}")
            axes[1].set_title("What a surer winner costs")
        axes[0].legend(loc="lower right")
        words = (
            f"One run: {planned.base}. Upper right is a better winner for more privacy "
            "spent; along a curve E[K] grows from 1 to ten times the plan's."
        )
        if bound is not None:
            words += (
                " Limit: no law of K with so few runs does better if its ε holds for every "
                "run with this guarantee (group privacy, after Talwar 2025)."
            )
        return style.captioned(figure, words)


def _least(curves: Sequence[Curve], bound: Bound | None, planned: Planned) -> float:
    """The lower end of the axis of probabilities."""
    seen = [planned.miss, *(float(np.min(curve.miss)) for curve in curves)]
    if bound is not None:
        within = bound.epsilon <= highest_epsilon(planned)
        seen.append(float(np.min(bound.miss[within])))
    return 0.5 * min(seen)
