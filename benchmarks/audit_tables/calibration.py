"""How often a bound lies above the truth, and how often a kept claim falls, by method.

At confidence 0.9 a bound may lie above the truth in one of ten audits. The limit of one event
is to use nearly all of that where counts are large; where they are small, discreteness alone
costs some. Pairs are known, so that the truth is; the sequential test watches pairs that
attain their claim.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.audit_tables import Row
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.auditing.sequential import SequentialTest
from jaxsel.host.intervals import binomial_p_value

TRIALS, SECONDS, RUNS = 1_000_000, None, 4000
"""Of each audit, where nothing else is asked."""

ERROR = 0.1
ALPHA = 0.05  # of the sequential test
_SURPRISING = 1e-6
_STREAM = 100_000  # trials of a sequential test
# Probabilities of an event on both sides, and trials.
_EVENTS = (
    (0.3, 0.271, 10_000),
    (0.3, 0.271, 1_000_000),
    (0.03, 0.02, 100_000),
    (0.01, 0.00905, 1_000_000),
    (0.001, 0.0009, 10_000),
    (0.001, 0.0009, 1_000_000),
)
_DELTAS = ((0.03, 0.02, 0.004, 100_000), (0.2, 0.001, 0.05, 100_000))


def _bounds(
    p: float, q: float, trials: int, delta: float, method: str, runs: int, seed: int
) -> np.ndarray:
    """Bounds of audits of three outcomes, of which the first is the event."""
    generator = np.random.default_rng([seed, trials, round(1e6 * p), runs])
    laws = [[share, 0.2, 0.8 - share] for share in (p, q)]
    found = []
    for _ in range(runs):
        tallies = [generator.multinomial(trials // 2, law, size=2) for law in laws]
        if method == "split":
            data, neighbour = (side[0] for side in tallies)
            selection, events = (tallies[0][1], tallies[1][1]), np.array([[True, False, False]])
        else:
            data, neighbour = (side.sum(axis=0) for side in tallies)
            selection, events = None, "singletons"
        bound = epsilon_lower_bound(data, neighbour, delta, 1.0 - ERROR, events, selection)
        found.append(bound.lower)
    return np.array(found)


def _row(name: str, above: int, runs: int, error: float, began: float) -> Row:
    return {
        "pair": name,
        "above": above,
        "runs": runs,
        "share": above / runs,
        "allowed": error,
        "fair": bool(binomial_p_value(above, runs, error, "greater") >= _SURPRISING),
        "seconds": time.monotonic() - began,
    }


def _response(
    generator: np.random.Generator, epsilon: float, trials: int
) -> tuple[np.ndarray, np.ndarray]:
    keep = 1.0 / (1.0 + math.exp(-epsilon))
    draws = generator.random((2, trials))
    return draws[0] < keep, draws[1] >= keep


def _laplace(
    generator: np.random.Generator, epsilon: float, trials: int
) -> tuple[np.ndarray, np.ndarray]:
    return generator.laplace(size=trials), generator.laplace(epsilon, size=trials)


_Pair = Callable[[np.random.Generator, float, int], tuple[np.ndarray, np.ndarray]]


def _stops(draw: _Pair, epsilon: float, swapped: bool, trials: int, runs: int, seed: int) -> int:
    stops = 0
    for stream in range(runs):
        sides = draw(np.random.default_rng([seed, swapped, stream]), epsilon, trials)
        test = SequentialTest(epsilon, ALPHA)
        stops += test.feed(*(sides[::-1] if swapped else sides))
    return stops


def rows(trials: int, seed: int, seconds: float | None, runs: int) -> Iterator[Row]:
    """Audits known pairs again and again, and feeds sequential tests with pairs at their claim.

    Args:
      trials: the largest number on each side; pairs of more are left out, and sequential
        tests have so many, at most 100,000.
      seed: of all randomness.
      seconds: unused: every row is run to its end.
      runs: audits of each pair; a twentieth as many sequential tests.
    """
    del seconds
    cases = [(p, q, 0.0, n) for p, q, n in _EVENTS] + [(p, q, d, n) for p, q, d, n in _DELTAS]
    for method in ("split", "bonferroni"):
        for p, q, delta, n in cases:
            if n > trials:
                continue
            began = time.monotonic()
            found = _bounds(p, q, n, delta, method, runs, seed)
            above = int(np.sum(found > math.log((p - delta) / q)))
            at = f", delta {delta:g}" if delta else ""
            name = f"{method}: {p:g} and {q:g}{at}, {n:,} trials"
            yield _row(name, above, runs, ERROR, began)
    for name, draw in (("randomised response", _response), ("Laplace", _laplace)):
        for swapped in (False, True):
            began, streams = time.monotonic(), max(runs // 20, 1)
            stops = _stops(draw, 0.5, swapped, min(trials, _STREAM), streams, seed)
            order = "neighbour first" if swapped else "data first"
            yield _row(f"sequential: {name}, {order}", stops, streams, ALPHA, began)


def judged(found: Sequence[Row]) -> tuple[str, bool]:
    """What the table shows, in a sentence, and whether no share is above what is allowed."""
    fair = sum(bool(row["fair"]) for row in found)
    return (
        f"{fair} of {len(found)} shares are not above what is allowed by the exact binomial test "
        f"(at {_SURPRISING:g}).",
        fair == len(found),
    )
