"""The closed form of random candidates with Laplace noise against independent routes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import laplace

from jaxsel import repetitions as laws
from jaxsel.families.private_tuning.noised_bases import random_candidate
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson, goodness_of_fit
from jaxsel.kernel.engine import simulate
from jaxsel.kernel.statistics import histogram
from jaxsel.kernel.stream import Key
from jaxsel.tuning.attained.exact_laws import tuned_index_law
from tests.conftest import ALPHA, seed

SCORES = {
    "spread": np.array([3.0, 41.0, 40.0, -7.0, 40.0]),
    "one": np.array([2.5]),
    "ties": np.array([1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("law", ["geometric:gamma=1e-3", "tnb:eta=-0.5,mean=20", "poisson:mean=3"])
def test_law_of_the_best_equals_the_adaptive_quadrature(scores, scale, law):
    data, repetitions = SCORES[scores], laws.parse(law)
    params = {"noise_scale": scale}
    found = random_candidate("laplace").best_law(data, params, repetitions)
    expected = tuned_index_law(data, scale, repetitions, noise="laplace")
    assert found == pytest.approx(expected, abs=2e-11)  # the quadrature's tolerance
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def plain_tail(y, scores, scale):
    z = (y[:, None] - scores) / scale
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z > 0, half, 1.0 - half).mean(axis=1)


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
def test_score_of_a_rank_has_that_tail(scores, scale):
    data = SCORES[scores]
    base = random_candidate("laplace")
    ranks = np.concatenate([np.geomspace(1e-12, 0.5, 60), np.linspace(0.5, 0.999, 60)])
    with jax.enable_x64(True):
        prepared, params = base.prepare(data, {"noise_scale": scale})
        key = Key(jnp.uint32(1), jnp.uint32(2), jnp.uint32(3))
        run = jax.jit(jax.vmap(lambda rank: base.at_rank(key, rank, prepared, params)))(ranks)
        found = np.asarray(run.score)
    # Where the tail is flat the rank decides the score to few digits, and conversely.
    assert plain_tail(found, data, scale) == pytest.approx(ranks, rel=1e-9, abs=1e-13)
    assert np.all(np.diff(found) <= 1e-9)


def tuning(method: str = "rank"):
    data = SCORES["spread"]
    params = {"noise_scale": 4.0, "repetitions": laws.geometric(0.2)}
    return private_tuning(random_candidate("laplace"), method=method), data, params


@pytest.mark.parametrize("method", ["rank", "count", "literal"])
def test_selections_have_the_law_of_the_quadrature(method):
    mechanism, data, params = tuning(method)
    tallies = simulate(mechanism, data, params, trials=100_000, seed=seed())

    def law(gamma: float) -> np.ndarray:
        return tuned_index_law(data, 4.0, laws.geometric(gamma), noise="laplace")

    assert goodness_of_fit(tallies.values[0], law(0.2)) > ALPHA
    assert goodness_of_fit(tallies.values[0], law(0.18)) < ALPHA


def test_single_runs_have_their_law():
    base, data, edges = (random_candidate("laplace"), SCORES["spread"], np.array([-7.0, 38.0, 42]))
    trials = 50_000
    with jax.enable_x64(True):
        prepared, params = base.prepare(data, {"noise_scale": 4.0})
        lanes = jnp.arange(trials, dtype=jnp.uint32)
        word = jnp.uint32(seed() % 2**32)
        keys = jax.vmap(lambda lane: Key(word, word, lane))(lanes)
        runs = jax.jit(jax.vmap(lambda key: base.draw(key, prepared, params)))(keys)
    found = np.searchsorted(edges, np.asarray(runs.score), side="right")
    counts = np.bincount(4 * np.asarray(runs.label) + found, minlength=20)

    def joint(scale: float) -> np.ndarray:
        ends = (np.concatenate([[-np.inf], edges, [np.inf]]) - data[:, None]) / scale
        return (np.diff(laplace.cdf(ends)) / data.size).ravel()

    assert goodness_of_fit(counts, joint(4.0)) > ALPHA
    assert goodness_of_fit(counts, joint(4.4)) < ALPHA


def test_released_scores_have_the_law_of_the_best():
    fast, data, params = tuning()
    edges = np.array([30.0, 40.0, 45.0, 50.0])
    tallies = simulate(
        fast,
        data,
        params,
        trials=100_000,
        seed=seed(),
        progress=False,
        statistic=histogram(released_score, edges),
    )
    above = np.cumsum(tallies.values[0][::-1])[::-1][1:]
    low, high = clopper_pearson(above, tallies.trials, 1.0 - ALPHA / edges.size)
    exact = params["repetitions"].pgf_gap(plain_tail(edges, data, 4.0))
    assert np.all((low <= exact) & (exact <= high))
    shifted = params["repetitions"].pgf_gap(plain_tail(edges + 0.5, data, 4.0))
    assert not np.all((low <= shifted) & (shifted <= high))


def released_score(selection):
    return selection.score


def test_bad_noise_is_refused():
    with pytest.raises(InputError, match="noise_scale is -1"):
        random_candidate("laplace").prepare(SCORES["spread"], {"noise_scale": -1.0})
