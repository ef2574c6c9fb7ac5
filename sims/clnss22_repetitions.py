"""One query to the repetitive sparse vector: how it is answered, and what it costs.

Cohen et al. 2022, Algorithm 3, with gamma, tau and k' of Section 4.2 (k' corrected) and
margins d from the printed one down. One trial is a run with one query, f - t away from
the threshold; it is answered bottom or top, or k' batches of Tests fail and it halts.
Levels and margins are in units of the noise, 1/epsilon'.
"""

import math

import numpy as np

from jaxsel.families.repetitive_sparse_vector.error_laws import needed_margin
from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
    repetitive_sparse_vector,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    repetitive_settings,
)
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import combine, counts, sums
from jaxsel.language.domains import probability, whole

TRIALS = 300_000

WANTED, QUERIES, BETA = 50, 2000, 1e-3
SETTABLE = {
    "WANTED": whole("answers above the threshold, k", at_least=1),
    "QUERIES": whole("m", at_least=1),
    "BETA": probability("of a failure"),
}
LEVELS = (-48.0, -40.0, -34.0, -28.0, -24.0, -20.0, -17.0, -14.0, -11.0, -8.0, -5.0,
          -2.0, 2.0)  # fmt: skip


def settings(margin: float | None = None) -> RepetitiveSettings:
    """Settings of Section 4.2 with noise of scale 1; None: the printed margin."""
    found = repetitive_settings(WANTED, QUERIES, BETA)
    printed = found.margin * found.query_epsilon
    margin = printed if margin is None else margin
    return found._replace(query_epsilon=1.0, margin=margin)


def margins() -> tuple[float, ...]:
    """The printed one, the least whose failure bound is BETA, and two too small."""
    printed = settings()
    least = needed_margin(printed, WANTED, QUERIES, BETA)
    return printed.margin, least, 0.75 * least, 0.5 * least


def _failures(outcome) -> dict:
    number = outcome.failures
    return {"sum": number, "squares": number * number}


def run(*, trials: int, seed: int = 0, progress: bool | None = None) -> dict:
    """Answers, Int64["margins levels outcomes"] (halt, bottom, top), and sums of the
    numbers of failed batches and of their squares."""
    found = simulate_grid(
        repetitive_sparse_vector(event="pattern"),
        [([level], settings(d)._asdict()) for d in margins() for level in LEVELS],
        trials=trials,
        seed=seed,
        statistic=combine(
            {"answers": counts(_pattern, 3), "failures": sums(_failures)}
        ),
        progress=progress,
    ).values
    shape = (len(margins()), len(LEVELS))
    return {
        "answers": np.asarray(found["answers"]).reshape(*shape, 3),
        "failures": np.asarray(found["failures"]["sum"]).reshape(shape),
        "squares": np.asarray(found["failures"]["squares"]).reshape(shape),
        "trials": trials,
        "margins": list(margins()),
        "levels": list(LEVELS),
        "settings": {
            name: value
            for name, value in settings()._asdict().items()
            if math.isfinite(value)
        },
    }


def _pattern(outcome):
    return repetitive_sparse_vector(event="pattern").event(outcome)
