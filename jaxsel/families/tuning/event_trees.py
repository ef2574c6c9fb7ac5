"""Searches written as events of dp-accounting, RepeatAndSelectDpEvent among them.

dp-accounting has Renyi bounds for such an event, and no privacy loss distribution. Here
the tree is taken apart: searches become releases with their tuned profiles, what is not a
search is composed by dp-accounting itself, and a search inside a search is its base.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.events import from_event
from jaxsel.accounting.single_run.loss_distributions import (
    composed_distribution,
    from_loss_distribution,
)
from jaxsel.families.tuning.composing_searches import Release, release_parts
from jaxsel.families.tuning.tuned_guarantee import tuned_guarantee, tuned_renyi
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions, from_mean, point_mass

if TYPE_CHECKING:
    import dp_accounting


def repetitions_of(mean: float, shape: float) -> Repetitions:
    """The law of K of a RepeatAndSelectDpEvent.

    Args:
      mean: E[K].
      shape: inf for Poisson; else eta of the truncated negative binomial law, 1 the
        geometric and 0 the logarithmic one, which with a mean of 1 are one run.

    Raises:
      InputError: if no law has these.
    """
    if math.isinf(shape):
        return from_mean("poisson", mean)
    if mean == 1.0:
        return point_mass(1)
    return from_mean("truncated_negative_binomial", mean, eta=shape)


def _has_search(event: Any) -> bool:
    from dp_accounting import dp_event

    if isinstance(event, dp_event.RepeatAndSelectDpEvent):
        return True
    inner = [
        *getattr(event, "events", ()),
        *filter(None, [getattr(event, "event", None)]),
    ]
    return any(_has_search(each) for each in inner)


def _flatten(event: Any, times: int) -> list[tuple[Any, int]]:
    """Searches and other events of a composition, and how often each is made."""
    from dp_accounting import dp_event

    match event:
        case dp_event.ComposedDpEvent():
            return [item for each in event.events for item in _flatten(each, times)]
        case dp_event.SelfComposedDpEvent() if _has_search(event.event):
            return _flatten(event.event, times * event.count)
        case dp_event.NoOpDpEvent():
            return []
        case dp_event.RepeatAndSelectDpEvent():
            return [(event, times)]
    if _has_search(event):
        raise InputError(
            f"{type(event).__name__} of a search is not known; searches may be composed, "
            "repeated and selected from"
        )
    return [(event, times)]


def releases_of(
    event: "dp_accounting.DpEvent",
    *,
    relation: "dp_accounting.NeighboringRelation | str | None" = None,
) -> list[Release]:
    """The releases that an event of dp-accounting consists of.

    Args:
      event: composed of searches and of whatever dp-accounting composes.
      relation: which data sets are neighbours; adding or removing a record by default.

    Returns:
      Each search, and all that is not a search as one more release, last.

    Raises:
      InputError: if dp-accounting does not know an event, it is not private, or nothing
        is left.
    """
    from dp_accounting import dp_event

    found, others = [], []
    for each, times in _flatten(event, 1):
        if isinstance(each, dp_event.RepeatAndSelectDpEvent):
            base = event_guarantee(each.event, relation=relation)
            found.append(Release(base, repetitions_of(each.mean, each.shape), times))
        else:
            others.append(
                each if times == 1 else dp_event.SelfComposedDpEvent(each, times)
            )
    if others:
        rest = others[0] if len(others) == 1 else dp_event.ComposedDpEvent(others)
        found.append(Release(from_event(rest, relation=relation)))
    if not found:
        raise InputError(f"{event} releases nothing")
    return found


def event_guarantee(
    event: "dp_accounting.DpEvent",
    *,
    relation: "dp_accounting.NeighboringRelation | str | None" = None,
) -> BaseGuarantee:
    """The guarantee of an event, searches inside it and all.

    Args:
      event, relation: as in releases_of.

    Raises:
      InputError: as releases_of.
    """
    if not _has_search(event):
        return from_event(event, relation=relation)
    releases = releases_of(event, relation=relation)
    if len(releases) == 1 and releases[0].times == 1:
        base, law, _ = releases[0]
        return base if law is None else tuned_guarantee(base, law)
    return composed_guarantee(releases, name=str(event))


def composed_guarantee(releases: list[Release], *, name: str) -> BaseGuarantee:
    """The guarantee of several releases, as that of one run of something larger.

    Raises:
      InputError: if a release has no dominating pair.
    """
    curves = []
    for release in releases:
        tuned = (
            None
            if release.repetitions is None
            else tuned_renyi(release.base, release.repetitions)
        )
        curve = release.base.renyi if tuned is None else tuned.curve
        curves.append((curve, release.times, 0.0 if tuned is None else tuned.failure))

    def renyi(order: np.ndarray) -> np.ndarray:
        return np.sum([times * curve(order) for curve, times, _ in curves], axis=0)

    return from_loss_distribution(
        composed_distribution(release_parts(releases)),
        relation=releases[0].base.relation,
        name=name,
        renyi=None if any(failure for _, _, failure in curves) else renyi,
    )
