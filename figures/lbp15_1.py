"""Lantz, Boyd & Page 2015: what is lost in privacy by scoring more candidates."""

from typing import Annotated

import matplotlib.pyplot as plt
import xarray as xr

from figures.common.audited_bounds import audited
from jaxsel import over
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import find_claim, find_mechanism
from jaxsel.language.domains import whole
from jaxsel.language.trial import Trial
from sims.cells import cells

TITLE = "Lantz, Boyd & Page 2015: the subsampled exponential mechanism"
TRIALS = 1_000_000
SCORES = "0,-1,-2,-3,-4,-5"


@cells(measures=["counts", "frequency"])
def released(
    draws: Annotated[int, whole("candidates drawn", at_least=1)] = over(1, 2, 4, 8, 16),
    side: str = over("data", "neighbour"),
) -> Trial:
    """Releases on both sides of a neighbouring pair."""
    built = find_mechanism("subsampled_exponential").build({"draws": draws, "scores": SCORES})
    pair = built.pair()
    return Trial(built.mechanism, getattr(pair, side), pair.params)


def draw(released: xr.Dataset):
    """Draws claimed, exact and audited epsilon against the number of draws."""
    laws = released.frequency_exact.transpose("draws", "side", "outcome").values
    exact = [exact_epsilon(data, neighbour) for data, neighbour in laws]
    canvas, axes = plt.subplots()
    axes.axhline(find_claim("LBP-privacy").evaluate(), label="claim: ε, any number of draws")
    axes.plot(released["draws"], exact, "k--", label="exact, on this pair")
    axes.plot(released["draws"], audited(released.counts), "o", label="audited lower bound, 95 %")
    axes.set(xscale="log", xlabel="candidates drawn, of 6", ylabel="privacy loss ε")
    axes.legend()
    return canvas
