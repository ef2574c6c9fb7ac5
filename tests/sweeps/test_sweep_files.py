"""The sweeps of ``sims/sweeps`` and the commands of ``docs/sweeps.md`` run."""

import re
import shlex
from pathlib import Path

import matplotlib.image
import pytest

import jaxsel
from jaxsel import repetitions
from jaxsel.cli import main
from jaxsel.pictures.layout import plan
from jaxsel.sweeps.axes import read_grid
from jaxsel.sweeps.request import read_toml
from jaxsel.sweeps.running import together
from jaxsel.sweeps.swept_subject import find_subject

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "sims" / "sweeps").glob("*.toml"))
PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    fenced = PAGE.split("```")[1::2]
    return [
        text.removeprefix(f"{language}\n") for text in fenced if text.startswith(f"{language}\n")
    ]


def test_there_are_ten_and_the_page_shows_each():
    assert len(FILES) == 10
    for path in FILES:
        assert path.read_text(encoding="utf-8").startswith("# ")
        assert f"| `{path.stem}` |" in PAGE or f"| `{path.stem}` " in PAGE
        assert f"gallery/sweep-{path.stem}.png" in PAGE


def _thinned(asked) -> dict:
    """At most two points of each axis; the first and the last."""
    subject = find_subject(asked.sweep)
    grid = read_grid(asked.settings, subject.domain, asked.zip)
    kept = {name: [value] for name, value in grid.fixed.items()}
    for axis in grid.axes:
        for number, name in enumerate(axis.names):
            kept[name] = [axis.values[0][number], axis.values[-1][number]]
    return kept


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_runs_and_has_its_picture(path):
    asked = read_toml(path)
    found = jaxsel.sweep(
        asked.sweep,
        together(_thinned(asked), asked.zip),
        measures=asked.measures,
        trials=200,
        progress=False,
    )
    chosen = plan(found, **asked.picture_axes())
    assert {name for row in chosen.rows for name in row} == set(asked.measures)
    drawn = ROOT / "docs" / "gallery" / f"sweep-{path.stem}.png"
    assert matplotlib.image.imread(drawn).shape[1] >= 700


def test_zipped_means_are_what_the_comments_say():
    eta = read_toml(ROOT / "sims/sweeps/eta.toml").settings
    for shape, mean in zip(eta["eta"], eta["mean"], strict=True):
        law = repetitions.parse(f"tnb:eta={shape},mean={mean}")
        assert repetitions.expected_quantile(law) == pytest.approx(0.95, abs=1e-5)
    drawn = read_toml(ROOT / "sims/sweeps/grid-or-random.toml").settings
    for text in drawn["repetitions"][1:]:
        chance = repetitions.success_probability(repetitions.parse(text), 1.0 / 3.0)
        assert float(chance) == pytest.approx(0.99, abs=1e-5)
    unknown = read_toml(ROOT / "sims/sweeps/unknown-threshold.toml")
    found = jaxsel.sweep(
        unknown.sweep, together(unknown.settings, unknown.zip), measures=["epsilon_bound"]
    )
    known = read_toml(ROOT / "sims/sweeps/known-threshold.toml")
    bound = jaxsel.sweep(
        known.sweep, {**known.settings, "threshold": 9}, measures=["epsilon_bound"]
    )
    for sweep in (found, bound):
        assert abs(sweep["epsilon_bound"] - 2.1).max() < 3e-4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to write in, where the files are found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "compiled"))
    (tmp_path / "sims").symlink_to(ROOT / "sims")
    return tmp_path


def test_commands_of_the_page_run(folder, capsys):
    whole = [block.replace("\\\n", "") for block in blocks("")]
    lines = [line for block in whole for line in block.splitlines()]
    assert len(lines) == 6
    votes = next(block for block in blocks("python") if "def vote" in block)
    (folder / "votes.py").write_text(votes)
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["jaxsel", "sweep"]
        small = re.sub("--trials 1e5", "--trials 1e3", line)
        if "toml" in line:
            small += " --trials 1e3"
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(small)[1:])
        assert not stop.value.code, (line, capsys.readouterr().err)
    assert {path.name for path in folder.iterdir()} >= {
        "sweep.nc",
        "sweep.png",
        "noisy-max.png",
        "votes.png",
    }


def test_the_file_and_the_python_of_the_page_run(folder):
    (toml,) = blocks("toml")
    (folder / "own.toml").write_text(toml)
    asked = read_toml("own.toml")
    found = jaxsel.sweep(asked.sweep, together(asked.settings, asked.zip), measures=asked.measures)
    assert found.sizes == {"eta": 3, "delta": 2}
    printed: list[tuple] = []
    first, second, drawn, own = blocks("python")
    for block in (first.replace("100_000", "20_000"), second, drawn, own):
        exec(compile(block, "sweeps.md", "exec"), {"print": lambda *words: printed.append(words)})
    assert printed[1] == (4.5,)
    off, _, width, trials = printed[2]
    assert 0.0 < off < width
    assert trials == 20_000
    assert (folder / "sweep.png").stat().st_size > 10_000
