"""The command line as people and scripts use it."""

import io
import json
import os
import pydoc
import re
import runpy
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import benchmarks as bench
import jaxsel
from jaxsel import catalogue
from jaxsel.catalogue import published_claims, self_checks
from jaxsel.cli import main
from jaxsel.host import source_digest
from jaxsel.questions import checkout


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def run_json(capsys, *arguments: str):
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)


def keep_no_programs(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """What a command compiles and reads of the sources goes to a folder that nobody else uses."""
    patch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder / "compiled"))
    patch.setattr(source_digest, "cache_in", lambda folder: None)


@pytest.fixture(autouse=True)
def no_compilation_cache(monkeypatch, tmp_path):
    keep_no_programs(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "account",
        "tune",
        "ledger",
        "list",
        "show",
        "claim",
        "law",
        "simulate",
        "audit",
        "audit-function",
        "replay",
        "check-law",
        "sweep",
        "merge",
        "plan",
        "optimal",
        "report",
        "validate",
        "bench",
    ],
)
def test_every_help_text_explains(capsys, command):
    code, out, _ = run(capsys, *filter(None, [command]), "--help")
    assert code == 0
    assert "Usage" in out
    assert len(out.splitlines()) > 8
    assert not command or ("--seed" in out and "--json" in out)


@pytest.mark.parametrize(
    "command",
    [
        *("law", "list", "simulate", "audit", "audit-function", "replay", "check-law"),
        *("validate", "bench"),
    ],
)
def test_the_examples_of_a_help_text_run(capsys, monkeypatch, tmp_path, command):
    """As they stand, but with few trials; a bench and what validates all is only read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def my_mean(rng, data, n, epsilon=1.0):\n"
        "    noise = rng.laplace(scale=1 / (len(data) * epsilon), size=n)\n"
        "    return sum(data) / len(data) + noise\n"
    )
    monkeypatch.setattr(bench, "run", lambda goals, **_: [check_goal(g) for g in goals])
    monkeypatch.setattr(bench, "run_mechanisms", lambda names, **_: {"rows": []})
    monkeypatch.setattr(catalogue, "all_claims", lambda: published_claims()[:1])
    _, out, _ = run(capsys, command, "--help")
    examples = re.findall(rf"^  jaxsel ({command} .*)$", out, re.M)
    assert 1 <= len(examples) <= 3
    few = {"simulate": "1000", "audit": "1000", "validate": "1000", "audit-function": "2000"}
    few["check-law"] = "1000"
    more = ["--trials", few[command]] if command in few else []
    for example in examples:
        asked = re.sub(r" --trials \S+", "", example) if more else example
        code, _, err = run(capsys, *shlex.split(asked), *more)
        refuted = example.startswith("audit fixed_repetitions") or example.endswith("--how bits")
        assert (code, err) == (int(refuted), ""), example


def check_goal(goal: int) -> bench.GoalResult:
    assert goal in bench.GOALS
    return bench.GoalResult(goal, "", None, None, True, "", "")


def test_the_help_of_bench_lists_the_goals(capsys):
    _, out, _ = run(capsys, "bench", "--help")
    for goal, what in bench.GOALS.items():
        assert f"\n  {goal}: {what}\n" in out


def test_the_search_in_the_help_of_account_is_read(capsys, tmp_path):
    _, out, _ = run(capsys, "account", "--help")
    text = re.search(r"\n  (\[\[search\]\]\n.*?\n)\n", out, re.S)
    assert text is not None
    (tmp_path / "later.toml").write_text(textwrap.dedent("  " + text[1]))
    code, found = run_json(capsys, "account", "--search", str(tmp_path / "later.toml"))
    assert code == 0
    assert found["epsilon"] > 0.0


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out == f"jaxsel {jaxsel.__version__}\n"


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "jaxsel", "--version"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout.startswith("jaxsel ")


KINDS = (
    "mechanisms",
    "claims",
    "checks",
    "errata",
    "remarks",
    "repetitions",
    "bases",
    "figures",
    "sims",
)


@pytest.mark.parametrize("kind", KINDS)
def test_list(capsys, kind):
    code, rows = run_json(capsys, "list", kind)
    assert code == 0
    assert len(rows) > 5
    code, out, _ = run(capsys, "list", kind)
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == len(rows)
    for row, line in zip(rows, lines, strict=True):
        assert line.split("\t")[0] == next(iter(row.values()))
    assert len({line.count("\t") for line in lines}) == 1


def test_list_counts(capsys):
    code, sizes = run_json(capsys, "list")
    assert code == 0
    assert tuple(sizes) == KINDS
    assert all(size > 5 for size in sizes.values())
    assert sizes["claims"] == len(published_claims())
    assert sizes["checks"] == len(self_checks())


@pytest.mark.parametrize(
    ("filters", "test"),
    [
        (["--paper", "ps"], lambda row: "Papernot & Steinke" in row["source"]),
        (["--kind", "utility"], lambda row: row["kind"] == "utility"),
        (["--false"], lambda row: not row["holds"]),
        (["--search", "poisson RENYI"], lambda row: "Renyi" in json.dumps(row)),
        (["--paper", "KRW", "--false"], lambda row: row["correction"]),
    ],
)
def test_claims_are_filtered(capsys, filters, test):
    _, every = run_json(capsys, "list", "claims")
    code, rows = run_json(capsys, "list", "claims", *filters)
    assert code == 0
    assert 0 < len(rows) < len(every)
    assert all(test(row) for row in rows)


def test_other_lists_are_filtered(capsys):
    _, rows = run_json(capsys, "list", "mechanisms", "--paper", "zw")
    assert rows
    assert all(any(i.startswith("ZW-") for i in row["ids"]) for row in rows)
    _, rows = run_json(capsys, "list", "errata", "--paper", "LT", "--search", "percentile")
    assert rows
    assert all("Liu & Talwar" in row["source"] for row in rows)


LIST_BOTH = """
from jaxsel.cli import main
for kind in ("figures", "sims"):
    try:
        main(["list", kind])
    except SystemExit as stop:
        assert not stop.code
"""


def test_figures_and_sims_are_found_from_any_folder():
    result = subprocess.run(
        [sys.executable, "-c", LIST_BOTH],
        capture_output=True,
        text=True,
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(checkout.ROOT)},
    )
    assert result.returncode == 0
    assert result.stdout.count("ps22-5\tPapernot & Steinke 2022, Figure 5") == 2


def test_outside_a_checkout_the_missing_figures_are_explained(capsys, monkeypatch, tmp_path):
    code, _, err = run(capsys, "list")
    assert (code, err) == (0, "")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    code, out, err = run(capsys, "list")
    assert code == 0
    assert "figures\t0" in out
    assert "checkout" in err
    assert "checkout" not in out


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_folded_text_in_a_pager(monkeypatch):
    paged: list[str] = []
    monkeypatch.setattr(pydoc, "pager", paged.append)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", _Terminal())
    with pytest.raises(SystemExit):
        main(["list", "claims"])
    (text,) = paged
    assert all(len(line) <= 80 for line in text.splitlines() if line[:4] == "    ")
    assert "\t" not in text
    assert "PS-Cor3  true\n    " in text
    with pytest.raises(SystemExit):
        main(["list", "bases", "--search", "zcdp"])
    assert "zcdp:rho=..." in sys.stdout.getvalue()  # one line needs no pager


@pytest.mark.parametrize(
    ("name", "kind", "texts"),
    [
        ("ps-cor3", "claim", ["PS-Cor3", "law", "At the defaults"]),
        ("PS-Thm6-printed", "claim", ["FALSE as printed", "E-PS-1", "mean"]),
        ("AUDIT-noisy_max", "claim", ["NM-gumbel", "pair"]),
        ("e-ps-1", "erratum", ["Printed:", "True:", "PS-Thm6-printed"]),
        ("noisy_max", "mechanism", ["Settings", "scores", "opposed", "NM-gumbel"]),
        ("LT-Alg2", "mechanism", ["random_stopping", "gamma"]),
        ("poisson", "law of K", ["mean", "capped"]),
        ("tnb:eta=0.5,mean=10", "law of K", ["probability zero: 0"]),
        ("gaussian", "base", ["noise_multiplier"]),
        ("gaussian:noise_multiplier=4", "base", ["at 1e-06"]),
        ("ps22-5", "figure", ["figures/ps22_5.py", "python -m sims ps22-5"]),
    ],
)
def test_show(capsys, name, kind, texts):
    code, rows = run_json(capsys, "show", name)
    assert code == 0
    assert rows[0]["what"] == kind
    code, out, _ = run(capsys, "show", name)
    assert code == 0
    for text in texts:
        assert text in out


def test_show_puts_a_claim_to_the_test(capsys):
    code, rows = run_json(capsys, "show", "PS-Thm6-printed", "--verdict")
    assert code == 0
    assert rows[0]["verdict"]["outcome"] == "refuted"
    assert rows[0]["as_expected"]


def test_the_shell_completes_names(monkeypatch):
    from jaxsel.cli import arguments

    assert arguments.complete_mechanisms("NOISY_M") == ["noisy_max", "noisy_max_composition"]
    assert "PS-Thm6-printed" in arguments.complete_claims("ps-thm6")
    assert "E-PS-1" in arguments.complete_everything("e-ps")


def test_claim(capsys):
    given = ("claim", "PS-Cor3", "base=pure:epsilon=0.5", "law=geometric:mean=10")
    code, found = run_json(capsys, *given)
    assert code == 0
    assert found["value"] == 1.5
    code, out, err = run(capsys, *given)
    assert "value: 1.5" in out
    assert not err


def test_parameters_of_0_2_0_are_read_with_a_warning(capsys):
    code, out, err = run(capsys, "claim", "PS-Cor3", "epsilon=0.5", "eta=1")
    assert code == 0
    assert "value: 1.5" in out
    assert "base=pure:epsilon=0.5 law=tnb:eta=1,gamma=0.1" in err


def test_json_has_numbers_or_null(capsys):
    arguments = ["--repetitions", "geometric:mean=20", "--delta", "1e-5", "--json"]
    base = "approximate:epsilon=1,delta=1e-6"
    code, out, _ = run(capsys, "account", "--base", base, *arguments)
    assert code == 1  # nothing is proved
    found = json.loads(out)
    assert found["epsilon"] is None
    assert found["attained_epsilon"] is None
    assert found["needed"]["delta"] == pytest.approx(2e-5, rel=1e-4)
    assert all(bound["epsilon"] is None for bound in found["bounds"])
    code, out, _ = run(capsys, "account", "--base", base, *arguments[:-1])
    assert code == 1
    assert "Take delta >= 2e-05, or runs with delta <= 5e-07." in out
    assert "inf" not in out


def test_law_of_scores_whose_quotients_overflow(capsys):
    scores = ["scores=1e308,1e308,-1e308", "epsilon=1e100"]
    code, out, _ = run(capsys, "law", "noisy_max", *scores, "--json")
    assert code == 0
    assert json.loads(out)["law"] == {"0": 0.5, "1": 0.5, "2": 0.0}


def test_law(capsys):
    code, found = run_json(capsys, "law", "noisy_max", "scores=1,0", "epsilon=2")
    assert code == 0
    # Scale 1: the odds are e.
    assert found["law"]["0"] / found["law"]["1"] == pytest.approx(2.718281828459045)


def test_simulate(capsys):
    arguments = ["simulate", "private_tuning", "repetitions=poisson:mean=3"]
    code, found = run_json(capsys, *arguments, "--trials", "2e4", "--seed", "5")
    assert code == 0
    assert sum(row["count"] for row in found["outcomes"]) == found["trials"] == 20_000
    for row in found["outcomes"]:
        assert row["low"] <= row["frequency"] <= row["high"]
    _, again = run_json(capsys, *arguments, "--trials", "2e4", "--seed", "5")
    assert again["outcomes"] == found["outcomes"]
    _, other = run_json(capsys, *arguments, "--trials", "2e4", "--seed", "6")
    assert other["outcomes"] != found["outcomes"]


def test_ids_name_mechanisms_too(capsys):
    _, by_id = run_json(capsys, "law", "LT-Alg2", "gamma=0.2")
    _, by_name = run_json(capsys, "law", "random_stopping", "gamma=0.2")
    assert by_id == by_name


def test_audit_of_a_sound_mechanism_exits_0(capsys):
    code, found = run_json(capsys, "audit", "random_stopping", "--trials", "1e5")
    assert code == 0
    row = found["pairs"][0]
    assert 0 < row["lower_bound"] <= row["claim"]
    assert row["exact"] <= row["claim"]


def test_audit_of_fixed_repetitions_exits_1(capsys):
    code, found = run_json(capsys, "audit", "fixed_repetitions", "--trials", "1e5")
    assert code == 1
    assert found["refuted"]


TUNED = ["account", "--repetitions", "geometric:mean=100", "--base"]


def test_account(capsys):
    code, found = run_json(capsys, *TUNED, "gaussian:noise_multiplier=4")
    assert code == 0
    assert found["theorem"] == found["bounds"][0]["theorem"] == "JX-Envelope"
    assert found["epsilon"] == found["bounds"][0]["epsilon"]
    assert found["single_run_epsilon"] < found["epsilon"] < 3
    code, out, _ = run(capsys, *TUNED, "gaussian:noise_multiplier=4")
    assert code == 0
    first = float(out.split("(")[1].split(",")[0])
    assert 0 <= first - found["epsilon"] < 1.01e-4  # rounded up, never down
    assert "secret" in out


def test_account_of_dp_sgd(capsys):
    base = "dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60"
    code, found = run_json(capsys, *TUNED, base)
    assert code == 0
    assert found["single_run_epsilon"] == pytest.approx(2.697, abs=1e-3)
    assert found["epsilon"] == pytest.approx(4.939, abs=1e-3)


def test_account_reads_a_profile_from_a_file(capsys, tmp_path):
    path = tmp_path / "profile.csv"
    path.write_text("epsilon,delta\n0.5,1e-3  # first\n\n1,1e-9\n")
    _, from_file = run_json(capsys, *TUNED, f"points:{path}")
    _, inline = run_json(capsys, *TUNED, "points:0.5=1e-3,1=1e-9")
    assert from_file == inline


def test_account_says_when_nothing_is_proved(capsys):
    code, out, _ = run(capsys, *TUNED, "gaussian:noise_multiplier=4", "--delta", "0")
    assert code == 1
    assert "No epsilon is proved at delta = 0" in out


def test_validate(capsys):
    code, found = run_json(capsys, "validate", "PS-Cor3", "PS-Thm6-printed")
    assert code == 0
    outcomes = [row["verdict"]["outcome"] for row in found["results"]]
    assert outcomes == ["holds", "refuted"]
    assert found["counted"]["published_statements"] == {"checked": 2, "as_expected": 2}
    assert found["counted"]["self_checks"]["checked"] == 0


def test_validate_counts_self_checks_apart(capsys):
    names = ["PS-Cor3", "PS-Thm6-printed", "AUDIT-noisy_max"]
    code, out, _ = run(capsys, "validate", *names, "--trials", "1e4")
    assert code == 0
    assert "Published statements: 2 of 2 as expected (1 refuted), 0 not." in out
    assert "Self-checks: 1 of 1 as expected (0 refuted), 0 not." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["claim", "PS-Cor33"], "did you mean PS-Cor3"),
        (["law", "nosy_max"], "did you mean noisy_max"),
        (["simulate", "noisy_max", "scores=3,nan"], "scores is nan; it must be"),
        (["simulate", "noisy_max", "scores=a,b"], "scores is 'a'; it must be"),
        (["simulate", "noisy_max", "--trials", "0"], "trials is 0"),
        (["simulate", "noisy_max", "--trials", "-3"], "trials is -3"),
        (["simulate", "noisy_max", "--trials", "many"], "trials is 'many'"),
        (["simulate", "noisy_max", "--trials", "nan"], "trials is nan"),
        (["simulate", "noisy_max", "--trials", "inf"], "trials is inf"),
        (["simulate", "noisy_max", "--seed", "-1"], "seed is -1"),
        (["simulate", "noisy_max", "epsilon=-1"], "epsilon is -1"),
        (["simulate", "noisy_max", "noise=cauchy"], "noise is 'cauchy'"),
        (["simulate", "noisy_max", "scores"], "write name=value"),
        (["simulate", "noisy_max", "epsilon=1", "epsilon=2"], "given twice"),
        (["simulate", "noisy_max", "epsilom=1"], "did you mean epsilon"),
        (["simulate", "LT-Alg2", "gamma=0"], "gamma is 0"),
        (["simulate", "LT-Alg2", "gamma=1"], "gamma is 1"),
        (["simulate", "private_tuning", "repetitions=tnb:eta=-1,gamma=0.1"], "eta is -1"),
        (["simulate", "private_tuning", "repetitions=zipf:mean=3"], "zipf"),
        (["simulate", "private_tuning", "bit=2"], "bit is 2"),
        (["simulate", "conditional_sampling", "base=finite", "threshold=9"], "no run"),
        (["audit", "noisy_max", "--pair", "none"], "it has: opposed"),
        (["audit", "noisy_max", "--confidence", "1"], "confidence is 1"),
        (["audit", "noisy_max", "--delta", "nan"], "delta is nan"),
        (["audit", "noisy_max", "precision=fast"], "too coarse to audit"),
        (["validate"], "give --all"),
        (["validate", "PS-Cor3", "--all"], "give --all"),
        (["claim", "LT-Thm3.2", "epsilon=nan"], "epsilon is nan"),
        (["claim", "LT-Thm3.2", "epsilon=-1"], "epsilon is -1"),
        (["claim", "PS-Cor3", "colour=1"], "no setting 'colour'"),
        (["claim", "LT-Thm3.2", "epsilom=1"], "did you mean epsilon"),
        (["show", "PS-Cor33"], "did you mean PS-Cor3"),
        (["show", "nosy_max"], "did you mean noisy_max"),
        (["show", "E-PS-11"], "did you mean E-PS-1"),
        (["show", "noisy_max", "--verdict"], "is no claim"),
        (["show", "geometric:mean=0"], "mean is 0"),
        (["list", "claims", "--paper", "PSS"], "did you mean PS"),
        (["list", "figures", "--false"], "--false does not apply to figures"),
        (["list", "bases", "--paper", "PS"], "--paper does not apply to bases"),
        ([*TUNED, "gaussian:noise_multiplier=0"], "noise_multiplier is 0"),
        ([*TUNED, "gauss:noise_multiplier=1"], "base is 'gauss:noise_multiplier=1'"),
        ([*TUNED, "gdp:mu=one"], "mu of gdp is 'one'"),
        ([*TUNED, "gdp:mu=1", "--delta", "1"], "delta is 1"),
        ([*TUNED, "gdp:mu=1", "--delta", "-1e-9"], "delta is -1e-09"),
        ([*TUNED, "points:1=1e-6,2=1e-3"], "not decreasing"),
        ([*TUNED, "points:2=1e-3,1=1e-6"], "increase"),
        ([*TUNED, "points:1=2"], "must lie in [0, 1]"),
        ([*TUNED, "points:no_such_file.csv"], "cannot read no_such_file.csv"),
        ([*TUNED, "dp_sgd:noise_multiplier=1,steps=5"], "base is 'dp_sgd"),
        (
            [*TUNED, "dp_sgd:sampling_probability=2,noise_multiplier=1,steps=5"],
            "sampling_probability is 2",
        ),
        (
            ["account", "--base", "gdp:mu=1", "--repetitions", "poisson:mean=5,conditioned=0"],
            "K is always 0",
        ),
        (["account", "--base", "gdp:mu=1", "--repetitions", "zipf:mean=3"], "zipf"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


def test_a_foreign_record_is_refused_and_kept(capsys, tmp_path):
    record = str(tmp_path / "run.nc")
    run(capsys, "simulate", "noisy_max", "--trials", "1000", "--record", record)
    before = (tmp_path / "run.nc").read_bytes()
    code, _, err = run(
        capsys, "simulate", "noisy_max", "epsilon=3", "--trials", "1000", "--record", record
    )
    assert code == 2
    assert "another configuration" in err
    assert (tmp_path / "run.nc").read_bytes() == before


def test_unknown_commands_and_flags_exit_2(capsys):
    assert run(capsys, "simulat")[0] == 2
    assert run(capsys, "simulate", "noisy_max", "--trails", "3")[0] == 2


@pytest.mark.parametrize("module", ["sims", "figures"])
def test_modules_run_from_the_checkout(module, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [module, "--list"])
    # Another test may have imported it, which runpy warns of.
    monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
    with pytest.raises(SystemExit) as stop:
        runpy.run_module(module, run_name="__main__")
    assert stop.value.code in (0, None)
    assert "ps22-5" in capsys.readouterr().out
    result = subprocess.run(
        [sys.executable, "-m", module, "no-such"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "no-such" in result.stderr
    assert "Traceback" not in result.stderr
