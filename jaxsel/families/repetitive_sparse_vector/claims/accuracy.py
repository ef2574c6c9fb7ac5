"""Cohen et al. 2022, Lemma 4: the accuracy of the repetitive sparse vector.

The printed k' is too small for the printed proof (CL-E14).
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.families.repetitive_sparse_vector import parameters
from jaxsel.families.repetitive_sparse_vector.claims.cases import (
    Failures,
    Queries,
    QueryEpsilon,
    Wanted,
    logs,
    problems,
)
from jaxsel.families.repetitive_sparse_vector.error_laws import failure_bound, failure_probability
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    allowed_mistakes,
    repetitive_settings,
)
from jaxsel.language.checking import drawn, in_units, listed
from jaxsel.language.domains import positive, whole
from jaxsel.language.papers import CL

AnyQueries = Annotated[int, whole("m, how many queries", at_least=1, at_most=1e15)]
Repetitions = Annotated[int, whole("tau, Tests in a batch", at_least=1, at_most=1e18)]
Margin = Annotated[float, positive("d: from t - d on top is right")]


_RARELY = (
    "A bottom at or above the threshold needs p of order 1/m^2, with probability about "
    "(beta/20)^2, and the proof allows for all p < 1/m, with beta/20: at most 0.004 beta is seen."
)


@CL.utility("CL-Lem4-rounded", "Lemma 4", loose=_RARELY)
def rounded(*, beta: parameters.Beta = 0.1) -> float:
    """What CL-Lem4 states holds with the printed k' = k + 7 log(1/beta)/log m, rounded up, too,
    although the printed proof does not show it.

    Returns beta, the largest probability of failure.
    """
    return beta


@CL.utility("CL-Lem4", "Lemma 4, with k' corrected", formula=rounded, loose=_RARELY)
def accurate():
    """With the settings of Section 4.2 and k' = k + 2 R + 1, R = ceil(3 log(1/beta)/log m), on any
    queries, even adaptive ones, it holds with probability 1 - beta that bottom is answered only if
    f <= t, top only if f >= t - d, and an early halt comes only after k answers top."""


@rounded.bounds(corrected=False)
@accurate.bounds(corrected=True)
def any_queries(budget, corrected):
    generator = np.random.default_rng(budget.seed)
    for case, problem in enumerate(problems(60)(budget)):
        beta, wanted, m = problem.pop("beta"), *problem.values()
        for delta in (0.0, 1e-6):
            settings = repetitive_settings(wanted, m, beta, delta=delta, corrected=corrected)
            bound = failure_bound(settings, wanted, m)
            yield {"beta": beta}, in_units(bound), f"any queries, {problem}, {delta=}"
        if case < 3:
            d = settings.margin
            levels = generator.choice([1e-9, -d / 2.0, -d - 1e-9], m)
            exact = failure_probability(levels, settings, wanted)
            text = f"{problem}, {delta=}, random levels 0+, -d/2 and -d-, seed {budget.seed}"
            yield {"beta": beta}, in_units(exact), text


@CL.utility("CL-Lem4-sharp", "Lemma 4; the bound is found here")
def bound(
    *,
    wanted: Wanted = 3,
    queries: AnyQueries = 100,
    gamma: parameters.Gamma = 1.0,
    repetitions: Repetitions = 1000,
    query_epsilon: QueryEpsilon = 0.1,
    failures: Failures = 10,
    margin: Margin = 200.0,
) -> float:
    """At any settings and on any queries, the guarantee of Lemma 4 fails with at most E min(1, 1 -
    (1 - bottom(0))^k' (1 - top(-d))^m + P[NB(m, r(-d/2)) > R]) by the exact law of one query given
    p.

    Given p, bottom(x) and top(x) are the probabilities of the answers to a query with f - t = x,
    and r(x) is that of two failed batches, one of U and one of V. NB(m, r) is the number of such
    pairs in m queries, and R = (k' - k - 1)/2.
    """
    settings = RepetitiveSettings(gamma, repetitions, query_epsilon, failures, margin)
    return failure_bound(settings, wanted, queries)


@bound.bounds()
def bound_cases(budget):
    for generator in budget.draws(60):
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
        point = {"wanted": wanted, "queries": m, **settings._asdict()}
        exact = failure_probability(levels, settings, wanted)
        yield point, logs(exact), f"levels {levels.tolist()}"


# --- Steps of its proof (CL-E14) ------------------------------------------------------


@CL.utility("CL-Lem4-step-answers-printed", "proof of Lemma 4")
def answers_printed(
    *, wanted: Wanted = 3, queries: Queries = 100, beta: parameters.Beta = 0.8
) -> float:
    """With k' = k + 7 log(1/beta)/log m (rounded up) and at most R = ceil(3 log(1/beta)/log m)
    mistakes, an early halt follows at least k answers 'top'."""
    return float(wanted)


@CL.utility("CL-Lem4-step-answers", "proof of Lemma 4, corrected", formula=answers_printed)
def answers():
    """With k' = k + 2 R + 1 and at most R = ceil(3 log(1/beta)/log m) mistakes, an early halt
    follows at least k answers 'top'."""


def _fewest_answers(failures: int, mistakes: int, *, unanswered: int) -> int:
    """The least number of answers "top" in a run that halts after its last allowed failed batch.

    A query with f failed batches has at least floor(f/2) mistakes, and is answered "top" if f is
    odd.

    Args:
      failures: k', how many batches failed.
      mistakes: R, the largest number of mistakes.
      unanswered: 1 if the query at which the algorithm halts stays unanswered, else 0.
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
        int(least[failures - last, mistakes - last // 2]) + (1 - unanswered) * (last % 2)
        for last in range(1, failures + 1)
        if last // 2 <= mistakes
    ]
    return min(ends)


def _wanted(generator):
    beta = float(10.0 ** generator.uniform(-6.0, -0.01))
    queries = int(10.0 ** generator.uniform(2.0, 5.0))  # k' stays below
    return int(generator.integers(1, 15)), queries, beta


_NAMES = "wanted queries beta"
_KNOWN = listed(_NAMES, (3, 100, 0.8), (3, 100, 0.1), (20, 100, 0.01))


@answers_printed.bounds_below(listed(_NAMES, (3, 100, 0.8), (20, 100, 0.95)), corrected=False)
@answers.bounds_below(_KNOWN, drawn("wanted queries beta", _wanted, 20), corrected=True)
def early_halts(wanted, queries, beta, corrected):
    mistakes = allowed_mistakes(queries, beta)
    failures = repetitive_settings(wanted, queries, beta, corrected=corrected).failures
    # As the paper counts, the last query is answered too.
    seen = _fewest_answers(failures, mistakes, unanswered=int(corrected))
    return float(seen), f"k'={failures}, R={mistakes}"


@CL.utility("CL-Lem4-step-prior", "proof of Lemma 4")
def small_p(*, beta: parameters.Beta = 0.1) -> float:
    """With the settings of Section 4.2, p < 1/m with probability beta/20."""
    return beta / 20.0


@small_p.equals(problems(50))
def small_p_chance(wanted, queries, beta):
    return queries ** -repetitive_settings(wanted, queries, beta).gamma


@CL.utility(
    "CL-Lem4-step-fatal",
    "proof of Lemma 4",
    loose="They do with (1 - 1/(2 m))^(5 m^2), below e^(-5 m/2), and the proof needs no more than "
    "2^(-2 m) = e^(-1.39 m), which is 1e5 times as much at m = 10 and grows.",
)
def fatal(*, queries: Queries = 10) -> float:
    """5 m^2 Tests that say top with probability 1/(2 m) all say bottom with probability at most
    2^(-2 m)."""
    return math.exp2(-2.0 * queries)


@fatal.bounds()
def fatal_cases(budget):
    for m in range(10, 11 + min(budget.cases, 500)):  # where 2^(-2 m) does not underflow
        tests = repetitive_settings(1, m, 0.9).repetitions
        exact = tests * math.log1p(-1.0 / (2.0 * m))

        def share(chance, exact=exact):
            return 1.0, math.exp(exact - math.log(chance))

        yield {"queries": m}, share, f"{tests} Tests"


@CL.utility(
    "CL-Lem4-step-mistakes",
    "proof of Lemma 4",
    loose="The worst case, p = 1 and the level -d/2, has at most 2.5/m^3: the proof drops the 1/2 "
    "of the tail of Laplace noise.",
)
def mistake(*, queries: Queries = 10) -> float:
    """With the settings of Section 4.2, a batch of U fails with probability at most 5/m^3 at a
    level of -d/2 or less."""
    return 5.0 / float(queries) ** 3


@mistake.bounds(problems(50))
def failing_batch(wanted, queries, beta):
    settings = repetitive_settings(wanted, queries, beta)
    half = settings.query_epsilon * settings.margin / 2.0
    chance = -math.expm1(settings.repetitions * math.log1p(-0.5 * math.exp(-half)))
    return in_units(chance), "p=1, level -d/2"


CL_E14 = CL.misprint(
    "CL-E14",
    "Lemma 4 and its proof",
    "proof",
    printed="k' = k + 7 log(1/beta)/log m; #mistakes = sum floor((c_i - 1)/2); k' - "
    "2 R >= k; 'given f_i >= t - d/2'; (k + m) batches.",
    correct="R is rounded up, so k' - 2 R can be k - 1, and halting in the middle of "
    "a query loses one more answer: take k' = ceil(k) + 2 R + 1. #mistakes >= sum "
    "floor((c_i - 1)/2); 'given f_i <= t - d/2'; m + k' batches. The lemma itself "
    "held with the printed k' rounded up in every case tried (CL-Lem4-rounded).",
    refuted=[answers_printed],
    corrected=[answers, rounded, accurate, mistake, "CL-Rem2"],
)
