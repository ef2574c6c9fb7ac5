"""A command imports what it needs and nothing else: to name things costs no compiler."""

import os
import subprocess
import sys

import pytest

# What takes long to import, from the quickest.
HEAVY = (
    "rich",
    "scipy",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.stats",
    "dp_accounting",
    "xarray",
    "pandas",
    "jax",
    "flax",
    "matplotlib",
    "jaxsel.catalogue",
    "jaxsel.kernel.engine",
)

_ACCOUNT = {"scipy", "jaxsel.catalogue"}
_ACCOUNTED = "account --base pure:epsilon=1 --repetitions poisson:mean=2"

# A name of the package, or words of a command line -> which heavy modules may be there.
_PACKAGE = (
    ("", set()),
    ("jaxsel.__version__; dir(jaxsel)", set()),
    ("jaxsel.InputError", set()),
    ("import jaxsel.host.records", set()),
    ("jaxsel.repetitions", {"scipy"}),
    ("jaxsel.validate", _ACCOUNT),
    ("jaxsel.account('pure:epsilon=1', 'poisson:mean=2')", _ACCOUNT),
    ("jaxsel.claim('PS-Cor3').evaluate()", _ACCOUNT),
)
_COMMANDS = (
    ("--help", set()),
    ("--version", set()),
    *(
        (f"{name} --help", set())
        for name in (
            "tune",
            "ledger",
            "list",
            "show",
            "claim",
            "law",
            "simulate",
            "audit",
            "audit-function",
            "replay",
            "check-law",
            "validate",
            "bench",
        )
    ),
    ("account --help", {"scipy"}),
    ("list figures", {"scipy"}),
    ("list sims", {"scipy"}),
    ("list bases", {"scipy"}),
    ("list repetitions", {"scipy"}),
    ("claim PS-Thm2", _ACCOUNT),
    ("list mechanisms", _ACCOUNT),
    ("list claims", _ACCOUNT),
    ("list errata", _ACCOUNT),
    ("list checks", _ACCOUNT),
    ("list", _ACCOUNT),
    ("show E-PS-1", _ACCOUNT),
    ("show PS-Thm2", _ACCOUNT | {"rich"}),
    ("show noisy_max", _ACCOUNT | {"rich"}),
)
_ANSWERS = (
    (_ACCOUNTED, _ACCOUNT | {"rich"}),
    (
        "account --base gaussian:noise_multiplier=4 --repetitions binomial:count=9,mean=3",
        _ACCOUNT | {"rich"},
    ),
    (f"{_ACCOUNTED} --epsilon 1", _ACCOUNT | {"rich"}),
)

_RUN = """
import sys
from jaxsel.cli import main
def command(words):
    try:
        main(words.split())
    except SystemExit as stop:
        assert not stop.code, stop.code
"""
_SAY = "; import sys; sys.stderr.write(' '.join(sys.modules) + chr(10))"


def not_allowed(begin: str, rows) -> list[tuple[str, list[str]]]:
    """What one process runs that has a heavy module which is not allowed by then.

    Args:
      begin: code that is run first.
      rows: pairs of code and the heavy modules that may be there after it. Each row allows
        what the one before it does, so that what an earlier one imports hides nothing.
    """
    lines = [begin]
    before = set()
    for code, allowed in rows:
        assert before <= allowed
        before = allowed
        lines.append((code or "pass") + _SAY)
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    found = [set(HEAVY) & set(line.split()) for line in result.stderr.splitlines()]
    assert len(found) == len(rows)
    return [
        (code, sorted(there - allowed))
        for (code, allowed), there in zip(rows, found, strict=True)
        if there - allowed
    ]


@pytest.mark.parametrize("rows", [_COMMANDS, _ANSWERS], ids=["lists", "answers"])
def test_a_command_imports_its_work_alone(rows):
    rows = [(f"command({words!r})", allowed) for words, allowed in rows]
    assert not_allowed(_RUN, rows) == []


def test_the_package_imports_what_is_used():
    assert not_allowed("import jaxsel", _PACKAGE) == []


def seconds(arguments: list[str]) -> float:
    """CPU time of a Python process, the least of three."""
    found = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        found.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return min(found)


def test_help_comes_at_once():
    least = seconds(["-c", "import numpy"])
    for option in ("--help", "--version"):
        assert seconds(["-m", "jaxsel", option]) < 2.0 * least + 0.5, option


def test_help_of_tune_names_every_data_set(capsys):
    from jaxsel.cli import main
    from jaxsel.data.images import IMAGE_SETS

    with pytest.raises(SystemExit):
        main(["tune", "--help"])
    out = capsys.readouterr().out
    assert all(name in out for name in IMAGE_SETS)
