"""Claims on what a search draws, trains, scores and releases, checked on whole small searches."""

import math
import random
from typing import Annotated, Any

import numpy as np
import scipy

from jaxsel.families.private_training.claims.cells import known_cases, law_cases, tally_cases
from jaxsel.families.private_training.laws import score_cdf, sum_cdf
from jaxsel.families.private_training.parameters import AnyNoise
from jaxsel.language.base import Budget
from jaxsel.language.checking import CONFIDENCE
from jaxsel.language.domains import choice, number, whole
from jaxsel.language.papers import JX
from jaxsel.repetitions import geometric

_PLACE = "a whole small search as it runs"
Images = Annotated[float, number("in validation images")]
Correct = Annotated[int, whole("right labels", at_least=0, at_most=1e9)]
Mean = Annotated[float, number("of K, geometric", at_least=1.0, at_most=1e4)]
ScoreNoise = Annotated[
    float, number("of the discrete Gaussian noise on scores", at_least=0.05, at_most=1e5)
]
_PERSON = choice(("there", "absent"), "one person, in the training data")
_MOST = 20_000  # searches of a kind


def searched(kind: str, budget: Budget) -> Any:
    """The results of small searches on images of a kind (``small_search.KINDS``).

    Their number is a hundredth of the budget's trials, at least 20 and at most 20,000.
    """
    from jaxsel.families.private_training.small_search import searches

    return searches(kind, int(min(max(budget.trials // 100, 20), _MOST)), budget.seed)


# --- K and the choices ----------------------------------------------------------------


@JX.identity("JX-Search-draws", _PLACE)
def count(
    *, k: Annotated[int, whole("number of runs", at_least=0, at_most=1e9)] = 3, mean: Mean = 3.0
) -> float:
    """The number K of runs has its planned law, and every run draws its candidate uniformly and
    independently of the others.

    Returns P[K = k].
    """
    return float(geometric(1.0 / mean).pmf(np.asarray(k)))


class _Even(random.Random):
    """A source whose random numbers are the midpoints of equal steps over their range, in turn."""

    def __init__(self, steps: int) -> None:
        super().__init__(0)
        self._steps, self._step = steps, 0

    def getrandbits(self, k: int) -> int:
        """The midpoint of the next step, as a whole number of ``k`` bits."""
        found = ((2 * self._step + 1) << k) // (2 * self._steps)
        self._step += 1
        return found


@count.bounds(tolerance=0.0)
def draw_cases(budget):
    from jaxsel.families.private_training.small_search import MEAN_RUNS, plan
    from jaxsel.search.draws import draw_count, source

    found, most = searched("nobody", budget), 9
    # Searches are few at a small budget; K alone, as they draw it, costs little.
    generator = source(-1 - budget.seed)
    alone = [draw_count(plan().repetitions, generator) for _ in range(min(budget.trials, 4000))]
    points = [{"k": k, "mean": MEAN_RUNS} for k in range(most)]
    fewer = sum(count(**point) for point in points)
    confidence = 1.0 - (1.0 - CONFIDENCE) / 6.0
    # Of evenly spaced numbers, the share that gives k is P[K = k], up to one number at either end.
    generator, steps = _Even(2000), 2000
    even = [draw_count(plan().repetitions, generator) for _ in range(steps)]
    for point, seen in zip(points, np.bincount(even, minlength=most).tolist(), strict=False):
        where = f"{seen} of {steps} evenly spaced numbers"
        yield point, lambda claimed, high=(seen + 1) / steps: (high, claimed), f"upper, {where}"
        yield point, (seen - 1) / steps, f"lower, {where}"
    for what, drawn in (("of searches", found.counts), ("alone", np.array(alone))):
        counts = np.bincount(np.minimum(drawn, most), minlength=most + 1)
        yield from tally_cases(counts[:most], drawn.size, confidence, points, f"K {what}")
        ends = np.array([drawn.size - counts[most], counts[most]])
        chances = np.array([fewer, 1.0 - fewer])
        yield from known_cases(ends, chances, confidence, f"K {what} below {most}, and from there")
    size = len(plan().candidates)
    choices, uniform = np.bincount(found.candidate, minlength=size), np.full(size, 1.0 / size)
    yield from known_cases(choices, uniform, confidence, "candidates of all runs")
    second = np.flatnonzero(found.number == 1)
    same = found.candidate[second] == found.candidate[second - 1]
    agree, chances = np.bincount(same, minlength=2), np.array([1.0 - 1.0 / size, 1.0 / size])
    yield from known_cases(agree, chances, confidence, "runs 0 and 1 choose the same")


# --- Training -------------------------------------------------------------------------


@JX.identity("JX-Search-training", _PLACE)
def below(
    *,
    x: Annotated[float, number("in units of C")] = 1.0,
    noise_multiplier: AnyNoise = 0.7,
    person: Annotated[str, _PERSON] = "there",
) -> float:
    """Every run trains as planned: its noisy sum along one person's gradient has the law that
    follows from the candidate's sigma, C, learning rate, batch size and steps.

    Returns P[a run's noisy sum <= x C], for two batches of half the data.
    """
    return float(sum_cdf(np.asarray(x), noise_multiplier, 0.5, 2, person == "there"))


@below.bounds(tolerance=0.0)
def training_cases(budget):
    from jaxsel.families.private_training.small_search import plan, sums

    kinds, settings = ("canary", "nobody"), plan().candidates
    confidence = 1.0 - (1.0 - CONFIDENCE) / (len(kinds) * len(settings))
    for kind in kinds:
        found = searched(kind, budget)
        for place, setting in enumerate(settings):

            def cdf(x, setting=setting, present=kind == "canary"):
                rate = setting.batch_size / plan().training_size
                return sum_cdf(x, setting.noise_multiplier, rate, setting.steps, present)

            own = sums(found)[found.candidate == place]
            point = {
                "noise_multiplier": setting.noise_multiplier,
                "person": "there" if kind == "canary" else "absent",
            }
            yield from law_cases(own, cdf, confidence, "x", f"{kind}, {setting}", **point)


# --- Scores ---------------------------------------------------------------------------


@JX.identity("JX-Search-scores", _PLACE)
def score(*, x: Images = 3.0, correct: Correct = 3, score_noise: ScoreNoise = 1.0) -> float:
    """A run's score is the number of held-out images that it labels correctly, plus discrete
    Gaussian noise of the planned sigma.

    Returns P[a run's noisy score <= x].
    """
    return float(score_cdf(x, correct, score_noise))


@score.bounds(tolerance=0.0)
def score_cases(budget):
    from jaxsel.families.private_training.small_search import RIGHT, plan

    for kind, correct in (("right", RIGHT), ("wrong", RIGHT - 1)):
        found = searched(kind, budget)
        yield from law_cases(
            found.score,
            lambda x, correct=correct: score_cdf(x, correct, plan().score_noise),
            1.0 - (1.0 - CONFIDENCE) / 2.0,
            "x",
            f"{correct} right labels of {plan().validation_size}",
            correct=correct,
            score_noise=plan().score_noise,
        )


@JX.identity("JX-Search-release", _PLACE)
def released(
    *, x: Images = 3.0, correct: Correct = 3, score_noise: ScoreNoise = 1.0, mean: Mean = 3.0
) -> float:
    """The released score is the highest of K: its distribution function is the generating function
    of K at the distribution function of one run's score."""
    below = score_cdf(x, correct, score_noise)
    return float(geometric(1.0 / mean).pgf(np.asarray(below)))


@released.bounds(tolerance=0.0)
def release_cases(budget):
    from jaxsel.families.private_training.small_search import MEAN_RUNS, RIGHT, plan

    law = geometric(1.0 / MEAN_RUNS)
    found = searched("right", budget)
    yield from law_cases(
        found.score[found.winner],
        lambda x: law.pgf(score_cdf(x, RIGHT, plan().score_noise)),
        CONFIDENCE,
        "x",
        "released scores",
        correct=RIGHT,
        score_noise=plan().score_noise,
        mean=MEAN_RUNS,
    )


# --- Independence ---------------------------------------------------------------------


@JX.identity("JX-Search-independence", _PLACE)
def correlation(
    *, pairs: Annotated[int, whole("of numbers", at_least=4, at_most=1e12)] = 1000
) -> float:
    """Noise of training and noise of scores are independent of each other, between runs, and
    between searches.

    Returns the |correlation| that independent normal numbers exceed with probability 1e-6.
    """
    freedom = pairs - 2
    limit = scipy.stats.t.isf((1.0 - CONFIDENCE) / 2.0, freedom)
    return float(limit / math.sqrt(freedom + limit**2))


@correlation.bounds()
def independence_cases(budget):
    from jaxsel.families.private_training.small_search import sums

    found = searched("right", budget)
    # Without the canary both the noisy sums and the scores are noise around a constant.
    moved, score = sums(found), found.score
    first, second = (np.flatnonzero(found.number == run) for run in (0, 1))
    pairs = {
        "training noise of runs 0 and 1": (moved[second - 1], moved[second]),
        "score noise of runs 0 and 1": (score[second - 1], score[second]),
        "training and score noise of a run": (moved[first], score[first]),
        "training noise, next search": (moved[first[1:]], moved[first[:-1]]),
        "score noise, next search": (score[first[1:]], score[first[:-1]]),
        "training noise of a run and score noise of the next": (moved[second - 1], score[second]),
    }
    for what, (a, b) in pairs.items():
        seen = abs(float(np.corrcoef(a, b)[0, 1]))
        # Each may exceed its limit with probability 1e-6, and so any of the six with 6e-6 at most.
        yield {"pairs": a.size}, seen, what
    # The squared correlation of independent normal numbers has a beta law.
    square = scipy.stats.beta.isf(1.0 - CONFIDENCE, 0.5, (first.size - 2) / 2.0)
    yield {"pairs": first.size}, math.sqrt(square), "its exact law"


# --- One by one -----------------------------------------------------------------------


@JX.identity(
    "JX-Search-alone",
    _PLACE,
    loose="its number is a difference of 0, and no multiple of 0 is another",
)
def nothing() -> float:
    """A search that runs alone (jaxsel tune) and the one of the same seed among many (as in these
    claims) release the same winner.

    Returns 0, the difference between their winners.
    """
    return 0.0


@nothing.equals(tolerance=1e-5)
def alone_cases(budget):
    from jaxsel.families.private_training.many_searches import many_searches
    from jaxsel.families.private_training.one_parameter_network import OneParameterNetwork
    from jaxsel.families.private_training.small_search import images, plan
    from jaxsel.search.tune import private_search, train_runs

    # The candidates differ in their number of steps; what they cost does not matter here, and is
    # quick to prove at a small delta.
    first, second = plan().candidates
    both = plan()._replace(candidates=(first, second._replace(steps=3)), delta=1e-6)
    people = images("canary")
    seeds = [(budget.seed + i) % 2**64 for i in range(4)]
    together = many_searches(both, people, OneParameterNetwork(), seeds)
    for place, seed in enumerate(seeds):
        search = private_search(both, seed=seed)
        train_runs(search, both, people, OneParameterNetwork())
        alone = search.release(simulation=True)
        winner = together.winner[place]
        where = f"seed {seed}"
        chosen = both.candidates[together.candidate[winner]]
        trace = float(together.params["trace"][winner, 0])
        differences = {
            "winner": float(chosen != alone.candidate),
            "its score": abs(float(together.score[winner]) - alone.score),
            "its parameter": abs(trace - float(alone.outcome["trace"][0])),
        }
        for what, difference in differences.items():
            yield {}, difference, f"{what}, {where}"
