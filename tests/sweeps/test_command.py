"""jaxsel sweep, as people type it and as scripts read it."""

import csv
import json
import warnings

import pytest
import xarray as xr

from jaxsel.sweeps import running
from tests.cli.test_cli import run, run_json

GRID = ("noisy_max", "epsilon=0.5:2:3", "noise=gumbel,laplace", "--trials", "2e3")


def test_a_table_for_people(capsys):
    code, out, _ = run(capsys, "sweep", *GRID, "--measure", "success,epsilon_bound")
    assert code == 0
    assert "1.25" in out
    assert "exact" in out
    assert "NM-" in out


def test_one_document_for_scripts(capsys):
    code, found = run_json(capsys, "sweep", *GRID, "--measure", "success,counts")
    assert code == 0
    assert found["sweep"]["trials"] == 2000
    assert len(found["cells"]) == 6
    cell = found["cells"][0]
    assert (cell["epsilon"], cell["noise"]) == (0.5, "gumbel")
    counts = [value for name, value in cell.items() if name.startswith("counts[")]
    assert sum(counts) == 2000
    assert cell["success"] == counts[0] / 2000
    assert cell["success_low"] <= cell["success"] <= cell["success_high"]


def test_every_file(capsys, tmp_path):
    record, table, picture = (tmp_path / f"a.{end}" for end in ("nc", "csv", "png"))
    code, out, _ = run(
        capsys,
        "sweep",
        *GRID,
        "--measure",
        "success,audited",
        "--record",
        str(record),
        "--table",
        str(table),
        "--plot",
        str(picture),
        "--sketch",
    )
    assert code == 0
    assert all(str(path) in out for path in (record, table, picture))
    assert "audited epsilon" in out
    with xr.open_dataset(record) as found:
        assert found.sizes == {"epsilon": 3, "noise": 2}
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["epsilon"] for row in rows[::2]] == ["0.5", "1.25", "2.0"]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_file_says_the_same_as_words(capsys, tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(
        'sweep = "noisy_max"\nmeasures = ["success"]\ntrials = 2e3\n'
        '[settings]\nepsilon = [0.5, 1.25, 2]\nnoise = "gumbel,laplace"\n'
    )
    _, words = run_json(capsys, "sweep", *GRID, "--measure", "success")
    _, file = run_json(capsys, "sweep", str(path))
    assert file["cells"] == words["cells"]
    # What is typed wins over the file.
    _, other = run_json(capsys, "sweep", str(path), "noise=gumbel", "--trials", "1e3")
    assert len(other["cells"]) == 3
    assert other["sweep"]["trials"] == 1000


def test_measures_are_listed(capsys):
    code, found = run_json(capsys, "sweep", "fixed_top_k", "--measure", "?")
    assert code == 0
    assert {"recall", "success", "audited"} <= {row["measure"] for row in found}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["noisy_max", "epsilon"], "name=value"),
        (["noisy_max", "epsilom=1"], "did you mean epsilon"),
        (["noisy_max", "--measure", "sucess"], "did you mean success"),
        (["noisy_max", "--zip", "epsilon,noise"], "has no values"),
        (["noisy_max", "--record", "here.txt"], "must end in .nc"),
        (["noisy_max", "--plot", "here.gif"], ".png"),
        (["nowhere.toml"], "cannot read"),
        (["noisy_max", "--trials", "many"], "trials"),
    ],
)
def test_bad_input_is_one_sentence(capsys, arguments, words):
    code, out, err = run(capsys, "sweep", *arguments)
    assert code == 2
    assert not out
    assert words in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sweep = ", "is not TOML"),
        ('sweap = "noisy_max"', "did you mean sweep"),
        ("trials = 5", "does not say what to sweep"),
        ('sweep = "noisy_max"\ntrials = "many"', "trials is 'many'"),
        ('sweep = "noisy_max"\n[settings]\nepsilno = 1', "did you mean epsilon"),
    ],
)
def test_bad_files_are_one_sentence(capsys, tmp_path, text, words):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    code, _, err = run(capsys, "sweep", str(path))
    assert code == 2
    assert words in err


def test_parquet_without_its_library_is_refused(capsys, tmp_path, monkeypatch):
    import importlib

    real = importlib.import_module

    def without(name, *rest):
        if name == "pyarrow":
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    path = tmp_path / "a.parquet"
    code, _, err = run(
        capsys, "sweep", *GRID[:3], "--trials", "1e3", "--measure", "counts", "--table", str(path)
    )
    assert code == 2
    assert "pip install pyarrow" in err


def test_json_is_json_where_nothing_is_known(capsys):
    """No bound at all: null, not the text inf."""
    code, out, _ = run(
        capsys,
        "sweep",
        "account",
        "base=pure:epsilon=1",
        "repetitions=poisson:mean=1e5",
        "delta=0",
        "--json",
    )
    assert code == 0
    assert json.loads(out)["cells"]
    assert "Infinity" not in out


def test_an_axis_that_is_none_is_refused_before_the_work(capsys, monkeypatch):
    def worked(*arguments, **options):
        raise AssertionError("it was simulated first")

    monkeypatch.setattr(running, "tally", worked)
    for axis in ("x", "hue", "facet"):
        words = ("epsilon=1,2", "--axes", f"{axis}=epsilonn")
        code, out, err = run(capsys, "sweep", "noisy_max", *words)
        assert (code, out) == (2, "")
        assert "no axis 'epsilonn'; did you mean epsilon?" in err


def test_a_picture_that_is_refused_does_not_cost_the_numbers(capsys, tmp_path):
    table, picture = tmp_path / "a.csv", tmp_path / "a.png"
    code, out, err = run(
        capsys,
        "sweep",
        "noisy_max",
        "epsilon=1",
        "--measure",
        "success",
        "--trials",
        "100",
        "--table",
        str(table),
        "--plot",
        str(picture),
    )
    assert code == 2
    assert "there is no curve" in err
    assert "exact 0.5065" in out
    assert table.exists()
    assert not picture.exists()


def test_one_document_and_nothing_else(capsys, tmp_path):
    code, out, err = run(
        capsys,
        "sweep",
        "account",
        "mean=2,3",
        "--json",
        "--sketch",
        "--plot",
        str(tmp_path / "a.png"),
    )
    assert code == 0
    assert len(json.loads(out)["cells"]) == 2
    assert "written" not in out + err


def test_what_no_theorem_proves_is_a_word_and_a_missing_value(capsys, tmp_path):
    import xarray as xr

    path, table = tmp_path / "sweep.nc", tmp_path / "sweep.csv"
    words = (
        "median_of_runs",
        "rank=1,2",
        "count=21",
        "--trials",
        "1e3",
        "--measure",
        "epsilon_bound,epsilon_bounds,success,exact_epsilon",
    )
    files = ("--record", str(path), "--table", str(table))
    code, out, _ = run(capsys, "sweep", *words[:-1], "epsilon_bound,frequency", *files)
    assert code == 0
    assert out.count("none proven") == 2
    assert "nan" not in out
    with xr.open_dataset(path) as found:
        bound = found["epsilon_bound"]
        assert bound.isnull().all()
        assert bound.attrs["missing"] == "none proven"
        assert found["frequency_exact"].attrs["missing"] == "not known"
    lines = table.read_text().splitlines()
    column = lines[0].split(",").index("epsilon_bound")
    assert [line.split(",")[column] for line in lines[1:]] == ["", ""]


def test_many_outcomes_bring_no_warning(capsys, tmp_path):
    """Pandas warns where more than a hundred columns are put in one by one."""
    table = tmp_path / "sweep.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, _, err = run(
            capsys,
            "sweep",
            "sparse_vector_chen",
            "epsilon=1,2",
            "--trials",
            "1e3",
            "--measure",
            "frequency",
            "--table",
            str(table),
        )
    assert code == 0
    assert "Warning" not in err
    header, *rows = table.read_text().splitlines()
    assert len(header.split(",")) > 100
    assert len(rows) == 2
    for row in rows:
        cells = dict(zip(header.split(","), row.split(","), strict=True))
        shares = [float(v) for name, v in cells.items() if name.startswith("frequency[")]
        assert sum(shares) == pytest.approx(1.0)
