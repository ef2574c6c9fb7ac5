"""What others print goes to the standard error, whatever they do to the standard streams."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("closed", [(), (0,)])
def test_a_body_that_closes_streams_that_were_closed_disturbs_no_answer(closed):
    code = f"""
import os
from jaxsel.host.streams import output_to_errors
for each in {closed}:
    os.close(each)
for _ in range(3):
    with output_to_errors():
        print("printed")
        for each in {closed}:
            try:
                os.close(each)
            except OSError:
                pass
os.write(1, b"answer")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "answer"), done.stderr
    assert done.stderr == "printed\n" * 3
