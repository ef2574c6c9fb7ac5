"""Which trials an audit uses for what."""

import numpy as np
import pytest

from jaxsel.auditing import audit as auditing
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host.errors import InputError
from jaxsel.kernel.engine import Performance
from jaxsel.language.base import Pair, Relation

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
