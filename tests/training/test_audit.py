"""Audits of DP-SGD: statistics that hold, and runs that are right pass and faulty fail."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.accounting.single_run.curves import gaussian
from jaxsel.accounting.single_run.events import dp_sgd as dp_sgd_guarantee
from jaxsel.auditing.one_run_audit import guess_membership
from jaxsel.host.errors import InputError
from jaxsel.training import canaries, dp_sgd
from jaxsel.training.audits import many_run_audit, many_run_bound, mechanism_audit, one_run_audit
from jaxsel.training.canaries import (
    ConstantClassifier,
    Linear,
    Training,
    WithCanaries,
    add_canaries,
    blank_out,
    blanks,
    canary_scores,
    loss_score,
)
from jaxsel.training.network import cross_entropy
from tests.conftest import ALPHA, seed
from tests.training import faults

CONFIDENCE = 1.0 - ALPHA


def test_many_run_bounds_are_sound_and_show_more_than_half():
    generator = np.random.default_rng(seed())
    runs, delta = 40_000, 1e-2
    for mean in (1.0, 2.0):
        truth = gaussian(1.0 / mean).epsilon(delta)
        sides = generator.normal([[mean], [0.0]], 1.0, (2, runs))
        for pair in (sides, sides[::-1]):
            bound = many_run_bound(*pair, delta=delta, confidence=CONFIDENCE, entropy=0)
            assert truth / 2.0 < bound.lower <= truth


def test_many_run_bounds_hold_with_their_confidence():
    generator = np.random.default_rng(seed())
    truth, wrong = gaussian(1.0).epsilon(0.05), 0
    for run in range(100):
        sides = generator.normal([[1.0], [0.0]], 1.0, (2, 300))
        wrong += many_run_bound(*sides, delta=0.05, confidence=0.8, entropy=run).lower > truth
    assert stats.binomtest(wrong, 100, 0.2, "greater").pvalue > ALPHA


def test_the_event_of_a_many_run_bound_is_the_stated_one():
    present, absent = np.arange(100.0), np.arange(100.0) - 60.0
    bound = many_run_bound(present[::-1], absent[::-1], delta=0.0)
    half = present[::-1][50:], absent[::-1][50:]
    for k, side in zip((0, 2), half, strict=True):
        beyond = int(np.sum((side > bound.threshold) == bound.above))
        assert bound.counts[k : k + 2] == (beyond, 50)
    same = many_run_bound(np.ones(9), np.ones(9), delta=0.0)
    assert same.lower == 0.0


# DP-SGD itself


def test_canaries_own_a_parameter_and_blanks_have_no_gradient():
    model = WithCanaries(Linear(2), 3)
    images = np.random.default_rng(0).random((1, 2, 2, 1), np.float32)
    images, labels = add_canaries((images, np.asarray([1])), [True, False, True], 2)
    assert labels.tolist() == [1, 2, 0, 4]
    params = model.init(jax.random.key(0), jnp.asarray(images))["params"]
    params["canaries"] = jnp.asarray([5.0, -1e6, 1e6])  # what they are does not matter
    gradient = jax.grad(functools.partial(cross_entropy, model))
    found = jax.jit(jax.vmap(gradient, in_axes=(None, 0)))(
        params, (jnp.asarray(images), jnp.asarray(labels, jnp.int32))
    )
    own = np.asarray(found["canaries"])
    assert own.tolist() == [[0, 0, 0], [-1e6, 0, 0], [0, 0, 0], [0, 0, -1e6]]
    for leaf in jax.tree.leaves(found["inner"]):
        assert np.all(leaf[0] != 0.0)
        assert not np.any(leaf[1:])
    blanks = blank_out((images, labels), 0)
    assert blanks[1][0] == 0
    assert np.all(blanks[0] < 0.0)


def test_a_black_image_is_no_blank():
    model = WithCanaries(Linear(2), 1)
    image = jnp.zeros((2, 2, 1))
    inner = {"Dense_0": {"kernel": jnp.ones((4, 2)), "bias": jnp.zeros(2)}}
    params = {"canaries": jnp.zeros(1), "inner": inner}
    gradient = jax.jit(jax.grad(functools.partial(cross_entropy, model)))
    found = gradient(params, (image, jnp.int32(1)))["inner"]["Dense_0"]["bias"]
    np.testing.assert_allclose(found, [0.5, -0.5], atol=1e-6)


def test_a_neighbour_differs_in_one_row_alone():
    images, labels = np.full((3, 1, 2, 1), 0.5, np.float32), np.asarray([3, 4, 5], np.int32)
    changed = blank_out((images, labels), 1)
    assert changed[0][:, 0, 0, 0].tolist() == [0.5, -1.0, 0.5]
    assert changed[1].tolist() == [3, 0, 5]
    more = add_canaries((images, labels), [True, False], 6)
    assert more[0].shape == (5, 1, 2, 1)
    assert more[0][:, 0, 1, 0].tolist() == [0.5, 0.5, 0.5, -1.0, -1.0]
    assert more[1].tolist() == [3, 4, 5, 6, 0]
    assert (more[0].dtype, more[1].dtype) == (np.float32, np.int32)
    # what was given is as it was
    assert np.all(images == 0.5)
    assert labels.tolist() == [3, 4, 5]


@pytest.mark.parametrize(("examples", "size"), [(20, 5.0), (5, 5.0)])
def test_the_ratio_of_a_canary_is_that_of_a_mixture(examples, size):
    """Of two normal laws, over two steps; with C, sigma and batch size other than 1."""
    plan = dp_sgd.recipe(examples, size, clip_norm=0.4, noise_multiplier=1.5, clipping="plain")
    optimiser = canaries.Recorder(plan)(0.3)
    params = {"canaries": jnp.zeros(2), "other": jnp.ones(3)}
    state, expected = optimiser.init(params), np.zeros(2)
    for seen in ([-0.7, 1.2], [2.1, 0.3]):  # noisy sums along the canaries, over C
        gradient = {"canaries": -jnp.asarray(seen) * 0.4 / size, "other": jnp.full(3, 2.0)}
        updates, state = optimiser.update(gradient, state, params)
        np.testing.assert_allclose(updates["other"], -0.6, rtol=1e-6)
        with_it, without = stats.norm.pdf([np.subtract(seen, 1.0), seen], scale=1.5)
        expected += np.log((size / examples) * with_it / without + 1.0 - size / examples)
    found = canaries.likelihood_ratio(dp_sgd.State(params, state, 2, False))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_score_of_an_input_canary_falls_with_its_loss():
    model = WithCanaries(Linear(2), 1)
    image = jnp.full((1, 1, 1), 0.5)
    inner = {"Dense_0": {"kernel": jnp.asarray([[1.0, -1.0]]), "bias": jnp.zeros(2)}}
    params = {"canaries": jnp.zeros(1), "inner": inner}
    state = dp_sgd.State(params, None, 0, False)
    for label, shift in ((0, -1.0), (1, 1.0)):
        found = float(loss_score(model, (image, label))(state))
        assert found == pytest.approx(-math.log1p(math.exp(shift)), rel=1e-6)


def test_what_scores_depend_on():
    """The learning rate, the seed and the tag; and a batch that does not fit is an error."""
    model, plan = WithCanaries(Linear(2), 1), dp_sgd.recipe(3, 3.0, clipping="plain")
    images = np.full((2, 1, 1, 1), 0.5, np.float32)
    data = add_canaries((images, np.asarray([0, 1], np.int32)), [True], 2)
    score = loss_score(model, (data[0][0], data[1][0]))

    def scores(**changed):
        given = {"runs": 2, "score": score} | changed
        how = [name for name in ("steps", "learning_rate") if name in given]
        training = Training(plan, **{"steps": 2} | {name: given.pop(name) for name in how})
        return canary_scores(model, training, data, **given)

    base = scores()
    assert base.shape == (2,)
    assert scores(learning_rate=0.1, seed=0, tag=0).tolist() == base.tolist()
    for changed in ({"learning_rate": 0.2}, {"seed": 1}, {"tag": 1}, {"steps": 3}):
        assert not np.any(np.isclose(scores(**changed), base, rtol=1e-5, atol=0.0))
    with pytest.raises(RuntimeError, match="a batch did not fit"):
        canary_scores(model, Training(plan._replace(capacity=2), 1), data)
    for name in ("steps", "runs"):
        with pytest.raises(InputError, match=name):
            scores(**{name: 0})
    with pytest.raises(InputError, match="has 2 examples; the recipe is for 3"):
        canary_scores(model, Training(plan, 1), (data[0][:2], data[1][:2]))


FULL = dp_sgd.recipe(1, 1.0, clip_norm=4.0, noise_multiplier=2.0, clipping="plain")
SAMPLED = dp_sgd.recipe(4, 1.0, noise_multiplier=0.3, clipping="plain")
RUNS, STEPS, DELTA = 20_000, 4, 1e-2


def test_runs_are_the_same_however_many_are_made_at_once(monkeypatch):
    model = WithCanaries(ConstantClassifier(), 1)
    data = add_canaries(blanks(0), [True], 2)

    def scores():
        return canary_scores(model, Training(FULL, 2), data, runs=7, seed=5)

    whole = scores()
    assert whole.shape[0] == 7
    assert len(np.unique(whole)) == 7
    monkeypatch.setattr(canaries, "_BLOCK", 3)
    np.testing.assert_allclose(scores(), whole, rtol=1e-5)


@functools.cache
def full_audit(gradient):
    return mechanism_audit(
        FULL,
        steps=STEPS,
        runs=RUNS,
        delta=DELTA,
        confidence=CONFIDENCE,
        seed=seed(),
        gradient=gradient,
    )


def test_right_dp_sgd_passes_and_shows_more_than_half_of_what_is_claimed():
    """All examples in each of 4 steps with sigma 2: one normal number, of mean 1."""
    found = full_audit(dp_sgd.noisy_gradient)
    assert found.accounted == pytest.approx(
        gaussian(2.0 / math.sqrt(STEPS)).epsilon(DELTA), rel=1e-3
    )
    assert found.accounted / 2.0 < found.lower <= found.accounted
    # as often as the normal law says
    threshold = found.evidence.threshold + 0.5
    for mean, k in ((1.0, 0), (0.0, 2)):
        beyond, runs = found.evidence.counts[k : k + 2]
        chance = stats.norm.sf(threshold - mean)
        chance = chance if found.evidence.above else 1.0 - chance
        assert stats.binomtest(beyond, runs, chance).pvalue > ALPHA


def test_many_runs_catch_noise_that_is_not_scaled():
    found = full_audit(faults.unscaled_noise)
    assert found.lower > found.accounted


@functools.cache
def sampled_scores(sampling: str) -> list[np.ndarray]:
    """With and without the canary; a quarter of the examples a step, four steps."""
    model = WithCanaries(ConstantClassifier(), 1)
    scores = canary_scores if sampling == "poisson" else faults.shuffled_scores
    return [
        scores(
            model,
            Training(SAMPLED, STEPS),
            add_canaries(blanks(3), [coin], 2),
            runs=RUNS,
            seed=seed(),
            tag=tag,
        )[:, 0]
        for tag, coin in enumerate((True, False))
    ]


def test_poisson_batches_pass_and_shuffled_ones_accounted_as_poisson_are_caught():
    """Poisson batches may leave the canary out in all four steps; shuffled ones cannot."""
    claim = dp_sgd_guarantee(noise_multiplier=0.3, sampling_probability=0.25, steps=STEPS)
    for delta in (1e-2, 0.5):
        poisson = many_run_bound(*sampled_scores("poisson"), delta=delta, confidence=CONFIDENCE)
        assert 0.0 < poisson.lower <= claim.epsilon(delta)
    shuffled = many_run_bound(*sampled_scores("shuffled"), delta=0.5, confidence=CONFIDENCE)
    assert shuffled.lower > claim.epsilon(0.5)


CANARIES, GUESSES = 2000, (400, 400)
ONE_RUN = dp_sgd.recipe(CANARIES + 20, CANARIES + 20, noise_multiplier=4.0, clipping="plain")


@functools.cache
def one_run(gradient):
    generator = np.random.default_rng(2)
    images = generator.random((20, 3, 3, 1), np.float32)
    labels = generator.integers(0, 5, 20).astype(np.int32)
    return one_run_audit(
        Linear(5),
        Training(ONE_RUN, STEPS, gradient=gradient),
        (images, labels),
        classes=5,
        canaries=CANARIES,
        guesses=[GUESSES],
        delta=1e-9,
        confidence=CONFIDENCE,
        seed=seed(),
    )


def test_one_run_of_right_dp_sgd_passes_with_as_many_right_guesses_as_predicted():
    found = one_run(dp_sgd.noisy_gradient)
    assert 0.0 < found.lower <= found.accounted
    generator = np.random.default_rng(1)
    correct = []
    for _ in range(400):
        coins = generator.random(CANARIES) < 0.5
        scores = generator.normal(math.sqrt(STEPS) / 4.0 * coins)
        said = guess_membership(scores, *GUESSES)
        correct.append(np.sum(np.where(coins, said == 1, said == -1)))
    away = abs(found.evidence.correct - np.mean(correct)) / np.std(correct)
    # normal to a good approximation: a sum over 800 canaries
    assert away < stats.norm.isf(ALPHA / 2) * (1.0 + 3.0 / math.sqrt(2 * 400))


def test_one_run_catches_missing_clipping():
    found = one_run(faults.unclipped)
    assert found.evidence.correct == sum(GUESSES)
    assert found.lower > found.accounted


def test_input_canaries_are_seen_through_the_loss():
    """A mislabelled image, known by its loss after training."""
    generator = np.random.default_rng(4)
    images = generator.random((6, 3, 3, 1), np.float32)
    labels = np.asarray([0, 1, 0, 1, 0, 1], np.int32)
    images[labels == 1, :, 0] = 0.0
    images[5], labels[5] = images[4], 1 - labels[4]
    plan = dp_sgd.recipe(6, 6.0, noise_multiplier=1.0, clipping="plain")
    model = WithCanaries(Linear(), 1)
    found = many_run_audit(
        model,
        Training(plan, 6, learning_rate=2.0),
        (images, labels),
        blank_out((images, labels), 5),
        runs=4000,
        delta=DELTA,
        confidence=CONFIDENCE,
        seed=seed(),
        score=loss_score(model, (images[5], labels[5])),
    )
    assert 0.0 < found.lower <= found.accounted


def audit_of(**settings):
    plan = dp_sgd.recipe(2, 1.0, **settings)
    return mechanism_audit(plan, steps=1, runs=2, delta=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: many_run_bound([1.0], [1.0, 2.0], delta=0.0), "two runs"),
        (lambda: audit_of(noise_multiplier=0.0), "noise_multiplier"),
        (lambda: audit_of(clipping="ghost"), "ghost"),
        (lambda: add_canaries((np.zeros((1, 2, 2, 1)), [0]), [1], 2), "bool"),
        (lambda: add_canaries((np.zeros((1, 2, 2, 1)), [0]), [[True]], 2), r"of shape \(1, 1\)"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "more",
    [{"learning_rate": 0.5}, {"gradient": faults.unscaled_noise}],
    ids=lambda more: next(iter(more)),
)
def test_a_recipe_and_its_steps_are_read_as_in_the_last_release(named, more):
    """The rest of the training, too, and the warning stands where it is written."""
    model, plan = WithCanaries(Linear(2), 1), dp_sgd.recipe(3, 3.0, clip_norm=4.0, clipping="plain")
    images = np.full((2, 1, 1, 1), 0.5, np.float32)
    data = add_canaries((images, np.asarray([0, 1], np.int32)), [True], 2)
    score = loss_score(model, (data[0][0], data[1][0]))
    today = canary_scores(model, Training(plan, 2, **more), data, score=score)
    assert today.tolist() != canary_scores(model, Training(plan, 2), data, score=score).tolist()
    words = r"canary_scores\(plan, steps=\) is canary_scores\(Training\(plan, steps\)\) now"
    given = {"plan": plan, "data": data} if named else {}
    placed = () if named else (plan, data)
    with pytest.warns(DeprecationWarning, match=words) as told:
        former = canary_scores(model, *placed, **given, steps=2, score=score, **more)
    assert told[0].filename == __file__
    assert former.tolist() == today.tolist()
