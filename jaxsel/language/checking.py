"""How a claim is put to the test: points, what is observed there, and the verdict.

A case names a point, the values of all parameters of the claim, and says what was observed;
the claim is evaluated at the point, so that no check can judge another formula than the one
that is published:

    @noise.bounds(listed("epsilon delta", (1.0, 0.5), (0.99, 0.3)))
    def exact_delta(epsilon, delta):
        return truncated_laplace_delta(epsilon, delta), "shift 1"

    @noise.bounds(tolerance=1e-12)
    def narrow_noises(budget):
        for delta in ...:
            yield {"delta": delta}, exact, f"{shift=}"

Where a claim bounds one number of a pair by another, no point gives its number: its check
yields ``Judged`` cases, which hold both numbers.
"""

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, SupportsFloat

import numpy as np


class Budget(NamedTuple):
    """How much work a check may do.

    Attributes:
      trials: simulated trials on each side of a pair, for checks that need simulation.
      cases: random cases, for checks that search exact laws.
      seed: of the simulation and of the random search.

    Example:
        >>> import jaxsel
        >>> quick = jaxsel.Budget(trials=10_000, cases=20)
        >>> print(jaxsel.validate("PS-Cor3", quick)[0].verdict.outcome)
        holds
    """

    trials: int = 1_000_000
    cases: int = 300
    seed: int = 0

    def draws(self, most: float = math.inf, stream: int = 0) -> Iterator[np.random.Generator]:
        """Yields one and the same generator of random numbers, once for each random case.

        Args:
          most: the number of cases, where fewer than ``cases`` will do.
          stream: added to the seed.
        """
        generator = np.random.default_rng(self.seed + stream)
        for _ in range(int(min(self.cases, most))):
            yield generator


class Verdict(NamedTuple):
    """What a check saw.

    Attributes:
      outcome: "holds", "refuted" or "inconclusive".
      claimed: the number that the claim states, in the worst case seen.
      observed: the exact or simulated number set against it, in the same case.
      margin: the least slack over all cases, below 0 by more than rounding if one
        violates the claim, in the units of the claim (for a bound: claimed - observed;
        for an identity: the tolerance minus the largest deviation).
      cases: how many cases were tried.
      detail: one sentence that lets a reader reproduce the worst case.
      tightness: the power of the check of a bound: the largest observed / claimed over
        all cases (claimed / observed of a lower bound), 1 for a bound that is attained;
        None for an identity, or if no case has a positive finite bound.
      evaluated: how many of the cases the claim itself gave the number of.
      notices: whether these would refute the claim if its number were wrong: half of it for
        an upper bound, twice for a lower one (and for an upper one that says where it is
        attained), 1.01 times for an identity.

    Example:
        >>> import jaxsel
        >>> verdict = jaxsel.validate("PS-Cor3", jaxsel.Budget(cases=20))[0].verdict
        >>> print(f"{verdict.outcome}: at most {verdict.claimed}, and {verdict.observed:.2f} seen")
        holds: at most 1.5, and 1.50 seen
    """

    outcome: str
    claimed: float
    observed: float
    margin: float
    cases: int
    detail: str
    tightness: float | None = None
    evaluated: int = 0
    notices: bool = False


# The joint confidence of all simulations that enter one verdict.
CONFIDENCE = 1.0 - 1e-6

# What is claimed, what was observed, and where.
Case = tuple[SupportsFloat, SupportsFloat, str]


class _Evaluated(NamedTuple):
    """A case whose number the claim gave.

    Attributes:
      claimed, observed, detail: as of every case.
      compared: takes a number in place of the claim's, and returns the two to compare.
      number: the claim's.
    """

    claimed: SupportsFloat
    observed: SupportsFloat
    detail: str
    compared: Callable[[float], tuple[SupportsFloat, SupportsFloat]]
    number: float


class Judged(NamedTuple):
    """A case that states both of its numbers, claimed and observed, instead of a point.

    For example of a bound on one quantity of a pair by another, whatever the pair.
    """

    claimed: SupportsFloat
    observed: SupportsFloat
    detail: str


class Aside(NamedTuple):
    """A case that is judged, but does not count towards tightness.

    For example an audited lower bound against the exact value, which lies near it whatever
    the claim is.
    """

    claimed: SupportsFloat
    observed: SupportsFloat
    detail: str


_Cases = Callable[[Budget], Iterable[Case]]


def bound_verdict(
    cases: Iterable[Case], tolerance: float = 1e-9, *, lower: bool = False
) -> Verdict:
    """Judges an upper bound: in every case observed <= claimed (or a lower one: >=).

    Args:
      cases: (claimed, observed, detail) of each case; the numbers are exact up to
        ``tolerance`` relative to max(1, |claimed|).
      tolerance: rounding allowance. An excess below it refutes nothing.
      lower: judge a lower bound.

    Returns:
      "holds", or "refuted" if one case exceeds its bound; "inconclusive" if there is no
      case or a number is NaN. The verdict describes the case with the least slack, and
      has the largest tightness of all cases.
    """

    def slack(claimed: float, observed: float) -> float:
        return claimed - observed if not lower else observed - claimed

    def altered(number: float) -> float:
        return number + abs(number) if lower else number - 0.5 * abs(number)

    tightness = None

    def weighed(cases: Iterable[Case]) -> Iterator[Case]:
        nonlocal tightness
        for case in cases:
            claimed, observed = float(case[0]), float(case[1])
            small, large = (claimed, observed) if lower else (observed, claimed)
            counts = not isinstance(case, Aside)
            if counts and 0.0 < large < math.inf and 0.0 < claimed:
                tightness = max(tightness or 0.0, small / large)
            yield case

    found = _worst(weighed(cases), slack, _beyond(tolerance), altered)
    return found._replace(tightness=tightness) if found.outcome != "inconclusive" else found


def identity_verdict(cases: Iterable[Case], tolerance: float) -> Verdict:
    """Judges an equality: in every case |claimed - observed| <= tolerance (relative to
    max(1, |claimed|))."""

    def slack(claimed: float, observed: float) -> float:
        return tolerance - abs(claimed - observed) / max(1.0, abs(claimed))

    return _worst(cases, slack, lambda claimed, found: found < 0.0, lambda number: 1.01 * number)


def attained_verdict(
    above: Verdict, cases: Iterable[Case], share: float, tolerance: float
) -> Verdict:
    """Judges an upper bound that is attained: share claimed <= observed <= claimed.

    Args:
      above: what the check of the upper bound saw elsewhere.
      cases, tolerance: as of ``bound_verdict``.
      share: of what is claimed, that is observed in every case.

    Returns:
      The verdict on both. It notices a wrong number if these cases refute twice the number, and
      these or those elsewhere half of it.
    """

    def slack(claimed: float, observed: float) -> float:
        return observed - share * claimed

    cases = list(cases)
    near = bound_verdict(cases, tolerance)
    below = _worst(cases, slack, _beyond(tolerance), lambda number: number + abs(number))
    told = next((each for each in (above, near, below) if each.outcome != "holds"), above)
    return told._replace(
        cases=above.cases + near.cases,
        tightness=max(above.tightness or 0.0, near.tightness or 0.0) or None,
        evaluated=above.evaluated + near.evaluated,
        notices=below.notices and (above.notices or near.notices),
    )


def _beyond(tolerance: float) -> Callable[[float, float], bool]:
    """Whether a slack refutes what is claimed, by more than rounding."""

    def refuted(claimed: float, found: float) -> bool:
        scale = max(1.0, abs(claimed)) if math.isfinite(claimed) else 1.0
        return found < -tolerance * scale

    return refuted


def _worst(
    cases: Iterable[Case],
    slack: Callable[[float, float], float],
    refuted: Callable[[float, float], bool],
    altered: Callable[[float], float],
) -> Verdict:
    """The verdict of the case with the least slack, and whether a wrong number is noticed.

    Args:
      cases: as of ``bound_verdict``.
      slack: of (claimed, observed), where they differ.
      refuted: whether a slack refutes what is claimed.
      altered: the wrong number that takes the place of a claim's.
    """
    worst, count, evaluated, notices = None, 0, 0, False
    for case in cases:
        claimed, observed, detail = float(case[0]), float(case[1]), case[2]
        count += 1
        if math.isnan(claimed) or math.isnan(observed):
            return Verdict("inconclusive", claimed, observed, math.nan, count, detail)
        found = slack(claimed, observed) if claimed != observed else slack(0.0, 0.0)
        if worst is None or found < worst[0]:
            worst = (found, claimed, observed, detail)
        if isinstance(case, _Evaluated):
            evaluated += 1
            if not notices:
                wrong, seen = map(float, case.compared(altered(case.number)))
                notices = wrong != seen and refuted(wrong, slack(wrong, seen))
    if worst is None:
        return Verdict("inconclusive", math.nan, math.nan, math.nan, 0, "no case tried")
    found, claimed, observed, detail = worst
    outcome = "refuted" if refuted(claimed, found) else "holds"
    return Verdict(
        outcome, claimed, observed, found, count, detail, evaluated=evaluated, notices=notices
    )


def at_most(cases: _Cases, tolerance: float = 1e-9) -> Callable[[Budget], Verdict]:
    """The check of a claim that observed <= claimed in every case."""
    return lambda budget: bound_verdict(cases(budget), tolerance)


# --- points -----------------------------------------------------------------------------

Point = dict[str, Any]
Points = Callable[[Budget], Iterable[Point]]


def listed(names: str, *rows: Any) -> Points:
    """The points of a table.

    Args:
      names: the names of its columns, separated by spaces.
      *rows: its rows, each a tuple; with a single column, each a value.
    """
    columns = names.split()
    table = [row if len(columns) > 1 else (row,) for row in rows]
    points = [dict(zip(columns, row, strict=True)) for row in table]
    return lambda budget: points


def grid(**values: Iterable[Any]) -> Points:
    """The points of a grid, the last name varying fastest."""
    points = [
        dict(zip(values, place, strict=True)) for place in itertools.product(*values.values())
    ]
    return lambda budget: points


def drawn(
    names: str, draw: Callable[[np.random.Generator], Any], most: float = math.inf, *rows: Any
) -> Points:
    """The points of a table: rows that are given, then random ones.

    Args:
      names: as for ``listed``.
      draw: one random row.
      most: the largest number of random rows.
      *rows: as for ``listed``.
    """
    return lambda budget: listed(names, *rows, *map(draw, budget.draws(most)))(budget)


def uniform(most: float, **ends: tuple[float, float]) -> Points:
    """At most ``most`` random points, each parameter uniform between its two ends."""

    def draw(generator: np.random.Generator) -> Any:
        row = [float(generator.uniform(*pair)) for pair in ends.values()]
        return tuple(row) if len(row) > 1 else row[0]

    return drawn(" ".join(ends), draw, most)


def written(value: Any) -> str:
    """A value of a point as text, with enough digits to be read back."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(name := getattr(value, "name", None), str):
        return name  # a base, a law of K
    short = f"{value:g}" if isinstance(value, float) else repr(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def _two(numbers: Any) -> tuple[float, float]:
    return numbers


def _beside(observed: SupportsFloat, claimed: float) -> tuple[float, SupportsFloat]:
    return claimed, observed


def in_units(observed: SupportsFloat) -> Callable[[float], tuple[float, float]]:
    """Compares observed / claimed with 1, for claims that may be far below the tolerance."""
    return lambda claimed: (1.0, float(observed) / claimed)


def cases_at(
    evaluate: Callable[..., float], names: Iterable[str], found: Iterable[Any]
) -> Iterator[Any]:
    """Evaluates the claim at the point of each case.

    Args:
      evaluate: the claim's formula.
      names: the names of its parameters.
      found: the cases: each a point, what was observed there, and optionally a text with
        further details; or a ``Judged`` or ``Aside``, which has its own numbers. What was
        observed may be a function that takes the claim's number and returns the two
        numbers to compare, (claimed, observed).

    Raises:
      TypeError: at the first point that does not name exactly the claim's parameters.
    """
    wanted = set(names)
    for case in found:
        if isinstance(case, Judged | Aside):
            yield case
            continue
        point, observed, *more = case
        if set(point) != wanted:
            raise TypeError(
                f"a case names {', '.join(point)}; it must name the claim's parameters, "
                f"{', '.join(sorted(wanted))}"
            )
        number = evaluate(**point)
        compared: Callable[[float], Any] = (
            observed if callable(observed) else functools.partial(_beside, observed)
        )
        where = [f"{name}={written(value)}" for name, value in point.items() if value is not None]
        detail = ", ".join([*where, *filter(None, more)])
        yield _Evaluated(*_two(compared(number)), detail, compared, number)


def observed_at(
    points: Points,
    observe: Callable[..., Any],
    defaults: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Callable[[Budget], Iterator[Any]]:
    """Cases from a function that is called at each point.

    Args:
      points: where it is called.
      observe: takes values of a point by name; with ``**``, all of them. It returns, or
        yields several times, what is observed, alone or in a tuple with a text of further
        details. A parameter that the points leave out has the claim's default, which is
        added to the point of the case.
      defaults: the claim's parameters with their defaults.
      options: further arguments of ``observe``, the same at every point.

    Raises:
      TypeError: if ``observe`` does not take an option.
    """
    parameters = inspect.signature(observe).parameters.values()
    whole = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    asked = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    ignored = [name for name in options if name not in asked]
    if ignored:
        raise TypeError(f"{observe.__qualname__} does not take {', '.join(ignored)}")

    def cases(budget: Budget) -> Iterator[Any]:
        for point in points(budget):
            known = {**defaults, **options, **point}
            lacking = [name for name in asked if name not in known]
            if lacking:
                raise TypeError(
                    f"{observe.__qualname__} asks for {', '.join(lacking)}, of which neither "
                    f"the points nor the claim say anything"
                )
            given = {name: known[name] for name in (*point, *asked) if whole or name in asked}
            named = {name: value for name, value in (point | given).items() if name in defaults}
            beside = [
                f"{name}={written(value)}"
                for name, value in {**point, **options}.items()
                if name not in defaults and not callable(value)
            ]
            found = observe(**given)
            for each in found if inspect.isgenerator(found) else (found,):
                if isinstance(each, Judged | Aside):
                    yield each
                else:
                    seen, *more = each if isinstance(each, tuple) else (each,)
                    yield named, seen, ", ".join([*beside, *more])

    return cases
