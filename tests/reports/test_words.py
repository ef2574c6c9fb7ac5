"""Words for bases, laws of K and theorems."""

import decimal

import pytest

from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.repetitions import parse
from jaxsel.reports import words
from jaxsel.tuning import composing_searches
from jaxsel.tuning.search_bounds import bounds_by_name
from tests.releases import one_release as release


@pytest.mark.parametrize(
    ("number", "digits", "wanted"),
    [
        (0.0171112, 3, 0.0172),
        (0.001, 6, 0.001),
        (1e-6, 6, 1e-6),
        (0.9999999, 3, 1.0),
        (1.23456e-9, 2, 1.3e-9),
        (0.0, 3, 0.0),
        (1234567.0, 3, 1240000.0),
    ],
)
def test_numbers_go_upwards(number, digits, wanted):
    assert words.rounded_up(number, digits) == wanted


def test_no_number_goes_downwards():
    for step in range(1, 400):
        number = step**3 / 7919.0
        for digits in (2, 3, 6):
            found = words.rounded_up(number, digits)
            assert decimal.Decimal(found) >= decimal.Decimal(number)
            assert found <= number * (1.0 + 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        ("gaussian:noise_multiplier=4", "the Gaussian mechanism (noise multiplier = 4)"),
        ("pure:epsilon=0.1", "a purely differentially private algorithm (epsilon = 0.1)"),
        ("laplace:noise_scale=2.5", "the Laplace mechanism (noise scale = 2.5)"),
    ],
)
def test_a_base_in_words(base, wanted):
    assert words.base_words(parse_base(base).name) == wanted


def test_parameters_are_as_given_and_no_longer_than_need_be():
    text = words.base_words(
        "dp_sgd:noise_multiplier=1.1,sampling_probability=0.013913043478260870,steps=4"
    )
    assert "noise multiplier = 1.1, sampling probability = 0.013913, steps = 4" in text
    assert words.base_words("something of one's own") == "something of one's own"
    points = ",".join(f"{k}=1e-{k}" for k in range(1, 99))
    assert len(words.base_words(f"points:{points}")) < 250


@pytest.mark.parametrize(
    ("law", "wanted"),
    [
        ("geometric:mean=10", "geometric with mean 10"),
        ("logarithmic:mean=10", "logarithmic with mean 10"),
        ("tnb:eta=0.5,mean=50", "truncated negative binomial (η = 0.5) with mean 50"),
        ("poisson:mean=3", "Poisson with mean 3"),
        ("point_mass:count=10", "always 10"),
        ("binomial:count=30,mean=20", "binomial of 30 with mean 20"),
        ("pmf:1=0.2,3=0.5,11=0.3", "a table of 3 values with mean 5"),
        ("beta_binomial:count=300,gamma=1", "beta-binomial (τ = 300, γ = 1) with"),
    ],
)
def test_a_law_in_words(law, wanted):
    assert words.law_words(parse(law)).startswith(wanted)


def test_releases_in_words():
    search = release("gaussian:noise_multiplier=4", "poisson:mean=3", 2)
    assert words.release_words(search) == (
        "2 times the best of K runs of the Gaussian mechanism (noise multiplier = 4), K "
        "Poisson with mean 3"
    )
    assert words.release_words(release("gdp:mu=0.5")).startswith("one run of a Gaussian-")


ALL = {name: bound.words for name, bound in bounds_by_name().items()}
ALL |= composing_searches.STATEMENTS


@pytest.mark.parametrize("theorem", [*ALL, "PS-Lem20+PS-Thm2", "KRW-Cor6.2"])
def test_every_theorem_has_a_source(theorem):
    statement = ALL.get(theorem, "as it is said")
    source, text = words.theorem_words(theorem, statement)
    assert source
    assert "this project" not in source
    assert "<=" not in text
    if "20" in source:  # a year: a work is cited, and stands in full
        assert words.references(source), source
    if theorem.startswith("PS-Lem20+"):
        assert source.startswith("Papernot & Steinke 2022, Lemma 20, and ")


def test_neighbours_in_words():
    assert words.relation_words("add_or_remove_one") == "one record is added or removed"
    assert "sensitivity" in words.relation_words(None)
    assert words.listed(["a", "b", "c"]) == "a; b; and c"
    assert words.listed(["a"]) == "a"
