"""Liu & Talwar 2019, Theorems 4.4 and 4.6: the constant Delta.

LT-E6 as printed and as corrected, and the misprints LT-E7.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import stats

from jaxsel.base import Budget, Claim, Erratum
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.percentile.settings import printed_shift, sufficient_shift

_PAPER = "Liu & Talwar 2019"


# --- Delta (LT-E6) --------------------------------------------------------------------


def _concentration(
    *,
    slack: float = 0.05,
    base_epsilon: float = 1.0,
    queries: int = 10,
    delta: float = 1e-6,
) -> float:
    """Chance delta/(4 T) that a count plus Delta leaves its mean by e^(epsilon_0/2).

    Args:
      slack, delta: epsilon_0 and delta, in (0, 1).
      base_epsilon: epsilon_1, > 0.
      queries: T, at least 1.
    """
    probability("slack", slack)
    check_positive("base_epsilon", base_epsilon)
    queries = check_integer("queries", queries, 1)
    return probability("delta", delta) / (4.0 * queries)


def _poisson_tails(slack: float, shift: float) -> tuple[float, float]:
    """Largest upper and lower tail over means of a Poisson count."""
    means = shift * np.geomspace(1e-3, 1e3, 400)
    upper = math.exp(slack / 2.0) * (means + shift) - shift
    lower = math.exp(-slack / 2.0) * (means + shift) - shift
    above = stats.poisson.sf(np.floor(upper), means)
    below = stats.poisson.cdf(np.ceil(lower) - 1.0, means)
    return float(above.max()), float(below.max())


def _concentrations(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        settings = [(0.05, 1.0, 10, 1e-6), (0.02, 0.5, 2, 1e-4)]
        if corrected:
            generator = np.random.default_rng(budget.seed)
            for _ in range(min(budget.cases, 100)):
                slack, base = generator.uniform(0.01, 0.99, 2).tolist()
                queries = int(generator.integers(1, 50))
                delta = float(10.0 ** generator.uniform(-12.0, -0.1))
                settings.append((slack, base, queries, delta))
        for slack, base, queries, delta in settings:
            shift = printed_shift(slack, base, math.log(8.0 * queries / delta))
            if corrected:
                least = sufficient_shift(slack, math.log(4.0 * queries / delta))
                shift = max(shift, least)
            claimed = _concentration(
                slack=slack, base_epsilon=base, queries=queries, delta=delta
            )
            where = f"epsilon_0={slack!r}, epsilon_1={base!r}, T={queries}, {delta=}"
            for side, tail in zip(
                ("upper", "lower"), _poisson_tails(slack, shift), strict=True
            ):
                text = f"{side} tail of a Poisson count, Delta={shift:.6g}, {where}"
                yield claimed, tail, text

    return cases


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm4.4-step-F3-printed",
        source=f"{_PAPER}, proof of Theorem 4.4(b)-(d)",
        statement="With Delta as printed, N p~ + Delta leaves its mean by a factor "
        "e^(epsilon_0/2) with probability at most delta/(4 T).",
        kind="utility",
        relation=None,
        evaluate=_concentration,
        check=at_most(_concentrations(corrected=False)),
        holds=False,
        erratum="LT-E6",
        correction="Delta must be of order 1/epsilon_0^2 for every epsilon_1: "
        "LT-Thm4.4-step-F3.",
    ),
    Claim(
        id="LT-Thm4.4-step-F3",
        source=f"{_PAPER}, proof of Theorem 4.4(b)-(d), corrected",
        statement="With Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - 1)^2 log(4 "
        "T/delta), N p~ + Delta leaves its mean by a factor e^(epsilon_0/2) with "
        "probability at most delta/(4 T).",
        kind="utility",
        relation=None,
        evaluate=_concentration,
        check=at_most(_concentrations(corrected=True), tolerance=1e-16),
        erratum="LT-E6",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E6",
        source=f"{_PAPER}, Theorems 4.4(b)-(d) and 4.6(b)(c)",
        kind="statement",
        printed="By Lemma A.4 and the choice of Delta, the counts concentrate within "
        "e^(epsilon_0/2) with probability 1 - delta/(4 T) (4.4) or 1 - delta/(2 R) "
        "(4.6).",
        correct="Lemma A.4 needs Delta >= (e^(epsilon_0/2) + 1)/(e^(epsilon_0/2) - "
        "1)^2 log(4 T/delta) (4.6: log(2 R/delta)), of order 1/epsilon_0^2, while the "
        "printed Delta is of order 1/(epsilon_0 epsilon_1) for epsilon_0 << "
        "epsilon_1. For moderate epsilon_3 slack in the Laplace part hides it; for "
        "very large epsilon_3 the bound of Theorem 4.6(c) itself fails.",
        refuted=("LT-Thm4.4-step-F3-printed", "LT-Thm4.6(c)-shift-printed"),
        corrected=("LT-Thm4.4-step-F3", "LT-Thm4.6(c)"),
    ),
    Erratum(
        id="LT-E7",
        source=f"{_PAPER}, Theorem 4.4 and its proof",
        kind="misprint",
        printed="delta/(4 T) and e^(-epsilon_0/2) in (d); delta_0 = delta/T; 2 R "
        "delta/(4 R); e^(xi'_R) Phi_R; a density ratio of xi_R where all answers are "
        "'below'.",
        correct="(d) counts two tails: delta/(2 T) and e^(-epsilon_0). Lemma 4.3 is "
        "used with delta_0 = delta/(4 T); 2 R delta/(4 T) is meant; the coupling "
        "compares e^(xi'_R) Phi'_R; without a halt only the threshold noise nu moves, "
        "which gives e^(epsilon_3/2).",
        corrected=("LT-Thm4.4(d)",),
    ),
)
