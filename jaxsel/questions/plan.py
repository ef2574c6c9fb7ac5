"""``jaxsel.plan``: what to run for a privacy budget."""

import math

from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError, check_positive
from jaxsel.language.default_delta import DELTA
from jaxsel.questions.released import search_cost
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.planning.alternatives import alternatives
from jaxsel.tuning.planning.attack_limit import AttackLimit, read_attack_limit
from jaxsel.tuning.planning.base_family import BaseFamily
from jaxsel.tuning.planning.named_laws import Fitted
from jaxsel.tuning.planning.optimal_choice import with_optimal
from jaxsel.tuning.planning.plan import (
    Budget,
    Choice,
    accounted,
    badness,
    choices,
    read_budget,
    score_noise,
    with_mean,
)
from jaxsel.tuning.planning.planned import Compute, Plan
from jaxsel.tuning.planning.wishes import MOST_MEAN, read_wishes

_TRIES = 6
_CLOSE = 1e-3  # relative tolerance on the limit of what an attack gains
_MORE_RUNS = 0.3  # mu of a search grows about as this power of E[K]


def _reached(budget: Budget, limit: AttackLimit, choice: Choice) -> float:
    """The advantage, or the true positive rate, that ``jaxsel.search_cost`` proves for a choice."""
    search = search_cost(budget.run(choice.noise).base, choice.law)
    if limit.false_positive_rate is None:
        return search.advantage()
    return search.true_positive_rate(limit.false_positive_rate)


def _varied(choice: Choice) -> float:
    """The number that is adjusted: the noise if it is to be found, else E[K]."""
    return choice.law.mean if math.isnan(choice.noise) else choice.noise


def _moved(budget: Budget, choice: Choice, log_value: float) -> Choice | None:
    """The choice at another noise, or at another E[K]; None if no law allowed has that E[K]."""
    value = math.exp(log_value)
    if isinstance(budget.base, BaseFamily):
        run = budget.run(budget.base.rounded(value))
        return accounted(Fitted(choice.name, choice.law), run, budget)
    try:
        law = with_mean(choice, value)
    except InputError:
        return None
    wishes = budget.wishes
    allowed = wishes.afforded(law.law) and wishes.good_enough(law.law)
    return accounted(law, budget.run(math.nan), budget) if allowed else None


def _settled(budget: Budget, limit: AttackLimit, first: Choice) -> Choice:
    """A choice with the least noise, or the largest E[K], that keeps the limit on attacks.

    The first choice follows from the bound at a single epsilon. Here the limit is compared
    with what is proved at all epsilons.

    Raises:
      InputError: if no choice near the first one keeps the limit.
    """
    base, slope = budget.base, _MORE_RUNS
    if isinstance(base, BaseFamily):
        slope = -1.0 if base.more_is_more_private else 1.0
    slope *= limit.steepness
    tried: dict[float, float] = {}
    kept: list[Choice] = []
    choice = first
    for _ in range(_TRIES):
        at = math.log(_varied(choice))
        if at in tried:
            break
        reached = _reached(budget, limit, choice)
        gain, allowed = reached - limit.chance, limit.most - limit.chance
        excess = math.log(max(gain, 1e-12) / allowed)
        if reached <= limit.most:
            kept.append(choice._replace(attack=reached))
            if excess >= -_CLOSE:
                break
        for other, its in tried.items():
            secant = (its - excess) / (other - at)
            slope = secant if secant * slope > 0.0 else slope
        tried[at] = excess
        moved = _moved(budget, choice, at - (excess + 0.5 * _CLOSE) / slope)
        if moved is None:
            break
        choice = moved
    if not kept:
        raise InputError(
            f"{limit.of(limit.most)} is not proved near where it should be; take a larger one"
        )
    return min(kept, key=lambda each: badness(budget, each))


@one_blas_thread()
def plan(
    base: str,
    *,
    delta: float = DELTA,
    epsilon: float | None = None,
    advantage: float | None = None,
    true_positive_rate: float | None = None,
    false_positive_rate: float | None = None,
    runs: float | None = None,
    runs_95: int | None = None,
    rank: float | None = None,
    rank_of: str | Repetitions | None = None,
    good: float | None = None,
    chance: float | None = None,
    none: float | None = None,
    optimal: bool = False,
    compute: float | None = None,
    price: float = 1.0,
) -> Plan:
    """What to run for a budget: the noise of one run, the law of K, the noise on scores.

    Of epsilon, the noise of a run and the runs, two are given and one is found: the least
    noise, the least epsilon, or the law with the best winner (if all are given, within
    both limits). In place of epsilon, an attacker's advantage may be limited, or the true
    positive rate at a false positive rate: as ``search_cost(base, law)`` proves them at every
    epsilon. Where nothing is asked of the winner, it has to be as good, in expected rank,
    as that of a geometric K with the runs that are allowed.

    Args:
      base: one run, as for ``account``; its noise is left out to be found, as in
        "dp_sgd:dataset_size=60000,batch_size=600,epochs=60" or "gaussian".
      delta: of the search, in [0, 1).
      epsilon: of the search; None to find the least.
      advantage: in place of epsilon: the largest true less false positive rate allowed to
        any attack that decides whether a record is in the data.
      true_positive_rate: in place of epsilon: the largest true positive rate allowed to
        any attack at ``false_positive_rate``, which has to be given, too.
      runs: the largest E[K] allowed.
      runs_95: number of runs that 95 searches of 100 do not exceed.
      rank: the largest expected rank of the winner, as a share from the top: 1 less its
        quantile.
      rank_of: in place of rank: a law of K whose winner is good enough.
      good: share of the candidates that counts as good.
      chance: the least probability that the winner is among these.
      none: the largest probability that nothing is released.
      optimal: also look for the law of K that costs least, which takes some ten seconds.
      compute: what all runs may cost on average, in any unit: limits ``runs``.
      price: the cost of one run, in the unit of ``compute``.

    Raises:
      InputError: for wishes that cannot be met, with the nearest that can, or numbers out
        of range.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.plan("gaussian", epsilon=3, runs=50, good=0.05)
        >>> found.epsilon <= 3
        True
    """
    check_positive("price", price)
    if compute is not None:
        paid = check_positive("compute", compute) / price
        if not 1.0 <= paid <= MOST_MEAN:
            raise InputError(
                f"compute is {compute:g} at a price of {price:g} a run, which are {paid:g} runs; "
                f"give 1 to {MOST_MEAN:g}"
            )
        runs = paid if runs is None else min(runs, paid)
    attack = read_attack_limit(advantage, true_positive_rate, false_positive_rate)
    wishes = read_wishes(
        runs=runs, runs_95=runs_95, rank=rank, rank_of=rank_of, good=good, chance=chance, none=none
    )
    budget = read_budget(base, delta, epsilon, wishes, attack)
    if attack is not None and optimal:
        raise InputError(
            "the law of K that costs least is looked for at an epsilon or for the least; it "
            "does not go with a limit on attacks"
        )
    found = choices(budget)
    if optimal:
        found = with_optimal(budget, found)
    if attack is not None:
        found[0] = _settled(budget, attack, found[0])
    chosen, noise = found[0], math.nan
    if attack is not None:
        noise = score_noise(budget, chosen.law, attack.delta)
    elif budget.delta > 0.0 and (budget.epsilon or chosen.epsilon):
        # What was allowed, or what the plan costs.
        noise = score_noise(budget, chosen.law, max(budget.epsilon or 0.0, chosen.epsilon))
    others = alternatives(budget, chosen)
    spent = None if compute is None else Compute(compute, price)
    return Plan(budget, chosen.epsilon, chosen, noise, tuple(found), tuple(others), spent)
