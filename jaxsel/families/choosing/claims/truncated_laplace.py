"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Section 3: truncated Laplace noise.

TLap(epsilon, delta) is Laplace noise of scale 1/epsilon that is conditioned on having at most
the size log(1/delta)/epsilon.
"""

import math
from typing import Annotated

import numpy as np

from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_delta
from jaxsel.language.base import Relation
from jaxsel.language.checking import listed
from jaxsel.language.domains import probability
from jaxsel.language.papers import CL

Delta = Annotated[float, probability("where the noise is cut off")]


@CL.privacy("CL-TLap-printed", "Section 3, notation", Relation.GENERAL)
def printed(*, delta: Delta = 0.5) -> float:
    """TLap(epsilon, delta) is (epsilon, delta)-DP at sensitivity 1."""
    return delta


@printed.bounds(listed("epsilon delta", (1.0, 0.5), (1.0, 0.2), (0.99, 0.3)))
def wide_noises(epsilon, delta):
    return truncated_laplace_delta(epsilon, delta), "shift 1"


@CL.privacy("CL-TLap", "Section 3, notation, corrected", Relation.GENERAL)
def narrow(*, delta: Delta = 0.5) -> float:
    """TLap(epsilon, delta) is (epsilon, delta)-DP at sensitivity 1 if e^epsilon - 1 <= 2 (1 -
    delta)."""
    return delta


@narrow.bounds(tolerance=1e-12)
def narrow_noises(budget):
    generator = np.random.default_rng(budget.seed)
    settings = [(1.0, 0.14), (0.5, 0.5), (math.log(1.5), 0.75)]
    for _ in range(min(budget.cases, 200)):
        delta = float(generator.uniform(1e-6, 0.999))
        most = math.log(3.0 - 2.0 * delta)
        settings.append((float(most * generator.choice([1.0, generator.uniform()])), delta))
    for epsilon, delta in settings:
        for shift in (1.0, float(generator.uniform())):
            exact = truncated_laplace_delta(epsilon, delta, shift)
            yield {"delta": delta}, exact, f"{epsilon=!r}, {shift=!r}"


CL_E11 = CL.misprint(
    "CL-E11",
    "Section 3, notation",
    "statement",
    printed="TLap(epsilon, delta) is (epsilon, delta)-DP.",
    correct="If e^epsilon - 1 <= 2 (1 - delta), at epsilon = 1 for delta <= 0.1408. The exact "
    "delta is delta (e^epsilon - 1)/(2 (1 - delta)) for delta <= e^-epsilon, and 1/2 + (1 - "
    "e^-epsilon/delta)/(2 (1 - delta)) for delta between e^-epsilon and e^(-epsilon/2): 0.764 "
    "for (1, 1/2).",
    refuted=[printed],
    corrected=[narrow],
)
