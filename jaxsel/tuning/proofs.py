"""What every bound on the best of K runs proves of a base and a law of K, where it applies.

Each bound is an upper bound on the same privacy profile, and gives epsilon at a delta as well as
delta at an epsilon.
"""

from collections.abc import Collection

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.bounds.approximate import good_part
from jaxsel.tuning.search_bounds import Proof, Search, SearchBound, applicable, bounds_by_name

SET_ASIDE = "PS-Lem20+"
"""Prefix of a bound that is applied to a search given that no run fails; the probability that one
does is added to delta (Papernot & Steinke 2022, Lemma 20)."""


def _bound(theorem: str) -> SearchBound:
    """The bound that accounts call so, with or without prefix."""
    return bounds_by_name()[theorem.removeprefix(SET_ASIDE)]


def statement(theorem: str) -> str:
    """A bound in a few words, given the name that accounts show: its source, and what it uses."""
    return _bound(theorem).words


def releases_all(theorem: str) -> bool:
    """Whether the bound covers the release of every run, and of K."""
    return theorem in bounds_by_name() and _bound(theorem).covers_all


def lacking(base: BaseGuarantee, law: Repetitions, delta: float | None = None) -> dict[str, str]:
    """What every bound that does not apply would need, by the name that accounts show.

    Args:
      base, law: as of ``proofs``.
      delta: where epsilon is asked for; None where delta is.
    """
    search = Search(base, law)
    found = {}
    for name, bound in bounds_by_name().items():
        needed = bound.lacks(search)
        if needed is None and delta is not None:
            least = bound.prove(search).least_delta
            needed = None if delta >= least else f"a delta of at least {least:g}"
        if needed is not None:
            found[name] = needed
    return found


def _of_whole(base: BaseGuarantee, law: Repetitions, only: Collection[str]) -> dict[str, Proof]:
    """Every bound that does not exclude failures of the base, of ``only`` if these are any."""
    search = Search(base, law)
    if only:
        known = {name: bounds_by_name()[name] for name in only if name in bounds_by_name()}
        found = {name: bound for name, bound in known.items() if bound.lacks(search) is None}
    else:
        found = applicable(search)
    return {name: bound.prove(search) for name, bound in found.items()}


def _failing(good: Proof, failure: float) -> Proof:
    """A bound with failures: delta = failure + (1 - failure) times delta given no failure."""
    kept = 1.0 - failure
    return Proof(
        lambda delta: good.epsilon((delta - failure) / kept),
        lambda epsilon: failure + kept * good.delta(epsilon),
        failure + kept * good.least_delta,
        lambda epsilon: failure + kept * good.lower_bound(epsilon),
    )


def proofs(
    base: BaseGuarantee, law: Repetitions, *, only: Collection[str] = ()
) -> dict[str, Proof]:
    """Every bound by its id; among equal bounds the simplest to state comes first.

    Args:
      base: guarantee of one run.
      law: the law of K, which is not always 0.
      only: ids of bounds, if no others are wanted.
    """
    whole = [name for name in only if not name.startswith(SET_ASIDE)]
    found = {} if only and not whole else _of_whole(base, law, whole)
    aside = [name.removeprefix(SET_ASIDE) for name in only if name.startswith(SET_ASIDE)]
    good = None if only and not aside else good_part(base, law)
    if good is None:
        return found
    return found | {
        f"{SET_ASIDE}{name}": _failing(proof, good.failure)
        for name, proof in _of_whole(good.base, good.repetitions, aside).items()
    }
