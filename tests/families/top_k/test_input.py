"""Top-k mechanisms: bad input, and the catalogue's entries."""

import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon, profile_delta
from jaxsel.families.top_k import entries
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.noisy_gaps import largest_gap
from jaxsel.families.top_k.pate import noisy_labels
from jaxsel.families.top_k.stable import propose_test_release, stable_top_k
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.families.top_k.votes import scaled_votes
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from tests.families.entry_checks import entries_of

COUNTS = [5.0, 3.0, 1.0]
STABLE = {"rho": 0.5, "delta_t": 0.1}
TEST = {"k": 1, "noise_scale": 1.0, "delta_t": 0.1}
FIXED = {"k": 1, "rho": 0.5, "delta_t": 0.1}
DOMAIN = {"k": 1, "epsilon": 1.0, "delta": 0.1}
VOTES = {"votes": [3.0, 1.0], "truth": np.array([True, False])}
LABELS = {"noise_scale": 1.0, "threshold": 2.0}


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (stable_top_k(), [5.0, -1.0], STABLE, "negative counts"),
        (stable_top_k(), [5.0, np.nan], STABLE, "NaN"),
        (stable_top_k(), [5.0], STABLE, "at least two counts"),
        (stable_top_k(), [[5.0, 1.0]], STABLE, "one list"),
        (stable_top_k(), {"head": [1.0, 5.0], "candidates": 9}, STABLE, "not sorted"),
        (stable_top_k(), {"head": COUNTS, "candidates": 2}, STABLE, "at most"),
        (stable_top_k(), {"counts": COUNTS}, STABLE, "data must be a histogram"),
        (stable_top_k(), {"histogram": COUNTS, "wanted": [True]}, STABLE, "for each candidate"),
        (stable_top_k(), COUNTS, STABLE | {"k": 3}, "k is 3; it must be below"),
        (stable_top_k(), COUNTS, STABLE | {"k": 0}, "k is 0"),
        (stable_top_k(), COUNTS, {"rho": 0.5}, "delta_t is missing"),
        (stable_top_k(), COUNTS, STABLE | {"delta_t": 1.0}, "delta_t is 1"),
        (stable_top_k(), COUNTS, STABLE | {"rho": 0.0}, "rho is 0"),
        (stable_top_k(), COUNTS, {"delta_t": 0.1}, "either rho, or both"),
        (stable_top_k(), COUNTS, STABLE | {"test_scale": 1.0}, "either rho, or both"),
        (stable_top_k(selection="gaussian"), COUNTS, STABLE, "give selection_scale"),
        (stable_top_k(), COUNTS, STABLE | {"sigma": 1.0}, "sigma is no parameter"),
        (stable_top_k(events="sets"), np.ones(13), STABLE, "at most 12 candidates"),
        (largest_gap(), COUNTS, {}, "either epsilon or noise_scale"),
        (largest_gap("gaussian"), COUNTS, {"epsilon": 1.0}, "not pure DP"),
        (largest_gap(), COUNTS, {"epsilon": 1.0, "regulariser": [0.0]}, "2 in all"),
        (largest_gap(), COUNTS, {"epsilon": 1.0, "regulariser": [-np.inf] * 2}, "every size"),
        (largest_gap(), COUNTS, {"epsilon": 1.0, "regulariser": [np.inf, 0.0]}, "-inf to exclude"),
        (largest_gap(), COUNTS, {"epsilon": 1.0, "max_size": 0}, "max_size is 0"),
        (largest_gap(), COUNTS, {"epsilon": 1.0, "groups": 0}, "groups is 0"),
        (propose_test_release(), COUNTS, {"k": 1, "delta_t": 0.1}, "noise_scale is m"),
        (propose_test_release(), COUNTS, TEST | {"k": 3}, "k is 3"),
        (fixed_top_k(), COUNTS, FIXED | {"weight": -1.0}, "weight is -1"),
        (fixed_top_k(), COUNTS, {"k": 1, "delta_t": 0.1}, "rho is missing"),
        (fixed_top_k(), COUNTS, FIXED | {"capacity": 1}, "these races need"),
        (fixed_top_k(), COUNTS, FIXED | {"capacity": "x"}, "capacity is 'x'"),
        (fixed_top_k(), COUNTS, FIXED | {"groups": 1e13}, "groups is 1"),
        (exponential_top_k(), COUNTS, {"k": None, "rho": 1.0}, "k is None"),
        (exponential_top_k(), COUNTS, {"k": 1}, "either rho or noise_scale"),
        (exponential_top_k(), COUNTS, {"rho": 1.0}, "k is missing"),
        (exponential_top_k(), COUNTS, {"k": 3, "rho": 1.0}, "k is 3"),
        (limited_domain(), COUNTS, DOMAIN | {"domain": 4}, "domain is 4"),
        (limited_domain(), COUNTS, DOMAIN | {"delta": 0.0}, "delta is 0"),
        (top_stable_sets(), COUNTS, {"k": 1, "epsilon": 1.0}, "delta is missing"),
        (top_stable_sets(), COUNTS, DOMAIN | {"delta": 0.99}, "too large"),
        (noisy_labels(), VOTES, {"noise_scale": 1.0}, "threshold is missing"),
        (noisy_labels(), VOTES | {"truth": [True]}, LABELS, "one entry a label"),
        (noisy_labels(), VOTES | {"votes": [-1.0, 0.0]}, LABELS, r"in \[0, 1e"),
        (noisy_labels(), COUNTS, LABELS, "data must be"),
        (stable_top_k(), [1e16, 1.0], STABLE, "counts above 1e"),
        (stable_top_k(), COUNTS, STABLE | {"rho": 1e-150}, "the noise scale is 1"),
        (largest_gap(), COUNTS, {"epsilon": 1e18}, "the noise scale is 2e-18"),
        (largest_gap(), COUNTS, {"noise_scale": 1e-320}, "noise_scale is 1e-320"),
        (exponential_top_k(), COUNTS, {"k": 1, "rho": 1e150}, "the noise scale is"),
        (limited_domain(), COUNTS, DOMAIN | {"epsilon": 1e18}, "the noise scale is"),
        (top_stable_sets(), COUNTS, DOMAIN | {"delta": 1e-320}, "delta is 1e-320"),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: stable_top_k(selection="cauchy"), "selection is 'cauchy'"),
        (lambda: stable_top_k(test="gumbel"), "test is 'gumbel'"),
        (lambda: stable_top_k(events="codes"), "events is 'codes'"),
        (lambda: stable_top_k(threshold="low"), "threshold is 'low'"),
        (lambda: stable_top_k(precision="fast"), "precision is 'fast'"),
        (lambda: largest_gap(method="slow"), "method is 'slow'"),
        (lambda: exponential_top_k(events="sets"), "does not know the set"),
        (lambda: fixed_top_k(events="sets"), "does not know the set"),
        (lambda: fixed_top_k(beyond="none"), "beyond is 'none'"),
        (lambda: scaled_votes([[2.0]], 1.0), "0 or 1"),
        (lambda: scaled_votes([[1.0]], 0.0), "most is 0"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_scaled_votes():
    votes = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=float)
    assert scaled_votes(votes, np.inf).tolist() == [2.0, 1.0, 1.0, 1.0]
    assert scaled_votes(votes, 2.0).tolist() == [1.5, 0.5, 0.5, 0.5]


# --- The catalogue --------------------------------------------------------------------


@pytest.mark.parametrize("entry", entries_of("top_k"), ids=lambda entry: entry.name)
def test_entry_keeps_its_promise(entry):
    built = entry.build({})
    mechanism = built.mechanism
    labels = mechanism.labels(built.data, built.params)
    for pair in entry.pairs({}):
        assert pair.relation is Relation.MONOTONE or pair.name == "opposed"
        laws = [
            mechanism.law(side, pair.params).probabilities for side in (pair.data, pair.neighbour)
        ]
        assert all(law.size == len(labels) for law in laws)
        assert all(law.sum() == pytest.approx(1.0, abs=1e-10) for law in laws)
        proven = entry.guarantee({}, pair)
        if proven is not None:
            assert exact_epsilon(*laws) <= proven[1] * (1 + 1e-9)
    by_law = entry.build({"method": "law"}).mechanism
    assert by_law.name.startswith("from_law")


def test_one_setting_of_noise_takes_the_place_of_another():
    """A scale replaces the default epsilon or rho; both together are refused."""
    for entry, given in (
        (entries.largest_gap, {"noise": "gaussian", "noise_scale": "2"}),
        (entries.stable_top_k, {"selection_scale": "2", "test_scale": "3"}),
        (entries.exponential_top_k, {"noise_scale": "2"}),
    ):
        built = entry.build(given)
        built.mechanism.prepare(built.data, built.params)
        both = given | ({"epsilon": "1"} if entry is entries.largest_gap else {"rho": "1"})
        built = entry.build(both)
        with pytest.raises(InputError, match="either"):
            built.mechanism.prepare(built.data, built.params)


@pytest.mark.parametrize("noise", ["gumbel", "laplace", "exponential"])
def test_guarantees_of_the_size_are_those_of_noisy_max(noise):
    entry = entries.largest_gap
    given = {"noise": noise, "noise_scale": "4"}
    proven = entry.guarantee(given, entry.pairs(given)[0])
    assert proven is not None
    assert proven.epsilon == pytest.approx(0.5)


def test_a_pair_tells_the_published_code_of_top_stable():
    entry = entries.top_stable_published_code
    given = {"histogram": "90,90,0", "k": "1"}
    mechanism = entry.build(given).mechanism
    deltas = [
        profile_delta(
            mechanism.law(pair.data, pair.params).probabilities,
            mechanism.law(pair.neighbour, pair.params).probabilities,
            3.0,
        )
        for pair in entry.pairs(given)
    ]
    assert max(deltas) > 0.99
