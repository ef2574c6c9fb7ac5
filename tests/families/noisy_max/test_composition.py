"""Groups of equal scores and compositions: literal laws, samplers, and bad input."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.families.noisy_max.composition import composition
from jaxsel.families.noisy_max.group_bounds import (
    GroupPair,
    group_scores,
    moving_groups,
    worst_group_pair,
)
from jaxsel.families.noisy_max.grouped_noisy_max import grouped_noisy_max
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate, simulate_grid
from jaxsel.language.base import Relation
from tests.conftest import ALPHA

GROUPS = {"sizes": [3, 40, 1], "levels": [1.5, 0.0, 2.5]}
INNER = noisy_max("gaussian")
# The first round's scores, then those that follow each winner.
ROWS = [[0.0, 1.0, 0.5], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.3, 0.3]]
WEIGHTS = [[1, 0, 2], [0, 1, 0], [3, 0, 1], [0, -1, 0]]
UNIT = {"noise_scale": 1.0}


def fits(tallies, law) -> float:
    return goodness_of_fit(tallies.values[0], law.probabilities)


# --- groups ---------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["tail", "float64"])
def test_groups_follow_the_literal_law(precision, seed):
    mechanism = grouped_noisy_max(precision=precision)
    params = {"noise_scale": 2.0}
    literal = noisy_max_law(np.repeat(GROUPS["levels"], GROUPS["sizes"]) / 2.0, "gaussian")
    merged = np.add.reduceat(literal, [0, 3, 43])
    law = mechanism.law(GROUPS, params)
    np.testing.assert_allclose(law.probabilities, merged, rtol=1e-10)
    tallies = simulate(mechanism, GROUPS, params, trials=400_000, seed=seed)
    assert fits(tallies, law) > ALPHA
    # Power: noise that is 3 % larger is noticed.
    wrong = mechanism.law(GROUPS, {"noise_scale": 2.06})
    assert fits(tallies, wrong) < ALPHA


def test_groups_of_ten_thousand(seed):
    pair = worst_group_pair(1e-3, 10_000, 4.0)
    neighbours = moving_groups(pair, 4.0)
    mechanism = grouped_noisy_max()
    sides = (neighbours.data, neighbours.neighbour)
    tallies = simulate_grid(
        mechanism, [(s, neighbours.params) for s in sides], trials=400_000, seed=seed
    )
    laws = [mechanism.law(side, neighbours.params).probabilities for side in sides]
    for counts, law in zip(tallies.values, laws, strict=True):
        assert goodness_of_fit(counts, law) > ALPHA
    assert goodness_of_fit(tallies.values[0], laws[1]) < ALPHA


def test_moving_groups_are_neighbours():
    for relation, scale in itertools.product((Relation.GENERAL, Relation.MONOTONE), (1, 4)):
        pair = moving_groups(GroupPair(2, 3, -1.25, 0.0), float(scale), relation)
        written = group_scores(pair)
        move = written.neighbour - written.data
        assert np.abs(move).max() == 1.0
        assert relation is Relation.GENERAL or np.all(move <= 0.0)
        gap = written.neighbour[0] - written.neighbour[-1]
        assert gap == -1.25 * scale
        law = grouped_noisy_max().law(pair.data, pair.params).probabilities
        literal = noisy_max_law(written.data / scale, "gaussian")
        assert law[0] == pytest.approx(literal[:2].sum(), rel=1e-10)


# --- composition ----------------------------------------------------------------------


def test_law_of_all_releases_is_a_product(seed):
    mechanism = composition(INNER, 3, event="all")
    law = mechanism.law(ROWS[0], UNIT)
    one = noisy_max_law(np.array(ROWS[0]), "gaussian")
    expected = [np.prod(one[list(code)]) for code in itertools.product(range(3), repeat=3)]
    np.testing.assert_allclose(law.probabilities, expected, rtol=1e-12)
    assert law.labels[5] == "0,1,2"
    tallies = simulate(mechanism, ROWS[0], UNIT, trials=100_000, seed=seed)
    assert fits(tallies, law) > ALPHA


def test_adaptive_law_by_enumeration(seed):
    laws = [noisy_max_law(np.array(row), "gaussian") for row in ROWS]
    codes = list(itertools.product(range(3), repeat=4))

    def chance(code):
        rows = (0, *(winner + 1 for winner in code[:-1]))
        return np.prod([laws[row][winner] for row, winner in zip(rows, code, strict=True)])

    def weight(code):
        rows = (0, *(winner + 1 for winner in code[:-1]))
        return sum(WEIGHTS[row][winner] for row, winner in zip(rows, code, strict=True))

    everything = composition(INNER, 4, adaptive=True, event="all")
    law = everything.law(ROWS, UNIT)
    np.testing.assert_allclose(law.probabilities, [chance(c) for c in codes], rtol=1e-12)
    summed = composition(INNER, 4, adaptive=True)
    sums = summed.law(ROWS, UNIT | {"weights": WEIGHTS})
    for label, probability in zip(sums.labels, sums.probabilities, strict=True):
        exact = sum(chance(code) for code in codes if weight(code) == int(label))
        assert probability == pytest.approx(exact, rel=1e-10, abs=1e-15)
    for mechanism, params, exact in (
        (everything, UNIT, law),
        (summed, UNIT | {"weights": WEIGHTS}, sums),
    ):
        tallies = simulate(mechanism, ROWS, params, trials=100_000, seed=seed)
        assert fits(tallies, exact) > ALPHA
    # Power: the same releases without adaptation are another law.
    other = composition(INNER, 4, event="all").law(ROWS[0], UNIT)
    tallies = simulate(everything, ROWS, UNIT, trials=100_000, seed=seed)
    assert fits(tallies, other) < ALPHA


def test_number_of_wins_is_binomial_and_literal_and_grouped_agree(seed):
    pair = moving_groups(GroupPair(3, 7, -1.0, 0.0), 2.0)
    written = group_scores(pair)
    weights = [1] * 3 + [0] * 7
    grouped = composition(grouped_noisy_max(), 12)
    literal = composition(INNER, 12)
    law = grouped.law(pair.data, pair.params)
    same = literal.law(written.data, pair.params | {"weights": weights})
    np.testing.assert_allclose(law.probabilities, same.probabilities, rtol=1e-9)
    assert law.labels == tuple(str(i) for i in range(13))
    for mechanism, data, params in (
        (grouped, pair.data, pair.params),
        (literal, written.data, pair.params | {"weights": weights}),
    ):
        tallies = simulate(mechanism, data, params, trials=100_000, seed=seed)
        assert fits(tallies, law) > ALPHA
    assert fits(tallies, grouped.law(pair.neighbour, pair.params)) < ALPHA


def test_outcome_holds_the_releases(seed):
    mechanism = composition(INNER, 5, event="all")
    with jax.enable_x64(True):
        data, params = mechanism.prepare(ROWS[0], UNIT)
        first, second, _ = stream.make_key(seed)

        def draw(lane):
            return mechanism.sample(stream.Key(first, second, lane), data, params)

        lanes = jnp.arange(50, dtype=jnp.uint32)
        found = jax.jit(jax.vmap(draw))(lanes)
        eager = draw(lanes[7])
    assert found.events.shape == (50, 5)
    assert found.events[7].tolist() == eager.events.tolist()
    codes = np.asarray(found.events) @ 3 ** np.arange(4, -1, -1)
    np.testing.assert_array_equal(found.number, codes)
    # Rounds draw afresh.
    assert len({tuple(row) for row in np.asarray(found.events).tolist()}) > 25


# --- bad input ------------------------------------------------------------------------

PLAIN = composition(INNER, 2)
ADAPTIVE = composition(INNER, 2, adaptive=True)
GROUPED = grouped_noisy_max()


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (GROUPED, [1.0], UNIT, "sizes"),
        (GROUPED, {"sizes": [1.5], "levels": [0.0]}, UNIT, "whole numbers"),
        (GROUPED, {"sizes": [1], "levels": [0.0, 1.0]}, UNIT, "one size and one level"),
        (GROUPED, GROUPS, {"noise_scale": -1.0}, "noise_scale is -1"),
        (GROUPED, GROUPS, {"epsilon": 1.0}, "noise_scale is missing"),
        (GROUPED, GROUPS, UNIT | {"epsilon": 1.0}, "epsilon is no parameter"),
        (PLAIN, ROWS[0], UNIT | {"wieghts": [1, 0, 0]}, "wieghts is no parameter"),
        (PLAIN, ROWS[0], UNIT | {"weights": [1.5, 0, 0]}, "whole numbers"),
        (PLAIN, ROWS[0], UNIT | {"weights": [1, 0]}, "one weight for each"),
        (PLAIN, ROWS[0], UNIT | {"weights": [10**6, 0, 0]}, "at most 65536"),
        (PLAIN, [], UNIT, "empty"),
        (ADAPTIVE, [0.0, 1.0], UNIT, "one list"),
        (ADAPTIVE, ROWS[:3], UNIT, "needs 4 inputs"),
        (ADAPTIVE, [ROWS[0]], UNIT, "takes a list of inputs"),
        (composition(INNER, 11, event="all"), ROWS[0], UNIT, r"3\^11 events"),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grouped_noisy_max(precision="fast"), "precision is 'fast'"),
        (lambda: grouped_noisy_max(precision="half"), "precision is 'half'"),
        (lambda: composition(INNER, 0), "rounds is 0"),
        (lambda: composition(INNER, 2, event="some"), "event is 'some'"),
        (lambda: composition(INNER._replace(law=None), 2), "no exact law"),
    ],
)
def test_bad_static_settings(make, message):
    with pytest.raises(InputError, match=message):
        make()
