"""Worst rankings: published numbers, upper bounds, brute force over all rankings."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.accounting.single_run.pairs import random_pure_pair
from jaxsel.accounting.single_run.score_pairs import (
    gaussian_pair,
    laplace_pair,
    mirrored_pair,
    reversed_pair,
    subsampled_gaussian_pair,
)
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.adversarial_orders import adversarial_delta, adversarial_epsilon
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.exact_profile import exact_tuned_epsilon, tuned_profile
from jaxsel.tuning.attained.finite_adversary import finite_adversarial
from jaxsel.tuning.attained.merging import best_block, best_merger, merging_grid, path_epsilon
from jaxsel.tuning.attained.ranked_laws import Ranking, ranked_epsilon, tuned_masses

SEARCH = 1e-4  # of epsilon: how close to the best merger a search is said to come
PAIRS = (
    gaussian_pair(0.5),
    gaussian_pair(4.0),
    gaussian_pair(20.0),
    laplace_pair(1.0),
    subsampled_gaussian_pair(1.0, 0.1),
)
LAWS = (
    laws.poisson(10.0),
    laws.binomial(20, 0.5),
    laws.beta_binomial(100, 0.5),
    laws.logarithmic(0.01),
)
GRID = [(pair, law) for pair in PAIRS for law in LAWS]


def named(value):
    return value.name if hasattr(value, "name") else value.family


def exact(pair, law, found):
    side = pair if found.direction == "forward" else reversed_pair(pair)
    return tuned_profile(side, law, found.order)


# --- The line -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "blocks", "merged"),
    [(30, 1.781, 1.7886), (300, 2.238, 2.2474), (3000, 2.6545, 2.6640)],
)
def test_gaussian_base(mean, blocks, merged):
    """Published: two blocks; and the envelope bound, which mergers nearly attain."""
    law, pair = laws.geometric(1.0 / mean), gaussian_pair(4.0)
    two = adversarial_epsilon(pair, law, 1e-6, blocks=True)
    assert two.epsilon == pytest.approx(blocks, abs=5e-4)
    best = adversarial_epsilon(pair, law, 1e-6)
    assert merged - 2e-4 < best.epsilon < merged + 5e-5
    assert best.epsilon > two.epsilon + 0.005
    assert two.epsilon > exact_tuned_epsilon(pair, law, 1e-6) + 0.5
    assert gaussian_epsilon(1e-6, 4.0) == pytest.approx(1.0607, abs=5e-5)


@pytest.mark.parametrize(("pair", "law"), GRID, ids=named)
def test_the_ranking_attains_what_is_said(pair, law):
    found = adversarial_epsilon(pair, law, 1e-6, blocks=True)
    assert found.epsilon == pytest.approx(exact(pair, law, found).epsilon(1e-6))
    assert found.epsilon >= exact_tuned_epsilon(pair, law, 1e-6)
    assert found.delta == 1e-6


def envelope(pair, law, epsilon, count=1000):
    """E_P[sup_x (f'(1-x) - e^(epsilon - loss) f'(1-T(x)))_+] of a monotone loss."""
    ends = pair.loss(np.array(pair.reach))
    pair = mirrored_pair(pair) if ends[0] < ends[1] else pair
    z = np.linspace(-9.5, 11.5, count)
    slopes = [
        np.exp(law.log_pgf_derivative_tail(np.exp(side.log_upper(z))))
        for side in (pair.first, pair.second)
    ]
    y = np.linspace(-9.5, 11.5, 2 * count + 1)
    mass = np.diff(np.exp(pair.first.log_lower(y)))
    y = (y[1:] + y[:-1]) / 2
    weight = np.exp(np.minimum(epsilon - pair.loss(y), 600.0))
    worst = np.max(slopes[0] - weight[:, None] * slopes[1], axis=1)
    return float(np.sum(mass * np.maximum(worst, 0.0)))


@pytest.mark.parametrize(
    ("pair", "law"), [(pair, law) for pair in (*PAIRS[:2], PAIRS[4]) for law in LAWS[:3]], ids=named
)
def test_below_and_close_to_the_envelope(pair, law):
    found = adversarial_epsilon(pair, law, 1e-6)

    def excess(epsilon):
        sides = (pair, reversed_pair(pair))
        bound = max(envelope(side, law, epsilon) for side in sides)
        return math.log(max(bound, 1e-300) / 1e-6)

    low, high = 0.9 * found.epsilon, 1.1 * found.epsilon
    bound = optimize.brentq(excess, low, high, xtol=1e-6)
    # the bound itself is computed on a grid, to about 2e-4
    assert found.epsilon <= bound * 1.0003
    assert found.epsilon >= bound * 0.998


def test_delta_and_epsilon_agree():
    for pair, law in GRID[4::9]:
        for blocks in (True, False):
            found = adversarial_epsilon(pair, law, 1e-5, blocks=blocks)
            back = adversarial_delta(pair, law, found.epsilon, blocks=blocks)
            assert back.epsilon == found.epsilon
            assert back.delta == pytest.approx(float(exact(pair, law, back).delta(found.epsilon)))
            reached = exact(pair, law, back).epsilon(1e-5)
            assert reached == pytest.approx(found.epsilon, rel=2 * SEARCH)


def test_blocks_are_a_local_optimum():
    """Moving either cut of the best two blocks, by little or by much, never helps."""
    law, pair = laws.poisson(10.0), gaussian_pair(2.0)
    found = adversarial_epsilon(pair, law, 1e-6, blocks=True)
    (good,), (bad,) = found.order.good, found.order.bad
    side = pair if found.direction == "forward" else reversed_pair(pair)
    for step in (0.01, 0.1, 0.5, 2.0):
        for x, y in ((step, 0), (-step, 0), (0, step), (0, -step)):
            order = found.order._replace(good=(good + x,), bad=(bad + y,))
            if bad + y <= good + x:
                moved = tuned_profile(side, law, order).epsilon(1e-6)
                assert moved <= found.epsilon * (1 + SEARCH)


def test_one_run_has_nothing_to_rank():
    found = adversarial_epsilon(gaussian_pair(2.0), laws.point_mass(1), 1e-5)
    assert found.epsilon == pytest.approx(gaussian_epsilon(1e-5, 2.0), rel=1e-9)


def test_asymmetric_pair_has_a_direction():
    pair, law = subsampled_gaussian_pair(1.0, 0.01), laws.geometric(0.1)
    found = adversarial_epsilon(pair, law, 1e-6)
    other = adversarial_epsilon(reversed_pair(pair), law, 1e-6)
    assert found.direction != other.direction
    assert found.epsilon == pytest.approx(other.epsilon, rel=1e-6)


# --- Finite pairs ---------------------------------------------------------------------


def random_pair(generator, size):
    concentration = generator.choice([0.3, 1.0, 3.0])
    first = generator.dirichlet(np.full(size, concentration)) + 1e-9
    second = generator.dirichlet(0.5 + generator.choice([0.0, 8.0]) * first)
    return first / first.sum(), (second + 1e-9) / (second + 1e-9).sum()


def all_mergers(first, second):
    rising = np.argsort(first / second)
    for liked in (rising, rising[::-1]):
        for turns in itertools.product((False, True), repeat=len(first) - 1):
            low, high, order = 0, len(first), []
            for back in turns:
                if back:
                    high -= 1
                    order.append(liked[high])
                else:
                    order.append(liked[low])
                    low += 1
            yield np.array([*order, liked[low]])


def tied_rankings(size):
    """Every total preorder: the rank of each outcome, ranks without gaps."""
    for ranks in itertools.product(range(size), repeat=size):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield np.array(ranks)


def tied_epsilon(sides, ranks, law, delta):
    """By sums of the generating function over groups, with no code of the search."""
    tuned = []
    for side in sides:
        better, out = 0.0, np.zeros(len(side))
        for rank in range(max(ranks) + 1):
            group = ranks == rank
            held = side[group].sum()
            gone = law.pgf_gap(min(better + held, 1.0)) - law.pgf_gap(min(better, 1.0))
            out[group] = side[group] / held * gone
            better += held
        tuned.append(np.append(out, law.probability_zero))
    return epsilon_at_delta(*tuned, delta)


@pytest.mark.parametrize("seed", range(24))
def test_few_outcomes_are_ranked_in_every_way(seed):
    generator = np.random.default_rng(seed)
    law = (*LAWS, laws.geometric(0.05), laws.point_mass(4))[seed % 6]
    size = (2, 3, 4, 4, 4, 5)[seed // 4]
    delta = float(10.0 ** generator.uniform(-4, -1.3))
    sides = random_pure_pair(generator, size, generator.uniform(0.1, 1.5), 1.0)
    best = max(tied_epsilon(sides, r, law, delta) for r in tied_rankings(size))
    found = finite_adversarial(*sides, law, delta)
    assert found.maximum
    assert found.epsilon == pytest.approx(best, rel=1e-7, abs=1e-9)
    ranks = np.empty(size, dtype=int)
    ranks[found.ranking] = np.cumsum(~found.tied) - 1
    assert tied_epsilon(sides, ranks, law, delta) == pytest.approx(best, abs=1e-9)


def test_the_case_that_mergers_missed():
    """Four outcomes of which no merger of the loss order is the worst ranking."""
    generator = np.random.default_rng(3)
    law, delta, worse = laws.geometric(0.05), 1e-3, 0
    for _ in range(40):
        sides = random_pure_pair(generator, 4, 0.3, 1.0)
        found = finite_adversarial(*sides, law, delta).epsilon
        mergers = max(
            ranked_epsilon(*sides, Ranking.strict(order), law, delta)
            for order in all_mergers(*sides)
        )
        assert found >= mergers - 1e-9
        worse += found > 1.05 * mergers
    assert worse >= 3  # so that a search of mergers alone would fail


def worst_strict(sides, law, delta, epsilon):
    """The largest epsilon over strict rankings, by the longest path through subsets."""
    size = len(sides[0])
    held = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(bool)
    gaps = [np.asarray(law.pgf_gap(np.minimum(held @ side, 1.0))) for side in sides]
    while True:
        start = epsilon
        for one, two in (gaps, gaps[::-1]):
            value, last = np.zeros(2**size), np.zeros(2**size, dtype=int)
            for subset in range(1, 2**size):
                members = np.flatnonzero(held[subset])
                less = subset ^ (1 << members)
                gain = one[subset] - one[less] - math.exp(epsilon) * (two[subset] - two[less])
                reached = value[less] + np.maximum(gain, 0.0)
                last[subset] = members[np.argmax(reached)]
                value[subset] = reached.max()
            order, subset = [], 2**size - 1
            while subset:
                order.append(last[subset])
                subset ^= 1 << last[subset]
            ranking = Ranking.strict(np.array(order[::-1]))
            epsilon = max(epsilon, ranked_epsilon(*sides, ranking, law, delta))
        if epsilon <= start + 1e-12:
            return epsilon


def test_more_outcomes_are_moved_to_better_places():
    """Nine outcomes: near the best of all strict rankings, and above all mergers."""
    generator, shares = np.random.default_rng(7), []
    for case in range(8):
        law = (*LAWS, laws.geometric(0.05), laws.point_mass(4))[case % 6]
        sides = random_pure_pair(generator, 9, generator.uniform(0.1, 1.0), 1.0)
        found = finite_adversarial(*sides, law, 1e-2)
        assert not found.maximum
        assert not np.any(found.tied)
        ranking = Ranking.strict(found.ranking)
        again = ranked_epsilon(*sides, ranking, law, 1e-2)
        assert found.epsilon == pytest.approx(again, rel=1e-12)
        best = worst_strict(sides, law, 1e-2, found.epsilon)
        shares.append(found.epsilon / best if best else 1.0)
    assert min(shares) > 0.95
    assert np.mean(shares) > 0.99


def test_what_underflows_is_no_infinite_loss():
    """The worse outcome has e^-10 on one side, and e^-1000 on the other."""
    sides = [[0.002, 0.998], [0.2, 0.8]]
    found = finite_adversarial(*sides, laws.poisson(5000.0), 1e-6)
    assert 600.0 < found.epsilon < 1000.0 + math.log(math.exp(-10.0) - 1e-6)


@pytest.mark.parametrize("finder", [best_block, best_merger])
def test_longest_path_by_brute_force(finder):
    """Every path through the grid of states, summed step by step."""
    generator = np.random.default_rng(5)
    for _ in range(10):
        first, second = random_pair(generator, 5)
        rising = np.argsort(first / second)
        first, second = first[rising], second[rising]
        law, factor = laws.geometric(0.02), math.exp(0.7)
        grid = merging_grid(first, second, law)
        best = 0.0
        for turns in itertools.product((False, True), repeat=5):
            if finder is best_block and list(turns) not in [
                [False] * a + [True] * b + [False] * (5 - a - b)
                for a in range(6)
                for b in range(6 - a)
            ]:
                continue
            a = b = 0
            total = 0.0
            for back in turns:
                cell = grid.below[:, b, a] if back else grid.above[:, a, b]
                total += max(0.0, cell[0] - factor * cell[1])
                a, b = (a, b + 1) if back else (a + 1, b)
            best = max(best, total)
        assert finder(grid, 0.7).delta == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("law", [*LAWS, laws.geometric(1e-4), laws.point_mass(3)])
def test_grid_masses_aretuned_masses(law):
    """Along a path they are the tuned law, to the accuracy of interpolation."""
    generator = np.random.default_rng(6)
    first, second = random_pair(generator, 40)
    rising = np.argsort(first / second)
    first, second = first[rising], second[rising]
    grid = merging_grid(first, second, law)
    path = best_merger(grid, 0.3)
    a, b, order, masses = 0, 0, [], []
    for front, back in zip(path.front, path.back, strict=True):
        order += [*range(a, front), *range(39 - b, 39 - back, -1)]
        masses += [*grid.above[0, a:front, b], *grid.below[0, b:back, front]]
        a, b = int(front), int(back)
    order += range(a, 40 - b)
    masses += [*grid.above[0, a : 40 - b, b]]
    wanted = tuned_law(first[order], law)[:-1]
    np.testing.assert_allclose(masses, wanted, rtol=5e-3, atol=1e-12)
    tuned = [tuned_law(side[order], law) for side in (first, second)]
    assert path_epsilon(grid, path, 1e-3) <= epsilon_at_delta(*tuned, 1e-3) * 1.01


def gaussian_bins(shift, count):
    edges = np.linspace(-9.0, 9.0 + shift, count - 1)
    sides = []
    for mean in (0.0, shift):
        below = np.concatenate([[0.0], special.ndtr(edges - mean), [1.0]])
        above = np.concatenate([[1.0], special.ndtr(mean - edges), [0.0]])
        sides.append(np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)))
    return sides


@pytest.mark.parametrize("law", [LAWS[0], LAWS[2], laws.geometric(1.0 / 300.0)])
def test_bins_of_the_gaussian_pair(law):
    """Coarsening lowers every divergence; fine bins come close to the line."""
    line = adversarial_epsilon(gaussian_pair(4.0), law, 1e-6).epsilon
    found = [
        finite_adversarial(*gaussian_bins(0.25, count), law, 1e-6).epsilon
        for count in (100, 1000, 20_000)
    ]
    assert max(found) <= line * (1 + SEARCH)
    assert found[0] < found[1]
    assert found[2] == pytest.approx(line, rel=SEARCH)


@pytest.mark.parametrize("law", [*LAWS, laws.geometric(1e-6), laws.point_mass(50)])
def test_many_small_outcomes(law):
    for size in (3, 200, 3000):
        first, _ = random_pair(np.random.default_rng(size), size)
        np.testing.assert_allclose(
            tuned_masses(first, law), tuned_law(first, law), rtol=1e-11, atol=1e-300
        )


def test_outcomes_of_one_side_only():
    first, second = [0.5, 0.4, 0.1, 0.0], [0.4, 0.5, 0.0, 0.1]
    found = finite_adversarial(first, second, laws.poisson(2.0), 1e-3)
    assert found.epsilon == math.inf
    found = finite_adversarial(first, second, laws.poisson(2.0), 0.5)
    assert math.isfinite(found.epsilon)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adversarial_epsilon(PAIRS[0], LAWS[0], 1.0), "delta"),
        (lambda: adversarial_delta(PAIRS[0], LAWS[0], -1.0), "epsilon"),
        (lambda: adversarial_delta(PAIRS[0], LAWS[0], math.inf), "epsilon"),
        (lambda: finite_adversarial([1.0], [0.5, 0.5], LAWS[0], 0.1), "outcomes"),
        (lambda: finite_adversarial([0.9], [1.0], LAWS[0], 0.1), "first"),
        (lambda: finite_adversarial([1.0], [1.0], LAWS[0], 0.0), "delta"),
        (
            lambda: finite_adversarial([1.0], [1.0], laws.conditioned(laws.poisson(1.0), 0), 0.1),
            "always 0",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
