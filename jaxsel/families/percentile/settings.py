"""The settings of Liu & Talwar 2019, Algorithms 4 and 5, printed and corrected.

Both draw N samples and compare, with Laplace noise, the number of samples that reach a
threshold with the number expected at the target share p*; Delta is added to all counts.
Names: ``slack`` is epsilon_0, ``base_epsilon`` epsilon_1, ``final_epsilon`` epsilon_3,
``target`` p*, ``share`` the chance p that one sample reaches the threshold.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec

from jaxsel.domains import number, positive, probability, whole
from jaxsel.errors import InputError, check_integer, check_params, check_positive

TARGET = probability("p*, the wanted chance to reach the threshold", default=0.5)
BETA = probability("failure probability", default=0.1)
SLACK = probability("epsilon_0", default=0.5)
BASE_EPSILON = number(
    "epsilon_1 of one run of a base", above=0.0, at_most=100.0, default=0.5
)
FINAL_EPSILON = positive("epsilon_3 of the answers", default=1)
DELTA = probability("delta of the answers", default=1e-3)
SAMPLES = whole("N", at_least=1, at_most=1e200)
SHIFT = positive("Delta, added to all counts")
OFFSET = number("Lambda, lowers the bar")
LITERAL_LIMIT = 1e5  # samples that are made one by one


P = ParamSpec("P")


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


def _checked(target, beta, slack, base_epsilon, final_epsilon, delta, queries):
    return (
        TARGET.read("target", target),
        BETA.read("beta", beta),
        SLACK.read("slack", slack),
        BASE_EPSILON.read("base_epsilon", base_epsilon),
        FINAL_EPSILON.read("final_epsilon", final_epsilon),
        DELTA.read("delta", delta),
        check_integer("queries", queries, 2),
    )


def _finite(settings: Callable[P, PercentileTest]) -> Callable[P, PercentileTest]:
    @functools.wraps(settings)
    def call(*args: P.args, **kwargs: P.kwargs) -> PercentileTest:
        try:
            return settings(*args, **kwargs)
        except ArithmeticError:
            raise InputError(
                "the theorem asks for more samples than a number can say; take a larger "
                "final_epsilon, slack, beta or delta"
            ) from None

    return call


@_finite
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
    target, beta, slack, base_epsilon, final_epsilon, delta, queries = _checked(
        target, beta, slack, base_epsilon, final_epsilon, delta, queries
    )
    sensitivity = 2.0 * (base_epsilon + slack)
    shift = printed_shift(slack, base_epsilon, math.log(8.0 * queries / delta))
    if corrected:
        shift = max(shift, sufficient_shift(slack, math.log(4.0 * queries / delta)))
    exponent = 6.0 * sensitivity / final_epsilon
    samples = math.exp(slack) * shift / min(target, 1.0 - target)
    samples *= ((queries + 1.0) / beta) ** exponent * (2.0 if corrected else 1.0)
    return PercentileTest(
        target,
        math.ceil(samples),
        shift,
        4.0 * sensitivity / final_epsilon,
        2.0 * sensitivity / final_epsilon,
        exponent,
    )


@_finite
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
    target, beta, slack, base_epsilon, final_epsilon, delta, thresholds = _checked(
        target, beta, slack, base_epsilon, final_epsilon, delta, thresholds
    )
    sensitivity = base_epsilon + slack
    shift = printed_shift(slack, base_epsilon, math.log(4.0 * thresholds / delta))
    factor = 3.0
    if corrected:
        shift = max(shift, sufficient_shift(slack, math.log(2.0 * thresholds / delta)))
        factor = max(3.0, 2.0 * math.exp(slack / 2.0))
    exponent = 6.0 * sensitivity / final_epsilon
    samples = factor * shift * math.exp(slack / 2.0) / target
    samples *= ((thresholds + 1.0) / beta**2) ** exponent
    return PercentileTest(
        target,
        math.ceil(samples),
        shift,
        4.0 * sensitivity / final_epsilon,
        2.0 * sensitivity / final_epsilon,
        exponent,
        slack / 2.0 - exponent * math.log(beta),
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
      further: names of other parameters that must be there.

    Raises:
      InputError: for a missing, unknown or bad one, or too many samples to make.
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
