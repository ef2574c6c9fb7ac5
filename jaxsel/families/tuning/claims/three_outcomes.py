"""Three outcomes on which the generic bound is tight: Appendix D.3."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, equal
from jaxsel.errors import check_interval
from jaxsel.families.tuning.claims.base_pairs import tuned_pair

_PAPER = "Papernot & Steinke 2022"


def _middle_mass(
    *, repetitions: str = "geometric:gamma=0.01", b: float = 0.001, c: float = 0.9
) -> float:
    """f(b + c) - f(c): how often the middle of three outcomes is the best of K.

    Args:
      repetitions: law of K.
      b, c: probabilities of the middle and of the worst outcome.
    """
    b = check_interval("b", b, 0.0, 1.0, low_open=False)
    c = check_interval("c", c, 0.0, 1.0 - b, low_open=False, high_open=False)
    law = laws.parse(repetitions)
    return float(law.pgf(b + c) - law.pgf(c))


def _three_outcome_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        a, b, c = generator.dirichlet(np.full(3, 0.7)).tolist()
        count = int(generator.integers(1, 30))
        for text in (
            f"binomial:count={count},probability={float(generator.uniform(0.02, 1.0))!r}",
            f"point_mass:count={count}",
        ):
            k = np.arange(count + 1)
            pmf = laws.parse(text).pmf(k)
            # drawn k times: the best is the middle one if no draw is the first outcome
            # and not all are the last
            enumerated = float(np.sum(pmf * ((1.0 - a) ** k - c**k)))
            claimed = _middle_mass(repetitions=text, b=b, c=c)
            yield claimed, enumerated, f"b={b!r}, c={c!r}, K ~ {text}"


def _tight_generic(
    *,
    order: float = 60.0,
    epsilon: float = 1.0,
    eta: float = 1.0,
    gamma: float = 0.01,
    middle: float = 1e-9,
) -> float:
    """D_a(Q || Q') + log(f'(c)^a f'(c')^(1-a))/(a-1) on three outcomes.

    Args:
      order: a, in (1, inf).
      epsilon: of the pair, > 0.
      eta, gamma: of the truncated negative binomial law of K.
      middle: probability of the middle outcome on its rarer side; the best outcome has
        probability 0.02, and e^epsilon times that on the second side.
    """
    order = check_interval("order", order, 1.0, math.inf)
    first, second = pairs.three_outcome(epsilon, 0.02, middle)
    law = laws.truncated_negative_binomial(eta, gamma)
    # f'(c), c = 1 - u: the mass u of the two better outcomes
    own, other = (
        float(law.log_pgf_derivative_tail(side[:2].sum())) for side in (first, second)
    )
    ratio = (order * own + (1.0 - order) * other) / (order - 1.0)
    return float(renyi_divergence(first, second, order)) + ratio


def _tight_generic_cases(budget: Budget) -> Iterator[Case]:
    for eta, gamma in ((0.0, 0.01), (1.0, 0.01), (5.0, 0.05)):
        law = laws.truncated_negative_binomial(eta, gamma)
        for order, middle in ((60.0, 1e-9), (80.0, 1e-12)):
            pair = pairs.three_outcome(1.0, 0.02, middle)
            exact = float(renyi_divergence(*tuned_pair(pair, law), order))
            claimed = _tight_generic(order=order, eta=eta, gamma=gamma, middle=middle)
            where = f"order {order:g}, eta={eta:g}, gamma={gamma:g}, middle={middle:g}"
            yield claimed, exact, where


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="PS-D3",
        source=f"{_PAPER}, Appendix D.3",
        statement="The best of K draws from (1-b-c, b, c), best outcome first, has the law "
        "(1 - f(b+c), f(b+c) - f(c), f(c)).",
        kind="identity",
        relation=None,
        evaluate=_middle_mass,
        check=equal(_three_outcome_cases, 1e-10),
    ),
    Claim(
        id="PS-D3-tight",
        source=f"{_PAPER}, Appendix D.3",
        statement="On three outcomes whose middle one is rare but dominates D_a(Q || Q'), "
        "D_a(A || A') tends to D_a(Q || Q') + log(f'(c)^a f'(c')^(1-a))/(a-1), which "
        "Lemma 7 gives.",
        kind="identity",
        relation=Relation.BASE,
        evaluate=_tight_generic,
        # first order in the middle mass: off by about middle / gamma
        check=equal(_tight_generic_cases, 1e-6),
    ),
)
