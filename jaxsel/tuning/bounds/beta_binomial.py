"""Tuning with a beta-binomial number of runs (Cohen et al. 2022).

Selection(tau, k = 1) makes Bin(tau, p) runs, p = U^(1/gamma), and releases the best: the best
of K runs, K beta-binomial. Several calls, k > 1 and Test are other mechanisms
(``jaxsel.families.selection_and_test``).
"""

from jaxsel.accounting.single_run.conversions import LEAST_DELTA
from jaxsel.language.papers import CL
from jaxsel.tuning.search_bounds import (
    CONVERTED,
    PURE,
    Former,
    Needs,
    Proof,
    Search,
    bound,
    pure_base,
    pure_epsilon,
)

_FAMILY = "beta_binomial"
_PLACE = "Theorem 1 (one call of Selection with k = 1)"


@bound(
    CL,
    "CL-Thm1",
    _PLACE,
    PURE,
    needs=Needs(law=_FAMILY, lacks=pure_base),
    words="Cohen et al. 2022: (2 + gamma) epsilon for a pure base, beta-binomial",
    label="pure, CLNSS Thm 1",
    at=Former(
        {"epsilon": "1", "gamma": "0.5"},
        "pure:epsilon={epsilon}",
        "beta_binomial:count=100,gamma={gamma}",
    ),
)
def theorem_1(search: Search) -> float:
    """One selection of the best of K runs, K ~ Bin(tau, p) and p = U^(1/gamma), of an epsilon-DP
    base is (2 + gamma) epsilon-DP."""
    return (2.0 + search.law.parameters["gamma"]) * pure_epsilon(search.base)


@bound(
    CL,
    "CL-Thm1-approximate",
    _PLACE,
    CONVERTED,
    needs=Needs(law=_FAMILY, uses=("profile",)),
    words="Cohen et al. 2022: (2 + gamma) epsilon at delta/tau",
    label="CLNSS, Thm 1",
    at=Former(
        {"delta": "1e-06", "count": "100"},
        "approximate:epsilon=1,delta={delta}",
        "beta_binomial:count={count},gamma=0.5",
        {"epsilon": 2.5},
    ),
)
def theorem_1_of_profiles(search: Search) -> Proof:
    """The same selection of an (epsilon, delta)-DP base has at most tau delta at (2 + gamma)
    epsilon."""
    base, count = search.base, search.law.parameters["count"]
    factor = 2.0 + search.law.parameters["gamma"]
    return Proof(
        lambda delta: factor * base.epsilon(delta / count),
        lambda epsilon: min(1.0, count * base.delta(epsilon / factor)),
        LEAST_DELTA,
    )


@theorem_1.bounds()
def pure_laws(budget):
    from jaxsel.tuning.claims.searches import pure_cases, three_blocks_cases

    yield from three_blocks_cases(budget)
    yield from pure_cases(budget, _FAMILY)


@theorem_1_of_profiles.bounds(tolerance=1e-12)
def deltas_of_pairs(budget):
    from jaxsel.tuning.claims.searches import profile_cases, profile_cases_of

    # Nearly always one run: then nothing is lost but (1 + gamma) epsilon.
    yield from profile_cases_of(theorem_1_of_profiles, budget, "beta_binomial:count=1,gamma=40")
    yield from profile_cases(theorem_1_of_profiles, budget, _FAMILY)
