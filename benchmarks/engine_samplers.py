"""jaxsel's own samplers as competitors: complete calls of ``simulate``."""

import itertools
from typing import Any

from benchmarks.timing import Sampler
from jaxsel.kernel.engine import Performance, simulate
from jaxsel.language.base import Mechanism

BLOCK = 8192


def simulated(mechanism: Mechanism, data: Any, params: Any) -> Sampler:
    """Trials of a mechanism by ``simulate``, with a fresh seed and all trials in one block call."""
    seeds = itertools.count(1)

    def run(trials: int):
        performance = Performance(BLOCK, trials // BLOCK)
        tallies = simulate(
            mechanism,
            data,
            params,
            trials=trials,
            seed=next(seeds),
            progress=False,
            performance=performance,
        )
        return tallies.values[0]

    law = None if mechanism.law is None else mechanism.law(data, params).probabilities
    return Sampler(run, BLOCK, law)
