"""The picture of a plan: what quality costs, one curve a family of laws of K."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from jaxsel.pictures import style

_LOOKS = {
    "logarithmic": "Logarithmic η = 0",
    "tnb:eta=0.5": "η = 0.5",
    "geometric": "Geometric η = 1",
    "tnb:eta=2": "η = 2",
    "tnb:eta=5": "η = 5",
    "poisson": "Poisson",
}


class Curve(Protocol):
    """A family with more and more runs."""

    @property
    def family(self) -> str:
        """Its name, one of those with a look."""
        ...

    @property
    def epsilon(self) -> np.ndarray:
        """Of the search, along the curve."""
        ...

    @property
    def quantile(self) -> np.ndarray:
        """Of the winner, along the curve."""
        ...


class Planned(NamedTuple):
    """What a plan is, for its picture.

    Attributes:
      base: one run, in words.
      delta, epsilon: of the search.
      quantile: of the winner, expected.
      one_run: epsilon of a run without search.
    """

    base: str
    delta: float
    epsilon: float
    quantile: float
    one_run: float


def draw(planned: Planned, curves: Iterable[Curve]):
    """A figure: epsilon along x, the rank of the winner from the top along y, inverted."""
    with style.applied():
        figure, (axes,) = style.panels(width=6.4, height=4.4)
        for curve in curves:
            style.line(axes, curve.epsilon, 1.0 - curve.quantile, _LOOKS[curve.family])
        axes.axvline(
            planned.one_run, label="One run, no search", color="#444444", linestyle=":"
        )
        axes.plot(
            [planned.epsilon], [1.0 - planned.quantile], label="The plan", zorder=4,
            marker="*", markersize=11, color="#000000", linestyle="none",
        )  # fmt: skip
        axes.set_yscale("log")
        axes.invert_yaxis()
        # What costs far more than the plan would hide the rest.
        ends = planned.one_run, planned.epsilon
        axes.set_xlim(0.9 * min(ends), 2.5 * max(ends))
        axes.set_xlabel(f"ε of the search at δ = {planned.delta:g}")
        axes.set_ylabel("expected rank of the winner, 1 − quantile")
        axes.set_title("What a better winner costs")
        style.legend(axes, loc="lower right")
        style.note(
            figure,
            f"One run: {planned.base}. Upper right is a better winner for more privacy; "
            "along a curve E[K] grows from 1 to ten times the plan's.",
        )
    return figure


def write(planned: Planned, curves: Iterable[Curve], path: str | Path) -> Path:
    """Draws a plan to a file of any kind that Matplotlib writes, by its ending."""
    path = Path(path)
    kind = path.suffix[1:] or "png"
    return style.save(draw(planned, curves), path.with_suffix(""), (kind,))[0]
