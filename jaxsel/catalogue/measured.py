"""The tightness of every bound, as last measured: ``python -m jaxsel.catalogue.measured``.

Tightness (``Verdict.tightness``) is known only after a claim was put to the test, which
takes minutes for all; what the catalogue shows is kept in a file beside this one.
"""

import functools
import json
from collections.abc import Iterable
from pathlib import Path

from jaxsel.base import Budget
from jaxsel.catalogue.collect import all_claims
from jaxsel.validation import Validation, validate

_FILE = Path(__file__).with_name("tightness.json")


@functools.cache
def measured() -> dict[str, float]:
    """Tightness at the default budget by claim id; claims that have none are left out."""
    return json.loads(_FILE.read_text(encoding="utf-8")) if _FILE.exists() else {}


def kept(found: Iterable[Validation]) -> dict[str, float]:
    """What is kept of verdicts: three digits for each claim that has a tightness."""
    return {
        one.claim.id: float(f"{one.verdict.tightness:.3g}")
        for one in found
        if one.claim.holds and one.verdict.tightness is not None
    }


def main() -> None:
    """Puts every claim to the test at the default budget, and keeps the numbers."""

    def seen(one: Validation) -> None:
        print(f"{one.claim.id}: {one.verdict.outcome}, {one.verdict.tightness}")

    found = validate(all_claims(), Budget(), seen=seen)
    text = json.dumps(kept(found), indent=1, sort_keys=True)
    _FILE.write_text(f"{text}\n", encoding="utf-8")
    print(found.counted())


if __name__ == "__main__":
    main()
