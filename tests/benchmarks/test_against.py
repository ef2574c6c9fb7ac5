"""``make bench-against``: every mechanism here and at a commit, by turns."""

import shutil

import pytest

from benchmarks import against
from jaxsel.host.errors import InputError


@pytest.mark.rare
def test_one_mechanism_against_the_last_commit(capsys):
    status = against.main(["HEAD", "noisy_max", "--repeats", "2", "--seconds", "0.02"])
    found = capsys.readouterr().out
    assert status in (0, 1)  # this machine is busy
    assert "noisy_max" in found
    assert "other tallies" not in found


_OTHER = """
_right = noisy_max


def noisy_max(*given, **settings):
    return _right(*given, **settings)._replace(event=lambda outcome: outcome * 0)
"""


@pytest.mark.rare
def test_the_trials_are_those_of_each_tree(monkeypatch, tmp_path):
    """A tree in which noisy max always chooses the first gives other tallies."""
    shutil.copytree(against.ROOT / "jaxsel", tmp_path / "jaxsel")
    sampler = tmp_path / "jaxsel/families/noisy_max/noisy_max.py"
    sampler.write_text(sampler.read_text(encoding="utf-8") + _OTHER, encoding="utf-8")

    class Changed(against._Tree):
        def __init__(self, folder):
            super().__init__(tmp_path if folder == against.ROOT else folder)

    monkeypatch.setattr(against, "_Tree", Changed)
    found = list(against.compare("HEAD", ["noisy_max"], repeats=1, seconds=0.01))
    assert [one.same for one in found if one.default] == [False]


def test_a_commit_or_a_mechanism_that_is_not_there():
    with pytest.raises(InputError, match="git has no"):
        list(against.compare("no-such-commit", ["noisy_max"]))
    with pytest.raises(InputError, match="noisy"):
        list(against.compare("HEAD", ["noisy"]))


def test_what_is_slower_fails():
    row = against.Compared("noisy_max", "", True, 10.0, 12.0, True)
    assert row.ratio == pytest.approx(1.2)
    shown = against.table([row, row._replace(after=9.0, same=False)])
    assert [list(column.cells) for column in shown.columns][-1] == ["SLOWER", "other tallies"]
