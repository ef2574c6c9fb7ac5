"""A run that is stopped by a rule of its own costs the best of K runs nothing.

What a run has shown so far is part of its outcome, and a rule with thresholds fixed beforehand
is a function of that alone: the pruned run is post-processing of the whole one. Pruned runs are
one more outcome, the worst in the ranking, so that every bound for the whole run and every
ranking covers them. A rule that compares runs with each other is not of this kind.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import pair_from_laws
from jaxsel.language.base import Relation
from jaxsel.language.papers import JX
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.envelopes import every_ranking
from jaxsel.tuning.claims.base_pairs import BasePair, base_pairs
from jaxsel.tuning.claims.searches import at_epsilon, guarantee

_LEVELS = np.array([0.0, 0.05, 0.3, 1.0, 2.0])
_LAWS = (
    laws.geometric(0.1),
    laws.poisson(4.0),
    laws.truncated_negative_binomial(-0.5, 0.05),
    laws.point_mass(3),
)


@JX.privacy(
    "JX-Pruning",
    "post-processing of one run; novelty not claimed; docs/envelope.md, Section 8",
    Relation.BASE,
    formula=every_ranking,
)
def pruned_runs():
    """JX-Envelope holds for the best of K runs of which each may be stopped by a rule on what this
    run alone has shown so far, fixed beforehand, with T and loss those of the run that is never
    stopped, if stopped runs rank below all others."""


def _stopped(pair: BasePair, law: Repetitions, stopped: np.ndarray) -> Iterator[Any]:
    """Exact deltas of the best run, in one direction: the other is another pair's."""
    one_way = pair_from_laws(pair.first, pair.second)
    base = guarantee(pair)._replace(pairs=lambda: (one_way,))
    sides = [np.append(side[~stopped], side[stopped].sum()) for side in pair[:2]]
    first, second = (tuned_law(side, law) for side in sides)
    exact = hockey_stick(first, second, _LEVELS)
    for epsilon, delta in zip(_LEVELS.tolist(), exact.tolist(), strict=True):
        yield at_epsilon(base, law, epsilon), delta, f"stopped {stopped.tolist()}"


@pruned_runs.bounds(tolerance=1e-12)
def stopped_outcomes(budget):
    # Nearest where the outcome that would be best is stopped.
    first, second = pairs.tight_generic()
    generic = BasePair(first, second, "pairs.tight_generic()")
    for law in _LAWS:
        yield from _stopped(generic, law, np.arange(first.size) == 0)
    generator = np.random.default_rng(budget.seed + 2)
    for index, pair in enumerate(base_pairs(budget._replace(cases=budget.cases // 2))):
        # The rule sees a part of the outcome; in each case it stops other outcomes, also none.
        stopped = generator.random(pair.first.size) < generator.choice([0.0, 0.3, 0.6])
        yield from _stopped(pair, _LAWS[index % len(_LAWS)], stopped)
