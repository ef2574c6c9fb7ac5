"""plan_releases: the noise that so many releases of a mechanism need, asked for by name."""

from collections.abc import Mapping
from typing import Any

from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.language.default_delta import DELTA
from jaxsel.language.entry import MechanismEntry
from jaxsel.language.subject import settled
from jaxsel.language.trial import Trial
from jaxsel.questions.releases import OPEN_SETTINGS, ReleasePlan, least_noise


@one_blas_thread()
def plan_releases(
    mechanism: str | MechanismEntry | Trial,
    *,
    epsilon: float,
    delta: float = DELTA,
    releases: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> ReleasePlan:
    """The least noise with which a number of releases of a mechanism keep a budget.

    Each release may depend on those before it, but the settings that determine its
    privacy are the same. Tests that may fail are given half of delta, unless ``delta_t``
    is given.

    Args:
      mechanism: a name or id of ``jaxsel list mechanisms``; or what ``jaxsel.mechanism``
        made, whose settings other than the noise are kept.
      epsilon: the budget of all releases together, > 0.
      delta: of all releases together, in [0, 1).
      releases: the number of releases, 1 to 100,000.
      settings: the mechanism's settings, as text or values, without the one that is found:
        epsilon, rho, noise_scale, or a base's epsilon, whichever it has.

    Returns:
      The plan; the setting that is found is rounded to six digits, towards more privacy.

    Raises:
      InputError: for an unknown mechanism or setting, a mechanism that is broken or has no
        known guarantee that composes, a budget that no noise meets, or numbers out of
        range.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.plan_releases("noisy_max", epsilon=1, releases=100)
        >>> found.epsilon <= 1
        True
    """
    entry, chosen = settled(mechanism)
    kept = {name: value for name, value in chosen.items() if name not in OPEN_SETTINGS}
    return least_noise(
        entry,
        epsilon=epsilon,
        delta=delta,
        releases=releases,
        settings={**kept, **(settings or {})},
    )
