"""Computes statements quickly: at any resolution the priced envelope is a bound."""

import pytest


@pytest.fixture(autouse=True)
def _coarse(coarse_prices):
    pass
