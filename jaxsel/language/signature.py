"""What a function takes: its settings, their domains and its axes, read from its signature.

A mechanism of the catalogue, a claim, a law of K, a cell of a sweep and an experiment of a
figure are functions that say what they take in one way::

    epsilon: Annotated[float, positive("of one run")] = 1.0

A parameter whose default is ``over(...)`` is an axis. The fields of a parameter whose default is
a frozen dataclass are settings as well, so that several functions can share settings, their
defaults and derived values.

``read_signature`` reads all of this, ``parameters`` the domains alone. Values outside the domains
are refused by ``validated`` (any function), ``checked`` (the formula of a claim),
``read_arguments`` (what ``base.factory`` is given) and ``read_params`` (the params of a mechanism).
"""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from jaxsel.host.errors import InputError, check_params
from jaxsel.language.domains import Domain, Named, number, parsed, read_values, whole

P = ParamSpec("P")
R = TypeVar("R")


class Over(NamedTuple):
    """The values of an axis, used as the default of a parameter."""

    values: tuple[Any, ...] | Mapping[str, Any]


def over(*values: Any) -> Any:
    """The values of an axis, as the default of a parameter of a cell function.

    Args:
      *values: numbers or texts; or one mapping from coordinates to arbitrary objects.

    Example:
        >>> from jaxsel import over
        >>> over(0.5, 1.0).values
        (0.5, 1.0)
    """
    if len(values) == 1 and isinstance(values[0], Mapping):
        if not all(isinstance(name, str) and name for name in values[0]):
            raise InputError("an axis of objects names each with a word; give a mapping")
        values = values[0]  # type: ignore[assignment]
    if not values:
        raise InputError("an axis has no values; give over(...) at least one")
    return Over(values)


class Signature(NamedTuple):
    """A function and its parsed parameters.

    Attributes:
      function: the function.
      settings: the domains of its settings by name, with their defaults.
      axes: the values of the settings that are axes by default.
      shared: the parameters that are frozen dataclasses, whose fields are settings, with
        their defaults.
    """

    function: Callable[..., Any]
    settings: Mapping[str, Domain]
    axes: Mapping[str, list[Any]]
    shared: Mapping[str, Any]

    def call(self, values: Mapping[str, Any], **others: Any) -> Any:
        """Calls the function.

        Args:
          values: of its settings, by name; others are ignored.
          **others: arguments that are not settings.
        """
        given = {name: _replaced(default, values) for name, default in self.shared.items()}
        names = inspect.signature(self.function).parameters
        own = {name: values[name] for name in names if name in values.keys() - given}
        return self.function(**own, **given, **others)


def _replaced(default: Any, values: Mapping[str, Any]) -> Any:
    """A frozen dataclass with its fields, and those of nested dataclasses, set to the values."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(default):
        inner = getattr(default, field.name)
        if dataclasses.is_dataclass(inner):
            changed[field.name] = _replaced(inner, values)
        elif field.init and field.name in values:
            changed[field.name] = values[field.name]
    return dataclasses.replace(default, **changed)


def _fields(default: Any) -> Iterator[tuple[str, Domain]]:
    hints = typing.get_type_hints(type(default), include_extras=True)
    for field in dataclasses.fields(default):
        value = getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            yield from _fields(value)
        elif (domain := _declared(hints[field.name])) is not None:
            yield field.name, dataclasses.replace(domain, default=value)


def read_signature(function: Callable[..., Any], without: Collection[str] = ()) -> Signature:
    """Reads the settings of a function.

    Args:
      function: a function without ``*args`` or ``**kwargs``.
      without: the names of parameters that are not settings.

    Raises:
      InputError: for a parameter whose domain is neither declared nor evident.
    """
    called = function.__qualname__
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InputError(f"the annotations of {called} cannot be read: {error}") from None
    settings: dict[str, Domain] = {}
    axes, shared = {}, {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in without:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(
                f"{called} takes any arguments ({parameter}); name the settings of a "
                "cell one by one"
            )
        default: Any = parameter.default
        if dataclasses.is_dataclass(default):
            shared[name] = default
            for field, domain in _fields(default):
                if settings.setdefault(field, domain).default != domain.default:
                    raise InputError(f"{called} has two settings {field}; rename one")
            continue
        if isinstance(default, Over):
            axes[name] = list(default.values)
        settings[name] = _setting(name, called, hints.get(name), default)
    return Signature(function, MappingProxyType(settings), axes, shared)


def _setting(name: str, called: str, hint: Any, default: Any) -> Domain:
    """The declared domain, or else one inferred from the type or the default."""
    first = default
    if isinstance(default, Over):
        if isinstance(default.values, Mapping):
            options = MappingProxyType(dict(default.values))
            return Named("", None, options=options)
        first, default = default.values[0], None
    elif default is inspect.Parameter.empty:
        first = default = None
    domain = _declared(hint)
    if domain is None:
        kind = type(first) if hint is None else hint
        domain = {float: number(), int: whole(), str: parsed(str, "a word")}.get(kind)
    if domain is None:
        raise InputError(
            f"nothing says what values {name} of {called} takes; annotate it, {name}: "
            'Annotated[float, jaxsel.domains.positive("what it is")], or give it a '
            "number or over(...) as its default"
        )
    return dataclasses.replace(domain, default=default)


def _declared(hint: Any) -> Domain | None:
    """The domain that an annotation, or one of several in a union, declares."""
    parts = typing.get_args(hint)
    inner = [_declared(part) for part in parts if typing.get_origin(part) is typing.Annotated]
    return next((part for part in (*parts, *inner) if isinstance(part, Domain)), None)


@functools.cache
def parameters(function: Callable[..., Any]) -> Mapping[str, Domain]:
    """The domains of the parameters of a function of this package, with their defaults.

    Raises:
      InputError: for a parameter whose domain is neither declared nor evident.
    """
    return read_signature(function).settings


class _Declared(NamedTuple):
    """The domain of a parameter, its default, and whether it may be None."""

    domain: Domain
    default: Any
    optional: bool


@functools.cache
def _declarations(function: Callable[..., Any]) -> Mapping[str, _Declared]:
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name)
        domain = _declared(hint)
        if domain is not None:
            types = typing.get_args(hint)
            optional = type(None) in (*types, *typing.get_args(types[0]))
            found[name] = _Declared(domain, parameter.default, optional)
    return found


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function to read its arguments by the domains that its annotations declare.

    Each domain checks its argument and converts it, for example a text to a number. Arguments of
    parameters without a domain, and those that are the default, are passed on as they are.

    Raises:
      InputError: for the first argument outside its domain.
    """
    names = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        by_position = read_arguments(function, dict(zip(names, args, strict=False)))
        # What is given beyond the parameters, or twice, is Python's to refuse.
        beyond = args[len(names) :]
        by_name = read_arguments(function, kwargs)
        return function(*by_position.values(), *beyond, **by_name)  # type: ignore[call-arg]

    return call


def read_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given arguments of a function, by name, each converted by the domain of its annotation.

    Raises:
      InputError: for the first argument outside its domain.
    """
    read = dict(given)
    for name, (domain, default, optional) in _declarations(function).items():
        left_out = name not in read or read[name] is default or (optional and read[name] is None)
        if not left_out:
            read[name] = domain.read(name, read[name])
    return read


def read_params(params: Any, required: Any = None, optional: Any = None) -> dict[str, Any]:
    """The parameters of a mechanism, read by their domains.

    Args:
      params: as they were given to the mechanism, by name.
      required: the domains of those that must be there by name: a ``Domain``, or an annotation
        that declares one; None for a parameter that the caller reads.
      optional: likewise, of those that may be there.

    Raises:
      InputError: for a parameter that is missing, unknown or outside its domain.
    """
    known = {**(required or {}), **(optional or {})}
    check_params(params, required or (), optional or ())
    domains = {name: _declared(hint) or hint for name, hint in known.items()}
    return {
        name: value if domains[name] is None else domains[name].read(name, value)
        for name, value in params.items()
    }


def checked(function: Callable[..., float]) -> Callable[..., float]:
    """The formula of a claim, refusing values outside the domains that its signature declares.

    It takes its parameters by name, as values or as text, and returns a float.
    """

    @functools.wraps(function)
    def call(**given: Any) -> float:
        values = read_values("it", given, parameters(function))
        return float(function(**values))

    return call
