"""Whole private searches, audited from outside: below their account, and near what is exact."""

import math

import numpy as np

import jaxsel
from jaxsel.auditing.functions.audit_function import search_and_bound
from jaxsel.auditing.functions.events import Claim
from jaxsel.auditing.functions.how import How
from jaxsel.repetitions import as_law
from jaxsel.tuning.attained.exact_laws import tuned_law
from tests.search import whole_searches

_DELTA = 1e-2
_OPTIONS = {"trials": 6000, "false_alarm": 1e-6, "seed": 1, "said": "its account"}


def _audited(function, claim, pair):
    return search_and_bound(
        function, *pair, relation="general", claims=[claim], how=How(workers=2), **_OPTIONS
    )


def test_the_best_of_k_runs_leaks_what_is_exact_and_no_more():
    account = jaxsel.account(f"pure:epsilon={whole_searches.EPSILON}", whole_searches.LAW, 0.0)
    found = _audited(whole_searches.trained, Claim(account.epsilon, 0.0), ([0.5], [-0.5]))
    honest = 1 / (1 + math.exp(-whole_searches.EPSILON))
    law = as_law(whole_searches.LAW)
    first, second = (tuned_law([p, 1 - p], law) for p in (honest, 1 - honest))
    exact = float(np.max(np.abs(np.log(first[:2]) - np.log(second[:2]))))
    assert not found.refuted
    # At this size the limit of so likely an event is within a factor of the exact value.
    assert 0.5 * exact < found.lower <= exact < account.epsilon


def test_noisy_scores_leak_less_than_their_account():
    account = jaxsel.account(whole_searches.COUNTED, whole_searches.LAW, _DELTA, attain=False)
    pair = ([0, 1, 1, 1], [1, 0, 0, 0])
    found = _audited(whole_searches.scored, Claim(account.epsilon, _DELTA), pair)
    assert not found.refuted
    assert found.lower > 0.1


def test_scores_without_noise_are_refuted(monkeypatch):
    monkeypatch.setattr(jaxsel.scores.Score, "noisy", lambda self, told, source: self.units(told))
    account = jaxsel.account(whole_searches.COUNTED, whole_searches.LAW, _DELTA, attain=False)
    pair = ([0, 1, 1, 1], [1, 0, 0, 0])

    def here(rng, data):  # a local function runs in this process, where the noise is dropped
        return whole_searches.scored(rng, data)

    assert _audited(here, Claim(account.epsilon, _DELTA), pair).refuted
