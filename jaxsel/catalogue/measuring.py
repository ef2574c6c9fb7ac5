"""Measures the power of every check: ``make measure``, after a change.

Runs the check of every claim, or of those that are named, at the default budget, and saves
the tightness of the true bounds in the file that the catalogue shows
(``jaxsel.catalogue.measured``).
"""

import json
import sys
from collections.abc import Iterable, Sequence

from jaxsel.catalogue import all_claims, find_claim
from jaxsel.catalogue.measured import FILE, measured
from jaxsel.catalogue.validation import Validation, validate
from jaxsel.language.base import Budget


def kept(found: Iterable[Validation]) -> dict[str, float]:
    """The tightness of each claim that holds and has one, by id, to three significant digits."""
    return {
        one.claim.id: float(f"{one.verdict.tightness:.3g}")
        for one in found
        if one.claim.holds and one.verdict.tightness is not None
    }


def main(names: Sequence[str] = ()) -> None:
    """Checks the claims of these ids, or every claim, and saves the tightness."""

    def seen(one: Validation) -> None:
        odd = "" if one.as_expected else "NOT AS EXPECTED "
        odd += "UNEXPLAINED " if one.loose and one.claim.loose is None else ""
        odd += "NOT LOOSE " if not one.loose and one.claim.loose is not None else ""
        tightness = one.verdict.tightness
        print(f"{one.claim.id}: {odd}{tightness} {one.seconds:.1f} s", flush=True)

    # Excluded: for simulated frequencies closeness says nothing about a bound, and the
    # tightness of a plan is that of its bound, which has its own claim.
    claims = [find_claim(name) for name in names] or all_claims()
    bounds = [claim for claim in claims if not claim.id.startswith(("SIM-", "PLAN-"))]
    found = validate(bounds, Budget(), seen=seen)
    power = {**(measured() if names else {}), **kept(found)}
    FILE.write_text(f"{json.dumps(power, indent=1, sort_keys=True)}\n", encoding="utf-8")
    print(f"{found.counted()}. {found.power()}")


if __name__ == "__main__":
    main(sys.argv[1:])
