"""Plans for what an attacker may gain: the number is that of what is released."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import jaxsel
from jaxsel.cli.main import main
from jaxsel.host.errors import InputError
from jaxsel.questions import plan as planning
from jaxsel.tuning.planning.attack_limit import ATTACK, AttackLimit
from jaxsel.tuning.planning.budget import read_budget
from jaxsel.tuning.planning.wishes import Wishes

RATES = {"true_positive_rate": 0.1, "false_positive_rate": 0.01}


@pytest.fixture(autouse=True)
def few_families(monkeypatch, coarse_prices):
    """One law of K and coarse prices are bounds, too; the rest takes ten times as long."""
    from jaxsel.tuning.planning import budget

    monkeypatch.setattr(budget, "FAMILIES", {"geometric": budget.FAMILIES["geometric"]})


def _grouped(asked: dict) -> dict:
    """Arguments of ``plan``: what is asked of attacks, together."""
    return {"attack": {k: asked[k] for k in ATTACK if k in asked}} | {
        k: value for k, value in asked.items() if k not in ATTACK
    }


def _reached(search: jaxsel.Released, asked: dict) -> float:
    if "advantage" in asked:
        return search.advantage()
    return search.true_positive_rate(asked["false_positive_rate"])


@pytest.mark.parametrize("asked", [{"advantage": 0.1}, RATES])
def test_the_noise_is_the_least_that_limits_every_attack(asked):
    found = jaxsel.plan("gaussian", runs=20, attack=asked)
    chosen, most = found.chosen, max(asked.values())
    reached = _reached(jaxsel.search_cost(chosen.base, chosen.law), asked)
    assert reached == chosen.attack <= most
    less = jaxsel.search_cost(f"gaussian:noise_multiplier={0.996 * chosen.noise!r}", chosen.law)
    assert _reached(less, asked) > most
    # What else it proves.
    assert found.epsilon == jaxsel.search_cost(chosen.base, chosen.law).epsilon(1e-6)
    record, name = found.as_record(), next(iter(asked))
    assert record[name] == chosen.attack
    assert record.get("false_positive_rate") == asked.get("false_positive_rate")
    assert all(name in choice for choice in record["choices"] + record["alternatives"])
    for choice in found.choices:
        # E[1/(K + 1)] of geometric K with mean 20.
        assert choice.utility.expected_quantile >= 1 - (math.log(20) - 0.95) / 20 / 0.95**2 - 1e-8
        assert choice.attack <= most * (1 + 1e-12)
    (one,) = [row for row in found.alternatives if row.name.startswith("one run")]
    mu = 1 / one.noise  # of one run, by the normal law
    rate = asked.get("false_positive_rate", stats.norm.cdf(-0.5 * mu))
    gained = stats.norm.cdf(stats.norm.ppf(rate) + mu) - (rate if "advantage" in asked else 0)
    assert gained == pytest.approx(most, rel=5e-3)
    limit = found.budget.attack
    assert limit is not None
    scored = jaxsel.search_cost(f"gaussian:noise_multiplier={found.score_noise!r}", chosen.law)
    assert scored.delta(limit.epsilon) <= limit.delta


@pytest.mark.parametrize(
    "asked",
    [
        {"advantage": 0.1},
        pytest.param(RATES | {"true_positive_rate": 0.03}, marks=pytest.mark.rare),
    ],
)
def test_the_best_winner_with_noise_that_is_given(asked):
    base = "gaussian:noise_multiplier=8"
    found = jaxsel.plan(base, attack=asked)
    most = max(asked.values())
    assert (
        _reached(jaxsel.search_cost(base, found.chosen.law), asked) == found.chosen.attack <= most
    )
    more = jaxsel.repetitions.from_mean("geometric", 1.05 * found.chosen.law.mean)
    assert _reached(jaxsel.search_cost(base, more), asked) > most


def test_runs_that_are_limited_need_not_reach_what_attacks_may():
    found = jaxsel.plan("gaussian:noise_multiplier=8", attack="advantage=0.5", runs=3)
    assert found.chosen.law.mean == pytest.approx(3.0, rel=2e-3)
    assert found.chosen.attack < 0.4


@pytest.mark.parametrize(
    ("base", "asked", "message"),
    [
        ("gaussian", {"advantage": 0.1, "epsilon": 1, "runs": 5}, "give an epsilon or an adv"),
        ("gaussian", {"advantage": 0.1}, "nothing says how far"),
        ("gaussian", {"advantage": 0.1, "true_positive_rate": 0.1, "runs": 5}, "give both"),
        ("gaussian", {"true_positive_rate": 0.1, "runs": 5}, "give both of them"),
        ("gaussian", {"advantage": 0.1, "runs": 5, "optimal": True}, "does not go with a limit"),
        (
            "gaussian:noise_multiplier=1",
            {"advantage": 0.1},
            "an advantage of 0.1 is allowed, and one run alone allows 0.3829",
        ),
        (
            "approximate:delta=0.3",
            {"advantage": 0.1, "runs": 5},
            "an advantage of 0.1 is not reached for any epsilon .*; take a larger one or fewer",
        ),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(base, asked, message):
    with pytest.raises(InputError, match=message):
        jaxsel.plan(base, **_grouped(asked))


def _ended(capsys, *line: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["plan", *line])
    return int(ended.value.code or 0), *capsys.readouterr()


def test_the_command_line_says_the_same(capsys):
    line = ["--base", "gaussian:noise_multiplier=8", "--attack", "advantage=0.2", "--runs", "2"]
    code, text, _ = _ended(capsys, *line, "--json")
    record = json.loads(text)
    found = jaxsel.plan("gaussian:noise_multiplier=8", attack="advantage=0.2", runs=2)
    assert (code, record["advantage"]) == (0, found.as_record()["advantage"])
    code, text, _ = _ended(capsys, *line)
    assert code == 0
    assert "No attack on the best run reaches more than an advantage of" in " ".join(text.split())
    assert found.sentences()[1] in str(found)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ["--base", "gaussian", "--attack", "true_positive_rate=0.1", "--runs", "5"],
            "give both of them",
        ),
        (["--base", "gaussian", "--attack", "advantage=2", "--runs", "5"], "advantage is 2"),
    ],
)
def test_bad_usage_exits_with_two(capsys, line, message):
    code, _, error = _ended(capsys, *line)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_a_number_that_is_out_of_reach_is_refused(monkeypatch):
    """What is proved at one point leads there; if all that is proved says more, none is."""
    limit = AttackLimit(0.1)
    budget = read_budget("gaussian", 1e-6, None, Wishes(runs=3.0), limit)
    first = jaxsel.plan("gaussian", epsilon=1.0, runs=3).chosen
    monkeypatch.setattr(planning, "_reached", lambda *_: 0.2)
    with pytest.raises(InputError, match="is not proved near where it should be"):
        planning._settled(budget, limit, first)


def test_a_move_is_to_the_number_whose_logarithm_is_given():
    """E[K], where the noise is given."""
    base = "gaussian:noise_multiplier=4"
    budget = read_budget(base, 1e-6, None, Wishes(rank=0.3), AttackLimit(0.5))
    first = jaxsel.plan(base, epsilon=2.0, winner="rank=0.3").chosen
    moved = planning._moved(budget, first, math.log(7.0))
    assert moved is not None
    assert moved.law.mean == pytest.approx(7.0, rel=1e-6)
    assert planning._varied(moved) == moved.law.mean


def test_attacks_on_runs_that_may_fail_use_what_is_proved_at_epsilon_zero():
    """The pairs price runs with their failures, which the best theorem sets aside."""
    search = jaxsel.search_cost("approximate:epsilon=0.1,delta=1e-4", "geometric:mean=20")
    assert search.advantage() <= search.delta(0.0) * (1 + 1e-9)
    assert np.all(search.true_positive_rate([0.3, 0.6]) - [0.3, 0.6] <= search.delta(0.0) + 1e-9)
