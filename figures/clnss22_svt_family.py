"""What six sparse vectors lose on the standard worst case, as it gets longer.

The algorithms are the six of Lyu, Su & Li 2017, Figure 1, at epsilon = 1 and c = 2 answers
"above". In a pair of inputs m queries rise by 1 and others fall (general neighbours) or stay
(monotone neighbours). One pattern of answers is counted on either side, the one with the
largest privacy loss as m grows:

  1, 4: m times "below", twice "above", on (0^m, 1^2) against (1^m, 0^2);
  2: the same pattern with one "above", twice, as the threshold's noise is redrawn;
  3: m times "below", then a released value at most the threshold, on m + 1 zeros against
    (1^m, 0), which are monotone neighbours;
  5: "below", "above", on (0, 1) against (1, 0);
  6: m times "below", m times "above", on 2m zeros against (1^m, (-1)^m).

With monotone neighbours nothing falls: (0^m, 0^2) against (1^m, 0^2), and so on. One trial is
one run of the sparse vector.
"""

import functools
import math
from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common.audited_bounds import audited
from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.patterns import SparseNoise, pattern_log_probability
from jaxsel.families.sparse_vector.sparse import sparse_vector
from jaxsel.language.base import Mechanism, Relation
from jaxsel.language.domains import positive
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Sparse vectors: six published variants on the standard worst case"
TRIALS = 500_000
SECONDS = 14

EPSILON = Annotated[float, positive("epsilon that is claimed")]
CUTOFF = 2
_FAR_BELOW = -1e6  # a query that is never above, on either side

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 50, 64)
_LOW, _HIGH = 0.09, 60.0
LOOKS = {
    1: ("Alg. 1, Lyu, Su & Li", style.own(style.BLUE, "-", "o")),
    2: ("Alg. 2, Dwork & Roth", style.own(style.GREEN, "--", "s")),
    3: ("Alg. 3, Roth", style.own(style.PURPLE, "-.", "^")),
    4: ("Alg. 4, Lee & Clifton", style.own(style.ORANGE, style.DASHES, "D")),
    5: ("Alg. 5, Stoddard et al.", style.own(style.BLACK, "", "*")),
    6: ("Alg. 6, Chen et al.", style.own(style.BROWN, style.DASH_DOTS, "P")),
}


class Member(NamedTuple):
    """One algorithm, and the pairs on which its answers are counted.

    Attributes:
      variant: the algorithm of the figure.
      sizes: values of m of the simulated points.
      relations: relations of the neighbours; algorithm 3's pair is monotone, and therefore is
        of both relations.
    """

    variant: variants.Variant
    sizes: tuple[int, ...]
    relations: tuple[Relation, ...] = (Relation.GENERAL, Relation.MONOTONE)


MEMBERS: tuple[Member, ...] = (
    Member(variants.LYU_SU_LI, (1, 2, 4, 8)),
    Member(variants.DWORK_ROTH, (1, 2, 4)),
    Member(variants.ROTH, (1, 2, 4), (Relation.MONOTONE,)),
    Member(variants.LEE_CLIFTON, (1, 2, 4, 8)),
    Member(variants.STODDARD, (1,)),
    Member(variants.CHEN, (1, 2, 4)),
)


class Queries(NamedTuple):
    """Runs of equal queries on both sides, and the queries to be answered "above"."""

    first: tuple[float, ...]
    second: tuple[float, ...]
    lengths: tuple[int, ...]
    above: tuple[int, ...]


def queries_of(member: Member, size: int, relation: Relation) -> Queries:
    """The pair with ``size`` rising queries; the number of runs does not depend on the size."""
    variant = member.variant
    falls = relation is Relation.GENERAL
    high = 1.0 if falls else 0.0
    if variant is variants.DWORK_ROTH:
        above = (size, 2 * size + 1)
        return Queries((0.0, high) * 2, (1.0, 0.0) * 2, (size, 1) * 2, above)
    if variant is variants.ROTH:
        return Queries((0.0, 0.0), (1.0, 0.0), (size, 1), (size,))
    if variant is variants.STODDARD:
        last = (1.0, 0.0) if falls else (1.0, 1.0)
        return Queries((0.0, last[0]), (1.0, last[1]), (1, 1), (1,))
    if variant is variants.CHEN:
        above = tuple(range(size, 2 * size))
        return Queries((0.0, 0.0), (1.0, -1.0 if falls else 0.0), (size, size), above)
    return Queries((0.0, high), (1.0, 0.0), (size, CUTOFF), (size, size + 1))


def noise_of(member: Member, size: int, epsilon: float = 1.0) -> SparseNoise:
    """The noise that the algorithm draws."""
    return member.variant.design(epsilon, CUTOFF, 2 * size)


@functools.cache
def _spotting(redrawn: bool, releases_values: bool) -> Mechanism:
    """A mechanism whose event is whether exactly the wanted queries are answered "above".

    Its data are the runs of queries and the numbers of the wanted queries.
    """
    core = sparse_vector(redrawn=redrawn, releases_values=releases_values, event="pattern")
    if not releases_values:
        core = sparse_vector(redrawn=redrawn, event="stop")

    def prepare(data, params):
        queries, wanted = data
        prepared, settings = core.prepare(queries, params)
        return (prepared, np.asarray(wanted, np.int32)), settings

    def sample(key, data, params):
        outcome = core.sample(key, data[0], params)
        size = data[1].shape[0]
        same = jnp.all(outcome.above[:size] == jnp.asarray(data[1]))
        return same & (outcome.values[0] <= 0.0) if releases_values else same

    return Mechanism(
        name=f"spotting({core.name})",
        prepare=prepare,
        sample=sample,
        event=_as_integer,
        labels=lambda data, params: ("other", "wanted"),
        law=None,
        resolution=core.resolution,
    )


def _as_integer(spotted):
    return spotted.astype(jnp.int32)


class Case(NamedTuple):
    """One algorithm on one pair.

    Attributes:
      member: the algorithm.
      relation: relation of the neighbours.
      size: number of queries that rise.
    """

    member: Member
    relation: Relation
    size: int

    @property
    def name(self) -> str:
        """The name of the case, which is its coordinate in the data set."""
        return name_of(self.member, self.relation, self.size)


def name_of(member: Member, relation: Relation, size: int) -> str:
    """The name of an algorithm's case, in the relation in which it has pairs."""
    return f"{member.variant.number} {_relation_of(member, relation).value} {size}"


def _relation_of(member: Member, relation: Relation) -> Relation:
    """Relation of the pair; algorithm 3's is monotone, and therefore general, too."""
    return relation if relation in member.relations else member.relations[0]


CASES = tuple(
    Case(member, relation, size)
    for member in MEMBERS
    for relation in member.relations
    for size in member.sizes
)


@cells(measures=["counts"])
def spotted(
    case: Case = over({case.name: case for case in CASES}),
    side: str = over("first", "second"),
    epsilon: EPSILON = 1.0,
) -> Trial:
    """Counts whether exactly the wanted queries are answered "above".

    Inputs are padded so that all sizes of one algorithm have equal shapes.
    """
    member, relation, size = case
    variant, found = member.variant, queries_of(member, size, relation)
    all_sizes = [queries_of(member, m, member.relations[0]) for m in member.sizes]
    total = max(sum(each.lengths) for each in all_sizes)
    most = max(len(each.above) for each in all_sizes)
    noise = noise_of(member, size, epsilon)
    data = {
        "answers": [*getattr(found, side), _FAR_BELOW],
        "lengths": [*found.lengths, total + 1 - sum(found.lengths)],
    }
    missing = (total + 1,) * (most - len(found.above))
    return Trial(
        _spotting(variant is variants.DWORK_ROTH, variant.releases_values),
        (data, (*found.above, *missing)),
        {
            "threshold_scale": noise.threshold_scale,
            "query_scale": noise.query_scale,
            # One more than is wanted, so that a further "above" is seen.
            "cutoff": CUTOFF if variant.limited else most + 1,
        },
    )


def loss(member: Member, size: int, relation: Relation, epsilon: float = 1.0) -> float:
    """Exact privacy loss of the counted answers; infinite for algorithm 5."""
    variant = member.variant
    if variant is variants.ROTH:
        # the loss of m times "below" and then a low value, by the claim SVT-LSL-Alg3-growth
        return size * epsilon / (2.0 * CUTOFF)
    found, noise = queries_of(member, size, relation), noise_of(member, size, epsilon)
    noise = noise._replace(redrawn=variant is variants.DWORK_ROTH)
    above = np.zeros(sum(found.lengths), bool)
    above[list(found.above)] = True
    sides = [np.repeat(each, found.lengths) for each in (found.first, found.second)]
    logs = [pattern_log_probability(levels, above, noise) for levels in sides]
    return logs[0] - logs[1]


def bounds(member: Member, relation: Relation, epsilon: float = 1.0) -> float:
    """The proven epsilon; infinite if there is none."""
    return member.variant.proven(epsilon, CUTOFF, relation)


def counts_of(spotted: xr.Dataset, member: Member, relation: Relation) -> xr.DataArray:
    """Tallies of an algorithm: Int64["size side outcome"]."""
    names = [name_of(member, relation, size) for size in member.sizes]
    found = spotted.counts.sel(case=names).rename(case="size")
    return found.assign_coords(size=list(member.sizes))


def _panel(axes: Axes, spotted: xr.Dataset, relation: Relation, epsilon: float) -> None:
    axes.axhspan(_LOW, epsilon, color="#f3f3f3", zorder=0)
    for member in MEMBERS:
        label, look = LOOKS[member.variant.number]
        used = _relation_of(member, relation)
        if member.variant is variants.STODDARD:
            axes.annotate(
                "", (1.0, _HIGH), (1.0, 20.0), arrowprops={"arrowstyle": "->", "linewidth": 1.1}
            )
            axes.text(1.12, 32.0, "Alg. 5: infinite", fontsize=8.0, va="center")
        else:
            exact = [loss(member, size, used, epsilon) for size in _SIZES]
            style.line(axes, _SIZES, exact, look, label=label)
        proven = bounds(member, relation, epsilon)
        if math.isfinite(proven) and member.variant is not variants.DWORK_ROTH:
            axes.axhline(proven, color=look["color"], linewidth=0.9, linestyle=":")
        low = audited(counts_of(spotted, member, relation))
        low = low[low > 0.0]
        axes.plot(
            low["size"],
            low,
            **style.hollow(look),
            zorder=4,
            markersize=8.0 if look["marker"] == "*" else 4.6,
            label=label if member.variant is variants.STODDARD else None,
        )
    axes.axhline(epsilon, color=style.RED, linewidth=1.0, label="Claimed for all six: ε")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(xlim=(0.8, 70.0), ylim=(_LOW, _HIGH), xticks=[1, 2, 4, 8, 16, 32, 64])
    style.plain_ticks(axes.xaxis)
    style.plain_ticks(axes.yaxis)
    axes.set(title=f"{relation.value} neighbours", xlabel="Queries that rise by 1, m")


def draw(spotted: xr.Dataset, epsilon: EPSILON = 1.0) -> Canvas:
    """Draws exact privacy losses as lines and audited lower bounds as open markers."""
    figure, panels = style.panels(2, width=8.6, height=4.4, sharey=True)
    for axes, relation in zip(panels, (Relation.GENERAL, Relation.MONOTONE), strict=True):
        _panel(axes, spotted, relation, epsilon)
    panels[0].set_ylabel("Privacy loss, in units of ε")
    style.legend_above(figure, panels[0], 4)
    return style.captioned(
        figure,
        f"Lyu, Su & Li 2017, Figure 1, at ε = {epsilon:g} and c = {CUTOFF} answers "
        '"above". Lines: exact loss of the answers that lose most when m queries rise '
        "and the others fall (left) or stay (right). Dotted: proven, ε for 1 and 2 and "
        "(1 + 6c)ε/4 for 4 (left), 3ε/4 and (1 + 3c)ε/4 (right). Algorithm 3 loses "
        "mε/(2c), already on monotone neighbours. Open markers: audited lower bounds "
        f"(95 %) from {spotted.attrs['trials']:,} trials a side.",
    )
