"""Subjects of sweeps: a mechanism of the catalogue, a user's function, or an account.

Besides its own settings, a subject has the parameters of a law of K (``mean``, ``eta``)
and, in accounts, of a base (``noise_multiplier``) as settings; if two have the same name,
it refers to the subject's own, and ``base.delta`` to the other.
"""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxsel.accounting.single_run.base_text import parameter_names
from jaxsel.auditing.functions.audited_function import check_named
from jaxsel.host.errors import InputError
from jaxsel.language.default_delta import DELTA
from jaxsel.language.domains import Domain, Parsed, nearest, number, parsed, read_values, whole
from jaxsel.language.entry import MechanismEntry, Values
from jaxsel.language.subject import settled
from jaxsel.language.trial import Trial
from jaxsel.repetitions import parse
from jaxsel.repetitions.choose import all_parameters
from jaxsel.sweeps import functions
from jaxsel.sweeps.axes import Grid, Value, read_grid
from jaxsel.tuning.base_forms import guarantee_of

# What may be swept, as a person says it.
About = str | MechanismEntry | Trial | Callable[..., Any]

ACCOUNT = "account"
SEED = "seed"

_ACCOUNT_SETTINGS: Mapping[str, Domain] = {
    "base": parsed(
        guarantee_of,
        "a base; see jaxsel list bases",
        "one run",
        default="gaussian:noise_multiplier=4",
    ),
    "repetitions": parsed(
        parse, "a law of K; see jaxsel list repetitions", "law of K", default="geometric:mean=10"
    ),
    "delta": number("of every epsilon", at_least=0.0, below=1.0, default=DELTA),
}
_SEED = whole("of the trials", at_least=0, at_most=2**64 - 1)
# A text to which parameters are added later cannot be parsed yet.
_ANY_TEXT = parsed(str, "text")


class _Name(NamedTuple):
    """The meaning of a name in a sweep.

    Attributes:
      owner: the setting whose text it is a parameter of; "" for a setting or the seed
        itself.
      inner: the name of that parameter.
      domain: of its values.
    """

    owner: str
    inner: str
    domain: Domain


class Subject(NamedTuple):
    """The subject of a sweep.

    Attributes:
      name: of the mechanism or the function, or "account".
      build: values -> the mechanism with its input; None for an account.
      settings: the domains of its settings, by name.
      names: everything that can be set, by name.
      place: text from which ``find_subject`` finds it in another process; "" if it cannot.
      axes: values of the settings that are axes by default.
      function: the user's function; None for others.
      measures: the default measures; () for all that apply.
      kept: settings that are axes even if they have one value.
    """

    name: str
    build: Callable[[Values], Trial] | None
    settings: Mapping[str, Domain]
    names: Mapping[str, _Name]
    place: str
    axes: Mapping[str, Any] = MappingProxyType({})
    function: Callable[..., Any] | None = None
    measures: tuple[str, ...] = ()
    kept: Collection[str] = ()

    def grid(self, given: Mapping[str, Any], zipped: Sequence[Sequence[str]] = ()) -> Grid:
        """The grid of the requested values; arguments as for ``read_grid``."""
        asked = {**self.axes, **given}
        # Settings of a function are in the order of its parameters, others in the order
        # given.
        first = [name for name in self.settings if self.axes and name in asked]
        ordered = {name: asked[name] for name in (*first, *asked)}
        return read_grid(ordered, self.domain, zipped, self.kept)

    def domain(self, name: str) -> Domain:
        """The domain of a setting, of a parameter of one, or of the seed.

        Raises:
          InputError: for an unknown name; the message suggests a similar one.
        """
        if name not in self.names:
            shown = ", ".join(name for name in self.names if "." not in name)
            raise InputError(
                f"{self.name} has no setting {name!r}{nearest(name, self.names)}; it has: {shown}"
            )
        return self.names[name].domain

    def given(self, point: Mapping[str, Value]) -> dict[str, Any]:
        """The subject's own settings at a point, as given and without defaults."""
        given: dict[str, Any] = {}
        inner: dict[str, dict[str, Value]] = {}
        for name, value in point.items():
            owner, own, _ = self.names[name]
            if owner:
                inner.setdefault(owner, {})[own] = value
            elif name != SEED:
                given[name] = value
        for owner, values in inner.items():
            default = str(self.settings[owner].default).partition(":")[0]
            given[owner] = _joined(str(given.get(owner, default)), values)
        return given

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Typed values of all settings, from those given.

        Raises:
          InputError: if one is outside its domain, or if a parameter of a law or base is
            missing.
        """
        return read_values(self.name, given, self.settings)


def _joined(head: str, values: Mapping[str, Value]) -> str:
    """The text of a law or base, with these parameters added."""
    written = ",".join(f"{name}={value}" for name, value in values.items())
    return f"{head}{',' if ':' in head else ':'}{written}"


def _names(settings: Mapping[str, Domain], simulated: bool) -> dict[str, _Name]:
    parts: dict[str, Mapping[str, Domain]] = {}
    # The base of a mechanism is only a name; its parameters are the mechanism's settings.
    if isinstance(settings.get("repetitions"), Parsed):
        parts["repetitions"] = all_parameters()
    if isinstance(settings.get("base"), Parsed):
        parts["base"] = dict.fromkeys(parameter_names(), number())
    found = {
        name: _Name("", name, _ANY_TEXT if name in parts else domain)
        for name, domain in settings.items()
    }
    if simulated:
        found[SEED] = _Name("", SEED, _SEED)
    for owner, domains in parts.items():
        for inner, domain in domains.items():
            meant = found[f"{owner}.{inner}"] = _Name(owner, inner, domain)
            found.setdefault(inner, meant)
    return found


def find_subject(about: About) -> Subject:
    """The subject of that name, or that of a user's function.

    Args:
      about: a mechanism of the catalogue, by its name or with settings that take the place
        of its defaults; "account", "file.py:function", or a function that returns a
        ``Trial``.

    Raises:
      InputError: if there is none.
    """
    if isinstance(about, str):
        check_named(about)
    if isinstance(about, str) and functions.is_place(about):
        about = functions.load(about)
    if not isinstance(about, str | MechanismEntry | Trial):
        return _of_function(about)
    if isinstance(about, str) and about == ACCOUNT:
        names = _names(_ACCOUNT_SETTINGS, simulated=False)
        return Subject(ACCOUNT, None, _ACCOUNT_SETTINGS, names, ACCOUNT)
    entry, chosen = settled(about)
    settings = {
        name: dataclasses.replace(domain, default=chosen.get(name, domain.default))
        for name, domain in entry.settings.items()
    }
    names = _names(settings, simulated=True)
    # What was built in Python is found again by no name.
    place = "" if chosen else entry.name
    return Subject(entry.name, entry.build, settings, names, place)


def _of_function(function: Any) -> Subject:
    if not inspect.isfunction(function):
        raise InputError(
            "a sweep is about a mechanism of the catalogue by its name, about "
            f'"{ACCOUNT}", or about a function that returns a jaxsel.Trial of a '
            f"mechanism of your own, not about {function!r}"
        )
    read = functions.read_function(function)
    settings, said = read.signature.settings, read.declared
    return Subject(
        read.name,
        read.build,
        settings,
        _names(settings, simulated=True),
        read.place,
        read.signature.axes,
        function,
        said.measures,
        read.signature.axes if said.keeps_axes else (),
    )
