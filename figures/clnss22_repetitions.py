"""One query to the repetitive sparse vector: how it is answered, and what it costs.

The algorithm is Cohen et al. 2022, Algorithm 3, with gamma, tau and k' of Section 4.2 (k'
corrected) and margins d from the printed one down. One trial is a run with one query whose
value is f - t away from the threshold. The query is answered bottom or top, or k' batches of
Tests fail and the algorithm halts. Levels and margins are in units of the noise, 1/epsilon'.
"""

import dataclasses
import functools
from typing import Annotated, Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from jaxsel.families.repetitive_sparse_vector.error_laws import needed_margin
from jaxsel.families.repetitive_sparse_vector.laws import query_law, top_chances
from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
    repetitive_sparse_vector,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    repetitive_settings,
)
from jaxsel.host.intervals import mean_interval
from jaxsel.kernel.statistics import combine, counts, sums
from jaxsel.language.domains import probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Algorithm 3: how repeated Tests answer one query"
TRIALS = 300_000

LOW, HIGH, FLOOR = -50.0, 10.0, 1e-9
LEAST = "least for Lemma 4"  # the margin in the left panel
_LOOKS = {
    "as printed": style.own("#999999", "-", "p"),
    LEAST: style.own(style.BLUE, "-", "o"),
    "3/4 of that": style.own(style.GREEN, "--", "s"),
    "half of it": style.own(style.ORANGE, "-.", "^"),
}
_ANSWERS = ("halted", "bottom", "top")
_TOP = style.own(style.BLUE, "-", "o")
_BOTTOM = style.own(style.ORANGE, "--", "s")
_ONE = style.own(style.GREY, ":", ".")


@dataclasses.dataclass(frozen=True)
class Requirement:
    """What a run must achieve: k answers above the threshold among m queries, except with beta."""

    wanted: Annotated[int, whole("answers above the threshold, k", at_least=1)] = 50
    queries: Annotated[int, whole("m", at_least=1)] = 2000
    beta: Annotated[float, probability("of a failure")] = 1e-3

    def settings(self, margin: float | None = None) -> RepetitiveSettings:
        """Settings of Section 4.2 with noise of scale 1; by default with the printed margin."""
        found = repetitive_settings(self.wanted, self.queries, self.beta)
        printed = found.margin * found.query_epsilon
        margin = printed if margin is None else margin
        return found._replace(query_epsilon=1.0, margin=margin)


@functools.cache
def margins(required: Requirement = Requirement()) -> dict[str, float]:
    """The printed margin, the least one whose failure bound is beta, and two that are too small."""
    printed = required.settings()
    least = needed_margin(printed, required.wanted, required.queries, required.beta)
    values = (printed.margin, least, 0.75 * least, 0.5 * least)
    return dict(zip(_LOOKS, values, strict=True))


def _failures(outcome) -> dict:
    number = outcome.failures
    return {"sum": number, "squares": number * number}


@cells()
def answered(
    margin: str = over(*_LOOKS),
    level: float = over(
        -48.0, -40.0, -34.0, -28.0, -24.0, -20.0, -17.0, -14.0, -11.0, -8.0, -5.0, -2.0, 2.0
    ),
    required: Requirement = Requirement(),
) -> Trial:
    """Counts the answers (halted, bottom, top); sums the failed batches and their squares."""
    mechanism = repetitive_sparse_vector(event="pattern")
    return Trial(
        mechanism,
        [level],
        required.settings(margins(required)[margin])._asdict(),
        statistic=combine({"answers": counts(mechanism.event, 3), "failures": sums(_failures)}),
    )


def curves(margin: float, required: Requirement = Requirement()) -> tuple[np.ndarray, Any]:
    """Levels, and the exact law of a query at each of them."""
    levels = np.linspace(LOW, HIGH, 481)
    return levels, query_law(levels, required.settings(margin))


def _answers(axes: Axes, row: xr.Dataset, required: Requirement) -> None:
    margin, trials = margins(required)[LEAST], row.attrs["trials"]
    levels, law = curves(margin, required)
    single, _ = top_chances(levels, required.settings(margin))
    style.line(axes, levels, single, _ONE, label="One comparison")
    for name, label, look in (("top", "⊤", _TOP), ("bottom", "⊥", _BOTTOM)):
        style.line(axes, levels, getattr(law, name), look, label=f"Answer {label}")
        found = row.answers.isel(answers_0=_ANSWERS.index(name)).values
        style.shares(axes, row["level"], found, trials, look)
    axes.set(yscale="log", ylim=(FLOOR, 4.0), ylabel="Probability")
    for place, text in ((0.0, "t"), (-margin, "t − d")):
        axes.axvline(place, color=style.GREY, linewidth=0.8)
        axes.annotate(text, (place, 1.6 * FLOOR), (3, 0), textcoords="offset points", fontsize=8)
    axes.legend(loc="center left", frameon=True, framealpha=1.0, edgecolor="none", borderpad=0.2)


def _costs(axes: Axes, found: xr.Dataset, required: Requirement) -> None:
    trials, most = found.attrs["trials"], required.settings().failures
    for name in found["margin"].values:
        row, look, d = found.sel(margin=name), _LOOKS[name], margins(required)[name]
        levels, law = curves(d, required)
        label = rf"$d={d:.1f}/\epsilon'$, {name}"
        width = 4.0 if name == "as printed" else 1.6  # two of the curves nearly coincide
        style.line(axes, levels, law.failures, look, label=label, linewidth=width)
        total = row.failures_sum.values
        low, high = mean_interval(
            [trials] * total.size,
            total.tolist(),
            row.failures_squares.values.tolist(),
            0.95,
            0.0,
            float(most),
        )
        seen = low > 0
        ends = low[seen], high[seen]
        style.points(axes, row["level"][seen], total[seen] / trials, *ends, look)
    axes.set(yscale="log", ylim=(1e-3, 1e3), ylabel="Expected number of failed batches")
    axes.axhline(1.0, color=style.GREY, linewidth=0.8)
    axes.legend(loc="upper left")


def draw(answered: xr.Dataset, required: Requirement = Requirement()) -> Canvas:
    """Draws exact laws as lines and simulated values as points with 95 % intervals."""
    figure, (answers, costs) = style.panels(2, width=9.4, height=4.9)
    _answers(answers, answered.sel(margin=LEAST), required)
    _costs(costs, answered, required)
    for axes in (answers, costs):
        axes.set_xlim(LOW, HIGH)
        axes.set_xlabel(r"Level $f-t$ of the query, in units of the noise $1/\epsilon'$")
    chosen = required.settings()
    return style.captioned(
        figure,
        f"Section 4.2 for m = {required.queries:,} queries, k = {required.wanted} answers "
        f"⊤ and β = {required.beta:g}: γ = {chosen.gamma:.3f}, batches of τ = 5m² = "
        f"{chosen.repetitions:,} Tests, k′ = {chosen.failures} (corrected); "
        "averaged over p. Left: the margin d is the least at which the bound on "
        f"the failure probability (any {required.queries:,} queries) is β. Right: every ⊤ "
        "costs one failed batch; what exceeds that is wasted, and at k′ the "
        "algorithm halts. The pseudocode is reconstructed from the proof of Lemma "
        f"4. Lines: exact. Points: {answered.attrs['trials']:,} simulated queries each, "
        "95 % intervals; none is drawn that reaches down to 0.",
    )
