"""What it takes to prove an epsilon, where nothing can be proved.

With probability ``failure`` one run tells its data sets apart, and a ranking may prefer
such runs: then so does the best of K with probability 1 - f(1 - failure), and no epsilon
is finite at a smaller delta. At that delta one is proved (Papernot & Steinke 2022, Lemma
20), or at E[K] failure (the envelope bound) for a law of K that the lemma does not cover
in closed form.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.errors import InputError
from jaxsel.families.tuning.bounds.approximate import thinned
from jaxsel.repetitions import Repetitions


class Needed(NamedTuple):
    """What would do.

    Attributes:
      failure: probability that one run tells its data sets apart; 0 for a base that is
        not pure, at delta = 0.
      delta: the least at which an epsilon is proved for this base and law.
      run: the largest failure of a run with which one is proved at the delta asked for.
    """

    failure: float
    delta: float
    run: float


def _singular(base: BaseGuarantee) -> float:
    if base.failure > 0.0:
        return base.failure
    if base.pairs is None:
        return 0.0
    return max(float(np.sum(p.first[p.loss == math.inf])) for p in base.pairs())


def _least(law: Repetitions, base: BaseGuarantee) -> Callable[[float], float]:
    """failure -> the least delta with a proof, increasing."""
    try:
        thinned(law, 0.5)
    except InputError:
        return lambda failure: law.mean * failure
    if base.core is None:
        return lambda failure: law.mean * failure
    return lambda failure: float(law.pgf_gap(failure))


def needed(base: BaseGuarantee, law: Repetitions, delta: float) -> Needed | None:
    """What is needed for a finite epsilon at delta; None if that is not known.

    Args:
      base: guarantee of one run.
      law: of K.
      delta: at which no bound is finite.
    """
    failure = _singular(base)
    # With a Renyi bound every delta > 0 has an epsilon, whatever a profile cut off.
    if delta == 0.0 and (failure == 0.0 or np.isfinite(base.renyi(np.asarray(2.0)))):
        return Needed(0.0, 0.0, 0.0)
    if failure == 0.0:
        return None
    least = _least(law, base)
    if delta >= least(failure):
        return None
    low, high = 0.0, failure
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if least(middle) <= delta else (low, middle)
    return Needed(failure, least(failure), low)
