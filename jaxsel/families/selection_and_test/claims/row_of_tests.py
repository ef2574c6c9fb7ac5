"""Cohen et al. 2022, Section 1.1: with which probability a row of Tests of one query says top."""

import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.families.selection_and_test.laws import prior
from jaxsel.families.selection_and_test.parameters import Count, Gamma
from jaxsel.language.checking import drawn, listed
from jaxsel.language.domains import number, probability
from jaxsel.language.papers import CL

Top = Annotated[float, number("h, that H answers top", above=0.0, at_most=1.0)]
Beta = Annotated[float, probability("chance of failure")]


@CL.identity("CL-Test-no-top", "Algorithm 1, exact")
def no_top(*, gamma: Gamma = 1.0, count: Count = 100, top: Top = 0.5) -> float:
    """All of tau Tests of an H that answers top with chance h answer bottom with probability gamma
    h^-gamma B(gamma, tau+1) I_h(gamma, tau+1)."""
    return float(laws.beta_binomial(count, gamma).pgf_tail(top))


def _draw(generator: np.random.Generator) -> tuple[float, int, float]:
    gamma = float(generator.choice([0.3, 0.5, 1.0, 2.0, 7.0]))
    return gamma, int(10.0 ** generator.uniform(0.0, 5.0)), generator.uniform(0.01, 1.0)


@no_top.equals(drawn("gamma count top", _draw, 100))
def quadrature(gamma, count, top):
    nodes = prior(gamma, count)
    chance = np.exp(count * np.log(nodes.rest + nodes.p * (1.0 - top)))
    yield float(nodes.weights @ chance), "quadrature"
    if gamma == 1.0:
        direct = -math.expm1((count + 1) * math.log1p(-top)) / ((count + 1) * top)
        yield direct, "closed form for gamma = 1"


@CL.utility("CL-Sec1.1-above", "Section 1.1")
def above(*, beta: Beta = 0.1) -> float:
    """With gamma = 1, a query at or above the threshold gets no top in 1/beta^2 Tests with
    probability at most beta."""
    return beta


below = CL.utility(
    "CL-Sec1.1-below",
    "Section 1.1",
    statement="For gamma = 1, a query (10/epsilon) log(1/beta) below its threshold gets a top in "
    "1/beta^2 Tests with probability at most beta.",
    loose="A Test answers top with probability p beta^10/2, so 1/beta^2 of them hardly do for a "
    "small beta; near beta = 1 they are 2, with probability 5/12 of a top.",
)(above.evaluate)


_BETAS = drawn("beta", lambda generator: 10.0 ** generator.uniform(-3.0, -0.001), 100)
_NEAR_ONE = listed("beta", 0.999999)


@above.bounds(_BETAS)
def at_the_threshold(beta):
    return no_top(count=math.ceil(beta**-2), top=0.5), "f = t, so that h = 1/2"


@below.bounds(_BETAS, _NEAR_ONE)
def far_below(beta):
    # f <= t - (10/epsilon) log(1/beta), noise Lap(1/epsilon)
    seen = float(laws.beta_binomial(math.ceil(beta**-2), 1.0).pgf_gap(0.5 * beta**10))
    return seen, "f = t - (10/epsilon) log(1/beta)"


@CL.utility("CL-Sec1.1-count", "Section 1.1, sharpened")
def needed(*, beta: Beta = 0.1, gamma: Gamma = 1.0) -> float:
    """In 2 (Gamma(gamma+1)/beta)^(1/gamma) Tests a query at or above the threshold gets no top with
    probability at most beta.

    Returns this number of Tests, before it is rounded up.
    """
    log_factor = float(special.gammaln(gamma + 1.0)) - math.log(beta)
    with np.errstate(over="ignore"):
        return 2.0 * float(np.exp(log_factor / gamma))


@needed.bounds()
def enough_tests(budget):
    for generator, point in zip(budget.draws(100), _BETAS(budget), strict=True):
        beta, gamma = point["beta"], generator.uniform(0.5, 4.0)

        def missed(tests, beta=beta, gamma=gamma):
            return beta, no_top(gamma=gamma, count=math.ceil(tests), top=0.5)

        yield {"beta": beta, "gamma": gamma}, missed
