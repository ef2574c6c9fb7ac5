"""Private tuning and random stopping: settings, neighbouring pairs, guarantees."""

from collections.abc import Callable, Mapping

from jaxsel import repetitions as laws
from jaxsel.base import Pair
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.families.tuning.base_settings import (
    BASE_OPTIONS,
    base_epsilon,
    base_input,
    base_pairs,
)
from jaxsel.families.tuning.bounds.random_stopping import (
    hard_stop_steps,
    hard_stop_steps_pure,
)
from jaxsel.families.tuning.private_tuning import private_tuning
from jaxsel.options import Option, read_number

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
        hard_stop_steps(
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
        hard_stop_steps_pure(_gamma(values), read_number("slack", values["slack"])),
    ),
    lambda values, law, epsilon: (
        "LT-Thm3.5",
        3.0 * epsilon + 3.0 * read_number("slack", values["slack"]),
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

ENTRIES: tuple[MechanismEntry, ...] = (
    _PRIVATE_TUNING,
    _RANDOM_STOPPING,
    _HARD_STOP_DELTA,
    _HARD_STOP_PURE,
    _FIXED,
)
