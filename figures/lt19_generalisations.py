"""Liu & Talwar 2019, Theorem 5.2: four selections beside the classical mechanisms."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.figure import load
from figures.common.generalisation_losses import (
    BOTH,
    decoy_losses,
    ladder_tails,
    leads_seen,
    mean_loss,
    median_losses,
    stopping_law,
)
from jaxsel.families.score_selection.candidate_laws import index_law
from jaxsel.families.score_selection.classical_laws import (
    exponential_law,
    exponential_loss,
    margin_needed,
)
from jaxsel.families.score_selection.selections import selection_exponential
from jaxsel.families.score_selection.settings import (
    generalised_selection,
    generalised_selection_loss,
    margin_selection_needed,
)
from jaxsel.host.intervals import clopper_pearson
from jaxsel.pictures import style
from jaxsel.repetitions import geometric
from sims.lt19_generalisations import (
    BETA,
    DECOYS,
    DELTA,
    EPSILON,
    HIGH,
    LADDER,
    MARGIN_COUNTS,
    SIZES,
    decoy,
    lead_needed,
    medians,
)

TITLE = "Liu & Talwar 2019, Theorem 5.2: four generalised selections"
SECONDS = 15
_STOPPING = {"color": "#d55e00", "linestyle": "-", "marker": "s"}
_CLASSICAL = {"color": "#000000", "linestyle": "--", "marker": "p"}
_OWN = {"color": "#0072b2", "linestyle": (0, (5, 1.2)), "marker": "o"}
_DENSE_DECOYS = np.geomspace(DECOYS[0], DECOYS[-1], 25)
_DENSE_SIZES = np.union1d(
    SIZES, np.geomspace(31, SIZES[-1], 37).astype(int) // 2 * 2 + 1
)


def _ladder(axes: Axes, record) -> None:
    rows = (
        ("ladder_exponential", exponential_law(LADDER, 1.0, EPSILON), _CLASSICAL,
         "Exponential mechanism"),
        ("ladder_stopping", stopping_law(selection_exponential(), LADDER, BOTH),
         _STOPPING, "Random stopping"),
    )  # fmt: skip
    losses = -LADDER[:-1]
    for name, law, look, label in rows:
        style.line(axes, losses, ladder_tails(law), look, label=label)
        counts = record.arrays[name][0][: LADDER.size]
        trials = int(counts.sum())
        beyond = ladder_tails(counts)
        shown = np.flatnonzero(beyond > 0)[::4]
        low, high = clopper_pearson(beyond[shown], trials, 0.95)
        style.points(axes, losses[shown], beyond[shown] / trials, low, high, look)
    count = LADDER.size
    proofs = (
        (exponential_loss(count, 1.0, EPSILON, BETA), _CLASSICAL, "p"),
        (generalised_selection_loss(LADDER, 1.0, EPSILON, BETA), _STOPPING, "s"),
    )
    for loss, look, marker in proofs:
        axes.plot(
            loss, BETA, marker=marker, color=look["color"], markersize=7,
            linestyle="none", fillstyle="none",
        )  # fmt: skip
    axes.annotate(
        f"open marks: proved,\nexcept with chance β = {BETA:g}", (0.97, 0.84),
        xycoords="axes fraction", ha="right", fontsize=7.5, color="#444444",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(0, 42)
    axes.set_ylim(1e-5, 1.5)
    axes.set_xlabel("Loss x, in units of the sensitivity (scores 0, −1, …, −59)")
    axes.set_ylabel("Chance of a loss above x")
    style.legend(axes, loc="lower left")


def _decoy(axes: Axes, record) -> None:
    curves = np.array([decoy_losses(s) for s in _DENSE_DECOYS]).T
    sharp = []
    for s in _DENSE_DECOYS:
        scores, own = decoy(s)
        chosen = generalised_selection(scores, own, EPSILON, BETA, sharp=True)
        law = index_law(chosen.candidates, geometric(chosen.gamma))[:-1]
        sharp.append(float(law @ (scores.max() - scores)))
    rows = (
        ("decoy_exponential", curves[0], _CLASSICAL, "Exponential mechanism, s = max"),
        ("decoy_generalised", curves[1], _OWN, "Generalised exponential (RS 2016)"),
        ("decoy_stopping", curves[2], _STOPPING, "Random stopping"),
    )
    for name, curve, look, label in rows:
        style.line(axes, _DENSE_DECOYS, curve, look, label=label)
        seen = [
            mean_loss(decoy(s)[0], counts)
            for s, counts in zip(DECOYS, record.arrays[name], strict=True)
        ]
        mean, low, high = np.array(seen).T
        style.points(axes, DECOYS, mean, low, high, look)
    style.line(
        axes, _DENSE_DECOYS, sharp, _STOPPING | {"linestyle": ":"},
        label="Random stopping, sharp shift",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(3e-2, 300)
    axes.set_xlabel("Sensitivity of the decoy, the worst of 20 candidates")
    axes.set_ylabel("Expected loss")
    style.legend(axes, loc="upper left")


def _margin(axes: Axes, record) -> None:
    counts = np.array(MARGIN_COUNTS)
    dense = np.geomspace(2, counts[-1], 25)
    proved = [margin_selection_needed(int(k), 1.0, EPSILON, DELTA, BETA) for k in dense]
    exact = [lead_needed(int(k)) for k in dense]
    release = margin_needed(1.0, EPSILON, DELTA, BETA)
    mechanism = 2.0 / EPSILON * np.log((dense - 1.0) * (1.0 - BETA) / BETA)
    style.line(axes, dense, proved, _STOPPING | {"linestyle": ":"},
               label="Random stopping, proved")  # fmt: skip
    style.line(axes, dense, exact, _STOPPING, label="Random stopping, exact")
    style.line(axes, dense, np.full(dense.size, release), _OWN,
               label="A_dist, exact and proved")  # fmt: skip
    style.line(axes, dense, mechanism, _CLASSICAL, label="Exponential mechanism, exact")
    trials = int(record.values["trials"])
    seen = [
        leads_seen(missed, trials, leads)
        for missed, leads in zip(
            record.arrays["margin_stopping"][:, 1].reshape(counts.size, -1),
            record.arrays["leads"],
            strict=True,
        )
    ]
    lead, low, high = np.array(seen).T
    style.points(axes, counts, lead, low, high, _STOPPING)
    missed = trials - record.arrays["margin_classical"][:, 0]
    lead, low, high = leads_seen(missed, trials, record.arrays["classical_leads"])
    style.points(axes, counts, np.full(counts.size, lead), np.full(counts.size, low),
                 np.full(counts.size, high), _OWN)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1.5, 2e6)
    axes.set_ylim(0, 135)
    axes.set_xlabel("Number of candidates K")
    axes.set_ylabel(f"Lead needed to be found with chance {1 - BETA:g}")
    style.legend(axes, loc="upper left")


def _median(axes: Axes, record) -> None:
    curves = np.array([median_losses(int(n)) for n in _DENSE_SIZES]).T
    rows = (
        ("median_exponential", curves[0], _CLASSICAL,
         f"Exponential mechanism, s = {HIGH}"),
        ("median_stopping", curves[1], _STOPPING,
         "Random stopping, smooth sensitivity"),
    )  # fmt: skip
    for name, curve, look, label in rows:
        style.line(axes, _DENSE_SIZES, curve, look, label=label)
        seen = [
            mean_loss(np.median(medians(n), axis=1), counts)
            for n, counts in zip(SIZES, record.arrays[name], strict=True)
        ]
        mean, low, high = np.array(seen).T
        style.points(axes, SIZES, mean, low, high, look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1, 300)
    axes.set_xlabel("Length of each list")
    axes.set_ylabel("Expected loss of the chosen list's median")
    style.legend(axes, loc="lower left")


_PANELS = {
    "Exponential mechanism": _ladder,
    "Generalised exponential mechanism": _decoy,
    "Margin-based selection": _margin,
    "Smooth sensitivity": _median,
}


def draw() -> Canvas:
    """Lines: exact laws; points: simulated, with 95 % intervals."""
    record = load("lt19-generalisations")
    figure = Canvas(figsize=(9.4, 7.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2).ravel()
    for axes, (title, panel) in zip(panels, _PANELS.items(), strict=True):
        panel(axes, record)
        axes.set_title(title)
    style.note(
        figure,
        f"Random stopping (Algorithm 2) over noisy candidates with γ = β/(2K), β = "
        f"{BETA:g}, at total ε = {EPSILON:g} (ε/3 a run); δ = {words.power(DELTA)} in "
        "the lower panels' random stopping and in A_dist, none elsewhere. Upper right: "
        "scores 0, −10, …, −190, of sensitivity 1 but for the last; the sharp shift is "
        "(3s/ε) log(4K/β²), with γ = β/(4K). Lower left: K − 1 equal "
        "candidates of sensitivity 1 behind the best; truncated Laplace noise. Lower "
        f"right: ten lists of whole numbers in [0, {HIGH}], shaped like normal laws, "
        "medians 500, 475, …; neighbours differ in one value of each list; from "
        "length 301 to 1,001 the best list also has the least smooth sensitivity. "
        f"Lines: exact laws. Points: {int(record.values['trials']):,} selections each, "
        "95 % intervals.",
    )
    return figure
