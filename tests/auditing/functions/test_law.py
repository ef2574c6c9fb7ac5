"""Outcomes beside the law that a function's documentation promises."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats

import jaxsel
from jaxsel.auditing.functions import law as law_module
from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.calls import Did
from jaxsel.auditing.functions.drawing import Draws
from jaxsel.auditing.functions.law import check_law
from jaxsel.auditing.functions.outcomes import table
from jaxsel.host.errors import CouldNotError, InputError, UnsupportedError
from jaxsel.host.intervals import binomial_p_value
from tests.conftest import ALPHA


def _laplace(rng, data, n, scale=2.0):
    return sum(data) + rng.laplace(scale=scale, size=n)


def _poisson(rng, data, n, mean=3.0):
    return sum(data) + rng.poisson(mean, n)


def _answer(rng, data, n, other=0.2):
    places = rng.choice(3, p=[0.5, 0.5 - other, other], size=n)
    return np.array(["yes", "no", None], object)[places]


def _here(function):
    """The same function, called in this process: no other can import it."""
    return lambda rng, data, n, **settings: function(rng, data, n, **settings)


# A function, its law, and what makes it another by 5 %.
CASES = {
    "continuous": (_laplace, "laplace:loc=3,scale=2", {"scale": 2.1}),
    "frozen": (_laplace, scipy.stats.laplace(3, 2), {"scale": 1.9}),
    "discrete": (_poisson, "poisson:mu=3,loc=3", {"mean": 3.15}),
    "mapping of numbers": (
        _poisson,
        {k + 3: float(scipy.stats.poisson(3).pmf(k)) for k in range(60)},
        {"mean": 2.85},
    ),
    "words": (_answer, {"yes": 0.5, "no": 0.3, None: 0.2}, {"other": 0.19}),
    "wide": (
        lambda rng, data, n, size=10**6: rng.integers(size, size=n),
        "randint:low=0,high=1000000",
        {"size": 950_000},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_law_that_is_off_by_a_twentieth_is_refuted(case):
    function, law, wrong = CASES[case]
    options = {"law": law, "trials": 100_000, "confidence": 1.0 - ALPHA, "seed": 1}
    right = check_law(_here(function), [1, 2], **options)
    assert not right.refuted, right
    assert right.trials == sum(right.counts) == 100_000
    found = check_law(_here(function), [1, 2], **options, settings=wrong)
    assert found.refuted, found
    assert "REFUTED" in str(found)
    for one in (right, found):
        assert "This speaks of one input, and not of privacy." in str(one)


@pytest.mark.parametrize("case", ["continuous", "discrete", "mapping of numbers"])
def test_a_right_law_is_refuted_as_often_as_is_said(case):
    function, law, _ = CASES[case]
    trials, runs, error = (2000, 300, 0.1)
    found = [
        check_law(
            _here(function), [1, 2], law=law, trials=trials, confidence=1.0 - error, seed=seed
        )
        for seed in range(runs)
    ]
    count = sum(one.refuted for one in found)
    assert binomial_p_value(count, runs, error, "greater") >= ALPHA
    # And the p-values are no mere ones: the test has its power from somewhere.
    assert sum(one.p_value < 0.5 for one in found) > runs / 20


def test_what_is_said_to_be_seen_is_seen_in_most_runs():
    law, trials, runs = {k: 1 / 20 for k in range(20)}, 5000, 200
    off = check_law(
        lambda rng, data, n: rng.integers(20, size=n), 0, law=law, trials=trials
    ).detectable
    shares = (1.0 + off * np.where(np.arange(20) % 2, 1.0, -1.0)) / 20

    def other(rng, data, n):
        return rng.choice(20, size=n, p=shares)

    count = sum(
        check_law(other, 0, law=law, trials=trials, seed=seed).refuted for seed in range(runs)
    )
    assert binomial_p_value(count, runs, 0.5, "less") >= ALPHA
    assert count > runs / 3


@pytest.mark.parametrize(
    ("function", "law", "seen"),
    [
        (lambda rng, data, n: rng.exponential(size=n) - 1e-3, "expon", "-0.0"),
        (lambda rng, data, n: np.where(rng.random(n) < 1e-3, np.nan, rng.random(n)), "uniform",
         "nan"),
        (lambda rng, data, n: rng.poisson(3, n) + 0.5 * (rng.random(n) < 1e-3), "poisson:mu=3",
         ".5"),
        (lambda rng, data: 1 / (rng.random() > 0.01) and int(rng.integers(2)), {0: 0.5, 1: 0.5},
         "raised ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_a_law_never_gives_refutes_it_and_is_shown(function, law, seen):
    found = check_law(function, 0, law=law, trials=20_000, confidence=1.0 - ALPHA)
    assert found.p_value == 0.0
    assert found.cells[-1].startswith("anything else, such as ")
    assert seen in found.cells[-1]
    assert 0 < found.counts[-1] < 2000
    assert found.cells[-1] in str(found)


def test_an_end_of_a_support_is_rounded_as_numbers_are():
    # .1 in float32 lies above .1.
    def rounded(rng, data, n):
        return np.minimum(rng.uniform(0, 0.1, n) * 1.05, 0.1).astype(np.float32)

    found = check_law(rounded, 0, law="uniform:loc=0,scale=0.1", trials=2000)
    assert found.counts[-1] == 0
    assert found.refuted  # by the twentieth of it that is moved to its end


def test_numbers_of_a_mapping_are_equal_whatever_their_type():
    law = {1: 0.5, 0: 0.5}
    for make in (float, int, np.float32):
        found = check_law(lambda rng, data, m=make: m(rng.random() < 0.5), 0, law=law, trials=2000)
        assert not found.counts[-1]
        assert not found.refuted
    # Truth values are no numbers.
    found = check_law(lambda rng, data: bool(rng.random() < 0.5), 0, law={True: 0.5, False: 0.5},
                      trials=2000)  # fmt: skip
    assert not found.counts[-1]


def test_cells_of_few_expected_trials_do_not_raise_the_alarm():
    # A law with many rare points: each would be far off in standard deviations.
    law = {k: 2.0**-k / 1.0 for k in range(1, 40)} | {40: 2.0**-39}
    runs, error = 200, 0.1

    def geometric(rng, data, n):
        return np.minimum(rng.geometric(0.5, n), 40)

    count = sum(
        check_law(geometric, 0, law=law, trials=1000, confidence=1.0 - error, seed=seed).refuted
        for seed in range(runs)
    )
    assert binomial_p_value(count, runs, error, "greater") >= ALPHA


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("laplac:loc=3", "no distribution of scipy.stats; did you mean laplace"),
        ("laplace:lok=3", "laplace has no 'lok'; write laplace:loc=..,scale=.."),
        ("laplace:loc=1,loc=2", "loc is given twice"),
        ("laplace:loc=a", "loc must be a finite number"),
        ("gamma:loc=3", "gamma needs a; write gamma:a=..,loc=..,scale=.."),
        (scipy.stats.gamma, "give its parameters: a"),
        ("laplace:loc=3,scale=-1", "a parameter is out of range"),
        ({"a": 0.5, "b": 0.4}, "they sum to 0.9"),
        ({}, "they sum to 0"),
        ({"a": -0.5, "b": 1.5}, "non-negative"),
        (3.0, "it must be a distribution of scipy.stats"),
    ],
)
def test_bad_laws_are_refused_in_a_sentence(law, message):
    with pytest.raises(InputError, match=message):
        check_law(_laplace, [1, 2], law=law, trials=1000)


def test_what_cannot_be_judged_is_neither_right_nor_wrong():
    with pytest.raises(UnsupportedError, match="a function that returns one"):
        check_law(lambda rng, data: [rng.random()] * 2, 0, law="uniform", trials=1000)
    with pytest.raises(CouldNotError, match="gave no answer"):
        check_law(lambda rng, data: 1 / 0, 0, law="uniform", trials=1000)
    with pytest.raises(CouldNotError, match="one draw is shared"):
        check_law(lambda rng, data, n: np.full(n, rng.random()), 0, law="uniform", trials=20_000)

    # Every sixteen rows share a draw: too little for the first look, and seen in the counts.
    def lumps(rng, data, n):
        return np.where(rng.random() < 0.5, 0.4, 0.6) + rng.uniform(-0.4, 0.4, n)

    with pytest.raises(CouldNotError, match="more than chance"):
        check_law(lumps, 0, law="uniform", trials=200_000)
    # A constant that is promised is right.
    found = check_law(lambda rng, data: 3, 0, law={3: 1.0}, trials=1000)
    assert not found.refuted


@pytest.mark.parametrize("groups", [1, 2, 3, 4])
def test_no_call_is_lost_where_counts_are_paired(monkeypatch, groups):
    """Counts of calls are kept apart up to so many; with more, every two are added."""
    law = {k: 0.25 for k in range(4)}

    def check():
        return check_law(
            lambda rng, data, n: rng.integers(4, size=n), 0, law=law, trials=1000, seed=2
        )

    monkeypatch.setattr(law_module, "_AT_ONCE", 100)
    whole = check()
    assert whole.trials == sum(whole.counts) == 1000
    seen = []
    check_shares = law_module.check_shares

    def recorded(name, event, counts, sizes):
        seen.append((int(counts.sum()), int(sizes.sum()), len(sizes)))
        return check_shares(name, event, counts, sizes)

    monkeypatch.setattr(law_module, "check_shares", recorded)
    monkeypatch.setattr(law_module, "_GROUPS", groups)
    found = check()
    assert found.counts == whole.counts
    assert (found.trials, found.p_value, found.limited) == (1000, whole.p_value, False)
    ((count, trials, calls),) = seen
    assert count in whole.counts
    assert trials == 1000
    assert calls <= groups


def test_every_two_counts_are_added_and_the_last_of_an_odd_number_is_kept():
    for number in range(1, 8):
        counts = [np.array([1, 10 * place]) for place in range(number)]
        paired = law_module._paired(counts)
        assert len(paired) == (number + 1) // 2
        assert sum(paired).tolist() == sum(counts).tolist()
        assert [int(one[0]) for one in paired] == [2] * (number // 2) + [1] * (number % 2)


POINTS = {
    "poisson": (scipy.stats.poisson(3.0), range(-3, 60)),
    "moved": (scipy.stats.poisson(3.0, loc=-7), range(-12, 50)),
    "few": (scipy.stats.binom(4, 0.3), range(-2, 8)),
    "many points": (scipy.stats.randint(-5000, 5000), range(-5003, 5003)),
    "wide": (scipy.stats.poisson(40_000), range(38_000, 42_000)),
}


@pytest.mark.parametrize("trials", [100, 3000, 100_000])
@pytest.mark.parametrize("name", POINTS)
def test_points_fall_into_cells_with_the_probabilities_that_are_said(name, trials):
    known, points = POINTS[name]
    cells = law_module._cells(known, trials)
    values = np.array([*points, math.nan, math.inf, -math.inf])
    places = cells.places(table(values))
    weights = np.append(known.pmf(np.array(points)), [0.0] * 3)
    possible = weights > 0.0
    assert (places[~possible] == len(cells.words) - 1).all()
    found = np.bincount(places, weights, minlength=len(cells.words))
    assert found == pytest.approx(cells.probabilities, abs=1e-9)
    assert sum(cells.probabilities) == pytest.approx(1.0)
    assert cells.probabilities[-1] == 0.0
    # Points in a cell are neighbours, and a cell of one point is named by it.
    inside = values[possible]
    assert (np.diff(places[possible]) >= 0).all()
    for place, word in enumerate(cells.words[:-1]):
        held = inside[places[possible] == place]
        if word.lstrip("-").isdigit():
            assert held.tolist() == [float(word)]
        elif word.startswith("at most "):
            assert not held.size or held.max() <= float(word.removeprefix("at most "))


@pytest.mark.parametrize("trials", [100, 3000])
def test_intervals_are_quantiles_of_equal_probability(trials):
    known = scipy.stats.laplace(3.0, 2.0)
    cells = law_module._cells(known, trials)
    number = len(cells.words) - 1
    assert number == max(min(math.ceil(2.0 * trials**0.4), trials // 5), 2)
    assert cells.probabilities == pytest.approx([1.0 / number] * number + [0.0])
    inside = known.ppf((np.arange(number)[:, None] + [1e-6, 0.5, 1 - 1e-6]) / number)
    assert cells.places(table(inside.ravel())).tolist() == np.repeat(range(number), 3).tolist()
    ends = scipy.stats.uniform(-2.0, 3.0)
    cells = law_module._cells(ends, trials)
    found = cells.places(table(np.array([-2.0, -2.001, 1.0, 1.001, math.nan, math.inf])))
    assert found.tolist() == [0, number, number - 1, number, number, number]


def test_deviations_are_in_standard_deviations_of_a_count():
    expected = np.array([10.0, 50.0, 40.0, 0.0, 0.0])
    counts = np.array([13, 50, 33, 4, 0])
    spread = np.sqrt(expected * (1 - expected / 100.0))
    found = law_module._deviations(counts, expected)
    assert found[:3] == pytest.approx((counts - expected)[:3] / spread[:3])
    assert found[3] == math.inf
    assert found[4] == 0.0


@pytest.mark.parametrize("error", [0.05, 1e-6])
def test_what_is_detectable_has_the_stated_power(error):
    # Of five cells, two are expected to hold fewer than five trials.
    probabilities = np.array([0.5, 0.3, 0.195, 0.004, 0.001])
    trials = 1000
    found = law_module._detectable(probabilities, trials, error)
    limit = scipy.stats.chi2.isf(error / 2.0, 2)
    assert scipy.stats.ncx2.sf(limit, 2, trials * found**2) == pytest.approx(0.8, abs=1e-6)


def test_a_summary_shows_the_cells_that_deviate_most():
    law = {k: 0.1 for k in range(10)}
    found = check_law(lambda rng, data, n: rng.integers(10, size=n), [1, 2], law=law, trials=1000)
    spread = math.sqrt(100 * 0.9)
    moved = sorted(range(10), key=lambda k: -abs(found.counts[k] - 100))
    rows = found.summary().rows
    assert len(rows) == 8
    assert [float(row[3]) for row in rows] == [
        pytest.approx(abs(found.counts[k] - 100) / spread, abs=0.006) for k in moved[:8]
    ]
    for cell, seen, expected, _ in rows:
        assert seen == found.counts[int(cell)]
        assert expected == "100.0"
    assert f"{100 * found.detectable:.2g} %" in found.summary().sentence
    refuted = found._replace(p_value=0.01)
    assert refuted.refuted
    assert "p-value 0.01, false-alarm rate 0.05" in refuted.summary().sentence
    assert found._replace(p_value=found.false_alarm).refuted
    assert not found._replace(p_value=0.0501).refuted


def test_time_ends_a_check_and_it_says_so():
    found = check_law(
        lambda rng, data: rng.random(), 0, law="uniform", trials=10**8, how="seconds=1"
    )
    assert found.limited
    assert found.trials < 10**8
    assert "the time ended" in str(found)


def test_a_key_of_jax_and_the_public_name_and_a_picture():
    import jax

    def in_jax(key, data):
        return data.sum() + jax.random.laplace(key)

    found = jaxsel.check_law(in_jax, [1.0, 2.0], law="laplace:loc=3", trials=30_000)
    assert not found.refuted
    figure = found.plot()
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["the law", "seen"]
    assert math.isclose(sum(found.probabilities), 1.0)


def test_no_jax_is_imported_for_a_law():
    script = (
        "import sys\nimport jaxsel\n"
        "found = jaxsel.check_law(lambda rng, data: rng.random(), 0, law='uniform', trials=500)\n"
        "print(found.trials, 'jax' in sys.modules, 'matplotlib' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["500", "False", "False"], done.stderr


@pytest.fixture(name="file", scope="module")
def _file(tmp_path_factory):
    path = tmp_path_factory.mktemp("laws") / "mine.py"
    path.write_text(
        "def f(rng, data, n, scale=2.0):\n    return sum(data) + rng.laplace(scale=scale, size=n)\n"
    )
    return str(path)


def _run(*words):
    from jaxsel.cli import main

    with pytest.raises(SystemExit) as stop:
        main(["check-law", *words])
    return stop.value.code or 0


def test_the_command_exits_by_its_verdict(file, capsys):
    asked = [f"{file}:f", "--data", "[1, 2]", "--trials", "5e4", "--confidence", "0.999999"]
    right = "laplace:loc=3,scale=2"
    assert _run(*asked, "--law", right, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["refuted"], found["trials"], found["law"]) == (False, 50_000, right)
    assert _run(*asked, "scale=2.2", "--law", right) == 1
    assert "REFUTED" in capsys.readouterr().out
    for more, message in (
        (["--relation", "l1"], "No such option: --relation"),
        (["--how", "bits=yes"], "how has no part 'bits'"),
    ):
        assert _run(*asked, "--law", right, *more) == 2
        assert message in capsys.readouterr().err
    assert _run(f"{file}:f", "--law", right) == 2
    assert "give --law and --data" in capsys.readouterr().err
    assert _run("noisy_max", "--law", right, "--data", "0") == 2
    assert "'noisy_max' names no function" in capsys.readouterr().err


def test_a_picture_of_a_law_shows_what_it_never_gives_where_it_was_seen():
    for law, shown in (({0: 0.5, 1: 0.5}, 2), ({0: 1.0}, 2)):
        found = check_law(
            lambda rng, data, n: (rng.random(n) < 0.5).astype(int), 0, law=law, trials=1000
        )
        (axes,) = found.plot().axes
        words = [text.get_text() for text in axes.get_xticklabels()]
        assert words == list(found.cells[:shown])
        (line,) = (one for one in axes.get_lines() if one.get_label() == "the law")
        assert list(line.get_ydata()) == list(found.probabilities[:shown])
    assert found.cells[1] == "anything else, such as 1"
    assert (found.p_value, found.refuted) == (0.0, True)


def test_a_law_in_words_is_the_law():
    for text, known in (
        ("laplace:loc=3,scale=2", scipy.stats.laplace(3.0, 2.0)),
        ("gamma:a=2.5,loc=-1,scale=0.5", scipy.stats.gamma(2.5, -1.0, 0.5)),
        ("uniform", scipy.stats.uniform()),
        (" norm: loc = 2 ".strip().replace(" ", ""), scipy.stats.norm(2.0)),
    ):
        found = law_module._parsed(text)
        points = known.ppf([0.1, 0.5, 0.9])
        assert found.cdf(points) == pytest.approx([0.1, 0.5, 0.9])
    assert law_module._shown(scipy.stats.laplace(3, scale=2)) == "laplace:3,scale=2"
    found = law_module._cells({"a": 0.25, "b": 0.75, "c": 0.0}, 100)
    assert found.said == "{'a': 0.25, 'b': 0.75, 'c': 0}"
    five = law_module._cells(dict.fromkeys("abcde", 0.2), 100)
    assert five.said == "{'a': 0.2, 'b': 0.2, 'c': 0.2, 'd': 0.2, ...}"
    assert found.probabilities.tolist() == [0.25, 0.75, 0.0, 0.0]
    assert found.places(table(["b", "x", "a", 0.5])).tolist() == [1, 3, 0, 3]
    numbers = law_module._cells({2: 0.25, -1: 0.25, 0.5: 0.5}, 100)
    seen = table(np.array([0.5, 2.0, -1.0, 7.0, -9.0, math.nan]))
    assert numbers.places(seen).tolist() == [2, 0, 1, 3, 3, 3]


@pytest.mark.parametrize(("sums", "refused"), [(1 + 9e-10, False), (1 + 2e-9, True), (0.9, True)])
def test_probabilities_of_a_mapping_sum_to_1(sums, refused):
    law = {"a": 0.5, "b": sums - 0.5}
    if refused:
        with pytest.raises(InputError, match="must be non-negative and sum to 1"):
            law_module._cells(law, 100)
    else:
        assert law_module._cells(law, 100).probabilities[:2].tolist() == [0.5, sums - 0.5]
    with pytest.raises(InputError, match="non-negative"):
        law_module._cells({"a": 1.5, "b": -0.5}, 100)


def test_calls_that_share_a_draw_are_looked_for_in_the_cell_that_is_most_off():
    """Of one input's outcomes, every call has its own share of the rarest."""
    seen = []
    plain = law_module.check_shares

    def noted(name, event, counts, sizes):
        seen.append((event, counts.tolist(), sizes.tolist()))
        return plain(name, event, counts, sizes)

    def function(rng, data, n):
        return rng.choice(3, p=[0.5, 0.3, 0.2], size=n)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(law_module, "check_shares", noted)
        patched.setattr(law_module, "_AT_ONCE", 400)
        found = check_law(function, 0, law={0: 0.5, 1: 0.45, 2: 0.05}, trials=1000)
    ((event, counts, sizes),) = seen
    assert event == "the outcome is 2"
    assert sizes == [400, 400, 200]
    assert sum(counts) == found.counts[2]
    assert found.refuted


def test_a_limit_of_time_of_a_check_and_of_its_calls(monkeypatch):
    asked = []
    plain = law_module.check_independence
    monkeypatch.setattr(
        law_module,
        "check_independence",
        lambda draws, data, seconds: (
            asked.append((draws.call_seconds, seconds)) or plain(draws, data, seconds)
        ),
    )
    given = {"law": "uniform", "trials": 200}
    single = lambda rng, data: rng.random()  # noqa: E731
    check_law(single, 0, **given, how="seconds=50")
    check_law(single, 0, **given, how="seconds=50,call_seconds=7")
    check_law(single, 0, **given)
    assert asked == [(2.5, 10.0), (7.0, 10.0), (None, math.inf)]


def test_matrices_have_the_law_of_a_mapping():
    def function(rng, data, n):
        return rng.choice([0.0, 1.0], size=n)[:, None, None] * np.ones((n, 1, 2))

    law = {((0.0, 0.0),): 0.5, ((1.0, 1.0),): 0.5}
    found = check_law(function, 0, law=law, trials=2000, confidence=1.0 - ALPHA)
    assert found.counts[-1] == 0
    assert not found.refuted


def test_one_answer_is_enough_for_a_check():
    raised = Did("raised ValueError")
    cells = law_module._cells("uniform", 100)
    draws = Draws(load(_answer)._replace(name="f"))
    law_module._check_kind(draws, table([raised, raised, 0.5]), cells)
    with pytest.raises(CouldNotError, match="f gave no answer in any trial: raised ValueError"):
        law_module._check_kind(draws, table([raised, Did("no answer within the limit")]), cells)
    with pytest.raises(UnsupportedError, match="f returns 'a'; a law of numbers"):
        law_module._check_kind(draws, table(["a", "b"]), cells)
    law_module._check_kind(draws, table(["a", "b"]), law_module._cells({"a": 1.0}, 100))


def test_a_law_is_called_by_its_name_or_shown_as_it_is():
    class Triangle:
        """What has a distribution function, its quantiles and a support is a law."""

        cdf, ppf, support = (staticmethod(getattr(scipy.stats.triang(0.5), part))
                             for part in ("cdf", "ppf", "support"))  # fmt: skip

        def __repr__(self):
            return "a triangle"

    assert law_module._cells(scipy.stats.norm, 100).said == "norm"
    assert law_module._cells(Triangle(), 100).said == "a triangle"
    assert law_module._cells(scipy.stats.norm(1.0, 2.0), 100).said == "norm:1,2"
