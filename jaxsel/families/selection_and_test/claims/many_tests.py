"""Cohen et al. 2022, Theorem 2: Tests until c of them answered top."""

import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import (
    exact_epsilon,
    profile_delta_of_logs,
)
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most, equal
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.selection_and_test.bounds import (
    interaction_epsilon,
    known_chance_epsilon,
    tests_epsilon,
    tests_epsilon_simple,
)
from jaxsel.families.selection_and_test.claims.many_tests_errata import _ratio_delta
from jaxsel.families.selection_and_test.laws import (
    Prior,
    TestCall,
    no_top_chance,
    prior,
    top_after_bottoms,
    transcript_law,
)

_PAPER = "Cohen et al. 2022"
_SOURCE = f"{_PAPER}, Theorem 2"
_CERTAIN = Prior(np.ones(1), np.zeros(1), np.ones(1))  # p = 1, known


def _pure(*, epsilon: float = 1.0, gamma: float = 1.0, tops: int = 2) -> float:
    """(2 c + gamma) epsilon of Tests until c tops.

    Args:
      epsilon: of every H, > 0.
      gamma: exponent of the law of p, > 0.
      tops: c, at least 1.
    """
    return interaction_epsilon(epsilon, gamma, 0, check_integer("tops", tops, 1))


def _tight(epsilon: float, gamma: float, bottoms: int, tops: int) -> float:
    """Exact loss of n bottoms and then c tops, each as far apart as it may be."""
    rare = 1.0 / (1.0 + math.exp(epsilon))
    ratio = math.exp(epsilon)
    first = top_after_bottoms(gamma, bottoms, rare, tops, rare * ratio)
    return first - top_after_bottoms(gamma, bottoms, rare * ratio, tops, rare)


def _settings(budget: Budget):
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 150)):
        epsilon = float(generator.uniform(0.02, 2.0))
        gamma = float(np.exp(generator.uniform(-2.0, 3.0)))
        yield generator, epsilon, gamma, int(generator.integers(1, 7))


def _pure_cases(budget: Budget) -> Iterator[Case]:
    for generator, epsilon, gamma, tops in _settings(budget):
        bottoms = int(10.0 ** generator.uniform(0.0, 7.0))
        claimed = _pure(epsilon=epsilon, gamma=gamma, tops=tops)
        where = f"{epsilon=!r}, {gamma=!r}, {tops=}"
        exact = _tight(epsilon, gamma, bottoms, tops)
        yield claimed, exact, f"{bottoms} bottoms and then {tops} tops, {where}"
        if gamma < 0.3:
            continue
        chances = generator.uniform(0.0, 1.0, 3) ** 2
        sides = np.array([pairs.extreme_neighbours(float(h), epsilon) for h in chances])
        other = sides[[0, 1, 2], generator.integers(0, 2, 3)]
        counts = generator.choice([1, 3, 30, 1000], 3)
        found = [
            transcript_law(
                [
                    TestCall(np.array([h]), int(count), tops)
                    for h, count in zip(side, counts, strict=True)
                ],
                gamma,
                limit=tops,
            ).probabilities
            for side in (chances, other)
        ]
        where = f"rows of {counts.tolist()} tests with {chances.tolist()}, {where}"
        yield claimed, exact_epsilon(*found), where


def _nearly(*, epsilon: float = 1.0, gamma: float = 1.0, tops: int = 2) -> float:
    """0.999 (2 c + gamma) epsilon: what Tests until c tops lose at worst, at least.

    Args:
      epsilon: of every H, > 0.
      gamma: exponent of the law of p, > 0.
      tops: c, at least 1.
    """
    return 0.999 * _pure(epsilon=epsilon, gamma=gamma, tops=tops)


def _nearly_cases(budget: Budget) -> Iterator[Case]:
    for _, epsilon, gamma, tops in _settings(budget):
        claimed = _nearly(epsilon=epsilon, gamma=gamma, tops=tops)
        exact = _tight(epsilon, gamma, 10_000_000, tops)
        where = f"10^7 bottoms and then {tops} tops, {epsilon=!r}, {gamma=!r}"
        yield claimed, exact, where


def _approximate(
    *, epsilon: float = 0.1, gamma: float = 1.0, tops: int = 100, delta: float = 1e-6
) -> float:
    """Epsilon at delta of Tests until c tops, from the exact Renyi rate.

    Args:
      epsilon: of every H, > 0.
      gamma: exponent of the law of p, > 0.
      tops: c, at least 1.
      delta: in (0, 1).
    """
    return tests_epsilon(epsilon, gamma, tops, probability("delta", delta))


def _randomised_tests(
    epsilon: float, tops: int, count: int, nodes: Prior
) -> list[np.ndarray]:
    """Logarithms of the exact laws, both sides, of randomised response until c tops."""
    low = special.expit(-epsilon)
    ends = np.arange(tops, count + 1.0)[:, None]
    fewer = np.arange(tops + 0.0)[:, None]
    rows = []
    for top in (low, 1.0 - low):
        hit, stay = np.log(nodes.p * top), np.log(nodes.rest + nodes.p * (1.0 - top))
        # The place of the last of c tops, and the number of tops if it does not come.
        last = _log_choose(ends - 1.0, tops - 1.0) + tops * hit + (ends - tops) * stay
        some = _log_choose(count, fewer) + fewer * hit + (count - fewer) * stay
        # Without exp: beyond 700 tops of epsilon 1 chances are below the least float.
        row = np.concatenate([some, last])
        rows.append(special.logsumexp(row, axis=1, b=nodes.weights))
    return [row - special.logsumexp(row) for row in rows]


def _log_choose(n, k):
    return (
        special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1)
    )


def _approximate_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 40)):
        epsilon = float(10.0 ** generator.uniform(-2.0, 0.0))
        delta = float(10.0 ** generator.uniform(-6.0, -0.3))
        tops = int(10.0 ** generator.uniform(0.0, 3.0))
        where = f"{epsilon=!r}, gamma=1, c={tops}, {delta=!r}"
        level = known_chance_epsilon(epsilon, tops, delta)
        found = _randomised_tests(epsilon, tops, 4 * tops + 40, _CERTAIN)
        seen = profile_delta_of_logs(found[0], found[1], level)
        yield delta, seen, f"randomised response at p=1, {where}, {level=!r}"
        level = _approximate(epsilon=epsilon, tops=2 * tops, delta=delta)
        seen = _ratio_delta(epsilon, tops, level)
        yield delta, seen, f"learning p, then using it, twice {where}, {level=!r}"
        if tops <= 20:
            level = _approximate(epsilon=epsilon, tops=tops, delta=delta)
            nodes = prior(1.0, 200, tops)
            found = _randomised_tests(epsilon, tops, 200, nodes)
            seen = profile_delta_of_logs(found[0], found[1], level)
            yield delta, seen, f"randomised response, {where}, {level=!r}"


def _simple(
    *, epsilon: float = 0.1, gamma: float = 1.0, tops: int = 100, delta: float = 1e-6
) -> float:
    """Epsilon at delta of Tests until c tops, as in CL-Thm2-approximate.

    Args:
      epsilon: of every H, > 0.
      gamma: exponent of the law of p, > 0.
      tops: c, at least 1.
      delta: in (0, 1).
    """
    return tests_epsilon_simple(epsilon, gamma, tops, delta)


def _simple_cases(budget: Budget) -> Iterator[Case]:
    for generator, epsilon, gamma, _ in _settings(budget._replace(cases=60)):
        tops = int(10.0 ** generator.uniform(0.0, 5.0))
        delta = float(10.0 ** generator.uniform(-9.0, -0.3))
        settings = {"epsilon": epsilon, "gamma": gamma, "tops": tops, "delta": delta}
        yield _simple(**settings), _approximate(**settings), f"{settings}"


# --- What a row of Tests says ---------------------------------------------------------


def _no_top(*, gamma: float = 1.0, count: int = 100, top: float = 0.5) -> float:
    """P[no top in tau Tests] = gamma h^-gamma B(gamma, tau+1) I_h(gamma, tau+1).

    Args:
      gamma: exponent of the law of p, > 0.
      count: tau, at least 1.
      top: h in (0, 1], the chance that H answers top.
    """
    return float(no_top_chance(gamma, count, top))


def _no_top_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        gamma = float(generator.choice([0.3, 0.5, 1.0, 2.0, 7.0]))
        count = int(10.0 ** generator.uniform(0.0, 5.0))
        top = float(generator.uniform(0.01, 1.0))
        nodes = prior(gamma, count)
        chance = np.exp(count * np.log(nodes.rest + nodes.p * (1.0 - top)))
        where = f"{gamma=:g}, tau={count}, h={top!r}"
        claimed = _no_top(gamma=gamma, count=count, top=top)
        yield claimed, float(nodes.weights @ chance), f"quadrature, {where}"
        if gamma == 1.0:
            direct = -math.expm1((count + 1) * math.log1p(-top)) / ((count + 1) * top)
            yield claimed, direct, f"for gamma = 1, {where}"


def _level(*, beta: float = 0.1) -> float:
    """Failure probability beta of a row of 1/beta^2 Tests.

    Args:
      beta: in (0, 1).
    """
    return check_interval("beta", beta, 0.0, 1.0)


def _betas(budget: Budget) -> Iterator[float]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 100)):
        yield float(10.0 ** generator.uniform(-3.0, -0.001))


def _above_cases(budget: Budget) -> Iterator[Case]:
    for beta in _betas(budget):
        count = math.ceil(beta**-2)
        missed = _no_top(count=count, top=0.5)
        yield _level(beta=beta), missed, f"f = t, so that h = 1/2, {beta=!r}"


def _below_cases(budget: Budget) -> Iterator[Case]:
    for beta in _betas(budget):
        count = math.ceil(beta**-2)
        # f <= t - (10/epsilon) log(1/beta), noise Lap(1/epsilon)
        rare = 0.5 * beta**10
        seen = float(laws.beta_binomial(count, 1.0).pgf_gap(rare))
        where = f"f = t - (10/epsilon) log(1/beta), {beta=!r}"
        yield _level(beta=beta), seen, where


def _needed(*, beta: float = 0.1, gamma: float = 1.0) -> float:
    """2 (Gamma(gamma+1)/beta)^(1/gamma): Tests so that a query is missed with beta.

    Args:
      beta: in (0, 1).
      gamma: exponent of the law of p, > 0.
    """
    gamma = check_positive("gamma", gamma)
    log_factor = float(special.gammaln(gamma + 1.0)) - math.log(_level(beta=beta))
    return 2.0 * math.exp(log_factor / gamma)


def _needed_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for beta in _betas(budget):
        gamma = float(generator.uniform(0.5, 4.0))
        count = math.ceil(_needed(beta=beta, gamma=gamma))
        missed = _no_top(gamma=gamma, count=count, top=0.5)
        yield _level(beta=beta), missed, f"{count} tests, {gamma=!r}, {beta=!r}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Thm2",
        source=f"{_SOURCE}, pure part",
        statement="Adaptive Tests of epsilon-DP mechanisms until c of them answered "
        "top are (2 c + gamma) epsilon-DP, however many answered bottom.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="CL-Thm2-attained",
        source=f"{_SOURCE}, its constants",
        statement="No smaller constant is possible: 10^7 bottoms and then c tops lose "
        "0.999 (2 c + gamma) epsilon, for suitable tests.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_nearly,
        check=at_least(_nearly_cases),
    ),
    Claim(
        id="CL-Thm2-approximate-sharp",
        source=f"{_SOURCE}, approximate part, sharpened",
        statement="Tests until c tops are (epsilon', delta)-DP with epsilon' from the "
        "exact Renyi divergence at a known p, c ((1-a) epsilon - log(1 + e^epsilon - "
        "e^(a epsilon)))/(a - 1), or (2 c + gamma) epsilon if that is less.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_approximate,
        check=at_most(_approximate_cases, tolerance=1e-12),
    ),
    Claim(
        id="CL-Thm2-approximate-order",
        source=f"{_SOURCE}, approximate part, sharpened",
        statement="CL-Thm2-approximate-sharp is never above CL-Thm2-approximate, hence "
        "of order epsilon sqrt(c log(1/delta)) + c epsilon^2.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_simple,
        check=at_most(_simple_cases),
    ),
    Claim(
        id="CL-Test-no-top",
        source=f"{_PAPER}, Algorithm 1, exact",
        statement="All of tau Tests of an H that answers top with chance h answer "
        "bottom with probability gamma h^-gamma B(gamma, tau+1) I_h(gamma, tau+1).",
        kind="identity",
        relation=None,
        evaluate=_no_top,
        check=equal(_no_top_cases),
    ),
    Claim(
        id="CL-Sec1.1-above",
        source=f"{_PAPER}, Section 1.1",
        statement="With gamma = 1, a query at or above the threshold gets no top in "
        "1/beta^2 Tests with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_level,
        check=at_most(_above_cases),
    ),
    Claim(
        id="CL-Sec1.1-below",
        source=f"{_PAPER}, Section 1.1",
        statement="For gamma = 1, a query (10/epsilon) log(1/beta) below its threshold "
        "gets a top in 1/beta^2 Tests with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_level,
        check=at_most(_below_cases),
    ),
    Claim(
        id="CL-Sec1.1-count",
        source=f"{_PAPER}, Section 1.1, sharpened",
        statement="2 (Gamma(gamma+1)/beta)^(1/gamma) Tests are enough: then a query at "
        "or above the threshold gets no top with probability at most beta.",
        kind="utility",
        relation=None,
        evaluate=_needed,
        check=at_most(_needed_cases),
    ),
)
