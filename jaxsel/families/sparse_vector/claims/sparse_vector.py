"""AboveThreshold, Sparse, and the sparse vector of Lyu, Su & Li: what holds for them.

The baselines of Cohen et al. 2022, Section 4. Dwork & Roth 2014, "The algorithmic
foundations of differential privacy", Section 3.6; Lyu, Su & Li 2017, "Understanding the
sparse vector technique for differential privacy". Exact epsilons of constructed and of
random pairs of inputs, under general and under monotone neighbours.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import optimize, stats

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most, equal
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_integer, check_interval, check_positive
from jaxsel.families.sparse_vector import bounds, patterns, profiles, stopping_laws
from jaxsel.families.sparse_vector.patterns import SparseNoise

_ROTH = "Dwork & Roth 2014"
_LYU = "Lyu, Su & Li 2017"
_GENERAL, _MONOTONE = Relation.GENERAL, Relation.MONOTONE
_LONG = 1000  # queries at which the worst pairs have all but reached their limit
_ATTAINED = 0.999

# (generator) -> (proven epsilon, noise, settings in words)
Drawn = Callable[[np.random.Generator], tuple[float, SparseNoise, str]]


# --- Pairs of inputs ------------------------------------------------------------------


def pair_cases(
    draw: Drawn, relation: Relation, most: int = 60
) -> Callable[[Budget], Iterator[Case]]:
    """(proven, exact epsilon) on the worst pairs and on random ones.

    Args:
      draw: settings of one case.
      relation: of the neighbours.
      most: how many random cases at most.
    """

    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for number in range(min(budget.cases, most) + 6):
            proven, noise, words = draw(generator)
            if number < 6:
                below = (1, 3, 10, 30, 10, 3)[number]
                first, second = profiles.worst_pair(
                    below, noise.cutoff, relation, redrawn=noise.redrawn
                )
                where = f"worst pair of {below} rising queries an answer"
            else:
                first, second = _random_pair(generator, relation)
                where = f"levels {first.tolist()} and {second.tolist()}"
            noise = noise._replace(cutoff=min(noise.cutoff, first.size))
            exact = profiles.pair_epsilon(first, second, noise)
            yield proven, exact, f"{words}, {where}"

    return cases


def _random_pair(generator: np.random.Generator, relation: Relation):
    size = int(generator.integers(1, 8))
    first = generator.normal(0.0, 3.0, size)
    moves = generator.uniform(-1.0, 1.0, size)
    if generator.uniform() < 0.5:
        moves = np.sign(moves)
    if relation is _MONOTONE:
        moves = np.abs(moves) * generator.choice([-1.0, 1.0])
    return first, first + moves


def tight_cases(draw: Drawn, relation: Relation) -> Callable[[Budget], Iterator[Case]]:
    """(almost the proven epsilon, loss of the worst pattern of a long worst pair)."""

    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for _ in range(min(budget.cases, 20)):
            proven, noise, words = draw(generator)
            pair = profiles.worst_pair(
                _LONG, noise.cutoff, relation, redrawn=noise.redrawn
            )
            ends, blocks = (1, noise.cutoff) if noise.redrawn else (noise.cutoff, 1)
            above = np.tile(np.repeat([False, True], [_LONG, ends]), blocks)
            logs = [patterns.pattern_log_probability(row, above, noise) for row in pair]
            where = f"{_LONG} rising queries an answer"
            yield _ATTAINED * proven, abs(logs[0] - logs[1]), f"{words}, {where}"

    return cases


def _epsilons(generator: np.random.Generator) -> float:
    return float(generator.choice([0.1, 0.5, 1.0, 2.0, 4.0]))


# --- AboveThreshold and Sparse --------------------------------------------------------


def _epsilon(*, epsilon: float = 1.0) -> float:
    """Pure epsilon of the algorithm, as calibrated.

    Args:
      epsilon: that its noise scales are set by, > 0.
    """
    return check_positive("epsilon", epsilon)


def _monotone(*, epsilon: float = 1.0, scale: float = 4.0) -> float:
    """Pure epsilon (1/2 + 1/s) epsilon for monotone neighbours.

    Args:
      epsilon: that the noise scales are set by, > 0.
      scale: s of the queries' noise Lap(s/epsilon), s c with c answers, > 0.
    """
    return check_positive("epsilon", epsilon) * (
        0.5 + 1.0 / check_positive("scale", scale)
    )


def _above_threshold(generator) -> tuple[float, SparseNoise, str]:
    epsilon = _epsilons(generator)
    return epsilon, bounds.above_threshold_noise(epsilon), f"{epsilon=}"


def _sparse(generator) -> tuple[float, SparseNoise, str]:
    epsilon, cutoff = _epsilons(generator), int(generator.integers(1, 4))
    noise = bounds.sparse_noise(epsilon, cutoff)
    return epsilon, noise, f"{epsilon=}, c={cutoff}"


def _sparse_of_two(generator) -> tuple[float, SparseNoise, str]:
    epsilon, cutoff = _epsilons(generator), int(generator.integers(1, 3))
    return epsilon, bounds.sparse_noise(epsilon, cutoff), f"{epsilon=}, c={cutoff}"


def _on_monotone(draw: Drawn) -> Drawn:
    """The same mechanism, or the one with half the query noise, on monotone pairs."""

    def drawn(generator):
        epsilon, noise, words = draw(generator)
        scale = float(generator.choice([2.0, 4.0]))
        noise = noise._replace(query_scale=noise.query_scale * scale / 4.0)
        return _monotone(epsilon=epsilon, scale=scale), noise, f"{words}, s={scale}"

    return drawn


def _advanced(*, delta: float = 1e-6) -> float:
    """delta, at epsilon, of Sparse with the noise of advanced composition.

    Args:
      delta: that its noise scales are set by, in (0, 1).
    """
    return probability("delta", delta)


def _advanced_cases(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        epsilon = float(generator.uniform(0.01, 1.0))
        delta = float(10.0 ** generator.uniform(-12.0, -0.01))
        cutoff = int(10.0 ** generator.uniform(0.0, 4.0))
        noise = bounds.sparse_noise(epsilon, cutoff, delta=delta)
        run = bounds.sparse_vector_epsilon(noise._replace(cutoff=1), _GENERAL)
        # The worst composition of c pure mechanisms is randomised response, c times.
        truths = np.arange(cutoff + 1)
        loss = (2 * truths - cutoff) * run
        mass = stats.binom.pmf(truths, cutoff, 1.0 / (1.0 + math.exp(-run)))
        spent = -np.sum(mass * np.expm1(np.minimum(0.0, epsilon - loss)))
        where = f"{epsilon=!r}, {delta=!r}, c={cutoff}, worst composition"
        yield _advanced(delta=delta) / delta, float(spent) / delta, where


# --- Accuracy -------------------------------------------------------------------------


def _accuracy(
    *, epsilon: float = 1.0, queries: int = 1000, beta: float = 0.05
) -> float:
    """alpha = 8 (log k + log(2/beta))/epsilon.

    Args:
      epsilon: of AboveThreshold, > 0.
      queries: k, at least 1.
      beta: chance of a wrong answer, in (0, 1).
    """
    return bounds.above_threshold_accuracy(epsilon, queries, beta)


def _sparse_accuracy(
    *, epsilon: float = 1.0, cutoff: int = 3, queries: int = 1000, beta: float = 0.05
) -> float:
    """alpha = 8 c (log k + log(2c/beta))/epsilon.

    Args:
      epsilon: of Sparse, > 0.
      cutoff: c, at least 1.
      queries: k, at least 1.
      beta: chance of a wrong answer, in (0, 1).
    """
    return bounds.sparse_accuracy(epsilon, cutoff, queries, beta)


def _accuracy_cases(largest: int) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for _ in range(min(budget.cases, 40)):
            epsilon = _epsilons(generator)
            queries = int(10.0 ** generator.uniform(0.0, 2.7))
            cutoff = int(generator.integers(1, largest + 1))
            beta = float(10.0 ** generator.uniform(-6.0, -0.01))
            alpha = bounds.sparse_accuracy(epsilon, cutoff, queries, beta)
            levels = np.full(queries, -alpha * (1.0 + 1e-12))
            near = min(int(generator.integers(0, cutoff + 1)), queries)
            places = generator.choice(queries, near, replace=False)
            if largest == 1:
                places = np.full(near, queries - 1)  # only the last may be near
            heights = generator.choice([-1.0, 0.0, 1.0, 1.0 + 1e-12], near)
            levels[places] = alpha * heights
            noise = bounds.sparse_noise(epsilon, cutoff)
            wrong = 1.0 - stopping_laws.right_probability(levels, noise, alpha)
            where = f"{epsilon=}, c={cutoff}, k={queries}, near {heights * alpha}"
            yield beta, wrong, f"{where}, beta={beta!r}"

    return cases


# --- One noised threshold -------------------------------------------------------------


def _equal(*, scale: float = 1.0) -> float:
    """Pure epsilon 2/b for monotone neighbours of AboveThreshold with equal noises.

    Args:
      scale: b of both Laplace noises, > 0.
    """
    return 2.0 / check_positive("scale", scale)


def _equal_noise(generator) -> tuple[float, SparseNoise, str]:
    scale = float(generator.choice([0.3, 1.0, 3.0, 10.0]))
    return _equal(scale=scale), SparseNoise(scale, scale), f"b={scale}"


def _lyu(relation: Relation) -> Drawn:
    def draw(generator):
        epsilon, cutoff = _epsilons(generator), int(generator.integers(1, 4))
        share = float(generator.choice([0.2, 0.5, bounds.good_share(cutoff, relation)]))
        noise = bounds.lyu_su_li_noise(epsilon, cutoff, relation, share)
        return epsilon, noise, f"{epsilon=}, c={cutoff}, {share=}"

    return draw


def _lyu_either(generator) -> tuple[float, SparseNoise, str]:
    """For monotone neighbours: with the noise meant for them, or for general ones."""
    epsilon, cutoff = _epsilons(generator), int(generator.integers(1, 4))
    meant = generator.choice([0, 1])
    noise = bounds.lyu_su_li_noise(epsilon, cutoff, (_GENERAL, _MONOTONE)[meant])
    proven = _monotone(epsilon=epsilon, scale=(4.0, 2.0)[meant])
    return proven, noise, f"{epsilon=}, c={cutoff}, s={(4.0, 2.0)[meant]}"


def _share(relation: Relation) -> Callable[..., float]:
    def evaluate(*, cutoff: int = 10) -> float:
        """Share of epsilon for the threshold that has the least variance.

        Args:
          cutoff: c, at least 1.
        """
        return bounds.good_share(cutoff, relation)

    return evaluate


def _share_cases(relation: Relation) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        for cutoff in (1, 2, 3, 10, 100, 1000)[: budget.cases]:

            def deviation(share: float, cutoff=cutoff) -> float:
                noise = bounds.lyu_su_li_noise(1.0, cutoff, relation, share)
                return math.hypot(noise.threshold_scale, noise.query_scale)

            best = optimize.minimize_scalar(
                deviation, bounds=(1e-6, 1.0 - 1e-6), method="bounded",
                options={"xatol": 1e-10},
            )  # fmt: skip
            yield bounds.good_share(cutoff, relation), float(best.x), f"c={cutoff}"

    return cases


def _chosen(*, beta: float = 0.05) -> float:
    """Chance beta that the exponential mechanism misses the one good query.

    Args:
      beta: in (0, 1).
    """
    return probability("beta", beta)


def _settings(budget: Budget) -> Iterator[tuple[float, int, float]]:
    generator = np.random.default_rng(budget.seed)
    for _ in range(min(budget.cases, 200)):
        queries = int(10.0 ** generator.uniform(0.5, 6.0))
        yield _epsilons(generator), queries, float(10.0 ** generator.uniform(-6, -0.4))


def _chosen_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, queries, beta in _settings(budget):
        alpha = bounds.exponential_accuracy(epsilon, queries, beta)
        # weights e^(epsilon f/2): the good query is 2 alpha above the others
        missed = (queries - 1) / (math.exp(epsilon * alpha) + queries - 1)
        yield beta, missed, f"{epsilon=}, k={queries}, beta={beta!r}"


def _eighth(*, epsilon: float = 1.0, queries: int = 1000, beta: float = 0.05) -> float:
    """An eighth of the alpha that is proven for AboveThreshold.

    Args:
      epsilon: > 0.
      queries: k, at least 2.
      beta: in (0, 1).
    """
    check_interval("queries", check_integer("queries", queries, 2), 1, math.inf)
    return bounds.above_threshold_accuracy(epsilon, queries, beta) / 8.0


def _eighth_cases(budget: Budget) -> Iterator[Case]:
    for epsilon, queries, beta in _settings(budget):
        alpha = bounds.exponential_accuracy(epsilon, queries, beta)
        claimed = _eighth(epsilon=epsilon, queries=queries, beta=beta)
        yield claimed, alpha, f"{epsilon=}, k={queries}, beta={beta!r}"


# --- The claims -----------------------------------------------------------------------


def claim(
    name: str, source: str, statement: str, evaluate, check,
    relation: Relation | None = None, **settings,
) -> Claim:  # fmt: skip
    """A privacy claim if it has a relation, else one on utility."""
    kind = "utility" if relation is None else "privacy"
    kind = settings.pop("kind", kind)
    return Claim(name, source, statement, kind, relation, evaluate, check, **settings)


CLAIMS: tuple[Claim, ...] = (
    claim(
        "SVT-AboveThreshold", f"{_ROTH}, Theorem 3.23",
        "AboveThreshold with Lap(2/epsilon) on the threshold and Lap(4/epsilon) on each "
        "query is epsilon-DP.",
        _epsilon, at_most(pair_cases(_above_threshold, _GENERAL)), _GENERAL,
    ),
    claim(
        "SVT-AboveThreshold-monotone", f"{_LYU}, Section 4.3, with c = 1",
        "For monotone neighbours, AboveThreshold with Lap(2/epsilon) on the threshold "
        "and Lap(s/epsilon) on each query is (1/2 + 1/s) epsilon-DP: 3/4 epsilon with "
        "s = 4, epsilon with s = 2.",
        _monotone, at_most(pair_cases(_on_monotone(_above_threshold), _MONOTONE)),
        _MONOTONE,
    ),
    claim(
        "SVT-AboveThreshold-tight", "this project; Dwork & Roth 2014, Theorem 3.23",
        "AboveThreshold loses its epsilon, to within 1/1000, on (0^1000, 1) against "
        "(1^1000, 0).",
        _epsilon, at_least(tight_cases(_above_threshold, _GENERAL)), _GENERAL,
    ),
    claim(
        "SVT-equal-noise-monotone", "this project, for the sketch in Cohen et al. 2022, "
        "Section 1.5.2",
        "With Lap(b) on the threshold and on each query, AboveThreshold is 2/b-DP for "
        "monotone neighbours (3/b for general ones: CL-Sec1.5.2-svt).",
        _equal, at_most(pair_cases(_equal_noise, _MONOTONE)), _MONOTONE,
    ),
    claim(
        "SVT-equal-noise-monotone-tight", "this project, for the sketch in Cohen et al. "
        "2022, Section 1.5.2",
        "With Lap(b) twice, AboveThreshold loses 2/b, to within 1/1000, on 1001 zeros "
        "against (1^1000, 0).",
        _equal, at_least(tight_cases(_equal_noise, _MONOTONE)), _MONOTONE,
    ),
    claim(
        "SVT-Sparse", f"{_ROTH}, Theorem 3.25, with delta = 0",
        "Sparse, AboveThreshold restarted c times with Lap(2c/epsilon) on the threshold "
        "and Lap(4c/epsilon) on queries, is epsilon-DP.",
        _epsilon, at_most(pair_cases(_sparse, _GENERAL, 40)), _GENERAL,
    ),
    claim(
        "SVT-Sparse-monotone", f"this project, as {_LYU}, Section 4.3",
        "For monotone neighbours, Sparse with Lap(2c/epsilon) on the threshold and "
        "Lap(s c/epsilon) on queries is (1/2 + 1/s) epsilon-DP.",
        _monotone, at_most(pair_cases(_on_monotone(_sparse), _MONOTONE, 40)), _MONOTONE,
    ),
    claim(
        "SVT-Sparse-tight", f"this project; {_ROTH}, Theorem 3.25",
        "Sparse loses its epsilon, to within 1/1000, on (0^1000, 1)^c against (1^1000, "
        "0)^c.",
        _epsilon, at_least(tight_cases(_sparse_of_two, _GENERAL)), _GENERAL,
    ),
    claim(
        "SVT-Sparse-advanced", f"{_ROTH}, Theorem 3.25, with delta > 0",
        "Sparse with Lap(s) on the threshold and Lap(2s) on queries, s = sqrt(32 c "
        "log(1/delta))/epsilon, is (epsilon, delta)-DP for epsilon <= 1 (spent delta "
        "over delta, in the worst composition of its runs).",
        _advanced, at_most(_advanced_cases), _GENERAL,
    ),
    claim(
        "SVT-AboveThreshold-accuracy", f"{_ROTH}, Theorem 3.24",
        "If only the last of k queries may lie above the threshold minus alpha = "
        "8 (log k + log(2/beta))/epsilon, AboveThreshold errs by more than alpha with "
        "probability at most beta.",
        _accuracy, at_most(_accuracy_cases(1), 1e-12),
    ),
    claim(
        "SVT-Sparse-accuracy", f"{_ROTH}, Theorem 3.26, with delta = 0",
        "If at most c of k queries lie above the threshold minus alpha = 8 c (log k + "
        "log(2c/beta))/epsilon, Sparse errs by more than alpha in one of its answers "
        "with probability at most beta.",
        _sparse_accuracy, at_most(_accuracy_cases(4), 1e-12),
    ),
    claim(
        "SVT-LSL-Alg1", f"{_LYU}, Algorithms 1 and 7",
        "The sparse vector with Lap(1/epsilon_1) on the threshold, once, and "
        "Lap(2c/epsilon_2) on each query is (epsilon_1 + epsilon_2)-DP.",
        _epsilon, at_most(pair_cases(_lyu(_GENERAL), _GENERAL)), _GENERAL,
    ),
    claim(
        "SVT-LSL-Alg1-monotone", f"{_LYU}, Section 4.3",
        "For monotone neighbours, the sparse vector with Lap(2/epsilon) on the "
        "threshold, once, and Lap(s c/epsilon) on each query is (1/2 + 1/s) epsilon-DP.",
        _monotone, at_most(pair_cases(_lyu_either, _MONOTONE)), _MONOTONE,
    ),
    claim(
        "SVT-LSL-Alg1-tight", f"this project; {_LYU}, Algorithm 7",
        "That sparse vector loses its epsilon, to within 1/1000, on (0^1000, 1^c) against "
        "(1^1000, 0^c).",
        _epsilon, at_least(tight_cases(_lyu(_GENERAL), _GENERAL)), _GENERAL,
    ),
    claim(
        "SVT-LSL-Alg1-monotone-tight", f"this project; {_LYU}, Section 4.3",
        "With Lap(c/epsilon_2) on queries it loses its epsilon, to within 1/1000, on "
        "1000 + c zeros against (1^1000, 0^c).",
        _epsilon, at_least(tight_cases(_lyu(_MONOTONE), _MONOTONE)), _MONOTONE,
    ),
    claim(
        "SVT-LSL-split", f"{_LYU}, Section 4.2",
        "epsilon_1 : epsilon_2 = 1 : (2c)^(2/3) has the least variance of query noise "
        "minus threshold noise.",
        _share(_GENERAL), equal(_share_cases(_GENERAL), 1e-5), kind="identity",
    ),
    claim(
        "SVT-LSL-split-monotone", f"{_LYU}, Section 4.3",
        "For monotone neighbours epsilon_1 : epsilon_2 = 1 : c^(2/3) has the least "
        "variance of query noise minus threshold noise.",
        _share(_MONOTONE), equal(_share_cases(_MONOTONE), 1e-5), kind="identity",
    ),
    claim(
        "SVT-LSL-Sec5-exponential", f"{_LYU}, Section 5",
        "The exponential mechanism misses one query at +alpha among k - 1 at -alpha, "
        "alpha = (log(k - 1) + log((1 - beta)/beta))/epsilon, with probability beta.",
        _chosen, equal(_chosen_cases), kind="identity",
    ),
    claim(
        "SVT-LSL-Sec5-eighth", f"{_LYU}, Section 5",
        "That alpha is at most an eighth of the one proven for AboveThreshold.",
        _eighth, at_most(_eighth_cases),
    ),
)  # fmt: skip
