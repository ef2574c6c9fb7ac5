"""Private top-k sets by name: settings, neighbours that differ in one user, guarantees."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from jaxsel.families.top_k import parameters
from jaxsel.families.top_k.confident_laws import confident_settings
from jaxsel.families.top_k.laws import descending
from jaxsel.families.top_k.parameters import MAX_COUNT, DeltaT, Events, K, MaxSize, Precision, scale
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Mechanism, Pair, Relation
from jaxsel.language.domains import numbers, positive
from jaxsel.language.entry import guarantee, mechanism, supplied
from jaxsel.language.trial import Guarantee, Trial
from jaxsel.language.utility import of_sets

_ARRIVALS = "how trials are drawn; arrivals with events=hits alone"
_HOW = "how trials are drawn"
_RHO, _EPSILON = 0.5, 1.0  # the defaults where no scale of noise is given

Histogram = Annotated[
    Any, numbers("counts of the candidates", at_least=0.0, at_most=MAX_COUNT, size=3)
]
OneMethod = Annotated[str, methods("literal", help=_HOW)]
GapMethod = Annotated[str, methods(*parameters.GAP_METHODS, help=_HOW)]


def _released(
    made: Callable[[], Mechanism],
    histogram: np.ndarray,
    params: dict[str, Any],
    proven: Callable[[Pair], Guarantee | None] | None = None,
) -> Trial:
    """The trial of a mechanism that releases a set, or its size; pairs differ in one user.

    Args:
      made: makes the mechanism.
      histogram: Float["candidates"], the counts.
      params: of the mechanism.
      proven: the guarantee of a pair, if there is one.
    """
    k = params.get("k")

    def one_more_user():
        ranks = descending(histogram)
        for name, voted, why in (
            ("second", [1], "one more vote, for the second candidate: ties and top sets change"),
            (
                "third",
                [2],
                "one more vote, for the third candidate: one gap grows, another shrinks",
            ),
            ("first-third", [0, 2], "votes for the first and the third: gaps move in turn"),
            (
                "last",
                slice(-min(k or 2, ranks.size - 1), None),
                "votes for the last k: all of an unlikely set gain at once",
            ),
        ):
            more = histogram.copy()
            more[ranks[voted]] += 1.0
            yield name, histogram, more, Relation.MONOTONE, why

    def utility(labels):
        return of_sets(histogram, labels, k)

    return Trial(made, histogram, params, one_more_user, proven, utility)


# --- Sizes ----------------------------------------------------------------------------


@mechanism("ZW-Alg1", generic="histogram=5,5,3,3,0 noise=laplace epsilon=0.7 max_size=3")
def largest_gap(
    *,
    histogram: Histogram = "6,5,5,2,1",
    noise: parameters.Selection = "gumbel",
    epsilon: Annotated[
        float | None, positive(f"sets the noise scale to 2/epsilon (default {_EPSILON:g})")
    ] = None,
    noise_scale: Annotated[
        float | None, scale("noise scale, instead of epsilon; the one for gaussian")
    ] = None,
    max_size: MaxSize = None,
    method: GapMethod = "grouped",
    precision: Precision = "tail",
):
    """Select the size of a top-k set where the noisy gap is largest (Zhu & Wang 2022,
    Algorithm 1)."""

    def made():
        from jaxsel.families.top_k.noisy_gaps import largest_gap

        return largest_gap(noise=noise, method=method, precision=precision)

    def by_noise(pair):
        """The guarantee that the settings promise, whatever scale of noise the sampler has."""
        if noise == "gaussian":
            return None
        stated = 2.0 / noise_scale if epsilon is None and noise_scale else epsilon or _EPSILON
        if noise == "gumbel":
            return guarantee("ZW-Prop7-pure", epsilon=stated)
        return guarantee(f"NM-{noise}-general", noise_scale=2.0 / stated)

    scales = supplied(epsilon=epsilon, noise_scale=noise_scale) or {"epsilon": _EPSILON}
    return _released(made, histogram, scales | supplied(max_size=max_size), by_noise)


# --- Sets -----------------------------------------------------------------------------


@mechanism(
    "ZW-Alg2",
    "ZW-Ex14",
    generic=(
        "histogram=9,9,3,3,0 selection=gaussian test=laplace selection_scale=3.5 "
        "test_scale=1.4 delta_t=0.2 threshold=quantile max_size=3"
    ),
)
def stable_top_k(
    *,
    histogram: Histogram = "6,5,5,2,1",
    rho: Annotated[
        float | None, positive(f"sets both noise scales to 1/sqrt(rho) (default {_RHO})")
    ] = None,
    selection_scale: Annotated[
        float | None, scale("scale of the selecting noise, instead of rho")
    ] = None,
    test_scale: Annotated[float | None, scale("scale of the testing noise, instead of rho")] = None,
    delta_t: DeltaT = 0.05,
    selection: parameters.Selection = "gumbel",
    test: parameters.Test = "gaussian",
    threshold: parameters.Threshold = "printed",
    max_size: MaxSize = None,
    events: Events = "sets",
    method: GapMethod = "grouped",
    precision: Precision = "tail",
):
    """Select a size by noisy gaps and release its top set if the gap passes a test
    (StableTopK; Zhu & Wang 2022, Algorithm 2)."""

    def made():
        from jaxsel.families.top_k.stable import stable_top_k

        return stable_top_k(
            selection=selection,
            test=test,
            method=method,
            threshold=threshold,
            events=events,
            precision=precision,
        )

    scales = supplied(rho=rho, selection_scale=selection_scale, test_scale=test_scale)
    more = supplied(delta_t=delta_t, max_size=max_size)
    return _released(made, histogram, (scales or {"rho": _RHO}) | more)


@mechanism("ZW-Alg3", generic="histogram=5,5,3,3,0 k=3 rho=0.3 delta_t=0.2 weight=0.7 beyond=drop")
def fixed_top_k(
    *,
    histogram: Histogram = "6,5,5,2,1",
    k: K = 2,
    rho: parameters.AnyRho = _RHO,
    delta_t: DeltaT = 0.05,
    weight: parameters.Weight = 0,
    beyond: parameters.Beyond = "fewer",
    max_size: MaxSize = None,
    events: Events = "sets",
    method: Annotated[str, methods(*parameters.FIXED_METHODS, help=_ARRIVALS)] = "literal",
    precision: Precision = "tail",
):
    """StableTopK for a given k: exponential mechanisms fill up, choose within or replace
    the tested set (Zhu & Wang 2022, Algorithm 3)."""

    def made():
        from jaxsel.families.top_k.fixed import fixed_top_k

        return fixed_top_k(method=method, beyond=beyond, events=events, precision=precision)

    params = {"k": k, "rho": rho, "delta_t": delta_t, "weight": weight}
    return _released(made, histogram, params | supplied(max_size=max_size))


@mechanism(
    "ZW-Alg4",
    "ZW-Alg5",
    generic="histogram=5,5,5,3,0 k=3 test=laplace noise_scale=1.4 delta_t=0.2 threshold=quantile",
)
def propose_test_release(
    *,
    histogram: Histogram = "6,5,5,2,1",
    k: K = 2,
    test: parameters.Test = "gaussian",
    noise_scale: parameters.NoiseScale = 1,
    delta_t: DeltaT = 0.05,
    threshold: parameters.Threshold = "printed",
    events: Events = "sets",
    method: OneMethod = "literal",
    precision: Precision = "tail",
):
    """Release the top set of a given size if its gap passes a noisy test (Zhu & Wang
    2022, Algorithms 4 and 5)."""

    def made():
        from jaxsel.families.top_k.stable import propose_test_release

        return propose_test_release(
            test=test, threshold=threshold, events=events, precision=precision
        )

    params = {"k": k, "noise_scale": noise_scale, "delta_t": delta_t}
    return _released(made, histogram, params)


# --- Baselines ------------------------------------------------------------------------


@mechanism("EM-CDP", generic="histogram=5,5,3,3,0 k=3 rho=0.3 relation=general")
def exponential_top_k(
    *,
    histogram: Histogram = "6,5,5,2,1",
    k: K = 2,
    rho: Annotated[
        float | None, positive(f"zCDP parameter of all picks; sets the noise (default {_RHO})")
    ] = None,
    noise_scale: Annotated[float | None, scale("Gumbel scale, instead of rho")] = None,
    relation: parameters.Changes = "monotone",
    events: Events = "sets",
    method: Annotated[str, methods(*parameters.PICK_METHODS, help=_ARRIVALS)] = "one_shot",
    precision: Precision = "tail",
):
    """Pick k candidates by exponential mechanisms, in one shot of Gumbel noise (EM-CDP)."""

    def made():
        from jaxsel.families.top_k.exponential import exponential_top_k

        return exponential_top_k(
            method=method, relation=relation, events=events, precision=precision
        )

    params = {"k": k} | (supplied(rho=rho, noise_scale=noise_scale) or {"rho": _RHO})

    def of_picks(pair):
        """The guarantee that the settings promise, whatever scale of noise the sampler has."""
        if "rho" not in params:
            return guarantee("BASE-EM-pure", **params)
        return guarantee("BASE-EM-rho-pure", **params, changes=relation)

    return _released(made, histogram, params, of_picks)


@mechanism("LD", generic="histogram=5,5,3,3,0 k=3 epsilon=0.7 delta=0.02 domain=4")
def limited_domain(
    *,
    histogram: Histogram = "6,5,5,2,1",
    k: K = 2,
    epsilon: Annotated[float, positive("privacy parameter of a pick")] = 1,
    delta: parameters.Restriction = 0.05,
    domain: parameters.OptionalDomainSize = None,
    events: Events = "sets",
    method: OneMethod = "literal",
    precision: Precision = "tail",
):
    """Pick among the largest counts those above a noisy threshold, at most k (Durfee &
    Rogers 2019)."""

    def made():
        from jaxsel.families.top_k.limited_domain import limited_domain

        return limited_domain(events=events, precision=precision)

    params = {"k": k, "epsilon": epsilon, "delta": delta}
    return _released(made, histogram, params | supplied(domain=domain))


_TOP_STABLE = "histogram=5,5,3,3,0 k=3 epsilon=1.7 delta=0.02"


@mechanism("TS", generic=_TOP_STABLE)
def top_stable(
    *,
    histogram: Histogram = "6,5,5,2,1",
    k: K = 2,
    epsilon: parameters.AnyEpsilon = 3,
    delta: parameters.DeltaOfAll = 0.05,
    events: Events = "sets",
    method: OneMethod = "literal",
    precision: Precision = "tail",
):
    """Test the gaps at k, k - 1, ..., 1 and release the first stable set (Carvalho et al.
    2020)."""

    def made():
        from jaxsel.families.top_k.top_stable import top_stable_sets

        return top_stable_sets(events=events, precision=precision)

    return _released(made, histogram, {"k": k, "epsilon": epsilon, "delta": delta})


@mechanism("TS-code", broken=True, generic=_TOP_STABLE)
def top_stable_published_code(
    *,
    histogram: Histogram = "6,5,5,2,1",
    k: K = 2,
    epsilon: parameters.AnyEpsilon = 3,
    delta: parameters.DeltaOfAll = 0.05,
    events: Events = "sets",
    method: OneMethod = "literal",
    precision: Precision = "tail",
):
    """BROKEN: test the gaps of Top Stable one place too low, as in its authors' code; a set may
    change although the gap that is tested is large."""

    def made():
        from jaxsel.families.top_k.top_stable import top_stable_sets

        return top_stable_sets(reference_quirks=True, events=events, precision=precision)

    return _released(made, histogram, {"k": k, "epsilon": epsilon, "delta": delta})


# --- Labels ---------------------------------------------------------------------------


@mechanism("PATE-multi-label", generic="votes=5,5,3,3 threshold=3.5 noise_scale=1.4")
def noisy_labels(
    *,
    votes: Annotated[
        Any, numbers("votes of the teachers for each label", at_least=0.0, at_most=MAX_COUNT)
    ] = "6,5,2,1",
    threshold: parameters.VotesThreshold = 4,
    noise_scale: Annotated[float, scale("standard deviation of the noise, in votes")] = 2,
    events: Events = "sets",
    precision: Precision = "tail",
    method: OneMethod = "literal",
):
    """Release every label whose noisy votes exceed a threshold (PATE on many labels)."""

    def made():
        from jaxsel.families.top_k.pate import noisy_labels

        return noisy_labels(events=events, precision=precision)

    data = {"votes": votes, "truth": votes > votes.mean()}

    def one_more_teacher():
        why = "one more teacher, who votes for every label"
        yield "all-labels", data, data | {"votes": votes + 1.0}, Relation.MONOTONE, why

    params = {"threshold": threshold, "noise_scale": noise_scale}
    return Trial(made, data, params, one_more_teacher)


# --- High confidence ------------------------------------------------------------------


@mechanism("CL-Thm6", generic="scores=4,4,1,0 k=3 epsilon=20.0 delta=0.0001 beta=0.5")
def confident_top_k(
    *,
    scores: Annotated[
        Any, numbers("each moves by at most 1", at_least=-MAX_COUNT, at_most=MAX_COUNT, size=2)
    ] = "3,2,1,0",
    k: K = 2,
    epsilon: parameters.EpsilonOfAll = 1,
    delta: parameters.DeltaOfAll = 1e-6,
    beta: parameters.Beta = 0.9,
    events: Events = "sets",
    settings: parameters.Constants = "corrected",
    method: OneMethod = "literal",
):
    """Draw several top-k sets by exponential mechanisms and release the one of the smallest noisy
    gap (Cohen et al. 2022, Theorem 6)."""

    def made():
        from jaxsel.families.top_k.confident_top_k import confident_top_k

        return confident_top_k(events=events, settings=settings)

    def against_the_best():
        top = np.zeros(scores.size)
        top[descending(scores)[:k]] = 1.0
        why = "the gap of the best set moves by 2, and every round against the best"
        yield "opposed", scores, scores + 1.0 - 2.0 * top, Relation.GENERAL, why
        yield "top", scores, scores + top, Relation.MONOTONE, "the best gain on all others"

    def few_rounds(pair):
        """The pure guarantee, if the epsilons of the k rounds add up to at most epsilon/6."""
        if settings == "printed" or not confident_settings(epsilon, delta, beta, k).pure:
            return None
        return guarantee("CL-Thm6-pure", epsilon=epsilon)

    return Trial(
        made,
        scores,
        {"k": k, "epsilon": epsilon, "delta": delta, "beta": beta},
        against_the_best,
        few_rounds,
        lambda labels: of_sets(scores, labels, k),
    )
