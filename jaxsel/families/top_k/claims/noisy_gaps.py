"""Zhu & Wang 2022, Theorem 8 and Corollary 9: selecting the size with other noises."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k.claims.instances import Sides, renyi_rows, worst_row
from jaxsel.families.top_k.claims.neighbours import gaps_of, neighbours
from jaxsel.families.top_k.claims.parameters import Candidates, Deviation, Order, size
from jaxsel.families.top_k.curves import noisy_gap_renyi
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import Case, at_most
from jaxsel.language.domains import whole
from jaxsel.language.papers import ZW

_ORDERS = (1.1, 2.0, 5.0, 30.0)


def _theorem_8(
    *,
    order: Order = 2.0,
    noise_scale: Annotated[float, size("of the noise on each gap")] = 4.0,
    candidates: Candidates = 4,
) -> float:
    """Renyi bound of the size selected with Laplace noise.

    That of the Laplace mechanism for a shift by 2, plus log(candidates)/(order - 1).
    """
    return float(noisy_gap_renyi(order, "laplace", noise_scale, candidates))


def _corollary_9(
    *, order: Order = 2.0, noise_scale: Deviation = 4.0, candidates: Candidates = 4
) -> float:
    """Renyi bound of the size selected with Gaussian noise.

    2 order/noise_scale^2 + log(candidates)/(order - 1).
    """
    return float(noisy_gap_renyi(order, "gaussian", noise_scale, candidates))


def _unknown_domain(
    *,
    order: Order = 2.0,
    noise_scale: Deviation = 4.0,
    max_size: Annotated[int, whole("k-bar", at_least=2)] = 2,
) -> float:
    """The same where only sizes up to ``max_size`` may be selected, whatever m.

    2 order/noise_scale^2 + log(max_size)/(order - 1).
    """
    return _corollary_9(order=order, noise_scale=noise_scale, candidates=max_size)


@functools.cache
def _gap_law(gaps: tuple[float, ...], noise: str, scale: float) -> np.ndarray:
    return noisy_max_law(np.array(gaps) / scale, noise)


def _noisy_gap_cases(noise: str, max_size: int | None = None) -> Callable[[Budget], Iterator[Case]]:
    """All pairs of four candidates with counts up to 3, exact laws by quadrature."""

    def cases(budget: Budget) -> Iterator[Case]:
        del budget
        first, second = neighbours(4, 3)
        for scale in (0.7, 3.0):
            laws = []
            for side in (first, second):
                gaps = gaps_of(side)[:, :max_size]
                rows, index = np.unique(gaps, axis=0, return_inverse=True)
                table = [_gap_law(tuple(row.tolist()), noise, scale) for row in rows]
                laws.append(np.array(table)[index.ravel()])
            for data, other, pairs in ((*laws, (first, second)), (*laws[::-1], (second, first))):
                for order in _ORDERS:
                    setting = {"order": order, "noise_scale": scale}
                    if max_size is not None:
                        claimed = _unknown_domain(**setting, max_size=max_size)
                    else:
                        bound = _corollary_9 if noise == "gaussian" else _theorem_8
                        claimed = bound(**setting, candidates=4)
                    rows = renyi_rows(Sides(data, other), order)
                    seen, where = worst_row(rows, pairs)
                    yield claimed, seen, f"{setting}, {where}"

    return cases


def _gaps(*, order: Order = 2.0, noise_scale: Deviation = 4.0, candidates: Candidates = 3) -> float:
    """The same with one gap less than candidates: only m - 1 gaps compete.

    2 order/noise_scale^2 + log(candidates - 1)/(order - 1).
    """
    bound = noisy_gap_renyi(order, "gaussian", noise_scale, candidates, sharp=True)
    return float(bound)


def _first_gap_wins(histograms: np.ndarray, scale: float) -> np.ndarray:
    """P[the first of two noisy gaps is the larger], for three candidates."""
    gaps = gaps_of(histograms)
    return special.ndtr((gaps[:, 0] - gaps[:, 1]) / (scale * math.sqrt(2.0)))


def _gaps_cases(budget: Budget) -> Iterator[Case]:
    del budget
    first, second = neighbours(3, 5)
    for scale in (1.0, 4.0):
        chances = (_first_gap_wins(first, scale), _first_gap_wins(second, scale))
        pairs = np.unique(np.stack(chances, axis=1), axis=0)
        for p, q in (*pairs.tolist(), *pairs[:, ::-1].tolist()):
            for order in (1.5, 2.0, 8.0, 32.0):
                exact = float(renyi_divergence([p, 1 - p], [q, 1 - q], order))
                claimed = _gaps(order=order, noise_scale=scale)
                yield claimed, exact, f"chances {p!r} -> {q!r}, {order=:g}, {scale=:g}"


STATEMENTS = (
    ZW.privacy(
        "ZW-Thm8-gaps",
        "Theorem 8 and Corollary 9 for the gaps of Algorithm 1",
        "The k that Algorithm 1 selects with Gaussian noise N(0, s^2) on the m - 1 "
        "gaps has Renyi divergence at most 2 a/s^2 + log(m - 1)/(a - 1) at order a.",
        Relation.MONOTONE,
        _gaps,
        at_most(_gaps_cases),
        remark="R-ZW-3",
    ),
    ZW.privacy(
        "ZW-Thm8",
        "Theorem 8 for Laplace noise",
        "The size selected with Laplace noise on the gaps has at most the Renyi "
        "divergence of that noise for a shift by 2, plus log(m)/(a - 1).",
        Relation.MONOTONE,
        _theorem_8,
        at_most(_noisy_gap_cases("laplace")),
    ),
    ZW.privacy(
        "ZW-Cor9",
        "Corollary 9",
        "The size selected with N(0, s^2) on the gaps has Renyi divergence at most 2 "
        "a/s^2 + log(m)/(a - 1).",
        Relation.MONOTONE,
        _corollary_9,
        at_most(_noisy_gap_cases("gaussian")),
    ),
    ZW.privacy(
        "ZW-Cor9-unknown-domain",
        "Section 3.1, on an unknown domain",
        "With sizes restricted to 1, ..., k-bar, k-bar takes the place of m.",
        Relation.MONOTONE,
        _unknown_domain,
        at_most(_noisy_gap_cases("gaussian", max_size=2)),
    ),
)
