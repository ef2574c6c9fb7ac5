"""Laws from their mean and from text."""

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant, compute_epsilon

from jaxsel import repetitions as laws
from jaxsel.host.errors import InputError
from tests.repetitions.oracle import EXAMPLES

BY_MEAN = [
    ("point_mass", {}, [1.0, 7.0]),
    ("geometric", {}, [1 + 1e-9, 1.5, 10.0, 1e9]),
    ("logarithmic", {}, [1 + 1e-9, 1.5, 10.0, 1e9]),
    ("truncated_negative_binomial", {"eta": -0.5}, [1 + 1e-9, 1.5, 10.0, 1e6]),
    ("truncated_negative_binomial", {"eta": -0.9}, [1.5, 10.0, 1e6]),
    ("truncated_negative_binomial", {"eta": 0.5}, [1 + 1e-9, 1.5, 10.0, 1e9]),
    ("truncated_negative_binomial", {"eta": 5.0}, [1 + 1e-9, 1.5, 10.0, 1e9]),
    ("truncated_negative_binomial", {"eta": 1e4}, [1.5, 10.0, 1e9]),
    ("tnb", {"eta": 2.0}, [10.0]),
    ("poisson", {}, [1e-9, 0.5, 10.0, 1e9]),
    ("binomial", {"count": 20}, [1e-9, 0.5, 20.0]),
    ("beta_binomial", {"count": 20}, [1e-9, 0.5, 10.0, 19.99]),
]


@pytest.mark.parametrize(("family", "fixed", "means"), BY_MEAN)
def test_laws_have_the_mean_they_are_asked_for(family, fixed, means):
    for mean in means:
        law = laws.from_mean(family, mean, **fixed)
        assert law.mean == pytest.approx(mean, rel=1e-11)
        if mean - 1 < 1e-6:
            # the excess over the certain first run is what matters there
            assert law.mean - law.minimum == pytest.approx(mean - law.minimum, rel=1e-6)
        for name, value in fixed.items():
            assert law.parameters[name] == value


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("mean", [1.5, 10.0, 1e4])
def test_gamma_agrees_with_dp_accounting(shape, mean):
    # dp-accounting applies Theorem 2 of Papernot & Steinke 2022 at the gamma that it
    # finds for a mean; the same theorem at ours must give the same epsilon.
    orders = np.array([1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0])
    scale, delta = 4.0, 1e-6
    law = laws.from_mean("tnb", mean, eta=shape)
    base = orders / (2 * scale**2)
    added = (1 - 1 / orders) * base - math.log(law.parameters["gamma"]) / orders
    bound = base + math.log(law.mean) / (orders - 1) + (1 + shape) * added.min()
    bound = np.minimum.accumulate(bound[::-1])[::-1]
    accountant = RdpAccountant(orders.tolist())
    accountant.compose(
        dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(scale), mean, shape)
    )
    expected = compute_epsilon(orders.tolist(), bound.tolist(), delta)[0]
    # dp-accounting solves for gamma to a relative 1e-9
    assert accountant.get_epsilon(delta) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("family", "mean", "fixed", "message"),
    [
        ("normal", 10, {}, "law of K is .normal.; did you mean binomial"),
        ("conditioned", 10, {}, "law of K is 'conditioned'; it must be one of"),
        ("geometric", 0.99, {}, "its mean is >= 1"),
        ("logarithmic", 0.5, {}, "its mean is >= 1"),
        ("tnb", 0.9, {"eta": -0.5}, "its mean is >= 1"),
        ("geometric", math.nan, {}, "mean is nan"),
        ("geometric", math.inf, {}, "mean is inf"),
        ("geometric", 1e301, {}, "mean stays below 1e.300"),
        ("tnb", 10, {"eta": -0.999}, "the mean stays below 1.99"),
        ("tnb", 10, {"eta": 1e9}, "lower eta"),
        ("tnb", 10, {"eta": 1e12}, "eta is 1000000000000.0; it must be a number in"),
        ("tnb", 10, {"eta": -1.0}, "eta is -1"),
        ("tnb", 10, {}, "needs eta beside the mean; nothing was given"),
        ("poisson", 10, {"eta": 1.0}, "needs nothing else beside the mean; eta was"),
        ("poisson", 0, {}, "mean is 0"),
        ("binomial", 21, {"count": 20}, r"mean is 21.*; it must be a number in \(0, 20\]"),
        ("binomial", 0, {"count": 20}, "mean is 0"),
        ("binomial", 2, {"count": 2.5}, "count is 2.5"),
        ("beta_binomial", 20, {"count": 20}, r"must be a number in \(0, 20\)"),
        ("beta_binomial", 2, {"count": 0}, "count is 0"),
        ("point_mass", 2.5, {}, "a whole number >= 1"),
        ("point_mass", 0, {}, "mean is 0"),
        ("point_mass", math.nan, {}, "mean is nan"),
    ],
)
def test_means_that_no_law_has_are_refused(family, mean, fixed, message):
    with pytest.raises(InputError, match=message):
        laws.from_mean(family, mean, **fixed)


@pytest.mark.parametrize("text", ["geometric", "logarithmic", "tnb:eta=-0.5"])
def test_mean_one_is_one_run_for_sure(text):
    law = laws.parse(f"{text}{',' if ':' in text else ':'}mean=1")
    assert law.mean == 1.0
    assert law.pmf([1, 2]) == pytest.approx([1.0, 0.0], abs=1e-15)


@pytest.mark.parametrize(
    ("text", "family", "parameters"),
    [
        ("geometric:gamma=0.1", "truncated_negative_binomial", {"eta": 1.0, "gamma": 0.1}),
        ("poisson:mean=10", "poisson", {"mean": 10.0}),
        (" point_mass : count = 5 ", "point_mass", {"count": 5}),
        ("binomial:mean=5,count=20", "binomial", {"count": 20, "probability": 0.25}),
        ("binomial:count=20,probability=1", "binomial", {"count": 20, "probability": 1}),
        ("beta_binomial:count=20,mean=10", "beta_binomial", {"count": 20, "gamma": 1}),
        ("tnb:eta=-0.5,gamma=1e-9", "truncated_negative_binomial", {"eta": -0.5, "gamma": 1e-9}),
        ("geometric:mean=10,capped=50", "capped", {"maximum": 50}),
        ("poisson:mean=3,conditioned=9", "conditioned", {"maximum": 9}),
    ],
)
def test_text_names_a_law(text, family, parameters):
    law = laws.parse(text)
    assert law.family == family
    assert dict(law.parameters) == parameters


def test_mean_in_text_is_the_mean_before_restriction():
    law = laws.parse("geometric:mean=10,capped=50")
    assert law.inner is not None
    assert law.inner.mean == pytest.approx(10)
    assert law.mean < 10
    solved = laws.parse("tnb:eta=0.5,mean=10")
    assert solved.mean == pytest.approx(10, rel=1e-12)


@pytest.mark.parametrize("law", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_descriptions_are_read_back(law):
    text = law.name
    again = laws.parse(text)
    assert again.name == text
    assert again.family == law.family
    assert again.mean == law.mean
    assert again.pgf_gap(0.3) == law.pgf_gap(0.3)


def test_restrictions_apply_in_the_order_given():
    first = laws.parse("poisson:mean=5,conditioned=8,capped=6")
    assert first.family == "capped"
    assert first.inner is not None
    assert first.inner.family == "conditioned"
    second = laws.parse("poisson:mean=5,capped=6,conditioned=5")
    assert second.pmf(5) > first.pmf(5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "law of K is ''; it must be one of: point_mass, geometric, logarithmic, "),
        ("zipf:gamma=1", "law of K is 'zipf'; it must be one of: point_mass"),
        ("geometric", "gives no parameters; geometric takes gamma; or mean"),
        ("geometric:gamme=0.1", "no parameter 'gamme'; did you mean gamma"),
        ("geometric:gamma=0.1,mean=10", "gives gamma, mean; geometric takes gamma"),
        ("tnb:mean=10", "takes eta, gamma; or eta, mean"),
        ("binomial:mean=10", "takes count, probability; or count, mean"),
        ("poisson:mean=ten", "mean is 'ten'; it must be a number"),
        ("poisson:mean", "must be one name=number; poisson takes mean"),
        ("poisson:mean=1,mean=2", "must be one name=number"),
        ("poisson:mean=3,capped=0", "capped is 0"),
        ("poisson:mean=3,cap=9", "optionally conditioned or capped"),
        ("geometric:gamma=2", "gamma is 2"),
        ("poisson:mean=nan", "mean is nan"),
    ],
)
def test_bad_text_is_refused_with_what_is_allowed(text, message):
    with pytest.raises(InputError, match=message) as caught:
        laws.parse(text)
    assert "\n" not in str(caught.value)


def test_families():
    assert laws.FAMILIES == (
        "point_mass",
        "geometric",
        "logarithmic",
        "truncated_negative_binomial",
        "poisson",
        "binomial",
        "beta_binomial",
        "pmf",
        "conditioned",
        "capped",
    )


def test_a_law_may_be_given_as_it_is_or_by_its_text():
    law = laws.geometric(gamma=0.1)
    assert laws.as_law(law) is law
    assert laws.as_law("poisson:mean=3").mean == 3.0
    with pytest.raises(InputError):
        laws.as_law("nothing")
