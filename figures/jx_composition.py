"""What several searches on the same data cost together, by each method of composition."""

import functools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.dominating import pair_from_profile
from jaxsel.accounting.single_run.loss_distributions import composed_distribution
from jaxsel.pictures import style
from jaxsel.repetitions import parse
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_log_delta
from jaxsel.tuning.composing_searches import Release, composed_renyi_epsilon, summed_epsilon
from jaxsel.tuning.tuned_guarantee import tuned_pairs

TITLE = "Composed searches: epsilon against how many there are"
SIMS = ()
SECONDS = 45
DELTA, NOISE, MEAN = 1e-6, 8.0, 30
TIMES = (1, 2, 4, 8, 16, 32, 64)
LAWS = ("geometric", "Poisson")
_LOOKS = {
    "epsilons and deltas added up": style.own(style.GREY, style.DOTS),
    "envelopes composed": style.own(style.GREEN, "--"),
    "Rényi bounds added up": style.own(style.BROWN, "-."),
    "priced envelopes composed (this project)": style.own(style.BLUE, "-"),
    "one run released each time": style.own(style.BLACK, (0, (5, 2))),
}


@functools.cache
def epsilons(family: str) -> dict[str, list[float]]:
    """Epsilon at DELTA for each number of searches, by name of the bound."""
    base, law = curves.gaussian(NOISE), parse(f"{family.lower()}:mean={MEAN}")
    bounds = base_envelopes(base, law)
    plain = pair_from_profile(lambda e: np.exp(envelope_log_delta(bounds, e)))
    ways = {
        "envelopes composed": (plain,),
        "priced envelopes composed (this project)": tuned_pairs(base, law),
        "one run released each time": base.pairs() if base.pairs else (),
    }
    found = {
        name: [float(composed_distribution([(way, n)]).get_epsilon_for_delta(DELTA)) for n in TIMES]
        for name, way in ways.items()
    }
    searches = [[Release(base, law, times)] for times in TIMES]
    found["Rényi bounds added up"] = [composed_renyi_epsilon(each, DELTA)[0] for each in searches]
    found["epsilons and deltas added up"] = [summed_epsilon(each, DELTA)[0] for each in searches]
    return found


def _panel(axes: Axes, family: str) -> None:
    found = epsilons(family)
    for name, look in _LOOKS.items():
        style.line(axes, TIMES, found[name], look, label=name)
    at = TIMES.index(16)
    priced, renyi = (
        found[name][at]
        for name in ("priced envelopes composed (this project)", "Rényi bounds added up")
    )
    axes.set_title(f"{family} K of mean {MEAN}; 16 searches: {priced:.2f} (Rényi {renyi:.2f})")
    axes.set(xscale="log", yscale="log", xlabel="searches on the same data")
    style.plain_ticks(axes.xaxis, TIMES)
    style.plain_ticks(axes.yaxis, (0.5, 1, 2, 5, 10, 20, 50))


def draw() -> Canvas:
    """Draws epsilon against the number of searches, for two laws of K."""
    figure, panels = style.panels(2, width=10.4, height=5.0, sharey=True)
    for axes, family in zip(panels, LAWS, strict=True):
        _panel(axes, family)
    panels[0].set_ylabel(words.epsilon_at(DELTA))
    style.legend_above(figure, panels[0], 3)
    return style.captioned(
        figure,
        f"Gaussian base of noise multiplier {NOISE:g}; each search releases the best of "
        "K runs and uses the same data. Every curve but the last is proved for every "
        "ranking. Composition lives where delta is large, and there the envelope alone "
        "is loose; the priced envelope is not.",
    )
