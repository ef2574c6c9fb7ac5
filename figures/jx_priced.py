"""The priced envelope of this project, against the envelope and what a ranking attains."""

import functools
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import renyi_to_delta
from jaxsel.accounting.single_run.score_pairs import gaussian_pair
from jaxsel.pictures import style
from jaxsel.repetitions import parse
from jaxsel.tuning.attained.adversarial_orders import adversarial_delta
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_log_delta
from jaxsel.tuning.bounds.generic import generic_renyi
from jaxsel.tuning.bounds.priced_envelope import priced_delta, priced_directions

TITLE = "The priced envelope: what tuning costs at large delta"
SIMS = ()
SECONDS = 38
_LEAST = 1e-3


class Setting(NamedTuple):
    """One panel: noise multiplier, law of K, largest epsilon."""

    noise: float
    law: str
    most: float


SETTINGS = (
    Setting(4.0, "geometric:mean=3", 0.8),
    Setting(4.0, "geometric:mean=30", 1.35),
    Setting(8.0, "poisson:mean=30", 1.25),
    Setting(1.0, "logarithmic:mean=30", 5.5),
)
_POINTS = 10
_LOOKS = {
    "one run": style.own(style.GREY, style.DOTS),
    "Rényi, Lemma 7 (claim)": style.own(style.BROWN, "-."),
    "envelope (this project)": style.own(style.GREEN, "--"),
    "priced envelope (this project)": style.own(style.BLUE, "-"),
}
_ATTAINED = "attained by a ranking, exact"


@functools.cache
def deltas(setting: Setting) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Epsilons, and delta at each of them by name of the bound."""
    base, law = curves.gaussian(setting.noise), parse(setting.law)
    epsilons = np.linspace(0.0, setting.most, _POINTS)
    directions = priced_directions(base, law)
    pair = gaussian_pair(setting.noise)
    assert base.profile is not None
    return epsilons, {
        "one run": base.profile(epsilons),
        "Rényi, Lemma 7 (claim)": renyi_to_delta(generic_renyi(base, law), epsilons),
        "envelope (this project)": np.exp(envelope_log_delta(base_envelopes(base, law), epsilons)),
        "priced envelope (this project)": np.array(
            [priced_delta(directions, e) for e in epsilons.tolist()]
        ),
        _ATTAINED: np.array([adversarial_delta(pair, law, e).delta for e in epsilons.tolist()]),
    }


def _panel(axes: Axes, setting: Setting) -> None:
    epsilons, found = deltas(setting)
    for name, look in _LOOKS.items():
        style.line(axes, epsilons, found[name], look, label=name)
    marks = style.hollow(style.own(style.BLACK, marker="o"), zorder=4)
    axes.plot(epsilons, found[_ATTAINED], **marks, label=_ATTAINED)
    family, mean = setting.law.replace("poisson", "Poisson").split(":mean=")
    axes.set_title(f"σ = {setting.noise:g}, {family} K of mean {mean}")
    axes.set(yscale="log", xlabel="ε", ylabel="δ", ylim=(_LEAST, 1.3))
    axes.set_xlim(0.0, setting.most)


def draw() -> Canvas:
    """Draws delta against epsilon, with bounds as lines and a ranking as points."""
    figure, panels = style.panels(2, 2, width=10.4, height=7.6)
    for axes, setting in zip(panels, SETTINGS, strict=True):
        _panel(axes, setting)
    style.legend_above(figure, panels[0], 3)
    return style.captioned(
        figure,
        "Gaussian base of noise multiplier σ, for every ranking of its outputs. The "
        "envelope allows a different worst ranking for each output; the price fixes "
        "one. Both are proved. Points: the exact delta of the worst ranking "
        "that a search found, which no bound lies below.",
    )
