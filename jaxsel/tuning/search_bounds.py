"""Bounds on the best of K runs: formula, sentence, range, words and check stand in one block.

A bound is a function of a search: the guarantee of one run, the law of K, and how candidates
are drawn. It stands in a module of ``jaxsel.tuning.bounds``:

    @bound(PS, "PS-Thm2", "Theorem 2", RENYI, words="...", needs=Needs(law="poisson"))
    def theorem_2(search):
        '''For a base with ... the best of K runs has D_a <= ... .'''
        return negative_binomial_renyi(search.base.renyi, **search.law.parameters)

    @theorem_2.bounds()
    def exact_laws(budget):
        from jaxsel.tuning.claims.searches import renyi_cases
        return renyi_cases(budget, "truncated_negative_binomial")

It is found there by itself, and everybody asks it: an account whether it applies and what it
proves, a list for its sentence, ``validate`` for its check. What a check needs is imported
inside it, so that an account loads no check.
"""

import dataclasses
import functools
import importlib
import inspect
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.conversions import (
    LEAST_DELTA,
    RenyiCurve,
    renyi_to_delta,
    renyi_to_epsilon,
)
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.base import Claim, Relation
from jaxsel.language.declared import held, names_of_bounds
from jaxsel.language.domains import number, parsed
from jaxsel.language.statements import Paper
from jaxsel.repetitions import Repetitions, parse
from jaxsel.tuning.drawn import INDEPENDENTLY, WAYS, Drawn


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """What a bound is a function of.

    Attributes:
      base: guarantee of one run.
      law: the law of K.
      drawn: how candidates are drawn.
    """

    base: BaseGuarantee
    law: Repetitions
    drawn: Drawn = dataclasses.field(default_factory=Drawn)


class Proof(NamedTuple):
    """What a bound proves of one search: an epsilon for every delta, a delta for every epsilon.

    Attributes:
      epsilon: delta -> smallest epsilon >= 0 that is proved; inf if none is.
      delta: epsilon >= 0 -> smallest delta that is proved.
      least_delta: below it the bound is trivial, or implied by other bounds.
      lower_bound: epsilon >= 0 -> a lower bound on ``delta`` that is fast to compute.
      renyi: builds the Renyi curve that was converted; None where there is none.
    """

    epsilon: Callable[[float], float]
    delta: Callable[[float], float]
    least_delta: float = 0.0
    lower_bound: Callable[[float], float] = lambda epsilon: 0.0
    renyi: Callable[[], RenyiCurve] | None = None


NOTHING = Proof(lambda delta: math.inf, lambda epsilon: 1.0)
"""No bound."""


def _pure_proof(epsilon: float) -> Proof:
    """The proof of a bound that states pure privacy, (epsilon, 0)-DP."""
    return Proof(lambda delta: epsilon, lambda level: 0.0 if level >= epsilon else 1.0)


def _profile_proof(build: Callable[[], Any]) -> Proof:
    """The proof by a privacy profile: what ``build`` returns has ``epsilon`` and ``delta``."""
    build = functools.cache(build)
    return Proof(
        lambda delta: build().epsilon(delta),
        lambda epsilon: float(build().delta(np.asarray(epsilon))),
        LEAST_DELTA,
    )


def _renyi_proof(build: Callable[[], RenyiCurve]) -> Proof:
    """The proof by a Renyi curve, which is converted."""
    build = functools.cache(build)
    return Proof(
        lambda delta: renyi_to_epsilon(build(), delta).epsilon,
        lambda epsilon: float(renyi_to_delta(build(), epsilon)),
        renyi=build,
    )


class Kind(NamedTuple):
    """Kinds of bounds, by what they state.

    Attributes:
      name: in words.
      place: of bounds that prove equal numbers the one of the smallest place is named, since it
        is the simplest to state.
      proof: makes a ``Proof`` of a function without arguments that returns what is stated.
    """

    name: str
    place: int
    proof: Callable[[Callable[[], Any]], Proof]


PURE = Kind("pure epsilon", 0, lambda build: _pure_proof(build()))
RELEASED = Kind("all runs released", 1, operator.call)
ENVELOPE = Kind("envelope", 2, operator.call)
PROFILE = Kind("privacy profile", 3, _profile_proof)
CONVERTED = Kind("one guarantee from another", 4, operator.call)
RENYI = Kind("Renyi divergence", 5, _renyi_proof)

Base = Annotated[
    Any, parsed(parse_base, "a base such as gaussian:noise_multiplier=4", "guarantee of one run")
]
Law = Annotated[Any, parsed(parse, 'a law of K such as "poisson:mean=10"', "law of K")]
Order = Annotated[float | None, number("of the Renyi divergence", above=1.0, at_most=math.inf)]
Delta = Annotated[float | None, number("of the search", at_least=0.0, below=1.0)]
Epsilon = Annotated[
    float | None, number("of the search; below 0 for profiles alone", above=-50.0, below=700.0)
]


class Former(NamedTuple):
    """Parameters that a claim had until 0.2.0; they are read for one release, with a warning.

    Attributes:
      defaults: by name, as text.
      base, law: texts of today's, into which they are written.
      place: where the claim was evaluated by default: an order, or an epsilon.
    """

    defaults: Mapping[str, str]
    base: str
    law: str
    place: Mapping[str, float] = {}

    @property
    def at(self) -> tuple[str, str]:
        """Base and law at the defaults."""
        return self.base.format(**self.defaults), self.law.format(**self.defaults)

    def read(self, claim: "SearchBound", given: Mapping[str, Any]) -> dict[str, Any]:
        """Today's parameters, given former ones."""
        today = claim.parameters
        former = [name for name in given if name in self.defaults and name not in today]
        if not former:
            return dict(given)
        for name in ("base", "law"):
            if name in given:
                raise InputError(
                    f"{former[0]} and {name} are given; give {name} alone, which says what "
                    f"{former[0]} said until 0.2.0"
                )
        values = {**self.defaults, **{name: _text(value) for name, value in given.items()}}
        base, law = self.base.format(**values), self.law.format(**values)
        kept = {name: value for name, value in given.items() if name not in self.defaults}
        names = ", ".join(name for name in given if name in self.defaults)
        warnings.warn(
            f"{claim.id} takes base and law in place of {names}: base={base} law={law}",
            DeprecationWarning,
            stacklevel=3,
        )
        return {"base": base, "law": law, **kept}


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(getattr(value, "name", value))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SearchBound(Claim):
    """A claim that bounds what the best of K runs costs, with what an account needs of it.

    Attributes:
      states: what its formula returns.
      shown: the id by which accounts name it.
      words: for a table: its source, and what it uses.
      label: for a figure.
      lacks: search -> in a few words what it would need; None where it applies.
      prove: search, to which it applies -> what it proves.
      formula: search -> what the bound states.
      former: parameters that the claim had until 0.2.0.
      family: the only law of K to which it applies; None if to any.
      covers_all: whether it covers the release of every run, and of K.
    """

    states: Kind = PURE
    shown: str = ""
    words: str = ""
    label: str = ""
    lacks: Callable[[Search], str | None] = lambda search: None
    prove: Callable[[Search], Proof] = lambda search: NOTHING
    formula: Callable[[Search], Any] = lambda search: None
    former: "Former | None" = None
    family: str | None = None
    covers_all: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        today = self.evaluate

        @functools.wraps(today)
        def evaluate(**given: Any) -> float:
            return today(**self._renamed(given))

        object.__setattr__(self, "evaluate", evaluate)

    def _renamed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return dict(given) if self.former is None else self.former.read(self, given)

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See ``Claim``; parameters of 0.2.0 are read, with a warning."""
        return super().read(self._renamed(given))

    @property
    def place(self) -> str:
        """See ``Claim``."""
        code = self.formula.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"


def pure_epsilon(base: BaseGuarantee) -> float:
    """The pure epsilon of one run; inf if it has none."""
    return float(base.renyi(np.asarray(math.inf)))


def pure_base(search: Search) -> str | None:
    """What a search lacks for a bound that starts from a pure epsilon."""
    return None if math.isfinite(pure_epsilon(search.base)) else "a base of pure epsilon"


_KNOWN = {
    "renyi": "Renyi curve",
    "profile": "privacy profile",
    "tradeoff": "trade-off function",
    "pairs": "dominating pair",
}
"""What the fields of a base's guarantee hold, in words."""


class Needs(NamedTuple):
    """What a search must have for a bound to apply to it.

    Attributes:
      law: the family of K; None if any will do.
      uses: fields of the base that must be known.
      lacks: search -> in a few words what else it would need; None where it needs nothing.
      drawn: the way in which its candidates are drawn, one of ``jaxsel.tuning.drawn.WAYS``.
    """

    law: str | None = None
    uses: tuple[str, ...] = ()
    lacks: Callable[[Search], str | None] = lambda search: None
    drawn: str = INDEPENDENTLY

    def missing(self, search: Search) -> str | None:
        """What a search would need in a few words; None where it has all."""
        if search.drawn.way != self.drawn:
            if self.drawn == INDEPENDENTLY:
                return "candidates that are drawn independently"
            return f"candidates that are drawn {self.drawn}: {WAYS[self.drawn].meaning}"
        if self.law is not None and search.law.family != self.law:
            return f"K ~ {self.law}"
        for name in self.uses:
            if getattr(search.base, name) is None:
                return f"a base with a known {_KNOWN[name]}"
        return self.lacks(search)


def bound(
    paper: Paper,
    id: str,
    place: str,
    states: Kind,
    *,
    words: str,
    label: str = "",
    needs: Needs = Needs(),
    shown: str | None = None,
    at: "tuple[str, str] | Former | None" = None,
    covers_all: bool = False,
    **more: Any,
) -> Callable[[Callable[[Search], Any]], SearchBound]:
    """Decorates the formula of a bound on a search.

    Args:
      paper, id, place: as of a claim.
      states: what the formula returns: a pure epsilon, a profile, a Renyi curve or a ``Proof``.
      words, label, shown, covers_all: as of ``SearchBound``; shown is the id by default.
      needs: what a search must have.
      at: base and law at which the claim is evaluated where none are given: by default ten runs
        of a Gaussian base; or the parameters that it had until 0.2.0, with their defaults.
      **more: fields of ``Claim``.
    """

    former, defaults = (at, at.at) if isinstance(at, Former) else (None, at or _AT)

    def declare(formula: Callable[[Search], Any]) -> SearchBound:
        def prove(search: Search) -> Proof:
            return states.proof(functools.partial(formula, search))

        def proof(base: Any, law: Any) -> Proof:
            search = Search(_read(base, parse_base), _read(law, parse))
            needed = needs.missing(search)
            if needed is not None:
                raise InputError(f"{id} needs {needed}")
            return prove(search)

        fields = {
            "states": states,
            "shown": shown or id,
            "words": words,
            "label": label,
            "lacks": needs.missing,
            "prove": prove,
            "formula": formula,
            "former": former,
            "family": needs.law,
            "covers_all": covers_all,
        }
        where = {} if former is None else dict(former.place)
        evaluate = _number(states, _remembered(proof), defaults, where)
        evaluate.__doc__ = f"{inspect.getdoc(formula)}\n\n{inspect.getdoc(evaluate)}"
        evaluate.stating = formula  # type: ignore[attr-defined]
        record = functools.partial(SearchBound, **fields)
        stated = paper.privacy(id, place, Relation.BASE, record=record, **more)(evaluate)
        assert isinstance(stated, SearchBound)
        return stated

    return declare


_AT = ("gaussian:noise_multiplier=4", "geometric:mean=10")


def _read(value: Any, read: Callable[[str], Any]) -> Any:
    return read(value) if isinstance(value, str) else value


def _remembered(proof: Callable[[Any, Any], Proof]) -> Callable[[Any, Any], Proof]:
    """``proof``, with its last answer: many points of one search follow each other."""
    last: list[tuple[Any, Any, Proof]] = []

    def remembered(base: Any, law: Any) -> Proof:
        if not last or last[0][0] is not base or last[0][1] is not law:
            last[:] = [(base, law, proof(base, law))]
        return last[0][2]

    return remembered


def _number(
    states: Kind, proof: Callable[[Any, Any], Proof], at: tuple[str, str], place: dict[str, float]
) -> Callable[..., float]:
    """The claim's own number, of a search; at a place, where none is given."""
    if states is PURE:

        def pure(*, base: Base = at[0], law: Law = at[1]) -> float:
            """The pure epsilon."""
            return proof(base, law).epsilon(0.0)

        return pure

    default = place or {"order": 8.0} if states is RENYI else place or {"delta": 1e-6}
    if states is not RENYI:

        def converted(
            *, base: Base = at[0], law: Law = at[1], delta: Delta = None, epsilon: Epsilon = None
        ) -> float:
            at_delta, level = _placed(default, delta=delta, epsilon=epsilon)
            if level is not None and level < 0.0 and states is not PROFILE:
                raise InputError(f"epsilon is {level:g}; it must be at least 0")
            found = proof(base, law)
            return found.epsilon(at_delta) if level is None else found.delta(level)

        converted.__doc__ = f"Epsilon at delta; where epsilon is given, delta. {_told(default)}"
        return converted

    def divergence(
        *,
        base: Base = at[0],
        law: Law = at[1],
        order: Order = None,
        delta: Delta = None,
        epsilon: Epsilon = None,
    ) -> float:
        order, delta, epsilon = _placed(default, order=order, delta=delta, epsilon=epsilon)
        found = proof(base, law)
        if epsilon is not None:
            return found.delta(epsilon)
        if delta is not None:
            return found.epsilon(delta)
        assert found.renyi is not None
        return float(found.renyi()(np.asarray(order)))

    divergence.__doc__ = (
        "The divergence at an order; where delta is given, epsilon, and where epsilon is given, "
        f"delta. {_told(default)}"
    )
    return divergence


def _told(default: Mapping[str, float]) -> str:
    return " ".join(f"Where none is given: {name} = {value:g}." for name, value in default.items())


def _placed(default: Mapping[str, float], **places: float | None) -> tuple[Any, ...]:
    """The places, of which one is given, or none: then the default."""
    given = [name for name, value in places.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given; give one of them")
    return tuple((places if given else {**places, **default}).values())


def _check_declared(one: SearchBound, others: Mapping[str, SearchBound]) -> None:
    """Refuses what an account would take for another bound, or what nobody checks.

    Raises:
      TypeError: for a bound without a check, or with an id or a name that another has.
    """
    if not one.has_check:
        raise TypeError(f"{one.place}: {one.id} has no check")
    for other in others.values():
        if other is not one and (other.id == one.id or other.shown == one.shown):
            raise TypeError(f"{one.place}: there is a bound {one.shown} already, {other.place}")


@functools.cache
def search_bounds() -> tuple[SearchBound, ...]:
    """Every bound on a search, those that are the simplest to state first."""
    found = [one for name in names_of_bounds() for one in held(importlib.import_module(name))]
    bounds: dict[str, SearchBound] = {}
    for one in found:
        if isinstance(one, SearchBound):
            _check_declared(one, bounds)
            bounds[one.id] = one
    # Of one kind those of a single law of K come first.
    return tuple(sorted(bounds.values(), key=lambda each: (each.states.place, each.family is None)))


@functools.cache
def bounds_by_name() -> dict[str, SearchBound]:
    """The bounds by the names that accounts show."""
    return {each.shown: each for each in search_bounds()}


def applicable(search: Search) -> dict[str, SearchBound]:
    """The bounds that apply to a search, by the names that accounts show."""
    return {name: each for name, each in bounds_by_name().items() if each.lacks(search) is None}
