"""The coin game of Cohen et al. 2022, Algorithm 2, until the first 1, on both sides.

Two series: randomised response coins, the favoured side's 1 being the likelier (the
largest favoured divergence), at EPSILON; and numbers of small coins, p = BIAS against
p e^-epsilon at REVERSE_EPSILON, whose reverse divergence grows. One trial is one game.
"""

import math

import numpy as np
from scipy import special

from jaxsel.families.selection_and_test.coin_game import coin_game
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.domains import positive, probability

TRIALS = 1_000_000
EPSILON = 0.5
COINS = 12  # after which a game of randomised response is nearly certain to be over
REVERSE_EPSILON = 0.5
BIAS = 0.05
SETTABLE = {
    "EPSILON": positive("of the favoured direction"),
    "REVERSE_EPSILON": positive("of the small coins"),
    "BIAS": probability("that a small coin shows 1"),
}
NUMBERS = (1, 3, 10, 20, 40, 60, 80, 100, 120, 140)


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Tallies of where the game ended.

    Returns:
      "response" Int64["2 coins+1"], P then Q, "not over" last; "small"
      Int64["numbers 2 2"]: games over, and not over, after each number of small coins.
    """
    share = float(special.expit(EPSILON))
    response = simulate_grid(
        coin_game(),
        [(np.full(COINS, p), {"ones": 1}) for p in (share, 1.0 - share)],
        trials=trials,
        seed=seed,
        progress=progress,
    )
    # One game of the most coins says how all shorter ones would have ended.
    small = simulate_grid(
        coin_game(),
        [
            (np.full(NUMBERS[-1], p), {"ones": 1})
            for p in (BIAS, BIAS * math.exp(-REVERSE_EPSILON))
        ],
        trials=trials,
        seed=seed + 1,
        progress=progress,
    )
    over = np.cumsum(small.values, axis=1)[:, np.array(NUMBERS) - 1]
    return {
        "response": response.values,
        "small": np.stack([over, trials - over], axis=-1).swapaxes(0, 1),
        "trials": trials,
        "epsilon": EPSILON,
        "reverse_epsilon": REVERSE_EPSILON,
        "bias": BIAS,
        "numbers": list(NUMBERS),
    }
