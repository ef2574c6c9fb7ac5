"""An installation without extras accounts, plans, audits, simulates and searches."""

import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_WITHOUT = """
import sys

for name in ("flax", "optax", "sklearn", "pooch"):
    sys.modules[name] = None  # to import it raises ModuleNotFoundError
"""


def _run(code):
    text = _WITHOUT + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)


def test_what_needs_no_extra_runs_without_any():
    done = _run(
        """
        import numpy as np
        import jaxsel
        import jaxsel.testing

        base, law = "gaussian:noise_multiplier=4", "geometric:mean=3"
        print(jaxsel.account(base, law).epsilon < 3.0)
        print(jaxsel.audit("noisy_max", trials=1000).refuted)
        jaxsel.testing.assert_private(
            lambda rng, data, n: len(data) + rng.laplace(size=n),
            [0, 1], [0, 1, 1], relation="add_or_remove_one", epsilon=1.0, trials=20_000,
        )
        search = jaxsel.PrivateSearch(
            [0.1, 0.2], base=base, repetitions=law, score=jaxsel.scores.public()
        )
        print(search.guarantee.epsilon < 3.0)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "False", "True"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["tune"], 'training networks needs Flax and optax; run pip install "jaxsel[train]"'),
        (["list", "mechanisms"], ""),
    ],
)
def test_what_needs_an_extra_names_it(command, sentence):
    done = _run(
        f"""
        from jaxsel.cli import main

        sys.argv = ["jaxsel", *{command!r}]
        main()
        """
    )
    assert done.returncode == (2 if sentence else 0), done.stderr
    assert sentence in done.stderr


def test_data_that_come_with_an_extra_name_it():
    done = _run(
        """
        from jaxsel.data.images import load_images

        try:
            load_images("digits")
        except Exception as error:
            print(type(error).__name__, error)
        """
    )
    assert 'InputError the digits come with scikit-learn; run pip install "jaxsel[data]"' in (
        done.stdout
    )


def test_all_is_every_extra_of_the_package_itself():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    assert optional["all"] == ["jaxsel[data,train]"]
    assert len(project["dependencies"]) <= 12
