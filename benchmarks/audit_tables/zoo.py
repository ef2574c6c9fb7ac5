"""The thirteen mechanisms of a published evaluation of auditors, as anybody's functions.

Report noisy max in four forms, sparse vectors 1 to 6 of Lyu, Su & Li 2017 (Figure 1), one
that releases values, two in parallel, and Laplace, each with a claim of epsilon = 0.1, sampled
literally. The published bounds are those of DP-Sniper (Bichsel, Steffen, Bogunovic & Vechev
2021) and of its wrapped StatDP, from the logs in its repository; the larger one is the bar.
"""

import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.audit_tables import Row
from jaxsel.auditing.functions.audit_function import search_and_bound
from jaxsel.auditing.functions.events import Claim
from jaxsel.auditing.functions.how import How

TRIALS, SECONDS, RUNS = 200_000_000, None, 1
"""Of each audit, where nothing else is asked."""

EPSILON = 0.1
_FLOOR = 1e-3  # of an event's probability in an exact value, as events have that are sampled


def laplace(rng, data, n):
    """One query with Laplace noise."""
    return data[0] + rng.laplace(scale=1 / EPSILON, size=n)


def _noised(rng, data, n, kind, scale):
    return np.asarray(data) + getattr(rng, kind)(scale=scale, size=(n, len(data)))


def noisy_max_1(rng, data, n):
    """The place of the largest query with Laplace noise."""
    return _noised(rng, data, n, "laplace", 2 / EPSILON).argmax(axis=1)


def noisy_max_2(rng, data, n):
    """The place of the largest query with exponential noise."""
    return _noised(rng, data, n, "exponential", 2 / EPSILON).argmax(axis=1)


def noisy_max_3(rng, data, n):
    """The largest query with Laplace noise, itself."""
    return _noised(rng, data, n, "laplace", 2 / EPSILON).max(axis=1)


def noisy_max_4(rng, data, n):
    """The largest query with exponential noise, itself."""
    return _noised(rng, data, n, "exponential", 2 / EPSILON).max(axis=1)


def _stopped(above, shown, most):
    """What is shown where a query is above and 0 where it is below, until the cut-off; then -1."""
    stopped = np.cumsum(above, axis=1) - above >= most
    return np.where(stopped, -1.0, np.where(above, shown, 0.0))


def _sparse(rng, data, n, *, threshold, part, scale, most, value=False):
    """A sparse vector with one threshold noise; ``part`` of epsilon is the threshold's."""
    noise = rng.laplace(scale=1 / (part * EPSILON), size=(n, 1))
    noisy = _noised(rng, data, n, "laplace", scale) if scale else np.asarray(data)[None]
    above = noisy >= threshold + noise
    # A released value of 0 or -1 has probability 0.
    return _stopped(above, noisy if value else 1.0, most or len(data))


_REST = 0.5 * EPSILON


def sparse_vector_1(rng, data, n):
    """Threshold 0.5, cut-off 1."""
    return _sparse(rng, data, n, threshold=0.5, part=0.5, scale=2 / _REST, most=1)


def sparse_vector_2(rng, data, n):
    """Threshold 1, cut-off 1: with it the new threshold noise after an answer is never used."""
    return _sparse(rng, data, n, threshold=1.0, part=0.5, scale=2 / _REST, most=1)


def sparse_vector_3(rng, data, n):
    """Releases the noisy query that was compared."""
    return _sparse(rng, data, n, threshold=1.0, part=0.5, scale=1 / _REST, most=1, value=True)


def sparse_vector_4(rng, data, n):
    """A quarter of epsilon for the threshold, and noise for one query alone."""
    return _sparse(rng, data, n, threshold=1.0, part=0.25, scale=1 / (0.75 * EPSILON), most=1)


def sparse_vector_5(rng, data, n):
    """No noise on queries, and no cut-off."""
    return _sparse(rng, data, n, threshold=1.0, part=0.5, scale=0.0, most=None)


def sparse_vector_6(rng, data, n):
    """No cut-off."""
    return _sparse(rng, data, n, threshold=1.0, part=0.5, scale=1 / _REST, most=None)


def numerical_sparse_vector(rng, data, n):
    """Cut-off 2; each answer above is the query with noise of its own."""
    noise = rng.laplace(scale=3 / EPSILON, size=(n, 1))
    above = _noised(rng, data, n, "laplace", 12 / EPSILON) >= 1.0 + noise
    return _stopped(above, _noised(rng, data, n, "laplace", 6 / EPSILON), 2)


def sparse_vectors_3_and_4(rng, data, n):
    """The third and the fourth on the same queries, cut-off 2."""
    third = _sparse(rng, data, n, threshold=1.0, part=0.5, scale=2 / _REST, most=2, value=True)
    fourth = _sparse(rng, data, n, threshold=1.0, part=0.25, scale=1 / (0.75 * EPSILON), most=2)
    return np.concatenate([third, fourth], axis=1)


class Member(NamedTuple):
    """A mechanism of the zoo.

    Attributes:
      function: what is audited.
      size: how many queries it takes.
      published: the largest published lower bound on epsilon.
      keeps: whether it keeps its claim.
      exact: ``(data, neighbour) -> epsilon`` on a pair, or None where no law is at hand;
        events of probability below 1e-3 do not count where values or a thousand patterns are.
    """

    function: Callable[..., Any]
    size: int
    published: float
    keeps: bool
    exact: Callable[[Any, Any], float] | None = None


def _grid() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for integrals over noise of these scales."""
    # Densities have kinks at queries, which are whole numbers.
    edges = np.unique(np.concatenate([np.arange(-40.0, 41.0), np.linspace(-900, 900, 181)]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2.0
    return (edges[:-1, None] + half * (nodes + 1.0)).ravel(), (half * weights).ravel()


def _density(kind, x, scale):
    if kind == "laplace":
        return np.exp(-np.abs(x) / scale) / (2.0 * scale)
    return np.where(x >= 0.0, np.exp(-np.maximum(x, 0.0) / scale) / scale, 0.0)


def _below(kind, x, scale):
    low = 0.5 * np.exp(-np.abs(x) / scale)
    if kind == "laplace":
        return np.where(x < 0.0, low, 1.0 - low)
    return np.where(x >= 0.0, -np.expm1(-np.maximum(x, 0.0) / scale), 0.0)


def _largest(p: np.ndarray, q: np.ndarray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(np.log(p) - np.log(q))
    return float(np.nanmax(ratios))


def _places(kind, data):
    """The law of the place of the largest noisy query."""
    x, weights = _grid()
    below = np.stack([_below(kind, x - query, 2 / EPSILON) for query in data])
    density = np.stack([_density(kind, x - query, 2 / EPSILON) for query in data])
    others = [np.delete(below, place, 0).prod(0) for place in range(len(data))]
    return (density * np.stack(others)) @ weights


def _of_places(kind, data, neighbour):
    return _largest(_places(kind, data), _places(kind, neighbour))


def _of_values(kind, data, neighbour):
    """From the tails of the largest noisy query, which are where its ratio is largest."""
    x = np.linspace(-200.0, 400.0, 60_001)
    sides = [
        np.stack([_below(kind, x - query, 2 / EPSILON) for query in queries]).prod(0)
        for queries in (data, neighbour)
    ]
    return max(
        _largest(p[known], q[known])
        for p, q in (sides, [1.0 - side for side in sides])
        for known in [np.maximum(p, q) >= _FLOOR]
    )


def _by_pattern(data, *, threshold, part, scale, most):
    """The law of which queries are above, by one integral over the threshold's noise.

    A pattern has an entry for each query, and ends where the mechanism stops.
    """
    x, weights = _grid()
    law = _density("laplace", x, 1 / (part * EPSILON)) * weights
    states = {(): law}
    for query in data:
        above = 1.0 - _below("laplace", threshold + x - query, scale)
        grown = {}
        for pattern, mass in states.items():
            if sum(pattern) >= most:
                grown[pattern] = mass
            else:
                grown[(*pattern, 1)] = mass * above
                grown[(*pattern, 0)] = mass * (1.0 - above)
        states = grown
    return {pattern: float(states[pattern].sum()) for pattern in sorted(states)}


def _patterns(data, **settings):
    """The probabilities of the same law, in the order of the patterns."""
    return np.array(list(_by_pattern(data, **settings).values()))


def _places_and_values(data):
    """The law of where the third sparse vector stops and of the value there; last, of no stop.

    The value stands on the grid of the threshold's noise, moved by the threshold.
    """
    x, weights = _grid()
    law = _density("laplace", x, 1 / (0.5 * EPSILON)) * weights
    cells = []
    for query in data:
        # The threshold's noise is at most what the value is above the threshold.
        reached = np.cumsum(law) - 0.5 * law
        cells.append(_density("laplace", 1.0 + x - query, 1 / _REST) * weights * reached)
        law = law * _below("laplace", 1.0 + x - query, 1 / _REST)
    return np.append(np.concatenate(cells), law.sum())


def _patterns_and_values(data):
    """The law of which two queries the numerical sparse vector answers, and of the two values.

    Beyond the queries, which are -1 to 2 here, the ratio of two densities of a value is constant.
    """
    edges = np.concatenate([[-np.inf], np.arange(-1.0, 3.01, 0.25), [np.inf]])
    law = _by_pattern(data, threshold=1.0, part=1 / 3, scale=12 / EPSILON, most=2)
    cells = []
    for pattern, chance in law.items():
        found = np.array([chance])
        for place in np.flatnonzero(pattern):
            value = np.diff(_below("laplace", edges - data[place], 6 / EPSILON))
            found = np.multiply.outer(found, value).ravel()
        cells.append(found)
    return np.concatenate(cells)


def _of_sets(law, data, neighbour):
    """The largest log-ratio of a set of outcomes of probability 1e-3 or more, by its law."""
    p, q = law(data), law(neighbour)
    return max(_best_set(p, q), _best_set(q, p))


def _best_set(p: np.ndarray, q: np.ndarray) -> float:
    """log(P(E) / Q(E)) of the outcomes of the largest ratios, as many as have that probability."""
    order = np.argsort(-(p / np.maximum(q, 1e-300)), kind="stable")
    inside, other = np.cumsum(p[order]), np.cumsum(q[order])
    last = int(np.searchsorted(inside, _FLOOR))
    return float(np.log(inside[last]) - np.log(other[last]))


def _of_patterns(data, neighbour, **settings):
    return _largest(_patterns(data, **settings), _patterns(neighbour, **settings))


def _of_one(data, neighbour):
    return EPSILON * abs(data[0] - neighbour[0])


def _patterned(threshold, part, scale, most):
    return functools.partial(_of_patterns, threshold=threshold, part=part, scale=scale, most=most)


ZOO = (
    Member(laplace, 1, 0.0998, True, _of_one),
    Member(noisy_max_1, 5, 0.0925, True, functools.partial(_of_places, "laplace")),
    Member(noisy_max_2, 5, 0.0996, True, functools.partial(_of_places, "exponential")),
    Member(noisy_max_3, 5, 0.2488, False, functools.partial(_of_values, "laplace")),
    Member(noisy_max_4, 5, 0.3534, False, functools.partial(_of_values, "exponential")),
    Member(sparse_vector_1, 10, 0.0858, True, _patterned(0.5, 0.5, 2 / _REST, 1)),
    Member(sparse_vector_2, 10, 0.0859, True, _patterned(1.0, 0.5, 2 / _REST, 1)),
    Member(sparse_vector_3, 10, 0.1822, False, functools.partial(_of_sets, _places_and_values)),
    Member(sparse_vector_4, 10, 0.1709, False, _patterned(1.0, 0.25, 1 / (0.75 * EPSILON), 1)),
    Member(sparse_vector_5, 10, 14.3143, False),
    Member(
        sparse_vector_6,
        10,
        0.3220,
        False,
        functools.partial(
            _of_sets,
            functools.partial(_patterns, threshold=1.0, part=0.5, scale=1 / _REST, most=10),
        ),
    ),
    Member(
        numerical_sparse_vector, 10, 0.0345, True, functools.partial(_of_sets, _patterns_and_values)
    ),
    Member(sparse_vectors_3_and_4, 10, 0.2616, False),
)


_ERROR = 0.1  # of the published bounds, too
_SEARCH = 20_000_000  # trials a side that look for pair and event, at most
_SHORT = 0.01  # by how much a bound may be short of the exact value
_SHORT_OF_SPARSE = 0.015


def rows(trials: int, seed: int, seconds: float | None, runs: int) -> Iterator[Row]:
    """Audits each member: pair and event are searched, and bounded on fresh trials.

    Args:
      trials: on each side; of them, the search has at most twenty million.
      seed: of all randomness.
      seconds: at most, for each member.
      runs: unused; each member is audited once.
    """
    del runs
    for member in ZOO:
        began = time.monotonic()
        found = search_and_bound(
            member.function,
            [1.0] * member.size,
            relation="general",
            claims=[Claim(EPSILON)],
            said=f"epsilon {EPSILON:g}",
            trials=trials,
            false_alarm=_ERROR,
            how=How(search_trials=min(_SEARCH, trials // 2), largest=True, seconds=seconds),
            seed=seed,
        )
        exact = math.nan
        if member.exact is not None:
            exact = member.exact(found.data, found.neighbour)
        short = _SHORT_OF_SPARSE if member.function.__name__ in _SLOW else _SHORT
        wrong = member.keeps and found.lower > EPSILON
        near = not (math.isfinite(exact) and found.lower < (1.0 - short) * exact)
        yield {
            "mechanism": member.function.__name__,
            "published": member.published,
            "bound": found.lower,
            "exact on the pair": exact,
            "reached": found.lower >= member.published and near and not wrong,
            "event": found.event,
            "pair": found.why,
            "trials": found.trials,
            "search seconds": found.search_seconds,
            "seconds": time.monotonic() - began,
        }


_SLOW = ("sparse_vector_1", "sparse_vector_2")


def judged(found: Sequence[Row]) -> tuple[str, bool]:
    """What the table shows, in a sentence, and whether every published bound was reached."""
    reached = sum(bool(row["reached"]) for row in found)
    return (
        f"{reached} of {len(found)} bounds reach the published one and come within 1 % (1.5 % for "
        "sparse vectors 1 and 2) of the exact value of the pair, where one is known (where "
        "outcomes are values or a thousand patterns, of sets of probability 1e-3 and more); none "
        "may be "
        f"above 0.1 where the claim is kept. Confidence {1 - _ERROR:g}.",
        reached == len(found),
    )
