"""StableTopK with a given size of the set (Zhu & Wang 2022, Algorithm 3).

A size near k with a large gap is selected and tested. If it passes, exponential mechanisms add
candidates to the set of this size, or choose k within it; if it does not pass, they choose all k.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from jaxsel.families.top_k import noisy_gaps, parameters
from jaxsel.families.top_k.arrivals import wanted_among_first
from jaxsel.families.top_k.exponential import noisy_top
from jaxsel.families.top_k.fixed_cases import (
    Settings,
    cases_of,
    fixed_hit_law,
    fixed_set_law,
    plan_cases,
)
from jaxsel.families.top_k.gaps import needed_noise
from jaxsel.families.top_k.noisy_gaps import gap_contest, gap_levels, winner
from jaxsel.families.top_k.release import mask_codes, rank_histogram, top_k_mechanism
from jaxsel.families.top_k.stable import TEST_TAG
from jaxsel.host.errors import InputError
from jaxsel.kernel import look_up, stream
from jaxsel.kernel import noise as noises
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.signature import read_params

_PEEL_TAG = 0xB4


class FixedRelease(NamedTuple):
    """The release of one trial, and how it was made.

    Attributes:
      size: Int[Array, ""], k.
      passed: Bool[Array, ""], whether the test of the selected size passed.
      hits: Int[Array, ""], wanted candidates in the released set; not released.
      event: Int[Array, ""], what is tallied by default, see ``parameters.Events``.
      selected: Int[Array, ""], the selected size.
    """

    size: Int[Array, ""]
    passed: Bool[Array, ""]
    hits: Int[Array, ""]
    event: Int[Array, ""]
    selected: Int[Array, ""]


@factory
def fixed_top_k(
    *,
    method: parameters.FixedMethod = "arrivals",
    beyond: parameters.Beyond = "fewer",
    events: parameters.Events = "hits",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    """StableTopK with a given k: always k candidates are released.

    A quarter of rho selects a size by noisy gaps with regulariser -weight |j - k|, a
    quarter tests its gap (Gaussian), and half pays for exponential mechanisms: if the
    selected set is too small and passes, they add the missing ones out of the others; if
    it is too large and passes, they choose k of it or drop the rest; if it does not pass,
    they choose k of all.

    Args:
      method: "arrivals" costs about k draws for any number of candidates, and gives only
        the number of hits; "literal" makes one draw per candidate and holds all candidates
        of a block of trials in memory (give it a small ``block_size``). The law is the same.
      beyond: what is done if a larger set passes: "keep" peels k of its candidates, "drop" peels
        those that are to be dropped, "fewer" takes the way with fewer picks. Only with "keep" is
        the outcome never worse than peeling with half the budget (claim ZW-Thm12-utility).
      events: "hits", or "sets" for audits of small histograms (not with "arrivals").
      precision: of the draws: "tail" or "float64".

    Data: a histogram, and which candidates are hits, see ``release.rank_histogram``.
    Params: "k", "rho", "delta_t"; optionally "weight" (lambda, in votes, default 0),
      "max_size" (k-bar), "groups" and "capacity" (padding, for cells of a grid).
    Outcome: FixedRelease.

    Formal guarantees (claims): ZW-Thm12.

    Raises:
      InputError: for events "sets" with method "arrivals".
    """
    if method == "arrivals" and events == "sets":
        raise InputError('method "arrivals" does not know the set; take "literal"')
    dtype = np.float64 if precision == "float64" else np.float32
    required = {"k": parameters.K, "rho": parameters.AnyRho, "delta_t": parameters.DeltaT}
    optional = {"weight": parameters.Weight} | dict.fromkeys(("max_size", "groups", "capacity"))

    def checked(data, params: Any) -> Settings:
        read = read_params(params, required, optional)
        ranking = rank_histogram(data, read["k"])
        weight = read.get("weight", 0.0)
        away = np.abs(np.arange(1, ranking.counts.size) - ranking.k)
        levels = gap_levels(ranking.gaps, -weight * away, params.get("max_size"))
        padding = params.get("groups"), params.get("capacity")
        return Settings(ranking, levels, read["rho"], read["delta_t"], beyond, *padding)

    def prepare(settings: Settings):
        ranking, scale = settings.ranking, settings.scale
        cases = cases_of(settings)
        needed = needed_noise(ranking.gaps, scale, settings.delta_t)
        prepared = {
            "contest": gap_contest(
                settings.levels, scale, "gumbel", "grouped", dtype, settings.groups
            ),
            "needed": needed.astype(dtype),
            # Relative to count number k, near which float32 must be most accurate.
            "counts": (ranking.counts - ranking.counts[ranking.k - 1]).astype(dtype),
            "wanted": ranking.wanted,
            "hits": np.append(0, np.cumsum(ranking.wanted)).astype(np.int32),
            "base": cases.base,
            "picks": cases.picks,
            "high": cases.high,
        }
        if method == "arrivals":
            races, row = plan_cases(settings, cases, dtype)
            prepared |= {"races": races, "row": row}
        else:
            prepared |= {
                "low": cases.low,
                "slope": cases.slope.astype(dtype),
                "codes": mask_codes(ranking, events),
            }
        return prepared, {"k": np.int32(ranking.k)}

    def sample(key: stream.Key, data, params) -> FixedRelease:
        contest = noisy_gaps.Contest(*data["contest"])
        place = winner(key, contest, "gumbel", precision)
        number = noises.number(stream.fold(key, TEST_TAG), 0, precision)
        passed = noises.normal(number) > look_up.pick(data["needed"], place)
        # Many tables are looked up here: without the barrier XLA on CPU would select the
        # size again for each, an entry at a time.
        case = lax.optimization_barrier(jnp.where(passed, place + 1, 0))
        pick = _picked if method == "arrivals" else _picked_literally
        peel_key = stream.fold(key, _PEEL_TAG)
        picks = look_up.pick(data["picks"], case)

        # A loop instead of a condition, since it is skipped for a block in which no trial
        # peels.
        def body(state):
            del state
            return (jnp.asarray(False), *pick(peel_key, data, case, precision))

        at_hand = _without_picks(data, case, method)
        start = (picks > 0, *at_hand)
        _, hits, code = lax.while_loop(lambda state: state[0], body, start)
        event = code if events == "sets" else hits
        k = jnp.asarray(params["k"])
        return FixedRelease(k, passed, hits, event, place + 1)

    return top_k_mechanism(
        checked, prepare, sample, fixed_hit_law, fixed_set_law, events=events, precision=precision
    )


# --- Device ---------------------------------------------------------------------------


def _without_picks(data, case, method: str) -> tuple[Array, Array]:
    """The number of hits, and the mask, of the candidates that are released without a pick."""
    base = look_up.pick(data["base"], case)
    code = jnp.int32(0)
    if method == "literal":
        codes = jnp.asarray(data["codes"])
        ranks = jnp.arange(codes.shape[0], dtype=jnp.int32)
        code = jnp.sum(jnp.where(ranks < base, codes, 0), dtype=jnp.int32)
    return look_up.pick(data["hits"], base), code


def _picked(key, data, case, precision: str) -> tuple[Array, Array]:
    """The number of hits after the picks of a case, by a race; the mask is not known, and 0."""
    row = look_up.pick(data["row"], case)
    base = look_up.pick(data["base"], case)
    high = look_up.pick(data["high"], case)
    races = data["races"]
    low = jnp.asarray(races.first)[row]
    up = jnp.asarray(races.direction)[row] > 0
    found = wanted_among_first(
        key,
        data["counts"],
        data["wanted"],
        races,
        row,
        precision,
        size=jnp.where(up, high - low, high),
    )
    hits = look_up.pick(data["hits"], base) + jnp.where(up, found, -found)
    return hits, jnp.int32(0)


def _picked_literally(key, data, case, precision: str) -> tuple[Array, Array]:
    """The number of hits and the mask after the picks of a case, with noise on every candidate."""
    counts, wanted = jnp.asarray(data["counts"]), jnp.asarray(data["wanted"])
    fields = (look_up.pick(data[name], case) for name in ("base", "low", "high", "picks"))
    base, low, high, picks = fields
    slope = look_up.pick(data["slope"], case)
    ranks = jnp.arange(counts.shape[0], dtype=jnp.int32)
    inside = (ranks >= low) & (ranks < high)
    # Relative to the last of the picks, near which float32 must be most accurate.
    middle = look_up.pick(counts, jnp.where(slope > 0, low + picks - 1, high - picks))
    chosen = noisy_top(key, (counts - middle) * slope, picks, inside, precision)
    released = (ranks < base) ^ chosen
    hits = jnp.sum(released & wanted, dtype=jnp.int32)
    code = jnp.sum(jnp.where(released, jnp.asarray(data["codes"]), 0), dtype=jnp.int32)
    return hits, code
