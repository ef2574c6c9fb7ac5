"""What an audit of a function is made of: outcomes, neighbours, events, and its error."""

import functools
import itertools

import numpy as np
import pytest
import scipy.stats

from benchmarks.audit_tables.bugs import audited
from benchmarks.audit_tables.small_programs import programs
from jaxsel.auditing.functions import neighbours
from jaxsel.auditing.functions.events import Claim, LargestBound, choose, counts_of, halved
from jaxsel.auditing.functions.outcomes import table, together
from jaxsel.host.errors import InputError, UnsupportedError
from jaxsel.host.intervals import binomial_p_value
from jaxsel.language.relations import Relation
from jaxsel.questions.function_audit import function_audit
from tests.conftest import ALPHA

WRONG, RIGHT = ({one.function.__name__: one for one in each} for each in programs())


# --- Outcomes -------------------------------------------------------------------------


def test_outcomes_of_any_kind_become_words_shapes_and_columns():
    found = table([["above", 0.5], ["below"], {"a": 1, "b": None}, float("nan"), None, True, "7"])
    assert found.words.tolist() == [
        "['above', 0.5]", "['below']", "{'a': 1, 'b': None}", "nan", "None", "True", "'7'"
    ]  # fmt: skip
    assert found.shapes[0] == "['above', #]"
    assert found.shapes[2] == "{'a': #, 'b': None}"
    assert found.columns["entry 0 is 'above'"].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert found.columns["number of 'below'"].tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert found.columns["entry 1"][0] == 0.5
    assert np.isnan(found.columns["entry 1"][1:]).all()


def test_an_array_and_the_list_of_its_rows_are_the_same_table():
    rows = np.random.default_rng(0).integers(0, 3, (20, 4)).astype(float)
    rows[3, 1], rows[5, 2] = np.nan, np.inf
    of_array, of_list = table(rows), table([row.tolist() for row in rows])
    assert of_array.words.tolist() == of_list.words.tolist()
    assert of_array.shapes.tolist() == of_list.shapes.tolist()
    for name, column in of_array.columns.items():
        np.testing.assert_array_equal(column, of_list.columns[name])


@pytest.mark.parametrize(
    "answers", [[True, False, True], ["yes", "it's", "", "yes"], [[True, False], [False, True]]]
)
def test_an_array_of_answers_is_the_table_of_their_list(answers):
    of_array, of_list = table(np.array(answers)), table(answers)
    assert of_array.words.tolist() == of_list.words.tolist()
    assert of_array.shapes.tolist() == of_list.shapes.tolist()
    assert list(of_array.columns) == list(of_list.columns)
    for name, column in of_array.columns.items():
        np.testing.assert_array_equal(column, of_list.columns[name])


@pytest.mark.parametrize("kind", ["words", "shapes"])
@pytest.mark.parametrize(
    "rows",
    [
        [[0.0, 1.5], [-0.0, 1.5], [np.nan, 2.0], [np.inf, 1.0], [0.0, 1.5], [-np.inf, 1.0]],
        [[0.1], [0.2], [0.1]],
        [2**60 + 1, 2**60, 2**60 + 1, -3],
        [0.5, np.nan, 0.5, -0.0, 0.0],
        [[[0.5, 1.0], [2.0, 3.0]], [[0.5, 1.0], [2.0, np.nan]], [[0.5, 1.0], [2.0, 3.0]]],
    ],
)
def test_texts_are_found_in_an_array_as_in_the_list_of_its_rows(rows, kind):
    of_array, of_list = table(np.array(rows)), table(rows)
    every = [*dict.fromkeys(of_list.words.tolist() + of_list.shapes.tolist()), "'label'", "[7]"]
    assert of_array.ranks(kind, every).tolist() == of_list.ranks(kind, every).tolist()
    for least in (1, 2, 3):
        assert of_array.frequent(kind, least) == of_list.frequent(kind, least)
    single = table(np.array(rows).astype(np.float32))
    assert single.ranks("words", list(single.frequent("words", 1))).max() < len(rows)


def test_the_order_of_keys_and_of_labels_is_part_of_an_outcome():
    found = table([{"a": 1, "b": 2}, {"b": 2, "a": 1}, ["x", "y"], ["y", "x"], {3, 1}, {1, 3}])
    assert len(set(found.words[:4])) == 4
    assert found.words[4] == found.words[5]


def test_tables_of_different_columns_are_put_together():
    both = together([table([["a"]]), table([[1.0]])])
    assert both.columns["entry 0 is 'a'"].tolist() == [1.0, 0.0]
    assert np.isnan(both.columns["entry 0"][0])


# --- Neighbours -----------------------------------------------------------------------

EXAMPLES = {
    Relation.GENERAL: [1.0] * 5,
    Relation.MONOTONE: np.array([3, 1, 2]),
    Relation.L1: [2.0, 1.0],
    Relation.ADD_OR_REMOVE_ONE: ["a", "b", "a"],
    Relation.REPLACE_ONE: np.array([[0.0, 1.0], [1.0, 1.0]]),
}


@pytest.mark.parametrize("relation", EXAMPLES)
def test_every_proposed_pair_is_one_and_is_proposed_once(relation):
    pairs = neighbours.propose(relation, EXAMPLES[relation])
    assert len(pairs) >= 4
    for pair in pairs:
        neighbours.check(relation, pair.data, pair.neighbour)
        neighbours.check(relation, pair.neighbour, pair.data)
        assert type(pair.data) is type(EXAMPLES[relation])
    shown = [frozenset(map(repr, (pair.data, pair.neighbour))) for pair in pairs]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    ("relation", "data", "neighbour"),
    [
        (Relation.GENERAL, [0.0, 0.0], [1.5, 0.0]),
        (Relation.MONOTONE, [0.0, 0.0], [1.0, -1.0]),
        (Relation.L1, [0.0, 0.0], [1.0, 1.0]),
        (Relation.L1, [0.0, 0.0], [1.0, -1.0]),  # moves that cancel are moves
        (Relation.L1, [0.0, 0.0, 0.0], [-0.6, 0.0, 0.6]),
        (Relation.GENERAL, [0.0, 0.0], [0.0, -1.5]),
        (Relation.MONOTONE, [0.0, 0.0], [-0.5, 0.5]),
        (Relation.REPLACE_ONE, [0, 1], [0, 1, 1]),
        (Relation.GENERAL, [0.0], [0.0, 0.0]),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1], [1, 0]),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1, 2], [5]),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1, 2], [2, 1]),
        (Relation.REPLACE_ONE, [0, 1], [1, 0]),
    ],
)
def test_what_is_no_pair_is_refused(relation, data, neighbour):
    with pytest.raises(InputError, match="the pair is none of"):
        neighbours.check(relation, data, neighbour)


@pytest.mark.parametrize(
    ("relation", "data"),
    [(Relation.REPLACE_ONE, [0]), (Relation.REPLACE_ONE, [True]), (Relation.LOCAL, [7])],
)
def test_an_example_of_which_no_pair_comes_is_refused(relation, data):
    with pytest.raises(InputError, match="give one with values that differ, or a pair"):
        neighbours.pairs(relation, data)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("relation", [Relation.GENERAL, Relation.MONOTONE, Relation.L1])
def test_proposed_scores_move_as_the_relation_says(relation, size):
    for pair in neighbours.propose(relation, [float(place % 3) for place in range(size)]):
        moves = [b - a for a, b in zip(pair.data, pair.neighbour, strict=True)]
        assert max(map(abs, moves)) <= 1.0
        if relation is Relation.L1:
            assert sum(map(abs, moves)) <= 1.0
        if relation is Relation.MONOTONE:
            assert min(moves) >= 0.0 or max(moves) <= 0.0


def _unordered(found):
    """Pairs without their order, each side by its text."""
    return {frozenset(map(repr, (pair.data, pair.neighbour))) for pair in found}


def _expected(pairs):
    return {frozenset((repr(one), repr(other))) for one, other in pairs if one != other}


SETS = [
    [1, 3, 2, 2], [1, 1, 1, 1], [3, 3, 3, 3], [1, 1, 3, 3], [1, 1, 1, 3], [3, 3, 3, 1],
    [1], [3], [1, 3], [1, 1, 1, 3, 3],
]  # fmt: skip


def test_records_are_added_to_and_removed_from_each_of_the_sets():
    found = neighbours.propose(Relation.ADD_OR_REMOVE_ONE, SETS[0])
    expected = [(one, [*one, record]) for one in SETS for record in (1, 3)]
    expected += [(one, one[:-1]) for one in SETS[1:]]
    expected += [([], [1]), ([], [2]), ([], [3])]
    expected += [(SETS[0], rest) for rest in ([3, 2, 2], [1, 2, 2], [1, 3, 2])]
    assert _unordered(found) == _expected(expected)
    removed = [pair for pair in found if "the example; record" in pair.why]
    assert len(removed) == 3
    for pair in removed:
        place = int(pair.why.split("record ")[1].split()[0])
        assert pair.neighbour == [*SETS[0][:place], *SETS[0][place + 1 :]]
    # Of a long example, the first eight are removed.
    many = neighbours.propose(Relation.ADD_OR_REMOVE_ONE, list(range(20)))
    removed = [pair for pair in many if "the example; record" in pair.why]
    gone = [set(range(20)) - set(pair.neighbour) for pair in removed]
    assert gone == [{place} for place in range(8)]


def test_the_first_and_the_last_record_of_each_set_are_replaced():
    found = neighbours.propose(Relation.REPLACE_ONE, SETS[0])
    expected = [(one, [record, *one[1:]]) for one in SETS for record in (1, 3)]
    expected += [(one, [*one[:-1], record]) for one in SETS for record in (1, 3)]
    assert _unordered(found) == _expected(expected)
    # What cannot be ordered keeps its order; what is the same throughout has one end.
    assert _unordered(neighbours.propose(Relation.REPLACE_ONE, [None, "a"])) == _expected(
        (one, moved)
        for one in ([None, "a"], [None, None], ["a", "a"], ["a", None], [None], ["a"],
                    [None, None, "a"])
        for record in (None, "a")
        for moved in ([record, *one[1:]], [*one[:-1], record])
    )  # fmt: skip
    alone = neighbours.propose(Relation.ADD_OR_REMOVE_ONE, ["a", "a"])
    assert _unordered(alone) == _expected((["a"] * k, ["a"] * (k + 1)) for k in range(4))


def test_score_vectors_move_by_every_pattern():
    given, zeros, far = np.array([2.0, 0.5, 1.0, 5.0]), np.zeros(4), -20.0
    moves = np.array([
        [1, 0, 0, 0], [-1, 0, 0, 0], [1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, -1, -1],
        [1, 1, 1, -1], [1, 1, -1, -1], [1, 1, 0, 0],
    ], float)  # fmt: skip
    every = [(start, start + move) for start in (given, zeros) for move in moves]
    every += [(np.array(one, float), np.array(other, float)) for one, other in (
        ([1, 0, 0, 0], [0, 1, 0, 0]),
        ([0.5, 0, 0, 0], [0, 0.5, 0, 0]),
        ([1, 0, far, far], [0, 0, far, far]),
        ([1, 0, 0, 0], [0, 0, 0, 0]),
        ([2, 0, 0, 0], [1, 0, 0, 0]),
        ([1, 1, 0, 0], [0, 0, 1, 1]),
        ([1, 1, 0, 0], [2, 2, 1, 1]),
        ([0, far, far, far], [1, far, far, far]),
    )]  # fmt: skip
    allowed = {
        Relation.GENERAL: lambda step: np.abs(step).max() <= 1.0,
        Relation.MONOTONE: lambda step: step.min() >= 0.0 or step.max() <= 0.0,
        Relation.L1: lambda step: np.abs(step).sum() <= 1.0,
    }
    plain = lambda side: (side + 0.0).tolist()  # noqa: E731
    for relation, keeps in allowed.items():
        found = neighbours.propose(relation, given.tolist())
        kept = [pair for pair in every if keeps(pair[1] - pair[0])]
        clean = {
            frozenset(repr(plain(np.array(side))) for side in (pair.data, pair.neighbour))
            for pair in found
        }
        assert clean == _expected(tuple(map(plain, pair)) for pair in kept)
    # Whole numbers stay whole: what moves by a half is left out.
    whole = neighbours.propose(Relation.GENERAL, [2, 0, 1, 5])
    assert all(isinstance(one, int) for pair in whole for side in pair[:2] for one in side)
    assert not any("half a score" in pair.why for pair in whole)
    assert len(whole) == len(neighbours.propose(Relation.GENERAL, [2.0, 0.0, 1.0, 5.0])) - 1


@pytest.mark.parametrize(
    ("relation", "data", "neighbour", "words"),
    [
        (Relation.L1, [0.0, 0.0], [0.75, -0.5], "move by 1.25 in all"),
        (Relation.GENERAL, [0.0, 0.0], [0.5, -1.5], "a score moves by 1.5"),
        (Relation.GENERAL, [0.0], [0.0, 0.0], r"shapes \(1,\) and \(2,\)"),
        (Relation.REPLACE_ONE, [0, 1, 2], [1, 0, 2], "2 records differ"),
        (Relation.REPLACE_ONE, [0, 1], [0, 1, 1], "it has 2 and 3 records"),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1], [1, 0], "it has 2 and 2 records"),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1, 2], [2, 1], "more than one record differs"),
    ],
)
def test_why_a_pair_is_none_is_said(relation, data, neighbour, words):
    with pytest.raises(InputError, match=words):
        neighbours.check(relation, data, neighbour)


@pytest.mark.parametrize(
    ("relation", "data", "neighbour"),
    [
        (Relation.GENERAL, [0.0, 0.0], [1.0, -1.0]),
        (Relation.MONOTONE, [0.0, 0.0], [0.0, -1.0]),
        (Relation.L1, [0.0, 0.0], [0.4, -0.6]),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1, 2], [0, 2]),
        (Relation.ADD_OR_REMOVE_ONE, [], [5]),
        (Relation.ADD_OR_REMOVE_ONE, [0, 1], [0, 1, 1]),
        (Relation.REPLACE_ONE, [0, 1, 2], [0, 7, 2]),
        (Relation.LOCAL, "x", 7),
    ],
)
def test_what_is_a_pair_is_taken_in_both_orders(relation, data, neighbour):
    neighbours.check(relation, data, neighbour)
    neighbours.check(relation, neighbour, data)


@pytest.mark.parametrize("ask", [neighbours.example, lambda one: neighbours.check(one, 0, 1),
                                 lambda one: neighbours.propose(one, [0, 1])])  # fmt: skip
def test_a_relation_that_no_function_is_audited_by_is_refused_with_those_that_are(ask):
    allowed = "general, monotone, l1, add_or_remove_one, replace_one, local"
    for relation in (Relation.BASE, Relation.REPLACE_SPECIAL):
        with pytest.raises(UnsupportedError) as refused:
            ask(relation)
        assert str(refused.value) == (
            f"relation is {relation.value!r}; a function is audited by: {allowed}"
        )
    with pytest.raises(InputError, match="local need an example of the input"):
        neighbours.example(Relation.LOCAL)


def test_records_stay_of_the_examples_kind():
    rows = np.array([[0, 1], [2, 3], [0, 1]], np.int16)
    for pair in neighbours.propose(Relation.ADD_OR_REMOVE_ONE, rows):
        for side in (pair.data, pair.neighbour):
            assert (side.dtype, side.shape[1:]) == (np.int16, (2,))
    for pair in neighbours.propose(Relation.REPLACE_ONE, ("a", "b")):
        assert type(pair.data) is type(pair.neighbour) is tuple
    local = neighbours.propose(Relation.LOCAL, ["a", "b", "c"])
    assert [pair[:2] for pair in local] == [("a", "b"), ("a", "c"), ("b", "c")]


# --- Events ---------------------------------------------------------------------------


def test_evidence_is_a_bound_on_the_tail_of_the_ratio():
    x, y = np.array([0.0, 3, 40, 200]), np.array([0.0, 0, 10, 100])
    for claim, trials in itertools.product((Claim(0.0), Claim(0.7)), ((500, 500), (300, 900))):
        share = np.exp(claim.epsilon) * trials[0] / trials[1]
        tail = scipy.stats.binom.sf(x - 1, x + y, share / (1 + share))
        found = claim.evidence(x, y, trials)
        assert np.all(np.exp(-found) >= tail * (1 - 1e-9))
        assert np.all(found <= -np.log(tail) + 1e-9)
    # What delta allows is no evidence.
    allowed, trials = Claim(1.0, 0.05), (1000, 1000)
    assert allowed.evidence(np.array([50.0]), np.array([0.0]), trials) == 0.0
    assert allowed.evidence(np.array([150.0]), np.array([0.0]), trials) > 3.0


@pytest.mark.parametrize("size", [1, 6])
def test_the_event_of_a_shifted_laplace_is_a_tail(size):
    """The best event against epsilon 0 has the whole total variation distance."""
    generator = np.random.default_rng(size)
    shift = np.zeros(size)
    shift[-1] = 1.0
    sides = [
        [table(move + generator.laplace(size=(6000, size))) for _ in range(2)]
        for move in (np.zeros(size), shift)
    ]
    found = choose((sides[0][0], sides[1][0]), (sides[0][1], sides[1][1]), Claim(0.0))[0]
    fresh = [
        found.event.holds(table(move + generator.laplace(size=(20_000, size)))).mean()
        for move in (np.zeros(size), shift)
    ]
    distance = 1.0 - np.exp(-0.5)
    # The direction's loss is 1 at most; the distance is nearly all that there is.
    assert abs(fresh[0] - fresh[1]) > 0.85 * distance


def test_what_two_entries_say_together_is_found():
    """Each entry alone is a fair coin; their product tells the side."""
    generator = np.random.default_rng(0)

    def rows(keep):
        first = generator.random(4000) < 0.5
        return table([[bool(a), bool(a) == bool(k)] for a, k in zip(first, keep, strict=True)])

    sides = [[rows(generator.random(4000) < p) for _ in range(2)] for p in (0.9, 0.1)]
    found = choose((sides[0][0], sides[1][0]), (sides[0][1], sides[1][1]), Claim(1.0))[0]
    inside = [found.event.holds(side[1]).mean() for side in sides]
    assert max(inside) > 7 * min(inside)


# --- The whole audit ------------------------------------------------------------------


def _of_many_entries(generator, size, swapped):
    """Sixteen entries in 0 to 3: even ones are likelier on one side, odd ones on the other.

    Neither a slope nor a square of an entry shows that, and no two or three of them say much.
    """
    shares = np.array([0.29, 0.21, 0.29, 0.21])[:: -1 if swapped else 1]
    return table(generator.choice(4, (size, 16), p=shares))


def test_what_many_entries_say_together_is_found_and_what_is_rare_tells_most(seed):
    generator = np.random.default_rng(seed)
    halves = [
        tuple(_of_many_entries(generator, 40_000, swapped) for swapped in (False, True))
        for _ in range(2)
    ]
    best = choose(*halves, Claim(0.1))[0]
    assert "logistic score of" in best.event.words
    # The number of even entries is binomial, and it is all that tells.
    levels = np.arange(8, 16)
    p, q = (scipy.stats.binom.sf(levels, 16, share) for share in (0.58, 0.42))
    ideal = Claim(0.1).evidence(40_000 * p, 40_000 * q, (40_000, 40_000)).max()
    assert best.evidence > 0.9 * ideal
    fresh = [_of_many_entries(generator, 100_000, swapped) for swapped in (False, True)]
    rare = choose(*halves, LargestBound(0.1))[0]
    shown = [rare.event.holds(one).mean() for one in fresh][:: -1 if rare.swapped else 1]
    assert shown[0] < 0.05  # the most extreme of 32 equal parts has .06
    # Fourteen even entries and more, of which the most that 40,000 trials bound is not far.
    most = [scipy.stats.binom.sf(13, 16, share) for share in (0.58, 0.42)]
    assert np.log(shown[0] / shown[1]) > 0.7 * np.log(most[0] / most[1])


def test_whatever_is_searched_a_tight_claim_falls_as_often_as_is_said(seed):
    """Randomised response at exactly its epsilon, over all pairs of four inputs."""
    runs, rate = 150, 0.3
    subject = RIGHT["randomised_response_of_four"]
    refuted = sum(
        function_audit(
            lambda rng, data, n: subject.function(rng, data, n),
            [0, 1, 2, 3],
            relation="local",
            claim=1.0,
            trials=1500,
            false_alarm=rate,
            seed=seed + run,
        ).refuted
        for run in range(runs)
    )
    assert binomial_p_value(refuted, runs, rate, "greater") >= ALPHA
    # It is no vacuous bound either: the claim is tight.
    assert refuted > 0


def test_events_are_compared_on_other_trials_than_propose_them():
    """On its own trials an event that was learned there seems to tell equal sides apart."""
    generator = np.random.default_rng(3)
    sides = (table(generator.normal(size=(600, 4))), table(generator.normal(size=(600, 4))))
    learned_on, chosen_on = halved(sides)
    claim, apart = Claim(0.0), []
    for one in choose(learned_on, chosen_on, claim):

        def evidence(halves, one=one):
            ways = halves[::-1] if one.swapped else halves
            counts = (counts_of([one.event], given) for given in ways)
            return float(claim.evidence(*counts, tuple(map(len, ways)))[0])

        assert one.evidence == pytest.approx(evidence(chosen_on))
        apart.append(one.evidence != evidence(learned_on))
    assert any(apart)


# So many trials refute them with room to spare; those of single calls have events that are never
# on the other side.
TRIALS = {
    "above_threshold_exact_queries": 10_000,
    "noisy_max_without_factor_two": 60_000,
    "noisy_max_value": 60_000,
    "top_two_in_true_order": 60_000,
    "budget_spent_twice": 60_000,
    "seed_from_data": 60_000,
    "ratio_of_an_empty_group": 60_000,
    "variance_for_deviation": 60_000,
    "histogram_of_seen_keys": 10_000,
    "local_answer_of_four": 60_000,
}
# One of single calls and one of rows; a partial function runs in this process, which is quicker.
IN_PROCESSES = ("above_threshold", "noisy_max_of_scores")


@pytest.mark.parametrize("name", TRIALS)
def test_small_wrong_programs_are_refuted(name):
    assert audited(WRONG[name], TRIALS[name]).refuted


@pytest.mark.parametrize("name", RIGHT)
def test_small_right_programs_are_not(name):
    program = RIGHT[name]
    if name not in IN_PROCESSES:
        program = program._replace(function=functools.partial(program.function))
    found = audited(program, 10_000, false_alarm=1e-6)
    assert found.verdict == "not refuted"
    assert found.calls.startswith("in this process alone") == (name not in IN_PROCESSES)


@pytest.mark.parametrize("sequential", [False, True])
def test_every_call_has_a_stream_of_its_own(sequential):
    """So that the bound is on other trials than those that chose pair and event."""
    seen = []

    def noisy(rng, data, n):
        found = rng.laplace(data[0], size=n)
        seen.append((n, float(found[0]) - data[0]))
        return found

    function_audit(
        noisy,
        [0.0],
        [1.0],
        relation="general",
        claim=1.0,
        trials=40_000,
        false_alarm=0.05,
        how={"sequential": sequential},
    )
    noise = [round(first, 9) for _, first in seen]
    assert len(set(noise)) == len(noise) > 8
