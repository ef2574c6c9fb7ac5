"""Selecting the size with other noises: Theorem 8 and Corollary 9 of Zhu & Wang 2022."""

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval
from jaxsel.families.noisy_max.laws import noisy_max_law
from jaxsel.families.top_k.claims.instances import Sides, renyi_rows, worst_row
from jaxsel.families.top_k.claims.neighbours import gaps_of, neighbours
from jaxsel.families.top_k.curves import noisy_gap_renyi

_PAPER = "Zhu & Wang 2022"
_ORDERS = (1.1, 2.0, 5.0, 30.0)


def _theorem_8(
    *, order: float = 2.0, noise_scale: float = 4.0, candidates: int = 4
) -> float:
    """Renyi bound of the size selected with Laplace noise.

    That of the Laplace mechanism for a shift by 2, plus log(candidates)/(order - 1).

    Args:
      order: in (1, inf).
      noise_scale: of the Laplace noise on each gap, > 0.
      candidates: m, >= 2.
    """
    order = check_interval("order", order, 1.0, math.inf)
    return float(noisy_gap_renyi(order, "laplace", noise_scale, candidates))


def _corollary_9(
    *, order: float = 2.0, noise_scale: float = 4.0, candidates: int = 4
) -> float:
    """Renyi bound of the size selected with Gaussian noise.

    2 order/noise_scale^2 + log(candidates)/(order - 1).

    Args:
      order: in (1, inf).
      noise_scale: standard deviation of the noise on each gap, > 0.
      candidates: m, >= 2.
    """
    order = check_interval("order", order, 1.0, math.inf)
    return float(noisy_gap_renyi(order, "gaussian", noise_scale, candidates))


def _unknown_domain(
    *, order: float = 2.0, noise_scale: float = 4.0, max_size: int = 2
) -> float:
    """The same where only sizes up to ``max_size`` may be selected, whatever m.

    2 order/noise_scale^2 + log(max_size)/(order - 1).

    Args:
      order: in (1, inf).
      noise_scale: standard deviation of the noise on each gap, > 0.
      max_size: k-bar, >= 2.
    """
    return _corollary_9(order=order, noise_scale=noise_scale, candidates=max_size)


@functools.cache
def _gap_law(gaps: tuple[float, ...], noise: str, scale: float) -> np.ndarray:
    return noisy_max_law(np.array(gaps) / scale, noise)


def _noisy_gap_cases(
    noise: str, max_size: int | None = None
) -> Callable[[Budget], Iterator[Case]]:
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
            for data, other, pairs in (
                (*laws, (first, second)),
                (*laws[::-1], (second, first)),
            ):
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


CLAIMS = (
    Claim(
        id="ZW-Thm8",
        source=f"{_PAPER}, Theorem 8 for Laplace noise",
        statement=(
            "The size selected with Laplace noise on the gaps has at most the Renyi "
            "divergence of that noise for a shift by 2, plus log(m)/(a - 1)."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_theorem_8,
        check=at_most(_noisy_gap_cases("laplace")),
    ),
    Claim(
        id="ZW-Cor9",
        source=f"{_PAPER}, Corollary 9",
        statement=(
            "The size selected with N(0, s^2) on the gaps has Renyi divergence at most "
            "2 a/s^2 + log(m)/(a - 1)."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_corollary_9,
        check=at_most(_noisy_gap_cases("gaussian")),
    ),
    Claim(
        id="ZW-Cor9-unknown-domain",
        source=f"{_PAPER}, Section 3.1, on an unknown domain",
        statement=(
            "With sizes restricted to 1, ..., k-bar, k-bar takes the place of m."
        ),
        kind="privacy",
        relation=Relation.MONOTONE,
        evaluate=_unknown_domain,
        check=at_most(_noisy_gap_cases("gaussian", max_size=2)),
    ),
)
