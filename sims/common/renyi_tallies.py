"""Tallies for the Renyi divergence of the best of K Gaussian runs, in two orders.

Shared by the simulations of Figures 2 and 3 of Papernot & Steinke 2022. One trial is one
execution of the tuned algorithm; what is tallied is the bin of the released number.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.noised_bases import noised_score
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Mechanism
from jaxsel.repetitions import Repetitions, describe
from sims.common import gaussian_orders as orders

SIDES = (0.0, orders.SHIFT)  # mean of one run on the data and on the neighbour


def natural_cells(law: Repetitions, edges: np.ndarray) -> tuple[Mechanism, list]:
    """Both sides of the natural order: the score is the released number."""
    params = {"noise_scale": 1.0, "edges": edges, "repetitions": law}
    mechanism = private_tuning(noised_score("gaussian", sign=1), law.family)
    return mechanism, [(mean, params) for mean in SIDES]


def two_block_cells(
    law: Repetitions, cut: float, edges: np.ndarray
) -> tuple[Mechanism, list]:
    """Both sides of the two-block order: a finite base, whose outcomes are bins."""
    mechanism = private_tuning(finite(), law.family)
    data = [orders.two_block_law(edges, cut, mean) for mean in SIDES]
    return mechanism, [(side, {"repetitions": law}) for side in data]


def renyi_tallies(
    natural: Sequence[Repetitions],
    two_block: Sequence[Repetitions],
    *,
    trials: int,
    seed: int,
    progress: bool | None,
) -> dict:
    """Tallies by law, side and bin, and what the bins are.

    Args:
      natural: laws of K for the natural order, those of one family together.
      two_block: laws of K for the two-block order, likewise.
      trials, seed, progress: as for ``jaxsel.kernel.engine.simulate``.

    Returns:
      For either order its laws as text, "..._edges" Float64["laws edges"] and
      "..._counts" Int64["laws sides bins"], nothing released last (bins best first in
      the two-block order); and "cuts" Float64["laws"].
    """
    edges = [orders.natural_edges(law, trials) for law in natural]
    cells = [natural_cells(*pair) for pair in zip(natural, edges, strict=True)]
    cuts = [orders.two_block_cut(law) for law in two_block]
    block_edges = [
        orders.two_block_edges(law, cut, trials)
        for law, cut in zip(two_block, cuts, strict=True)
    ]
    cells += [
        two_block_cells(*triple)
        for triple in zip(two_block, cuts, block_edges, strict=True)
    ]
    counts: list[np.ndarray] = []
    for number, (mechanism, group) in enumerate(groupby(cells, key=lambda c: c[0])):
        tallies = simulate_grid(
            mechanism,
            [side for _, sides in group for side in sides],
            trials=trials,
            seed=seed + number,
            progress=progress,
        )
        counts += np.split(tallies.values, len(tallies.values) // 2)
    return {
        "natural_edges": np.stack(edges),
        "natural_counts": np.stack(counts[: len(natural)]),
        "cuts": np.array(cuts),
        "two_block_edges": np.stack(block_edges),
        "two_block_counts": np.stack(counts[len(natural) :]),
        "natural_laws": [describe(law) for law in natural],
        "two_block_laws": [describe(law) for law in two_block],
        "trials": trials,
    }
