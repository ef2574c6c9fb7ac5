"""The folklore that a fixed number of runs costs as little as a random one, and its refutation.

Papernot & Steinke 2022, Proposition 17, and Liu & Talwar 2019, Appendix B.1, refute it.
"""

import math

from jaxsel import repetitions as laws
from jaxsel.language.base import Pair, Relation
from jaxsel.language.checking import CONFIDENCE
from jaxsel.language.papers import FOLKLORE
from jaxsel.tuning.parameters import PositiveEpsilon

_RUNS, _EPSILON = 5, 1.0


@FOLKLORE.privacy(
    "FIXED-K-folklore",
    "against it Liu & Talwar 2019, Appendix B.1, and Papernot & Steinke 2022, Proposition 17",
    Relation.BASE,
    holds=False,
    correction="It costs K epsilon, attained by randomised response: PS-Prop17, LT-B.1.",
)
def folklore(*, epsilon: PositiveEpsilon = _EPSILON):
    """Releasing the best of a fixed number of runs costs at most 3 epsilon, as with random
    stopping."""
    return 3.0 * epsilon


@folklore.bounds()
def audited(budget):
    """The lower bound of an audit, by which a user would refute the claim from trials alone."""
    from jaxsel.auditing.audit import audit
    from jaxsel.families.private_tuning.bases import randomised_response
    from jaxsel.families.private_tuning.private_tuning import private_tuning

    params = {"epsilon": _EPSILON, "repetitions": laws.point_mass(_RUNS)}
    why = "no run answers 1: five privacy losses of the same sign"
    pair = Pair("randomised-response", 1, 0, Relation.BASE, params, why)
    seen = audit(
        private_tuning(randomised_response(), "point_mass", method="rank"),
        pair,
        trials=max(budget.trials, 2),
        confidence=CONFIDENCE,
        seed=budget.seed,
        progress=False,
    )
    lower = seen.bound.lower
    # A lower bound below the claimed epsilon does not confirm it: NaN makes this inconclusive.
    yield (
        {"epsilon": _EPSILON},
        lambda claimed: (claimed, lower if lower > claimed else math.nan),
        f"audited lower bound at confidence 1 - 1e-6 from {seen.trials} trials a side, best of "
        f"{_RUNS} randomised responses, event {' or '.join(seen.event_labels)}",
    )
