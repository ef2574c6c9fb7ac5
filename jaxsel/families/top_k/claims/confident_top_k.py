"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 6: top k with high confidence."""

import itertools
import math
from typing import Annotated

import numpy as np
import scipy

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.top_k.confident_laws import (
    confident_gap_bound,
    confident_settings,
    confident_settings_printed,
    confident_top_k_law,
    peeling_gap_bound,
    set_gaps,
    smallest_gap_law,
    subsets,
)
from jaxsel.families.top_k.laws import descending, top_k_set_law
from jaxsel.families.top_k.parameters import Beta, DeltaOfAll, EpsilonOfAll
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Judged, grid, listed, uniform
from jaxsel.language.domains import number
from jaxsel.language.papers import CL
from jaxsel.repetitions import beta_binomial

_BETAS = (0.5, 0.1, 1e-3, 1e-9)


# --- Privacy --------------------------------------------------------------------------


def _random_pairs(budget: Budget, cases: int):
    """Pairs of scores of neighbours, with k: a constructed one, and random ones."""
    yield np.array([3.0, 2.0, 1.0, 0.0]), np.array([2.0, 1.0, 2.0, 1.0]), 2
    for case, generator in enumerate(budget.draws(cases)):
        size = int(generator.integers(2, 7)) if case % 4 else 8
        k = int(generator.integers(1, size)) if case % 4 else 6
        scores = generator.integers(0, 9, size) * generator.choice([1.0, 10.0])
        yield scores, scores + generator.integers(-1, 2, size), k


def _random_laws(budget: Budget, cases: int):
    """Exact laws on random pairs, with their settings, epsilon, delta, and all in words."""
    generator = np.random.default_rng(budget.seed + 1)
    for scores, moved, k in _random_pairs(budget, cases):
        epsilon = float(generator.choice([0.2, 1.0, 5.0]))
        delta, beta = generator.uniform(0.05, 0.95, 2).tolist()
        settings = confident_settings(epsilon, delta, beta, k)
        first = confident_top_k_law(scores, settings)
        second = confident_top_k_law(moved, settings)
        where = f"{scores.tolist()} to {moved.tolist()}, {k=}, {epsilon=!r}, {delta=!r}, {beta=!r}"
        yield first, second, settings, epsilon, delta, where


def _one_leader(scores, many: float, settings) -> np.ndarray:
    """The law, for k = 1, of "the first", "the second", "one of the others" and "nothing".

    ``scores`` are of the first, of the second, and of each of ``many`` others.
    """
    levels = np.asarray(scores) * settings.round_epsilon / 2.0
    weights = np.array([1.0, 1.0, many]) * np.exp(levels - levels.max())
    gaps = [max(np.delete(scores, i)) - scores[i] for i in range(3)]
    gaps[2] = max(scores) - scores[2]  # there are further ones as good
    return smallest_gap_law(gaps, weights / weights.sum(), settings)


def _pairs_of_kinds(scores, many, settings) -> np.ndarray:
    """The law, for k = 2, of the kinds of the two candidates in the set; "nothing" is last.

    Candidates of a kind have equal scores, ``scores``, and their numbers are ``many``. A kind of a
    single candidate makes no pair with itself.
    """
    scores, many = np.asarray(scores), np.asarray(many)
    each = np.exp((scores - scores.max()) * settings.round_epsilon / 2.0)
    total = float(many @ each)
    gaps, chances = [], []
    for i, j in itertools.combinations_with_replacement(range(scores.size), 2):
        left = many - np.eye(scores.size)[i] - np.eye(scores.size)[j]
        if min(left) >= 0.0:
            gaps.append(max(scores[left > 0.0]) - min(scores[i], scores[j]))
            both = many[i] * (many[j] - (i == j)) * each[i] * each[j] / total
            orders = [1.0 / (total - each[place]) for place in {i, j}]
            chances.append(both * sum(orders))
    return smallest_gap_law(gaps, np.array(chances), settings)


@CL.privacy("CL-Thm6-pure", "Theorem 6, corrected constants", Relation.GENERAL)
def pure(*, epsilon: EpsilonOfAll = 1.0) -> float:
    """If each of its k rounds is epsilon/(6 k)-DP, Theorem 6's algorithm is epsilon-DP."""
    return epsilon


@pure.bounds()
def pure_rounds(budget):
    # One falls and has a larger gap, another rises and takes the small gaps: half of
    # epsilon, the rest being what the worst candidate of Theorem 4 would lose.
    for epsilon, beta in ((0.2, 0.1), (1.0, 1e-4)):
        settings = confident_settings(epsilon, 1e-6, beta, 1)
        sides = [0.0, 0.0, 0.0], [-1.0, 1.0, -1.0]
        laws = [_one_leader(scores, 1e8, settings) for scores in sides]
        where = f"two of 1e8 candidates move apart, {beta=!r}"
        yield {"epsilon": epsilon}, exact_epsilon(*laws), where
    # A pair of the second and of one far behind falls by all of a round and of a gap. It is
    # released if no better pair is drawn, nor one of middling gap: and these rise, the one by
    # half of a round, the other by a round and a gap. That is 7/12 of epsilon.
    levels, moves = np.array([34.0, 24.0, 14.0, 0.0]), np.array([1.0, -1.0, 1.0, -1.0])
    for epsilon in (0.2, 1.0):
        settings = confident_settings(epsilon, 1e-6, 1e-12, 2)
        scores, many = levels * settings.gap_scale, [1.0, 1.0, 4e6, 1.4e12]
        laws = [_pairs_of_kinds(side, many, settings) for side in (scores, scores + moves)]
        where = f"{many} of scores {levels.tolist()} gap scales, moved by {moves.tolist()}"
        yield {"epsilon": epsilon}, exact_epsilon(*laws), where
    for first, second, settings, epsilon, _, where in _random_laws(budget, 150):
        if settings.pure:
            yield {"epsilon": epsilon}, exact_epsilon(first, second), where


@CL.privacy(
    "CL-Thm6",
    "Theorem 6, corrected constants",
    Relation.GENERAL,
    loose="a set beyond epsilon has to lose nearly all that each of its k "
    "rounds may, which has a chance below 1e-13 with up to 200 rounds and "
    "delta up to .99; its parts are put to the test with power: "
    "CL-Thm6-pure, CL-Thm6-step-noise, -rounds, -none, -tails",
)
def private(*, delta: DeltaOfAll = 0.1) -> float:
    """Releasing the set of the smallest noisy gap among N peeled ones, N uniform on 0..T, is
    (epsilon, delta)-DP if T = ceil(4/beta), the k rounds that peel a set are (epsilon/6,
    delta/T)-DP together, and its gap has noise Lap(12/epsilon)."""
    return delta


@private.bounds()
def exact_deltas(budget):
    for first, second, _, epsilon, delta, where in _random_laws(budget, 150):
        yield {"delta": delta}, float(profile_delta(first, second, epsilon)), where


@CL.privacy(
    "CL-Thm6-corrected",
    "Theorem 6, case beta < delta",
    Relation.GENERAL,
    loose="the two sides differ in what replaces nothing, which is drawn with "
    "probability 1/(T + 1) <= delta/40, and hardly in sets beyond the bound, while "
    "(2 + e^epsilon) delta/10 is at least 3 delta/10: no more than 1/12 of it is seen",
)
def with_true_top_k(
    *,
    epsilon: Annotated[float, number("of the whole", above=0.0, at_most=700.0)] = 1.0,
    delta: DeltaOfAll = 0.1,
) -> float:
    """Theorem 6's algorithm at delta/10 and beta = delta/10, with sets beyond the bound replaced by
    the true top k, has a delta of at most (2 + e^epsilon) delta/10 at epsilon."""
    return delta * (2.0 + math.exp(epsilon)) / 10.0


def _corrected_law(scores: np.ndarray, settings) -> np.ndarray:
    """The law of the set, where sets beyond the bound, and "nothing", become the true top k."""
    law = confident_top_k_law(scores, settings)
    bad = set_gaps(scores, settings.k) > confident_gap_bound(scores.size, settings)
    best = descending(scores)[: settings.k]
    place = np.searchsorted(subsets(scores.size, settings.k), np.sum(1 << best))
    fixed = np.where(bad, 0.0, law[:-1])
    fixed[place] += law[-1] + law[:-1][bad].sum()
    return fixed


@with_true_top_k.bounds()
def replaced_sets(budget):
    generator = np.random.default_rng(budget.seed + 2)
    # Ties: whoever is the best gets what stands for nothing.
    ties = np.zeros(8), np.append(-np.ones(4), np.ones(4)), 4
    for scores, moved, k in (ties, *_random_pairs(budget, 100)):
        epsilon = float(generator.choice([0.2, 1.0, 2.0]))
        if moved is ties[1]:
            epsilon = 0.01
        delta = float(generator.uniform(0.05, 0.95))
        settings = confident_settings(epsilon, delta / 10.0, delta / 10.0, k)
        first, second = (_corrected_law(side, settings) for side in (scores, moved))
        seen = float(profile_delta(first, second, epsilon))
        where = f"{scores.tolist()} to {moved.tolist()}, {k=}"
        yield {"epsilon": epsilon, "delta": delta}, seen, where


# --- Utility --------------------------------------------------------------------------


@CL.utility(
    "CL-Thm6-utility",
    "Theorem 6, corrected constants",
    loose="nothing is released with probability 1/(T + 1), at most a quarter of beta, and where k "
    "candidates lead all others by just the bound, another set adds less than a hundredth of beta; "
    "its parts are put to the test with power: CL-Thm6-step-none, -tails",
)
def failing(*, beta: Beta = 0.1) -> float:
    """With probability 1 - beta Theorem 6's algorithm releases a set whose gap is at most
    (2/epsilon_r) log(4 m k) + (12/epsilon) (log 2 + log(2 T/beta)), T = ceil(4/beta), epsilon_r
    being one round's share.

    Returns beta, the allowed probability of failure, for m candidates.
    """
    return beta


@CL.utility("CL-Sec1.4.2-peeling", "Section 1.4.2, with the factor 2", formula=failing)
def failing_peeled():
    """k rounds of epsilon_r-DP exponential mechanisms have a gap above (2/epsilon_r) log(m k/beta)
    with probability at most beta."""


def _two_levels(lead: float, m: int, k: int, each: float) -> np.ndarray:
    """The chance that k rounds pick just the k candidates that lead the others, and its complement.

    They lead m - k others by ``lead``; a round is ``each``-DP.
    """
    left = np.arange(k, 0, -1, dtype=np.float64)
    log_hit = -np.sum(np.log1p((m - k) * math.exp(-each * lead / 2.0) / left))
    return np.array([math.exp(log_hit), -math.expm1(log_hit)])


def _ladders(budget: Budget):
    """Random scores, in units of the bound, and k: their gaps lie on both sides of the bound."""
    for generator in budget.draws(60):
        size = int(generator.integers(2, 8))
        yield generator.uniform(0.0, 1.5, size), int(generator.integers(1, size))


@failing.bounds()
def boosted_gaps(budget):
    generator = np.random.default_rng(budget.seed + 1)
    for units, k in _ladders(budget):
        epsilon = float(generator.choice([0.2, 1.0]))
        beta = float(generator.uniform(0.01, 0.99))
        settings = confident_settings(epsilon, 1e-6, beta, k)
        limit = confident_gap_bound(units.size, settings)
        law = confident_top_k_law(units * limit, settings)
        bad = set_gaps(units * limit, k) > limit
        where = f"scores {units.tolist()} times the bound, {k=}, {epsilon=!r}"
        yield {"beta": beta}, float(law[-1] + law[:-1][bad].sum()), where
    for (m, k), beta in itertools.product(((2, 1), (100, 10), (10**6, 1000)), _BETAS):
        settings = confident_settings(1.0, 1e-6, beta, k)
        lead = confident_gap_bound(m, settings) * (1.0 + 1e-9)
        chances = _two_levels(lead, m, k, settings.round_epsilon)
        law = smallest_gap_law([-lead, lead], chances, settings)
        yield {"beta": beta}, float(law[1:].sum()), f"{k=} of {m=} lead by the bound"


@failing_peeled.bounds()
def peeled_gaps(budget):
    generator = np.random.default_rng(budget.seed + 2)
    for units, k in _ladders(budget):
        each, beta = generator.uniform([0.01, 0.01], [2.0, 0.99]).tolist()
        limit = peeling_gap_bound(units.size, k, each, beta)
        law = top_k_set_law(units * limit * each / 2.0, k)[subsets(units.size, k)]
        bad = set_gaps(units * limit, k) > limit
        where = f"scores {units.tolist()} times the bound, {k=}, {each=!r}"
        yield {"beta": beta}, float(law[bad].sum()), where
    for (m, k), beta in itertools.product(((2, 1), (100, 1), (100, 10), (10**6, 1000)), _BETAS):
        lead = peeling_gap_bound(m, k, 0.1, beta) * (1.0 + 1e-9)
        missed = float(_two_levels(lead, m, k, 0.1)[1])
        yield {"beta": beta}, missed, f"{k=} of {m=} lead by the bound, each=0.1"


# --- Steps of the proof ---------------------------------------------------------------


@CL.privacy("CL-Thm6-step-noise-printed", "proof of Theorem 6", Relation.GENERAL)
def noise_printed(*, epsilon: EpsilonOfAll = 1.0) -> float:
    """Releasing Gap(S) with Laplace noise of scale 6/epsilon costs epsilon/6.

    Gap(S) is the largest score outside S minus the least one inside.
    """
    return epsilon / 6.0


@CL.privacy(
    "CL-Thm6-step-noise", "proof of Theorem 6, corrected", Relation.GENERAL, formula=noise_printed
)
def noise():
    """Releasing Gap(S) with Laplace noise of scale 12/epsilon costs epsilon/6."""


_MOVES = grid(k=(1, 2, 3), epsilon=(1.0, 0.3), steps=list(itertools.product((-1, 0, 1), repeat=4)))


@noise_printed.bounds(_MOVES, made=confident_settings_printed)
@noise.bounds(_MOVES, made=confident_settings)
def gap_losses(k, epsilon, steps, made):
    scores = np.array([3, 2, 1, 0])
    moved, scale = scores + steps, made(epsilon, 1e-6, 0.5, k).gap_scale
    # Laplace noise of scale s: exact privacy parameter change/s.
    losses = np.abs(set_gaps(scores, k) - set_gaps(moved, k)) / scale
    for chosen, loss in zip(subsets(4, k), losses.tolist(), strict=True):
        yield loss, f"from {scores.tolist()}, S={chosen:04b}, noise Lap({scale:g})"


@CL.utility("CL-Thm6-step-tails-printed", "proof of Theorem 6")
def large_noise(*, beta: Beta = 0.1) -> float:
    """With the printed constants all noises of Theorem 6's algorithm are at most 10
    log(1/beta)/epsilon except with probability beta/2, over up to ceil(20/delta) runs."""
    return beta / 2.0


@large_noise.bounds(grid(beta=(0.1, 0.01), delta=(1e-6,)))
def some_large_noise(beta, delta):
    settings = confident_settings_printed(1.0, delta, beta, 1)
    # |Lap(6/epsilon)| > 10 log(1/beta)/epsilon; the number of runs is uniform.
    one = beta ** (10.0 / settings.gap_scale)
    return float(beta_binomial(settings.most_runs, 1.0).pgf_gap(one)), f"T={settings.most_runs}"


@CL.utility("CL-Thm6-step-tails", "proof of Theorem 6, corrected")
def low_noise(*, beta: Beta = 0.1) -> float:
    """No noise of Theorem 6's algorithm, of scale 12/epsilon, is below -(12/epsilon) log(2 T/beta)
    except with probability beta/4, over up to T = ceil(4/beta) runs."""
    return beta / 4.0


@low_noise.bounds(listed("beta", 0.1), uniform(100, beta=(1e-4, 0.999)))
def some_low_noise(beta):
    settings = confident_settings(0.7, 1e-6, beta, 3)
    one = 0.5 * math.exp(-settings.offset / settings.gap_scale)
    most = settings.most_runs
    yield float(beta_binomial(most, 1.0).pgf_gap(one)), f"up to T={most} runs"
    yield -math.expm1(most * math.log1p(-one)), f"T={most} runs"


@CL.utility("CL-Thm6-step-none", "proof of Theorem 6, corrected")
def nothing(*, beta: Beta = 0.1) -> float:
    """With T = ceil(4/beta) the probability that Theorem 6's algorithm draws no set is at most
    beta/4."""
    return beta / 4.0


@nothing.bounds(listed("beta", 1e-3), uniform(20, beta=(1e-4, 0.999)))
def no_set(beta):
    settings = confident_settings(1.0, 1e-6, beta, 2)
    law = confident_top_k_law(np.array([1.0, 0.0, 0.0]), settings)
    return float(law[-1]), f"T={settings.most_runs}"


@CL.privacy("CL-Thm6-step-rounds", "proof of Theorem 6, corrected", Relation.GENERAL)
def rounds(*, epsilon: EpsilonOfAll = 1.0) -> float:
    """The k rounds of one run of Theorem 6's algorithm are (epsilon/6, delta/T)-DP together."""
    return epsilon / 6.0


@rounds.bounds(grid(epsilon=(0.3, 30.0), delta=(0.9, 1e-6), beta=(0.99, 0.1), k=(1, 5, 500)))
def compositions(epsilon, delta, beta, k):
    """The epsilon by the theorem of advanced composition, and the exact worst composition."""
    settings = confident_settings(epsilon, delta, beta, k)
    each, left = settings.round_epsilon, delta / settings.most_runs
    spread = each * math.sqrt(2.0 * k * math.log(1.0 / left))
    yield min(k * each, k * each * math.tanh(each / 2.0) + spread), "advanced composition"
    truths = np.arange(k + 1)
    loss = (2 * truths - k) * each
    mass = scipy.stats.binom.pmf(truths, k, 1.0 / (1.0 + math.exp(-each)))

    def spent(claimed):
        return left, float(-np.sum(mass * np.expm1(np.minimum(0.0, claimed - loss))))

    yield spent, "delta of the worst composition"


# --- What runs ------------------------------------------------------------------------


@CL.identity("CL-Thm6-settings", "Theorem 6, corrected constants")
def most_runs(*, beta: Beta = 0.1) -> float:
    """What runs has T = ceil(4/beta), noise Lap(12/epsilon) on the gap and, for few rounds, weights
    exp(epsilon f/(12 k)).

    Returns T = ceil(4/beta), which is that of Theorem 4 at beta/2 and alpha = 1.
    """
    return math.ceil(4.0 / beta)


@most_runs.equals(
    listed("epsilon beta k", (1.0, 0.1, 1), (0.3, 0.07, 2), (2.5, 0.9, 3)), tolerance=1e-12
)
def prepared(epsilon, beta, k):
    """Compares the numbers with which the mechanism draws with those of the theorem."""
    from jaxsel.families.top_k.confident_top_k import confident_top_k

    params = {"epsilon": epsilon, "delta": 0.05, "beta": beta, "k": k}
    _, found = confident_top_k().prepare(np.arange(5.0), params)
    yield float(found["most_runs"]), "T"
    yield Judged(12.0 / epsilon, float(found["gap_scale"]), f"noise on the gap, {params}")
    # So few rounds compose purely: weights exp(epsilon f/(12 k)).
    half = float(found["half_epsilon"])
    yield Judged(epsilon / (12.0 * k), half, f"exponent of a weight, {params}")


CL_E10 = CL.misprint(
    "CL-E10",
    "proof of Theorem 6",
    "proof",
    printed="q~ = Gap + Lap(epsilon/6) + 13 log(1/beta)/epsilon; all noises are at "
    "most 10 log(1/beta)/epsilon with probability 1 - beta/2; beta = delta/10.",
    correct="Lap(epsilon/6) names a rate, and Gap has sensitivity 2: (3, 2, 1, 0) "
    "to (2, 1, 2, 1) moves it from -1 to 1 for S = first two; the scale is "
    "12/epsilon. Among up to 20/delta runs some noise is large almost surely; run "
    "Theorem 4 at beta/2, T = ceil(4/beta), with the offset (12/epsilon) log(2 "
    "T/beta) and inner delta equal to delta/T.",
    refuted=[noise_printed, large_noise],
    corrected=[noise, low_noise, nothing, rounds, private, most_runs, failing],
)
