"""Tuning of generalised propose-test-release: the best of many runs is released.

One run is that of ``settings``, with a regularisation drawn from any fixed law; the number K of
runs is geometric. Koskela, Redberg & Wang (2024), Section 6.1.
"""

import math
from typing import Annotated, NamedTuple

from scipy import optimize

from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.conversions import ApproximateGuarantee
from jaxsel.families.ridge_regression.parameters import (
    LARGEST_RUN_DELTA,
    Delta,
    RunDelta,
    TunedEpsilon,
)
from jaxsel.families.ridge_regression.settings import (
    RunCalibration,
    calibrate_run,
    run_epsilon,
    run_profile,
)
from jaxsel.host.errors import InputError
from jaxsel.language.domains import choice
from jaxsel.language.signature import validated
from jaxsel.repetitions import Repetitions, capped
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.tuning.bounds.profiles import two_point_epsilon
from jaxsel.tuning.bounds.random_stopping import hard_stop_approximate, hard_stop_steps

TUNING_THEOREMS = ("KRW-Cor6.2", "KRW-Cor5.4-sharp", "LT-Thm3.4", "JX-Envelope")
Theorem = Annotated[str, choice(TUNING_THEOREMS, "what calibrates the runs")]
_ROUNDS = 40
_PRECISION = 1e-4


class TunedCalibration(NamedTuple):
    """The settings with which the best of many runs is (epsilon, delta)-DP.

    Attributes:
      theorem: the theorem that proves it; one of TUNING_THEOREMS.
      epsilon, delta: the guarantee of the tuned algorithm.
      run: the settings of one run.
      repetitions: law of the number of runs.
    """

    theorem: str
    epsilon: float
    delta: float
    run: RunCalibration
    repetitions: Repetitions


def _gamma(repetitions: Repetitions) -> float:
    """The gamma of a geometric law of K; raises InputError for other laws."""
    parameters = repetitions.parameters
    geometric = repetitions.family == "truncated_negative_binomial"
    if not (geometric and parameters["eta"] == 1.0 and parameters["gamma"] < 1.0):
        raise InputError(
            f"repetitions are {repetitions.family}; give a geometric law with gamma < 1"
        )
    return float(parameters["gamma"])


@validated
def tuned_guarantee(
    run: RunCalibration, theorem: Theorem, repetitions: Repetitions, delta: Delta
) -> ApproximateGuarantee:
    """The guarantee of the best of geometrically many runs, at a given delta.

    Args:
      run: the settings of one run, whose delta is that of ``run_delta``.
      theorem: "KRW-Cor6.2" is Koskela, Redberg & Wang (2024), Corollary 6.2, at the best second
        point of the run's guarantees; "KRW-Cor5.4-sharp" gives (3 epsilon, 1 - f(1 - delta)), f
        being the generating function of K, and is this project's; "JX-Envelope" is this project's
        bound from the whole profile of a run; "LT-Thm3.4" is Liu & Talwar (2019), Theorem 3.4 as
        printed, for K capped at its hard stop: its printed proof has a gap (LT-E13).
      repetitions: geometric law of K, before any cap.
      delta: of the best run.
    """
    gamma = _gamma(repetitions)
    if theorem == "LT-Thm3.4":
        return hard_stop_approximate(run.epsilon, run.delta, gamma, 0.5 * delta)
    if theorem == "JX-Envelope":
        base = curves.from_profile("posterior sample after a test", run_profile(run))
        found = envelope_epsilon(base_envelopes(base, repetitions), delta)
        return ApproximateGuarantee(found, delta)
    if theorem == "KRW-Cor5.4-sharp":
        return ApproximateGuarantee(3.0 * run.epsilon, float(repetitions.pgf_gap(run.delta)))

    def total(second_delta: float) -> float:
        first = run_epsilon(run, second_delta)
        return two_point_epsilon(run.epsilon, first, second_delta, 1.0, gamma)

    low, high = math.log(run.delta), math.log(LARGEST_RUN_DELTA)
    least = optimize.minimize_scalar(
        lambda x: total(math.exp(x)), bounds=(low, high), method="bounded", options={"xatol": 1e-2}
    )
    best = min(float(least.fun), total(run.delta))  # type: ignore[attr-defined]
    return ApproximateGuarantee(best, repetitions.mean * run.delta)


@validated
def run_delta(theorem: Theorem, repetitions: Repetitions, delta: Delta) -> float:
    """The delta of one run for which a theorem gives a given delta of the best run.

    Args:
      theorem, repetitions: as in ``tuned_guarantee``.
      delta: of the best run.
    """
    gamma = _gamma(repetitions)
    if theorem in ("KRW-Cor6.2", "JX-Envelope"):
        return delta / repetitions.mean
    if theorem == "KRW-Cor5.4-sharp":
        # 1 - f(1 - x) = x/(gamma + (1 - gamma) x) for the geometric law.
        return gamma * delta / (1.0 - (1.0 - gamma) * delta)
    # sqrt(2 delta_1) T + delta_2 with delta_2 = delta/2.
    return 0.5 * (0.5 * delta / hard_stop_steps(gamma, 0.5 * delta)) ** 2


@validated
def calibrate_tuned(
    epsilon: TunedEpsilon, delta: RunDelta, repetitions: Repetitions, theorem: Theorem
) -> TunedCalibration:
    """The settings with which a theorem says that the best of many runs is (epsilon, delta)-DP.

    The proven epsilon is at most the given one, and less by at most 1e-4 of it.

    Args:
      epsilon, delta: of the best run.
      repetitions: geometric law of K; for "LT-Thm3.4" it is capped at the hard stop.
      theorem: as in tuned_guarantee.

    Raises:
      InputError: for another law of K, or an epsilon that the theorem cannot give.
    """
    each = run_delta(theorem, repetitions, delta)

    def excess(run: float) -> float:
        calibration = calibrate_run(run, each)
        found = tuned_guarantee(calibration, theorem, repetitions, delta)
        return found.epsilon / epsilon - 1.0

    # The tuned epsilon is nearly proportional to a run's epsilon.
    root = 0.5 * epsilon
    for _ in range(_ROUNDS):
        over = excess(root)
        if -_PRECISION < over <= 0.0:
            break
        root /= 1.0 + over + 0.25 * _PRECISION
    else:
        raise InputError(f"epsilon is {epsilon:g}; {theorem} cannot give it at delta = {delta:g}")
    law = repetitions
    if theorem == "LT-Thm3.4":
        law = capped(law, hard_stop_steps(_gamma(law), 0.5 * delta))
    return TunedCalibration(theorem, epsilon, delta, calibrate_run(root, each), law)
