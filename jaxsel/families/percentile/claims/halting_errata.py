"""Liu & Talwar 2019, Section 4: the query at which a sparse vector halts.

LT-E2 and LT-E3, each as printed and as corrected.
"""

from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.base import Budget, Claim, Erratum
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_interval
from jaxsel.families.percentile.claims.errata_cases import (
    SCALES,
    allowed_failure,
    level,
)
from jaxsel.families.percentile.settings import algorithm_4, always_level
from jaxsel.families.sparse_vector.halting_law import halting_law

_PAPER = "Liu & Talwar 2019"


# --- Where it halts (LT-E2, LT-E3) ----------------------------------------------------


def _early(*, beta: float = 0.1) -> float:
    """Chance to halt at a query far below the threshold; at most beta.

    (2/3) beta^(3/2) (zeta(3/2) - 1) - beta^3 (zeta(3) - 1)/6, for streams of any
    length.

    Args:
      beta: in (0, 0.9].
    """
    beta = check_interval("beta", beta, 0.0, 0.9, high_open=False)
    first, second = special.zeta(1.5) - 1.0, special.zeta(3.0) - 1.0
    return float(2.0 / 3.0 * beta**1.5 * first - beta**3 * second / 6.0)


def _late(*, beta: float = 0.1) -> float:
    """Chance to halt only after a query far above the threshold; at most beta.

    (2/3) beta^(3/2) (zeta(3/2) - 1 - 2^(-3/2)) - beta^3 (zeta(3) - 9/8)/6.

    Args:
      beta: in (0, 0.9].
    """
    early = _early(beta=beta)
    return early - (2.0 / 3.0 * (beta / 2.0) ** 1.5 - (beta / 2.0) ** 3 / 6.0)


def _bad_early(levels: list[float], beta: float) -> np.ndarray:
    """For each R: is the R-th query at most (beta/(R+1))^(...) Phi(p*)?"""
    halts = np.arange(1, len(levels) + 1)
    return np.array(levels) <= 3.0 * np.log(beta / (halts + 1.0)) + 1e-12


def _bad_late(levels: list[float], beta: float) -> np.ndarray:
    """For each R: is a query before it at least ((R+1)/beta)^(...) Phi(p*)?"""
    halts = np.arange(1, len(levels) + 1)
    highest = np.concatenate([[-np.inf], np.maximum.accumulate(levels)[:-1]])
    return highest >= 3.0 * np.log((halts + 1.0) / beta) - 1e-12


def _conditional(bad, levels: list[float], beta: float) -> Iterator[Case]:
    law = halting_law(levels, *SCALES)[:-1]
    for halt in np.flatnonzero(law > 0.0):
        joint = float(law[halt]) if bad(levels, beta)[halt] else 0.0
        where = (
            f"levels {levels} (log Phi/Phi(p*) in threshold noise scales), "
            f"R={halt + 1} has probability {law[halt]:.3g}"
        )
        yield beta, joint / float(law[halt]), where


def _early_given_halt(budget: Budget) -> Iterator[Case]:
    for beta in (0.1, 0.5):
        yield from _conditional(_bad_early, [level(beta / 2.0)], beta)


def _late_given_halt(budget: Budget) -> Iterator[Case]:
    for beta in (0.1, 0.5):
        levels = [level(3.0 / beta), level(3.0 / beta)]
        yield from _conditional(_bad_late, levels, beta)


def _joint(bad, bound, streams) -> Iterator[Case]:
    for beta, levels in streams:
        law = halting_law(levels, *SCALES)[:-1]
        seen = float(np.sum(law[bad(levels, beta)]))
        where = f"{len(levels)} queries, levels {levels[:6]}..., beta={beta!r}"
        yield bound(beta=beta), seen, where


def _random_streams(budget: Budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 60)):
        beta = float(generator.uniform(0.01, 0.9))
        size = int(generator.integers(2, 9))
        spread = level(size / beta)
        yield beta, generator.uniform(-spread, spread, size).tolist()


def _early_jointly(budget: Budget) -> Iterator[Case]:
    streams = [(0.1, [level(0.05)])]
    for beta in (0.1, 0.5, 0.9):
        for size in (1, 10, 100):
            streams.append((beta, [level(beta / (i + 2.0)) for i in range(size)]))
    yield from _joint(_bad_early, _early, [*streams, *_random_streams(budget)])


def _late_jointly(budget: Budget) -> Iterator[Case]:
    streams = [(0.1, [level(30.0)] * 2)]
    for beta in (0.1, 0.5, 0.9):
        for size in (2, 10, 100):
            streams.append((beta, [level((i + 3.0) / beta) for i in range(size)]))
    yield from _joint(_bad_late, _late, [*streams, *_random_streams(budget)])


def _noisy_halt(*, beta: float = 0.1, delta: float = 1e-3) -> float:
    """Failure probability that Theorem 4.4(c) allows: beta + delta/2.

    Args:
      beta, delta: in (0, 1).
    """
    return probability("beta", beta) + probability("delta", delta) / 2.0


def _halting_query(budget: Budget) -> Iterator[Case]:
    for beta in (0.1, 0.01):
        test = algorithm_4(beta=beta)
        law = halting_law([always_level(test)], test.query_scale, test.threshold_scale)
        where = f"the first query has p=1; T=10, beta={beta}"
        yield _noisy_halt(beta=beta), float(law[0]), where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm4.1(b)-printed",
        source=f"{_PAPER}, Theorem 4.1(b)",
        statement="Given that Algorithm 3 halts at query R, Phi(p_R) <= "
        "(beta/(R+1))^(12 epsilon_1/epsilon_3) Phi(p*) with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=allowed_failure,
        check=at_most(_early_given_halt),
        holds=False,
        erratum="LT-E2",
        correction="For a fixed stream that probability is 0 or 1; halting there at "
        "all is what is unlikely: LT-Thm4.1(b).",
    ),
    Claim(
        id="LT-Thm4.1(b)",
        source=f"{_PAPER}, Theorem 4.1(b), corrected",
        statement="For beta <= 0.9, Algorithm 3 halts at some query R with Phi(p_R) <= "
        "(beta/(R+1))^(12 epsilon_1/epsilon_3) Phi(p*) with probability at most (2/3) "
        "beta^(3/2) (zeta(3/2) - 1) - beta^3 (zeta(3) - 1)/6 <= beta.",
        kind="utility",
        relation=None,
        evaluate=_early,
        check=at_most(_early_jointly),
        erratum="LT-E2",
    ),
    Claim(
        id="LT-Thm4.1(c)-printed",
        source=f"{_PAPER}, Theorem 4.1(c)",
        statement="Given that Algorithm 3 halts at query R, some i < R has Phi(p_i) >= "
        "((R+1)/beta)^(12 epsilon_1/epsilon_3) Phi(p*) with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=allowed_failure,
        check=at_most(_late_given_halt),
        holds=False,
        erratum="LT-E2",
        correction="For a fixed stream that probability is 0 or 1; halting so late is "
        "what is unlikely: LT-Thm4.1(c).",
    ),
    Claim(
        id="LT-Thm4.1(c)",
        source=f"{_PAPER}, Theorem 4.1(c), corrected",
        statement="For beta <= 0.9, Algorithm 3 halts at some query R after an i < R "
        "with Phi(p_i) >= ((R+1)/beta)^(12 epsilon_1/epsilon_3) Phi(p*) with "
        "probability at most (2/3) beta^(3/2) (zeta(3/2) - 1 - 2^(-3/2)) - beta^3 "
        "(zeta(3) - 9/8)/6 <= beta.",
        kind="utility",
        relation=None,
        evaluate=_late,
        check=at_most(_late_jointly),
        erratum="LT-E2",
    ),
    Claim(
        id="LT-Thm4.4(c)-halting-query-printed",
        source=f"{_PAPER}, Theorem 4.4(c), second bound",
        statement="If Algorithm 4 halts at query R, p_R is near 1 (by the printed "
        "bound) with probability at most beta + delta/2.",
        kind="utility",
        relation=None,
        evaluate=_noisy_halt,
        check=at_most(_halting_query),
        holds=False,
        erratum="LT-E3",
        correction="The bound is meant for the queries before R, jointly with halting, "
        "and with another constant: LT-Thm4.4(c).",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E2",
        source=f"{_PAPER}, Theorems 4.1(b)(c) and 4.4(b)(c), Corollary 4.2(b)(c)",
        kind="statement",
        printed="Conditional on halting at query R, p_R is far below, or a p_i with i "
        "< R far above, the threshold with probability at most beta.",
        correct="For a fixed stream of queries that conditional probability is 0 or 1. "
        "What is at most beta is the joint probability of halting at such an R, "
        "summed over all R (shown for beta <= 0.9).",
        refuted=("LT-Thm4.1(b)-printed", "LT-Thm4.1(c)-printed"),
        corrected=(
            "LT-Thm4.1(b)",
            "LT-Thm4.1(c)",
            "LT-Thm4.4(b)",
            "LT-Thm4.4(c)",
            "LT-Cor4.2(b)",
            "LT-Cor4.2(c)",
            "LT-Thm1.5(b)",
        ),
    ),
    Erratum(
        id="LT-E3",
        source=f"{_PAPER}, Theorem 4.4(c), second bound",
        kind="statement",
        printed="P[p(tau_R, Q_R) >= ...] <= beta + delta/2 for the query R at which "
        "the algorithm halts.",
        correct="It must read 'some i < R'. A query with p = 1 is halted at almost "
        "surely.",
        refuted=("LT-Thm4.4(c)-halting-query-printed",),
        corrected=("LT-Thm4.4(c)",),
    ),
)
