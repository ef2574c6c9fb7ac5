"""Noise for many releases of a mechanism: each answer by another route."""

import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from scipy import optimize, special, stats

import jaxsel
from jaxsel import catalogue
from jaxsel.accounting.single_run.pure_composition import composed_pure_epsilon
from jaxsel.cli.main import main
from jaxsel.families.top_k.calibration import stable_top_k_calibration
from jaxsel.families.top_k.curves import ApproximateRenyiCurve
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.questions.plan_releases import plan_releases
from jaxsel.questions.release_curves import KnownCurve, known_curve
from jaxsel.questions.releases import (
    OneRelease,
    ProvenReleases,
    ReleasePlan,
    _Search,
    composed,
    one_release,
    widest_relation,
)


def _responses(epsilon: float, count: int):
    """dp-accounting's loss of so many randomised responses, on a lattice of their own."""
    right = float(special.expit(epsilon))
    one = pld_pmf.create_pmf({1: right, -1: 1.0 - right}, epsilon, 0.0, True)
    return privacy_loss_distribution.PrivacyLossDistribution(one).self_compose(count)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Balle & Wang 2018, Theorem 8."""
    normal = stats.norm.cdf
    return float(normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("count", [1, 2, 7, 100])
@pytest.mark.parametrize("epsilon", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.01])
def test_pure_composition_is_that_of_randomised_response(epsilon, count, delta):
    found = composed_pure_epsilon(epsilon, count, delta)
    right = np.arange(count + 1)
    first = stats.binom.pmf(right, count, special.expit(epsilon))
    second = first[::-1]
    spent = np.sum(np.maximum(first - math.exp(found) * second, 0.0))
    assert spent <= delta * (1 + 1e-6) + 1e-14
    if found > 0.0:
        assert spent == pytest.approx(delta, rel=1e-5, abs=1e-13)
    pld = _responses(epsilon, count).get_epsilon_for_delta(delta)
    assert found == pytest.approx(pld, rel=1e-5, abs=1e-6)


def test_pure_composition_at_its_ends():
    assert composed_pure_epsilon(0.5, 8, 0.0) == 4.0
    assert composed_pure_epsilon(0.5, 1, 0.999) == 0.0
    assert composed_pure_epsilon(400.0, 3, 1e-6) == pytest.approx(1200.0)
    # Many small ones are one Gaussian with mu = sqrt(count) epsilon.
    many = composed_pure_epsilon(1e-3, 100_000, 1e-6)
    assert _gaussian_delta(math.sqrt(0.1), many) == pytest.approx(1e-6, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "settings", "factor"),
    [
        ("above_threshold", {}, 1.0),
        ("sparse_vector", {"cutoff": 3}, 1.0),
        ("noisy_max", {"noise": "laplace", "relation": "monotone"}, 1.0),
        ("noisy_max", {"noise": "exponential"}, 1.0),
        ("private_tuning", {"repetitions": "tnb:eta=2,mean=5"}, 4.0),  # eta + 2
        ("selections", {"calls": 2}, 5.0),  # 2 calls + gamma
    ],
)
def test_pure_mechanisms_by_the_loss_distribution(name, settings, factor):
    found = plan_releases(name, epsilon=2.0, delta=1e-6, releases=40, settings=settings)
    (epsilon,) = found.found.values()
    assert found.epsilon <= 2.0
    pure = factor * epsilon
    assert _responses(pure, 40).get_epsilon_for_delta(1e-6) <= 2.0 * (1 + 1e-6)
    assert _responses(1.01 * pure, 40).get_epsilon_for_delta(1e-6) > 2.0


def test_one_pure_release_has_the_whole_budget():
    # The search ends a little below, and six digits are rounded to what holds.
    found = plan_releases("noisy_max", epsilon=1.0, delta=0.0)
    assert (found.found, found.epsilon) == ({"epsilon": 1.0}, 1.0)


def test_nothing_is_gained_at_delta_zero():
    found = plan_releases("sparse", epsilon=3.0, delta=0.0, releases=100)
    assert found.found["epsilon"] == pytest.approx(0.03, rel=1e-5)
    assert found.epsilon <= 3.0


def _range_moment(epsilon: float, order: float) -> float:
    """Largest Renyi divergence of two outcomes with losses t - epsilon and t."""

    def negative(t: float) -> float:
        low = t - epsilon
        # p + q = 1 on either side, with these losses.
        second = -math.expm1(low) / (math.exp(t) - math.exp(low))
        masses = np.array([1.0 - second, second])
        return -math.log(float(np.sum(masses * np.exp(order * np.array([low, t]))))) / (order - 1.0)

    found = optimize.minimize_scalar(
        negative, bounds=(1e-9, epsilon - 1e-9), method="bounded", options={"xatol": 1e-10}
    )
    return -float(found.fun)


@pytest.mark.parametrize(
    ("name", "settings", "range_of"),
    [
        ("noisy_max", {}, lambda found: found["epsilon"]),
        ("noisy_max", {"relation": "monotone"}, lambda found: found["epsilon"]),
        ("largest_gap", {}, lambda found: found["epsilon"]),
        ("exponential_top_k", {"k": 1}, lambda found: 1.0 / found["noise_scale"]),
        (
            "exponential_top_k",
            {"k": 1, "relation": "general"},
            lambda found: 2.0 / found["noise_scale"],
        ),
    ],
)
def test_gumbel_noise_by_the_worst_pair_of_its_range(name, settings, range_of):
    count, delta, target = 50, 1e-6, 2.0
    found = plan_releases(name, epsilon=target, delta=delta, releases=count, settings=settings)
    one = range_of(found.found)

    def cost(epsilon: float) -> float:
        """By hand, order by order: an upper bound."""
        orders = np.linspace(2.0, 40.0, 381)
        return min(
            count * _range_moment(epsilon, a)
            + math.log1p(-1.0 / a)
            - math.log(a * delta) / (a - 1.0)
            for a in orders.tolist()
        )

    assert cost(one) == pytest.approx(target, rel=1e-4)
    assert cost(1.01 * one) > target
    # The zCDP of the theorem alone is never less, and no worse than that by much.
    assert count * one**2 / 8.0 == pytest.approx(count * _range_moment(one, 10.0) / 10.0, rel=0.02)


def test_gumbel_noise_is_never_below_what_an_attack_attains():
    """The same two outcomes every time, composed exactly."""
    found = plan_releases("noisy_max", epsilon=2.0, delta=1e-6, releases=50)
    epsilon = found.found["epsilon"]
    seen = np.arange(51)
    for t in np.linspace(0.05, 0.95, 19) * epsilon:
        low = t - epsilon
        second = -math.expm1(low) / (math.exp(t) - math.exp(low))
        first = stats.binom.pmf(seen, 50, second * math.exp(t))
        other = stats.binom.pmf(seen, 50, second)
        assert np.sum(np.maximum(first - math.exp(2.0) * other, 0.0)) <= 1e-6


@pytest.mark.parametrize("releases", [1, 30])
def test_stable_top_k_is_its_calibration(releases):
    plan = plan_releases("stable_top_k", epsilon=1.5, delta=1e-6, releases=releases)
    known = stable_top_k_calibration(1.5, 1e-6, releases=releases, conversion="sharp")
    assert plan.found["rho"] == pytest.approx(known.rho, rel=1e-5)
    assert plan.settings["delta_t"] == known.delta_t
    assert plan.scales["test_scale"] == pytest.approx(known.test_scale, rel=1e-5)
    fixed = plan_releases("fixed_top_k", epsilon=1.5, delta=1e-6, releases=releases)
    tight = stable_top_k_calibration(1.5, 1e-6, releases=releases, conversion="tight")
    assert fixed.found["rho"] == pytest.approx(tight.rho, rel=1e-5)


def test_tests_for_a_gap_by_hand():
    plan = plan_releases("propose_test_release", epsilon=1.0, releases=20)
    rho = 20 / (2.0 * plan.found["noise_scale"] ** 2)
    assert plan.settings["delta_t"] == 0.5 * 1e-6 / 20
    orders = np.linspace(2.0, 200.0, 200_000)

    def cost(rho: float) -> float:
        bound = rho * orders + np.log1p(-1.0 / orders)
        return float(np.min(bound - np.log(orders * 0.5e-6) / (orders - 1.0)))

    assert cost(rho) == pytest.approx(1.0, rel=1e-5)
    assert cost(1.02 * rho) > 1.0


def test_two_noisy_gaps_are_one_gaussian():
    """Two gaps move by 1 in opposite directions: sqrt 2 of the standard deviation."""
    plan = plan_releases(
        "largest_gap",
        epsilon=1.0,
        delta=1e-5,
        releases=9,
        settings={"noise": "gaussian", "max_size": 2},
    )
    mu = 3.0 * math.sqrt(2.0) / plan.found["noise_scale"]
    assert _gaussian_delta(mu / 1.001, 1.0) <= 1e-5
    assert _gaussian_delta(1.01 * mu, 1.0) > 1e-5


def _laplace_curve(order: float, scale: float) -> float:
    """By quadrature: Laplace noise that moves by 1."""
    x = np.linspace(-60.0 * scale, 60.0 * scale, 2_400_001)
    log_first = -np.abs(x) / scale
    log_second = -np.abs(x - 1.0) / scale
    moment = np.trapezoid(np.exp(order * log_first - (order - 1.0) * log_second), x)
    return math.log(float(moment) / (2.0 * scale)) / (order - 1.0)


@pytest.mark.parametrize("order", [1.5, 4.0, 20.0])
def test_curves_of_other_noises_by_hand(order):
    entry = catalogue.find_mechanism("propose_test_release")
    found = known_curve(
        entry.name, entry.read({"test": "laplace", "noise_scale": 1.3, "delta_t": 0.01})
    )
    assert found is not None
    laplace = _laplace_curve(order, 1.3)
    seen = float(found.curve.renyi(np.asarray(order)))
    assert seen == pytest.approx(laplace, rel=1e-6)
    assert found.curve.failure == 0.01
    # Zhu & Wang 2022, Theorem 8, with m - 1 gaps (R-ZW-3), and the Laplace test.
    entry = catalogue.find_mechanism("stable_top_k")
    given = {
        "selection": "gaussian",
        "test": "laplace",
        "selection_scale": 7.0,
        "test_scale": 1.3,
        "delta_t": 0.01,
        "histogram": "9,7,6,5,3,1",
    }
    for more, gaps in (({}, 5), ({"max_size": 3}, 3)):
        found = known_curve(entry.name, entry.read(given | more))
        assert found is not None
        select = order * 2.0**2 / (2.0 * 7.0**2) + math.log(gaps) / (order - 1.0)
        seen = float(found.curve.renyi(np.asarray(order)))
        assert seen == pytest.approx(select + laplace, rel=1e-6)


def test_labels_of_teachers_are_one_gaussian():
    plan = plan_releases(
        "noisy_labels", epsilon=3.0, delta=1e-5, releases=100, settings={"votes": "9,8,7,1,2"}
    )
    mu = math.sqrt(5 * 100) / plan.found["noise_scale"]
    assert _gaussian_delta(mu, 3.0) <= 1e-5
    assert _gaussian_delta(1.01 * mu, 3.0) > 1e-5


@pytest.mark.parametrize("relation", ["general", "monotone"])
def test_gaussian_noisy_max_against_its_exact_law(relation):
    """Two candidates: the sharpened profile is exact, and composes as one Gaussian."""
    plan = plan_releases(
        "noisy_max",
        epsilon=1.0,
        delta=1e-5,
        releases=25,
        settings={"noise": "gaussian", "relation": relation, "scores": "0,0"},
    )
    assert plan.proof.theorem.startswith("KRW-Thm3.3-dominated")
    scale = plan.found["noise_scale"]
    # Of one Gaussian with all scores, an upper bound.
    length = math.sqrt(2.0) if relation == "general" else math.sqrt(0.5)
    assert _gaussian_delta(5 * length / scale / 1.001, 1.0) > 0.5e-5
    # Which of two wins is one bit: 25 bits, exactly, are a lower bound.
    move = (2.0 if relation == "general" else 1.0) / (math.sqrt(2.0) * scale)
    wins = np.arange(26)
    for start in np.linspace(-4.0, 4.0, 33):
        law = [
            stats.binom.pmf(wins, 25, stats.norm.cdf(start + side * move)) for side in (0.0, 1.0)
        ]
        for first, second in (law, law[::-1]):
            spent = np.sum(np.maximum(first - math.e * second, 0.0))
            assert spent <= 1e-5


def test_more_releases_need_more_noise():
    for name, setting, sign in (
        ("noisy_max", "epsilon", -1),
        ("stable_top_k", "rho", -1),
        ("noisy_labels", "noise_scale", 1),
    ):
        values = [
            plan_releases(name, epsilon=1.0, releases=count).found[setting] for count in (1, 2, 20)
        ]
        assert values == sorted(values, reverse=sign < 0), name


def test_every_mechanism_keeps_the_budget_or_says_why_not(subtests):
    planned = 0
    for entry in catalogue.mechanisms():
        with subtests.test(entry.name):
            try:
                plan = plan_releases(entry.name, epsilon=1.3, releases=3)
            except InputError:
                continue
            planned += 1
            assert not entry.broken
            assert plan.epsilon <= 1.3
            values = entry.read(plan.settings)
            again = composed(one_release(entry, values), 3, 1e-6)
            assert again == plan.proof
            # An epsilon of one release is one of every pair, at delta = 0.
            for pair in entry.pairs(values):
                proven = entry.guarantee(values, pair)
                one = one_release(entry, values)
                assert proven is None or not proven.epsilon > one.pure
    assert planned >= 30


def test_neighbours_are_those_of_the_setting():
    general = plan_releases("noisy_max", epsilon=1.0)
    monotone = plan_releases("noisy_max", epsilon=1.0, settings={"relation": "monotone"})
    assert general.proof.relation is Relation.GENERAL
    assert monotone.proof.relation is Relation.MONOTONE
    assert Relation.MONOTONE.words in str(monotone)
    # At the same guarantee, half of the noise.
    assert general.scales["noise_scale"] == pytest.approx(2.0 * monotone.scales["noise_scale"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("noisy_mox", {}, "there is no mechanism 'noisy_mox'; did you mean noisy_max"),
        ("fixed_repetitions", {}, "is broken"),
        ("query_release", {}, "no pure epsilon or Renyi curve is known"),
        ("dp_sgd", {}, "no pure epsilon or Renyi curve is known"),
        ("noisy_max", {"epsilon": 0}, "epsilon is 0"),
        ("noisy_max", {"delta": 1.0}, "delta is 1"),
        ("noisy_max", {"releases": 0}, "releases is 0"),
        ("noisy_max", {"settings": {"epsiln": 1}}, "did you mean epsilon"),
        ("noisy_max", {"settings": {"scores": "a"}}, "scores is 'a'"),
        ("noisy_max", {"settings": {"epsilon": 1}}, "nothing is left to find"),
        (
            "noisy_max",
            {"settings": {"noise": "gaussian"}, "delta": 0.0},
            "no pure epsilon or Renyi curve",
        ),
        ("stable_top_k", {"delta": 0.0}, "no pure epsilon or Renyi curve"),
        ("stable_top_k", {"settings": {"delta_t": 0.1}}, "at delta = 1e-06"),
        ("noisy_max", {"epsilon": 1e-13, "delta": 0.0}, "take a larger epsilon"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(name, options, message):
    with pytest.raises(InputError, match=message):
        plan_releases(name, **({"epsilon": 1.0} | options))


def test_the_curve_of_an_open_mechanism_needs_its_noise():
    values = catalogue.find_mechanism("noisy_max").read({})
    with pytest.raises(InputError, match="needs a value of 'epsilon'"):
        known_curve("noisy_max", values)


def test_from_the_command_line(capsys):
    line = "plan-releases stable_top_k --epsilon 3 --delta 1e-6 --releases 100"
    with pytest.raises(SystemExit) as ended:
        main([*line.split()])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "100 releases of stable_top_k are (3, 1e-06)" in text
    assert "jaxsel audit stable_top_k delta_t=5e-09 rho=" in text
    with pytest.raises(SystemExit):
        main([*line.split(), "max_size=3", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["settings"]["max_size"] == "3"
    assert document["epsilon"] <= 3.0
    assert document["proof"]["neighbours"] == "monotone"
    assert jaxsel.plan_releases is plan_releases


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--epsilon 1", "Missing argument 'MECHANISM'"),
        ("noisy_max", "Missing option '--epsilon'"),
        ("noisy_max --epsilon 1 --runs 3", "No such option: --runs"),
        ("nothing --epsilon 1", "there is no mechanism"),
        ("noisy_max scores --epsilon 1", "write name=value"),
    ],
)
def test_bad_usage_exits_with_two(line, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["plan-releases", *line.split()])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", [math.e**-2, 1.0, math.e])
def test_a_wish_at_which_the_search_begins_is_met(epsilon):
    plan = plan_releases("above_threshold", epsilon=epsilon)
    assert plan.epsilon == pytest.approx(epsilon, rel=2e-6)


GAUSSIAN_MAXIMUM = ("KRW-Thm3.1", "KRW-Thm3.3-dominated and KRW-Thm3.2-sharp")
SCORES, VOTES = np.zeros(3), np.zeros(4)


@pytest.mark.parametrize(
    ("name", "values", "theorems", "scales"),
    [
        (
            "noisy_max",
            {"noise": "gaussian", "noise_scale": 2.0, "relation": "general", "scores": SCORES},
            GAUSSIAN_MAXIMUM,
            {"noise_scale": 2.0},
        ),
        (
            "largest_gap",
            {"noise": "gaussian", "noise_scale": 3.0, "histogram": VOTES},
            GAUSSIAN_MAXIMUM,
            {"noise_scale": 3.0},
        ),
        (
            "noisy_max",
            {"noise": "gumbel", "noise_scale": 2.0, "relation": "monotone", "scores": SCORES},
            ("NM-gumbel-monotone-zCDP, sharpened as ZW-Prop7-sharp", ""),
            {"noise_scale": 2.0},
        ),
        (
            "largest_gap",
            {"noise": "gumbel", "epsilon": 0.5, "histogram": VOTES},
            ("ZW-Prop7-sharp", ""),
            {"noise_scale": 4.0},
        ),
        # sigma = b = 1/sqrt(rho)
        (
            "stable_top_k",
            {
                "selection": "gumbel",
                "test": "gaussian",
                "rho": 0.25,
                "delta_t": 1e-6,
                "histogram": VOTES,
            },
            ("ZW-Thm11-zCDP, sharpened as ZW-Prop7-sharp", ""),
            {"selection_scale": 2.0, "test_scale": 2.0},
        ),
        (
            "stable_top_k",
            {
                "selection": "laplace",
                "test": "laplace",
                "delta_t": 1e-6,
                "selection_scale": 2.0,
                "test_scale": 5.0,
                "histogram": VOTES,
            },
            ("ZW-Thm8 and ZW-Cor19-Laplace, composed", ""),
            {"selection_scale": 2.0, "test_scale": 5.0},
        ),
        # a quarter, a quarter and a half of rho = 1/2, for two picks
        (
            "fixed_top_k",
            {"rho": 0.5, "delta_t": 1e-6, "k": 2},
            ("ZW-Thm12-zCDP", ""),
            {"selection_scale": 2.0, "test_scale": 2.0, "peeling_scale": 1.0},
        ),
        (
            "propose_test_release",
            {"noise_scale": 4.0, "test": "laplace", "delta_t": 1e-6},
            ("ZW-Cor19-Laplace", ""),
            {"noise_scale": 4.0},
        ),
        (
            "exponential_top_k",
            {"noise_scale": 3.0, "k": 2, "relation": "general"},
            ("BASE-EM-sharp-general", ""),
            {"noise_scale": 3.0},
        ),
        (
            "noisy_labels",
            {"noise_scale": 5.0, "votes": VOTES},
            ("BASE-PATE", "BASE-PATE, as one Gaussian mechanism"),
            {"noise_scale": 5.0},
        ),
    ],
)
def test_what_is_known_of_one_release_says_whose_it_is(name, values, theorems, scales):
    found = known_curve(name, values)
    assert found is not None
    assert (found.theorem, found.profile_theorem) == theorems
    assert dict(found.scales) == pytest.approx(scales)
    assert (found.profile is None) == (not found.profile_theorem)
    if found.profile is not None:
        assert found.profile(1, 0.0) == math.inf
    for claim in re.findall(r"[A-Z]+-[^ ,]+", " ".join(theorems)):
        catalogue.find_claim(claim)


def _plan(releases: int, delta: float, scales: dict) -> ReleasePlan:
    proof = ProvenReleases(1.00001, "T", Relation.MONOTONE)
    one = ProvenReleases(0.50001, "U", Relation.GENERAL)
    given = {"noise": "laplace", "epsilon": 0.25}
    return ReleasePlan("noisy_max", given, {"epsilon": 0.25}, releases, delta, proof, one, scales)


def test_a_plan_in_words_is_rounded_up_and_says_what_to_try():
    neighbours = "Neighbours: every score moves by at most 1, all in the same direction."
    assert _plan(1, 0.0, {}).sentences() == [
        "With epsilon = 0.25, 1 release of noisy_max is (1.0001, 0)-differentially private, by T.",
        neighbours,
        "Try one: jaxsel simulate noisy_max noise=laplace epsilon=0.25",
        "Audit one: jaxsel audit noisy_max noise=laplace epsilon=0.25",
    ]
    assert _plan(2, 1e-6, {"noise_scale": 2.5}).sentences() == [
        "With epsilon = 0.25, 2 releases of noisy_max are (1.0001, 1e-06)-differentially "
        "private, by T.",
        neighbours,
        "Noise of one release: noise_scale 2.5.",
        "One release alone is (0.5001, 1e-06)-differentially private, by U.",
        "Try one: jaxsel simulate noisy_max noise=laplace epsilon=0.25",
        "Audit one: jaxsel audit noisy_max noise=laplace epsilon=0.25 --delta 1e-06",
    ]
    assert _plan(2, 1e-6, {"noise_scale": 2.5}).as_record() == {
        "mechanism": "noisy_max",
        "settings": {"noise": "laplace", "epsilon": "0.25"},
        "found": {"epsilon": 0.25},
        "releases": 2,
        "delta": 1e-6,
        "scales": {"noise_scale": 2.5},
        "proof": {"epsilon": 1.00001, "theorem": "T", "neighbours": "monotone"},
        "one": {"epsilon": 0.50001, "theorem": "U", "neighbours": "general"},
        "epsilon": 1.00001,
        "simulate": "jaxsel simulate noisy_max noise=laplace epsilon=0.25",
        "audit": "jaxsel audit noisy_max noise=laplace epsilon=0.25 --delta 1e-06",
    }


def test_of_all_that_is_proved_of_releases_the_least_is_taken():
    pure = OneRelease(0.5, "C", Relation.GENERAL, None)
    assert composed(pure, 1, 0.0) == (0.5, "C", Relation.GENERAL)
    several = composed(pure, 4, 0.0)
    assert several == (2.0, "C, composed by Kairouz, Oh & Viswanath 2015", Relation.GENERAL)
    failing = ApproximateRenyiCurve(lambda order: 0.01 * order, 0.0078125)
    curve = OneRelease(math.inf, "", Relation.BASE, KnownCurve(failing, "T"))
    # Each of 4 fails with probability 1/128: nothing is left of a delta of 1/32.
    assert composed(curve, 4, 0.03125) == (math.inf, "none", Relation.BASE)
    assert composed(curve, 1, 0.0625).theorem == "T"
    found = composed(curve, 4, 0.0625)
    assert found.theorem == "T, Renyi bounds added up"
    orders = np.linspace(1.01, 100.0, 100_000)
    exact = 0.04 * orders + np.log1p(-1 / orders) - np.log(orders * 0.03125) / (orders - 1)
    assert found.epsilon == pytest.approx(float(np.min(exact)), rel=1e-4)
    known = KnownCurve(failing, "T", profile=lambda n, d: n * d, profile_theorem="P")
    assert composed(curve._replace(known=known), 4, 0.0625) == (0.25, "P", Relation.BASE)
    all_three = OneRelease(0.01, "C", Relation.BASE, known)
    assert composed(all_three, 4, 0.0625).theorem.startswith("C, composed")


def test_one_release_is_as_private_as_its_least_private_pair():
    pairs = [SimpleNamespace(relation=Relation.MONOTONE, at=at) for at in (0.5, 0.75, 0.25)]
    trial = SimpleNamespace(
        pairs=lambda: pairs,
        guarantee=lambda pair: (
            None if pair.at is None else SimpleNamespace(epsilon=pair.at, claim=f"C{pair.at}")
        ),
    )
    entry = SimpleNamespace(name="none of the catalogue", build=lambda values: trial)
    assert one_release(entry, {}) == (0.75, "C0.75", Relation.MONOTONE, None)
    assert widest_relation(pairs) is Relation.MONOTONE
    pairs[2].relation = Relation.GENERAL
    assert widest_relation(pairs) is Relation.GENERAL
    pairs[0].at = None
    assert one_release(entry, {}).pure == math.inf
    pairs[:] = [SimpleNamespace(relation=Relation.BASE, at=0.0)]
    assert one_release(entry, {})[:3] == (math.inf, "", Relation.BASE)
    pairs[:] = [SimpleNamespace(relation=Relation.REPLACE_ONE, at=0.5)]
    assert one_release(entry, {})[:3] == (0.5, "C0.5", Relation.REPLACE_ONE)


def test_a_share_of_delta_that_is_given_is_kept():
    plan = plan_releases("stable_top_k", epsilon=1.0, delta=1e-6, settings={"delta_t": 1e-7})
    assert plan.settings["delta_t"] == 1e-7
    assert plan.epsilon <= 1.0


def test_no_more_sizes_compete_than_there_are_gaps():
    given = {"noise": "gaussian", "noise_scale": 3.0}
    orders = np.array([2.0, 8.0])

    def seen(votes: int, **more: int) -> np.ndarray:
        found = known_curve("largest_gap", given | {"histogram": np.zeros(votes)} | more)
        assert found is not None
        return np.array([found.curve.renyi(np.asarray(order)) for order in orders])

    np.testing.assert_array_equal(seen(6, max_size=9), seen(6))
    np.testing.assert_array_equal(seen(9, max_size=5), seen(6))
    assert np.all(seen(9) > seen(6))
    # Two sizes are the fewest that compete.
    np.testing.assert_array_equal(seen(2), seen(3))


@pytest.mark.parametrize("up", [False, True])
def test_a_setting_is_rounded_to_six_digits_that_keep_the_budget(up):
    """A round number that the search all but reached is taken, if it costs no more."""

    def rounded(value: float, allowed: float) -> float:
        search = SimpleNamespace(cost=lambda x: -x if up else x)
        return _Search._rounded(search, value, up, allowed)  # type: ignore[arg-type]

    # A unit of the sixth digit is a millionth here.
    sign = -1.0 if up else 1.0
    assert rounded(0.125 - sign * 2e-7, sign * 0.125) == 0.125
    farther = 0.125 - sign * 1e-6
    assert rounded(0.125 - sign * 3e-7, sign * 0.125) == pytest.approx(farther, rel=1e-12)
    # Where the round number costs too much, the next one does not.
    almost = 0.125 - sign * 1e-7
    assert rounded(almost, sign * almost) == pytest.approx(farther, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 2.0, 400.0])
def test_a_pure_mechanism_released_once_has_the_budget_as_its_epsilon(epsilon):
    plan = plan_releases("noisy_max", epsilon=epsilon, delta=0.0, settings={"noise": "laplace"})
    assert plan.found == {"epsilon": epsilon}
    assert plan.epsilon == epsilon
