"""A function of one's own, swept: as a stranger would write it."""

import inspect
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxsel
from jaxsel import sweeps
from jaxsel.host.errors import InputError
from jaxsel.language import signature
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import positive, probability
from jaxsel.language.entry import guarantee
from jaxsel.sweeps import functions, tallying
from jaxsel.sweeps.files import read
from jaxsel.sweeps.functions import read_function
from jaxsel.sweeps.planning import make_plan
from jaxsel.sweeps.swept_subject import find_subject
from tests.cli.test_cli import run, run_json

STRANGERS = '''"""How often Laplace noise keeps a majority."""

import math
from typing import Annotated

import jax.numpy as jnp
import numpy as np

import jaxsel
from jaxsel import noise
from jaxsel.language.domains import positive, probability, whole


def sample(key, lead, scale):
    return jnp.where(lead + scale * noise.variate("laplace", key, 0) > 0, 1, 0)


def law(lead, scale):
    tail = 0.5 * math.exp(-abs(lead) / scale)
    return [tail, 1 - tail] if lead > 0 else [1 - tail, tail]


VOTE = jaxsel.own_mechanism(sample, ["no", "yes"], law)


def vote(
    epsilon: Annotated[float, positive("of the vote")] = jaxsel.over(0.25, 0.5, 1.0),
    share: Annotated[float, probability("of yes")] = jaxsel.over(0.45, 0.55, 0.7),
    voters: Annotated[int, whole("how many", at_least=1)] = jaxsel.over(11, 101),
):
    lead, scale = voters * (2 * share - 1), 2 / epsilon
    return jaxsel.Trial(VOTE, np.float32(lead), np.float32(scale))
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("stranger") / "strangers_votes.py"
    path.write_text(STRANGERS)
    return path


@pytest.fixture(scope="module")
def vote(file):
    return functions.load(f"{file}:vote")


@pytest.fixture(scope="module")
def whole(vote):
    return jaxsel.sweep(vote, trials=20_000)


def test_intervals_hold_the_exact_law(whole):
    assert dict(whole.sizes) == {"epsilon": 3, "share": 3, "voters": 2, "outcome": 2}
    error = whole.frequency - whole.frequency_exact
    # Hoeffding, over all cells together.
    tolerance = math.sqrt(math.log(2 * whole.frequency.size / 1e-6) / 2 / 20_000)
    assert float(abs(error).max()) < tolerance
    far = whole.frequency_exact.sel(outcome="yes", share=0.7, voters=11, epsilon=1.0)
    assert float(far) == pytest.approx(1 - 0.5 * math.exp(-2.2))
    inside = (whole.frequency_low <= whole.frequency_exact) & (
        whole.frequency_exact <= whole.frequency_high
    )
    assert float(inside.mean()) > 0.8
    assert whole["share"].attrs["comment"] == "of yes"


def test_a_cell_counts_the_same_in_every_grid(vote, whole):
    part = jaxsel.sweep(vote, {"voters": 11, "epsilon": [1.0, 3.0]}, trials=20_000)
    assert dict(part.sizes) == {"epsilon": 2, "share": 3, "outcome": 2}
    xr.testing.assert_equal(
        part.frequency.sel(epsilon=1.0),
        whole.frequency.sel(epsilon=1.0, voters=11, drop=True).assign_coords(epsilon=1.0),
    )


def test_cells_share_one_program(vote, monkeypatch):
    groups = []
    monkeypatch.setattr(tallying, "_tally_group", lambda group, *rest: groups.append(len(group)))
    plan = make_plan(vote, {}, options={"trials": 100})
    tallying.tally(plan.items, {}, lambda: None, progress=False)
    assert groups == [18]


def test_on_the_command_line_with_a_picture(file, whole, tmp_path, capsys):
    options = ["--trials", "2e4", "--measure", "counts"]
    _, found = run_json(capsys, "sweep", f"{file}:vote", *options)
    assert len(found["cells"]) == 18
    (cell,) = (
        c for c in found["cells"] if (c["epsilon"], c["share"], c["voters"]) == (0.5, 0.7, 101)
    )
    expected = whole.frequency.sel(epsilon=0.5, share=0.7, voters=101, outcome="no")
    assert cell["counts[no]"] == round(float(expected) * 20_000)
    picture = str(tmp_path / "votes.png")
    words = ["epsilon=0.25:1:log3", "voters=11", *options[:2], "--plot", picture]
    code, _, err = run(
        capsys, "sweep", f"{file}:vote", *words, "--axes", "x=epsilon,hue=share,facet=outcome"
    )
    assert code == 0, err
    assert Path(picture).stat().st_size > 10_000


def test_killed_it_goes_on(file, whole, tmp_path):
    record = tmp_path / "votes.nc"
    hurried = (
        "import jaxsel.sweeps.files as files, jaxsel.sweeps.tallying as tallying;"
        "files._SAVE_SECONDS = 0.0; tallying._CELLS_PER_CALL = 1;"
        "import sys; from jaxsel.cli import main; main(sys.argv[1:])"
    )
    words = ["sweep", f"{file}:vote", "--trials", "2e4", "--record", str(record)]
    running = subprocess.Popen([sys.executable, "-c", hurried, *words])
    until = time.monotonic() + 100
    while not record.exists() and time.monotonic() < until:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = read(record).store
    # Killed before its end, or the machine was too quick to kill it in between.
    assert 0 < len(kept) <= 18
    again = jaxsel.sweep(f"{file}:vote", trials=20_000, record=record)
    xr.testing.assert_identical(again, whole)


def test_shards_are_merged_on_the_command_line(file, whole, tmp_path, capsys):
    paths = []
    for index in range(3):
        path = str(tmp_path / f"{index}.nc")
        code, _, err = run(
            capsys,
            "sweep",
            f"{file}:vote",
            "--trials",
            "2e4",
            "--shard",
            f"{index}/3",
            "--record",
            path,
        )
        assert code == 0, err
        paths.append(path)
    xr.testing.assert_identical(sweeps.merge(paths), whole)
    _, found = run_json(capsys, "merge", *paths)
    assert len(found["cells"]) == 18


# --- Code that changes ------------------------------------------------------------------


def test_a_changed_function_does_not_go_on_from_the_old_tallies(tmp_path):
    """The sampler and the words of a cell are the same, and its numbers are not."""
    path, record = tmp_path / "changing_votes.py", tmp_path / "votes.nc"
    path.write_text(STRANGERS)
    settings = {"voters": 11, "epsilon": 1.0, "share": 0.7}
    jaxsel.sweep(f"{path}:vote", settings, trials=1_000, record=record)
    path.write_text(STRANGERS.replace("2 / epsilon", "3 / epsilon"))
    os.utime(path, ns=(1, 1))  # as two edits within the clock's tick would not
    with pytest.raises(InputError, match="made by other code than this"):
        jaxsel.sweep(f"{path}:vote", settings, trials=2_000, record=record)
    # A comment changes nothing.
    path.write_text(STRANGERS + "# two out of three\n")
    os.utime(path, ns=(2, 2))
    found = jaxsel.sweep(f"{path}:vote", settings, trials=2_000, record=record)
    assert found.attrs["trials"] == 2_000


def test_shards_of_a_changed_function_are_not_merged(tmp_path):
    path = tmp_path / "parted_votes.py"
    path.write_text(STRANGERS)
    files = [tmp_path / f"{index}.nc" for index in range(2)]
    for index, file in enumerate(files):
        sweeps.keep_share(
            f"{index}/2", f"{path}:vote", {"voters": 11}, options={"trials": 500}, record=file
        )
    path.write_text(STRANGERS.replace("2 * share - 1", "share - 0.5"))
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputError, match="vote was changed since"):
        sweeps.merge(files)


def test_a_function_of_no_file_is_merged_where_it_is_known(tmp_path):
    def coin(chance: float = signature.over(0.25, 0.5)):
        return jaxsel.Trial(COIN, (), np.float64(chance))

    files = [tmp_path / f"{index}.nc" for index in range(2)]
    for index, file in enumerate(files):
        sweeps.keep_share(f"{index}/2", coin, {}, options={"trials": 500}, record=file)
    with pytest.raises(InputError, match=r"merge\(paths, subject=function\)"):
        sweeps.merge(files)
    whole = jaxsel.sweep(coin, trials=500)
    xr.testing.assert_identical(sweeps.merge(files, subject=coin), whole)


# --- Objects, privacy, utility ----------------------------------------------------------


def _flip(key, data, params):
    del data
    return jnp.where(jax.random.uniform(key.jax(), dtype=float) < params, 1, 0)


COIN = jaxsel.own_mechanism(_flip, ["tails", "heads"], lambda d, p: [1 - p, p])
UNFAIR = jaxsel.own_mechanism(
    lambda key, data, params: _flip(key, data, 0.5 * params), ["tails", "heads"]
)


def test_an_axis_of_objects_has_their_names():
    def toss(coin=signature.over({"fair": COIN, "unfair": UNFAIR}), chance: float = 0.5):
        return jaxsel.Trial(coin, (), np.float64(chance))

    found = jaxsel.sweep(toss, trials=10_000)
    assert list(found["coin"].values) == ["fair", "unfair"]
    heads = found.frequency.sel(outcome="heads")
    assert abs(float(heads.sel(coin="fair")) - 0.5) < 0.03
    assert abs(float(heads.sel(coin="unfair")) - 0.25) < 0.03
    one = jaxsel.sweep(toss, {"coin": "unfair"}, trials=10_000)
    assert float(one.frequency.sel(outcome="heads")) == float(heads.sel(coin="unfair"))
    with pytest.raises(InputError, match="coin is 'loaded'; it must be one of: fair"):
        jaxsel.sweep(toss, {"coin": "loaded"}, trials=10_000)


def answers(epsilon: Annotated[float, positive("of an answer")] = signature.over(0.5, 1.0)):
    """Randomised response, which tells the truth with probability e^eps/(1 + e^eps)."""
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    pair = Pair("two", 1.0, 0.0, Relation.GENERAL, {"truth": truth}, "all differ")
    return jaxsel.Trial(
        RESPONSE,
        1.0,
        {"truth": truth},
        (pair,),
        guarantee("PS-Cor3", base=f"pure:epsilon={epsilon / 2.0}", law="logarithmic:mean=10"),
        {"success": np.array([0.0, 1.0])},
    )


RESPONSE = jaxsel.own_mechanism(
    lambda key, data, params: _flip(
        key, (), jnp.where(data > 0.5, params["truth"], 1.0 - params["truth"])
    ),
    ["no", "yes"],
    lambda data, params: np.abs([data - params["truth"], data - 1 + params["truth"]]),
    prepare=lambda data, params: (np.float64(data), params),
)


def test_equal_objects_of_two_names_have_random_numbers_of_their_own():
    def toss(who=signature.over({"A": 0.5, "B": 0.5, "C": 0.25})):
        return jaxsel.Trial(COIN, (), np.float64(who))

    found = jaxsel.sweep(toss, trials=10_000).frequency.sel(outcome="heads")
    assert float(found.sel(who="A")) != float(found.sel(who="B"))

    def alone(who=signature.over({"C": 0.25})):
        return jaxsel.Trial(COIN, (), np.float64(who))

    # A value that one word has is the address itself, whatever the other words.
    named = functions.cells(name=toss.__qualname__)(alone)
    kept = jaxsel.sweep(named, trials=10_000).frequency.sel(outcome="heads", who="C")
    assert float(kept) == float(found.sel(who="C"))


def test_what_an_event_is_worth_may_be_a_list_and_is_one_number_for_each():
    def toss(worth, chance=0.5):
        def cell(chance: float = chance):
            return jaxsel.Trial(COIN, (), np.float64(chance), utility={"success": worth})

        return cell

    listed, array = (
        jaxsel.sweep(toss(worth), trials=1000).success for worth in ([0, 1], np.array([0.0, 1.0]))
    )
    assert float(listed) == float(array) > 0.4
    for worth, sentence in (
        ([0, 1, 2], r"shape \(3,\); it must be one number for each of the 2 events"),
        ([0, np.nan], "the utility success holds 1 NaN"),
        ("heads", "the utility success must be numbers"),
    ):
        with pytest.raises(InputError, match=sentence):
            jaxsel.sweep(toss(worth), trials=10)


def test_an_axis_has_no_name_of_what_is_measured():
    def renamed(name):
        def cell(x: float = signature.over(0.25, 0.5)):
            worth = {"success": np.arange(2.0)}
            return jaxsel.Trial(COIN, (), np.float64(x), utility=worth)

        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        default = signature.over(0.25, 0.5)

        def named(**given):
            return cell(given[name])

        changed = parameter.replace(default=default, annotation=float)
        named.__signature__ = inspect.Signature([changed])
        named.__annotations__ = {name: float}
        return named

    for name in ("outcome", "theorem", "success", "success_low"):
        with pytest.raises(InputError, match=f"the axis {name} has the name of something"):
            jaxsel.sweep(renamed(name), trials=10)
    assert jaxsel.sweep(renamed("quantile"), trials=10).success.dims == ("quantile",)
    assert jaxsel.sweep(renamed("trials"), trials=10).success.dims == ("trials",)


def test_pairs_that_cannot_be_made_are_refused_where_they_are_asked_for():
    def pairs():
        raise InputError("no pair at this chance")

    def toss(chance: float = 0.5):
        return jaxsel.Trial(COIN, (), np.float64(chance), pairs=pairs)

    assert "frequency" in jaxsel.sweep(toss, trials=10)
    with pytest.raises(InputError, match="no pair at this chance"):
        jaxsel.sweep(toss, measures=["audited"], trials=10)


def test_an_input_that_holds_no_numbers_is_refused_in_a_sentence():
    def toss(chance: float = 0.5):
        return jaxsel.Trial(COIN, "abc", np.float64(chance))

    with pytest.raises(InputError, match=r"the input of a trial holds .*abc.*, which is no number"):
        jaxsel.sweep(toss, trials=10)


def test_a_generator_of_pairs_that_raises_is_one_sentence():
    def pairs():
        yield "all", np.float64(0.5), np.float64(0.4), Relation.BASE, "moves"
        raise ValueError("midway")

    def toss(chance: float = 0.5):
        return jaxsel.Trial(COIN, (), np.float64(chance), pairs=pairs)

    with pytest.raises(InputError, match=r"toss raises ValueError: midway"):
        jaxsel.sweep(toss, measures=["audited"], trials=10)


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        ([-0.5, 1.5], "must be a list of non-negative probabilities that sum to 1"),
        ([0.9, 0.9], "sum to 1"),
        ([math.nan, 1.0], "holds 1 NaN"),
        ([0.5, 0.25, 0.25], "has 3 values for 2 events"),
        ("half", "must be numbers"),
    ],
)
def test_an_exact_law_of_ones_own_is_one(law, sentence):
    mechanism = jaxsel.own_mechanism(_flip, ["tails", "heads"], lambda d, p: law)

    def toss(chance: float = 0.5):
        return jaxsel.Trial(mechanism, (), np.float64(chance))

    with pytest.raises(InputError, match=f"the law of _flip .*{sentence}"):
        jaxsel.sweep(toss, trials=10)


def test_an_axis_has_no_name_of_what_stands_beside():
    def toss(cost: float = signature.over(0.25, 0.5)):
        return jaxsel.Trial(COIN, (), np.float64(cost), beside={"cost": 2.0})

    with pytest.raises(InputError, match="the axis cost has the name of something"):
        jaxsel.sweep(toss, trials=10)


@pytest.mark.parametrize("settings", ["x=1", None, {1: 2}, {("x", 1): [1, 2]}, {("x", "y"): 1}])
def test_settings_are_values_by_name(settings):
    with pytest.raises(InputError, match=r"by name|no name of a setting|vary together"):
        jaxsel.sweep("noisy_max", settings, trials=10)


def test_a_function_is_told_how_many_trials_a_cell_has():
    def planned(trials: int, chance: float = signature.over(0.25, 0.5)):
        return jaxsel.Trial(COIN, (), np.float64(chance), beside={"told": trials})

    found = jaxsel.sweep(planned, trials=500, measures=["frequency"])
    assert found["told"].values.tolist() == [500, 500]


def test_pairs_a_claim_and_what_events_are_worth():
    found = jaxsel.sweep(
        answers, measures=["success", "audited", "exact_epsilon", "epsilon_bound"], trials=100_000
    )
    exact = found.exact_epsilon.values
    assert exact == pytest.approx([0.5, 1.0])
    assert (found.audited.values < exact).all()
    assert (found.audited.values > 0.8 * exact).all()
    assert found.epsilon_bound.values == pytest.approx([0.5, 1.0])
    assert list(found.epsilon_bound_theorem.values) == ["PS-Cor3", "PS-Cor3"]
    assert found.success_exact.values == pytest.approx(1 / (1 + np.exp([-0.5, -1.0])))
    # What is proved is a measure by default where a claim is named, else not.
    assert "epsilon_bound" in jaxsel.sweep(answers, {"epsilon": 1}, trials=100)


def test_intervals_hold_one_by_one_or_together_as_they_say(whole, vote):
    assert whole.attrs["intervals"] == "each by itself at this confidence"
    joint = jaxsel.sweep(vote, trials=20_000, confidence="joint=0.95")
    assert joint.attrs["intervals"] == "all together at this confidence"
    xr.testing.assert_equal(joint.frequency, whole.frequency)
    # 18 cells of two outcomes share the error.
    alone = jaxsel.sweep(vote, trials=20_000, confidence=1.0 - 0.05 / 36)
    np.testing.assert_allclose(joint.frequency_low, alone.frequency_low, rtol=1e-9)
    np.testing.assert_allclose(joint.frequency_high, alone.frequency_high, rtol=1e-9)
    assert joint.attrs["confidence"] == 0.95


def test_every_measure_and_cell_has_a_share_of_a_joint_error():
    names = ["success", "audited", "exact_epsilon", "counts"]
    joint = jaxsel.sweep(answers, measures=names, trials=20_000, confidence="joint=0.95")
    # Two cells, and two measures that are uncertain.
    alone = jaxsel.sweep(answers, measures=names, trials=20_000, confidence=1.0 - 0.05 / 4)
    for name in ("success_low", "success_high", "audited"):
        np.testing.assert_allclose(joint[name], alone[name], rtol=1e-9)
    assert (
        joint.audited.values < jaxsel.sweep(answers, measures=names, trials=20_000).audited
    ).all()


def test_a_sweep_without_intervals_says_nothing_of_them():
    found = jaxsel.sweep(answers, measures=["exact_epsilon"], trials=100)
    assert "intervals" not in found.attrs


def test_the_command_says_how_its_intervals_hold(file, capsys):
    words = ["sweep", f"{file}:vote", "--trials", "100", "voters=11", "epsilon=1"]
    _, out, _ = run(capsys, *words)
    assert "each by itself at this confidence, 0.95; --confidence joint=0.95 is of all." in out
    _, out, _ = run(capsys, *words, "--confidence", "joint=0.95")
    assert "all together at this confidence, 0.95." in out


def test_shards_of_a_joint_sweep_are_merged_into_one(file, tmp_path):
    settings = {"voters": 11, "epsilon": 1.0}
    joint = {"confidence": "joint=0.9"}
    files = [tmp_path / f"{index}.nc" for index in range(2)]
    for index, path in enumerate(files):
        sweeps.keep_share(
            f"{index}/2", f"{file}:vote", settings, options={"trials": 500, **joint}, record=path
        )
    whole = jaxsel.sweep(f"{file}:vote", settings, trials=500, **joint)
    xr.testing.assert_identical(sweeps.merge(files), whole)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--trials", ["nan", "inf", "-1", "0", "1", "1e30", "1e308", "x"]),
        ("--confidence", ["nan", "inf", "-1", "0", "1", "1e308", "x"]),
        ("--delta", ["nan", "inf", "-1", "1", "1e308", "x"]),
        ("--seed", ["nan", "inf", "-1", "1e308", "x"]),
    ],
)
def test_numbers_that_make_no_sense_are_refused_in_a_sentence(file, capsys, option, values):
    for value in values:
        words = ["sweep", f"{file}:vote", "voters=11", "epsilon=1"]
        words += [] if option == "--trials" else ["--trials", "100"]
        code, out, err = run(capsys, *words, option, value)
        assert code == 2, (option, value, out)
        assert "Traceback" not in err


# --- Refusals ---------------------------------------------------------------------------


def _nothing(chance=0.5):
    return chance


async def _later(chance: float = 0.5):
    return jaxsel.Trial(COIN, (), np.float64(chance))


def _worth(chance: float = 0.5):
    return jaxsel.Trial(COIN, (), np.float64(chance), utility={"joy": np.ones(2)})


@pytest.mark.parametrize(
    ("function", "settings", "sentence"),
    [
        (_nothing, {}, "_nothing returns float; a function that is swept returns a"),
        (_later, {}, "_later is an async def, whose call returns a coroutine"),
        (_worth, {}, "has a utility 'joy'; it must be one of: success"),
        (lambda chance: None, {}, "nothing says what values chance of"),
        (lambda *chances: None, {}, "takes any arguments"),
        (answers, {"epsilon": -1}, "epsilon is -1; it must be a number in"),
        (answers, {"epsilom": 1}, "answers has no setting 'epsilom'; did you mean"),
        (_nothing, {"chance": [0.1, 0.1]}, "chance has 0.1 twice"),
        ("nowhere.py:vote", {}, "there is no file nowhere.py"),
        (3, {}, "a sweep is about a mechanism of the catalogue by its name"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_a_sentence(function, settings, sentence):
    with pytest.raises(InputError) as refused:
        jaxsel.sweep(function, settings, trials=10)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def _broken(*asked):
    return 1 / 0


def _made_later(chance: float = 0.5):
    return jaxsel.Trial(_broken, (), np.float64(chance))


def test_what_a_cell_gives_as_a_function_that_raises_is_refused_in_a_sentence():
    said = "_made_later raises ZeroDivisionError: division by zero (test_functions.py, line"
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        jaxsel.sweep(_made_later, trials=10)
    assert str(refused.value).endswith("at chance = 0.5")

    def vague(chance: float = 0.5):
        return jaxsel.Trial(
            COIN, (), np.float64(chance), pairs=_broken, guarantee=_broken, utility=_broken
        )

    built = read_function(vague).build({"chance": 0.25})
    for asked in (built.pairs, lambda: built.guarantee(None), built.utility):
        with pytest.raises(InputError, match=r"vague raises ZeroDivisionError.*at chance = 0\.25"):
            asked()


def test_a_parameter_without_a_value_is_asked_for():
    def toss(chance: Annotated[float, probability("of heads")]):
        return jaxsel.Trial(COIN, (), np.float64(chance))

    with pytest.raises(InputError, match="toss needs chance; give it a value"):
        jaxsel.sweep(toss, trials=10)
    assert jaxsel.sweep(toss, {"chance": 0.25}, trials=10).attrs["trials"] == 10


def test_a_place_is_a_python_file_and_a_name():
    assert functions.is_place("folder/mine.py:cell")
    for text in ("noisy_max", "mine.py", "geometric:mean", "account", "mine.txt:cell"):
        assert not functions.is_place(text)


def test_functions_of_a_file_are_named_where_one_is_not_found(file):
    with pytest.raises(InputError, match=r"has no function 'votes'; it has: sample, law, "):
        find_subject(f"{file}:votes")


def test_mechanisms_made_anew_in_each_cell_are_refused_before_the_second_compiles(monkeypatch):
    def remade(chance: float = signature.over(0.25, 0.5)):
        def sample(key, data, params):
            return _flip(key, data, chance)

        return jaxsel.Trial(jaxsel.own_mechanism(sample, ["tails", "heads"]))

    called: list[Any] = []
    monkeypatch.setattr("jaxsel.kernel.engine.simulate_grid", lambda *a, **b: called.append(a))
    with pytest.raises(InputError, match="make it once, outside of the function"):
        jaxsel.sweep(remade, trials=10)
    assert not called
