"""Private ridge regression in the catalogue: on the line, where every law is exact.

The data are equal records (feature, target). A neighbour has one more, (1, -1), which contradicts
them.
"""

import dataclasses
import functools
from typing import Annotated, Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.families.ridge_regression.parameters import RunDelta
from jaxsel.families.ridge_regression.tuned import Theorem, calibrate_tuned
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Mechanism, Relation
from jaxsel.language.domains import number, numbers, whole
from jaxsel.language.entry import mechanism
from jaxsel.language.trial import Trial

Records = Annotated[int, whole("how many", at_least=1, at_most=1_000_000)]
Each = Annotated[float, number("of each record", at_least=-1.0, at_most=1.0)]
Epsilon = Annotated[float, number("of the whole", at_least=0.01, at_most=100.0)]
Edges = Annotated[Any, numbers("bins of the released coefficient, increasing")]
Regularisation = Annotated[float, number("lambda", at_least=1e-3, at_most=1e9)]
Method = Annotated[str, methods("literal")]

# Records that are not 1; there the two bounds that are released matter as well.
_GENERIC = "records=40 feature=-0.9 target=0.8 epsilon=1.5 delta=0.02 edges=-0.95,-0.75,-0.5,0"


@dataclasses.dataclass(frozen=True)
class _Line:
    """Equal records on the line, and what all mechanisms on them are asked for."""

    records: Records = 20
    feature: Each = 1
    target: Each = 1
    epsilon: Epsilon = 2
    delta: RunDelta = 0.01
    edges: Edges = "0.3,0.6,0.9,1.2"

    def untuned(self, released: str, regularisation: float) -> Trial:
        """The trial of one run."""
        params = {"epsilon": self.epsilon, "delta": self.delta}
        return self.trial(released, params | {"regularisation": regularisation})

    def trial(
        self, released: str, params: dict[str, Any], chosen_on: tuple[str, ...] = ("training",)
    ) -> Trial:
        """The trial of a mechanism on these records.

        Args:
          released: name of the mechanism.
          params: its parameters besides those that all mechanisms here have.
          chosen_on: the parts of the data that it reads, of each of which a neighbour may have one
            more record.
        """
        features = np.full((self.records, 1), self.feature)
        targets = np.full(self.records, self.target)
        data = {"features": features, "targets": targets}
        data |= {f"validation_{name}": each for name, each in data.items()}

        def made() -> Mechanism:
            from jaxsel.families.ridge_regression.line import binned_coefficient

            return binned_coefficient(released)

        def one_more():
            for part in chosen_on:
                prefix = "validation_" if part == "validation" else ""
                more = {
                    f"{prefix}features": np.append(features, [[1.0]], axis=0),
                    f"{prefix}targets": np.append(targets, -1.0),
                }
                why = f"one more record, which contradicts all others, among those of {part}"
                yield part, data, data | more, Relation.BASE, why

        of_all = {"records": self.records + 1, "edges": self.edges}
        return Trial(made, data, of_all | params, one_more)


@functools.lru_cache(maxsize=8)
def _calibration(epsilon: float, delta: float, mean: float, theorem: str):
    return calibrate_tuned(epsilon, delta, laws.geometric(1.0 / mean), theorem)


@mechanism("OUT-PERT", generic=f"{_GENERIC} regularisation=25")
def output_perturbation(
    *, line: _Line = _Line(), regularisation: Regularisation = 10.0, method: Method = "literal"
):
    """Ridge regression on the line plus Gaussian noise (after Chaudhuri, Monteleoni &
    Sarwate 2011)."""
    return line.untuned("output_perturbation", regularisation)


@mechanism("OPS-Balanced", generic=f"{_GENERIC} regularisation=25")
def balanced_posterior_sampling(
    *, line: _Line = _Line(), regularisation: Regularisation = 10.0, method: Method = "literal"
):
    """One posterior sample of ridge regression on the line, private for all data (Wang 2018)."""
    return line.untuned("balanced_posterior_sampling", regularisation)


@mechanism("OPS-PTR", "KRW-Sec6.1", generic=f"{_GENERIC} regularisation=2")
def posterior_sampling_ptr(
    *, line: _Line = _Line(), regularisation: Regularisation = 1.0, method: Method = "literal"
):
    """One posterior sample of ridge regression on the line behind a private test
    (Koskela, Redberg & Wang 2024, Section 6.1)."""
    return line.untuned("posterior_sampling_ptr", regularisation)


@mechanism("OPS-PTR-tuned", generic=f"{_GENERIC} regularisations=2,50 mean=3 theorem=JX-Envelope")
def tuned_posterior_sampling(
    *,
    line: _Line = _Line(),
    regularisations: Annotated[
        Any, numbers("lambda: what each run draws from", at_least=1e-3, at_most=1e9)
    ] = "3,30",
    mean: Annotated[float, number("E[K]", above=1.0, at_most=1000.0)] = 2,
    theorem: Theorem = "KRW-Cor6.2",
    method: Method = "literal",
):
    """The best of K posterior samples behind private tests, K geometric, each with a random
    regularisation (Koskela, Redberg & Wang 2024, Section 6.1)."""
    calibration = _calibration(line.epsilon, line.delta, mean, theorem)
    params = {"calibration": calibration, "regularisation": regularisations}
    return line.trial("tuned_posterior_sampling", params, chosen_on=("training", "validation"))
