"""Sparse vectors: literal scans, jumps and exact laws agree; catalogue entries keep up."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.catalogue.checks import audit_claims
from jaxsel.families.sparse_vector import entries
from jaxsel.families.sparse_vector.above_threshold import above_threshold
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.runs import first_hit, hazards
from jaxsel.families.sparse_vector.sparse import sparse, sparse_vector
from jaxsel.families.sparse_vector.stopping_laws import stopping_law
from jaxsel.families.sparse_vector.variants import (
    chen,
    dwork_roth,
    lee_clifton,
    lyu_su_li,
    roth,
    stoddard,
)
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate
from jaxsel.kernel.statistics import combine, counts, histogram
from tests import test_contract
from tests.conftest import ALPHA
from tests.families.entry_checks import entries_of

TRIALS = 100_000
LEVELS = [0.5, -1.0, 2.0, -0.5, 1.0]
RUNS = {"answers": [-3.0, 1.0, -2.0], "lengths": [5, 1, 4]}
CASES = {
    "above_threshold": (above_threshold, RUNS, {"epsilon": 3.0, "threshold": 1.0}),
    "sparse": (sparse, LEVELS, {"epsilon": 3.0, "cutoff": 2, "threshold": 0.5}),
    "lyu_su_li": (lyu_su_li, RUNS, {"epsilon": 4.0, "cutoff": 2, "share": 0.3}),
    "lyu_su_li-stop": (
        functools.partial(lyu_su_li, event="stop"),
        RUNS,
        {"epsilon": 5.0, "cutoff": 3},
    ),
    "roth": (roth, LEVELS, {"epsilon": 3.0, "cutoff": 2, "edges": [-1.0, 0.0, 2.0]}),
    "lee_clifton": (lee_clifton, LEVELS, {"epsilon": 1.0, "cutoff": 3}),
    "stoddard": (stoddard, LEVELS, {"epsilon": 1.0}),
    "chen": (chen, LEVELS, {"epsilon": 1.0, "threshold": 0.2}),
}


@pytest.mark.parametrize("method", ["literal", "jump"])
@pytest.mark.parametrize("name", CASES)
def test_sampled_answers_have_their_exact_law(name, method, seed):
    make, data, params = CASES[name]
    mechanism = make(method=method)
    tallies = simulate(mechanism, data, params, trials=TRIALS, seed=seed, progress=False)
    law = mechanism.law(data, params)
    assert tallies.labels == law.labels
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    seen = tallies.values[0]
    assert goodness_of_fit(seen, law.probabilities) > ALPHA
    # Companion: noise that is a quarter too large is seen.
    wrong = mechanism.law(data, params | {"epsilon": params["epsilon"] / 1.25})
    assert goodness_of_fit(seen, wrong.probabilities) < ALPHA


def test_the_answers_themselves_are_those_of_the_number():
    """Positions and number of a literal trial, decoded from the pattern's label."""
    mechanism = lyu_su_li(method="literal")
    params = {"epsilon": 4.0, "cutoff": 2}
    labels = mechanism.labels(LEVELS, params)
    with jax.enable_x64(True):
        data, prepared = mechanism.prepare(LEVELS, params)
        first, second, _ = stream.make_key(5)

        def trial(lane):
            return mechanism.sample(stream.Key(first, second, lane), data, prepared)

        found = jax.jit(jax.vmap(trial))(jnp.arange(300, dtype=jnp.uint32))
    seen = set()
    for above, number in zip(np.asarray(found.above), np.asarray(found.number), strict=True):
        label = labels[number]
        ones = [i for i, answer in enumerate(label) if answer == "1"]
        assert ones == [i for i in above.tolist() if i < len(LEVELS)]
        assert len(label) == (ones[-1] + 1 if len(ones) == 2 else len(LEVELS))
        seen.add(label)
    assert len(seen) > 10


@pytest.mark.parametrize("method", ["literal", "jump"])
def test_released_values_follow_the_noise_given_that_they_are_above(method, seed):
    """One query: its value has the density of Laplace noise times P[threshold <= it]."""
    mechanism = sparse_vector(releases_values=True, method=method)
    params = {"threshold_scale": 1.0, "query_scale": 2.0}
    edges = np.linspace(-4.0, 8.0, 25)
    parts = {"value": histogram(_value, edges), "event": counts(mechanism.event, 3)}
    found = simulate(
        mechanism, [1.0], params, trials=TRIALS, seed=seed, statistic=combine(parts), progress=False
    )
    points = np.linspace(-80.0, 80.0, 640_001)
    density = stats.laplace.pdf(points, 1.0, 2.0) * stats.laplace.cdf(points)
    inside = np.concatenate([[-80.0], edges, [80.0]])
    total = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])]) * 1.25e-4
    law = np.diff(np.interp(inside, points, total))
    law = np.append(law, 1.0 - law.sum())
    # Where the answer is "below", the value is 0: these are counted apart.
    tallies = np.append(found.values["value"][0], found.values["event"][0, 0])
    tallies[np.searchsorted(edges, 0.0, side="right")] -= tallies[-1]
    assert goodness_of_fit(tallies, law) > ALPHA
    law[3], law[4] = law[4], law[3]
    assert goodness_of_fit(tallies, law) < ALPHA


def _value(outcome):
    return outcome.values[0]


def test_a_run_of_equal_queries_is_that_many_queries(seed):
    """The same stream and the same exponential: the very same trials."""
    expanded = np.repeat(RUNS["answers"], RUNS["lengths"]).tolist()
    mechanism = above_threshold()
    both = [
        simulate(
            mechanism, data, {"epsilon": 2.0}, trials=20_000, seed=seed, progress=False
        ).values[0]
        for data in (RUNS, expanded)
    ]
    np.testing.assert_array_equal(*both)


def test_jumps_over_a_million_queries(seed):
    """A run so long that a hit needs 7 noise scales: no precision is lost."""
    noise = {"threshold_scale": 1.0, "query_scale": 1.0}
    data = {"answers": [-14.0], "lengths": [1_000_000]}
    mechanism = above_threshold()
    edges = [1e3, 1e4, 1e5, 3e5, 1e6]
    statistic = histogram(_query, edges)
    found = simulate(
        mechanism, data, noise, trials=TRIALS, seed=seed, statistic=statistic, progress=False
    )
    z = np.linspace(-40.0, 40.0, 800_001)
    weight = stats.laplace.pdf(z)
    weight = weight / weight.sum()
    below = [np.sum(weight * stats.laplace.cdf(z + 14.0) ** count) for count in edges]
    law = -np.diff([1.0, *below, 0.0])
    assert goodness_of_fit(found.values[0], law) > ALPHA


def _query(outcome):
    return outcome.query


def test_hazards_are_exact_in_both_tails():
    with jax.enable_x64(True):
        one = jnp.asarray(1.0)
        levels = jnp.array([-50.0, -1.0, 0.0, 1.0, 60.0])
        found = np.asarray(hazards(jnp.asarray(0.0), levels, one))
        sure = np.asarray(hazards(jnp.asarray(0.0), levels, jnp.asarray(0.0)))
        exact = -stats.laplace.logcdf(-np.asarray(levels))
        exact[0] = 0.5 * np.exp(-50.0)
        np.testing.assert_allclose(found, exact, rtol=1e-14)
        np.testing.assert_array_equal(sure, [0.0, 0.0, np.inf, np.inf, np.inf])
        hit = first_hit(jnp.asarray(0.3), jnp.array([0.1, 1.0]), jnp.array([2, 5]))
        assert (int(hit.run), int(hit.step)) == (1, 1)
        hit = first_hit(jnp.asarray(0.15), jnp.array([0.1, 1.0]), jnp.array([2, 5]))
        assert (int(hit.run), int(hit.step)) == (0, 2)
        hit = first_hit(jnp.asarray(9.0), jnp.array([0.1, 1.0]), jnp.array([2, 5]))
        assert int(hit.run) == 2


def test_a_thousand_queries_and_several_answers_have_an_exact_stop():
    mechanism = lyu_su_li(event="stop")
    data = {"answers": [-30.0, 5.0], "lengths": [998, 2]}
    law = mechanism.law(data, {"epsilon": 1.0, "cutoff": 2}).probabilities
    assert law.size == 1001
    levels = np.repeat(data["answers"], data["lengths"])
    found = stopping_law(levels, SparseNoise(2.0, 8.0, 2))
    np.testing.assert_allclose(law, found, rtol=1e-12)


def test_six_variants_are_settings_of_one_mechanism():
    given = {"epsilon": 2.0, "cutoff": 2}
    for make, other, params in (
        (dwork_roth, sparse(), given),
        (lyu_su_li, sparse_vector(), {"threshold_scale": 1.0, "query_scale": 4.0, "cutoff": 2}),
        (
            lee_clifton,
            sparse_vector(),
            {"threshold_scale": 2.0, "query_scale": 2.0 / 3.0, "cutoff": 2},
        ),
        (chen, sparse_vector(), {"threshold_scale": 1.0, "query_scale": 1.0, "cutoff": None}),
        (stoddard, sparse_vector(), {"threshold_scale": 1.0, "query_scale": 0.0, "cutoff": None}),
    ):
        law = make().law(LEVELS, given).probabilities
        np.testing.assert_allclose(law, other.law(LEVELS, params).probabilities)


# --- The catalogue --------------------------------------------------------------------

EACH = pytest.mark.parametrize("entry", entries_of("sparse_vector"), ids=lambda entry: entry.name)


@EACH
def test_exact_laws_of_the_entries_keep_their_promise(entry):
    test_contract.test_exact_law_matches_labels_and_keeps_the_promise(entry)


@EACH
def test_entries_build_by_every_method_and_refuse_bad_settings(entry):
    for method in ("literal", "jump", "law"):
        assert entry.build({"method": method}).mechanism.law is not None
    with pytest.raises(InputError, match="method"):
        entry.build({"method": "guess"})
    for given in ({"answers": "a,b"}, {"threshold": "nan"}, {"epsilon": "inf"}):
        with pytest.raises(InputError, match=next(iter(given))):
            entry.build(given)
    assert entry.broken == entry.summary.startswith("BROKEN: ")
    if "relation" in entry.settings:
        (pair,) = entry.pairs({"relation": "monotone"})
        claim, epsilon = entry.guarantee({"relation": "monotone"}, pair)
        assert claim.endswith("-monotone")
        assert epsilon == pytest.approx(1.0)


def test_promises_at_other_settings_are_kept_and_nearly_attained():
    """By exact laws: advanced composition, other shares, noise for monotone neighbours."""
    for entry, given in (
        (entries.sparse, {"delta": "1e-3", "cutoff": "3"}),
        (entries.sparse, {"delta": "1e-3", "relation": "monotone"}),
        (entries.sparse_vector, {"share": "0.2"}),
        (entries.sparse_vector, {"share": "good", "relation": "monotone"}),
    ):
        given = given | {"answers": "0,0,0,0,0,0,0,0,0,1"}
        mechanism = entry.build(given).mechanism
        for pair in entry.pairs(given):
            laws = [mechanism.law(x, pair.params) for x in (pair.data, pair.neighbour)]
            p, q = (law.probabilities for law in laws)
            loss = np.max(np.abs(np.log(p) - np.log(q)))
            proven = entry.guarantee(given, pair).epsilon
            assert 0.5 * proven < loss <= proven * (1.0 + 1e-9), (entry.name, pair.name)


def test_broken_entries_exceed_what_they_were_published_with():
    for entry in entries_of("sparse_vector"):
        mechanism = entry.build({}).mechanism
        for pair in entry.pairs({}):
            laws = [mechanism.law(x, pair.params) for x in (pair.data, pair.neighbour)]
            p, q = (law.probabilities for law in laws)
            with np.errstate(divide="ignore", invalid="ignore"):
                loss = np.nanmax(np.abs(np.log(p) - np.log(q)))
            _, epsilon = entry.guarantee({}, pair)
            assert (loss > epsilon) == entry.broken, (entry.name, pair.name)


def test_the_right_ones_are_audited():
    names = {claim.id for claim in audit_claims(entries_of("sparse_vector"))}
    right = {"above_threshold", "sparse", "sparse_vector", "sparse_vector_dwork_roth"}
    assert names == {f"AUDIT-{name}" for name in right}


SCALES = {"threshold_scale": 1.0, "query_scale": 1.0}


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (above_threshold(), [], SCALES, "answers is empty"),
        (above_threshold(), [1.0, np.nan], SCALES, "NaN"),
        (above_threshold(), [[1.0]], SCALES, "one list"),
        (above_threshold(), {"answers": [1.0]}, SCALES, '"answers" and "lengths"'),
        (above_threshold(), {"answers": [1.0], "lengths": [1, 2]}, SCALES, "1 answers and 2"),
        (above_threshold(), {"answers": [1.0], "lengths": [0]}, SCALES, "length is 0"),
        (above_threshold(), {"answers": [1.0], "lengths": [2**25]}, SCALES, "at most 2"),
        (above_threshold(), [1.0], {}, "either epsilon"),
        (above_threshold(), [1.0], {"epsilon": 1.0} | SCALES, "either epsilon"),
        (above_threshold(), [1.0], {"threshold_scale": 1.0}, "either epsilon"),
        (above_threshold(), [1.0], {"epsilon": -1.0}, "epsilon is -1"),
        (above_threshold(), [1.0], SCALES | {"threshold": np.nan}, "threshold is nan"),
        (sparse(), [1.0], {}, "epsilon is missing"),
        (sparse(), [1.0], {"epsilon": 1.0, "cutoff": 1.5}, "cutoff is 1.5"),
        (sparse(), [1.0], {"epsilon": 1.0, "delta": -0.1}, "delta is -0.1"),
        (sparse_vector(), [1.0], {"threshold_scale": 1.0}, "query_scale is missing"),
        (sparse_vector(), [1.0], SCALES | {"threshold_scale": 0.0}, "scale is 0"),
        (sparse_vector(), [1.0] * 20, SCALES | {"cutoff": None}, 'take event "stop"'),
        (lyu_su_li(), [1.0], {"epsilon": 1.0, "share": 0.0}, "share is 0"),
        (roth(), [1.0], {"epsilon": 1.0, "edges": [1.0, 1.0]}, "strictly increasing"),
        (roth(), [1.0], {"epsilon": 0.0}, "epsilon is 0"),
        (chen(), [1.0], {"epsilon": 0.0}, "epsilon is 0"),
        (chen(), [1.0], {}, "epsilon is missing"),
        (chen(), [1.0], {"epsilon": 1.0, "edges": [0.0]}, "edges is no parameter"),
        (sparse(), [1.0], {"epsilon": 1.0, "cut": 2}, "cut is no parameter"),
        (above_threshold(), [1.0], {"epsilon": 1.0, "cutoff": 1}, "cutoff is no"),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: above_threshold(method="race"), "method is 'race'"),
        (lambda: above_threshold(relation="base"), "relation is 'base'"),
        (lambda: sparse(relation="base"), "relation is 'base'"),
        (lambda: lyu_su_li(relation="base"), "relation is 'base'"),
        (lambda: sparse_vector(event="all"), "event is 'all'"),
        (lambda: roth(event="stop"), "released values"),
    ],
)
def test_bad_static_settings(make, message):
    with pytest.raises(InputError, match=message):
        make()
