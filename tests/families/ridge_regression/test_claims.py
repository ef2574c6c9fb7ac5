"""Claims of Section 6.1 of Koskela, Redberg & Wang: propose-test-release and OPS."""

import math

import numpy as np
import pytest

from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression import settings as ptr
from jaxsel.families.ridge_regression.claims import (
    posterior_bounds,
    posterior_sampling,
    propose_test_release,
    shipped_runs,
)
from jaxsel.families.ridge_regression.claims.ridge_cases import (
    Line,
    ridge_pair,
    ridge_pairs,
    run_delta_exact,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget, Claim, Erratum
from jaxsel.language.checking import bound_verdict

FOUND = [
    found
    for module in (posterior_sampling, posterior_bounds, propose_test_release, shipped_runs)
    for found in vars(module).values()
]
ERRATA = [found for found in FOUND if isinstance(found, Erratum)]
CLAIMS = [found for found in FOUND if isinstance(found, Claim)]


def named(claim_id):
    return next(claim for claim in CLAIMS if claim.id == claim_id)


def test_errata_and_claims_name_each_other():
    ids = {claim.id for claim in CLAIMS}
    assert len(ids) == len(CLAIMS) == 17
    for erratum in ERRATA:
        assert {*erratum.refuted, *erratum.corrected} <= ids
        for claim_id in (*erratum.refuted, *erratum.corrected):
            assert named(claim_id).erratum == erratum.id
            assert named(claim_id).holds == (claim_id in erratum.corrected)
    for claim in CLAIMS:
        assert (claim.correction is None) == claim.holds


def test_numbers_in_the_errata():
    text = ERRATA[0].correct
    for shift, times in ((0.25, "3.9"), (1.0, "13")):
        epsilon = named("KRW-Sec6.1-OPS-printed").evaluate(leverage=1e-9, shift=shift)
        found = ridge.posterior_delta(epsilon, 1e-9, shift).max() / 1e-6
        assert f"{found:.{len(times) - 2 if '.' in times else 0}f}" == times
        assert f"{times} times" in text


def test_theorem_6_1_is_nearly_attained_and_needs_every_term():
    verdict = named("KRW-Thm6.1").check(Budget())
    assert verdict.margin < 1e-3
    # Both data sets fail to qualify, tell each other apart, and pass with the same chance.
    passing = 0.01
    outputs = np.array([[passing, 0.0, 1 - passing], [0.0, passing, 1 - passing]])
    seen = np.maximum(outputs[0] - math.exp(1.0) * outputs[1], 0.0).sum()
    evaluate = named("KRW-Thm6.1").evaluate
    kept = {"epsilon": 0.5, "delta": 0.0, "test_epsilon": 0.5, "test_delta": 0.0}
    assert seen == evaluate(**kept, failure=passing)
    assert seen > evaluate(**kept, failure=0.5 * passing)


def test_the_search_rejects_slightly_wrong_constants():
    """Power: 0.9 of what is claimed is refuted on the same pairs."""

    def eigenvalues():
        for pair in ridge_pairs(Budget()):
            yield 0.9, pair.larger.least - pair.smaller.least, pair.where

    def norms():
        for pair in ridge_pairs(Budget()):
            gap = abs(math.log1p(pair.larger.norm) - math.log1p(pair.smaller.norm))
            bound = ridge.leverage_bound(pair.regularisation, pair.larger.least)
            yield 0.9 * math.log1p(bound), gap, pair.where

    def solutions():
        for pair in ridge_pairs(Budget()):
            bound = ridge.ridge_norm_bound(pair.regularisation, pair.records - 1)
            yield 0.9 * float(bound), pair.smaller.norm, pair.where

    for cases in (eigenvalues, norms, solutions):
        assert bound_verdict(cases()).outcome == "refuted", cases.__name__


def test_ridge_pair_by_hand():
    # One record (1, 1), then (1, -1), lambda = 1: theta goes from 1/2 to 0.
    rows, targets = np.ones((2, 1)), np.array([1.0, -1.0])
    pair = ridge_pair(rows, targets, 1.0, "")
    assert pair.smaller == pytest.approx((1.0, 0.5))
    assert pair.larger == pytest.approx((2.0, 0.0))
    assert (pair.leverage, pair.residual, pair.distance) == pytest.approx((0.5, 1.5, 0.5))
    assert pair.records == 2


def test_run_delta_exact_is_a_divergence():
    """At very low epsilon it is 1 - e^epsilon, and it falls; the test leaks less alone."""
    run = ptr.calibrate_run(1.0, 1e-2)
    line = Line(30.0, 10.0, 1.0, -1.0, 20.0)
    low = run_delta_exact(run, line, -8.0)
    assert low == pytest.approx(-math.expm1(-8.0), abs=1e-6)
    values = [run_delta_exact(run, line, e) for e in np.linspace(0.0, 1.0, 6)]
    assert np.all(np.diff(values) < 0.0)
    # Without a sample (tiny lambda) only the two bounds are told apart: at most
    # a Gaussian pair of noise multiplier s/sqrt(2).
    bare = run_delta_exact(run, Line(0.0, 0.0, 1.0, 1.0, 1e-3), 0.2)
    from jaxsel.accounting.single_run.closed_forms import gaussian_delta

    assert bare <= gaussian_delta(0.2, run.noise_multiplier / math.sqrt(2.0)) + 1e-9


@pytest.mark.parametrize(
    ("claim_id", "bad"),
    [
        ("KRW-Thm6.1", {"failure": -1.0}),
        ("KRW-Sec6.1-OPS", {"tail": 1.0}),
        ("KRW-Sec6.1-OPS-printed", {"delta": 0.0}),
        ("OPS-margin", {"delta": 0.7}),
        ("OPS-noise", {"epsilon": -1.0}),
        ("OPS-norm", {"regularisation": 0.0}),
        ("OPS-norm-printed", {"eigenvalue": -1.0}),
        ("OUT-PERT", {"records": 0}),
        ("OPS-Balanced", {"delta": 2.0}),
        ("OPS-run", {"epsilon": math.nan}),
        ("KRW-Sec6.1-tighter", {"mean": 0.5}),
    ],
)
def test_bad_parameters_are_refused(claim_id, bad):
    with pytest.raises(InputError):
        named(claim_id).evaluate(**bad)
