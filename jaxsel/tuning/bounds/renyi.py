"""The best (epsilon, delta) guarantee of a tuned algorithm through its Renyi bounds."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.conversions import RenyiCurve, renyi_to_epsilon
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import InputError
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.approximate import thinned
from jaxsel.tuning.parameters import TunedDelta
from jaxsel.tuning.search_bounds import RENYI, Search, applicable


class TunedEpsilon(NamedTuple):
    """An epsilon of the tuned algorithm, with the theorem and the Renyi order that give it."""

    epsilon: float
    theorem: str
    order: float


def renyi_curves(
    base: BaseGuarantee, repetitions: Repetitions
) -> dict[str, Callable[[], RenyiCurve]]:
    """Every Renyi bound that applies: its name -> function that builds its curve."""
    search = Search(base, repetitions)
    found = {
        name: bound.prove(search).renyi
        for name, bound in applicable(search).items()
        if bound.states is RENYI
    }
    return {name: build for name, build in found.items() if build is not None}


@validated
def tuned_epsilon(
    base: BaseGuarantee,
    repetitions: Repetitions,
    delta: TunedDelta,
    *,
    theorems: Sequence[str] | None = None,
) -> TunedEpsilon:
    """Best epsilon at delta of running ``base`` K times and keeping the best output.

    Args:
      base: guarantee of one run; one with a core and a failure probability is treated
        by Lemma 20, and the ids then begin with "PS-Lem20+".
      repetitions: law of K.
      delta: where epsilon is taken.
      theorems: restrict the bounds to these ids of renyi_curves; all by default.

    Returns:
      The least epsilon over the bounds and over orders; inf if none applies at delta.

    Raises:
      InputError: if a named theorem does not apply.
    """
    prefix = ""
    if base.core is not None:
        thin = thinned(repetitions, base.failure)
        prefix = "PS-Lem20+"
        if delta < thin.delta:
            return TunedEpsilon(np.inf, "PS-Lem20", np.inf)
        # delta = thin.delta + (1 - thin.delta) times the delta of the good part
        delta = (delta - thin.delta) / (1.0 - thin.delta)
        base, repetitions = base.core, thin.repetitions
    curves = renyi_curves(base, repetitions)
    wanted = list(curves) if theorems is None else list(theorems)
    for name in wanted:
        if name not in curves:
            raise InputError(
                f"theorem {name!r} does not apply to {base.name} with "
                f"{repetitions.family} repetitions; choose among {', '.join(curves)}"
            )
    best = TunedEpsilon(np.inf, prefix + wanted[0], np.inf)
    for name in wanted:
        conversion = renyi_to_epsilon(curves[name](), delta)
        if conversion.epsilon < best.epsilon:
            best = TunedEpsilon(conversion.epsilon, prefix + name, conversion.order)
    return best
