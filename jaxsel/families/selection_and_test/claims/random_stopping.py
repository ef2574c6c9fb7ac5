"""Cohen et al. 2022, Theorem 3: random stopping, and to whom it is attributed (CL-E19)."""

from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, listed
from jaxsel.language.domains import positive, probability
from jaxsel.language.papers import CL
from jaxsel.tuning.bounds.random_stopping import hard_stop_approximate, stopping_law

Beta = Annotated[float, probability("chance of failure; gamma is half of it")]
Delta = Annotated[float, probability("of the base")]
Constant = Annotated[float, positive("C")]


@CL.privacy("CL-Thm3-attribution-printed", "Theorem 3", Relation.BASE)
def attribution(*, beta: Beta = 0.01, delta: Delta = 1e-12, constant: Constant = 10.0) -> float:
    """Liu & Talwar 2019 (Theorem 3.4) give (3 epsilon, O(delta/beta))-DP for a better-than-median
    algorithm.

    Returns C delta/beta, which is meant by "O(delta/beta)".
    """
    return constant * delta / beta


@attribution.bounds(
    listed("beta delta constant", (0.01, 1e-8, 10.0), (0.01, 1e-10, 100.0), (0.01, 1e-12, 1000.0)),
    tolerance=1e-12,
)
def hard_stops(beta, delta):
    found = hard_stop_approximate(0.5, delta, beta / 2.0, delta)
    return found.delta, "gamma=beta/2, delta_2=delta"


@CL.privacy("CL-Thm3", "Theorem 3", Relation.BASE)
def stopping(*, beta: Beta = 0.01, delta: Delta = 1e-3) -> float:
    """Random stopping at gamma = beta/2 over an (epsilon, delta)-DP base is (3 epsilon, 2
    delta/beta)-DP."""
    return attribution(beta=beta, delta=delta, constant=2.0)


def _draw(generator: np.random.Generator) -> tuple[float, ...]:
    epsilon, logs = generator.uniform(0.05, 1), generator.uniform([-3.0, -6.0], [-0.05, -1.0])
    return epsilon, *(10.0**logs).tolist()


@stopping.bounds(drawn("epsilon beta delta", _draw, 200, (0.5, 0.01, 1e-3)), tolerance=1e-12)
def exact_deltas(epsilon, beta, delta):
    pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-3, delta)
    first, second = (stopping_law(side, beta / 2.0) for side in pair)
    exact = float(profile_delta(first, second, 3.0 * epsilon))
    return exact, "three blocks and a private outcome"


CL_E19 = CL.misprint(
    "CL-E19",
    "Theorem 3",
    "proof",
    printed="(3 epsilon, O(delta/beta))-DP is attributed to Liu & Talwar 2019.",
    correct="Their Theorem 3.4 has sqrt(2 delta) T + delta_2, and its proof rests on "
    "false lemmas (LT-E11, LT-E12). With the decomposition of Kairouz, Oh & "
    "Viswanath (2015), random stopping is (3 epsilon, delta/(gamma + delta (1 - "
    "gamma)))-DP, at most 2 delta/beta for gamma = beta/2.",
    refuted=[attribution],
    corrected=[stopping],
)
