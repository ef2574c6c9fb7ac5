"""The Gaussian base of Figures 2 to 4 of Papernot & Steinke 2022, and orders on its runs.

One run releases Y ~ N(0, 1) on the data and Y ~ N(shift, 1) on the neighbour, which is
exactly rho-zCDP: every Renyi divergence meets the bound that the paper's theorems start
from. What tuning adds depends on which outputs the score prefers. Two orders:

  natural: a larger output is better;
  two blocks: outputs above a cut come first, then the smaller the better. The first
    block is likelier on the neighbour, so that a small output survives less often there,
    which adds to the privacy loss that it has anyway.

Only the bin of the released number is observed, which is post-processing, so the loss of
bins is a lower bound on that of the mechanism. Float64 on the host.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import special

from jaxsel.accounting.numerics.optimise import minimise
from jaxsel.host.errors import InputError
from jaxsel.language.domains import positive
from jaxsel.repetitions import Repetitions, from_mean
from sims.common.tuned_laws import RHO

SIDES = {"data": 0, "neighbour": 1}
_LEVELS = 12  # bins in each tail of the natural order
_BLOCK_LEVELS = 20  # edges in the second block
_FIRST_BLOCK = 8  # bins in the first block
_EXPECTED = 256  # expected count of the rarest bin on its rarer side
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def law_of(name: str, mean: float) -> Repetitions:
    """The law of K with this mean: "naive", "poisson", or "eta=" and a number."""
    if name == "naive":
        return from_mean("point_mass", mean)
    if name == "poisson":
        return from_mean("poisson", mean)
    eta = float(name.removeprefix("eta="))
    return from_mean("truncated_negative_binomial", mean, eta=eta)


def _root(increasing: Callable[[np.ndarray], np.ndarray], targets) -> np.ndarray:
    """The outputs at which an increasing function equals each target, by bisection."""
    low = np.full(np.shape(targets), -38.0)
    high = -low
    for _ in range(64):
        middle = 0.5 * (low + high)
        below = increasing(middle) < targets
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def _masses(trials: int, largest: float, count: int) -> np.ndarray:
    """Tail masses from one that expects ``_EXPECTED`` counts up to ``largest``."""
    return np.geomspace(min(_EXPECTED / trials, largest / 2.0), largest, count)


# --- natural order --------------------------------------------------------------------


def natural_law(
    law: Repetitions, edges: npt.ArrayLike, shift: float, *, below: bool = False
) -> np.ndarray:
    """Law of the bin of the released number in the natural order.

    Args:
      law: law of K.
      edges: increasing edges of the bins.
      shift: mean of one run's output.
      below: return P(released < edge) at each edge instead.

    Returns:
      The probability of each bin in increasing order; last, that nothing is released.
    """
    z = np.asarray(edges, dtype=np.float64) - shift
    # f(x) - f(0), computed from the side on which it does not cancel
    lower = law.pgf(special.ndtr(z)) - law.probability_zero
    if below:
        return lower
    upper = law.pgf_gap(special.ndtr(-z))
    bins = np.where(z[1:] < 0, np.diff(lower), -np.diff(upper))
    return np.concatenate([lower[:1], bins, upper[-1:], [law.probability_zero]])


# --- two blocks -----------------------------------------------------------------------


def two_block_masses(
    law: Repetitions, cut: npt.ArrayLike, outputs: npt.ArrayLike, shift: float
) -> np.ndarray:
    """P(released <= output) for outputs up to the cut, in the two-block order."""
    first = special.ndtr(shift - np.asarray(cut))
    better = np.minimum(first + special.ndtr(np.asarray(outputs) - shift), 1.0)
    gap, rest = law.pgf_gap, law.pgf_tail
    near_best = gap(better) < rest(first)
    return np.where(near_best, gap(better) - gap(first), rest(first) - rest(better))


def two_block_law(edges: npt.ArrayLike, cut: float, shift: float) -> np.ndarray:
    """Law of the bin that contains the output of ONE run, best bin first.

    Args:
      edges: strictly increasing edges of the bins, the cut among them.
      cut: bins above it come first, the highest best; then those below, the lowest best.
      shift: mean of the run's output.
    """
    edges = np.asarray(edges, dtype=np.float64)
    if np.any(np.diff(edges) <= 0) or cut not in edges:
        raise InputError("edges must be strictly increasing and contain the cut")
    tail = special.ndtr(shift - edges[edges >= cut][::-1])
    below = special.ndtr(edges[edges <= cut] - shift)
    first, second = np.diff(tail, prepend=0.0), np.diff(below, prepend=0.0)
    return np.concatenate([first, second])


# --- exact divergences of the released number itself ----------------------------------


def _log_density(law: Repetitions, y: np.ndarray, shift: float, cut: float | None):
    """log density of the released number: Q(y) f'(1 - u), u the mass of better ones."""
    z = y - shift
    log_q = -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)
    if cut is None and law.family == "point_mass":
        # f' vanishes at 0, where 1 - u would round to 0
        count = law.parameters["count"]
        return log_q + math.log(count) + (count - 1.0) * special.log_ndtr(z)
    u = special.ndtr(-z)
    if cut is not None:
        block = special.ndtr(shift - cut) + special.ndtr(z)
        u = np.where(y >= cut, u, np.minimum(block, 1.0))
    return log_q + law.log_pgf_derivative_tail(u)


def _renyi(order, first, second, log_weight, none: float) -> np.ndarray:
    a = order[:, None]
    with np.errstate(invalid="ignore"):
        log_terms = a * first + (1.0 - a) * second + log_weight
    log_terms = np.where(np.isneginf(first), -np.inf, log_terms)
    moment = np.logaddexp(np.asarray(special.logsumexp(log_terms, axis=1)), none)
    return moment / (order - 1.0)


# --- both sides -----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class GaussianPair:
    """The laws of one run on the data and on the neighbour; the pair is exactly rho-zCDP."""

    rho: Annotated[float, positive("zCDP of one run")] = RHO

    @property
    def shift(self) -> float:
        """Mean of one run on the neighbour."""
        return math.sqrt(2.0 * self.rho)

    @property
    def sides(self) -> tuple[float, float]:
        """Mean of one run on the data and on the neighbour."""
        return 0.0, self.shift

    def natural_edges(self, law: Repetitions, trials: int) -> np.ndarray:
        """Edges of bins of the released number that are fine where the two sides differ most.

        Small outputs are rarer on the neighbour, large ones on the data. At either end the
        rarest bin expects 256 counts on the side where it is rarer. The edges depend on exact
        laws alone.

        Args:
          law: law of K.
          trials: number of trials on each side.

        Returns:
          Increasing edges; their number does not depend on the law.
        """
        masses = _masses(trials, 0.5, _LEVELS)
        low = _root(lambda y: natural_law(law, y, self.shift, below=True), masses)
        high = _root(lambda y: -law.pgf_gap(special.ndtr(-y)), -masses)
        return np.sort(np.concatenate([low, high]))

    def two_block_cut(self, law: Repetitions, order: float = 10.0) -> float:
        """The cut at which Lemma 7 of Papernot & Steinke 2022 attains its supremum.

        It maximises log(f'(q)^a f'(q')^(1 - a)), where q and q' are the masses below the cut
        on either side and a is the order. The divergence of the tuned pair then comes close
        to the lemma's bound.
        """

        def negative(cut: np.ndarray) -> np.ndarray:
            first = law.log_pgf_derivative_tail(special.ndtr(-cut))
            second = law.log_pgf_derivative_tail(special.ndtr(self.shift - cut))
            return (order - 1.0) * second - order * first

        return float(minimise(negative, -8.0, 8.0)[0])

    def two_block_edges(self, law: Repetitions, cut: float, trials: int) -> np.ndarray:
        """Increasing edges of bins of the released number, the cut among them.

        Below the cut the bins are fine towards the outputs of largest loss. The rarest of
        them expects 256 counts on the neighbour, where it is rarer. Above the cut the bins
        split the mass of one run evenly.
        """
        total = float(two_block_masses(law, cut, cut, self.shift))
        masses = _masses(trials, 0.97 * total, _BLOCK_LEVELS)
        below = _root(lambda y: two_block_masses(law, cut, np.minimum(y, cut), self.shift), masses)
        parts = np.arange(_FIRST_BLOCK - 1, 0, -1) / _FIRST_BLOCK
        above = -special.ndtri(special.ndtr(-cut) * parts)
        return np.concatenate([below, [cut], above])

    def best_block(
        self, law: Repetitions, value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> tuple[float, float, float]:
        """The cut, and the event "released <= end", for which a value is largest.

        Args:
          law: law of K.
          value: (probability of the event on the data, on the neighbour) -> what to maximise,
            element by element; NaN counts as least.

        Returns:
          The value, the cut and the end, where end <= cut. They are found on a grid that is
          refined three times around its best point.
        """
        best = (-math.inf, 0.0, 0.0)
        middle, reach = (1.5, -2.0), (5.5, 6.0)
        for _ in range(4):
            cut = (middle[0] + reach[0] * np.linspace(-1.0, 1.0, 23))[:, None]
            end = np.minimum(middle[1] + reach[1] * np.linspace(-1.0, 1.0, 31), cut)
            masses = [two_block_masses(law, cut, end, shift) for shift in self.sides]
            values = np.nan_to_num(value(*masses), nan=-np.inf, neginf=-np.inf)
            i, j = np.unravel_index(np.argmax(values), values.shape)
            if values[i, j] > best[0]:
                best = (float(values[i, j]), float(cut[i, 0]), float(end[i, j]))
            middle, reach = best[1:], (reach[0] / 8.0, reach[1] / 10.0)
        return best

    def two_block_epsilon(self, law: Repetitions, delta: float) -> float:
        """Exact epsilon at delta of the worst two-block order: log((P(E) - delta)/P'(E)).

        E is the event "released <= end", with the best cut and end. The result is therefore a
        lower bound on the epsilon of every algorithm that covers all orders.
        """

        def epsilon(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.log(np.maximum(first - delta, 0.0)) - np.log(second)

        return max(self.best_block(law, epsilon)[0], 0.0)

    def tuned_renyi(
        self, order: npt.ArrayLike, law: Repetitions, cut: float | None = None
    ) -> np.ndarray:
        """Exact Renyi divergences of the best of K Gaussian runs, data against neighbour.

        They are computed by quadrature of A(y) = Q(y) f'(Q(worse than y)) (Koskela, Redberg &
        Wang 2024, Theorem B.2), to which the outcome "nothing" is added.

        Args:
          order: > 1, up to 64, one-dimensional.
          law: law of K.
          cut: the cut of the two-block order; None for the natural order.

        Returns:
          Float64[2, "order"]: D(A || A') and D(A' || A). In the natural order the second is
          also D(A || A') when smaller outputs are better instead, by symmetry.
        """
        order = np.asarray(order, dtype=np.float64)
        middle = 0.0 if cut is None else cut
        # The integrand peaks within order * shift of 0 and has the width of a Gaussian.
        edges = np.concatenate(
            [np.linspace(-40.0, middle, 161), np.linspace(middle, 40.0, 161)[1:]]
        )
        half = np.diff(edges)[:, None] / 2.0
        y = (edges[:-1, None] + half * (1.0 + _NODES)).ravel()
        log_weight = np.log((half * _WEIGHTS).ravel())
        with np.errstate(divide="ignore"):
            first, second = (_log_density(law, y, shift, cut) for shift in self.sides)
        none = math.log(law.probability_zero) if law.probability_zero > 0 else -math.inf
        return np.stack(
            [_renyi(order, a, b, log_weight, none) for a, b in ((first, second), (second, first))]
        )
