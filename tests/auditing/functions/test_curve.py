"""The band of a whole curve: it holds, it is near the truth, and it covers both directions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta, norm

import jaxsel
from jaxsel.auditing.functions import curve as curves
from jaxsel.auditing.functions.curve import AuditCurve, _lower_hull, audit_curve, curve_events
from jaxsel.auditing.functions.events import Event
from jaxsel.auditing.functions.outcomes import table
from jaxsel.host.intervals import binomial_p_value
from tests.cli.test_cli import run_json
from tests.conftest import ALPHA


def _gaussian(rng, data, n):
    return data + rng.normal(size=n)


def _profile(epsilon):
    return norm.cdf(0.5 - epsilon) - np.exp(epsilon) * norm.cdf(-0.5 - epsilon)


def _audited(function, pair, **options):
    given = {"relation": "local", "claim": 3.0, "delta": 1e-3, "trials": 100_000, "how": "curve"}
    here = lambda rng, data, n: function(rng, data, n)  # noqa: E731
    return jaxsel.audit_function(here, *pair, **given | options)


@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0)])
def test_the_band_of_a_gaussian_holds_and_is_near_the_truth(pair):
    found = _audited(_gaussian, pair, confidence=1.0 - ALPHA)
    curve = found.curve
    assert found.verdict == "not refuted"
    assert curve.false_alarm == pytest.approx(ALPHA)
    for epsilon in (0.0, 0.25, 0.5, 1.0, 1.5):
        low, high = curve.delta(epsilon)
        assert low <= _profile(epsilon) <= high + 1e-3  # no event is quite the best one
        # Limits are 6 standard deviations away, and counts 3, at so small an error.
        p, q = norm.cdf(0.5 - epsilon), norm.cdf(-0.5 - epsilon)
        lost = np.sqrt(p * (1 - p)) + np.exp(epsilon) * np.sqrt(q * (1 - q))
        assert low > _profile(epsilon) - 9.0 * lost / np.sqrt(50_000)
    low, high = curve.epsilon(0.1)
    assert _profile(high + 0.05) < 0.1 < _profile(low)
    assert 0.93 < curve.mu <= 1.0
    alphas = np.linspace(0.0, 1.0, 101)
    least, bound = curve.tradeoff(alphas)
    truth = norm.cdf(norm.ppf(1.0 - alphas) - 1.0)
    assert np.all(bound >= truth - 1e-12)
    assert np.all(least <= bound)
    assert np.max(bound - truth) < 9.0 * 0.93 / np.sqrt(50_000)
    assert np.all(least - truth < 0.005)
    assert "mu of Gaussian privacy" in str(found)
    assert found.plot() is not curve.plot()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_curve_covers_both_directions(swapped):
    """What one side alone does in one of ten trials is a delta of .1 at every epsilon."""

    def leaks(rng, data, n):
        return (rng.random(n) < 0.1 * data).astype(int)

    found = _audited(leaks, (1, 0) if swapped else (0, 1), confidence=1.0 - ALPHA)
    assert 0.08 < found.curve.delta(2.0)[0] <= 0.1
    least, bound = found.curve.tradeoff(np.array([0.0, 0.05]))
    assert bound[1] == pytest.approx(0.9 * 0.95, abs=0.02)
    assert np.all(least <= bound)


def test_all_limits_hold_together_as_often_as_is_said():
    generator, runs, error = np.random.default_rng(3), 2000, 0.1
    p = np.array([0.002, 0.05, 0.3, 0.8])
    events = [Event(f"event {place}", lambda given: np.ones(len(given), bool)) for place in p]
    wrong = 0
    for _ in range(runs):
        counts = [generator.binomial(n, p)[:, None] for n in (1000, 3000)]
        sizes = [np.array([n]) for n in (1000, 3000)]
        found = audit_curve(events, counts, sizes, error)
        sides = np.array([found.data, found.neighbour])
        wrong += bool(np.any((sides[..., 0] > p) | (sides[..., 1] < p)))
    assert binomial_p_value(wrong, runs, error, "greater") > ALPHA
    assert wrong > 0.02 * runs  # the error is used, as far as limits of counts can


def test_a_curve_without_limits_says_so_and_bounds_nothing():
    empty = AuditCurve((), (), (), 0.05)
    assert (empty.delta(0.0), empty.epsilon(0.0), empty.mu) == ((0.0, 0.0), (0.0, 0.0), 0.0)
    assert empty.tradeoff(np.array([0.25]))[1].tolist() == [0.75]
    assert "no event" in empty.rows(1.0)[0][1]
    same = _audited(lambda rng, data, n: np.zeros(n, int), (0, 1))
    assert same.curve.delta(0.0)[0] == 0.0


def test_events_of_a_curve_are_those_that_a_hull_keeps():
    generator = np.random.default_rng(0)
    sides = (table(generator.normal(size=20_000)), table(generator.normal(1.0, size=20_000)))
    events = curve_events(sides, 1.0)
    assert 8 < len(events) <= 32
    p, q = (np.array([one.holds(side).mean() for one in events]) for side in sides)
    assert np.all(p > q - 0.01)
    # The best test of this pair: thresholds, in both tails.
    assert p.min() < 0.05
    assert p.max() > 0.95
    x, y = _lower_hull(np.array([0.0, 1.0, 0.5, 0.5, 0.2]), np.array([1.0, 0.0, 0.2, 0.4, 0.9]))
    assert (x.tolist(), y.tolist()) == ([0.0, 0.5, 1.0], [1.0, 0.2, 0.0])


def test_a_curve_is_printed_written_and_drawn(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def count(rng, data, n):\n    return len(data) + rng.laplace(size=n)\n")
    words = ("--relation", "add_or_remove_one", "--claim", "1", "--trials", "2e4", "--how", "curve")
    words = (*words, "--confidence", "0.999999")
    code, found = run_json(capsys, "audit-function", f"{file}:count", *words)
    assert code == 0
    assert len(found[0]["curve"]["events"]) == len(found[0]["curve"]["data"]) > 0
    audited = _audited(_gaussian, (0.0, 1.0), trials=20_000)
    page = jaxsel.report(audited).html()
    assert page.count("<svg") + page.count("<img") >= 2
    assert "mu of Gaussian privacy" in jaxsel.report(audited).markdown()


# Limits by hand: two events, of which the second is likelier by its complement.
HAND = AuditCurve(("a", "b"), ((0.5, 0.6), (0.7, 0.8)), ((0.1, 0.2), (0.3, 0.4)), 0.05)


def test_a_band_by_hand():
    # Of an event p - e^epsilon q, of its complement (1 - q) - e^epsilon (1 - p).
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        grown = math.exp(epsilon)
        low = max(0.0, 0.5 - grown * 0.2, 0.7 - grown * 0.4, 0.8 - grown * 0.5, 0.6 - grown * 0.3)
        high = max(0.0, 0.6 - grown * 0.1, 0.8 - grown * 0.3, 0.9 - grown * 0.4, 0.7 - grown * 0.2)
        assert HAND.delta(epsilon) == pytest.approx((low, high))
    for delta in (0.0, 0.1, 0.3, 0.65):
        low = max((p - delta) / q for p, q in ((0.5, 0.2), (0.7, 0.4), (0.8, 0.5), (0.6, 0.3)))
        high = max((p - delta) / q for p, q in ((0.6, 0.1), (0.8, 0.3), (0.9, 0.4), (0.7, 0.2)))
        expected = [max(0.0, math.log(one)) if one > 0 else 0.0 for one in (low, high)]
        assert HAND.epsilon(delta) == pytest.approx(expected)
    ppf = norm.ppf
    shown = (ppf(p) - ppf(q) for p, q in ((0.5, 0.2), (0.7, 0.4), (0.8, 0.5), (0.6, 0.3)))
    assert HAND.mu == pytest.approx(max(shown))


def test_a_trade_off_by_hand():
    alphas = np.linspace(0.0, 1.0, 41)
    ends = HAND.tradeoff(alphas)
    for found, points in (
        (ends[0], [(0.1, 0.6), (0.3, 0.8), (0.4, 0.9), (0.2, 0.7)]),
        (ends[1], [(0.2, 0.5), (0.4, 0.7), (0.5, 0.8), (0.3, 0.6)]),
    ):
        tests = [(0.0, 1.0), (1.0, 0.0), *((q, 1.0 - p) for q, p in points)]
        for alpha, error in zip(alphas, found, strict=True):
            # The least error of a mixture of two tests, over all pairs of them.
            least = min(
                b + (d - b) * (alpha - a) / (c - a) if c > a else min(b, d)
                for a, b in tests
                for c, d in tests
                if a <= alpha <= c
            )
            assert error == pytest.approx(least, abs=1e-12)


def test_limits_of_a_curve_share_the_error_four_times_for_each_event():
    counts = [np.array([[3, 4], [20, 0]]), np.array([[0, 1], [9, 9]])]
    trials = [np.array([50, 60]), np.array([100, 100])]
    words = [SimpleNamespace(words=word) for word in HAND.events]
    found = audit_curve(words, counts, trials, 0.08)
    each = 0.08 / 8
    for side, k, n in ((found.data, (7, 20), 110), (found.neighbour, (1, 18), 200)):
        for (low, high), count in zip(side, k, strict=True):
            assert low == pytest.approx(beta.ppf(each, count, n - count + 1), rel=1e-5)
            assert high == pytest.approx(beta.ppf(1 - each, count + 1, n - count), rel=1e-5)
    assert (found.events, found.false_alarm) == (("a", "b"), 0.08)


def test_of_many_events_of_a_curve_so_many_are_kept_from_end_to_end(monkeypatch):
    generator = np.random.default_rng(1)
    sides = (table(generator.normal(size=8000)), table(generator.normal(1.0, size=8000)))
    every = curve_events(sides, 1.0)
    assert len(every) > 6
    monkeypatch.setattr(curves, "_MOST", 5)
    few = curve_events(sides, 1.0)
    places = np.linspace(0, len(every) - 1, 5).round().astype(int)
    assert [one.words for one in few] == [every[place].words for place in places]
    assert curve_events((table([]), table([])), 1.0) == []


def test_what_a_curve_says_in_words():
    rows = HAND.rows(0.6)
    assert [row[0] for row in rows] == [
        "delta at epsilon 0", "delta at epsilon 0.3", "delta at epsilon 0.6",
        "mu of Gaussian privacy", "events of the curve",
    ]  # fmt: skip
    for row, at in zip(rows, (0.0, 0.3, 0.6), strict=False):
        low, high = HAND.delta(at)
        assert row[1] == f"at least {low:.4g}; these events show at most {high:.4g}"
    assert rows[3][1] == f"at least {HAND.mu:.4g}"
    assert rows[4][1] == "2"


def test_a_picture_of_a_curve_goes_beyond_its_largest_epsilon():
    left, right = HAND.plot().axes
    line = next(one for one in left.get_lines() if one.get_label() == "lower bound")
    x, y = (np.asarray(part, float) for part in line.get_data())
    assert (x[0], x[-1]) == pytest.approx((0.0, 1.2 * HAND.epsilon(0.0)[0]))
    assert y == pytest.approx([HAND.delta(at)[0] for at in x])
    line = next(one for one in right.get_lines() if one.get_label() == "upper bound")
    x, y = (np.asarray(part, float) for part in line.get_data())
    assert (x[0], x[-1]) == (0.0, 1.0)
    assert y == pytest.approx(HAND.tradeoff(x)[1])
    weak = HAND._replace(data=((0.2, 0.3), (0.3, 0.4)), neighbour=((0.2, 0.3), (0.3, 0.4)))
    assert weak.plot().axes[0].get_xlim()[1] == pytest.approx(0.5)


@pytest.mark.parametrize("epsilon", [0.0, 709.0, 710.0, 1e308])
def test_a_curve_at_any_epsilon(epsilon):
    """The factor of what the other side does is beyond all floats, or is 1."""

    def tells(rng, data, trials):
        return rng.integers(0, 2, trials) + 2 * data

    found = jaxsel.audit_function(
        tells, 0, 1, relation="replace_one", claim=epsilon, trials=2000, how="curve"
    )
    low, high = found.curve.delta(epsilon)
    assert 0.0 <= low <= high <= 1.0
    assert (low > 0.9) == (epsilon == 0.0)
    assert high > 0.9
    found.plot()
