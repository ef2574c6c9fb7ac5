"""The ladder of a tuned base: natural <= adversarial <= envelope <= other claims."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from figures.common import krw24_ladder
from figures.common.krw24_ladder import LOOKS, guarantee, ladder
from figures.common.krw24_shared import DELTA
from jaxsel.accounting.single_run.score_pairs import reversed_pair
from jaxsel.repetitions import parse
from jaxsel.tuning.attained.exact_profile import tuned_profile
from sims.common.line_rankings import LAWS, LaplaceBase, StepBase, worst_rankings
from sims.common.worst_rankings import GaussianBase

# Least delta that is drawn, and the rounding up of the envelope's cover.
FLOOR, ROUNDING = 1e-8, 1e-5
BASES = {"gaussian": GaussianBase(), "laplace": LaplaceBase(), "dp-sgd": StepBase()}
NATURAL = ("aligned", "anti-aligned", "independent")
NEGATIVE_BINOMIAL = LAWS[:3]


def _quick(pair, law, delta):
    """A ranking at DELTA from one search on cells: a lower bound, too."""
    (found,) = worst_rankings(pair, law, [1.0], (0,))
    return SimpleNamespace(epsilon=tuned_profile(pair, law, found.order).epsilon(delta))


@pytest.fixture(scope="module", autouse=True)
def _quicker():
    """The refined search takes a second a law; the curves do not use it. And every other
    point of a curve: a ranking is sought at each second one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(krw24_ladder, "_POINTS", 33)
        patch.setattr(krw24_ladder, "adversarial_epsilon", _quick)
        ladder.cache_clear()
        yield
    ladder.cache_clear()


@pytest.mark.parametrize(("base", "text"), list(itertools.product(BASES, LAWS)))
def test_the_rungs_are_in_order_at_every_plotted_epsilon(base, text):
    found = ladder(BASES[base], text)
    assert list(found.deltas) == list(LOOKS) == list(found.at)
    drawn = {name: np.maximum(d, FLOOR) for name, d in found.deltas.items()}
    for name in NATURAL:
        assert np.all(drawn[name] <= drawn["adversarial"])
        assert found.at[name] <= found.at["envelope"]
    assert np.all(drawn["adversarial"] <= drawn["envelope"])
    assert found.at["adversarial"] <= found.at["envelope"]
    for name in ("profile", "RDP"):
        assert np.all(drawn["envelope"] <= drawn[name] * (1.0 + ROUNDING))
        assert found.at["envelope"] <= found.at[name] * (1.0 + ROUNDING)
    # The gap is neither closed nor the whole: both sides say something.
    ratio = drawn["adversarial"] / drawn["envelope"]
    assert 0.0 < np.min(ratio) < 0.5


@pytest.mark.parametrize("text", NEGATIVE_BINOMIAL)
@pytest.mark.parametrize("base", ["gaussian", "dp-sgd"])
def test_profile_beats_printed_renyi_for_negative_binomial_laws(base, text):
    found = ladder(BASES[base], text)
    assert found.theorems == {"profile": "KRW-Thm5.2", "RDP": "PS-Thm2"}
    drawn = [np.maximum(found.deltas[name], FLOOR) for name in ("profile", "RDP")]
    assert np.all(drawn[0] <= drawn[1])
    assert found.at["profile"] < found.at["RDP"]


@pytest.mark.parametrize("text", LAWS[3:5])
def test_renyi_beats_profile_for_poisson_and_binomial_laws(text):
    """Where the exact profile is put into the Renyi bound: not the hoped-for order."""
    found = ladder(BASES["gaussian"], text)
    seen = (found.deltas["RDP"] > FLOOR) & (found.deltas["profile"] < 1.0)
    assert np.count_nonzero(seen) > 10
    assert np.all(found.deltas["RDP"][seen] < found.deltas["profile"][seen])
    assert found.at["RDP"] < found.at["profile"]


@pytest.mark.parametrize(
    ("text", "theorem", "renyi"),
    [
        ("poisson:mean=10", "KRW-Cor5.8", "PS-Thm6-profile"),
        ("binomial:count=20,probability=0.5", "KRW-Thm5.7", "PS-Lem7"),
        ("beta_binomial:count=20,gamma=1", "KRW-N2", "PS-Lem7"),
    ],
)
def test_each_law_has_its_theorems(text, theorem, renyi):
    assert ladder(BASES["gaussian"], text).theorems == {"profile": theorem, "RDP": renyi}


@pytest.mark.parametrize(
    ("text", "envelope", "profile", "renyi"), [("geometric:mean=300", 2.2474, 2.794, 3.044)]
)
def test_values_at_one_in_a_million(text, envelope, profile, renyi):
    assert DELTA == 1e-6
    found = ladder(BASES["gaussian"], text)
    assert found.at["envelope"] == pytest.approx(envelope, abs=1e-4)
    assert found.at["profile"] == pytest.approx(profile, abs=5.1e-4)
    assert found.at["RDP"] == pytest.approx(renyi, abs=5.1e-4)


# --- The base that has no closed form elsewhere ---------------------------------------


def test_one_step_of_dp_sgd_has_the_profile_of_its_densities():
    q, pair = 0.1, BASES["dp-sgd"].pair
    normal = stats.norm
    low, high = -30.0, 31.0
    for epsilon in (0.0, 0.05, 0.1, 0.5, 2.0):
        scale = math.exp(epsilon)

        def removed(z, scale=scale):
            mixed = (1.0 - q) * normal.pdf(z) + q * normal.pdf(z - 1.0)
            return max(0.0, mixed - scale * normal.pdf(z))

        def added(z, scale=scale):
            mixed = (1.0 - q) * normal.pdf(z) + q * normal.pdf(z - 1.0)
            return max(0.0, normal.pdf(z) - scale * mixed)

        # the integrands turn where the loss is epsilon
        turn = 0.5 + math.log1p((scale - 1.0) / q)
        rest = 1.0 - (1.0 - q) * scale
        other = 0.5 + math.log(rest / (scale * q)) if rest > 0.0 else 0.0
        exact = max(
            integrate.quad(f, low, high, points=[at, 0.0], limit=400)[0]
            for f, at in ((removed, turn), (added, other))
        )
        assert pair.loss(np.array(turn)) == pytest.approx(epsilon, abs=1e-12)
        found = float(guarantee(BASES["dp-sgd"]).profile(np.array(epsilon)))
        # its dominating pair connects points of the profile by straight lines
        assert exact * (1.0 - 1e-7) <= found <= exact * 1.005


def test_one_step_of_dp_sgd_has_the_renyi_curve_of_its_densities():
    pair = BASES["dp-sgd"].pair
    for order in (1.5, 2.0, 7.3, 20.0):
        found = []
        for side in (pair, reversed_pair(pair)):

            def density(z, side=side, order=order):
                first, second = (
                    float(law.log_density(np.array(z))) for law in (side.first, side.second)
                )
                return math.exp(order * first + (1.0 - order) * second)

            value = integrate.quad(density, -50.0, 70.0, points=[0.0, order], limit=400)[0]
            found.append(math.log(value) / (order - 1.0))
        curve = float(guarantee(BASES["dp-sgd"]).renyi(np.array(order)))
        # chords between 600 orders lie above
        assert max(found) * (1.0 - 1e-9) <= curve <= max(found) * 1.0005


def test_the_single_direction_of_symmetric_bases_is_both():
    law = parse("geometric:mean=10")
    for name in ("gaussian", "laplace"):
        pair = BASES[name].pair
        assert BASES[name].directions == (0,)
        first, second = worst_rankings(pair, law, [0.3])
        forward = tuned_profile(pair, law, first.order).delta(0.3)
        backward = tuned_profile(reversed_pair(pair), law, second.order).delta(0.3)
        assert float(forward) == pytest.approx(float(backward), rel=2e-3)
