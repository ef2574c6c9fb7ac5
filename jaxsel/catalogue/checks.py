"""Self-checks: what the software says of its own mechanisms, one or two of each.

AUDIT-<mechanism>: no audit finds more privacy loss than the entry promises.
SIM-<mechanism>: simulated frequencies agree with the exact law.

Listing them builds nothing and needs no JAX; what runs is imported by the checks.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.base import Budget, Claim, Pair, Relation
from jaxsel.catalogue.collect import promised
from jaxsel.checking import CONFIDENCE, Case, at_most
from jaxsel.domains import Choice, whole
from jaxsel.entry import MechanismEntry, Values
from jaxsel.errors import InputError


def _variants(entry: MechanismEntry) -> dict[str, Values]:
    """The settings to audit, by the ending of the claim's id."""
    variants: dict[str, Values] = {"": {}}
    if "noise" in entry.settings:
        variants |= {
            f"-{noise}": {"noise": noise} for noise in ("laplace", "exponential")
        }
    if "base" in entry.settings:
        # three outcomes, on which random stopping loses most
        variants["-finite"] = {"base": "finite"}
    return variants


def _guaranteed(entry: MechanismEntry, given: Values) -> list[tuple[Pair, str]]:
    """The constructed pairs with a proven pure epsilon, and the claim that proves it."""
    values = entry.read(given)
    found = [(pair, entry.guarantee(values, pair)) for pair in entry.make_pairs(values)]
    return [(pair, promise[0]) for pair, promise in found if promise is not None]


def _shown(given: Values) -> str:
    return ", ".join(f"{key}={value}" for key, value in given.items()) or "default"


# --- AUDIT ----------------------------------------------------------------------------


def _audit_cases(
    entry: MechanismEntry, given: Values
) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        from jaxsel.auditing import audit

        found = _guaranteed(entry, given)
        built = entry.build(given)
        for pair, _ in found:
            seen = audit(
                built,
                pair,
                trials=max(budget.trials, 2),
                # Bonferroni over the pairs
                confidence=1.0 - (1.0 - CONFIDENCE) / len(found),
                seed=budget.seed,
                progress=False,
            )
            assert seen.promise is not None
            claim, epsilon = seen.promise
            where = f"pair {pair.name}, {_shown(given)} settings, promise {claim}"
            lower = seen.bound.lower
            text = f"audited lower bound from {seen.trials} trials a side"
            yield epsilon, lower, f"{text}, {where}"
            if seen.exact is not None:
                yield epsilon, seen.exact, f"exact epsilon, {where}"
                yield seen.exact, lower, f"{text} against the exact epsilon, {where}"

    return cases


def _promise(entry: MechanismEntry, given: Values) -> Callable[..., float]:
    def evaluate(
        *, pair: Annotated[int, whole("number of the pair, from 0", at_least=0)] = 0
    ) -> float:
        """Pure epsilon promised for a constructed pair, at the settings of this claim."""
        pairs = _guaranteed(entry, given)
        if pair >= len(pairs):
            raise InputError(
                f"pair is {pair}; {entry.name} has {len(pairs)} pairs, from 0"
            )
        promise = promised(entry, given, pairs[pair][0])
        assert promise is not None
        return promise.epsilon

    return evaluate


def audit_claims(entries: Iterable[MechanismEntry]) -> tuple[Claim, ...]:
    """AUDIT claims of every entry that is not broken and promises a pure epsilon."""
    claims = []
    for entry in entries:
        for ending, given in _variants(entry).items():
            promises = [] if entry.broken else _guaranteed(entry, given)
            if not promises:
                continue
            names = sorted({claim for _, claim in promises})
            relations = [pair.relation for pair, _ in promises]
            general = Relation.GENERAL in relations
            claims.append(
                Claim(
                    id=f"AUDIT-{entry.name}{ending}",
                    source=f"audit of {entry.name} against {', '.join(names)}",
                    statement="On each constructed pair the audited lower bound on epsilon "
                    f"of {entry.name} ({_shown(given)} settings), at confidence 1 - 1e-6, "
                    "and the exact epsilon are at most the promised one.",
                    kind="privacy",
                    relation=Relation.GENERAL if general else relations[0],
                    evaluate=_promise(entry, given),
                    check=at_most(_audit_cases(entry, given)),
                )
            )
    return tuple(claims)


# --- SIM ------------------------------------------------------------------------------


def _simulated(entry: MechanismEntry) -> Values:
    return {"base": "finite"} if "base" in entry.settings else {}


def _simulation_cases(entry: MechanismEntry) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        from jaxsel.engine import simulate_grid
        from jaxsel.intervals import clopper_pearson

        built = entry.build(_simulated(entry))
        pair = built.pair()
        sides = {"data": pair.data, "neighbour": pair.neighbour}
        trials = max(budget.trials, 1)
        tallies = simulate_grid(
            built.mechanism,
            [(data, pair.params) for data in sides.values()],
            trials=trials,
            seed=budget.seed,
            progress=False,
        )
        counts = np.asarray(tallies.values)
        laws = [_law(entry, side) for side in range(2)]
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


def _law(entry: MechanismEntry, side: int) -> np.ndarray:
    """The exact law on one side of the simulated pair."""
    built = entry.build(_simulated(entry))
    pair, law = built.pair(), built.mechanism.law
    if law is None:
        raise InputError(f"{entry.name} has no exact law")
    return law((pair.data, pair.neighbour)[side], pair.params).probabilities


def _frequency(entry: MechanismEntry) -> Callable[..., float]:
    def evaluate(
        *, outcome: Annotated[int, whole("its number, from 0", at_least=0)] = 0
    ) -> float:
        """Exact probability of an outcome on the first side of the simulated pair."""
        probabilities = _law(entry, 0)
        size = probabilities.size
        if outcome >= size:
            raise InputError(
                f"outcome is {outcome}; {entry.name} has {size} outcomes, from 0"
            )
        return float(probabilities[outcome])

    return evaluate


def _offers_law(entry: MechanismEntry) -> bool:
    """By its settings: nothing is built to list the checks."""
    method = entry.settings.get("method")
    return isinstance(method, Choice) and "law" in method.options


def simulation_claims(entries: Iterable[MechanismEntry]) -> tuple[Claim, ...]:
    """SIM claims of every entry that offers its exact law, broken ones included."""
    return tuple(
        Claim(
            id=f"SIM-{entry.name}",
            source=f"simulation of {entry.name} against its exact law",
            statement=f"On both sides of a pair every outcome of {entry.name} "
            f"({_shown(_simulated(entry))} settings) is as frequent as its exact law "
            "says, within binomial limits that err with probability 1e-6 in all.",
            kind="utility",
            relation=None,
            evaluate=_frequency(entry),
            check=at_most(_simulation_cases(entry), 0.0),
        )
        for entry in entries
        if _offers_law(entry)
    )
