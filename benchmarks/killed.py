"""A long run, killed twice and resumed, against the same run undisturbed.

``python -m benchmarks.killed --trials 1e10`` runs one mechanism of each of three families.
The exit status is 1 if a tally differs.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxsel.language.domains import whole

MECHANISMS = ("noisy_max", "private_tuning", "threshold_selection")
_CHILD = """
import json, sys
import jaxsel, jaxsel.kernel.engine
from jaxsel.kernel.compiled import compilation_cache
compilation_cache()
jaxsel.kernel.engine._SAVE_SECONDS = float(sys.argv[4])
blocks = int(sys.argv[5]) or None
found = jaxsel.simulate(
    jaxsel.mechanism(sys.argv[1]), trials=int(sys.argv[2]), record=sys.argv[3] or None,
    progress=False, performance=jaxsel.Performance(blocks_per_call=blocks))
print(json.dumps(found.values.tolist()))
"""


class Pace(NamedTuple):
    """How often a run saves its progress.

    Attributes:
      seconds: least time between two saves.
      blocks: least number of blocks of trials between two saves; 0 for about half a second of
        them.
    """

    seconds: float
    blocks: int


def _command(mechanism: str, trials: int, record: str, pace: Pace) -> list[str]:
    settings = [mechanism, str(trials), record, str(pace.seconds), str(pace.blocks)]
    return [sys.executable, "-c", _CHILD, *settings]


def _done(record: Path) -> int:
    """Number of trials in a record; 0 if it does not exist yet."""
    from jaxsel.host import records

    if not record.exists():
        return 0
    ((first, last),) = records.read(record).attributes["ranges"]
    return last - first


def killed_and_resumed(mechanism: str, trials: int, pace: Pace) -> tuple[np.ndarray, list[int]]:
    """Runs a simulation that is killed after one third and after two thirds of its trials.

    Args:
      mechanism: name in the catalogue, at its default settings.
      trials: number of trials of the run.
      pace: how often it saves.

    Returns:
      The tallies, and the numbers of trials that were saved when it was killed.

    Raises:
      RuntimeError: if it ended before it could be killed, so that more trials are needed.
    """
    record = Path(tempfile.mkdtemp()) / "run.nc"
    command = _command(mechanism, trials, str(record), pace)
    kills = []
    for share in (1, 2):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and _done(record) < share * trials // 3:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        kills.append(_done(record))
        if kills[-1] >= trials:
            raise RuntimeError(f"{mechanism} ended before it was killed; take more trials")
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return np.asarray(json.loads(ended.stdout)), kills


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints one line per mechanism; the exit status is 0 if all tallies are equal."""
    parser = argparse.ArgumentParser(prog="benchmarks.killed", description=__doc__)
    parser.add_argument("--trials", default="1e8")
    parser.add_argument("--save-seconds", type=float, default=1.0)
    parser.add_argument("--blocks-per-call", type=int, default=0)
    chosen = parser.parse_args(arguments)
    pace = Pace(chosen.save_seconds, chosen.blocks_per_call)
    trials = whole(at_least=1).read("trials", chosen.trials)
    all_equal = True
    for mechanism in MECHANISMS:
        found, kills = killed_and_resumed(mechanism, trials, pace)
        straight = subprocess.run(
            _command(mechanism, trials, "", pace), stdout=subprocess.PIPE, text=True, check=True
        )
        equal = np.array_equal(found, np.asarray(json.loads(straight.stdout)))
        all_equal &= equal
        places = " and ".join(map(str, kills))
        verdict = "equal" if equal else "DIFFERENT"
        print(f"{mechanism}: {trials} trials, killed at {places}: {verdict}", flush=True)
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
