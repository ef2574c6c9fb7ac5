"""Subsampled exponential mechanism (Lantz, Boyd & Page 2015): law, claims, entry."""

import math
from itertools import combinations_with_replacement
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Pair, Relation
from jaxsel.checking import at_most
from jaxsel.domains import choice, numbers, positive, whole
from jaxsel.entry import Built, MechanismEntry, Values, guarantee
from jaxsel.errors import InputError, check_params
from jaxsel.papers import LBP
from jaxsel.utility import by_scores

SCORES = numbers("in units of the sensitivity", size=2, default="2,1,0")
DRAWS = whole("how many candidates are drawn", at_least=1, at_most=1e4, default=3)
EPSILON = positive("privacy parameter; the Gumbel scale is 2/epsilon", default=1)
METHOD = choice(("literal", "law"), "how trials are drawn", default="literal")


def read_input(data, draws, params) -> tuple[np.ndarray, float]:
    """Scores and epsilon; InputError for what is outside its domain."""
    check_params(params, ("epsilon",))
    DRAWS.read("draws", draws)
    return SCORES.read("scores", data), EPSILON.read("epsilon", params["epsilon"])


def subsampled_law(scores: np.ndarray, draws: int, epsilon: float) -> np.ndarray:
    """Exact law, Float64["m"], over all sets of drawn candidates (at most 200,000)."""
    m = len(scores)
    if math.comb(m + draws - 1, draws) > 200_000:
        raise InputError(f"{draws} of {m} are too many draws for the exact law")
    sets = np.array(list(combinations_with_replacement(range(m), draws)))
    counts = np.stack([(sets == i).sum(axis=1) for i in range(m)], axis=1)
    chance = special.gammaln(draws + 1) - special.gammaln(counts + 1).sum(axis=1)
    levels = np.log(np.maximum(counts, 1)) + scores * (epsilon / 2.0)
    shares = special.softmax(np.where(counts, levels, -np.inf), axis=1)
    return np.exp(chance - draws * math.log(m)) @ shares


def _privacy(*, epsilon: Annotated[float, EPSILON] = 1.0) -> float:
    """Pure epsilon."""
    return epsilon


def _cases(budget: Budget):
    generator = np.random.default_rng(budget.seed)
    for case in range(min(budget.cases, 60)):
        m, draws = int(generator.integers(2, 7)), int(generator.integers(1, 6))
        epsilon = float(generator.uniform(0.1, 3.0))
        scores = generator.uniform(-6.0, 0.0, m) / epsilon * (case % 4)
        steps = generator.choice([-1.0, 1.0, generator.uniform(-1.0, 1.0)], m)
        sides = [subsampled_law(s, draws, epsilon) for s in (scores, scores + steps)]
        where = f"{scores.tolist()} + {steps.tolist()}, {draws=}, {epsilon=}"
        yield _privacy(epsilon=epsilon), exact_epsilon(sides[0], sides[1]), where


STATEMENTS = (
    LBP.privacy(
        "LBP-privacy",
        "privacy theorem",
        "An epsilon-DP exponential mechanism among candidates that were drawn at random, "
        "independently of the data, is epsilon-DP.",
        Relation.GENERAL,
        _privacy,
        at_most(_cases),
    ),
)


def _make(values: Values) -> Built:
    from jaxsel.families.noisy_max.subsampled_exponential import subsampled_exponential

    mechanism = subsampled_exponential(draws=values["draws"])
    return Built(mechanism, values["scores"], {"epsilon": values["epsilon"]})


def _pairs(values: Values) -> tuple[Pair, ...]:
    first, params = np.eye(len(values["scores"]))[0], {"epsilon": values["epsilon"]}
    behind, why = -2.0 / values["epsilon"] * first, "one, behind, rises while all fall"
    others = behind + (1.0 - first)
    return (Pair("opposed", behind + first, others, Relation.GENERAL, params, why),)


ENTRIES = (
    MechanismEntry(
        "subsampled_exponential",
        ("LBP",),
        "Exponential mechanism among candidates drawn at random (Lantz, Boyd & Page 2015).",
        False,
        {"scores": SCORES, "draws": DRAWS, "epsilon": EPSILON, "method": METHOD},
        _make,
        _pairs,
        lambda values, pair: guarantee("LBP-privacy", epsilon=values["epsilon"]),
        elsewhere={"scores": "1,1,0.5", "draws": 2, "epsilon": 0.7},
        utility=by_scores,
    ),
)
