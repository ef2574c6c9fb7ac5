"""Papernot & Steinke 2022, Appendix D.3: where the generic bound is tight."""

from typing import Annotated

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.tuning.claims.base_pairs import tuned_pair
from jaxsel.families.tuning.claims.parameters import Eta, Gamma, Law, Order
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import listed
from jaxsel.language.domains import number, probability
from jaxsel.language.papers import PS


@PS.identity("PS-D3", "Appendix D.3")
def middle_mass(
    *,
    repetitions: Law = "geometric:gamma=0.01",
    b: Annotated[float, number("chance of the middle outcome", at_least=0.0, below=1.0)] = 0.001,
    c: Annotated[float, number("chance of the worst outcome", at_least=0.0, at_most=1.0)] = 0.9,
) -> float:
    """The best of K draws from (1-b-c, b, c), best outcome first, has the law (1 - f(b+c), f(b+c) -
    f(c), f(c)).

    f(b + c) - f(c): how often the middle of three outcomes is the best of K.
    """
    if b + c > 1.0:
        raise InputError(f"b + c is {b + c}; it must be at most 1")
    return float(repetitions.pgf(b + c) - repetitions.pgf(c))


@middle_mass.equals(tolerance=1e-10)
def enumerated(budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        a, b, c = generator.dirichlet(np.full(3, 0.7)).tolist()
        count = int(generator.integers(1, 30))
        for text in (
            f"binomial:count={count},probability={generator.uniform(0.02, 1.0)!r}",
            f"point_mass:count={count}",
        ):
            k = np.arange(count + 1)
            pmf = laws.parse(text).pmf(k)
            # drawn k times: the best is the middle one if no draw is the first outcome
            # and not all are the last
            middle = float(np.sum(pmf * ((1.0 - a) ** k - c**k)))
            yield {"repetitions": text, "b": b, "c": c}, middle


@PS.identity("PS-D3-tight", "Appendix D.3", relation=Relation.BASE)
def tight(
    *,
    order: Order = 60.0,
    epsilon: Annotated[float, number("of the pair", above=0.0, at_most=3.8)] = 1.0,
    eta: Eta = 1.0,
    gamma: Gamma = 0.01,
    middle: Annotated[float, probability("of the middle outcome on its rarer side")] = 1e-9,
) -> float:
    """On three outcomes whose middle one is rare but dominates D_a(Q || Q'), D_a(A || A') tends to
    D_a(Q || Q') + log(f'(c)^a f'(c')^(1-a))/(a-1), which Lemma 7 gives.

    The best outcome has probability 0.02, and e^epsilon times that on the second side.
    """
    first, second = pairs.three_outcome(epsilon, 0.02, middle)
    law = laws.truncated_negative_binomial(eta, gamma)
    # f'(c), c = 1 - u: the mass u of the two better outcomes
    own, other = (float(law.log_pgf_derivative_tail(side[:2].sum())) for side in (first, second))
    ratio = (order * own + (1.0 - order) * other) / (order - 1.0)
    return float(renyi_divergence(first, second, order)) + ratio


SHAPES = ((0.0, 0.01), (1.0, 0.01), (5.0, 0.05))
RARE = ((60.0, 1e-9), (80.0, 1e-12))


@tight.equals(
    listed("eta gamma order middle", *((*shape, *rare) for shape in SHAPES for rare in RARE)),
    tolerance=1e-6,
)
def exact(order, epsilon, eta, gamma, middle):
    pair = pairs.three_outcome(epsilon, 0.02, middle)
    tuned = tuned_pair(pair, laws.truncated_negative_binomial(eta, gamma))
    return float(renyi_divergence(*tuned, order))
