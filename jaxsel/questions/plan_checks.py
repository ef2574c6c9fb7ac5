"""Checks a plan: simulates its law of K, and audits its search."""

import math
from typing import NamedTuple

import numpy as np

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.dominating import DominatingPair
from jaxsel.auditing.audit import audit
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel.tallies import Tallies
from jaxsel.language.base import Pair, Relation
from jaxsel.tuning.planning.planned import Plan, single_run

_ATOMS = 24  # outcomes of the base that is audited
_DEFAULT_GOOD = 0.05
_ALARM = 1e-6  # probability that a correct plan fails its check


class PlanCheck(NamedTuple):
    """What simulated searches say of a plan.

    Attributes:
      trials: number of simulated searches, and of trials on either side of the audit.
      good: share of the candidates that counts as good.
      hits: share of the searches whose winner is good.
      low, high: confidence interval of the probability that a winner is good, which misses
        it with probability 1e-6.
      exact: that probability by the law of K.
      audited: 95 % lower bound on epsilon, at the plan's delta, of the search over a base
        of 24 outcomes with the run's guarantee, those of larger privacy loss ranking higher.
      epsilon: the epsilon that is proved.
      passed: whether ``exact`` lies in the interval and ``audited`` below ``epsilon``.
    """

    trials: int
    good: float
    hits: float
    low: float
    high: float
    exact: float
    audited: float
    epsilon: float
    passed: bool

    def sentence(self) -> str:
        """What was simulated and audited, in words."""
        return (
            f"Simulated: of {self.trials} searches {self.hits:.4g} hit the best "
            f"{self.good:g} (exact {self.exact:.4g}). Audited: epsilon is at least "
            f"{self.audited:.4g}, and {self.epsilon:.4g} is proved. "
            + ("Both are as they should be." if self.passed else "THAT IS WRONG.")
        )


def check_plan(found: Plan, *, trials: int = 100_000, seed: int = 0) -> PlanCheck:
    """Simulates the search of a plan, and audits it.

    Args:
      found: the plan.
      trials: number of searches, and of trials on each side of the audit.
      seed: the seed of the simulation.

    Raises:
      InputError: if trials is below 2, or no pair is known that has the base's guarantee.
    """
    from jaxsel.families.private_tuning.bases import finite
    from jaxsel.families.private_tuning.private_tuning import private_tuning
    from jaxsel.kernel.engine import simulate
    from jaxsel.kernel.repetition_sampling import RANK_FAMILIES

    law = found.chosen.law
    method = "rank" if law.family in RANK_FAMILIES else "count"
    mechanism = private_tuning(finite(), law.family, method=method)
    params = {"repetitions": law}
    good = found.budget.wishes.good or _DEFAULT_GOOD
    tallies: Tallies = simulate(
        mechanism, np.array([good, 1.0 - good]), params, trials=trials, seed=seed, progress=False
    )
    hits = int(np.ravel(tallies.values)[0])
    low, high = (float(end) for end in clopper_pearson(hits, trials, 1.0 - _ALARM))
    exact = float(law.pgf_gap(good))
    pair = _pair(single_run(found), params)
    audited = audit(
        mechanism, pair, trials=trials, delta=found.budget.delta, seed=seed, progress=False
    )
    passed = low <= exact <= high and audited.bound.lower <= found.epsilon
    return PlanCheck(
        trials, good, hits / trials, low, high, exact, audited.bound.lower, found.epsilon, passed
    )


def _pair(base: BaseGuarantee, params: dict) -> Pair:
    # A pair that attains the guarantee, not one that dominates it: a dominating pair may
    # have a larger epsilon than is proved.
    attaining = base.attaining()
    if not attaining:
        raise InputError(
            f"no pair of laws is known that has the guarantee of {base.name}, and none is audited"
        )
    coarse = [_coarse(pair) for pair in attaining]
    first, second = max(coarse, key=lambda laws: float(np.max(laws[0] - laws[1])))
    why = "the worst pair of one run in few outcomes, the largest losses first"
    return Pair("worst-run", first, second, Relation.BASE, params, why)


def _coarse(pair: DominatingPair) -> tuple[np.ndarray, np.ndarray]:
    """Post-processes a pair: its two laws on a few classes of the loss, largest loss first."""
    order = np.argsort(-pair.loss, kind="stable")
    first, second = pair.first[order], pair.second[order]
    # Classes that are equal steps in the logit of the tail of P.
    tail = np.clip(np.cumsum(first), 1e-12, 1.0 - 1e-12)
    steps = np.linspace(-12.0, 12.0, _ATOMS - 1)
    number = np.searchsorted(steps, np.log(tail / (1.0 - tail)))
    coarse = [np.bincount(number, masses, _ATOMS) for masses in (first, second)]
    for masses in coarse:
        masses[-1] += max(0.0, 1.0 - math.fsum(masses))  # the mass that the pair truncates
        masses /= math.fsum(masses)
    return coarse[0], coarse[1]
