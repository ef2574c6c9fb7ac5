"""Liu & Talwar 2019, Theorem 5.2, third part: a best candidate leads by a margin.

What is printed of truncated Laplace noise and of the margin is wrong (LT-E17). The mechanism is
compared with A_dist (Smith & Thakurta 2013; Beimel, Nissim & Stemmer 2013).
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_cdf,
    truncated_laplace_delta,
    truncated_laplace_support,
)
from jaxsel.families.score_selection.candidate_laws import released_delta
from jaxsel.families.score_selection.claims import instances, stated
from jaxsel.families.score_selection.classical_laws import margin_law, margin_needed
from jaxsel.families.score_selection.parameters import SmallBeta, SmallDelta
from jaxsel.families.score_selection.settings import margin_selection, margin_selection_needed
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, in_units, listed
from jaxsel.language.domains import number, positive, probability
from jaxsel.language.papers import LT, ST
from jaxsel.repetitions import geometric

# --- Truncated Laplace noise ----------------------------------------------------------


@LT.privacy(
    "LT-Thm5.2-tlap-printed",
    "proof of Theorem 5.2, third part",
    Relation.GENERAL,
    correction="Only if e^epsilon - 1 <= 2 (1 - delta): LT-Thm5.2-tlap.",
)
def stated_delta(
    *, delta: Annotated[float, number("truncation", above=0.0, below=0.25)] = 0.24
) -> float:
    """Laplace noise of scale 1/epsilon truncated to +-log(1/delta)/epsilon is (epsilon, delta)-DP
    for epsilon < 1 and delta < 1/4."""
    return delta


@LT.identity("LT-Thm5.2-tlap", "proof of Theorem 5.2, corrected", relation=Relation.GENERAL)
def exact_delta(
    *,
    epsilon: Annotated[float, positive("inverse of the noise scale")] = 0.99,
    delta: Annotated[float, probability("truncation, at most e^-epsilon")] = 0.24,
) -> float:
    """For delta <= e^-epsilon, Laplace noise of scale 1/epsilon truncated to
    +-log(1/delta)/epsilon has exactly delta (e^epsilon - 1)/(2 (1 - delta)) at epsilon.

    The condition says that the support reaches beyond 1, by which neighbours differ.
    """
    if delta > math.exp(-epsilon):
        raise InputError(f"delta is {delta}; it must be at most e^-epsilon")
    return delta * math.expm1(epsilon) / (2.0 * (1.0 - delta))


def _draw(generator: np.random.Generator) -> tuple[float, float]:
    epsilon = generator.uniform(0.05, 3.0)
    return epsilon, math.exp(-epsilon) * 10.0 ** generator.uniform(-3.0, 0.0)


@exact_delta.equals(drawn("epsilon delta", _draw, 100, (0.99, 0.24)))
def quadrature_delta(epsilon, delta):
    """The delta of truncated Laplace noise by integrating its density, for a shift of 1."""
    end = truncated_laplace_support(epsilon, delta)
    nodes, step = panels([-end, 0.0, 1.0 - end, 1.0, end], 0.5 / epsilon)
    nodes, step = nodes[nodes < end], step[nodes < end]
    first = np.exp(-epsilon * np.abs(nodes))
    second = np.where(np.abs(nodes - 1.0) < end, np.exp(-epsilon * np.abs(nodes - 1)), 0)
    scale = epsilon / (2.0 * (1.0 - delta))
    excess = np.maximum(first - math.exp(epsilon) * second * (1.0 + 1e-13), 0.0)
    return float(scale * np.sum(step * excess))


@stated_delta.bounds(listed("epsilon delta", (0.99, 0.24), (0.95, 0.23)))
def stated_deltas(epsilon, delta):
    return truncated_laplace_delta(epsilon, delta), "shift 1"


# --- What it adds up to over many draws -----------------------------------------------


def _down_half(gamma: float, base_epsilon: float, truncation: float) -> tuple[float, float]:
    """The chances that the best of Geom(gamma) draws is of the lower, and of the upper half.

    Half of the candidates have the score -1 and half have +1; truncated Laplace noise is added.

    Args:
      gamma: stopping probability.
      base_epsilon: 1 over the scale of the noise.
      truncation: delta of the noise, which ends at log(1/truncation) scales.
    """
    end = truncated_laplace_support(base_epsilon, truncation)
    near = np.geomspace(1e-12, 1.0, 120)
    edges = [-end - 1.0, -end + 1.0, -1.0, 0.0, 1.0, *(end - 1.0 - near)]
    edges = np.array([*edges, end - 1.0, *(end + 1.0 - near), end + 1.0])
    nodes, step = panels(edges, 0.5 / base_epsilon)
    scale = base_epsilon / (2.0 * (1.0 - truncation))
    halves, better = [], np.zeros_like(nodes)
    for score in (-1.0, 1.0):
        y = nodes - score
        inside = np.abs(y) < end
        halves.append(np.where(inside, scale * np.exp(-base_epsilon * np.abs(y)), 0.0))
        better += 0.5 * truncated_laplace_cdf(-y, base_epsilon, truncation)
    slope = gamma / (gamma + (1.0 - gamma) * better) ** 2
    down, up = (float(np.sum(step * slope * half / 2.0)) for half in halves)
    return down, up


margin_printed = LT.privacy(
    "LT-Thm5.2-margin-printed",
    "Theorem 5.2, margin-based mechanism",
    Relation.GENERAL,
    statement="Random stopping at gamma = beta/K over truncated Laplace scores of support "
    "log(1/delta)/epsilon_1, hence a margin without K, is (3 epsilon_1, delta)-DP.",
    correction="Delta adds up over K/beta draws, so the support must grow with "
    "log K: LT-Thm5.2-margin.",
)(stated.approximate)


margin = LT.privacy(
    "LT-Thm5.2-margin",
    "Theorem 5.2, corrected",
    Relation.GENERAL,
    statement="Random stopping at gamma = beta/K over truncated Laplace scores of support "
    "log(1/(gamma delta))/epsilon_1 is (3 epsilon_1, delta)-DP, for e^(epsilon_1) - 1 <= 2 (1 - "
    "gamma delta).",
)(stated.approximate)


def _draw_margin(generator: np.random.Generator) -> tuple[int, float, float, float]:
    crowd = int(10 ** generator.uniform(1.0, 6.0)), generator.uniform(0.01, 0.5)
    return *crowd, generator.uniform(0.05, 0.9), 10.0 ** generator.uniform(-6.0, -1.0)


_NAMES = "candidates beta epsilon_1 delta"
_CROWDS = ((10**3, 0.1, 1.0 / 3.0, 1e-3), (10**5, 0.1, 1.0 / 3.0, 1e-3))


@margin_printed.bounds(listed(_NAMES, *_CROWDS), sparse=False)
@margin.bounds(drawn(_NAMES, _draw_margin, 20, *_CROWDS), sparse=True, tolerance=1e-12)
def margins(candidates, beta, epsilon_1, delta, sparse):
    gamma = beta / candidates
    truncation = gamma * delta if sparse else delta
    down, up = _down_half(gamma, epsilon_1, truncation)
    growth = math.exp(3.0 * epsilon_1)
    yield max(0.5 - growth * down, up - growth * 0.5), "all equal, then half +1 and half -1"
    # The best score is above what equal candidates can reach.
    above = truncated_laplace_delta(epsilon_1, truncation)
    yield above / (above + gamma * (1.0 - above)), "all move by 1, the best score is released"


# --- The mechanisms -------------------------------------------------------------------


private = LT.privacy(
    "LT-Thm5.2-margin-privacy",
    "Theorem 5.2, margin-based mechanism, corrected",
    Relation.GENERAL,
    statement="Random stopping with gamma = beta/(2 K) over scores with Laplace noise of scale 3 "
    "s/epsilon, truncated to log(1/(gamma delta)) scales, is (epsilon, delta)-DP, the noisy score "
    "of the chosen candidate released as well, for e^(epsilon/3) - 1 <= 2 (1 - gamma delta).",
)(stated.approximate)


@private.bounds()
def privacy_cases(budget):
    # All equal candidates move by 1: the best noisy score is beyond what the other side has,
    # with the largest chance where epsilon is as large as it may be.
    first, second = (margin_selection(np.full(10, q), 1.0, 3.2, 1e-3, 0.1) for q in (0.0, 1.0))
    seen = released_delta(first.candidates, second.candidates, geometric(first.gamma), 3.2)
    yield {"delta": 1e-3}, in_units(seen), "K=10 equal candidates move by 1, epsilon=3.2, beta=0.1"
    generator = np.random.default_rng(budget.seed + 1)
    for case in instances.neighbours(budget, equal=True, limit=12):
        delta = 10.0 ** generator.uniform(-6.0, -1.0)
        first, second = (
            margin_selection(scores, 1.0, case.epsilon, delta, case.beta)
            for scores in (case.first, case.second)
        )
        law = geometric(first.gamma)
        seen = released_delta(first.candidates, second.candidates, law, case.epsilon)
        # Relative: delta may be small.
        yield {"delta": delta}, in_units(seen), case.where


def _draw_lead(generator: np.random.Generator) -> tuple[int, float, float, float]:
    count, epsilon = int(10 ** generator.uniform(0.5, 5.0)), generator.uniform(0.1, 3.0)
    return count, epsilon, 10.0 ** generator.uniform(-9, -1), 10.0 ** generator.uniform(-3, -0.31)


_LEADS = drawn(
    "candidates epsilon delta beta",
    _draw_lead,
    100,
    *((count, 1.0, 1e-6, 0.1) for count in (2, 100, 10**5)),
)
# A large delta, and hence a small margin.
_SMALL_LEAD = listed("candidates epsilon delta beta", (10**4, 1.0, 0.99, 0.1))


def _leading(candidates: int, lead: float) -> np.ndarray:
    return np.where(np.arange(candidates) == 0, lead, 0.0)


accurate = LT.utility(
    "LT-Thm5.2-margin-utility",
    "Theorem 5.2, margin-based mechanism, corrected",
    statement="The mechanism of LT-Thm5.2-margin-privacy chooses the best candidate except with "
    "probability beta, if that leads by (3 s/epsilon) log(2 K/(beta delta)).",
)(stated.failure)


@accurate.bounds(_LEADS, _SMALL_LEAD)
def utility_cases(candidates, epsilon, delta, beta):
    lead = margin_selection_needed(candidates, 1.0, epsilon, delta, beta)
    made = margin_selection(_leading(candidates, lead), 1.0, epsilon, delta, beta)
    return math.fsum(instances.selection_law(made)[1:]), "at the margin"


@ST.utility("BNS-Adist-utility", "A_dist; Beimel, Nissim & Stemmer 2013")
def classical_accurate(*, beta: SmallBeta = 0.1) -> float:
    """A_dist releases the best candidate except with probability beta <= 1/2, if that leads by 2 s
    (1 + log(1/(4 beta delta))/epsilon), for any number of candidates."""
    return beta


@classical_accurate.bounds(_LEADS)
def classical_utility_cases(candidates, epsilon, delta, beta):
    scores = _leading(candidates, margin_needed(1.0, epsilon, delta, beta))
    return math.fsum(margin_law(scores, 1.0, epsilon, delta)[1:]), "at the margin"


@ST.privacy("BNS-Adist-privacy", "A_dist; Beimel, Nissim & Stemmer 2013", Relation.GENERAL)
def classical_private(*, delta: SmallDelta = 1e-6) -> float:
    """A_dist, which releases the best candidate if lead/(2 s) - 1 + Lap(1/epsilon) > log(1/(2
    delta))/epsilon, else nothing, is (epsilon, delta)-DP."""
    return delta


@classical_private.bounds()
def classical_privacy_cases(budget):
    cases = [(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1.0, 1e-3, "a lead of 1 lost")]
    for case, generator in enumerate(budget.draws()):
        count = int(generator.integers(2, 8))
        epsilon, delta = generator.uniform(0.05, 3.0), 10.0 ** generator.uniform(-4.0, -0.31)
        scores = generator.uniform(0.0, 10.0 ** generator.uniform(0.0, 1.5), count)
        moved = instances.neighbours_of(generator, scores, 1.0)
        where = f"random pair {case}: K={count}, {epsilon=!r}, {delta=!r}"
        cases.append((scores, moved, epsilon, delta, where))
    for scores, moved, epsilon, delta, where in cases:
        first, second = (margin_law(side, 1.0, epsilon, delta) for side in (scores, moved))
        seen = float(profile_delta(first, second, epsilon))
        yield {"delta": delta}, in_units(seen), where


LT_E17 = LT.misprint(
    "LT-E17",
    "Theorem 5.2, margin-based mechanism",
    "statement",
    printed="Truncated Laplace noise is (epsilon, delta)-DP for epsilon < 1, delta "
    "< 1/4; a margin of order s log(1/(beta delta))/epsilon is enough, for every "
    "K.",
    correct="Where the support reaches beyond the sensitivity, the exact delta is "
    "delta (e^epsilon - 1)/(2 (1 - delta)). In the construction delta adds up "
    "over about K/beta draws: at a fixed truncation the mechanism becomes "
    "blatantly non-private as K grows. Truncate at gamma delta; the margin is "
    "then of order s log(K/(beta delta))/epsilon.",
    refuted=[stated_delta, margin_printed],
    corrected=[exact_delta, margin, private, accurate],
)
