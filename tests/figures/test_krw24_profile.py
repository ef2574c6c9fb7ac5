"""What tuning really costs: audits below exact values, and what is drawn."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from figures import krw24_profile as figure
from figures import krw24_profile_dp_sgd, krw24_profile_laplace
from figures.common import krw24_ladder
from figures.common.krw24_ladder import LOOKS, guarantee, ladder
from jaxsel.pictures import style
from jaxsel.tuning.attained.exact_profile import tuned_profile
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from sims.common.line_rankings import LAWS, LaplaceBase, StepBase, worst_rankings
from sims.common.worst_rankings import TARGETS, GaussianBase
from sims.experiment import compute
from tests.conftest import ALPHA, seed
from tests.figures.sharing import check_laws

TRIALS = 100_000
BASE = GaussianBase()


def _quick(pair, law, delta):
    """The refined search takes half a second a law; this is a lower bound, too."""
    level = envelope_epsilon(base_envelopes(guarantee(BASE), law), delta)
    (found,) = worst_rankings(pair, law, [level], (0,))
    return SimpleNamespace(epsilon=tuned_profile(pair, law, found.order).epsilon(delta))


@pytest.fixture(scope="module", autouse=True)
def _quicker():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(krw24_ladder, "adversarial_epsilon", _quick)
        ladder.cache_clear()
        yield
    ladder.cache_clear()


@pytest.fixture(scope="module")
def released():
    return compute(figure.released, trials=TRIALS, seed=seed(), progress=False)


def test_tallies_follow_their_exact_laws(released):
    check_laws(released, ALPHA)


def test_audits_lie_below_exact_values_below_the_adversary(released):
    count = 2 * len(TARGETS) * len(LAWS)
    for law in LAWS:
        rungs = ladder(BASE, law)
        found = figure.audited(released.sel(law=law), rungs, 1.0 - ALPHA / count)
        assert len(found["adversarial"]) == len(TARGETS)
        natural = np.maximum(rungs.deltas["aligned"], rungs.deltas["anti-aligned"])
        for kind, exact in (("adversarial", rungs.deltas["adversarial"]), ("natural", natural)):
            for each in found[kind]:
                assert each.delta <= each.exact
                # curves are read by straight lines in log delta
                seen = exact > 1e-9
                read = np.interp(each.epsilon, rungs.epsilons[seen], np.log(exact[seen]))
                # the line may pass a little below, and cells lose a little
                assert each.exact <= np.exp(read) * 1.15
                assert each.exact >= np.exp(read) * 0.6


def test_audits_have_power(released):
    # What the two limits of an audit and their luck may cost, a share of any event.
    z = stats.norm.isf(0.05 / 4.0) + stats.norm.isf(ALPHA / 24.0)
    for law in LAWS:
        for points in figure.audited(released.sel(law=law), ladder(BASE, law)).values():
            slack = z * 0.5 * (1.0 + math.exp(points[0].epsilon)) / math.sqrt(TRIALS)
            assert points[0].delta > points[0].exact - slack > 0.0


def test_drawing(released):
    with style.applied():
        canvas = figure.draw(released)
    assert len(canvas.axes) == len(LAWS)
    for axes, text in zip(canvas.axes, LAWS, strict=True):
        rungs = ladder(BASE, text)
        labels = [each.get_text() for each in axes.get_legend().get_texts()]
        for label, name in zip(labels, LOOKS, strict=True):
            assert label.endswith(f"{rungs.at[name]:.3f}")
        lines = {line.get_label(): line for line in axes.get_lines()}
        for label, name in zip(labels, LOOKS, strict=True):
            drawn = np.asarray(lines[label].get_ydata())
            shown = drawn > axes.get_ylim()[0]
            assert np.array_equal(drawn[shown], rungs.deltas[name][shown])
        points = [line for line in axes.get_lines() if line.get_marker() in ["o", "s"]]
        assert {line.get_marker() for line in points} == {"o", "s"}
        # the exact lower bound is within half a percent of the envelope
        assert rungs.at["adversarial"] >= 0.995 * rungs.at["envelope"]


@pytest.mark.parametrize(
    ("module", "base"), [(krw24_profile_laplace, LaplaceBase()), (krw24_profile_dp_sgd, StepBase())]
)
def test_the_other_bases_are_drawn_by_the_same_function(module, base, monkeypatch):
    monkeypatch.setattr(figure, "picture", lambda *given: given[:2])
    assert module.draw("released") == ("released", base)
