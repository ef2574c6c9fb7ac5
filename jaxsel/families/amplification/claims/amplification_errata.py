"""Liu & Talwar 2019, Appendix C: private amplification.

LT-E15 and LT-E16, each as printed and as corrected, and the misprints LT-E20 and LT-E22
of Section 4 and Appendix B.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.amplification.laws import two_value_amplified_law as _amplified_law

_PAPER = "Liu & Talwar 2019"


# --- Lemma C.2 (LT-E15) ---------------------------------------------------------------


def _inverse_printed(*, total: float = 2.0) -> float:
    """Printed last line of the proof: (1 - e^s)/s, which is negative.

    Args:
      total: s, the sum of the means E X_i, > 0.
    """
    total = check_positive("total", total)
    return -math.expm1(total) / total


def _inverse(*, total: float = 2.0) -> float:
    """Bound (1 - e^-s)/s on E[1/(1 + sum of X_i)].

    Args:
      total: s, the sum of the means E X_i, > 0.
    """
    total = check_positive("total", total)
    return -math.expm1(-total) / total


def _inverse_moments(bound, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        instances = [(np.full(4, 0.5), np.ones(4))]
        for _ in range(min(budget.cases, cases)):
            size = int(generator.integers(1, 9))
            instances.append(
                (generator.uniform(size=size), generator.uniform(size=size))
            )
        for chances, values in instances:
            happens = np.array(
                list(itertools.product((False, True), repeat=chances.size))
            )
            weights = np.prod(np.where(happens, chances, 1.0 - chances), axis=1)
            exact = float(np.sum(weights / (1.0 + happens @ values)))
            where = f"X_i = {values.tolist()} with chance {chances.tolist()}, else 0"
            yield bound(total=float(chances @ values)), exact, where

    return listed


# --- Theorem C.1 (LT-E16) -------------------------------------------------------------


def _dummy(
    *, gamma: float = 0.1, candidates: int = 10, mean_weight: float = 0.3
) -> float:
    """Chance (gamma + 1)/(N p gamma + 1) that Theorem C.1 gives for a dummy output.

    Args:
      gamma: in (0, 1/4).
      candidates: N, at least 1.
      mean_weight: p, the mean of exp(epsilon_2 (score - tau)), in (0, 1].
    """
    gamma = check_interval("gamma", gamma, 0.0, 0.25)
    candidates = check_integer("candidates", candidates, 1)
    weight = check_interval("mean_weight", mean_weight, 0.0, 1.0, high_open=False)
    return (gamma + 1.0) / (candidates * weight * gamma + 1.0)


def _amplified_settings(budget: Budget, cases: int):
    generator = np.random.default_rng(budget.seed)
    yield 0.1, 10, 0.3, 0.0
    for _ in range(min(budget.cases, cases)):
        gamma, chance, weight = generator.uniform(0.001, [0.249, 0.999, 0.999]).tolist()
        yield gamma, int(generator.integers(1, 200)), chance, weight


def _dummies(cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for gamma, count, chance, weight in _amplified_settings(budget, cases):
            exact = float(_amplified_law(gamma, count, chance, weight)[0])
            mean = chance + (1.0 - chance) * weight
            claimed = _dummy(gamma=gamma, candidates=count, mean_weight=mean)
            where = (
                f"{gamma=}, N={count}, weight 1 with chance {chance!r}, else {weight!r}"
            )
            yield claimed, exact, where

    return listed


def _amplified_privacy(*, base_epsilon: float = 0.5, gamma: float = 0.1) -> float:
    """Privacy parameter 2 epsilon_1 + 4 gamma of Theorem C.1's mechanism.

    Args:
      base_epsilon: epsilon_1 of each score, > 0.
      gamma: in (0, 1/4).
    """
    base_epsilon = check_positive("base_epsilon", base_epsilon)
    return 2.0 * base_epsilon + 4.0 * check_interval("gamma", gamma, 0.0, 0.25)


def _amplified_losses(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for gamma, count, chance, weight in _amplified_settings(budget, 200):
        base = float(generator.uniform(0.01, 2.0))
        first = _amplified_law(gamma, count, chance, weight)
        for other in pairs.extreme_neighbours(chance, base):
            second = _amplified_law(gamma, count, other, weight)
            seen = (first > 0.0) | (second > 0.0)
            loss = exact_epsilon(first[seen], second[seen])
            where = f"{gamma=}, N={count}, P[score >= tau] {chance!r} and {other!r}"
            yield _amplified_privacy(base_epsilon=base, gamma=gamma), loss, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-LemC.2-step-printed",
        source=f"{_PAPER}, proof of Lemma C.2, last line",
        statement="E[1/(1 + sum X_i)] <= (1 - e^s)/s, s = sum E X_i, for independent "
        "X_i in [0, 1].",
        kind="utility",
        relation=None,
        evaluate=_inverse_printed,
        check=at_most(_inverse_moments(_inverse_printed, 0)),
        holds=False,
        erratum="LT-E15",
        correction="A sign: LT-LemC.2-step.",
    ),
    Claim(
        id="LT-LemC.2-step",
        source=f"{_PAPER}, proof of Lemma C.2, corrected",
        statement="E[1/(1 + sum X_i)] <= (1 - e^-s)/s, s = sum E X_i, for independent "
        "X_i in [0, 1].",
        kind="utility",
        relation=None,
        evaluate=_inverse,
        check=at_most(_inverse_moments(_inverse, 100)),
        erratum="LT-E15",
    ),
    Claim(
        id="LT-ThmC.1-dummy-printed",
        source=f"{_PAPER}, Theorem C.1",
        statement="The mechanism outputs a dummy with probability (gamma + 1)/(N p "
        "gamma + 1).",
        kind="identity",
        relation=None,
        evaluate=_dummy,
        check=equal(_dummies(0)),
        holds=False,
        erratum="LT-E16",
        correction="With at most that probability: LT-ThmC.1-dummy.",
    ),
    Claim(
        id="LT-ThmC.1-dummy",
        source=f"{_PAPER}, Theorem C.1, corrected",
        statement="The mechanism outputs a dummy with probability at most (gamma + "
        "1)/(N p gamma + 1).",
        kind="utility",
        relation=None,
        evaluate=_dummy,
        check=at_most(_dummies(200)),
        erratum="LT-E16",
    ),
    Claim(
        id="LT-ThmC.1-privacy-sharp",
        source=f"{_PAPER}, Theorem C.1, sharpened",
        statement="If every score is epsilon_1-DP, the mechanism is (2 epsilon_1 + 4 "
        "gamma)-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_amplified_privacy,
        check=at_most(_amplified_losses),
        erratum="LT-E16",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E15",
        source=f"{_PAPER}, proof of Lemma C.2",
        kind="misprint",
        printed="... = (1 - exp(sum E X_i))/(sum E X_i); E[t_i^X].",
        correct="(1 - exp(-sum E X_i))/(sum E X_i), the printed one being negative; "
        "E[t^(X_i)].",
        refuted=("LT-LemC.2-step-printed",),
        corrected=("LT-LemC.2-step",),
    ),
    Erratum(
        id="LT-E16",
        source=f"{_PAPER}, Theorem C.1",
        kind="statement",
        printed="A dummy is output with probability (gamma + 1)/(N p gamma + 1).",
        correct="That is an upper bound. 1/gamma is a number of dummies, hence whole, "
        "or a real weight; terms 1/gamma are missing in the last displays of the "
        "proof; the privacy 2 epsilon_1 + 8 gamma can be 2 epsilon_1 + 4 gamma, since "
        "3 gamma/(1 - gamma) <= 4 gamma.",
        refuted=("LT-ThmC.1-dummy-printed",),
        corrected=("LT-ThmC.1-dummy", "LT-ThmC.1-privacy-sharp"),
    ),
    Erratum(
        id="LT-E20",
        source=f"{_PAPER}, Algorithm 6",
        kind="misprint",
        printed="output (m, i); tau <- tau - 1/R until tau = 0.",
        correct="The output is (x, q). In floating point R subtractions of 1/R need "
        "not give 0: count the levels.",
    ),
    Erratum(
        id="LT-E22",
        source=f"{_PAPER}, Section 4",
        kind="misprint",
        printed="Q_i = f_i + Lap(4/epsilon_1) is epsilon_1-DP for 1-Lipschitz f_i.",
        correct="It is epsilon_1/4-DP: not wrong, but Lap(1/epsilon_1) is enough.",
    ),
)
