"""Conditions under which an epsilon can be proved, where none is finite.

With probability ``failure`` one run distinguishes its data sets, and a ranking may prefer
such runs: then the best of K does so with probability 1 - f(1 - failure), and no epsilon is
finite at a smaller delta. At that delta one is proved (Papernot & Steinke 2022, Lemma
20), or at E[K] failure (the envelope bound) for a law of K that the lemma does not cover
in closed form. Several releases fail if one of them does.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.approximate import good_part


class Needed(NamedTuple):
    """Sufficient conditions for a finite epsilon.

    Attributes:
      failure: probability that one run distinguishes its data sets, the largest over all
        bases; 0 if none does, but a run is not purely private, at delta = 0.
      delta: the least delta at which an epsilon is proved.
      run: the largest failure of a run for which an epsilon is proved at the given delta.
      possible: below this delta no bound can prove an epsilon.
    """

    failure: float
    delta: float
    run: float
    possible: float = 0.0


# (base, law of K if the best of K runs is released, number of such releases).
_Released = tuple[BaseGuarantee, Repetitions | None, int]
_ROUNDING = 1e-9  # relative error of sums over the law of K


def _singular(base: BaseGuarantee) -> float:
    if base.failure > 0.0:
        return base.failure
    return max(float(np.sum(p.first[p.loss == math.inf])) for p in base.pairs())


def _has_renyi(base: BaseGuarantee) -> bool:
    """Whether every delta > 0 has an epsilon, even if the profile was truncated."""
    return bool(np.isfinite(base.renyi(np.asarray(2.0))))


def _gap(law: Repetitions | None) -> Callable[[float], float]:
    """failure -> probability that the best of K runs fails, if failing runs rank best."""
    if law is None:
        return lambda failure: failure
    return lambda failure: float(law.pgf_gap(failure))


def _least(law: Repetitions | None, base: BaseGuarantee) -> Callable[[float], float]:
    """failure -> the least delta with a proof; increasing."""
    if law is None or good_part(base, law) is not None:
        return _gap(law)
    return lambda failure: law.mean * failure


def least_delta(base: BaseGuarantee, law: Repetitions | None) -> float:
    """The least delta at which an epsilon of a release is proved; 0 if it cannot fail.

    Args:
      base: guarantee of one run.
      law: of K, if the best of K runs is released; None if one run is.
    """
    return _least(law, base)(base.failure) if base.failure > 0.0 else 0.0


def _any_failure(each: Sequence[tuple[float, int]]) -> float:
    """Probability that some release fails, given (probability, number of releases) pairs."""
    if any(chance >= 1.0 for chance, _ in each):
        return 1.0
    return -math.expm1(sum(times * math.log1p(-chance) for chance, times in each))


def needed(base: BaseGuarantee, law: Repetitions, delta: float) -> Needed | None:
    """The conditions for a finite epsilon at delta; None if they are not known.

    Args:
      base: guarantee of one run.
      law: the law of K.
      delta: a delta at which no bound is finite.
    """
    return needed_composed([(base, law, 1)], delta)


def needed_composed(releases: Sequence[_Released], delta: float) -> Needed | None:
    """The conditions for a finite epsilon of several releases; None if they are not known.

    Args:
      releases: (base, law of K if the best of K runs is released, number of such releases).
      delta: of the composition.
    """
    failures = [_singular(base) for base, _, _ in releases]
    failure = max(failures)
    if delta == 0.0 and (failure == 0.0 or all(_has_renyi(base) for base, _, _ in releases)):
        return Needed(0.0, 0.0, 0.0)
    if failure == 0.0:
        return None
    leasts = [_least(law, base) for base, law, _ in releases]

    def least(most: float) -> float:
        return _any_failure(
            [
                (solve(min(each, most)), times)
                for solve, each, (_, _, times) in zip(leasts, failures, releases, strict=True)
            ]
        )

    if delta >= least(failure):
        return None
    certain = [
        # Mass that a profile truncates may be covered by a Renyi bound.
        (float(_gap(law)(each if base.failure or not _has_renyi(base) else 0.0)), times)
        for each, (base, law, times) in zip(failures, releases, strict=True)
    ]
    possible = (1.0 - _ROUNDING) * _any_failure(certain)
    low, high = 0.0, failure
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if least(middle) <= delta else (low, middle)
    return Needed(failure, least(failure), low, possible)
