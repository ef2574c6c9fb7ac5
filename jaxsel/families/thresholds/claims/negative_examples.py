"""What does not work: decreasing thresholds (B.2) and percentiles of the scores (B.3)."""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most, equal
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.percentile.score_percentile_laws import (
    median_loss_lower,
    percentile_law,
    random_rank_loss_lower,
)
from jaxsel.families.thresholds.decreasing_laws import (
    decreasing_threshold_law,
    decreasing_threshold_pure,
    lowest_score_chance,
    thresholds,
)

_PAPER = "Liu & Talwar 2019"


# --- Algorithm 6 ----------------------------------------------------------------------


def _loss(pair: pairs.LawPair, scores, levels: int, gamma: float) -> float:
    """Pure epsilon of Algorithm 6; "nothing" cannot happen with scores >= 0."""
    found = [decreasing_threshold_law(side, scores, levels, gamma) for side in pair]
    return exact_epsilon(found[0][:-1], found[1][:-1])


def _law_value(
    *, success: float = 0.3, middle: float = 0.2, levels: int = 5, gamma: float = 0.1
) -> float:
    """Chance that Algorithm 6 releases the score 0, of scores 1, 1/2 and 0.

    Args:
      success, middle: probabilities of the scores 1 and 1/2.
      levels: R >= 0.
      gamma: in (0, 1].
    """
    law = [success, middle, 1.0 - success - middle]
    return float(decreasing_threshold_law(law, [1.0, 0.5, 0.0], levels, gamma)[2])


def _step_by_step(q, scores, levels: int, gamma: float) -> np.ndarray:
    """The law again, one draw after another, until little is left."""
    alive, out = np.zeros(levels + 2), np.zeros(q.size + 1)
    alive[0] = 1.0
    passes = scores >= np.append(thresholds(levels), np.inf)[:, None]
    for _ in range(100_000):
        if alive[:-1].sum() < 1e-14:
            break
        out[:-1] += q * (alive[:-1] @ passes[:-1])
        failed = alive[:-1] * (~passes[:-1] @ q)
        alive[:-1] = (1.0 - gamma) * failed
        alive[1:] += gamma * failed
    out[-1] = alive[-1]
    return out


def _law_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for number in range(min(budget.cases, 40)):
        size, levels = int(generator.integers(2, 6)), int(generator.integers(0, 12))
        gamma = 1.0 if number == 0 else float(generator.uniform(0.1, 1.0))
        q = generator.dirichlet(np.ones(size))
        scores = generator.integers(-1, 11, size) / 10.0
        seen = _step_by_step(q, scores, levels, gamma)
        found = decreasing_threshold_law(q, scores, levels, gamma)
        for i in range(size + 1):
            where = (
                f"outcome {i}, {q.tolist()}, {scores.tolist()}, R={levels}, {gamma=}"
            )
            yield float(found[i]), float(seen[i]), where


def _hope(*, epsilon: float = 1.0) -> float:
    """Pure epsilon 2 epsilon that Algorithm 1 has, hoped for with falling thresholds.

    Args:
      epsilon: of the base, > 0.
    """
    return 2.0 * check_positive("epsilon", epsilon)


def _hope_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for epsilon in (0.1, 1.0):
        pair = pairs.randomised_response(epsilon)
        for levels in (1, 2, 5, 20):
            seen = _loss(pair, [1.0, 0.0], levels, 0.1)
            where = f"randomised response, epsilon={epsilon:g}, R={levels}, gamma=0.1"
            yield _hope(epsilon=epsilon), seen, where


def _display(*, success: float = 0.3, levels: int = 5, gamma: float = 0.1) -> float:
    """Chance (1-p) gamma^R ((1-p)/(p (1-gamma) + gamma))^R to release the score 0.

    Args:
      success: p, probability of the score 1; else it is 0.
      levels: R >= 0.
      gamma: in (0, 1].
    """
    return lowest_score_chance(success, levels, gamma)


def _lowering_settings(budget: Budget) -> Iterator[tuple[float, int, float]]:
    yield 0.3, 5, 0.1
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        gamma = float(10.0 ** generator.uniform(-3.0, 0.0))
        yield float(generator.uniform(0.0, 1.0)), int(generator.integers(0, 30)), gamma


def _display_cases(budget: Budget) -> Iterator[Case]:
    for p, levels, gamma in _lowering_settings(budget):
        seen = decreasing_threshold_law([p, 1.0 - p], [1.0, 0.0], levels, gamma)[1]
        claimed = _display(success=p, levels=levels, gamma=gamma)
        where = f"p={p!r}, R={levels}, {gamma=}"
        yield math.log(claimed), math.log(float(seen)), f"logarithms, {where}"


def _growth(*, epsilon: float = 1.0, levels: int = 5) -> float:
    """(R + 1) epsilon, a loss that Algorithm 6 has at least.

    Args:
      epsilon: 1 - p is e^epsilon times as large on the other side, > 0.
      levels: R >= 0.
    """
    levels = check_integer("levels", levels, 0)
    return (levels + 1.0) * check_positive("epsilon", epsilon)


def _growth_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for p, levels, gamma in _lowering_settings(budget):
        if not 0.0 < p < 1.0:
            continue
        # Success is likelier on the other side, by no more than e^epsilon either.
        largest = min(-math.log1p(-p), 3.0)
        epsilon = float(generator.uniform(0.05, 1.0)) * largest
        other = -math.expm1(-epsilon) + p * math.exp(-epsilon)
        first, second = (lowest_score_chance(x, levels, gamma) for x in (p, other))
        where = f"p={p!r} and {other!r}, R={levels}, {gamma=}"
        yield _growth(epsilon=epsilon, levels=levels), math.log(first / second), where


def _pure(*, epsilon: float = 1.0, levels: int = 5) -> float:
    """Pure epsilon (2 R + 1) epsilon of Algorithm 6 on scores >= 0.

    Args:
      epsilon: of the base, >= 0.
      levels: R >= 0.
    """
    return decreasing_threshold_pure(epsilon, levels)


def _pure_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(budget.cases):
        epsilon, size = (
            float(generator.uniform(0.05, 2.0)),
            int(generator.integers(2, 6)),
        )
        pair = pairs.random_pure_pair(generator, size, epsilon)
        scores = np.sort(generator.integers(0, 11, size))[::-1] / 10.0
        levels = int(generator.integers(0, 12))
        gamma = float(10.0 ** generator.uniform(-4.0, 0.0))
        where = f"{pair.first.tolist()}, {pair.second.tolist()}, {scores.tolist()}"
        seen = _loss(pair, scores, levels, gamma)
        yield (
            _pure(epsilon=epsilon, levels=levels),
            seen,
            f"R={levels}, {gamma=}, {where}",
        )
    for epsilon, levels, gamma in ((1.0, 5, 1e-9), (0.1, 50, 1e-9), (2.0, 0, 0.5)):
        pair = pairs.randomised_response(epsilon)
        where = f"randomised response, {epsilon=}, R={levels}, {gamma=}"
        seen = _loss(pair, [1.0, 0.0], levels, gamma)
        yield _pure(epsilon=epsilon, levels=levels), seen, where


def _attained(*, epsilon: float = 1.0, levels: int = 5, gamma: float = 0.1) -> float:
    """Exact loss of Algorithm 6 on randomised response.

    (R + 1) e + R log((e^e + gamma)/(1 + gamma e^e)), e for epsilon, which tends to
    (2 R + 1) e as gamma vanishes.

    Args:
      epsilon: of randomised response, > 0.
      levels: R >= 0.
      gamma: in (0, 1].
    """
    levels = check_integer("levels", levels, 0)
    gamma = check_interval("gamma", gamma, 0.0, 1.0, high_open=False)
    large = math.exp(check_positive("epsilon", epsilon))
    return (levels + 1) * epsilon + levels * math.log(
        (large + gamma) / (1.0 + gamma * large)
    )


def _attained_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _, levels, gamma in _lowering_settings(budget):
        epsilon = float(generator.uniform(0.01, 3.0))
        pair = pairs.randomised_response(epsilon)
        seen = _loss(pair, [1.0, 0.0], levels, gamma)
        claimed = _attained(epsilon=epsilon, levels=levels, gamma=gamma)
        yield claimed, seen, f"randomised response, {epsilon=}, R={levels}, {gamma=}"


# --- Appendix B.3 ---------------------------------------------------------------------


def _shifted(shift: float) -> pairs.LawPair:
    return pairs.bernoulli((1.0 + shift) / 2.0, (1.0 - shift) / 2.0)


def _percentile_loss(shift: float, count: int, rank) -> float:
    """log ratio of the chances to release the worse model."""
    first, second = (percentile_law(side, count, rank)[1] for side in _shifted(shift))
    return math.log(second / first)


def _percentile_hope(*, epsilon: float = 0.2) -> float:
    """Pure epsilon 3 epsilon that random stopping has, hoped for with any number of runs.

    Args:
      epsilon: of one run, > 0.
    """
    return 3.0 * check_positive("epsilon", epsilon)


def _percentile_hope_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for shift in (0.1, 0.5):
        epsilon = 2.0 * math.atanh(shift)
        for rank in ("median", "random"):
            for count in (11, 101, 1001):
                seen = _percentile_loss(shift, count, rank)
                where = f"(1 +- {shift:g})/2, {rank} of {count} runs"
                yield _percentile_hope(epsilon=epsilon), seen, where


def _median(*, shift: float = 0.1, count: int = 101) -> float:
    """Least loss (N/2) log(1/(1 - e^2)) - log 2 of the median of N runs, N odd.

    Args:
      shift: e, the two models having probabilities (1 +- e)/2, in (0, 1).
      count: N.
    """
    return median_loss_lower(count, shift)


def _random_rank(*, shift: float = 0.1, count: int = 101) -> float:
    """Least loss (N/2) log(1/(1 - e^2)) + log(e N/(N + 1)) with a random rank.

    Args:
      shift: e, the two models having probabilities (1 +- e)/2, in (0, 1).
      count: N.
    """
    return random_rank_loss_lower(count, shift)


def _percentile_cases(rank: str, bound):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        settings = [(0.1, 101), (0.1, 1001), (0.01, 10_001), (0.5, 11), (0.5, 1)]
        for _ in range(min(budget.cases, 100)):
            settings.append(
                (float(generator.uniform(0.01, 0.7)), int(generator.integers(1, 400)))
            )
        for shift, count in settings:
            count += rank == "median" and count % 2 == 0
            seen = _percentile_loss(shift, count, rank)
            where = f"(1 +- {shift!r})/2, {rank} of {count} runs"
            yield bound(shift=shift, count=count), seen, where

    return cases


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="LT-Alg6",
        source=f"{_PAPER}, Algorithm 6",
        statement="Algorithm 6 releases x with probability q(x) times the sum over levels "
        "l that x reaches of prod_(l' < l) (1-p_l') gamma/D_l' / D_l, with p_l = "
        "P[score >= 1 - l/R] and D_l = p_l (1-gamma) + gamma.",
        kind="identity",
        relation=None,
        evaluate=_law_value,
        check=equal(_law_cases, 1e-11),
    ),
    Claim(
        id="LT-Alg6-hope",
        source=f"against it {_PAPER}, Appendix B.2",
        statement="Lowering the threshold after failures is as private as Algorithm 1, "
        "2 epsilon, however many thresholds are tried.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_hope,
        check=at_most(_hope_cases),
        holds=False,
        correction="Every threshold costs up to 2 epsilon: LT-Alg6-sharp, LT-B.2-growth.",
    ),
    Claim(
        id="LT-B.2",
        source=f"{_PAPER}, Appendix B.2, display",
        statement="On Bernoulli(p) scores Algorithm 6 releases 0 with probability "
        "(1-p) gamma^R ((1-p)/(p (1-gamma) + gamma))^R.",
        kind="identity",
        relation=None,
        evaluate=_display,
        check=equal(_display_cases, 1e-9),
    ),
    Claim(
        id="LT-B.2-growth",
        source=f"{_PAPER}, Appendix B.2",
        statement="If 1 - p is e^epsilon times as large on one side as on the other, "
        "Algorithm 6 loses at least (R + 1) epsilon on the score 0.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_growth,
        check=at_least(_growth_cases),
    ),
    Claim(
        id="LT-Alg6-sharp",
        source=f"{_PAPER}, Algorithm 6, bounded",
        statement="On an epsilon-DP base with scores >= 0, Algorithm 6 with R levels is "
        "(2 R + 1) epsilon-DP.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_pure,
        check=at_most(_pure_cases),
    ),
    Claim(
        id="LT-Alg6-attained",
        source=f"{_PAPER}, Algorithm 6 on randomised response",
        statement="On randomised response Algorithm 6 loses exactly (R + 1) epsilon + "
        "R log((e^epsilon + gamma)/(1 + gamma e^epsilon)), hence (2 R + 1) epsilon as "
        "gamma vanishes.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_attained,
        check=equal(_attained_cases, 1e-9),
    ),
    Claim(
        id="LT-B.3-hope",
        source=f"against it {_PAPER}, Appendix B.3",
        statement="Releasing the run of median score, or of a random rank up to it, of "
        "N epsilon-DP runs costs at most 3 epsilon, as random stopping does.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_percentile_hope,
        check=at_most(_percentile_hope_cases),
        holds=False,
        correction="The loss grows in proportion to N: LT-B.3, LT-B.3-random-rank.",
    ),
    Claim(
        id="LT-B.3",
        source=f"{_PAPER}, Appendix B.3",
        statement="With two models of probabilities (1 +- e)/2, swapped on the neighbour, "
        "releasing the median of an odd number N of runs loses at least "
        "(N/2) log(1/(1-e^2)) - log 2, without bound.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_median,
        check=at_least(_percentile_cases("median", _median)),
    ),
    Claim(
        id="LT-B.3-random-rank",
        source=f"{_PAPER}, Appendix B.3, last sentence",
        statement="The same with the k-th best of N runs, k uniform on 1 to ceil(N/2): at "
        "least (N/2) log(1/(1-e^2)) + log(e N/(N+1)), without bound.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_random_rank,
        check=at_least(_percentile_cases("random", _random_rank)),
    ),
)
