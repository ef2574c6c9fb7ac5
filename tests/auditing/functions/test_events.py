"""What events are made of, held to other routes: evidence, bins, the regression and its score."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

import jaxsel
from jaxsel.auditing.functions import events
from jaxsel.auditing.functions.events import Claim, Event, LargestBound, _edges, _Features
from jaxsel.auditing.functions.outcomes import column, table

NAMES = ["entry 0", "entry 1"]


def _given(size, seed=0):
    generator = np.random.default_rng(seed)
    rows = np.stack([generator.normal(size=size), generator.integers(0, 3, size)], axis=1)
    rows[::11, 0] = np.nan
    rows[1::13, 0] = np.inf
    return table(rows)


def _design(features, given):
    """By plain loops: scaled columns, a column for each bin, and a constant."""
    rows = []
    for row in given.values:
        scaled, bins = [], np.zeros(int(features.starts[-1]))
        for place, value in enumerate(row):
            low, high = features.low[place], features.high[place]
            middle = (low + high) / 2 if math.isnan(value) else min(max(value, low), high)
            scaled.append(2 * (middle - low) / (high - low) - 1)
            edges = features.edges[place]
            among = len(edges) + 1 if math.isnan(value) else sum(edge < value for edge in edges)
            bins[features.starts[place] + among] = 1.0
        rows.append([*scaled, *bins, 1.0])
    return np.array(rows)


@pytest.mark.parametrize("block", [7, 40, 1000])
def test_a_score_is_a_sum_over_columns_and_bins_block_by_block(monkeypatch, block):
    monkeypatch.setattr(events, "_AT_ONCE", block)
    given = _given(95)
    features = _Features.fitted(NAMES, given)
    weights = np.random.default_rng(1).normal(size=len(NAMES) + int(features.starts[-1]) + 1)
    expected = _design(features, given) @ weights - weights[-1]
    assert features.score(given, weights) == pytest.approx(expected)


def test_the_regression_has_no_slope_left():
    given = _given(200)
    side = (np.arange(200) % 3 == 0).astype(float)
    features = _Features.fitted(NAMES, given)
    weights = features.regression(given, side, 500)
    design = _design(features, given)
    rest = scipy.special.expit(design @ weights) - side
    assert np.abs(design.T @ rest + weights).max() < 1e-2

    # It is the least: any other has a larger loss.
    def loss(at):
        total = design @ at
        return np.logaddexp(0.0, total).sum() - side @ total + 0.5 * at @ at

    generator = np.random.default_rng(2)
    for _ in range(20):
        assert loss(weights) < loss(weights + 0.1 * generator.normal(size=weights.size))


def test_bins_have_frequent_values_for_themselves():
    generator = np.random.default_rng(3)
    values = np.concatenate([np.full(50, 1.5), np.full(3, -2.0), generator.normal(size=1000)])
    edges = _edges(values)
    for atom in (1.5,):
        assert {atom, np.nextafter(atom, -np.inf)} <= set(edges)
    assert -2.0 not in edges  # thrice in a thousand is no atom
    rest = np.sort(values[values != 1.5])
    inner = [edge for edge in edges if edge not in (1.5, np.nextafter(1.5, -np.inf))]
    shares = [np.mean(rest <= edge) for edge in inner]
    assert shares == pytest.approx(np.arange(1, 16) / 16, abs=2e-3)
    assert _edges(np.zeros(0)).size == 0
    assert _edges(np.full(9, 4.0)).tolist() == [np.nextafter(4.0, -np.inf), 4.0]


@pytest.mark.parametrize("trials", [(400, 400), (300, 900)])
@pytest.mark.parametrize("claim", [Claim(0.5), Claim(0.5, 0.02), Claim(0.0, 0.1)])
def test_evidence_is_chernoffs_exponent(claim, trials):
    x, y = np.array([0.0, 40, 200, 300, 9]), np.array([0.0, 50, 60, 3, 0])
    added = y + trials[1] * claim.delta * math.exp(-claim.epsilon)
    ratio = math.exp(claim.epsilon) * trials[0] / trials[1]
    q = ratio / (1.0 + ratio)
    found = claim.evidence(x, y, trials)
    for a, b, evidence in zip(x, added, found, strict=True):
        seen = a / (a + b) if a + b else 0.0
        if seen <= q:
            assert evidence == 0.0
            continue
        exponent = seen * math.log(seen / q)
        if seen < 1.0:
            exponent += (1 - seen) * math.log((1 - seen) / (1 - q))
        assert evidence == pytest.approx((a + b) * exponent)
    assert claim.evidence(x, y, (0, 5)).tolist() == [0.0] * 5
    assert claim.eased(0.5) == Claim(0.5 * claim.epsilon, claim.delta)


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_largest_bound_ranks_by_a_limit_of_the_ratio(delta):
    x, y, trials = np.array([60.0, 5.0, 200.0]), np.array([12.0, 0.0, 250.0]), (400, 500)
    found = LargestBound(9.0, delta).evidence(x, y, trials)
    left = np.floor(np.maximum(x - 400 * delta, 0.0))
    for a, b, limit in zip(left, y, found, strict=True):
        share = scipy.stats.beta.ppf(1e-3, a, b + 1) if a else 0.0
        expected = math.log(share / (1 - share) * 500 / 400) if share else -math.inf
        assert limit == pytest.approx(expected, rel=1e-5)
    assert LargestBound(9.0).eased(0.1) == LargestBound(9.0)


def test_an_event_its_complement_and_two_together():
    given = table(np.array([1.0, 2.0, 3.0, 4.0]))
    low = Event("low", lambda given: given.values < 3)
    even = Event("even", lambda given: given.values % 2 == 0)
    assert low.complement().holds(given).tolist() == [False, False, True, True]
    assert low.both(even).holds(given).tolist() == [False, True, False, False]
    assert low.both(even).words == "low and even"
    assert low.complement().words == "not (low)"
    counts = events.counts_of([low, even, low.both(even)], given)
    assert np.asarray(counts).tolist() == [2, 2, 1]


def test_tables_are_halved_into_different_trials():
    tables = table(np.arange(11.0)), table(np.arange(6.0))
    first, second = events.halved(tables)
    for given, one, other in zip(tables, first, second, strict=True):
        both = [*one.values, *other.values]
        assert sorted(both) == sorted(given.values)
        assert abs(len(one) - len(other)) <= 1


@pytest.mark.parametrize("scale", [1e308, 5e307, 5e-324])
@pytest.mark.filterwarnings("error")
def test_outcomes_at_the_ends_of_what_floats_hold_are_audited_without_a_warning(scale):
    """Sums and differences of two of them are no floats."""

    def rows(rng, data, trials):
        return rng.laplace(0.0, scale, (trials, 3))  # what is added to it would overflow

    def told(rng, data, trials):
        return np.where(data[1], 1.7e308, -1.7e308) * rng.integers(0, 2, (trials, 3))

    options = {"relation": "replace_one", "claim": 4.0, "trials": 1000}
    pair = ([0.0, 0.0], [0.0, 1.0])
    assert jaxsel.audit_function(rows, *pair, **options).verdict == "not refuted"
    assert jaxsel.audit_function(told, *pair, **options).refuted


def test_columns_are_scaled_between_their_hundredths():
    values = np.arange(1001.0)
    given = table(np.stack([values, np.full(1001, 7.0)], axis=1))
    features = _Features.fitted([*NAMES, "nowhere"], given)
    assert features.low.tolist() == [10.0, 7.0, 0.0]
    assert features.high.tolist() == [990.0, 8.0, 1.0]  # of one value alone, one unit


@pytest.mark.parametrize(
    ("sizes", "quickly", "rows"),
    [
        ((1000, 3000), True, 20),  # one of fifty on the smaller side
        ((300, 200), True, 10),  # an eighth of the most at least
        ((6000, 5000), True, 80),
        ((1000, 3000), False, 100),
    ],
)
def test_a_score_is_learned_of_so_many_trials(sizes, quickly, rows, monkeypatch):
    monkeypatch.setattr(events, "_ROWS", 80)
    monkeypatch.setattr(events, "_ROWS_OF_SCORE", 100)
    learned, fitted = [], _Features.fitted
    monkeypatch.setattr(
        _Features, "fitted", lambda names, both: learned.append(len(both)) or fitted(names, both)
    )
    generator = np.random.default_rng(6)
    tables = tuple(table(generator.normal(size=(size, 2))) for size in sizes)
    assert list(events._scores(tables, quickly))
    assert learned == [2 * rows]


# --- What an event says is what it holds ------------------------------------------------


def _meant(words, given):
    """Which trials an event's words are true of, read off the words."""
    if words.startswith("not ("):
        return ~_meant(words[5:-1], given)
    if words.startswith("the outcome is "):
        said = words.removeprefix("the outcome is ")
        return np.array([said in (word, shape) for word, shape in
                         zip(given.words, given.shapes, strict=True)])  # fmt: skip
    if " in (" in words:
        name, parts = words.split(" in (", 1)
        values, found = column(given, name), np.zeros(len(given), bool)
        for part in parts.split(" or ("):
            low, high = (float(end) for end in part.rstrip("]").split(", "))
            found |= ((values > low) | (low == -math.inf)) & (values <= high)
        return found
    if " <= " in words:
        name, level = words.rsplit(" <= ", 1)
        return column(given, name) <= float(level)
    if "is no multiple of 2^" in words:
        name, power = words.split(" is no multiple of 2^")
        return np.array([value % 2.0 ** float(power) != 0.0 for value in column(given, name)])
    name, value = words.rsplit(" is ", 1)
    return column(given, name) == float(value)


def _mixed(seed, size=400):
    """Quarters, of which a half is a single value, and small whole numbers."""
    generator = np.random.default_rng(seed)
    first = np.where(generator.random(size) < 0.5, 1.5, generator.integers(-40, 40, size) / 4)
    return table(np.stack([first, generator.integers(0, 3, size).astype(float)], axis=1))


def test_an_event_holds_what_its_words_say():
    values = _mixed(3).values
    values[:3, 0] = [-math.inf, math.inf, math.nan]
    tables, fresh = (_mixed(1), _mixed(2)), table(values)
    cut = list(events._cut(tables))
    assert [entry.name for entry in cut] == [*NAMES, "largest entry", "smallest entry", "mean"]
    singles = [*events._entries(cut), *events._words(tables)]
    unions = [one for one in events._unions(cut) if "more" not in one.words]
    kinds = set()
    for event in (*singles, *unions):
        if "one of" in event.words:
            continue
        for given in (fresh, tables[0]):
            np.testing.assert_array_equal(
                event.holds(given), _meant(event.words, given), err_msg=event.words
            )
        kinds.add(" in (" in event.words)
    assert kinds == {False, True}
    bits = (table(_mixed(4).values[:, 0]).with_bits(),) * 2
    low = [one for one in events._entries(list(events._cut(bits))) if "multiple" in one.words]
    assert len(low) > 2
    for event in low:
        np.testing.assert_array_equal(event.holds(bits[0]), _meant(event.words, bits[0]))


def test_every_value_that_is_frequent_is_an_event_and_no_other():
    values = np.concatenate([np.full(40, 7.0), np.full(2, 3.0), np.arange(10, 968) + 0.5])
    tables = (table(values[:500]), table(values[500:]))
    said = [one.words for one in events._entries(list(events._cut(tables)))]
    assert [words for words in said if words.startswith("value is")] == ["value is 3", "value is 7"]
    words = [one.words for one in events._words(tables)]
    # Of whole outcomes those that one side has twice.
    assert words == [f"the outcome is {one}" for one in ("7.0", "3.0", "#")] or set(words) == {
        "the outcome is 7.0", "the outcome is 3.0", "the outcome is #"
    }  # fmt: skip


def test_unions_of_outcomes_are_in_order_of_the_likelihood_ratio():
    first = table(["a"] * 10 + ["b"] * 40 + ["c"] * 20 + ["d"] * 30)
    second = table(["a"] * 40 + ["b"] * 20 + ["c"] * 20 + ["d"] * 20)
    every = [one for one in events._words((first, second)) if "one of" in one.words]
    held = [set(first.words[event.holds(first)]) for event in every]
    # b 2, d 1.5, c 1, a 0.25; the shapes are the same words.
    assert held == [{"'b'", "'d'"}, {"'b'", "'d'", "'c'"}] * 2
    assert every[0].words == "the outcome is one of 2: 'b', 'd'"


def test_bins_are_joined_in_order_of_the_likelihood_ratio():
    generator = np.random.default_rng(8)
    shares = np.array([0.1, 0.3, 0.05, 0.35, 0.2])
    sides = [generator.choice(5, 4000, p=order).astype(float) for order in (shares, shares[::-1])]
    sides[0][:300] = np.nan  # in no bin
    levels = np.arange(4.0)
    counts = [np.array([(side == value).sum() for value in range(5)]) for side in sides]
    order = np.argsort(-(counts[0] + 0.5) / (counts[1] + 0.5))
    given = table(sides[0])
    found = list(events._unions_of("value", sides, levels))
    assert len(found) == 4
    for number, event in enumerate(found, start=1):
        expected = np.isin(sides[0], order[:number])
        np.testing.assert_array_equal(event.holds(given), expected)
        np.testing.assert_array_equal(_meant(event.words, given), expected)


def test_thresholds_are_equal_parts_and_rarer_ones_at_both_ends():
    found = events._ranks(np.array([0.001, 0.01, 0.6]))
    expected = [0.001, 0.01, *(np.arange(1, 32) / 32), 0.99, 0.999]
    assert found == pytest.approx(sorted(expected))
    values = np.random.default_rng(2).permutation(2000.0 * np.arange(1.0, 2001.0))
    (entry,) = events._cut((table(values[:900]), table(values[900:])))
    ranks = events._ranks(np.array([1.0, 3.0, 10.0, 30.0, 100.0]) / 2000)
    expected = np.unique(np.quantile(values, ranks, method="lower"))
    assert entry.levels.tolist() == expected.tolist()


@pytest.mark.parametrize("moved", [0.7, -0.7])
def test_each_event_is_turned_to_its_better_direction(moved):
    generator = np.random.default_rng(5)
    tables = table(generator.normal(size=500)), table(generator.normal(moved, 1.0, size=300))
    cuts = np.linspace(-2.0, 2.0, 9)
    every = [Event(f"{at}", lambda given, at=at: given.values <= at) for at in cuts]
    claim = Claim(0.2, 0.01)
    found = {one.event.words: one for one in events._ranked(every, tables, claim)}
    values = [one.evidence for one in events._ranked(every, tables, claim)]
    assert values == sorted(values, reverse=True)
    for at, event in zip(cuts, every, strict=True):
        ways = {}
        for turned in (event, event.complement()):
            x, y = (float(turned.holds(given).sum()) for given in tables)
            ways[turned.words, False] = claim.evidence(np.array(x), np.array(y), (500, 300))
            ways[turned.words, True] = claim.evidence(np.array(y), np.array(x), (300, 500))
        best = max(ways, key=lambda way: ways[way])
        one = found.get(f"{at}") or found[f"not ({at})"]
        assert one.evidence == pytest.approx(max(ways.values()))
        if max(ways.values()) > 0.0:
            assert (one.event.words, one.swapped) == best


@pytest.mark.parametrize("opposed", [False, True])
@pytest.mark.parametrize("rows", [10_000, 350])
def test_what_two_events_say_together_is_their_count(rows, opposed, monkeypatch):
    monkeypatch.setattr(events, "_ROWS", rows)
    generator = np.random.default_rng(7)
    sides = [generator.random((500, 2)) < p for p in (0.5, 0.6)]
    # On the first side the second entry is the first one, or its opposite, but for a tenth.
    sides[0][:, 1] = sides[0][:, 0] ^ (generator.random(500) < (0.9 if opposed else 0.1))
    for order in (1, -1):
        tables = tuple(table(side.astype(float)) for side in sides[::order])
        singles = [
            Event(f"{name} is 1", lambda given, place=place: given.values[:, place] == 1.0)
            for place, name in enumerate(NAMES)
        ]
        claim = Claim(0.1)
        chosen = events._ranked(singles, tables, claim)
        found = events._conjunctions(chosen, chosen, tables, claim)
        assert found
        seeds = {one.event.words: one for one in chosen}
        few = [given.rows(slice(rows)) for given in tables]
        for one in found:
            x, y = (float(one.event.holds(given).sum()) for given in few)
            n, m = map(len, few)
            if one.swapped:
                x, y, n, m = y, x, m, n
            assert one.evidence == pytest.approx(claim.evidence(np.array(x), np.array(y), (n, m)))
            seed = next(seeds[words] for words in seeds if one.event.words.startswith(words))
            assert one.evidence > seed.evidence
            assert one.swapped == seed.swapped
        values = [one.evidence for one in found]
        assert values == sorted(values, reverse=True)
        best = _best_together(tables, singles, claim)
        assert found[0].evidence == pytest.approx(best)


def _best_together(tables, singles, claim):
    """The most evidence of an event, or its complement, with another, in the seeds' directions."""
    few = [given.rows(slice(events._ROWS)) for given in tables]
    best = 0.0
    for seed in events._ranked(singles, tables, claim):
        for other in events._ranked(singles, tables, claim):
            for turned in (other.event, other.event.complement()):
                x, y = (float((seed.event.holds(one) & turned.holds(one)).sum()) for one in few)
                n, m = map(len, few)
                if seed.swapped:
                    x, y, n, m = y, x, m, n
                best = max(best, float(claim.evidence(np.array(x), np.array(y), (n, m))))
    return best


def test_what_is_remembered_is_of_the_table_that_is_asked_about():
    asked = []

    def compute(given):
        asked.append(given)
        return given.values * 2.0

    found, one, other = events._remembered(compute), table([1.0, 2.0]), table(np.array([5.0]))
    one = table(np.array([1.0, 2.0]))
    for given in (one, one, other, one):
        assert found(given).tolist() == (given.values * 2.0).tolist()
    assert asked == [one, other, one]


def test_so_many_columns_are_looked_at_and_as_many_of_low_bits():
    given = table(np.random.default_rng(0).normal(size=(5, 60))).with_bits()
    names = events._names((given, given))
    low = [name for name in names if name.startswith(events.LOWEST_BIT)]
    assert len(low) == 48
    assert low[0].endswith("some entry")
    assert names == [f"entry {place}" for place in range(48)] + low
    # Columns of either side.
    sides = (table([["a", 1.0]]), table([[2.0, 1.0]]))
    assert set(events._names(sides)) >= {"entry 0 is 'a'", "entry 0", "entry 1"}


def test_where_nothing_is_proposed_any_outcome_is_the_event():
    empty = table([])
    some = table([1.0])
    for learned_on in ((empty, empty), (some, empty), (empty, some)):
        (one,) = events.choose(learned_on, (some, table([2.0])), Claim(0.5))
        assert one.event.words in ("any outcome", "not (any outcome)")
        assert one.evidence == 0.0
    for aim in (Claim(0.5), LargestBound(0.5)):
        assert aim.evidence(np.array([3.0]), np.array([0.0]), (0, 5)).tolist() == [0.0]
        assert aim.evidence(np.array([3.0]), np.array([0.0]), (5, 0)).tolist() == [0.0]
        assert aim.evidence(np.zeros(0), np.zeros(0), (5, 5)).size == 0
    assert events._ANY.holds(table([1.0, 2.0])).tolist() == [True, True]


def test_bins_of_a_union_are_said_together():
    levels = np.array([0.0, 1.0, 2.0, 3.0])
    for inside, words in (
        ([1, 1, 0, 0, 0], "(-inf, 1]"),
        ([0, 1, 0, 1, 1], "(0, 1] or (2, inf]"),
        ([1, 0, 1, 0, 1], "(-inf, 0] or (1, 2] or (3, inf]"),
    ):
        assert events._intervals(levels, np.array(inside, bool)) == words
    many = np.arange(11) % 2 == 0
    assert events._intervals(np.arange(10.0), many).endswith("(5, 6] or 2 more")


def test_the_events_with_most_evidence_are_combined_first(monkeypatch):
    tables, claim, asked = (_mixed(1), _mixed(2)), Claim(0.05), []
    values = tables[1].values.copy()
    values[::3, 1] = 0.0
    tables = (tables[0], table(values))
    plain = events._conjunctions

    def noted(seeds, others, *given):
        asked.append(([one.evidence for one in seeds], [one.evidence for one in others]))
        return plain(seeds, others, *given)

    monkeypatch.setattr(events, "_conjunctions", noted)
    found = events.learn(tables, claim)
    (seeds, singles), (joint, others) = asked
    assert seeds == singles == others == sorted(singles, reverse=True)
    assert singles[0] > 0.0
    assert joint == sorted(joint, reverse=True)
    assert len(joint) <= 15
    assert len(found) >= len(singles) + len(joint)
    asked.clear()
    quick = events.learn(tables, claim, quickly=True)
    assert (asked, len(quick)) == ([], len(singles))


def test_a_regression_of_few_steps_is_not_at_its_end():
    given = _given(200)
    side = (np.arange(200) % 3 == 0).astype(float)
    features = _Features.fitted(NAMES, given)
    one, many = (features.regression(given, side, steps) for steps in (1, 500))
    assert np.abs(one - many).max() > 0.1
