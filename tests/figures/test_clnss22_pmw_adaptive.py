"""Figures of private multiplicative weights: what is drawn is what was computed."""

import numpy as np
import pytest

from figures import FIGURES, clnss22_adaptive, clnss22_pmw, clnss22_sample_complexity
from figures.common.figure import Figure, records_in, render
from jaxsel.families.multiplicative_weights import sample_complexity as sizes
from jaxsel.families.multiplicative_weights import updates as updates_of
from sims import (
    clnss22_adaptive as adaptive_analysis,
)
from sims import (
    clnss22_pmw as multiplicative_weights,
)
from sims import (
    registry,
)
from tests.figures.sharing import records_of

TRIALS = {"clnss22-pmw": 32, "clnss22-adaptive": 32}
# Eight programs of two seconds each. What they simulate is held to the same bounds by the
# claims of Theorems 9 to 12, which see every fault planted there.
SIMULATED = pytest.mark.rare


@pytest.fixture(scope="module")
def records():
    """Small records, of fewer queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive_analysis, "QUERIES", (3, 30))
        patch.setattr(multiplicative_weights, "LONG", 300)
        folder = records_of(TRIALS, at=0)
        with records_in(folder):
            yield {name: registry.load(name, folder) for name in TRIALS}


def _lines(figure: Figure, panel: int) -> list[np.ndarray]:
    axes = render(figure).axes[panel]
    return [np.asarray(line.get_ydata(), float) for line in axes.get_lines()]


@SIMULATED
def test_errors_stay_below_their_guarantees(records):
    found = records["clnss22-pmw"]
    cells, rows = found.values["cells"], found.values["rows"]
    for number, name in enumerate(multiplicative_weights.MECHANISMS):
        for queries, counts in zip(
            multiplicative_weights.QUERIES,
            found.arrays["errors_by_queries"][number],
            strict=True,
        ):
            assert counts.sum() == found.values["trials"]
            alpha = clnss22_pmw.guarantee(name, cells, rows, queries, 0.01)
            assert clnss22_pmw.quantile(counts, 0.5)[0] <= alpha
    updates = found.arrays["updates"]
    for sharp in (False, True):
        for gap, counts in zip(
            multiplicative_weights.GAPS, updates[int(sharp)], strict=True
        ):
            assert np.flatnonzero(counts)[-1] <= updates_of.max_updates(
                cells, gap, sharp=sharp
            )
    # The sharper rate needs fewer updates, at every gap.
    mean = updates @ np.arange(updates.shape[-1])
    assert np.all(mean[1] <= mean[0])
    assert np.all(mean[1, :3] < mean[0, :3])


def test_quantile_of_known_counts():
    counts = np.zeros(len(multiplicative_weights.EDGES) + 1, np.int64)
    counts[[3, 7]] = 90, 10
    edges = multiplicative_weights.EDGES
    middle, low, high = clnss22_pmw.quantile(counts, 0.5)
    assert (middle, low, high) == (edges[3], edges[3], edges[3])
    assert clnss22_pmw.quantile(counts, 0.95)[0] == edges[7]
    assert np.isnan(clnss22_pmw.quantile(counts, 0.999)[2])


@SIMULATED
def test_drawn_lines_are_the_guarantees(records):
    found = records["clnss22-pmw"]
    drawn = _lines(FIGURES["clnss22-pmw"], 1)
    wanted = clnss22_pmw.guarantee(
        "repetitive", found.values["cells"], found.values["rows"],
        multiplicative_weights.MANY, clnss22_pmw.LEAST_BETA,
    )  # fmt: skip
    assert any(line.size == 60 and line[-1] == wanted for line in drawn)


def test_sample_complexity_lines_and_crossing():
    digits = np.array([0.31, 100.0])
    curves = clnss22_sample_complexity.displays(digits)
    cells = clnss22_sample_complexity.CELLS
    assert curves["Theorem 10"][1] == pytest.approx(
        sizes.theorem_10(cells, 10**6, 0.1, 1e-100)
    )
    assert curves["Theorem 12"][1] == pytest.approx(
        sizes.theorem_12(cells, 10**6, 0.1, 1e-100)
    )
    rows = clnss22_sample_complexity.with_constants(digits)
    standard = rows["Hardt–Rothblum, (ε, δ)"]
    improved = rows["Repetitive sparse vector, (ε, δ)"]
    assert standard[0] < improved[0]
    assert standard[1] > 5.0 * improved[1]
    assert len(_lines(FIGURES["clnss22-sample-complexity"], 1)) == 4


@SIMULATED
def test_exact_answers_overfit_and_weights_do_not(records):
    found = records["clnss22-adaptive"]
    bare, half = clnss22_adaptive.means(found, "none", "gap")
    empirical, _ = clnss22_adaptive.means(found, "none", "empirical")
    answer, _ = clnss22_adaptive.means(found, "none", "answer")
    np.testing.assert_allclose(answer, empirical, atol=1e-8)
    assert np.all(bare > 3.0 * half)
    assert bare[-1] < found.values["distance"]
    kept, _ = clnss22_adaptive.means(found, "weights", "gap")
    assert kept[-1] < bare[-1]
    assert len(_lines(FIGURES["clnss22-adaptive"], 2)) >= 5
