"""Searches are accounted for at large deltas: quickly, as the statements about them."""

from tests.reports.conftest import coarse_prices as coarse_prices
