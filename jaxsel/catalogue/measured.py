"""The tightness of every bound, as last measured (``make measure``).

Tightness (``Verdict.tightness``) is known only after a claim's check has run, which takes
minutes for all claims; the numbers in the catalogue are stored in a file beside this
module.
"""

import functools
import json
from pathlib import Path

FILE = Path(__file__).with_name("tightness.json")


@functools.cache
def measured() -> dict[str, float]:
    """Tightness at the default budget by claim id, for the claims that have one."""
    return json.loads(FILE.read_text(encoding="utf-8"))
