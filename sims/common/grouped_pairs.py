"""Koskela, Redberg & Wang 2024, Figure 1: privacy of report noisy max with Gaussian noise.

Two kinds of neighbouring inputs are simulated on both sides. In the first, two groups of
equal scores move apart; the group sizes and the lead are chosen by exact laws so that epsilon
is largest. In the second, a single candidate moves against all others. One trial is one
release, reduced to whether the winner belongs to the first group. For compositions one trial
is k releases, reduced to the number of winners in the first group.
"""

import functools
from collections.abc import Sequence

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
from jaxsel.language.trial import Trial

SIDES = ("data", "neighbour")


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


def group_trial(kind: str, delta: float, candidates: int, noise_scale: float, side: str) -> Trial:
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


def composed_releases(
    releases: Sequence[float],
    delta: float,
    noise_scale: float,
    composed: int,
    *,
    trials: int,
    seed: int,
    progress: bool | None,
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
