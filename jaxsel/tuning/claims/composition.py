"""Several searches on the same data, against laws that are enumerated exactly.

Derived in docs/composition.md. The pairs are finite, so that a search of one of them has
an exact law, and two searches have the product; the second ranks its outcomes by what the
first released, as adaptive composition allows.
"""

from typing import Annotated

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
from jaxsel.language.checking import Judged
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.papers import JX
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.priced_envelope import Resolution
from jaxsel.tuning.claims.base_pairs import approximate_pairs, at_worst, base_pairs
from jaxsel.tuning.composing_searches import Release, composed_renyi_epsilon
from jaxsel.tuning.tuned_guarantee import tuned_profiles

Times = Annotated[int, whole("searches", at_least=1, at_most=10_000)]
_UNKNOWN = "novelty not established"
_SELDOM_MANY = laws.pmf({0: 0.8, 10: 0.2})  # two on average
_COARSE = Resolution(columns=4, rows=2, knots=4, parts=2)
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


def _guarantee(first: np.ndarray, second: np.ndarray) -> BaseGuarantee:
    """Of a base with these two laws, and no more."""
    pair = pair_from_laws(first, second)
    return curves.from_pairs("a pair", lambda: (pair, reversed_pair(pair)))


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


@JX.privacy(
    "JX-Compose-profiles", f"{_UNKNOWN}; docs/composition.md, Sections 2 to 4", Relation.BASE
)
def composed_delta(
    *,
    epsilon: Annotated[float, number("of all searches", at_least=0.0)] = 1.0,
    mean: Annotated[float, number("E[K], K geometric", above=1.0, below=1e6)] = 3.0,
    noise_scale: Annotated[float, number("of a run", above=0.1, below=1e3)] = 8.0,
    times: Times = 4,
):
    """Searches on the same data, a later one chosen by what earlier ones released, have at most the
    delta of their composed privacy loss distributions, in each direction.

    Delta at epsilon of equal searches of a Gaussian run, for every ranking.
    """
    pairs = _pairs(curves.gaussian(noise_scale), laws.geometric(1.0 / mean))
    found = composed_distribution([(pairs, times)])
    return found.get_delta_for_epsilon(epsilon)


@composed_delta.bounds(tolerance=1e-12)
def two_searches(budget):
    small = budget._replace(cases=budget.cases // 100)
    generator = np.random.default_rng(budget.seed + 2)
    tried = (*base_pairs(small), *approximate_pairs(small))[::2]
    for index, pair in enumerate(tried):
        sides, base = (pair.first, pair.second), _guarantee(pair.first, pair.second)
        law = _LAWS[index % len(_LAWS)]
        other = law if index % 2 else _LAWS[(index + 2) % len(_LAWS)]
        parts = [(_pairs(base, law), 2)]
        if other is not law:
            parts = [(_pairs(base, each), 1) for each in (law, other)]
        composed = composed_distribution(parts)
        joint = _searches(sides, (law, other), generator)
        where = f"{law.family} and {other.family}, {pair.where}"
        for pmf, exact in ((composed._pmf_remove, joint), (composed._pmf_add, joint[::-1])):
            claimed = np.asarray(tail_sums(pmf)(_LEVELS))
            yield at_worst(claimed, _exact(*exact), _LEVELS, where, "epsilon")
            where = f"the other way round, {where}"


@JX.privacy("JX-Compose-renyi", f"{_UNKNOWN}; docs/composition.md, Section 6", Relation.BASE)
def composed_epsilon(
    *,
    delta: Annotated[float, probability("of all searches")] = 1e-6,
    epsilon: Annotated[float, positive("of the good part of a run")] = 0.1,
    failure: Annotated[float, number("of a run", at_least=0.0, below=1.0)] = 1e-9,
    mean: Annotated[float, number("E[K], K geometric", above=1.0, below=1e6)] = 3.0,
    times: Times = 4,
):
    """Where runs may fail, the chance that one of any search does is set aside first, and what is
    left has the sum of the searches' Renyi bounds.

    Epsilon at delta of equal searches of an (epsilon, failure)-DP run.
    """
    base = curves.approximate(epsilon, failure) if failure else curves.pure(epsilon)
    search = Release(base, laws.geometric(1.0 / mean), times)
    return composed_renyi_epsilon([search], delta)[0]


@composed_epsilon.bounds()
def failing_searches(budget):
    small = budget._replace(cases=budget.cases // 100)
    generator = np.random.default_rng(budget.seed + 3)
    choices = [law for law in _LAWS[:4] if law.family != "binomial"]
    for index, pair in enumerate(approximate_pairs(small)):
        law = choices[index % len(choices)]
        core = _guarantee(pair.core.first, pair.core.second)
        base = _guarantee(pair.first, pair.second)._replace(
            core=core, failure=pair.delta, renyi=lambda order: np.full_like(order, np.inf)
        )
        # Below what two searches fail with, just above it, and far above it.
        lost = float(-np.expm1(2.0 * np.log1p(-float(law.pgf_gap(pair.delta)))))
        for delta in (0.9 * lost, 1.01 * lost, min(lost + 0.1, 0.9 + 0.1 * lost)):
            if not delta < 1.0:
                continue
            claimed, _ = composed_renyi_epsilon([Release(base, law, 2)], delta)
            joint = _searches((pair.first, pair.second), (law, law), generator)
            observed = epsilon_at_delta(*joint, delta)
            if np.isinf(claimed) and np.isinf(observed):
                continue  # nothing is claimed, and nothing holds
            yield Judged(claimed, observed, f"{delta=}, {law.family}, {pair.where}")


@JX.privacy("JX-Compose-released", f"{_UNKNOWN}; docs/composition.md, Section 5", Relation.BASE)
def released_delta(
    *,
    epsilon: Annotated[float, number("of the search", at_least=0.0)] = 1.0,
    most: Annotated[int, whole("runs, K at most", at_least=1, at_most=64)] = 8,
    pure: Annotated[float, positive("epsilon of a run")] = 0.3,
):
    """If K is at most n, the best of K runs has at most the delta of n composed runs."""
    (pair,) = curves.pure(pure).pairs()  # type: ignore[misc]
    return pair_delta(composed_pair(pair, most), epsilon)


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
        claimed = pair_delta(composed_pair(pair_from_laws(*sides), count), _LEVELS)
        where = f"{count} runs, {pair.where}"
        yield at_worst(claimed, _exact(*every), _LEVELS, where, "epsilon")
        if index % 4:
            continue
        if index % 8 == 0:
            law = _SELDOM_MANY
        profile, _ = tuned_profiles(_guarantee(*sides), law, _COARSE)
        observed = _exact(*(tuned_law(side, law) for side in sides))
        where = f"the best, {law.family}, {pair.where}"
        yield at_worst(profile(_LEVELS), observed, _LEVELS, where, "epsilon")
