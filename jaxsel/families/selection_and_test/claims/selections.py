"""Cohen et al. 2022, Theorem 1: several Selections of several candidates with one p.

Its delta is to be summed over all calls (R-CL-2).
"""

import numpy as np
import numpy.typing as npt

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.selection_and_test.bounds import interaction_epsilon
from jaxsel.families.selection_and_test.laws import (
    SelectionCall,
    prior,
    repeated_selection_law,
    transcript_law,
)
from jaxsel.families.selection_and_test.parameters import BaseDelta, Calls, Epsilon, Gamma, Rounds
from jaxsel.language.base import Relation
from jaxsel.language.checking import drawn, grid, listed
from jaxsel.language.papers import CL
from jaxsel.tuning.attained.exact_laws import tuned_law

_GAMMAS = (0.5, 1.0, 2.0)


# --- Pure -----------------------------------------------------------------------------


@CL.privacy("CL-Thm1-calls", "Theorem 1", Relation.BASE)
def pure(*, epsilon: Epsilon = 1.0, gamma: Gamma = 1.0, calls: Calls = 2) -> float:
    """c adaptive calls of Selection, each of any number of epsilon-DP candidates, are (2 c + gamma)
    epsilon-DP."""
    return interaction_epsilon(epsilon, gamma, calls)


def by_parity(outcomes: tuple):
    """An adaptive caller: what is called next depends on all that was seen."""
    return sum(outcomes) % 2


def _random_calls(
    generator: np.random.Generator, epsilon: float, calls: int
) -> tuple[list[SelectionCall], list[SelectionCall]]:
    """Random Selections of up to 3 candidates and two branches, on two neighbouring data sets."""
    sides = [], []
    for _ in range(calls):
        candidates, size = generator.integers([1, 2], [4, 5]).tolist()
        found = [pairs.random_pure_pair(generator, size, epsilon) for _ in range(2 * candidates)]
        rounds = generator.choice([1, 2, 7, 50, 1000], candidates)
        for side, rows in zip(sides, zip(*found, strict=True), strict=True):
            side.append(SelectionCall(np.stack(rows).reshape(2, candidates, size), rounds))
    return sides


@pure.bounds()
def random_selections(budget):
    for calls in (1, 2, 4):
        for rounds in (3, 100, 10_000):
            pair = pairs.three_outcome(1.0, 0.2, 1e-6)
            found = [repeated_selection_law(side, rounds, 0.5, calls) for side in pair]
            where = f"pairs.three_outcome(1, 0.2, 1e-6), {rounds=}"
            point = {"epsilon": 1.0, "gamma": 0.5, "calls": calls}
            yield point, exact_epsilon(*found), where
    for case, generator in enumerate(budget.draws(90)):
        epsilon, calls = generator.uniform(0.05, 2.0), 1 + case % 3
        gamma = float(generator.choice(_GAMMAS))
        sides = _random_calls(generator, epsilon, calls)
        found = [transcript_law(side, gamma, choose=by_parity).probabilities for side in sides]
        shapes = [call.laws.shape[1:] for call in sides[0]]
        where = f"random adaptive calls of (candidates, outcomes) {shapes}, case {case}"
        point = {"epsilon": epsilon, "gamma": gamma, "calls": calls}
        yield point, exact_epsilon(*found), where


@pure.attains(
    grid(epsilon=[0.1, 1.0, 2.0], gamma=[0.5, 1.0, 2.0, 5.0], calls=[1, 2, 5]),
    share=0.999,
    where="candidates whose best outcome is rare",
    at="tau = 100000, epsilon up to 2 and c up to 5",
)
def rare_best(epsilon, gamma, calls):
    pair = pairs.three_outcome(epsilon, 0.1, 1e-10)
    found = [repeated_selection_law(side, 100_000, gamma, calls) for side in pair]
    return exact_epsilon(*found), f"pairs.three_outcome({epsilon:g}, 0.1, 1e-10), tau=100000"


# --- Approximate (R-CL-2) -------------------------------------------------------------


@CL.privacy("CL-Thm1-delta-one-call", "Theorem 1, summed over one call", Relation.BASE)
def one_call(*, rounds: Rounds = 5, delta: BaseDelta = 0.01) -> float:
    """c calls to Selection are ((2 c + gamma) epsilon, tau sum_i delta_i)-DP, the sum being over
    the candidates of one call.

    Returns tau delta, for calls with one candidate each. It is refuted at epsilon = 0.
    """
    return rounds * delta


@CL.privacy("CL-Thm1-delta", "Theorem 1, summed over all calls", Relation.BASE)
def all_calls(*, calls: Calls = 10, rounds: Rounds = 5, delta: BaseDelta = 0.01) -> float:
    """c calls to Selection with one (epsilon, delta)-DP candidate each are ((2 c + gamma) epsilon,
    c tau delta)-DP."""
    return calls * one_call(rounds=rounds, delta=delta)


def _ever_private(calls: int, rounds: int, delta: float, gamma: float) -> float:
    """The chance that one of the calls returns an outcome that is possible on one side only.

    This is the candidate's best outcome, and has probability delta. As p is drawn once, c calls of
    tau rounds find it as often as one call of c tau rounds.
    """
    return float(laws.beta_binomial(calls * rounds, gamma).pgf_gap(delta))


@one_call.bounds(listed("calls rounds delta", (10, 5, 0.01), (100, 5, 0.01)))
def private_outcomes(calls, rounds, delta):
    return _ever_private(calls, rounds, delta, 1.0), "private outcomes of that delta, gamma=1"


@all_calls.bounds(tolerance=1e-12)
def best_of_private(budget):
    settings = [(10, 5, 0.01, 1.0)]
    for generator in budget.draws(200):
        calls, rounds = generator.integers(1, 50, 2).tolist()
        delta = 10.0 ** generator.uniform(-6.0, -1.0)
        settings.append((calls, rounds, delta, generator.uniform(0.1, 20.0)))
    for calls, rounds, delta, gamma in settings:
        point = {"calls": calls, "rounds": rounds, "delta": delta}
        yield point, _ever_private(calls, rounds, delta, gamma), f"epsilon=0, {gamma=!r}"
        if calls > 1:
            pair = pairs.approximate_three_outcome(0.5, 0.1, 1e-3, delta)
            law = laws.beta_binomial(rounds, gamma)
            tuned = tuned_law(pair.first, law), tuned_law(pair.second, law)
            exact = float(profile_delta(*tuned, (2.0 + gamma) * 0.5))
            yield point | {"calls": 1}, exact, f"epsilon=0.5, {gamma=!r}"


def some_run_private(rounds: npt.ArrayLike, deltas: npt.ArrayLike, gamma: float) -> float:
    """The chance that some run of some call is non-private: 1 - E_p prod (1 - p delta_i)^tau.

    A run of candidate i is non-private with probability delta_i, and a run of an epsilon-DP
    candidate otherwise; the product is over the candidates of all calls. Given that no run is
    non-private, the law of p has been multiplied by a decreasing function of p, and the coupling of
    Theorem 1 still costs gamma epsilon. The delta_i must be fixed in advance.

    Args:
      rounds: tau of each candidate of each call.
      deltas: delta_i of each; both are broadcast.
      gamma: exponent of the law of p.
    """
    rounds, deltas = np.broadcast_arrays(
        np.asarray(rounds, dtype=np.float64), np.asarray(deltas, dtype=np.float64)
    )
    nodes = prior(gamma, float(rounds.sum()))
    log_none = np.zeros_like(nodes.p)
    for tau, delta in zip(rounds.ravel(), deltas.ravel(), strict=True):
        log_none += tau * np.log(nodes.rest + nodes.p * (1.0 - delta))
    return float(nodes.weights @ -np.expm1(log_none))


@CL.privacy("CL-Thm1-delta-sharp", "Theorem 1, sharpened", Relation.BASE)
def sharp(
    *, gamma: Gamma = 1.0, calls: Calls = 10, rounds: Rounds = 5, delta: BaseDelta = 0.01
) -> float:
    """c Selections of (epsilon, delta_i)-DP candidates have at (2 c + gamma) epsilon a delta of at
    most 1 - E_p prod (1 - p delta_i)^tau, the product over the candidates of all calls.

    Returns 1 - E_p (1 - p delta)^(c tau), for one (epsilon, delta)-DP candidate in each call.
    """
    return some_run_private(calls * rounds, delta, gamma)


def _draw(generator: np.random.Generator) -> tuple[float, int, int, float, float]:
    gamma, calls = float(generator.choice([0.2, *_GAMMAS, 10.0])), int(generator.integers(1, 4))
    rounds, delta = int(generator.choice([1, 3, 20, 300])), 10.0 ** generator.uniform(-6.0, -1.0)
    return gamma, calls, rounds, delta, generator.uniform(0.1, 1.0)


_BLOCKS = drawn("gamma calls rounds delta epsilon", _draw, 150)


@sharp.bounds(_BLOCKS, tolerance=1e-12)
def approximate_blocks(gamma, calls, rounds, delta, epsilon):
    pair = pairs.approximate_three_outcome(epsilon, 0.1, 1e-3, delta)
    first, second = (repeated_selection_law(side, rounds, gamma, calls) for side in pair)
    level = interaction_epsilon(epsilon, gamma, calls)
    where = "pairs.approximate_three_outcome(epsilon, 0.1, 1e-3, delta)"
    return float(profile_delta(first, second, level)), where


@CL.privacy("CL-Thm1-delta-share", "Theorem 1, sharpened", Relation.BASE)
def share(
    *, gamma: Gamma = 1.0, calls: Calls = 10, rounds: Rounds = 5, delta: BaseDelta = 0.01
) -> float:
    """1 - E_p prod (1 - p delta_i)^tau is at most gamma/(1 + gamma) times the sum of tau delta_i
    over all calls.

    Returns this bound, c tau delta gamma/(1 + gamma), for one candidate in each call, or 1 if that
    is less.
    """
    total = all_calls(calls=calls, rounds=rounds, delta=delta)
    return min(1.0, gamma / (1.0 + gamma) * total)


@share.bounds(_BLOCKS, tolerance=1e-12)
def sharp_deltas(gamma, calls, rounds, delta):
    return sharp(gamma=gamma, calls=calls, rounds=rounds, delta=delta)


R_CL_2 = CL.remark(
    "R-CL-2",
    "Theorem 1",
    "c calls to Selection satisfy ((2 c + gamma) epsilon, tau sum_i delta_i)-DP, where "
    "the sum is to be read as running over the candidates of all c calls, not over "
    "those of one call.",
    readings=[one_call],
    holds=[all_calls],
)
