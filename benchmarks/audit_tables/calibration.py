"""How often a bound lies above the truth, and how often a kept claim falls, by method.

At confidence 0.9 a bound may lie above the truth in one of ten audits. The limit of one event
is to use nearly all of that where counts are large; where they are small, discreteness alone
costs some, and how much is enumerated. Pairs are known, so that the truth is; the sequential
test watches pairs that attain their claim.

Functions whose noise is their own are audited with one seed: what an audit draws for itself must
not be a function of the counts that it tests. Few counts show that, where they decide.

The score limit that bounds are compared with is that of a ratio of two binomial probabilities
(Koopman 1984, Miettinen & Nurminen 1985), which holds for large counts alone.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats

from benchmarks.audit_tables import Row
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.auditing.event_limits import conditional_epsilon, poisson_counts
from jaxsel.auditing.functions.audit_function import search_and_bound
from jaxsel.auditing.functions.events import Claim
from jaxsel.auditing.functions.how import How
from jaxsel.auditing.sequential import SequentialTest
from jaxsel.host.intervals import binomial_p_value

TRIALS, SECONDS, RUNS = 1_000_000, None, 4000
"""Of each audit, where nothing else is asked."""

ERROR = 0.1
ALPHA = 0.05  # of the sequential test, and of functions with noise of their own
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


_LEARNED = 20_000  # trials of an audit that learns its event
_METHODS = ("given", "split", "bonferroni")


class _Pair(NamedTuple):
    """An event's probabilities on both sides, at a delta, and trials on each side."""

    p: float
    q: float
    delta: float
    trials: int

    @property
    def truth(self) -> float:
        """The epsilon that the event shows."""
        return math.log((self.p - self.delta) / self.q)

    @property
    def name(self) -> str:
        """In words."""
        at = f", delta {self.delta:g}" if self.delta else ""
        return f"{self.p:g} and {self.q:g}{at}, {self.trials:,} trials"


def _tallies(pair: _Pair, runs: int, seed: int) -> Iterator[tuple[list, np.random.Generator]]:
    """Tallies of three outcomes on both sides, in two halves; the first outcome is the event."""
    generator = np.random.default_rng([seed, pair.trials, round(1e6 * pair.p), runs])
    laws = [[share, 0.2, 0.8 - share] for share in (pair.p, pair.q)]
    for _ in range(runs):
        yield [generator.multinomial(pair.trials // 2, law, size=2) for law in laws], generator


def _bounds(pair: _Pair, method: str, runs: int, seed: int) -> np.ndarray:
    """Bounds by one half of the trials, the other half choosing the direction; or by all."""
    found = []
    for sides, _ in _tallies(pair, runs, seed):
        if method == "split":
            data, neighbour = (side[0] for side in sides)
            selection, events = (sides[0][1], sides[1][1]), np.array([[True, False, False]])
        else:
            data, neighbour = (side.sum(axis=0) for side in sides)
            selection, events = None, "singletons"
        bound = epsilon_lower_bound(data, neighbour, pair.delta, 1.0 - ERROR, events, selection)
        found.append(bound.lower)
    return np.array(found)


def _bounds_as_given(pair: _Pair, runs: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Bounds of the event in its direction, score limits, and how often the first exceed it."""
    found, counts, rates, rest = [], [], (1.0, 1.0), ERROR
    for sides, generator in _tallies(pair, runs, seed):
        inside = [int(side[:, 0].sum()) for side in sides]
        used = np.array([[pair.trials - one, one] for one in inside])
        thinned, rates, rest = poisson_counts(used, ERROR, generator)
        found.append(conditional_epsilon(thinned, rates, pair.delta, rest, generator))
        counts.append(inside)
    # A bound is at least 0, whatever the limit.
    scores = np.maximum(_score_limits(np.array(counts), pair.trials, ERROR), 0.0)
    return np.array(found), scores, _enumerated(pair, rates, rest)


def _enumerated(pair: _Pair, rates: tuple[float, float], error: float) -> float:
    """How often the limit of one event lies above the truth, by its law.

    The sum of both counts is Poisson, and the first is binomial given the sum. At a positive
    delta this is how often the truth is rejected, which is a little more.
    """
    first = rates[0] * pair.p
    second = rates[1] * (pair.q + pair.delta * math.exp(-pair.truth))
    mean, share = first + second, first / (first + second)
    totals = np.arange(*scipy.stats.poisson.interval(1.0 - 1e-12, mean))
    largest = scipy.stats.binom.isf(error, totals, share)  # P[X > largest] <= error
    above = scipy.stats.binom.sf(largest, totals, share)
    return float(np.sum(scipy.stats.poisson.pmf(totals, mean) * above))


def _score_limits(counts: np.ndarray, trials: int, error: float) -> np.ndarray:
    """Lower limits of log(p / q) by the score test, of equal numbers of trials on both sides."""
    x, y = counts.T.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.nan_to_num(np.clip(np.log(x / y), -20.0, 20.0), nan=-20.0)
    low = np.full(len(x), -20.0)
    quantile = float(scipy.special.ndtri(1.0 - error))
    for _ in range(60):
        middle = (low + high) / 2.0
        ratio = np.exp(middle)
        # The likeliest q on the line p = ratio q, from a quadratic equation.
        linear = trials * ratio + x + trials + y * ratio
        square = 2.0 * trials * ratio
        q = (linear - np.sqrt(linear**2 - 4.0 * square * (x + y))) / (2.0 * square)
        p = ratio * q
        spread = np.sqrt((p * (1.0 - p) + ratio**2 * q * (1.0 - q)) / trials)
        refuted = (x - ratio * y) / trials >= quantile * spread
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def _row(name: str, above: int, runs: int, error: float, began: float, **more: float) -> Row:
    return {
        "pair": name,
        "above": above,
        "runs": runs,
        "share": above / runs,
        "allowed": error,
        "enumerated": more.get("enumerated", math.nan),
        "slack": more.get("slack", math.nan),
        "slack / score": more.get("beside", math.nan),
        "fair": bool(binomial_p_value(above, runs, error, "greater") >= _SURPRISING),
        "seconds": time.monotonic() - began,
    }


def _of_method(pair: _Pair, method: str, runs: int, seed: int) -> Row:
    began, more = time.monotonic(), {}
    if method == "given":
        bounds, scores, more["enumerated"] = _bounds_as_given(pair, runs, seed)
        if not pair.delta:
            more["beside"] = float(np.mean(pair.truth - bounds) / np.mean(pair.truth - scores))
    else:
        bounds = _bounds(pair, method, runs, seed)
    more["slack"] = float(np.mean(pair.truth - bounds))
    above = int(np.sum(bounds > pair.truth))
    return _row(f"{method}: {pair.name}", above, runs, ERROR, began, **more)


_DELTA = 0.05
# Lambdas run in this process: to start others takes longer than so short an audit.
_FUNCTIONS: Mapping[str, tuple[Callable, tuple[float, float], float, float]] = {
    "randomised response": (
        lambda rng, data, n: rng.random(n) < scipy.special.expit(data),
        (0.5, -0.5),
        0.5,
        0.0,
    ),
    "Laplace": (lambda rng, data, n: data + rng.laplace(size=n), (0.0, 0.5), 0.5, 0.0),
    "Gaussian": (
        lambda rng, data, n: data + rng.normal(size=n),
        (0.0, 1.0),
        gaussian_epsilon(_DELTA, 1.0),
        _DELTA,
    ),
}
"""Functions whose events are learned: the pair, and the epsilon that it shows at a delta."""


def _of_learned(name: str, trials: int, runs: int, seed: int) -> Row:
    began = time.monotonic()
    function, pair, truth, delta = _FUNCTIONS[name]
    bounds = np.array(
        [
            search_and_bound(
                function,
                *pair,
                relation="local",
                claims=[Claim(truth, delta)],
                said=f"epsilon {truth:g}",
                trials=trials,
                false_alarm=ERROR,
                seed=seed + run,
                how=How(largest=True),
            ).lower
            for run in range(runs)
        ]
    )
    above, slack = int(np.sum(bounds > truth)), float(np.mean(truth - bounds))
    at = f", delta {delta:g}" if delta else ""
    return _row(f"learned: {name}{at}, {trials:,} trials", above, runs, ERROR, began, slack=slack)


class _Own(NamedTuple):
    """A right function whose noise is not the seed's, on a pair at which its claim is tight.

    Attributes:
      function: draws its noise from a generator of its own.
      pair: two inputs.
      epsilon, delta: what it claims, and attains.
    """

    function: Callable[..., Any]
    pair: tuple[Any, Any]
    epsilon: float
    delta: float = 0.0


def _own() -> np.random.Generator:
    return np.random.default_rng()


_RARE = 1e-4  # of which one is expected in the trials of a bound


def _coin(share: float, n: int) -> np.ndarray:
    """One with this probability, else nought."""
    return (_own().random(n) < share).astype(int)


def _named(shares: Sequence[float], n: int) -> list[str]:
    """Answers in words, with these probabilities."""
    names = np.array(["usual", "rare", "rarer", "rarest"])
    return list(names[_own().choice(4, n, p=shares)])


OWN_NOISE: Mapping[str, _Own] = {
    "few: a rare answer that delta allows": _Own(
        lambda rng, data, n: _coin(2 * _RARE * data, n), (0, 1), 0.0, 2 * _RARE
    ),
    "few: a rare answer on both sides": _Own(
        lambda rng, data, n: _coin(1.5 * _RARE, n), (0, 1), 0.0
    ),
    "few: nearly always one answer": _Own(lambda rng, data, n: _coin(1 - _RARE, n), (0, 1), 0.0),
    "few: always one answer, or but for delta": _Own(
        lambda rng, data, n: _coin(1 - 3 * _RARE * data, n), (0, 1), 0.0, 3 * _RARE
    ),
    "few: a rare answer e times as likely": _Own(
        lambda rng, data, n: _coin(5 * _RARE * np.exp(-data), n), (0, 1), 1.0
    ),
    "few: rare answers in words": _Own(
        lambda rng, data, n: _named([1 - 4 * _RARE, 2 * _RARE, _RARE, _RARE], n), (0, 1), 0.0
    ),
    "randomised response": _Own(
        lambda rng, data, n: _coin(scipy.special.expit(data), n), (0.5, -0.5), 0.5
    ),
    "Laplace": _Own(lambda rng, data, n: data + _own().laplace(size=n), (0.0, 1.0), 1.0),
    "Gaussian": _Own(
        lambda rng, data, n: data + _own().normal(size=n),
        (0.0, 1.0),
        gaussian_epsilon(_DELTA, 1.0),
        _DELTA,
    ),
    "geometric": _Own(
        lambda rng, data, n: (
            data + _own().geometric(1 - np.exp(-1), n) - _own().geometric(1 - np.exp(-1), n)
        ),
        (0, 1),
        1.0,
    ),
    "one of four": _Own(
        lambda rng, data, n: (data + _own().choice(4, n, p=np.array([2, 1, 1, 1]) / 5)) % 4,
        (0, 1),
        math.log(2.0),
    ),
    "two Laplace answers": _Own(
        lambda rng, data, n: data + _own().laplace(size=(n, 2)), (0.0, 0.5), 1.0
    ),
}
"""Twelve right functions with noise of their own; six have 0 to 5 expected counts in what decides.

They are lambdas, which run in this process.
"""


def audits_of_own_noise(name: str, trials: int, runs: int) -> int:
    """How many of so many audits of one of ``OWN_NOISE`` refute it, all with the default seed."""
    one = OWN_NOISE[name]
    return sum(
        search_and_bound(
            one.function,
            *one.pair,
            relation="local",
            claims=[Claim(one.epsilon, one.delta)],
            said=f"epsilon {one.epsilon:g}",
            trials=trials,
            false_alarm=ALPHA,
        ).refuted
        for _ in range(runs)
    )


def _of_own_noise(name: str, trials: int, runs: int) -> Row:
    began = time.monotonic()
    refuted = audits_of_own_noise(name, trials, runs)
    return _row(f"own noise, {trials:,} trials, {name}", refuted, runs, ALPHA, began)


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


_Sides = Callable[[np.random.Generator, float, int], tuple[np.ndarray, np.ndarray]]


def _stops(draw: _Sides, epsilon: float, swapped: bool, trials: int, runs: int, seed: int) -> int:
    stops = 0
    for stream in range(runs):
        sides = draw(np.random.default_rng([seed, swapped, stream]), epsilon, trials)
        test = SequentialTest(epsilon, ALPHA)
        stops += test.feed(*(sides[::-1] if swapped else sides))
    return stops


def rows(trials: int, seed: int, seconds: float | None, runs: int) -> Iterator[Row]:
    """Audits known pairs again and again, and feeds sequential tests with pairs at their claim.

    Args:
      trials: the largest number on each side; pairs of more are left out, sequential tests
        have so many, at most 100,000, and audits that learn their event at most 20,000.
      seed: of all randomness.
      seconds: unused: every row is run to its end.
      runs: audits of each pair; two thirds as many sequential tests, and three fortieths as
        many audits of each function with noise of its own.
    """
    del seconds
    cases = [_Pair(p, q, 0.0, n) for p, q, n in _EVENTS]
    cases += [_Pair(p, q, d, n) for p, q, d, n in _DELTAS]
    for method in _METHODS:
        for pair in cases:
            if pair.trials <= trials:
                yield _of_method(pair, method, runs, seed)
    for name in _FUNCTIONS:
        yield _of_learned(name, min(trials, _LEARNED), runs, seed)
    for name in OWN_NOISE:
        yield _of_own_noise(name, min(trials, _LEARNED), max(3 * runs // 40, 1))
    for name, draw in (("randomised response", _response), ("Laplace", _laplace)):
        for swapped in (False, True):
            began, streams = time.monotonic(), max(2 * runs // 3, 1)
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
