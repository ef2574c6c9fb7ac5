"""What many events show together: a band of the privacy profile and of the trade-off.

An event with probabilities p on the data and q on the neighbour shows delta(epsilon) >=
p - e^epsilon q, a test with error rates q and 1 - p, and, by its complement, the same for the
other direction. Limits of p and q for all events at once are therefore a band: its lower end
bounds the whole curve from below, and its upper end is what these events may show at most.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.special

from jaxsel.auditing.functions.events import Claim, Event, counts_of, halved, learn
from jaxsel.auditing.functions.outcomes import Table
from jaxsel.host.intervals import clopper_pearson_lower, clopper_pearson_upper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 32  # events of a curve; each shares the error
# Of the claim: epsilons at which events are learned, from the common ones to the rare ones.
_LEARNED_AT = (0.0, 0.25, 0.5, 1.0, 2.0)

_DRAWN = 300  # points of a picture


class AuditCurve(NamedTuple):
    """Limits of the probabilities of events on both sides, which hold together.

    Attributes:
      events: the outcomes of each, in words, all likelier on the data.
      data, neighbour: for each event a lower and an upper limit of its probability.
      false_alarm: the largest probability that any of the limits is wrong.
    """

    events: tuple[str, ...]
    data: tuple[tuple[float, float], ...]
    neighbour: tuple[tuple[float, float], ...]
    false_alarm: float

    def _points(self, upper: bool) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of events and of their complements where they are likelier, and not.

        Args:
          upper: whether the ends of the limits are those that show most.
        """
        (p_low, p_high), (q_low, q_high) = (
            np.array(side).reshape(-1, 2).T for side in (self.data, self.neighbour)
        )
        if upper:
            return np.append(p_high, 1.0 - q_low), np.append(q_low, 1.0 - p_high)
        return np.append(p_low, 1.0 - q_high), np.append(q_high, 1.0 - p_low)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """A lower bound on delta at an epsilon, and the most that these events may show."""
        found = []
        for upper in (False, True):
            p, q = self._points(upper)
            # No factor, which is infinite beyond an epsilon of 709, times no probability is 0.
            with np.errstate(over="ignore", invalid="ignore"):
                other = np.where(q > 0.0, np.exp(epsilon) * q, 0.0)
            found.append(max(0.0, float(np.max(p - other, initial=0.0))))
        return found[0], found[1]

    def epsilon(self, delta: float) -> tuple[float, float]:
        """A lower bound on epsilon at a delta, and the most that these events may show."""
        found = []
        for upper in (False, True):
            p, q = self._points(upper)
            with np.errstate(divide="ignore", invalid="ignore"):
                losses = np.log(np.maximum(p - delta, 0.0)) - np.log(q)
            found.append(max(0.0, float(np.nanmax(losses, initial=0.0))))
        return found[0], found[1]

    @property
    def mu(self) -> float:
        """A lower bound on mu of Gaussian differential privacy."""
        p, q = self._points(False)
        shown = scipy.special.ndtri(p) - scipy.special.ndtri(q)
        return max(0.0, float(np.nanmax(shown, initial=0.0)))

    def tradeoff(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Limits for the smallest type II error at type I errors: shown at least, and at most.

        Args:
          alpha: Float["..."], type I errors of tests that tell one input from the other.

        Returns:
          The least error that these events may show, and an upper bound on the trade-off
          function, which is above the truth but for ``false_alarm``.
        """
        ends = []
        for upper in (True, False):
            p, q = self._points(upper)
            hull = _lower_hull(np.append(q, [0.0, 1.0]), np.append(1.0 - p, [1.0, 0.0]))
            ends.append(np.interp(alpha, *hull))
        return ends[0], ends[1]

    def rows(self, epsilon: float) -> list[list[str]]:
        """What the band says up to an epsilon, in words."""
        if not self.events:
            return [["curve", "no event tells the inputs apart"]]
        found = [
            (f"delta at epsilon {at:.3g}", self.delta(at)) for at in (0.0, epsilon / 2.0, epsilon)
        ]
        said = [
            [name, f"at least {low:.4g}; these events show at most {high:.4g}"]
            for name, (low, high) in found
        ]
        said.append(["mu of Gaussian privacy", f"at least {self.mu:.4g}"])
        return [*said, ["events of the curve", str(len(self.events))]]

    def plot(self) -> "Figure":
        """Plots the bands of the profile and of the trade-off."""
        from jaxsel.pictures.tallied import draw_curve

        epsilons = np.linspace(0.0, max(1.2 * self.epsilon(0.0)[0], 0.5), _DRAWN)
        alphas = np.linspace(0.0, 1.0, _DRAWN)
        profile = [epsilons, *np.array([self.delta(float(one)) for one in epsilons]).T]
        return draw_curve(np.array(profile), np.array([alphas, *self.tradeoff(alphas)]), self.mu)


def _lower_hull(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower convex hull of points, from left to right."""
    kept: list[tuple[float, float]] = []
    for a, b in sorted(zip(x.tolist(), y.tolist(), strict=True)):
        while len(kept) > 1 and _turns_up(kept[-2], kept[-1], (a, b)):
            kept.pop()
        if not kept or a > kept[-1][0]:
            kept.append((a, b))
    return np.array(kept).T[0], np.array(kept).T[1]


def _turns_up(one: tuple, two: tuple, three: tuple) -> bool:
    """Whether the second of three points lies on or above the line of the others."""
    return (two[1] - one[1]) * (three[0] - one[0]) >= (three[1] - one[1]) * (two[0] - one[0])


def curve_events(tables: tuple[Table, Table], epsilon: float) -> list[Event]:
    """Events that together show most of a curve, each turned so that it is likelier on the data.

    Args:
      tables: trials on the data and on the neighbour: one half of them proposes events, the
        other ranks them.
      epsilon: about where the curve is looked at.
    """
    learned_on, ranked_on = halved(tables)
    proposed: dict[str, Event] = {}
    for share in _LEARNED_AT:
        for event in learn(learned_on, Claim(share * epsilon)):
            proposed.setdefault(event.words, event)
    every = list(proposed.values())
    if not every:
        return []
    p, q = (counts_of(every, side) / max(len(side), 1) for side in ranked_on)
    turned = [e if a >= b else e.complement() for e, a, b in zip(every, p, q, strict=True)]
    p, q = np.where(p >= q, p, 1.0 - p), np.where(p >= q, q, 1.0 - q)
    hull = set(zip(*_lower_hull(np.append(q, [0, 1]), np.append(1.0 - p, [1, 0])), strict=True))
    best = [
        place
        for place, point in enumerate(zip(q, 1.0 - p, strict=True))
        if point in hull and point not in ((0.0, 1.0), (1.0, 0.0))
    ]
    unique = list({(q[place], p[place]): place for place in best}.values())
    if len(unique) > _MOST:
        unique = [unique[i] for i in np.linspace(0, len(unique) - 1, _MOST).round().astype(int)]
    return [turned[place] for place in unique]


def audit_curve(
    events: Sequence[Event],
    counts: Sequence[np.ndarray],
    trials: Sequence[np.ndarray],
    error: float,
) -> AuditCurve:
    """Limits for all events on fresh trials.

    Args:
      events: of ``curve_events``.
      counts: Int["events calls"] on the data, and on the neighbour.
      trials: Int["calls"] of both.
      error: the largest probability that any limit is wrong.
    """
    if not events:
        return AuditCurve((), (), (), error)
    each = error / (4 * len(events))
    sides = []
    for by_call, sizes in zip(counts, trials, strict=True):
        k, n = by_call.sum(axis=1), sizes.sum()
        low, high = (
            limit(k, n, error=each).tolist()
            for limit in (clopper_pearson_lower, clopper_pearson_upper)
        )
        sides.append(tuple(zip(low, high, strict=True)))
    return AuditCurve(tuple(event.words for event in events), sides[0], sides[1], error)
