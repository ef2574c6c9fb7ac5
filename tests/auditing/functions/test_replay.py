"""Two runs at the same noise: what is written down of draws, and what a difference says."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsel
from benchmarks.audit_tables.small_programs import programs
from jaxsel.auditing.functions import recording
from jaxsel.auditing.functions import replay as replaying
from jaxsel.auditing.functions.replay import replay
from jaxsel.host.errors import CouldNotError, InputError, UnsupportedError
from tests.asked import ask

WRONG, RIGHT = ({one.function.__name__: one for one in kind} for kind in programs())


def _replay(function, **options):
    defaults = {"relation": "general", "claim": 1.0, "pair": ([1.0, 2.0], [2.0, 2.0])}
    return ask(replay, function, **defaults | options)


@pytest.mark.parametrize(
    ("form", "scale", "moved"),
    [
        (lambda rng, x: rng.laplace(x, 3.0), 3.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: x + rng.laplace(scale=3.0, size=2), 3.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: rng.normal(size=2) * 3.0 - x, 3.0, (1.0, 1.0, 1.0)),
        (lambda rng, x: (x - rng.standard_normal(2)) / 2.0, 0.5, (0.5, 0.5, 0.5)),
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


def test_a_move_is_measured_by_the_scale_that_its_noise_has_there():
    def halved(rng, data):
        return (sum(data) + rng.laplace()) / 2.0

    assert _replay(halved).findings == ()
    assert "which is 1 of its scale" in _replay(halved, claim=0.99).findings[0]
    own = np.array([1.0, 10.0])  # of each entry

    def weighted(rng, data):
        return own * data + rng.laplace(size=2) * own

    found = _replay(weighted, pair=([1.0, 2.0], [1.5, 1.0]))
    assert found.findings == ()
    assert found.draws[0].ratio == pytest.approx(1.0)
    assert found.draws[0].moved[0] == pytest.approx(10.0)


def test_a_move_is_measured_by_the_smaller_of_two_scales():
    pair = ([1.0, 2.0], [2.0, 2.0])

    def function(rng, data):
        return sum(data) + (0.5 if data[0] == 1.0 else 10.0) * rng.laplace()

    for each in (pair, pair[::-1]):
        found = _replay(function, pair=each, claim=1.0)
        (draw,) = found.draws
        assert (draw.scale, draw.ratio) == pytest.approx((0.5, 2.0))
        assert draw.moved == pytest.approx((1.0, 1.0, 1.0))
        assert len(found.findings) == 2  # the scale depends on the data, and the move is too large
        assert "is 2 of its scale; 1 is claimed" in found.findings[1]


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
    found = replay(program.function, program.data, relation=program.relation, claim=program.epsilon)
    assert FOUND[name] in "; ".join(found.findings)
    assert "no proof" in str(found)


# One draws for each name that has a count, so that one more name moves the others' draws; the
# inputs of the other are no neighbours that could share noise.
NOT_ALIGNED = {"name_above_threshold", "randomised_response_of_four"}


@pytest.mark.parametrize("name", sorted(RIGHT.keys() - NOT_ALIGNED))
def test_right_programs_have_no_finding(name):
    program = RIGHT[name]
    found = replay(program.function, program.data, relation=program.relation, claim=program.epsilon)
    assert found.findings == ()
    assert "no proof" in str(found)


def test_what_cannot_be_replayed_says_so():
    with pytest.raises(UnsupportedError, match="takes no Generator"):
        _replay(lambda data: 1.0)
    with pytest.raises(CouldNotError, match="draws nothing from its rng"):
        _replay(lambda rng, data: 1.0)
    for claim in (math.nan, -5.0, "x"):
        with pytest.raises(InputError, match="claim is"):
            replay(lambda rng, data: rng.laplace(), [0], [1], relation="replace_one", claim=claim)


def test_draws_whose_probabilities_cannot_be_compared_are_named():
    def choose(rng, scores, n):
        weights = np.exp(scores)  # twice the epsilon that is claimed
        return rng.choice(len(scores), size=n, p=weights / weights.sum())

    said = str(jaxsel.replay(choose, [3, 2, 1, 0], relation="general", claim=1.0))
    assert "Draws without a scale (" in said
    assert "choice" in said
    assert "audit those" in said

    def count(rng, records, n):
        return len(records) + rng.laplace(size=n)

    said = str(jaxsel.replay(count, relation="add_or_remove_one", claim=1.0))
    assert "without a scale" not in said


def test_it_is_a_question_like_an_audit():
    found = jaxsel.replay(
        lambda rng, data: sum(data) + rng.laplace(scale=0.5),
        [0.0, 1.0],
        relation="add_or_remove_one",
        claim=1.0,
    )
    assert "which is 2 of its scale" in found.findings[0]


def test_a_function_that_always_raises_is_no_finding():
    def broken(rng, data):
        raise KeyError("no such column")

    with pytest.raises(CouldNotError, match="raises KeyError on every pair"):
        replay(broken, relation="replace_one", claim=1.0)


def _scanned(key, data, factor=4.0):
    """A sparse vector that stops, one query after the other."""
    first, rest = jax.random.split(key)
    threshold = 0.5 + 2.0 * jax.random.laplace(first)

    def step(done, given):
        query, own = given
        above = (query + factor * jax.random.laplace(own) >= threshold) & ~done
        return done | above, above

    return jax.lax.scan(step, False, (data, jax.random.split(rest, data.shape[0])))[1]


def _looped(key, data):
    def body(state):
        place, key, total = state
        key, own = jax.random.split(key)
        return place + 1, key, total + data[place] + 5.0 * jax.random.laplace(own)

    return jax.lax.while_loop(lambda state: state[0] < 2, body, (0, key, 0.0))[2]


KEYED = {
    "sum": (lambda key, x: x + 3.0 * jax.random.laplace(key, (2,)), "laplace", 3.0, 1.0),
    "difference": (lambda key, x: 2.0 * jax.random.normal(key, (2,)) - x, "normal", 2.0, 1.0),
    "quotient": (lambda key, x: (x - jax.random.gumbel(key, (2,))) / 2.0, "gumbel", 0.5, 0.5),
    "scalar": (lambda key, x: x.sum() + 7.0 * jax.random.logistic(key), "logistic", 7.0, 1.0),
    "one of several": (lambda key, x: x[0] + jax.random.exponential(key, (4,))[2], "exponential",
                       1.0, 1.0),
    "vmapped": (
        lambda key, x: jax.vmap(lambda own, v: v + 2.0 * jax.random.cauchy(own))(
            jax.random.split(key), x
        ),
        "cauchy", 2.0, 1.0),
    "reshaped": (lambda key, x: jnp.tile(x, 2).reshape(2, 2)
                 + 5.0 * jax.random.laplace(key, (4,)).reshape(2, 2).T, "laplace", 5.0, 1.0),
    "jitted": (jax.jit(lambda key, x: jax.nn.relu(x) * 3.0 + jax.random.laplace(key, (2,))),
               "laplace", 1.0, 3.0),
    "scanned": (lambda key, x: _scanned(key, x), "laplace", 2.0, 1.0),
    "branched": (lambda key, x: jax.lax.cond(x[1] > 0.0, lambda: x + jax.random.laplace(key, (2,)),
                 lambda: x), "laplace", 1.0, 1.0),
    "scanned backwards": (lambda key, x: jax.lax.scan(lambda c, v: (0.5 * c + v, c),
                          jax.random.laplace(key), x, reverse=True)[0], "laplace", 0.25, 1.0),
    "looped": (_looped, "laplace", 5.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", KEYED)
def test_draws_of_a_key_are_read_off_the_trace(name):
    function, law, scale, moved = KEYED[name]
    found = _replay(lambda key, data: function(key, data), claim=100.0)
    assert found.findings == ()
    assert {draw.law for draw in found.draws} == {law}
    assert found.draws[0].scale == pytest.approx(scale)
    assert max(draw.moved[0] for draw in found.draws) == pytest.approx(moved)


def test_a_trace_is_evaluated_as_jax_does(monkeypatch):
    """Whatever the trace of all functions above returns is what JAX computes."""
    from jaxsel.auditing.functions import key_recording
    from jaxsel.auditing.functions.audited_function import load

    data = np.array([1.0, 2.0])
    for name, (function, *_) in KEYED.items():
        trace = key_recording.traced(load(lambda key, x, f=function: f(key, x)), data, {}, 3)
        with jax.enable_x64(True):
            (found,) = key_recording._Evaluation().run(trace.closed, trace.inputs)
            expected = function(jax.random.key(3), jnp.asarray(data))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, err_msg=name)


def test_wrong_functions_of_a_key_are_found():
    def said(function, **options):
        return "; ".join(_replay(function, claim=0.5, **options).findings)

    half = said(lambda key, x: jnp.argmax(x + jax.random.laplace(key, x.shape)))
    assert "moves by 1, which is 1 of its scale; 0.5 is claimed" in half
    scaled = said(lambda key, x: x.sum() + jax.random.normal(key) * jnp.std(x))
    assert "the scale of draw 0, normal, depends on the data" in scaled
    shared = said(
        lambda key, x: x + 4.0 * jax.random.laplace(key, x.shape) > 2.0 * jax.random.laplace(key)
    )
    assert "draws 0 and 1 are made from one key" in shared
    looped = said(
        lambda key, x: jax.lax.fori_loop(
            0, 2, lambda i, total: total + x[i] + 9.0 * jax.random.laplace(key), 0.0
        )
    )
    assert "draws 0 and 1 are made from one key" in looped
    branch = said(
        lambda key, x: jax.lax.cond(
            x[0] > 1.5,
            lambda: x[0] + 9.0 * jax.random.laplace(key),
            lambda: x[0] + 9.0 * jax.random.normal(key),
        )
    )
    assert "draw 0 is normal of shape () on the data, laplace of shape ()" in branch
    chance = said(lambda key, x: jax.random.bernoulli(key, x[0] / 4.0))
    assert "draw 0, bernoulli, takes (0.25,) on the data, (0.5,) on the neighbour" in chance
    assert _replay(lambda key, x: _scanned(key, x), claim=0.5).findings == ()


def test_a_scan_of_no_steps_is_evaluated_too():
    def released(key, data):
        last, every = jax.lax.scan(lambda c, v: (c + v, c > 0.0), jax.random.laplace(key), data)
        return last, every

    found = _replay(released, relation="add_or_remove_one", pair=([], [1.0]), claim=1.0)
    assert found.findings == ()
    assert found.draws[0].moved[0] == 0.0  # the sum is made on one side alone
    from jaxsel.auditing.functions import key_recording
    from jaxsel.auditing.functions.audited_function import load

    trace = key_recording.traced(load(released), np.zeros(0), {}, 3)
    with jax.enable_x64(True):
        outputs = key_recording._Evaluation().run(trace.closed, trace.inputs)
    assert [np.shape(one) for one in outputs] == [(), (0,)]


def test_rounding_in_float32_is_no_move():
    def mean(key, data):
        total = jnp.mean(data.astype(jnp.float32))
        return total + jax.random.laplace(key, dtype=jnp.float32) / data.shape[0]

    options = {"relation": "replace_one", "data": np.linspace(0.0, 1.0, 7), "pair": None}
    assert _replay(mean, claim=1.0, **options).findings == ()
    assert "moves by" in _replay(mean, claim=0.999, **options).findings[0]


def test_a_function_of_a_key_that_cannot_be_replayed_says_so():
    with pytest.raises(CouldNotError, match="draws nothing"):
        _replay(lambda key, data: data.sum())
    with pytest.raises(CouldNotError, match="raises TracerBoolConversionError on every pair"):
        _replay(lambda key, data: 1.0 if data[0] > 0 else jax.random.laplace(key))
    with pytest.raises(InputError, match="which takes numbers"):
        _replay(lambda key, data: 1.0, relation="replace_one", data=["a", "b"], pair=None)


def test_the_table_of_draws_has_their_shapes_and_moves():
    def function(rng, data):
        total = sum(data) + rng.laplace(scale=2.0)
        return total, np.ones((2, 3)) * sum(data) + rng.normal(scale=4.0, size=(2, 3))

    columns, rows = _replay(function).summary()[1:3]
    assert columns == (
        "draw", "law", "shape", "scale", "largest move", "l1", "l2", "move / scale"
    )  # fmt: skip
    assert rows == [
        [0, "laplace", "1", "2", "1", "1", "1", "0.5"],
        [1, "normal", "2x3", "4", "1", "6", "2.449", "0.25"],
    ]


@pytest.mark.parametrize(("moved", "found"), [(1e-10, False), (1e-8, True), (0.5, True)])
def test_a_scale_that_moves_by_more_than_a_rounding_depends_on_the_data(moved, found):
    def function(rng, data):
        return sum(data) + rng.laplace(scale=2.0 + moved * data[0])

    assert any("depends on the data" in one for one in _replay(function).findings) == found

    # A claim is kept up to a rounding of what is added to.
    def shifted(rng, data):
        return (2.0 + moved) * data[0] + rng.laplace(scale=2.0)

    assert bool(_replay(shifted).findings) == found


def test_the_pair_with_most_findings_is_shown_and_then_the_largest_move():
    def function(rng, data):
        if len(data) == 8 and sum(data) == 8.0:
            rng.random()
        return sum(data) + rng.laplace(scale=2.0)

    options = {"relation": "replace_one", "pair": None, "data": [0.0, 1.0] * 4}
    found = _replay(function, claim=0.4, **options)
    # One more draw on one side, so that the laws of the first draws differ, too.
    assert 8.0 in (sum(found.data), sum(found.neighbour))
    assert len(found.findings) == 2
    options |= {"relation": "add_or_remove_one", "data": [3.0, 1.0, 2.0]}
    quiet = _replay(function, claim=9.0, **options)
    assert quiet.findings == ()
    assert quiet.draws[0].ratio == 1.5
    assert abs(sum(quiet.data) - sum(quiet.neighbour)) == 3.0
    assert quiet.pairs > 5


def test_draws_of_one_key_are_said_once_with_their_number():
    def function(key, data):
        return sum(jax.random.laplace(key) for _ in range(3)) + data.sum()

    (said, *_) = _replay(function, claim=9.0).findings
    assert said == "draws 0 and 1 are made from one key, and 1 more pairs are"


def test_rounding_is_a_part_of_the_largest_number_that_noise_is_added_to():
    draw = recording.Draw("laplace", (3,), (), added=True)
    assert replaying._reach(draw) == 0.0
    draw.uses = [[(1.0, 2.0), (-30.0, 3.0)], [(4.0, 0.0), (math.inf, 1.0)], [(5.0, 1.0)]]
    assert replaying._reach(draw) == 10.0


@pytest.mark.parametrize("swapped", [False, True])
def test_a_function_that_raises_on_one_side_alone_is_a_finding(swapped):
    def mean(rng, data):
        return 1.0 / len(data) + rng.laplace()

    pair = ([], [1.0])[:: -1 if swapped else 1]
    found = _replay(mean, relation="add_or_remove_one", pair=pair, claim=9.0)
    answers = ["raises ZeroDivisionError", "answers"][:: -1 if swapped else 1]
    assert found.findings[0] == f"the data {answers[0]}, the neighbour {answers[1]}"
