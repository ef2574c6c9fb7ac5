"""Composition of several searches and other releases on the same data.

Every release has dominating pairs, a search those of its tuned profile; pairs multiply
under adaptive composition, and dp-accounting convolves their privacy losses. The Renyi
curves add up, and so do epsilons and deltas. Each of the three gives a bound, and the least
is taken: docs/composition.md.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import (
    RenyiCurve,
    renyi_to_delta,
    renyi_to_epsilon,
    repeated,
)
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.accounting.single_run.loss_distributions import composed_distribution
from jaxsel.host.errors import InputError
from jaxsel.language.domains import whole
from jaxsel.language.relations import common_relation
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.accountant import ProvenDelta, ProvenEpsilon, proven_deltas, proven_epsilons
from jaxsel.tuning.bounds.needed import least_delta, needed_composed
from jaxsel.tuning.parameters import TunedDelta, TunedEpsilon, check_some_run
from jaxsel.tuning.proofs import SET_ASIDE, proofs
from jaxsel.tuning.tuned_guarantee import tuned_pairs, tuned_renyi

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

STATEMENTS = {
    "JX-Composition": "profiles composed as privacy loss distributions; this project",
    "composed-renyi": "Renyi bounds added up (Mironov 2017, Proposition 1)",
    "composed-sum": "epsilons and deltas added up (Dwork & Roth 2014, Theorem 3.16)",
}
"""Every bound on a composition: id -> statement."""

MOST_TIMES = 100_000
_TIMES = whole("of the same release", at_least=1, at_most=MOST_TIMES)

# Settings for splitting an epsilon between releases: range of deltas, and resolution.
_LOG_SHARES = (math.log(1e-16), math.log(0.5))
_HALVINGS = 16
_LEFT = 1.0 - 1e-9  # fraction of the remainder that is used, since sums are rounded
_ALL = 1.0 - 2.0**-53


class Release(NamedTuple):
    """A release from the data, possibly repeated.

    Attributes:
      base: guarantee of one run.
      repetitions: law of K, if the best of K runs is released; None if one run is.
      times: the number of such releases, with independent randomness.
    """

    base: BaseGuarantee
    repetitions: Repetitions | None = None
    times: int = 1

    def describe(self) -> str:
        """Describes the release."""
        if self.repetitions is None:
            found = f"one run of {self.base.name}"
        else:
            found = f"the best of {self.repetitions.name} runs of {self.base.name}"
        return found if self.times == 1 else f"{self.times} times {found}"


def checked(releases: Sequence[Release]) -> str | None:
    """Checks releases, and returns the relation that they have in common.

    Raises:
      InputError: if there is no release, a number of releases is below 1 or too large, or
        relations differ.
    """
    if not releases:
        raise InputError("nothing is released; give at least one search")
    for release in releases:
        _TIMES.read("times", release.times)
        if release.repetitions is not None:
            check_some_run(release.repetitions)
    return common_relation((each.base.name, each.base.relation) for each in releases)


_Part = tuple[tuple[DominatingPair, ...], int]


def release_part(release: Release) -> _Part | None:
    """Dominating pairs of a release and their multiplicity; None if no pairs are known.

    If the base has a guarantee for several runs, as Gaussian noise has, the multiplicity is
    1.
    """
    base, law, times = release
    if law is None and times > 1 and base.composed is not None:
        base, times = base.composed(times), 1
    if law is not None and not math.isfinite(law.mean):
        return None
    return (base.pairs() if law is None else _once(tuned_pairs, base, law)), times


# Several totals of the same searches, and combinations of a record's roles in them, need the same
# pairs and proofs, which take seconds to find.
_FOUND: dict[tuple[object, ...], tuple[BaseGuarantee, Repetitions, Any]] = {}
_MOST_FOUND = 256


def _once(make: Callable[..., Any], base: BaseGuarantee, law: Repetitions, *asked: float) -> Any:
    """What is made of a search, once for the same two objects, which stay alive with it."""
    place = make, id(base), id(law), *asked
    found = _FOUND.get(place)
    if found is None:
        found = base, law, make(base, law, *asked)
        if len(_FOUND) >= _MOST_FOUND:
            _FOUND.pop(next(iter(_FOUND)), None)
        _FOUND[place] = found
    return found[2]


def release_parts(releases: Sequence[Release]) -> list[_Part]:
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


def _composed(releases: Sequence[Release]) -> "PrivacyLossDistribution | None":
    """The composed privacy loss distribution; None if a release has no pairs."""
    checked(releases)
    parts = [release_part(release) for release in releases]
    known = [part for part in parts if part is not None]
    return composed_distribution(known) if len(known) == len(parts) else None


def composed_epsilon(releases: Sequence[Release], delta: float) -> float:
    """Epsilon at delta in (0, 1) of the composed privacy loss distributions.

    inf if a release has no dominating pair, or infinite losses are too likely.
    """
    found = _composed(releases)
    return math.inf if found is None else float(found.get_epsilon_for_delta(delta))


def composed_delta(releases: Sequence[Release], epsilon: float) -> float:
    """Delta at epsilon >= 0 of the composed privacy loss distributions.

    1 if a release has no dominating pair.
    """
    found = _composed(releases)
    return 1.0 if found is None else float(found.get_delta_for_epsilon(epsilon))


class ComposedRenyi(NamedTuple):
    """The Renyi bounds of several releases, added up.

    Attributes:
      curve: order -> bound on both Renyi divergences of the good parts.
      lost: probability of a part without any guarantee.
      theorems: order -> ids of the least bounds on searches at that order.
    """

    curve: RenyiCurve
    lost: float
    theorems: Callable[[float], list[str]]


def composed_renyi(releases: Sequence[Release]) -> ComposedRenyi:
    """The sum of the Renyi bounds of releases.

    Failures of a base, for which there is no guarantee, are excluded first (Lemma 20 of
    Papernot & Steinke 2022): with probability prod (1 - failure) there are none.
    """
    curves, kept, names = [], 0.0, []
    for release in releases:
        base = release.base
        if release.repetitions is not None:
            tuned = tuned_renyi(base, release.repetitions)
            curve, failure = tuned.curve, tuned.failure
            names.append(tuned.theorem)
        else:
            curve, failure = base.good.renyi, base.failure
        curves.append((curve, release.times))
        # A failure probability that rounds to 1 leaves no good part.
        kept += release.times * (math.log1p(-failure) if failure < 1.0 else -math.inf)

    def total(order: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # overflow gives inf, which is a valid bound
            return np.sum([repeated(curve, times)(order) for curve, times in curves], axis=0)

    def theorems(order: float) -> list[str]:
        found = [name(order) for name in names]
        return [name for name in found if name != "none"]

    return ComposedRenyi(total, -math.expm1(kept), theorems)


def composed_renyi_epsilon(releases: Sequence[Release], delta: float) -> tuple[float, list[str]]:
    """Epsilon at delta of the sum of the Renyi bounds, and the ids of these bounds."""
    total, lost, theorems = composed_renyi(releases)
    if delta < lost:
        return math.inf, []
    # delta = lost + (1 - lost) times the delta of the good parts
    found = renyi_to_epsilon(total, (delta - lost) / (1.0 - lost))
    return found.epsilon, theorems(found.order)


def composed_renyi_delta(releases: Sequence[Release], epsilon: float) -> tuple[float, list[str]]:
    """Delta at epsilon of the sum of the Renyi bounds, and the ids of these bounds."""
    total, lost, theorems = composed_renyi(releases)
    good = float(renyi_to_delta(total, epsilon))
    if lost + (1.0 - lost) * good >= 1.0:
        return 1.0, []
    # The order at which that delta has the smallest epsilon.
    order = renyi_to_epsilon(total, good).order
    return lost + (1.0 - lost) * good, theorems(order)


def summed_epsilon(releases: Sequence[Release], delta: float) -> tuple[float, list[str]]:
    """Sum of the epsilons of all releases at equal shares of delta, and ids of their bounds.

    Each is the best proven epsilon of that release alone.
    """
    share = delta / sum(release.times for release in releases)
    total, names = 0.0, []
    for base, law, times in releases:
        if law is None:
            total += times * base.epsilon(share)
        else:
            best = _once(proven_epsilons, base, law, share)[0]
            total += times * best.epsilon
            names.append(best.theorem)
    return total, names


def _quick_epsilon(release: Release) -> Callable[[float], float]:
    """delta -> epsilon of a release alone, by the bounds that solve no linear programs."""
    base, law, _ = release
    if law is None:
        return base.epsilon
    found = [
        proof
        for name, proof in proofs(base, law).items()
        if name.removeprefix(SET_ASIDE) != "JX-Priced"
    ]
    return lambda delta: min(
        [proof.epsilon(delta) for proof in found if delta >= proof.least_delta], default=math.inf
    )


def _within(
    values: Sequence[float] | np.ndarray, releases: Sequence[Release], epsilon: float
) -> bool:
    """Whether exact sums over all releases are at most ``epsilon``."""
    if not np.all(np.isfinite(values)):
        return False
    spent = sum(
        Fraction(float(value)) * release.times
        for value, release in zip(values, releases, strict=True)
    )
    return spent <= Fraction(epsilon)


def _shares(releases: Sequence[Release], epsilon: float) -> list[float]:
    """An epsilon for each release, the sum over all times at most ``epsilon``.

    Any split gives a bound. This one has nearly equal deltas, as in ``summed_epsilon``, in
    addition to the failure of each release: with equal epsilons a simple statistic would
    get as much as a large search.
    """
    count = sum(release.times for release in releases)
    share = epsilon / count
    if not _within([share], [releases[0]._replace(times=count)], epsilon):
        share = math.nextafter(share, 0.0)
    equal = [share] * len(releases)
    if len(releases) == 1:
        return equal
    known = [_quick_epsilon(release) for release in releases]
    lost = [least_delta(base, law) for base, law, _ in releases]

    def spent(log_delta: float) -> list[float]:
        delta = math.exp(log_delta)
        return [
            max(solve(min(least + delta, _ALL)), 0.0)
            for solve, least in zip(known, lost, strict=True)
        ]

    low, high = _LOG_SHARES
    kept = spent(high)
    if not _within(kept, releases, epsilon):
        return equal
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = spent(middle)
        if _within(found, releases, epsilon):
            high, kept = middle, found
        else:
            low = middle
    left = epsilon - sum(release.times * each for each, release in zip(kept, releases, strict=True))
    # The remainder is split equally.
    more = [each + max(left, 0.0) * _LEFT / count for each in kept]
    return more if _within(more, releases, epsilon) else kept


def _summed_delta(releases: Sequence[Release], epsilon: float) -> tuple[float, list[str]]:
    """Sum of the deltas of all releases, whose epsilons sum to ``epsilon``.

    Each is the least proven delta of that release alone.
    """
    total, names = 0.0, []
    for (base, law, times), share in zip(releases, _shares(releases, epsilon), strict=True):
        if law is None:
            total += times * base.delta(share)
        else:
            best = proven_deltas(base, law, share)[0]
            total += times * best.delta
            names.append(best.theorem)
    return total, names


def _of(theorem: str, names: Sequence[str]) -> str:
    """A statement, with the theorems that it uses."""
    listed = ", ".join(dict.fromkeys(names))
    return STATEMENTS[theorem] + (f"; of {listed}" if listed else "")


@validated
def compose_searches(releases: Sequence[Release], delta: TunedDelta) -> tuple[ProvenEpsilon, ...]:
    """The proven epsilon of several releases from the same data.

    Args:
      releases: searches and other releases; a later one may be chosen adaptively after
        earlier releases, if its guarantee stays as stated.
      delta: of the composition.

    Returns:
      Three bounds on the same epsilon, best first.
    """
    checked(releases)
    lacking = needed_composed(releases, delta)
    if lacking is not None and delta < lacking.possible:
        # No bound can be finite, so none is computed.
        return tuple(ProvenEpsilon(math.inf, name, STATEMENTS[name]) for name in STATEMENTS)
    found = []
    for theorem, solve in (
        ("composed-sum", summed_epsilon),
        ("composed-renyi", composed_renyi_epsilon),
    ):
        epsilon, names = solve(releases, delta)
        found.append(ProvenEpsilon(epsilon, theorem, _of(theorem, names)))
    if delta > 0.0:  # at delta = 0 it is the sum of the largest losses, which is included above
        epsilon = composed_epsilon(releases, delta)
        statement = STATEMENTS["JX-Composition"]
        found.insert(0, ProvenEpsilon(epsilon, "JX-Composition", statement))
    return tuple(sorted(found, key=lambda bound: bound.epsilon))


@validated
def compose_searches_delta(
    releases: Sequence[Release], epsilon: TunedEpsilon
) -> tuple[ProvenDelta, ...]:
    """The proven delta of several releases at an epsilon of the composition.

    The inverse of ``compose_searches``.

    Args:
      releases: as for compose_searches.
      epsilon: of the composition.

    Returns:
      Three bounds on the same delta, best first.
    """
    checked(releases)
    found = [(composed_delta(releases, epsilon), "JX-Composition", [])]
    for theorem, solve in (
        ("composed-sum", _summed_delta),
        ("composed-renyi", composed_renyi_delta),
    ):
        delta, names = solve(releases, epsilon)
        found.append((delta, theorem, names))
    bounds = [
        ProvenDelta(min(max(delta, 0.0), 1.0), theorem, _of(theorem, names))
        for delta, theorem, names in found
    ]
    return tuple(sorted(bounds, key=lambda bound: bound.delta))
