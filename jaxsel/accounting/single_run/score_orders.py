"""Rankings of the real line: which of two outputs a tuned algorithm considers better.

The ranking is part of the algorithm that is tuned; a privacy bound that does not mention it
holds for every ranking. The rankings here take outcomes in turns from the two ends
of the line: from above, large z first, and from below, small z first.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from jaxsel.host.errors import InputError


class BlockOrder(NamedTuple):
    """A ranking of the reals: z > good, then z < bad from below, then the rest.

    Inside the first block and the rest, large z is better.

    Attributes:
      good, bad: in the units of z, bad <= good; infinities leave a block empty.
    """

    good: float
    bad: float


class MergedOrder(NamedTuple):
    """A ranking that merges the line from above with the line from below, in turns.

    First z > good[0], then z < bad[0], then z > good[1], then z < bad[1], and so on,
    without what was taken before; then the rest. What is taken from above has large z
    first, what is taken from below has small z first, and the rest has large z first.

    Attributes:
      good: non-increasing cuts.
      bad: as many non-decreasing cuts, the last at most good[-1].
      mirrored: whether the ranking applies to -z instead of z.
    """

    good: tuple[float, ...]
    bad: tuple[float, ...]
    mirrored: bool = False


INDEPENDENT: Final = "independent"  # the score is noise independent of z
Order = BlockOrder | MergedOrder | Literal["independent"]

NATURAL = BlockOrder(math.inf, -math.inf)  # large z is better
REVERSED = BlockOrder(math.inf, math.inf)  # small z is better


class Piece(NamedTuple):
    """An interval of outcomes that are ranked one after the other.

    Attributes:
      left, right: its ends.
      upward: whether large z is better inside it. Then all z above it are better as
        well; if not, all z below it are.
      taken: z < taken (z > taken if not upward) are also better than all of the interval.
    """

    left: float
    right: float
    upward: bool
    taken: float


def _check_cuts(good: Sequence[float], bad: Sequence[float]) -> None:
    if len(good) != len(bad):
        raise InputError(f"good has {len(good)} cuts and bad has {len(bad)}; they must be as many")
    for g, b in zip(good, bad, strict=True):
        if not b <= g:
            raise InputError(f"bad is {b:g}, good is {g:g}; bad must not exceed good")
    falls = all(later <= sooner for sooner, later in itertools.pairwise(good))
    rises = all(later >= sooner for sooner, later in itertools.pairwise(bad))
    if not (falls and rises):
        raise InputError("good must be non-increasing and bad non-decreasing")


def order_pieces(order: BlockOrder | MergedOrder) -> list[Piece]:
    """The intervals of a ranking, best first; of -z for a mirrored one.

    Raises:
      InputError: if the cuts overlap or are out of order.
    """
    if isinstance(order, BlockOrder):
        good, bad = (order.good,), (order.bad,)
    else:
        good, bad = tuple(order.good), tuple(order.bad)
    _check_cuts(good, bad)
    pieces, top, bottom = [], math.inf, -math.inf
    for g, b in zip(good, bad, strict=True):
        pieces.append(Piece(g, top, True, bottom))
        top = g
        pieces.append(Piece(bottom, b, False, top))
        bottom = b
    pieces.append(Piece(bottom, top, True, bottom))
    return [piece for piece in pieces if piece.left < piece.right]
