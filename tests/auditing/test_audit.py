"""Which trials an audit uses for what."""

import math

import numpy as np
import pytest

from jaxsel.auditing import audit as auditing
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import Performance
from jaxsel.kernel.tables import from_law
from jaxsel.language.base import FiniteLaw, Mechanism, Pair, Relation

_P = Performance()
PAIR = Pair("p", [1.0, 0.0], [0.0, 1.0], Relation.GENERAL, {"epsilon": 1.0}, "a test")


@pytest.mark.parametrize(("method", "parts"), [("split", 2), ("bonferroni", 1)])
def test_the_event_is_chosen_on_other_trials_than_it_is_bounded_on(method, parts, monkeypatch):
    calls, simulate_grid = [], auditing.simulate_grid

    def noted(mechanism, cells, **settings):
        calls.append((cells, settings))
        return simulate_grid(mechanism, cells, **settings)

    monkeypatch.setattr(auditing, "simulate_grid", noted)
    found = auditing.audit(noisy_max(), PAIR, trials=1001, method=method)
    ranges = [
        set(range(given["first_trial"], given["first_trial"] + given["trials"]))
        for _, given in calls
    ]
    assert len(ranges) == parts
    assert sum(map(len, ranges)) == len(set().union(*ranges)) == 1001
    # Bounded on the last of them, on both sides.
    assert found.bound.counts[1::2] == (len(ranges[-1]),) * 2
    for cells, _ in calls:
        sides = [side for side, _ in cells]
        np.testing.assert_array_equal(sides, [PAIR.data, PAIR.neighbour])


def test_draws_too_coarse_for_the_trials_are_refused():
    with pytest.raises(InputError, match="too coarse to audit"):
        auditing.audit(noisy_max(precision="fast"), PAIR, trials=100_000)


def test_a_bound_of_simulated_tallies_has_its_randomness_from_their_seed_and_pair():
    found = auditing.audit(noisy_max(), PAIR, trials=1000, seed=3)
    assert found == auditing.audit(noisy_max(), PAIR, trials=1000, seed=3)
    assert found.bound.entropy[0] == 3
    moved = auditing.audit(noisy_max(), PAIR._replace(name="q"), trials=1000, seed=3)
    assert moved.bound.entropy != found.bound.entropy
    delta = auditing.audit_delta(noisy_max(), PAIR, trials=1000, epsilon=0.1, seed=3)
    assert delta.bound.entropy == found.bound.entropy
    # Tallies are bounded as where they are simulated.
    sides = auditing._both_sides(auditing._audited(noisy_max(), PAIR), 1000, "split", 3, None, _P)
    again = auditing.audit_tallies(noisy_max(), PAIR, sides.used, sides.selection, seed=3)
    assert again == found
    unknown = auditing.audit_tallies(noisy_max(), PAIR, sides.used, sides.selection)
    assert unknown.bound.entropy not in (found.bound.entropy, ())


def _binary(p, q, resolution=2.0**-53):
    """One of three outcomes by an exact law; the sampler is the law's."""
    laws = {0.0: np.array(p), 1.0: np.array(q)}

    def law(data, params):
        return FiniteLaw(laws[float(data)], ("a", "b", "c"))

    labels = lambda data, params: ("a", "b", "c")  # noqa: E731
    mechanism = Mechanism(None, None, lambda outcome: outcome, labels, law, resolution, "table")
    return from_law(mechanism)._replace(resolution=resolution)


FIRST, SECOND = (0.6, 0.3, 0.1), (0.2, 0.4, 0.4)
SIDES = Pair("sides", 0.0, 1.0, Relation.GENERAL, {}, "two laws")


@pytest.mark.parametrize("delta", [0.0, 0.15])
def test_the_exact_value_is_the_larger_of_both_directions(delta):
    table = _binary(FIRST, SECOND)
    found = auditing.audit(table, SIDES, trials=40_000, delta=delta, confidence=1 - 1e-6)
    # The least epsilon with sum max(p - e^epsilon q, 0) <= delta, by bisection, both ways.
    exact = 0.0
    for p, q in ((FIRST, SECOND), (SECOND, FIRST)):
        low, high = 0.0, 10.0
        for _ in range(80):
            middle = (low + high) / 2
            over = sum(max(a - math.exp(middle) * b, 0.0) for a, b in zip(p, q, strict=True))
            low, high = (middle, high) if over > delta else (low, middle)
        exact = max(exact, high)
    assert found.exact == pytest.approx(exact, abs=1e-9)
    assert 0.8 * exact < found.bound.lower <= exact
    assert (found.quantity, found.at, found.trials) == ("epsilon", delta, 40_000)
    assert not found.refuted  # nothing is promised
    swapped = SIDES._replace(data=1.0, neighbour=0.0)
    again = auditing.audit(table, swapped, trials=40_000, delta=delta, confidence=1 - 1e-6)
    assert again.exact == pytest.approx(exact, abs=1e-9)


def test_the_exact_delta_is_that_of_the_worse_direction():
    found = auditing.audit_delta(_binary(FIRST, SECOND), SIDES, trials=40_000, epsilon=0.4)
    grown = math.exp(0.4)
    one, other = (
        sum(max(a - grown * b, 0.0) for a, b in zip(p, q, strict=True))
        for p, q in ((FIRST, SECOND), (SECOND, FIRST))
    )
    assert one != pytest.approx(other)
    assert found.exact == pytest.approx(max(one, other))
    assert (found.quantity, found.at) == ("delta", 0.4)
    assert "delta at epsilon = 0.4 is at least" in found.summary().sentence


def test_a_bound_above_the_promise_refutes_and_one_at_it_does_not():
    found = auditing.audit("noisy_max", trials=2000)
    assert found.promise is not None
    for lower, refuted in ((0.9, False), (1.0, False), (1.0 + 1e-9, True)):
        promise = found.promise._replace(epsilon=1.0)
        one = found._replace(bound=found.bound._replace(lower=lower), promise=promise)
        assert one.refuted == refuted
        assert ("REFUTED" in one.summary().sentence) == refuted
    (row,) = found.summary().rows
    assert row[2:6] == [found.bound.lower, found.exact, *found.promise]
    assert "epsilon at delta = 0 is at least" in found.summary().sentence


def test_trials_are_as_many_as_the_draws_resolve():
    # A thousandth of the least probability that so many trials show.
    for trials, resolution, refused in ((1000, 1e-6, False), (1001, 1e-6, True)):
        table = _binary(FIRST, SECOND, resolution)
        counts = (np.array([trials // 2, 0, 0]),) * 2
        rest = (np.array([trials - trials // 2, 0, 0]),) * 2
        if refused:
            with pytest.raises(InputError, match="too coarse to audit with 1001 trials"):
                auditing.audit_tallies(table, SIDES, counts, rest)
        else:
            assert auditing.audit_tallies(table, SIDES, counts, rest).trials == trials


def test_a_picture_has_the_event_on_both_sides_and_what_is_allowed():
    found = auditing.audit("noisy_max", trials=20_000)
    (axes,) = found.plot().axes
    k, n, other, m = found.bound.counts
    heights = sorted(float(y) for line in axes.get_lines() for y in np.ravel(line.get_ydata()))
    for share in (k / n, other / m):
        assert any(abs(height - share) < 1e-9 for height in heights)
