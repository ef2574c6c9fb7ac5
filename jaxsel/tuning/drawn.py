"""How the candidates of a search are drawn: one text, such as "adaptively:n=30", read here alone.

A way stands in ``WAYS`` with its parameters and their domains. What proves something of a search
says which ways it covers (``Drawn.one_of``); all others are refused with a sentence.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, nearest, whole
from jaxsel.language.parts import read_parts


class _Way(NamedTuple):
    """A way to draw candidates.

    Attributes:
      meaning: in words, after "candidates are drawn".
      parameters: by name.
      releases_all: whether all its runs are released with their scores: then there is no law of K,
        and what they cost is the composition of ``n`` runs.
    """

    meaning: str
    parameters: Mapping[str, Domain] = MappingProxyType({})
    releases_all: bool = False


_RUNS = whole("runs, which are all released", at_least=1)

INDEPENDENTLY, GRID, ADAPTIVELY = "independently", "grid", "adaptively"
WAYS: Mapping[str, _Way] = {
    INDEPENDENTLY: _Way("each by itself from the same law, whatever the others were"),
    GRID: _Way("every one of n fixed candidates once", {"n": _RUNS}, releases_all=True),
    ADAPTIVELY: _Way("n in turn, each as earlier noisy scores suggest", {"n": _RUNS}, True),
}
"""Every way to draw candidates, by its name in the text."""


class Drawn(NamedTuple):
    """How the candidates of a search are drawn.

    Attributes:
      way: one of ``WAYS``.
      parameters: of it, by name.
    """

    way: str = INDEPENDENTLY
    parameters: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        """The text that says it."""
        values = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.way}:{values}" if values else self.way

    @property
    def released_runs(self) -> int | None:
        """How many runs are all released; None where only the best of K is."""
        return self.parameters["n"] if WAYS[self.way].releases_all else None

    def one_of(self, asker: str, *ways: str) -> "Drawn":
        """This, for an asker that covers these ways.

        Raises:
          InputError: if it is another way.
        """
        if self.way not in ways:
            covered = " or ".join(f"{way} ({WAYS[way].meaning})" for way in ways)
            raise InputError(
                f"drawn is {self.name}, which {asker} does not cover; it covers: {covered}"
            )
        return self


def read_drawn(given: object) -> Drawn:
    """Reads how candidates are drawn, from a text such as "grid:n=12", or a mapping of its parts.

    Raises:
      InputError: for a way that there is none, or parameters that it does not have or lacks.
    """
    if isinstance(given, Drawn):
        return given
    if isinstance(given, str):
        way, _, rest = (part.strip() for part in given.partition(":"))
        parts: Any = rest
    elif isinstance(given, Mapping):
        parts = {name: value for name, value in given.items() if value is not None}
        way = parts.pop("way", INDEPENDENTLY)
    else:
        raise InputError(f"drawn is {given!r}; give a text such as {INDEPENDENTLY!r}")
    if way not in WAYS:
        raise InputError(
            f"drawn is {way!r}{nearest(str(way), WAYS)}; the ways to draw candidates are: "
            f"{', '.join(map(written, WAYS))}"
        )
    domains = WAYS[way].parameters
    if not parts:
        values: dict[str, Any] = {}
    elif not domains:
        raise InputError(f"drawn is {given!r}; {way} has no parameters")
    else:
        values = read_parts(f"drawn={way}", parts, domains)
    missing = [name for name in domains if name not in values]
    if missing:
        raise InputError(f"drawn is {given!r}; write {written(way)}")
    return Drawn(way, values)


def written(way: str) -> str:
    """The form of the text of a way, such as "grid:n=..."."""
    names = ",".join(f"{name}=..." for name in WAYS[way].parameters)
    return f"{way}:{names}" if names else way
