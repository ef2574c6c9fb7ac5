"""What a question is asked with reaches the answer: no setting is lost on the way."""

import math

import numpy as np
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.questions import checkout
from jaxsel.questions.account_grid import GridCost
from jaxsel.questions.cost import saying_something
from jaxsel.questions.releases import may_be_planned

SEARCH = ("pure:epsilon=0.5", "geometric:mean=2")


def test_what_is_attained_is_at_the_point_that_is_asked_for():
    search = jaxsel.tuned(*SEARCH)
    found = search.attained(epsilon=0.2)
    assert 0.0 < found < search.attained(epsilon=0.0) < 1.0
    assert found == jaxsel.account_delta(*SEARCH, 0.2).attained
    assert 0.5 < search.attained(0.05) < search.epsilon(0.05)
    assert math.isnan(jaxsel.account_delta(*SEARCH, 0.2, attain=False).attained)


def test_a_distribution_has_the_interval_that_is_asked_for():
    search = jaxsel.tuned(*SEARCH)
    coarse, fine = (search.pld(interval).get_delta_for_epsilon(0.45) for interval in (0.1, 1e-3))
    assert coarse > fine >= search.delta(0.45) * (1 - 1e-6)
    direct = jaxsel.privacy_loss_distribution(search, interval=0.1)
    assert direct.get_delta_for_epsilon(0.45) == coarse


def test_the_kind_of_a_function_is_as_it_is_said_where_its_names_do_not_tell():
    def noisy(one, two):
        return two[0] + one.laplace(scale=4.0)

    given = {"relation": "general", "claim": 1.0, "trials": 500}
    found = jaxsel.audit(noisy, ([0.0], [1.0]), kind="generator", **given)
    assert not found.refuted
    search = jaxsel.audit(
        noisy, ([0.0], [1.0]), kind="generator", repetitions="point_mass:count=1", **given
    )
    assert not search.refuted
    with pytest.raises(InputError):
        jaxsel.audit(noisy, ([0.0], [1.0]), kind="no kind", **given)


def test_bounds_that_say_nothing_are_left_out():
    (delta, *_), (epsilon, *_) = (
        jaxsel.account_delta(*SEARCH, 0.2, attain=False).bounds,
        jaxsel.account(*SEARCH, 1e-6, attain=False).bounds,
    )
    ends = [delta._replace(delta=one) for one in (0.0, 0.999, 1.0)]
    assert saying_something(ends) == ends[:2]
    ends = [epsilon._replace(epsilon=one) for one in (0.0, 1.0, 500.0, math.inf)]
    assert saying_something(ends) == ends[:3]


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("random", [True, False])
def test_a_grid_says_which_costs_less_only_where_both_are_proved(every, random):
    proved = jaxsel.account(*SEARCH, 1e-6, attain=False)
    nothing = proved._replace(bounds=(proved.best._replace(epsilon=math.inf),))
    cost = GridCost(3, proved if every else nothing, proved if random else nothing, 0.5)
    assert cost.is_proved == (every or random)
    assert any("costs less" in one for one in cost.sentences()) == (every and random)
    rows = cost.summary().rows
    kinds = {row[0] for row in rows}
    assert ("grid" in kinds, "random" in kinds) == (every, random)


@pytest.mark.parametrize("times", [1, 3])
def test_several_releases_of_one_kind_are_several(times):
    one = jaxsel.release("gdp:mu=0.3")
    many = one * times
    assert len(list(many)) == len([*many]) >= 1
    exact = jaxsel.release(f"gdp:mu={0.3 * math.sqrt(times)!r}")
    for epsilon in (0.2, 1.0):
        assert many.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=0.02)
    both = one + jaxsel.release("gdp:mu=0.4")
    exact = jaxsel.release("gdp:mu=0.5")
    assert both.delta(0.5) == pytest.approx(exact.delta(0.5), rel=0.02)
    with pytest.raises(InputError):
        one * 0
    assert np.isfinite(both.epsilon(1e-6))


def test_one_pair_with_a_guarantee_is_enough_to_plan_a_mechanism():
    for name in ("subsampled_exponential", "percentile_pipeline", "private_tuning"):
        entry = jaxsel.mechanism(name).entry
        assert len(list(entry.make_pairs(entry.read({})))) == 1
        assert may_be_planned(entry)


def test_a_cost_of_several_says_what_is_released():
    found = jaxsel.compose(["gdp:mu=0.3", "pure:epsilon=0.1"], 1e-6)
    (said,) = (one for one in found.sentences() if one.startswith("Released: "))
    for release in found.releases:
        assert release.describe() in said


def test_a_folder_that_is_not_beside_the_package_has_nothing(monkeypatch, tmp_path):
    assert checkout.beside("no_such_folder") is None
    assert checkout.found_in("figures")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    (tmp_path / "figures").mkdir()
    assert checkout.found_in("figures") == []  # without a pyproject.toml it is another folder
