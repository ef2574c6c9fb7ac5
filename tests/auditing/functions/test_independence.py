"""Shares of an event that differ between calls by more than chance, at a stated rate."""

import itertools
import math
import types

import numpy as np
import pytest
import scipy.stats

from jaxsel.auditing.functions import independence
from jaxsel.auditing.functions.independence import by_call, check_shares
from jaxsel.auditing.functions.outcomes import table
from jaxsel.host.errors import CouldNotError


def _refused(counts, sizes):
    try:
        check_shares("f", "it is 1", np.asarray(counts), np.asarray(sizes))
    except CouldNotError:
        return True
    return False


@pytest.mark.parametrize("share", [0.5, 0.03, 0.97, 1e-4, 0.0, 1.0])
@pytest.mark.parametrize("sizes", [[64] * 8, [4096] * 12 + [848], [64] * 1000 + [3]])
def test_independent_trials_are_not_refused(share, sizes, seed):
    # Each refuses with probability 1e-9.
    generator = np.random.default_rng(seed)
    for _ in range(200):
        assert not _refused(generator.binomial(sizes, share), sizes)


def test_calls_that_share_a_draw_are_refused_and_rare_events_are_put_together(seed):
    generator = np.random.default_rng(seed)
    sizes = np.full(400, 64)
    shares = np.repeat(generator.beta(0.5, 5.0, 40), 10)
    assert _refused(generator.binomial(sizes, shares), sizes)
    assert not _refused([40, 20], [64, 64])  # a p-value of 4e-4
    assert _refused([64, 0], [64, 64])
    assert not _refused([1, 0, 0, 0], [64, 64, 64, 64])  # too few to be compared
    assert not _refused([5], [64])


@pytest.mark.parametrize("counts", [[40, 20, 33], [64, 40, 45], [10, 50, 60]])
def test_shares_are_refused_just_below_the_stated_chance(monkeypatch, counts):
    sizes = np.array([64, 70, 64])
    seen = np.array([counts, sizes - counts])
    chance = scipy.stats.chi2_contingency(seen, correction=False).pvalue
    monkeypatch.setattr(independence, "_CHANCE", chance * (1 - 1e-6))
    assert not _refused(counts, sizes)
    monkeypatch.setattr(independence, "_CHANCE", chance * (1 + 1e-6))
    assert _refused(counts, sizes)


def test_calls_are_put_together_until_ten_are_expected_in_and_out(monkeypatch):
    # The share is 1 in 16: calls of 40 are compared four together, and the last one is left out.
    sizes = np.full(9, 40)
    counts = np.array([0, 1, 2, 1, 10, 2, 3, 2, 1])
    share = counts.sum() / sizes.sum()
    ends = [place + 1 for place in range(9)
            if math.floor(4 * (place + 1) * share) > math.floor(4 * place * share)]  # fmt: skip
    parts = list(itertools.pairwise([0, *ends]))
    seen = np.array([counts[a:b].sum() for a, b in parts])
    made = np.array([sizes[a:b].sum() for a, b in parts])
    chance = scipy.stats.chi2_contingency([seen, made - seen], correction=False).pvalue
    assert len(parts) == 2
    for factor, refused in ((1 - 1e-6, False), (1 + 1e-6, True)):
        monkeypatch.setattr(independence, "_CHANCE", chance * factor)
        assert _refused(counts, sizes) == refused


def test_trials_are_counted_call_by_call():
    tables = [table([1.0] * size) for size in (3, 1, 2)]
    assert by_call(np.array([1, 0, 1, 1, 0, 1], bool), tables).tolist() == [2, 1, 1]


def test_pairs_of_equal_trials_by_enumeration():
    words = np.array(list("aababcab"), object)
    pairs = [one == other for one, other in itertools.permutations(words, 2)]
    assert independence._share_equal(words) == pytest.approx(np.mean(pairs))
    assert independence._share_equal(np.array(["a"], object)) == 0.0


def test_agreement_of_calls_is_surprising_where_chance_would_hardly_make_it():
    # k pairs of trials agree with probability share^k.
    for words in ("ab" * 30, "a" * 60 + "b" * 4, "abcd" * 10, "ab" * 32, "ab" * 28):
        many = np.array(list(words), object)
        share = independence._share_equal(many)
        expected = share ** (len(words) / 2) < 1e-9
        assert independence._surprising(many) == expected
    # Outcomes that were all different may yet be common.
    for number in range(2, 27):
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz")[:number], object)
        assert independence._surprising(letters) == (number ** (-number / 2) < 1e-9)
    assert independence._surprising(np.array(list("abcdefghijklmnopqrstuvwxyz"), object))


class _Did(str):
    """What a call did, in words that are not quoted."""

    __slots__ = ()
    __repr__ = str.__str__


RAISED = _Did("raised StopIteration")


@pytest.mark.parametrize(
    ("ends", "refused"),
    [
        ((5, 5), True),
        ((1, 1), True),
        ((5, 6), False),
        ((0, 0), False),
        ((16, 16), True),
        ((17, 17), False),
    ],
)
def test_an_object_that_stops_after_as_many_calls_in_two_processes_is_refused(ends, refused):
    tables = [table([1.0] * end + [RAISED] * (32 - end)) for end in ends]
    if refused:
        with pytest.raises(CouldNotError, match=f"after {ends[0]} calls every call of f raised"):
            independence._check_end("f", *tables)
    else:
        independence._check_end("f", *tables)
    mixed = table([1.0] * 5 + [RAISED] * 26 + [2.0])
    independence._check_end("f", mixed, mixed)
    whole = table([1.0] * 32)
    independence._check_end("f", whole, whole)


class _Draws:
    """In place of ``Draws``: what each call gives, by its number."""

    def __init__(self, give, kind="generator", took=0.0, now=None):
        self.function = types.SimpleNamespace(name="f", kind=kind)
        self._give, self._took, self._now, self.asked = give, took, now, []

    def fresh(self, data, trials, stream, process, budget):
        self.asked.append((trials, stream, process, budget))
        if self._now is not None:
            self._now[0] += self._took
        return table(self._give(process))


def test_eight_calls_of_their_own_are_compared_and_fewer_where_they_take_long(monkeypatch):
    generator = np.random.default_rng(0)
    draws = _Draws(lambda call: generator.normal(size=64))
    assert not independence.check_independence(draws, 0, 40.0)
    assert draws.asked == [(64, (2**31 + call,), call, 5.0) for call in range(8)]
    now = [0.0]
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(independence, "time", clock)
    for took, calls in ((1.0, 8), (1.3, 8), (1.7, 6), (2.1, 4), (9.0, 4)):
        draws = _Draws(lambda call: generator.normal(size=64), took=took, now=now)
        assert not independence.check_independence(draws, 0, 8.0)
        assert len(draws.asked) == calls


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("own", "a fixed seed"),
        ("generator", "does not come from rng"),
        ("vectorised", "does not come from rng"),
        ("jax", "does not come from the key"),
    ],
)
def test_equal_outcomes_of_all_calls_are_refused_with_their_cause(kind, words):
    fixed = np.random.default_rng(1).normal(size=64)
    with pytest.raises(CouldNotError, match=words):
        independence.check_independence(_Draws(lambda call: fixed, kind), 0)
    # Also where time ends some of them sooner.
    for shorter in (0, 1):
        draws = _Draws(lambda call, odd=shorter: fixed[: 64 - 10 * (call % 2 == odd)], kind)
        with pytest.raises(CouldNotError, match=words):
            independence.check_independence(draws, 0)
    # What is constant may be so by right; labels that repeat are no surprise.
    assert independence.check_independence(_Draws(lambda call: [1.0] * 64, kind), 0)
    rare = [1.0] * 63 + [2.0]
    assert not independence.check_independence(_Draws(lambda call: rare, kind), 0)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("vectorised", "equal outcomes to rows of one call"), ("own", "equal outcomes to calls")],
)
def test_one_draw_for_all_rows_of_a_call_is_refused(kind, words):
    with pytest.raises(CouldNotError, match=words):
        independence.check_independence(_Draws(lambda call: [float(call)] * 64, kind), 0)
    # Of fewer than eight rows nothing is said.
    few = _Draws(lambda call: [float(call)] * (7 if call == 3 else 64), kind)
    with pytest.raises(CouldNotError, match="more than chance"):
        independence.check_independence(few, 0)


def test_a_share_that_differs_between_calls_is_refused_by_outcome_and_by_entry():
    generator = np.random.default_rng(2)
    with pytest.raises(CouldNotError, match=r"in which the outcome is 1.0 differs"):
        independence.check_independence(
            _Draws(lambda call: (generator.random(64) < (0.75 if call % 3 else 0.25)) + 0.0), 0
        )
    with pytest.raises(CouldNotError, match=r"in which entry 1 <= .* differs"):
        independence.check_independence(
            _Draws(lambda call: generator.normal((0.0, 3.0 * (call % 2)), size=(64, 2))), 0
        )


def test_an_end_is_looked_for_in_every_two_calls_that_follow_one_another():
    generator = np.random.default_rng(3)

    def ends(call):
        if call in (5, 6):
            return [float(generator.random()) for _ in range(20)] + [RAISED] * 44
        return generator.random(64)

    with pytest.raises(CouldNotError, match="after 20 calls"):
        independence.check_independence(_Draws(ends), 0)


def test_common_events_are_the_commonest_outcome_and_the_lower_halves():
    tables = [table([[1.0, "a"], [2.0, "a"]]), table([[1.0, "a"], [7.0, "b"], [3.0, "b"]])]
    found = dict(independence._common_events(tables))
    assert found["the outcome is [1.0, 'a']"].tolist() == [True, False, True, False, False]
    assert found["entry 0 <= 2"].tolist() == [True, True, True, False, False]
    assert found["entry 1 is 'a' <= 1"].tolist() == [True] * 5
