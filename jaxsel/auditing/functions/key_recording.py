"""What a function of a key of jax.random draws, read off its trace.

The function is traced, and the trace is evaluated operation by operation, loops and branches as
they are taken. A sampler of jax.random is one operation of the trace, by its name; what it
returns is followed through sums with and products by other numbers, as ``recording`` does for
NumPy. All is float64, so that rounding looks like no move, unless the function asks for less.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from jaxsel.auditing.functions.audited_function import Function
from jaxsel.auditing.functions.recording import Draw, Noise, followed, plain_of
from jaxsel.host.errors import InputError

# Samplers of jax.random whose noise is added; others are compared by their parameters.
_ADDED = ("laplace", "normal", "gumbel", "logistic", "exponential", "cauchy")
_LINEAR = {
    "add": np.add,
    "add_any": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "neg": np.negative,
}
# Operations that call another trace, and where they keep it.
_CALLS = (
    *("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint"),
    *("custom_jvp_call", "custom_vjp_call"),
)
_CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
# Operations that put entries elsewhere and leave them as they are.
_MOVED = (
    *("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "slice", "dynamic_slice"),
    *("gather", "transpose", "rev", "copy", "copy_p"),
)


def traced(function: Function, data: Any, settings: Mapping[str, Any], seed: int) -> "Traced":
    """The trace of one run of a function ``f(key, data)``.

    Raises:
      InputError: for data that JAX does not take.
      Exception: whatever else the function raises while it is traced.
    """
    given = np.asarray(data) if isinstance(data, list | tuple) else data
    leaves, structure = jax.tree.flatten(given)
    if not all(np.asarray(leaf).dtype.kind in "biuf" for leaf in leaves):
        raise InputError(f"{function.name}(key, data) is traced by JAX, which takes numbers")

    def call(key: jax.Array, leaves: Sequence[Any]) -> Any:
        return function.call(key, jax.tree.unflatten(structure, leaves), **settings)

    with jax.enable_x64(True):
        inputs = [jax.random.key(seed), *map(np.asarray, leaves)]
        return Traced(jax.make_jaxpr(call)(inputs[0], inputs[1:]), inputs)


class Traced(NamedTuple):
    """A trace, and what it is evaluated on."""

    closed: ClosedJaxpr
    inputs: list[Any]

    def draws(self) -> list[Draw]:
        """What is drawn on the way."""
        evaluation = _Evaluation()
        with jax.enable_x64(True):
            evaluation.run(self.closed, self.inputs)
        jax.effects_barrier()  # what it prints is printed by now
        return evaluation.draws


class _Evaluation:
    """An evaluation of a trace, which writes down every draw."""

    def __init__(self) -> None:
        self.draws: list[Draw] = []

    def run(self, closed: Any, arguments: Sequence[Any]) -> list[Any]:
        """The outputs of a trace."""
        jaxpr = getattr(closed, "jaxpr", closed)
        known = dict(zip(jaxpr.constvars, getattr(closed, "consts", ()), strict=True))
        known |= dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Any:
            return np.asarray(atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            outputs = self._outputs(equation, [read(atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _outputs(self, equation: Any, inputs: list[Any]) -> list[Any]:
        name, parameters = equation.primitive.name, equation.params
        if name == "cond":
            return self.run(parameters["branches"][int(inputs[0])], inputs[1:])
        if name == "while":
            return self._while(parameters, inputs)
        if name == "scan":
            return self._scan(equation, inputs)
        if name == "random_bits":
            return [self._drawn("bits", _bound(equation, inputs)[0], inputs)]
        if name not in _CALLS:
            return self._computed(equation, inputs)
        inner = next(parameters[part] for part in _CALLED if part in parameters)
        law = str(parameters.get("name", ""))
        if law.startswith("_") and hasattr(jax.random, law[1:]) and inputs and _is_key(inputs[0]):
            (values,) = jaxpr_as_fun(inner)(*map(plain_of, inputs))
            return [self._drawn(law[1:], np.asarray(values), inputs)]
        return self.run(inner, inputs)

    def _while(self, parameters: Mapping[str, Any], inputs: list[Any]) -> list[Any]:
        first, second = parameters["cond_nconsts"], parameters["body_nconsts"]
        for_test, for_body = inputs[:first], inputs[first : first + second]
        carried = inputs[first + second :]
        while bool(self.run(parameters["cond_jaxpr"], [*for_test, *carried])[0]):
            carried = self.run(parameters["body_jaxpr"], [*for_body, *carried])
        return carried

    def _scan(self, equation: Any, inputs: list[Any]) -> list[Any]:
        parameters = equation.params
        constants, carries = parameters["num_consts"], parameters["num_carry"]
        fixed, carried = inputs[:constants], inputs[constants : constants + carries]
        sliced = inputs[constants + carries :]
        order = range(parameters["length"])
        rows: list[list[Any]] = []
        for step in reversed(order) if parameters["reverse"] else order:
            outputs = self.run(
                parameters["jaxpr"], [*fixed, *carried, *(each[step] for each in sliced)]
            )
            carried = outputs[:carries]
            rows.append(outputs[carries:])
        rows = rows[::-1] if parameters["reverse"] else rows
        if not rows:
            return [*carried, *_bound(equation, inputs)[carries:]]
        return [*carried, *(_stacked(each) for each in zip(*rows, strict=True))]

    def _drawn(self, law: str, values: np.ndarray, inputs: list[Any]) -> Any:
        added = law in _ADDED
        said = [plain_of(one) for one in inputs if not _is_key(one)]
        parameters = () if added else tuple(_shown(one) for one in said)
        draw = Draw(law, values.shape, parameters, added=added)
        draw.keys = _addresses(inputs[0])
        self.draws.append(draw)
        if not added:
            return values
        draw.rounding = float(np.finfo(values.dtype).eps)
        places = np.arange(values.size).reshape(values.shape)
        draw.use(places, np.zeros(values.shape), np.ones(values.shape))
        return Noise.of(values, draw, places, 0.0, 1.0)

    def _computed(self, equation: Any, inputs: list[Any]) -> list[Any]:
        found = _bound(equation, inputs)
        name = equation.primitive.name
        noises = [isinstance(one, Noise) and one.draw is not None for one in inputs]
        if not any(noises) or found[0].dtype.kind != "f":
            return found
        if name in _LINEAR:
            plain = [np.asarray(plain_of(one), float) for one in inputs]
            return [followed(_LINEAR[name], inputs, plain, found[0])]
        if name == "convert_element_type":
            noise = inputs[0]
            return [Noise.of(found[0], noise.draw, noise.places, noise.centre, noise.factor)]
        if name in _MOVED and noises[0]:
            return [_moved(equation, inputs, found[0])]
        return found


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)


def _addresses(key: Any) -> frozenset[bytes]:
    rows = np.asarray(jax.random.key_data(key))
    return frozenset(row.tobytes() for row in rows.reshape(-1, rows.shape[-1]))


def _shown(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else f"an array of shape {np.shape(value)}"


def _bound(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of one operation, on plain arrays of the types that it was traced with."""
    plain = [
        one if _is_key(one) else np.asarray(plain_of(one), atom.aval.dtype)
        for one, atom in zip(inputs, equation.invars, strict=True)
    ]
    found = equation.primitive.bind(*plain, **equation.params)
    every = found if equation.primitive.multiple_results else [found]
    return [one if _is_key(one) else np.asarray(one) for one in every]


def _moved(equation: Any, inputs: list[Any], found: np.ndarray) -> Any:
    """Noise whose entries are elsewhere; plain values if some of them come from nowhere."""
    noise, *rest = inputs

    def of(part: Any, kind: Any) -> np.ndarray:
        entries = np.array(part, kind)
        return np.asarray(equation.primitive.bind(entries, *rest, **equation.params))

    places = of(noise.places, np.int64)
    if places.size and not (0 <= places.min() and places.max() < noise.draw.scale.size):
        return found
    return Noise.of(found, noise.draw, places, of(noise.centre, float), of(noise.factor, float))


def _stacked(rows: Sequence[Any]) -> Any:
    if _is_key(rows[0]):
        return jax.numpy.stack(rows)
    return np.stack([plain_of(np.asarray(row)) for row in rows])
