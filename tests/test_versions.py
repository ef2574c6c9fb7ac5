"""Stated lower bounds can be installed as they are written."""

import tomllib

import pytest

from tests.versions import ROOT, TESTS, requirements


def test_every_dependency_has_a_lower_bound_that_can_be_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest, newest = (requirements(which, project) for which in ("lowest", "newest"))
    assert len(lowest) == len(newest) > 15
    assert all("==" in text for text in lowest)
    assert all(">=" in text for text in newest)
    for extras in (["libraries"], ["diffprivlib"]):
        more = requirements("lowest", project, extras)
        assert all("==" in text for text in more)
        assert len(lowest) < len(more)
    with pytest.raises(ValueError, match="not of the form"):
        requirements("lowest", project | {"dependencies": ["numpy"]})
    assert all((ROOT / path).exists() for path in TESTS)
