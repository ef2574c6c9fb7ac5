"""Figures of Cohen et al. 2022: Selection and Test, the coin game, the median."""

import numpy as np
import pytest

from figures import FIGURES, clnss22_coin_game, clnss22_median, clnss22_selection
from figures.common.figure import records_in, render
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.selection_and_test.coin_game_laws import favoured_rate
from jaxsel.host.intervals import binomial_p_value
from sims import clnss22_coin_game as games
from sims import clnss22_selection as interactions
from sims import registry
from tests.conftest import ALPHA
from tests.figures.sharing import records_of

TRIALS = 3 * 8192
MODULES = {
    "clnss22-selection": clnss22_selection,
    "clnss22-coin-game": clnss22_coin_game,
    "clnss22-median": clnss22_median,
}
EVERY = pytest.mark.parametrize("name", MODULES)


@pytest.fixture(scope="module")
def records():
    return records_of(dict.fromkeys(MODULES, TRIALS))


@EVERY
def test_figures_are_drawn_from_their_records(records, name):
    with records_in(records):
        drawn = render(FIGURES[name])
    for axes in drawn.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()


def test_audits_are_below_what_is_exact(records):
    record = registry.load("clnss22-selection", records)
    for series, loss, places in (
        ("selection", clnss22_selection.selection_loss, interactions.ROUNDS),
        ("tests", clnss22_selection.tests_loss, interactions.BOTTOMS),
    ):
        for row, gamma in enumerate(interactions.GAMMAS):
            for column, place in enumerate(places):
                tallies = record.arrays[series][row, column]
                assert tallies.sum(axis=1).tolist() == [TRIALS, TRIALS]
                seen = clnss22_selection.audited(tallies, 1, 1.0 - ALPHA / 36)
                assert seen <= loss(place, gamma)
    # Power: the audit sees most of the loss where the event is common.
    assert clnss22_selection.audited(record.arrays["tests"][1, 2], 1) > 1.1


def test_exact_losses_reach_the_theorems():
    total = 3.0 * interactions.EPSILON
    assert 0.97 * total < clnss22_selection.selection_loss(3000, 1.0) <= total
    assert 0.999 * total < clnss22_selection.tests_loss(3000, 1.0) <= total
    for calls in (1, 5, 12):
        claimed = (2 * calls + 1) * interactions.EPSILON
        loss = clnss22_selection.calls_loss(calls, 1e-7, 3000)
        assert 0.999 * claimed < loss <= claimed * (1 + 1e-12)


def test_coin_game_lines():
    # The reverse divergence of order 4 leaves Lemma 1 behind, the favoured one not.
    back = clnss22_coin_game.reverse([140], 4.0)[0]
    front = clnss22_coin_game.reverse([140], np.inf, forward=True)[0]
    assert back > 2.5 * games.REVERSE_EPSILON
    assert front == pytest.approx(games.REVERSE_EPSILON)
    exact = clnss22_coin_game.reverse([30], np.inf)[0]
    odds = np.log1p(-games.BIAS * np.exp(-games.REVERSE_EPSILON))
    assert exact == pytest.approx(30 * (odds - np.log1p(-games.BIAS)))
    binary = clnss22_coin_game.binary_renyi(0.3, 0.2, 3.0)
    assert binary == pytest.approx(renyi_divergence([0.3, 0.7], [0.2, 0.8], 3.0))
    assert clnss22_coin_game.binary_renyi(0.3, 0.2, np.inf) == pytest.approx(
        np.log(1.5)
    )


def test_coin_audits_are_below_the_exact_rate(records):
    record = registry.load("clnss22-coin-game", records)
    first, second = record.arrays["response"][:, :1]
    for order in (1.5, 5.0, 100.0):
        seen = clnss22_coin_game.audited_renyi(first, second, TRIALS, order)[0]
        exact = favoured_rate(order, games.EPSILON)
        assert 0.6 * exact < seen <= exact


def test_failures_are_as_frequent_as_their_exact_law(records):
    record = registry.load("clnss22-median", records)
    rows = zip(
        record.values["alphas"],
        record.arrays["rounds"],
        record.arrays["failed"],
        strict=True,
    )
    for alpha, rounds, failed in rows:
        for count, seen, aimed in zip(
            rounds, failed, record.values["failures"], strict=True
        ):
            exact = clnss22_median.median_failure(int(count), alpha)
            assert exact <= aimed
            assert count == 1 or clnss22_median.median_failure(
                int(count) - max(1, int(count) // 10**6), alpha
            ) > aimed * (1 - 1e-4)
            assert binomial_p_value(int(seen), TRIALS, exact) > ALPHA
    for seen, aimed in zip(
        record.arrays["stopping_failed"], record.values["failures"], strict=True
    ):
        assert binomial_p_value(int(seen), TRIALS, aimed) > ALPHA


def test_theorem_4_has_the_calls_of_the_paper():
    """1/beta calls buy 3 epsilon, 5 (2/beta)^(1/2) log(1/beta) of them 4 epsilon."""
    assert 10 ** clnss22_median.theorem_calls(0.01, 1.0) == pytest.approx(200)
    assert 10 ** clnss22_median.theorem_calls(0.01, 2.0) == pytest.approx(326)
    rounds, failure = clnss22_median.curve(1.0)
    assert failure[rounds == 1] == pytest.approx(0.75)
