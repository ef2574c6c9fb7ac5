"""The settings of Liu & Talwar's Section 4, from the paper's lines by mpmath."""

import mpmath as mp
import pytest

from jaxsel.families.percentile.laws import oracle_scales, threshold_grid
from jaxsel.families.percentile.pipeline_laws import pipeline
from jaxsel.families.percentile.settings import algorithm_4, algorithm_5
from jaxsel.families.thresholds.laws import threshold_steps

PLANS = (
    {
        "target": 0.5,
        "beta": 0.1,
        "slack": 0.5,
        "base_epsilon": 0.1,
        "final_epsilon": 1.0,
        "delta": 1e-3,
    },
    {
        "target": 0.9,
        "beta": 0.3,
        "slack": 0.05,
        "base_epsilon": 0.8,
        "final_epsilon": 4.0,
        "delta": 1e-7,
    },
)


def constant(slack, base):
    """ "C = 2(e^(e0 + e1) + 1 + e^(e0/2))", Lemma 4.3."""
    return 2 * (mp.exp(slack + base) + 1 + mp.exp(slack / 2))


@pytest.mark.parametrize("plan", PLANS)
def test_algorithm_4_is_the_boxed_one(plan):
    """ "S = 2(e1 + e0), Delta = C ln(8T/d)/(e0 (e^(e0+e1) - 1)), N = e^e0 Delta/min{p*,
    1-p*} ((T+1)/b)^(6S/e3), nu ~ Lap(2S/e3), xi_i ~ Lap(4S/e3)", Algorithm 4; doubled N
    and max with ((e^(e0/2)+1)/(e^(e0/2)-1)^2) ln(4T/d) as in LT-E4 to LT-E6."""
    queries = 7
    e0, e1, e3 = (mp.mpf(plan[n]) for n in ("slack", "base_epsilon", "final_epsilon"))
    p, b, d = (mp.mpf(plan[n]) for n in ("target", "beta", "delta"))
    s = 2 * (e1 + e0)
    shift = constant(e0, e1) * mp.log(8 * queries / d) / (e0 * (mp.exp(e0 + e1) - 1))
    growth = mp.exp(e0 / 2)
    least = (growth + 1) / (growth - 1) ** 2 * mp.log(4 * queries / d)
    power = (mp.mpf(queries + 1) / b) ** (6 * s / e3)
    for corrected in (False, True):
        used = max(shift, least) if corrected else shift
        samples = mp.exp(e0) * used / min(p, 1 - p) * power * (2 if corrected else 1)
        found = algorithm_4(**plan, queries=queries, corrected=corrected)
        assert found.shift == pytest.approx(float(used), rel=1e-12)
        assert found.samples == pytest.approx(float(mp.ceil(samples)), rel=1e-11)
        assert found.threshold_scale == pytest.approx(float(2 * s / e3), rel=1e-13)
        assert found.query_scale == pytest.approx(float(4 * s / e3), rel=1e-13)
        assert found.exponent == pytest.approx(float(6 * s / e3), rel=1e-13)
        assert (found.target, found.offset) == (plan["target"], 0.0)


@pytest.mark.parametrize("plan", PLANS)
def test_algorithm_5_is_the_boxed_one(plan):
    """ "S = e1 + e0, Delta = C ln(4R/d)/(e0 (e^(e0+e1) - 1)), N = 3 Delta e^(e0/2)/p*
    b^(-12S/e3) (R+1)^(6S/e3), Lambda = e0/2 + 6S/e3 ln(1/b), nu ~ Lap(2S/e3), xi_i ~
    Lap(4S/e3)", Algorithm 5; ln(2R/d) in LT-E6, max(3, 2 e^(e0/2)) for 3 in LT-E9."""
    thresholds = 6
    e0, e1, e3 = (mp.mpf(plan[n]) for n in ("slack", "base_epsilon", "final_epsilon"))
    p, b, d = (mp.mpf(plan[n]) for n in ("target", "beta", "delta"))
    s = e1 + e0
    shift = constant(e0, e1) * mp.log(4 * thresholds / d) / (e0 * (mp.exp(s) - 1))
    growth = mp.exp(e0 / 2)
    least = (growth + 1) / (growth - 1) ** 2 * mp.log(2 * thresholds / d)
    power = b ** (-12 * s / e3) * mp.mpf(thresholds + 1) ** (6 * s / e3)
    for corrected in (False, True):
        used = max(shift, least) if corrected else shift
        factor = max(mp.mpf(3), 2 * growth) if corrected else 3
        samples = factor * used * growth / p * power
        found = algorithm_5(**plan, thresholds=thresholds, corrected=corrected)
        assert found.shift == pytest.approx(float(used), rel=1e-12)
        assert found.samples == pytest.approx(float(mp.ceil(samples)), rel=1e-11)
        assert found.threshold_scale == pytest.approx(float(2 * s / e3), rel=1e-13)
        assert found.query_scale == pytest.approx(float(4 * s / e3), rel=1e-13)
        offset = e0 / 2 + 6 * s / e3 * mp.log(1 / b)
        assert found.offset == pytest.approx(float(offset), rel=1e-12)


def test_the_constant_3_grows_with_a_large_slack():
    """LT-E9: 2 e^(e0/2) = 3.2157 beyond e0 = 2 log 1.5."""
    given = {"slack": 0.95, "base_epsilon": 0.1}
    new, old = algorithm_5(**given, corrected=True), algorithm_5(**given)
    ratio = new.samples / new.shift / (old.samples / old.shift)
    assert ratio == pytest.approx(float(2 * mp.exp(mp.mpf("0.475")) / 3), rel=1e-9)


def test_algorithm_3_has_the_noise_of_its_box():
    """ "nu ~ Lap(4 e1/e3), xi_i ~ Lap(8 e1/e3)", Algorithm 3."""
    query, threshold = oracle_scales(0.3, 2.0)
    assert (query, threshold) == pytest.approx((1.2, 0.6))


def test_thresholds_fall_from_1_to_0():
    """ "tau_i = 1 - (i-1)/(R-1)", Algorithm 5."""
    assert threshold_grid(5).tolist() == [1.0, 0.75, 0.5, 0.25, 0.0]


@pytest.mark.parametrize("reading", ["corrected", "sharp"])
def test_the_pipeline_is_that_of_theorem_4_7(reading):
    """ "p_1 = 1/(12K) (b^2/(R+1))^(6 + 12 e1/e0), gamma = p_1 b", after Theorem 4.7; e3 =
    slack = e0/2 in both algorithms, b/4 for b, p* = 1/(2K) (LT-E10); Theorem 3.1: "T >=
    max{(1/gamma) ln(2/e0), 1 + 1/(e gamma)}" at slack e0/2."""
    e1, e0, b, d, r, k = 0.2, 0.8, 0.4, 1e-5, 4, 3
    found = pipeline(
        base_epsilon=e1, slack=e0, beta=b, delta=d, thresholds=r, candidates=k, reading=reading
    )
    used = mp.mpf(b) / 4 if reading == "corrected" else mp.mpf(b)
    power = (used**2 / (r + 1)) ** (6 + 12 * mp.mpf(e1) / mp.mpf(e0))
    stop = power / (12 * k) * mp.mpf(b) / 4
    draws = max(mp.log(4 / mp.mpf(e0)) / stop, 1 + 1 / (mp.e * stop))
    assert found.least_share == pytest.approx(float(power / (12 * k)), rel=1e-11)
    assert found.stop_probability == pytest.approx(float(stop), rel=1e-11)
    assert found.max_draws == pytest.approx(float(draws), rel=1e-11)
    # S = e1 + e0/2, over e3 = e0/2
    unit = (e1 + e0 / 2) / (e0 / 2)
    assert found.test.query_scale == pytest.approx(4 * unit)
    assert found.test.threshold_scale == pytest.approx(2 * unit)
    assert found.test.target == pytest.approx(1 / (2 * k))
    expected = algorithm_5(
        target=1 / (2 * k),
        beta=float(used),
        slack=e0 / 2,
        base_epsilon=e1,
        final_epsilon=e0 / 2,
        delta=d,
        thresholds=r,
        corrected=True,
    )
    assert found.test == expected


@pytest.mark.parametrize(("gamma", "slack"), [(0.1, 0.1), (0.02, 1.0), (1.0, 1.0)])
def test_algorithm_1_draws_as_often_as_theorem_3_1_asks(gamma, slack):
    """ "T >= max{(1/gamma) ln(2/e0), 1 + 1/(e gamma)}"."""
    least = max(mp.log(2 / mp.mpf(slack)) / gamma, 1 + 1 / (mp.e * gamma))
    assert threshold_steps(gamma, slack) == int(mp.ceil(least))
