"""Releases the run at a percentile of the scores of N runs, for example the median.

It is the negative example of Liu & Talwar 2019, Appendix B.3, with a fixed rank or with a
uniformly random one: the privacy loss grows in proportion to N.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel.families.percentile.parameters import FewRuns, JumpMethod, Rank
from jaxsel.families.percentile.score_percentile_laws import percentile_law, rank_range
from jaxsel.host.errors import check_probability_vector
from jaxsel.kernel import look_up, noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.language.signature import read_params

_RANK_TAG, _RUN_TAG = 0xE4, 0xE5


@factory
def score_percentile(*, method: JumpMethod = "jump") -> Mechanism:
    """Makes N runs and releases the k-th best.

    Args:
      method: "literal" makes the N runs and counts their outcomes; "jump" draws the tail ranks of
        the k best runs, one after another, by the spacings of N uniform numbers.

    Data: ``Float["n"]``, probabilities of the outcomes of one run, best first.
    Params: "count" (N) and "rank" (default "median": k = ceil(N/2); "random": k
      uniform on 1 to ceil(N/2); or k itself).
    Outcome and event: Int, the released outcome.

    It is not private, as its epsilon grows in proportion to N: claims LT-B.3-hope, LT-B.3,
    LT-B.3-random-rank.

    Raises:
      InputError: for probabilities that do not sum to 1, or a rank beyond the runs.
    """

    def checked(data, params) -> tuple[np.ndarray, int, Rank]:
        read = read_params(params, {"count": FewRuns}, {"rank": Rank})
        law = check_probability_vector("probabilities", data)
        return law, read["count"], read.get("rank", "median")

    def prepare(data, params):
        law, count, rank = checked(data, params)
        low, high = rank_range(count, rank)
        at_least = np.cumsum(law)
        at_least[-1] = 1.0
        numbers = {
            "count": np.int64(count),
            "low": np.int64(low),
            "ranks": np.int64(high - low + 1),
        }
        return at_least, numbers

    def sample(key, data, params):
        chosen = _uniform(stream.fold(key, _RANK_TAG), 0)
        # The uniform may be 1, hence the minimum.
        step = (chosen * params["ranks"].astype(chosen.dtype)).astype(jnp.int64)
        rank = params["low"] + jnp.minimum(step, params["ranks"] - 1)
        run = _literal if method == "literal" else _jump
        return run(stream.fold(key, _RUN_TAG), rank, jnp.asarray(data), params["count"])

    def labels(data, params):
        return tuple(str(i) for i in range(checked(data, params)[0].size))

    def law(data, params) -> FiniteLaw:
        return FiniteLaw(percentile_law(*checked(data, params)), labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=outcome_itself,
        labels=labels,
        law=law,
        resolution=2.0**-53,
    )


def _uniform(key: stream.Key, draw):
    """Uniform number ``draw`` of the key's stream, in (0, 1]."""
    return noise.uniform(noise.number(key, draw))


def _literal(key, rank, at_least, count):
    """The k-th best outcome of N runs that are made: where the cumulative count reaches k.

    Args:
      key: of the runs.
      rank: k.
      at_least: Float["outcomes"], cumulative probabilities, best outcome first.
      count: N.
    """

    def run(i, found):
        outcome = look_up.position(at_least, _uniform(key, i))
        return found.at[outcome].add(1)

    found = lax.fori_loop(0, count, run, jnp.zeros(at_least.shape, jnp.int64))
    return jnp.searchsorted(jnp.cumsum(found), rank).astype(jnp.int32)


def _jump(key, rank, at_least, count):
    """The k-th best outcome of N runs, by the k-th least U of N uniform tail ranks.

    -log(1 - U) is a sum of k spacings E_i/(N - i + 1) with independent exponential E_i. Arguments
    as of ``_literal``.
    """

    def add(i, total):
        left = (count - i).astype(total.dtype)
        return total + noise.exponential(noise.number(key, i)) / left

    total = lax.fori_loop(0, rank, add, jnp.float64(0.0))
    return look_up.position(at_least, -jnp.expm1(-total))
