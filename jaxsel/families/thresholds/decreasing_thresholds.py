"""Draw until a run reaches a threshold that is lowered after failures.

Liu & Talwar 2019, Algorithm 6 (Appendix B.2): a negative example. Every threshold that is
tried costs privacy, so the loss grows with their number.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel.families.private_tuning.bases import Base
from jaxsel.families.private_tuning.private_tuning import Selection, release, selected
from jaxsel.families.thresholds.decreasing_laws import level_chances, thresholds
from jaxsel.families.thresholds.parameters import FewLevels, Lowering, Method
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_OWN = {"levels": FewLevels, "gamma": Lowering}
_COIN_TAG, _LEVEL_TAG, _OUTPUT_TAG = 0xE0, 0xE1, 0xE2


class _Search(NamedTuple):
    """The settings of Algorithm 6, and its law level by level."""

    levels: int
    gamma: float
    above: np.ndarray  # ["levels labels"], P[label and score >= threshold] of one run
    passing: np.ndarray  # ["levels"], its sums over labels
    released: np.ndarray  # ["levels"], the probability of a release at each level
    nothing: float


def _padded(table: np.ndarray, value: float) -> np.ndarray:
    """Pads to a power of two, at least 64, so that cells with other levels have equal shapes."""
    length = max(64, 1 << int(table.size).bit_length())
    return np.pad(table, (0, length - table.size), constant_values=value)


@factory
def decreasing_thresholds(base: Base, *, method: Method = "jump") -> Mechanism:
    """Draw runs until one scores at least 1 - level/R, and lower this threshold after failures.

    The level starts at 0 and rises by 1 with probability gamma after each failure; nothing is
    released once it exceeds R. Scores are meant to lie in [0, 1]; the last threshold, 0, then
    accepts every run.

    Args:
      base: the algorithm to draw from.
      method: "literal" makes the runs; "jump" draws the level of the released run and
        then that run from the base's law above the level's threshold.

    Data: the base's.
    Params: the base's, and "levels" (R) and "gamma".
    Outcome: Selection; event: the released label, "none" last.

    On an epsilon-DP base with scores >= 0 it is (2 R + 1) epsilon-DP, and no better for every
    gamma, instead of the 2 epsilon of Algorithm 1: claims LT-Alg6-sharp, LT-Alg6-attained and
    LT-Alg6-hope.

    Raises:
      InputError: for gamma = 0 where no run reaches the threshold 1.
    """

    def checked(data, params) -> tuple[_Search, dict]:
        own = read_params({name: params[name] for name in _OWN if name in params}, _OWN)
        levels, gamma = own["levels"], own["gamma"]
        rest = {key: value for key, value in params.items() if key not in _OWN}
        whole = base.law_above(data, rest, -np.inf)
        above = np.array([base.law_above(data, rest, t) for t in thresholds(levels)])
        passing = above.sum(axis=1)
        # Exactly 0 where every run passes.
        chances = level_chances(passing, (whole - above).sum(axis=1), gamma)
        return _Search(levels, gamma, above, passing, *chances), rest

    def prepare(data, params):
        search, rest = checked(data, params)
        prepared, base_params = base.prepare(data, rest)
        reached = np.cumsum(search.released)
        if search.nothing == 0.0:
            reached[-1] = 2.0  # the sum is 1 up to rounding; no uniform number may exceed it
        return prepared, {
            "base": base_params,
            "levels": np.int64(search.levels),
            "gamma": np.float64(search.gamma),
            "thresholds": _padded(thresholds(search.levels), -np.inf),
            "reached": _padded(reached, 2.0),
            "passing": _padded(search.passing, 0.0),
            "num_labels": np.int32(len(base.labels(data, rest))),
        }

    def sample(key, data, params) -> Selection:
        run = _literal if method == "literal" else _jump
        return run(base, key, data, params)

    def labels(data, params):
        rest = {key: value for key, value in params.items() if key not in _OWN}
        return (*base.labels(data, rest), "none")

    def law(data, params) -> FiniteLaw:
        search, _ = checked(data, params)
        passing = search.passing
        share = np.divide(search.released, passing, out=np.zeros_like(passing), where=passing > 0.0)
        found = np.append(share @ search.above, search.nothing)
        return FiniteLaw(found, labels(data, params))

    return Mechanism(
        prepare=prepare, sample=sample, event=selected, labels=labels, law=law, resolution=2.0**-53
    )


def _uniform(key: stream.Key, draw):
    return noise.uniform(noise.number(key, draw))


def _literal(base: Base, key, data, params) -> Selection:
    table = jnp.asarray(params["thresholds"])

    def go_on(state):
        _, level, good, _ = state
        return ~good & (level <= params["levels"])

    def once(state):
        count, level, _, _ = state
        run = base.draw(stream.at_round(key, count), data, params["base"])
        good = run.score >= table[level]
        coin = _uniform(stream.fold(key, _COIN_TAG), count) <= params["gamma"]
        return count + 1, level + (coin & ~good).astype(level.dtype), good, run

    shape = base.draw(key, data, params["base"])
    zeros = jax.tree.map(jnp.zeros_like, shape)
    start = (jnp.int64(0), jnp.int64(0), jnp.asarray(False), zeros)
    count, _, good, run = lax.while_loop(go_on, once, start)
    return release(run, ~good, params["num_labels"], count)


def _jump(base: Base, key, data, params) -> Selection:
    # The level of the release, by inverting its distribution function; then, given the level, a run
    # from the upper tail that reaches the threshold. The number of runs is not drawn, hence -1.
    level_key = stream.fold(key, _LEVEL_TAG)
    level = look_up.position(params["reached"], _uniform(level_key, 0))
    none = level.astype(jnp.int64) > params["levels"]
    rank = _uniform(level_key, 1) * jnp.asarray(params["passing"])[level]
    run = base.at_rank(stream.fold(key, _OUTPUT_TAG), rank, data, params["base"])
    return release(run, none, params["num_labels"], jnp.int64(-1))
