"""Claims of Cohen et al. 2022, Section 4.3.1, on updates: what one gains, and how many there are.

The update is that of Dwork & Roth 2014, Theorem 4.10. The number of updates depends on the
learning rate, which Cohen et al. do not name (R-CL-16).
"""

import math

import numpy as np

from jaxsel.families.multiplicative_weights import updates
from jaxsel.families.multiplicative_weights.parameters import Cells, Error, Gap, Rate
from jaxsel.language.papers import CL

# --- Relative entropy -----------------------------------------------------------------


@CL.utility("CL-Thm9-drop", "Section 4.3.1 (Dwork & Roth 2014, Theorem 4.10)")
def drop(*, rate: Rate = 0.1, gap: Error = 0.2) -> float:
    """An update at a query on which the hypothesis h errs by g lowers KL(D || h) by eta g - eta^2
    or more."""
    return updates.entropy_drop(rate, gap)


@CL.utility("CL-Thm9-drop-sharp", "Section 4.3.1, sharpened")
def drop_sharp(*, rate: Rate = 0.8, gap: Error = 0.2) -> float:
    """An update at a query on which the hypothesis h errs by g lowers KL(D || h) by eta g -
    eta^2/8 or more (Hoeffding's lemma), which is attained as g falls."""
    return updates.entropy_drop(rate, gap, sharp=True)


@drop.bounds_below()
@drop_sharp.bounds_below()
def drops(budget):
    for case, generator in enumerate(budget.draws()):
        cells = int(generator.choice([2, 3, 20]))
        shares = generator.dirichlet(np.full(cells, 0.3))
        h = generator.dirichlet(np.ones(cells))
        query = generator.random(cells)
        if case % 2:
            query = np.round(query)
        if case % 5 == 0:
            # Two cells and a small gap, where the sharp bound is met.
            half = np.array([0.5, 0.5])
            shift = float(generator.uniform(1e-3, 0.1))
            h, shares = half, half + np.array([-shift, shift])
            query = np.array([1.0, 0.0])
        error = float(query @ (h - shares))
        best = 4.0 * abs(error) if case % 5 == 0 else generator.uniform(0.01, 3.0)
        # Half of the error, too: the rate at which the bound of Dwork & Roth is largest.
        for rate in (max(best, 1e-3), max(abs(error) / 2.0, 1e-6)):
            # Cells that made h's answer too large lose weight; if it is too small, the others do.
            after = updates.updated(h, query if error > 0.0 else 1.0 - query, rate)
            fall = updates.relative_entropy(shares, h) - updates.relative_entropy(shares, after)
            yield {"rate": rate, "gap": abs(error)}, fall, f"{cells} cells, case {case}"


# --- The number of updates (R-CL-16) ---------------------------------------------------


@CL.utility("CL-Thm9-updates", "Theorem 9 (Dwork & Roth 2014, Theorem 4.10)", remark="R-CL-16")
def most(*, cells: Cells = 512, gap: Gap = 0.1) -> float:
    """From the uniform hypothesis there are at most floor(4 log|X|/g^2) updates at errors of g or
    more, with the learning rate g/2."""
    return float(updates.max_updates(cells, gap))


@CL.utility("CL-Thm9-updates-sharp", "Theorem 9, sharpened", remark="R-CL-16")
def most_sharp(*, cells: Cells = 512, gap: Gap = 0.1) -> float:
    """From the uniform hypothesis there are at most floor(log|X|/(2 g^2)) updates at errors of g
    or more, with the learning rate 4 g."""
    return float(updates.max_updates(cells, gap, sharp=True))


@CL.utility("CL-Sec4.3.1-updates-usual-rate", "Section 4.3.1, at the rate of Dwork & Roth 2014")
def usual_rate(*, cells: Cells = 1000, gap: Gap = 0.9) -> float:
    """There are no more than log|X|/alpha^2 updates at errors of alpha or more with the learning
    rate alpha/2.

    Returns log|X|/alpha^2, the number of Section 4.3.1; alpha is ``gap``.
    """
    return math.log(cells) / gap**2


larger_rate = CL.utility(
    "CL-Sec4.3.1-updates",
    "Section 4.3.1, at a rate that it does not name",
    statement="There are no more than log|X|/alpha^2 updates at errors of alpha or more with the "
    "learning rate 4 alpha.",
    loose="At that rate there are at most log|X|/(2 alpha^2), half of it, by Hoeffding's lemma "
    "(CL-Thm9-updates-sharp, which is attained).",
)(usual_rate.evaluate)


def _count_updates(shares: np.ndarray, gap: float, rate: float) -> int:
    """How many updates there are until no query errs by ``gap``, each at the query of most error.

    Args:
      shares: Float["cells"], of the table.
      gap: the least error at which the hypothesis is updated.
      rate: learning rate.
    """
    h = np.full(shares.size, 1.0 / shares.size)
    count = 0
    while 0.5 * np.abs(shares - h).sum() >= gap:
        h = updates.updated(h, (shares <= h).astype(np.float64), rate)
        count += 1
    return count


@usual_rate.bounds(sharp=False, most=0)
@larger_rate.bounds(sharp=True, most=60)
@most_sharp.bounds(sharp=True, most=60)
def update_counts(budget, sharp, most):
    """Numbers of updates on fixed tables and ``most`` random ones; ``sharp`` has the rate 4 g."""
    point = np.eye(1, 1000)[0]
    settings = [(point, 0.9), (point, 0.5), (np.eye(1, 2)[0], 0.5)]
    for generator in budget.draws(most):
        cells = int(10 ** generator.uniform(0.5, 2.5))
        shares = generator.dirichlet(np.full(cells, 10 ** generator.uniform(-2, 0)))
        settings.append((shares, generator.uniform(0.1, 0.9)))
    for shares, gap in settings:
        seen = _count_updates(shares, gap, updates.learning_rate(gap, sharp=sharp))
        where = f"largest share {shares.max():g}"
        yield {"cells": shares.size, "gap": gap}, float(seen), where


def _count_slow_updates(cells: int, gap: float, rate: float) -> int:
    """How many updates there are if all rows lie in one cell and every update gains little.

    An update gains least if the hypothesis errs by just above ``gap``. So each query is 1 on as
    many of the other cells as hold just above ``gap`` of the hypothesis together, those of the
    largest shares, and 0 elsewhere. The other cells are represented by 1000 groups of equal ones.

    Args:
      cells: |X|.
      gap: the least error at which the hypothesis is updated.
      rate: learning rate.
    """
    h = np.append(1.0 / cells, np.full(1000, (1.0 - 1.0 / cells) / 1000.0))
    count = 0
    while 1.0 - h[0] >= gap:
        order = 1 + np.argsort(-h[1:], kind="stable")
        query = np.zeros(h.size)
        query[order[: 1 + np.searchsorted(np.cumsum(h[order]), gap)]] = 1.0
        h = updates.updated(h, query, rate)
        count += 1
    return count


@most.bounds()
def slow_updates(budget):
    yield from update_counts(budget, sharp=False, most=60)
    cells, gap = 10**15 + 1, 0.5
    seen = _count_slow_updates(cells, gap, updates.learning_rate(gap))
    yield {"cells": cells, "gap": gap}, float(seen), "queries that err by little more than g"


R_CL_16 = CL.remark(
    "R-CL-16",
    "Section 4.3.1",
    "'The number of update rounds is no more than log|X|/alpha^2' names no learning "
    "rate. At the rate alpha/2 of Dwork & Roth there are more; at 4 alpha there are at "
    "most half as many.",
    readings=[usual_rate],
    holds=[larger_rate, "CL-Thm9-updates", "CL-Thm9-updates-sharp"],
)
