"""Input and output of top-k mechanisms: a ranked histogram, and a released set.

Candidates are sorted once, on the host. On the device a candidate is its rank in descending order
of counts; ties go to the lower index.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.laws import (
    MAX_CANDIDATES,
    check_histogram,
    check_top_k,
    descending,
    set_labels,
)
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise as noises
from jaxsel.language.base import FiniteLaw, Mechanism
from jaxsel.language.domains import whole
from jaxsel.language.signature import validated


class Release(NamedTuple):
    """The release of one trial.

    Attributes:
      size: Int[Array, ""], size of the set, also if it was not released.
      passed: Bool[Array, ""], whether a set was released.
      hits: Int[Array, ""], wanted candidates in the released set; not released.
      event: Int[Array, ""], what is tallied by default, see ``parameters.Events``.
    """

    size: Int[Array, ""]
    passed: Bool[Array, ""]
    hits: Int[Array, ""]
    event: Int[Array, ""]


def event_of(outcome) -> Array:
    """The event tallied by default."""
    return outcome.event


class Ranking(NamedTuple):
    """A histogram in descending order.

    Attributes:
      counts: Float[np.ndarray, "candidates"], float64, descending.
      order: Int[np.ndarray, "candidates"], the candidate at each rank.
      wanted: Bool[np.ndarray, "candidates"], by rank: those that count as hits.
      k: size of the set wanted.
    """

    counts: np.ndarray
    order: np.ndarray
    wanted: np.ndarray
    k: int

    @property
    def gaps(self) -> np.ndarray:
        """The gaps q_1, ..., q_(m-1), in votes: each count minus the next."""
        return self.counts[:-1] - self.counts[1:]

    @property
    def histogram(self) -> np.ndarray:
        """The counts in the order of the data."""
        found = np.empty_like(self.counts)
        found[self.order] = self.counts
        return found


def _read(data: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """The counts, the candidates in descending order, and "wanted" or None."""
    if not isinstance(data, Mapping):
        counts = check_histogram(data)
        return counts, descending(counts), None
    keys = set(data) - {"wanted"}
    if keys == {"histogram"}:
        counts = check_histogram(data["histogram"])
        return counts, descending(counts), data.get("wanted")
    if keys == {"head", "candidates"}:
        head = check_finite("head", data["head"])
        total = whole(at_least=2).read("candidates", data["candidates"])
        if head.ndim != 1 or head.size > total:
            raise InputError(f"head must be one list of at most candidates = {total} counts")
        if np.any(np.diff(head) > 0.0):
            raise InputError("head is not sorted; it must be in descending order")
        counts = check_histogram(np.append(head, np.zeros(total - head.size)))
        return counts, np.arange(total), data.get("wanted")
    raise InputError(
        'data must be a histogram, {"histogram": ...} or {"head": ..., "candidates": '
        '...}, with "wanted" if need be'
    )


def rank_histogram(data: Any, k: Any) -> Ranking:
    """A histogram in descending order of its counts, and which candidates are wanted.

    Args:
      data: counts >= 0, one per candidate; or a dict with "histogram", or with "head" (the
        largest counts in descending order) and "candidates" (their total number, the others
        having no votes); and "wanted", Bool["candidates"], if hits are
        to be counted among others than the true top k.
      k: size of the set wanted, below the number of candidates; None for the size with the
        largest gap.

    Raises:
      InputError: for data of another form, or a k that is too large.
    """
    counts, order, wanted = _read(data)
    ranked = counts[order]
    if k is None:
        size = int(np.argmax(ranked[:-1] - ranked[1:])) + 1
    else:
        size = check_top_k(k, counts.size)
    if wanted is None:
        mask = np.arange(counts.size) < size
    else:
        mask = np.asarray(wanted)
        if mask.shape != counts.shape or mask.dtype != bool:
            raise InputError("wanted must be True or False for each candidate")
        mask = mask[order]
    return Ranking(ranked, order, mask, size)


# --- Events ---------------------------------------------------------------------------


def _check_small(ranking: Ranking) -> None:
    """Raises InputError for a histogram too large for events that are sets."""
    if ranking.counts.size > MAX_CANDIDATES:
        raise InputError(
            f'events "sets" are for at most {MAX_CANDIDATES} candidates, not '
            f'{ranking.counts.size}; take events "hits"'
        )


@validated
def mask_codes(ranking: Ranking, events: parameters.Events) -> np.ndarray:
    """The bit of the candidate at each rank, or 0 for events "hits": Int32["candidates"]."""
    if events == "hits":
        return np.zeros(ranking.counts.size, dtype=np.int32)
    _check_small(ranking)
    return (1 << ranking.order).astype(np.int32)


def hit_labels(ranking: Ranking, most: int) -> tuple[str, ...]:
    """The label of each number of hits from 0 to ``most``."""
    wanted = int(ranking.wanted.sum())
    return tuple(f"{hits} of {wanted} found" for hits in range(most + 1))


def outcome(size, passed, hits, code, kept_back_code, events: str) -> Release:
    """The release of one trial from its parts.

    Args:
      size: of the set.
      passed: whether the set is released.
      hits: wanted candidates in the set.
      code, kept_back_code: the event for events "sets": the bit mask of the set if it is
        released, and the number that stands for "nothing" if it is not.
      events: "hits" or "sets".
    """
    size = jnp.asarray(size, jnp.int32)
    passed = jnp.asarray(passed, bool)
    hits = jnp.where(passed, hits, 0).astype(jnp.int32)
    event = hits
    if events == "sets":
        event = jnp.where(passed, code, kept_back_code).astype(jnp.int32)
    return Release(size, passed, hits, event)


def from_mask(chosen, size, data, events: str) -> Release:
    """The release of the chosen candidates.

    Args:
      chosen: Bool["candidates"], by rank.
      size: how many are chosen.
      data: what ``prepare`` made, with "wanted" and the "codes" of ``mask_codes``.
      events: "hits" or "sets".
    """
    hits = jnp.sum(chosen & jnp.asarray(data["wanted"]), dtype=jnp.int32)
    code = jnp.sum(jnp.where(chosen, jnp.asarray(data["codes"]), 0), dtype=jnp.int32)
    return outcome(size, True, hits, code, 0, events)


# --- The mechanism --------------------------------------------------------------------


@runtime_checkable
class Checked(Protocol):
    """The parsed input of a mechanism, including the ranked histogram."""

    @property
    def ranking(self) -> Ranking:
        """The histogram in descending order."""
        ...


def top_k_mechanism(
    checked: Callable[[Any, Any], Any],
    prepare: Callable[[Any], tuple[Any, Any]],
    sample: Callable[[Any, Any, Any], Any],
    law_of_hits: Callable[[Any], np.ndarray],
    law_of_sets: Callable[[Any], np.ndarray],
    *,
    events: str,
    precision: str,
    kept_back: bool = False,
) -> Mechanism:
    """Makes the ``Mechanism`` of an algorithm that releases top-k sets.

    Args:
      checked: (data, params) -> ``Checked``; raises InputError.
      prepare: ``Checked`` -> arrays and parameters for the device.
      sample: as in ``Mechanism``; its outcome has an ``event``.
      law_of_hits, law_of_sets: ``Checked`` -> the exact law of the events.
      events: "hits" or "sets".
      precision: of the draws.
      kept_back: whether the algorithm may keep back a set and release its size only. It then
        selects the size itself, and there may be as many hits as wanted candidates, not only k.
    """

    def labelled(found: Checked) -> tuple[str, ...]:
        ranking = found.ranking
        if events == "sets":
            _check_small(ranking)
            return set_labels(ranking.counts.size, kept_back=kept_back)
        return hit_labels(ranking, int(ranking.wanted.sum()) if kept_back else ranking.k)

    def law(data, params) -> FiniteLaw:
        found = checked(data, params)
        exact = law_of_sets if events == "sets" else law_of_hits
        return FiniteLaw(exact(found), labelled(found))

    return Mechanism(
        prepare=lambda data, params: prepare(checked(data, params)),
        sample=sample,
        event=event_of,
        labels=lambda data, params: labelled(checked(data, params)),
        law=law,
        resolution=noises.resolution(precision),
    )
