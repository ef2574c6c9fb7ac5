"""The priced envelope of this project, against exact rankings and against the envelope.

Proved in docs/priced.md. Finite pairs are ranked in every way; of the Gaussian a ranking is
searched. What a certificate says must hold whatever price it is given, so that prices
that are far from the best are put to the test as well.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, pairs
from jaxsel.accounting.single_run.dominating import pair_from_laws, reversed_pair
from jaxsel.accounting.single_run.score_pairs import gaussian_pair
from jaxsel.families.tuning.attained.adversarial_orders import adversarial_delta
from jaxsel.families.tuning.attained.all_rankings import worst_delta_of_all
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_log_delta
from jaxsel.families.tuning.bounds.path_certificate import certified
from jaxsel.families.tuning.bounds.path_mesh import path_mesh
from jaxsel.families.tuning.bounds.path_program import Price, proposal, ratio_knots
from jaxsel.families.tuning.bounds.priced_envelope import (
    PricedDirection,
    priced_delta,
    priced_directions,
)
from jaxsel.families.tuning.claims.envelope.envelope import Eta, NoiseScale
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import number
from jaxsel.language.papers import JX

Epsilon = Annotated[float, number("of the whole", at_least=0.0, below=100.0)]
Mean = Annotated[float, number("E[K]", above=1.0, below=1e6)]
_UNKNOWN = "novelty against later literature not established"


@functools.lru_cache(maxsize=8)
def _directions(mean: float, eta: float, noise_scale: float) -> tuple[PricedDirection, ...]:
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return priced_directions(curves.gaussian(noise_scale), law)


def _delta(
    *, epsilon: Epsilon = 0.3223, mean: Mean = 3.0, eta: Eta = 1.0, noise_scale: NoiseScale = 4.0
) -> float:
    """Delta at epsilon of the tuned Gaussian, for every ranking of its outputs."""
    return priced_delta(_directions(mean, eta, noise_scale), epsilon)


# Coarse, so that many pairs are tried; a coarse mesh proves a larger delta.
_COLUMNS, _ROWS, _KNOTS, _PARTS = 8, 3, 14, 6
_STEPS = 300  # of a search for prices that prove less than is true
_LAWS = (
    laws.geometric(1.0 / 3.0),
    laws.truncated_negative_binomial(0.0, 0.05),
    laws.truncated_negative_binomial(2.5, 0.2),
    laws.poisson(4.0),
    laws.point_mass(3),
    laws.binomial(6, 0.4),
)


def _finite_cases(budget: Budget) -> Iterator[Case]:
    """All rankings of three to five outcomes, under the best price and a spoilt one."""
    generator = np.random.default_rng(budget.seed)
    for index in range(max(12, budget.cases // 40)):
        first, second = pairs.random_pair(generator, int(generator.integers(3, 6)))
        if index % 3 == 2:  # outcomes that one side never has
            first = np.append(0.9 * first, [0.1, 0.0])
            second = np.append(0.95 * second, [0.0, 0.05])
        law, epsilon = _LAWS[index % len(_LAWS)], float(generator.uniform(0.0, 0.8))
        pair = pair_from_laws(first, second)
        if index % 2:
            first, second, pair = second, first, reversed_pair(pair)
        exact = worst_delta_of_all(first, second, law, epsilon)
        mesh = path_mesh(pair, law, columns=_COLUMNS, rows=_ROWS)
        knots = ratio_knots(pair, _KNOTS)
        price, values = proposal(pair, law, mesh, knots, epsilon)
        where = f"{first=}, {second=}, {law.family} {dict(law.parameters)}, {epsilon=}"
        proved = functools.partial(certified, pair, law, mesh, epsilon, parts=_PARTS)
        yield proved(price, values), exact, f"the best price, {where}"
        moved = values + generator.choice((-1.0, 1.0))
        yield proved(price, moved), exact, f"W moved as a whole, {where}"
        flat = price._replace(last_slope=-10.0)
        yield proved(flat, values), exact, f"a price that falls at its end, {where}"
        least = _least_proved(generator, proved, price, values)
        yield least, exact, f"the least that is proved, {where}"


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


_SETTINGS = (  # noise scale, eta, mean, epsilons
    (4.0, 1.0, 3.0, (0.1254, 0.2, 0.3223)),
    (4.0, 0.0, 30.0, (0.25,)),
    (1.0, 1.0, 30.0, (1.3, 2.5)),
)


@functools.cache
def _attaining() -> tuple[tuple[float, dict[str, float]], ...]:
    """Exact deltas of costly rankings, and the settings of the bound on each."""
    cases = []
    for noise_scale, eta, mean, epsilons in _SETTINGS:
        law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
        for epsilon in epsilons:
            found = adversarial_delta(gaussian_pair(noise_scale), law, epsilon)
            settings = {"epsilon": epsilon, "mean": mean, "eta": eta, "noise_scale": noise_scale}
            cases.append((found.delta, settings))
    return tuple(cases)


def _delta_cases(budget: Budget) -> Iterator[Case]:
    yield from _finite_cases(budget)
    for exact, settings in _attaining():
        yield _delta(**settings), exact, f"a costly ranking, {settings}"


def _least_attained(
    *,
    epsilon: Epsilon = 0.3223,
    mean: Mean = 3.0,
    eta: Eta = 1.0,
    noise_scale: NoiseScale = 4.0,
    share: Annotated[float, number("that is attained", above=0.0, at_most=1.0)] = 0.93,
) -> float:
    """share of the priced delta: some ranking's exact delta is at least that."""
    return share * _delta(epsilon=epsilon, mean=mean, eta=eta, noise_scale=noise_scale)


def _attained_cases(budget: Budget) -> Iterator[Case]:
    for exact, settings in _attaining():
        yield _least_attained(**settings), exact, f"a costly ranking, {settings}"


def _envelope_cases(budget: Budget) -> Iterator[Case]:
    for noise_scale, eta, mean, epsilons in _SETTINGS:
        law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
        bounds = base_envelopes(curves.gaussian(noise_scale), law)
        for epsilon in (*epsilons, 4.0 * epsilons[-1]):
            envelope = float(np.exp(envelope_log_delta(bounds, epsilon)))
            settings = {"mean": mean, "eta": eta, "noise_scale": noise_scale}
            yield (envelope, _delta(epsilon=epsilon, **settings), f"{epsilon=}, {settings}")


STATEMENTS = (
    JX.privacy(
        "JX-Priced",
        f"{_UNKNOWN}; docs/priced.md, Section 2",
        "For a convex price lambda of the likelihood ratio and any continuous W with "
        "W_u + s W_v + [a(u) - e^epsilon s a(v)]_+ <= lambda(s) + kappa(u) between the "
        "trade-off curves, delta(epsilon) <= E_P[lambda(p'/p)] + W(0, 0) - W(1, 1) + "
        "integral of kappa, for every ranking of the outputs and every K of finite "
        "mean, a(u) being f'(1 - u).",
        Relation.BASE,
        _delta,
        at_most(_delta_cases, 1e-9),
    ),
    JX.privacy(
        "JX-Priced-envelope",
        f"{_UNKNOWN}; docs/priced.md, Section 2",
        "The priced envelope is never above the envelope.",
        Relation.BASE,
        _delta,
        at_most(_envelope_cases, 0.0),
    ),
    JX.privacy(
        "JX-Priced-attained",
        f"{_UNKNOWN}; docs/priced.md, Section 5",
        "For Gaussian bases with noise scale 1 and 4, geometric or logarithmic K and "
        "six values of epsilon where delta is 0.045 to 0.7, some ranking of the outputs "
        "has an exact delta of at least 93 % of the priced envelope's.",
        Relation.BASE,
        _least_attained,
        at_least(_attained_cases),
    ),
)
