"""All runs released: the best of K runs is a function of them, and K of nothing private."""

import functools

from jaxsel.accounting.single_run.composing import MOST
from jaxsel.accounting.single_run.conversions import LEAST_DELTA, RenyiCurve, epsilon_at, repeated
from jaxsel.accounting.single_run.dominating import pair_profile
from jaxsel.language.papers import JX, PS
from jaxsel.tuning.search_bounds import RELEASED, RENYI, Former, Needs, Proof, Search, bound


def _countable(search: Search) -> str | None:
    """What a search lacks for its runs to be composed."""
    base, count = search.base, search.law.maximum
    if count is None or count == 0:
        return "a K that is bounded"
    if count > MOST and base.composed is None:
        return f"a largest K of at most {MOST}, or a base that is composed in closed form"
    return None


@bound(
    JX,
    "JX-All-released",
    "after Dwork & Roth 2014, Theorem 3.16; docs/composition.md",
    RELEASED,
    needs=Needs(lacks=_countable),
    words="all runs released: as many as K can be, composed",
    label="all runs released",
    shown="composition",
    aliases=("composition",),
    covers_all=True,
    at=("gaussian:noise_multiplier=4", "point_mass:count=10"),
)
def composition(search: Search) -> Proof:
    """The best of K runs, K at most m and independent of the data, costs no more than the release
    of m runs."""
    base, count = search.base, search.law.maximum
    assert count is not None  # ``lacks``
    whole = base if count == 1 else base.composed and base.composed(count)
    if whole is not None:
        return Proof(whole.epsilon, whole.delta)
    many = functools.cache(lambda: [pair_profile(pair) for pair in base.released(count)])
    return Proof(
        lambda delta: max(epsilon_at(profile, delta) for profile in many()),
        lambda epsilon: max(float(profile(epsilon)) for profile in many()),
        LEAST_DELTA,
    )


@bound(
    PS,
    "PS-D1-composition",
    "Appendix D.1",
    RENYI,
    needs=Needs(law="point_mass"),
    words="all runs released: K times the Renyi bound",
    label="all runs released, Renyi",
    shown="composition-renyi",
    aliases=("composition-renyi",),
    covers_all=True,
    at=Former(
        {"base_epsilon": "1", "count": "5"},
        "randomised_response:epsilon={base_epsilon}",
        "point_mass:count={count}",
        {"order": 5.0},
    ),
)
def composed_divergences(search: Search) -> RenyiCurve:
    """For a fixed number k of runs composition gives D_a(A || A') <= k D_a(Q || Q')."""
    return repeated(search.base.renyi, search.law.parameters["count"])


@composition.bounds(tolerance=1e-12)
def most_runs(budget):
    from jaxsel.tuning.claims.searches import profile_cases

    small = budget._replace(cases=budget.cases // 2)
    return profile_cases(composition, small, "point_mass", "binomial")


@composed_divergences.bounds()
def fixed_runs(budget):
    from jaxsel.tuning.claims.searches import renyi_cases

    return renyi_cases(budget, "point_mass")
