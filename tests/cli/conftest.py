"""Accounts on the command line with coarse, quick bounds, of which nothing is asked here."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _coarse(coarse_prices_of_file):
    pass
