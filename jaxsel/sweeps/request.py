"""The request for a sweep, from a TOML file, from the command line, or from both."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.host.reading import read_text
from jaxsel.language.domains import nearest


class SweepRequest(NamedTuple):
    """A sweep as it is requested, with texts that are not parsed yet.

    Attributes:
      sweep: the mechanism, or "account".
      settings: values by name, as text or lists.
      measures: names; () for the default.
      zip: groups of settings whose values go together.
      trials, seed, delta, confidence, joint: as for ``jaxsel.sweep``; None for the default.
      record, csv, parquet, plot: files to write; None for none.
      x, hue, facet: axes of the picture; None to choose.
    """

    sweep: str
    settings: Mapping[str, Any]
    measures: Sequence[str] = ()
    zip: Sequence[Sequence[str]] = ()
    trials: float | None = None
    seed: int | None = None
    delta: float | None = None
    confidence: float | None = None
    joint: bool | None = None
    record: str | None = None
    csv: str | None = None
    parquet: str | None = None
    plot: str | None = None
    x: str | None = None
    hue: str | None = None
    facet: str | None = None

    def options(self) -> dict[str, Any]:
        """The options of ``jaxsel.sweep`` that were given."""
        names = ("trials", "seed", "delta", "confidence", "joint")
        given = {name: getattr(self, name) for name in names}
        found = {name: value for name, value in given.items() if value is not None}
        return {"measures": self.measures, "zipped": self.zip} | found


# The type that each key must have in a file.
_KINDS: Mapping[str, tuple[type, ...]] = {
    "sweep": (str,),
    "settings": (dict,),
    "measures": (list,),
    "zip": (list,),
    "trials": (int, float),
    "seed": (int,),
    "delta": (int, float),
    "confidence": (int, float),
    "joint": (bool,),
}


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
