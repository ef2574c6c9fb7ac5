"""Cohen et al. 2022, Theorem 5: query release with an error that is never exceeded.

The inner mechanism is the Gaussian one, in place of that of Ghazi, Kumar & Manurangsi 2021 (Theorem
13): see ``jaxsel.families.query_release.laws``. What is printed of the parts of delta is wrong
(CL-E9).
"""

import math

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.closed_forms import gaussian_noise_multiplier
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
from jaxsel.families.query_release.parameters import Delta, Epsilon, Queries
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, Points, drawn, listed
from jaxsel.language.papers import CL, JX

_CELLS = 1200  # of the grid in each direction, for the exact privacy of one query


def _draw(generator: np.random.Generator) -> tuple[int, float, float]:
    logs = generator.uniform([0.0, -2.0, -6.0], [4.0, 0.0, -0.31])
    queries, epsilon, delta = (10.0**logs).tolist()
    return int(queries), epsilon, delta


def _points(most: int) -> Points:
    return drawn("queries epsilon delta", _draw, most, (10, 1.0, 0.05), (1, 1.0, 0.5))


# --- Theorem 13, for the Gaussian mechanism -------------------------------------------


@CL.utility("CL-Thm13-gaussian", "Theorem 13, for the Gaussian mechanism")
def half_error(*, queries: Queries = 10, epsilon: Epsilon = 1.0, delta: Delta = 0.05) -> float:
    """The Gaussian mechanism for k queries has largest error at most (2/epsilon) sqrt(k
    log(1.25/delta) log(2 k)) with probability at least 1/2."""
    square = queries * math.log(1.25 / delta) * math.log(2.0 * queries)
    return 2.0 / epsilon * math.sqrt(square)


@half_error.bounds(_points(100))
def half_errors(queries, epsilon, delta):
    scale = math.sqrt(queries) * gaussian_noise_multiplier(epsilon, delta)
    return lambda most: (0.5, float(gaussian_largest_error(most, queries, scale)))


# --- Theorem 5 ------------------------------------------------------------------------


@CL.utility("CL-Thm5-error", "Theorem 5, with the Gaussian mechanism inside")
def cap(*, queries: Queries = 10, epsilon: Epsilon = 1.0, delta: Delta = 0.05) -> float:
    """No answer that Theorem 5's algorithm releases errs by more than (39 sqrt(k log(1/delta)
    log(2 k)) + 117 log(1/delta))/epsilon."""
    low = -math.log(delta)
    root = math.sqrt(queries * low * math.log(2.0 * queries))
    return (39.0 * root + 117.0 * low) / epsilon


@cap.bounds()
def caps(budget):
    for point in _points(60)(budget):
        yield point, query_release(**point).cap, "largest possible error"
    for point in _points(0)(budget):
        settings = query_release(**point)
        above, _ = released_error(settings, [settings.cap])
        yield Judged(0.0, float(above[0]), f"P[error > cap], {point}")


@CL.privacy("CL-Thm5-correction", "proof of Theorem 5", Relation.GENERAL)
def corrected_answers(*, delta: Delta = 0.05) -> float:
    """Theorem 5's algorithm releases the true answers with probability at most delta/10."""
    return delta / 10.0


@corrected_answers.bounds(_points(4))
def correction_cases(queries, epsilon, delta):
    for sharp in (False, True):
        yield correction_chance(query_release(queries, epsilon, delta, sharp=sharp)), f"{sharp=}"


@CL.privacy(
    "CL-Thm5-privacy",
    "Theorem 5, corrected",
    Relation.GENERAL,
    loose="The selection costs no epsilon (CL-Thm5-sharp), so that delta at epsilon is "
    "that at three times the inner epsilon; what is left is the correction.",
)
def private(*, delta: Delta = 0.05) -> float:
    """With inner privacy (epsilon/3, delta^2/105) Theorem 5's algorithm is (epsilon, delta)-DP."""
    return delta


sharp = CL.privacy(
    "CL-Thm5-sharp",
    "Theorem 5, sharper (derived here)",
    Relation.GENERAL,
    statement="Where the inner error has one law on all data, inner privacy (epsilon, delta^2/17) "
    "is enough for (epsilon, delta)-DP: the selection costs no epsilon.",
    loose="The answers and their bound s are composed as if independent, half of "
    "epsilon each, but s reveals hardly more than the answers do.",
)(private.evaluate)


parts = CL.privacy(
    "CL-Thm5-parts",
    "Theorem 5, corrected, and sharper",
    Relation.GENERAL,
    statement="What the selection spends of delta, T d (T d/2 if sharp), and (1 + e^epsilon) times "
    "the exact chance that the true answers are released add up to at most delta.",
)(private.evaluate)


def _selected(settings: QueryRelease) -> tuple[np.ndarray, np.ndarray, float]:
    """Midpoints of a grid of bounds s up to the cap, their ``selection_factor``, and the step."""
    edges = np.linspace(0.0, settings.cap, _CELLS + 1)
    s = (edges[1:] + edges[:-1]) / 2.0
    return s, selection_factor(bound_below(settings, s), settings.runs), edges[1] - edges[0]


def _noise_density(settings: QueryRelease, noise: np.ndarray) -> np.ndarray:
    """The density, at ``noise``, of the truncated Laplace noise in the private bound s."""
    rate, offset = settings.inner_epsilon / 2.0, settings.offset
    mass = rate / (2.0 * -math.expm1(-rate * offset))
    return np.where(np.abs(noise) <= offset, mass * np.exp(-rate * np.abs(noise)), 0.0)


def _single_query_delta(settings: QueryRelease, epsilon: float) -> float:
    """The exact delta at ``epsilon`` of the algorithm for one query that moves by 1.

    The answer y and its bound s are both taken as released. Their densities on the two sides are
    N(y) TLap(s - A - |y|) and N(y - 1) TLap(s - A - |y - 1|), times the factor of the selection,
    which is the same on both. A correction, which tells the sides apart, adds its chance.
    """
    scale = settings.noise_scale
    # The cells' edges include 0 and 1, where |y| has kinks; midpoint rule.
    width = 10.0 * scale / _CELLS
    y = (np.arange(-_CELLS, _CELLS) + 0.5) * max(width, 1.0 / max(1, int(1 / width)))
    s, factor, step = _selected(settings)

    def density(center: float) -> np.ndarray:
        noise = s[None, :] - settings.offset - np.abs(y - center)[:, None]
        normal = np.exp(-0.5 * ((y - center) / scale) ** 2) / scale
        return normal[:, None] / math.sqrt(2.0 * math.pi) * _noise_density(settings, noise)

    excess = np.maximum(density(0.0) - math.exp(epsilon) * density(1.0), 0.0)
    selected = float(excess.sum(axis=0) @ factor) * (y[1] - y[0]) * step
    return selected + correction_chance(settings)


def _released_weight(settings: QueryRelease) -> tuple[np.ndarray, np.ndarray]:
    """The factor by which the release multiplies a vector's density, as a function of its error.

    It is the mean of ``selection_factor`` over the vector's bound s, where s <= cap. Returns a grid
    of largest errors, and their factors.
    """
    s, factor, step = _selected(settings)
    error = np.linspace(0.0, settings.cap, _CELLS // 2)
    return error, _noise_density(settings, s - settings.offset - error[:, None]) @ factor * step


def _two_query_delta(settings: QueryRelease, epsilon: float, moves: tuple[float, float]) -> float:
    """The exact delta at ``epsilon`` of the answers to two queries that move by ``moves``, v.

    Where there is no correction, answers y have the densities N(y) w(|y|) and N(y - v) w(|y - v|),
    with the maximum norm |.| and the w of ``_released_weight``. They are integrated over the plane
    by the midpoint rule; a correction adds its chance.
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


_FEW = listed("epsilon delta", (1.0, 0.05), (1.0, 0.5), (0.3, 0.2))


@private.bounds(_FEW, sharp=False)
@sharp.bounds(_FEW, sharp=True)
def exact_deltas(epsilon, delta, sharp):
    yield _single_query_delta(query_release(1, epsilon, delta, sharp=sharp), epsilon), "k=1, exact"
    settings = query_release(2, epsilon, delta, sharp=sharp)
    for moves in ((1.0, 1.0), (1.0, 0.0)):
        exact = _two_query_delta(settings, epsilon, moves)
        yield exact, f"k=2, answers move by {moves}, exact"


@parts.bounds(_points(4))
def all_parts(queries, epsilon, delta):
    for sharp in (False, True):
        settings = query_release(queries, epsilon, delta, sharp=sharp)
        corrected = correction_chance(settings)
        yield spent_delta(settings, epsilon, corrected, sharp=sharp), f"{sharp=}"


# --- The parts of delta (CL-E9) -------------------------------------------------------


@CL.privacy("CL-Thm5-step-delta-printed", "proof of Theorem 5", Relation.GENERAL)
def fifth_printed(*, delta: Delta = 0.1) -> float:
    """With inner delta equal to delta^2/10 and beta = delta/10, the selected vector is (epsilon,
    delta/5)-DP by Theorem 4."""
    return delta / 5.0


fifth = CL.privacy(
    "CL-Thm5-step-delta",
    "proof of Theorem 5, corrected",
    Relation.GENERAL,
    statement="With inner delta equal to delta^2/105 and beta = delta/10, the selected vector is "
    "(epsilon, delta/5)-DP by Theorem 4.",
)(fifth_printed.evaluate)


@fifth_printed.bounds(deltas(0), divisor=10.0)
@fifth.bounds(deltas(200), divisor=105.0, tolerance=1e-15)
def selected_delta(delta, divisor):
    """The delta of the selected vector by Theorem 4: T times the inner delta of the settings."""
    settings = query_release(3, 1.0, delta, divisor=divisor)
    return settings.runs * settings.inner_delta


@CL.privacy("CL-Thm5-delta", "Theorem 5, corrected", Relation.GENERAL)
def whole(*, delta: Delta = 0.1) -> float:
    """With inner delta equal to delta^2/105 and beta = delta/10, the parts of Theorem 5's delta add
    up to at most delta for epsilon <= 1."""
    return delta


@whole.bounds(deltas(200), tolerance=1e-15)
def whole_cases(delta):
    # Correcting non-privately with chance delta/10 costs (1 + e^epsilon) delta/10.
    return selected_delta(delta, 105.0) + (1.0 + math.e) * delta / 10.0


# --- The plain Gaussian mechanism, corrected ------------------------------------------


plain = JX.privacy(
    "CL-Thm5-corrected-gaussian",
    "beside Theorem 5 of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022",
    Relation.GENERAL,
    statement="The Gaussian mechanism at (epsilon, delta/2), whose answers are replaced by the "
    "true ones where one errs by more than its (delta/2)/(1 + e^epsilon) upper quantile, is "
    "(epsilon, delta)-DP.",
)(private.evaluate)


@plain.bounds(_points(100))
def corrected_gaussian_delta(epsilon, delta):
    """The exact delta at ``epsilon`` of the corrected Gaussian mechanism for one query.

    The true answers are 0 and 1. A released answer is normal around the true one, if it errs by at
    most the cap, and else it is the true one, which tells the sides apart.
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


@JX.utility(
    "CL-Thm5-corrected-gaussian-error",
    "beside Theorem 5 of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022",
)
def boosted_cap(*, queries: Queries = 10, epsilon: Epsilon = 1.0, delta: Delta = 0.05) -> float:
    """For k <= 10^4 and delta >= 10^-6 the largest error of the corrected Gaussian mechanism
    (CL-Thm5-corrected-gaussian) is below the cap of Theorem 5's algorithm over the Gaussian
    mechanism.

    Returns this cap, with the inner epsilon of CL-Thm5-sharp.
    """
    return query_release(queries, epsilon, delta, sharp=True).cap


boosted_cap.bounds(_points(100))(corrected_gaussian_cap)


CL_E9 = CL.misprint(
    "CL-E9",
    "Theorem 5: introduction and proof",
    "proof",
    printed="Inner privacy (epsilon/3, delta^2/10) and beta = delta/10 give "
    "(epsilon, delta/5). Display in the introduction: log(1/delta) inside the "
    "root.",
    correct="T = ceil(20/delta), so T delta^2/10 is 2 delta. With delta^2/105 all "
    "parts add up to at most delta. log(1/delta) stands outside the root, as in "
    "Section 3.2; inside, the bound would contradict Remark 1 for one query.",
    refuted=[fifth_printed],
    corrected=[fifth, whole],
)
