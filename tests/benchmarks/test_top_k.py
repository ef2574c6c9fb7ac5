"""Goal 7 of the bench: competitors sample one law, and rows say what was measured."""

import numpy as np
import pytest

from benchmarks import peers, top_k
from benchmarks.checks import chi_square_p_value
from benchmarks.timing import Settings
from jaxsel.families.top_k.exponential import exponential_top_k
from tests.conftest import ALPHA

COUNTS = top_k.counts_of(12) / 10.0
K = 3


def test_the_numpy_competitor_samples_the_exact_law():
    tallies = top_k.gumbel_argpartition(COUNTS, K).run(20_000)
    mechanism = exponential_top_k()
    assert mechanism.law is not None
    for scale, right in ((1.0, True), (1.15, False)):
        law = mechanism.law(COUNTS, {"k": K, "noise_scale": scale}).probabilities
        assert (chi_square_p_value(tallies, law) > ALPHA) == right


def test_samplers_of_one_law_agree_and_others_do_not():
    random = np.random.default_rng(20260101)
    hits = np.arange(101)

    def tallies(mean, size):
        return np.bincount(random.binomial(100, mean, size), minlength=hits.size)

    assert top_k.same_law_p_value(tallies(0.6, 40_000), tallies(0.6, 2000)) > ALPHA
    assert top_k.same_law_p_value(tallies(0.6, 40_000), tallies(0.61, 2000)) < ALPHA
    # Too few to say anything.
    assert top_k.same_law_p_value(tallies(0.6, 1000), tallies(0.6, 1)) == 1.0


@pytest.fixture(name="small")
def _small(monkeypatch):
    monkeypatch.setattr(top_k, "counts_of", lambda: COUNTS)
    monkeypatch.setattr(top_k, "_GOALS", ((K, 5.0, 150.0),))
    return monkeypatch


def test_rows_compare_with_numpy_and_an_absent_opendp_is_not_measured(small):
    def absent(counts, k):
        raise peers.Unavailable("opendp is not installed")

    small.setattr(peers, "opendp_noisy_top_k", absent)
    plain, peer = top_k.measure(Settings(1, 0.002))
    assert plain.goal == peer.goal == 7
    assert plain.measured is not None
    assert plain.threshold == 5.0
    assert plain.met == (plain.measured >= 5.0)
    assert (peer.measured, peer.met, peer.threshold) == (None, False, 150.0)
    assert "not installed" in peer.detail


def test_a_competitor_with_another_law_is_refused(small):
    small.setattr(
        peers, "opendp_noisy_top_k", lambda counts, k: (lambda: np.arange(k), "always right")
    )
    plain = top_k.gumbel_argpartition
    other = 0.5 * COUNTS
    small.setattr(top_k, "gumbel_argpartition", lambda counts, k: plain(other, k))
    with pytest.raises(RuntimeError, match="does not sample its law"):
        top_k.measure(Settings(1, 0.002))
