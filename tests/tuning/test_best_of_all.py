"""Liu & Talwar 2019, Appendix B.1: the first example and LT-E14."""

import math

import pytest

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import divergences, pairs
from jaxsel.host.errors import InputError
from jaxsel.tuning.attained.exact_laws import tuned_law


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.6])
def test_erratum_14_the_printed_pair_is_not_close(epsilon):
    half = math.exp(epsilon) / 2
    # as printed: e^epsilon/2 and (1 - e^epsilon)/2, which is negative
    with pytest.raises(InputError):
        divergences.exact_epsilon([half, (1 - math.exp(epsilon)) / 2], [0.5, 0.5])
    # with 1 - e^epsilon/2 the complement exceeds epsilon
    repaired = pairs.bernoulli(half, 0.5)
    assert divergences.exact_epsilon(*repaired) > epsilon * (1 + 1e-6)
    # e^-epsilon/2 is epsilon-close, and its best of K loses K epsilon on "all below"
    right = pairs.bernoulli(1 - math.exp(-epsilon) / 2, 0.5)
    assert divergences.exact_epsilon(*right) == pytest.approx(epsilon)
    for count in (1, 5, 20):
        first, second = (tuned_law(x, laws.point_mass(count)) for x in right)
        loss = math.log(second[1] / first[1])
        assert loss == pytest.approx(count * epsilon, rel=1e-9)
        assert second[1] == pytest.approx(2.0**-count)
