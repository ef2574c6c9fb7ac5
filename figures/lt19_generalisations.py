"""Liu & Talwar 2019, Theorem 5.2: four selections beside the classical mechanisms.

Random stopping is compared with a classical mechanism on each of four inputs:

  ladder: scores 0, -1, -2, ...; with the exponential mechanism;
  decoys: one bad candidate of large sensitivity; with the generalised exponential mechanism;
  margin: K - 1 equal candidates behind the best one; with A_dist, which is ``release``;
  medians: which list has the largest median; with the exponential mechanism at global
    sensitivity, where random stopping uses smooth sensitivity.

One trial is one selection; all have the same total privacy.
"""

from typing import Annotated

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from figures.common import words
from figures.common.generalisation_losses import (
    DECOY_SCORES,
    HIGH,
    LADDER,
    Budget,
    exact_loss,
    ladder_tails,
    leads_seen,
    lists,
    mean_loss,
    own_sensitivities,
)
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.score_selection.candidate_laws import index_law
from jaxsel.families.score_selection.classical import (
    generalised_exponential_mechanism,
    margin_mechanism,
)
from jaxsel.families.score_selection.classical_laws import exponential_loss
from jaxsel.families.score_selection.selections import (
    selection_exponential,
    selection_generalised_exponential,
    selection_smooth_sensitivity,
)
from jaxsel.families.score_selection.settings import (
    generalised_selection,
    generalised_selection_loss,
)
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from jaxsel.repetitions import geometric
from sims.cells import cells

TITLE = "Liu & Talwar 2019, Theorem 5.2: four generalised selections"
SECONDS = 15
TRIALS = 300_000
MEASURES = ("counts", "frequency")
SHARE = Annotated[float, positive("of the exact lead")]
_STOPPING = style.own(style.ORANGE, "-", "s")
_CLASSICAL = style.own(style.BLACK, "--", "p")
_OWN = style.own(style.BLUE, style.DASHES, "o")


def _exponential(scores: np.ndarray, sensitivity: float, budget: Budget) -> Trial:
    noise_scale = 2.0 * sensitivity / budget.epsilon
    return Trial(noisy_max("gumbel", method="race"), scores, {"noise_scale": noise_scale})


@cells(measures=MEASURES)
def ladder(selection: str = over("exponential", "stopping"), budget: Budget = Budget()) -> Trial:
    """A selection among scores in equal steps."""
    if selection == "exponential":
        return _exponential(LADDER, 1.0, budget)
    return Trial(selection_exponential(), LADDER, budget.pure)


@cells(measures=MEASURES)
def decoys(
    selection: str = over("exponential", "generalised", "stopping"),
    sensitivity: Annotated[float, positive("of the decoy")] = over(1.0, 4.0, 16.0, 64.0, 256.0),
    budget: Budget = Budget(),
) -> Trial:
    """A selection among 20 candidates of which one, the decoy, has a larger sensitivity."""
    own = own_sensitivities(sensitivity)
    if selection == "exponential":
        return _exponential(DECOY_SCORES, float(own.max()), budget)
    mechanism = (
        selection_generalised_exponential()
        if selection == "stopping"
        else generalised_exponential_mechanism()
    )
    return Trial(mechanism, DECOY_SCORES, budget.pure | {"sensitivities": own})


@cells(measures=MEASURES)
def margin(
    candidates: Annotated[int, whole("how many", at_least=2)] = over(
        10, 100, 1000, 10**4, 10**5, 10**6
    ),
    share: SHARE = over(0.9, 1.0, 1.1),
    budget: Budget = Budget(),
) -> Trial:
    """Random stopping, at leads close to the one that it needs."""
    lead = budget.lead_needed(candidates) * share
    return budget.margin(candidates, lead)._replace(beside={"lead": lead})


@cells(measures=MEASURES)
def release(share: SHARE = over(0.9, 1.0, 1.1), budget: Budget = Budget()) -> Trial:
    """A_dist, at leads close to the one that it needs."""
    lead = share * budget.release
    params = {"epsilon": budget.epsilon, "delta": budget.delta}
    return Trial(margin_mechanism(), [lead, 0.0], params, beside={"lead": lead})


@cells(measures=MEASURES)
def medians(
    selection: str = over("exponential", "stopping"),
    length: Annotated[int, whole("of each list", at_least=1)] = over(101, 1001, 10_001, 100_001),
    budget: Budget = Budget(),
) -> Trial:
    """A selection of the list with the largest median, among ten."""
    if selection == "exponential":
        return _exponential(np.median(lists(length), axis=1), HIGH, budget)
    params = budget.pure | {"delta": budget.delta, "high": HIGH}
    return Trial(selection_smooth_sensitivity(), lists(length), params)


def _columns(seen) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three arrays, of estimates, lower and upper limits, from triples of these."""
    mean, low, high = np.transpose(seen)
    return mean, low, high


def _ladder(axes: Axes, found: xr.Dataset, budget: Budget) -> None:
    losses, trials = -LADDER[:-1], found.attrs["trials"]
    outcomes = [str(each) for each in range(LADDER.size)]
    for name, look, label in (
        ("exponential", _CLASSICAL, "Exponential mechanism"),
        ("stopping", _STOPPING, "Random stopping"),
    ):
        row = found.sel(selection=name, outcome=outcomes)
        exact = ladder_tails(row.frequency_exact.values)
        style.line(axes, losses, exact, look, label=label)
        beyond = ladder_tails(row.counts.values)
        shown = np.flatnonzero(beyond > 0)[::4]
        style.shares(axes, losses[shown], beyond[shown], trials, look)
    epsilon, beta = budget.epsilon, budget.beta
    proofs = (
        (exponential_loss(LADDER.size, 1.0, epsilon, beta), _CLASSICAL, "p"),
        (generalised_selection_loss(LADDER, 1.0, epsilon, beta), _STOPPING, "s"),
    )
    for loss, look, marker in proofs:
        axes.plot(
            loss,
            beta,
            marker=marker,
            color=look["color"],
            markersize=7,
            linestyle="none",
            fillstyle="none",
        )
    axes.annotate(
        f"open marks: proved,\nexcept with chance β = {beta:g}",
        (0.97, 0.84),
        xycoords="axes fraction",
        ha="right",
        fontsize=7.5,
        color=style.DARK,
    )
    axes.set(yscale="log", xlim=(0, 42), ylim=(1e-5, 1.5))
    axes.set_xlabel("Loss x, in units of the sensitivity (scores 0, −1, …, −59)")
    axes.set_ylabel("Chance of a loss above x")
    axes.legend(loc="lower left")


def _decoys(axes: Axes, found: xr.Dataset, budget: Budget) -> None:
    x = found["sensitivity"].values
    dense, scores = np.geomspace(x[0], x[-1], 25), DECOY_SCORES
    for name, look, label in (
        ("exponential", _CLASSICAL, "Exponential mechanism, s = max"),
        ("generalised", _OWN, "Generalised exponential (RS 2016)"),
        ("stopping", _STOPPING, "Random stopping"),
    ):
        curve = [exact_loss(decoys(name, s, budget), scores) for s in dense]
        style.line(axes, dense, curve, look, label=label)
        row = found.counts.sel(selection=name)
        seen = [mean_loss(scores, counts) for counts in row]
        style.points(axes, x, *_columns(seen), look)
    sharp = []
    for s in dense:
        chosen = generalised_selection(
            scores, own_sensitivities(s), budget.epsilon, budget.beta, sharp=True
        )
        law = index_law(chosen.candidates, geometric(chosen.gamma))[:-1]
        sharp.append(float(law @ (scores.max() - scores)))
    style.line(
        axes, dense, sharp, _STOPPING | {"linestyle": ":"}, label="Random stopping, sharp shift"
    )
    axes.set(xscale="log", yscale="log", ylim=(3e-2, 300))
    axes.set_xlabel("Sensitivity of the decoy, the worst of 20 candidates")
    axes.set_ylabel("Expected loss")
    axes.legend(loc="upper left")


def _margin(axes: Axes, found: xr.Dataset, classical: xr.Dataset, budget: Budget) -> None:
    x, trials, beta = found["candidates"].values, found.attrs["trials"], budget.beta
    dense = np.geomspace(2, x[-1], 25)
    numbers = [int(k) for k in dense]
    mechanism = 2.0 / budget.epsilon * np.log((dense - 1.0) * (1.0 - beta) / beta)
    for y, look, label in (
        (
            [budget.lead_proved(k) for k in numbers],
            _STOPPING | {"linestyle": ":"},
            "Random stopping, proved",
        ),
        ([budget.lead_needed(k) for k in numbers], _STOPPING, "Random stopping, exact"),
        (np.full(dense.size, budget.release), _OWN, "A_dist, exact and proved"),
        (mechanism, _CLASSICAL, "Exponential mechanism, exact"),
    ):
        style.line(axes, dense, y, look, label=label)
    missed = found.counts.sel(outcome="other")
    seen = [
        leads_seen(missed.sel(candidates=k), found.lead.sel(candidates=k), trials, beta) for k in x
    ]
    style.points(axes, x, *_columns(seen), _STOPPING)
    missed = trials - classical.counts.sel(outcome="0")
    ends = leads_seen(missed, classical.lead, trials, beta)
    style.points(axes, x, *_columns([ends] * x.size), _OWN)
    axes.set_xscale("log")
    axes.set(xlim=(1.5, 2e6), ylim=(0, 135), xlabel="Number of candidates K")
    axes.set_ylabel(f"Lead needed to be found with chance {1 - beta:g}")
    axes.legend(loc="upper left")


def _medians(axes: Axes, found: xr.Dataset, budget: Budget) -> None:
    x = found["length"].values
    dense = np.union1d(x, np.geomspace(31, x[-1], 37).astype(int) // 2 * 2 + 1)
    middle = {n: np.median(lists(n), axis=1) for n in dense.tolist()}
    for name, look, label in (
        ("exponential", _CLASSICAL, f"Exponential mechanism, s = {HIGH}"),
        ("stopping", _STOPPING, "Random stopping, smooth sensitivity"),
    ):
        curve = [exact_loss(medians(name, n, budget), middle[n]) for n in middle]
        style.line(axes, dense, curve, look, label=label)
        row = found.counts.sel(selection=name)
        seen = [mean_loss(middle[n], row.sel(length=n)) for n in x.tolist()]
        style.points(axes, x, *_columns(seen), look)
    axes.set(xscale="log", yscale="log", ylim=(1, 300), xlabel="Length of each list")
    axes.set_ylabel("Expected loss of the chosen list's median")
    axes.legend(loc="lower left")


def draw(
    ladder: xr.Dataset,
    decoys: xr.Dataset,
    margin: xr.Dataset,
    release: xr.Dataset,
    medians: xr.Dataset,
    budget: Budget = Budget(),
) -> Canvas:
    """Draws exact laws as lines and simulated values as points with 95 % intervals."""
    figure, panels = style.panels(2, 2, width=9.4, height=7.6)
    _ladder(panels[0], ladder, budget)
    _decoys(panels[1], decoys, budget)
    _margin(panels[2], margin, release, budget)
    _medians(panels[3], medians, budget)
    for axes, title in zip(
        panels,
        (
            "Exponential mechanism",
            "Generalised exponential mechanism",
            "Margin-based selection",
            "Smooth sensitivity",
        ),
        strict=True,
    ):
        axes.set_title(title)
    return style.captioned(
        figure,
        f"Random stopping (Algorithm 2) over noisy candidates with γ = β/(2K), β = "
        f"{budget.beta:g}, at total ε = {budget.epsilon:g} (ε/3 a run); "
        f"δ = {words.power(budget.delta)} in the lower panels' random stopping and in "
        "A_dist, none elsewhere. Upper right: scores 0, −10, …, −190, of sensitivity 1 "
        "but for the last; the sharp shift is "
        "(3s/ε) log(4K/β²), with γ = β/(4K). Lower left: K − 1 equal "
        "candidates of sensitivity 1 behind the best; truncated Laplace noise. Lower "
        f"right: ten lists of whole numbers in [0, {HIGH}], shaped like normal laws, "
        "medians 500, 475, …; neighbours differ in one value of each list; from "
        "length 301 to 1,001 the best list also has the least smooth sensitivity. "
        f"{words.exact_and_seen(ladder.attrs['trials'], 'selections')}",
    )
