"""What answers of the accountant say beside their number, and how they are asked for."""

import inspect
import math
import re

import pytest

import jaxsel
from jaxsel import catalogue, repetitions
from jaxsel.cli import main
from jaxsel.host.errors import InputError
from jaxsel.language.default_delta import DELTA

_BASE = "gaussian:noise_multiplier=4"
_QUICK = "pure:epsilon=0.1"


pytestmark = pytest.mark.usefixtures("coarse_prices")


def _refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return " ".join(said.split())


@pytest.mark.parametrize("base", [_BASE, "approximate:epsilon=0.1,delta=1e-9"])
def test_a_fixed_number_of_runs_names_the_price_of_the_grid(base):
    """Forty settings, each tried once, are not forty runs that draw theirs."""
    found = jaxsel.account(base, "point_mass:count=40", attain=False)
    said = " ".join(found.sentences())
    found = re.search(
        r"Each of the 40 runs draws its candidate at random; \((\S+), 1e-06\) is proved of "
        r"40 given candidates, each run once \(--drawn grid:n=40\)\.",
        said,
    )
    assert found is not None
    grid = jaxsel.account_grid(base, 40)
    assert f"({found[1]}, 1e-06)" in grid.sentences()[0]
    assert 0.0 <= float(found[1]) - grid.every.best.epsilon < 1.01e-4


def test_only_a_fixed_number_of_runs_has_a_grid_beside_it():
    for law in ("geometric:mean=40", "point_mass:count=1", "pmf:0=0.5,3=0.5"):
        found = jaxsel.account(_QUICK, law, attain=False)
        assert math.isnan(found.grid)
        assert "given candidates" not in str(found)
    three = jaxsel.account(_QUICK, "pmf:3=1", attain=False)
    assert three.grid == jaxsel.account_grid(_QUICK, 3).every.best.epsilon


@pytest.mark.parametrize(
    ("law", "fixed"),
    [
        ("point_mass:count=40", True),
        ("pmf:40=1", True),
        ("geometric:mean=40", False),
        ("pmf:0=0.1,40=0.9", False),
        ("poisson:mean=5,capped=6", False),
    ],
)
def test_what_is_always_the_same_number_is_not_called_secret(law, fixed):
    """Everyone knows a K that is always 40; the other runs stay secret all the same."""
    search = jaxsel.release(_QUICK, law, 2)
    answers = [
        jaxsel.account(_QUICK, law, attain=False).sentences(),
        jaxsel.compose(search, 1e-6).sentences(),
        jaxsel.compose(search, epsilon=9.0).sentences(),
        jaxsel.account_grid(_QUICK, 5, repetitions=law).sentences(),
    ]
    for sentences in answers:
        said = " ".join(sentences)
        assert "the other runs and their scores" in said
        assert ("K, the other runs" in said) == (not fixed)


def test_a_search_beside_one_of_a_fixed_number_keeps_its_own_secret():
    both = [jaxsel.release(_BASE, law) for law in ("point_mass:count=2", "geometric:mean=3")]
    assert "keep K, the other runs" in " ".join(jaxsel.compose(both).sentences())


@pytest.mark.parametrize("text", ["40", " 40 ", "40.0", "4e1"])
def test_a_number_for_a_law_is_refused_with_the_law_that_is_meant(capsys, text):
    said = _refused(capsys, "account", "--base", _BASE, "--repetitions", text)
    assert "did you mean point_mass:count=40?" in said
    for name in ("tnb", *repetitions.FAMILIES[:8]):
        assert re.search(rf"\b{name}\b", said.partition("one of:")[2])


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "nan", "inf", "forty"])
def test_what_is_no_number_of_runs_is_not_meant(capsys, text):
    said = _refused(capsys, "account", "--base", _BASE, "--repetitions", text)
    assert "did you mean point_mass" not in said
    assert "must be one of:" in said


@pytest.mark.parametrize("number", [40, 40.0])
@pytest.mark.parametrize(
    "ask",
    [
        lambda law: jaxsel.account(_BASE, law, delta=1e-6),
        lambda law: jaxsel.account(_BASE, law, epsilon=1.0),
        lambda law: jaxsel.account_grid(_BASE, 5, repetitions=law),
        lambda law: jaxsel.release(_BASE, law),
        lambda law: jaxsel.compose({"base": _BASE, "repetitions": law}),
        repetitions.as_law,
    ],
)
def test_a_number_for_a_law_is_refused_in_python_too(ask, number):
    with pytest.raises(InputError, match="did you mean point_mass:count=40"):
        ask(number)


def test_every_public_function_with_a_law_reads_it_at_its_door():
    """A number, a list and None are refused in a sentence wherever a law is taken."""
    asked = {}
    for name in jaxsel.__all__:
        function = getattr(jaxsel, name)
        if inspect.isfunction(function):
            parameters = inspect.signature(function).parameters
            if "repetitions" in parameters:
                asked[name] = function, parameters
    assert {"account", "account_grid", "release", "search_cost"} <= set(asked)
    for function, parameters in asked.values():
        needed = {
            key: {"epsilon": 1.0, "candidates": 5, "base": _BASE}.get(key)
            for key, parameter in parameters.items()
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        }
        for law in (40, [1, 2]):
            with pytest.raises(InputError, match="law of K"):
                function(**needed | {"repetitions": law})
    for law in (40, [1, 2]):
        with pytest.raises(InputError, match="law of K"):
            jaxsel.audit_function(
                lambda data: 0.0, relation="local", claim=1.0, how={"repetitions": law}
            )


@pytest.mark.parametrize(
    ("base", "named"),
    [
        ("gaussian:noise_multiplier=high", "noise_multiplier of gaussian is 'high'"),
        ("gaussian:noise_multiplier=", "noise_multiplier of gaussian is ''"),
        ("gaussian", "noise_multiplier missing; write gaussian:noise_multiplier="),
        ("approximate:epsilon=1", "delta missing; write approximate:epsilon=...,delta"),
        ("approximate:epsilon=1,delta=1e-6x", "delta of approximate is '1e-6x'"),
        ("dp_sgd:sampling_probability=0.1,steps=7", "noise_multiplier missing"),
        ("dp_sgd:sampling_probability=0.1,noise_multiplier=1", "steps missing"),
        ("dp_sgd:n=40,batch_size=4,sigma=3,epochs=many", "epochs of dp_sgd is 'many'"),
        ("gaussian:4", "'4' in 'gaussian:4' must be one name=number"),
        ("points:0.5=small", "0.5 of points is 'small'"),
        ("gaussian:noise_multiplier=4,noise=5", "noise"),
    ],
)
def test_a_refused_base_names_the_parameter(capsys, base, named):
    """One sentence about what is wrong, not a list of every form there is."""
    said = _refused(capsys, "account", "--base", base, "--repetitions", "poisson:mean=3")
    assert named in said
    assert "points:FILE" not in said
    assert len(said) < 220


def test_an_unknown_mechanism_names_the_nearest_few_and_how_to_list_all():
    with pytest.raises(InputError) as caught:
        jaxsel.mechanism("sparse_vectr")
    said = str(caught.value)
    assert "did you mean sparse_vector" in said
    assert "jaxsel list mechanisms" in said
    close = said.partition("did you mean ")[2].partition("?")[0].split(", ")
    assert 2 <= len(close) <= 3
    names = [entry.name for entry in catalogue.mechanisms()]
    assert set(close) <= set(names)
    assert len(said) < 200
    with pytest.raises(InputError) as caught:
        jaxsel.mechanism("zzz")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    "asked",
    [
        ["--repetitions", "geometric:mean=3"],
        ["--repetitions", "geometric:mean=3", "--times", "2"],
        ["--drawn", "grid:n=3"],
    ],
)
@pytest.mark.parametrize("base", ["pure:epsilon=0.1", "approximate:epsilon=1,delta=0.1"])
def test_an_answer_says_that_its_delta_is_the_default(capsys, asked, base):
    """Proved or not; of a delta that was asked for nothing is said, nor in JSON."""
    command = ["account", "--base", base, *asked]
    codes = []
    for more in ([], ["--delta", "1e-6"], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, *more])
        codes.append(ended.value.code or 0)
        said = " ".join(capsys.readouterr().out.split())
        assert ("delta = 1e-06 is the default" in said) == (more == [])
    assert len(set(codes)) == 1
    assert codes[0] == (1 if "approximate" in base else 0)


def test_the_default_delta_is_known_in_one_place():
    for function in (jaxsel.account_grid, jaxsel.plan_releases, jaxsel.plan, jaxsel.optimal):
        assert inspect.signature(function).parameters["delta"].default is DELTA
    # These ask at an epsilon, too, and tell by None which of the two is given.
    assert jaxsel.account("pure:epsilon=1", "geometric:mean=3", attain=False).delta is DELTA
    assert jaxsel.compose({"base": "pure:epsilon=1"}).delta is DELTA


@pytest.mark.parametrize(("noise", "larger"), [(40.0, "training"), (0.5, "validation")])
def test_noise_on_the_score_covers_the_records_that_validate(noise, larger):
    """The count moves by 1 with a validation record: a Gaussian release, tuned alike."""
    law, delta = "geometric:mean=5", 1e-3
    quick = {"attain": False}
    found = jaxsel.account("pure:epsilon=1", law, delta, score_noise=noise, **quick)
    count = jaxsel.account(f"gaussian:noise_multiplier={noise}", law, delta, **quick)
    alone = jaxsel.account("pure:epsilon=1", law, delta, **quick)
    record = found.as_record()
    assert record["score_epsilon"] == count.best.epsilon
    assert record["epsilon"] == alone.best.epsilon
    both = max(count.best.epsilon, alone.best.epsilon)
    assert (both == alone.best.epsilon) is (larger == "training")
    said = re.search(
        r"right keeps \((\S+), 0\.001\).* the search is \((\S+), 0\.001\)-differentially "
        "private for all",
        found.sentences()[-1],
    )
    assert said is not None
    assert 0.0 <= float(said[1]) - count.best.epsilon < 1.01e-4
    assert 0.0 <= float(said[2]) - both < 1.01e-4
    statement = jaxsel.report(found).statement
    assert statement.subject.proof.epsilon == both
    assert [part.records for part in statement.subject.parts] == [
        "training records",
        "validation records",
    ]


def test_what_score_noise_cannot_say_is_said(capsys):
    found = jaxsel.account(_QUICK, "geometric:mean=5", 0.0, score_noise=3.0)
    assert "proves nothing for those examples" in found.sentences()[-1]
    with pytest.raises(InputError, match="nothing is proved of score noise 3"):
        jaxsel.report(found)
    with pytest.raises(InputError, match="score_noise is 0"):
        jaxsel.account(_QUICK, "geometric:mean=5", score_noise=0.0)
    search = ["--base", _QUICK, "--repetitions", "geometric:mean=5", "--score-noise", "3"]
    for more in (["--times", "2"], ["--epsilon", "1"], ["--drawn", "grid:n=5"]):
        assert "--score-noise is for one search" in _refused(capsys, "account", *search, *more)
    assert "--score-noise is for one search" in _refused(capsys, "report", *search, "--times", "2")


_DEFAULTS = {
    "plan": ["--runs", "3", "--base", "pure:epsilon=0.5"],
    "plan-releases": ["stable_top_k", "--epsilon", "1"],
    "optimal": ["--base", "pure:epsilon=0.5", "--runs", "3", "--most", "20"],
    "report": ["--base", _QUICK, "--repetitions", "geometric:mean=3"],
}


@pytest.mark.parametrize("command", list(_DEFAULTS))
@pytest.mark.parametrize("given", [True, False])
def test_an_answer_at_the_default_delta_says_so(capsys, command, given):
    words = [command, *_DEFAULTS[command]]
    with pytest.raises(SystemExit) as ended:
        main(words + (["--delta", "1e-6"] if given else []))
    assert not ended.value.code
    captured = capsys.readouterr()
    said = " ".join((captured.out + captured.err).split())
    assert ("delta = 1e-06 is the default, as none was given" in said) is not given
