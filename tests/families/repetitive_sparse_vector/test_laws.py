"""The repetitive sparse vector on the host: laws, settings, privacy, errors."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.repetitive_sparse_vector import error_laws as errors
from jaxsel.families.repetitive_sparse_vector import laws
from jaxsel.families.repetitive_sparse_vector import settings as plans
from jaxsel.families.repetitive_sparse_vector.settings import RepetitiveSettings
from jaxsel.host.errors import InputError

SMALL = RepetitiveSettings(1.5, 3, 0.7, 4, 2.0)
LEVELS = [0.5, -1.0, -3.0, 1.0]


def by_tests(levels, settings, p):
    """Law of the answers given p, Test by Test, as Algorithm 3 is written.

    State: query, whether the hypothesis is V, passed Tests, failed batches; answers.
    """
    found: dict[str, float] = {}
    alive = {(0, 0, 0, 0, ""): 1.0}
    noise = stats.laplace(scale=1.0 / settings.query_epsilon)
    refuted = [(noise.sf(-x), noise.cdf(-settings.margin - x)) for x in levels]
    while alive:
        later: dict = {}
        for (query, second, passed, failed, text), chance in alive.items():
            top = p * refuted[query][second]

            def add(state, mass, later=later):
                later[state] = later.get(state, 0.0) + mass

            if failed + 1 >= settings.failures:
                found[text + "#"] = found.get(text + "#", 0.0) + chance * top
            else:
                add((query, 1 - second, 0, failed + 1, text), chance * top)
            rest = chance * (1.0 - top)
            if passed + 1 < settings.repetitions:
                add((query, second, passed + 1, failed, text), rest)
            else:
                longer = text + ("T" if second else "-")
                if query + 1 < len(levels):
                    add((query + 1, 0, 0, failed, longer), rest)
                else:
                    found[longer] = found.get(longer, 0.0) + rest
        alive = later
    return found


def test_pattern_law_is_the_literal_algorithm_averaged_over_p():
    nodes, weights = np.polynomial.legendre.leggauss(20)
    total: dict[str, float] = {}
    # q = p^(1/2) has density 3 q^2 for gamma = 3/2: all is a polynomial in q.
    for q, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
        density = 2.0 * SMALL.gamma * q ** (2.0 * SMALL.gamma - 1.0)
        for text, mass in by_tests(LEVELS[:3], SMALL, q * q).items():
            total[text] = total.get(text, 0.0) + weight * density * mass
    law = laws.pattern_law(LEVELS[:3], SMALL)
    labels = laws.pattern_labels(3)
    for label, exact in zip(labels, law, strict=True):
        assert exact == pytest.approx(total.get(label, 0.0), rel=1e-7, abs=1e-12), label


@pytest.mark.parametrize("gamma", [0.2, 1.0, 7.0, 60.0, math.inf])
def test_laws_sum_to_one_and_agree(gamma):
    for settings in (
        SMALL._replace(gamma=gamma),
        SMALL._replace(gamma=gamma, repetitions=10**6, failures=7, margin=20.0),
        SMALL._replace(gamma=gamma, margin=math.inf),
    ):
        law = laws.pattern_law(LEVELS, settings)
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(law >= 0.0)
        labels = laws.pattern_labels(len(LEVELS))
        counted = laws.answer_counts(LEVELS, settings)
        for tops in range(settings.failures):
            for part, halts in ((counted.completed, False), (counted.halted, True)):
                mass = sum(
                    chance
                    for label, chance in zip(labels, law, strict=True)
                    if label.count("T") == tops and label.endswith("#") == halts
                )
                assert part[tops] == pytest.approx(mass, abs=1e-13)
        for label, chance in zip(labels, law, strict=True):
            answers = label.rstrip("#")
            runs = [(x, a == "T", 1) for x, a in zip(LEVELS, answers, strict=False)]
            end = LEVELS[len(answers)] if label.endswith("#") else None
            found = laws.pattern_chance(runs, settings, end)
            assert found == pytest.approx(chance, rel=1e-10, abs=1e-300)


def test_pattern_chance_of_many_bottoms_is_right_in_the_tail():
    """n bottoms and a halt at k' = 1, tau = 1: (1 - p u)^n p u, by mpmath."""
    settings = RepetitiveSettings(2.5, 1, 0.5, 1, math.inf)
    u = 0.5 * math.exp(-0.5 * 3.0)
    for n in (10, 10**4, 10**9):
        exact = 2.5 * u * mpmath.beta(3.5, n + 1) * mpmath.mpf(u) ** -3.5
        if n < 1000:  # it is 1 - e^(-n u) or more beyond
            exact *= mpmath.betainc(3.5, n + 1, 0, u, regularized=True)
        found = laws.pattern_chance([(-3.0, False, n)], settings, -3.0)
        assert found == pytest.approx(float(exact), rel=1e-11)
    assert found < 1e-20


def test_equal_queries_in_one_run_or_one_by_one():
    settings = RepetitiveSettings(1.0, 40, 1.0, 9, 2.5)
    one = laws.pattern_chance([(-1.0, False, 3), (-0.5, True, 2)], settings)
    each = [(-1.0, False, 1)] * 3 + [(-0.5, True, 1)] * 2
    assert one == pytest.approx(laws.pattern_chance(each, settings), rel=1e-13)


@pytest.mark.parametrize("failures", [1, 2, 5])
@pytest.mark.parametrize("level", [0.5, -1.0, -3.0])
def test_query_law(level, failures):
    settings = SMALL._replace(failures=failures)
    found = laws.query_law(level, settings)
    counted = laws.answer_counts([level], settings)
    assert found.bottom == pytest.approx(counted.completed[0], abs=1e-14)
    if failures > 1:
        assert found.top == pytest.approx(counted.completed[1], abs=1e-14)
    assert found.halted == pytest.approx(counted.halted.sum(), abs=1e-14)
    # Given p: the alternating chain of batches, failure by failure.
    p = 0.4
    given = laws.query_law(level, settings, p)
    u, v = laws.top_chances(level, settings)
    fail = [1.0 - (1.0 - p * float(each)) ** settings.repetitions for each in (u, v)]
    reach = np.cumprod([fail[i % 2] for i in range(failures)])
    assert given.failures == pytest.approx(reach.sum(), rel=1e-12)
    assert given.halted == pytest.approx(reach[-1], rel=1e-12)
    assert given.wasted == pytest.approx(fail[0] * fail[1], rel=1e-12)


def test_query_law_where_no_batch_ever_passes():
    """A + B underflows: no 0/0, and everything halts."""
    settings = RepetitiveSettings(math.inf, 10**7, 1.0, 57, 1.0)
    found = laws.query_law([-0.5, -0.2, 0.0], settings)
    assert found.halted == pytest.approx(1.0)
    assert found.failures == pytest.approx(57.0)
    assert laws.pattern_law([-0.5, 0.0], settings)[0] == pytest.approx(1.0)


def test_no_limit_on_failures_gives_the_closed_form():
    """bottom = A/(A + B - AB), E failures = (1-A)(2-B)/(A + B - AB)."""
    settings = SMALL._replace(failures=10**6)
    for p, level in itertools.product((0.1, 0.9), (-2.5, -1.0, 0.3)):
        u, v = laws.top_chances(level, settings)
        a, b = ((1.0 - p * float(t)) ** settings.repetitions for t in (u, v))
        ends = a + b - a * b
        found = laws.query_law(level, settings, p)
        assert found.bottom == pytest.approx(a / ends, rel=1e-12)
        assert found.failures == pytest.approx((1 - a) * (2 - b) / ends, rel=1e-12)


# --- Privacy and settings -------------------------------------------------------------


def test_settings_have_the_numbers_of_section_4_2():
    found = plans.repetitive_settings(3, 100, 0.1, 0.5, 1e-6)
    assert found.gamma == pytest.approx(math.log(200.0) / math.log(100.0))
    assert found.repetitions == 50_000
    root = math.sqrt(3.0 * math.log(1e6))
    assert found.query_epsilon == pytest.approx(0.5 / (found.gamma + root))
    assert found.margin * found.query_epsilon == pytest.approx(10 * math.log(100.0))
    assert found.failures == 3 + 2 * 2 + 1
    printed = plans.repetitive_settings(3, 100, 0.1, 0.5, corrected=False)
    assert printed.failures == math.ceil(3 + 7.0 * math.log(10.0) / math.log(100.0))
    assert printed.query_epsilon == pytest.approx(0.5 / (found.gamma + 3.0))


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-2])
def test_calibrated_settings_spend_what_they_may(delta):
    start = plans.repetitive_settings(20, 1000, 1e-3, 1.0, delta)
    found = plans.calibrated(start, 0.3, delta)
    assert plans.privacy_epsilon(found, delta) == pytest.approx(0.3, rel=1e-6)
    more = found._replace(query_epsilon=1.001 * found.query_epsilon)
    assert plans.privacy_epsilon(more, delta) > 0.3
    assert found.margin * found.query_epsilon == pytest.approx(start.margin * start.query_epsilon)


def test_approximate_bound_is_of_the_order_of_the_root():
    """2 epsilon' sqrt(k' log(1/delta)) + k' epsilon'^2 for small epsilon', from
    divergences of a epsilon'^2 a top at order a."""
    settings = RepetitiveSettings(1.0, 10, 1e-3, 100, 1.0)
    found = plans.approximate_epsilon(settings, 1e-9)
    rho = 100 * 1e-6
    simple = rho + 2.0 * math.sqrt(rho * math.log(1e9))
    assert 0.8 * simple < found < simple
    assert plans.privacy_epsilon(settings, 1e-9) == pytest.approx(min(0.201, found), rel=1e-12)


def test_without_a_random_p_no_pure_bound_but_the_same_approximate_one():
    random = RepetitiveSettings(1.0, 1, 0.1, 5, math.inf)
    fixed = random._replace(gamma=math.inf)
    assert plans.pure_epsilon(fixed) == math.inf
    assert plans.approximate_epsilon(fixed, 1e-3) == pytest.approx(
        plans.approximate_epsilon(random, 1e-3), rel=1e-12
    )
    # Nor can there be one: the loss of n bottoms is n log((1 - u)/(1 - u')).
    many = [laws.pattern_chance([(x, False, 8000)], fixed) for x in (-30.0, -29.0)]
    assert math.log(many[0] / many[1]) > 10.0 * plans.pure_epsilon(random)


def test_privacy_of_a_pair_is_below_the_bound_and_not_far_for_many_queries():
    bound = plans.pure_epsilon(SMALL)
    first, second = [-3.0] * 8 + [-2.0], [-2.0] * 8 + [-3.0]
    exact = exact_epsilon(laws.pattern_law(first, SMALL), laws.pattern_law(second, SMALL))
    assert exact < bound
    long = [
        laws.pattern_chance([(a, False, 10**6), (b, True, 3)], SMALL._replace(margin=90.0), b)
        for a, b in ((-3.0, -2.0), (-2.0, -3.0))
    ]
    assert 0.9999 * bound < math.log(long[0] / long[1]) < bound


# --- Errors ---------------------------------------------------------------------------


def test_failure_probability_by_all_patterns():
    settings = RepetitiveSettings(2.0, 30, 1.0, 4, 4.0)
    levels = [0.1, -2.0, -4.1, 0.1, -4.1, 0.5]
    law = laws.pattern_law(levels, settings)
    exact = 0.0
    for label, chance in zip(laws.pattern_labels(6), law, strict=True):
        answers = label.rstrip("#")
        wrong = any(
            (a == "-" and x > 0.0) or (a == "T" and x < -4.0)
            for a, x in zip(answers, levels, strict=False)
        )
        early = label.endswith("#") and answers.count("T") < 2
        exact += chance * (wrong or early)
    found = errors.failure_probability(levels, settings, 2)
    assert found == pytest.approx(exact, rel=1e-10)
    assert found <= errors.failure_bound(settings, 2, 6)


def test_failure_bound_by_quadrature_given_p():
    """E min(1, 1 - (1-w)^k' (1-w')^m + P[NB(m, r) > R]), by another integrator."""
    settings, m = RepetitiveSettings(1.7, 60, 1.0, 7, 6.0), 40

    def given(p):
        at = {x: laws.query_law(x, settings._replace(failures=10**6), p) for x in (0.0, -6.0, -3.0)}
        right = (1.0 - at[0.0].bottom) ** 7 * (1.0 - at[-6.0].top) ** m
        waste = stats.nbinom.sf(2, m, 1.0 - float(at[-3.0].wasted))
        return min(1.0, 1.0 - float(right) + waste)

    exact, _ = integrate.quad(lambda q: given(q ** (1 / 1.7)), 0.0, 1.0, limit=400)
    assert errors.failure_bound(settings, 2, m) == pytest.approx(exact, rel=1e-5)


def test_a_pair_of_batches_is_wasted_most_in_the_middle():
    for settings in (SMALL, SMALL._replace(repetitions=5000, margin=12.0)):
        d = settings.margin
        levels = np.linspace(-2.0 * d, d, 301)
        for p in (1e-4, 0.1, 1.0):
            wasted = laws.query_law(levels, settings, p).wasted
            middle = laws.query_law(-d / 2.0, settings, p).wasted
            assert np.all(wasted <= middle * (1.0 + 1e-12))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_needed_margin_and_tuned_settings_keep_beta(delta):
    wanted, m, beta = 10, 500, 1e-4
    printed = plans.calibrated(plans.repetitive_settings(wanted, m, beta, 1.0, delta), 1.0, delta)
    least = errors.needed_margin(printed, wanted, m, beta)
    assert least < printed.margin
    tight = printed._replace(margin=least)
    assert errors.failure_bound(tight, wanted, m) == pytest.approx(beta, rel=1e-5)
    tuned = errors.tuned_settings(wanted, m, beta, 1.0, delta)
    assert tuned.margin < least
    assert errors.failure_bound(tuned, wanted, m) <= beta * (1 + 1e-9)
    assert plans.privacy_epsilon(tuned, delta) <= 1.0 + 1e-9


def test_margin_is_infinite_where_no_margin_helps():
    hopeless = RepetitiveSettings(0.1, 5, 1.0, 9, 1.0)
    assert errors.needed_margin(hopeless, 2, 100, 1e-3) == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plans.repetitive_settings(3, 5, 0.1), "queries is 5"),
        (lambda: plans.repetitive_settings(3, 10, 1e-5), "at least 2\\^-m"),
        (lambda: plans.repetitive_settings(9, 10, 0.1), "number of queries, 10"),
        (lambda: laws.pattern_law(np.zeros(11), SMALL), "at most 10"),
        (lambda: laws.pattern_law([[0.0]], SMALL), "one list"),
        (lambda: laws.pattern_law([0.0], SMALL._replace(gamma=0.0)), "gamma is 0"),
        (lambda: laws.pattern_law([0.0], SMALL._replace(repetitions=1.5)), "repetitions is 1.5"),
        (lambda: errors.failure_bound(SMALL, 4, 10), "must exceed wanted"),
        (lambda: plans.calibrated(SMALL._replace(gamma=math.inf), 1.0), "only delta > 0"),
        (lambda: errors.tuned_settings(0, 10, 0.1, 1.0), "wanted is 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
