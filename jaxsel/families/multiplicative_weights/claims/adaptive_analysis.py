"""Claims of Cohen et al. 2022, Theorems 10 and 12, on adaptive data analysis.

The analyst of ``adaptive_analysis`` overfits exact answers, with a law that is known exactly.
Where Theorem 9's or Theorem 11's mechanism answers, with its settings for (epsilon, delta) and
beta, all answers are near the population's. The *bin* of an analysis is the one of 40 equal bins
of [-1, 1] in which its last answer minus the population's lies.
"""

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import scipy

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.claims.errors import max_error, quantile_limit
from jaxsel.families.multiplicative_weights.parameters import Delta, Rows
from jaxsel.families.multiplicative_weights.transfer import Accuracy, transferred
from jaxsel.host.intervals import clopper_pearson
from jaxsel.language.checking import CONFIDENCE, grid
from jaxsel.language.domains import choice, number, probability, whole
from jaxsel.language.papers import CL, JX

Bin = Annotated[int, whole("which of 40, from -1 on", at_least=0)]
Epsilon = Annotated[float, number("with respect to the rows", above=0.0, at_most=50.0)]
Beta = Annotated[float, number("chance of failure for the rows", at_least=2.0**-12, below=1.0)]

Near = Annotated[str, choice(("population", "rows"), "to whose answers they are near")]

_CELLS, _QUERIES = 8, 11  # and the query that the answers suggest


# --- The attack -----------------------------------------------------------------------


_POPULATION = np.array([0.37, 0.29, 0.23, 0.11])
_SAMPLE = 23  # with these shares no proper subset has its exact share of rows
_MIDDLE = 20  # the bin that begins at 0


@CL.utility("CL-Sec1.5.1-attack", "Section 1.5.1, why answers need protection")
def overfitted(*, bin: Bin = 22) -> float:
    """If answers are exact, an analyst who asks a random query, and then for the cells that its
    answer favours, gets a last answer above the population's, by as much as the exact law of 23
    rows says.

    Returns the probability that the last answer minus the population's lies in the bin, which
    reaches from bin/20 - 1 to (bin + 1)/20 - 1.
    """
    return float(_attack_law()[min(bin, 39)])


@functools.cache
def _attack_law() -> np.ndarray:
    """The exact law of the bin, Float["40"], after one exact answer about a random subset.

    The last query is the subset itself if its answer is too large, else the complement.
    """
    law = np.zeros(40)
    counts = np.arange(_SAMPLE + 1)
    for subset in itertools.product((0, 1), repeat=_POPULATION.size):
        share = float(np.dot(subset, _POPULATION))
        gaps = np.abs(counts / _SAMPLE - share)
        bins = np.minimum(np.floor((gaps + 1.0) * 20.0), 39.0).astype(int)
        np.add.at(law, bins, scipy.stats.binom.pmf(counts, _SAMPLE, min(share, 1.0)) / 16.0)
    return law


def _counts(trials: int, seed: int, rows: int, shares: np.ndarray, protection="none", **given):
    """How many analyses have each bin, Int["40"], where one query suggests the last one.

    Args:
      trials, seed: of the simulation.
      rows: n.
      shares: Float["cells"], the population.
      protection: as of ``adaptive_analysis``.
      **given: the parameters that the protection takes.
    """
    from jaxsel.families.multiplicative_weights.adaptive_analysis import adaptive_analysis
    from jaxsel.kernel.engine import simulate

    mechanism, params = adaptive_analysis(rows, protection=protection), {"queries": 1, **given}
    found = simulate(mechanism, shares, params, trials=trials, seed=seed, progress=False)
    return found.values[0]


def _compared(counts: np.ndarray, law: np.ndarray, trials: int, error: float, **point: Any):
    """Cases that each bin's exact probability lies within the confidence limits of its frequency.

    Args:
      counts: Int["40"], how often each bin was seen.
      law: Float["40"], the exact law; bins of probability 0 that were never seen are left out.
      trials: how many were simulated.
      error: the probability with which a bin's limits may miss the truth.
      **point: the claim's other parameters.
    """
    low, high = clopper_pearson(counts, trials, 1.0 - error)
    for place in np.flatnonzero((law > 0.0) | (counts > 0)).tolist():
        where = f"gap from {place / 20.0 - 1.0:.2f} on, {counts[place]} of {trials}"
        bin = {"bin": place} | point

        def below(chance, limit=float(high[place])):
            return limit, chance

        yield bin, below, f"upper limit, {where}"
        yield bin, float(low[place]), f"lower limit, {where}"


@overfitted.bounds(tolerance=0.0)
def attacks(budget):
    trials = max(min(budget.trials, 20_000), 1)
    counts, law = _counts(trials, budget.seed, _SAMPLE, _POPULATION), _attack_law()
    # Subsets of no cell or of all have a gap of 0, up to rounding on either side.
    counts[_MIDDLE] += counts[_MIDDLE - 1]
    counts[_MIDDLE - 1] = 0
    yield from _compared(counts, law, trials, (1.0 - CONFIDENCE) / law.size)


# --- Protected answers: exact laws of one query and the one it suggests ---------------


_SHARES = np.array([0.47, 0.31, 0.22])  # with 4 rows no proper subset has its share
_FEW = 4
_EDGES = np.linspace(-1.0, 1.0, 41)
# Noise, by its name, with the law of SciPy and the scale.
_NOISES = {"laplace": ("laplace", 0.21), "gaussian": ("norm", 0.17)}
_RESTARTS = {
    "threshold": 0.12,
    "rate": 0.8,
    "threshold_scale": 0.1,
    "query_scale": 0.15,
    "answer_scale": 0.23,
}


def _tables() -> Iterator[tuple[float, np.ndarray]]:
    """Every possible table of the few rows: its probability, and the share of each cell in it."""
    for counts in itertools.product(range(_FEW + 1), repeat=_SHARES.size):
        if sum(counts) == _FEW:
            chance = float(scipy.stats.multinomial.pmf(counts, _FEW, _SHARES))
            yield chance, np.array(counts) / _FEW


_SUBSETS = np.array(list(itertools.product((0.0, 1.0), repeat=_SHARES.size)))


def _suggested(query: np.ndarray, over: bool) -> np.ndarray:
    """The last query: the cells with a positive vote.

    Args:
      query: Float["cells"], the only query before it.
      over: whether its answer was above the population's, which makes its cells win.
    """
    return query if over else 1.0 - query


def _binned(noise, truth: float, scale: float, least: float, most: float, share: float):
    """The law of the bin of a noisy answer minus the population's: Float["40"].

    Args:
      noise: of the answer, as a distribution of SciPy.
      truth: the answer without noise.
      scale: of the noise.
      least, most: the interval to which the answer is clipped.
      share: the population's answer.
    """
    ends = share + _EDGES
    reached = noise.cdf((ends - truth) / scale)
    reached = np.where(ends <= least, 0.0, np.where(ends > most, 1.0, reached))
    # What lies beyond the bins counts in the last one on its side.
    reached[0], reached[-1] = 0.0, 1.0
    return np.diff(reached)


def _point(answer: float, share: float) -> np.ndarray:
    """The law of the bin of a certain answer minus the population's ``share``: Float["40"]."""
    place = int(np.clip(np.floor((answer - share + 1.0) * 20.0), 0, 39))
    return np.eye(40)[place]


def _noised_law(protection: str) -> np.ndarray:
    """The exact law of the bin, Float["40"], if each answer has independent noise."""
    named, scale = _NOISES[protection]
    noise = getattr(scipy.stats, named)
    law = np.zeros(40)
    for chance, means in _tables():
        for query in _SUBSETS:
            off = float(query @ (_SHARES - means)) / scale
            for over, part in ((True, noise.sf(off)), (False, noise.cdf(off))):
                last = _suggested(query, over)
                found = _binned(
                    noise, float(last @ means), scale, -math.inf, math.inf, float(last @ _SHARES)
                )
                law += chance / 8.0 * float(part) * found
    return law


def _weights_law(updates: int) -> np.ndarray:
    """The exact law of the bin, Float["40"], if Theorem 9's mechanism answers both queries.

    It is worked out from the text of Dwork & Roth 2014, Section 4.2, and not from what runs, by a
    sum over quantiles of the threshold's noise.

    Args:
      updates: k, how many answers may correct the hypothesis: 1 or 2.
    """
    given, laplace = _RESTARTS, scipy.stats.laplace
    middles = (np.arange(4000) + 0.5) / 4000
    levels = given["threshold"] + given["threshold_scale"] * laplace.ppf(middles)
    start = np.full(_SHARES.size, 1.0 / _SHARES.size)
    law = np.zeros(40)

    def fires(means, hypothesis, query) -> np.ndarray:
        """The probability that the noisy error reaches the threshold, at each of ``levels``."""
        off = abs(float(query @ (means - hypothesis)))
        return laplace.sf((levels - off) / given["query_scale"])

    def released(means, last) -> np.ndarray:
        """The law of the bin if the last query is answered from the rows."""
        return _binned(
            laplace, float(last @ means), given["answer_scale"], 0.0, 1.0, float(last @ _SHARES)
        )

    for chance, means in _tables():
        for query in _SUBSETS:
            weight, first = chance / 8.0, fires(means, start, query)
            guess, share = float(query @ start), float(query @ _SHARES)
            # The hypothesis answers the first query: the next one meets the same noisy threshold.
            last = _suggested(query, guess > share)
            if query.sum() in (0.0, query.size):
                last = np.zeros_like(query)  # no vote is positive
            second = fires(means, start, last)
            told = _point(float(last @ start), float(last @ _SHARES))
            both = float(np.mean((1.0 - first) * second))
            neither = float(np.mean((1.0 - first) * (1.0 - second)))
            law += weight * (both * released(means, last) + neither * told)
            # The rows answer it: the hypothesis is corrected by the direction of the noisy answer,
            # and the threshold gets fresh noise. The answer's place relative to the hypothesis'
            # and to the population's decides the direction and the last query.
            ends = np.array([-math.inf, *sorted((guess, share)), math.inf])
            chances = np.diff(laplace.cdf((ends - float(query @ means)) / given["answer_scale"]))
            for low, part in zip(ends[:-1], chances, strict=True):
                below, over = low < guess, low >= share
                last = _suggested(query, over)
                if query.sum() in (0.0, query.size):
                    last = np.zeros_like(query)
                sign = -1.0 if below else 1.0
                new = start * np.exp(sign * given["rate"] * query)
                new /= new.sum()
                again = float(np.mean(fires(means, new, last))) if updates > 1 else 0.0
                told = _point(float(last @ new), float(last @ _SHARES))
                found = again * released(means, last) + (1.0 - again) * told
                law += weight * float(np.mean(first)) * float(part) * found
    return law


_PROTECTED = ("laplace", "gaussian", "weights of 1 update", "weights of 2 updates")


@functools.cache
def _protected_law(protection: str) -> np.ndarray:
    """The exact law of the bin, Float["40"], by the name of the protection."""
    if protection in _NOISES:
        return _noised_law(protection)
    return _weights_law(_PROTECTED.index(protection) - 1)


@JX.utility("CL-Sec1.5.1-protected", "for Cohen et al. 2022, Sections 1.5.1 and 4.3.2")
def protected(
    *, bin: Bin = 22, protection: Annotated[str, choice(_PROTECTED, "of the answers")] = "laplace"
) -> float:
    """If answers have Laplace or Gaussian noise of a given scale, or come from Theorem 9's
    mechanism, the answer to the query that one random query suggests has its exact law, for 4 rows
    drawn from three cells.

    Returns the probability that the last answer minus the population's lies in the bin, which
    reaches from bin/20 - 1 to (bin + 1)/20 - 1.
    """
    return float(_protected_law(protection)[min(bin, 39)])


@protected.bounds(tolerance=1e-6)
def protections(budget):
    trials = max(min(budget.trials, 30_000), 1)
    for cell, protection in enumerate(_PROTECTED):
        if protection in _NOISES:
            name, params = protection, {"noise_scale": _NOISES[protection][1]}
        else:
            name, params = "weights", _RESTARTS | {"max_updates": cell - 1}
        counts = _counts(trials, budget.seed + cell, _FEW, _SHARES, name, **params)
        law = _protected_law(protection)
        error = (1.0 - CONFIDENCE) / (law.size * len(_PROTECTED))
        yield from _compared(counts, law, trials, error, protection=protection)


# --- Near the population's ------------------------------------------------------------


def _made(settings, rows: float, epsilon: float, delta: float, beta: float):
    """A mechanism's settings for 8 cells and 12 queries, and the accuracy that they promise.

    Args:
      settings: ``settings.hardt_rothblum`` or ``settings.repetitive``.
      rows, epsilon, delta, beta: as these take them.

    Returns:
      The settings, and the ``Accuracy`` of all answers for "rows" and for "population".
    """
    found = settings(_CELLS, rows, _QUERIES + 1, epsilon, delta, beta, sharp=True)
    known = Accuracy(found.error, beta)
    return found, {"rows": known, "population": transferred(known, epsilon, delta)}


@CL.utility("CL-Thm10-accuracy", "Theorem 10 (Section 4.3.2), with constants")
def alpha_10(
    *,
    rows: Rows = 1e5,
    epsilon: Epsilon = 0.3,
    delta: Delta = 1e-8,
    beta: Beta = 1e-3,
    near: Near = "population",
) -> float:
    """With the settings of Theorem 9 for (epsilon, delta) and beta, all answers, also that to the
    query which the others suggest, are within alpha + 0.012 + e^epsilon - 1 of the population's,
    except with probability 100 beta + 1000 delta.

    Returns alpha + 0.01 + e^epsilon - 1 + 0.002, for 8 cells and 12 queries; or alpha, the bound
    on the distance from the answers of the rows, if ``near`` is "rows".
    """
    return _made(weights.hardt_rothblum, rows, epsilon, delta, beta)[-1][near].error


@CL.utility("CL-Thm12-accuracy", "Theorem 12 (Section 4.3.2), with constants")
def alpha_12(
    *,
    rows: Rows = 1e5,
    epsilon: Epsilon = 0.3,
    delta: Delta = 1e-8,
    beta: Beta = 1e-3,
    near: Near = "population",
) -> float:
    """With the settings of Theorem 11 for (epsilon, delta) and beta, all answers, also that to the
    query which the others suggest, are within alpha + 0.012 + e^epsilon - 1 of the population's,
    except with probability 100 beta + 1000 delta.

    Returns alpha + 0.01 + e^epsilon - 1 + 0.002, for 8 cells and 12 queries; or alpha, the bound
    on the distance from the answers of the rows, if ``near`` is "rows".
    """
    return _made(weights.repetitive, rows, epsilon, delta, beta)[-1][near].error


def _sample_error(outcome):
    """The largest error for the rows, as the statistic of a simulation."""
    return outcome.max_sample_error


@alpha_10.bounds(protection="weights", settings=weights.hardt_rothblum)
@alpha_12.bounds(protection="repetitive", settings=weights.repetitive)
def accuracies(budget, protection, settings):
    """Lower limits of the quantiles of the largest error, for the rows and for the population."""
    from jaxsel.families.multiplicative_weights.adaptive_analysis import adaptive_analysis
    from jaxsel.kernel.engine import Performance, simulate
    from jaxsel.kernel.statistics import combine, histogram

    point = {"rows": 100_000, "epsilon": 0.3, "delta": 1e-8, "beta": 1e-3}
    found, known = _made(settings, **point)
    edges = np.linspace(0.0, 2.0 * known["population"].error, 801)[1:]
    errors = {"rows": histogram(_sample_error, edges), "population": histogram(max_error, edges)}
    trials = max(min(budget.trials, 64), 1)
    counts = simulate(
        adaptive_analysis(point["rows"], protection=protection),
        np.random.default_rng(budget.seed).dirichlet(np.ones(_CELLS)),
        weights.parameters(found) | {"queries": _QUERIES},
        trials=trials,
        seed=budget.seed,
        statistic=combine(errors),
        progress=False,
        performance=Performance(block_size=32),
    ).values
    for near, (_, failure) in known.items():
        seen = quantile_limit(counts[near][0], edges, failure)
        where = f"{1.0 - failure:g}-quantile of the largest error, {trials} analyses"
        yield point | {"near": near}, seen, where


# --- A step: privacy generalises in expectation ---------------------------------------


@CL.utility("CL-Sec4.3.2-step-expectation", "Section 4.3.2, the generalisation property")
def favoured(
    *,
    epsilon: Epsilon = 0.5,
    population: Annotated[float, probability("mean share of the query named")] = 0.5,
) -> float:
    """If an epsilon-DP analysis of the rows names a query q, the expected mean of q over the rows
    is at most (e^epsilon - 1) E q(P) above its expected mean E q(P) over the population."""
    return math.expm1(epsilon) * population


@favoured.bounds(grid(epsilon=(0.1, 0.5, 2.0), population=(0.5, 0.1, 0.001)))
def named(epsilon, population):
    """By how much the expected mean of a named query over a single row exceeds the population's.

    Epsilon-DP randomised response on the row's cell names a cell, and the query asks for this
    cell's share. All cells are equally likely, each with probability ``population``.
    """
    right = math.exp(epsilon) / (math.exp(epsilon) + 1.0 / population - 1.0)
    return right - population, "one row"
