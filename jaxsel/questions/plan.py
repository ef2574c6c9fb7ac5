"""``jaxsel.plan``: what to run for a privacy budget."""

import math
from collections.abc import Mapping
from typing import Any

from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError
from jaxsel.host.former_names import former_arguments
from jaxsel.language.default_delta import DELTA
from jaxsel.language.domains import positive
from jaxsel.language.parts import read_parts
from jaxsel.questions.released import search_cost
from jaxsel.tuning.drawn import INDEPENDENTLY, Drawn, read_drawn
from jaxsel.tuning.planning.alternatives import alternatives
from jaxsel.tuning.planning.attack_limit import ATTACK, AttackLimit, read_attack_limit
from jaxsel.tuning.planning.base_family import BaseFamily
from jaxsel.tuning.planning.budget import (
    Budget,
    Choice,
    accounted,
    badness,
    choices,
    read_budget,
    score_noise,
    with_mean,
)
from jaxsel.tuning.planning.named_laws import Fitted
from jaxsel.tuning.planning.optimal_choice import with_optimal
from jaxsel.tuning.planning.planned import Compute, Plan
from jaxsel.tuning.planning.wishes import MOST_MEAN, WINNER, read_wishes, utility

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
    """The choice at another noise, or at another E[K]; None if no law allowed has that E[K].

    Its epsilon is that of the choice: only one that is kept is accounted.
    """
    value = math.exp(log_value)
    if isinstance(budget.base, BaseFamily):
        run = budget.run(budget.base.rounded(value))
        return choice._replace(base=run.text, noise=run.noise)
    try:
        law = with_mean(choice, value)
    except InputError:
        return None
    wishes = budget.wishes
    allowed = wishes.afforded(law.law) and wishes.good_enough(law.law)
    if not allowed:
        return None
    reached = utility(law.law, wishes.good)
    return choice._replace(name=law.family, law=law.law, utility=reached)


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
    best = min(kept, key=lambda each: badness(budget, each))
    if best._replace(attack=first.attack) == first:
        return best
    law, run = Fitted(best.name, best.law), budget.run(best.noise)
    return accounted(law, run, budget, reached=best.attack)


_COMPUTE = {
    "compute": positive("that all runs may cost on average, in any unit"),
    "price": positive("of one run, in that unit", default=1.0),
}


def _read_compute(compute: object) -> Compute | None:
    """What all runs may cost, and one does; None if that is not limited.

    Raises:
      InputError: for a number out of range, or fewer than one run.
    """
    if compute is None:
        return None
    read = read_parts("compute", compute, _COMPUTE, first="compute")
    if "compute" not in read:
        raise InputError("compute has a price, and no number of what all runs may cost; give it")
    paid = read["compute"] / read["price"]
    if not 1.0 <= paid <= MOST_MEAN:
        raise InputError(
            f"compute is {read['compute']:g} at a price of {read['price']:g} a run, which are "
            f"{paid:g} runs; give 1 to {MOST_MEAN:g}"
        )
    return Compute(read["compute"], read["price"])


_FORMER = {
    **{part: f"attack.{part}" for part in ATTACK},
    **{part: f"winner.{part}" for part in WINNER},
    "price": lambda price: ("compute", {"price": None if price == 1.0 else price}),
}
"""Arguments until 0.2.0, which are parts of others now."""


@former_arguments(_FORMER, first={"compute": "compute"})
@one_blas_thread()
def plan(
    base: str,
    *,
    delta: float = DELTA,
    epsilon: float | None = None,
    attack: str | Mapping[str, float] | None = None,
    runs: float | None = None,
    runs_95: int | None = None,
    winner: str | Mapping[str, Any] | None = None,
    drawn: str | Drawn = INDEPENDENTLY,
    optimal: bool = False,
    compute: float | str | Mapping[str, float] | None = None,
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
      attack: in place of epsilon: what any attack that decides whether a record is in the data
        may gain. "advantage=0.1" is the largest true less false positive rate;
        "true_positive_rate=0.1,false_positive_rate=0.01" the largest of the one at the other.
      runs: the largest E[K] allowed.
      runs_95: number of runs that 95 searches of 100 do not exceed.
      winner: what is asked of it, such as "good=0.05,chance=0.9", or a mapping of these parts:
        good, the share of the candidates that counts as good; chance, the least probability that
        the winner is among these; rank, its largest expected rank, as a share from the top: 1 less
        its quantile; rank_of, in place of it a law of K whose winner is good enough; none, the
        largest probability that nothing is released.
      drawn: how candidates are drawn, as in ``jaxsel.search_cost``; only "independently" is
        planned for.
      optimal: also look for the law of K that costs least, which takes some ten seconds.
      compute: what all runs may cost on average, in any unit, in units of one run's price:
        limits ``runs``. "100:price=4" is a number, and what one run costs.

    Raises:
      InputError: for wishes that cannot be met, with the nearest that can, or numbers out
        of range.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.plan("gaussian", epsilon=3, runs=50, winner="good=0.05")
        >>> found.epsilon <= 3
        True
    """
    read_drawn(drawn).one_of("a plan", INDEPENDENTLY)
    spent = _read_compute(compute)
    if spent is not None:
        paid = spent.most / spent.price
        runs = paid if runs is None else min(runs, paid)
    limit = read_attack_limit(attack)
    wishes = read_wishes(runs=runs, runs_95=runs_95, winner=winner)
    budget = read_budget(base, delta, epsilon, wishes, limit)
    if limit is not None and optimal:
        raise InputError(
            "the law of K that costs least is looked for at an epsilon or for the least; it "
            "does not go with a limit on attacks"
        )
    found = choices(budget)
    if optimal:
        found = with_optimal(budget, found)
    if limit is not None:
        found[0] = _settled(budget, limit, found[0])
    chosen, noise = found[0], math.nan
    if limit is not None:
        noise = score_noise(budget, chosen.law, limit.delta)
    elif budget.delta > 0.0 and (budget.epsilon or chosen.epsilon):
        # What was allowed, or what the plan costs.
        noise = score_noise(budget, chosen.law, max(budget.epsilon or 0.0, chosen.epsilon))
    others = alternatives(budget, chosen)
    return Plan(budget, chosen.epsilon, chosen, noise, tuple(found), tuple(others), spent)
