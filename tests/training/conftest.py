"""Searches are accounted for at large deltas: quickly, as the statements about them."""

import pytest


@pytest.fixture(autouse=True)
def _coarse(coarse_prices):
    pass
