"""Entries of the catalogue: a mechanism's settings, neighbouring pairs and guarantee."""

import dataclasses
import enum
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.host.former_names import former_names, warn
from jaxsel.language.base import Mechanism, Pair, Relation
from jaxsel.language.declared import find_published
from jaxsel.language.domains import Choice, Domain, read_values
from jaxsel.language.printing import Summary, as_html, source_place, text
from jaxsel.language.trial import Guarantee, Trial, Values
from jaxsel.language.utility import Utility

F = TypeVar("F", bound=Callable[..., Any])


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
      from_law: makes of a mechanism one that is sampled from its law, where "law" is chosen.
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
    return Guarantee(claim, found.evaluate(**parameters))


class Role(enum.Enum):
    """Marks a setting of a mechanism that is not one of the parameters of its sampler.

    It stands beside the domain: ``Annotated[Any, numbers("scores"), DATA]``.
    """

    DATA = "data"  # the mechanism's input, which is private
    FIXED = "fixed"  # chosen when the mechanism is made; another value is another program
    PAIRS = "pairs"  # used by the constructed pairs alone


DATA, FIXED, PAIRS = Role.DATA, Role.FIXED, Role.PAIRS

# (name, data, neighbour, relation, why), or a whole Pair where the parameters are others.
Neighbours = Iterable[tuple[str, Any, Any, Relation, str] | Pair]


def no_utility(values: Values, labels: tuple[str, ...]) -> Utility:
    """The utility of a mechanism whose events are not ranked: none."""
    del values, labels
    return {}


@dataclasses.dataclass(eq=False, repr=False)
class MechanismEntry:
    """A mechanism of the catalogue: its factory, and what is known of it.

    Made by ``mechanism``, which decorates the factory. Called with values of its settings,
    it is the mechanism with one input.

    Attributes:
      name: what the command line calls it.
      ids: the places in papers that define it, for example "LT-Alg2".
      summary: one sentence.
      broken: True if it does not have the privacy that one might hope for.
      settings: their domains, with defaults, by name.
      make: values of the settings, each of its own type -> (mechanism, data, params).
      make_pairs: values -> neighbouring pairs, the default one first.
      make_guarantee: (values, pair) -> the pure epsilon proven for such pairs, or None.
      generic: settings without the special values that the defaults have (such as one
        round, gamma = 1, no ties); the self-checks try the mechanism at both.
      utility: (values, labels of the events) -> what each event is worth; {} where
        events are not ranked.
      module, place: where it is declared: the module, and "file:line".
    """

    name: str
    ids: tuple[str, ...]
    summary: str
    broken: bool
    settings: Mapping[str, Domain]
    make: Callable[[Values], tuple[Mechanism, Any, dict[str, Any]]]
    make_pairs: Callable[[Values], tuple[Pair, ...]] = lambda values: ()
    make_guarantee: Callable[[Values, Pair], Guarantee | None] = lambda values, pair: None
    generic: Values = dataclasses.field(default_factory=dict)
    utility: Callable[[Values, tuple[str, ...]], Utility] = no_utility
    module: str = ""
    place: str = ""

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
            sampled, data, params = self.make({**values, "method": method.default})
            mechanism = method.from_law(sampled)
        else:
            mechanism, data, params = self.make(values)
        return Trial(
            mechanism,
            data,
            params,
            lambda: self.make_pairs(values),
            lambda pair: self.make_guarantee(values, pair),
            lambda labels: self.utility(values, labels),
            entry=self,
            values=values,
        )

    def __repr__(self) -> str:
        return text(self.described(self.read({})))

    def _repr_html_(self) -> str:
        return as_html(self.described(self.read({})))

    def described(self, values: Values) -> Summary:
        """What it does, its settings at these typed values, and the pairs to audit it on."""
        try:
            names = ", ".join(pair.name for pair in self.make_pairs(values))
        except InputError as error:
            names = f"none ({error})"
        rows = [
            [name, shown(values.get(name)), domain.help] for name, domain in self.settings.items()
        ]
        sentence = f"{self.name}: {self.summary} Pairs: {names}."
        return Summary(sentence, ("setting", "value", "meaning"), rows)

    def pairs(self, given: Values) -> tuple[Pair, ...]:
        """The constructed neighbouring pairs at these settings."""
        return self.make_pairs(self.read(given))

    def guarantee(self, given: Values, pair: Pair) -> Guarantee | None:
        """The pure epsilon that is proven for such a pair at these settings, if any is."""
        return self.make_guarantee(self.read(given), pair)

    def promised(self, given: Values, pair: Pair) -> Guarantee | None:
        """Former name of ``guarantee``."""
        warn("MechanismEntry.promised", "MechanismEntry.guarantee")
        return self.guarantee(given, pair)


class _Factory(MechanismEntry):
    """An entry whose parts are the functions that it decorates."""

    def __init__(
        self,
        function: Callable[..., Mechanism],
        ids: tuple[str, ...],
        broken: bool,
        also: Mapping[str, Domain],
        generic: Values,
        utility: Callable[[Values, tuple[str, ...]], Utility],
    ):
        settings, roles = _settings(function, also)
        summary = " ".join((inspect.getdoc(function) or "").split())
        if not summary:
            raise TypeError(f"{source_place(function)}: the factory says nothing of its mechanism")
        super().__init__(
            function.__name__,
            ids,
            summary,
            broken,
            settings,
            self._built,
            generic=MappingProxyType(dict(generic)),
            utility=utility,
            module=function.__module__,
            place=source_place(function),
        )
        self._make, self._roles = _asking(function, self), roles
        self._read_input: Callable[[Values], tuple[Any, dict[str, Any]]] = self._declared_input
        data = [name for name, role in roles.items() if role is DATA]
        self._data: tuple[str, ...] = tuple(data)

    def _declared_input(self, values: Values) -> tuple[Any, dict[str, Any]]:
        """Data and parameters: the settings that the signature marks as such."""
        data = {name: values[name] for name in self._data}
        params = {name: values[name] for name in values if self._roles[name] is None}
        return data if len(data) != 1 else data[self._data[0]], params

    def _built(self, values: Values) -> tuple[Mechanism, Any, dict[str, Any]]:
        data, params = self._read_input(values)
        return self._make(values), data, dict(params)

    def input(self, function: F) -> F:
        """Decorates a function that computes (data, params) from the settings.

        It is needed where data and parameters are not settings themselves. The function
        takes the settings that it names; an argument ``values`` is all of them.
        """
        self._read_input = _asking(function, self)
        return function

    def neighbours(self, function: Callable[..., Neighbours]) -> Callable[..., Neighbours]:
        """Decorates a function that yields the constructed neighbouring pairs, the default first.

        It takes the settings that it names, and ``data`` and ``params``, the mechanism's
        own input. It yields (name, data, neighbour, relation, why), which makes a ``Pair``
        with the mechanism's parameters, or a ``Pair`` with other parameters.
        """
        asked = _asking(function, self, "data", "params")

        def make_pairs(values: Values) -> tuple[Pair, ...]:
            data, params = self._read_input(values)
            return tuple(
                one
                if isinstance(one, Pair)
                else Pair(one[0], one[1], one[2], one[3], params, one[4])
                for one in asked(values, data=data, params=params)
            )

        self.make_pairs = make_pairs
        return function

    def guarantees(self, function: Callable[..., Guarantee | None]) -> Any:
        """Decorates a function that returns the pure ``guarantee`` that is proven, or None.

        It takes the settings that it names, and ``pair`` and ``params``.
        """
        asked = _asking(function, self, "pair", "params")

        def proven(values: Values, pair: Pair) -> Guarantee | None:
            return asked(values, pair=pair, params=pair.params)

        self.make_guarantee = proven
        return function

    def promises(self, function: Callable[..., Guarantee | None]) -> Any:
        """Former name of ``guarantees``."""
        warn("MechanismEntry.promises", "MechanismEntry.guarantees")
        return self.guarantees(function)


def mechanism(
    *ids: str,
    broken: bool = False,
    also: Mapping[str, Domain] = MappingProxyType({}),
    generic: Values = MappingProxyType({}),
    utility: Callable[[Values, tuple[str, ...]], Utility] = no_utility,
) -> Callable[[Callable[..., Mechanism]], _Factory]:
    """Decorates the factory of a mechanism: the entry has its name, parameters and docstring.

    Each parameter of the factory is a setting. Its annotation holds its domain, and
    ``DATA``, ``FIXED`` or ``PAIRS`` where it is not a parameter of the sampler; a setting
    whose default is None may be left out.
    The factory takes values of the right types and returns the ``Mechanism``. It imports
    in its body what needs JAX, so that mechanisms are listed without loading a compiler.
    Its docstring is one sentence that says what is released.

    Args:
      *ids: the places in papers that define it.
      broken: True if it does not have the privacy that one might hope for.
      also: further settings, which the factory takes as ``**``; they stand before "method".
      generic, utility: as in ``MechanismEntry``.
    """
    return lambda function: _Factory(function, ids, broken, also, generic, utility)


def _settings(
    function: Callable[..., Any], also: Mapping[str, Domain]
) -> tuple[dict[str, Domain], dict[str, Role | None]]:
    """The domain and the role of each of a factory's parameters."""
    hints = typing.get_type_hints(function, include_extras=True)
    settings: dict[str, Domain] = {}
    roles: dict[str, Role | None] = dict.fromkeys(also)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        parts = typing.get_args(hints.get(name))[1:]
        domains = [part for part in parts if isinstance(part, Domain)]
        if not domains or parameter.default is inspect.Parameter.empty:
            raise TypeError(f"{source_place(function)}: {name} declares no domain, or no default")
        if name == "method":
            settings |= also
        settings[name] = dataclasses.replace(domains[0], default=parameter.default)
        roles[name] = next((part for part in parts if isinstance(part, Role)), None)
    return {**settings, **{name: also[name] for name in also if name not in settings}}, roles


def _asking(function: Callable[..., Any], entry: MechanismEntry, *more: str) -> Callable[..., Any]:
    """``function``, called with the settings that it names; a setting left out is None.

    Args:
      more: names of further arguments, which the caller gives.

    Raises:
      TypeError: if it has a parameter without a default that is neither of these.
    """
    parameters = inspect.signature(function).parameters
    names = [n for n, each in parameters.items() if each.kind is not each.VAR_KEYWORD]
    every = len(names) < len(parameters)
    needed = [name for name in names if parameters[name].default is inspect.Parameter.empty]
    for name in needed:
        if name not in (*entry.settings, *more, "values"):
            raise TypeError(f"{source_place(function)}: {entry.name} has no setting {name!r}")

    def call(values: Values, **given: Any) -> Any:
        known = {**values, **given, "values": values}
        wanted = (*values, *names) if every else names
        asked = {name: known[name] for name in wanted if name in known}
        return function(**{**dict.fromkeys(needed), **asked})

    return call


if not TYPE_CHECKING:
    __getattr__ = former_names(
        __name__,
        {"Promise": "jaxsel.language.entry.Guarantee", "Built": "jaxsel.language.trial.Trial"},
    )
