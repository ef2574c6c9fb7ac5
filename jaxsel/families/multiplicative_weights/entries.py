"""The catalogue entries of private multiplicative weights."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import Numbers, choice, number, positive, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee


@dataclasses.dataclass(frozen=True)
class _Counts(Numbers):
    """Lists of whole numbers."""

    def describe(self) -> str:
        """See ``Domain``."""
        return super().describe().replace("numbers", "whole numbers")

    def _number(self, name: str, value: Any) -> float:
        found = super()._number(name, value)
        return found if found.is_integer() else self.refuse(name, value)


_SETTINGS = {
    "table": _Counts(
        "rows in each cell of the universe",
        default="3,2,1",
        low=0.0,
        low_open=False,
        high=1e15,
        high_open=False,
        size=2,
    ),
    "queries": whole(
        "how many are asked; to tell paths apart at most 8", at_least=1, at_most=10_000, default=2
    ),
    "analyst": choice(
        ("pool", "random", "worst"),
        "pool: how many rows lie in the first cells, in turn; random: drawn from these; "
        "worst: where h is too low",
        default="pool",
    ),
    "epsilon": positive("epsilon of the whole interaction, pure", default=4),
    "updates": whole("most updates of the hypothesis", at_least=1, at_most=100, default=1),
    "threshold": positive("error that an update is for", default=0.2),
    "rate": number("learning rate of an update", above=0.0, at_most=100.0, default=0.5),
    "event": choice(
        ("path", "updates"), "path: where and in which direction; updates: how many", default="path"
    ),
}
_REPETITIVE = {
    "gamma": positive("exponent of the law of p", default=1),
    "repetitions": whole("Tests a batch", at_least=1, at_most=10**6, default=5),
    "distance": positive("between the thresholds of the two hypotheses", default=0.2),
    "max_failures": whole("failed batches at which it halts", at_least=1, at_most=40, default=3),
    "method": choice(("literal", "jump", "law"), "see the guide", default="jump"),
}


def _params(values: Values) -> dict[str, Any]:
    """What both mechanisms take."""
    table = values["table"]
    if table.sum() == 0.0:
        raise InputError("table holds no rows; it must hold at least one")
    return {
        # The query of each proper beginning of the list of cells.
        "queries": np.tri(table.size - 1, table.size),
        "reference": table / table.sum(),
        "threshold": values["threshold"],
        "rate": values["rate"],
    }


def _moved(values: Values, params_of: Callable[[Values], dict[str, Any]]) -> tuple[Pair, ...]:
    """One row moves; the analyst believes in the first table on both sides."""
    table = values["table"]
    found = []
    for name, source, target in (("last", -1, 0), ("first", 0, -1)):
        other = table.copy()
        other[source] -= 1
        other[target] += 1
        if np.any(other < 0):
            continue
        found.append(
            Pair(
                name,
                table,
                other,
                Relation.GENERAL,
                params_of(values),
                f"A row of the {name} cell moves to the other end of the universe, "
                "which moves every query on first cells by a whole row.",
            )
        )
    if not found:
        raise InputError("table has no row at either end that could move")
    return tuple(found)


# --- With restarts of the sparse vector -----------------------------------------------


def weights_shares(values: Values) -> dict[str, Any]:
    """Half of epsilon for the restarts of the sparse vector, half for the answers."""
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


def _make_weights(values: Values) -> Built:
    from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum

    mechanism = hardt_rothblum(values["queries"], analyst=values["analyst"], event=values["event"])
    return Built(mechanism, values["table"], weights_params(values))


def _weights_pairs(values: Values) -> tuple[Pair, ...]:
    return _moved(values, weights_params)


def _weights_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    return guarantee("CL-Thm9-budget", **weights_shares(values))


# --- With the repetitive sparse vector ------------------------------------------------


def repetitive_shares(values: Values) -> dict[str, Any]:
    """Half of epsilon for the one sparse vector, half for the answers."""
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


def _make_repetitive(values: Values) -> Built:
    from jaxsel.families.multiplicative_weights.repetitive import repetitive

    static = {name: values[name] for name in ("analyst", "event", "method")}
    mechanism = repetitive(values["queries"], **static)
    return Built(mechanism, values["table"], repetitive_params(values))


def _repetitive_pairs(values: Values) -> tuple[Pair, ...]:
    return _moved(values, repetitive_params)[:1]


def _repetitive_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    return guarantee("CL-Thm11-budget", **repetitive_shares(values))


# --- Adaptive data analysis -----------------------------------------------------------


def _analysis_params(values: Values) -> dict[str, Any]:
    """What the mechanism that answers takes, and how many queries it is asked."""
    make = repetitive_params if values["protection"] == "repetitive" else weights_params
    params = make(values)
    own = {name: params[name] for name in params if name != "reference"}
    return own | {"queries": values["queries"]}


def _analysis_data(values: Values, table: np.ndarray) -> dict[str, np.ndarray]:
    population = values["population"]
    if population.size != table.size or population.sum() == 0.0:
        raise InputError(
            f"population must hold {table.size} numbers, one a cell, and not only zeros"
        )
    return {"population": population / population.sum(), "table": table}


def _make_analysis(values: Values) -> Built:
    from jaxsel.families.multiplicative_weights.adaptive_analysis import adaptive_analysis

    data = _analysis_data(values, values["table"])
    mechanism = adaptive_analysis(int(values["table"].sum()), protection=values["protection"])
    return Built(mechanism, data, _analysis_params(values))


def _analysis_pairs(values: Values) -> tuple[Pair, ...]:
    return tuple(
        Pair(
            pair.name,
            _analysis_data(values, pair.data),
            _analysis_data(values, pair.neighbour),
            pair.relation,
            _analysis_params(values),
            pair.why,
        )
        for pair in _moved(values, _analysis_params)
    )


def _analysis_guarantee(values: Values, pair: Pair) -> Guarantee:
    del pair
    if values["protection"] == "repetitive":
        return guarantee("CL-Thm11-budget", **repetitive_shares(values))
    return guarantee("CL-Thm9-budget", **weights_shares(values))


_ANALYSIS = {
    "table": _SETTINGS["table"],
    "population": Numbers(
        "share of each cell of the universe, which the analyst knows",
        default="2,2,1",
        low=0.0,
        low_open=False,
        size=2,
    ),
    "queries": whole(
        "random ones, before that which they suggest", at_least=1, at_most=10_000, default=3
    ),
    "protection": choice(
        ("repetitive", "weights"),
        "what answers: Theorem 11's mechanism, or Theorem 9's",
        default="repetitive",
    ),
    **{name: _SETTINGS[name] for name in ("epsilon", "updates", "threshold", "rate")},
    **{name: domain for name, domain in _REPETITIVE.items() if name != "method"},
}

ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "private_multiplicative_weights",
        ("CL-Thm9", "Hardt & Rothblum 2010", "Dwork & Roth 2014, Section 4.2"),
        "Answer adaptive linear queries from a hypothesis that a sparse vector corrects.",
        False,
        {**_SETTINGS, "method": choice(("literal", "law"), "see the guide", default="literal")},
        _make_weights,
        _weights_pairs,
        _weights_guarantee,
        generic={"table": "4,4,2", "epsilon": 3, "updates": 2, "threshold": 0.1, "rate": 0.3},
    ),
    MechanismEntry(
        "repetitive_multiplicative_weights",
        ("CL-Thm11",),
        "The same with the repetitive sparse vector, which also rejects bad answers.",
        False,
        {**_SETTINGS, **_REPETITIVE},
        _make_repetitive,
        _repetitive_pairs,
        _repetitive_guarantee,
        generic={
            "table": "4,4,2",
            "epsilon": 3,
            "updates": 2,
            "threshold": 0.1,
            "rate": 0.3,
            "gamma": 0.6,
            "repetitions": 3,
            "distance": 0.15,
        },
    ),
    MechanismEntry(
        "adaptive_analysis",
        ("CL-Thm10", "CL-Thm12"),
        "Answer random queries and the one that their answers suggest, near a population's "
        "values, from rows drawn from it.",
        False,
        _ANALYSIS,
        _make_analysis,
        _analysis_pairs,
        _analysis_guarantee,
        generic={"protection": "weights", "updates": 2, "queries": 6},
    ),
)
