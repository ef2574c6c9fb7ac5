"""Selection and Test as mechanisms: literal, shortcut and exact law agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.families.private_tuning import bases
from jaxsel.families.selection_and_test import state as instance
from jaxsel.families.selection_and_test.coin_game import coin_game
from jaxsel.families.selection_and_test.program import Select, Tests, program
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate
from jaxsel.repetitions import beta_binomial
from tests.conftest import ALPHA
from tests.families.entry_checks import entries_of

ENTRIES = {entry.name: entry for entry in entries_of("selection_and_test")}
EVERY = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
TRIALS = 100_000


def tallied(mechanism, data, params, seed, trials=TRIALS):
    found = simulate(mechanism, data, params, trials=trials, seed=seed, progress=False)
    return np.asarray(found.values).ravel()


def p_value(counts, law):
    assert counts[law == 0.0].sum() == 0
    return goodness_of_fit(counts[law > 0.0], law[law > 0.0] / law.sum())


# --- The state ------------------------------------------------------------------------


def drawn(function, count=TRIALS, seed=0):
    """A function of a trial's key, for many trials."""
    with jax.enable_x64(True):
        first, second, _ = stream.make_key(seed)
        lanes = jnp.arange(count, dtype=jnp.uint32)
        run = jax.jit(jax.vmap(lambda lane: function(stream.Key(first, second, lane))))
        return jax.tree.map(np.asarray, run(lanes))


@pytest.mark.parametrize("gamma", [1e-3, 0.5, 1.0, 4.0])
def test_p_has_its_law_also_where_it_underflows(gamma, seed):
    found = drawn(lambda key: instance.initialise(key, gamma), seed=seed)
    uniform = np.exp(gamma * found.log_p)
    assert stats.kstest(uniform, "uniform").pvalue > ALPHA
    assert np.all(np.isfinite(found.log_p))
    assert np.all(found.log_p < 0.0)
    # Power: another exponent is told apart.
    assert stats.kstest(uniform**1.05, "uniform").pvalue < ALPHA


def test_calls_share_p(seed):
    """All of Tests and Selections of an instance: more often together than apart."""

    def trial(key):
        state = instance.initialise(stream.fold(key, 0), 1.0)
        tests = [instance.answers_top(stream.fold(key, number), state, 1.0) for number in (1, 2)]
        ran = ~instance.best_rank(stream.fold(key, 3), state, 1).none
        return jnp.stack([*tests, ran])

    found = drawn(trial, seed=seed)
    # E p^3 = 1/4, not 1/8
    p = stats.binomtest(int(found.all(axis=1).sum()), TRIALS, 0.25).pvalue
    assert p > ALPHA
    for column in found.T:
        assert stats.binomtest(int(column.sum()), TRIALS, 0.5).pvalue > ALPHA


def test_a_sampled_answer_and_a_chance_are_the_same_test(seed):
    def trial(key):
        state = instance.State(jnp.log(0.5), jnp.float64(0.5))
        answer = instance.runs(stream.fold(key, 9), state, 0)  # H: a fair coin
        return jnp.stack(
            [instance.answers_top(key, state, answer), instance.answers_top(key, state, 0.5)]
        )

    for column in drawn(trial, seed=seed).T:
        assert stats.binomtest(int(column.sum()), TRIALS, 0.25).pvalue > ALPHA


def test_log_stay_and_first_top_at_the_ends():
    with jax.enable_x64(True):
        for log_p, top in ((-1e-17, 1.0), (-1e-17, 1.0 - 1e-12), (-700.0, 0.3)):
            state = instance.State(jnp.float64(log_p), jnp.exp(jnp.float64(log_p)))
            exact = np.log(-np.expm1(log_p) + np.exp(log_p) * (1.0 - top))
            if log_p < -1.0:
                exact = np.log1p(-top * np.exp(log_p))
            found = float(instance.log_stay(state, jnp.float64(top)))
            assert found == pytest.approx(exact, rel=1e-12)
        key = stream.make_key(0)
        never = instance.State(jnp.float64(-jnp.inf), jnp.float64(0.0))
        assert float(instance.first_top(key, never, 0.5)) == np.inf
        always = instance.State(jnp.float64(0.0), jnp.float64(1.0))
        assert float(instance.first_top(key, always, 1.0)) == 1.0


def test_select_counts_its_runs_and_names_the_candidate(seed):
    best = np.array([0.0, 0.5])  # chance of the better outcome

    def trial(key):
        state = instance.initialise(stream.fold(key, 0), 2.0)

        def draw(key, i):
            chance = instance.State(jnp.float64(0.0), jnp.asarray(best)[i])
            place = (~instance.runs(key, chance, 0)).astype(jnp.int32)
            return bases.Draw(-place.astype(jnp.float64), jnp.float64(0.0), place)

        found = instance.select(stream.fold(key, 1), state, jnp.array([3, 2], jnp.int32), 2, draw)
        return found.count, found.candidate, found.none, found.best.label

    count, candidate, none, label = drawn(trial, seed=seed)
    law = beta_binomial(5, 2.0).pmf(np.arange(6))
    assert goodness_of_fit(np.bincount(count, minlength=6), law) > ALPHA
    assert np.array_equal(none, count == 0)
    # Only candidate 1 can give the best outcome, 0.
    assert np.all(candidate[(label == 0) & ~none] == 1)
    assert np.any(candidate[~none] == 0)


# --- Programs -------------------------------------------------------------------------


def by_first(outcomes):
    return outcomes[0] == 0 if len(outcomes) == 1 else 0


ADAPTIVE = (
    ((Select(), Tests(2), Select()), {"limit": 2, "choose": by_first}),
    ([[0.1, 0.3, 0.6], [0.2, 0.2, 0.6]], [0.1, 0.4], [[0.3, 0.7]]),
    {"gamma": 0.7, "rounds": ([3, 2], 6, 2)},
)
HALTING = (((Tests(3), Tests(3)), {"limit": 3}), (0.2, 0.6), {"gamma": 2.0, "rounds": (8, 3)})


@pytest.mark.parametrize("method", ["literal", "shortcut"])
@pytest.mark.parametrize("case", [ADAPTIVE, HALTING], ids=["adaptive", "halting"])
def test_a_program_has_its_exact_law(case, method, seed):
    (calls, settings), data, params = case
    mechanism = program(calls, method=method, **settings)
    counts = tallied(mechanism, data, params, seed, 50_000)
    assert p_value(counts, mechanism.law(data, params).probabilities) > ALPHA
    # Power: a prior with another exponent is told apart, by 13,000 trials or more.
    wrong = dict(params, gamma=params["gamma"] * 1.2)
    assert p_value(counts, mechanism.law(data, wrong).probabilities) < ALPHA


@pytest.mark.parametrize("method", ["literal", "shortcut"])
def test_many_candidates_with_different_laws(method, seed):
    laws = np.random.default_rng(0).dirichlet(np.full(70, 0.3), 5)  # long: searchsorted
    mechanism = program((Select(),), method=method)
    params = {"gamma": 1.0, "rounds": (np.array([1, 2, 3, 4, 5]),)}
    law = mechanism.law((laws,), params).probabilities
    coarse = np.add.reduceat(law, np.arange(0, 71, 10))
    found = simulate(mechanism, (laws,), params, trials=50_000, seed=seed, progress=False)
    counts = np.add.reduceat(np.asarray(found.values).ravel(), np.arange(0, 71, 10))
    assert goodness_of_fit(counts, coarse) > ALPHA


def test_transcript_labels():
    (calls, settings), data, params = ADAPTIVE
    labels = program(calls, **settings).labels(data, params)
    assert len(labels) == 4 * 3 * 3
    assert (labels[0], labels[-1]) == ("0 0 0", "none 2 none")


# --- The coin game --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["literal", "jump"])
@pytest.mark.parametrize("ones", [1, 3])
def test_the_coin_game_has_its_exact_law(method, ones, seed):
    biases = [0.1, 0.0, 0.5, 0.3, 0.05, 0.7, 1.0, 0.2]
    mechanism = coin_game(method=method)
    # 120,000 and 580,000 trials notice another bias but for one case in a million.
    trials = {1: 150_000, 3: 600_000}[ones]
    counts = tallied(mechanism, biases, {"ones": ones}, seed, trials)
    assert p_value(counts, mechanism.law(biases, {"ones": ones}).probabilities) > ALPHA
    law = mechanism.law([0.11, *biases[1:]], {"ones": ones}).probabilities
    assert p_value(counts, law) < ALPHA


@pytest.mark.parametrize("method", ["literal", "jump"])
def test_the_adaptive_coin_game_shows_every_bit(method, seed):
    """What is shown next depends on the ones so far, as Algorithm 2 allows."""
    rows = [[0.1, 0.0, 0.5, 0.3], [0.6, 0.4, 1.0, 0.2]]
    mechanism = coin_game(method=method, event="bits")
    law = mechanism.law(rows, {}).probabilities
    # 0110: no 1 at the first, the second never comes up 1
    assert law[0b0110] == 0.0
    assert law[0b1010] == pytest.approx(0.1 * (1 - 0.4) * 1.0)
    assert law[0b0011] == pytest.approx(0.9 * 1.0 * 0.5 * 0.2)
    assert law[0b1011] == 0.0  # it has ended before
    assert law.sum() == pytest.approx(1.0)
    places = coin_game().law(rows, {}).probabilities
    assert places[2] == pytest.approx(law[0b1010] + law[0b0110])
    counts = tallied(mechanism, rows, {}, seed)
    assert p_value(counts, law) > ALPHA
    other = mechanism.law([rows[0], [0.6, 0.3, 1.0, 0.2]], {}).probabilities
    assert p_value(counts, other) < ALPHA


# --- The catalogue --------------------------------------------------------------------


@EVERY
def test_entries_keep_their_promise_at_other_settings(entry):
    changes = [{}, {"epsilon": "0.3"}]
    changes += [{"gamma": "0.5"}] if "gamma" in entry.settings else []
    for given in changes:
        mechanism = entry.build(given).mechanism
        for pair in entry.pairs(given):
            sides = [
                mechanism.law(side, pair.params).probabilities
                for side in (pair.data, pair.neighbour)
            ]
            for law in sides:
                assert law.sum() == pytest.approx(1.0, abs=1e-11)
                assert law.size == len(mechanism.labels(pair.data, pair.params))
            proven = entry.guarantee(given, pair)
            assert (proven is None) == (entry.name == "coin_game")
            if proven is not None:
                assert exact_epsilon(*sides) <= proven.epsilon * (1.0 + 1e-9)


@EVERY
def test_literal_entries_differ_in_the_method_alone(entry):
    default, literal = entry.build({}), entry.build({"method": "literal"})
    assert "method=literal" in literal.mechanism.name
    assert (
        default.mechanism.law(default.data, default.params).labels
        == literal.mechanism.law(literal.data, literal.params).labels
    )


@pytest.mark.parametrize(
    ("name", "given", "least"),
    [
        ("selections", {"rounds": "1000", "middle": "1e-9", "calls": "3"}, 0.999),
        ("tests_until_top", {"bottoms": "100000"}, 0.999),
        ("selection_once", {}, 0.99),
    ],
)
def test_default_pairs_nearly_attain_the_promise(name, given, least):
    entry = ENTRIES[name]
    mechanism, pair = entry.build(given).mechanism, entry.pairs(given)[0]
    sides = [mechanism.law(d, pair.params) for d in (pair.data, pair.neighbour)]
    exact = exact_epsilon(*(law.probabilities for law in sides))
    assert exact > least * entry.guarantee(given, pair).epsilon


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (program((Select(),)), ([[0.5, 0.4]],), {"gamma": 1, "rounds": (3,)}, "vector"),
        (program((Select(),)), ([[0.5, 0.5]],), {"gamma": 1, "rounds": (0,)}, "rounds"),
        (program((Select(),)), ([[0.5, 0.5]],), {"gamma": 0, "rounds": (1,)}, "gamma"),
        (program((Select(),)), ([[0.5, 0.5]],), {"rounds": (1,)}, "gamma is missing"),
        (program((Select(),)), (), {"gamma": 1, "rounds": ()}, "makes 1 calls"),
        (program((Tests(),)), (1.2,), {"gamma": 1, "rounds": (3,)}, "in \\[0, 1\\]"),
        (program((Tests(),)), (0.2,), {"gamma": 1, "rounds": (0.5,)}, "whole number"),
        (coin_game(), [0.5, 2.0], {}, "probabilities"),
        (coin_game(), [0.5], {"ones": 0}, "ones"),
        (coin_game(), [[0.5], [0.5]], {"ones": 3}, "2 rows"),
        (coin_game(event="bits"), [0.5] * 13, {}, "at most 12"),
        (coin_game(), [0.5], {"one": 1}, "one is no parameter"),
        (
            program((Select(),)),
            ([[0.5, 0.5]],),
            {"gamma": 1, "rounds": (2**31,)},
            "rounds of call 0",
        ),
        (
            program((Tests(300), Tests(300))),
            (0.2, 0.2),
            {"gamma": 1, "rounds": (9, 9)},
            "90601 transcripts",
        ),
    ],
)
def test_bad_input_is_refused(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


def test_bad_programs_are_refused():
    with pytest.raises(InputError, match="empty"):
        program(())
    with pytest.raises(InputError, match="stop"):
        program((Tests(0),))
    with pytest.raises(InputError, match="limit"):
        program((Tests(1),), limit=0)
    with pytest.raises(InputError, match="method"):
        program((Tests(1),), method="fast")
    with pytest.raises(InputError, match="quiet"):
        ENTRIES["tests_until_top"].build({"quiet": "0.9"})
