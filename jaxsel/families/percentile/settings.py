"""The settings of Liu & Talwar 2019, Algorithms 4 and 5, printed and corrected.

Both draw N samples and compare, with Laplace noise, the number of samples that reach a
threshold with the number expected at the target share p*; Delta is added to all counts.
Names: ``slack`` is epsilon_0, ``base_epsilon`` epsilon_1, ``final_epsilon`` epsilon_3,
``target`` p*, ``share`` the chance p that one sample reaches the threshold.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError, check_integer, check_params, check_positive
from jaxsel.language.domains import number, positive, probability, whole

TARGET = probability("p*, the wanted chance to reach the threshold")
BETA = probability("failure probability")
SLACK = probability("epsilon_0")
BASE_EPSILON = number("epsilon_1 of one run of a base", above=0.0, at_most=100.0)
FINAL_EPSILON = positive("epsilon_3 of the answers")
DELTA = probability("delta of the answers")
SAMPLES = whole("N", at_least=1, at_most=1e200)
SHIFT = positive("Delta, added to all counts")
OFFSET = number("Lambda, lowers the bar")
LITERAL_LIMIT = 1e5  # the largest number of samples of a literal algorithm


class PercentileTest(NamedTuple):
    """One noisy test, repeated for each query.

    Attributes:
      target: p*.
      samples: N.
      shift: Delta.
      query_scale, threshold_scale: of the Laplace noises.
      exponent: 6 S / epsilon_3, the power in all utility bounds.
      offset: Lambda, subtracted from the threshold (0 in Algorithm 4).
    """

    target: float
    samples: int
    shift: float
    query_scale: float
    threshold_scale: float
    exponent: float
    offset: float = 0.0


def printed_shift(slack: float, base_epsilon: float, log_term: float) -> float:
    """Delta as printed: C log_term / (epsilon_0 (e^(epsilon_0 + epsilon_1) - 1))."""
    total = slack + base_epsilon
    constant = 2.0 * (math.exp(total) + 1.0 + math.exp(slack / 2.0))
    return constant * log_term / slack / math.expm1(total)


def sufficient_shift(slack: float, log_term: float) -> float:
    """The Delta that makes counts concentrate within e^(slack/2) (LT-E6)."""
    growth = math.expm1(slack / 2.0)
    return (growth + 2.0) / growth / growth * log_term


def added_shift(
    sides: int, tests: int, *, slack: float, base_epsilon: float, delta: float, corrected: bool
) -> float:
    """The Delta for which the counts of ``tests`` tests on neighbours are close.

    Algorithm 4 compares odds, hence counts on both ``sides``, passes and failures:
    log(8 T/delta). Algorithm 5 compares passes alone: log(4 R/delta). Corrected, it is
    at least sufficient_shift (LT-E6).
    """
    shift = printed_shift(slack, base_epsilon, math.log(4.0 * sides * tests / delta))
    if not corrected:
        return shift
    return max(shift, sufficient_shift(slack, math.log(2.0 * sides * tests / delta)))


def _settings(
    algorithm: int,
    tests: int,
    corrected: bool,
    *,
    target: float,
    beta: float,
    slack: float,
    base_epsilon: float,
    final_epsilon: float,
    delta: float,
) -> PercentileTest:
    """Settings of Algorithm 4 or 5 for ``tests`` queries or thresholds."""
    target, beta = TARGET.read("target", target), BETA.read("beta", beta)
    slack = SLACK.read("slack", slack)
    base_epsilon = BASE_EPSILON.read("base_epsilon", base_epsilon)
    final_epsilon = FINAL_EPSILON.read("final_epsilon", final_epsilon)
    sides = 2 if algorithm == 4 else 1
    shift = added_shift(
        sides,
        tests,
        slack=slack,
        base_epsilon=base_epsilon,
        delta=DELTA.read("delta", delta),
        corrected=corrected,
    )
    # S/epsilon_3
    unit = sides * (base_epsilon + slack) / final_epsilon
    exponent = 6.0 * unit
    try:
        if algorithm == 4:
            rarer = min(target, 1.0 - target)
            samples = math.exp(slack) * shift / rarer
            samples *= ((tests + 1.0) / beta) ** exponent
            samples *= 2.0 if corrected else 1.0
            offset = 0.0
        else:
            half = math.exp(slack / 2.0)
            factor = max(3.0, 2.0 * half) if corrected else 3.0
            samples = factor * shift * half / target
            samples *= ((tests + 1.0) / beta**2) ** exponent
            offset = slack / 2.0 - exponent * math.log(beta)
        count = math.ceil(samples)
    except ArithmeticError:
        raise InputError(
            "the theorem asks for more samples than a number can say; take a larger "
            "final_epsilon, slack, beta or delta"
        ) from None
    return PercentileTest(target, count, shift, 4.0 * unit, 2.0 * unit, exponent, offset)


def algorithm_4(
    *,
    target: float = 0.5,
    beta: float = 0.1,
    slack: float = 0.5,
    base_epsilon: float = 0.1,
    final_epsilon: float = 1.0,
    delta: float = 1e-3,
    queries: int = 10,
    corrected: bool = False,
) -> PercentileTest:
    """Settings of Algorithm 4 for T = ``queries``.

    Corrected, Delta is at least sufficient_shift and N is doubled (LT-E4 to LT-E6).

    Raises:
      InputError: for a parameter out of range.
    """
    return _settings(
        4,
        check_integer("queries", queries, 2),
        corrected,
        target=target,
        beta=beta,
        slack=slack,
        base_epsilon=base_epsilon,
        final_epsilon=final_epsilon,
        delta=delta,
    )


def algorithm_5(
    *,
    target: float = 0.5,
    beta: float = 0.1,
    slack: float = 0.5,
    base_epsilon: float = 0.1,
    final_epsilon: float = 1.0,
    delta: float = 1e-3,
    thresholds: int = 5,
    corrected: bool = False,
) -> PercentileTest:
    """Settings of Algorithm 5 for R = ``thresholds``.

    Corrected, Delta is at least sufficient_shift (LT-E6) and the factor 3 in N is
    max(3, 2 e^(slack/2)) (LT-E9).

    Raises:
      InputError: for a parameter out of range.
    """
    return _settings(
        5,
        check_integer("thresholds", thresholds, 2),
        corrected,
        target=target,
        beta=beta,
        slack=slack,
        base_epsilon=base_epsilon,
        final_epsilon=final_epsilon,
        delta=delta,
    )


def log_potential(share: float, test: PercentileTest) -> float:
    """log Phi^(N, Delta)(share) = log((N p + Delta)/(N (1 - p) + Delta))."""
    added = test.shift / test.samples
    return math.log((share + added) / (1.0 - share + added))


def read_test(
    params: Mapping[str, Any], method: str, further: tuple[str, ...] = ()
) -> PercentileTest:
    """The settings of a test from a mechanism's parameters.

    Args:
      params: the fields of a test; "exponent" and "offset" may be missing.
      method: "literal" makes every sample.
      further: names of other parameters that must be present.

    Raises:
      InputError: for a missing, unknown or bad parameter, or too many samples.
    """
    optional = ("exponent", "offset")
    required = [name for name in PercentileTest._fields if name not in optional]
    check_params(params, (*required, *further), optional)
    samples = SAMPLES.read("samples", params["samples"])
    if method == "literal" and samples > LITERAL_LIMIT:
        raise InputError(
            f"samples is {samples}; the literal method makes every one, at most "
            f'{LITERAL_LIMIT:g}; use method "binomial"'
        )
    return PercentileTest(
        target=TARGET.read("target", params["target"]),
        samples=samples,
        shift=SHIFT.read("shift", params["shift"]),
        query_scale=check_positive("query_scale", params["query_scale"]),
        threshold_scale=check_positive("threshold_scale", params["threshold_scale"]),
        exponent=params.get("exponent", math.nan),
        offset=OFFSET.read("offset", params.get("offset", 0.0)),
    )
