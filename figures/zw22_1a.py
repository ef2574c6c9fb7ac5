"""Zhu & Wang 2022, Figure 1(a): the 15 US states with most COVID-19 cases, day by day.

The releases of ten days are (0.1, 1e-6)-DP together. There are four such windows from 12
March 2020, once with the new cases of each day and once with all cases so far. Counts are
those of The New York Times in the folder of the variable JAXSEL_DATA, or else a generated
epidemic's. One trial is one day's release.

EM-CDP and StableTopK (Algorithm 3, lambda = 0) compose by zCDP. TS and LD are composed by
advanced composition over the days, as in the paper; "LD, pooled" composes all its picks at
once by bounded range. In the paper's text a failed stability test of TS is followed by
exponential mechanisms at half of the budget. "TS, then EM" does that, and also fills up where
TS releases fewer than 15 states.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel import Performance
from jaxsel.families.top_k.baselines import advanced_composition_share, limited_domain_share
from jaxsel.families.top_k.calibration import largest_rho, stable_top_k_calibration
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.release import event_of
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.host.intervals import mean_interval
from jaxsel.kernel.statistics import counts
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells
from sims.common.top_k_fallback import filled_top_stable
from sims.data.covid import KINDS, CaseCounts, covid_available, generated_covid, load_covid

TITLE = "Zhu & Wang 2022, Figure 1(a): top 15 states by COVID-19 cases"
TRIALS = 4000
SECONDS = 17
_LONGEST, _WINDOWS = 10, 4  # days of a window at most, and number of windows in the data
METHODS: Mapping[str, Mechanism] = {
    "EM-CDP": exponential_top_k(),
    "StableTopK": fixed_top_k(),
    "TS, then EM": filled_top_stable(),
    "TS": top_stable_sets(),
    "LD, pooled": limited_domain(),
    "LD": limited_domain(),
}
_LOOKS = {
    "EM-CDP": ("EM-CDP", style.own(style.BLUE, "-", "o")),
    "StableTopK": ("StableTopK (Algorithm 3)", style.own(style.ORANGE, "-", "s")),
    "TS, then EM": ("TS, then EM on half the budget", style.own(style.GREEN, "-.", "^")),
    "TS": ("TS alone", style.own(style.GREEN, ":", "v")),
    "LD": ("LD, advanced composition", style.own(style.PURPLE, "--", "D")),
    "LD, pooled": ("LD, all picks composed at once", style.own(style.GREY, style.DASH_DOTS, "P")),
}
ORDER = ("EM-CDP", "StableTopK", "TS, then EM", "LD")  # the paper's, best first
_TITLES = {"daily": "new cases of the day", "cumulative": "all cases up to the day"}


class Recall(NamedTuple):
    """Mean recall of each window and its confidence limits: Float["windows"] each."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def recalls(counts: np.ndarray, k: int, window: int, confidence: float = 0.95) -> Recall:
    """Mean recall of a day, averaged over the days of each window.

    Args:
      counts: Int64["days hits"], tallies of the number of hits.
      k: size of the set.
      window: number of days in each window.
      confidence: confidence level of each window's interval. It is the mean of its days'
        intervals, each of which errs with probability (1 - confidence)/window.
    """
    hits = np.arange(counts.shape[-1])
    trials, totals = counts.sum(axis=1), (counts * hits).sum(axis=1)
    squares = (counts * hits**2).sum(axis=1)
    each = 1.0 - (1.0 - confidence) / window
    low, high = mean_interval(trials, totals, squares, each, 0.0, float(k))
    by_window = [
        (values / k).reshape(-1, window).mean(axis=1) for values in (totals / trials, low, high)
    ]
    return Recall(*by_window)


_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun")


def _span(first: str, last: str) -> str:
    """Dates as text: "12–21 Mar" for 2020-03-12 to 2020-03-21."""
    names = [_MONTHS[int(day[5:7])] for day in (first, last)]
    start = f"{int(first[8:])}" + ("" if names[0] == names[1] else f" {names[0]} ")
    return f"{start}–{int(last[8:])} {names[1]}"


def _days(dates: list[str], window: int) -> list[str]:
    starts = range(0, len(dates), window)
    spans = [_span(dates[day], dates[day + window - 1]) for day in starts]
    return [f"{day + 1}–{day + window}\n{span}" for day, span in zip(starts, spans, strict=True)]


@dataclasses.dataclass(frozen=True)
class Window:
    """A window of days, and its privacy budget."""

    epsilon: Annotated[float, positive("epsilon of a window")] = 0.1
    delta: Annotated[float, probability("delta of a window")] = 1e-6
    k: Annotated[int, whole("states released", at_least=1, at_most=40)] = 15
    window: Annotated[int, whole("days of a window", at_least=1, at_most=_LONGEST)] = _LONGEST

    def _day(self, epsilon: float, delta: float) -> dict[str, float]:
        """(epsilon, delta) of one day; half of delta is spent on advanced composition."""
        share = advanced_composition_share(epsilon, self.window, delta / 2.0)
        return {"epsilon": share, "delta": delta / 2.0 / self.window}

    def params(self, method: str, candidates: int) -> dict[str, Any]:
        """Parameters of one day of a method.

        The limited domain has 5 k states, or all but one if there are fewer.
        """
        epsilon, delta, k, days = self.epsilon, self.delta, self.k, self.window
        domain = min(5 * k, candidates - 1)
        match method:
            case "EM-CDP":
                rho = largest_rho(epsilon, delta) / days
                return {"k": k, "rho": rho, "capacity": candidates}
            case "StableTopK":
                found = stable_top_k_calibration(epsilon, delta, releases=days)
                settings = {"rho": found.rho, "delta_t": found.delta_t}
                return {"k": k, "capacity": candidates, "groups": 64} | settings
            case "TS, then EM":
                rho = largest_rho(epsilon / 2.0, delta / 2.0) / days
                return {"k": k, "rho": rho} | self._day(epsilon / 2.0, delta / 2.0)
            case "TS":
                return {"k": k} | self._day(epsilon, delta)
            case "LD, pooled":
                share = limited_domain_share(epsilon, k * days, delta / 2.0)
                each = delta / 2.0 / days
                return {"k": k, "epsilon": share, "delta": each, "domain": domain}
            case _:
                day = self._day(epsilon, delta)
                half = day["delta"] / 2.0
                share = limited_domain_share(day["epsilon"], k, half)
                return {"k": k, "epsilon": share, "delta": half, "domain": domain}


def cases(kind: str) -> CaseCounts:
    """Counts by day and state, or a generated epidemic's in their place."""
    return load_covid(kind) if covid_available() else generated_covid(kind)


@cells(performance=Performance(block_size=1024))
def released(
    release: str = over(*METHODS),
    kind: str = over(*KINDS),
    day: int = over(*range(_LONGEST * _WINDOWS)),
    window: Window = Window(),
) -> Trial:
    """Counts how often each number of the true top k was released on a day."""
    counted_cases = cases(kind).counts[day]
    return Trial(
        METHODS[release],
        counted_cases.astype(np.float64),
        window.params(release, counted_cases.size),
        statistic=counts(event_of, window.k + 1),
    )


def findings(released: xr.Dataset, window: Window = Window()) -> dict[str, list[str]]:
    """The kinds of counts for which the means confirm each of two statements of the paper.

    "order": EM-CDP is above StableTopK, above TS with its fallback, above LD, in every
    window. "rising": the recall of all four rises from window to window.
    """
    found: dict[str, list[str]] = {"order": [], "rising": []}
    for kind in released["kind"].values:
        rows = [released.tally.sel(kind=kind, release=name).values for name in ORDER]
        means = np.array([recalls(row, window.k, window.window).mean for row in rows])
        if np.all(means[:-1] > means[1:]):
            found["order"].append(kind)
        if np.all(means[:, 1:] > means[:, :-1]):
            found["rising"].append(kind)
    return found


def _said(kinds: list[str]) -> str:
    return " and for ".join(_TITLES[kind] for kind in kinds) or "neither reading"


def _panel(axes: Axes, tally: xr.DataArray, data: CaseCounts, window: Window) -> None:
    for number, (name, (label, look)) in enumerate(_LOOKS.items()):
        found = recalls(tally.sel(release=name).values, window.k, window.window)
        x = np.arange(found.mean.size) + 0.055 * (number - (len(_LOOKS) - 1) / 2.0)
        style.line(axes, x, found.mean, look, linewidth=1.1, alpha=0.8)
        style.points(axes, x, *found, look)
        style.line(
            axes,
            [],
            [],
            look,
            label=label,
            linewidth=1.1,
            marker=look["marker"],
            markerfacecolor="white",
        )
    labels = _days(list(data.dates[: tally.sizes["day"]]), window.window)
    axes.set_xticks(np.arange(len(labels)), labels)
    axes.set(ylim=(-0.03, 1.03), xlabel="days")
    axes.grid(axis="x", visible=False)
    title = _TITLES[str(tally["kind"].item())]
    if data.generated:
        title += "\nGENERATED DATA: an invented epidemic stands in"
    axes.set_title(title, color=style.RED if data.generated else "k")


def draw(released: xr.Dataset, window: Window = Window()) -> Canvas:
    """Draws mean recall in four windows of ten days, for both readings of the counts."""
    days = released.sizes["day"] // _LONGEST * window.window
    shown = released.isel(day=slice(days))
    kinds = [str(kind) for kind in shown["kind"].values]
    figure, panels = style.panels(len(kinds), width=9.4, height=4.6)
    for kind, axes in zip(kinds, panels, strict=True):
        _panel(axes, shown.tally.sel(kind=kind), cases(kind), window)
    panels[0].set_ylabel(f"mean recall of the top {window.k} states")
    style.legend_above(figure, panels[0], 3)
    seen = findings(shown, window)
    return style.captioned(
        figure,
        f"({window.epsilon:g}, {words.power(window.delta)})-DP for the {window.window} "
        f"days of a window; {shown.attrs['trials']:,} releases a day, 95 % intervals. In "
        "every window EM-CDP is above StableTopK above TS (followed by exponential "
        "mechanisms, as the paper says) above LD (composed as in the paper) for "
        f"{_said(seen['order'])}; the recall of all four rises through all windows for "
        f"{_said(seen['rising'])}. "
        f"Data: {cases(kinds[0]).source}.",
    )
