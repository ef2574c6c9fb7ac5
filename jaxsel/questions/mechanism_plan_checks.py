"""Self-checks of plans: the plans of ``jaxsel plan-releases`` meet the privacy budget.

PLAN-<mechanism>: at random settings off the special values, and for several releases, the
mechanism is built with the planned noise. On its neighbouring pairs the exact privacy of
the composed releases must be within the budget, and the exact Renyi divergence of one
release within the curve that the plan used. The exact side uses none of the plan's
formulas.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.accounting.single_run.divergences import epsilon_at_delta, renyi_divergence
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Claim, Pair, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import Choice, number, positive, whole
from jaxsel.language.entry import MechanismEntry

_PLANS = 3  # plans per mechanism in a check
_TRIES = 20  # settings that are drawn at most to find that many plans
_ORDERS = (1.5, 4.0, 16.0)
_MOST_LOSSES = 400_000  # outcomes of a composed law
_WISHES = ((0.3, 0.0), (1.0, 1e-6), (2.0, 1e-2), (0.7, 0.05), (6.0, 1e-3))  # epsilon, delta
# Settings of sampling and tallying, which do not change the privacy.
_HOW = ("method", "precision", "event", "events")


def _drawn(
    entry: MechanismEntry, generator: np.random.Generator, found: frozenset[str]
) -> dict[str, Any]:
    """Draws settings off the special values, other choices and other counts."""
    given: dict[str, Any] = {}
    for name, domain in entry.settings.items():
        if name in found or name in _HOW or name == "delta_t":
            continue
        if name in entry.generic and generator.random() < 0.7:
            given[name] = entry.generic[name]
        elif isinstance(domain, Choice) and generator.random() < 0.5:
            given[name] = str(generator.choice(domain.options))
    if "histogram" in entry.settings:
        # Many candidates with close counts, so that the privacy loss takes many values.
        counts = np.sort(generator.integers(3, 6, size=8))[::-1]
        top = int(generator.integers(2, 5))
        if "delta_t" in entry.settings:
            counts[:top] += generator.integers(0, 30)  # a gap for which the test may succeed
        given["histogram"] = ",".join(map(str, counts.tolist()))
        if "k" in entry.settings:
            given["k"] = top
    return given


def _merged(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merges outcomes of equal loss, which changes no divergence."""
    kept = (first > 0.0) | (second > 0.0)
    first, second = first[kept], second[kept]
    with np.errstate(divide="ignore"):
        losses = np.round(np.log(first) - np.log(second), 12)
    _, place = np.unique(losses, return_inverse=True)
    return np.bincount(place, first), np.bincount(place, second)


def _composed(
    first: np.ndarray, second: np.ndarray, releases: int
) -> tuple[np.ndarray, np.ndarray]:
    """The laws of ``releases`` releases, or of the largest number that is tractable."""
    one = _merged(first, second)
    laws = one
    for _ in range(releases - 1):
        if laws[0].size * one[0].size > _MOST_LOSSES:
            break
        laws = _merged(*(np.outer(a, b).ravel() for a, b in zip(laws, one, strict=True)))
    return laws


def _covered(pair: Pair, relation: Relation) -> bool:
    """Whether a guarantee for a neighbouring relation covers a pair."""
    narrower = (Relation.GENERAL, Relation.MONOTONE)
    return pair.relation is relation or (relation, pair.relation) == narrower


def _plan_cases(entry: MechanismEntry) -> Callable[[Budget], Iterator[Case]]:
    def cases(budget: Budget) -> Iterator[Case]:
        from jaxsel.questions.releases import OPEN_SETTINGS, least_noise

        generator = np.random.default_rng(budget.seed + 31)
        planned, most = 0, max(1, min(budget.cases, _PLANS))
        for _ in range(_TRIES):
            given = _drawn(entry, generator, OPEN_SETTINGS)
            epsilon, delta = _WISHES[int(generator.integers(len(_WISHES)))]
            releases = int(generator.choice([1, 2, 3, 12]))
            try:
                plan = least_noise(
                    entry, epsilon=epsilon, delta=delta, releases=releases, settings=given
                )
                built = entry.build(plan.settings)
                pairs = built.pairs()
            except InputError:
                continue  # no guarantee is known at these settings, or no noise suffices
            planned += 1
            where = f"{releases} releases at ({epsilon:g}, {delta:g}), {plan.settings}"
            for pair in pairs:
                if _covered(pair, plan.proof.relation):
                    yield from _kept(entry, plan, built, pair, where)
            if planned == most:
                return

    return cases


def _kept(entry: MechanismEntry, plan, built, pair: Pair, where: str) -> Iterator[Case]:
    """Checks a plan on one pair."""
    from jaxsel.questions.releases import one_release

    wish, values = plan.epsilon, built.values
    one = one_release(entry, values)
    known = (built.mechanism.known_law(side, pair.params) for side in (pair.data, pair.neighbour))
    laws = [law.probabilities for law in known if law is not None]
    if len(laws) < 2:
        proven = built.guarantee(pair)
        if proven is not None:
            yield one.pure, proven.epsilon, f"guarantee for pair {pair.name}, {where}"
        return
    together = _composed(laws[0], laws[1], plan.releases)
    seen = epsilon_at_delta(*together, plan.delta)
    yield wish, seen, f"exact epsilon, pair {pair.name}, {where}"
    if one.known is None or one.known.curve.failure > 0.0:
        return
    bounds = np.asarray(one.known.curve.renyi(np.asarray(_ORDERS)), dtype=np.float64)
    for side, (first, second) in enumerate((laws, laws[::-1])):
        divergences = np.asarray(renyi_divergence(first, second, _ORDERS))
        for order, bound, seen in zip(_ORDERS, bounds, divergences, strict=True):
            text = f"Renyi divergence of order {order:g}, pair {pair.name}, side {side}"
            yield float(bound), float(seen), f"{text}, {where}"


def _planned(entry: MechanismEntry) -> Callable[..., float]:
    def evaluate(
        *,
        epsilon: Annotated[float, positive("of all releases")] = 8.0,
        delta: Annotated[float, number("of all releases", at_least=0.0, below=1.0)] = 1e-6,
        releases: Annotated[int, whole("how many", at_least=1, at_most=1000)] = 1,
    ) -> float:
        """Epsilon that is proved of the planned releases, other settings as by default."""
        from jaxsel.questions.releases import least_noise

        found = least_noise(entry, epsilon=epsilon, delta=delta, releases=releases, settings={})
        return found.epsilon

    return evaluate


def planning_claims(entries: Iterable[MechanismEntry]) -> tuple[Claim, ...]:
    """The self-checks PLAN-<mechanism> of all entries for which releases can be planned."""
    from jaxsel.questions.releases import may_be_planned, widest_relation

    return tuple(
        Claim(
            id=f"PLAN-{entry.name}",
            source=f"exact laws of {entry.name} with the noise that is planned",
            statement=f"With the noise planned for {entry.name}, at settings drawn by "
            "chance and for up to 12 releases, the exact epsilon of all releases on every "
            "constructed pair is at most the wish, and the exact Renyi divergences of one "
            "at most the curve that the plan goes by.",
            kind="privacy",
            relation=widest_relation(entry.pairs({})),
            evaluate=_planned(entry),
            check=at_most(_plan_cases(entry), 1e-7),
        )
        for entry in entries
        if may_be_planned(entry)
    )
