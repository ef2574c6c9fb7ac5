"""A limit of time, and more trials than it allows: kept, by a clock that costs set forward."""

import math
import types

import numpy as np
import pytest

from jaxsel.auditing.event_limits import log_ratio_lower
from jaxsel.auditing.functions import audit_function as auditing
from jaxsel.auditing.functions import clock as clocks
from jaxsel.auditing.functions import drawing
from jaxsel.auditing.functions.events import Claim
from jaxsel.auditing.functions.verdicts import refutable
from jaxsel.questions.audits import function_audit
from jaxsel.testing import NoPowerError, assert_private
from tests.cli.test_cli import run, run_json


class _Costs:
    """A clock that stands still but for what is done: seconds of a row, by what is done to it."""

    def __init__(self, monkeypatch, *, drawn=0.0, joined=0.0, ranked=0.0, pair=0.0):
        self.now, self.drawn, self.rows = 0.0, drawn, []
        clock = types.SimpleNamespace(monotonic=lambda: self.now)
        choose, together = auditing.choose, drawing.together

        def slowly(learned_on, chosen_on, *given):
            rows = sum(map(len, (*learned_on, *chosen_on)))
            self.now += pair + ranked * rows
            self.rows.append(rows)
            return choose(
                *([one.rows(slice(500)) for one in s] for s in (learned_on, chosen_on)), *given
            )

        def one_by_one(tables):
            self.now += joined * sum(map(len, tables))
            return together(tables)

        for module in (auditing, clocks, drawing):
            monkeypatch.setattr(module, "time", clock)
        monkeypatch.setattr(auditing, "choose", slowly)
        monkeypatch.setattr(drawing, "together", one_by_one)

    def laplace(self, rng, data, n):
        """The sum with noise of scale 1: epsilon is 1."""
        self.now += self.drawn * n
        return np.sum(data) + rng.laplace(size=n)

    def audited(self, seconds, **options):
        given = {"relation": "replace_one", "claim": 0.5, "trials": 10**9, "false_alarm": 0.05}
        return function_audit(self.laplace, seconds=seconds, **given | options)


@pytest.mark.parametrize(
    "costs",
    [
        {"drawn": 1e-3},  # a slow function
        {"drawn": 2e-4, "joined": 1e-3},  # whose outcomes are slow to read
        {"drawn": 2e-4, "ranked": 2e-3},  # and slow to learn from
        {"drawn": 2e-4, "pair": 0.1},
    ],
)
@pytest.mark.parametrize("seconds", [20.0, 60.0])
def test_a_limit_of_time_is_kept_whatever_takes_it_and_the_bound_has_its_part(
    costs, seconds, monkeypatch
):
    found = _Costs(monkeypatch, **costs).audited(seconds)
    assert found.ended_by == "time"
    assert found.seconds <= 1.1 * seconds
    assert found.search_seconds <= 0.65 * seconds
    assert found.pairs > 1
    assert found.verdict == "refuted"


def test_the_clock_is_asked_between_pairs_that_are_ranked(monkeypatch):
    """Fifteen are proposed, and to rank one takes a fifth of the search."""
    found = _Costs(monkeypatch, drawn=1e-4, pair=2.0).audited(20.0)
    assert found.seconds <= 24.0  # the last of them was begun in time
    assert found.verdict in ("refuted", "not refuted")


@pytest.mark.parametrize("claim", [0.5, 1.0])
def test_a_sequential_audit_ends_with_its_time(claim, monkeypatch):
    pair = ([0.0], [1.0])
    found = _Costs(monkeypatch, drawn=1e-3).audited(20.0, pair=pair, sequential=True, claim=claim)
    assert found.seconds <= 22.0
    assert found.verdict == ("refuted" if claim < 1.0 else "not refuted")


def test_the_search_has_so_many_rows_of_a_pair_and_the_bound_what_it_leaves(monkeypatch):
    costs = _Costs(monkeypatch)
    monkeypatch.setattr(auditing, "_ROWS", 300)
    found = costs.audited(None, trials=20_000)
    assert max(costs.rows) <= 2 * 300
    assert found.trials == 20_000
    assert found.counts[1] == found.counts[3] > 17_000
    assert found.ended_by == "trials"
    costs.rows.clear()
    alone = costs.audited(None, trials=20_000, pair=([0.0], [1.0]), sequential=True)
    assert max(costs.rows) <= 2 * 2 * 300
    assert alone.verdict == "refuted"


def test_trials_that_could_refute_nothing_are_no_verdict():
    def laplace(rng, data, n):
        return np.sum(data) + rng.laplace(size=n)

    options = {"relation": "replace_one", "trials": 1000, "false_alarm": 0.05}
    needed = 1 + int(math.log(0.05) / -math.log1p(math.exp(-6.0)))
    for delta in (0.0, 1e-3):
        found = function_audit(laplace, claim=6.0, delta=delta, **options)
        assert found.verdict == "cannot be judged"
        assert not found.refuted
        points = [round(n * delta * math.exp(-6.0)) for n in (found.needed, found.needed - 1)]
        enough, fewer = (
            float(log_ratio_lower(n, y, 0.05))
            for n, y in zip((found.needed, found.needed - 1), points, strict=True)
        )
        assert fewer <= 6.0 < enough
    assert function_audit(laplace, claim=6.0, **options).needed == needed
    said = found.summary().sentence
    assert said.startswith("CANNOT BE JUDGED: ")
    assert f"the bound alone takes {found.needed:,.0f}, the search as many." in said
    more = options | {"trials": 4 * needed}
    assert function_audit(laplace, claim=6.0, **more).verdict == "not refuted"
    endless = function_audit(laplace, claim=50.0, **options)
    assert endless.needed == math.inf
    assert "more than 2^53" in endless.summary().sentence
    # The boundary itself, of unequal numbers of trials, too.
    assert refutable(Claim(6.0), needed, needed, 0.05)
    assert not refutable(Claim(6.0), needed - 1, needed - 1, 0.05)
    assert not refutable(Claim(6.0), needed, needed // 2, 0.05)


def test_a_test_that_could_not_fail_has_no_power():
    def laplace(rng, data, n):
        return np.sum(data) + rng.laplace(size=n)

    given = {"relation": "replace_one", "epsilon": 9.0, "trials": 1000, "detects": None}
    with pytest.raises(NoPowerError, match=r"no power: CANNOT BE JUDGED: .* claims epsilon 9 "):
        assert_private(laplace, [0.0], [1.0], **given)


def test_the_command_says_so_by_its_exit_status(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def noisy(rng, data, n):\n    return sum(data) + rng.laplace(size=n)\n")
    words = ("audit", f"{file}:noisy", "--relation", "replace_one", "--trials", "1e3")
    code, out, _ = run(capsys, *words, "--claim", "9")
    assert (code, "CANNOT BE JUDGED: noisy claims epsilon 9" in out) == (3, True)
    code, (found,) = run_json(capsys, *words, "--claim", "9")
    assert (code, found["verdict"]) == (3, "cannot be judged")
    assert found["needed"] == 1 + int(math.log(0.05) / -math.log1p(math.exp(-9.0)))
