"""The law of K of least envelope: what it costs, that no law costs less, who attains it.

Derived in docs/optimal-law.md. The law found is set against exact rankings of a Gaussian
pair, the certificate against other laws of K that give the same: random ones, random ones
mixed into the best, and the named families.
"""

import functools
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from scipy import optimize

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.families.tuning import accountant
from jaxsel.families.tuning.attained.attained_epsilon import attained_epsilon
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.families.tuning.planning.least_proven import least_proven
from jaxsel.families.tuning.planning.linear_wishes import rows
from jaxsel.families.tuning.planning.named_laws import FAMILIES, fitted
from jaxsel.families.tuning.planning.optimal_certificate import lower_epsilon
from jaxsel.families.tuning.planning.optimal_law import Found, optimal_law
from jaxsel.families.tuning.planning.wishes import Wishes
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_least, at_most
from jaxsel.language.domains import number
from jaxsel.language.papers import JX
from jaxsel.repetitions import Repetitions, expected_quantile

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


def _epsilon(*, runs: Runs = 30.0, noise_scale: NoiseScale = 4.0, delta: Delta = 1e-6) -> float:
    """Epsilon at delta of the best law of K, for every ranking of a Gaussian's outputs.

    Best among those with E[K] at most ``runs`` whose winner has at most the expected rank
    that geometric K of that mean gives."""
    return _best(runs, noise_scale, delta).epsilon


def _lower(*, runs: Runs = 30.0, noise_scale: NoiseScale = 4.0, delta: Delta = 1e-6) -> float:
    """Epsilon at delta that the envelope of no such law of K falls below."""
    return _best(runs, noise_scale, delta).lower


def _least_attained(
    *,
    runs: Runs = 30.0,
    noise_scale: NoiseScale = 4.0,
    delta: Delta = 1e-6,
    share: Annotated[float, number("that is attained", above=0.0, at_most=1.0)] = 0.995,
) -> float:
    """share of the certificate: some ranking's exact epsilon with the best law is more."""
    return share * _lower(runs=runs, noise_scale=noise_scale, delta=delta)


_SETTINGS = ((30.0, 4.0), (5.0, 1.0))
_SCALES = (0.5, 2.0, 10.0)  # of the multipliers of a certificate


@functools.cache
def _attained(runs: float, noise_scale: float) -> tuple[float, str]:
    law = _best(runs, noise_scale, 1e-6).law
    found = attained_epsilon(curves.gaussian(noise_scale), law, 1e-6)
    return found, f"an exact ranking, {runs=:g}, {noise_scale=:g}"


def _epsilon_cases(budget: Budget) -> Iterator[Case]:
    yield _epsilon(), *_attained(30.0, 4.0)


def _attained_cases(budget: Budget) -> Iterator[Case]:
    yield _least_attained(), *_attained(30.0, 4.0)


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


def _lower_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for runs, noise_scale in _SETTINGS:
        claimed = _lower(runs=runs, noise_scale=noise_scale)
        best = _best(runs, noise_scale, 1e-6)
        base = curves.gaussian(noise_scale)
        others = [("best", best.law)]
        named = [(name, fitted(name, best.wishes)) for name in FAMILIES]
        others += [(name, each.law) for name, each in named if each is not None]
        for index in range(max(8, budget.cases // 8)):
            law = _other_law(generator, best.wishes)
            if law is not None:
                share = 10.0 ** generator.uniform(-4.0, 0.0) if index % 4 else 1.0
                others.append((f"random, {share=:.3g}", _near(best.law, law, share)))
        for name, law in others:
            observed = envelope_epsilon(base_envelopes(base, law, count=_COARSE), 1e-6)
            yield claimed, observed, f"{name}, {runs=:g}, {noise_scale=:g}"
        found = _best(runs, noise_scale, 1e-6)
        for scale in _SCALES:  # any multipliers prove something, and nothing untrue
            spoilt = found.functional._replace(
                epsilon=2.0 * found.epsilon, multipliers=scale * found.functional.multipliers
            )
            yield (
                lower_epsilon(spoilt, found.delta, found.wishes.most),
                found.epsilon,
                f"multipliers times {scale:g}, {runs=:g}, {noise_scale=:g}",
            )


_LARGE_DELTA = 0.05  # at which the priced envelope proves less than the envelope


def _geometric(
    *, runs: Runs = 30.0, noise_scale: NoiseScale = 4.0, delta: Delta = _LARGE_DELTA
) -> float:
    """Epsilon at delta that is proved of geometric K of that mean, by every bound."""
    law = laws.geometric(1.0 / runs)
    base = curves.gaussian(noise_scale)
    return accountant.account(base, law, delta, attain=False).best.epsilon


def _proven_cases(budget: Budget) -> Iterator[Case]:
    found = _best(30.0, 4.0, _LARGE_DELTA)
    observed = least_proven(curves.gaussian(4.0), found).epsilon
    yield _geometric(), observed, f"the answer, delta={_LARGE_DELTA}"


STATEMENTS = (
    JX.privacy(
        "JX-OptimalK",
        _PLACE,
        "The law of K of least envelope among those with E[K] at most m whose winner has "
        "the expected rank that geometric K of mean m gives has that epsilon, for every "
        "ranking of a Gaussian base's outputs.",
        Relation.BASE,
        _epsilon,
        at_most(_epsilon_cases),
    ),
    JX.privacy(
        "JX-OptimalK-lower",
        _PLACE,
        "No law of K with E[K] at most m whose winner has the expected rank that "
        "geometric K of mean m gives has an envelope below the certificate.",
        Relation.BASE,
        _lower,
        at_least(_lower_cases),
    ),
    JX.privacy(
        "JX-OptimalK-attained",
        _PLACE,
        "For a Gaussian base with noise scale 4, m = 30 and delta = 1e-6, some ranking of "
        "the outputs has an exact epsilon with the best law within 0.5 % of the "
        "certificate.",
        Relation.BASE,
        _least_attained,
        at_least(_attained_cases),
    ),
    JX.privacy(
        "JX-OptimalK-proven",
        _PLACE,
        "Of a law of K with E[K] at most m whose winner has the expected rank that "
        "geometric K of mean m gives, no larger epsilon is proved than of geometric K, "
        "whichever bound proves it.",
        Relation.BASE,
        _geometric,
        at_most(_proven_cases),
    ),
)
