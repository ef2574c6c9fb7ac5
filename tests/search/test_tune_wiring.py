"""What a small search does, call by call, against its plan and independent numbers."""

import functools
import math

import dp_accounting
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting import pld

from jaxsel import repetitions as laws
from jaxsel.data.images import load_images
from jaxsel.kernel import stream
from jaxsel.search.scores import Score
from jaxsel.search.tune import private_search, train_runs
from jaxsel.training import dp_sgd, runs
from jaxsel.training.canaries import Linear
from jaxsel.training.search_plan import plan_search

# Off every special value, and of this file alone: programs are traced here.
SIGMA, CLIP, BATCH, EXAMPLES, DELTA = (1.3, 2.6), 0.6, 15.0, 50, 1e-3
TRAINING, VALIDATION = 40, 10  # a fifth of 50 validates
MODEL = Linear(11)


@pytest.fixture(scope="module")
def images():
    found = load_images()
    return found._replace(images=found.images[:EXAMPLES], labels=found.labels[:EXAMPLES])


@pytest.fixture(scope="module")
def plan():
    return plan_search(
        examples=EXAMPLES,
        rates=[0.3, 0.7],
        noise_multipliers=SIGMA,
        clip_norms=[CLIP],
        batch_sizes=[BATCH],
        epochs=2.0,
        repetitions=laws.geometric(0.3),
        delta=DELTA,
    )


def epsilon(sigma: float, rate: float, steps: int, delta: float) -> float:
    """By dp-accounting alone."""
    accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, 1e-4)
    one = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    accountant.compose(dp_accounting.SelfComposedDpEvent(one, steps))
    return accountant.get_epsilon(delta)


def watched(monkeypatch, module, name, note):
    """Every call of a function is noted, and made."""
    original = getattr(module, name)

    @functools.wraps(original)
    def call(*arguments, **named):
        found = original(*arguments, **named)
        note(found, *arguments, **named)
        return found

    monkeypatch.setattr(module, name, call)


class Notes:
    """What a search did.

    Attributes:
      traced: of each compiled program, by the key of its recipe's sigma: numbers that
        were used while it was traced.
      trained: (address, candidate numbers) of every call that trains.
      scored: of every run: validation images, parameters and right labels.
      told: of every run: what the search was told, and the noisy score.
    """

    def __init__(self) -> None:
        self.traced: list[dict[str, float]] = []
        self.trained: list[tuple] = []
        self.scored: list[tuple] = []
        self.told: list[tuple] = []


@pytest.fixture(name="noted", scope="module")
def _noted(plan, images):
    notes = Notes()
    now: dict[str, float] = {}
    with pytest.MonkeyPatch.context() as patch:

        def batch(found, key, examples, rate, capacity):
            now.update(examples=examples, rate=rate, capacity=capacity)

        def clipped(found, loss, params, data, rows, count, clip_norm, *, microbatch):
            now.update(clip=clip_norm)

        def gaussian(found, key, tree, deviation):
            now.update(deviation=deviation)

        def gradient(found, model, how, params, data, key):
            notes.traced.append({"asked": how, **now})
            now.clear()

        def advance(found, model, how, data, state, own, rates, steps):
            notes.trained.append((own, how, data, np.asarray(rates), int(steps)))

        def right(found, model, params, held_out):
            notes.scored.append((held_out, params, found))

        def noisy(found, score, told, source):
            notes.told.append((told, found))

        watched(patch, dp_sgd, "poisson_batch", batch)
        watched(patch, dp_sgd, "microbatched_sum", clipped)
        watched(patch, dp_sgd, "_gaussian", gaussian)
        watched(patch, dp_sgd, "noisy_gradient", gradient)
        # ``train`` took its gradient when it was defined.
        original = dp_sgd.train

        def train(*arguments):
            return original(*arguments, gradient=dp_sgd.noisy_gradient)

        patch.setattr(dp_sgd, "train", train)
        watched(patch, runs, "advance", advance)
        watched(patch, runs, "right_labels", right)
        watched(patch, Score, "noisy", noisy)
        notes.seed = next(
            seed
            for seed in range(1000)
            if len(asked := _asked(plan, seed)) == 4
            and len({run.candidate.noise_multiplier for run in asked}) == 2
        )
        notes.asked = _asked(plan, notes.seed)
        search = private_search(plan, seed=notes.seed)
        train_runs(search, plan, images, MODEL)
        notes.winner = search.release(simulation=True)
    return notes


def _asked(plan, seed) -> list:
    """The runs that a search with this seed hands out."""
    search = private_search(plan, seed=seed)
    found = []
    while not search.over:
        found.append(search.ask())
    return found


def test_every_step_is_made_with_the_numbers_of_its_candidate(noted):
    """The batch's rate, the clipping norm and the noise, as they are when it is traced."""
    assert {each["asked"].noise_multiplier for each in noted.traced} == set(SIGMA)
    for each in noted.traced:
        sigma = each["asked"].noise_multiplier
        assert each["examples"] == TRAINING
        assert each["rate"] == BATCH / TRAINING == 0.375
        assert each["clip"] == CLIP
        assert each["deviation"] == pytest.approx(sigma * CLIP, rel=1e-12)


def test_every_run_trains_its_candidate_for_its_steps(noted):
    """Run by run that was handed out: learning rate, sigma, steps, its own seed."""
    handed_out = {run.seed: run.candidate for run in noted.asked}
    assert len(handed_out) == 4
    made: dict[int, int] = {}
    for own, how, _, rates, steps in noted.trained:
        seed = int(own.low[0]) + (int(own.high[0]) << 32)
        chosen = handed_out[seed]
        assert how.noise_multiplier == chosen.noise_multiplier
        assert how.clip_norm == chosen.clip_norm
        assert how.batch_size == chosen.batch_size
        assert rates == pytest.approx([chosen.learning_rate])
        made[seed] = made.get(seed, 0) + steps
    assert made == {seed: candidate.steps for seed, candidate in handed_out.items()}


def test_what_is_accounted_is_what_was_run(noted, plan):
    """dp-accounting on the recorded sigma, rate and steps, for every candidate."""
    # two epochs of 40 images in batches of 15: 5.33, rounded up
    first = epsilon(SIGMA[0], 0.375, 6, DELTA)
    steps: dict[tuple, int] = {}
    for own, how, _, _, made in noted.trained:
        key = (how.noise_multiplier, int(own.low[0]), int(own.high[0]))
        steps[key] = steps.get(key, 0) + made
    traced = {each["asked"].noise_multiplier: each for each in noted.traced}
    stated = plan.base.epsilon(DELTA)
    for (sigma, *_), made in steps.items():
        each = traced[sigma]
        spent = epsilon(each["deviation"] / each["clip"], each["rate"], made, DELTA)
        # every candidate costs about as much as the first, and no more
        assert 0.7 * first < spent <= min(first, stated) * (1.0 + 1e-3)
    assert len({sigma for sigma, *_ in steps}) == 2
    assert noted.winner.guarantee.epsilon > first
    assert noted.winner.guarantee.delta == DELTA


def test_scores_are_of_held_out_images_with_the_planned_noise(noted, plan, images):
    order = np.random.default_rng(1).permutation(EXAMPLES)
    rows = order[TRAINING:]
    right = []
    for held_out, params, found in noted.scored:
        np.testing.assert_array_equal(held_out[0], images.images[rows])
        np.testing.assert_array_equal(held_out[1], images.labels[rows])
        alone = jax.tree.map(lambda leaf: leaf[0], params)
        logits = MODEL.apply({"params": alone}, jnp.asarray(images.images[rows]))
        right.append(int(np.sum(np.argmax(logits, axis=-1) == images.labels[rows])))
        assert found.tolist() == right[-1:]
    for _, _, data, _, _ in noted.trained:
        np.testing.assert_array_equal(data[0], images.images[order[:TRAINING]])
    assert [told for told, _ in noted.told] == right
    noise = [noisy - told for told, noisy in noted.told]
    assert len(noise) == 4
    assert 0 < np.max(np.abs(noise)) < 6.0 * plan.score_noise
    assert noted.winner.score == max(noisy for _, noisy in noted.told)


def test_noise_on_scores_costs_no_more_than_training(noted, plan):
    """Of the noisy count alone, one person: mu = 1/deviation, by dp-accounting."""
    accountant = pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(plan.score_noise))
    single = accountant.get_epsilon(DELTA)
    training, validation = (cost.epsilon for _, cost in noted.winner.guarantee.costs)
    assert 0.0 < single < validation <= training
    assert plan.validation_size == VALIDATION


def test_no_random_number_of_a_search_is_drawn_twice(monkeypatch, plan, images):
    """Every address that is hashed for a number: coins and noise, of all runs."""
    drawn: list[tuple[int, ...]] = []
    words = stream.words

    def record(*address):
        both = np.broadcast_arrays(*(np.asarray(word) for word in address))
        rows = np.stack([word.ravel() for word in both], axis=1)
        drawn.extend(map(tuple, rows.tolist()))

    def watch(key, draw):
        address = [jnp.asarray(word, jnp.uint32) for word in (*key, draw)]
        jax.debug.callback(record, *address)
        return words(key, draw)

    seed = next(s for s in range(1000) if len(_asked(plan, s)) == 3)
    model = Linear(12)  # of this test alone
    images = images._replace(images=images.images[:, :2, :2])
    try:
        monkeypatch.setattr(stream, "words", watch)
        train_runs(private_search(plan, seed=seed), plan, images, model)
        jax.effects_barrier()
    finally:
        monkeypatch.undo()
    parameters = 4 * 12 + 12
    steps = sum(run.candidate.steps for run in _asked(plan, seed))
    # A coin an image and a number a parameter a step.
    assert len(drawn) == steps * (TRAINING + parameters)
    assert len(set(drawn)) == len(drawn)
    assert math.isfinite(plan.score_noise)
