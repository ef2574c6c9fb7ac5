"""The main privacy results: Theorems 2 and 6, Corollaries 3 and 4."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.tuning.bounds.negative_binomial import (
    negative_binomial_epsilon,
    pure_negative_binomial_epsilon,
    zcdp_negative_binomial_renyi,
)
from jaxsel.families.tuning.bounds.poisson import poisson_epsilon, poisson_renyi
from jaxsel.families.tuning.claims.base_pairs import (
    BasePair,
    base_pairs,
    gaussian_tuned_renyi,
    pure_pairs,
    tuned_pair,
    two_sided_renyi,
)

_PAPER = "Papernot & Steinke 2022"
_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0])
_SECOND_ORDERS = np.array([1.0, 1.1, 1.5, 2.0, 5.0, 20.0, 100.0])


def _order(order: float) -> float:
    return check_interval("order", order, 1.0, math.inf)


def _gamma(eta: float, mean: float) -> float:
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return law.parameters["gamma"]


def _random_shape(generator: np.random.Generator) -> tuple[float, float]:
    """eta and gamma of a truncated negative binomial law, extreme ones included."""
    eta = float(generator.choice([-0.7, 0.0, 1.0, 5.0, generator.uniform(-0.9, 4.0)]))
    return eta, float(10.0 ** generator.uniform(-7.0, -0.05))


# --- Theorem 2 ------------------------------------------------------------------------


def _theorem_2_number(
    order: float, second_order: float, rho: float, eta: float, mean: float, tight: bool
) -> float:
    order, rho = _order(order), check_positive("rho", rho)
    gamma = _gamma(eta, mean)
    if second_order == 0.0:
        second_order = max(1.0, math.sqrt(-math.log(gamma) / rho))
    second = check_interval("second_order", second_order, 1.0, math.inf, low_open=False)
    bound = negative_binomial_epsilon(
        order, rho * order, second, rho * second, eta, gamma, tight=tight
    )
    return float(bound)


def _theorem_2(
    *,
    order: float = 5.0,
    second_order: float = 0.0,
    rho: float = 0.1,
    eta: float = 0.0,
    mean: float = 10.0,
) -> float:
    """Renyi bound at ``order`` after tuning a rho-zCDP base.

    Args:
      order: in (1, inf).
      second_order: the order of the other Renyi bound of the base, in [1, inf); 0 takes
        the best one, max(1, sqrt(log(1/gamma)/rho)).
      rho: of the base, > 0.
      eta: shape of the law of K, > -1.
      mean: E[K], > 1.
    """
    return _theorem_2_number(order, second_order, rho, eta, mean, tight=False)


def _theorem_2_tight(
    *,
    order: float = 5.0,
    second_order: float = 0.0,
    rho: float = 0.1,
    eta: float = 0.0,
    mean: float = 10.0,
) -> float:
    """Renyi bound at ``order`` after tuning a rho-zCDP base, before the last inequality.

    Args:
      order: in (1, inf).
      second_order: the order of the other Renyi bound of the base, in [1, inf); 0 takes
        max(1, sqrt(log(1/gamma)/rho)), the best one for Theorem 2 itself.
      rho: of the base, > 0.
      eta: shape of the law of K, > -1.
      mean: E[K], > 1.
    """
    return _theorem_2_number(order, second_order, rho, eta, mean, tight=True)


def _theorem_2_cases(tight: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed + 1)
        for pair in base_pairs(budget):
            eta, gamma = _random_shape(generator)
            law = laws.truncated_negative_binomial(eta, gamma)
            seen = two_sided_renyi(*tuned_pair(pair, law), _ORDERS)
            claimed = negative_binomial_epsilon(
                _ORDERS[:, None],
                two_sided_renyi(pair.first, pair.second, _ORDERS)[:, None],
                _SECOND_ORDERS,
                two_sided_renyi(pair.first, pair.second, _SECOND_ORDERS),
                eta,
                gamma,
                tight=tight,
            )
            best = np.argmin(claimed, axis=1)
            least = claimed[np.arange(_ORDERS.size), best]
            worst = int(np.argmin(least - seen))
            yield (
                float(least[worst]),
                float(seen[worst]),
                f"order {_ORDERS[worst]:g}, second order "
                f"{_SECOND_ORDERS[best[worst]]:g}, eta={eta!r}, gamma={gamma!r}, "
                f"{pair.where}",
            )

    return cases


# --- Corollaries 3 and 4 --------------------------------------------------------------


def _pure(*, epsilon: float = 1.0, eta: float = 0.0) -> float:
    """Pure epsilon (2 + eta) epsilon of the tuned algorithm.

    Args:
      epsilon: pure epsilon of the base, >= 0.
      eta: shape of the law of K, > -1; 1 is the geometric law.
    """
    return pure_negative_binomial_epsilon(epsilon, eta)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for pair in pure_pairs(budget):
        epsilon = exact_epsilon(pair.first, pair.second)
        shapes = [_random_shape(generator)]
        if pair.where.startswith("pairs"):
            # gamma -> 0 approaches the bound on three outcomes
            shapes += [(0.0, 1e-3), (1.0, 1e-3), (5.0, 1e-3), (-0.5, 1e-6)]
        for eta, gamma in shapes:
            law = laws.truncated_negative_binomial(eta, gamma)
            yield (
                pure_negative_binomial_epsilon(epsilon, eta),
                exact_epsilon(*tuned_pair(pair, law)),
                f"eta={eta!r}, gamma={gamma!r}, {pair.where}",
            )


def _concentrated(
    *, order: float = 2.0, rho: float = 0.1, eta: float = 0.0, mean: float = 10.0
) -> float:
    """Renyi bound at ``order`` after tuning a rho-zCDP base.

    Args:
      order: in (1, inf).
      rho: of the base, > 0; the corollary asks for rho <= log(1/gamma), above that the
        number is Theorem 2 at second order 1.
      eta: shape of the law of K, > -1.
      mean: E[K], > 1.
    """
    bound = zcdp_negative_binomial_renyi(_order(order), rho, eta, _gamma(eta, mean))
    return float(bound)


def _least_rho(pair: BasePair) -> float:
    """An upper bound on the least rho for which the pair is rho-zCDP, within 2 %."""
    orders = 1.0 + np.exp(np.linspace(-6.0, 7.0, 600))
    values = two_sided_renyi(pair.first, pair.second, orders)
    # between two orders: the divergence at the larger over the smaller
    steps = np.append(values, exact_epsilon(pair.first, pair.second))
    return float(np.max(steps / np.append(1.0, orders)))


def _concentrated_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for noise_multiplier in (4.0, 1.0):
        rho = 0.5 / noise_multiplier**2
        for eta, gamma in ((0.0, 0.03), (1.0, 1e-4), (5.0, 0.3), (-0.5, 1e-3)):
            law = laws.truncated_negative_binomial(eta, gamma)
            for order in (1.5, 5.0, 20.0):
                for sign in (1, -1):
                    yield (
                        float(zcdp_negative_binomial_renyi(order, rho, eta, gamma)),
                        gaussian_tuned_renyi(order, noise_multiplier, law, sign),
                        f"order {order:g}, eta={eta}, gamma={gamma}, Gaussian base with "
                        f"noise multiplier {noise_multiplier:g}, sign {sign}",
                    )
    for pair in base_pairs(budget):
        rho = _least_rho(pair)
        eta, gamma = _random_shape(generator)
        gamma = max(min(gamma, math.exp(-rho)), 1e-290)
        if rho > -math.log(gamma):
            continue
        law = laws.truncated_negative_binomial(eta, gamma)
        claimed = zcdp_negative_binomial_renyi(_ORDERS, rho, eta, gamma)
        seen = two_sided_renyi(*tuned_pair(pair, law), _ORDERS)
        worst = int(np.argmin(claimed - seen))
        yield (
            float(claimed[worst]),
            float(seen[worst]),
            f"order {_ORDERS[worst]:g}, rho={rho!r}, eta={eta!r}, gamma={gamma!r}, "
            f"{pair.where}",
        )


# --- Theorem 6 ------------------------------------------------------------------------


def _poisson(*, order: float = 5.0, rho: float = 0.1, mean: float = 10.0) -> float:
    """Renyi bound at ``order`` after tuning a rho-zCDP base a Poisson number of times.

    delta-hat comes from Lemma 14 at its best order, and the least bound over larger
    orders is taken (Remark 5), as in Figure 3 of the paper.

    Args:
      order: in (1, inf).
      rho: of the base, > 0.
      mean: E[K], > 0; below 1 the outcome "no run" is added (E-PS-1).
    """
    base = curves.zcdp(rho)
    curve = poisson_renyi(base, mean, delta_from="renyi")
    return float(curve(np.asarray(_order(order))))


def _poisson_printed(
    *, order: float = 3.0, epsilon: float = 0.0, delta: float = 0.0, mean: float = 0.5
) -> float:
    """Printed bound epsilon + mean delta + log(mean)/(order - 1).

    Args:
      order: in (1, inf).
      epsilon: Renyi bound of the base at that order, >= 0.
      delta: delta of the base at log(1 + 1/(order - 1)), in [0, 1].
      mean: E[K], > 0.
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    delta = check_interval("delta", delta, 0.0, 1.0, low_open=False, high_open=False)
    bound = poisson_epsilon(_order(order), epsilon, delta, mean, corrected=False)
    return float(bound)


def _poisson_case(pair: BasePair, mean: float, corrected: bool) -> Case:
    renyi = two_sided_renyi(pair.first, pair.second, _ORDERS)
    levels = np.log1p(1.0 / (_ORDERS - 1.0))
    delta = profile_delta(pair.first, pair.second, levels)
    claimed = poisson_epsilon(_ORDERS, renyi, delta, mean, corrected=corrected)
    seen = two_sided_renyi(*tuned_pair(pair, laws.poisson(mean)), _ORDERS)
    worst = int(np.argmin(claimed - seen))
    where = f"order {_ORDERS[worst]:g}, mean={mean!r}, {pair.where}"
    return float(claimed[worst]), float(seen[worst]), where


_SAME = BasePair(np.array([0.5, 0.5]), np.array([0.5, 0.5]), "both laws [0.5, 0.5]")


def _poisson_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed + 1)
    for mean in (0.5, 1.0, 4.0):
        yield _poisson_case(_SAME, mean, corrected=True)
    for pair in base_pairs(budget):
        means = [float(10.0 ** generator.uniform(-1.3, 2.0))]
        if pair.where.startswith("pairs"):
            means += [0.5, 1.0, 30.0]
        for mean in means:
            yield _poisson_case(pair, mean, corrected=True)
    for noise_multiplier in (4.0, 1.0):
        base = curves.gaussian(noise_multiplier)
        for mean in (0.5, 1.0, 10.0):
            curve = poisson_renyi(base, mean, monotonised=False)
            for order in (1.5, 5.0, 20.0):
                for sign in (1, -1):
                    yield (
                        float(curve(np.asarray(order))),
                        gaussian_tuned_renyi(
                            order, noise_multiplier, laws.poisson(mean), sign
                        ),
                        f"order {order:g}, mean={mean:g}, Gaussian base with noise "
                        f"multiplier {noise_multiplier:g}, sign {sign}",
                    )


def _poisson_printed_cases(budget: Budget) -> Iterator[Case]:
    for mean in (0.5, 0.05, 0.99, 1.0, 4.0):
        yield _poisson_case(_SAME, mean, corrected=False)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="PS-Thm2",
        source=f"{_PAPER}, Theorem 2",
        statement="For a base with D_a <= e and D_b <= e', the best of K truncated "
        "negative binomial runs has D_a <= e + (1+eta)(1 - 1/b) e' + "
        "(1+eta) log(1/gamma)/b + log(E[K])/(a-1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_2,
        check=at_most(_theorem_2_cases(tight=False)),
    ),
    Claim(
        id="PS-Thm2-tight",
        source=f"{_PAPER}, proof of Theorem 2, before its last inequality",
        statement="In Theorem 2 the two middle terms may be replaced by "
        "((1+eta)/b) log(1 + (1/gamma - 1) e^((b-1) e')).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_theorem_2_tight,
        check=at_most(_theorem_2_cases(tight=True)),
    ),
    Claim(
        id="PS-Cor3",
        source=f"{_PAPER}, Corollary 3",
        statement="The best of K truncated negative binomial runs of an "
        "(epsilon, 0)-DP base is ((2 + eta) epsilon, 0)-DP, for every gamma.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="PS-Cor4",
        source=f"{_PAPER}, Corollary 4",
        statement="For a rho-zCDP base with rho <= log(1/gamma), D_a <= rho (m-1) + "
        "log(E[K])/(m-1) + 2 (1+eta) sqrt(rho log(1/gamma)) - eta rho with "
        "m = max(a, 1 + sqrt(log(E[K])/rho)).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_concentrated,
        check=at_most(_concentrated_cases),
    ),
    Claim(
        id="PS-Thm6-printed",
        source=f"{_PAPER}, Theorem 6",
        statement="For every mean > 0, the best of K ~ Poisson(mean) runs of a base with "
        "D_a <= e that is (e', d)-DP, exp(e') <= 1 + 1/(a-1), has D_a <= e + mean d + "
        "log(mean)/(a-1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_poisson_printed,
        check=at_most(_poisson_printed_cases),
        holds=False,
        erratum="E-PS-1",
        correction="For mean < 1 the bound fails, for equal base laws at every such "
        "mean; P[K = 0] must be added: PS-Thm6.",
    ),
    Claim(
        id="PS-Thm6",
        source=f"{_PAPER}, Theorem 6, corrected",
        statement="With B = e + mean d + log(mean)/(a-1), the best of K ~ Poisson(mean) "
        "runs has D_a <= B if mean >= 1, and D_a <= log(e^-mean + e^((a-1)B))/(a-1) for "
        "every mean > 0.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_poisson,
        check=at_most(_poisson_cases),
        erratum="E-PS-1",
    ),
)
