"""Top Stable followed by exponential mechanisms, as Zhu & Wang 2022, EXP2, compare it.

Their text says that a failed stability test of Top Stable results in the exponential
mechanism at half of the budget; Carvalho et al. 2020 release nothing then.
"""

import functools

import jax.numpy as jnp
import numpy as np

from jaxsel.families.top_k.baseline_laws import top_stable_law
from jaxsel.families.top_k.baselines import exponential_top_k_scale, top_stable
from jaxsel.families.top_k.exponential import noisy_top
from jaxsel.families.top_k.recall import group_counts, hit_law
from jaxsel.families.top_k.release import event_of, hit_labels, rank_histogram
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism

_FILL_TAG = 0xC1


@functools.cache
def filled_top_stable() -> Mechanism:
    """Top Stable, then exponential mechanisms for the remaining candidates.

    Data: a histogram, see ``release.rank_histogram``.
    Params: "k"; "epsilon" and "delta" of Top Stable; "rho" of the exponential mechanisms.
    Outcome: Release, always of k candidates.
    """
    first = top_stable_sets(precision="tail")

    def split(data, params):
        ranking = rank_histogram(data, params["k"])
        rest = {name: params[name] for name in ("k", "epsilon", "delta")}
        left = np.maximum(ranking.k - np.arange(ranking.k + 1), 1)
        scale = np.array([exponential_top_k_scale(params["rho"], int(n)) for n in left])
        return ranking, rest, scale

    def prepare(data, params):
        ranking, rest, scale = split(data, params)
        inner, none = first.prepare(data, rest)
        return {
            "first": inner,
            # float32 resolves best near the last of the picks.
            "above": (ranking.counts - ranking.counts[ranking.k - 1]).astype(np.float32),
            "scale": scale.astype(np.float32),
        }, (none, {"k": np.int32(ranking.k)})

    def sample(key: stream.Key, data, params):
        none, own = params
        release = first.sample(key, data["first"], none)
        size, above = release.size, jnp.asarray(data["above"])
        ranks = jnp.arange(above.shape[0], dtype=jnp.int32)
        levels = above / jnp.asarray(data["scale"])[size]
        k = jnp.asarray(own["k"])
        fill = stream.fold(key, _FILL_TAG)
        picked = noisy_top(fill, levels, k - size, ranks >= size, "tail")
        hits = size + jnp.sum(picked & (ranks < k), dtype=jnp.int32)
        return release._replace(size=k, passed=jnp.asarray(True), hits=hits, event=hits)

    def labels(data, params):
        ranking = split(data, params)[0]
        return hit_labels(ranking, ranking.k)

    def law(data, params) -> FiniteLaw:
        ranking, rest, scale = split(data, params)
        settings = top_stable(rest["epsilon"], rest["delta"], ranking.k)
        sizes = top_stable_law(ranking.gaps[: ranking.k], settings, ranking.k)
        found = np.zeros(ranking.k + 1)
        found[-1] = sizes[-1]
        for size in range(ranking.k):
            pool = slice(size, None)
            groups = group_counts(ranking.counts[pool], ranking.wanted[pool])
            picks = hit_law(groups, ranking.k - size, float(scale[size]))
            found[size:] += sizes[size] * picks
        return FiniteLaw(found, labels(data, params))

    return Mechanism(
        name="filled_top_stable",
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        law=law,
        resolution=noise.resolution("tail"),
    )
