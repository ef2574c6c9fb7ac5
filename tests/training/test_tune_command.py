"""jaxsel tune: what it prints, what it keeps to itself, and what it refuses."""

import functools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from jaxsel.cli.main import main
from jaxsel.data import images
from jaxsel.host import progress
from jaxsel.training import search_plan

SMALL = [
    "tune",
    "--epochs",
    "0.05",
    "--batch-sizes",
    "16",
    "--learning-rates",
    "0.1:1:3",
    "--noise-multipliers",
    "2",
    "--delta",
    "1e-3",
    "--repetitions",
    "geometric:mean=2",
]


@pytest.fixture(autouse=True, scope="module")
def _asked_once():
    """All these searches read the same images, and most ask for the same least noise of scores."""
    found, real = {}, search_plan._score_noise

    def score_noise(repetitions, delta, target):
        asked = repetitions.name, delta, target
        if asked not in found:
            found[asked] = real(repetitions, delta, target)
        return found[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_plan, "_score_noise", score_noise)
        patch.setattr(images, "_digits", functools.cache(images._digits))
        yield


@pytest.fixture(autouse=True)
def _no_signs_of_life(monkeypatch):
    """Where others keep the machine busy, a search takes long enough to say that it is at work."""
    monkeypatch.setattr(progress, "_LIFE_SECONDS", 1e6)


def small(*changed: str) -> list[str]:
    """The words of a small search with others in place of some of its options."""
    pairs = dict(zip(SMALL[1::2], SMALL[2::2], strict=True))
    kept = [
        word for option, value in pairs.items() if option not in changed for word in (option, value)
    ]
    return [SMALL[0], *kept, *changed]


def run(arguments: list[str], capsys) -> tuple[str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code in (0, None)
    return capsys.readouterr()


def test_tune_prints_the_winner_and_its_guarantee(capsys, tmp_path):
    target = tmp_path / "winner.npz"
    out, error = run(small("--seed", "3", "--save", str(target)), capsys)
    assert "Winner: learning rate" in out
    assert "differentially private, by " in out
    assert "For validation records: (" in out
    assert "SIMULATION: who knows the seed has no privacy" in " ".join(out.split())
    assert error == ""
    with np.load(target) as saved:
        assert saved["Conv_0/kernel"].shape == (3, 3, 1, 32)
        assert sum(value.size for value in saved.values()) == 102_570


def test_json_tells_the_winner_and_its_guarantee_alone(capsys):
    out, error = run(small("--seed", "3", "--json"), capsys)
    document = json.loads(out)
    assert document["data"] == "digits"
    assert document["epsilon"] > document["single_run_epsilon"] > 0.0
    assert document["simulated"] is True
    assert set(document["winner"]) >= {"learning_rate", "steps"}
    assert not any(key in out for key in ('"runs"', '"count"', "mean_runs"))
    # What is declared says "seed" in sentences; the seed itself stands nowhere.
    document.pop("declared")
    assert "seed" not in json.dumps(document)
    assert error == ""


def test_a_second_search_of_the_same_data_is_refused_when_the_budget_is_spent(capsys, tmp_path):
    ledger = str(tmp_path / "ledger")
    first = json.loads(run(small("--ledger", ledger, "--json"), capsys)[0])
    assert first["epsilon_of_all_searches"] == pytest.approx(first["epsilon"])
    budget = f"{ledger}:budget={1.2 * first['epsilon']}"
    with pytest.raises(SystemExit) as stop:
        main(small("--ledger", budget, "--json"))
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "budget" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--data", "cifar"], "data set"),
        (["--data", "mnist", "--data-folder", "/nowhere"], "does not exist"),
        (["--noise-multipliers", "0"], "noise multiplier is 0"),
        (["--learning-rates", "1:0.1:3"], "down to"),
        (["--learning-rates", "0.1:1"], "low:high:count"),
        (["--learning-rates", ""], "learning_rates"),
        (["--repetitions", "geometric"], "geometric"),
        (["--repetitions", "poisson:mean=2", "--batch-sizes", "16,8"], "truncated"),
        (["--batch-sizes", "5000"], "batch size"),
        (["--save", "winner.txt"], ".npz"),
        (["--strides", "wide", "--seed", "1"], "strides"),
        (["--ledger", ":budget=1"], "ledger"),
        (["--seed", "-1"], "seed"),
        (["--together", "0"], "together is 0"),
        (["--repetitions", "poisson:mean=1e12"], "every run trains a network"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_status_2(changed, message, capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(small("--folder", str(tmp_path / "above" / "search"), *changed))
    assert stop.value.code == 2
    assert list(tmp_path.iterdir()) == []
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("jaxsel: ")
    assert error.count("\n") == 1


def test_no_compiled_program_is_kept_unless_asked(capsys, monkeypatch, tmp_path):
    """A folder of compiled programs would tell the settings that were tried."""
    import jax

    before = jax.config.jax_compilation_cache_dir
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run(small("--seed", "3"), capsys)
    assert jax.config.jax_compilation_cache_dir == before
    assert list(tmp_path.iterdir()) == []


def test_a_finished_search_can_be_reported_and_tells_no_secret(capsys, tmp_path):
    folder = tmp_path / "search"
    several = small("--noise-multipliers", "2,3")
    for arguments in (SMALL, several):
        options = [*arguments, "--seed", "3", "--folder", str(folder)]
        out, _ = run([*options, "--json"], capsys)
        document = json.loads(out)
        kept = json.loads((folder / "release.json").read_text())
        assert kept == document
        assert (kept["base"] is None) == (arguments is several)
        out, _ = run(["report", "--folder", str(folder)], capsys)
        assert "the seed, K, the other runs" in out
        assert f"ε = {np.ceil(document['epsilon'] * 1e4) / 1e4:g}" in out
        folder = tmp_path / "another"


def test_a_finished_folder_gives_the_same_release_again(capsys, tmp_path):
    options = small("--folder", str(tmp_path / "search"), "--json")
    first = run(options, capsys)
    assert run(options, capsys) == first
    other = run(small("--folder", str(tmp_path / "other"), "--json"), capsys)
    assert json.loads(other[0])["noisy_validation_accuracy"] != pytest.approx(
        json.loads(first[0])["noisy_validation_accuracy"], abs=1e-9
    )


def test_everything_in_a_folder_is_its_owners_alone_or_refused(capsys, tmp_path, monkeypatch):
    """Nothing is taken from anybody by the process itself; a file is looked at before it
    has its name."""
    seen, real = [], os.replace

    def looked_at(source, target):
        seen.append((Path(target).name, os.stat(source).st_mode & 0o777))
        real(source, target)

    monkeypatch.setattr("jaxsel.host.records.os.replace", looked_at)
    monkeypatch.setattr("jaxsel.search.tune._SAVE_SECONDS", 0.0)
    folder = tmp_path / "above" / "search"
    options = small("--folder", str(folder))
    before = os.umask(0)
    try:
        run(options, capsys)
    finally:
        os.umask(before)
    kinds = {Path(name).suffix for name, _ in seen}
    assert kinds == {".nc", ".progress", ".outcome", ".json"}
    assert {mode for _, mode in seen} == {0o600}
    found = {
        str(each.relative_to(tmp_path)): each.stat().st_mode & 0o777 for each in tmp_path.rglob("*")
    }
    names = [path.name for path in folder.iterdir()]
    assert sorted(Path(name).suffix for name in names) == [".json", ".nc", ".outcome"]
    assert found == {"above": 0o700, "above/search": 0o700} | {
        f"above/search/{name}": 0o600 for name in names
    }
    for name in ("search.nc", "release.json"):
        (folder / name).chmod(0o640)
        with pytest.raises(SystemExit) as stop:
            main(options)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert f"chmod 600 {folder / name}" in error
        assert error.count("\n") == 1
        (folder / name).chmod(0o600)
    folder.chmod(0o750)
    with pytest.raises(SystemExit) as stop:
        main(options)
    assert stop.value.code == 2
    assert f"chmod 700 {folder}" in capsys.readouterr().err


def test_a_folder_of_a_simulation_is_not_gone_on_with_as_a_private_search(capsys, tmp_path):
    options = small("--folder", str(tmp_path / "search"))
    run([*options, "--seed", "3"], capsys)
    before = sorted(path.name for path in (tmp_path / "search").iterdir())
    with pytest.raises(SystemExit) as stop:
        main(options)
    assert stop.value.code == 2
    assert "it differs in simulated" in capsys.readouterr().err
    after = sorted(path.name for path in (tmp_path / "search").iterdir())
    assert after == before


def test_a_search_without_runs_leaves_that_it_released_nothing(capsys, tmp_path):
    folder = tmp_path / "search"
    none = small("--repetitions", "poisson:mean=0.001", "--seed", "3")
    run([*none, "--folder", str(folder)], capsys)
    assert json.loads((folder / "release.json").read_text())["winner"] is None
    assert folder.stat().st_mode & 0o077 == 0
    out, _ = run(["report", "--folder", str(folder)], capsys)
    assert "none: K was 0" in out
