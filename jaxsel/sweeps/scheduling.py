"""Chooses the next call of the engine, given the remaining trials and the rate.

Separate from the calls themselves, so that tests can try any ranges, rates and kills.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Remaining trials [first, last) of one random stream.

    Attributes:
      number: of the random stream; each number occurs at most once in a call.
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
    """The next call: several whole spans with one range, or the beginning of a long span.

    All spans of a call begin at its first trial, and none ends before its last one.

    Args:
      spans: the remaining trials, at least one span, none empty; the call includes the
        first.
      budget: the number of trials of one call.
      most_spans: the largest number of spans of a call.
      whole_blocks: the beginning of a span ends on a multiple of this, so that no block of
        trials is computed twice.
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
