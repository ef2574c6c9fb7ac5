"""The request for a sweep, from a TOML file, from the command line, or from both."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.host.former_names import warn
from jaxsel.host.reading import read_text
from jaxsel.language.domains import nearest, parsed
from jaxsel.language.parts import read_parts

if TYPE_CHECKING:
    from jaxsel.sweeps.planning import Plan

_AXES = {
    "x": parsed(str, "the name of an axis", "along the picture"),
    "hue": parsed(str, "the name of an axis", "told apart by colour"),
    "facet": parsed(str, "the name of an axis", "told apart by panel"),
}


class SweepRequest(NamedTuple):
    """A sweep as it is requested, with texts that are not parsed yet.

    Attributes:
      sweep: the mechanism, or "account".
      settings: values by name, as text or lists.
      measures: names; () for the default.
      zip: groups of settings whose values go together.
      trials, seed, delta, confidence: as for ``jaxsel.sweep``; None for the default.
      record, plot: files to write; None for none.
      table: files to write, .csv or .parquet.
      axes: of the picture, x, hue and facet, as one text or a mapping; those that are missing are
        chosen.
    """

    sweep: str
    settings: Mapping[str, Any]
    measures: Sequence[str] = ()
    zip: Sequence[Sequence[str]] = ()
    trials: float | None = None
    seed: int | None = None
    delta: float | None = None
    confidence: float | str | None = None
    record: str | None = None
    table: Sequence[str] = ()
    plot: str | None = None
    axes: str | Mapping[str, str] | None = None

    def options(self) -> dict[str, Any]:
        """The options of ``jaxsel.sweep`` that were given."""
        names = ("trials", "seed", "delta", "confidence")
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}

    def plan(self) -> "Plan":
        """The plan of it; see ``jaxsel.sweeps.planning.make_plan``."""
        from jaxsel.sweeps.planning import make_plan

        return make_plan(
            self.sweep, self.settings, self.measures, self.zip, self.options(), progress=None
        )

    def picture_axes(self) -> dict[str, str]:
        """The axes of the picture that are chosen, by x, hue and facet.

        Raises:
          InputError: for another word than these.
        """
        return {} if self.axes is None else read_parts("axes", self.axes, _AXES)


# The type that each key must have in a file.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "sweep": (str,),
    "settings": (dict,),
    "measures": (list,),
    "zip": (list,),
    "trials": (int, float),
    "seed": (int,),
    "delta": (int, float),
    "confidence": (int, float, str),
    "table": (list,),
    "axes": (dict, str),
}
_FORMER = {"csv": "table", "parquet": "table", "x": "axes", "hue": "axes", "facet": "axes"}
"""Keys until 0.2.0, and those into which they are written."""


def _today(path: str | Path, found: dict[str, Any]) -> dict[str, Any]:
    """The keys of a file, with today's in place of former ones."""
    former = [key for key in found if key in _FORMER]
    today = {key: value for key, value in found.items() if key not in _FORMER}
    for key in former:
        warn(f"the key {key} of {path}", f"a part of {_FORMER[key]}", stacklevel=3)
        if _FORMER[key] == "table":
            today["table"] = [*today.get("table", []), found[key]]
        else:
            today["axes"] = {**today.get("axes", {}), key: found[key]}
    return today


def read_toml(path: str | Path) -> SweepRequest:
    """Reads a request from a file: keys as in ``SweepRequest``, settings in a table ``[settings]``.

    Raises:
      InputError: if it cannot be read, or a key is unknown or of another type.
    """
    text = read_text(path, "TOML")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    found = _today(path, found)
    for key, value in found.items():
        if key not in SweepRequest._fields:
            raise InputError(
                f"{path} has a key {key!r}{nearest(key, SweepRequest._fields)}; a sweep has: "
                f"{', '.join(SweepRequest._fields)}"
            )
        kinds = _KINDS.get(key, (str,))
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds != (bool,)):
            raise InputError(f"{path}: {key} is {value!r}; it must be of type {kinds[0].__name__}")
    if "sweep" not in found:
        raise InputError(f'{path} does not say what to sweep; add sweep = "noisy_max"')
    return SweepRequest(**{"settings": {}, **found})
