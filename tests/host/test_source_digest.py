"""What the digest of the code notices, and what it does not."""

import ast
import functools
import sys

import pytest

import jaxsel
from jaxsel import bases, repetitions
from jaxsel.host import own_code, source_digest
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of three files: two import one another, the last stands alone."""
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").write_text("from planted.second import value\n")
    (folder / "first.py").write_text("from planted import value\nx = 1\n")
    (folder / "second.py").write_text('"""Says."""\nvalue = 2\n')
    (folder / "third.py").write_text("y = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    source_digest._root.cache_clear()
    sys.modules.pop("planted", None)


def test_imports_are_followed_through_packages(package):
    found = source_digest.digests(["planted.first"])
    assert set(found) == {"planted.first", "planted.second"}


def test_code_counts_and_words_do_not(package):
    before = source_digest.digests(["planted.first"])
    (package / "second.py").write_text('"""Says more."""\n\n# So.\nvalue = (2)\n')
    assert source_digest.digests(["planted.first"]) == before
    (package / "second.py").write_text("value = 3\n")
    now = source_digest.digests(["planted.first"])
    assert source_digest.changed(before, now) == ("planted.second",)


@pytest.mark.parametrize("kept", ["", "[", '["x"]', "7"])
def test_what_files_mean_is_remembered(package, tmp_path, monkeypatch, kept):
    plain = source_digest.digests(["planted.first"])
    # The time of change belongs to the cache of this process: a new one each time.
    folder = tmp_path / "digests"
    monkeypatch.setattr(source_digest, "_cache_folder", folder)
    source_digest._read.cache_clear()
    assert source_digest.digests(["planted.first"]) == plain
    answers = sorted(folder.glob("*.json"))
    assert len(answers) == len(list(folder.iterdir())) == 2
    source_digest._read.cache_clear()
    with monkeypatch.context() as reading:
        reading.setattr(source_digest, "_meaning", None)  # not read again
        assert source_digest.digests(["planted.first"]) == plain
    for answer in answers:  # damaged
        answer.write_text(kept)
    source_digest._read.cache_clear()
    assert source_digest.digests(["planted.first"]) == plain
    (package / "second.py").write_text("value = 3\n")
    now = source_digest.digests(["planted.first"])
    assert source_digest.changed(plain, now) == ("planted.second",)


def test_a_folder_that_cannot_be_written_to_keeps_nothing(package, tmp_path, monkeypatch):
    plain = source_digest.digests(["planted.first"])
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(source_digest, "_cache_folder", tmp_path / "file" / "digests")
    source_digest._read.cache_clear()
    assert source_digest.digests(["planted.first"]) == plain


def test_what_asks_the_catalogue_depends_on_every_family(package):
    (package / "third.py").write_text("from jaxsel.catalogue import find_mechanism\n")
    found = source_digest.digests(["planted.third"])
    assert "jaxsel.families.private_tuning.private_tuning" in found
    assert not any(".claims" in name for name in found)


def modules_of(*things) -> set[str]:
    """The modules that a digest of these things reads."""
    reading = own_code.Reading()
    for thing in things:
        if isinstance(thing, str):
            reading.modules.add(thing)
        else:
            reading.read(thing)
    return set(source_digest.digests(reading.modules))


def test_a_file_is_not_sought_anew_for_everybody_who_imports_it(monkeypatch):
    asked = []
    plain = source_digest.file_of
    monkeypatch.setattr(source_digest, "file_of", lambda name: asked.append(name) or plain(name))
    found = source_digest.digests(["jaxsel.catalogue"])
    assert len(found) > 200
    assert len(asked) < 10 * len(found)  # it was 30 of each


def test_a_mechanism_comes_from_all_that_it_was_made_of():
    tuning = jaxsel.private_tuning(bases.randomised_response())
    found = modules_of(functools.partial(print, tuning))
    assert "jaxsel.families.private_tuning.private_tuning" in found
    assert "jaxsel.families.private_tuning.bases" in found


def test_a_stale_record_is_refused(tmp_path, monkeypatch):
    tuning = jaxsel.private_tuning(bases.randomised_response())
    params = {"epsilon": 1.0, "repetitions": repetitions.geometric(gamma=0.1)}
    record = tmp_path / "kept.nc"
    kept = jaxsel.simulate(tuning, 1, params, trials=100, record=record)
    more = jaxsel.simulate(tuning, 1, params, trials=200, record=record)
    assert more.configuration == kept.configuration
    monkeypatch.setattr(source_digest, "digest", lambda *things: "another")
    with pytest.raises(InputError, match=r"kept\.nc was made by other code") as refused:
        jaxsel.simulate(tuning, 1, params, trials=200, record=record)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "own", "beside"),
    [
        (
            "noisy_max",
            {"noisy_max.noisy_max", "noisy_max.laws"},
            {
                "kernel.engine",
                "kernel.stream",
                "kernel.noise",
                "kernel.logarithm",
                "kernel.rows",
                "kernel.statistics",
                "language.domains",
            },
        ),
        (
            "exponential_top_k",
            {"top_k.exponential", "top_k.laws", "top_k.release", "top_k.scales", "top_k.arrivals"},
            {"kernel.engine", "kernel.stream", "kernel.noise", "kernel.rows"},
        ),
        (
            "private_tuning",
            {"private_tuning.private_tuning", "private_tuning.bases"},
            {
                "tuning.attained.exact_laws",
                "kernel.engine",
                "kernel.stream",
                "kernel.repetition_sampling",
                "repetitions.counts",
                "repetitions.negative_binomial",
            },
        ),
    ],
)
def test_what_three_mechanisms_are_made_of(name, own, beside):
    built = jaxsel.mechanism(name)
    found = modules_of(built.mechanism, engine.__name__)
    wanted = {f"jaxsel.families.{each}" for each in own}
    assert wanted | {f"jaxsel.{each}" for each in beside} <= found
    # Counted apart, by the imports that Python itself makes: all that is loaded, but for
    # what only shows, and for what hands on names.
    assert not any(".claims" in each or each.startswith("jaxsel.cli") for each in found)
    for module in wanted | {f"jaxsel.{each}" for each in beside}:
        path = source_digest.file_of(module)
        assert path is not None
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jaxsel."):
                needed = source_digest._defining(node.module or "", node.names[0].name)
                kept = {n for n in needed if not source_digest._is_excluded(n, True)}
                assert kept <= found, (module, kept)


def test_what_is_imported_inside_a_function_counts(package):
    (package / "third.py").write_text("def y():\n    from planted import second\n")
    assert set(source_digest.digests(["planted.third"])) == {"planted.third", "planted.second"}
    (package / "third.py").write_text("def y():\n    import planted.second as z\n")
    assert "planted.second" in source_digest.digests(["planted.third"])


def test_relative_imports_are_followed(package):
    """From the package that a file lies in, or from one above it."""
    inner = package / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text("from . import near\n")
    (inner / "near.py").write_text("from .beside import z\nfrom ..third import y\n")
    (inner / "beside.py").write_text("z = 4\n")
    expected = {"planted.inner.near", "planted.inner.beside", "planted.third"}
    assert set(source_digest.digests(["planted.inner.near"])) == expected
    found = set(source_digest.digests(["planted.inner"]))
    assert found == {*expected, "planted.inner"}
