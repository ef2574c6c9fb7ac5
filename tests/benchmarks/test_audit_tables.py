"""Tables that judge the auditor: their laws, a smaller half of each, and the command."""

import json
import math
import sys
import types

import numpy as np
import pytest

from benchmarks.audit_tables import TABLES, calibration, libraries, zoo
from benchmarks.audit_tables.__main__ import main
from jaxsel.host.intervals import binomial_p_value
from tests.cli.test_cli import run
from tests.conftest import ALPHA

MEMBERS = {member.function.__name__: member for member in zoo.ZOO}


@pytest.mark.parametrize("name", ["noisy_max_1", "noisy_max_2"])
def test_laws_of_places_are_those_of_what_is_sampled(name, seed):
    data, trials = [1.0, 0.0, 9.0, 0.0, 2.0], 40_000
    kind = "laplace" if name == "noisy_max_1" else "exponential"
    law = zoo._places(kind, data)
    assert sum(law) == pytest.approx(1.0)
    found = MEMBERS[name].function(np.random.default_rng(seed), data, trials)
    counts = np.bincount(found, minlength=5)
    p = binomial_p_value(counts, np.full(5, trials), law)
    assert np.all(p >= ALPHA / 5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sparse_vector_1", (0.5, 0.5, 40.0, 1)),
        ("sparse_vector_4", (1.0, 0.25, 1 / 0.075, 1)),
        ("sparse_vector_6", (1.0, 0.5, 20.0, 4)),
    ],
)
def test_laws_of_patterns_are_those_of_what_is_sampled(name, settings, seed):
    data, trials = [30.0, 0.0, 2.0, 9.0], 40_000
    threshold, part, scale, most = settings
    law = zoo._patterns(data, threshold=threshold, part=part, scale=scale, most=most)
    assert sum(law) == pytest.approx(1.0)
    found = MEMBERS[name].function(np.random.default_rng(seed), data, trials)
    # Patterns end where the mechanism stops; sorted as the law is.
    patterns = [tuple(int(x) for x in row if x >= 0) for row in found]
    every = sorted(set(patterns))
    assert len(every) == len(law)
    counts = np.array([patterns.count(one) for one in every])
    p = binomial_p_value(counts, np.full(len(law), trials), law)
    assert np.all(p >= ALPHA / len(law))


def test_the_exact_values_are_known_where_they_are():
    assert MEMBERS["laplace"].exact([0.0], [1.0]) == pytest.approx(0.1)
    # The largest of five shifted alike: five half epsilons, at the far tail.
    shifted = MEMBERS["noisy_max_3"].exact([1.0] * 5, [2.0] * 5)
    assert shifted == pytest.approx(0.25, abs=0.005)
    # Exponential noise is nearly exact where one is raised and the others are lowered.
    raised = MEMBERS["noisy_max_2"].exact([1.0] * 5, [2.0, 0.0, 0.0, 0.0, 0.0])
    assert 0.0999 < raised <= 0.1
    alike = MEMBERS["noisy_max_2"].exact([1.0] * 5, [2.0] * 5)
    assert alike == pytest.approx(0.0, abs=1e-9)
    for name in ("sparse_vector_1", "sparse_vector_2"):
        half = [1.0] * 5 + [2.0] * 5, [2.0] * 5 + [1.0] * 5
        assert 0.08 < MEMBERS[name].exact(*half) <= 0.1


def test_the_law_of_a_place_and_a_value_is_that_of_its_sampler(seed):
    data, trials = [2.0, 0.0, 1.0, 2.0, 1.0], 100_000
    law = zoo._places_and_values(data)
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-5)
    drawn = zoo.sparse_vector_3(np.random.default_rng(seed), data, trials)
    values, size = 1.0 + zoo._grid()[0], len(zoo._grid()[0])
    for place in range(len(data)):
        cells = law[place * size : (place + 1) * size]
        stopped = ~np.isin(drawn[:, place], (0.0, -1.0))
        for level in (-math.inf, -20.0, 30.0, 80.0):
            expected = float(cells[values > level].sum())
            seen = int(np.sum(stopped & (drawn[:, place] > level)))
            assert binomial_p_value(seen, trials, expected, "two-sided") > ALPHA
    never = int(np.all(drawn == 0.0, axis=1).sum())
    assert binomial_p_value(never, trials, float(law[-1]), "two-sided") > ALPHA


def test_the_law_of_two_places_and_values_is_that_of_its_sampler(seed):
    data, trials = [2.0, 0.0, 1.0, 2.0], 100_000
    law = zoo._patterns_and_values(data)
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-5)
    drawn = zoo.numerical_sparse_vector(np.random.default_rng(seed), data, trials)
    answered = ~np.isin(drawn, (0.0, -1.0))
    cells, start = len(np.arange(-1.0, 3.01, 0.25)) + 1, 0
    settings = {"threshold": 1.0, "part": 1 / 3, "scale": 12 / zoo.EPSILON, "most": 2}
    for pattern in zoo._by_pattern(data, **settings):
        number = sum(pattern)
        block = law[start : start + cells**number].reshape((cells,) * number)
        start += cells**number
        made = np.zeros(len(data), bool)
        made[: len(pattern)] = pattern
        same = (answered == made).all(axis=1)
        assert binomial_p_value(int(same.sum()), trials, block.sum(), "two-sided") > ALPHA
        if number == 2:  # both values are above 3, the last cell of each
            high = int(np.sum(same & (np.where(made, drawn, 9.0) > 3.0).all(axis=1)))
            assert binomial_p_value(high, trials, float(block[-1, -1]), "two-sided") > ALPHA
    assert start == len(law)


def test_the_best_set_of_a_probability_is_that_of_the_largest_ratios():
    p = np.array([0.0004, 0.0005, 0.0003, 0.4988, 0.5])
    q = np.array([0.0001, 0.0002, 0.0002, 0.5, 0.4995])
    # Three outcomes have 1.2e-3 together, two have less than 1e-3.
    assert math.isclose(zoo._best_set(p, q), math.log(0.0012 / 0.0005))


def test_the_zoo_is_bounded_below_the_exact_values_and_near_them(monkeypatch):
    chosen = tuple(MEMBERS[name] for name in ("noisy_max_3", "sparse_vector_6"))
    monkeypatch.setattr(zoo, "ZOO", chosen)
    rows = list(zoo.rows(400_000, 1, None, 1))
    for row in rows:
        # Each is above the truth with probability 0.1; far above it with far less.
        assert row["bound"] < 1.2 * row["exact on the pair"]
    assert rows[0]["bound"] > 0.5 * rows[0]["exact on the pair"]
    said, reached = zoo.judged([{"reached": True}] * 12 + [{"reached": False}])
    assert said.startswith("12 of 13")
    assert not reached


def test_kept_claims_fall_no_more_often_than_is_said(seed):
    rows = list(calibration.rows(10_000, seed, None, 60))
    assert len(rows) == 3 * 2 + 3 + 12 + 4
    said, reached = calibration.judged(rows)
    assert said.startswith("25 of 25")
    assert reached
    unfair = calibration._row("a", 190, 200, 0.1, 0.0)
    assert not unfair["fair"]
    assert not calibration.judged([*rows, unfair])[1]
    assert math.isclose(unfair["share"], 0.95)


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_limit_of_one_event_lies_above_the_truth_as_often_as_is_enumerated(delta, seed):
    pair, runs = calibration._Pair(0.05, 0.03, delta, 10_000), 4000
    bounds, scores, enumerated = calibration._bounds_as_given(pair, runs, seed)
    assert 0.08 < enumerated < 0.1
    above = int(np.sum(bounds > pair.truth))
    if delta:  # the truth may be rejected and a smaller epsilon not
        assert binomial_p_value(above, runs, enumerated, "greater") > ALPHA
    else:
        assert binomial_p_value(above, runs, enumerated, "two-sided") > ALPHA
        # The score limit is no exact one, and nearly one here.
        above = int(np.sum(scores > pair.truth))
        assert binomial_p_value(above, runs, 0.1, "two-sided") > ALPHA


def test_a_score_limit_is_where_the_score_test_rejects():
    (limit,) = calibration._score_limits(np.array([[60, 30]]), 1000, 0.1)
    # The root by scipy of the score statistic, whose likeliest q is found by search.
    import scipy.optimize

    def statistic(theta):
        ratio = math.exp(theta)

        def surprise(q):
            p = ratio * q
            logs = 60 * math.log(p) + 940 * math.log1p(-p) + 30 * math.log(q)
            return -(logs + 970 * math.log1p(-q))

        q = scipy.optimize.minimize_scalar(
            surprise, bounds=(1e-4, 0.4), method="bounded", options={"xatol": 1e-12}
        ).x
        p = ratio * q
        spread = math.sqrt((p * (1 - p) + ratio**2 * q * (1 - q)) / 1000)
        return (0.06 - ratio * 0.03) / spread - 1.2815515655446004

    assert math.isclose(limit, scipy.optimize.brentq(statistic, -0.5, 0.69), rel_tol=1e-6)


def test_each_table_is_a_command(capsys):
    """And a line of 0.2.0 makes it, too, and says how it is made today."""
    words = ["--trials", "1e4", "--runs", "5", "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["calibration", *words])
    out, told = capsys.readouterr()
    found = json.loads(out)
    assert (ended.value.code or 0, told, len(found["rows"])) == (0, "", 25)
    status, out, told = run(capsys, "audit", "--calibration", *words)
    assert (status, json.loads(out)["found"]) == (0, found["found"])
    assert "is python -m benchmarks.audit_tables calibration --trials 1e4 --runs 5" in told
    for wrong, said in (
        (["bug"], "invalid choice"),
        (["bugs", "--runs", "0"], "--runs: it is 0; it must be"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert (ended.value.code, said in capsys.readouterr().err) == (2, True)
    assert run(capsys, "audit", "noisy_max", "--runs", "3")[0] == 2
    assert set(TABLES) == {"bugs", "zoo", "libraries", "calibration"}


# --- Libraries ------------------------------------------------------------------------

EFFORT = libraries.Effort(trials=10_000, seed=0, seconds=None, runs=1000)


def subject(words):
    (found,) = (one for one in libraries.SUBJECTS if words in one.name)
    return found


def test_libraries_that_are_installed_are_as_is_known_and_others_are_named(monkeypatch):
    only = [one for one in libraries.SUBJECTS if one.library == "dp-accounting"]
    monkeypatch.setattr(libraries, "SUBJECTS", only)
    absent = {"opendp", "autodp", "jax_privacy", "diffprivlib"}
    here = libraries.installed
    monkeypatch.setattr(libraries, "installed", lambda name: None if name in absent else here(name))
    rows = list(libraries.rows(1000, 0, None, 10))
    missing = {row["library"] for row in rows if row["verdict"] == "not installed"}
    assert missing == absent
    assert all("pip install" in row["measure"] for row in rows if row["library"] in absent)
    measured = [row for row in rows if row["library"] not in absent]
    assert len(measured) == len(only) >= 4
    assert all(row["verdict"] == row["known"] == "cleared" for row in measured)
    said, reached = libraries.judged(rows)
    assert said.startswith("0 found, 4 cleared, 0 cannot be judged; 4 of 4 are as is known")
    assert "opendp" in said
    assert reached


def test_a_table_is_not_reached_where_what_is_known_is_not_seen():
    broken = libraries.Subject("a", "b", lambda _: None, ("1.0",))
    assert [broken.expected(version) for version in ("1.0", "1.1")] == ["found", None]
    kept = libraries.Subject("a", "b", lambda _: None)
    assert kept.expected("1.1") == "cleared"
    seen = libraries.Seen("number", 1.0, 1.0, "cleared")
    rows = [
        libraries.looked(one._replace(look=lambda _: seen), "1.0", EFFORT) for one in (broken, kept)
    ]
    assert libraries.judged(rows)[1] is False
    assert libraries.judged(rows[1:])[1] is True


def test_what_a_library_raises_is_a_row():
    def raises(effort):
        raise OSError("no such\n symbol")

    row = libraries.looked(libraries.Subject("a", "b", raises), "1.0", EFFORT)
    assert (row["verdict"], row["measure"]) == ("cannot be judged", "OSError: no such symbol")
    assert not libraries.judged([row])[1]


@pytest.mark.parametrize("stop", [0.1, 0.9])
def test_runs_that_stop_by_another_chance_are_found(stop, seed, monkeypatch):
    look = subject(f"stop probability {stop:g}").look
    generator = np.random.default_rng(seed)
    for real, verdict in ((stop, "cleared"), (1.2 * stop if stop < 0.5 else 0.8, "found")):
        monkeypatch.setattr(
            libraries.mechanisms,
            "runs_of_selection",
            lambda probability, selections, real=real: generator.geometric(real, selections),
        )
        seen = look(EFFORT._replace(trials=50_000))
        assert seen.verdict == verdict
        assert seen.promised == pytest.approx(1 / stop)
        assert seen.found == pytest.approx(1 / real, rel=0.1)


@pytest.mark.parametrize(("share", "verdict"), [(0.05, "cleared"), (0.2, "found")])
def test_auditors_are_judged_by_their_false_alarms(share, verdict, seed, monkeypatch):
    generator = np.random.default_rng(seed)

    class CanaryScoreAuditor:
        def __init__(self, inside, outside):
            assert len(inside) + len(outside) == 200

        def epsilon_from_gdp(self, significance, delta):
            assert significance == 0.05
            return float(generator.random() < share)

    module = types.ModuleType("jax_privacy.auditing")
    module.CanaryScoreAuditor = CanaryScoreAuditor
    monkeypatch.setitem(sys.modules, "jax_privacy", types.ModuleType("jax_privacy"))
    monkeypatch.setitem(sys.modules, "jax_privacy.auditing", module)
    seen = subject("from a Gaussian").look(EFFORT)
    assert seen.verdict == verdict
    assert seen.found == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize("relation", ["general", "monotone"])
def test_an_accountant_that_forgets_that_queries_fall_is_found(relation, monkeypatch):
    class Mechanism:
        falls = 1.0  # how often a query that falls is paid for

        def __init__(self, params):
            self.params = params

        def RenyiDP(self, order):
            assert order == np.inf
            return (self.falls * self.params["c"] + 1.0) / self.params["b"]

    module = types.ModuleType("autodp.mechanism_zoo")
    module.LaplaceSVT_Mechanism = Mechanism
    monkeypatch.setitem(sys.modules, "autodp", types.ModuleType("autodp"))
    monkeypatch.setitem(sys.modules, "autodp.mechanism_zoo", module)
    look = subject(f"{relation} queries, b = 10, cut-off 1").look
    verdicts = []
    for falls in (1.0, 2.0):
        monkeypatch.setattr(Mechanism, "falls", falls)
        verdicts.append(look(EFFORT).verdict)
    assert verdicts == (["found", "cleared"] if relation == "general" else ["cleared"] * 2)


@pytest.mark.parametrize(("scale", "verdict"), [(1.0, "cleared"), (0.5, "found")])
def test_a_library_function_is_audited_by_its_file(scale, verdict, tmp_path, monkeypatch):
    file = tmp_path / "mechanisms.py"
    file.write_text(
        f"import numpy as np\nGENERATOR = np.random.default_rng()\n\n\n"
        f"def noisy(data):\n    return data + GENERATOR.laplace(scale={scale})\n\n\n"
        "def low(data):\n    return False\n"
    )
    monkeypatch.setattr(libraries.mechanisms, "__file__", str(file))
    seen = libraries._audited("noisy", lambda: 1.0, EFFORT)
    assert (seen.verdict, seen.promised) == (verdict, 1.0)
    assert seen.found < 1.0 / scale
    assert libraries._audited("low", lambda: 1.0, EFFORT, inputs=(0.0, 1.0)).verdict == "cleared"


def test_low_bits_are_told_from_none():
    has = libraries.mechanisms.has_low_bits
    assert not any(map(has, (0.0, 1.0, -3.0, 1 - 2.0**-53, 5 * 2.0**-53)))
    assert all(map(has, (2.0**-54, 0.1 * 2.0**-3, -(2.0**-60))))
