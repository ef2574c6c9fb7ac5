"""The DP-SGD bases of Koskela, Redberg & Wang 2024, their events and the tallies."""

import numpy as np
import pytest

from figures import krw24_6, krw24_7, krw24_8
from jaxsel.accounting.single_run.divergences import epsilon_at_delta, hockey_stick
from jaxsel.accounting.single_run.events import dp_sgd
from jaxsel.host.intervals import binomial_p_value, clopper_pearson_lower, clopper_pearson_upper
from jaxsel.repetitions import parse
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.heterogeneous import subsampled_gaussian_profile
from sims.common.dp_sgd_runs import DpSgd, event, ranked, sides, tuned_masses, tuned_pair
from sims.experiment import compute
from tests.conftest import ALPHA, seed

TRIALS = 200_000
FEW_STEPS = DpSgd(0.1, 1.0, 4)


# --- bases ----------------------------------------------------------------------------


def test_the_papers_settings():
    assert krw24_6.RUNS == ((256 / 60000, 1.1, int(60 * 60000 / 256)),)
    assert krw24_7.RUNS == ((16384 / 50000, 21.1, 250),)


def test_candidates_make_the_most_steps_that_the_thresholds_allow():
    limits = krw24_8.thresholds(krw24_8.LARGEST_MEAN)

    def meets(run: DpSgd) -> bool:
        profile = subsampled_gaussian_profile(*run)
        pairs = (limits.first, limits.second)
        # Other roundings of the losses may come out 1e-5 higher.
        return all(profile(np.array(p.epsilon)) <= p.delta * (1.0 + 2e-5) for p in pairs)

    found = krw24_8.candidates()
    assert [run[:2] for run in found] == [(0.01, s) for s in (2.0, 3.0, 4.0)]
    first = found[0]
    assert all(meets(run) for run in found)
    assert not meets(first._replace(steps=first.steps + 5))


def test_sides_have_the_profile_of_the_run():
    first, second = sides((FEW_STEPS,))
    base = dp_sgd(sampling_probability=0.1, noise_multiplier=1.0, steps=4)
    assert base.profile is not None
    for epsilon in (0.0, 0.5, 1.0):
        found = max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon))
        assert found == pytest.approx(float(base.profile(np.array(epsilon))), rel=1e-9)


def test_a_mixture_of_candidates_has_the_mean_of_their_profiles():
    other = DpSgd(0.2, 2.0, 3)
    mixed = sides((FEW_STEPS, other))
    alone = [sides((run,)) for run in (FEW_STEPS, other)]
    for epsilon in (0.0, 0.3, 1.0):
        means = np.mean([hockey_stick(*pair, epsilon) for pair in alone])
        assert hockey_stick(*mixed, epsilon) == pytest.approx(means, rel=1e-9)


# --- the best of K runs, rankings and events ------------------------------------------


@pytest.mark.parametrize("text", ["geometric:mean=30", "logarithmic:mean=4", "poisson:mean=10"])
def test_tuned_masses_are_the_exact_law(text):
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.full(50, 0.3))
    ranking = rng.permutation(50)
    exact = tuned_law(law[ranking], parse(text))
    found = tuned_masses(law, ranking, parse(text))
    assert found[-1] == pytest.approx(exact[-1], abs=1e-14)
    assert found[ranking] == pytest.approx(exact[:-1], abs=1e-14)


def test_rankings_are_rankings_and_the_worst_cost_more():
    text = "geometric:mean=10"
    laws, k = sides((FEW_STEPS,)), parse(text)
    size = laws[0].size
    natural = ranked((FEW_STEPS,), text, "natural")

    def cost(ranking, delta):
        return epsilon_at_delta(*tuned_pair(laws, ranking, k), delta)

    rising = np.arange(size)
    assert cost(natural, 1e-2) == max(cost(rising, 1e-2), cost(rising[::-1], 1e-2))
    for delta in (0.1, 0.01, 0.001, 0.0001):
        ranking = ranked((FEW_STEPS,), text, str(delta))
        assert np.array_equal(np.sort(ranking), rising)
        assert cost(ranking, delta) > cost(natural, delta)


def promise(p: float, q: float, delta: float, trials: int) -> float:
    """The audited epsilon if counts are what they are expected to be."""
    counts = np.round(np.array([p, q]) * trials)
    error = 0.05 / 4.0
    low = clopper_pearson_lower(counts[0], trials, error=error)
    return float(
        np.log(low - delta) - np.log(clopper_pearson_upper(counts[1], trials, error=error))
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


def test_hits_follow_the_exact_laws():
    rankings = ["natural", "0.01", "0.001"]
    found = compute(
        krw24_7.tuned, {"ranking": rankings}, trials=TRIALS, seed=seed(), progress=False
    )
    checked = 0
    for ranking, delta in zip([*rankings, "natural"], (1e-2, 1e-2, 1e-3, 1e-3), strict=True):
        seen = found.sel(ranking=ranking)
        order = ranked(krw24_7.RUNS, "geometric:mean=10", ranking)
        tuned = tuned_pair(sides(krw24_7.RUNS), order, parse("geometric:mean=10"))
        np.testing.assert_array_equal(seen.masses, tuned)
        inside = event(tuned, delta, TRIALS)
        chances = [law[inside].sum() for law in tuned]
        hits = seen.counts.values[:, inside].sum(axis=1)
        for k, chance in zip(hits, chances, strict=True):
            assert binomial_p_value(int(k), TRIALS, chance) > ALPHA
            checked += 1
        # Power: what is 10 % more likely is told apart where it is seen enough.
        if min(hits) > 5000:
            wrong = 1.1 * chances[0]
            assert binomial_p_value(int(hits[0]), TRIALS, wrong) < ALPHA
    assert checked == 8
