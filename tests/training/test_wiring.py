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
from jaxsel.training import dp_sgd, draws, runs
from jaxsel.training import search as searching
from jaxsel.training.canaries import Linear
from jaxsel.training.plan import plan_search

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
      scored: of every run: address, validation images, parameters and score.
    """

    def __init__(self) -> None:
        self.traced: list[dict[str, float]] = []
        self.trained: list[tuple] = []
        self.scored: list[tuple] = []


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

        def scores(found, plan, model, params, held_out, own):
            notes.scored.append((own, held_out, params, found))

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
        watched(patch, runs, "noisy_scores", scores)
        seed = next(s for s in range(1000) if _runs(plan, s) == 4 and len(_sigmas(plan, s)) == 2)
        notes.seed = seed
        notes.winner = searching.search(plan, images, MODEL, seed=seed)
    return notes


def _runs(plan, seed) -> int:
    return draws.draw_secrets(plan, [seed])[0].count


def _sigmas(plan, seed) -> set[float]:
    (found,) = draws.draw_secrets(plan, [seed])
    return {plan.candidates[choice].noise_multiplier for choice in found.choices}


def test_every_step_is_made_with_the_numbers_of_its_candidate(noted):
    """The batch's rate, the clipping norm and the noise, as they are when it is traced."""
    assert {each["asked"].noise_multiplier for each in noted.traced} == set(SIGMA)
    for each in noted.traced:
        sigma = each["asked"].noise_multiplier
        assert each["examples"] == TRAINING
        assert each["rate"] == BATCH / TRAINING == 0.375
        assert each["clip"] == CLIP
        assert each["deviation"] == pytest.approx(sigma * CLIP, rel=1e-12)


def test_every_run_trains_its_candidate_for_its_steps(noted, plan):
    """Drawn choice by drawn choice: learning rate, sigma, steps, its own number."""
    (secrets,) = draws.draw_secrets(plan, [noted.seed])
    assert [run.candidate for run in noted.winner.runs] == [
        plan.candidates[choice] for choice in secrets.choices
    ]
    made: dict[int, int] = {}
    for own, how, _, rates, steps in noted.trained:
        number = int(own.number[0])
        chosen = plan.candidates[secrets.choices[number]]
        assert (int(own.low[0]), int(own.high[0])) == (noted.seed, 0)
        assert how.noise_multiplier == chosen.noise_multiplier
        assert how.clip_norm == chosen.clip_norm
        assert how.batch_size == chosen.batch_size
        assert rates == pytest.approx([chosen.learning_rate])
        made[number] = made.get(number, 0) + steps
    assert made == {
        number: plan.candidates[choice].steps for number, choice in enumerate(secrets.choices)
    }


def test_what_is_accounted_is_what_was_run(noted, plan):
    """dp-accounting on the recorded sigma, rate and steps, for every candidate."""
    # two epochs of 40 images in batches of 15: 5.33, rounded up
    first = epsilon(SIGMA[0], 0.375, 6, DELTA)
    assert plan.guarantee.single_epsilon == pytest.approx(first, rel=1e-3)
    steps: dict[float, int] = {}
    for own, how, _, _, made in noted.trained:
        key = (how.noise_multiplier, int(own.number[0]))
        steps[key] = steps.get(key, 0) + made
    traced = {each["asked"].noise_multiplier: each for each in noted.traced}
    for (sigma, _), made in steps.items():
        each = traced[sigma]
        spent = epsilon(each["deviation"] / each["clip"], each["rate"], made, DELTA)
        # every candidate costs about as much as the first, and no more
        assert 0.7 * first < spent <= first * (1.0 + 1e-3)
    assert len({sigma for sigma, _ in steps}) == 2
    assert plan.guarantee.epsilon > first


def test_scores_are_of_held_out_images_with_the_planned_noise(noted, plan, images):
    order = np.random.default_rng(1).permutation(EXAMPLES)
    rows = order[TRAINING:]
    normals = []
    for _, held_out, params, found in noted.scored:
        np.testing.assert_array_equal(held_out[0], images.images[rows])
        np.testing.assert_array_equal(held_out[1], images.labels[rows])
        alone = jax.tree.map(lambda leaf: leaf[0], params)
        logits = MODEL.apply({"params": alone}, jnp.asarray(images.images[rows]))
        correct = int(np.sum(np.argmax(logits, axis=-1) == images.labels[rows]))
        normals.append((float(found[0]) - correct) / plan.score_noise)
    for _, _, data, _, _ in noted.trained:
        np.testing.assert_array_equal(data[0], images.images[order[:TRAINING]])
    # normal numbers of its own for each run, neither nothing nor shared
    assert len(np.unique(np.round(normals, 6))) == len(normals) == 4
    assert 0.01 < np.max(np.abs(normals)) < 6.0
    assert noted.winner.score == max(float(found[0]) for *_, found in noted.scored)


def test_noise_on_scores_costs_no_more_than_training(plan):
    """Of the noisy count alone, one person: mu = 1/deviation, by dp-accounting."""
    accountant = pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(plan.score_noise))
    single = accountant.get_epsilon(DELTA)
    assert 0.0 < single < plan.guarantee.epsilon
    assert plan.validation_size == VALIDATION


def test_no_random_number_of_a_search_is_drawn_twice(monkeypatch, plan, images):
    """Every address that is hashed for a number: K, choices, coins, noise, scores."""
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

    seed = next(s for s in range(1000) if _runs(plan, s) == 3)
    (secrets,) = draws.draw_secrets(plan, [seed])
    model = Linear(12)  # of this test alone
    images = images._replace(images=images.images[:, :2, :2])
    try:
        monkeypatch.setattr(stream, "words", watch)
        draws._numbers.clear_cache()
        searching.search(plan, images, model, seed=seed)
        jax.effects_barrier()
    finally:
        monkeypatch.undo()
        draws._numbers.clear_cache()
    parameters = 4 * 12 + 12
    steps = sum(plan.candidates[choice].steps for choice in secrets.choices)
    # K and the choices in blocks of 64; a coin an image and a number a parameter a step;
    # a number a score
    assert len(drawn) == 2 * 64 + steps * (TRAINING + parameters) + 3
    assert len(set(drawn)) == len(drawn)
    assert math.isfinite(plan.score_noise)
