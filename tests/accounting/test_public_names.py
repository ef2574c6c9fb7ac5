"""The names of ``jaxsel.accounting``: each is found, in its home and without JAX."""

import subprocess
import sys

import jaxsel.accounting


def test_every_public_name_is_found():
    for name in jaxsel.accounting.__all__:
        assert getattr(jaxsel.accounting, name) is not None
    assert dir(jaxsel.accounting) == jaxsel.accounting.__all__
    assert not hasattr(jaxsel.accounting, "no_such_bound")


def test_they_need_no_jax():
    program = (
        "import sys, jaxsel.accounting as a; [getattr(a, n) for n in dir(a)];"
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
