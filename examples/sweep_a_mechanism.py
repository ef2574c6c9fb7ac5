"""Measures a mechanism of your own over a grid of settings, beside its exact law.

Writes `votes.nc`, from which the same command goes on after a kill.
"""

import math
from typing import Annotated

import jax.numpy as jnp
import numpy as np

import jaxsel
from jaxsel import domains, noise


def sample(key, lead, scale):
    """One trial: is the noisy lead above 0?"""
    return jnp.where(lead + scale * noise.variate("laplace", key, 0) > 0, 1, 0)


def law(lead, scale):
    """The exact probabilities of no and yes."""
    tail = 0.5 * math.exp(-abs(lead) / scale)
    return [tail, 1 - tail] if lead > 0 else [1 - tail, tail]


VOTE = jaxsel.own_mechanism(sample, ["no", "yes"], law)


def vote(
    epsilon: Annotated[float, domains.positive("of the vote")] = jaxsel.over(0.25, 0.5, 1.0),
    share: Annotated[float, domains.probability("of yes")] = jaxsel.over(0.45, 0.55, 0.7),
    voters: int = 11,
):
    """One cell of the grid: the mechanism, its data and its parameters."""
    return jaxsel.Trial(VOTE, np.float32(voters * (2 * share - 1)), np.float32(2 / epsilon))


if __name__ == "__main__":
    found = jaxsel.sweep(vote, trials=100_000, record="votes.nc")
    print(found["frequency"].sel(outcome="yes").to_pandas().round(3))
