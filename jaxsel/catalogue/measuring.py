"""Measures the power of every check: ``make measure``, after a change.

Puts every claim to the test at the default budget, and keeps the tightness of the true
bounds in the file that the catalogue shows (``jaxsel.catalogue.measured``).
"""

import json
from collections.abc import Iterable

from jaxsel.catalogue import all_claims
from jaxsel.catalogue.measured import FILE
from jaxsel.catalogue.validation import Validation, validate
from jaxsel.language.base import Budget


def kept(found: Iterable[Validation]) -> dict[str, float]:
    """What is kept of verdicts: three digits for each claim that has a tightness."""
    return {
        one.claim.id: float(f"{one.verdict.tightness:.3g}")
        for one in found
        if one.claim.holds and one.verdict.tightness is not None
    }


def main() -> None:
    """Puts every claim to the test, and keeps the numbers."""

    def seen(one: Validation) -> None:
        odd = "" if one.as_expected else "NOT AS EXPECTED "
        odd += "UNEXPLAINED " if one.loose and one.claim.loose is None else ""
        odd += "NOT LOOSE " if not one.loose and one.claim.loose is not None else ""
        tightness = one.verdict.tightness
        print(f"{one.claim.id}: {odd}{tightness} {one.seconds:.1f} s", flush=True)

    # A simulated frequency near its exact probability is no bound near its claim; a plan is
    # as near to the wish as the bound that it goes by, which has a claim of its own.
    bounds = [claim for claim in all_claims() if not claim.id.startswith(("SIM-", "PLAN-"))]
    found = validate(bounds, Budget(), seen=seen)
    FILE.write_text(f"{json.dumps(kept(found), indent=1, sort_keys=True)}\n", encoding="utf-8")
    print(f"{found.counted()}. {found.power()}")


if __name__ == "__main__":
    main()
