"""The catalogue entries of private multiplicative weights."""

import numpy as np

from jaxsel.base import Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.errors import InputError, check_integer, check_positive
from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.families.multiplicative_weights.repetitive import repetitive
from jaxsel.options import Option, read_number, read_numbers

_OPTIONS = {
    "table": Option("3,2,1", "rows in each cell of the universe"),
    "queries": Option("2", "how many are asked; to tell paths apart at most 8"),
    "analyst": Option(
        "pool", "pool: how many rows lie in the first cells; worst: where h is too low"
    ),
    "epsilon": Option("4", "epsilon of the whole interaction, pure"),
    "updates": Option("1", "most updates of the hypothesis"),
    "threshold": Option("0.2", "error that an update is for"),
    "rate": Option("0.5", "learning rate of an update"),
    "event": Option("path", "path: where and in which direction; updates: how many"),
}
_REPETITIVE = {
    "gamma": Option("1", "exponent of the law of p"),
    "repetitions": Option("5", "Tests a batch"),
    "distance": Option("0.2", "between the thresholds of the two hypotheses"),
    "max_failures": Option("3", "failed batches at which it halts"),
    "method": Option("jump", "jump, literal or law"),
}


def _table(values: Settings) -> np.ndarray:
    return np.array(read_numbers("table", values["table"]))


def _first_cells(cells: int) -> np.ndarray:
    """The query of each proper beginning of the list of cells."""
    return np.tri(cells - 1, cells)


def _common(values: Settings, table: np.ndarray) -> dict:
    if table.size < 2:
        raise InputError("table has one cell; a universe has two or more")
    return {
        "queries": _first_cells(table.size),
        "reference": table / max(table.sum(), 1.0),
        "threshold": read_number("threshold", values["threshold"]),
        "rate": read_number("rate", values["rate"]),
    }


def _half(values: Settings) -> float:
    epsilon = read_number("epsilon", values["epsilon"])
    return check_positive("epsilon", epsilon) / 2.0


def _whole(values: Settings, name: str) -> int:
    return check_integer(name, read_number(name, values[name]), 1)


def _weights_params(values: Settings, table: np.ndarray) -> dict:
    """Half of epsilon for the restarts of the sparse vector, half for the answers."""
    updates = _whole(values, "updates")
    scale = updates / (_half(values) * table.sum())
    return _common(values, table) | {
        "max_updates": updates,
        "threshold_scale": 2.0 * scale,
        "query_scale": 4.0 * scale,
        "answer_scale": scale,
    }


def _make_weights(values: Settings) -> Built:
    table = _table(values)
    mechanism = hardt_rothblum(
        _whole(values, "queries"), analyst=values["analyst"], event=values["event"]
    )
    return Built(mechanism, table, _weights_params(values, table))


def _repetitive_params(values: Settings, table: np.ndarray) -> dict:
    """Half of epsilon for the one sparse vector, half for the answers."""
    gamma = check_positive("gamma", read_number("gamma", values["gamma"]))
    failures, answers = _whole(values, "max_failures"), _whole(values, "updates")
    share = _half(values) * table.sum()
    return _common(values, table) | {
        "distance": read_number("distance", values["distance"]),
        "gamma": gamma,
        "repetitions": read_number("repetitions", values["repetitions"]),
        "max_failures": failures,
        "max_answers": answers,
        "test_scale": (2.0 * failures + gamma) / share,
        "answer_scale": answers / share,
    }


def _make_repetitive(values: Settings) -> Built:
    table = _table(values)
    mechanism = repetitive(
        _whole(values, "queries"),
        analyst=values["analyst"],
        event=values["event"],
        method=values["method"],
    )
    return Built(mechanism, table, _repetitive_params(values, table))


def _moved(params_of, most: int):
    def pairs(values: Settings) -> tuple[Pair, ...]:
        """One row moves; the analyst believes in the first table on both sides."""
        table = _table(values)
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
                    params_of(values, table),
                    f"A row of the {name} cell moves to the other end of the universe, "
                    "which moves every query on first cells by a whole row.",
                )
            )
        if not found:
            raise InputError("table has no row at either end that could move")
        return tuple(found[:most])

    return pairs


def _promise(claim: str):
    return lambda values, pair: (claim, 2.0 * _half(values))


ENTRIES: tuple[MechanismEntry, ...] = (
    MechanismEntry(
        "private_multiplicative_weights",
        ("CL-Thm9", "Hardt & Rothblum 2010", "Dwork & Roth 2014, Section 4.2"),
        "Answer adaptive linear queries from a hypothesis that a sparse vector corrects.",
        False,
        _OPTIONS | {"method": Option("literal", "literal or law")},
        _make_weights,
        _moved(_weights_params, 2),
        _promise("CL-Thm9-budget"),
    ),
    MechanismEntry(
        "repetitive_multiplicative_weights",
        ("CL-Thm11",),
        "The same with the repetitive sparse vector, which also rejects bad answers.",
        False,
        _OPTIONS | _REPETITIVE,
        _make_repetitive,
        _moved(_repetitive_params, 1),
        _promise("CL-Thm11-budget"),
    ),
)
