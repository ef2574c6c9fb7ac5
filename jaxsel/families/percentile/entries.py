"""Catalogue entries of percentiles: the sparse vectors of Liu & Talwar 2019, Section 4,
and runs that are better than, or are, the median."""

import dataclasses
import math
from typing import Any

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.families.percentile import settings
from jaxsel.families.percentile.median_laws import ALPHA
from jaxsel.families.percentile.pipeline_laws import (
    CANDIDATES,
    FULL_SLACK,
    THRESHOLDS,
    Pipeline,
    pipeline,
    pipeline_params,
)
from jaxsel.families.percentile.score_percentile_laws import COUNT
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.families.thresholds.laws import threshold_steps
from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import Domain, choice, number, numbers, probability
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee


@dataclasses.dataclass(frozen=True)
class _OrWord(Domain):
    """Values of another domain, or one of a few words."""

    domain: Domain = dataclasses.field(kw_only=True)
    words: tuple[str, ...] = dataclasses.field(kw_only=True)

    def describe(self) -> str:
        """See ``Domain``."""
        return f"{', '.join(self.words)}, or {self.domain.describe()}"

    def read(self, name: str, value: Any) -> Any:
        """See ``Domain``."""
        if isinstance(value, str) and value in self.words:
            return value
        try:
            return self.domain.read(name, value)
        except InputError:
            self.refuse(name, value)


_THEOREM = "theorem"


def _or_theorem(domain: Domain, default: float) -> Domain:
    help = f"{domain.help}; theorem: what it asks for"
    return _OrWord(help, default, domain=domain, words=(_THEOREM,))


def _chances(default: str, help: str) -> Domain:
    return numbers(help, at_least=0.0, at_most=1.0, default=default)


def _shares(default: str) -> Domain:
    return _chances(default, "chances to reach the thresholds, in order")


def _method(*options: str) -> Domain:
    help = "how trials are drawn; see the guide"
    return choice((*options, "law"), help, default=options[0])


_COMMON = {
    "target": settings.TARGET,
    "base_epsilon": settings.BASE_EPSILON,
    "final_epsilon": settings.FINAL_EPSILON,
}
_TEST = {
    "slack": settings.SLACK,
    "beta": settings.BETA,
    "delta": settings.DELTA,
    "samples": _or_theorem(settings.SAMPLES, 40),
    "shift": _or_theorem(settings.SHIFT, 5.0),
}


def _overridden(test: PercentileTest, values: Values) -> PercentileTest:
    names = ("samples", "shift", "offset")
    given = {name: values.get(name, _THEOREM) for name in names}
    return test._replace(**{k: v for k, v in given.items() if v != _THEOREM})


def _flipped(values: Values) -> tuple[np.ndarray, np.ndarray]:
    """Randomised response, the last query against the others."""
    low = max(1, values["shares"].size - 1)
    high = np.append(np.full(low, 1.0), -1.0) * values["base_epsilon"]
    return 1.0 / (1.0 + np.exp(high)), 1.0 / (1.0 + np.exp(-high))


def _three_outcomes(values: Values) -> pairs.LawPair:
    epsilon = values["base_epsilon"]
    most = 1.0 / (1.0 + math.exp(epsilon))
    return pairs.three_outcome(epsilon, min(0.05, most / 2.0), min(0.25, most))


def _stream_pair(data, neighbour, params: dict[str, Any]) -> tuple[Pair, ...]:
    why = "every log-odds moves by 2 epsilon_1, the last against the others"
    return (Pair("low-then-high", data, neighbour, Relation.BASE, params, why),)


# --- Algorithm 3 ----------------------------------------------------------------------


def _oracle_params(values: Values) -> dict[str, Any]:
    return {name: values[name] for name in _COMMON}


def _make_oracle(values: Values) -> Built:
    from jaxsel.families.percentile.percentile_above_threshold import percentile_above_threshold

    mechanism = percentile_above_threshold(method=values["method"])
    return Built(mechanism, values["shares"], _oracle_params(values))


def _oracle_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    return guarantee("LT-Thm4.1(a)", final_epsilon=values["final_epsilon"])


# --- Algorithms 4 and 5 ---------------------------------------------------------------


def _test(values: Values, algorithm: int) -> PercentileTest:
    names = (*_COMMON, "slack", "beta", "delta")
    chosen = {name: values[name] for name in names}
    count = max(2, values["shares"].size)
    if algorithm == 4:
        test = algorithm_4(**chosen, queries=count)
    else:
        test = algorithm_5(**chosen, thresholds=count)
    return _overridden(test, values)


def _make_extended(values: Values) -> Built:
    from jaxsel.families.percentile.extended_above_threshold import extended_above_threshold

    mechanism = extended_above_threshold(method=values["method"])
    return Built(mechanism, values["shares"], _test(values, 4)._asdict())


def _extended_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    test = _test(values, 4)
    return guarantee(
        "LT-Thm4.4(a)-sharp",
        samples=test.samples,
        shift=test.shift,
        sensitivity=2.0 * (values["base_epsilon"] + values["slack"]),
        final_epsilon=values["final_epsilon"],
    )


def _make_found(values: Values) -> Built:
    from jaxsel.families.percentile.find_threshold import find_percentile_threshold

    mechanism = find_percentile_threshold(method=values["method"])
    return Built(mechanism, values["shares"], _test(values, 5)._asdict())


def _found_pairs(values: Values) -> tuple[Pair, ...]:
    """The first thresholds are reached oftener on one side, the next on the other."""
    first = max(1, values["shares"].size - 2)
    data, neighbour = (
        np.append(np.full(first, law[0]), [law[0] + law[1], 1.0]) for law in _three_outcomes(values)
    )
    return _stream_pair(data, neighbour, _test(values, 5)._asdict())


def _found_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    test = _test(values, 5)
    return guarantee(
        "LT-Thm4.6(a)-sharp",
        samples=test.samples,
        shift=test.shift,
        sensitivity=values["base_epsilon"] + values["slack"],
        final_epsilon=values["final_epsilon"],
    )


# --- Theorem 4.7 ----------------------------------------------------------------------


def _pipeline(values: Values) -> Pipeline:
    names = ("base_epsilon", "slack", "beta", "delta", "thresholds", "candidates")
    chosen = pipeline(**{name: values[name] for name in names}, reading="sharp")
    chosen = chosen._replace(test=_overridden(chosen.test, values))
    stop = values["stop_probability"]
    if stop == _THEOREM:
        return chosen
    most = threshold_steps(stop, values["slack"] / 2.0)
    return chosen._replace(stop_probability=stop, max_draws=most)


def _make_pipeline(values: Values) -> Built:
    from jaxsel.families.percentile.pipeline import percentile_pipeline

    data = {name: values[name] for name in ("scores", "probabilities")}
    mechanism = percentile_pipeline(method=values["method"])
    return Built(mechanism, data, pipeline_params(_pipeline(values)))


def _pipeline_pairs(values: Values) -> tuple[Pair, ...]:
    data, neighbour = (
        {"scores": [1.0, 0.5, 0.0], "probabilities": law.tolist()}
        for law in _three_outcomes(values)
    )
    params = pipeline_params(_pipeline(values))
    why = "the two upper outcomes move against each other"
    return (Pair("three-outcome", data, neighbour, Relation.BASE, params, why),)


def _pipeline_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    test = _pipeline(values).test
    return guarantee(
        "LT-Thm4.7(a)-sharp",
        base_epsilon=values["base_epsilon"],
        slack=values["slack"],
        samples=test.samples,
        shift=test.shift,
    )


# --- Better than the median: Cohen et al. 2022, Theorem 4 -----------------------------


def _make_median(values: Values) -> Built:
    from jaxsel.families.percentile.better_than_median import better_than_median
    from jaxsel.families.tuning.bases import finite

    pair = _median_pairs(values)[0]
    mechanism = better_than_median(finite(), method=values["method"])
    return Built(mechanism, pair.data, dict(pair.params))


def _median_pairs(values: Values) -> tuple[Pair, ...]:
    params = {"alpha": values["alpha"], "beta": values["beta"]}
    epsilon = values["epsilon"]
    first, second = pairs.randomised_response(epsilon)
    return (
        Pair(
            "three-outcome",
            *pairs.three_outcome(epsilon, values["top"], values["middle"]),
            Relation.BASE,
            params,
            "releasing the middle outcome loses (2 + alpha) epsilon as T grows",
        ),
        Pair(
            "randomised-response",
            np.append(first, 0.0),
            np.append(second, 0.0),
            Relation.BASE,
            params,
            "complete for pure privacy; best of K fixed runs would lose K epsilon",
        ),
    )


def _median_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    epsilon, alpha = values["epsilon"], values["alpha"]
    return guarantee("CL-Thm4-privacy", epsilon=epsilon, alpha=alpha)


# --- The median itself: Liu & Talwar 2019, Appendix B.3 -------------------------------


def _run_params(values: Values) -> dict[str, Any]:
    return {"count": values["count"], "rank": values["rank"]}


def _make_run(values: Values) -> Built:
    from jaxsel.families.percentile.score_percentile import score_percentile

    mechanism = score_percentile(method=values["method"])
    return Built(mechanism, values["probabilities"], _run_params(values))


def _run_pairs(values: Values) -> tuple[Pair, ...]:
    epsilon, params = values["epsilon"], _run_params(values)
    small = min(0.1, 1.0 / (1.0 + math.exp(epsilon)) / 2.0)
    return (
        Pair(
            "randomised-response",
            *pairs.randomised_response(epsilon),
            Relation.BASE,
            params,
            "the likelier of two models is the median of either side",
        ),
        Pair(
            "three-outcome",
            *pairs.three_outcome(epsilon, small, small),
            Relation.BASE,
            params,
            "the median moves between three models",
        ),
    )


def _run_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    return guarantee("LT-B.3-hope", epsilon=values["epsilon"])


_EPSILON = number(
    "privacy of one run in the constructed pairs", above=0.0, at_most=100.0, default=1
)

ENTRIES = (
    MechanismEntry(
        "percentile_above_threshold",
        ("LT-Alg3", "LT-Thm4.1", "LT-Cor4.2"),
        "Halt at the first base that reaches its threshold with a wanted chance; the "
        "chances are known.",
        False,
        {"shares": _shares("0.2,0.2,0.2,0.5,0.8"), **_COMMON, "method": _method("jump", "literal")},
        _make_oracle,
        lambda values: _stream_pair(*_flipped(values), _oracle_params(values)),
        _oracle_guarantee,
        generic={
            "shares": "0.3,0.3,0.1,0.7,0.5",
            "target": 0.4,
            "base_epsilon": 0.7,
            "final_epsilon": 2,
        },
    ),
    MechanismEntry(
        "extended_above_threshold",
        ("LT-Alg4", "LT-Thm4.4", "LT-Thm1.5"),
        "Halt at the first base that reaches its threshold with a wanted chance, "
        "estimated from N fresh runs a query.",
        False,
        {
            "shares": _shares("0.2,0.2,0.5,0.8"),
            **_COMMON,
            **_TEST,
            "method": _method("binomial", "literal"),
        },
        _make_extended,
        lambda values: _stream_pair(*_flipped(values), _test(values, 4)._asdict()),
        _extended_guarantee,
        generic={
            "shares": "0.3,0.3,0.1,0.7",
            "target": 0.4,
            "base_epsilon": 0.7,
            "final_epsilon": 2,
            "slack": 0.3,
            "beta": 0.2,
            "delta": 0.01,
            "samples": 25,
            "shift": 3,
        },
    ),
    MechanismEntry(
        "find_percentile_threshold",
        ("LT-Alg5", "LT-Thm4.6"),
        "Release the first of a falling grid of thresholds that a wanted share of N "
        "runs reaches, the same runs for all.",
        False,
        {
            "shares": _shares("0.05,0.2,0.5,1"),
            **_COMMON,
            **_TEST,
            "offset": _or_theorem(settings.OFFSET, 0.7),
            "method": _method("binomial", "literal"),
        },
        _make_found,
        _found_pairs,
        _found_guarantee,
        generic={
            "shares": "0.1,0.3,0.3,0.9",
            "target": 0.4,
            "base_epsilon": 2,
            "final_epsilon": 1.5,
            "slack": 0.3,
            "beta": 0.2,
            "delta": 0.01,
            "samples": 5,
            "shift": 1,
            "offset": 0.4,
        },
    ),
    MechanismEntry(
        "percentile_pipeline",
        ("LT-Thm4.7", "LT-Thm1.4"),
        "Find a threshold that a share of runs reaches, then draw until a run reaches it.",
        False,
        {
            "scores": _chances("1,0.75,0.5,0", "scores of the outcomes"),
            "probabilities": _chances("0.02,0.1,0.3,0.58", "law of one run"),
            "base_epsilon": dataclasses.replace(settings.BASE_EPSILON, default=0.1),
            "slack": FULL_SLACK,
            "beta": settings.BETA,
            "delta": dataclasses.replace(settings.DELTA, default=1e-6),
            "thresholds": THRESHOLDS,
            "candidates": CANDIDATES,
            "samples": _or_theorem(settings.SAMPLES, 50),
            "shift": _or_theorem(settings.SHIFT, 8.0),
            "offset": _or_theorem(settings.OFFSET, 1.0),
            "stop_probability": _or_theorem(number("gamma", at_least=1e-200, at_most=1.0), 0.05),
            "method": _method("binomial", "literal"),
        },
        _make_pipeline,
        _pipeline_pairs,
        _pipeline_guarantee,
        generic={
            "scores": "0.8,0.8,0.3,0",
            "probabilities": "0.1,0.15,0.35,0.4",
            "base_epsilon": 1,
            "slack": 0.6,
            "beta": 0.2,
            "delta": 0.0001,
            "samples": 3,
            "shift": 5,
            "offset": 0.6,
            "stop_probability": 0.1,
        },
    ),
    MechanismEntry(
        "better_than_median",
        ("CL-Thm4",),
        "The best of Bin(T, p) runs: above the median, but for a chance beta.",
        False,
        {
            "epsilon": dataclasses.replace(_EPSILON, help="epsilon of every run, on the pairs"),
            "top": probability("chance of the best outcome, on the first side", default=0.2),
            "middle": probability(
                "chance of the second best one, on the other side", default=0.002
            ),
            "alpha": ALPHA,
            "beta": dataclasses.replace(
                settings.BETA, help="failure probability that sets T", default=0.02
            ),
            "method": _method("rank", "literal"),
        },
        _make_median,
        _median_pairs,
        _median_guarantee,
        generic={"epsilon": 0.6, "top": 0.3, "middle": 0.05, "alpha": 0.6, "beta": 0.1},
    ),
    MechanismEntry(
        "median_of_runs",
        ("LT-B.3",),
        "BROKEN: release the run of median score, or of a random rank above it; the "
        "loss grows with the number of runs.",
        True,
        {
            "probabilities": _chances("0.5,0.5", "law of one run, best outcome first"),
            "count": COUNT,
            "rank": _OrWord(
                "which run is released; 1 is the best",
                "median",
                domain=COUNT,
                words=("median", "random"),
            ),
            "epsilon": _EPSILON,
            "method": _method("jump", "literal"),
        },
        _make_run,
        _run_pairs,
        _run_guarantee,
        generic={"probabilities": "0.3,0.6,0.1", "count": 6, "rank": 2, "epsilon": 0.7},
    ),
)
