"""The command line, for people and for scripts (``--json``, and exit statuses that have meanings).

The modules of this folder import only what reads arguments. A command imports what it
computes with when it runs, so that ``--help`` is fast.
"""

from jaxsel.cli.main import main as main
