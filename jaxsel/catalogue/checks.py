"""Claims about the simulated mechanisms themselves, one or two an entry of a catalogue.

AUDIT-<mechanism>: no audit finds more privacy loss than the entry promises.
SIM-<mechanism>: simulated frequencies agree with the exact law.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing import audit
from jaxsel.base import Budget, Claim, FiniteLaw, Pair, Relation
from jaxsel.catalogue import promised
from jaxsel.checking import CONFIDENCE, Case, at_most
from jaxsel.engine import simulate_grid
from jaxsel.errors import InputError, check_integer
from jaxsel.intervals import clopper_pearson

if TYPE_CHECKING:
    # catalogue.claims imports this module
    from jaxsel.entry import MechanismEntry


Settings = Mapping[str, str]
Law = Callable[[Any, Any], FiniteLaw]


def _variants(entry: "MechanismEntry") -> dict[str, Settings]:
    """The settings to audit, by the ending of the claim's id."""
    variants: dict[str, Settings] = {"": {}}
    if "noise" in entry.settings:
        variants |= {
            f"-{noise}": {"noise": noise} for noise in ("laplace", "exponential")
        }
    if "base" in entry.settings:
        # three outcomes, on which random stopping loses most
        variants["-finite"] = {"base": "finite"}
    return variants


def _promised(
    entry: "MechanismEntry", given: Settings
) -> list[tuple[Pair, tuple[str, float]]]:
    """The constructed pairs with a proven pure epsilon, and that promise."""
    promises = [(pair, promised(entry, given, pair)) for pair in entry.pairs(given)]
    return [(pair, promise) for pair, promise in promises if promise is not None]


def _shown(given: Settings) -> str:
    return ", ".join(f"{key}={value}" for key, value in given.items()) or "default"


# --- AUDIT ----------------------------------------------------------------------------


def _audit_cases(
    entry: "MechanismEntry", given: Settings
) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        found = _promised(entry, given)
        mechanism = entry.build(given).mechanism
        for pair, (claim_id, epsilon) in found:
            seen = audit(
                mechanism,
                pair,
                trials=max(budget.trials, 2),
                # Bonferroni over the pairs
                confidence=1.0 - (1.0 - CONFIDENCE) / len(found),
                seed=budget.seed,
                progress=False,
            )
            where = f"pair {pair.name}, {_shown(given)} settings, promise {claim_id}"
            lower = seen.bound.lower
            text = f"audited lower bound from {seen.trials} trials a side"
            yield epsilon, lower, f"{text}, {where}"
            if mechanism.law is not None:
                laws = [
                    mechanism.law(data, pair.params).probabilities
                    for data in (pair.data, pair.neighbour)
                ]
                exact = exact_epsilon(laws[0], laws[1])
                yield epsilon, exact, f"exact epsilon, {where}"
                yield exact, lower, f"{text} against the exact epsilon, {where}"

    return cases


def _promise(entry: "MechanismEntry", given: Settings) -> Callable[..., float]:
    def evaluate(*, pair: int = 0) -> float:
        """Pure epsilon promised for a constructed pair, at the settings of this claim.

        Args:
          pair: number of the pair, from 0.
        """
        promises = _promised(entry, given)
        number = check_integer("pair", pair, 0)
        if number >= len(promises):
            raise InputError(
                f"pair is {number}; {entry.name} has {len(promises)} pairs, from 0"
            )
        return promises[number][1][1]

    return evaluate


def audit_claims(entries: Iterable["MechanismEntry"]) -> tuple[Claim, ...]:
    """AUDIT claims of every entry that is not broken and promises a pure epsilon."""
    claims = []
    for entry in entries:
        for ending, given in _variants(entry).items():
            promises = [] if entry.broken else _promised(entry, given)
            if not promises:
                continue
            names = sorted({claim_id for _, (claim_id, _) in promises})
            relations = {pair.relation for pair, _ in promises}
            general = Relation.GENERAL in relations
            claims.append(
                Claim(
                    id=f"AUDIT-{entry.name}{ending}",
                    source=f"audit of {entry.name} against {', '.join(names)}",
                    statement="On each constructed pair the audited lower bound on epsilon "
                    f"of {entry.name} ({_shown(given)} settings), at confidence 1 - 1e-6, "
                    "and the exact epsilon are at most the promised one.",
                    kind="privacy",
                    relation=Relation.GENERAL if general else promises[0][0].relation,
                    evaluate=_promise(entry, given),
                    check=at_most(_audit_cases(entry, given)),
                )
            )
    return tuple(claims)


# --- SIM ------------------------------------------------------------------------------


def _simulated(entry: "MechanismEntry") -> Settings:
    return {"base": "finite"} if "base" in entry.settings else {}


def _simulation_cases(
    entry: "MechanismEntry", law: Law
) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        given = _simulated(entry)
        mechanism = entry.build(given).mechanism
        pair = entry.pairs(given)[0]
        sides = {"data": pair.data, "neighbour": pair.neighbour}
        trials = max(budget.trials, 1)
        tallies = simulate_grid(
            mechanism,
            [(data, pair.params) for data in sides.values()],
            trials=trials,
            seed=budget.seed,
            progress=False,
        )
        counts = np.asarray(tallies.values)
        laws = [law(data, pair.params).probabilities for data in sides.values()]
        # Bonferroni over outcomes and sides
        confidence = 1.0 - (1.0 - CONFIDENCE) / counts.size
        low, high = clopper_pearson(counts, trials, confidence)
        for side, name in enumerate(sides):
            for outcome, label in enumerate(tallies.labels):
                where = (
                    f"outcome {label}, {counts[side, outcome]} of {trials} trials, pair "
                    f"{pair.name}, {name}"
                )
                exact = float(laws[side][outcome])
                if exact == 0.0 and counts[side, outcome] == 0:
                    continue
                yield float(high[side, outcome]), exact, f"upper limit, {where}"
                yield exact, float(low[side, outcome]), f"lower limit, {where}"

    return cases


def _frequency(entry: "MechanismEntry", law: Law) -> Callable[..., float]:
    def evaluate(*, outcome: int = 0) -> float:
        """Exact probability of an outcome on the first side of the simulated pair.

        Args:
          outcome: its number, from 0.
        """
        pair = entry.pairs(_simulated(entry))[0]
        probabilities = law(pair.data, pair.params).probabilities
        number, size = check_integer("outcome", outcome, 0), probabilities.size
        if number >= size:
            raise InputError(
                f"outcome is {number}; {entry.name} has {size} outcomes, from 0"
            )
        return float(probabilities[number])

    return evaluate


def simulation_claims(entries: Iterable["MechanismEntry"]) -> tuple[Claim, ...]:
    """SIM claims of every entry with an exact law, broken ones included."""
    claims = []
    for entry in entries:
        given = _simulated(entry)
        law = entry.build(given).mechanism.law
        if law is None:
            continue
        claims.append(
            Claim(
                id=f"SIM-{entry.name}",
                source=f"simulation of {entry.name} against its exact law",
                statement=f"On both sides of a pair every outcome of {entry.name} "
                f"({_shown(given)} settings) is as frequent as its exact law says, within "
                "binomial limits that err with probability 1e-6 in all.",
                kind="utility",
                relation=None,
                evaluate=_frequency(entry, law),
                check=at_most(_simulation_cases(entry, law), 0.0),
            )
        )
    return tuple(claims)
