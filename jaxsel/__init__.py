"""jaxsel: simulate and audit differentially private selection in JAX.

A mechanism is a record of pure functions, ``simulate`` runs seeded trials of it and
keeps exact tallies, ``audit`` bounds its privacy loss from below on a neighbouring pair,
and claims are the published statements about it, each with a test.

Example:
    >>> import jaxsel
    >>> from jaxsel import bases, repetitions
    >>> tuning = jaxsel.private_tuning(bases.randomised_response())
    >>> params = {"epsilon": 1.0, "repetitions": repetitions.geometric(gamma=0.1)}
    >>> tallies = jaxsel.simulate(tuning, 1, params, trials=1000)
    >>> int(tallies.values.sum())
    1000
"""

from jaxsel import repetitions, statistics
from jaxsel.audit import Audit, audit, audit_delta
from jaxsel.base import (
    Budget,
    Claim,
    Erratum,
    FiniteLaw,
    Mechanism,
    Pair,
    Relation,
    Verdict,
)
from jaxsel.engine import Performance, Tallies, simulate, simulate_grid
from jaxsel.errors import InputError
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.families.tuning import bases
from jaxsel.families.tuning.noised_bases import noised_score, random_candidate
from jaxsel.families.tuning.private_tuning import Selection, private_tuning
from jaxsel.tables import from_law

__all__ = [
    "Audit",
    "Budget",
    "Claim",
    "Erratum",
    "FiniteLaw",
    "InputError",
    "Mechanism",
    "Pair",
    "Performance",
    "Relation",
    "Selection",
    "Tallies",
    "Verdict",
    "audit",
    "audit_delta",
    "bases",
    "from_law",
    "noised_score",
    "noisy_max",
    "private_tuning",
    "random_candidate",
    "repetitions",
    "simulate",
    "simulate_grid",
    "statistics",
    "threshold_selection",
]
