"""What six sparse vectors lose on the standard worst case, as it gets longer.

The six of Lyu, Su & Li 2017, Figure 1, at epsilon = 1 and c = 2 answers "above", on a
pair of inputs in which m queries rise by 1 and others fall (general neighbours) or stay
(monotone). What is counted is one pattern of answers on either side, the one that loses
most as m grows:

  1, 4: m times "below", twice "above", on (0^m, 1^2) against (1^m, 0^2);
  2: the same pattern for one "above", twice, as the threshold's noise is redrawn;
  3: m times "below", then a released value at most the threshold, on m + 1 zeros against
     (1^m, 0), which are monotone neighbours;
  5: "below", "above", on (0, 1) against (1, 0);
  6: m times "below", m times "above", on 2m zeros against (1^m, (-1)^m).

With monotone neighbours nothing falls: (0^m, 0^2) against (1^m, 0^2), and so on. One
trial is one run of the sparse vector.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxsel.families.sparse_vector import variant_settings as variants
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.sparse import sparse_vector
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Mechanism, Relation
from jaxsel.language.domains import positive

TRIALS = 500_000
EPSILON = 1.0
SETTABLE = {
    "EPSILON": positive("epsilon that is claimed"),
}
CUTOFF = 2
_FAR_BELOW = -1e6  # a query that is never above, on either side


class Member(NamedTuple):
    """One algorithm with what is counted.

    Attributes:
      variant: of the figure.
      sizes: m of the simulated points.
      relations: of the neighbours; algorithm 3's pair is monotone, hence both.
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
    """The pair with ``size`` rising queries, in as many runs for every size."""
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


def noise_of(member: Member, size: int) -> SparseNoise:
    """The noise that the algorithm draws."""
    return member.variant.design(EPSILON, CUTOFF, 2 * size)


@functools.cache
def _spotting(redrawn: bool, releases_values: bool) -> Mechanism:
    """Whether the queries answered "above" are the wanted ones; data: (runs, wanted)."""
    core = sparse_vector(
        redrawn=redrawn, releases_values=releases_values, event="pattern"
    )
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


def _cells(member: Member, sizes: Sequence[int]) -> list:
    """(data, params) of both sides, by relation and size, padded to equal shapes."""
    unlimited = not member.variant.limited
    total = max(sum(queries_of(member, m, member.relations[0]).lengths) for m in sizes)
    most = max(len(queries_of(member, m, member.relations[0]).above) for m in sizes)
    cells = []
    for relation in member.relations:
        for size in sizes:
            found = queries_of(member, size, relation)
            noise = noise_of(member, size)
            params = {
                "threshold_scale": noise.threshold_scale,
                "query_scale": noise.query_scale,
                # One more than is wanted, so that a further "above" is seen.
                "cutoff": most + 1 if unlimited else CUTOFF,
            }
            spare = total + 1 - sum(found.lengths)
            missing = (total + 1,) * (most - len(found.above))
            for answers in (found.first, found.second):
                data = {
                    "answers": [*answers, _FAR_BELOW],
                    "lengths": [*found.lengths, spare],
                }
                cells.append(((data, (*found.above, *missing)), params))
    return cells


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Counts of the wanted pattern, Int64["relations sizes sides"] for each algorithm."""
    counts: dict[str, np.ndarray] = {}
    for number, member in enumerate(MEMBERS):
        mechanism = _spotting(
            member.variant is variants.DWORK_ROTH, member.variant.releases_values
        )
        tallies = simulate_grid(
            mechanism,
            _cells(member, member.sizes),
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        shape = (len(member.relations), len(member.sizes), 2)
        name = f"counts_{member.variant.number}"
        counts[name] = tallies.values[:, 1].reshape(shape)
    return {
        **counts,
        "trials": trials,
        "epsilon": EPSILON,
        "cutoff": CUTOFF,
        "sizes": {str(m.variant.number): list(m.sizes) for m in MEMBERS},
        "relations": {
            str(m.variant.number): [r.value for r in m.relations] for m in MEMBERS
        },
    }
