"""Query release: the literal algorithm, its shortcut, and the exact law."""

import numpy as np
import pytest
from scipy import stats

from jaxsel.families.query_release.laws import released_error
from jaxsel.families.query_release.query_release import query_release_mechanism, release_settings
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import Performance, simulate
from jaxsel.kernel.statistics import combine, counts, histogram
from tests.conftest import ALPHA, seed

PARAMS = {"epsilon": 1.0, "delta": 0.2, "runs": 12}
QUERIES = 5


def _error(outcome):
    return outcome.error


@pytest.mark.parametrize("method", ["literal", "largest"])
@pytest.mark.parametrize("sharp", [False, True])
def test_released_errors_follow_the_exact_law(method, sharp):
    params = PARAMS | {"sharp": sharp}
    settings = release_settings(QUERIES, params, "gaussian")
    edges = tuple(float(settings.cap * share) for share in (0.2, 0.4, 0.7))
    trials = 30_000
    tallies = simulate(
        query_release_mechanism(method=method, event="correction"),
        np.array([3.0, -1.0, 0.0, 7.5, 2.0]),
        params,
        trials=trials,
        seed=seed(),
        statistic=histogram(_error, edges),
        progress=False,
    )
    seen_by_level = np.asarray(tallies.values)[0]
    exact, _ = released_error(settings, edges)
    for level, chance in enumerate(exact):
        seen = int(seen_by_level[level + 1 :].sum())
        assert stats.binomtest(seen, trials, float(chance)).pvalue > ALPHA
    # power: runs not counted (one fewer) would be seen
    fewer, _ = released_error(settings._replace(runs=8), edges)
    seen = int(seen_by_level[2:].sum())
    assert stats.binomtest(seen, trials, float(fewer[1])).pvalue < ALPHA


@pytest.mark.parametrize("inner", ["gaussian", "repaired"])
def test_error_never_exceeds_the_cap_and_corrections_are_rare(inner):
    params = {"epsilon": 1.0, "delta": 0.5}
    settings = release_settings(QUERIES, params, inner)
    mechanism = query_release_mechanism(inner=inner)
    found = simulate(
        mechanism,
        np.zeros(QUERIES),
        params,
        trials=4000,
        seed=seed(),
        statistic=combine(
            {"errors": histogram(_error, (settings.cap,)), "events": counts(mechanism.event, 3)}
        ),
        progress=False,
        performance=Performance(block_size=1024),
    ).values
    assert found["errors"][0].tolist() == [4000, 0]
    corrected = int(found["events"][0][2])
    assert stats.binom.sf(corrected - 1, 4000, 0.5 / 10.0) > ALPHA


@pytest.mark.parametrize(
    ("data", "params", "message"),
    [
        ([[1.0]], {"epsilon": 1.0, "delta": 0.1}, "list"),
        ([], {"epsilon": 1.0, "delta": 0.1}, "empty"),
        ([1.0], {"epsilon": 1.0}, "delta is missing"),
        ([1.0], {"epsilon": 1.0, "delta": 0.1, "gamma": 1.0}, "gamma is no parameter"),
        ([1.0], {"epsilon": 1.0, "delta": 0.1, "sharp": "no"}, "sharp is 'no'"),
        ([1.0], {"epsilon": 1.0, "delta": 1e-8}, "at most 1e\\+08 are simulated"),
        ([1.0], {"epsilon": 1.0, "delta": 0.1, "runs": 0}, "runs"),
    ],
)
def test_bad_input_is_refused(data, params, message):
    with pytest.raises(InputError, match=message):
        query_release_mechanism().prepare(np.array(data), params)


def test_largest_makes_no_answers():
    with pytest.raises(InputError, match="draws no answers"):
        query_release_mechanism(method="largest")
