"""What the tests of several families check of a mechanism and of its catalogue entry."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import mechanisms
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel.engine import simulate_grid
from tests.conftest import ALPHA


def entries_of(family):
    """The mechanisms of the catalogue that a family declares, in order."""
    place = f"jaxsel.families.{family}."
    return [entry for entry in mechanisms() if entry.module.startswith(place)]


def check_samples_follow_law(mechanism, cells, seed, trials=60_000):
    """Checks that the tallies of every cell (data, params) fit the exact law, and no law nearby."""
    tallies = simulate_grid(mechanism, cells, trials=trials, seed=seed, progress=False)
    for (data, params), counts in zip(cells, tallies.values, strict=True):
        expected = mechanism.law(data, params).probabilities
        assert expected.sum() == pytest.approx(1.0, abs=1e-10)
        assert goodness_of_fit(counts, expected) > ALPHA
        # Power: moving 12 standard deviations between the two likeliest outcomes is noticed.
        second, top = np.argsort(expected)[-2:]
        if trials * expected[second] < 200.0:
            continue
        moved = 12.0 * math.sqrt(expected[top] * expected[second] / trials)
        wrong = expected.copy()
        wrong[[second, top]] += [moved, -moved]
        assert goodness_of_fit(counts, wrong) < ALPHA


def check_methods_follow_law(entry, settings, seed):
    """Checks that every method samples the exact law, at each of these settings."""
    for method in entry.settings["method"].options:
        if method == "law":
            continue
        for given in settings:
            mechanism = entry.build(given | {"method": method}).mechanism
            pair = entry.pairs(given)[-1]
            cells = [(side, pair.params) for side in (pair.data, pair.neighbour)]
            check_samples_follow_law(mechanism, cells, seed)


def check_guarantee(entry):
    """Checks that exact laws keep the guarantee, and that a broken one breaks its own.

    Audits of all entries are in ``test_contract`` and the claims AUDIT-*.
    """
    mechanism = entry.build({}).mechanism
    losses = []
    for pair in entry.pairs({}):
        found = [mechanism.law(side, pair.params) for side in (pair.data, pair.neighbour)]
        for law in found:
            assert len(law.labels) == law.probabilities.size
        exact = exact_epsilon(*(law.probabilities for law in found))
        proven = entry.guarantee({}, pair)
        assert proven is not None
        losses.append(exact / proven.epsilon)
    assert entry.broken == (entry.summary.startswith("BROKEN: "))
    assert (losses[0] > 1.0) == entry.broken
    if not entry.broken:
        assert max(losses) <= 1.0 + 1e-12
