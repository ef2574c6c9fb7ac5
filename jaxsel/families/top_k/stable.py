"""Releasing a top-k set if its gap is large enough (Zhu & Wang 2022, Algorithms 2, 4, 5).

The true top-k set is released if its noisy gap passes a test, which takes one draw for any number
of candidates.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxsel.families.top_k import noisy_gaps, parameters, release
from jaxsel.families.top_k.gaps import needed_noise, pass_probability
from jaxsel.families.top_k.laws import released_law
from jaxsel.families.top_k.noisy_gaps import gap_contest, gap_levels, winner
from jaxsel.families.top_k.parameters import DeltaT, K, NoiseScale
from jaxsel.families.top_k.scales import stable_top_k_scales
from jaxsel.kernel import look_up, stream
from jaxsel.kernel import noise as noises
from jaxsel.language.base import Mechanism, factory
from jaxsel.language.signature import read_params

TEST_TAG = 0xB1


class _Settings(NamedTuple):
    """The checked settings of StableTopK; ``levels`` are those of ``gap_levels``."""

    ranking: release.Ranking
    levels: np.ndarray
    selection_scale: float
    test_scale: float
    delta_t: float
    groups: int | None


class _Test(NamedTuple):
    ranking: release.Ranking
    scale: float
    delta_t: float


def _released_parts(ranking: release.Ranking, events: str) -> dict[str, np.ndarray]:
    """For each size minus 1: hits in the top set, its mask, and the event if it is kept back."""
    m = ranking.counts.size
    codes = release.mask_codes(ranking, events)
    kept_back = (2**m + np.arange(m - 1)) if events == "sets" else np.zeros(m - 1)
    return {
        "hits": np.cumsum(ranking.wanted)[:-1].astype(np.int32),
        "codes": np.cumsum(codes)[:-1].astype(np.int32),
        "kept_back": kept_back.astype(np.int32),
    }


def _tested(key: stream.Key, place, data, test: str, events: str, precision) -> release.Release:
    """Tests the gap of the set of size ``place`` + 1, and releases the set if it passes."""
    noise = noises.LAWS[test](noises.number(stream.fold(key, TEST_TAG), 0, precision))
    passed = noise > look_up.pick(data["needed"], place)
    parts = (look_up.pick(data[name], place) for name in ("hits", "codes", "kept_back"))
    hits, code, kept_back = parts
    return release.outcome(place + 1, passed, hits, code, kept_back, events)


@factory
def stable_top_k(
    *,
    selection: parameters.Selection = "gumbel",
    test: parameters.Test = "gaussian",
    method: parameters.GapMethod = "grouped",
    threshold: parameters.Threshold = "printed",
    events: parameters.Events = "hits",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    """StableTopK: selects a size by noisy gaps, and releases its top set if its gap passes a test.

    Zhu & Wang 2022, Algorithm 2.

    Args:
      selection: noise on the gaps, see ``largest_gap``; "gumbel" is Algorithm 2,
        "gaussian" the variant of the multi-label experiment.
      test: noise of the test: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
      method: of the selection, see ``largest_gap``.
      threshold: "printed", or "quantile", smaller with the same guarantee (see
        ``threshold_factor``).
      events: "hits", or "sets" for audits of small histograms.
      precision: of the draws: "tail" or "float64".

    Data: a histogram, and which candidates are hits, see ``release.rank_histogram``.
    Params: "rho" (noise scales 1/sqrt(rho)), or "selection_scale" and "test_scale";
      "delta_t"; optionally "k" (for the hits alone; default: where the largest gap is),
      "regulariser", "max_size" and "groups" as in ``largest_gap``.
    Outcome: Release; its size is also released if the set is not.

    Formal guarantees (claims): ZW-Thm11; ZW-EXP3 for the Gaussian variant.
    """
    dtype = np.float64 if precision == "float64" else np.float32
    quantile = threshold == "quantile"
    own = ("rho", "selection_scale", "test_scale", "k", "regulariser", "max_size", "groups")

    def checked(data, params: Any) -> _Settings:
        read = read_params(params, {"delta_t": DeltaT}, dict.fromkeys(own))
        ranking = release.rank_histogram(data, params.get("k"))
        scales = stable_top_k_scales(params, selection, test)
        levels = gap_levels(ranking.gaps, params.get("regulariser"), params.get("max_size"))
        return _Settings(ranking, levels, *scales, read["delta_t"], params.get("groups"))

    def prepare(settings: _Settings):
        ranking, levels, scale, test_scale, delta_t, groups = settings
        needed = needed_noise(ranking.gaps, test_scale, delta_t, test, quantile=quantile)
        contest = gap_contest(levels, scale, selection, method, dtype, groups)
        parts = _released_parts(ranking, events) | {"needed": needed.astype(dtype)}
        return parts | {"contest": contest}, ()

    def sample(key: stream.Key, data, params) -> release.Release:
        del params
        place = winner(key, noisy_gaps.Contest(*data["contest"]), selection, precision)
        return _tested(key, place, data, test, events, precision)

    def law_of_hits(settings: _Settings) -> np.ndarray:
        ranking, levels, scale, test_scale, delta_t, _ = settings
        chosen = noisy_gaps.selection_law(levels, scale, selection)
        passed = pass_probability(ranking.gaps, test_scale, delta_t, test, quantile=quantile)
        hits, most = np.cumsum(ranking.wanted)[:-1], int(ranking.wanted.sum())
        found = np.bincount(hits, weights=chosen * passed, minlength=most + 1)
        found[0] += 1.0 - found.sum()
        return np.maximum(found, 0.0)

    def law_of_sets(settings: _Settings) -> np.ndarray:
        ranking, levels, scale, test_scale, delta_t, _ = settings
        chosen = noisy_gaps.selection_law(levels, scale, selection)
        return released_law(
            ranking.histogram, chosen, test_scale, delta_t, test=test, quantile=quantile
        )

    return release.top_k_mechanism(
        checked,
        prepare,
        sample,
        law_of_hits,
        law_of_sets,
        events=events,
        precision=precision,
        kept_back=True,
    )


@factory
def propose_test_release(
    test: parameters.Test = "gaussian",
    *,
    threshold: parameters.Threshold = "printed",
    events: parameters.Events = "hits",
    precision: parameters.Precision = "tail",
) -> Mechanism:
    """Releases the top-k set of a given size if its gap passes a noisy test.

    Zhu & Wang 2022, Algorithms 4 and 5; the test is described in ``gaps``.

    Args:
      test: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
      threshold: "printed" or "quantile", see ``stable_top_k``.
      events: "hits", or "sets" for audits of small histograms.
      precision: of the draws: "tail" or "float64".

    Data: a histogram, see ``release.rank_histogram``.
    Params: "k"; "noise_scale" (standard deviation, or Laplace scale 1/epsilon);
      "delta_t".
    Outcome: Release.

    Formal guarantees (claims): ZW-Lem18, ZW-Cor19-Gaussian, ZW-Cor19-Laplace.
    """
    dtype = np.float64 if precision == "float64" else np.float32
    quantile = threshold == "quantile"
    needed = {"k": K, "noise_scale": NoiseScale, "delta_t": DeltaT}

    def checked(data, params: Any) -> _Test:
        read = read_params(params, needed)
        ranking = release.rank_histogram(data, read["k"])
        return _Test(ranking, read["noise_scale"], read["delta_t"])

    def prepare(settings: _Test):
        ranking, scale, delta_t = settings
        here = slice(ranking.k - 1, ranking.k)
        needed = needed_noise(ranking.gaps[here], scale, delta_t, test, quantile=quantile)
        parts = _released_parts(ranking, events)
        parts = {name: values[here] for name, values in parts.items()}
        parts |= {"needed": np.asarray(needed).astype(dtype)}
        return parts | {"size": np.int32(ranking.k)}, ()

    def sample(key: stream.Key, data, params) -> release.Release:
        del params
        found = _tested(key, jnp.int32(0), data, test, events, precision)
        return found._replace(size=jnp.asarray(data["size"]))

    def law_of_hits(settings: _Test) -> np.ndarray:
        ranking, scale, delta_t = settings
        gap = ranking.gaps[ranking.k - 1]
        passed = float(pass_probability(gap, scale, delta_t, test, quantile=quantile))
        found = np.zeros(int(ranking.wanted.sum()) + 1)
        found[int(ranking.wanted[: ranking.k].sum())] = passed
        found[0] += 1.0 - passed
        return found

    def law_of_sets(settings: _Test) -> np.ndarray:
        ranking, scale, delta_t = settings
        chosen = np.zeros(ranking.counts.size - 1)
        chosen[ranking.k - 1] = 1.0
        return released_law(ranking.histogram, chosen, scale, delta_t, test=test, quantile=quantile)

    return release.top_k_mechanism(
        checked,
        prepare,
        sample,
        law_of_hits,
        law_of_sets,
        events=events,
        precision=precision,
        kept_back=True,
    )
