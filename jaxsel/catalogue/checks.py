"""Self-checks of the software's mechanisms, as claims.

AUDIT-<mechanism>: no audit finds more privacy loss than the entry's guarantee.
SIM-<mechanism>: simulated frequencies of every method agree with the exact law.

Each tries the default settings and those that the entry calls ``generic``, since at special
values (one round, gamma = 1) whole branches are not reached. Listing the checks builds no
mechanism and needs no JAX, which the checks import when they run.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Claim, Pair, Relation
from jaxsel.language.checking import CONFIDENCE, Aside, Case, at_most
from jaxsel.language.domains import Choice, whole
from jaxsel.language.entry import Guarantee, MechanismEntry, Values


def _variants(entry: MechanismEntry) -> dict[str, Values]:
    """The settings to audit, by the suffix of the claim's id."""
    variants: dict[str, Values] = {"": {}}
    if "noise" in entry.settings:
        variants |= {f"-{noise}": {"noise": noise} for noise in ("laplace", "exponential")}
    if "base" in entry.settings:
        # the three-outcome pair, the worst case of random stopping
        variants["-finite"] = {"base": "finite"}
    return variants


def _guaranteed(entry: MechanismEntry, given: Values) -> list[tuple[Pair, Guarantee]]:
    """The constructed pairs with a proven pure epsilon, and what proves it."""
    trial = entry.build(given)
    found = [(pair, trial.guarantee(pair)) for pair in trial.pairs()]
    return [(pair, proven) for pair, proven in found if proven is not None]


def _serves(entry: MechanismEntry, given: Values) -> bool:
    try:
        built = entry.build(given)
        built.mechanism.prepare(built.data, built.params)
    except InputError:
        return False
    return True


def with_method(entry: MechanismEntry, given: Values, method: str) -> Values | None:
    """The settings with that method, and with the only event that it supports, if any.

    None if the method does not support the settings."""
    events = entry.settings.get("events", entry.settings.get("event"))
    name = "events" if "events" in entry.settings else "event"
    others = events.options if isinstance(events, Choice) else ()
    for more in ({}, *({name: option} for option in others)):
        found = {**given, "method": method, **more}
        if _serves(entry, found):
            return found
    return None


def _settings_tried(entry: MechanismEntry, given: Values) -> list[Values]:
    """The given settings, and the same completed by the entry's generic ones."""
    # Settings that are in the claim's name are not replaced.
    generic = {**entry.generic, **given}
    return [given, generic] if generic != given else [given]


def _shown(given: Values) -> str:
    return ", ".join(f"{key}={value}" for key, value in given.items()) or "default"


def _also(entry: MechanismEntry, given: Values) -> str:
    return "; and ".join(_shown(settings) for settings in _settings_tried(entry, given))


# --- AUDIT ----------------------------------------------------------------------------


def _audit_cases(entry: MechanismEntry, given: Values) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        tried = [
            (settings, pair)
            for settings in _settings_tried(entry, given)
            for pair, _ in _guaranteed(entry, settings)
        ]
        for settings, pair in tried:
            # Bonferroni over settings and pairs
            yield from audited(settings, pair, (1.0 - CONFIDENCE) / len(tried), budget)

    def audited(given: Values, pair: Pair, error: float, budget: Budget) -> Iterator[Case]:
        from jaxsel.auditing.audit import audit

        built = entry.build(given)
        seen = audit(
            built,
            pair,
            trials=max(budget.trials, 2),
            confidence=1.0 - error,
            seed=budget.seed,
            progress=False,
        )
        assert seen.guarantee is not None
        claim, epsilon = seen.guarantee
        where = f"pair {pair.name}, {_shown(given)} settings, guarantee {claim}"
        lower = seen.bound.lower
        text = f"audited lower bound from {seen.trials} trials a side"
        yield epsilon, lower, f"{text}, {where}"
        if seen.exact is not None:
            yield epsilon, seen.exact, f"exact epsilon, {where}"
            against = f"{text} against the exact epsilon, {where}"
            yield Aside(seen.exact, lower, against)

    return cases


def _guarantee(entry: MechanismEntry, given: Values) -> Callable[..., float]:
    def evaluate(
        *, pair: Annotated[int, whole("number of the pair, from 0", at_least=0)] = 0
    ) -> float:
        """Pure epsilon guaranteed for a constructed pair, at the settings of this claim."""
        pairs = _guaranteed(entry, given)
        if pair >= len(pairs):
            raise InputError(f"pair is {pair}; {entry.name} has {len(pairs)} pairs, from 0")
        return pairs[pair][1].epsilon

    return evaluate


def audit_claims(entries: Iterable[MechanismEntry]) -> tuple[Claim, ...]:
    """The AUDIT claims of entries with a pure guarantee that are not broken on purpose."""
    claims = []
    for entry in entries:
        for ending, given in _variants(entry).items():
            guaranteed = [] if entry.broken else _guaranteed(entry, given)
            if not guaranteed:
                continue
            names = sorted({proven.claim for _, proven in guaranteed})
            relations = [pair.relation for pair, _ in guaranteed]
            general = Relation.GENERAL in relations
            claims.append(
                Claim(
                    id=f"AUDIT-{entry.name}{ending}",
                    source=f"audit of {entry.name} against {', '.join(names)}",
                    statement="On each constructed pair the audited lower bound on epsilon "
                    f"of {entry.name} ({_also(entry, given)} settings), at confidence "
                    "1 - 1e-6, and the exact epsilon are at most the guaranteed one.",
                    kind="privacy",
                    relation=Relation.GENERAL if general else relations[0],
                    evaluate=_guarantee(entry, given),
                    check=at_most(_audit_cases(entry, given)),
                )
            )
    return tuple(claims)


# --- SIM ------------------------------------------------------------------------------


def _simulated(entry: MechanismEntry) -> Values:
    return {"base": "finite"} if "base" in entry.settings else {}


def _methods(entry: MechanismEntry) -> list[str]:
    """The sampling methods, the default first, without "law", which they are compared with."""
    method = entry.settings["method"]
    assert isinstance(method, Choice)
    names = [method.default, *method.options]
    return [name for name in dict.fromkeys(names) if name != "law"]


# Other methods than the default are slower, and get this fraction of the trials.
_OTHERS = 0.1


def _simulation_cases(entry: MechanismEntry) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        # Every method is tried at generic settings, only the first one at the defaults.
        here, *generic = _settings_tried(entry, _simulated(entry))
        wanted = [(here, method) for method in _methods(entry)]
        if generic:
            wanted[1:] = [(generic[0], method) for method in _methods(entry)]
        tried = [
            settings
            for given, method in wanted
            if (settings := with_method(entry, given, method)) is not None
        ]
        for number, settings in enumerate(tried):
            trials = max(int(budget.trials * (_OTHERS if number else 1.0)), 1)
            run = budget._replace(trials=trials, seed=budget.seed + number)
            yield from simulated(settings, (1.0 - CONFIDENCE) / len(tried), run)

    def simulated(given: Values, error: float, budget: Budget) -> Iterator[Case]:
        from jaxsel.host.intervals import clopper_pearson
        from jaxsel.kernel.engine import simulate_grid

        built = entry.build(given)
        pair, law = built.pair(), built.mechanism.law
        assert law is not None
        sides = {"data": pair.data, "neighbour": pair.neighbour}
        tallies = simulate_grid(
            built.mechanism,
            [(data, pair.params) for data in sides.values()],
            trials=budget.trials,
            seed=budget.seed,
            progress=False,
        )
        counts = np.asarray(tallies.values)
        # Bonferroni over outcomes and sides
        low, high = clopper_pearson(counts, budget.trials, 1.0 - error / counts.size)
        for side, (name, data) in enumerate(sides.items()):
            probabilities = law(data, pair.params).probabilities
            for outcome, label in enumerate(tallies.labels):
                count, exact = counts[side, outcome], float(probabilities[outcome])
                if exact == 0.0 and count == 0:
                    continue
                where = (
                    f"{_shown(given)} settings, pair {pair.name}, "
                    f"{name}, outcome {label}, {count} of {budget.trials} trials"
                )
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
    def evaluate(*, outcome: Annotated[int, whole("its number, from 0", at_least=0)] = 0) -> float:
        """Exact probability of an outcome on the first side of the simulated pair."""
        probabilities = _law(entry, 0)
        size = probabilities.size
        if outcome >= size:
            raise InputError(f"outcome is {outcome}; {entry.name} has {size} outcomes, from 0")
        return float(probabilities[outcome])

    return evaluate


def _offers_law(entry: MechanismEntry) -> bool:
    """Whether an entry offers its law, judged by its settings, without building it."""
    method = entry.settings.get("method")
    return isinstance(method, Choice) and "law" in method.options


def simulation_claims(entries: Iterable[MechanismEntry]) -> tuple[Claim, ...]:
    """The SIM claims of all entries that offer their exact law, including broken mechanisms."""
    return tuple(
        Claim(
            id=f"SIM-{entry.name}",
            source=f"simulation of {entry.name} against its exact law",
            statement=f"On both sides of a pair every outcome of {entry.name} "
            f"({_also(entry, _simulated(entry))} settings) is as frequent by every method "
            "as its exact law says, within binomial limits that err with probability 1e-6 "
            "in all.",
            kind="utility",
            relation=None,
            evaluate=_frequency(entry),
            check=at_most(_simulation_cases(entry), 0.0),
        )
        for entry in entries
        if _offers_law(entry)
    )
