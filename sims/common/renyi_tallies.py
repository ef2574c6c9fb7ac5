"""Tallies for the Renyi divergence of the best of K Gaussian runs, in two orders.

Shared by Figures 2 and 3 of Papernot & Steinke 2022. One trial is one execution of the tuned
algorithm. It is tallied by the bin of the released number; the last outcome is that nothing
is released.
"""

from typing import Any

from jaxsel.families.private_tuning.bases import finite
from jaxsel.families.private_tuning.noised_bases import noised_score
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.kernel import statistics
from jaxsel.language.base import Mechanism
from jaxsel.language.trial import Trial
from jaxsel.repetitions import Repetitions
from sims.common.gaussian_orders import GaussianPair, two_block_law


def natural_trial(law: Repetitions, side: int, trials: int, pair: GaussianPair) -> Trial:
    """The natural order: the score is the released number.

    Args:
      law: law of K.
      side: 0 for the data, 1 for the neighbour.
      trials: number of trials on each side.
      pair: the laws of one run.

    Returns:
      A trial, with "edges" of the bins and the "exact" law of the bin.
    """
    edges = pair.natural_edges(law, trials)
    mechanism = private_tuning(noised_score("gaussian", sign=1), law.family)
    params = {"noise_scale": 1.0, "edges": edges, "repetitions": law}
    return _trial(mechanism, pair.sides[side], params, edges=edges)


def two_block_trial(law: Repetitions, side: int, trials: int, pair: GaussianPair) -> Trial:
    """The two-block order: a finite base, whose outcomes are bins, the best first.

    Arguments as for ``natural_trial``; the trial also has "cut".
    """
    cut = pair.two_block_cut(law)
    edges = pair.two_block_edges(law, cut, trials)
    mechanism = private_tuning(finite(), law.family)
    run = two_block_law(edges, cut, pair.sides[side])
    return _trial(mechanism, run, {"repetitions": law}, edges=edges, cut=cut)


def _trial(mechanism: Mechanism, data: Any, params: Any, **beside: Any) -> Trial:
    assert mechanism.law is not None
    exact = mechanism.law(data, params).probabilities
    # Events are tallied by number, since the labels of the bins differ from law to law.
    tally = statistics.counts(mechanism.event, exact.size)
    beside["exact"] = exact
    return Trial(mechanism, data, params, statistic=tally, beside=beside)
