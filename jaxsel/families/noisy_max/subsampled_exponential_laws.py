"""Subsampled exponential mechanism (Lantz, Boyd & Page 2015): its input and exact law."""

import math
from itertools import combinations_with_replacement
from typing import Annotated, Any

import numpy as np
from scipy import special

from jaxsel.families.noisy_max.parameters import Epsilon
from jaxsel.host.errors import InputError
from jaxsel.language.domains import numbers, whole
from jaxsel.language.signature import read_params, validated

Scores = Annotated[Any, numbers("in units of the sensitivity", size=2)]
Draws = Annotated[int, whole("how many candidates are drawn", at_least=1, at_most=1e4)]


@validated
def read_input(scores: Scores, params) -> tuple[np.ndarray, float]:
    """The scores, Float64["candidates"], and epsilon that a mechanism is given."""
    return scores, read_params(params, {"epsilon": Epsilon})["epsilon"]


@validated
def subsampled_law(scores: Scores, draws: Draws, epsilon: Epsilon) -> np.ndarray:
    """The exact law of the chosen candidate, Float64["m"], averaged over all multisets of draws.

    Args:
      scores, draws, epsilon: as the mechanism takes them; 200,000 multisets are the most.
    """
    m = len(scores)
    if math.comb(m + draws - 1, draws) > 200_000:
        raise InputError(f"{draws} of {m} are too many draws for the exact law")
    sets = np.array(list(combinations_with_replacement(range(m), draws)))
    counts = np.stack([(sets == i).sum(axis=1) for i in range(m)], axis=1)
    chance = special.gammaln(draws + 1) - special.gammaln(counts + 1).sum(axis=1)
    levels = np.log(np.maximum(counts, 1)) + scores * (epsilon / 2.0)
    shares = special.softmax(np.where(counts, levels, -np.inf), axis=1)
    return np.exp(chance - draws * math.log(m)) @ shares
