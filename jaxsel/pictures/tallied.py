"""Pictures of what trials counted, and of laws of K."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import special

from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from jaxsel.repetitions import Repetitions
from jaxsel.repetitions.summaries import quantile

_WORDS = 12  # more outcomes are numbered in the picture
_LEAST = 1e-4  # the smallest probability of so many runs that is drawn


def draw_outcomes(
    counts: np.ndarray, labels: Sequence[str], trials: int, law: np.ndarray | None = None
) -> Figure:
    """Draws how often each outcome happened in each cell, with exact 95 % intervals.

    Args:
      counts: Int["cells outcomes"].
      labels: of the outcomes.
      trials: of each cell.
      law: Float["outcomes"], probabilities that are drawn beside the counts.
    """
    with style.applied():
        figure, (axes,) = style.panels(width=max(4.6, 0.35 * min(len(labels), 30)))
        places = np.arange(len(labels))
        for cell, row in enumerate(counts):
            look = style.HUES[cell % len(style.HUES)]
            shift = 0.5 * (cell + 0.5) / len(counts) - 0.25
            low, high = clopper_pearson(row, np.full(len(row), trials), 0.95)
            drawn = style.points(axes, places + shift, row / trials, low, high, look)
            drawn.set_label(f"cell {cell}" if law is None else "seen")
        if len(labels) <= _WORDS:
            turned = 30 if max(map(len, labels)) * len(labels) > 60 else 0
            axes.set_xticks(places, labels, rotation=turned, ha="right" if turned else "center")
        axes.set(xlabel="outcome", ylabel=f"share of {trials:,} trials", ylim=(0.0, None))
        if law is not None:
            axes.step(places, law, where="mid", color=style.BLACK, label="the law")
        if len(counts) > 1 or law is not None:
            axes.legend()
    return figure


def draw_event(
    counts: tuple[int, int, int, int],
    names: tuple[str, str],
    epsilon: float,
    delta: float,
    title: str,
) -> Figure:
    """Draws how often an event happened on both inputs, and what the claim allows.

    Args:
      counts: of the event, of the trials, and the same two on the other input.
      names: of the two inputs, that on which the event is the likelier first.
      epsilon: that the claim states; NaN if nothing is claimed.
      delta: that the claim states.
      title: the event in words.
    """
    with style.applied():
        figure, (axes,) = style.panels(width=4.6, height=3.0)
        k, n = np.array(counts[::2]), np.array(counts[1::2])
        low, high = clopper_pearson(k, n, 0.95)
        # math.exp of more than 709 overflows, and 700 allows every probability that is not 0.
        allowed = min(math.exp(min(epsilon, 700.0)) * k[1] / n[1] + delta, 1.0)
        style.points(axes, [0, 1], k / n, low, high, "Geometric η = 1", label="95 % interval")
        if math.isfinite(allowed):
            axes.plot([-0.2, 0.2], [allowed] * 2, color=style.BLACK, label="claimed, at most")
        _logarithmic(axes, [*k / n, *high, allowed])
        axes.set_xticks([0, 1], [f"on the {name}" for name in names])
        axes.set(xlim=(-0.5, 1.5), ylabel="probability of the event")
        shown = title if len(title) <= 60 else f"{title[:57]}..."
        axes.set_title(f"Event: {shown}", fontsize=8)
        axes.legend()
    return figure


def draw_curve(profile: np.ndarray, tradeoff: np.ndarray, mu: float) -> Figure:
    """Draws what many events show together, as bands.

    Args:
      profile: Float["3 points"], epsilon, and the ends of the band of delta.
      tradeoff: Float["3 points"], type I errors, and the ends of the band of type II errors.
      mu: of a Gaussian that is drawn beside the trade-off.
    """
    with style.applied():
        figure, (left, right) = style.panels(2, width=7.6, height=3.2)
        shown = {"color": style.BLUE, "alpha": 0.25, "linewidth": 0, "label": "these events show"}
        left.fill_between(*profile, **shown)
        left.plot(profile[0], profile[1], color=style.BLUE, label="lower bound")
        left.set(xlabel="ε", ylabel="δ", xlim=(0.0, profile[0].max()), ylim=(0.0, None))
        left.set_title("Privacy profile")
        left.legend()
        right.fill_between(*tradeoff, **shown)
        right.plot(tradeoff[0], tradeoff[2], color=style.BLUE, label="upper bound")
        if math.isfinite(mu):
            nearest = special.ndtr(special.ndtri(1.0 - tradeoff[0]) - mu)
            label = f"Gaussian, μ = {mu:.3g}"
            right.plot(tradeoff[0], nearest, "--", color=style.BLACK, label=label)
        right.set(xlabel="type I error", ylabel="type II error", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
        right.set_title("Trade-off")
        right.legend()
    return figure


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic scale where the values span more than a decade, else one from 0."""
    seen = [value for value in values if math.isfinite(value) and value > 0.0]
    if seen and max(seen) > 10.0 * min(seen):
        axes.set(yscale="log", ylim=(0.5 * min(seen), 2.0 * max(seen)))
    else:
        axes.set(ylim=(0.0, None))


def draw_laws(laws: Mapping[str, Repetitions], title: str) -> Figure:
    """Draws P(K >= k) of laws of K, both axes logarithmic, down to 1e-4.

    Args:
      laws: by name.
      title: of the picture.
    """
    with style.applied():
        figure, (axes,) = style.panels()
        for place, (name, law) in enumerate(laws.items()):
            last = quantile(law, _LEAST) + 1
            counts = np.unique(np.geomspace(1, max(last, 2), 400).round())
            above = law.survival(counts - 1.0)
            axes.step(counts, above, where="post", label=name, **style.law(style.HUES[place]))
        axes.set(xscale="log", yscale="log", ylim=(_LEAST, 1.5), title=title)
        axes.set(xlim=(0.9, None), xlabel="k runs", ylabel="P(K ≥ k)")
        style.plain_ticks(axes.xaxis)
        axes.legend()
    return figure


def draw_choices(
    choices: Sequence[tuple[str, float, float]], chosen: int, quantity: str, title: str
) -> Figure:
    """Draws what a budget buys: a number of each choice against its expected runs.

    Args:
      choices: of each, its name, E[K] and the number.
      chosen: the place of the plan's choice.
      quantity: what the number is.
      title: of the picture.
    """
    with style.applied():
        figure, (axes,) = style.panels(width=6.4)
        for place, (name, runs, number) in enumerate(choices):
            look = style.HUES[place % len(style.HUES)]
            axes.plot([runs], [number], **style.hollow(look), label=name)
        _, runs, number = choices[chosen]
        axes.plot([runs], [number], "o", markersize=13, fillstyle="none", color=style.BLACK)
        axes.set(xscale="log", xlabel="E[K], runs on average", ylabel=quantity, title=title)
        style.plain_ticks(axes.xaxis)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure
