"""Private amplification: the exponential mechanism among N private scores and a dummy.

Liu & Talwar 2019, Appendix C, after Gupta et al. 2010.
"""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel.families.amplification import parameters
from jaxsel.families.amplification.laws import (
    capped_weights,
    chosen_law,
    compositions,
    count_chances,
    multinomial_chances,
)
from jaxsel.host.errors import InputError, check_finite, check_probability_vector
from jaxsel.kernel import look_up, noise, stream
from jaxsel.kernel.tables import alias_sample, alias_table
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.language.domains import choice
from jaxsel.language.signature import read_params

_SCORE_TAG, _CHOICE_TAG = 0xE8, 0xE9


@factory
def private_amplification(
    *, method: Annotated[str, choice(parameters.METHODS)] = "counts"
) -> Mechanism:
    """Chooses among N candidates with random scores and a dummy, by the exponential mechanism.

    Each candidate draws its score, which is capped at tau. A candidate is then chosen with
    probability proportional to exp(epsilon_2 min(score, tau)). The dummy has score tau and the
    weight of 1 + 1/gamma candidates (Liu & Talwar 2019, Appendix C).

    Args:
      method: "literal" draws the N scores and holds an exponential race among them and
        the dummy; "counts" draws how many candidates have each score, from a table of all
        possible counts, and then the chosen score.

    Data: mapping with "scores", Float["scores"], the values that a score may have, and
      "probabilities", their law: Float["scores"] if all candidates have the same law, else
      Float["candidates scores"], a law in each row.
    Params: "candidates" (N; not needed if there is a law for each candidate), "threshold"
      (tau), "score_epsilon" (epsilon_2, default 1; if infinite, only scores >= tau can be
      chosen), "gamma" (inverse number of dummies, default 0.1).
    Outcome and event: Int32[""], the index in "scores" of the chosen score; their number if the
      dummy is chosen.

    Formal guarantee (claims): LT-ThmC.1, LT-ThmC.1-privacy-sharp.

    Raises:
      InputError: for laws that do not have one probability for each score, or, by method
        "counts", for too many possible counts.
    """
    required = {"threshold": parameters.Threshold}
    optional = {
        "candidates": parameters.Candidates,
        "score_epsilon": parameters.ScoreEpsilon,
        "gamma": parameters.Gamma,
    }

    def checked(data, params) -> tuple[np.ndarray, np.ndarray, int, float]:
        defaults = {"score_epsilon": 1.0, "gamma": 0.1}
        read = {**defaults, **read_params(params, required, optional)}
        given = check_finite("probabilities", data["probabilities"])
        laws = np.array(
            [check_probability_vector("probabilities", q) for q in np.atleast_2d(given)]
        )
        alike = given.ndim == 1
        if alike and "candidates" not in read:
            raise InputError("candidates is missing; give N, how many there are")
        count = read.get("candidates", len(laws))
        if not alike and count != len(laws):
            raise InputError(f"candidates is {count}; there are {len(laws)} laws")
        scores = check_finite("scores", data["scores"])
        if scores.shape != laws[0].shape:
            raise InputError(
                f"there are {laws[0].size} probabilities and {scores.size} scores; they "
                "must be equally many"
            )
        weights = capped_weights(scores, read["threshold"], read["score_epsilon"])
        return laws, weights, count, read["gamma"]

    def counted(laws: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        if len(laws) == count > 1:
            return count_chances(laws)
        counts = compositions(count, laws.shape[1])
        return counts, multinomial_chances(counts, laws[0])

    def prepare(data, params):
        laws, weights, count, gamma = checked(data, params)
        numbers = {"weights": np.append(weights, 1.0 + 1.0 / gamma), "candidates": np.int64(count)}
        if method == "literal":
            at_least = np.cumsum(laws, axis=1)
            at_least[:, -1] = 1.0
            return at_least, numbers
        counts, chances = counted(laws, count)
        drawn = alias_table(chances / chances.sum())
        # Given the counts, the chance that a score up to this one is chosen.
        masses = np.column_stack([counts, np.ones(len(counts))]) * numbers["weights"]
        reached = np.cumsum(masses, axis=1) / masses.sum(axis=1, keepdims=True)
        return {"counts": drawn, "reached": reached[:, :-1].T}, ()

    def sample(key, data, params):
        run = _literal if method == "literal" else _counts
        return run(key, data, params)

    def labels(data, params):
        del params
        return (*(f"{score:g}" for score in np.asarray(data["scores"])), "dummy")

    def law(data, params) -> FiniteLaw:
        laws, weights, count, gamma = checked(data, params)
        found = chosen_law(*counted(laws, count), weights, gamma)
        return FiniteLaw(found, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=outcome_itself,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _literal(key, at_least, params):
    """One trial by an exponential race: every score and the dummy waits a time, the first wins.

    A waiting time is exponential with the weight as its rate, so that each wins with probability
    proportional to its weight, as the exponential mechanism asks.
    """
    weights = jnp.asarray(params["weights"])
    at_least = jnp.asarray(at_least)
    score_key, race_key = stream.fold(key, _SCORE_TAG), stream.fold(key, _CHOICE_TAG)
    dummy = weights.size - 1

    def clock(i, value):
        waiting = noise.exponential(noise.number(race_key, i))
        return waiting / weights[value]

    def run(i, best):
        time, value = best
        uniform = noise.uniform(noise.number(score_key, i))
        # One row shared by all candidates, or one row each.
        row = at_least[jnp.minimum(i, at_least.shape[0] - 1)]
        fresh = jnp.searchsorted(row, uniform).astype(jnp.int32)
        arrival = clock(i, fresh)
        sooner = arrival < time
        return jnp.where(sooner, arrival, time), jnp.where(sooner, fresh, value)

    count = params["candidates"]
    start = (clock(count, dummy), jnp.int32(dummy))
    return lax.fori_loop(0, count, run, start)[1]


def _counts(key, data, params):
    """One trial by two draws: how many candidates have each score, then which score is chosen."""
    del params
    choice_key = stream.fold(key, _CHOICE_TAG)
    row = alias_sample(data["counts"], *stream.words(choice_key, 0))
    uniform = noise.uniform(noise.number(choice_key, 1))
    chosen = jnp.int32(0)
    for reached in data["reached"]:
        chosen += (uniform > look_up.pick(reached, row)).astype(jnp.int32)
    return chosen
