"""Cohen et al. 2022, Theorem 3: random stopping, and to whom it is attributed (CL-E19)."""

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.tuning.bounds.random_stopping import hard_stop_approximate, stopping_law
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import positive, probability
from jaxsel.language.papers import CL

Beta = Annotated[float, probability("chance of failure; gamma is half of it")]
Delta = Annotated[float, probability("of the base")]
Constant = Annotated[float, positive("C")]


def _order_delta(*, beta: Beta = 0.01, delta: Delta = 1e-12, constant: Constant = 10.0) -> float:
    """Delta C delta/beta that "O(delta/beta)" stands for."""
    return constant * delta / beta


def _hard_stop_deltas(budget: Budget) -> Iterator[Case]:
    for constant, delta in ((10.0, 1e-8), (100.0, 1e-10), (1000.0, 1e-12)):
        known = hard_stop_approximate(0.5, delta, 0.005, delta).delta
        claimed = _order_delta(delta=delta, constant=constant)
        where = f"beta=0.01, gamma=beta/2, {delta=}, delta_2=delta, C={constant:g}"
        yield claimed, known, where


def _twice_delta(*, beta: Beta = 0.01, delta: Delta = 1e-3) -> float:
    """Delta 2 delta/beta of random stopping at gamma = beta/2, at 3 epsilon."""
    return _order_delta(beta=beta, delta=delta, constant=2.0)


def _stopping_deltas(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(0.01, 1e-3, 0.5)]
    for _ in range(min(budget.cases, 200)):
        epsilon = float(generator.uniform(0.05, 1.0))
        logs = generator.uniform([-3.0, -6.0], [-0.05, -1.0])
        settings.append((*(10.0**logs).tolist(), epsilon))
    for beta, delta, epsilon in settings:
        pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-3, delta)
        tuned = [stopping_law(side, beta / 2.0) for side in pair]
        exact = float(profile_delta(tuned[0], tuned[1], 3.0 * epsilon))
        where = f"{beta=!r}, {delta=!r}, {epsilon=!r}, three blocks and a private outcome"
        yield _twice_delta(beta=beta, delta=delta), exact, where


STATEMENTS = (
    CL.misprint(
        "CL-E19",
        "Theorem 3",
        "proof",
        printed="(3 epsilon, O(delta/beta))-DP is attributed to Liu & Talwar 2019.",
        correct="Their Theorem 3.4 has sqrt(2 delta) T + delta_2, and its proof rests on "
        "false lemmas (LT-E11, LT-E12). With the decomposition of Kairouz, Oh & "
        "Viswanath (2015), random stopping is (3 epsilon, delta/(gamma + delta (1 - "
        "gamma)))-DP, at most 2 delta/beta for gamma = beta/2.",
        refuted=(
            CL.privacy(
                "CL-Thm3-attribution-printed",
                "Theorem 3",
                "Liu & Talwar 2019 (Theorem 3.4) give (3 epsilon, O(delta/beta))-DP for "
                "a better-than-median algorithm.",
                Relation.BASE,
                _order_delta,
                at_most(_hard_stop_deltas, tolerance=1e-12),
            ),
        ),
        corrected=(
            CL.privacy(
                "CL-Thm3",
                "Theorem 3",
                "Random stopping at gamma = beta/2 over an (epsilon, delta)-DP base is "
                "(3 epsilon, 2 delta/beta)-DP.",
                Relation.BASE,
                _twice_delta,
                at_most(_stopping_deltas, tolerance=1e-12),
            ),
        ),
    ),
)
