"""Figures 2 to 4 of Koskela, Redberg & Wang 2024: values, bounds, audits, drawing."""

import numpy as np
import pytest

from figures import FIGURES, krw24_2, krw24_3, krw24_4
from figures.common import krw24_audits as audits
from figures.common import krw24_shared as shared
from figures.common.figure import records_in, render
from figures.krw24_2 import geometric
from figures.krw24_4 import law_of
from jaxsel.accounting.single_run.conversions import epsilon_at, renyi_to_epsilon
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.repetitions import binomial, poisson
from jaxsel.tuning.bounds.negative_binomial import negative_binomial_renyi
from jaxsel.tuning.bounds.poisson import poisson_renyi
from jaxsel.tuning.bounds.profiles import (
    binomial_profile,
    negative_binomial_profile,
    poisson_profile,
)
from sims import registry
from sims.common.worst_rankings import TARGETS, GaussianBase
from tests.conftest import ALPHA
from tests.figures.sharing import check_laws, whole

NAMES = ("krw24-2", "krw24-3", "krw24-4")
BASE = GaussianBase()
PROFILE = shared.profile(BASE)
MEANS = (30, 300, 3000)
COUNTS = (12, 15, 20, 50, 1000)
MEAN = 10


@pytest.fixture(scope="module")
def records():
    return whole("krw24-2", "krw24-4")


@pytest.fixture(scope="module")
def drawn(records):
    # Fewer means of figure 3: here is tested what is drawn, not how smooth it is.
    with pytest.MonkeyPatch.context() as patch, records_in(records):
        patch.setattr(krw24_3, "_FINE", krw24_3._FINE[::6])
        patch.setattr(krw24_3, "_COARSE", krw24_3._COARSE[::4])
        patch.setattr(krw24_3, "SEARCHED", (30,))
        return {name: render(FIGURES[name]) for name in NAMES}


def line(axes, label):
    (found,) = [each for each in axes.get_lines() if each.get_label() == label]
    return found.get_data()


def near(text: str):
    """The number, to half a unit of the last digit that is given."""
    digits = text.split("e", maxsplit=1)[0].replace(".", "").lstrip("0")
    return pytest.approx(float(text), rel=0.51 / int(digits), abs=0.0)


# --- values of the paper --------------------------------------------------------------

THEOREM = {
    30: ("2.13e-4", "8.85e-9", "8.2e-15"),
    300: (".485", "3.7e-4", "7.2e-9"),
    3000: ("1.000", ".55", "1.2e-4"),
}
RENYI = {
    30: ("1.3e-2", "3.2e-6", "1.7e-11"),
    300: ("1.000", "2.6e-2", "2.7e-6"),
    3000: ("1.000", "1.000", "1.3e-2"),
}


@pytest.mark.parametrize("mean", MEANS)
def test_profiles_of_figure_2(mean, drawn):
    at, law = np.array([2.0, 2.5, 3.0]), geometric(mean)
    theorem = krw24_2.theorem_claim(BASE, law, at)
    renyi = krw24_2.renyi_claim(BASE, law, at)
    assert theorem.tolist() == [near(text) for text in THEOREM[mean]]
    assert renyi.tolist() == [near(text) for text in RENYI[mean]]
    printed, *panels = drawn["krw24-2"].axes
    panel = panels[MEANS.index(mean)]
    for axes, label, claim in (
        (printed, f"Theorem 5.2, m = {mean}", theorem),
        (printed, f"RDP, Theorem 5.1, m = {mean}", renyi),
        (panel, "Theorem 5.2 (claim)", theorem),
        (panel, "RDP, Theorem 5.1 (claim)", renyi),
    ):
        x, y = line(axes, label)
        for epsilon, delta in zip(at, claim, strict=True):
            drawn_there = y[np.isclose(x, epsilon)]
            assert drawn_there == pytest.approx([delta], rel=1e-9)


EPSILONS = {
    "profile": (2.2883, 2.7938, 3.2136),
    "RDP": (2.5551, 3.0442, 3.4536),
    "printed": (2.9965, 3.1866, 3.3657),
    "ratio": (1.8868, 2.3773, 2.8111),
    "envelope": (1.7886, 2.2474, 2.6640),
}


@pytest.mark.parametrize("name", EPSILONS)
def test_epsilons_of_figure_3(name, drawn):
    found = [krw24_3.claim(name, mean) for mean in MEANS]
    assert found == pytest.approx(list(EPSILONS[name]), abs=1e-4)
    x, y = line(drawn["krw24-3"].axes[0], krw24_3.CLAIMS[name])
    claims = np.array([krw24_3.claim(name, mean) for mean in x])
    assert y == pytest.approx(claims, rel=1e-12)
    assert np.all(np.diff(y) > 0.0)


def test_corrected_corollary_is_the_printed_one_times_three_halves():
    for mean in MEANS:
        printed, corrected = (
            krw24_3.claim(n, mean) - 2 * shared.DELTA for n in ("printed", "corollary")
        )
        assert corrected == pytest.approx(1.5 * printed, rel=1e-12)


def test_best_first_epsilons_of_figure_3():
    levels = [
        negative_binomial_profile(PROFILE, 1.0, geometric(mean).parameters["gamma"]).level
        for mean in MEANS
    ]
    assert levels == pytest.approx([0.423, 0.647, 0.819], abs=5.1e-4)


def test_exact_epsilons_of_figure_3():
    texts = [geometric(mean).name for mean in MEANS]
    natural = [shared.natural_epsilon(BASE, text, shared.DELTA) for text in texts]
    assert natural == pytest.approx([1.2358, 1.3427, 1.4423], abs=1e-4)
    for text, block in zip(texts, (1.781, 2.238, 2.653), strict=True):
        worst = shared.adversarial(BASE, text, shared.DELTA)
        bound = shared.envelope_at(BASE, text, shared.DELTA)
        # At least the best order of two blocks; half a percent below the envelope.
        assert max(block, 0.995 * bound) < worst <= bound


def test_epsilons_of_figure_4():
    found = [binomial_profile(PROFILE, n, MEAN / n).epsilon(shared.DELTA) for n in COUNTS]
    assert found == pytest.approx([3.120, 2.705, 2.489, 2.269, 2.181], abs=5.1e-4)
    corollary = poisson_profile(PROFILE, MEAN).epsilon(shared.DELTA)
    assert corollary == pytest.approx(2.1765, abs=1e-4)
    for source, value in (("renyi", 2.5009), ("profile", 2.0394)):

        def claim(epsilon, source=source):
            return krw24_4.renyi_claim(BASE, MEAN, source, np.atleast_1d(epsilon))

        curve = poisson_renyi(shared.guarantee(BASE), MEAN, delta_from=source, monotonised=False)
        epsilon = renyi_to_epsilon(curve, shared.DELTA).epsilon
        assert epsilon == pytest.approx(value, abs=1e-4)
        assert claim(epsilon) == pytest.approx([shared.DELTA], rel=1e-6)


def test_more_concentrated_numbers_of_runs_at_no_cost():
    # At delta = 1e-6 n = 20 costs no more than the Renyi bound for Poisson...
    epsilon = binomial_profile(PROFILE, 20, 0.5).epsilon(shared.DELTA)
    assert krw24_4.renyi_claim(BASE, MEAN, "renyi", np.array([epsilon]))[0] > shared.DELTA
    few = [float(law.cdf(3)) for law in (binomial(20, 0.5), binomial(50, 0.2))]
    assert [*few, float(poisson(10).cdf(3))] == pytest.approx([0.0013, 0.0057, 0.0103], abs=5.1e-5)
    # ... but more than the same theorem with the exact delta_hat (R-KRW-5).
    assert krw24_4.renyi_claim(BASE, MEAN, "profile", np.array([epsilon]))[0] < shared.DELTA


def test_lines_of_figure_4_are_the_claims(drawn):
    axes = drawn["krw24-4"].axes[0]
    for n in COUNTS:
        x, y = line(axes, f"Thm 5.7, n = {n}")
        claim = krw24_4.theorem_claim(BASE, binomial(n, MEAN / n), x)
        assert y == pytest.approx(claim, rel=1e-9)
        found = binomial_profile(PROFILE, n, MEAN / n).epsilon(shared.DELTA)
        assert np.exp(np.interp(found, x, np.log(y))) == pytest.approx(1e-6, rel=0.02)
    for source, label in (("renyi", "δ̂ by Lemma 14"), ("profile", "exact δ̂ (R-KRW-5)")):
        x, y = line(axes, f"RDP, {label}")
        claim = krw24_4.renyi_claim(BASE, MEAN, source, x[::20])
        assert y[::20] == pytest.approx(claim, rel=1e-9)


def test_renyi_conversion_agrees_with_the_accountant():
    curve = negative_binomial_renyi(shared.guarantee(BASE).renyi, 1.0, 1 / 300, monotonised=False)
    for delta in (1e-3, 1e-8):
        epsilon = renyi_to_epsilon(curve, delta).epsilon
        found = epsilon_at(lambda e: shared.renyi_delta(curve, np.atleast_1d(e)), delta)
        assert found == pytest.approx(epsilon, rel=1e-9)


# --- order of the curves --------------------------------------------------------------


@pytest.mark.parametrize("name", ["krw24-2", "krw24-4"])
def test_exact_profiles_lie_below_the_bounds(name, drawn):
    theorem = {
        "krw24-2": "Theorem 5.2 (claim)",
        "krw24-4": "Theorem 5.7, for Poisson Corollary 5.8 (claim)",
    }[name]
    for axes in drawn[name].axes[1:4]:
        x, bound = line(axes, "envelope bound (this project)")
        _, published = line(axes, theorem)
        _, natural = line(axes, "exact, natural order")
        at, worst = line(axes, "exact, adversarial order")
        inside = published >= krw24_2.LOW
        assert np.all(bound[inside] <= published[inside])
        assert np.all(natural[inside] <= bound[inside])
        shown = worst >= krw24_2.LOW
        assert np.all(np.diff(worst) < 0.0)
        there = np.exp(np.interp(at, x, np.log(np.maximum(bound, 1e-300))))
        # The envelope is read between its knots, where its logarithm is concave.
        assert np.all(worst[shown] <= 1.01 * there[shown])
        naturally = np.exp(np.interp(at, x, np.log(np.maximum(natural, 1e-300))))
        assert np.all(naturally[shown] <= 1.01 * worst[shown])


# --- simulated points -----------------------------------------------------------------


LAWS = [
    *(("krw24-2", {"means": mean}, geometric(mean)) for mean in MEANS),
    *(("krw24-4", {"profiled": n}, law_of(n)) for n in ("n = 12", "n = 20", "Poisson")),
]


def seen(records, name: str, place: dict) -> tuple:
    """What was seen of one law of K: in adversarial rankings and in the natural one."""
    found = registry.load(name, records)
    return tuple(found[grid].sel(place) for grid in ("ranked", "natural"))


@pytest.mark.parametrize(("name", "place", "law"), LAWS)
def test_audited_deltas_are_sound_and_see_the_cost_of_tuning(name, place, law, records):
    confidence = 1.0 - ALPHA / (3 * len(TARGETS))
    found = audits.audited_deltas(*seen(records, name, place), BASE, law, confidence)
    for points in found.values():
        assert len(points) == len(TARGETS)
        for each in points:
            assert each.delta <= each.exact
        # Power: the same audit refutes "tuning costs nothing".
        for each in points[:2]:
            assert each.delta > float(PROFILE(np.asarray(each.epsilon)))


def test_audited_epsilons_are_sound_and_see_the_adversary(records):
    confidence = 1.0 - ALPHA / (2 * len(MEANS))
    for name, place, law in LAWS[:3]:
        exact = {
            "natural": shared.natural_epsilon(BASE, law.name, shared.DELTA),
            "adversarial": shared.adversarial(BASE, law.name, shared.DELTA),
        }
        bound = krw24_3.claim("envelope", place["means"])
        found = audits.rankings(*seen(records, name, place))
        lower = {
            ranking: audits.audited_epsilon(each, shared.DELTA, confidence)
            for ranking, each in found.items()
        }
        for ranking in exact:
            assert 0.0 < lower[ranking] <= exact[ranking] <= bound
        if place["means"] > 100:  # power: "the order does not matter" is refuted
            assert lower["adversarial"] > exact["natural"]


@pytest.mark.parametrize("swapped", [False, True])
def test_planned_events_are_those_of_largest_loss(swapped):
    laws = np.array([[0.1, 0.2, 0.7, 0.0], [0.3, 0.5, 0.1, 0.1]])
    laws = laws[::-1] if swapped else laws
    # So many trials lose nothing: {P > 1.5 Q} = {2} is worth 0.55, and
    # {Q > 1.5 P} = {0, 1, 3} is worth 0.45.
    event, bound = audits.planned_event(laws, 10**9, 0.01, lambda p, q: p - 1.5 * q)
    assert event.tolist() == [False, False, True, False]
    assert bound == pytest.approx(0.55, abs=1e-3)
    # If the other side counts for nothing: the likeliest event but the certain one.
    event, _ = audits.planned_event(laws, 10**9, 0.01, lambda p, q: p - 0.0 * q)
    assert event.sum() == 3
    # Ten trials are expected to show nothing: of 7 in 10 the lower limit is 0.30, of 1
    # in 10 the upper limit is 0.50.
    few = audits.planned_event(laws, 10, 0.01, lambda p, q: p - 1.5 * q)[1]
    assert few < 0.0


def test_simulated_numbers_of_runs_agree_with_their_laws(records):
    runs = registry.load("krw24-4", records)["runs"]
    check_laws(runs, ALPHA / runs["law"].size)
    k = np.arange(runs["outcome"].size - 1)
    confidence = 1.0 - ALPHA / (k.size * runs["law"].size)
    for name in runs["law"].values:
        _, low, high = krw24_4.simulated_cdf(runs.sel(law=name), confidence)
        exact = law_of(name).cdf(k)
        assert np.all((low <= exact) & (exact <= high))
        # Power: a law of K whose mean is 5 % larger is rejected.
        wrong = law_of(name, 1.05 * MEAN)
        exact = krw24_4.NUMBER_OF_RUNS.law(wrong, ()).probabilities
        assert goodness_of_fit(runs.sel(law=name).counts, exact) < ALPHA
    # Power: Poisson taken for the binomial law of n = 50.
    _, _, high = krw24_4.simulated_cdf(runs.sel(law="n = 50"), confidence)
    assert np.any(poisson(10).cdf(k) > high)


def test_tallies_follow_their_exact_laws(records):
    for name in ("krw24-2", "krw24-4"):
        found = registry.load(name, records)
        for grid in ("ranked", "natural"):
            check_laws(found[grid], ALPHA / found[grid]["counts"][..., 0].size)
