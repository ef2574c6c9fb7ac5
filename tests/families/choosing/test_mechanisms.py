"""Theorems 7 and 8 of Cohen et al. 2022 as mechanisms: samplers against exact laws."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.families.choosing.choosing import choosing_mechanism
from jaxsel.families.choosing.stable_selection import stable_selection
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel.engine import simulate_grid
from jaxsel.kernel.statistics import counts
from tests.conftest import ALPHA
from tests.families.entry_checks import entries_of
from tests.families.exact_fit import check_fit

TRIALS = 100_000
CHOOSING = {"epsilon": 1.0, "delta": 0.1, "beta": 0.5, "bound": 2}
STABLE = {"epsilon": 1.0, "delta": 0.1, "beta": 0.5, "rank": 2}
TIES = [9.0, 4.0, 4.0, 0.0, 4.0]
GROUPS = {"scores": [12.0, 9.0, 0.0], "counts": [2.0, 1.0, 1e12]}
BY_NAME = {entry.name: entry for entry in entries_of("choosing")}


@pytest.mark.parametrize("method", ["literal", "grouped"])
def test_choosing_and_stable_selection_have_their_laws(method, seed):
    check_fit(choosing_mechanism(method=method), [(TIES, CHOOSING)], seed)
    check_fit(stable_selection(method=method), [(TIES, STABLE)], seed)


def test_many_rounds_of_the_literal_sampler_have_the_law(seed):
    """beta = 0.02: 266 rounds, more than the parts of the sampler have numbers, 0xC7 and
    0xC8. Nothing runs with chance 49.9/20,000; the best of two tied candidates is either.
    """
    settings = {"epsilon": 1.0, "delta": 0.1, "beta": 0.02, "bound": 2}
    mechanism = choosing_mechanism(method="literal")
    cells = [([0.0, -1.0], settings)]
    found = simulate_grid(mechanism, cells, trials=20_000, seed=seed).values[0]
    law = mechanism.law(*cells[0]).probabilities
    assert 20_000 * law[-1] == pytest.approx(49.9, abs=0.1)
    assert found[-1] > 0
    assert goodness_of_fit(found, law) > ALPHA
    # Power: what was drawn when rounds shared the prior's number never gave "none".
    without = np.append(law[:-1] / law[:-1].sum(), 0.0)
    assert goodness_of_fit(np.round(20_000 * without), law) < ALPHA


def test_groups_of_any_size(seed):
    check_fit(choosing_mechanism(), [(GROUPS, CHOOSING)], seed)
    check_fit(stable_selection(shares=3), [(GROUPS, STABLE)], seed)
    small = {"scores": [9.0, 4.0], "counts": [1.0, 6.0]}
    for method in ("literal", "grouped"):
        check_fit(choosing_mechanism(method=method), [(small, CHOOSING)], seed)


def test_long_lists_are_padded_to_equal_shapes():
    mechanism = choosing_mechanism()
    for first, second in (([5.0, 3.0, 0.0], [4.0, 4.0, 0.0]), (range(90), [0.0] * 90)):
        shapes = [
            [np.shape(leaf) for leaf in mechanism.prepare(np.array(side), CHOOSING)[0]]
            for side in (np.array(first, float), np.array(second, float))
        ]
        if len(list(first)) <= 64:
            assert shapes[0] == shapes[1]
    padded = mechanism.prepare([1.0, 0.0], CHOOSING | {"groups": 7})[0]
    assert padded.levels.shape == (7,)


def _missing(number):
    return jnp.isinf(number).astype(jnp.int32)


def _far(outcome):
    return (outcome.loss > 4.5).astype(jnp.int32) + _missing(outcome.loss)


def test_loss_is_that_of_the_label(seed):
    for mechanism in (choosing_mechanism(), choosing_mechanism(method="literal")):
        found = simulate_grid(
            mechanism,
            [(TIES, CHOOSING)],
            trials=TRIALS,
            seed=seed,
            statistic=counts(_far, 3),
            progress=False,
        ).values[0]
        law = mechanism.law(TIES, CHOOSING).probabilities
        exact = np.array([law[0], law[1:5].sum(), law[5]])
        assert goodness_of_fit(found, exact) > ALPHA


# --- Catalogue ------------------------------------------------------------------------


@pytest.mark.parametrize("entry", entries_of("choosing"), ids=lambda entry: entry.name)
def test_entries_keep_their_promises(entry):
    mechanism = entry.build({}).mechanism
    for pair in entry.pairs({}):
        first, second = (mechanism.law(s, pair.params) for s in pair[1:3])
        for law in (first, second):
            assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-10)
            assert len(law.labels) == law.probabilities.size
        laws = first.probabilities, second.probabilities
        given = pair.params
        assert profile_delta(*laws, given["epsilon"]) <= given["delta"]
        assert entry.guarantee({}, pair) is None


def test_pairs_are_the_stated_ones():
    pair = BY_NAME["stable_selection"].pairs({})[0]
    assert (list(pair.data), list(pair.neighbour)) == ([5, 3, 0], [4, 4, 1])
    pair = BY_NAME["choosing_mechanism"].pairs({})[0]
    assert (list(pair.data), list(pair.neighbour)) == ([5, 3, 0], [4, 4, 0])
    opposed = BY_NAME["choosing_mechanism"].pairs({"bound": "1"})[0]
    assert list(opposed.neighbour) == [4, 3, 0]


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (choosing_mechanism(), [], CHOOSING, "scores is empty"),
        (choosing_mechanism(), [[1.0]], CHOOSING, "one list"),
        (choosing_mechanism(), [1.0], {"epsilon": 1.0}, "delta is missing"),
        (choosing_mechanism(), [1.0], CHOOSING | {"rank": 1}, "rank is no parameter"),
        (choosing_mechanism(), {"scores": [1.0]}, CHOOSING, 'by "scores" and "counts"'),
        (choosing_mechanism(), {"scores": [1.0], "counts": [0.0]}, CHOOSING, "counts must hold"),
        (choosing_mechanism(), [1.0, 2.0], CHOOSING | {"groups": 1}, "groups is 1"),
        (choosing_mechanism(method="literal"), GROUPS, CHOOSING, "at most 100000 runs"),
        (stable_selection(), [1.0, 2.0], STABLE, "rank is 2"),
        (stable_selection(), [1.0, 2.0], STABLE | {"epsilon": 2.0}, "epsilon is 2"),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: choosing_mechanism(method="slow"), "method is 'slow'"),
        (lambda: stable_selection(method="slow"), "method is 'slow'"),
        (lambda: BY_NAME["choosing_mechanism"].build({"scores": "1"}), "at least 2 numbers"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(InputError, match=message):
        make()
