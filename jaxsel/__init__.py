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

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxsel import repetitions as repetitions
    from jaxsel import statistics as statistics
    from jaxsel.auditing import Audit as Audit
    from jaxsel.auditing import audit as audit
    from jaxsel.auditing import audit_delta as audit_delta
    from jaxsel.base import Budget as Budget
    from jaxsel.base import Claim as Claim
    from jaxsel.base import Erratum as Erratum
    from jaxsel.base import FiniteLaw as FiniteLaw
    from jaxsel.base import Mechanism as Mechanism
    from jaxsel.base import Pair as Pair
    from jaxsel.base import Relation as Relation
    from jaxsel.base import Verdict as Verdict
    from jaxsel.engine import Performance as Performance
    from jaxsel.engine import Tallies as Tallies
    from jaxsel.engine import simulate as simulate
    from jaxsel.engine import simulate_grid as simulate_grid
    from jaxsel.errors import InputError as InputError
    from jaxsel.families.noisy_max.noisy_max import noisy_max as noisy_max
    from jaxsel.families.thresholds.threshold_selection import (
        threshold_selection as threshold_selection,
    )
    from jaxsel.families.tuning import bases as bases
    from jaxsel.families.tuning.noised_bases import noised_score as noised_score
    from jaxsel.families.tuning.noised_bases import random_candidate as random_candidate
    from jaxsel.families.tuning.private_tuning import Selection as Selection
    from jaxsel.families.tuning.private_tuning import private_tuning as private_tuning
    from jaxsel.tables import from_law as from_law

# Public name -> where it is defined ("module" or "module:name"); imported on first use,
# so that what needs no JAX does not wait for it.
_PUBLIC = {
    "Audit": "auditing:Audit",
    "Budget": "base:Budget",
    "Claim": "base:Claim",
    "Erratum": "base:Erratum",
    "FiniteLaw": "base:FiniteLaw",
    "InputError": "errors:InputError",
    "Mechanism": "base:Mechanism",
    "Pair": "base:Pair",
    "Performance": "engine:Performance",
    "Relation": "base:Relation",
    "Selection": "families.tuning.private_tuning:Selection",
    "Tallies": "engine:Tallies",
    "Verdict": "base:Verdict",
    "audit": "auditing:audit",
    "audit_delta": "auditing:audit_delta",
    "bases": "families.tuning.bases",
    "from_law": "tables:from_law",
    "noised_score": "families.tuning.noised_bases:noised_score",
    "noisy_max": "families.noisy_max.noisy_max:noisy_max",
    "private_tuning": "families.tuning.private_tuning:private_tuning",
    "random_candidate": "families.tuning.noised_bases:random_candidate",
    "simulate": "engine:simulate",
    "simulate_grid": "engine:simulate_grid",
    "threshold_selection": "families.thresholds.threshold_selection:threshold_selection",
}
_MODULES = ("repetitions", "statistics")

__all__ = sorted([*_PUBLIC, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        module, _, inner = _PUBLIC[name].partition(":")
        found: Any = importlib.import_module(f"jaxsel.{module}")
        return getattr(found, inner) if inner else found
    if name in _MODULES:
        return importlib.import_module(f"jaxsel.{name}")
    raise AttributeError(f"module 'jaxsel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
