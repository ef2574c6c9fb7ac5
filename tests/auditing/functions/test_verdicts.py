"""The verdict of a bound, and what so many trials refute at all, held to their definitions."""

import math

import numpy as np
import pytest
import scipy.stats

from jaxsel.auditing.functions.calls import Did
from jaxsel.auditing.functions.events import Claim
from jaxsel.auditing.functions.outcomes import table
from jaxsel.auditing.functions.verdicts import detectable, failed, needed, refutable, verdict

CLAIM = Claim(1.0)
ONE, OTHER = table([1.0, 1.0]), table([2.0, 2.0])
NEVER = table([Did("raised ValueError"), Did("no answer within the limit")])
SOMETIMES = table([Did("raised ValueError"), 1.0])


@pytest.mark.parametrize(
    ("lower", "constant", "bound", "refutable", "expected"),
    [
        (1.01, False, (ONE, OTHER), True, "refuted"),
        (1.0, False, (ONE, OTHER), True, "not refuted"),  # a claim is kept at its epsilon
        # Whatever else is known, a bound above the claim refutes it.
        (1.01, True, (ONE, ONE), True, "refuted"),
        (1.01, False, (NEVER, NEVER), True, "refuted"),
        (0.0, False, (NEVER, NEVER), True, "failed"),
        (0.0, True, (NEVER, NEVER), False, "failed"),
        (0.0, False, (NEVER, SOMETIMES), True, "not refuted"),
        (0.0, False, (ONE, OTHER), False, "cannot be judged"),
        (0.0, True, (ONE, ONE), False, "cannot be judged"),
        (0.0, True, (ONE, ONE), True, "constant"),
        (0.0, True, (ONE, OTHER), True, "not refuted"),
        (0.0, False, (ONE, ONE), True, "not refuted"),
    ],
)
def test_a_verdict_is_the_first_of_what_can_be_said(lower, constant, bound, refutable, expected):
    assert verdict(lower, CLAIM, constant, bound, refutable) == expected


def test_text_that_a_function_returns_is_an_answer():
    assert failed((NEVER,))
    assert not failed((table(["raised ValueError", "no answer within the limit"]),))
    assert failed((table([Did("the call ended its process")]),))


def _limit(x, y, error):
    """Of log(E[X] / E[Y]), by the quantile of a beta distribution."""
    share = scipy.stats.beta.ppf(error, x, y + 1) if x else 0.0
    return math.log(share) - math.log1p(-share) if share else -math.inf


@pytest.mark.parametrize("delta", [0.0, 0.03])
@pytest.mark.parametrize(("trials", "error"), [(1000, 0.05), (20_000, 1e-6)])
@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_what_is_detectable_is_the_first_ratio_that_is_refuted(epsilon, trials, error, delta):
    x = round((0.1 + delta) * trials)
    points = round(trials * delta * math.exp(-epsilon))
    most = max((y for y in range(x + 1) if _limit(x, y + points, error) > epsilon), default=None)
    found = detectable(trials, Claim(epsilon, delta), error)
    if most is None:
        assert found == math.inf
    else:
        assert found == pytest.approx(max(math.log(0.1 * trials / max(most, 0.5)), epsilon))
        assert found > epsilon


def test_so_few_trials_detect_nothing():
    assert detectable(100, Claim(5.0), 0.05) == math.inf


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize(("trials", "others"), [(40, 40), (30, 90), (90, 30)])
def test_what_can_be_refuted_is_what_the_whole_of_one_side_refutes(trials, others, delta):
    seen = set()
    for epsilon in np.linspace(0.05, 6.0, 60):
        points = round(others * delta * math.exp(-epsilon))
        limit = _limit(trials, points, 0.05) - math.log(trials / others)
        found = refutable(Claim(epsilon, delta), trials, others, 0.05)
        assert found == (limit > epsilon)
        seen.add(found)
    assert len(seen) == 2


def test_the_smallest_number_of_trials_that_refutes():
    for epsilon, delta in ((0.5, 0.0), (3.0, 0.0), (2.0, 0.01)):
        claim = Claim(epsilon, delta)
        enough = [n for n in range(1, 200) if refutable(claim, n, n, 0.05)]
        assert needed(claim, 0.05) == enough[0]
    assert needed(Claim(0.0), 0.9) == 1.0
