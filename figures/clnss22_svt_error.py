"""How far from the threshold sparse vectors err: failures at given errors.

Of m queries, k evenly spaced ones lie above the threshold and are to be found. The error of
an algorithm is half the width of the zone around the threshold in which either answer is
accepted. Standard sparse vectors (Dwork & Roth 2014: AboveThreshold, k times) and the one of
Lyu, Su & Li 2017 have the zone t +- alpha, and the queries lie just outside it. The
repetitive sparse vector (Cohen et al. 2022, Algorithm 3) has the zone from t - d to t, with
error d/2. There the k queries lie just above it and all others in its middle, where they use
up the most Tests. One trial is one run of the repetitive sparse vector; a quarter as many
runs of the others are made. A run fails if an answer is wrong, or if it halts before k
queries were found. All algorithms have the same privacy, (1, delta)-DP or 1-DP.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Canvas

from figures.common import words
from jaxsel.accounting.numerics.quadrature import panels
from jaxsel.accounting.single_run import closed_forms
from jaxsel.accounting.single_run.conversions import renyi_to_epsilon
from jaxsel.families.repetitive_sparse_vector.error_laws import needed_margin, tuned_settings
from jaxsel.families.repetitive_sparse_vector.repetitive_sparse_vector import (
    guarantee,
    repetitive_sparse_vector,
)
from jaxsel.families.repetitive_sparse_vector.settings import (
    RepetitiveSettings,
    calibrated,
    repetitive_settings,
)
from jaxsel.families.sparse_vector.bounds import good_share, lyu_su_li_noise
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.sparse import sparse_vector
from jaxsel.host.intervals import clopper_pearson
from jaxsel.kernel.engine import Performance
from jaxsel.kernel.statistics import counts
from jaxsel.language.domains import number, positive, probability, whole
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial
from jaxsel.pictures import style
from sims.cells import cells

TITLE = "Cohen et al. 2022, Section 4: error of sparse vectors against confidence"
TRIALS = 30_000
SECONDS = 22

BETA = Annotated[float, number("failure probability", above=0.0, below=1.0)]
BETAS = over(0.3, 0.03, 0.003)
CONFIDENCES = (0.5, 1.5, 3.0, 6.0, 10.0, 16.0, 24.0, 32.0, 40.0)  # log(1/beta)
_LOOKS = {
    "standard": ("Standard, restarted after each ⊤", style.own(style.BLACK, ":", "x")),
    "once": ("Threshold noised once (Lyu, Su & Li)", style.own(style.BROWN, style.DASHES, "D")),
    "paper": ("Repetitive, d as in the paper", style.own(style.ORANGE, "--", "s")),
    "least": ("Repetitive, least d by the exact law", style.own(style.BLUE, "-", "o")),
    "tuned": ("Repetitive, all settings tuned (this project)", style.own(style.GREEN, "-.", "^")),
}
_APPROXIMATE = ("standard", "paper", "least", "tuned")
_PURE = ("standard", "once", "paper", "least", "tuned")


@dataclasses.dataclass(frozen=True)
class Search:
    """Queries of which some are to be found, at a total (epsilon, delta)."""

    queries: Annotated[int, whole("how many", at_least=2)] = 2000
    wanted: Annotated[int, whole("to be found", at_least=1)] = 50
    epsilon: Annotated[float, positive("epsilon in all")] = 1.0
    delta: Annotated[float, probability("delta of the left panel")] = 1e-6

    @property
    def quiet(self) -> int:
        """Number of other queries before each one that is to be found."""
        return self.queries // self.wanted - 1

    @property
    def lengths(self) -> list[int]:
        """Lengths of the runs of equal queries."""
        return [self.quiet, 1] * self.wanted

    def pure(self) -> "Search":
        """The same search with delta = 0, as in the right panel."""
        return dataclasses.replace(self, delta=0.0)


@functools.cache
def noise_of(name: str, search: Search = Search()) -> SparseNoise:
    """Noise of the standard sparse vector, or of "once", the one whose threshold is noised once.

    The standard one runs AboveThreshold k times, epsilon_r-DP each, with Laplace noise of
    scale 2/epsilon_r on the threshold and 4/epsilon_r on queries. epsilon_r is epsilon/k, or
    for delta > 0 the largest whose composition is (epsilon, delta)-DP by the Renyi
    divergences of randomised response, the worst epsilon_r-DP mechanism.
    """
    if name == "once":
        share = good_share(search.wanted)
        return lyu_su_li_noise(search.epsilon, search.wanted, share=share)
    low = search.epsilon / search.wanted
    if search.delta > 0.0:
        high = search.epsilon
        for _ in range(40):
            middle = (low + high) / 2.0
            if _composed(middle, search) <= search.epsilon:
                low = middle
            else:
                high = middle
    return SparseNoise(2.0 / low, 4.0 / low, search.wanted, redrawn=True)


def _composed(epsilon: float, search: Search) -> float:
    def curve(order):
        one = closed_forms.randomised_response_renyi(order, epsilon)
        return search.wanted * np.asarray(one)

    return renyi_to_epsilon(curve, search.delta).epsilon


def _log_tail(gap: np.ndarray) -> np.ndarray:
    """log P[Lap(1) > gap]."""
    half = 0.5 * np.exp(-np.abs(gap))
    return np.where(gap > 0.0, -math.log(2.0) - gap, np.log1p(-half))


def spike_failure(noise: SparseNoise, alpha: float, search: Search = Search()) -> float:
    """Exact probability of a wrong answer: k spikes at alpha, all other levels at -alpha."""
    wide, narrow = noise.threshold_scale, noise.query_scale
    end = 60.0 * wide  # the threshold's noise exceeds it with probability e^-60
    kink = min(alpha, end)
    nodes, steps = panels([-end, -kink, 0.0, kink, end], min(wide, narrow))
    weights = steps * np.exp(-np.abs(nodes) / wide) / (2.0 * wide)
    # log P[-alpha + xi < nu] and log P[alpha + xi > nu]
    below = _log_tail(-(nodes + alpha) / narrow)
    above = _log_tail((nodes - alpha) / narrow)
    quiet, spikes = search.quiet, 1
    if not noise.redrawn:
        quiet, spikes = quiet * search.wanted, search.wanted
    wrong = -np.expm1(quiet * below + spikes * above) @ weights
    if not noise.redrawn:
        return float(wrong)
    return float(-np.expm1(search.wanted * np.log1p(-min(wrong, 1.0))))


def needed_error(noise: SparseNoise, beta: float, search: Search = Search()) -> float:
    """Least alpha at which ``spike_failure`` is at most beta."""
    low, high = 0.0, noise.query_scale
    while spike_failure(noise, high, search) > beta:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        wrong = spike_failure(noise, middle, search) > beta
        low, high = (middle, high) if wrong else (low, middle)
    return high


@functools.cache
def settings_of(name: str, beta: float, search: Search = Search()) -> RepetitiveSettings:
    """Settings of the repetitive sparse vector that are proven (1, delta)-DP.

    "paper" has those of Section 4.2 or Remark 2 (k' corrected), with calibrated epsilon'.
    "least" has the same with the least d that the exact law allows, and "tuned" chooses all
    settings.
    """
    asked = search.wanted, search.queries
    total = search.epsilon, search.delta
    if name == "tuned":
        return tuned_settings(*asked, beta, *total)
    if name == "paper":
        return calibrated(repetitive_settings(*asked, beta, *total), *total)
    found = settings_of("paper", beta, search)
    return found._replace(margin=needed_margin(found, *asked, beta))


# --- Simulation -----------------------------------------------------------------------


@functools.cache
def _missed(quiet: int, wanted: int) -> Callable[[Any], Any]:
    places = ((np.arange(wanted) + 1) * (quiet + 1) - 1).astype(np.int32)

    def missed(outcome):
        return jnp.any(outcome.above != places).astype(jnp.int32)

    return missed


# A few trials in a full block would cost as much as the whole block.
@cells(share=Fraction(1, 4), performance=Performance(block_size=1024))
def sparse(
    algorithm: str = over("standard", "standard, pure", "once, pure"),
    beta: BETA = BETAS,
    search: Search = Search(),
) -> Trial:
    """Counts correct and failed runs, at the exact error that each algorithm needs."""
    name, _, pure = algorithm.partition(", ")
    noise = noise_of(name, search.pure() if pure else search)
    error = needed_error(noise, beta, search)
    params = noise._asdict()
    return Trial(
        sparse_vector(redrawn=params.pop("redrawn"), event="stop"),
        {"answers": [-error, error] * search.wanted, "lengths": search.lengths},
        params,
        statistic=counts(_missed(search.quiet, search.wanted), 2),
        beside={"error": error},
    )


@cells()
def repetitive(
    algorithm: str = over("least", "tuned", "least, pure", "tuned, pure"),
    beta: BETA = BETAS,
    search: Search = Search(),
) -> Trial:
    """Counts runs that kept the guarantee, that gave a wrong answer, and that halted early."""
    name, _, pure = algorithm.partition(", ")
    settings = settings_of(name, beta, search.pure() if pure else search)
    levels = [-settings.margin / 2.0, math.ulp(1.0)] * search.wanted
    return Trial(
        repetitive_sparse_vector(event="tops"),
        {"answers": levels, "lengths": search.lengths},
        settings._asdict(),
        statistic=counts(guarantee(search.wanted), 3),
        beside={"error": settings.margin / 2.0},
    )


# --- The picture ----------------------------------------------------------------------


@functools.cache
def curve(name: str, search: Search = Search()) -> np.ndarray:
    """Error needed at each of CONFIDENCES: alpha, or d/2 of the repetitive sparse vector."""
    betas = [math.exp(-x) for x in CONFIDENCES]
    if name in ("standard", "once"):
        noise = noise_of(name, search)
        return np.array([needed_error(noise, beta, search) for beta in betas])
    return np.array([settings_of(name, beta, search).margin / 2.0 for beta in betas])


def failures(found: xr.Dataset) -> np.ndarray:
    """Numbers of failed runs: Int64["..."]."""
    return found.tally.isel(tally_0=slice(1, None)).sum("tally_0").values


def points(row: xr.Dataset) -> dict[str, np.ndarray]:
    """Errors and log(1/failure probability) of the failures seen, with 95 % intervals."""
    failed, runs = failures(row), row.attrs["trials"]
    seen = failed > 0
    low, high = clopper_pearson(failed[seen], runs, 0.95)
    return {
        "error": row.error.values[seen],
        "confidence": -np.log(failed[seen] / runs),
        "low": -np.log(high),
        "high": -np.log(low),
    }


def draw(sparse: xr.Dataset, repetitive: xr.Dataset, search: Search = Search()) -> Canvas:
    """Draws exact laws, and bounds from them, as lines and simulated values as points."""
    figure, (left, right) = style.panels(2, width=9.4, height=5.2)
    for axes, names, ending in ((left, _APPROXIMATE, ""), (right, _PURE, ", pure")):
        here = search.pure() if ending else search
        for name in names:
            label, look = _LOOKS[name]
            # The legend is taken from the panel that has all curves.
            style.line(axes, CONFIDENCES, curve(name, here), look, label=label)
            if name == "paper":
                continue
            rows = sparse if name in ("standard", "once") else repetitive
            found = points(rows.sel(algorithm=name + ending))
            middle = found["confidence"]
            reach = np.stack([middle - found["low"], found["high"] - middle])
            axes.errorbar(middle, found["error"], xerr=reach, **style.bars(look))
        axes.set_xlim(0.0, CONFIDENCES[-1])
        axes.set(xlabel="log(1/β), β the failure probability", ylim=(0.0, None))
    left.set_title(f"({search.epsilon:g}, {words.power(search.delta)})-DP")
    right.set_title(f"{search.epsilon:g}-DP")
    left.set_ylabel("Error: half the zone where answers may be wrong")
    style.legend_above(figure, right, 3)
    return style.captioned(
        figure,
        f"{search.queries:,} queries of sensitivity 1, of which {search.wanted} are to "
        "be found. "
        "The zone is t ± α, or from t − d to t for the repetitive sparse vector "
        f"(error d/2). Standard: {search.wanted} runs of AboveThreshold, composed by "
        "Rényi divergences on the left and by adding up on the right. Repetitive: "
        "Algorithm 3 (reconstructed) with k′ corrected and ε′ as large as the "
        "proven bound allows; 'least d' keeps its γ and τ, tuning also takes p = "
        "1 on the left. Lines: exact, or for the repetitive one a bound for any "
        "queries from the exact law of one. Points: simulated failures on queries "
        "just outside the zone, the others in its middle for the repetitive one "
        f"({sparse.attrs['trials']:,} and {repetitive.attrs['trials']:,} runs, 95 % "
        "intervals).",
    )
