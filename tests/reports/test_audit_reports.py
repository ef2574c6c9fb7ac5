"""The report of an audit of a function, in every format."""

import functools
import html.parser
import json

import pytest

import jaxsel
from jaxsel.cli.main import main
from jaxsel.host.errors import InputError
from jaxsel.reports.audit_report import AuditReport
from tests.reports import audited
from tests.reports.audited import half, silent


@functools.cache
def _audit(function=half, **given):
    options = {"relation": "replace_one", "claim": 1.0, "trials": 4_000, "seed": 7}
    return jaxsel.audit_function(function, [0.0, 1.0], [1.0, 1.0], **options | given)


class _Page(html.parser.HTMLParser):
    """The text of a page, and the addresses that it would load."""

    def __init__(self):
        super().__init__()
        self.text, self.loaded = [], []

    def handle_data(self, data):
        self.text.append(data)

    def handle_starttag(self, tag, attrs):
        self.loaded += [value for name, value in attrs if name in ("src", "href")]


def test_every_format_says_what_was_found():
    found = _audit()
    report = jaxsel.report(found)
    assert isinstance(report, AuditReport)
    page = _Page()
    page.feed(report.html())
    x, n, y, m = found.counts
    for text in (" ".join(page.text), report.markdown()):
        for wanted in (f"{x} of {n}", f"{y} of {m}", f"{found.lower:.4g}", "REFUTED", "seed"):
            assert wanted in text
        said = " ".join(text.split())
        assert f"it happened in {x} of {n} trials, on the" in said
        assert f"in {y} of {m}. The two inputs" in said
    record = json.loads(report.json())
    assert record["audit"]["counts"] == list(found.counts)
    assert record["audit"]["event"] == found.event
    assert record["versions"]["jaxsel"] == jaxsel.__version__


def test_the_page_loads_nothing():
    page = _Page()
    page.feed(jaxsel.report(_audit()).html())
    assert all(address.startswith("#") for address in page.loaded)


@pytest.mark.parametrize("function", [silent, half])
def test_every_verdict_has_a_report(function, tmp_path):
    found = _audit(function, claim=3.0, trials=400)
    assert found.verdict in ("failed", "not refuted")
    for ending in ("md", "html", "json"):
        path = jaxsel.report(found).write(tmp_path / "new" / f"audit.{ending}")
        assert path.stat().st_size > 500


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match="ends in none of"):
        jaxsel.report(_audit(trials=400)).write(tmp_path / "audit.pdf")


def test_the_command_line_writes_what_repeats_it(tmp_path, capsys, monkeypatch):
    path = tmp_path / "audit.json"
    command = ["audit-function", f"{audited.__file__}:half", "--relation", "replace_one"]
    command += ["--claim", "1", "--trials", "4000", "--seed", "7", "--report", str(path)]
    monkeypatch.setattr("sys.argv", ["jaxsel", *command])
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 1
    record = json.loads(path.read_text())
    assert record["command"] == "jaxsel " + " ".join(command)
    assert record["audit"]["verdict"] == "refuted"
    with pytest.raises(SystemExit) as ended:
        main([*command, "--at", "epsilon=1,2"])
    assert ended.value.code == 2
    assert "one setting" in capsys.readouterr().err
