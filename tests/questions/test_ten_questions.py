"""The guide's ten questions: one line of Python and one command give the same number."""

import json
import re
import shlex
from pathlib import Path

import pytest

import jaxsel
from tests.cli.test_cli import run

# At any resolution a price is a bound; the fine ones take most of the time.
pytestmark = pytest.mark.usefixtures("coarse_prices")

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"

# Where the answer stands in the command's document.
ANSWERS = (
    lambda document: document["epsilon"],
    lambda document: document["delta"],
    lambda document: document["epsilon"],
    lambda document: document["advantage"],
    lambda document: document["noise"],
    lambda document: document["found"]["epsilon"],
    lambda document: document["law"]["0"],
    lambda document: document["pairs"][0]["lower_bound"],
    lambda document: document["value"],
    lambda document: document["results"][0]["verdict"]["tightness"],
)


def _blocks() -> tuple[list[str], list[str]]:
    section = GUIDE.read_text().partition("## Ten questions")[2].partition("\n## ")[0]
    python, commands = re.findall(r"```(?:python)?\n(.*?)```", section, re.S)
    asked = re.findall(r"^# (\d+)\. .*?\?\n(.*?)(?=^# \d|\Z)", python, re.M | re.S)
    assert [int(number) for number, _ in asked] == list(range(1, 11))
    return [answer.strip() for _, answer in asked], commands.replace("\\\n", "").splitlines()


PYTHON, COMMANDS = _blocks()


@pytest.mark.parametrize("number", range(10))
def test_one_line_and_one_command_give_the_same_number(number, capsys, request):
    if "advantage" in PYTHON[number]:
        # A coarse curve may be below the price at its first point, and a report takes the least.
        request.getfixturevalue("fine_prices")
    search = jaxsel.search_cost("gaussian:noise_multiplier=4", "geometric:mean=100")
    answer = eval(PYTHON[number], {"jaxsel": jaxsel, "search": search})
    status, out, _ = run(capsys, *shlex.split(COMMANDS[number])[1:], "--json")
    assert status == 0 or number == 7  # an audit that refutes a promise exits with 1
    assert float(answer) == ANSWERS[number](json.loads(out))
