"""The envelope bound and the priced envelope of this project, beside published bounds.

Proved in docs/envelope.md and docs/priced.md. They hold for every ranking of the outputs and
every law of K with finite mean; here they are set against exact laws of finite pairs, the
priced one in every ranking, against exact rankings of a Gaussian pair that nearly attain
them, and against the bounds of Koskela, Redberg & Wang (2024), of Papernot & Steinke (2022)
and of Cohen et al. (2022). What a certificate says must hold whatever price it is given, so
that prices that are far from the best are put to the test as well.
"""

import functools
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.accounting.single_run.score_pairs import gaussian_pair
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid, listed
from jaxsel.language.domains import number, parsed, whole
from jaxsel.language.papers import JX
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.adversarial_orders import adversarial_epsilon
from jaxsel.tuning.attained.exact_profile import exact_tuned_epsilon
from jaxsel.tuning.bounds.envelope import (
    COUNT,
    base_envelopes,
    envelope_epsilon,
    envelope_log_delta,
)
from jaxsel.tuning.bounds.priced_envelope import PricedDirection, priced_delta, priced_directions
from jaxsel.tuning.claims.envelope.rankings import COSTLY, ranked
from jaxsel.tuning.claims.profile.cases import block_order_delta, worst_block_order
from jaxsel.tuning.search_bounds import PROFILE, RENYI, Search, applicable

Epsilon = Annotated[float, number("of the whole", at_least=0.0, below=100.0)]
PricedMean = Annotated[float, number("E[K]", above=1.0, below=1e6)]
Delta = Annotated[float, number("of the whole", at_least=1e-20, below=1.0)]
Mean = Annotated[float, number("E[K]", above=1.0, below=1e12)]
Eta = Annotated[float, number("shape of K; 1 is the geometric law", above=-1.0, below=100.0)]
Law = Annotated[
    Any, parsed(laws.parse, 'a law of K such as "poisson:mean=10"', "in place of mean and eta")
]
Share = Annotated[float, number("that is attained", above=0.0, at_most=1.0)]
Points = Annotated[
    int, whole("of the grid; with fewer the envelope is larger", at_least=64, at_most=2**20)
]
NoiseScale = Annotated[
    float,
    number("standard deviation of the base's noise over its sensitivity", above=0.05, below=1e4),
]

_UNKNOWN = "novelty against later literature not established"
_COARSE = 4096  # grid points where a bound slightly above the best will do
_LEVELS = np.array([0.0, 0.05, 0.3, 1.0, 2.0, 3.5])


@functools.lru_cache(maxsize=4)
def _gaussian(noise_scale: float) -> curves.BaseGuarantee:
    return curves.gaussian(noise_scale)


@JX.privacy("JX-Envelope-tightest", f"{_UNKNOWN}; docs/envelope.md, Section 5", Relation.BASE)
def tightest(
    *,
    delta: Delta = 1e-6,
    mean: Mean = 300.0,
    eta: Eta = 1.0,
    noise_scale: NoiseScale = 4.0,
    law: Law = None,
    points: Points = COUNT,
):
    """For Gaussian bases the envelope's epsilon is below those of Koskela, Redberg & Wang 2024,
    Theorems 5.2 and 5.7 and Corollary 5.8, and of Papernot & Steinke 2022, Theorems 2 and 6."""
    law = law or laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return envelope_epsilon(base_envelopes(_gaussian(noise_scale), law, count=points), delta)


def _families(mean: float) -> Iterator[Repetitions]:
    for eta in (0.0, 1.0):
        yield laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    yield laws.poisson(mean)
    yield laws.binomial(int(2 * mean), 0.5)


@tightest.bounds(tolerance=0.0)
def published_bounds(budget):
    """Every one of them, ours on a coarse grid, which makes it larger; and a costly ranking."""
    for noise_scale, mean in ((1.0, 300.0), (4.0, 10.0), (4.0, 300.0)):
        given = {"delta": 1e-6, "mean": mean, "eta": 1.0, "noise_scale": noise_scale}
        for law in _families(mean):
            point = {**given, "law": law, "points": _COARSE}
            search = Search(_gaussian(noise_scale), law)
            for each in applicable(search).values():
                named = each.id.startswith(("KRW-Thm", "KRW-Cor", "PS-Thm"))
                if named and each.states in (PROFILE, RENYI):
                    theirs = each.prove(search).epsilon(1e-6)
                    yield point, functools.partial(_no_more_than, theirs), each.id
            order = worst_block_order(mean, 2.0, 0.1)
            seen = exact_tuned_epsilon(gaussian_pair(noise_scale), law, 1e-6, order)
            yield point, seen, f"{order}"


def _no_more_than(theirs: float, ours: float) -> tuple[float, float]:
    return theirs, ours


@JX.privacy("JX-Envelope-attained", f"{_UNKNOWN}; docs/envelope.md, Section 6", Relation.BASE)
def attained(
    *,
    delta: Delta = 1e-6,
    mean: Mean = 300.0,
    eta: Eta = 1.0,
    noise_scale: NoiseScale = 4.0,
    share: Share = 0.995,
):
    """For a Gaussian base with noise scale 4, geometric K with mean 30, 300 or 3000 and delta =
    1e-6, some ranking of the outputs has an exact epsilon within 0.5 % of the envelope's.

    ``share`` of the envelope's epsilon."""
    return share * tightest(delta=delta, mean=mean, eta=eta, noise_scale=noise_scale)


@attained.bounds_below(grid(mean=(30.0, 300.0, 3000.0), eta=(1.0,), share=(0.995,)))
def adversarial_ranking(mean, delta, noise_scale):
    law = laws.geometric(1.0 / mean)
    found = adversarial_epsilon(gaussian_pair(noise_scale), law, delta, blocks=True)
    return found.epsilon, f"{found.order}"


@JX.privacy(
    "JX-BetaBinomial",
    f"{_UNKNOWN}; the law of K is that of Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, "
    "Algorithm 1, which selects one candidate here",
    Relation.BASE,
)
def selection(
    *,
    delta: Delta = 1e-6,
    count: Annotated[int, whole("tau, the largest number of runs", at_least=1, at_most=10**6)] = 30,
    gamma: Annotated[float, number("P[p <= t] = t^gamma", above=0.0, at_most=1e6)] = 1.0,
    noise_scale: NoiseScale = 4.0,
):
    """Selection of one candidate with at most tau runs of a Gaussian base has the envelope's
    profile, which is below Theorem 1 of Cohen et al., (2 + gamma) epsilon(delta/tau), for gamma in
    {0.5, 1, 2}.

    Epsilon at delta of Selection of one candidate from a Gaussian base."""
    law = laws.beta_binomial(count, gamma)
    return envelope_epsilon(base_envelopes(_gaussian(noise_scale), law), delta)


@selection.bounds(grid(gamma=(0.5, 1.0, 2.0)))
def theorem_1_and_a_ranking(delta, count, gamma, noise_scale):
    """Exact rankings below the envelope, the envelope below Theorem 1."""
    # Theorem 1 for an (epsilon, delta/tau)-DP base: (2 + gamma) epsilon at delta
    theirs = (2.0 + gamma) * gaussian_epsilon(delta / count, noise_scale)
    yield lambda envelope: (theirs, envelope), "envelope against Theorem 1"
    law = laws.beta_binomial(count, gamma)
    found = adversarial_epsilon(gaussian_pair(noise_scale), law, delta, blocks=True)
    yield found.epsilon, f"exact epsilon of {found.order}"


_LARGE = listed(
    "epsilon mean eta noise_scale",
    (1.2892, 3.0, 1.0, 4.0),
    (1.0, 30.0, 0.0, 4.0),
    (10.0, 30.0, 1.0, 1.0),
)


@functools.lru_cache(maxsize=8)
def _directions(mean: float, eta: float, noise_scale: float) -> tuple[PricedDirection, ...]:
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    return priced_directions(curves.gaussian(noise_scale), law)


@functools.lru_cache(maxsize=16)
def _priced(epsilon: float, mean: float, eta: float, noise_scale: float) -> float:
    return priced_delta(_directions(mean, eta, noise_scale), epsilon)


@JX.privacy("JX-Priced-attained", f"{_UNKNOWN}; docs/priced.md, Section 5", Relation.BASE)
def priced_attained(
    *,
    epsilon: Epsilon = 0.3223,
    mean: PricedMean = 3.0,
    eta: Eta = 1.0,
    noise_scale: NoiseScale = 4.0,
    share: Share = 0.93,
):
    """For Gaussian bases with noise scale 1 and 4, geometric or logarithmic K and six values of
    epsilon where delta is 0.045 to 0.7, some ranking of the outputs has an exact delta of at least
    93 % of the priced envelope's.

    ``share`` of the priced delta."""
    return share * _priced(epsilon, mean, eta, noise_scale)


@priced_attained.bounds_below(COSTLY)
def costly_rankings(epsilon, mean, eta, noise_scale, share):
    return ranked(epsilon=epsilon, mean=mean, eta=eta, noise_scale=noise_scale)


def _priced_at(
    *,
    epsilon: Epsilon = 0.3223,
    mean: PricedMean = 3.0,
    eta: Eta = 1.0,
    noise_scale: NoiseScale = 4.0,
) -> float:
    """Delta at epsilon of the tuned Gaussian."""
    return _priced(epsilon, mean, eta, noise_scale)


never_above_the_envelope = JX.privacy(
    "JX-Priced-envelope",
    f"{_UNKNOWN}; docs/priced.md, Section 2",
    Relation.BASE,
    statement="The priced envelope is never above the envelope.",
)(_priced_at)


@never_above_the_envelope.bounds(COSTLY, _LARGE, tolerance=0.0)
def no_more_than_the_envelope(epsilon, mean, eta, noise_scale):
    law = laws.from_mean("truncated_negative_binomial", mean, eta=eta)
    bounds = base_envelopes(curves.gaussian(noise_scale), law)
    delta = float(np.exp(envelope_log_delta(bounds, epsilon)))
    yield functools.partial(_no_more_than, delta), "envelope"
    order = worst_block_order(mean, 0.3, 0.3)
    for shift in (1.0 / noise_scale, -1.0 / noise_scale):
        yield block_order_delta(epsilon, shift, law, order), f"{shift=:g}, {order}"
