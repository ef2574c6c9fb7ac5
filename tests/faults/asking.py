"""``python -m tests.faults.asking ID ...``: prints the first claim not as expected, as JSON.

Cheap claims are validated first; self-checks come last, since they compile the mechanism.
"""

import json
import sys
import traceback

from jaxsel.catalogue import find_claim, is_self_check
from jaxsel.catalogue.validation import validate
from jaxsel.language.base import Budget
from tests.faults.limits import limited

BUDGET = Budget(trials=100_000, cases=60)


def main() -> None:
    """Prints {"unexpected": the first id that is not as expected or null, "crashes": ids}.

    A check that raises an error judges nothing, and the next one is tried. A check that does
    not end within its time ends the process.
    """
    unexpected, crashes = None, []
    for name in sorted(sys.argv[1:], key=is_self_check):
        try:
            with limited(name):
                as_expected = validate(find_claim(name), BUDGET)[0].as_expected
        except Exception:
            traceback.print_exc()
            crashes.append(name)
            continue
        if not as_expected:
            unexpected = name
            break
    print(json.dumps({"unexpected": unexpected, "crashes": crashes}))


if __name__ == "__main__":
    main()
