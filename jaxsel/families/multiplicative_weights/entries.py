"""The catalogue entries of private multiplicative weights and of adaptive analysis."""

import dataclasses
from typing import Annotated, Any

import numpy as np

from jaxsel.families.multiplicative_weights import parameters
from jaxsel.host.errors import InputError
from jaxsel.kernel.methods import methods
from jaxsel.language.base import Relation
from jaxsel.language.domains import Numbers, choice, number, numbers, whole
from jaxsel.language.entry import guarantee, mechanism
from jaxsel.language.trial import Trial, Values


@dataclasses.dataclass(frozen=True)
class _Counts(Numbers):
    """The domain of lists of whole numbers."""

    def describe(self) -> str:
        """See ``Domain``."""
        return super().describe().replace("numbers", "whole numbers")

    def _number(self, name: str, value: Any) -> float:
        found = super()._number(name, value)
        return found if found.is_integer() else self.refuse(name, value)


_TABLE = _Counts(
    "rows in each cell of the universe", low=0.0, low_open=False, high=1e15, high_open=False, size=2
)
_QUERIES = "how many are asked; to tell paths apart at most 8"

Table = Annotated[Any, _TABLE]
# Narrower than the domains of the mechanisms, so that every trial of the catalogue is short.
Queries = Annotated[int, whole(_QUERIES, at_least=1, at_most=10_000)]
Updates = Annotated[int, whole("most updates of the hypothesis", at_least=1, at_most=100)]
Rate = Annotated[float, number("learning rate of an update", above=0.0, at_most=100.0)]
Repetitions = Annotated[int, whole("Tests a batch", at_least=1, at_most=10**6)]
Failures = Annotated[int, whole("failed batches at which it halts", at_least=1, at_most=40)]


@dataclasses.dataclass(frozen=True)
class _Answers:
    """Settings of the hypothesis and of its budget, which all three mechanisms have."""

    epsilon: parameters.Epsilon = 4
    updates: Updates = 1
    threshold: parameters.Threshold = 0.2
    rate: Rate = 0.5


@dataclasses.dataclass(frozen=True)
class _Tests:
    """Settings of the repetitive sparse vector."""

    gamma: parameters.Gamma = 1
    repetitions: Repetitions = 5
    distance: parameters.Distance = 0.2
    max_failures: Failures = 3


def _values(table: np.ndarray, *settings: Any) -> Values:
    """The settings of an entry by name: its table, and the fields of its groups of settings."""
    return {"table": table} | {k: v for each in settings for k, v in vars(each).items()}


def _params(values: Values) -> dict[str, Any]:
    """The parameters that both mechanisms take, from the settings of an entry by name.

    Raises:
      InputError: for a table without rows.
    """
    table = values["table"]
    if table.sum() == 0.0:
        raise InputError("table holds no rows; it must hold at least one")
    return {
        # One query for each proper prefix of the list of cells: the share of rows in it.
        "queries": np.tri(table.size - 1, table.size),
        "reference": table / table.sum(),
        "threshold": values["threshold"],
        "rate": values["rate"],
    }


def _moved(table):
    """Pairs of tables between which one row moves from one end of the universe to the other.

    The analyst "worst" assumes the first table on both sides, since ``_params`` makes the
    reference of it.

    Raises:
      InputError: for a table without a row in its first and its last cell.
    """
    if table[0] == table[-1] == 0.0:
        raise InputError("table has no row at either end that could move")
    for name, source, target in (("last", -1, 0), ("first", 0, -1)):
        if table[source]:
            other = table.copy()
            other[source] -= 1
            other[target] += 1
            why = (
                f"A row of the {name} cell moves to the other end of the universe, "
                "which moves every query on first cells by a whole row."
            )
            yield name, table, other, Relation.GENERAL, why


# --- With restarts of the sparse vector -----------------------------------------------


@mechanism(
    "CL-Thm9",
    "Hardt & Rothblum 2010",
    "Dwork & Roth 2014, Section 4.2",
    generic="table=4,4,2 epsilon=3 updates=2 threshold=0.1 rate=0.3",
)
def private_multiplicative_weights(
    *,
    table: Table = "3,2,1",
    queries: Queries = 2,
    analyst: parameters.Analyst = "pool",
    answers: _Answers = _Answers(),
    event: parameters.Event = "path",
    method: Annotated[str, methods("literal", help="see the guide")] = "literal",
):
    """Answer adaptive linear queries from a hypothesis that a sparse vector corrects."""

    def made():
        from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum

        return hardt_rothblum(queries, analyst=analyst, event=event)

    values = _values(table, answers)

    def with_restarts(pair):
        return guarantee("CL-Thm9-budget", **weights_shares(values))

    return Trial(made, table, weights_params(values), lambda: _moved(table), with_restarts)


def weights_shares(values: Values) -> dict[str, Any]:
    """How epsilon is divided: half for k sparse vectors, half for k answers, in equal parts.

    Returns:
      The parameters of the claim CL-Thm9-budget, by name.
    """
    each = values["epsilon"] / 2.0 / values["updates"]
    return {"updates": values["updates"], "test": each, "answer": each}


def weights_params(values: Values) -> dict[str, Any]:
    """The parameters of ``hardt_rothblum`` at these settings of its entry."""
    shares, params = weights_shares(values), _params(values)
    rows = values["table"].sum()
    return params | {
        "max_updates": shares["updates"],
        "threshold_scale": 2.0 / (shares["test"] * rows),
        "query_scale": 4.0 / (shares["test"] * rows),
        "answer_scale": 1.0 / (shares["answer"] * rows),
    }


# --- With the repetitive sparse vector ------------------------------------------------


@mechanism(
    "CL-Thm11",
    generic=(
        "table=4,4,2 epsilon=3 updates=2 threshold=0.1 rate=0.3 gamma=0.6 repetitions=3 "
        "distance=0.15"
    ),
)
def repetitive_multiplicative_weights(
    *,
    table: Table = "3,2,1",
    queries: Queries = 2,
    analyst: parameters.Analyst = "pool",
    answers: _Answers = _Answers(),
    event: parameters.Event = "path",
    tests: _Tests = _Tests(),
    method: Annotated[str, methods("literal", "jump", help="see the guide")] = "jump",
):
    """Answer adaptive linear queries from a hypothesis that a repetitive sparse vector corrects,
    which also rejects bad answers."""

    def made():
        from jaxsel.families.multiplicative_weights.repetitive import repetitive

        return repetitive(queries, analyst=analyst, event=event, method=method)

    values = _values(table, answers, tests)

    def moved_one_way():
        yield next(_moved(table))

    def with_repetitions(pair):
        return guarantee("CL-Thm11-budget", **repetitive_shares(values))

    return Trial(made, table, repetitive_params(values), moved_one_way, with_repetitions)


def repetitive_shares(values: Values) -> dict[str, Any]:
    """How epsilon is divided: half for the one sparse vector, half for k answers in equal parts.

    Returns:
      The parameters of the claim CL-Thm11-budget, by name.
    """
    half, gamma = values["epsilon"] / 2.0, values["gamma"]
    failures, answers = values["max_failures"], values["updates"]
    return {
        "failures": failures,
        "gamma": gamma,
        "test": half / (2.0 * failures + gamma),
        "answers": answers,
        "answer": half / answers,
    }


def repetitive_params(values: Values) -> dict[str, Any]:
    """The parameters of ``repetitive`` at these settings of its entry."""
    shares, params = repetitive_shares(values), _params(values)
    rows = values["table"].sum()
    return params | {
        "distance": values["distance"],
        "gamma": shares["gamma"],
        "repetitions": values["repetitions"],
        "max_failures": shares["failures"],
        "max_answers": shares["answers"],
        "test_scale": 1.0 / (shares["test"] * rows),
        "answer_scale": 1.0 / (shares["answer"] * rows),
    }


# --- Adaptive data analysis -----------------------------------------------------------


@mechanism("CL-Thm10", "CL-Thm12", generic="protection=weights updates=2 queries=6")
def adaptive_analysis(
    *,
    table: Table = "3,2,1",
    population: Annotated[
        Any,
        numbers(
            "share of each cell of the universe, which the analyst knows", at_least=0.0, size=2
        ),
    ] = "2,2,1",
    queries: Annotated[
        int, whole("random ones, before that which they suggest", at_least=1, at_most=10_000)
    ] = 3,
    protection: Annotated[
        str,
        choice(("repetitive", "weights"), "what answers: Theorem 11's mechanism, or Theorem 9's"),
    ] = "repetitive",
    answers: _Answers = _Answers(),
    tests: _Tests = _Tests(),
):
    """Answer random queries about rows, and the query that the answers suggest, so that all
    answers are near those of the population that the rows come from."""

    def made():
        from jaxsel.families.multiplicative_weights.adaptive_analysis import adaptive_analysis

        return adaptive_analysis(int(table.sum()), protection=protection)

    if population.size != table.size or population.sum() == 0.0:
        raise InputError(
            f"population must hold {table.size} numbers, one a cell, and not only zeros"
        )
    values, repeats = _values(table, answers, tests), protection == "repetitive"
    params = (repetitive_params if repeats else weights_params)(values)
    del params["reference"]
    data = {"population": population / population.sum(), "table": table}

    def moved_row():
        for name, _, other, relation, why in _moved(table):
            yield name, data, data | {"table": other}, relation, why

    def of_what_answers(pair):
        if repeats:
            return guarantee("CL-Thm11-budget", **repetitive_shares(values))
        return guarantee("CL-Thm9-budget", **weights_shares(values))

    return Trial(made, data, params | {"queries": queries}, moved_row, of_what_answers)
