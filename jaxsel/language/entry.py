"""Entries of the catalogue: the mechanisms by name, each a function of its settings."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.host.former_names import former_names, warn
from jaxsel.language.base import Mechanism, Pair
from jaxsel.language.declared import find_published
from jaxsel.language.domains import Choice, Domain, read_values
from jaxsel.language.printing import Summary, as_html, source_place, text
from jaxsel.language.signature import read_signature
from jaxsel.language.trial import Guarantee, Trial, Values


def shown(value: Any) -> str:
    """The value of a setting, as one would write it."""
    if value is None or value is inspect.Parameter.empty:
        return ""
    if isinstance(value, np.ndarray):
        return ",".join(f"{number:g}" for number in value.ravel())
    return str(getattr(value, "name", value))


@dataclasses.dataclass(frozen=True)
class Method(Choice):
    """How trials are drawn: by samplers of the mechanism's own, or from its exact law.

    Attributes:
      from_law: makes of a mechanism the one that samples from its exact law; used where the
        setting is "law", which the entry's function therefore never sees.
    """

    from_law: Callable[[Mechanism], Mechanism] = lambda mechanism: mechanism


def guarantee(claim: str, **parameters: Any) -> Guarantee:
    """The claim of that id, evaluated at these parameters: no second number.

    Raises:
      InputError: if there is no such claim, or a parameter lies outside its domain.
    """
    found = find_published(claim)
    if found is None:
        raise InputError(f"there is no claim {claim!r}, and so no guarantee")
    return Guarantee(found.id, found.evaluate(**parameters))


def supplied(**settings: Any) -> dict[str, Any]:
    """The settings that are not left out."""
    return {name: value for name, value in settings.items() if value is not None}


class MechanismEntry:
    """A mechanism of the catalogue: a function of its settings that returns a ``Trial``.

    Made by ``mechanism``, which decorates the function. Called with values of its settings, as
    text or as values, it is the mechanism with one input.

    Attributes:
      name: what the command line calls it: the function's name.
      ids: the places in papers that define it, for example "LT-Alg2".
      summary: one sentence: the function's docstring.
      broken: True if it does not have the privacy that one might hope for.
      settings: their domains, with defaults, by name.
      generic: settings without the special values that the defaults have (such as one
        round, gamma = 1, no ties); the self-checks try the mechanism at both.
      module, place: where it is declared: the module, and "file:line".
    """

    def __init__(
        self, function: Callable[..., Trial], ids: tuple[str, ...], broken: bool, generic: str
    ):
        self._signature = read_signature(function)
        self.name, self.module = function.__name__, function.__module__
        self.ids, self.broken = ids, broken
        self.summary = " ".join((inspect.getdoc(function) or "").split())
        self.settings: Mapping[str, Domain] = self._signature.settings
        self.generic: Values = MappingProxyType(_read_words(generic))
        self.place = source_place(function)
        if not self.summary:
            raise TypeError(f"{self.place}: the function says nothing of its mechanism")
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is parameter.empty:
                raise TypeError(f"{self.place}: {name} has no default")
        method = self.settings.get("method")
        if "law" in getattr(method, "options", ()) and not isinstance(method, Method):
            # Only ``methods(...)`` says how to draw from the exact law: "law" would do nothing.
            raise TypeError(f"{self.place}: method offers law; declare it by methods(...)")

    def __call__(self, **settings: Any) -> Trial:
        """The mechanism with the input that these settings describe: ``build``."""
        return self.build(settings)

    def read(self, given: Values) -> dict[str, Any]:
        """Typed values of the settings: those given (as text or as values), and defaults.

        Raises:
          InputError: for an unknown setting, or a value outside its domain.
        """
        return read_values(self.name, given, self.settings)

    def build(self, given: Values) -> Trial:
        """The mechanism with its input; "method=law" samples from its exact law."""
        values = self.read(given)
        method = self.settings.get("method")
        if isinstance(method, Method) and values["method"] == "law":
            own = self._signature.call({**values, "method": method.default})
            trial = own._replace(mechanism=lambda: method.from_law(own.mechanism))
        else:
            trial = self._signature.call(values)
        return trial._replace(entry=self, values=values)

    def __repr__(self) -> str:
        return text(self.described(self.read({})))

    def _repr_html_(self) -> str:
        return as_html(self.described(self.read({})))

    def described(self, values: Values) -> Summary:
        """What it does, its settings at these typed values, and the pairs to audit it on."""
        try:
            names = ", ".join(pair.name for pair in self.pairs(values))
        except InputError as error:
            names = f"none ({error})"
        rows = [
            [name, shown(values.get(name)), domain.help] for name, domain in self.settings.items()
        ]
        sentence = f"{self.name}: {self.summary} Pairs: {names}."
        return Summary(sentence, ("setting", "value", "meaning"), rows)

    def pairs(self, given: Values) -> tuple[Pair, ...]:
        """The constructed neighbouring pairs at these settings."""
        return self.build(given).pairs()

    def guarantee(self, given: Values, pair: Pair) -> Guarantee | None:
        """The pure epsilon that is proven for such a pair at these settings, if any is."""
        return self.build(given).guarantee(pair)

    def promised(self, given: Values, pair: Pair) -> Guarantee | None:
        """Former name of ``guarantee``."""
        warn("MechanismEntry.promised", "MechanismEntry.guarantee")
        return self.guarantee(given, pair)


def _read_words(line: str) -> dict[str, str]:
    """Settings as they are written on the command line: "samples=25 shift=3"."""
    return {name: value for name, _, value in (word.partition("=") for word in line.split())}


def mechanism(
    *ids: str, broken: bool = False, generic: str = ""
) -> Callable[[Callable[..., Trial]], MechanismEntry]:
    """Decorates a function that returns a ``Trial``: a mechanism of the catalogue by its name.

    Each parameter of the function is a setting, with its domain in the annotation and a default;
    one whose default is None may be left out. The fields of a parameter whose default is a frozen
    dataclass are settings, too, which several mechanisms share. The function imports JAX in the
    sampler that it gives the trial, so that mechanisms are listed without loading a compiler.
    Its docstring is one sentence that says what is released.

    Args:
      *ids: the places in papers that define it.
      broken: True if it does not have the privacy that one might hope for.
      generic: settings away from every special value, as on the command line; see
        ``MechanismEntry``.
    """
    return lambda function: MechanismEntry(function, ids, broken, generic)


if not TYPE_CHECKING:
    __getattr__ = former_names(
        __name__,
        {"Promise": "jaxsel.language.entry.Guarantee", "Built": "jaxsel.language.trial.Trial"},
    )
