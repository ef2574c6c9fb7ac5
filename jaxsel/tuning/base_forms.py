"""Converts all forms in which a base can be given to a ``BaseGuarantee``.

``guarantee_of`` tries the forms of ``_FORMS`` one after another; a text is read by
``accounting.single_run.base_text``.

An event of dp-accounting may contain searches, as RepeatAndSelectDpEvent. dp-accounting has
Renyi bounds for such an event, but no privacy loss distribution. Here the tree is taken
apart: searches become releases with their tuned profiles, everything else is composed by
dp-accounting itself, and a search inside a search is its base.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.base_text import from_opacus, parse_base
from jaxsel.accounting.single_run.curves import BaseGuarantee, from_profile
from jaxsel.accounting.single_run.events import from_event
from jaxsel.accounting.single_run.loss_distributions import (
    composed_distribution,
    from_loss_distribution,
)
from jaxsel.host.errors import InputError
from jaxsel.language.relations import common_relation, relation_name
from jaxsel.repetitions import Repetitions, from_mean, point_mass
from jaxsel.tuning.composing_searches import Release, checked, composed_renyi, release_parts
from jaxsel.tuning.tuned_guarantee import tuned_guarantee


def guarantee_of(base: object, relation: object = None) -> BaseGuarantee:
    """The guarantee of one run, from any of the accepted forms.

    Args:
      base: a BaseGuarantee; text as on the command line; a DpEvent or a
        PrivacyLossDistribution of dp-accounting; an object with a ``dp_event``, such as an
        execution plan of jax_privacy; or an accountant of Opacus, its ``state_dict()``, its
        history, or the PrivacyEngine that has it.
      relation: the neighbouring relation, one of ``RELATIONS``; must be that of the
        guarantee, if it has one.

    Raises:
      InputError: if the base has none of these forms, or another relation.

    Example:
        >>> import jaxsel
        >>> gaussian = jaxsel.guarantee_of("gaussian:noise_multiplier=4")
        >>> print(f"{gaussian.epsilon(1e-6):.2f}")
        1.06
    """
    wanted = relation_name(relation)
    form = next((form for form in _FORMS if form.fits(base)), None)
    if form is None:
        raise InputError(
            f"base is a {type(base).__name__}; it must be text, a guarantee, an event or a "
            "privacy loss distribution of dp-accounting, or an accountant of Opacus"
        )
    found = form.read(base, wanted)
    if wanted is None:
        return found
    if found.relation not in (None, wanted):
        raise InputError(
            f"{found.name} is for neighbours by {found.relation}; relation is {wanted}"
        )
    return found._replace(relation=wanted)


def dominating(bases: Sequence[object]) -> BaseGuarantee:
    """A guarantee that each of several bases keeps: for candidates of unlike privacy.

    A run whose candidate is drawn whatever the data is a mixture of its candidates' runs, and
    the divergences of mixtures are at most the largest of their parts', so that the largest
    profile at every epsilon is one of the run, and the largest Renyi divergence at every order
    (Koskela, Redberg & Wang 2024, Section 6.2).

    Args:
      bases: one for each candidate, in the forms of ``jaxsel.guarantee_of``.

    Raises:
      InputError: if there is none, or their relations differ.

    Example:
        >>> import jaxsel
        >>> either = jaxsel.dominating(["gaussian:noise_multiplier=4", "pure:epsilon=0.1"])
        >>> print(f"{either.epsilon(1e-6):.2f}")
        1.06
    """
    found = list(dict.fromkeys(guarantee_of(base) for base in bases))
    if not found:
        raise InputError("give a base for each candidate")
    if len(found) == 1:
        return found[0]
    relation = common_relation((each.name, each.relation) for each in found)

    def profile(epsilon: np.ndarray) -> np.ndarray:
        return np.max([profile_of(each, epsilon) for each in found], axis=0)

    def renyi(order: np.ndarray) -> np.ndarray:
        return np.max([each.renyi(order) for each in found], axis=0)

    name = f"{_ONE_OF}{', '.join(each.name for each in found)}"
    return from_profile(name, profile, renyi=renyi)._replace(relation=relation)


def together(bases: Sequence[tuple[BaseGuarantee, int]]) -> BaseGuarantee:
    """The guarantee of several releases that are made as one, each so many times.

    Its name is a text of which ``guarantee_of`` makes it anew, if theirs are.

    Args:
      bases: the guarantee of each, and its number.

    Raises:
      InputError: if there is none, a number is below 1, or their relations differ.
    """
    releases = [Release(base, None, times) for base, times in bases]
    relation = checked(releases)
    if len(releases) == 1 and releases[0].times == 1:
        return releases[0].base
    known = from_loss_distribution(
        composed_distribution(release_parts(releases)), name=_joined_text(bases)
    )
    return known._replace(relation=relation)


def _joined_text(bases: Sequence[tuple[BaseGuarantee, int]]) -> str:
    """The text of several releases that are made as one."""
    return " and ".join(
        ("" if times == 1 else f"{times} times ")
        + (f"[{base.name}]" if " " in base.name else base.name)
        for base, times in bases
    )


def read_joined(text: str) -> list[tuple[str, int]]:
    """The texts and the numbers of which ``_joined_text`` consists."""
    found, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"[": 1, "]": -1}.get(sign, 0)
        if depth == 0 and text.startswith(" and ", place):
            found.append(text[start:place])
            start = place + len(" and ")
    parts = []
    for part in [*found, text[start:]]:
        count, word, rest = part.strip().partition(" times ")
        times, rest = (int(count), rest) if word and count.isdigit() else (1, part.strip())
        whole = rest.startswith("[") and rest.endswith("]")
        parts.append((rest[1:-1] if whole else rest, times))
    return parts


_ONE_OF = "one of "


def _from_text(text: str) -> BaseGuarantee:
    family, _, rest = text.partition(":")
    if family == "opacus" or (family == "points" and "=" not in rest):
        return parse_base(text)  # of a file, whatever it is called
    parts = read_joined(text)
    if parts != [(text.strip(), 1)]:
        return together([(_from_text(part), times) for part, times in parts])
    text = text.strip()
    if text.startswith(_ONE_OF):
        # Of names that begin so themselves the largest is the largest of all.
        listed = text.replace(_ONE_OF, "").split(", ")
        return dominating([parse_base(each) for each in listed])
    return parse_base(text)


def profile_of(base: BaseGuarantee, epsilon: np.ndarray) -> np.ndarray:
    """A base's delta at every epsilon; by its Renyi divergences if it has no profile."""
    if base.profile is not None:
        return base.profile(epsilon)
    from jaxsel.accounting.single_run.conversions import renyi_to_delta

    return renyi_to_delta(base.renyi, epsilon)


def releases_of(given: object) -> list[Release]:
    """The release of one run, as in ``guarantee_of``; for an event, one release per search.

    Raises:
      InputError: as guarantee_of, or if an event releases nothing.
    """
    if _is_event(given):
        return _event_releases(given, None)
    return [Release(guarantee_of(given))]


# --- Events of dp-accounting ----------------------------------------------------------


def _is_event(given: object) -> bool:
    import dp_accounting

    return isinstance(given, dp_accounting.DpEvent)


def _event_guarantee(event: Any, relation: str | None) -> BaseGuarantee:
    """The guarantee of an event, including the searches inside it."""
    if not _has_search(event):
        return from_event(event, relation=relation)
    releases = _event_releases(event, relation)
    base, law, times = releases[0]
    if len(releases) == 1 and times == 1:
        return base if law is None else tuned_guarantee(base, law)
    renyi = composed_renyi(releases)
    return from_loss_distribution(
        composed_distribution(release_parts(releases)),
        relation=base.relation,
        name=str(event),
        renyi=None if renyi.lost else renyi.curve,
    )


def _planned_guarantee(plan: Any, relation: str | None) -> BaseGuarantee:
    """The guarantee of a plan that knows its event, as those of jax_privacy do."""
    event = plan.dp_event() if callable(plan.dp_event) else plan.dp_event
    if not _is_event(event):
        raise InputError(
            f"the dp_event of {type(plan).__name__} is a {type(event).__name__}, and not an event "
            "of dp-accounting"
        )
    return _event_guarantee(event, relation)


def _event_releases(event: Any, relation: str | None) -> list[Release]:
    """The searches of an event, and everything else as one more release, last.

    Raises:
      InputError: if dp-accounting does not support an event, it is not private, or it is
        empty.
    """
    from dp_accounting import dp_event

    found, others = [], []
    for each, times in _flatten(event, 1):
        if isinstance(each, dp_event.RepeatAndSelectDpEvent):
            base = _event_guarantee(each.event, relation)
            found.append(Release(base, _repetitions_of(each.mean, each.shape), times))
        else:
            others.append(each if times == 1 else dp_event.SelfComposedDpEvent(each, times))
    if others:
        rest = others[0] if len(others) == 1 else dp_event.ComposedDpEvent(others)
        found.append(Release(from_event(rest, relation=relation)))
    if not found:
        raise InputError(f"{event} releases nothing")
    return found


def _repetitions_of(mean: float, shape: float) -> Repetitions:
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
    inner = [*getattr(event, "events", ()), *filter(None, [getattr(event, "event", None)])]
    return any(_has_search(each) for each in inner)


def _flatten(event: Any, times: int) -> list[tuple[Any, int]]:
    """Searches and other events of a composition, with their multiplicities."""
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


# --- Every form -----------------------------------------------------------------------


class _Form(NamedTuple):
    """A form in which a base can be given.

    Attributes:
      fits: whether an object has this form.
      read: (object, requested relation) -> its guarantee.
    """

    fits: Callable[[Any], bool]
    read: Callable[[Any, str | None], BaseGuarantee]


# The test for an event comes last, since it imports dp-accounting.
_FORMS = (
    _Form(lambda base: isinstance(base, BaseGuarantee), lambda base, _: base),
    _Form(lambda base: isinstance(base, str), lambda base, _: _from_text(base)),
    _Form(
        lambda base: hasattr(base, "_pmf_remove"),
        lambda base, relation: from_loss_distribution(base, relation=relation),
    ),
    _Form(
        lambda base: hasattr(base, "history") or isinstance(base, Mapping | list | tuple),
        lambda base, _: from_opacus(base),
    ),
    _Form(
        lambda base: hasattr(getattr(base, "accountant", None), "history"),
        lambda base, _: from_opacus(base.accountant),
    ),
    _Form(lambda base: hasattr(base, "dp_event"), _planned_guarantee),
    _Form(_is_event, _event_guarantee),
)
