"""Top-k selection with high confidence: the set with the smallest noisy gap.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 6.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.confident_laws import (
    ConfidentTopK,
    confident_settings,
    confident_settings_printed,
    confident_top_k_law,
    subsets,
)
from jaxsel.families.top_k.laws import MAX_CANDIDATES, check_top_k, descending, set_labels
from jaxsel.families.top_k.order_statistics import largest
from jaxsel.families.top_k.parameters import MAX_COUNT
from jaxsel.families.top_k.release import event_of
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise, stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory
from jaxsel.language.signature import read_params

_MOST_RUNS = 100_000  # of one trial
_NUMBER_TAG, _NOISE_TAG = 0xC9, 0xCA


class ConfidentSet(NamedTuple):
    """The release of Theorem 6's algorithm, and its quality.

    Attributes:
      event: Int[Array, ""], the released set, by its index among the sets of size k or by
        its number of hits (members of the true top k); "none" last.
      gap: Float[Array, ""], max score outside minus min score inside; inf if nothing is
        released. Not released.
      count: Int[Array, ""], number of sets drawn. Not released.
    """

    event: Int[Array, ""]
    gap: Float[Array, ""]
    count: Int[Array, ""]


def _gap(scores: Array, chosen: Bool[Array, " m"]) -> Array:
    """The largest score outside the chosen set minus the least one inside."""
    outside = jnp.where(chosen, -jnp.inf, scores).max()
    return outside - jnp.where(chosen, scores, jnp.inf).min()


@factory
def confident_top_k(
    *, events: parameters.Events = "sets", settings: parameters.Constants = "corrected"
) -> Mechanism:
    """Draws N sets by peeling, with N uniform on 0..T; releases the one of smallest noisy gap.

    Cohen et al. 2022, Theorem 6; see ``confident_laws``.

    Args:
      events: "sets" (at most 12 candidates) or "hits" among the true top k.
      settings: "corrected", or "printed" for the constants of the paper's proof, whose
        gap noise is too small (CL-E10).

    Data: scores, Float["m"], each of sensitivity 1.
    Params: "epsilon" and "delta", of the whole; "beta", the chance of failure; "k".
    Outcome: ConfidentSet.

    Formal guarantees (claims): CL-Thm6, CL-Thm6-utility.

    Raises:
      InputError: for scores that are not one list, or k not below their number.
    """
    make = confident_settings if settings == "corrected" else confident_settings_printed

    def checked(data: Any, params: Mapping[str, Any]):
        read_params(params, dict.fromkeys(("epsilon", "delta", "beta", "k")))
        scores = check_finite("scores", data)
        if scores.ndim != 1:
            raise InputError("scores must be one list of numbers")
        if np.any(np.abs(scores) > MAX_COUNT):
            raise InputError(f"scores must lie in [{-MAX_COUNT:g}, {MAX_COUNT:g}]")
        found: ConfidentTopK = make(**params)
        check_top_k(found.k, scores.size)
        if events == "sets" and scores.size > MAX_CANDIDATES:
            raise InputError(
                f"there are {scores.size} candidates; sets are told apart for at most "
                f"{MAX_CANDIDATES}, so use events=hits"
            )
        return scores, found

    def _hits(scores: np.ndarray, k: int) -> np.ndarray:
        """Which candidates are the true top k."""
        wanted = np.zeros(scores.size, bool)
        wanted[descending(scores)[:k]] = True
        return wanted

    def prepare(data, params):
        scores, found = checked(data, params)
        if found.most_runs > _MOST_RUNS:
            raise InputError(
                f"up to {found.most_runs:g} sets would be drawn; at most "
                f"{_MOST_RUNS} are, so take a larger beta (or delta, with the printed "
                'settings), or method "law"'
            )
        places = np.zeros(1, np.int32)
        if events == "sets":
            places = np.zeros(2**scores.size, np.int32)
            masks = subsets(scores.size, found.k)
            places[masks] = np.arange(masks.size)
        prepared = {"scores": scores, "wanted": _hits(scores, found.k), "places": places}
        return prepared, {
            "half_epsilon": np.float64(found.round_epsilon / 2.0),
            "gap_scale": np.float64(found.gap_scale),
            "k": np.int32(found.k),
            "most_runs": np.float64(found.most_runs),
            "none": np.int32(len(labels(data, params)) - 1),
        }

    def code(chosen: Array, data) -> Array:
        if events == "hits":
            return jnp.sum(chosen & jnp.asarray(data["wanted"]), dtype=jnp.int32)
        bits = np.int32(1) << np.arange(chosen.shape[0], dtype=np.int32)
        mask = jnp.sum(jnp.where(chosen, jnp.asarray(bits), 0), dtype=jnp.int32)
        return jnp.asarray(data["places"])[mask]

    def sample(key: stream.Key, data, params) -> ConfidentSet:
        scores = jnp.asarray(data["scores"])
        levels = (scores * params["half_epsilon"]).astype(jnp.float32)
        draws = jnp.arange(scores.shape[0], dtype=jnp.uint32)
        number = noise.number(stream.fold(key, _NUMBER_TAG), 0)
        # Bin(T, p) with p uniform is uniform on 0..T.
        most = params["most_runs"]
        count = jnp.minimum(jnp.floor(noise.uniform(number) * (most + 1.0)), most)
        count = count.astype(jnp.int32)
        noise_key = stream.fold(key, _NOISE_TAG)

        def draw(number, state):
            least, best, best_gap = state
            here = stream.at_round(key, number)
            race = levels + noise.each_variate("gumbel", here, draws)
            chosen = largest(race, params["k"])
            gap = _gap(scores, chosen)
            laplace = noise.variate("laplace", noise_key, number.astype(jnp.uint32))
            noisy = gap + params["gap_scale"] * laplace.astype(gap.dtype)
            better = (noisy < least) & (number < count)
            event = jnp.where(better, code(chosen, data), best)
            gap = jnp.where(better, gap, best_gap)
            return jnp.where(better, noisy, least), event, gap

        infinite = jnp.asarray(jnp.inf, scores.dtype)
        none = jnp.asarray(params["none"])
        # As many rounds as a trial may have, whatever this one's count is: all trials of a block
        # are then in the same round, whose key is made once.
        rounds = jnp.asarray(most, jnp.int32)
        _, event, gap = lax.fori_loop(jnp.int32(0), rounds, draw, (infinite, none, infinite))
        return ConfidentSet(event, gap, count)

    def labels(data, params) -> tuple[str, ...]:
        scores, found = checked(data, params)
        if events == "hits":
            return (*(f"{hits} hits" for hits in range(found.k + 1)), "none")
        names = set_labels(scores.size)
        return (*(names[mask] for mask in subsets(scores.size, found.k)), "none")

    def law(data, params) -> FiniteLaw:
        scores, found = checked(data, params)
        exact = confident_top_k_law(scores, found)
        if events == "hits":
            wanted = np.flatnonzero(_hits(scores, found.k))
            masks = subsets(scores.size, found.k)
            hits = (masks[:, None] >> wanted & 1).sum(axis=1)
            exact = np.append(np.bincount(hits, exact[:-1], found.k + 1), exact[-1])
        return FiniteLaw(exact, labels(data, params))

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        law=law,
        resolution=noise.resolution("tail"),
    )
