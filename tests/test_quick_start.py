"""A command imports what it needs and nothing else: to name things costs no compiler."""

import os
import subprocess
import sys

import pytest

# What takes long to import, from the quickest.
HEAVY = (
    "rich", "scipy", "scipy.integrate", "scipy.interpolate", "scipy.stats",
    "dp_accounting", "xarray", "pandas", "jax", "flax", "matplotlib", "jaxsel.catalogue",
    "jaxsel.engine",
)  # fmt: skip

_ACCOUNT = {"scipy", "jaxsel.catalogue"}
_RUN = """
import sys
from jaxsel.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.stderr.write(" ".join(sys.modules))
"""

_STATISTICS = {"scipy.integrate", "scipy.interpolate", "scipy.stats"}
_CATALOGUE = {"scipy", "jaxsel.catalogue"} | _STATISTICS


def imported(arguments: list[str]) -> set[str]:
    """Which of the heavy modules a Python process has at its end."""
    result = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True
    )
    return set(HEAVY) & set(result.stderr.split())


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("--help", set()),
        ("--version", set()),
        *((f"{name} --help", set()) for name in (
            "tune", "list", "show", "claim", "law", "simulate", "audit", "validate",
            "bench",
        )),
        ("account --help", {"scipy"}),
        ("list figures", {"scipy"}),
        ("list sims", {"scipy"}),
        ("list bases", {"scipy"}),
        ("list repetitions", {"scipy"}),
        ("list mechanisms", _CATALOGUE),
        ("list claims", _CATALOGUE),
        ("list errata", _CATALOGUE),
        ("list checks", _CATALOGUE),
        ("list", _CATALOGUE),
        ("claim PS-Thm2", _ACCOUNT),
        ("show E-PS-1", _CATALOGUE),
        ("show PS-Thm2", _CATALOGUE | {"rich"}),
        ("show noisy_max", _CATALOGUE | {"rich"}),
        ("account --base pure:epsilon=1 --repetitions poisson:mean=2",
         _ACCOUNT | {"rich"}),
        ("account --base gaussian:noise_multiplier=4 --repetitions binomial:count=9,mean=3",
         _ACCOUNT | {"rich"}),
        ("account --base pure:epsilon=1 --repetitions poisson:mean=2 --epsilon 1",
         _ACCOUNT | {"rich"}),
    ],
)  # fmt: skip
def test_a_command_imports_its_work_alone(command, allowed):
    assert imported(["-c", _RUN, *command.split()]) <= allowed


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import jaxsel", set()),
        ("import jaxsel; jaxsel.__version__; dir(jaxsel)", set()),
        ("import jaxsel; jaxsel.InputError", set()),
        ("import jaxsel; jaxsel.repetitions", {"scipy"}),
        ("import jaxsel; jaxsel.claim('PS-Cor3').evaluate()", _ACCOUNT),
        ("import jaxsel; jaxsel.validate", set()),
        ("import jaxsel; jaxsel.account('pure:epsilon=1', 'poisson:mean=2')",
         _ACCOUNT),
        ("import jaxsel.records", set()),
    ],
)  # fmt: skip
def test_the_package_imports_what_is_used(code, allowed):
    code += "; import sys; sys.stderr.write(' '.join(sys.modules))"
    assert imported(["-c", code]) <= allowed


def seconds(arguments: list[str]) -> float:
    """CPU time of a Python process, the least of three."""
    found = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        found.append(
            after.children_user + after.children_system
            - before.children_user - before.children_system
        )  # fmt: skip
    return min(found)


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_comes_at_once(option):
    least = seconds(["-c", "import numpy"])
    assert seconds(["-m", "jaxsel", option]) < 2.0 * least + 0.5


def test_help_of_tune_names_every_data_set(capsys):
    from jaxsel.cli import main
    from jaxsel.data.images import IMAGE_SETS

    with pytest.raises(SystemExit):
        main(["tune", "--help"])
    out = capsys.readouterr().out
    assert all(name in out for name in IMAGE_SETS)
