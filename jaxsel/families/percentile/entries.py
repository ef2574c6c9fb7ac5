"""Catalogue entries: the percentile sparse vectors of Liu & Talwar 2019, Section 4, runs that are
better than the median, and the run of median score."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.percentile import parameters
from jaxsel.families.percentile.parameters import BaseEpsilon, Beta, OrWord
from jaxsel.families.percentile.pipeline_laws import pipeline, pipeline_params
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.families.thresholds.laws import threshold_steps
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, numbers, probability
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial

_THEOREM = "theorem"
_LAST_AGAINST_OTHERS = "every log-odds moves by 2 epsilon_1, the last against the others"


def _or_theorem(annotation: Any) -> OrWord:
    """The domain of an annotated type, or the word "theorem" for what the theorem prescribes."""
    (domain,) = annotation.__metadata__
    return OrWord(f"{domain.help}; theorem: what it asks for", domain=domain, words=(_THEOREM,))


_chances = functools.partial(numbers, at_least=0.0, at_most=1.0)

Shares = Annotated[Any, _chances("chances to reach the thresholds, in order")]
Samples = Annotated[Any, _or_theorem(parameters.Samples)]
Shift = Annotated[Any, _or_theorem(parameters.Shift)]
Offset = Annotated[Any, _or_theorem(parameters.Offset)]
Jump = Annotated[str, methods(*parameters.JUMPING)]
Binomial = Annotated[str, methods(*parameters.COUNTING)]
_EPSILON = number("privacy of one run in the constructed pairs", above=0.0, at_most=100.0)


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """The settings that Algorithms 4 and 5 share."""

    target: parameters.Target = 0.5
    base_epsilon: BaseEpsilon = 0.5
    final_epsilon: parameters.FinalEpsilon = 1
    slack: parameters.Slack = 0.5
    beta: Beta = 0.1
    delta: parameters.Delta = 1e-3
    samples: Samples = 40
    shift: Shift = 5.0

    def test(self, algorithm: Callable[..., PercentileTest], **more: Any) -> PercentileTest:
        """The test with N and Delta as given here, and all else as the theorem prescribes it.

        Args:
          algorithm: ``settings.algorithm_4`` or ``algorithm_5``.
          **more: its argument "queries" or "thresholds".
        """
        names = ("target", "base_epsilon", "final_epsilon", "slack", "beta", "delta")
        samples = None if self.samples == _THEOREM else self.samples
        test = algorithm(**{name: getattr(self, name) for name in names}, samples=samples, **more)
        return _overridden(test, shift=self.shift)


def _overridden(test: PercentileTest, **given: Any) -> PercentileTest:
    """The test with these fields in place of its own, except those that are "theorem"."""
    return test._replace(**{name: value for name, value in given.items() if value != _THEOREM})


def _low_then_high(shares: np.ndarray, base_epsilon: float):
    """A pair of shares of randomised response; the last one moves against all others."""
    high = np.append(np.full(max(1, shares.size - 1), 1.0), -1.0) * base_epsilon
    data, neighbour = 1.0 / (1.0 + np.exp(high)), 1.0 / (1.0 + np.exp(-high))
    yield "low-then-high", data, neighbour, Relation.BASE, _LAST_AGAINST_OTHERS


def _three_outcomes(epsilon: float) -> pairs.LawPair:
    """Two laws of one run whose two better outcomes move against each other, epsilon-close."""
    most = 1.0 / (1.0 + math.exp(epsilon))
    return pairs.three_outcome(epsilon, min(0.05, most / 2.0), min(0.25, most))


# --- Algorithms 3, 4 and 5 ------------------------------------------------------------


@mechanism(
    "LT-Alg3",
    "LT-Thm4.1",
    "LT-Cor4.2",
    generic="shares=0.3,0.3,0.1,0.7,0.5 target=0.4 base_epsilon=0.7 final_epsilon=2",
)
def percentile_above_threshold(
    *,
    shares: Shares = "0.2,0.2,0.2,0.5,0.8",
    target: parameters.Target = 0.5,
    base_epsilon: BaseEpsilon = 0.5,
    final_epsilon: parameters.FinalEpsilon = 1,
    method: Jump = "jump",
):
    """Halt at the first base that reaches its threshold with a wanted probability, where these
    probabilities are known."""

    def made():
        from jaxsel.families.percentile.percentile_above_threshold import percentile_above_threshold

        return percentile_above_threshold(method=method)

    params = {"target": target, "base_epsilon": base_epsilon, "final_epsilon": final_epsilon}
    return Trial(
        made,
        shares,
        params,
        lambda: _low_then_high(shares, base_epsilon),
        lambda pair: guarantee("LT-Thm4.1(a)", final_epsilon=final_epsilon),
    )


@mechanism(
    "LT-Alg4",
    "LT-Thm4.4",
    "LT-Thm1.5",
    generic=(
        "shares=0.3,0.3,0.1,0.7 target=0.4 base_epsilon=0.7 final_epsilon=2 slack=0.3 "
        "beta=0.2 delta=0.01 samples=25 shift=3"
    ),
)
def extended_above_threshold(
    *,
    shares: Shares = "0.2,0.2,0.5,0.8",
    wanted: _Wanted = _Wanted(),
    method: Binomial = "binomial",
):
    """Halt at the first base that reaches its threshold with a wanted probability, which is
    estimated from N fresh runs for each query."""

    def made():
        from jaxsel.families.percentile.extended_above_threshold import extended_above_threshold

        return extended_above_threshold(method=method)

    test = wanted.test(algorithm_4, queries=max(2, shares.size))

    def fresh_runs(pair):
        return guarantee(
            "LT-Thm4.4(a)-sharp",
            samples=pair.params["samples"],
            shift=pair.params["shift"],
            sensitivity=2.0 * (wanted.base_epsilon + wanted.slack),
            final_epsilon=wanted.final_epsilon,
        )

    return Trial(
        made,
        shares,
        test._asdict(),
        lambda: _low_then_high(shares, wanted.base_epsilon),
        fresh_runs,
    )


@mechanism(
    "LT-Alg5",
    "LT-Thm4.6",
    generic=(
        "shares=0.1,0.3,0.3,0.9 target=0.4 base_epsilon=2 final_epsilon=1.5 slack=0.3 "
        "beta=0.2 delta=0.01 samples=5 shift=1 offset=0.4"
    ),
)
def find_percentile_threshold(
    *,
    shares: Shares = "0.05,0.2,0.5,1",
    wanted: _Wanted = _Wanted(),
    offset: Offset = 0.7,
    method: Binomial = "binomial",
):
    """Release the first of a falling grid of thresholds that a wanted share of N runs reaches; the
    same runs are counted at all thresholds."""

    def made():
        from jaxsel.families.percentile.find_threshold import find_percentile_threshold

        return find_percentile_threshold(method=method)

    test = _overridden(wanted.test(algorithm_5, thresholds=max(2, shares.size)), offset=offset)

    def crossing():
        """The first thresholds are more likely to be reached on one side, the next on the other."""
        first = max(1, shares.size - 2)
        data, neighbour = (
            np.append(np.full(first, law[0]), [law[0] + law[1], 1.0])
            for law in _three_outcomes(wanted.base_epsilon)
        )
        yield "low-then-high", data, neighbour, Relation.BASE, _LAST_AGAINST_OTHERS

    def same_runs(pair):
        return guarantee(
            "LT-Thm4.6(a)-sharp",
            samples=pair.params["samples"],
            shift=pair.params["shift"],
            sensitivity=wanted.base_epsilon + wanted.slack,
            final_epsilon=wanted.final_epsilon,
        )

    return Trial(made, shares, test._asdict(), crossing, same_runs)


# --- Theorem 4.7 ----------------------------------------------------------------------


@mechanism(
    "LT-Thm4.7",
    "LT-Thm1.4",
    generic=(
        "scores=0.8,0.8,0.3,0 probabilities=0.1,0.15,0.35,0.4 base_epsilon=1 slack=0.6 "
        "beta=0.2 delta=0.0001 samples=3 shift=5 offset=0.6 stop_probability=0.1"
    ),
)
def percentile_pipeline(
    *,
    scores: Annotated[Any, _chances("scores of the outcomes")] = "1,0.75,0.5,0",
    probabilities: Annotated[Any, _chances("law of one run")] = "0.02,0.1,0.3,0.58",
    base_epsilon: BaseEpsilon = 0.1,
    slack: parameters.FullSlack = 1,
    beta: Beta = 0.1,
    delta: parameters.Delta = 1e-6,
    thresholds: parameters.FewThresholds = 3,
    candidates: parameters.Candidates = 1,
    samples: Samples = 50,
    shift: Shift = 8.0,
    offset: Offset = 1.0,
    # T is made of it, and must be a number.
    stop_probability: Annotated[
        Any, _or_theorem(Annotated[float, number("gamma", at_least=1e-200, at_most=1.0)])
    ] = 0.05,
    method: Binomial = "binomial",
):
    """Find a threshold that a share of runs reaches, then draw until a run reaches it."""

    def made():
        from jaxsel.families.percentile.pipeline import percentile_pipeline

        return percentile_pipeline(method=method)

    chosen = pipeline(
        base_epsilon=base_epsilon,
        slack=slack,
        beta=beta,
        delta=delta,
        thresholds=thresholds,
        candidates=candidates,
        reading="sharp",
    )
    test = _overridden(chosen.test, samples=samples, shift=shift, offset=offset)
    chosen = chosen._replace(test=test)
    if stop_probability != _THEOREM:
        most = threshold_steps(stop_probability, slack / 2.0)
        chosen = chosen._replace(stop_probability=stop_probability, max_draws=most)

    def upper_outcomes():
        data, neighbour = (
            {"scores": [1.0, 0.5, 0.0], "probabilities": law.tolist()}
            for law in _three_outcomes(base_epsilon)
        )
        why = "the two upper outcomes move against each other"
        yield "three-outcome", data, neighbour, Relation.BASE, why

    def both_algorithms(pair):
        return guarantee(
            "LT-Thm4.7(a)-sharp",
            base_epsilon=base_epsilon,
            slack=slack,
            samples=pair.params["samples"],
            shift=pair.params["shift"],
        )

    return Trial(
        made,
        {"scores": scores, "probabilities": probabilities},
        pipeline_params(chosen),
        upper_outcomes,
        both_algorithms,
    )


# --- Better than the median: Cohen et al. 2022, Theorem 4 -----------------------------


@mechanism("CL-Thm4", generic="epsilon=0.6 top=0.3 middle=0.05 alpha=0.6 beta=0.3")
def better_than_median(
    *,
    epsilon: Annotated[
        float, dataclasses.replace(_EPSILON, help="epsilon of every run, on the pairs")
    ] = 1,
    top: Annotated[float, probability("chance of the best outcome, on the first side")] = 0.2,
    middle: Annotated[
        float, probability("chance of the second best one, on the other side")
    ] = 0.002,
    alpha: parameters.Alpha = 1,
    beta: Beta = 0.02,
    method: Annotated[str, methods(*parameters.RANKING)] = "rank",
):
    """Release the best of Bin(T, p) runs, which is better than the median except with probability
    beta."""

    def made():
        from jaxsel.families.percentile.better_than_median import better_than_median
        from jaxsel.families.private_tuning.bases import finite

        return better_than_median(finite(), method=method)

    def one_run_moves():
        first, second = pairs.three_outcome(epsilon, top, middle)
        why = "releasing the middle outcome loses (2 + alpha) epsilon as T grows"
        yield "three-outcome", first, second, Relation.BASE, why
        first, second = (np.append(law, 0.0) for law in pairs.randomised_response(epsilon))
        why = "complete for pure privacy; best of K fixed runs would lose K epsilon"
        yield "randomised-response", first, second, Relation.BASE, why

    return Trial(
        made,
        pairs.three_outcome(epsilon, top, middle).first,
        {"alpha": alpha, "beta": beta},
        one_run_moves,
        lambda pair: guarantee("CL-Thm4-privacy", epsilon=epsilon, alpha=alpha),
    )


# --- The median itself: Liu & Talwar 2019, Appendix B.3 -------------------------------


@mechanism("LT-B.3", broken=True, generic="probabilities=0.3,0.6,0.1 count=6 rank=2 epsilon=0.7")
def median_of_runs(
    *,
    probabilities: Annotated[Any, _chances("law of one run, best outcome first")] = "0.5,0.5",
    count: parameters.FewRuns = 21,
    rank: parameters.Rank = "median",
    epsilon: Annotated[float, _EPSILON] = 1,
    method: Jump = "jump",
):
    """BROKEN: release the run of median score, or of a random rank above it; the loss grows with
    the number of runs."""

    def made():
        from jaxsel.families.percentile.score_percentile import score_percentile

        return score_percentile(method=method)

    def median_moves():
        first, second = pairs.randomised_response(epsilon)
        why = "the likelier of two models is the median of either side"
        yield "randomised-response", first, second, Relation.BASE, why
        small = min(0.1, 1.0 / (1.0 + math.exp(epsilon)) / 2.0)
        first, second = pairs.three_outcome(epsilon, small, small)
        yield "three-outcome", first, second, Relation.BASE, "the median moves between three models"

    return Trial(
        made,
        probabilities,
        {"count": count, "rank": rank},
        median_moves,
        lambda pair: guarantee("LT-B.3-hope", epsilon=epsilon),
    )
