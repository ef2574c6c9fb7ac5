"""Koskela, Redberg & Wang 2024, Figures 2 and 3: the best of geometrically many runs.

Tallies on both sides of the pair N(0, 1) against N(1/4, 1), which is the base of these
figures, for two kinds of ranking of its outputs:

  natural: a larger output is better;
  adversarial: at some epsilons, those at which the exact delta first falls below one of
    TARGETS, a ranking for which it is nearly largest (see ``sims.common.worst_rankings``).

An adversarial ranking takes intervals of outputs in turns from both ends of the line.
What is told apart is only the interval of the released output (its bin, in the natural
order), which is post-processing: it bounds the loss of the mechanism from below. One
trial is one execution of the tuned algorithm.
"""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.noised_bases import noised_score
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import numbers
from jaxsel.repetitions import Repetitions, describe, from_mean
from sims.common.gaussian_orders import natural_law
from sims.common.worst_rankings import (
    NOISE_MULTIPLIER,
    Ranking,
    ranked_laws,
    worst_rankings,
)

TRIALS = 4_000_000
MEANS = (30, 300, 3000)
SETTABLE = {
    "MEANS": numbers("E[K] of the geometric laws", above=1.0),
}
TARGETS = (0.1, 0.03, 0.01, 0.003, 0.001)  # deltas that so many trials can see
SIDES = (0.0, 1.0 / NOISE_MULTIPLIER)  # mean of one run on the data and the neighbour

_EPSILONS = np.linspace(0.0, 16.0 / NOISE_MULTIPLIER, 101)
_NATURAL_BINS = 64
_TAIL = 1e-6  # mass of the tuned output outside the inner bins, a side and an end


def natural_edges(law: Repetitions) -> np.ndarray:
    """Edges of equally wide bins that hold nearly all of the released number's law."""
    grid = np.linspace(-10.0, 10.0, 20_001)
    found = []
    for side in SIDES:
        below = natural_law(law, grid, side, below=True)
        kept = (below > _TAIL) & (below < below[-1] - _TAIL)
        found.append(grid[kept][[0, -1]])
    low, high = np.min(found), np.max(found)
    return np.linspace(low, high, _NATURAL_BINS - 1)


def planned_rankings(law: Repetitions) -> list[Ranking]:
    """One ranking for each of TARGETS, with an exact delta just below it."""
    found = worst_rankings(law, _EPSILONS)
    chosen = [next((r for r in found if r.delta <= t), None) for t in TARGETS]
    kept = [each for each in chosen if each is not None]
    if len(kept) < len(TARGETS):
        raise InputError(
            f"no epsilon up to {_EPSILONS[-1]:g} has a delta of {TARGETS[-1]:g} for "
            f"{describe(law)} and noise multiplier {NOISE_MULTIPLIER:g}"
        )
    return kept


def _padded(laws: list[np.ndarray]) -> np.ndarray:
    """The same laws with impossible outcomes added, the worst, to equal numbers."""
    size = max(law.shape[-1] for law in laws)
    return np.array([np.pad(law, ((0, 0), (0, size - law.shape[-1]))) for law in laws])


def profile_tallies(
    laws: Sequence[Repetitions], *, trials: int, seed: int, progress: bool | None
) -> dict:
    """Tallies by law of K, ranking and side, and what the outcomes are.

    Args:
      laws: laws of K, those of one family together.
      trials, seed, progress: as for ``jaxsel.kernel.engine.simulate``.

    Returns:
      "epsilons" and "deltas" Float64["laws targets"], exact under the rankings;
      "run_laws" Float64["laws targets 2 outcomes"], of one run, best outcome first;
      "counts" Int64["laws targets 2 outcomes+1"], nothing released last;
      "natural_edges" Float64["laws edges"], "natural_counts" Int64["laws 2 edges+2"].
    """
    found = [each for law in laws for each in planned_rankings(law)]
    run_laws = _padded([ranked_laws(each.order) for each in found])
    run_laws = run_laws.reshape(len(laws), len(TARGETS), *run_laws.shape[1:])
    edges = np.stack([natural_edges(law) for law in laws])
    counts, natural = [], []
    numbered = groupby(range(len(laws)), lambda row: laws[row].family)
    for number, (family, rows) in enumerate(numbered):
        ranked, larger = [], []
        for row in rows:
            params = {"repetitions": laws[row]}
            ranked += [(law, params) for cell in run_laws[row] for law in cell]
            params = params | {"noise_scale": 1.0, "edges": edges[row]}
            larger += [(mean, params) for mean in SIDES]
        for offset, base, cells, kept in (
            (0, finite(), ranked, counts),
            (1, noised_score("gaussian"), larger, natural),
        ):
            tallies = simulate_grid(
                private_tuning(base, family),
                cells,
                trials=trials,
                seed=seed + 2 * number + offset,
                progress=progress,
            )
            kept.append(tallies.values)
    return {
        "epsilons": np.reshape([each.epsilon for each in found], run_laws.shape[:2]),
        "deltas": np.reshape([each.delta for each in found], run_laws.shape[:2]),
        "run_laws": run_laws,
        "counts": np.concatenate(counts).reshape(*run_laws.shape[:3], -1),
        "natural_edges": edges,
        "natural_counts": np.concatenate(natural).reshape(len(laws), 2, -1),
        "laws": [describe(law) for law in laws],
        "trials": trials,
    }


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies for a geometric number of runs of mean 30, 300 and 3000."""
    laws = [from_mean("truncated_negative_binomial", mean, eta=1.0) for mean in MEANS]
    found = profile_tallies(laws, trials=trials, seed=seed, progress=progress)
    return found | {"means": list(MEANS)}
