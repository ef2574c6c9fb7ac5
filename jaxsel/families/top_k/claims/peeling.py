"""Picking k by exponential mechanisms: McSherry & Talwar 2007, Durfee & Rogers 2019."""

import itertools
import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.families.top_k.baselines import exponential_top_k_rho, exponential_top_k_scale
from jaxsel.families.top_k.curves import peeled_curve
from jaxsel.families.top_k.laws import peeled_law, set_size, top_k_set_law, vote_neighbours
from jaxsel.families.top_k.parameters import AnyScale, Changes, Order, Picks, Rho
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import grid
from jaxsel.language.domains import number, numbers
from jaxsel.language.papers import DURFEE, JX, MT

_ORDERS = (1.2, 2.0, 10.0)
_RELATIONS = (Relation.MONOTONE.value, Relation.GENERAL.value)


# --- At every order -------------------------------------------------------------------


def zcdp(relation: Relation) -> Callable[..., float]:
    def evaluate(*, order: Order = 2.0, noise_scale: AnyScale = 2.0, k: Picks = 2) -> float:
        """Returns the Renyi bound of k picks, order k r^2/8, where r is ``pick_range``."""
        return order * exponential_top_k_rho(noise_scale, k, relation)

    return evaluate


def _sharp_renyi(relation: Relation) -> Callable[..., float]:
    def evaluate(*, order: Order = 2.0, noise_scale: AnyScale = 2.0, k: Picks = 2) -> float:
        """Returns the sharp Renyi bound of k picks, whose losses have the range ``pick_range``."""
        return float(peeled_curve(noise_scale, k, relation).renyi(np.asarray(order)))

    return evaluate


@DURFEE.privacy(
    "BASE-EM-CDP",
    "and Cesar & Rogers 2021, on counts",
    Relation.MONOTONE,
    formula=zcdp(Relation.MONOTONE),
)
def concentrated():
    """k picks with weights exp(count/b), in order, are k/(8 b^2)-zCDP if counts move in one
    direction by at most 1."""


@DURFEE.privacy(
    "BASE-EM-CDP-general",
    "and Cesar & Rogers 2021",
    Relation.GENERAL,
    formula=zcdp(Relation.GENERAL),
)
def concentrated_general():
    """k picks with weights exp(count/b), in order, are k/(2 b^2)-zCDP if counts move in any
    direction by at most 1."""


@JX.privacy(
    "BASE-EM-sharp",
    "for Dong, Durfee & Rogers 2020, on counts",
    Relation.MONOTONE,
    formula=_sharp_renyi(Relation.MONOTONE),
)
def sharp():
    """k picks with weights exp(count/b), in order, have at every order at most k times the sharp
    Renyi bound of losses in a range of length 1/b if counts move in one direction by at most 1."""


@JX.privacy(
    "BASE-EM-sharp-general",
    "for Dong, Durfee & Rogers 2020",
    Relation.GENERAL,
    formula=_sharp_renyi(Relation.GENERAL),
)
def sharp_general():
    """k picks with weights exp(count/b), in order, have at every order at most k times the sharp
    Renyi bound of losses in a range of length 2/b if counts move in any direction by at most 1."""


@concentrated.bounds(moves=(0.0, 1.0))
@sharp.bounds(moves=(0.0, 1.0))
@concentrated_general.bounds(moves=(-1.0, 0.0, 1.0))
@sharp_general.bounds(moves=(-1.0, 0.0, 1.0))
def picks_in_order(budget, moves):
    """Exact divergences of the picks in their order, on histograms of four candidates."""
    for counts, scale, k in itertools.product(
        ((2, 2, 2, 2), (4, 3, 1, 0), (9, 1, 1, 0)), (0.6, 3.0), (1, 2, 4)
    ):
        data = np.array(counts, dtype=np.float64)
        law = peeled_law(data / scale, k)
        for move in itertools.product(moves, repeat=data.size):
            found = peeled_law((data + np.array(move)) / scale, k)
            for first, second in ((law, found), (found, law)):
                seen = renyi_divergence(first, second, _ORDERS)
                for order, divergence in zip(_ORDERS, seen.tolist(), strict=True):
                    point = {"order": order, "noise_scale": scale, "k": k}
                    yield point, divergence, f"{counts} + {move}"


# --- Pure -----------------------------------------------------------------------------


@MT.privacy("BASE-EM-pure", "on counts that move in one direction", Relation.MONOTONE)
def pure(*, noise_scale: AnyScale = 2.0, k: Picks = 2) -> float:
    """k picks with weights exp(count/b), in order, are k/b-DP if counts move in one direction by at
    most 1."""
    return k / noise_scale


@pure.bounds(grid(counts=((2, 2, 2, 2), (0, 0, 0, 90)), noise_scale=(0.6, 3.0), k=(1, 2, 3)))
def more_votes(counts, noise_scale, k):
    data = np.array(counts, dtype=np.float64)
    law = peeled_law(data / noise_scale, k)
    for other in vote_neighbours(data):
        seen = exact_epsilon(law, peeled_law(other / noise_scale, k))
        yield seen, f"-> {other.astype(int).tolist()}"


@JX.privacy("BASE-EM-rho-pure", "for Durfee & Rogers 2019", Relation.MONOTONE)
def calibrated(*, rho: Rho = 0.5, k: Picks = 2, changes: Changes = "monotone") -> float:
    """k picks with the noise at which they cost rho are sqrt(8 rho k)-DP if counts move in one
    direction by at most 1; sqrt(2 rho k)-DP with the noise meant for changes in any direction."""
    return math.sqrt((8.0 if changes == "monotone" else 2.0) * rho * k)


@calibrated.bounds(grid(rho=(0.05, 0.5), k=(1, 2, 3), changes=_RELATIONS))
def one_leader(rho, k, changes):
    scale = exponential_top_k_scale(rho, k, Relation(changes))
    return more_votes((0.0, 0.0, 0.0, 200.0), scale, k)


# --- One shot -------------------------------------------------------------------------


@DURFEE.identity("BASE-EM-one-shot", "Lemma 4.2")
def one_shot(
    *,
    gap: Annotated[float, number("first minus second count")] = 1.0,
    noise_scale: AnyScale = 2.0,
    further: Annotated[
        Any, numbers("counts less the second, of a third and so on; empty: no more")
    ] = None,
    k: Picks = 1,
) -> float:
    """The k largest counts after Gumbel(b) noise on each are k picks, one after another, with
    weights exp(count/b).

    Returns the probability that k picks are the first k counts. For two counts and k = 1 it is 1/(1
    + exp(-gap/noise_scale)).
    """
    counts = np.append([gap, 0.0], [] if further is None else further)
    if k > counts.size:
        raise InputError(f"k is {k}; there are {counts.size} counts")
    return float(top_k_set_law(counts / noise_scale, k)[2**k - 1])


@one_shot.equals(tolerance=1e-10)
def random_levels(budget):
    """The probability of each set as that of k largest noisy counts.

    It is the integral over the time at which the last candidate of the set arrives.
    """
    edges = np.linspace(-45.0, 12.0, 571)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = (edges[1] - edges[0]) / 2.0
    u = (((edges[1:] + edges[:-1]) / 2.0)[:, None] + half * nodes).ravel()
    weight = np.tile(half * weights, edges.size - 1)
    for generator in budget.draws(30, stream=21):
        m = int(generator.integers(2, 6))
        k = int(generator.integers(1, m + 1))
        levels = generator.normal(scale=1.5, size=m)
        scale = 0.5 * m
        hazard = np.exp(np.minimum(u + levels[:, None], 700.0))
        arrived, density = -np.expm1(-hazard), hazard * np.exp(-hazard)
        for mask in np.flatnonzero(set_size(np.arange(2**m)) == k):
            inside = (mask >> np.arange(m) & 1).astype(bool)
            rest = np.prod(np.where(inside[:, None], 1.0, 1.0 - arrived), axis=0)
            total = np.zeros_like(u)
            for last in np.flatnonzero(inside):
                others = inside & (np.arange(m) != last)
                before = np.prod(np.where(others[:, None], arrived, 1.0), axis=0)
                total += density[last] * before
            # The set's candidates stand first.
            counts = scale * np.concatenate([levels[inside], levels[~inside]])
            point = {
                "gap": float(counts[0] - counts[1]),
                "noise_scale": scale,
                "further": counts[2:] - counts[1] if m > 2 else None,
                "k": k,
            }
            yield point, float(weight @ (total * rest))
