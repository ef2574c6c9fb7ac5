"""The catalogue entry of objective perturbation: equal records, and one that contradicts them."""

from typing import Annotated, Any

import numpy as np

from jaxsel.families.private_training import objective_laws as laws
from jaxsel.families.private_training import parameters
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import number, numbers, whole
from jaxsel.language.entry import mechanism
from jaxsel.language.trial import Trial


@mechanism(
    "JX-ObjPert-logistic",
    "JX-ObjPert-linear",
    generic=(
        "records=90 feature=0.3 target=0.9 noise_multiplier=1.7 regularisation=0.8 "
        "edges=-3.5,-1,0.3,1.1,2.4 loss=huber"
    ),
)
def objective_perturbation(
    *,
    records: Annotated[int, whole("how many", at_least=0, at_most=1_000_000)] = 200,
    feature: Annotated[float, number("of each record", at_least=-1.0, at_most=1.0)] = 0.05,
    target: Annotated[
        float, number("of each record; its sign is the label", at_least=-10.0, at_most=10.0)
    ] = -1.0,
    noise_multiplier: parameters.LinearNoise = 1.0,
    regularisation: Annotated[float, number("lambda", at_least=1e-2, at_most=1e4)] = 0.5,
    edges: Annotated[Any, numbers("bins of the minimum, increasing")] = "-12,-10,-8,-6,-4,-2,0,2",
    loss: parameters.Loss = "logistic",
    method: Annotated[str, methods(*parameters.OBJECTIVE_METHODS)] = "gradient",
):
    """Fit a generalised linear model with one parameter by objective perturbation (Kifer, Smith &
    Thakurta 2012); it is (epsilon, delta)-DP by JX-ObjPert-logistic and JX-ObjPert-linear, with no
    pure epsilon."""

    def made():
        from jaxsel.families.private_training.objective_perturbation import objective_perturbation

        return objective_perturbation(loss, method)

    given = _label(target) if loss == "logistic" else target
    # The additional record of the neighbour stands here with count 0, so that shapes are equal.
    data = laws.line((feature, given, records), (1.0, -_label(target), 0))
    params = {
        "noise_multiplier": noise_multiplier,
        "regularisation": regularisation,
        "edges": edges,
    }

    def one_more():
        more = data._replace(counts=np.add(data.counts, [0.0, 1.0]))
        yield "record", data, more, Relation.BASE, "one more record, which contradicts all others"

    return Trial(made, data, params, one_more)


def _label(target: float) -> float:
    """The label of a target: 1 above 0, else -1."""
    return 1.0 if target > 0.0 else -1.0
