"""Compiled calls of a function of a key of jax.random: few programs, whatever the number of calls.

The data and the settings that are floats are arguments of the programs, which are made for
three numbers of rows. What cannot be traced so (a branch on a value, a function of NumPy) is a
constant of its program, which is then made anew for other values. Row i of a call has the key
``fold_in(key, i)``, so that it is the same in every program.
"""

import functools
import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun

from jaxsel.host.errors import InputError

# The numbers of rows for which programs are made; what is asked for is made of them.
_FEW, _SOME, _MANY = 64, 1024, 16384
# What is an argument of the programs, in the order in which it is tried.
_WAYS = (("data", "settings"), ("data",), ("settings",), ())
_CALLED = {"data": "its data", "settings": "settings"}
# Of so few rows, a rounding may move the outcomes of these; by so much it moves numbers.
_MOVED, _ROUNDING = 2, 1e-3
_PATIENCE = 4  # times the slowest trace, that another may take
# What JAX raises where a function cannot be traced; whatever else it raises is an outcome.
_NOT_TRACED = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.UnexpectedTracerError,
)


class _Traced(NamedTuple):
    """A trace of one call.

    Attributes:
      closed: the trace; of the key, and of leaves and settings that are arguments.
      structure: of the outputs.
      programs: the compiled ones, by number of rows.
    """

    closed: ClosedJaxpr
    structure: Any
    programs: dict[int, Any]


class InsteadError(Exception):
    """What a function did in place of answering where it was traced."""

    def __init__(self, did: str) -> None:
        super().__init__(did)
        self.did = did


def _asked(call: Callable[[], Any], **_: Any) -> Any:
    return call()


class Programs:
    """The programs of one function.

    Attributes:
      said: why some of its inputs are constants of the programs; "" if none is.
    """

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.said = ""
        self._name, self._call, self._answer = name, call, _asked
        self._ways: dict[Hashable, tuple[str, ...] | None] = {}
        self._traced: dict[Hashable, _Traced] = {}
        self._kept: dict[int, Any] = {}  # what is known by its identity
        self._slowest = 0.0  # seconds of a trace

    def rows(
        self,
        data: Any,
        settings: Mapping[str, Any],
        entropy: Sequence[int],
        rows: int,
        answer: Callable[..., Any] = _asked,
    ) -> Any:
        """The outcomes of calls: an array with the calls first, or a list of trees.

        Args:
          data: the input.
          settings: the other parameters, by name.
          entropy: of the keys.
          rows: the number of calls.
          answer: asks for a call, and returns its answer or raises InsteadError.

        Raises:
          InsteadError: where the function does not answer when it is traced.
          InputError: if the function cannot be traced.
        """
        words = np.random.SeedSequence(entropy).generate_state(2)
        try:
            self._answer = answer
            given = _Given(data, settings)
            traced, way = self._found(given)
            columns = _outputs(traced, words, given.arguments(way), rows)
            jax.effects_barrier()  # what it prints is printed by now
        except InsteadError:
            raise
        except Exception as error:
            said = (str(error).splitlines() or [""])[0]
            raise InputError(
                f"{self._name}(key, data) cannot be vmapped and jitted: "
                f"{type(error).__name__}: {said}"
            ) from error
        if jax.tree_util.treedef_is_leaf(traced.structure):
            return columns[0]
        each = zip(*(column.tolist() for column in columns), strict=True)
        return [jax.tree.unflatten(traced.structure, row) for row in each]

    def _found(self, given: "_Given") -> tuple[_Traced, tuple[str, ...]]:
        """The trace for an input, and what its arguments are; one that is known, if it fits."""
        form, made = given.form(self._kept), None
        if form not in self._ways:
            self._ways[form], made = self._way(given)
        way = self._ways[form]
        if way is None:
            return self._trace(given, ()), ()
        address = (form, given.constants(way, self._kept))
        if address not in self._traced:
            self._traced[address] = made or self._trace(given, way)
        return self._traced[address], way

    def _way(self, given: "_Given") -> tuple[tuple[str, ...] | None, _Traced]:
        """What may be an argument for inputs of this form, and the trace of that.

        None instead if nothing may be kept, since it is another function at every trace.
        """
        constants = self._trace(given, ())
        if not _equal(constants.closed, self._trace(given, ()).closed):
            self.said = "it is compiled at every call, since two traces of it differ"
            return None, constants
        ways = [*filter(given.allows, _WAYS[:-1]), ()]
        way, traced, problems = (), constants, []
        for way in ways:
            traced, problem = self._tried(given, way, constants)
            if not problem:
                break
            problems.append(problem)
        if problems and not self.said:
            what = " and ".join(_CALLED[one] for one in ways[0] if one not in way)
            self.said = (
                f"{what} are constants of its programs, which are compiled anew for other values "
                f"({problems[0]} where they are arguments)"
            )
        return way, traced

    def _tried(
        self, given: "_Given", way: tuple[str, ...], constants: _Traced
    ) -> tuple[_Traced, str]:
        """The trace of these as arguments, and why they cannot be, in words; "" if they can."""
        if not way:
            return constants, ""
        try:
            traced = self._trace(given, way)
            # Once, for it takes as long as all programs of a form.
            same = self._ways or _agree(traced, constants, given.arguments(way))
        except InsteadError as error:  # where it meets a tracer, it may do anything
            return constants, error.did.removeprefix("raised ")
        except Exception as error:
            return constants, type(error).__name__
        return traced, "" if same else "other outcomes"

    def _trace(self, given: "_Given", way: tuple[str, ...]) -> _Traced:
        # JAX would remember the trace of a function that it has seen.
        def call(key: jax.Array, arguments: Any) -> Any:
            ask = functools.partial(given.called, self._call, key, way, arguments)
            began = time.monotonic()
            # Two traces may take unlike times: what one has answered, another has time for.
            found = self._answer(ask, refused=_NOT_TRACED, least=_PATIENCE * self._slowest)
            self._slowest = max(self._slowest, time.monotonic() - began)
            return found

        made = jax.make_jaxpr(call, return_shape=True)
        key = jax.eval_shape(lambda: jax.random.key(0))
        closed, shapes = made(key, given.arguments(way))
        return _Traced(closed, jax.tree.structure(shapes), {})


class _Given:
    """Data and settings, as leaves that may be arguments, and the rest."""

    def __init__(self, data: Any, settings: Mapping[str, Any]) -> None:
        data = np.asarray(data) if isinstance(data, list | tuple) else data
        self._data, self._settings = data, dict(settings)
        self._leaves, self._tree = jax.tree.flatten(data)
        self._floats = [name for name, value in settings.items() if type(value) is float]

    def form(self, kept: dict[int, Any]) -> Hashable:
        """What inputs have in common that may share a trace, whatever their values."""
        leaves = tuple(
            (np.shape(leaf), leaf.dtype)
            if isinstance(leaf, np.ndarray | np.generic | jax.Array)
            else type(leaf)
            for leaf in self._leaves
        )
        others = {k: _named(v, kept) for k, v in self._settings.items() if k not in self._floats}
        return self._tree, leaves, tuple(self._floats), tuple(others.items())

    def allows(self, way: tuple[str, ...]) -> bool:
        """Whether what would be an argument stays what it is where JAX takes it."""
        parts = {"data": self._leaves, "settings": [self._settings[one] for one in self._floats]}
        return all(parts[one] and all(map(_is_kept, parts[one])) for one in way)

    def constants(self, way: tuple[str, ...], kept: dict[int, Any]) -> Hashable:
        """The values of what is no argument."""
        floats = () if "settings" in way else tuple(self._settings[one] for one in self._floats)
        return floats, () if "data" in way else tuple(_named(leaf, kept) for leaf in self._leaves)

    def arguments(self, way: tuple[str, ...]) -> tuple[list[Any], list[float]]:
        """Leaves of the data, and settings."""
        leaves = self._leaves if "data" in way else []
        return leaves, [self._settings[one] for one in self._floats if "settings" in way]

    def called(
        self, call: Callable[..., Any], key: jax.Array, way: tuple[str, ...], arguments: Any
    ) -> Any:
        """What the function returns for these arguments."""
        leaves, floats = arguments
        data = jax.tree.unflatten(self._tree, leaves) if "data" in way else self._data
        settings = dict(zip(self._floats, floats, strict=True)) if "settings" in way else {}
        return call(key, data, **(self._settings | settings))


def _named(value: Any, kept: dict[int, Any]) -> Hashable:
    """What tells a value from others: of plain types and arrays the value, else its identity."""
    if isinstance(value, bool | int | float | str | None):
        return type(value), repr(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value.shape, value.dtype, value.tobytes()
    kept[id(value)] = value  # no other one is given its number
    return id(value)


def _is_kept(leaf: Any) -> bool:
    """Whether a number, or an array, is no other one as an argument, but for a rounding."""
    array = np.asarray(leaf)
    if array.dtype.kind not in "biuf":
        return False
    with np.errstate(all="ignore"):
        taken = array.astype(jax.dtypes.canonicalize_dtype(array.dtype))
    if array.dtype.kind != "f":
        return bool(np.all(taken == array))
    same = (np.isfinite(taken) == np.isfinite(array)) & ((taken == 0.0) == (array == 0.0))
    return bool(np.all(same))


def _outputs(traced: _Traced, words: np.ndarray, arguments: Any, rows: int) -> list[np.ndarray]:
    """The leaves of the outputs of so many rows, each with the rows first.

    Args:
      words: UInt32["2"], of the keys.
      arguments: of the trace, besides the key.
    """
    parts: list[list[np.ndarray]] = []
    first = 0
    while first < rows:
        left = rows - first
        size = _FEW if left <= _FEW else _MANY if left > _MANY // 2 else _SOME
        if size not in traced.programs:
            traced.programs[size] = _program(traced.closed, size)
        found = traced.programs[size](words, np.uint32(first), jax.tree.leaves(arguments))
        parts.append([np.asarray(leaf)[:left] for leaf in found])
        first += size
    return [np.concatenate(leaves) for leaves in zip(*parts, strict=True)]


def _program(closed: ClosedJaxpr, size: int) -> Callable[..., Any]:
    """The compiled trace for so many rows, from any first one."""

    def rows(words: jax.Array, first: jax.Array, leaves: Sequence[Any]) -> Any:
        key = jax.random.fold_in(jax.random.key(words[0]), words[1])

        def one(number: jax.Array) -> Any:
            return jaxpr_as_fun(closed)(jax.random.fold_in(key, number), *leaves)

        return jax.vmap(one)(first + jnp.arange(size, dtype=np.uint32))

    return jax.jit(rows)


def _agree(one: _Traced, other: _Traced, arguments: Any) -> bool:
    """Whether a trace of arguments has the outcomes of one of constants, but for roundings."""
    words = np.zeros(2, np.uint32)
    found, expected = _outputs(one, words, arguments, _FEW), _outputs(other, words, (), _FEW)
    if one.structure != other.structure or len(found) != len(expected):
        return False
    moved = np.zeros(_FEW, bool)
    for a, b in zip(found, expected, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        near = np.isclose(a, b, _ROUNDING, 1e-6, equal_nan=True) if a.dtype.kind == "f" else a == b
        moved |= ~near.reshape(_FEW, math.prod(a.shape[1:])).all(axis=1)
    return int(moved.sum()) <= _MOVED


def _equal(one: ClosedJaxpr, other: ClosedJaxpr) -> bool:
    """Whether two traces are the same, their constants included."""
    if str(one) != str(other):
        return False
    pairs = zip(_constants(one), _constants(other), strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def _constants(part: Any) -> Iterator[np.ndarray]:
    """The constants of a trace, and of the traces inside it."""
    if isinstance(part, ClosedJaxpr):
        yield from (_plain(constant) for constant in part.consts)
        yield from _constants(part.jaxpr)
    elif isinstance(part, Jaxpr):
        for equation in part.eqns:
            yield from (_plain(atom.val) for atom in equation.invars if isinstance(atom, Literal))
            for parameter in equation.params.values():
                yield from _constants(parameter)
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _constants(each)


def _plain(constant: Any) -> np.ndarray:
    if isinstance(constant, jax.Array) and jnp.issubdtype(constant.dtype, jax.dtypes.prng_key):
        constant = jax.random.key_data(constant)
    return np.asarray(constant)
