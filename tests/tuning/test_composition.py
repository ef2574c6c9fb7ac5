"""Composed searches where closed forms or dp-accounting know the answer."""

import math
import re

import numpy as np
import pytest
from dp_accounting import dp_event
from scipy import stats

import jaxsel
from jaxsel import repetitions
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.curves import from_pairs
from jaxsel.accounting.single_run.divergences import hockey_stick
from jaxsel.accounting.single_run.dominating import (
    DominatingPair,
    pair_delta,
    pair_from_laws,
    reversed_pair,
)
from jaxsel.accounting.single_run.loss_distributions import composed_distribution
from jaxsel.cli.main import main
from jaxsel.host.errors import InputError
from jaxsel.questions import released
from jaxsel.tuning import composing_searches
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds.needed import Needed
from jaxsel.tuning.tuned_guarantee import tuned_pairs, tuned_profiles
from tests.releases import one_release


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Balle & Wang 2018, Theorem 8."""
    normal = stats.norm.cdf
    return float(normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu))


pytestmark = pytest.mark.usefixtures("coarse_prices")


def test_a_search_has_a_pair_in_each_direction():
    """A base that favours one direction: the other is bounded, too."""
    first, second = np.array([0.3, 0.7]), np.array([0.02, 0.98])
    one = pair_from_laws(first, second)
    base = from_pairs("a pair", lambda: (one, reversed_pair(one)))
    law = repetitions.geometric(0.3)
    pairs = tuned_pairs(base, law)
    assert len(pairs) == 2
    sides = tuned_law(first, law), tuned_law(second, law)
    levels = np.array([0.0, 0.3, 1.0, 2.0])
    orders = (sides, (sides[1], sides[0]))
    for pair, (one_side, other) in zip(pairs, orders, strict=True):
        exact = hockey_stick(one_side, other, levels)
        assert np.all(pair_delta(pair, levels) >= exact - 1e-12)
    # Each direction is bounded by itself: together they are not symmetric.
    assert not np.allclose(pair_delta(pairs[0], levels), pair_delta(pairs[1], levels))


def _by(cost, theorem: str) -> float:
    return next(b.epsilon for b in cost.bounds if b.theorem == theorem)


def test_searches_of_one_run_are_gaussian_releases():
    """K = 1: sixteen of them are one Gaussian with four times the mu."""
    one = one_release("gaussian:noise_multiplier=8", "pmf:1=1", 16)
    found = _by(jaxsel.compose(one, 1e-6), "JX-Composition")
    assert _gaussian_delta(4.0 / 8.0, found) <= 1e-6
    assert _gaussian_delta(4.0 / 8.0, 0.999 * found) > 1e-6 * (1 - 1e-2)


def test_one_search_is_its_profile():
    release = one_release("gaussian:noise_multiplier=4", "geometric:mean=10")
    assert release.repetitions is not None
    (profile,) = tuned_profiles(release.base, release.repetitions)
    found = _by(jaxsel.compose(release, 1e-6), "JX-Composition")
    assert float(profile(np.asarray(found))) <= 1e-6 * (1 + 1e-6)
    assert float(profile(np.asarray(0.999 * found))) > 1e-6


def test_several_bounds_stand_beside_each_other():
    """The best of many searches is by no bound worse than the sum of all."""
    search = one_release("gaussian:noise_multiplier=8", "geometric:mean=30", 16)
    beside = one_release("gdp:mu=0.05")
    found = jaxsel.compose([search, beside], 1e-6)
    assert {b.theorem for b in found.bounds} == {"JX-Composition", "composed-renyi", "composed-sum"}
    assert found.best.epsilon == min(b.epsilon for b in found.bounds)
    alone = jaxsel.compose([search], 1e-6)
    for bound in alone.bounds:
        assert bound.epsilon < _by(found, bound.theorem)
    assert _by(alone, "JX-Composition") < 0.7 * _by(alone, "composed-sum")


def test_distributions_compose_elsewhere_as_here():
    search = one_release("gaussian:noise_multiplier=8", "geometric:mean=3")
    one = jaxsel.privacy_loss_distribution(search)
    there = one.self_compose(4).get_epsilon_for_delta(1e-6)
    here = _by(jaxsel.compose(search._replace(times=4), 1e-6), "JX-Composition")
    assert there == pytest.approx(here, rel=1e-6)


def test_events_of_dp_accounting_are_releases():
    event = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(8.0), 9.0, 1.0)
    composed = dp_event.SelfComposedDpEvent(event, 3)
    found = jaxsel.compose(composed, 1e-6)
    search = one_release("gaussian:noise_multiplier=8", "geometric:mean=9", 3)
    assert found.best.epsilon == pytest.approx(jaxsel.compose(search, 1e-6).best.epsilon, rel=1e-5)


@pytest.mark.parametrize(
    ("releases", "message"),
    [
        ([], "nothing is released"),
        ([{"base": "gdp:mu=1", "times": 0}], "times is 0"),
        ([{"base": "gdp:mu=1", "repetition": "x"}], "did you mean repetitions"),
        ([{"base": "gdp:mu=1", "repetitions": "poisson:mean=0"}], r"mean|always 0"),
        (
            [
                {"base": "gdp:mu=1", "relation": "replace_one"},
                {"base": "gdp:mu=1", "relation": "add_or_remove_one"},
            ],
            "replace_one",
        ),
    ],
)
def test_what_cannot_be_composed_is_one_sentence(releases, message):
    with pytest.raises(InputError, match=message):
        jaxsel.compose(releases, 1e-6)


@pytest.mark.parametrize("delta", [1.0, 1.5, -1e-9])
@pytest.mark.parametrize("compose", [jaxsel.compose, composing_searches.compose_searches])
def test_delta_is_a_chance_below_one(compose, delta):
    with pytest.raises(InputError, match="delta is"):
        compose([one_release("pure:epsilon=1")], delta)
    assert jaxsel.compose([one_release("pure:epsilon=1")], 0.0).epsilon == pytest.approx(1.0)


def test_no_share_without_a_number_is_a_split():
    release = one_release("gdp:mu=1")
    assert composing_searches._within([2.0, 3.0], [release, release], 5.0)
    assert not composing_searches._within([2.0, 3.0], [release, release], 4.999)
    assert not composing_searches._within([3.0], [release._replace(times=2)], 5.0)
    for value in (math.inf, math.nan, -math.inf):
        assert not composing_searches._within([value, 1.0], [release, release], 5.0)


@pytest.mark.parametrize("proved", [True, False])
def test_what_is_needed_is_said_where_nothing_is_proved(monkeypatch, proved):
    """Even if but one of the three bounds says something, nothing more is needed."""
    needed = Needed(failure=0.0, delta=0.0, run=0.0)
    total = 2.0 if proved else math.inf
    for name, found in (
        ("summed_epsilon", (total, [])),
        ("composed_renyi_epsilon", (math.inf, [])),
        ("composed_epsilon", math.inf),
    ):
        monkeypatch.setattr(composing_searches, name, lambda *given, found=found: found)
    for module in (composing_searches, released):
        monkeypatch.setattr(module, "needed_composed", lambda *given: needed)
    cost = jaxsel.compose([one_release("gdp:mu=1")], 1e-6)
    assert cost.best.epsilon == total
    assert cost.needed == (None if proved else needed)


def _geometric_fails(mean: float, failure: float) -> float:
    """1 - E[(1 - failure)^K], from the probabilities of K themselves."""
    count = np.arange(1, 4000)
    chance = (1.0 - 1.0 / mean) ** (count - 1) / mean
    return float(np.sum(chance * -np.expm1(count * math.log1p(-failure))))


_FAILING = [
    (
        [("approximate:epsilon=0.3,delta=1e-5", "geometric:mean=12", 17)],
        1.0 - (1.0 - _geometric_fails(12.0, 1e-5)) ** 17,
    ),
    (
        [
            ("approximate:epsilon=0.3,delta=1e-3", "geometric:mean=12", 2),
            ("approximate:epsilon=1,delta=0.1", None, 3),
        ],
        1.0 - (1.0 - _geometric_fails(12.0, 1e-3)) ** 2 * 0.9**3,
    ),
    # With probability 1 - 0.99^5 the best of five fails: Lemma 20 has no closed form, and
    # the envelope says 5 * 0.01.
    ([("approximate:epsilon=0.3,delta=0.01", "point_mass:count=5", 3)], None),
    (
        [
            ("approximate:epsilon=0.3,delta=0.01", "poisson:mean=4", 3),
            ("gaussian:noise_multiplier=3", None, 1),
        ],
        1.0 - math.exp(-3 * 4 * 0.01),
    ),
]


@pytest.mark.parametrize(("releases", "fails"), _FAILING)
def test_where_nothing_is_proved_the_delta_that_would_do_is_named(releases, fails):
    """At the delta of the sentence something is proved; just below it nothing can be."""
    listed = [one_release(*each) for each in releases]
    found = jaxsel.compose(listed, 1e-6)
    assert not math.isfinite(found.best.epsilon)
    assert found.summary().rows == []
    said = re.search(r"Take delta >= (\S+), or runs", found.sentences()[0])
    assert said is not None
    delta = float(said[1])
    assert math.isfinite(jaxsel.compose(listed, delta).best.epsilon)
    if fails is not None:
        assert fails <= delta <= 1.01 * fails
        below = jaxsel.compose(listed, fails * (1.0 - 1e-6))
        assert not math.isfinite(below.best.epsilon)


def test_nothing_is_tried_where_nothing_can_be_proved(monkeypatch):
    """The answer comes at once: no program is solved, no Renyi curve looked at."""
    for name in ("summed_epsilon", "composed_renyi_epsilon", "composed_epsilon"):
        monkeypatch.setattr(composing_searches, name, None)
    base = "approximate:epsilon=3.572,delta=4.752e-06"
    search = one_release(base, "tnb:eta=0.2805,mean=103.1", 17)
    found = jaxsel.compose(search, 1e-6)
    assert [bound.epsilon for bound in found.bounds] == [math.inf] * 3


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_the_command_says_what_would_do_and_exits_as_for_one_search(capsys, json):
    arguments = [
        "account",
        "--base",
        "approximate:epsilon=0.3,delta=1e-5",
        "--repetitions",
        "geometric:mean=12",
        *json,
    ]
    answers = []
    for times in ("1", "17"):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--times", times])
        answers.append((ended.value.code, capsys.readouterr().out))
    (one, _), (several, said) = answers
    assert one == several == 1
    if json:
        assert '"bounds": []' in said
    else:
        assert "Take delta >= 0.00204" in said
        assert "Every bound that applies" not in said
        assert "inf" not in said


@pytest.mark.parametrize(
    ("releases", "delta"),
    [
        ([("approximate:epsilon=1,delta=0.05", "point_mass:count=1000", 2)], 1e-6),
        (
            [
                ("approximate:epsilon=1,delta=0.9", "point_mass:count=30", 2),
                ("gaussian:noise_multiplier=1", None, 1),
            ],
            1e-6,
        ),
        ([("approximate:epsilon=2.666,delta=0.007914", "poisson:mean=166.4", 39)], 0.00358),
    ],
)
def test_runs_that_nearly_always_fail_are_answered(releases, delta):
    """float64 rounds their failures to 1: no logarithm of 0 is taken."""
    listed = [one_release(*each) for each in releases]
    found = jaxsel.compose(listed, delta)
    assert not math.isfinite(found.best.epsilon)
    assert "No delta < 1 would do" in found.sentences()[0]
    assert composing_searches.composed_renyi(listed).lost == 1.0
    for epsilon in (0.0, 3.0):
        back = composing_searches.composed_renyi_delta(listed, epsilon)
        assert back == (1.0, [])


@pytest.mark.parametrize("mass", [0.0, 1e-20, 1e-17, 1e-3])
@pytest.mark.parametrize("losses", [[0.5], [-3.0, 3.0]])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_pair_that_is_all_but_singular_is_composed(mass, losses, times):
    """Its finite losses weigh less than what is cut off of a convolution."""
    loss = np.array([*losses, math.inf])
    first = np.array([mass] * len(losses) + [1.0 - mass * len(losses)])
    second = np.append(first[:-1] * np.exp(-loss[:-1]), 0.0)
    pair = DominatingPair(loss, first, second)
    build = curves.gaussian(1.0).pairs
    assert build is not None
    (other,) = build()
    exact = 1.0 - (mass * len(losses)) ** times
    for pairs in ((pair,), (pair, reversed_pair(pair))):
        alone = composed_distribution([(pairs, times)])
        beside = composed_distribution([((other,), 2), (pairs, times)])
        for found in (alone, beside):
            deltas = [float(found.get_delta_for_epsilon(e)) for e in (0.0, 0.7, 2.0)]
            assert min(deltas) >= exact - 1e-15
            assert max(deltas) <= 1.0 + 1e-13  # a sum that dp-accounting rounds
            assert found.get_epsilon_for_delta(0.5 * exact) == math.inf
