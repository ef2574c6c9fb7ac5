"""Percentile sparse vectors: literal, shortcut and exact law agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel import catalogue
from jaxsel.families.percentile import few_runs
from jaxsel.families.percentile.binomial_draw import binomial
from jaxsel.families.percentile.entries import median_of_runs
from jaxsel.families.percentile.extended_above_threshold import extended_above_threshold
from jaxsel.families.percentile.find_threshold import find_percentile_threshold
from jaxsel.families.percentile.percentile_above_threshold import percentile_above_threshold
from jaxsel.families.percentile.pipeline import percentile_pipeline
from jaxsel.families.percentile.pipeline_laws import pipeline, pipeline_params
from jaxsel.families.percentile.score_percentile import score_percentile
from jaxsel.families.percentile.settings import algorithm_4, algorithm_5
from jaxsel.families.private_tuning.noised_bases import noised_score
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate, simulate_grid
from jaxsel.kernel.statistics import sums
from tests.conftest import ALPHA
from tests.families.entry_checks import (
    check_guarantee,
    check_methods_follow_law,
    check_samples_follow_law,
    entries_of,
)

ORACLE = {"target": 0.5, "base_epsilon": 0.5, "final_epsilon": 1.0}
FOUR = algorithm_4(queries=5)
FIVE = algorithm_5(thresholds=4)
SMALL_FOUR = FOUR._replace(samples=40, shift=5.0)
SMALL_FIVE = FIVE._replace(samples=40, shift=5.0, offset=0.7)
BASE = {"scores": [1, 0.75, 0.5, 0.0], "probabilities": [0.02, 0.1, 0.3, 0.58]}
WHOLE = pipeline()
CANDIDATES = {
    "scores": [1, 0.75, 0.5, 0.0],
    "probabilities": [[0.02, 0.1, 0.3, 0.58], [0.1, 0.3, 0.3, 0.3]],
}
SMALL = WHOLE._replace(
    test=WHOLE.test._replace(samples=50, shift=8.0, offset=1.0), stop_probability=0.05, max_draws=60
)


# --- one binomial draw ----------------------------------------------------------------


@jax.jit
def splits(first, second, lanes, samples, chance):
    """Binomial draws; one program for all sizes and chances."""

    def one(lane):
        return binomial(stream.Key(first, second, lane), 3, samples, chance)

    return jax.lax.map(jax.vmap(one), lanes)


def drawn(samples, chance, seed):
    base = stream.make_key(seed)
    with jax.enable_x64(True):
        lanes = jnp.arange(1 << 16, dtype=jnp.uint32).reshape(-1, 4096)
        size = jnp.asarray([samples, chance], jnp.float64)
        found = splits(base.first, base.second, lanes, size[0], size[1])
    return [np.asarray(part).ravel() for part in found]


@pytest.mark.parametrize(
    ("samples", "chance"),
    [
        (1, 0.3),
        (20, 0.6),
        (60, 0.9),
        (120, 0.5),
        (1e4, 0.3),
        (1e9, 2e-8),
        (1e13, 0.7),
        (1e17, 1e-6),
        (1e17, 0.5),
        (1e45, 1e-42),
    ],
)
def test_a_binomial_of_any_size(samples, chance, seed):
    successes, failures = drawn(float(samples), chance, seed)
    if samples < 2**53:
        assert np.all(successes + failures == samples)
    rare = min(chance, 1.0 - chance)
    counts = successes if chance <= 0.5 else failures
    assert np.all(counts == np.floor(counts))
    deviation = np.sqrt(samples * rare * (1.0 - rare))
    ranks = np.linspace(0.0, 1.0, 41)[1:-1]
    cuts = np.unique(
        np.round(samples * rare + deviation * stats.norm.ppf(ranks))
        if samples > 1e3
        else stats.binom.ppf(ranks, samples, rare)
    )

    def fit(n, p):
        tally = np.histogram(counts, [-np.inf, *(cuts + 0.5), np.inf])[0]
        if n > 1e16:  # Berry-Esseen: within 1e-6 of the normal law
            mean = n * p
            below = stats.norm.cdf((cuts + 0.5 - mean) / np.sqrt(mean * (1.0 - p)))
            if mean < 1e10:
                below = stats.poisson.cdf(cuts, mean)
        else:
            below = stats.binom.cdf(cuts, n, p)
        law = np.diff([0.0, *below, 1.0])
        return goodness_of_fit(tally, law)

    assert fit(samples, rare) > ALPHA
    # Power: a mean that is a tenth of a standard deviation larger is noticed.
    assert fit(samples, rare * (1.0 + 0.1 * deviation / (samples * rare))) < ALPHA


def test_a_certain_binomial(seed):
    for chance in (0.0, 1.0):
        successes, failures = drawn(30.0, chance, seed)
        assert np.all(successes == 30.0 * chance)
        assert np.all(failures == 30.0 - successes)


def test_a_table_of_few_runs_counts_what_adding_up_does(seed):
    """At the same random number, for every number of runs that a table holds."""
    chances = np.array([0.0, 0.02, 0.3, 0.5, 0.65, 0.97, 1.0])
    runs = np.arange(few_runs.SIZE)
    given = few_runs.table(chances, runs, np.zeros(few_runs.SIZE))
    tests, counts = (grid.ravel() for grid in np.meshgrid(np.arange(chances.size), runs))
    base = stream.make_key(seed)

    def both(lane, test, count):
        key = stream.Key(base.first, base.second, lane)
        arrays = jax.tree.map(jnp.asarray, given)
        found = few_runs.successes(key, arrays, test, count, count)
        return found, binomial(key, test, count, jnp.asarray(chances)[test]).successes

    with jax.enable_x64(True):
        over_lanes = jax.vmap(both, in_axes=(0, None, None))
        lanes = jnp.arange(200, dtype=jnp.uint32)
        pairs = jax.jit(jax.vmap(over_lanes, in_axes=(None, 0, 0)))
        found, added = pairs(lanes, jnp.asarray(tests, jnp.int32), jnp.asarray(counts, jnp.int32))
    np.testing.assert_array_equal(found, added)
    assert len(np.unique(found)) == few_runs.SIZE


@pytest.mark.parametrize(
    ("factory", "test", "data"),
    [
        (extended_above_threshold, SMALL_FOUR, [0.1, 0.1, 0.3, 0.6, 0.9]),
        # With little noise and a high bar: at the second threshold many runs are counted already.
        (
            find_percentile_threshold,
            SMALL_FIVE._replace(query_scale=0.2, threshold_scale=0.2, offset=-0.4),
            [0.4, 0.7, 0.85, 1.0],
        ),
    ],
)
def test_few_runs_and_many_share_a_grid(factory, test, data, seed):
    """63 runs are the most that a table holds; a longer row of tests has none."""
    mechanism = factory()
    cells = [(data, test._replace(samples=n)._asdict()) for n in (1, 63, 64, 300)]
    long = ([data[0]] * 63 + data, test._asdict())
    for given in (cells, [long]):
        tallies = simulate_grid(mechanism, given, trials=24_576, seed=seed)
        for cell, counts in zip(given, tallies.values, strict=True):
            assert goodness_of_fit(counts, chances(mechanism, *cell)) > ALPHA


def test_the_rejection_hat_covers_the_binomial():
    """BTRS is exact only if its hat is above the law at every count."""
    for p in (1e-9, 1e-4, 0.01, 0.1, 0.3, 0.5):
        for mean in (50.0, 51.5, 200.0, 1e4, 1e8):
            n = np.ceil(mean / p)
            deviation = np.sqrt(n * p * (1.0 - p))
            b = 1.15 + 2.53 * deviation
            a = -0.0873 + 0.0248 * b + 0.01 * p
            height = (2.83 + 5.1 / b) * deviation
            edge = np.concatenate([np.geomspace(1e-12, 0.5, 3000), [0.25, 0.4]])
            top = stats.binom.pmf(np.floor((n + 1) * p), n, p)
            for sign in (1.0, -1.0):
                u = sign * (0.5 - edge)
                k = np.floor((2.0 * a / edge + b) * u + n * p + 0.5)
                inside = (k >= 0.0) & (k <= n)
                ratio = stats.binom.pmf(k[inside], n, p) / top
                assert np.all(ratio * (a / edge[inside] ** 2 + b) <= height)


def chances(mechanism, data, params):
    assert mechanism.law is not None
    return mechanism.law(data, params).probabilities


# --- literal, shortcut and law --------------------------------------------------------


# Each with a law that its trials refuse but for one case in a million.
CASES = [
    (
        percentile_above_threshold,
        ("literal", "jump"),
        ORACLE,
        [0.2, 0.2, 0.5, 0.5, 0.9, 1.0, 0.3],
        [0.25, 0.2, 0.5, 0.5, 0.9, 1.0, 0.3],
        75_000,
    ),
    (
        extended_above_threshold,
        ("literal", "binomial"),
        SMALL_FOUR._asdict(),
        [0.1, 0.1, 0.3, 0.6, 0.9],
        [0.15, 0.15, 0.3, 0.6, 0.9],
        75_000,
    ),
    (
        extended_above_threshold,
        ("binomial",),
        FOUR._asdict(),
        [0.1, 0.1, 0.3, 0.6, 0.9],
        [0.15, 0.15, 0.3, 0.6, 0.9],
        25_000,
    ),
    (
        find_percentile_threshold,
        ("literal", "binomial"),
        SMALL_FIVE._asdict(),
        [0.05, 0.1, 0.1, 1.0],
        [0.08, 0.1, 0.1, 1.0],
        75_000,
    ),
    (
        find_percentile_threshold,
        ("binomial",),
        FIVE._replace(offset=0.5)._asdict(),
        [0.05, 0.1, 0.1, 1.0],
        [0.06, 0.1, 0.1, 1.0],
        75_000,
    ),
    (
        percentile_pipeline,
        ("literal", "binomial"),
        pipeline_params(SMALL),
        BASE,
        BASE | {"probabilities": [0.05, 0.1, 0.3, 0.55]},
        25_000,
    ),
    (
        percentile_pipeline,
        ("literal", "binomial"),
        pipeline_params(SMALL),
        CANDIDATES,
        CANDIDATES | {"probabilities": CANDIDATES["probabilities"][::-1]},
        25_000,
    ),
    (
        percentile_pipeline,
        ("binomial",),
        pipeline_params(WHOLE._replace(test=WHOLE.test._replace(offset=1.0))),
        BASE,
        BASE | {"probabilities": [0.03, 0.1, 0.3, 0.57]},
        25_000,
    ),
]


@pytest.mark.parametrize(("factory", "methods", "params", "data", "wrong", "trials"), CASES)
def test_samplers_follow_the_exact_law(factory, methods, params, data, wrong, trials, seed):
    for method in methods:
        mechanism = factory(method=method)
        tallies = simulate(mechanism, data, params, trials=trials, seed=seed)
        exact, other = (chances(mechanism, d, params) for d in (data, wrong))
        assert goodness_of_fit(tallies.values[0], exact) > ALPHA
        assert goodness_of_fit(tallies.values[0], other) < ALPHA


NOISED = {"noise_scale": 1.0, "edges": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("make", "own", "data", "shares"),
    [
        (
            percentile_above_threshold,
            ORACLE,
            {"runs": [0.0, 1.0, 0.0], "thresholds": [1.0, 0.5, -1.0]},
            [np.exp(-1.0) / 2, 1 - np.exp(-0.5) / 2, 1 - np.exp(-1.0) / 2],
        ),
        (
            extended_above_threshold,
            SMALL_FOUR._asdict(),
            {"runs": [0.0, 1.0, 0.0], "thresholds": [1.0, 0.5, -1.0]},
            [np.exp(-1.0) / 2, 1 - np.exp(-0.5) / 2, 1 - np.exp(-1.0) / 2],
        ),
        (
            find_percentile_threshold,
            SMALL_FIVE._asdict(),
            {"run": 0.0, "thresholds": [2.0, 1.0, -1.0]},
            [np.exp(-2.0) / 2, np.exp(-1.0) / 2, 1 - np.exp(-1.0) / 2],
        ),
    ],
)
def test_queries_over_a_base_with_thresholds(make, own, data, shares, seed):
    """Runs of a noisy score against thresholds: the law of shares worked out by hand."""
    base, literal = noised_score("laplace"), make(method="literal")
    wrong = data | {"thresholds": np.array(data["thresholds"]) - 0.4}
    expected = chances(literal, shares, own)
    mechanism = make(base, method="literal")
    np.testing.assert_allclose(chances(mechanism, data, own | NOISED), expected, rtol=1e-9)
    tallies = simulate(mechanism, data, own | NOISED, trials=100_000, seed=seed)
    other = chances(mechanism, wrong, own | NOISED)
    assert goodness_of_fit(tallies.values[0], expected) > ALPHA
    assert goodness_of_fit(tallies.values[0], other) < ALPHA


@pytest.mark.parametrize(
    ("make", "data", "message"),
    [
        (extended_above_threshold, [0.2, 0.3], "mapping with"),
        (extended_above_threshold, {"runs": [0.0], "thresholds": [1.0, 2.0]}, "1 runs"),
        (extended_above_threshold, {"runs": [], "thresholds": []}, "is empty"),
        (find_percentile_threshold, {"run": 0.0, "thresholds": [1.0, 2.0]}, "rise"),
    ],
)
def test_bad_queries_over_a_base(make, data, message):
    mechanism = make(noised_score("laplace"))
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, SMALL_FOUR._asdict() | NOISED)


def test_long_runs_of_equal_shares(seed):
    """A thousand queries: the jump agrees with the law, and with asking each."""
    shares = [0.2] * 900 + [0.8] + [0.1] * 99
    for method in ("literal", "jump"):
        mechanism = percentile_above_threshold(method=method)
        tallies = simulate(mechanism, shares, ORACLE, trials=30_000, seed=seed)
        law = chances(mechanism, shares, ORACLE)
        merged = np.add.reduceat(law, [0, 5, 50, 300, 900, 901, 1000])
        counts = np.add.reduceat(tallies.values[0], [0, 5, 50, 300, 900, 901, 1000])
        assert goodness_of_fit(counts, merged) > ALPHA


def test_calls_are_counted(seed):
    mechanism = extended_above_threshold()
    spent = sums(lambda outcome: (outcome.calls / 40.0).astype(jnp.int32))
    data = [0.1, 0.5, 0.9]
    params = SMALL_FOUR._asdict()
    found = simulate(mechanism, data, params, trials=20_000, seed=seed, statistic=spent)
    law = chances(mechanism, data, params)
    asked = np.array([1, 2, 3, 3])
    mean = law @ asked
    deviation = np.sqrt(law @ (asked - mean) ** 2 / 20_000)
    assert abs(int(found.values[0]) / 20_000 - mean) < 6.0 * deviation


@pytest.mark.parametrize("entry", entries_of("percentile"), ids=lambda entry: entry.name)
def test_catalogue_entries_keep_their_promises(entry):
    check_guarantee(entry)


@pytest.mark.parametrize("entry", entries_of("percentile"), ids=lambda entry: entry.name)
def test_the_word_theorem_stands_for_the_theorems_numbers(entry):
    names = ("samples", "shift", "offset", "stop_probability")
    theorem = {name: "theorem" for name in names if name in entry.settings}
    small, large = entry.build({}), entry.build(theorem)
    assert large.mechanism is small.mechanism
    for name in theorem:
        assert large.params[name] != small.params[name]


def test_every_method_releases_the_same_percentile(seed):
    settings = ({}, {"rank": "random"}, {"count": "6", "rank": "6"})
    check_methods_follow_law(median_of_runs, settings, seed)


def test_grids_mix_counts_and_ranks(seed):
    cells = [([0.5, 0.5], {"count": n, "rank": "random"}) for n in (1, 4, 31)]
    check_samples_follow_law(score_percentile(), cells, seed, 20_000)


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (percentile_above_threshold(), [1.2], ORACLE, "outside"),
        (percentile_above_threshold(), [0.5], ORACLE | {"target": 0.0}, "target is 0"),
        (extended_above_threshold(), [0.5], {}, "target is missing"),
        (
            extended_above_threshold(),
            [0.5],
            SMALL_FOUR._asdict() | {"samples": 0.5},
            "whole number",
        ),
        (extended_above_threshold(method="literal"), [0.5], FOUR._asdict(), "literal"),
        (find_percentile_threshold(), [0.5, 0.4], SMALL_FIVE._asdict(), "fall"),
        (extended_above_threshold(), [0.5], FOUR._asdict() | {"N": 3}, "N is no param"),
        (percentile_above_threshold(), [0.5], ORACLE | {"q": 1}, "q is no parameter"),
        (score_percentile(), [0.5, 0.5], {}, "count is missing"),
        (score_percentile(), [0.5, 0.6], {"count": 3}, "sum to 1"),
        (score_percentile(), [0.5, 0.5], {"count": 3, "rank": 4}, "at most the 3"),
        (percentile_pipeline(), BASE, SMALL_FIVE._asdict(), "thresholds is missing"),
        (
            percentile_pipeline(),
            BASE | {"scores": [2, 1, 0, 0]},
            pipeline_params(SMALL),
            "scores must lie",
        ),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


def test_bad_static_settings():
    with pytest.raises(InputError, match="method is 'fast'"):
        extended_above_threshold(method="fast")
    with pytest.raises(InputError, match="more samples than a number can say"):
        algorithm_4(final_epsilon=1e-6)
    # Where the number is given, the theorem is not asked for it.
    assert algorithm_4(final_epsilon=1e-6, samples=17).samples == 17
    given = {"final_epsilon": 0.01, "shares": "1,1", "samples": 17, "shift": 30}
    assert catalogue.find_mechanism("extended_above_threshold").build(given).params["samples"] == 17


def test_runs_of_different_queries_are_independent(seed):
    """One run a query and hardly any noise: the halt at the second query needs it."""
    built = catalogue.find_mechanism("extended_above_threshold").build(
        {
            "shares": "0.5,0.5,0.5",
            "target": 0.45,
            "method": "literal",
            "samples": 1,
            "shift": 1.0,
            "final_epsilon": 200.0,
        }
    )
    assert built.mechanism.law is not None
    law = built.mechanism.law(built.data, built.params).probabilities
    assert law[1] > 0.2
    tallies = simulate(built, trials=20_000, seed=seed)
    assert goodness_of_fit(tallies.values[0], law) > ALPHA
