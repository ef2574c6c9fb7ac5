"""Figure 1 of Papernot & Steinke 2022: data, trainer, minimiser and shape."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from figures.ps22_1 import trained
from sims.common import svm_training as svm
from sims.experiment import compute

ALPHA = 1e-6  # false-alarm rate of each statistical assertion


def test_points_are_those_of_make_blobs():
    datasets = pytest.importorskip("sklearn.datasets")
    points, classes = datasets.make_blobs(40, centers=2, random_state=6)
    ours, labels = svm.data_sets()["without_outliers"]
    np.testing.assert_array_equal(ours, points)
    np.testing.assert_array_equal(labels, 2.0 * classes - 1.0)


def test_outliers_join_the_negative_class():
    points, labels = svm.data_sets()["without_outliers"]
    more, more_labels = svm.data_sets()["with_outliers"]
    assert more.shape == (48, 2)
    np.testing.assert_array_equal(more[:40], points)
    np.testing.assert_array_equal(more_labels[:40], labels)
    np.testing.assert_array_equal(more[40:], np.tile([7.9, -8.0], (8, 1)))
    assert np.all(more_labels[40:] == -1.0)
    # 20 points a class round the centres that the paper prints, unit variance: 20 times
    # the squared distance of the mean from its centre is chi-square with 2 degrees.
    centres = {-1.0: [7.86, -3.36], 1.0: [6.42, -9.17]}
    for label, centre in centres.items():
        gap = points[labels == label].mean(axis=0) - centre
        assert stats.chi2.sf(20.0 * gap @ gap, df=2) > ALPHA
        assert stats.chi2.sf(20.0 * (gap + 3.0) @ (gap + 3.0), df=2) < ALPHA  # power


def _objective(weights, points, labels, alpha):
    margins = labels * (points @ weights[:2] + weights[2])
    return weights[:2] @ weights[:2] + alpha * np.maximum(0.0, 1.0 - margins).mean()


@pytest.mark.parametrize("name", ["without_outliers", "with_outliers"])
@pytest.mark.parametrize("alpha", [0.5, 8.0, 32.0])
def test_optimum_agrees_with_scikit_learn(name, alpha):
    svc = pytest.importorskip("sklearn.svm").SVC
    points, labels = svm.data_sets()[name]
    # ||w||^2 + alpha mean hinge = 2 (||w||^2 / 2 + C sum hinge), C = alpha / (2 n)
    other = svc(kernel="linear", C=alpha / (2 * len(labels)), tol=1e-9)
    other.fit(points, labels)
    theirs = np.append(other.coef_[0], other.intercept_)
    ours = svm.optimum(points, labels, alpha)
    np.testing.assert_allclose(ours[:2], theirs[:2], atol=1e-4)
    np.testing.assert_allclose(
        _objective(ours, points, labels, alpha),
        _objective(theirs, points, labels, alpha),
        rtol=1e-4,
    )


def test_optimum_is_lower_than_all_around_it():
    points, labels = svm.data_sets()["with_outliers"]
    best = svm.optimum(points, labels, 8.0)
    steps = np.random.default_rng(0).normal(size=(200, 3)) * 0.05
    lowest = _objective(best, points, labels, 8.0)
    others = [_objective(best + step, points, labels, 8.0) for step in steps]
    assert min(others) > lowest


def test_optimum_jumps_near_six_with_outliers_only():
    def correct(name, alpha):
        points, labels = svm.data_sets()[name]
        weights = svm.optimum(points, labels, alpha)
        return int(np.sum(labels * (points @ weights[:2] + weights[2]) > 0.0))

    assert [correct("with_outliers", alpha) for alpha in (6.2, 6.4)] == [39, 47]
    assert [correct("without_outliers", alpha) for alpha in (6.2, 6.4)] == [40, 40]


def test_train_is_the_plain_loop():
    batch_size, epochs = 8, 3
    points, labels = svm.data_sets()["with_outliers"]
    alphas, rates, runs, seed = (0.5, 8.0), (0.003, 0.01), 4, 5
    expected = np.zeros((runs, len(rates), len(alphas)))
    for place in np.ndindex(expected.shape):
        run, rate, alpha = place[0], rates[place[1]], alphas[place[2]]
        draws = np.random.default_rng(seed)
        w = draws.standard_normal((runs, 1, 1, 3))[run, 0, 0]
        w, b = w[:2], w[2]
        for _ in range(epochs):
            order = draws.permuted(np.tile(np.arange(48), (runs, 1)), axis=1)[run]
            for batch in order.reshape(-1, batch_size):
                step_w, step_b = 2.0 * w, 0.0
                for i in batch:
                    if labels[i] * (w @ points[i] + b) < 1.0:
                        step_w = step_w - alpha / batch_size * labels[i] * points[i]
                        step_b -= alpha / batch_size * labels[i]
                w, b = w - rate * step_w, b - rate * step_b
        expected[place] = np.mean(labels * (points @ w + b) > 0.0)
    ours = svm.train(points, labels, alphas, rates, runs, seed, batch_size, epochs)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def _sign_test(better, worse):
    """One-sided exact p-value for "better beats worse" over paired runs."""
    wins, losses = int(np.sum(better > worse)), int(np.sum(better < worse))
    return stats.binomtest(wins, wins + losses, 0.5, alternative="greater").pvalue


def test_published_shape_at_the_middle_rate():
    curves = {
        name: svm.train(points, labels, (1.0, 7.0, 8.0, 64.0), (0.003,), 1500, 1)[:, 0]
        for name, (points, labels) in svm.data_sets().items()
    }
    low, near, peak, high = curves["with_outliers"].T
    assert _sign_test(peak, low) < ALPHA  # rises to the paper's 8 ...
    assert _sign_test(peak, high) < ALPHA  # ... and falls after it
    assert _sign_test(peak, near) > ALPHA  # 7 and 8 are not told apart
    _, _, middle, high = curves["without_outliers"].T
    assert _sign_test(middle, high) < ALPHA  # a large alpha only harms


def test_record(monkeypatch):
    monkeypatch.setattr("figures.ps22_1.ALPHAS", (1.0, 8.0))
    given = {"epochs": 2, "learning_rates": (0.003, 0.01)}
    found = compute(trained, given, trials=20, seed=3, progress=False)
    again = compute(trained, given, trials=20, seed=3, progress=False)
    xr.testing.assert_identical(found, again)
    assert dict(found.sizes) == {"data": 2, "rate": 2, "alpha": 2}
    # The best may be the best; accuracies are shares.
    best = found["mean"].argmax("alpha")
    assert found.near_best.isel(alpha=best).all()
    assert ((found["mean"] >= 0.0) & (found["mean"] <= 1.0)).all()
    assert ((found.low <= found.high) & (found.optimum <= 1.0)).all()
