"""Koskela, Redberg & Wang 2024, Lemma D.1: from a Renyi bound to delta (E-KRW-4)."""

import math
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_renyi
from jaxsel.accounting.single_run.divergences import hockey_stick, renyi_divergence
from jaxsel.families.noisy_max.parameters import AnyLevel, Order
from jaxsel.language.base import Relation
from jaxsel.language.domains import number
from jaxsel.language.papers import KRW

# The Renyi divergence at order 2 of randomised response with epsilon 1, which refutes the lemma.
_COIN_RENYI = float(randomised_response_renyi(2.0, 1.0))

Bound = Annotated[float, number("r, Renyi bound at that order", at_least=0.0)]


@KRW.privacy("KRW-LemD.1-printed", "Lemma D.1", Relation.BASE)
def printed(
    *, order: Order = 2.0, renyi_epsilon: Bound = _COIN_RENYI, epsilon: AnyLevel = 0.0
) -> float:
    """A mechanism with Renyi bound r at order a has delta(epsilon) at most exp((a - 1)(r -
    epsilon)/a) (1 - 1/a)^(a - 1) / a.

    Returns the printed delta(epsilon), at most 1. Its exponent is wrongly divided by the order.
    """
    exponent = (order - 1.0) * (renyi_epsilon - epsilon) / order
    front = (order - 1.0) * math.log1p(-1.0 / order) - math.log(order)
    return math.exp(min(exponent + front, 0.0))


@printed.bounds()
def random_pairs(budget):
    instances = [(pairs.randomised_response(1.0), 2.0, 0.0)]
    for generator in budget.draws():
        pair = pairs.random_pair(generator, int(generator.integers(2, 6)))
        order = 1.0 + float(np.exp(generator.uniform(-3.0, 3.0)))
        instances.append((pair, order, generator.exponential()))
    for pair, order, epsilon in instances:
        renyi = float(renyi_divergence(*pair, order))
        exact = float(hockey_stick(*pair, epsilon))
        point = {"order": order, "renyi_epsilon": renyi, "epsilon": epsilon}
        yield point, exact, f"{pair.first.tolist()} against {pair.second.tolist()}"


E_KRW_4 = KRW.misprint(
    "E-KRW-4",
    "Lemma D.1, Equation (D.1)",
    "statement",
    printed="delta = exp((a - 1)(r - epsilon)/a) (1 - 1/a)^(a - 1) / a.",
    correct="delta = exp((a - 1)(r - epsilon)) (1 - 1/a)^(a - 1) / a, as in the cited "
    "proposition. Randomised response with parameter 1 has total variation "
    "tanh(1/2) = 0.462, and the printed formula gives 0.361 at order 2.",
    refuted=[printed],
    corrected=["PS-Lem14"],
)
