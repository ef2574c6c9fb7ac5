"""Facts of a cell that need no trials: bounds, exact values, the law of K."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from jaxsel import catalogue
from jaxsel.accounting.single_run.divergences import epsilon_at_delta
from jaxsel.families.private_tuning.base_settings import base_text
from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from jaxsel.language.trial import Trial
from jaxsel.repetitions import Repetitions, expected_quantile
from jaxsel.sweeps.cells import Cell
from jaxsel.tuning.accountant import attained, proven_epsilons
from jaxsel.tuning.base_forms import guarantee_of

Facts = dict[str, dict[str, float]]
"""Key of a fact of a cell -> its numbers by name."""

# The fact that contains each measure that needs no trials.
FACT_OF: Mapping[str, str] = {
    "epsilon_bound": "bounds",
    "epsilon_bounds": "bounds",
    "attained": "attained",
    "epsilon_single": "attained",
    "exact_epsilon": "exact",
    "mean_runs": "runs",
    "no_release": "runs",
    "expected_quantile": "runs",
}


def law_of(cell: Cell) -> Repetitions | None:
    """The law of K of a cell; None if it has none."""
    if cell.built is None:
        return cell.values["repetitions"]
    params = cell.built.params
    found = params.get("repetitions") if isinstance(params, Mapping) else None
    return found if isinstance(found, Repetitions) else None


def _tuning_bounds(base: Any, law: Repetitions, delta: float) -> dict[str, float]:
    return {bound.theorem: bound.epsilon for bound in proven_epsilons(base, law, delta)}


def _bounds(cell: Cell, delta: float) -> dict[str, float]:
    """Every proven epsilon, by theorem, except those of statements known to be false."""
    if cell.built is None:
        base, law = cell.values["base"], cell.values["repetitions"]
        return _tuning_bounds(base, law, delta)
    built, found = cell.built, {}
    found_of = [built.guarantee(pair) for pair in _pairs(built)]
    proven = [each for each in found_of if each is not None]
    # A theorem for monotone neighbours only gives no bound for general ones.
    if proven and len(proven) == len(found_of):
        claim, epsilon = max(proven, key=lambda each: each.epsilon)
        if catalogue.find_claim(claim).holds:
            found[claim] = epsilon
    law = law_of(cell)
    text = None if built.entry is None else base_text(built.values)
    if law is not None and text is not None:
        found |= _tuning_bounds(guarantee_of(text), law, delta)
    return found


def _pairs(built: Trial) -> tuple:
    try:
        return built.pairs()
    except InputError:  # the base has no constructed pairs
        return ()


def _attained(cell: Cell, delta: float) -> dict[str, float]:
    base, law = cell.values["base"], cell.values["repetitions"]
    best = proven_epsilons(base, law, delta)[0]
    found = attained(base, law, best, delta)
    return {"attained": found, "epsilon_single": base.epsilon(delta)}


def _exact(cell: Cell, delta: float) -> dict[str, float]:
    built = cell.built
    if built is None:
        return {}
    law, epsilons = built.mechanism.known_law, []
    for pair in _pairs(built):
        p, q = (law(side, pair.params) for side in (pair.data, pair.neighbour))
        if p is None or q is None:
            return {}
        epsilons.append(epsilon_at_delta(p.probabilities, q.probabilities, delta))
    return {"exact_epsilon": max(epsilons)} if epsilons else {}


def _runs(cell: Cell, delta: float) -> dict[str, float]:
    del delta
    law = law_of(cell)
    if law is None:
        return {}
    return {
        "mean_runs": float(law.mean),
        "no_release": float(law.probability_zero),
        "expected_quantile": expected_quantile(law),
    }


_FACTS: Mapping[str, Callable[[Cell, float], dict[str, float]]] = {
    "bounds": _bounds,
    "attained": _attained,
    "exact": _exact,
    "runs": _runs,
}


def code(function: Callable[..., Any] | None) -> str:
    """A digest of the code that computes the facts.

    Args:
      function: the user's function that makes the cells; None if there is none.
    """
    own = () if function is None else (function,)
    return source_digest.digest(proven_epsilons, __name__, *own)


def fact_key(fact: str, cell: Cell, delta: float) -> str:
    """The key under which a fact is stored; it does not depend on the seed."""
    return json.dumps([fact, cell.settings_key, delta])


def find_fact(fact: str, cell: Cell, delta: float) -> dict[str, float]:
    """Computes the numbers of one fact, by name; {} if nothing is known.

    Args:
      fact: "bounds", "attained", "exact" or "runs".
      cell: the cell.
      delta: of every epsilon; an account has its own.

    Raises:
      InputError: for a delta that is not allowed for the cell.
    """
    if cell.built is None:
        delta = float(cell.values["delta"])
    found = _FACTS[fact](cell, delta)
    return {name: float(value) for name, value in found.items() if not math.isnan(value)}
