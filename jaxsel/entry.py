"""What the catalogue keeps of a mechanism: settings, neighbouring pairs, guarantee."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jaxsel.base import Mechanism, Pair
from jaxsel.domains import Domain, read_values

Values = Mapping[str, Any]


class Built(NamedTuple):
    """A mechanism with one input."""

    mechanism: Mechanism
    data: Any
    params: dict[str, Any]


class Guarantee(NamedTuple):
    """What is proven (or, of a broken mechanism, hoped for): a claim at some parameters.

    The number is the claim's own: ``jaxsel.catalogue.guaranteed_epsilon``.

    Attributes:
      claim: id of a claim whose ``evaluate`` returns a pure epsilon.
      parameters: what it is evaluated at.
    """

    claim: str
    parameters: Mapping[str, Any]


def guarantee(claim: str, **parameters: Any) -> Guarantee:
    """The claim of that id, at these parameters."""
    return Guarantee(claim, parameters)


def no_guarantee(values: Values, pair: Pair) -> None:
    """Of a mechanism without a proven pure epsilon."""
    del values, pair


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
    """

    name: str
    ids: tuple[str, ...]
    summary: str
    broken: bool
    settings: Mapping[str, Domain]
    make: Callable[[Values], Built]
    make_pairs: Callable[[Values], tuple[Pair, ...]]
    guarantee: Callable[[Values, Pair], Guarantee | None] = no_guarantee

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
            from jaxsel.tables import from_law

            default = self.settings["method"].default
            built = self.make(values | {"method": default})
            return built._replace(mechanism=from_law(built.mechanism))
        return self.make(values)

    def pairs(self, given: Values) -> tuple[Pair, ...]:
        """The constructed neighbouring pairs at these settings."""
        return self.make_pairs(self.read(given))


# To be replaced: values as text.
Settings = Mapping[str, str]
