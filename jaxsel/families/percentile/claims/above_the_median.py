"""Claims of Liu & Talwar 2019, Corollary 4.2: Algorithm 3 with the medians as target, p* = 1/2."""

import numpy as np

from jaxsel.families.percentile.claims.above_threshold import privacy_cases
from jaxsel.families.percentile.claims.formulas import beta_itself, final_itself
from jaxsel.families.percentile.laws import oracle_law
from jaxsel.families.percentile.parameters import SmallBeta
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, listed
from jaxsel.language.papers import LT


@LT.utility("LT-Cor4.2(b)", "Corollary 4.2(b), corrected", erratum="LT-E2")
def early(*, beta: SmallBeta = 0.1) -> float:
    """For p* = 1/2 and beta <= 0.9, with a = 12 epsilon_1/epsilon_3, Algorithm 3 halts at some
    query R with p_R <= beta^a/(beta^a + (R+1)^a) with probability at most beta."""
    return beta


@LT.utility(
    "LT-Cor4.2(c)",
    "Corollary 4.2(c), corrected",
    erratum="LT-E2",
    formula=early,
    loose="a late halt needs the first query that is too high to fail, which it does with "
    "probability (2/3) (beta/3)^(3/2) at most, below 0.13 beta",
)
def late():
    """For p* = 1/2 and beta <= 0.9, with a = 12 epsilon_1/epsilon_3, Algorithm 3 halts at some
    query R after an i < R with p_i >= (R+1)^a/(beta^a + (R+1)^a) with probability at most beta."""


def _low_share(ratio: np.ndarray | float, power: float) -> np.ndarray:
    """The share p whose odds Phi = p/(1 - p) are ratio^power: ratio^power/(1 + ratio^power)."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.asarray(ratio) ** -power)


def _stream(generator):
    """Random beta, exponent a, and logarithms of how far each query's ratio is inside its bound."""
    power = float(generator.uniform(0.1, 3.0))
    inside = generator.uniform(0.0, 3.0, int(generator.integers(1, 9)))
    return float(generator.uniform(0.01, 0.9)), power, inside


# Streams at the bound of Corollary 4.2 or up to a few log-odds inside it.
_KNOWN = ((0.1, 1.0, np.zeros(1)), (0.5, 2.0, np.zeros(30)), (0.9, 0.5, np.zeros(10)))
_STREAMS = listed("beta power inside", *_KNOWN), drawn("beta power inside", _stream, 60)
_LONG = listed("beta power inside", (0.9, 0.5, np.zeros(100)))
_LIKELY = listed("beta power inside", (0.999, 0.5, np.zeros(0)))


@LT.utility(
    "LT-Cor4.2(d)",
    "Corollary 4.2(d), corrected",
    erratum="LT-E1",
    formula=beta_itself,
    loose="the far query fails with probability (4 beta^(3/2) - beta^3)/6 at most, which is below "
    "beta/2 and near it as beta comes near 1",
)
def far():
    """For p* = 1/2, with a = 12 epsilon_1/epsilon_3, if p_i >= 1 - beta^a/(1 + beta^a), Algorithm 3
    answers queries 1 to i all with 'below' with probability at most beta."""


def _law(shares: np.ndarray, power: float) -> np.ndarray:
    """The exact law of Algorithm 3's halt at p* = 1/2, with a = 12 epsilon_1/epsilon_3 = power."""
    return oracle_law(shares, target=0.5, base_epsilon=power, final_epsilon=12.0)


@early.bounds(*_STREAMS, _LONG)
def low_shares(beta, power, inside):
    """The exact probability of halting too early on a stream of low queries."""
    ratio = beta / (np.arange(1.0, inside.size + 1.0) + 1.0)
    shares, bound = _low_share(ratio * np.exp(-inside), power), _low_share(ratio, power)
    return float(np.sum(_law(shares, power)[:-1][shares <= bound * (1 + 1e-12)]))


@late.bounds(*_STREAMS)
def high_shares(beta, power, inside):
    """The exact probability of halting too late on a stream of rising queries."""
    halts = np.arange(1.0, inside.size + 1.0)
    # The first query is so high that a halt at any later R counts as late.
    shares = _low_share((halts + 2.0) / beta * np.exp(inside), power)
    highest = np.maximum.accumulate(shares)[:-1]
    bound = _low_share((halts[1:] + 1.0) / beta, power)
    return float(np.sum(_law(shares, power)[1:-1][highest >= bound * (1 - 1e-12)]))


@far.bounds(*_STREAMS, _LIKELY)
def last_share(beta, power, inside):
    """The exact probability that all queries are answered 'below', the last being far above."""
    last = float(_low_share(1.0 / beta, power))
    return float(_law(np.append(_low_share(np.exp(-inside), power), last), power)[-1])


@LT.privacy("LT-Cor4.2(a)", "Corollary 4.2(a)", Relation.BASE, formula=final_itself)
def private():
    """Over epsilon_1-DP bases Algorithm 3 with p* = 1/2 is epsilon_3-DP."""


private.bounds(target=0.5)(privacy_cases)
