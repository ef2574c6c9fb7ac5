"""Private tuning and random stopping: settings, neighbouring pairs, guarantees."""

import math
from collections.abc import Callable, Mapping

from jaxsel import repetitions as laws
from jaxsel.families.tuning.base_settings import (
    BASE_SETTINGS,
    base_epsilon,
    base_input,
    base_pairs,
    base_params,
    base_utility,
)
from jaxsel.families.tuning.bounds.random_stopping import hard_stop_steps, hard_stop_steps_pure
from jaxsel.language.base import Pair
from jaxsel.language.domains import Domain, choice, number, parsed, probability, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee

_METHOD = choice(
    ("rank", "count", "literal", "law"), "how trials are drawn; see the guide", default="rank"
)
_GAMMA = number("stopping probability", at_least=1e-9, at_most=1.0, default=0.1)

_Law = Callable[[Values], laws.Repetitions]
# (values, law of K, epsilon of one run) -> guarantee of the whole.
_Proof = Callable[[Values, laws.Repetitions, float], Guarantee | None]


def _tuning_entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    settings: Mapping[str, Domain],
    law_of: _Law,
    proof: _Proof,
    broken: bool = False,
    *,
    generic: Values,
) -> MechanismEntry:
    def make(values: Values) -> Built:
        from jaxsel.families.tuning.private_tuning import private_tuning
        from jaxsel.kernel.repetition_sampling import RANK_FAMILIES

        law, method = law_of(values), values["method"]
        if method == "rank" and law.family not in RANK_FAMILIES:
            method = "count"
        base, data, params = base_input(values)
        mechanism = private_tuning(base, law.family, method=method)
        return Built(mechanism, data, params | {"repetitions": law})

    def make_pairs(values: Values) -> tuple[Pair, ...]:
        return base_pairs(values, base_params(values) | {"repetitions": law_of(values)})

    def proven(values: Values, pair: Pair) -> Guarantee | None:
        del pair
        epsilon = base_epsilon(values)
        return None if epsilon is None else proof(values, law_of(values), epsilon)

    return MechanismEntry(
        name,
        ids,
        summary,
        broken,
        {**settings, **BASE_SETTINGS, "method": _METHOD},
        make,
        make_pairs,
        proven,
        generic,
        base_utility,
    )


def _tuning_proof(values: Values, law: laws.Repetitions, epsilon: float) -> Guarantee | None:
    del values
    if law.family == "truncated_negative_binomial":
        return guarantee("PS-Cor3", epsilon=epsilon, eta=law.parameters["eta"])
    if law.family == "point_mass":
        count = int(law.mean)
        return guarantee("PS-D1", order=math.inf, base_epsilon=epsilon, count=count)
    return None


def _geometric(values: Values) -> laws.Repetitions:
    return laws.geometric(values["gamma"])


ENTRIES: tuple[MechanismEntry, ...] = (
    _tuning_entry(
        "private_tuning",
        ("PS-Alg0",),
        "Run a base K times, K random, and release the best run (Papernot & Steinke 2022).",
        {
            "repetitions": parsed(
                laws.parse,
                "a law of K; see jaxsel list repetitions",
                "law of K",
                default="geometric:mean=10",
            )
        },
        lambda values: values["repetitions"],
        _tuning_proof,
        generic={
            "repetitions": "tnb:eta=0.5,gamma=0.3",
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.8",
        },
    ),
    _tuning_entry(
        "random_stopping",
        ("LT-Alg2",),
        "Run a base, stop after each run with probability gamma, release the best "
        "(Liu & Talwar 2019, Algorithm 2).",
        {"gamma": _GAMMA},
        _geometric,
        lambda values, law, epsilon: guarantee("LT-Thm3.2", epsilon=epsilon),
        generic={
            "gamma": 0.3,
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.8",
        },
    ),
    _tuning_entry(
        "random_stopping_capped",
        ("LT-Alg2-hardstop-Thm3.4",),
        "Random stopping, and a hard stop after (1/gamma) log(1/delta) runs "
        "(Liu & Talwar 2019, Theorem 3.4).",
        {
            "gamma": _GAMMA,
            "stop_delta": probability("chance of reaching the hard stop", default=1e-6),
        },
        lambda values: laws.capped(
            _geometric(values), hard_stop_steps(values["gamma"], values["stop_delta"])
        ),
        # Its guarantee has delta > 0.
        lambda values, law, epsilon: None,
        generic={
            "gamma": 0.3,
            "stop_delta": 0.01,
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.8",
        },
    ),
    _tuning_entry(
        "random_stopping_capped_pure",
        ("LT-Alg2-hardstop-Thm3.5",),
        "Random stopping, and a hard stop late enough for pure DP "
        "(Liu & Talwar 2019, Theorem 3.5).",
        {
            "gamma": _GAMMA,
            "slack": number("epsilon_0; it costs thrice", above=0.0, below=0.5, default=0.1),
        },
        lambda values: laws.capped(
            _geometric(values), hard_stop_steps_pure(values["gamma"], values["slack"])
        ),
        lambda values, law, epsilon: guarantee("LT-Thm3.5", epsilon=epsilon, slack=values["slack"]),
        generic={
            "gamma": 0.3,
            "slack": 0.3,
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.8",
        },
    ),
    _tuning_entry(
        "fixed_repetitions",
        ("PS-D1", "LT-B.1"),
        "BROKEN: run a base a fixed number of times and release the best; the loss grows "
        "with the number of runs.",
        {"count": whole("how many runs", at_least=1, at_most=1_000_000, default=5)},
        lambda values: laws.point_mass(values["count"]),
        lambda values, law, epsilon: guarantee("FIXED-K-folklore", epsilon=epsilon),
        broken=True,
        generic={
            "count": 3,
            "epsilon": 0.6,
            "probabilities": "0.3,0.3,0.4",
            "scores": "0.9,0.8,0.8",
        },
    ),
)
