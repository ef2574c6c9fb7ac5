"""The envelope bound: above every exact law, attained, and equal to its own formula.

The proof is in docs/envelope.md; its numbers are checked here, too.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.numerics.hull import upper_hull, upper_hull_of_logs
from jaxsel.accounting.single_run import curves, pairs
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import pair_delta, pair_from_laws
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.accounting.single_run.score_pairs import gaussian_pair
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.adversarial_orders import adversarial_epsilon
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.envelope import (
    base_envelopes,
    envelope_epsilon,
    envelope_log_delta,
    envelope_profile,
    pair_envelope,
)
from jaxsel.tuning.bounds.negative_binomial import negative_binomial_renyi
from jaxsel.tuning.bounds.poisson import poisson_renyi
from jaxsel.tuning.bounds.profiles import profile_bounds
from jaxsel.tuning.bounds.renyi import renyi_curves

LEVELS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
FAMILIES = [
    *(laws.truncated_negative_binomial(e, 0.5) for e in (-0.5, 0.0, 1.0, 5.0)),
    *(laws.truncated_negative_binomial(e, 0.03) for e in (-0.5, 0.0, 1.0, 5.0)),
    *(laws.truncated_negative_binomial(e, 1e-4) for e in (-0.5, 0.0, 1.0, 5.0)),
    laws.poisson(0.3),
    laws.poisson(12.0),
    laws.binomial(9, 0.3),
    laws.binomial(40, 0.9),
    laws.beta_binomial(25, 0.5),
    laws.beta_binomial(25, 2.0),
    laws.point_mass(1),
    laws.point_mass(2),
    laws.point_mass(7),
    laws.capped(laws.geometric(0.1), 12),
]
GEOMETRIC = [laws.geometric(1.0 / mean) for mean in (30, 300, 3000)]


def delta(bounds, epsilon):
    return np.exp(envelope_log_delta(bounds, epsilon))


def epsilon_of(base, law, target):
    return envelope_epsilon(base_envelopes(base, law), target)


# --- Sound: finite pairs --------------------------------------------------------------


def random_laws(generator, kind):
    """Two laws on a few outcomes; kind 2 has outcomes that only one side can give."""
    size = int(generator.integers(2, 8))
    if kind == 0:
        return pairs.random_pair(generator, size, generator.choice([0.1, 0.5, 3.0]))
    if kind == 1:
        return pairs.random_pure_pair(generator, size, 0.05 + generator.exponential())
    sides = generator.dirichlet(np.full(size + 2, 0.5), 2)
    sides[0, 0] = sides[1, 1] = 0.0
    return pairs.LawPair(*(side / side.sum() for side in sides))


def orders(generator, first, second):
    """Random rankings, and one that puts what the second side likes before the rest."""
    yield generator.permutation(first.size)
    with np.errstate(divide="ignore"):
        by_loss = np.argsort(np.log(first) - np.log(second))
    cut = int(generator.integers(first.size))
    yield np.concatenate([by_loss[:cut], by_loss[cut:][::-1]])


@pytest.mark.parametrize("part", range(4))
def test_never_below_the_exact_delta_of_random_pairs(part):
    """3,200 pairs, both directions, 2 rankings and one with its ties split in 16."""
    generator = np.random.default_rng(part)
    nearest = 0.0
    for case in range(800):
        law = FAMILIES[case % len(FAMILIES)]
        pair = random_laws(generator, case // len(FAMILIES) % 3)
        for first, second in (pair, pair[::-1]):
            bounds = (pair_envelope(pair_from_laws(first, second), law, count=256),)
            claimed = delta(bounds, LEVELS)
            for number, order in enumerate(orders(generator, first, second)):
                # equal parts of an outcome: the tie-breaking score is released as well
                split = 16 if number == 0 and case % 4 == 0 else 1
                tuned = [
                    tuned_law(np.repeat(side[order] / split, split), law)
                    for side in (first, second)
                ]
                exact = hockey_stick(*tuned, LEVELS)
                assert np.all(exact <= claimed * (1 + 1e-9) + 1e-15), (
                    law.family,
                    law.parameters,
                    first[order],
                    second[order],
                )
                if law.mean > 1.5:
                    tight = exact[(exact > 1e-9) & (claimed < 1.0)]
                    base = claimed[(exact > 1e-9) & (claimed < 1.0)]
                    nearest = max(nearest, float(np.max(tight / base, initial=0.0)))
    assert nearest > 0.97  # 0.97 times the bound would be violated


def test_power_three_blocks_reach_the_bound():
    """Best block of the right mass, then a rare block: 99.9 % of the bound at once."""
    law, epsilon = laws.geometric(0.01), 2.4
    reached = []
    for top in np.geomspace(0.02, 0.26, 24):
        pair = pairs.three_outcome(1.0, float(top), 1e-9)
        bounds = (pair_envelope(pair_from_laws(*pair), law, count=16384),)
        exact = hockey_stick(*(tuned_law(side, law) for side in pair), epsilon)
        claimed = delta(bounds, epsilon)
        assert exact <= claimed * (1 + 1e-9)
        reached.append(exact / claimed if claimed > 0.0 else 0.0)
    assert max(reached) > 0.999


# --- Sound and tight: the Gaussian base -----------------------------------------------


def test_values_for_a_gaussian_base():
    found = [epsilon_of(curves.gaussian(4.0), law, 1e-6) for law in GEOMETRIC]
    assert np.round(found, 4).tolist() == [1.7886, 2.2474, 2.664]


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def gaussian_supremum(z, epsilon, scale, law):
    """sup_x (f'(1-x) - e^(epsilon - loss) f'(1-T(x)))_+ at outputs z, by search."""
    shift = 1.0 / scale
    weight = np.exp(np.minimum(epsilon - shift**2 / 2 + shift * z, 700.0))

    def value(score, s):
        # the event of all outputs above the score, N(0, 1) against N(shift, 1)
        first = law.pgf_derivative_tail(special.ndtr(-score))
        return first - s * law.pgf_derivative_tail(special.ndtr(shift - score))

    grid = np.linspace(-9, 12 + shift, 1501)
    table = value(grid[None, :], weight[:, None])
    best = np.argmax(table, axis=1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, grid.size - 1)]
    found, golden = table[np.arange(z.size), best], (math.sqrt(5) - 1) / 2
    for _ in range(36):
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = value(left, weight), value(right, weight)
        found = np.maximum(found, np.maximum(at_left, at_right))
        high = np.where(at_left > at_right, right, high)
        low = np.where(at_left > at_right, low, left)
    return np.maximum(found, 0.0)


def gaussian_oracle(epsilon, scale, law, panels=16):
    """The theorem's expectation, by quadrature over the outputs with a gain."""
    low, high = -38.0, 38.0
    for _ in range(50):
        middle = (low + high) / 2
        gain = gaussian_supremum(np.array([middle]), epsilon, scale, law)[0]
        low, high = (middle, high) if gain > 0 else (low, middle)
    edges = np.linspace(max(min(low, 0.0) - 9.0, -38.0), low, panels + 1)
    half = (edges[1] - edges[0]) / 2
    z = ((edges[:-1] + half)[:, None] + half * _NODES).ravel()
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    gains = gaussian_supremum(z, epsilon, scale, law)
    return float(np.sum(np.tile(_WEIGHTS * half, panels) * density * gains))


@pytest.mark.parametrize(
    ("scale", "law", "target", "gap"),
    [
        (4.0, GEOMETRIC[0], 1e-6, 5e-5),
        (4.0, GEOMETRIC[2], 1e-6, 5e-5),
        (1.0, laws.poisson(10.0), 1e-6, 5e-5),
        (0.5, laws.logarithmic(1e-3), 1e-6, 5e-5),
        (0.2, laws.geometric(0.05), 1e-5, 5e-5),
        (2.0, laws.binomial(20, 0.5), 1e-9, 5e-5),
        (3.0, laws.point_mass(3), 1e-6, 5e-5),
        (50.0, laws.geometric(1e-3), 1e-6, 5e-5),
    ],
    ids=lambda value: getattr(value, "family", str(value)),
)
def test_against_direct_evaluation(scale, law, target, gap):
    """From above, and within a relative gap of epsilon."""
    epsilon = epsilon_of(curves.gaussian(scale), law, target)
    at = gaussian_oracle(epsilon, scale, law)
    assert at <= target
    assert gaussian_oracle(epsilon * (1 - gap), scale, law) > target
    assert gaussian_oracle(epsilon, scale, law, panels=8) == pytest.approx(at, rel=1e-8)


@pytest.mark.parametrize("law", GEOMETRIC, ids=["30", "300", "3000"])
def test_an_adversarial_ranking_attains_it(law):
    """Exact rankings within 0.5 % with two blocks, and within 0.02 % when merged."""
    bound = epsilon_of(curves.gaussian(4.0), law, 1e-6)
    blocks = adversarial_epsilon(gaussian_pair(4.0), law, 1e-6, blocks=True).epsilon
    merged = adversarial_epsilon(gaussian_pair(4.0), law, 1e-6).epsilon
    assert blocks <= merged <= bound
    assert bound <= 1.005 * blocks
    assert bound <= 1.0002 * merged


def test_numbers_of_the_document():
    text = (Path(__file__).parents[2] / "docs" / "envelope.md").read_text()
    rows = re.findall(r"^\| (30+) \|((?: [\d.]+ \|){5})$", text, re.M)
    assert [int(mean) for mean, _ in rows] == [30, 300, 3000]
    base = curves.gaussian(4.0)
    for law, (_, row) in zip(GEOMETRIC, rows, strict=True):
        eta, gamma = law.parameters["eta"], law.parameters["gamma"]
        bounds = {b.theorem: b.epsilon(1e-6) for b in profile_bounds(base, law)}
        curve = negative_binomial_renyi(base.renyi, eta, gamma)
        found = [
            adversarial_epsilon(gaussian_pair(4.0), law, 1e-6).epsilon,
            epsilon_of(base, law, 1e-6),
            bounds["KRW-N2"],
            bounds["KRW-Thm5.2"],
            renyi_to_epsilon(curve, 1e-6).epsilon,
        ]
        stated = [float(number) for number in row.replace("|", " ").split()]
        np.testing.assert_allclose(found[1:], stated[1:], atol=5.1e-5)
        assert stated[0] <= found[0] <= stated[0] + 2e-4
    # and the mass of outputs that matter
    (bound,) = base_envelopes(base, GEOMETRIC[1])
    least = envelope_epsilon((bound,), 1e-6) - bound.largest
    assert np.sum(bound.mass[bound.loss > least]) == pytest.approx(1.1e-6, rel=0.1)


# --- Never worse than what it generalises ---------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        curves.gaussian(4.0),
        curves.gaussian(0.7),
        curves.laplace(3.0),
        curves.pure(0.5),
        curves.points([0.1, 1.0, 3.0], [0.1, 1e-3, 0.0]),
    ],
    ids=lambda base: base.name.partition(":")[0],
)
def test_at_most_the_uniform_bounds(base):
    strictly = 0
    for law in FAMILIES:
        known = {"truncated_negative_binomial", "poisson", "binomial"}
        if law.family not in known or law.parameters.get("gamma") == 0.5:
            continue
        bounds = base_envelopes(base, law)
        claimed = {b.theorem: b for b in profile_bounds(base, law)}
        for target in (1e-3, 1e-6, 1e-9):
            envelope = envelope_epsilon(bounds, target)
            uniform = claimed.pop("KRW-N2").epsilon(target) if target == 1e-3 else None
            for bound in claimed.values():
                theirs = bound.epsilon(target)
                # the grid's error, relative to the steepness of the slopes
                room = 2e-6 * (1 + law.parameters.get("eta", 1.0))
                assert envelope <= theirs + room
                strictly += envelope < 0.99 * theirs
                if uniform is not None:
                    assert envelope <= uniform + room
                    assert uniform <= theirs + 1e-6
    assert strictly > 10


@pytest.mark.parametrize(
    "base", [curves.gaussian(1.0), curves.laplace(0.5)], ids=lambda base: base.name
)
def test_at_most_the_renyi_bounds(base):
    """Lemma 7 along the trade-off curve, and what is derived from it, at all orders."""
    compared = 0
    for law in (
        laws.logarithmic(0.01),
        laws.geometric(1e-4),
        laws.poisson(30.0),
        laws.poisson(1000.0),
        laws.binomial(40, 0.5),
        laws.beta_binomial(50, 0.5),
    ):
        envelope = epsilon_of(base, law, 1e-6)
        for name, build in renyi_curves(base, law).items():
            renyi = renyi_to_epsilon(build(), 1e-6).epsilon
            assert envelope <= renyi * (1 + 1e-5), (law, name)
            compared += math.isfinite(renyi)
    assert compared > 8


# --- Limits ---------------------------------------------------------------------------

BASES = [
    curves.gaussian(4.0),
    curves.laplace(2.0),
    curves.pure(1.0),
    curves.approximate(1.0, 1e-6),
    curves.zcdp(0.1),
]


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_one_run_is_the_base_itself(base):
    levels = np.linspace(0, 3, 31)
    (pair,) = base.pairs()
    for law, share in ((laws.point_mass(1), 1.0), (laws.binomial(1, 0.3), 0.3)):
        found = envelope_profile(base, law)(levels)
        np.testing.assert_allclose(found, share * pair_delta(pair, levels), rtol=1e-12)
    near = envelope_profile(base, laws.geometric(1 - 1e-9))(levels)
    np.testing.assert_allclose(near, pair_delta(pair, levels), rtol=1e-5, atol=1e-8)


def test_no_tuning_without_privacy_loss():
    nothing = curves.from_profile("nothing", lambda level: np.zeros(np.shape(level)))
    bounds = base_envelopes(nothing, laws.geometric(0.01))
    assert delta(bounds, 0.0) < 2e-7 * 100  # only the grid's error is left, times E[K]
    assert delta(bounds, 1e-3) == 0.0


@pytest.mark.parametrize("eta", [-0.5, 0.0, 1.0, 5.0])
def test_pure_limit_of_truncated_negative_binomial(eta):
    law = laws.truncated_negative_binomial(eta, 1e-12)
    exact = epsilon_of(curves.pure(0.7), law, 0.0)
    assert exact == pytest.approx((eta + 2) * 0.7, rel=2e-4)
    assert exact >= (eta + 2) * 0.7 * (1 - 1e-9)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_pure_limit_of_beta_binomial(gamma):
    """(2 + gamma) epsilon of Cohen et al. 2022, Theorem 1, reached as tau grows."""
    base = curves.pure(0.7)
    found = [epsilon_of(base, laws.beta_binomial(tau, gamma), 0.0) for tau in (3, 30, 3000, 10**6)]
    assert np.all(np.diff(found) > -1e-5)  # the grid's error
    assert found[-1] == pytest.approx((2 + gamma) * 0.7, rel=1e-4)
    ratio = np.geomspace(1e-9, 0.3, 200)
    for tau in (3, 300):
        slope = laws.beta_binomial(tau, gamma).log_pgf_derivative_tail
        steepest = np.max(slope(ratio) - slope(ratio * math.exp(0.7)))
        assert steepest <= (1 + gamma) * 0.7 + 1e-12


def test_delta_zero():
    law = laws.geometric(0.1)
    assert epsilon_of(curves.gaussian(1.0), law, 0.0) == math.inf
    assert epsilon_of(curves.approximate(1.0, 1e-6), law, 0.0) == math.inf
    assert math.isfinite(epsilon_of(curves.laplace(1.0), law, 0.0))
    # where f'(0) = 0 the ratio of slopes near x = 1 is beyond float64
    assert epsilon_of(curves.laplace(1.0), laws.point_mass(2), 0.0) == math.inf
    assert epsilon_of(curves.laplace(1.0), laws.point_mass(2), 1e-12) == pytest.approx(
        2.0, abs=1e-3
    )


def test_mass_at_infinity():
    """The bound at large epsilon is E[K] times it; at less than that, no epsilon."""
    base, law = curves.approximate(1.0, 1e-6), laws.geometric(0.1)
    bounds = base_envelopes(base, law)
    np.testing.assert_allclose(delta(bounds, [5.0, 1e3, math.inf]), 1e-5, rtol=1e-9)
    assert envelope_epsilon(bounds, 0.99e-5) == math.inf
    assert envelope_epsilon(bounds, 1e-5) <= 3.0 + 1e-3
    assert envelope_epsilon(bounds, 1e-4) < 3.0
    # T reaches 1 before x does: slopes vanish there for two fixed runs
    twice = base_envelopes(base, laws.point_mass(2))
    assert envelope_epsilon(twice, 3e-6) == math.inf
    assert math.isfinite(envelope_epsilon(twice, 5e-6))
    everything = curves.points([0.0], [1.0])
    assert epsilon_of(everything, law, 0.5) == math.inf
    assert epsilon_of(everything, laws.poisson(0.01), 0.02) == 0.0


@pytest.mark.parametrize("scale", [0.2, 4.0, 50.0])
def test_huge_numbers_of_runs(scale):
    """Finite and increasing in E[K] up to 1e9, decreasing in delta; no warnings."""
    base = curves.gaussian(scale)
    grown = [epsilon_of(base, laws.geometric(10.0**-k), 1e-6) for k in range(1, 10)]
    assert np.all(np.isfinite(grown))
    assert np.all(np.diff(grown) > 0)
    assert np.diff(grown)[-1] < np.diff(grown)[0]  # as the square root of log E[K]
    for law in (
        laws.poisson(1e7),
        laws.binomial(10**7, 0.5),
        laws.logarithmic(1e-9),
        laws.truncated_negative_binomial(-0.5, 1e-9),
        laws.point_mass(10**6),
    ):
        bounds = base_envelopes(base, law, count=4096)
        at = envelope_log_delta(bounds, np.linspace(0, 60, 13))
        assert not np.any(np.isnan(at))
        assert np.all(np.diff(at) <= 1e-12)
        found = [envelope_epsilon(bounds, d) for d in (1e-9, 1e-6, 1e-3)]
        assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_a_finer_grid_never_raises_it(scale):
    """All are bounds; doubling the points changes epsilon by less than 2e-6."""
    base = curves.gaussian(scale)
    for law in (GEOMETRIC[1], laws.poisson(10.0), laws.logarithmic(1e-3)):
        found = [
            envelope_epsilon(base_envelopes(base, law, count=count), 1e-6)
            for count in (8192, 16384, 32768, 65536)
        ]
        assert np.all(np.diff(found) <= 1e-9)
        assert found[-2] - found[-1] < 2e-6
        # second order: halving the steps divides the error by four
        assert found[1] - found[-1] < 0.4 * (found[0] - found[-1])


def test_epsilon_inverts_delta():
    for base in BASES:
        for law in (laws.geometric(0.01), laws.poisson(3.0), laws.point_mass(2)):
            bounds = base_envelopes(base, law, count=2048)
            for target in (1e-9, 1e-6, 1e-3, 0.3):
                epsilon = envelope_epsilon(bounds, target)
                if not 0.0 < epsilon < math.inf:
                    continue
                log_target = math.log(target)
                assert envelope_log_delta(bounds, epsilon) <= log_target + 2e-12
                assert envelope_log_delta(bounds, epsilon - 1e-6) > log_target


# --- DP-SGD ---------------------------------------------------------------------------


def test_values_for_dp_sgd():
    """Koskela, Redberg & Wang 2024, Figure 7: theirs are 1.954 and 2.531."""
    base = dp_sgd(sampling_probability=16384 / 50000, noise_multiplier=21.1, steps=250)
    found = [epsilon_of(base, laws.geometric(1 / mean), 1e-6) for mean in (10, 100)]
    np.testing.assert_allclose(found, [1.532, 2.001], atol=1e-3)
    # both directions count: adding and removing a record differ
    removed, added = base_envelopes(base, laws.geometric(0.1))
    alone = [envelope_epsilon((each,), 1e-6) for each in (removed, added)]
    assert abs(alone[0] - alone[1]) > 1e-3
    assert found[0] == max(alone)


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: pair_envelope(curves.pure(1.0).pairs()[0], laws.conditioned(laws.poisson(1.0), 0)),
        lambda: pair_envelope(
            curves.pure(1.0).pairs()[0], laws.geometric(0.1)._replace(mean=math.inf)
        ),
        lambda: pair_envelope(curves.pure(1.0).pairs()[0], laws.geometric(0.1), count=3),
        lambda: envelope_log_delta(base_envelopes(curves.pure(1.0), laws.geometric(0.1)), -0.1),
        lambda: envelope_log_delta(base_envelopes(curves.pure(1.0), laws.geometric(0.1)), math.nan),
        lambda: epsilon_of(curves.pure(1.0), laws.geometric(0.1), 1.0),
        lambda: epsilon_of(curves.pure(1.0), laws.geometric(0.1), -1e-6),
        lambda: epsilon_of(curves.pure(1.0), laws.geometric(0.1), math.nan),
    ],
)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) > 20


def test_finite_where_slopes_underflow():
    """f'(1 - T(x)) = 1000 e^(-1000 T(x)) is below the least float64 for most x."""
    base, law = curves.gaussian(0.2), laws.poisson(1e3)
    found = envelope_epsilon(base_envelopes(base, law), 1e-9)
    renyi = renyi_to_epsilon(poisson_renyi(base, 1e3), 1e-9).epsilon
    assert 1000.0 < found <= renyi


def test_never_more_than_renyi_at_much_noise():
    for noise, mean in ((100.0, 10.0), (100.0, 1e3)):
        base, law = curves.gaussian(noise), laws.poisson(mean)
        found = envelope_epsilon(base_envelopes(base, law), 1e-6)
        assert found <= renyi_to_epsilon(poisson_renyi(base, mean), 1e-6).epsilon


def test_hull_of_logs_is_the_hull():
    generator = np.random.default_rng(4)
    for _ in range(20):
        second, first = generator.exponential(3.0, (2, 40))
        kept, slopes = upper_hull_of_logs(np.log(second), np.log(first))
        wanted = upper_hull(second, first)
        np.testing.assert_array_equal(kept, wanted)
        steps = np.diff(first[wanted]) / np.diff(second[wanted])
        np.testing.assert_allclose(np.exp(slopes), steps, rtol=1e-9)
        # far below the least float64 it is the same shape
        np.testing.assert_array_equal(
            upper_hull_of_logs(np.log(second) - 2000.0, np.log(first) - 1500.0)[0], kept
        )


@pytest.mark.parametrize("base", ["pure:epsilon=0.1", "gaussian:noise_multiplier=4"])
def test_many_epsilons_have_what_each_has_alone(base):
    """One by one, with the losses that gain something, or all losses and epsilons at once."""
    for each in base_envelopes(parse_base(base), laws.geometric(0.1)):
        epsilons = np.append(np.linspace(0.0, each.largest + 0.2, 150), math.inf)
        together = envelope_log_delta((each,), epsilons)
        alone = [envelope_log_delta((each,), epsilon) for epsilon in epsilons]
        every = [_of_every_loss(each, epsilon) for epsilon in epsilons[:-1]]
        np.testing.assert_allclose(together, alone, rtol=1e-12)
        np.testing.assert_allclose(together[:-1], np.minimum(every, 0.0), rtol=1e-12)


def test_at_an_infinite_epsilon_it_is_the_limit():
    """Where b vanishes, as with three runs at the least, finite losses are in the limit, too."""
    base, law = parse_base("approximate:epsilon=0.3,delta=0.01"), laws.parse("point_mass:count=3")
    for each in base_envelopes(base, law):
        found = envelope_log_delta((each,), np.array([1.0, 500.0, math.inf]))
        assert np.isfinite(found).all()
        assert found[2] == pytest.approx(found[1], rel=1e-9)


def _of_every_loss(bound, epsilon: float) -> float:
    """The bound as it is written: the largest of all vertices, for each loss."""
    first, second = np.exp(bound.log_first), np.exp(bound.log_second)
    weights = np.exp(epsilon - bound.loss)
    found = [max(0.0, float(np.max(first - weight * second))) for weight in weights]
    with np.errstate(divide="ignore"):
        total = np.log(math.fsum(bound.mass * found) + bound.singular)
    return float(bound.log_mean + total)
