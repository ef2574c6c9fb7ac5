"""A sequential test of a privacy claim: it may stop at any time, and stops when the claim falls.

For an event E, and X, Y the outcomes of the t-th trials on the data and on the neighbour, a
claim of epsilon says E[1_E(X) / e^epsilon - 1_E(Y)] <= 0. A gambler who stakes a part
lambda in [0, 1) of the wealth on every trial therefore cannot expect to gain:

    W_t = prod (1 + lambda (1_E(X) / e^epsilon - 1_E(Y)))

has E[W_t] <= 1, so that P[sup W_t >= 1 / alpha] <= alpha (Ville 1939). The same holds for
the mean over events, both directions and stakes; the test stops when that mean is 1 / alpha.
Events are fixed after a few trials that are counted but not bet on.

References: Waudby-Smith & Ramdas 2020 (betting); Shafer 2021, Grunwald, de Heide & Koolen
  2024 and Ramdas et al. 2023 (arXiv 2106.02693: e-values); sequential audits: arXiv
  2509.07055 (a kernel test) and 2602.06518.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxsel.host.errors import InputError, check_interval

# Trials a side that only choose the events.
BURN_IN = 8
_BLOCK = 2048  # trials that are counted at once
_GROUP = 64  # of these, whose wealth is computed trial by trial where it may be large enough
# Thresholds, in standard deviations of what the burn-in saw.
_PLACES = np.linspace(-2.4, 2.4, 13)
# Parts of the wealth at stake: small ones for small excesses.
_STAKES = np.array([0.01, 0.03, 0.08, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.92, 0.97])


Outcomes = Sequence[Any] | np.ndarray


class Stopped(NamedTuple):
    """When and why a test stopped.

    Attributes:
      samples: trials on each side until then, the burn-in included.
      event: the event that gained most.
      likelier: the side on which it is likelier, "data" or "neighbour".
    """

    samples: int
    event: str
    likelier: str


class SequentialTest:
    """A test of a claim of epsilon that is fed with trials and may be read at any time."""

    def __init__(self, epsilon: float, alpha: float) -> None:
        """Begins without trials.

        Args:
          epsilon: the claim, >= 0.
          alpha: the largest probability that the test ever stops where the claim holds, in
            (0, 1).

        Raises:
          InputError: for numbers out of range.
        """
        self.epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
        self.alpha = check_interval("alpha", alpha, 0.0, 1.0)
        self.samples, self.log_wealth = 0, 0.0
        self.stopped: Stopped | None = None
        self._waiting: list[list] = [[], []]
        self._events: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = []
        self._counts = np.zeros((0, 2, 3))

    def feed(self, data: Outcomes, neighbour: Outcomes) -> bool:
        """Adds trials, as many of the neighbour as of the data; True if the test has stopped.

        Args:
          data: the outcomes of trials on the data: numbers, or labels (text, None, truth
            values and whole numbers).
          neighbour: as many on the neighbour, independent of them.

        Raises:
          InputError: if the numbers of trials differ.
        """
        if len(data) != len(neighbour):
            raise InputError(
                f"there are {len(data)} trials on the data and {len(neighbour)} on "
                "the neighbour; give as many of both"
            )
        sides = [np.asarray(data), np.asarray(neighbour)]
        for first in range(0, len(data), _BLOCK):
            if self.stopped is None:
                self._feed([side[first : first + _BLOCK] for side in sides])
        return self.stopped is not None

    def _feed(self, sides: list[np.ndarray]) -> None:
        if not self._events:
            sides = self._begin(sides)
        if not self._events or not len(sides[0]):
            return
        seen = [_labels(side) for side in sides]
        inside = np.stack([[holds(side) for side in seen] for _, holds in self._events])
        gains = self._gains(inside)
        starts = np.arange(0, len(sides[0]), _GROUP)
        groups = np.add.reduceat(gains, starts, axis=-1, dtype=float)
        ends = self._counts[..., None] + np.cumsum(groups, axis=-1)
        before = ends - groups
        # Nothing but a gain raises the wealth, and the mean is no larger than if all came first.
        most = before.copy()
        most[:, :, 0] = ends[:, :, 0]
        for group in np.flatnonzero(self._mean(most) >= -math.log(self.alpha)).tolist():
            first = int(starts[group])
            each = np.cumsum(gains[..., first : first + _GROUP], axis=-1, dtype=float)
            totals = before[..., group, None] + each
            every = self._mean(totals)
            above = np.flatnonzero(every >= -math.log(self.alpha))
            if above.size:
                last = int(above[0])
                self._stop(first + last + 1, totals[..., last])
                return
        self._move(len(sides[0]), ends[..., -1])

    def _move(self, trials: int, counts: np.ndarray) -> None:
        self.samples += trials
        self._counts, self.log_wealth = counts, float(self._mean(counts[..., None])[0])

    def _stop(self, trials: int, counts: np.ndarray) -> None:
        self._move(trials, counts)
        bet = int(np.argmax(self._log_wealth(counts[..., None])[:, 0])) // len(_STAKES)
        event, way = self._events[bet // 2][0], ("data", "neighbour")[bet % 2]
        self.stopped = Stopped(self.samples, event, way)

    def _begin(self, sides: list[np.ndarray]) -> list[np.ndarray]:
        """Collects the burn-in, chooses the events once it is whole, and returns what is left."""
        needed = BURN_IN - len(self._waiting[0])
        for kept, side in zip(self._waiting, sides, strict=True):
            kept.extend(side[:needed])
        self.samples += min(needed, len(sides[0]))
        if len(self._waiting[0]) == BURN_IN:
            self._events = _events(np.array(self._waiting[0] + self._waiting[1]))
            self._counts = np.zeros((len(self._events), 2, 3))
        return [side[needed:] for side in sides]

    def _gains(self, inside: np.ndarray) -> np.ndarray:
        """What happened: in the event on the first side alone, on the second alone, on both.

        Args:
          inside: Bool["events sides trials"].

        Returns:
          Bool["events directions 3 trials"]: for each direction, where it did.
        """
        x, y = inside[:, 0], inside[:, 1]
        both = x & y
        first, second = x & ~y, y & ~x
        return np.stack([np.stack([first, second, both], 1), np.stack([second, first, both], 1)], 1)

    def _mean(self, totals: np.ndarray) -> np.ndarray:
        """log of the mean wealth, Float["trials"]; ``totals`` as of ``_log_wealth``."""
        wealth = self._log_wealth(totals)
        return np.asarray(special.logsumexp(wealth, axis=0)) - math.log(len(wealth))

    def _log_wealth(self, totals: np.ndarray) -> np.ndarray:
        """log of the wealth of every bet, Float["events * directions * stakes, trials"]."""
        win = math.exp(-self.epsilon)
        logs = np.log1p(np.outer(_STAKES, [win, -1.0, win - 1.0]))  # [stakes, 3]
        found = np.einsum("sk,edkt->edst", logs, totals)
        return found.reshape(-1, totals.shape[-1])


def _labels(side: np.ndarray) -> np.ndarray:
    """Real numbers as they are, and all else as text."""
    return side if side.dtype.kind == "f" else side.astype(str)


def _events(seen: np.ndarray) -> list[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
    """Both sides of thresholds for real numbers; for labels each one that was seen."""
    if seen.dtype.kind == "f":
        finite = seen[np.isfinite(seen)]
        middle = np.median(finite) if finite.size else 0.0
        spread = np.std(finite) if finite.size and np.std(finite) > 0.0 else 1.0
        found: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = []
        for level in (middle + spread * _PLACES).tolist():
            found.append((f"value <= {level:.4g}", lambda side, at=level: side <= at))
            found.append((f"value > {level:.4g}", lambda side, at=level: side > at))
        return found
    words = list(dict.fromkeys(str(one) for one in seen))
    labels = [(f"the outcome is {word}", lambda side, word=word: side == word) for word in words]
    others = [
        (f"the outcome is not {word}", lambda side, word=word: side != word) for word in words
    ]
    return labels + (others if len(words) > 2 else [])
