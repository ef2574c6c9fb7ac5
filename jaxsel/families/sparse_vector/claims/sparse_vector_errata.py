"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Sections 1 and 4: sparse vectors.

CL-E14, CL-E15 and CL-E18, each as printed and as corrected, and the misprints CL-E16.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_positive
from jaxsel.families.sparse_vector.halting_law import halting_law

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


# --- Lemma 4 (CL-E14) -----------------------------------------------------------------


def _answers(*, wanted: int = 3, queries: int = 100, beta: float = 0.8) -> float:
    """Answers "top", at least k, before an early halt.

    Args:
      wanted: k, at least 1.
      queries: m, at least 10.
      beta: in (0, 1).
    """
    probability("beta", beta)
    check_integer("queries", queries, 10)
    return float(check_integer("wanted", wanted, 1))


def _mistakes(queries: int, beta: float) -> int:
    return math.ceil(-3.0 * math.log(beta) / math.log(queries))


def _fewest_answers(failures: int, mistakes: int, *, unanswered: int) -> int:
    """Least number of answers "top" when ``failures`` batches failed before the halt.

    A query with f failed batches has at least floor(f/2) mistakes and is answered "top"
    if f is odd. ``unanswered`` is 1 if the query at which the algorithm halts is not.
    """
    unreachable = failures + 1
    least = np.full((failures + 1, mistakes + 1), unreachable)
    least[0] = 0
    for done in range(1, failures + 1):
        for used in range(mistakes + 1):
            for last in range(1, done + 1):
                wrong = last // 2
                if wrong > used:
                    break
                before = least[done - last, used - wrong]
                least[done, used] = min(least[done, used], before + last % 2)
    ends = [
        int(least[failures - last, mistakes - last // 2])
        + (1 - unanswered) * (last % 2)
        for last in range(1, failures + 1)
        if last // 2 <= mistakes
    ]
    return min(ends)


def _early_halts_printed(budget: Budget) -> Iterator[Case]:
    for wanted, beta in ((3, 0.8), (20, 0.95)):
        mistakes = _mistakes(100, beta)
        failures = math.ceil(wanted - 7.0 * math.log(beta) / math.log(100))
        # As the paper counts: the last query is answered too.
        seen = _fewest_answers(failures, mistakes, unanswered=0)
        where = f"k={wanted}, m=100, {beta=}, k'={failures}, R={mistakes}"
        yield _answers(wanted=wanted, beta=beta), float(seen), where


def _early_halts(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(3, 100, 0.8), (3, 100, 0.1), (20, 100, 0.01)]
    for _ in range(min(budget.cases, 20)):
        beta = float(10.0 ** generator.uniform(-6.0, -0.01))
        queries = int(10.0 ** generator.uniform(1.0, 5.0))
        settings.append((int(generator.integers(1, 15)), queries, beta))
    for wanted, queries, beta in settings:
        mistakes = _mistakes(queries, beta)
        failures = wanted + 2 * mistakes + 1
        seen = _fewest_answers(failures, mistakes, unanswered=1)
        where = f"k={wanted}, m={queries}, {beta=!r}, k'={failures}, R={mistakes}"
        claimed = _answers(wanted=wanted, queries=queries, beta=beta)
        yield claimed, float(seen), where


# --- The privacy of Algorithm 3 (CL-E15) ----------------------------------------------


def _order_epsilon(*, epsilon: float = 1.0, constant: float = 100.0) -> float:
    """C epsilon, for a constant C that "O(epsilon)" stands for.

    Args:
      epsilon: > 0.
      constant: C, > 0.
    """
    return check_positive("constant", constant) * check_positive("epsilon", epsilon)


class _Plan(NamedTuple):
    """Parameters gamma, epsilon' and k' of Section 4.2 at epsilon = 1."""

    gamma: float
    inner: float
    failures: float


def _plan(wanted: float, queries: float, low_beta: float, low_delta: float) -> _Plan:
    """From k, m, log(1/beta) and log(1/delta)."""
    log_queries = math.log(queries)
    gamma = (math.log(20.0) + low_beta) / log_queries
    inner = 1.0 / (gamma + math.sqrt(wanted * low_delta))
    return _Plan(gamma, inner, wanted + 7.0 * low_beta / log_queries)


def _root_privacy(budget: Budget) -> Iterator[Case]:
    for constant, gamma, queries in ((100.0, 1e4, 1e6), (1000.0, 1e6, 1e8)):
        low_delta = gamma**2
        plan = _plan(
            1.0, queries, gamma * math.log(queries) - math.log(20.0), low_delta
        )
        spent = plan.inner * math.sqrt(plan.failures * low_delta)
        where = f"k=1, m={queries:g}, gamma={gamma:g}, log(1/delta)={low_delta:g}"
        yield _order_epsilon(constant=constant), spent, f"{where}, C={constant:g}"


def _pure_bound(*, epsilon: float = 1.0) -> float:
    """Bound 15 epsilon on the pure privacy (2 k' + gamma) epsilon' of Algorithm 3.

    Args:
      epsilon: > 0.
    """
    return _order_epsilon(epsilon=epsilon, constant=15.0)


def _pure_privacy(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(1.0, 1e6, 1e4 * math.log(1e6) - math.log(20.0), 1e8)]
    for _ in range(min(budget.cases, 200)):
        wanted, queries = (10.0 ** generator.uniform([0.0, 1.0], [4.0, 8.0])).tolist()
        low_beta = float(generator.uniform(0.01, 1.0)) * queries * math.log(2.0)
        low_delta = wanted * float(10.0 ** generator.uniform(0.0, 4.0))
        settings.append((float(math.floor(wanted)), queries, low_beta, low_delta))
    for wanted, queries, low_beta, low_delta in settings:
        plan = _plan(wanted, queries, low_beta, low_delta)
        spent = (2.0 * plan.failures + plan.gamma) * plan.inner
        where = f"k={wanted:g}, m={queries!r}, log(1/beta)={low_beta!r}, {low_delta=!r}"
        yield _pure_bound(), spent, where


# --- Constants of the introduction (CL-E18) -------------------------------------------


def _missed(*, beta: float = 0.01) -> float:
    """Chance beta that one round of the exponential mechanism has a larger gap.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def _gaps(factor: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(100, 0.01)]
        for _ in range(min(budget.cases, cases)):
            beta = float(generator.uniform(1e-4, 0.99))
            settings.append((int(10 ** generator.uniform(0.31, 6.0)), beta))
        for count, beta in settings:
            # One candidate leads all others by factor log(m/beta)/epsilon; weights are
            # exp(epsilon score/2).
            weight = (count - 1) * (beta / count) ** (factor / 2.0)
            where = f"m={count}, beta={beta!r}, gap {factor:g} log(m/beta)/epsilon"
            yield _missed(beta=beta), weight / (1.0 + weight), where

    return listed


def _sketched(*, epsilon: float = 1.0) -> float:
    """Privacy parameter epsilon expected of the sparse vector that is sketched.

    Args:
      epsilon: 1/epsilon is the scale of both noises, > 0.
    """
    return check_positive("epsilon", epsilon)


def _tripled(*, epsilon: float = 1.0) -> float:
    """Privacy parameter 3 epsilon of that sparse vector.

    Args:
      epsilon: 1/epsilon is the scale of both noises, > 0.
    """
    return 3.0 * check_positive("epsilon", epsilon)


def _sparse_vectors(bound, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        # Zeros and a one against ones and a zero, minus the threshold.
        rows = [(1.0, np.array([0.0] * 60 + [1.0]), np.array([1.0] * 60 + [0.0]))]
        for _ in range(min(budget.cases, cases)):
            first = generator.uniform(-3.0, 3.0, int(generator.integers(1, 9)))
            other = first + generator.uniform(-1.0, 1.0, first.size)
            rows.append((float(generator.uniform(0.1, 2.0)), first, other))
        for epsilon, first, other in rows:
            scale = 1.0 / epsilon
            laws = [halting_law(row.tolist(), scale, scale) for row in (first, other)]
            loss = float(np.max(np.abs(np.log(laws[0]) - np.log(laws[1]))))
            where = f"{epsilon=!r}, {first.size} queries {first[:3]}... {other[:3]}..."
            yield bound(epsilon=epsilon), loss, where

    return listed


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Lem4-step-answers-printed",
        source=f"{_PAPER}, proof of Lemma 4",
        statement="With k' = k + 7 log(1/beta)/log m (rounded up) and at most R = "
        "ceil(3 log(1/beta)/log m) mistakes, an early halt follows at least k answers "
        "'top'.",
        kind="utility",
        relation=None,
        evaluate=_answers,
        check=at_least(_early_halts_printed),
        holds=False,
        erratum="CL-E14",
        correction="With k' = k + 2 R + 1: CL-Lem4-step-answers.",
    ),
    Claim(
        id="CL-Lem4-step-answers",
        source=f"{_PAPER}, proof of Lemma 4, corrected",
        statement="With k' = k + 2 R + 1 and at most R = ceil(3 log(1/beta)/log m) "
        "mistakes, an early halt follows at least k answers 'top'.",
        kind="utility",
        relation=None,
        evaluate=_answers,
        check=at_least(_early_halts),
        erratum="CL-E14",
    ),
    Claim(
        id="CL-Sec4.2-step-epsilon-printed",
        source=f"{_PAPER}, Section 4.2",
        statement="epsilon' sqrt(k' log(1/delta)) <= C epsilon for a constant C.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_order_epsilon,
        check=at_most(_root_privacy),
        holds=False,
        erratum="CL-E15",
        correction="Not for k << gamma << log(1/delta); the pure bound covers that: "
        "CL-Sec4.2-step-epsilon.",
    ),
    Claim(
        id="CL-Sec4.2-step-epsilon",
        source=f"{_PAPER}, Section 4.2, corrected",
        statement="For k <= log(1/delta), the pure bound (2 k' + gamma) epsilon' is at "
        "most 15 epsilon.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_pure_bound,
        check=at_most(_pure_privacy),
        erratum="CL-E15",
    ),
    Claim(
        id="CL-Sec1.4.2-gap-printed",
        source=f"{_PAPER}, Section 1.4.2",
        statement="One round of the epsilon-DP exponential mechanism over m candidates "
        "has a gap of log(m/beta)/epsilon or more with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_missed,
        check=at_most(_gaps(1.0, 0)),
        holds=False,
        erratum="CL-E18",
        correction="A factor 2 is missing: CL-Sec1.4.2-gap.",
    ),
    Claim(
        id="CL-Sec1.4.2-gap",
        source=f"{_PAPER}, Section 1.4.2, corrected",
        statement="One round of the epsilon-DP exponential mechanism over m candidates "
        "has a gap of 2 log(m/beta)/epsilon or more with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_missed,
        check=at_most(_gaps(2.0, 200)),
        erratum="CL-E18",
    ),
    Claim(
        id="CL-Sec1.5.2-svt-printed",
        source=f"{_PAPER}, Section 1.5.2",
        statement="The sparse vector with noise Lap(1/epsilon) on the threshold and on "
        "each query is epsilon-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_sketched,
        check=at_most(_sparse_vectors(_sketched, 0)),
        holds=False,
        erratum="CL-E18",
        correction="It is 3 epsilon-DP: CL-Sec1.5.2-svt.",
    ),
    Claim(
        id="CL-Sec1.5.2-svt",
        source=f"{_PAPER}, Section 1.5.2, corrected",
        statement="The sparse vector with noise Lap(1/epsilon) on the threshold and on "
        "each query is 3 epsilon-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_tripled,
        check=at_most(_sparse_vectors(_tripled, 100)),
        erratum="CL-E18",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E14",
        source=f"{_PAPER}, Lemma 4 and its proof",
        kind="proof",
        printed="k' = k + 7 log(1/beta)/log m; #mistakes = sum floor((c_i - 1)/2); k' "
        "- 2 R >= k; 'given f_i >= t - d/2'; (k + m) batches.",
        correct="R is rounded up, so k' - 2 R can be k - 1, and halting in the middle "
        "of a query loses one more answer: take k' = ceil(k) + 2 R + 1. #mistakes >= "
        "sum floor((c_i - 1)/2); 'given f_i <= t - d/2'; m + k' batches. "
        "The lemma itself held with the printed k' rounded up in every case tried "
        "(CL-Lem4-rounded).",
        refuted=("CL-Lem4-step-answers-printed",),
        corrected=(
            "CL-Lem4-step-answers",
            "CL-Lem4-rounded",
            "CL-Lem4",
            "CL-Lem4-step-mistakes",
            "CL-Rem2",
        ),
    ),
    Erratum(
        id="CL-E15",
        source=f"{_PAPER}, Section 4.2",
        kind="proof",
        printed="xi = O(epsilon' sqrt(k' log(1/delta))) <= O(epsilon).",
        correct="gamma epsilon' is dropped, and the bound is not of order epsilon when "
        "k << gamma << log(1/delta). The pure bound (2 k' + gamma) epsilon' <= 15 "
        "epsilon covers k <= log(1/delta); take the smaller of the two.",
        refuted=("CL-Sec4.2-step-epsilon-printed",),
        corrected=(
            "CL-Sec4.2-step-epsilon",
            "CL-Sec4.2-settings",
        ),
    ),
    Erratum(
        id="CL-E16",
        source=f"{_PAPER}, Theorems 9 and 11, Sections 1.5.2 and 4.3.1",
        kind="misprint",
        printed="log(m/beta) (Theorem 9) and log(m) (Theorem 11 in Section 4.3.1) "
        "under the square root; 'the sample complexity degrades to' Theorem 12 "
        "itself; at most log|X|/alpha^2 updates.",
        correct="Both logarithms stand outside the root, as in the derivation of "
        "Section 4.3.1 and in Theorem 10. The degraded complexity ends in log(1/beta) "
        "log(m)/alpha^2. The number of updates has a constant: 4, or 16 when errors "
        "of alpha/2 trigger updates.",
        refuted=(
            "CL-Sec4.3.1-updates-printed",
            "CL-Thm9-display-printed",
            "CL-Thm11-display-printed",
            "CL-Sec1.5.2-degraded-printed",
        ),
        corrected=(
            "CL-Thm9-updates",
            "CL-Thm10",
            "CL-Thm12",
            "CL-Sec1.5.2-degraded",
        ),
    ),
    Erratum(
        id="CL-E18",
        source=f"{_PAPER}, Sections 1.4.2 and 1.5.2",
        kind="statement",
        printed="The exponential mechanism has a gap above log(m/beta)/epsilon with "
        "probability at most beta; the sparse vector adds Lap(1/epsilon) to the "
        "threshold and to each query.",
        correct="With weights e^(epsilon f/2) the gap is 2 log(m/beta)/epsilon: at the "
        "printed one m = 100, beta = 0.01 miss with probability 0.4975. That sparse "
        "vector is 3 epsilon-DP, attained as the number of queries grows.",
        refuted=("CL-Sec1.4.2-gap-printed", "CL-Sec1.5.2-svt-printed"),
        corrected=("CL-Sec1.4.2-gap", "CL-Sec1.5.2-svt"),
    ),
)
