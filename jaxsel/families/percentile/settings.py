"""The settings of Liu & Talwar 2019, Algorithms 4 and 5, printed and corrected.

Both make N runs, called samples, and count those that reach a threshold. They compare the count,
by logarithms with Laplace noise, with the one expected at the target share p*. Delta is added to
all counts.
Names: ``slack`` is epsilon_0, ``base_epsilon`` epsilon_1, ``final_epsilon`` epsilon_3,
``target`` p*, ``share`` the probability p that one sample reaches the threshold.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxsel.families.percentile import parameters
from jaxsel.host.errors import InputError, check_params
from jaxsel.language.signature import read_arguments, validated

LITERAL_LIMIT = 1e5  # the largest number of samples of a literal algorithm


class PercentileTest(NamedTuple):
    """The settings of one noisy test, which is repeated for each query.

    Attributes:
      target: p*, the wanted probability to reach the threshold.
      samples: N, the number of runs that a test counts.
      shift: Delta, added to all counts.
      query_scale, threshold_scale: of the Laplace noises on a test's logarithm and on the bar.
      exponent: 6 S/epsilon_3, the power in all utility bounds, where S is epsilon_0 + epsilon_1 in
        Algorithm 5 and twice that in Algorithm 4.
      offset: Lambda, subtracted from the bar (0 in Algorithm 4).
    """

    target: parameters.Target
    samples: parameters.Samples
    shift: parameters.Shift
    query_scale: parameters.Scale
    threshold_scale: parameters.Scale
    exponent: float
    offset: parameters.Offset = 0.0


def _printed_shift(slack: float, base_epsilon: float, log_term: float) -> float:
    """Delta, the constant added to all counts, as the paper prints it.

    It is C log_term/(epsilon_0 (e^(epsilon_0 + epsilon_1) - 1)), with the C of Lemma 4.3.

    Args:
      slack: epsilon_0, the factor e^epsilon_0 by which counts may leave their expected ratio.
      base_epsilon: epsilon_1 of one run.
      log_term: the logarithm of a number of tests over delta.
    """
    total = slack + base_epsilon
    constant = 2.0 * (math.exp(total) + 1.0 + math.exp(slack / 2.0))
    return constant * log_term / slack / math.expm1(total)


def _sufficient_shift(slack: float, log_term: float) -> float:
    """A Delta that, added to counts, keeps them within a factor e^(slack/2) of their means (LT-E6).

    ``log_term`` is log(1/x) for the probability x with which a count may fail to.
    """
    growth = math.expm1(slack / 2.0)
    if growth == 0.0:  # half of the least float
        return math.inf
    return (growth + 2.0) / growth / growth * log_term


def added_shift(
    sides: int, tests: int, *, slack: float, base_epsilon: float, delta: float, corrected: bool
) -> float:
    """Delta, the constant to add to all counts so that those on neighbouring data are close.

    Args:
      sides: 2 in Algorithm 4, which compares the odds of passes and failures, so that both counts
        must be close; 1 in Algorithm 5, which compares passes alone.
      tests: T queries, or R thresholds.
      slack, base_epsilon: epsilon_0 and epsilon_1.
      delta: the probability that some count is not close.
      corrected: whether it is at least ``_sufficient_shift`` (LT-E6).
    """
    shift = _printed_shift(slack, base_epsilon, math.log(4.0 * sides * tests / delta))
    if not corrected:
        return shift
    return max(shift, _sufficient_shift(slack, math.log(2.0 * sides * tests / delta)))


def _settings(
    algorithm: int,
    tests: int,
    corrected: bool,
    target: float,
    beta: float,
    slack: float,
    base_epsilon: float,
    final_epsilon: float,
    delta: float,
    samples: int | None,
) -> PercentileTest:
    """The settings of Algorithm 4 or 5 (``algorithm``) for ``tests`` queries or thresholds.

    Other arguments as of ``algorithm_4``.
    """
    sides = 2 if algorithm == 4 else 1
    shift = added_shift(
        sides, tests, slack=slack, base_epsilon=base_epsilon, delta=delta, corrected=corrected
    )
    # S/epsilon_3
    unit = sides * (base_epsilon + slack) / final_epsilon
    exponent = 6.0 * unit
    # Lambda of Theorem 4.6.
    offset = 0.0 if algorithm == 4 else slack / 2.0 - exponent * math.log(beta)
    test = PercentileTest(target, samples or 1, shift, 4.0 * unit, 2.0 * unit, exponent, offset)
    if samples is not None:
        return test
    try:
        # N of Theorem 4.4, or of Theorem 4.6.
        if algorithm == 4:
            rarer = min(target, 1.0 - target)
            least = math.exp(slack) * shift / rarer
            least *= ((tests + 1.0) / beta) ** exponent
            least *= 2.0 if corrected else 1.0
        else:
            half = math.exp(slack / 2.0)
            factor = max(3.0, 2.0 * half) if corrected else 3.0
            least = factor * shift * half / target
            least *= ((tests + 1.0) / beta**2) ** exponent
        return test._replace(samples=math.ceil(least))
    except ArithmeticError:
        raise InputError(
            "the theorem asks for more samples than a number can say; take a larger "
            "final_epsilon, slack, beta or delta"
        ) from None


@validated
def algorithm_4(
    *,
    target: parameters.Target = 0.5,
    beta: parameters.Beta = 0.1,
    slack: parameters.Slack = 0.5,
    base_epsilon: parameters.BaseEpsilon = 0.1,
    final_epsilon: parameters.FinalEpsilon = 1.0,
    delta: parameters.Delta = 1e-3,
    queries: parameters.Queries = 10,
    corrected: bool = False,
    samples: parameters.Samples | None = None,
) -> PercentileTest:
    """The settings that Theorem 4.4 prescribes for Algorithm 4.

    Args:
      target: p*, the probability with which a query should reach its threshold.
      beta: failure probability.
      slack: epsilon_0, by how much estimated log-odds may miss the true ones.
      base_epsilon: epsilon_1 of one run.
      final_epsilon, delta: privacy of all answers.
      queries: T, how many there are.
      samples: N; the theorem's if not given.
      corrected: whether Delta is at least ``_sufficient_shift`` and N is doubled (LT-E4 to LT-E6).

    Raises:
      InputError: if N would exceed all floats.
    """
    plan = target, beta, slack, base_epsilon, final_epsilon, delta
    return _settings(4, queries, corrected, *plan, samples)


@validated
def algorithm_5(
    *,
    target: parameters.Target = 0.5,
    beta: parameters.Beta = 0.1,
    slack: parameters.Slack = 0.5,
    base_epsilon: parameters.BaseEpsilon = 0.1,
    final_epsilon: parameters.FinalEpsilon = 1.0,
    delta: parameters.Delta = 1e-3,
    thresholds: parameters.Thresholds = 5,
    corrected: bool = False,
    samples: parameters.Samples | None = None,
) -> PercentileTest:
    """The settings that Theorem 4.6 prescribes for Algorithm 5.

    Args:
      target, beta, slack, base_epsilon, final_epsilon, delta: as of ``algorithm_4``.
      thresholds: R, how many there are.
      samples: N; the theorem's if not given.
      corrected: whether Delta is at least ``_sufficient_shift`` (LT-E6), and max(3, 2 e^(slack/2))
        stands for the factor 3 in N (LT-E9).

    Raises:
      InputError: if N would exceed all floats.
    """
    plan = target, beta, slack, base_epsilon, final_epsilon, delta
    return _settings(5, thresholds, corrected, *plan, samples)


def log_potential(share: float, test: PercentileTest) -> float:
    """The log-odds of a share p after Delta is added to the passes and to the failures of N runs.

    It is log Phi(p) = log((N p + Delta)/(N (1 - p) + Delta)).
    """
    added = test.shift / test.samples
    return math.log((share + added) / (1.0 - share + added))


def read_test(
    params: Mapping[str, Any], method: str, further: tuple[str, ...] = ()
) -> PercentileTest:
    """The settings of a test, read from a mechanism's parameters.

    Args:
      params: the fields of ``PercentileTest``; "exponent" and "offset" may be missing.
      method: of the mechanism; "literal" makes every sample, and so takes at most 1e5.
      further: names of other parameters that must be present.

    Raises:
      InputError: for a missing, unknown or bad parameter, or too many samples.
    """
    optional = ("exponent", "offset")
    required = [name for name in PercentileTest._fields if name not in optional]
    check_params(params, (*required, *further), optional)
    given: dict[str, Any] = {"exponent": math.nan}
    given |= {name: params[name] for name in PercentileTest._fields if name in params}
    test = PercentileTest(**read_arguments(PercentileTest, given))
    if method == "literal" and test.samples > LITERAL_LIMIT:
        raise InputError(
            f"samples is {test.samples}; the literal method makes every one, at most "
            f'{LITERAL_LIMIT:g}; use method "binomial"'
        )
    return test
