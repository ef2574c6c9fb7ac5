"""Releasing a top-k set if its gap is large enough (Zhu & Wang 2022, Algorithms 2, 4, 5).

The set is released as it is if a noisy gap passes a test: one draw, whatever the number
of candidates.
"""

import math
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsel import noise as noises
from jaxsel import stream
from jaxsel.base import FiniteLaw, Mechanism, factory
from jaxsel.errors import (
    InputError,
    check_choice,
    check_interval,
    check_params,
    check_positive,
)
from jaxsel.families.top_k import noisy_gaps
from jaxsel.families.top_k.curves import TEST_NOISES
from jaxsel.families.top_k.gaps import needed_noise, pass_probability
from jaxsel.families.top_k.laws import EVENTS, released_law
from jaxsel.families.top_k.limits import check_scale
from jaxsel.families.top_k.noisy_gaps import gap_contest, gap_levels, wide_dtype, winner
from jaxsel.families.top_k.release import (
    Ranking,
    Release,
    event_of,
    mask_codes,
    outcome,
    rank_histogram,
    release_labels,
)

TEST_TAG = 0xB1


def stable_top_k_scales(params: Mapping[str, Any], selection: str, test: str):
    """Scales of the selecting and of the testing noise.

    Both 1/sqrt(rho) if ``rho`` is given, for Gumbel selection and a Gaussian test; else
    ``selection_scale`` and ``test_scale``.

    Raises:
      InputError: unless rho alone or both scales are given, each positive.
    """
    own = {"selection_scale", "test_scale"} & set(params)
    if "rho" in params and not own:
        if selection != "gumbel" or test != "gaussian":
            raise InputError(
                "rho sets the noise of Gumbel selection and a Gaussian test; give "
                "selection_scale and test_scale for other noises"
            )
        scale = 1.0 / math.sqrt(check_positive("rho", params["rho"]))
        scale = check_scale("the noise scale", scale)
        return scale, scale
    if "rho" in params or len(own) != 2:
        raise InputError("give either rho, or both selection_scale and test_scale")
    return (
        check_scale("selection_scale", params["selection_scale"]),
        check_scale("test_scale", params["test_scale"]),
    )


def released_parts(ranking: Ranking, events: str) -> dict[str, np.ndarray]:
    """By size minus 1: hits in the top set, its mask, and the code of keeping it back."""
    m = ranking.counts.size
    codes = mask_codes(ranking, events)
    kept_back = (2**m + np.arange(m - 1)) if events == "sets" else np.zeros(m - 1)
    return {
        "hits": np.cumsum(ranking.wanted)[:-1].astype(np.int32),
        "codes": np.cumsum(codes)[:-1].astype(np.int32),
        "kept_back": kept_back.astype(np.int32),
    }


def _tested(key: stream.Key, place, data, test: str, events: str, precision) -> Release:
    """The release of the set of size ``place`` + 1."""
    noise = noises.LAWS[test](noises.number(stream.fold(key, TEST_TAG), 0, precision))
    passed = noise > jnp.asarray(data["needed"])[place]
    parts = (jnp.asarray(data[name])[place] for name in ("hits", "codes", "kept_back"))
    hits, code, kept_back = parts
    return outcome(place + 1, passed, hits, code, kept_back, events)


def _most_hits(ranking: Ranking) -> int:
    return int(ranking.wanted.sum())


@factory
def stable_top_k(
    *,
    selection: str = "gumbel",
    test: str = "gaussian",
    method: str = "grouped",
    threshold: str = "printed",
    events: str = "hits",
    precision: str = "tail",
) -> Mechanism:
    """StableTopK: select the size by noisy gaps, release the set if its gap passes.

    Args:
      selection: noise on the gaps, see ``largest_gap``; "gumbel" is Algorithm 2,
        "gaussian" the variant of the multi-label experiment.
      test: noise of the test: "gaussian" (Algorithm 4) or "laplace" (Algorithm 5).
      method: of the selection, see ``largest_gap``.
      threshold: "printed", or "quantile", smaller with the same guarantee (see
        ``threshold_factor``).
      events: "hits", or "sets" for audits of small histograms.
      precision: of the draws: "tail" or "float64".

    Data: a histogram, see ``release.rank_histogram``; hits are counted among the true top
      k, or among "wanted".
    Params: "rho" (noise scales 1/sqrt(rho)), or "selection_scale" and "test_scale";
      "delta_t"; optionally "k" (for the hits alone; default: where the largest gap is),
      "regulariser", "max_size" and "groups" as in ``largest_gap``.
    Outcome: Release; its size is also known where the set is kept back.

    Formal guarantees (claims): ZW-Thm11; ZW-EXP3 for the Gaussian variant.

    Raises:
      InputError: for unknown settings, or data and parameters out of range.
    """
    check_choice("selection", selection, noises.LAWS)
    check_choice("test", test, TEST_NOISES)
    check_choice("threshold", threshold, ("printed", "quantile"))
    check_choice("events", events, EVENTS)
    check_choice("method", method, noisy_gaps.METHODS)
    dtype, quantile = wide_dtype(precision), threshold == "quantile"
    own = (
        "rho", "selection_scale", "test_scale", "k", "regulariser", "max_size",
        "groups",
    )  # fmt: skip

    def checked(data, params):
        check_params(params, ("delta_t",), own)
        ranking = rank_histogram(data, params.get("k"))
        scales = stable_top_k_scales(params, selection, test)
        levels = gap_levels(
            ranking.gaps, params.get("regulariser"), params.get("max_size")
        )
        delta_t = check_interval("delta_t", params["delta_t"], 0.0, 1.0)
        return ranking, levels, scales, delta_t, params.get("groups")

    def prepare(data, params):
        ranking, levels, scales, delta_t, groups = checked(data, params)
        needed = needed_noise(ranking.gaps, scales[1], delta_t, test, quantile=quantile)
        contest = gap_contest(levels, scales[0], selection, method, dtype, groups)
        parts = released_parts(ranking, events) | {"needed": needed.astype(dtype)}
        return parts | {"contest": contest}, ()

    def sample(key: stream.Key, data, params) -> Release:
        del params
        place = winner(key, noisy_gaps.Contest(*data["contest"]), selection, precision)
        return _tested(key, place, data, test, events, precision)

    def labels(data, params) -> tuple[str, ...]:
        ranking = checked(data, params)[0]
        return release_labels(ranking, events, _most_hits(ranking), kept_back=True)

    def law(data, params) -> FiniteLaw:
        ranking, levels, scales, delta_t, _ = checked(data, params)
        chosen = noisy_gaps.selection_law(levels, scales[0], selection)
        names = labels(data, params)
        if events == "sets":
            histogram = np.empty_like(ranking.counts)
            histogram[ranking.order] = ranking.counts
            found = released_law(
                histogram, chosen, scales[1], delta_t, test=test, quantile=quantile
            )
            return FiniteLaw(found, names)
        passed = pass_probability(
            ranking.gaps, scales[1], delta_t, test, quantile=quantile
        )
        hits = np.cumsum(ranking.wanted)[:-1]
        found = np.bincount(hits, weights=chosen * passed, minlength=len(names))
        found[0] += 1.0 - found.sum()
        return FiniteLaw(np.maximum(found, 0.0), names)

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        law=law,
        resolution=noises.resolution(precision),
    )


@factory
def propose_test_release(
    test: str = "gaussian",
    *,
    threshold: str = "printed",
    events: str = "hits",
    precision: str = "tail",
) -> Mechanism:
    """Release the top-k set of a given size if its gap passes a noisy test.

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

    Raises:
      InputError: for unknown settings, or data and parameters out of range.
    """
    check_choice("test", test, TEST_NOISES)
    check_choice("threshold", threshold, ("printed", "quantile"))
    check_choice("events", events, EVENTS)
    dtype, quantile = wide_dtype(precision), threshold == "quantile"

    def checked(data, params):
        check_params(params, ("k", "noise_scale", "delta_t"))
        ranking = rank_histogram(data, params["k"])
        scale = check_scale("noise_scale", params["noise_scale"])
        return ranking, scale, check_interval("delta_t", params["delta_t"], 0.0, 1.0)

    def prepare(data, params):
        ranking, scale, delta_t = checked(data, params)
        here = slice(ranking.k - 1, ranking.k)
        needed = needed_noise(
            ranking.gaps[here], scale, delta_t, test, quantile=quantile
        )
        parts = released_parts(ranking, events)
        parts = {name: values[here] for name, values in parts.items()}
        parts |= {"needed": np.asarray(needed).astype(dtype)}
        return parts | {"size": np.int32(ranking.k)}, ()

    def sample(key: stream.Key, data, params) -> Release:
        del params
        found = _tested(key, jnp.int32(0), data, test, events, precision)
        return found._replace(size=jnp.asarray(data["size"]))

    def labels(data, params) -> tuple[str, ...]:
        ranking = checked(data, params)[0]
        return release_labels(ranking, events, _most_hits(ranking), kept_back=True)

    def law(data, params) -> FiniteLaw:
        ranking, scale, delta_t = checked(data, params)
        names = labels(data, params)
        here = ranking.k - 1
        passed = float(
            pass_probability(
                ranking.gaps[here], scale, delta_t, test, quantile=quantile
            )
        )
        parts = released_parts(ranking, events)
        found = np.zeros(len(names))
        event = parts["codes"] if events == "sets" else parts["hits"]
        found[event[here]] = passed
        found[parts["kept_back"][here]] += 1.0 - passed
        return FiniteLaw(found, names)

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event_of,
        labels=labels,
        law=law,
        resolution=noises.resolution(precision),
    )
