"""Cells, plans, subjects, requests and data sets of a sweep, each by numbers worked out by hand."""

import hashlib
import json
import math
from types import SimpleNamespace
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import beta

import jaxsel
from jaxsel import repetitions
from jaxsel.auditing.audit import audit_tallies
from jaxsel.host.errors import MOST_TRIALS, InputError
from jaxsel.kernel import statistics
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import positive, whole
from jaxsel.language.signature import Named, over, read_signature
from jaxsel.shards import Shard
from jaxsel.sweeps import dataset, facts, tallying
from jaxsel.sweeps.cells import make_cell, own_item, pair_items
from jaxsel.sweeps.files import State
from jaxsel.sweeps.functions import cells, load, own_mechanism
from jaxsel.sweeps.measures import estimates, find_measures, known_measures
from jaxsel.sweeps.planning import make_plan, planned
from jaxsel.sweeps.request import SweepRequest, read_toml
from jaxsel.sweeps.sharing import check_parts, facts_of
from jaxsel.sweeps.swept_subject import find_subject
from jaxsel.sweeps.tallying import Kept


def _plan(subject, settings, names=(), trials=10, **options):
    zipped = options.pop("zipped", ())
    return make_plan(subject, settings, names, zipped, options={"trials": trials, **options})


# --- Cells ------------------------------------------------------------------------------


def test_the_key_of_a_cell_is_its_settings_however_they_are_said():
    subject = find_subject("noisy_max")
    cell = make_cell(subject, {"epsilon": 2, "seed": 9}, 4)
    name, words = json.loads(cell.settings_key)
    assert name == "noisy_max"
    assert (words["epsilon"], words["scores"]) == (2.0, [2.0, 1.0, 0.0])
    assert list(words) == sorted(words)
    assert "seed" not in words
    assert cell.seed == 9
    assert cell.key == f"{cell.settings_key} seed 9"
    assert make_cell(subject, {"epsilon": 2.0}, 4).seed == 4
    turned = make_cell(subject, {"scores": "2,1,0", "epsilon": 2.0, "relation": "general"}, 0)
    assert turned.settings_key == cell.settings_key
    tuned = find_subject("private_tuning")
    law = make_cell(tuned, {"repetitions": "poisson", "mean": 3}, 0)
    assert law.settings_key == make_cell(tuned, {"repetitions": "poisson:mean=3"}, 0).settings_key
    # Text of a setting that is neither a law nor a number is kept as it was given.
    account = make_cell(find_subject("account"), {"base": "gaussian", "noise_multiplier": 2}, 0)
    assert json.loads(account.settings_key)[1]["base"] == "gaussian:noise_multiplier=2"
    assert account.built is None


def _numbered(text):
    """The number of a stream: the first four bytes of SHA-256 of the item's key."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def _toss(chance: float = over(0.25, 0.5), weight: float = 2.0):
    return jaxsel.Trial(COIN, (), np.float64(chance * weight / 2.0), statistic=TOTAL)


def test_a_cell_of_ones_own_function_is_at_its_name_and_settings_and_seed():
    """As in 0.2.0, so that the same seeds count the same."""
    items = [own_item(cell, 20) for cell in _plan(_toss, {}, seed=3).cells]
    keys = [
        f'own ["_toss", {{"chance": {chance}, "weight": 2.0}}] seed 3' for chance in (0.25, 0.5)
    ]
    assert [item.key for item in items] == keys
    assert [item.number for item in items] == list(map(_numbered, keys))
    assert [(item.seed, item.first, item.last) for item in items] == [(3, 0, 20)] * 2
    assert items[0].statistic is TOTAL
    known = own_item(make_cell(find_subject("noisy_max"), {}, 5), 20)
    assert known.key == (
        'own ["noisy_max", {"method": "literal", "noise": "gumbel", "precision": "tail", '
        '"relation": "general", "scores": [2.0, 1.0, 0.0]}] seed 5'
    )
    assert known[4:] == (5, 0, 20, None)


def test_an_address_of_0_2_0_is_left_aside_with_a_warning():
    with pytest.warns(FutureWarning, match="a cell's random numbers follow from the function's"):
        declare = cells(address=lambda place: (100, 7))

    @declare
    def toss(chance: float = over(0.25, 0.5)):
        return jaxsel.Trial(COIN, (), np.float64(chance), statistic=TOTAL)

    items = [own_item(cell, 20) for cell in _plan(toss, {}, seed=3).cells]
    name = toss.__qualname__
    keys = [f'own ["{name}", {{"chance": {chance}}}] seed 3' for chance in (0.25, 0.5)]
    assert [(item.key, item.number, item.seed) for item in items] == [
        (key, _numbered(key), 3) for key in keys
    ]


def test_a_pair_has_half_of_the_trials_to_choose_by_and_the_rest_for_its_bound():
    cell = make_cell(find_subject("noisy_max"), {}, 6)
    pairs = pair_items(cell, 7)
    assert [each.pair.name for each in pairs] == [pair.name for pair in cell.built.pairs()]
    for each in pairs:
        assert [(i.first, i.last, i.seed) for i in each.selection] == [(0, 3, 6)] * 2
        assert [(i.first, i.last, i.seed) for i in each.used] == [(3, 7, 6)] * 2
        for sides in (each.selection, each.used):
            np.testing.assert_array_equal(sides[0].data, each.pair.data)
            np.testing.assert_array_equal(sides[1].data, each.pair.neighbour)
            assert sides[0].key == f"{each.pair.name} data {cell.key}"
            assert sides[1].key == f"{each.pair.name} neighbour {cell.key}"
            assert sides[0].params is each.pair.params
    # Each with the counts of its own range and side.
    counts = {"used": ([1, 2, 1], [0, 0, 4]), "selection": ([3, 0, 0], [0, 3, 0])}
    store = {
        (item.key, item.first): Kept(item.last, "", np.array(row))
        for part, rows in counts.items()
        for item, row in zip(getattr(pairs[0], part), rows, strict=True)
    }
    found = pairs[0].tallies(store)
    assert {part: tuple(row.tolist() for row in rows) for part, rows in found.items()} == counts


# --- Estimates and their intervals ------------------------------------------------------


def test_what_all_events_are_worth_is_known_without_an_interval():
    built = SimpleNamespace(utility=lambda: {"quantile": np.array([0.5, 0.5])})
    found = estimates(built, np.array([3, 5]), np.array([0.2, 0.8]), 0.9)
    assert found["quantile"] == (0.5, 0.5, 0.5, 0.5)
    tied = jaxsel.sweep("noisy_max", {"scores": ["0,0", "1,1"]}, trials=100)
    assert tied["quantile"].values.tolist() == [0.5, 0.5]


def test_estimates_are_means_of_what_events_are_worth():
    worth = {"success": np.array([0.0, 1.0, 0.0]), "regret": np.array([0.5, 0.0, 3.0])}
    built = SimpleNamespace(utility=lambda: worth)
    counts, law = np.array([3, 5, 2]), np.array([0.2, 0.5, 0.3])
    found = estimates(built, counts, law, 0.9)
    # Clopper and Pearson 1934, of five successes of ten.
    ends = (beta.ppf(0.05, 5, 6), beta.ppf(0.95, 6, 5))
    assert found["success"] == pytest.approx((0.5, *ends, 0.5))
    value, low, high, exact = found["regret"]
    assert value == pytest.approx((3 * 0.5 + 2 * 3.0) / 10)
    assert exact == pytest.approx(0.2 * 0.5 + 0.3 * 3.0)
    # Maurer and Pontil 2009, Theorem 4, of ten values in [0, 3], for each of two ends.
    sample = np.array([0.5] * 3 + [0.0] * 5 + [3.0] * 2)
    log = math.log(2.0 / 0.05)
    width = math.sqrt(2.0 * sample.var(ddof=1) * log / 10) + 7.0 * 3.0 * log / (3.0 * 9)
    assert (low, high) == pytest.approx((max(value - width, 0.0), min(value + width, 3.0)))
    assert math.isnan(estimates(built, counts, None, 0.9)["regret"].exact)


def test_measures_that_apply_are_offered():
    noisy, account = find_subject("noisy_max"), find_subject("account")
    tuned = find_subject("private_tuning")
    names = {
        subject.name: list(known_measures(subject, make_cell(subject, {}, 0)))
        for subject in (noisy, account, tuned)
    }
    privacy = ["epsilon_bound", "epsilon_bounds", "audited", "exact_epsilon"]
    runs = ["mean_runs", "no_release", "expected_quantile"]
    assert names["noisy_max"][:2] == ["counts", "frequency"]
    assert names["noisy_max"][-4:] == privacy
    assert names["private_tuning"][-7:] == privacy + runs
    assert names["account"] == [*privacy[:2], "attained", "epsilon_single", *runs]

    def summed(chance: float = 0.5):
        return jaxsel.Trial(COIN, (), np.float64(chance), statistic=TOTAL)

    subject = find_subject(summed)
    cell = make_cell(subject, {}, 0)
    assert list(known_measures(subject, cell)) == ["tallies", *privacy[:2]]
    with pytest.raises(InputError, match=r"no measure 'tally'; did you mean tallies.*it has: tal"):
        find_measures(("tally",), subject, cell)
    # One that is named twice is there once.
    twice = find_measures(("audited", "counts", "audited"), noisy, make_cell(noisy, {}, 0))
    assert [measure.name for measure in twice] == ["audited", "counts"]


# --- Data sets --------------------------------------------------------------------------


def _draw(key, data, params):
    return jnp.where(jax.random.uniform(key.jax(), dtype=float) < params, 1, 0)


COIN = own_mechanism(_draw, ["tails", "heads"], lambda data, params: [1 - params, params])
TOTAL = statistics.sums(lambda outcome: outcome)


def test_what_is_not_in_a_row_is_0_of_counts_and_missing_of_numbers():
    names, table = dataset._spread([{"a": np.int64(1)}, {"b": np.int64(2), "a": np.int64(3)}])
    assert names == ["a", "b"]
    assert table.tolist() == [[1, 0], [3, 2]]
    assert table.dtype == np.int64
    names, table = dataset._spread([{"b": 1.5}, {"a": np.int64(2)}])
    assert names == ["b", "a"]
    np.testing.assert_array_equal(table, [[1.5, np.nan], [np.nan, 2.0]])


def test_an_audit_holds_over_all_pairs_of_a_cell():
    found = jaxsel.sweep("noisy_max", {"seed": 3}, measures=["audited"], trials=4001)
    plan = _plan("noisy_max", {"seed": 3}, ("audited",), trials=4001)
    store: dict = {}
    tallying.tally(plan.items, store, lambda: None, progress=False)
    (cell,) = plan.cells
    lower = [
        audit_tallies(
            cell.built, each.pair, **each.tallies(store), delta=0.0, seed=3,
            confidence=1.0 - 0.05 / 3,
        ).bound.lower
        for each in pair_items(cell, 4001)
    ]  # fmt: skip
    assert len(lower) == 3
    assert len(set(lower)) > 1
    assert float(found["audited"]) == pytest.approx(max(lower), rel=1e-12)


def test_variables_say_what_they_are():
    found = jaxsel.sweep(
        "noisy_max",
        {"epsilon": [1, 2], "noise": "gumbel"},
        measures=["success", "counts", "audited", "epsilon_bound", "exact_epsilon"],
        trials=100,
        seed=2**63,
        delta=0.125,
        confidence=0.9,
    )
    low = found["success_low"].attrs
    assert low["long_name"] == "probability of success: lower end of the interval"
    assert found["success_high"].attrs["long_name"].endswith(": upper end of the interval")
    assert found["success_exact"].attrs["long_name"].endswith(": exact value")
    assert found["epsilon_bound_theorem"].attrs["long_name"] == "proven epsilon: theorem"
    assert (low["kind"], low["units"], low["confidence"]) == ("estimate", "1", 0.9)
    with_confidence = {n for n in found.data_vars if "confidence" in found[n].attrs}
    assert with_confidence == {"success_low", "success_high", "audited"}
    assert {n for n in found.data_vars if found[n].attrs.get("quantity") == "epsilon"} == {
        "audited", "epsilon_bound", "epsilon_bound_theorem", "exact_epsilon",
    }  # fmt: skip
    missing = {n: found[n].attrs["missing"] for n in found.data_vars if "missing" in found[n].attrs}
    assert missing == {
        "success": "does not apply",
        "success_low": "does not apply",
        "success_high": "does not apply",
        "success_exact": "not known",
        "audited": "does not apply",
        "epsilon_bound": "none proven",
        "exact_epsilon": "not known",
    }
    assert {n: found[n].attrs["kind"] for n in ("audited", "epsilon_bound", "exact_epsilon")} == {
        "audited": "lower bound", "epsilon_bound": "upper bound", "exact_epsilon": "exact",
    }  # fmt: skip
    assert found["counts"].attrs["units"] == "trials"
    whole = dict(found.attrs)
    assert whole.pop("versions")
    assert whole == {
        "title": "jaxsel sweep of noisy_max",
        "mechanism": "noisy_max",
        "measures": '["success", "counts", "audited", "epsilon_bound", "exact_epsilon"]',
        "settings": '{"noise": "gumbel"}',
        "confidence": 0.9,
        "intervals": "each by itself at this confidence",
        "trials": 100,
        "seed": str(2**63),
        "delta": 0.125,
    }
    assert found["epsilon"].attrs["long_name"] == "epsilon"
    counted = jaxsel.sweep("noisy_max", {"seed": [1, 2]}, measures=["counts"], trials=10)
    assert not {"seed", "intervals"} & set(counted.attrs)
    proven = jaxsel.sweep("account", {"mean": [2, 3]}, measures=["mean_runs"])
    assert not {"trials", "seed", "delta", "intervals"} & set(proven.attrs)
    assert proven["mean_runs"].values.tolist() == pytest.approx([2.0, 3.0])


def test_what_stands_beside_a_cell_and_its_sums_are_arrays_of_it():
    def summed(chance: float = over(0.25, 0.5), size: int = 2):
        beside = {"wide": np.full((size, 3), chance), "one": 10 * chance}
        return jaxsel.Trial(COIN, (), np.float64(chance), statistic=TOTAL, beside=beside)

    found = jaxsel.sweep(summed, trials=1000, measures=["tallies"])
    assert found["wide"].dims == ("chance", "wide_0", "wide_1")
    assert found["wide"].values[1].tolist() == [[0.5] * 3] * 2
    assert found["one"].values.tolist() == [2.5, 5.0]
    (name,) = set(map(str, found.data_vars)) - {"wide", "one"}
    again = jaxsel.sweep(
        lambda chance=over(0.25, 0.5): jaxsel.Trial(COIN, (), np.float64(chance)),
        trials=1000, measures=["frequency"],
    )  # fmt: skip
    assert found[name].dims[0] == "chance"
    # Heads, counted and summed: each of other random streams, in ranges of 1e-6 (Hoeffding).
    tolerance = math.sqrt(math.log(4 * 2 / 1e-6) / 2 / 1000)
    heads = found[name].values.reshape(2) / 1000
    assert heads == pytest.approx([0.25, 0.5], abs=tolerance)
    assert again.frequency.sel(outcome="heads").values == pytest.approx([0.25, 0.5], abs=tolerance)
    with pytest.raises(InputError, match="wide has another shape in another cell"):
        jaxsel.sweep(summed, {"size": [2, 3]}, trials=10, measures=["tallies"])


# --- Facts ------------------------------------------------------------------------------


def test_the_law_of_runs_is_told_where_there_is_one():
    plain = make_cell(find_subject("noisy_max"), {}, 0)
    assert facts.law_of(plain) is None
    assert facts.find_fact("runs", plain, 0.0) == {}
    tuned = make_cell(find_subject("private_tuning"), {"repetitions": "poisson:mean=3"}, 0)
    found = facts.find_fact("runs", tuned, 0.0)
    law = repetitions.parse("poisson:mean=3")
    assert found["mean_runs"] == pytest.approx(3.0)
    assert found["no_release"] == pytest.approx(math.exp(-3.0))
    assert found["expected_quantile"] == pytest.approx(repetitions.expected_quantile(law))
    assert facts.fact_key("runs", tuned, 0.5) == json.dumps(["runs", tuned.settings_key, 0.5])


def test_every_theorem_that_proves_an_epsilon_is_told():
    words = {"base": "pure:epsilon=1", "repetitions": "geometric:mean=3", "delta": 1e-6}
    cell = make_cell(find_subject("account"), words, 0)
    found = facts.find_fact("bounds", cell, 0.0)
    account = jaxsel.account(*words.values())
    assert found == {bound.theorem: bound.epsilon for bound in account.bounds}
    assert len(found) == len(account.bounds) > 1


def test_the_exact_epsilon_is_the_largest_of_all_pairs_at_a_delta():
    """Randomised response: delta = max(0, p - e^eps q), so eps = log((p - delta)/q)."""

    def answers(truth: float = 0.75):
        pairs = tuple(
            Pair(name, chance, 1.0 - chance, Relation.GENERAL, chance, "")
            for name, chance in (("weak", 0.6), ("strong", truth), ("weaker", 0.55))
        )
        return jaxsel.Trial(TOLD, 0.6, 0.0, pairs)

    cell = make_cell(find_subject(answers), {}, 0)
    for delta in (0.0, 0.1):
        found = facts.find_fact("exact", cell, delta)["exact_epsilon"]
        assert found == pytest.approx(math.log((0.75 - delta) / 0.25))


TOLD = own_mechanism(_draw, ["no", "yes"], lambda data, params: [1 - data, data])


# --- Plans ------------------------------------------------------------------------------


def test_options_are_taken_to_their_ends_and_no_further():
    plan = _plan("noisy_max", {}, ("counts",), trials=2)
    assert plan.options == (2, 0, 0.0, 0.95, False)
    assert _plan("noisy_max", {}, ("counts",), trials=MOST_TRIALS).options.trials == MOST_TRIALS
    for wrong in ({"trials": 1}, {"trials": MOST_TRIALS + 1}, {"seed": -1}, {"delta": 1.0},
                  {"delta": -1e-9}, {"confidence": 0.0}, {"confidence": 1.0}):  # fmt: skip
        with pytest.raises(InputError, match=next(iter(wrong))):
            _plan("noisy_max", {}, ("counts",), **wrong)
    assert _plan("noisy_max", {}, ("counts",), confidence="joint=0.9").options[3:] == (0.9, True)


def test_a_plan_says_what_was_asked_so_that_it_can_be_made_again():
    settings = {"epsilon": [1, 2], "scores": ["1,0", "2,0"], "noise": "gumbel"}
    plan = _plan("noisy_max", settings, ("counts",), zipped=[("epsilon", "scores")], seed=5)
    asked = json.loads(json.dumps(plan.asked()))
    assert asked == {
        "subject": "noisy_max",
        "settings": {"noise": ["gumbel"], "epsilon": [1, 2], "scores": ["1,0", "2,0"]},
        "measures": ["counts"],
        "zipped": [["epsilon", "scores"]],
        "trials": 10, "seed": 5, "delta": 0.0, "confidence": 0.95, "joint": False,
    }  # fmt: skip
    again = planned(asked)
    assert [cell.key for cell in again.cells] == [cell.key for cell in plan.cells]
    assert again.grid.axes[0].names == ("epsilon", "scores")


def test_trials_and_facts_are_those_that_the_measures_need():
    def items(*names):
        plan = _plan("noisy_max", {"epsilon": [1, 2]}, names)
        return len(plan.items), [fact for fact, _ in plan.facts.values()]

    assert items("counts", "success") == (2, [])
    assert items("audited") == (2 * 3 * 4, [])
    assert items("audited", "counts") == (2 + 2 * 3 * 4, [])
    assert items("epsilon_bound", "epsilon_bounds") == (0, ["bounds"] * 2)
    assert items("epsilon_bound", "exact_epsilon") == (0, ["bounds"] * 2 + ["exact"] * 2)
    default = [measure.name for measure in _plan("noisy_max", {}).measures]
    assert default[-1] == "epsilon_bound"
    assert "success" in default
    assert not {"counts", "frequency", "audited"} & set(default)

    def toss(chance: float = 0.5):
        return jaxsel.Trial(COIN, (), np.float64(chance))

    assert [measure.name for measure in _plan(toss, {}).measures] == ["frequency"]


# --- Requests ---------------------------------------------------------------------------


def test_a_request_passes_on_what_was_given_and_nothing_else():
    assert SweepRequest("it", {}).options() == {}
    given = SweepRequest("it", {}, ["a"], [["b", "c"]], 0.0, 0, 0.0, 0.5, "it.nc", axes="x=b")
    assert given.options() == {"trials": 0.0, "seed": 0, "delta": 0.0, "confidence": 0.5}
    assert given.picture_axes() == {"x": "b"}


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("seed = true", "int"),
        ("seed = 1.5", "int"),
        ("trials = false", "int"),
        ("settings = 1", "dict"),
        ('measures = "success"', "list"),
        ('zip = "a,b"', "list"),
        ("delta = '0'", "int"),
        ("confidence = [0.5]", "int"),
        ("record = 1", "str"),
        ("table = true", "list"),
    ],
)
def test_a_key_of_a_file_has_its_type(tmp_path, line, kind):
    path = tmp_path / "it.toml"
    path.write_text(f'sweep = "noisy_max"\n{line}\n')
    with pytest.raises(InputError, match=rf"it\.toml: .* it must be of type {kind}$"):
        read_toml(path)


def test_a_file_is_read_whole(tmp_path):
    path = tmp_path / "it.toml"
    path.write_text('sweep = "noisy_max"\ntrials = 5\ndelta = 0\n[axes]\nx = "epsilon"\n')
    assert read_toml(path) == SweepRequest(
        "noisy_max", {}, trials=5, delta=0, axes={"x": "epsilon"}
    )


# --- Shards -----------------------------------------------------------------------------


def test_facts_go_round_the_shards():
    assert facts_of("abcdefg", Shard(1, 3)) == {"b", "e"}
    assert facts_of("abcdefg", Shard(0, 3)) == {"a", "d", "g"}


def test_parts_of_other_requests_counts_or_code_are_not_of_one_sweep():
    def part(index, count=2, asked=None, code="c"):
        return State("it", code, {}, {}, asked or {}, Shard(index, count), f"{index}.nc")

    check_parts([part(0), part(1)])
    for other, words in (
        (part(1, asked={"seed": 2}), "1.nc is a shard of another sweep than 0.nc"),
        (part(1, count=3), "1.nc is a shard of another sweep than 0.nc"),
        (part(1, code="d"), "1.nc was made by other code than 0.nc"),
        (part(1)._replace(shard=None), "1.nc holds a whole sweep, and no shard of one"),
    ):
        with pytest.raises(InputError, match=words):
            check_parts([part(0), other])


# --- Signatures and subjects ------------------------------------------------------------


def test_axes_of_numbers_and_of_objects():
    assert over(1, 2).values == (1, 2)
    assert over({"a": 1, "b": 2}).values == {"a": 1, "b": 2}
    # Several mappings are values like others.
    assert over({"a": 1}, {"b": 2}).values == ({"a": 1}, {"b": 2})
    for wrong in ({1: 2}, {"": 2}):
        with pytest.raises(InputError, match="names each with a word"):
            over(wrong)
    for nothing in ((), ({},)):
        with pytest.raises(InputError, match="at least one"):
            over(*nothing)
    thing = object()
    domain = Named("", None, options={"a": thing, "b": 3.0})
    assert domain.describe() == "one of: a, b"
    assert domain.read("it", "a") is thing
    assert domain.read("it", thing) is thing
    with pytest.raises(InputError, match="it must be one of: a, b"):
        domain.read("it", object())


def test_a_parameter_without_a_word_has_the_domain_of_its_default():
    def cell(
        a=over(0.5, 1.0), b=3, c="word", d: float = 1, e: int = over(2), f=over({"x": 1}), trials=9
    ):
        return a, b, c, d, e, f, trials

    read = read_signature(cell, without=("trials",))
    assert {name: type(domain).__name__ for name, domain in read.settings.items()} == {
        "a": "Number", "b": "Whole", "c": "Parsed", "d": "Number", "e": "Whole", "f": "Named",
    }  # fmt: skip
    assert read.axes == {"a": [0.5, 1.0], "e": [2], "f": ["x"]}
    assert [domain.default for domain in read.settings.values()] == [None, 3, "word", 1, None, None]
    values = {"a": 1, "b": 2, "c": "z", "d": 4, "e": 5, "f": 6, "other": 7}
    assert read.call(values, trials=8) == (1, 2, "z", 4, 5, 6, 8)
    with pytest.raises(InputError, match="nothing says what values a of cell takes"):
        read_signature(_without_a_domain)


def _without_a_domain(a, cell=1):
    return a


_without_a_domain.__qualname__ = "cell"


def test_a_declared_domain_is_kept_with_the_default():
    def cell(a: Annotated[float, positive("how far")] = 2.0, b: Annotated[int, whole()] = 1):
        return a, b

    found = read_signature(cell).settings["a"]
    assert (found.help, found.default) == ("how far", 2.0)
    with pytest.raises(InputError, match="a is -1"):
        found.read("a", -1)


def test_parameters_of_a_law_are_added_to_its_text():
    subject = find_subject("private_tuning")
    point = {"repetitions": "tnb:eta=0.5", "mean": 3, "epsilon": 1.0, "seed": 4}
    assert subject.given(point) == {"repetitions": "tnb:eta=0.5,mean=3", "epsilon": 1.0}
    # The law by default has other parameters, which do not go on.
    assert subject.given({"repetitions.mean": 4})["repetitions"].endswith(":mean=4")
    assert subject.given({"repetitions.mean": 4})["repetitions"].count("=") == 1
    account = find_subject("account")
    found = account.given({"base": "gaussian", "noise_multiplier": 2, "mean": 5})
    assert found == {"base": "gaussian:noise_multiplier=2", "repetitions": "geometric:mean=5"}


def test_settings_of_a_function_are_axes_in_the_order_of_its_parameters():
    def toss(chance: float = over(0.25, 0.5), times: int = over(1, 2), other: float = 1.0):
        return jaxsel.Trial(COIN, (), np.float64(chance))

    names = [axis.names for axis in find_subject(toss).grid({"times": [3, 4]}).axes]
    assert names == [("chance",), ("times",)]
    catalogued = find_subject("noisy_max").grid({"noise": "gumbel,laplace", "epsilon": [1, 2]})
    assert [axis.names for axis in catalogued.axes] == [("noise",), ("epsilon",)]
    # Axes that are given one value: those of a declared function stay.
    assert find_subject(toss).grid({"times": 3}).shape == (2,)
    assert find_subject(cells()(toss)).grid({"times": 3}).shape == (2, 1)


def test_what_was_built_is_swept_by_its_own_settings():
    built = jaxsel.mechanism("noisy_max", epsilon=3.0)
    subject = find_subject(built)
    assert (subject.name, subject.place) == ("noisy_max", "")
    assert subject.settings["epsilon"].default == 3.0
    assert find_subject("noisy_max").place == "noisy_max"
    assert find_subject("account").place == "account"
    ends = find_subject("noisy_max").domain("seed")
    assert ends.read("seed", 2**63 + 1) == 2**63 + 1
    for wrong in (-1, 2**64):
        with pytest.raises(InputError, match="seed"):
            ends.read("seed", wrong)


def test_a_function_of_a_package_may_import_its_neighbours(tmp_path):
    folder = tmp_path / "swept_package_of_a_test" / "inner"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "beside.py").write_text("NUMBER = 5\n")
    (folder / "it.py").write_text(
        "from .beside import NUMBER\n\n\ndef cell(a: float = 1.0):\n    return NUMBER\n"
    )
    found = load(f"{folder / 'it.py'}:cell")
    assert found() == 5
    assert found.__module__ == "swept_package_of_a_test.inner.it"
    with pytest.raises(InputError, match=r"has no function 'other'; it has: cell$"):
        load(f"{folder / 'it.py'}:other")


def test_a_mechanism_of_ones_own_has_an_event_and_its_law_is_checked():
    with pytest.raises(InputError, match="at least one event"):
        own_mechanism(_draw, [])
    assert own_mechanism(_draw, ["tails", "heads"], resolution=0.5) is own_mechanism(
        _draw, iter(["tails", "heads"]), resolution=0.5
    )
    unknown = own_mechanism(_draw, [1, 2])
    assert unknown.law is None
    assert unknown.labels(None, None) == ("1", "2")
    assert unknown.resolution == 2.0**-52
    assert COIN.law((), 0.25).probabilities.tolist() == [0.75, 0.25]
