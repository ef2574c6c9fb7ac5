"""What the catalogue keeps of a mechanism: settings, neighbouring pairs, guarantee."""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import Mechanism, Pair
from jaxsel.language.declared import find_published
from jaxsel.language.domains import Domain, read_values
from jaxsel.language.printing import Summary, printed
from jaxsel.language.utility import Utility

Values = Mapping[str, Any]


@printed
class Built(NamedTuple):
    """A mechanism with one input.

    Attributes:
      mechanism: what runs.
      data, params: its input.
      entry: what the catalogue keeps of it; filled in by ``MechanismEntry.build``.
      values: the settings that it was built with, likewise.
      statistic: what is kept of a trial; None: the event.
      beside: numbers or arrays by name that a sweep shows beside its tallies.
    """

    mechanism: Mechanism
    data: Any
    params: dict[str, Any]
    entry: "MechanismEntry | None" = None
    values: Values = MappingProxyType({})
    statistic: Any = None
    beside: Values = MappingProxyType({})

    def pairs(self) -> tuple[Pair, ...]:
        """Its constructed neighbouring pairs, the default one first."""
        return () if self.entry is None else self.entry.make_pairs(self.values)

    def pair(self, name: str | None = None) -> Pair:
        """The pair of that name, by default the first.

        Raises:
          InputError: if there is none.
        """
        pairs = self.pairs()
        for pair in pairs:
            if name in (None, pair.name):
                return pair
        names = ", ".join(pair.name for pair in pairs) or "none"
        owner = self.mechanism.name if self.entry is None else self.entry.name
        raise InputError(f"{owner} has no pair {name!r}; it has: {names}")

    def summary(self) -> Summary:
        """What it does, its settings, and the pairs to audit it on."""
        if self.entry is None:
            return Summary(f"{self.mechanism.name} with one input.")
        try:
            names = ", ".join(pair.name for pair in self.pairs())
        except InputError as error:
            names = f"none ({error})"
        rows = [
            [name, shown(self.values.get(name)), domain.help]
            for name, domain in self.entry.settings.items()
        ]
        sentence = f"{self.entry.name}: {self.entry.summary} Pairs: {names}."
        return Summary(sentence, ("setting", "value", "meaning"), rows)


def shown(value: Any) -> str:
    """The value of a setting, as one would write it."""
    if value is None or value is inspect.Parameter.empty:
        return ""
    if isinstance(value, np.ndarray):
        return ",".join(f"{number:g}" for number in value.ravel())
    if hasattr(value, "pgf_tail"):
        from jaxsel.repetitions import describe

        return describe(value)
    return str(getattr(value, "name", value))


class Guarantee(NamedTuple):
    """What is proven (or, of a broken mechanism, hoped for): a claim at some parameters.

    The number is the claim's own: ``MechanismEntry.promised``.

    Attributes:
      claim: id of a claim whose ``evaluate`` returns a pure epsilon.
      parameters: what it is evaluated at.
    """

    claim: str
    parameters: Mapping[str, Any]


class Promise(NamedTuple):
    """A guarantee as a number.

    Attributes:
      claim: id of the claim that proves it (or, of a broken mechanism, hopes for it).
      epsilon: pure, the claim evaluated.
    """

    claim: str
    epsilon: float


def guarantee(claim: str, **parameters: Any) -> Guarantee:
    """The claim of that id, at these parameters."""
    return Guarantee(claim, parameters)


def no_guarantee(values: Values, pair: Pair) -> None:
    """Of a mechanism without a proven pure epsilon."""
    del values, pair


def no_utility(values: Values, labels: tuple[str, ...]) -> Utility:
    """Of a mechanism whose events are not ranked."""
    del values, labels
    return {}


class MechanismEntry(NamedTuple):
    """A mechanism of the catalogue.

    Attributes:
      name: what the command line calls it.
      ids: the places that define it.
      summary: one sentence.
      broken: True if it does not have the privacy that one might hope for.
      settings: their domains, with defaults, by name.
      make: typed values of the settings -> Built.
      make_pairs: values -> neighbouring pairs, the default one first.
      guarantee: (values, pair) -> the pure epsilon proven for such pairs, or None.
      elsewhere: settings away from every special value of the defaults (one round, gamma
        = 1, no ties), at which the self-checks try the mechanism as well.
      utility: (values, labels of the events) -> what each event is worth; {} where
        events are not ranked.
    """

    name: str
    ids: tuple[str, ...]
    summary: str
    broken: bool
    settings: Mapping[str, Domain]
    make: Callable[[Values], Built]
    make_pairs: Callable[[Values], tuple[Pair, ...]]
    guarantee: Callable[[Values, Pair], Guarantee | None] = no_guarantee
    elsewhere: Values = MappingProxyType({})
    utility: Callable[[Values, tuple[str, ...]], Utility] = no_utility

    def read(self, given: Values) -> dict[str, Any]:
        """Typed values of the settings: those given (as text or as values), and defaults.

        Raises:
          InputError: for an unknown setting, or a value outside its domain.
        """
        return read_values(self.name, given, self.settings)

    def build(self, given: Values) -> Built:
        """Builds the mechanism; "method=law" samples from its exact law."""
        values = self.read(given)
        if values.get("method") == "law":
            from jaxsel.kernel.tables import from_law

            default = self.settings["method"].default
            built = self.make(values | {"method": default})
            built = built._replace(mechanism=from_law(built.mechanism))
        else:
            built = self.make(values)
        return built._replace(entry=self, values=values)

    def pairs(self, given: Values) -> tuple[Pair, ...]:
        """The constructed neighbouring pairs at these settings."""
        return self.make_pairs(self.read(given))

    def promised(self, given: Values, pair: Pair) -> Promise | None:
        """The pure epsilon that is proven for such a pair at these settings, if any is."""
        found = self.guarantee(self.read(given), pair)
        if found is None:
            return None
        claim = find_published(found.claim)
        assert claim is not None, f"{found.claim} is not declared"
        return Promise(found.claim, claim.evaluate(**found.parameters))
