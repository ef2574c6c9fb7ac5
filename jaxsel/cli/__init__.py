"""The command line: also the contract for scripts (``--json``, exit 0, 1 or 2).

Modules of this folder import what reads arguments and nothing else; a command imports its
work when it runs, so that ``--help`` waits for none of it.
"""

from jaxsel.cli.main import main

__all__ = ["main"]
