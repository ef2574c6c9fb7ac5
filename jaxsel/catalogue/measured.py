"""The tightness of every bound, as last measured (``make measure``).

Tightness (``Verdict.tightness``) is known only after a claim was put to the test, which
takes minutes for all; what the catalogue shows is kept in a file beside this one.
"""

import functools
import json
from pathlib import Path

FILE = Path(__file__).with_name("tightness.json")


@functools.cache
def measured() -> dict[str, float]:
    """Tightness at the default budget by claim id; claims that have none are left out."""
    return json.loads(FILE.read_text(encoding="utf-8"))
