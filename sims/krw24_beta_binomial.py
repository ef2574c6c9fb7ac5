"""What the selection of Cohen et al. 2022 loses: the best of K runs, K beta-binomial.

Up to tau runs are made, each with probability p; p = U^(1/gamma) is drawn once. Two
bases:

  gaussian: N(0, 1) on the data and N(1/4, 1) on the neighbour, ranked in the order
    found worst at some epsilons (see ``sims.common.line_rankings``);
  pure: three outcomes of an epsilon-DP run, epsilon = 1. The best is e^epsilon times
    likelier on the neighbour, the next on the data; that costs most if the latter is
    rare, but then it is rarely seen. The laws are those of the audit that should be
    best.

One trial is one execution of the tuned algorithm.
"""

import math

import numpy as np

from jaxsel.repetitions import Repetitions, beta_binomial
from sims.common.line_rankings import CELLS
from sims.krw24_profile import BASES, planned, tallies

TRIALS = 2_000_000
GAMMAS = (0.5, 1.0, 2.0)
COUNTS = (3, 30, 300, 3000)  # tau
PURE = 1.0  # epsilon of the pure base

_TARGETS = (0.01, 0.001)  # deltas at which rankings are sought
_SPREAD = 4.0  # standard deviations that the planned audit allows for


def three_outcomes(best: float, share: float) -> np.ndarray:
    """Laws of one PURE-DP run: Float64["2 3"], best outcome first.

    Args:
      best: mass of the best outcome on the data, at most 1/(1 + e^epsilon).
      share: mass of the next on the neighbour, less than 1/(1 + e^epsilon) and at
        most 1 - e^epsilon best.
    """
    odds = math.exp(PURE)
    first, second = (best, share * odds), (best * odds, share)
    return np.array([[*side, max(0.0, 1.0 - sum(side))] for side in (first, second)])


def _planned_outcomes(law: Repetitions, trials: int) -> np.ndarray:
    """Three outcomes whose rarer tallies should still tell the sides apart best."""
    odds = math.exp(PURE)
    best = np.geomspace(1e-5, 0.999 / (1.0 + odds), 240)[:, None]
    share = best * np.geomspace(1e-4, 0.3, 60)
    seen, other = (
        law.pgf_gap(np.minimum(low + mass, 1.0)) - law.pgf_gap(low)
        for low, mass in ((best, share * odds), (odds * best, share))
    )
    spread = _SPREAD / np.sqrt(trials)
    low = np.maximum(seen - spread * np.sqrt(seen), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(low) - np.log(other + spread * np.sqrt(other))
    loss = np.where(odds * best + share < 1.0, loss, -np.inf)
    row, column = np.unravel_index(np.argmax(loss), loss.shape)
    return three_outcomes(float(best[row, 0]), float(share[row, column]))


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies by law of K (gamma, then tau), ranking or outcomes, and side.

    Returns:
      "run_laws" Float64["gammas counts rankings+1 2 cells"], of one run, best cell
      first: rankings of the Gaussian base, and last the pure base's outcomes with
      impossible ones added; "tallies" Int64["gammas counts rankings+1 2 cells+1"],
      nothing released last.
    """
    found, cells = [], []
    for gamma in GAMMAS:
        for count in COUNTS:
            law = beta_binomial(count, gamma)
            laws = [r.run_laws for r in planned(BASES["gaussian"], law, _TARGETS)[1:]]
            pure = np.zeros((2, CELLS))
            pure[:, :3] = _planned_outcomes(law, trials)
            laws.append(pure)
            found.append(laws)
            cells += [(side, law) for each in laws for side in each]
    counts = tallies(cells, trials=trials, seed=seed, progress=progress)
    run_laws = np.array(found).reshape(len(GAMMAS), len(COUNTS), -1, 2, CELLS)
    return {
        "run_laws": run_laws,
        "tallies": counts.reshape(*run_laws.shape[:-1], CELLS + 1),
        "gammas": list(GAMMAS),
        "counts": list(COUNTS),
        "epsilon": PURE,
        "trials": trials,
    }
