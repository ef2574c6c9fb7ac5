"""What the auditor of functions finds, in tables: ``python -m benchmarks.audit_tables TABLE``.

Each table is a module with ``rows(trials, seed, seconds, runs)``, which yields a row as soon as
it is known, and ``judged(rows)``, which says in a sentence what they show and whether the bar
is reached.
"""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

TABLES = {
    "bugs": "Small programs, thirty wrong and fifteen right, and which of them are refuted.",
    "zoo": "The thirteen mechanisms of a published evaluation of auditors, with its bounds.",
    "libraries": "What other libraries promise and what is found, of those that are installed.",
    "calibration": "How often a claim that is kept exactly falls, by method.",
}
"""The tables and what they show; each is a module of this folder."""
