"""What the best of K runs loses, for six laws of K and three bases on the real line.

One run releases a number, on the data from the first law of a pair and on the neighbour
from the second:

  gaussian: N(0, 1) and N(1/4, 1), the Gaussian mechanism with noise multiplier 4;
  laplace: Laplace(1) around 0 and around 1/4, the Laplace mechanism with epsilon 1/4;
  dp-sgd: one step of DP-SGD, 0.9 N(0, 1) + 0.1 N(1, 1) and N(0, 1).

Runs are ranked by the number itself (larger is better) or, at some epsilons, in the
order found worst for the privacy of the best of K (``sims.common.line_rankings``). What is
told apart is only which of 300 intervals the released number lies in, which is
post-processing. One trial is one execution of the tuned algorithm.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.score_pairs import (
    ScorePair,
    gaussian_pair,
    laplace_pair,
    subsampled_gaussian_pair,
)
from jaxsel.families.tuning.bases import finite
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language import domains
from jaxsel.repetitions import Repetitions, parse
from sims.common.line_rankings import CELLS, Ranking, natural_ranking, worst_rankings
from sims.common.worst_rankings import NOISE_MULTIPLIER

TRIALS = 1_500_000


class LineBase(NamedTuple):
    """One base.

    Attributes:
      pair: what one run releases on either side.
      directions: of the divergence that differ (see ``sims.common.line_rankings``).
      largest: the largest epsilon at which a ranking is sought.
    """

    pair: ScorePair
    directions: tuple[int, ...]
    largest: float


LAPLACE_SCALE = 4.0
STEP_NOISE, SAMPLING_RATE = 1.0, 0.1
SETTABLE = {
    "LAPLACE_SCALE": domains.number("of the Laplace mechanism", at_least=1.0),
    "STEP_NOISE": domains.number(
        "noise multiplier of the step of DP-SGD", at_least=0.5
    ),
    "SAMPLING_RATE": domains.probability("of the step of DP-SGD"),
}
BASES: dict[str, LineBase] = {
    "gaussian": LineBase(gaussian_pair(NOISE_MULTIPLIER), (0,), 2.0),
    "laplace": LineBase(laplace_pair(LAPLACE_SCALE), (0,), 1.6),
    "dp-sgd": LineBase(
        subsampled_gaussian_pair(STEP_NOISE, SAMPLING_RATE), (0, 1), 2.4
    ),
}
LAWS = (
    "geometric:mean=10",
    "geometric:mean=300",
    "logarithmic:mean=10",
    "poisson:mean=10",
    "binomial:count=20,probability=0.5",
    "beta_binomial:count=20,gamma=1",
)
TARGETS = (0.1, 0.03, 0.01, 0.003, 0.001)  # deltas that so many trials can see

_POINTS = 41


def planned(
    base: LineBase, law: Repetitions, targets: Sequence[float] = TARGETS
) -> list[Ranking]:
    """The natural ranking, then a worst one for each target.

    That is the one sought at the epsilon of a grid where the worst delta comes nearest
    to the target.
    """
    levels = np.linspace(0.0, base.largest, _POINTS)
    found = worst_rankings(base.pair, law, levels, base.directions)
    deltas = np.array([each.delta for each in found]).reshape(-1, _POINTS)
    side, worst = np.argmax(deltas, axis=0), np.max(deltas, axis=0)
    chosen = [natural_ranking(base.pair, law)]
    for target in targets:
        place = int(np.argmin(np.abs(np.log(np.maximum(worst, 1e-300) / target))))
        chosen.append(found[side[place] * _POINTS + place])
    return chosen


def tallies(
    cells: list[tuple[np.ndarray, Repetitions]],
    *,
    trials: int,
    seed: int,
    progress: bool | None,
) -> np.ndarray:
    """Int64["cells outcomes+1"]: how often each place in a ranking was released.

    Args:
      cells: law of one run's place, best first, and law of K; the same length in all.
      trials, seed, progress: as for ``jaxsel.kernel.engine.simulate``.

    Returns:
      Tallies in the order given; nothing released last.
    """
    counts = np.zeros((len(cells), len(cells[0][0]) + 1), dtype=np.int64)
    families = sorted({law.family for _, law in cells})
    for number, family in enumerate(families):
        rows = [i for i, (_, law) in enumerate(cells) if law.family == family]
        counts[rows] = simulate_grid(
            private_tuning(finite(), family),
            [(cells[i][0], {"repetitions": cells[i][1]}) for i in rows],
            trials=trials,
            seed=seed + number,
            progress=progress,
        ).values
    return counts


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by base, law of K, ranking and side.

    Returns:
      "epsilons" Float64["bases laws rankings"], where the ranking was sought (NaN for
      the natural one, which is first); "run_laws" Float64["bases laws rankings 2
      cells"], of one run, best cell first; "counts" Int64["bases laws rankings 2
      cells+1"], nothing released last.
    """
    laws = [parse(text) for text in LAWS]
    plans = [[planned(base, law) for law in laws] for base in BASES.values()]
    run_laws = np.array([[[r.run_laws for r in row] for row in base] for base in plans])
    cells = [
        (side, law)
        for base in run_laws
        for law, rankings in zip(laws, base, strict=True)
        for ranking in rankings
        for side in ranking
    ]
    counts = tallies(cells, trials=trials, seed=seed, progress=progress)
    return {
        "epsilons": np.array([[[r.epsilon for r in row] for row in b] for b in plans]),
        "run_laws": run_laws,
        "counts": counts.reshape(*run_laws.shape[:-1], CELLS + 1),
        "bases": list(BASES),
        "laws": list(LAWS),
        "trials": trials,
    }
