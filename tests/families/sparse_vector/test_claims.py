"""Claims on sparse vectors: verdicts, numbers, and what the refutations rest on."""

import math

import mpmath as mp
import pytest

from jaxsel.catalogue import find_claim
from jaxsel.families.sparse_vector.claims import (
    above_threshold,
    accuracy,
    equal_noise,
    noised_once,
    sparse,
    variants,
)
from jaxsel.families.sparse_vector.claims.cases import drawn_on_monotone, pair_cases
from jaxsel.language.base import Budget, Claim, Relation
from jaxsel.language.checking import bound_verdict, cases_at
from tests.families.entry_checks import entries_of

CLAIMS = [
    found
    for module in (above_threshold, sparse, noised_once, accuracy, variants, equal_noise)
    for found in vars(module).values()
    if isinstance(found, Claim) and found.erratum is None
]
BY_ID = {claim.id: claim for claim in CLAIMS}


def by_id(claim):
    return claim.id


@pytest.mark.parametrize("claim", CLAIMS, ids=by_id)
def test_record_is_complete(claim):
    assert claim.id.endswith("-printed") != claim.holds
    if "-monotone" in claim.id and claim.kind == "privacy":
        assert claim.relation is Relation.MONOTONE


def test_ids_are_unique_and_promised_by_the_catalogue():
    assert len(BY_ID) == len(CLAIMS)
    for entry in entries_of("sparse_vector"):
        for pair in entry.pairs({}):
            name, epsilon = entry.guarantee({}, pair)
            claim = BY_ID[name]
            assert claim.holds is not entry.broken
            assert claim.relation in (pair.relation, Relation.GENERAL)
            assert epsilon > 0.0


def test_numbers():
    assert BY_ID["SVT-AboveThreshold-monotone"].evaluate() == 0.75
    assert BY_ID["SVT-AboveThreshold-monotone"].evaluate(scale=2.0) == 1.0
    assert BY_ID["SVT-equal-noise-monotone"].evaluate(scale=0.5) == 4.0
    shared = BY_ID["SVT-LSL-Alg1-monotone"].evaluate(scale=4.0, share=0.2)
    assert shared == pytest.approx(0.2 + 0.8 / 2.0)
    # 2c/s with s = sqrt(32 c log(1/delta)), at epsilon = 1
    pure = BY_ID["SVT-Sparse-advanced-pure"].evaluate(cutoff=3, delta=1e-6)
    assert pure == pytest.approx(6.0 / math.sqrt(96.0 * math.log(1e6)))
    alpha = BY_ID["SVT-AboveThreshold-accuracy"].evaluate(queries=1000, beta=0.05)
    assert alpha == pytest.approx(8.0 * math.log(40_000.0))
    lee = BY_ID["SVT-LSL-Alg4"].evaluate, BY_ID["SVT-LSL-Alg4-monotone"].evaluate
    assert [f(cutoff=c) for f in lee for c in (1, 10)] == [1.75, 15.25, 1.0, 7.75]
    assert BY_ID["SVT-LSL-Alg3-growth"].evaluate(queries=30, cutoff=3) == 5.0
    value = BY_ID["SVT-LSL-Alg5-infinite"].evaluate(epsilon=1.0)
    assert value == pytest.approx(0.19673467)
    assert BY_ID["SVT-LSL-split"].evaluate(cutoff=4) == pytest.approx(0.2)


def test_refutations_are_by_exact_numbers():
    assert BY_ID["SVT-LSL-Alg3-printed"].check(Budget()).observed == pytest.approx(15.0)
    four = BY_ID["SVT-LSL-Alg4-printed"].check(Budget())
    assert four.observed == pytest.approx(4.75, abs=1e-3)
    assert BY_ID["SVT-LSL-Alg5-printed"].check(Budget()).observed == math.inf
    six = BY_ID["SVT-LSL-Alg6-printed"].check(Budget())
    assert 28.8 < six.observed < 30.0


def test_the_check_of_a_bound_sees_one_that_is_a_hundredth_too_small():
    def too_small(generator, relation):
        point, noise, words = above_threshold.drawn(generator, relation)
        return {"epsilon": 0.99 * point["epsilon"]}, noise, words

    def outcome(claim, drawn, relation):
        found = pair_cases(Budget(), drawn, relation)
        return bound_verdict(cases_at(claim, claim.parameters, found)).outcome

    general, monotone = above_threshold.general, above_threshold.monotone
    assert outcome(general, too_small, Relation.GENERAL) == "refuted"
    # Monotone bounds do not hold for general neighbours.
    drawn = drawn_on_monotone(above_threshold.drawn)
    assert outcome(monotone, drawn, Relation.MONOTONE) == "holds"
    assert outcome(monotone, drawn, Relation.GENERAL) == "refuted"


@mp.workdps(30)
def test_sketched_sparse_vector_is_three_epsilon():
    """CL-E18."""

    def below(x):
        return mp.e**x / 2 if x < 0 else 1 - mp.e ** (-x) / 2

    def chance(first, last):
        def density(z):
            others = below(z - first) ** 60
            return mp.e ** (-abs(z)) / 2 * others * (1 - below(z - last))

        return mp.quad(density, [-60, -10, 0, 1, 3, 6, 10, 20, 60, 120])

    loss = abs(mp.log(chance(0, 1) / chance(1, 0)))
    verdict = find_claim("CL-Sec1.5.2-svt-printed").check(Budget())
    assert verdict.observed == pytest.approx(float(loss), rel=1e-9)
    assert 2.99 < float(loss) <= 3.0
