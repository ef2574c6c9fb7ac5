"""Subsampled exponential mechanism (Lantz, Boyd & Page 2015): its input and exact law."""

import math
from itertools import combinations_with_replacement

import numpy as np
from scipy import special

from jaxsel.host.errors import InputError, check_params
from jaxsel.language.domains import numbers, positive, whole

SCORES = numbers("in units of the sensitivity", size=2)
DRAWS = whole("how many candidates are drawn", at_least=1, at_most=1e4)
EPSILON = positive("privacy parameter; the Gumbel scale is 2/epsilon")


def read_input(data, draws, params) -> tuple[np.ndarray, float]:
    """Parses scores and epsilon; raises InputError for values outside their domains."""
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
