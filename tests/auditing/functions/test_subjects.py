"""What an audited function is told to be: its kind, its settings, and whether others import it."""

import functools

import pytest

from jaxsel.auditing.functions import audited_function
from jaxsel.auditing.functions.audited_function import Function, StartedAgain, load
from jaxsel.auditing.functions.drawing import Draws
from jaxsel.auditing.functions.law import check_law
from jaxsel.host.errors import InputError


def at_the_top(rng, data, n, scale=1.0, *, shift=0.0):
    return [shift] * n


class Holder:
    """A name with a dot."""

    @staticmethod
    def inside(rng, data):
        return data

    def method(self, data):
        return data


holder = Holder()


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda rng, data, n: 0, "vectorised"),
        (lambda rng, x, size: 0, "vectorised"),  # the first name tells
        (lambda rng, data: 0, "generator"),
        (lambda key, data: 0, "jax"),
        (lambda data: 0, "own"),
        (lambda anything, /: 0, "own"),
        (lambda data, n=5, *, scale=1.0: 0, "own"),
        (lambda rng, data, n=1: 0, "generator"),
        (lambda rng, data, n, *rest, **others: 0, "vectorised"),
        (max, "own"),  # without a signature
    ],
)
def test_the_kind_is_told_from_the_names_of_what_has_no_default(function, kind):
    assert load(function).kind == kind
    assert load(function, "jax").kind == "jax"


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (lambda: 0, "nothing"),
        (lambda seed, data: 0, "seed, data"),
        (lambda data, rng: 0, "data, rng"),
        (lambda key, data, n: 0, "key, data, n"),
        (lambda rng, data, n, scale: 0, "rng, data, n, scale"),
    ],
)
def test_other_parameters_are_refused_with_those_that_there_are(function, takes):
    with pytest.raises(InputError, match=rf"takes {takes}; an audited function takes"):
        load(function)
    with pytest.raises(InputError, match="kind"):
        load(function, "numpy")


def test_settings_are_what_stands_behind_the_input():
    found = load(at_the_top)
    assert found.defaults() == {"scale": 1.0, "shift": 0.0}
    found.check_settings({"scale": 2.0, "shift": 1.0})
    for bad in ("data", "n", "rng"):
        with pytest.raises(InputError, match=f"has no setting '{bad}'.*it has: scale, shift"):
            found.check_settings({bad: 1})
    with pytest.raises(InputError, match="did you mean scale"):
        found.check_settings({"scael": 1.0})
    needs = load(lambda rng, data, *, scale, shift=0.0: 0)
    assert needs.defaults() == {"shift": 0.0}
    with pytest.raises(InputError, match="needs scale; give it a value"):
        needs.check_settings({"shift": 1.0})
    needs.check_settings({"scale": 1.0})
    with pytest.raises(InputError, match="it has: none"):
        load(lambda data: 0).check_settings({"scale": 1.0})
    # Any name may be given.
    load(lambda rng, data, **others: 0).check_settings({"whatever": 1.0})
    assert Function("max", "own", max, None, {}).defaults() == {}


def test_others_import_what_stands_at_the_top_of_a_file():
    assert load(at_the_top).path == (__file__, "at_the_top")
    assert load(Holder.inside).path == (__file__, "Holder.inside")
    assert load(f"{__file__}:Holder.inside").path == (__file__, "Holder.inside")

    def inner(data):
        return data

    for function in (inner, lambda data: data, holder.method, functools.partial(inner), max):
        assert load(function).path is None
    once = load(at_the_top)
    assert load(once, "jax") is once


def test_a_file_is_imported_once_under_a_name_of_its_own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import beside\n\n\nmade = []\n\n\ndef f(data):\n    return made\n")
    (tmp_path / "beside.py").write_text("")
    first, second = (load(f"{file}:f").call(0) for _ in range(2))
    assert first is second
    for said, message in (
        (f"{file}:g", "has no 'g'"),
        (f"{file}:made", "which cannot be called"),
        (f"{file}:f.inner", "has no 'inner'"),
        (f"{file}:", "names a file and no function; write .*mine.py:function; it has: f$"),
        ("mine.py", "names a file and no function; write mine.py:function$"),
        ("no_file:", "names no function"),
    ):
        with pytest.raises(InputError, match=message):
            load(said)


def test_a_file_that_begins_an_audit_again_is_imported_up_to_there(tmp_path, monkeypatch):
    file = tmp_path / "script.py"
    file.write_text(
        "from jaxsel.auditing.functions.audited_function import check_first_start\n\n\n"
        "def f(data):\n    return 7\n\n\ncheck_first_start()\n"
        "raise ValueError('never reached')\n"
    )
    monkeypatch.setenv(audited_function.IN_WORKER, "1")
    assert load(f"{file}:f").call(0) == 7
    with pytest.raises(StartedAgain):
        audited_function.check_first_start()
    monkeypatch.delenv(audited_function.IN_WORKER)
    audited_function.check_first_start()
    again = tmp_path / "again.py"
    again.write_text(file.read_text())
    for _ in range(2):  # what could not be imported is not kept
        with pytest.raises(InputError, match=r"again.py cannot be imported: ValueError: never .*9"):
            load(f"{again}:f")


def test_what_draws_and_checks_is_told_no_other_settings():
    with pytest.raises(InputError, match="has no setting 'scael'; did you mean scale"):
        Draws(load(at_the_top), {"scael": 1.0})
    with pytest.raises(InputError, match="has no setting 'scael'; did you mean scale"):
        check_law(at_the_top, 0, law="norm", trials=100, settings={"scael": 1.0})
