"""What several searches on the same data cost together, and what stands beside them.

Every release has dominating pairs, a search those of its tuned profile; pairs multiply
under adaptive composition, and dp-accounting convolves their privacy losses. The Renyi
curves add up, and so do epsilons and deltas. Each of the three is a bound, and the least of
them is taken: docs/composition.md.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve, renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.accounting.single_run.loss_distributions import composed_distribution
from jaxsel.accounting.single_run.relations import common_relation
from jaxsel.errors import InputError, check_integer, check_interval
from jaxsel.families.tuning.accountant import ProvenEpsilon, account
from jaxsel.families.tuning.proofs import base_epsilon
from jaxsel.families.tuning.tuned_guarantee import tuned_pairs, tuned_renyi
from jaxsel.repetitions import Repetitions, describe

STATEMENTS = {
    "JX-Composition": "profiles composed as privacy loss distributions; this project",
    "composed-renyi": "Renyi bounds added up (Mironov 2017, Proposition 1)",
    "composed-sum": "epsilons and deltas added up (Dwork & Roth 2014, Theorem 3.16)",
}
"""Every bound on a composition by id."""

MOST_TIMES = 100_000


class Release(NamedTuple):
    """Something that is computed from the data and published, so many times.

    Attributes:
      base: guarantee of one run.
      repetitions: law of K, if the best of K runs is released; None if one run is.
      times: how often, each time with new randomness.
    """

    base: BaseGuarantee
    repetitions: Repetitions | None = None
    times: int = 1

    def describe(self) -> str:
        """What is released, in words."""
        if self.repetitions is None:
            found = f"one run of {self.base.name}"
        else:
            found = f"the best of {describe(self.repetitions)} runs of {self.base.name}"
        return found if self.times == 1 else f"{self.times} times {found}"


class Composition(NamedTuple):
    """What several releases cost together.

    Attributes:
      bounds: every bound that applies, best first; inf where one says nothing.
      relation: which data sets are neighbours, None if no release says.
    """

    bounds: tuple[ProvenEpsilon, ...]
    relation: str | None

    @property
    def best(self) -> ProvenEpsilon:
        """The smallest proven epsilon."""
        return self.bounds[0]


def checked(releases: Sequence[Release]) -> str | None:
    """The relation that all releases share.

    Raises:
      InputError: if there is no release, one is made less than once or too often, or
        their relations differ.
    """
    if not releases:
        raise InputError("nothing is released; give at least one search")
    for release in releases:
        if check_integer("times", release.times, 1) > MOST_TIMES:
            raise InputError(
                f"times is {release.times}; it must be at most {MOST_TIMES}"
            )
        if release.repetitions is not None and not release.repetitions.mean > 0.0:
            raise InputError(
                "K is always 0: nothing is ever run, and there is no best run"
            )
    return common_relation((each.base.name, each.base.relation) for each in releases)


Part = tuple[tuple[DominatingPair, ...], int]


def release_part(release: Release) -> Part | None:
    """Dominating pairs of a release, and how often it is made; None if none are known.

    What has its own guarantee of so many runs, as Gaussian noise does, is made once.
    """
    base, law, times = release
    if law is None and times > 1 and base.composed is not None:
        base, times = base.composed(times), 1
    if base.pairs is None or (law is not None and not math.isfinite(law.mean)):
        return None
    return (base.pairs() if law is None else tuned_pairs(base, law)), times


def release_parts(releases: Sequence[Release]) -> list[Part]:
    """Dominating pairs of every release.

    Raises:
      InputError: if one has none.
    """
    found = []
    for release in releases:
        part = release_part(release)
        if part is None:
            raise InputError(f"{release.describe()} has no privacy loss distribution")
        found.append(part)
    return found


def composed_epsilon(releases: Sequence[Release], delta: float) -> float:
    """Epsilon at delta in (0, 1) of the composed privacy loss distributions.

    inf where a release has no dominating pair, or its losses are too often infinite.

    Raises:
      InputError: as ``checked``.
    """
    checked(releases)
    parts = [release_part(release) for release in releases]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return math.inf
    return float(composed_distribution(known).get_epsilon_for_delta(delta))


class ComposedRenyi(NamedTuple):
    """The Renyi bounds of several releases, added up.

    Attributes:
      curve: order -> bound on both Renyi divergences of the good parts.
      lost: probability that a part of which nothing is known is met.
      theorems: order -> ids of the bounds on searches that are least there.
    """

    curve: RenyiCurve
    lost: float
    theorems: Callable[[float], list[str]]


def composed_renyi(releases: Sequence[Release]) -> ComposedRenyi:
    """The sum of the Renyi bounds of releases.

    Parts of which nothing is known (failures of a base, Lemma 20 of Papernot & Steinke
    2022) are set aside first: with probability prod (1 - failure) there are none.
    """
    curves, kept, names = [], 0.0, []
    for release in releases:
        base = release.base
        if release.repetitions is not None:
            tuned = tuned_renyi(base, release.repetitions)
            curve, failure = tuned.curve, tuned.failure
            names.append(tuned.theorem)
        elif base.core is not None:
            curve, failure = base.core.renyi, base.failure
        else:
            curve, failure = base.renyi, 0.0
        curves.append((curve, release.times))
        kept += release.times * math.log1p(-failure)

    def total(order: np.ndarray) -> np.ndarray:
        return np.sum([times * curve(order) for curve, times in curves], axis=0)

    def theorems(order: float) -> list[str]:
        found = [name(order) for name in names]
        return [name for name in found if name != "none"]

    return ComposedRenyi(total, -math.expm1(kept), theorems)


def composed_renyi_epsilon(
    releases: Sequence[Release], delta: float
) -> tuple[float, list[str]]:
    """Epsilon at delta of the sum of the Renyi bounds, and whose they are."""
    total, lost, theorems = composed_renyi(releases)
    if delta < lost:
        return math.inf, []
    # delta = lost + (1 - lost) times the delta of the good parts
    found = renyi_to_epsilon(total, (delta - lost) / (1.0 - lost))
    return found.epsilon, theorems(found.order)


def summed_epsilon(
    releases: Sequence[Release], delta: float
) -> tuple[float, list[str]]:
    """Sum of the epsilons of all releases at equal shares of delta, and whose they are.

    Each is the best that is proved of that release alone.
    """
    share = delta / sum(release.times for release in releases)
    total, names = 0.0, []
    for base, law, times in releases:
        if law is None:
            total += times * base_epsilon(base, share)
        else:
            best = account(base, law, share, attain=False).best
            total += times * best.epsilon
            names.append(best.theorem)
    return total, names


def _of(theorem: str, names: Sequence[str]) -> str:
    """A statement with the theorems that it starts from."""
    listed = ", ".join(dict.fromkeys(names))
    return STATEMENTS[theorem] + (f"; of {listed}" if listed else "")


def compose_searches(releases: Sequence[Release], delta: float) -> Composition:
    """What is proved about several releases that use the same data.

    Args:
      releases: searches, and whatever stands beside them; a later one may be chosen in
        the light of what earlier ones released, if its guarantee stays as stated.
      delta: of all together, in [0, 1).

    Returns:
      Three bounds on the same epsilon, best first.

    Raises:
      InputError: if delta is out of range, or as ``checked``.
    """
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
    relation = checked(releases)
    found = []
    for theorem, solve in (
        ("composed-sum", summed_epsilon),
        ("composed-renyi", composed_renyi_epsilon),
    ):
        epsilon, names = solve(releases, delta)
        found.append(ProvenEpsilon(epsilon, theorem, _of(theorem, names)))
    if delta > 0.0:  # at 0 it is the sum of the largest losses, which stands above
        epsilon = composed_epsilon(releases, delta)
        statement = STATEMENTS["JX-Composition"]
        found.insert(0, ProvenEpsilon(epsilon, "JX-Composition", statement))
    ranked = sorted(found, key=lambda bound: bound.epsilon)
    return Composition(tuple(ranked), relation)
