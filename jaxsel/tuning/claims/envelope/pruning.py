"""A run that is stopped by a rule of its own costs the best of K runs nothing.

What a run has shown so far is part of its outcome, and a rule with thresholds fixed beforehand
is a function of that alone: the pruned run is post-processing of the whole one. Pruned runs are
one more outcome, the worst in the ranking, so that every bound for the whole run and every
ranking covers them. A rule that compares runs with each other is not of this kind.
"""

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import pair_from_laws
from jaxsel.language.base import Relation
from jaxsel.language.papers import JX
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.envelope import envelope_log_delta, pair_envelope
from jaxsel.tuning.bounds.envelopes import every_ranking
from jaxsel.tuning.claims.base_pairs import at_worst, base_pairs

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


@pruned_runs.bounds(tolerance=1e-12)
def stopped_outcomes(budget):
    generator = np.random.default_rng(budget.seed + 2)
    for index, pair in enumerate(base_pairs(budget._replace(cases=budget.cases // 2))):
        law = _LAWS[index % len(_LAWS)]
        bound = pair_envelope(pair_from_laws(pair.first, pair.second), law, count=128)
        claimed = np.exp(envelope_log_delta((bound,), _LEVELS))
        # The rule sees a part of the outcome; in each case it stops other outcomes, also none.
        stopped = generator.random(pair.first.size) < generator.choice([0.0, 0.3, 0.6])
        sides = [np.append(one[~stopped], one[stopped].sum()) for one in (pair.first, pair.second)]
        first, second = (tuned_law(one, law) for one in sides)
        exact = hockey_stick(first, second, _LEVELS)
        where = f"{law.family} {dict(law.parameters)}, stopped {stopped.tolist()}, {pair.where}"
        yield at_worst(claimed, exact, _LEVELS, where, "epsilon")
