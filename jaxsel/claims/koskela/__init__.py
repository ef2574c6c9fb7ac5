"""Claims of Koskela, Redberg & Wang 2024, and of the envelope bound."""

from jaxsel.base import Claim, Erratum
from jaxsel.claims.koskela import (
    binomial_poisson,
    concentrated,
    envelope,
    general,
    heterogeneous,
    noisy_max,
    preliminaries,
    profiles,
    propose_test_release,
)

__all__ = ["CLAIMS", "ERRATA"]

CLAIMS: tuple[Claim, ...] = (
    *preliminaries.CLAIMS,
    *noisy_max.CLAIMS,
    *general.CLAIMS,
    *profiles.CLAIMS,
    *binomial_poisson.CLAIMS,
    *concentrated.CLAIMS,
    *heterogeneous.CLAIMS,
    *propose_test_release.CLAIMS,
    *envelope.CLAIMS,
)
ERRATA: tuple[Erratum, ...] = (
    *binomial_poisson.ERRATA,
    *concentrated.ERRATA,
    *propose_test_release.ERRATA,
)
