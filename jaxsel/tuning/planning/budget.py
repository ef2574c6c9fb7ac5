"""Plans a search within a budget: the noise of one run and the law of K.

Two of epsilon, the noise of one run and the number of runs are given, the third is found.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

from jaxsel.accounting.single_run.curves import BaseGuarantee, gaussian
from jaxsel.host.errors import InputError
from jaxsel.language.domains import number
from jaxsel.repetitions import Repetitions, from_mean
from jaxsel.tuning.accountant import proven_deltas, proven_epsilons
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.planning.attack_limit import AttackLimit
from jaxsel.tuning.planning.base_family import BaseFamily, least_noise, open_base
from jaxsel.tuning.planning.named_laws import FAMILIES, Fitted, fitted, most_runs, most_runs_at
from jaxsel.tuning.planning.wishes import Utility, Wishes, rank_reached, utility
from jaxsel.tuning.proofs import Proof

_MATTER = 2.0  # times the least delta: what is proved by theorems that may prove the least one
_QUICK = 2048  # points of the envelope during the search; it is still an upper bound
_EPSILON = number("of the search", above=0.0)
_DELTA = number("of the search", at_least=0.0, below=1.0)


class Choice(NamedTuple):
    """One way to spend the budget.

    Attributes:
      name: the family of its law of K, or a description.
      base: one run, as text.
      noise: value of the base's open setting; NaN if none was open.
      law: the law of K.
      epsilon: proven epsilon of the search at the plan's delta.
      theorem: the theorem that proves it.
      utility: the expected utility.
      attack: proven bound on the advantage or true positive rate that the plan limits; NaN
        if it limits neither.
    """

    name: str
    base: str
    noise: float
    law: Repetitions
    epsilon: float
    theorem: str
    utility: Utility
    attack: float = math.nan


class Run(NamedTuple):
    """One run: its guarantee, its text, and its noise if that was open, else NaN."""

    base: BaseGuarantee
    text: str
    noise: float


class Budget(NamedTuple):
    """The input of a plan.

    Attributes:
      base: one run as a function of the open noise, or the run itself.
      text: of the base, as it was given.
      delta: of the search.
      epsilon: of the search; None to find the least, or where attacks are limited.
      wishes: for the law of K.
      attack: the most that any attack may reach; None if that is not limited.
    """

    base: BaseFamily | BaseGuarantee
    text: str
    delta: float
    epsilon: float | None
    wishes: Wishes
    attack: AttackLimit | None = None

    @property
    def most(self) -> float | None:
        """What a search may cost; None to find the least epsilon."""
        return self.epsilon if self.attack is None else self.attack.delta

    def proved(self, guarantee: BaseGuarantee | Proof) -> float:
        """What a release costs: epsilon at delta, or delta where attacks are limited."""
        if self.attack is None:
            return guarantee.epsilon(self.delta)
        return float(guarantee.delta(self.attack.epsilon))

    def cost(self, base: BaseGuarantee, law: Repetitions) -> float:
        """An upper bound on what a search costs, near the best one."""
        return self.costs(law)(base)

    def costs(self, law: Repetitions) -> Callable[[BaseGuarantee], float]:
        """``cost`` of searches that differ in their runs alone."""
        if self.attack is None:
            return lambda base: quick_epsilon(base, law, self.delta)
        return _AttackCost(law, self.attack.epsilon)

    def run(self, noise: float) -> Run:
        """One run with this noise if the noise is open, else the given run."""
        if isinstance(self.base, BaseFamily):
            return Run(self.base.at(noise), self.base.written(noise), noise)
        return Run(self.base, self.text, math.nan)

    def least_run(self, cost: Callable[[BaseGuarantee], float], near: float = math.nan) -> Run:
        """The run with the least noise whose cost is at most ``most``, if the noise is open.

        Args:
          cost: of a run.
          near: a noise that may be near; NaN if none is known.

        Raises:
          InputError: if the cost exceeds epsilon even at the largest noise.
        """
        if not isinstance(self.base, BaseFamily):
            return self.run(math.nan)
        assert self.most is not None  # or read_budget had refused
        return self.run(least_noise(self.base, cost, self.most, self.attack, near))


class _AttackCost:
    """The least proven delta at an epsilon, of searches that differ in their runs alone.

    The first one says which theorems matter for the others.

    Args:
      law: of K.
      epsilon: where delta is proved.
    """

    def __init__(self, law: Repetitions, epsilon: float) -> None:
        self._law, self._epsilon = law, epsilon
        self._only: list[str] = []

    def __call__(self, base: BaseGuarantee) -> float:
        """The least proven delta."""
        found = proven_deltas(base, self._law, self._epsilon, only=self._only)
        if not self._only:
            names = [each.theorem for each in found if each.delta <= _MATTER * found[0].delta]
            # Where the envelope is priced, it proves no more than its price.
            priced = any(name.endswith("JX-Priced") for name in names)
            self._only = [name for name in names if not (priced and name.endswith("JX-Envelope"))]
        return found[0].delta


def quick_epsilon(base: BaseGuarantee, law: Repetitions, delta: float) -> float:
    """An upper bound on epsilon close to the best one, computed in hundredths of a second."""
    if base.core is not None or delta == 0.0:
        return proven_epsilons(base, law, delta)[0].epsilon
    return envelope_epsilon(base_envelopes(base, law, count=_QUICK), delta)


def read_budget(
    base: str,
    delta: float,
    epsilon: float | None,
    wishes: Wishes,
    attack: AttackLimit | None = None,
) -> Budget:
    """Parses a budget: two of epsilon, the noise and the runs, or all three.

    Args:
      base: one run, as text, with or without its noise.
      delta, epsilon: of the search; None for the epsilon that follows from the others.
      wishes: how far the search may go, and what is asked of its winner.
      attack: a limit on attacks, in place of epsilon.

    Raises:
      InputError: if two of them are missing, or epsilon and a limit on attacks are given.
    """
    delta = _DELTA.read("delta", delta)
    epsilon = None if epsilon is None else _EPSILON.read("epsilon", epsilon)
    if epsilon is not None and attack is not None:
        raise InputError(f"give an epsilon or {attack.of(attack.most)}, not both")
    unlimited = epsilon is None and attack is None
    run = open_base(base)
    open_noise, bounded = isinstance(run, BaseFamily), _bounded(wishes)
    if open_noise and unlimited:
        raise InputError(
            f"base {base!r} leaves {run.name} open, and there is no epsilon; give one of the two"
        )
    if open_noise and not bounded:
        raise InputError(
            f"base {base!r} leaves {run.name} open, and nothing says how far the search "
            "may go; give runs, runs_95, rank, or good with a chance"
        )
    if not open_noise and unlimited and not bounded:
        raise InputError(
            "neither an epsilon is given nor how far the search may go; give one of them"
        )
    # If the winner is optimised, a default wish for its quality is not needed.
    if bounded and not wishes.asks_for_quality and (open_noise or unlimited):
        wishes = wishes._replace(rank=rank_of_geometric(wishes))
    return Budget(run, base, delta, epsilon, wishes, attack)


def _bounded(wishes: Wishes) -> bool:
    return wishes.runs is not None or wishes.runs_95 is not None or wishes.asks_for_quality


def rank_of_geometric(wishes: Wishes) -> float:
    """The default wish for quality: the rank of the affordable geometric K."""
    found = fitted("geometric", wishes)
    if found is None:
        raise InputError("no geometric law of K runs so little; take more runs or a larger runs_95")
    return rank_reached(found.law)


def choices(budget: Budget) -> list[Choice]:
    """The best law of each named family, the best choice first.

    Raises:
      InputError: if no family meets the wishes.
    """
    base, epsilon, delta = budget.base, budget.epsilon, budget.delta
    found = []
    for family in FAMILIES:
        if isinstance(base, BaseFamily) or budget.most is None:
            law = fitted(family, budget.wishes)
        elif epsilon is None:
            law = most_runs_at(
                family, budget.wishes, functools.partial(budget.cost, base), budget.most
            )
        else:
            law = most_runs(
                family, budget.wishes, functools.partial(_affordable, base, delta, epsilon)
            )
        if law is not None:
            found.append(with_least_noise(law, budget))
    if not found:
        raise InputError(_nothing(budget))
    return sorted(found, key=functools.partial(badness, budget))


def _affordable(base: BaseGuarantee, delta: float, epsilon: float, law: Repetitions) -> bool:
    return quick_epsilon(base, law, delta) <= epsilon


def badness(budget: Budget, choice: Choice) -> float:
    """The quantity that a plan minimises: noise, epsilon, or the probability of a bad winner."""
    if isinstance(budget.base, BaseFamily):
        return choice.noise if budget.base.more_is_more_private else -choice.noise
    if budget.most is None:
        return choice.epsilon
    expected = choice.utility
    return -(expected.expected_quantile if math.isnan(expected.hit) else expected.hit)


def _nothing(budget: Budget) -> str:
    """An error that explains why no choice is left, and what would be possible."""
    wishes, base = budget.wishes, budget.base
    if budget.attack is not None and not isinstance(base, BaseFamily):
        one = budget.proved(base)
        if one > budget.attack.delta:
            return (
                f"{budget.attack.of(budget.attack.most)} is allowed, and one run alone "
                f"allows {budget.attack.reached(one):.4g}; allow more than that, or take more "
                "noise"
            )
    if budget.epsilon is not None and not isinstance(base, BaseFamily):
        one = base.epsilon(budget.delta)
        if one > budget.epsilon:
            return (
                f"epsilon is {budget.epsilon:g}, and one run alone costs {one:.4g} at "
                f"delta = {budget.delta:g}; take epsilon above that, or more noise"
            )
    if wishes.asks_for_quality:
        # With few runs the K of least variance reaches the best quality.
        law = fitted("poisson", wishes._replace(runs=None, runs_95=None))
        if law is not None:
            needed = utility(law.law, wishes.good)
            return (
                "no law of K with a name is as good and runs so little; Poisson K is from "
                f"runs = {needed.mean_runs:.4g} with runs-95 = {needed.runs_95} on"
            )
    return "no law of K with a name meets these wishes; relax one of them"


def with_least_noise(law: Fitted, budget: Budget, near: float = math.nan) -> Choice:
    """The best of K runs, with the least noise that keeps the budget if noise is open.

    Args:
      law: of K, and its family.
      budget: of the plan.
      near: the noise of a choice that resembles it; NaN if none is known.
    """
    cost = budget.costs(law.law)
    run = budget.least_run(cost, near)
    reached = None if budget.attack is None else budget.attack.reached(cost(run.base))
    return accounted(law, run, budget, reached=reached)


def accounted(law: Fitted, run: Run, budget: Budget, *, reached: float | None = None) -> Choice:
    """A law of K and a run as a choice of the plan, with their least proven epsilon.

    Args:
      law: of K, and its family.
      run: one run.
      budget: of the plan.
      reached: what is proved of attacks, where that is known.
    """
    found = proven_epsilons(run.base, law.law, budget.delta)[0]
    limit = budget.attack
    if reached is None:
        reached = math.nan if limit is None else limit.reached(budget.cost(run.base, law.law))
    return Choice(
        law.family,
        run.text,
        run.noise,
        law.law,
        found.epsilon,
        found.theorem,
        utility(law.law, budget.wishes.good),
        reached,
    )


def score_noise(budget: Budget, law: Repetitions, most: float) -> float:
    """Standard deviation of the noise on a count that scores a run.

    One person is in the training part or in the validation part, so that the search
    costs the larger of two totals (Liu & Talwar 2019, Section 5.1); this noise makes the
    second at most what is allowed, too.

    Args:
      budget: of the plan.
      law: of K.
      most: that the search may cost.
    """
    searched = budget.base.searched if isinstance(budget.base, BaseFamily) else None
    known = {1.0: gaussian(1.0)}
    family = BaseFamily("gaussian", "noise_multiplier", True, known, [*(searched or [])])
    return least_noise(family, budget.costs(law), most, budget.attack)


def with_mean(choice: Choice, mean: float) -> Fitted:
    """The law of the same family with another E[K].

    Raises:
      InputError: if there is none.
    """
    if choice.name in FAMILIES:
        return Fitted(choice.name, FAMILIES[choice.name](mean))
    return Fitted("geometric", from_mean("geometric", mean))
