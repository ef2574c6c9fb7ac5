"""Report noisy max with Gaussian and Laplace noise.

Koskela, Redberg & Wang 2024, Section 3. Each bound is set against exact laws of the winner
on random neighbours and on two groups of scores that move apart, the worst neighbours that
are known. Theorem 3.3 as printed and as corrected stands with the errata.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, renyi_divergence
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errors import check_integer, check_interval
from jaxsel.families.noisy_max.bounds import (
    noisy_max_chernoff_epsilon,
    noisy_max_delta,
    noisy_max_epsilon,
    noisy_max_noise,
    noisy_max_renyi,
    noisy_max_shift,
)
from jaxsel.families.noisy_max.claims.instances import (
    ENDING,
    MOVES,
    TOLERANCE,
    Instance,
    instances,
    profile_cases,
)
from jaxsel.families.noisy_max.group_bounds import group_delta, worst_group_pair

_PAPER = "Koskela, Redberg & Wang 2024"
_ORDERS = np.array([1.05, 1.5, 2.0, 5.0, 30.0])
_DELTAS = (1e-9, 1e-6, 1e-3, 0.1)
_CHERNOFF = {
    Relation.GENERAL: "2/s^2 + (2/s) sqrt(2 log(m/delta))",
    Relation.MONOTONE: "1/(2 s^2) + (1/s) sqrt(2 log(m/delta))",
}


# --- Theorem 3.1 ----------------------------------------------------------------------


def _theorem_3_1(relation: Relation) -> Callable[..., float]:
    def evaluate(
        *,
        order: float = 10.0,
        noise_scale: float = 4.0,
        candidates: int = 10,
        noise: str = "gaussian",
    ) -> float:
        order = check_interval("order", order, 1.0, math.inf)
        base = noisy_max_noise(noise, noise_scale, relation)
        return float(noisy_max_renyi(order, base, candidates))

    evaluate.__doc__ = f"""Renyi bound: the noise's at a shift of {
        noisy_max_shift(relation):g}, + log m/(order - 1).

        Args:
          order: in (1, inf).
          noise_scale: standard deviation, or Laplace scale, over the sensitivity, > 0.
          candidates: m >= 1.
          noise: "gaussian" or "laplace".
        """
    return evaluate


def _renyi_cases(relation: Relation):
    def cases(budget: Budget) -> Iterator[Case]:
        for each in instances(relation, budget.seed, budget.cases):
            noise = noisy_max_noise(each.noise, each.scale, relation)
            claimed = noisy_max_renyi(_ORDERS, noise, each.candidates)
            exact = np.maximum(
                renyi_divergence(each.first, each.second, _ORDERS),
                renyi_divergence(each.second, each.first, _ORDERS),
            )
            worst = int(np.argmin(claimed - exact))
            where = f"order {_ORDERS[worst]:g}, {each.where}"
            yield float(claimed[worst]), float(exact[worst]), where

    return cases


# --- Theorem 3.2 ----------------------------------------------------------------------


def _theorem_3_2(relation: Relation) -> Callable[..., float]:
    def evaluate(
        *,
        epsilon: float = 1.0,
        noise_scale: float = 4.0,
        candidates: int = 10,
        noise: str = "gaussian",
    ) -> float:
        base = noisy_max_noise(noise, noise_scale, relation)
        epsilon = check_interval("epsilon", epsilon, -200.0, 200.0)
        return float(noisy_max_delta(epsilon, base, candidates))

    evaluate.__doc__ = f"""delta(epsilon): m times the noise's, which moves by {
        noisy_max_shift(relation):g}; at most 1.

        Args:
          epsilon: in (-200, 200).
          noise_scale: standard deviation, or Laplace scale, over the sensitivity, > 0.
          candidates: m >= 1.
          noise: "gaussian" or "laplace".
        """
    return evaluate


def _theorem_3_2_at(
    each: Instance, relation: Relation, levels: np.ndarray
) -> np.ndarray:
    noise = noisy_max_noise(each.noise, each.scale, relation)
    return noisy_max_delta(levels, noise, each.candidates)


def _looseness(
    *, epsilon: float = 1.0, noise_scale: float = 4.0, candidates: int = 10
) -> float:
    """Theorem 3.2's delta over that of one candidate moving against all others.

    The others are equal, the candidate's lead is the worst; it gains or loses.

    Args:
      epsilon: in [0, 50).
      noise_scale: standard deviation of Gaussian noise, > 0.
      candidates: m >= 2.
    """
    epsilon = check_interval("epsilon", epsilon, 0.0, 50.0, low_open=False)
    m = check_integer("candidates", candidates, 2)
    bound = noisy_max_delta(epsilon, noisy_max_noise("gaussian", noise_scale), m)
    exact = max(
        group_delta(epsilon, *sizes, noise_scale) for sizes in ((1, m - 1), (m - 1, 1))
    )
    return float(bound) / exact


def _closeness(
    *, delta: float = 1e-6, noise_scale: float = 4.0, candidates: int = 10_000
) -> float:
    """Exact epsilon of the worst two groups over Theorem 3.2's epsilon.

    Args:
      delta: in (0, 1).
      noise_scale: standard deviation of Gaussian noise, > 0.
      candidates: m >= 2.
    """
    pair = worst_group_pair(delta, candidates, noise_scale)
    noise = noisy_max_noise("gaussian", noise_scale)
    return pair.epsilon / noisy_max_epsilon(delta, noise, candidates)


_LOOSE, _CLOSE = 20.0, 0.96


def _loose_cases(budget: Budget) -> Iterator[Case]:
    del budget
    yield _LOOSE, _looseness(), "epsilon 1, sigma 4, 10 candidates"


def _close_cases(budget: Budget) -> Iterator[Case]:
    del budget
    yield _CLOSE, _closeness(), "delta 1e-6, sigma 4, 10000 candidates"


# --- Corollary 3.4 --------------------------------------------------------------------


def _corollary_3_4(relation: Relation) -> Callable[..., float]:
    def evaluate(
        *, delta: float = 1e-6, noise_scale: float = 4.0, candidates: int = 10
    ) -> float:
        m = check_integer("candidates", candidates, 1)
        return float(noisy_max_chernoff_epsilon(delta, noise_scale, m, relation))

    evaluate.__doc__ = f"""epsilon(delta) of Gaussian noisy max, {_CHERNOFF[relation]}.

        Args:
          delta: in (0, 1).
          noise_scale: s, standard deviation over the sensitivity, > 0.
          candidates: m >= 1.
        """
    return evaluate


def _corollary_cases(relation: Relation):
    def cases(budget: Budget) -> Iterator[Case]:
        for each in instances(relation, budget.seed, budget.cases):
            if each.noise != "gaussian":
                continue
            for delta in _DELTAS:
                claimed = noisy_max_chernoff_epsilon(
                    delta, each.scale, each.candidates, relation
                )
                exact = epsilon_at_delta(each.first, each.second, delta)
                yield float(claimed), exact, f"{delta=:g}, {each.where}"

    return cases


def _both_relations(relation: Relation) -> Iterator[Claim]:
    shift, ending = noisy_max_shift(relation), ENDING[relation]
    yield Claim(
        id=f"KRW-Thm3.1{ending}",
        source=f"{_PAPER}, Theorem 3.1 (Zhu & Wang 2022, Theorem 8)",
        statement=f"Noisy max over m {MOVES[relation]}, has Renyi divergence at most "
        f"that of the additive noise at a shift of {shift:g} + log m/(order - 1).",
        kind="privacy",
        relation=relation,
        evaluate=_theorem_3_1(relation),
        check=at_most(_renyi_cases(relation)),
    )
    yield Claim(
        id=f"KRW-Thm3.2{ending}",
        source=f"{_PAPER}, Theorem 3.2",
        statement=f"Noisy max over m {MOVES[relation]}, has at most m times the privacy "
        f"profile of the additive noise at a shift of {shift:g}.",
        kind="privacy",
        relation=relation,
        evaluate=_theorem_3_2(relation),
        check=at_most(profile_cases(_theorem_3_2_at, relation), TOLERANCE),
    )
    yield Claim(
        id=f"KRW-Cor3.4{ending}",
        source=f"{_PAPER}, Corollary 3.4",
        statement=f"Noisy max over m {MOVES[relation]}, with noise N(0, s^2) is "
        f"(epsilon, delta)-DP for epsilon = {_CHERNOFF[relation]}.",
        kind="privacy",
        relation=relation,
        evaluate=_corollary_3_4(relation),
        check=at_most(_corollary_cases(relation)),
    )


CLAIMS: tuple[Claim, ...] = (
    *_both_relations(Relation.GENERAL),
    *_both_relations(Relation.MONOTONE),
    Claim(
        id="KRW-Thm3.2-single",
        source=f"this project, on {_PAPER}, Theorem 3.2",
        statement=(
            "Where one of 10 candidates moves against all others, sigma = 4 and epsilon "
            f"= 1, Theorem 3.2's delta is more than {_LOOSE:g} times the exact one."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_looseness,
        check=at_least(_loose_cases),
    ),
    Claim(
        id="KRW-Thm3.2-groups",
        source=f"this project, on {_PAPER}, Theorem 3.2",
        statement=(
            "With 10,000 candidates, sigma = 4 and delta = 1e-6, two groups of scores "
            f"that move apart have an exact epsilon of at least {_CLOSE:g} times Theorem "
            "3.2's: for many candidates it cannot be much improved."
        ),
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_closeness,
        check=at_least(_close_cases),
    ),
)
