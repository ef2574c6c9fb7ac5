"""Cohen et al. 2022, Sections 1.4.2 and 1.5.2: the noises that the introduction sketches.

CL-E18: one round of the exponential mechanism, and the sparse vector with Lap(b) on the
threshold and on each query; what the latter costs monotone neighbours is found here.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.families.sparse_vector.claims.cases import pair_cases, tight_cases
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import positive, probability
from jaxsel.language.papers import CL, JX

Beta = Annotated[float, probability("chance of a larger gap")]
Epsilon = Annotated[float, positive("1/epsilon is the scale of both noises")]
Scale = Annotated[float, positive("b of both Laplace noises")]


# --- One round of the exponential mechanism -------------------------------------------


def _missed(*, beta: Beta = 0.01) -> float:
    """Chance beta that one round of the exponential mechanism has a larger gap."""
    return beta


def _gaps(factor: float, cases: int) -> Callable[[Budget], Iterator[Case]]:
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


# --- Equal noises ---------------------------------------------------------------------


def _sketched(*, epsilon: Epsilon = 1.0) -> float:
    """Privacy parameter epsilon expected of the sparse vector that is sketched."""
    return epsilon


def _tripled(*, epsilon: Epsilon = 1.0) -> float:
    """Privacy parameter 3 epsilon of that sparse vector."""
    return 3.0 * epsilon


def _sparse_vectors(bound: Callable[..., float], cases: int) -> Callable[[Budget], Iterator[Case]]:
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


def _monotone(*, scale: Scale = 1.0) -> float:
    """Pure epsilon 2/b for monotone neighbours of AboveThreshold with equal noises."""
    return 2.0 / scale


def _drawn(generator: np.random.Generator) -> tuple[float, SparseNoise, str]:
    scale = float(generator.choice([0.3, 1.0, 3.0, 10.0]))
    return _monotone(scale=scale), SparseNoise(scale, scale), f"b={scale}"


STATEMENTS = (
    CL.misprint(
        "CL-E18",
        "Sections 1.4.2 and 1.5.2",
        "statement",
        printed="The exponential mechanism has a gap above log(m/beta)/epsilon with "
        "probability at most beta; the sparse vector adds Lap(1/epsilon) to the "
        "threshold and to each query.",
        correct="With weights e^(epsilon f/2) the gap is 2 log(m/beta)/epsilon: at the "
        "printed one m = 100, beta = 0.01 miss with probability 0.4975. That sparse "
        "vector is 3 epsilon-DP, attained as the number of queries grows.",
        refuted=(
            CL.utility(
                "CL-Sec1.4.2-gap-printed",
                "Section 1.4.2",
                "One round of the epsilon-DP exponential mechanism over m candidates has "
                "a gap of log(m/beta)/epsilon or more with probability at most beta.",
                _missed,
                at_most(_gaps(1.0, 0)),
            ),
            CL.privacy(
                "CL-Sec1.5.2-svt-printed",
                "Section 1.5.2",
                "The sparse vector with noise Lap(1/epsilon) on the threshold and on "
                "each query is epsilon-DP.",
                Relation.GENERAL,
                _sketched,
                at_most(_sparse_vectors(_sketched, 0)),
            ),
        ),
        corrected=(
            CL.utility(
                "CL-Sec1.4.2-gap",
                "Section 1.4.2, corrected",
                "One round of the epsilon-DP exponential mechanism over m candidates has "
                "a gap of 2 log(m/beta)/epsilon or more with probability at most beta.",
                _missed,
                at_most(_gaps(2.0, 200)),
            ),
            CL.privacy(
                "CL-Sec1.5.2-svt",
                "Section 1.5.2, corrected",
                "The sparse vector with noise Lap(1/epsilon) on the threshold and on "
                "each query is 3 epsilon-DP.",
                Relation.GENERAL,
                _tripled,
                at_most(_sparse_vectors(_tripled, 100)),
            ),
        ),
    ),
    JX.privacy(
        "SVT-equal-noise-monotone",
        "for the sketch in Cohen et al. 2022, Section 1.5.2",
        "With Lap(b) on the threshold and on each query, AboveThreshold is 2/b-DP for "
        "monotone neighbours (3/b for general ones: CL-Sec1.5.2-svt).",
        Relation.MONOTONE,
        _monotone,
        at_most(pair_cases(_drawn, Relation.MONOTONE)),
    ),
    JX.privacy(
        "SVT-equal-noise-monotone-tight",
        "for the sketch in Cohen et al. 2022, Section 1.5.2",
        "With Lap(b) twice, AboveThreshold loses 2/b, to within 1/1000, on 1001 zeros "
        "against (1^1000, 0).",
        Relation.MONOTONE,
        _monotone,
        at_least(tight_cases(_drawn, Relation.MONOTONE)),
    ),
)
