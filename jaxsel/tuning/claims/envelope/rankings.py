"""Rankings of finite pairs, and costly ones of Gaussians: what envelopes are set against.

What a certificate says must hold whatever price it is given, so that prices that are far from
the best are put to the test as well.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, pairs
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import pair_from_laws, reversed_pair
from jaxsel.accounting.single_run.score_pairs import gaussian_pair
from jaxsel.language.base import Budget
from jaxsel.language.checking import Judged, listed
from jaxsel.tuning.attained.adversarial_orders import adversarial_delta
from jaxsel.tuning.attained.all_rankings import worst_delta_of_all
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.path_certificate import certifier, cut
from jaxsel.tuning.bounds.path_mesh import first_columns, path_mesh
from jaxsel.tuning.bounds.path_program import Price, proposal, ratio_knots
from jaxsel.tuning.claims.base_pairs import BasePair, approximate_pairs, base_pairs, shown
from jaxsel.tuning.claims.searches import at_epsilon, guarantee

_LEVELS = np.array([0.0, 0.05, 0.3, 1.0, 2.0, 3.5])
_LAWS = (
    *(laws.truncated_negative_binomial(eta, 0.03) for eta in (-0.5, 0.0, 1.0, 5.0)),
    laws.geometric(1e-4),
    laws.poisson(0.3),
    laws.poisson(8.0),
    laws.binomial(9, 0.4),
    laws.beta_binomial(25, 0.5),
    laws.beta_binomial(25, 2.0),
    laws.point_mass(3),
)


def _rankings(budget: Budget) -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
    """Two laws, best outcome first: as they come, reversed, and adversarially ranked."""
    small = budget._replace(cases=budget.cases // 2)
    generator = np.random.default_rng(budget.seed + 1)
    for index, pair in enumerate((*base_pairs(small), *approximate_pairs(small))):
        first, second = pair.first, pair.second
        if index % 2:
            first, second = second, first
        if index % 3 == 2:
            # what the second side likes, then what the first likes, then the rest
            with np.errstate(divide="ignore", invalid="ignore"):
                ranked = np.argsort(np.log(first) - np.log(second))
            cut = int(generator.integers(first.size))
            order = np.concatenate([ranked[:cut], ranked[cut:][::-1]])
            first, second = first[order], second[order]
        yield first, second, f"first law {shown(first)}, best first, of {pair.where}"


def ranked_pairs(budget: Budget) -> Iterator[Any]:
    """Exact deltas of pairs in three rankings each, under laws of every family."""
    for index, (first, second, where) in enumerate(_rankings(budget)):
        law, pair = _LAWS[index % len(_LAWS)], pair_from_laws(first, second)
        # In one direction: the other is another ranking's.
        base = guarantee(BasePair(first, second, where))._replace(pairs=lambda pair=pair: (pair,))
        exact = hockey_stick(tuned_law(first, law), tuned_law(second, law), _LEVELS)
        for epsilon, delta in zip(_LEVELS.tolist(), exact.tolist(), strict=True):
            yield at_epsilon(base, law, epsilon), delta


# Coarse, so that many pairs are tried; a coarse mesh proves a larger delta.
_COLUMNS, _ROWS, _KNOTS, _PARTS = 8, 3, 14, 6
_STEPS = 300  # of a search for prices that prove less than is true
_PRICED_LAWS = (
    laws.geometric(1.0 / 3.0),
    laws.truncated_negative_binomial(0.0, 0.05),
    laws.truncated_negative_binomial(2.5, 0.2),
    laws.poisson(4.0),
    laws.point_mass(3),
    laws.binomial(6, 0.4),
)


def _least_proved(
    generator: np.random.Generator,
    proved: Callable[[Price, np.ndarray], float],
    price: Price,
    values: np.ndarray,
) -> float:
    """The least certificate that a random search finds, from the best price on.

    A certificate that leaves something out is least where that is large; the search goes
    there by itself. One that is right stays above what every ranking costs.
    """
    least, scale = proved(price, values), 0.01
    for _ in range(_STEPS):
        other = price._replace(
            values=price.values + scale * generator.normal(size=price.values.size),
            last_slope=price.last_slope + scale * generator.normal(),
        )
        moved = values + 0.3 * scale * generator.normal(size=values.size)
        found = proved(other, moved)
        if found < least:
            least, price, values = found, other, moved
        scale *= 2.0 if found <= least else 0.87
    return least


def priced_pairs(budget: Budget) -> Iterator[Judged]:
    """All rankings of three to five outcomes, under the best price and a spoilt one."""
    generator = np.random.default_rng(budget.seed)
    for index in range(max(12, budget.cases // 40)):
        first, second = pairs.random_pair(generator, int(generator.integers(3, 6)))
        if index % 3 == 2:  # outcomes that one side never has
            first = np.append(0.9 * first, [0.1, 0.0])
            second = np.append(0.95 * second, [0.0, 0.05])
        law, epsilon = _PRICED_LAWS[index % len(_PRICED_LAWS)], generator.uniform(0.0, 0.8)
        pair = pair_from_laws(first, second)
        if index % 2:
            first, second, pair = second, first, reversed_pair(pair)
        exact = worst_delta_of_all(first, second, law, epsilon)
        mesh = path_mesh(pair, first_columns(law, _COLUMNS), rows=_ROWS)
        knots = ratio_knots(pair, _KNOTS)
        price, values, *_ = proposal(pair, law, mesh, knots, epsilon)
        where = f"{first=}, {second=}, {law.family} {dict(law.parameters)}, {epsilon=}"
        proof = functools.partial(certifier, pair, cut(law, mesh, _PARTS))

        def proved(price: Price, values: np.ndarray, proof=proof, epsilon=epsilon) -> float:
            return proof(price, values)(epsilon).delta

        yield Judged(proved(price, values), exact, f"the best price, {where}")
        moved = values + generator.choice((-1.0, 1.0))
        yield Judged(proved(price, moved), exact, f"W moved as a whole, {where}")
        flat = price._replace(last_slope=-10.0)
        yield Judged(proved(flat, values), exact, f"a price that falls at its end, {where}")
        least = _least_proved(generator, proved, price, values)
        yield Judged(least, exact, f"the least that is proved, {where}")


COSTLY = listed(
    "epsilon mean eta noise_scale",
    (0.1254, 3.0, 1.0, 4.0),
    (0.2, 3.0, 1.0, 4.0),
    (0.3223, 3.0, 1.0, 4.0),
    (0.25, 30.0, 0.0, 4.0),
    (1.3, 30.0, 1.0, 1.0),
    (2.5, 30.0, 1.0, 1.0),
)


@functools.cache
def ranked(epsilon: float, mean: float, eta: float, noise_scale: float) -> float:
    """Exact delta of a costly ranking."""
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return adversarial_delta(gaussian_pair(noise_scale), law, epsilon).delta


def costly_rankings() -> Iterator[Any]:
    """Gaussian bases in rankings that cost nearly as much as any."""
    for point in COSTLY(Budget()):
        base = curves.gaussian(point["noise_scale"])
        law = laws.from_mean("truncated_negative_binomial", point["mean"], eta=point["eta"])
        yield at_epsilon(base, law, point["epsilon"]), ranked(**point), "a costly ranking"
