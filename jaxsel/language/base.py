"""The basic records: Mechanism, FiniteLaw, Pair, Claim, Erratum and Remark.

A mechanism is what runs, a pair is two neighbouring inputs that it must not tell apart, and a
claim is what a paper says about it. What a check of the claim saw is a ``Verdict``
(``checking``); a mechanism with its input is a ``Trial`` (``trial``).
"""

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from jaxsel.host.errors import NoLawError
from jaxsel.language import checking, domains, signature
from jaxsel.language.checking import Budget, Verdict
from jaxsel.language.printing import Summary, printed, source_place
from jaxsel.language.relations import Relation as Relation

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

PRECISIONS = ("fast", "tail", "float64")
"""Precisions of the draws: see ``kernel.noise``, which entries do not load."""


@printed
class FiniteLaw(NamedTuple):
    """An exact output law on finitely many outcomes.

    Attributes:
      probabilities: Float[np.ndarray, "outcomes"], float64, summing to 1.
      labels: what each outcome means, for people.

    Example:
        >>> import jaxsel
        >>> law = jaxsel.law("noisy_max", scores=[1, 1], epsilon=1)
        >>> print(law)
        Exact output law.
          outcome  probability
          0        0.5
          1        0.5
    """

    probabilities: np.ndarray
    labels: tuple[str, ...]

    def summary(self) -> Summary:
        """The probability of each outcome."""
        rows = [*zip(self.labels, self.probabilities.tolist(), strict=True)]
        return Summary("Exact output law.", ("outcome", "probability"), rows)


class Mechanism(NamedTuple):
    """A mechanism as a record of pure functions, made by a factory.

    Attributes:
      prepare: ``(data, params) -> (data, params)``: on the host, checks the input (raises
        InputError) and turns it into arrays and float64 look-up tables. Cells of a grid
        must prepare to equal shapes.
      sample: ``(key, data, params) -> outcome``: ONE trial, a pure function of the
        prepared input and of a ``stream.Key``; fixed shapes, jit- and vmap-able.
      event: ``outcome -> Int[Array, ""]`` in ``[0, num_events)``; what is tallied by
        default. Post-processing of the outcome, hence sound for audits.
      labels: ``(data, params) -> tuple[str, ...]``: the meaning of each event, from the
        unprepared input; its length is the number of events.
      law: ``(data, params) -> FiniteLaw`` over the events, exact, float64, from the
        unprepared input; None where no exact law is known. It raises NoLawError for input of
        which it takes too long; ``known_law`` then says None, too.
      resolution: the smallest probability that the sampler resolves faithfully.
      name: what records and errors call it: its factory with its settings, written by
        ``factory``.

    Example:
        >>> import jax
        >>> import jaxsel
        >>> coin = jaxsel.Mechanism(
        ...     prepare=lambda data, params: (data, params),
        ...     sample=lambda key, data, params: jax.random.bernoulli(key.jax(), data).astype(int),
        ...     event=lambda outcome: outcome,
        ...     labels=lambda data, params: ("tails", "heads"),
        ...     law=None,
        ...     resolution=2.0**-52,
        ...     name="coin",
        ... )
        >>> jaxsel.simulate(coin, 0.5, (), trials=1000).labels
        ('tails', 'heads')
    """

    prepare: Callable[[Any, Any], tuple[Any, Any]]
    sample: Callable[[Any, Any, Any], Any]
    event: Callable[[Any], Any]
    labels: Callable[[Any, Any], tuple[str, ...]]
    law: Callable[[Any, Any], FiniteLaw] | None
    resolution: float
    name: str = ""

    def __repr__(self) -> str:
        return f"Mechanism({self.name})"

    def known_law(self, data: Any, params: Any) -> FiniteLaw | None:
        """The exact law of unprepared input; None where none is known, in general or of this."""
        if self.law is None:
            return None
        try:
            return self.law(data, params)
        except NoLawError:
            return None


def _shown(setting: Any) -> str:
    """A setting of a factory, as its mechanism's name shows it."""
    # A base (the mechanism of one run) is a tuple with a name, a callable has a qualified name.
    name = getattr(setting, "name", None) or getattr(setting, "__qualname__", None)
    if name is not None:
        return name
    if isinstance(setting, tuple | list):
        return "[" + ",".join(_shown(part) for part in setting) + "]"
    return str(setting)


def factory(build: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function that makes mechanisms (or bases): caches and names them.

    A mechanism is named after the function and its settings, "noisy_max(noise=gumbel)".
    Equal settings, however they are written, give the same object, so that programs
    compiled for it are used again. A setting outside the domain that its annotation declares
    is refused.
    """
    parameters = inspect.signature(build)

    @functools.cache
    def made(settings: tuple[tuple[str, Any], ...]) -> Any:
        bound = parameters.bind_partial()
        bound.arguments.update(settings)
        shown = ",".join(f"{key}={_shown(value)}" for key, value in settings)
        found: Any = build(*bound.args, **bound.kwargs)
        return found._replace(name=f"{build.__name__}({shown})")

    @functools.wraps(build)
    def make(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        return made(tuple(signature.read_arguments(build, bound.arguments).items()))

    return make


def outcome_itself(outcome: Any) -> Any:
    """The ``event`` of a mechanism whose outcome is a number in [0, num_events)."""
    return outcome


class Pair(NamedTuple):
    """Two neighbouring inputs of one mechanism.

    Attributes:
      name: short name, used on the command line.
      data, neighbour: the two inputs, in the form the mechanism's ``prepare`` takes.
      relation: in what sense they are neighbours.
      params: parameters for both sides.
      why: one sentence: what this pair stresses.

    Example:
        >>> import jaxsel
        >>> pair = jaxsel.mechanism("noisy_max").pairs()[0]
        >>> print(pair.why)
        one candidate, far behind, rises by 1 while all others fall by 1
        >>> print(pair.data, pair.neighbour)
        [-5.  0.  0.] [-6.  1.  1.]
    """

    name: str
    data: Any
    neighbour: Any
    relation: Relation
    params: Mapping[str, Any]
    why: str


def _no_check(budget: Budget) -> Verdict:
    raise TypeError("the claim has no check")


@printed
@dataclasses.dataclass(frozen=True, repr=False)
class Claim:
    """One published statement as a number and a test.

    Attributes:
      id: public name, for example "PS-Thm2".
      source: paper and place, for example "Papernot & Steinke 2022, Theorem 2".
      statement: one sentence, formulas in plain text; ``tex`` is made from it.
      kind: "privacy", "utility" or "identity".
      relation: the neighbouring relation it is proved for; None for utility.
      evaluate: pure float64 function of keyword parameters (all with defaults), the
        number that the statement gives; its docstring says what it returns, its signature
        declares the parameters' domains (``jaxsel.domains``), and values outside them are
        refused.
      check: puts the claim to the test: exact laws first, simulation where none exists.
      holds: False marks a statement known to be false: as printed, if it has an erratum;
        else a reading of the paper that fails (see ``remark``).
      erratum: for a statement false as printed, and for its correction: the erratum's id.
      correction: for a false statement: what is true, and the id of the corrected claim.
      aliases: further ids under which papers print the same statement.
      remark: for a reading that fails, and for what holds instead: the remark's id.
      loose: for a true statement whose check would hold with a wrong number, too
        (``Verdict.notices``), as no known input comes near: why, in one sentence.
      attained: for an upper bound that cannot be lowered: how much of it is observed, and
        where (``attains``).

    Example:
        >>> import jaxsel
        >>> claim = jaxsel.claim("LT-Thm3.2")
        >>> print(claim.source)
        Liu & Talwar 2019, Theorems 1.3(a) and 3.2
        >>> claim.evaluate(epsilon=0.5)
        1.5
    """

    id: str
    source: str
    statement: str
    kind: str
    relation: Relation | None
    evaluate: Callable[..., float]
    check: Callable[[Budget], Verdict] = _no_check
    holds: bool = True
    erratum: str | None = None
    correction: str | None = None
    aliases: tuple[str, ...] = ()
    remark: str | None = None
    loose: str | None = None
    attained: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "evaluate", signature.checked(self.evaluate))

    def __call__(self, **parameters: Any) -> float:
        """The number that the statement gives: ``evaluate``."""
        return self.evaluate(**parameters)

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Typed values of the parameters: those given, as text or as values, and defaults.

        Raises:
          InputError: for an unknown parameter, or a value outside its domain.
        """
        return domains.read_values(self.id, given, self.parameters)

    @property
    def tex(self) -> str:
        """What is told, with its formulas as TeX, between dollar signs."""
        from jaxsel.language.formulas import tex

        return tex(self.told)

    @property
    def has_check(self) -> bool:
        """Whether the claim has a check."""
        return self.check is not _no_check

    @property
    def place(self) -> str:
        """File and line of the statement: "/folder/file.py:12"."""
        return getattr(self.evaluate, "place", None) or source_place(self.evaluate)

    def bounds(
        self, *points: checking.Points, tolerance: float = 1e-9, **options: Any
    ) -> Callable[[F], F]:
        """Decorates a function that returns observed numbers, which the claim must not be below.

        Args:
          *points: values of the claim's parameters at which the decorated function, which
            takes them by name, observes (``checking.observed_at``); without them it takes a
            budget and yields cases (``checking.cases_at``).
          tolerance: as for ``checking.bound_verdict``.
          **options: further arguments of the decorated function, where several claims share
            it.
        """
        return self._judged(points, options, lambda cases: checking.bound_verdict(cases, tolerance))

    def attains(
        self,
        *points: checking.Points,
        share: float,
        where: str,
        at: str,
        tolerance: float = 1e-9,
        **options: Any,
    ) -> Callable[[F], F]:
        """Decorates a function that returns observed numbers near the upper bound.

        They lie between a share of the bound and the bound. It comes after ``bounds``, whose
        check it completes.

        Args:
          *points, tolerance, options: as of ``bounds``.
          share: of the bound, that is attained.
          where: on which input, in words.
          at: at which settings, in words: those of the cases.
        """
        if not self.has_check:
            raise TypeError(f"{self.id} has no check yet; {self.place}")
        above = self.check

        def judge(observe: F) -> F:
            cases = self._cases(points, options, observe)

            def check(budget: Budget) -> Verdict:
                found = above(budget)
                return checking.attained_verdict(found, cases(budget), share, tolerance)

            object.__setattr__(self, "check", check)
            amount = "all" if share == 1.0 else f"{share:g}"
            object.__setattr__(self, "attained", f"{amount} of it on {where}, at {at}")
            return observe

        return judge

    def bounds_below(
        self, *points: checking.Points, tolerance: float = 1e-9, **options: Any
    ) -> Callable[[F], F]:
        """As ``bounds``, for a lower bound: the claim must not be above an observed number."""
        return self._judged(
            points, options, lambda cases: checking.bound_verdict(cases, tolerance, lower=True)
        )

    def equals(
        self, *points: checking.Points, tolerance: float = 1e-9, **options: Any
    ) -> Callable[[F], F]:
        """As ``bounds``, for an identity: the claim must equal every observed number."""
        return self._judged(
            points, options, lambda cases: checking.identity_verdict(cases, tolerance)
        )

    def _judged(
        self,
        points: tuple[checking.Points, ...],
        options: dict[str, Any],
        verdict: Callable[[Any], Verdict],
    ) -> Callable[[F], F]:
        def judge(observe: F) -> F:
            if self.has_check:
                raise TypeError(f"{self.id} has two checks; {self.place}")
            cases = self._cases(points, options, observe)
            object.__setattr__(self, "check", lambda budget: verdict(cases(budget)))
            return observe

        return judge

    def _cases(
        self,
        points: tuple[checking.Points, ...],
        options: dict[str, Any],
        observe: Callable[..., Any],
    ) -> Callable[[Budget], Iterable[checking.Case]]:
        """The cases of a check, with the claim's number at their points."""
        names = self.parameters
        defaults = {name: domain.default for name, domain in names.items()}
        listed = [checking.observed_at(each, observe, defaults, options) for each in points]
        sources = listed or [functools.partial(observe, **options)]

        def cases(budget: Budget) -> Iterable[checking.Case]:
            found = itertools.chain.from_iterable(source(budget) for source in sources)
            return checking.cases_at(self.evaluate, names, found)

        return cases

    @property
    def parameters(self) -> Mapping[str, domains.Domain]:
        """The domains of the parameters, with their defaults, by name."""
        return signature.parameters(self.evaluate)

    @property
    def told(self) -> str:
        """The statement, and where it is attained."""
        return self.statement + (f" Attained: {self.attained}." if self.attained else "")

    @property
    def false_as_printed(self) -> bool:
        """Whether the paper's own words are false, not merely one reading of them."""
        return not self.holds and self.remark is None

    @property
    def status(self) -> str:
        """Whether it is true; if not, whether as printed or only as misread."""
        if self.holds:
            return "true"
        return "FALSE as printed" if self.false_as_printed else "a reading that FAILS"

    def summary(self) -> Summary:
        """The statement, whether it is true, and the parameters of its number."""
        verdict = "" if self.holds else f" {self.status}. {self.correction or ''}"
        rows = [
            [name, domain.default, domain.describe(), domain.help]
            for name, domain in self.parameters.items()
        ]
        return Summary(
            f"{self.id} ({self.source}): {self.told}{verdict}",
            ("parameter", "default", "domain", "meaning"),
            rows,
            stated=True,
        )


@printed
class Erratum(NamedTuple):
    """A statement in print that is false, incomplete or misprinted.

    Attributes:
      id: public name, for example "E-PS-1" or "LT-E8".
      source: paper and place.
      kind: "statement" (false as printed), "proof" (true, but not by the printed proof),
        or "misprint".
      printed: what the paper says.
      correct: what is true, and why the printed form is not.
      refuted: ids of the claims with ``holds=False`` that ``validate`` refutes.
      corrected: ids of the claims that state what is true.

    Example:
        >>> import jaxsel
        >>> erratum = jaxsel.show("E-PS-1")
        >>> print(erratum.source)
        Papernot & Steinke 2022, Lemma 7, Theorem 6, Corollary 21, Lemma 22
        >>> erratum.refuted[:2], erratum.corrected[:2]
        (('PS-Lem7-printed', 'PS-Thm6-printed'), ('PS-Lem7', 'PS-Thm6'))
    """

    id: str
    source: str
    kind: str
    printed: str
    correct: str
    refuted: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()

    def summary(self) -> Summary:
        """What is printed, what is true, and the claims that say so."""
        rows = [[name, "printed"] for name in self.refuted]
        rows += [[name, "true"] for name in self.corrected]
        sentence = (
            f"{self.id} ({self.source}; {self.kind}).\nPrinted: {self.printed}\n"
            f"True: {self.correct}"
        )
        return Summary(sentence, ("claim", "states what is"), rows, stated=True)


@printed
class Remark(NamedTuple):
    """A note on a printed statement that is easily misread, although the paper does not err.

    For example an edge case, or an assumption that the paper leaves unsaid.

    Attributes:
      id: public name, for example "R-CL-1".
      source: paper and place.
      text: what the paper says, how it can be misread or where its edge is, and what holds.
      readings: ids of the claims (``holds=False``) that state what one should not read.
      holds: ids of the claims that state what is true.
    """

    id: str
    source: str
    text: str
    readings: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()

    def summary(self) -> Summary:
        """The remark's text, and its claims."""
        rows = [[name, "not so"] for name in self.readings]
        rows += [[name, "true"] for name in self.holds]
        sentence = f"{self.id} ({self.source}).\n{self.text}"
        return Summary(sentence, ("claim", "states what is"), rows, stated=True)
