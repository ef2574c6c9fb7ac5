"""What a function draws, written down: laws, shapes, scales, and what noise is added to.

``Recorder`` is a Generator of NumPy that writes down each draw; what it returns is followed
through sums with and products by other numbers. ``key_recording`` does the same for a function
of a key of jax.random, whose trace it reads.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

# Laws of noise that is added: the parameters of each method before its size.
ADDED = {
    "laplace": ("loc", "scale"),
    "normal": ("loc", "scale"),
    "gumbel": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "exponential": ("scale",),
    "standard_normal": (),
    "standard_exponential": (),
    "standard_cauchy": (),
}
# Other methods, whose parameters are compared as they are.
_OTHER = (
    *("random", "uniform", "integers", "choice", "binomial", "geometric", "poisson", "gamma"),
    *("standard_gamma", "beta", "chisquare", "multinomial", "dirichlet", "permutation", "shuffle"),
    *("permuted", "negative_binomial", "hypergeometric", "standard_t", "weibull", "bytes"),
)


class Draw:
    """One draw: what was asked for, and what became of it.

    Attributes:
      law, shape, parameters: of the call.
      added: whether the law is one of noise that is added, and is followed.
      scale: Float["entries"], by which the standard law is multiplied in the end.
      uses: for each entry the numbers that it was added to, and by which it was multiplied
        then, one pair for each use.
      keys: of jax.random, that the draw is made from.
      rounding: the relative error of the arithmetic that the draw is part of.
    """

    def __init__(
        self, law: str, shape: tuple[int, ...], parameters: tuple[Any, ...], *, added: bool
    ) -> None:
        self.law, self.shape, self.parameters, self.added = law, shape, parameters, added
        self.keys: frozenset[bytes] = frozenset()
        self.rounding = float(np.finfo(float).eps)
        size = int(np.prod(shape))
        self.scale = np.ones(size)
        self.uses: list[list[tuple[float, float]]] = [[] for _ in range(size)]

    def use(self, places: np.ndarray, centre: np.ndarray, factor: np.ndarray) -> None:
        """Notes what is added to some entries, and by how much they are multiplied."""
        flat = places.ravel()
        centres, factors = (
            np.broadcast_to(one, places.shape).ravel() for one in (centre, np.abs(factor))
        )
        self.scale[flat] = factors
        for place, value, scale in zip(flat, centres, factors, strict=True):
            self.uses[place].append((float(value), float(scale)))


class Noise(np.ndarray):
    """What was drawn, through sums with and products by other numbers."""

    draw: Draw | None = None
    places: np.ndarray  # of the draw, for each entry
    centre: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, values: Any, draw: Draw, places: np.ndarray, centre: Any, factor: Any) -> "Noise":
        found = np.asarray(values, float).view(cls)
        found.draw, found.places = draw, places
        found.centre = np.broadcast_to(centre, found.shape)
        found.factor = np.broadcast_to(factor, found.shape)
        return found

    def __round__(self, digits: int = 0) -> float:
        return round(float(self), digits)

    def __array_finalize__(self, parent: Any) -> None:
        self.draw = None  # whatever is not known to be linear ends the trace

    def __getitem__(self, key: Any) -> Any:
        found = np.asarray(self)[key]
        if self.draw is None:
            return found
        parts = (part[key] for part in (self.places, self.centre, self.factor))
        return Noise.of(found, self.draw, *parts)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [plain_of(one) for one in inputs]
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(plain_of(one) for one in out)
        traced = [
            place
            for place, one in enumerate(inputs)
            if isinstance(one, Noise) and one.draw is not None
        ]
        if method != "__call__" or ufunc not in _LINEAR or not traced:
            found = getattr(ufunc, method)(*plain, **options)
            return found if out is None else _first(out)
        before = [np.array(one) for one in plain]  # what is changed in place is lost
        found = ufunc(*plain, **options)
        result = followed(ufunc, inputs, before, found)
        if out is None:
            return result
        target = _first(out)
        if isinstance(target, Noise) and isinstance(result, Noise):
            target.draw, target.places = result.draw, result.places
            target.centre, target.factor = result.centre, result.factor
        return target


_LINEAR = (np.add, np.subtract, np.multiply, np.true_divide, np.negative)


def followed(ufunc: Any, inputs: Sequence[Any], plain: Sequence[np.ndarray], found: Any) -> Any:
    """Notes an operation of ``_LINEAR`` on noise, and returns its result as noise, if it is that.

    Args:
      ufunc: the operation.
      inputs: its operands, of which some are ``Noise``.
      plain: the same operands as plain arrays.
      found: its result.
    """
    result = None
    for place, noise in enumerate(inputs):
        if not isinstance(noise, Noise) or noise.draw is None:
            continue
        linear = _linear(ufunc, place, plain, noise)
        if linear is None:
            continue
        centre, factor = linear
        places = np.broadcast_to(noise.places, np.shape(found))
        noise.draw.use(places, centre, factor)
        # Of two noises that are added, the first is followed on.
        if result is None:
            result = Noise.of(found, noise.draw, places, centre, factor)
    return found if result is None else result


def plain_of(one: Any) -> Any:
    """A plain array of noise; all else as it is."""
    return one.view(np.ndarray) if isinstance(one, Noise) else one


def _first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def _linear(
    ufunc: Any, place: int, plain: Sequence[np.ndarray], noise: Noise
) -> tuple[np.ndarray, np.ndarray] | None:
    """Centre and factor of the result in the noise of one operand; None if it is not linear."""
    if ufunc is np.negative:
        return -noise.centre, -noise.factor
    other = plain[1 - place]
    if ufunc is np.add:
        return noise.centre + other, noise.factor + 0.0 * other
    if ufunc is np.subtract:
        sign = 1.0 if place == 0 else -1.0
        return sign * (noise.centre - other), sign * noise.factor + 0.0 * other
    if ufunc is np.multiply:
        return noise.centre * other, noise.factor * other
    if place == 0:
        return noise.centre / other, noise.factor / other
    return None


class Recorder(np.random.Generator):
    """A generator that writes down every draw."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.draws: list[Draw] = []

    def __reduce__(self) -> Any:
        raise TypeError("a generator that records its draws cannot be copied")


def _added(law: str, names: Sequence[str]) -> Any:
    drawn = getattr(np.random.Generator, law)

    def method(self: Recorder, *given: Any, **options: Any) -> Any:
        values = drawn(self, *given, **options)
        asked = dict(zip((*names, "size"), given, strict=False)) | options
        scale = np.asarray(asked.get("scale", 1.0), float)
        centre = np.asarray(asked.get("loc", 0.0), float)
        shape = np.shape(values)
        draw = Draw(law, shape, (), added=True)
        self.draws.append(draw)
        places = np.arange(int(np.prod(shape))).reshape(shape)
        draw.use(places, centre, scale)
        return Noise.of(values, draw, places, centre, scale)

    return method


def _other(law: str) -> Any:
    drawn = getattr(np.random.Generator, law)

    def method(self: Recorder, *given: Any, **options: Any) -> Any:
        said = (*given, *options.values())
        values = drawn(self, *given, **options)
        # What is shuffled or chosen from is data; its size is what is asked for.
        parameters = tuple(
            one if np.ndim(one) == 0 else f"an array of shape {np.shape(one)}" for one in said
        )
        self.draws.append(Draw(law, np.shape(values), parameters, added=False))
        return values

    return method


for _law, _names in ADDED.items():
    setattr(Recorder, _law, _added(_law, _names))
for _law in _OTHER:
    setattr(Recorder, _law, _other(_law))
