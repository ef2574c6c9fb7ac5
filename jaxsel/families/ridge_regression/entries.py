"""Private ridge regression in the catalogue: on the line, where every law is exact.

Equal records (feature, target), of which a neighbour has one more: (1, -1), which
contradicts them.
"""

import functools
from typing import Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.ridge_regression.settings import LARGEST_RUN_DELTA
from jaxsel.families.ridge_regression.tuned import TUNING_THEOREMS, calibrate_tuned
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import Domain, choice, number, numbers, whole
from jaxsel.language.entry import Built, MechanismEntry, Values

_SETTINGS: dict[str, Domain] = {
    "records": whole("how many", at_least=1, at_most=1_000_000, default=20),
    "feature": number("of each record", at_least=-1.0, at_most=1.0, default=1),
    "target": number("of each record", at_least=-1.0, at_most=1.0, default=1),
    "epsilon": number("of the whole", at_least=0.01, at_most=100.0, default=2),
    "delta": number("of the whole", above=0.0, at_most=LARGEST_RUN_DELTA, default=0.01),
    "edges": numbers("bins of the released coefficient, increasing", default="0.3,0.6,0.9,1.2"),
}
_METHOD = choice(("literal", "law"), "how trials are drawn; see the guide", default="literal")
_ONE_MORE = (1.0, -1.0)
# Away from unit records; there the two released bounds matter as well.
_ELSEWHERE: Values = {
    "records": 40,
    "feature": -0.9,
    "target": 0.8,
    "epsilon": 1.5,
    "delta": 0.02,
    "edges": "-0.95,-0.75,-0.5,0",
}


def _regularisation(default: float) -> Domain:
    return number("lambda", at_least=1e-3, at_most=1e9, default=default)


def _records(values: Values, *, prefix: str = "", more: bool = False) -> dict[str, Any]:
    """Equal records, and the one that contradicts them."""
    count = values["records"]
    features, targets = (
        np.append(np.full(count, values[name]), [extra] if more else [])
        for name, extra in zip(("feature", "target"), _ONE_MORE, strict=True)
    )
    return {f"{prefix}features": features[:, None], f"{prefix}targets": targets}


def _data(values: Values, *, more: str | None = None) -> dict[str, Any]:
    return _records(values, more=more == "training") | _records(
        values, prefix="validation_", more=more == "validation"
    )


def _untuned_params(values: Values) -> dict[str, Any]:
    names = ("epsilon", "delta", "regularisation")
    return {name: values[name] for name in names}


@functools.lru_cache(maxsize=8)
def _calibration(epsilon: float, delta: float, mean: float, theorem: str):
    return calibrate_tuned(epsilon, delta, laws.geometric(1.0 / mean), theorem)


def _tuned_params(values: Values) -> dict[str, Any]:
    names = ("epsilon", "delta", "mean", "theorem")
    return {
        "calibration": _calibration(*(values[name] for name in names)),
        "regularisation": values["regularisations"],
    }


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    settings: dict[str, Domain],
    *,
    tuned: bool = False,
    generic: Values,
) -> MechanismEntry:
    def params_of(values: Values) -> dict[str, Any]:
        found = _tuned_params(values) if tuned else _untuned_params(values)
        return found | {"records": values["records"] + 1, "edges": values["edges"]}

    parts = ("training", "validation") if tuned else ("training",)

    def make(values: Values) -> Built:
        from jaxsel.families.ridge_regression.line import binned_coefficient

        return Built(binned_coefficient(name), _data(values), params_of(values))

    def make_pairs(values: Values) -> tuple[Pair, ...]:
        params = params_of(values)
        why = "one more record, which contradicts all others"
        return tuple(
            Pair(
                part,
                _data(values),
                _data(values, more=part),
                Relation.BASE,
                params,
                f"{why}, among those of {part}",
            )
            for part in parts
        )

    return MechanismEntry(
        name,
        ids,
        summary,
        False,
        {**_SETTINGS, **settings, "method": _METHOD},
        make,
        make_pairs,
        generic={**_ELSEWHERE, **generic},
    )


ENTRIES: tuple[MechanismEntry, ...] = (
    _entry(
        "output_perturbation",
        ("OUT-PERT",),
        "Ridge regression on the line plus Gaussian noise (after Chaudhuri, Monteleoni & "
        "Sarwate 2011).",
        {"regularisation": _regularisation(10.0)},
        generic={"regularisation": 25},
    ),
    _entry(
        "balanced_posterior_sampling",
        ("OPS-Balanced",),
        "One posterior sample of ridge regression on the line, private for all data (Wang 2018).",
        {"regularisation": _regularisation(10.0)},
        generic={"regularisation": 25},
    ),
    _entry(
        "posterior_sampling_ptr",
        ("OPS-PTR", "KRW-Sec6.1"),
        "One posterior sample of ridge regression on the line behind a private test "
        "(Koskela, Redberg & Wang 2024, Section 6.1).",
        {"regularisation": _regularisation(1.0)},
        generic={"regularisation": 2},
    ),
    _entry(
        "tuned_posterior_sampling",
        ("OPS-PTR-tuned",),
        "The best of K such samples, K geometric, each with a random regularisation "
        "(Koskela, Redberg & Wang 2024, Section 6.1).",
        {
            "regularisations": numbers(
                "lambda: what each run draws from", at_least=1e-3, at_most=1e9, default="3,30"
            ),
            "mean": number("E[K]", above=1.0, at_most=1000.0, default=2),
            "theorem": choice(TUNING_THEOREMS, "what calibrates the runs", default="KRW-Cor6.2"),
        },
        tuned=True,
        generic={"regularisations": "2,50", "mean": 3, "theorem": "JX-Envelope"},
    ),
)
