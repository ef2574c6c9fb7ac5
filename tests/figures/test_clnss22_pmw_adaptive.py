"""Figures of private multiplicative weights: what is drawn is what was computed."""

import numpy as np
import pytest

from figures import clnss22_adaptive, clnss22_pmw, clnss22_sample_complexity
from jaxsel.families.multiplicative_weights import sample_complexity as sizes
from jaxsel.families.multiplicative_weights import updates as updates_of
from jaxsel.pictures import style
from sims.data.universe import table
from sims.experiment import compute

TRIALS = 32
# Eight programs of two seconds each. What they simulate is held to the same bounds by the
# claims of Theorems 9 to 12, which see every fault planted there.
SIMULATED = pytest.mark.rare
CELLS, ROWS = table().counts.size, table().rows


@pytest.fixture(scope="module")
def records():
    """Small data sets, of fewer queries."""
    few = {clnss22_adaptive.analysed: {"queries": [3, 30]}}
    functions = (
        clnss22_adaptive.analysed,
        clnss22_pmw.by_queries,
        clnss22_pmw.by_failure,
        clnss22_pmw.updated,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clnss22_pmw, "LONG", 300)
        yield {
            function.__name__: compute(
                function, few.get(function, {}), trials=TRIALS, progress=False
            )
            for function in functions
        }


def _lines(module, found, panel: int) -> list[np.ndarray]:
    with style.applied():
        axes = module.draw(**found).axes[panel]
    return [np.asarray(line.get_ydata(), float) for line in axes.get_lines()]


@SIMULATED
def test_errors_stay_below_their_guarantees(records):
    errors = records["by_queries"].tally
    assert np.all(errors.sum("tally_0") == TRIALS)
    for name in errors["mechanism"].values:
        for row in errors.sel(mechanism=name):
            queries = int(row["queries"])
            alpha = clnss22_pmw.guarantee(name, CELLS, ROWS, queries, 0.01)
            assert clnss22_pmw.quantile(row.values, 0.5)[0] <= alpha
    updates = records["updated"].tally
    for rate in clnss22_pmw.RATES:
        for row in updates.sel(rate=rate):
            assert np.flatnonzero(row.values)[-1] <= updates_of.max_updates(
                CELLS, float(row["gap"]), sharp=rate == "η = 4g"
            )
    # The sharper rate needs fewer updates, at every gap.
    slow, sharp = (
        updates.sel(rate=rate).values @ np.arange(updates.sizes["tally_0"])
        for rate in ("η = g/2", "η = 4g")
    )
    assert np.all(sharp <= slow)
    assert np.all(sharp[:3] < slow[:3])


def test_quantile_of_known_counts():
    counts = np.zeros(len(clnss22_pmw.EDGES) + 1, np.int64)
    counts[[3, 7]] = 90, 10
    edges = clnss22_pmw.EDGES
    middle, low, high = clnss22_pmw.quantile(counts, 0.5)
    assert (middle, low, high) == (edges[3], edges[3], edges[3])
    assert clnss22_pmw.quantile(counts, 0.95)[0] == edges[7]
    assert np.isnan(clnss22_pmw.quantile(counts, 0.999)[2])


@SIMULATED
def test_drawn_lines_are_the_guarantees(records):
    found = {name: records[name] for name in ("by_queries", "by_failure", "updated")}
    drawn = _lines(clnss22_pmw, found, 1)
    wanted = clnss22_pmw.guarantee("repetitive", CELLS, ROWS, 200, clnss22_pmw.LEAST_BETA)
    assert any(line.size == 60 and line[-1] == wanted for line in drawn)


def test_sample_complexity_lines_and_crossing():
    digits = np.array([0.31, 100.0])
    curves = clnss22_sample_complexity.displays(digits)
    cells = 2**20
    assert curves["Theorem 10"][1] == pytest.approx(sizes.theorem_10(cells, 10**6, 0.1, 1e-100))
    assert curves["Theorem 12"][1] == pytest.approx(sizes.theorem_12(cells, 10**6, 0.1, 1e-100))
    rows = clnss22_sample_complexity.with_constants(digits)
    standard = rows["Hardt–Rothblum, (ε, δ)"]
    improved = rows["Repetitive sparse vector, (ε, δ)"]
    assert standard[0] < improved[0]
    assert standard[1] > 5.0 * improved[1]
    assert len(_lines(clnss22_sample_complexity, {}, 1)) == 4


@SIMULATED
def test_exact_answers_overfit_and_weights_do_not(records):
    found = records["analysed"]
    bare, half = clnss22_adaptive.means(found, "none", "gap")
    empirical, _ = clnss22_adaptive.means(found, "none", "empirical")
    answer, _ = clnss22_adaptive.means(found, "none", "answer")
    np.testing.assert_allclose(answer, empirical, atol=1e-8)
    assert np.all(bare > 3.0 * half)
    assert bare[-1] < float(found.distance[0, 0])
    kept, _ = clnss22_adaptive.means(found, "weights", "gap")
    assert kept[-1] < bare[-1]
    assert len(_lines(clnss22_adaptive, {"analysed": found}, 2)) >= 5
