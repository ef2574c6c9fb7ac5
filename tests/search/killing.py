"""Training that ends its process, for tests of searches that run in other processes."""

import os
import signal
import time
from pathlib import Path

FOLDER = "JAXSEL_TEST_KILLING"
_PATIENCE = 120.0  # seconds


def _begun(candidate):
    """How often training with a candidate has begun."""
    file = Path(os.environ[FOLDER]) / f"{candidate}"
    return len(file.read_text().split()) if file.exists() else 0


def train(candidate, seed):
    """Notes that it began; 0.8 always ends its process, and 0.4 the first time.

    0.4 waits until 0.8 has begun beside it: else that might be lost with it before any worker has
    begun it.
    """
    with (Path(os.environ[FOLDER]) / f"{candidate}").open("a") as noted:
        noted.write(f"{seed}\n")
    first = candidate == 0.4 and _begun(candidate) == 1
    end = time.monotonic() + _PATIENCE
    while first and not _begun(0.8) and time.monotonic() < end:
        time.sleep(0.01)
    if candidate == 0.8 or first:
        os.kill(os.getpid(), signal.SIGKILL)
    return -abs(candidate - 0.4), {"weights": candidate}
