"""An analyst who overfits 500 rows, with and without protection.

The population is a real table. Cohen et al. 2022, Theorems 10 and 12, promise answers near
the population's. In one trial the rows are drawn, the analyst asks m random queries and then
the one query that their answers suggest.
"""

import dataclasses
from typing import Annotated, Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas
from scipy import stats

from jaxsel.catalogue import find_claim
from jaxsel.families.multiplicative_weights.adaptive_analysis import PROTECTIONS, adaptive_analysis
from jaxsel.kernel.engine import Performance
from jaxsel.kernel.statistics import combine, moments, read_moments
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells
from sims.data.universe import table

TITLE = "Cohen et al. 2022, section 1.5.1: an analyst who overfits, and what protects"
TRIALS = 128
SECONDS = 23

RANGE = (-2.0, 3.0)  # contains all values, except with probability below 1e-12
NOISE = 0.04  # scale of the Laplace and Gaussian noise that is added without a sparse vector
# The total is 46, for pure DP: 40 for the sparse vector and 6 for 60 answers. With so few
# rows, answers at a smaller epsilon would be useless.
ANSWERS, ANSWER = 60, 0.1  # number of answers, and epsilon of each
VECTOR = 40.0 / ANSWERS  # epsilon of each restarted sparse vector
FAILURES, GAMMA = 60, 1.0
TEST = 40.0 / (2 * FAILURES + GAMMA)  # epsilon of each Test
# The values of an Analysis whose means over trials are drawn.
VALUES = {
    "answer": lambda outcome: outcome.answer,
    "empirical": lambda outcome: outcome.empirical,
    "population": lambda outcome: outcome.population,
    "gap": lambda outcome: outcome.answer - outcome.population,
    "max_error": lambda outcome: outcome.max_error,
}
_PARTS = ("count", "outside", "sum", "square_high", "square_low")

LOOKS = {
    "none": ("Exact answers", style.own(style.ORANGE, "-", "s")),
    "laplace": (f"Laplace noise, scale {NOISE:g}", style.own(style.GREY, "-.", "D")),
    "gaussian": (f"Gaussian noise, scale {NOISE:g}", style.own(style.PURPLE, "--", "^")),
    "weights": ("Multiplicative weights (Theorem 9)", style.own(style.GREEN, "--", "v")),
    "repetitive": (
        "With the repetitive sparse vector (Theorem 11)",
        style.own(style.BLUE, "-", "o"),
    ),
}


@dataclasses.dataclass(frozen=True)
class Sample:
    """Rows from the population, and the mechanisms that answer for them."""

    rows: Annotated[int, whole("drawn from the population", at_least=10)] = 500
    threshold: Annotated[float, positive("of the mechanisms")] = 0.08
    rate: Annotated[float, positive("of learning")] = 0.24

    def settings(self, protection: str) -> dict[str, Any]:
        """Parameters of the mechanism that protects the answers."""
        if protection in ("laplace", "gaussian"):
            return {"noise_scale": NOISE}
        if protection == "none":
            return {}
        weights = {
            "threshold": self.threshold,
            "rate": self.rate,
            "answer_scale": 1.0 / (self.rows * ANSWER),
        }
        if protection == "weights":
            return weights | {
                "max_updates": ANSWERS,
                "threshold_scale": 2.0 / (self.rows * VECTOR),
                "query_scale": 4.0 / (self.rows * VECTOR),
            }
        return weights | {
            "distance": self.threshold / 2.0,
            "gamma": GAMMA,
            "repetitions": 25,
            "max_failures": FAILURES,
            "max_answers": ANSWERS,
            "test_scale": 1.0 / (self.rows * TEST),
        }


@cells(performance=Performance(block_size=32))
def analysed(
    protection: str = over(*PROTECTIONS),
    queries: Annotated[int, whole("before the last", at_least=1)] = over(3, 10, 30, 100, 300, 1000),
    sample: Sample = Sample(),
) -> Trial:
    """Moments over trials of each of VALUES."""
    data = table(attributes=11)
    shares = data.counts / data.rows
    return Trial(
        adaptive_analysis(sample.rows, protection=protection),
        shares,
        sample.settings(protection) | {"queries": queries},
        statistic=combine({name: moments(f, *RANGE) for name, f in VALUES.items()}),
        beside={"distance": _expected_distance(shares, sample.rows)},
    )


def _expected_distance(shares: np.ndarray, rows: int) -> float:
    """Mean total variation distance of the rows' shares from the population's."""
    # E|X - np| = 2 k (1 - p) P[X = k], k = floor(np) + 1 (de Moivre).
    k = np.floor(rows * shares) + 1.0
    deviation = 2.0 * k * (1.0 - shares) * stats.binom.pmf(k, rows, shares)
    return 0.5 * float(np.sum(deviation)) / rows


def spent() -> tuple[float, float]:
    """epsilon of the two mechanisms with respect to the rows, as their claims give it."""
    standard = find_claim("CL-Thm9-budget").evaluate(updates=ANSWERS, test=VECTOR, answer=ANSWER)
    improved = find_claim("CL-Thm11-budget").evaluate(
        failures=FAILURES, gamma=GAMMA, test=TEST, answers=ANSWERS, answer=ANSWER
    )
    return standard, improved


def means(analysed: xr.Dataset, protection: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a value at each number of queries, and half its 95 % normal interval."""
    rows = analysed.sel(protection=protection)
    columns = {part: rows[f"{value}_{part}"].values for part in _PARTS}
    found = [
        read_moments({part: column[place] for part, column in columns.items()}, *RANGE)
        for place in range(rows.sizes["queries"])
    ]
    spread = [np.sqrt(m.variance / m.count) for m in found]
    return np.array([m.mean for m in found]), stats.norm.ppf(0.975) * np.array(spread)


def draw(analysed: xr.Dataset, sample: Sample = Sample()) -> Canvas:
    """Draws simulated means; only the asymptote is exact."""
    queries, population = analysed["queries"].values, table(attributes=11)
    figure, (bare, protected, errors) = style.panels(3, width=11.4, height=4.2)
    panels = ((bare, "none", "exact answers"), (protected, "repetitive", "Theorem 11"))
    for axes, protection, name in panels:
        look = LOOKS[protection][1]
        for value, label, line, face in (
            ("answer", "As answered", "-", look["color"]),
            ("population", "In the population", ":", "white"),
        ):
            mean, half = means(analysed, protection, value)
            axes.plot(queries, mean, color=look["color"], linestyle=line, label=label)
            style.points(axes, queries, mean, mean - half, mean + half, look, markerfacecolor=face)
        axes.set(ylabel=f"Mean of the last query, {name}", ylim=(0.2, 0.8))
        axes.legend(loc="upper left")
    for protection, (label, look) in LOOKS.items():
        mean, half = means(analysed, protection, "gap")
        errors.plot(queries, mean, color=look["color"], linestyle=look["linestyle"], label=label)
        style.points(errors, queries, mean, mean - half, mean + half, look)
    distance = float(analysed.distance[0, 0])
    errors.axhline(
        distance, color=style.RED, linewidth=1.0, linestyle=":", label="All of the sample's error"
    )
    errors.set_ylim(-0.1 * distance, 1.9 * distance)
    errors.set_ylabel("Last answer minus population value")
    errors.legend(loc="upper left")
    for axes in (bare, protected, errors):
        axes.set(xscale="log", xlabel="Number of queries m before the last")
    standard, improved = spent()
    return style.captioned(
        figure,
        f"Population: {population.source}, {population.counts.size} cells; "
        f"{sample.rows} rows are drawn from it. The analyst asks m random "
        "queries, weighs each by how far its answer lies from the population's, and "
        "asks last for the cells with a positive vote. Multiplicative weights: ε = "
        f"{standard:g} (Theorem 9) and {improved:g} (Theorem 11) with respect to the "
        f"rows, δ = 0, threshold {sample.threshold:g}, at most {ANSWERS} answers from "
        f"the rows; Theorem 11's halts after {FAILURES} failed batches, and then "
        "answers from its hypothesis, right or wrong; "
        "for so few rows no epsilon of use leaves answers of use, and what Theorems 10 "
        "and 12 prove is empty: what is seen is the algorithm, not the theorem. Red: "
        "exact mean total variation distance of the rows from the population, which "
        f"exact answers reveal as m grows. {analysed.attrs['trials']:,} analyses a point, "
        "95 % intervals.",
    )
