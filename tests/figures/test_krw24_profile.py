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
from jaxsel.families.tuning.attained.exact_profile import tuned_profile
from jaxsel.families.tuning.bounds.envelope import base_envelopes, envelope_epsilon
from jaxsel.pictures import style
from sims import krw24_profile as tuned_profiles
from sims.common.line_rankings import worst_rankings
from tests.conftest import ALPHA
from tests.figures.sharing import record_of

TRIALS = 100_000


def _quick(pair, law, delta):
    """The refined search takes half a second a law; this is a lower bound, too."""
    level = envelope_epsilon(base_envelopes(guarantee("gaussian"), law), delta)
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
def record():
    with pytest.MonkeyPatch.context() as patch:
        gaussian = {"gaussian": tuned_profiles.BASES["gaussian"]}
        patch.setattr(tuned_profiles, "BASES", gaussian)
        patch.setattr(tuned_profiles, "_POINTS", 17)
        return record_of(tuned_profiles, TRIALS)


def test_audits_lie_below_exact_values_below_the_adversary(record):
    rows = range(len(tuned_profiles.LAWS))
    count = sum(len(p) for p in figure.audited(record, "gaussian", 0).values()) * 6
    for row in rows:
        rungs = ladder("gaussian", tuned_profiles.LAWS[row])
        found = figure.audited(record, "gaussian", row, 1.0 - ALPHA / count)
        assert len(found["adversarial"]) == len(figure.TARGETS)
        natural = np.maximum(rungs.deltas["aligned"], rungs.deltas["anti-aligned"])
        for kind, exact in (
            ("adversarial", rungs.deltas["adversarial"]),
            ("natural", natural),
        ):
            for each in found[kind]:
                assert each.delta <= each.exact
                # curves are read by straight lines in log delta
                seen = exact > 1e-9
                read = np.interp(
                    each.epsilon, rungs.epsilons[seen], np.log(exact[seen])
                )
                # the line may pass a little below, and cells lose a little
                assert each.exact <= np.exp(read) * 1.15
                assert each.exact >= np.exp(read) * 0.6


def test_audits_have_power(record):
    # What the two limits of an audit and their luck may cost, a share of any event.
    z = stats.norm.isf(0.05 / 4.0) + stats.norm.isf(ALPHA / 24.0)
    for row in range(len(tuned_profiles.LAWS)):
        for points in figure.audited(record, "gaussian", row).values():
            slack = z * 0.5 * (1.0 + math.exp(points[0].epsilon)) / math.sqrt(TRIALS)
            assert points[0].delta > points[0].exact - slack > 0.0


def test_drawing(record, monkeypatch, tmp_path):
    monkeypatch.setattr(figure, "load", lambda name: record)
    with style.applied():
        canvas = figure.draw()
    assert len(canvas.axes) == len(tuned_profiles.LAWS)
    for axes, text in zip(canvas.axes, tuned_profiles.LAWS, strict=True):
        rungs = ladder("gaussian", text)
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
    written = style.save(canvas, tmp_path / "krw24-profile", formats=("png",))
    assert all(path.stat().st_size > 50_000 for path in written)


@pytest.mark.parametrize(
    ("module", "base"),
    [(krw24_profile_laplace, "laplace"), (krw24_profile_dp_sgd, "dp-sgd")],
)
def test_the_other_bases_are_drawn_by_the_same_function(module, base, monkeypatch):
    monkeypatch.setattr(figure, "draw", lambda name: name)
    assert module.draw() == base
