"""A user's function as the subject of a sweep: called once per cell, it returns a ``Trial``.

Its parameters are the settings, each with a domain; those whose default is ``over(...)``
are the axes; a parameter ``trials`` without a default receives the number of trials of a
cell. The mechanism is made once, outside of the function, and its numbers are returned as
data and params, so that all cells share one compiled program.
"""

import functools
import importlib
import importlib.util
import inspect
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from jaxsel.auditing.functions.audited_function import check_returns
from jaxsel.host.errors import InputError, check_probability_vector
from jaxsel.language.base import FiniteLaw, Mechanism, outcome_itself
from jaxsel.language.signature import Signature, read_signature
from jaxsel.language.trial import Trial, Values
from jaxsel.language.utility import MEANINGS


class Declared(NamedTuple):
    """How a cell function is swept, besides its settings.

    Attributes:
      measures: the default measures.
      name: of the function, which with a cell's settings is the address of its random
        numbers; "" for the name by which it is defined.
      share: the trials of a cell, as a fraction of those requested.
      performance: speed settings; they never change the result.
      keeps_axes: whether default axes remain axes if they are given a single value.
    """

    measures: tuple[str, ...] = ()
    name: str = ""
    share: Fraction = Fraction(1)
    performance: Any = None
    keeps_axes: bool = False


def cells(
    *,
    measures: Iterable[str] = (),
    name: str = "",
    share: Fraction = Fraction(1),
    performance: Any = None,
    address: Any = None,
) -> Callable[[Callable[..., Trial]], Callable[..., Trial]]:
    """Declares how a cell function is swept; arguments as the attributes of ``Declared``.

    Its axes stay axes of the data set if they are given a single value.

    Cells of two functions of one name that have equal settings have the same random trials.
    An ``address``, which 0.2.0 took, is left aside with a warning.
    """
    if address is not None:
        warnings.warn(
            "cells takes no address any more: a cell's random numbers follow from the function's "
            "name and the cell's settings, and are others than in 0.2.0",
            FutureWarning,
            stacklevel=2,
        )

    def declare(function: Callable[..., Trial]) -> Callable[..., Trial]:
        words = tuple(measures)
        function.declared = Declared(words, name, share, performance, True)  # type: ignore[attr-defined]
        return function

    return declare


def declared(function: Callable[..., Any]) -> Declared:
    """The declaration by ``cells`` of a function; the defaults if it has none."""
    return getattr(function, "declared", Declared())


def shared_trials(function: Callable[..., Any], trials: int) -> int:
    """The number of trials of a cell, given the number requested; at least two."""
    return max(int(trials * declared(function).share), 2)


@functools.cache
def _own(sample, events, law, prepare, resolution, name) -> Mechanism:
    def labels(data: Any, params: Any) -> tuple[str, ...]:
        del data, params
        return events

    def exact(data: Any, params: Any) -> FiniteLaw:
        assert law is not None
        found = check_probability_vector(f"the law of {name}", _heard(law, name)(data, params))
        if len(found) != len(events):
            raise InputError(f"the law of {name} has {len(found)} values for {len(events)} events")
        return FiniteLaw(found, events)

    known = None if law is None else exact
    prepare, sample = _heard(prepare, name), _heard(sample, name)
    return Mechanism(prepare, sample, outcome_itself, labels, known, resolution, name)


def _unchanged(data: Any, params: Any) -> tuple[Any, Any]:
    return data, params


def own_mechanism(
    sample: Callable[[Any, Any, Any], Any],
    events: Iterable[str],
    law: Callable[[Any, Any], Any] | None = None,
    *,
    prepare: Callable[[Any, Any], tuple[Any, Any]] = _unchanged,
    resolution: float = 2.0**-52,
) -> Mechanism:
    """A mechanism from a function that draws one trial.

    Args:
      sample: ``(key, data, params) -> event``: draws one trial, a number in [0, events),
        with ``jaxsel.kernel.noise`` and ``key``, or with ``jax.random`` and ``key.jax()``.
      events: the names of the events.
      law: ``(data, params) -> probabilities`` of the events, exact; None if not known.
      prepare: ``(data, params) -> (data, params)``, on the host, before the trials: turns
        the input into arrays.
      resolution: the smallest probability that the noise resolves.

    Returns:
      The mechanism; the same object whenever the same functions are given.

    Example:
        >>> import jax
        >>> import jaxsel
        >>> def response(key, truth, epsilon):  # randomised response: an event's number, 0 or 1
        ...     kept = jax.random.bernoulli(key.jax(), jax.nn.sigmoid(epsilon))
        ...     return jax.numpy.where(kept, truth, 1 - truth)
        >>> own = jaxsel.own_mechanism(response, ["no", "yes"])
        >>> jaxsel.simulate(own, 1, 2.0, trials=100_000).frequencies().value.round(1)
        array([[0.1, 0.9]])
    """
    words = tuple(str(event) for event in events)
    if not words:
        raise InputError("a mechanism has at least one event; give words for events")
    return _own(sample, words, law, prepare, resolution, sample.__qualname__)


class CellFunction(NamedTuple):
    """A cell function with its parsed parameters.

    Attributes:
      signature: the function and its settings.
      name: of the function, as its cells are addressed.
      place: its address on the command line, "file.py:name"; "" if it has none.
      declared: how it is swept.
    """

    signature: Signature
    name: str
    place: str
    declared: Declared

    def build(self, values: Values) -> Trial:
        """The simulation at these values.

        Raises:
          InputError: if a parameter has no value, or the function raises anything, or returns
            no ``Trial`` of a mechanism.
        """
        settings = self.signature.settings
        lacking = [name for name in settings if name not in values]
        if lacking:
            raise InputError(f"{self.name} needs {lacking[0]}; give it a value")

        def heard(ask: Callable[..., Any]) -> Callable[..., Any]:
            at = ", ".join(f"{name} = {value}" for name, value in values.items())
            return _heard(ask, self.name, f", at {at}")

        trial = heard(self.signature.call)(values)
        if not isinstance(trial, Trial):
            raise InputError(
                f"{self.name} returns {type(trial).__name__}; a function that is swept "
                "returns a jaxsel.Trial(mechanism, data, params)"
            )
        if trial.entry is None:  # what its author wrote may raise when it is asked, too
            trial = trial.heard(heard)
        _ = trial.mechanism  # refuses what is none, before any cell is simulated
        unknown = [] if callable(trial.worth) else [n for n in trial.worth if n not in MEANINGS]
        if unknown:
            raise InputError(
                f"{self.name} has a utility {unknown[0]!r}; it must be one of: "
                f"{', '.join(MEANINGS)}"
            )
        return trial


def _heard(ask: Callable[..., Any], name: str, at: str = "") -> Callable[..., Any]:
    """Somebody's function, whose errors are one sentence that names it."""

    @functools.wraps(ask)
    def asked(*given: Any) -> Any:
        try:
            return ask(*given)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            raise InputError(f"{name} raises {_raised(error)}{at}") from error

    return asked


def _raised(error: BaseException) -> str:
    """An error of somebody's code in words: what it is, what it says, and where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    # What JAX says of a traced value is a page.
    said = textwrap.shorten(str(error), 300, placeholder=" ...")
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' * bool(said)}{said}{where}"


def read_function(function: Callable[..., Trial]) -> CellFunction:
    """Reads a cell function and the domains of its parameters.

    Raises:
      InputError: for a parameter whose domain is neither declared nor evident.
    """
    check_returns(function, function.__qualname__)
    signature = read_signature(function)
    said = declared(function)
    return CellFunction(signature, said.name or function.__qualname__, _place(function), said)


def _place(function: Callable[..., Any]) -> str:
    file = inspect.getsourcefile(inspect.unwrap(function))
    if file is None or "<" in function.__qualname__ or not Path(file).exists():
        return ""
    return f"{Path(file).resolve()}:{function.__qualname__}"


def is_place(text: str) -> bool:
    """Whether a text has the form "path/to/file.py:name"."""
    path, colon, _ = text.rpartition(":")
    return bool(colon) and path.endswith(".py")


def load(text: str) -> Callable[..., Trial]:
    """Loads a function from a file, which is run as a module, not as a script.

    Args:
      text: "path/to/file.py:name".

    Raises:
      InputError: if there is no such file or function, or the file cannot be run.
    """
    file, _, name = text.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError(f"there is no file {file}; name one as file.py:function")
    try:
        module = _module(path, path.stat().st_mtime_ns)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{file} cannot be loaded: it raises {_raised(error)}") from error
    found: Any = getattr(module, name, None)
    if not inspect.isfunction(found):
        known = [
            each
            for each, thing in vars(module).items()
            if inspect.isfunction(thing) and thing.__module__ == module.__name__
        ]
        raise InputError(f"{file} has no function {name!r}; it has: {', '.join(known) or 'none'}")
    return found


@functools.cache
def _module(path: Path, changed_at: int) -> ModuleType:
    root = path.parent
    while (root / "__init__.py").exists():
        root = root.parent
    if root != path.parent:  # a module of a package, which may have relative imports
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        parts = path.relative_to(root).with_suffix("").parts
        return importlib.import_module(".".join(parts))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Lets it import modules beside it, as a script could.
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    # Dataclasses look up their module here; an existing module of that name is not
    # replaced.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
