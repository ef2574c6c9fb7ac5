"""What is attained never exceeds what is proved; what is needed where nothing is."""

import itertools
import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest

import jaxsel
from jaxsel import account
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import attaining, closed_forms, composing, curves
from jaxsel.accounting.single_run.dominating import (
    pair_delta,
    pair_from_laws,
    pair_from_points,
    reversed_pair,
)
from jaxsel.host.errors import InputError
from jaxsel.tuning.accountant import ROUNDING
from jaxsel.tuning.attained.attained_epsilon import attained_epsilon
from jaxsel.tuning.bounds import priced_envelope
from jaxsel.tuning.proofs import releases_all

BASES = (
    curves.gaussian(0.2),
    curves.gaussian(1.0),
    curves.gaussian_differential_privacy(1e3),
    curves.laplace(1.0),
    curves.pure(1.0),
    curves.pure(800.0),
    curves.approximate(0.5, 1e-7),
    curves.zcdp(0.1),
    curves.points([0.5, 1.0], [1e-3, 1e-9]),
    curves.points([1.0, 800.0], [1e-3, 1e-9]),
)
LAWS = (
    laws.point_mass(1),
    laws.point_mass(5),
    laws.geometric(0.1),
    laws.poisson(1000.0),
    laws.binomial(12, 0.4),
    laws.beta_binomial(20, 0.5),
    laws.truncated_negative_binomial(-0.5, 0.05),
    laws.capped(laws.geometric(0.05), 7),
)


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
def test_attained_is_at_most_what_is_proved(base):
    """Every third law of K for each base; the accountant's own guard is left out."""
    judged, own = 0, BASES.index(base)
    for number, law in enumerate(LAWS):
        if (number + own) % 3:
            continue
        delta = (1e-9, 1e-5, 1e-2)[(number // 3 + own // 3) % 3]
        attained = attained_epsilon(base, law, delta)
        best = account(base, law, delta, attain=False).best.epsilon
        assert not attained > best * (1.0 + ROUNDING) + ROUNDING, (law.family, delta)
        judged += math.isfinite(attained)
    assert judged or base.attaining is None or base.attaining() is None


def test_the_pair_of_a_zcdp_base_is_zcdp():
    """5.4801 was claimed to be attained beside a proof of 5.2216."""
    found = jaxsel.account("zcdp:rho=0.1", "point_mass:count=5", 1e-6)
    assert found.best.epsilon == pytest.approx(5.22153, abs=1e-5)
    assert found.attained <= found.best.epsilon
    (pair,) = curves.zcdp(0.1).attaining()
    finite = np.isfinite(pair.loss)
    for order in (1.5, 2.0, 10.0):
        moment = np.sum(pair.first[finite] * np.exp((order - 1) * pair.loss[finite]))
        assert math.log(moment) / (order - 1.0) <= 0.1 * order * (1 + 1e-9)
        assert math.log(moment) / (order - 1.0) >= 0.1 * order * (1 - 1e-3)


@pytest.mark.parametrize(
    ("pair", "profile"),
    [
        (attaining.gaussian_cells(0.5), lambda level: closed_forms.gaussian_delta(level, 2.0)),
        (attaining.gaussian_cells(20.0), lambda level: closed_forms.gaussian_delta(level, 0.05)),
        (attaining.laplace_cells(1.5), lambda level: closed_forms.laplace_delta(level, 1.0 / 1.5)),
    ],
)
def test_cells_are_dominated_and_near(pair, profile):
    levels = np.linspace(0.0, 1.4, 29)
    exact = profile(levels)
    assert np.sum(pair.first) == pytest.approx(1.0, abs=1e-12)
    for side in (pair, reversed_pair(pair)):
        found = pair_delta(side, levels)
        assert np.all(found <= exact * (1.0 + 1e-10) + 1e-15)
        assert np.all(found >= exact * (1.0 - 1e-3))


def test_cells_beyond_float64_are_none():
    assert attaining.gaussian_cells(31.0) is None
    assert attaining.laplace_cells(601.0) is None


# --- Composition ----------------------------------------------------------------------


def test_two_gaussian_runs_are_one_with_twice_the_squared_shift():
    # Balle & Wang, Theorem 8, at s = 1/sqrt(2), delta = 1e-5, by mpmath
    with mpmath.workdps(30):
        scale = 1 / mpmath.sqrt(2)

        def excess(epsilon):
            upper = mpmath.ncdf(1 / (2 * scale) - epsilon * scale)
            lower = mpmath.ncdf(-1 / (2 * scale) - epsilon * scale)
            return upper - mpmath.exp(epsilon) * lower - mpmath.mpf("1e-5")

        exact = float(mpmath.findroot(excess, (6.0, 7.0), solver="anderson"))
    found = jaxsel.account("gaussian:noise_multiplier=1", "point_mass:count=2", 1e-5)
    assert found.best.theorem == "composition"
    assert found.best.epsilon == pytest.approx(exact, rel=1e-9)
    assert exact == pytest.approx(6.5730, abs=1e-4)
    said = " ".join(found.sentences())
    assert "This covers the release of all runs" in said
    assert "secret: this" not in said


def test_secrets_are_asked_for_where_the_bound_needs_them():
    found = jaxsel.account("gaussian:noise_multiplier=1", "geometric:mean=9", 1e-5)
    assert not releases_all(found.best.theorem)
    assert "Keep K, the other runs and their scores secret" in str(found)


def test_randomised_response_composes_as_binomial():
    """Kairouz, Oh & Viswanath 2015, Theorem 3.3, summed by hand."""
    epsilon, count = 0.7, 6
    pair = composing.composed_pair(pair_from_points([epsilon], [0.0]), count)
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    for level in (0.0, 0.3, 1.4, 2.0, 4.1):
        exact = sum(
            math.comb(count, lies)
            * max(
                0.0,
                truth ** (count - lies) * (1 - truth) ** lies
                - math.exp(level) * truth**lies * (1 - truth) ** (count - lies),
            )
            for lies in range(count + 1)
        )
        assert pair_delta(pair, level) == pytest.approx(exact, rel=1e-12, abs=1e-300)


def test_composed_pairs_dominate_and_are_near():
    """Against all outcomes of two and three runs, listed."""
    generator = np.random.default_rng(2)
    for count in (2, 3):
        first, second = generator.dirichlet(np.ones(5), 2)
        pair = composing.composed_pair(pair_from_laws(first, second), count)
        sides = []
        for side in (first, second):
            product = side
            for _ in range(count - 1):
                product = np.outer(product, side).ravel()
            sides.append(product)
        for level in (0.0, 0.5, 1.0, 2.0):
            exact = np.sum(np.maximum(sides[0] - math.exp(level) * sides[1], 0.0))
            found = float(pair_delta(pair, level))
            assert exact - 1e-15 <= found <= exact * 1.001 + 1e-11


def test_composition_of_approximate_runs_keeps_their_failures():
    pair = composing.composed_pair(pair_from_points([0.5], [1e-3]), 4)
    assert pair.first[-1] == pytest.approx(1.0 - (1.0 - 1e-3) ** 4, rel=1e-12)


def test_composition_of_a_bounded_law_counts_all_it_may_run():
    base = curves.laplace(2.0)
    known = {
        law.family: {b.theorem: b.epsilon for b in account(base, law, 1e-6).bounds}
        for law in (laws.point_mass(3), laws.binomial(3, 0.5))
    }
    assert known["binomial"]["composition"] == known["point_mass"]["composition"]
    assert known["point_mass"]["composition"] <= 1.5 + 1e-3  # three times 1/2


# --- Nothing proved -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "least", "run"),
    [
        # 1 - f(1 - 1e-6), and the failure at which that is 1e-5, by the laws' formulas:
        # d/(g + d (1 - g)), g = 1/20; 1 - e^(-20 d); 1 - (1 - d)^20; 20 d for the mean.
        ("geometric:mean=20", 1e-6 / (0.05 + 0.95e-6), 1e-5 * 0.05 / (1 - 0.95e-5)),
        ("poisson:mean=20", -math.expm1(-2e-5), -math.log1p(-1e-5) / 20),
        (
            "point_mass:count=20",
            -math.expm1(20 * math.log1p(-1e-6)),
            -math.expm1(math.log1p(-1e-5) / 20),
        ),
        ("beta_binomial:count=40,gamma=1", 2e-5, 5e-7),
    ],
)
def test_what_is_needed(law, least, run):
    base = "approximate:epsilon=1,delta=1e-6"
    found = jaxsel.account(base, law, 1e-5, attain=False)
    assert found.best.epsilon == math.inf
    assert found.needed.failure == 1e-6
    assert found.needed.delta == pytest.approx(least, rel=1e-12)
    assert found.needed.run == pytest.approx(run, rel=1e-9)
    said = " ".join(found.sentences())
    assert "Take delta >= 2e-05, or runs with delta <= " in said
    assert "secret" not in said
    # and it is enough
    enough = jaxsel.account(base, law, least * (1 + 1e-9), attain=False)
    assert math.isfinite(enough.best.epsilon)
    assert enough.needed is None
    fewer = f"approximate:epsilon=1,delta={run * (1 - 1e-9)!r}"
    assert math.isfinite(jaxsel.account(fewer, law, 1e-5, attain=False).best.epsilon)


@pytest.mark.parametrize("base", ["gaussian:noise_multiplier=1", "zcdp:rho=0.5"])
def test_delta_zero_needs_pure_runs(base):
    found = jaxsel.account(base, "geometric:mean=20", 0.0)
    assert "a run is not pure. Take delta > 0" in found.sentences()[0]
    approximate = jaxsel.account("approximate:epsilon=1,delta=1e-6", "poisson:mean=3", 0)
    assert approximate.sentences()[0].endswith("or runs with delta = 0.")


def test_failures_spend_their_part_of_delta():
    """Lemma 20: delta = f + (1 - f) rest, f = 1 - f(1 - 1e-6) of the geometric law."""
    delta, gamma, failure = 4e-5, 0.05, 1e-6
    other = gamma + failure * (1 - gamma)
    rest = (delta - failure / other) / (1 - failure / other)
    found = account(curves.approximate(1.0, failure), laws.geometric(gamma), delta)
    good = account(curves.pure(1.0), laws.geometric(other), rest)
    found, good = ({bound.theorem: bound.epsilon for bound in one.bounds} for one in (found, good))
    for theorem in ("PS-Thm2", "KRW-Thm5.2"):
        assert found[f"PS-Lem20+{theorem}"] == pytest.approx(good[theorem], rel=1e-9)


def test_cohen_et_al_take_the_epsilon_at_a_share_of_delta():
    # Theorem 1: (2 + gamma) epsilon at delta/tau, tau = 30
    found = account(curves.gaussian(2.0), laws.beta_binomial(30, 0.5), 1e-5)
    named = {bound.theorem: bound.epsilon for bound in found.bounds}
    share = closed_forms.gaussian_epsilon(1e-5 / 30, 2.0)
    assert named["CL-Thm1-approximate"] == pytest.approx(2.5 * share, rel=1e-9)


# --- Extreme bases --------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        "gdp:mu=1e-300",
        "gaussian:noise_multiplier=1e-300",
        # Two Gaussians that are one law in float64 would cost nothing, which is false.
        "gaussian:noise_multiplier=1e16",
        "gdp:mu=1e-20",
        "dp_sgd:noise_multiplier=1e7,sampling_probability=.01,steps=10",
        "laplace:noise_scale=1e200",
        "dp_sgd:noise_multiplier=1e-300,sampling_probability=.01,steps=10",
        "dp_sgd:noise_multiplier=1,dataset_size=1e300,batch_size=1e-5,epochs=1e300",
    ],
)
def test_bases_out_of_range_are_one_sentence(base):
    with pytest.raises(InputError, match=r"must (lie|be a number) in"):
        jaxsel.account(base, "geometric:mean=10")


TWO = ("geometric:mean=10", "point_mass:count=3")


@pytest.mark.parametrize("value", ["1e-90", "1e3", "1e90"])
def test_extreme_bases_have_an_answer(value, monkeypatch):
    # A small mesh and a finer one meet the extremes that large ones meet.
    small = priced_envelope.Resolution(columns=6, rows=2, knots=8, parts=4, meshes=1)
    monkeypatch.setattr(priced_envelope, "FINE", small)
    forms = ("gdp:mu", "laplace:noise_scale", "zcdp:rho", "pure:epsilon")
    for form, law in itertools.product(forms, ("geometric:mean=10", "point_mass:count=3")):
        with np.errstate(all="raise", under="ignore"):
            given = "1e-12" if (form, value) == ("gdp:mu", "1e-90") else value  # the least there is
            found = jaxsel.account(f"{form}={given}", law, 1e-6)
        assert math.isfinite(found.best.epsilon), form
        assert not found.attained > found.best.epsilon * (1 + 1e-9) + 1e-9


_LARGE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
import jaxsel
for base in ("noise_multiplier=1,sampling_probability=.01,steps=1e300",
             "noise_multiplier=1,sampling_probability=.01,steps=1e7",
             "noise_multiplier=.05,dataset_size=1e18,batch_size=256,epochs=10",
             "noise_multiplier=.01,sampling_probability=.01,steps=10",
             "noise_multiplier=1e4,sampling_probability=1,steps=100000000"):
    print(jaxsel.account("dp_sgd:" + base, "geometric:mean=10").best.epsilon)
"""


def test_large_dp_sgd_is_answered_within_seconds_and_2_gib():
    done = subprocess.run(
        [sys.executable, "-c", _LARGE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    found = [float(line) for line in done.stdout.split()]
    assert len(found) == 5
    assert all(math.isfinite(epsilon) for epsilon in found)
    # steps without subsampling are a Gaussian: sqrt(1e8)/1e4 = 1
    assert found[-1] == jaxsel.account("gdp:mu=1", "geometric:mean=10").best.epsilon
