"""The mechanisms by name, built from name=value settings, with their pairs."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.tuning import liu_talwar
from jaxsel.base import Pair, Relation
from jaxsel.catalogue import (
    choosing,
    multiplicative_weights,
    negative_examples,
    noisy_max_composition,
    percentile,
    query_release,
    repetitive_sparse_vector,
    score_selection,
    selection_and_test,
    sparse_vector,
    top_k,
)
from jaxsel.catalogue.base_settings import (
    BASE_OPTIONS,
    base_epsilon,
    base_input,
    base_pairs,
)
from jaxsel.catalogue.entry import Built, MechanismEntry, Settings
from jaxsel.catalogue.options import Option, nearest, read_number, read_numbers
from jaxsel.errors import InputError
from jaxsel.mechanisms.noisy_max import noisy_max, noisy_max_scale
from jaxsel.mechanisms.private_tuning import private_tuning
from jaxsel.mechanisms.thresholds import threshold_selection

__all__ = ["MECHANISMS", "find_mechanism"]


# Noisy max ------------------------------------------------------------------------


_NOISY_MAX_OPTIONS = {
    "noise": Option(
        "gumbel",
        "gumbel (exponential mechanism), laplace, exponential (permute-and-flip) "
        "or gaussian",
    ),
    "relation": Option("general", "how scores may change: general or monotone"),
    "scores": Option("2,1,0", "the candidates' scores, in units of the sensitivity"),
    "epsilon": Option("", "privacy parameter; sets the noise scale (default 1)"),
    "noise_scale": Option("", "noise scale, instead of epsilon; the one for gaussian"),
    "method": Option("literal", "literal, race (gumbel only) or law"),
    "precision": Option("tail", "of the draws: fast, tail or float64"),
}


def _noisy_max_params(values: Settings) -> dict[str, float]:
    params = {
        name: read_number(name, values[name])
        for name in ("epsilon", "noise_scale")
        if name in values
    }
    return params or {"epsilon": 1.0}


def _make_noisy_max(values: Settings) -> Built:
    mechanism = noisy_max(
        values["noise"],
        relation=values["relation"],
        method=values["method"],
        precision=values["precision"],
    )
    scores = np.array(read_numbers("scores", values["scores"]))
    return Built(mechanism, scores, _noisy_max_params(values))


def _noisy_max_pairs(values: Settings) -> tuple[Pair, ...]:
    """The patterns that approach 2/b (general) and 1/b (monotone)."""
    params = _noisy_max_params(values)
    m = max(2, len(read_numbers("scores", values["scores"])))
    scale = noisy_max_scale(params, values["relation"])
    # The loss of "candidate 0 wins" grows with how far behind candidate 0 is.
    behind = np.zeros(m)
    behind[0] = -3.0 * scale
    up, down = np.zeros(m), np.full(m, 1.0)
    up[0], down[0] = 1.0, 0.0
    one = np.zeros(m)
    one[0] = 1.0
    relation = {"general": Relation.GENERAL, "monotone": Relation.MONOTONE}
    opposed = Pair(
        "opposed", behind + up, behind + down, Relation.GENERAL, params,
        "one candidate, far behind, rises by 1 while all others fall by 1",
    )  # fmt: skip
    alone = Pair(
        "one-alone", behind + one, behind, Relation.MONOTONE, params,
        "one candidate, far behind, moves by 1",
    )  # fmt: skip
    others = Pair(
        "others-together", behind, behind + 1.0 - one, Relation.MONOTONE, params,
        "all candidates but the last-placed move by 1",
    )  # fmt: skip
    if relation[values["relation"]] is Relation.MONOTONE:
        return alone, others
    return opposed, alone, others


def _noisy_max_promise(values: Settings, pair: Pair) -> tuple[str, float] | None:
    if values["noise"] == "gaussian":
        return None
    scale = noisy_max_scale(_noisy_max_params(values), values["relation"])
    factor = 2.0 if pair.relation is Relation.GENERAL else 1.0
    return f"NM-{values['noise']}-{pair.relation.value}", factor / scale


# Tuning ---------------------------------------------------------------------------


_METHOD = Option("rank", "rank, count, literal or law; see the guide")


def _tuned(values: Settings, law: laws.Repetitions, method: str) -> Built:
    base, data, params = base_input(values)
    if method == "rank" and law.family in ("conditioned", "capped"):
        method = "count"
    mechanism = private_tuning(base, law.family, method=method)
    return Built(mechanism, data, params | {"repetitions": law})


def _tuning_entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: Mapping[str, Option],
    law_of: Callable[[Settings], laws.Repetitions],
    promise: Callable[[Settings, laws.Repetitions, float], tuple[str, float] | None],
    broken: bool = False,
) -> MechanismEntry:
    def make(values: Settings) -> Built:
        return _tuned(values, law_of(values), values["method"])

    def make_pairs(values: Settings) -> tuple[Pair, ...]:
        return base_pairs(values, make(values).params)

    def promised(values: Settings, pair: Pair) -> tuple[str, float] | None:
        del pair
        epsilon = base_epsilon(values)
        return None if epsilon is None else promise(values, law_of(values), epsilon)

    return MechanismEntry(
        name, ids, summary, broken, {**options, **BASE_OPTIONS, "method": _METHOD},
        make, make_pairs, promised,
    )  # fmt: skip


def _tuning_promise(values, law: laws.Repetitions, epsilon: float):
    del values
    if law.family == "truncated_negative_binomial":
        return "PS-Cor3", (2.0 + law.parameters["eta"]) * epsilon
    if law.family == "point_mass":
        return "PS-D1", law.mean * epsilon
    return None


def _gamma(values: Settings) -> float:
    return read_number("gamma", values["gamma"])


_GAMMA = Option("0.1", "stopping probability, in (0, 1)")


_PRIVATE_TUNING = _tuning_entry(
    "private_tuning",
    ("PS-Alg0",),
    "Run a base K times, K random, and release the best run (Papernot & Steinke 2022).",
    {
        "repetitions": Option(
            "geometric:mean=10", "law of K; see jaxsel list repetitions"
        )
    },
    lambda values: laws.parse(values["repetitions"]),
    _tuning_promise,
)

_RANDOM_STOPPING = _tuning_entry(
    "random_stopping",
    ("LT-Alg2",),
    "Run a base, stop after each run with probability gamma, release the best "
    "(Liu & Talwar 2019, Algorithm 2).",
    {"gamma": _GAMMA},
    lambda values: laws.geometric(_gamma(values)),
    lambda values, law, epsilon: ("LT-Thm3.2", 3.0 * epsilon),
)

_HARD_STOP_DELTA = _tuning_entry(
    "random_stopping_capped",
    ("LT-Alg2-hardstop-Thm3.4",),
    "Random stopping, and a hard stop after (1/gamma) log(1/delta) runs "
    "(Liu & Talwar 2019, Theorem 3.4).",
    {"gamma": _GAMMA, "stop_delta": Option("1e-6", "chance of reaching the hard stop")},
    lambda values: laws.capped(
        laws.geometric(_gamma(values)),
        liu_talwar.hard_stop_steps(
            _gamma(values), read_number("stop_delta", values["stop_delta"])
        ),
    ),
    # Its guarantee has delta > 0: no pure epsilon is promised.
    lambda values, law, epsilon: None,
)

_HARD_STOP_PURE = _tuning_entry(
    "random_stopping_capped_pure",
    ("LT-Alg2-hardstop-Thm3.5",),
    "Random stopping, and a hard stop late enough for pure DP "
    "(Liu & Talwar 2019, Theorem 3.5).",
    {
        "gamma": _GAMMA,
        "slack": Option("0.1", "epsilon_0 in (0, 1/2); it costs thrice"),
    },
    lambda values: laws.capped(
        laws.geometric(_gamma(values)),
        liu_talwar.hard_stop_steps_pure(
            _gamma(values), read_number("slack", values["slack"])
        ),
    ),
    lambda values, law, epsilon: (
        "LT-Thm3.5",
        liu_talwar.hard_stop_pure(epsilon, read_number("slack", values["slack"])),
    ),
)

_FIXED = _tuning_entry(
    "fixed_repetitions",
    ("PS-D1", "LT-B.1"),
    "BROKEN: run a base a fixed number of times and release the best; the loss grows "
    "with the number of runs.",
    {"count": Option("5", "how many runs")},
    lambda values: laws.point_mass(int(read_number("count", values["count"]))),
    lambda values, law, epsilon: ("FIXED-K-folklore", 3.0 * epsilon),
    broken=True,
)


# Thresholds -----------------------------------------------------------------------


def _threshold_entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: Mapping[str, Option],
    settings_of: Callable[[Settings], dict[str, Any]],
    promise: Callable[[Settings, float], tuple[str, float] | None],
) -> MechanismEntry:
    def make(values: Settings) -> Built:
        base, data, params = base_input(values)
        mechanism = threshold_selection(base, method=values["method"])
        return Built(mechanism, data, params | settings_of(values))

    def make_pairs(values: Settings) -> tuple[Pair, ...]:
        return base_pairs(values, make(values).params)

    def promised(values: Settings, pair: Pair) -> tuple[str, float] | None:
        del pair
        epsilon = base_epsilon(values)
        return None if epsilon is None else promise(values, epsilon)

    method = Option("jump", "jump, literal or law; see the guide")
    threshold = Option("1", "least acceptable score")
    return MechanismEntry(
        name, ids, summary, False,
        {"threshold": threshold, **options, **BASE_OPTIONS, "method": method},
        make, make_pairs, promised,
    )  # fmt: skip


def _threshold(values: Settings) -> dict[str, Any]:
    return {"threshold": read_number("threshold", values["threshold"])}


def _stopped_threshold(values: Settings) -> dict[str, Any]:
    gamma, slack = _gamma(values), read_number("slack", values["slack"])
    return _threshold(values) | {
        "stop_probability": gamma,
        "max_draws": liu_talwar.threshold_steps(gamma, slack),
    }


_THRESHOLD = _threshold_entry(
    "threshold_selection",
    ("LT-Alg1",),
    "Draw until a run reaches the threshold; after each failure stop with probability "
    "gamma (Liu & Talwar 2019, Algorithm 1).",
    {
        "gamma": _GAMMA,
        "slack": Option("0.1", "epsilon_0 in (0, 1]; sets the last draw T"),
    },
    _stopped_threshold,
    lambda values, epsilon: (
        "LT-Thm3.1(b)",
        liu_talwar.threshold_pure(epsilon, read_number("slack", values["slack"])),
    ),
)

_CONDITIONAL = _threshold_entry(
    "conditional_sampling",
    ("PS-AlgC", "LT-Thm1.2"),
    "Draw until a run reaches the threshold, however long it takes "
    "(Papernot & Steinke 2022, Appendix C).",
    {},
    _threshold,
    lambda values, epsilon: ("PS-Cor16(1)", 2.0 * epsilon),
)

_NOISY_MAX = MechanismEntry(
    "noisy_max",
    ("NM", "PS-D4"),
    "Release the candidate with the largest noisy score.",
    False,
    _NOISY_MAX_OPTIONS,
    _make_noisy_max,
    _noisy_max_pairs,
    _noisy_max_promise,
)

MECHANISMS: tuple[MechanismEntry, ...] = (
    _NOISY_MAX,
    _PRIVATE_TUNING,
    _RANDOM_STOPPING,
    _HARD_STOP_DELTA,
    _HARD_STOP_PURE,
    _THRESHOLD,
    _CONDITIONAL,
    _FIXED,
    *noisy_max_composition.ENTRIES,
    *top_k.ENTRIES,
    *negative_examples.ENTRIES,
    *percentile.ENTRIES,
    *score_selection.ENTRIES,
    *selection_and_test.ENTRIES,
    *query_release.ENTRIES,
    *choosing.ENTRIES,
    *sparse_vector.ENTRIES,
    *repetitive_sparse_vector.ENTRIES,
    *multiplicative_weights.ENTRIES,
)


def find_mechanism(name: str) -> MechanismEntry:
    """The entry of that name or id.

    Raises:
      InputError: if there is none.
    """
    for entry in MECHANISMS:
        if name == entry.name or name in entry.ids:
            return entry
    names = [entry.name for entry in MECHANISMS]
    raise InputError(
        f"there is no mechanism {name!r}; there are: {', '.join(names)}"
        f"{nearest(name, names)}"
    )
