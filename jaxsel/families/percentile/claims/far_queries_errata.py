"""Liu & Talwar 2019, Sections 1 and 4: queries far above the threshold.

LT-E1 and LT-E21, each as printed and as corrected.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Erratum
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer
from jaxsel.families.percentile.claims.errata_cases import (
    SCALES,
    allowed_failure,
    level,
    random_plans,
)
from jaxsel.families.percentile.settings import (
    algorithm_4,
    algorithm_4_levels,
    always_level,
    log_potential,
    passing_chance,
    share_at,
)
from jaxsel.families.sparse_vector.halting_law import halting_law

_PAPER = "Liu & Talwar 2019"


def _far(*, beta: float = 0.1) -> float:
    """Chance (4 beta^(3/2) - beta^3)/6 that a query at the level fails; below beta.

    Args:
      beta: in (0, 1); the level is (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*).
    """
    beta = probability("beta", beta)
    return (4.0 * beta**1.5 - beta**3) / 6.0


def _far_passing(budget: Budget) -> Iterator[Case]:
    for beta in (0.1, 0.01, 0.5):
        law = halting_law([level(1.0 / beta)], *SCALES)
        yield beta, float(law[0]), f"one query at the level, beta={beta}"


def _far_failing_late(budget: Budget) -> Iterator[Case]:
    for earlier in (5, 20, 200):
        law = halting_law([level(10.0)] * (earlier + 1), *SCALES)
        given = float(law[-1] / (law[-2] + law[-1]))
        yield 0.1, given, f"{earlier} earlier queries at the level, beta=0.1"


def _far_failing_jointly(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    streams = [(0.1, [level(10.0)] * earlier) for earlier in (0, 5, 20, 200)]
    for _ in range(min(budget.cases, 100)):
        beta = float(generator.uniform(0.001, 0.999))
        earlier = generator.normal(-5.0, 10.0, generator.integers(0, 9)).tolist()
        streams.append((beta, earlier))
    for beta, earlier in streams:
        law = halting_law([*earlier, level(1.0 / beta)], *SCALES)
        where = f"{len(earlier)} earlier levels {earlier[:8]}, beta={beta!r}"
        yield _far(beta=beta), float(law[-1]), where


def _noisy_plan(beta: float, delta: float, queries: int) -> tuple[float, float, int]:
    return (
        probability("beta", beta),
        probability("delta", delta),
        check_integer("queries", queries, 2),
    )


def _noisy_far_printed(
    *, beta: float = 0.1, delta: float = 1e-3, queries: int = 10
) -> float:
    """Printed failure probability of Theorem 4.4(d): beta + delta/(4 T).

    Args:
      beta, delta: in (0, 1).
      queries: T, at least 2.
    """
    beta, delta, queries = _noisy_plan(beta, delta, queries)
    return beta + delta / (4.0 * queries)


def _noisy_far(*, beta: float = 0.1, delta: float = 1e-3, queries: int = 10) -> float:
    """Chance (4 beta^(3/2) - beta^3)/6 + delta/(2 T) that all up to a far query fail.

    Args:
      beta, delta: in (0, 1).
      queries: T, at least 2.
    """
    beta, delta, queries = _noisy_plan(beta, delta, queries)
    return _far(beta=beta) + delta / (2.0 * queries)


def _noisy_far_passing(budget: Budget) -> Iterator[Case]:
    for queries in (10, 2):
        test = algorithm_4(queries=queries)
        law = halting_law([always_level(test)], test.query_scale, test.threshold_scale)
        where = f"one query with p=1, T={queries}, other settings at their defaults"
        yield _noisy_far_printed(queries=queries), float(law[0]), where


def _noisy_far_failing(budget: Budget) -> Iterator[Case]:
    plain = {"target": 0.5, "beta": 0.1, "slack": 0.5, "delta": 1e-3, "queries": 10}
    for setting in [plain, *random_plans(budget, 25, "queries", 20)]:
        test = algorithm_4(**setting, corrected=True)
        height = setting["slack"] - test.exponent * math.log(setting["beta"])
        share = share_at(height + log_potential(test.target, test), test)
        # No earlier query makes this test likelier to be reached and to fail.
        failing = 1.0 - passing_chance(*algorithm_4_levels(share, test), test)
        names = {name: setting[name] for name in ("beta", "delta", "queries")}
        yield _noisy_far(**names), failing, f"one query at the level, {setting}"


def _first_only(budget: Budget) -> Iterator[Case]:
    test = algorithm_4()
    for queries in (2, 5):
        levels = [always_level(test)] * queries
        law = halting_law(levels, test.query_scale, test.threshold_scale)
        for i in range(queries):
            where = f"query {i + 1} of {queries} with p=1, beta=0.1"
            yield 0.1, 1.0 - float(law[i]), where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm4.1(d)-printed",
        source=f"{_PAPER}, Theorem 4.1(d)",
        statement="If Phi(p_i) >= (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*), Algorithm "
        "3 answers query i with 'above', given 'below' before, with probability at "
        "most beta.",
        kind="utility",
        relation=None,
        evaluate=allowed_failure,
        check=at_most(_far_passing),
        holds=False,
        erratum="LT-E1",
        correction="It is 'below' that is unlikely, jointly for all queries up to i: "
        "LT-Thm4.1(d).",
    ),
    Claim(
        id="LT-Thm4.1(d)-conditional-printed",
        source=f"{_PAPER}, Theorem 4.1(d)",
        statement="With 'above' read as 'below': given 'below' on all queries before, "
        "a query with Phi(p_i) >= (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*) is "
        "answered 'below' with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=allowed_failure,
        check=at_most(_far_failing_late),
        holds=False,
        erratum="LT-E1",
        correction="Earlier answers 'below' make a high threshold likely; only the "
        "joint probability is small: LT-Thm4.1(d).",
    ),
    Claim(
        id="LT-Thm4.1(d)",
        source=f"{_PAPER}, Theorem 4.1(d), corrected",
        statement="If Phi(p_i) >= (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*), Algorithm "
        "3 answers queries 1 to i all with 'below' with probability at most (4 "
        "beta^(3/2) - beta^3)/6 <= beta.",
        kind="utility",
        relation=None,
        evaluate=_far,
        check=at_most(_far_failing_jointly),
        erratum="LT-E1",
    ),
    Claim(
        id="LT-Thm4.4(d)-printed",
        source=f"{_PAPER}, Theorem 4.4(d)",
        statement="If Phi(p_i) >= e^(epsilon_0) (1/beta)^(6 S/epsilon_3) Phi(p*), "
        "Algorithm 4 answers query i with 'above', given 'below' before, with "
        "probability at most beta + delta/(4 T).",
        kind="utility",
        relation=None,
        evaluate=_noisy_far_printed,
        check=at_most(_noisy_far_passing),
        holds=False,
        erratum="LT-E1",
        correction="It is 'below' that is unlikely, jointly: LT-Thm4.4(d).",
    ),
    Claim(
        id="LT-Thm4.4(d)",
        source=f"{_PAPER}, Theorem 4.4(d), corrected",
        statement="With Delta as in LT-E6, if Phi(p_i) >= e^(epsilon_0) (1/beta)^(6 "
        "S/epsilon_3) Phi(p*), Algorithm 4 answers queries 1 to i all with 'below' "
        "with probability at most (4 beta^(3/2) - beta^3)/6 + delta/(2 T).",
        kind="utility",
        relation=None,
        evaluate=_noisy_far,
        check=at_most(_noisy_far_failing),
        erratum="LT-E1",
    ),
    Claim(
        id="LT-Thm1.5(a)-printed",
        source=f"{_PAPER}, Theorem 1.5(a)",
        statement="If query i has P[score >= tau_i] >= p*, the sparse vector outputs i "
        "with probability at least 1 - beta (here: fails to with at most beta).",
        kind="utility",
        relation=None,
        evaluate=allowed_failure,
        check=at_most(_first_only),
        holds=False,
        erratum="LT-E21",
        correction="It halts at i or before, and for queries above p* by the factor of "
        "LT-Thm4.4(d).",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E1",
        source=f"{_PAPER}, Theorem 4.1(d), Corollary 4.2(d), Theorem 4.4(d)",
        kind="statement",
        printed="A query far above the threshold is answered 'above', given 'below' on "
        "all before, with probability at most beta.",
        correct="The probability of 'below' is meant, and it is small only jointly: "
        "all queries up to the far one are answered 'below' with probability at most "
        "(4 beta^(3/2) - beta^3)/6. Given earlier answers 'below' the threshold noise "
        "is likely to be large, and at beta = 0.1 the query then fails with "
        "probability 0.73, 0.91 and 0.99 after 5, 20 and 200 such queries.",
        refuted=(
            "LT-Thm4.1(d)-printed",
            "LT-Thm4.1(d)-conditional-printed",
            "LT-Thm4.4(d)-printed",
        ),
        corrected=(
            "LT-Thm4.1(d)",
            "LT-Thm4.4(d)",
            "LT-Cor4.2(d)",
        ),
    ),
    Erratum(
        id="LT-E21",
        source=f"{_PAPER}, Theorem 1.5(a)",
        kind="statement",
        printed="If there is an i with P[M_i >= tau_i] >= p*, the output is i with "
        "probability 1 - beta.",
        correct="The algorithm halts at some j <= i with that probability: two such "
        "queries cannot both be the output. And Phi(p_i) must exceed Phi(p*) by the "
        "factor e^(epsilon_0) (1/beta)^(6 S/epsilon_3).",
        refuted=("LT-Thm1.5(a)-printed",),
        corrected=(
            "LT-Thm4.4(d)",
            "LT-Thm1.5(a)",
        ),
    ),
)
