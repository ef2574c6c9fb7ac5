"""Liu & Talwar 2019, "Private Selection from Private Candidates": Sections 1 and 3, B.1.

Their Sections 4 and 5 and the other appendices are in the errata modules.
"""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.liu_talwar import best_of_all, hard_stop, stopping, threshold

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *threshold.CLAIMS,
    *stopping.CLAIMS,
    *hard_stop.CLAIMS,
    *best_of_all.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *stopping.ERRATA,
    *hard_stop.ERRATA,
    *best_of_all.ERRATA,
)
