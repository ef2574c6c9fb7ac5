"""The DP-SGD bases of Koskela, Redberg & Wang 2024, their events and the tallies."""

import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, hockey_stick
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.families.tuning.attained.exact_laws import tuned_law
from jaxsel.families.tuning.bounds.heterogeneous import subsampled_gaussian_profile
from jaxsel.host.intervals import (
    binomial_p_value,
    clopper_pearson_lower,
    clopper_pearson_upper,
)
from jaxsel.repetitions import parse
from sims import krw24_6 as tuned_dp_sgd_profile
from sims.common import dp_sgd_runs
from sims.common.dp_sgd_runs import DpSgd, event, runs, sides, tuned_masses
from sims.krw24_6 import rankings, tuned_pair
from tests.conftest import ALPHA, seed

TRIALS = 200_000
DELTAS = (1e-2, 1e-3)
FEW_STEPS = DpSgd(0.1, 1.0, 4)


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuned_dp_sgd_profile, "DELTAS", DELTAS)
        patch.setattr(
            tuned_dp_sgd_profile,
            "LAWS",
            {"krw24-7": ("geometric:mean=10",)},
        )
        return tuned_dp_sgd_profile.run(trials=TRIALS, seed=seed(), progress=False)


# --- bases ----------------------------------------------------------------------------


def test_the_papers_settings():
    (first,) = runs("krw24-6")
    assert first == (256 / 60000, 1.1, 14062)
    (second,) = runs("krw24-7")
    assert second == (16384 / 50000, 21.1, 250)


def test_candidates_make_the_most_steps_that_the_thresholds_allow():
    limits = dp_sgd_runs.thresholds(dp_sgd_runs.LARGEST_MEAN)

    def meets(run: DpSgd) -> bool:
        profile = subsampled_gaussian_profile(*run)
        pairs = (limits.first, limits.second)
        # Other roundings of the losses may come out 1e-5 higher.
        return all(
            profile(np.array(p.epsilon)) <= p.delta * (1.0 + 2e-5) for p in pairs
        )

    assert [run[:2] for run in runs("krw24-8")] == [(0.01, s) for s in (2.0, 3.0, 4.0)]
    first = runs("krw24-8")[0]
    assert all(meets(run) for run in runs("krw24-8"))
    assert not meets(first._replace(steps=first.steps + 5))


def test_sides_have_the_profile_of_the_run():
    first, second = sides((FEW_STEPS,))
    base = dp_sgd(sampling_probability=0.1, noise_multiplier=1.0, steps=4)
    assert base.profile is not None
    for epsilon in (0.0, 0.5, 1.0):
        found = max(
            hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon)
        )
        assert found == pytest.approx(float(base.profile(np.array(epsilon))), rel=1e-9)


def test_a_mixture_of_candidates_has_the_mean_of_their_profiles():
    other = DpSgd(0.2, 2.0, 3)
    mixed = sides((FEW_STEPS, other))
    alone = [sides((run,)) for run in (FEW_STEPS, other)]
    for epsilon in (0.0, 0.3, 1.0):
        means = np.mean([hockey_stick(*pair, epsilon) for pair in alone])
        assert hockey_stick(*mixed, epsilon) == pytest.approx(means, rel=1e-9)


# --- the best of K runs, rankings and events ------------------------------------------


@pytest.mark.parametrize(
    "text", ["geometric:mean=30", "logarithmic:mean=4", "poisson:mean=10"]
)
def test_tuned_masses_are_the_exact_law(text):
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.full(50, 0.3))
    ranking = rng.permutation(50)
    exact = tuned_law(law[ranking], parse(text))
    found = tuned_masses(law, ranking, parse(text))
    assert found[-1] == pytest.approx(exact[-1], abs=1e-14)
    assert found[ranking] == pytest.approx(exact[:-1], abs=1e-14)


def test_rankings_are_rankings_and_the_worst_cost_more():
    laws, k = sides((FEW_STEPS,)), parse("geometric:mean=10")
    found = rankings(laws, k)
    size = laws[0].size
    assert found.shape == (1 + len(tuned_dp_sgd_profile.DELTAS), size)
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(size), (5, 1)))

    def cost(ranking, delta):
        return epsilon_at_delta(*tuned_pair(laws, ranking, k), delta)

    rising = np.arange(size)
    assert cost(found[0], 1e-2) == max(cost(rising, 1e-2), cost(rising[::-1], 1e-2))
    for ranking, delta in zip(found[1:], tuned_dp_sgd_profile.DELTAS, strict=True):
        assert cost(ranking, delta) > cost(found[0], delta)


def promise(p: float, q: float, delta: float, trials: int) -> float:
    """The audited epsilon if counts are what they are expected to be."""
    counts = np.round(np.array([p, q]) * trials)
    error = 0.05 / 4.0
    low = clopper_pearson_lower(counts[0], trials, error=error)
    return float(
        np.log(low - delta)
        - np.log(clopper_pearson_upper(counts[1], trials, error=error))
    )


def test_events_hold_the_largest_losses_and_promise_most():
    laws, k = sides((FEW_STEPS,)), parse("geometric:mean=10")
    tuned = tuned_pair(laws, np.arange(laws[0].size), k)
    delta = 1e-3
    exact = epsilon_at_delta(*tuned, delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(tuned[0]) - np.log(tuned[1])
    for trials in (10**5, 10**7, 10**12):
        inside = event(tuned, delta, trials)
        masses = [law[inside].sum() for law in tuned]
        p, q = max(masses), min(masses)
        sign = 1.0 if masses[0] > masses[1] else -1.0
        seen = (tuned[0] > 0.0) & (tuned[1] > 0.0)
        rest = (sign * loss)[~inside & seen]
        assert (sign * loss)[inside & seen].min() >= rest.max()
        # The event that attains epsilon exactly promises no more, in either direction.
        for first, second, reach in ((*tuned, loss), (*tuned[::-1], -loss)):
            plain = np.nan_to_num(reach, nan=-np.inf) > exact
            if first[plain].sum() > 2.0 * delta:
                other = promise(first[plain].sum(), second[plain].sum(), delta, trials)
                assert promise(p, q, delta, trials) >= other - 0.02 * exact
    assert promise(p, q, delta, trials) == pytest.approx(exact, rel=0.01)


# --- the tallies ----------------------------------------------------------------------


def test_hits_follow_the_exact_laws(record):
    laws = sides(runs("krw24-7"))
    checked = 0
    for row, text in enumerate(record["laws"]["krw24-7"]):
        for order in (0, 1):
            for level, delta in enumerate(DELTAS):
                ranking = record["krw24-7_rankings"][row, level + 1 if order else 0]
                tuned = tuned_pair(laws, ranking, parse(text))
                inside = event(tuned, delta, TRIALS)
                chances = [law[inside].sum() for law in tuned]
                hits = record["krw24-7_hits"][row, order, level]
                for k, chance in zip(hits, chances, strict=True):
                    assert binomial_p_value(int(k), TRIALS, chance) > ALPHA
                    checked += 1
                # Power: what is 10 % more likely is told apart where it is seen enough.
                if min(hits) > 5000:
                    wrong = 1.1 * chances[0]
                    assert binomial_p_value(int(hits[0]), TRIALS, wrong) < ALPHA
    assert checked == 8


def test_the_record_tells_what_was_run(record):
    assert record["trials"] == TRIALS
    assert record["deltas"] == DELTAS
    assert record["runs"]["krw24-7"] == [[16384 / 50000, 21.1, 250]]
    assert record["krw24-7_hits"].shape == (1, 2, 2, 2)
