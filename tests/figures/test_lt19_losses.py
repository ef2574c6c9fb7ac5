"""Figures of Liu & Talwar: privacy cost, negative examples, hard stop and packing."""

import math

import numpy as np
import pytest
import xarray as xr

from figures import lt19_decreasing_thresholds, lt19_hard_stop, lt19_packing, lt19_privacy_cost
from figures.common.audited_bounds import audited
from jaxsel.tuning.bounds.random_stopping import (
    hard_stop_steps_pure,
    hard_stop_steps_sharp,
    hard_stop_worst,
)
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import check_laws, drawn

TRIALS = 40_000


def _few(function, **values) -> dict[str, xr.Dataset]:
    """Few cells, and few programs."""
    found = compute(function, values, trials=TRIALS, seed=seed(), progress=False)
    return {function.__name__: found}


def _texts(figure) -> str:
    return " ".join(figure._supxlabel.get_text().split())


def test_privacy_cost(monkeypatch, tmp_path):
    record = _few(lt19_privacy_cost.selected, calls=[2, 8])
    found = record["selected"]
    check_laws(found, ALPHA)
    lower = audited(found.counts, 1.0 - ALPHA)
    assert lower.shape == (5, 2)
    for name, selector in lt19_privacy_cost.SELECTORS.items():
        for calls in (2, 8):
            exact = lt19_privacy_cost.exact(selector, calls)
            bound = lower.sel(selector=name, calls=calls)
            assert bound <= exact <= selector.factor(calls) * (1 + 1e-9)
    # The order of the headline, at 64 expected runs: 2, 2.1, 2.5, 3 epsilon and far more.
    selectors = lt19_privacy_cost.SELECTORS.values()
    at_64 = [lt19_privacy_cost.exact(selector, 64) for selector in selectors]
    assert at_64 == pytest.approx([64.0, 2.86, 2.46, 2.07, 1.92], rel=0.02)
    figure = drawn(lt19_privacy_cost, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    y = lines["LT Algorithm 2: 3ε₁, Theorem 3.2"].get_ydata()
    two = lt19_privacy_cost.SELECTORS["algorithm-2"]
    assert y[0] == pytest.approx(lt19_privacy_cost.exact(two, 2.0))
    assert f"{TRIALS:,}" in _texts(figure)


def test_decreasing_thresholds(monkeypatch, tmp_path):
    record = (
        _few(lt19_decreasing_thresholds.algorithm_6, levels=[0, 2, 4])
        | _few(lt19_decreasing_thresholds.algorithm_1)
        | _few(lt19_decreasing_thresholds.percentiles, runs=[1, 51])
    )
    for each in record.values():
        check_laws(each, ALPHA)
    lowered = record["algorithm_6"]
    lower = audited(lowered.counts, 1 - ALPHA)
    for gamma in (0.3, 1.0):
        exact, first = lt19_decreasing_thresholds.threshold_losses(
            1.0, gamma, lowered["levels"].values
        )
        assert np.all(lower.sel(gamma=gamma) <= exact)
        assert first <= 2.0 < exact[1]
    # gamma = 1: exactly (R + 1) epsilon.
    np.testing.assert_allclose(exact, [1.0, 3.0, 5.0])
    found = audited(record["percentiles"].counts, 1 - ALPHA)
    for rank in ("median", "random"):
        for count in (1, 51):
            loss = lt19_decreasing_thresholds.percentile_loss(0.1, count, rank)
            assert found.sel(rank=rank, runs=count) <= loss
    run = 2.0 * math.atanh(0.1)
    assert lt19_decreasing_thresholds.percentile_loss(0.1, 1, "median") == pytest.approx(run)
    assert lt19_decreasing_thresholds.percentile_loss(0.1, 801, "median") > 30 * run
    figure = drawn(lt19_decreasing_thresholds, record, monkeypatch, tmp_path)
    left, right = figure.axes
    labels = [line.get_label() for line in left.get_lines()]
    assert "Algorithm 6, γ = 0.3: exact" in labels
    lines = {line.get_label(): line for line in right.get_lines()}
    assert lines["The median run: exact"].get_ydata()[0] == pytest.approx(1.0)


def test_hard_stop(monkeypatch, tmp_path):
    values = {"steps": [1, 15], "planned": TRIALS}
    record = _few(lt19_hard_stop.stopped, **values)
    check_laws(record["stopped"], ALPHA)
    lower = audited(record["stopped"].counts.drop_sel(outcome="none"), 1 - ALPHA)
    for steps in (1, 15):
        pair = lt19_hard_stop.planned_pair(steps, 0.5, TRIALS)
        with np.errstate(divide="ignore"):
            losses = np.abs(np.log(pair.first / pair.second))
        assert losses.max() <= 0.5 * (1 + 1e-9)
        worst = hard_stop_worst(0.5, lt19_hard_stop.GAMMA, steps)
        assert lower.sel(steps=steps) <= worst
    # Never more than one run can lose; then, the overshoot above 3 epsilon.
    assert lower.sel(steps=1) == pytest.approx(0.5, abs=0.1)
    worst = lt19_hard_stop.worst(0.5, 0.003, [10, 10**4])
    assert worst[0] > 1.1 * 1.5
    assert worst[1] == pytest.approx(1.5, abs=0.02)
    for gamma in (0.03, 0.001):
        need = lt19_hard_stop.smallest_steps(0.5, gamma)
        assert hard_stop_worst(0.5, gamma, need) <= 1.8 < hard_stop_worst(0.5, gamma, need - 1)
        assert need <= hard_stop_steps_sharp(gamma, 0.1) < hard_stop_steps_pure(gamma, 0.1)
    figure = drawn(lt19_hard_stop, record, monkeypatch, tmp_path)
    _, right = figure.axes
    lines = {line.get_label(): line for line in right.get_lines()}
    gamma, y = lines["Theorem 3.5: (ln X + ln ln X)/γ"].get_data()
    assert y[0] == pytest.approx(hard_stop_steps_pure(gamma[0], 0.1) * gamma[0])


def test_packing(monkeypatch, tmp_path):
    record = _few(lt19_packing.selected, candidates=[10, 30])
    found = record["selected"]
    check_laws(found, ALPHA)
    confidence = 1.0 - ALPHA
    for algorithm in ("algorithm-1", "algorithm-2"):
        of_it = found.sel(algorithm=algorithm)
        _, low, high = lt19_packing.implied_interval(of_it, confidence=confidence)
        for number, count in enumerate((10, 30)):
            exact = lt19_packing.implied(algorithm, count)
            assert low[number] <= exact <= high[number]
            laws = of_it.sel(candidates=count).frequency_exact
            np.testing.assert_allclose(
                laws.sel(outcome=["1", "3"]).sum("outcome"), lt19_packing.chances(algorithm, count)
            )
    # Limits 2/(1 + 2 alpha), 3/(1 + 2 alpha), from above and below.
    assert lt19_packing.implied("algorithm-1", 1e40) == pytest.approx(2 / 1.2, rel=0.01)
    assert lt19_packing.implied("algorithm-2", 1e40) == pytest.approx(3 / 1.2, rel=0.02)
    figure = drawn(lt19_packing, record, monkeypatch, tmp_path)
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    y = lines["Theorem D.2: no useful selection has less"].get_ydata()
    assert np.all((y > 1.4) & (y <= 1.5 + 1e-12))
