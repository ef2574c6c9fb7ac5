"""Parameters that the claims on the percentile sparse vectors share."""

from typing import Annotated

from jaxsel.families.percentile import settings
from jaxsel.families.percentile.pipeline_laws import FULL_SLACK
from jaxsel.language.domains import number, probability, whole

Beta = Annotated[float, settings.BETA]
SmallBeta = Annotated[float, number("failure probability", above=0.0, at_most=0.9)]
Delta = Annotated[float, probability("delta")]
Target = Annotated[float, settings.TARGET]
Slack = Annotated[float, settings.SLACK]
FullSlack = Annotated[float, FULL_SLACK]
BaseEpsilon = Annotated[float, settings.BASE_EPSILON]
FinalEpsilon = Annotated[float, settings.FINAL_EPSILON]
Queries = Annotated[int, whole("T, how many queries there are", at_least=2)]
Thresholds = Annotated[int, whole("R, how many thresholds there are", at_least=2)]
Samples = Annotated[int, settings.SAMPLES]
Shift = Annotated[float, settings.SHIFT]


def beta_itself(*, beta: Beta = 0.1) -> float:
    """Failure probability beta."""
    return beta


def beta_and_half_delta(*, beta: Beta = 0.1, delta: Delta = 1e-3) -> float:
    """Failure probability beta + delta/2."""
    return beta + delta / 2.0


def final_itself(*, final_epsilon: FinalEpsilon = 1.0) -> float:
    """epsilon_3 itself, whatever epsilon_1 is."""
    return final_epsilon
