"""Fresh Python processes, for measurements that are possible only once per process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Removed from the environment, so that every child starts from the same settings.
_INHERITED = ("XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_X64")


def run_python(module: str, *arguments: str, extra: Mapping[str, str] | None = None) -> str:
    """Standard output of ``python -m module arguments`` on the CPU backend.

    Standard error is passed on, so that progress shows.

    Raises:
      RuntimeError: if the process fails.
    """
    environment = {k: v for k, v in os.environ.items() if k not in _INHERITED}
    # The current folder may not be the checkout.
    path = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    environment |= {"JAX_PLATFORMS": "cpu", "PYTHONPATH": path} | dict(extra or {})
    command = [sys.executable, "-m", module, *arguments]
    result = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    if result.returncode:
        raise RuntimeError(f"python -m {module} ended with status {result.returncode}")
    return result.stdout
