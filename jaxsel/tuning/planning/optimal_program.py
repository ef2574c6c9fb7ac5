"""The law of K of least delta at an epsilon, by a linear program with cuts and columns.

Unknown are the probabilities w_k of some counts and, for each cell of loss, its part tau of
the envelope's delta. A cut (cell, x) says tau >= p a(x) - e^epsilon p' b(x), linear in w.
Cuts and counts are added until none is missing; the multipliers of the cuts give a lower
bound on delta for every law of K (optimal_certificate).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse

from jaxsel.host.errors import InputError
from jaxsel.tuning.planning.linear_wishes import Row
from jaxsel.tuning.planning.optimal_certificate import Functional, searched_counts
from jaxsel.tuning.planning.optimal_sides import BestPoints, Side, powers

_TIGHT = 1e-9  # margin by which wishes are met, so that rounding violates none
_TOLERANCE = 1e-9
_UNSEEN = 1e-9  # of delta: tolerance for the part of a cell
_ROUNDS = 60
_MANY = 500  # rows of a program
_LARGE = 1e4  # largest entry of a row
_INFEASIBLE = 2  # a status of linprog


class Cuts(NamedTuple):
    """The cuts of one direction that are in the program.

    Attributes:
      cell, point: Int[np.ndarray, "cuts"], indices in the side.
    """

    cell: np.ndarray
    point: np.ndarray


class Solved(NamedTuple):
    """A solution of the program at one epsilon.

    Attributes:
      epsilon: of the program.
      counts, weights: the law found.
      value: least delta over the cells and cuts; at most the least over all.
      functional: the lower bound on delta for every law, from the multipliers.
      objective: the minimum of the program: ``value`` plus the tie-breaking term.
    """

    epsilon: float
    counts: np.ndarray
    weights: np.ndarray
    value: float
    functional: Functional
    objective: float


class _Kept(NamedTuple):
    """What was computed of the last law in one direction."""

    law: tuple[bytes, bytes]
    first: np.ndarray
    second: np.ndarray
    best: BestPoints


class Program:
    """The program of one base and one set of wishes, which keeps its cuts and counts."""

    def __init__(
        self,
        sides: Sequence[Side],
        wishes: Sequence[Row],
        delta: float,
        most: int | None,
        counts: np.ndarray,
        law: tuple[np.ndarray, np.ndarray],
    ):
        """Args:
        sides: directions.
        wishes: inequalities.
        delta: unit of what is minimised.
        most: largest count, None if there is none.
        counts: to start with.
        law: counts and weights; its own best cuts are the first.
        """
        self.sides, self.wishes = tuple(sides), tuple(wishes)
        self.delta, self.most = delta, most
        self.counts = np.unique(np.asarray(counts, dtype=np.float64))
        # The same counts are searched, regardless of those removed in between.
        self._searched = np.union1d(searched_counts(most), self.counts)
        self._cuts: list[Cuts] = []
        self._start = law
        self._kept: dict[int, _Kept] = {}  # by side

    def value(self, epsilon: float, counts: np.ndarray, weights: np.ndarray) -> float:
        """D of a law over the cells, in the larger direction."""
        found = [
            float(np.sum(part)) + each.singular * float(counts @ weights)
            for each in self.sides
            for part in [self._best(each, epsilon, counts, weights)[1]]
        ]
        return max(found)

    def _best(
        self, each: Side, epsilon: float, counts: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each cell the x with the largest contribution, and that contribution."""
        # e^epsilon p'/p, so that each cell's mass p is a factor.
        point, most = self._kept_of(each, counts, weights).best.at(np.exp(epsilon - each.loss))
        return point, each.mass * np.maximum(most, 0.0)

    def _kept_of(self, each: Side, counts: np.ndarray, weights: np.ndarray) -> "_Kept":
        """f'(1 - x) and f'(1 - T(x)) of a law, cached for the last law."""
        law = counts.tobytes(), weights.tobytes()
        kept = self._kept.get(id(each))
        if kept is None or kept.law != law:
            used = weights != 0.0  # a few of the counts
            counts, weights = counts[used], weights[used]
            first, second = powers(each.x, counts) @ weights, powers(each.other, counts) @ weights
            kept = self._kept[id(each)] = _Kept(law, first, second, BestPoints(first, second))
        return kept

    def restricted(self, counts: np.ndarray) -> "Program":
        """The same program for laws on these counts."""
        found = Program(self.sides, self.wishes, self.delta, self.most, counts, self._start)
        found._cuts = list(self._cuts)
        return found

    def solve(
        self, epsilon: float, accuracy: float, *, columns: bool = True, tie: float = 0.0
    ) -> Solved:
        """Least delta at an epsilon; adds cuts and counts until ``accuracy`` is reached.

        Args:
          epsilon: >= 0.
          accuracy: largest relative contribution of missing cuts to delta.
          columns: whether counts are added.
          tie: weight of E[log(1 + K)^2] in units of delta: among laws of equal delta the
            least spread one is chosen.

        Raises:
          InputError: if the wishes leave no law.
        """
        if not self._cuts:
            self._cuts = [
                # Without a cut a cell's part of delta would be 0, and the first law far from any
                # good one.
                Cuts(np.arange(each.loss.size), self._best(each, epsilon, *self._start)[0])
                for each in self.sides
            ]
        tie *= self.delta
        solved = self._solve(epsilon, tie)
        for _ in range(_ROUNDS):
            least = accuracy * max(solved.value, self.delta)
            # Both in one round, since each costs a solution.
            over = self._cut(solved)
            # Missing cuts and missing counts add up in the gap: a third for these.
            priced = columns and self._price(solved, 0.3 * least, tie)
            if over <= least and not priced:
                break
            solved = self._solve(epsilon, tie)
        if columns and solved.value <= 10.0 * self.delta:
            self._forget(solved)
        return solved

    def _forget(self, solved: Solved) -> None:
        """Removes cuts and counts that are far from active, to keep the program small."""
        dear = solved.functional.value(self.counts) > 0.2 * max(solved.value, self.delta)
        used = np.isin(self.counts, solved.counts[solved.weights > 0.0])
        self.counts = self.counts[used | ~dear]
        for place, each in enumerate(self.sides):
            cuts = self._cuts[place]
            gain = self._gain(each, cuts, solved)
            best = np.zeros(each.loss.size)
            np.maximum.at(best, cuts.cell, gain)
            near = gain >= best[cuts.cell] - 1e-3 * self.delta
            self._cuts[place] = Cuts(cuts.cell[near], cuts.point[near])

    def _gain(self, each: Side, cuts: Cuts, solved: Solved) -> np.ndarray:
        """The lower bound of each cut on its cell's part, for the law found."""
        _, first, second, _ = self._kept_of(each, solved.counts, solved.weights)
        ratio = np.exp(solved.epsilon - each.loss[cuts.cell])
        return each.mass[cuts.cell] * (first[cuts.point] - ratio * second[cuts.point])

    def _cut(self, solved: Solved) -> float:
        """Adds the most violated cut of every cell; returns the sum of the violations."""
        over = 0.0
        for place, each in enumerate(self.sides):
            point, part = self._best(each, solved.epsilon, solved.counts, solved.weights)
            cuts = self._cuts[place]
            known = np.zeros(each.loss.size)
            np.maximum.at(known, cuts.cell, self._gain(each, cuts, solved))
            # Violations below the solver's tolerance would be added for ever.
            new = part > known + _UNSEEN * self.delta
            over = max(over, float(np.sum((part - known)[new])))
            self._cuts[place] = Cuts(
                np.append(cuts.cell, np.flatnonzero(new)), np.append(cuts.point, point[new])
            )
        return over

    def _price(self, solved: Solved, least: float, tie: float) -> bool:
        """Adds the counts that violate the bound for every law; returns whether there are any."""
        found = solved.functional
        counts = self._searched
        below = found.value(counts) + tie * _spread(counts) - solved.objective
        # Neighbouring counts have nearly equal columns: one of a dip serves for all.
        dips = np.flatnonzero(
            (below < -least)
            & (below <= np.append(np.inf, below[:-1]))
            & (below <= np.append(below[1:], np.inf))
        )
        new = np.setdiff1d(counts[dips], self.counts)
        self.counts = np.union1d(self.counts, new)
        return new.size > 0

    def _solve(self, epsilon: float, tie: float) -> Solved:
        counts, sides = self.counts, self.sides
        size, cells = counts.size, [each.loss.size for each in sides]
        # Entries of a column grow with k; those of k w_k are of one size, from 1 run to 10^7.
        runs = np.maximum(counts, 1.0)
        # Unknowns: k w_k, the parts of all cells, and delta; in units of delta.
        starts = size + np.cumsum([0, *cells])
        total = int(starts[-1]) + 1
        tables, bounds, blocks = [], [], []
        for place, (each, cuts) in enumerate(zip(sides, self._cuts, strict=True)):
            scale = each.mass[cuts.cell] / self.delta
            ratio = np.exp(epsilon - each.loss[cuts.cell])
            table = (scale[:, None] / runs) * (
                powers(each.x[cuts.point], counts)
                - ratio[:, None] * powers(each.other[cuts.point], counts)
            )
            # Rows of large numbers are scaled, since the solver's tolerance is absolute.
            small = _LARGE / np.maximum(np.max(np.abs(table), axis=1), _LARGE)
            row = np.arange(cuts.cell.size)
            part = sparse.coo_matrix(
                (-small, (row, starts[place] - size + cuts.cell)), shape=(row.size, total - size)
            )
            table = sparse.csr_matrix(small[:, None] * table)
            tables.append(sparse.hstack([table, part]))
            bounds.append(np.zeros(row.size))
            blocks.append(small)
        for place, each in enumerate(sides):
            row = np.zeros(total)
            # Outputs of infinite loss add their mass times E[K], whatever epsilon.
            row[:size] = each.singular / self.delta * counts / runs
            row[starts[place] : starts[place + 1]] = 1.0
            row[-1] = -1.0
            tables.append(sparse.csr_matrix(row))
            bounds.append(np.zeros(1))
        for wish in self.wishes:
            row = np.zeros(total)
            scale = max(wish.most, 1e-6)
            row[:size] = wish.price(counts) / runs / scale
            tables.append(sparse.csr_matrix(row))
            # Each wish in units of its bound, since the solver's tolerance is absolute; a bound of
            # 0 has no unit.
            bounds.append(np.array([wish.most * (1.0 - _TIGHT) / scale]))
        cost = np.zeros(total)
        cost[:size], cost[-1] = tie / self.delta * _spread(counts) / runs, 1.0
        equal = np.zeros(total)
        equal[:size] = 1.0 / runs
        found = _highs(
            cost,
            sparse.csr_matrix(sparse.vstack(tables)),
            np.concatenate(bounds),
            sparse.csr_matrix(equal),
        )
        weights = np.maximum(found.x[:size], 0.0) / runs
        return Solved(
            epsilon,
            counts,
            weights / weights.sum(),
            float(found.x[-1]) * self.delta,
            self._functional(epsilon, -np.asarray(found.ineqlin.marginals), blocks),
            float(found.fun) * self.delta,
        )

    def _functional(
        self, epsilon: float, multipliers: np.ndarray, scales: list[np.ndarray]
    ) -> Functional:
        """The multipliers as a bound for every law, adjusted so that rounding keeps them valid."""
        # Any multipliers >= 0 give a valid bound: what the solver's tolerance left is cut off here,
        # and costs a little of the bound alone.
        multipliers = np.maximum(multipliers, 0.0)
        sizes = [cuts.cell.size for cuts in self._cuts]
        ends = np.cumsum(sizes)
        shares = multipliers[ends[-1] : ends[-1] + len(self.sides)]
        shares = shares / max(shares.sum(), 1e-300)
        points = []
        for place, (each, cuts) in enumerate(zip(self.sides, self._cuts, strict=True)):
            part = multipliers[ends[place] - sizes[place] : ends[place]] * scales[place]
            # The multipliers of a cell sum to at most that of its direction.
            held = np.bincount(cuts.cell, part, minlength=each.loss.size)
            fit = np.minimum(1.0, shares[place] / np.maximum(held, 1e-300))
            part = part * fit[cuts.cell]
            ratio = np.exp(-each.loss[cuts.cell])
            first = np.bincount(cuts.point, part * each.mass[cuts.cell], each.x.size)
            second = np.bincount(cuts.point, part * each.mass[cuts.cell] * ratio, each.x.size)
            # x[0] = 0, where k (1 - x)^(k-1) = k: E[K] of the singular part.
            first[0] += shares[place] * each.singular
            seen = (first > 0.0) | (second > 0.0)
            points.append((each.x[seen], each.other[seen], first[seen], second[seen]))
        wished = multipliers[ends[-1] + len(self.sides) :]
        units = np.array([max(wish.most, 1e-6) for wish in self.wishes])
        x, other, first, second = (np.concatenate(each) for each in zip(*points, strict=True))
        return Functional(
            epsilon,
            x,
            other,
            first,
            second,
            self.wishes,
            wished * self.delta / units if len(self.wishes) else np.zeros(0),
        )


def _spread(counts: np.ndarray) -> np.ndarray:
    """log(1 + k)^2, which breaks ties between laws."""
    return np.log1p(counts) ** 2


def _highs(
    cost: np.ndarray, table: sparse.csr_matrix, bounds: np.ndarray, equal: sparse.csr_matrix
) -> optimize.OptimizeResult:
    """A solution of the linear program, with larger tolerances if necessary.

    Raises:
      InputError: if there is none.
    """
    infeasible = False
    # Both end at a vertex; of many rows the interior point method is there sooner.
    methods = ("highs-ipm", "highs-ds") if bounds.size > _MANY else ("highs-ds", "highs-ipm")
    for tolerance in (_TOLERANCE, 1e-7):
        for method in methods:
            found = optimize.linprog(
                cost,
                A_ub=table,
                b_ub=bounds,
                A_eq=equal,
                b_eq=[1.0],
                method=method,
                options={
                    "primal_feasibility_tolerance": tolerance,
                    "dual_feasibility_tolerance": tolerance,
                },
            )
            if found.status == 0:
                return found
            infeasible = found.status == _INFEASIBLE  # or tolerances are too tight
    if infeasible:
        raise InputError(
            "no law of K was found that meets the wishes with a little to spare; relax one of them"
        )
    raise InputError(
        "the linear program for the law of K was not solved; take a larger delta, or fewer runs"
    )
