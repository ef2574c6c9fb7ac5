"""The least number of operations of one trial of a mechanism, counted from its trace.

Operations of the trace are counted by kind: hashes, logarithms, exponentials, float64
arithmetic. Only operations that depend on the number of the trial count, since the others are
done once per block. The body of a loop counts as often as it runs. If that depends on the
trial, the counts are computed by a program that carries them along, and averaged over trials.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Literal
from jax.interpreters import partial_eval

from jaxsel.kernel import stream
from jaxsel.language.base import Mechanism

HASH = "hash"
# jaxsel's own logarithm, for positive, normal float32 numbers.
SHORT_LOG = "short log"
ARITHMETIC = "float64 arithmetic"
TRANSCENDENTAL = (
    "log",
    "log1p",
    "exp",
    "expm1",
    "pow",
    "sqrt",
    "tanh",
    "logistic",
    "sin",
    "cos",
    "lgamma",
    "erf",
    "erfc",
    "erf_inv",
)
KINDS = (
    HASH,
    SHORT_LOG,
    *(f"{name} {dtype}" for dtype in ("float32", "float64") for name in TRANSCENDENTAL),
    ARITHMETIC,
)
_PLACE = {kind: place for place, kind in enumerate(KINDS)}
# Jitted functions that count as one operation per element.
THREEFRY = "threefry_rounds"
_NAMED = {
    THREEFRY: HASH,
    "join_single": SHORT_LOG,
    "join_double": "log float64",
    "join_fused": "log float64",
    "one_minus_exp_double": "expm1 float64",
}
_MOVES = {
    "broadcast_in_dim",
    "reshape",
    "squeeze",
    "transpose",
    "slice",
    "dynamic_slice",
    "dynamic_update_slice",
    "gather",
    "scatter",
    "concatenate",
    "pad",
    "rev",
    "copy",
    "copy_p",
    "iota",
    "select_n",
    "stop_gradient",
    "expand_dims",
    "split",
    "optimization_barrier",
    "bitcast_convert_type",
}
# Primitives that call another program, and the parameter that contains it.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
}
_SAMPLE = 1024


def operations(mechanism: Mechanism, data: Any, params: Any) -> dict[str, float]:
    """Mean number of operations per trial, for each kind that occurs.

    Args:
      mechanism: the mechanism.
      data, params: its prepared input; call this under ``jax.enable_x64(True)``.
    """
    word: Any = jax.ShapeDtypeStruct((), jnp.uint32)

    def event(lane, first, second, data, params):
        key = stream.Key(first, second, lane)
        return mechanism.event(mechanism.sample(key, data, params))

    return count(event, word, word, word, data, params)


def count(function: Callable[..., Any], *args: Any) -> dict[str, float]:
    """Mean number of operations by kind that depend on the first argument, a uint32 number.

    Args:
      function: a function of JAX arrays.
      *args: shapes or values; of the first three, which are numbers, only the shapes are
        used.
    """
    closed = jax.make_jaxpr(function)(*args)
    jaxpr, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.out_avals))
    leaves = jax.tree.leaves(args)
    taints = [place == 0 for place, kept in enumerate(used) if kept]
    found: list[Any] = []

    def walk(*words):
        values = [*words, *leaves[len(words) :]]
        values = [v for v, kept in zip(values, used, strict=True) if kept]
        _, _, cost = _walk(jaxpr, closed.consts, values, taints)
        found.append(cost)
        return jnp.asarray(cost)

    numbers = sum(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    words = (jnp.arange(_SAMPLE, dtype=jnp.uint32), *(jnp.uint32(0),) * (numbers - 1))
    over = jax.vmap(walk, in_axes=(0, *(None,) * (numbers - 1)))
    jax.eval_shape(over, *words)
    cost = found[0]
    if not isinstance(cost, np.ndarray):
        # The program runs once, so optimising it would take longer than it saves.
        quick: Any = {"xla_backend_optimization_level": 0}
        compiled = jax.jit(over).lower(*words).compile(compiler_options=quick)
        cost = np.asarray(compiled(*words)).mean(axis=0)
    return {kind: float(n) for kind, n in zip(KINDS, cost, strict=True) if n}


def float64_operations(counts: dict[str, float]) -> float:
    """The number of counted operations in float64."""
    return sum(n for kind, n in counts.items() if "float64" in kind)


def _nothing() -> np.ndarray:
    return np.zeros(len(KINDS))


def _is_literal(atom) -> bool:
    return isinstance(atom, Literal)


def _inner(value) -> tuple[Any, Sequence[Any]]:
    """The jaxpr and constants of an open or closed jaxpr."""
    if isinstance(value, ClosedJaxpr):
        return value.jaxpr, value.consts
    return value, ()


def _own_cost(equation) -> np.ndarray:
    """The cost of an operation, without the programs that it calls."""
    cost = _nothing()
    name = equation.primitive.name
    results = [atom.aval for atom in equation.outvars]
    size = max((math.prod(aval.shape) for aval in results), default=0)
    dtype = str(results[0].dtype) if results else ""
    if (kind := f"{name} {dtype}") in _PLACE:
        cost[_PLACE[kind]] = size
        return cost
    operands = [atom.aval for atom in equation.invars]
    in_float64 = any(str(aval.dtype) == "float64" for aval in (*operands, *results))
    if not in_float64 or name in _MOVES:
        return cost
    if name == "dot_general":
        ((contracted, _), _) = equation.params["dimension_numbers"]
        size *= 2 * math.prod(operands[0].shape[axis] for axis in contracted)
    elif name == "sort":
        size *= max(1, math.ceil(math.log2(max(2, size))))
    else:  # the cost of a reduction is the number of elements that it reads
        size = max([size, *(math.prod(aval.shape) for aval in operands)])
    cost[_PLACE[ARITHMETIC]] = size
    return cost


def _walk(jaxpr, consts, values, taints) -> tuple[list[Any], list[bool], Any]:
    """Runs a jaxpr; returns the results, whether they depend on the trial, and the cost.

    The cost is a NumPy array as long as it is known without running the program.
    """
    environment: dict[Any, tuple[Any, bool]] = {}

    def read(atom):
        return (atom.val, False) if _is_literal(atom) else environment[atom]

    for variable, constant in zip(jaxpr.constvars, consts, strict=True):
        environment[variable] = constant, False
    for variable, pair in zip(jaxpr.invars, zip(values, taints, strict=True), strict=True):
        environment[variable] = pair
    total: Any = _nothing()
    for equation in jaxpr.eqns:
        read_values, read_taints = (
            (list(part) for part in zip(*map(read, equation.invars), strict=True))
            if equation.invars
            else ([], [])
        )
        found, tainted, cost = _step(equation, read_values, read_taints)
        total = total + cost
        for variable, pair in zip(equation.outvars, zip(found, tainted, strict=True), strict=True):
            environment[variable] = pair
    outputs = [read(atom) for atom in jaxpr.outvars]
    return [value for value, _ in outputs], [taint for _, taint in outputs], total


def _bind(equation, values) -> list[Any]:
    settings = equation.primitive.get_bind_params(equation.params)
    found = equation.primitive.bind(*values, **settings)
    return list(found) if equation.primitive.multiple_results else [found]


def _step(equation, values, taints) -> tuple[list[Any], list[bool], Any]:
    name, settings = equation.primitive.name, equation.params
    if name in _CALLS:
        kind = _NAMED.get(settings.get("name", ""))
        if kind is None:
            return _walk(*_inner(settings[_CALLS[name]]), values, taints)
        cost = _nothing()
        if any(taints):
            cost[_PLACE[kind]] = math.prod(equation.outvars[0].aval.shape)
        return _bind(equation, values), [any(taints)] * len(equation.outvars), cost
    if name == "while":
        return _while(settings, values, taints)
    if name == "scan":
        return _scan(settings, values, taints)
    if name == "cond":
        return _cond(settings, values, taints)
    cost = _own_cost(equation) if any(taints) else _nothing()
    return _bind(equation, values), [any(taints)] * len(equation.outvars), cost


def _taints(jaxpr, consts, taints) -> list[bool]:
    """Which results depend on the trial, found by abstract evaluation."""
    found: list[list[bool]] = []

    def walk(*values):
        out, tainted, _ = _walk(jaxpr, consts, values, taints)
        found.append(tainted)
        return out

    jax.eval_shape(walk, *(atom.aval for atom in jaxpr.invars))
    return found[0]


def _settled(jaxpr, consts, fixed, carry, rest=()) -> list[bool]:
    """Which parts of a loop's carry depend on the trial, after any number of rounds."""
    while True:
        out = _taints(jaxpr, consts, [*fixed, *carry, *rest])[: len(carry)]
        wider = [a or b for a, b in zip(carry, out, strict=True)]
        if wider == carry:
            return carry
        carry = wider


def _while(settings, values, taints):
    condition, body = _inner(settings["cond_jaxpr"]), _inner(settings["body_jaxpr"])
    first = settings["cond_nconsts"]
    second = first + settings["body_nconsts"]
    state = _settled(*body, taints[first:second], taints[second:])

    def proceed(carry):
        return _walk(*condition, [*values[:first], *carry[0]], [*taints[:first], *state])[0][0]

    def once(carry):
        parts, total = carry
        tested = _walk(*condition, [*values[:first], *parts], [*taints[:first], *state])[2]
        out, _, cost = _walk(
            *body, [*values[first:second], *parts], [*taints[first:second], *state]
        )
        return out, total + cost + tested

    out, cost = lax.while_loop(proceed, once, (list(values[second:]), jnp.asarray(_nothing())))
    ends = _taints(*condition, [*taints[:first], *state])[0]
    return out, [ends or taint for taint in state], cost


def _scan(settings, values, taints):
    body = _inner(settings["jaxpr"])
    fixed = settings["num_consts"]
    moving = fixed + settings["num_carry"]
    state = _settled(*body, taints[:fixed], taints[fixed:moving], taints[moving:])
    each = [*taints[:fixed], *state, *taints[moving:]]
    static: list[np.ndarray] = []
    tainted: list[list[bool]] = []

    def once(carry, rows):
        parts, total = carry
        out, found, cost = _walk(*body, [*values[:fixed], *parts, *rows], each)
        tainted.append(found)
        if isinstance(cost, np.ndarray):
            static.append(cost)
        else:
            total = total + cost
        split = settings["num_carry"]
        return (out[:split], total), out[split:]

    start = (list(values[fixed:moving]), jnp.asarray(_nothing()))
    (out, cost), rows = lax.scan(
        once, start, list(values[moving:]), settings["length"], settings["reverse"]
    )
    if static:
        cost = static[0] * settings["length"]
    rest = tainted[-1][settings["num_carry"] :]
    return [*out, *rows], [*state, *rest], cost


def _cond(settings, values, taints):
    branches = [_inner(branch) for branch in settings["branches"]]
    tainted: list[list[bool]] = []
    costs: list[Any] = []

    def run(jaxpr, consts):
        def call(*inputs):
            out, found, cost = _walk(jaxpr, consts, inputs, taints[1:])
            tainted.append(found)
            costs.append(cost)
            return out, jnp.asarray(cost)

        return call

    calls = [run(*branch) for branch in branches]
    out, cost = lax.switch(values[0], calls, *values[1:])
    same = all(isinstance(c, np.ndarray) and np.array_equal(c, costs[0]) for c in costs)
    merged = [taints[0] or any(column) for column in zip(*tainted, strict=True)]
    return out, merged, costs[0] if same else cost
