"""Goal 14 of the bench: random commands of the accountant, timed one by one."""

import json

import pytest

from benchmarks import wishes
from jaxsel.host.errors import InputError


def test_commands_are_drawn_by_seed_and_ask_for_everything():
    drawn = wishes.draw()
    assert len(drawn) == wishes.COUNT
    assert drawn == wishes.draw()
    assert drawn[:20] == wishes.draw(20)
    assert drawn != wishes.draw(seed=1)
    assert {each[0] for each in drawn} == {"account", "report", "plan", "optimal"}
    words = " ".join(" ".join(each) for each in drawn)
    for form in (
        "gaussian:",
        "laplace:",
        "pure:",
        "approximate:",
        "dataset_size",
        "sampling_probability",
        "geometric:",
        "logarithmic:",
        "poisson:",
        "tnb:",
        "binomial:",
        "beta_binomial:",
        "point_mass:",
    ):
        assert form in words
    deltas = [float(each[each.index("--delta") + 1]) for each in drawn]
    assert 1e-12 <= min(deltas) < 1e-9
    assert 0.03 < max(deltas) <= 0.3
    times = [int(each[each.index("--times") + 1]) for each in drawn if "--times" in each]
    assert min(times) >= 2
    assert 30 < max(times) <= 40


def test_a_command_is_timed_and_one_that_breaks_is_told():
    found = wishes.timed(("list", "bases"))
    assert found.status == 0
    assert 0.05 < found.seconds < 60.0
    assert wishes.timed(("list", "bases", "--nothing")).status == 2


def test_it_goes_on_from_its_record_and_names_the_worst(tmp_path, monkeypatch):
    record = tmp_path / "record.jsonl"
    ran = []

    def timed(command):
        ran.append(command)
        return wishes.Timed(command, float(len(ran)), 0)

    monkeypatch.setattr(wishes, "timed", timed)
    with pytest.raises(InputError, match="no time"):
        wishes.measure(record=record, count=4, seconds=-1.0, progress=False)
    wishes.measure(record=record, count=4, progress=False)
    assert ran == wishes.draw(4)
    median, worst = wishes.measure(record=record, count=6, progress=False)
    assert ran == wishes.draw(6)  # none of them twice
    assert len(record.read_text().splitlines()) == 6
    assert (median.measured, median.threshold, median.met) == (3.5, 2.0, False)
    assert (worst.measured, worst.threshold, worst.met) == (6.0, 15.0, True)
    assert "6 of 6" in median.detail
    listed = worst.detail.split("; ")
    assert listed == [f"{number}.0 s: {' '.join(ran[number - 1])}" for number in (6, 5, 4, 3, 2)]
    record.write_text(json.dumps({"something": "else"}) + "\n")
    with pytest.raises(InputError, match="no record"):
        wishes.measure(record=record, count=1, progress=False)
