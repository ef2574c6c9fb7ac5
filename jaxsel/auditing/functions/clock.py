"""What the time that is left allows an audit: draws, ranking, and an interrupt."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from jaxsel.auditing.functions.drawing import Draws

SEARCH = 0.5
"""Of the trials on each side, and of the time, the part that looks for pair and event; the rest,
and what the search leaves of its part, is the bound's."""
# Where time is limited, trials are ranked by growing numbers of them.
_RANKED_FIRST, _GROWTH = 2048, 4


class Clock:
    """What the time that is left allows.

    Attributes:
      end, searched: until when the audit, and its search, may go on.
      short: whether there was less time than trials.
    """

    def __init__(self, began: float, seconds: float | None) -> None:
        self.end = self.searched = math.inf if seconds is None else began + seconds
        self.short = self._interrupted = False

    @contextlib.contextmanager
    def interruptible(self, draws: Draws) -> Iterator[None]:
        """The first interrupt from the keyboard ends the time, the second one the process."""

        def hear(number: int, frame: Any) -> None:
            if self._interrupted:
                before(number, frame)
            self._interrupted = True
            self.end = self.searched = draws.until = time.monotonic()

        before: Any = signal.getsignal(signal.SIGINT)
        if not callable(before) or threading.current_thread() is not threading.main_thread():
            yield
            return
        signal.signal(signal.SIGINT, hear)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def ended_by(self, fewer: bool) -> str:
        """What ended an audit, of which there are fewer trials than were wanted or not."""
        if self._interrupted:
            return "an interrupt"
        return "time" if self.short or fewer else "trials"

    def search(self) -> None:
        """Gives the search its part of the time, now that it begins."""
        self.searched = self.part(SEARCH, self.end)

    def over(self, until: float) -> bool:
        """Whether it is later than that, or an interrupt has ended the time."""
        over = time.monotonic() > min(until, self.end)
        self.short = self.short or over
        return over

    def part(self, share: float, until: float) -> float:
        """The end of a share of the time that is left until then."""
        now = time.monotonic()
        return until if until == math.inf else now + share * max(until - now, 0.0)

    def let(self, draws: Draws, until: float) -> None:
        """Lets trials be drawn until then."""
        draws.until = until
        draws.until = min(until, self.end)  # an interrupt may have come in between

    def affordable(self, trials: int, price: float, until: float) -> int:
        """At most so many trials, as many as the time until then allows, and 2 at least.

        Args:
          trials: that are wanted.
          price: seconds of a trial on both sides.
          until: when they are to be made, and looked at.
        """
        if until == math.inf:
            return trials
        allowed = max(int(max(until - time.monotonic(), 0.0) / price), 2)
        return min(trials, allowed)

    def growing(
        self, find: Callable[[int], tuple[Any, bool]], rows: int, until: float
    ) -> tuple[Any, int]:
        """What is found on so many trials, or on as many as the time until then allows.

        Args:
          find: what is found on the first so many trials, and whether by looking at all pairs.
          rows: their number, if there is time.
          until: when it is to be found; it is asked before each larger number of trials.

        Returns:
          What was found, and on how many trials.
        """
        few = rows if until == math.inf else min(rows, _RANKED_FIRST)
        began, slope, seen = time.monotonic(), math.inf, few
        found, whole = find(few)
        took = time.monotonic() - began
        while few < rows:
            more = min(_GROWTH * few, rows)
            expected = min(took * more / few, took + slope * (more - few))
            if time.monotonic() + expected > min(until, self.end):
                self.short = True
                break
            began, before = time.monotonic(), took
            better, complete = find(more)
            took = time.monotonic() - began
            slope, few = max(took - before, 0.0) / (more - few), more
            if complete or not whole:
                found, whole, seen = better, complete, more
        return found, seen
