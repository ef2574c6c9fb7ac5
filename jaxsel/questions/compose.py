"""Several releases from the same data: what they cost together, asked for by name."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jaxsel.accounting.single_run.loss_distributions import composed_distribution
from jaxsel.accounting.single_run.relations import RELATIONS
from jaxsel.families.tuning.accountant import Needed, ProvenDelta, ProvenEpsilon
from jaxsel.families.tuning.base_forms import guarantee_of, releases_of
from jaxsel.families.tuning.composing_searches import (
    Release,
    checked,
    compose_searches,
    compose_searches_delta,
    release_parts,
)
from jaxsel.families.tuning.secrecy import SCORE, kept_secret
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError, check_integer
from jaxsel.language.default_delta import DELTA
from jaxsel.language.domains import nearest
from jaxsel.language.printing import Summary, digits_up, printed, rounded_up
from jaxsel.questions import tuning_words
from jaxsel.repetitions import Repetitions, as_law

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


def release(
    base: object,
    repetitions: Repetitions | str | None = None,
    times: int = 1,
    *,
    relation: object = None,
) -> Release:
    """Something that is released: the best of K runs of a base, or one run of it.

    Args:
      base: as in ``guarantee_of``.
      repetitions: law of K, or its text; None if one run is released as it is.
      times: how often, each time with new randomness.
      relation: as in ``guarantee_of``.

    Raises:
      InputError: for a base, a law or a number that is none.
    """
    law = None if repetitions is None else as_law(repetitions)
    return Release(guarantee_of(base, relation), law, check_integer("times", times, 1))


_KEYS = ("base", "repetitions", "times", "relation")


def releases_from(items: object) -> list[Release]:
    """Releases from records, mappings of their fields, and events of dp-accounting.

    Raises:
      InputError: as release, or for a key that nobody knows.
    """
    found: list[Release] = []
    listed = items if isinstance(items, list | tuple) else [items]
    for item in [items] if isinstance(items, Release | Mapping) else listed:
        if isinstance(item, Release):
            found.append(item)
        elif isinstance(item, Mapping):
            for key in item:
                if key not in _KEYS:
                    raise InputError(
                        f"a release has no {key!r}{nearest(str(key), _KEYS)}; it has "
                        f"{', '.join(_KEYS)}"
                    )
            if "base" not in item:
                raise InputError("a release needs a base: what one run is")
            found.append(release(**item))
        else:
            found += releases_of(item)
    return found


def _covered(releases: Sequence[Release], relation: str | None) -> list[str]:
    """What is released, and what a guarantee of it covers."""
    found = ["Released: " + "; ".join(each.describe() for each in releases) + "."]
    searched = [each.repetitions for each in releases if each.repetitions is not None]
    if searched:
        found += [
            f"Of each search only the best run is covered: keep {kept_secret(searched)} secret.",
            SCORE,
        ]
    if relation is not None:
        found.append(f"Neighbours: {RELATIONS[relation]}.")
    else:
        found.append(
            "Neighbours: those that every base's sensitivity is meant for; they must "
            "be the same throughout."
        )
    return found


@printed
class CompositionCost(NamedTuple):
    """What several releases cost together.

    Attributes:
      releases: searches, and what stands beside them.
      delta: that of every epsilon here.
      bounds: every bound that applies, best first; inf where one says nothing.
      relation: which data sets are neighbours; None if no release says.
      needed: what would make an epsilon provable, where none is; None elsewhere.
    """

    releases: tuple[Release, ...]
    delta: float
    bounds: tuple[ProvenEpsilon, ...]
    relation: str | None
    needed: Needed | None = None

    @property
    def best(self) -> ProvenEpsilon:
        """The smallest proven epsilon."""
        return self.bounds[0]

    def sentences(self) -> list[str]:
        """What is proved, and what it covers, in words; epsilons are rounded up."""
        best = self.best
        if math.isfinite(best.epsilon):
            found = [
                f"All of it together is ({rounded_up(best.epsilon):g}, {self.delta:g})-"
                f"differentially private, by {best.theorem}: {best.statement}."
            ]
        else:
            found = [
                tuning_words.lacking(
                    self.delta, self.needed, "these releases", "all of it together"
                )
            ]
        return [*found, *_covered(self.releases, self.relation)]

    def summary(self) -> Summary:
        """What is proved, and every bound that says something."""
        return tuning_words.with_bounds(self.sentences(), self.bounds)

    def privacy_loss_distribution(self, interval: float | None = None) -> "PrivacyLossDistribution":
        """All of it as a privacy loss distribution; see ``privacy_loss_distribution``."""
        return privacy_loss_distribution(self.releases, interval=interval)


@one_blas_thread()
def compose(releases: object, delta: float = DELTA) -> CompositionCost:
    """What is proved about several releases from the same data.

    Args:
      releases: a list of releases made by ``release``, of mappings with its arguments, or
        of events of dp-accounting (RepeatAndSelectDpEvent is a search); or one of these.
      delta: of all together, in [0, 1).

    Raises:
      InputError: for bad releases, relations that differ, or a delta out of range.

    Example:
        >>> import jaxsel
        >>> search = jaxsel.release("gaussian:noise_multiplier=8", "geometric:mean=3", 4)
        >>> cost = jaxsel.compose([search, jaxsel.release("gdp:mu=0.1")])
        >>> len(cost.bounds)
        3
    """
    listed = releases_from(releases)
    found = compose_searches(listed, delta)
    return CompositionCost(tuple(listed), float(delta), found.bounds, found.relation, found.needed)


@printed
class CompositionDelta(NamedTuple):
    """What several releases cost together at a given epsilon.

    Attributes:
      releases: searches, and what stands beside them.
      epsilon: that of every delta here.
      bounds: every bound that applies, best first; those that say nothing have delta 1.
      relation: which data sets are neighbours; None if no release says.
    """

    releases: tuple[Release, ...]
    epsilon: float
    bounds: tuple[ProvenDelta, ...]
    relation: str | None

    @property
    def best(self) -> ProvenDelta:
        """The smallest proven delta."""
        return self.bounds[0]

    def sentences(self) -> list[str]:
        """What is proved, and what it covers, in words; deltas are rounded up."""
        best = self.best
        if best.delta < 1.0:
            first = (
                f"All of it together is ({self.epsilon:g}, {digits_up(best.delta):g})-"
                f"differentially private, by {best.theorem}: {best.statement}."
            )
        else:
            first = f"No known theorem bounds delta at epsilon = {self.epsilon:g}."
        return [first, *_covered(self.releases, self.relation)]

    def summary(self) -> Summary:
        """What is proved, and every bound that says something."""
        return tuning_words.with_bounds(self.sentences(), self.bounds)


@one_blas_thread()
def compose_delta(releases: object, epsilon: float) -> CompositionDelta:
    """What is proved about delta of several releases from the same data.

    ``compose`` the other way round.

    Args:
      releases: as of compose.
      epsilon: of all together, >= 0, finite.

    Raises:
      InputError: for bad releases, relations that differ, or an epsilon out of range.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.compose_delta(jaxsel.release("gdp:mu=0.1", times=4), 1)
        >>> found.best.delta < 1e-6
        True
    """
    listed = releases_from(releases)
    found = compose_searches_delta(listed, epsilon)
    return CompositionDelta(tuple(listed), float(epsilon), found.bounds, found.relation)


@one_blas_thread()
def privacy_loss_distribution(
    releases: Sequence[Release] | object, *, interval: float | None = None
) -> "PrivacyLossDistribution":
    """dp-accounting's privacy loss distribution of one or several releases.

    Args:
      releases: as in ``compose``.
      interval: of the discretised loss, which must be that of what it is composed with;
        by default dp-accounting's 1e-4, or what memory allows.

    Returns:
      A pessimistic distribution in both directions: its deltas are those that this project
      proves without Renyi divergences.

    Raises:
      InputError: as compose, or if a release has no dominating pair.
    """
    listed = releases_from(releases)
    checked(listed)
    return composed_distribution(release_parts(listed), interval)
