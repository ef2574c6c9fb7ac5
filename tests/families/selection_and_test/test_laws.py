"""Exact laws and bounds of Selection and Test and of the coin game."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, renyi_divergence
from jaxsel.families.selection_and_test import bounds
from jaxsel.families.selection_and_test import coin_game_laws as games
from jaxsel.families.selection_and_test import laws as accounting
from jaxsel.families.selection_and_test.laws import RowOfTests, SelectionCall
from jaxsel.host.errors import InputError
from jaxsel.repetitions import beta_binomial
from jaxsel.tuning.attained.exact_laws import tuned_law

# --- Given p --------------------------------------------------------------------------


def at(p: float) -> accounting.Prior:
    return accounting.Prior(np.array([p]), np.array([1.0 - p]), np.ones(1))


def test_one_selection_given_p_by_enumerating_all_runs():
    laws = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
    rounds, p = [2, 1], 0.4
    law = np.zeros(4)
    owners = [0, 0, 1]
    for runs in itertools.product(range(4), repeat=3):  # 3: the run does not happen
        chance = math.prod(
            1.0 - p if x == 3 else p * laws[i, x] for i, x in zip(owners, runs, strict=True)
        )
        law[min(runs)] += chance
    found = accounting.selection_chances(laws, rounds, at(p))[:, 0]
    assert found == pytest.approx(law, rel=1e-13)


@pytest.mark.parametrize(("count", "stop"), [(4, 2), (4, 1), (3, 5), (1, 1)])
def test_a_row_of_tests_given_p_by_enumeration(count, stop):
    p, top = 0.7, 0.35
    law = np.zeros(stop + 1)
    for answers in itertools.product((0, 1), repeat=count):
        chance = math.prod(p * top if x else 1.0 - p * top for x in answers)
        law[min(sum(answers), stop)] += chance
    found = accounting.row_chances(top, count, stop, at(p))[:, 0]
    assert found == pytest.approx(law, rel=1e-13)


def row_chances_keep_relative_accuracy():
    """An outcome of probability 1e-200, and p within 1e-17 of 1."""
    laws = np.array([[0.5, 1e-200, 0.5]])
    found = accounting.selection_chances(laws, 3, at(0.5))[1, 0]
    assert found == pytest.approx(3 * 0.5 * 1e-200 * 0.75**2, rel=1e-13)
    near = accounting.Prior(np.ones(1), np.array([1e-17]), np.ones(1))
    none = accounting.selection_chances(laws, 3, near)[3, 0]
    assert none == pytest.approx(1e-51, rel=1e-13)


# --- Over p ---------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.05, 0.5, 1.0, 2.0, 30.0])
def test_prior_integrates_moments(gamma):
    for power, count in ((0, 10**5), (3, 0), (7, 1000), (1, 10**7)):
        nodes = accounting.prior(gamma, count, power)
        values = nodes.p**power * np.exp(count * np.log(nodes.rest))
        exact = gamma * mpmath.beta(gamma + power, count + 1)
        assert float(nodes.weights @ values) == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("rounds", [1, 50, 10**5])
def test_one_selection_is_the_best_of_a_beta_binomial_number(gamma, rounds):
    law = np.array([1e-9, 0.3, 0.7 - 1e-9])
    call = SelectionCall(law[None, None], np.array([rounds]))
    found = accounting.transcript_law([call], gamma).probabilities
    known = tuned_law(law, beta_binomial(rounds, gamma))
    assert found == pytest.approx(known, rel=1e-10)
    # tau of one candidate is one potential run of tau candidates
    if rounds == 50:
        many = SelectionCall(np.tile(law, (1, 50, 1)), np.ones(50))
        same = accounting.transcript_law([many], gamma).probabilities
        assert same == pytest.approx(found, rel=1e-12)


def by_first(outcomes):
    return 1 if outcomes and outcomes[0] == 1 else 0


def test_an_adaptive_transcript_with_a_limit():
    laws = np.array([[[0.3, 0.7]], [[0.9, 0.1]]])
    calls = [
        RowOfTests(np.array([0.4, 0.4]), 3, 1),
        SelectionCall(laws, np.array([2])),
        RowOfTests(np.array([0.2, 0.8]), 2, 2),
    ]
    for limit in (None, 1, 2):
        found = accounting.transcript_law(calls, 1.7, limit=limit, choose=by_first)
        assert found.probabilities.sum() == pytest.approx(1.0, abs=1e-13)
        for chance, (first, best, last) in zip(
            found.probabilities, found.outcomes.tolist(), strict=True
        ):

            def given(p, first=first, best=best, last=last, limit=limit):
                nodes = at(float(p))
                chance = accounting.row_chances(0.4, 3, 1, nodes)[first, 0]
                if limit == 1 and first:  # halted: what is left has outcome 0
                    return chance * (best == last == 0)
                law = laws[first]
                chance *= accounting.selection_chances(law, 2, nodes)[best, 0]
                room = 2 if limit is None else min(2, limit - first)
                if last > room:
                    return 0.0
                top = (0.2, 0.8)[first]
                return chance * accounting.row_chances(top, 2, room, nodes)[last, 0]

            # p = s^10: polynomials in s, which 50 nodes integrate exactly
            u, weights = np.polynomial.legendre.leggauss(50)
            s = (u + 1.0) / 2.0
            weights = weights / 2.0 * 17.0 * s**16
            exact = sum(w * given(x**10) for x, w in zip(s, weights, strict=True))
            assert chance == pytest.approx(exact, rel=1e-10, abs=1e-15)


def test_multisets_have_the_divergences_of_transcripts():
    for pair in (pairs.three_outcome(1.0, 0.2, 1e-3), pairs.randomised_response(0.5)):
        whole, counted = [], []
        for side in pair:
            call = SelectionCall(side[None, None], np.array([20]))
            whole.append(accounting.transcript_law([call] * 3, 0.7).probabilities)
            counted.append(accounting.repeated_selection_law(side, 20, 0.7, 3))
        assert counted[0].sum() == pytest.approx(1.0, abs=1e-12)
        assert exact_epsilon(*counted) == pytest.approx(exact_epsilon(*whole))
        orders = np.array([1.5, 4.0])
        assert renyi_divergence(counted[0], counted[1], orders) == pytest.approx(
            renyi_divergence(whole[0], whole[1], orders), rel=1e-10
        )


@pytest.mark.parametrize(
    ("gamma", "bottoms", "top", "tops", "last"),
    [
        (1.0, 20, 0.2, 2, 0.5),
        (0.5, 3, 1.0, 0, 1.0),
        (2.0, 10**6, 0.3, 60, 0.7),
        (0.4, 1000, 1e-3, 0, 1.0),
        (3.0, 0, 0.2, 4, 0.1),
    ],
)
def test_bottoms_then_tops_against_mpmath(gamma, bottoms, top, tops, last):
    with mpmath.workdps(40):
        a = gamma + tops
        if bottoms:
            value = gamma * mpmath.mpf(top) ** -a
            value *= mpmath.betainc(a, bottoms + 1, 0, top) * mpmath.mpf(last) ** tops
        else:
            value = gamma / mpmath.mpf(a) * mpmath.mpf(last) ** tops
        exact = float(mpmath.log(value))
    found = accounting.top_after_bottoms(gamma, bottoms, top, tops, last)
    assert found == pytest.approx(exact, rel=1e-11)


def test_tests_epsilon_has_the_order_of_the_theorem():
    # 2 epsilon sqrt(c log(1/delta)) for small epsilon: tests at a known p are
    # (c epsilon^2)-concentrated
    level = bounds.tests_epsilon(0.001, 1.0, 1000, 1e-9)
    root = 0.002 * math.sqrt(1000 * math.log(1e9))
    assert 0.8 * root < level < 1.02 * root
    assert level < bounds.tests_epsilon_simple(0.001, 1.0, 1000, 1e-9)
    assert bounds.tests_epsilon(0.5, 2.0, 3, 0.0) == 4.0
    assert bounds.known_chance_epsilon(0.5, 3, 0.0) == math.inf


# --- The coin game --------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 0.5, 2.0])
@pytest.mark.parametrize("order", [1.0001, 1.3, 2.0, 7.0, 200.0])
def test_exact_rates_against_mpmath(epsilon, order):
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        up = a * e - mpmath.log(1 + mpmath.exp(e) - mpmath.exp((1 - a) * e))
        found = games.favoured_rate(order, epsilon)
        assert found == pytest.approx(float(up / (a - 1)), rel=1e-8)
        room = 1 + mpmath.exp(e) - mpmath.exp(a * e)
        known = math.inf
        if room > 0:
            known = float(((1 - a) * e - mpmath.log(room)) / (a - 1))
    assert games.known_chance_rate(order, epsilon) == pytest.approx(known, rel=1e-8)


def test_exact_rates_bound_every_close_coin():
    for epsilon in (0.01, 0.3, 1.0):
        bias, low, high = games.close_coins(epsilon)
        for order in (1.2, 2.0, 20.0):
            rate = games.favoured_rate(order, epsilon)
            worst = games.coin_renyi(bias, low, order).max()
            # Power: randomised response is among the coins, and it is the worst.
            assert worst == pytest.approx(rate, rel=1e-9)
            both = np.maximum(
                games.coin_renyi(low, bias, order), games.coin_renyi(high, bias, order)
            )
            known = games.known_chance_rate(order, epsilon)
            assert both.max() == pytest.approx(known, rel=1e-9)


def test_lemma_1_is_the_limit_of_the_exact_rate():
    assert games.favoured_rate(np.inf, 0.3) == 0.3
    assert games.favoured_rate(1e6, 0.3) == pytest.approx(0.3, rel=1e-5)


@pytest.mark.parametrize("ones", [1, 2, 3])
def test_game_law_by_enumeration(ones):
    biases = [0.2, 1.0, 0.5, 0.0, 0.3]
    law = np.zeros(6)
    for tosses in itertools.product((0, 1), repeat=5):
        chance = math.prod(b if x else 1.0 - b for b, x in zip(biases, tosses, strict=True))
        seen = np.cumsum(tosses)
        law[int(np.argmax(seen == ones)) if seen[-1] >= ones else 5] += chance
    assert games.game_law(biases, ones) == pytest.approx(law, abs=1e-15)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="gamma"):
        accounting.prior(0.0)
    with pytest.raises(InputError, match="nearer to 1"):
        accounting.prior(1e-6)
    with pytest.raises(InputError, match="tops"):
        bounds.tests_epsilon(0.1, 1.0, 0, 1e-6)
    with pytest.raises(InputError, match="tops"):
        bounds.known_chance_epsilon(0.1, 0, 1e-6)
    with pytest.raises(InputError, match=r"delta is -0\.1"):
        bounds.tests_epsilon(0.1, 1.0, 1, -0.1)
    # e^epsilon would exceed all floats.
    with pytest.raises(InputError, match="epsilon is 1000"):
        games.known_chance_rate(2.0, 1000.0)
    with pytest.raises(InputError, match="order"):
        games.favoured_rate(1.0, 0.5)
    with pytest.raises(InputError, match="biases"):
        games.game_law([0.5, 1.5])
