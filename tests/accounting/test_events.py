"""Bases from dp-accounting: the same profiles, Renyi bounds between orders, bad events."""

import itertools
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld, rdp

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import closed_forms
from jaxsel.accounting.single_run.dominating import pair_delta, reversed_pair
from jaxsel.accounting.single_run.events import dp_sgd, from_event, renyi_from_orders
from jaxsel.host.errors import InputError
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon

INTERVAL = 1e-4  # dp-accounting's default, and ours
LEVELS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])


def subsampled(rate, scale, steps):
    return dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(scale)), steps
    )


EVENTS = {
    "gaussian": dp_accounting.GaussianDpEvent(1.3),
    "laplace": dp_accounting.LaplaceDpEvent(2.0),
    "steep laplace": dp_accounting.LaplaceDpEvent(0.1),
    "subsampled": subsampled(0.02, 0.8, 50),
    "mixed": dp_accounting.ComposedDpEvent(
        [subsampled(0.3, 2.0, 5), dp_accounting.LaplaceDpEvent(4.0)]
    ),
}


def own_loss(event):
    accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, INTERVAL)
    return accountant.compose(event)


@pytest.mark.parametrize("name", EVENTS)
def test_profile_is_that_of_dp_accounting(name):
    base, theirs = from_event(EVENTS[name]), own_loss(EVENTS[name])
    deltas = np.array([theirs.get_delta(e) for e in LEVELS])
    # one knot more than 4096 a direction apart: chords add at most this much
    assert np.all(base.profile(LEVELS) >= deltas * (1 - 1e-9) - 1e-15)
    np.testing.assert_allclose(base.profile(LEVELS), deltas, rtol=2e-3, atol=1e-13)
    bounds = base_envelopes(base, laws.point_mass(1))
    for target in (1e-3, 1e-6, 1e-9):
        epsilon = theirs.get_epsilon(target)
        found = envelope_epsilon(bounds, target)
        assert found >= epsilon * (1 - 1e-9) - 1e-9
        assert found == pytest.approx(epsilon, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", EVENTS)
def test_each_direction_is_that_of_dp_accounting(name):
    """Against get_delta_for_epsilon of either half, at the knots, to 1e-9."""
    base, theirs = from_event(EVENTS[name]), own_loss(EVENTS[name])._pld
    built = base.pairs()
    if len(built) == 1:
        assert theirs._symmetric
        sides = [(built[0], theirs._pmf_remove)]
    else:
        np.testing.assert_array_equal(reversed_pair(built[0]).loss, built[1].loss)
        sides = list(zip(built, (theirs._pmf_remove, theirs._pmf_add), strict=True))
    for pair, half in sides:
        knots = pair.loss[np.isfinite(pair.loss) & (pair.loss >= 0.0)]
        knots = knots[:: max(1, knots.size // 40)]
        expected = np.array([half.get_delta_for_epsilon(float(e)) for e in knots])
        found = pair_delta(pair, knots)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


def test_gaussian_and_laplace_agree_with_closed_forms():
    for name, true in (
        ("gaussian", closed_forms.gaussian_delta(LEVELS, 1.3)),
        ("laplace", closed_forms.laplace_delta(LEVELS, 2.0)),
    ):
        found = from_event(EVENTS[name]).profile(LEVELS)
        assert np.all(found >= true * (1 - 1e-9))
        np.testing.assert_allclose(found, true, rtol=5e-3, atol=1e-12)


def test_directions_differ_for_subsampling():
    first, second = from_event(EVENTS["subsampled"]).pairs()
    one, other = pair_delta(first, 1.0), pair_delta(second, 1.0)
    assert abs(one - other) > 0.01 * one


def test_other_neighbours():
    """Replacing a record is more than adding or removing one."""
    event = EVENTS["gaussian"]
    replaced = from_event(event, relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    twice = closed_forms.gaussian_delta(LEVELS, 1.3 / 2)
    np.testing.assert_allclose(replaced.profile(LEVELS), twice, rtol=5e-3, atol=1e-12)
    assert from_event(event, name="mine").name == "mine"
    assert "GaussianDpEvent" in from_event(event).name


# --- Renyi ----------------------------------------------------------------------------


def test_renyi_between_orders_of_a_gaussian():
    """Chords of (a - 1) D_a lie above a line that is convex: a^2 - a."""
    orders = [1.5, 2.0, 4.0, 16.0, 64.0]
    curve = renyi_from_orders(orders, [closed_forms.gaussian_renyi(a, 2.0) for a in orders])
    at = np.concatenate([np.linspace(1.0, 64.0, 1001), orders])
    true = closed_forms.gaussian_renyi(at, 2.0)
    found = curve(at)
    assert np.all(found >= true * (1 - 1e-12))
    np.testing.assert_allclose(curve(np.array(orders)), true[-5:], rtol=1e-12)
    assert np.all(np.isinf(curve(np.array([64.0001, 1e6, math.inf]))))
    assert curve(np.array(1.0)) == curve(np.array(1.5))
    # a line through the values themselves would be below the truth
    straight = np.interp(3.0, orders, closed_forms.gaussian_renyi(np.array(orders), 2.0))
    assert curve(np.array(3.0)) >= straight


def test_renyi_between_orders_of_a_subsampled_gaussian():
    event = EVENTS["subsampled"]
    base = from_event(event)
    default = rdp.RdpAccountant().compose(event).orders
    between = [(a + b) / 2 for a, b in itertools.pairwise(default)]
    between = [*between[:20], *between[20::7]]
    exact = rdp.RdpAccountant(between).compose(event)
    true = np.asarray(exact.rdp)
    found = base.renyi(np.asarray(exact.orders))
    known = np.isfinite(true)
    assert known.sum() > 10
    assert np.all(found[known] >= true[known] * (1 - 1e-9))
    close = known & (np.asarray(exact.orders) < 60)
    np.testing.assert_allclose(found[close], true[close], rtol=0.05)


def test_renyi_skips_orders_without_a_bound():
    curve = renyi_from_orders([2.0, 3.0, 4.0], [0.1, math.inf, math.inf])
    assert curve(np.array(1.5)) == pytest.approx(0.1)
    assert np.all(np.isinf(curve(np.array([2.5, 3.0]))))
    nothing = renyi_from_orders([2.0], [math.inf])
    assert np.all(np.isinf(nothing(np.array([1.0, 2.0]))))


def test_renyi_of_an_event_that_only_the_loss_distribution_knows():
    """Poisson-sampled Laplace noise: a bound from the profile, void if mass is cut off."""
    rate, scale, order = 0.1, 2.0, 3.0
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.LaplaceDpEvent(scale))
    with pytest.raises(dp_accounting.UnsupportedEventError):
        rdp.RdpAccountant().compose(event)
    z = np.linspace(-80, 81, 1_610_001)
    out = np.exp(-np.abs(z) / scale) / (2 * scale)
    mixed = (1 - rate) * out + rate * np.exp(-np.abs(z - 1) / scale) / (2 * scale)
    true = max(
        math.log(np.trapezoid(p**order * r ** (1 - order), z)) / (order - 1)
        for p, r in ((mixed, out), (out, mixed))
    )
    base = from_event(event)
    found = base.renyi(np.array(order))
    assert true * (1 - 1e-6) <= found
    cut = max(float(np.sum(pair.first[pair.loss == np.inf])) for pair in base.pairs())
    assert math.isinf(found) == (cut > 0.0)
    assert cut < 1e-14


# --- DP-SGD ---------------------------------------------------------------------------


def test_steps_are_rounded_up():
    """60 epochs of 60,000 in batches of 256 are 14,062.5 steps, hence 14,063."""
    by_epoch = dp_sgd(
        dataset_size=6000, batch_size=256, noise_multiplier=1.1, epochs=6.0
    )  # 140.625 steps
    more = dp_sgd(sampling_probability=256 / 6000, noise_multiplier=1.1, steps=141)
    fewer = dp_sgd(sampling_probability=256 / 6000, noise_multiplier=1.1, steps=140)
    np.testing.assert_array_equal(by_epoch.profile(LEVELS), more.profile(LEVELS))
    assert np.all(by_epoch.profile(LEVELS[:4]) > fewer.profile(LEVELS[:4]))
    # a whole number of steps is not rounded up by rounding errors
    third = dp_sgd(dataset_size=9, batch_size=0.9, noise_multiplier=3.0, epochs=0.7)
    seven = dp_sgd(sampling_probability=0.1, noise_multiplier=3.0, steps=7)
    np.testing.assert_allclose(third.profile(LEVELS), seven.profile(LEVELS), rtol=1e-9)
    tiny = dp_sgd(dataset_size=10, batch_size=1, noise_multiplier=3.0, epochs=1e-9)
    one = dp_sgd(sampling_probability=0.1, noise_multiplier=3.0, steps=1)
    np.testing.assert_allclose(tiny.profile(LEVELS), one.profile(LEVELS), rtol=1e-9)


def test_dp_sgd_is_the_event():
    base = dp_sgd(sampling_probability=0.02, noise_multiplier=0.8, steps=50)
    # Rounding decides where deltas end, so that the knots of the profiles differ.
    np.testing.assert_allclose(
        base.profile(LEVELS),
        from_event(EVENTS["subsampled"]).profile(LEVELS),
        rtol=1e-4,
        atol=1e-14,
    )
    full = dp_sgd(dataset_size=256, batch_size=256, noise_multiplier=2.0, epochs=4)
    gaussian = closed_forms.gaussian_delta(LEVELS, 1.0)
    np.testing.assert_allclose(full.profile(LEVELS), gaussian, rtol=5e-3, atol=1e-12)
    assert "noise_multiplier=0.8" in base.name


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: from_event(dp_accounting.UnsupportedDpEvent()),
        lambda: from_event(dp_accounting.ZCDpEvent(0.1)),
        lambda: from_event(dp_accounting.NonPrivateDpEvent()),
        lambda: from_event(dp_accounting.GaussianDpEvent(0.0)),
        lambda: dp_sgd(noise_multiplier=1.0),
        lambda: dp_sgd(noise_multiplier=1.0, sampling_probability=0.1),
        lambda: dp_sgd(noise_multiplier=1.0, sampling_probability=0.1, steps=0),
        lambda: dp_sgd(noise_multiplier=1.0, sampling_probability=0.1, steps=1.5),
        lambda: dp_sgd(noise_multiplier=0.0, sampling_probability=0.1, steps=1),
        lambda: dp_sgd(noise_multiplier=1.0, sampling_probability=0.0, steps=1),
        lambda: dp_sgd(noise_multiplier=1.0, sampling_probability=1.1, steps=1),
        lambda: dp_sgd(noise_multiplier=1.0, steps=1, epochs=1.0),
        lambda: dp_sgd(noise_multiplier=1.0, dataset_size=10, batch_size=11, epochs=1.0),
        lambda: dp_sgd(noise_multiplier=1.0, dataset_size=10, batch_size=0, epochs=1.0),
        lambda: dp_sgd(noise_multiplier=1.0, dataset_size=10.5, batch_size=1, epochs=1.0),
        lambda: dp_sgd(noise_multiplier=1.0, dataset_size=10, batch_size=1, epochs=math.inf),
        lambda: dp_sgd(
            noise_multiplier=1.0,
            dataset_size=10,
            batch_size=1,
            epochs=1.0,
            sampling_probability=0.1,
            steps=10,
        ),
    ],
)
def test_bad_input_is_one_sentence(call):
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) > 20


@pytest.mark.parametrize(
    ("noise", "rate"),
    [(1.0, 0.01), (0.4, 5e-4), (0.8, 0.3), (50.0, 0.001), (1.1, 1.0), (2.0, 1e-6)],
)
def test_a_step_of_dp_sgd_is_that_of_dp_accounting(noise, rate):
    """Masses at each loss, of both directions; theirs come from a loop over losses."""
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    from jaxsel.accounting.single_run.events import sampled_gaussian
    from jaxsel.accounting.single_run.loss_distributions import INTERVAL

    theirs = from_gaussian_mechanism(
        noise, sampling_prob=rate, value_discretization_interval=INTERVAL
    )
    ours = sampled_gaussian(noise, rate)
    for one, other in ((ours._pmf_remove, theirs._pmf_remove), (ours._pmf_add, theirs._pmf_add)):
        one, other = one.to_dense_pmf(), other.to_dense_pmf()
        assert one._lower_loss == other._lower_loss
        # A mass is a second difference of deltas over the interval, each rounded.
        tolerance = 8 * 2.0**-53 / INTERVAL
        np.testing.assert_allclose(one._probs, other._probs, rtol=0, atol=tolerance)
        assert one._infinity_mass == pytest.approx(other._infinity_mass, rel=1e-6)
    levels = np.linspace(0.0, 2.0, 41)
    np.testing.assert_allclose(
        ours.get_delta_for_epsilon(levels),
        theirs.get_delta_for_epsilon(levels),
        rtol=1e-9,
        atol=1e-15,
    )


@pytest.mark.parametrize(
    ("noise", "rate", "steps"),
    [(1.1, 0.02, 200), (0.8, 0.1, 50), (2.0, 0.01, 1000), (1.0, 1.0, 3), (30.0, 1e-3, 5)],
)
def test_steps_are_composed_as_by_dp_accounting_to_the_last_digit(noise, rate, steps):
    from jaxsel.accounting.single_run.events import sampled_gaussian
    from jaxsel.accounting.single_run.loss_distributions import many_times

    one = sampled_gaussian(noise, rate)
    found, theirs = many_times(one, steps), one.self_compose(steps)
    assert found._symmetric == theirs._symmetric
    for mine, other in ((found._pmf_remove, theirs._pmf_remove), (found._pmf_add, theirs._pmf_add)):
        mine, other = mine.to_dense_pmf(), other.to_dense_pmf()
        assert mine._lower_loss == other._lower_loss
        assert mine._infinity_mass == other._infinity_mass
        np.testing.assert_array_equal(mine._probs, other._probs)
