"""Utility: what each event of a mechanism is worth, as a number for every event.

Tallies count events, so the expectation of any function of the event, its interval and
its exact value follow from the tallies and from the exact law; nothing else is simulated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

Utility = Mapping[str, np.ndarray]
"""Float64["events"] by the name of what it measures, each in [0, 1] or in scores."""


class _Meaning(NamedTuple):
    """How a measure is described to people.

    Attributes:
      name: a few words, for the axis of a picture.
      meaning: what exactly it is.
    """

    name: str
    meaning: str


MEANINGS: Mapping[str, _Meaning] = {
    "success": _Meaning(
        "probability of success", "probability that the best candidate is released"
    ),
    "quantile": _Meaning(
        "expected quantile",
        "expected share of candidates (of runs, if runs are selected) that are worse "
        "than the released one, equals counting half",
    ),
    "regret": _Meaning("expected regret", "expected score lost against the best candidate"),
    "released": _Meaning("probability of release", "probability that anything is released"),
    "recall": _Meaning("expected recall", "expected share of the true top k that is released"),
    "size": _Meaning("expected size", "expected number of candidates released"),
}
"""The description of each measure, by its name."""

UNITS: Mapping[str, str] = {"regret": "score", "size": "candidates"}
"""The units of measures that are neither probabilities nor shares."""

_NOTHING = "none"


def _indices(labels: Sequence[str]) -> np.ndarray:
    """The number of the candidate that each event releases, -1 for none: Int["events"]."""
    return np.array([-1 if label == _NOTHING else int(label) for label in labels])


def of_candidates(
    scores: np.ndarray, labels: Sequence[str], weights: np.ndarray | None = None
) -> Utility:
    """Utility where one candidate is released, or nothing.

    Args:
      scores: Float64["candidates"], larger is better.
      labels: the events' labels, each the number of a candidate or "none".
      weights: Float64["candidates"]: the share of each in the quantile; default: equal.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if weights is None:
        weights = np.full(scores.size, 1.0 / scores.size)
    below = (weights * (scores[None, :] < scores[:, None])).sum(axis=1)
    equal = (weights * (scores[None, :] == scores[:, None])).sum(axis=1)
    index = _indices(labels)
    some = index >= 0
    found = {
        "success": np.where(some, scores[index] == scores.max(), False).astype(float),
        "quantile": np.where(some, (below + equal / 2.0)[index], 0.0),
    }
    if some.all():
        found["regret"] = scores.max() - scores[index]
    else:
        found["released"] = some.astype(np.float64)
    return found


def by_scores(scores: np.ndarray) -> Callable[[Sequence[str]], Utility]:
    """``of_candidates`` as a function of the labels."""
    return lambda labels: of_candidates(scores, labels)


def _members(label: str) -> list[int]:
    return [int(i) for i in label[1:-1].split(",") if i] if label[0] == "{" else []


def of_sets(scores: np.ndarray, labels: Sequence[str], k: int | None = None) -> Utility:
    """Utility where a set of candidates is released; {} where labels are no sets.

    Args:
      scores: Float64["candidates"], larger is better.
      labels: the events' labels, each a set such as "{0,2}", or "nothing" with a reason.
      k: how many are wanted; None if the mechanism chooses how many: then a success is
        a top set of any size.
    """
    if not all(label.startswith(("{", "nothing")) for label in labels):
        return {}
    scores = np.asarray(scores, dtype=np.float64)
    sets = [_members(label) for label in labels]
    sizes = np.array([len(chosen) for chosen in sets], dtype=np.float64)
    descending = np.sort(scores)[::-1]
    # A set is a top set if no other of its size has a larger sum, whatever the ties.
    top = np.array([scores[s].sum() >= descending[: len(s)].sum() for s in sets])
    right = top & (sizes > 0 if k is None else sizes == k)
    found = {"success": right.astype(np.float64), "size": sizes}
    if k is None:
        return found | {"released": (sizes > 0).astype(np.float64)}
    # Ties at the k-th score: any of them counts, up to the places that there are.
    above = np.array([(scores[s] > descending[k - 1]).sum() for s in sets])
    at = np.array([(scores[s] == descending[k - 1]).sum() for s in sets])
    places = k - (scores > descending[k - 1]).sum()
    found["recall"] = (above + np.minimum(at, places)) / k
    return found
