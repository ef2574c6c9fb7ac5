"""The planted faults are data that fits the code as it stands (``make faults``)."""

import pytest

from jaxsel.catalogue import find_claim
from tests.faults.planting import ROOT, Fault, faults, planted, rooms

FAULTS = [fault for room in rooms() for fault in faults(room)]


@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{fault.room}: {fault.name}"
)
def test_a_fault_can_be_planted_and_someone_should_see_it(fault):
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1
    assert fault.new != fault.old
    assert fault.claims or fault.tests
    for claim in fault.claims:
        find_claim(claim)
    for test in fault.tests:
        assert (ROOT / test.split("::")[0]).exists()


def test_faults_have_one_name_each():
    names = [(fault.room, fault.name) for fault in FAULTS]
    assert len(set(names)) == len(names)


def test_a_planted_fault_goes_away(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("half = epsilon / 2\n", encoding="utf-8")
    fault = Fault("room", "all of it", "a.py", "epsilon / 2", "epsilon")
    with planted(fault, tmp_path):
        assert path.read_text(encoding="utf-8") == "half = epsilon\n"
    assert path.read_text(encoding="utf-8") == "half = epsilon / 2\n"
    with (
        pytest.raises(ValueError, match="0 times"),
        planted(fault._replace(old="x"), tmp_path),
    ):
        pass
