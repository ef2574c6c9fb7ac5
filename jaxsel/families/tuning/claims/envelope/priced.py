"""The priced envelope of this project, against exact rankings and against the envelope.

Proved in docs/priced.md. Finite pairs are ranked in every way; of the Gaussian a ranking is
searched. What a certificate says must hold whatever price it is given, so that prices
that are far from the best are put to the test as well.
"""

import functools
from collections.abc import Callable
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
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, listed
from jaxsel.language.domains import number
from jaxsel.language.papers import JX

Epsilon = Annotated[float, number("of the whole", at_least=0.0, below=100.0)]
Mean = Annotated[float, number("E[K]", above=1.0, below=1e6)]
_UNKNOWN = "novelty against later literature not established"


@functools.lru_cache(maxsize=8)
def _directions(mean: float, eta: float, noise_scale: float) -> tuple[PricedDirection, ...]:
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return priced_directions(curves.gaussian(noise_scale), law)


@JX.privacy("JX-Priced", f"{_UNKNOWN}; docs/priced.md, Section 2", Relation.BASE)
def every_ranking(
    *, epsilon: Epsilon = 0.3223, mean: Mean = 3.0, eta: Eta = 1.0, noise_scale: NoiseScale = 4.0
) -> float:
    """For a convex price lambda of the likelihood ratio and any continuous W with W_u + s W_v +
    [a(u) - e^epsilon s a(v)]_+ <= lambda(s) + kappa(u) between the trade-off curves, delta(epsilon)
    <= E_P[lambda(p'/p)] + W(0, 0) - W(1, 1) + integral of kappa, for every ranking of the outputs
    and every K of finite mean, a(u) being f'(1 - u).

    Delta at epsilon of the tuned Gaussian."""
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


def _finite_pairs(budget):
    """All rankings of three to five outcomes, under the best price and a spoilt one."""
    generator = np.random.default_rng(budget.seed)
    for index in range(max(12, budget.cases // 40)):
        first, second = pairs.random_pair(generator, int(generator.integers(3, 6)))
        if index % 3 == 2:  # outcomes that one side never has
            first = np.append(0.9 * first, [0.1, 0.0])
            second = np.append(0.95 * second, [0.0, 0.05])
        law, epsilon = _LAWS[index % len(_LAWS)], generator.uniform(0.0, 0.8)
        pair = pair_from_laws(first, second)
        if index % 2:
            first, second, pair = second, first, reversed_pair(pair)
        exact = worst_delta_of_all(first, second, law, epsilon)
        mesh = path_mesh(pair, law, columns=_COLUMNS, rows=_ROWS)
        knots = ratio_knots(pair, _KNOTS)
        price, values = proposal(pair, law, mesh, knots, epsilon)
        where = f"{first=}, {second=}, {law.family} {dict(law.parameters)}, {epsilon=}"
        proved = functools.partial(certified, pair, law, mesh, epsilon, parts=_PARTS)
        yield Judged(proved(price, values), exact, f"the best price, {where}")
        moved = values + generator.choice((-1.0, 1.0))
        yield Judged(proved(price, moved), exact, f"W moved as a whole, {where}")
        flat = price._replace(last_slope=-10.0)
        yield Judged(proved(flat, values), exact, f"a price that falls at its end, {where}")
        least = _least_proved(generator, proved, price, values)
        yield Judged(least, exact, f"the least that is proved, {where}")


_COSTLY = listed(
    "epsilon mean eta noise_scale",
    (0.1254, 3.0, 1.0, 4.0),
    (0.2, 3.0, 1.0, 4.0),
    (0.3223, 3.0, 1.0, 4.0),
    (0.25, 30.0, 0.0, 4.0),
    (1.3, 30.0, 1.0, 1.0),
    (2.5, 30.0, 1.0, 1.0),
)
_LARGE = listed(
    "epsilon mean eta noise_scale",
    (1.2892, 3.0, 1.0, 4.0),
    (1.0, 30.0, 0.0, 4.0),
    (10.0, 30.0, 1.0, 1.0),
)


@functools.cache
def _ranked(epsilon: float, mean: float, eta: float, noise_scale: float) -> float:
    """Exact delta of a costly ranking."""
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return adversarial_delta(gaussian_pair(noise_scale), law, epsilon).delta


@every_ranking.bounds()
def finite_pairs_and_costly_rankings(budget):
    yield from _finite_pairs(budget)
    for point in _COSTLY(budget):
        yield point, _ranked(**point), "a costly ranking"


@JX.privacy("JX-Priced-attained", f"{_UNKNOWN}; docs/priced.md, Section 5", Relation.BASE)
def attained(
    *,
    epsilon: Epsilon = 0.3223,
    mean: Mean = 3.0,
    eta: Eta = 1.0,
    noise_scale: NoiseScale = 4.0,
    share: Annotated[float, number("that is attained", above=0.0, at_most=1.0)] = 0.93,
) -> float:
    """For Gaussian bases with noise scale 1 and 4, geometric or logarithmic K and six values of
    epsilon where delta is 0.045 to 0.7, some ranking of the outputs has an exact delta of at least
    93 % of the priced envelope's.

    ``share`` of the priced delta."""
    return share * every_ranking(epsilon=epsilon, mean=mean, eta=eta, noise_scale=noise_scale)


@attained.bounds_below(_COSTLY)
def costly_rankings(epsilon, mean, eta, noise_scale, share):
    return _ranked(epsilon=epsilon, mean=mean, eta=eta, noise_scale=noise_scale)


never_above_the_envelope = JX.privacy(
    "JX-Priced-envelope",
    f"{_UNKNOWN}; docs/priced.md, Section 2",
    Relation.BASE,
    statement="The priced envelope is never above the envelope.",
)(every_ranking.evaluate)


@never_above_the_envelope.bounds(_COSTLY, _LARGE, tolerance=0.0)
def envelope(epsilon, mean, eta, noise_scale):
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    bounds = base_envelopes(curves.gaussian(noise_scale), law)
    delta = float(np.exp(envelope_log_delta(bounds, epsilon)))
    return lambda priced: (delta, priced)
