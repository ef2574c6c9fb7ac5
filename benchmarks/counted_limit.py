"""The limit of a mechanism: a program with the counted operations of its trials only.

The same program serves all mechanisms. It has one loop for each kind of operation, which runs
as often as that kind was counted. The random words and the arguments stay in registers and
cache. Hashes and the short logarithms of their words run fused, as in a sampler. Look-ups and
their memory traffic, integer and float32 arithmetic, moves and tallies are omitted.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.operations import ARITHMETIC, HASH, SHORT_LOG, TRANSCENDENTAL
from benchmarks.timing import Sampler
from jaxsel.kernel import stream
from jaxsel.kernel.exponential import one_minus_exp
from jaxsel.kernel.logarithm import log

# Number of elements in one round of a loop.
LANES = 2048
_SIDE_BY_SIDE = 4
# Trials per call; counts are rounded to one round of a loop in this many trials.
BLOCK = 2**15
# Float64 arithmetic in the loop of a float64 function: two operations for its argument, and
# for a logarithm two more to separate exponent and fraction.
_BESIDE = 2
_TAKEN_APART = 2


class _Values(NamedTuple):
    """The arrays of the loops: lanes, arguments, and running maxima of the elements."""

    lane: Any
    argument_single: Any
    argument_double: Any
    single: Any
    double: Any


def _hashes(logs: int) -> Callable:
    def visit(seed, number, values: _Values) -> _Values:
        key = stream.Key(seed, seed, values.lane)
        total = values.single
        for place, word in enumerate(stream.words(key, number)):
            unit = (word >> 9).astype(jnp.int32).astype(jnp.float32) + jnp.float32(0.5)
            total = jnp.maximum(total, -log(unit) if place < logs else unit)
        return values._replace(single=total)

    return visit


def _elementwise(function: Callable, double: bool) -> Callable:
    dtype = jnp.float64 if double else jnp.float32
    name = "double" if double else "single"

    def visit(seed, number, values: _Values) -> _Values:
        del seed
        # Arguments in (1/4, 3/4) that differ from round to round.
        shift = number.astype(dtype) * dtype(2.0**-34)
        argument = getattr(values, f"argument_{name}")
        total = jnp.maximum(getattr(values, name), function(argument + shift))
        return values._replace(**{name: total})

    return visit


def _arithmetic(seed, number, values: _Values) -> _Values:
    del seed
    factor = 1.0 - number.astype(jnp.float64) * 2.0**-40
    return values._replace(double=values.double * factor + factor)


_FUNCTIONS: dict[str, Callable] = {
    "log": jnp.log,
    "log1p": jnp.log1p,
    "exp": jnp.exp,
    "expm1": jnp.expm1,
    "pow": lambda x: x**x,
    "sqrt": jnp.sqrt,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "lgamma": lax.lgamma,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lax.erf_inv,
}
_FUSED = (f"{HASH}, 1 {SHORT_LOG}", f"{HASH}, 2 {SHORT_LOG}")
# One round of each loop, and its number of operations per element.
_LOOPS: dict[str, tuple[Callable, int]] = {
    HASH: (_hashes(0), 1),
    _FUSED[0]: (_hashes(1), 1),
    _FUSED[1]: (_hashes(2), 1),
    SHORT_LOG: (_elementwise(log, double=False), 1),
    ARITHMETIC: (_arithmetic, 2),
} | {
    f"{name} {dtype}": (_elementwise(_FUNCTIONS[name], dtype == "float64"), 1)
    for name in TRANSCENDENTAL
    for dtype in ("float32", "float64")
}
# The fastest ones available.
_LOOPS["log float64"] = _elementwise(log, double=True), 1
_LOOPS["expm1 float64"] = _elementwise(one_minus_exp, double=True), 1


def per_loop(counts: Mapping[str, float]) -> dict[str, float]:
    """Operations of one trial by loop of the limit program.

    Every hash is fused with as many short logarithms, at most two, as there are for it.
    Float64 arithmetic is reduced by what the loops of functions do of it anyway.
    """
    hashes, logs = counts.get(HASH, 0.0), counts.get(SHORT_LOG, 0.0)
    twice = min(max(logs - hashes, 0.0), hashes)
    once = min(logs, hashes) - twice
    functions = sum(n for kind, n in counts.items() if "float64" in kind and kind != ARITHMETIC)
    beside = _BESIDE * functions + _TAKEN_APART * counts.get("log float64", 0.0)
    arithmetic = max(0.0, counts.get(ARITHMETIC, 0.0) - beside)
    return dict(counts) | {
        HASH: hashes - once - twice,
        _FUSED[0]: once,
        _FUSED[1]: twice,
        SHORT_LOG: logs - once - 2 * twice,
        ARITHMETIC: arithmetic,
    }


def rounds(counts: Mapping[str, float], trials: int) -> dict[str, np.int32]:
    """The number of rounds of each loop for that many trials."""
    found = per_loop(counts)
    return {kind: np.int32(round(found.get(kind, 0.0) * trials / (_size(kind)))) for kind in _LOOPS}


def _size(kind: str) -> int:
    return LANES * _SIDE_BY_SIDE * _LOOPS[kind][1]


def run(lane, seed, turns: Mapping[str, Any]):
    """Runs the limit program; ``lane`` numbers the elements, ``turns`` has each loop's rounds."""
    argument = 0.25 + lane.astype(jnp.float64) * 2.0**-13
    single = argument.astype(jnp.float32)
    values = _Values(lane, single, argument, single, argument)
    for kind, (visit, _) in _LOOPS.items():

        def body(number, values, visit=visit):
            for place in range(_SIDE_BY_SIDE):
                each = (number * _SIDE_BY_SIDE + place).astype(jnp.uint32)
                values = visit(seed, each, values)
            return values

        values = lax.fori_loop(0, turns[kind], body, values)
    return values.single, values.double


_program = jax.jit(run)


def limit_of(counts: Mapping[str, float]) -> Sampler:
    """A sampler whose "trials" do the counted operations and nothing else."""
    seeds = itertools.count(1)
    lane = np.arange(LANES, dtype=np.uint32)

    def repeat(trials: int):
        with jax.enable_x64(True):
            found = _program(lane, np.uint32(next(seeds)), rounds(counts, trials))
            return jax.block_until_ready(found)

    return Sampler(repeat, BLOCK)
