"""Accounts for searches with coarse, quick bounds, which suffice at large deltas."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _coarse(coarse_prices_of_file):
    pass
