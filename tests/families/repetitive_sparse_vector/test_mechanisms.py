"""The repetitive sparse vector: literal and jump against the exact law."""

import functools
import importlib
import itertools

import jax
import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.repetitive_sparse_vector import entries
from jaxsel.families.repetitive_sparse_vector.error_laws import failure_probability
from jaxsel.families.repetitive_sparse_vector.laws import query_law
from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
    guarantee,
    repetitive_sparse_vector,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    repetitive_settings,
)
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson, goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate, simulate_grid
from jaxsel.kernel.statistics import combine, counts, sums
from tests.conftest import ALPHA

SMALL = RepetitiveSettings(1.5, 3, 0.7, 4, 2.0)
# The third level is run twice, so that a run is left in its middle.
DATA = {"answers": [0.5, -1.0, -1.5, 1.0], "lengths": [1, 1, 2, 1]}
TRIALS = 60_000


def _everything(outcome):
    return {
        name: leaf for name, leaf in outcome._asdict().items() if name not in ("bits", "halted")
    } | {"halted": outcome.halted, "squares": outcome.failures * outcome.failures}


@functools.cache
def small(method, event, seed):
    """What two tests look at: the events, and the sums of what is not released, of one run."""
    mechanism = repetitive_sparse_vector(method=method, event=event)
    events = counts(mechanism.event, len(mechanism.labels(DATA, SMALL._asdict())))
    statistic = combine({"events": events, "sums": sums(_everything)})
    params = SMALL._asdict()
    return simulate(mechanism, DATA, params, trials=TRIALS, seed=seed, statistic=statistic).values


@pytest.mark.parametrize("event", ["pattern", "tops"])
@pytest.mark.parametrize("method", ["literal", "jump"])
def test_frequencies_follow_the_exact_law(method, event, seed):
    mechanism = repetitive_sparse_vector(method=method, event=event)
    law = mechanism.law(DATA, SMALL._asdict()).probabilities
    seen = small(method, event, seed)["events"]
    assert goodness_of_fit(seen[0], law) > ALPHA
    # Power: a threshold 5 % of the noise away is noticed, by 49,000 trials or more.
    moved = SMALL._asdict() | {"threshold": 0.05 / SMALL.query_epsilon}
    wrong = mechanism.law(DATA, moved).probabilities
    assert goodness_of_fit(seen[0], wrong) < ALPHA


def test_both_methods_agree_on_what_is_not_released(seed):
    """Failures, wrong answers and mistakes, in the mean: both forms count the same."""
    found = {method: small(method, "pattern", seed)["sums"] for method in ("literal", "jump")}
    for name in found["jump"]:
        a, b = (int(np.asarray(found[m][name])[0]) for m in ("literal", "jump"))
        # Each is at most 16 a trial; Hoeffding for the difference of two means.
        allowed = 16.0 * np.sqrt(TRIALS * np.log(2.0 * 8.0 / ALPHA))
        assert abs(a - b) <= allowed
        assert a > 0


@pytest.mark.parametrize(
    ("level", "margin", "low", "high"),
    [(-3.0, 2.0, False, True), (0.5, 2.0, True, False), (-1.0, 2.0, False, False)],
)
def test_wrong_answers_and_mistakes_are_told_by_the_level(level, margin, low, high, seed):
    """A bottom is wrong above 0, a top below -d; one query, so they are events."""
    settings = SMALL._replace(margin=margin, failures=3)
    law = query_law(level, settings)
    seen = simulate(
        repetitive_sparse_vector(event="tops"),
        [level],
        settings._asdict(),
        trials=TRIALS,
        seed=seed,
        statistic=sums(_everything),
    ).values
    wrong = float(low * law.bottom + high * law.top)
    found = int(seen["wrong"][0])
    limits = clopper_pearson(np.array([found]), TRIALS, 1.0 - ALPHA)
    assert limits[0][0] <= wrong <= limits[1][0]
    # At -d/2 both kinds of failed batches are mistakes, elsewhere the unexpected one.
    failures, mistakes = int(seen["failures"][0]), int(seen["mistakes"][0])
    if level == -1.0:
        assert mistakes == failures
    else:
        assert 0 < mistakes < failures


def test_guarantee_of_lemma_4_fails_as_often_as_its_exact_law_says(seed):
    settings = RepetitiveSettings(2.0, 30, 1.0, 4, 4.0)
    levels = [0.1, -2.0, -4.1, 0.1, -2.0, 0.5]
    exact = failure_probability(levels, settings, 2)
    seen = simulate(
        repetitive_sparse_vector(event="tops"),
        levels,
        settings._asdict(),
        trials=TRIALS,
        seed=seed,
        statistic=counts(guarantee(2), 3),
    ).values[0]
    low, high = clopper_pearson(np.array([seen[1:].sum()]), TRIALS, 1.0 - ALPHA)
    assert low[0] <= exact <= high[0]
    assert exact > 0.05
    assert seen[2] > 0


def test_settings_of_section_4_2_run_over_thousands_of_queries(seed):
    """tau = 5 m^2 Tests a batch, 5,000 queries in 21 runs: all spikes found."""
    m, wanted = 5000, 10
    settings = repetitive_settings(wanted, m, 0.01, delta=1e-6)
    data = {"answers": [-settings.margin, 1.0] * wanted, "lengths": [499, 1] * wanted}
    mechanism = repetitive_sparse_vector(event="tops")
    events = counts(mechanism.event, len(mechanism.labels(data, settings._asdict())))
    seen = simulate(
        mechanism,
        data,
        settings._asdict(),
        trials=4000,
        seed=seed,
        statistic=combine({"kept": counts(guarantee(wanted), 3), "tops": events}),
    ).values
    assert seen["kept"][0][0] > 4000 - 40
    assert seen["tops"][0][wanted] >= seen["kept"][0][0]


def test_p_equal_to_one_needs_no_prior(seed):
    settings = SMALL._replace(gamma=np.inf)
    for method in ("literal", "jump"):
        mechanism = repetitive_sparse_vector(method=method)
        law = mechanism.law(DATA, settings._asdict()).probabilities
        seen = simulate(mechanism, DATA, settings._asdict(), trials=TRIALS, seed=seed).values
        assert goodness_of_fit(seen[0], law) > ALPHA


def test_where_no_batch_passes_it_halts_at_once(seed):
    settings = RepetitiveSettings(1e9, 10**9, 1.0, 57, 0.5)
    mechanism = repetitive_sparse_vector()
    law = mechanism.law([-0.2, 0.1], settings._asdict())
    seen = simulate(mechanism, [-0.2, 0.1], settings._asdict(), trials=500, seed=seed).values[0]
    assert law.labels[0] == "#"
    assert seen[0] == 500
    assert law.probabilities[0] == pytest.approx(1.0)


def test_jump_takes_few_steps_where_the_literal_makes_every_test(seed, monkeypatch):
    """Steps of the loop, over queries that pass their first batches of 20 Tests."""
    settings = SMALL._replace(repetitions=20, margin=20.0)
    data = {"answers": [-10.0, 1.0] * 2, "lengths": [99, 1] * 2}
    module = importlib.import_module(repetitive_sparse_vector.__module__)
    move, steps = module._move, []

    def counted(*arguments):
        jax.debug.callback(lambda: steps.append(1))
        return move(*arguments)

    monkeypatch.setattr(module, "_move", counted)
    taken = {}
    for method in ("literal", "jump"):
        mechanism = repetitive_sparse_vector(method=method, event="tops")
        with jax.enable_x64(True):
            prepared = mechanism.prepare(data, settings._asdict())
            key = stream.make_key(seed)
            # A lambda of its own: nothing that is kept for it was traced elsewhere.
            jax.jit(lambda key, m=mechanism, p=prepared: m.sample(key, *p))(key)
            jax.effects_barrier()
        taken[method] = len(steps)
        steps.clear()
    assert taken["literal"] >= 99 * settings.repetitions
    assert 0 < taken["jump"] <= 2 * settings.failures + len(data["lengths"])


# --- Catalogue ------------------------------------------------------------------------


def test_entry_keeps_its_promise_by_exact_laws():
    entry = entries.repetitive_sparse_vector
    for given in (
        {},
        {"gamma": "0.3", "repetitions": "20", "failures": "3"},
        {"levels": "-3,-3,-3,-3,-2", "margin": "30", "query_epsilon": "1"},
        {"event": "tops", "levels": ",".join(["-1.5"] * 30), "failures": "6"},
    ):
        mechanism = entry.build(given).mechanism
        for pair in entry.pairs(given):
            found = [mechanism.law(s, pair.params) for s in (pair.data, pair.neighbour)]
            assert len(found[0].labels) == found[0].probabilities.size
            proven = entry.guarantee(given, pair).epsilon
            exact = exact_epsilon(*(law.probabilities for law in found))
            assert exact <= proven * (1 + 1e-9)
            assert exact > 0.2 * proven or given.get("event") == "tops"


def test_no_pure_epsilon_is_promised_at_a_known_p():
    entry = entries.repetitive_sparse_vector
    given = {"gamma": "inf"}
    assert entry.guarantee(given, entry.pairs(given)[0]) is None


def test_cells_of_a_grid_share_one_program(seed):
    cells = [
        ({"answers": [x, 0.0], "lengths": [n, 1]}, SMALL._replace(gamma=g)._asdict())
        for x, n, g in itertools.product((-3.0, 0.0), (1, 4), (0.5, 2.0))
    ]
    mechanism = repetitive_sparse_vector(event="tops")
    found = simulate_grid(mechanism, cells, trials=20_000, seed=seed).values
    for seen, cell in zip(found, cells, strict=True):
        assert goodness_of_fit(seen, mechanism.law(*cell).probabilities) > ALPHA


@pytest.mark.parametrize(
    ("data", "change", "message"),
    [
        ([], {}, "answers is empty"),
        ([np.nan], {}, "NaN"),
        ([0.0] * 11, {}, 'take event "tops"'),
        ({"answers": [0.0], "lengths": [0]}, {}, "length is 0"),
        ([0.0], {"gamma": -1.0}, "gamma is -1"),
        ([0.0], {"repetitions": 0}, "repetitions is 0"),
        ([0.0], {"query_epsilon": 0.0}, "query_epsilon is 0"),
        ([0.0], {"failures": 2.5}, "failures is 2.5"),
        ([0.0], {"margin": 0.0}, "margin is 0"),
        ([0.0], {"failures": 2**63}, "at most 2\\^62"),
        ([0.0], {"tau": 3}, "tau is no parameter"),
    ],
)
def test_bad_input(data, change, message):
    with pytest.raises(InputError, match=message):
        repetitive_sparse_vector().prepare(data, SMALL._asdict() | change)


def test_missing_parameters_and_bad_settings():
    with pytest.raises(InputError, match="gamma is missing"):
        repetitive_sparse_vector().prepare([0.0], {})
    with pytest.raises(InputError, match="method is 'slow'"):
        repetitive_sparse_vector(method="slow")
    with pytest.raises(InputError, match="event is 'all'"):
        repetitive_sparse_vector(event="all")
    with pytest.raises(InputError, match="wanted is 0"):
        guarantee(0)
