"""Cohen et al. 2022, Theorem 5: query release with an error that is never exceeded.

With the Gaussian mechanism in place of Ghazi, Kumar & Manurangsi 2021 (Theorem 13): see
``jaxsel.families.query_release.laws``.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_integer, check_interval
from jaxsel.families.query_release.laws import (
    QueryRelease,
    bound_below,
    corrected_gaussian_cap,
    correction_chance,
    gaussian_largest_error,
    query_release,
    released_error,
    selection_factor,
    spent_delta,
)

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"
_CELLS = 1200  # of the grid in each direction, for the exact privacy of one query


def _checked(queries: int, epsilon: float, delta: float) -> tuple[int, float, float]:
    return (
        check_integer("queries", queries, 1),
        check_interval("epsilon", epsilon, 0.0, 1.0, high_open=False),
        check_interval("delta", delta, 0.0, 0.5, high_open=False),
    )


def _settings(budget: Budget, cases: int) -> Iterator[tuple[int, float, float]]:
    generator = np.random.default_rng(budget.seed)
    yield 10, 1.0, 0.05
    yield 1, 1.0, 0.5
    for _ in range(min(budget.cases, cases)):
        queries, epsilon, delta = 10.0 ** generator.uniform(
            [0.0, -2.0, -6.0], [4.0, 0.0, -0.31]
        )
        yield int(queries), float(epsilon), float(delta)


def _shown(queries: int, epsilon: float, delta: float) -> str:
    return f"k={queries}, {epsilon=!r}, {delta=!r}"


# --- Theorem 13, for the Gaussian mechanism -------------------------------------------


def _half_error(
    *, queries: int = 10, epsilon: float = 1.0, delta: float = 0.05
) -> float:
    """(2/epsilon) sqrt(k log(1.25/delta) log(2 k)), kept with probability 1/2.

    Args:
      queries: k, >= 1.
      epsilon: in (0, 1].
      delta: in (0, 1/2].
    """
    queries, epsilon, delta = _checked(queries, epsilon, delta)
    square = queries * math.log(1.25 / delta) * math.log(2.0 * queries)
    return 2.0 / epsilon * math.sqrt(square)


def _half_errors(budget: Budget) -> Iterator[Case]:
    for case in _settings(budget, 100):
        queries, epsilon, delta = case
        scale = math.sqrt(queries) * gaussian_noise_multiplier(epsilon, delta)
        claimed = _half_error(queries=queries, epsilon=epsilon, delta=delta)
        exceeded = float(gaussian_largest_error(claimed, queries, scale))
        yield 0.5, exceeded, f"P[error > {claimed:g}], {_shown(*case)}"


# --- Theorem 5 ------------------------------------------------------------------------


def _cap(*, queries: int = 10, epsilon: float = 1.0, delta: float = 0.05) -> float:
    """(39 sqrt(k log(1/delta) log(2 k)) + 117 log(1/delta))/epsilon.

    Args:
      queries: k, >= 1.
      epsilon: in (0, 1].
      delta: in (0, 1/2].
    """
    queries, epsilon, delta = _checked(queries, epsilon, delta)
    low = -math.log(delta)
    root = math.sqrt(queries * low * math.log(2.0 * queries))
    return (39.0 * root + 117.0 * low) / epsilon


def _caps(budget: Budget) -> Iterator[Case]:
    for case in _settings(budget, 60):
        settings = query_release(*case)
        claimed = _cap(queries=case[0], epsilon=case[1], delta=case[2])
        yield claimed, settings.cap, f"largest possible error, {_shown(*case)}"
    for case in _settings(budget, 0):
        above, _ = released_error(query_release(*case), [query_release(*case).cap])
        yield 0.0, float(above[0]), f"P[error > cap], {_shown(*case)}"


def _corrections(*, delta: float = 0.05) -> float:
    """Chance delta/10 that the true answers are released.

    Args:
      delta: in (0, 1/2].
    """
    return _checked(1, 1.0, delta)[2] / 10.0


def _correction_cases(budget: Budget) -> Iterator[Case]:
    for sharp in (False, True):
        for case in _settings(budget, 4):
            corrected = correction_chance(query_release(*case, sharp=sharp))
            yield _corrections(delta=case[2]), corrected, f"{_shown(*case)}, {sharp=}"


def _delta(*, delta: float = 0.05) -> float:
    """Delta of the whole algorithm, at its epsilon.

    Args:
      delta: in (0, 1/2].
    """
    return _checked(1, 1.0, delta)[2]


def single_query_delta(settings: QueryRelease, epsilon: float) -> float:
    """Exact delta at ``epsilon`` of the algorithm for one query, answer and s released.

    The two sides have densities N(y) TLap(s - |y|) and N(y - 1) TLap(s - |y - 1|) times
    the factor of the selection, which is the same; a correction tells them apart.
    """
    scale, offset = settings.noise_scale, settings.offset
    rate, cap = settings.inner_epsilon / 2.0, settings.cap
    # The cells' edges include 0 and 1, where |y| has kinks; midpoint rule.
    width = 10.0 * scale / _CELLS
    y = (np.arange(-_CELLS, _CELLS) + 0.5) * max(width, 1.0 / max(1, int(1 / width)))
    step = y[1] - y[0]
    edges = np.linspace(0.0, cap, _CELLS + 1)
    s = (edges[1:] + edges[:-1]) / 2.0
    factor = selection_factor(bound_below(settings, s), settings.runs)
    mass = rate / (2.0 * -math.expm1(-rate * offset))

    def density(center: float) -> np.ndarray:
        noise = s[None, :] - offset - np.abs(y - center)[:, None]
        inside = np.abs(noise) <= offset
        normal = np.exp(-0.5 * ((y - center) / scale) ** 2) / scale
        given = np.where(inside, mass * np.exp(-rate * np.abs(noise)), 0.0)
        return normal[:, None] / math.sqrt(2.0 * math.pi) * given

    excess = np.maximum(density(0.0) - math.exp(epsilon) * density(1.0), 0.0)
    selected = float(excess.sum(axis=0) @ factor) * step * (edges[1] - edges[0])
    return selected + correction_chance(settings)


def _single_queries(sharp: bool):
    def listed(budget: Budget) -> Iterator[Case]:
        for epsilon, delta in ((1.0, 0.05), (1.0, 0.5), (0.3, 0.2)):
            settings = query_release(1, epsilon, delta, sharp=sharp)
            exact = single_query_delta(settings, epsilon)
            yield _delta(delta=delta), exact, f"k=1, {epsilon=}, {delta=}, exact"
        for case in _settings(budget, 4):
            settings = query_release(*case, sharp=sharp)
            corrected = correction_chance(settings)
            total = spent_delta(settings, case[1], corrected, sharp=sharp)
            yield _delta(delta=case[2]), total, f"{_shown(*case)}, sum of the parts"

    return listed


# --- The plain Gaussian mechanism, corrected ------------------------------------------


def corrected_gaussian_delta(epsilon: float, delta: float) -> float:
    """Exact delta at ``epsilon`` of the corrected Gaussian mechanism for one query.

    On 0 and on 1 the answers are normal around the truth, within the cap, and the truth
    itself where they would have been further off.
    """
    scale = gaussian_noise_multiplier(epsilon, delta / 2.0)
    cap = corrected_gaussian_cap(1, epsilon, delta)
    corrected = float(gaussian_largest_error(cap, 1, scale))
    # The ratio of densities falls in y; below -cap + 1 only side 0 has any.
    cut = min(0.5 - epsilon * scale**2, cap)
    cut = max(cut, 1.0 - cap)
    low = max(-cap, 1.0 - cap)
    first = special.ndtr(cut / scale) - special.ndtr(-cap / scale)
    second = special.ndtr((cut - 1.0) / scale) - special.ndtr((low - 1.0) / scale)
    return float(corrected + first - math.exp(epsilon) * second)


def _corrected_gaussians(budget: Budget) -> Iterator[Case]:
    for _, epsilon, delta in _settings(budget, 100):
        exact = corrected_gaussian_delta(epsilon, delta)
        yield _delta(delta=delta), exact, f"k=1, {epsilon=!r}, {delta=!r}"


def _boosted_cap(
    *, queries: int = 10, epsilon: float = 1.0, delta: float = 0.05
) -> float:
    """Cap of Theorem 5's algorithm with the sharp budget and the Gaussian mechanism.

    Args:
      queries: k, >= 1.
      epsilon: in (0, 1].
      delta: in (0, 1/2].
    """
    return query_release(*_checked(queries, epsilon, delta), sharp=True).cap


def _smaller_caps(budget: Budget) -> Iterator[Case]:
    for case in _settings(budget, 100):
        plain = corrected_gaussian_cap(*case)
        boosted = _boosted_cap(queries=case[0], epsilon=case[1], delta=case[2])
        yield boosted, plain, _shown(*case)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm13-gaussian",
        source=f"{_PAPER}, Theorem 13, for the Gaussian mechanism",
        statement="The Gaussian mechanism for k queries has largest error at most (2/"
        "epsilon) sqrt(k log(1.25/delta) log(2 k)) with probability at least 1/2.",
        kind="utility",
        relation=None,
        evaluate=_half_error,
        check=at_most(_half_errors),
    ),
    Claim(
        id="CL-Thm5-error",
        source=f"{_PAPER}, Theorem 5, with the Gaussian mechanism inside",
        statement="No released answer errs by more than (39 sqrt(k log(1/delta) log(2 "
        "k)) + 117 log(1/delta))/epsilon.",
        kind="utility",
        relation=None,
        evaluate=_cap,
        check=at_most(_caps),
    ),
    Claim(
        id="CL-Thm5-correction",
        source=f"{_PAPER}, proof of Theorem 5",
        statement="The true answers are released with probability at most delta/10.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_corrections,
        check=at_most(_correction_cases),
    ),
    Claim(
        id="CL-Thm5-privacy",
        source=f"{_PAPER}, Theorem 5, corrected",
        statement="With inner privacy (epsilon/3, delta^2/105) the algorithm is (epsilon, "
        "delta)-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_single_queries(sharp=False)),
    ),
    Claim(
        id="CL-Thm5-sharp",
        source=f"{_PAPER}, Theorem 5, sharper (derived here)",
        statement="Where the inner error has one law on all data, inner privacy (epsilon, "
        "delta^2/17) is enough for (epsilon, delta)-DP: the selection costs no epsilon.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_single_queries(sharp=True)),
    ),
    Claim(
        id="CL-Thm5-corrected-gaussian",
        source="beside Theorem 5 of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022 (derived "
        "here)",
        statement="The Gaussian mechanism at (epsilon, delta/2), whose answers "
        "are replaced by the true ones where one errs by more than its (delta/2)/(1 + "
        "e^epsilon) upper quantile, is (epsilon, delta)-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_delta,
        check=at_most(_corrected_gaussians),
    ),
    Claim(
        id="CL-Thm5-corrected-gaussian-error",
        source="beside Theorem 5 of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022 (derived "
        "here)",
        statement="For k <= 10^4 and delta >= 10^-6 that mechanism's error, also never "
        "exceeded, is below the cap of Theorem 5's algorithm over the Gaussian mechanism.",
        kind="utility",
        relation=None,
        evaluate=_boosted_cap,
        check=at_most(_smaller_caps),
    ),
)
