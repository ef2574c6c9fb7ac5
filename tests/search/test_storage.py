"""What a search keeps: in memory and in a folder, what stays, what goes, what another reads."""

import pytest

from jaxsel.host.errors import InputError
from jaxsel.search.storage import RECORD, Storage

NAMES = ("a", "b", "c")


@pytest.fixture(name="folder", params=["memory", "folder"])
def _folder(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "search"


def test_what_is_kept_is_read_and_only_the_best_stays(folder):
    storage = Storage(folder, {"is": "a search"})
    assert storage.state is None
    for number, name in enumerate(NAMES):
        storage.keep(name, {"weights": [number, 2.5]})
    storage.keep("a", "again")
    assert storage.kept("a") == "again"
    assert storage.kept("b") == {"weights": [1, 2.5]}
    storage.drop("b", NAMES)
    assert storage.kept("b") == {"weights": [1, 2.5]}
    for name in ("a", "c"):
        with pytest.raises((KeyError, FileNotFoundError)):
            storage.kept(name)
    storage.drop(None, ())
    with pytest.raises((KeyError, FileNotFoundError)):
        storage.kept("b")
    storage.close()


def test_progress_stays_while_a_run_is_under_way(tmp_path):
    folder = tmp_path / "search"
    storage = Storage(folder, {})
    for name in NAMES:
        assert storage.progress(name) is None
        storage.keep_progress(name, ["step", name])
        storage.keep(name, name)
    storage.save({"n": 1})
    (folder / "notes.txt").write_text("mine")
    storage.drop("a", {"b"})
    kinds = {path.name for path in folder.iterdir() if path.suffix in (".outcome", ".progress")}
    assert kinds == {"a.outcome", "b.progress"}
    assert storage.progress("b") == ["step", "b"]
    assert storage.progress("c") is None
    assert {RECORD, "notes.txt"} <= {path.name for path in folder.iterdir()}
    # In memory nothing of it is kept: a kill ends the search.
    memory = Storage(None, {})
    memory.keep_progress("a", 1)
    assert memory.progress("a") is None
    memory.close()
    storage.close()


def test_the_last_state_is_on_the_disk_when_it_is_saved(tmp_path):
    folder = tmp_path / "search"
    first = Storage(folder, {"k": 1})
    for number in range(3):
        first.save({"number": number, "runs": [{"name": "a"}]})
        content = (folder / RECORD).read_bytes()
        assert first.state == {"number": number, "runs": [{"name": "a"}]}
    with pytest.raises(InputError, match="another process"):
        Storage(folder, {"k": 1})
    first.close()
    assert (folder / RECORD).read_bytes() == content
    with pytest.raises(InputError, match="another configuration"):
        Storage(folder, {"k": 2})
    again = Storage(folder, {"k": 1})  # the refusal has let it go
    assert again.state == {"number": 2, "runs": [{"name": "a"}]}
    again.close()
