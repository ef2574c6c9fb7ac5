"""Private k-means and principal components: their noise, and what runs."""

import math

import jax
import numpy as np
import pytest
from scipy import stats

from jaxsel.families.score_selection.analysis_settings import (
    clustering_noise,
    component_noise,
    runs_for,
)
from jaxsel.families.score_selection.private_analyses import (
    cluster_statistics,
    component_loss,
    component_statistics,
    private_clusters,
    private_components,
)
from jaxsel.host.errors import InputError
from jaxsel.kernel import stream
from tests.conftest import ALPHA

DRAWS = 4000


def test_noise_is_what_the_budget_buys():
    """Three iterations share 0.8 epsilon_1 = 0.4: 2 (1 + 2) = 6 over 0.4/3; 1/n over 0.1.
    A 5 x 5 covariance: 6 over 0.4."""
    assert clustering_noise(100, 2, 0.5) == pytest.approx((45.0, 0.1))
    assert component_noise(100, 5, 0.5) == pytest.approx((15.0, 0.1))
    assert runs_for(8, 0.1) == 160


def test_statistics_by_hand():
    points = np.array([[0.0, 0.5], [1.0, 1.0], [-1.0, 0.0]])
    with jax.enable_x64(True):
        found = cluster_statistics(points, np.array([[0.9, 0.9], [-0.5, 0.0]]))
        np.testing.assert_allclose(found, [[1, 1, 1], [2, -1, 0.5]])
        np.testing.assert_allclose(component_statistics(points), [2.0, 1.0, 1.25])
        loss = component_loss(points, np.array([[1.0], [0.0]]))
    assert float(loss) == pytest.approx((0.25 + 1.0 + 0.0) / 3)


def drawn(base, points, params, seed):
    data, prepared = base.prepare(points, params)
    with jax.enable_x64(True):

        def one(trial):
            key = stream.trial_key(seed & 0xFFFFFFFF, 0, 0, 0, trial)
            return base.draw(key, data, prepared)

        run = jax.jit(jax.vmap(one))
        return jax.tree.map(np.asarray, run(np.arange(DRAWS, dtype=np.uint32)))


def test_the_score_carries_its_noise(seed):
    """All points at 0 lose nothing, so that a score is a price and Laplace noise."""
    params = {"sizes": 3, "run_epsilon": 0.5, "price": 0.25}
    found = drawn(private_components(), np.zeros((50, 4)), params, seed)
    noise = (found.score + 0.25 * (found.label + 1)) * (50 * 0.1)
    assert stats.kstest(noise, "laplace").pvalue > ALPHA
    assert stats.kstest(1.3 * noise, "laplace").pvalue < ALPHA
    counts = np.bincount(found.label, minlength=3)
    assert stats.chisquare(counts).pvalue > ALPHA


def test_an_iteration_carries_its_noise(seed):
    """One point at 0 and one cluster: the centre is a ratio of two noises."""
    params = {"sizes": 1, "run_epsilon": 10.0, "price": 0.0, "iterations": 1}
    found = drawn(private_clusters(), np.zeros((1, 1)), params | {"bins": 1000}, seed)
    generator = np.random.default_rng(seed)

    def expected(scale):
        count, total = (1.0 + scale * generator.laplace(size=DRAWS), generator.laplace(size=DRAWS))
        centre = np.clip(scale * total / np.maximum(count, 1.0), -1.0, 1.0)
        return np.minimum((np.minimum(centre**2, 1.0) * 1000).astype(int), 999)

    # 2 (1 + 1) over 8
    assert stats.ks_2samp(found.label, expected(0.5)).pvalue > ALPHA
    assert stats.ks_2samp(found.label, expected(0.35)).pvalue < ALPHA


@pytest.mark.parametrize(
    ("base", "points", "more", "message"),
    [
        (private_clusters(), [[2.0, 0.0]], {"iterations": 1}, "must lie in"),
        (private_components(), [[1.0, 1.0]], {}, "length at most 1"),
        (private_components(), [[1.0, 0.0]], {"sizes": 3}, "at most 2"),
        (private_components(), [1.0, 0.0], {}, "one row a point"),
        (private_components(), [[1.0, 0.0]], {"sizes": 0}, "sizes is 0"),
        (private_components(), [[1.0, 0.0]], {"sizes": 1.5}, "sizes is 1.5"),
        (private_components(), [[1.0, 0.0]], {"price": math.nan}, "price is nan"),
    ],
)
def test_bad_input(base, points, more, message):
    params = {"sizes": 2, "run_epsilon": 1.0, "price": 0.0} | more
    with pytest.raises(InputError, match=message):
        base.prepare(points, params)
    with pytest.raises(InputError, match="no exact law"):
        base.law_above(points, params, 0.0)
