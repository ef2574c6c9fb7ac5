"""Runs a traced function one operation at a time in NumPy, with hooks for jitted functions.

Thousands of rounds of a scalar loop take seconds here, and minutes in JAX's eager mode.
Operations without a simple NumPy equivalent (gathers, sorts) are run by JAX.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import scipy.special
from jax.lax import RoundingMethod

Watch = Mapping[str, Callable[..., Sequence[Any]]]

_DIRECT: dict[str, Callable] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "sign": np.sign,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift,
    "pow": np.power,
    "erf_inv": scipy.special.erfinv,
    "is_finite": np.isfinite,
    "square": np.square,
    "logistic": scipy.special.expit,
    "real": np.real,
    "imag": np.imag,
    "stop_gradient": lambda x: x,
    "copy": lambda x: x,
    "copy_p": lambda x: x,
}


def _divide(x, y):
    return np.divide(x, y) if np.issubdtype(x.dtype, np.inexact) else None


def _shift_right(x, y):
    unsigned = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    return np.right_shift(unsigned, y.astype(unsigned.dtype)).view(x.dtype)


def _broadcast(x, *, shape, broadcast_dimensions, **_):
    seen = [1] * len(shape)
    for axis, place in enumerate(broadcast_dimensions):
        seen[place] = x.shape[axis]
    return np.broadcast_to(x.reshape(seen), shape)


_WITH_SETTINGS: dict[str, Callable] = {
    "convert_element_type": lambda x, *, new_dtype, **_: x.astype(new_dtype),
    "broadcast_in_dim": _broadcast,
    "reshape": lambda x, *, new_sizes, **_: x.reshape(new_sizes),
    "squeeze": lambda x, *, dimensions, **_: np.squeeze(x, dimensions),
    "integer_pow": lambda x, *, y, **_: x**y,
    "reduce_sum": lambda x, *, axes, **_: np.sum(x, axis=axes),
    "reduce_max": lambda x, *, axes, **_: np.max(x, axis=axes),
    "reduce_min": lambda x, *, axes, **_: np.min(x, axis=axes),
    "reduce_and": lambda x, *, axes, **_: np.all(x, axis=axes),
    "reduce_or": lambda x, *, axes, **_: np.any(x, axis=axes),
    "argmax": lambda x, *, axes, **_: np.argmax(x, axis=axes[0]),
    "select_n": lambda which, *cases, **_: np.choose(which.astype(np.int8), cases),
    "shift_right_logical": lambda x, y, **_: _shift_right(x, y),
    "bitcast_convert_type": lambda x, *, new_dtype, **_: (
        x.view(new_dtype) if np.dtype(new_dtype).itemsize == x.itemsize else None
    ),
    "not": lambda x, **_: ~x,
    "round": lambda x, *, rounding_method: (
        np.rint(x) if rounding_method == RoundingMethod.TO_NEAREST_EVEN else None
    ),
    "iota": lambda *, dtype, shape, dimension, **_: np.broadcast_to(
        np.arange(shape[dimension], dtype=dtype).reshape(
            [-1 if axis == dimension else 1 for axis in range(len(shape))]
        ),
        shape,
    ),
}


def run(function: Callable, *args: Any, watch: Watch) -> list[np.ndarray]:
    """Runs ``function(*args)`` and returns the leaves of its result.

    Args:
      function: a function of JAX arrays.
      *args: its arguments.
      watch: replacements of jitted functions by name, called with a number that identifies
        the call and with the arguments in NumPy.
    """
    return runner(function, *args, watch=watch)(*args)


def runner(function: Callable, *args: Any, watch: Watch) -> Callable[..., list[np.ndarray]]:
    """Traces ``function(*args)`` once; returns a function of arguments of the same shapes.

    Arguments as for ``run``.
    """
    closed = jax.make_jaxpr(function)(*args)

    @np.errstate(all="ignore")
    def again(*args: Any) -> list[np.ndarray]:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(args)]
        return _evaluate(closed.jaxpr, closed.consts, leaves, watch)

    return again


def _evaluate(jaxpr, consts, args, watch: Watch) -> list[np.ndarray]:
    values: dict[Any, np.ndarray] = {}

    def read(atom):
        if hasattr(atom, "val"):
            return np.asarray(atom.val, atom.aval.dtype)
        return values[atom]

    values.update(zip(jaxpr.constvars, map(np.asarray, consts), strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))
    for equation in jaxpr.eqns:
        found = _one(equation, [read(atom) for atom in equation.invars], watch)
        values.update(zip(equation.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _one(equation, inputs, watch: Watch) -> Sequence[np.ndarray]:
    name, settings = equation.primitive.name, equation.params
    if name in ("jit", "pjit") and settings["name"] in watch:
        return watch[settings["name"]](id(equation), *inputs)
    if name in _NESTED:
        return _NESTED[name](settings, inputs, watch)
    if name == "optimization_barrier":
        return inputs
    found = None
    if name == "div":
        found = _divide(*inputs)
    elif name in _DIRECT:
        found = _DIRECT[name](*inputs)
    elif name in _WITH_SETTINGS:
        found = _WITH_SETTINGS[name](*inputs, **settings)
    if found is None:
        found = equation.primitive.bind(*inputs, **settings)
        return [np.asarray(x) for x in (found if isinstance(found, list) else [found])]
    return [np.asarray(found, equation.outvars[0].aval.dtype)]


def _call(inner: str) -> Callable:
    def call(settings, inputs, watch):
        closed = settings[inner]
        return _evaluate(
            getattr(closed, "jaxpr", closed), getattr(closed, "consts", ()), inputs, watch
        )

    return call


def _while(settings, inputs, watch):
    condition, body = settings["cond_jaxpr"], settings["body_jaxpr"]
    split = settings["cond_nconsts"], settings["body_nconsts"]
    first, second = inputs[: split[0]], inputs[split[0] : sum(split)]
    carry = inputs[sum(split) :]
    while True:
        (on,) = _evaluate(condition.jaxpr, condition.consts, [*first, *carry], watch)
        if not np.any(on):
            return carry
        found = _evaluate(body.jaxpr, body.consts, [*second, *carry], watch)
        # In a batch of loops, finished ones keep their state.
        carry = [
            np.where(on.reshape(on.shape + (1,) * (new.ndim - on.ndim)), new, old)
            for new, old in zip(found, carry, strict=True)
        ]


def _scan(settings, inputs, watch):
    body, fixed = settings["jaxpr"], settings["num_consts"]
    moving = fixed + settings["num_carry"]
    carry, rows = inputs[fixed:moving], inputs[moving:]
    outputs = []
    order = range(settings["length"])
    for i in reversed(order) if settings["reverse"] else order:
        each = [*inputs[:fixed], *carry, *(row[i] for row in rows)]
        found = _evaluate(body.jaxpr, body.consts, each, watch)
        carry = found[: settings["num_carry"]]
        outputs.append(found[settings["num_carry"] :])
    if settings["reverse"]:
        outputs.reverse()
    return [*carry, *(np.stack(column) for column in zip(*outputs, strict=True))]


def _cond(settings, inputs, watch):
    branches = settings["branches"]
    branch = branches[int(np.clip(inputs[0], 0, len(branches) - 1))]
    return _evaluate(branch.jaxpr, branch.consts, inputs[1:], watch)


_NESTED = {
    "jit": _call("jaxpr"),
    "pjit": _call("jaxpr"),
    "closed_call": _call("call_jaxpr"),
    "custom_jvp_call": _call("call_jaxpr"),
    "custom_vjp_call": _call("call_jaxpr"),
    "custom_vmap_call": _call("call"),
    "while": _while,
    "scan": _scan,
    "cond": _cond,
}
