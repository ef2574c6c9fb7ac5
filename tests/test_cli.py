"""The command line as people and scripts use it."""

import json
import subprocess
import sys
import time

import pytest

from jaxsel.cli import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([*arguments])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def run_json(capsys, *arguments: str):
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)


@pytest.fixture(autouse=True)
def no_compilation_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))


@pytest.mark.parametrize(
    "command",
    ["", "account", "list", "claim", "law", "simulate", "audit", "validate", "bench"],
)
def test_every_help_text_explains(capsys, command):
    code, out, _ = run(capsys, *filter(None, [command]), "--help")
    assert code == 0
    assert "Usage" in out
    assert len(out.splitlines()) > 8
    assert not command or ("--seed" in out and "--json" in out)


@pytest.mark.parametrize(
    "kind", ["mechanisms", "claims", "repetitions", "figures", "errata"]
)
def test_list(capsys, kind):
    code, rows = run_json(capsys, "list", kind)
    assert code == 0
    assert len(rows) > 5
    code, out, _ = run(capsys, "list", kind)
    assert code == 0
    name = next(iter(rows[0].values()))
    assert str(name) in out


def test_list_counts(capsys):
    code, sizes = run_json(capsys, "list")
    assert code == 0
    assert all(size > 5 for size in sizes.values())


def test_claim(capsys):
    code, found = run_json(capsys, "claim", "PS-Cor3", "epsilon=0.5", "eta=1")
    assert code == 0
    assert found["value"] == 1.5
    code, out, _ = run(capsys, "claim", "PS-Cor3", "epsilon=0.5", "eta=1")
    assert "value: 1.5" in out


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


def test_account_of_dp_sgd_is_quick(capsys):
    base = "dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60"
    start = time.process_time()
    code, found = run_json(capsys, *TUNED, base)
    assert time.process_time() - start < 5.0
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
    assert code == 0
    assert "No known theorem bounds epsilon at delta = 0" in out


def test_validate(capsys):
    code, found = run_json(capsys, "validate", "PS-Cor3", "PS-Thm6-printed")
    assert code == 0
    outcomes = [row["verdict"]["outcome"] for row in found["results"]]
    assert outcomes == ["holds", "refuted"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["claim", "PS-Cor33"], "did you mean PS-Cor3"),
        (["law", "nosy_max"], "did you mean noisy_max"),
        (["simulate", "noisy_max", "scores=3,nan"], "NaN"),
        (["simulate", "noisy_max", "scores=a,b"], "must be a number"),
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
        (
            ["simulate", "private_tuning", "repetitions=tnb:eta=-1,gamma=0.1"],
            "eta is -1",
        ),
        (["simulate", "private_tuning", "repetitions=zipf:mean=3"], "zipf"),
        (["simulate", "private_tuning", "bit=2"], "bit is 2"),
        (["simulate", "conditional_sampling", "base=finite", "threshold=9"], "no run"),
        (["audit", "noisy_max", "--pair", "none"], "it has: opposed"),
        (["audit", "noisy_max", "--confidence", "1"], "confidence is 1"),
        (["audit", "noisy_max", "--delta", "nan"], "delta is nan"),
        (["audit", "noisy_max", "precision=fast"], "too coarse to audit"),
        (["validate"], "give --all"),
        (["validate", "PS-Cor3", "--all"], "give --all"),
        (["claim", "PS-Cor3", "epsilon=nan"], "epsilon is nan"),
        (["claim", "PS-Cor3", "epsilon=-1"], "epsilon is -1"),
        (["claim", "PS-Cor3", "colour=1"], "no parameter 'colour'"),
        ([*TUNED, "gaussian:noise_multiplier=0"], "noise_multiplier is 0"),
        ([*TUNED, "gauss:noise_multiplier=1"], "base is 'gauss:noise_multiplier=1'"),
        ([*TUNED, "gdp:mu=one"], "base is 'gdp:mu=one'"),
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
            [
                "account",
                "--base",
                "gdp:mu=1",
                "--repetitions",
                "poisson:mean=5,conditioned=0",
            ],
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
        capsys, "simulate", "noisy_max", "epsilon=3", "--trials", "1000",
        "--record", record,
    )  # fmt: skip
    assert code == 2
    assert "another configuration" in err
    assert (tmp_path / "run.nc").read_bytes() == before


def test_unknown_commands_and_flags_exit_2(capsys):
    assert run(capsys, "simulat")[0] == 2
    assert run(capsys, "simulate", "noisy_max", "--trails", "3")[0] == 2


@pytest.mark.parametrize("module", ["sims", "figures"])
def test_modules_run_from_the_checkout(module):
    command = [sys.executable, "-m", module, "--list"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0
    assert "ps22-5" in result.stdout
    result = subprocess.run(
        [sys.executable, "-m", module, "no-such"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "no-such" in result.stderr
    assert "Traceback" not in result.stderr
