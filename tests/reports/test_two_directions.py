"""Reports of pairs whose two directions differ: a record added is not a record removed."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxsel.accounting.single_run.dominating import pair_delta, pair_from_laws
from jaxsel.reports import attacks
from jaxsel.reports.proven_pairs import _least, proven_pairs
from tests.releases import one_release as release

P = np.array([0.5, 0.3, 0.15, 0.05])
Q = np.array([0.45, 0.1, 0.15, 0.3])
LEVELS = np.array([0.0, 0.2, 0.7, 1.05, 1.5])


def hockey_stick(first, second, epsilon):
    return float(np.sum(np.maximum(first - math.exp(epsilon) * second, 0.0)))


def both_orders():
    one, other = pair_from_laws(P, Q), pair_from_laws(Q, P)
    return [(one, other), (other, one)]


def test_delta_is_that_of_the_worse_direction_wherever_it_stands():
    wanted = [max(hockey_stick(P, Q, e), hockey_stick(Q, P, e)) for e in LEVELS]
    assert hockey_stick(P, Q, 1.05) < hockey_stick(Q, P, 1.05)
    for pairs in both_orders():
        np.testing.assert_allclose(attacks.profile(pairs, LEVELS), wanted, atol=1e-12)


def test_what_either_direction_loses_whole_counts_in_the_floor():
    lossy = np.array([0.5, 0.5 - 1e-7, 1e-7]), np.array([0.5, 0.5, 0.0])
    plain = pair_from_laws(P, Q)
    for first, second in (lossy, lossy[::-1]):
        pair = pair_from_laws(first, second)
        for pairs in ([plain, pair], [pair, plain]):
            np.testing.assert_allclose(attacks.floor_of(pairs), 2e-7)
    assert attacks.floor_of([plain]) == attacks.FLOOR


@pytest.mark.parametrize("order", [0, 1])
def test_a_point_lowers_the_direction_that_lies_above_it_alone(order):
    pairs = both_orders()[order]
    level = np.array(1.0)
    deltas = [float(pair_delta(pair, level)) for pair in pairs]
    point = max(deltas) - 1e-6
    assert min(deltas) < point
    found = _least(pairs, [(float(level), point)], [])
    assert len(found) == 2
    for before, after, delta in zip(pairs, found, deltas, strict=True):
        here = float(pair_delta(after, level))
        assert here == pytest.approx(min(delta, point), abs=1e-12)
        # Elsewhere a convex profile through the point is hardly lower.
        np.testing.assert_allclose(pair_delta(after, LEVELS), pair_delta(before, LEVELS), atol=1e-5)


def test_one_step_of_dp_sgd_by_hand():
    """N(0, 1) against (1 - q) N(0, 1) + q N(1, 1), and the other way round."""
    share = 0.2
    found = proven_pairs(
        [release(f"dp_sgd:sampling_probability={share},noise_multiplier=1,steps=1")]
    )
    assert len(found) == 2

    def mixed(x):
        return (1.0 - share) * stats.norm.cdf(x) + share * stats.norm.cdf(x - 1.0)

    removed, added = [], []
    levels = np.array([0.05, 0.1, 0.2, 0.5])
    for epsilon in levels.tolist():
        ratio = math.exp(epsilon)
        x = 0.5 + math.log((ratio - 1.0 + share) / share)
        removed.append(1.0 - mixed(x) - ratio * stats.norm.sf(x))
        rest = 1.0 / ratio - 1.0 + share
        x = 0.5 + math.log(rest / share) if rest > 0.0 else -math.inf
        added.append(stats.norm.cdf(x) - ratio * mixed(x))
    assert added[-1] == 0.0 < removed[-1]
    said = sorted((pair_delta(pair, levels) for pair in found), key=np.sum)
    for stated, exact in zip(said, (added, removed), strict=True):
        assert np.all(stated >= np.array(exact) - 1e-12)
        np.testing.assert_allclose(stated, exact, rtol=2e-3, atol=2e-6)
    np.testing.assert_allclose(attacks.profile(found, levels), said[1])


def test_the_gaussian_covers_both_directions():
    for pairs in both_orders():
        each = [attacks.gaussian_mu([pair]) for pair in pairs]
        assert attacks.gaussian_mu(pairs) == max(each)
