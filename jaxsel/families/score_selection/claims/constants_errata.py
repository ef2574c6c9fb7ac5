"""Liu & Talwar 2019, Theorem 5.2: constants of its proof.

LT-E18 as printed and as corrected.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import InputError, check_integer, check_positive
from jaxsel.families.tuning.attained.exact_laws import tuned_index_law
from jaxsel.families.tuning.bounds.random_stopping import percentile_failure

_PAPER = "Liu & Talwar 2019"


# --- Theorem 5.2, constants (LT-E18) --------------------------------------------------


def _failure(*, beta: float = 0.1) -> float:
    """Failure probability that the utility bound allows: beta.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def _misses(factor: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(100, 0.1)]
        for _ in range(min(budget.cases, cases)):
            beta = float(generator.uniform(1e-3, 0.99))
            settings.append((int(10 ** generator.uniform(0.0, 6.0)), beta))
        for candidates, beta in settings:
            gamma = factor * beta / candidates
            # Best candidate drawn with noise >= 0; all others are far below.
            missed = percentile_failure(0.5 / candidates, gamma)
            where = f"K={candidates}, beta={beta!r}, gamma={factor} beta/K"
            yield _failure(beta=beta), missed, where

    return listed


def _target_epsilon(*, epsilon: float = 1.0) -> float:
    """Privacy parameter claimed for the exponential mechanism by random stopping.

    Args:
      epsilon: > 0.
    """
    return check_positive("epsilon", epsilon)


def _index_losses(base_share: float):
    def cases(budget: Budget) -> Iterator[Case]:
        for candidates, beta, epsilon in ((50, 0.01, 1.0), (20, 0.1, 0.5)):
            geometric = laws.geometric(beta / (2.0 * candidates))
            first = np.arange(candidates) == 0
            # One candidate falls by 1 while all others rise by 1, shifted by 1.
            scale = 1.0 / (base_share * epsilon)
            up = tuned_index_law(np.where(first, 1.0, 0.0), scale, geometric)
            down = tuned_index_law(np.where(first, 0.0, 1.0), scale, geometric)
            loss = exact_epsilon(up[:-1] / up[:-1].sum(), down[:-1] / down[:-1].sum())
            where = f"K={candidates}, gamma=beta/(2 K), beta={beta}, noise {scale:g}"
            yield _target_epsilon(epsilon=epsilon), loss, where

    return cases


def _smooth(*, smooth_bound: float = 1.0) -> float:
    """Claimed smooth sensitivity 2 s_i of the shifted score.

    Args:
      smooth_bound: s_i, a smooth upper bound on the local sensitivity of q_i, > 0.
    """
    return 2.0 * check_positive("smooth_bound", smooth_bound)


def _spread(epsilon: float, candidates: int, beta: float) -> float:
    check_positive("epsilon", epsilon)
    if check_integer("candidates", candidates, 1) <= probability("beta", beta):
        raise InputError("candidates must exceed beta")
    return 2.0 * math.log(candidates / beta) / epsilon


def _shifted_sensitivities(printed: bool):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(1.0, 100, 0.1)]
        for _ in range(0 if printed else min(budget.cases, 100)):
            settings.append(
                (
                    float(generator.uniform(0.01, 1.0)),
                    int(generator.integers(1, 10**6)),
                    float(generator.uniform(0.001, 0.999)),
                )
            )
        for epsilon, candidates, beta in settings:
            spread = _spread(epsilon, candidates, beta)
            # eta at the edge of what is allowed, from above as printed.
            eta = 2.0 / spread * 1.001 if printed else math.log1p(1.0 / spread)
            # q_i falls by s_i while s_i grows by e^eta.
            moved = 1.0 + math.expm1(eta) * spread
            where = f"{epsilon=}, K={candidates}, {beta=}, eta={eta!r}, s_i=1"
            yield _smooth(), moved, where

    return cases


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Thm5.2-gamma-printed",
        source=f"{_PAPER}, proof of Theorem 5.2, first part",
        statement="With gamma = beta/K the noisy score released is at least the best "
        "score except with probability beta.",
        kind="utility",
        relation=None,
        evaluate=_failure,
        check=at_most(_misses(1.0, 0)),
        holds=False,
        erratum="LT-E18",
        correction="With gamma = beta/(2 K): LT-Thm5.2-gamma.",
    ),
    Claim(
        id="LT-Thm5.2-gamma",
        source=f"{_PAPER}, proof of Theorem 5.2, corrected",
        statement="With gamma = beta/(2 K) the noisy score released is at least the "
        "best score except with probability beta.",
        kind="utility",
        relation=None,
        evaluate=_failure,
        check=at_most(_misses(0.5, 200)),
        erratum="LT-E18",
    ),
    Claim(
        id="LT-Thm5.2-epsilon-printed",
        source=f"{_PAPER}, proof of Theorem 5.2, first part",
        statement="Random stopping over scores plus Lap(s/epsilon) is epsilon-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_target_epsilon,
        check=at_most(_index_losses(1.0)),
        holds=False,
        erratum="LT-E18",
        correction="It is 3 epsilon-DP; add noise Lap(3 s/epsilon): LT-Thm5.2-epsilon.",
    ),
    Claim(
        id="LT-Thm5.2-epsilon",
        source=f"{_PAPER}, proof of Theorem 5.2, corrected",
        statement="Random stopping over scores with noise Lap(3 s/epsilon) is "
        "epsilon-DP.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_target_epsilon,
        check=at_most(_index_losses(1.0 / 3.0)),
        erratum="LT-E18",
    ),
    Claim(
        id="LT-Thm5.2-smooth-printed",
        source=f"{_PAPER}, proof of Theorem 5.2, fourth part",
        statement="For eta > epsilon/log(K/beta), 2 s_i bounds how much q_i - 2 s_i "
        "log(K/beta)/epsilon may move, s_i being eta-smooth.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_smooth,
        check=at_most(_shifted_sensitivities(printed=True)),
        holds=False,
        erratum="LT-E18",
        correction="eta must be small, not large: LT-Thm5.2-smooth.",
    ),
    Claim(
        id="LT-Thm5.2-smooth",
        source=f"{_PAPER}, proof of Theorem 5.2, corrected",
        statement="For (e^eta - 1) 2 log(K/beta)/epsilon <= 1, 2 s_i bounds how much "
        "q_i - 2 s_i log(K/beta)/epsilon may move, s_i being eta-smooth.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_smooth,
        check=at_most(_shifted_sensitivities(printed=False)),
        erratum="LT-E18",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="LT-E18",
        source=f"{_PAPER}, proof of Theorem 5.2",
        kind="statement",
        printed="gamma = beta/K; noise Lap(s/epsilon); eta > epsilon/log(K/beta), "
        "which eta = epsilon/(4 log(2/delta)) ensures; q_i - 2 s_(i*) "
        "log(K/beta)/epsilon.",
        correct="gamma = beta/(2 K), since the best candidate exceeds its score half "
        "of the time; noise Lap(3 s/epsilon), since random stopping triples epsilon; "
        "eta must be at most log(1 + epsilon/(2 log(K/beta))), and the chosen eta is "
        "indeed smaller than epsilon/log(K/beta); s_i for s_(i*).",
        refuted=(
            "LT-Thm5.2-gamma-printed",
            "LT-Thm5.2-epsilon-printed",
            "LT-Thm5.2-smooth-printed",
        ),
        corrected=(
            "LT-Thm5.2-gamma",
            "LT-Thm5.2-epsilon",
            "LT-Thm5.2-smooth",
            "LT-Thm5.2-exponential-privacy",
            "LT-Thm5.2-exponential-utility",
            "LT-Thm5.2-generalised-privacy",
            "LT-Thm5.2-generalised-shift",
            "LT-Thm5.2-generalised-utility",
            "LT-Thm5.2-smooth-privacy",
            "LT-Thm5.2-smooth-utility",
        ),
    ),
)
