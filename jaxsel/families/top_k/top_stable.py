"""Top Stable (Carvalho, Wang, Gondara & Miao 2020): finds a stable gap by a sparse vector."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsel.families.top_k import parameters, release
from jaxsel.families.top_k.baseline_laws import top_stable_law
from jaxsel.families.top_k.baselines import TopStable, top_stable
from jaxsel.kernel import look_up, stream
from jaxsel.kernel import noise as noises
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.signature import read_params

_THRESHOLD_TAG = 0xB3


class _Settings(NamedTuple):
    ranking: release.Ranking
    noise: TopStable
    gaps: np.ndarray


@factory
def top_stable_sets(
    *,
    reference_quirks: bool = False,
    events: parameters.Events = "hits",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    """Tests the gaps at k, k - 1, ..., 1 and releases the first set whose gap is stable.

    A gap q passes if max(q - 1, 0) plus Laplace noise exceeds a threshold, whose noise is drawn
    once; ``baselines.top_stable`` makes the settings. Nothing is released if no gap passes. Only
    the case k-bar = k of the paper is offered, in which no further mechanism chooses k candidates
    out of a larger set.

    Args:
      reference_quirks: whether to do as the authors' code does: the gap is read at an index that
        is one too large (h_(i+1) - h_(i+2) for the top i), and a released candidate of rank up to k
        + 1 is a hit. With the former it is not private as claimed (BASE-TS-printed).
      events: "hits", or "sets" for audits of small histograms.
      precision: of the draws: "tail" or "float64".

    Data: a histogram, and which candidates are hits, see ``release.rank_histogram``.
    Params: "k", "epsilon", "delta".
    Outcome: Release; size 0 and passed False if nothing is released.

    Formal guarantees (claims): BASE-TS.
    """
    dtype = np.float64 if precision == "float64" else np.float32
    needed = {"k": parameters.K, "epsilon": None, "delta": None}

    def checked(data, params: Any) -> _Settings:
        ranking = release.rank_histogram(data, read_params(params, needed)["k"])
        noise = top_stable(params["epsilon"], params["delta"], ranking.k)
        gaps = ranking.gaps
        if reference_quirks:
            # Counts beyond the last candidate are 0.
            gaps = np.append(gaps[1:], ranking.counts[-1])
            wanted = ranking.wanted.copy()
            if not isinstance(data, dict) or "wanted" not in data:
                wanted[ranking.k] = True
            ranking = ranking._replace(wanted=wanted)
        return _Settings(ranking, noise, gaps[: ranking.k])

    def prepare(settings: _Settings):
        ranking, noise, gaps = settings
        distance = np.maximum(gaps - 1.0, 0.0)
        query = noise.query_scale
        k, codes = ranking.k, release.mask_codes(ranking, events)
        return {
            # In units of the tests' noise, by size.
            "above": ((distance - noise.threshold) / query).astype(dtype),
            "hits": np.append(0, np.cumsum(ranking.wanted)[:k]).astype(np.int32),
            "codes": np.append(0, np.cumsum(codes)[:k]).astype(np.int32),
            "threshold_noise": dtype(noise.threshold_scale / query),
        }, ()

    def sample(key: stream.Key, data, params) -> release.Release:
        del params
        above = jnp.asarray(data["above"])
        number = noises.number(stream.fold(key, _THRESHOLD_TAG), 0, precision)
        level = jnp.asarray(data["threshold_noise"]) * noises.laplace(number)

        def unstable(state):
            size, stable = state
            return ~stable & (size > 0)

        def test(state):
            size, _ = state
            draw = noises.number(key, size.astype(jnp.uint32), precision)
            stable = look_up.pick(above, size - 1) + noises.laplace(draw) > level
            return jnp.where(stable, size, size - 1), stable

        start = jnp.int32(above.shape[0]), jnp.asarray(False)
        size, stable = lax.while_loop(unstable, test, start)
        hits, codes = (look_up.pick(data[name], size) for name in ("hits", "codes"))
        return release.outcome(size, stable, hits, codes, 0, events)

    def law_of_hits(settings: _Settings) -> np.ndarray:
        ranking, noise, gaps = settings
        sizes = top_stable_law(gaps, noise, ranking.k)
        hits = np.append(0, np.cumsum(ranking.wanted)[: ranking.k])
        return np.bincount(hits, weights=sizes, minlength=ranking.k + 1)

    def law_of_sets(settings: _Settings) -> np.ndarray:
        ranking, noise, gaps = settings
        found = np.zeros(2**ranking.counts.size)
        codes = np.append(0, np.cumsum(release.mask_codes(ranking, events))[: ranking.k])
        found[codes] = top_stable_law(gaps, noise, ranking.k)
        return found

    return release.top_k_mechanism(
        checked, prepare, sample, law_of_hits, law_of_sets, events=events, precision=precision
    )
