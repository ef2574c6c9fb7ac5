"""Claims on objective perturbation of generalised linear models: its law and its privacy.

The proofs stand in docs/objective-perturbation.md. All checks have records on the line, where the
law of the minimum is known exactly. The stiffness is the squared feature norm over lambda.
"""

import functools
import random
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

from jaxsel.families.private_training import objective_laws as laws
from jaxsel.families.private_training.claims.cells import law_cases
from jaxsel.families.private_training.parameters import LinearNoise, Loss
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import CONFIDENCE, listed
from jaxsel.language.domains import number, numbers
from jaxsel.language.papers import JX
from jaxsel.training.objective_privacy import Settings, guarantee

_WHERE = "docs/objective-perturbation.md"
Stiffness = Annotated[float, number("squared feature norm over lambda", at_least=1e-3, at_most=1e4)]
Delta = Annotated[float, number("of (epsilon, delta)", at_least=1e-12, below=1.0)]
_GAP = number("2 tolerance/(lambda output noise)", at_least=1e-3, at_most=10.0)


@functools.lru_cache(maxsize=256)
def _epsilon(loss: str, noise: float, stiffness: float, delta: float, gap: float = 0.0) -> float:
    """The epsilon at delta by ``objective_privacy.guarantee``, for a feature norm and slope of 1.

    Args:
      loss: "logistic" or "huber".
      noise: noise multiplier of the linear term.
      stiffness: 1/lambda.
      delta: of (epsilon, delta).
      gap: 2 tolerance/(lambda output noise); 0 for the exact minimum.
    """
    base = guarantee(
        Settings(loss, noise, 1.0 / stiffness, 1.0, 1.0, gap / (2.0 * stiffness), float(gap > 0.0))
    )
    return base.epsilon(delta)


@JX.privacy("JX-ObjPert-logistic", f"{_WHERE}, Section 3", Relation.BASE)
def logistic(
    *, noise_multiplier: LinearNoise = 1.0, stiffness: Stiffness = 10.0, delta: Delta = 1e-6
) -> float:
    """With the logistic loss, the privacy loss of the exact minimum of objective perturbation is at
    most mu w + mu^2/2 for a record added, and at most the largest p mu w + p^2 mu^2/2 + log(1 + p
    (1 - p) s) over p in [0, 1] for one removed, with w normal, mu = 1/noise and s the stiffness.

    Returns the epsilon at delta that covers both directions.
    """
    return _epsilon("logistic", noise_multiplier, stiffness, delta)


@JX.privacy("JX-ObjPert-linear", f"{_WHERE}, Section 4", Relation.BASE)
def linear(
    *, noise_multiplier: LinearNoise = 1.0, stiffness: Stiffness = 1.0, delta: Delta = 1e-6
) -> float:
    """With squared residuals that are linear beyond a slope, the privacy loss of the exact minimum
    of objective perturbation is at most mu |w| + mu^2/2 for a record added, and at most
    max(0, mu w + mu^2/2) + log(1 + s) for one removed, with w normal, mu = 1/noise and s the
    stiffness.

    Returns the epsilon at delta that covers both directions.
    """
    return _epsilon("huber", noise_multiplier, stiffness, delta)


_TINY = 1e-4


def pushed(shift: float) -> laws.Line:
    """So many records with a tiny feature that they add ``shift`` to the gradient near 0.

    As the feature is tiny, what they add hardly depends on the parameter.
    """
    count = round(2.0 * abs(shift) / _TINY)
    return laws.line((_TINY, -np.sign(shift) or 1.0, count))


_SETTINGS = listed(
    "noise_multiplier stiffness delta",
    (1.0, 10.0, 1e-6),
    (1.0, 1.0, 1e-3),
    (4.0, 1.0, 1e-6),
    (0.5, 100.0, 1e-5),
    (2.0, 1000.0, 1e-2),
)
_SHIFTS = np.concatenate([-np.geomspace(0.3, 30.0, 12), [0.0], np.geomspace(0.3, 30.0, 12)])


@logistic.bounds()
def logistic_cases(budget):
    for point in _SETTINGS(budget):
        noise, stiffness, delta = point.values()
        for shift in (noise * _SHIFTS).tolist():
            fewer = pushed(shift)
            more = laws.with_one_more(fewer, 1.0, 1.0)
            seen = laws.pair_epsilon(fewer, more, "logistic", noise, 1.0 / stiffness, delta)
            yield point, seen, f"exact law of {fewer.counts[0]:g} tiny records and 1, {shift=:g}"


@linear.bounds()
def linear_cases(budget):
    for point in _SETTINGS(budget):
        noise, stiffness, delta = point.values()
        for place in (noise * stiffness * np.linspace(0.0, 6.0, 25)).tolist():
            more = laws.line((1.0, place, 1.0))
            seen = laws.pair_epsilon(laws.line(), more, "huber", noise, 1.0 / stiffness, delta)
            yield point, seen, f"exact law of one record of target {place:g}, or none"


@JX.privacy("JX-ObjPert-gap", f"{_WHERE}, Section 5", Relation.BASE)
def approximate(
    *,
    loss: Loss = "logistic",
    noise_multiplier: LinearNoise = 1.0,
    stiffness: Stiffness = 10.0,
    gap: Annotated[float, _GAP] = 0.5,
    delta: Delta = 1e-6,
) -> float:
    """To release a point at which the gradient's norm is at most the tolerance, with normal noise,
    costs no more than to release the exact minimum and then to make a Gaussian release whose noise
    multiplier is the inverse of the gap.

    Returns the epsilon at delta that covers both directions.
    """
    return _epsilon(loss, noise_multiplier, stiffness, delta, gap)


@approximate.bounds()
def approximate_cases(budget):
    del budget
    for loss, noise, stiffness, gap, delta in (
        ("logistic", 1.0, 10.0, 0.5, 1e-6),
        ("logistic", 1.0, 1.0, 1.0, 1e-3),
        ("huber", 2.0, 1.0, 0.5, 1e-4),
    ):
        # Where the slope of the added record is 1 throughout, the minimum is normal, too. The
        # shifts of minimum and output cost most together if they are in the proportion of the
        # variances of their noises.
        output_noise = noise * stiffness * gap * noise
        step = gap * output_noise / 2.0
        fewer = pushed(30.0 * noise) if loss == "logistic" else laws.line()
        more = laws.with_one_more(fewer, 1.0, 1.0 if loss == "logistic" else 1e3)
        seen = laws.approximate_epsilon(
            fewer, more, loss, noise, 1.0 / stiffness, step, output_noise, delta
        )
        point = {
            "loss": loss,
            "noise_multiplier": noise,
            "stiffness": stiffness,
            "gap": gap,
            "delta": delta,
        }
        yield point, seen, "exact law of minima that lie as far apart as they may"


@JX.identity("JX-ObjPert-law", f"{_WHERE}, Section 2")
def below(
    *,
    t: Annotated[float, number("on the line")] = 1.0,
    noise_multiplier: LinearNoise = 1.0,
    stiffness: Stiffness = 10.0,
    loss: Loss = "logistic",
    features: Annotated[Any, numbers("of the kinds of records")] = 1.0,
    targets: Annotated[Any, numbers("of each kind, or of all")] = 1.0,
    counts: Annotated[Any, numbers("records of each kind, or of all", at_least=0.0)] = 1.0,
) -> float:
    """For records on the line, the probability that the solver's minimum is at most t is the normal
    distribution function of the gradient at t over the noise.

    Returns P[minimum <= t]; by default there is one record, with feature 1 and target 1.
    """
    try:
        records = laws.Line(*np.broadcast_arrays(features, targets, counts))
    except ValueError:
        raise InputError("targets and counts must be one for each of features, or one") from None
    return float(laws.minimum_cdf(t, records, loss, noise_multiplier, 1.0 / stiffness))


def _solved(records: laws.Line, settings: Settings, trials: int, seed: int) -> Iterator[float]:
    """The parameters that the solver releases in ``trials`` runs on the same records."""
    from jaxsel.training.objective_perturbation import release

    counts = records.counts.astype(int)
    features = np.repeat(records.features, counts)[:, None]
    targets = np.repeat(records.targets, counts)
    source = random.Random(seed)
    for _ in range(trials):
        yield float(release(features, targets, settings, source)[0])


@below.bounds(tolerance=0.0)
def law_of_solver(budget):
    trials = max(500, min(budget.trials // 100, 4000))
    confidence = 1.0 - (1.0 - CONFIDENCE) / 2.0
    for loss, records in (
        ("logistic", laws.line((0.6, -1.0, 7), (1.0, 1.0, 2))),
        ("huber", laws.line((0.8, 2.0, 3), (-0.5, 1.0, 4))),
    ):
        # The noise multiplier is not 1, and the output noise is too small to be seen in the cells.
        settings = Settings(loss, 1.3, 0.4, 1.0, 1.0, 1e-9, 1e-6)
        samples = np.array(list(_solved(records, settings, trials, budget.seed)))

        def cdf(t, loss=loss, records=records):
            return laws.minimum_cdf(t, records, loss, 1.3, 0.4)

        point = {"loss": loss, "noise_multiplier": 1.3, "stiffness": 2.5, **records._asdict()}
        yield from law_cases(samples, cdf, confidence, "t", f"{settings}", **point)
