"""Searches are accounted for at large deltas: quickly, as the statements about them."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _coarse(coarse_prices_of_file):
    pass
