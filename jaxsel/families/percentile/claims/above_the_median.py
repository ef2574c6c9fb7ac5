"""Liu & Talwar 2019, Corollary 4.2: Algorithm 3 against the medians, p* = 1/2."""

from collections.abc import Iterator

import numpy as np

from jaxsel.families.percentile.claims.above_threshold import final_itself, privacy_cases
from jaxsel.families.percentile.claims.parameters import SmallBeta, beta_itself
from jaxsel.families.percentile.laws import oracle_law
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.papers import LT


def _joint_failure(*, beta: SmallBeta = 0.1) -> float:
    """Failure probability beta."""
    return beta


def _low_share(ratio: np.ndarray | float, power: float) -> np.ndarray:
    """ratio^power/(1 + ratio^power): the share at Phi = ratio^power."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.asarray(ratio) ** -power)


def _median_streams(budget: Budget) -> Iterator[tuple[float, float, np.ndarray]]:
    generator = np.random.default_rng(budget.seed)
    for beta, power, size in ((0.1, 1.0, 1), (0.5, 2.0, 30), (0.9, 0.5, 10)):
        yield beta, power, np.zeros(size)
    for _ in range(min(budget.cases, 60)):
        power = float(generator.uniform(0.1, 3.0))
        spread = generator.uniform(0.0, 3.0, int(generator.integers(1, 9)))
        yield float(generator.uniform(0.01, 0.9)), power, spread


def _median_cases(kind: str):
    """Streams at the bound of Corollary 4.2 or up to a few log-odds inside it."""

    def cases(budget: Budget) -> Iterator[Case]:
        for beta, power, inside in _median_streams(budget):
            halts = np.arange(1.0, inside.size + 1.0)
            settings = {"base_epsilon": power, "final_epsilon": 12.0}
            if kind == "early":
                bound = _low_share(beta / (halts + 1.0), power)
                shares = _low_share(beta / (halts + 1.0) * np.exp(-inside), power)
                law = oracle_law(shares, target=0.5, **settings)
                seen = float(np.sum(law[:-1][shares <= bound * (1 + 1e-12)]))
            elif kind == "late":
                # A first query that is too high for every later halt R is "late".
                ratio = (halts + 2.0) / beta * np.exp(inside)
                shares = _low_share(ratio, power)
                law = oracle_law(shares, target=0.5, **settings)
                highest = np.maximum.accumulate(shares)[:-1]
                bound = _low_share((halts[1:] + 1.0) / beta, power)
                seen = float(np.sum(law[1:-1][highest >= bound * (1 - 1e-12)]))
            else:
                last = float(_low_share(1.0 / beta, power))
                shares = np.append(_low_share(np.exp(-inside), power), last)
                seen = float(oracle_law(shares, target=0.5, **settings)[-1])
            where = f"shares {np.round(shares[:8], 6).tolist()}, {beta=!r}"
            yield beta, seen, f"{where}, 12 epsilon_1/epsilon_3={power!r}"

    return cases


STATEMENTS = (
    LT.privacy(
        "LT-Cor4.2(a)",
        "Corollary 4.2(a)",
        "Over epsilon_1-DP bases Algorithm 3 with p* = 1/2 is epsilon_3-DP.",
        Relation.BASE,
        final_itself,
        at_most(privacy_cases(0.5)),
    ),
    LT.utility(
        "LT-Cor4.2(b)",
        "Corollary 4.2(b), corrected",
        "For p* = 1/2 and beta <= 0.9, with a = 12 epsilon_1/epsilon_3, Algorithm 3 "
        "halts at some query R with p_R <= beta^a/(beta^a + (R+1)^a) with probability "
        "at most beta.",
        _joint_failure,
        at_most(_median_cases("early")),
        erratum="LT-E2",
    ),
    LT.utility(
        "LT-Cor4.2(c)",
        "Corollary 4.2(c), corrected",
        "For p* = 1/2 and beta <= 0.9, with a = 12 epsilon_1/epsilon_3, Algorithm 3 "
        "halts at some query R after an i < R with p_i >= (R+1)^a/(beta^a + (R+1)^a) "
        "with probability at most beta.",
        _joint_failure,
        at_most(_median_cases("late")),
        erratum="LT-E2",
    ),
    LT.utility(
        "LT-Cor4.2(d)",
        "Corollary 4.2(d), corrected",
        "For p* = 1/2, with a = 12 epsilon_1/epsilon_3, if p_i >= 1 - beta^a/(1 + "
        "beta^a), Algorithm 3 answers queries 1 to i all with 'below' with "
        "probability at most beta.",
        beta_itself,
        at_most(_median_cases("far")),
        erratum="LT-E1",
    ),
)
