"""replay: two runs of a function at the same noise, whose draws are compared.

A function that takes NumPy's Generator, or a key of jax.random, is run on both inputs of a pair,
and each draw is written down: its law, its shape, the scale of what is drawn and what is added
to it. At the same noise, a private function asks for the same draws on both sides; its centres
(value without noise) differ by the sensitivity, and that, divided by the scale, is what it
claims. One pair of runs shows what sampling needs millions of trials for; it proves nothing,
since a mechanism may rightly stop earlier on one side.

The idea of recording and replaying draws is that of Re:cord-play (PETS 2026).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxsel.auditing.functions import neighbours
from jaxsel.auditing.functions.audited_function import Function, load
from jaxsel.auditing.functions.how import reads_former
from jaxsel.auditing.functions.recording import Draw, Recorder
from jaxsel.host.errors import CouldNotError, InputError, UnsupportedError, check_integer
from jaxsel.host.streams import output_to_errors
from jaxsel.language.domains import number
from jaxsel.language.printing import Summary, printed
from jaxsel.language.relations import Relation, relation_of

_SLACK = 1e-9
_ROUNDINGS = 8  # that a sum before the noise may be off by


class ReplayedDraw(NamedTuple):
    """A draw that both runs make, and what differs.

    Attributes:
      law, shape: of the draw on the data.
      scale: the smallest by which the standard law is multiplied, over its entries; NaN for a
        law whose noise is not added.
      moved: by how much the centres of its entries differ between the two runs, where the
        noise is multiplied as in the end: the largest over entries, the l1 norm and the l2 norm.
      ratio: the largest difference of an entry's centres, in its own scale.
    """

    law: str
    shape: tuple[int, ...]
    scale: float
    moved: tuple[float, float, float]
    ratio: float


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

    Example:
        >>> import jaxsel
        >>> def noisy(rng, data):
        ...     return sum(data) + rng.laplace(scale=0.5)
        >>> found = jaxsel.replay(noisy, [0], [1], relation="replace_one", claim=1.0)
        >>> [(draw.law, draw.scale, draw.ratio) for draw in found.draws]
        [('laplace', 0.5, 2.0)]
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
        blind = dict.fromkeys(draw.law for draw in self.draws if math.isnan(draw.scale))
        if blind:
            said += (
                f" Draws without a scale ({', '.join(blind)}) are compared in number and shape "
                "alone, not in their probabilities or in what is made of them: audit those."
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


@reads_former("data", "pair")
def replay(
    subject: Any,
    *data: Any,
    relation: str | Relation,
    claim: float,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    kind: str | None = None,
) -> Replay:
    """Runs a function on both inputs of a pair at the same noise, and compares its draws.

    Args:
      subject: a function ``f(rng, data)``, ``f(rng, data, n)``, which is asked for one row,
        or ``f(key, data)``, which JAX traces; or "path/to/file.py:name".
      data: two neighbours, or an example of the input, from which pairs are proposed.
      relation: in what sense inputs are neighbours, as for an audit.
      claim: epsilon, at which centres may move by so many scales.
      settings: parameters of the function that have defaults, by name.
      seed: of the noise.
      kind: "generator", "vectorised" or "jax", where the names of the parameters do not tell.

    Returns:
      The pair with the most findings, and then the largest move.

    Raises:
      UnsupportedError: for a function that takes neither.
      CouldNotError: if the function raises on every pair.
      InputError: for bad input.

    Example:
        >>> import jaxsel
        >>> def noisy(rng, data):
        ...     return sum(data) + rng.laplace(scale=0.5)
        >>> found = jaxsel.replay(noisy, [0, 1, 1], relation="replace_one", claim=1.0)
        >>> print(found.findings[0])
        what draw 0, laplace, is added to moves by 1, which is 2 of its scale; 1 is claimed
    """
    function, known = load(subject, kind), relation_of(relation)
    if function.kind not in ("generator", "vectorised", "jax"):
        raise UnsupportedError(
            f"{function.name} takes no Generator of NumPy and no key of jax.random, whose draws "
            "could be written down"
        )
    seed = check_integer("seed", seed, 0)
    claim = number(at_least=0.0).read("claim", claim)
    pairs = neighbours.pairs(known, *data)
    given = dict(settings or {})
    function.check_settings(given)
    with output_to_errors():
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
        raise CouldNotError(f"{function.name} draws nothing from its rng or key on any pair")
    return Replay(
        function.name, known.value, claim, *pairs[best], tuple(findings), tuple(draws), len(pairs)
    )


def _largest(draws: Sequence[ReplayedDraw]) -> float:
    return max((draw.ratio for draw in draws), default=0.0)


class _Run(NamedTuple):
    """The draws of one run, and what it raised, in words."""

    draws: list[Draw]
    problem: str


def _run(function: Function, data: Any, settings: Mapping[str, Any], seed: int) -> _Run:
    recorder = Recorder(seed)
    rest = (1,) if function.kind == "vectorised" else ()
    trace = None
    try:
        if function.kind == "jax":
            # Functions of NumPy are replayed without JAX, which takes a second to import.
            from jaxsel.auditing.functions.key_recording import traced

            trace = traced(function, data, settings, seed)
        else:
            function.call(recorder, data, *rest, **settings)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return _Run(recorder.draws, f"raises {type(error).__name__}")
    return _Run(recorder.draws if trace is None else trace.draws(), "")


def _replayed(data: _Run, neighbour: _Run, claim: float) -> tuple[list[str], list[ReplayedDraw]]:
    first, second = data.draws, neighbour.draws
    findings: list[str] = []
    if data.problem != neighbour.problem:
        answers = [one.problem or "answers" for one in (data, neighbour)]
        findings.append(f"the data {answers[0]}, the neighbour {answers[1]}")
    if len(first) != len(second):
        findings.append(f"the data asks for {len(first)} draws, the neighbour for {len(second)}")
    findings += _of_keys(first)
    draws: list[ReplayedDraw] = []
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        if one.law != other.law or one.shape != other.shape:
            findings.append(
                f"draw {place} is {one.law} of shape {one.shape} on the data, {other.law} of shape "
                f"{other.shape} on the neighbour"
            )
            break
        if not one.added:
            if one.parameters != other.parameters:
                findings.append(
                    f"draw {place}, {one.law}, takes {one.parameters} on the data, "
                    f"{other.parameters} on the neighbour"
                )
            draws.append(ReplayedDraw(one.law, one.shape, float("nan"), (0.0, 0.0, 0.0), 0.0))
            continue
        slack = max(_SLACK, _ROUNDINGS * one.rounding)
        if not np.allclose(one.scale, other.scale, rtol=slack, atol=0.0, equal_nan=True):
            findings.append(
                f"the scale of draw {place}, {one.law}, depends on the data: "
                f"{_shown(one.scale)} and {_shown(other.scale)}"
            )
        draw = _compared(one, other)
        draws.append(draw)
        if draw.ratio > claim + slack * (claim + _reach(one) + _reach(other)):
            findings.append(
                f"what draw {place}, {one.law}, is added to moves by {draw.moved[0]:.4g}, which is "
                f"{draw.ratio:.4g} of its scale; {claim:g} is claimed"
            )
    return findings, draws


def _of_keys(draws: Sequence[Draw]) -> list[str]:
    """Draws that are no fresh ones, since they are made from one key of jax.random."""
    seen: dict[bytes, int] = {}
    shared = []
    for place, draw in enumerate(draws):
        shared += [(seen[key], place) for key in draw.keys if key in seen]
        seen |= dict.fromkeys(draw.keys - seen.keys(), place)
    if not shared:
        return []
    (first, second), more = shared[0], len(shared) - 1
    also = f", and {more} more pairs are" if more else ""
    return [f"draws {first} and {second} are made from one key{also}"]


def _reach(draw: Draw) -> float:
    """The largest number that noise is added to, in its scale; rounding is a part of it."""
    found = [abs(centre) / scale for every in draw.uses for centre, scale in every if scale]
    return max(filter(np.isfinite, found), default=0.0)


def _move(one: float, other: float) -> float:
    if one == other or (np.isnan(one) and np.isnan(other)):
        return 0.0
    return abs(one - other) if np.isfinite(one) and np.isfinite(other) else float("inf")


def _shown(scale: np.ndarray) -> str:
    return " to ".join(f"{value:.4g}" for value in sorted({scale.min(), scale.max()}))


def _compared(one: Draw, other: Draw) -> ReplayedDraw:
    moved, ratios = np.zeros(len(one.uses)), np.zeros(len(one.uses))
    for place, (first, second) in enumerate(zip(one.uses, other.uses, strict=True)):
        # Equal noise cancels where other noise is added, too.
        steps = [
            (_move(a, b), min(scale, scale_there))
            for (a, scale), (b, scale_there) in zip(first, second, strict=False)
        ]
        ratios[place] = max((_in_scales(step, scale) for step, scale in steps), default=0.0)
        last = min(one.scale[place], other.scale[place])
        moved[place] = ratios[place] * last if last else max((step for step, _ in steps), default=0)
    scale = float(min(one.scale.min(initial=np.inf), other.scale.min(initial=np.inf)))
    norms = (float(np.linalg.norm(moved, order)) for order in (np.inf, 1, 2))
    largest, absolute, euclidean = norms if moved.size else (0.0, 0.0, 0.0)
    ratio = float(ratios.max(initial=0.0))
    return ReplayedDraw(one.law, one.shape, scale, (largest, absolute, euclidean), ratio)


def _in_scales(step: float, scale: float) -> float:
    if step == 0.0:
        return 0.0
    return step / scale if scale else float("inf")
