"""Liu & Talwar 2019, Theorem 5.2: truncated Laplace noise and the margin.

LT-E17 as printed and as corrected.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_cdf,
    truncated_laplace_delta,
    truncated_laplace_support,
)
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most, equal
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_interval, check_positive

_PAPER = "Liu & Talwar 2019"


# --- Theorem 5.2, truncated Laplace noise (LT-E17) ------------------------------------


def _stated_delta(*, delta: float = 0.24) -> float:
    """Delta that is claimed for TLap on +-log(1/delta)/epsilon: delta itself.

    Args:
      delta: in (0, 1/4).
    """
    return check_interval("delta", delta, 0.0, 0.25)


def _exact_delta(*, epsilon: float = 0.99, delta: float = 0.24) -> float:
    """Exact delta (e^epsilon - 1) delta/(2 (1 - delta)) of truncated Laplace noise.

    Args:
      epsilon: > 0.
      delta: truncation, in (0, e^-epsilon], so that the support reaches beyond 1.
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_interval("delta", delta, 0.0, math.exp(-epsilon), high_open=False)
    return delta * math.expm1(epsilon) / (2.0 * (1.0 - delta))


def _quadrature_delta(epsilon: float, delta: float) -> float:
    """The same by integrating the density, for a shift of 1."""
    end = truncated_laplace_support(epsilon, delta)
    nodes, step = panels([-end, 0.0, 1.0 - end, 1.0, end], 0.5 / epsilon)
    nodes, step = nodes[nodes < end], step[nodes < end]
    first = np.exp(-epsilon * np.abs(nodes))
    second = np.where(
        np.abs(nodes - 1.0) < end, np.exp(-epsilon * np.abs(nodes - 1)), 0
    )
    scale = epsilon / (2.0 * (1.0 - delta))
    excess = np.maximum(first - math.exp(epsilon) * second * (1.0 + 1e-13), 0.0)
    return float(scale * np.sum(step * excess))


def _stated_deltas(budget: Budget) -> Iterator[Case]:
    for epsilon, delta in ((0.99, 0.24), (0.95, 0.23)):
        exact = truncated_laplace_delta(epsilon, delta)
        yield _stated_delta(delta=delta), exact, f"{epsilon=}, {delta=}, shift 1"


def _exact_deltas(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.99, 0.24)]
    for _ in range(min(budget.cases, 100)):
        epsilon = float(generator.uniform(0.05, 3.0))
        delta = math.exp(-epsilon) * float(10.0 ** generator.uniform(-3.0, 0.0))
        settings.append((epsilon, delta))
    for epsilon, delta in settings:
        exact = _quadrature_delta(epsilon, delta)
        yield _exact_delta(epsilon=epsilon, delta=delta), exact, f"{epsilon=}, {delta=}"


# --- Theorem 5.2, margin (LT-E17) -----------------------------------------------------


def _total_delta(*, delta: float = 1e-3) -> float:
    """Delta claimed for the margin mechanism at 3 epsilon_1.

    Args:
      delta: in (0, 1).
    """
    return probability("delta", delta)


def _down_half(
    gamma: float, base_epsilon: float, truncation: float
) -> tuple[float, float]:
    """Chance that the best of Geom(gamma) draws is of the lower, and upper, half.

    Half of the candidates score -1 and half +1, with truncated Laplace noise on top.
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


def _margins(sparse: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        settings = [(10**3, 0.1, 1.0 / 3.0, 1e-3), (10**5, 0.1, 1.0 / 3.0, 1e-3)]
        if sparse:
            generator = np.random.default_rng(budget.seed)
            for _ in range(min(budget.cases, 20)):
                settings.append(
                    (
                        int(10 ** generator.uniform(1.0, 6.0)),
                        float(generator.uniform(0.01, 0.5)),
                        float(generator.uniform(0.05, 0.9)),
                        float(10.0 ** generator.uniform(-6.0, -1.0)),
                    )
                )
        for candidates, beta, base, delta in settings:
            gamma = beta / candidates
            truncation = gamma * delta if sparse else delta
            down, up = _down_half(gamma, base, truncation)
            growth = math.exp(3.0 * base)
            exact = max(0.5 - growth * down, up - growth * 0.5)
            where = f"K={candidates}, {beta=}, epsilon_1={base!r}, {truncation=:.3g}"
            claimed = _total_delta(delta=delta)
            yield claimed, exact, f"{where}: all equal, then half +1 and half -1"
            # The best score is above what equal candidates can reach.
            above = truncated_laplace_delta(base, truncation)
            seen = above / (above + gamma * (1.0 - above))
            yield claimed, seen, f"{where}: all move by 1, the best score is released"

    return cases


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm5.2-tlap-printed",
        source=f"{_PAPER}, proof of Theorem 5.2, third part",
        statement="Laplace noise of scale 1/epsilon truncated to "
        "+-log(1/delta)/epsilon is (epsilon, delta)-DP for epsilon < 1 and delta < "
        "1/4.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_stated_delta,
        check=at_most(_stated_deltas),
        holds=False,
        erratum="LT-E17",
        correction="Only if e^epsilon - 1 <= 2 (1 - delta): LT-Thm5.2-tlap.",
    ),
    Claim(
        id="LT-Thm5.2-tlap",
        source=f"{_PAPER}, proof of Theorem 5.2, corrected",
        statement="For delta <= e^-epsilon, Laplace noise of scale 1/epsilon truncated "
        "to +-log(1/delta)/epsilon has exactly delta (e^epsilon - 1)/(2 (1 - delta)) "
        "at epsilon.",
        kind="identity",
        relation=Relation.GENERAL,
        evaluate=_exact_delta,
        check=equal(_exact_deltas),
        erratum="LT-E17",
    ),
    Claim(
        id="LT-Thm5.2-margin-printed",
        source=f"{_PAPER}, Theorem 5.2, margin-based mechanism",
        statement="Random stopping at gamma = beta/K over truncated Laplace scores of "
        "support log(1/delta)/epsilon_1, hence a margin without K, is (3 epsilon_1, "
        "delta)-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_total_delta,
        check=at_most(_margins(sparse=False)),
        holds=False,
        erratum="LT-E17",
        correction="Delta adds up over K/beta draws, so the support must grow with log "
        "K: LT-Thm5.2-margin.",
    ),
    Claim(
        id="LT-Thm5.2-margin",
        source=f"{_PAPER}, Theorem 5.2, corrected",
        statement="Random stopping at gamma = beta/K over truncated Laplace scores of "
        "support log(1/(gamma delta))/epsilon_1 is (3 epsilon_1, delta)-DP, for "
        "e^(epsilon_1) - 1 <= 2 (1 - gamma delta).",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_total_delta,
        check=at_most(_margins(sparse=True), tolerance=1e-12),
        erratum="LT-E17",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E17",
        source=f"{_PAPER}, Theorem 5.2, margin-based mechanism",
        kind="statement",
        printed="Truncated Laplace noise is (epsilon, delta)-DP for epsilon < 1, delta "
        "< 1/4; a margin of order s log(1/(beta delta))/epsilon is enough, for every "
        "K.",
        correct="Where the support reaches beyond the sensitivity, the exact delta is "
        "delta (e^epsilon - 1)/(2 (1 - delta)). In the construction delta adds up "
        "over about K/beta draws: at a fixed truncation the mechanism becomes "
        "blatantly non-private as K grows. Truncate at gamma delta; the margin is "
        "then of order s log(K/(beta delta))/epsilon.",
        refuted=("LT-Thm5.2-tlap-printed", "LT-Thm5.2-margin-printed"),
        corrected=(
            "LT-Thm5.2-tlap",
            "LT-Thm5.2-margin",
            "LT-Thm5.2-margin-privacy",
            "LT-Thm5.2-margin-utility",
        ),
    ),
)
