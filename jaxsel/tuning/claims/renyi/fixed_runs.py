"""Papernot & Steinke 2022, Appendix D.1, Proposition 17: a fixed number of runs."""

import math

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.closed_forms import randomised_response_renyi
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.papers import PS
from jaxsel.repetitions.parameters import Runs
from jaxsel.tuning import parameters
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.claims.base_pairs import base_pairs, tuned_pair

_ORDERS = np.array([1.02, 1.5, 2.0, 5.0, 25.0, math.inf])
_COUNTS = (1, 2, 5, 20)


def fixed_runs_epsilon(order: npt.ArrayLike, epsilon: npt.ArrayLike, count: int) -> np.ndarray:
    """What the generic bound gives: count epsilon + log(count)/(order - 1), inf allowed."""
    excess = np.asarray(order, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore"):
        return (count * np.asarray(epsilon) + math.log(count) / excess)[()]


@PS.privacy("PS-D1", "Appendix D.1", Relation.BASE)
def generic(
    *,
    order: parameters.OrderOrInfinity = 5.0,
    base_epsilon: parameters.Response = 1.0,
    count: Runs = 5,
    first: parameters.FirstLaw = None,
    second: parameters.SecondLaw = None,
):
    """For a fixed number k of runs Lemma 7 gives D_a(A || A') <= k D_a(Q || Q') + log(k)/(a-1).

    Bound on the best of k randomised responses, or of k runs with two given laws Q and Q'.
    """
    sides = parameters.both(first, second)
    if sides is None:
        renyi = randomised_response_renyi(order, base_epsilon)
    else:
        renyi = renyi_divergence(*sides, order)
    return fixed_runs_epsilon(order, renyi, count)


@generic.bounds()
def best_of_any_laws(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for epsilon in (0.1, 3.0):
        point = {"base_epsilon": epsilon, "count": 5, "first": None, "second": None}
        for order, seen in _divergences(pairs.randomised_response(epsilon), 5):
            yield point | {"order": order}, seen
    for pair in base_pairs(budget):
        count = int(generator.choice(_COUNTS))
        point = {"base_epsilon": 1.0, "count": count, "first": pair.first, "second": pair.second}
        for order, seen in _divergences(pair[:2], count):
            yield point | {"order": order}, seen, pair.where


def _divergences(sides, count):
    """Of the best of that many runs, at every order."""
    seen = renyi_divergence(
        *(tuned_law(side, laws.point_mass(count)) for side in sides), order=_ORDERS
    )
    return zip(_ORDERS.tolist(), seen.tolist(), strict=True)


def settings(budget):
    """Points: epsilon of one run, and how many runs."""
    yield from grid(epsilon=(0.1, 1.0, 3.0), count=_COUNTS)(budget)
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        epsilon = generator.uniform(0.01, 3.0)
        yield {"epsilon": epsilon, "count": int(generator.integers(1, 60))}


def _settings_at_orders(budget):
    """Those points, at every order."""
    for setting in settings(budget):
        yield from ({"order": order, **setting} for order in _ORDERS.tolist())


def _best_response(epsilon, count):
    """Laws of the best of randomised responses; the bad event is likely in the first."""
    return tuned_pair(pairs.randomised_response(epsilon), laws.point_mass(count))


@PS.privacy("PS-Prop17", "Proposition 17, pure privacy", Relation.BASE)
def attained(*, epsilon: parameters.Response = 1.0, count: Runs = 5):
    """The best of k randomised responses has pure epsilon exactly k epsilon."""
    return count * epsilon


@attained.equals(settings)
def exact(epsilon, count):
    return exact_epsilon(*_best_response(epsilon, count))


@PS.privacy("PS-Prop17-renyi", "Proposition 17, Renyi privacy", Relation.BASE)
def exceeded(
    *, order: parameters.OrderOrInfinity = 5.0, epsilon: parameters.Response = 1.0, count: Runs = 5
):
    """The best of k randomised responses has D_a >= k epsilon - k log(1 + e^-epsilon)/(a-1) for all
    a > 1."""
    return count * (epsilon - math.log1p(math.exp(-epsilon)) / (order - 1.0))


@exceeded.bounds_below(_settings_at_orders)
def divergence(order, epsilon, count):
    return renyi_divergence(*_best_response(epsilon, count), order)


@PS.privacy("PS-Prop17-constant", "Appendix D.1, second example", Relation.BASE)
def constant(*, epsilon: parameters.PositiveEpsilon = 0.3, count: Runs = 7):
    """With success probabilities 1 - e^(-1/k) and 1 - e^(-epsilon - 1/k), no success in k runs has
    probability 1/e and privacy loss k epsilon, while one run has max-divergence epsilon.

    The privacy loss k epsilon.
    """
    return count * epsilon


@constant.equals(settings)
def without_success(epsilon, count):
    base = pairs.fixed_runs_constant(epsilon, count)
    tuned, where = tuned_pair(base, laws.point_mass(count)), f"{epsilon=!r}, {count} runs"
    yield Judged(math.exp(-1.0), tuned[0][1], f"probability of event, {where}")
    yield renyi_divergence(*tuned, math.inf), "max-divergence after tuning"
    one_run = renyi_divergence(*base, math.inf)
    yield Judged(epsilon, one_run, f"max-divergence of the base, {where}")


@PS.privacy("PS-Prop17-constant-base", "Appendix D.1, second example", Relation.BASE)
def constant_base(*, epsilon: parameters.PositiveEpsilon = 0.3, count: Runs = 7):
    """In that example D_inf(Q' || Q) <= log(k epsilon + 1) and D_1(Q' || Q) <= (epsilon + 1/k)
    log(k epsilon + 1).

    Bound on the base's max-divergence the other way round.
    """
    return math.log1p(count * epsilon)


@constant_base.bounds(settings)
def other_way_round(epsilon, count):
    sides = pairs.fixed_runs_constant(epsilon, count)[::-1]
    mean, most = renyi_divergence(*sides, order=(1.0, math.inf)).tolist()
    yield lambda claimed: ((epsilon + 1.0 / count) * claimed, mean), "Kullback-Leibler"
    yield most, "max-divergence"
