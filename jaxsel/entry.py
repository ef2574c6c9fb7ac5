"""What the catalogue keeps of a mechanism."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jaxsel.base import Mechanism, Pair
from jaxsel.options import Option, read_options
from jaxsel.tables import from_law

__all__ = ["Built", "MechanismEntry", "Settings"]

Settings = Mapping[str, str]


class Built(NamedTuple):
    """A mechanism with one input."""

    mechanism: Mechanism
    data: Any
    params: dict[str, Any]


class MechanismEntry(NamedTuple):
    """A mechanism of the catalogue.

    Attributes:
      name: what the command line calls it.
      ids: the places that define it.
      summary: one sentence.
      broken: True if it does not have the privacy that one might hope for.
      options: settings by name.
      make: settings -> Built.
      make_pairs: settings -> neighbouring pairs, the default one first.
      promise: (settings, pair) -> (claim id, proven pure epsilon on such pairs), or None.
    """

    name: str
    ids: tuple[str, ...]
    summary: str
    broken: bool
    options: Mapping[str, Option]
    make: Callable[[Settings], Built]
    make_pairs: Callable[[Settings], tuple[Pair, ...]]
    promise: Callable[[Settings, Pair], tuple[str, float] | None]

    def build(self, given: Settings) -> Built:
        """Builds the mechanism; "method=law" samples from its exact law."""
        values = read_options(self.name, given, self.options)
        if values.get("method") == "law":
            built = self.make(values | {"method": self.options["method"].default})
            return built._replace(mechanism=from_law(built.mechanism))
        return self.make(values)

    def pairs(self, given: Settings) -> tuple[Pair, ...]:
        """The constructed neighbouring pairs at these settings."""
        return self.make_pairs(read_options(self.name, given, self.options))

    def promised(self, given: Settings, pair: Pair) -> tuple[str, float] | None:
        """The proven (or, if broken, hoped for) pure epsilon for such a pair."""
        return self.promise(read_options(self.name, given, self.options), pair)
