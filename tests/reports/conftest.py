"""Computes statements quickly: at any resolution the priced envelope is a bound."""

import pytest

from jaxsel.tuning.bounds import priced_envelope

FINE = priced_envelope.FINE


@pytest.fixture(autouse=True)
def _coarse(coarse_prices):
    pass
