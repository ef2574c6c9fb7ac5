"""Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 5: query release.

CL-E8, CL-E9 and CL-E17, each as printed and as corrected. TLap(epsilon, delta) is
Laplace noise of scale 1/epsilon truncated to +-log(1/delta)/epsilon.
"""

import math
from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.truncated_laplace import (
    truncated_laplace_cdf,
    truncated_laplace_delta,
    truncated_laplace_support,
)
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errata_numbers import probability
from jaxsel.errors import check_interval, check_positive

_PAPER = "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022"


def _half(delta: float) -> float:
    return check_interval("delta", delta, 0.0, 0.5, high_open=False)


def _deltas(budget: Budget, cases: int, first: float) -> Iterator[float]:
    generator = np.random.default_rng(budget.seed)
    yield first
    for _ in range(min(budget.cases, cases)):
        yield float(10.0 ** generator.uniform(-8.0, math.log10(0.5)))


# --- Corollary 1 (CL-E8) --------------------------------------------------------------


def _below(*, epsilon: float = 1.0, delta: float = 0.1) -> float:
    """Chance 0 that the released bound s is below the true error g.

    Args:
      epsilon: > 0.
      delta: in (0, 1/2].
    """
    check_positive("epsilon", epsilon)
    _half(delta)
    return 0.0


def _released_bounds(inside: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for delta in _deltas(budget, cases, 0.1):
            for epsilon in (1.0, 0.3):
                offset = 2.0 * math.log(inside / delta) / epsilon
                # s = g + offset + TLap(epsilon/2, delta/2)
                low = float(truncated_laplace_cdf(-offset, epsilon / 2.0, delta / 2.0))
                where = (
                    f"offset 2 log({inside:g}/delta)/epsilon, {epsilon=}, {delta=!r}"
                )
                yield _below(epsilon=epsilon, delta=delta), low, where

    return listed


def _added_printed(*, epsilon: float = 1.0, delta: float = 0.1) -> float:
    """Printed bound 4 log(1/delta)/epsilon on what s adds to the error g.

    Args:
      epsilon: > 0.
      delta: in (0, 1/2].
    """
    return -4.0 * math.log(_half(delta)) / check_positive("epsilon", epsilon)


def _added(*, epsilon: float = 1.0, delta: float = 0.1) -> float:
    """Bound 8 log(1/delta)/epsilon on what s adds to the error g.

    Args:
      epsilon: > 0.
      delta: in (0, 1/2].
    """
    return 2.0 * _added_printed(epsilon=epsilon, delta=delta)


def _additions(bound, inside: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for delta in _deltas(budget, cases, 0.1):
            offset = 2.0 * math.log(inside / delta)
            most = offset + truncated_laplace_support(0.5, delta / 2.0)
            yield bound(delta=delta), most, f"epsilon=1, {delta=!r}"

    return listed


# --- Theorem 5 (CL-E9) ----------------------------------------------------------------


def _fifth(*, delta: float = 0.1) -> float:
    """Delta delta/5 that the selected vector may have.

    Args:
      delta: in (0, 1/2].
    """
    return _half(delta) / 5.0


def _selected_delta(delta: float, divisor: float) -> float:
    """T delta_in: beta = delta/10, T = ceil(2/beta), delta_in = delta^2/divisor."""
    return math.ceil(20.0 / delta) * delta**2 / divisor


def _selected(divisor: float, cases: int):
    def listed(budget: Budget) -> Iterator[Case]:
        for delta in _deltas(budget, cases, 0.1):
            where = f"{delta=!r}, inner delta delta^2/{divisor:g}"
            yield _fifth(delta=delta), _selected_delta(delta, divisor), where

    return listed


def _whole(*, delta: float = 0.1) -> float:
    """Delta of the whole algorithm of Theorem 5.

    Args:
      delta: in (0, 1/2].
    """
    return _half(delta)


def _whole_cases(budget: Budget) -> Iterator[Case]:
    for delta in _deltas(budget, 200, 0.1):
        # Correcting non-privately with chance delta/10 costs (1 + e^epsilon) delta/10.
        total = _selected_delta(delta, 105.0) + (1.0 + math.e) * delta / 10.0
        yield _whole(delta=delta), total, f"{delta=!r}, epsilon=1"


# --- Remark 1 (CL-E17) ----------------------------------------------------------------


def _least_error_printed(*, epsilon: float = 1e-4, delta: float = 0.1) -> float:
    """Printed lower bound log(1/delta)/(10 epsilon) on errors that are never exceeded.

    Args:
      epsilon: > 0.
      delta: in (0, 1).
    """
    return -math.log(probability("delta", delta)) / (
        10.0 * check_positive("epsilon", epsilon)
    )


def _least_error(*, epsilon: float = 1e-4, delta: float = 0.1) -> float:
    """Lower bound (log(1 + (e^epsilon - 1)/delta)/epsilon - 1)/2 on such errors.

    Two inputs t apart, t > twice the error, have disjoint answers, so that group
    privacy gives 1 <= delta (e^(t epsilon) - 1)/(e^epsilon - 1).

    Args:
      epsilon: > 0.
      delta: in (0, 1).
    """
    epsilon = check_positive("epsilon", epsilon)
    grown = math.log1p(math.expm1(epsilon) / probability("delta", delta)) / epsilon
    return (grown - 1.0) / 2.0


def _uniform_error(delta: float) -> float:
    """Largest error of uniform noise whose shift by 1 has total variation delta."""
    return 1.0 / (2.0 * delta)


def _small_errors(budget: Budget) -> Iterator[Case]:
    for epsilon, delta in ((1e-4, 0.1), (1e-3, 0.01)):
        claimed = _least_error_printed(epsilon=epsilon, delta=delta)
        where = f"uniform noise on +-{_uniform_error(delta):g}, {epsilon=}, {delta=}"
        yield claimed, _uniform_error(delta), where


def _all_errors(budget: Budget) -> Iterator[Case]:
    generator = np.random.default_rng(budget.seed)
    settings = [(1e-4, 0.1), (1e-3, 0.01), (0.5, 1e-6)]
    for _ in range(min(budget.cases, 200)):
        logs = generator.uniform([-5.0, -8.0], [0.0, -0.31])
        settings.append(tuple((10.0**logs).tolist()))
    for epsilon, delta in settings:
        claimed = _least_error(epsilon=epsilon, delta=delta)
        yield claimed, _uniform_error(delta), f"uniform noise, {epsilon=!r}, {delta=!r}"
        # TLap, whose delta at epsilon is known exactly.
        support = truncated_laplace_support(epsilon, delta)
        exact = truncated_laplace_delta(epsilon, delta)
        if 0.0 < exact < 1.0:
            claimed = _least_error(epsilon=epsilon, delta=exact)
            yield claimed, support, f"TLap({epsilon!r}, {delta!r}), delta {exact!r}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="CL-Cor1-printed",
        source=f"{_PAPER}, Corollary 1 and its proof",
        statement="s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) is never "
        "below g.",
        kind="utility",
        relation=None,
        evaluate=_below,
        check=at_most(_released_bounds(1.0, 0)),
        holds=False,
        erratum="CL-E8",
        correction="The offset is 2 log(2/delta)/epsilon: CL-Cor1.",
    ),
    Claim(
        id="CL-Cor1",
        source=f"{_PAPER}, Corollary 1, corrected",
        statement="s = g + 2 log(2/delta)/epsilon + TLap(epsilon/2, delta/2) is never "
        "below g.",
        kind="utility",
        relation=None,
        evaluate=_below,
        check=at_most(_released_bounds(2.0, 100), tolerance=1e-14),
        erratum="CL-E8",
    ),
    Claim(
        id="CL-Cor1-constant-printed",
        source=f"{_PAPER}, proof of Corollary 1",
        statement="s <= g + 4 log(1/delta)/epsilon, with the printed offset.",
        kind="utility",
        relation=None,
        evaluate=_added_printed,
        check=at_most(_additions(_added_printed, 1.0, 0)),
        holds=False,
        erratum="CL-E8",
        correction="s <= g + 8 log(1/delta)/epsilon with the corrected offset: "
        "CL-Cor1-constant.",
    ),
    Claim(
        id="CL-Cor1-constant",
        source=f"{_PAPER}, proof of Corollary 1, corrected",
        statement="s <= g + 8 log(1/delta)/epsilon for delta <= 1/2, with the offset 2 "
        "log(2/delta)/epsilon.",
        kind="utility",
        relation=None,
        evaluate=_added,
        check=at_most(_additions(_added, 2.0, 100)),
        erratum="CL-E8",
    ),
    Claim(
        id="CL-Thm5-step-delta-printed",
        source=f"{_PAPER}, proof of Theorem 5",
        statement="With inner delta delta^2/10 and beta = delta/10, the selected "
        "vector is (epsilon, delta/5)-DP by Theorem 4.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_fifth,
        check=at_most(_selected(10.0, 0)),
        holds=False,
        erratum="CL-E9",
        correction="T delta^2/10 is 2 delta; take delta^2/105: CL-Thm5-step-delta.",
    ),
    Claim(
        id="CL-Thm5-step-delta",
        source=f"{_PAPER}, proof of Theorem 5, corrected",
        statement="With inner delta delta^2/105 and beta = delta/10, the selected "
        "vector is (epsilon, delta/5)-DP by Theorem 4.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_fifth,
        check=at_most(_selected(105.0, 200), tolerance=1e-15),
        erratum="CL-E9",
    ),
    Claim(
        id="CL-Thm5-delta",
        source=f"{_PAPER}, Theorem 5, corrected",
        statement="With inner delta delta^2/105 and beta = delta/10, delta adds up to "
        "at most delta for epsilon <= 1.",
        kind="privacy",
        relation=Relation.GENERAL,
        evaluate=_whole,
        check=at_most(_whole_cases, tolerance=1e-15),
        erratum="CL-E9",
    ),
    Claim(
        id="CL-Rem1-printed",
        source=f"{_PAPER}, Remark 1 and footnote 4",
        statement="An (epsilon, delta)-DP answer to one query whose error never "
        "exceeds e has e >= log(1/delta)/(10 epsilon).",
        kind="utility",
        relation=None,
        evaluate=_least_error_printed,
        check=at_least(_small_errors),
        holds=False,
        erratum="CL-E17",
        correction="Group privacy gives less where epsilon << delta log(1/delta): "
        "CL-Rem1.",
    ),
    Claim(
        id="CL-Rem1",
        source=f"{_PAPER}, Remark 1 and footnote 4, corrected",
        statement="An (epsilon, delta)-DP answer to one query whose error never "
        "exceeds e has e >= (log(1 + (e^epsilon - 1)/delta)/epsilon - 1)/2.",
        kind="utility",
        relation=None,
        evaluate=_least_error,
        check=at_least(_all_errors),
        erratum="CL-E17",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="CL-E8",
        source=f"{_PAPER}, Corollary 1 and its proof",
        kind="statement",
        printed="s = g + 2 log(1/delta)/epsilon + TLap(epsilon/2, delta/2) bounds ||f "
        "- f~||_2 with probability 1; C_2 = max(4 C_1, 4).",
        correct="The noise reaches -2 log(2/delta)/epsilon, so s < g with probability "
        "(delta/4)/(1 - delta/2). Use the offset 2 log(2/delta)/epsilon; then s <= g "
        "+ 8 log(1/delta)/epsilon for delta <= 1/2. The norm is the maximum norm.",
        refuted=("CL-Cor1-printed", "CL-Cor1-constant-printed"),
        corrected=("CL-Cor1", "CL-Cor1-constant"),
    ),
    Erratum(
        id="CL-E9",
        source=f"{_PAPER}, Theorem 5: introduction and proof",
        kind="proof",
        printed="Inner privacy (epsilon/3, delta^2/10) and beta = delta/10 give "
        "(epsilon, delta/5). Display in the introduction: log(1/delta) inside the "
        "root.",
        correct="T = ceil(20/delta), so T delta^2/10 is 2 delta. With delta^2/105 all "
        "parts add up to at most delta. log(1/delta) stands outside the root, as in "
        "Section 3.2; inside, the bound would contradict Remark 1 for one query.",
        refuted=("CL-Thm5-step-delta-printed",),
        corrected=("CL-Thm5-step-delta", "CL-Thm5-delta"),
    ),
    Erratum(
        id="CL-E17",
        source=f"{_PAPER}, Remark 1 and footnote 4",
        kind="statement",
        printed="An error of log(1/delta)/(10 epsilon) is necessary for accuracy with "
        "probability one, for one query.",
        correct="Only for epsilon of at least order delta log(1/delta): uniform noise "
        "on +-1/(2 delta) is (0, delta)-DP.",
        refuted=("CL-Rem1-printed",),
        corrected=("CL-Rem1",),
    ),
)
