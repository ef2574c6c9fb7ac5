"""How candidates are drawn: one text, read in one place, wherever a search is said."""

import pytest

import jaxsel
from jaxsel.cli.main import main
from jaxsel.host.errors import InputError
from jaxsel.tuning.drawn import ADAPTIVELY, INDEPENDENTLY, WAYS, Drawn, read_drawn, written

BASE = "pure:epsilon=0.1"


def test_a_text_and_a_mapping_say_the_same():
    assert read_drawn("independently") == read_drawn({}) == Drawn()
    found = read_drawn("adaptively:n=30")
    assert found == read_drawn(" adaptively : n = 30")
    assert found == read_drawn({"way": "adaptively", "n": "30"}) == read_drawn(found)
    assert (found.name, found.released_runs) == ("adaptively:n=30", 30)
    for way, each in WAYS.items():
        given = written(way).replace("...", "3")
        assert read_drawn(given).name == given
        assert (read_drawn(given).released_runs is not None) == each.releases_all


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("adaptivly:n=3", "did you mean adaptively"),
        ("grid", "write grid:n="),
        ("grid:m=3", "drawn=grid has no part 'm'"),
        ("grid:n=0", "n is 0; it must be a whole number >= 1"),
        ("independently:n=3", "independently has no parameters"),
        (3, "drawn is 3; give a text"),
    ],
)
def test_what_is_no_way_is_refused_with_those_that_are(given, message):
    with pytest.raises(InputError, match=message):
        read_drawn(given)


def test_where_all_runs_are_released_their_composition_is_the_cost():
    every = jaxsel.account_grid(BASE, 7).every.epsilon
    for way in ("grid:n=7", "adaptively:n=7"):
        assert jaxsel.account(BASE, drawn=way).epsilon == every
    assert every > jaxsel.account(BASE, "geometric:mean=7", attain=False).epsilon
    with pytest.raises(InputError, match="no random number; leave repetitions out"):
        jaxsel.account(BASE, "geometric:mean=7", drawn="grid:n=7")
    with pytest.raises(InputError, match="score noise"):
        jaxsel.account(BASE, drawn="grid:n=7", score_noise=3.0)
    with pytest.raises(InputError, match="give repetitions"):
        jaxsel.account(BASE)


def _searched(drawn):
    return jaxsel.PrivateSearch(
        [0.1, 0.2], base=BASE, drawn=drawn, score=jaxsel.scores.public()
    ).guarantee


def test_a_private_search_costs_what_the_account_says():
    found = _searched("adaptively:n=7").costs[0][1]
    assert found.epsilon == jaxsel.account(BASE, drawn="adaptively:n=7").epsilon


@pytest.mark.parametrize(
    ("ask", "covered"),
    [
        (lambda drawn: jaxsel.plan("gaussian", epsilon=1, runs=3, drawn=drawn), [INDEPENDENTLY]),
        (lambda drawn: jaxsel.tune(drawn=drawn), [INDEPENDENTLY]),
        (_searched, [INDEPENDENTLY, ADAPTIVELY]),
        (lambda drawn: jaxsel.account(BASE, drawn=drawn), list(WAYS)),
    ],
    ids=["plan", "tune", "PrivateSearch", "account"],
)
def test_every_asker_reads_the_same_text_and_refuses_what_it_does_not_cover(ask, covered):
    with pytest.raises(InputError, match="did you mean adaptively"):
        ask("adaptivly:n=3")
    for way in set(WAYS) - set(covered):
        with pytest.raises(InputError, match=f"drawn is {way}:n=3, which .* does not cover"):
            ask(f"{way}:n=3")


@pytest.mark.parametrize(
    "line",
    [
        ["account", "--base", BASE],
        ["report", "--base", BASE],
        ["plan", "--base", "gaussian", "--epsilon", "1", "--runs", "3"],
        ["tune"],
    ],
    ids=lambda line: line[0],
)
def test_every_command_reads_the_same_text(line, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*line, "--drawn", "adaptivly:n=3"])
    assert ended.value.code == 2
    assert "drawn is 'adaptivly'; did you mean adaptively?" in capsys.readouterr().err


def test_the_command_composes_what_is_all_released(capsys):
    lines = (["--drawn", "adaptively:n=4", "--times", "2"], ["--drawn", "adaptively:n=8"])
    answers = []
    for line in lines:
        with pytest.raises(SystemExit) as ended:
            main(["account", "--base", BASE, *line, "--json"])
        assert not ended.value.code
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_the_help_lists_every_way(capsys):
    with pytest.raises(SystemExit):
        main(["account", "--help"])
    text = capsys.readouterr().out
    for way in WAYS:
        assert written(way) in text
