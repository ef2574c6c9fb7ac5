"""Base guarantees: their curves bound random pairs, and their text form parses."""

import math

import numpy as np
import pytest

from jaxsel.accounting.single_run import curves, divergences, pairs
from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.host.errors import InputError

ORDERS = np.array([1.0, 1.2, 2.0, 6.0, 40.0, math.inf])
LEVELS = np.array([-1.0, 0.0, 0.1, 0.4, 0.9])


def events_mass(p, q):
    """(P(S), Q(S)) over the events that are prefixes of the likelihood ratio."""
    order = np.argsort(divergences.privacy_loss(p, q))
    return np.cumsum(p[order]), np.cumsum(q[order])


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_pure_bounds_every_close_pair(epsilon):
    base = curves.pure(epsilon)
    generator = np.random.default_rng(11)
    reached = 0.0
    for _ in range(100):
        p, q = pairs.random_pure_pair(generator, int(generator.integers(2, 7)), epsilon)
        renyi = divergences.renyi_divergence(p, q, ORDERS)
        assert np.all(renyi <= base.renyi(ORDERS) * (1 + 1e-9) + 1e-12)
        profile = divergences.profile_delta(p, q, LEVELS)
        assert np.all(profile <= base.profile(LEVELS) + 1e-12)
        x, y = events_mass(p, q)
        assert np.all(y <= base.tradeoff(np.minimum(x, 1.0)) + 1e-9)
        reached = max(reached, float(np.max(renyi / base.renyi(ORDERS))))
    assert reached > 0.99  # the bound is attained, so a smaller one would fail


def test_approximate_profile_bounds_mixtures():
    base = curves.approximate(0.8, 0.05)
    assert base.core is not None
    assert base.failure == 0.05
    assert np.all(np.isinf(base.renyi(ORDERS)))
    generator = np.random.default_rng(12)
    for _ in range(100):
        core = pairs.random_pure_pair(generator, 4, 0.8)
        junk = pairs.random_pair(generator, 4)
        p = 0.95 * core.first + 0.05 * junk.first
        q = 0.95 * core.second + 0.05 * junk.second
        profile = divergences.profile_delta(p, q, LEVELS)
        assert np.all(profile <= base.profile(LEVELS) + 1e-12)
        x, y = events_mass(p, q)
        assert np.all(y <= base.tradeoff(np.minimum(x, 1.0)) + 1e-9)


def test_zcdp_equals_gaussian_renyi():
    np.testing.assert_allclose(
        curves.zcdp(0.1).renyi(ORDERS), curves.gaussian(math.sqrt(5)).renyi(ORDERS)
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("zcdp:rho=0.1", curves.zcdp(0.1)),
        ("pure:epsilon=1", curves.pure(1.0)),
        ("gaussian:noise_multiplier=4", curves.gaussian(4.0)),
        (" laplace: noise_scale = 2 ", curves.laplace(2.0)),
        ("approximate:epsilon=1,delta=1e-6", curves.approximate(1.0, 1e-6)),
        ("approximate:delta=1e-6,epsilon=1", curves.approximate(1.0, 1e-6)),
        ("randomised_response:epsilon=0.5", curves.randomised_response(0.5)),
    ],
)
def test_parse(text, want):
    base = parse_base(text)
    assert base.name == want.name
    assert parse_base(base.name).name == base.name
    np.testing.assert_allclose(base.renyi(ORDERS), want.renyi(ORDERS))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zcdp",
        "zcdp:",
        "zcdp:0.1",
        "zcdp:rho=x",
        "zcdp:rho=-1",
        "pure:epsilon=-1",
        "zcdp:rho=nan",
        "approximate:epsilon=1",
        "gaussian:noise_multiplier=0",
        "unknown:rho=1",
    ],
)
def test_parse_refuses(text):
    with pytest.raises(InputError) as caught:
        parse_base(text)
    assert "must" in str(caught.value) or "missing; write" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("zcdp:epsilon=1", "no parameter 'epsilon'; it takes rho"),
        ("zcdp:rho=1,rho=2", "give it once"),
    ],
)
def test_parse_names_what_is_wrong(text, sentence):
    with pytest.raises(InputError, match=sentence):
        parse_base(text)
