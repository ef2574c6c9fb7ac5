"""Several searches on the same data, against laws that are enumerated exactly.

Derived in docs/composition.md. The pairs are finite, so that a search of one of them has
an exact law, and two searches have the product; the second ranks its outcomes by what the
first released, as adaptive composition allows.
"""

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.composing import composed_pair
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, hockey_stick
from jaxsel.accounting.single_run.dominating import (
    DominatingPair,
    pair_delta,
    pair_from_laws,
    pair_from_profile,
    reversed_pair,
)
from jaxsel.accounting.single_run.loss_distributions import composed_distribution, tail_sums
from jaxsel.language.base import Relation
from jaxsel.language.domains import choice, number, parsed, positive, probability, whole
from jaxsel.language.papers import JX
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.priced_envelope import Resolution
from jaxsel.tuning.claims.base_pairs import approximate_pairs, at_worst, base_pairs
from jaxsel.tuning.claims.profile.cases import given_laws
from jaxsel.tuning.composing_searches import Release, composed_renyi_epsilon
from jaxsel.tuning.parameters import AnyBase, FirstLaw, Law, SecondLaw
from jaxsel.tuning.tuned_guarantee import tuned_profiles

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

_A_LAW = 'a law of K such as "poisson:mean=10"'
AnotherLaw = Annotated[Any, parsed(laws.parse, _A_LAW, "that of one more search of the same base")]
Mean = Annotated[float, number("E[K], K geometric", above=1.0, below=1e6)]
Times = Annotated[int, whole("searches", at_least=1, at_most=10_000)]
_UNKNOWN = "novelty not established"
_SELDOM_MANY = laws.pmf({0: 0.8, 10: 0.2})  # two on average
_COARSE = Resolution(columns=4, rows=2, knots=4, parts=2, meshes=0)
_LEVELS = np.array([0.0, 0.05, 0.3, 1.0, 2.0, 3.5])
_LAWS = (
    laws.geometric(0.2),
    laws.truncated_negative_binomial(0.0, 0.05),
    laws.poisson(1.5),
    laws.binomial(6, 0.5),
    laws.pmf({1: 0.2, 3: 0.5, 11: 0.3}),
    laws.point_mass(3),
)


def _exact(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Delta at each level; 0 where nothing but rounding is left."""
    found = hockey_stick(first / first.sum(), second / second.sum(), _LEVELS)
    return np.where(found < 1e-13, 0.0, found)


def _guarantee(first: np.ndarray, second: np.ndarray, where: str) -> BaseGuarantee:
    """Of a base with these two laws, and no more."""
    pair = pair_from_laws(first, second)
    return curves.from_pairs(where, lambda: (pair, reversed_pair(pair)))


def _pairs(base: BaseGuarantee, law: Repetitions) -> tuple[DominatingPair, ...]:
    """As ``tuned_pairs``, from coarser programs: larger, and sooner there."""
    profiles = tuned_profiles(base, law, _COARSE)
    pair = pair_from_profile(*profiles, count=2048)
    return (pair,) if len(profiles) == 1 else (pair, reversed_pair(pair))


def _searches(
    sides: tuple[np.ndarray, np.ndarray],
    repetitions: tuple[Repetitions, Repetitions],
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Laws of what two searches release; the first decides how the second ranks."""
    one = [tuned_law(side, repetitions[0]) for side in sides]
    orders = [generator.permutation(sides[0].size) for _ in one[0]]
    both = []
    for law, side in zip(one, sides, strict=True):
        second = (tuned_law(side[order], repetitions[1]) for order in orders)
        released = np.concatenate([m * each for m, each in zip(law, second, strict=True)])
        both.append(released / released.sum())
    return both[0], both[1]


_Searches = tuple[BaseGuarantee, Repetitions, Repetitions | None, int]
_last: list[tuple[_Searches, "PrivacyLossDistribution"]] = []


def _composed(
    base: BaseGuarantee, law: Repetitions, other: Repetitions | None, times: int
) -> "PrivacyLossDistribution":
    """Of so many equal searches, and of another; the last is kept, for points of the same
    searches follow each other."""
    searches = base, law, other, times
    if not _last or any(one is not each for one, each in zip(_last[0][0], searches, strict=True)):
        parts = [(_pairs(base, law), times)]
        if other is not None:
            parts.append((_pairs(base, other), 1))
        _last[:] = [(searches, composed_distribution(parts))]
    return _last[0][1]


@JX.privacy(
    "JX-Compose-profiles", f"{_UNKNOWN}; docs/composition.md, Sections 2 to 4", Relation.BASE
)
def composed_delta(
    *,
    epsilon: Annotated[float, number("of all searches", at_least=0.0)] = 1.0,
    mean: Mean = 3.0,
    noise_scale: Annotated[float, number("of a run", above=0.1, below=1e3)] = 8.0,
    times: Times = 4,
    base: AnyBase = None,
    law: Law = None,
    other: AnotherLaw = None,
    direction: Annotated[
        str, choice(("either", "forward", "backward"), "from which side; either is the larger")
    ] = "either",
):
    """Searches on the same data, a later one chosen by what earlier ones released, have at most the
    delta of their composed privacy loss distributions, in each direction.

    Delta at epsilon of equal searches of a Gaussian run, and of another, for every ranking.
    """
    base, law = base or curves.gaussian(noise_scale), law or laws.geometric(1.0 / mean)
    found = _composed(base, law, other, times)
    if direction == "either":
        return found.get_delta_for_epsilon(epsilon)
    side = found._pmf_remove if direction == "forward" else found._pmf_add
    return float(tail_sums(side)(np.asarray(epsilon)))


@composed_delta.bounds(tolerance=1e-12)
def two_searches(budget):
    small = budget._replace(cases=budget.cases // 100)
    generator = np.random.default_rng(budget.seed + 2)
    tried = (*base_pairs(small), *approximate_pairs(small))[::2]
    for index, pair in enumerate(tried):
        sides = pair.first, pair.second
        law = _LAWS[index % len(_LAWS)]
        other = None if index % 2 else _LAWS[(index + 2) % len(_LAWS)]
        point = {
            "mean": 3.0,
            "noise_scale": 8.0,
            "times": 2 if other is None else 1,
            "base": _guarantee(*sides, pair.where),
            "law": law,
            "other": other,
        }
        joint = _searches(sides, (law, other or law), generator)
        for direction, laws_of_both in (("forward", joint), ("backward", joint[::-1])):
            exact = _exact(*laws_of_both)
            for epsilon, delta in zip(_LEVELS.tolist(), exact.tolist(), strict=True):
                yield {**point, "epsilon": epsilon, "direction": direction}, delta
        exact = np.maximum(_exact(*joint), _exact(*joint[::-1]))
        yield {**point, "epsilon": float(_LEVELS[2]), "direction": "either"}, float(exact[2])


@JX.privacy("JX-Compose-renyi", f"{_UNKNOWN}; docs/composition.md, Section 6", Relation.BASE)
def composed_epsilon(
    *,
    delta: Annotated[float, probability("of all searches")] = 1e-6,
    epsilon: Annotated[float, positive("of the good part of a run")] = 0.1,
    failure: Annotated[float, number("of a run", at_least=0.0, below=1.0)] = 1e-9,
    mean: Mean = 3.0,
    times: Times = 4,
    base: AnyBase = None,
    law: Law = None,
):
    """Where runs may fail, the chance that one of any search does is set aside first, and what is
    left has the sum of the searches' Renyi bounds.

    Epsilon at delta of equal searches of an (epsilon, failure)-DP run.
    """
    base = base or (curves.approximate(epsilon, failure) if failure else curves.pure(epsilon))
    search = Release(base, law or laws.geometric(1.0 / mean), times)
    return composed_renyi_epsilon([search], delta)[0]


@composed_epsilon.bounds()
def failing_searches(budget):
    small = budget._replace(cases=budget.cases // 100)
    generator = np.random.default_rng(budget.seed + 3)
    choices = [law for law in _LAWS[:4] if law.family != "binomial"]
    for index, pair in enumerate(approximate_pairs(small)):
        law = choices[index % len(choices)]
        core = _guarantee(pair.core.first, pair.core.second, "core")
        base = _guarantee(pair.first, pair.second, pair.where)._replace(
            core=core, failure=pair.delta, renyi=lambda order: np.full_like(order, np.inf)
        )
        # Below what two searches fail with, just above it, and far above it.
        lost = float(-np.expm1(2.0 * np.log1p(-float(law.pgf_gap(pair.delta)))))
        for delta in (0.9 * lost, 1.01 * lost, min(lost + 0.1, 0.9 + 0.1 * lost)):
            if not delta < 1.0:
                continue
            joint = _searches((pair.first, pair.second), (law, law), generator)
            searches = {"base": base, "law": law, "times": 2}
            unused = {"epsilon": 0.1, "failure": 0.0, "mean": 3.0}
            yield {"delta": delta, **searches, **unused}, epsilon_at_delta(*joint, delta)


@JX.privacy("JX-Compose-released", f"{_UNKNOWN}; docs/composition.md, Section 5", Relation.BASE)
def released_delta(
    *,
    epsilon: Annotated[float, number("of the search", at_least=0.0)] = 1.0,
    most: Annotated[int, whole("runs, K at most", at_least=1, at_most=64)] = 8,
    pure: Annotated[float, positive("epsilon of a run")] = 0.3,
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """If K is at most n, the best of K runs has at most the delta of n composed runs.

    Delta at epsilon, in the one direction of two laws; that of pure runs where none are given."""
    given = given_laws(first, second)
    if given is None:
        (pair,) = curves.pure(pure).pairs()  # type: ignore[misc]
        return pair_delta(composed_pair(pair, most), epsilon)
    return pair_delta(_runs(given.first.tobytes(), given.second.tobytes(), most), epsilon)


@functools.lru_cache(maxsize=2)
def _runs(first: bytes, second: bytes, most: int) -> DominatingPair:
    """The pair of so many runs; the last is kept, for points of the same runs follow each other."""
    return composed_pair(pair_from_laws(np.frombuffer(first), np.frombuffer(second)), most)


def _deltas(
    sides: tuple[np.ndarray, np.ndarray], most: int, exact: np.ndarray, where: str
) -> Iterator[Any]:
    point = {"most": most, "pure": 0.3, "first": sides[0], "second": sides[1]}
    for epsilon, delta in zip(_LEVELS.tolist(), exact.tolist(), strict=True):
        yield {"epsilon": epsilon, **point}, delta, where


@released_delta.bounds(tolerance=1e-12)
def released_runs(budget):
    small = budget._replace(cases=budget.cases // 20)
    bounded = [law for law in _LAWS if law.maximum is not None]
    for index, pair in enumerate((*base_pairs(small), *approximate_pairs(small))):
        law, sides = bounded[index % len(bounded)], (pair.first, pair.second)
        count = 2 + index % 2
        every = sides
        for _ in range(count - 1):
            every = [np.outer(*both).ravel() for both in zip(every, sides, strict=True)]
        yield from _deltas(sides, count, _exact(*every), "all runs")
        if index % 8 == 0:
            law = _SELDOM_MANY
        first, second = (tuned_law(side, law) for side in sides)
        observed = _exact(first, second)
        assert law.maximum is not None
        yield from _deltas(sides, law.maximum, observed, f"the best, {law.name}")
        if index % 4 == 0:  # what an account makes of it
            profile, _ = tuned_profiles(_guarantee(*sides, pair.where), law, _COARSE)
            where = f"the best, {law.family}, {pair.where}"
            yield at_worst(profile(_LEVELS), observed, _LEVELS, where, "epsilon")
