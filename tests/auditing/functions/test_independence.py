"""Shares of an event that differ between calls by more than chance, at a stated rate."""

import numpy as np
import pytest

from jaxsel.auditing.functions.independence import check_shares
from jaxsel.host.errors import CouldNotError


def _refused(counts, sizes):
    try:
        check_shares("f", "it is 1", np.asarray(counts), np.asarray(sizes))
    except CouldNotError:
        return True
    return False


@pytest.mark.parametrize("share", [0.5, 0.03, 0.97, 1e-4, 0.0, 1.0])
@pytest.mark.parametrize("sizes", [[64] * 8, [4096] * 12 + [848], [64] * 1000 + [3]])
def test_independent_trials_are_not_refused(share, sizes, seed):
    # Each refuses with probability 1e-9.
    generator = np.random.default_rng(seed)
    for _ in range(200):
        assert not _refused(generator.binomial(sizes, share), sizes)


def test_calls_that_share_a_draw_are_refused_and_rare_events_are_put_together(seed):
    generator = np.random.default_rng(seed)
    sizes = np.full(400, 64)
    shares = np.repeat(generator.beta(0.5, 5.0, 40), 10)
    assert _refused(generator.binomial(sizes, shares), sizes)
    assert not _refused([40, 20], [64, 64])  # a p-value of 4e-4
    assert _refused([64, 0], [64, 64])
    assert not _refused([1, 0, 0, 0], [64, 64, 64, 64])  # too few to be compared
    assert not _refused([5], [64])
