"""Durfee & Rogers 2019, Theorem 1: top k among the largest counts alone."""

import itertools
from typing import Annotated

from jaxsel.families.top_k.baseline_laws import limited_domain_law
from jaxsel.families.top_k.baselines import limited_domain_epsilon
from jaxsel.families.top_k.claims.neighbours import crossable, delta_at_claim
from jaxsel.families.top_k.laws import vote_neighbours
from jaxsel.families.top_k.parameters import Picks, Restriction, Slack, size
from jaxsel.language.base import Relation
from jaxsel.language.papers import DURFEE


@DURFEE.privacy("BASE-LD", "Theorem 1", Relation.MONOTONE)
def limited_domain(
    *,
    epsilon: Annotated[float, size("of one pick")] = 0.5,
    delta: Restriction = 0.05,
    k: Picks = 2,
    slack: Slack = 0.01,
) -> float:
    """Limited-domain top-k with epsilon a pick is (min{k epsilon, k epsilon tanh(epsilon/2) +
    epsilon sqrt(2 k log(1/slack)), k epsilon^2/2 + epsilon sqrt(k log(1/slack)/2)}, delta +
    slack)-DP."""
    return limited_domain_epsilon(epsilon, k, slack)


@limited_domain.bounds(tolerance=1e-12)
def crossings(budget):
    for counts, (epsilon, delta), (k, domain) in itertools.product(
        crossable(budget, 8), ((1.0, 0.1), (0.3, 0.01)), ((1, 1), (2, 3), (3, 4))
    ):
        law = limited_domain_law(counts, k, epsilon, delta, domain)
        for other in vote_neighbours(counts):
            found = limited_domain_law(other, k, epsilon, delta, domain)
            where = f"{domain=}, {counts} -> {other.astype(int).tolist()}"
            for slack in (1e-6, 0.1):
                point = {"epsilon": epsilon, "delta": delta, "k": k, "slack": slack}
                yield point, delta_at_claim(delta + slack, law, found), where
