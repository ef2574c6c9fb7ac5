"""Figures of Liu & Talwar: privacy cost, negative examples, hard stop and packing."""

import math

import numpy as np
import pytest

from figures import (
    lt19_decreasing_thresholds,
    lt19_hard_stop,
    lt19_packing,
    lt19_privacy_cost,
)
from jaxsel.families.tuning.bounds.random_stopping import (
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from jaxsel.host.intervals import goodness_of_fit
from sims import (
    lt19_decreasing_thresholds as decreasing_thresholds,
)
from sims import (
    lt19_hard_stop as hard_stop,
)
from sims import (
    lt19_packing as packing,
)
from sims import (
    lt19_privacy_cost as privacy_cost,
)
from tests.conftest import ALPHA
from tests.figures.sharing import drawn, record_of

TRIALS = 40_000


@pytest.fixture(scope="module", autouse=True)
def _smaller():
    """Few cells, and few programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(privacy_cost, "CALLS", (2, 8))
        patch.setattr(decreasing_thresholds, "LEVELS", (0, 2, 4))
        patch.setattr(decreasing_thresholds, "COUNTS", (1, 51))
        patch.setattr(hard_stop, "STEPS", (1, 15))
        patch.setattr(packing, "CANDIDATES", (10, 30))
        yield


def _texts(figure) -> str:
    return " ".join(figure._supxlabel.get_text().split())


def test_privacy_cost(monkeypatch, tmp_path):
    record = record_of(privacy_cost, TRIALS)
    counts = record.arrays["counts"]
    assert counts.shape == (5, 2, 2, 4)
    lower = lt19_privacy_cost.audited(counts, 1.0 - ALPHA)
    for row, selector in enumerate(privacy_cost.SELECTORS):
        assert record.values["selectors"][row] == selector.name
        for column, calls in enumerate((2, 8)):
            exact = lt19_privacy_cost.exact(selector, calls)
            assert lower[row, column] <= exact <= selector.factor(calls) * (1 + 1e-9)
            for side, tally in zip(
                privacy_cost.base_pair(), counts[row, column], strict=True
            ):
                data = {"probabilities": side, "scores": [1.0, 1.0, 0.0]}
                law = selector.mechanism.law(data, selector.params(calls))
                assert goodness_of_fit(tally, law.probabilities) > ALPHA
    # The order of the headline, at 64 expected runs: 2, 2.1, 2.5, 3 epsilon and far more.
    at_64 = [lt19_privacy_cost.exact(s, 64) for s in privacy_cost.SELECTORS]
    assert at_64 == pytest.approx([64.0, 2.86, 2.46, 2.07, 1.92], rel=0.02)
    figure = drawn(lt19_privacy_cost, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    y = lines["LT Algorithm 2: 3ε₁, Theorem 3.2"].get_ydata()
    two = next(s for s in privacy_cost.SELECTORS if s.name == "algorithm-2")
    assert y[0] == pytest.approx(lt19_privacy_cost.exact(two, 2.0))
    assert f"{TRIALS:,}" in _texts(figure)


def test_decreasing_thresholds(monkeypatch, tmp_path):
    record = record_of(decreasing_thresholds, TRIALS)
    values = record.values
    lower = lt19_decreasing_thresholds.audited(record.arrays["thresholds"], 1 - ALPHA)
    for row, gamma in enumerate(values["gammas"]):
        exact, first = lt19_decreasing_thresholds.threshold_losses(
            1.0, gamma, values["levels"]
        )
        assert np.all(lower[row] <= exact)
        assert first <= 2.0 < exact[1]
    # gamma = 1: exactly (R + 1) epsilon.
    np.testing.assert_allclose(exact, [1.0, 3.0, 5.0])
    found = lt19_decreasing_thresholds.audited(record.arrays["percentiles"], 1 - ALPHA)
    for row, rank in enumerate(values["ranks"]):
        for column, count in enumerate(values["counts"]):
            loss = lt19_decreasing_thresholds.percentile_loss(0.1, count, rank)
            assert found[row, column] <= loss
    run = 2.0 * math.atanh(0.1)
    assert lt19_decreasing_thresholds.percentile_loss(
        0.1, 1, "median"
    ) == pytest.approx(run)
    assert lt19_decreasing_thresholds.percentile_loss(0.1, 801, "median") > 30 * run
    figure = drawn(lt19_decreasing_thresholds, record, monkeypatch, tmp_path)
    left, right = figure.axes
    labels = [line.get_label() for line in left.get_lines()]
    assert "Algorithm 6, γ = 0.3: exact" in labels
    lines = {line.get_label(): line for line in right.get_lines()}
    assert lines["The median run: exact"].get_ydata()[0] == pytest.approx(1.0)


def test_hard_stop(monkeypatch, tmp_path):
    record = record_of(hard_stop, TRIALS)
    lower = lt19_hard_stop.audited(record.arrays["counts"][..., :3], 1 - ALPHA)
    for steps, bound, pair in zip(
        record.values["steps"], lower, record.arrays["laws"], strict=True
    ):
        with np.errstate(divide="ignore"):
            losses = np.abs(np.log(pair[0] / pair[1]))
        assert losses.max() <= hard_stop.EPSILON * (1 + 1e-9)
        assert bound <= hard_stop_worst(hard_stop.EPSILON, hard_stop.GAMMA, steps)
    # Never more than one run can lose; then, the overshoot above 3 epsilon.
    assert lower[0] == pytest.approx(0.5, abs=0.1)
    worst = lt19_hard_stop.worst(0.5, 0.003, [10, 10**4])
    assert worst[0] > 1.1 * 1.5
    assert worst[1] == pytest.approx(1.5, abs=0.02)
    for gamma in (0.03, 0.001):
        need = lt19_hard_stop.smallest_steps(0.5, gamma)
        assert (
            hard_stop_worst(0.5, gamma, need)
            <= 1.8
            < hard_stop_worst(0.5, gamma, need - 1)
        )
        assert (
            need <= hard_stop_steps_sharp(gamma, 0.1) < hard_stop_steps_pure(gamma, 0.1)
        )
    figure = drawn(lt19_hard_stop, record, monkeypatch, tmp_path)
    _, right = figure.axes
    lines = {line.get_label(): line for line in right.get_lines()}
    gamma, y = lines["Theorem 3.5: (ln X + ln ln X)/γ"].get_data()
    assert y[0] == pytest.approx(hard_stop_steps_pure(gamma[0], 0.1) * gamma[0])


def test_packing(monkeypatch, tmp_path):
    record = record_of(packing, TRIALS)
    confidence = 1.0 - ALPHA
    for row, algorithm in enumerate(record.values["algorithms"]):
        for column, count in enumerate(record.values["candidates"]):
            exact = lt19_packing.implied(algorithm, count)
            chosen = record.arrays["chosen"][row, column]
            found = lt19_packing.implied_interval(chosen, TRIALS, count, confidence)
            assert found[1] <= exact <= found[2]
            chances = np.array(lt19_packing.chances(algorithm, count))
            law = np.stack([chances, 1.0 - chances], axis=1)
            for hits, side in zip(chosen, law, strict=True):
                tally = np.array([hits, TRIALS - hits])
                assert goodness_of_fit(tally, side) > ALPHA
    # Limits 2/(1 + 2 alpha), 3/(1 + 2 alpha), from above and below.
    assert lt19_packing.implied("algorithm-1", 1e40) == pytest.approx(2 / 1.2, rel=0.01)
    assert lt19_packing.implied("algorithm-2", 1e40) == pytest.approx(3 / 1.2, rel=0.02)
    figure = drawn(lt19_packing, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    y = lines["Theorem D.2: no useful selection has less"].get_ydata()
    assert np.all((y > 1.4) & (y <= 1.5 + 1e-12))
