"""The best of K runs of a function, audited beside the account of the search."""

import json
import math

import numpy as np
import pytest

import jaxsel
from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.best_of import NO_RUN, best_of
from jaxsel.auditing.functions.drawing import Draws
from jaxsel.cli.main import main
from jaxsel.host.errors import InputError, UnsupportedError
from jaxsel.host.intervals import binomial_p_value
from jaxsel.questions.audit_claims import claims_of_search
from jaxsel.repetitions import as_law, quantile_table
from jaxsel.testing import assert_private
from jaxsel.tuning.attained.exact_laws import tuned_law
from tests.asked import ask
from tests.auditing.functions import audited
from tests.auditing.functions.audited import one_response, own_response, responses, revealing
from tests.conftest import ALPHA

# Accounts of searches are what the audits are held against, at whatever resolution.
pytestmark = pytest.mark.usefixtures("coarse_prices")

LAW, PAIR = "geometric:mean=5", ([0.0], [1.0])


def _audit(function=responses, **given):
    options = {"relation": "replace_one", "claim": 1.0, "trials": 400_000, "repetitions": LAW}
    given = {"pair": PAIR, "confidence": 1 - 1e-6} | options | given
    return ask(jaxsel.audit_function, function, **given)


def _exact(epsilon):
    honest = 1.0 / (1.0 + math.exp(-epsilon))
    first, second = (tuned_law([p, 1 - p], as_law(LAW))[:2] for p in (honest, 1 - honest))
    return float(np.max(np.abs(np.log(first / second))))


def test_a_search_leaks_what_is_exact_and_less_than_its_account():
    found, exact = _audit(), _exact(1.0)
    assert not found.refuted
    assert found.lower <= exact <= jaxsel.search_cost("pure:epsilon=1", LAW).epsilon(0.0)
    # Counts of this size bound the ratio of so likely events to a few percent.
    assert found.lower > 0.95 * exact
    assert "the account of" in found.claim
    assert "best of K runs of responses" in found.function


def test_a_run_that_breaks_its_claim_is_seen_in_the_search():
    found = _audit(settings={"epsilon": 2.5}, claim=0.5)
    assert _exact(2.5) > 1.5  # the account of runs of 0.5
    assert found.refuted


def test_runs_of_epsilon_and_delta_are_held_to_both():
    found = _audit(revealing, delta=0.05, trials=20_000)
    assert not found.refuted
    assert "approximate:epsilon=1.0,delta=0.05" in found.claim
    # No search of such runs is pure, and this one is refuted where it is said to be.
    assert found.delta > 0.0
    assert _audit(revealing, trials=20_000).refuted
    search = jaxsel.search_cost("approximate:epsilon=1,delta=0.05", LAW)
    claims, _ = claims_of_search(1.0, 0.05, {}, LAW)
    assert math.isinf(search.epsilon(0.0))
    assert len(claims) > 1
    for point in claims:
        assert point.delta == search.delta(point.epsilon) >= 0.05


@pytest.mark.parametrize("function", [one_response, own_response])
def test_every_kind_of_function_is_searched(function):
    found = _audit(function, trials=4_000, seconds=20.0)
    assert not found.refuted
    assert found.trials > 500


@pytest.mark.parametrize("kind", ["(rng, data, n)", "(rng, data)", "(data)"])
def test_what_a_file_imports_is_no_part_of_a_call(tmp_path, kind):
    """Else the first calls of each process would have no answer, and the others would."""
    body = "[0.0] * n" if "n)" in kind else "0.0"
    text = f"import time\ntime.sleep(1.0)\ndef f{kind}:\n    return {body}\n"
    (tmp_path / "slow.py").write_text(text)
    search, settings = best_of(
        load(f"{tmp_path / 'slow.py'}:f"), *quantile_table(as_law("point_mass:count=2")), {}
    )
    with Draws(search, settings, call_seconds=0.3, workers=2) as draws:
        assert set(draws.draw([], 100, (1,)).words) == {"0.0"}


def test_the_winner_has_the_law_of_the_best_of_k():
    law = as_law("poisson:mean=2")
    search, settings = best_of(load(responses), *quantile_table(law), {"epsilon": 1.0})
    n = 200_000
    outcomes = search.call(np.random.default_rng(3), [1.0], n, **settings)
    found = [sum(one == value for one in outcomes) for value in (1.0, 0.0, NO_RUN)]
    honest = 1.0 / (1.0 + math.exp(-1.0))
    for count, p in zip(found, tuned_law([honest, 1 - honest], law), strict=True):
        assert abs(count - n * p) < 5.3 * math.sqrt(n * p * (1 - p)) + 1  # 1e-7
    assert sum(found) == n


def test_the_first_of_equal_runs_wins():
    def numbered(rng, data, n):
        return np.column_stack([np.zeros(n), np.arange(n)])

    search, settings = best_of(load(numbered), *quantile_table(as_law("point_mass:count=3")), {})
    won = search.call(np.random.default_rng(0), [0.0], 4, **settings)
    assert won[:, 1].tolist() == [0.0, 3.0, 6.0, 9.0]


def test_the_larger_score_wins_and_nan_is_the_worst():
    def scored(rng, data, n):
        return np.array([np.nan, 2.0, 5.0, 1.0, np.nan, np.nan])[:n]

    search, settings = best_of(load(scored), *quantile_table(as_law("point_mass:count=3")), {})
    won = search.call(np.random.default_rng(0), [0.0], 2, **settings)
    assert won.tolist() == [5.0, 1.0]


def test_in_a_test_of_ones_own():
    assert_private(
        responses,
        *PAIR,
        relation="replace_one",
        epsilon=1.0,
        detects=None,
        how={"repetitions": LAW},
    )
    with pytest.raises(AssertionError, match="the account of"):
        assert_private(
            responses,
            *PAIR,
            relation="replace_one",
            epsilon=0.5,
            settings={"epsilon": 2.5},
            how={"repetitions": LAW},
        )


def test_what_is_not_served_is_said():
    def with_key(key, data):
        return data

    with pytest.raises(UnsupportedError, match="takes a key"):
        _audit(with_key)
    with pytest.raises(InputError, match="law of K"):
        _audit(repetitions="zipf:mean=2")


def test_the_command_line_audits_a_search(capsys):
    command = [
        "audit-function",
        f"{audited.__file__}:responses",
        "--relation",
        "replace_one",
        "--claim",
        "1",
    ]
    command += ["--data", "[0.0];[1.0]", "--how", f"repetitions={LAW}", "--trials", "1e4", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    (found,) = json.loads(capsys.readouterr().out)
    proved = jaxsel.search_cost("pure:epsilon=1", LAW).epsilon(0.0)
    said = f"the account of {LAW} runs of pure:epsilon=1.0, epsilon {proved:.4g}"
    assert found["claim"] == said


def counts_its_runs(rng, data):
    data.append(len(data))
    return data[-1]


def counts_its_own(data):
    return counts_its_runs(None, data)


@pytest.mark.parametrize("run", [counts_its_runs, counts_its_own])
def test_a_search_of_single_calls_has_the_law_of_k(run):
    law = as_law("poisson:mean=1")
    search, settings = best_of(load(run), *quantile_table(law), {})
    generator, seen = np.random.default_rng(4), np.zeros(3)
    given = () if run is counts_its_own else (generator,)
    n = 5_000 if given else 1_000
    for _ in range(n):
        made: list[int] = []
        last = search.call(*given, made, **settings)
        assert last == (len(made) - 1 if made else NO_RUN)
        seen[min(len(made), 2)] += 1
    for count, p in zip(seen, (math.exp(-1), math.exp(-1), 1 - 2 * math.exp(-1)), strict=True):
        assert binomial_p_value(int(count), n, p, "two-sided") >= ALPHA


def test_settings_of_the_runs_are_checked_before_the_search():
    message = r"responses has no setting 'epsilom'.*it has: epsilon"
    with pytest.raises(InputError, match=message):
        _audit(settings={"epsilom": 1.0})
    with pytest.raises(InputError, match=message):
        best_of(load(responses), *quantile_table(as_law(LAW)), {"epsilom": 1.0})


def test_the_first_of_equal_runs_wins_in_single_calls_and_nan_is_the_worst():
    def next_of(rng, data):
        return data.pop(0), len(data)

    search, settings = best_of(load(next_of), *quantile_table(as_law("point_mass:count=4")), {})
    for scores, left in (([1.0, 2.0, 2.0, 0.0], 2), ([math.nan, -9.0, -math.inf, math.nan], 2)):
        assert search.call(np.random.default_rng(0), list(scores), **settings)[1] == left


def test_a_search_is_importable_where_its_runs_are():
    given = (*quantile_table(as_law("point_mass:count=2")), {})
    search, settings = best_of(load(responses), *given)
    assert search.path is not None
    assert search.path[1] == "vectorised"
    assert settings["audited"] == load(responses).path
    alone = lambda rng, data, n: responses(rng, data, n)  # noqa: E731
    search, settings = best_of(load(alone), *given)
    assert (search.path, settings["audited"]) == (None, alone)


@pytest.mark.parametrize(
    "made", [tuple, list, np.array, lambda one: np.float64(one[0]), float.__add__]
)
def test_the_score_is_the_first_number_whatever_holds_it(made):
    def next_of(rng, data):
        score = data.pop(0)
        return float(score) if made is float.__add__ else made([score, 9.0 - score])

    search, settings = best_of(load(next_of), *quantile_table(as_law("point_mass:count=3")), {})
    won = search.call(np.random.default_rng(0), [1.0, 4.0, 2.0], **settings)
    assert np.ravel(won)[0] == 4.0
