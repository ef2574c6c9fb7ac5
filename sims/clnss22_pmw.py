"""Errors and updates of private multiplicative weights (Cohen et al. 2022, section 4.3).

A real table of 256 cells; (1, 1e-6)-DP in all; settings with their constants, learning
rate 4 g. The analyst asks at each query for the cells that the hypothesis holds too
rarely, which errs most; one trial is one interaction.
"""

import numpy as np

from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.families.multiplicative_weights import updates as updates_of
from jaxsel.families.multiplicative_weights.hardt_rothblum import hardt_rothblum
from jaxsel.families.multiplicative_weights.repetitive import repetitive
from jaxsel.kernel.engine import Performance, simulate_grid
from jaxsel.kernel.statistics import combine, counts, histogram, sums
from jaxsel.language.base import Mechanism
from jaxsel.language.domains import numbers, positive, probability, whole
from sims.common.universe import table

TRIALS = 1000
MECHANISMS = ("hardt_rothblum", "repetitive")
EPSILON, DELTA = 1.0, 1e-6
QUERIES = (20, 60, 200, 600)
BETA = 0.01  # where the number of queries varies
BETAS = (0.3, 0.1, 0.03, 0.01)  # 1000 trials bound their quantiles on both sides
MANY = 200  # queries where beta varies
SETTABLE = {
    "EPSILON": positive("epsilon in all"),
    "DELTA": probability("delta in all"),
    "BETA": probability("of a failure"),
    "QUERIES": numbers("of the points in the left panel", at_least=1.0),
    "MANY": whole("queries where beta varies", at_least=1),
}
EDGES = tuple((np.arange(1, 2001) / 4000).tolist())  # of bins of the largest error
GAPS = (0.05, 0.08, 0.13, 0.2, 0.3, 0.45)  # least errors of an update
LONG = 500  # queries where updates are counted
_BLOCK = Performance(block_size=64)


def _settings(name: str, cells: int, rows: int, queries: int, beta: float) -> dict:
    make = weights.hardt_rothblum if name == MECHANISMS[0] else weights.repetitive
    found = make(cells, rows, queries, EPSILON, DELTA, beta, sharp=True)
    return weights.parameters(found)


def _mechanism(name: str, queries: int) -> Mechanism:
    make = hardt_rothblum if name == MECHANISMS[0] else repetitive
    return make(queries, analyst="worst")


def _max_error(outcome):
    return outcome.max_error


def _updates(outcome):
    return outcome.updates


def _totals(outcome):
    return {
        "updates": outcome.updates,
        "rejections": outcome.rejections,
        "halted": outcome.halted,
    }


def _quiet(gap: float, sharp: bool, cells: int) -> dict:
    """Updates at errors of ``gap`` and hardly less: noise of a fortieth of it."""
    return {
        "threshold": 1.2 * gap,
        "rate": updates_of.learning_rate(gap, sharp=sharp),
        "max_updates": updates_of.max_updates(cells, gap, sharp=sharp),
        "threshold_scale": gap / 80.0,
        "query_scale": gap / 80.0,
        "answer_scale": gap / 80.0,
    }


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Histograms of the largest error, and numbers of updates."""
    data = table()
    cells, rows = data.counts.size, data.rows
    statistic = combine(
        {"errors": histogram(_max_error, EDGES), "totals": sums(_totals)}
    )

    # One program a mechanism: m is a number, not a shape.
    points = [(m, BETA) for m in QUERIES] + [(MANY, beta) for beta in BETAS]
    tallies = [
        simulate_grid(
            _mechanism(name, max(QUERIES)),
            [
                (data.counts, _settings(name, cells, rows, m, beta) | {"asked": m})
                for m, beta in points
            ],
            trials=trials,
            seed=seed + number,
            statistic=statistic,
            progress=progress,
            performance=_BLOCK,
        ).values
        for number, name in enumerate(MECHANISMS)
    ]
    quiet = simulate_grid(
        _mechanism(MECHANISMS[0], max(QUERIES)),
        [
            (data.counts, _quiet(gap, sharp, cells) | {"asked": LONG})
            for sharp in (False, True)
            for gap in GAPS
        ],
        trials=max(trials // 10, 1),
        seed=seed + 2,
        statistic=counts(_updates, LONG + 1),
        progress=progress,
        performance=_BLOCK,
    ).values
    split = len(QUERIES)
    errors = np.array([v["errors"] for v in tallies])
    found = {
        "errors_by_queries": errors[:, :split],
        "errors_by_beta": errors[:, split:],
        "updates": quiet.reshape(2, len(GAPS), -1),
    }
    for name in ("updates", "rejections", "halted"):
        found[f"total_{name}"] = np.array([v["totals"][name] for v in tallies])
    return found | {
        "trials": trials,
        "mechanisms": list(MECHANISMS),
        "cells": cells,
        "rows": rows,
        "source": data.source,
        "generated": data.generated,
    }
