"""How many clusters, which rank: Liu & Talwar 2019, section 5.2, with private base runs.

One run takes a random size, runs private k-means (Lloyd on noisy counts and sums) or
private principal components (a noisy covariance matrix), and scores the result with
noise; it is epsilon_1-DP. Compared at equal total epsilon: Algorithm 2 at epsilon_1 =
epsilon/3, with ``MEAN_RUNS`` runs on average, and the best of as many runs as there are
sizes, which costs their sum. One trial is one choice; what is tallied is the chosen size
and, for measuring alone, the true loss of what was released with it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.score_selection.analysis_settings import (
    composed_epsilon,
    selected_epsilon,
)
from jaxsel.families.score_selection.private_analyses import (
    private_clusters,
    private_components,
)
from jaxsel.families.tuning.bases import Base
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import numbers, positive, whole

TRIALS = 400
TOTALS = (0.3, 1.0, 3.0, 10.0, 30.0)
SIZES = 6
MEAN_RUNS = 12
BINS = 100
# Runs of a block wait for its slowest trial.
_FEW = Performance(block_size=32)
CLUSTERS, RANK = 3, 2  # the truth
PRICE = 0.02  # of a cluster or a component, in the score
SETTABLE = {
    "TOTALS": numbers("total epsilons", above=0.0),
    "SIZES": whole("how many there are to choose from", at_least=3),
    "MEAN_RUNS": whole("of Algorithm 2, on average", at_least=1),
    "PRICE": positive("of a cluster or a component, in the score"),
}
ITERATIONS = 3


class Problem(NamedTuple):
    """One intermediate step with a size to choose.

    Attributes:
      name: for records and titles.
      base: what is run.
      points: Float[np.ndarray, "n d"].
      params: of the base, without its epsilon.
      truth: the right size.
    """

    name: str
    base: Base
    points: np.ndarray
    params: dict[str, Any]
    truth: int


def blobs() -> np.ndarray:
    """600 points in the square [-1, 1]^2, three round clusters."""
    generator = np.random.default_rng(2019)
    centres = np.array([[-0.6, -0.5], [0.6, -0.5], [0.0, 0.6]])
    points = centres[np.arange(600) % CLUSTERS] + generator.normal(0.0, 0.1, (600, 2))
    return np.clip(points, -1.0, 1.0)


def flat() -> np.ndarray:
    """1,000 points of length at most 1 near a plane in six dimensions."""
    generator = np.random.default_rng(52)
    axes = np.linalg.qr(generator.normal(size=(6, 6)))[0]
    spread = np.array([0.55, 0.45, 0.06, 0.06, 0.06, 0.06])
    points = generator.normal(size=(1000, 6)) * spread @ axes.T
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))


def problems() -> tuple[Problem, ...]:
    """Both steps, at the same price and number of sizes."""
    common = {"sizes": SIZES, "price": PRICE, "bins": BINS}
    return (
        Problem("clusters", private_clusters(), blobs(),
                common | {"iterations": ITERATIONS}, CLUSTERS),
        Problem("components", private_components(), flat(), common, RANK),
    )  # fmt: skip


class Chooser(NamedTuple):
    """One way to choose.

    Attributes:
      name: for records and legends.
      mechanism: base -> what runs.
      run_epsilon: total epsilon -> epsilon_1 of one run.
      repetitions: the law of the number of runs.
    """

    name: str
    mechanism: Callable[[Base], Mechanism]
    run_epsilon: Callable[[float], float]
    repetitions: laws.Repetitions


CHOOSERS = (
    Chooser(
        "algorithm-2",
        lambda base: private_tuning(base, method="literal"),
        lambda total: total / selected_epsilon(1.0),
        laws.geometric(1.0 / MEAN_RUNS),
    ),
    Chooser(
        "composition",
        lambda base: private_tuning(base, "point_mass", method="literal"),
        lambda total: total / composed_epsilon(1.0, SIZES),
        laws.point_mass(SIZES),
    ),
)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies, Int64["choosers totals sizes bins"] of each problem."""
    found: dict[str, Any] = {}
    for number, problem in enumerate(problems()):
        rows = []
        for place, chooser in enumerate(CHOOSERS):
            cells = [
                (problem.points, problem.params | {
                    "run_epsilon": chooser.run_epsilon(total),
                    "repetitions": chooser.repetitions,
                })
                for total in TOTALS
            ]  # fmt: skip
            tallies = simulate_grid(
                chooser.mechanism(problem.base), cells, trials=trials,
                seed=seed + 10 * number + place, progress=progress,
                performance=_FEW,
            )  # fmt: skip
            counts = np.asarray(tallies.values)[:, : SIZES * BINS]
            rows.append(counts.reshape(len(TOTALS), SIZES, BINS))
        found[problem.name] = np.stack(rows)
    return found | {"trials": trials, "totals": list(TOTALS)}
