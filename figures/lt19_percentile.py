"""Liu & Talwar 2019, section 4: where the percentile sparse vectors halt.

One trial is one run of an algorithm, on a ladder of rising shares or on a stream of equal
shares. A query's share is the probability that one run of its base reaches its threshold.
"""

import dataclasses
import math
from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.families.percentile.extended_above_threshold import extended_above_threshold
from jaxsel.families.percentile.find_threshold import find_percentile_threshold
from jaxsel.families.percentile.percentile_above_threshold import percentile_above_threshold
from jaxsel.families.percentile.settings import PercentileTest, algorithm_4, algorithm_5
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Liu & Talwar 2019, section 4: where the percentile sparse vectors halt"
SECONDS = 29
TRIALS = 200_000
QUERIES = Annotated[int, whole("of a stream of equal shares", at_least=1)]
LADDER = np.linspace(-8.0, 5.0, 27)  # log-odds of the shares, one query each
MECHANISMS = {
    "Algorithm 3": percentile_above_threshold(),
    "Algorithm 4": extended_above_threshold(),
    "Algorithm 5": find_percentile_threshold(),
}
_NAMES = {
    "Algorithm 3": "Algorithm 3: the chance is known",
    "Algorithm 4": "Algorithm 4: N fresh runs a query",
    "Algorithm 5": "Algorithm 5: the same N runs, bar lowered by Λ",
}
_LOOKS = {
    "Algorithm 3": style.own(style.BLUE, "-", "o"),
    "Algorithm 4": style.own(style.ORANGE, "-", "s"),
    "Algorithm 5": style.own(style.GREEN, "-", "^"),
}


@dataclasses.dataclass(frozen=True)
class Budget:
    """Privacy budget and failure probability of the algorithms, at epsilon_3 = 1."""

    base: Annotated[float, positive("epsilon_1, of one run")] = 0.1
    slack: Annotated[float, positive("epsilon_0")] = 0.1
    delta: Annotated[float, probability("delta in all")] = 1e-6
    beta: Annotated[float, probability("of a failure")] = 0.1

    def test(self, name: str, queries: int) -> PercentileTest:
        """The corrected settings of Algorithm 4 or 5."""
        shared = {
            "beta": self.beta,
            "slack": self.slack,
            "base_epsilon": self.base,
            "delta": self.delta,
            "corrected": True,
        }
        if name == "Algorithm 4":
            return algorithm_4(queries=queries, **shared)
        return algorithm_5(thresholds=queries, **shared)

    def trial(self, name: str, log_odds: np.ndarray) -> Trial:
        """A trial of an algorithm on queries with these log-odds."""
        if name == "Algorithm 3":
            params = {"target": 0.5, "base_epsilon": self.base, "final_epsilon": 1.0}
        else:
            params = self.test(name, log_odds.size)._asdict()
        return Trial(MECHANISMS[name], 1.0 / (1.0 + np.exp(-log_odds)), params)


@cells(measures=["counts", "frequency"])
def ladder(algorithm: str = over(*MECHANISMS), budget: Budget = Budget()) -> Trial:
    """An algorithm on rising shares."""
    return budget.trial(algorithm, LADDER)


@cells(measures=["counts", "frequency"])
def equal(
    algorithm: str = over(*MECHANISMS),
    log_odds: Annotated[float, number("of the equal shares")] = over(
        *np.linspace(-10.0, 6.0, 9).tolist()
    ),
    queries: QUERIES = 10,
    budget: Budget = Budget(),
) -> Trial:
    """An algorithm on streams of equal shares."""
    return budget.trial(algorithm, np.full(queries, log_odds))


def law(name: str, log_odds: np.ndarray, budget: Budget = Budget()) -> np.ndarray:
    """Exact law of where an algorithm halts, on queries with these log-odds."""
    exact = MECHANISMS[name].law
    assert exact is not None
    return exact(*budget.trial(name, log_odds)[1:3]).probabilities


def bounds(
    name: str, log_odds: np.ndarray, queries: int = 10, budget: Budget = Budget()
) -> dict[str, np.ndarray]:
    """Failure probabilities at equal shares, by solving Theorem 4.1 or 4.4 for them.

    "early" is the bound (b) on halting within the stream: beta, where R is the last query.
    "late" is the bound (c) on passing over one query and halting at the next: R = 2. "far" is
    the bound (d), before its correction to a smaller one, on passing over one query.
    """
    shares = 1.0 / (1.0 + np.exp(-log_odds))
    if name == "Algorithm 3":
        above, power, loss, delta = log_odds, 12.0 * budget.base, 0.0, 0.0
    else:
        test = budget.test(name, queries)
        added = test.shift / test.samples
        # log Phi(p) - log Phi(p*), p* = 1/2
        above = np.log((shares + added) / (1.0 - shares + added))
        power, loss, delta = test.exponent, budget.slack, budget.delta
    ratio = {"early": np.exp((above + loss) / power), "far": np.exp((loss - above) / power)}
    return {
        "early": (queries + 1.0) * ratio["early"] + delta / 2.0,
        "late": 3.0 * ratio["far"] + delta / 2.0,
        "far": ratio["far"] + delta / (2.0 * queries),
    }


def _percent(axes: Axes) -> None:
    """Labels an axis of log-odds with shares."""
    shares = [1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99]
    names = ["10⁻⁴", "10⁻³", "0.01", "0.1", "0.5", "0.9", "0.99"]
    axes.set_xticks([math.log(p / (1.0 - p)) for p in shares], names)


def _power(number: float) -> str:
    """A number as text, such as 4.8·10⁹."""
    mantissa, exponent = f"{number:.1e}".split("e")
    digits = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}·10{digits}"


def _halts(found: xr.Dataset, name: str, queries: int) -> xr.Dataset:
    """Where an algorithm halts, query by query; the outcome that it does not halt is left out."""
    asked = "threshold" if name == "Algorithm 5" else "query"
    outcomes = [f"{asked} {number}" for number in range(1, queries + 1)]
    return found.sel(algorithm=name, outcome=outcomes)


def draw(
    ladder: xr.Dataset, equal: xr.Dataset, queries: QUERIES = 10, budget: Budget = Budget()
) -> Canvas:
    """Draws exact laws and bounds as lines, simulated values as points with 95 % intervals."""
    trials, x = ladder.attrs["trials"], equal["log_odds"].values
    dense = np.linspace(x[0], x[-1], 41)
    figure, (rising, early, late) = style.panels(3, width=10.4, height=4.6)
    for name in MECHANISMS:
        look, halts = _LOOKS[name], _halts(ladder, name, LADDER.size)
        style.line(rising, LADDER, halts.frequency_exact, look, label=_NAMES[name])
        style.shares(rising, LADDER, halts.counts, trials, look)
        exact = np.stack([law(name, np.full(queries, at), budget) for at in dense])
        counts = _halts(equal, name, queries).counts
        style.line(early, dense, 1.0 - exact[:, -1], look)
        style.shares(early, x, counts.sum("outcome"), trials, look)
        style.line(late, dense, 1.0 - exact[:, 0], look)
        style.shares(late, x, trials - counts[:, 0], trials, look)
        if name == "Algorithm 5":
            continue
        found = bounds(name, dense, queries, budget)
        theorem = "4.1" if name == "Algorithm 3" else "4.4"
        dashed = {"color": look["color"], "linewidth": 1.1}
        early.plot(
            dense, found["early"], linestyle=(0, (5, 2)), **dashed, label=f"Theorem {theorem} (b)"
        )
        late.plot(
            dense, found["late"], linestyle=(0, (5, 2)), **dashed, label=f"Theorem {theorem} (c)"
        )
        late.plot(dense, found["far"], linestyle=":", **dashed, label=f"Theorem {theorem} (d)")
    for axes in (rising, early, late):
        _percent(axes)
        axes.axvline(0.0, color=style.GREY, linewidth=0.8, linestyle=":")
    rising.set_xlim(LADDER[0] - 0.4, LADDER[-1] + 0.4)
    rising.set(ylim=(0.0, None), xlabel="Share p of the query, on a rising ladder")
    rising.set_ylabel("Chance to halt at that query")
    for axes in (early, late):
        axes.set(yscale="log", ylim=(3e-6, 2.0), xlim=(x[0] - 0.4, x[-1] + 0.4))
    early.set_xlabel("Share p of every query")
    early.set_ylabel(f"Chance to halt within {queries} such queries")
    early.legend(loc="lower right")
    late.set(xlabel="Share p of the query", ylabel="Chance to pass over it")
    late.legend(loc="lower left")
    style.legend_above(figure, rising, 3)
    four, five = (budget.test(f"Algorithm {n}", queries).samples for n in (4, 5))
    return style.captioned(
        figure,
        f"All are (1, {words.power(budget.delta)})-DP, Algorithm 3 purely, over bases "
        f"with ε₁ = {budget.base:g}; target p* = 1/2 (dotted), ε₀ = {budget.slack:g}, "
        f"β = {budget.beta:g}. N = {_power(four)} (Algorithm 4) and {_power(five)} "
        f"(Algorithm 5) at {queries} queries, Λ and Δ as corrected (LT-E4 to LT-E9); a "
        "count of N runs is one binomial draw. Theorems are read jointly with halting "
        f"(LT-E1 to LT-E3). {words.exact_and_seen(trials, 'simulated runs')}",
    )
