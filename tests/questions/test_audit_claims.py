"""What a claim of an audited function says, point by point; and words that nobody else reads."""

import math

import pytest
import scipy.stats

import jaxsel
from jaxsel.auditing.functions.events import Claim
from jaxsel.host.errors import InputError
from jaxsel.questions.all_names import find
from jaxsel.questions.audit_claims import claim_words, claims_of, claims_of_search
from jaxsel.questions.plan_checks import PlanCheck

POINTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def _gaussian_delta(epsilon, mu=1.0):
    """Balle & Wang 2018, Theorem 5."""
    phi = scipy.stats.norm.cdf
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(
    ("claim", "settings", "epsilon"),
    [
        (1.5, {}, 1.5),
        (0, {}, 0.0),
        ("1.5", {}, 1.5),
        ("epsilon", {"epsilon": 0.25, "scale": 4.0}, 0.25),
        ("epsilon", {"epsilon": "0.25"}, 0.25),
        (lambda scale: 1.0 / scale, {"scale": 4.0}, 0.25),
        (lambda scale, epsilon: "epsilon", {"scale": 4.0, "epsilon": 2.0}, 2.0),
    ],
)
@pytest.mark.parametrize("delta", [0.0, 0.125])
def test_a_number_is_one_point(claim, settings, epsilon, delta):
    assert claims_of(claim, delta, settings) == (Claim(epsilon, delta),)
    words = f"epsilon {epsilon:g}" + (" at delta 0.125" if delta else "")
    assert claim_words(claim, delta, settings) == words


def test_a_curve_is_claimed_at_every_point_where_it_says_something():
    found = claims_of("gdp:mu=1", 0.0, {})
    assert [point.epsilon for point in found] == list(POINTS)
    for point in found:
        # The accountant rounds upwards.
        assert point.delta == pytest.approx(_gaussian_delta(point.epsilon), rel=1e-3, abs=1e-9)
    assert claims_of(lambda mu: f"gdp:mu={mu}", 0.0, {"mu": 1}) == found
    assert claim_words("gdp:mu=1", 0.0, {}) == "gdp:mu=1"
    # Where a whole curve is claimed, points at which every event is allowed are left out.
    steps = claims_of("approximate:epsilon=2,delta=0.25", 0.0, {})
    assert [point.epsilon for point in steps] == list(POINTS)
    beyond = [point.delta for point in steps if point.epsilon >= 2.0]
    assert beyond == pytest.approx([0.25] * 4, rel=1e-12)
    assert steps[0].delta == pytest.approx(0.25 + 0.75 * math.tanh(1.0), rel=1e-6)


@pytest.mark.parametrize(
    ("claim", "delta", "settings", "message"),
    [
        (-0.5, 0.0, {}, "claim"),
        (math.nan, 0.0, {}, "claim"),
        (1.0, -0.5, {}, "delta"),
        (1.0, 1.0, {}, "delta"),
        ("gdp:mu=1", 0.25, {}, "leave it out"),
        (lambda scale: scale, 0.0, {"other": 1}, "no function of the settings"),
    ],
)
def test_what_is_no_claim_is_refused(claim, delta, settings, message):
    with pytest.raises(InputError, match=message):
        claims_of(claim, delta, settings)


def test_the_claim_of_a_search_is_its_account():
    law = "geometric:mean=2"
    search = jaxsel.search_cost("pure:epsilon=0.75", law)
    pure = search.epsilon(0.0)
    points, words = claims_of_search("epsilon", 0.0, {"epsilon": 0.75}, law)
    assert [point.epsilon for point in points] == [*(e for e in POINTS if e < pure), pure]
    assert all(point.delta == search.delta(point.epsilon) for point in points[:-1])
    assert points[-1] == Claim(pure, 0.0)
    # Three runs of a geometric K cost thrice a run (Liu & Talwar 2019).
    assert pure <= 3 * 0.75 * (1 + 1e-9)
    assert words == f"the account of {law} runs of pure:epsilon=0.75, epsilon {pure:.4g}"
    with pytest.raises(InputError, match="leave it out"):
        claims_of_search("gdp:mu=1", 0.5, {}, law)


def test_what_is_found_by_name_says_what_it_is():
    (law,) = (one for one in find("geometric") if one.kind == "law of K")
    assert law.summary().sentence == "geometric: a law of K; its parameters follow a colon."
    assert law.value("geometric") is law
    assert law.value("geometric:mean=3").mean == pytest.approx(3.0)
    (base,) = find("GAUSSIAN:noise_multiplier=2")
    assert base.kind == "base"
    assert base.value("gaussian:noise_multiplier=2").name.startswith("gaussian")
    (figure,) = (one for one in find("ps22-2") if one.kind == "figure")
    said = figure.summary().sentence
    assert said.startswith("ps22-2: a figure; ")
    assert "; id " not in said
    for key, value in figure.thing.items():
        if key != "id":
            assert f"{key} {value}" in said
    with pytest.raises(InputError, match="did you mean"):
        find("geometrc")


def test_what_a_check_of_a_plan_says():
    check = PlanCheck(1000, 0.05, 0.51234, 0.4, 0.6, 0.50001, 0.71234, 1.0, True)
    assert check.sentence() == (
        "Simulated: of 1000 searches 0.5123 hit the best 0.05 (exact 0.5). Audited: epsilon is "
        "at least 0.7123, and 1 is proved. Both are as they should be."
    )
    assert check._replace(passed=False).sentence().endswith("is proved. THAT IS WRONG.")


def test_a_grid_tries_every_candidate_and_a_random_search_some():
    found = jaxsel.account_grid("pure:epsilon=0.1", 4, 1e-6)
    assert found.candidates == 4
    assert found.every.epsilon == jaxsel.compose(["pure:epsilon=0.1"] * 4, 1e-6).epsilon
    # K is geometric with mean 4, so that each candidate is missed by f(3/4) = .1875/.4375.
    assert found.random.law.mean == pytest.approx(4.0)
    assert found.tried == pytest.approx(1.0 - 0.1875 / 0.4375)
    costs = {"The grid": found.every.epsilon, "The random search": found.random.epsilon}
    assert found.sentences()[-1] == f"{min(costs, key=costs.get)} costs less."
    record = found.as_record()
    assert record["random"]["probability_that_a_candidate_is_tried"] == found.tried
    assert record["grid"]["epsilon"] == found.every.epsilon
    assert record["random"]["epsilon"] == found.random.epsilon
    named = jaxsel.account_grid("pure:epsilon=0.1", 4, 1e-6, repetitions="point_mass:count=3")
    assert named.tried == pytest.approx(1.0 - 0.75**3)


def test_a_report_reads_what_a_record_is():
    for record in ({}, {"epsilon": 1.0}):
        with pytest.raises(InputError, match="neither a plan"):
            jaxsel.report(record)


def test_the_distribution_of_several_releases_is_of_them_all():
    releases = ["gdp:mu=0.3", "gdp:mu=0.4"]
    found = jaxsel.privacy_loss_distribution(releases)
    for epsilon in (0.25, 1.0):
        exact = _gaussian_delta(epsilon, 0.5)
        assert exact <= found.get_delta_for_epsilon(epsilon) <= exact * 1.05


def test_a_claim_that_is_refused_says_what_it_might_have_been():
    with pytest.raises(InputError, match=r"it has: scale, epsilon\).*did you mean epsilon"):
        claims_of("epsilom", 0.0, {"scale": 1.0, "epsilon": 2.0})
    with pytest.raises(InputError, match="it has: none"):
        claims_of("word", 0.0, {})
    # With parameters it is a guarantee, and what is wrong with it is said by its reader.
    for claim in ("gdp:mu=many", jaxsel.repetitions.geometric(0.5)):
        with pytest.raises(InputError) as caught:
            claims_of(claim, 0.0, {"scale": 1.0})
        assert "a setting of the function" not in str(caught.value)


def test_a_function_of_settings_is_given_those_that_it_takes():
    settings = {"scale": 4.0, "count": 8.0}
    assert claims_of(lambda count, **rest: count / rest["scale"], 0.0, settings) == (
        Claim(2.0, 0.0),
    )
    assert claims_of(lambda **every: len(every), 0.0, settings) == (Claim(2.0, 0.0),)
    assert claims_of(lambda: 3.0, 0.0, settings) == (Claim(3.0, 0.0),)


@pytest.mark.usefixtures("coarse_prices")
def test_the_claim_of_a_search_whose_runs_may_fail_is_a_curve():
    """K = 1: of one run that is (1, 1/8)-private every point is known."""
    law = jaxsel.repetitions.parse("point_mass:count=1")
    points, words = claims_of_search(1.0, 0.125, {}, law)
    assert [point.epsilon for point in points] == list(POINTS)
    assert points[0].delta == pytest.approx(0.125 + 0.875 * math.tanh(0.5), rel=1e-6)
    assert [p.delta for p in points[3:]] == pytest.approx([0.125] * 6, rel=1e-9)
    assert words.endswith("runs of approximate:epsilon=1.0,delta=0.125")
    with pytest.raises(InputError, match=r"nothing is proved of point_mass:count=99 runs"):
        claims_of_search(1.0, 1.0 - 1e-9, {}, "point_mass:count=99")
