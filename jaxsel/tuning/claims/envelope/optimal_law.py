"""The law of K of least envelope: what it costs, that no law costs less, who attains it.

Derived in docs/optimal-law.md. The law found is set against exact rankings of a Gaussian
pair, the certificate against other laws of K that give the same: random ones, random ones
mixed into the best, and the named families.
"""

import functools
from typing import Annotated

import numpy as np
from scipy import optimize

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, listed
from jaxsel.language.domains import number
from jaxsel.language.papers import JX
from jaxsel.repetitions import Repetitions, expected_quantile
from jaxsel.tuning.accountant import proven_epsilons
from jaxsel.tuning.attained.attained_epsilon import attained_epsilon
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.planning.least_proven import least_proven
from jaxsel.tuning.planning.linear_wishes import rows
from jaxsel.tuning.planning.named_laws import FAMILIES, fitted
from jaxsel.tuning.planning.optimal_certificate import lower_epsilon
from jaxsel.tuning.planning.optimal_law import Found, optimal_law
from jaxsel.tuning.planning.wishes import Wishes

Runs = Annotated[float, number("E[K], at most", at_least=1.5, at_most=1e4)]
NoiseScale = Annotated[
    float,
    number(
        "standard deviation of the base's noise over its sensitivity", at_least=0.3, at_most=100.0
    ),
]
Delta = Annotated[float, number("of the whole", at_least=1e-9, at_most=0.1)]

_PLACE = "no earlier work on an optimal law of K is known to us; docs/optimal-law.md"
_COARSE = 4096  # grid points of an envelope, which make it larger


@functools.lru_cache(maxsize=4)
def _best(runs: float, noise_scale: float, delta: float) -> Found:
    """The best law as good as geometric K of that mean, in expected rank."""
    rank = (1.0 - expected_quantile(laws.geometric(1.0 / runs))) * (1.0 + 1e-9)
    return optimal_law(curves.gaussian(noise_scale), delta, Wishes(runs=runs, rank=rank))


@JX.privacy("JX-OptimalK", _PLACE, Relation.BASE)
def best_of_laws(*, runs: Runs = 30.0, noise_scale: NoiseScale = 4.0, delta: Delta = 1e-6):
    """The law of K of least envelope among those with E[K] at most m whose winner has the expected
    rank that geometric K of mean m gives has that epsilon, for every ranking of a Gaussian base's
    outputs.

    Epsilon at delta of the best law; m is ``runs``."""
    return _best(runs, noise_scale, delta).epsilon


@JX.privacy("JX-OptimalK-lower", _PLACE, Relation.BASE)
def certificate(*, runs: Runs = 30.0, noise_scale: NoiseScale = 4.0, delta: Delta = 1e-6):
    """No law of K with E[K] at most m whose winner has the expected rank that geometric K of mean m
    gives has an envelope below the certificate.

    The certificate's epsilon at delta; m is ``runs``."""
    return _best(runs, noise_scale, delta).lower


@JX.privacy("JX-OptimalK-attained", _PLACE, Relation.BASE)
def attained(
    *,
    runs: Runs = 30.0,
    noise_scale: NoiseScale = 4.0,
    delta: Delta = 1e-6,
    share: Annotated[float, number("that is attained", above=0.0, at_most=1.0)] = 0.995,
):
    """For a Gaussian base with noise scale 4, m = 30 and delta = 1e-6, some ranking of the outputs
    has an exact epsilon with the best law within 0.5 % of the certificate.

    ``share`` of the certificate."""
    return share * certificate(runs=runs, noise_scale=noise_scale, delta=delta)


@best_of_laws.bounds(listed("runs", 30.0))
@attained.bounds_below(listed("runs share", (30.0, 0.995)))
@functools.cache
def an_exact_ranking(runs, noise_scale, delta):
    law = _best(runs, noise_scale, delta).law
    return attained_epsilon(curves.gaussian(noise_scale), law, delta)


def _other_law(generator: np.random.Generator, wishes: Wishes) -> Repetitions | None:
    """A random law of K, moved as little as it takes to meet the wishes."""
    counts = np.unique(np.floor(10.0 ** generator.uniform(0.0, 3.0, 20)))
    weights = generator.exponential(size=counts.size)
    size = counts.size
    table = np.array([row.price(counts) for row in rows(wishes)])
    most = np.array([row.most for row in rows(wishes)])
    found = optimize.linprog(
        np.append(np.zeros(size), np.ones(size)),
        A_ub=np.block([[table, np.zeros_like(table)], [-np.eye(size), -np.eye(size)]]),
        b_ub=np.append(most * (1.0 - 1e-8), -weights / weights.sum()),
        A_eq=np.append(np.ones(size), np.zeros(size))[None],
        b_eq=[1.0],
    )
    if found.status != 0:
        return None
    law = np.maximum(found.x[:size], 0.0)
    return laws.table_law(counts, law / law.sum())


def _near(best: Repetitions, other: Repetitions, share: float) -> Repetitions:
    """The best law, with a share of another."""
    table = {int(k): (1.0 - share) * float(p) for k, p in best.parameters.items()}
    for k, p in other.parameters.items():
        table[int(k)] = table.get(int(k), 0.0) + share * float(p)
    return laws.pmf(table)


@certificate.bounds_below()
def other_laws(budget):
    generator = np.random.default_rng(budget.seed)
    for runs, noise_scale in ((30.0, 4.0), (5.0, 1.0)):
        point = {"runs": runs, "noise_scale": noise_scale, "delta": 1e-6}
        base, best = curves.gaussian(noise_scale), _best(runs, noise_scale, 1e-6)
        others = [("best", best.law)]
        named = [(name, fitted(name, best.wishes)) for name in FAMILIES]
        others += [(name, each.law) for name, each in named if each is not None]
        for index in range(max(8, budget.cases // 8)):
            law = _other_law(generator, best.wishes)
            if law is not None:
                share = 10.0 ** generator.uniform(-4.0, 0.0) if index % 4 else 1.0
                others.append((f"random, {share=:.3g}", _near(best.law, law, share)))
        for name, law in others:
            yield point, envelope_epsilon(base_envelopes(base, law, count=_COARSE), 1e-6), name
        for scale in (0.5, 2.0, 10.0):  # any multipliers prove something, and nothing untrue
            spoilt = best.functional._replace(
                epsilon=2.0 * best.epsilon, multipliers=scale * best.functional.multipliers
            )
            proved = lower_epsilon(spoilt, best.delta, best.wishes.most)
            where = f"multipliers times {scale:g}, {runs=:g}, {noise_scale=:g}"
            yield Judged(proved, best.epsilon, where)


_LARGE_DELTA = 0.05  # at which the priced envelope proves less than the envelope


@JX.privacy("JX-OptimalK-proven", _PLACE, Relation.BASE)
def geometric(*, runs: Runs = 30.0, noise_scale: NoiseScale = 4.0, delta: Delta = _LARGE_DELTA):
    """Of a law of K with E[K] at most m whose winner has the expected rank that geometric K of mean
    m gives, no larger epsilon is proved than of geometric K, whichever bound proves it.

    Epsilon at delta that is proved of geometric K; m is ``runs``."""
    law = laws.geometric(1.0 / runs)
    base = curves.gaussian(noise_scale)
    return proven_epsilons(base, law, delta)[0].epsilon


@geometric.bounds(listed("runs", 30.0))
def the_answer(runs, noise_scale, delta):
    found = _best(runs, noise_scale, delta)
    return least_proven(curves.gaussian(noise_scale), found).epsilon
