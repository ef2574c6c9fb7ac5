"""Top-k mechanisms: samplers against exact laws, shortcuts against literal algorithms."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.families.top_k.arrivals import Race, plan_races, wanted_among_first
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.noisy_gaps import largest_gap
from jaxsel.families.top_k.order_statistics import FEW, SOME, largest
from jaxsel.families.top_k.pate import noisy_labels
from jaxsel.families.top_k.recall import Groups, hit_law
from jaxsel.families.top_k.stable import propose_test_release, stable_top_k
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.kernel.engine import Performance, simulate_grid
from tests.conftest import ALPHA

# 65,000 trials refuse each of the wrong laws below but for one case in a million.
TRIALS = 70_000
HISTOGRAM = np.array([4.0, 9, 7, 7, 3, 5, 0, 3])  # unsorted, ties at the top and below
VOTES = {"votes": HISTOGRAM, "truth": HISTOGRAM > 4}

FIXED = {"k": 3, "rho": 2.0, "delta_t": 0.2, "weight": 0.3}
CASES = [
    (largest_gap(), {"epsilon": 1.0, "regulariser": -np.arange(7.0), "max_size": 5}),
    (largest_gap("gaussian"), {"noise_scale": 2.0}),
    (largest_gap("laplace"), {"noise_scale": 2.0}),
    (largest_gap("exponential", method="literal"), {"noise_scale": 2.0}),
    (stable_top_k(events="sets"), {"rho": 0.5, "delta_t": 0.1}),
    (
        stable_top_k(selection="laplace", test="laplace", threshold="quantile"),
        {"selection_scale": 2.0, "test_scale": 1.0, "delta_t": 0.1, "k": 4},
    ),
    (propose_test_release(events="sets"), {"k": 1, "noise_scale": 2.0, "delta_t": 0.1}),
    (exponential_top_k(), {"k": 3, "rho": 0.5}),
    (exponential_top_k(method="one_shot", events="sets"), {"k": 3, "rho": 0.5}),
    (exponential_top_k(method="peeling", events="sets"), {"k": 3, "rho": 0.5}),
    (fixed_top_k(beyond="keep"), FIXED),
    (fixed_top_k(beyond="drop", precision="float64"), FIXED),
    (fixed_top_k(method="literal", events="sets"), FIXED),
    (limited_domain(), {"k": 3, "epsilon": 0.5, "delta": 0.1, "domain": 5}),
    (limited_domain(events="sets"), {"k": 3, "epsilon": 0.5, "delta": 0.1}),
    (top_stable_sets(events="sets"), {"k": 3, "epsilon": 2.0, "delta": 0.1}),
    (top_stable_sets(reference_quirks=True), {"k": 3, "epsilon": 2.0, "delta": 0.1}),
    (noisy_labels(), {"noise_scale": 3.0, "threshold": 5.0}),
]


def outcomes(mechanism, data, params, seed, trials, read=lambda outcome: outcome):
    """The outcomes of the first trials, made in one block, or what is read of them."""
    with jax.enable_x64(True):
        prepared = mechanism.prepare(data, params)
        first, second, _ = stream.make_key(seed)

        def one(lane, prepared):
            return read(mechanism.sample(stream.Key(first, second, lane), *prepared))

        lanes = jnp.arange(trials, dtype=jnp.uint32)
        # Numbers are arguments: other parameters of these shapes need no other program.
        run = jax.jit(jax.vmap(one, in_axes=(0, None)))
        return jax.tree.map(np.asarray, run(lanes, jax.tree.map(np.asarray, prepared)))


def events(mechanism, data, params, seed, trials=TRIALS):
    tallied = outcomes(mechanism, data, params, seed, trials, mechanism.event)
    return np.bincount(tallied, minlength=len(mechanism.labels(data, params)))


@pytest.mark.parametrize(("mechanism", "params"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_samples_follow_the_exact_law(mechanism, params, seed):
    data = VOTES if mechanism.name.startswith("noisy_labels") else HISTOGRAM
    law = mechanism.law(data, params)
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.labels == mechanism.labels(data, params)
    counts = events(mechanism, data, params, seed)
    assert goodness_of_fit(counts, law.probabilities) > ALPHA


@pytest.mark.parametrize(
    ("mechanism", "params", "wrong"),
    [
        (stable_top_k(events="sets"), {"rho": 0.5, "delta_t": 0.1}, {"rho": 0.55}),
        (exponential_top_k(), {"k": 3, "noise_scale": 2.0}, {"noise_scale": 2.1}),
        (fixed_top_k(beyond="keep"), FIXED, {"rho": 2.2}),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_companion_rejects_five_percent_more_noise(mechanism, params, wrong, seed):
    counts = events(mechanism, HISTOGRAM, params, seed)
    law = mechanism.law(HISTOGRAM, params | wrong).probabilities
    assert goodness_of_fit(counts, law) < ALPHA


# --- The race -------------------------------------------------------------------------


def test_arrivals_have_the_exact_recall_of_a_long_histogram(seed):
    """15,000 bins at the cost of the sorted head, against the integral; companion."""
    data, params = {"head": [700.0] * 20, "candidates": 15_000}, {"k": 20, "rho": 4e-4}
    mechanism = exponential_top_k()
    counts = events(mechanism, data, params, seed, 20_000)
    assert mechanism.prepare(data, params)[0]["races"].visits.size < 300
    law = mechanism.law(data, params).probabilities
    assert goodness_of_fit(counts, law) > ALPHA
    wrong = mechanism.law(data, params | {"rho": 4.2e-4}).probabilities
    assert goodness_of_fit(counts, wrong) < ALPHA


def test_arrivals_and_one_shot_agree_on_many_different_counts(seed):
    """No ties, chances that fall all the way: two independent samples of one law."""
    data, params = np.round(2000.0 / np.sqrt(np.arange(1, 301))), {"k": 25}
    params |= {"noise_scale": 60.0}
    found = [
        events(exponential_top_k(method=method), data, params, seed + shift, 8000)
        for shift, method in enumerate(("arrivals", "one_shot"))
    ]
    hits = np.arange(26)
    means = [counts @ hits / 8000 for counts in found]
    spread = [
        math.sqrt(counts @ (hits - mean) ** 2 / 8000)
        for counts, mean in zip(found, means, strict=True)
    ]
    # 5.5 standard errors: two tails of 2e-8
    allowed = 5.5 * math.hypot(*spread) / math.sqrt(8000)
    assert abs(means[0] - means[1]) < allowed
    exact = exponential_top_k().law(data, params).probabilities
    for counts in found:
        assert goodness_of_fit(counts, exact) > ALPHA


def test_a_race_of_a_few_that_must_all_arrive(seed):
    """Everyone but one is picked, upwards and downwards, in a pool of the middle."""
    counts = np.array([30.0, 9, 7, 7, 5, 4, 0, 0])
    races = [Race(1, 1, 4, 3, 0.5, 4), Race(4, -1, 4, 3, -0.5, 4), Race(0, 1, 2, 2, 0.5, 8)]
    wanted = np.array([0, 1, 0, 1, 0, 0, 0, 0], dtype=bool)
    plan = plan_races(counts, races, np.float32)
    lanes = jnp.arange(20_000, dtype=jnp.uint32)
    first, second, _ = stream.make_key(seed)

    @jax.jit
    def hits(row, size):
        def one(lane):
            key = stream.Key(first, second, lane)
            return wanted_among_first(
                key, counts.astype(np.float32), wanted, plan, row, "tail", size
            )

        return jax.vmap(one)(lanes)

    def run(row, size):
        return np.bincount(np.asarray(hits(row, size)), minlength=4)

    for row, sign in ((0, 1.0), (1, -1.0)):
        pool = slice(1, 5)
        groups = Groups(sign * counts[pool], np.ones(4, dtype=int), wanted[pool])
        assert goodness_of_fit(run(row, 4), hit_law(groups, 3, 2.0)) > ALPHA
    # The same plan serves every pool up to the widest.
    groups = Groups(counts[:6], np.ones(6, dtype=int), wanted[:6])
    law = np.append(hit_law(groups, 2, 2.0), 0.0)
    assert goodness_of_fit(run(2, 6), law) > ALPHA


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [FEW, SOME, SOME + 1])
def test_the_largest(dtype, size, seed):
    generator = np.random.default_rng(seed)
    with jax.enable_x64(True):
        chosen = jax.jit(largest)
        for count in (0, 1, 7, size - 2, size + 1):
            values = generator.normal(size=size).astype(dtype)
            values[7:10] = values[3]  # ties: the first ones are taken
            values[0], values[1] = -np.inf, np.inf
            inside = generator.random(size) < 0.8
            found = np.asarray(chosen(values, count, inside))
            places = np.flatnonzero(inside)
            ranked = places[np.argsort(-values[places], kind="stable")]
            assert np.array_equal(np.flatnonzero(found), np.sort(ranked[:count]))


# --- Grouped gaps ---------------------------------------------------------------------


def test_grouped_gaps_cost_as_many_draws_as_there_are_different_gaps():
    data = {"head": [900.0, 700, 690, 400], "candidates": 1_280_968}
    params = {"epsilon": 0.1}
    contest, _ = largest_gap().prepare(data, params)
    assert contest.levels.shape == (64,)  # gaps 0, 10, 200, 290, 400 and padding
    assert contest.sizes.max() == 1_280_968 - 5
    # A regulariser makes all levels different; those that cannot win are left out.
    away = -0.5 * np.arange(1_280_967)
    contest, _ = largest_gap().prepare(data, params | {"regulariser": away})
    assert contest.levels.size <= 4096


@pytest.mark.parametrize(
    ("noise", "gap"),
    [("gumbel", 14.0), ("gaussian", 6.0), ("laplace", 14.0), ("exponential", 14.0)],
)
def test_many_equal_gaps_win_as_often_as_they_should(noise, gap, seed):
    """One draw stands for 5,000 equal gaps; against the literal form's exact law."""
    data = {"head": [gap], "candidates": 5002}
    params = {"noise_scale": 1.5}
    mechanism = largest_gap(noise)
    counts = events(mechanism, data, params, seed, 40_000)
    law = mechanism.law(data, params).probabilities
    merged = np.array([law[0], law[1:2500].sum(), law[2500:].sum()])
    seen = [counts[0], counts[1:2500].sum(), counts[2500:].sum()]
    assert 0.01 < merged[0] < 0.99
    assert goodness_of_fit(seen, merged) > ALPHA
    wrong = mechanism.law(data, {"noise_scale": 1.58}).probabilities[0]
    assert goodness_of_fit(seen, [wrong, *(merged[1:] * (1 - wrong) / (1 - merged[0]))]) < (ALPHA)


# --- Together -------------------------------------------------------------------------


def test_a_grid_over_k_is_one_program(seed):
    """Cells of different k share their shapes by ``capacity``, in any block size."""
    cells = [
        (
            {"head": [50.0] * k, "candidates": 400, "wanted": np.arange(400) < 5},
            {"k": k, "rho": 0.05, "capacity": 200},
        )
        for k in (5, 20)
    ]
    mechanism = exponential_top_k()
    found = [
        simulate_grid(mechanism, cells, trials=600, seed=seed, performance=Performance(size)).values
        for size in (64, 512)
    ]
    assert np.array_equal(*found)
    assert found[0].sum(axis=1).tolist() == [600, 600]


def test_outcomes_say_what_happened(seed):
    params = {"rho": 0.3, "delta_t": 0.2, "k": 4}
    found = outcomes(stable_top_k(), HISTOGRAM, params, seed, 2000)
    assert set(np.unique(found.passed)) == {False, True}
    kept_back = ~found.passed
    assert np.all(found.hits[kept_back] == 0)
    assert np.all(found.hits[found.passed] == np.minimum(found.size[found.passed], 4))
    wanted = HISTOGRAM == 7.0
    data = {"histogram": HISTOGRAM, "wanted": wanted}
    found = outcomes(
        propose_test_release(), data, {"k": 2, "noise_scale": 0.5, "delta_t": 0.9}, seed, 2000
    )
    # The top 2 are 9 and the first of the two 7.
    assert np.all(found.hits == found.passed)
    assert np.all(found.size == 2)
    found = outcomes(fixed_top_k(method="literal"), HISTOGRAM, FIXED | {"rho": 1e4}, seed, 500)
    assert np.all(found.size == 3)
    # Nearly no noise: the largest gap is at 1 or 3 and everything is found.
    assert np.all(found.hits == 3)
