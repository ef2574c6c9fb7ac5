"""A private search: its plan, its secrets, its result, and going on after a kill."""

import numpy as np
import pytest
from scipy import stats

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.data.images import ImageSet, load_images
from jaxsel.families.tuning.accountant import account
from jaxsel.host.errors import InputError
from jaxsel.training import search as searching
from jaxsel.training.canaries import Linear
from jaxsel.training.draws import draw_secrets, fresh_seed
from jaxsel.training.plan import learning_rates, plan_search
from jaxsel.training.runs import addresses, begin, noisy_scores
from tests.conftest import ALPHA, seed

SETTINGS = {
    "rates": [0.1, 0.5],
    "noise_multipliers": [2.0],
    "clip_norms": [1.0],
    "batch_sizes": [16.0],
    "epochs": 1.0,
    "delta": 1e-3,
}


# What a search keeps and releases is the same for every network; the true one is trained
# in ``test_tune_command``.
MODEL = Linear(10)


@pytest.fixture(scope="module")
def images() -> ImageSet:
    found = load_images()
    return found._replace(images=found.images[:60], labels=found.labels[:60])


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
    assert plan.guarantee.epsilon == best.epsilon
    assert plan.guarantee.theorem == best.theorem
    assert (plan.training_size, plan.validation_size) == (48, 12)
    scores = account(
        curves.gaussian(plan.score_noise), plan.repetitions, 1e-3, attain=False
    ).best.epsilon
    assert scores <= best.epsilon
    # and not much less: no more noise than needed
    assert scores > 0.99 * best.epsilon


def test_candidates_of_other_privacy_train_as_long_as_it_allows(mixed_plan):
    plan = mixed_plan
    steps = {c.noise_multiplier: c.steps for c in plan.candidates}
    # the first meets its own guarantee with about as many steps as it was given
    assert 0.5 * 30 <= steps[2.0] <= 30
    assert steps[4.0] > 2 * steps[2.0]
    assert plan.guarantee.theorem == "KRW-Cor6.2"
    assert len(plan.candidates) == 4


def test_learning_rates_are_logarithmic():
    found = learning_rates(0.025, 1.0, 3)
    assert found == pytest.approx((0.025, np.sqrt(0.025), 1.0))
    with pytest.raises(InputError, match="down to"):
        learning_rates(1.0, 0.1, 3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rates": []}, "grid is empty: there are no learning rates"),
        ({"noise_multipliers": [0.0]}, "needs noise"),
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


def test_secrets_follow_their_laws(plan):
    found = draw_secrets(plan, range(seed(), seed() + 300))
    counts = np.array([secret.count for secret in found])
    # Poisson(3) in the cells 0-1, 2, 3, 4, 5 and more
    edges = [1, 2, 3, 4]
    expected = np.diff([0.0, *stats.poisson.cdf(edges, 3.0), 1.0]) * counts.size
    seen = np.bincount(np.clip(counts, 1, 5) - 1, minlength=5)
    assert stats.chisquare(seen, expected).pvalue > ALPHA
    other = np.diff([0.0, *stats.poisson.cdf(edges, 4.5), 1.0]) * counts.size
    assert stats.chisquare(seen, other).pvalue < ALPHA
    choices = [choice for secret in found for choice in secret.choices]
    assert stats.binomtest(sum(choices), len(choices), 0.5).pvalue > ALPHA
    assert all(len(secret.choices) == secret.count for secret in found)


def draw(plan, seed):
    return draw_secrets(plan, [seed])[0]


class _Killed(Exception):
    pass


def test_a_killed_search_goes_on_to_the_same_winner(plan, images, tmp_path, monkeypatch):
    chosen = next(s for s in range(100) if draw(plan, s).count == 3)
    whole = searching.search(plan, images, MODEL, seed=chosen)
    assert len(whole.runs) == 3
    assert whole.score == max(run.score for run in whole.runs)

    monkeypatch.setattr(searching, "_SAVE_SECONDS", 0.0)
    told, lost = [], []

    def kill(steps):
        told.append(steps)
        if len(told) in (2, 6):
            lost.append(steps)
            raise _Killed

    for _ in range(2):
        with pytest.raises(_Killed):
            searching.search(plan, images, MODEL, seed=chosen, folder=tmp_path, progress=kill)
    resumed = searching.search(plan, images, MODEL, seed=chosen, folder=tmp_path, progress=kill)
    # Only what was under way when it was killed is trained again.
    steps = sum(run.candidate.steps for run in whole.runs)
    assert sum(told) == steps + sum(lost)
    assert resumed.candidate == whole.candidate
    assert resumed.runs == whole.runs
    for layer, parts in whole.params.items():
        for part, value in parts.items():
            assert np.array_equal(value, resumed.params[layer][part])
    # a finished search costs nothing, and another one is refused
    again = searching.search(plan, images, MODEL, seed=chosen, folder=tmp_path)
    assert again.runs == whole.runs
    with pytest.raises(InputError, match="another search"):
        searching.search(plan, images, MODEL, seed=chosen + 1, folder=tmp_path)
    assert tmp_path.stat().st_mode & 0o077 == 0


def test_a_folder_is_its_owners_alone_or_refused_untouched(plan, images, tmp_path):
    chosen = next(s for s in range(200) if draw(plan, s).count == 1)
    shared = tmp_path / "shared"
    shared.mkdir()
    for mode in (0o755, 0o750, 0o701):
        shared.chmod(mode)
        with pytest.raises(InputError, match="open to others"):
            searching.search(plan, images, MODEL, seed=chosen, folder=shared)
        assert shared.stat().st_mode & 0o777 == mode
        assert list(shared.iterdir()) == []
    # a folder in it, which the search makes, is its owner's alone
    own = shared / "deep" / "own"
    found = searching.search(plan, images, MODEL, seed=chosen, folder=own)
    assert own.stat().st_mode & 0o777 == 0o700
    assert shared.stat().st_mode & 0o777 == 0o701
    again = searching.search(plan, images, MODEL, seed=chosen, folder=own)
    assert again.runs == found.runs
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match="cannot write the record"):
        searching.search(plan, images, MODEL, seed=chosen, folder=file)


def test_nothing_is_released_when_nothing_is_run(plan, images):
    chosen = next(s for s in range(200) if draw(plan, s).count == 0)
    found = searching.search(plan, images, MODEL, seed=chosen)
    assert found.candidate is None
    assert found.runs == ()
    assert searching.correct_on_test(found, images, MODEL) == 0


def test_parts_are_disjoint_and_fixed(plan, images):
    parts = searching.split(images, plan)
    rows = np.concatenate([parts.training[0], parts.validation[0]]).reshape(60, -1)
    assert len(np.unique(rows, axis=0)) == 60
    assert len(parts.validation[1]) == 12
    with pytest.raises(InputError, match="plan is for 60"):
        searching.split(images._replace(labels=images.labels[:50]), plan)


def test_every_bit_of_a_seed_counts(plan, images):
    """Low and high words, in what is drawn and in what is trained."""
    chosen = next(s for s in range(200) if draw(plan, s).count == 1)
    one = addresses([chosen, chosen + 2**32, chosen + 1], [0, 0, 0])
    state = begin(MODEL, images.images[0], one)
    kernels = np.asarray(state.params["Dense_0"]["kernel"]).reshape(3, -1)
    assert len(np.unique(kernels, axis=0)) == 3
    scores = noisy_scores(plan, MODEL, state.params, (images.images, images.labels * 0 - 1), one)
    # no label is right: noise alone
    assert len(np.unique(scores)) == 3
    many = draw_secrets(plan, [chosen + i * 2**32 for i in range(40)])
    assert len(set(many)) > 5


def test_seeds_come_from_the_operating_system():
    assert fresh_seed() != fresh_seed()


def test_runs_side_by_side_are_the_same_runs(plan, images, tmp_path, monkeypatch):
    chosen = next(s for s in range(100) if draw(plan, s).count == 3)
    alone = searching.search(plan, images, MODEL, seed=chosen)
    monkeypatch.setattr(searching, "_SAVE_SECONDS", 0.0)
    calls = 0

    def kill(steps):
        nonlocal calls
        calls += 1
        assert steps % 2 == 0 or calls > 2
        if calls == 2:
            raise _Killed

    with pytest.raises(_Killed):
        searching.search(
            plan, images, MODEL, seed=chosen, together=2, folder=tmp_path, progress=kill
        )
    # it goes on with two side by side, then one, whatever it is told now
    resumed = searching.search(
        plan, images, MODEL, seed=chosen, together=1, folder=tmp_path, progress=kill
    )
    assert resumed.candidate == alone.candidate
    for one, other in zip(alone.runs, resumed.runs, strict=True):
        assert one.candidate == other.candidate
        # products of other shapes round differently; a label may flip
        assert abs(one.score - other.score) <= 1.0
    for layer, parts in alone.params.items():
        for part, value in parts.items():
            assert np.allclose(value, resumed.params[layer][part], atol=1e-5)
    with pytest.raises(InputError, match="together"):
        searching.search(plan, images, MODEL, seed=chosen, together=0)


def test_only_learning_rates_may_differ_side_by_side(mixed_plan):
    settings = list(mixed_plan.candidates)
    assert [searching._group_size(settings, start, 9) for start in range(4)] == [2, 1, 2, 1]
    assert searching._group_size(settings, 0, 1) == 1
