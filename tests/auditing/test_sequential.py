"""The sequential test: it stops early where a claim is false, and hardly ever where it holds."""

import math

import numpy as np
import pytest

import jaxsel
from jaxsel.auditing import sequential
from jaxsel.auditing.sequential import BURN_IN, SequentialTest
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import binomial_p_value
from tests.conftest import ALPHA


def _samples(draw, epsilon, alpha, seed, most, each=64):
    generator, test = np.random.default_rng(seed), SequentialTest(epsilon, alpha)
    while test.samples < most and not test.feed(*draw(generator, each)):
        pass
    return test.samples if test.stopped else math.inf


def _normal(generator, size):
    return generator.normal(size=size), generator.normal(1.0, size=size)


def _noisy_max(generator, size):
    """Laplace noise of scale 1 where a claim of 1 needs 2; the winner flips."""
    return tuple(
        np.argmax(np.array(scores) + generator.laplace(size=(size, 5)), axis=1)
        for scores in ([1.0, 0, 0, 0, 0], [0.0, 1, 1, 1, 1])
    )


def _response(epsilon):
    keep = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    return lambda generator, size: (generator.random(size) < keep, generator.random(size) > keep)


def _laplace(epsilon):
    return lambda generator, size: (
        generator.laplace(size=size),
        generator.laplace(epsilon, size=size),
    )


BARS = {
    "normal, epsilon 0": (_normal, 0.0, 60),
    "normal, epsilon 0.1": (_normal, 0.1, 55),
    "noisy max": (_noisy_max, 1.0, 500),
}


@pytest.mark.parametrize("name", BARS)
def test_it_stops_after_few_trials(name):
    """Medians over 100 seeds; a kernel test of 2025 needs 178, 270, and never stopped."""
    draw, epsilon, bar = BARS[name]
    plain = [_samples(draw, epsilon, 0.05, seed, 5000) for seed in range(100)]
    sure = [_samples(draw, epsilon, 1e-6, seed, 5000) for seed in range(100)]
    assert np.median(plain) <= bar
    assert np.median(sure) <= 5.0 * np.median(plain)


@pytest.mark.rare
@pytest.mark.parametrize("name", BARS)
def test_it_stops_after_few_trials_over_a_thousand_seeds(name):
    draw, epsilon, bar = BARS[name]
    found = [_samples(draw, epsilon, 0.05, seed, 5000) for seed in range(1000)]
    assert np.median(found) <= bar
    assert np.quantile(found, 0.9) <= 2.5 * bar


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("pair", [_response, _laplace])
def test_a_pair_at_exactly_its_claim_hardly_ever_stops(pair, swapped, seed):
    epsilon, alpha, streams = 0.5, 0.2, 300
    draw = pair(epsilon)

    def ordered(generator, size):
        sides = draw(generator, size)
        return sides[::-1] if swapped else sides

    stops = sum(
        _samples(ordered, epsilon, alpha, seed + stream, 1500, each=1500) < math.inf
        for stream in range(streams)
    )
    assert binomial_p_value(stops, streams, alpha, "greater") >= ALPHA
    # A claim of half of it falls.
    assert _samples(ordered, epsilon / 2, alpha, seed, 20_000) < math.inf


@pytest.mark.parametrize(("seed", "each"), [(5, 7), *((seed, 1) for seed in range(6, 16))])
def test_how_it_is_fed_does_not_matter(seed, each):
    """Trial by trial the wealth is looked at after each, and whole where it may be enough."""
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=400), generator.normal(0.7, size=400)
    whole, parts = SequentialTest(0.0, 1e-3), SequentialTest(0.0, 1e-3)
    whole.feed(x, y)
    for first in range(0, 400, each):
        if parts.feed(x[first : first + each], y[first : first + each]):
            break
    assert whole.stopped == parts.stopped
    assert whole.stopped is not None
    assert whole.samples == parts.samples
    assert whole.log_wealth == pytest.approx(parts.log_wealth)
    assert BURN_IN < whole.samples < 400


def test_it_stops_at_the_first_trial_after_which_the_wealth_is_enough():
    """However soon it is lost again."""
    gained = np.array([0, 1] * (BURN_IN // 2) + [1] * 20 + [0] * 40 + [0, 1] * 500)
    whole, single = SequentialTest(0.1, 0.05), SequentialTest(0.1, 0.05)
    whole.feed(gained, 1 - gained)
    for trial in range(len(gained)):
        if single.feed(gained[trial : trial + 1], 1 - gained[trial : trial + 1]):
            break
    assert whole.stopped == single.stopped
    assert whole.stopped is not None
    assert BURN_IN < whole.samples <= BURN_IN + 20
    assert whole.log_wealth == pytest.approx(single.log_wealth)


def test_the_wealth_is_a_mean_of_products_of_factors():
    """By the definition, one factor after the other."""
    generator = np.random.default_rng(1)
    x, y = (generator.random((2, 60)) < [[0.4], [0.5]]).astype(int)
    test = SequentialTest(0.3, 1e-9)
    test.feed(x, y)
    bets = []
    for label in dict.fromkeys(map(int, [*x[:BURN_IN], *y[:BURN_IN]])):
        for first, second in ((x, y), (y, x)):
            for stake in (0.01, 0.03, 0.08, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.92,
                          0.97):  # fmt: skip
                excess = (first == label) / math.exp(0.3) - (second == label)
                bets.append(np.prod(1.0 + stake * excess[BURN_IN:]))
    assert test.log_wealth == pytest.approx(math.log(np.mean(bets)))


@pytest.mark.parametrize(("block", "group"), [(16, 4), (10, 3), (64, 64)])
def test_blocks_and_groups_change_nothing(monkeypatch, block, group):
    """Small ones, so that the end of one and the next are reached."""
    generator = np.random.default_rng(21)
    x, y = generator.normal(size=300), generator.normal(0.6, size=300)
    whole = SequentialTest(0.0, 1e-3)
    whole.feed(x, y)
    monkeypatch.setattr(sequential, "_BLOCK", block)
    monkeypatch.setattr(sequential, "_GROUP", group)
    parts = SequentialTest(0.0, 1e-3)
    parts.feed(x, y)
    assert whole.stopped is not None
    assert BURN_IN + 64 < whole.samples < 300
    assert (parts.stopped, parts.samples) == (whole.stopped, whole.samples)
    assert parts.log_wealth == pytest.approx(whole.log_wealth)
    # What is fed after it has stopped is not counted.
    assert parts.feed(x, y)
    assert parts.samples == whole.samples


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", ["words", "numbers"])
def test_the_event_that_gained_most_is_named_with_its_side(kind, swapped):
    generator = np.random.default_rng(3)
    rare = generator.random(400) < 0.1
    one = np.where(rare, "often", "seldom")
    other = np.where(generator.random(400) < 0.9, "often", "seldom")
    if kind == "numbers":
        one, other = (np.where(side == "often", 5.0, -5.0) for side in (one, other))
    test = SequentialTest(0.5, 1e-4)
    assert test.feed(*((other, one) if swapped else (one, other)))
    # "often" has .1 on one side and .9 on the other, and "seldom" the reverse.
    often = {"words": ("is often",), "numbers": ("value > ",)}[kind]
    said = test.stopped.event
    on_other = any(word in said for word in often)
    assert test.stopped.likelier == (("data" if on_other else "neighbour") if swapped
                                     else ("neighbour" if on_other else "data"))  # fmt: skip
    assert test.stopped.samples == test.samples


def test_an_event_and_what_it_is_not_are_bet_on_where_there_are_three():
    words = [name for name, _ in sequential._events(np.array(["a", "b", "c", "a"]))]
    assert words == [
        *(f"the outcome is {word}" for word in "abc"),
        *(f"the outcome is not {word}" for word in "abc"),
    ]
    assert len(sequential._events(np.array(["a", "b", "a"]))) == 2
    numbers = np.array([1.0, 2.0, 3.0, np.nan, np.inf])
    events = dict(sequential._events(numbers))
    assert len(events) == 26
    assert events["value <= 2"](numbers).tolist() == [True, True, False, False, False]
    assert events["value > 2"](numbers).tolist() == [False, False, True, False, True]
    at = 2.0 + 2.4 * np.std([1.0, 2.0, 3.0])
    assert f"value > {at:.4g}" in events
    # Equal numbers have no spread, and thresholds all the same.
    assert len(dict(sequential._events(np.full(4, 7.0)))) == 26


def test_unequal_trials_are_refused_and_nothing_is_bet_on_none():
    test = SequentialTest(1.0, 0.05)
    with pytest.raises(InputError, match="give as many of both"):
        test.feed([1.0], [1.0, 2.0])
    assert not test.feed([], [])
    assert test.samples == 0
    assert test.log_wealth == 0.0


def test_an_audit_stops_as_soon_as_the_claim_falls_and_confirms_on_fresh_trials():
    def noisy(rng, data, n):
        return sum(data) + rng.laplace(scale=0.4, size=n)

    on = {"relation": "replace_one", "claim": 1.0, "trials": 10**6, "how": "sequential"}
    found = jaxsel.audit_function(noisy, [0.0], [1.0], **on)
    assert found.refuted
    assert found.trials < 20_000
    more = on | {"claim": 2.6, "trials": 5000}
    assert not jaxsel.audit_function(noisy, [0.0], [1.0], **more).refuted
    with pytest.raises(InputError, match="of one given pair"):
        jaxsel.audit_function(noisy, **on)
