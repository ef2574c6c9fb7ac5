"""Experiments behind figures: the functions of a file, their settings and their records.

A file of ``figures`` declares its budget ``TRIALS`` and functions that simulate:

    @cells(measures=["counts"])           a grid, called once a cell (``jaxsel.sweeps``)
    def tuned(epsilon=over(1.0, 2.0), base_success: Annotated[...] = 0.01) -> Trial: ...

    @computed                             anything else: called once
    def table(*, trials, seed, progress, rate: Annotated[...] = 0.1) -> xr.Dataset: ...

and ``draw(tuned, table, ...)`` receives the data sets of the functions named by its
parameters, which may be imported from another experiment, and its own settings. Each
function has its record.
"""

import contextlib
import dataclasses
import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, Numbers, read_values

if TYPE_CHECKING:
    import xarray as xr

    from jaxsel.language.signature import Signature

_RUNS = ("trials", "seed", "progress")  # parameters of a computed function that are not settings
_LONGEST = 100  # most characters of settings in a file name; longer ones are hashed


Settings = tuple[tuple[str, Any], ...]
"""Names and values of the settings that differ from their defaults."""


@dataclasses.dataclass(frozen=True)
class _Axis(Domain):
    """Several values of another domain."""

    each: Domain = dataclasses.field(kw_only=True)

    def describe(self) -> str:
        """See ``Domain``."""
        return self.each.describe()

    def read(self, name: str, value: Any) -> tuple[Any, ...]:
        """See ``Domain``."""
        from jaxsel.sweeps.axes import values_of

        return values_of(name, value, self.each)


@dataclasses.dataclass(frozen=True)
class _AsMany(Domain):
    """As many numbers as the default has, whole ones if those are."""

    each: Numbers = dataclasses.field(kw_only=True)

    def describe(self) -> str:
        """See ``Domain``."""
        return self.each.describe()

    def read(self, name: str, value: Any) -> tuple[float, ...]:
        """See ``Domain``."""
        numbers = tuple(float(each) for each in self.each.read(name, value))
        if len(numbers) != len(self.default):
            raise InputError(
                f"{name} is {value}; it must be {len(self.default)} numbers, such as "
                f"{shown(self.default, ',')}"
            )
        if all(isinstance(each, int) for each in self.default):
            if any(each != int(each) for each in numbers):
                raise InputError(f"{name} is {value}; it must be whole numbers")
            return tuple(int(each) for each in numbers)
        return numbers


def read_settings(owner: str, given: Mapping[str, Any], known: Mapping[str, Domain]) -> Settings:
    """Parses values of settings, and drops those equal to the defaults.

    Args:
      owner: the owner of the settings, for messages.
      given: name -> text or value.
      known: the existing settings, of ``offered``.

    Raises:
      InputError: for an unknown name or a value that is not allowed.
    """
    values = read_values(owner, given, known)
    return tuple(
        (name, values[name]) for name in sorted(given) if values[name] != known[name].default
    )


def suffix(chosen: Settings) -> str:
    """The suffix of file names for these settings."""
    if not chosen:
        return ""
    text = ",".join(f"{name}={shown(value, '_')}" for name, value in chosen)
    if len(text) > _LONGEST:
        text = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"+{text}"


def shown(value: Any, between: str = ", ") -> str:
    """A value as text; elements of a list are separated by ``between``."""
    values = (value,) if isinstance(value, str) or not isinstance(value, Sequence) else value
    return between.join(each if isinstance(each, str) else f"{each:.12g}" for each in values)


class Experiment(NamedTuple):
    """A function of a file that simulates or computes what a figure shows, and its record.

    Attributes:
      module: full name of the module that defines it.
      name: the function's name.
      trials: the file's default budget, in trials per grid cell; the module says what a trial
        is.
    """

    module: str
    name: str
    trials: int = 0

    @property
    def file(self) -> str:
        """The name of its file on the command line, with hyphens for underscores."""
        return self.module.rpartition(".")[2].replace("_", "-")

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself; its module is imported."""
        return getattr(importlib.import_module(self.module), self.name)

    def signature(self) -> "Signature":
        """The function's settings and axes."""
        return signature_of(self.function)

    def own(self, chosen: Settings) -> Settings:
        """Those of the chosen settings that the function has."""
        if not chosen:
            return ()
        known = self.signature().settings
        return tuple((name, value) for name, value in chosen if name in known)

    def path(self, out: Path, chosen: Settings) -> Path:
        """The path of its record for these settings."""
        return out / f"{self.file}.{self.name}{suffix(self.own(chosen))}.nc"

    def read(self, out: Path, chosen: Settings) -> "xr.Dataset":
        """Reads its record.

        Raises:
          InputError: if the function was not run yet.
        """
        path = self.path(out, chosen)
        if not path.exists():
            raise InputError(f"{self.file} was not simulated yet; run python -m sims {self.file}")
        from jaxsel.sweeps import files

        return files.dataset_of(path)

    def configuration(self, out: Path, chosen: Settings) -> dict[str, Any] | None:
        """The configuration of its record; None if there is no readable record."""
        path = self.path(out, chosen)

        def read() -> dict[str, Any]:
            from jaxsel.sweeps import files

            return json.loads(files.dataset_of(path).attrs["configuration"])

        with contextlib.suppress(OSError, InputError, KeyError):
            return source_digest.by_contents(
                "the configuration of a record", path.read_bytes(), read, _is_object
            )
        return None

    def keep_share(self, shard: str, record: str, trials: int, seed: int) -> str:
        """Runs one shard, and saves it in its own file for ``jaxsel merge``.

        Args:
          shard: as for ``jaxsel.sweeps.keep_share``.
          record: a file name, to which the function's name is added.
          trials, seed: of the whole run, of which the shard is a share.

        Returns:
          The name of the shard's file.

        Raises:
          InputError: if the function is not a grid of cells.
        """
        from jaxsel.shards import read_shard
        from jaxsel.sweeps import keep_share
        from jaxsel.sweeps.functions import declared, shared_trials

        if hasattr(self.function, "computed"):
            raise InputError(
                f"{self.file} has no grid of cells in {self.name} to share out (it "
                "trains, reads tables or computes exact laws); run it whole"
            )
        path = Path(record.replace("{shard}", str(read_shard(shard).index)))
        path = path.with_name(f"{path.stem}.{self.file}.{self.name}{path.suffix}")
        performance = declared(self.function).performance
        keep_share(
            shard,
            self.function,
            {},
            record=path,
            options={"seed": seed, "trials": shared_trials(self.function, trials)},
            **({} if performance is None else {"performance": performance}),
        )
        return str(path)

    def run(
        self,
        out: Path,
        chosen: Settings,
        configuration: Mapping[str, Any],
        progress: bool | None,
        again: bool,
    ) -> None:
        """Brings its record up to date.

        Args:
          out: the folder of records.
          chosen: settings other than the defaults.
          configuration: the configuration of the record, including "trials" and "seed".
          progress: as for ``jaxsel.sweep``.
          again: whether to run again even if the record is up to date.
        """
        path = self.path(out, chosen)
        if again or not _can_resume(path):
            path.unlink(missing_ok=True)
        compute(
            self.function,
            dict(self.own(chosen)),
            trials=configuration["trials"],
            seed=configuration["seed"],
            progress=progress,
            record=path,
            attributes={"configuration": json.dumps(configuration)},
        )


def _is_object(kept: Any) -> bool:
    return isinstance(kept, dict)


def _can_resume(path: Path) -> bool:
    """Whether a file holds a sweep, whose tallies a new run can reuse."""
    from jaxsel.sweeps import files

    try:
        files.read(path)
    except InputError:
        return False
    return True


def compute(
    function: Callable[..., Any],
    values: Mapping[str, Any] = MappingProxyType({}),
    *,
    trials: int,
    seed: int = 0,
    progress: bool | None = None,
    record: Path | None = None,
    attributes: Mapping[str, Any] = MappingProxyType({}),
) -> "xr.Dataset":
    """Computes the data set of an experiment's function.

    Args:
      function: declared by ``cells`` or ``computed``.
      values: settings that differ from their defaults, by name.
      trials: the requested budget.
      seed, progress: as for ``jaxsel.sweep``.
      record: the file of its record; None stores nothing.
      attributes: further attributes of the data set.
    """
    from jaxsel.sweeps.running import refreshed, write_dataset

    if not hasattr(function, "computed"):
        return refreshed(
            function,
            values,
            trials=trials,
            seed=seed,
            record=record,
            attributes=attributes,
            progress=progress,
        )
    signature = signature_of(function)
    typed = read_values(function.__name__, values, signature.settings)
    found = signature.call(typed, trials=trials, seed=seed, progress=progress)
    found = found.assign_attrs({"trials": trials, **attributes})
    if record is not None:
        record.unlink(missing_ok=True)
        write_dataset(found, record)
    return found


def signature_of(function: Callable[..., Any], without: Iterable[str] = ()) -> "Signature":
    """The settings of an experiment's function, or of ``draw``.

    Args:
      function: the function.
      without: names of parameters that are not settings.
    """
    from jaxsel.language.signature import read_signature

    told = _RUNS if hasattr(function, "computed") else ()
    return read_signature(function, (*told, *without))


def offered(signature: "Signature") -> dict[str, Domain]:
    """The settings that the command line offers: those whose domain has a description.

    The default of each is the paper's value, or this project's if the paper states none; of an
    axis, the tuple of all its values.
    """
    found: dict[str, Domain] = {}
    for name, domain in signature.settings.items():
        if not domain.help:
            continue
        if name in signature.axes:
            found[name] = _Axis(domain.help, tuple(signature.axes[name]), each=domain)
        elif isinstance(domain, Numbers):
            found[name] = _AsMany(domain.help, domain.default, each=domain)
        else:
            found[name] = domain
    return found
