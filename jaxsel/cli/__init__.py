"""The command line: also the contract for scripts (``--json``, exit 0, 1 or 2)."""

from jaxsel.cli.main import main

__all__ = ["main"]
