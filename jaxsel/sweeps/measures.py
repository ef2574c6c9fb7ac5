"""The measures of a sweep by name, and the trials or pairs that each needs."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.host.intervals import clopper_pearson, mean_interval
from jaxsel.language.domains import nearest
from jaxsel.language.trial import Trial
from jaxsel.language.utility import MEANINGS, UNITS
from jaxsel.sweeps.cells import Cell
from jaxsel.sweeps.facts import law_of
from jaxsel.sweeps.swept_subject import Subject

ESTIMATE, EXACT = "estimate", "exact"
LOWER, UPPER = "lower bound", "upper bound"


class Measure(NamedTuple):
    """A quantity that a sweep can measure.

    Attributes:
      name: of its variable.
      title: a short label, for the axis of a picture.
      meaning: its exact definition.
      units: "1" for probabilities, fractions and epsilons.
      kind: "estimate", "exact", "lower bound" or "upper bound".
      needs: "trials" of the input itself, "pairs" of neighbours, or "" for nothing.
      missing: the meaning of a missing value (NaN), as text.
    """

    name: str
    title: str
    meaning: str
    units: str
    kind: str
    needs: str = ""
    missing: str = "does not apply"


_UTILITY = tuple(
    Measure(name, *meaning, UNITS.get(name, "1"), ESTIMATE, "trials")
    for name, meaning in MEANINGS.items()
)
_OUTCOMES = (
    Measure("counts", "count", "how often each outcome happened", "trials", EXACT, "trials"),
    Measure("frequency", "frequency", "probability of each outcome", "1", ESTIMATE, "trials"),
)
_SUMS = (
    Measure(
        "tallies", "sum", "sums of the function's own statistic, by name", "1", EXACT, "trials"
    ),
)
_PRIVACY = (
    Measure(
        "epsilon_bound",
        "proven epsilon",
        "smallest epsilon that a theorem proves",
        "1",
        UPPER,
        missing="none proven",
    ),
    Measure(
        "epsilon_bounds",
        "proven epsilon",
        "epsilon that each theorem proves",
        "1",
        UPPER,
        missing="not by this theorem",
    ),
    Measure(
        "audited",
        "audited epsilon",
        "audited lower bound on epsilon, of all constructed pairs together",
        "1",
        LOWER,
        "pairs",
    ),
    Measure(
        "exact_epsilon",
        "exact epsilon",
        "exact epsilon on the constructed pairs",
        "1",
        EXACT,
        missing="not known",
    ),
)
_ACCOUNT = (
    *_PRIVACY[:2],
    Measure(
        "attained",
        "attained epsilon",
        "exact epsilon of one base with this "
        "guarantee, ranked adversarially: no bound for all is smaller",
        "1",
        LOWER,
    ),
    Measure("epsilon_single", "epsilon of one run", "of one run, not tuned", "1", UPPER),
)
_REPETITIONS = (
    Measure("mean_runs", "mean number of runs", "E[K]", "runs", EXACT),
    Measure("no_release", "probability of no run", "P[K = 0]", "1", EXACT),
    Measure(
        "expected_quantile",
        "expected quantile",
        "expected quantile of the best of K runs that are all different",
        "1",
        EXACT,
    ),
)


def known_measures(subject: Subject, cell: Cell) -> dict[str, Measure]:
    """The measures that apply to a subject, by name; a cell gives the utilities of its events."""
    found: list[Measure] = []
    if cell.built is None:
        found += [*_ACCOUNT, *_REPETITIONS]
    else:
        if cell.built.statistic is None:
            worth = cell.built.utility()
            found += [*_OUTCOMES, *(m for m in _UTILITY if m.name in worth)]
        else:
            found += _SUMS
        found += _PRIVACY if _may_have_pairs(cell.built) else _PRIVACY[:2]
        if law_of(cell) is not None:
            found += _REPETITIONS
    return {measure.name: measure for measure in found}


def _may_have_pairs(built: Trial) -> bool:
    try:
        return bool(built.pairs())
    except InputError:  # said where a measure needs them
        return True


def find_measures(names: tuple[str, ...], subject: Subject, cell: Cell) -> list[Measure]:
    """The measures with these names.

    Raises:
      InputError: for one that does not exist or does not apply; the message lists those
        that do.
    """
    known = known_measures(subject, cell)
    for name in names:
        if name not in known:
            raise InputError(
                f"{subject.name} has no measure {name!r}{nearest(name, known)}; it has: "
                f"{', '.join(known)}"
            )
    return [known[name] for name in dict.fromkeys(names)]


class Estimate(NamedTuple):
    """An estimated expectation, its interval, and the exact value if a law is known."""

    value: float
    low: float
    high: float
    exact: float


def estimates(
    built: Trial, counts: np.ndarray, exact: np.ndarray | None, confidence: float
) -> dict[str, Estimate]:
    """Estimates of every utility of a cell, from its tallies.

    Intervals are exact (Clopper-Pearson) for probabilities, empirical Bernstein for other
    means; both are valid for any number of trials.

    Args:
      built: the simulated mechanism with its input.
      counts: Int64["events"].
      exact: Float64["events"], the exact law; None if there is none.
      confidence: of each interval.
    """
    trials, found = int(counts.sum()), {}
    for name, worth in built.utility().items():
        if np.isin(worth, (0.0, 1.0)).all():
            successes = int(counts[worth == 1.0].sum())
            low, high = clopper_pearson(successes, trials, confidence)
            mean = successes / trials
        elif worth.min() == worth.max():  # such as the quantile of equal scores
            mean = low = high = float(worth.min())
        else:
            exactly = [Fraction(float(value)) for value in worth]
            total, squares = (
                sum(int(n) * value**power for n, value in zip(counts, exactly, strict=True))
                for power in (1, 2)
            )
            ends = float(worth.min()), float(worth.max())
            first, second = (np.array(sums, object) for sums in (total, squares))
            low, high = mean_interval(trials, first, second, confidence, *ends)
            mean = float(total / trials)
        truth = np.nan if exact is None else float(exact @ worth)
        found[name] = Estimate(mean, float(low), float(high), truth)
    return found
