"""Generalised propose-test-release around a posterior sample: Section 6.1."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.ridge_regression import settings as ptr
from jaxsel.families.ridge_regression.claims import posterior_bounds, posterior_sampling
from jaxsel.families.ridge_regression.claims.ridge_cases import run_delta_exact
from jaxsel.families.ridge_regression.tuned import calibrate_tuned

_KRW = "Koskela, Redberg & Wang 2024"


def _guarantee(**named: float) -> ApproximateGuarantee:
    """Of an epsilon and a delta, by the names they were given under."""
    (first, epsilon), (second, delta) = named.items()
    return ApproximateGuarantee(
        check_interval(first, epsilon, 0.0, math.inf, low_open=False),
        check_interval(second, delta, 0.0, 1.0, low_open=False),
    )


def _general(
    *,
    epsilon: float = 0.5,
    delta: float = 1e-2,
    test_epsilon: float = 0.5,
    test_delta: float = 1e-2,
    failure: float = 1e-2,
) -> float:
    """delta + test_delta + failure, at epsilon + test_epsilon.

    Args:
      epsilon, delta: what the mechanism keeps on data that should pass; >= 0, in [0, 1).
      test_epsilon, test_delta: what the test keeps.
      failure: largest probability that the test passes on other data.
    """
    release = _guarantee(epsilon=epsilon, delta=delta)
    test = _guarantee(test_epsilon=test_epsilon, test_delta=test_delta)
    return ptr.propose_test_release(release, test, failure).delta


def _excess(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    return float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))


def _two_way(laws_: np.ndarray, epsilon: float) -> float:
    """Larger hockey-stick divergence of the two rows."""
    return max(
        _excess(laws_[0], laws_[1], epsilon), _excess(laws_[1], laws_[0], epsilon)
    )


def _general_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for number in range(3 * budget.cases):
        size = int(generator.integers(2, 6))
        runs = generator.dirichlet(np.full(size, generator.choice([0.2, 1.0])), 2)
        shapes = generator.choice([0.3, 1.0, 3.0], 2)
        passing = generator.beta(shapes[0], shapes[1], size=2)
        # Which of the two data sets should pass: both, the first only, or none.
        good = ((True, True), (True, False), (False, False))[number % 3]
        failure = float(generator.choice([1e-3, 1e-2, 0.1]))
        passing = np.where(good, passing, np.minimum(passing, failure))
        epsilon, extra = (float(e) for e in generator.uniform(0.0, 1.5, 2))
        # A data set that should pass certifies both directions of the pair.
        delta = _two_way(runs, epsilon) if any(good) else 0.0
        tests = np.stack([passing, 1.0 - passing], axis=1)
        outputs = np.concatenate(
            [passing[:, None] * runs, 1.0 - passing[:, None]], axis=1
        )
        claimed = _general(
            epsilon=epsilon, delta=delta, test_epsilon=extra,
            test_delta=_two_way(tests, extra), failure=failure,
        )  # fmt: skip
        where = f"case {number} of seed {budget.seed}, should pass: {good}"
        yield claimed, _two_way(outputs, epsilon + extra), where


def _run(*, epsilon: float = 1.0, delta: float = 1e-6) -> float:
    """delta of one run of OPS-PTR at epsilon.

    Args:
      epsilon, delta: that it is calibrated to.
    """
    check_positive("epsilon", epsilon)
    return check_interval("delta", delta, 0.0, 1.0)


class _Line(NamedTuple):
    """A one-dimensional data set and the record that joins it."""

    square: float  # sum of x^2
    cross: float  # sum of x y
    x: float
    y: float
    regularisation: float


def _lines(budget: Budget) -> Iterator[_Line]:
    yield _Line(0.0, 0.0, 1.0, 1.0, 20.0)
    yield _Line(50.0, 50.0, 1.0, -1.0, 20.0)
    yield _Line(50.0, 5.0, 1.0, -1.0, 100.0)
    generator = np.random.default_rng(budget.seed)
    square = float(10.0 ** generator.uniform(0.0, 3.0))
    cross = float(square * generator.uniform(-1.0, 1.0))
    regularisation = float(10.0 ** generator.uniform(0.0, 2.5))
    yield _Line(square, cross, 1.0, -1.0, regularisation)


def _run_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, delta in ((0.5, 1e-2), (2.0, 1e-2), (4.0, 1e-5)):
        run = ptr.calibrate_run(epsilon, delta)
        profile = ptr.run_profile(run)
        for line in _lines(budget):
            where = f"calibrated to ({epsilon:g}, {delta:g}), {line}"
            for level in (epsilon, 0.4 * epsilon):
                seen = run_delta_exact(run, *line, level)
                bound = float(profile(np.asarray(level)))
                yield 1.0, seen / bound, f"profile at {level:g}, {where}"
                if level == epsilon:
                    yield 1.0, seen / _run(epsilon=epsilon, delta=delta), where


def _tighter(*, epsilon: float = 1.0, delta: float = 1e-6, mean: float = 30.0) -> float:
    """Epsilon of one run that Corollary 6.2 allows, over that of Liu & Talwar.

    Args:
      epsilon, delta: of the tuned algorithm.
      mean: E[K] of the geometric law.
    """
    law = laws.geometric(1.0 / mean)
    ours, theirs = (
        calibrate_tuned(epsilon, delta, law, theorem).run.epsilon
        for theorem in ("KRW-Cor6.2", "LT-Thm3.4")
    )
    return ours / theirs


def _tighter_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in (0.1, 1.0, 5.0):
        ratio = _tighter(epsilon=epsilon)
        yield 1.0, ratio, f"epsilon={epsilon:g}, delta=1e-6, mean 30"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="KRW-Thm6.1",
        source=f"{_KRW}, Theorem 6.1 (Redberg, Zhu & Wang 2023)",
        statement="A mechanism that is (epsilon, delta)-DP on data that should pass, run "
        "behind an (epsilon^, delta^)-DP test that passes other data with probability "
        "delta' at most, is (epsilon + epsilon^, delta + delta^ + delta')-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_general,
        check=at_most(_general_cases),
    ),
    Claim(
        id="OPS-run",
        source=f"{_KRW}, Section 6.1: Theorem 6.1 for one run of OPS-PTR",
        statement="A run at calibrate_run(epsilon, delta) is (epsilon, delta)-DP, and its "
        "profile lies below run_profile (checked in units of these).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_run,
        check=at_most(_run_cases, 1e-6),
    ),
    Claim(
        id="KRW-Sec6.1-tighter",
        source=f"{_KRW}, Section 6.1",
        statement="At equal (epsilon, delta) of the tuned algorithm Corollary 6.2 leaves a "
        "run more epsilon than Liu & Talwar's bound (the ratio is above 1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_tighter,
        check=at_least(_tighter_cases),
    ),
)

ERRATA: tuple[Erratum, ...] = (*posterior_sampling.ERRATA, *posterior_bounds.ERRATA)
