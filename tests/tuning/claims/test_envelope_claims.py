"""Claims of the envelope bound: judged, independent of their own code, and with power."""

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import curves, pairs
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import pair_from_laws
from jaxsel.host.errors import InputError
from jaxsel.language import checking
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import at_most, bound_verdict
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds import envelopes
from jaxsel.tuning.bounds.envelope import (
    base_envelopes,
    envelope_epsilon,
    envelope_log_delta,
    pair_envelope,
)
from jaxsel.tuning.claims.envelope import envelope
from jaxsel.tuning.claims.profile import tightness

BUDGET = Budget(cases=60)
CLAIMS = (envelopes.every_ranking, envelope.tightest, envelope.attained, envelope.selection)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claims_are_of_this_project(claim):
    assert claim.holds
    assert claim.kind == "privacy"
    assert claim.relation is Relation.BASE
    assert "novelty" in claim.source


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_negative_numbers_are_refused(claim):
    for name in claim.parameters:
        with pytest.raises(InputError):
            claim.evaluate(**{name: -5.0})


def test_numbers():
    """Values of the issue: 1.79, 2.25 and 2.66, where Theorem 5.2 gives 2.29 to 3.21."""
    found = [envelope.tightest(mean=m) for m in (30, 300, 3000)]
    assert np.round(found, 2).tolist() == [1.79, 2.25, 2.66]
    at = envelopes.every_ranking(law="geometric:mean=300", epsilon=found[1])
    assert at == pytest.approx(1e-6, rel=1e-9)
    assert envelope.attained() == pytest.approx(0.995 * found[1])


@pytest.mark.parametrize(
    ("gamma", "ours", "theirs"), [(0.5, 1.65, 3.09), (1.0, 1.80, 3.71), (2.0, 2.06, 4.94)]
)
def test_selection_of_one_candidate(gamma, ours, theirs):
    """tau = 30, noise scale 4, delta = 1e-6: about half of (2 + gamma) epsilon."""
    found = envelope.selection(gamma=gamma)
    assert found == pytest.approx(ours, abs=0.005)
    assert (2 + gamma) * gaussian_epsilon(1e-6 / 30, 4.0) == pytest.approx(theirs, abs=0.005)


def test_power_smaller_bounds_are_refuted():
    """0.97 times the envelope is violated by the claim's own kind of pair."""

    def cases(budget):
        law = laws.geometric(0.01)
        for top in np.geomspace(0.02, 0.26, 24):
            pair = pairs.three_outcome(1.0, float(top), 1e-9)
            exact = float(hockey_stick(*(tuned_law(side, law) for side in pair), 2.4))
            bound = pair_envelope(pair_from_laws(*pair), law, count=4096)
            claimed = float(np.exp(envelope_log_delta((bound,), 2.4)))
            # relative, since these deltas are about 1e-6
            yield 0.97, exact / claimed if claimed > 0 else 0.0, f"top={top:g}"

    assert at_most(cases)(BUDGET).outcome == "refuted"


def test_power_a_smaller_epsilon_is_refuted(monkeypatch):
    """The rankings of JX-Envelope-attained refute 0.99 times the envelope's epsilon."""

    def as_an_upper_bound(cases, tolerance, *, lower):
        assert lower
        return bound_verdict([(0.99 / 0.995 * claimed, *rest) for claimed, *rest in cases])

    monkeypatch.setattr(checking, "bound_verdict", as_an_upper_bound)
    assert envelope.attained.check(BUDGET).outcome == "refuted"


def test_the_neglected_half_would_be_refuted():
    """Without the supremum over x, at x = u = 0 alone, the bound is the base's: false."""
    law, levels = laws.geometric(0.05), np.array([0.5, 1.0])
    pair = pairs.three_outcome(1.0, 0.1, 1e-3)
    tuned = hockey_stick(*(tuned_law(side, law) for side in pair), levels)
    base = law.mean * hockey_stick(*pair, levels)
    assert np.any(tuned > base)


def test_errata_use_the_same_number():
    law = laws.geometric(1 / 300)
    expected = envelope_epsilon(base_envelopes(curves.gaussian(4.0), law), 1e-6)
    assert tightness.envelope() == pytest.approx(expected, rel=1e-12)
