"""replay: two runs of a function at the same noise, whose draws are compared.

A function that takes NumPy's Generator is run on both inputs of a pair with one that writes down
each draw: its law, its shape, the scale of what is drawn and what is added to it. At the same
noise, a private function asks for the same draws on both sides; its centres (value without
noise) differ by the sensitivity, and that, divided by the scale, is what it claims. One pair of
runs shows what sampling needs millions of trials for; it proves nothing, since a mechanism may
rightly stop earlier on one side.

The idea of recording and replaying draws is that of Re:cord-play (PETS 2026).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsel.auditing.functions import neighbours
from jaxsel.auditing.functions.subject import Function, load
from jaxsel.host.errors import CouldNotError, UnsupportedError
from jaxsel.language.printing import Summary, printed
from jaxsel.language.relations import Relation, relation_of

# Laws of noise that is added: the parameters of each method before its size.
_ADDED = {
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
_SLACK = 1e-9


class _Draw:
    """One draw: what was asked for, and what became of it.

    Attributes:
      law, shape, parameters: of the call.
      scale: Float["entries"], by which the standard law is multiplied.
      centres: for each entry the numbers that it was added to, one for each use.
    """

    def __init__(self, law: str, shape: tuple[int, ...], parameters: tuple[Any, ...]) -> None:
        self.law, self.shape, self.parameters = law, shape, parameters
        size = int(np.prod(shape))
        self.scale = np.ones(size)
        self.centres: list[list[float]] = [[] for _ in range(size)]

    def use(self, places: np.ndarray, centre: np.ndarray, factor: np.ndarray) -> None:
        """Notes what is added to some entries, and by how much they are multiplied."""
        flat = places.ravel()
        self.scale[flat] = np.abs(np.broadcast_to(factor, places.shape)).ravel()
        for place, value in zip(flat, np.broadcast_to(centre, places.shape).ravel(), strict=True):
            self.centres[place].append(float(value))


class _Noise(np.ndarray):
    """What was drawn, through sums with and products by other numbers."""

    draw: _Draw | None = None
    places: np.ndarray  # of the draw, for each entry
    centre: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, values: Any, draw: _Draw, places: np.ndarray, centre: Any, factor: Any) -> "_Noise":
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
        return _Noise.of(found, self.draw, *parts)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [_plain(one) for one in inputs]
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(_plain(one) for one in out)
        traced = [
            place
            for place, one in enumerate(inputs)
            if isinstance(one, _Noise) and one.draw is not None
        ]
        if method != "__call__" or ufunc not in _LINEAR or not traced:
            found = getattr(ufunc, method)(*plain, **options)
            return found if out is None else _first(out)
        before = [np.array(one) for one in plain]  # what is changed in place is lost
        found = ufunc(*plain, **options)
        first = None
        for place in traced:
            noise = inputs[place]
            linear = _linear(ufunc, place, before, noise)
            if linear is None:
                continue
            centre, factor = linear
            places = np.broadcast_to(noise.places, np.shape(found))
            noise.draw.use(places, centre, factor)
            first = first or _Noise.of(found, noise.draw, places, centre, factor)
        if out is None:
            return found if first is None else first
        target = _first(out)
        if isinstance(target, _Noise) and first is not None:
            target.draw, target.places = first.draw, first.places
            target.centre, target.factor = first.centre, first.factor
        return target


_LINEAR = (np.add, np.subtract, np.multiply, np.true_divide, np.negative)


def _plain(one: Any) -> Any:
    return one.view(np.ndarray) if isinstance(one, _Noise) else one


def _first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def _linear(
    ufunc: Any, place: int, plain: Sequence[np.ndarray], noise: _Noise
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


class _Recorder(np.random.Generator):
    """A generator that writes down every draw."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.draws: list[_Draw] = []

    def __reduce__(self) -> Any:
        raise TypeError("a generator that records its draws cannot be copied")


def _added(law: str, names: Sequence[str]) -> Any:
    drawn = getattr(np.random.Generator, law)

    def method(self: _Recorder, *given: Any, **options: Any) -> Any:
        values = drawn(self, *given, **options)
        asked = dict(zip((*names, "size"), given, strict=False)) | options
        scale = np.asarray(asked.get("scale", 1.0), float)
        centre = np.asarray(asked.get("loc", 0.0), float)
        shape = np.shape(values)
        draw = _Draw(law, shape, ())
        self.draws.append(draw)
        places = np.arange(int(np.prod(shape))).reshape(shape)
        draw.use(places, centre, scale)
        return _Noise.of(values, draw, places, centre, scale)

    return method


def _other(law: str) -> Any:
    drawn = getattr(np.random.Generator, law)

    def method(self: _Recorder, *given: Any, **options: Any) -> Any:
        said = (*given, *options.values())
        values = drawn(self, *given, **options)
        # What is shuffled or chosen from is data; its size is what is asked for.
        parameters = tuple(
            one if np.ndim(one) == 0 else f"an array of shape {np.shape(one)}" for one in said
        )
        self.draws.append(_Draw(law, np.shape(values), parameters))
        return values

    return method


for _law, _names in _ADDED.items():
    setattr(_Recorder, _law, _added(_law, _names))
for _law in _OTHER:
    setattr(_Recorder, _law, _other(_law))


class ReplayedDraw(NamedTuple):
    """A draw that both runs make, and what differs.

    Attributes:
      law, shape: of the draw on the data.
      scale: the smallest by which the standard law is multiplied, over its entries; NaN for a
        law whose noise is not added.
      moved: by how much the centres of its entries differ between the two runs: the largest
        over entries, the l1 norm and the l2 norm.
    """

    law: str
    shape: tuple[int, ...]
    scale: float
    moved: tuple[float, float, float]

    @property
    def ratio(self) -> float:
        """The largest difference of an entry's centres, in scales."""
        return self.moved[0] / self.scale if self.scale else float("inf")


@printed
class Replay(NamedTuple):
    """Two runs at the same noise.

    Attributes:
      function, relation: what was run, and in what sense the inputs are neighbours.
      claim: the epsilon that is claimed.
      data, neighbour, why: the pair that differs most.
      findings: in words; none is a proof, each asks for a reason.
      draws: those of the pair, as far as both sides make the same.
      pairs: how many pairs were replayed.
    """

    function: str
    relation: str
    claim: float
    data: Any
    neighbour: Any
    why: str
    findings: tuple[str, ...]
    draws: tuple[ReplayedDraw, ...]
    pairs: int

    def summary(self) -> Summary:
        """The findings, above a table of the draws."""
        if self.findings:
            said = f"{self.function}, {self.why}: {'; '.join(self.findings)}. That is no proof."
        else:
            said = (
                f"{self.function}: both sides make the same draws on all {self.pairs} pairs, and "
                f"no centre moves by more than {self.claim:g} scales. That is no proof."
            )
        rows = [
            [
                place,
                draw.law,
                "x".join(map(str, draw.shape)) or "1",
                f"{draw.scale:.4g}",
                *(f"{moved:.4g}" for moved in draw.moved),
                f"{draw.ratio:.4g}",
            ]
            for place, draw in enumerate(self.draws)
        ]
        columns = ("draw", "law", "shape", "scale", "largest move", "l1", "l2", "move / scale")
        return Summary(said, columns, rows)


def replay(
    subject: Any,
    *,
    relation: str | Relation,
    claim: float,
    data: Any = None,
    pair: tuple[Any, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    kind: str | None = None,
) -> Replay:
    """Runs a function on both inputs of a pair at the same noise, and compares its draws.

    Args:
      subject: a function ``f(rng, data)`` or ``f(rng, data, n)``, which is asked for one row,
        or "path/to/file.py:name".
      relation: in what sense inputs are neighbours, as for an audit.
      claim: epsilon, at which centres may move by so many scales.
      data: an example of the input, from which pairs are proposed.
      pair: two neighbours; then no others are proposed.
      settings: parameters of the function that have defaults, by name.
      seed: of the noise.
      kind: "generator" or "vectorised", where the names of the parameters do not tell.

    Returns:
      The pair with the most findings, and then the largest move.

    Raises:
      UnsupportedError: for a function that takes no Generator.
      CouldNotError: if the function raises on every pair.
      InputError: for bad input.
    """
    function, known = load(subject, kind), relation_of(relation)
    if function.kind not in ("generator", "vectorised"):
        raise UnsupportedError(
            f"{function.name} takes no Generator of NumPy, whose draws could be written down"
        )
    pairs = neighbours.pairs(known, data, pair)
    given = dict(settings or {})
    runs = [
        [_run(function, side, given, seed) for side in (each.data, each.neighbour)]
        for each in pairs
    ]
    if all(problem for sides in runs for _, problem in sides):
        raise CouldNotError(f"{function.name} {runs[0][0].problem} on every pair")
    found = [_replayed(one, other, claim) for one, other in runs]
    kept = [(len(said), _largest(draws), place) for place, (said, draws) in enumerate(found)]
    _, _, best = max(kept)
    findings, draws = found[best]
    if not findings and not draws:
        raise CouldNotError(f"{function.name} draws nothing from rng on any pair")
    return Replay(
        function.name, known.value, claim, *pairs[best], tuple(findings), tuple(draws), len(pairs)
    )


def _largest(draws: Sequence[ReplayedDraw]) -> float:
    return max((draw.ratio for draw in draws), default=0.0)


class _Run(NamedTuple):
    """The draws of one run, and what it raised, in words."""

    draws: list[_Draw]
    problem: str


def _run(function: Function, data: Any, settings: Mapping[str, Any], seed: int) -> _Run:
    recorder = _Recorder(seed)
    rest = (1,) if function.kind == "vectorised" else ()
    problem = ""
    try:
        function.call(recorder, data, *rest, **settings)
    except Exception as error:
        problem = f"raises {type(error).__name__}"
    return _Run(recorder.draws, problem)


def _replayed(data: _Run, neighbour: _Run, claim: float) -> tuple[list[str], list[ReplayedDraw]]:
    first, second = data.draws, neighbour.draws
    findings: list[str] = []
    if data.problem != neighbour.problem:
        answers = [one.problem or "answers" for one in (data, neighbour)]
        findings.append(f"the data {answers[0]}, the neighbour {answers[1]}")
    if len(first) != len(second):
        findings.append(f"the data asks for {len(first)} draws, the neighbour for {len(second)}")
    draws: list[ReplayedDraw] = []
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.law != other.law or one.shape != other.shape:
            findings.append(
                f"draw {place} is {one.law} of shape {one.shape} on the data, {other.law} of shape "
                f"{other.shape} on the neighbour"
            )
            break
        if one.law not in _ADDED:
            if one.parameters != other.parameters:
                findings.append(
                    f"draw {place}, {one.law}, takes {one.parameters} on the data, "
                    f"{other.parameters} on the neighbour"
                )
            draws.append(ReplayedDraw(one.law, one.shape, float("nan"), (0.0, 0.0, 0.0)))
            continue
        if not np.allclose(one.scale, other.scale, rtol=_SLACK, atol=0.0, equal_nan=True):
            findings.append(
                f"the scale of draw {place}, {one.law}, depends on the data: "
                f"{_shown(one.scale)} and {_shown(other.scale)}"
            )
        draw = _compared(one, other)
        draws.append(draw)
        if draw.ratio > claim * (1.0 + _SLACK):
            findings.append(
                f"what draw {place}, {one.law}, is added to moves by {draw.moved[0]:.4g}, which is "
                f"{draw.ratio:.4g} of its scale; {claim:g} is claimed"
            )
    return findings, draws


def _move(one: float, other: float) -> float:
    if one == other or (np.isnan(one) and np.isnan(other)):
        return 0.0
    return abs(one - other) if np.isfinite(one) and np.isfinite(other) else float("inf")


def _shown(scale: np.ndarray) -> str:
    return " to ".join(f"{value:.4g}" for value in sorted({scale.min(), scale.max()}))


def _compared(one: _Draw, other: _Draw) -> ReplayedDraw:
    moved = np.zeros(len(one.centres))
    for place, (first, second) in enumerate(zip(one.centres, other.centres, strict=True)):
        # Equal noise cancels where other noise is added, too.
        steps = [_move(a, b) for a, b in zip(first, second, strict=False)]
        moved[place] = max(steps, default=0.0)
    scale = float(min(one.scale.min(initial=np.inf), other.scale.min(initial=np.inf)))
    norms = (float(np.linalg.norm(moved, order)) for order in (np.inf, 1, 2))
    largest, absolute, euclidean = norms if moved.size else (0.0, 0.0, 0.0)
    return ReplayedDraw(one.law, one.shape, scale, (largest, absolute, euclidean))
