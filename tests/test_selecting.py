"""What ``make test-changed`` leaves out cannot see the change."""

import pytest

from tests import selecting
from tests.faults.planting import faults, rooms

EVERY_CLAIM = "tests/catalogue/test_every_claim.py"


def test_for_each_planted_fault_something_is_selected_that_sees_it():
    found = {}
    for fault in (fault for room in rooms() for fault in faults(room)):
        if fault.file not in found:
            found[fault.file] = selecting.select([fault.file])
        chosen = found[fault.file]
        seeing = [(EVERY_CLAIM, claim) for claim in fault.claims]
        seeing += [(test.partition("::")[0], test) for test in fault.tests]
        assert fault.survives or any(
            chosen.holds(file, selecting.words(name.partition("[")[2] or name))
            for file, name in seeing
        ), fault


def test_a_leaf_selects_little_and_a_hub_much():
    every = len(selecting._tests())
    leaf = selecting.select(["jaxsel/families/percentile/settings.py"])
    assert "tests/families/percentile/test_settings.py" in leaf.files
    assert len(leaf.files) < every / 8
    assert EVERY_CLAIM in leaf.parts
    assert leaf.holds(EVERY_CLAIM, {"lt-thm4.4(a)"})
    assert not leaf.holds(EVERY_CLAIM, {"ps-cor3"})
    hub = selecting.select(["jaxsel/kernel/engine.py"])
    assert len(hub.files) > every / 2
    assert "tests/kernel/test_engine.py" in hub.files


@pytest.mark.parametrize(
    "path",
    ["tests/conftest.py", "jaxsel/no_more.py", "tests/families/conftest.py", "jaxsel/__init__.py"],
)
def test_what_cannot_be_judged_selects_everything(path):
    assert selecting.select([path]).holds("tests/test_any.py")


def test_a_document_and_a_new_file_select_what_lists_files():
    for chosen in (
        selecting.select(["docs/speed.md"]),
        selecting.select(["jaxsel/language/base.py"], ["jaxsel/language/base.py"]),
    ):
        assert "tests/test_documents.py" in chosen.files
        assert "tests/test_layers.py" in chosen.files
    assert EVERY_CLAIM not in selecting.select(["docs/speed.md"]).files
    assert EVERY_CLAIM in selecting.select(["jaxsel/catalogue/tightness.json"]).files


def test_a_test_reaches_what_its_strings_name():
    """A module to be replaced, a command, a mechanism and a figure."""
    reached = selecting.module("tests.cli.test_cli_scaling").imports
    assert {"jaxsel.kernel.engine", "jaxsel.cli.main", "sims.__main__"} <= reached
    figure = selecting.select(["figures/clnss22_sample_complexity.py"])
    assert "tests/figures/test_making.py" in figure.files
    assert "clnss22-sample-complexity" in figure.names


def test_parameters_name_claims_and_mechanisms():
    from jaxsel import catalogue

    claim, entry = catalogue.find_claim("PS-Cor3"), catalogue.find_mechanism("sparse")
    found = selecting.of_parameters([claim, (entry, 1), "simulate noisy_max"])
    assert {"ps-cor3", "sparse", "noisy_max"} <= found
