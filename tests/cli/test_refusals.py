"""What a command says, makes and returns when it cannot answer."""

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import jaxsel
from jaxsel.cli import arguments, main
from jaxsel.cli.output import print_drawing
from jaxsel.host.errors import CouldNotError, InputError, UnsupportedError
from jaxsel.host.outputs import check_output
from tests.cli.random_lines import options
from tests.cli.test_cli import run

ACCOUNT = ("account", "--base", "pure:epsilon=0.1", "--repetitions", "geometric:mean=3")
GAUSSIAN = "gaussian:noise_multiplier=4"


def refused(capsys, *words: str, status: int = 2) -> str:
    """The sentence of a refusal, which with --json is in the document, too."""
    code, out, err = run(capsys, *words)
    assert (code, out) == (status, ""), err
    code, out, again = run(capsys, *words, "--json")
    assert code == status
    assert again == err
    document = json.loads(out)
    assert set(document) == {"error", "exit"}
    assert document["exit"] == status
    assert document["error"] in err
    assert len(document["error"]) > 10
    return document["error"]


CLAIMED = ("--relation", "replace_one", "--claim", "1")


# --- JSON of a refusal ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("account",), "--base is missing"),
        (("account", "--epsilon", "x"), "--epsilon"),
        (("account", "--nothing"), "No such option"),
        (("account", "--times", "1.5"), "it must be a whole number"),
        (("list", "nothing"), "nothing"),
        (("show", "nothing"), "nothing"),
        (("claim", "LT-Thm3.2", "epsilon=x"), "epsilon is 'x'"),
        (("law", "nothing"), "nothing"),
        (("simulate", "noisy_max", "--trials", "0"), "trials is 0"),
        (("audit",), "Missing argument"),
        (("audit-function", "mine.py:f"), "for a relation and a claim; give both"),
        (("audit-function", "noisy_max"), "give both"),
        (("audit-function", "mine.py:f", *CLAIMED, "--at", "a=1,,"), "--at a=1,, has an empty"),
        (("audit-function", "mine.py:f", *CLAIMED, "--at", "a=1", "a=2"), "a is given as a"),
        (("audit-function", "mine.py:f", *CLAIMED, "--claim", "2"), "it is given 2 times"),
        (("replay", "mine.py:f"), "--relation and, as a number, --claim"),
        (("check-law", "mine.py:f"), "give --law and --data"),
        (("sweep", "noisy_max", "--measure", "nothing"), "nothing"),
        (("merge",), "FILE"),
        (("validate",), "name the claims"),
        (("bench", "99"), "99"),
        (("plan",), "--base"),
        (("optimal",), "--base"),
        (("report",), "give one of"),
        (("tune", "--ledger", ":budget=1"), "ledger"),
    ],
)
def test_a_refusal_is_a_sentence_and_a_document(capsys, words, said):
    assert said in refused(capsys, *words)


@pytest.mark.parametrize("words", [("nothing",), ("nothing", "x")])
def test_an_unknown_command_is_refused_in_json(capsys, words):
    assert "nothing" in refused(capsys, *words)


@pytest.mark.parametrize("error", [InputError, CouldNotError, UnsupportedError])
def test_every_status_is_in_the_document(capsys, monkeypatch, error):
    def refuse(*_):
        raise error("this is not to be done")

    monkeypatch.setattr(arguments, "read_settings", refuse)
    monkeypatch.setattr("jaxsel.cli.claim_command.read_settings", refuse)
    said = refused(capsys, "claim", "PS-Cor3", status=error.status)
    assert said == "this is not to be done"


def test_an_answer_that_was_printed_stays_one_document(capsys, monkeypatch, tmp_path):
    """What fails afterwards is said on standard error alone."""

    def fails(*_, **__):
        raise InputError("no picture")

    monkeypatch.setattr("jaxsel.cli.sweep_command._draw", fails)
    words = ["sweep", "account", "noise_multiplier=9", "--measure", "mean_runs", "--json"]
    code, out, err = run(capsys, *words)
    assert code == 2
    assert "cells" in json.loads(out)
    assert err == "jaxsel: no picture\n"


# --- Exit statuses --------------------------------------------------------------------


def test_a_fault_is_no_falling_claim(capsys, monkeypatch):
    def fails(*_):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("jaxsel.cli.claim_command.read_settings", fails)
    code, out, err = run(capsys, "claim", "PS-Cor3", "--json")
    assert code == 3
    assert "ZeroDivisionError: oh" in err
    assert json.loads(out)["exit"] == 3


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyboardInterrupt, 130, ""),
        (MemoryError, 3, "jaxsel: the memory does not suffice for this\n"),
        (OSError(28, "No space left on device"), 3, "jaxsel: cannot write the answer: No space"),
        (OSError(13, "Permission denied", "a/b"), 3, "jaxsel: cannot write a/b: Permission"),
    ],
)
def test_statuses_of_what_ends_a_command(capsys, monkeypatch, error, status, said):
    def fails(*_):
        raise error

    monkeypatch.setattr("jaxsel.cli.claim_command.read_settings", fails)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    code, out, err = run(capsys, "claim", "PS-Cor3")
    assert code == status
    assert out == ""
    assert err.startswith(said)


def test_the_help_lists_the_statuses(capsys):
    _, out, _ = run(capsys, "--help")
    text = " ".join(out.split())
    for status in ("0 fine", "1 a claim fell", "2 bad usage", "3 it", "4 not", "130", "141"):
        assert status in text


_HEAD = "import sys; from jaxsel.cli import main; main(sys.argv[1:])"


def test_nobody_reads_or_the_disk_is_full(tmp_path):
    """Quietly, and never with 1, where the reader closes the pipe; else with a sentence."""
    words = [sys.executable, "-c", _HEAD, "list", "claims"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
    if not Path("/dev/full").exists():
        return
    for line in (["list", "claims"], ["list", "bases", "--json"]):
        with open("/dev/full", "w") as full:
            ended = subprocess.run(
                [*words[:3], *line], stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert ended.returncode == 3
        assert ended.stderr.startswith("jaxsel: cannot write the answer: ")
        assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("line", [["claim", "nothing"], ["claim", "--nothing"]])
@pytest.mark.parametrize("closed", [False, True])
def test_a_refusal_has_its_status_though_nobody_reads_the_sentence(line, closed):
    """What --json says of the status is so."""
    words = f"{shlex.join([sys.executable, '-c', _HEAD, *line, '--json'])} 2>"
    ended = subprocess.run(
        words + ("&-" if closed else "/dev/full"), shell=True, stdout=subprocess.PIPE
    )
    assert json.loads(ended.stdout)["exit"] == ended.returncode == 2


def test_a_table_that_nobody_reads_is_a_broken_pipe(monkeypatch):
    """Rich alone would end the process with 1, which says that a claim fell."""
    read, write = os.pipe()
    os.close(read)
    unread = os.fdopen(write, "w", buffering=1)
    monkeypatch.setattr(sys, "stdout", unread)
    with pytest.raises(BrokenPipeError):
        print_drawing("a table")
    with contextlib.suppress(BrokenPipeError):
        unread.close()


def test_a_closed_output_is_no_fault(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as stop:
        main(["list", "bases"])
    assert not stop.value.code
    sys.stdout.close()


# --- Numbers --------------------------------------------------------------------------


def test_every_whole_number_is_read_as_trials_are():
    """1e3 is one, 1.5 is none: of every option that is a whole number."""
    found = 0
    for name, every in options().items():
        for option in every:
            if option.kind is int:
                found += 1
                word = [option.word] if option.word else []
                with pytest.raises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
                    main([name, *word, "1.5"])
                assert "it must be a whole number" in said.getvalue(), (name, option)
    assert found > 15


def test_the_number_of_searches_may_be_1e3(capsys):
    few = run(capsys, *ACCOUNT, "--times", "1e1", "--json")
    assert few == run(capsys, *ACCOUNT, "--times", "10", "--json")
    assert few[0] == 0


@pytest.mark.parametrize(
    ("base", "epsilon"),
    [
        ("gaussian:noise_multiplier=0.03", 710.0),
        ("gaussian:noise_multiplier=0.03", 1e308),
        (GAUSSIAN, 1e308),
        ("discrete_gaussian:sigma=0.3,sensitivity=10", 800.0),
    ],
)
def test_delta_at_a_large_epsilon_is_proved(capsys, coarse_prices, base, epsilon):
    """No number overflows; delta falls, and is that of one run at least."""
    words = ("account", "--base", base, "--repetitions", "geometric:mean=10", "--json")
    found = [
        json.loads(run(capsys, *words, "--epsilon", str(each))[1]) for each in (300.0, epsilon)
    ]
    assert found[0]["delta"] >= found[1]["delta"] >= found[1]["single_run_delta"] > 0.0


def test_more_runs_than_are_tried_are_refused(capsys):
    for words in (
        ("plan", "--base", "gaussian", "--epsilon", "1"),
        ("optimal", "--base", GAUSSIAN),
    ):
        assert "runs is 1e+308" in refused(capsys, *words, "--runs", "1e308")
    words = ("plan", "--base", "gaussian", "--epsilon", "1", "--compute", "1e308")
    assert "compute is 1e+308" in refused(capsys, *words)


# --- Nothing is made, and nothing is done, before a refusal ----------------------------

_OUTPUTS = [
    (("plan", "--base", "gaussian", "--epsilon", "1", "--runs", "10"), "--plot", ".png"),
    (("plan", "--base", "gaussian", "--epsilon", "1", "--runs", "10"), "--save", ""),
    (("optimal", "--base", GAUSSIAN, "--runs", "3"), "--save", ""),
    (("sweep", "noisy_max", "epsilon=1,2"), "--record", ".nc"),
    (("sweep", "noisy_max", "epsilon=1,2"), "--table", ".csv"),
    (("sweep", "noisy_max", "epsilon=1,2"), "--plot", ".png"),
    (("simulate", "noisy_max"), "--record", ""),
    (("audit", "noisy_max"), "--record", ""),
    (("audit-function", "mine.py:f", *CLAIMED), "--report", ".html"),
    (("report", *ACCOUNT[1:]), "--out", "folder"),
    (("tune",), "--save", ".npz"),
    (("tune",), "--folder", "folder"),
    (("tune",), "--ledger", ""),
    (("merge", "shard.nc"), "--out", "folder"),
    (("bench", "14"), "--record", ""),
]


def _works(*_, **__):
    raise AssertionError("it began")


@pytest.mark.parametrize(("words", "option", "ending"), _OUTPUTS)
def test_outputs_are_refused_before_any_work(capsys, monkeypatch, tmp_path, words, option, ending):
    monkeypatch.chdir(tmp_path)
    is_folder = ending == "folder"
    ending = "" if is_folder else ending
    Path("a folder").mkdir()
    Path(f"a folder{ending or '.x'}").mkdir()
    Path("a file").touch()
    monkeypatch.setattr("jaxsel.search.tune.load_images", _works)
    before = sorted(Path().rglob("*"))
    bad = {f"a file/it{ending}": "is no folder", f"{'n' * 300}{ending}": "cannot be made"}
    # Folders above a search's secrets are made with it, for its owner alone.
    if option != "--folder":
        bad[f"missing/it{ending}"] = "there is no folder missing"
    if is_folder:
        bad["a file"] = "which is a file"
    else:
        bad |= {f"a folder{ending}": "which is a folder", ".": "--"}
    if ending:
        bad["it.xyz"] = f"must end in {ending}"
    for path, said in bad.items():
        sentence = refused(capsys, *words, option, path)
        assert said in sentence, (path, sentence)
        assert option in sentence
    assert sorted(Path().rglob("*")) == before


def test_what_may_not_be_written_is_refused(monkeypatch, tmp_path):
    (tmp_path / "it.png").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="which may not be written"):
        check_output("--plot", tmp_path / "it.png")
    with pytest.raises(InputError, match="nothing may be written to"):
        check_output("--plot", tmp_path / "other.png")


def test_a_new_file_is_new(tmp_path):
    (tmp_path / "it.npz").touch()
    with pytest.raises(InputError, match="there already"):
        check_output("--save", tmp_path / "it.npz", (".npz",), new=True)
    check_output("--save", tmp_path / "other.npz", (".npz",), new=True)
    check_output("ledger", tmp_path / "a" / "b" / "it.nc", makes_folders=True)
    check_output("--save", None)


def test_a_search_does_not_begin_with_a_bad_folder_or_ledger(capsys, monkeypatch, tmp_path):
    """Before the images are read, and nothing is left."""

    monkeypatch.setattr("jaxsel.search.tune.load_images", _works)
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o700)
    Path("open").mkdir(mode=0o755)
    Path("open").chmod(0o755)
    Path("other").write_text("{}")
    assert "open to others" in refused(capsys, "tune", "--folder", "open")
    assert "--ledger: " in refused(capsys, "tune", "--ledger", "other")
    assert "budget is nan" in refused(capsys, "tune", "--ledger", "new:budget=nan")
    assert sorted(path.name for path in Path().iterdir()) == ["open", "other"]
    assert not list(Path("open").iterdir())


# --- Words ----------------------------------------------------------------------------


def test_an_empty_search_file_is_named(capsys, tmp_path):
    (tmp_path / "empty.toml").touch()
    said = refused(capsys, "account", "--search", str(tmp_path / "empty.toml"))
    assert "is empty" in said


def test_a_parameter_that_is_given_twice(capsys):
    law = ("--repetitions", "geometric:mean=3")
    twice = "gaussian:noise_multiplier=1,noise_multiplier=2"
    said = refused(capsys, "account", "--base", twice, *law)
    assert said == "noise_multiplier of gaussian is given twice; give it once"
    said = refused(capsys, "account", "--base", "gaussian:sigma=1,noise_multiplier=2", *law)
    assert said.startswith("sigma and noise_multiplier are both noise_multiplier of gaussian")


@pytest.mark.parametrize("name", ["release", "median"])
def test_who_looks_for_a_private_statistic_is_told_where_it_is(capsys, name):
    said = refused(capsys, name)
    assert "OpenDP" in said
    assert "winner of a search" in said
    _, out, _ = run(capsys, "--help")
    assert "OpenDP" in out


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "    return 1 / 0\n",
            "f raises ZeroDivisionError: division by zero (mine.py, line 3), at",
        ),
        ("    raise SystemExit(5)\n", "f raises SystemExit: 5"),
        ("    return jaxsel.Trial(jaxsel.mechanism('noisy_max'))\n", "is Trial; give"),
        ("    return 1\n\n1 / 0\n", "cannot be loaded: it raises ZeroDivisionError"),
        ("    return 1\n\nraise SystemExit(5)\n", "cannot be loaded: it raises SystemExit: 5"),
        ("    return 1 +\n", "cannot be loaded: it raises SyntaxError"),
    ],
)
def test_a_swept_function_that_raises_is_named(capsys, tmp_path, body, said):
    place = tmp_path / "mine.py"
    place.write_text(f"import jaxsel\ndef f(*, epsilon: float = 1.0):\n{body}")
    assert said in refused(capsys, "sweep", f"{place}:f", "epsilon=1,2", "--trials", "10")


def test_plot_draws_what_has_a_picture():
    found = jaxsel.sweep("noisy_max", {"epsilon": [0.5, 1.0, 2.0]}, trials=200)
    drawn = jaxsel.plot(found, ["success"], x="epsilon")
    assert drawn.axes[0].get_xlabel() == "epsilon"
    assert drawn._repr_png_()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match="no axis"):
        jaxsel.plot(found, x="nothing")
    cost = jaxsel.account("pure:epsilon=0.1", "geometric:mean=3", attain=False)
    assert jaxsel.plot(cost).axes
    with pytest.raises(InputError, match="of a sweep"):
        jaxsel.plot(cost, x="epsilon")
    with pytest.raises(InputError, match="int has no picture"):
        jaxsel.plot(3)
