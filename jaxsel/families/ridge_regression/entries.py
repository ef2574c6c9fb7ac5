"""Private ridge regression in the catalogue: on the line, where every law is exact.

Equal records (feature, target), of which a neighbour has one more: (1, -1), which
contradicts them.
"""

import functools
from typing import Annotated, Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.ridge_regression.settings import LARGEST_RUN_DELTA
from jaxsel.families.ridge_regression.tuned import TUNING_THEOREMS, calibrate_tuned
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import choice, number, numbers, whole
from jaxsel.language.entry import DATA, FIXED, mechanism

Records = Annotated[int, whole("how many", at_least=1, at_most=1_000_000)]
Each = Annotated[float, number("of each record", at_least=-1.0, at_most=1.0)]
Epsilon = Annotated[float, number("of the whole", at_least=0.01, at_most=100.0)]
Delta = Annotated[float, number("of the whole", above=0.0, at_most=LARGEST_RUN_DELTA)]
Edges = Annotated[Any, numbers("bins of the released coefficient, increasing")]
Regularisation = Annotated[float, number("lambda", at_least=1e-3, at_most=1e9)]
Method = Annotated[str, methods("literal")]

# Records that are not 1; there the two bounds that are released matter as well.
_GENERIC = {
    "records": 40,
    "feature": -0.9,
    "target": 0.8,
    "epsilon": 1.5,
    "delta": 0.02,
    "edges": "-0.95,-0.75,-0.5,0",
}


@mechanism("OUT-PERT", generic={**_GENERIC, "regularisation": 25})
def output_perturbation(
    *,
    records: Records = 20,
    feature: Each = 1,
    target: Each = 1,
    epsilon: Epsilon = 2,
    delta: Delta = 0.01,
    edges: Edges = "0.3,0.6,0.9,1.2",
    regularisation: Regularisation = 10.0,
    method: Method = "literal",
):
    """Ridge regression on the line plus Gaussian noise (after Chaudhuri, Monteleoni &
    Sarwate 2011)."""

    def made():
        from jaxsel.families.ridge_regression.line import binned_coefficient

        return binned_coefficient("output_perturbation")

    return Trial(made, TODO records feature target epsilon delta edges regularisation method)


@mechanism("OPS-Balanced", generic={**_GENERIC, "regularisation": 25})
def balanced_posterior_sampling(
    *,
    records: Records = 20,
    feature: Each = 1,
    target: Each = 1,
    epsilon: Epsilon = 2,
    delta: Delta = 0.01,
    edges: Edges = "0.3,0.6,0.9,1.2",
    regularisation: Regularisation = 10.0,
    method: Method = "literal",
):
    """One posterior sample of ridge regression on the line, private for all data (Wang 2018)."""

    def made():
        from jaxsel.families.ridge_regression.line import binned_coefficient

        return binned_coefficient("balanced_posterior_sampling")

    return Trial(made, TODO records feature target epsilon delta edges regularisation method)


@mechanism("OPS-PTR", "KRW-Sec6.1", generic={**_GENERIC, "regularisation": 2})
def posterior_sampling_ptr(
    *,
    records: Records = 20,
    feature: Each = 1,
    target: Each = 1,
    epsilon: Epsilon = 2,
    delta: Delta = 0.01,
    edges: Edges = "0.3,0.6,0.9,1.2",
    regularisation: Regularisation = 1.0,
    method: Method = "literal",
):
    """One posterior sample of ridge regression on the line behind a private test
    (Koskela, Redberg & Wang 2024, Section 6.1)."""

    def made():
        from jaxsel.families.ridge_regression.line import binned_coefficient

        return binned_coefficient("posterior_sampling_ptr")

    return Trial(made, TODO records feature target epsilon delta edges regularisation method)


@mechanism(
    "OPS-PTR-tuned",
    generic={**_GENERIC, "regularisations": "2,50", "mean": 3, "theorem": "JX-Envelope"},
)
def tuned_posterior_sampling(
    *,
    records: Records = 20,
    feature: Each = 1,
    target: Each = 1,
    epsilon: Epsilon = 2,
    delta: Delta = 0.01,
    edges: Edges = "0.3,0.6,0.9,1.2",
    regularisations: Annotated[
        Any, numbers("lambda: what each run draws from", at_least=1e-3, at_most=1e9)
    ] = "3,30",
    mean: Annotated[float, number("E[K]", above=1.0, at_most=1000.0)] = 2,
    theorem: Annotated[str, choice(TUNING_THEOREMS, "what calibrates the runs")] = "KRW-Cor6.2",
    method: Method = "literal",
):
    """The best of K such samples, K geometric, each with a random regularisation
    (Koskela, Redberg & Wang 2024, Section 6.1)."""

    def made():
        from jaxsel.families.ridge_regression.line import binned_coefficient

        return binned_coefficient("tuned_posterior_sampling")

    return Trial(made, TODO records feature target epsilon delta edges regularisations mean theorem method)


def _equal_records(values):
    """Data of equal records, and the parameters that all four mechanisms take."""
    count = values["records"]
    features, targets = np.full((count, 1), values["feature"]), np.full(count, values["target"])
    data = {"features": features, "targets": targets}
    data |= {f"validation_{name}": each for name, each in data.items()}
    return data, {"records": count + 1, "edges": values["edges"]}


@output_perturbation.input
@balanced_posterior_sampling.input
@posterior_sampling_ptr.input
def _untuned(values):
    data, params = _equal_records(values)
    return data, params | {name: values[name] for name in ("epsilon", "delta", "regularisation")}


@functools.lru_cache(maxsize=8)
def _calibration(epsilon: float, delta: float, mean: float, theorem: str):
    return calibrate_tuned(epsilon, delta, laws.geometric(1.0 / mean), theorem)


@tuned_posterior_sampling.input
def _tuned(epsilon, delta, mean, theorem, regularisations, values):
    data, params = _equal_records(values)
    calibration = _calibration(epsilon, delta, mean, theorem)
    return data, params | {"calibration": calibration, "regularisation": regularisations}


@output_perturbation.neighbours
@balanced_posterior_sampling.neighbours
@posterior_sampling_ptr.neighbours
@tuned_posterior_sampling.neighbours
def _one_more(data, theorem=None):
    parts = {"training": ("features", "targets")}
    if theorem is not None:  # the best of several runs is chosen on validation records
        parts["validation"] = ("validation_features", "validation_targets")
    for part, (features, targets) in parts.items():
        more = {
            features: np.append(data[features], [[1.0]], axis=0),
            targets: np.append(data[targets], -1.0),
        }
        why = f"one more record, which contradicts all others, among those of {part}"
        yield part, data, data | more, Relation.BASE, why
