"""Cohen et al. 2022, Remark 1: how small an error that is never exceeded may be (CL-E17).

TLap(epsilon, delta) is Laplace noise of scale 1/epsilon truncated to
+-log(1/delta)/epsilon.
"""

import math
from typing import Annotated

from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_delta,
    truncated_laplace_support,
)
from jaxsel.language.checking import listed
from jaxsel.language.domains import number, probability
from jaxsel.language.papers import CL

Epsilon = Annotated[float, number("of the answer", above=0.0, at_most=700.0)]
Delta = Annotated[float, probability("of the answer")]


@CL.utility("CL-Rem1-printed", "Remark 1 and footnote 4")
def printed(*, epsilon: Epsilon = 1e-4, delta: Delta = 0.1) -> float:
    """An (epsilon, delta)-DP answer to one query whose error never exceeds e has e >=
    log(1/delta)/(10 epsilon)."""
    return -math.log(delta) / (10.0 * epsilon)


@CL.utility("CL-Rem1", "Remark 1 and footnote 4, corrected")
def least_error(*, epsilon: Epsilon = 1e-4, delta: Delta = 0.1) -> float:
    """An (epsilon, delta)-DP answer to one query whose error never exceeds e has e >= (log(1 +
    (e^epsilon - 1)/delta)/epsilon - 1)/2.

    The proof: if t neighbours separate two inputs and t > 2 e, no answer is possible on both, so
    that group privacy gives 1 <= delta (e^(t epsilon) - 1)/(e^epsilon - 1).
    """
    grown = math.log1p(math.expm1(epsilon) / delta) / epsilon
    return (grown - 1.0) / 2.0


def _uniform_error(delta: float) -> float:
    """The largest error of uniform noise that is (0, delta)-DP for a query of sensitivity 1."""
    return 1.0 / (2.0 * delta)


@printed.bounds_below(listed("epsilon delta", (1e-4, 0.1), (1e-3, 0.01)))
def small_errors(delta):
    return _uniform_error(delta), f"uniform noise on +-{_uniform_error(delta):g}"


@least_error.bounds_below()
def all_errors(budget):
    settings = [(1e-4, 0.1), (1e-3, 0.01), (0.5, 1e-6)]
    for generator in budget.draws(200):
        logs = generator.uniform([-5.0, -8.0], [0.0, -0.31])
        settings.append(tuple((10.0**logs).tolist()))
    for epsilon, delta in settings:
        yield {"epsilon": epsilon, "delta": delta}, _uniform_error(delta), "uniform noise"
        # TLap, whose delta at epsilon is known exactly.
        support = truncated_laplace_support(epsilon, delta)
        exact = truncated_laplace_delta(epsilon, delta)
        if 0.0 < exact < 1.0:
            yield {"epsilon": epsilon, "delta": exact}, support, f"TLap({epsilon!r}, {delta!r})"


CL_E17 = CL.misprint(
    "CL-E17",
    "Remark 1 and footnote 4",
    "statement",
    printed="An error of log(1/delta)/(10 epsilon) is necessary for accuracy with "
    "probability one, for one query.",
    correct="Only for epsilon of at least order delta log(1/delta): uniform noise "
    "on +-1/(2 delta) is (0, delta)-DP.",
    refuted=[printed],
    corrected=[least_error],
)
