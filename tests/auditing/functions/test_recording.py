"""Draws that are written down, and what becomes of their noise, by hand."""

import numpy as np
import pytest

from jaxsel.auditing.functions import recording
from jaxsel.auditing.functions.recording import Noise, Recorder


def _uses(draw):
    return [tuple(map(tuple, one)) for one in draw.uses]


def test_noise_is_followed_through_sums_and_products():
    recorder = Recorder(3)
    noise = recorder.normal(2.0, 3.0, size=2)
    (draw,) = recorder.draws
    assert np.asarray(noise) == pytest.approx(np.random.default_rng(3).normal(2.0, 3.0, size=2))
    assert (draw.law, draw.shape, draw.parameters, draw.added) == ("normal", (2,), (), True)
    assert _uses(draw) == [((2.0, 3.0),)] * 2
    for make, centre, factor in (
        (lambda: noise + 10.0, 12.0, 3.0),
        (lambda: 10.0 + noise, 12.0, 3.0),
        (lambda: noise - 10.0, -8.0, 3.0),
        (lambda: 10.0 - noise, 8.0, -3.0),
        (lambda: noise * -2.0, -4.0, -6.0),
        (lambda: -2.0 * noise, -4.0, -6.0),
        (lambda: noise / 4.0, 0.5, 0.75),
        (lambda: -noise, -2.0, -3.0),
    ):
        made = make()
        assert isinstance(made, Noise)
        assert (made.centre.tolist(), made.factor.tolist()) == ([centre] * 2, [factor] * 2)
        assert _uses(draw)[1][-1] == (centre, abs(factor))
        assert draw.scale.tolist() == [abs(factor)] * 2
    kept = len(draw.uses[0])
    for ended in (1.0 / noise, np.exp(noise), np.sort(noise), noise.sum(), noise > 0.0, noise**2):
        assert getattr(ended, "draw", None) is None
    assert len(draw.uses[0]) == kept


def test_entries_of_noise_are_followed_one_by_one():
    recorder = Recorder(3)
    noise = recorder.laplace(scale=[1.0, 2.0, 4.0])
    (draw,) = recorder.draws
    assert draw.scale.tolist() == [1.0, 2.0, 4.0]
    (noise[2] + 5.0) * 3.0
    assert draw.uses[2] == [(0.0, 4.0), (5.0, 4.0), (15.0, 12.0)]
    assert draw.uses[:2] == [[(0.0, 1.0)], [(0.0, 2.0)]]
    assert draw.scale.tolist() == [1.0, 2.0, 12.0]
    _, second, _ = noise
    second - 1.0
    assert draw.uses[1][-1] == (-1.0, 2.0)
    noise[::2] += 7.0
    assert [one[-1] for one in draw.uses] == [(7.0, 1.0), (-1.0, 2.0), (7.0, 4.0)]
    # One number of noise that is added to many is each of these' noise.
    single = recorder.gumbel(loc=1.0)
    single + np.array([10.0, 20.0])
    assert recorder.draws[1].shape == ()
    assert recorder.draws[1].uses == [[(1.0, 1.0), (11.0, 1.0), (21.0, 1.0)]]


def test_of_two_noises_the_first_is_followed_on_and_both_are_written_down():
    recorder = Recorder(3)
    one, other = recorder.laplace(), recorder.normal(scale=2.0)
    first, second = recorder.draws
    total = (one + 5.0) + other
    assert total.draw is first
    assert first.uses[0][-1] == pytest.approx((5.0 + float(np.asarray(other)), 1.0))
    assert second.uses[0][-1] == pytest.approx((float(np.asarray(one)) + 5.0, 2.0))


@pytest.mark.parametrize("law", recording.ADDED)
def test_every_law_of_added_noise_has_its_location_and_scale(law):
    names = recording.ADDED[law]
    recorder = Recorder(5)
    given = {"loc": 2.0, "scale": 3.0}
    values = [
        getattr(recorder, law)(*(given[name] for name in names), 4),
        getattr(recorder, law)(**{name: given[name] for name in names}, size=4),
    ]
    for draw, found in zip(recorder.draws, values, strict=True):
        assert (draw.law, draw.shape, np.shape(found)) == (law, (4,), (4,))
        centre = 2.0 if "loc" in names else 0.0
        assert draw.uses[3] == [(centre, 3.0 if "scale" in names else 1.0)]
    generator = np.random.default_rng(5)
    plain = getattr(generator, law)(*(given[name] for name in names), 4)
    assert np.asarray(values[0]).tolist() == plain.tolist()


def test_other_draws_are_compared_by_what_is_asked_for():
    recorder, rows = Recorder(5), np.arange(6.0).reshape(3, 2)
    array = "an array of shape"
    for ask, expected in (
        (lambda: recorder.binomial(5, 0.25, size=2), ("binomial", (2,), (5, 0.25, 2))),
        (lambda: recorder.choice([7, 8, 9], 4), ("choice", (4,), (f"{array} (3,)", 4))),
        (lambda: recorder.shuffle(rows), ("shuffle", (), (f"{array} (3, 2)",))),
        (lambda: recorder.integers(0, high=9), ("integers", (), (0, 9))),
        (recorder.random, ("random", (), ())),
    ):
        ask()
        last = recorder.draws[-1]
        assert ((last.law, last.shape, last.parameters), last.added) == (expected, False)
    generator = np.random.default_rng(5)
    assert Recorder(5).binomial(5, 0.25, size=2).tolist() == generator.binomial(5, 0.25, 2).tolist()
