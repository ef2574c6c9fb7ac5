"""What an audited function claims, as points (epsilon, delta) that events can refute."""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from jaxsel.auditing.functions.events import Claim
from jaxsel.host.errors import InputError, check_interval
from jaxsel.language.domains import nearest

# A curve is met where it is nearest to what was seen: at one of these, chosen on trials that
# the bound does not use.
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def claims_of(claim: Any, delta: float, settings: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The points of a claim.

    Args:
      claim: epsilon; a text of a guarantee as of ``jaxsel.release`` ("zcdp:rho=0.5",
        "gdp:mu=1"), an event or a privacy loss distribution of dp-accounting, or a guarantee,
        whose whole curve is claimed; the name of a setting, whose value is epsilon; or a
        function of the settings that returns one of these.
      delta: at which epsilon is claimed; 0 for a curve.
      settings: of the audited function, by name.

    Raises:
      InputError: for what is none of these.
    """
    claim = _met(claim, settings)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    if isinstance(claim, int | float):
        return (Claim(check_interval("claim", claim, 0.0, math.inf, low_open=False), delta),)
    if delta:
        raise InputError("delta is given for a claim that is a curve; leave it out")
    # A claim that is a number needs no accountant.
    from jaxsel.questions.released import release

    try:
        curve = release(claim)
    except InputError as error:
        if not isinstance(claim, str) or ":" in claim:
            raise
        # A lone word is rather the name of a setting than that of a guarantee.
        raise InputError(
            f"claim is {claim!r}; it must be a number, a setting of the function (it has: "
            f"{', '.join(settings) or 'none'}), or a guarantee such as zcdp:rho=1"
            f"{nearest(claim, settings)}"
        ) from error
    points = [Claim(epsilon, float(curve.delta(epsilon))) for epsilon in _EPSILONS]
    kept = tuple(point for point in points if point.delta < 1.0)
    if not kept:
        raise InputError(f"claim is {claim!r}, which no event can refute")
    return kept


def claims_of_search(
    claim: Any, delta: float, settings: Mapping[str, Any], repetitions: Any
) -> tuple[tuple[Claim, ...], str]:
    """The points that the account of a search proves, and the account in words.

    Args:
      claim, delta, settings: of one run, as in ``claims_of``.
      repetitions: the law of K, or its text.

    Raises:
      InputError: for what is no claim or law, or if nothing is proved of the search.
    """
    from jaxsel.questions.released import search_cost
    from jaxsel.repetitions import as_law

    base = _met(claim, settings)
    if isinstance(base, int | float):
        base = f"approximate:epsilon={base},delta={delta}" if delta else f"pure:epsilon={base}"
    elif delta:
        raise InputError("delta is given for a claim that is a curve; leave it out")
    law = as_law(repetitions)
    search = search_cost(base, law)
    pure = search.epsilon(0.0)
    points = [Claim(epsilon, search.delta(epsilon)) for epsilon in _EPSILONS if epsilon < pure]
    if math.isfinite(pure):
        points.append(Claim(pure, 0.0))
    kept = tuple(point for point in points if point.delta < 1.0)
    runs = repetitions if isinstance(repetitions, str) else law.name
    if not kept:
        raise InputError(f"nothing is proved of {runs} runs of {base}")
    at = f", epsilon {pure:.4g}" if math.isfinite(pure) else ""
    return kept, f"the account of {runs} runs of {base}{at}"


def claim_words(claim: Any, delta: float, settings: Mapping[str, Any]) -> str:
    """A claim for people."""
    claim = _met(claim, settings)
    if isinstance(claim, int | float):
        return f"epsilon {claim:g}" + (f" at delta {delta:g}" if delta else "")
    return claim if isinstance(claim, str) else str(getattr(claim, "name", claim))


def _met(claim: Any, settings: Mapping[str, Any]) -> Any:
    """The claim at these settings; text that is a number is one."""
    if callable(claim) and not hasattr(claim, "get_delta_for_epsilon"):
        function: Callable[..., Any] = claim
        try:
            claim = function(**_accepted(function, settings))
        except TypeError as error:
            raise InputError(f"the claim is no function of the settings: {error}") from error
    if isinstance(claim, str):
        if claim in settings:
            return _met(settings[claim], {})
        try:
            return float(claim)
        except ValueError:
            return claim
    return claim


def _accepted(function: Callable[..., Any], settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings that a function takes."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return settings
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return settings
    return {name: value for name, value in settings.items() if name in parameters}
