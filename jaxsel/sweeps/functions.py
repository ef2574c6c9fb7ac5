"""A function as the subject of a sweep: called once a cell, it says what runs there.

Its parameters are the settings, each with a domain; those whose default is ``over(...)``
are the axes. It returns a ``Trial``. The mechanism is made once, outside of the function,
and numbers come back as data and params, so that all cells share one compiled program.
"""

import dataclasses
import functools
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import FiniteLaw, Mechanism, Pair, outcome_itself
from jaxsel.language.domains import Domain, Parsed, number, parsed, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values
from jaxsel.language.utility import MEANINGS, Utility


class Trial(NamedTuple):
    """What one cell of a sweep simulates.

    Attributes:
      mechanism: what runs; the same object in every cell that differs in numbers only.
      data, params: its input.
      pairs: neighbouring inputs, for the measures "audited" and "exact_epsilon".
      guarantee: from ``language.entry.guarantee``: the published claim of a pure epsilon
        that covers the pairs, and what it is evaluated at; None for none.
      utility: Float64["events"] by name, one of ``language.utility.MEANINGS``: what each
        event is worth.
    """

    mechanism: Mechanism
    data: Any = ()
    params: Any = MappingProxyType({})
    pairs: tuple[Pair, ...] = ()
    guarantee: Guarantee | None = None
    utility: Utility = MappingProxyType({})


class Over(NamedTuple):
    """The values of an axis: what a parameter has as its default."""

    values: tuple[Any, ...] | Mapping[str, Any]


def over(*values: Any) -> Any:
    """The values of an axis, as the default of a parameter of a cell function.

    Args:
      *values: numbers or words; or one mapping of objects by the names that are their
        coordinates.

    Example:
        >>> from jaxsel import over
        >>> over(0.5, 1.0).values
        (0.5, 1.0)
    """
    if len(values) == 1 and isinstance(values[0], Mapping):
        if not all(isinstance(name, str) and name for name in values[0]):
            raise InputError(
                "an axis of objects names each with a word; give a mapping"
            )
        values = values[0]  # type: ignore[assignment]
    if not values:
        raise InputError("an axis has no values; give over(...) at least one")
    return Over(values)


@functools.cache
def _own(sample, events, law, prepare, resolution, name) -> Mechanism:
    def labels(data: Any, params: Any) -> tuple[str, ...]:
        del data, params
        return events

    def exact(data: Any, params: Any) -> FiniteLaw:
        assert law is not None
        return FiniteLaw(np.asarray(law(data, params), np.float64), events)

    known = None if law is None else exact
    return Mechanism(prepare, sample, outcome_itself, labels, known, resolution, name)


def _as_it_is(data: Any, params: Any) -> tuple[Any, Any]:
    return data, params


def own_mechanism(
    sample: Callable[[Any, Any, Any], Any],
    events: Iterable[str],
    law: Callable[[Any, Any], Any] | None = None,
    *,
    prepare: Callable[[Any, Any], tuple[Any, Any]] = _as_it_is,
    resolution: float = 2.0**-52,
) -> Mechanism:
    """A mechanism from a function that draws one trial.

    Args:
      sample: ``(key, data, params) -> event``: one trial, a number in [0, events), by
        ``jaxsel.kernel.noise`` with ``key``, or by ``jax.random`` with ``key.jax()``.
      events: what the numbers mean, in words.
      law: ``(data, params) -> probabilities`` of the events, exact; None if not known.
      prepare: ``(data, params) -> (data, params)``, on the host, before the trials: turns
        the input into arrays.
      resolution: the smallest probability that the noise resolves.

    Returns:
      The same object for the same functions, wherever it is called.
    """
    words = tuple(str(event) for event in events)
    if not words:
        raise InputError("a mechanism has at least one event; give words for events")
    return _own(sample, words, law, prepare, resolution, sample.__qualname__)


@dataclasses.dataclass(frozen=True)
class Named(Parsed):
    """One of a few objects, by name."""

    options: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def describe(self) -> str:
        """See ``Domain``."""
        return f"one of: {', '.join(self.options)}"

    def read(self, name: str, value: Any) -> Any:
        """See ``Domain``: the object of that name, or the object itself."""
        if isinstance(value, str) and value in self.options:
            return self.options[value]
        if not any(value is option for option in self.options.values()):
            self.refuse(name, value)
        return value


class CellFunction(NamedTuple):
    """A cell function, read.

    Attributes:
      function: what is called once a cell.
      name: of the function.
      place: where the command line finds it, "file.py:name"; "" if it cannot.
      settings: the domains of its parameters, by name, with their defaults.
      axes: the values of those that are axes by default.
    """

    function: Callable[..., Trial]
    name: str
    place: str
    settings: Mapping[str, Domain]
    axes: Mapping[str, Any]

    def build(self, values: Values) -> Built:
        """What runs at these values.

        Raises:
          InputError: if a parameter has no value, or the function returns no ``Trial``.
        """
        lacking = [name for name in self.settings if name not in values]
        if lacking:
            raise InputError(f"{self.name} needs {lacking[0]}; give it a value")
        trial = self.function(**values)
        if not isinstance(trial, Trial):
            raise InputError(
                f"{self.name} returns {type(trial).__name__}; a function that is swept "
                "returns a jaxsel.Trial(mechanism, data, params)"
            )
        unknown = [name for name in trial.utility if name not in MEANINGS]
        if unknown:
            raise InputError(
                f"{self.name} has a utility {unknown[0]!r}; it must be one of: "
                f"{', '.join(MEANINGS)}"
            )
        entry = MechanismEntry(
            self.name,
            (),
            inspect.getdoc(self.function) or "",
            broken=False,
            settings=self.settings,
            make=lambda values: Built(trial.mechanism, trial.data, trial.params),
            make_pairs=lambda values: trial.pairs,
            guarantee=lambda values, pair: trial.guarantee,
            utility=lambda values, labels: {
                name: np.asarray(worth, np.float64)
                for name, worth in trial.utility.items()
            },
        )
        return Built(trial.mechanism, trial.data, trial.params, entry, values)


def read_function(function: Callable[..., Trial]) -> CellFunction:
    """A cell function with the domains of its parameters.

    Raises:
      InputError: for a parameter of which nothing says what values it takes.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InputError(
            f"the annotations of {function.__qualname__} cannot be read: {error}"
        ) from None
    settings, axes = {}, {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(
                f"{function.__qualname__} takes any arguments ({parameter}); name the "
                "settings of a cell one by one"
            )
        default: Any = parameter.default
        first = default
        if isinstance(default, Over):
            axes[name] = list(default.values)
            first, default = next(iter(default.values)), None
        elif default is parameter.empty:
            first = default = None
        if isinstance(parameter.default, Over) and isinstance(
            parameter.default.values, Mapping
        ):
            domain: Domain | None = Named(
                "", None, options=MappingProxyType(dict(parameter.default.values))
            )
        else:
            domain = _domain(hints.get(name), first)
        if domain is None:
            raise InputError(
                f"nothing says what values {name} of {function.__qualname__} takes; "
                f'annotate it, {name}: Annotated[float, jaxsel.domains.positive("what '
                'it is")], or give it a number or over(...) as its default'
            )
        settings[name] = dataclasses.replace(domain, default=default)
    return CellFunction(
        function, function.__qualname__, _place(function), settings, axes
    )


def _domain(hint: Any, first: Any) -> Domain | None:
    """The domain that is declared, else what a type or a value suggests."""
    for part in typing.get_args(hint):
        if isinstance(part, Domain):
            return part
    kind = type(first) if hint is None else hint
    return {float: number(), int: whole(), str: parsed(str, "a word")}.get(kind)


def _place(function: Callable[..., Any]) -> str:
    file = inspect.getsourcefile(inspect.unwrap(function))
    if file is None or "<" in function.__qualname__ or not Path(file).exists():
        return ""
    return f"{Path(file).resolve()}:{function.__qualname__}"


def is_place(text: str) -> bool:
    """Whether a text names a function of a file: "path/to/file.py:name"."""
    path, colon, _ = text.rpartition(":")
    return bool(colon) and path.endswith(".py")


def load(text: str) -> Callable[..., Trial]:
    """The function of a file; the file is run as a module, not as a script.

    Args:
      text: "path/to/file.py:name".

    Raises:
      InputError: if there is no such file or function.
    """
    file, _, name = text.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError(f"there is no file {file}; name one as file.py:function")
    module = _module(path, path.stat().st_mtime_ns)
    found: Any = getattr(module, name, None)
    if not inspect.isfunction(found):
        known = [
            each for each, thing in vars(module).items()
            if inspect.isfunction(thing) and thing.__module__ == module.__name__
        ]  # fmt: skip
        raise InputError(
            f"{file} has no function {name!r}; it has: {', '.join(known) or 'none'}"
        )
    return found


@functools.cache
def _module(path: Path, changed_at: int) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # What it imports beside it is found, as if it were run.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    # Where dataclasses look their module up; another module of that name stays.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
