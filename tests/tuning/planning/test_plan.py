"""Plans: each number by another route, and wishes that cannot be met."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

import jaxsel
from jaxsel import account
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.host.errors import InputError
from jaxsel.tuning.planning.base_family import BaseFamily, least_noise, open_base
from jaxsel.tuning.planning.budget import quick_epsilon, read_budget, score_noise
from jaxsel.tuning.planning.named_laws import FAMILIES, fitted
from jaxsel.tuning.planning.wishes import Wishes, least_mean, read_wishes, utility


def _gaussian_delta(noise: float, epsilon: float) -> float:
    """Balle & Wang 2018, Theorem 8."""
    mu = 1.0 / noise
    return float(
        special.ndtr(mu / 2 - epsilon / mu)
        - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu)
    )


def test_utility_of_a_law_by_sums():
    law = laws.parse("tnb:eta=0.5,mean=7")
    counts = np.arange(0, 5000)
    masses = np.asarray(law.pmf(counts))
    found = utility(law, 0.05)
    assert found.expected_quantile == pytest.approx(
        1.0 - np.sum(masses / (counts + 1.0)), rel=1e-10
    )
    assert found.hit == pytest.approx(1.0 - np.sum(masses * 0.95**counts), rel=1e-10)
    above = 1.0 - np.cumsum(masses)
    assert found.runs_95 == int(np.flatnonzero(above <= 0.05)[0])
    assert found.mean_runs == pytest.approx(7.0)


def test_utility_counts_no_run_as_the_worst():
    found = utility(laws.parse("poisson:mean=2"))
    assert found.none == pytest.approx(math.exp(-2))
    # E[1/(K + 1)] of Poisson K is (1 - e^-m)/m.
    assert found.expected_quantile == pytest.approx(1 - (1 - math.exp(-2)) / 2)
    assert found.runs_95 == stats.poisson(2).ppf(0.95)
    assert math.isnan(found.hit)


@pytest.mark.parametrize(
    ("text", "name", "up"),
    [
        ("gaussian", "noise_multiplier", True),
        ("laplace:", "noise_scale", True),
        ("gdp", "mu", False),
        ("zcdp", "rho", False),
        ("pure", "epsilon", False),
        ("approximate:delta=1e-9", "epsilon", False),
    ],
)
def test_the_noise_may_be_left_open(text, name, up):
    family = open_base(text)
    assert isinstance(family, BaseFamily)
    assert (family.name, family.more_is_more_private) == (name, up)
    assert family.at(0.5).name == parse_base(family.written(0.5)).name


def test_a_whole_base_stays_one():
    assert not isinstance(open_base("gaussian:noise_multiplier=4"), BaseFamily)
    with pytest.raises(InputError, match="must look like one of"):
        open_base("gausian")
    with pytest.raises(InputError, match=r"batch_size|sampling probability"):
        open_base("dp_sgd:dataset_size=100,batch_size=600,epochs=60")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_least_noise_of_one_run_by_the_closed_form(epsilon):
    family = open_base("gaussian")
    assert isinstance(family, BaseFamily)
    found = jaxsel.plan("gaussian", epsilon=epsilon, delta=1e-5, runs=2)
    (one,) = [row for row in found.alternatives if row.name.startswith("one run")]
    assert _gaussian_delta(one.noise, epsilon) <= 1e-5 * (1 + 1e-9)
    # Four digits, and no more than a thousandth too much.
    assert _gaussian_delta(one.noise * (1 - 2e-3), epsilon) > 1e-5


def test_least_noise_is_least_where_less_is_more_private():
    family = open_base("pure")
    assert isinstance(family, BaseFamily)
    found = least_noise(family, lambda base: 3.0 * float(base.renyi(np.asarray(np.inf))), 2.0)
    assert 2 / 3 * (1 - 2e-3) <= found <= 2 / 3


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fitted_law_is_the_least_that_is_good_enough(family):
    wishes = read_wishes(winner="rank=0.2")
    law = fitted(family, wishes)
    if family == "tnb:eta=-0.5":
        assert law is None  # its rank stays above 1/3
        return
    assert law is not None
    assert wishes.good_enough(law.law)
    assert not wishes.good_enough(FAMILIES[family](law.law.mean * 0.999))


def test_a_wish_for_few_runs_binds():
    law = fitted("geometric", read_wishes(runs=50, runs_95=20))
    assert law is not None
    assert float(law.law.survival(20)) <= 0.05
    assert float(laws.geometric(1 / (law.law.mean * 1.001)).survival(20)) > 0.05


def test_no_law_of_a_mean_is_better_than_jensen_allows(seed):
    random = np.random.default_rng(seed)
    for _ in range(50):
        counts = np.arange(0, 30)
        masses = random.dirichlet(np.full(counts.size, 0.1))
        rank = float(np.sum(masses / (counts + 1)))
        miss = float(np.sum(masses * 0.9**counts))
        least = least_mean(Wishes(rank=rank, good=0.1, chance=1 - miss))
        assert np.sum(masses * counts) >= least * (1 - 1e-12)


def test_the_plan_keeps_epsilon_and_its_noise_is_least():
    found = jaxsel.plan("gaussian", epsilon=2.0, runs=20, winner="good=0.1", delta=1e-5)
    assert found.epsilon <= 2.0
    chosen = found.chosen
    assert (
        found.epsilon
        == account(parse_base(chosen.base), chosen.law, 1e-5, attain=False).best.epsilon
    )
    for choice in found.choices:
        less = parse_base(f"gaussian:noise_multiplier={choice.noise * (1 - 2e-3)!r}")
        assert account(less, choice.law, 1e-5, attain=False).best.epsilon > 2.0
        # As good as geometric K with twenty runs, and it runs no more.
        # E[1/(K + 1)] by its series, with p = 1/20.
        rank = 1 / 20 * (math.log(20) - 0.95) / 0.95**2
        assert choice.utility.expected_quantile >= 1 - rank - 1e-8
        assert choice.utility.mean_runs <= 20 * (1 + 1e-8)
    noises = [choice.noise for choice in found.choices]
    assert noises == sorted(noises)
    assert found.score_noise == pytest.approx(chosen.noise, rel=3e-3)  # same law, same base


def test_released_runs_cost_their_composition():
    found = jaxsel.plan("gaussian", epsilon=2.0, runs=20, delta=1e-5)
    (grid,) = [row for row in found.alternatives if row.theorem == "composition"]
    count = int(grid.law.mean)
    assert str(count) in grid.name
    # n Gaussian runs are one with noise smaller by sqrt(n).
    one = grid.noise / math.sqrt(count)
    assert _gaussian_delta(one, 2.0) <= 1e-5 * (1 + 1e-6)
    assert _gaussian_delta(one * (1 - 2e-3), 2.0) > 1e-5


def test_the_least_epsilon_and_the_best_winner():
    run = "gaussian:noise_multiplier=3"
    cheapest = jaxsel.plan(run, runs=10)
    assert cheapest.epsilon == min(choice.epsilon for choice in cheapest.choices)
    assert math.isnan(cheapest.chosen.noise)
    limits = {"epsilon": 1.01 * cheapest.epsilon, "winner": "good=0.05", "runs_95": 20}
    best = jaxsel.plan(run, **limits)
    assert best.epsilon <= limits["epsilon"]
    assert best.chosen.utility.hit == max(c.utility.hit for c in best.choices)
    assert all(choice.utility.runs_95 <= 20 for choice in best.choices)
    fewer = jaxsel.plan(run, **limits, runs=6)
    assert fewer.chosen.utility.mean_runs <= 6 * (1 + 1e-8)
    assert fewer.chosen.utility.hit < best.chosen.utility.hit


@pytest.mark.parametrize(
    ("base", "wishes", "message"),
    [
        ("gaussian", {"runs": 5}, "leaves noise_multiplier open, and there is no eps"),
        ("gaussian", {"epsilon": 1}, "nothing says how far"),
        ("gaussian:noise_multiplier=4", {}, "neither an epsilon"),
        ("gaussian:noise_multiplier=1", {"epsilon": 1}, "one run alone costs 4.8"),
        ("gaussian", {"epsilon": 1, "winner": "chance=0.9"}, "say which share"),
        ("gaussian", {"epsilon": 1, "runs": 5, "winner": "rank=0.1"}, "take runs >= 9"),
        (
            "gaussian",
            {"epsilon": 1, "runs": 30, "winner": "good=0.05,chance=0.9"},
            "takes 44.8.* whatever the law",
        ),
        (
            "gaussian",
            {"epsilon": 1, "runs": 45, "winner": "good=0.05,chance=0.9"},
            "Poisson K is from runs = 46.06 with runs-95 = 57 on",
        ),
        (
            "gaussian",
            {"epsilon": 1, "runs": 10, "runs_95": 2, "winner": "rank=0.1"},
            "Poisson K is from runs = 10 ",
        ),
        ("gaussian", {"epsilon": 0, "runs": 5}, "epsilon is 0"),
        ("gaussian", {"epsilon": 1, "runs": 5, "delta": 1.0}, "delta is 1"),
        ("gaussian", {"epsilon": 1, "runs": 5, "delta": 0.0}, "is not reached for any"),
    ],
)
def test_what_cannot_be_planned_says_what_can(base, wishes, message):
    with pytest.raises(InputError, match=message):
        jaxsel.plan(base, **wishes)


def test_a_pure_plan_has_no_gaussian_noise_on_scores():
    found = jaxsel.plan("pure", epsilon=2.0, delta=0.0, runs=50)
    assert math.isnan(found.score_noise)
    # (eta + 2) epsilon proves 2 with epsilon = 2/3; the envelope knows more.
    (geometric,) = [row for row in found.choices if row.name == "geometric"]
    assert 2 / 3 < geometric.noise < 0.7


@pytest.mark.parametrize("base", ["laplace:noise_scale=2", "pure:epsilon=0.5"])
def test_the_quick_bound_of_a_fixed_number_of_runs_is_their_sum(base):
    """Without delta the envelope of so many says nothing, and composition does."""
    law = laws.parse("point_mass:count=5")
    assert quick_epsilon(parse_base(base), law, 0.0) == pytest.approx(2.5)


def test_the_quick_bound_is_a_bound_and_near():
    base, law = (parse_base("gaussian:noise_multiplier=4"), laws.parse("geometric:mean=10"))
    best = account(base, law, 1e-5, attain=False).best.epsilon
    assert best <= quick_epsilon(base, law, 1e-5) <= 1.1 * best
    # where runs fail, the account of what does not
    base = parse_base("approximate:epsilon=0.1,delta=1e-8")
    best = account(base, law, 1e-5, attain=False).best.epsilon
    assert quick_epsilon(base, law, 1e-5) == best


@pytest.mark.parametrize("noise", [0.7, 1.0, 1.6, 2.0, 3.3])
def test_noise_of_scores_is_that_of_a_gaussian_where_one_run_is_made(noise):
    delta = 1e-5
    epsilon = optimize.brentq(lambda e: _gaussian_delta(noise, e) - delta, 0.0, 50.0)
    budget = read_budget("gaussian", delta, float(epsilon), Wishes(runs=1.0))
    found = score_noise(budget, laws.parse("point_mass:count=1"), float(epsilon))
    assert noise * (1 - 1e-6) <= found <= noise * 1.002


def test_a_plan_prints():
    text = str(jaxsel.plan("gaussian", epsilon=3, runs=50, winner="good=0.05"))
    assert "Run gaussian:noise_multiplier=" in text
    assert "one run, no search" in text


def test_a_search_for_noise_begins_where_the_ones_before_it_say():
    """Costs of other laws fall alike, so that two or three of them are enough."""
    family, costs = open_base("gaussian"), []
    assert isinstance(family, BaseFamily)

    def cost(factor):
        def found(base):
            costs.append(base)
            mu = base.epsilon(1e-3)
            return factor * mu / (1.0 + 0.3 * mu)

        return found

    first = least_noise(family, cost(1.0), 0.5)
    for factor, most in ((1.2, 3), (0.9, 3)):
        costs.clear()
        found = least_noise(family, cost(factor), 0.5, near=first)
        assert len(costs) <= most + 1
        assert cost(factor)(family.at(found)) <= 0.5
        assert cost(factor)(family.at(0.996 * found)) > 0.5
