"""Modules of ``jaxsel.families.tuning`` are found under their former names, with a warning."""

import importlib
import subprocess
import sys
import warnings

import pytest

_NAMES = {
    "accountant": "jaxsel.tuning.accountant",
    "bounds.renyi": "jaxsel.tuning.bounds.renyi",
    "bases": "jaxsel.families.private_tuning.bases",
    "private_tuning": "jaxsel.families.private_tuning.private_tuning",
    "claims.repetitions.best_of_runs": "jaxsel.families.private_tuning.claims.best_of_runs",
    "claims.repetitions.laws": "jaxsel.tuning.claims.repetitions.laws",
}


@pytest.mark.parametrize("name", _NAMES)
def test_a_former_name_is_todays_module(name):
    former, today = f"jaxsel.families.tuning.{name}", _NAMES[name]
    sys.modules.pop(former, None)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = importlib.import_module(former)
    assert f"{former} is {today} now" in [str(each.message) for each in told]
    assert found is importlib.import_module(today)
    assert found.__name__ == found.__spec__.name == today


def test_it_warns_where_it_is_written_and_says_what_there_never_was():
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "try:\n    from jaxsel.families.tuning import proofs\n"
        "except DeprecationWarning as warning:\n    print(warning)\n"
        "try:\n    import jaxsel.families.tuning.nothing\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "jaxsel.families.tuning.proofs is jaxsel.tuning.proofs now",
        "No module named 'jaxsel.families.tuning.nothing'",
    ], done.stderr
