"""Lantz, Boyd & Page 2015: what is lost in privacy by scoring more candidates."""

import matplotlib.pyplot as plt

from figures.common.figure import load
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.catalogue import find_claim, find_mechanism
from jaxsel.families.noisy_max.subsampled_exponential_laws import subsampled_law
from sims.lbp15_1 import DRAWS, SCORES

TITLE = "Lantz, Boyd & Page 2015: the subsampled exponential mechanism"


def draw():
    """Claimed, exact and audited epsilon against the number of draws."""
    (pair,) = find_mechanism("subsampled_exponential").pairs({"scores": SCORES})
    exact, audited = [], []
    for draws in DRAWS:
        laws = [subsampled_law(s, draws, 1.0) for s in (pair.data, pair.neighbour)]
        exact.append(exact_epsilon(laws[0], laws[1]))
        counts = load("lbp15-1").arrays[f"counts_{draws}"]
        found = epsilon_lower_bound(counts[0], counts[1], 0.0, 0.95, ["singletons"])
        audited.append(found.lower)
    canvas, axes = plt.subplots()
    axes.axhline(
        find_claim("LBP-privacy").evaluate(), label="claim: ε, any number of draws"
    )
    axes.plot(DRAWS, exact, "k--", label="exact, on this pair")
    axes.plot(DRAWS, audited, "o", label="audited lower bound, 95 %")
    axes.set(xscale="log", xlabel="candidates drawn, of 6", ylabel="privacy loss ε")
    axes.legend()
    return canvas
