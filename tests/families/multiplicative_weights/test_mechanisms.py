"""Private multiplicative weights: samplers against exact laws and against each other."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights.adaptive_analysis import PROTECTIONS, adaptive_analysis
from jaxsel.families.multiplicative_weights.entries import (
    private_multiplicative_weights,
    repetitive_multiplicative_weights,
)
from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.families.multiplicative_weights.parameters import ANALYSTS
from jaxsel.families.multiplicative_weights.repetitive import repetitive
from jaxsel.host.errors import InputError
from jaxsel.kernel import stream
from jaxsel.kernel.engine import Performance, simulate
from jaxsel.kernel.statistics import combine, moments, read_moments, sums
from sims.data import tumour_table
from sims.data.categorical_table import discretise, resampled, tabulate
from tests.conftest import ALPHA

TABLE = np.array([5, 1, 3, 1])
QUERIES = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0.5]])
STANDARD = {
    "queries": QUERIES,
    "threshold": 0.2,
    "rate": 0.3,
    "max_updates": 2,
    "threshold_scale": 0.1,
    "query_scale": 0.2,
    "answer_scale": 0.1,
}
REPETITIVE = {
    "queries": QUERIES,
    "threshold": 0.2,
    "distance": 0.15,
    "rate": 0.3,
    "gamma": 1.0,
    "repetitions": 4,
    "max_failures": 4,
    "max_answers": 2,
    "test_scale": 0.08,
    "answer_scale": 0.08,
}
# The law of another threshold, below, is refused with 45,000 but for one case in a million.
TRIALS = 50_000
# For few trials: no lane of a block is computed in vain.
BLOCKS = Performance(block_size=64)
MAKERS = {
    "standard": (hardt_rothblum, STANDARD, {}),
    "jump": (repetitive, REPETITIVE, {}),
    "literal": (repetitive, REPETITIVE, {"method": "literal"}),
}


def p_value(counts: np.ndarray, law: np.ndarray) -> float:
    """Of Pearson's statistic, rare events taken together."""
    expected = law * counts.sum()
    rare = expected < 10
    assert counts[law == 0].sum() == 0
    seen = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    if wanted[-1] < 10:
        seen, wanted = seen[:-1], wanted[:-1]
    return float(stats.chi2.sf(np.sum((seen - wanted) ** 2 / wanted), seen.size - 1))


@pytest.mark.parametrize("analyst", ["pool", "worst"])
@pytest.mark.parametrize("name", MAKERS)
def test_paths_follow_the_exact_law(name, analyst, seed):
    make, params, settings = MAKERS[name]
    mechanism = make(3, analyst=analyst, event="path", **settings)
    assert mechanism.law is not None
    law = mechanism.law(TABLE, params).probabilities
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    counts = simulate(mechanism, TABLE, params, trials=TRIALS, seed=seed, progress=False).values[0]
    assert p_value(counts, law) > ALPHA / 6
    # Power: the law of a slightly higher threshold is refused.
    other = mechanism.law(TABLE, params | {"threshold": 0.22}).probabilities
    assert p_value(counts, other) < ALPHA


def test_law_of_updates_is_that_of_paths_summed():
    for make, params in ((hardt_rothblum, STANDARD), (repetitive, REPETITIVE)):
        paths = make(3, event="path")
        labels = paths.labels(TABLE, params)
        found = np.zeros(4)
        for label, p in zip(labels, paths.law(TABLE, params).probabilities, strict=True):
            found[3 - label.count("=")] += p
        law = make(3).law(TABLE, params).probabilities
        np.testing.assert_allclose(law, found, atol=1e-14)


def replay(asked: int, noises: dict, params: dict) -> tuple:
    """The mechanism of Theorem 9 in plain NumPy, from given noises."""
    h = np.full(TABLE.size, 1.0 / TABLE.size)
    shares = TABLE / TABLE.sum()
    count, worst = 0, 0.0
    for i in range(asked):
        q = QUERIES[i % 3]
        truth, guess = q @ shares, q @ h
        level = params["threshold"] + noises["threshold"][count]
        answer = guess
        if count < params["max_updates"] and (abs(truth - guess) + noises["query"][i] >= level):
            answer = truth + noises["answer"][i]
            penalty = q if answer < guess else 1 - q
            h = h * np.exp(-params["rate"] * penalty)
            h /= h.sum()
            count += 1
        worst = max(worst, abs(answer - truth))
    return h, count, worst


def test_a_long_interaction_step_by_step(seed):
    """Same noises, plain NumPy: same hypothesis, updates and largest error."""
    from jaxsel.kernel import noise

    asked = 40
    params = STANDARD | {"max_updates": 12}
    with jax.enable_x64(True):
        mechanism = hardt_rothblum(asked)
        data, prepared = mechanism.prepare(TABLE, params)
        for trial in range(5):
            key = stream.make_key(seed, trial)
            outcome = mechanism.sample(key, data, prepared)
            noises = {}
            for name, tag in (("threshold", 0xE0), ("query", 0xE1), ("answer", 0xE2)):
                draws = jnp.arange(asked + 1, dtype=jnp.uint32)
                drawn = noise.variate("laplace", stream.fold(key, tag), draws, "float64")
                noises[name] = params[f"{name}_scale"] * np.asarray(drawn)
            h, count, worst = replay(asked, noises, params)
            np.testing.assert_allclose(outcome.hypothesis, h, rtol=1e-12)
            assert int(outcome.updates) == count
            assert float(outcome.max_error) == pytest.approx(worst)
            assert bool(outcome.halted) == (count == 12)


@pytest.mark.parametrize("analyst", ANALYSTS)
def test_repetitive_keeps_its_promises_to_every_analyst(analyst, seed):
    """No halt, no error above alpha, and no more updates than the bound."""
    generator = np.random.default_rng(seed)
    cells, asked = 16, 40
    table = generator.multinomial(10**6, generator.dirichlet(np.full(cells, 0.3)))
    found = weights.repetitive(cells, 1e6, asked, 1.0, 1e-6, 0.01, sharp=True)
    params = weights.parameters(found) | {"queries": np.round(generator.random((50, cells)))}
    values = simulate(
        repetitive(asked, analyst=analyst),
        table,
        params,
        trials=256,
        seed=seed,
        statistic=sums(lambda o: (o.halted, o.max_error > found.error, o.updates > found.updates)),
        progress=False,
        performance=BLOCKS,
    ).values
    # Each fails with probability beta at most: 20 or more of 256 with chance < 1e-11.
    assert stats.binom.sf(19, 256, 0.01) < ALPHA
    assert all(int(count[0]) < 20 for count in values)


def test_budget_that_is_spent_halts_and_answers_from_the_hypothesis(seed):
    for make, params in (
        (
            hardt_rothblum,
            STANDARD | {"max_updates": 1, "threshold_scale": 1e-3, "query_scale": 1e-3},
        ),
        (repetitive, REPETITIVE | {"max_failures": 1, "test_scale": 1e-3, "gamma": 100.0}),
    ):
        values = simulate(
            make(30),
            TABLE,
            params,
            trials=512,
            seed=seed,
            progress=False,
            performance=BLOCKS,
            statistic=sums(lambda o: (o.halted, o.updates)),
        ).values
        assert int(values[0][0]) == 512
        assert int(values[1][0]) == (512 if make is hardt_rothblum else 0)


def test_rejections_happen_where_answers_are_noisy(seed):
    params = REPETITIVE | {"answer_scale": 1.0, "max_answers": 50, "max_failures": 200}
    values = simulate(
        repetitive(3),
        TABLE,
        params,
        trials=2000,
        seed=seed,
        progress=False,
        performance=BLOCKS,
        statistic=sums(lambda o: (o.rejections, o.updates)),
    ).values
    assert int(values[0][0]) > int(values[1][0]) > 0


@pytest.mark.parametrize(
    "entry",
    [private_multiplicative_weights, repetitive_multiplicative_weights],
    ids=lambda entry: entry.name,
)
@pytest.mark.parametrize("analyst", ["pool", "worst"])
def test_entries_keep_the_promised_epsilon(entry, analyst):
    for event in ("path", "updates"):
        given = {"analyst": analyst, "event": event}
        mechanism = entry.build(given).mechanism
        for pair in entry.pairs(given):
            laws = [
                mechanism.law(side, pair.params).probabilities
                for side in (pair.data, pair.neighbour)
            ]
            claim, proven = entry.guarantee(given, pair)
            assert claim in ("CL-Thm9-budget", "CL-Thm11-budget")
            # Not vacuous: the pair moves what is released.
            assert 0.02 < exact_epsilon(*laws) <= proven
    law = entry.build({"method": "law"}).mechanism
    assert law.name != entry.build({}).mechanism.name


# --- Adaptive analysis ----------------------------------------------------------------

POPULATION = np.array([0.4, 0.3, 0.2, 0.1])


GAPS = combine(
    {
        "gap": moments(lambda o: o.empirical - o.population, -3.0, 3.0),
        "answer": moments(lambda o: o.answer - o.empirical, -3.0, 3.0),
    }
)


def analysis_means(protection, params, rows, seed, trials=4000):
    values = simulate(
        adaptive_analysis(rows, protection=protection),
        POPULATION,
        params,
        trials=trials,
        seed=seed,
        statistic=GAPS,
        progress=False,
        performance=BLOCKS,
    ).values
    return {
        name: read_moments({k: v[0] for k, v in sums.items()}, -3.0, 3.0)
        for name, sums in values.items()
    }


def near(found, exact: float) -> bool:
    """Within the normal interval of probability 1 - ALPHA."""
    spread = np.sqrt(found.variance / found.count)
    return abs(found.mean - exact) <= stats.norm.isf(ALPHA / 2) * spread + 1e-9


def test_one_query_overfits_by_its_mean_deviation(seed):
    """With m = 1 the last query is q or its complement, whichever the rows favour."""
    rows = 20
    deviations = []
    for subset in itertools.product((0, 1), repeat=4):
        share = float(np.dot(subset, POPULATION))
        counts = np.arange(rows + 1)
        law = stats.binom.pmf(counts, rows, share)
        deviations.append(float(law @ np.abs(counts / rows - share)))
    found = analysis_means("none", {"queries": 1}, rows, seed)
    assert near(found["gap"], float(np.mean(deviations)))
    assert found["answer"].mean == pytest.approx(0.0, abs=1e-8)


def test_many_exact_answers_reveal_the_whole_sample(seed):
    rows, p = 20, POPULATION
    counts = np.arange(rows + 1)[:, None]
    law = stats.binom.pmf(counts, rows, p)
    distance = 0.5 * float(np.sum(law * np.abs(counts / rows - p)))
    found = analysis_means("none", {"queries": 4000}, rows, seed, trials=1024)
    # The votes' directions are estimates: a little is lost where shares tie.
    assert 0.97 * distance < found["gap"].mean <= distance * 1.02


def test_noise_and_weights_leave_less(seed):
    settings = {
        "threshold": 0.25,
        "rate": 0.5,
        "max_updates": 20,
        "threshold_scale": 0.01,
        "query_scale": 0.02,
        "answer_scale": 0.02,
    }
    gaps = {
        "none": analysis_means("none", {"queries": 20}, 60, seed, 1024),
        "gaussian": analysis_means("gaussian", {"queries": 20, "noise_scale": 0.5}, 60, seed, 1024),
        "weights": analysis_means("weights", settings | {"queries": 20}, 60, seed, 1024),
    }
    for name in ("gaussian", "weights"):
        assert gaps[name]["gap"].mean < 0.6 * gaps["none"]["gap"].mean
    assert gaps["gaussian"]["answer"].variance == pytest.approx(0.25, rel=0.25)


# --- Tables and bad input -------------------------------------------------------------


def test_tables():
    codes = np.column_stack([discretise([0.5, 1.0, 7.0], [1.0, 2.0]), [1, 0, 1]])
    assert codes[:, 0].tolist() == [0, 1, 2]
    assert tabulate(codes, (3, 2)).tolist() == [0, 1, 1, 0, 0, 1]
    table = tumour_table.load()
    assert table.rows == 569
    assert table.counts.size == 256
    more = resampled(table, 1000, seed=1)
    assert more.rows == 1000
    assert np.all(more.counts[table.counts == 0] == 0)


def test_stored_table_is_what_scikit_learn_gives():
    made = tumour_table.run()
    assert {int(c): n for c, n in made["counts"].items()} == {
        int(c): int(n) for c, n in enumerate(tumour_table.load().counts) if n > 0
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hardt_rothblum(3, analyst="nobody"), "analyst is 'nobody'"),
        (lambda: hardt_rothblum(9, event="path"), "at most 8"),
        (lambda: repetitive(3, method="slow"), "method is 'slow'"),
        (lambda: adaptive_analysis(5, protection="hope"), "protection is 'hope'"),
        (lambda: hardt_rothblum(3).prepare([1], STANDARD), "two or more"),
        (lambda: hardt_rothblum(3).prepare([1.5, 1, 1, 1], STANDARD), "whole numbers"),
        (lambda: hardt_rothblum(3).prepare([1, 1, 1], STANDARD), "3 columns"),
        (
            lambda: hardt_rothblum(3).prepare(TABLE, STANDARD | {"queries": 2 * QUERIES}),
            "values in",
        ),
        (lambda: hardt_rothblum(3).prepare(TABLE, STANDARD | {"rate": -1.0}), "rate is -1"),
        (lambda: hardt_rothblum(3).prepare(TABLE, STANDARD | {"asked": 2}), "asked is 2"),
        (
            lambda: repetitive(3).prepare(TABLE, REPETITIVE | {"max_failures": 0}),
            "max_failures is 0",
        ),
        (lambda: adaptive_analysis(5).prepare([0.5, 0.5], {}), "queries is missing"),
        (
            lambda: adaptive_analysis(5, protection=PROTECTIONS[1]).prepare(
                [0.5, 0.5], {"queries": 3}
            ),
            "noise_scale",
        ),
        (lambda: tabulate([[3]], (3,)), "between 0"),
        (lambda: private_multiplicative_weights(table="3"), "at least 2 whole numbers"),
        (lambda: private_multiplicative_weights(table="1.5,2"), "whole numbers"),
        (lambda: private_multiplicative_weights(table="0,0"), "no rows"),
        (
            lambda: hardt_rothblum(3).prepare(TABLE, STANDARD | {"gamma": 1.0}),
            "gamma is no parameter",
        ),
        (lambda: repetitive(3).prepare(TABLE, STANDARD), "distance is missing"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
