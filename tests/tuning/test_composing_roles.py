"""The worst combination of roles: against every one of them, and where there are too many."""

import itertools

import numpy as np
import pytest

import jaxsel
from jaxsel.questions.released import Released
from jaxsel.tuning import composing_roles, composing_searches
from jaxsel.tuning.composing_roles import Searched, worst_epsilon

DELTA = 1e-5


def _searched(*roles, times=1):
    return Searched(tuple(tuple(jaxsel.compose(r, epsilon=1.0).releases) for r in roles), times)


def _role(*bases):
    return [jaxsel.release(base) for base in bases]


def _every(searches):
    """The epsilon of each combination, composed by itself."""
    each = [search.roles for search in searches for _ in range(search.times)]
    return [
        Released([part for role in way for part in role]).epsilon(DELTA)
        for way in itertools.product(*each)
    ]


MIXED = (
    _searched(_role("gaussian:noise_multiplier=4"), _role("pure:epsilon=0.3")),
    _searched(_role("pure:epsilon=0.2"), _role("gaussian:noise_multiplier=5", "pure:epsilon=0.1")),
    _searched(_role("approximate:epsilon=0.1,delta=2e-6"), _role("zcdp:rho=0.001"), times=2),
)


@pytest.mark.parametrize("searches", [MIXED[:1], MIXED[:2], MIXED[1:], MIXED])
def test_it_is_the_worst_of_all_combinations(searches):
    found = worst_epsilon(searches, DELTA)
    every = _every(searches)
    assert found.exact
    assert found.epsilon == pytest.approx(max(every), rel=1e-9)
    assert found.epsilon > 1.001 * min(every)


@pytest.mark.parametrize("most", [{"_MOST_COMPOSED": 1}, {"_MOST_LISTED": 3}])
def test_of_too_many_it_is_a_bound(monkeypatch, most):
    for name, value in most.items():
        monkeypatch.setattr(composing_roles, name, value)
    found = worst_epsilon(MIXED, DELTA)
    assert (found.exact, found.combinations) == (False, 12)
    worst = max(_every(MIXED))
    assert worst * (1.0 - 1e-9) <= found.epsilon <= 1.1 * worst


def test_many_unlike_searches(monkeypatch):
    """Eight of two roles: 2^8 combinations, where 200 were once the most."""
    monkeypatch.setattr(composing_roles, "_MOST_LISTED", 200)
    searches = [
        _searched(
            _role(f"gaussian:noise_multiplier={20 + k}"), _role(f"pure:epsilon={0.01 + k / 1e4}")
        )
        for k in range(8)
    ]
    found = worst_epsilon(searches, DELTA)
    assert (found.exact, found.combinations) == (False, 2**8)
    alone = jaxsel.compose([role[0] for role in (each.roles[0] for each in searches)], DELTA)
    assert alone.epsilon <= found.epsilon <= 1.5 * alone.epsilon


def test_the_pairs_of_a_search_are_found_once(monkeypatch):
    made = []

    def once(base, law):
        made.append((base.name, law.mean))
        return base.pairs()

    monkeypatch.setattr(composing_searches, "tuned_pairs", once)
    law = jaxsel.repetitions.parse("point_mass:count=3")
    base = jaxsel.guarantee_of("pure:epsilon=0.1")
    release = composing_searches.Release(base, law)
    found = [composing_searches.release_part(release._replace(times=times)) for times in (1, 2, 1)]
    assert made == [(base.name, 3.0)]
    assert [times for _, times in found] == [1, 2, 1]
    # Another law of the same base is another search.
    other = release._replace(repetitions=jaxsel.repetitions.parse("point_mass:count=2"))
    composing_searches.release_part(other)
    assert len(made) == 2


def test_what_is_proved_of_a_search_is_proved_once_for_each_share_of_delta(monkeypatch):
    asked, proven = [], composing_searches.proven_epsilons

    def counted(base, law, delta):
        asked.append((law.mean, delta))
        return proven(base, law, delta)

    monkeypatch.setattr(composing_searches, "proven_epsilons", counted)
    base = jaxsel.guarantee_of("pure:epsilon=0.1")
    laws = [jaxsel.repetitions.parse(f"point_mass:count={count}") for count in (2, 3)]
    both = [composing_searches.Release(base, law) for law in laws]
    first = composing_searches.summed_epsilon(both, DELTA)
    assert composing_searches.summed_epsilon(both[::-1], DELTA)[0] == pytest.approx(first[0])
    assert asked == [(2.0, DELTA / 2), (3.0, DELTA / 2)]
    each = [composing_searches.summed_epsilon([one], DELTA)[0] for one in both]
    assert asked[2:] == [(2.0, DELTA), (3.0, DELTA)]
    assert each == [proven(base, law, DELTA)[0].epsilon for law in laws]
    assert each[0] < each[1]


def test_nothing_costs_nothing():
    assert worst_epsilon([], DELTA).epsilon == 0.0


def test_at_delta_zero_epsilons_add_up():
    searches = [_searched(_role("pure:epsilon=0.3"), _role("pure:epsilon=0.5"), times=3)]
    assert worst_epsilon(searches, 0.0).epsilon == pytest.approx(1.5)
    assert np.isinf(worst_epsilon(MIXED, 0.0).epsilon)
