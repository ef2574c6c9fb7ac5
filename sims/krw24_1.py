"""Koskela, Redberg & Wang 2024, Figure 1: privacy of report noisy max with Gaussian noise.

Two kinds of neighbouring inputs are simulated on both sides. In the first, two groups of
equal scores move apart; the group sizes and the lead are chosen by exact laws so that epsilon
is largest. In the second, a single candidate moves against all others. One trial is one
release, reduced to whether the winner belongs to the first group. For compositions one trial
is k releases, reduced to the number of winners in the first group.
"""

import functools
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import xarray as xr

from jaxsel.families.noisy_max.composition import composition
from jaxsel.families.noisy_max.composition_bounds import composed_pair_epsilon
from jaxsel.families.noisy_max.group_bounds import (
    GroupPair,
    grouped_law,
    moving_groups,
    single_pair,
    worst_composed_group_pair,
    worst_group_pair,
)
from jaxsel.families.noisy_max.grouped_noisy_max import grouped_noisy_max
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import numbers, positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from sims.cells import cells, computed

TRIALS = 4_000_000

Delta = Annotated[float, probability("delta that trials can see")]
NoiseScale = Annotated[float, positive("where it does not vary")]
Fixed = Annotated[int, whole("candidates where the noise varies", at_least=2)]
Composed = Annotated[int, whole("candidates where the number of releases varies", at_least=2)]
SIDES = ("data", "neighbour")
NOISE_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
COMPOSITIONS = (1, 3, 10, 30, 100)


@functools.cache
def worst_pair(kind: str, delta: float, candidates: int, noise_scale: float) -> GroupPair:
    """The pair of a kind, "groups" or "single", whose epsilon at delta is largest."""
    found = worst_group_pair if kind == "groups" else single_pair
    return found(delta, candidates, noise_scale)


def _exact(pair: GroupPair, noise_scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact laws of the winner's group on both sides."""
    sizes = [pair.first, pair.second]
    first = grouped_law(sizes, [pair.lead + 2.0 / noise_scale, 0.0])
    second = grouped_law(sizes, [pair.lead, 0.0])
    return first / first.sum(), second / second.sum()


def _trial(kind: str, delta: float, candidates: int, noise_scale: float, side: str) -> Trial:
    """A trial that tallies the winner's group; its data set also has the pair's exact epsilon."""
    pair = worst_pair(kind, delta, candidates, noise_scale)
    moved = moving_groups(pair, noise_scale)
    first, second = _exact(pair, noise_scale)
    return Trial(
        grouped_noisy_max(),
        moved.data if side == "data" else moved.neighbour,
        moved.params,
        beside={"exact": composed_pair_epsilon(delta, first, second, 1)},
    )


@cells(measures=["counts", "frequency"])
def moved(
    pair: str = over("groups", "single"),
    candidates: int = over(2, 10, 100, 1000, 10_000),
    side: str = over(*SIDES),
    delta: Delta = 1e-3,
    noise_scale: NoiseScale = 4.0,
) -> Trial:
    """The worst pair of either kind, for each number of candidates."""
    return _trial(pair, delta, candidates, noise_scale, side)


@cells(measures=["counts", "frequency"])
def scaled(
    noise: float = over(*NOISE_SCALES),
    side: str = over(*SIDES),
    delta: Delta = 1e-3,
    fixed: Fixed = 100,
) -> Trial:
    """The worst pair of groups, for each noise scale."""
    return _trial("groups", delta, fixed, noise, side)


@computed
def repeated(
    *,
    trials: int,
    seed: int,
    progress: bool | None,
    releases: Annotated[Sequence[float], numbers(at_least=1)] = COMPOSITIONS,
    delta: Delta = 1e-3,
    noise_scale: NoiseScale = 4.0,
    composed: Composed = 10,
) -> xr.Dataset:
    """Tallies how many winners of k releases are in the first group, for each k.

    Longer compositions have fewer trials. "counts" has the shape (releases, side, wins); its
    entries for more than k wins are 0.
    """
    every = [int(k) for k in releases]
    counts = np.zeros((len(every), 2, max(every) + 1), np.int64)
    laws, exact = [], []
    for number, k in enumerate(every):
        pair = worst_composed_group_pair(delta, composed, noise_scale, k)
        moved = moving_groups(pair, noise_scale)
        counts[number, :, : k + 1] = simulate_grid(
            composition(grouped_noisy_max(), k),
            [(side, moved.params) for side in (moved.data, moved.neighbour)],
            trials=max(8 * trials // (8 + k), 2),
            seed=seed + 1 + number,
            progress=progress,
        ).values
        first, second = _exact(pair, noise_scale)
        laws.append([first, second])
        exact.append(composed_pair_epsilon(delta, first, second, k))
    return xr.Dataset(
        {
            "counts": (("releases", "side", "wins"), counts),
            "first": (("releases", "side"), np.array(laws)[..., 0]),
            "exact": ("releases", exact),
        },
        {"releases": every, "side": list(SIDES), "wins": np.arange(max(every) + 1)},
    )
