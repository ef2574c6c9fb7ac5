"""Names of 0.2.0 are read for one release: each warns where it is written, and answers as today's.

Former modules are tried in ``tests/families/private_tuning/test_former_names.py``.
"""

import importlib
import linecache
import re
import subprocess
import sys
import warnings

import pytest

import jaxsel
from jaxsel.families.noisy_max.entries import noisy_max
from jaxsel.language import entry

BASE, LAW, RUN = "gaussian:noise_multiplier=4", "geometric:mean=10", {"base": "gdp:mu=1"}


def _asked(place: str, name: str):
    return getattr(importlib.import_module(place), name)


FORMER = {
    "jaxsel.repetitions.describe(law) is law.name now": (
        lambda: _asked("jaxsel.repetitions", "describe")(jaxsel.repetitions.parse(LAW)),
        lambda: jaxsel.repetitions.parse(LAW).name,
    ),
    "jaxsel.tuned is jaxsel.search_cost now": (
        lambda: _asked("jaxsel", "tuned")(BASE, LAW).epsilon(1e-6),
        lambda: jaxsel.search_cost(BASE, LAW).epsilon(1e-6),
    ),
    "jaxsel.Tuned is jaxsel.TuneResult now": (
        lambda: _asked("jaxsel", "Tuned"),
        lambda: jaxsel.TuneResult,
    ),
    "jaxsel.account_delta is jaxsel.account(epsilon=) now": (
        lambda: _asked("jaxsel", "account_delta")(BASE, LAW, 1.0, attain=False).bounds,
        lambda: jaxsel.account(BASE, LAW, epsilon=1.0, attain=False).bounds,
    ),
    "jaxsel.compose_delta is jaxsel.compose(epsilon=) now": (
        lambda: _asked("jaxsel", "compose_delta")(RUN, epsilon=1.0).bounds,
        lambda: jaxsel.compose(RUN, epsilon=1.0).bounds,
    ),
    "jaxsel.tuning.accountant.account is jaxsel.account now": (
        lambda: _asked("jaxsel.tuning.accountant", "account")(BASE, LAW, 1e-6).best,
        lambda: jaxsel.account(BASE, LAW, 1e-6).best,
    ),
    "jaxsel.tuning.accountant.account_delta is jaxsel.account(epsilon=) now": (
        lambda: _asked("jaxsel.tuning.accountant", "account_delta")(BASE, LAW, 1.0).best,
        lambda: jaxsel.account(BASE, LAW, epsilon=1.0).best,
    ),
    "jaxsel.language.entry.Promise is jaxsel.language.entry.Guarantee now": (
        lambda: _asked("jaxsel.language.entry", "Promise"),
        lambda: entry.Guarantee,
    ),
    "MechanismEntry.promised is MechanismEntry.guarantee now": (
        lambda: noisy_max.promised({}, noisy_max.pairs({})[0]),
        lambda: noisy_max.guarantee({}, noisy_max.pairs({})[0]),
    ),
    "Audit.promise is Audit.guarantee now": (
        lambda: jaxsel.audit("noisy_max", trials=100).promise,
        lambda: jaxsel.audit("noisy_max", trials=100).guarantee,
    ),
}


@pytest.mark.usefixtures("coarse_prices")
@pytest.mark.parametrize("words", FORMER)
def test_a_former_name_warns_where_it_is_written_and_answers_as_todays(words):
    former, today = FORMER[words]
    with pytest.warns(DeprecationWarning, match="is .* now") as told:
        answer = former()
    assert [str(each.message) for each in told] == [words]
    assert told[0].filename == __file__
    name = words.split(" is ")[0].rpartition(".")[2]
    assert re.search(rf"getattr\(|\.{name}\b", linecache.getline(__file__, told[0].lineno))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert answer == today()


def test_every_former_name_is_tried_and_none_is_listed():
    """A name that is read and not in the table above would be one that nobody tries."""
    tried = {words.split()[0] for words in FORMER}
    assert {f"jaxsel.{name}" for name in jaxsel._FORMER} <= tried
    assert not set(jaxsel._FORMER) & set(dir(jaxsel))


def test_what_there_never_was_is_no_former_name():
    for place in ("jaxsel", "jaxsel.tuning.accountant", "jaxsel.language.entry"):
        with pytest.raises(AttributeError, match=f"module '{place}' has no attribute 'nothing'"):
            _asked(place, "nothing")


def test_an_import_of_a_former_name_warns_on_its_line():
    code = "import warnings\nwarnings.simplefilter('error')\nfrom jaxsel import tuned\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "DeprecationWarning: jaxsel.tuned is jaxsel.search_cost now"
    )
