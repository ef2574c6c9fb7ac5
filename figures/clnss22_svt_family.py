"""Six sparse vectors on the standard worst case: two keep their epsilon, four do not."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

from figures.common.figure import load
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.patterns import pattern_log_probability
from jaxsel.language.base import Relation
from jaxsel.pictures import style
from sims.clnss22_svt_family import (
    CUTOFF,
    EPSILON,
    MEMBERS,
    Member,
    noise_of,
    queries_of,
)

TITLE = "Sparse vectors: six published variants on the standard worst case"
SECONDS = 21
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 50, 64)
_LOW, _HIGH = 0.09, 60.0
LOOKS: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("Alg. 1, Lyu, Su & Li", {"color": "#0072b2", "linestyle": "-", "marker": "o"}),
    2: ("Alg. 2, Dwork & Roth", {"color": "#009e73", "linestyle": "--", "marker": "s"}),
    3: ("Alg. 3, Roth", {"color": "#aa4499", "linestyle": "-.", "marker": "^"}),
    4: (
        "Alg. 4, Lee & Clifton",
        {"color": "#d55e00", "linestyle": (0, (5, 1.2)), "marker": "D"},
    ),
    5: (
        "Alg. 5, Stoddard et al.",
        {"color": "#000000", "linestyle": "", "marker": "*"},
    ),
    6: (
        "Alg. 6, Chen et al.",
        {"color": "#8c6d1f", "linestyle": (0, (4, 1, 1, 1)), "marker": "P"},
    ),
}


def loss(member: Member, size: int, relation: Relation) -> float:
    """Exact privacy loss of the counted answers; infinite for algorithm 5."""
    variant = member.variant
    if variant is variants.ROTH:
        # of m times "below" and a low value, claim SVT-LSL-Alg3-growth
        return size * EPSILON / (2.0 * CUTOFF)
    found = queries_of(member, size, relation)
    noise = noise_of(member, size)._replace(redrawn=variant is variants.DWORK_ROTH)
    above = np.zeros(sum(found.lengths), bool)
    above[list(found.above)] = True
    sides = [np.repeat(each, found.lengths) for each in (found.first, found.second)]
    logs = [pattern_log_probability(levels, above, noise) for levels in sides]
    return logs[0] - logs[1]


def bounds(member: Member, relation: Relation) -> float:
    """Proven epsilon, infinite where there is none."""
    return member.variant.proven(EPSILON, CUTOFF, relation)


def _relation_of(member: Member, relation: Relation) -> Relation:
    """Algorithm 3's pair is monotone, hence one of general neighbours, too."""
    return relation if relation in member.relations else member.relations[0]


def audited(
    record, member: Member, relation: Relation, confidence: float = 0.95
) -> np.ndarray:
    """Lower bounds on epsilon at the simulated sizes, from the counts."""
    name = str(member.variant.number)
    row = record.values["relations"][name].index(_relation_of(member, relation).value)
    counts = record.arrays[f"counts_{name}"][row]
    trials = int(record.values["trials"])
    found = []
    for first, second in counts:
        sides = [np.array([trials - seen, seen]) for seen in (first, second)]
        bound = epsilon_lower_bound(sides[0], sides[1], 0.0, confidence, ["singletons"])
        found.append(bound.lower)
    return np.array(found)


def _panel(axes: Axes, record, relation: Relation) -> None:
    axes.axhspan(_LOW, EPSILON, color="#f3f3f3", zorder=0)
    for member in MEMBERS:
        label, look = LOOKS[member.variant.number]
        used = _relation_of(member, relation)
        if member.variant is variants.STODDARD:
            axes.annotate(
                "",
                (1.0, _HIGH),
                (1.0, 20.0),
                arrowprops={"arrowstyle": "->", "linewidth": 1.1},
            )
            axes.text(1.12, 32.0, "Alg. 5: infinite", fontsize=8.0, va="center")
        else:
            exact = [loss(member, size, used) for size in _SIZES]
            style.line(axes, _SIZES, exact, look, label=label)
        proven = bounds(member, relation)
        if math.isfinite(proven) and member.variant is not variants.DWORK_ROTH:
            axes.axhline(proven, color=look["color"], linewidth=0.9, linestyle=":")
        low = audited(record, member, relation)
        shown = low > 0.0
        axes.plot(
            np.asarray(member.sizes)[shown], low[shown], linestyle="none",
            color=look["color"], marker=look["marker"], markerfacecolor="white",
            markersize=8.0 if look["marker"] == "*" else 4.6, zorder=4,
            label=label if member.variant is variants.STODDARD else None,
        )  # fmt: skip
    axes.axhline(
        EPSILON, color="#b00020", linewidth=1.0, label="Claimed for all six: ε"
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(0.8, 70.0)
    axes.set_ylim(_LOW, _HIGH)
    axes.set_xticks([1, 2, 4, 8, 16, 32, 64])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{relation.value} neighbours")
    axes.set_xlabel("Queries that rise by 1, m")


def draw() -> Canvas:
    """Lines: exact; open markers: audited lower bounds."""
    record = load("clnss22-svt-family")
    figure, panels = style.panels(2, width=8.6, height=4.4, sharey=True)
    for axes, relation in zip(
        panels, (Relation.GENERAL, Relation.MONOTONE), strict=True
    ):
        _panel(axes, record, relation)
    panels[0].set_ylabel("Privacy loss, in units of ε")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    trials = int(record.values["trials"])
    style.note(
        figure,
        f"Lyu, Su & Li 2017, Figure 1, at ε = {EPSILON:g} and c = {CUTOFF} answers "
        '"above". Lines: exact loss of the answers that lose most when m queries rise '
        "and the others fall (left) or stay (right). Dotted: proven, ε for 1 and 2 and "
        "(1 + 6c)ε/4 for 4 (left), 3ε/4 and (1 + 3c)ε/4 (right). Algorithm 3 loses "
        "mε/(2c), already on monotone neighbours. Open markers: audited lower bounds "
        f"(95 %) from {trials:,} trials a side.",
    )
    return figure
