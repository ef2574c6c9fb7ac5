"""What both mechanisms of private multiplicative weights share: tables, analysts and the update.

The rows of a table fall into the cells of a finite universe X. A linear query q: X -> [0, 1] asks
for the mean of q over the rows. An analyst chooses each query after all earlier answers, of which
it sees the present hypothesis h.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxsel.families.multiplicative_weights.laws import TIE
from jaxsel.families.multiplicative_weights.parameters import Event, FewQueries, Queries
from jaxsel.host.errors import InputError, check_finite
from jaxsel.kernel import noise, rows, stream
from jaxsel.language.signature import validated

PARAMS = {"queries": None, "reference": None, "asked": Queries}
PATH_QUERIES = 8  # the most queries for which all paths, 3^8, may be events


class Interaction(NamedTuple):
    """The result of one trial, a whole interaction.

    Attributes:
      max_error: Float[""], the largest |answer - q(D)| over all queries; not private.
      updates: Int[""], number of queries that updated the hypothesis.
      rejections: Int[""], number of noisy answers that were rejected; not private.
      halted: Bool[""], whether the budget was spent before the last query.
      path: Int[""], a number in base 3 with one digit for each query, the first query leading: 0
        if it made no update, 1 if the noisy answer lay below the hypothesis', 2 if it did not.
        Kept for at most 8 queries.
      hypothesis: Float["cells"], the last one; it is released.
      answers: Float["queries"], the released answers; 0 for queries that were not asked.
    """

    max_error: Float[Array, ""]
    updates: Int[Array, ""]
    rejections: Int[Array, ""]
    halted: Bool[Array, ""]
    path: Int[Array, ""]
    hypothesis: Float[Array, "cells"]  # noqa: F821
    answers: Float[Array, "queries"]  # noqa: F821


class Reply(NamedTuple):
    """What a mechanism does at one query.

    Attributes:
      weights: the state of the mechanism after the query.
      answer: the released answer.
      fired: whether the query updated the hypothesis.
      below: whether the noisy answer lay below the hypothesis'; of use only if ``fired``.
    """

    weights: Any
    answer: Float[Array, ""]
    fired: Bool[Array, ""]
    below: Bool[Array, ""]


def prepare_universe(data: Any, params: Mapping[str, Any], analyst: str, most: int) -> dict:
    """The table and the queries as arrays, after they have been checked.

    Args:
      data: Int["cells"], the number of rows in each cell.
      params: with "queries", Float["pool cells"] in [0, 1] (analysts "pool" and
        "random"); "reference", Float["cells"], the shares that analyst "worst" assumes
        (default: the table's, which make it the strongest adversary of accuracy); and "asked",
        the number of queries that are asked (default: all).
      analyst: who asks; see ``next_query``.
      most: m, the largest number of queries.

    Returns:
      "shares", "queries" and "reference" as float64 arrays, and the numbers "rows" and "asked".

    Raises:
      InputError: for a table that is no list of counts, queries or a reference of another shape,
        or more queries asked than m.
    """
    counts = check_finite("the table", data)
    if counts.ndim != 1 or counts.size < 2 or np.any(counts < 0):
        raise InputError("the table must be one list of two or more counts >= 0")
    rows = counts.sum()
    if rows <= 0 or np.any(counts != np.floor(counts)):
        raise InputError("the table must hold whole numbers of rows, one row at least")
    queries = np.zeros((1, counts.size))
    if analyst != "worst":
        queries = check_finite("queries", params.get("queries", ()))
        if queries.ndim != 2 or queries.shape[1] != counts.size:
            raise InputError(
                f"queries have shape {queries.shape}; there must be a row a query and "
                f"{counts.size} columns, one a cell"
            )
        if np.any((queries < 0) | (queries > 1)):
            raise InputError("queries must have values in [0, 1]")
    reference = check_finite("reference", params.get("reference", counts / rows))
    if reference.shape != counts.shape:
        raise InputError(f"reference must have {counts.size} shares, one a cell")
    asked = params.get("asked", most)
    if asked > most or (most <= PATH_QUERIES and asked < most):
        raise InputError(
            f"asked is {asked}; it must be at most {most}, and just that where paths "
            f"are told apart (up to {PATH_QUERIES} queries)"
        )
    return {
        "asked": np.int32(asked),
        "shares": counts / rows,
        "rows": np.float64(rows),
        "queries": queries,
        "reference": reference,
    }


def next_query(
    analyst: str, data: Mapping[str, Any], hypothesis: Array, key: stream.Key, i
) -> Float[Array, "cells"]:  # noqa: F821
    """The query that the analyst asks as number ``i``, as its value on each cell.

    Args:
      analyst: "pool" cycles through the list; "random" draws from it; "worst" asks for the
        cells where the reference exceeds the hypothesis, so that the error is their total
        variation distance.
      data: as ``prepare_universe`` makes it.
      hypothesis: Float["cells"].
      key: of the draws of "random".
      i: number of the query, from 0.
    """
    queries = jnp.asarray(data["queries"])
    if analyst == "worst":
        return (data["reference"] - hypothesis > TIE).astype(hypothesis.dtype)
    size = queries.shape[0]
    if analyst == "random":
        u = noise.uniform(noise.number(key, i, noise.widest_precision()))
        return queries[jnp.minimum((u * size).astype(jnp.int32), size - 1)]
    return queries[i % size]


def over_queries(ask: Callable[[Any, Any], Any], data: Mapping[str, Any], state: Any):
    """The last state, after ``state = ask(state, i)`` for every query i that is asked."""
    asked = data["asked"]
    return lax.fori_loop(jnp.zeros_like(asked), asked, lambda i, seen: ask(seen, i), state)


def new_hypothesis(hypothesis, query, below, rate) -> Float[Array, "cells"]:  # noqa: F821
    """The hypothesis h after an update: h exp(-rate r), normalised.

    Args:
      hypothesis: h, Float["cells"], shares.
      query: q, Float["cells"] in [0, 1].
      below: whether the answer lay below h's; then r = q, else r = 1 - q.
      rate: learning rate.
    """

    def of_cell(share, value):
        penalty = jnp.where(below, value, 1 - value)
        return share * jnp.exp(-rate * penalty)

    weights = rows.by_row(of_cell, hypothesis, query)
    return weights / weights.sum()


def when(condition: Array, update: Callable[[Any], Any], state: Any) -> Any:
    """``update(state)`` if the condition holds, else ``state`` as it is.

    A loop of at most one step: unlike ``lax.cond`` it costs nothing in a batch in which the
    condition holds for no trial.
    """
    done = lax.while_loop(
        lambda carry: carry[0],
        lambda carry: (jnp.zeros_like(carry[0]), update(carry[1])),
        (condition, state),
    )
    return done[1]


@validated
def event_and_labels(event: Event, queries: FewQueries):
    """The functions ``event`` and ``labels`` of the two mechanisms.

    A label of a path has one character for each query: "=" for no update, "-" for an update by an
    answer below the hypothesis', "+" for one that was not below.

    Args:
      event: "updates" or "path".
      queries: m.

    Raises:
      InputError: for paths of too many queries.
    """
    if event == "updates":
        names = tuple(f"{count} updates" for count in range(queries + 1))
        return _updates, lambda data, params: names
    if queries > PATH_QUERIES:
        raise InputError(f"queries is {queries}; paths are told apart for at most {PATH_QUERIES}")
    paths = tuple("".join("=-+"[d] for d in p) for p in np.ndindex(*(3,) * queries))
    return _path, lambda data, params: paths


def _updates(outcome: Interaction):
    """The event "updates": how many there were."""
    return outcome.updates


def _path(outcome: Interaction):
    """The event "path", as a number in base 3."""
    return outcome.path
