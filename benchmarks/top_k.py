"""Goal 7: one-shot Gumbel top-k (EM-CDP) among 15,000 candidates with different counts."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy import stats

from benchmarks import peers
from benchmarks.numpy_samplers import new_generator
from benchmarks.results import GoalResult, at_least, missing
from benchmarks.timing import Sampler, Settings, rates, ratio, time_all
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.kernel.engine import Performance, simulate

CANDIDATES = 15_000
# Size of the set, and required speed-up over NumPy and over OpenDP.
_GOALS = ((10, 5.0, 150.0), (100, 3.5, 500.0), (1500, 2.5, None))
_BLOCK = 256  # visits of a block stay in cache
_ROWS = 16
_CHECKED = 1024
_ALPHA = 1e-6
_LEAST_EXPECTED = 5.0


def counts_of(candidates: int = CANDIDATES) -> np.ndarray:
    """Counts of 50/sqrt(rank) noise scales, no two of which are equal."""
    return 50.0 / np.sqrt(np.arange(1.0, candidates + 1.0))


def arrivals(counts: np.ndarray, k: int) -> Sampler:
    """jaxsel's own sampler: complete calls of ``simulate``, with tallies of the hits."""
    mechanism, seeds = exponential_top_k(), itertools.count(1)
    params = {"k": k, "noise_scale": 1.0}

    def run(trials: int):
        performance = Performance(_BLOCK, trials // _BLOCK)
        tallies = simulate(
            mechanism,
            counts,
            params,
            trials=trials,
            seed=next(seeds),
            progress=False,
            performance=performance,
        )
        return tallies.values[0]

    return Sampler(run, _BLOCK)


def _tallied(hits: Callable[[], np.ndarray], block: int, k: int) -> Sampler:
    def run(trials: int) -> np.ndarray:
        tallies = np.zeros(k + 1, dtype=np.int64)
        for _ in range(trials // block):
            tallies += np.bincount(hits(), minlength=k + 1)
        return tallies

    return Sampler(run, block)


def gumbel_argpartition(counts: np.ndarray, k: int) -> Sampler:
    """The direct method: the k largest of counts + Gumbel, in float64; counts are descending."""
    generator = new_generator()
    rows = np.zeros((_ROWS, counts.size))

    def hits():
        values = generator.gumbel(size=rows.shape)
        values += counts
        chosen = np.argpartition(values, -k, axis=1)[:, -k:]
        return np.sum(chosen < k, axis=1)

    return _tallied(hits, _ROWS, k)


def same_law_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """P-value that two tallies of hits come from one law: chi-square, with up to 16 bins.

    The exact law of the hits is out of reach if all counts differ, so samplers are compared
    with each other.
    """
    both = first + second
    # Bins with equal shares of the trials, whatever the law of the hits.
    share = (np.cumsum(both) - both / 2.0) / both.sum()
    bins = np.minimum((share * 16).astype(int), 15)
    table = np.stack([np.bincount(bins, part, 16) for part in (first, second)])
    # The rarest bins, as few as together reach the least expected count, are merged.
    total = table.sum(axis=0)
    order = np.argsort(total)
    least = _LEAST_EXPECTED * total.sum() / min(first.sum(), second.sum())
    rare = int(np.searchsorted(np.cumsum(total[order]), least)) + 1
    merged = table[:, order[:rare]].sum(axis=1, keepdims=True)
    table = np.concatenate([merged, table[:, order[rare:]]], axis=1)
    if table.shape[1] < 2:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, table.shape[1] - 1))


def _checked(samplers: dict[str, Sampler]) -> dict[str, float]:
    """Checks that all competitors have the same law of hits as the direct method."""
    found = {
        # A call of another library takes long, so it makes fewer trials.
        name: sampler.run(_CHECKED if sampler.block >= _ROWS else 16 * sampler.block)
        for name, sampler in samplers.items()
    }
    plain = found["NumPy"]
    p_values = {
        name: same_law_p_value(plain, tallies) for name, tallies in found.items() if name != "NumPy"
    }
    for name, p_value in p_values.items():
        if p_value < _ALPHA:
            raise RuntimeError(f"{name} does not sample its law: p = {p_value:.1e}")
    return p_values


def measure(settings: Settings) -> list[GoalResult]:
    """EM-CDP by arrivals, against NumPy's Gumbel noise and against OpenDP."""
    counts, results = counts_of(), []
    for k, over_numpy, over_opendp in _GOALS:
        samplers = {"arrivals": arrivals(counts, k), "NumPy": gumbel_argpartition(counts, k)}
        title = f"top {k} of {CANDIDATES}, arrivals / "
        absent, word = None, ""
        if over_opendp is not None:
            try:
                once, word = peers.opendp_noisy_top_k(counts, k)
                samplers["OpenDP loop"] = _tallied(
                    lambda once=once, k=k: np.array([np.sum(once() < k)]), 1, k
                )
            except peers.Unavailable as error:
                absent = missing(7, f"{title}OpenDP loop", over_opendp, str(error))
        p_values = _checked(samplers)
        times = time_all(samplers, settings)

        def against(
            name: str,
            other: str,
            threshold: float,
            extra: str,
            times=times,
            p_values=p_values,
            title=title,
        ) -> GoalResult:
            checked = "arrivals" if other == "NumPy" else other
            detail = rates(times, "arrivals", other)
            detail += f"; law against NumPy p = {p_values[checked]:.2g}{extra}"
            found = ratio(times, other, "arrivals")
            return at_least(7, title + name, found, threshold, detail)

        results.append(against("NumPy Gumbel + argpartition", "NumPy", over_numpy, ""))
        if absent is not None:
            results.append(absent)
        elif over_opendp is not None:
            results.append(against("OpenDP loop", "OpenDP loop", over_opendp, f"; {word}"))
    return results
