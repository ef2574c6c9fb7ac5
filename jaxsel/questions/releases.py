"""How much noise a number of releases of a mechanism need for a budget."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jaxsel.accounting.numerics.digits import to_digits
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.accounting.single_run.pure_composition import composed_pure_epsilon
from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import nearest, number, whole
from jaxsel.language.entry import MechanismEntry, Values, shown
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.questions.release_curves import BY_CURVE_ALONE, KnownCurve, has_curve, known_curve

_MOST_RELEASES = 100_000
_TEST_SHARE = 0.5  # share of delta for tests that fail (Zhu & Wang 2022, Section 5)
_DIGITS = 6
_LOW = 1e-12  # the least value, or inverse, that is tried
_STRENGTHS = (0.0, 2.0, 5.0, 9.0, 14.0, 20.0)  # logarithms of the first values, or inverses, tried
_EPSILON = number("of all releases", above=0.0)
_DELTA = number("of all releases", at_least=0.0, below=1.0)
_RELEASES = whole("how many", at_least=1, at_most=_MOST_RELEASES)


class _Open(NamedTuple):
    """Settings that a plan finds, all with the same value."""

    names: tuple[str, ...]
    more_is_more_private: bool


# Settings that a plan may find, in the order in which they are tried.
_OPEN = (
    _Open(("epsilon",), False),
    _Open(("rho",), False),
    _Open(("noise_scale",), True),
    _Open(("selection_scale", "test_scale"), True),
    _Open(("query_epsilon",), False),
    # Where a mechanism has final_epsilon and base_epsilon, base_epsilon is given: it is the
    # guarantee of one run of the base.
    _Open(("final_epsilon",), False),
    _Open(("base_epsilon",), False),
    _Open(("score_epsilon",), False),
)

OPEN_SETTINGS = frozenset(name for opened in _OPEN for name in opened.names)
"""Names of the settings that a plan may find: one of them, or two with the same value."""


class ProvenReleases(NamedTuple):
    """An epsilon of all releases together, and what proves it.

    Attributes:
      epsilon: proved at the plan's delta.
      theorem: ids of claims, and how releases were composed.
      relation: which inputs are neighbours.
    """

    epsilon: float
    theorem: str
    relation: Relation


class OneRelease(NamedTuple):
    """What is known of one release.

    Attributes:
      pure: its pure epsilon; inf if none is known.
      claim: the id of the claim that proves it.
      relation: the neighbours that it holds for.
      known: its Renyi curve, if one is known.
    """

    pure: float
    claim: str
    relation: Relation
    known: KnownCurve | None


def widest_relation(pairs: Iterable[Pair]) -> Relation:
    """The widest neighbouring relation of a mechanism's pairs; without pairs that of its base."""
    found = {pair.relation for pair in pairs} or {Relation.BASE}
    # In the order of their declaration a wider relation of scores comes before a narrower one.
    return next(relation for relation in Relation if relation in found)


def may_be_planned(entry: MechanismEntry) -> bool:
    """Whether it has a setting that a plan may find, and a known guarantee at some settings."""
    if entry.broken or not any(
        all(name in entry.settings for name in opened.names) for opened in _OPEN
    ):
        return False
    if has_curve(entry.name):
        return True
    trial = entry()
    return any(trial.guarantee(pair) is not None for pair in trial.pairs())


def one_release(entry: MechanismEntry, values: Values) -> OneRelease:
    """What the catalogue knows of one release with these typed values."""
    known = known_curve(entry.name, values)
    trial = entry.build(values)
    pairs = trial.pairs()
    relation = widest_relation(pairs)
    if known is not None and known.relation is not None:
        relation = known.relation
    pure, claim = 0.0, ""
    for pair in pairs:
        proven = trial.guarantee(pair)
        if proven is None or entry.name in BY_CURVE_ALONE:
            pure = math.inf
        elif proven.epsilon > pure:
            pure, claim = proven.epsilon, proven.claim
    return OneRelease(pure if pure > 0.0 else math.inf, claim, relation, known)


def composed(one: OneRelease, releases: int, delta: float) -> ProvenReleases:
    """The least epsilon that is proved of a number of releases, each chosen adaptively.

    Pure guarantees compose exactly, with randomised response as the worst case; Renyi
    curves and failure probabilities add up; profiles compose as privacy loss
    distributions.
    """
    found = [ProvenReleases(math.inf, "none", one.relation)]
    if math.isfinite(one.pure):
        epsilon = composed_pure_epsilon(one.pure, releases, delta)
        how = "" if releases == 1 else ", composed by Kairouz, Oh & Viswanath 2015"
        found.append(ProvenReleases(epsilon, one.claim + how, one.relation))
    if one.known is not None:
        renyi, failure = one.known.curve
        left = delta - releases * failure
        if left > 0.0 or (left == 0.0 and failure == 0.0):
            epsilon = renyi_to_epsilon(lambda a: releases * renyi(a), left).epsilon
            how = "" if releases == 1 else ", Renyi bounds added up"
            found.append(ProvenReleases(epsilon, one.known.theorem + how, one.relation))
        if one.known.profile is not None:
            epsilon = one.known.profile(releases, delta)
            found.append(ProvenReleases(epsilon, one.known.profile_theorem, one.relation))
    return min(found, key=lambda proof: proof.epsilon)


@printed
class ReleasePlan(NamedTuple):
    """The noise that makes several releases of a mechanism fit a budget.

    Attributes:
      mechanism: the mechanism's name.
      settings: the settings that were given or found, and the failure probability of tests.
      found: the settings that were found.
      releases: the number of releases.
      delta: of all releases together.
      proof: the epsilon of all releases together, and what proves it.
      one: the epsilon of one release at the same delta, and what proves it.
      scales: the scales of the noise that one release draws, by name, where known.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.plan_releases("noisy_max", epsilon=1, releases=100)
        >>> print({name: round(value, 2) for name, value in found.found.items()})
        {'epsilon': 0.04}
    """

    mechanism: str
    settings: Mapping[str, Any]
    found: Mapping[str, float]
    releases: int
    delta: float
    proof: ProvenReleases
    one: ProvenReleases
    scales: Mapping[str, float]

    @property
    def epsilon(self) -> float:
        """The epsilon that is proved of all releases together."""
        return self.proof.epsilon

    def commands(self) -> list[str]:
        """The commands that simulate and audit one release."""
        settings = " ".join(f"{key}={shown(v)}" for key, v in self.settings.items())
        delta = f" --delta {self.delta:g}" if self.delta > 0.0 else ""
        return [
            f"jaxsel simulate {self.mechanism} {settings}",
            f"jaxsel audit {self.mechanism} {settings}{delta}",
        ]

    def sentences(self) -> list[str]:
        """What to run and what it keeps, in words; epsilons are rounded up."""
        found = ", ".join(f"{name} = {value:g}" for name, value in self.found.items())
        count = "1 release" if self.releases == 1 else f"{self.releases} releases"
        verb = "is" if self.releases == 1 else "are"
        said = [
            f"With {found}, {count} of {self.mechanism} {verb} "
            f"({rounded_up(self.epsilon):g}, {self.delta:g})-differentially private, by "
            f"{self.proof.theorem}.",
            f"Neighbours: {self.proof.relation.words}.",
        ]
        if self.scales:
            scales = (f"{name} {value:.6g}" for name, value in self.scales.items())
            said.append(f"Noise of one release: {', '.join(scales)}.")
        if self.releases > 1:
            said.append(
                f"One release alone is ({rounded_up(self.one.epsilon):g}, "
                f"{self.delta:g})-differentially private, by {self.one.theorem}."
            )
        simulate, check = self.commands()
        return [*said, f"Try one: {simulate}", f"Audit one: {check}"]

    def summary(self) -> Summary:
        """The plan in words."""
        return Summary("\n".join(self.sentences()))

    def as_record(self) -> dict:
        """Names and numbers, ready for JSON."""
        record = self._asdict()
        record["settings"] = {key: shown(v) for key, v in self.settings.items()}
        for name in ("proof", "one"):
            proof: ProvenReleases = record.pop(name)
            record[name] = {
                "epsilon": proof.epsilon,
                "theorem": proof.theorem,
                "neighbours": proof.relation.value,
            }
        simulate, check = self.commands()
        return record | {"epsilon": self.epsilon, "simulate": simulate, "audit": check}


class _Search(NamedTuple):
    """The search for one value that a mechanism's settings leave open."""

    entry: MechanismEntry
    given: Mapping[str, Any]
    opened: _Open
    releases: int
    delta: float

    def settings(self, value: float) -> dict[str, Any]:
        return dict(self.given) | dict.fromkeys(self.opened.names, value)

    def one(self, value: float) -> OneRelease:
        return one_release(self.entry, self.entry.read(self.settings(value)))

    def proof(self, value: float) -> ProvenReleases:
        return composed(self.one(value), self.releases, self.delta)

    def cost(self, value: float) -> float:
        """The epsilon that is proved at a value; inf where the mechanism refuses the value."""
        try:
            return self.proof(value).epsilon
        except InputError:
            return math.inf

    def is_known(self) -> bool:
        """Whether an epsilon is proved at some value."""
        return any(math.isfinite(self.cost(value)) for value in (1e-3, 0.1, 1.0, 1e3))

    def least_noise(self, epsilon: float) -> float | None:
        """The value that costs epsilon or a millionth less; None if there is none.

        ``strength`` is the value's logarithm, with the sign with which more is more private.
        """
        sign = 1.0 if self.opened.more_is_more_private else -1.0

        def enough(strength: float) -> bool:
            return self.cost(math.exp(sign * strength)) <= epsilon

        start = next((s for s in _STRENGTHS if enough(s)), None)
        if start is None and self.is_known():
            # Some mechanisms take only a narrow range of values.
            start = next((0.1 * i for i in range(200) if enough(0.1 * i)), None)
        if start is None:
            return None
        low, high = start - 1.0, start
        while enough(low):
            low, high = low - (high - low) * 2.0, low
            if low < math.log(_LOW):
                return None  # epsilon does not depend on this value
        while high - low > 1e-7:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if enough(middle) else (middle, high)
        found = math.exp(sign * high)
        if high < start and self.cost(found) == self.cost(math.exp(sign * start)):
            return None  # nor up to the last value that is allowed
        return self._rounded(found, sign > 0.0, epsilon)

    def _rounded(self, value: float, up: bool, epsilon: float) -> float:
        """The value to six digits, rounded towards more privacy."""
        # The search may end a little short of a round number that keeps the budget, too.
        for slack in (0.25, 0.0):
            found = to_digits(value, _DIGITS, up, slack)
            if self.cost(found) <= epsilon:
                return found
        return value


def _given(entry: MechanismEntry, settings: Mapping[str, Any]) -> dict[str, Any]:
    for name in settings:
        if name not in entry.settings:
            raise InputError(
                f"{entry.name} has no setting {name!r}"
                f"{nearest(name, entry.settings)}; it has: {', '.join(entry.settings)}"
            )
    return dict(settings)


def least_noise(
    entry: MechanismEntry,
    *,
    epsilon: float,
    delta: float,
    releases: int,
    settings: Mapping[str, Any],
) -> ReleasePlan:
    """The plan of ``plan_releases`` for an entry of the catalogue."""
    epsilon = _EPSILON.read("epsilon", epsilon)
    delta = _DELTA.read("delta", delta)
    releases = _RELEASES.read("releases", releases)
    if entry.broken:
        raise InputError(
            f"{entry.name} is broken: its guarantee does not hold, and no amount of noise "
            "is planned from it"
        )
    given = _given(entry, settings)
    if "delta_t" in entry.settings and "delta_t" not in given and delta > 0.0:
        given["delta_t"] = _TEST_SHARE * delta / releases
    entry.read(given)  # refuses what is wrong before anything is sought
    tried, search = [], _Search(entry, given, _Open((), True), releases, delta)
    for opened in _OPEN:
        names = opened.names
        if any(n in given or n not in entry.settings for n in names):
            continue
        search = search._replace(opened=opened)
        tried.append(" and ".join(names))
        value = search.least_noise(epsilon)
        if value is not None:
            one = search.one(value)
            scales = {} if one.known is None else one.known.scales
            return ReleasePlan(
                entry.name,
                search.settings(value),
                dict.fromkeys(names, value),
                releases,
                delta,
                search.proof(value),
                composed(one, 1, delta),
                scales,
            )
    raise InputError(_why_not(search, tried, epsilon))


def _why_not(search: _Search, tried: list[str], epsilon: float) -> str:
    entry, delta = search.entry, search.delta
    if search.is_known():
        return (
            f"no {' or '.join(tried)} makes {entry.name}, other settings as they are, "
            f"meet epsilon {epsilon:g} at delta = {delta:g}; take a larger epsilon or "
            "delta, fewer releases, or other settings"
        )
    fixed = [n for opened in _OPEN for n in opened.names if n in search.given]
    if fixed:
        return f"nothing is left to find for {entry.name}; leave out {' and '.join(fixed)}"
    return (
        f"of {entry.name} no pure epsilon or Renyi curve is known with these settings at "
        f"delta = {delta:g}, so that no plan follows"
    )
