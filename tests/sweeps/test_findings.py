"""The findings of ``docs/sweeps.md``, computed again; the page says these numbers."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from jaxsel import account, repetitions
from jaxsel.accounting.single_run import curves
from tests.sweeps.findings import (
    DELTA,
    POISSON,
    at_quantile,
    envelope,
    every_candidate_once,
    law,
    mean_for_quantile,
    random_draws,
    renyi,
    success,
)

PAGE = Path(__file__).parents[2] / "docs" / "sweeps.md"


def stated(text: str) -> None:
    """The page says it, whatever its line breaks."""
    assert text in " ".join(PAGE.read_text(encoding="utf-8").split()), text


@pytest.mark.parametrize(("noise", "last"), [(1.0, "0.851"), (4.0, "0.884"), (16.0, "0.896")])
def test_poisson_is_cheapest_to_a_quantile_by_renyi_bounds(noise, last):
    def lead(quantile: float) -> float:
        # eta near 0 cannot reach a high quantile at any mean that is made here.
        etas = (-0.1, 0.0, 0.1, 0.25, 0.5, 1.0) if quantile < 0.8 else (0.25, 0.5, 1.0)
        others = [at_quantile(renyi, noise, eta, quantile) for eta in etas]
        return min(others) - at_quantile(renyi, noise, POISSON, quantile)

    end = float(last)
    assert lead(end - 0.001) > 0.0 > lead(end + 0.001)
    assert all(lead(quantile) > 0.0 for quantile in (0.7, 0.75, 0.79, 0.83))
    assert all(lead(quantile) < 0.0 for quantile in (0.92, 0.98))
    stated(last)


@pytest.mark.parametrize("noise", [1.0, 4.0, 16.0])
def test_poisson_is_nowhere_cheapest_by_the_envelope(noise):
    quantiles = (0.55, 0.6, 0.65, 0.7, 0.74, 0.76, 0.78, 0.82, 0.86, 0.9, 0.94, 0.98)
    ratios = [
        at_quantile(envelope, noise, POISSON, quantile)
        / at_quantile(envelope, noise, 2.0, quantile)
        for quantile in quantiles
    ]
    assert 1.025 < min(ratios) < 1.03
    assert 0.74 <= quantiles[int(np.argmin(ratios))] <= 0.78
    assert ratios[-1] > 2.0
    stated("at least 2.5 %")


def test_the_envelope_takes_another_eta_and_a_quarter_of_the_runs():
    """At expected quantile 0.95, noise 4; both minima lie inside their brackets."""
    found = {}
    for name, bound, eta in (("renyi", renyi, 0.468), ("envelope", envelope, 1.262)):
        near = [at_quantile(bound, 4.0, eta * step, 0.95) for step in (0.8, 0.94, 1.0, 1.06, 1.25)]
        assert min(near) == pytest.approx(near[2], rel=1e-4)
        assert near[0] > near[1] > near[2] < near[3] < near[4]
        found[name] = (mean_for_quantile(eta, 0.95), at_quantile(envelope, 4.0, eta, 0.95))
    (many, costly), (few, cheap) = found["renyi"], found["envelope"]
    stated(f"{many:.0f} runs on average")
    stated(f"{few:.0f} runs")
    stated(f"{costly:.2f}")
    stated(f"{cheap:.2f}")
    assert 4.1 < many / few < 4.3
    assert cheap < 0.96 * costly


# What costs less, every candidate once or random draws, by noise and chance.
_GRIDS = {
    (0.9, 1.0): 1,
    (0.9, 4.0): 1,
    (0.9, 16.0): 1,
    (0.95, 1.0): 1,
    (0.95, 4.0): 2,
    (0.95, 16.0): 2,
    (0.99, 1.0): 2,
    (0.99, 4.0): 3,
    (0.99, 16.0): 4,
}
# The best eta of a case lies between 2 and 17, and epsilon is flat around it.
_ETAS = (1.0, 2.0, 2.6, 3.2, 5.0, 8.0, 14.0, POISSON)
_GOOD_ETAS = (2.6, 8.0, 16.0)  # one of them is enough to beat a grid


@pytest.mark.parametrize(("chance", "noise"), _GRIDS)
def test_up_to_how_many_candidates_a_grid_is_cheaper(chance, noise):
    last = _GRIDS[chance, noise]
    if last > 1:
        random = random_draws(noise, last, chance, _ETAS)
        assert every_candidate_once(noise, last) < random
    random = random_draws(noise, last + 1, chance, _GOOD_ETAS)
    assert every_candidate_once(noise, last + 1) > random


def test_the_page_says_how_many():
    for chance in (0.9, 0.95, 0.99):
        cells = [_GRIDS[chance, noise] for noise in (1.0, 4.0, 16.0)]
        words = ["none" if last == 1 else str(last) for last in cells]
        stated(f"| {chance:g} | {' | '.join(words)} |")


def _gap(epsilon: float, candidates: int) -> tuple[float, float]:
    """Success of permute-and-flip and of Gumbel noise; one leads the rest by one."""
    scores = [1.0] + [0.0] * (candidates - 1)
    flip, gumbel = (
        success("noisy_max", noise=noise, scores=scores, epsilon=epsilon)
        for noise in ("exponential", "gumbel")
    )
    return flip, gumbel


def test_permute_and_flip_gains_most_where_gumbel_succeeds_half_the_time():
    # a is the number of others times exp(-epsilon/2); many candidates.
    grid = np.linspace(0.01, 20.0, 200_000)
    gains = -np.expm1(-grid) / grid - 1.0 / (1.0 + grid)
    top = float(grid[np.argmax(gains)])
    stated(f"{100 * gains.max():.1f} points")
    stated(f"{top:.2f}")
    assert 1.0 / (1.0 + top) == pytest.approx(0.54, abs=0.005)
    for candidates in (2, 3, 8, 30, 100):
        best = 0.0
        for a in np.geomspace(0.1, 10.0, 41):
            epsilon = 2.0 * math.log(max(candidates / a, 1.001))
            flip, gumbel = _gap(epsilon, candidates)
            share = math.exp(-epsilon / 2.0)
            # the closed forms behind the limit
            tried = (1.0 - (1.0 - share) ** candidates) / (candidates * share)
            assert flip == pytest.approx(tried, rel=1e-9)
            others = (candidates - 1) * share
            assert gumbel == pytest.approx(1.0 / (1.0 + others), rel=1e-9)
            best = max(best, flip - gumbel)
        assert best < gains.max()
        if candidates == 2:
            assert best == pytest.approx(1.5 - math.sqrt(2.0), abs=1e-3)
        if candidates == 100:
            assert best > 0.98 * gains.max()
    stated(f"{100 * (1.5 - math.sqrt(2.0)):.1f} points for two")


_SCORES = [9.0, 8.0, 7.0, 5.0, 3.0, 1.0, 0.0]
_RUN = {"base": "random_candidate_laplace", "scores": _SCORES}


def test_a_threshold_must_be_known_to_a_point():
    """Success at equal proven epsilon 2.1 and gamma 0.01, both exact."""
    noise = 1.4015
    stopping = repetitions.geometric(gamma=0.01)
    cost = account(curves.laplace(noise_scale=noise), stopping, 0.0, attain=False)
    assert cost.best.epsilon == pytest.approx(2.1, abs=1e-4)
    without = success("random_stopping", **_RUN, noise_scale=noise, gamma=0.01)

    def lead(threshold: float) -> float:
        known = success(
            "threshold_selection",
            **_RUN,
            noise_scale=1.0,
            slack=0.1,
            gamma=0.01,
            threshold=threshold,
        )
        return known - without

    assert lead(9.0) > 0.05
    assert max(lead(7.0), lead(11.0)) < 0.0
    ends = [brentq(lead, *bracket, xtol=1e-6) for bracket in ((7.0, 9.0), (9.0, 11.0))]
    stated(f"between {ends[0]:.1f} and {ends[1]:.1f}")
    stated(f"{without:.2f} without")
    stated(f"{lead(9.0) + without:.2f} with")
    reached = np.where(np.array(_SCORES) < 9.0, 0.5 * np.exp(np.array(_SCORES) - 9.0), 0.5).mean()
    stated(f"{1.0 / (reached + 0.01 - 0.01 * reached):.1f} runs")


@pytest.mark.parametrize(("text", "cap"), [("poisson:mean=10", 7), ("geometric:mean=10", 14)])
def test_a_cap_near_the_mean_costs_more_and_ranks_worse(text, cap):
    """A separation: some base pays more with the cap than any does without it."""
    base = curves.gaussian(noise_multiplier=4.0)
    whole, cut = repetitions.parse(text), repetitions.parse(f"{text},capped={cap}")
    proven, attained = account(base, whole, DELTA).best, account(base, cut, DELTA)
    assert attained.attained > 1.01 * proven.epsilon
    assert cut.mean < whole.mean
    lost = repetitions.expected_quantile
    assert lost(cut) < lost(whole)
    stated(f"{math.floor(attained.attained * 1e3) / 1e3:.3f}")
    stated(f"{math.ceil(proven.epsilon * 1e3) / 1e3:.3f}")
    stated(f"{lost(cut):.3f} instead of {lost(whole):.3f}")
    stated("at five times the mean costs less than a thousandth")
    far = repetitions.parse(f"{text},capped=50")
    assert envelope(4.0, far) < 1.001 * proven.epsilon


def test_the_laws_of_a_finding_are_those_that_it_names():
    assert law(POISSON, 3.0).family == "poisson"
    assert law(2.0, 3.0).parameters["eta"] == 2.0
