"""Wishes one by one at their limits, and the laws with a name against a search by hand."""

import math

import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from jaxsel.tuning.planning import named_laws
from jaxsel.tuning.planning.named_laws import FAMILIES, fitted, fitted_negative_binomial, most_runs
from jaxsel.tuning.planning.wishes import (
    WINNER,
    Wishes,
    least_mean,
    rank_reached,
    read_wishes,
    utility,
)

# By hand: K is 1 or 4, each half the time.
HALVES = laws.pmf({1: 0.5, 4: 0.5})
RANK = (1 / 2 + 1 / 5) / 2
HIT = 1 - (0.9 + 0.9**4) / 2  # a best tenth


def _read(**wishes):
    """Wishes by their names alone."""
    winner = {name: wishes.pop(name) for name in WINNER if name in wishes}
    return read_wishes(**wishes, winner=winner or None)


def test_what_a_law_is_worth_by_hand():
    found = utility(HALVES, 0.1)
    assert found.mean_runs == pytest.approx(2.5)
    assert found.runs_95 == 4
    assert found.expected_quantile == pytest.approx(1 - RANK)
    assert found.hit == pytest.approx(HIT)
    assert found.none == 0.0
    # P[K > 1] = 0.05 exactly is few enough, and more is not.
    assert utility(laws.pmf({1: 0.95, 3: 0.05})).runs_95 == 1
    assert utility(laws.pmf({1: 0.94, 3: 0.06})).runs_95 == 3
    assert RANK < rank_reached(HALVES) < RANK + 1e-8


@pytest.mark.parametrize(
    ("met", "missed"),
    [
        ({"runs": 2.5}, {"runs": 2.4999}),
        ({"runs_95": 4}, {"runs_95": 3}),
        ({"most": 4}, {"most": 3}),
        ({"rank": RANK}, {"rank": RANK - 1e-6}),
        ({"good": 0.1, "chance": HIT}, {"good": 0.1, "chance": HIT + 1e-6}),
        ({"good": 0.1, "chance": HIT}, {"good": 0.0999, "chance": HIT}),
        ({"none": 0.0}, None),
    ],
)
def test_a_law_meets_each_wish_up_to_its_limit(met, missed):
    wishes = _read(**met)
    assert wishes.afforded(HALVES)
    assert wishes.good_enough(HALVES)
    if missed is not None:
        wishes = _read(**missed)
        assert wishes.afforded(HALVES) + wishes.good_enough(HALVES) == 1
        dear = set(missed) <= {"runs", "runs_95", "most"}
        assert wishes.afforded(HALVES) != dear


def test_one_search_in_twenty_may_be_longer():
    # P[K > 9] = (1 - p)^9 for geometric K
    for tail, afforded in ((0.049, True), (0.051, False), (0.09, False)):
        law = laws.geometric(1.0 - tail ** (1.0 / 9.0))
        assert Wishes(runs_95=9).afforded(law) == afforded


def test_no_law_without_an_end_is_never_longer():
    assert not Wishes(most=10**9).afforded(laws.parse("poisson:mean=2"))
    assert not Wishes(none=0.1).good_enough(laws.parse("poisson:mean=2"))
    assert Wishes(none=0.14).good_enough(laws.parse("poisson:mean=2"))  # e^-2 = .1353


def test_a_law_is_good_enough_only_if_it_is_in_every_way():
    law = laws.parse("poisson:mean=2")
    rank, none = (1 - math.exp(-2)) / 2, math.exp(-2)
    hit = 1 - math.exp(-2 * 0.1)
    enough = {"rank": rank, "none": none, "good": 0.1, "chance": hit}
    assert Wishes(**enough).good_enough(law)
    for name, worse in (("rank", -1e-4), ("none", -1e-4), ("chance", 1e-4)):
        assert not Wishes(**enough | {name: enough[name] + worse}).good_enough(law)
    few = {"runs": 2.0, "runs_95": 5}
    assert Wishes(**few).afforded(law)
    for name, fewer in (("runs", 1.99), ("runs_95", 4), ("most", 1000)):
        assert not Wishes(**few | {name: fewer}).afforded(law)


def test_wishes_are_kept_as_they_are_read():
    given = {
        "runs": 60.0,
        "runs_95": 90,
        "rank": 0.2,
        "good": 0.05,
        "chance": 0.5,
        "none": 0.0,
        "most": 200,
    }
    assert _read(**given) == Wishes(**given)
    assert read_wishes() == Wishes()
    assert not _read(none=0.1, good=0.1).asks_for_quality
    assert _read(rank=0.5).asks_for_quality
    assert _read(chance=0.5, good=0.1).asks_for_quality


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"runs": 0.99}, "^runs is 0.99"),
        ({"runs_95": 0}, "^runs_95 is 0"),
        ({"rank": 0.0}, "^rank is 0"),
        ({"rank": 0.51}, "^rank is 0.51"),
        ({"good": -0.1}, "^good is -0.1"),
        ({"good": 0.1, "chance": 1.0}, "^chance is 1"),
        ({"good": 0.1, "chance": 0.0}, "^chance is 0"),
        ({"none": -0.1}, "^none is -0.1"),
        ({"none": 1.0}, "^none is 1"),
        ({"most": 0}, "^most is 0"),
        ({"chance": 0.5}, "not of what"),
        ({"runs": 8.99, "rank": 0.1}, "rank of 0.1 takes 9 runs"),
        ({"runs": 6.57, "good": 0.1, "chance": 0.5}, "takes 6.57881 runs .* >= 6.58$"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_by_name(wishes, message):
    with pytest.raises(InputError, match=message):
        _read(**wishes)


def test_wishes_that_some_law_just_meets_are_read():
    for wishes in (
        {"runs": 9.0, "rank": 0.1},
        {"runs": 1.0},
        {"none": 0.0},
        {"rank": 0.5},
        {"runs": 6.58, "good": 0.1, "chance": 0.5},
    ):
        _read(**wishes)


def test_the_smaller_of_a_rank_and_of_a_laws_rank_is_wished():
    # E[1/(K + 1)] of geometric K by its series, with p = 1/9
    reached = 1 / 9 * (math.log(9) - 8 / 9) / (8 / 9) ** 2
    assert _read(rank_of="geometric:mean=9").rank == pytest.approx(reached)
    assert _read(rank_of="geometric:mean=9", rank=0.5).rank == pytest.approx(reached)
    assert _read(rank_of="geometric:mean=9", rank=0.1).rank == 0.1


def test_least_means_by_hand():
    assert least_mean(Wishes()) == 0.0
    assert least_mean(Wishes(rank=0.25)) == pytest.approx(3.0)
    # 1 - (1 - 1/2)^m = 7/8
    assert least_mean(Wishes(good=0.5, chance=0.875)) == pytest.approx(3.0)
    assert least_mean(Wishes(rank=0.1, good=0.5, chance=0.875)) == pytest.approx(9.0)
    assert least_mean(Wishes(rank=0.4, good=0.5, chance=0.875)) == pytest.approx(3.0)
    assert least_mean(Wishes(good=0.5)) == 0.0


# --- Laws with a name -----------------------------------------------------------------


def _means(most):
    return np.exp(np.linspace(0.0, math.log(most), 1_500))


def _made(family, mean):
    try:
        return FAMILIES[family](float(mean))
    except InputError:
        return None


ASKED = [
    Wishes(runs=12.0),
    Wishes(runs=12.0, runs_95=14),
    Wishes(good=0.2, chance=0.7, runs=60.0),
    Wishes(good=0.2, chance=0.7, rank=0.15),
    Wishes(none=0.01, runs=9.0),
    Wishes(rank=0.3, runs_95=12),
]


@pytest.mark.parametrize("family", ["geometric", "poisson", "tnb:eta=2", "logarithmic"])
@pytest.mark.parametrize("wishes", ASKED)
def test_the_fitted_mean_is_that_of_a_search_along_all_means(family, wishes):
    """The least that is good enough, or the largest afforded where nothing else counts."""
    found = fitted(family, wishes)
    kept = [
        mean
        for mean in _means(150.0)
        if (law := _made(family, mean)) is not None
        and wishes.afforded(law)
        and wishes.good_enough(law)
    ]
    if not kept:
        assert found is None
        return
    assert found is not None
    assert found.family == family
    assert wishes.afforded(found.law)
    assert wishes.good_enough(found.law)
    wanted = min(kept) if wishes.asks_for_quality else max(kept)
    assert found.law.mean == pytest.approx(wanted, rel=4e-3)


def test_a_mean_is_written_with_few_digits_where_they_do():
    for family in FAMILIES:  # the most that is afforded, not the search's end beside it
        for runs in (20.0, 12.3456, 33.3):
            found = fitted(family, Wishes(runs=runs))
            assert found is not None
            assert found.law.mean == pytest.approx(runs, rel=1e-14)
    found = fitted("geometric", Wishes(rank=0.2))
    assert found is not None
    # the next number of four digits above the least mean
    assert float(f"{found.law.mean:.4g}") == pytest.approx(found.law.mean, rel=1e-12)
    assert rank_reached(found.law) == pytest.approx(0.2, rel=1e-3)


def test_any_shape_may_be_fitted():
    one = fitted_negative_binomial(2.0, Wishes(rank=0.2))
    listed = fitted("tnb:eta=2", Wishes(rank=0.2))
    assert one is not None
    assert listed is not None
    assert (one.family, one.law.mean) == ("tnb:eta=2", listed.law.mean)
    assert fitted_negative_binomial(-0.5, Wishes(rank=0.2)) is None


def test_nothing_says_how_far():
    with pytest.raises(InputError, match="nothing says how far"):
        fitted("poisson", Wishes(none=0.1))


@pytest.mark.parametrize("price", [1.0, 1.99, 2.0, 2.01, 7.3, 100.0, 4096.5])
def test_most_runs_are_as_many_as_can_be_paid(price):
    asked = []

    def affordable(law):
        asked.append(law.mean)
        return law.mean <= price

    found = most_runs("geometric", Wishes(), affordable)
    assert found is not None
    assert found.family == "geometric"
    assert price / 1.001 <= found.law.mean * (1 + 1e-12) <= price * (1 + 1e-9)
    # bisection, as each price takes seconds
    assert len(asked) <= 30


def test_most_runs_keep_the_other_wishes():
    assert most_runs("geometric", Wishes(), lambda law: False) is None
    found = most_runs("geometric", Wishes(runs=5.0), lambda law: True)
    assert found is not None
    assert found.law.mean == pytest.approx(5.0, rel=1.1e-3)
    assert most_runs("geometric", Wishes(rank=0.01), lambda law: law.mean < 9) is None
    assert most_runs("geometric", Wishes(rank=0.3), lambda law: law.mean < 9) is not None


def test_most_runs_end_where_a_family_does(monkeypatch):
    monkeypatch.setattr(named_laws, "MOST_MEAN", 64.0)
    found = most_runs("geometric", Wishes(), lambda law: True)
    assert found is not None
    assert 32.0 <= found.law.mean <= 128.0
