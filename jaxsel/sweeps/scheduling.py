"""Which call of the engine comes next, given what is still to be done and how fast it is.

Apart from the calling, so that it can be tried on any ranges, rates and kills.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Trials [first, last) that are still to be done under a number.

    Attributes:
      number: that addresses their randomness; a call can have each once.
      first, last: the range.
    """

    number: int
    first: int
    last: int


class Call(NamedTuple):
    """One call: the same trials [first, last) of some spans, by their positions."""

    positions: tuple[int, ...]
    first: int
    last: int


def next_call(spans: Sequence[Span], budget: int, most_spans: int, whole_blocks: int) -> Call:
    """The next call: several whole spans of one range, or the beginning of a long one.

    Every span of a call begins where the call begins, and the call goes beyond none.

    Args:
      spans: what is to be done, none empty, at least one; the first is begun.
      budget: how many trials are worth one call.
      most_spans: how many spans a call has at most.
      whole_blocks: a beginning ends on a multiple of this, so that no block of trials is
        computed twice.
    """
    begun = spans[0]
    length = begun.last - begun.first
    size = min(max(1, budget // length), most_spans)
    chosen: dict[int, int] = {}
    for position, span in enumerate(spans):
        if len(chosen) == size:
            break
        alike = (span.first, span.last) == (begun.first, begun.last)
        if alike and span.number not in chosen:
            chosen[span.number] = position
    last = begun.last
    step = max(budget, whole_blocks)
    if len(chosen) == 1 and length > 2 * step:
        last = (begun.first + step) // whole_blocks * whole_blocks
    return Call(tuple(chosen.values()), begun.first, last)
