"""The ledger: relations, releases made elsewhere, searches chosen on the way, its file."""

import json
import math
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import jaxsel
from jaxsel.cli.main import main
from jaxsel.host.errors import InputError
from jaxsel.search import ledger
from jaxsel.search.guarantee import as_text
from tests.search.asked import asked

REPLACE, ADD = "replace_one", "add_or_remove_one"
DELTA = 1e-6


def _entry(name, *roles, relation=REPLACE, **more):
    parts = tuple(({"base": role},) for role in roles)
    return ledger.Entry(name, "2026-11-26", parts, relation, **more)


def _enter(path, entry, epsilon=math.inf, delta=DELTA, chosen=None):
    return ledger.enter(path, "wards", entry, epsilon, delta, chosen)


def _search(base="pure:epsilon=0.5", **given):
    options = {"repetitions": "point_mass:count=1", "score": jaxsel.scores.public()}
    return jaxsel.PrivateSearch([1, 2], base=base, **asked(**options | given))


def _old(path, *bases):
    """A ledger as version 0.2.0 wrote it."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    entries = [
        {"search": f"old{n}", "date": "2026-11-20", "roles": [[{"base": base, "times": 1}]]}
        for n, base in enumerate(bases)
    ]
    document = {"form": "jaxsel ledger 1", "data": "wards", "entries": entries}
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "own" / "ledger"


# --- Relations ------------------------------------------------------------------------------


def test_searches_of_unlike_relations_do_not_add_up(path):
    _search(relation=ADD, ledger=path, data="wards")
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"by {ADD} and search .* by {REPLACE}; they do not"):
        _search(relation=REPLACE, ledger=path, data="wards")
    with pytest.raises(InputError, match="say relation= of it"):
        _search(ledger=path, data="wards")
    assert path.read_bytes() == before
    assert _search(relation=ADD, ledger=path, data="wards").guarantee.total == pytest.approx(
        1.0, rel=1e-3
    )


def test_every_sentence_names_its_relation(path):
    words = "one record is replaced by another"
    one = _search(relation=REPLACE, ledger=path, data="wards").guarantee
    assert f"Neighbours: {words}." in one.sentences()
    assert f"Neighbours of all of them: {words}." in one.sentences()
    assert one.as_record()["relation"] == one.relation == REPLACE
    base = jaxsel.guarantee_of("pure:epsilon=0.5", REPLACE)
    for cost in (
        jaxsel.account(base, "point_mass:count=1"),
        jaxsel.compose([jaxsel.release(base)]),
        jaxsel.account_grid(base, 2),
    ):
        assert f"Neighbours: {words}." in " ".join(cost.sentences()), type(cost)
    unsaid = "those that the sensitivity of the base is meant for"
    assert unsaid in " ".join(_search().guarantee.sentences())


def test_an_entry_of_0_2_0_adds_up_once_its_relation_is_stated(path):
    _old(path, "gaussian:noise_multiplier=4.0")
    known = ledger.read(path, "wards")
    assert (known.entries[0].relation, known.chosen) == (None, "beforehand")
    assert (
        "not stated, so that no other search can be added" in known.together(DELTA).sentences()[-1]
    )
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"jaxsel ledger .* --relation old0=RELATION"):
        _enter(path, _entry("new", "pure:epsilon=0.1"))
    assert path.read_bytes() == before
    ledger.state_relation(path, "old0", REPLACE)
    total = _enter(path, _entry("new", "pure:epsilon=0.1"))
    parts = [jaxsel.release("gaussian:noise_multiplier=4.0"), jaxsel.release("pure:epsilon=0.1")]
    assert total.epsilon == pytest.approx(jaxsel.compose(parts, DELTA).epsilon)
    for wrong, match in (("nobody", "no search 'nobody'"), ("old0", "stays as it was stated")):
        with pytest.raises(InputError, match=match):
            ledger.state_relation(path, wrong, ADD)
    with pytest.raises(InputError, match="must be one of"):
        ledger.state_relation(path, "old0", "neighbours")
    with pytest.raises(InputError, match="give a relation, one of"):
        ledger.state_relation(path, "old0", None)
    ledger.state_relation(path, "old0", REPLACE)  # as it was stated
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_entries_of_0_2_0_have_no_total(path):
    _old(path, "pure:epsilon=0.1", "pure:epsilon=0.1")
    with pytest.raises(InputError, match=r"of search old0 .* adds up with no other"):
        ledger.read(path).together(DELTA)


def test_dp_sgd_says_its_relation_itself(path):
    base = "dp_sgd:sampling_probability=0.01,noise_multiplier=4.0,steps=10"
    assert ledger.read(_old(path, base)).entries[0].relation == ADD


def test_a_base_that_says_its_relation_is_entered_with_no_other(path):
    base = "dp_sgd:sampling_probability=0.01,noise_multiplier=4.0,steps=10"
    with pytest.raises(InputError):
        ledger._roles(_entry("a", base, relation=REPLACE))


def test_going_on_with_a_search_of_0_2_0_keeps_what_was_stated(path):
    _old(path, "pure:epsilon=0.5")
    ledger.state_relation(path, "old0", REPLACE)
    _enter(path, _entry("old0", "pure:epsilon=0.5", relation=None))
    (entry,) = ledger.read(path).entries
    assert (entry.relation, entry.date) == (REPLACE, "2026-11-20")


def test_a_relation_that_would_not_add_up_is_not_stated(path):
    """It would stay as it was stated, and the ledger would never add up again."""
    _old(path, "pure:epsilon=0.1", "pure:epsilon=0.1", "pure:epsilon=0.1")
    ledger.state_relation(path, "old0", REPLACE)
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"by {REPLACE}, and would not add up with old1 by {ADD}"):
        ledger.state_relation(path, "old1", ADD)
    assert path.read_bytes() == before
    for name in ("old1", "old2"):
        ledger.state_relation(path, name, REPLACE)
    assert ledger.read(path).total(0.0) == pytest.approx(0.3)


def test_of_a_search_that_is_entered_again_otherwise_the_costlier_counts(path):
    """What it was said to release stays: the second entry may be of another base."""
    cost = _enter(path, _entry("a", "pure:epsilon=0.7")).epsilon
    assert _enter(path, _entry("a", "pure:epsilon=0.5"), epsilon=0.75).epsilon == cost
    assert _enter(path, _entry("a", "pure:epsilon=0.7"), epsilon=0.1).epsilon == cost
    before = path.read_bytes()
    with pytest.raises(InputError, match="with this search, wards would be"):
        _enter(path, _entry("a", "pure:epsilon=0.9"), epsilon=0.75)
    assert path.read_bytes() == before
    assert _enter(path, _entry("a", "pure:epsilon=0.9")).epsilon > cost + 0.19
    (entry,) = ledger.read(path).entries
    assert [part["base"] for (part,) in entry.roles] == [f"pure:epsilon=0.{n}" for n in (7, 5, 9)]


# --- What is kept of a search -----------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"scored": "training", "score": jaxsel.scores.count(noise=8)},
        {
            "scored": "training",
            "score": jaxsel.scores.count(noise=8),
            "stopping": "own trajectory",
            "looks": 2,
        },
        {"scored": "validation", "score": jaxsel.scores.count(noise=8), "refit": True},
        {
            "base": jaxsel.dominating(["pure:epsilon=0.5", "gaussian:noise_multiplier=4"]),
            "scored": "training",
            "score": jaxsel.scores.count(noise=8),
        },
        {
            "repetitions": None,
            "drawn": "adaptively:n=3",
            "scored": "validation",
            "score": jaxsel.scores.count(noise=8),
        },
        {
            "base": None,
            "relation": REPLACE,
            "repetitions": "geometric:mean=3",
            "score": jaxsel.scores.count(noise=8),
        },
    ],
    ids=["joint", "looks", "refit", "mixed", "adaptive", "untrained"],
)
def test_the_total_of_one_search_is_its_own_guarantee(path, given):
    found = _search(ledger=path, data="wards", **given).guarantee
    assert found.total == pytest.approx(found.epsilon, rel=1e-9)
    # So it is in another process, which knows nothing but the file.
    ledger._read_roles.cache_clear()
    ledger._read_part.cache_clear()
    assert ledger.read(path).total(found.delta) == pytest.approx(found.epsilon, rel=1e-9)


def test_a_base_without_a_text_loses_nothing():
    import dp_accounting

    event = jaxsel.guarantee_of(dp_accounting.GaussianDpEvent(3.0))
    kept = jaxsel.guarantee_of(as_text(event))
    for level in (0.013, 0.5, 1.71, 4.0):
        assert kept.delta(level) == pytest.approx(event.delta(level), rel=1e-6)


def test_a_text_that_names_a_file_is_not_kept(tmp_path):
    file = tmp_path / "history.json"
    file.write_text('{"history": [[4.0, 0.01, 10]]}')
    base = jaxsel.guarantee_of(f"opacus:{file}")
    text = as_text(base)
    file.unlink()
    assert jaxsel.guarantee_of(text).delta(0.1) == pytest.approx(base.delta(0.1), rel=1e-6)


def test_equal_entries_are_one_object():
    one, two = _entry("a", "pure:epsilon=0.1"), _entry("b", "pure:epsilon=0.1")
    assert ledger._roles(one) is ledger._roles(two)
    other = ledger._roles(one._replace(relation=ADD))
    assert ledger._roles(one) is not other
    # Of the same numbers, and yet another object: nothing is compared number by number.
    assert [ledger._roles(one).__eq__(each) for each in (other, ledger._roles(two))] == [
        False,
        True,
    ]


def test_a_search_without_training_says_its_relation(path):
    given = {"base": None, "score": jaxsel.scores.count(noise=8), "relation": REPLACE}
    assert _search(ledger=path, data="wards", **given).guarantee.relation == REPLACE
    assert ledger.read(path).relation == REPLACE


def test_the_rows_of_a_ledger_say_what_one_record_gives(path):
    long = "points:" + "epsilon=" + "7" * 200
    parts = (
        ({"base": "pure:epsilon=0.1", "times": 3}, {"base": long}),
        ({"base": "gaussian:sigma=2", "repetitions": "geometric:mean=3"},),
    )
    entry = ledger.Entry("a", "2026-11-26", parts, None, "release", "a mean")
    known = ledger.Ledger(path, "wards", (entry, entry._replace(relation=ADD, words="")))
    first, second = known.summary().rows
    short = long[:99] + "…"  # a hundred characters
    said = f"1 x pure:epsilon=0.1, 3 times and 1 x {short} or geometric:mean=3 x gaussian:sigma=2"
    assert first == ["2026-11-26", "a", "not stated", f"{said} (a mean)"]
    assert second == ["2026-11-26", "a", ADD, said]
    whole = ledger.Entry("b", "2026-11-26", (({"base": "x" * 100},),))
    assert known._replace(entries=(whole,)).summary().rows[0][-1] == "1 x " + "x" * 100


# --- Releases made elsewhere --------------------------------------------------------------------


def test_a_release_made_elsewhere_counts(path):
    told = {"relation": REPLACE, "delta": DELTA}
    with pytest.raises(InputError, match="say which data sets are neighbours"):
        ledger.add(path, "wards", "pure:epsilon=0.3", delta=DELTA)
    with pytest.raises(InputError, match="there is no ledger"):
        ledger.add(path, None, "pure:epsilon=0.3", **told)
    assert not path.parent.exists()
    ledger.add(path, "wards", "pure:epsilon=0.3", words="mean age,\n  2025", **told)
    total = ledger.add(path, None, "pure:epsilon=0.2", times=2, **told)
    assert total.epsilon == pytest.approx(0.7, rel=1e-4)
    first, second = ledger.read(path).entries
    assert (first.kind, first.words, second.roles[0][0]["times"]) == (
        "release",
        "mean age, 2025",
        2,
    )
    with pytest.raises(InputError, match="what earlier searches spent is spent"):
        ledger.add(path, None, "pure:epsilon=0.2", epsilon=0.8, **told)
    with pytest.raises(InputError, match="budget is nan"):
        ledger.add(path, None, "pure:epsilon=0.2", epsilon=math.nan, **told)
    assert len(ledger.read(path).entries) == 2
    search = _search(relation=REPLACE, ledger=path, data="wards").guarantee
    assert search.total == pytest.approx(1.2, rel=1e-4)


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (lambda d: d["entries"][0].update(kind="round"), "of kind 'round'"),
        (lambda d: d["entries"][0].update(share=0.1), "with share"),
        (lambda d: d["entries"][0]["roles"][0][0].update(distinct=3), "with distinct"),
        (lambda d: d["entries"][0].pop("kind"), "is no ledger"),
        (lambda d: d["entries"][0].update(roles=[]), "is no ledger"),
        (lambda d: d["entries"][0].update(roles=[[]]), "is no ledger"),
        (lambda d: d["entries"][0]["roles"][0][0].update(times=0), "is no ledger"),
        (lambda d: d["entries"][0]["roles"][0][0].update(times=1.5), "is no ledger"),
        (lambda d: d["entries"][0]["roles"][0][0].update(times=True), "is no ledger"),
        (lambda d: d["entries"][0]["roles"][0][0].update(base=1), "is no ledger"),
        (lambda d: d["entries"][0]["roles"].append([]), "is no ledger"),
        (lambda d: d["entries"][0].update(search=1), "is no ledger"),
        (lambda d: d["entries"][0].update(date=None), "is no ledger"),
        (lambda d: d["entries"][0].update(words=3), "is no ledger"),
        (lambda d: d["entries"].append(d["entries"][0]), "is no ledger"),
        (lambda d: d["entries"][0].update(relation="twins"), "must be one of"),
        (lambda d: d.update(chosen="on the way"), "is no ledger"),
        (lambda d: d.update(form="jaxsel ledger 3"), "is no ledger"),
        (lambda d: d.pop("filter"), "is no ledger"),
    ],
)
def test_what_this_version_does_not_know_is_refused(path, edit, match):
    _enter(path, _entry("a", "pure:epsilon=0.1"))
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=match):
        ledger.read(path)


def test_a_file_that_says_a_thing_twice_is_refused(path):
    _enter(path, _entry("a", "pure:epsilon=0.1"))
    path.write_text(path.read_text().replace('"data"', '"data": "x",\n "data"'))
    with pytest.raises(InputError, match="is no ledger"):
        ledger.read(path)


def test_a_tuned_release_made_elsewhere_is_paid_as_such(path):
    base, law = "gaussian:noise_multiplier=8", "geometric:mean=3"
    given = {"relation": REPLACE, "delta": DELTA}
    total = ledger.add(path, "wards", base, jaxsel.repetitions.as_law(law), **given)
    assert total.epsilon == pytest.approx(jaxsel.search_cost(base, law).epsilon(DELTA))
    assert (total.delta, ledger.read(path).together().delta) == (DELTA, 1e-6)
    assert ledger.read(path).together(1e-3).epsilon < total.epsilon


def test_a_search_that_is_entered_is_refused_by_no_smaller_budget(path):
    """It was paid for when it was entered; a further one is refused."""
    for _ in range(2):
        _enter(path, _entry("a", "pure:epsilon=0.5"), 0.5)
    total = _enter(path, _entry("a", "pure:epsilon=0.5"), 0.1)
    assert total.epsilon == pytest.approx(0.5, rel=1e-4)
    with pytest.raises(InputError, match=r"the budget is 0\.1"):
        _enter(path, _entry("b", "pure:epsilon=0.01"), 0.1)
    (entry,) = ledger.read(path).entries
    assert entry.search == "a"


# --- Chosen beforehand, or on the way -------------------------------------------------------------

FIRST = "randomised_response:epsilon=1"
BRANCHES = ("randomised_response:epsilon=1.0956", "approximate:epsilon=1e-9,delta=0.05")


@pytest.mark.parametrize("second", BRANCHES)
def test_a_second_search_that_the_first_chooses(path, second):
    """Each branch is composed within (2, .05), and the two together have delta(2) = .0634."""
    beforehand, way = path, path.with_name("way")
    _enter(beforehand, _entry("a", FIRST), 2.0, 0.05)
    total = _enter(beforehand, _entry("b", second), 2.0, 0.05)
    assert "assumes that they were chosen beforehand" in total.sentences()[1]
    _enter(way, _entry("a", FIRST), 2.0, 0.05, ledger.ON_THE_WAY)
    before = way.read_bytes()
    with pytest.raises(InputError, match="what earlier searches spent is spent"):
        _enter(way, _entry("b", second), 2.0, 0.05)
    assert way.read_bytes() == before


def test_the_order_is_fixed_at_the_first_entry_and_kept(path):
    first = _enter(path, _entry("a", "pure:epsilon=0.05"), 1.0, 1e-9, ledger.ON_THE_WAY)
    assert (first.epsilon, first.chosen) == (1.0, ledger.ON_THE_WAY)
    known = ledger.read(path)
    _enter(path, _entry("b", "pure:epsilon=0.04"), 1.0, 1e-9)
    assert ledger.read(path).filter == known.filter == first.filter
    # At another order all three would fit; at the one that was fixed they do not.
    with pytest.raises(InputError, match="would take a Renyi divergence"):
        _enter(path, _entry("c", "pure:epsilon=0.85"), 1.0, 1e-9)
    said = " ".join(ledger.read(path).together().sentences())
    assert "are (1, 1e-09) together, by JX-Compose-filter at order" in said
    assert 0.0 < ledger.read(path).together().share < 1.0


def test_a_record_pays_for_its_worst_role_on_the_way(path):
    heavy, light = "gaussian:noise_multiplier=4", "gaussian:noise_multiplier=40"
    _enter(path, _entry("a", light, heavy), 2.0, DELTA, ledger.ON_THE_WAY)
    found = _enter(path, _entry("b", heavy, light), 2.0, DELTA)
    assert found.spent.renyi == pytest.approx(2 * found.filter.order / 32.0)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"epsilon": 3.0}, "budget of this ledger is epsilon = 2"),
        ({"delta": 1e-5}, "budget of this ledger is epsilon = 2"),
        ({"chosen": "beforehand"}, "chosen on the way"),
    ],
)
def test_a_budget_on_the_way_stays(path, given, match):
    options = {"epsilon": 2.0, "delta": DELTA, "chosen": None}
    _enter(path, _entry("a", FIRST), **options | {"chosen": "on the way"})
    with pytest.raises(InputError, match=match):
        _enter(path, _entry("b", "pure:epsilon=0.1"), **options | given)
    _enter(path, _entry("b", "pure:epsilon=0.1"), math.inf, DELTA)


def test_on_the_way_starts_with_a_budget_and_an_empty_ledger(path):
    with pytest.raises(InputError, match="need a budget from the first"):
        _enter(path, _entry("a", FIRST), chosen="on the way")
    with pytest.raises(InputError, match="no Renyi order proves"):
        _enter(path, _entry("a", FIRST), 0.1, DELTA, "on the way")
    assert not path.exists()
    _old(path, FIRST)
    with pytest.raises(InputError, match="chosen beforehand"):
        _enter(path, _entry("b", FIRST), 5.0, DELTA, "on the way")


def test_a_larger_budget_is_not_written_into_the_file(path):
    _enter(path, _entry("a", FIRST), 2.0, 0.05, "on the way")
    document = json.loads(path.read_text())
    document["filter"]["renyi"] = repr(2.0 * float(document["filter"]["renyi"]))
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is no ledger"):
        ledger.read(path)


def test_a_search_on_the_way(path):
    options = {"ledger": path, "data": "wards", "chosen": "on the way", "budget": 2.0}
    found = _search(relation=REPLACE, **options).guarantee
    assert found.total == 2.0
    assert "JX-Compose-filter" in " ".join(found.sentences())


FAILING, SURE = "approximate:epsilon=1e-9,delta=0.01", "pure:epsilon=0.3"


@pytest.mark.parametrize("roles", [(FAILING, SURE), (SURE, FAILING)])
def test_the_share_that_is_spent_is_the_larger_of_two(path, roles):
    """Half of delta is kept for failures; of that a search takes 2/5 in one of its roles."""
    total = _enter(path, _entry("a", *roles), 2.0, 0.05, "on the way")
    assert total.filter.failure == 0.025
    assert total.spent.failure == pytest.approx(0.01)
    divergence = jaxsel.guarantee_of(SURE).renyi(total.filter.order)
    assert total.spent.renyi == pytest.approx(float(divergence))
    assert total.spent.renyi / total.filter.renyi < 0.4
    assert total.share == pytest.approx(0.4)
    assert "40 % of that is spent" in total.sentences()[0]
    total = _enter(path, _entry("b", "pure:epsilon=1"), 2.0, 0.05)
    assert (
        total.share == pytest.approx(total.spent.renyi / total.filter.renyi) != pytest.approx(0.4)
    )
    # The budget at another delta: what failures leave of it, and nothing below them.
    assert total.epsilon == 2.0 < ledger.read(path).together(0.04).epsilon < math.inf
    assert ledger.read(path).together(0.02).epsilon == math.inf
    with pytest.raises(InputError, match="would take failures of probability"):
        _enter(path, _entry("c", "approximate:epsilon=1e-9,delta=0.02"), 2.0, 0.05)


def test_a_budget_without_delta_has_an_infinite_order(path):
    first = _enter(path, _entry("a", SURE), 1.0, 0.0, "on the way")
    assert first.filter.order == math.inf
    known = ledger.read(path)
    assert known.filter == first.filter
    assert known.filter.renyi == 1.0
    assert known.together().share == pytest.approx(0.3)
    _enter(path, _entry("b", SURE), 1.0, 0.0)
    _enter(path, _entry("c", SURE), 1.0, 0.0)
    with pytest.raises(InputError, match=r"Renyi divergence of 1\.2 at order inf"):
        _enter(path, _entry("d", SURE), 1.0, 0.0)


@pytest.mark.parametrize(
    "edit",
    [
        {"order": 1.0},
        {"order": 0.5},
        {"renyi": 0.0},
        {"renyi": math.nan},
        {"failure": -1e-3},
        {"failure": 0.06},
        {"delta": 1.0},
        {"delta": 1.5},
        {"delta": math.nan},
        {"epsilon": math.nan},
        {"epsilon": 1.9},
    ],
    ids=str,
)
def test_a_filter_that_is_none_is_refused(path, edit):
    _enter(path, _entry("a", FAILING), 2.0, 0.05, "on the way")
    document = json.loads(path.read_text())
    document["filter"] |= {name: repr(value) for name, value in edit.items()}
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="is no ledger"):
        ledger.read(path)


# --- The file ---------------------------------------------------------------------------------


def test_a_symbolic_link_stands_for_its_file(path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)  # which is made through it
    for place, name in ((link, "a"), (path, "b"), (link, "c")):
        _enter(place, _entry(name, "pure:epsilon=0.1"))
    assert link.is_symlink()
    for place in (link, path):
        assert [each.search for each in ledger.read(place).entries] == ["a", "b", "c"]


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="cannot write"):
        _enter(tmp_path / "a", _entry("x", "pure:epsilon=0.1"))


def test_a_shared_folder_stays_as_it_is(tmp_path):
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o1777)
    with pytest.raises(InputError, match="a folder that does not exist yet") as caught:
        _enter(team / "ledger", _entry("x", "pure:epsilon=0.1"))
    assert "chmod" not in str(caught.value)
    assert list(team.iterdir()) == []
    assert stat.S_IMODE(team.stat().st_mode) == 0o1777
    _enter(team / "mine" / "ledger", _entry("x", "pure:epsilon=0.1"))
    (team / "mine" / "ledger").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        ledger.read(team / "mine" / "ledger")


def test_searches_that_are_entered_at_once_all_count(path):
    def enter(name):
        _enter(path, _entry(str(name), "pure:epsilon=0.1"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(enter, range(6)))
    known = ledger.read(path)
    assert sorted(int(each.search) for each in known.entries) == list(range(6))
    assert sorted(each.name for each in path.parent.iterdir()) == ["ledger"]


_ENTERING = """
import sys
from jaxsel.tuning.composing_roles import Worst
from jaxsel.search import ledger
path, name = sys.argv[1:]
free = Worst(0.0, 1, True)
ledger.worst_epsilon = lambda *given: free  # what is entered counts here, not what it costs
print(flush=True)
sys.stdin.readline()
for number in range(100):
    part = ({"base": "pure:epsilon=0.1"},)
    entry = ledger.Entry(f"{name}{number}", "2026-11-26", (part,), "replace_one")
    ledger.enter(path, "wards", entry, float("inf"), 1e-6, None)
"""


def test_searches_of_two_processes_all_count(path):
    words = [sys.executable, "-c", _ENTERING, str(path)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    both = [subprocess.Popen([*words, name], **pipes) for name in "ab"]
    for one in both:
        one.stdout.readline()  # it has started
    for one in both:
        one.stdin.write(b"\n")
        one.stdin.flush()
    for one in both:
        one.communicate()
    assert [one.returncode for one in both] == [0, 0]
    entered = [each.search for each in ledger.read(path).entries]
    assert sorted(entered) == sorted(f"{name}{number}" for name in "ab" for number in range(100))


def test_a_search_entered_while_another_adds_up_is_not_lost(path, monkeypatch):
    """The total takes seconds; what was read before it is read again under the lock."""
    adding = ledger.worst_epsilon
    waiting = [_entry("other", "pure:epsilon=0.4")]

    def slow(*given):
        if waiting:
            _enter(path, waiting.pop())
        return adding(*given)

    _enter(path, _entry("first", "pure:epsilon=0.1"))
    monkeypatch.setattr(ledger, "worst_epsilon", slow)
    total = _enter(path, _entry("mine", "pure:epsilon=0.2"))
    assert total.epsilon == pytest.approx(0.7, rel=1e-3)
    assert [each.search for each in ledger.read(path).entries] == ["first", "other", "mine"]
    waiting.append(_entry("more", "pure:epsilon=0.4"))
    with pytest.raises(InputError, match="what earlier searches spent is spent"):
        _enter(path, _entry("late", "pure:epsilon=0.4"), epsilon=1.2)
    assert [each.search for each in ledger.read(path).entries][-1] == "more"


def test_a_kill_leaves_the_ledger_as_it_was(path, monkeypatch):
    _enter(path, _entry("a", "pure:epsilon=0.1"))
    before = path.read_bytes()

    def killed(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            _enter(path, _entry("b", "pure:epsilon=0.1"))
    assert path.read_bytes() == before
    path.with_name(".ledger.partial").write_text("half")  # what SIGKILL would leave
    _enter(path, _entry("b", "pure:epsilon=0.1"))
    assert [each.search for each in ledger.read(path).entries] == ["a", "b"]


def test_reading_makes_nothing(tmp_path):
    assert ledger.read(tmp_path / "no" / "ledger", "wards").entries == ()
    assert list(tmp_path.iterdir()) == []


def test_beyond_what_is_composed_the_sentence_says_so(path, monkeypatch):
    monkeypatch.setattr("jaxsel.tuning.composing_roles._MOST_LISTED", 1)
    roles = ("pure:epsilon=0.1", "gaussian:noise_multiplier=9")
    total = _enter(path, _entry("a", *roles))
    assert "a bound on all 2 combinations of the roles" in " ".join(total.sentences())


# --- The command ------------------------------------------------------------------------------


def _said(capsys, *arguments, code=0):
    with pytest.raises(SystemExit) as stop:
        main(["ledger", *map(str, arguments)])
    assert (stop.value.code or 0) == code
    return capsys.readouterr()


def test_the_command_adds_states_and_prints(path, capsys):
    _old(path, "pure:epsilon=0.5")
    added = ["--add", "pure:epsilon=0.3", "--words", "a mean", "--relation", REPLACE]
    assert "--relation old0=RELATION" in _said(capsys, path, *added, code=2).err
    out, error = _said(capsys, path, "--relation", f"old0={REPLACE}", *added)
    assert error == ""
    assert "All searches of wards in its ledger together: (0.8, 1e-06)." in out
    assert "a mean" in out
    assert "old0" in out
    found = json.loads(_said(capsys, path, "--json", "--delta", "0").out)
    assert found["epsilon"] == pytest.approx(0.8)
    assert [each["kind"] for each in found["entries"]] == ["search", "release"]
    assert found["relation"] == REPLACE


def test_the_command_states_one_relation_after_another(path, capsys):
    """A total that waits for the others is no refusal: what was stated is written."""
    _old(path, "pure:epsilon=0.1", "pure:epsilon=0.1", "pure:epsilon=0.1")
    found = json.loads(_said(capsys, path, "--relation", f"old0={REPLACE}", "--json").out)
    assert (found["epsilon"], found["not_stated"]) == (None, ["old1", "old2"])
    out, error = _said(capsys, path, "--relation", f"old1={REPLACE}")
    assert "give --relation old2=RELATION" in out
    assert error == ""
    assert "old0" in out
    found = json.loads(_said(capsys, path, "--relation", f"old2={REPLACE}", "--json").out)
    assert (found["epsilon"], found["not_stated"]) == (pytest.approx(0.3, rel=1e-3), [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_ledger(tmp_path, capsys):
    tmp_path.chmod(0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert "neither a file nor a folder" in _said(capsys, tmp_path / "pipe", code=2).err


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ([], "there is no ledger"),
        ([":data=", "--add", "pure:epsilon=1", "--relation", REPLACE], "data is ''"),
        (["--add", "pure:epsilon=1", "--relation", REPLACE], "there is no ledger"),
        (["--times", "2"], "--times says something of what --add enters"),
        (["--relation", REPLACE], "does not say of which entry"),
        ([":data=d", "--add", "pure:epsilon=1", "--relation", "twins"], "must be one of"),
        ([":data=d", "--add", "pure"], "pure"),
        ([":data=d", "--add", "pure:epsilon=1"], "say which data sets are neighbours"),
    ],
)
def test_the_command_refuses_before_it_makes_anything(tmp_path, capsys, arguments, match):
    parts = arguments[0] if arguments and arguments[0].startswith(":") else ""
    out, error = _said(
        capsys, f"{tmp_path / 'own' / 'l'}{parts}", *arguments[bool(parts) :], code=2
    )
    assert match in error
    assert (out, error.count("\n"), list(tmp_path.iterdir())) == ("", 1, [])


def test_the_command_makes_a_ledger_on_the_way(path, capsys):
    begun = [f"{path}:data=d,budget=2,chosen=on the way", "--delta", 0.05]
    _said(capsys, *begun, "--add", FIRST, "--relation", REPLACE)
    out = _said(capsys, path, "--add", "pure:epsilon=0.1", "--relation", REPLACE).out
    assert "are (2, 0.05) together" in out
