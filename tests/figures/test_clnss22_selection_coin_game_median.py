"""Figures of Cohen et al. 2022: Selection and Test, the coin game, the median."""

import numpy as np
import pytest

from figures import FIGURES, clnss22_coin_game, clnss22_median, clnss22_selection
from figures.clnss22_selection import GAMMAS, audited
from figures.common.figure import records_in, render
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.selection_and_test.coin_game_laws import favoured_rate
from sims import registry
from tests.conftest import ALPHA
from tests.figures.sharing import WHOLE, check_laws, whole

NAMES = ("clnss22-selection", "clnss22-coin-game", "clnss22-median")


@pytest.fixture(scope="module")
def records():
    return whole(*NAMES)


def test_audits_are_below_what_is_exact(records):
    record = registry.load("clnss22-selection", records)
    for series, axis, loss, event in (
        ("selection", "rounds", clnss22_selection.selection_loss, "1"),
        ("noisy_tests", "bottoms", clnss22_selection.answers_loss, "0 1"),
    ):
        counts = record[series].counts
        assert np.all(counts.sum("outcome") == WHOLE["clnss22-selection"])
        for name, gamma in GAMMAS.items():
            for row in counts.sel(gamma=name):
                seen = audited(row, event, 1.0 - ALPHA / 36)
                assert seen <= loss(int(row[axis]), gamma)
    # Power: the audit sees most of the loss where the event is common.
    assert audited(record["noisy_tests"].counts.sel(gamma="1", bottoms=10), "0 1") > 1.1


def test_exact_losses_reach_the_theorems():
    epsilon = 0.5
    total = 3.0 * epsilon
    assert 0.97 * total < clnss22_selection.selection_loss(3000, 1.0) <= total
    assert 0.999 * total < clnss22_selection.answers_loss(3000, 1.0) <= total
    for calls in (1, 5, 12):
        claimed = (2 * calls + 1) * epsilon
        loss = clnss22_selection.calls_loss(calls, 1e-7, 3000)
        assert 0.999 * claimed < loss <= claimed * (1 + 1e-12)


def test_coin_game_lines():
    # The reverse divergence of order 4 leaves Lemma 1 behind, the favoured one not.
    bias, epsilon = 0.05, 0.5
    back = clnss22_coin_game.reverse([140], 4.0)[0]
    front = clnss22_coin_game.reverse([140], np.inf, forward=True)[0]
    assert back > 2.5 * epsilon
    assert front == pytest.approx(epsilon)
    exact = clnss22_coin_game.reverse([30], np.inf)[0]
    odds = np.log1p(-bias * np.exp(-epsilon))
    assert exact == pytest.approx(30 * (odds - np.log1p(-bias)))
    binary = clnss22_coin_game.binary_renyi(0.3, 0.2, 3.0)
    assert binary == pytest.approx(renyi_divergence([0.3, 0.7], [0.2, 0.8], 3.0))
    assert clnss22_coin_game.binary_renyi(0.3, 0.2, np.inf) == pytest.approx(np.log(1.5))


def test_coin_audits_are_below_the_exact_rate(records):
    response = registry.load("clnss22-coin-game", records)["response"]
    for order in (1.5, 5.0, 100.0):
        seen = clnss22_coin_game.first_coin(response, order)
        exact = favoured_rate(order, 0.5)
        assert 0.6 * exact < seen <= exact


def test_failures_are_as_frequent_as_their_exact_law(records):
    record = registry.load("clnss22-median", records)
    selected = record["selected"]
    for name, alpha in clnss22_median.ALPHAS.items():
        for row in selected.rounds.sel(alpha=name):
            count, aimed = int(row), float(row["failure"])
            exact = clnss22_median.median_failure(count, alpha)
            assert exact <= aimed
            assert count == 1 or clnss22_median.median_failure(
                count - max(1, count // 10**6), alpha
            ) > aimed * (1 - 1e-4)
            law = selected.frequency_exact.sel(alpha=name, failure=aimed, outcome=["1", "none"])
            assert float(law.sum()) == pytest.approx(exact, rel=1e-9)
    law = 1.0 - record["stopped"].frequency_exact.sel(outcome="0")
    np.testing.assert_allclose(law, record["stopped"]["failure"], rtol=1e-9)
    for found in record.values():
        check_laws(found, ALPHA)


def test_theorem_4_has_the_calls_of_the_paper():
    """1/beta calls buy 3 epsilon, 5 (2/beta)^(1/2) log(1/beta) of them 4 epsilon."""
    assert 10 ** clnss22_median.theorem_calls(0.01, 1.0) == pytest.approx(200)
    assert 10 ** clnss22_median.theorem_calls(0.01, 2.0) == pytest.approx(326)
    rounds, failure = clnss22_median.curve(1.0)
    assert failure[rounds == 1] == pytest.approx(0.75)
