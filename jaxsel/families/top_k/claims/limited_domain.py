"""Durfee & Rogers 2019, Theorem 1: top k among the largest counts alone."""

from collections.abc import Iterator
from typing import Annotated

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.top_k.baseline_laws import limited_domain_law
from jaxsel.families.top_k.baselines import limited_domain_epsilon
from jaxsel.families.top_k.claims.neighbours import crossable
from jaxsel.families.top_k.claims.parameters import Picks, size
from jaxsel.families.top_k.laws import vote_neighbours
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import probability
from jaxsel.language.papers import DURFEE


def _epsilon(
    *,
    epsilon: Annotated[float, size("of one pick")] = 0.5,
    delta: Annotated[float, probability("of the restriction to the largest counts")] = 0.05,
    k: Picks = 2,
    slack: Annotated[float, probability("spent on composing the picks")] = 0.01,
) -> float:
    """Epsilon of limited-domain top-k at delta + slack."""
    del delta
    return limited_domain_epsilon(epsilon, k, slack)


def _cases(budget: Budget) -> Iterator[Case]:
    for counts in crossable(budget, 8):
        for epsilon, delta in ((1.0, 0.1), (0.3, 0.01)):
            for k, domain in ((1, 1), (2, 3), (3, 4)):
                setting = (k, epsilon, delta, domain)
                law = limited_domain_law(counts, *setting)
                for other in vote_neighbours(counts):
                    found = limited_domain_law(other, *setting)
                    for slack in (1e-6, 0.1):
                        level = _epsilon(epsilon=epsilon, delta=delta, k=k, slack=slack)
                        seen = float(profile_delta(law, found, level))
                        where = f"{counts} -> {other.astype(int).tolist()}"
                        text = f"{k=}, {domain=}, {epsilon=:g}, {slack=:g}, {where}"
                        yield delta + slack, seen, text


STATEMENTS = (
    DURFEE.privacy(
        "BASE-LD",
        "Theorem 1",
        "Limited-domain top-k with epsilon a pick is (min{k epsilon, k epsilon "
        "tanh(epsilon/2) + epsilon sqrt(2 k log(1/slack)), k epsilon^2/2 + epsilon "
        "sqrt(k log(1/slack)/2)}, delta + slack)-DP.",
        Relation.MONOTONE,
        _epsilon,
        at_most(_cases, tolerance=1e-12),
    ),
)
