"""Selecting the size of the set by noisy gaps (Zhu & Wang 2022, Algorithm 1).

This is report noisy max over the m - 1 gaps. Most gaps of a long histogram are equal: they are zero
in its tail. The largest of n equal gaps with noise is that gap plus the largest of n draws, whose
distribution function is F^n. So one draw per group of equal gaps, and one more for the winner
within its group, are enough for a million sizes.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int
from scipy import special

from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.laws import largest_gap_law
from jaxsel.families.top_k.release import rank_histogram
from jaxsel.families.top_k.scales import largest_gap_scale
from jaxsel.host.errors import InputError
from jaxsel.kernel import look_up, rows, stream
from jaxsel.kernel import noise as noises
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params, validated

_SMALLEST = 2.0**-65  # the least tail that the draws resolve
_WINNER_TAG = 0xB0
_MAX_LAW = 100_000  # sizes in an exact law by quadrature
_FEW = 64  # the least number of groups, if there are as many sizes


class Contest(NamedTuple):
    """Groups of equal levels, of which the one with the largest noisy level wins.

    Attributes:
      levels: Float["groups"], in units of the noise; -inf for groups that are padding.
      sizes: Float["groups"], how many set sizes have this level.
      starts: Int32["groups"], index of each group's first entry in ``members``.
      members: Int32["sizes"], set sizes minus 1, group by group.
    """

    levels: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray
    members: np.ndarray


@validated
def gap_levels(
    gaps: np.ndarray, regulariser: Any = None, max_size: parameters.MaxSize = None
) -> np.ndarray:
    """The levels, to which noise is added: gap plus regulariser, or -inf for sizes left out.

    Args:
      gaps: Float["sizes"], in votes, by size.
      regulariser: Float["sizes"]; -inf excludes a size. None for 0.
      max_size: the largest size that may be selected; None for all sizes.

    Returns:
      Float["sizes"], in votes.

    Raises:
      InputError: for a regulariser of another length, one that holds NaN or +inf, or
        one that excludes every size.
    """
    levels = np.array(gaps, dtype=np.float64)
    if regulariser is not None:
        added = np.asarray(regulariser, dtype=np.float64)
        if added.shape != levels.shape:
            raise InputError(f"the regulariser must hold one number a size, {levels.size} in all")
        if np.any(np.isnan(added) | (added == np.inf)):
            raise InputError("the regulariser must be finite, or -inf to exclude a size")
        levels = levels + added
    if max_size is not None:
        levels[max_size:] = -np.inf
    if not np.any(np.isfinite(levels)):
        raise InputError("the regulariser excludes every size")
    return levels


@validated
def gap_contest(
    levels: np.ndarray,
    scale: float,
    noise: str,
    method: parameters.GapMethod,
    dtype,
    groups: parameters.Padding = None,
) -> Contest:
    """The levels as the device takes them, in groups of equal ones (unless "literal").

    Args:
      levels: see ``gap_levels``.
      scale: of the noise, in votes.
      noise, method: as in ``largest_gap``.
      dtype: of the device's numbers.
      groups: number of groups to pad to, for cells of a grid that must have equal shapes;
        None for one per size if there are at most 64, else a power of two.

    Raises:
      InputError: if there are more groups than ``groups``.
    """
    units = (levels - levels.max()) / scale
    order = np.argsort(-units, kind="stable")
    order = order[np.isfinite(units[order])]
    ranked = units[order]
    if method == "literal":
        starts = np.arange(ranked.size)
    else:
        starts = np.flatnonzero(np.append(True, np.diff(ranked) != 0.0))
    sizes = np.diff(np.append(starts, ranked.size))
    if method == "grouped":
        # Levels so low that one of them wins with probability below 2**-66 need no draw.
        tails = np.cumsum((sizes * _overtakes(ranked[starts], noise))[::-1])[::-1]
        keep = int(np.sum(tails > _SMALLEST / 2.0))
        starts, sizes = starts[:keep], sizes[:keep]
    if groups is None:
        # Short histograms of equal length, such as neighbours, have equal shapes.
        slots = max(starts.size, min(levels.size, _FEW))
        groups = int(slots if slots == levels.size else 2 ** int(slots - 1).bit_length())
    padding = groups - starts.size
    if padding < 0:
        raise InputError(f"groups is {groups}; there are {starts.size} different levels")
    members = np.append(order, np.zeros(levels.size - order.size, dtype=np.int64))
    return Contest(
        np.append(ranked[starts], np.full(padding, -np.inf)).astype(dtype),
        np.append(sizes, np.ones(padding)).astype(dtype),
        np.append(starts, np.zeros(padding)).astype(np.int32),
        members.astype(np.int32),
    )


def _overtakes(units: np.ndarray, noise: str) -> np.ndarray:
    """The probability that a level at ``units`` <= 0 from another one is above it after noise."""
    if noise == "gaussian":
        return special.ndtr(units / math.sqrt(2.0))
    if noise == "gumbel":
        return special.expit(units)
    factor = 1.0 - units / 2.0 if noise == "laplace" else 1.0
    return 0.5 * factor * np.exp(units)


def _largest_of(number: noises.Ends, noise: str, size: Array) -> Array:
    """The largest of ``size`` draws of standard noise, from one random number."""
    if noise == "gumbel":
        return noises.gumbel(number) + jnp.log(size)
    # -log of the distribution function of the largest is exponential over the size.
    waiting = noises.exponential(number) / size
    below, above = jnp.exp(-waiting), -jnp.expm1(-waiting)
    upper = below > above
    nearer = jnp.where(upper, above, below)
    nearer = jnp.maximum(nearer, jnp.asarray(_SMALLEST, nearer.dtype))
    return noises.LAWS[noise](noises.Ends(upper, nearer))


def winner(key: stream.Key, contest: Contest, noise: str, precision: str) -> Int[Array, ""]:
    """The selected size minus 1.

    One noisy level is drawn for each group, and then the winner within the best group.

    Args:
      key: of the trial.
      contest: see ``gap_contest``.
      noise, precision: as in ``largest_gap``.
    """
    levels, sizes = jnp.asarray(contest.levels), jnp.asarray(contest.sizes)

    def noisy(group):
        number = noises.number(key, group, precision)
        return [levels[group] + _largest_of(number, noise, sizes[group])]

    best = rows.argmax(noisy, (levels.shape[0], 1), levels.dtype)
    share = noises.uniform(noises.number(stream.fold(key, _WINNER_TAG), 0, precision))
    size = look_up.pick(sizes, best)
    place = jnp.minimum(jnp.floor(share * size), size - 1).astype(jnp.int32)
    return look_up.pick(contest.members, look_up.pick(contest.starts, best) + place)


def selection_law(levels: np.ndarray, scale: float, noise: str) -> np.ndarray:
    """The exact law of the selected size: Float["sizes"].

    Args:
      levels: see ``gap_levels``.
      scale: of the noise, in votes.
      noise: "gumbel" (softmax), or another, by quadrature.

    Raises:
      InputError: for too many sizes with another noise than Gumbel's.
    """
    kept = np.isfinite(levels)
    if noise != "gumbel" and kept.sum() > _MAX_LAW:
        raise InputError(f"the exact law of {kept.sum()} sizes is too large; at most {_MAX_LAW}")
    law = np.zeros(levels.size)
    if noise == "gumbel":
        law[kept] = largest_gap_law(levels[kept], scale)
    else:
        law[kept] = noisy_max_law(levels[kept] / scale, noise)
    return law


@factory
def largest_gap(
    noise: parameters.Selection = "gumbel",
    *,
    method: parameters.GapMethod = "grouped",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    r"""Selects the size of a top-k set: the one whose gap plus noise is largest.

    Zhu & Wang 2022, Algorithm 1. Releases arg max_j q_j + r(j) + b Z_j over j = 1, ..., m - 1,
    where q_j is the gap behind the top j, r a regulariser and Z noise.

    Args:
      noise: law of Z: "gumbel" (Algorithm 1), "gaussian" (RNM-Gaussian, Corollary 9),
        "laplace" or "exponential".
      method: "grouped" makes one draw per group of equal gaps, "literal" one per gap; the law is
        the same.
      precision: of the draws: "tail" or "float64".

    Data: a histogram, see ``release.rank_histogram``.
    Params: ``{"epsilon": e}`` (b = 2/e) or ``{"noise_scale": b}``; optionally
      "regulariser", Float["m-1"], "max_size" (k-bar, for an unknown domain), "groups"
      (padding).
    Outcome: Int[Array, ""], the size, 1 to m - 1; event: the size minus 1.

    Formal guarantees (claims): ZW-Prop7-pure, -zCDP and -RDP for Gumbel noise, ZW-Thm8,
    ZW-Cor9.
    """
    dtype = np.float64 if precision == "float64" else np.float32
    own = ("epsilon", "noise_scale", "regulariser", "max_size", "groups")

    def checked(data, params):
        read_params(params, optional=dict.fromkeys(own))
        ranking = rank_histogram(data, 1)
        levels = gap_levels(ranking.gaps, params.get("regulariser"), params.get("max_size"))
        return levels, largest_gap_scale(params, noise)

    def prepare(data, params):
        levels, scale = checked(data, params)
        groups = params.get("groups")
        return gap_contest(levels, scale, noise, method, dtype, groups), ()

    def sample(key: stream.Key, data, params) -> Int[Array, ""]:
        del params
        return winner(key, data, noise, precision) + 1

    def labels(data, params) -> tuple[str, ...]:
        return tuple(f"size {j + 1}" for j in range(checked(data, params)[0].size))

    def law(data, params) -> FiniteLaw:
        levels, scale = checked(data, params)
        return FiniteLaw(selection_law(levels, scale, noise), labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=_size_event,
        labels=labels,
        law=law,
        resolution=noises.resolution(precision),
    )


def _size_event(outcome):
    return (outcome - 1).astype(jnp.int32)
