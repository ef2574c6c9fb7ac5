"""Cohen et al. 2022, Lemma 4, Section 4.2 and Remark 2: the repetitive sparse vector.

What is wrong in print is CL-E14 (see also CL-Lem4-step-answers) and CL-E15
(CL-Sec4.2-step-epsilon).
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.repetitive_sparse_vector.error_laws import (
    failure_bound,
    failure_probability,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    privacy_epsilon,
    pure_epsilon,
    repetitive_settings,
)

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


def logs(claimed: float, observed: float, text: str) -> Case:
    """Small probabilities compared by their logarithms: rounding is relative there."""
    low = math.log(max(observed, 1e-320))
    return math.log(claimed), low, f"natural logarithms, {text}"


def shown(settings: RepetitiveSettings) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings._asdict().items())


def section_4_claim(
    id: str,
    source: str,
    statement: str,
    evaluate,
    check,
    kind: str = "utility",
    erratum: str | None = None,
) -> Claim:
    relation = Relation.GENERAL if kind == "privacy" else None
    return Claim(
        id, f"{_PAPER}, {source}", statement, kind, relation, evaluate, check,
        erratum=erratum,
    )  # fmt: skip


# --- Settings -------------------------------------------------------------------------


def _problems(budget: Budget, cases: int) -> Iterator[tuple[int, int, float]]:
    """k, m and beta for which Section 4.2 has settings, either form of k'."""
    yield 3, 100, 0.8
    yield 3, 100, 0.1
    yield 1, 10, 0.5
    yield 20, 1000, 1e-9
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, cases)):
        m = int(10.0 ** generator.uniform(1.5, 5.0))
        wanted = int(m ** generator.uniform(0.0, 0.8) / 2.0) + 1
        most = min(0.08 * m, 200.0)
        beta = math.exp(-(most ** generator.uniform(-2.0, 1.0)))
        yield wanted, m, beta


def _beta(*, beta: float = 0.1) -> float:
    """Failure probability beta of Lemma 4.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def _any_queries(corrected: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for number, (wanted, m, beta) in enumerate(_problems(budget, 60)):
            for delta in (0.0, 1e-6):
                settings = repetitive_settings(
                    wanted, m, beta, delta=delta, corrected=corrected
                )
                where = f"k={wanted}, {m=}, {beta=!r}, {delta=}"
                bound = failure_bound(settings, wanted, m)
                yield logs(_beta(beta=beta), bound, f"any queries, {where}")
            if number < 3:
                d = settings.margin
                levels = generator.choice([1e-9, -d / 2.0, -d - 1e-9], m)
                exact = failure_probability(levels, settings, wanted)
                text = f"{where}, random levels 0+, -d/2 and -d-, seed {budget.seed}"
                yield logs(_beta(beta=beta), exact, text)

    return cases


def _bound(
    *,
    wanted: int = 3,
    queries: int = 100,
    gamma: float = 1.0,
    repetitions: int = 1000,
    query_epsilon: float = 0.1,
    failures: int = 10,
    margin: float = 200.0,
) -> float:
    """Failure probability on any queries, from the exact law of one query given p.

    Args:
      wanted: k, at least 1.
      queries: m, at least 1.
      gamma: > 0.
      repetitions: tau, at least 1.
      query_epsilon: epsilon', > 0.
      failures: k', above k.
      margin: d, > 0.
    """
    settings = RepetitiveSettings(gamma, repetitions, query_epsilon, failures, margin)
    return failure_bound(settings, wanted, queries)


def _bound_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 60)):
        wanted, m = int(generator.integers(1, 4)), int(generator.integers(2, 15))
        tau = int(10.0 ** generator.uniform(0.5, 3.0))
        settings = RepetitiveSettings(
            gamma=float(generator.choice([0.5, 2.0, math.inf])),
            repetitions=tau,
            query_epsilon=1.0,
            failures=wanted + 1 + int(generator.integers(0, 5)),
            margin=float(generator.uniform(0.5, 3.0)) * math.log(tau),
        )
        d = settings.margin
        places = np.array([1e-9, -d / 2.0, -d - 1e-9, -d / 2.0 + 1.0, -d / 3.0])
        levels = generator.choice(places, m, p=generator.dirichlet(np.ones(5)))
        claimed = _bound(wanted=wanted, queries=m, **settings._asdict())
        exact = failure_probability(levels, settings, wanted)
        where = f"{shown(settings)}, k={wanted}, levels {levels.tolist()}"
        yield logs(claimed, exact, where)


# --- Steps of Lemma 4 -----------------------------------------------------------------


def _small_p(*, beta: float = 0.1) -> float:
    """Chance beta/20 that p < 1/m.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta) / 20.0


def _small_p_cases(budget: Budget) -> Iterator[Case]:
    for wanted, m, beta in _problems(budget, 50):
        gamma = repetitive_settings(wanted, m, beta).gamma
        yield _small_p(beta=beta), m**-gamma, f"k={wanted}, {m=}, {beta=!r}"


def _fatal(*, queries: int = 10) -> float:
    """Chance 2^(-2 m) that tau Tests, each top with chance 1/(2 m) or more, all pass.

    Args:
      queries: m, at least 10.
    """
    return math.exp2(-2.0 * check_integer("queries", queries, 10))


def _fatal_cases(budget: Budget) -> Iterator[Case]:
    for m in range(10, 11 + budget.cases):
        exact = 5.0 * m * m * math.log1p(-1.0 / (2.0 * m))
        # Logarithms: both underflow.
        yield -2.0 * m * math.log(2.0), exact, f"{m=}, natural logarithms"


def _mistake(*, queries: int = 10) -> float:
    """Chance 5/m^3 that a batch fails which should pass.

    Args:
      queries: m, at least 10.
    """
    return 5.0 / float(check_integer("queries", queries, 10)) ** 3


def _mistake_cases(budget: Budget) -> Iterator[Case]:
    for wanted, m, beta in _problems(budget, 50):
        settings = repetitive_settings(wanted, m, beta)
        half = settings.query_epsilon * settings.margin / 2.0
        chance = -math.expm1(settings.repetitions * math.log1p(-0.5 * math.exp(-half)))
        yield logs(_mistake(queries=m), chance, f"{m=}, p=1, level -d/2")


# --- Remark 2 and Section 4.2 ---------------------------------------------------------


def _multiple(*, epsilon: float = 1.0, multiple: float = 13.0) -> float:
    """A multiple of epsilon.

    Args:
      epsilon: > 0.
      multiple: > 0.
    """
    return check_positive("multiple", multiple) * check_positive("epsilon", epsilon)


def _remark_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for wanted, m, beta in _problems(budget, 200):
        epsilon = float(10.0 ** generator.uniform(-2.0, 1.0))
        settings = repetitive_settings(wanted, m, beta, epsilon)
        where = f"k={wanted}, {m=}, {beta=!r}, {epsilon=!r}"
        yield _multiple(epsilon=epsilon), pure_epsilon(settings), where


def _budget(*, epsilon: float = 1.0, multiple: float = 15.0) -> float:
    """A multiple of epsilon, at delta.

    Args:
      epsilon: in (0, 1].
      multiple: > 0.
    """
    return _multiple(epsilon=epsilon, multiple=multiple)


def _budget_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for wanted, m, beta in _problems(budget, 200):
        epsilon = float(10.0 ** generator.uniform(-2.0, 0.0))
        delta = float(10.0 ** -(10.0 ** generator.uniform(-0.5, 2.4)))
        settings = repetitive_settings(wanted, m, beta, epsilon, delta)
        spent = privacy_epsilon(settings, delta)
        where = f"k={wanted}, {m=}, {beta=!r}, {epsilon=!r}, {delta=!r}"
        yield _budget(epsilon=epsilon), spent, where


def _margin(
    *,
    wanted: int = 3,
    queries: int = 100,
    beta: float = 0.1,
    epsilon: float = 1.0,
    delta: float = 0.0,
) -> float:
    """Margin d = (10/epsilon)(root log m + log(1/beta) + log 20).

    Args:
      wanted: k, at least 1.
      queries: m, at least 10.
      beta: in (0, 1).
      epsilon: > 0.
      delta: in [0, 1); the root is k for 0, else sqrt(k log(1/delta)).
    """
    root = float(check_integer("wanted", wanted, 1))
    if check_interval("delta", delta, 0.0, 1.0, low_open=False) > 0.0:
        root = math.sqrt(-root * math.log(delta))
    size = root * math.log(check_integer("queries", queries, 10))
    size += math.log(20.0) - math.log(probability("beta", beta))
    return 10.0 * size / check_positive("epsilon", epsilon)


def _margins(deltas: tuple[float, ...]):
    def cases(budget: Budget) -> Iterator[Case]:
        for wanted, m, beta in _problems(budget, 60):
            for delta in deltas:
                found = repetitive_settings(wanted, m, beta, 0.5, delta).margin
                claimed = _margin(
                    wanted=wanted, queries=m, beta=beta, epsilon=0.5, delta=delta
                )
                yield claimed, found, f"k={wanted}, {m=}, {beta=!r}, {delta=!r}"

    return cases


CLAIMS: tuple[Claim, ...] = (
    section_4_claim(
        "CL-Lem4",
        "Lemma 4, with k' corrected",
        "With the settings of Section 4.2 and k' = k + 2 R + 1, with probability 1 - "
        "beta on any, even adaptive queries: bottom only if f <= t, top only if f >= t "
        "- d, and an early halt only after k answers top.",
        _beta,
        at_most(_any_queries(True)),
        erratum="CL-E14",
    ),
    section_4_claim(
        "CL-Lem4-rounded",
        "Lemma 4",
        "The same holds with the printed k' = k + 7 log(1/beta)/log m, rounded up, "
        "although the printed proof does not show it.",
        _beta,
        at_most(_any_queries(False)),
        erratum="CL-E14",
    ),
    section_4_claim(
        "CL-Lem4-sharp",
        "Lemma 4; the bound is found here",
        "At any settings and on any queries, the guarantee of Lemma 4 fails with at "
        "most E min(1, 1 - (1 - bottom(0))^k' (1 - top(-d))^m + P[NB(m, r(-d/2)) > R]) "
        "by the exact law of one query given p.",
        _bound,
        at_most(_bound_cases),
    ),
    section_4_claim(
        "CL-Lem4-step-prior",
        "proof of Lemma 4",
        "p < 1/m with probability beta/20.",
        _small_p,
        equal(_small_p_cases),
    ),
    section_4_claim(
        "CL-Lem4-step-fatal",
        "proof of Lemma 4",
        "5 m^2 Tests that say top with probability 1/(2 m) all say bottom with "
        "probability at most 2^(-2 m).",
        _fatal,
        at_most(_fatal_cases),
    ),
    section_4_claim(
        "CL-Lem4-step-mistakes",
        "proof of Lemma 4",
        "At a level of -d/2 or less, a batch of U fails with probability at most "
        "5/m^3.",
        _mistake,
        at_most(_mistake_cases),
        erratum="CL-E14",
    ),
    section_4_claim(
        "CL-Rem2",
        "Remark 2, with k' corrected",
        "With the settings of Remark 2, (2 k' + gamma) epsilon' <= 13 epsilon.",
        _multiple,
        at_most(_remark_cases),
        "privacy",
        "CL-E14",
    ),
    section_4_claim(
        "CL-Rem2-error",
        "Remark 2",
        "The settings of Remark 2 have d = (10/epsilon)(k log m + log(1/beta) + log "
        "20).",
        _margin,
        equal(_margins((0.0,))),
    ),
    section_4_claim(
        "CL-Sec4.2-settings",
        "Section 4.2, with k' corrected",
        "For epsilon <= 1, the settings of Section 4.2 are (15 epsilon, delta)-DP, by "
        "the smaller of the pure and the approximate bound.",
        _budget,
        at_most(_budget_cases),
        "privacy",
        "CL-E15",
    ),
    section_4_claim(
        "CL-Sec4.2-error",
        "Section 4.2",
        "The settings of Section 4.2 have d = (10/epsilon)(sqrt(k log(1/delta)) log m "
        "+ log(1/beta) + log 20).",
        _margin,
        equal(_margins((1e-9, 1e-3))),
    ),
)
