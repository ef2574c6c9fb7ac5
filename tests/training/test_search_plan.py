"""The plan of a private search: candidates, steps, what they guarantee, noise on scores."""

import numpy as np
import pytest

from jaxsel import account
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.data.images import ImageSet
from jaxsel.host.errors import InputError
from jaxsel.training import search_plan
from jaxsel.training.search_plan import learning_rates, plan_search, read_rates, split
from jaxsel.tuning.accountant import ProvenEpsilon
from jaxsel.tuning.bounds.heterogeneous import candidate_thresholds

SETTINGS = {
    "rates": [0.1, 0.5],
    "noise_multipliers": [2.0],
    "clip_norms": [1.0],
    "batch_sizes": [16.0],
    "epochs": 1.0,
    "delta": 1e-3,
}


@pytest.fixture(scope="module")
def plan():
    return plan_search(examples=60, repetitions=laws.parse("poisson:mean=3"), **SETTINGS)


@pytest.fixture(scope="module")
def mixed_plan():
    """Candidates of two noise multipliers."""
    grid = SETTINGS | {"noise_multipliers": [2.0, 4.0], "epochs": 10.0}
    return plan_search(examples=60, repetitions=laws.geometric(0.5), **grid)


def test_guarantee_is_the_accountants_and_scores_cost_no_more(plan):
    base = dp_sgd(sampling_probability=16 / 48, noise_multiplier=2.0, steps=3)
    best = account(base, plan.repetitions, 1e-3, attain=False).best
    assert plan.base.name == plan.single_base == base.name
    assert (plan.training_size, plan.validation_size) == (48, 12)
    noise = curves.discrete_gaussian(plan.score_noise)
    scores = account(noise, plan.repetitions, 1e-3, attain=False).best.epsilon
    assert scores <= best.epsilon
    # and not much less: no more noise than needed
    assert scores > 0.99 * best.epsilon


def test_candidates_of_other_privacy_train_as_long_as_it_allows(mixed_plan):
    plan = mixed_plan
    steps = {c.noise_multiplier: c.steps for c in plan.candidates}
    # the first meets its own guarantee with about as many steps as it was given
    assert 0.5 * 30 <= steps[2.0] <= 30
    assert steps[4.0] > 2 * steps[2.0]
    assert len(plan.candidates) == 4
    assert plan.single_base is None
    # What is proved of all of them together is about what is proved of the first alone, and not
    # more than the theorem whose thresholds gave the steps.
    alone = [
        dp_sgd(sampling_probability=16 / 48, noise_multiplier=noise, steps=steps[noise])
        for noise in (2.0, 4.0)
    ]
    bounds = [account(each, plan.repetitions, 1e-3, attain=False).best for each in alone]
    together = account(plan.base, plan.repetitions, 1e-3, attain=False).best.epsilon
    assert max(best.epsilon for best in bounds) <= together * (1.0 + 1e-9)
    given = dp_sgd(sampling_probability=16 / 48, noise_multiplier=2.0, steps=30)
    thresholds = candidate_thresholds(given.epsilon(1e-3), 1e-3, plan.repetitions)
    assert together <= thresholds.tuned.epsilon


def test_learning_rates_are_logarithmic():
    found = learning_rates(0.025, 1.0, 3)
    assert found == pytest.approx((0.025, np.sqrt(0.025), 1.0))
    with pytest.raises(InputError, match="down to"):
        learning_rates(1.0, 0.1, 3)


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("0.01:1:3", (0.01, 0.1, 1.0)),
        ("0.5:0.5:1", (0.5,)),
        ("0.2:0.2:2", (0.2, 0.2)),
        ("0.3,0.1", (0.3, 0.1)),
        ("0.3", (0.3,)),
    ],
)
def test_rates_are_read(text, rates):
    assert read_rates(text) == pytest.approx(rates)


@pytest.mark.parametrize("text", ["0.1:1", "0.1:1:2:3", "0.1:1:1.5", "0.1:1:0", "a", "0:1:2"])
def test_what_are_no_rates_is_refused(text):
    with pytest.raises(InputError):
        read_rates(text)


@pytest.mark.parametrize(
    ("examples", "batch_size", "epochs", "sizes", "steps"),
    [(60, 16.0, 1.0, (48, 12), 3), (60, 10.0, 1.0, (48, 12), 5), (63, 7.5, 0.5, (50, 13), 4),
     (5, 4.0, 2.0, (4, 1), 2), (7, 6.0, 0.1, (6, 1), 1)],
)  # fmt: skip
def test_steps_cover_the_epochs_of_the_training_part(
    examples, batch_size, epochs, sizes, steps, monkeypatch
):
    monkeypatch.setattr(search_plan, "_score_noise", lambda *given: 1.0)
    grid = SETTINGS | {"batch_sizes": [batch_size], "epochs": epochs}
    found = plan_search(examples=examples, repetitions=laws.geometric(0.5), **grid)
    assert (found.training_size, found.validation_size) == sizes
    assert {each.steps for each in found.candidates} == {steps}
    base = dp_sgd(sampling_probability=batch_size / sizes[0], noise_multiplier=2.0, steps=steps)
    assert found.base.name == base.name
    assert found.base.epsilon(1e-3) == base.epsilon(1e-3)


def test_the_grid_is_a_product_in_which_each_candidate_has_its_steps(monkeypatch):
    monkeypatch.setattr(search_plan, "_score_noise", lambda *given: 1.0)
    grid = {"noise_multipliers": [2.0, 4.0], "batch_sizes": [16.0, 24.0], "clip_norms": [1.0, 3.0]}
    plan = plan_search(examples=60, repetitions=laws.geometric(0.5), **SETTINGS | grid
                       | {"epochs": 6.0})  # fmt: skip
    assert len(plan.candidates) == len(set(plan.candidates)) == 16
    kinds = {(c.noise_multiplier, c.batch_size) for c in plan.candidates}
    assert kinds == {(2.0, 16.0), (2.0, 24.0), (4.0, 16.0), (4.0, 24.0)}
    for noise, batch_size in kinds:
        mine = [c for c in plan.candidates if (c.noise_multiplier, c.batch_size)
                == (noise, batch_size)]  # fmt: skip
        assert sorted((c.clip_norm, c.learning_rate) for c in mine) == [
            (1.0, 0.1), (1.0, 0.5), (3.0, 0.1), (3.0, 0.5)]  # fmt: skip
        assert len({c.steps for c in mine}) == 1
        alone = dp_sgd(sampling_probability=batch_size / 48, noise_multiplier=noise,
                       steps=mine[0].steps)  # fmt: skip
        # What all of them guarantee, each of them guarantees.
        for delta in (1e-2, 1e-3, 1e-5):
            assert alone.epsilon(delta) <= plan.base.epsilon(delta) * (1 + 1e-6)
    assert plan.single_base is None
    steps = {(c.noise_multiplier, c.batch_size): c.steps for c in plan.candidates}
    assert steps[2.0, 24.0] < steps[2.0, 16.0] <= 18 < steps[4.0, 24.0] < steps[4.0, 16.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rates": []}, "grid is empty: there are no learning rates"),
        ({"noise_multipliers": [0.0]}, "noise multiplier is 0"),
        ({"batch_sizes": [49.0]}, "batch size"),
        ({"delta": 0.0}, "delta"),
        ({"epochs": 0.0}, "epochs"),
        ({"clip_norms": [-1.0]}, "clipping norm"),
        ({"noise_multipliers": [2.0, 3.0]}, "truncated negative binomial"),
        ({"repetitions": laws.poisson(1e12)}, "mean 1e\\+12, and every run trains"),
    ],
)
def test_bad_plans_are_refused(changed, message):
    given = SETTINGS | {"repetitions": laws.poisson(3.0)} | changed
    with pytest.raises(InputError, match=message):
        plan_search(examples=60, **given)


def test_parts_are_disjoint_and_fixed(plan):
    rows = np.arange(60)
    images = ImageSet("rows", rows, rows % 10, rows[:0], rows[:0])
    parts = split(images, plan)
    assert sorted(np.concatenate([parts.training[0], parts.validation[0]])) == list(range(60))
    assert len(parts.validation[1]) == 12
    # They are shuffled: rows that are sorted by label are in both.
    assert parts.training[0].min() < 12
    assert parts.validation[0].tolist() != list(range(48, 60))
    for part in parts:
        np.testing.assert_array_equal(part[1], part[0] % 10)
    np.testing.assert_array_equal(parts.training[0], split(images, plan).training[0])
    with pytest.raises(InputError, match="plan is for 60"):
        split(images._replace(labels=images.labels[:50]), plan)


def test_a_base_has_a_text_where_all_candidates_are_as_private(plan):
    first = plan.candidates[0]
    for change in ({"noise_multiplier": 2.5}, {"batch_size": 17.0}, {"steps": 4}):
        other = plan._replace(candidates=(first, first._replace(**change)))
        assert other.single_base is None
    for change in ({"learning_rate": 7.0}, {"clip_norm": 7.0}):
        other = plan._replace(candidates=(first, first._replace(**change)))
        assert other.single_base == plan.base.name


def test_the_least_noise_on_scores_is_found_or_refused(monkeypatch):
    """Of a cost of 6 over the noise; a cost that never falls is refused, and a small one taken."""
    law, asked = laws.geometric(0.5), []

    def proven(base, repetitions, delta):
        asked.append((repetitions, delta))
        sigma = float(base.name.split("sigma=")[1].split(",")[0])
        return (ProvenEpsilon(max(6.0 / sigma, least), "told", "told"),)

    monkeypatch.setattr(search_plan, "proven_epsilons", proven)
    least = 0.0
    found = search_plan._score_noise(law, 1e-5, 0.5)
    assert 12.0 <= found <= 12.0 * 1.002
    assert all(given == (law, 1e-5) for given in asked)
    smallest = search_plan._score_noise(law, 1e-5, 1e9)
    assert smallest == pytest.approx(search_plan._LEAST_SCORE_NOISE)
    least = 2.0
    with pytest.raises(InputError, match="no noise on the validation score keeps epsilon below 1"):
        search_plan._score_noise(law, 1e-5, 1.0)


def test_a_candidate_that_no_step_can_be_afforded_for_is_refused(monkeypatch):
    affordable = {8.0: 3, 0.3: 0}
    monkeypatch.setattr(search_plan, "candidate_thresholds", lambda *given: None)
    monkeypatch.setattr(search_plan, "largest_steps", lambda limits, rate, noise: affordable[noise])
    grid = SETTINGS | {"noise_multipliers": [8.0, 0.3]}
    with pytest.raises(InputError, match=r"noise multiplier 0\.3 .* costs more in one step"):
        plan_search(examples=60, repetitions=laws.geometric(0.5), **grid)
