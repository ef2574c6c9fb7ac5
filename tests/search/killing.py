"""Training that ends its process, for tests of searches that run in other processes."""

import os
import signal
from pathlib import Path

FOLDER = "JAXSEL_TEST_KILLING"


def train(candidate, seed):
    """Notes that it began; 0.4 ends its process once, 0.8 always."""
    with (Path(os.environ[FOLDER]) / f"{candidate}").open("a") as noted:
        noted.write(f"{seed}\n")
    begun = len((Path(os.environ[FOLDER]) / f"{candidate}").read_text().split())
    if candidate == 0.8 or (candidate == 0.4 and begun == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return -abs(candidate - 0.4), {"weights": candidate}
