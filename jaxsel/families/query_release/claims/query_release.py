"""Cohen et al. 2022, Theorem 5: query release with an error that is never exceeded.

With the Gaussian mechanism in place of Ghazi, Kumar & Manurangsi 2021 (Theorem 13), see
``jaxsel.families.query_release.laws``; the parts of delta as printed and as corrected
(CL-E9).
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
from jaxsel.families.query_release.claims.parameters import Delta, Epsilon, Queries
from jaxsel.families.query_release.claims.private_bound import deltas
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
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.papers import CL, JX

_CELLS = 1200  # of the grid in each direction, for the exact privacy of one query


def _settings(budget: Budget, cases: int) -> Iterator[tuple[int, float, float]]:
    generator = np.random.default_rng(budget.seed)
    yield 10, 1.0, 0.05
    yield 1, 1.0, 0.5
    for _ in range(min(budget.cases, cases)):
        queries, epsilon, delta = 10.0 ** generator.uniform([0.0, -2.0, -6.0], [4.0, 0.0, -0.31])
        yield int(queries), float(epsilon), float(delta)


def _shown(queries: int, epsilon: float, delta: float) -> str:
    return f"k={queries}, {epsilon=!r}, {delta=!r}"


# --- Theorem 13, for the Gaussian mechanism -------------------------------------------


def _half_error(*, queries: Queries = 10, epsilon: Epsilon = 1.0, delta: Delta = 0.05) -> float:
    """(2/epsilon) sqrt(k log(1.25/delta) log(2 k)), kept with probability 1/2."""
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


def _cap(*, queries: Queries = 10, epsilon: Epsilon = 1.0, delta: Delta = 0.05) -> float:
    """(39 sqrt(k log(1/delta) log(2 k)) + 117 log(1/delta))/epsilon."""
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


def _corrections(*, delta: Delta = 0.05) -> float:
    """Chance delta/10 that the true answers are released."""
    return delta / 10.0


def _correction_cases(budget: Budget) -> Iterator[Case]:
    for sharp in (False, True):
        for case in _settings(budget, 4):
            corrected = correction_chance(query_release(*case, sharp=sharp))
            yield _corrections(delta=case[2]), corrected, f"{_shown(*case)}, {sharp=}"


def _delta(*, delta: Delta = 0.05) -> float:
    """delta of the whole algorithm, at its epsilon."""
    return delta


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


def _released_weight(settings: QueryRelease) -> tuple[np.ndarray, np.ndarray]:
    """What a vector's density is multiplied with when it is released, by its error.

    E over its bound s <= cap of the factor of the selection; errors, and weights.
    """
    rate, offset, cap = settings.inner_epsilon / 2.0, settings.offset, settings.cap
    edges = np.linspace(0.0, cap, _CELLS + 1)
    s = (edges[1:] + edges[:-1]) / 2.0
    factor = selection_factor(bound_below(settings, s), settings.runs)
    error = np.linspace(0.0, cap, _CELLS // 2)
    noise = s - offset - error[:, None]
    mass = rate / (2.0 * -math.expm1(-rate * offset))
    inside = np.abs(noise) <= offset
    density = np.where(inside, mass * np.exp(-rate * np.abs(noise)), 0.0)
    return error, density @ factor * (edges[1] - edges[0])


def two_query_delta(settings: QueryRelease, epsilon: float, moves: tuple[float, float]) -> float:
    """Exact delta at ``epsilon`` of the answers released to two queries that move so.

    Before a correction they have the densities N(y) w(|y|) and N(y - v) w(|y - v|), |.|
    the maximum norm; by the midpoint rule in the plane.
    """
    error, weight = _released_weight(settings)
    scale = settings.noise_scale
    reach = min(6.0 * scale, settings.cap)
    y = (np.arange(-_CELLS // 2, _CELLS // 2) + 0.5) * (2.0 * reach / _CELLS)

    def density(shifts: tuple[float, float]) -> np.ndarray:
        first, second = y[:, None] - shifts[0], y[None, :] - shifts[1]
        largest = np.maximum(np.abs(first), np.abs(second))
        normal = np.exp(-0.5 * (first**2 + second**2) / scale**2)
        return normal * np.interp(largest, error, weight, right=0.0)

    excess = np.maximum(density((0.0, 0.0)) - math.exp(epsilon) * density(moves), 0.0)
    step = (y[1] - y[0]) ** 2 / (2.0 * math.pi * scale**2)
    return float(excess.sum()) * step + correction_chance(settings)


def _single_queries(sharp: bool):
    def listed(budget: Budget) -> Iterator[Case]:
        for epsilon, delta in ((1.0, 0.05), (1.0, 0.5), (0.3, 0.2)):
            settings = query_release(1, epsilon, delta, sharp=sharp)
            exact = single_query_delta(settings, epsilon)
            yield _delta(delta=delta), exact, f"k=1, {epsilon=}, {delta=}, exact"
            settings = query_release(2, epsilon, delta, sharp=sharp)
            for moves in ((1.0, 1.0), (1.0, 0.0)):
                exact = two_query_delta(settings, epsilon, moves)
                where = f"k=2, {epsilon=}, {delta=}, answers move by {moves}"
                yield _delta(delta=delta), exact, f"{where}, exact"

    return listed


def _all_parts(sharp: bool):
    def listed(budget: Budget) -> Iterator[Case]:
        for case in _settings(budget, 4):
            settings = query_release(*case, sharp=sharp)
            corrected = correction_chance(settings)
            total = spent_delta(settings, case[1], corrected, sharp=sharp)
            yield _delta(delta=case[2]), total, f"{_shown(*case)}, {sharp=}"

    return listed


# --- The parts of delta (CL-E9) -------------------------------------------------------


def _fifth(*, delta: Delta = 0.1) -> float:
    """delta/5 that the selected vector may have."""
    return delta / 5.0


def _selected_delta(delta: float, divisor: float | None = None) -> float:
    """T delta_in of the settings: what the selected vector may have by Theorem 4."""
    settings = query_release(3, 1.0, delta, divisor=divisor)
    return settings.runs * settings.inner_delta


def _selected(divisor: float | None, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for delta in deltas(budget, cases, 0.1):
            where = f"{delta=!r}, divisor {divisor or 105:g}"
            yield _fifth(delta=delta), _selected_delta(delta, divisor), where

    return listed


def _whole(*, delta: Delta = 0.1) -> float:
    """delta of the whole algorithm."""
    return delta


def _whole_cases(budget: Budget) -> Iterator[Case]:
    for delta in deltas(budget, 200, 0.1):
        # Correcting non-privately with chance delta/10 costs (1 + e^epsilon) delta/10.
        total = _selected_delta(delta) + (1.0 + math.e) * delta / 10.0
        yield _whole(delta=delta), total, f"{delta=!r}, epsilon=1"


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


def _boosted_cap(*, queries: Queries = 10, epsilon: Epsilon = 1.0, delta: Delta = 0.05) -> float:
    """Cap of Theorem 5's algorithm with the sharp budget and the Gaussian mechanism."""
    return query_release(queries, epsilon, delta, sharp=True).cap


def _smaller_caps(budget: Budget) -> Iterator[Case]:
    for case in _settings(budget, 100):
        plain = corrected_gaussian_cap(*case)
        boosted = _boosted_cap(queries=case[0], epsilon=case[1], delta=case[2])
        yield boosted, plain, _shown(*case)


STATEMENTS = (
    CL.misprint(
        "CL-E9",
        "Theorem 5: introduction and proof",
        "proof",
        printed="Inner privacy (epsilon/3, delta^2/10) and beta = delta/10 give "
        "(epsilon, delta/5). Display in the introduction: log(1/delta) inside the "
        "root.",
        correct="T = ceil(20/delta), so T delta^2/10 is 2 delta. With delta^2/105 all "
        "parts add up to at most delta. log(1/delta) stands outside the root, as in "
        "Section 3.2; inside, the bound would contradict Remark 1 for one query.",
        refuted=(
            CL.privacy(
                "CL-Thm5-step-delta-printed",
                "proof of Theorem 5",
                "With inner delta delta^2/10 and beta = delta/10, the selected "
                "vector is (epsilon, delta/5)-DP by Theorem 4.",
                Relation.GENERAL,
                _fifth,
                at_most(_selected(10.0, 0)),
            ),
        ),
        corrected=(
            CL.privacy(
                "CL-Thm5-step-delta",
                "proof of Theorem 5, corrected",
                "With inner delta delta^2/105 and beta = delta/10, the selected "
                "vector is (epsilon, delta/5)-DP by Theorem 4.",
                Relation.GENERAL,
                _fifth,
                at_most(_selected(None, 200), tolerance=1e-15),
            ),
            CL.privacy(
                "CL-Thm5-delta",
                "Theorem 5, corrected",
                "With inner delta delta^2/105 and beta = delta/10, delta adds up to "
                "at most delta for epsilon <= 1.",
                Relation.GENERAL,
                _whole,
                at_most(_whole_cases, tolerance=1e-15),
            ),
        ),
    ),
    CL.utility(
        "CL-Thm13-gaussian",
        "Theorem 13, for the Gaussian mechanism",
        "The Gaussian mechanism for k queries has largest error at most (2/"
        "epsilon) sqrt(k log(1.25/delta) log(2 k)) with probability at least 1/2.",
        _half_error,
        at_most(_half_errors),
    ),
    CL.utility(
        "CL-Thm5-error",
        "Theorem 5, with the Gaussian mechanism inside",
        "No released answer errs by more than (39 sqrt(k log(1/delta) log(2 "
        "k)) + 117 log(1/delta))/epsilon.",
        _cap,
        at_most(_caps),
    ),
    CL.privacy(
        "CL-Thm5-correction",
        "proof of Theorem 5",
        "The true answers are released with probability at most delta/10.",
        Relation.GENERAL,
        _corrections,
        at_most(_correction_cases),
    ),
    CL.privacy(
        "CL-Thm5-privacy",
        "Theorem 5, corrected",
        "With inner privacy (epsilon/3, delta^2/105) the algorithm is (epsilon, delta)-DP.",
        Relation.GENERAL,
        _delta,
        at_most(_single_queries(sharp=False)),
        loose="The selection costs no epsilon (CL-Thm5-sharp), so that delta at epsilon is "
        "that at three times the inner epsilon; what is left is the correction.",
    ),
    CL.privacy(
        "CL-Thm5-parts",
        "Theorem 5, corrected, and sharper",
        "The parts of delta add up to no more: T d of the selection (T d/2 if sharp), and "
        "(1 + e^epsilon) times the exact chance of a correction.",
        Relation.GENERAL,
        _delta,
        at_most(lambda b: (*_all_parts(False)(b), *_all_parts(True)(b))),
    ),
    CL.privacy(
        "CL-Thm5-sharp",
        "Theorem 5, sharper (derived here)",
        "Where the inner error has one law on all data, inner privacy (epsilon, "
        "delta^2/17) is enough for (epsilon, delta)-DP: the selection costs no epsilon.",
        Relation.GENERAL,
        _delta,
        at_most(_single_queries(sharp=True)),
        loose="The answers and their bound s are composed as if independent, half of "
        "epsilon each, but s reveals hardly more than the answers do.",
    ),
    JX.privacy(
        "CL-Thm5-corrected-gaussian",
        "beside Theorem 5 of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022",
        "The Gaussian mechanism at (epsilon, delta/2), whose answers "
        "are replaced by the true ones where one errs by more than its (delta/2)/(1 + "
        "e^epsilon) upper quantile, is (epsilon, delta)-DP.",
        Relation.GENERAL,
        _delta,
        at_most(_corrected_gaussians),
    ),
    JX.utility(
        "CL-Thm5-corrected-gaussian-error",
        "beside Theorem 5 of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022",
        "For k <= 10^4 and delta >= 10^-6 that mechanism's error, also never "
        "exceeded, is below the cap of Theorem 5's algorithm over the Gaussian mechanism.",
        _boosted_cap,
        at_most(_smaller_caps),
    ),
)
