"""Checks that a function draws its randomness from its key only.

JAX traces a function once and runs the trace for every trial: a random number from NumPy or
Python becomes a constant of the trace, and the tallies look like those of a deterministic
function. The trace shows it: dead-code elimination finds a key that no output needs, and
two traces of a function with other sources of randomness differ.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jax.interpreters import partial_eval

from jaxsel.kernel import stream


class KeyUse(NamedTuple):
    """How a function uses its key.

    Attributes:
      used: whether the outcome depends on the key of the trial.
      repeatable: whether two traces are the same, constants included.
    """

    used: bool
    repeatable: bool


def key_use(function: Callable[..., Any], *args: Any) -> KeyUse:
    """Traces ``function(key, *args)`` twice.

    Parts that the function compiles itself (``jax.jit``) are traced only once, so that
    other randomness in them is noticed only if no key is used at all.
    """
    word: Any = jax.ShapeDtypeStruct((), jnp.uint32)
    key = stream.Key(word, word, word)
    # A new function each time: JAX caches traces by function.
    first, second = (
        jax.make_jaxpr(lambda key, *args: function(key, *args))(key, *args) for _ in range(2)
    )
    outputs = [True] * len(first.jaxpr.outvars)
    _, used = partial_eval.dce_jaxpr(first.jaxpr, outputs)
    lane = stream.Key._fields.index("lane")
    return KeyUse(bool(used[lane]), [*_parts(first)] == [*_parts(second)])


def _parts(closed: ClosedJaxpr | Jaxpr) -> Iterator[Any]:
    """The operations, shapes and constants of a trace, in order."""
    jaxpr = getattr(closed, "jaxpr", closed)
    yield from map(_constant, getattr(closed, "consts", ()))
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        yield from (str(each.aval) for each in equation.outvars)
        yield from _literals(equation.invars)
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if isinstance(inner, ClosedJaxpr | Jaxpr):
                    yield from _parts(inner)
    yield from _literals(jaxpr.outvars)


def _literals(atoms: Iterable[Any]) -> Iterator[Any]:
    return (_constant(atom.val) for atom in atoms if isinstance(atom, Literal))


def _constant(value: Any) -> tuple[str, bytes]:
    array = np.asarray(value)
    return f"{array.dtype}{array.shape}", array.tobytes()
