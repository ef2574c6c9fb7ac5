"""Two runs at the same noise: what is written down of draws, and what a difference says."""

import math

import numpy as np
import pytest

import jaxsel
from benchmarks.audit_tables.small_programs import programs
from jaxsel.auditing.functions.replay import replay
from jaxsel.host.errors import CouldNotError, UnsupportedError

WRONG, RIGHT = ({one.function.__name__: one for one in kind} for kind in programs())


def _replay(function, **options):
    defaults = {"relation": "general", "claim": 1.0, "pair": ([1.0, 2.0], [2.0, 2.0])}
    return replay(function, **defaults | options)


@pytest.mark.parametrize(
    ("form", "scale", "moved"),
    [
        (lambda rng, x: rng.laplace(x, 3.0), 3.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: x + rng.laplace(scale=3.0, size=2), 3.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: rng.normal(size=2) * 3.0 - x, 3.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: (x - rng.standard_normal(2)) / 2.0, 0.5, (1.0, 1.0, 1.0)),
        (lambda rng, x: float(x.sum() + 4.0 * rng.gumbel()), 4.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: sum(x) + -rng.laplace(scale=2.0), 2.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: next(v + rng.laplace(0, 5) for v in x), 5.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: x + rng.laplace(scale=7.0), 7.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: [v + e for v, e in zip(x, rng.laplace(size=2), strict=True)], 1.0,
         (1.0, 1.0, 1.0)),
        (lambda rng, x: np.argmax(3 * x + rng.logistic(size=2)), 1.0, (3.0, 3.0, 3.0)),
    ],
)  # fmt: skip
def test_scale_and_centres_are_read_through_sums_and_products(form, scale, moved):
    def function(rng, data):
        return form(rng, np.asarray(data))

    found = _replay(function, claim=100.0)
    assert found.findings == ()
    assert found.draws[0].scale == pytest.approx(scale)
    assert found.draws[0].moved == pytest.approx(moved)


def test_noise_that_is_added_to_in_place_and_to_noise_is_followed():
    def function(rng, data):
        sums = np.array(data)
        sums += rng.laplace(scale=2.0, size=2)
        threshold = 0.5 + rng.laplace(scale=4.0)
        return sums + rng.normal(size=2) >= threshold

    found = _replay(function, pair=([1.0, 2.0], [2.0, 3.0]))
    assert [draw.scale for draw in found.draws] == [2.0, 4.0, 1.0]
    # Equal noise of the first draw cancels in the centres of the third.
    assert found.draws[2].moved == pytest.approx((1.0, 2.0, math.sqrt(2.0)))
    assert found.draws[1].moved == (0.0, 0.0, 0.0)
    assert found.findings == ()


def test_what_is_returned_is_what_the_function_returns_without_a_recorder():
    seen = []

    def function(rng, data):
        noisy = np.asarray(data) * 2.0 - 3.0 * rng.laplace(size=2) / 4.0
        noisy[0] += 1.0
        seen.append([*np.sort(noisy), noisy.max(), float(round(noisy[1], 2)), bool(noisy[0] > 0)])
        return noisy

    _replay(function)
    function(np.random.default_rng(0), [1.0, 2.0])
    assert seen[0] == pytest.approx(seen[2])


FOUND = {
    "count_half_the_scale": "moves by 1, which is 2 of its scale; 1 is claimed",
    "mean_with_sensitivity_of_one_more": "depends on the data",
    "clip_after_sum": "moves by 5",
    "raises_on_empty": "the neighbour raises ValueError",
    "scale_from_data": "depends on the data: 1 and 0.01",
    "returns_before_the_draw": "the data asks for 1 draws, the neighbour for 0",
    "ratio_of_an_empty_group": "moves by inf",
    "histogram_of_seen_keys": "draws, the neighbour for",
    "rounded_before_noise": "moves by 10",
}


@pytest.mark.parametrize("name", FOUND)
def test_one_pair_of_runs_finds_wrong_programs(name):
    program = WRONG[name]
    found = replay(
        program.function, relation=program.relation, claim=program.epsilon, data=program.data
    )
    assert FOUND[name] in "; ".join(found.findings)
    assert "no proof" in str(found)


# One draws for each name that has a count, so that one more name moves the others' draws; the
# inputs of the other are no neighbours that could share noise.
NOT_ALIGNED = {"name_above_threshold", "randomised_response_of_four"}


@pytest.mark.parametrize("name", sorted(RIGHT.keys() - NOT_ALIGNED))
def test_right_programs_have_no_finding(name):
    program = RIGHT[name]
    found = replay(
        program.function, relation=program.relation, claim=program.epsilon, data=program.data
    )
    assert found.findings == ()
    assert "no proof" in str(found)


def test_what_cannot_be_replayed_says_so():
    with pytest.raises(UnsupportedError, match="takes no Generator"):
        _replay(lambda data: 1.0)
    with pytest.raises(CouldNotError, match="draws nothing from rng"):
        _replay(lambda rng, data: 1.0)


def test_it_is_a_question_like_an_audit():
    found = jaxsel.replay(
        lambda rng, data: sum(data) + rng.laplace(scale=0.5),
        relation="add_or_remove_one",
        claim=1.0,
        data=[0.0, 1.0],
    )
    assert "which is 2 of its scale" in found.findings[0]


def test_a_function_that_always_raises_is_no_finding():
    def broken(rng, data):
        raise KeyError("no such column")

    with pytest.raises(CouldNotError, match="raises KeyError on every pair"):
        replay(broken, relation="replace_one", claim=1.0)
