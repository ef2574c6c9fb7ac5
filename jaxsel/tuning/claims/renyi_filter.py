"""Releases chosen on the way, against adaptive trees that are enumerated exactly.

Derived in docs/composition.md, Section 8. Every mechanism is a pair of laws on a few outcomes, a
mixture of a good pair and of a failure that tells the data; which comes next, and with what
guarantee, is drawn anew for each outcome of those before.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import hockey_stick, renyi_divergence
from jaxsel.language.base import Relation
from jaxsel.language.papers import JX
from jaxsel.tuning.parameters import OrderOrInfinity, TunedEpsilon
from jaxsel.tuning.renyi_filter import FilterFailure, FilterRenyi, filtered_delta


class Mechanism(NamedTuple):
    """One release: the laws of its good part, and the chance of its failure.

    Attributes:
      first, second: Float[np.ndarray, "outcomes"].
      failure: the chance of an outcome that tells which of the two data sets it was.
    """

    first: np.ndarray
    second: np.ndarray
    failure: float = 0.0


# What is released after these outcomes; None ends the releases.
Choose = Callable[[tuple[int, ...]], Mechanism | None]


class Tree(NamedTuple):
    """All paths of releases that are chosen on the way.

    Attributes:
      first, second: Float[np.ndarray, "paths"], the two laws of everything that is released.
      renyi: the largest sum, over paths, of the divergences at an order.
      failure: the largest chance, over paths, that some release of the path fails.
    """

    first: np.ndarray
    second: np.ndarray
    renyi: float
    failure: float


def grown(choose: Choose, order: float) -> Tree:
    """Enumerates every path."""
    leaves: list[tuple[float, float, float, float]] = []

    def walk(seen: tuple[int, ...], p: float, q: float, renyi: float, kept: float) -> None:
        chosen = choose(seen)
        if chosen is None:
            leaves.append((p, q, renyi, kept))
            return
        renyi += float(renyi_divergence(chosen.first, chosen.second, order))
        good = 1.0 - chosen.failure
        for outcome, (a, b) in enumerate(zip(chosen.first, chosen.second, strict=True)):
            walk((*seen, outcome), p * good * a, q * good * b, renyi, kept * good)
        if chosen.failure > 0.0:  # nothing that follows could be worse
            leaves.append((p * chosen.failure, 0.0, renyi, kept * good))
            leaves.append((0.0, q * chosen.failure, renyi, kept * good))

    walk((), 1.0, 1.0, 0.0, 1.0)
    first, second, renyi, kept = np.array(leaves).T
    return Tree(
        first / first.sum(), second / second.sum(), float(renyi.max()), float(1.0 - kept.min())
    )


def response(epsilon: float) -> Mechanism:
    """Randomised response."""
    return Mechanism(*pairs.randomised_response(epsilon))


def by_first_answer(seen: tuple[int, ...]) -> Mechanism | None:
    """Two releases, each within epsilon 2 at delta .05 with the first; delta(2) is .0634 together.

    After one answer the second may spend an epsilon, after the other a delta.
    """
    if not seen:
        return response(1.0)
    if len(seen) == 2:
        return None
    return response(1.0956) if seen[0] == 0 else response(1e-9)._replace(failure=0.05)


def _tight(order: float, epsilon: float, likely: float) -> Mechanism:
    """A pair near the bound at one order, for its loss is nearly always the one that is worst."""
    loss = epsilon + math.log(order / (order - 1.0))
    first = np.array([likely, 1.0 - likely])
    rare = likely * math.exp(-loss)
    return Mechanism(first, np.array([rare, 1.0 - rare]))


def _after_nothing(then: Mechanism) -> Choose:
    """A first release that says little, and another of which one answer allows the rest."""
    nothing, small = response(1e-6), response(1e-3)
    return lambda seen: [nothing, then if seen[:1] == (0,) else small, None][len(seen)]


def _random(generator: np.random.Generator) -> Choose:
    """A tree of depth 2 or 3: each release is drawn anew for each outcome before it."""
    depth, made = int(generator.integers(2, 4)), {}

    def choose(seen: tuple[int, ...]) -> Mechanism | None:
        if len(seen) == depth:
            return None
        if seen not in made:
            epsilon = math.exp(generator.uniform(math.log(0.05), math.log(2.0)))
            size = int(generator.integers(2, 4))
            pair = pairs.random_pure_pair(generator, size, epsilon)
            fails = generator.random() < 0.4
            failure = math.exp(generator.uniform(math.log(1e-3), math.log(0.3))) if fails else 0.0
            made[seen] = Mechanism(*pair, failure)
        return made[seen]

    return choose


def _trees(budget) -> Iterator[tuple[float, float, Choose, str]]:
    yield 4.0, 2.0, by_first_answer, "chosen by the first answer"
    yield 40.0, 2.0, by_first_answer, "chosen by the first answer, order 40"
    for order, epsilon in ((1.5, 0.2), (2.0, 0.5), (4.0, 1.0)):
        for likely in (0.9, 0.99, 0.999):
            tight = _tight(order, epsilon, likely)
            where = f"one loss with probability {likely:g}"
            yield order, epsilon, _after_nothing(tight), where
            yield order, epsilon, _after_nothing(tight._replace(failure=0.2)), f"{where}, failing"
    for generator in budget.draws(stream=5):
        order = 1.0 + math.exp(generator.uniform(math.log(0.1), math.log(30.0)))
        yield order, float(generator.choice([0.0, 0.1, 0.5, 1.0, 2.0])), _random(generator), "drawn"


@JX.privacy(
    "JX-Compose-filter",
    "Feldman & Zrnic 2021 without failures; docs/composition.md, Section 8",
    Relation.BASE,
)
def filtered(
    *,
    epsilon: TunedEpsilon = 1.0,
    order: OrderOrInfinity = 10.0,
    renyi: FilterRenyi = 0.2,
    failure: FilterFailure = 0.0,
):
    """Releases of which each, and its guarantee, is chosen by what earlier ones released, are as
    private as one with the largest sum of Renyi bounds at an order fixed beforehand, and with the
    largest chance of a failure, that any path of releases has.

    Delta at epsilon.
    """
    return filtered_delta(epsilon, order, renyi, failure)


@filtered.bounds(tolerance=1e-12)
def adaptive_trees(budget):
    for order, epsilon, choose, where in _trees(budget):
        forward = grown(choose, order)
        backward = grown(_exchanged(choose), order)
        for tree, way in ((forward, ""), (backward, ", the other way round")):
            point = {
                "epsilon": epsilon,
                "order": order,
                "renyi": max(tree.renyi, 0.0),
                "failure": max(tree.failure, 0.0),
            }
            exact = float(hockey_stick(tree.first, tree.second, epsilon))
            yield point, exact, f"{tree.first.size} paths, {where}{way}"


def _exchanged(choose: Choose) -> Choose:
    """The same releases, with the two data sets exchanged."""

    def chosen(seen: tuple[int, ...]) -> Mechanism | None:
        found = choose(seen)
        return None if found is None else Mechanism(found.second, found.first, found.failure)

    return chosen
