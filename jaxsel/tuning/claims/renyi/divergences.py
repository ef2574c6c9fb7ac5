"""Papernot & Steinke 2022, Lemmas 10, 13 and 14: Renyi divergences, conversions."""

import math
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.closed_forms import gaussian_renyi, randomised_response_renyi
from jaxsel.accounting.single_run.conversions import log_delta_at_order, zcdp_from_pure
from jaxsel.accounting.single_run.divergences import exact_epsilon, hockey_stick, renyi_divergence
from jaxsel.accounting.single_run.pairs import randomised_response
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, grid
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.papers import PS
from jaxsel.tuning.claims.base_pairs import base_pairs, pure_pairs, two_sided_renyi
from jaxsel.tuning.parameters import FirstLaw, ModerateEpsilon, Order, Response, SecondLaw, both

_ORDERS = np.array([1.0, 1.01, 1.5, 2.0, 5.0, 25.0, math.inf])
_ABOVE_1 = _ORDERS[1:-1]

AnyOrder = Annotated[float, number("of the Renyi divergence", at_least=1.0, at_most=math.inf)]
Weight = Annotated[float, number("w, of the first", at_least=0.0, at_most=1.0)]
Noise = Annotated[float, positive("of the Gaussian pair")]


def _divergence(
    order: float, epsilon: float, first: np.ndarray | None, second: np.ndarray | None
) -> float:
    """Of the two laws; where none are given, of randomised response."""
    sides = both(first, second)
    if sides is None:
        return float(randomised_response_renyi(order, epsilon))
    return float(renyi_divergence(*sides, order))


_RESPONSES = (0.3, 2.0)  # epsilons at which no laws are given


def _pairs(budget):
    """Parameters of a base, its two laws, and how to make it."""
    for epsilon in _RESPONSES:
        point = {"base_epsilon": epsilon, "first": None, "second": None}
        yield point, randomised_response(epsilon), "randomised response"
    for pair in base_pairs(budget):
        point = {"base_epsilon": 1.0, "first": pair.first, "second": pair.second}
        yield point, pair[:2], pair.where


@PS.privacy("PS-Lem10(monotonicity)", "Lemma 10", Relation.BASE)
def monotone(
    *,
    larger_order: AnyOrder = 5.0,
    base_epsilon: Response = 1.0,
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """0 <= D_a(P || Q) <= D_b(P || Q) for 1 <= a <= b <= inf.

    Bound D_b(P || Q) on all orders up to b, of randomised response, or of two given laws.
    """
    return _divergence(larger_order, base_epsilon, first, second)


@monotone.bounds()
def rising_orders(budget):
    for point, sides, where in _pairs(budget):
        values = renyi_divergence(*sides, _ORDERS)
        yield point | {"larger_order": 1.0}, 0.0, where
        for order, before in zip(_ORDERS[1:].tolist(), values, strict=False):
            yield point | {"larger_order": order}, before, f"the order before, {where}"


@PS.privacy("PS-Lem10(postprocessing)", "Lemma 10", Relation.BASE)
def processed(
    *,
    order: AnyOrder = 2.0,
    base_epsilon: Response = 1.0,
    first: FirstLaw = None,
    second: SecondLaw = None,
):
    """No processing g of the output increases a Renyi divergence: D_a(g(P) || g(Q)) <= D_a(P || Q).

    Bound on all post-processings of randomised response, or of two given laws.
    """
    return _divergence(order, base_epsilon, first, second)


@processed.bounds()
def channels(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for point, sides, where in _pairs(budget):
        outputs = int(generator.integers(2, 5))
        channel = generator.dirichlet(np.full(outputs, 0.3), sides[0].size)
        processes = (side @ channel for side in sides)
        after = renyi_divergence(*(side / side.sum() for side in processes), order=_ORDERS)
        for order, seen in zip(_ORDERS.tolist(), after, strict=True):
            yield point | {"order": order}, seen, f"channel {channel.tolist()}, {where}"


@PS.privacy("PS-Lem10(composition)", "Lemma 10", Relation.BASE)
def composed(
    *,
    order: AnyOrder = 2.0,
    base_epsilon: Response = 1.0,
    count: Annotated[int, whole("how many", at_least=1)] = 2,
    first: FirstLaw = None,
    second: SecondLaw = None,
    other_first: FirstLaw = None,
    other_second: SecondLaw = None,
):
    """D_a(P x P' || Q x Q') = D_a(P || Q) + D_a(P' || Q') for product laws.

    Renyi divergence of ``count`` independent randomised responses, or of as many runs with two
    given laws, and of one with the other laws, if those are given too.
    """
    found = count * _divergence(order, base_epsilon, first, second)
    other = both(other_first, other_second)
    return found if other is None else found + float(renyi_divergence(*other, order))


@composed.equals()
def products(budget):
    alone = {"count": 2, "other_first": None, "other_second": None}
    other, beside = None, {}
    for point, sides, where in _pairs(budget):
        # Of the first pair two runs, of every other one beside the pair before.
        joint = [
            np.outer(*both_sides).ravel() for both_sides in zip(sides, other or sides, strict=True)
        ]
        for order, seen in zip(
            _ORDERS.tolist(), renyi_divergence(*joint, order=_ORDERS), strict=True
        ):
            yield point | {"order": order} | (beside or alone), seen, where
        other = sides
        beside = {"count": 1, "other_first": sides[0], "other_second": sides[1]}


@PS.privacy("PS-Lem10(convexity)", "Lemma 10", Relation.BASE)
def mixed(
    *,
    order: Order = 2.0,
    first_epsilon: Response = 0.5,
    second_epsilon: Response = 2.0,
    weight: Weight = 0.5,
    first: FirstLaw = None,
    second: SecondLaw = None,
    other_first: FirstLaw = None,
    other_second: SecondLaw = None,
):
    """(P, Q) -> exp((a - 1) D_a(P || Q)) is convex for a in (1, inf).

    Bound on D_order of a mixture of two randomised responses, or of two given pairs of laws,
    log(w e^((a-1) D_1) + (1-w) e^((a-1) D_2))/(a - 1), with a the order.
    """
    excess = order - 1.0
    one = excess * _divergence(order, first_epsilon, first, second)
    other = excess * _divergence(order, second_epsilon, other_first, other_second)
    with np.errstate(divide="ignore"):
        shares = np.log([weight, 1.0 - weight])
    return float(np.logaddexp(shares[0] + one, shares[1] + other)) / excess


def _mixed_laws(weight, one, other):
    return [weight * p + (1.0 - weight) * q for p, q in zip(one, other, strict=True)]


def _mixtures(budget):
    """Parameters of mixtures of two base pairs, the mixed laws, and which they are."""
    laws = ("first", "second", "other_first", "other_second")
    epsilons = {"first_epsilon": 0.3, "second_epsilon": 2.0}
    for weight in (0.05, 0.5):
        sides = _mixed_laws(weight, *map(randomised_response, epsilons.values()))
        yield epsilons | dict.fromkeys(laws) | {"weight": weight}, sides, "randomised responses"
    generator = np.random.default_rng(budget.seed + 1)
    earlier = {}
    for pair in base_pairs(budget):
        other = earlier.get(pair.first.size, pair)
        earlier[pair.first.size] = pair
        weight = generator.uniform()
        given = dict(zip(laws, (*pair[:2], *other[:2]), strict=True))
        sides = _mixed_laws(weight, pair[:2], other[:2])
        yield epsilons | given | {"weight": weight}, sides, f"{pair.where} and {other.where}"


@mixed.bounds()
def mixtures(budget):
    for point, sides, where in _mixtures(budget):
        for order, seen in zip(
            _ABOVE_1.tolist(), renyi_divergence(*sides, order=_ABOVE_1), strict=True
        ):
            yield point | {"order": order}, seen, where


def _masses(ends: np.ndarray) -> np.ndarray:
    upper = special.ndtr(-ends[:-1]) - special.ndtr(-ends[1:])
    lower = special.ndtr(ends[1:]) - special.ndtr(ends[:-1])
    return np.where(ends[:-1] > 0.0, upper, lower)


@PS.privacy("PS-Lem10(finite)", "Lemma 10", Relation.BASE)
def finite(*, order: Order = 2.0, noise_multiplier: Noise = 1.0):
    """D_a(P || Q) is the supremum of D_a(g(P) || g(Q)) over functions g of finite range (on
    Gaussian pairs, where 4000 cells come within a thousandth).

    D_order of N(0, s^2) and N(1, s^2), the supremum over partitions of the line.
    """
    return gaussian_renyi(order, noise_multiplier)


@finite.bounds(grid(noise_multiplier=(0.5, 1.0, 4.0), order=(1.5, 2.0, 6.0)))
def partitions(order, noise_multiplier):
    """Finite partitions: no more than the supremum, and near it when they are fine."""
    reach = 10.0 + (order + 1.0) / noise_multiplier
    seen = 0.0
    for bins in (2, 20, 4000):
        ends = np.linspace(-reach, reach, bins + 1)
        ends[0], ends[-1] = -np.inf, np.inf
        laws = (_masses(ends), _masses(ends - 1.0 / noise_multiplier))
        seen = float(renyi_divergence(*laws, order))
        yield seen, f"{bins} cells"
    yield lambda supremum: (seen, 0.999 * supremum), "4000 cells, not far below"


@PS.identity(
    "PS-Def12-Gaussian",
    "after Definition 12; the lines of one run in Figures 2 and 3",
    relation=Relation.BASE,
)
def gaussian(*, order: Order = 2.0, noise_multiplier: Noise = 1.0):
    """D_a(N(0, s^2) || N(1, s^2)) = a/(2 s^2): at sensitivity 1 Gaussian noise is 1/(2 s^2)-zCDP,
    and no better."""
    return gaussian_renyi(order, noise_multiplier)


# The K = 1 lines of Figures 2 and 3 among them.
@gaussian.equals(
    grid(noise_multiplier=(0.5, 1.0, 1.0 / math.sqrt(0.2), 4.0), order=(1.01, 1.5, 2.0, 5.0, 30.0))
)
def quadrature_of_densities(order, noise_multiplier):
    shift = 1.0 / noise_multiplier
    centre = (1.0 - order) * shift
    z = np.linspace(min(centre, 0.0) - 20.0, max(centre, 0.0) + 20.0, 20_001)
    exponent = -0.5 * order * z**2 - 0.5 * (1.0 - order) * (z - shift) ** 2
    moment = float(special.logsumexp(exponent))  # type: ignore[arg-type]
    moment += math.log(z[1] - z[0])
    return (moment - 0.5 * math.log(2.0 * math.pi)) / (order - 1.0)


@PS.privacy("PS-Lem10(order-1)", "Lemma 10", Relation.BASE)
def mixed_at_order_1(
    *,
    first_epsilon: Response = 0.5,
    second_epsilon: Response = 2.0,
    weight: Weight = 0.5,
    first: FirstLaw = None,
    second: SecondLaw = None,
    other_first: FirstLaw = None,
    other_second: SecondLaw = None,
):
    """(P, Q) -> D_a(P || Q) is convex at a = 1, and at no larger order.

    Bound w D_1 + (1-w) D_1' on D_1 of a mixture of two randomised responses, or of two given
    pairs of laws.
    """
    one = _divergence(1.0, first_epsilon, first, second)
    other = _divergence(1.0, second_epsilon, other_first, other_second)
    return weight * one + (1.0 - weight) * other


@mixed_at_order_1.bounds()
def mixtures_at_order_1(budget):
    for point, sides, where in _mixtures(budget):
        yield point, float(renyi_divergence(*sides, order=1.0)), where
    # Not at larger orders: a pair far apart, mixed with one of equal laws.
    far = (np.array([0.99, 0.01]), np.array([0.01, 0.99]))
    for order in (1.5, 2.0, 5.0, 25.0):
        for w in np.linspace(0.05, 0.95, 19):
            half = [w * side + (1.0 - w) * np.array([0.01, 0.99]) for side in far]
            average = w * renyi_divergence(*far, order)
            seen = renyi_divergence(*half, order=order)
            if seen > average:
                yield Judged(seen, average, f"no convexity at order {order:g}, weight {w:g}")
                break
        else:
            yield Judged(0.0, 1.0, f"convex on all mixtures tried at order {order:g}")


@PS.privacy("PS-Lem13", "Lemma 13", Relation.BASE)
def concentrated(*, order: Order = 2.0, epsilon: ModerateEpsilon = 1.0):
    """(epsilon, 0)-DP implies epsilon^2/2-zCDP: D_a <= a epsilon^2/2 for all a > 1."""
    return zcdp_from_pure(epsilon) * order


@concentrated.bounds()
def pure_laws(budget):
    orders = (1.001, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 25.0, 100.0)
    for pair in pure_pairs(budget):
        epsilon, seen = exact_epsilon(*pair[:2]), two_sided_renyi(*pair[:2], orders)
        for order, divergence in zip(orders, seen, strict=True):
            yield {"order": order, "epsilon": epsilon}, divergence, pair.where


@PS.privacy("PS-Lem14", "Lemma 14", Relation.BASE, aliases=("KRW-LemD.1",))
def converted(
    *,
    order: Order = 2.0,
    # 1 + log 2: of the pair (1, 0) and (e^-r, 1 - e^-r), which has exactly this delta
    renyi_epsilon: Annotated[
        float, number("Renyi bound at that order", at_least=0.0)
    ] = 1.6931471805599454,
    epsilon: Annotated[float, number("where delta is asked for", at_least=0.0)] = 1.0,
):
    """D_a <= r implies (epsilon, delta)-DP for every epsilon >= 0 with delta = exp((a-1)(r -
    epsilon))/a (1 - 1/a)^(a-1).

    delta at epsilon that one Renyi bound gives; at most 1.
    """
    log_delta = float(log_delta_at_order(order, renyi_epsilon, epsilon))
    return math.exp(min(log_delta, 0.0))


@converted.bounds()
def conversions(budget):
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        for order in (1.1, 2.0, 10.0):
            # the one privacy loss at which the bound is attained
            loss = epsilon - math.log1p(-1.0 / order)
            first = np.array([1.0, 0.0])
            second = np.array([math.exp(-loss), -math.expm1(-loss)])
            point = {"order": order, "renyi_epsilon": loss, "epsilon": epsilon}
            yield point, hockey_stick(first, second, epsilon), "its tight pair"
    orders, epsilons = (1.05, 1.5, 2.0, 5.0, 25.0), (0.0, 0.05, 0.3, 1.0, 2.0)
    for pair in base_pairs(budget):
        values = renyi_divergence(*pair[:2], orders).tolist()
        for epsilon, delta in zip(epsilons, hockey_stick(*pair[:2], epsilons), strict=True):
            for order, value in zip(orders, values, strict=True):
                point = {"order": order, "renyi_epsilon": value, "epsilon": epsilon}
                yield point, delta, pair.where
