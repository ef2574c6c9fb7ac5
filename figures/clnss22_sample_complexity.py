"""Cohen et al. 2022, Theorems 10 and 12: rows needed for adaptive data analysis."""

import dataclasses
from typing import Annotated

import numpy as np
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.families.multiplicative_weights import sample_complexity as sizes
from jaxsel.families.multiplicative_weights import settings as weights
from jaxsel.language.domains import probability, whole
from jaxsel.pictures import style

TITLE = "Cohen et al. 2022, Theorems 10 and 12: rows needed for adaptive analysis"
SECONDS = 2
SIMS = ()


@dataclasses.dataclass(frozen=True)
class Analysis:
    """The size of the universe, the number of queries, and the error of their answers."""

    cells: Annotated[int, whole("of the universe", at_least=2)] = 2**20
    queries: Annotated[int, whole("how many", at_least=2)] = 10**6
    alpha: Annotated[float, probability("error")] = 0.1


LEAST = 1e5  # the largest log10(1/beta) at which the paper's formulas are drawn
DEEPEST = 300.0  # the same for settings with constants, near the range of float64
DIGITS = np.geomspace(0.31, LEAST, 200)  # log10(1/beta)
DIGITS_CONSTANTS = np.geomspace(0.31, DEEPEST, 60)

LOOKS = {
    "Theorem 10": style.own(style.ORANGE, "--"),
    "Theorem 12": style.own(style.BLUE, "-"),
    "Theorem 12, threshold without noise": style.own(style.SKY, ":"),
    "Not adaptive: log(m/β)/α²": style.own(style.GREY, "-."),
    "Hardt–Rothblum, (ε, δ)": style.own(style.ORANGE, "--"),
    "Hardt–Rothblum, pure": style.own(style.PINK, style.DASH_DOTS),
    "Repetitive sparse vector, (ε, δ)": style.own(style.BLUE, "-"),
    "Repetitive sparse vector, pure": style.own(style.GREEN, "-."),
}


def displays(digits: np.ndarray, asked: Analysis = Analysis()) -> dict[str, np.ndarray]:
    """Number of rows by each displayed formula, with constant 1, at values of log10(1/beta)."""
    found = []
    for digit in digits.tolist():
        found.append(
            sizes.sample_sizes(asked.cells, asked.queries, asked.alpha, -digit * np.log(10.0))
        )
    names = list(LOOKS)[:4]
    return dict(zip(names, np.array(found).T, strict=True))


def with_constants(digits: np.ndarray, asked: Analysis = Analysis()) -> dict[str, np.ndarray]:
    """Number of rows that is proven with constants, at values of log10(1/beta).

    The error on the rows is alpha, at epsilon = alpha and delta = alpha beta or 0.
    """
    found, (cells, queries, alpha) = [], dataclasses.astuple(asked)
    for digit in digits.tolist():
        beta = 10.0**-digit
        row = []
        for rows in (weights.hardt_rothblum_rows, weights.repetitive_rows):
            for delta in (alpha * beta, 0.0):
                row.append(rows(cells, queries, alpha, alpha, delta, beta, sharp=True))
        found.append(row)
    names = list(LOOKS)[4:]
    return dict(zip(names, np.array(found).T, strict=True))


def draw(asked: Analysis = Analysis()) -> Canvas:
    """Draws the formulas (left) and the proven settings (right); nothing is simulated."""
    figure, (left, right) = style.panels(2, width=9.6, height=4.0)
    for axes, digits, curves in (
        (left, DIGITS, displays(DIGITS, asked)),
        (right, DIGITS_CONSTANTS, with_constants(DIGITS_CONSTANTS, asked)),
    ):
        for name, rows in curves.items():
            style.line(axes, digits, rows, LOOKS[name], label=name)
        axes.set(xscale="log", yscale="log", xlabel="log₁₀(1/β)")
    edge = np.log(asked.cells) * np.log(asked.queries) / asked.alpha**2 / np.log(10.0)
    left.set(ylabel="Rows n, all constants 1", ylim=(1e3, 1e10))
    left.axvline(
        edge, color=style.RED, linewidth=0.8, linestyle=":", label="log(1/β) = log|X| log m/α²"
    )
    left.legend(loc="upper left")
    right.legend(loc="upper left")
    right.set_ylabel("Rows n, constants as derived")
    return style.captioned(
        figure,
        f"α = {asked.alpha:g}, |X| = {words.power(asked.cells, 2)}, m = "
        f"{asked.queries:,} queries. Left: "
        "the displays of the theorems (corrected: CL-E16; δ = αβ: CL-E21). Right: rows "
        "for error α on the rows themselves with probability 1 − β, every constant "
        "spelled out, ε = α and δ = αβ, learning rate 4g; generalisation to the "
        "population costs a further constant.",
    )
