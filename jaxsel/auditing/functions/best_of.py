"""The best of K runs of an audited function, as a function: a whole search, seen from outside.

The first number of an outcome is its score; of equal ones the first run wins. K is drawn in every
trial; without a run the outcome is "no run". Other processes import this file, and from it the
file of the function whose runs these are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxsel.auditing.functions.audited_function import Function, imported_call
from jaxsel.host.errors import UnsupportedError

NO_RUN = "no run"
"""The outcome of a search whose K is 0."""


def best_of(
    function: Function, first: int, table: np.ndarray, settings: Mapping[str, Any]
) -> tuple[Function, dict[str, Any]]:
    """The search as a function, and its settings.

    Args:
      function: one run; it returns a score, or several numbers or things, of which the first
        is the score.
      first, table: the law of K, as ``repetitions.quantile_table`` has it.
      settings: of the function, by name.

    Raises:
      UnsupportedError: for a function of a key of jax.random.
    """
    if function.kind not in _SEARCHES:
        raise UnsupportedError(
            f"{function.name} takes a key of jax.random; a search is audited of functions of "
            "(rng, data, n), (rng, data) or (data)"
        )
    function.check_settings(settings)
    search = _SEARCHES[function.kind]
    given = {
        "audited": function.path or function.call,
        "first": first,
        "table": table,
        "given": dict(settings),
    }
    path = None if function.path is None else (__file__, search.__name__)
    name = f"the best of K runs of {function.name}"
    imports = () if function.path is None else (function.path,)
    return Function(name, function.kind, search, path, {}, imports), given


def _called(audited: Any) -> Callable[..., Any]:
    return imported_call(*audited) if isinstance(audited, tuple) else audited


def _score(outcome: Any) -> float:
    return float(outcome[0] if np.ndim(outcome) or isinstance(outcome, tuple | list) else outcome)


def _best(outcomes: Sequence[Any]) -> Any:
    if not outcomes:
        return NO_RUN
    scores = [_score(one) for one in outcomes]
    return outcomes[int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))]


def vectorised(rng, data, n, *, audited, first, table, given):
    """All runs of n searches, asked for in one call."""
    counts = first + np.searchsorted(table, rng.random(n), side="right")
    total = int(counts.sum())
    found = _called(audited)(rng, data, total, **given) if total else []
    if not isinstance(found, np.ndarray):
        found = list(found)
        scores = np.array([_score(one) for one in found])
    else:
        scores = np.asarray(found if found.ndim == 1 else found.reshape(total, -1)[:, 0], float)
    ends = np.cumsum(counts)
    search = np.repeat(np.arange(n), counts)
    # The best of each search first, and of equal ones the first run.
    order = np.lexsort((-np.nan_to_num(scores, nan=-np.inf), search)) if total else np.zeros(0, int)
    ran = counts > 0
    best = order[(ends - counts)[ran]]
    if isinstance(found, np.ndarray) and ran.all():
        return found[best]
    outcomes: list[Any] = [NO_RUN] * n
    for place, run in zip(np.flatnonzero(ran).tolist(), best.tolist(), strict=True):
        outcomes[place] = found[run]
    return outcomes


def _runs(rng: np.random.Generator, first: int, table: np.ndarray) -> range:
    return range(first + int(np.searchsorted(table, rng.random(), side="right")))


def generator(rng, data, *, audited, first, table, given):
    """The runs of one search, one after the other."""
    call = _called(audited)
    return _best([call(rng, data, **given) for _ in _runs(rng, first, table)])


def own(data, *, audited, first, table, given):
    """The same, with randomness of the function's own."""
    call = _called(audited)
    return _best([call(data, **given) for _ in _runs(np.random.default_rng(), first, table)])


_SEARCHES: Mapping[str, Callable[..., Any]] = {
    "vectorised": vectorised,
    "generator": generator,
    "own": own,
}
