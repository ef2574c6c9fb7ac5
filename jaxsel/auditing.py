"""audit: a lower bound on the privacy loss of a mechanism, from simulated trials.

Both sides of a neighbouring pair are simulated with independent streams; exact binomial
limits on the tallies bound epsilon (or delta at an epsilon) from below, corrected for the
search over events and directions. Beside the bound stands the exact value where the
mechanism has an exact law. A lower bound is no estimate: the truth may be much larger.
"""

from typing import Any, NamedTuple

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, profile_delta
from jaxsel.audit_bounds import AuditBound, delta_lower_bound, epsilon_lower_bound
from jaxsel.base import Mechanism, Pair
from jaxsel.engine import simulate_grid
from jaxsel.errors import InputError, check_choice, check_integer

# How far sampling error of the mechanism's own draws may shift an audited probability,
# relative to the smallest one that the trials can see.
_DISTORTION = 1e-3


class Audit(NamedTuple):
    """What an audit saw.

    Attributes:
      mechanism, pair: their names.
      relation: the neighbouring relation of the pair.
      trials: simulated a side.
      quantity: "epsilon" (at ``delta``) or "delta" (at ``epsilon``).
      bound: the audited lower bound.
      exact: the exact value on this pair, or None if the mechanism has no exact law.
      event_labels: the meaning of the event that gave the bound.
    """

    mechanism: str
    pair: str
    relation: str
    trials: int
    quantity: str
    bound: AuditBound
    exact: float | None
    event_labels: tuple[str, ...]


def audit(
    mechanism: Mechanism,
    pair: Pair,
    *,
    trials: int,
    delta: float = 0.0,
    confidence: float = 0.95,
    method: str = "split",
    seed: int = 0,
    **settings: Any,
) -> Audit:
    """A lower bound on epsilon at ``delta`` for one neighbouring pair.

    Args:
      mechanism: what to audit.
      pair: the neighbouring inputs.
      trials: a side, >= 2.
      delta: of (epsilon, delta)-DP.
      confidence: the bound exceeds the truth with probability <= 1 - confidence.
      method: "split" chooses the event on one half of the trials and bounds on the other;
        "bonferroni" uses all trials for all events.
      seed: of the simulation.
      **settings: passed to ``simulate_grid`` (progress, performance).

    Raises:
      InputError: for bad input, or a mechanism whose draws are too coarse to audit with
        this many trials ("fast" precision).
    """
    tallies = _both_sides(mechanism, pair, trials, method, seed, settings)
    # Above delta = 0 the best event may hold several outcomes.
    events = ["singletons"]
    if delta > 0.0:
        events.append("prefixes" if tallies.selection is None else "thresholds")
    counts, counts_neighbour = tallies.used
    bound = epsilon_lower_bound(
        counts, counts_neighbour, delta, confidence, events, tallies.selection
    )
    exact = _exact(mechanism, pair, lambda p, q: epsilon_at_delta(p, q, delta))
    return _report(mechanism, pair, trials, "epsilon", bound, exact, tallies.labels)


def audit_delta(
    mechanism: Mechanism,
    pair: Pair,
    *,
    trials: int,
    epsilon: float,
    confidence: float = 0.95,
    method: str = "split",
    seed: int = 0,
    **settings: Any,
) -> Audit:
    """A lower bound on delta at ``epsilon`` for one neighbouring pair; see ``audit``."""
    tallies = _both_sides(mechanism, pair, trials, method, seed, settings)
    counts, counts_neighbour = tallies.used
    bound = delta_lower_bound(
        counts, counts_neighbour, epsilon, confidence, selection=tallies.selection
    )
    exact = _exact(mechanism, pair, lambda p, q: float(profile_delta(p, q, epsilon)))
    return _report(mechanism, pair, trials, "delta", bound, exact, tallies.labels)


class _BothSides(NamedTuple):
    used: tuple
    selection: tuple | None
    labels: tuple[str, ...]


def _both_sides(mechanism, pair, trials, method, seed, settings) -> _BothSides:
    trials = check_integer("trials", trials, 2)
    check_choice("method", method, ("split", "bonferroni"))
    if mechanism.resolution * trials > _DISTORTION:
        raise InputError(
            f"{mechanism.name} resolves probabilities down to {mechanism.resolution:.2g}, "
            f'too coarse to audit with {trials} trials; use precision "tail"'
        )
    cells = [(pair.data, pair.params), (pair.neighbour, pair.params)]
    first = trials // 2 if method == "split" else 0
    selection = None
    if first:
        chosen = simulate_grid(mechanism, cells, trials=first, seed=seed, **settings)
        selection = (chosen.values[0], chosen.values[1])
    rest = trials - first
    used = simulate_grid(
        mechanism, cells, trials=rest, first_trial=first, seed=seed, **settings
    )
    return _BothSides((used.values[0], used.values[1]), selection, used.labels)


def _exact(mechanism: Mechanism, pair: Pair, value) -> float | None:
    if mechanism.law is None:
        return None
    first = mechanism.law(pair.data, pair.params).probabilities
    second = mechanism.law(pair.neighbour, pair.params).probabilities
    return value(first, second)


def _report(mechanism, pair, trials, quantity, bound, exact, labels) -> Audit:
    return Audit(
        mechanism=mechanism.name,
        pair=pair.name,
        relation=pair.relation.value,
        trials=trials,
        quantity=quantity,
        bound=bound,
        exact=exact,
        event_labels=tuple(labels[i] for i in bound.event),
    )
