"""What tuning is worth at equal total privacy: real data, private training, whole searches.

Softmax regression by noisy gradient descent on scikit-learn's handwritten digits and breast
cancer. Records are scaled to norm 1, each by itself, so that nothing is fitted beforehand; one
half trains, a quarter is scored to rank the runs, a quarter tests the winner. T steps of full
gradients with noise sigma sqrt(T) times the clipping norm are one Gaussian mechanism of noise
sigma, whatever the step size, the clipping norm and T: these are what is tuned. A score is the
number of correct labels, with noise sigma, too. So the records that train and those that are
scored have the same guarantee, and each way of tuning has the sigma that keeps it at the total.

Each candidate is trained with several seeds; a search draws both. ``run`` makes the table, and
``load`` reads the one stored here, made by ``python -m sims.data.equal_privacy >
sims/data/equal_privacy.json``.
"""

import datetime
import functools
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxsel.host.progress import progress_bar
from jaxsel.repetitions import Repetitions, as_law

STORED = Path(__file__).parent / "equal_privacy.json"
DATA = ("digits", "breast_cancer")
EPSILONS = (0.1, 1.0, 8.0)
DELTA = 1e-5
MEAN = 10  # E[K] of the laws
PLANNED = 20  # runs of the grid, and of a person who looks at scores
STEP_SIZES = tuple(np.geomspace(0.1, 100.0, 7).round(3).tolist())
CLIPS = (0.1, 0.4, math.sqrt(2.0))
STEPS = (5, 25, 100)
# No gradient is longer than sqrt(2) on records of norm 1, and the loss is 1/2-smooth.
RULE = (2.0, math.sqrt(2.0), 25)
SEEDS, SEARCHES = 20, 100_000
_NEAR = 0.02  # of the test images: what counts as nearly the best


class Candidate(NamedTuple):
    """What is tuned."""

    step_size: float
    clip: float
    steps: int


def candidates() -> list[Candidate]:
    """All candidates, poor ones included, and the rule of thumb last."""
    grid = [Candidate(*each) for each in itertools.product(STEP_SIZES, CLIPS, STEPS)]
    return [*grid, Candidate(*RULE)]


class Parts(NamedTuple):
    """A data set in three parts: (records of norm at most 1, labels) each."""

    train: tuple[np.ndarray, np.ndarray]
    scored: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    classes: int


@functools.cache
def parts(name: str) -> Parts:
    """A data set of scikit-learn, split by a fixed seed."""
    from sklearn import datasets

    found: Any = getattr(datasets, f"load_{name}")()
    # The ranges of both are published with them: 0 to 16, and a table of 30 least and largest.
    low, high = (0.0, 16.0) if name == "digits" else (found.data.min(0), found.data.max(0))
    x = (found.data - low) / (high - low)
    x = x if name == "digits" else 2.0 * x - 1.0
    x = np.concatenate([x, np.ones((len(x), 1))], axis=1)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(x))
    half, quarter = len(x) // 2, len(x) // 4
    places = np.split(order, [half, half + quarter])
    one, two, three = ((x[place].astype(np.float32), found.target[place]) for place in places)
    return Parts(one, two, three, int(found.target.max()) + 1)


def train(data: Parts, candidate: Candidate, sigma: float, seeds: int, seed: int) -> np.ndarray:
    """Correct labels of models of several seeds, Int["seeds 2"]: scored and test records."""
    generator = np.random.default_rng([seed, int(1e6 * sigma)])
    x, labels = data.train
    n, d = x.shape
    target = np.eye(data.classes, dtype=np.float32)[labels][:, None, :]
    weights = np.zeros((d, seeds, data.classes), np.float32)
    norms = np.linalg.norm(x, axis=1)[:, None, None]
    spread = np.float32(sigma * math.sqrt(candidate.steps) * candidate.clip)
    for _ in range(candidate.steps):
        error = _probabilities(x, weights) - target
        length = norms * np.linalg.norm(error, axis=2, keepdims=True)
        error *= np.minimum(1.0, candidate.clip / np.maximum(length, 1e-12))
        gradient = np.tensordot(x, error, (0, 0))
        if spread:
            gradient += spread * generator.standard_normal(gradient.shape, np.float32)
        weights -= np.float32(candidate.step_size / n) * gradient
    found = [
        (np.tensordot(held, weights, 1).argmax(axis=2) == truth[:, None]).sum(axis=0)
        for held, truth in (data.scored, data.test)
    ]
    return np.stack(found, axis=1)


def _probabilities(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    logits = np.tensordot(x, weights, 1)
    logits -= logits.max(axis=2, keepdims=True)
    np.exp(logits, out=logits)
    return logits / logits.sum(axis=2, keepdims=True)


# --- Ways of tuning -------------------------------------------------------------------------


class Way(NamedTuple):
    """A way of tuning.

    Attributes:
      title: for people.
      sigma: epsilon -> the noise of one run at which the whole is (epsilon, delta)-DP.
      search: (table of correct labels, noise of scores, searches, generator) -> test labels of
        each winner; -1 where nothing is released.
    """

    title: str
    sigma: Callable[[float], float]
    search: Callable[[np.ndarray, float, int, np.random.Generator], np.ndarray]


def _least_sigma(epsilon_of: Callable[[float], float], epsilon: float) -> float:
    """The least noise whose cost is at most epsilon, to a thousandth."""
    low, high = 0.05, 0.1
    while epsilon_of(high) > epsilon:
        low, high = high, 2.0 * high
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if epsilon_of(middle) > epsilon else (low, middle)
    return high


@functools.cache
def _sigma_of_law(law: Repetitions | str, epsilon: float) -> float:
    import jaxsel

    def cost(sigma: float) -> float:
        base = f"gaussian:noise_multiplier={sigma!r}"
        return jaxsel.account(base, law, DELTA, attain=False).epsilon

    return _least_sigma(cost, epsilon)


@functools.cache
def _sigma_of_runs(runs: int, epsilon: float) -> float:
    from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon

    return _least_sigma(lambda sigma: gaussian_epsilon(DELTA, sigma / math.sqrt(runs)), epsilon)


@functools.cache
def _optimal(epsilon: float) -> tuple[Repetitions, float]:
    """The law of K of the best winner with E[K] <= MEAN, and its noise."""
    import jaxsel

    found = jaxsel.plan("gaussian", epsilon=epsilon, delta=DELTA, runs=MEAN, optimal=True)
    return found.chosen.law, found.chosen.noise


def _random_search(
    law: Repetitions | str,
    table: np.ndarray,
    sigma: float,
    searches: int,
    generator: np.random.Generator,
) -> np.ndarray:
    """The best of K random candidates."""
    return _winners(table, _counts(as_law(law), searches, generator), sigma, generator)


def _counts(law: Repetitions, searches: int, generator: np.random.Generator) -> np.ndarray:
    """K of each search, by inversion of its distribution function."""
    most = 1
    while float(law.cdf(np.array(most))) < 1.0 - 1e-9:
        most *= 2
    below = np.asarray(law.cdf(np.arange(most + 1)), float)
    return np.searchsorted(below, generator.random(searches), side="right").clip(max=most)


def _winners(
    table: np.ndarray, counts: np.ndarray, sigma: float, generator: np.random.Generator
) -> np.ndarray:
    """Test labels of the best of K runs each, by a noisy score; -1 for none."""
    total = int(counts.sum())
    models, seeds, _ = table.shape
    drawn = table[generator.integers(0, models, total), generator.integers(0, seeds, total)]
    noisy = drawn[:, 0] + generator.normal(size=total) * sigma
    owner = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((noisy, owner))
    ends = np.cumsum(counts)
    found = np.full(len(counts), -1)
    made = counts > 0
    found[made] = drawn[order[ends[made] - 1], 1]
    return found


def _grid(
    table: np.ndarray, sigma: float, searches: int, generator: np.random.Generator
) -> np.ndarray:
    """The best of so many distinct candidates, drawn beforehand."""
    models, seeds, _ = table.shape
    found = np.empty(searches, int)
    for place in range(searches):
        chosen = generator.permutation(models)[:PLANNED]
        rows = table[chosen, generator.integers(0, seeds, len(chosen))]
        noisy = rows[:, 0] + generator.normal(size=len(chosen)) * sigma
        found[place] = rows[noisy.argmax(), 1]
    return found


def _adaptive(
    table: np.ndarray, sigma: float, searches: int, generator: np.random.Generator
) -> np.ndarray:
    """Half of the runs at random, and then one step in the grid away from the best so far."""
    shape = (len(STEP_SIZES), len(CLIPS), len(STEPS))
    seeds = table.shape[1]
    found = np.empty(searches, int)
    for place in range(searches):
        best = (-math.inf, 0, 0)
        for run in range(PLANNED):
            model = int(generator.integers(math.prod(shape)))
            if run >= PLANNED // 2:
                at = [int(one) for one in np.unravel_index(best[1], shape)]
                axis = int(generator.integers(3))
                step = int(generator.choice((-1, 1)))
                at[axis] = min(max(at[axis] + step, 0), shape[axis] - 1)
                model = int(np.ravel_multi_index(at, shape))
            scored, tested = table[model, generator.integers(seeds)]
            best = max(best, (scored + generator.normal() * sigma, model, tested))
        found[place] = best[2]
    return found


def _one_run(
    table: np.ndarray, sigma: float, searches: int, generator: np.random.Generator
) -> np.ndarray:
    """The rule of thumb, whose score nobody needs."""
    del sigma
    return table[-1, generator.integers(0, table.shape[1], searches), 1]


def ways(epsilon: float) -> dict[str, Way]:
    """Every way of tuning by name."""
    laws = {
        "geometric": ("geometric K", f"geometric:mean={MEAN}"),
        "poisson": ("Poisson K", f"poisson:mean={MEAN}"),
    }
    found = {"rule": Way("one run by a rule", functools.partial(_sigma_of_runs, 1), _one_run)}
    for name, (title, law) in laws.items():
        sigma = functools.partial(_sigma_of_law, law)
        found[name] = Way(title, sigma, functools.partial(_random_search, law))
    best, noise = _optimal(epsilon)
    found["optimal"] = Way("optimal K", lambda _: noise, functools.partial(_random_search, best))
    runs = functools.partial(_sigma_of_runs, PLANNED)
    found["grid"] = Way(f"{PLANNED} of a grid, all released", runs, _grid)
    found["adaptive"] = Way(f"{PLANNED} by looking at scores", runs, _adaptive)
    return found


# --- The table ------------------------------------------------------------------------------


def _table(data: Parts, sigma: float, seeds: int, seed: int) -> np.ndarray:
    """Correct labels of every candidate and seed, Int["candidates seeds 2"]."""
    every = enumerate(candidates())
    return np.stack([train(data, one, sigma, seeds, seed + place) for place, one in every])


def _row(
    table: np.ndarray, way: Way, sigma: float, searches: int, seed: int, best: int, size: int
) -> dict[str, Any]:
    generator = np.random.default_rng(seed)
    # The rule is no candidate of a search.
    given = table if way.search is _one_run else table[:-1]
    won = way.search(given, sigma, searches, generator)
    accuracy = np.maximum(won, 0) / size
    # Over training seeds: the searches again on tables of seeds drawn with replacement.
    medians = []
    for _ in range(40):
        drawn = given[:, generator.integers(0, table.shape[1], table.shape[1])]
        medians.append(np.median(way.search(drawn, sigma, searches // 20, generator)) / size)
    low, high = np.quantile(medians, [0.025, 0.975])
    return {
        "title": way.title,
        "sigma": round(sigma, 4),
        "quantiles": [round(float(q), 4) for q in np.quantile(accuracy, [0.1, 0.5, 0.9])],
        "median_interval": [round(float(low), 4), round(float(high), 4)],
        "near_best": round(float(np.mean(won >= best - _NEAR * size)), 4),
        "nothing": round(float(np.mean(won < 0)), 6),
    }


def run(
    *,
    seeds: int = SEEDS,
    searches: int = SEARCHES,
    seed: int = 0,
    data: Sequence[str] = DATA,
    epsilons: Sequence[float] = EPSILONS,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Trains every candidate at every noise, and searches.

    Args:
      seeds: models of each candidate.
      searches: of each way; those that look at scores are a twentieth as many.
      seed: of all randomness.
      data, epsilons: what is tried.
      progress: shows a progress bar; by default on a terminal.
    """
    rows: list[dict[str, Any]] = []
    known: dict[tuple[str, float], np.ndarray] = {}
    best: dict[str, int] = {}
    cases = list(itertools.product(data, epsilons))
    with progress_bar(len(cases), 0, progress, unit="cells") as advance:
        for name, epsilon in cases:
            given = parts(name)
            size = len(given.test[1])
            if name not in best:
                free = _table(given, 0.0, 1, seed)[:, 0]
                best[name] = int(free[free[:, 0].argmax(), 1])
            for way_name, way in ways(epsilon).items():
                sigma = way.sigma(epsilon)
                key = (name, round(sigma, 6))
                if key not in known:
                    known[key] = _table(given, sigma, seeds, seed)
                few = searches // 20 if way.search in (_grid, _adaptive) else searches
                row = _row(known[key], way, sigma, few, seed, best[name], size)
                rows.append({"data": name, "epsilon": epsilon, "way": way_name, **row})
            advance(1)
    return {
        "name": "equal-privacy",
        "date": datetime.date.today().isoformat(),
        "versions": {one: metadata.version(one) for one in ("numpy", "scikit-learn", "jaxsel")},
        "delta": DELTA,
        "mean": MEAN,
        "runs": PLANNED,
        "candidates": len(candidates()) - 1,
        "seeds": seeds,
        "searches": searches,
        "best": {name: round(best[name] / len(parts(name).test[1]), 4) for name in data},
        "tested": {name: len(parts(name).test[1]) for name in data},
        "near": _NEAR,
        "rows": rows,
    }


def load(path: Path = STORED) -> Mapping[str, Any]:
    """The stored table."""
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The document as JSON, a row on a line."""
    head = {name: value for name, value in document.items() if name != "rows"}
    yield json.dumps(head, indent=1)[:-2] + ',\n "rows": ['
    rows = document["rows"]
    for place, row in enumerate(rows):
        yield "  " + json.dumps(row) + ("," if place + 1 < len(rows) else "")
    yield " ]\n}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(_lines(run())) + "\n")
