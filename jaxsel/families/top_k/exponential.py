"""Top-k by exponential mechanisms: peeled one by one, or in one shot of Gumbel noise.

Peeling picks a candidate with probability proportional to exp(count/b), removes it, and
goes on until k are picked. Adding Gumbel noise of scale b to every count and taking the k
largest has the same law (Durfee & Rogers 2019), and so has the race of ``arrivals``.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool

from jaxsel.families.top_k import parameters, release
from jaxsel.families.top_k.arrivals import Race, plan_races, wanted_among_first
from jaxsel.families.top_k.laws import top_k_set_law
from jaxsel.families.top_k.order_statistics import largest
from jaxsel.families.top_k.recall import group_counts, hit_law
from jaxsel.families.top_k.scales import peel_scale
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise as noises
from jaxsel.kernel import rows, stream
from jaxsel.language.base import Mechanism, Relation, factory
from jaxsel.language.signature import read_params


class _Settings(NamedTuple):
    ranking: release.Ranking
    scale: float
    capacity: Any


def noisy_top(key, levels, picks, inside, precision: str) -> Bool[Array, " candidates"]:
    """Which levels are the ``picks`` largest after standard Gumbel noise on each.

    Args:
      key: of the trial.
      levels: Float["candidates"], counts in units of the noise.
      picks: how many, Int[Array, ""].
      inside: Bool["candidates"], which compete; None for all.
      precision: of the draws.
    """
    draws = jnp.arange(levels.shape[0], dtype=jnp.uint32)
    noise = noises.each_variate("gumbel", key, draws, precision)
    return largest(levels + noise, picks, inside)


def _peeled(key, levels, picks, precision: str) -> Bool[Array, " candidates"]:
    """Picks candidates one by one, with fresh Gumbel noise on all for every pick."""

    def pick(number, gone):
        here = stream.at_round(key, number)

        def noisy(candidate):
            drawn = noises.variate("gumbel", here, candidate, precision)
            return [jnp.where(gone[candidate], -jnp.inf, levels[candidate] + drawn)]

        best = rows.argmax(noisy, (levels.shape[0], 1), levels.dtype)
        return gone.at[best].set(True)

    return lax.fori_loop(0, picks, pick, jnp.zeros(levels.shape, bool))


@factory
def exponential_top_k(
    *,
    method: parameters.PickMethod = "arrivals",
    relation: parameters.Changes = "monotone",
    events: parameters.Events = "hits",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    """Releases k candidates picked by exponential mechanisms (EM-CDP of Zhu & Wang 2022).

    Args:
      method: "arrivals" costs about k draws for any number of candidates, and gives only
        the number of hits; "one_shot" makes one draw per candidate, "peeling" k draws per
        candidate. The law is the same. The latter two hold all candidates of a block of
        trials in memory: give them a small ``block_size``.
      relation: "monotone" or "general" changes of counts; sets the noise from rho.
      events: "hits", or "sets" for audits of small histograms (not with "arrivals").
      precision: of the draws: "tail" or "float64".

    Data: a histogram, and which candidates are hits, see ``release.rank_histogram``.
    Params: "k"; "rho" (of all picks) or "noise_scale" (of the Gumbel noise); optionally
      "capacity", the number of visits of "arrivals", for cells of a grid.
    Outcome: Release.

    Formal guarantees (claims): BASE-EM-CDP, BASE-EM-CDP-general.

    Raises:
      InputError: for events "sets" with method "arrivals".
    """
    if method == "arrivals" and events == "sets":
        raise InputError('method "arrivals" does not know the set; take "one_shot" or "peeling"')
    dtype = np.float64 if precision == "float64" else np.float32
    optional = dict.fromkeys(("rho", "noise_scale", "capacity"))

    def checked(data, params: Any) -> _Settings:
        k = read_params(params, {"k": parameters.K}, optional)["k"]
        ranking = release.rank_histogram(data, k)
        scale = peel_scale(params, ranking.k, Relation(relation))
        return _Settings(ranking, scale, params.get("capacity"))

    def prepare(settings: _Settings):
        ranking, scale, capacity = settings
        # Relative to count number k, near which float32 must be most accurate.
        counts = ranking.counts - ranking.counts[ranking.k - 1]
        if method == "arrivals":
            race = Race(0, 1, counts.size, ranking.k, 1.0 / scale, counts.size)
            plan = plan_races(counts, [race], dtype, capacity)
            return {"counts": counts.astype(dtype), "wanted": ranking.wanted, "races": plan}, {
                "k": np.int32(ranking.k)
            }
        return {
            "levels": (counts / scale).astype(dtype),
            "wanted": ranking.wanted,
            "codes": release.mask_codes(ranking, events),
        }, {"k": np.int32(ranking.k)}

    def sample(key: stream.Key, data, params) -> release.Release:
        k = jnp.asarray(params["k"])
        if method == "arrivals":
            hits = wanted_among_first(
                key, data["counts"], data["wanted"], data["races"], 0, precision
            )
            return release.outcome(k, True, hits, 0, 0, events)
        levels = jnp.asarray(data["levels"])
        if method == "peeling":
            chosen = _peeled(key, levels, k, precision)
        else:
            chosen = noisy_top(key, levels, k, None, precision)
        return release.from_mask(chosen, k, data, events)

    def law_of_hits(settings: _Settings) -> np.ndarray:
        ranking, scale, _ = settings
        return hit_law(group_counts(ranking.counts, ranking.wanted), ranking.k, scale)

    def law_of_sets(settings: _Settings) -> np.ndarray:
        ranking, scale, _ = settings
        return top_k_set_law(ranking.histogram / scale, ranking.k)

    return release.top_k_mechanism(
        checked, prepare, sample, law_of_hits, law_of_sets, events=events, precision=precision
    )
