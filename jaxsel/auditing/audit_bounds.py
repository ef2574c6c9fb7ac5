"""Lower bounds on the privacy loss, from tallies on both sides of a neighbouring pair.

If a mechanism is (epsilon, delta)-DP then P(E) <= e^epsilon Q(E) + delta for its output
laws P and Q on two neighbours, in either order, and for every event E. Confidence
limits for P(E) and Q(E), or one for their ratio, therefore bound epsilon (or delta) from
below. The result is a lower bound at a stated confidence, not an estimate: the truth may be
much larger.

Many events are tested, so the error probability is either divided among all the
confidence limits (Bonferroni), or event, direction and the kind of limit are chosen on
separate tallies, and the bound has the whole error probability (sample splitting). The
caller picks one of the two beforehand: taking the better of both results would not be valid.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jaxsel.auditing.event_limits import (
    conditional_delta,
    conditional_epsilon,
    poisson_counts,
    two_limits,
)
from jaxsel.host.errors import InputError, check_choice, check_integer, check_interval
from jaxsel.host.intervals import check_tallies, clopper_pearson_lower, clopper_pearson_upper

_DIRECTIONS = ("data/neighbour", "neighbour/data")
_FAMILIES = ("singletons", "prefixes", "thresholds")

Events = str | Sequence[str] | np.ndarray
Tallies = tuple[np.ndarray, np.ndarray]
# The shares of the error probability, on the likelier side, of which two limits have one.
_SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
_DRAWS = 8  # of the one limit where it is random, before it is compared with two
_BITS = 53  # of entropy from the operating system: a whole number that JSON keeps everywhere


class _Loss(NamedTuple):
    """A privacy loss: epsilon at a delta, or delta at an epsilon.

    Attributes:
      value: ``(p, q) -> loss``, elementwise, p being the likelier side's probability.
      conditional: its limit on one event, ``(counts, rates, error, generator) -> loss``.
      draws: how many such limits are compared with two: one where no points stand for delta.
    """

    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    conditional: Callable[..., float]
    draws: int = _DRAWS


class AuditBound(NamedTuple):
    """A lower bound on epsilon or delta, and the event that gave it.

    Attributes:
      lower: the bound, >= 0; exceeds the truth with probability at most
        1 - confidence. 0 is trivial.
      event: indices of the outcomes that make up the event.
      direction: "data/neighbour" if the event is the likelier on the data,
        "neighbour/data" for the other order.
      confidence: of the bound, simultaneous over all events and both directions.
      method: "bonferroni" or "split".
      comparisons: one-sided confidence limits that share the error probability; 1 is the
        limit of a ratio, given both counts of a Poisson number of the trials.
      point_estimate: the same loss with observed frequencies in place of confidence
        limits. NOT a bound and not corrected for the choice of the event; may be
        infinite, or NaN if the event was never seen on either side.
      counts: (occurrences of the event, trials, the same two for the neighbour), from
        the tallies that gave the bound.
      entropy: what the bound's own randomness was made from, which gives this bound again;
        empty if it has none.
    """

    lower: float
    event: tuple[int, ...]
    direction: str
    confidence: float
    method: str
    comparisons: int
    point_estimate: float
    counts: tuple[int, int, int, int]
    entropy: tuple[int, ...] = ()


class _Family(NamedTuple):
    """A family of events, none the complement of another: their tallies and members."""

    size: int
    tally: Callable[[np.ndarray], np.ndarray]
    members: Callable[[int], np.ndarray]


def _checked(name: str, counts: ArrayLike, counts_neighbour: ArrayLike) -> Tallies:
    a = check_tallies(name, counts)
    b = check_tallies(f"{name} of the neighbour", counts_neighbour)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise InputError(
            f"{name} have shapes {a.shape} and {b.shape}; both sides need one tally for"
            " each of the same outcomes, at least two"
        )
    if a.sum() == 0 or b.sum() == 0:
        raise InputError(f"{name} sum to 0 on one side; each side needs a trial")
    return a, b


def _nested(order: np.ndarray, first: int, last: int) -> _Family:
    """The first ``first``, ..., ``last`` outcomes of ``order``."""
    return _Family(
        max(last - first + 1, 0),
        lambda counts: np.cumsum(counts[order])[first - 1 : last],
        lambda i: order[: first + i],
    )


def _matrix_family(matrix: np.ndarray, num_outcomes: int) -> _Family:
    if matrix.dtype != bool or matrix.ndim != 2 or matrix.shape[1] != num_outcomes:
        raise InputError(
            f"events of type {matrix.dtype} and shape {matrix.shape} are unknown;"
            f" allowed: names among {', '.join(_FAMILIES)}, or a boolean matrix with"
            f" one event a row and {num_outcomes} columns"
        )
    # Keeps one of each event and its complement; drops the empty and the sure event.
    rows = np.unique(matrix ^ matrix[:, :1], axis=0)
    rows = rows[rows.any(axis=1)]
    if rows.shape[0] == 0:
        raise InputError("events are all empty or certain; one at least must hold some outcomes")
    return _Family(rows.shape[0], lambda counts: rows @ counts, lambda i: np.flatnonzero(rows[i]))


def _families(events: Events, num_outcomes: int, selection: Tallies | None) -> list[_Family]:
    names = (events,) if isinstance(events, str) else events
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return [_matrix_family(np.asarray(names), num_outcomes)]
    if not names:
        raise InputError(f"events are empty; allowed: {', '.join(_FAMILIES)}")
    for name in names:
        check_choice("events", name, _FAMILIES)
    m = num_outcomes
    found = []
    if "singletons" in names:
        # Of two outcomes, each is the complement of the other.
        found.append(
            _Family(
                1 if m == 2 else m,
                lambda counts: counts[: 1 if m == 2 else m],
                lambda i: np.array([i]),
            )
        )
    if "prefixes" in names:
        # The first and the last are singletons and complements of singletons.
        skip = 1 if "singletons" in names else 0
        found.append(_nested(np.arange(m), 1 + skip, m - 1 - skip))
    if "thresholds" in names:
        if selection is None:
            raise InputError(
                "events 'thresholds' need selection tallies; they are chosen by the"
                " observed likelihood ratio"
            )
        a, b = selection
        ratio = (a + 0.5) / (a.sum() + 1.0) / ((b + 0.5) / (b.sum() + 1.0))
        found.append(_nested(np.argsort(-ratio, kind="stable"), 1, m - 1))
    return [family for family in found if family.size]


def _losses(k: np.ndarray, n: Sequence[float], error: float, loss: Callable) -> np.ndarray:
    """Bounds on the loss, [direction, complement or not, event].

    ``k`` is [side, event]. Limits for an event are also limits for its complement, so
    every event takes four limits: two sides, two ends.
    """
    trials = np.asarray(n)[:, None]
    both = np.stack([k, trials - k])  # [complement, side, event]
    low = clopper_pearson_lower(both, trials, error=error)
    high = clopper_pearson_upper(both, trials, error=error)
    return np.stack(
        [loss(low[:, 0], high[:, 1]), loss(low[:, 1], high[:, 0])]  # as _DIRECTIONS
    )


def _entropy(given: int | Sequence[int] | None) -> tuple[int, ...]:
    """What is given as whole numbers, or one number of the operating system."""
    if given is None:
        return (secrets.randbits(_BITS),)
    several = given if isinstance(given, Sequence) else (given,)
    if not len(several):
        raise InputError("entropy is empty; give a whole number, or None for a new one")
    return tuple(check_integer("entropy", one, 0) for one in several)


def _at_whole_error(
    loss: _Loss, used: np.ndarray, chosen: np.ndarray, error: float, entropy: tuple[int, ...]
) -> tuple[float, int]:
    """The limit of one event and direction, and how many confidence limits it takes.

    Args:
      loss: what is bounded.
      used: Int["side outside_or_inside"], the likelier side first, for the bound.
      chosen: the same of other trials, which decide between one limit and two.
      error: the largest probability that the limit exceeds the truth.
      entropy: independent of the tallies. These are added to it, so that two bounds from one
        entropy differ in their randomness as they do in their tallies.
    """
    generator = np.random.default_rng([*entropy, *(int(count) for count in used.flat)])
    trials = chosen.sum(axis=1)
    events = (chosen[0, 1], chosen[1, 1])
    found = [two_limits(events, trials, loss.value, error, share) for share in _SHARES]
    draws = [loss.conditional(events, trials, error, generator) for _ in range(loss.draws)]
    if max(found) > np.mean(draws):
        share = _SHARES[int(np.argmax(found))]
        return two_limits((used[0, 1], used[1, 1]), used.sum(axis=1), loss.value, error, share), 2
    counts, rates, rest = poisson_counts(used, error, generator)
    limit = loss.conditional(counts, rates, rest, generator)
    # Above what was observed a limit is the noise of the thinning; see ``event_epsilon``.
    return min(limit, float(loss.value(*(used[:, 1] / used.sum(axis=1))))), 1


def _audit(
    loss: _Loss,
    counts: ArrayLike,
    counts_neighbour: ArrayLike,
    confidence: float,
    events: Events,
    selection: tuple[ArrayLike, ArrayLike] | None,
    entropy: int | Sequence[int] | None,
) -> AuditBound:
    confidence = check_interval("confidence", confidence, 0.0, 1.0)
    tallies = _checked("counts", counts, counts_neighbour)
    num_outcomes = tallies[0].size
    chosen_on = tallies
    if selection is not None:
        if len(selection) != 2:
            raise InputError("selection must be a pair: tallies of data and neighbour")
        chosen_on = _checked("selection counts", *selection)
        if chosen_on[0].size != num_outcomes:
            raise InputError(
                f"selection has {chosen_on[0].size} outcomes and counts have"
                f" {num_outcomes}; they must tally the same outcomes"
            )
    families = _families(events, num_outcomes, None if selection is None else chosen_on)
    num_events = sum(family.size for family in families)
    comparisons = 4 * num_events
    error = (1.0 - confidence) / comparisons

    # Selection also uses confidence bounds, so that a rare event does not win by chance.
    k = np.concatenate([np.stack([f.tally(c) for c in chosen_on]) for f in families], 1)
    losses = _losses(k, [c.sum() for c in chosen_on], error, loss.value)
    side, complement, index = np.unravel_index(np.argmax(losses), losses.shape)
    lower = losses[side, complement, index]

    for family in families:
        if index < family.size:
            members = family.members(int(index))
            break
        index -= family.size
    inside = np.zeros(num_outcomes, dtype=bool)
    inside[members] = True
    inside ^= bool(complement)

    seen = [c[inside].sum() for c in tallies]
    trials = [c.sum() for c in tallies]
    order = [0, 1] if side == 0 else [1, 0]
    own: tuple[int, ...] = ()
    if selection is not None:
        own = _entropy(entropy)
        sides = [[[c[~inside].sum(), c[inside].sum()] for c in t] for t in (tallies, chosen_on)]
        used, chosen = np.array(sides)[:, order]
        lower, comparisons = _at_whole_error(loss, used, chosen, 1.0 - confidence, own)
    frequency = np.array(seen) / np.array(trials)
    estimate = loss.value(*frequency[order])
    return AuditBound(
        lower=max(0.0, float(lower)),
        event=tuple(int(i) for i in np.flatnonzero(inside)),
        direction=_DIRECTIONS[side],
        confidence=confidence,
        method="bonferroni" if selection is None else "split",
        comparisons=comparisons,
        point_estimate=float(estimate),
        counts=(int(seen[0]), int(trials[0]), int(seen[1]), int(trials[1])),
        entropy=own,
    )


def epsilon_lower_bound(
    counts: ArrayLike,
    counts_neighbour: ArrayLike,
    delta: float = 0.0,
    confidence: float = 0.95,
    events: Events = "singletons",
    selection: tuple[ArrayLike, ArrayLike] | None = None,
    entropy: int | Sequence[int] | None = None,
) -> AuditBound:
    """Lower bound on epsilon at a given delta, from tallies on two neighbours.

    The largest log((low(P(E)) - delta) / high(Q(E))) over the events and over both
    orders of the neighbours, with exact (Clopper-Pearson) limits; or, where an event is
    chosen on other tallies, one exact limit of the ratio (``event_limits``).

    Args:
      counts, counts_neighbour: tallies of the same outcomes, at least two. Every trial
        is tallied in exactly one outcome, so their sums are the numbers of trials,
        which may differ.
      delta: in [0, 1).
      confidence: of the bound, in (0, 1).
      events: "singletons" (each outcome), "prefixes" (the first 1, 2, ... outcomes, in
        the order given), "thresholds" (outcomes in order of the likelihood ratio seen
        in ``selection``, which it needs), several of these names, or a boolean matrix,
        one event a row, one outcome a column. Complements are included at no cost: a limit
          for an event is a limit for its complement. The choice must not depend on
        ``counts``.
      selection: tallies ``(data, neighbour)`` of other, independent trials. If given,
        event, order and kind of limit are chosen on them, and the bound uses ``counts``
        alone at the whole error probability (``method="split"``); if not, all limits of all
        events hold together (``method="bonferroni"``).
      entropy: whole numbers, at least 0, that the randomness of a bound with ``selection`` is
        made from: some of the trials are left out, so that their number is Poisson. They must
        be independent of the tallies: the seed of the simulation that made these, or the
        ``entropy`` of an earlier bound from the same tallies. By default the operating
        system is asked for one.

    Returns:
      AuditBound, with ``lower`` in natural-log units (epsilon as in e^epsilon).

    Raises:
      InputError: for bad tallies, NaN, or arguments out of range.

    References: Clopper & Pearson 1934; auditing with them: Ding, Wang, Wang, Zhang &
      Kifer 2018; Bichsel, Steffen, Bogunovic & Vechev 2021 (DP-Sniper).
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)

    def loss(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(p - delta, 0.0)) - np.log(q)

    def conditional(counts, rates, error, generator):
        return conditional_epsilon(counts, rates, delta, error, generator)

    both = _Loss(loss, conditional, _DRAWS if delta else 1)
    return _audit(both, counts, counts_neighbour, confidence, events, selection, entropy)


def delta_lower_bound(
    counts: ArrayLike,
    counts_neighbour: ArrayLike,
    epsilon: float,
    confidence: float = 0.95,
    events: Events | None = None,
    selection: tuple[ArrayLike, ArrayLike] | None = None,
    entropy: int | Sequence[int] | None = None,
) -> AuditBound:
    """Lower bound on delta at a given epsilon, from tallies on two neighbours.

    The largest low(P(E)) - e^epsilon high(Q(E)) over the events and over both orders of
    the neighbours. The exact delta is reached by E = {log(P/Q) > epsilon}.

    Args:
      counts, counts_neighbour, confidence, selection, entropy: as in
        ``epsilon_lower_bound``.
      epsilon: >= 0 and finite; 0 bounds the total variation distance.
      events: as in ``epsilon_lower_bound``; by default "thresholds" with selection
        tallies, and singletons and prefixes without.

    Returns:
      AuditBound, with ``lower`` in [0, 1].

    Raises:
      InputError: for bad tallies, NaN, or arguments out of range.
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    if events is None:
        events = ("singletons", "prefixes") if selection is None else "thresholds"

    def loss(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore"):
            return p - np.exp(epsilon + np.log(q))

    def conditional(counts, rates, error, generator):
        return conditional_delta(counts, rates, epsilon, error, generator)

    return _audit(
        _Loss(loss, conditional), counts, counts_neighbour, confidence, events, selection, entropy
    )
