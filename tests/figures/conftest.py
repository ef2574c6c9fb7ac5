"""Sets the folder in which the workers of a test run share records."""

import os

import pytest

from tests.figures import sharing


@pytest.fixture(scope="session", autouse=True)
def _shared_folder(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # the folders of all workers lie in it
    sharing.FOLDER = base / "records"
