"""Erratum of the case K = 0 in Koskela, Redberg & Wang 2024, Appendix B: E-KRW-6.

As printed and as corrected, for K ~ Poisson(mean) and binary randomised response with
ties broken by an independent uniform score, for which Theorem B.2 is an equality.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.base import Claim, Erratum, Relation
from jaxsel.checking import identity_verdict
from jaxsel.errors import check_interval
from jaxsel.families.tuning.claims.errata_cases import coin_laws, run_counts

_PAPER = "Koskela, Redberg & Wang 2024"
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
Case = tuple[float, float, str]
Function = Callable[[np.ndarray], np.ndarray]


def _outcome_tails(base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u at the quadrature nodes of each outcome, ties broken by a uniform score.

    Returns:
      u, Float[np.ndarray, "sides outcomes nodes"], and the weights of the nodes.
    """
    better = np.cumsum(base, axis=1) - base
    return better[..., None] + base[..., None] * (1.0 + _NODES) / 2.0, _WEIGHTS / 2.0


def _theorem_b2(
    function: Function, at_zero: float, mean: float, base_epsilon: float
) -> float:
    """Theorem B.2's integral plus f(at_zero) P[K = 0]."""
    law = laws.poisson(mean)
    base = coin_laws(base_epsilon)
    u, weights = _outcome_tails(base)
    density, other = base[..., None] * law.pgf_derivative_tail(u)
    integral = float(np.sum(function(density / other) * other * weights))
    extra = float(function(np.asarray(at_zero))) * law.probability_zero
    return integral + extra


def _direct_divergence(function: Function, mean: float, base_epsilon: float) -> float:
    """H_f from the law of K itself: density sum_k P[K = k] k q (1 - u)^(k - 1)."""
    law = laws.poisson(mean)
    base = coin_laws(base_epsilon)
    u, weights = _outcome_tails(base)
    counts = run_counts(law)
    powers = (1.0 - u[..., None]) ** (counts - 1.0)
    density, other = base[..., None] * (powers @ (counts * law.pmf(counts)))
    none = np.full(2, float(law.pmf(0)))
    run = np.sum(function(density / other) * other * weights)
    return float(run + function(none[0] / none[1]) * none[1])


def _zero_arguments(
    order: float, mean: float, base_epsilon: float
) -> tuple[Function, float, float]:
    # small enough for every power of a ratio to be a float64
    order = check_interval("order", order, 1.0, 20.0)
    mean = check_interval("mean", mean, 0.0, 20.0)
    base_epsilon = check_interval(
        "base_epsilon", base_epsilon, 0.0, 5.0, low_open=False
    )
    return (lambda ratio: ratio**order), mean, base_epsilon


def _no_run_printed(
    *, order: float = 3.0, mean: float = 0.5, base_epsilon: float = 0.0
) -> float:
    """Printed H_f, f(z) = z^order: Theorem B.2 with f(0) P[K = 0] added.

    Args:
      order: in (1, 20).
      mean: of K ~ Poisson, in (0, 20).
      base_epsilon: parameter of the base, randomised response, in [0, 5).
    """
    function, mean, base_epsilon = _zero_arguments(order, mean, base_epsilon)
    return _theorem_b2(function, 0.0, mean, base_epsilon)


def _no_run(
    *, order: float = 3.0, mean: float = 0.5, base_epsilon: float = 0.0
) -> float:
    """H_f, f(z) = z^order: Theorem B.2 with f(1) P[K = 0] added.

    Args:
      order: in (1, 20).
      mean: of K ~ Poisson, in (0, 20).
      base_epsilon: parameter of the base, randomised response, in [0, 5).
    """
    function, mean, base_epsilon = _zero_arguments(order, mean, base_epsilon)
    return _theorem_b2(function, 1.0, mean, base_epsilon)


def _no_run_cases(at_zero: float) -> Iterator[Case]:
    for mean in (0.5, 0.3, 1.0, 4.0):
        for base_epsilon in (0.0, 0.5, 1.0):
            where = f"mean={mean:g}, base_epsilon={base_epsilon:g}"
            for order in (1.5, 3.0, 6.0):
                function, _, _ = _zero_arguments(order, mean, base_epsilon)
                yield (
                    _theorem_b2(function, at_zero, mean, base_epsilon),
                    _direct_divergence(function, mean, base_epsilon),
                    f"f(z) = z^{order:g}, {where}",
                )

        # the hockey stick at a negative epsilon also has f(0) = 0 and f(1) > 0
        def hockey(ratio: np.ndarray) -> np.ndarray:
            return np.maximum(ratio - math.exp(-0.5), 0.0)

        claimed = _theorem_b2(hockey, at_zero, mean, 0.0)
        exact = _direct_divergence(hockey, mean, 0.0)
        yield claimed, exact, f"hockey stick at epsilon=-0.5, mean={mean:g}"


CLAIMS = (
    Claim(
        id="KRW-B-no-run-printed",
        source=f"{_PAPER}, Appendix B, first paragraph",
        statement=(
            "P[K = 0] > 0 adds the term f(0) P[K = 0] to the f-divergence of Theorem "
            "B.2."
        ),
        kind="identity",
        relation=Relation.BASE,
        evaluate=_no_run_printed,
        check=lambda budget: identity_verdict(_no_run_cases(0.0), 1e-9),
        holds=False,
        erratum="E-KRW-6",
        correction="The term is f(1) P[K = 0]: KRW-B-no-run.",
    ),
    Claim(
        id="KRW-B-no-run",
        source=f"{_PAPER}, Appendix B, first paragraph corrected",
        statement=(
            "P[K = 0] > 0 adds the term f(1) P[K = 0] to the f-divergence of Theorem "
            "B.2."
        ),
        kind="identity",
        relation=Relation.BASE,
        evaluate=_no_run,
        check=lambda budget: identity_verdict(_no_run_cases(1.0), 1e-9),
        erratum="E-KRW-6",
    ),
)

ERRATA = (
    Erratum(
        id="E-KRW-6",
        source=f"{_PAPER}, Appendix B, first paragraph",
        kind="statement",
        printed="P[K = 0] > 0 could be included as an additional term f(0) P[K = 0].",
        correct=(
            "No run gives the same output with the same probability on both sides, so "
            "that the term is f(1) P[K = 0]. It vanishes for the hockey stick with "
            "epsilon >= 0, in both directions, as the paper goes on to say; it does "
            "not for Renyi divergences (f(1) = 1, f(0) = 0) nor for epsilon < 0."
        ),
        refuted=("KRW-B-no-run-printed",),
        corrected=("KRW-B-no-run",),
    ),
)
