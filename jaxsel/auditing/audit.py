"""audit: a lower bound on the privacy loss of a mechanism, from simulated trials.

Both sides of a neighbouring pair are simulated with independent streams; exact binomial
limits on the tallies bound epsilon (or delta at an epsilon) from below, corrected for the
search over events and directions. The exact value is reported as well where the mechanism
has an exact law. A lower bound is no estimate: the truth may be much larger.
"""

import functools
import importlib
import math
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import jax
import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, profile_delta
from jaxsel.auditing.audit_bounds import AuditBound, delta_lower_bound, epsilon_lower_bound
from jaxsel.auditing.functions.audited_function import is_function
from jaxsel.host import records
from jaxsel.host.errors import InputError, check_choice, check_integer
from jaxsel.host.former_names import warn
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.key_use import key_use
from jaxsel.language.base import Mechanism, Pair
from jaxsel.language.entry import Guarantee
from jaxsel.language.printing import Summary, printed
from jaxsel.language.subject import Subject, with_input
from jaxsel.language.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

# Largest tolerated error of audited probabilities due to the finite resolution of random
# draws, relative to the smallest probability that the trials can detect.
_DISTORTION = 1e-3


@printed
class Audit(NamedTuple):
    """The result of an audit.

    Attributes:
      mechanism, pair: their names.
      relation: the neighbouring relation of the pair.
      trials: number of trials simulated on each input.
      quantity: "epsilon" (at ``delta``) or "delta" (at ``epsilon``).
      bound: the audited lower bound.
      exact: the exact value on this pair, or None if the mechanism has no exact law.
      event_labels: the outcomes in the event that gave the bound.
      at: the delta (or the epsilon) at which the quantity is bounded.
      guarantee: what is claimed for this pair, if the mechanism has one.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.audit("noisy_max", trials=20_000)
        >>> print(found.mechanism[:9], found.pair, found.relation, found.guarantee.epsilon)
        noisy_max opposed general 1.0
        >>> found.bound.lower < found.exact < found.guarantee.epsilon
        True
    """

    mechanism: str
    pair: str
    relation: str
    trials: int
    quantity: str
    bound: AuditBound
    exact: float | None
    event_labels: tuple[str, ...]
    at: float = 0.0
    guarantee: Guarantee | None = None

    @property
    def promise(self) -> Guarantee | None:
        """Former name of ``guarantee``."""
        warn("Audit.promise", "Audit.guarantee")
        return self.guarantee

    @property
    def refuted(self) -> bool:
        """True if the audited lower bound exceeds the guarantee."""
        return self.guarantee is not None and self.bound.lower > self.guarantee.epsilon

    def plot(self) -> "Figure":
        """Plots the probability of the event on both inputs, and what the claim allows."""
        from jaxsel.pictures.tallied import draw_event

        k, n, other, m = self.bound.counts
        names = ("data", "neighbour")
        if self.bound.direction == "neighbour/data":
            (k, n, other, m), names = (other, m, k, n), ("neighbour", "data")
        claimed = math.nan
        if self.guarantee is not None and self.quantity == "epsilon":
            claimed = self.guarantee.epsilon
        event = " or ".join(self.event_labels)
        return draw_event((k, n, other, m), names, claimed, self.at, event)

    def summary(self) -> Summary:
        """The bound in words, beside the exact value and the claim."""
        other = "delta" if self.quantity == "epsilon" else "epsilon"
        sentence = (
            f"{self.mechanism} on pair {self.pair}: {self.quantity} at {other} = "
            f"{self.at:g} is at least {self.bound.lower:.6g} (confidence "
            f"{self.bound.confidence:g}, {self.trials} trials a side)."
        )
        if self.refuted and self.guarantee is not None:
            sentence += f" REFUTED: {self.guarantee.claim} says {self.guarantee.epsilon:g}."
        claim, epsilon = self.guarantee or (None, None)
        columns = ("pair", "relation", "lower bound", "exact", "claim", "says", "event")
        event = " or ".join(self.event_labels)
        row = [self.pair, self.relation, self.bound.lower, self.exact, claim, epsilon, event]
        return Summary(sentence, columns, [row])


def _or_a_function(audit: Callable[P, R]) -> Callable[P, R]:
    """``jaxsel.audit`` as of 0.2.0, which was asked of a function, too."""

    @functools.wraps(audit)
    def asked(*given: Any, **named: Any) -> R:
        if "subject" in named:
            given = (named.pop("subject"), *given)
        if not (given and is_function(given[0])):
            return audit(*given, **named)
        warn("jaxsel.audit of a function", "jaxsel.audit_function")
        door = importlib.import_module("jaxsel.questions.function_audit").audit_function
        if len(given) == 2:
            given, named["pair"] = given[:1], given[1]
        given, named = door.todays(given, named)
        return door(*given, **named)

    return asked


@_or_a_function
def audit(
    mechanism: Subject,
    pair: Pair | str | None = None,
    *,
    trials: int = 1_000_000,
    delta: float = 0.0,
    confidence: float = 0.95,
    method: str = "split",
    seed: int = 0,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> Audit:
    """A lower bound on epsilon at ``delta`` for one neighbouring pair of a mechanism.

    For a function of your own see ``jaxsel.audit_function``.

    Args:
      mechanism: what to audit: a name, for its default settings; the result of
        ``jaxsel.mechanism("fixed_repetitions", count=5)``; or a mechanism, with a pair.
      pair: the neighbouring inputs; for a mechanism that includes pairs, the name of one,
        by default the first.
      trials: number of trials on each input, >= 2.
      delta: of (epsilon, delta)-DP.
      confidence: the bound exceeds the truth with probability <= 1 - confidence.
      method: "split" chooses the event on one half of the trials and bounds it on the
        other;
        "bonferroni" uses all trials for all events.
      seed: of the simulation.
      progress, performance: as in ``simulate_grid``.

    Raises:
      InputError: for bad input; a mechanism whose draws are too coarse to audit with this
        many trials ("fast" precision); or one that does not use its key for randomness,
        unless its exact law shows that it is deterministic.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.audit("fixed_repetitions", trials=20_000)
        >>> found.guarantee.epsilon < found.bound.lower < found.exact
        True
        >>> found.refuted, found.guarantee.claim
        (True, 'FIXED-K-folklore')
    """
    found = _audited(mechanism, pair)
    tallies = _both_sides(found, trials, method, seed, progress, performance)
    return _epsilon_report(found, tallies, delta, confidence, seed)


def audit_tallies(
    mechanism: Subject,
    pair: Pair | str | None,
    used: tuple[np.ndarray, np.ndarray],
    selection: tuple[np.ndarray, np.ndarray],
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Audit:
    """``audit`` from existing tallies, by its method "split".

    Args:
      mechanism, pair, delta, confidence: as for ``audit``.
      used: Int["events"] on the data and on the neighbour, for the bound.
      selection: tallies of other, independent trials, for choosing the event.
      seed: of the simulation that made the tallies, from which the bound then has its own
        randomness, too; None asks the operating system.

    Raises:
      InputError: for bad input, or draws too coarse for so many trials.
    """
    found = _audited(mechanism, pair)
    trials = int(np.sum(used[0]) + np.sum(selection[0]))
    _check_resolution(found.mechanism, trials)
    labels = found.mechanism.labels(found.pair.data, found.pair.params)
    tallies = _BothSides(used, selection, labels)
    return _epsilon_report(found, tallies, delta, confidence, seed)


def _entropy(found: "_Audited", seed: int | None) -> tuple[int, ...] | None:
    """What the bound on a pair has its randomness from: the seed of the tallies, and the pair."""
    if seed is None:
        return None
    return seed, zlib.crc32(f"{found.mechanism.name}, {found.pair.name}".encode())


def _epsilon_report(
    found: "_Audited", tallies: "_BothSides", delta: float, confidence: float, seed: int | None
) -> Audit:
    # If delta > 0, the best event may contain several outcomes.
    events = ["singletons"]
    if delta > 0.0:
        events.append("prefixes" if tallies.selection is None else "thresholds")
    counts, counts_neighbour = tallies.used
    bound = epsilon_lower_bound(
        counts,
        counts_neighbour,
        delta,
        confidence,
        events,
        tallies.selection,
        _entropy(found, seed),
    )
    exact = _exact(found, lambda p, q: epsilon_at_delta(p, q, delta))
    return _report(found, tallies.trials, "epsilon", delta, bound, exact, tallies.labels)


def audit_delta(
    mechanism: Subject,
    pair: Pair | str | None = None,
    *,
    epsilon: float,
    trials: int = 1_000_000,
    confidence: float = 0.95,
    method: str = "split",
    seed: int = 0,
    progress: bool | None = None,
    performance: Performance = Performance(),
) -> Audit:
    """A lower bound on delta at ``epsilon`` for one neighbouring pair; see ``audit``.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.audit_delta("noisy_max", epsilon=0.5, trials=20_000)
        >>> found.quantity, 0.0 < found.bound.lower < found.exact
        ('delta', True)
    """
    found = _audited(mechanism, pair)
    tallies = _both_sides(found, trials, method, seed, progress, performance)
    counts, counts_neighbour = tallies.used
    bound = delta_lower_bound(
        counts,
        counts_neighbour,
        epsilon,
        confidence,
        selection=tallies.selection,
        entropy=_entropy(found, seed),
    )
    exact = _exact(found, lambda p, q: float(profile_delta(p, q, epsilon)))
    return _report(found, tallies.trials, "delta", epsilon, bound, exact, tallies.labels)


class _Audited(NamedTuple):
    mechanism: Mechanism
    pair: Pair
    guarantee: Guarantee | None
    listed: bool


def _audited(mechanism: Subject, pair: Pair | str | None) -> _Audited:
    mechanism = with_input(mechanism)
    if isinstance(mechanism, Trial):
        found = pair if isinstance(pair, Pair) else mechanism.pair(pair)
        listed = mechanism.entry is not None
        return _Audited(mechanism.mechanism, found, mechanism.guarantee(found), listed)
    if not isinstance(pair, Pair):
        raise InputError(f"pair is {pair!r}; {mechanism.name} comes without, give one")
    return _Audited(mechanism, pair, None, False)


def _check_key_use(mechanism: Mechanism, cells: list[tuple[Any, Any]]) -> None:
    """Raises InputError if the mechanism has randomness that does not come from its key."""
    with jax.enable_x64(True):
        for data, params in cells:
            prepared, again = (mechanism.prepare(data, params) for _ in range(2))
            found = key_use(
                lambda key, *given: mechanism.event(mechanism.sample(key, *given)), *prepared
            )
            same = records.digest(prepared) == records.digest(again)
            if not (same and found.repeatable):
                raise InputError(
                    f"{mechanism.name} draws random numbers outside its key, which are "
                    "drawn once and kept for all trials; take them from jaxsel.noise or "
                    "jaxsel.stream with the key that sample is given"
                )
            if not found.used and not _is_constant(mechanism, data, params):
                raise InputError(
                    f"the event of {mechanism.name} does not depend on its key, so that "
                    "all trials are one; draw its noise from the key, or, if it is to "
                    "have none, give it its law, a point mass"
                )


def _is_constant(mechanism: Mechanism, data: Any, params: Any) -> bool:
    """Whether the exact law has a single possible event."""
    law = mechanism.known_law(data, params)
    return law is not None and bool(law.probabilities.max() == 1.0)


class _BothSides(NamedTuple):
    used: tuple
    selection: tuple | None
    labels: tuple[str, ...]

    @property
    def trials(self) -> int:
        """Number of trials on each input."""
        selection = 0 if self.selection is None else int(np.sum(self.selection[0]))
        return int(np.sum(self.used[0])) + selection


def _check_resolution(mechanism: Mechanism, trials: int) -> None:
    if mechanism.resolution * trials > _DISTORTION:
        raise InputError(
            f"{mechanism.name} resolves probabilities down to {mechanism.resolution:.2g}, "
            f'too coarse to audit with {trials} trials; use precision "tail"'
        )


def _both_sides(
    audited: _Audited,
    trials: int,
    method: str,
    seed: int,
    progress: bool | None,
    performance: Performance,
) -> _BothSides:
    mechanism, pair = audited.mechanism, audited.pair
    trials = check_integer("trials", trials, 2)
    check_choice("method", method, ("split", "bonferroni"))
    _check_resolution(mechanism, trials)
    cells = [(pair.data, pair.params), (pair.neighbour, pair.params)]
    # The tests of the catalogue have checked its entries.
    if not audited.listed:
        _check_key_use(mechanism, cells)

    def counts(number: int, first: int):
        return simulate_grid(
            mechanism,
            cells,
            trials=number,
            first_trial=first,
            seed=seed,
            progress=progress,
            performance=performance,
        )

    first = trials // 2 if method == "split" else 0
    selection = None
    if first:
        chosen = counts(first, 0)
        selection = (chosen.values[0], chosen.values[1])
    used = counts(trials - first, first)
    return _BothSides((used.values[0], used.values[1]), selection, used.labels)


def _exact(audited: _Audited, value: Callable[[np.ndarray, np.ndarray], float]) -> float | None:
    mechanism, pair = audited.mechanism, audited.pair
    first = mechanism.known_law(pair.data, pair.params)
    second = mechanism.known_law(pair.neighbour, pair.params)
    if first is None or second is None:
        return None
    return value(first.probabilities, second.probabilities)


def _report(
    audited: _Audited,
    trials: int,
    quantity: str,
    at: float,
    bound: AuditBound,
    exact: float | None,
    labels: tuple[str, ...],
) -> Audit:
    return Audit(
        mechanism=audited.mechanism.name,
        pair=audited.pair.name,
        relation=audited.pair.relation.value,
        trials=trials,
        quantity=quantity,
        bound=bound,
        exact=exact,
        event_labels=tuple(labels[i] for i in bound.event),
        at=at,
        guarantee=audited.guarantee if quantity == "epsilon" else None,
    )
