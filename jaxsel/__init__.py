"""jaxsel: simulate and audit differentially private selection in JAX.

``mechanism`` builds a mechanism of the catalogue by name, ``simulate`` runs seeded trials
of it and keeps exact tallies, ``audit`` bounds its privacy loss from below on a
neighbouring pair, ``audit_function`` that of a function of your own, ``claim`` finds a
published statement, ``validate`` checks it,
``account`` computes the privacy cost of tuning, ``plan`` what to run within a budget,
``optimal`` the law of K with the least cost, and ``report`` states the proven guarantees,
for a paper. Every result prints as a sentence and a table, and ``plot`` draws it. Modules
are imported on first use.

Example:
    >>> import jaxsel
    >>> built = jaxsel.mechanism("private_tuning", repetitions="geometric:mean=10")
    >>> tallies = jaxsel.simulate(built, trials=1000)
    >>> int(tallies.values.sum())
    1000
    >>> jaxsel.claim("PS-Cor3").evaluate(base="pure:epsilon=0.5", law="geometric:mean=10")
    1.5
    >>> cost = jaxsel.account("gaussian:noise_multiplier=4", "geometric:mean=100")
    >>> print(cost.best.theorem)
    JX-Envelope
    >>> jaxsel.validate("PS-Cor3")[0].verdict.outcome
    'holds'
    >>> print("jaxsel", jaxsel.__version__)  # doctest: +ELLIPSIS
    jaxsel ...

A mechanism that is built without the catalogue takes its input separately:
    >>> from jaxsel import bases, repetitions
    >>> tuning = jaxsel.private_tuning(bases.randomised_response())
    >>> params = {"epsilon": 1.0, "repetitions": repetitions.geometric(gamma=0.1)}
    >>> jaxsel.simulate(tuning, 1, params, trials=1000).trials
    1000
"""

import functools
import importlib
from typing import TYPE_CHECKING, Any

# The one list of public names. A checker of types imports them; when the package runs, each is
# imported from here on its first use, so that what needs no JAX does not wait for it.
if TYPE_CHECKING:
    from jaxsel import repetitions as repetitions
    from jaxsel import statistics as statistics
    from jaxsel.auditing.audit import Audit as Audit
    from jaxsel.auditing.audit import audit as audit
    from jaxsel.auditing.audit import audit_delta as audit_delta
    from jaxsel.auditing.functions.audit_function import FunctionAudit as FunctionAudit
    from jaxsel.auditing.functions.law import LawCheck as LawCheck
    from jaxsel.auditing.functions.law import check_law as check_law
    from jaxsel.auditing.functions.replay import Replay as Replay
    from jaxsel.auditing.functions.replay import replay as replay
    from jaxsel.catalogue.validation import Validation as Validation
    from jaxsel.catalogue.validation import validate as validate
    from jaxsel.families.noisy_max.noisy_max import noisy_max as noisy_max
    from jaxsel.families.private_tuning import bases as bases
    from jaxsel.families.private_tuning.noised_bases import noised_score as noised_score
    from jaxsel.families.private_tuning.noised_bases import random_candidate as random_candidate
    from jaxsel.families.private_tuning.private_tuning import Selection as Selection
    from jaxsel.families.private_tuning.private_tuning import private_tuning as private_tuning
    from jaxsel.families.thresholds.threshold_selection import (
        threshold_selection as threshold_selection,
    )
    from jaxsel.host.errors import InputError as InputError
    from jaxsel.kernel.engine import Performance as Performance
    from jaxsel.kernel.engine import simulate as simulate
    from jaxsel.kernel.engine import simulate_grid as simulate_grid
    from jaxsel.kernel.tables import from_law as from_law
    from jaxsel.kernel.tallies import Tallies as Tallies
    from jaxsel.language import domains as domains
    from jaxsel.language.base import Budget as Budget
    from jaxsel.language.base import Claim as Claim
    from jaxsel.language.base import Erratum as Erratum
    from jaxsel.language.base import FiniteLaw as FiniteLaw
    from jaxsel.language.base import Mechanism as Mechanism
    from jaxsel.language.base import Pair as Pair
    from jaxsel.language.base import Relation as Relation
    from jaxsel.language.base import Verdict as Verdict
    from jaxsel.language.signature import over as over
    from jaxsel.language.trial import Trial as Trial
    from jaxsel.pictures.plotting import plot as plot
    from jaxsel.questions.account_grid import account_grid as account_grid
    from jaxsel.questions.by_name import claim as claim
    from jaxsel.questions.by_name import claims as claims
    from jaxsel.questions.by_name import law as law
    from jaxsel.questions.by_name import mechanism as mechanism
    from jaxsel.questions.by_name import mechanisms as mechanisms
    from jaxsel.questions.by_name import show as show
    from jaxsel.questions.cost import Cost as Cost
    from jaxsel.questions.function_audit import audit_function as audit_function
    from jaxsel.questions.plan import plan as plan
    from jaxsel.questions.plan_releases import plan_releases as plan_releases
    from jaxsel.questions.released import Released as Released
    from jaxsel.questions.released import account as account
    from jaxsel.questions.released import compose as compose
    from jaxsel.questions.released import privacy_loss_distribution as privacy_loss_distribution
    from jaxsel.questions.released import release as release
    from jaxsel.questions.released import search_cost as search_cost
    from jaxsel.questions.releases import ReleasePlan as ReleasePlan
    from jaxsel.questions.report import report as report
    from jaxsel.reports.report import Report as Report
    from jaxsel.search import scores as scores
    from jaxsel.search.private_search import PrivateSearch as PrivateSearch
    from jaxsel.search.private_search import Winner as Winner
    from jaxsel.search.tune import TuneResult as TuneResult
    from jaxsel.search.tune import tune as tune
    from jaxsel.shards import executors as executors
    from jaxsel.sweeps.functions import own_mechanism as own_mechanism
    from jaxsel.sweeps.running import merge as merge
    from jaxsel.sweeps.running import sweep as sweep
    from jaxsel.tuning.base_forms import dominating as dominating
    from jaxsel.tuning.base_forms import guarantee_of as guarantee_of
    from jaxsel.tuning.planning.optimal import Optimal as Optimal
    from jaxsel.tuning.planning.optimal import optimal as optimal
    from jaxsel.tuning.planning.planned import Plan as Plan

    __version__: str


# Names of 0.2.0, read for one release.
_FORMER = {
    "tuned": "jaxsel.search_cost",
    "Tuned": "jaxsel.TuneResult",
    "account_delta": "jaxsel.account(epsilon=)",
    "compose_delta": "jaxsel.compose(epsilon=)",
}


def _version() -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version("jaxsel")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@functools.cache
def _places() -> dict[str, tuple[str, str]]:
    """Public name -> the module and the name in it, as they are imported above."""
    digest = importlib.import_module("jaxsel.host.source_digest")
    return {n: place for n, place in digest.reexported(__file__).items() if place[0] != "typing"}


@functools.cache
def _is_module(name: str) -> bool:
    """Whether that is a module, found without importing what it lies in."""
    return importlib.import_module("jaxsel.host.source_digest").file_of(name) is not None


def __dir__() -> list[str]:
    return sorted([*_places(), "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name == "__all__":
        return __dir__()
    if name in _FORMER:
        names = importlib.import_module("jaxsel.host.former_names")
        return names.former_names(__name__, _FORMER)(name, stacklevel=3)
    if name.startswith("_") or name not in _places():
        raise AttributeError(f"module 'jaxsel' has no attribute {name!r}")
    module, inner = _places()[name]
    if _is_module(f"{module}.{inner}"):
        return importlib.import_module(f"{module}.{inner}")
    return getattr(importlib.import_module(module), inner)
