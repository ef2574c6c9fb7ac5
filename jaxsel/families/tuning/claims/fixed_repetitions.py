"""What does not hold: releasing the best of a fixed number of runs.

Refuted by the audit, from simulated trials alone, as a user would refute it.
"""

from jaxsel import repetitions as laws
from jaxsel.auditing import audit
from jaxsel.base import Budget, Claim, Pair, Relation, Verdict
from jaxsel.errors import check_positive
from jaxsel.families.tuning.bases import randomised_response
from jaxsel.families.tuning.private_tuning import private_tuning

# Of all audits that enter one verdict, together.
CONFIDENCE = 1.0 - 1e-6

_COUNT = 5
_EPSILON = 1.0


def _folklore(*, epsilon: float = _EPSILON) -> float:
    """Pure epsilon 3 epsilon that random stopping has, hoped for with any fixed K.

    Args:
      epsilon: of one run, > 0.
    """
    return 3.0 * check_positive("epsilon", epsilon)


def _audited(budget: Budget) -> Verdict:
    base = randomised_response()
    params = {"epsilon": _EPSILON, "repetitions": laws.point_mass(_COUNT)}
    why = "no run answers 1: five privacy losses of the same sign"
    pair = Pair("randomised-response", 1, 0, Relation.BASE, params, why)
    seen = audit(
        private_tuning(base, "point_mass", method="rank"),
        pair,
        trials=max(budget.trials, 2),
        confidence=CONFIDENCE,
        seed=budget.seed,
        progress=False,
    )
    claimed, lower = _folklore(epsilon=_EPSILON), seen.bound.lower
    # A lower bound below the claim says nothing for it.
    outcome = "refuted" if lower > claimed else "inconclusive"
    detail = (
        f"audited lower bound at confidence 1 - 1e-6 from {seen.trials} trials a side, "
        f"best of {_COUNT} randomised responses with epsilon={_EPSILON:g}, event "
        f"{' or '.join(seen.event_labels)}"
    )
    return Verdict(outcome, claimed, lower, claimed - lower, 1, detail)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="FIXED-K-folklore",
        source="folklore; against it Liu & Talwar 2019, Appendix B.1, and Papernot & "
        "Steinke 2022, Proposition 17",
        statement="Releasing the best of a fixed number of runs costs at most 3 epsilon, "
        "as with random stopping.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_folklore,
        check=_audited,
        holds=False,
        correction="It costs K epsilon, attained by randomised response: PS-Prop17, "
        "LT-B.1.",
    ),
)
