"""What Figures 5 and 6 of Papernot & Steinke 2022 share: curves along families of K."""

import numpy as np

from jaxsel import repetitions as laws
from sims.common.tuned_laws import FAMILIES, Price

NAMES = {
    "poisson": "Poisson",
    "eta=-0.5": "η = −0.5",
    "eta=0": "Logarithmic η = 0",
    "eta=0.5": "η = 0.5",
    "eta=1": "Geometric η = 1",
    "eta=2": "η = 2",
}
"""Names of the families in the legends, which follow the paper's."""

_COARSE, _POINTS = 25, 60
_MARGIN = 0.1


def curve(
    name: str, largest: float, smallest: float = 0.0, price: Price = Price()
) -> tuple[np.ndarray, list[laws.Repetitions]]:
    """Epsilons between two values, evenly spaced, and the laws of a family that have them."""
    family = FAMILIES[name]
    grid = np.linspace(family.low, family.high, _COARSE)
    epsilons = np.array([price.epsilon(family.law(t)) for t in grid])
    # Curves through evenly spaced epsilons look smooth. Inverting a coarse table leaves them
    # uneven, and inverting its result once more does not; the last epsilons are exact.
    first = max(smallest - _MARGIN, float(epsilons[0]))
    last = min(largest + _MARGIN, float(epsilons[-1]))
    members: list[laws.Repetitions] = []
    for points in (_COARSE, _POINTS):
        grid = np.interp(np.linspace(first, last, points), epsilons, grid)
        members = [family.law(float(t)) for t in grid]
        epsilons = np.array([price.epsilon(law) for law in members])
    return epsilons, members
