"""Audit bounds: sound by enumeration of all tallies, able to refute wrong claims."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from jaxsel.auditing.audit_bounds import AuditBound, delta_lower_bound, epsilon_lower_bound
from jaxsel.auditing.event_limits import log_ratio_lower
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import binomial_p_value, clopper_pearson_lower, clopper_pearson_upper
from tests.conftest import ALPHA


def _all_events(m: int) -> np.ndarray:
    return np.array(list(itertools.product([False, True], repeat=m)))[1:-1]


def _exact_epsilon(p, q, delta: float = 0.0) -> float:
    """The least epsilon >= 0 at this delta, from every event and both directions."""
    a, b = _all_events(len(p)) @ p, _all_events(len(p)) @ q
    with np.errstate(divide="ignore"):
        both = np.log(np.maximum([a - delta, b - delta], 0)) - np.log([b, a])
    return max(0.0, float(both.max()))


def _exact_delta(p, q, epsilon: float) -> float:
    p, q = np.asarray(p), np.asarray(q)
    forward = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    return float(max(forward, np.maximum(q - math.exp(epsilon) * p, 0).sum()))


def _randomised_response(num_outcomes: int, epsilon: float):
    p = np.ones(num_outcomes)
    p[0] = math.exp(epsilon)
    p /= p.sum()
    return p, np.roll(p, 1)


def _tallies_with_pmf(n: int, law):
    m = len(law)
    tallies = [t for t in itertools.product(range(n + 1), repeat=m) if sum(t) == n]
    return list(zip(tallies, scipy.stats.multinomial.pmf(tallies, n, law), strict=True))


def _excess_probability(bound, truth: float, p, q, n: int, n_neighbour: int):
    """P[lower > truth] and P[point estimate > truth], over all tallies."""
    too_high = estimate_too_high = 0.0
    for a, pmf_a in _tallies_with_pmf(n, p):
        for b, pmf_b in _tallies_with_pmf(n_neighbour, q):
            found = bound(a, b)
            too_high += pmf_a * pmf_b * (found.lower > truth)
            estimate_too_high += pmf_a * pmf_b * (found.point_estimate > truth)
    return too_high, estimate_too_high


LAWS = [
    ((0.7, 0.3), (0.3, 0.7), 14, 11),
    ((0.5, 0.5), (0.5, 0.5), 15, 15),
    ((0.95, 0.05), (0.6, 0.4), 20, 10),
    ((0.5, 0.3, 0.2), (0.25, 0.25, 0.5), 6, 7),
    ((1 / 3, 1 / 3, 1 / 3), (1 / 3, 1 / 3, 1 / 3), 7, 6),
]


@pytest.mark.parametrize(("p", "q", "n", "n_neighbour"), LAWS)
@pytest.mark.parametrize("confidence", [0.3, 0.9])
def test_epsilon_bound_is_sound(p, q, n, n_neighbour, confidence):
    for delta, events in ((0.0, "singletons"), (0.05, ("singletons", "prefixes"))):
        too_high, _ = _excess_probability(
            lambda a, b, d=delta, e=events: epsilon_lower_bound(a, b, d, confidence, e),
            _exact_epsilon(p, q, delta),
            p,
            q,
            n,
            n_neighbour,
        )
        assert too_high <= 1 - confidence


def test_soundness_check_rejects_the_point_estimate():
    p, q, n, n_neighbour = LAWS[0]
    too_high = _excess_probability(epsilon_lower_bound, _exact_epsilon(p, q), p, q, n, n_neighbour)
    assert too_high[0] <= 0.05 < 0.3 < too_high[1]


@pytest.mark.parametrize(("p", "q", "n", "n_neighbour"), LAWS)
def test_delta_bound_is_sound(p, q, n, n_neighbour):
    for epsilon in (0.0, 0.4):
        too_high, estimate_too_high = _excess_probability(
            lambda a, b, e=epsilon: delta_lower_bound(a, b, e, 0.8),
            _exact_delta(p, q, epsilon),
            p,
            q,
            n,
            n_neighbour,
        )
        assert too_high <= 0.2 < estimate_too_high


@pytest.mark.parametrize("bound", ["epsilon", "delta"])
def test_split_bound_is_sound(bound):
    p, q, n, confidence = (0.6, 0.4), (0.35, 0.65), 5, 0.5
    if bound == "epsilon":
        truth = _exact_epsilon(p, q)
    else:
        truth = _exact_delta(p, q, 0.2)
    halves = list(
        itertools.product(
            _tallies_with_pmf(n, p),
            _tallies_with_pmf(n, q),
            _tallies_with_pmf(n, p),
            _tallies_with_pmf(n, q),
        )
    )
    too_high = 0.0
    for (a, pmf_a), (b, pmf_b), (s, pmf_s), (t, pmf_t) in halves:
        if bound == "epsilon":
            found = epsilon_lower_bound(a, b, confidence=confidence, selection=(s, t))
        else:
            found = delta_lower_bound(a, b, 0.2, confidence, selection=(s, t))
        too_high += pmf_a * pmf_b * pmf_s * pmf_t * (found.lower > truth)
    assert too_high <= 1 - confidence


def _assert_rate_at_most(violations: int, runs: int, rate: float):
    p = binomial_p_value(violations, runs, rate, "greater")
    assert p >= ALPHA, f"{violations} violations of {runs}, at most {rate} wanted, p={p}"


def test_soundness_with_many_outcomes(seed):
    rng = np.random.default_rng(seed)
    runs, confidence, law = 300, 0.9, np.full(100, 0.01)
    tallies = rng.multinomial(50_000, law, (runs, 4))
    sound = split = reused = 0
    for a, b, s, t in tallies:
        sound += epsilon_lower_bound(a, b, confidence=confidence).lower > 0
        split += epsilon_lower_bound(a, b, confidence=confidence, selection=(s, t)).lower > 0
        # Choosing on the very tallies that are bounded is not sample splitting.
        reused += epsilon_lower_bound(a, b, confidence=confidence, selection=(a, b)).lower > 0
    _assert_rate_at_most(sound, runs, 1 - confidence)
    _assert_rate_at_most(split, runs, 1 - confidence)
    assert binomial_p_value(reused, runs, 1 - confidence, "greater") < ALPHA


def test_soundness_of_randomised_response(seed):
    rng = np.random.default_rng(seed)
    runs, confidence, epsilon, delta = 300, 0.8, 1.0, 0.05
    p, q = _randomised_response(5, epsilon)
    at_delta, at_half = _exact_epsilon(p, q, delta), _exact_delta(p, q, 0.5)
    names = ("singletons", "prefixes", "thresholds")
    counts = np.zeros(4, dtype=int)
    for a, s, b, t in zip(
        *rng.multinomial(40_000, p, (2, runs)), *rng.multinomial(30_000, q, (2, runs)), strict=True
    ):
        on = {"confidence": confidence, "selection": (s, t)}
        counts += [
            epsilon_lower_bound(a, b, confidence=confidence).lower > epsilon,
            epsilon_lower_bound(a, b, events=names, **on).lower > epsilon,
            epsilon_lower_bound(a, b, delta, events="thresholds", **on).lower > at_delta,
            delta_lower_bound(a, b, 0.5, **on).lower > at_half,
        ]
    for violations in counts:
        _assert_rate_at_most(int(violations), runs, 1 - confidence)


@pytest.mark.parametrize("num_outcomes", [2, 10])
@pytest.mark.parametrize("split", [False, True])
def test_refutes_a_claim_five_percent_too_low(num_outcomes, split, seed):
    rng = np.random.default_rng(seed)
    epsilon, n = 1.0, 10**6
    p, q = _randomised_response(num_outcomes, epsilon)
    # The width of the limits and the noise, from the standard error of the log ratio,
    # together leave less than 5 percent at this n.
    error = math.sqrt((1 / p[0] - 1 + 1 / q[0] - 1) / n)
    width = scipy.stats.norm.isf(ALPHA / (4 * num_outcomes)) * math.sqrt(2) * error
    assert width + scipy.stats.norm.isf(ALPHA) * error < 0.05 * epsilon

    a, s = rng.multinomial(n, p, 2)
    b, t = rng.multinomial(n, q, 2)
    selection = (s, t) if split else None
    found = epsilon_lower_bound(a, b, confidence=1 - ALPHA, selection=selection)
    assert 0.95 * epsilon < found.lower <= epsilon
    assert found.method == ("split" if split else "bonferroni")


def test_refutes_a_wrong_delta(seed):
    rng = np.random.default_rng(seed)
    p, q = _randomised_response(10, 1.0)
    exact = _exact_delta(p, q, 0.5)
    a, s = rng.multinomial(500_000, p, 2)
    b, t = rng.multinomial(500_000, q, 2)
    for found in (
        delta_lower_bound(a + s, b + t, 0.5),
        delta_lower_bound(a, b, 0.5, selection=(s, t)),
    ):
        assert 0.9 * exact < found.lower < exact
    # At the true epsilon nothing is left to refute.
    assert delta_lower_bound(a + s, b + t, 1.0, 1 - ALPHA).lower == 0.0


def test_unions_beat_singletons_at_positive_delta(seed):
    # Ten rare outcomes that reveal the data, each no likelier than delta.
    rng = np.random.default_rng(seed)
    p = np.array([0.005] * 10 + [0.475] * 2)
    q = np.array([0.0005] * 10 + [0.4975] * 2)
    a, s = rng.multinomial(10**6, p, 2)
    b, t = rng.multinomial(10**6, q, 2)
    alone = epsilon_lower_bound(a, b, 0.01, 1 - ALPHA)
    united = epsilon_lower_bound(a, b, 0.01, 1 - ALPHA, events="thresholds", selection=(s, t))
    exact = _exact_epsilon(p, q, 0.01)
    assert alone.lower < 0.9 * exact < united.lower <= exact
    assert united.event == tuple(range(10))
    assert united.direction == "data/neighbour"


def test_supplied_events_and_complements():
    a, b = np.array([400, 300, 300]), np.array([300, 300, 400])
    every = epsilon_lower_bound(a, b, events=_all_events(3))
    # Six events are three with their complements: the singletons.
    assert every.comparisons == 4 * 3
    assert every._replace(event=()) == epsilon_lower_bound(a, b)._replace(event=())
    # An event alone, written either way, takes the same four limits.
    for row in ([False, False, True], [True, True, False]):
        found = epsilon_lower_bound(a, b, events=np.array([row]))
        assert found.comparisons == 4
        low = clopper_pearson_lower(400, 1000, error=0.05 / 4)
        high = clopper_pearson_upper(300, 1000, error=0.05 / 4)
        assert found.lower == pytest.approx(math.log(low / high), rel=1e-12)
        assert found.event == (2,)
        assert found.direction == "neighbour/data"


def test_complement_can_be_the_event():
    # Failing is the revealing event; only success was listed.
    found = epsilon_lower_bound(
        [90_000, 10_000, 0], [99_900, 50, 50], events=np.array([[True, False, False]])
    )
    assert found.event == (1, 2)
    assert found.counts == (10_000, 100_000, 100, 100_000)
    assert found.point_estimate == pytest.approx(math.log(100))


def test_split_uses_the_other_half_only_to_choose():
    a, b = [500, 300, 200], [200, 300, 500]
    found = epsilon_lower_bound(a, b, selection=([0, 0, 99], [99, 0, 0]))
    assert (found.method, found.comparisons) == ("split", 1)
    # The selection says the last outcome is likelier on the data; the bound disagrees.
    assert found.direction == "data/neighbour"
    assert found.event in ((2,), (1, 2))
    assert found.lower == 0.0 > found.point_estimate
    right = epsilon_lower_bound(a, b, selection=([99, 0, 0], [0, 0, 99]), entropy=0)
    # Some trials are left out, so that their number is Poisson.
    assert 0.9 < right.lower / log_ratio_lower(500, 200, 0.05) < 1.1


def test_two_limits_are_taken_where_the_selection_says_that_they_are_tighter():
    # At a large epsilon, each of the added points that the one limit needs costs e^epsilon.
    on = {"events": np.array([[True, False]]), "selection": ([500, 500], [5, 995])}
    # Which is tighter is told by eight draws of the one limit, so that either may be taken.
    both = [delta_lower_bound([5000, 5000], [50, 9950], 3.0, entropy=k, **on) for k in range(40)]
    assert {one.comparisons for one in both} == {1, 2}
    found = next(one for one in both if one.comparisons == 2)
    assert (found.comparisons, found.event) == (2, (0,))
    losses = [
        clopper_pearson_lower(5000, 10_000, error=0.05 * share)
        - math.exp(3.0) * clopper_pearson_upper(50, 10_000, error=0.05 * (1.0 - share))
        for share in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
    ]
    assert min(abs(np.array(losses) - found.lower)) < 1e-12


def test_families_count_each_event_once():
    four, other = [10, 20, 30, 40], [40, 30, 20, 10]

    def comparisons(events, a=four, b=other):
        return epsilon_lower_bound(a, b, events=events).comparisons

    assert comparisons("singletons") == 4 * 4
    assert comparisons("prefixes") == 4 * 3
    # Three prefixes, of which the first and last are a singleton and a complement.
    assert comparisons(("singletons", "prefixes")) == 4 * 5
    assert comparisons("singletons", [1, 2], [2, 1]) == 4
    assert comparisons(("singletons", "prefixes"), [1, 2], [2, 1]) == 4


def test_bounds_agree_with_exact_laws_at_large_counts():
    # Tallies in exact proportion: the bounds approach the exact values.
    p, q = np.array([0.5, 0.2, 0.2, 0.1]), np.array([0.2, 0.1, 0.3, 0.4])
    n = 10**12
    a, b = np.rint(n * p), np.rint(n * q)
    every = _all_events(4)
    for delta in (0.0, 0.1):
        exact = _exact_epsilon(p, q, delta)
        found = epsilon_lower_bound(a, b, delta, events=every)
        assert exact - 1e-4 < found.lower < exact
        assert found.point_estimate == pytest.approx(exact, rel=1e-12)
    for epsilon in (0.0, 0.5):
        exact = _exact_delta(p, q, epsilon)
        for selection in (None, (a, b)):
            events = every if selection is None else None
            found = delta_lower_bound(a, b, epsilon, events=events, selection=selection)
            assert exact - 1e-4 < found.lower < exact
            assert found.point_estimate == pytest.approx(exact, rel=1e-12)


def test_nothing_to_see():
    found = epsilon_lower_bound([5, 5], [5, 5])
    assert isinstance(found, AuditBound)
    assert found.lower == 0.0
    never = epsilon_lower_bound([9, 0], [9, 0], selection=([1, 8], [8, 1]))
    assert never.lower == 0.0
    assert delta_lower_bound([900, 100], [100, 900], 1e4).lower == 0.0


def test_separated_laws_have_large_bounds():
    found = epsilon_lower_bound([10**6, 0], [0, 10**6])
    assert found.lower > 12
    assert found.point_estimate == math.inf
    assert delta_lower_bound([10**6, 0], [0, 10**6], 1.0).lower > 0.9999


@pytest.mark.parametrize(
    ("counts", "neighbour"),
    [
        ([-1, 5], [2, 3]),
        ([1.5, 5], [2, 3]),
        ([math.nan, 5], [2, 3]),
        ([1, 5], [2, math.inf]),
        ([1, 2, 3], [2, 3]),
        ([5], [3]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([0, 0], [2, 3]),
        ([2, 3], [0, 0]),
        ([], []),
        (["a", "b"], [2, 3]),
    ],
)
def test_bad_counts(counts, neighbour):
    with pytest.raises(InputError):
        epsilon_lower_bound(counts, neighbour)
    with pytest.raises(InputError):
        delta_lower_bound(counts, neighbour, 1.0)
    with pytest.raises(InputError):
        epsilon_lower_bound([1, 2], [2, 1], selection=(counts, neighbour))


@pytest.mark.parametrize("bad", [0.0, 1.0, -1.0, 2.0, math.nan])
def test_bad_confidence(bad):
    with pytest.raises(InputError, match="confidence"):
        epsilon_lower_bound([1, 2], [2, 1], confidence=bad)
    with pytest.raises(InputError, match="confidence"):
        delta_lower_bound([1, 2], [2, 1], 1.0, bad)


def test_bad_privacy_parameters():
    for bad in (-0.1, 1.0, math.nan):
        with pytest.raises(InputError, match="delta"):
            epsilon_lower_bound([1, 2], [2, 1], bad)
    for bad in (-0.1, math.inf, math.nan):
        with pytest.raises(InputError, match="epsilon"):
            delta_lower_bound([1, 2], [2, 1], bad)


@pytest.mark.parametrize(
    "events",
    [
        "all",
        (),
        ("singletons", "all"),
        "thresholds",  # needs selection tallies
        np.array([[True, False]]),
        np.array([True, False, True]),
        np.array([[0.5, 1.0, 0.0]]),
        np.array([[True, True, True], [False, False, False]]),
        7,
    ],
)
def test_bad_events(events):
    with pytest.raises(InputError):
        epsilon_lower_bound([1, 2, 3], [3, 2, 1], events=events)


def test_bad_selection():
    with pytest.raises(InputError, match="outcomes"):
        epsilon_lower_bound([1, 2], [2, 1], selection=([1, 2, 3], [3, 2, 1]))
    with pytest.raises(InputError, match="pair"):
        epsilon_lower_bound([1, 2], [2, 1], selection=([1, 2],))


# --- What a bound's own randomness is made from -----------------------------------------


def test_a_common_event_bounds_no_more_often_than_is_said_at_every_number_of_trials(seed):
    """Made from the counts alone, .95 of these bounds of 0 are above it."""
    generator, n, runs = np.random.default_rng(seed), 1288, 300
    event, selection = np.array([[True, False]]), ([n - 1, 1], [n - 2, 2])
    above = 0
    for x, y in generator.binomial(n, 0.05 / n, (runs, 2)).tolist():
        sides = ([n - x, x], [n - y, y])
        above += epsilon_lower_bound(*sides, events=event, selection=selection).lower > 0.0
    _assert_rate_at_most(above, runs, 0.05)


def test_the_same_counts_are_refuted_as_often_as_is_said_with_new_entropy():
    """The law of one pair of tallies that counts alone would always refute."""
    n, runs = 1000, 200
    sides, selection = ([n - 1, 1], [n - 2, 2]), ([n - 1, 1], [n - 2, 2])
    event = np.array([[True, False]])
    found = [epsilon_lower_bound(*sides, events=event, selection=selection) for _ in range(runs)]
    _assert_rate_at_most(sum(one.lower > 0.0 for one in found), runs, 0.05)
    assert len({one.entropy for one in found}) > 0.9 * runs


@pytest.mark.parametrize(
    "bound",
    [lambda *a, **o: epsilon_lower_bound(*a, **o), lambda *a, **o: delta_lower_bound(*a, 0.1, **o)],
)
def test_a_bound_names_the_entropy_that_gives_it_again(bound):
    sides, selection = ([500, 400, 100], [300, 400, 300]), ([600, 300, 100], [300, 300, 400])
    found = bound(*sides, selection=selection)
    assert found == bound(*sides, selection=selection, entropy=found.entropy)
    several = {bound(*sides, selection=selection, entropy=one).lower for one in range(8)}
    assert len(several) > 1
    for entropy in (7, (7,), [7]):
        assert bound(*sides, selection=selection, entropy=entropy).entropy == (7,)
    # Limits of all events at once have no randomness.
    assert bound(*sides).entropy == bound(*sides, entropy=3).entropy == ()
    for bad in (-1, 0.5, (), (1, -2), "a"):
        with pytest.raises(InputError, match="entropy"):
            bound(*sides, selection=selection, entropy=bad)


def test_no_bound_is_above_what_was_observed():
    """Where all trials are in the event on both sides, thinning alone would tell them apart."""
    certain = {"events": np.array([[True, False]]), "selection": ([900, 0], [900, 1])}
    for entropy in range(200):
        found = epsilon_lower_bound([900, 0], [900, 0], 0.0, 0.7, entropy=entropy, **certain)
        assert (found.comparisons, found.lower) == (1, 0.0)
        assert (
            delta_lower_bound([900, 0], [900, 0], 0.0, 0.7, entropy=entropy, **certain).lower == 0
        )
