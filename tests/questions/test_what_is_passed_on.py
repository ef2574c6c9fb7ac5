"""What a question is asked with reaches the answer: no setting is lost on the way."""

import math
import sys

import numpy as np
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.questions import checkout, released
from jaxsel.questions.account_grid import GridCost
from jaxsel.questions.cost import Cost, saying_something
from jaxsel.questions.releases import may_be_planned
from jaxsel.tuning.accountant import ProvenDelta, ProvenEpsilon
from jaxsel.tuning.bounds.needed import Needed
from tests.releases import one_release

# At any resolution a price is a bound; the fine ones take most of the time.
pytestmark = pytest.mark.usefixtures("coarse_prices")

SEARCH = ("pure:epsilon=0.5", "geometric:mean=2")


def test_what_is_attained_is_at_the_point_that_is_asked_for():
    search = jaxsel.search_cost(*SEARCH)
    found = search.attained(epsilon=0.2)
    assert 0.0 < found < search.attained(epsilon=0.0) < 1.0
    assert found == jaxsel.account(*SEARCH, epsilon=0.2).attained
    assert 0.5 < search.attained(0.05) < search.epsilon(0.05)
    assert math.isnan(jaxsel.account(*SEARCH, epsilon=0.2, attain=False).attained)


def test_a_distribution_has_the_interval_that_is_asked_for(fine_prices):
    search = jaxsel.search_cost(*SEARCH)
    coarse, fine = (search.pld(interval).get_delta_for_epsilon(0.45) for interval in (0.1, 1e-3))
    # A curve is proved by other programs than one delta.
    assert coarse > fine > search.attained(epsilon=0.45)
    assert fine > 0.99 * search.delta(0.45)
    direct = jaxsel.privacy_loss_distribution(search, interval=0.1)
    assert direct.get_delta_for_epsilon(0.45) == coarse


def test_the_kind_of_a_function_is_as_it_is_said_where_its_names_do_not_tell():
    def noisy(one, two):
        return two[0] + one.laplace(scale=4.0)

    given = {"relation": "general", "claim": 1.0, "trials": 500}
    how = "kind=generator"
    assert not jaxsel.audit_function(noisy, [0.0], [1.0], how=how, **given).refuted
    search = f"{how},repetitions=point_mass:count=1"
    assert not jaxsel.audit_function(noisy, [0.0], [1.0], how=search, **given).refuted
    with pytest.raises(InputError):
        jaxsel.audit_function(noisy, [0.0], [1.0], how="kind=none_such", **given)


def test_bounds_that_say_nothing_are_left_out():
    (delta, *_), (epsilon, *_) = (
        jaxsel.account(*SEARCH, epsilon=0.2, attain=False).bounds,
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
        assert len(entry.pairs({})) == 1
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


EPSILON, DELTA = ProvenEpsilon(1.23451, "B", "bee"), ProvenDelta(0.0123451, "B", "bee")


def _search_cost(bound=EPSILON, asked=0.01, law="geometric:mean=3", **more) -> Cost:
    """A cost with numbers by hand: what is said of it does not depend on an accountant."""
    release = one_release("pure:epsilon=0.5", law)
    return Cost((release,), asked, (bound,), "replace_one", **{"single": 0.512341} | more)


def test_the_cost_of_a_search_in_words_is_rounded_to_the_safe_side():
    said = _search_cost(attained=0.98769).sentences()
    assert said[:4] == [
        "The best of K runs is (1.2346, 0.01)-differentially private, by B: bee.",
        said[1],
        "One run without tuning: (0.5124, 0.01). E[K] = 3.",
        "Some base with this guarantee and some ranking of its runs cost 0.9876 exactly: no "
        "bound from it that covers them all is smaller.",
    ]
    assert said[1].startswith("Neighbours: ")
    assert said[4].startswith("Keep K, the other runs and their scores secret: this bound does")
    assert said[5].startswith("The score that ranks the runs must be covered")
    assert len(said) == 6
    said = _search_cost(DELTA, 0.25, attained=0.00987699, attained_from="profile").sentences()
    assert said[0].startswith("The best of K runs is (0.25, 0.01235)-differentially private")
    assert said[2] == "One run without tuning: (0.25, 0.5124). E[K] = 3."
    assert said[3].startswith("Some base with this profile and some ranking of its runs cost ")
    assert " cost delta = 0.009876 exactly" in said[3]
    assert said[4].startswith("The score that ranks the runs must be covered")
    assert len(said) == 5


@pytest.mark.parametrize("theorem", ["composition", "composition-renyi", "JX-Envelope"])
def test_what_covers_every_run_keeps_nothing_secret(theorem):
    said = " ".join(_search_cost(EPSILON._replace(theorem=theorem)).sentences())
    every = theorem != "JX-Envelope"
    assert ("none of it need be secret" in said) == every
    assert ("Keep K" in said) != every


def test_that_nothing_may_be_run_is_said_at_a_delta():
    law = "pmf:0=0.25,3=0.75"
    nothing = "With probability 0.25 nothing is run or released."
    assert nothing in _search_cost(law=law).sentences()
    assert nothing not in _search_cost(DELTA, law=law).sentences()
    assert not any("nothing is run" in one for one in _search_cost().sentences())


def test_a_grid_of_which_nothing_is_proved_says_so():
    for grid, cost in ((math.inf, "nothing is proved here of"), (2.00001, "(2.0001, 0.01) is")):
        said = _search_cost(law="point_mass:count=7", grid=grid).sentences()
        (one,) = (each for each in said if "(--drawn grid:n=7)" in each)
        assert f"draws its candidate at random; {cost}" in one
    said = _search_cost(law="point_mass:count=7").sentences()
    assert not any("--drawn" in each for each in said)


NOTHING = EPSILON._replace(epsilon=math.inf)


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (None, "No known theorem bounds epsilon at delta = 0.01 for this base and K."),
        (
            Needed(0.0, 1e-3, 0.0),
            "No epsilon is proved at delta = 0: a run is not pure. Take delta > 0, or runs with "
            "pure privacy.",
        ),
        (
            Needed(0.0123456, 0.123401, 1.23456e-4),
            "No epsilon is proved at delta = 0.01: one run fails with probability 0.0123, and "
            "the best of K more often. Take delta >= 0.124, or runs with delta <= 0.000123.",
        ),
        (
            Needed(0.5, 1.0, 0.0),
            "No epsilon is proved at delta = 0.01: one run fails with probability 0.5, and the "
            "best of K more often. No delta < 1 would do; take runs with delta = 0.",
        ),
    ],
)
def test_where_nothing_is_proved_it_is_said_what_would_do(needed, said):
    cost = _search_cost(NOTHING, needed=needed)
    assert cost.sentences() == [said, "One run without tuning: (0.5124, 0.01). E[K] = 3."]
    assert cost.as_record()["needed"] == (None if needed is None else needed._asdict())
    assert not cost.is_proved
    vacuous = _search_cost(DELTA._replace(delta=1.0), 0.5)
    assert vacuous.sentences() == ["No known theorem bounds delta at epsilon = 0.5."]


def test_the_record_of_a_cost_has_each_number_under_its_name():
    more = {"attained": 0.75, "grid": 3.5, "score_noise": 4.0, "scores": EPSILON}
    record = _search_cost(law="pmf:0=0.25,3=0.75", **more).as_record()
    score = record.pop("score")
    assert score.startswith("Gaussian noise of standard deviation 4 on the number")
    assert record == {
        "base": "pure:epsilon=0.5",
        "repetitions": record["repetitions"],
        "mean_repetitions": 2.25,
        "relation": "replace_one",
        "probability_of_no_run": 0.25,
        "delta": 0.01,
        "epsilon": 1.23451,
        "theorem": "B",
        "single_run_epsilon": 0.512341,
        "attained_epsilon": 0.75,
        "grid_epsilon": 3.5,
        "score_noise": 4.0,
        "score_epsilon": 1.23451,
        "needed": None,
        "bounds": [EPSILON._asdict()],
    }
    record = _search_cost(DELTA, 0.25, attained=0.0075).as_record()
    assert record.pop("score").startswith("The score that ranks")
    assert record == {
        "base": "pure:epsilon=0.5",
        "repetitions": record["repetitions"],
        "mean_repetitions": pytest.approx(3.0),
        "relation": "replace_one",
        "epsilon": 0.25,
        "delta": 0.0123451,
        "theorem": "B",
        "single_run_delta": 0.512341,
        "attained_delta": 0.0075,
        "bounds": [DELTA._asdict()],
    }


def test_the_record_of_several_releases_names_each():
    one = one_release("pure:epsilon=0.5", None, 2, relation="replace_one")
    search = one_release("gdp:mu=1", "point_mass:count=3", 4)
    record = Cost((one, search), 0.01, (EPSILON, NOTHING), None).as_record()
    assert record.pop("score").startswith("The score that ranks")
    first, second = record.pop("releases")
    assert first == {
        "base": one.base.name,
        "repetitions": None,
        "mean_repetitions": 1.0,
        "times": 2,
        "relation": "replace_one",
    }
    assert second.pop("repetitions")
    assert second == {
        "base": search.base.name,
        "mean_repetitions": 3.0,
        "times": 4,
        "relation": None,
    }
    assert record == {
        "delta": 0.01,
        "epsilon": 1.23451,
        "theorem": "B",
        "relation": None,
        "needed": None,
        "bounds": [EPSILON],
    }
    record = Cost((one,), 0.25, (DELTA,), "replace_one", Needed(0.1, 0.2, 0.3)).as_record()
    assert (record["epsilon"], record["delta"], record["score"]) == (0.25, 0.0123451, None)
    assert record["needed"] == {"failure": 0.1, "delta": 0.2, "run": 0.3, "possible": 0.0}
    assert record["relation"] == "replace_one"


def test_a_search_with_score_noise_costs_the_larger_of_both():
    for scores, both in ((2.00001, "2.0001"), (0.50001, "1.2346")):
        more = {"score_noise": 4.0, "scores": EPSILON._replace(epsilon=scores, theorem="C")}
        said = _search_cost(**more).sentences()[-1]
        assert f"keeps ({math.ceil(scores * 1e4) / 1e4:g}, 0.01) for those examples, by C;" in said
        assert f"the search is ({both}, 0.01)-differentially private for all." in said


def test_what_is_released_is_equal_by_its_releases_and_its_noise():
    one = jaxsel.release("gdp:mu=1", "geometric:mean=3")
    same = one * 1
    noisy = jaxsel.search_cost("gdp:mu=1", "geometric:mean=3", score_noise=2.0)
    assert one == same
    assert hash(one) == hash(same)
    assert one != noisy
    assert hash(one) != hash(noisy)
    assert len({one, same, noisy, one * 2, jaxsel.release("pure:epsilon=1")}) == 4
    assert one != one * 2
    assert one != "gdp:mu=1"
    assert one.__eq__("gdp:mu=1") is NotImplemented
    assert [each.times for each in (one * 2) * 3] == [6]
    assert [each.times for each in one * 2 + jaxsel.release("gdp:mu=1", times=5)] == [2, 5]


def test_one_search_is_a_law_of_runs_released_once():
    search = jaxsel.release("gdp:mu=1", "geometric:mean=3")
    assert search.is_one_search
    for other in (search * 2, search + search, jaxsel.release("gdp:mu=1")):
        assert not other.is_one_search


def test_a_grid_beside_a_search_is_no_larger_than_may_be_composed(monkeypatch):
    three = ("pure:epsilon=0.25", "point_mass:count=3", 0.0)
    assert jaxsel.account(*three, attain=False).grid == pytest.approx(0.75, rel=1e-6)
    monkeypatch.setattr(released, "MOST_TIMES", 3)
    assert jaxsel.account(*three, attain=False).grid == pytest.approx(0.75, rel=1e-6)
    monkeypatch.setattr(released, "MOST_TIMES", 2)
    assert math.isnan(jaxsel.account(*three, attain=False).grid)


def test_a_rate_is_a_number_and_rates_are_an_array():
    one = jaxsel.release("pure:epsilon=1")
    assert isinstance(one.true_positive_rate(0.1), float)
    found = one.true_positive_rate([0.1, 0.2])
    assert found.shape == (2,)
    # Randomised response: e times the rate, as long as that is the smaller of its two sides.
    np.testing.assert_allclose(found, [0.1 * math.e, 0.2 * math.e], rtol=1e-3)
    assert one.advantage() == pytest.approx(math.tanh(0.5), rel=1e-3)


def test_the_default_delta_is_that_of_a_cost_asked_for_nothing():
    search = jaxsel.release("gdp:mu=0.5")
    assert search.cost() is search.cost(1e-6)
    assert search.epsilon() == search.epsilon(1e-6) > search.epsilon(1e-5)
    with pytest.raises(InputError, match="not both"):
        search.cost(0.0, epsilon=0.0)


def test_a_grid_names_its_neighbours_and_what_each_part_costs():
    base = jaxsel.guarantee_of("pure:epsilon=0.1", "replace_one")
    found = jaxsel.account_grid(base, 4, 1e-6, repetitions="point_mass:count=3")
    assert "Neighbours: one record is replaced by another." in found.sentences()[2]
    rows = found.summary().rows
    bounds = [*found.every.bounds, *found.random.bounds]
    assert [list(row[1:]) for row in rows] == [
        [bound.epsilon, bound.theorem] for bound in bounds if math.isfinite(bound.epsilon)
    ]
    record = found.as_record()
    assert record["grid"]["candidates"] == 4
    assert record["grid"]["releases"][0]["times"] == 4
    random = record["random"]
    assert (random["base"], random["relation"]) == ("pure:epsilon=0.1", "replace_one")
    assert (random["mean_repetitions"], random["delta"]) == (3.0, 1e-6)
    assert random["theorem"] == random["bounds"][0].theorem
    alike = found._replace(every=found.random)
    assert alike.sentences()[-1] == "The random search costs less."


def test_what_lies_beside_the_package_is_named_by_its_first_sentence(tmp_path):
    file = tmp_path / "one.py"
    for text, said in (
        ('"""Runs  a\nsearch.\n\nAnd more."""', "Runs a search"),
        ('"""Runs a search."""', "Runs a search"),
        ("x = 1", ""),
    ):
        file.write_text(text)
        assert checkout._first_sentence(file) == said
    sims, figures = checkout.beside("sims"), checkout.beside("figures")
    assert [row["id"] for row in checkout.found_in("sims")] == list(sims.SIMS)
    rows = checkout.found_in("figures")
    assert [row["id"] for row in rows] == list(figures.FIGURES)
    assert [row["title"] for row in rows] == [one.title for one in figures.FIGURES.values()]
    for row in rows + checkout.found_in("sims"):
        assert row["title"]
        assert (checkout.ROOT / row["file"]).is_file()


def test_what_is_attained_is_looked_for_only_where_it_is_read(monkeypatch):
    asked = []
    monkeypatch.setattr(released, "attained", lambda *given: asked.append(given[-1]) or 0.0)
    search = jaxsel.search_cost(*SEARCH)
    search.epsilon(0.01)
    search.delta(0.25)
    assert asked == []
    search.attained(0.01)
    search.attained(epsilon=0.25)
    assert asked == [0.01, 0.25]


def test_a_report_of_something_else_is_refused():
    with pytest.raises(InputError, match="not of a int"):
        jaxsel.report(3)


@pytest.mark.parametrize(
    ("paid", "message"),
    [
        ({"compute": "10:price=20"}, "compute is 10 at a price of 20 a run, which are 0.5"),
        ({"compute": 1e30}, "a run, which are 1e\\+30 runs; give 1 to "),
        ({"compute": {"compute": 10.0, "price": 0.0}}, "price is 0"),
        ({"compute": -1.0}, "compute is -1"),
    ],
)
def test_what_is_paid_for_is_a_number_of_runs(paid, message):
    with pytest.raises(InputError, match=message):
        jaxsel.plan("gaussian", epsilon=1.0, **paid)


def test_a_folder_beside_the_package_is_found_from_any_working_directory(monkeypatch):
    others = [place for place in sys.path if place != str(checkout.ROOT)]
    monkeypatch.setattr(sys, "path", list(others))
    for _ in range(2):
        assert checkout.beside("figures") is not None
        assert sys.path == [*others, str(checkout.ROOT)]
