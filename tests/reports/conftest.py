"""Statements that are quick to make: any resolution of the priced envelope is a bound."""

import pytest

from jaxsel.families.tuning.bounds import priced_envelope

FINE = priced_envelope.FINE
COARSE = priced_envelope.Resolution(columns=8, rows=3, knots=8, parts=4)


@pytest.fixture(autouse=True)
def coarse_prices(monkeypatch):
    monkeypatch.setattr(priced_envelope, "FINE", COARSE)
