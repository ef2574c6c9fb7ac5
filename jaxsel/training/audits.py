"""Audits of DP-SGD: lower bounds on epsilon, to compare with the accounted one.

``many_run_audit`` trains many times with and without a canary, ``one_run_audit`` once with
many canaries, each included with probability 1/2. ``mechanism_audit`` is a many-run audit
without data and model: it audits sampling, clipping and noise, which provide the privacy.

The bound of a correct implementation exceeds the accounted epsilon with at most the stated
probability. A bound below it proves nothing: an audit can find faults, not exclude them.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxsel.accounting.single_run.events import dp_sgd as dp_sgd_guarantee
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.auditing.one_run_audit import OneRunBound, one_run_bound
from jaxsel.host.errors import InputError, check_finite
from jaxsel.language.domains import whole
from jaxsel.language.signature import validated
from jaxsel.training.canaries import (
    ConstantClassifier,
    Data,
    Training,
    WithCanaries,
    add_canaries,
    blanks,
    canary_scores,
    likelihood_ratio,
    reads_recipe,
)
from jaxsel.training.dp_sgd import Recipe, State, noisy_gradient
from jaxsel.training.extras import nn

__all__ = [
    "CanaryAudit",
    "ManyRunBound",
    "many_run_audit",
    "many_run_bound",
    "mechanism_audit",
    "one_run_audit",
]

_COIN_TAG = 0xD1


class ManyRunBound(NamedTuple):
    """A lower bound on epsilon from many runs.

    Attributes:
      lower: the bound, >= 0; exceeds the truth with probability at most 1 - confidence.
      delta: the delta at which epsilon is bounded.
      confidence: of the bound.
      threshold: of the score; the event is a score above it, or not above it.
      above: whether the event is a score above the threshold.
      counts: (occurrences of the event, runs) with the canary, the same without it.
    """

    lower: float
    delta: float
    confidence: float
    threshold: float
    above: bool
    counts: tuple[int, int, int, int]


class CanaryAudit(NamedTuple):
    """The result of an audit of DP-SGD, and the accounted epsilon.

    Attributes:
      lower: audited lower bound on epsilon; exceeds the truth with probability at most
        1 - confidence.
      accounted: epsilon from the accounting of DP-SGD. A correct implementation has lower
        <= accounted with probability at least ``confidence``.
      delta: of both epsilons.
      confidence: of the lower bound.
      evidence: the underlying bound and its tallies.
    """

    lower: float
    accounted: float
    delta: float
    confidence: float
    evidence: ManyRunBound | OneRunBound


def _audited(training: Training, delta: float, evidence: ManyRunBound | OneRunBound) -> CanaryAudit:
    plan = training.plan
    claim = dp_sgd_guarantee(
        noise_multiplier=plan.noise_multiplier,
        sampling_probability=plan.batch_size / plan.examples,
        steps=training.steps,
    )
    return CanaryAudit(evidence.lower, claim.epsilon(delta), delta, evidence.confidence, evidence)


def many_run_bound(
    present: ArrayLike,
    absent: ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    entropy: int | Sequence[int] | None = None,
) -> ManyRunBound:
    """Lower bound on epsilon from scores of runs with the canary and without it.

    The first half of the runs chooses a threshold, the second half bounds the
    probabilities of exceeding it (exact limits of Clopper & Pearson).

    Args:
      present, absent: Float["runs"], one score per run, at least two each.
      delta: in [0, 1).
      confidence: in (0, 1).
      entropy: as for ``epsilon_lower_bound``: the seed of the runs, where they have one.
    """
    sides = [check_finite("scores", side) for side in (present, absent)]
    if any(side.ndim != 1 or side.size < 2 for side in sides):
        raise InputError("scores must be a list of at least two runs a side")
    halves = [np.split(side, [side.size // 2]) for side in sides]
    pooled = np.sort(np.concatenate([first for first, _ in halves]))
    # thresholds over the whole range, denser in the tails
    tail = np.unique(np.geomspace(1, pooled.size, 400).astype(int)) - 1
    middle = np.linspace(0, pooled.size - 1, 400).astype(int)
    places = np.concatenate([tail, middle, pooled.size - 1 - tail])
    edges = np.unique(pooled[places])

    def tallies(half: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cells = (np.searchsorted(edges, side[half], side="left") for side in halves)
        first, second = (np.bincount(c, minlength=edges.size + 1) for c in cells)
        return first, second

    best = epsilon_lower_bound(*tallies(0, edges), delta, confidence, events="prefixes").event
    # a prefix ends, and the complement of one starts, at its threshold
    threshold = edges[best[-1] if best[0] == 0 else best[0] - 1]
    alone = np.asarray([threshold])
    found = epsilon_lower_bound(
        *tallies(1, alone), delta, confidence, selection=tallies(0, alone), entropy=entropy
    )
    return ManyRunBound(
        found.lower, delta, confidence, float(threshold), found.event == (1,), found.counts
    )


@reads_recipe
def many_run_audit(
    model: nn.Module,
    training: Training,
    present: Data,
    absent: Data,
    *,
    runs: int,
    delta: float,
    confidence: float = 0.95,
    seed: int = 0,
    score: Callable[[State], Array] = likelihood_ratio,
) -> CanaryAudit:
    """Audits DP-SGD by training ``runs`` times on each of two neighbouring data sets.

    Args:
      model: a ``WithCanaries``, with one canary.
      training: how each run is made.
      present, absent: data with the canary, and with a blank in its place.
      runs: the number of runs on each data set.
      delta, confidence: of the lower bound.
      seed: as for ``canary_scores``.
      score: the score of a run: one number, or an array with one for the single canary.
    """
    both = [
        canary_scores(model, training, data, runs=runs, seed=seed, tag=tag, score=score).reshape(
            runs
        )
        for tag, data in enumerate((present, absent))
    ]
    bound = many_run_bound(both[0], both[1], delta=delta, confidence=confidence, entropy=seed)
    return _audited(training, delta, bound)


def mechanism_audit(
    plan: Recipe,
    *,
    steps: int,
    runs: int,
    delta: float,
    confidence: float = 0.95,
    seed: int = 0,
    gradient: Callable[..., Any] = noisy_gradient,
) -> CanaryAudit:
    """``many_run_audit`` of a gradient canary among blank examples, without data and model.

    The law of the canary's score depends only on the sampling rate, sigma, C and the steps,
    so ``recipe(1, rate)`` with the rate of a training run audits the same law, and is
    fastest.

    Args:
      plan: the recipe.
      steps: of each run.
      runs: the number of runs on each side.
      delta, confidence: of the lower bound.
      seed: as for ``canary_scores``.
      gradient: as for ``train``.
    """
    model = WithCanaries(ConstantClassifier(), 1)
    nobody = blanks(plan.examples - 1)
    present, absent = (add_canaries(nobody, [coin], 2) for coin in (True, False))
    return many_run_audit(
        model,
        Training(plan, steps, gradient=gradient),
        present,
        absent,
        runs=runs,
        delta=delta,
        confidence=confidence,
        seed=seed,
    )


@reads_recipe
@validated
def one_run_audit(
    model: nn.Module,
    training: Training,
    data: Data,
    *,
    classes: int,
    canaries: Annotated[int, whole("canaries, m", at_least=1)],
    guesses: Sequence[tuple[int, int]],
    delta: float,
    confidence: float = 0.95,
    seed: int = 0,
) -> CanaryAudit:
    """Audits DP-SGD in one run on real data with gradient canaries added.

    Args:
      model: the classifier, without canaries.
      training: how the run is made; its recipe's number of examples is that of the data plus
        the canaries.
      data: images and labels.
      classes: of the data.
      canaries: m.
      guesses: numbers of (in, out) guesses to try; see ``one_run_bound``.
      delta, confidence: of the lower bound.
      seed: as for ``canary_scores``.
    """
    coins = np.random.default_rng([seed, _COIN_TAG]).random(canaries) < 0.5
    planted = add_canaries(data, coins, classes)
    scores = canary_scores(WithCanaries(model, canaries), training, planted, seed=seed)[0]
    bound = one_run_bound(scores, coins, guesses=guesses, delta=delta, confidence=confidence)
    return _audited(training, delta, bound)
